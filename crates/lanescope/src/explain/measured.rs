//! Measured numbers beside expected ones: a verdict for each, and what would explain those that differ.
//!
//! Instruments name what they measured in their own way: a matrix's GPU 2 is the third GPU by address (or the one that
//! nvidia-smi's table numbers so), a drive is `/dev/nvme0n1`, an adapter `mlx5_0`. A row whose device is not found is
//! kept and says so. Explanations are tried on all rows that are low at once; the one that fits them best comes first,
//! each with the command that would show it.

mod read;

pub use read::{Measurement, Target, read};

use super::expect::meet;
use super::rate::{Corner, Range, Sizes, Way, efficiency};
use super::slots::Slot;
use super::{Explained, Seen};
use crate::import::host::{Host, Kind};
use crate::protocol::pcie::{Generation, Lanes, Speed};
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
    /// `as expected`, `low`, `high`, `not placed`.
    pub verdict: String,
    /// Why.
    pub because: String,
}

/// Something that would explain rows that are low.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Candidate {
    /// What.
    pub what: String,
    /// How far it leaves the rows from what it predicts, percent, root mean square.
    pub off_percent: f64,
    /// The command that would show it.
    pub command: String,
}

/// What an instrument may be off by itself, besides: warm-up, clocks, rounding. Assumed.
const SLACK: f64 = 0.03;

/// A row with its devices.
struct Placed<'a> {
    from: &'a Slot,
    to: Option<&'a Slot>,
    way: Way,
    both: bool,
    links: Vec<usize>,
}

/// Writes rows and candidates into a report.
pub fn compare(host: &Host, report: &mut Explained, rows: Vec<Measurement>) {
    let seen = Seen::of(host);
    let mut low = Vec::new();
    for row in rows {
        let placed = place(&seen, &row.target);
        let line = judge(&seen, &row, placed.as_ref());
        if line.verdict == "low"
            && let Some(placed) = placed
        {
            low.push((placed, row.rate));
        }
        report.measured.push(line);
    }
    let mut found = candidates(&seen, &low);
    report.candidates.append(&mut found);
}

/// The nth GPU: as nvidia-smi numbers it, else by address.
fn gpu<'a>(seen: &'a Seen, index: usize) -> Option<&'a Slot> {
    let name = format!("GPU{index}");
    let by_name = seen.devices.iter().find(|s| names(seen, s).contains(&name));
    by_name.or_else(|| seen.devices.iter().filter(|s| s.kind == Kind::Gpu).nth(index))
}

fn names(seen: &Seen, slot: &Slot) -> Vec<String> {
    let functions = slot.functions.iter().filter_map(|a| seen.host.functions.get(a));
    functions.flat_map(|f| f.devices.iter().map(|d| d.value.clone())).collect()
}

/// A device by its name in the report, its address, or its name in the operating system.
fn named<'a>(seen: &'a Seen, name: &str) -> Option<&'a Slot> {
    let name = name.trim().trim_start_matches("/dev/");
    let address = crate::import::host::Address::parse(&name.to_ascii_lowercase());
    let all = || seen.devices.iter();
    all()
        .find(|s| s.id == name || address.is_some_and(|a| s.functions.contains(&a)))
        .or_else(|| all().find(|s| names(seen, s).iter().any(|n| n == name)))
        // A partition or namespace: nvme0n1p2 is on nvme0.
        .or_else(|| {
            let controller =
                name.strip_prefix("nvme").map(|n| n.chars().take_while(char::is_ascii_digit).collect::<String>());
            let controller = format!("nvme{}", controller.filter(|c| !c.is_empty())?);
            all().find(|s| names(seen, s).contains(&controller))
        })
        // Where there is one drive, a drive's test is of it.
        .or_else(|| {
            let mut drives = all().filter(|s| s.kind == Kind::Drive);
            let only = drives.next().filter(|_| drives.next().is_none());
            only.filter(|_| name.starts_with("nvme"))
        })
}

fn place<'a>(seen: &'a Seen, target: &Target) -> Option<Placed<'a>> {
    let one = |slot: &'a Slot, way, both| Placed { from: slot, to: None, way, both, links: slot.links.clone() };
    Some(match target {
        Target::ToDevice(n) => one(gpu(seen, *n)?, Way::Read, false),
        Target::FromDevice(n) => one(gpu(seen, *n)?, Way::Write, false),
        Target::Device { name, way } => one(named(seen, name)?, *way, false),
        Target::Peers { from, to, both } => {
            let slots = (gpu(seen, *from)?, gpu(seen, *to)?);
            pair(seen, slots, *both)
        }
        Target::Named { from, to } => pair(seen, (named(seen, from)?, named(seen, to)?), false),
        Target::Unknown => return None,
    })
}

