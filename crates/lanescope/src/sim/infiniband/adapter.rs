//! A channel adapter: from a rung doorbell to packets, and from packets to a completion in host memory.
//!
//! Out: the doorbell comes over the bus, the engine deals with the work request and fetches its descriptor, then reads
//! data ahead of its port, packet by packet; packets leave in order. In: a packet stays in the port's buffer until its
//! data are in host memory, so a slow bus takes the credit away; the last one is acknowledged, and a completion is
//! written behind the data. On Ethernet the port's station does what a wire does otherwise.

use crate::mpi::{Post, What};
use crate::plan::DmaPath;
use crate::plan::ethernet::NodeId;
use crate::protocol::infiniband::{BLOCK, END, Operation, START};
use crate::protocol::roce;
use crate::sim::core::kernel::Agenda;
use crate::sim::core::source::Transfer;
use crate::sim::ethernet::{Load, StationCommand};
use crate::sim::infiniband::wire::{NONE, Packet, Why};
use crate::sim::infiniband::{Event, Fabric, OWN};
use std::collections::VecDeque;

/// What happens now, by place of message or packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Act {
    /// Ranks may have done something.
    Ranks,
    /// The adapter has dealt with a work request.
    Worked(u32),
    /// A packet is made: its data are asked for.
    Made(u32),
    /// The engine is through with it.
    Gone(u32),
    /// It is on a wire.
    Carried(u32, u32),
    /// Something has come to the queue of a wire.
    Queued(u32),
    /// A flow-control packet tells the sender of this wire of so many blocks of a lane; when it has come.
    Credit(u32, u8, u32, u64),
    /// It has come to its adapter.
    Came(u32),
    /// Its data may go to host memory, and are there.
    Accepted(u32),
    Placed(u32),
    /// An acknowledgement is made.
    Acked(u32),
    /// A transfer over the host's bus is done.
    Over(Job),
}

/// What a transfer over the host's bus is for.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Job {
    /// A doorbell, with descriptor and data where they come with it.
    Bell(u32),
    /// A work request's descriptor.
    Descriptor(u32),
    /// Data of a packet, to go out.
    Data(u32),
    /// Data of a packet, to host memory.
    Placed(u32),
    /// A completion for the receiver, and for the sender.
    Arrived(u32),
    Sent(u32),
}

/// How an adapter reaches its host.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Ways {
    pub(in crate::sim) read: DmaPath,
    pub(in crate::sim) write: DmaPath,
    pub(in crate::sim) bell: DmaPath,
}

/// An adapter; times in fs.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Adapter {
    pub(in crate::sim) host: Option<Ways>,
    /// The same of what is no data, for queue pairs of NVMe over Fabrics.
    pub(in crate::sim) queues: Option<Ways>,
    pub(in crate::sim) work: u64,
    pub(in crate::sim) send: u64,
    pub(in crate::sim) receive: u64,
    pub(in crate::sim) packet: u64,
    pub(in crate::sim) bell: u64,
    pub(in crate::sim) descriptor: u64,
    /// Largest message that comes with the doorbell.
    pub(in crate::sim) inline: Option<u64>,
    pub(in crate::sim) completion: u64,
    pub(in crate::sim) ahead: u64,
    /// Until when its engines are busy: with work requests, with packets out and in.
    pub(in crate::sim) engine: u64,
    pub(in crate::sim) out: u64,
    pub(in crate::sim) inward: u64,
}

/// Messages to one endpoint, in order: a list through the messages.
#[derive(Clone, Copy, Debug)]
struct Connection {
    to: u32,
    number: u32,
    first: u32,
    last: u32,
}

/// A port of an adapter.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Port {
    pub(in crate::sim) adapter: u32,
    /// The wire that leaves it; [`NONE`] where it is a station of Ethernet.
    pub(in crate::sim) wire: u32,
    station: Option<NodeId>,
    /// What the station was told of its waiting for its host.
    said: bool,
    /// Messages that are not taken apart yet: connections take turns, a packet each.
    connections: Vec<Connection>,
    turn: usize,
    /// Packets whose data are on their way from host memory, in order.
    pending: VecDeque<u32>,
    /// Whether the engine is at the first of them.
    going: bool,
    /// Payload asked for and not sent.
    pub(in crate::sim) asked: u64,
    /// Messages whose doorbell or descriptor is on its way.
    opening: u32,
}

