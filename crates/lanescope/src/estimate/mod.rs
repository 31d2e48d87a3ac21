//! The closed form: what protocols and topology allow, and which element binds.
//!
//! Two numbers per flow. The *bound*: the least, over all that a flow uses, of capacity / use; no allocation can exceed
//! it. The *share*: fair filling of the same resources by their arbitration trees (`fill`). Both are functions of what
//! a payload byte costs everywhere (`resources`), evaluated at the typical values and at the two corners of the ranges.

mod core;
mod ethernet;
pub mod gpu;
mod infiniband;
mod not_modelled;
mod pci;
mod pcie;
mod storage;
pub mod wire;

pub(crate) use infiniband::with_message_costs;
pub use not_modelled::NOT_MODELLED;
pub use pcie::upgrade::{Need, Step, need};

use crate::diagnostic::Diagnostics;
use crate::plan::Dma;
use crate::plan::infiniband::JobFlow;
use crate::plan::{Direction, FlowRef, Plan, Program};
use crate::result::{Binding, FlowReport, Note, Provenance, Ranged, Report, SCHEMA, SwitchReport, Total};
use crate::scenario::PartKeys;
use crate::scenario::keys::{Do, Technology};
use crate::scenario::quantity::Corner;
use core::bound::{bound, typically_bound};
use core::cover::MAY_BE_FREE;
use core::elements::{ClusterElement, Key, Part};
use core::fill::{self, Before, Filled, Queue, Resource, Share, fill};
use core::row;
use pcie::completions::{self, Waits};
use pcie::dllps;
use pcie::queues::{Line, queues};
use pcie::resources::{path, resources, wires};
use pcie::slots::{Wires, alike};
use pcie::turns::Followed;
use std::cell::OnceCell;
use std::rc::Rc;

/// How far each program comes in the time that it would take alone, and what holds it back.
type Progress = Vec<(f64, Option<Binding>)>;

/// Everything at one corner.
struct Outcome {
    wires: Rc<Wires>,
    followed: Followed,
    resources: Vec<Resource<Key>>,
    /// Which of them each flow uses; made when somebody asks.
    of_flow: OnceCell<Vec<Vec<usize>>>,
    /// Where flows stand behind one another.
    queues: Vec<Queue<Line>>,
    shares: Vec<Share>,
    /// Whether the filling settled.
    settled: bool,
    /// Whether DLLPs were as many as the shares bring, when they were counted for the last time.
    dllps_settled: bool,
    /// Whether the waits of reads for one another settled; if not, they are counted as served in turn.
    in_order: bool,
    /// The filling, before what is beside it was looked at.
    filled: Filled,
    /// What was divided among the flows by themselves; of DMA it is in the shares of I/Os.
    divided: Vec<Share>,
    /// What each flow of I/Os comes to.
    charged: Vec<storage::Charged>,
    /// What all ask of shared buses that is not of the buses' own flows.
    on_buses: Vec<(u32, f64)>,
}

impl Outcome {
    /// What another filling, of the same flows on the same ways, may take from it.
    fn before(&self) -> Before<'_, Key, Line> {
        Before { resources: &self.resources, queues: &self.queues, filled: &self.filled }
    }

    /// What some flows use, in order.
    fn used_by(&self, members: &[usize]) -> impl Iterator<Item = &Resource<Key>> {
        let of_flow = self.of_flow.get_or_init(|| {
            let mut all = vec![Vec::new(); self.shares.len()];
            for (r, resource) in self.resources.iter().enumerate() {
                resource.uses.iter().for_each(|u| all[u.flow].push(r));
            }
            all
        });
        let mut used: Vec<usize> = members.iter().flat_map(|m| &of_flow[*m]).copied().collect();
        used.sort_unstable();
        used.dedup();
        used.into_iter().map(|r| &self.resources[r])
    }

    /// How far each program comes in the time that it would take alone, and what holds it back.
    fn progress(&self, plan: &Plan) -> Progress {
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
    outcome_like(plan, corner, jobs, wires_of(plan, corner, None), None)
}

