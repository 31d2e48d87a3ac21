//! How messages are carried in closed form: every message by itself over an otherwise known system, with a timeline for
//! each thing that carries one packet at a time.
//!
//! A message is a train of packets through stages: the sender's engine and doorbell, its host memory, the wires on its
//! way, the receiver's engine, its host memory. Each stage takes the first packet when it is there, and the last full
//! one and the last no earlier than they have come: T = sum of what the first needs + what the slowest stage needs for
//! the rest. Trains that meet take turns, so a stage delays the end of each by all that it has to carry until then. A
//! shared bus is one timeline for both of its directions; that is where a message that goes meets one that comes.
//! Before a buffer of InfiniBand packets wait for credit, and find what the messages before have left of it (`credit`).
//! Messages of one queue pair go one after the other: a clear-to-send behind data waits for the last of these.

use crate::estimate::core::elements::{ClusterElement, Key};
use crate::estimate::core::fill::Resource;
use crate::estimate::infiniband::credit::{Window, untold_behind};
use crate::estimate::infiniband::hop::{Hop, Place};
use crate::estimate::infiniband::pieces::{BELL, READ, WRITE, Way, Ways};
use crate::estimate::infiniband::timeline::Timeline;
use crate::estimate::pci;
use crate::estimate::pcie::latency::Unloaded;
use crate::estimate::{binding, outcome};
use crate::mpi::{Post, What};
use crate::plan::infiniband::carriage::{Carriage, Engine, PIECES, WAYS};
use crate::plan::infiniband::{Adapter, Cluster, JobFlow, blocks};
use crate::plan::{Dma, DmaPath, Flow, Plan};
use crate::protocol::ethernet;
use crate::protocol::infiniband::{
    INFINIBAND, LRH, Operation, Packet, Position, ROCE, START, Service, blocks_told, buffer_blocks,
};
use crate::result::Binding;
use crate::scenario::NodeKeys;
use crate::scenario::keys::Forwarding;
use crate::scenario::quantity::Corner;
use std::collections::HashMap;
use std::sync::Arc;

/// Femtoseconds in a second.
const SECOND: f64 = 1e15;

/// What one transfer over a host's bus takes, fs: by itself, of the timeline that it shares (and while the other
/// direction has it, too), and of what follows it.
#[derive(Clone, Copy, Debug, Default)]
struct Leg {
    alone: f64,
    shared: f64,
    crowded: f64,
    next: f64,
}

/// Where a stage is put down: what it shares with others, its own pace, and the pace of the direction that it shares it
/// with; all one where it shares nothing.
#[derive(Clone, Copy, Debug)]
struct Track {
    shared: usize,
    own: usize,
    against: usize,
}

impl Track {
    fn alone(timeline: usize) -> Track {
        Track { shared: timeline, own: timeline, against: timeline }
    }
}

/// An adapter, as messages meet it; times in fs.
#[derive(Clone, Debug)]
struct Side {
    /// Adapters of one class are alike.
    class: u32,
    /// Timelines: of reads and writes what they share (the bus, or each by itself on PCIe) and the adapter's own pace;
    /// the engine's work requests, its packets out and in.
    read: Track,
    write: Track,
    work: usize,
    out: usize,
    inward: usize,
    hosted: bool,
}

/// A receive buffer, in blocks of credit.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    whole: u64,
    /// So much is free again before the sender is told.
    told: u64,
    /// What is free, of which the sender is not told.
    untold: u64,
    /// The last acknowledgement that is not counted in `untold` yet: when it is sent, and when it leaves the buffer.
    ack: Option<(f64, f64)>,
}

impl Buffer {
    /// What is untold behind the last acknowledgement, too.
    fn acknowledged(&self) -> u64 {
        let acks = u64::from(self.ack.is_some());
        untold_behind(self.untold, self.told, acks, Packet::ack(Service::Rc).blocks(INFINIBAND))
    }

    /// The one at the end of a wire; the largest packet of all that use it is of so many blocks.
    fn of(cluster: &Cluster, wire: u32, corner: Corner, largest: u64) -> Buffer {
        let arrives = cluster.arrives(wire);
        let bytes = match cluster.switch_of(arrives) {
            Some(s) => cluster.switches[s].keys.buffer.at(corner).0,
            None => cluster.adapter_of(arrives.0).keys.receive_buffer.at(corner).0,
        };
        let whole = buffer_blocks(bytes);
        Buffer { whole, told: blocks_told(whole, largest), untold: 0, ack: None }
    }
}