impl Port {
    pub(in crate::sim) fn new(adapter: u32, wire: u32, station: Option<NodeId>) -> Port {
        let (connections, pending) = (Vec::new(), VecDeque::new());
        Port { adapter, wire, station, said: false, connections, turn: 0, pending, going: false, asked: 0, opening: 0 }
    }

    /// The connection whose turn it is among those whose first message may go.
    #[inline]
    fn ready(&self, messages: &[Message]) -> Option<usize> {
        let n = self.connections.len();
        let all = (self.turn..n).chain(0..self.turn.min(n));
        all.into_iter().find(|i| messages[self.connections[*i].first as usize].fetched)
    }

    /// Whether it waits for its host.
    #[inline]
    pub(in crate::sim) fn fetches(&self) -> bool {
        self.opening > 0 || !self.pending.is_empty()
    }
}

/// What a message is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Kind {
    /// SEND.
    Send,
    /// RDMA WRITE with immediate data: its receiver hears of it.
    WriteImmediate,
    /// RDMA WRITE.
    Write,
    /// RDMA READ: its request, one packet, asks for the message's bytes.
    Read,
    /// What answers it.
    Response,
}

/// The operation of each kind.
pub(in crate::sim) const OPERATIONS: [Operation; 5] =
    [Operation::Send, Operation::WriteImmediate, Operation::Write, Operation::Read, Operation::ReadResponse];

/// A work request of NVMe over Fabrics.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Verb {
    pub(in crate::sim) kind: Kind,
    /// The port that is told of it, and the other.
    pub(in crate::sim) ends: [u32; 2],
    /// What decides the way of its packets, and of what answers them.
    pub(in crate::sim) ways: [u32; 2],
    pub(in crate::sim) bytes: u64,
    /// Whether its bytes are no data.
    pub(in crate::sim) capsule: bool,
    /// Its queue pair, and what its owner knows it by.
    pub(in crate::sim) queue: u32,
    pub(in crate::sim) token: u32,
    /// Payload of a packet.
    pub(in crate::sim) mtu: u32,
}

/// The run of messages that belong to none.
const QUEUES: u16 = u16::MAX;

/// Queue pairs of NVMe over Fabrics have numbers from here on; those that answer READs on them from there on.
const FIRST_QUEUE: u32 = 1 << 28;
const ANSWERS: u32 = 1 << 29;

/// A message between two adapters.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Message {
    pub(in crate::sim) token: u32,
    pub(in crate::sim) run: u16,
    /// What has come to its end: sending, receiving.
    pub(in crate::sim) ends: u8,
    kind: Kind,
    /// Its bytes are no data.
    capsule: bool,
    mtu: u32,
    lane: u8,
    /// Its descriptor is there.
    fetched: bool,
    /// It came with its doorbell.
    inline: bool,
    begun: bool,
    pub(in crate::sim) from: u32,
    pub(in crate::sim) to: u32,
    /// What decides the way of its packets, and of its acknowledgement.
    ways: [u32; 2],
    /// Its queue pair among those of its ranks; on Ethernet, its queue pair among all.
    connection: u32,
    pair: u32,
    /// The next one of its connection.
    next: u32,
    pub(in crate::sim) bytes: u64,
    pub(in crate::sim) born: u64,
    /// Not taken apart yet; not come; not in host memory.
    left: u64,
    out: u64,
    unplaced: u64,
}

impl Message {
    pub(in crate::sim) fn is_write(&self) -> bool {
        matches!(self.kind, Kind::WriteImmediate | Kind::Write)
    }

    /// Whether it is of NVMe over Fabrics.
    pub(in crate::sim) fn is_of_queue(&self) -> bool {
        self.run == QUEUES
    }

    /// One of NVMe over Fabrics.
    fn of(verb: &Verb, lane: u8, now: u64) -> Message {
        Message {
            token: verb.token,
            run: QUEUES,
            ends: 0,
            kind: verb.kind,
            capsule: verb.capsule,
            mtu: verb.mtu,
            lane,
            fetched: false,
            inline: false,
            begun: false,
            from: verb.ends[0],
            to: verb.ends[1],
            ways: verb.ways,
            connection: FIRST_QUEUE + verb.queue,
            pair: FIRST_QUEUE + 2 * verb.queue + u32::from(verb.ends[0] < verb.ends[1]),
            next: NONE,
            bytes: verb.bytes,
            born: now,
            left: verb.bytes,
            out: verb.bytes,
            unplaced: verb.bytes,
        }
    }

