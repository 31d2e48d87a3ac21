//! Helpers of the integration tests.
#![allow(dead_code, reason = "each test file uses some of them")]

pub(crate) mod choices;
pub(crate) mod grow;

pub(crate) use crate::bodies::{machine, simulated as laws};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::result::{Ending, FlowReport, Report, SimulatedFlow, SimulatedLink, Simulation};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use lanescope::units::Time;
use std::path::{Path, PathBuf};

/// Plans a user's text; the diagnostics come back in any case.
pub(crate) fn plan(text: &str, sets: &[&str]) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let included = Included { name: "t.toml".into(), text: text.to_owned(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &sets, &Library);
    (plan, diagnostics)
}

/// Answers a text that must be right.
pub(crate) fn run(text: &str, sets: &[&str]) -> Report {
    match plan(text, sets) {
        (Some(plan), diagnostics) => estimate(&plan, &diagnostics),
        (None, diagnostics) => panic!("{diagnostics}"),
    }
}

/// One flow of a report.
pub(crate) fn flow<'a>(report: &'a Report, name: &str) -> &'a FlowReport {
    report.flows.iter().find(|f| f.name == name).expect("the flow is there")
}

/// The text of all messages about a text that must be wrong.
pub(crate) fn wrong(text: &str, sets: &[&str]) -> String {
    let (plan, diagnostics) = plan(text, sets);
    assert!(plan.is_none(), "this should not have passed");
    diagnostics.to_string()
}

/// All of it is in a message.
#[track_caller]
pub(crate) fn has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in:\n{message}");
    }
}

/// The same of a message that has a place.
#[track_caller]
pub(crate) fn has_at(message: &str, parts: &[&str]) {
    has(message, parts);
    assert!(message.contains("t.toml:"), "no place:\n{message}");
}

/// A plan that must be right.
pub(crate) fn planned(text: &str, sets: &[&str]) -> Plan {
    match plan(text, sets) {
        (Some(plan), _) => plan,
        (None, diagnostics) => panic!("{diagnostics}"),
    }
}

/// Why a plan cannot be simulated.
pub(crate) fn refused(plan: &Plan) -> Vec<String> {
    let mut d = Diagnostics::default();
    assert!(Run::new(plan, 1, &mut d).is_none());
    d.sorted().iter().map(|d| d.message.clone()).collect()
}

/// What a text comes to by both methods: its estimate, and its simulation to the end.
pub(crate) fn by_both(text: &str) -> (Report, Simulation) {
    let (plan, d) = plan(text, &[]);
    let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
    (estimate(&plan, &d), simulate_by(&plan, 1, u64::MAX))
}

/// Simulates a plan to its end, so many events at a time.
pub(crate) fn simulate_by(plan: &Plan, seed: u64, events: u64) -> Simulation {
    let mut run = Run::new(plan, seed, &mut Diagnostics::default()).expect("this can be simulated");
    let mut before = 0.0;
    while run.advance(events) != Step::Done {
        assert!(run.time() >= before, "time runs back");
        before = run.time();
    }
    run.snapshot()
}