/// All that carries messages, with the time from which each is free.
#[derive(Debug)]
pub(in crate::estimate) struct Carrier {
    plan: Arc<Plan>,
    corner: Corner,
    sides: Vec<Side>,
    free: Vec<Timeline>,
    /// The same of packets that are messages by themselves.
    lone: Vec<Timeline>,
    /// At the end of each wire of InfiniBand.
    buffers: Vec<Buffer>,
    /// Blocks of the largest packet of all that use the wires.
    largest: u64,
    /// How long each has been in use, fs; of wires without acknowledgements.
    pub(in crate::estimate) used: Vec<f64>,
    /// When its adapter took the last message up: it asks for data from then on.
    taken_up: f64,
    /// For how long messages have had each wire and the buffer behind it, whichever takes longer: fs.
    paced: Vec<f64>,
    /// Of each wire of InfiniBand, then of Ethernet: packets that it has carried, and their payload.
    pub(in crate::estimate) carried: Vec<(f64, f64)>,
    /// What a person calls each.
    pub(in crate::estimate) names: Vec<ClusterElement>,
    legs: HashMap<(u32, bool, u64), Leg>,
    bells: HashMap<(u32, u64), f64>,
    /// By class, of its reads and of its writes over PCIe: how long a byte of each of their flows takes of everything
    /// on the way, fs.
    takes: Vec<[Vec<[f64; 3]>; 2]>,
    ways: Arc<Ways>,
    members: Vec<u32>,
    /// By adapter: bytes that it has read and written by DMA, and that its host has written to it; over PCIe of each
    /// flow, over a bus all with the first.
    pub(in crate::estimate) moved: Vec<[[f64; 3]; 3]>,
    hops: Vec<Hop>,
    /// When the last of the messages in order has come, by its ends and queue pair. A shorter packet could
    /// overtake the one before it on a timeline, in a pause that had no room for that.
    came: HashMap<([u32; 2], u32), f64>,
    /// When the last packet of the last message has gone onto the first wire, by its ends and queue pair: an adapter
    /// deals with the work requests of a queue pair in order (IBA 9.5), so the next one has no packet before that.
    left: HashMap<([u32; 2], u32), f64>,
    /// Messages that ranks with several queue pairs have handed over, by their numbers: data that were arranged, and
    /// all else.
    given: HashMap<([u32; 2], bool), u32>,
}

impl Carrier {
    pub(in crate::estimate) fn new(plan: Arc<Plan>, ways: Arc<Ways>, corner: Corner) -> Carrier {
        let cluster = Arc::clone(&plan.cluster);
        let mut names: Vec<ClusterElement> = (0..2 * cluster.links.len() as u32).map(ClusterElement::Wire).collect();
        names.extend((0..2 * plan.network.links.len() as u32).map(ClusterElement::Frame));
        let buses = names.len();
        names.extend((0..plan.buses.buses.len() as u32).map(ClusterElement::Bus));
        let (mut classes, mut members) = (HashMap::new(), Vec::new());
        let sides = (cluster.adapters.iter().zip(0u32..))
            .map(|(adapter, i)| {
                let class =
                    *classes.entry((ways[i as usize].is_some(), class_of(&plan, adapter))).or_insert_with(|| {
                        members.push(i);
                        members.len() as u32 - 1
                    });
                let mut timeline = |name: ClusterElement| {
                    names.push(name);
                    names.len() - 1
                };
                let (read, write) = match adapter.host.as_ref().map(|h| h.dma) {
                    Some(Dma::Bus { read, .. }) => {
                        let device = plan.buses.flows[read as usize].device;
                        let bus = buses + plan.buses.devices[device as usize].bus as usize;
                        let (read, write) = (timeline(ClusterElement::Reads(i)), timeline(ClusterElement::Writes(i)));
                        let track = |own, against| Track { shared: bus, own, against };
                        (track(read, write), track(write, read))
                    }
                    Some(Dma::Pcie { .. }) => (
                        Track::alone(timeline(ClusterElement::Reads(i))),
                        Track::alone(timeline(ClusterElement::Writes(i))),
                    ),
                    None => (Track::alone(0), Track::alone(0)),
                };
                let (work, out, inward) = (
                    timeline(ClusterElement::Work(i)),
                    timeline(ClusterElement::Packets(i)),
                    timeline(ClusterElement::Packets(i)),
                );
                Side { class, read, write, work, out, inward, hosted: adapter.host.is_some() }
            })
            .collect();
        let largest = cluster.largest_payload().map_or(1, blocks);
        let mut carrier = Carrier {
            plan,
            corner,
            sides,
            free: vec![Timeline::default(); names.len()],
            lone: vec![Timeline::default(); names.len()],
            buffers: (0..2 * cluster.links.len() as u32).map(|w| Buffer::of(&cluster, w, corner, largest)).collect(),
            largest,
            used: vec![0.0; names.len()],
            taken_up: 0.0,
            paced: vec![0.0; buses],
            carried: vec![(0.0, 0.0); buses],
            names,
            legs: HashMap::new(),
            bells: HashMap::new(),
            takes: Vec::new(),
            ways,
            members,
            moved: vec![[[0.0; 3]; 3]; cluster.adapters.len()],
            hops: Vec::new(),
            came: HashMap::new(),
            left: HashMap::new(),
            given: HashMap::new(),
        };
        carrier.takes = carrier.takes();
        carrier
    }