    pub(in crate::sim) fn new(
        post: &Post,
        run: u16,
        [from, to]: [u32; 2],
        ways: [u32; 2],
        (connection, pair): (u32, u32),
        (mtu, lane): (u32, u8),
    ) -> Message {
        Message {
            token: post.token,
            run,
            ends: 0,
            kind: if post.what == What::Data { Kind::WriteImmediate } else { Kind::Send },
            capsule: false,
            mtu,
            lane,
            fetched: false,
            inline: false,
            begun: false,
            from,
            to,
            ways,
            connection,
            pair,
            next: NONE,
            bytes: post.bytes,
            born: post.at,
            left: post.bytes,
            out: post.bytes,
            unplaced: post.bytes,
        }
    }
}

/// Bytes of a packet around its data, by the kind of its message, and whether it is the first and the last of that.
pub(in crate::sim) type Overheads = [[[u32; 2]; 2]; OPERATIONS.len()];

impl Fabric {
    fn ask(&mut self, way: DmaPath, bytes: u64, job: Job, now: u64) {
        let token = self.jobs.add(job) | OWN;
        self.asked.push((way, Transfer { bytes, token, born: now, control: false }));
    }

    /// Work requests of NVMe over Fabrics, handed over now.
    pub(in crate::sim) fn hand_over(&mut self, verbs: &mut Vec<Verb>, now: u64, agenda: &mut Agenda) {
        for verb in verbs.drain(..) {
            let lane = if self.ports[verb.ends[0] as usize].wire == NONE { self.class } else { 0 };
            let message = self.messages.add(Message::of(&verb, lane, now));
            self.posted(message, now);
        }
        self.arm(agenda);
    }

    /// By which way an adapter moves what is no data of a message.
    fn beside(&self, adapter: u32, message: u32) -> Option<Ways> {
        let a = &self.adapters[adapter as usize];
        a.queues.filter(|_| self.messages.all[message as usize].is_of_queue()).or(a.host)
    }

    /// The same of its bytes.
    fn data(&self, adapter: u32, message: u32) -> Option<Ways> {
        match self.messages.all[message as usize].capsule {
            true => self.beside(adapter, message),
            false => self.adapters[adapter as usize].host,
        }
    }

    /// The processor has handed a message to the adapter.
    pub(in crate::sim) fn posted(&mut self, message: u32, now: u64) {
        if let Some(flows) = &mut self.flow_level {
            return flows.posted(message, now);
        }
        let m = &self.messages.all[message as usize];
        let port = &mut self.ports[m.from as usize];
        let adapter = port.adapter;
        port.opening += 1;
        let ways = self.beside(adapter, message);
        let (a, m) = (&self.adapters[adapter as usize], &mut self.messages.all[message as usize]);
        match ways {
            Some(ways) => {
                m.inline = m.kind != Kind::Read && a.inline.is_some_and(|most| m.bytes <= most);
                let bytes = if m.inline { a.descriptor + m.bytes } else { a.bell };
                self.ask(ways.bell, bytes.max(1), Job::Bell(message), now);
            }
            None => self.rung(message, now),
        }
    }

    /// The adapter knows of a work request.
    fn rung(&mut self, message: u32, now: u64) {
        let port = self.messages.all[message as usize].from;
        let a = &mut self.adapters[self.ports[port as usize].adapter as usize];
        a.engine = a.engine.max(now) + a.work;
        let at = a.engine + a.send;
        self.plan_at(at, Event::Worked(message));
    }

    /// It has dealt with it.
    pub(in crate::sim) fn worked(&mut self, message: u32, now: u64, agenda: &mut Agenda) {
        self.seen(Act::Worked(message), now, agenda);
        let m = &self.messages.all[message as usize];
        let (from, inline) = (m.from, m.inline);
        self.enlist(message);
        let adapter = self.ports[from as usize].adapter;
        let (bytes, ways) = (self.adapters[adapter as usize].descriptor, self.beside(adapter, message));
        match ways {
            Some(ways) if !inline && bytes > 0 => {
                self.ask(ways.read, bytes, Job::Descriptor(message), now);
                self.waits(from, now);
            }
            _ => self.fetched(message, now, agenda),
        }
    }

