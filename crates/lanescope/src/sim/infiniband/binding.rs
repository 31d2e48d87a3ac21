//! What binds a program of ranks: their own computing, a link, or latency.

use crate::mpi::Account;
use crate::plan::Plan;
use crate::result::{Binding, SimulatedLink, computing, time_share};
use crate::units::digits;

/// What holds the ranks of a program up: their own computing, else the link or bus that is busiest, else what one
/// message takes by itself.
pub(in crate::sim) fn job(plan: &Plan, job: usize, accounts: &[Account], links: &[SimulatedLink]) -> Binding {
    let name = &plan.cluster.jobs[job].name;
    if let Some(binding) = computing(name, accounts) {
        return binding;
    }
    let used = |l: &SimulatedLink| l.slots.busy() as f64 / l.slots.total().max(1) as f64;
    let busiest = links.iter().reduce(|a, b| if used(b) > used(a) { b } else { a });
    match busiest.map(|l| (l, used(l))) {
        Some((link, part)) if part > 0.5 => Binding {
            element: crate::result::way(&link.name, &link.to),
            resource: if link.to.is_empty() { "clocks" } else { "slots" }.into(),
            evidence: format!("{} % taken", digits(100.0 * part)),
        },
        other => {
            let most = other.map_or(0.0, |(_, part)| 100.0 * part);
            let evidence = format!(
                "ranks wait {} % of their time and spend {} % in the library; no link is more than {} % busy",
                digits(100.0 * time_share(accounts, |a| a.waiting)),
                digits(100.0 * time_share(accounts, |a| a.sending + a.receiving + a.copying)),
                digits(most)
            );
            Binding { element: format!("flows.{name}"), resource: "latency".into(), evidence }
        }
    }
}
