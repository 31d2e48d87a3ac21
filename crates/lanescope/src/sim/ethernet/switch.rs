//! A switch: frames come in, stand in a memory until their port has sent them, and what they fill up makes it stop the
//! senders.
//!
//! Memory is written off when a frame's last bit has left. Those moments are kept in a row and worked off when the
//! switch next acts; only while somebody is stopped does a timer look at each, since the moment at which the memory
//! falls below the low threshold is then one that others see.

use crate::plan::ethernet::{Buffering, NodeId};
use crate::protocol::ethernet::QUANTUM_BITS;
use crate::scenario::keys::{Buffers, CongestionControl, FlowControl, Scheduling};
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::ethernet::{Arena, Kind, NONE, Net, Stored, Why, Wire};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::VecDeque;

/// Accounts from here on are of queues whose frames are dropped where there is no room; [`NONE`] is no account.
const LOSSY: u32 = 1 << 31;

/// A frame whose last bit leaves at a known moment.
#[derive(Clone, Copy, Debug)]
struct Release {
    at: u64,
    /// Account, pool and bytes. One word: what is stored in pieces and loaded whole soon after waits for the store.
    what: u64,
}

impl Release {
    #[inline]
    fn new(at: u64, bytes: u16, pool: u16, account: u32) -> Release {
        Release { at, what: u64::from(account) << 32 | u64::from(pool) << 16 | u64::from(bytes) }
    }

    #[inline]
    fn bytes(self) -> u64 {
        self.what & 0xffff
    }

    #[inline]
    fn pool(self) -> usize {
        (self.what >> 16 & 0xffff) as usize
    }

    #[inline]
    fn account(self) -> u32 {
        (self.what >> 32) as u32
    }
}

/// What a sender is stopped by: the memory in use (pause), a port's frames of a class (PFC), an output queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    used: u64,
    stopped: bool,
    /// When the stop must be said again.
    again: u64,
}

/// The class that deficit round robin serves next; without one, from when on one may send. The class whose turn it is
/// goes on as long as it has bytes left; each that gets its turn gains its quantum. One that is empty loses what it has
/// left; one that is paused keeps it, and gains nothing.
fn weighted(w: &mut Wire, deficits: &mut [u64], quanta: &[u64], now: u64, frames: &Arena) -> (Option<usize>, u64) {
    let n = w.queues.len();
    let mut until = NEVER;
    let mut class = w.turn as usize % n;
    let mut comes = false;
    // Once around for those that gain, and back to where it began.
    for _ in 0..=n {
        let first = w.queues[class].first;
        if first == NONE {
            deficits[class] = 0;
        } else if let Some(at) = w.blocked(class, now) {
            until = until.min(at);
        } else {
            let bytes = frames[first].bytes as u64;
            if comes {
                deficits[class] += quanta[class];
            }
            if bytes <= deficits[class] {
                deficits[class] -= bytes;
                return (Some(class), until);
            }
        }
        class = (class + 1) % n;
        comes = true;
    }
    (None, until)
}

