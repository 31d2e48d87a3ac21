//! Random trees through the estimate and the simulator: what must hold on every one of them.

use crate::bodies::{invariants, plan, simulated, tree};
use crate::common::choices::runner;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::plan::Plan;
use lanescope::result::{Ending, SimulatedFlow, Simulation};
use lanescope::sim::{Run, Step};
use lanescope::units::Time;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::Cell;

/// What was seen beside the laws: printed with `--nocapture`.
#[derive(Default)]
struct Seen {
    refused: Cell<u32>,
    planned: Cell<u32>,
    flows: Cell<u32>,
    lifted_down: Cell<u32>,
}

fn one_more(counter: &Cell<u32>) {
    counter.set(counter.get() + 1);
}

#[test]
fn the_laws_hold_on_random_trees() {
    let seen = Seen::default();
    let mut runner = runner(Config::default());
    let result = runner.run(&vec(any::<u8>(), 0..1500), |bytes| {
        let text = tree::grow(&bytes);
        let (plan, diagnostics) = plan(&text, &[]);
        let Some(plan) = plan else {
            one_more(&seen.refused);
            return Ok(());
        };
        one_more(&seen.planned);
        let caught = std::panic::catch_unwind(|| {
            let report = estimate(&plan, &diagnostics);
            invariants::check(&plan, &report);
            invariants::repeatable(&plan, &diagnostics, &report);
            invariants::alone(&plan, &diagnostics);
            invariants::little(&plan, &report);
            report
        });
        let report =
            caught.map_err(|_| proptest::test_runner::TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        for flow in &report.flows {
            one_more(&seen.flows);
            if flow.upgrade.as_ref().is_some_and(|l| l.share < flow.share.typical * (1.0 - 1e-6)) {
                one_more(&seen.lifted_down);
            }
        }
        Ok(())
    });
    println!(
        "{} planned, {} refused; of {} flows {} get less when what binds them is lifted",
        seen.planned.get(),
        seen.refused.get(),
        seen.flows.get(),
        seen.lifted_down.get()
    );
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(seen.planned.get() > 2 * seen.refused.get(), "most trees should be valid");
}

/// A tree without what the simulator refuses: FLIT mode, stated round trips, millions of operations in flight.
pub(crate) fn simulable(text: &str) -> String {
    let text =
        text.replace("gen6", "gen5").replace("gen7", "gen4").replace("outstanding = 16777216", "outstanding = 4096");
    let line = |l: &str| l.split_once(", round_trip").map_or_else(|| format!("{l}\n"), |(l, _)| format!("{l} }}\n"));
    text.lines().map(line).collect()
}

/// The same plan, with the limits of a short run from time 0.
fn short(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.limits.max_packets = 10_000;
    plan.limits.max_time = Time::parse("5 ms").expect("a time");
    plan.limits.warmup = Some(Time::ZERO);
    plan
}

/// A short run from time 0, in pieces of so many events; and for how long, at its end, not so many operations of each
/// flow were done that one may be older.
pub(crate) fn simulate(plan: &Plan, events: u64) -> Option<(Simulation, Vec<f64>)> {
    let plan = short(plan);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default())?;
    // Of each flow, how many operations had been done when.
    let mut all: Vec<Vec<(u64, f64)>> = vec![vec![(0, 0.0)]; run.snapshot().flows.len()];
    loop {
        let step = run.advance(events);
        let so_far = run.snapshot();
        all.iter_mut().zip(&so_far.flows).for_each(|(all, flow)| all.push((flow.operations, so_far.window)));
        if step == Step::Done {
            let silent = |(all, flow): (&Vec<(u64, f64)>, &SimulatedFlow)| {
                let many = simulated::overtaken(&plan, &flow.name);
                let since = all.iter().rfind(|(done, _)| done + many <= flow.operations).map_or(0.0, |at| at.1);
                so_far.window - since
            };
            let silent = all.iter().zip(&so_far.flows).map(silent).collect();
            return Some((so_far, silent));
        }
    }
}

/// The same run with those events that are spared elsewhere, or without.
fn every_event(plan: &Plan, spare_nothing: bool) -> Option<Simulation> {
    let mut run = Run::new(&short(plan), 1, &mut Diagnostics::default())?;
    if spare_nothing {
        run.spare_nothing();
    }
    while run.advance(u64::MAX) != Step::Done {}
    Some(run.snapshot())
}

