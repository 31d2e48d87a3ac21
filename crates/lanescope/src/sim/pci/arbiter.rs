//! One bus: who asks for it, who gets it next, and where its clocks go.
//!
//! The arbiter gives the bus to the masters that ask in turn, a transaction each; it decides while the one before goes
//! on, so arbitration costs clocks only on an idle bus. A master says from which clock its next transaction may begin,
//! and from which it asks: between the two lies what arbitration takes.

use crate::plan::pci::{Buses, TransactionTiming};
use crate::protocol::pci::Phases;
use crate::result::{Idle, SlotCounts};
use crate::scenario::quantity::Corner;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::pci::{Net, Ticks};
use crate::units::Pace;
use std::collections::VecDeque;

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Data to the bridge.
    Write,
    /// A split request.
    Request,
    /// A read of PCI that is sent away.
    Retry,
    /// Data of a read of PCI.
    Data,
    /// A split completion.
    Completion,
    /// A write of the host's processor to a device, by the bridge.
    Programmed,
}

/// What a master wants next.
#[derive(Clone, Copy, Debug)]
struct Want {
    /// The first clock of its address phase, at the earliest.
    start: u64,
    /// From when on it asks.
    asks: u64,
    /// What it waits for until then.
    cause: Idle,
    kind: Kind,
    flow: usize,
}

impl Want {
    const NOTHING: Want =
        Want { start: NEVER, asks: NEVER, cause: Idle::NothingToSend, kind: Kind::Write, flow: usize::MAX };
}

/// A transaction on the bus.
#[derive(Clone, Copy, Debug)]
struct Active {
    master: usize,
    kind: Kind,
    flow: usize,
    start: u64,
    bytes: u64,
    phases: Phases,
    /// The clock behind its last busy one.
    end: u64,
    /// From when on it makes room for others.
    expires: u64,
    cut: bool,
    /// Whether the bridge ends it although there is more.
    sent_away: bool,
}

/// A read that the bridge works on or has data of.
#[derive(Clone, Copy, Debug)]
struct Answer {
    device: usize,
    id: u32,
    left: u64,
    ready: u64,
}

/// A read of PCI that was sent away and is repeated until the bridge has its data.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    flow: usize,
    bytes: u64,
    ready: u64,
    at: u64,
}

/// A rate that a device does not exceed.
#[derive(Clone, Copy, Debug)]
struct Gate {
    pace: Pace,
    at: u64,
    reads: bool,
    writes: bool,
}

impl Gate {
    fn holds(&self, read: bool) -> bool {
        if read { self.reads } else { self.writes }
    }
}

#[derive(Clone, Debug)]
struct Device {
    timing: TransactionTiming,
    flows: Vec<usize>,
    /// The flow that comes first when it next chooses.
    turn: usize,
    /// The first clock in which it may begin.
    next: u64,
    splits: u32,
    /// When the last split came free, which it may have waited for.
    freed: u64,
    delayed: Option<Delayed>,
    gates: Vec<Gate>,
}

/// A bus with its masters: the bridge first, then the devices.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Bus {
    pub(in crate::sim) ticks: Ticks,
    pub(in crate::sim) counts: SlotCounts,
    /// Payload, bytes.
    pub(in crate::sim) bytes: u64,
    arbitration: u64,
    devices: Vec<Device>,
    answers: VecDeque<Answer>,
    /// Flows of writes by the host's processor, and the device of each.
    programmed: Vec<(usize, usize)>,
    active: Option<Active>,
    /// Who had it last.
    turn: usize,
    /// All clocks before are in the ledger.
    booked: u64,
    /// Of an idle bus: what the one waits for that comes next, and from when on it asks.
    waits: (Idle, u64),
}

impl Bus {
    pub(in crate::sim) fn new(plan: &Buses, index: usize, corner: Corner) -> Bus {
        let bus = &plan.buses[index];
        let speed = bus.speed.typical;
        let flows_of = |d: u32, from_bridge: bool| {
            let all = plan.flows.iter().enumerate();
            all.filter(move |(_, f)| f.device == d && f.from_bridge == from_bridge).map(|(i, _)| i)
        };
        let device = |&d: &u32| {
            let k = &plan.devices[d as usize].keys;
            let gate = |rate: &Option<crate::scenario::quantity::Quantity<crate::units::Rate>>, reads, writes| {
                rate.as_ref().map(|r| Gate { pace: Pace::new(r.typical), at: 0, reads, writes })
            };
            let gates = [gate(&k.rate, true, true), gate(&k.read_rate, true, false), gate(&k.write_rate, false, true)];
            Device {
                timing: plan.timing(d, corner),
                flows: flows_of(d, false).collect(),
                turn: 0,
                next: 0,
                splits: 0,
                freed: 0,
                delayed: None,
                gates: gates.into_iter().flatten().collect(),
            }
        };
        Bus {
            ticks: Ticks { rate: speed.clock_rate(), pace: Pace::new(speed.clock_rate()) },
            counts: SlotCounts::default(),
            bytes: 0,
            arbitration: speed.arbitration(),
            devices: bus.devices.iter().map(device).collect(),
            answers: VecDeque::new(),
            programmed: (bus.devices.iter().enumerate())
                .flat_map(|(i, d)| flows_of(*d, true).map(move |f| (f, i)))
                .collect(),
            active: None,
            turn: 0,
            booked: 0,
            waits: (Idle::NothingToSend, NEVER),
        }
    }

