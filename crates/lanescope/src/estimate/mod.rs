//! The closed form: what protocols and topology allow, and which element binds.
//!
//! Two numbers per flow. The *bound*: the least, over all that a flow uses, of capacity / use; no allocation can exceed
//! it. The *share*: fair filling of the same resources by their arbitration trees (`fill`). Both are functions of what
//! a payload byte costs everywhere (`resources`), evaluated at the typical values and at the two corners of the ranges.

mod core;
mod ethernet;
mod infiniband;
mod not_modelled;
mod pci;
mod pcie;
mod storage;
pub mod wire;

pub use not_modelled::NOT_MODELLED;
pub use pcie::upgrade::{Need, Step, need};

use crate::diagnostic::Diagnostics;
use crate::plan::Dma;
use crate::plan::{Direction, Flow, FlowRef, Hop, LinkId, PartId, Plan, Program};
use crate::protocol::pcie::{self as protocol, Class};
use crate::result::{
    Binding, Excess, FlowReport, Ledger, LinkReport, Measured, Medium, Note, Provenance, Ranged, Report, SCHEMA,
    SwitchReport, Total, Upgrade, Verdict,
};
use crate::scenario::PartKeys;
use crate::scenario::keys::{After, Do, Technology};
use crate::scenario::quantity::Corner;
use crate::units::Rate;
use core::alike;
use core::cover::{self, Cover};
use core::elements::{Ceiling, ClusterElement, Key, Part};
use core::fill::{self, Filled, Queue, Resource, Share, fill};
use core::row;
use pcie::queues::{Line, queues};
use pcie::requester::operation;
use pcie::resources::{Wires, path, resources, wires};
use std::collections::BTreeMap;

/// Everything at one corner.
struct Outcome {
    wires: Wires,
    resources: Vec<Resource<Key>>,
    /// Where flows stand behind one another.
    queues: Vec<Queue<Line>>,
    shares: Vec<Share>,
    /// Whether the filling settled.
    settled: bool,
    /// What was divided among the flows by themselves; of DMA it is in the shares of I/Os.
    divided: Vec<Share>,
    /// What each flow of I/Os comes to.
    charged: Vec<storage::Charged>,
    /// What all ask of shared buses that is not of the buses' own flows.
    on_buses: Vec<(u32, f64)>,
}

impl Outcome {
    /// How far each program comes in the time that it would take alone, and what holds it back.
    fn progress(&self, plan: &Plan) -> Vec<(f64, Option<Binding>)> {
        let first = row::programs(plan).start;
        let one = |i: usize| {
            let held = self.divided[i].rate < 1.0 - 1e-9;
            (self.divided[i].rate, held.then(|| binding(plan, self, i)))
        };
        (first..self.divided.len()).map(one).collect()
    }
}

