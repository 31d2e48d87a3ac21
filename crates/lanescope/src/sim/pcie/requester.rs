//! What a device asks for: its flows' operations, cut into TLPs, held back by tags, turn-around and the engine's own
//! rates.
//!
//! A requester is asked for its next TLP whenever its port is free, and answers with one, or with the reason and the
//! moment to ask again. A flow's operations are issued in order; flows take turns, TLP by TLP, or one is picked at
//! random for each operation.

use crate::plan::{Batch, PacketQueue};
use crate::protocol::pcie::{self, Class, Header};
use crate::result::Idle;
use crate::sim::core::kernel::NEVER;
use crate::sim::core::source::{Next, Source, Transfer};
use crate::sim::pcie::limits::{Gate, Limits};
use crate::sim::pcie::tags::Tags;
use crate::sim::pcie::wire::Tlp;
use crate::sim::pcie::{FlowState, Net};
use crate::tools::Slab;
use crate::units::Pace;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::VecDeque;

/// How a flow's operations look on the wire.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Shape {
    pub(in crate::sim) reads: bool,
    pub(in crate::sim) writes: bool,
    /// Bytes of an operation.
    pub(in crate::sim) size: u64,
    /// Largest payload of a write TLP.
    pub(in crate::sim) payload: u64,
    /// Largest read request.
    pub(in crate::sim) request: u64,
    /// Header of a request.
    pub(in crate::sim) header: Header,
    pub(in crate::sim) ecrc: bool,
}

/// A flow, as its requester sees it.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Stream {
    pub(in crate::sim) flow: u32,
    pub(in crate::sim) shape: Shape,
    pub(in crate::sim) source: Source,
    pub(in crate::sim) current: Option<Issue>,
    /// Whether the operation before was a read, of a flow that alternates.
    pub(in crate::sim) was_read: bool,
    /// What belongs to the packets of a NIC, if it moves such.
    pub(in crate::sim) packets: Option<Packets>,
}

/// What belongs to the packets of a NIC: descriptors are fetched before the packets that they are of, completion
/// entries and interrupts written after them.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Packets {
    pub(in crate::sim) queue: PacketQueue,
    /// Bytes that one takes of the line, where there is one.
    line: u64,
    /// Packets for which descriptors have been asked, that have begun, and for which either write has gone.
    fetched: u64,
    begun: u64,
    written: [u64; 2],
}

impl Packets {
    pub(in crate::sim) fn new(queue: PacketQueue, line: u64) -> Packets {
        Packets { queue, line, fetched: 0, begun: 0, written: [0; 2] }
    }

    /// What goes before the next packet.
    fn due(&self) -> Option<Control> {
        if self.fetched <= self.begun {
            return Some(Control::Fetch);
        }
        (0..2).find(|&i| self.begun >= self.written[i] + self.queue.writes[i].packets).map(Control::Write)
    }

    fn bytes(&self, what: Control) -> u64 {
        match what {
            Control::Fetch => self.queue.fetch.bytes,
            Control::Write(i) => self.queue.writes[i].bytes,
        }
    }

    /// It has gone.
    fn went(&mut self, what: Control) {
        match what {
            Control::Fetch => self.fetched += self.queue.fetch.packets,
            Control::Write(i) => self.written[i] += self.queue.writes[i].packets,
        }
    }
}

/// The doorbells of a NIC's packets: the processor counts completion entries, and rings once for so many packets.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Doorbell {
    /// Packets of a write of entries, and of a doorbell.
    entries: u64,
    packets: u64,
    /// Packets that are done, and were not rung for.
    done: u64,
    body: u16,
    payload: u16,
}

impl Doorbell {
    pub(in crate::sim) fn new(queue: &PacketQueue, header: Header, ecrc: bool) -> Doorbell {
        let Batch { bytes, packets } = queue.doorbell;
        let body = pcie::tlp_body(header, bytes, ecrc) as u16;
        Doorbell { entries: queue.writes[0].packets, packets, done: 0, body, payload: bytes as u16 }
    }

    /// Entries have come: how many doorbells there are to ring.
    pub(in crate::sim) fn entries(&mut self) -> u64 {
        self.done += self.entries;
        let rings = self.done / self.packets;
        self.done %= self.packets;
        rings
    }
}

