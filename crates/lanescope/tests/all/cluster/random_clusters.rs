//! Random clusters: what must hold on every one of them.

use super::simulate_by;
use crate::common::choices::runner;
use crate::common::grow::cluster::grow;
use crate::common::{flow, plan};
use lanescope::estimate::estimate;
use lanescope::result::Simulation;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

#[test]
fn the_laws_hold_on_random_clusters() {
    let mut runner = runner(Config::default());
    let (planned, refused, far) = (Cell::new(0), Cell::new(0), Cell::new(0.0f64));
    let result = runner.run(&vec(any::<u8>(), 0..400), |bytes| {
        let text = grow(&bytes);
        let (plan, diagnostics) = plan(&text, &[]);
        let Some(plan) = plan else {
            assert!(diagnostics.to_string().contains("cannot pause in time"), "{diagnostics}\n{text}");
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(|| {
            let whole = simulate_by(&plan, u64::MAX);
            let pieces = simulate_by(&plan, 97);
            // How often the kernel looked in vain is all that may depend on the pieces.
            assert!(
                Simulation { events: whole.events, ..pieces } == whole,
                "the pieces that a run is done in change it"
            );
            let report = estimate(&plan, &diagnostics);
            let (seen, answer) = (&whole.flows[0], flow(&report, "job"));
            assert!(
                seen.rate.mean <= answer.bound.typical * (1.0 + 1e-9),
                "{} over {}",
                seen.rate.mean,
                answer.bound.typical
            );
            let (a, b) = (seen.program.as_ref().map_or(0.0, |p| p.time), answer.programs[0].time);
            // A program that has nothing to do takes no time.
            let off = if a == b { 1.0 } else { (a / b).max(b / a) };
            assert!(off <= 2.0, "{a} s simulated, {b} s estimated");
            off
        });
        let off = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        planned.set(planned.get() + 1);
        far.set(far.get().max(off));
        Ok(())
    });
    println!(
        "{} clusters, {} refused; the estimate was off by a factor of {:.3} at most",
        planned.get(),
        refused.get(),
        far.get()
    );
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(planned.get() > 9 * refused.get(), "most clusters should be valid");
}