    /// The bridge, and the devices.
    pub(in crate::sim) fn masters(&self) -> usize {
        1 + self.devices.len()
    }

    pub(in crate::sim) fn held(&self) -> (usize, u64) {
        (self.answers.len(), self.answers.iter().map(|a| a.left).sum())
    }

    /// Does what is due, and gives the moment of what comes next.
    pub(in crate::sim) fn act(&mut self, now: u64, net: &mut Net, own: (u32, &mut Agenda)) -> u64 {
        let clock = self.ticks.clock(now);
        loop {
            if let Some(active) = self.active {
                if active.end <= clock {
                    if let Some(trace) = &mut own.1.trace {
                        let times = [active.start, active.end + active.phases.turnaround].map(|n| self.ticks.time(n));
                        trace.transaction(own.0, active.flow, active.kind as usize, times.into(), active.bytes);
                    }
                    self.end(active, now, net);
                    continue;
                }
                let next = self.make_room(active, clock, now, net);
                return self.ticks.time(next);
            }
            // Each master once, in turn from behind the last.
            let n = self.masters();
            let mut next: Option<(usize, Want)> = None;
            for i in 1..=n {
                let master = (self.turn + i) % n;
                let mut want = self.want(master, now, clock, net);
                want.start = want.start.max(self.booked);
                if want.start == NEVER {
                    continue;
                }
                let now_or_later = want.start.max(clock);
                if next.is_none_or(|(_, other)| now_or_later < other.start.max(clock)) {
                    next = Some((master, want));
                }
            }
            match next {
                Some((master, want)) if want.start <= clock => {
                    self.idle_until(clock);
                    self.begin(master, want, clock, net);
                }
                next => {
                    self.idle_until(clock);
                    let (cause, asks, start) = next
                        .map_or((Idle::NothingToSend, NEVER, NEVER), |(_, want)| (want.cause, want.asks, want.start));
                    self.waits = (cause, asks);
                    return self.ticks.time(start);
                }
            }
        }
    }

    /// What a master wants next.
    fn want(&self, master: usize, now: u64, clock: u64, net: &mut Net) -> Want {
        if master > 0 {
            return self.want_device(master - 1, now, clock, net);
        }
        let mut best = self.answers.front().map_or(Want::NOTHING, |a| Want {
            start: a.ready.saturating_add(self.arbitration),
            asks: a.ready,
            cause: Idle::Bridge,
            kind: Kind::Completion,
            flow: usize::MAX,
        });
        for &(flow, _) in &self.programmed {
            let asks = self.ticks.clock(net.current(flow, now).map_or_else(|at| at, |op| op.born));
            let start = asks.saturating_add(self.arbitration);
            if start < best.start {
                best = Want { start, asks, cause: Idle::NothingToSend, kind: Kind::Programmed, flow };
            }
        }
        best
    }

