//! What is said of a flow that gets more or less than its share: only what its own links show, only in the direction of
//! the difference, and only where chance alone is no reason.

use super::{plan, simulate_by};
use crate::common::choices::{Choices, runner};
use lanescope::estimate::estimate;
use lanescope::result::{Ending, Note, Report};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

fn answered(text: &str, sets: &[&str]) -> Report {
    let (made, diagnostics) = plan(text, sets);
    let made = made.unwrap_or_else(|| panic!("{diagnostics}\n{text}"));
    let seen = simulate_by(&made, made.limits.seed as u64, u64::MAX);
    estimate(&made, &diagnostics).with(seen)
}

/// Stations at a switch.
fn star(count: usize, rate: &str, switch: &str) -> String {
    format!(
        "[parts.host]\nis = \"station\"\ncount = {count}\n[parts.sw]\nis = \"ethernet-switch\"\n{switch}\
         [links.lan]\nbetween = [\"host.*\", \"sw\"]\nethernet = \"{rate}\"\n"
    )
}

fn send(name: &str, [from, to]: [usize; 2], keys: &str) -> String {
    format!("[flows.{name}]\nfrom = \"host.{from}\"\nto = \"host.{to}\"\ndo = \"send\"\nsize = \"1500 B\"\n{keys}")
}

fn differences(report: &Report) -> impl Iterator<Item = &Note> {
    report.notes.iter().filter(|n| n.text.starts_with("simulated ") && n.text.contains(" its share"))
}

/// How many notes there are of differences between share and simulation, in a star whose flows have one source and one
/// target each; or what is wrong with one.
fn of_its_own(report: &Report) -> Result<usize, String> {
    let simulation = report.simulation.as_ref().expect("it was simulated");
    for note in differences(report) {
        let pairs = report.flows.iter().zip(&simulation.flows);
        let mine = pairs.into_iter().find(|(f, _)| note.element == format!("flows.{}", f.name));
        let (f, s) = mine.ok_or_else(|| format!("{note:?} is on no flow"))?;
        // `send 1500 B, host.0 → sw → host.1`.
        let way: Vec<String> =
            f.what.split([' ', ',']).filter_map(|w| Some(format!("links.lan.{}", w.strip_prefix("host.")?))).collect();
        assert_eq!(way.len(), 2, "{}", f.what);
        let named = note.text.split([' ', ',', ':']).filter(|w| w.starts_with("links."));
        if let Some(other) = named.into_iter().find(|link| !way.iter().any(|w| w == link)) {
            return Err(format!("{note:?} names {other}, and its way is {way:?}"));
        }
        let off = s.rate.mean - f.share.typical;
        if s.rate.half.is_some_and(|half| off.abs() <= half) {
            return Err(format!("{note:?} explains what chance does: {off} within {:?}", s.rate));
        }
        let slower = ["below its share", "above its share"].map(|w| note.text.contains(w));
        if slower != [off < 0.0, off > 0.0] || off > 0.0 && note.text.contains("of its frames were dropped") {
            return Err(format!("{note:?} is on a difference of {off}"));
        }
    }
    Ok(differences(report).count())
}

#[test]
fn a_note_names_what_the_flow_uses_and_not_what_chance_does() {
    let seen = Cell::new((0, 0));
    let grow = |c: &mut Choices| {
        let hosts = 3 + c.below(3);
        let control = c.of(&["none", "none", "pause", "pfc", "voq", "credits"]);
        let mut switch = format!("flow_control = \"{control}\"\nmemory = \"{} kB\"\n", c.of(&["400", "2000"]));
        switch += &c.maybe(|_| "scheduling = \"strict\"\n".into());
        let mut text = star(hosts, "10 Gb/s", &switch);
        for n in 0..2 + c.below(4) {
            let from = c.below(hosts);
            let to = (from + 1 + c.below(hosts - 1)) % hosts;
            let load = c.of(&[
                "\"saturate\"",
                "{ share = \"40 %\", arrivals = \"poisson\" }",
                "{ share = \"20 %\" }",
                "{ share = \"30 %\", burst = 20 }",
            ]);
            text += &send(&format!("f{n}"), [from, to], &format!("load = {load}\npriority = {}\n", c.below(3)));
        }
        text + "[run]\nfor = \"1 ms\"\nwarmup = \"200 us\"\n"
    };
    let result = runner(Config::default()).run(&vec(any::<u8>(), 40), |bytes| {
        let text = grow(&mut Choices(bytes.iter()));
        let (Some(_), _) = plan(&text, &[]) else { return Ok(()) };
        let said = of_its_own(&answered(&text, &[])).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        seen.set((seen.get().0 + 1, seen.get().1 + said));
        Ok(())
    });
    println!("{} networks, {} notes", seen.get().0, seen.get().1);
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(seen.get().0 > 0);
}

