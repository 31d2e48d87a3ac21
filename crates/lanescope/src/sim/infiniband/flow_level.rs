//! Message programs at flow level: messages are flows, which share everything on their way max-min fair, and nothing is
//! followed packet by packet.
//!
//! What a message takes alone is known in closed form (`plan::infiniband::carriage`): how long it has each wire, each
//! engine of the two adapters, and everything on PCIe between these and their hosts' memory. All of that has one rate,
//! which changes only when another message comes or goes (`core/max_min`). So its bytes have gone when the slowest of
//! these has had its time at those rates, and it has arrived as much later as it would be alone. Messages between two
//! ports go in order, those of others at once, and each has as many packets as the others, since these take turns; but
//! one that comes to a port that is sending waits for what the port has read ahead of others.

use crate::mpi::{Post, What};
use crate::plan::Plan;
use crate::plan::ethernet::Network;
use crate::plan::infiniband::Cluster;
use crate::plan::infiniband::carriage::{Carriage, Engine, MessageCosts, SlotsOfByte};
use crate::result::{Idle, SlotCounts};
use crate::scenario::quantity::Corner;
use crate::sim::core::kernel::NEVER;
use crate::sim::core::max_min::MaxMin;
use crate::sim::core::moments::Moments;
use crate::sim::core::tally::{Carried, no_less};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// What messages take that are alike; times in fs.
#[derive(Debug)]
struct Alone {
    carriage: Carriage,
    /// For how long it has what it has longest; and when that begins, from when it is handed over: when its adapter
    /// asks for its data, or earlier, so that it ends when the message arrives.
    longest: f64,
    begins: u64,
}

impl Alone {
    /// When all its bytes have gone, from when it is handed over.
    fn ends(&self) -> u64 {
        self.begins.saturating_add(self.longest as u64)
    }

    /// When it arrives, and when its sender knows that it has left.
    fn completes(&self) -> [u64; 2] {
        [self.carriage.arrived, self.carriage.sent]
    }
}

/// A message that was handed over.
#[derive(Clone, Debug)]
struct Handed {
    alone: Arc<Alone>,
    pair: PairKey,
    /// The adapters at its ends, and its wires.
    ends: [u32; 2],
    path: Vec<u32>,
    bytes: u64,
    /// Whether those before it arrive before it, too: data that were arranged may come earlier.
    in_order: bool,
}

/// A message whose bytes are going.
#[derive(Clone, Debug)]
struct Going {
    message: u32,
    handed: Handed,
    /// The part of it that had gone at a moment, and the rate since, parts per fs.
    gone: f64,
    since: u64,
    rate: f64,
    /// Whether it has been planned when it arrives, and when its sender knows that it has left.
    planned: [bool; 2],
}

/// What is planned of each message.
const PLANNED: [Event; 2] = [Event::Arrived, Event::Left];

impl Going {
    /// The part of it that has gone.
    fn part(&self, now: u64) -> f64 {
        (self.gone + self.rate * (now - self.since) as f64).min(1.0)
    }

    /// The part of it that has gone when it arrives, or its sender knows that it has left, if that is before its end: a
    /// message may be in the receiver's adapter long before it is in his host's memory.
    fn early(&self, what: usize) -> Option<f64> {
        let alone = &self.handed.alone;
        let at = alone.completes()[what];
        (at < alone.ends()).then(|| at.saturating_sub(alone.begins) as f64 / alone.longest)
    }

    /// When such a part of it will have gone.
    fn reaches(&self, part: f64) -> u64 {
        if self.rate <= 0.0 {
            return NEVER;
        }
        let left = ((part - self.gone).max(0.0) / self.rate).round();
        // A message takes some time, and none takes longer than a clock counts.
        self.since.saturating_add((left as u64).max(1)).min(NEVER - 1)
    }

    /// When there is something to plan of it, or its end.
    fn next(&self) -> u64 {
        let early = (0..PLANNED.len()).filter(|w| !self.planned[*w]).filter_map(|w| self.early(w));
        self.reaches(early.fold(1.0, f64::min))
    }
}

/// Ports that messages go between, and on Ethernet the number of their queue pair: what an adapter sends in order.
type PairKey = (u32, u32, u32);

/// Messages between two ports, in order.
#[derive(Clone, Debug, Default)]
struct Pair {
    going: bool,
    /// And from when on each may begin.
    waiting: VecDeque<(u32, Handed, u64)>,
    /// When the last that keeps the order arrives.
    last: u64,
}