/// A switch in a run. What every frame touches comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Switch {
    /// Its number among the switches.
    number: u32,
    stopped: u32,
    buffers: Buffers,
    control: FlowControl,
    congestion: CongestionControl,
    scheduling: Scheduling,
    classes: u32,
    releases: VecDeque<Release>,
    /// The moment of the first of them.
    first_release: u64,
    accounts: Vec<Account>,
    memory: u64,
    /// What one account may hold, where it is bounded.
    account_bound: u64,
    high: u64,
    latency: u64,
    stored: Stored,
    /// Bytes in use of each port's memory, where each has its own.
    used: Vec<u64>,
    /// The slot of its timer.
    pub(super) timer: u32,
    /// (wire in, wire out) of each port.
    pub(super) ports: Vec<(u32, u32)>,
    limits: Buffering,
    /// The part of the frames that is marked just below the upper threshold.
    most_marked: f64,
    quanta: u64,
    random: Xoshiro256PlusPlus,
    /// Where frames wait at the port that they came in by: those behind the first of each port, with their ways out.
    /// Only the first is in a queue.
    fifos: Vec<VecDeque<(u32, u32)>>,
    /// Frames of each port that are in a queue or being read: one or none.
    heads: Vec<bool>,
    /// The port that each port out is reading from.
    reading: Vec<u16>,
    /// Bytes of frames of classes that are not paused, and how many there may be.
    lossy: u64,
    most_lossy: u64,
    /// Of these by port out and class.
    queued: Vec<u64>,
    /// Bit n: class n is paused where it fills the memory.
    lossless: u8,
    adaptive: bool,
    /// With weights: bytes that a class gains in its turn, and has left, by port and class.
    quanta_of: Vec<u64>,
    deficits: Vec<u64>,
}

/// What a switch is made of.
pub(super) struct Parts {
    pub(super) number: u32,
    pub(super) ports: Vec<(u32, u32)>,
    pub(super) buffers: Buffers,
    pub(super) control: FlowControl,
    pub(super) congestion: CongestionControl,
    pub(super) scheduling: Scheduling,
    pub(super) limits: Buffering,
    pub(super) most_marked: f64,
    pub(super) classes: usize,
    pub(super) quanta: u64,
    pub(super) latency: u64,
    pub(super) random: Xoshiro256PlusPlus,
    pub(super) lossless: u8,
    pub(super) adaptive: bool,
    /// By class, with scheduling by weights.
    pub(super) weights: Vec<u32>,
    pub(super) longest: u64,
}

impl Switch {
    pub(super) fn new(p: Parts) -> Switch {
        let ports = p.ports.len();
        let accounts = match p.control {
            FlowControl::None | FlowControl::Credits => 0,
            FlowControl::Pause => 1,
            FlowControl::Pfc => ports * p.classes,
            FlowControl::Voq => ports,
        };
        // Each turn lets the lightest class send a longest frame, so that no turn is in vain.
        let lightest = p.weights.iter().copied().min().unwrap_or(1).max(1) as u64;
        let quanta_of = p.weights.iter().map(|w| (*w as u64 * p.longest).div_ceil(lightest)).collect();
        Switch {
            lossy: 0,
            queued: vec![0; if p.limits.lossy > 0 { ports * p.classes } else { 0 }],
            most_lossy: p.limits.lossy,
            lossless: p.lossless,
            adaptive: p.adaptive,
            quanta_of,
            deficits: vec![0; if p.scheduling == Scheduling::Weighted { ports * p.classes } else { 0 }],
            number: p.number,
            stopped: 0,
            buffers: p.buffers,
            control: p.control,
            congestion: p.congestion,
            scheduling: p.scheduling,
            classes: p.classes as u32,
            releases: VecDeque::new(),
            first_release: NEVER,
            accounts: vec![Account::default(); accounts],
            memory: p.limits.memory,
            account_bound: p.limits.account.unwrap_or(u64::MAX),
            high: p.limits.high,
            latency: p.latency,
            stored: Stored::default(),
            used: vec![0; if p.buffers == Buffers::Shared { 0 } else { ports }],
            timer: 0,
            fifos: vec![VecDeque::new(); if p.buffers == Buffers::Input { ports } else { 0 }],
            heads: vec![false; ports],
            reading: vec![u16::MAX; ports],
            ports: p.ports,
            limits: p.limits,
            most_marked: p.most_marked,
            quanta: p.quanta,
            random: p.random,
        }
    }