/// Random arrivals in a short run: what is sent is not what is offered on average, and nothing holds anything up.
#[test]
fn chance_is_no_mechanism() {
    let load = "load = { share = \"40 %\", arrivals = \"poisson\" }\n[run]\nfor = \"1 ms\"\n";
    let text = "[parts.host]\nis = \"station\"\ncount = 2\n[links.lan]\nbetween = [\"host.0\", \"host.1\"]\n\
                ethernet = \"10 Gb/s\"\n"
        .to_owned()
        + &send("f", [0, 1], load);
    let mut far = 0;
    for seed in 1..=8 {
        let report = answered(&text, &[&format!("run.seed={seed}")]);
        let (f, s) = (&report.flows[0], &report.simulation.as_ref().expect("it was simulated").flows[0]);
        let off = (s.rate.mean - f.share.typical).abs();
        if off > s.rate.half.expect("an interval") {
            continue;
        }
        assert_eq!(differences(&report).count(), 0, "{:?}", report.notes);
        let text = lanescope::pens::text::report(&report, lanescope::pens::Paint::default(), false);
        assert!(!text.contains("against the share"), "{text}");
        far += u32::from(off > 0.02 * f.share.typical);
    }
    assert!(far > 0, "none is as far off as notes begin");
}

/// Of three stations one is starved by the strict priority of another, and there is no third destination.
#[test]
fn a_starved_flow_is_told_of_no_other_destinations() {
    let text = star(4, "100 Gb/s", "flow_control = \"pfc\"\nscheduling = \"strict\"\n")
        + &send("high", [2, 0], "priority = 4\n")
        + &send("low", [3, 0], "priority = 0\n")
        + "[run]\nfor = \"200 us\"\n";
    let report = answered(&text, &[]);
    assert!(differences(&report).all(|n| !n.text.contains("other destinations")), "{:?}", report.notes);
    of_its_own(&report).expect("its own links");
}

/// What arrives has no priority that is lossless, and a part of the memory: that is full, the memory is half empty.
#[test]
fn what_was_full_is_the_part_for_lossy_priorities() {
    let text = star(3, "100 Gb/s", "flow_control = \"pfc\"\n")
        + &send("a", [1, 0], "priority = 0\n")
        + &send("b", [2, 0], "priority = 0\n")
        + "[run]\nfor = \"2 ms\"\n";
    let report = answered(&text, &["parts.sw.lossless=[3]"]);
    let simulation = report.simulation.as_ref().expect("it was simulated");
    let memory = simulation.switches[0].memory.expect("a memory");
    assert!(memory.most < memory.size - 10_000, "{memory:?}");
    assert_eq!((memory.no_lossy, memory.no_headroom), (memory.no_memory, 0), "{memory:?}");
    assert!(memory.no_memory > 0);
    let said = lanescope::pens::text::report(&report, lanescope::pens::Paint::default(), false);
    assert!(said.contains("lossy_memory") && !said.contains("the memory was full"), "{said}");
    // Without flow control there is no such part: all of it was full.
    let memory = super::simulate(&text, &["parts.sw.flow_control=none"]).switches[0].memory.expect("a memory");
    assert!(memory.no_memory > 0 && memory.no_lossy == 0, "{memory:?}");
}

/// Every flow of a ring that waits for itself is told of that, and of no link of another.
#[test]
fn in_a_deadlock_nobody_is_told_of_another_s_link() {
    let text = super::deadlocks::ring(2, "pfc");
    let report = answered(&text, &[]);
    let ending = &report.simulation.as_ref().expect("it was simulated").ending;
    assert!(matches!(ending, Ending::Deadlock { .. }));
    for note in differences(&report) {
        assert!(note.mechanism == "deadlock" && !note.text.contains("links."), "{note:?}");
    }
    assert!(differences(&report).count() > 0);
}

/// A source that was told to slow down before the measured time has had none of its notifications in it, and delivers
/// what its flow does, not its link.
#[test]
fn notifications_before_the_measured_time_are_said_to_be_so() {
    let text = std::fs::read_to_string(format!("{}/tests/cases/dcqcn-incast.toml", env!("CARGO_MANIFEST_DIR")));
    let report = answered(&text.expect("a case"), &[]);
    for s in &report.simulation.as_ref().expect("it was simulated").flows {
        let by = &s.bound_by;
        if by.resource == "congestion control" {
            assert!(!by.evidence.contains("by 0 CNPs"), "{by:?}");
            assert!(by.evidence.contains(&format!("flows.{} delivers", s.name)), "{by:?}");
        }
    }
}
