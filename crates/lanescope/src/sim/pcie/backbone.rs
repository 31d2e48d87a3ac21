//! The backbone of a root complex: two buses of one clock between its ports and memory, in place of what a plain
//! completer does at once.
//!
//! The *request bus* carries writes with their data and read requests, the *completion bus* what was read. TLPs cross
//! in transactions of at most a line; ports take turns, a transaction each. A transaction begins at a clock edge, and
//! its clocks are booked whole; a moment is computed from a count of clocks, never summed. A write stays in its port's
//! receive buffer until the last of its data has crossed; a read request leaves it when it is worked on, at most so
//! many of a port at once. All of this has one slot of the agenda.

use crate::plan::Backbone as Planned;
use crate::protocol::pcie::Class;
use crate::result::{BusClocks, BusIdle};
use crate::sim::core::clock::Edges;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::pcie::Net;
use crate::sim::pcie::completer::Job;
use crate::sim::pcie::wire::Tlp;
use std::collections::VecDeque;

/// Reads that a port holds at most where nothing else is said: a bound on the memory of a run.
const HELD: u32 = 1 << 16;

/// A transaction: whose, since when it has waited, and its clocks.
struct Turn {
    port: usize,
    since: u64,
    grant: u64,
    overhead: u64,
    data: u64,
}

/// One of the two buses.
#[derive(Clone, Debug)]
struct Bus {
    /// The first clock that is not booked, and its moment.
    free: u64,
    free_at: u64,
    /// The port that had the last transaction, and how many clocks its data took.
    last: Option<(usize, u64)>,
    /// The next port that may have a turn.
    turn: usize,
    /// Why nothing was booked when it fell idle, and whether that is known for the present.
    idle: BusIdle,
    judged: bool,
    /// Idle clocks since `free` that are accounted for already.
    settled: u64,
    counts: BusClocks,
}

impl Bus {
    fn new() -> Bus {
        let counts = BusClocks::default();
        Bus { free: 0, free_at: 0, last: None, turn: 0, idle: BusIdle::Nothing, judged: true, settled: 0, counts }
    }

    /// Books a transaction. From when until when it has the bus.
    fn book(&mut self, edges: &Edges, now: u64, turn: Turn) -> (u64, u64) {
        let Turn { since, port, grant, overhead, data } = turn;
        let begin = self.free.max(edges.clock(now));
        self.counts.idle[self.idle as usize] += begin - self.free - std::mem::take(&mut self.settled);
        let hidden = match self.last {
            // The grant went on while another port's data were carried, as long as this one was there.
            Some((other, carried)) if other != port && begin == self.free => {
                grant.min(carried).min(begin.saturating_sub(edges.clock(since)))
            }
            _ => 0,
        };
        self.counts.arbitration += grant - hidden;
        self.counts.overhead += overhead;
        self.counts.data += data;
        self.counts.transactions += 1;
        self.free = begin + grant - hidden + overhead + data;
        self.free_at = edges.moment(self.free);
        self.last = Some((port, data));
        self.turn = port + 1;
        self.judged = false;
        (edges.moment(begin), self.free_at)
    }

    /// Nothing can be booked now.
    fn rests(&mut self, why: BusIdle) {
        if !self.judged {
            (self.idle, self.judged) = (why, true);
        }
    }

    /// Accounts for idle clocks up to a moment. What is booked at this very moment is as if nobody had looked.
    fn settle(&mut self, edges: &Edges, now: u64) {
        let idle = edges.clock(now).saturating_sub(self.free);
        if idle > self.settled {
            self.counts.idle[self.idle as usize] += idle - self.settled;
            self.settled = idle;
        }
    }
}

/// A read that a port works on.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// When it may ask for the bus.
    since: u64,
    job: Job,
    /// Bytes not yet requested of memory.
    left: u32,
}

/// A line of a read on its way: from memory, or from the completion bus to its port.
#[derive(Clone, Copy, Debug)]
struct Line {
    at: u64,
    bytes: u32,
    /// Its read, without what came before it; the last line of it ends it.
    job: Job,
    last: bool,
}

/// What a transaction on the request bus is of.
#[derive(Clone, Copy, Debug)]
enum Crossing {
    Write { wire: u32, last: bool },
    Read { port: usize, line: Line },
}