    /// A frame is in, or as much of it as the switch waits for.
    pub(super) fn arrive(&mut self, on: u32, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        self.sweep(now, net, agenda);
        let frame = &mut net.frames[id];
        let mut routed = net.network.routes.next(self.number, NodeId(frame.target), &mut frame.way);
        if self.adaptive && frame.kind == Kind::Data {
            // Of equal queues that of the hash.
            let ways = net.network.routes.choices(self.number, NodeId(frame.target));
            let busy = |on: u32| {
                let w = &net.wires[on as usize];
                w.queued * w.byte + w.free.saturating_sub(now)
            };
            let own = routed.map_or(u64::MAX, busy);
            routed = ways.iter().copied().filter(|w| busy(*w) < own).min_by_key(|w| busy(*w)).or(routed);
        }
        let Some(out) = routed else {
            // The plan has checked every way.
            net.frames.drop(id);
            return;
        };
        if frame.kind != Kind::Data {
            net.wires[out as usize].urgent.push(id, &mut net.frames);
            self.wake(out, now, net, agenda);
            return;
        }
        let bytes = frame.bytes as u64;
        let (port_in, port_out) = (net.wires[on as usize].port_to, net.wires[out as usize].port_from);
        let pool = match self.buffers {
            Buffers::Shared => 0,
            Buffers::Output => port_out,
            Buffers::Input => port_in,
        };
        let account = match self.control {
            FlowControl::None | FlowControl::Credits => NONE,
            FlowControl::Pause => 0,
            FlowControl::Pfc if self.lossless >> frame.class & 1 == 0 => {
                LOSSY + port_out as u32 * self.classes + frame.class as u32
            }
            FlowControl::Pfc => port_in as u32 * self.classes + frame.class as u32,
            FlowControl::Voq => port_out as u32,
        };
        let used = if self.buffers == Buffers::Shared { self.stored.now } else { self.used[pool as usize] };
        // A queue may take as much as it leaves free, so that none keeps others out (Choudhury, Hahne, Dynamic Queue
        // Length Thresholds, 1998).
        let lossy = |s: &Switch| match account.checked_sub(LOSSY) {
            Some(queue) if account != NONE => s.queued[queue as usize] + bytes > s.most_lossy.saturating_sub(s.lossy),
            _ => false,
        };
        let full = used + bytes > self.memory;
        if full || lossy(self) {
            self.stored.no_memory += 1;
            self.stored.no_lossy += u64::from(!full);
            net.lose(id, now);
            return;
        }
        if account != NONE && account >= LOSSY {
            self.lossy += bytes;
            self.queued[(account - LOSSY) as usize] += bytes;
        }
        if self.account_bound < u64::MAX
            && self.accounts.get(account as usize).is_some_and(|a| a.used + bytes > self.account_bound)
        {
            self.stored.no_headroom += 1;
            net.lose(id, now);
            return;
        }
        if self.buffers != Buffers::Shared {
            self.used[pool as usize] += bytes;
        }
        self.stored.now += bytes;
        self.stored.most = self.stored.most.max(self.stored.now);
        if let Some(trace) = &mut agenda.trace {
            trace.memory(self.number, now, self.stored.now);
        }
        (frame.account, frame.pool) = (account, pool);
        if self.congestion == CongestionControl::Dcqcn {
            // Each class has a queue of its own, and its frames are marked by what waits in that.
            let w = &net.wires[out as usize];
            frame.marked |= self.marks(w.queued_of.get(frame.class as usize).copied().unwrap_or(w.queued));
        }
        if self.buffers == Buffers::Input {
            if std::mem::replace(&mut self.heads[port_in as usize], true) {
                self.fifos[port_in as usize].push_back((id, out));
            } else {
                self.queue(out, id, now, net, agenda);
            }
            return;
        }
        self.queue(out, id, now, net, agenda);
        if account < LOSSY {
            let a = &mut self.accounts[account as usize];
            a.used += bytes;
            if a.used > self.high && !a.stopped {
                a.stopped = true;
                self.stopped += 1;
                self.tell(account, true, now, net, agenda);
            }
            if self.stopped > 0 {
                self.arm(agenda);
            }
        }
    }

