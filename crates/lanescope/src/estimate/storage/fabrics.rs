//! The closed form of NVMe over Fabrics: what the messages of a command put on the wires between two hosts and on
//! the PCIe of both, and how long one takes by itself.
//!
//! A command is a row of messages: its capsule; of a large write a READ and its answer; of a read a WRITE; a response.
//! Between them the target's processor works, and its drive, as for a host of its own. A message is a train of packets
//! through stages: reads of the sender's memory, its engine, the wires, the receiver's engine, writes to the receiver's
//! memory; each takes one packet after the other, and the completion goes right behind the last.
//!
//! Not in it: queueing between messages, but for those of one command.

use crate::estimate::Outcome;
use crate::estimate::core::elements::{ClusterElement, Part};
use crate::estimate::core::row;
use crate::estimate::ethernet::crossing;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::nvme::{self, Drive};
use crate::estimate::storage::queueing::Station;
use crate::estimate::storage::train::{Ready, Room, Sent, Stage, Ways};
use crate::estimate::storage::unloaded::One;
use crate::estimate::storage::{Kind, kinds};
use crate::plan::infiniband::{Adapter, QueueFlows, blocks};
use crate::plan::storage::{IoFlow, Remote};
use crate::plan::{Dma, FlowId, Plan};
use crate::protocol::ethernet::{GAP, PREAMBLE};
use crate::protocol::infiniband::{
    self, Carrier, FLOW_CONTROL_WIRE, INFINIBAND, LRH, Operation, Packet, ROCE, START, Service, blocks_told,
    buffer_blocks, paced_by_credit,
};
use crate::protocol::nvme::{COMMAND_CAPSULE, RESPONSE_CAPSULE};
use crate::result::LinkReport;
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// One of a command's messages.
#[derive(Clone, Copy, Debug)]
struct Message {
    sent: infiniband::Message,
    /// Who sends it: the worker's adapter, or the target's.
    from: usize,
    /// Its bytes are no data.
    capsule: bool,
}

/// The messages of a command with so much data, in order.
fn messages(remote: &Remote, corner: Corner, read: bool, bytes: u64) -> Vec<Message> {
    let one = |from, operation, bytes, capsule| {
        let sent = infiniband::Message { operation, service: Service::Rc, bytes, mtu: remote.mtu };
        Message { sent, from, capsule }
    };
    let response = one(1, Operation::Send, RESPONSE_CAPSULE, true);
    let command = one(0, Operation::Send, COMMAND_CAPSULE, true);
    if read {
        vec![command, one(1, Operation::Write, bytes, false), response]
    } else if remote.is_in_capsule(corner, bytes) {
        vec![one(0, Operation::Send, COMMAND_CAPSULE + bytes, false), response]
    } else {
        let data = one(0, Operation::ReadResponse, bytes, false);
        vec![command, one(1, Operation::Read, bytes, true), data, response]
    }
}

impl Message {
    /// Bytes that it moves: a READ asks for some, and brings none.
    fn bytes(&self) -> u64 {
        if self.sent.operation.carries() { self.sent.bytes } else { 0 }
    }

    /// Bytes on the wire, packets, bytes of payload.
    fn all(&self, carrier: Carrier) -> [f64; 3] {
        [self.sent.wire(carrier), self.sent.packets(), self.bytes()].map(|n| n as f64)
    }

    fn is_acknowledged(&self) -> bool {
        self.sent.answer().is_some_and(|answer| answer.operation == Operation::Ack)
    }
}

/// An adapter, and the flows of PCIe by which it moves data and all else.
#[derive(Clone, Copy)]
struct Side<'a> {
    adapter: &'a Adapter,
    number: u32,
    read: FlowId,
    write: FlowId,
    queues: QueueFlows,
}

