//! Measured numbers beside expected ones: a verdict for each, and what would explain those that differ.
//!
//! Instruments name what they measured in their own way: a matrix's GPU 2 is the third GPU by address (or the one that
//! nvidia-smi's table numbers so), a drive is `/dev/nvme0n1`, an adapter `mlx5_0`. A row whose device is not found is
//! kept and says so. Explanations are tried on all rows that are low at once; the one that fits them best comes first,
//! each with the command that would show it.

mod candidates;
mod collective;
mod locate;
mod ranks;
mod read;

pub(crate) use read::Measurement;
pub use read::{Rank, Target, read};

use super::peers::peer_path;
use super::rate::{Corner, Range};
use super::{Explained, Topology};
use crate::import::host::{Host, Kind};
use candidates::candidates;
use locate::{Located, Path, expected};
use schemars::JsonSchema;
use serde::Serialize;

/// A measured number beside what was expected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// The file.
    pub file: String,
    /// The row as its instrument names it.
    pub name: String,
    /// The device, or `gpu0 → gpu1`; absent where none fits.
    pub device: Option<String>,
    /// GB/s of payload.
    pub measured: f64,
    /// GB/s.
    pub expected: Range,
    /// `as expected`, `low`, `high`; `not judged` where nothing can be expected, `not placed` where no device fits.
    pub verdict: String,
    /// Why.
    pub because: String,
}

/// Something that would explain rows that are low.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Candidate {
    /// What.
    pub what: String,
    /// How far all rows that are low, or that it touches, are from what it predicts, percent, root mean square.
    pub off_percent: f64,
    /// Low rows that it explains.
    pub explains: usize,
    /// Low rows in all.
    pub of: usize,
    /// The command that would show it.
    pub command: String,
    /// What that command would show.
    pub shows: String,
}

/// What an instrument may be off by itself, besides: warm-up, clocks, rounding. Assumed.
const SLACK: f64 = 0.03;

/// Writes rows and candidates into a report; of several files all rows at once, since they are of one host.
pub fn compare(host: &Host, report: &mut Explained, rows: Vec<Measurement>) {
    let topology = Topology::of(host);
    let mut judged = Vec::new();
    for row in rows {
        let located = locate(&topology, &row.target);
        let line = judge(&topology, &row, &located);
        // A number that is too high is of something else than the dump's links.
        if let (Located::Path(path), "low" | "as expected") = (located, line.verdict.as_str()) {
            let (expected, low) = (line.expected, line.verdict == "low");
            judged.push(candidates::Row { path, measured: row.rate, expected, low });
        }
        report.measured.push(line);
    }
    (report.candidates, report.tell_apart) = candidates(&topology, &judged);
    if report.candidates.is_empty() {
        report.unexplained = judged.iter().filter(|r| r.low).count();
    }
}

/// What a row is of.
fn locate<'a>(topology: &'a Topology, target: &Target) -> Located<'a> {
    match target {
        Target::Collective { test, ranks, hosts } => collective::expected(topology, test, ranks, *hosts),
        Target::Messages(messages) => ranks::expected(topology, messages),
        _ => locate::path(topology, target).map_or(Located::Nowhere, Located::Path),
    }
}

fn judge(topology: &Topology, row: &Measurement, located: &Located) -> Row {
    let line = |device: Option<String>, expected, verdict: &str, because: String| Row {
        file: row.file.clone(),
        name: row.name.clone(),
        device,
        measured: row.rate,
        expected,
        verdict: verdict.to_owned(),
        because,
    };
    let path = match located {
        Located::Nowhere => {
            let because = "no device of the dumps has this name".into();
            return line(None, Range::default(), "not placed", because);
        }
        Located::Unjudged(device, why) => return line(device.clone(), Range::default(), "not judged", why.clone()),
        Located::Load(load) => {
            let (verdict, because) = verdict(row.rate, &load.range, &load.bound_by, false);
            let because = match (verdict, load.note) {
                ("high", _) => load.above.to_owned(),
                (_, Some(note)) => format!("not above what {} carries; {note}", load.bound_by),
                _ => because,
            };
            return line(Some(load.device.clone()), load.range, verdict, because);
        }
        Located::Path(path) => path,
    };
    let device = match path.to {
        Some(to) => format!("{} → {}", path.from.id, to.id),
        None => path.from.id.clone(),
    };
    let range = expected(topology, path);
    let Some(high) = range.high else {
        let because = "the speed of a link on its path is not known".to_owned();
        return line(Some(device), range, "not judged", because);
    };
    let bound = topology.along(path.from, &path.links, path.way, Corner::Typical).map(|b| b.1);
    let forwarded = path.to.is_some_and(|to| peer_path(topology, path.from, to).is_forwarded());
    let bound = match (path.from.bus.filter(|_| path.to.is_none()), bound) {
        (Some(bus), _) => topology.bus_name(bus),
        (None, _) if forwarded && range.low.is_some() => "the root complex between them".to_owned(),
        (None, Some(link)) => topology.link_name(link),
        (None, None) => "its link".to_owned(),
    };
    // A drive's or an adapter's own limit is behind the slot, and in no dump.
    let own = matches!(path.from.kind, Kind::Drive | Kind::Nic | Kind::Storage);
    let (verdict, because) = verdict(row.rate, &range, &bound, own);
    let because = if verdict == "high" { above(topology, path, row, high) } else { because };
    line(Some(device), range, verdict, because)
}

/// The verdict of a rate, and why; `own` where a device may hold itself back.
fn verdict(rate: f64, range: &Range, bound: &str, own: bool) -> (&'static str, String) {
    if range.high.is_some_and(|high| rate > high * (1.0 + SLACK)) {
        return ("high", String::new());
    }
    match range.low {
        Some(low) if rate < low * (1.0 - SLACK) => {
            let part = 100.0 * rate / low;
            let device = if own { ": a fault of the link, or the device itself" } else { "" };
            ("low", format!("{part:.0} % of the least that {bound} should carry{device}"))
        }
        Some(_) => ("as expected", format!("{bound} binds")),
        None => {
            ("as expected", format!("not above what {bound} carries; no dump says from where on it would be too low"))
        }
    }
}

/// Why a number may be above what the wire carries.
fn above(topology: &Topology, path: &Path, row: &Measurement, high: f64) -> String {
    let ratio = row.rate / high;
    let direct = path.to.is_some_and(|to| topology.joined(path.from, to));
    let fastest = path.links.iter().filter_map(|l| topology.speed(*l, Corner::High)).map(|s| s.coded().bytes() / 1e9);
    let raw = fastest.fold(f64::INFINITY, f64::min) * if path.both { 2.0 } else { 1.0 };
    if direct {
        return "above PCI Express: it went over the direct link between the two".into();
    }
    if row.rate / (1 << 20) as f64 * 1e6 <= high * 1.005 && ratio < 1.06 {
        return "above what the wire carries; if its unit was MiB, it fits".into();
    }
    if row.rate <= raw {
        let why = "above what fits beside headers of this MPS: the dump's MPS, the unit (MB against MiB) or a clock";
        return format!("{why} is wrong");
    }
    if path.to.is_none() && path.from.kind == Kind::Drive {
        return "above what the wire carries at all: it came from a cache of the host".into();
    }
    format!(
        "above the {raw:.1} GB/s of the wire itself: another path (NVLink), another link than the dump's, or a clock"
    )
}
