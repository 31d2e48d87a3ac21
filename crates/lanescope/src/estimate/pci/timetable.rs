//! The timetable of a shared bus: its transactions one after the other, until they come round.
//!
//! Who waits on a bus for whom has no closed form that holds: requests of PCI-X overlap with the completions of others,
//! and devices of PCI that ask in vain take clocks from those that are served. But masters take turns, every
//! transaction is a whole number of clocks, and what always asks, asks in the same order. So the bus is a finite
//! machine: followed from its beginning, it comes back to a state in which it was, and from there on all is repeated.
//! Rates are those of that period. Where none is found within [`MOST`] transactions, it is followed until its rates are
//! steady: devices that alternate between what waits for the bus and what waits for themselves stand in each other's
//! way for dozens of operations before they have moved apart. Then rates are those of the last half, and a note says
//! so.
//!
//! The rules are those of `protocol/pci` and `plan::pci::TransactionTiming`; masters take turns as ARCHITECTURE.md
//! says. Only flows that saturate or keep operations outstanding have a timetable, and only where no other side's DMA
//! is on the bus ([`covers`]).

use crate::estimate::pci::Cost;
use crate::plan::Program;
use crate::plan::pci::{BusFlow, Buses, TransactionTiming};
use crate::protocol::pci::Phases;
use crate::scenario::quantity::Corner;
use std::collections::VecDeque;

/// Transactions that are followed at most.
const MOST: u64 = 24_000;
/// Operations of the first flow that are followed at least, where no period is found (within ten times [`MOST`]).
const FEWEST: u64 = 32;
/// Two means, the second of twice as many operations, are alike if they differ by no more. What is lost until those
/// that began in one moment have moved apart is lost once, and weighs half as much in each next mean: what is still to
/// come of it is no more than what was seen, 1/2 + 1/4 + ..., and both are the 2 % to which shares hold.
const STEADY: f64 = 0.01;
/// Parts of a clock that rates of devices are kept in.
const PARTS: f64 = 4096.0;
/// No clock.
const NEVER: u64 = u64::MAX / 4;

/// Whether a bus has a timetable: all its flows always ask, or ask again when they are done.
pub(in crate::estimate) fn covers(buses: &Buses, bus: u32) -> bool {
    let mut on_it = buses.flows.iter().filter(|f| buses.devices[f.device as usize].bus == bus).peekable();
    on_it.peek().is_some()
        && on_it.all(|f| match f.program {
            Program::Saturating => true,
            Program::Closed { round_trip, .. } => round_trip.is_none(),
            _ => false,
        })
}

/// What a flow comes to: its index, payload bytes per second (of one that alternates, each way), and clocks of an
/// operation by what they are.
pub(in crate::estimate) struct Row {
    pub(in crate::estimate) flow: usize,
    pub(in crate::estimate) rate: f64,
    pub(in crate::estimate) cost: Cost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Write,
    Request,
    Retry,
    Data,
    Completion,
}

/// What a master wants next: the first clock of its transaction, and the one from which it asks.
#[derive(Clone, Copy, Debug)]
struct Want {
    start: u64,
    asks: u64,
    kind: Kind,
    flow: usize,
}

/// An operation that is sent or asked for.
#[derive(Clone, Copy, Debug)]
struct Op {
    read: bool,
    /// Bytes not yet sent, or not yet asked for.
    left: u64,
    born: u64,
    /// Whether its first transaction has begun, or may begin at any time.
    begun: bool,
}

struct Flow {
    index: usize,
    /// Bytes of an operation that is followed, and how many of them are one.
    size: u64,
    parts: u64,
    reads: bool,
    writes: bool,
    was_read: bool,
    current: Option<Op>,
    /// Of a closed load: operations that wait from the beginning on, and the clocks from which others may begin;
    /// nothing of one that saturates.
    closed: Option<(u32, u64)>,
    again: VecDeque<u64>,
    /// Bytes that have not come yet, of each read under way.
    coming: VecDeque<u64>,
    bytes: u64,
    cost: Cost,
    /// What it had moved when it last had come as far as an operation takes it: reading and writing once, if it does
    /// both.
    whole: Moved,
}

impl Flow {
    /// Bytes of an operation, both ways of one that alternates.
    fn each(&self) -> u64 {
        self.size * if self.reads && self.writes { 2 } else { 1 }
    }