impl Side<'_> {
    /// By which flow it reads the bytes of a message that it sends, and writes those of one that comes.
    fn reads(&self, m: &Message) -> FlowId {
        match (m.capsule, m.bytes()) {
            (false, _) => self.read,
            (true, RESPONSE_CAPSULE) => self.queues.responses[0],
            (true, _) => self.queues.work,
        }
    }

    fn writes(&self, m: &Message) -> FlowId {
        match (m.capsule, m.bytes()) {
            (false, _) => self.write,
            (true, RESPONSE_CAPSULE) => self.queues.responses[1],
            (true, _) => self.queues.entries,
        }
    }

    fn inline(&self, corner: Corner, m: &Message) -> bool {
        let most = self.adapter.keys.inline.as_ref();
        m.sent.operation != Operation::Read && most.is_some_and(|q| m.bytes() <= q.at(corner).0)
    }

    /// By which flow its doorbell is written.
    fn bells(&self, corner: Corner, m: &Message) -> FlowId {
        let inline = self.queues.inline[usize::from(m.bytes() == RESPONSE_CAPSULE)];
        inline.filter(|_| self.inline(corner, m)).unwrap_or(self.queues.bells)
    }

    /// Bytes of the doorbell, and of the descriptor that is fetched, of a work request.
    fn asked(&self, corner: Corner, m: &Message) -> (u64, u64) {
        let k = &self.adapter.keys;
        let descriptor = k.descriptor_bytes.at(corner).0;
        match self.inline(corner, m) {
            true => ((descriptor + m.bytes()).max(1), 0),
            false => (k.doorbell_bytes.at(corner).0.max(1), descriptor),
        }
    }
}

/// The adapters of a flow: the worker's, and the target's.
fn sides<'a>(plan: &'a Plan, remote: &Remote) -> Option<[Side<'a>; 2]> {
    let one = |end: u32| {
        let number = plan.cluster.endpoints[end as usize].adapter;
        let adapter = plan.cluster.adapter_of(end);
        let host = adapter.host.as_ref()?;
        let Dma::Pcie { read, write } = host.dma else { return None };
        Some(Side { adapter, number, read, write, queues: host.queues? })
    };
    let [own, target] = remote.ends;
    Some([one(own)?, one(target)?])
}

/// Commands that an I/O becomes, and the bytes of each.
fn cut(drive: &Drive, corner: Corner, k: Kind) -> (f64, u64) {
    let n = nvme::commands(drive.controller, corner, k);
    (n, (k.bytes / n).round().max(1.0) as u64)
}

/// What the commands of an I/O ask of adapters, wires and the target's processor, and which bytes they move over PCIe.
pub(in crate::estimate) fn demand(
    plan: &Plan,
    corner: Corner,
    (flow, number): (&IoFlow, u32),
    k: Kind,
    add: &mut dyn FnMut(Part, f64, f64),
    dma: &mut BTreeMap<usize, f64>,
) {
    let Some(remote) = &flow.remote else { return };
    let (Some(sides), Some(drive)) = (sides(plan, remote), nvme::drives(&plan.storage, flow).into_iter().next()) else {
        return;
    };
    let (n, bytes) = cut(&drive, corner, k);
    let n = n * k.count;
    let mut moves = |flow: FlowId, bytes: u64| *dma.entry(flow.0 as usize).or_default() += n * bytes as f64;
    let mut asked = [0.0; 2];
    let mut packets = [[0.0; 2]; 2];
    for m in messages(remote, corner, k.read, bytes) {
        let (from, to) = (&sides[m.from], &sides[1 - m.from]);
        let completion = |side: &Side| side.adapter.keys.completion_bytes.at(corner).0;
        if m.sent.operation != Operation::ReadResponse {
            let (bell, descriptor) = from.asked(corner, &m);
            moves(from.bells(corner, &m), bell);
            moves(from.queues.work, descriptor);
            asked[m.from] += 1.0;
        }
        if !from.inline(corner, &m) {
            moves(from.reads(&m), m.bytes());
        }
        moves(to.writes(&m), m.bytes());
        match m.sent.operation {
            Operation::Send => {
                moves(to.queues.entries, completion(to));
                moves(from.queues.entries, completion(from));
            }
            Operation::ReadResponse => moves(to.queues.entries, completion(to)),
            _ => {}
        }
        let all = m.sent.packets() as f64;
        packets[m.from][0] += all;
        packets[1 - m.from][1] += all;
    }
    for (side, (asked, packets)) in sides.iter().zip(asked.iter().zip(packets)) {
        let (work, each) = (side.adapter.keys.work_time.at(corner), side.adapter.keys.packet_time.at(corner));
        if work.fs() > 0 {
            add(Part::Fabric(ClusterElement::Work(side.number)), 1.0, n * asked * work.seconds());
        }
        if each.fs() > 0 {
            // Its engines out and in are two; the one that has more to do counts.
            let most = f64::max(packets[0], packets[1]);
            add(Part::Fabric(ClusterElement::Packets(side.number)), 1.0, n * most * each.seconds());
        }
    }
    for (wire, [bytes, ..]) in wires(plan, corner, remote, k.read, bytes) {
        match wire {
            Wire::InfiniBand(on) => add(Part::Fabric(ClusterElement::Wire(on)), rate(plan, corner, wire), n * bytes),
            Wire::Ethernet(on) => add(Part::Ethernet(on), rate(plan, corner, wire), n * bytes),
        }
    }
    let time = remote.target_time.at(corner).seconds();
    if time > 0.0 {
        let cores = drive.controller.pairs(drive.queues).count() as f64;
        add(Part::Remote(number), cores.max(1.0), n * time);
    }
}