    /// What the transfers of one adapter of each class take of everything on their way.
    fn takes(&self) -> Vec<[Vec<[f64; 3]>; 2]> {
        let way = |a: &u32| self.ways[*a as usize];
        if !self.members.iter().any(|a| way(a).is_some()) {
            return vec![[Vec::new(), Vec::new()]; self.members.len()];
        }
        let resources = outcome(&self.plan, self.corner, &[]).resources;
        let of = |a: &u32| match way(a) {
            Some(ways) => [ways[READ], ways[WRITE]].map(|way| resources.iter().map(|r| by_byte(r, way)).collect()),
            None => [Vec::new(), Vec::new()],
        };
        let mut takes: Vec<[Vec<[f64; 3]>; 2]> = self.members.iter().map(of).collect();
        takes.iter_mut().flatten().for_each(|list| list.retain(|t| *t != [0.0; 3]));
        takes
    }

    /// The bytes of a transfer that count with each flow of an adapter's way; of one on a bus all with the first.
    fn split(&self, adapter: u32, way: usize, bytes: u64) -> [f64; 3] {
        self.ways[adapter as usize].map_or([bytes as f64, 0.0, 0.0], |ways| ways[way].split(bytes))
    }

    /// Counts what an adapter moves on one of its ways, so many times.
    fn moves(&mut self, adapter: u32, way: usize, bytes: u64, times: f64) {
        let split = self.split(adapter, way, bytes);
        let moved = &mut self.moved[adapter as usize][way];
        moved.iter_mut().zip(split).for_each(|(sum, bytes)| *sum += times * bytes);
    }

    fn adapter(&self, i: u32) -> &Adapter {
        &self.plan.cluster.adapters[i as usize]
    }

    /// One DMA of an adapter.
    fn leg(&mut self, adapter: u32, read: bool, bytes: u64) -> Leg {
        let class = self.sides[adapter as usize].class;
        if let Some(leg) = self.legs.get(&(class, read, bytes)) {
            return *leg;
        }
        let a = self.adapter(adapter);
        let leg = match a.host.as_ref().map(|h| h.dma) {
            _ if bytes == 0 => Leg::default(),
            None => Leg::default(),
            Some(Dma::Bus { read: reads, write }) => {
                let t = pci::transfer(&self.plan.buses, if read { reads } else { write }, self.corner, bytes);
                let [alone, shared, crowded, next] = [t.alone, t.bus, t.crowded, t.next].map(|s| s * SECOND);
                Leg { alone, shared, crowded, next }
            }
            Some(Dma::Pcie { read: reads, write }) => {
                let flow = &self.plan.flows[if read { reads } else { write }.0 as usize];
                let way = usize::from(!read);
                let split = self.split(adapter, way, bytes);
                let next = self.takes[class as usize][way].iter().map(|takes| dot(split, *takes)).fold(0.0, f64::max);
                let (alone, next) = if read {
                    let request = self.plan.request_size(self.corner, flow);
                    let (request, unloaded) = (request.min(bytes), Unloaded::new(&self.plan, self.corner));
                    let alone = unloaded.read(flow, bytes, request).last;
                    let pause = a.keys.packet_time.at(self.corner);
                    let answered = unloaded.answered(flow, bytes, request, (alone, pause.ns()));
                    (alone, self.reads_ahead(a, bytes, answered * 1e6, next))
                } else {
                    (Unloaded::new(&self.plan, self.corner).write(flow, bytes), next)
                };
                Leg { alone: alone * 1e6, shared: next, crowded: next, next }
            }
        };
        self.legs.insert((class, read, bytes), leg);
        leg
    }

    /// How far apart an adapter's reads of packets' data are at least, fs: as many as are read ahead, at least one,
    /// cover the way there and back, or do not.
    fn reads_ahead(&self, a: &Adapter, bytes: u64, alone: f64, next: f64) -> f64 {
        let ahead = (a.keys.read_ahead.at(self.corner).0 / bytes.max(1)).max(1) as f64;
        let engine = a.keys.packet_time.at(self.corner).fs() as f64;
        if bytes == 0 { next } else { next.max((alone + engine) / ahead) }
    }