/// `jobs` is what programs ask for.
fn outcome(plan: &Plan, corner: Corner, jobs: &[infiniband::Demand]) -> Outcome {
    let wires = wires(plan, corner);
    let mut resources = resources(plan, corner, &wires);
    let charged = storage::charge(plan, corner, &mut resources);
    let first = row::programs(plan).start;
    infiniband::charge(plan, corner, first, jobs, &mut resources);
    let mut caps: Vec<f64> = (plan.flows.iter())
        .map(|f| match f.program {
            Program::Open { rate, .. } => rate.bytes(),
            // Charged to the I/Os behind it.
            Program::ExternallyDriven => 0.0,
            _ => f64::INFINITY,
        })
        .chain(plan.storage.flows.iter().map(|f| match plan.storage.pair(f).and_then(|p| p.connections) {
            // Connections and nothing in them.
            Some(0) => 0.0,
            _ => storage::wish(f),
        }))
        .chain(jobs.iter().map(|_| 1.0))
        .collect();
    let queues = queues(plan, corner, &wires, &resources);
    let filled = |caps: &[f64]| {
        fill(&resources, &queues, caps, |flow, hops| match plan.flows.get(flow) {
            Some(f) => path(f, hops),
            None if flow >= first => vec![3 << 40 | flow as u64],
            None => storage::way(plan, flow, hops),
        })
    };
    let Filled { mut shares, mut settled } = filled(&caps);
    if let Some(beside) = storage::beside(plan, corner, &resources, &charged, &mut caps, &shares, filled) {
        (shares, settled) = (beside.shares, beside.settled);
    }
    let ios = storage::on_buses(plan, &charged, &shares);
    let held = infiniband::beside(plan, corner, jobs, &shares[first..], &ios);
    if held.iter().flatten().any(|(left, _)| *left < 1.0 - 1e-9) {
        for (cap, (left, _)) in caps[first..].iter_mut().zip(&held).filter_map(|(cap, h)| Some((cap, (*h)?))) {
            *cap = cap.min(left);
        }
        Filled { shares, settled } = filled(&caps);
        for (job, (left, bus)) in held.iter().enumerate().filter_map(|(i, h)| Some((i, (*h)?))) {
            // Nothing of the filling binds it, but the flows of its bus.
            if shares[first + job].by.is_none() && left < 1.0 - 1e-9 {
                let key = Key::Cluster(ClusterElement::Bus(bus));
                resources.push(Resource { key, capacity: left, uses: Vec::new() });
                shares[first + job].by = Some(resources.len() - 1);
            }
        }
    }
    let mut on_buses = storage::on_buses(plan, &charged, &shares);
    on_buses.extend(infiniband::on_buses(jobs, &shares[first..]).into_iter().map(|m| m.1));
    let divided = shares.clone();
    for (i, (flow, d)) in plan.storage.flows.iter().zip(&charged).enumerate() {
        let rate = shares[row::ios(plan).start + i].rate;
        let adapter = plan.storage.adapter(flow).map(|a| a.dma);
        let Some(Dma::Pcie { read: reads, write: writes }) = adapter else { continue };
        shares[reads.0 as usize].rate += rate * d.read;
        shares[writes.0 as usize].rate += rate * d.write;
        d.around.iter().for_each(|(flow, moved)| shares[*flow].rate += rate * moved);
    }
    for (job, demand) in jobs.iter().enumerate() {
        for (flow, rate) in demand.on_pcie() {
            shares[flow].rate += rate * divided[first + job].rate;
        }
    }
    Outcome { wires, resources, queues, shares, settled, divided, charged, on_buses }
}

/// Programs beside the streams of an Ethernet: what they ask, and how far they come.
fn on_ethernet(jobs: &[infiniband::Demand], progress: &[(f64, Option<Binding>)]) -> Vec<ethernet::Beside> {
    let one = |(job, came): (&infiniband::Demand, &(f64, _))| ethernet::Beside {
        wires: job.on_ethernet().collect(),
        progress: came.0,
    };
    jobs.iter().zip(progress).map(one).collect()
}

/// How much of something with a capacity the shares take.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What it is, as the program calls it inside: a wire and its direction, tags, credits, clocks.
    pub what: String,
    /// Units per second that the shares ask for, DLLPs counted.
    pub taken: f64,
    /// Units per second that there are.
    pub capacity: f64,
}

/// What the shares of a plan take, at a corner of its ranges, of everything that has a capacity: wires, tags, engines,
/// memories, credits, clocks of buses. None is above its capacity, but for a float's noise.
pub fn loads(plan: &Plan, corner: Corner) -> Vec<Load> {
    let demands = infiniband::demands(&infiniband::ran(plan), corner);
    let o = outcome(plan, corner, &demands);
    let mut all = loads_of(&o.resources, &o.divided);
    all.extend(ethernet::loads(plan, &on_ethernet(&demands, &o.progress(plan))));
    all.extend(pci::loads(plan, corner, &o.on_buses));
    all
}

fn loads_of<K: std::fmt::Debug>(resources: &[Resource<K>], shares: &[Share]) -> Vec<Load> {
    let load = |r: &Resource<K>| Load { what: format!("{:?}", r.key), taken: r.load(shares), capacity: r.capacity };
    resources.iter().map(load).collect()
}