    /// A message stands behind those of its connection.
    fn enlist(&mut self, message: u32) {
        let m = &self.messages.all[message as usize];
        let (to, number) = (m.to, m.connection);
        let port = &mut self.ports[m.from as usize];
        match port.connections.iter_mut().find(|c| c.to == to && c.number == number) {
            Some(c) => {
                let last = std::mem::replace(&mut c.last, message);
                self.messages.all[last as usize].next = message;
            }
            None => port.connections.push(Connection { to, number, first: message, last: message }),
        }
    }

    fn fetched(&mut self, message: u32, now: u64, agenda: &mut Agenda) {
        let m = &mut self.messages.all[message as usize];
        m.fetched = true;
        let port = m.from;
        self.ports[port as usize].opening -= 1;
        self.pump(port, now, agenda);
    }

    /// The wire of a port has nothing to send because its host is not so far.
    fn waits(&mut self, port: u32, now: u64) {
        let p = &mut self.ports[port as usize];
        match self.wires.get_mut(p.wire as usize) {
            Some(w) if w.waiting == 0 && p.fetches() => w.idles(now, Why::Host),
            Some(_) => {}
            None => {
                let fetches = p.fetches();
                if let Some(station) = p.station.filter(|_| std::mem::replace(&mut p.said, fetches) != fetches) {
                    self.commands.push((station, StationCommand::Fetches(fetches)));
                }
            }
        }
    }

    /// A packet leaves by a port: for its wire, or its station.
    fn leaves(&mut self, port: u32, id: u32) {
        let (port, p) = (&self.ports[port as usize], &self.packets.all[id as usize]);
        if let Some(w) = self.wires.get_mut(port.wire as usize) {
            if p.ack { w.queue_first(id, &mut self.packets) } else { w.queue(id, &mut self.packets) }
        } else if let (Some(station), Some(to)) = (port.station, self.ports[p.to as usize].station) {
            let Packet { bytes: client, payload, lane: class, way, ack, message, opcode, .. } = *p;
            let Message { pair, run, .. } = self.messages.all[message as usize];
            let load = Load { packet: id, to, way, client, payload, class, ack, pair, run, opcode };
            self.commands.push((station, StationCommand::Frame(load)));
        }
    }

    /// A packet has left the buffer that it came in by.
    fn frees(&mut self, p: &Packet, now: u64, agenda: &mut Agenda) {
        if p.held != NONE {
            self.release(p.held, p.lane, p.blocks, now, agenda);
        } else if let Some(station) = self.ports[p.to as usize].station.filter(|_| !p.ack) {
            self.commands.push((station, StationCommand::Frees(p.lane, p.bytes)));
        }
    }

    /// Takes messages apart as far as a port may read ahead.
    pub(in crate::sim) fn pump(&mut self, port: u32, now: u64, agenda: &mut Agenda) {
        let mut new = false;
        loop {
            let p = &self.ports[port as usize];
            let Some(turn) = p.ready(&self.messages.all) else { break };
            let message = p.connections[turn].first;
            let m = self.messages.all[message as usize];
            // A READ's request brings nothing.
            let asks = m.kind == Kind::Read;
            let payload = if asks { 0 } else { m.left.min(m.mtu as u64) };
            let a = &self.adapters[p.adapter as usize];
            if p.asked > 0 && p.asked + payload > a.ahead || p.pending.len() > MOST_PENDING {
                break;
            }
            let last = asks || payload == m.left;
            let roce = p.wire == NONE;
            let overhead = self.overheads[roce as usize][m.kind as usize][!m.begun as usize][last as usize];
            let bytes = (payload as u32).next_multiple_of(4) + overhead;
            let host = self.data(p.adapter, message).filter(|_| payload > 0 && !m.inline);
            let packet = Packet {
                at: 0,
                next: NONE,
                out: NONE,
                way: m.ways[0],
                to: m.to,
                message,
                bytes,
                payload: payload as u32,
                held: NONE,
                blocks: blocks(bytes),
                lane: m.lane,
                ack: false,
                ready: host.is_none(),
                opcode: roce::opcode(OPERATIONS[m.kind as usize], !m.begun, last),
            };
            let id = self.packets.put(packet);
            self.seen(Act::Made(id), now, agenda);
            let m = &mut self.messages.all[message as usize];
            m.left -= payload;
            m.begun = true;
            let next = m.next;
            let p = &mut self.ports[port as usize];
            p.asked += payload;
            p.pending.push_back(id);
            p.turn = turn + 1;
            if last && next == NONE {
                p.connections.remove(turn);
                p.turn = turn;
            } else if last {
                p.connections[turn].first = next;
            }
            match host {
                Some(ways) => self.ask(ways.read, payload, Job::Data(id), now),
                None => new = true,
            }
        }
        if new {
            self.go(port, now, agenda);
        } else {
            self.waits(port, now);
        }
    }