    /// A processor's write to an adapter, fs. An empty message without a descriptor still rings with a byte.
    fn bell(&mut self, adapter: u32, bytes: u64) -> f64 {
        let bytes = bytes.max(1);
        let class = self.sides[adapter as usize].class;
        if let Some(time) = self.bells.get(&(class, bytes)) {
            return *time;
        }
        let time = match self.adapter(adapter).host.as_ref().map(|h| h.doorbell) {
            None => 0.0,
            Some(DmaPath::Pcie(flow)) => {
                Unloaded::new(&self.plan, self.corner).write(&self.plan.flows[flow.0 as usize], bytes) * 1e6
            }
            Some(DmaPath::Bus(flow)) => pci::programmed(&self.plan.buses, flow, self.corner, bytes) * SECOND,
        };
        self.bells.insert((class, bytes), time);
        time
    }

    /// The wires from one rank's endpoint to another's, into `hops`.
    fn way(&mut self, job: &JobFlow, ranks: [u32; 2], connection: u32) {
        self.hops.clear();
        let (cluster, network, corner) = (&self.plan.cluster, &self.plan.network, self.corner);
        let [from, to] = ranks.map(|r| job.ranks[r as usize]);
        if let [Some(a), Some(b)] = [from, to].map(|e| cluster.endpoints[e as usize].station) {
            let first = 2 * cluster.links.len();
            for wire in network.along([a, b], cluster.way_of(network, job, ranks, connection)) {
                let (head, latency) = match &network.node(network.arrives(wire)).keys {
                    NodeKeys::Station(_) => (None, 0.0),
                    NodeKeys::Switch(k) => {
                        let latency = k.latency.at(corner).fs() as f64;
                        match k.forwarding.typical {
                            Forwarding::CutThrough => (Some((ethernet::PREAMBLE + ethernet::HEADER) as f64), latency),
                            Forwarding::StoreAndForward => (None, latency),
                        }
                    }
                };
                let byte = network.link(wire).rate.typical.byte_fs() as f64;
                let delay = network.delay(wire, corner).fs() as f64;
                let gap = ethernet::GAP as f64;
                self.hops.push(Hop { timeline: first + wire as usize, byte, delay, head, latency, gap, credit: None });
            }
            return;
        }
        for wire in cluster.path(from, to) {
            let arrives = cluster.arrives(wire);
            let (head, latency) = match cluster.switch_of(arrives) {
                Some(s) => (Some((START + LRH) as f64), cluster.switches[s].keys.latency.at(corner).fs() as f64),
                None => (None, 0.0),
            };
            let byte = SECOND / cluster.link(wire).rate.typical.data_rate().bytes();
            let delay = cluster.delay(wire, corner).fs() as f64;
            let credit = Some(self.buffers[wire as usize].whole);
            self.hops.push(Hop { timeline: wire as usize, byte, delay, head, latency, gap: 0.0, credit });
        }
    }

    /// Carries a message: when it is in the target's memory with its completion, and when the sender's completion is in
    /// his, fs.
    pub(in crate::estimate) fn carry(&mut self, post: &Post, job: &JobFlow) -> (u64, u64) {
        let connections = job.keys.connections.typical.get();
        let connection = match connections {
            1 => 0,
            // Messages take them in turn, so that neither kind always falls to the same.
            _ => {
                let given = self.given.entry(([post.from, post.to], post.what == What::Data)).or_insert(0);
                *given += 1;
                (*given - 1) % connections
            }
        };
        self.carry_by(post, job, connection)
    }