/// What decides what a message takes alone: its program, the classes of its adapters and of the wires there and back,
/// its bytes, and whether it is written where it belongs.
type Alike = (usize, [u32; 2], Vec<u32>, u64, bool);

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It comes to its port.
    Starts,
    /// Its first packet is behind what its port had read ahead of others.
    Begins,
    /// It has arrived, and the sender knows that it has left.
    Arrived,
    Left,
}

/// An event: when, a number for the order of equal moments, of which message, and what.
type Planned = Reverse<(u64, u64, u32, Event)>;

/// All messages of a plan's programs.
#[derive(Clone, Debug)]
pub(in crate::sim) struct FlowLevel {
    costs: Arc<dyn MessageCosts>,
    rates: MaxMin,
    /// The first of the engines, and of what is on PCIe, among all that has a capacity; wires come first.
    engines: u32,
    pcie: u32,
    /// Bytes per fs of each wire, of InfiniBand and then of Ethernet.
    speeds: Vec<f64>,
    /// Wires with the same number are alike.
    alike: Vec<u32>,
    known: HashMap<Alike, Arc<Alone>>,
    handed: Vec<Option<Handed>>,
    pairs: HashMap<PairKey, Pair>,
    /// By number of their flows.
    going: Vec<Option<Going>>,
    /// When flows end.
    moments: Moments,
    events: BinaryHeap<Planned>,
    order: u64,
    /// Pairs of ports that nothing goes between, and when the last message has arrived: then each may be forgotten.
    idle: BinaryHeap<Reverse<(u64, PairKey)>>,
    /// By endpoint: flows of what it is sending, and bytes that it reads ahead.
    ports: Vec<Vec<u32>>,
    ahead: Vec<u64>,
    pub(in crate::sim) begun: u64,
    carried: Vec<Carried>,
    /// Bytes that each flow of PCIe has moved.
    moved: Vec<f64>,
    /// What [`FlowLevel::ledgers`] gave the last time.
    ledgers: [Vec<SlotCounts>; 2],
    /// Kept between calls for its room alone.
    uses: Vec<(u32, f64)>,
}

impl FlowLevel {
    /// For a plan at flow level with programs.
    pub(in crate::sim) fn build(plan: &Plan) -> Option<FlowLevel> {
        let (cluster, network) = (&plan.cluster, &plan.network);
        let costs = Arc::clone(cluster.costs.as_ref()?);
        let speed = |wire: u32| cluster.link(wire).rate.typical.data_rate().bytes() * 1e-15;
        let infiniband = (0..2 * cluster.links.len() as u32).map(speed);
        let frames = (0..2 * network.links.len() as u32).map(|w| 1.0 / network.link(w).rate.typical.byte_fs() as f64);
        let speeds: Vec<f64> = infiniband.chain(frames).collect();
        let engines = speeds.len() as u32;
        let pcie = engines + (Engine::ALL.len() * cluster.adapters.len()) as u32;
        let all = pcie + costs.on_pcie().resources;
        Some(FlowLevel {
            rates: MaxMin::new((0..all).map(|_| 1.0)),
            engines,
            pcie,
            alike: wires_alike(plan),
            known: HashMap::new(),
            handed: Vec::new(),
            pairs: HashMap::new(),
            going: Vec::new(),
            moments: Moments::default(),
            events: BinaryHeap::new(),
            order: 0,
            idle: BinaryHeap::new(),
            ports: vec![Vec::new(); cluster.endpoints.len()],
            ahead: (0..cluster.endpoints.len() as u32)
                .map(|e| cluster.adapter_of(e).keys.read_ahead.typical.0)
                .collect(),
            begun: 0,
            carried: vec![Carried::default(); speeds.len()],
            moved: vec![0.0; costs.on_pcie().takes.len()],
            ledgers: [Vec::new(), Vec::new()],
            uses: Vec::new(),
            speeds,
            costs,
        })
    }

    /// What happens next.
    pub(super) fn next(&self) -> u64 {
        self.moments.first().0.min(self.events.peek().map_or(NEVER, |e| e.0.0))
    }