    /// Whether a frame that finds so much before it is marked (RED on the queue's length, as DCQCN has it).
    fn marks(&mut self, queued: u64) -> bool {
        let Buffering { ecn_low, ecn_high, .. } = self.limits;
        if queued <= ecn_low || queued > ecn_high {
            return queued > ecn_high;
        }
        let part = (queued - ecn_low) as f64 / (ecn_high - ecn_low) as f64 * self.most_marked;
        ((self.random.next_u64() >> 11) as f64) < part * 2f64.powi(53)
    }

    /// Puts a frame into the queue of its way out, or sends it at once.
    #[inline(always)]
    fn queue(&mut self, out: u32, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if self.buffers == Buffers::Input && now >= net.wires[out as usize].free {
            // It falls free at this very moment, and its own event has yet to come.
            self.follow(out, now, net, agenda);
        }
        let w = &mut net.wires[out as usize];
        if now >= w.free && w.waiting == 0 && w.urgent.is_empty() && w.paused == 0 {
            self.send(out, id, now, net, agenda);
            return;
        }
        let f = &net.frames[id];
        let (class, bytes) = (f.class as usize, f.bytes as u64);
        w.queues[class].push(id, &mut net.frames);
        w.waiting += 1;
        w.queued += bytes;
        if let Some(queue) = w.queued_of.get_mut(class) {
            *queue += bytes;
        }
        if let Some(trace) = &mut agenda.trace {
            trace.waits(w.tx, now, w.queued);
        }
        self.wake(out, now, net, agenda);
    }

    /// Something waits for a port: it acts now, or when it falls free.
    fn wake(&mut self, out: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let w = &net.wires[out as usize];
        if now >= w.free {
            if self.buffers == Buffers::Input {
                self.follow(out, now, net, agenda);
            }
            if now < net.wires[out as usize].free {
                return;
            }
            self.serve(out, now, net, agenda);
        } else {
            net.look(out, w.free, agenda);
        }
    }

    /// A port falls free, or a pause ends.
    pub(super) fn free(&mut self, out: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        self.sweep(now, net, agenda);
        if self.buffers == Buffers::Input {
            self.follow(out, now, net, agenda);
        }
        if now >= net.wires[out as usize].free {
            self.serve(out, now, net, agenda);
        }
        if self.stopped > 0 {
            self.arm(agenda);
        }
    }

    /// A frame has been read from the port that it came in by: the next of that port comes to the head.
    fn follow(&mut self, out: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let port = net.wires[out as usize].port_from as usize;
        let from = std::mem::replace(&mut self.reading[port], u16::MAX) as usize;
        let Some(fifo) = self.fifos.get_mut(from) else { return };
        match fifo.pop_front() {
            Some((id, out)) => self.queue(out, id, now, net, agenda),
            None => self.heads[from] = false,
        }
    }

    /// The port is free: it sends what comes next, or says why not.
    fn serve(&mut self, out: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let w = &mut net.wires[out as usize];
        if let Some(id) = w.urgent.pop(&net.frames) {
            net.transmit(out, id, now, agenda);
            self.rearm(out, net, agenda);
            return;
        }
        let mut until = NEVER;
        let mut chosen = None;
        if w.waiting > 0 && self.scheduling == Scheduling::Weighted {
            let first = w.port_from as usize * w.queues.len();
            let deficits = &mut self.deficits[first..first + w.queues.len()];
            (chosen, until) = weighted(w, deficits, &self.quanta_of, now, &net.frames);
        } else if w.waiting > 0 {
            let n = w.queues.len();
            let mut turn = if n == 1 { 0 } else { w.turn as usize % n };
            for i in 0..n {
                // Classes ascend with priorities.
                let class = if self.scheduling == Scheduling::Strict { n - 1 - i } else { turn };
                turn = if turn + 1 < n { turn + 1 } else { 0 };
                if w.queues[class].is_empty() {
                    continue;
                }
                match w.blocked(class, now) {
                    Some(at) => until = until.min(at),
                    None => {
                        chosen = Some(class);
                        break;
                    }
                }
            }
        }
        let Some(class) = chosen else {
            if until < NEVER {
                w.idles(now, Why::Paused);
                net.look(out, until, agenda);
            } else {
                net.rest(out, agenda);
            }
            return;
        };
        // By weights a class keeps its turn as long as it may send.
        w.turn = if self.scheduling == Scheduling::Weighted { class } else { class + 1 } as u8;
        let Some(id) = w.queues[class].pop(&net.frames) else { return };
        w.waiting -= 1;
        let bytes = net.frames[id].bytes as u64;
        w.queued -= bytes;
        if let Some(queue) = w.queued_of.get_mut(class) {
            *queue -= bytes;
        }
        if let Some(trace) = &mut agenda.trace {
            trace.waits(w.tx, now, w.queued);
        }
        self.send(out, id, now, net, agenda);
    }

