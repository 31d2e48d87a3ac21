//! A station: messages wait in the application, go as frames into the buffers of adapter and MAC, and out; frames for
//! it come in and are taken at once.
//!
//! Where nothing tells one destination from another there is one FIFO: messages are drawn from the sources when there
//! is room for them. Otherwise they stand in lanes, one for each destination, and those lanes that may send take turns,
//! among those that fill the same buffers: a class never moves the turn of another.
//! A pause holds up what is in the MAC; a stopped destination, a missing grant or a rate limit hold up a lane.

use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::ethernet::client::{Adapter, StationEvent};
use crate::sim::ethernet::lane::{Lane, Message, Next, Sender};
use crate::sim::ethernet::queue_pair::Rule;
use crate::sim::ethernet::rates::Constants;
use crate::sim::ethernet::{Frame, Kind, List, NONE, Net, Why};
use std::collections::VecDeque;

/// Buffers of adapter and MAC: of all frames, or of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    mac: List,
    nic: List,
    mac_used: u64,
    nic_used: u64,
}

/// What one source has asked of this station and been granted, in frames since time 0.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    lane: u32,
    /// The source.
    node: u32,
    wanted: u64,
    granted: u64,
}

/// How a station grants: so many frames of the longest kind may be on their way to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    pub(super) pool: u64,
    outstanding: u64,
    /// By lane.
    demands: Vec<Demand>,
    turn: usize,
}

impl Grants {
    pub(super) fn new(pool: u64) -> Grants {
        Grants { pool, ..Grants::default() }
    }

    fn of(&mut self, lane: u32, node: u32) -> &mut Demand {
        let at = self.demands.binary_search_by_key(&lane, |d| d.lane).unwrap_or_else(|at| {
            self.demands.insert(at, Demand { lane, node, wanted: 0, granted: 0 });
            at
        });
        &mut self.demands[at]
    }
}

/// Frames that one grant is for, at most: half of the grants, at the price of a little more in the memory.
const GRANT: u64 = 2;
/// What a source that always has something announces, in frames.
const ENDLESS: u64 = 1 << 10;

/// How lanes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// None: one FIFO, filled when there is room.
    No,
    /// One, which holds so much and no more.
    One,
    /// For each destination; frames of each class have buffers of their own.
    Classes,
    /// For each destination, which may be stopped.
    Stops,
    /// For each destination, which must grant.
    Grants,
    /// For each destination, at a rate of its own.
    Rates,
}

impl Lanes {
    /// The buffers that frames of a lane go into.
    fn buffers(self, lane: &Lane) -> usize {
        if self == Lanes::Classes { lane.class as usize } else { 0 }
    }

    /// A lane with such a number has something to send: it has its turn behind those that have.
    pub(super) fn activate(self, lane: &mut Lane, number: u32, active: &mut [VecDeque<u32>]) {
        if !std::mem::replace(&mut lane.active, true) {
            active[self.buffers(lane)].push_back(number);
        }
    }
}

/// A station in a run.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) node: u32,
    pub(super) out: u32,
    pub(super) timer: u32,
    /// When what always has something to send begins; never again, once it has.
    from: u64,
    pub(super) response: u64,
    mac: u64,
    nic: u64,
    /// What waits in the application at most, and what does.
    bound: u64,
    backlog: u64,
    pub(super) messages: usize,
    pub(super) senders: Vec<Sender>,
    pub(super) kind: Lanes,
    pub(super) lanes: Vec<Lane>,
    /// Lanes with something to send in the order of their turns, for each of `inside`.
    pub(super) active: Vec<VecDeque<u32>>,
    pub(super) inside: Vec<Inside>,
    turn: usize,
    /// Messages that have been taken out of the FIFO.
    served: u64,
    /// What is being sent: its buffers and bytes.
    sending: (usize, u64),
    pub(super) constants: Option<Constants>,
    pub(super) grants: Option<Grants>,
    /// How queue pairs send again, and the earliest moment at which one may.
    pub(super) rule: Rule,
    pub(super) deadline: u64,
    /// Of a channel adapter's station.
    pub(super) adapter: Option<Box<Adapter>>,
}