    /// A rank has handed a message over, or will: it is known what it takes.
    pub(super) fn hand_over(
        &mut self,
        (plan, network): (&Cluster, &Network),
        job: usize,
        post: &Post,
        message: u32,
        connection: u32,
    ) {
        let endpoints = [post.from, post.to].map(|rank| plan.jobs[job].ranks[rank as usize]);
        let ends = endpoints.map(|e| plan.endpoints[e as usize].adapter);
        let in_order = post.what != What::Data;
        let wires = |ranks| plan.wires(network, &plan.jobs[job], ranks, connection);
        let (path, back) = (wires([post.from, post.to]), wires([post.to, post.from]));
        let wires = path.iter().chain(&back).map(|w| self.alike[*w as usize]).collect();
        let alike = (job, ends.map(|a| self.costs.on_pcie().alike[a as usize]), wires, post.bytes, in_order);
        let alone = match self.known.get(&alike) {
            Some(alone) => Arc::clone(alone),
            None => {
                let carriage = self.costs.alone(job, post, connection);
                let mut uses = Vec::new();
                self.uses(&carriage, &path, ends, &mut uses);
                let longest = uses.iter().map(|u| u.1).fold(0.0, f64::max);
                let begins = carriage.taken_up.min(carriage.arrived.saturating_sub(longest as u64));
                let alone = Arc::new(Alone { carriage, longest, begins });
                self.known.insert(alike, Arc::clone(&alone));
                alone
            }
        };
        let pair = (endpoints[0], endpoints[1], connection);
        let i = message as usize;
        if i >= self.handed.len() {
            self.handed.resize(i + 1, None);
        }
        self.handed[i] = Some(Handed { alone, pair, ends, path, bytes: post.bytes, in_order });
    }

    /// It is time for a message that was handed over.
    pub(super) fn posted(&mut self, message: u32, now: u64) {
        let Some(handed) = self.handed[message as usize].take() else { return };
        let pair = self.pairs.entry(handed.pair).or_default();
        let at = now.saturating_add(handed.alone.begins);
        if std::mem::replace(&mut pair.going, true) {
            pair.waiting.push_back((message, handed, at));
            return;
        }
        self.handed[message as usize] = Some(handed);
        self.plan_at(at, message, Event::Starts);
    }

    fn plan_at(&mut self, at: u64, message: u32, event: Event) {
        // What is beyond all time is no standstill.
        self.events.push(Reverse((at.min(NEVER - 1), self.order, message, event)));
        self.order += 1;
    }

    /// How long what a port has read ahead of others takes to leave it, fs: as fast as it goes alone, into the buffers
    /// of the next switch.
    fn read_ahead(&self, port: u32, now: u64) -> u64 {
        let going = self.ports[port as usize].iter().filter_map(|flow| self.going[*flow as usize].as_ref());
        let (mut left, mut pace) = (0.0, 0.0_f64);
        for g in going {
            let bytes = g.handed.bytes as f64;
            left += bytes * (1.0 - g.part(now));
            pace = pace.max(bytes / g.handed.alone.longest.max(1.0));
        }
        if pace > 0.0 { (left.min(self.ahead[port as usize] as f64) / pace) as u64 } else { 0 }
    }

    /// What a message has for how long, each once.
    fn uses(&self, carriage: &Carriage, path: &[u32], ends: [u32; 2], uses: &mut Vec<(u32, f64)>) {
        uses.clear();
        uses.extend(path.iter().zip(&carriage.wires).map(|(wire, [_, paced])| (*wire, *paced)));
        let on_pcie = self.costs.on_pcie();
        for ((adapter, engines), moved) in ends.into_iter().zip(&carriage.engines).zip(&carriage.moved) {
            let first = self.engines + adapter * Engine::ALL.len() as u32;
            uses.extend((first..).zip(engines).filter(|(_, time)| **time > 0.0).map(|(engine, time)| (engine, *time)));
            for (flow, bytes) in on_pcie.moved_by(adapter, moved) {
                uses.extend(on_pcie.takes[flow as usize].iter().map(|(r, takes)| (self.pcie + r, takes * bytes)));
            }
        }
        uses.sort_unstable_by_key(|u| u.0);
        uses.dedup_by(|later, first| {
            let same = later.0 == first.0;
            first.1 += if same { later.1 } else { 0.0 };
            same
        });
    }

    fn begin(&mut self, message: u32, handed: Handed, now: u64) {
        let mut uses = std::mem::take(&mut self.uses);
        self.uses(&handed.alone.carriage, &handed.path, handed.ends, &mut uses);
        let packets = handed.alone.carriage.packets as f64;
        let flow = self.rates.add(uses.iter().map(|(resource, time)| (*resource, time / packets)));
        self.uses = uses;
        self.begun += 1;
        if flow as usize >= self.going.len() {
            self.going.resize(flow as usize + 1, None);
        }
        self.ports[handed.pair.0 as usize].push(flow);
        self.going[flow as usize] =
            Some(Going { message, handed, gone: 0.0, since: now, rate: 0.0, planned: [false; 2] });
    }