/// The same with what the wires carry, and an outcome of the same flows on the same ways.
fn outcome_like(
    plan: &Plan,
    corner: Corner,
    jobs: &[infiniband::Demand],
    wires: Rc<Wires>,
    like: Option<&Outcome>,
) -> Outcome {
    let storage = &*plan.storage;
    let mut outcome = outcome_beside(plan, corner, jobs, &[], &wires, like);
    let (mut passes, mut settled) = (0, true);
    while let Some(wires) = dllps::counted(plan, corner, &outcome.wires, Some(&outcome.shares)) {
        if passes == dllps::PASSES {
            settled = false;
            break;
        }
        passes += 1;
        let wires = Rc::new(wires);
        // I/Os and programs have the DLLPs of their DMA in what they ask for.
        let plain = plan.storage.flows.is_empty() && jobs.is_empty();
        if plain && dllps::take(&mut outcome.resources, &wires, &outcome.shares) {
            outcome.wires = wires;
            break;
        }
        outcome = outcome_beside(plan, corner, jobs, &[], &wires, Some(&outcome));
    }
    let wires = outcome.wires.clone();
    if !storage::programs::matter(storage) {
        return Outcome { dllps_settled: settled, ..outcome };
    }
    // How long reads wait for what is programmed follows from the shares, and these from it.
    let rates = |o: &Outcome| o.divided[row::ios(plan)].iter().map(|s| s.rate).collect::<Vec<f64>>();
    let mut mean = rates(&outcome);
    for _ in 0..storage::programs::PASSES {
        let waits = storage::programs::waits(storage, corner, &mean);
        outcome = outcome_beside(plan, corner, jobs, &waits, &wires, Some(&outcome));
        mean.iter_mut().zip(rates(&outcome)).for_each(|(mean, rate)| *mean = (*mean + rate) / 2.0);
    }
    Outcome { dllps_settled: settled, ..outcome }
}

/// What wires carry at a corner, with the fewest DLLPs; of an outcome of the same plan typically, where packets are the
/// same.
fn wires_of(plan: &Plan, corner: Corner, typical: Option<&Outcome>) -> Rc<Wires> {
    match typical.filter(|_| alike(plan, corner)) {
        Some(typical) => dllps::counted(plan, corner, &typical.wires, None).map_or(typical.wires.clone(), Rc::new),
        None => Rc::new(wires(plan, corner)),
    }
}