    fn want_device(&self, index: usize, now: u64, clock: u64, net: &mut Net) -> Want {
        let (ticks, arbitration) = (self.ticks, self.arbitration);
        let d = &self.devices[index];
        let mut best = Want::NOTHING;
        for i in 0..d.flows.len() {
            let flow = d.flows[(d.turn + i) % d.flows.len()];
            let mut want = Want { start: d.next, asks: 0, cause: Idle::TurnAround, kind: Kind::Write, flow };
            // What begins at a moment of its own is asked for then; all else was asked for in time.
            let later = |want: &mut Want, from: u64, cause: Idle| {
                let start = from.saturating_add(arbitration);
                if start > want.start {
                    (want.start, want.asks, want.cause) = (start, from, cause);
                }
            };
            let op = match net.current(flow, now) {
                Ok(op) => op,
                Err(at) => {
                    let from = ticks.clock(at);
                    if from == NEVER {
                        continue;
                    }
                    later(&mut want, from, Idle::NothingToSend);
                    if want.start < best.start {
                        best = want;
                    }
                    continue;
                }
            };
            if !op.started && !op.endless {
                later(&mut want, ticks.clock(op.born), Idle::NothingToSend);
            }
            if op.read && d.timing.speed.is_x() {
                want.kind = Kind::Request;
                if d.splits >= d.timing.splits {
                    continue;
                }
                if d.freed > 0 {
                    later(&mut want, d.freed, Idle::Bridge);
                    if d.freed + d.timing.turnaround > want.start {
                        (want.start, want.asks) = (d.freed + d.timing.turnaround, 0);
                        want.cause = Idle::TurnAround;
                    }
                }
            } else if op.read {
                want.kind = if d.timing.waited { Kind::Data } else { Kind::Retry };
                match d.delayed {
                    Some(delayed) if delayed.flow != flow => continue,
                    Some(delayed) => {
                        if delayed.at > want.start {
                            let asks = delayed.at - arbitration.min(delayed.at);
                            (want.start, want.asks, want.cause) = (delayed.at, asks, Idle::Bridge);
                        }
                        let start = want.start.max(self.booked).max(clock);
                        want.kind = if delayed.ready <= start { Kind::Data } else { Kind::Retry };
                    }
                    None => {}
                }
            }
            for gate in d.gates.iter().filter(|g| g.holds(op.read)) {
                let from = ticks.clock(gate.at);
                if from > want.start && (!op.read || d.delayed.is_none()) {
                    (want.start, want.asks, want.cause) = (from, from - arbitration.min(from), Idle::Pace);
                }
            }
            if want.asks == 0 {
                // Hidden: it asked while it paused.
                want.asks = want.start.saturating_sub(arbitration);
                if want.cause == Idle::TurnAround {
                    want.asks = want.start;
                }
            }
            if want.start < best.start {
                best = want;
            }
        }
        best
    }

    /// Gives the bus to a master, from this clock on.
    fn begin(&mut self, master: usize, want: Want, clock: u64, net: &mut Net) {
        let at = self.ticks.time(clock);
        let (kind, flow) = (want.kind, want.flow);
        let (bytes, phases, timer, sent_away);
        if kind == Kind::Completion {
            let Some(answer) = self.answers.front() else { return };
            let m = &self.devices[answer.device].timing;
            bytes = answer.left.min(m.completion);
            (phases, timer, sent_away) = (m.data(bytes), m.timers[1], false);
        } else if kind == Kind::Programmed {
            net.start(flow, at);
            let device = self.programmed.iter().find(|(f, _)| *f == flow).map_or(0, |(_, d)| *d);
            let m = &self.devices[device].timing;
            bytes = net.flows[flow].current.map_or(0, |op| op.left).min(m.write.0);
            (phases, timer, sent_away) = (m.programmed(bytes), NEVER / 2, false);
        } else {
            net.start(flow, at);
            let d = &mut self.devices[master - 1];
            d.turn = (d.flows.iter().position(|f| *f == flow).unwrap_or(0) + 1) % d.flows.len();
            let left = net.flows[flow].current.map_or(0, |op| op.left);
            let m = &d.timing;
            let (most, ends) = if kind == Kind::Write { m.write } else { m.read };
            bytes = d.delayed.filter(|_| kind != Kind::Write).map_or(left.min(most), |delayed| delayed.bytes);
            timer = m.timers[0];
            sent_away = ends && left > bytes;
            let mut p = match kind {
                Kind::Write => m.write(bytes),
                Kind::Data => m.data(bytes),
                _ => m.request(),
            };
            if sent_away && matches!(kind, Kind::Write | Kind::Data) {
                p.end += m.speed.disconnect();
            }
            phases = p;
            // A read is paced when it first asks; a write also while a read is delayed.
            if kind == Kind::Write || d.delayed.is_none() {
                for gate in d.gates.iter_mut().filter(|g| g.holds(kind != Kind::Write)) {
                    // What was late by less than a clock is made up for.
                    let least = at.saturating_sub(self.ticks.time(1));
                    gate.at = gate.at.max(least).saturating_add(gate.pace.span(bytes));
                }
            }
        }
        let end = clock + phases.total() - phases.turnaround;
        let expires = if phases.data > 0 { clock + timer } else { NEVER };
        self.turn = master;
        self.active =
            Some(Active { master, kind, flow, start: clock, bytes, phases, end, expires, cut: false, sent_away });
    }