    /// The same by one of the queue pairs of its ranks.
    fn carry_by(&mut self, post: &Post, job: &JobFlow, connection: u32) -> (u64, u64) {
        let (ranks, mtu) = ([post.from, post.to], job.mtu);
        let endpoints = ranks.map(|r| job.ranks[r as usize]);
        let cluster = Arc::clone(&self.plan.cluster);
        let corner = self.corner;
        let [from, to] = endpoints.map(|e| cluster.endpoints[e as usize].adapter);
        let [k, other] = [from, to].map(|a| &cluster.adapters[a as usize].keys);
        let (source, target) = (self.sides[from as usize].clone(), self.sides[to as usize].clone());
        let mut at = post.at as f64;
        // The doorbell, the work request, its descriptor.
        let inline = k.inline.as_ref().is_some_and(|q| post.bytes <= q.at(corner).0);
        if source.hosted {
            let descriptor = k.descriptor_bytes.at(corner).0;
            let rung = if inline { descriptor + post.bytes } else { k.doorbell_bytes.at(corner).0 };
            let bell = self.bell(from, rung);
            // On a shared bus it stands in the way of all else.
            at = match source.read.shared {
                bus if bus != source.read.own => {
                    self.used[bus] += bell;
                    self.book(bus, at, bell, true)
                }
                _ => at + bell,
            };
            self.moves(from, BELL, rung.max(1), 1.0);
            self.moves(from, WRITE, k.completion_bytes.at(corner).0, 1.0);
            if !inline {
                self.moves(from, READ, descriptor, 1.0);
            }
        }
        let work = k.work_time.at(corner).fs() as f64;
        at = self.take(source.work, at, work) + k.send_latency.at(corner).fs() as f64;
        if source.hosted && !inline {
            let bytes = k.descriptor_bytes.at(corner).0;
            let leg = self.leg(from, true, bytes);
            at = if source.read.shared == source.read.own || bytes == 0 {
                self.used[source.read.shared] += leg.shared;
                at + leg.alone
            } else {
                // An adapter on a bus reads one thing at a time: its descriptors wait for data, and data for them.
                let one = Train { n: 1.0, full: bytes, last: bytes };
                self.stage(source.read, When { first: at, full: at, last: at }, &one, leg, leg).last
            };
        }
        self.taken_up = at;
        let operation = if post.what == What::Data { Operation::WriteImmediate } else { Operation::Send };
        let n = post.bytes.div_ceil(mtu).max(1);
        let train = Train { n: n as f64, full: post.bytes.min(mtu), last: post.bytes - (n - 1) * mtu };
        let mut when = When { first: at, full: at, last: at };
        if source.hosted && !inline {
            self.moves(from, READ, train.full, train.n - 1.0);
            self.moves(from, READ, train.last, 1.0);
            let [first, last] = [train.full, train.last].map(|bytes| {
                let leg = self.leg(from, true, bytes);
                Leg { next: self.reads_ahead(self.adapter(from), bytes, leg.alone, leg.next), ..leg }
            });
            when = self.stage(source.read, when, &train, first, last);
        }
        let packet = |time: f64| Leg { alone: time, shared: time, crowded: time, next: time };
        let engine = packet(k.packet_time.at(corner).fs() as f64);
        when = self.stage(Track::alone(source.out), when, &train, engine, engine);
        self.way(job, ranks, connection);
        let ethernet = cluster.endpoints[endpoints[0] as usize].station.is_some();
        let bytes = |position, payload: u64| {
            let packet = Packet { operation, service: Service::Rc, position, payload };
            packet.wire(if ethernet { ROCE } else { INFINIBAND }) as f64
        };
        // The last one may have headers of its own, and what is one packet has those of the first, too.
        let end = if n > 1 { Position::Last } else { Position::Only };
        let (full, last) = (bytes(Position::Middle, train.full), bytes(end, train.last));
        let hops = std::mem::take(&mut self.hops);
        let receive = other.receive_latency.at(corner).fs() as f64;
        // Writes to the target's host; without one data are at hand.
        let writes = [train.full, train.last].map(|n| self.leg(to, false, n));
        let landing = other.packet_time.at(corner).fs() as f64 + receive;
        let [land_full, land_last] = writes.map(|leg| landing + leg.alone);
        let of = |position, payload| Packet { operation, service: Service::Rc, position, payload }.blocks(INFINIBAND);
        let (blocks_full, blocks_last) = (of(Position::Middle, train.full), of(end, train.last));
        let largest = self.largest;
        let queue = (endpoints, connection);
        if let Some(left) = self.left.get(&queue) {
            when = When { first: when.first.max(*left), full: when.full.max(*left), last: when.last.max(*left) };
        }
        for (i, hop) in hops.iter().enumerate() {
            let [full, last, gap] = [full, last, hop.gap].map(|b| b * hop.byte);
            let many = train.n > 1.0;
            self.used[hop.timeline] += (train.n - 1.0) * full + last;
            // A packet's place in the next buffer is free when its end has left that.
            let place = |size: f64, blocks: u64, land: f64| {
                let through = match hops.get(i + 1) {
                    Some(next) => (hop.head.unwrap_or(0.0) * hop.byte + size / hop.byte * next.byte).max(size),
                    None => size + land,
                };
                Place { blocks, until_free: through + hop.delay + hop.latency }
            };
            let places = [place(full, blocks_full, land_full), place(last, blocks_last, land_last)];
            let paced = |size: f64, place: Place| hop.paced(size, place.blocks, largest, place.until_free);
            let pace = paced(full, places[0]);
            let paced_last = paced(last, places[1]);
            let total = (train.n - 1.0) * pace + if many { last } else { paced_last };
            // Others follow its last packet.
            self.paced[hop.timeline] += (train.n - 1.0) * pace + paced_last;
            let total = total.round();
            let free = self.book(hop.timeline, when.first, total, !many);
            if let Some((packets, payload)) = self.carried.get_mut(hop.timeline) {
                *packets += train.n;
                *payload += post.bytes as f64;
            }
            // As in `stage`: one packet waits for those before it, trains take turns.
            let begin = if many { when.first } else { free - total };
            // A train that finds the wire empty finds the buffer behind it as those before have left it.
            let found = self.finds(hop, begin, n, [blocks_full, blocks_last]);
            let [full_begins, last_begins] = match many {
                true => hop.starts(train.n, full, pace, places, found).map(|after| begin + after),
                false => [begin + found.map_or(0.0, |mut w| w.take(blocks_last, hop.back())); 2],
            };
            let begin = if many { begin } else { last_begins };
            let last_begins = if free - total > when.first { free - last } else { last_begins };
            let before = full_begins + full;
            let full_end = if many { before.max(when.full + full).max(last_begins) } else { begin + last };
            let end = if many { (full_end + last).max(when.last + last) } else { full_end };
            if i == 0 {
                self.left.insert(queue, end);
            }
            let lead = |size: f64| hop.lead(hops.get(i + 1), size, ethernet);
            let (size, after) = (if many { full } else { last }, hop.delay + hop.latency - gap);
            when = When {
                first: begin + size - lead(size) + after,
                full: full_end - lead(size) + after,
                last: end - lead(last) + after,
            }
            .rounded();
        }
        let engine = packet(other.packet_time.at(corner).fs() as f64);
        when = self.stage(Track::alone(target.inward), when, &train, engine, engine);
        when = When { first: when.first + receive, full: when.full + receive, last: when.last + receive };
        self.hops = hops;
        self.way(job, [ranks[1], ranks[0]], connection);
        let hops = std::mem::take(&mut self.hops);
        let acknowledged = self.acknowledge(&hops, when.last, bytes(Position::Middle, mtu), ethernet);
        self.hops = hops;
        if target.hosted {
            self.moves(to, WRITE, train.full, train.n - 1.0);
            self.moves(to, WRITE, train.last, 1.0);
            self.moves(to, WRITE, other.completion_bytes.at(corner).0, 1.0);
            when = self.stage(target.write, when, &train, writes[0], writes[1]);
            let done = self.leg(to, false, other.completion_bytes.at(corner).0);
            self.used[target.write.shared] += done.shared;
            // Behind the data, if there are any.
            when.last += if post.bytes == 0 { done.alone } else { done.next };
        }
        let mut sent = acknowledged;
        if source.hosted {
            let done = self.leg(from, false, k.completion_bytes.at(corner).0);
            self.used[source.write.shared] += done.shared;
            sent += done.alone;
        }
        // What was sent first comes first; only data that were arranged may be overtaken.
        if post.what != What::Data {
            let before = self.came.entry((endpoints, connection)).or_default();
            when.last = when.last.max(*before);
            *before = when.last;
        }
        (when.last as u64, sent as u64)
    }