/// Which of [`PacketQueue::writes`] are completion entries; a write says in its tag which it is.
pub(in crate::sim) const ENTRIES: u32 = 0;

/// What belongs to packets and goes by one TLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// A read of descriptors.
    Fetch,
    /// A write: which of [`PacketQueue::writes`].
    Write(usize),
}

impl Stream {
    /// Whether another side drives it and has asked for nothing more: it is passed over at once, since a controller has
    /// many streams, of which few have something at a time.
    #[inline]
    fn quiet(&self) -> bool {
        self.current.is_none()
            && self.packets.is_none()
            && matches!(&self.source, Source::ExternallyDriven(asked) if asked.is_empty())
    }

    /// Whether what it sends next is of a read.
    fn reads_next(&self) -> bool {
        match (self.current, self.control_due()) {
            (Some(issue), _) => issue.read,
            (None, Some(control)) => control == Control::Fetch,
            (None, None) if self.shape.reads && self.shape.writes => !self.was_read,
            (None, None) => self.shape.reads,
        }
    }

    /// What goes before its next packet, between two of them.
    fn control_due(&self) -> Option<Control> {
        match self.current {
            Some(_) => None,
            None => self.packets.as_ref()?.due(),
        }
    }
}

/// An operation that is being issued.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Issue {
    read: bool,
    born: u64,
    left: u64,
    op: u32,
    started: bool,
    /// Of another side's transfer: by what it is known there, and whether it is no data.
    token: u32,
    control: bool,
}

/// An outstanding read request.
#[derive(Clone, Copy, Debug)]
struct Read {
    op: u32,
    engine: u16,
    left: u32,
    size: u32,
}

/// An operation that reads and is not done.
#[derive(Clone, Copy, Debug)]
struct Op {
    flow: u32,
    born: u64,
    left: u64,
    size: u64,
    begun: bool,
    token: u32,
}

/// What comes to its end.
#[derive(Clone, Copy, Debug)]
enum Finish {
    /// A request: its tag may rest.
    Request(u32),
    /// An operation whose data the internal bus carried.
    Operation(u32),
}

/// The streams of a requester by what they send, writes and then reads, a bit each: all of them, and those that are not
/// quiet. A controller has several streams, of which few have something at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Kinds {
    all: [u64; 2],
    asking: [u64; 2],
}

impl Kinds {
    /// Of so many streams as there are bits, if each sends one kind for ever.
    fn of(streams: &[Stream]) -> Option<Kinds> {
        let mut kinds = Kinds::default();
        for (i, stream) in streams.iter().enumerate() {
            if i >= u64::BITS as usize || stream.packets.is_some() || stream.shape.reads == stream.shape.writes {
                return None;
            }
            let kind = usize::from(stream.shape.reads);
            kinds.all[kind] |= 1 << i;
            kinds.asking[kind] |= u64::from(!stream.quiet()) << i;
        }
        Some(kinds)
    }

    /// The first of some from a place on, round about.
    #[inline]
    fn first(some: u64, from: usize) -> usize {
        let behind = some & (u64::MAX << from);
        if behind != 0 { behind.trailing_zeros() as usize } else { some.trailing_zeros() as usize }
    }
}

/// All that one port of a part asks for.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Requester {
    pub(in crate::sim) streams: Vec<Stream>,
    kinds: Option<Kinds>,
    /// The flow whose turn it is.
    turn: usize,
    /// The read whose turn it is to take a tag, and the write whose turn it is to take posted credits: what is scarce
    /// goes round among those that wait for it. By one turn for all, whoever stands behind a busy flow of the other
    /// kind would take it most often.
    turns: [usize; 2],
    /// Picks the flow of the next operation.
    pub(in crate::sim) random: Option<Xoshiro256PlusPlus>,
    pub(in crate::sim) tags: Tags,
    /// How fast it is by itself.
    pub(in crate::sim) limits: Limits,
    /// The engine's own part of a read's latency.
    pub(in crate::sim) latency: u64,
    /// Carries what was read to its place: its rate, and when it is free.
    pub(in crate::sim) bus: Option<Gate>,
    /// Moves each read's data to their place, beside those of others.
    pub(in crate::sim) moves: Option<Pace>,
    reads: Slab<Read>,
    ops: Slab<Op>,
    /// What will be done when, the earliest first.
    finishing: VecDeque<(u64, Finish)>,
    /// Flows whose doorbells wait to go, and how many of each.
    bells: VecDeque<(u32, u64)>,
}

