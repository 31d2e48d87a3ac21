//! What binds a program of ranks: their own computing, a link, or latency.

use crate::mpi::Account;
use crate::plan::Plan;
use crate::result::{Binding, Ending, Idle, SimulatedLink, computing, time_share};
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

/// Ways of a program that are looked at, at most.
const MOST_WAYS: usize = 4096;

/// The links that messages of a program go over, by their places among all of a plan; none where its ranks have too
/// many pairs to look at.
pub(super) fn ways(plan: &Plan, job: usize) -> Vec<u32> {
    let (cluster, network) = (&plan.cluster, &plan.network);
    let job = &cluster.jobs[job];
    let connections = job.keys.connections.typical.get();
    let (pairs, more) = cluster.pairs_of(job, MOST_WAYS / connections as usize);
    if more {
        return Vec::new();
    }
    let own = 2 * cluster.links.len();
    let [infiniband, ethernet] = [Technology::Infiniband, Technology::Ethernet].map(|t| plan.links_of(t).start);
    let place = |wire: u32| match (wire as usize).checked_sub(own) {
        None => infiniband + wire as usize,
        Some(wire) => ethernet + wire,
    };
    let wires = pairs.into_iter().flat_map(|p| (0..connections).map(move |c| (p, c)));
    let wires = wires.flat_map(|(pair, c)| cluster.wires(network, job, pair, c));
    let mut all: Vec<u32> = wires.map(|wire| place(wire) as u32).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What binds ranks that nothing will ever wake.
pub(super) fn stalled(name: &str, ending: &Ending) -> Binding {
    let (resource, evidence) = match ending {
        Ending::Deadlock { .. } => ("deadlock", "its ranks wait for ever: packets wait for one another in a circle"),
        _ => ("stall", "its ranks wait for ever for messages that nobody can send"),
    };
    Binding { element: format!("flows.{name}"), resource: resource.into(), evidence: evidence.into() }
}

/// What holds the ranks of a program up: their own computing, else the link or bus that is busiest, else what one
/// message takes by itself.
/// `ways` are the links that its messages go over: others of their technologies are busy with something else.
pub(in crate::sim) fn job(
    plan: &Plan,
    job: usize,
    accounts: &[Account],
    links: &[SimulatedLink],
    ways: &[u32],
) -> Binding {
    let name = &plan.cluster.jobs[job].name;
    if let Some(binding) = computing(name, accounts) {
        return binding;
    }
    let used = |l: &SimulatedLink| l.slots.busy() as f64 / l.slots.total().max(1) as f64;
    let of_networks =
        |at: &usize| [Technology::Infiniband, Technology::Ethernet].into_iter().any(|t| plan.links_of(t).contains(at));
    let mine = |at: usize| ways.is_empty() || !of_networks(&at) || ways.binary_search(&(at as u32)).is_ok();
    let own = links.iter().enumerate().filter(|(at, _)| mine(*at)).map(|(_, l)| l);
    let busiest = own.reduce(|a, b| if used(b) > used(a) { b } else { a });
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