    /// The next message of which its rank is to be told by now, and whether it has arrived or only left.
    pub(super) fn pop(&mut self, now: u64) -> Option<(u32, bool)> {
        while self.moments.first().0 <= now {
            self.goes_on(self.moments.first().1, now);
        }
        while let Some(Reverse((_, key))) = self.idle.peek().copied().filter(|i| i.0.0 < now) {
            self.idle.pop();
            if self.pairs.get(&key).is_some_and(|pair| !pair.going && pair.last < now) {
                self.pairs.remove(&key);
            }
        }
        while let Some(Reverse((_, _, message, event))) = self.events.peek().copied().filter(|e| e.0.0 <= now) {
            self.events.pop();
            match event {
                Event::Left => return Some((message, false)),
                Event::Arrived => return Some((message, true)),
                Event::Starts | Event::Begins => {
                    let Some(handed) = self.handed[message as usize].take() else { continue };
                    let wait = if event == Event::Begins { 0 } else { self.read_ahead(handed.pair.0, now) };
                    if wait == 0 {
                        self.begin(message, handed, now);
                    } else {
                        self.handed[message as usize] = Some(handed);
                        self.plan_at(now.saturating_add(wait), message, Event::Begins);
                    }
                }
            }
        }
        None
    }

    /// A message is so far that it may be said when it arrives or has left; or all its bytes have gone, and whoever
    /// waits behind it is next.
    fn goes_on(&mut self, flow: u32, now: u64) {
        let Some(g) = &mut self.going[flow as usize] else { return self.moments.set(flow, NEVER) };
        let gone = g.reaches(1.0) <= now;
        let (message, planned) = (g.message, g.planned);
        let due = [0, 1].map(|w| !planned[w] && (gone || g.early(w).is_some_and(|part| g.reaches(part) <= now)));
        let [arrived, left] =
            g.handed.alone.completes().map(|at| now.saturating_add(at.saturating_sub(g.handed.alone.ends())));
        g.planned = [planned[0] || due[0], planned[1] || due[1]];
        if due[0] {
            let pair = self.pairs.entry(g.handed.pair).or_default();
            // Those of one queue pair arrive in order, but for data that were arranged.
            let at = if g.handed.in_order { arrived.max(pair.last) } else { arrived };
            pair.last = if g.handed.in_order { at } else { pair.last };
            self.plan_at(at, message, Event::Arrived);
        }
        if due[1] {
            self.plan_at(left, message, Event::Left);
        }
        match &self.going[flow as usize] {
            Some(g) if !gone => self.moments.set(flow, g.next()),
            _ => self.finish(flow, now),
        }
    }

    /// All bytes of a message have gone.
    fn finish(&mut self, flow: u32, now: u64) {
        self.moments.set(flow, NEVER);
        let Some(g) = self.going[flow as usize].take() else { return };
        self.rates.remove(flow);
        let port = &mut self.ports[g.handed.pair.0 as usize];
        port.retain(|f| *f != flow);
        count(&mut self.carried, &mut self.moved, &*self.costs, &self.speeds, &g.handed, 1.0);
        let pair = self.pairs.entry(g.handed.pair).or_default();
        match pair.waiting.pop_front() {
            // It has its turn at the port from those before it.
            Some((message, handed, at)) if at <= now => self.begin(message, handed, now),
            Some((message, handed, at)) => {
                self.handed[message as usize] = Some(handed);
                self.plan_at(at, message, Event::Starts);
            }
            None => {
                pair.going = false;
                self.idle.push(Reverse((pair.last.max(now), g.handed.pair)));
            }
        }
    }

    /// Messages have come or gone: rates are shared anew.
    pub(super) fn share(&mut self, now: u64) {
        let FlowLevel { rates, going, moments, .. } = self;
        rates.settle(|flow, rate, _| {
            let Some(g) = going[flow as usize].as_mut() else { return };
            g.gone = g.part(now);
            (g.since, g.rate) = (now, rate / g.handed.alone.carriage.packets as f64);
            moments.set(flow, g.next());
        });
    }

    /// What each wire has carried up to a moment, and what each flow of PCIe has moved.
    fn up_to(&self, now: u64) -> (Vec<Carried>, Vec<f64>) {
        let (mut carried, mut moved) = (self.carried.clone(), self.moved.clone());
        for g in self.going.iter().flatten() {
            count(&mut carried, &mut moved, &*self.costs, &self.speeds, &g.handed, g.part(now));
        }
        (carried, moved)
    }

