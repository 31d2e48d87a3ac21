//! The closed form of message programs: the same machine as in a run, its messages carried by formulas (`carrier`).
//!
//! The share is what the program moves over the time that it takes so. The bound is what the ports of all ranks could
//! send at most.

mod beside;
mod carrier;
mod costs;
pub(in crate::estimate) mod credit;
mod hop;
mod pieces;
mod timeline;

use crate::estimate::core::elements::ClusterElement;
use crate::mpi::{Account, Machine, Placement};
use crate::plan::infiniband::JobFlow;
use crate::plan::{DmaPath, Plan};
use crate::protocol::ethernet::{GAP, PREAMBLE};
use crate::result::{
    Binding, Excess, FlowReport, Ledger, LinkReport, Medium, ProgramReport, Ranged, Verdict, computing, time_share,
};
use crate::scenario::quantity::Corner;
use crate::units::digits;
pub(in crate::estimate) use beside::{Demand, beside, binding as shared, charge, demands, on_buses, words};
use carrier::Carrier;
pub(crate) use costs::with_message_costs;
use pieces::Ways;
pub(in crate::estimate) use pieces::in_pieces;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Steps of a machine that an estimate takes at most: some ten seconds of work.
const MOST_STEPS: u64 = 60_000_000;
/// Messages of a program that has an estimate at most, counted before it runs: some seconds of work.
const MOST_MESSAGES: u64 = 16_000_000;
/// One with more at the typical values is not asked for at the corners.
const FEW_STEPS: u64 = 4_000_000;

/// The clusters' side of a report.
pub(in crate::estimate) struct Answer {
    pub(in crate::estimate) flows: Vec<FlowReport>,
    pub(in crate::estimate) links: Vec<LinkReport>,
    pub(in crate::estimate) warnings: Vec<String>,
    /// What wires of Ethernet carry.
    frames: Vec<Carried>,
}

/// What a wire carries, on average.
#[derive(Clone, Copy, Default)]
struct Carried {
    /// The share of the time in use.
    used: f64,
    /// Packets, and their payload in bits, per second.
    packets: f64,
    payload: f64,
}

/// A program at the corners of its values; those of a long one were not asked for.
pub(in crate::estimate) struct Ran {
    typical: Outcome,
    corners: Option<[Outcome; 2]>,
}

impl Ran {
    fn at(&self, corner: Corner) -> &Outcome {
        match (corner, &self.corners) {
            (Corner::Slower, Some([slower, _])) => slower,
            (Corner::Faster, Some([_, faster])) => faster,
            _ => &self.typical,
        }
    }

    /// How long the program takes alone, s.
    pub(in crate::estimate) fn time(&self, corner: Corner) -> f64 {
        self.at(corner).time
    }
}

/// What a program did, in closed form.
struct Outcome {
    machine: Machine,
    /// Bytes carried, and how long it took, s.
    bytes: f64,
    time: f64,
    /// Mean time of a message, s.
    latency: f64,
    /// What was busiest, and for what share of the time.
    busiest: Option<(ClusterElement, f64)>,
    /// What holds up the reads or writes of a host's memory that were busiest.
    held: Option<Binding>,
    /// By wire of InfiniBand, then of Ethernet.
    wires: Vec<Carried>,
    most: f64,
    /// What it asks of all that others may use too.
    demand: Demand,
    /// Why there is no answer.
    trouble: Option<String>,
}

/// Runs the programs of a plan, each as if it were alone.
///
/// `plan` and `ways` are of [`in_pieces`].
pub(in crate::estimate) fn ran(plan: &Plan, ways: &Arc<Ways>) -> Vec<Ran> {
    let one = |job: &JobFlow| {
        let typical = run(plan, ways, job, Corner::Typical);
        let few = typical.machine.steps() < FEW_STEPS && typical.trouble.is_none();
        let corners = few.then(|| [Corner::Slower, Corner::Faster].map(|c| run(plan, ways, job, c)));
        Ran { typical, corners }
    };
    plan.cluster.jobs.iter().map(one).collect()
}