/// `held` is how long reads of each flow of I/Os wait for programs.
fn outcome_beside(
    plan: &Plan,
    corner: Corner,
    jobs: &[infiniband::Demand],
    held: &[f64],
    wires: &Rc<Wires>,
    like: Option<&Outcome>,
) -> Outcome {
    let followed = like.map_or_else(Followed::default, |o| o.followed.clone());
    let mut resources = resources(plan, corner, wires, &followed);
    let charged = storage::charge(plan, corner, held, &mut resources);
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
    let queues = queues(plan, corner, wires, &resources);
    let fill_like = |resources: &[Resource<Key>], caps: &[f64], before: Option<Before<Key, Line>>| {
        let ports = |flow: usize, hops: usize| match plan.flows.get(flow) {
            Some(f) => path(f, hops),
            None if flow >= first => vec![3 << 40 | flow as u64],
            None => storage::way(plan, flow, hops),
        };
        fill(resources, &queues, caps, ports, before)
    };
    let mut of_all = fill_like(&resources, &caps, like.map(Outcome::before));
    let mut waits =
        Waits::new(plan, corner, &resources, storage::in_order::in_order(plan, corner, &charged, &resources));
    for _ in 0..completions::PASSES {
        let Some(charged) = waits.charged(plan, corner, &resources, &of_all.shares) else { break };
        let before = Before { resources: &resources, queues: &queues, filled: &of_all };
        of_all = fill_like(&charged, &caps, Some(before));
        resources = charged;
    }
    // Waits of completers that hang on one another may come to none that all of them have. Each round gives up some.
    let mut in_order = true;
    while let Some(left) = waits.without(&resources, &of_all.shares) {
        in_order = false;
        let before = Before { resources: &resources, queues: &queues, filled: &of_all };
        of_all = fill_like(&left, &caps, Some(before));
        resources = left;
    }
    let filled = |caps: &[f64]| {
        fill_like(&resources, caps, Some(Before { resources: &resources, queues: &queues, filled: &of_all }))
    };
    let Filled { mut shares, mut settled, .. } = of_all.clone();
    if let Some(beside) = storage::beside(plan, corner, &resources, &charged, &mut caps, &shares, filled) {
        (shares, settled) = (beside.shares, beside.settled);
    }
    let ios = storage::on_buses(plan, &charged, &shares);
    let held = infiniband::beside(plan, corner, jobs, &shares[first..], &ios);
    if held.iter().flatten().any(|(left, _)| *left < 1.0 - 1e-9) {
        for (cap, (left, _)) in caps[first..].iter_mut().zip(&held).filter_map(|(cap, h)| Some((cap, (*h)?))) {
            *cap = cap.min(left);
        }
        Filled { shares, settled, .. } = filled(&caps);
        for (job, (left, bus)) in held.iter().enumerate().filter_map(|(i, h)| Some((i, (*h)?))) {
            // Nothing of the filling binds it, but the flows of its bus.
            if shares[first + job].by.is_none() && left < 1.0 - 1e-9 {
                let key = Key::Cluster(ClusterElement::Bus(bus));
                resources.push(Resource { key, capacity: left, uses: Vec::new() });
                shares[first + job].by = Some(resources.len() - 1);
            }
        }
    }
    waits.name(&mut shares);
    let mut on_buses = storage::on_buses(plan, &charged, &shares);
    on_buses.extend(infiniband::on_buses(jobs, &shares[first..]).into_iter().map(|m| m.1));
    let divided = shares.clone();
    for (i, (flow, d)) in plan.storage.flows.iter().zip(&charged).enumerate() {
        let rate = shares[row::ios(plan).start + i].rate;
        if let Some(Dma::Pcie { read: reads, write: writes }) = plan.storage.adapter(flow).map(|a| a.dma) {
            shares[reads.0 as usize].rate += rate * d.read;
            shares[writes.0 as usize].rate += rate * d.write;
        }
        d.around.iter().for_each(|(flow, moved)| shares[*flow].rate += rate * moved);
    }
    for (job, demand) in jobs.iter().enumerate() {
        for (flow, rate) in demand.on_pcie() {
            shares[flow].rate += rate * divided[first + job].rate;
        }
    }
    let wires = wires.clone();
    let of_flow = OnceCell::new();
    let dllps_settled = true;
    Outcome {
        wires,
        followed,
        resources,
        of_flow,
        dllps_settled,
        queues,
        shares,
        settled,
        in_order,
        filled: of_all,
        divided,
        charged,
        on_buses,
    }
}

/// Programs beside the streams of an Ethernet: what they ask, and how far they come.
fn on_ethernet(plan: &Plan, jobs: &[infiniband::Demand], progress: &Progress) -> Vec<ethernet::Beside> {
    let one = |((demand, came), job): ((&infiniband::Demand, &(f64, _)), &JobFlow)| ethernet::Beside {
        wires: demand.on_ethernet().collect(),
        progress: came.0,
        class: plan.network.classes.iter().position(|c| u32::from(*c) == job.keys.lane.typical).unwrap_or(0),
    };
    jobs.iter().zip(progress).zip(&plan.cluster.jobs).map(one).collect()
}

/// Holds programs back to what Ethernet leaves them.
fn hold(progress: &mut Progress, on_ethernet: &[Option<(f64, Binding)>]) {
    for (came, held) in progress.iter_mut().zip(on_ethernet) {
        if let Some((left, by)) = held.as_ref().filter(|h| h.0 < came.0) {
            *came = (*left, Some(by.clone()));
        }
    }
}

/// Programs of which one ends after the other are answered in so many parts; of more, each has all others beside it to
/// its end.
const MOST_ENDINGS: usize = 16;

