//! Random buses: what must hold on every one of them.

use super::common::choices::runner;
use super::common::grow::bus::grow;
use super::common::plan;
use super::simulate_by;
use lanescope::estimate::estimate;
use lanescope::plan::{Plan, Program};
use lanescope::result::{Ending, Report, Simulation};
use lanescope::scenario::quantity::Corner;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// Nobody gets more than the bound, but for what a limit lets through at once. Gives how many flows this says something about.
fn bounded(plan: &Plan, s: &Simulation, report: &Report) -> u32 {
    let mut told = 0;
    for (flow, answer) in s.flows.iter().zip(&report.flows) {
        let mut at_once = 0.0;
        for f in plan.buses.flows.iter().filter(|f| f.group == flow.name) {
            let m = plan.buses.manner(f.device, Corner::Typical);
            let size = f.size.typical.0 as f64;
            let piece = (m.write.0.max(m.read.0) as f64).min(size);
            let own = match f.program {
                Program::Closed { outstanding, .. } => outstanding as f64 * size,
                Program::Open { .. } => size,
                _ => 0.0,
            };
            let reads = if f.reads() { m.splits as f64 * piece } else { 0.0 };
            // Of one that alternates, one kind may be an operation ahead.
            let ahead = if f.reads() && f.writes() { size } else { 0.0 };
            at_once += own.max(reads) + 2.0 * piece + ahead;
        }
        let delivered: f64 = flow.each.iter().sum::<f64>() * s.window / 8.0;
        let most = answer.bound.typical * s.window / 8.0 + at_once;
        assert!(
            delivered <= most * (1.0 + 1e-6),
            "{}: {delivered} B in {} s, bound {} b/s and {at_once} B",
            flow.name,
            s.window,
            answer.bound.typical
        );
        assert!(answer.share.typical <= answer.bound.typical * (1.0 + 1e-9), "{}: share above bound", flow.name);
        told += u32::from(at_once < 0.2 * most);
    }
    for link in &report.links {
        let entries = link.ledger.entries();
        let sum: f64 = entries.iter().map(|e| e.1).sum();
        assert!((sum - link.ledger.raw).abs() < 1e-6 * link.ledger.raw, "{sum} of {}", link.ledger.raw);
    }
    told
}

#[test]
fn the_laws_hold_on_random_buses() {
    let mut runner = runner(Config::default());
    let (refused, simulated, flows, told) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner.run(&vec(any::<u8>(), 60..160), |bytes| {
        let text = grow(&bytes);
        let (plan, d) = plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(|| {
            let whole = simulate_by(&plan, u64::MAX);
            let pieces = simulate_by(&plan, 97);
            assert!(
                Simulation { events: whole.events, ..pieces } == whole,
                "the pieces that a run is done in change it"
            );
            assert!(matches!(whole.ending, Ending::Length), "{:?}", whole.ending);
            let told = bounded(&plan, &whole, &estimate(&plan, &d));
            (whole.flows.len() as u32, told)
        });
        let (f, t) = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        flows.set(flows.get() + f);
        told.set(told.get() + t);
        Ok(())
    });
    println!(
        "{} simulated, {} refused; {} of {} flows near a bound",
        simulated.get(),
        refused.get(),
        told.get(),
        flows.get()
    );
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(simulated.get() > 2 * refused.get(), "most buses should be simulated");
    assert!(told.get() > flows.get() / 5, "the bounds should say something: {} of {}", told.get(), flows.get());
}