/// Answers a plan in closed form. Warnings found while planning go into the report.
pub fn estimate(plan: &Plan, diagnostics: &Diagnostics) -> Report {
    let ran = infiniband::ran(plan);
    let corners = [Corner::Slower, Corner::Typical, Corner::Faster];
    let jobs = corners.map(|c| infiniband::demands(&ran, c));
    let [slower, typical, faster] = [0, 1, 2].map(|i| outcome(plan, corners[i], &jobs[i]));
    let groups = plan.groups();
    // Each upgrade answers the whole plan once more, and nobody reads a thousand of them.
    let bound_by = |members: &[usize]| {
        let by = typical.shares[typically_bound(&typical.shares, members)].by;
        by.map(|r| typical.resources[r].key)
    };
    let upgraded: Vec<_> = groups.iter().take(64).map(|members| (&members[..], bound_by(members))).collect();
    let mut upgrades = pcie::upgrade::upgrades(plan, &upgraded, &jobs[1]).into_iter();
    let flows: Vec<FlowReport> = groups
        .iter()
        .map(|members| flow_report(plan, members, [&slower, &typical, &faster], upgrades.next().flatten()))
        .collect();
    let total = total(plan, [&slower, &typical, &faster]);
    let switches: Vec<SwitchReport> = plan
        .parts
        .iter()
        .filter_map(|p| match &p.keys {
            PartKeys::Switch(k) => {
                Some(SwitchReport { name: p.name.clone(), latency: ranged(|c| k.latency.at(c).seconds()) })
            }
            _ => None,
        })
        .collect();
    // PCIe first, Ethernet behind it, then buses: parts of one never load the other's.
    let mut progress = [&slower, &typical, &faster].map(|o| o.progress(plan));
    let mut ethernet = ethernet::answer(plan, &on_ethernet(&jobs[1], &progress[1]));
    for of_corner in &mut progress {
        for (came, held) in of_corner.iter_mut().zip(&ethernet.held) {
            if let Some((left, by)) = held.as_ref().filter(|h| h.0 < came.0) {
                *came = (*left, Some(by.clone()));
            }
        }
    }
    storage::transact::on_links(plan, &typical, &mut ethernet.links);
    let bus = pci::answer(plan, [&slower, &typical, &faster].map(|o| &o.on_buses[..]));
    let cluster = infiniband::answer(plan, &ran, progress);
    cluster.on_links(&mut ethernet.links);
    let (streams, flows_on_buses) = (plan.network.streams.len(), plan.buses.flows.len());
    Report {
        schema: SCHEMA,
        title: plan.title.clone(),
        provenance: Provenance {
            program: concat!("lanescope ", env!("CARGO_PKG_VERSION")).into(),
            plan: plan.fingerprint.clone(),
            methods: vec!["estimate".into()],
        },
        flows: flows
            .into_iter()
            .chain(ethernet.flows)
            .chain(storage::flows(plan, [&slower, &typical, &faster]))
            .chain(bus.flows)
            .chain(cluster.flows)
            .collect(),
        total: both(
            both(total, ethernet.total, streams > plan.flows.len()),
            bus.total,
            flows_on_buses > streams.max(plan.flows.len()),
        ),
        links: links(plan, [&slower, &typical, &faster])
            .into_iter()
            .chain(ethernet.links)
            .chain(storage::links(plan, &typical))
            .chain(bus.links)
            .chain(cluster.links)
            .collect(),
        switches: switches.into_iter().chain(ethernet.switches).collect(),
        warnings: diagnostics.warnings().into_iter().chain(cluster.warnings).collect(),
        not_modelled: not_modelled::of(plan),
        notes: (unsettled(&typical).into_iter())
            .chain(storage::notes(plan, &typical))
            .chain(pci::notes(plan))
            .collect(),
        simulation: None,
    }
}

/// What to say where the filling found no shares that agree with the DLLPs that they cause.
fn unsettled(outcome: &Outcome) -> Option<Note> {
    (!outcome.settled).then(|| Note {
        element: "total".into(),
        mechanism: "not-settled".into(),
        text: "shares did not converge with the DLLPs that they cause; they are scaled down to what every link carries"
            .into(),
    })
}

fn ranged(at: impl Fn(Corner) -> f64) -> Ranged {
    Ranged { typical: at(Corner::Typical), slower: at(Corner::Slower), faster: at(Corner::Faster) }
}