    /// Begins to send a frame that has been stored.
    #[inline(always)]
    fn send(&mut self, out: u32, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let f = &net.frames[id];
        let (bytes, pool, account) = (f.bytes, f.pool, f.account);
        let waited = now - f.at + self.latency;
        self.stored.transit += waited as u128;
        self.stored.transit_most = self.stored.transit_most.max(waited);
        let end = net.transmit(out, id, now, agenda);
        self.stored.frames += 1;
        let release = Release::new(end, bytes, pool, account);
        self.first_release = self.first_release.min(end);
        if self.releases.back().is_none_or(|r| r.at <= end) {
            self.releases.push_back(release);
        } else {
            let behind = self.releases.iter().rev().take_while(|r| r.at > end).count();
            self.releases.insert(self.releases.len() - behind, release);
        }
        if self.buffers == Buffers::Input {
            let w = &net.wires[out as usize];
            self.reading[w.port_from as usize] = pool;
            net.look(out, w.free, agenda);
        } else {
            self.rearm(out, net, agenda);
        }
    }

    /// A port that is busy is looked at again when it is free, if there is something for it.
    #[inline]
    fn rearm(&self, out: u32, net: &mut Net, agenda: &mut Agenda) {
        let w = &net.wires[out as usize];
        if w.waiting > 0 || !w.urgent.is_empty() {
            net.look(out, w.free, agenda);
        } else {
            net.rest(out, agenda);
        }
    }

    /// Writes off what has left by now, and lets go on whom that concerns.
    #[inline]
    fn sweep(&mut self, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if self.first_release <= now {
            self.write_off(now, net, agenda);
        }
    }

    fn write_off(&mut self, now: u64, net: &mut Net, agenda: &mut Agenda) {
        while self.first_release <= now {
            let Some(r) = self.releases.pop_front() else { break };
            self.first_release = self.releases.front().map_or(NEVER, |r| r.at);
            if self.buffers != Buffers::Shared {
                self.used[r.pool()] -= r.bytes();
            }
            self.stored.now -= r.bytes();
            if let Some(trace) = &mut agenda.trace {
                trace.memory(self.number, r.at, self.stored.now);
            }
            if r.account() == NONE {
                continue;
            } else if r.account() >= LOSSY {
                self.lossy -= r.bytes();
                self.queued[(r.account() - LOSSY) as usize] -= r.bytes();
            } else if self.buffers != Buffers::Input {
                let a = &mut self.accounts[r.account() as usize];
                a.used -= r.bytes();
                if a.stopped && a.used < self.limits.low.max(1) {
                    a.stopped = false;
                    self.stopped -= 1;
                    self.tell(r.account(), false, now, net, agenda);
                }
            }
        }
    }