    /// The ledgers of all wires at a moment: of InfiniBand and of PCIe; and what those of Ethernet have carried.
    pub(in crate::sim) fn ledgers(&mut self, plan: &Plan, now: u64) -> ([Vec<SlotCounts>; 2], Vec<Carried>) {
        let (mut carried, moved) = self.up_to(now);
        let frames = carried.split_off(2 * plan.cluster.links.len());
        let infiniband = carried.iter().zip(&self.speeds).map(|(c, speed)| {
            let counts = SlotCounts {
                payload: c.payload as u64,
                framing: (c.bytes - c.payload).max(0.0) as u64,
                tlps: c.packets.round() as u64,
                data_tlps: c.packets.round() as u64,
                ..SlotCounts::default()
            };
            with_idle(counts, now as f64 * speed)
        });
        let mut sums = vec![SlotsOfByte::default(); 2 * plan.links.len()];
        for (slots, bytes) in self.costs.on_pcie().slots.iter().zip(&moved).filter(|(_, bytes)| **bytes > 0.0) {
            slots.iter().for_each(|(wire, s)| sums[*wire as usize].add(s, *bytes));
        }
        let pcie = sums.iter().zip(plan.directions()).map(|(s, hop)| {
            let link = plan.link(hop.link);
            let slots = now as f64 * 1e-15 * link.speed.typical.coded().bytes();
            let counts = SlotCounts {
                payload: s.payload as u64,
                framing: s.framing as u64,
                requests: s.requests as u64,
                acks: s.acks as u64,
                update_fc: s.update_fc as u64,
                ordered_sets: (slots * (1.0 - link.usable(Corner::Typical))) as u64,
                tlps: s.tlps as u64,
                data_tlps: s.data_tlps as u64,
                ..SlotCounts::default()
            };
            with_idle(counts, slots)
        });
        let all: [Vec<SlotCounts>; 2] = [infiniband.collect(), pcie.collect()];
        for (last, now) in self.ledgers.iter_mut().zip(all) {
            last.resize(now.len(), SlotCounts::default());
            last.iter_mut().zip(now).for_each(|(last, now)| *last = no_less(now, last));
        }
        (self.ledgers.clone(), frames)
    }
}

/// Adds such a part of a message to what wires have carried, and what flows of PCIe have moved.
fn count(
    carried: &mut [Carried],
    moved: &mut [f64],
    costs: &dyn MessageCosts,
    speeds: &[f64],
    handed: &Handed,
    part: f64,
) {
    let c = &handed.alone.carriage;
    for (wire, [time, _]) in handed.path.iter().zip(&c.wires) {
        let sum = &mut carried[*wire as usize];
        sum.bytes += part * time * speeds[*wire as usize];
        sum.payload += part * handed.bytes as f64;
        sum.packets += part * c.packets as f64;
    }
    for (adapter, bytes) in handed.ends.iter().zip(&c.moved) {
        for (flow, bytes) in costs.on_pcie().moved_by(*adapter, bytes) {
            moved[flow as usize] += part * bytes;
        }
    }
}

/// A ledger with what is left of so many slots.
fn with_idle(mut counts: SlotCounts, slots: f64) -> SlotCounts {
    counts.idle[Idle::NothingToSend as usize] = (slots - counts.busy() as f64).max(0.0) as u64;
    counts
}

/// Numbers for what is alike.
fn numbered(all: impl Iterator<Item = String>) -> Vec<u32> {
    let mut known = HashMap::new();
    all.map(|text| {
        let next = known.len() as u32;
        *known.entry(text).or_insert(next)
    })
    .collect()
}

/// Wires that are alike: speed, delay, and the buffer or the switch that they lead to.
fn wires_alike(plan: &Plan) -> Vec<u32> {
    let (cluster, network) = (&plan.cluster, &plan.network);
    let infiniband = (0..2 * cluster.links.len() as u32).map(|wire| {
        let link = cluster.link(wire);
        let to = match cluster.switch_of(cluster.arrives(wire)) {
            Some(s) => format!("{:?}", cluster.switches[s].keys),
            None => String::new(),
        };
        format!("{} {:?} {to}", link.rate.typical, link.delay.typical)
    });
    let frames = (0..2 * network.links.len() as u32).map(|wire| {
        let to = format!("{:?}", network.node(network.arrives(wire)).keys);
        format!("{} {:?} {to}", network.link(wire).rate.typical, network.delay(wire, Corner::Typical))
    });
    numbered(infiniband.chain(frames))
}