/// A port's side of the backbone.
#[derive(Clone, Debug, Default)]
struct Port {
    /// The wire in, once something has come.
    wire: u32,
    /// Since when the write at the head of its buffer asks for the bus, and what of it has yet to cross.
    write: Option<(u64, u32)>,
    /// Whether the write at the head of its buffer is known here: it asks, or its last transaction is on the bus.
    known: bool,
    /// Reads that have lines to request, the first of them now.
    reads: VecDeque<Read>,
    /// Reads worked on, and whether one more waits in the buffer.
    in_work: u32,
    refused: bool,
    /// Whether what crosses now is a part of a write or read that has begun.
    begun: Option<Class>,
    /// What memory gives it, by the moment.
    lines: VecDeque<Line>,
    /// Bytes at the port that do not fill a completion yet, by flow and tag of their read.
    gathered: Vec<(u32, u32, u32)>,
    /// When the last completions of reads have left.
    leaving: VecDeque<u64>,
}

/// The backbone of one root complex.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Backbone {
    edges: Edges,
    plan: Planned,
    latency: u64,
    most: u32,
    request: Bus,
    completion: Bus,
    ports: Vec<Port>,
    /// What is on the request bus, and on the completion bus: a line of a port.
    crossing: Option<Crossing>,
    returning: Option<(usize, Line)>,
    /// Lines between the completion bus and their ports.
    arriving: VecDeque<(usize, Line)>,
    /// From the request bus to the completion bus, by place, fs.
    memory: Vec<u64>,
    timer: u32,
}

impl Backbone {
    pub(in crate::sim) fn new(plan: Planned, memory: Vec<u64>, ports: usize) -> Backbone {
        Backbone {
            edges: Edges::new(plan.clock),
            latency: (plan.latency * 1e6).round() as u64,
            most: plan.reads.unwrap_or(HELD),
            plan,
            request: Bus::new(),
            completion: Bus::new(),
            ports: vec![Port::default(); ports],
            crossing: None,
            returning: None,
            arriving: VecDeque::new(),
            memory,
            timer: 0,
        }
    }

    pub(in crate::sim) fn timer(&self) -> u32 {
        self.timer
    }

    pub(in crate::sim) fn wired(&mut self, timer: u32) {
        self.timer = timer;
    }

    /// A write is whole at the head of its port's buffer, where it stays until it has crossed.
    pub(in crate::sim) fn write(&mut self, wire: u32, tlp: &Tlp, port: usize, agenda: &mut Agenda) {
        let p = &mut self.ports[port];
        p.wire = wire;
        // It may be known already from the moment when the one before it had crossed.
        if !p.known {
            let since = tlp.ready.saturating_add(self.latency);
            (p.write, p.known) = (Some((since, tlp.payload as u32)), true);
            self.wake(since, agenda);
        }
    }

    /// A read request is whole at the head of its port's buffer: whether it is taken.
    pub(in crate::sim) fn read(&mut self, wire: u32, job: Job, port: usize, now: u64, agenda: &mut Agenda) -> bool {
        let latency = self.latency;
        let p = &mut self.ports[port];
        p.wire = wire;
        p.depart(now);
        if p.in_work >= self.most {
            p.refused = true;
            self.next(agenda);
            return false;
        }
        p.in_work += 1;
        let since = now.saturating_add(latency);
        p.reads.push_back(Read { since, job, left: job.left });
        self.wake(since, agenda);
        true
    }

    /// The last completion of a read leaves its port until a moment.
    pub(in crate::sim) fn leaves(&mut self, port: usize, until: u64, agenda: &mut Agenda) {
        self.ports[port].leaving.push_back(until);
        if self.ports[port].refused {
            agenda.by(self.timer, until);
        }
    }

    /// Somebody asks for the request bus from a moment on.
    fn wake(&mut self, since: u64, agenda: &mut Agenda) {
        if self.crossing.is_none() {
            agenda.by(self.timer, self.edges.moment(self.request.free.max(self.edges.clock(since))));
        }
    }