    fn moved(&self, clock: u64) -> Moved {
        Moved { clock, bytes: self.bytes, cost: self.cost }
    }
}

/// A read that the bridge works on.
#[derive(Clone, Copy)]
struct Answer {
    device: usize,
    flow: usize,
    left: u64,
    ready: u64,
}

/// A read of PCI that is repeated until its data are there.
#[derive(Clone, Copy)]
struct Delayed {
    flow: usize,
    bytes: u64,
    ready: u64,
    at: u64,
}

/// A rate that a device keeps to: parts of a clock for each byte, and when it may move the next.
struct Gate {
    per_byte: f64,
    at: u64,
    reads: bool,
    writes: bool,
}

impl Gate {
    fn holds(&self, read: bool) -> bool {
        if read { self.reads } else { self.writes }
    }

    fn clock(&self) -> u64 {
        self.at.div_ceil(PARTS as u64)
    }
}

struct Device {
    timing: TransactionTiming,
    flows: Vec<usize>,
    turn: usize,
    next: u64,
    splits: u32,
    freed: u64,
    delayed: Option<Delayed>,
    gates: Vec<Gate>,
}

struct Table {
    arbitration: u64,
    flows: Vec<Flow>,
    devices: Vec<Device>,
    answers: VecDeque<Answer>,
    /// Who had the bus last: the bridge is 0.
    turn: usize,
    clock: u64,
    /// The bus is taken up to here.
    booked: u64,
    transactions: u64,
}

/// What a flow has moved up to a clock: bytes, and clocks by what they are.
#[derive(Clone, Copy, Default)]
struct Moved {
    clock: u64,
    bytes: u64,
    cost: Cost,
}

impl Moved {
    /// Bytes a clock since then.
    fn rate(&self, since: &Moved) -> f64 {
        (self.bytes - since.bytes) as f64 / (self.clock - since.clock).max(1) as f64
    }
}

/// What all flows have moved up to a clock, and up to the end of the last operation of each before.
struct Mark {
    clock: u64,
    flows: Vec<Moved>,
    whole: Vec<Moved>,
}

impl Mark {
    /// What each flow moves from a mark to another one, as far as it is operations as a whole. One that alternates
    /// reads and writes at different rates, so that a part of an operation is no mean of it.
    fn spans<'a>(&'a self, to: &'a Mark) -> impl Iterator<Item = [Moved; 2]> + 'a {
        let whole = self.whole.iter().zip(&to.whole);
        whole.zip(self.flows.iter().zip(&to.flows)).map(|((a, b), (from, to))| match b.clock > a.clock {
            true => [*a, *b],
            false => [*from, *to],
        })
    }
}

/// The timetable of a bus that has one, and whether it comes round within what is followed.
pub(in crate::estimate) fn rows(buses: &Buses, bus: u32, corner: Corner) -> (Vec<Row>, bool) {
    let mut table = Table::new(buses, bus, corner);
    let hertz = buses.buses[bus as usize].speed.typical.hertz();
    let (spans, comes_round) = table.follow();
    let row = |(f, [from, to]): (&Flow, [Moved; 2])| {
        let ops = (to.bytes - from.bytes) as f64 / (f.each() * f.parts) as f64;
        let cost = if ops > 0.0 { to.cost.minus(from.cost).times(1.0 / ops) } else { Cost::default() };
        Row { flow: f.index, rate: to.rate(&from) * f.size as f64 / f.each() as f64 * hertz, cost }
    };
    (table.flows.iter().zip(spans).map(row).collect(), comes_round)
}

/// Whether all flows together had the same rate between the last two marks as between the two before, to [`STEADY`].
fn steady(marks: &[Mark]) -> bool {
    let [.., a, b, c] = marks else { return false };
    let rate = |from: &Mark, to: &Mark| from.spans(to).map(|[from, to]| to.rate(&from)).sum::<f64>();
    (rate(b, c) / rate(a, b) - 1.0).abs() <= STEADY
}

/// Into how many equal ones an operation of a flow is cut where it takes more transactions than are followed: one that
/// alternates reads and writes at different rates, and at least some of both are in a mean. One after the other they
/// take as long as the whole, and pauses between are cut with them.
fn parts(flow: &BusFlow, timing: &TransactionTiming, most: u64) -> u64 {
    if !(flow.reads() && flow.writes()) {
        return 1;
    }
    let size = flow.size.typical.0;
    let transactions = size.div_ceil(timing.read.0.max(1)) + size.div_ceil(timing.write.0.max(1));
    transactions.div_ceil(most).next_power_of_two()
}

