//! The closed form of an Ethernet: every wire is a resource, every stream asks parts of them.
//!
//! What is not in it: drops, the rates that congestion control finds, and of pauses the time that they take; that PFC
//! stops ports one by one is in how a wire is divided (`division`). So a share may be above what a simulation gives;
//! a bound never is below it. A stream with several destinations keeps their proportions where they stand in one FIFO
//! at the source: what cannot get to one holds back the others. Where nothing stops sources, or each destination may
//! be stopped by itself, every destination is a stream by itself.

mod division;
mod path_loads;
mod turns;
mod victims;

use crate::estimate::core::bound::{held_against, others, typically_bound};
use crate::estimate::core::cover::{self, Cover};
use crate::estimate::core::fill::{Resource, Share, Use};
use crate::plan::Plan;
use crate::plan::ethernet::Network;
pub(in crate::estimate) use crate::plan::ethernet::latency::{Train, crossing, message};
use crate::result::{
    Binding, Excess, FlowReport, Ledger, LinkReport, Medium, Note, Ranged, SwitchReport, Total, Verdict,
};
use division::Division;
pub(in crate::estimate) use path_loads::MOST_PAIRS;
use path_loads::{Asked, Even, asked, capacity};
use std::collections::{BTreeMap, BTreeSet};

/// The Ethernet side of a report.
pub(in crate::estimate) struct Answer {
    pub(in crate::estimate) flows: Vec<FlowReport>,
    pub(in crate::estimate) total: Option<Total>,
    pub(in crate::estimate) links: Vec<LinkReport>,
    pub(in crate::estimate) switches: Vec<SwitchReport>,
    /// Flows that pauses hold up though nothing on their way is full.
    pub(in crate::estimate) notes: Vec<Note>,
    /// How far programs come that streams hold back, and where.
    pub(in crate::estimate) held: Vec<Option<(f64, Binding)>>,
}

/// A float's noise: a wire that carries just all of what is asked of it holds nobody back.
const NOISE: f64 = 1e-9;

/// Everything that was worked out. Rates and sizes have no ranges, so the corners differ in latencies alone.
struct Outcome<'a> {
    network: &'a Network,
    asked: Vec<Asked>,
    /// Which wires stand for others, where some do.
    even: Option<Even>,
    resources: Vec<Resource<u32>>,
    /// The resources of which each stream takes all wherever it goes.
    of_stream: Vec<Vec<usize>>,
    /// Of streams; behind them the progress of programs.
    shares: Vec<Share>,
    /// The wire in which each stands behind others that are stopped further on.
    behind: Vec<Option<u32>>,
}

/// What a program asks of the wires: at its full progress, and how far it would come if these wires did not hold it
/// back.
pub(in crate::estimate) struct Beside {
    /// Wires, and for what part of the time it has each in use.
    pub(in crate::estimate) wires: Vec<(u32, f64)>,
    pub(in crate::estimate) progress: f64,
    /// The class of its frames.
    pub(in crate::estimate) class: usize,
}

fn outcome<'a>(network: &'a Network, programs: &[Beside]) -> Outcome<'a> {
    let (mut asked, even) = asked(network, programs);
    asked.extend(programs.iter().map(|p| path_loads::program(network, p)));
    let (mut resources, mut shares, behind) = filled(network, &asked);
    if let Some(lanes) = path_loads::lanes(network, &asked) {
        let (streams, lanes): (Vec<usize>, Vec<Asked>) = lanes.into_iter().unzip();
        let (apart, rates, _) = filled(network, &lanes);
        // Streams with the proportions that came out, and what binds the lane that gets least of what it wants.
        let mut parts = vec![[BTreeMap::new(), BTreeMap::new()]; asked.len()];
        let mut held: Vec<(f64, Option<u32>)> = vec![(f64::INFINITY, None); asked.len()];
        shares.iter_mut().for_each(|s| s.rate = 0.0);
        for ((&stream, lane), got) in streams.iter().zip(&lanes).zip(&rates) {
            shares[stream].rate += got.rate;
            for (i, (wire, part)) in lane.wires.iter().enumerate() {
                *parts[stream][usize::from(i >= lane.data)].entry(*wire).or_insert(0.0) += got.rate * part;
            }
            let least = (got.by.map_or(f64::INFINITY, |_| got.rate), got.by.map(|r| apart[r].key));
            if least.0 < held[stream].0 {
                held[stream] = least;
            }
        }
        for ((a, share), [data, acks]) in
            asked.iter_mut().zip(&shares).zip(parts).filter(|((a, s), _)| !a.single && s.rate > 0.0)
        {
            a.wires.truncate(a.data);
            a.wires.iter_mut().for_each(|(wire, part)| *part = data.get(wire).map_or(0.0, |rate| rate / share.rate));
            a.wires.extend(acks.into_iter().map(|(wire, rate)| (wire, rate / share.rate)));
        }
        resources = self::resources(network, &asked, &apart);
        for ((share, (_, wire)), a) in shares.iter_mut().zip(held).zip(&asked) {
            let wire = wire.or(a.wants.is_infinite().then_some(a.own));
            share.by = wire.and_then(|w| resources.iter().position(|r| r.key == w));
        }
    }
    // Where its acknowledgements go, a stream is not held to what its data would take.
    let of: std::collections::HashMap<u32, usize> = resources.iter().zip(0..).map(|(r, i)| (r.key, i)).collect();
    let mine = |a: &Asked| {
        let whole = a.wires[..a.data].iter().filter(|w| w.1 > 1.0 - NOISE);
        let mut all: Vec<usize> = whole.filter_map(|w| of.get(&w.0).copied()).collect();
        all.sort_unstable();
        all
    };
    let of_stream = asked.iter().map(mine).collect();
    Outcome { network, asked, even, resources, of_stream, shares, behind }
}