    /// What has come to its end by now, and what may begin. Wires whose write has crossed go to `writes`, completions
    /// that are whole at their port to `jobs`.
    pub(in crate::sim) fn tick(
        &mut self,
        now: u64,
        jobs: &mut Vec<Job>,
        writes: &mut Vec<u32>,
        net: &Net,
        agenda: &mut Agenda,
    ) {
        for p in &mut self.ports {
            if p.depart(now) && p.refused && p.in_work < self.most {
                p.refused = false;
                agenda.set(net.wires[p.wire as usize].rx + Class::NonPosted as u32, now);
            }
        }
        if self.request.free_at <= now
            && let Some(crossing) = self.crossing.take()
        {
            match crossing {
                Crossing::Write { wire, last: true } => {
                    writes.push(wire);
                    let wire = &net.wires[wire as usize];
                    let next = wire.queues[Class::Posted as usize].get(1).filter(|t| t.ready <= now);
                    let p = &mut self.ports[wire.port_to as usize];
                    p.known = next.is_some();
                    p.write = next.map(|n| (n.ready.saturating_add(self.latency), n.payload as u32));
                }
                Crossing::Write { .. } => {}
                Crossing::Read { port, line } => {
                    // Lines of another place may come sooner.
                    let at = self.request.free_at.saturating_add(self.memory[line.job.place]);
                    let lines = &mut self.ports[port].lines;
                    let behind = lines.iter().rev().take_while(|l| l.at > at).count();
                    lines.insert(lines.len() - behind, Line { at, ..line });
                }
            }
        }
        if self.completion.free_at <= now
            && let Some((port, line)) = self.returning.take()
        {
            self.arriving.push_back((port, Line { at: self.completion.free_at.saturating_add(self.latency), ..line }));
        }
        while let Some((port, line)) = self.arriving.front().copied().filter(|(_, l)| l.at <= now) {
            self.arriving.pop_front();
            self.gather(port, line, jobs);
        }
        self.grant(now, agenda);
        self.give(now, agenda);
        self.next(agenda);
    }

    /// Completions for what has come to a port.
    fn gather(&mut self, port: usize, line: Line, jobs: &mut Vec<Job>) {
        let (gathered, job) = (&mut self.ports[port].gathered, line.job);
        let at = gathered.iter().position(|g| (g.0, g.1) == (job.flow, job.tag));
        let mut bytes = line.bytes + at.map_or(0, |at| gathered.swap_remove(at).2);
        while bytes >= job.piece || line.last && bytes > 0 {
            let piece = bytes.min(job.piece);
            bytes -= piece;
            jobs.push(job.part(piece, line.last && bytes == 0));
        }
        if bytes > 0 {
            gathered.push((job.flow, job.tag, bytes));
        }
    }

    /// The next transaction of the request bus.
    fn grant(&mut self, now: u64, agenda: &mut Agenda) {
        if self.crossing.is_some() || self.request.free_at > now {
            return;
        }
        let n = self.ports.len();
        let found = (0..n).map(|k| (self.request.turn + k) % n).find_map(|i| Some((i, self.ports[i].wants(now)?)));
        let Some((port, (class, since))) = found else {
            let refused = self.ports.iter().any(|p| p.refused);
            let coming = self.ports.iter().any(|p| p.write.is_some() || !p.reads.is_empty());
            self.request.rests(match (refused, coming) {
                (true, _) => BusIdle::Reads,
                (_, true) => BusIdle::Port,
                _ => BusIdle::Nothing,
            });
            return;
        };
        let p = &mut self.ports[port];
        let left = match (class, &mut p.write, p.reads.front_mut()) {
            (Class::Posted, Some((_, left)), _) => left,
            (_, _, Some(read)) => &mut read.left,
            _ => return,
        };
        let bytes = (*left).min(self.plan.line as u32);
        *left -= bytes;
        let last = *left == 0;
        p.begun = (!last).then_some(class);
        let mut data = 0;
        self.crossing = if class == Class::Posted {
            data = self.plan.data(bytes as u64);
            if last {
                p.write = None;
            }
            Some(Crossing::Write { wire: p.wire, last })
        } else {
            let job = p.reads.front().map(|r| r.job);
            if last {
                p.reads.pop_front();
            }
            job.map(|job| Crossing::Read { port, line: Line { at: 0, bytes, job, last } })
        };
        let (grant, overhead) = (self.plan.arbitration, self.plan.request);
        let spent = self.request.book(&self.edges, now, Turn { port, since, grant, overhead, data });
        if let Some(trace) = &mut agenda.trace {
            trace.crossing(self.timer, usize::from(class != Class::Posted), spent, bytes as u64);
        }
    }