fn flow_report(
    plan: &Plan,
    members: &[usize],
    [slower, typical, faster]: [&Outcome; 3],
    upgrade: Option<Upgrade>,
) -> FlowReport {
    let flow = &plan.flows[members[0]];
    let name = flow.group.as_str();
    let total = |o: &Outcome| members.iter().map(|&i| o.shares[i].rate).sum::<f64>() * 8.0;
    let bound_all = bounds(members, [slower, typical, faster]);
    // Only wires, all their slots, only packets.
    let framing_limit = bound_of_framing(plan, &typical.resources, members) * 8.0;
    let times = [Corner::Slower, Corner::Typical, Corner::Faster].map(|c| slowest(plan, c, members));
    let at =
        |pick: fn(&Times) -> f64| Ranged { slower: pick(&times[0]), typical: pick(&times[1]), faster: pick(&times[2]) };
    let latency = at(|t| t.operation);
    let (latency_first, round_trip) = (flow.reads().then(|| at(|t| t.first)), flow.reads().then(|| at(|t| t.request)));
    let each: Vec<f64> = members.iter().map(|&i| typical.shares[i].rate * 8.0).collect();
    let wanted_each =
        members.iter().map(|&i| plan.wanted(&plan.flows[i])).collect::<Option<Vec<f64>>>().unwrap_or_default();
    let open = matches!(flow.program, Program::Open { .. });
    let short = |(wants, gets): (&f64, &f64)| Verdict::of(*wants, *gets, open, 1e-9) == Verdict::Unstable;
    let unstable = wanted_each.iter().zip(&each).any(short);
    let main = typically_bound(&typical.shares, members);
    let bound_by = binding(plan, typical, main);
    let bound_also = others(members.iter().map(|&i| element(plan, typical, i)), &bound_by.element);
    let measured = flow.measured.map(|m| held_against(m, &each, members, bound_all, |i| alone(faster, i)));
    let ends = |&i: &usize| {
        let flow = &plan.flows[i];
        [flow.source, flow.target].map(|p| plan.part(p).name.as_str())
    };
    FlowReport {
        name: name.to_owned(),
        instances: members.len(),
        what: format!(
            "{} {}, {}",
            match (flow.packets, flow.reads()) {
                (false, _) => crate::scenario::quantity::Shape::show(&flow.op.typical),
                (true, true) => "transmit".into(),
                (true, false) => "receive".into(),
            },
            flow.size.typical,
            alike::ways(&members.iter().map(|&i| plan.way(&plan.flows[i])).collect::<Vec<_>>())
        ),
        both_ways: flow.op.typical == Do::Alternate,
        operation: Some(flow.size.typical.f64()),
        goodput: flow.headers.as_ref().map(|h| {
            let data = |c: Corner| 1.0 - h.at(c).f64() / flow.size.at(c).f64();
            Ranged {
                slower: total(slower) * data(Corner::Slower),
                typical: total(typical) * data(Corner::Typical),
                faster: total(faster) * data(Corner::Faster),
            }
        }),
        wanted_each,
        bound: bound_all,
        share: Ranged { typical: total(typical), slower: total(slower), faster: total(faster) },
        alike: alike::alike(&each, &members.iter().map(ends).collect::<Vec<_>>()),
        each,
        framing_limit,
        latency_first,
        latency,
        round_trip,
        bound_by,
        bound_also,
        upgrade,
        measured,
        verdict: if unstable { Verdict::Unstable } else { Verdict::Stable },
        excess: if open { Excess::Queue } else { Excess::Source },
        programs: Vec::new(),
    }
}

/// What was measured of each of some flows, against their shares, their bound together, and that of each alone; bits
/// per second.
fn held_against(
    measured: Rate,
    each: &[f64],
    members: &[usize],
    together: Ranged,
    alone: impl Fn(usize) -> f64,
) -> Measured {
    let m = measured.bits();
    let above = |rate: f64, limit: f64| rate > limit * (1.0 + 1e-9);
    let all = above(m * members.len() as f64, together.faster.max(together.typical));
    Measured {
        each: m,
        unexplained: each.iter().map(|share| share - m).collect(),
        above_bound: members.iter().filter(|&&i| all || above(m, alone(i))).count(),
    }
}

/// The bound of one flow by itself, bits per second.
fn alone(outcome: &Outcome, flow: usize) -> f64 {
    bound(&outcome.resources, &[flow], |u| u.weight + u.first_least, |_, capacity| capacity, class) * 8.0
}

/// Unloaded times of the slowest of some flows, in seconds.
#[derive(Clone, Copy, Default)]
struct Times {
    /// One operation.
    operation: f64,
    /// One request of a read to its first data.
    first: f64,
    /// One request of a read to its last byte.
    request: f64,
}

fn slowest(plan: &Plan, corner: Corner, members: &[usize]) -> Times {
    let mut worst = Times::default();
    for flow in members.iter().map(|&i| &plan.flows[i]) {
        worst.operation = worst.operation.max(operation(plan, corner, flow) * 1e-9);
        if flow.reads() {
            let request = plan.request_size(corner, flow);
            let read = pcie::latency::read(plan, corner, flow, flow.size.at(corner).0.min(request), request);
            worst.first = worst.first.max(read.first * 1e-9);
            worst.request = worst.request.max(read.last * 1e-9);
        }
    }
    worst
}