/// A wire of either fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wire {
    InfiniBand(u32),
    Ethernet(u32),
}

/// Bytes per second that a wire carries.
fn rate(plan: &Plan, corner: Corner, wire: Wire) -> f64 {
    match wire {
        Wire::InfiniBand(wire) => plan.cluster.link(wire).rate.at(corner).data_rate().bytes(),
        Wire::Ethernet(wire) => plan.network.link(wire).rate.typical.rate().bytes(),
    }
}

/// What a command puts on each wire: bytes, packets, payload. Queue pairs take turns, and on Ethernet each has a way of
/// its own: a command has a part of each.
fn wires(plan: &Plan, corner: Corner, remote: &Remote, read: bool, bytes: u64) -> Vec<(Wire, [f64; 3])> {
    let carrier = remote.carrier(&plan.cluster);
    let mut ways = [[0.0; 3]; 2];
    for m in messages(remote, corner, read, bytes) {
        m.all(carrier).into_iter().zip(&mut ways[m.from]).for_each(|(one, sum)| *sum += one);
        if m.is_acknowledged() {
            let back = &mut ways[1 - m.from];
            back[0] += Packet::ack(Service::Rc).wire(carrier) as f64;
            back[1] += 1.0;
        }
    }
    let mut parts: BTreeMap<(Wire, usize), f64> = BTreeMap::new();
    match remote.stations(&plan.cluster) {
        Some([own, target]) => {
            let each = 1.0 / remote.ways.len().max(1) as f64;
            for [there, back] in &remote.ways {
                for (way, (ends, by)) in [([own, target], there), ([target, own], back)].into_iter().enumerate() {
                    for (wire, part) in plan.network.spread(ends, *by) {
                        *parts.entry((Wire::Ethernet(wire), way)).or_default() += part * each;
                    }
                }
            }
        }
        None => {
            let [own, target] = remote.ends;
            for (way, ends) in [[own, target], [target, own]].into_iter().enumerate() {
                let path = plan.cluster.path(ends[0], ends[1]);
                parts.extend(path.into_iter().map(|wire| ((Wire::InfiniBand(wire), way), 1.0)));
            }
        }
    }
    parts.into_iter().map(|((wire, way), part)| (wire, ways[way].map(|n| n * part))).collect()
}