impl Requester {
    pub(in crate::sim) fn new() -> Requester {
        Requester {
            streams: Vec::new(),
            kinds: None,
            turn: 0,
            turns: [0; 2],
            random: None,
            tags: Tags::None,
            limits: Limits::default(),
            latency: 0,
            bus: None,
            moves: None,
            reads: Slab::new(),
            ops: Slab::new(),
            finishing: VecDeque::new(),
            bells: VecDeque::new(),
        }
    }

    /// One stream more; gives its place.
    pub(in crate::sim) fn add(&mut self, stream: Stream) -> usize {
        self.streams.push(stream);
        self.kinds = Kinds::of(&self.streams);
        self.streams.len() - 1
    }

    /// Another side asks for a transfer of its stream at a place. Whether it can.
    pub(in crate::sim) fn feed(&mut self, place: usize, transfer: Transfer) -> bool {
        let Some(stream) = self.streams.get_mut(place) else { return false };
        let Source::ExternallyDriven(transfers) = &mut stream.source else { return false };
        transfers.push_back(transfer);
        if let Some(kinds) = &mut self.kinds {
            kinds.asking[usize::from(stream.shape.reads)] |= 1 << place;
        }
        true
    }

    /// The processor rings for a flow of a NIC.
    pub(in crate::sim) fn rings(&mut self, flow: u32, times: u64) {
        match self.bells.iter_mut().find(|b| b.0 == flow) {
            Some(bell) => bell.1 += times,
            None => self.bells.push_back((flow, times)),
        }
    }

    /// The next TLP for a free port; or why there is none, and when to ask again. Doorbells go first: few and small.
    pub(in crate::sim) fn pull(&mut self, wire: u32, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        let lack = match self.bell(wire, now, net) {
            Some(Ok(tlp)) => return Ok(tlp),
            Some(Err(lack)) => lack,
            None => Idle::NothingToSend,
        };
        let other = match self.random.is_some() {
            true => self.pull_picked(wire, now, net),
            false => self.pull_in_turn(wire, now, net),
        };
        other.map_err(|(idle, wake)| (idle.max(lack), wake))
    }

    /// The next doorbell, if one waits; or what it lacks.
    fn bell(&mut self, wire: u32, now: u64, net: &mut Net) -> Option<Result<Tlp, Idle>> {
        let (flow, times) = self.bells.front_mut()?;
        let state = &net.flows[*flow as usize];
        let (bell, at) = (state.doorbell.as_ref()?, state.back);
        let (body, payload) = (bell.body, bell.payload);
        let out = &mut net.wires[wire as usize];
        if !out.may_send(Class::Posted, body, payload, now) {
            return Some(Err(out.lack(Class::Posted, payload)));
        }
        let flow = *flow;
        *times -= 1;
        let more = *times;
        self.bells.pop_front();
        // They take turns.
        self.bells.extend((more > 0).then_some((flow, more)));
        Some(Ok(Tlp {
            head: 0,
            tail: 0,
            ready: 0,
            born: now,
            at,
            flow,
            tag: 0,
            body,
            payload,
            asks: 0,
            class: Class::Posted,
            last: true,
            control: true,
        }))
    }

    /// Whether its next TLP is known to be like the one that has just gone, whenever that is: of a single flow that
    /// always has one, which nothing holds up but the port.
    pub(in crate::sim) fn repeats(&self, tlp: &Tlp) -> bool {
        let [stream] = &self.streams[..] else { return false };
        let Shape { reads, writes, size, payload, .. } = stream.shape;
        writes
            && !reads
            && stream.source.saturates()
            && !self.limits.any()
            && self.random.is_none()
            && stream.packets.is_none()
            && self.bells.is_empty()
            && stream.current.map_or(size, |issue| issue.left).min(payload) == u64::from(tlp.payload)
    }