/// The wires that can bind, what each stream gets of them, and the wire in which it stands behind others that are
/// stopped further on.
fn filled(network: &Network, asked: &[Asked]) -> (Vec<Resource<u32>>, Vec<Share>, Vec<Option<u32>>) {
    let mut division = Division::new(network, asked, resources(network, asked, &[]));
    let shares = division.filled();
    let behind = shares.iter().map(|s| s.behind.map(|q| division.queues[q].key.0)).collect();
    (division.resources, shares, behind)
}

/// What the shares take of the wires that can bind.
pub(in crate::estimate) fn loads(plan: &Plan, programs: &[Beside]) -> Vec<crate::estimate::Load> {
    let o = outcome(&plan.network, programs);
    crate::estimate::loads_of(&o.resources, &o.shares)
}

/// Answers the Ethernet side of a plan, with programs beside its streams.
pub(in crate::estimate) fn answer(plan: &Plan, programs: &[Beside]) -> Answer {
    let network = &*plan.network;
    let outcome = outcome(network, programs);
    let groups = network.groups();
    Answer {
        held: outcome.held(programs.len()),
        flows: groups.iter().map(|members| outcome.flow(members)).collect(),
        total: outcome.total(),
        links: outcome.links(),
        notes: victims::notes(&outcome),
        switches: network
            .switches()
            .map(|(_, node, k)| SwitchReport {
                name: node.name.clone(),
                latency: crate::estimate::ranged(|c| k.latency.at(c).seconds()),
            })
            .collect(),
    }
}

/// The wires that can bind: those of sources, and those that would be asked for more than they carry if every source
/// sent at the rate of its line; and `more`. A wire that divided anew what one source has divided already would have
/// two answers: the source comes first.
fn resources(network: &Network, asked: &[Asked], more: &[Resource<u32>]) -> Vec<Resource<u32>> {
    let mut load = vec![0.0; 2 * network.links.len()];
    let few = asked.iter().map(|a| a.wires.len()).sum::<usize>() <= division::MOST_WIRES;
    // Of one source no more comes than its own wire carries, whatever it sends: what only it leads to divides nothing.
    let mut of_source: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for a in asked {
        for (i, (wire, part)) in a.wires.iter().enumerate() {
            let most = a.line * a.frames.wire() * part;
            if i < a.data && a.own != path_loads::NO_WIRE && few {
                *of_source.entry((*wire, a.own)).or_default() += most;
            } else {
                load[*wire as usize] += most;
            }
        }
    }
    for ((wire, own), most) in of_source {
        load[wire as usize] += most.min(capacity(network, own));
    }
    more.iter().for_each(|r| load[r.key as usize] = f64::INFINITY);
    asked.iter().filter(|a| a.own != path_loads::NO_WIRE).for_each(|a| load[a.own as usize] = f64::INFINITY);
    let mut at = vec![usize::MAX; load.len()];
    let mut resources: Vec<Resource<u32>> = Vec::new();
    for (flow, a) in asked.iter().enumerate() {
        for &(wire, part) in &a.wires {
            let w = wire as usize;
            if load[w] <= capacity(network, wire) * (1.0 + NOISE) {
                continue;
            }
            if at[w] == usize::MAX {
                at[w] = resources.len();
                resources.push(Resource { key: wire, capacity: capacity(network, wire), uses: Vec::new() });
            }
            let weight = a.frames.wire() * part;
            let used = Use { flow, weight, packets: weight, first: 0.0, first_least: 0.0, hops: 0 };
            resources[at[w]].uses.push(used);
        }
    }
    resources
}