/// Answers the clusters' side of a plan: programs that ran alone, and how far beside the others each comes in the time
/// that it would take alone, with what holds it back; at the slower, the typical and the faster corner. `together` is
/// that of each while all run, typically: what links carry.
pub(in crate::estimate) fn answer(
    plan: &Plan,
    ran: &[Ran],
    progress: [Vec<(f64, Option<Binding>)>; 3],
    together: &[f64],
) -> Answer {
    let cluster = &plan.cluster;
    let mut wires = vec![Carried::default(); 2 * (cluster.links.len() + plan.network.links.len())];
    let mut answer = Answer { flows: Vec::new(), links: Vec::new(), warnings: Vec::new(), frames: Vec::new() };
    for (i, (job, ran)) in cluster.jobs.iter().zip(ran).enumerate() {
        if let Some(trouble) = &ran.typical.trouble {
            answer.warnings.push(format!("flows.{}: {trouble}", job.name));
        }
        let [slower, typical, faster] = progress.each_ref().map(|p| p[i].0);
        for (sum, one) in wires.iter_mut().zip(&ran.typical.wires) {
            sum.used += together[i] * one.used;
            sum.packets += together[i] * one.packets;
            sum.payload += together[i] * one.payload;
        }
        answer.flows.push(flow(plan, job, ran, [slower, typical, faster], progress[1][i].1.clone()));
    }
    answer.frames = wires.split_off(2 * cluster.links.len());
    answer.links = (wires.into_iter().zip(0u32..))
        .map(|(Carried { used, packets, payload }, wire)| {
            let link = cluster.link(wire);
            let (raw, coded) = (link.rate.typical.raw().bits(), link.rate.typical.data_rate().bits());
            let [from, to] = [cluster.leaves(wire), cluster.arrives(wire)].map(|n| cluster.node_name(n));
            let framing = (used * coded - payload).max(0.0);
            LinkReport {
                name: link.name.clone(),
                from,
                to,
                medium: Medium::Infiniband,
                speed: format!("{} InfiniBand", link.rate.typical),
                payload: Ranged { typical: payload, slower: payload, faster: payload },
                ledger: Ledger {
                    raw,
                    line_coding: raw - coded,
                    framing,
                    payload,
                    idle: (coded - payload - framing).max(0.0),
                    ..Ledger::default()
                },
                tlps: packets,
                tlp_overhead: (packets > 0.0).then(|| framing / 8.0 / packets),
            }
        })
        .collect();
    answer
}

impl Answer {
    /// Adds what programs put on the wires of an Ethernet to what streams do. `links` are both ways of each link, in
    /// order.
    pub(in crate::estimate) fn on_links(&self, links: &mut [LinkReport]) {
        for (link, Carried { used, packets, payload }) in links.iter_mut().zip(self.frames.iter().copied()) {
            let ledger = &mut link.ledger;
            let used = used * ledger.coded();
            let gap = packets * 8.0 * (PREAMBLE + GAP) as f64;
            ledger.payload += payload;
            ledger.gap += gap;
            ledger.framing += (used - payload - gap).max(0.0);
            ledger.idle = (ledger.idle - used).max(0.0);
            let all = &mut link.payload;
            (all.slower, all.typical, all.faster) = (all.slower + payload, all.typical + payload, all.faster + payload);
            link.tlps += packets;
            link.tlp_overhead = (link.tlps > 0.0).then(|| (ledger.framing + ledger.gap) / 8.0 / link.tlps);
        }
    }
}