/// Devices of one flow each, below switches, with few credits and tags: where events are spared.
#[test]
fn events_that_are_spared_are_as_if_they_had_been() {
    let mut spared = 0;
    let below = [("", "host"), ("sw = { is = \"switch\", posted_headers = 3 }", "sw.down.*")];
    for (i, (switch, above)) in (0..).zip(below) {
        let up = if i == 0 { "" } else { "up = { between = [\"host\", \"sw.up\"], pcie = \"gen3 x8\" }" };
        for (what, size) in [("write", 256), ("write", 1000), ("read", 64), ("read", 4096), ("alternate", 512)] {
            for load in ["", ", load = { outstanding = 3 }", ", load = { rate = \"800 MB/s\" }"] {
                for (credits, every, cap) in [(2, "4", 5000), (9, "1", 50_000), (30, "\"never\"", 50_000)] {
                    let text = format!(
                        "[parts]
                        host = {{ is = \"root-complex\", posted_headers = {credits}, write_latency = \"90 ns\" }}
                        {switch}
                        dev = {{ is = \"endpoint\", count = 3, tags = {credits}, replay_buffer = \"900 B\" }}
                        [links]
                        {up}
                        down = {{ between = [\"{above}\", \"dev.*\"], pcie = \"gen4 x4\", update_fc_every = {every} }}
                        [flows]
                        f = {{ from = \"dev.*\", to = \"host.memory\", do = \"{what}\", size = \"{size} B\"{load} }}
                        [run]
                        for = \"60 us\"
                        max_packets = {cap}"
                    );
                    let plan = crate::common::planned(&text, &[]);
                    let run = |spare_nothing| {
                        let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
                        if spare_nothing {
                            run.spare_nothing();
                        }
                        // Of pieces of one event each, some do without an event.
                        let mut pieces = 0;
                        while run.advance(1) != Step::Done {
                            pieces += 1;
                        }
                        (run.snapshot(), pieces)
                    };
                    let ((with, all), (without, fewer)) = (run(true), run(false));
                    assert_eq!(with, without, "{text}");
                    spared += u32::from(fewer < all);
                }
            }
        }
    }
    assert!(spared > 40, "of 90 runs {spared} were spared something");
}

#[test]
fn the_simulator_keeps_its_laws_on_random_trees() {
    let (refused, simulated, flows, told, packets) =
        (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = runner(Config::default());
    let result = runner.run(&vec(any::<u8>(), 0..1500), |bytes| {
        let text = simulable(&tree::grow(&bytes));
        let (Some(plan), diagnostics) = plan(&text, &[]) else { return Ok(()) };
        let caught = std::panic::catch_unwind(|| {
            let (whole, _) = simulate(&plan, 1 << 20)?;
            let (pieces, silent) = simulate(&plan, 997)?;
            simulated::check(&plan, &whole, &silent);
            crate::common::little(&short(&plan), 1, &whole);
            let (tree, end) = (plan.links.iter().all(|l| !l.crosslink), &whole.ending);
            let stuck = matches!(end, Ending::Deadlock { .. } | Ending::Stall { .. } | Ending::Running);
            assert!(!(tree && stuck), "a tree without crosslinks ends as {end:?}");
            let told = simulated::check_whole(&plan, &whole, &estimate(&plan, &diagnostics));
            assert_eq!(every_event(&plan, false), every_event(&plan, true), "events that are spared change it");
            // How often the kernel looked in vain is all that may depend on the pieces.
            let pieces = Simulation { events: whole.events, ..pieces };
            assert!(pieces == whole, "the pieces that a run is done in change it:\n{whole:?}\n{pieces:?}");
            Some((whole, told))
        });
        let caught =
            caught.map_err(|_| proptest::test_runner::TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        let Some((whole, t)) = caught else {
            one_more(&refused);
            return Ok(());
        };
        one_more(&simulated);
        flows.set(flows.get() + whole.flows.len());
        told.set(told.get() + t as usize);
        packets.set(packets.get() + whole.packets);
        Ok(())
    });
    let (refused, simulated, flows, told) = (refused.get(), simulated.get(), flows.get(), told.get());
    println!(
        "{simulated} simulated, {refused} refused, {} packets; {told} of {flows} flows near a bound",
        packets.get()
    );
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(simulated > 2 * refused, "most trees should be simulated");
    assert!(told > flows / 20, "the bounds should say something: {told} of {flows}");
}

/// Cases in which opening a window moved what came next: as a packet begins, and while loads wait for one another.
#[test]
fn to_open_a_window_changes_nothing() {
    let as_it_begins = include_str!("../cases/window-opens-as-a-packet-begins.toml");
    let between = include_str!("../cases/window-opens-between-loads.toml");
    let begins = short(&crate::common::planned(as_it_begins, &[]));
    for plan in [begins, crate::common::planned(between, &[])] {
        crate::common::little(&plan, 1, &crate::common::simulate_by(&plan, 1, u64::MAX));
    }
}