    /// That of the flows in turn.
    fn pull_in_turn(&mut self, wire: u32, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        let n = self.streams.len();
        if n == 1 && !self.streams[0].quiet() {
            return self.offer(0, wire, now, net);
        }
        if let Some(kinds) = self.kinds {
            return self.pull_by_kind(kinds, wire, now, net);
        }
        let next = |i: usize| if i + 1 < n { i + 1 } else { 0 };
        let (mut idle, mut wake, mut tried, mut i) = (Idle::NothingToSend, NEVER, [false; 2], self.turn);
        for _ in 0..n {
            let kind = self.streams[i].reads_next();
            if !std::mem::replace(&mut tried[usize::from(kind)], true) {
                let mut j = self.turns[usize::from(kind)];
                for _ in 0..n {
                    if !self.streams[j].quiet() && self.streams[j].reads_next() == kind {
                        match self.offer(j, wire, now, net) {
                            Ok(tlp) => {
                                self.turns[usize::from(kind)] = next(j);
                                self.turn = next(i);
                                return Ok(tlp);
                            }
                            // It lacks nothing but the port's gap: the turn is its own, or what needs no change of
                            // direction would always be sooner.
                            Err((Idle::Pace, at)) if at > now && at == self.limits.gaps.opens(kind) => {
                                return Err((idle.max(Idle::Pace), wake.min(at)));
                            }
                            Err((why, at)) => (idle, wake) = (idle.max(why), wake.min(at)),
                        }
                    }
                    j = next(j);
                }
                if tried[usize::from(!kind)] {
                    break;
                }
            }
            i = next(i);
        }
        Err((idle, wake))
    }

    /// The same where it is known who is not quiet.
    fn pull_by_kind(&mut self, kinds: Kinds, wire: u32, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        let n = self.streams.len();
        let next = |i: usize| if i + 1 < n { i + 1 } else { 0 };
        let (mut idle, mut wake) = (Idle::NothingToSend, NEVER);
        // First what the stream whose turn it is sends, then the other.
        let reads = kinds.all[1] >> self.turn & 1 == 1;
        for kind in [reads, !reads] {
            let (all, mut left) = (kinds.all[usize::from(kind)], kinds.asking[usize::from(kind)]);
            while left != 0 {
                let j = Kinds::first(left, self.turns[usize::from(kind)]);
                left &= !(1 << j);
                match self.offer(j, wire, now, net) {
                    Ok(tlp) => {
                        self.turns[usize::from(kind)] = next(j);
                        self.turn = next(Kinds::first(all, self.turn));
                        return Ok(tlp);
                    }
                    // As above.
                    Err((Idle::Pace, at)) if at > now && at == self.limits.gaps.opens(kind) => {
                        return Err((idle.max(Idle::Pace), wake.min(at)));
                    }
                    Err((why, at)) => (idle, wake) = (idle.max(why), wake.min(at)),
                }
            }
        }
        Err((idle, wake))
    }

    /// The same where the flow of each operation is drawn: who was picked keeps its turn while it waits for something,
    /// but not while it has nothing to do.
    fn pull_picked(&mut self, wire: u32, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        let n = self.streams.len();
        let (mut idle, mut wake) = (Idle::NothingToSend, NEVER);
        for k in 0..n {
            let i = if self.turn + k < n { self.turn + k } else { self.turn + k - n };
            match self.offer(i, wire, now, net) {
                Ok(tlp) => {
                    if self.streams[i].current.is_none() {
                        self.pick();
                    } else {
                        self.turn = i;
                    }
                    return Ok(tlp);
                }
                Err((why, at)) => {
                    (idle, wake) = (idle.max(why), wake.min(at));
                    if why != Idle::NothingToSend {
                        break;
                    }
                }
            }
        }
        Err((idle, wake))
    }

    /// Of each flow with a closed load: operations that are due and have not begun, and the sum of when they became
    /// due.
    pub(in crate::sim) fn waiting(&self, now: u64, flows: &[FlowState]) -> impl Iterator<Item = (u32, u64, u128)> {
        self.streams.iter().map(move |s| {
            let (first, from) = s.source.unasked();
            let first = if from <= now { first as u64 } else { 0 };
            let due = flows[s.flow as usize].again.iter().take_while(|at| **at <= now);
            let (mut n, mut sum) = due.fold((0, 0), |(n, sum), at| (n + 1, sum + *at as u128));
            (n, sum) = (n + first, sum + first as u128 * from as u128);
            if let (Some(issue), true) = (s.current.filter(|i| !i.started), s.source.is_closed()) {
                (n, sum) = (n + 1, sum + issue.born as u128);
            }
            (s.flow, n, sum)
        })
    }

