//! A drive out of a sweep: I/Os a second at several depths, to the units that sense side by side, their time, and what
//! the controller takes for a command.
//!
//! Three numbers make such a curve: at a depth of one the time of a unit, at the knee how many units there are, at the
//! end the cap. They are found by least squares of relative errors of the closed form, for each number of units the two
//! times; what a sweep cannot tell is found by changing one number and looking whether any depth sees it.

use super::Error;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::estimate::estimate;
use crate::import::fio;
use crate::library::Library;
use crate::scenario::Included;
use crate::scenario::tree::Author;
use rmpfit::{MPError, MPFitter, MPPar, MPResult};
use serde::Serialize;

/// Depths of a sweep, at most.
const MOST_POINTS: usize = 256;
/// Units that a drive may come to.
const MOST_UNITS: u32 = 1024;
/// A change of a number by this part that no depth sees by more than [`UNSEEN`] is one that the sweep cannot tell.
const CHANGE: f64 = 0.1;
const UNSEEN: f64 = 0.005;

/// A measured depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// I/Os outstanding.
    pub depth: u32,
    /// I/Os a second.
    pub ios: f64,
}

/// Reads a sweep: a table of depth and I/Os a second, or the JSON of fio, whose jobs are depths.
pub fn points(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Vec<Point>> {
    let text = diagnostics.source(source).text.clone();
    let mut all = if fio::json::is(&text) {
        let output = fio::json::read(diagnostics, source)?;
        let point = |e: &fio::json::Entry| Point { depth: e.depth, ios: e.sides.iter().map(|s| s.per_second).sum() };
        output.entries.iter().map(point).filter(|p| p.ios > 0.0).collect()
    } else {
        table(diagnostics, source, &text)?
    };
    all.sort_by_key(|p| p.depth);
    let wrong = match all.as_slice() {
        [] | [_] | [_, _] => Some("a sweep has at least three depths: three numbers are fitted to it"),
        more if more.len() > MOST_POINTS => Some("a sweep has at most 256 depths"),
        more if more.windows(2).any(|w| w[0].depth == w[1].depth) => Some("it has a depth twice"),
        _ => None,
    };
    if let Some(what) = wrong {
        diagnostics.push(
            Diagnostic::error(Span { source, start: 0, end: 0 }, what).hint(
                "lines of a depth and I/Os a second (\"32 340962\"), or the JSON of fio with a job for each depth",
            ),
        );
        return None;
    }
    Some(all)
}

fn table(diagnostics: &mut Diagnostics, source: SourceId, text: &str) -> Option<Vec<Point>> {
    let (mut all, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let (start, bare) = (at, line.split('#').next().unwrap_or_default().trim());
        at += line.len();
        if bare.is_empty() {
            continue;
        }
        let cells: Vec<&str> = bare.split(|c: char| c == ',' || c.is_whitespace()).filter(|c| !c.is_empty()).collect();
        let point = match cells[..] {
            [depth, ios] => depth.parse::<u32>().ok().zip(ios.parse::<f64>().ok()),
            _ => None,
        };
        let good = point.filter(|(depth, ios)| (1..=65_536).contains(depth) && ios.is_finite() && *ios > 0.0);
        match good {
            Some((depth, ios)) => all.push(Point { depth, ios }),
            // A head.
            None if all.is_empty() && cells.iter().all(|c| c.parse::<f64>().is_err()) => {}
            None => {
                let span = Span { source, start: start as u32, end: (start + line.trim_end().len()) as u32 };
                diagnostics.push(
                    Diagnostic::error(span, "this is no line of a sweep")
                        .hint("a depth from 1 to 65536 and I/Os a second: 32 340962"),
                );
                return None;
            }
        }
        if all.len() > MOST_POINTS {
            break;
        }
    }
    Some(all)
}

/// A drive that a sweep came to.
#[derive(Clone, Debug, Serialize)]
pub struct Drive {
    /// Units that work side by side: `channels`, with one die each.
    pub units: u32,
    /// Time of one, ns.
    pub read_time: f64,
    /// Time of the controller for a command, ns.
    pub command_time: f64,
    /// What was measured, and what the fitted drive does: depth, measured, fitted.
    pub compared: Vec<(u32, f64, f64)>,
    /// What the sweep cannot tell, in words.
    pub unknown: Vec<String>,
}

struct Sweep<'a> {
    text: &'a str,
    part: &'a str,
    flow: &'a str,
    points: &'a [Point],
    units: u32,
    limits: [MPPar; 2],
    failed: Option<Error>,
}