    /// Ends a burst early if its time is over and somebody else asks. Gives the clock at which to look again.
    fn make_room(&mut self, active: Active, clock: u64, now: u64, net: &mut Net) -> u64 {
        if active.cut || active.expires >= active.end {
            return active.end;
        }
        if clock < active.expires {
            return active.expires;
        }
        let others = (0..self.masters()).filter(|m| *m != active.master);
        let mut asks = NEVER;
        for other in others {
            let want = self.want(other, now, clock, net);
            if want.start != NEVER {
                asks = asks.min(want.asks);
            }
        }
        if asks > clock {
            return active.end.min(asks);
        }
        let timing = match active.kind {
            Kind::Completion => self.answers.front().map(|a| &self.devices[a.device].timing),
            _ => Some(&self.devices[active.master - 1].timing),
        };
        let Some(timing) = timing.copied() else { return active.end };
        let bytes = timing.speed.cut(active.phases, active.bytes, clock - active.start);
        let mut a = active;
        a.cut = true;
        if bytes < active.bytes {
            a.bytes = bytes;
            // What a write leaves is paced when it goes. A read was paced as a whole.
            if active.kind == Kind::Write {
                for gate in self.devices[active.master - 1].gates.iter_mut().filter(|g| g.holds(false)) {
                    gate.at -= gate.pace.span(active.bytes) - gate.pace.span(bytes);
                }
            }
            // The initiator ends it: what the bridge would have added does not come.
            (a.phases.data, a.phases.end, a.sent_away) = (timing.speed.data(bytes), 0, false);
            a.end = a.start + a.phases.total() - a.phases.turnaround;
        }
        self.active = Some(a);
        a.end
    }

    /// A transaction is over: its clocks and its effects.
    fn end(&mut self, a: Active, now: u64, net: &mut Net) {
        self.active = None;
        let (p, c) = (a.phases, &mut self.counts);
        match a.kind {
            Kind::Request => c.requests += p.total(),
            Kind::Retry => c.retries += p.total(),
            _ => {
                c.payload += p.data;
                c.address += p.overhead();
                c.waits += p.waits;
                c.turnarounds += p.turnaround;
                c.data_tlps += 1;
                self.bytes += a.bytes;
            }
        }
        c.tlps += 1;
        self.booked = a.end + p.turnaround;
        let first = self.ticks.time(a.start + p.before_data() + 1);
        if a.kind == Kind::Completion {
            let Some(answer) = self.answers.front_mut() else { return };
            answer.left -= a.bytes;
            let Answer { device, id, left, .. } = *answer;
            if left == 0 {
                self.answers.pop_front();
                let d = &mut self.devices[device];
                // Who waited for it asks again now, and begins when it is ready to.
                if d.splits == d.timing.splits {
                    d.freed = a.end;
                }
                d.splits -= 1;
            }
            net.received(id, a.bytes, first, now);
            return;
        }
        if a.kind == Kind::Programmed {
            net.flows[a.flow].tally.bytes += a.bytes;
            if let Some(op) = net.took(a.flow, a.bytes).filter(|op| op.left == 0) {
                net.finished(a.flow, op.born, op.token, now);
            }
            return;
        }
        let d = &mut self.devices[a.master - 1];
        let m = d.timing;
        d.next = a.end + if a.sent_away { m.again() } else { m.turnaround };
        match a.kind {
            Kind::Write => {
                net.flows[a.flow].tally.bytes += a.bytes;
                if let Some(op) = net.took(a.flow, a.bytes).filter(|op| op.left == 0) {
                    net.finished(a.flow, op.born, op.token, now);
                }
            }
            Kind::Request => {
                if let Some(Some(id)) = net.took(a.flow, a.bytes).map(|op| op.id) {
                    d.splits += 1;
                    let ready = a.end + m.delay;
                    self.answers.push_back(Answer { device: a.master - 1, id, left: a.bytes, ready });
                }
            }
            Kind::Retry => {
                d.next = a.end + 1;
                let at = a.end + m.speed.pause_after_retry() + self.arbitration;
                let ready = d.delayed.map_or(a.end + m.delay, |delayed| delayed.ready);
                d.delayed = Some(Delayed { flow: a.flow, bytes: a.bytes, ready, at });
            }
            Kind::Data => {
                let rest = d.delayed.map_or(0, |delayed| delayed.bytes - a.bytes);
                // What was interrupted has the rest of its data at hand.
                d.delayed = (rest > 0).then_some(Delayed { flow: a.flow, bytes: rest, ready: a.end, at: d.next });
                if let Some(Some(id)) = net.took(a.flow, a.bytes).map(|op| op.id) {
                    net.received(id, a.bytes, first, now);
                }
            }
            Kind::Completion | Kind::Programmed => {}
        }
    }

    /// The bus was idle up to a clock.
    fn idle_until(&mut self, clock: u64) {
        if clock <= self.booked {
            return;
        }
        let (cause, asks) = self.waits;
        let asked = clock.saturating_sub(asks.max(self.booked));
        self.counts.idle[Idle::Arbitration as usize] += asked;
        self.counts.idle[cause as usize] += clock - self.booked - asked;
        self.booked = clock;
    }

    /// Writes down what lies before a moment; a transaction is written down when it ends.
    pub(in crate::sim) fn settle(&mut self, now: u64) {
        if self.active.is_none() {
            self.idle_until(self.ticks.past(now));
        }
    }
}