/// All flows together.
fn total(plan: &Plan, [slower, typical, faster]: [&Outcome; 3]) -> Option<Total> {
    let members: Vec<usize> =
        (0..plan.flows.len()).filter(|&i| !plan.flows[i].is_externally_driven()).chain(row::ios(plan)).collect();
    if members.is_empty() {
        return None;
    }
    let sum = |o: &Outcome, both: bool| {
        let alternates = |i: usize| plan.flows.get(i).is_some_and(|f| f.op.typical == Do::Alternate);
        let ways = |i: usize| if both && alternates(i) { 16.0 } else { 8.0 };
        members.iter().map(|&i| o.shares[i].rate * ways(i)).sum::<f64>()
    };
    let ranged = |both| Ranged { typical: sum(typical, both), slower: sum(slower, both), faster: sum(faster, both) };
    Some(Total {
        share: ranged(false),
        both_ways: ranged(true),
        bound: bounds(&members, [slower, typical, faster]),
        framing_limit: bound_of_framing(plan, &typical.resources, &members) * 8.0,
        bound_by: binding(plan, typical, typically_bound(&typical.shares, &members)),
    })
}

/// Two sides together; what binds is that of the side with more flows.
fn both(pcie: Option<Total>, ethernet: Option<Total>, more_ethernet: bool) -> Option<Total> {
    let (pcie, ethernet) = match (pcie, ethernet) {
        (Some(p), Some(e)) => (p, e),
        (one, other) => return one.or(other),
    };
    let add = |a: Ranged, b: Ranged| Ranged {
        typical: a.typical + b.typical,
        slower: a.slower + b.slower,
        faster: a.faster + b.faster,
    };
    Some(Total {
        share: add(pcie.share, ethernet.share),
        both_ways: add(pcie.both_ways, ethernet.both_ways),
        bound: add(pcie.bound, ethernet.bound),
        framing_limit: pcie.framing_limit + ethernet.framing_limit,
        bound_by: if more_ethernet { ethernet.bound_by } else { pcie.bound_by },
    })
}

/// A member bound by what binds most members, of equals the one listed first: what a person would look at first.
fn typically_bound(shares: &[Share], members: &[usize]) -> usize {
    let mut count: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for &m in members {
        *count.entry(shares[m].by).or_default() += 1;
    }
    let most = count.into_iter().rev().max_by_key(|(by, n)| (by.is_some(), *n)).map(|(by, _)| by);
    members.iter().copied().find(|&m| Some(shares[m].by) == most).unwrap_or(members[0])
}

/// The bound of some flows together at each corner, bits per second.
fn bounds(members: &[usize], [slower, typical, faster]: [&Outcome; 3]) -> Ranged {
    let weight = |u: &fill::Use| u.weight + u.first_least;
    let at = |o: &Outcome| bound(&o.resources, members, weight, |_, capacity| capacity, class) * 8.0;
    Ranged { typical: at(typical), slower: at(slower), faster: at(faster) }
}

/// Links one way lie side by side, and what is not a link.
fn class(key: Key) -> u32 {
    match key {
        Key::Wire(hop) if hop.direction == Direction::Up => 0,
        Key::Wire(_) => 1,
        _ => 2,
    }
}

/// The most that all members together can get.
fn bound<K: Copy>(
    resources: &[Resource<K>],
    members: &[usize],
    weight: impl Fn(&fill::Use) -> f64,
    capacity: impl Fn(K, f64) -> f64,
    class: impl Fn(K) -> u32,
) -> f64 {
    // By flow; of those that are no members there is none.
    let mut alone: Vec<Option<f64>> = vec![None; members.iter().max().map_or(0, |m| m + 1)];
    members.iter().for_each(|m| alone[*m] = Some(f64::INFINITY));
    let mut covers: Vec<Cover> = Vec::new();
    for r in resources {
        let capacity = capacity(r.key, r.capacity);
        let mut who = Vec::new();
        for u in &r.uses {
            let (Some(Some(most)), asks) = (alone.get_mut(u.flow), weight(u)) else { continue };
            if asks > 0.0 {
                *most = most.min(capacity / asks);
                // Only packets make a resource a limit of the sum: DLLPs alone would stretch it far beyond.
                who.extend((u.weight > 0.0).then_some((u.flow, asks)));
            }
        }
        if who.len() > 1 {
            covers.push(Cover { capacity, who, class: class(r.key) });
        }
    }
    cover::most(&members.iter().filter_map(|m| Some((*m, alone[*m]?))).collect(), &covers)
}