impl Sweep<'_> {
    /// I/Os a second at each depth of a drive of these units and times, ns.
    fn run(&self, units: u32, times: [f64; 2]) -> Result<Vec<f64>, Error> {
        let [read, command] = times;
        let Sweep { part, flow, .. } = self;
        let own = [
            format!("parts.{part}.channels={units}"),
            format!("parts.{part}.dies=1"),
            format!("parts.{part}.planes=1"),
            format!("parts.{part}.read_time={:.3} us", read * 1e-3),
            format!("parts.{part}.command_time={:.4} us", command * 1e-3),
        ];
        let mut all = Vec::new();
        for point in self.points {
            let mut sets = own.to_vec();
            sets.push(format!("flows.{flow}.outstanding={}", point.depth));
            let mut d = Diagnostics::default();
            let text = Included { name: "machine".into(), text: self.text.to_owned(), author: Author::User };
            let plan = crate::plan(&mut d, text, &sets, &Library).ok_or_else(|| d.to_string())?;
            let report = estimate(&plan, &d);
            let found = report.flows.iter().find(|f| f.name == *flow);
            let each = found.and_then(|f| Some(f.share.typical / (8.0 * f.operation?)));
            all.push(each.ok_or_else(|| format!("flows.{flow} has no I/Os of one size"))?);
        }
        Ok(all)
    }

    /// The two times for so many units, and the sum of squares.
    fn at(&mut self, units: u32, start: [f64; 2]) -> Result<([f64; 2], f64), Error> {
        self.units = units;
        let mut times = start.map(f64::ln);
        if let Err(e) = self.mpfit(&mut times) {
            return Err(self.failed.take().unwrap_or_else(|| format!("the sweep cannot be fitted: {e}")));
        }
        let times = times.map(f64::exp);
        let off = self.run(units, times)?.iter().zip(self.points).map(|(ours, p)| (ours / p.ios - 1.0).powi(2)).sum();
        Ok((times, off))
    }
}

impl MPFitter for Sweep<'_> {
    fn eval(&mut self, params: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        match self.run(self.units, [params[0].exp(), params[1].exp()]) {
            Ok(all) => {
                for ((deviate, ours), point) in deviates.iter_mut().zip(all).zip(self.points) {
                    *deviate = ours / point.ios - 1.0;
                }
                Ok(())
            }
            Err(e) => {
                self.failed = Some(e);
                Err(MPError::Eval)
            }
        }
    }

    fn number_of_points(&self) -> usize {
        self.points.len()
    }

    fn parameters(&self) -> &[MPPar] {
        &self.limits
    }
}

/// Fits the NVMe drive `part` of a scenario, on which `flow` works, to a sweep.
pub fn fit(text: &str, part: &str, flow: &str, points: &[Point]) -> Result<Drive, Error> {
    // From a nanosecond to ten milliseconds: logarithms of ns.
    let limit =
        || MPPar { limited_low: true, limited_up: true, limit_low: 0.0, limit_up: 16.1, step: 0.01, ..MPPar::new() };
    let mut sweep = Sweep { text, part, flow, points, units: 1, limits: [limit(), limit()], failed: None };
    let (first, most) = (points[0], points.iter().map(|p| p.ios).fold(0.0, f64::max));
    let start = [(0.8e9 * f64::from(first.depth) / first.ios).clamp(10.0, 9e6), (0.9e9 / most).clamp(2.0, 9e6)];
    // As many units as keep up with the most, and from there down and up.
    let mut known: Vec<(u32, [f64; 2], f64)> = Vec::new();
    let mut units = 1;
    while units <= MOST_UNITS {
        let (times, off) = sweep.at(units, start)?;
        known.push((units, times, off));
        units *= 2;
    }
    let best = |known: &[(u32, [f64; 2], f64)]| known.iter().copied().min_by(|a, b| a.2.total_cmp(&b.2));
    let Some((mut units, mut times, mut off)) = best(&known) else { return Err("nothing to fit".into()) };
    let mut step = (units / 4).max(1);
    loop {
        let near = [units.saturating_sub(step).max(1), (units + step).min(MOST_UNITS)];
        let mut better = false;
        for n in near {
            if known.iter().any(|k| k.0 == n) {
                continue;
            }
            let (t, o) = sweep.at(n, times)?;
            known.push((n, t, o));
            if o < off {
                (units, times, off, better) = (n, t, o, true);
            }
        }
        if !better {
            if step == 1 {
                break;
            }
            step = (step / 2).max(1);
        }
    }
    let ours = sweep.run(units, times)?;
    let unknown = unknown(&sweep, units, times, &ours)?;
    let compared = points.iter().zip(ours).map(|(p, ours)| (p.depth, p.ios, ours)).collect();
    Ok(Drive { units, read_time: times[0], command_time: times[1], compared, unknown })
}