/// How far programs come that streams hold back, and where.
pub(in crate::estimate) fn held(plan: &Plan, programs: &[Beside]) -> Vec<Option<(f64, Binding)>> {
    outcome(&plan.network, programs).held(programs.len())
}

impl Outcome<'_> {
    /// How far so many programs come that streams hold back, and where.
    fn held(&self, programs: usize) -> Vec<Option<(f64, Binding)>> {
        let all = self.shares.iter().skip(self.network.streams.len()).take(programs);
        all.map(|share| {
            share.by.map(|r| {
                let element = self.network.wire_name(self.resources[r].key);
                let evidence = "100 % of its slots taken, by streams too".to_owned();
                (share.rate, Binding { element, resource: "slots".into(), evidence })
            })
        })
        .collect()
    }

    fn flow(&self, members: &[usize]) -> FlowReport {
        let network = self.network;
        let first = &network.streams[members[0]];
        let each: Vec<f64> = members.iter().map(|&i| self.shares[i].rate * 8.0).collect();
        let bound = self.bound(members) * 8.0;
        let wanted = |i: &usize| network.streams[*i].offered.map(|r| r.bits());
        let short =
            |i: usize| network.streams[i].offered.is_some_and(|r| self.shares[i].rate < r.bytes() * (1.0 - NOISE));
        let slowest =
            |corner: usize| members.iter().map(|&i| self.asked[i].latency[corner]).max().unwrap_or(0) as f64 / 1e15;
        let main = typically_bound(&self.shares, members);
        let bound_by = self.binding(main);
        let bound_also = others(members.iter().map(|&i| self.element(i)), &bound_by.element);
        let measured =
            first.measured.map(|m| held_against(m, &each, members, same(bound), |i| self.asked[i].bound * 8.0));
        FlowReport {
            name: first.group.clone(),
            instances: members.len(),
            what: format!("send {}, {}", first.sizes_text(), network.route_text(members[0])),
            both_ways: false,
            operation: None,
            goodput: None,
            frame_rate: Some(same(
                members.iter().map(|&i| self.shares[i].rate * 8.0 * (1.0 + self.asked[i].frames.framing)).sum(),
            )),
            alike: Vec::new(),
            wanted_each: members.iter().map(wanted).collect::<Option<Vec<f64>>>().unwrap_or_default(),
            bound: same(bound),
            share: same(each.iter().sum()),
            each,
            // Preamble and gap are as much a must as the header is.
            framing_limit: bound,
            latency_first: None,
            latency: Ranged { slower: slowest(0), typical: slowest(1), faster: slowest(2) },
            round_trip: None,
            bound_by,
            bound_also,
            upgrade: None,
            measured,
            verdict: if members.iter().any(|&i| short(i)) { Verdict::Unstable } else { Verdict::Stable },
            excess: self.excess(main),
            programs: Vec::new(),
        }
    }

    /// A station's own wire makes frames wait in the station. Further on they are dropped, unless somebody tells the
    /// source in time.
    fn excess(&self, stream: usize) -> Excess {
        let network = self.network;
        let own = |r: usize| network.station(network.leaves(self.resources[r].key)).is_some();
        let told = network.lossless(self.asked[stream].class) || network.slows_down();
        if told || self.shares[stream].by.is_none_or(own) { Excess::Source } else { Excess::Dropped }
    }

    fn total(&self) -> Option<Total> {
        let members: Vec<usize> = (0..self.network.streams.len()).collect();
        if members.is_empty() {
            return None;
        }
        let share = same(members.iter().map(|&m| self.shares[m].rate).sum::<f64>() * 8.0);
        let bound = self.bound(&members) * 8.0;
        let bound_by = self.binding(typically_bound(&self.shares, &members));
        Some(Total { share, both_ways: share, bound: same(bound), framing_limit: bound, bound_by })
    }

    /// Payload bytes per second that some streams together cannot exceed. Wires that several share cover them; and
    /// nothing is delivered but over the wires to the destinations. A stream with several destinations need not keep to
    /// its proportions here (what is dropped on one way does not hold up the others), so only its own wire covers it.
    fn bound(&self, members: &[usize]) -> f64 {
        let alone: BTreeMap<usize, f64> = members.iter().map(|&m| (m, self.asked[m].bound)).collect();
        let least = |m: usize| 1.0 / self.asked[m].line;
        let mut together: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &m in members {
            let several = self.network.streams[m].targets.len() > 1;
            let mine = &self.of_stream[m];
            let source = self.network.out(self.network.streams[m].source, 0);
            for &r in mine.iter().filter(|&&r| !several || self.resources[r].key == source) {
                together.entry(r).or_default().push(m);
            }
        }
        // The fewest bytes of the wire per payload byte; the line rate holds it for the source's own wire.
        let weight = |m: usize| {
            let own = self.network.out(self.network.streams[m].source, 0);
            capacity(self.network, own) * least(m)
        };
        let lightest = |who: &mut dyn Iterator<Item = usize>| who.map(weight).fold(f64::INFINITY, f64::min);
        let covers: Vec<Cover> = (together.into_iter())
            .filter(|(_, who)| who.len() > 1)
            .map(|(r, who)| Cover {
                capacity: self.resources[r].capacity,
                who: who.iter().map(|&m| (m, weight(m))).collect(),
                // Wires of stations first, then those to them.
                class: self.resources[r].key % 2,
            })
            .collect();
        let sum = cover::most(&alone, &covers);
        let ends: BTreeSet<u32> = members.iter().flat_map(|&m| self.asked[m].last.iter().copied()).collect();
        let delivered: f64 = ends.into_iter().map(|w| capacity(self.network, w)).sum();
        sum.min(delivered / lightest(&mut members.iter().copied()))
    }

    fn element(&self, stream: usize) -> String {
        match self.shares[stream].by {
            Some(r) => self.network.wire_name(self.resources[r].key),
            None => format!("flows.{}", self.network.streams[stream].name),
        }
    }

    fn binding(&self, stream: usize) -> Binding {
        let (resource, evidence) = match self.shares[stream].by {
            Some(_) => ("slots", "100 % of its slots taken"),
            None => ("its own load", "the load is carried in full"),
        };
        Binding { element: self.element(stream), resource: resource.into(), evidence: evidence.into() }
    }

    /// Both ways of every link: from its first end, then from its second.
    fn links(&self) -> Vec<LinkReport> {
        let network = self.network;
        let mut ledgers = vec![Ledger::default(); 2 * network.links.len()];
        let mut frames = vec![0.0; ledgers.len()];
        // What is spread evenly over parallel wires, at the first of them.
        let (mut spread, mut spread_frames) = (Vec::new(), Vec::new());
        if self.even.is_some() {
            (spread, spread_frames) = (ledgers.clone(), frames.clone());
        }
        for (a, share) in self.asked.iter().zip(&self.shares).take(network.streams.len()) {
            let add = |ledgers: &mut [Ledger], frames: &mut [f64]| {
                for &(wire, part) in &a.wires[a.data..] {
                    ledgers[wire as usize].acks += share.rate * part * a.frames.wire() * 8.0;
                }
                for &(wire, part) in &a.wires[..a.data] {
                    let (ledger, bytes) = (&mut ledgers[wire as usize], share.rate * part);
                    ledger.payload += bytes * 8.0;
                    ledger.framing += bytes * 8.0 * a.frames.framing;
                    ledger.gap += bytes * 8.0 * a.frames.gap;
                    frames[wire as usize] += bytes * a.frames.count;
                }
            };
            add(&mut ledgers, &mut frames);
            if a.even {
                add(&mut spread, &mut spread_frames);
            }
        }
        let report = |wire: usize| {
            let wire = wire as u32;
            let (mut ledger, frames) = match self.even.as_ref().and_then(|e| e.stands_for(network, wire)) {
                Some(first) => (spread[first as usize], spread_frames[first as usize]),
                None => (ledgers[wire as usize], frames[wire as usize]),
            };
            let rate = network.link(wire).rate.typical;
            let (raw, mac) = (rate.raw().bits(), rate.rate().bits());
            (ledger.raw, ledger.line_coding) = (raw, raw - mac);
            let used = ledger.payload + ledger.framing + ledger.gap + ledger.acks;
            debug_assert!(used <= mac * (1.0 + 1e-9), "{} carries {used} of {mac}", network.wire_name(wire));
            ledger.idle = (mac - used).max(0.0);
            LinkReport {
                name: network.link(wire).name.clone(),
                from: network.node(network.leaves(wire)).name.clone(),
                to: network.node(network.arrives(wire)).name.clone(),
                medium: Medium::Ethernet,
                speed: format!("{rate} Ethernet"),
                payload: same(ledger.payload),
                tlps: frames,
                tlp_overhead: (frames > 0.0).then(|| (ledger.framing + ledger.gap) / 8.0 / frames),
                ledger,
            }
        };
        (0..ledgers.len()).map(report).collect()
    }
}

/// The same at every corner.
fn same(value: f64) -> Ranged {
    Ranged { typical: value, slower: value, faster: value }
}