    /// The buffer at the end of a wire as a message finds it at a moment, and leaves it behind so many packets.
    fn finds(&mut self, hop: &Hop, at: f64, n: u64, [full, last]: [u64; 2]) -> Option<Window> {
        hop.credit?;
        let buffer = &mut self.buffers[hop.timeline];
        let Buffer { whole, told, untold: before, .. } = *buffer;
        let behind = buffer.acknowledged();
        buffer.untold = untold_behind(untold_behind(behind, told, n - 1, full), told, 1, last);
        // Messages are carried one after the other, so one that is carried later may be sent before this.
        match buffer.ack.take() {
            Some((sent, left)) if sent <= at && left + hop.back() > at => {
                let mut window = Window::new(whole, told, before);
                let ack = Packet::ack(Service::Rc).blocks(INFINIBAND);
                window.take(ack, 0.0);
                window.leaves(left - at, ack);
                Some(window)
            }
            _ => Some(Window::new(whole, told, behind)),
        }
    }

    /// An acknowledgement goes its way from a moment on: when it is there. It waits for the packets before it, and
    /// others for it; an adapter sends it behind no more than one packet, of so many bytes at most.
    fn acknowledge(&mut self, hops: &[Hop], at: f64, most: f64, ethernet: bool) -> f64 {
        let bytes = Packet::ack(Service::Rc).wire(if ethernet { ROCE } else { INFINIBAND }) as f64;
        let mut at = at;
        for (i, hop) in hops.iter().enumerate() {
            let size = bytes * hop.byte;
            let queued = self.book(hop.timeline, at, size, true) - size;
            let begin = if i == 0 { queued.min(at + most * hop.byte) } else { queued };
            at = begin + size - hop.gap * hop.byte - hop.lead(hops.get(i + 1), size, ethernet);
            at = (at + hop.delay + hop.latency).round();
            if hop.credit.is_some() {
                let buffer = &mut self.buffers[hop.timeline];
                buffer.untold = buffer.acknowledged();
                // An adapter's buffer it leaves at once, a switch's on the next wire.
                buffer.ack = Some((begin, at));
                if let Some((_, left)) = i.checked_sub(1).and_then(|i| self.buffers[hops[i].timeline].ack.as_mut()) {
                    *left = begin + size;
                }
            }
        }
        at
    }

