//! One body per fuzz target: what a user can feed in, taken all the way through, with what must hold afterwards.
//!
//! `fuzz/` calls these with what a fuzzer invents, `corpus.rs` with the committed seeds on a stable compiler, and
//! `random_scenarios.rs` with trees made by [`tree`]. A body returns whether its input was accepted, and panics where a
//! promise is broken.

// Each user of this file takes what it needs, from a crate of its own.
#![allow(dead_code, unreachable_pub)]

pub mod collectives;
pub mod hosts;
pub mod instruments;
pub mod invariants;
pub mod jobs;
pub mod machine;
pub mod pattern;
pub mod programs;
pub mod simulated;
pub mod tree;

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::{estimate, need, wire};
use lanescope::library::Library;
use lanescope::pens::{self, Paint};
use lanescope::plan::Plan;
use lanescope::result::{FLOW_METRICS, LINK_METRICS, Report};
use lanescope::scenario::tree::Author;
use lanescope::scenario::{Included, Resolver};
use lanescope::sim::{Run, Step};
use lanescope::units::{Bytes, Frequency, Rate, Time, human};

/// A body by the name of its target.
pub type Body = fn(&[u8]) -> bool;

/// All targets. The name is also that of the corpus folder.
pub const TARGETS: [(&str, Body); 19] = [
    ("scenario", scenario),
    ("sets", sets),
    ("units", units),
    ("report", report),
    ("wire", calculator),
    ("tree", grown),
    ("ti", programs::ti),
    ("goal", programs::goal),
    ("imb", programs::imb),
    ("osu", programs::osu),
    ("fio_job", jobs::fio_job),
    ("fio_json", jobs::fio_json),
    ("iozone", jobs::iozone),
    ("host", hosts::host),
    ("measured", hosts::measured),
    ("icf", instruments::icf),
    ("iometer_csv", instruments::iometer_csv),
    ("gpu_cluster", collectives::gpu_cluster),
    ("nccl_tests", collectives::nccl_tests),
];

/// A small valid scenario, for what needs one beside its own input.
pub const SMALL: &str = r#"
[parts.host]
use = "example/root-complex"

[parts.sw]
use = "example/pcie-switch"

[parts.nic]
use = "example/nic-25g"
count = 2

[links.uplink]
between = ["host", "sw.up"]
pcie = "gen3 x4"
mps = "256 B"

[links.slots]
between = ["sw.down.*", "nic.*"]
pcie = "gen3 x8"

[flows.rx]
from = "nic.*"
to = "host.memory"
do = "write"
size = "2 KiB"

[flows.tx]
from = "nic.0"
to = "host.memory"
do = "read"
size = "4 KiB"
load = { outstanding = 8, think = "300 ns" }
measured = "9 Gb/s"
"#;

/// The library, and one file of the user's own that includes itself.
struct Shelf;

impl Resolver for Shelf {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        match reference {
            "./own.toml" => Ok(Included {
                name: "own.toml".into(),
                text: "use = \"./own.toml\"\nplatform = \"./own.toml\"\nis = \"endpoint\"\ntags = 8\n".into(),
                author: Author::User,
            }),
            _ => Library.resolve(reference, from),
        }
    }

    fn names(&self) -> Vec<String> {
        Library.names()
    }
}

/// Reads and plans a text.
pub fn plan(text: &str, sets: &[String]) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "fuzz".into(), text: text.to_owned(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, sets, &Shelf);
    (plan, diagnostics)
}

/// A scenario's text, through every room to every pen.
pub fn scenario(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| walk(text, &[], true))
}

/// Lines of `path=value`, laid over [`SMALL`].
pub fn sets(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let sets: Vec<String> = text.lines().map(str::to_owned).collect();
    walk(SMALL, &sets, true)
}

/// A valid tree that [`tree::grow`] makes of any bytes.
pub fn grown(data: &[u8]) -> bool {
    // Trees are simulated by their own test, to an end of their own.
    walk(&tree::grow(data), &[], false)
}