/// What no depth of the sweep sees.
fn unknown(sweep: &Sweep, units: u32, times: [f64; 2], ours: &[f64]) -> Result<Vec<String>, Error> {
    let seen = |units: u32, times: [f64; 2]| -> Result<bool, Error> {
        Ok(sweep.run(units, times)?.iter().zip(ours).any(|(a, b)| (a / b - 1.0).abs() > UNSEEN))
    };
    let [read, command] = times;
    let deepest = sweep.points.last().map_or(0, |p| p.depth);
    let mut all = Vec::new();
    // What the controller takes less, a unit may take more: a depth of 1 shows their sum.
    if !seen(units, [read + command * CHANGE, command * (1.0 - CHANGE)])? {
        all.push(format!(
            "command_time: no depth up to {deepest} comes near the controller's cap; {:.2} us is the most that fits, \
                less of it and as much more of read_time does as well",
            command * 1e-3
        ));
    }
    let more = units + (f64::from(units) * CHANGE).ceil() as u32;
    if !seen(more, times)? {
        all.push(format!(
            "channels: more than {units} units would change no depth up to {deepest}: reads hardly collide, or \
                something else caps them first"
        ));
    }
    if !seen(units, [read * (1.0 - CHANGE), command])? {
        all.push("read_time: no depth shows the time of a unit; measure a depth of 1".into());
    }
    all.push(
        "read_time holds all that a command takes beside the host, the link and command_time: a sweep shows only its \
            sum with command_latency"
            .into(),
    );
    all.push(
        "units are dies, planes or channels, whichever serve one read at a time: reads of one size show only how many"
            .into(),
    );
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = r#"
[parts.host]
is = "root-complex"
[parts.drive]
is = "nvme"
[links.slot]
between = ["host", "drive"]
pcie = "gen4 x4"
[flows.read]
from = "host"
to = "drive"
do = "io"
access = { size = "4 KiB", read = "100 %", random = "100 %", align = "4 KiB" }
host_software = "spdk"
"#;

    #[test]
    fn a_sweep_of_a_known_drive_gives_it_again() {
        let depths = [1, 4, 16, 64, 256];
        let points: Vec<Point> = depths.into_iter().map(|depth| Point { depth, ios: 1.0 }).collect();
        let limit = MPPar::new;
        let sweep = Sweep {
            text: MACHINE,
            part: "drive",
            flow: "read",
            points: &points,
            units: 1,
            limits: [limit(), limit()],
            failed: None,
        };
        let ios = sweep.run(24, [60e3, 4e3]).expect("rates");
        let points: Vec<Point> = depths.into_iter().zip(ios).map(|(depth, ios)| Point { depth, ios }).collect();
        let drive = fit(MACHINE, "drive", "read", &points).expect("a drive");
        assert_eq!(drive.units, 24);
        assert!((drive.read_time / 60e3 - 1.0).abs() < 0.01, "{drive:?}");
        assert!((drive.command_time / 4e3 - 1.0).abs() < 0.05, "{drive:?}");
        assert!(drive.compared.iter().all(|(_, a, b)| (a / b - 1.0).abs() < 1e-3), "{drive:?}");
        assert_eq!(drive.unknown.len(), 2, "all three are seen: {drive:?}");
        // Shallow depths do not show the cap of a quick controller.
        let quick = sweep.run(24, [60e3, 500.0]).expect("rates");
        let points: Vec<Point> = depths.into_iter().zip(quick).map(|(depth, ios)| Point { depth, ios }).collect();
        let drive = fit(MACHINE, "drive", "read", &points[..3]).expect("a drive");
        assert!(drive.unknown.iter().any(|u| u.starts_with("command_time")), "{drive:?}");
    }

    #[test]
    fn sweeps_are_read() {
        let read = |text: &str| {
            let mut d = Diagnostics::default();
            let source = d.add_source("sweep", text);
            points(&mut d, source).ok_or(d.to_string())
        };
        let all = read("depth,iops\n1, 100\n\n# more\n4 350.5\n32\t900\n").expect("points");
        assert_eq!(all[1], Point { depth: 4, ios: 350.5 });
        assert!(read("1 100\n2 200\n").expect_err("two").contains("three"));
        assert!(read("1 100\n2 x\n3 300\n").expect_err("a word").contains("no line of a sweep"));
        assert!(read("1 100\n1 100\n3 300\n").expect_err("twice").contains("twice"));
        assert!(read("").is_err() && read("0 1\n1 2\n2 3\n4 5").is_err());
    }
}