    /// Packets whose data are there go to the wire, in order.
    fn go(&mut self, port: u32, now: u64, agenda: &mut Agenda) {
        let mut any = false;
        loop {
            let p = &mut self.ports[port as usize];
            let Some(&id) = p.pending.front() else { break };
            if p.going || !self.packets.all[id as usize].ready {
                break;
            }
            let a = &mut self.adapters[p.adapter as usize];
            if a.packet > 0 {
                a.out = a.out.max(now) + a.packet;
                p.going = true;
                let at = a.out;
                self.plan_at(at, Event::Go(port));
                break;
            }
            p.pending.pop_front();
            self.leaves(port, id);
            any = true;
        }
        if any {
            self.sends(port, now, agenda);
        }
        self.waits(port, now);
    }

    /// The engine is through with a packet.
    pub(in crate::sim) fn gone(&mut self, port: u32, now: u64, agenda: &mut Agenda) {
        let p = &mut self.ports[port as usize];
        p.going = false;
        if let Some(id) = p.pending.pop_front() {
            self.seen(Act::Gone(id), now, agenda);
            self.leaves(port, id);
        }
        self.go(port, now, agenda);
        self.sends(port, now, agenda);
    }

    /// There is something for a port's wire; a station looks by itself.
    fn sends(&mut self, port: u32, now: u64, agenda: &mut Agenda) {
        let wire = self.ports[port as usize].wire;
        if wire != NONE {
            self.serve(wire, now, agenda);
        }
    }

    /// A packet has come in whole.
    pub(in crate::sim) fn receive(&mut self, on: u32, id: u32, now: u64, agenda: &mut Agenda) {
        self.seen(Act::Came(id), now, agenda);
        let p = &mut self.packets.all[id as usize];
        p.held = on;
        let (to, ack) = (p.to, p.ack);
        let a = &mut self.adapters[self.ports[to as usize].adapter as usize];
        if ack {
            let p = *p;
            self.packets.drop(id);
            let (adapter, completion) = (self.ports[to as usize].adapter, a.completion);
            // A WRITE of NVMe over Fabrics is not signalled: the response behind it is; nor is an answer to a READ.
            let kind = self.messages.all[p.message as usize].kind;
            let quiet = completion == 0 || matches!(kind, Kind::Write | Kind::Read | Kind::Response);
            let completes = self.beside(adapter, p.message).filter(|_| !quiet).map(|ways| (ways.write, completion));
            self.frees(&p, now, agenda);
            match completes {
                Some((way, bytes)) => self.ask(way, bytes, Job::Sent(p.message), now),
                None => self.tell(p.message, now, false),
            }
            return;
        }
        a.inward = a.inward.max(now) + a.packet;
        let at = a.inward + a.receive;
        if let Some(station) = self.ports[to as usize].station {
            self.commands.push((station, StationCommand::Holds(p.lane, p.bytes)));
        }
        if at > now {
            self.plan_at(at, Event::Accept(id));
        } else {
            self.accept(id, now, agenda);
        }
    }

    /// A packet's data may go to host memory.
    pub(in crate::sim) fn accept(&mut self, id: u32, now: u64, agenda: &mut Agenda) {
        self.seen(Act::Accepted(id), now, agenda);
        let p = self.packets.all[id as usize];
        let m = &mut self.messages.all[p.message as usize];
        if m.kind == Kind::Read {
            self.answer(id, now, agenda);
            return;
        }
        m.out -= p.payload as u64;
        let (last, from, back, kind) = (m.out == 0, m.from, m.ways[1], m.kind);
        // The answer to a READ is not acknowledged, but where what is lost is sent again (`answer`).
        if last && (kind != Kind::Response || self.network.resends()) {
            self.acknowledge(&p, from, back, now, agenda);
        }
        let adapter = self.ports[p.to as usize].adapter;
        let completion = self.adapters[adapter as usize].completion;
        let beside = self.beside(adapter, p.message);
        match self.data(adapter, p.message) {
            Some(ways) => {
                match p.payload {
                    0 => self.placed(id, now, agenda),
                    payload => self.ask(ways.write, payload as u64, Job::Placed(id), now),
                }
                // Nobody there hears of a WRITE by itself.
                if let Some(beside) = beside.filter(|_| last && completion > 0 && kind != Kind::Write) {
                    self.ask(beside.write, completion, Job::Arrived(p.message), now);
                }
            }
            None => self.placed(id, now, agenda),
        }
    }

