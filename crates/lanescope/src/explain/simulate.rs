//! The packet simulation of what a report speaks of: loads of a class at once, and pairs, one way and both ways.
//!
//! It runs the same scenarios that the estimate is asked about, at the likely values; its intervals are those of
//! chance, not those of what the dumps leave open. Pairs that are alike are run once.

use super::endpoints::Endpoint;
use super::peers::peer_path;
use super::rate::Corner;
use super::scenario::{Transfer, of_flow, planned, text};
use super::together::loads;
use super::{Explained, Pair, Simulated, Topology};
use crate::import::host::Host;
use crate::result::{Ending, Simulation};
use crate::sim::{Run, Step};
use std::collections::BTreeMap;

/// How long a run goes on: means within 2 %, or so many packets on links, which is a second each at most.
const RUN: &str = "\n[run]\nuntil = \"2 %\"\nmax_packets = 1_500_000\nseed = 1\n";

/// Groups of pairs that are run, at most.
const MOST_PAIRS: usize = 24;

/// Events between two looks at whether to go on: some milliseconds.
const EVENTS: u64 = 1 << 14;

/// Writes what the simulation gives beside the ranges of a report, for as long as `goes_on` gives true. What is left
/// out then has none.
pub fn simulate(host: &Host, report: &mut Explained, goes_on: &mut dyn FnMut() -> bool) {
    let topology = Topology::of(host);
    for load in loads(&topology) {
        let line = report.together.iter_mut().find(|t| t.class == load.class && t.way == load.way);
        // What a root complex forwards is in no dump, and so in no simulation.
        let line = line.filter(|l| l.total.typical.is_some());
        let (Some(line), true) = (line, goes_on()) else { continue };
        line.simulated = run(&topology, &load.transfers, goes_on);
    }
    let mut done: Vec<(String, Option<Simulated>, Option<Simulated>)> = Vec::new();
    for pair in &mut report.pairs {
        let device = |id: &str| topology.devices.iter().find(|d| d.id == id);
        let (Some(from), Some(to)) = (device(&pair.from), device(&pair.to)) else { continue };
        if !goes_on() || pair.direct.is_some() || pair.write.typical.is_none() {
            continue;
        }
        let key = alike(&topology, pair, from, to);
        if let Some(known) = done.iter().find(|d| d.0 == key) {
            (pair.simulated, pair.simulated_both_ways) = (known.1.clone(), known.2.clone());
            continue;
        }
        if done.len() >= MOST_PAIRS {
            continue;
        }
        let there = [Transfer::Peer(from, to), Transfer::Peer(to, from)];
        pair.simulated = run(&topology, &there[..1], goes_on);
        pair.simulated_both_ways = run(&topology, &there, goes_on);
        done.push((key, pair.simulated.clone(), pair.simulated_both_ways.clone()));
    }
}

/// The same text for pairs of which a run would tell the same: engines, links and sizes on the way are alike.
fn alike(topology: &Topology, pair: &Pair, from: &Endpoint, to: &Endpoint) -> String {
    let path = peer_path(topology, from, to);
    let end = |e: &Endpoint, links: &[usize]| {
        let speeds: Vec<_> = links.iter().map(|l| topology.speed(*l, Corner::Typical)).collect();
        format!("{:?} {:?} {:?} {speeds:?}", e.kind, e.port, topology.sizes(e, Corner::Typical))
    };
    format!("{} {} {}", pair.way, end(from, &path.own.0), end(to, &path.own.1))
}

fn run(topology: &Topology, transfers: &[Transfer], goes_on: &mut dyn FnMut() -> bool) -> Option<Simulated> {
    let (plan, mut diagnostics) = planned(text(topology, transfers, Corner::Typical)? + RUN)?;
    let mut run = Run::new(&plan, 1, &mut diagnostics)?;
    while run.advance(EVENTS) != Step::Done {
        if !goes_on() {
            run.stop();
        }
    }
    told(&run.snapshot())
}

/// A run in GB/s.
fn told(simulation: &Simulation) -> Option<Simulated> {
    let mut each: BTreeMap<&str, f64> = BTreeMap::new();
    let mut plus_minus = Some(0.0);
    for flow in &simulation.flows {
        let rate = flow.rate.mean / 8e9;
        *each.entry(of_flow(&flow.name)).or_insert(0.0) += rate;
        plus_minus = plus_minus.zip(flow.rate.half).map(|(sum, half)| sum + half / 8e9);
    }
    let least = each.values().copied().reduce(f64::min)?;
    let note = match &simulation.ending {
        Ending::Tight | Ending::Length => None,
        Ending::PacketCap | Ending::TimeCap => Some("ended at its cap of packets".to_owned()),
        Ending::Stopped => Some("stopped".to_owned()),
        Ending::Deadlock { .. } => Some("it came to a deadlock".to_owned()),
        _ => Some("it did not settle".to_owned()),
    };
    Some(Simulated { total: each.values().sum(), plus_minus, least, note })
}