impl Table {
    fn new(buses: &Buses, bus: u32, corner: Corner) -> Table {
        let planned = &buses.buses[bus as usize];
        let (speed, hertz) = (planned.speed.typical, planned.speed.typical.hertz());
        let on_it = || buses.flows.iter().enumerate().filter(|(_, f)| buses.devices[f.device as usize].bus == bus);
        let most = (MOST / on_it().count().max(1) as u64).max(1);
        let flow = |(index, f): (usize, &BusFlow)| {
            let (size, parts) = (f.size.typical.0, parts(f, &buses.timing(f.device, corner), most));
            Flow {
                index,
                size: size.div_ceil(parts),
                parts,
                reads: f.reads(),
                writes: f.writes(),
                was_read: false,
                current: None,
                closed: match f.program {
                    Program::Closed { outstanding, think, .. } => {
                        let think = think.seconds() * hertz / parts as f64;
                        Some((outstanding, (think - 1e-6).ceil().max(0.0) as u64))
                    }
                    _ => None,
                },
                again: VecDeque::new(),
                coming: VecDeque::new(),
                bytes: 0,
                cost: Cost::default(),
                whole: Moved::default(),
            }
        };
        let flows: Vec<Flow> = on_it().map(flow).collect();
        let devices = planned.devices.iter().map(|d| {
            let k = &buses.devices[*d as usize].keys;
            let rates = [(&k.rate, true, true), (&k.read_rate, true, false), (&k.write_rate, false, true)];
            let gates = rates.into_iter().filter_map(|(rate, reads, writes)| {
                let per_byte = hertz * PARTS / rate.as_ref()?.at(corner).bytes();
                Some(Gate { per_byte, at: 0, reads, writes })
            });
            Device {
                timing: buses.timing(*d, corner),
                flows: (0..flows.len()).filter(|i| buses.flows[flows[*i].index].device == *d).collect(),
                turn: 0,
                next: 0,
                splits: 0,
                freed: 0,
                delayed: None,
                gates: gates.collect(),
            }
        });
        let devices = devices.collect();
        Table {
            arbitration: speed.arbitration(),
            flows,
            devices,
            answers: VecDeque::new(),
            turn: 0,
            clock: 0,
            booked: 0,
            transactions: 0,
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            clock: self.clock,
            flows: self.flows.iter().map(|f| f.moved(self.clock)).collect(),
            whole: self.flows.iter().map(|f| f.whole).collect(),
        }
    }

    /// Follows the bus. Gives the beginning and the end of what each flow repeats, and whether it does: a period, or
    /// the second half of what was followed.
    fn follow(&mut self) -> (Vec<[Moved; 2]>, bool) {
        // Brent's way to find a period: the state at a power of two of looks, and those behind it.
        let (mut saved, mut looks) = (self.state(), 0u64);
        let mut marks = vec![self.mark()];
        let mut settled = false;
        while self.transactions < MOST
            || looks < FEWEST && self.transactions < 10 * MOST
            || !settled && self.transactions < 20 * MOST
        {
            let before = self.flows[0].whole.bytes;
            if !self.step() {
                break;
            }
            // The bus is looked at whenever the first flow has come as far as an operation takes it.
            if self.flows[0].whole.bytes == before {
                continue;
            }
            let state = self.state();
            if state == saved {
                let (from, to) = (marks.pop().unwrap_or_else(|| self.mark()), self.mark());
                return (from.flows.into_iter().zip(to.flows).map(<[Moved; 2]>::from).collect(), true);
            }
            looks += 1;
            if looks.is_power_of_two() {
                saved = state;
                marks.push(self.mark());
                settled = looks >= FEWEST && steady(&marks);
            }
        }
        // What those that began in one moment cost each other until they have moved apart lies in the first half.
        let half = marks.iter().rposition(|m| 2 * m.clock <= self.clock).unwrap_or(0);
        (marks[half].spans(&self.mark()).collect(), false)
    }