impl One<'_> {
    /// An adapter's work request, from the processor's write until it may send, seconds.
    fn requested(&self, side: &Side, m: &Message) -> f64 {
        let (bell, descriptor) = side.asked(self.corner, m);
        let k = &side.adapter.keys;
        self.write_of(side.bells(self.corner, m), bell)
            + k.work_time.at(self.corner).seconds()
            + k.send_latency.at(self.corner).seconds()
            + self.read_of(side.queues.work, descriptor)
    }

    /// The stages of a packet of a message.
    fn stages(&self, remote: &Remote, sides: &[Side; 2], m: &Message, packet: Packet) -> Vec<Stage> {
        let payload = packet.payload;
        let (c, cluster) = (self.corner, &self.plan.cluster);
        let (from, to) = (&sides[m.from], &sides[1 - m.from]);
        // An acknowledgement takes no time of an adapter.
        let ack = packet.operation == Operation::Ack;
        let engine = |side: &Side| if ack { 0.0 } else { side.adapter.keys.packet_time.at(c).seconds() };
        let mut all = Vec::with_capacity(8);
        all.push(match payload > 0 && !from.inline(c, m) {
            true => {
                let flow = from.reads(m);
                let alone = self.read_of(flow, payload);
                // As many packets as are read ahead, at least one, cover the way there and back, or do not.
                let whole = from.adapter.keys.read_ahead.at(c).0.max(1);
                let ahead = (alone + engine(from)) / (whole / payload).max(1) as f64;
                let busy = self.behind(flow, payload);
                // They are read ahead until they are on the wire, of Ethernet until its port has taken them.
                let (until, after) = if remote.stations(cluster).is_some() { (1, engine(from)) } else { (2, 0.0) };
                let room = Room { whole, needs: payload, told: 1, back: 0.0, until, after };
                match self.ends {
                    Ends::Least => Stage::new(busy, alone),
                    _ => Stage { paced: busy.max(ahead), room: Some(room), ..Stage::new(busy, alone) },
                }
            }
            false => Stage::new(0.0, 0.0),
        });
        all.push(Stage::new(engine(from), engine(from)));
        let land = engine(to) + if ack { 0.0 } else { to.adapter.keys.receive_latency.at(c).seconds() };
        let flow = to.writes(m);
        let placed = match payload > 0 {
            true => Stage::new(self.behind(flow, payload), self.write_of(flow, payload)),
            false => Stage::new(0.0, 0.0),
        };
        if let Some(mut ends) = remote.stations(cluster) {
            if m.from == 1 {
                ends.reverse();
            }
            // Its first queue pair stands for all: ways of equal length.
            let path = self.plan.network.along(ends, remote.ways.first().map_or(0, |ways| ways[m.from]));
            for (i, &wire) in path.iter().enumerate() {
                let size = packet.wire(ROCE) as f64 / rate(self.plan, c, Wire::Ethernet(wire));
                let through = crossing(&self.plan.network, &path, i, packet.bytes(ROCE), c) as f64 * 1e-15;
                all.push(Stage::new(size, through));
            }
            all.push(Stage::new(engine(to), land));
            all.push(placed);
            return all;
        }
        let path = cluster.path(remote.ends[m.from], remote.ends[1 - m.from]);
        let byte = |wire: u32| 1.0 / cluster.link(wire).rate.at(c).data_rate().bytes();
        let (bytes, needs) = (packet.wire(INFINIBAND) as f64, packet.blocks(INFINIBAND));
        let largest = cluster.largest_payload().map_or(1, blocks);
        for (i, &wire) in path.iter().enumerate() {
            let (size, delay) = (bytes * byte(wire), cluster.delay(wire, c).seconds());
            let switch = cluster.switch_of(cluster.arrives(wire)).map(|s| &cluster.switches[s].keys);
            let next = path.get(i + 1).map(|next| byte(*next) / byte(wire));
            // A faster wire behind a switch waits, so that it never runs dry.
            let head = (START + LRH) as f64 * byte(wire);
            let lead = next.map_or(0.0, |next| (size - head).min(size * next.min(1.0)).max(0.0));
            let latency = switch.map_or(0.0, |k| k.latency.at(c).seconds());
            let through = size - lead + delay + latency;
            let buffer = switch.map_or(to.adapter.keys.receive_buffer.at(c).0, |k| k.buffer.at(c).0);
            let back = FLOW_CONTROL_WIRE as f64 * byte(wire) + delay;
            // A place is free when its packet has gone out on the next wire, or is in memory: two stages behind a wire.
            let (until, after, until_free) = match next {
                Some(next) => (all.len() + 1, size * next, through + size * next),
                None => (all.len() + 2, placed.through, size + delay + land + placed.through),
            };
            let whole = buffer_blocks(buffer);
            let room = Room { whole, needs, told: blocks_told(whole, largest), back, until, after };
            let stage = Stage::new(size, through);
            all.push(match self.ends {
                Ends::Least => stage,
                _ => Stage {
                    paced: paced_by_credit(whole, largest, needs, size, until_free + back),
                    room: Some(room),
                    ..stage
                },
            });
        }
        all.push(Stage::new(engine(to), land));
        all.push(placed);
        all
    }

    /// A message with the stages of its packets.
    fn sent(&self, remote: &Remote, sides: &[Side; 2], m: &Message) -> Sent {
        let back = Message { from: 1 - m.from, ..*m };
        let ack = || self.stages(remote, sides, &back, Packet::ack(Service::Rc));
        Sent {
            from: m.from,
            kinds: m.sent.kinds().map(|(n, packet)| (n, self.stages(remote, sides, m, packet))).collect(),
            acknowledged: m.is_acknowledged().then(ack),
        }
    }

    /// The commands of an I/O to a drive of another host: from the worker's processor until the last response is in its
    /// memory, seconds.
    pub(in crate::estimate) fn of_fabric(&self, remote: &Remote, drive: &Drive, k: Kind) -> f64 {
        let Some(sides) = sides(self.plan, remote) else { return 0.0 };
        let (n, bytes) = cut(drive, self.corner, k);
        let all = messages(remote, self.corner, k.read, bytes);
        let sent: Vec<Sent> = all.iter().map(|m| self.sent(remote, &sides, m)).collect();
        let asked: Vec<f64> = all.iter().map(|m| self.requested(&sides[m.from], m)).collect();
        // The completion goes right behind the last message.
        let completed: Vec<f64> = (all.iter().map(|m| &sides[1 - m.from]))
            .map(|to| self.behind(to.queues.entries, to.adapter.keys.completion_bytes.at(self.corner).0))
            .collect();
        let host = self.flow.submit.at(self.corner).seconds() + self.flow.complete.at(self.corner).seconds();
        let work = remote.target_time.at(self.corner).seconds();
        let at_drive = self.of_queue(drive, Kind { bytes: bytes as f64, ..k });
        let ready = |at: f64, i: usize| Ready { at, descriptor: None, sent: &sent[i] };
        // With the completion of the last of them.
        let told = |ways: &mut Ways, list: &[Ready], last: usize| ways.carry(list) + ways.pause(completed[last]);
        let time = Ways::mean(|ways| {
            let mut time = told(ways, &[ready(asked[0], 0)], 0) + ways.pause(work);
            time += match all[..] {
                // The other's adapter answers a READ by itself, as soon as it has the request.
                [_, _, _, _] => {
                    let data = ways.carry(&[ready(asked[1], 1)]) + told(ways, &[ready(0.0, 2)], 2);
                    data + ways.pause(at_drive) + told(ways, &[ready(asked[3], 3)], 3)
                }
                [_, _, response] => {
                    let target = &sides[1];
                    let (bell, descriptor) = target.asked(self.corner, &response);
                    let apart = self.behind(target.bells(self.corner, &response), bell);
                    let apart = apart.max(target.adapter.keys.work_time.at(self.corner).seconds());
                    let at = (asked[1] + apart).max(asked[2]);
                    // Where it is asked for behind the first data, it comes behind them.
                    let read = self.read_of(target.queues.work, descriptor);
                    let after = self.behind(target.queues.work, descriptor);
                    let is_read = descriptor > 0 && self.ends == Ends::Usual;
                    let response = Ready { descriptor: is_read.then_some((at - read, after)), ..ready(at, 2) };
                    ways.pause(at_drive) + told(ways, &[ready(asked[1], 1), response], 2)
                }
                _ => ways.pause(at_drive) + told(ways, &[ready(asked[1], 1)], 1),
            };
            // The next command is another one's if several are outstanding; of one, it is behind this.
            ways.pause(host + self.wake());
            time
        });
        // Several commands of one I/O follow one another through whatever takes longest for each.
        let slowest = self.stations(drive, k).iter().map(|s| s.1).fold(0.0, f64::max);
        match self.ends {
            Ends::Least => time,
            Ends::Usual => time + (n - 1.0) * slowest,
        }
    }

    /// What commands of an I/O meet on the way to a drive of another host, one after the other: how many of each there
    /// are for a worker, and seconds for a command.
    fn stations(&self, drive: &Drive, k: Kind) -> Vec<(f64, f64)> {
        let c = self.corner;
        let Some(remote) = &self.flow.remote else { return Vec::new() };
        let Some(sides) = sides(self.plan, remote) else { return Vec::new() };
        let (_, bytes) = cut(drive, c, k);
        let cores = drive.controller.pairs(drive.queues).count().max(1) as f64;
        let mut all = vec![
            (cores, remote.target_time.at(c).seconds()),
            (cores, drive.controller.keys.queue_time.at(c).seconds()),
            (1.0, drive.controller.keys.command_time.at(c).seconds()),
        ];
        for (wire, [bytes, ..]) in wires(self.plan, c, remote, k.read, bytes) {
            all.push((1.0, bytes / rate(self.plan, c, wire)));
        }
        let [source, sink] = if k.read { [&sides[1], &sides[0]] } else { [&sides[0], &sides[1]] };
        all.push((1.0, self.behind(source.read, bytes)));
        all.push((1.0, self.behind(sink.write, bytes)));
        all.push((1.0, self.paces_of(drive)[usize::from(k.read)] * bytes as f64));
        all
    }

    /// The same for a queueing network, beside those of the drive.
    pub(in crate::estimate) fn on_the_way(&self, drive: &Drive, k: Kind, workers: u32) -> Vec<Station> {
        let (n, _) = cut(drive, self.corner, k);
        // Those of the drive's controller and its link are there already.
        let mine = self.stations(drive, k).into_iter().enumerate().filter(|(i, _)| !matches!(i, 1 | 2));
        let all: Vec<_> =
            mine.map(|(i, (many, time))| (if i == 0 { many * f64::from(workers) } else { many }, time)).collect();
        let but_link = all.len().saturating_sub(1);
        all.into_iter().take(but_link).map(|(many, time)| Station::of(many, n, time)).collect()
    }
}