fn pair<'a>(seen: &Seen, (from, to): (&'a Slot, &'a Slot), both: bool) -> Placed<'a> {
    let meeting = meet(seen, from, to);
    let links = match (meeting.switch, meeting.redirect) {
        (Some(_), None) => meeting.own.0.iter().chain(&meeting.own.1).copied().collect(),
        _ => from.links.iter().chain(&to.links).copied().collect(),
    };
    Placed { from, to: Some(to), way: Way::Write, both, links }
}

fn expected(seen: &Seen, placed: &Placed) -> Range {
    let factor = if placed.both { 2.0 } else { 1.0 };
    let of = |corner| {
        let (rate, _) = seen.along(placed.from, &placed.links, placed.way, corner)?;
        let port = placed.from.port.filter(|_| placed.to.is_none());
        Some(port.map_or(rate, |p| p.min(rate)) * factor)
    };
    let [low, typical, high] = Corner::ALL.map(of);
    let beyond = placed.to.is_some_and(|to| meet(seen, placed.from, to).switch.is_none());
    // What a root complex or a link between sockets forwards is in no dump.
    Range { low: low.filter(|_| !beyond), typical, high }
}

fn judge(seen: &Seen, row: &Measurement, placed: Option<&Placed>) -> Row {
    let line = |device, expected, verdict: &str, because: String| Row {
        file: row.file.clone(),
        name: row.name.clone(),
        device,
        measured: row.rate,
        expected,
        verdict: verdict.to_owned(),
        because,
    };
    let Some(placed) = placed else {
        return line(None, Range::default(), "not placed", "no device of the dumps has this name".into());
    };
    let device = match placed.to {
        Some(to) => format!("{} → {}", placed.from.id, to.id),
        None => placed.from.id.clone(),
    };
    let range = expected(seen, placed);
    let Some(high) = range.high else {
        let because = "a link on its way is not known".to_owned();
        return line(Some(device), range, "not placed", because);
    };
    let bound = seen.along(placed.from, &placed.links, placed.way, Corner::Typical).map(|b| b.1);
    let bound = bound.map_or_else(|| "its links".to_owned(), |b| seen.link_name(b));
    if row.rate > high * (1.0 + SLACK) {
        return line(Some(device), range, "high", above(seen, placed, row, high));
    }
    match range.low {
        Some(low) if row.rate < low * (1.0 - SLACK) => {
            // A drive's or an adapter's own limit is behind the slot, and in no dump.
            let own = matches!(placed.from.kind, Kind::Drive | Kind::Nic | Kind::Storage);
            let part = 100.0 * row.rate / low;
            let because = match own {
                true => format!("{part:.0} % of what {bound} carries at least: a link fault, or the device itself"),
                false => format!("{part:.0} % of what {bound} carries at least"),
            };
            line(Some(device), range, "low", because)
        }
        Some(_) => line(Some(device), range, "as expected", format!("{bound} binds")),
        None => {
            let because = format!("not above what {bound} carries; no dump bounds it from below");
            line(Some(device), range, "as expected", because)
        }
    }
}

/// Why a number may be above what the wire carries.
fn above(seen: &Seen, placed: &Placed, row: &Measurement, high: f64) -> String {
    let ratio = row.rate / high;
    let direct = placed.to.is_some_and(|to| seen.joined(placed.from, to));
    let fastest = placed.links.iter().filter_map(|l| seen.speed(*l, Corner::High)).map(|s| s.coded().bytes() / 1e9);
    let raw = fastest.fold(f64::INFINITY, f64::min) * if placed.both { 2.0 } else { 1.0 };
    if direct {
        return "above PCI Express: it went over the direct link between the two".into();
    }
    if row.rate / (1 << 20) as f64 * 1e6 <= high * 1.005 && ratio < 1.06 {
        return "above what the wire carries; if its unit was MiB, it fits".into();
    }
    if row.rate <= raw {
        return "above what fits beside headers of this MPS: the dump's MPS, the unit (MB against MiB) or a clock is wrong"
            .into();
    }
    if placed.to.is_none() && placed.from.kind == Kind::Drive {
        return "above what the wire carries at all: it came from a cache of the host".into();
    }
    format!(
        "above the {raw:.1} GB/s of the wire itself: another way (NVLink), another link than the dump's, or a clock"
    )
}