fn walk(text: &str, sets: &[String], simulated: bool) -> bool {
    let (plan, diagnostics) = plan(text, sets);
    assert_eq!(plan.is_none(), diagnostics.has_errors(), "a refusal says why, and only a refusal: {diagnostics}");
    for d in diagnostics.sorted() {
        let Some(span) = d.span else { continue };
        assert!(span.start <= span.end, "a span runs backwards: {d:?}");
        assert!(span.start as usize <= diagnostics.source(span.source).text.len(), "a span leaves its text: {d:?}");
    }
    let _ = diagnostics.to_string();
    let Some(plan) = plan else { return false };
    let _ = plan.settings();
    let report = estimate(&plan, &diagnostics);
    invariants::check(&plan, &report);
    invariants::repeatable(&plan, &diagnostics, &report);
    draw(&plan, &report);
    if let Some(flow) = plan.flows.first().filter(|_| plan.flows.len() <= 4 && plan.parts.len() <= 16) {
        let wanted = Rate::from_bits(1_000_000_000_000);
        let need = need(&plan, &flow.group, wanted).expect("the flow exists");
        assert!(need.alone.iter().chain(&need.together).all(|s| s.share.is_finite()), "{need:?}");
    }
    if simulated {
        simulate(plan, report);
    }
    true
}

/// A short run ends within its caps, and its report is one that can be read again: no number is missing or none.
fn simulate(mut plan: Plan, report: Report) {
    const PACKETS: u64 = 2_000;
    const EVENTS: u64 = 2_000_000;
    let stop = &mut plan.limits;
    stop.max_packets = stop.max_packets.min(PACKETS);
    stop.max_time = stop.max_time.min(Time::from_fs(1_000_000_000_000));
    stop.length = stop.length.map(|l| l.min(stop.max_time));
    stop.warmup = stop.warmup.map(|w| w.min(stop.max_time));
    let mut reasons = Diagnostics::default();
    let Some(mut run) = Run::new(&plan, plan.limits.seed as u64, &mut reasons) else {
        assert!(reasons.has_errors(), "refused without a reason");
        return;
    };
    while run.advance(1 << 12) != Step::Done {
        assert!(run.events() < EVENTS, "{} events, {} packets at {} s", run.events(), run.packets(), run.time());
    }
    let report = report.with(run.snapshot());
    let json = serde_json::to_string(&report).expect("a report is JSON");
    let back: Report = serde_json::from_str(&json).unwrap_or_else(|e| panic!("a report is not read back: {e}\n{json}"));
    write(&back);
}

/// Every pen on a plan and its report.
fn draw(plan: &Plan, report: &Report) {
    write(report);
    let svg = pens::svg::topology(plan, report, pens::svg::Method::Simulation);
    assert!(svg.starts_with("<svg") && svg.len() < 4 << 20, "a picture of {} bytes", svg.len());
}

/// Every pen on a report alone; it may be of anyone's making.
fn write(report: &Report) {
    for all_links in [false, true] {
        let _ = pens::text::report(report, Paint::TERMINAL, all_links);
    }
    for grid in [pens::flows_grid(report), pens::links_grid(report)] {
        assert!(grid.rows.iter().all(|r| r.len() == grid.head.len()), "a row that is no row of its table");
    }
    for link in report.links.iter().take(4) {
        let _ = pens::svg::waterfall(link);
    }
    for metric in FLOW_METRICS {
        for flow in report.flows.iter().take(4) {
            let _ = report.metric(&format!("flows.{}.{}", flow.name, metric.name)).map(|m| human(m.value, m.dimension));
        }
        let _ = report.metric(&format!("flows.*.{}", metric.name));
    }
    for metric in LINK_METRICS {
        for link in report.links.iter().take(4) {
            let _ = report.metric(&format!("links.{}.up.{}", link.name, metric.name));
            let _ = report.metric(&format!("links.{}.{}", link.name, metric.name));
        }
    }
    for switch in report.switches.iter().take(4) {
        let _ = report.metric(&format!("switches.{}.latency", switch.name));
    }
}