/// Runs a program with messages carried in closed form.
fn run(plan: &Plan, ways: &Arc<Ways>, job: &JobFlow, corner: Corner) -> Outcome {
    let cluster = &plan.cluster;
    let node_of = job.ranks.iter().map(|e| cluster.endpoints[*e as usize].adapter).collect();
    let steady = job.keys.steady.typical.then_some(plan.limits.until.0);
    let ahead = job.job.sends(steady.is_some(), MOST_MESSAGES).messages;
    let mut machine = Machine::new(job.job.clone(), job.costs(corner), Placement { node_of }, steady);
    let mut carrier = Carrier::new(Arc::new(plan.clone()), Arc::clone(ways), corner);
    // When, in which order, the message, and whether it has arrived or only left.
    let mut heap: BinaryHeap<Reverse<(u64, u64, u32, bool)>> = BinaryHeap::new();
    let (mut n, mut posts, mut bytes, mut messages, mut times) = (0u64, Vec::new(), 0.0, 0.0f64, 0.0);
    loop {
        if ahead > MOST_MESSAGES {
            break;
        }
        let (own, next) = (machine.next(), heap.peek().map_or(u64::MAX, |h| h.0.0));
        if own == u64::MAX && next == u64::MAX || machine.steps() > MOST_STEPS {
            break;
        }
        if next <= own {
            let Some(Reverse((at, _, token, arrived))) = heap.pop() else { break };
            match arrived {
                true => machine.arrived(token, at, &mut posts),
                false => machine.sent(token, at, &mut posts),
            }
        } else {
            machine.on(own, &mut posts);
        }
        for post in posts.drain(..) {
            let (arrived, sent) = carrier.carry(&post, job);
            bytes += post.bytes as f64;
            messages += 1.0;
            times += (arrived - post.at) as f64;
            heap.push(Reverse((arrived, n, post.token, true)));
            heap.push(Reverse((sent.max(post.at), n + 1, post.token, false)));
            n += 2;
        }
    }
    let many = (ahead > MOST_MESSAGES)
        .then(|| format!("it sends more than {MOST_MESSAGES} messages, too many for an estimate: take fewer ranks"));
    let trouble = many.or_else(|| machine.fault()).or_else(|| {
        let blocked = machine.steps() > MOST_STEPS;
        match (machine.is_done(), blocked) {
            (true, _) => None,
            (false, true) => Some("it has too many steps for an estimate".into()),
            (false, false) => Some(format!("it comes to a standstill: {}", machine.waiting().join("; "))),
        }
    });
    // What carries one packet at a time carries all of them within the program's time; trains that overlap, and short
    // transfers that take no place of their own on a timeline, do not see to that by themselves.
    let time = carrier.used.iter().fold(machine.time() as f64, |time, used| time.max(*used));
    let share = |used: f64| if time > 0.0 { used / time } else { 0.0 };
    let busiest = (carrier.names.iter().zip(&carrier.used)).max_by(|a, b| a.1.total_cmp(b.1));
    let busiest = busiest.map(|(name, used)| (*name, share(*used)));
    // Ranks that fail at once have carried nothing in no time.
    let a_second = |n: f64| if time > 0.0 { n * 1e15 / time } else { 0.0 };
    let wires = (carrier.carried.iter().zip(&carrier.used))
        .map(|((packets, payload), used)| Carried {
            used: share(*used),
            packets: a_second(*packets),
            payload: a_second(payload * 8.0),
        })
        .collect();
    let most = job.ranks.iter().map(|e| carrier.most(*e, job.mtu)).sum();
    let mut moved = Vec::new();
    for ((adapter, pieces), bytes) in cluster.adapters.iter().zip(ways.iter()).zip(&carrier.moved) {
        let Some(host) = &adapter.host else { continue };
        let [read, write] = host.dma.paths();
        for (way, (path, bytes)) in [read, write, host.doorbell].into_iter().zip(bytes).enumerate() {
            let paths = pieces.map_or([path; 3], |ways| ways[way].flows().map(DmaPath::Pcie));
            let used = paths.into_iter().zip(bytes).filter(|(_, bytes)| **bytes > 0.0);
            moved.extend(used.map(|(path, bytes)| (path, a_second(*bytes))));
        }
    }
    let used = carrier.names.iter().zip(&carrier.used).map(|(name, used)| (*name, share(*used))).collect();
    let demand = Demand { moved, used };
    let time = time / 1e15;
    let latency = if messages > 0.0 { times / messages / 1e15 } else { 0.0 };
    let held = busiest.and_then(|(name, _)| match name {
        ClusterElement::Reads(a) => carrier.held_by(a, true),
        ClusterElement::Writes(a) => carrier.held_by(a, false),
        _ => None,
    });
    Outcome { machine, bytes, time, latency, busiest, held, wires, most, demand, trouble }
}