/// Commands that a flow's queue pairs to the other host hold, where more may be outstanding.
pub(in crate::estimate) fn full_queue(flow: &IoFlow, drive: &Drive, corner: Corner) -> Option<f64> {
    let remote = flow.remote.as_ref()?;
    let most = kinds(&flow.lines).into_iter().map(|k| nvme::commands(drive.controller, corner, k)).fold(1.0, f64::max);
    let room = f64::from(remote.room(corner)) * drive.controller.pairs(drive.queues).count().max(1) as f64;
    (f64::from(flow.outstanding.at(corner).get()) * most > room).then_some(room)
}

/// Adds what I/Os put on the wires of clusters and of an Ethernet to what programs do there; both are in order.
pub(in crate::estimate) fn on_links(
    plan: &Plan,
    outcome: &Outcome,
    (cluster, ethernet): (&mut [LinkReport], &mut [LinkReport]),
) {
    let first = row::ios(plan).start;
    for (i, flow) in plan.storage.flows.iter().enumerate() {
        let Some(remote) = &flow.remote else { continue };
        let Some(drive) = nvme::drives(&plan.storage, flow).into_iter().next() else { continue };
        let ios = outcome.shares[first + i].rate / flow.mix().bytes.max(1.0);
        for k in kinds(&flow.lines) {
            let (n, bytes) = cut(&drive, Corner::Typical, k);
            for (wire, [all, packets, payload]) in wires(plan, Corner::Typical, remote, k.read, bytes) {
                let each = ios * k.count * n;
                let (link, gap) = match wire {
                    Wire::InfiniBand(wire) => (cluster.get_mut(wire as usize), 0.0),
                    Wire::Ethernet(wire) => (ethernet.get_mut(wire as usize), packets * (PREAMBLE + GAP) as f64),
                };
                let Some(link) = link else { continue };
                let (before, framing) = (link.ledger.idle, each * (all - payload - gap) * 8.0);
                link.ledger.gap += each * gap * 8.0;
                link.ledger.payload += each * payload * 8.0;
                link.ledger.framing += framing;
                link.ledger.idle = (before - each * all * 8.0).max(0.0);
                let paid = &mut link.payload;
                for rate in [&mut paid.slower, &mut paid.typical, &mut paid.faster] {
                    *rate += each * payload * 8.0;
                }
                link.tlps += each * packets;
                link.tlp_overhead =
                    (link.tlps > 0.0).then(|| (link.ledger.framing + link.ledger.gap) / 8.0 / link.tlps);
            }
        }
    }
}
