//! Where random I/Os begin, where not every place is wanted as often: the laws of fio's `random_distribution`, written
//! as it writes them.

use crate::scenario::quantity::{Problem, Shape, expected};
use crate::scenario::tree::{Node, Value};
use crate::units::Bytes;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// All of a share, in hundredths of a percent.
const WHOLE: u32 = 10_000;
/// Zones, at most (fio: 256).
const MOST_ZONES: usize = 256;

/// A law of places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Places {
    /// Zipf's law with this exponent; a key of its own, `zipf`, says it.
    Zipf(f64),
    /// Pareto's law: with `h` between 0 and 1, a part of 1 - `h` of all I/Os goes to a part of `h` of all places, and
    /// so on within those; which places these are is as good as random.
    Pareto(f64),
    /// A normal distribution around the middle one of places in an order that is as good as random: its standard
    /// deviation in percent of all places.
    Normal(f64),
    /// Zones, one behind the other.
    Zones(Vec<Zone>),
}

/// A part of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Zone {
    /// Hundredths of a percent of the I/Os.
    pub share: u32,
    /// How long it is.
    pub extent: Extent,
}

/// How long a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Extent {
    /// Hundredths of a percent of the range.
    Part(u32),
    /// Bytes.
    Bytes(u64),
    /// What is left of the range.
    Rest,
}

/// Laws by name, with an example of each.
const LAWS: [(&str, &str); 4] = [
    ("pareto", "pareto:0.2"),
    ("normal", "normal:20"),
    ("zoned", "zoned:50/5:30/15:20/80"),
    ("zoned_abs", "zoned_abs:50/10 GiB:50/100 GiB"),
];

impl Places {
    /// Reads one as fio writes it; of sizes too.
    pub fn parse(text: &str) -> Result<Places, String> {
        let (law, rest) = text.split_once(':').unwrap_or((text, ""));
        let example = LAWS.iter().find(|l| l.0 == law.trim()).map(|l| l.1);
        let Some(example) = example else {
            let all: Vec<&str> = LAWS.iter().map(|l| l.1).collect();
            return Err(format!("one of {}; zipf is a key of its own", all.join(", ")));
        };
        let number = |least: f64, most: f64| {
            let number = rest.trim().parse::<f64>().ok().filter(|n| *n > least && *n < most);
            number.ok_or(format!("a number above {least} and below {most}: {example}"))
        };
        match law.trim() {
            "pareto" => Ok(Places::Pareto(number(0.0, 1.0)?)),
            "normal" => Ok(Places::Normal(number(0.0, 100.0)?)),
            law => zones(rest, law == "zoned_abs").map(Places::Zones).map_err(|why| format!("{why}: {example}")),
        }
    }
}

fn percent(text: &str) -> Option<u32> {
    let n = text.trim().parse::<f64>().ok().filter(|n| (0.0..=100.0).contains(n))?;
    Some((n * f64::from(WHOLE) / 100.0).round() as u32)
}

fn zones(text: &str, absolute: bool) -> Result<Vec<Zone>, String> {
    let mut all = Vec::new();
    for zone in text.split(':') {
        let (share, extent) = zone.split_once('/').ok_or("each zone is a percentage of I/Os, /, and its size")?;
        let share = percent(share).ok_or("percentages of I/Os from 0 to 100")?;
        let extent = match (extent.trim(), absolute) {
            ("", _) => Extent::Rest,
            (size, true) => Extent::Bytes(Bytes::parse(size).map_err(|_| "sizes of zones, in bytes")?.0),
            (part, false) => Extent::Part(percent(part).ok_or("percentages of the range from 0 to 100")?),
        };
        all.push(Zone { share, extent });
        if all.len() > MOST_ZONES {
            return Err(format!("at most {MOST_ZONES} zones"));
        }
    }
    if all.iter().map(|z| z.share).sum::<u32>() != WHOLE {
        return Err("percentages of I/Os that add up to 100".into());
    }
    let parts = all.iter().map(|z| if let Extent::Part(p) = z.extent { p } else { 0 });
    if parts.sum::<u32>() > WHOLE {
        return Err("zones that fit into the range: percentages of it up to 100 together".into());
    }
    if all[..all.len() - 1].iter().any(|z| z.extent == Extent::Rest) {
        return Err("only the last zone may be what is left".into());
    }
    Ok(all)
}

impl Shape for Places {
    fn read(node: &Node) -> Result<Self, Problem> {
        let Value::Text(text) = &node.value else {
            return Err(expected("a distribution: \"pareto:0.2\", \"normal:20\", \"zoned:50/5:50/95\"", node));
        };
        Places::parse(text).map_err(|hint| Problem(format!("{text:?} is not a valid distribution of places"), hint))
    }
    fn show(&self) -> String {
        let part = |n: u32| f64::from(n) / 100.0;
        match self {
            Places::Zipf(s) => format!("zipf:{s}"),
            Places::Pareto(h) => format!("pareto:{h}"),
            Places::Normal(d) => format!("normal:{d}"),
            Places::Zones(all) => {
                let absolute = all.iter().any(|z| matches!(z.extent, Extent::Bytes(_)));
                let zone = |z: &Zone| match z.extent {
                    Extent::Part(p) => format!("{}/{}", part(z.share), part(p)),
                    Extent::Bytes(b) => format!("{}/{}", part(z.share), Bytes(b)),
                    Extent::Rest => format!("{}/", part(z.share)),
                };
                let zones: Vec<String> = all.iter().map(zone).collect();
                format!("{}:{}", if absolute { "zoned_abs" } else { "zoned" }, zones.join(":"))
            }
        }
    }
    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^(pareto|normal|zoned|zoned_abs):" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again() {
        for text in
            ["pareto:0.2", "normal:20", "zoned:50/5:30/15:20/80", "zoned:50/5:50/", "zoned_abs:50/10 GiB:50/1 KiB"]
        {
            let places = Places::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(places.show(), text);
        }
        for wrong in [
            "pareto:2",
            "pareto",
            "normal:0",
            "normal:x",
            "zoned:50/5",
            "zoned:50/60:50/60",
            "zoned:50/:50/5",
            "zoned:",
            "zoned_abs:100/x",
            "zipf:1.2",
            "",
            "zoned:50/5:60/5",
        ] {
            assert!(Places::parse(wrong).is_err(), "{wrong}");
        }
    }
}