    /// Draws the flow of the next operation.
    pub(in crate::sim) fn pick(&mut self) {
        if let Some(random) = &mut self.random {
            self.turn = (((random.next_u64() >> 32) * self.streams.len() as u64) >> 32) as usize;
        }
    }

    fn offer(&mut self, i: usize, wire: u32, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        if let Some(what) = self.streams[i].control_due() {
            return self.control(i, what, wire, now, net);
        }
        let stream = &mut self.streams[i];
        let flow = stream.flow as usize;
        let mut issue = match stream.current {
            Some(issue) => issue,
            None => {
                let born = match stream.source.next(now, &mut net.flows[flow].again) {
                    Next::Now(born) => born,
                    Next::At(at) => return Err((Idle::NothingToSend, at)),
                };
                let read = stream.reads_next();
                let (size, token, control) =
                    stream.source.transfer().map_or((stream.shape.size, 0, false), |t| (t.bytes, t.token, t.control));
                let issue = Issue { read, born, left: size, op: u32::MAX, started: false, token, control };
                stream.current = Some(issue);
                issue
            }
        };
        let shape = &stream.shape;
        let (class, asks, payload) = if issue.read {
            (Class::NonPosted, issue.left.min(shape.request), 0)
        } else {
            (Class::Posted, 0, issue.left.min(shape.payload))
        };
        let bytes = asks + payload;
        let open = self.limits.opens(issue.read, !issue.started, stream.packets.is_some());
        if open > now {
            return Err((Idle::Pace, open));
        }
        let engine = if issue.read { self.tags.ready(now)? } else { 0 };
        let body = pcie::tlp_body(shape.header, payload, shape.ecrc) as u16;
        if !net.wires[wire as usize].may_send(class, body, payload as u16, now) {
            return Err((net.wires[wire as usize].lack(class, payload as u16), NEVER));
        }
        let gap = if self.limits.any() { self.limits.gaps.opens(issue.read) } else { 0 };
        if gap > now {
            return Err((Idle::Pace, gap));
        }
        // It goes.
        self.limits.pass(issue.read, bytes, now, || {
            let wire = &net.wires[wire as usize];
            if !issue.read {
                return wire.bytes(body).into();
            }
            let answer = net.flows[flow].answer;
            pcie::cut(wire.generation, Header::Dw3, asks, answer.piece(asks).max(1), answer.ecrc).1
        });
        if !issue.started {
            self.limits.begin(issue.read, stream.packets.as_ref().map(|p| p.line), now);
            issue.started = true;
            // A saturating load's operation begins when it goes; others have waited.
            if stream.source.saturates() {
                issue.born = now;
            }
            net.flows[flow].started(issue.born);
            if let Some(packets) = &mut stream.packets {
                packets.begun += 1;
            }
            if issue.read {
                let (flow, left) = (flow as u32, issue.left);
                issue.op =
                    self.ops.add(Op { flow, born: issue.born, left, size: left, begun: false, token: issue.token });
            } else {
                net.flows[flow].wrote(issue.token);
            }
        }
        issue.left -= bytes;
        let last = issue.left == 0;
        let mut tag = 0;
        if issue.read {
            self.tags.take(engine);
            tag = self.reads.add(Read { op: issue.op, engine, left: asks as u32, size: asks as u32 });
        }
        stream.was_read = issue.read;
        stream.current = (!last).then_some(issue);
        if last
            && let Some(kinds) = &mut self.kinds
            && stream.quiet()
        {
            kinds.asking[usize::from(issue.read)] &= !(1 << i);
        }
        Ok(Tlp {
            head: 0,
            tail: 0,
            ready: 0,
            born: issue.born,
            at: net.flows[flow].there,
            flow: flow as u32,
            tag,
            body,
            payload: payload as u16,
            asks: asks as u16,
            class,
            last,
            control: issue.control,
        })
    }