    /// Answers the request of a READ: its adapter reads what is asked for, without its host.
    fn answer(&mut self, id: u32, now: u64, agenda: &mut Agenda) {
        let p = self.packets.all[id as usize];
        self.packets.drop(id);
        self.frees(&p, now, agenda);
        // Where what is lost is sent again, a queue pair keeps packets until it hears of them: a READ's request and its
        // answer are acknowledged there like all others, in place of the answer as an implied acknowledgement and of
        // another request for what is missing (IBA 9.7.5).
        let told = self.ports[p.to as usize].wire == NONE && self.network.resends();
        let m = match told {
            true => {
                let request = &mut self.messages.all[p.message as usize];
                request.ends = 1;
                let m = *request;
                self.acknowledge(&p, m.from, m.ways[1], now, agenda);
                m
            }
            false => self.messages.remove(p.message),
        };
        let [there, back] = m.ways;
        let answer = self.messages.add(Message {
            kind: Kind::Response,
            // Nothing else comes to an end with it.
            ends: u8::from(!told),
            fetched: true,
            begun: false,
            from: m.to,
            to: m.from,
            ways: [back, there],
            connection: ANSWERS | m.connection,
            pair: m.pair ^ 1,
            next: NONE,
            ..m
        });
        self.enlist(answer);
        self.pump(m.to, now, agenda);
    }

    /// Answers the last packet of a message.
    fn acknowledge(&mut self, p: &Packet, from: u32, way: u32, now: u64, agenda: &mut Agenda) {
        let port = p.to;
        let bytes = self.acks[(self.ports[port as usize].wire == NONE) as usize];
        let ack = Packet {
            next: NONE,
            out: NONE,
            way,
            to: from,
            bytes,
            payload: 0,
            held: NONE,
            blocks: blocks(bytes),
            ack: true,
            opcode: roce::ACKNOWLEDGE,
            ..*p
        };
        let id = self.packets.put(ack);
        self.seen(Act::Acked(id), now, agenda);
        self.leaves(port, id);
        self.sends(port, now, agenda);
    }

    /// A packet's data are in host memory: its place in the buffer is free.
    fn placed(&mut self, id: u32, now: u64, agenda: &mut Agenda) {
        self.seen(Act::Placed(id), now, agenda);
        let p = self.packets.all[id as usize];
        self.packets.drop(id);
        self.frees(&p, now, agenda);
        let m = &mut self.messages.all[p.message as usize];
        m.unplaced -= p.payload as u64;
        let a = &self.adapters[self.ports[p.to as usize].adapter as usize];
        if m.unplaced == 0 && m.out == 0 && (a.host.is_none() || a.completion == 0 || m.kind == Kind::Write) {
            self.tell(p.message, now, true);
        }
    }

    /// A transfer over the host's bus is done.
    pub(in crate::sim) fn over(&mut self, job: u32, now: u64, agenda: &mut Agenda) {
        let job = self.jobs.remove(job);
        self.seen(Act::Over(job), now, agenda);
        match job {
            Job::Bell(message) => self.rung(message, now),
            Job::Descriptor(message) => self.fetched(message, now, agenda),
            Job::Data(id) => {
                self.packets.all[id as usize].ready = true;
                let port = self.messages.all[self.packets.all[id as usize].message as usize].from;
                self.go(port, now, agenda);
            }
            Job::Placed(id) => self.placed(id, now, agenda),
            Job::Arrived(message) => self.tell(message, now, true),
            Job::Sent(message) => self.tell(message, now, false),
        }
    }
}

/// Blocks of credit of a packet that takes so many bytes of a wire.
fn blocks(bytes: u32) -> u16 {
    (bytes as u64 - START - END).div_ceil(BLOCK) as u16
}

/// Packets that a port has taken apart and not sent, at most: empty ones count for no payload.
const MOST_PENDING: usize = 64;