/// What binds the members other than the element that was named, each once; at most 64.
fn others(elements: impl Iterator<Item = String>, named: &str) -> Vec<String> {
    let mut others: Vec<String> = Vec::new();
    for element in elements {
        if others.len() < 64 && element != named && !others.contains(&element) {
            others.push(element);
        }
    }
    others
}

fn bound_of_framing(plan: &Plan, resources: &[Resource<Key>], members: &[usize]) -> f64 {
    let wire = |key: Key| {
        matches!(key, Key::Wire(_) | Key::Storage(Part::Transport(..) | Part::Clocks(_) | Part::Ethernet(_)))
    };
    let wires: Vec<Resource<Key>> = resources.iter().filter(|r| wire(r.key)).cloned().collect();
    bound(
        &wires,
        members,
        |u| u.weight,
        |key, capacity| match key {
            Key::Wire(hop) => {
                let speed = plan.link(hop.link).speed.typical;
                speed.coded().bytes() * speed.usable(0)
            }
            _ => capacity,
        },
        class,
    )
}

/// The name of what binds a flow; of the flow itself where nothing does.
fn element(plan: &Plan, outcome: &Outcome, flow: usize) -> String {
    match outcome.shares[flow].behind.map(|q| outcome.queues[q].key) {
        Some(Line::Port(hop, _)) => return plan.direction_name(hop),
        Some(Line::Tags(id)) => return format!("parts.{}", plan.part(id).name),
        None => {}
    }
    bottleneck(plan, outcome, flow)
}

/// The same, or where it stands behind others, what those wait for.
fn bottleneck(plan: &Plan, outcome: &Outcome, flow: usize) -> String {
    match outcome.shares[flow].by.map(|r| outcome.resources[r].key) {
        Some(Key::Wire(hop) | Key::Credits(hop, ..) | Key::Replay(hop)) => plan.direction_name(hop),
        Some(
            Key::Tags(id)
            | Key::Engine(id, _)
            | Key::ReadsInFlight(id)
            | Key::Memory(id, _)
            | Key::RequestBus(id)
            | Key::CompletionBus(id)
            | Key::Walks(id)
            | Key::Core(id),
        ) => format!("parts.{}", plan.part(id).name),
        Some(Key::PortReads(hop) | Key::Loads(hop) | Key::Stores(hop)) => {
            format!("parts.{}", plan.part(plan.leaves(hop)).name)
        }
        Some(Key::Outstanding(i) | Key::InTurn(i)) => format!("flows.{}", plan.flows[i].name),
        Some(Key::Storage(part)) => storage::words(plan, part, 0.0).0,
        Some(Key::Cluster(named)) => infiniband::words(plan, named).0,
        None => match row::flow(plan, flow) {
            FlowRef { technology: Technology::Pcie, number } => format!("flows.{}", plan.flows[number].name),
            FlowRef { technology: Technology::Storage, number } => {
                format!("flows.{}", plan.storage.flows[number].group)
            }
            FlowRef { number, .. } => format!("flows.{}", plan.cluster.jobs[number].name),
        },
    }
}

