//! What binds a program of ranks: their own computing, a link, or latency.

use crate::mpi::Account;
use crate::plan::Plan;
use crate::result::{Binding, Idle, SimulatedLink, computing, time_share};
use crate::scenario::keys::Technology;
use crate::sim::core::subsystem::FULL;
use crate::units::digits;

/// The station of a rank that DCQCN has held back most, if that is more than a hundredth of its time.
fn held_back(plan: &Plan, job: usize, links: &[SimulatedLink]) -> Option<Binding> {
    let network = &plan.network;
    let first = plan.links_of(Technology::Ethernet).start;
    let stations = plan.cluster.jobs[job].ranks.iter().filter_map(|e| plan.cluster.endpoints[*e as usize].station);
    let paced = |wire: u32| {
        let slots = &links[first + wire as usize].slots;
        slots.idle[Idle::Pace as usize] as f64 / slots.total().max(1) as f64
    };
    let wires = stations.filter(|s| !network.node(*s).ports.is_empty()).map(|s| network.out(s, 0));
    let (wire, part) = wires.map(|w| (w, paced(w))).reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    (part > 0.01).then(|| Binding {
        element: network.wire_name(wire),
        resource: "congestion control".into(),
        evidence: format!(
            "held back by DCQCN, not converged: {} % of its time below its line rate of {}",
            digits(100.0 * part),
            network.link(wire).rate.typical
        ),
    })
}

/// What holds the ranks of a program up: their own computing, else the link or bus that is busiest, else what one
/// message takes by itself.
pub(in crate::sim) fn job(plan: &Plan, job: usize, accounts: &[Account], links: &[SimulatedLink]) -> Binding {
    let name = &plan.cluster.jobs[job].name;
    if let Some(binding) = computing(name, accounts) {
        return binding;
    }
    let used = |l: &SimulatedLink| l.slots.busy() as f64 / l.slots.total().max(1) as f64;
    let busiest = links.iter().reduce(|a, b| if used(b) > used(a) { b } else { a });
    let busiest = busiest.map(|l| (l, used(l)));
    if busiest.is_none_or(|b| b.1 < FULL)
        && let Some(binding) = held_back(plan, job, links)
    {
        return binding;
    }
    match busiest {
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