    /// All that decides what comes, moments counted from now.
    fn state(&self) -> Vec<u64> {
        let now = self.clock;
        // What lies behind does not matter; but who asks is granted later by the clocks of arbitration, so that what
        // is asked for decides for so long.
        let ahead = |at: u64| (at + self.arbitration).saturating_sub(now);
        let mut s = vec![self.turn as u64, ahead(self.booked)];
        for f in &self.flows {
            let op =
                f.current.map_or([u64::MAX; 4], |o| [o.left, u64::from(o.read), ahead(o.born), u64::from(o.begun)]);
            s.extend(op);
            s.push(u64::from(f.was_read));
            // Operations that wait for the device are alike: from the beginning on, or done before and wanted again.
            let waits = f.again.iter().take_while(|a| ahead(**a) == 0).count();
            s.push(f.closed.map_or(0, |c| u64::from(c.0)) + waits as u64);
            s.push((f.again.len() - waits) as u64);
            s.extend(f.again.iter().skip(waits).map(|a| ahead(*a)));
            s.push(f.coming.len() as u64);
            s.extend(&f.coming);
        }
        for d in &self.devices {
            let delayed = d.delayed.map_or([u64::MAX; 4], |x| [x.flow as u64, x.bytes, ahead(x.ready), ahead(x.at)]);
            s.extend(delayed);
            // A split that came free decides for as long as arbitration and a pause take.
            let freed = (d.freed + self.arbitration.max(d.timing.turnaround)).saturating_sub(now);
            s.extend([d.turn as u64, ahead(d.next), u64::from(d.splits), freed]);
            s.extend(d.gates.iter().map(|g| g.at.saturating_sub((now.max(1) - 1) * PARTS as u64)));
        }
        for a in &self.answers {
            s.extend([a.device as u64, a.flow as u64, a.left, ahead(a.ready)]);
        }
        s
    }

    /// The operation that a flow works on, or the clock from which there is one.
    fn current(&mut self, flow: usize) -> Result<Op, u64> {
        let now = self.clock;
        let f = &mut self.flows[flow];
        if let Some(op) = f.current {
            return Ok(op);
        }
        let born = match &mut f.closed {
            None => now,
            Some((first @ 1.., _)) => {
                *first -= 1;
                0
            }
            Some(_) => match f.again.front().copied() {
                Some(at) if at <= now => {
                    f.again.pop_front();
                    at
                }
                at => return Err(at.unwrap_or(NEVER)),
            },
        };
        f.was_read = if f.reads && f.writes { !f.was_read } else { f.reads };
        let op = Op { read: f.was_read, left: f.size, born, begun: f.closed.is_none() };
        f.current = Some(op);
        Ok(op)
    }

    fn want(&mut self, master: usize) -> Option<Want> {
        let arbitration = self.arbitration;
        if master == 0 {
            let a = self.answers.front()?;
            return Some(Want { start: a.ready + arbitration, asks: a.ready, kind: Kind::Completion, flow: a.flow });
        }
        let mut best: Option<Want> = None;
        for i in 0..self.devices[master - 1].flows.len() {
            let d = &self.devices[master - 1];
            let flow = d.flows[(d.turn + i) % d.flows.len()];
            let op = self.current(flow);
            let d = &self.devices[master - 1];
            let mut w = Want { start: d.next, asks: NEVER, kind: Kind::Write, flow };
            // What it asks for at a moment of its own has to be granted first; all else was asked for in time.
            let later = |w: &mut Want, from: u64| {
                if from + arbitration > w.start {
                    (w.start, w.asks) = (from + arbitration, from);
                }
            };
            let op = match op {
                Ok(op) => op,
                Err(NEVER) => continue,
                Err(at) => {
                    later(&mut w, at);
                    w.asks = w.asks.min(w.start.saturating_sub(arbitration));
                    if best.is_none_or(|b| w.start < b.start) {
                        best = Some(w);
                    }
                    continue;
                }
            };
            let mut hidden = d.next;
            if !op.begun {
                later(&mut w, op.born);
            }
            if op.read && d.timing.speed.is_x() {
                w.kind = Kind::Request;
                if d.splits >= d.timing.splits {
                    continue;
                }
                if d.freed > 0 {
                    later(&mut w, d.freed);
                    if d.freed + d.timing.turnaround > w.start {
                        (w.start, w.asks) = (d.freed + d.timing.turnaround, NEVER);
                        hidden = w.start;
                    }
                }
            } else if op.read {
                w.kind = if d.timing.waited { Kind::Data } else { Kind::Retry };
                match d.delayed {
                    Some(delayed) if delayed.flow != flow => continue,
                    Some(delayed) => {
                        if delayed.at > w.start {
                            (w.start, w.asks) = (delayed.at, delayed.at.saturating_sub(arbitration));
                        }
                        let start = w.start.max(self.booked).max(self.clock);
                        w.kind = if delayed.ready <= start { Kind::Data } else { Kind::Retry };
                    }
                    None => {}
                }
            }
            for gate in d.gates.iter().filter(|g| g.holds(op.read)) {
                let from = gate.clock();
                if from > w.start && (!op.read || d.delayed.is_none()) {
                    (w.start, w.asks) = (from, from.saturating_sub(arbitration));
                }
            }
            if w.asks == NEVER {
                // It asks while it pauses, and is granted in time.
                w.asks = if w.start == hidden { w.start } else { w.start.saturating_sub(arbitration) };
            }
            if best.is_none_or(|b| w.start < b.start) {
                best = Some(w);
            }
        }
        best
    }

