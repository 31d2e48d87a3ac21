//! Random trees through the estimate: what must hold on every one of them.

mod bodies;

use bodies::{invariants, plan, tree};
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// What was seen beside the laws: printed with `--nocapture`.
#[derive(Default)]
struct Seen {
    refused: Cell<u32>,
    planned: Cell<u32>,
    flows: Cell<u32>,
    out_of_order: Cell<u32>,
    lifted_down: Cell<u32>,
}

fn one_more(counter: &Cell<u32>) {
    counter.set(counter.get() + 1);
}

#[test]
fn the_laws_hold_on_random_trees() {
    let seen = Seen::default();
    // 256 cases, or PROPTEST_CASES.
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
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
            report
        });
        let report =
            caught.map_err(|_| proptest::test_runner::TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        for flow in &report.flows {
            one_more(&seen.flows);
            // With several flows a faster corner may shift a share from one to another, so this is no law.
            if !invariants::in_order(flow) {
                one_more(&seen.out_of_order);
            }
            if flow.lifting.as_ref().is_some_and(|l| l.share < flow.share.typical * (1.0 - 1e-6)) {
                one_more(&seen.lifted_down);
            }
        }
        Ok(())
    });
    println!(
        "{} planned, {} refused; of {} flows {} have shares out of order and {} get less when what binds them is lifted",
        seen.planned.get(),
        seen.refused.get(),
        seen.flows.get(),
        seen.out_of_order.get(),
        seen.lifted_down.get()
    );
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(seen.planned.get() > 2 * seen.refused.get(), "most trees should be valid");
}