/// How far programs come on average until each of them ends. What one that has ended had in use is the others', but for
/// one that is repeated (`steady`), which never ends.
fn until_they_end(
    plan: &Plan,
    corner: Corner,
    ran: &[infiniband::Ran],
    jobs: &[infiniband::Demand],
    like: &Outcome,
    progress: &mut Progress,
) {
    let several = (2..=MOST_ENDINGS).contains(&jobs.len()) && progress.iter().any(|p| p.0 < 1.0 - 1e-9);
    if !several {
        return;
    }
    let times: Vec<f64> = ran.iter().map(|r| r.time(corner)).collect();
    let ends = |i: usize| !plan.cluster.jobs[i].keys.steady.typical && times[i] > 0.0;
    let (mut left, mut jobs, mut now) = (times.clone(), jobs.to_vec(), 0.0);
    let mut rates: Vec<f64> = progress.iter().map(|p| p.0).collect();
    let mut open: Vec<usize> = (0..jobs.len()).filter(|i| ends(*i)).collect();
    loop {
        let next = open.iter().map(|&i| left[i] / rates[i]).fold(f64::INFINITY, f64::min);
        if !next.is_finite() {
            return;
        }
        now += next;
        open.retain(|&i| {
            left[i] -= rates[i] * next;
            let goes_on = left[i] > 1e-9 * times[i];
            if !goes_on {
                (progress[i].0, jobs[i]) = ((times[i] / now).min(1.0), infiniband::Demand::default());
            }
            goes_on
        });
        let o = outcome_like(plan, corner, &jobs, wires_of(plan, corner, Some(like)), Some(like));
        let mut of_rest = o.progress(plan);
        let held = ethernet::held(plan, &on_ethernet(plan, &jobs, &of_rest));
        hold(&mut of_rest, &held);
        rates = of_rest.into_iter().map(|p| p.0).collect();
    }
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
    let (plan, ways) = infiniband::in_pieces(plan);
    let plan = &*plan;
    let demands = infiniband::demands(&infiniband::ran(plan, &ways), corner);
    let o = outcome(plan, corner, &demands);
    let mut all = loads_of(&o.resources, &o.divided);
    all.extend(ethernet::loads(plan, &on_ethernet(plan, &demands, &o.progress(plan))));
    all.extend(pci::loads(plan, corner, &o.on_buses));
    all
}

fn loads_of<K: std::fmt::Debug>(resources: &[Resource<K>], shares: &[Share]) -> Vec<Load> {
    let load = |r: &Resource<K>| Load { what: format!("{:?}", r.key), taken: r.load(shares), capacity: r.capacity };
    resources.iter().map(load).collect()
}

/// Answers a plan in closed form. Warnings found while planning go into the report.
pub fn estimate(plan: &Plan, diagnostics: &Diagnostics) -> Report {
    in_order(at_corners(plan, diagnostics))
}