impl Station {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        node: u32,
        out: u32,
        response: u64,
        (mac, nic): (u64, u64),
        bound: u64,
        kind: Lanes,
        classes: usize,
        constants: Option<Constants>,
        rule: Rule,
    ) -> Station {
        let inside = Inside { mac: List::EMPTY, nic: List::EMPTY, mac_used: 0, nic_used: 0 };
        let buffers = if kind == Lanes::Classes { classes } else { 1 };
        Station {
            node,
            out,
            timer: 0,
            from: 0,
            response,
            mac,
            nic,
            bound,
            backlog: 0,
            messages: 0,
            senders: Vec::new(),
            kind,
            lanes: Vec::new(),
            active: vec![VecDeque::new(); buffers],
            inside: vec![inside; buffers],
            turn: 0,
            served: 0,
            sending: (0, 0),
            constants,
            grants: None,
            rule,
            deadline: NEVER,
            adapter: None,
        }
    }

    /// What always has something to send begins at a moment.
    pub(super) fn starts(&mut self, at: u64) {
        self.from = at;
        self.senders.iter_mut().for_each(|s| s.source.starts(at));
    }

    /// Whether anything here always has something to send.
    pub(super) fn saturates(&self) -> bool {
        self.senders.iter().any(|s| s.source.saturates())
    }

    /// Lanes that always have something begin. Gives the moment, as long as it is to come.
    fn ready(&mut self, now: u64) -> u64 {
        if now < self.from {
            return self.from;
        }
        self.from = NEVER;
        for (number, lane) in (0u32..).zip(&mut self.lanes).filter(|(_, l)| l.endless.is_some()) {
            self.kind.activate(lane, number, &mut self.active);
        }
        NEVER
    }

    /// Whether no lane has anything to send.
    fn is_done(&self) -> bool {
        self.active.iter().all(VecDeque::is_empty)
    }

    /// Takes in what there is room for, sends if the wire is free, and sets the timers for what comes next.
    pub(super) fn pull(&mut self, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let free = net.wires[self.out as usize].free;
        if now >= free && self.sending.1 > 0 {
            let (which, bytes) = std::mem::take(&mut self.sending);
            self.inside[which].mac_used -= bytes;
            self.move_up(which, net);
        }
        let before = self.adapter.as_ref().is_some_and(|a| a.first) && self.take_packets(net);
        let (mut next, mut full) = match self.kind {
            Lanes::No => self.fill(now, net).map_or((NEVER, true), |next| (next, false)),
            _ => self.fill_from_lanes(now, net),
        };
        if self.adapter.is_some() {
            full |= before | self.take_packets(net);
            next = next.min(self.say_again(now, net));
        }
        agenda.set(self.timer, next);
        self.send(now, full, net, agenda);
    }

    /// Frames go from the adapter to the MAC while they fit.
    fn move_up(&mut self, which: usize, net: &mut Net) {
        let inside = &mut self.inside[which];
        while !inside.nic.is_empty() {
            let bytes = net.frames[inside.nic.first].bytes as u64;
            if inside.mac_used + bytes > self.mac {
                return;
            }
            let Some(id) = inside.nic.pop(&net.frames) else { return };
            inside.nic_used -= bytes;
            inside.mac_used += bytes;
            inside.mac.push(id, &mut net.frames);
        }
    }

    /// Whether a frame finds room.
    #[inline]
    pub(super) fn has_room(&self, which: usize, bytes: u64) -> bool {
        let i = &self.inside[which];
        i.nic_used + bytes <= self.nic || i.nic.is_empty() && i.mac_used + bytes <= self.mac
    }

    /// A frame leaves the application.
    #[inline(always)]
    fn enter(&mut self, which: usize, made: Frame, net: &mut Net) {
        net.streams[made.stream as usize].tally.sent += 1;
        if let Some(a) = &mut self.adapter {
            a.first = true;
        }
        self.put(which, made, net);
    }

    /// A frame goes into the buffers.
    #[inline(always)]
    pub(super) fn put(&mut self, which: usize, made: Frame, net: &mut Net) {
        let inside = &mut self.inside[which];
        let bytes = made.bytes as u64;
        let id = net.frames.put(made);
        if inside.nic.is_empty() && inside.mac_used + bytes <= self.mac {
            inside.mac_used += bytes;
            inside.mac.push(id, &mut net.frames);
        } else {
            inside.nic_used += bytes;
            inside.nic.push(id, &mut net.frames);
        }
    }

    /// A small frame goes before all in the MAC, and needs no room.
    pub(super) fn enter_first(&mut self, which: usize, made: Frame, net: &mut Net) {
        let inside = &mut self.inside[which];
        inside.mac_used += made.bytes as u64;
        let id = net.frames.put(made);
        inside.mac.push_front(id, &mut net.frames);
    }

    /// One FIFO: the earliest message comes first. Gives the moment when the next is born; `None` when there is no room
    /// for it.
    fn fill(&mut self, now: u64, net: &mut Net) -> Option<u64> {
        loop {
            let (index, born) = match self.senders.as_slice() {
                [] => return Some(NEVER),
                [s] => (0, if s.current.is_some() { 0 } else { s.source.born }),
                all => {
                    // One that has begun goes on; else the earliest, of equals the one that was served longest ago.
                    let key = |s: &Sender| {
                        let (served, turn) = if s.source.saturates() { s.served } else { (0, 0) };
                        (s.current.is_none(), s.source.born.max(served), turn)
                    };
                    let (i, s) = all.iter().enumerate().min_by_key(|(_, s)| key(s))?;
                    (i, if s.current.is_some() { 0 } else { s.source.born })
                }
            };
            if born > now {
                return Some(born);
            }
            let s = &mut self.senders[index];
            let (birth, left_at, left, target) = match s.current {
                Some(current) => current,
                None => {
                    let birth = if s.source.saturates() { now } else { born };
                    (birth, now, s.source.bytes, s.source.target)
                }
            };
            let (data, first) = (left.min(s.payload), s.current.is_none());
            let bytes = s.bytes(data, first);
            if !self.has_room(0, bytes) {
                return None;
            }
            let s = &mut self.senders[index];
            if s.current.is_none() {
                net.streams[s.stream as usize].tally.start(birth);
                s.source.advance();
                self.served += 1;
                s.served = (now, self.served);
            }
            let rest = left - data;
            s.current = (rest > 0).then_some((birth, left_at, rest, target));
            let t = s.targets[target as usize];
            let mut made = Frame { born: birth, left: left_at, ..s.frame(t, data, first, rest == 0) };
            made.way = net.spread.way(made.way, &mut s.flowing, now);
            self.enter(0, made, net);
        }
    }

    /// Messages that are born go to their lanes.
    fn sort(&mut self, now: u64, net: &mut Net) -> u64 {
        let mut next = NEVER;
        for (i, s) in self.senders.iter_mut().enumerate().filter(|(_, s)| !s.source.saturates()) {
            while s.source.born <= now {
                let (born, bytes, target) = (s.source.born, s.source.bytes, s.source.target);
                s.source.advance();
                let tally = &mut net.streams[s.stream as usize].tally;
                tally.start(born);
                if self.backlog + bytes > self.bound {
                    let frames = bytes.div_ceil(s.payload);
                    tally.sent += frames;
                    tally.dropped += frames;
                    tally.refused += frames;
                    tally.lost += 1;
                    tally.lost_sum += born as u128;
                    continue;
                }
                let index = if self.kind == Lanes::One {
                    0
                } else {
                    // Queue pairs take turns, a message each.
                    let t = &mut s.targets[target as usize];
                    t.given = t.given.wrapping_add(1);
                    t.lane + (t.given - 1) % t.lanes
                };
                let lane = &mut self.lanes[index as usize];
                self.backlog += bytes;
                self.messages += 1;
                lane.come += bytes.div_ceil(s.payload);
                lane.messages.push_back(Message { born, left: 0, bytes, sender: i as u32, target, begun: false });
                self.kind.activate(lane, index, &mut self.active);
            }
            next = next.min(s.source.born);
        }
        next
    }

    /// Lanes that may send take turns. Gives the moment when something else may, and whether something waits for room.
    fn fill_from_lanes(&mut self, now: u64, net: &mut Net) -> (u64, bool) {
        let mut next = self.ready(now).min(self.sort(now, net)).min(self.expire(now));
        let mut full = false;
        for which in 0..self.active.len() {
            full |= self.take_turns(which, now, &mut next, net);
        }
        (next.min(self.deadline), full)
    }

    /// The same of lanes that fill the same buffers; `next` comes down to when one of them may go on.
    fn take_turns(&mut self, which: usize, now: u64, next: &mut u64, net: &mut Net) -> bool {
        // Whether a lane waits for room whose turn it is: a shorter frame behind it does not take that from it.
        let mut full = false;
        let mut passed = 0;
        while passed < self.active[which].len() {
            let Some(index) = self.active[which].pop_front() else { break };
            let Some((what, bytes)) = self.lanes[index as usize].next(&self.senders) else {
                self.lanes[index as usize].active = false;
                continue;
            };
            let lane = &mut self.lanes[index as usize];
            let mut held = lane.stopped;
            if self.kind == Lanes::Grants && lane.granted <= lane.sent {
                held = true;
                if lane.endless.is_some() {
                    lane.come = lane.sent + ENDLESS;
                }
                // Of what is granted anyway the frames themselves will tell what comes behind them.
                if lane.told < lane.come && lane.granted >= lane.told {
                    lane.told = lane.come;
                    let (node, global, come, way) = (lane.node, lane.global, lane.come, lane.way);
                    let id = net.control(self.out, Kind::Request, come, node, global, way);
                    net.frames[id].account = self.node;
                }
            }
            let lane = &mut self.lanes[index as usize];
            if let Some(limit) = lane.limit.as_ref().filter(|l| l.next > now) {
                *next = limit.next.min(*next);
                held = true;
            }
            if !held && (full || !self.has_room(which, bytes)) {
                full = true;
                held = true;
            }
            if held {
                self.active[which].push_back(index);
                passed += 1;
                continue;
            }
            passed = 0;
            match what {
                Next::Again => self.take_again(index, which, now, net),
                Next::Load => self.take_load(index, which, now, net),
                Next::Message(sender, target, data) => self.take(index, sender, target, data, which, now, net),
            }
            self.active[which].push_back(index);
        }
        full
    }

    /// Takes one frame out of a lane.
    #[allow(clippy::too_many_arguments)]
    fn take(&mut self, index: u32, sender: u32, target: u32, data: u64, which: usize, now: u64, net: &mut Net) {
        let s = &self.senders[sender as usize];
        let (t, stream, endless) = (s.targets[target as usize], s.stream, s.source.saturates());
        let lane = &mut self.lanes[index as usize];
        if lane.messages.is_empty() {
            // A sender that always has something: its message begins now.
            net.streams[stream as usize].tally.start(now);
            let m = Message { born: now, left: now, bytes: s.source.bytes, sender, target, begun: true };
            lane.messages.push_back(m);
            self.messages += 1;
        }
        let Some(m) = lane.messages.front_mut() else { return };
        // What an endless sender begins here has begun, and has had no frame.
        let first = !m.begun || m.bytes == s.source.bytes && endless;
        if !m.begun {
            (m.begun, m.left) = (true, now);
        }
        m.bytes -= data;
        let (born, left, last) = (m.born, m.left, m.bytes == 0);
        // What an endless sender begins never waited.
        if !endless {
            self.backlog -= data;
        }
        lane.sent += 1;
        if last {
            lane.messages.pop_front();
            self.messages -= 1;
        }
        if lane.endless.is_some() {
            lane.come = lane.sent + ENDLESS;
        }
        lane.told = lane.told.max(lane.come);
        let more = lane.come as u32;
        let plain = self.senders[sender as usize].frame(t, data, first, last);
        let mut made = Frame { born, left, more, lane: lane.global, ..plain };
        made.way = net.spread.way(lane.way, &mut lane.flowing, now);
        self.keep(index, &mut made, now, net);
        self.enter(which, made, net);
    }

    /// Sends if the wire is free. `full`: something in the application waits for room.
    fn send(&mut self, now: u64, full: bool, net: &mut Net, agenda: &mut Agenda) {
        let w = &mut net.wires[self.out as usize];
        if now < w.free {
            let (urgent, at) = (!w.urgent.is_empty(), w.free);
            let waits = full || urgent || self.goes_on();
            if waits {
                net.look(self.out, at, agenda)
            } else {
                net.rest(self.out, agenda)
            }
            return;
        }
        if let Some(id) = w.urgent.pop(&net.frames) {
            net.transmit(self.out, id, now, agenda);
            net.look(self.out, net.wires[self.out as usize].free, agenda);
            return;
        }
        let (mut until, mut chosen) = (NEVER, None);
        let n = self.inside.len();
        for i in 0..n {
            let which = if self.turn + i < n { self.turn + i } else { self.turn + i - n };
            let first = self.inside[which].mac.first;
            if first == NONE {
                continue;
            }
            match w.blocked(net.frames[first].class as usize, now) {
                Some(at) => until = until.min(at),
                None => {
                    chosen = Some(which);
                    break;
                }
            }
        }
        let Some(which) = chosen else {
            let why = if until < NEVER {
                Why::Paused
            } else if self.is_done() {
                if self.fetches() { Why::Host } else { Why::Nothing }
            } else {
                match self.kind {
                    Lanes::Stops => Why::Stopped,
                    Lanes::Grants => Why::Grants,
                    _ if self.constants.is_some() => Why::Pace,
                    Lanes::No | Lanes::One | Lanes::Classes | Lanes::Rates => Why::Nothing,
                }
            };
            w.idles(now, why);
            if until < NEVER {
                net.look(self.out, until, agenda)
            } else {
                net.rest(self.out, agenda)
            }
            return;
        };
        self.turn = which + 1;
        let Some(id) = self.inside[which].mac.pop(&net.frames) else { return };
        self.sending = (which, net.frames[id].bytes as u64);
        net.transmit(self.out, id, now, agenda);
        let free = net.wires[self.out as usize].free;
        let waits = full || self.goes_on();
        if waits { net.look(self.out, free, agenda) } else { net.rest(self.out, agenda) }
    }

    /// Whether there is something to look at when the wire falls free: frames, or why there are none.
    fn goes_on(&self) -> bool {
        let paced = self.constants.is_some() && !self.is_done();
        self.inside.iter().any(|i| !i.mac.is_empty() || !i.nic.is_empty()) || self.fetches() || paced
    }

    /// Whether its adapter waits for its host.
    fn fetches(&self) -> bool {
        self.adapter.as_ref().is_some_and(|a| a.fetches)
    }

    /// A frame has come.
    #[inline]
    pub(super) fn arrive(&mut self, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let f = &net.frames[id];
        if f.kind == Kind::Data {
            let (last, marked, headers, stream, connection) = (f.last, f.marked, f.headers, f.stream, f.lane);
            if marked {
                let f = *f;
                self.notify(&f, now, net, agenda);
            }
            if net.numbers(&net.frames[id]) {
                self.receive(id, now, net, agenda);
                return;
            }
            self.accept(id, now, net, agenda);
            if last && headers > 0 && stream != NONE {
                let from = net.network.streams[stream as usize].source.0;
                net.answer(self.out, Kind::Ack, connection, from, 0);
                self.pull(now, net, agenda);
            }
            return;
        }
        let f = *f;
        net.frames.drop(id);
        match f.kind {
            Kind::Cnp => {
                let lane = net.pairs.get(f.lane as usize).and_then(|p| self.lanes.get_mut(p.lane as usize));
                if let (Some(limit), Some(c)) = (lane.and_then(|l| l.limit.as_mut()), &self.constants) {
                    limit.notified(c, now);
                }
            }
            Kind::Ack | Kind::Nak => self.heard(&f, now, net, agenda),
            Kind::Reply => {
                net.events.push(StationEvent::Came(f.lane));
                self.heard(&f, now, net, agenda);
            }
            Kind::Grant => {
                let first = self.lanes.first().map_or(NONE, |l| l.global);
                if let Some(lane) = self.lanes.get_mut(f.lane.wrapping_sub(first) as usize) {
                    lane.granted += f.born;
                    self.pull(now, net, agenda);
                }
            }
            Kind::Request => self.want(f.account, f.lane, f.born, now, net, agenda),
            _ => {}
        }
    }

    /// A frame is taken by whom it is for.
    pub(super) fn accept(&mut self, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let &Frame { stream, lane, more, .. } = &net.frames[id];
        if stream == NONE {
            net.frames.drop(id);
            net.events.push(StationEvent::Came(lane));
            return;
        }
        net.deliver(id, now);
        if let Some(grants) = &mut self.grants {
            grants.outstanding -= 1;
            let from = net.network.streams[stream as usize].source.0;
            let known = grants.of(lane, from).wanted;
            // The frame tells the low bits of a number that only rises.
            let ahead = more.wrapping_sub(known as u32);
            let wanted = if ahead < 1 << 31 { known + ahead as u64 } else { known };
            self.want(from, lane, wanted, now, net, agenda);
        }
    }

    /// Tells the source of a marked frame to slow down, not too often.
    fn notify(&mut self, f: &Frame, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let interval = self.constants.as_ref().map_or(0, |c| c.interval);
        let number = f.pair();
        let Some(pair) = net.pairs.get_mut(number as usize) else { return };
        let again = pair.notified == NEVER || now - pair.notified >= interval;
        let from = pair.from;
        if again {
            pair.notified = now;
        }
        match net.streams.get_mut(f.stream as usize) {
            Some(stream) => {
                stream.tally.marked += 1;
                stream.tally.notified += u64::from(again);
            }
            None => {
                pair.marks += 1;
                pair.cnps += u64::from(again);
            }
        }
        if again {
            let id = net.control(self.out, Kind::Cnp, 0, from, number, number);
            net.frames[id].bytes = CNP_FRAME;
            self.pull(now, net, agenda);
        }
    }

    /// A source has had so many frames for this station since time 0: grants what the pool allows, in turns.
    fn want(&mut self, from: u32, lane: u32, wanted: u64, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let Some(g) = &mut self.grants else { return };
        let demand = g.of(lane, from);
        demand.wanted = demand.wanted.max(wanted);
        let (n, mut passed, mut given) = (g.demands.len(), 0, false);
        while passed < n && g.outstanding < g.pool {
            g.turn = (g.turn + 1) % n;
            let d = &mut g.demands[g.turn];
            let grant = (d.wanted - d.granted).min(GRANT).min(g.pool - g.outstanding);
            if grant == 0 {
                passed += 1;
                continue;
            }
            passed = 0;
            g.outstanding += grant;
            d.granted += grant;
            net.control(self.out, Kind::Grant, grant, d.node, d.lane, d.lane);
            given = true;
        }
        if given {
            self.pull(now, net, agenda);
        }
    }

    /// A control frame of the switch.
    pub(super) fn obey(&mut self, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let f = net.frames[id];
        net.frames.drop(id);
        match f.kind {
            Kind::Stop | Kind::Go => {
                for lane in self.lanes.iter_mut().filter(|l| l.node == f.target) {
                    lane.stopped = f.kind == Kind::Stop;
                }
            }
            _ => net.obey(self.out, &f, self.response, now),
        }
        self.pull(now, net, agenda);
    }

    /// Whether frames of a class stand in the MAC.
    pub(super) fn holds(&self, class: usize, frames: &crate::sim::ethernet::Arena) -> bool {
        self.inside.iter().any(|i| !i.mac.is_empty() && frames[i.mac.first].class as usize == class)
    }

    /// Frames in the buffers of adapter and MAC.
    pub(super) fn waiting<'a>(&'a self, frames: &'a crate::sim::ethernet::Arena) -> impl Iterator<Item = u32> + 'a {
        self.inside.iter().flat_map(|i| i.mac.iter(frames).chain(i.nic.iter(frames)))
    }

    /// The rows of frames in these buffers.
    pub(super) fn rows(&mut self) -> impl Iterator<Item = &mut List> {
        self.inside.iter_mut().flat_map(|i| [&mut i.mac, &mut i.nic])
    }

    /// It belongs to another part of the fabric: here it has nothing.
    pub(super) fn leaves(&mut self) {
        (self.senders, self.lanes, self.messages) = (Vec::new(), Vec::new(), 0);
        self.active.iter_mut().for_each(VecDeque::clear);
        self.rows().for_each(|row| *row = List::EMPTY);
    }

    /// Whether what it has to send waits for others: stopped destinations, or grants.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.kind, Lanes::Stops | Lanes::Grants) && !self.is_done()
    }

    /// Messages that are born and have not begun, added to those of all streams.
    pub(super) fn backlogs(&self, now: u64, all: &mut [u64]) {
        for s in &self.senders {
            all[s.stream as usize] += s.source.backlog(now);
        }
        for m in self.lanes.iter().flat_map(|l| &l.messages).filter(|m| !m.begun) {
            all[self.senders[m.sender as usize].stream as usize] += 1;
        }
    }
}

/// A congestion notification packet of RoCEv2: Ethernet 18, IPv4 20, UDP 8, BTH 12, reserved 16, ICRC 4 (InfiniBand
/// Architecture, annex A17.9.3).
const CNP_FRAME: u16 = 78;