    /// The next transaction of the completion bus. Memory alone drives it, so nobody has to be granted.
    fn give(&mut self, now: u64, agenda: &mut Agenda) {
        if self.returning.is_some() || self.completion.free_at > now {
            return;
        }
        let n = self.ports.len();
        let ready = |i: &usize| self.ports[*i].lines.front().is_some_and(|l| l.at <= now);
        let Some(port) = (0..n).map(|k| (self.completion.turn + k) % n).find(ready) else {
            let memory = self.ports.iter().any(|p| !p.lines.is_empty());
            let asked = self.ports.iter().any(|p| !p.reads.is_empty());
            self.completion.rests(match (memory, asked) {
                (true, _) => BusIdle::Memory,
                (_, true) => BusIdle::Port,
                _ => BusIdle::Nothing,
            });
            return;
        };
        if let Some(line) = self.ports[port].lines.pop_front() {
            let data = self.plan.data(line.bytes as u64);
            let overhead = self.plan.completion;
            let spent = self.completion.book(&self.edges, now, Turn { port, since: line.at, grant: 0, overhead, data });
            if let Some(trace) = &mut agenda.trace {
                trace.crossing(self.timer, 2, spent, line.bytes as u64);
            }
            self.returning = Some((port, line));
        }
    }

    /// When something happens next.
    fn next(&self, agenda: &mut Agenda) {
        let edge = |bus: &Bus, at: u64| self.edges.moment(bus.free.max(self.edges.clock(at)));
        let mut at = NEVER;
        at = at.min(match self.crossing {
            Some(_) => self.request.free_at,
            None => self.ports.iter().filter_map(Port::since).min().map_or(NEVER, |s| edge(&self.request, s)),
        });
        let lines = self.ports.iter().filter_map(|p| p.lines.front()).map(|l| l.at);
        at = at.min(match self.returning {
            Some(_) => self.completion.free_at,
            None => lines.min().map_or(NEVER, |l| edge(&self.completion, l)),
        });
        at = at.min(self.arriving.front().map_or(NEVER, |(_, l)| l.at));
        let leaving = self.ports.iter().filter(|p| p.refused).filter_map(|p| p.leaving.front().copied());
        agenda.set(self.timer, at.min(leaving.min().unwrap_or(NEVER)));
    }

    pub(in crate::sim) fn settle(&mut self, now: u64) {
        self.request.settle(&self.edges, now);
        self.completion.settle(&self.edges, now);
    }

    /// The ledgers of the two buses since time 0.
    pub(in crate::sim) fn counts(&self) -> [BusClocks; 2] {
        [self.request.counts, self.completion.counts]
    }

    /// How long it may hold a packet while all is well: all that fits into its ports' buffers, one after the other.
    pub(in crate::sim) fn stall_timeout(&self) -> u64 {
        let all = self.plan.write(1 << 16).clocks + self.plan.write(1 << 16).transactions * self.plan.arbitration;
        let clocks = (all + self.plan.answer(1 << 16).clocks).saturating_mul(self.ports.len() as u64);
        let memory = self.memory.iter().copied().max().unwrap_or(0);
        self.edges.moment(clocks).saturating_add(memory).saturating_add(self.latency.saturating_mul(2))
    }
}

impl Port {
    /// Reads whose last completion has left are done. Says whether any is.
    fn depart(&mut self, now: u64) -> bool {
        let mut any = false;
        while self.leaving.front().is_some_and(|at| *at <= now) {
            self.leaving.pop_front();
            self.in_work -= 1;
            any = true;
        }
        any
    }

    /// What asks for the bus by now, and since when: what has begun, else what came first. A read never passes a write
    /// (2.0, 2.4.1).
    fn wants(&self, now: u64) -> Option<(Class, u64)> {
        let (class, since) = self.first()?;
        (since <= now).then_some((class, since))
    }

    fn first(&self) -> Option<(Class, u64)> {
        let write = self.write.map(|(since, _)| (Class::Posted, since));
        let read = self.reads.front().map(|r| (Class::NonPosted, r.since));
        match (self.begun, write, read) {
            (Some(Class::Posted), write, _) => write,
            (Some(_), _, read) => read,
            (None, Some(w), Some(r)) => Some(if r.1 < w.1 { r } else { w }),
            (None, w, r) => w.or(r),
        }
    }

    fn since(&self) -> Option<u64> {
        self.first().map(|f| f.1)
    }
}