/// What binds a flow, with the evidence.
fn binding(plan: &Plan, outcome: &Outcome, flow: usize) -> Binding {
    if let Some(q) = outcome.shares[flow].behind {
        let line = outcome.queues[q].key;
        let full = if matches!(line, Line::Tags(_)) { "all held by reads" } else { "its buffer is full of packets" };
        let evidence = format!("{full} that wait for {}", bottleneck(plan, outcome, flow));
        return Binding { element: element(plan, outcome, flow), resource: pcie::queues::words(line).into(), evidence };
    }
    let resource = outcome.shares[flow].by.map(|r| &outcome.resources[r]);
    let capacity = resource.map_or(0.0, |r| r.capacity);
    let (what, evidence) = match resource.map(|r| r.key) {
        None => ("its own load".to_owned(), "it gets all that it asks for".to_owned()),
        Some(Key::Storage(part)) => return storage::binding(plan, part, capacity),
        Some(Key::Cluster(named)) => return infiniband::shared(plan, named),
        Some(Key::Wire(_)) => ("slots".into(), "100 % of its slots taken".into()),
        Some(Key::Tags(id)) => ("read requests in flight".into(), tags_text(plan, id, flow)),
        Some(Key::Engine(id, ceiling)) => {
            let (what, key) = ceiling_words(plan, id, ceiling);
            (what.into(), format!("its {key}"))
        }
        Some(Key::ReadsInFlight(_)) => ("reads in flight".into(), format!("{capacity} reads_in_flight / its latency")),
        Some(Key::Memory(_, way)) => {
            let (what, key) = memory_words(way);
            (what.into(), format!("its {key}"))
        }
        Some(Key::RequestBus(_)) => ("request bus".into(), "100 % of its request bus's clocks taken".into()),
        Some(Key::CompletionBus(_)) => ("completion bus".into(), "100 % of its completion bus's clocks taken".into()),
        Some(Key::PortReads(_)) => {
            ("reads in flight of a port".into(), format!("{capacity} backbone_reads / the time that each is worked on"))
        }
        Some(Key::Core(id)) => match core_key(plan, id) {
            key @ "peer_bandwidth" => ("peer to peer".into(), format!("its {key}")),
            key => ("core".into(), format!("its {key}")),
        },
        Some(Key::Walks(id)) => match walks_key(plan, id) {
            key @ "iommu_walks" => ("page walks".into(), format!("its {key} at once, for what misses the IOTLB")),
            key => ("page walks".into(), format!("its {key} between them, for what misses the IOTLB")),
        },
        Some(Key::Stores(_)) => ("stores of a processor".into(), "its store_rate".into()),
        Some(Key::Credits(_, class, headers)) => (
            format!("{} credits", credit_name(class, headers)),
            format!("{capacity} credits / the time until they come back"),
        ),
        Some(Key::Replay(_)) => {
            ("replay buffer".into(), format!("{capacity} B of replay_buffer / the time until they are acknowledged"))
        }
        Some(Key::Loads(_)) => {
            ("loads in flight".into(), format!("{capacity} loads_in_flight of a processor / the time of one, unloaded"))
        }
        Some(Key::InTurn(_)) => (
            "operations in turn".into(),
            "each write waits for the requests of the read before it, and they for tags".into(),
        ),
        Some(Key::Outstanding(_)) => {
            ("operations in flight".into(), format!("{capacity} outstanding / (round trip + think time)"))
        }
    };
    Binding { element: element(plan, outcome, flow), resource: what, evidence }
}

/// Tags in use and the time that they are held, unloaded.
fn tags_text(plan: &Plan, part: PartId, flow: usize) -> String {
    // Of an I/O, those of its adapter's DMA.
    let of = |f: &&Flow| f.source == part && f.reads();
    let Some(f) = plan.flows.get(flow).or_else(|| plan.flows.iter().find(of)) else { return String::new() };
    let PartKeys::Endpoint(k) = &plan.part(f.source).keys else { return String::new() };
    let request = plan.request_size(Corner::Typical, f).min(f.size.typical.0);
    let all = match k.turnaround_after.typical {
        After::Request => request,
        After::Batch => request.saturating_mul(k.tags.typical.get() as u64),
    };
    let time = crate::units::human_time(pcie::latency::read(plan, Corner::Typical, f, all, request).last * 1e-9);
    let pause = match k.turnaround.typical.fs() {
        0 => String::new(),
        _ => format!(" + {} turn-around", k.turnaround.typical),
    };
    let each = if all == request { "a request" } else { "a batch" };
    format!("{} x {} tags, {time}{pause} {each}, unloaded", k.engines.typical, k.tags.typical)
}

/// What a person calls the bandwidth of a memory, and the key behind it.
fn memory_words(way: Do) -> (&'static str, &'static str) {
    match way {
        Do::Alternate => ("memory", "memory_bandwidth"),
        Do::Read | Do::Transmit => ("memory, reads", "read_bandwidth"),
        Do::Write | Do::Receive => ("memory, writes", "write_bandwidth"),
    }
}

/// The key of what a part passes on from port to port.
fn core_key(plan: &Plan, part: crate::plan::PartId) -> &'static str {
    match plan.part(part).keys {
        crate::scenario::PartKeys::RootComplex(_) => "peer_bandwidth",
        _ => "core_bandwidth",
    }
}

/// The key that says how often page walks end: how many go on at once, or the time between them where that is longer.
fn walks_key(plan: &Plan, part: PartId) -> &'static str {
    let apart = plan.iommu(Corner::Typical, part).is_some_and(|i| i.interval * i.walks as f64 > i.walk * (1.0 + 1e-9));
    if apart { "iommu_walk_interval" } else { "iommu_walks" }
}