/// What could be otherwise than the dump says.
struct Hypothesis {
    what: String,
    command: String,
    speed: Box<dyn Fn(Speed) -> Option<Speed>>,
    sizes: fn(Sizes) -> Sizes,
    /// Requests of MRRS in flight, over a round trip of this many ns.
    tags: Option<(f64, f64)>,
    /// Part of the rate that is left.
    part: f64,
    /// Whether it can only be of two devices.
    of_pairs: bool,
}

fn hypotheses(at: &str) -> Vec<Hypothesis> {
    let link = format!("sudo lspci -vv -s {at} | grep LnkSta, while it is loaded");
    let control = format!("sudo lspci -vv -s {at} | grep -A2 DevCtl");
    let base = |what: String, command: &str| Hypothesis {
        what,
        command: command.to_owned(),
        speed: Box::new(Some),
        sizes: |s| s,
        tags: None,
        part: 1.0,
        of_pairs: false,
    };
    let mut all = Vec::new();
    for generation in Generation::ALL.into_iter().take(5) {
        let rate = crate::import::host::gigatransfers(generation);
        let slow = move |s: Speed| (s.generation > generation).then_some(Speed { generation, ..s });
        let what = format!("the link runs at {rate} GT/s under load");
        all.push(Hypothesis { speed: Box::new(slow), ..base(what, &link) });
    }
    for lanes in [1, 2, 4, 8] {
        let narrow = move |s: Speed| (s.lanes.count() > lanes).then_some(Speed { lanes: Lanes::new(lanes)?, ..s });
        all.push(Hypothesis { speed: Box::new(narrow), ..base(format!("the link runs with x{lanes}"), &link) });
    }
    let small: fn(Sizes) -> Sizes = |s| Sizes { mps: 128, completion: s.completion.min(128), ..s };
    all.push(Hypothesis { sizes: small, ..base("MPS is 128 B".into(), &control) });
    for tags in [1.0, 8.0, 16.0, 32.0, 64.0] {
        let what = format!("{tags} reads of MRRS in flight, 600 ns each");
        all.push(Hypothesis { tags: Some((tags, 600.0)), ..base(what, &control) });
    }
    let numa = "numactl --cpunodebind=N --membind=N, with the device's node, and again";
    all.push(Hypothesis {
        part: 0.7,
        ..base("the buffer is on the far node (some 0.7 of the near rate)".into(), numa)
    });
    let acs = "sudo lspci -vvv | grep ACSCtl";
    let redirected = base("ACS sends it up to the root and back, both ways on one link".into(), acs);
    all.push(Hypothesis { part: 0.5, of_pairs: true, ..redirected });
    all
}

/// Explanations of rows that are low, ranked by how far all of them stay off.
fn candidates(seen: &Seen, low: &[(Placed, f64)]) -> Vec<Candidate> {
    let Some((first, _)) = low.first() else { return Vec::new() };
    let mut found: Vec<Candidate> = hypotheses(&first.from.address.to_string())
        .into_iter()
        .filter_map(|h| {
            let mut sum = 0.0;
            for (placed, measured) in low {
                let rate = predicted(seen, placed, &h)?;
                sum += (measured / rate).ln().powi(2);
            }
            let off = (sum / low.len() as f64).sqrt();
            let off_percent = (off.exp() - 1.0) * 100.0;
            Some(Candidate { what: h.what, off_percent: (off_percent * 10.0).round() / 10.0, command: h.command })
        })
        .filter(|c| c.off_percent < 25.0)
        .collect();
    found.sort_by(|a, b| a.off_percent.total_cmp(&b.off_percent));
    found.truncate(5);
    found
}

fn predicted(seen: &Seen, placed: &Placed, h: &Hypothesis) -> Option<f64> {
    if (h.tags.is_some() && placed.way == Way::Write) || (h.of_pairs && placed.to.is_none()) {
        return None;
    }
    let sizes = (h.sizes)(seen.sizes(placed.from, Corner::Typical));
    let own = *placed.links.first()?;
    let mut least = f64::INFINITY;
    for link in &placed.links {
        let mut speed = seen.speed(*link, Corner::Typical)?;
        if *link == own {
            speed = (h.speed)(speed)?;
        }
        least = least.min(seen.rates.of(speed, sizes, placed.way)?);
    }
    let mut rate = least * efficiency(placed.from.kind, placed.way, Corner::Typical) * h.part;
    if let Some((tags, ns)) = h.tags {
        rate = rate.min(tags * sizes.mrrs as f64 / ns);
    }
    Some(rate * if placed.both { 2.0 } else { 1.0 })
}
