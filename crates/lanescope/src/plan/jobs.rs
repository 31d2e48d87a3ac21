//! From what a flow of ranks says it runs to the [`Job`]: text, an instrument, a skeleton, or a trace.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::mpi::Job;
use crate::scenario::{Named, Scenario, keys};

/// What the ranks of a flow run.
pub(super) fn job(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    flow: &Named<keys::Mpi>,
    ranks: u32,
) -> Option<Job> {
    let k = &flow.keys;
    let _ = (scenario, ranks);
    let said = [k.program.is_some(), k.benchmark.is_some(), k.trace.is_some()].into_iter().filter(|s| *s).count();
    if said != 1 {
        let d = Diagnostic::error(flow.span, format!("flows.{} runs {said} things", flow.name));
        diagnostics.push(d.hint("one of program = \"…\", benchmark = \"imb PingPong\" and trace = \"file\""));
        return None;
    }
    None
}