/// The same with what the corners of the ranges give, whichever is more: to see whether a slower system is faster.
pub fn at_corners(plan: &Plan, diagnostics: &Diagnostics) -> Report {
    let flows_on_pcie = plan.flows.len();
    let (plan, ways) = infiniband::in_pieces(plan);
    let plan = &*plan;
    let ran = infiniband::ran(plan, &ways);
    let corners = [Corner::Slower, Corner::Typical, Corner::Faster];
    let jobs = corners.map(|c| infiniband::demands(&ran, c));
    let typical = outcome(plan, Corner::Typical, &jobs[1]);
    let [slower, faster] = [0, 2].map(|i| {
        let wires = wires_of(plan, corners[i], Some(&typical));
        outcome_like(plan, corners[i], &jobs[i], wires, Some(&typical))
    });
    let groups = plan.groups();
    // Each upgrade answers the whole plan once more, and nobody reads a thousand of them.
    let bound_by = |members: &[usize]| {
        let main = typically_bound(&typical.shares, members);
        typical.shares[main].by.map(|r| (typical.resources[r].key, main))
    };
    let upgraded: Vec<_> = groups.iter().take(64).map(|members| (&members[..], bound_by(members))).collect();
    let mut upgrades = pcie::upgrade::upgrades(plan, &typical, &upgraded, &jobs[1]).into_iter();
    let flows: Vec<FlowReport> = groups
        .iter()
        .map(|members| {
            pcie::report::flow_report(plan, members, [&slower, &typical, &faster], upgrades.next().flatten())
        })
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
    let mut ethernet = ethernet::answer(plan, &on_ethernet(plan, &jobs[1], &progress[1]));
    progress.iter_mut().for_each(|of_corner| hold(of_corner, &ethernet.held));
    let together: Vec<f64> = progress[1].iter().map(|p| p.0).collect();
    for ((of_corner, corner), jobs) in progress.iter_mut().zip(corners).zip(&jobs) {
        until_they_end(plan, corner, &ran, jobs, &typical, of_corner);
    }
    storage::transact::on_links(plan, &typical, &mut ethernet.links);
    let bus = pci::answer(plan, [&slower, &typical, &faster].map(|o| &o.on_buses[..]));
    let mut cluster = infiniband::answer(plan, &ran, progress, &together);
    storage::fabrics::on_links(plan, &typical, (&mut cluster.links, &mut ethernet.links));
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
            both(total, ethernet.total, streams > flows_on_pcie),
            bus.total,
            flows_on_buses > streams.max(flows_on_pcie),
        ),
        links: pcie::report::links(plan, [&slower, &typical, &faster])
            .into_iter()
            .chain(ethernet.links)
            .chain(storage::links(plan, &typical))
            .chain(bus.links)
            .chain(cluster.links)
            .collect(),
        switches: switches.into_iter().chain(ethernet.switches).collect(),
        warnings: diagnostics.warnings().into_iter().chain(cluster.warnings).collect(),
        not_modelled: not_modelled::of(plan),
        notes: (of_filling(&typical).into_iter())
            .chain(pcie::queues::notes(
                plan,
                (&typical.resources, &typical.queues),
                (&typical.divided, &typical.filled),
                |f| element(plan, &typical, f),
            ))
            .chain(ethernet.notes)
            .chain(storage::notes(plan, &typical))
            .chain(bus.notes)
            .collect(),
        simulation: None,
    }
}

/// The same with rates whose ends hold what is typical. A corner is the whole system at its slower or faster end, and
/// there a flow may lose what others gain: what it gets at that corner is no end of what it gets.
fn in_order(mut report: Report) -> Report {
    for flow in &mut report.flows {
        flow.share = flow.share.in_order();
        flow.goodput = flow.goodput.map(Ranged::in_order);
    }
    if let Some(total) = &mut report.total {
        total.share = total.share.in_order();
        total.both_ways = total.both_ways.in_order();
    }
    for link in &mut report.links {
        link.payload = link.payload.in_order();
    }
    report
}

/// What to say of the filling: that no shares agree with the DLLPs that they cause, or that turns are left out.
fn of_filling(outcome: &Outcome) -> Vec<Note> {
    let note =
        |mechanism: &str, text: &str| Note { element: "total".into(), mechanism: mechanism.into(), text: text.into() };
    let unsettled = (!outcome.settled).then(|| {
        let text =
            "shares did not converge with the DLLPs that they cause; they are scaled down to what every link carries";
        note("not-settled", text)
    });
    let still_more = (!outcome.dllps_settled).then(|| {
        let text = "Acks and UpdateFCs became more each time that they were counted at the shares that they leave: \
                    shares have those of the last count, and may be too high";
        note("dllps-not-settled", text)
    });
    let by_turns = (!outcome.in_order).then(|| {
        let text = "completers answer reads in the order of their requests, and drives I/Os in that in \
                    which they come; no waits for that were found here, since they hang on one another: \
                    shares count turns, though who keeps more in flight gets more";
        note("not-in-order", text)
    });
    let left_out = outcome.filled.left_out.then(|| {
        let text = "more flows than are counted go through a buffer whose other packets wait for a full link: shares \
                    leave out that they take turns with those, and may be too low or too high";
        note("turns-left-out", text)
    });
    unsettled.into_iter().chain(still_more).chain(by_turns).chain(left_out).collect()
}

