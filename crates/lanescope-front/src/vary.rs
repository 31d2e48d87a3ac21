//! `--vary`: a grid of values, each point a run of its own.

use lanescope::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// No grid has more points.
const MOST: usize = 10_000;

/// One varied path and its values as texts for `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// As `--set` has it.
    pub path: String,
    /// One after the other.
    pub values: Vec<String>,
}

/// Reads `path=a,b,c`, `path=1..64 by x2`, or `path=64 B..4 KiB by x2`.
///
/// # Errors
///
/// A text of another form, an end that is no quantity, a step of another kind, or more than 10,000 values.
pub fn axis(text: &str) -> Result<Axis, String> {
    let (path, values) = text.split_once('=').ok_or("--vary takes path=values, e.g. parts.nic.tags=1..64 by x2")?;
    let values = match range(values)? {
        Some(list) => list,
        None => split(values),
    };
    if values.iter().any(String::is_empty) {
        return Err(format!("--vary {path}: one of the values is empty"));
    }
    Ok(Axis { path: path.trim().to_owned(), values })
}

/// All points of a grid: for each, one value per axis. The last axis runs fastest.
///
/// # Errors
///
/// More than 10,000 points.
pub fn points(axes: &[Axis]) -> Result<Vec<Vec<String>>, String> {
    let size = axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.values.len()));
    match size {
        Some(n) if n <= MOST => {}
        _ => return Err(format!("--vary: more than {MOST} points")),
    }
    let mut points = vec![Vec::new()];
    for axis in axes {
        points = points
            .iter()
            .flat_map(|p: &Vec<String>| {
                axis.values.iter().map(move |v| [p.as_slice(), std::slice::from_ref(v)].concat())
            })
            .collect();
    }
    Ok(points)
}

/// Splits at commas that are outside of quotes and braces.
fn split(text: &str) -> Vec<String> {
    let (mut out, mut depth, mut quoted, mut from) = (Vec::new(), 0i32, false, 0);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                out.push(text[from..i].trim().to_owned());
                from = i + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..].trim().to_owned());
    out
}

/// Writes a number of steps as a value.
type Write = fn(u64) -> String;

/// A quantity that can be stepped: its size in whole steps of its kind, and how to write such a number again.
fn steps(text: &str) -> Option<(u64, Write)> {
    let text = text.trim().trim_matches('"');
    if let Ok(n) = text.replace('_', "").parse::<u64>() {
        return Some((n, |n| n.to_string()));
    }
    if let Ok(b) = Bytes::parse(text) {
        return Some((b.0, |n| Bytes(n).to_string()));
    }
    if let Ok(t) = Time::parse(text) {
        return Some((t.fs(), |n| Time::from_fs(n).to_string()));
    }
    let rate = Rate::parse(text).ok()?;
    Some((rate.bits() as u64, |n| Rate::from_bits(n).to_string()))
}

fn range(text: &str) -> Result<Option<Vec<String>>, String> {
    let Some((ends, by)) = text.split_once(" by ") else {
        return if text.contains("..") {
            Err(format!("--vary {text}: a range needs its step, e.g. 1..64 by x2, or 1..9 by 2"))
        } else {
            Ok(None)
        };
    };
    let Some((low, high)) = ends.split_once("..") else {
        return Err(format!("--vary: {ends:?} is not a range a..b"));
    };
    let wrong = |what: &str| format!("--vary: {:?} is not a number or a quantity", what.trim());
    let (from, write) = steps(low).ok_or_else(|| wrong(low))?;
    let (to, write_to) = steps(high).ok_or_else(|| wrong(high))?;
    if write(1) != write_to(1) {
        return Err(format!("--vary: {low} and {high} are not of one kind"));
    }
    let by = by.trim();
    let next: Box<dyn Fn(u64) -> Option<u64>> = match by.strip_prefix('x') {
        Some(factor) => {
            let factor: f64 = factor.trim().parse().map_err(|_| wrong(by))?;
            if !(factor > 1.0 && factor.is_finite()) || from == 0 {
                return Err("--vary: a factor is above 1, and starts above 0".into());
            }
            Box::new(move |n| Some(((n as f64 * factor).round() as u64).max(n + 1)))
        }
        None => {
            let (step, write_by) = steps(by).ok_or_else(|| wrong(by))?;
            if step == 0 || write_by(1) != write(1) {
                return Err(format!("--vary: {by} is not a valid step from {low} to {high}"));
            }
            Box::new(move |n| n.checked_add(step))
        }
    };
    let mut list = Vec::new();
    let mut at = Some(from);
    while let Some(n) = at.filter(|&n| n <= to) {
        list.push(write(n));
        if list.len() > MOST {
            return Err(format!("--vary: more than {MOST} values"));
        }
        at = next(n);
    }
    if list.is_empty() { Err(format!("--vary: from {low} to {high} there is nothing")) } else { Ok(Some(list)) }
}

/// A number to draw a value at, and its unit.
pub fn position(text: &str) -> Option<(f64, &'static str)> {
    let text = text.trim().trim_matches('"');
    let plain = text.parse().ok().map(|n| (n, ""));
    plain
        .or_else(|| Bytes::parse(text).ok().map(|b| (b.f64(), "")))
        .or_else(|| Time::parse(text).ok().map(|t| (t.ns(), " (ns)")))
        .or_else(|| Rate::parse(text).ok().map(|r| (r.bits() / 1e9, " (Gb/s)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        axis(text).expect("valid").values
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(values("a.b=1,2,3"), ["1", "2", "3"]);
        assert_eq!(values("a.b=gen3 x4,gen3 x8"), ["gen3 x4", "gen3 x8"]);
        assert_eq!(values("a.b=1..64 by x4"), ["1", "4", "16", "64"]);
        assert_eq!(values("a.b=1..9 by 4"), ["1", "5", "9"]);
        assert_eq!(values("a.b=64 B..1 KiB by x4"), ["64 B", "256 B", "1 KiB"]);
        assert_eq!(values("f.load={ rate = \"1 Gb/s\" },saturate"), ["{ rate = \"1 Gb/s\" }", "saturate"]);
    }

    #[test]
    fn ranges_keep_their_unit() {
        assert_eq!(values("a.b=100 ns..800 ns by x2"), ["100 ns", "200 ns", "400 ns", "800 ns"]);
        assert_eq!(values("a.b=1 Gb/s..2 Gb/s by 500 Mb/s"), ["1 Gb/s", "1.5 Gb/s", "2 Gb/s"]);
    }

    #[test]
    fn mistakes_are_named() {
        for bad in [
            "a.b",
            "a=1..4",
            "a=1..4 by x1",
            "a=4..1 by 1",
            "a=1..9999999 by 1",
            "a=1 B..2 ns by x2",
            "a=1,,2",
            "a=0..4 by x2",
        ] {
            assert!(axis(bad).is_err(), "{bad}");
        }
        let axes = vec![axis("a=1..200 by 1").expect("valid"); 2];
        assert!(points(&axes).is_err());
    }

    #[test]
    fn a_grid_runs_its_last_axis_fastest() {
        let axes = [axis("a=1,2").expect("valid"), axis("b=x,y").expect("valid")];
        assert_eq!(points(&axes).expect("small"), [["1", "x"], ["1", "y"], ["2", "x"], ["2", "y"]]);
    }
}