/// What a person calls a ceiling, and the key behind it.
fn ceiling_words(plan: &Plan, part: PartId, ceiling: Ceiling) -> (&'static str, &'static str) {
    match ceiling {
        Ceiling::Both => ("engine, reads and writes added", "rate"),
        Ceiling::Read => ("engine, reads", "read_rate"),
        Ceiling::Bus => ("internal bus, reads", "bus_rate"),
        Ceiling::Write => ("engine, writes", "write_rate"),
        Ceiling::ReadInterval => ("reads a second", "read_interval"),
        Ceiling::WriteInterval => ("writes a second", "write_interval"),
        Ceiling::Port => ("time of its port", plan.longest_gap(part)),
        Ceiling::SustainedWrites => ("engine, writes", "engine_efficiency"),
        Ceiling::SustainedReads => ("engine, reads", "engine_efficiency"),
        Ceiling::LineIn => ("line, packets in", "line"),
        Ceiling::LineOut => ("line, packets out", "line"),
    }
}

/// The key that holds a class's credits.
fn credit_name(class: Class, headers: bool) -> &'static str {
    match (class, headers) {
        (Class::Posted, true) => "posted_headers",
        (Class::Posted, false) => "posted_data",
        (Class::NonPosted, _) => "nonposted_headers",
        (Class::Completion, true) => "completion_headers",
        (Class::Completion, false) => "completion_data",
    }
}

/// Every direction of every link: down, then up.
fn links(plan: &Plan, [slower, typical, faster]: [&Outcome; 3]) -> Vec<LinkReport> {
    let mut all = Vec::new();
    for (i, link) in plan.links.iter().enumerate() {
        for direction in [Direction::Down, Direction::Up] {
            let hop = Hop { link: LinkId(i as u32), direction };
            let [slower, typical, faster] =
                [(slower, Corner::Slower), (typical, Corner::Typical), (faster, Corner::Faster)]
                    .map(|(o, c)| ledger(plan, o, c, hop));
            let (ledger, tlps, data_tlps) = typical;
            all.push(LinkReport {
                name: link.name.clone(),
                from: plan.part(plan.leaves(hop)).name.clone(),
                to: plan.part(plan.arrives(hop)).name.clone(),
                medium: Medium::Pcie,
                speed: link.speed.typical.to_string(),
                tlp_overhead: (data_tlps > 0.0).then(|| ledger.framing / 8.0 / data_tlps),
                payload: Ranged { typical: ledger.payload, slower: slower.0.payload, faster: faster.0.payload },
                ledger,
                tlps,
            });
        }
    }
    all
}

/// Where the bits of one direction go at the shares of an outcome; and its TLPs, all and with data, per second.
fn ledger(plan: &Plan, outcome: &Outcome, corner: Corner, hop: Hop) -> (Ledger, f64, f64) {
    let link = plan.link(hop.link);
    let speed = link.speed.at(corner);
    let (raw, coded) = (speed.raw().bits(), speed.coded().bits());
    let mut ledger = Ledger {
        raw,
        line_coding: raw - coded,
        ordered_sets: coded * protocol::ordered_set_share(speed.generation, link.skp(corner)),
        flits: coded * protocol::flit_overhead(speed.generation),
        ..Ledger::default()
    };
    let (mut tlps, mut data_tlps) = (0.0, 0.0);
    for (flow, s) in outcome.wires.get(&hop).into_iter().flatten() {
        let bits = outcome.shares[*flow].rate * 8.0;
        ledger.payload += bits * s.payload;
        ledger.framing += bits * s.framing;
        ledger.control += bits * s.control;
        ledger.requests += bits * s.requests;
        ledger.acks += bits * s.acks;
        ledger.update_fc += bits * s.update_fc;
        tlps += bits / 8.0 * s.tlps;
        data_tlps += bits / 8.0 * s.data_tlps;
    }
    let tlp_slots = ledger.payload + ledger.framing + ledger.control + ledger.requests;
    let used = ledger.ordered_sets + ledger.flits + tlp_slots + ledger.acks + ledger.update_fc;
    debug_assert!(used <= coded * (1.0 + 1e-9), "links.{} carries {used} of {coded}", link.name);
    // What is left of a full wire is a float's noise, on either side of 0.
    ledger.idle = if used < coded * (1.0 - 1e-12) { coded - used } else { 0.0 };
    (ledger, tlps, data_tlps)
}