fn ranged(at: impl Fn(Corner) -> f64) -> Ranged {
    Ranged { typical: at(Corner::Typical), slower: at(Corner::Slower), faster: at(Corner::Faster) }
}

/// The bound of one flow by itself, bits per second.
fn alone(outcome: &Outcome, flow: usize) -> f64 {
    bound(outcome.used_by(&[flow]), &[flow], |u| u.weight + u.first_least, |_, capacity| capacity, class) * 8.0
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
        framing_limit: bound_of_framing(plan, typical, &members) * 8.0,
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

/// The bound of some flows together at each corner, bits per second.
fn bounds(members: &[usize], [slower, typical, faster]: [&Outcome; 3]) -> Ranged {
    let weight = |u: &fill::Use| u.weight + u.first_least;
    let at = |o: &Outcome| bound(o.used_by(members), members, weight, |_, capacity| capacity, class) * 8.0;
    Ranged { typical: at(typical), slower: at(slower), faster: at(faster) }
}

/// Links one way lie side by side, and what is not a link; what takes a time of each I/O may take none.
fn class(key: Key) -> u32 {
    match key {
        Key::Wire(hop) if hop.direction == Direction::Up => 0,
        Key::Wire(_) => 1,
        Key::Storage(Part::Worker(_)) => MAY_BE_FREE,
        Key::Storage(Part::Processor(_)) => MAY_BE_FREE + 1,
        _ => 2,
    }
}

fn bound_of_framing(plan: &Plan, outcome: &Outcome, members: &[usize]) -> f64 {
    let wire = |key: Key| {
        matches!(
            key,
            Key::Wire(_)
                | Key::Storage(
                    Part::Transport(..) | Part::Clocks(_) | Part::Ethernet(_) | Part::Fabric(ClusterElement::Wire(_))
                )
        )
    };
    bound(
        outcome.used_by(members).filter(|r| wire(r.key)),
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
    match binds(plan, outcome, flow).map(|r| r.key) {
        Some(Key::Storage(part)) => storage::binding(plan, outcome, part, 0.0).element,
        Some(Key::Cluster(named)) => infiniband::words(plan, named).0,
        Some(key) => pcie::report::name(plan, key),
        None => match row::flow(plan, flow) {
            FlowRef { technology: Technology::Pcie, number } => format!("flows.{}", plan.flows[number].name),
            FlowRef { technology: Technology::Storage, number } => {
                format!("flows.{}", plan.storage.flows[number].group)
            }
            FlowRef { number, .. } => format!("flows.{}", plan.cluster.jobs[number].name),
        },
    }
}

/// The resource that binds a flow: of I/Os that wait for one another, what they wait for if it has no time left.
fn binds<'o>(plan: &Plan, outcome: &'o Outcome, flow: usize) -> Option<&'o Resource<Key>> {
    let by = &outcome.resources[outcome.shares[flow].by?];
    let full = match by.key {
        Key::Storage(Part::Outstanding(i)) => storage::full(plan, outcome, i as usize),
        _ => None,
    };
    full.or(Some(by))
}

/// What binds a flow, with the evidence.
fn binding(plan: &Plan, outcome: &Outcome, flow: usize) -> Binding {
    if let Some(q) = outcome.shares[flow].behind {
        let line = outcome.queues[q].key;
        let full = if matches!(line, Line::Tags(_)) { "all held by reads" } else { "its buffer is full of packets" };
        let evidence = format!("{full} that wait for {}", bottleneck(plan, outcome, flow));
        return Binding { element: element(plan, outcome, flow), resource: pcie::queues::words(line).into(), evidence };
    }
    let resource = binds(plan, outcome, flow);
    let capacity = resource.map_or(0.0, |r| r.capacity);
    let (what, evidence) = match resource.map(|r| r.key) {
        None => ("its own load".to_owned(), "the load is carried in full".to_owned()),
        Some(Key::Storage(part)) => return storage::binding(plan, outcome, part, capacity),
        Some(Key::Cluster(named)) => return infiniband::shared(plan, named),
        Some(key) => pcie::report::words(plan, key, capacity, flow),
    };
    Binding { element: element(plan, outcome, flow), resource: what, evidence }
}