/// Any bytes as a report of `run --json`: a file of unknown origin may be given to `diff`. What is no report by itself
/// is laid over that of [`SMALL`], so that a few values are enough for an odd one.
pub fn report(data: &[u8]) -> bool {
    let (plan, diagnostics) = plan(SMALL, &[]);
    let plan = plan.unwrap_or_else(|| panic!("{diagnostics}"));
    let ours = estimate(&plan, &diagnostics);
    let theirs = serde_json::from_slice::<Report>(data).or_else(|_| {
        let mut json = serde_json::to_value(&ours)?;
        lay(&mut json, serde_json::from_slice(data)?);
        serde_json::from_value(json)
    });
    let Ok(theirs) = theirs else { return false };
    write(&theirs);
    let _ = pens::svg::topology(&plan, &theirs, pens::svg::Method::Simulation);
    for (a, b) in [(&ours, &theirs), (&theirs, &ours), (&theirs, &theirs)] {
        let (changes, moved) = pens::diff::diff(a, b, 1e-6);
        let grid = pens::diff::grid(&changes, &moved);
        assert_eq!(grid.rows.len(), changes.len() + moved.len());
    }
    for word in [theirs.title.as_str(), &theirs.provenance.plan, &theirs.provenance.program] {
        let _ = theirs.metric(word);
    }
    serde_json::to_string(&theirs).is_ok()
}

/// Lays a value over another: tables key by key, lists entry by entry.
fn lay(under: &mut serde_json::Value, over: serde_json::Value) {
    use serde_json::Value::{Array, Object};
    match (under, over) {
        (Object(under), Object(over)) => {
            for (key, value) in over {
                lay(under.entry(key).or_insert(serde_json::Value::Null), value);
            }
        }
        (Array(under), Array(over)) => {
            for (i, value) in over.into_iter().enumerate() {
                match under.get_mut(i) {
                    Some(old) => lay(old, value),
                    None => under.push(value),
                }
            }
        }
        (under, over) => *under = over,
    }
}

/// Lines of quantities.
pub fn units(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    text.lines().filter(|line| quantity(line)).count() > 0
}

/// A quantity's text. What is shown can be read again, and exactly so where the text has room for every digit.
fn quantity(text: &str) -> bool {
    let mut any = false;
    if let Ok(time) = Time::parse(text) {
        let again = Time::parse(&time.to_string()).unwrap_or_else(|e| panic!("{time} is shown but not read: {e:?}"));
        assert_eq!(again, time, "{text:?} shows as {time}");
        any = true;
    }
    if let Ok(bytes) = Bytes::parse(text) {
        assert_eq!(Bytes::parse(&bytes.to_string()), Ok(bytes), "{text:?} shows as {bytes}");
        any = true;
    }
    if let Ok(frequency) = Frequency::parse(text) {
        assert_eq!(Frequency::parse(&frequency.to_string()), Ok(frequency), "{text:?} shows as {frequency}");
        any = true;
    }
    if let Ok(rate) = Rate::parse(text) {
        assert!(rate.bits().is_finite() && rate.bits() > 0.0, "{text:?} is a rate of {}", rate.bits());
        assert_eq!(rate.cmp(&rate.scaled(3, 3)), std::cmp::Ordering::Equal, "{text:?} times 3 / 3");
        let _ = (rate.time(Bytes(1 << 60)), rate.slots(Time::MAX));
        // A rate is shown to four digits; the largest that is read may be rounded to more than that.
        if rate.bits() > 1.0 && rate.bits() < 0.999e18 {
            let again =
                Rate::parse(&rate.to_string()).unwrap_or_else(|e| panic!("{rate} is shown but not read: {e:?}"));
            assert!((again.bits() / rate.bits() - 1.0).abs() < 1e-3, "{text:?} shows as {rate}");
        }
        any = true;
    }
    any
}

/// Lines for the protocol calculator: speed, payload, header, Acks, UpdateFCs, completion, and a line of letters (e, o,
/// b) for its switches.
pub fn calculator(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default().to_owned();
    let mut question = wire::Question {
        speed: line(),
        payload: line(),
        header: line(),
        ack_every: line(),
        update_fc_every: line(),
        completion: line(),
        request: "512 B".into(),
        ecrc: false,
        ordered_sets: false,
        both_ways: false,
    };
    let switches = line();
    (question.ecrc, question.ordered_sets, question.both_ways) =
        (switches.contains('e'), switches.contains('o'), switches.contains('b'));
    let mut diagnostics = Diagnostics::default();
    let answer = wire::wire(&mut diagnostics, &question);
    let _ = diagnostics.to_string();
    let Some(answer) = answer else { return false };
    let all = [answer.raw, answer.coded, answer.tlps_per_second, answer.write, answer.read, answer.efficiency];
    assert!(all.iter().all(|v| v.is_finite() && *v >= 0.0), "{answer:?}");
    let _ = pens::svg::waterfall(&answer.direction);
    true
}