    /// One transaction, from the choice of its master to its end. Says whether there was one.
    fn step(&mut self) -> bool {
        let n = 1 + self.devices.len();
        let (master, want) = loop {
            let mut next: Option<(usize, Want)> = None;
            for i in 1..=n {
                let master = (self.turn + i) % n;
                let Some(mut want) = self.want(master) else { continue };
                want.start = want.start.max(self.booked).max(self.clock);
                if next.is_none_or(|(_, other)| want.start < other.start) {
                    next = Some((master, want));
                }
            }
            let Some((master, want)) = next else { return false };
            if want.start <= self.clock {
                break (master, want);
            }
            // Others may want it by then.
            self.clock = want.start;
        };
        self.transactions += 1;
        self.turn = master;
        let (clock, kind, flow) = (self.clock, want.kind, want.flow);
        let (mut bytes, mut p, timer, mut sent_away) = self.begin(master, kind, flow);
        let mut end = clock + p.total() - p.turnaround;
        if p.data > 0 && clock + timer < end {
            // Whoever asks when its time is over, or later, cuts it at the next boundary.
            self.clock = clock + timer;
            while self.clock < end {
                let others: Vec<usize> = (0..n).filter(|m| *m != master).collect();
                let asks = others.into_iter().filter_map(|m| self.want(m)).map(|w| w.asks).min().unwrap_or(NEVER);
                if asks > self.clock {
                    self.clock = end.min(asks);
                    continue;
                }
                let device = if kind == Kind::Completion { self.answers[0].device } else { master - 1 };
                let speed = self.devices[device].timing.speed;
                let cut = speed.cut(p, bytes, self.clock - clock);
                if cut < bytes {
                    if kind == Kind::Write {
                        for gate in self.devices[device].gates.iter_mut().filter(|g| g.holds(false)) {
                            gate.at -= (bytes as f64 * gate.per_byte) as u64 - (cut as f64 * gate.per_byte) as u64;
                        }
                    }
                    bytes = cut;
                    (p.data, p.end, sent_away) = (speed.data(bytes), 0, false);
                    end = clock + p.total() - p.turnaround;
                }
                break;
            }
        }
        self.clock = end;
        self.booked = end + p.turnaround;
        let whole = |f: &Flow| f.bytes / f.each();
        let before = whole(&self.flows[flow]);
        self.end(master, kind, flow, (clock, end), bytes, p, sent_away);
        if whole(&self.flows[flow]) > before {
            self.flows[flow].whole = self.flows[flow].moved(end);
        }
        true
    }