    /// Sends descriptors' read request, or a write of entries, which no operation counts.
    fn control(&mut self, i: usize, what: Control, wire: u32, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        let stream = &mut self.streams[i];
        let read = what == Control::Fetch;
        let bytes = stream.packets.as_ref().map_or(0, |p| p.bytes(what));
        let (class, asks, payload) = if read { (Class::NonPosted, bytes, 0) } else { (Class::Posted, 0, bytes) };
        let engine = if read { self.tags.ready(now)? } else { 0 };
        let body = pcie::tlp_body(stream.shape.header, payload, stream.shape.ecrc) as u16;
        if !net.wires[wire as usize].may_send(class, body, payload as u16, now) {
            return Err((net.wires[wire as usize].lack(class, payload as u16), NEVER));
        }
        if let Some(packets) = &mut stream.packets {
            packets.went(what);
        }
        let tag = match what {
            Control::Write(which) => which as u32,
            Control::Fetch => {
                self.tags.take(engine);
                self.reads.add(Read { op: u32::MAX, engine, left: asks as u32, size: asks as u32 })
            }
        };
        let flow = stream.flow;
        let at = net.flows[flow as usize].there;
        let (payload, asks) = (payload as u16, asks as u16);
        Ok(Tlp {
            head: 0,
            tail: 0,
            ready: 0,
            born: now,
            at,
            flow,
            tag,
            body,
            payload,
            asks,
            class,
            last: true,
            control: true,
        })
    }

    /// A completion has come in; `first_data` is when its first double word did. Gives the next moment at which
    /// something is finished, and whether something is at once.
    #[inline(always)]
    pub(in crate::sim) fn completion(&mut self, tlp: &Tlp, first_data: u64, now: u64, net: &mut Net) -> (u64, bool) {
        let read = &mut self.reads.all[tlp.tag as usize];
        read.left -= tlp.payload as u32;
        let (left, read) = (read.left, *read);
        if read.op == u32::MAX {
            // Descriptors, which no operation counts; the engine has them as late as any data.
            let done = now.saturating_add(self.latency);
            if left == 0 && done <= now {
                self.finish(Finish::Request(tlp.tag), now, net);
            } else if left == 0 {
                self.finish_at(done, Finish::Request(tlp.tag));
            }
            return (self.next_finish(), left == 0 && done <= now);
        }
        let op = &mut self.ops.all[read.op as usize];
        let flow = &mut net.flows[tlp.flow as usize];
        flow.received(tlp.payload as u64);
        if !op.begun {
            op.begun = true;
            flow.first_data(first_data + self.latency - op.born);
        }
        op.left -= tlp.payload as u64;
        if left > 0 {
            return (self.next_finish(), false);
        }
        let (whole, size) = (op.left == 0, op.size);
        let mut done = now.saturating_add(self.latency);
        let mut op_done = done;
        if let Some(bus) = &mut self.bus {
            bus.at = bus.at.max(done).saturating_add(bus.pace.span(read.size as u64));
            op_done = done.saturating_add(bus.pace.span(size));
            done = bus.at;
        }
        if let Some(pace) = &self.moves {
            op_done = op_done.saturating_add(pace.span(size));
            done = done.saturating_add(pace.span(read.size as u64));
        }
        if done <= now {
            self.finish(Finish::Request(tlp.tag), now, net);
        } else {
            self.finish_at(done, Finish::Request(tlp.tag));
        }
        if whole {
            let (at, what) = (op_done.max(done), Finish::Operation(read.op));
            if at <= now {
                self.finish(what, now, net);
            } else {
                self.finish_at(at, what);
            }
        }
        (self.next_finish(), done <= now)
    }

    /// Finishes what is due; gives the next such moment.
    pub(in crate::sim) fn tick(&mut self, now: u64, net: &mut Net) -> u64 {
        while let Some((at, what)) = self.finishing.front().copied().filter(|f| f.0 <= now) {
            self.finishing.pop_front();
            self.finish(what, at, net);
        }
        self.next_finish()
    }

    /// In order: an operation may be done later than requests that come after it.
    fn finish_at(&mut self, at: u64, what: Finish) {
        let behind = self.finishing.iter().rev().take_while(|f| f.0 > at).count();
        self.finishing.insert(self.finishing.len() - behind, (at, what));
    }

    fn next_finish(&self) -> u64 {
        self.finishing.front().map_or(NEVER, |f| f.0)
    }

    fn finish(&mut self, what: Finish, at: u64, net: &mut Net) {
        match what {
            Finish::Request(tag) => {
                let read = self.reads.remove(tag);
                self.tags.release(read.engine, at);
            }
            Finish::Operation(op) => {
                let op = self.ops.remove(op);
                net.finished(op.flow, op.born, at, Some(op.token));
            }
        }
    }
}