    /// Books a train, or a packet alone: when it is through, if nothing but others like it holds it up. A packet alone
    /// comes between those of trains, and waits for its like only; trains wait for all.
    fn book(&mut self, timeline: usize, at: f64, time: f64, alone: bool) -> f64 {
        let end = self.free[timeline].book(at, time);
        if alone { self.lone[timeline].book(at, time) } else { end }
    }

    /// Something that takes one at a time.
    fn take(&mut self, timeline: usize, at: f64, time: f64) -> f64 {
        self.used[timeline] += time;
        self.free[timeline].book(at, time)
    }

    /// A train through a stage: when its packets leave. Trains that meet here take turns, so none waits for another's
    /// end; but all of them together take their time, of what is shared and of what is the stage's own.
    fn stage(&mut self, track: Track, when: When, train: &Train, full: Leg, last: Leg) -> When {
        let Track { shared: bus, own, against } = track;
        let (rest, more) = (train.n - 1.0, train.n > 1.0);
        let crowded = against != own && self.free[against].free() > when.first;
        let [full_shared, last_shared] = [full, last].map(|l| if crowded { l.crowded } else { l.shared });
        let [shared, pace] = [rest * full_shared + last_shared, rest * full.next + last.next];
        let busy = self.book(bus, when.first, shared, !more);
        let mine = if own == bus { busy } else { self.book(own, when.first, pace, !more) };
        self.used[bus] += shared;
        if own != bus && pace > shared {
            // The adapter holds them apart: it waits for one before the next.
            self.used[own] += pace;
        }
        let pace = if own == bus { shared } else { pace };
        if !more {
            // One packet waits for those before it.
            let end = (busy - shared).max(mine - pace) + last.alone;
            return When { first: end, full: end, last: end }.rounded();
        }
        // The first takes its whole time, the others follow as fast as they may.
        let first = when.first + full.alone;
        let others = (busy - last_shared - full_shared).max(mine - last.next - full.next) + full.alone;
        let before = (first + (rest - 1.0) * full.next).max(when.full + full.alone).max(others);
        When { first, full: before, last: (before + last.next).max(when.last + last.alone) }.rounded()
    }

    /// Of each adapter the number of its class.
    pub(in crate::estimate) fn alike(&self) -> Vec<u32> {
        self.sides.iter().map(|s| s.class).collect()
    }

    /// What a message takes that has everything for itself; what was carried before is forgotten.
    pub(in crate::estimate) fn alone(&mut self, post: &Post, job: &JobFlow, connection: u32) -> Carriage {
        self.free.fill_with(Timeline::default);
        self.lone.fill_with(Timeline::default);
        self.buffers.iter_mut().for_each(|b| (b.untold, b.ack) = (0, None));
        self.used.fill(0.0);
        self.paced.fill(0.0);
        self.moved.fill([[0.0; PIECES]; WAYS]);
        self.came.clear();
        self.left.clear();
        let (arrived, sent) = self.carry_by(&Post { at: 0, ..*post }, job, connection);
        let ranks = [post.from, post.to];
        self.way(job, ranks, connection);
        let used = |timeline: usize| self.used[timeline];
        let cluster = &self.plan.cluster;
        let ends = ranks.map(|r| cluster.endpoints[job.ranks[r as usize] as usize].adapter as usize);
        Carriage {
            taken_up: self.taken_up as u64,
            arrived,
            sent,
            wires: self.hops.iter().map(|h| [used(h.timeline), self.paced[h.timeline]]).collect(),
            engines: ends.map(|a| {
                let side = &self.sides[a];
                Engine::ALL.map(|engine| match engine {
                    Engine::Work => used(side.work),
                    Engine::Out => used(side.out),
                    Engine::In => used(side.inward),
                    Engine::Reads if side.hosted => used(side.read.own),
                    Engine::Writes if side.hosted => used(side.write.own),
                    Engine::Reads | Engine::Writes => 0.0,
                })
            }),
            moved: ends.map(|a| self.moved[a]),
            packets: post.bytes.div_ceil(job.mtu).max(1),
        }
    }