    /// Bytes and phases of a transaction that begins, its latency timer, and whether the bridge ends it.
    fn begin(&mut self, master: usize, kind: Kind, flow: usize) -> (u64, Phases, u64, bool) {
        if kind == Kind::Completion {
            let a = self.answers[0];
            let m = &self.devices[a.device].timing;
            let bytes = a.left.min(m.completion);
            return (bytes, m.data(bytes), m.timers[1], false);
        }
        let f = &mut self.flows[flow];
        let size = f.size;
        let op = f.current.get_or_insert(Op { read: false, left: 0, born: 0, begun: true });
        if op.read && op.left == size && self.devices[master - 1].delayed.is_none() {
            f.coming.push_back(size);
        }
        op.begun = true;
        let left = op.left;
        let now = self.clock;
        let d = &mut self.devices[master - 1];
        d.turn = (d.flows.iter().position(|x| *x == flow).unwrap_or(0) + 1) % d.flows.len();
        let m = &d.timing;
        let (most, ends) = if kind == Kind::Write { m.write } else { m.read };
        let bytes = d.delayed.filter(|_| kind != Kind::Write).map_or(left.min(most), |delayed| delayed.bytes);
        let sent_away = ends && left > bytes;
        let mut p = match kind {
            Kind::Write => m.write(bytes),
            Kind::Data => m.data(bytes),
            _ => m.request(),
        };
        if sent_away && matches!(kind, Kind::Write | Kind::Data) {
            p.end += m.speed.disconnect();
        }
        if kind == Kind::Write || d.delayed.is_none() {
            for gate in d.gates.iter_mut().filter(|g| g.holds(kind != Kind::Write)) {
                let least = now.saturating_sub(1) * PARTS as u64;
                gate.at = gate.at.max(least) + (bytes as f64 * gate.per_byte) as u64;
            }
        }
        (bytes, p, m.timers[0], sent_away)
    }

    #[allow(clippy::too_many_arguments)]
    fn end(&mut self, master: usize, kind: Kind, flow: usize, time: (u64, u64), bytes: u64, p: Phases, away: bool) {
        let (start, end) = time;
        match kind {
            Kind::Request => self.flows[flow].cost.asked(p, 1.0),
            Kind::Retry => self.flows[flow].cost.in_vain(p, 1.0),
            _ => {
                self.flows[flow].cost.burst(p, 1.0);
                self.flows[flow].bytes += bytes;
            }
        }
        if kind == Kind::Completion {
            let a = &mut self.answers[0];
            a.left -= bytes;
            if a.left == 0 {
                let d = &mut self.devices[a.device];
                if d.splits == d.timing.splits {
                    d.freed = end;
                }
                d.splits -= 1;
                self.answers.pop_front();
            }
            return self.came(flow, bytes);
        }
        let d = &mut self.devices[master - 1];
        let m = d.timing;
        d.next = end + if away { m.again() } else { m.turnaround };
        self.flows[flow].cost.device += (d.next - start) as f64;
        match kind {
            Kind::Write => {
                if self.took(flow, bytes) {
                    self.done(flow);
                }
            }
            Kind::Request => {
                d.splits += 1;
                let ready = end + m.delay;
                self.answers.push_back(Answer { device: master - 1, flow, left: bytes, ready });
                self.took(flow, bytes);
            }
            Kind::Retry => {
                d.next = end + 1;
                let at = end + m.speed.pause_after_retry() + self.arbitration;
                let ready = d.delayed.map_or(end + m.delay, |delayed| delayed.ready);
                d.delayed = Some(Delayed { flow, bytes, ready, at });
            }
            Kind::Data => {
                let rest = d.delayed.map_or(0, |delayed| delayed.bytes - bytes);
                d.delayed = (rest > 0).then_some(Delayed { flow, bytes: rest, ready: end, at: d.next });
                self.took(flow, bytes);
                self.came(flow, bytes);
            }
            Kind::Completion => {}
        }
    }

    /// So many bytes of a flow's operation are sent or asked for: whether these were the last.
    fn took(&mut self, flow: usize, bytes: u64) -> bool {
        let Some(op) = &mut self.flows[flow].current else { return false };
        op.left -= bytes;
        let last = op.left == 0;
        if last {
            self.flows[flow].current = None;
        }
        last
    }

    /// Data of a flow's first read under way have come.
    fn came(&mut self, flow: usize, bytes: u64) {
        let Some(left) = self.flows[flow].coming.front_mut() else { return };
        *left -= bytes;
        if *left == 0 {
            self.flows[flow].coming.pop_front();
            self.done(flow);
        }
    }

    /// An operation is over: of a closed load another begins after its pause.
    fn done(&mut self, flow: usize) {
        let now = self.clock;
        let f = &mut self.flows[flow];
        if let Some((_, think)) = f.closed {
            let at = now + think;
            let behind = f.again.iter().rev().take_while(|a| **a > at).count();
            f.again.insert(f.again.len() - behind, at);
        }
    }
}