fn flow(plan: &Plan, job: &JobFlow, ran: &Ran, progress: [f64; 3], held: Option<Binding>) -> FlowReport {
    let typical = &ran.typical;
    let [slower, usual, faster] = progress;
    let of = |pick: &dyn Fn(&Outcome, f64) -> f64| match &ran.corners {
        Some([a, b]) => Ranged { typical: pick(typical, usual), slower: pick(a, slower), faster: pick(b, faster) },
        None => Ranged { typical: pick(typical, usual), slower: pick(typical, usual), faster: pick(typical, usual) },
    };
    let rate = |o: &Outcome, progress: f64| {
        let fine = o.trouble.is_none() && o.time > 0.0;
        if fine { progress * o.bytes * 8.0 / o.time } else { 0.0 }
    };
    let share = of(&rate);
    FlowReport {
        name: job.name.clone(),
        instances: 1,
        what: job.job.title.clone(),
        both_ways: false,
        operation: None,
        goodput: None,
        frame_rate: None,
        alike: Vec::new(),
        wanted_each: Vec::new(),
        bound: of(&|o, _| o.most * 8.0),
        share,
        each: vec![share.typical],
        framing_limit: typical.most * 8.0,
        latency_first: None,
        latency: of(&|o, _| o.latency),
        round_trip: None,
        bound_by: held.unwrap_or_else(|| binding(plan, job, typical)),
        bound_also: Vec::new(),
        upgrade: None,
        measured: None,
        verdict: Verdict::Stable,
        excess: Excess::Source,
        programs: std::iter::once((typical, usual))
            .chain(ran.corners.iter().flat_map(|[a, b]| [(a, slower), (b, faster)]))
            .enumerate()
            .map(|(i, (o, progress))| {
                let mut report = ProgramReport::of(&job.name, &job.job, &o.machine);
                let alone = o.machine.time() as f64 / 1e15;
                report.stretch(if o.time > alone { progress * alone / o.time } else { progress });
                if i > 0 {
                    report.accounts.clear();
                }
                report
            })
            .collect(),
    }
}

/// What takes most of the time: the ranks' own computing, else what carries messages, else what one message takes by
/// itself.
fn binding(plan: &Plan, job: &JobFlow, o: &Outcome) -> Binding {
    let accounts: Vec<Account> = o.machine.accounts().collect();
    if let Some(binding) = computing(&job.name, &accounts) {
        return binding;
    }
    match o.busiest {
        Some((name, share)) if share > 0.5 => {
            let (element, resource) = words(plan, name);
            let evidence = format!("{} % of the time in use", digits(100.0 * share));
            if let Some(held) = &o.held {
                return Binding { evidence, ..held.clone() };
            }
            Binding { element, resource: resource.into(), evidence }
        }
        other => Binding {
            element: format!("flows.{}", job.name),
            resource: "latency".into(),
            evidence: format!(
                "ranks wait {} % of their time; nothing that carries messages is in use for more than {} % of it",
                digits(100.0 * time_share(&accounts, |a| a.waiting)),
                digits(other.map_or(0.0, |(_, share)| 100.0 * share))
            ),
        },
    }
}