    /// The timer looks at the next frame that leaves while somebody is stopped, and at stops that must be said again.
    fn arm(&mut self, agenda: &mut Agenda) {
        let mut at = NEVER;
        if self.stopped > 0 {
            at = self.first_release;
            for a in self.accounts.iter().filter(|a| a.stopped) {
                at = at.min(a.again);
            }
        }
        agenda.set(self.timer, at);
    }

    pub(super) fn tick(&mut self, now: u64, net: &mut Net, agenda: &mut Agenda) {
        self.sweep(now, net, agenda);
        for account in 0..self.accounts.len() as u32 {
            let a = &self.accounts[account as usize];
            if a.stopped && a.again <= now {
                self.tell(account, true, now, net, agenda);
            }
        }
        self.arm(agenda);
    }

    /// Tells whom it concerns to stop, or to go on.
    fn tell(&mut self, account: u32, stop: bool, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let out = |port: usize| self.ports[port].1;
        let (kind, class, ports) = match self.control {
            FlowControl::Pfc => {
                let port = (account / self.classes) as usize;
                (Kind::Pfc, (account % self.classes) as usize, port..port + 1)
            }
            FlowControl::Voq => (if stop { Kind::Stop } else { Kind::Go }, 0, 0..self.ports.len()),
            _ => (Kind::Pause, 0, 0..self.ports.len()),
        };
        let stopped = match kind {
            Kind::Stop | Kind::Go => net.wires[out(account as usize) as usize].to,
            _ => NONE,
        };
        let quanta = if stop { self.quanta } else { 0 };
        let mut again = NEVER;
        for port in ports {
            let on = self.ports[port].1;
            let w = &net.wires[on as usize];
            if w.to == stopped {
                continue;
            }
            if kind == Kind::Pause || kind == Kind::Pfc {
                // Half of the time that the pause lasts: a longest frame may be before the next.
                again = again.min(now.saturating_add((quanta * QUANTUM_BITS / 8 * w.byte / 2).max(w.byte)));
            }
            if net.say(on, kind, class as u8, quanta, stopped) {
                self.wake(on, now, net, agenda);
            }
        }
        self.accounts[account as usize].again = again;
    }

    /// A control frame of a neighbour, for the port `out`.
    pub(super) fn obey(&mut self, out: u32, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        self.sweep(now, net, agenda);
        let f = net.frames[id];
        net.frames.drop(id);
        net.obey(out, &f, 0, now);
        if net.wires[out as usize].waiting > 0 {
            self.wake(out, now, net, agenda);
        }
        if self.stopped > 0 {
            self.arm(agenda);
        }
    }

    /// The wires that a frame which it stores holds up, as far as its accounts tell; for a look at who waits for whom.
    pub(super) fn holds_up(&self, f: &crate::sim::ethernet::Frame) -> &[(u32, u32)] {
        match self.accounts.get(f.account as usize) {
            Some(a) if a.stopped => match self.control {
                FlowControl::Pfc => {
                    let port = (f.account / self.classes) as usize;
                    &self.ports[port..port + 1]
                }
                // One account for all: whoever fills the memory holds up everybody.
                FlowControl::Pause => &self.ports,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// Frames that wait behind the first of the port that they came in by.
    pub(super) fn behind(&self) -> impl Iterator<Item = u32> + '_ {
        self.fifos.iter().flatten().map(|f| f.0)
    }

    /// Those and their ways out, to be changed.
    pub(super) fn fifos_mut(&mut self) -> impl Iterator<Item = &mut (u32, u32)> {
        self.fifos.iter_mut().flatten()
    }

    /// What it holds at a moment, and what it has done.
    pub(super) fn stored(&self, now: u64) -> Stored {
        let left: u64 = self.releases.iter().filter(|r| r.at <= now).map(|r| r.bytes()).sum();
        Stored { now: self.stored.now - left, ..self.stored }
    }

    /// From now on what is most is counted anew.
    pub(super) fn forget(&mut self, now: u64) {
        self.stored.most = self.stored(now).now;
        self.stored.transit_most = 0;
    }
}