/// Little's law, to the last bit of a float, of a run with this seed. Of a run that begins with nothing in flight, the
/// integral of the operations in flight up to a moment is the sum of the latencies of those done by then and of the
/// ages of those that are in flight: so these ages are their difference, and none is negative. Over a window that opens
/// later the integral is as much more than the sum of latencies as the ages at its end are more than those at its
/// beginning; where it opens at once, one that opens halfway is held to that. A run that its cap on packets ended may
/// have ended between two events of one moment, so it is held to this by a run that its length ends there.
pub(crate) fn little(plan: &Plan, seed: u64, s: &Simulation) {
    let ran = |warmup: u64, until: u64| {
        let mut plan = plan.clone();
        plan.limits.length = Some(Time::from_fs(until - warmup));
        plan.limits.warmup = Some(Time::from_fs(warmup));
        // The cap ends none of these; without one, what may be in flight would be too much to simulate.
        plan.limits.max_packets = plan.limits.max_packets.saturating_mul(2);
        let s = simulate_by(&plan, seed, u64::MAX);
        let ended = ((s.warmup + s.window) * 1e15).round();
        assert!((ended - until as f64).abs() <= 1e-12 * until as f64 + 1.0, "{ended} fs in place of {until}");
        s
    };
    let ages = |s: &Simulation| -> Vec<f64> { s.flows.iter().map(|f| (f.in_flight - f.little) * s.window).collect() };
    let fs = |seconds: f64| (seconds * 1e15).round() as u64;
    let until = fs(s.warmup + s.window);
    // Halfway a load by the clock may begin an operation: to open a window changes nothing of what begins then.
    let opens = if s.warmup > 0.0 { fs(s.warmup) } else { until / 2 };
    if opens == 0 {
        return;
    }
    let by_length = if s.ending == Ending::Length { s.clone() } else { ran(fs(s.warmup), until) };
    let other = ran(if s.warmup > 0.0 { 0 } else { opens }, until);
    let (late, whole) = if s.warmup > 0.0 { (by_length, other) } else { (other, by_length) };
    for ((f, opens), closes) in late.flows.iter().zip(ages(&ran(0, opens))).zip(ages(&whole)) {
        let noise = 1e-9 * (1.0 + f.in_flight.max(f.little)) * (late.warmup + late.window);
        assert!(opens >= -noise && closes >= -noise, "{}: ages of {opens} s and {closes} s", f.name);
        let apart = (f.in_flight - f.little) * late.window;
        let off = (apart - (closes - opens)).abs();
        assert!(
            off <= noise,
            "{}: {} in flight, {} by Little's law: {apart} s of {opens} s to {closes} s",
            f.name,
            f.in_flight,
            f.little
        );
    }
}

/// A file or folder of real programs and machines: of the repository's own, or of the shared ones, where those are.
pub(crate) fn fixture(name: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    if own.exists() { Some(own) } else { shared(name) }
}

/// The same of the shared ones alone, which are not all ours to copy; `None`, and a word about it, where they are not.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

/// Whether tests do all that they can, as in CI: every row of the studies, every drive and dump, the largest inputs; or
/// some of each.
pub(crate) fn everything() -> bool {
    std::env::var_os("LANESCOPE_ROWS").is_some_and(|v| v == "all")
}

/// The same, and a word about what is left out where they do not.
pub(crate) fn in_full(what: &str) -> bool {
    if !everything() {
        eprintln!("skipped: {what}, without LANESCOPE_ROWS=all");
    }
    everything()
}

/// One of so many where not everything is tested, all where it is.
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>, of: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if everything() { 1 } else { of })
}

/// Simulates a text that must be right, and checks the laws that every simulation keeps.
pub(crate) fn simulate(text: &str, sets: &[&str]) -> Simulation {
    let plan = planned(text, sets);
    let simulation = simulate_by(&plan, plan.limits.seed as u64, 1 << 20);
    laws::check(&plan, &simulation, &vec![0.0; simulation.flows.len()]);
    simulation
}

/// One flow of a simulation.
pub(crate) fn simulated<'a>(simulation: &'a Simulation, name: &str) -> &'a SimulatedFlow {
    simulation.flows.iter().find(|f| f.name == name).expect("the flow is there")
}

/// One direction of a link, by its name and the part that it leads to.
pub(crate) fn toward<'a>(simulation: &'a Simulation, link: &str, to: &str) -> &'a SimulatedLink {
    simulation.links.iter().find(|l| l.name == link && l.to == to).expect("the link is there")
}

/// Within so much of it, relative.
#[track_caller]
pub(crate) fn within(share: f64, a: f64, b: f64) {
    assert!((a - b).abs() <= share * b.abs(), "{a} is not {b}: off by {:.5}", a / b - 1.0);
}

/// A test that watches the memory of its process needs one to itself: whether this is that process. If not, the test of
/// this path has been run in one.
pub(crate) fn alone(test: &str) -> bool {
    if std::env::var_os("LANESCOPE_ALONE").is_some() {
        return true;
    }
    in_own_process(test, "LANESCOPE_ALONE", "1");
    false
}

/// Runs the test of this path in a process of its own, which a variable tells so, and gives what it prints.
pub(crate) fn in_own_process(test: &str, variable: &str, value: &str) -> String {
    let mut own = std::process::Command::new(std::env::current_exe().expect("this program"));
    let output = own.args(["--exact", test, "--nocapture"]).env(variable, value).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}