    /// What holds an adapter's reads or writes over PCIe up, of which one takes its data along at so many bytes a
    /// second: what it reads ahead, or the element of the way to its host that carries least. `None` without such a
    /// way: of a bus either the bus is busy, or the adapter, which waits for each of its reads before the next.
    pub(in crate::estimate) fn held_by(&self, adapter: u32, read: bool) -> Option<Binding> {
        let a = self.adapter(adapter);
        let way = self.ways[adapter as usize]?[usize::from(!read)];
        let class = self.sides[adapter as usize].class;
        let legs = self.legs.iter().filter(|(key, _)| key.0 == class && key.1 == read);
        let (bytes, time) = legs.max_by_key(|(key, _)| key.2).map(|(key, leg)| (key.2, leg.next))?;
        let mut outcome = outcome(&self.plan, self.corner, &[]);
        let takes = outcome.resources.iter().map(|r| dot(way.split(bytes), by_byte(r, way))).enumerate();
        let most = takes.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|m| m.1 > 0.0)?;
        let flow = way.flows()[0].0 as usize;
        outcome.shares[flow].by = Some(most.0);
        Some(match read && most.1 < 0.99 * time {
            true => Binding {
                element: format!("parts.{}", a.name),
                resource: "data read ahead".into(),
                evidence: format!("its read_ahead of {} / the time of a read", a.keys.read_ahead.typical),
            },
            false => binding(&self.plan, &outcome, flow),
        })
    }

    /// The most that an adapter can send or receive, payload bytes per second, each way by itself: its wires and its
    /// host.
    pub(in crate::estimate) fn most(&mut self, endpoint: u32, mtu: u64) -> f64 {
        let cluster = &self.plan.cluster;
        let e = &cluster.endpoints[endpoint as usize];
        let packet =
            Packet { operation: Operation::Send, service: Service::Rc, position: Position::Middle, payload: mtu };
        match (e.out, e.station) {
            (Some(wire), _) => {
                let rate = cluster.link(wire).rate.typical.data_rate().bytes();
                rate * mtu as f64 / packet.wire(INFINIBAND) as f64
            }
            (None, Some(station)) => {
                let wire = self.plan.network.out(station, 0);
                let rate = self.plan.network.link(wire).rate.typical.rate().bytes();
                rate * mtu as f64 / packet.wire(ROCE) as f64
            }
            (None, None) => 0.0,
        }
    }
}

/// When the first packet of a train, the last full one and the last leave a stage; the last may be short.
#[derive(Clone, Copy, Debug)]
struct When {
    first: f64,
    full: f64,
    last: f64,
}

impl When {
    /// In whole femtoseconds, as timelines have them: what goes on at once begins no later than it comes.
    fn rounded(self) -> When {
        When { first: self.first.round(), full: self.full.round(), last: self.last.round() }
    }
}

/// The packets of a message: how many, and the payload of a full one and of the last.
struct Train {
    n: f64,
    full: u64,
    last: u64,
}

/// How long a byte of each flow of a way takes of something that has a capacity, fs.
fn by_byte(r: &Resource<Key>, way: Way) -> [f64; 3] {
    way.flows().map(|flow| {
        let mine = r.uses.iter().filter(|u| u.flow == flow.0 as usize);
        mine.map(|u| u.whole() / r.capacity * SECOND).sum()
    })
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What makes adapters alike: their own values and those of everything between them and their host's memory.
fn class_of(plan: &Plan, adapter: &Adapter) -> String {
    let mut text = format!("{:?}", adapter.keys);
    let mut flow = |f: &Flow| {
        for hop in &f.route {
            let link = plan.link(hop.link);
            text += &format!("{:?}", (link.settings(), plan.part(plan.leaves(*hop)).keys.settings()));
            text += &format!("{:?}", plan.part(plan.arrives(*hop)).keys.settings());
        }
    };
    match adapter.host.as_ref().map(|h| h.dma) {
        Some(Dma::Pcie { read, .. }) => flow(&plan.flows[read.0 as usize]),
        Some(Dma::Bus { read, .. }) => {
            let f = &plan.buses.flows[read as usize];
            let (bus, bridge) = plan.buses.of(f);
            text += &format!("{:?}", (&bus.speed, &bridge.keys, &plan.buses.devices[f.device as usize].keys));
        }
        None => {}
    }
    text
}
