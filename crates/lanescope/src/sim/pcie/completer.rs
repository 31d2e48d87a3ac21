//! What a part answers: reads from its memory come back as completions after its latency, writes are taken in.
//!
//! A root complex and a device answer in the same way; only the numbers differ. A read is worked on for its latency (by
//! the place of its data), its data then come from the memory at the memory's rate, and its completions leave by the
//! port that the request came in by. A memory that has a rate serves in turn the writes and the reads of each port,
//! packet by packet: neither who has many reads in flight nor who has few credits for writes gets all of it.

use crate::protocol::pcie::{self, Class, Header};
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::pcie::Net;
use crate::sim::pcie::wire::{Tlp, Wire};
use crate::units::Pace;
use std::collections::{BTreeSet, VecDeque};

/// Reads that one part holds at most, worked on or waiting for its port: more than any device has, and a bound on the
/// memory of a run.
const HELD: u32 = 1 << 16;

/// A read that is being answered.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Job {
    pub(in crate::sim) flow: u32,
    pub(in crate::sim) tag: u32,
    pub(in crate::sim) left: u32,
    /// Payload of each completion but the last.
    pub(in crate::sim) piece: u32,
    ecrc: bool,
    /// The local port that it came in by.
    pub(in crate::sim) port: u16,
    ready: u64,
    /// Which of the latencies it has.
    pub(in crate::sim) place: usize,
    /// Whether the read is over with it; not, of a part of one.
    pub(in crate::sim) ends: bool,
    control: bool,
}

/// Who wants the memory.
#[derive(Clone, Copy, Debug)]
enum Access {
    /// The head of the posted queue of a wire.
    Write(u32),
    /// A read that is ready.
    Read(Job),
}

/// A memory, and who waits for it.
#[derive(Clone, Debug)]
struct Memory {
    pace: Pace,
    free: u64,
    /// Of each port its writes, then its reads.
    waiting: Vec<VecDeque<Access>>,
    /// Those of them with something, the next first.
    turns: VecDeque<usize>,
}

impl Memory {
    fn new(pace: Pace) -> Memory {
        Memory { pace, free: 0, waiting: Vec::new(), turns: VecDeque::new() }
    }

    fn wait(&mut self, port: u16, access: Access) {
        let whose = 2 * usize::from(port) + usize::from(matches!(access, Access::Read(_)));
        if whose >= self.waiting.len() {
            self.waiting.resize(whose + 1, VecDeque::new());
        }
        if self.waiting[whose].is_empty() {
            self.turns.push_back(whose);
        }
        self.waiting[whose].push_back(access);
    }

    /// Whoever is next.
    fn next(&mut self) -> Option<Access> {
        let whose = self.turns.pop_front()?;
        let access = self.waiting[whose].pop_front();
        if !self.waiting[whose].is_empty() {
            self.turns.push_back(whose);
        }
        access
    }
}

/// What a part's memory carries.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Bandwidth {
    /// Writes and reads added.
    Added(Pace),
    /// Writes, and reads, each by itself.
    Apart(Option<Pace>, Option<Pace>),
}

/// How a flow's reads are answered.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Answer {
    /// Payload of the completions of reads up to `large`, and of those above.
    pub(in crate::sim) pieces: [u32; 2],
    pub(in crate::sim) large: u32,
    pub(in crate::sim) ecrc: bool,
    /// Which of the latencies: an index into the completer's places.
    pub(in crate::sim) place: usize,
}

impl Answer {
    /// Payload of each completion but the last of a read that asks for so many bytes.
    pub(in crate::sim) fn piece(&self, asks: u64) -> u64 {
        self.pieces[usize::from(asks > self.large.into())].into()
    }
}

/// The answering side of a part.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Completer {
    /// From a request's last bit to its first data, by place, fs.
    latency: Vec<u64>,
    /// Reads that are worked on, by place, in order.
    working: Vec<VecDeque<Job>>,
    in_work: u32,
    most: u32,
    held: u32,
    /// Wires whose next read request waits to be accepted, those of them that have been told that it may come, and the
    /// last that was told. They are told in turn, and no other request is accepted before theirs: else a port whose
    /// requests arrive just as others end would take more than its turn. Each that is told has its request at the head
    /// of its buffer, which nobody else takes out, and an event at once: so it always asks.
    refused: BTreeSet<u32>,
    told: Vec<u32>,
    last: u32,
    /// One for writes and reads, or one each, or none.
    memories: Vec<Memory>,
    /// Which of them takes writes, and which reads.
    takes: [Option<usize>; 2],
    timer: u32,
}

impl Completer {
    pub(in crate::sim) fn new(latency: Vec<u64>, most: Option<u32>, memory: Bandwidth) -> Completer {
        let (paces, takes) = match memory {
            Bandwidth::Added(pace) => (vec![pace], [Some(0), Some(0)]),
            Bandwidth::Apart(write, read) => {
                let takes = [write.map(|_| 0), read.map(|_| write.iter().count())];
                (write.into_iter().chain(read).collect(), takes)
            }
        };
        Completer {
            working: vec![VecDeque::new(); latency.len()],
            latency,
            in_work: 0,
            most: most.unwrap_or(u32::MAX),
            held: 0,
            refused: BTreeSet::new(),
            told: Vec::new(),
            last: 0,
            memories: paces.into_iter().map(Memory::new).collect(),
            takes,
            timer: 0,
        }
    }

    /// Its longest latency, fs.
    pub(in crate::sim) fn longest(&self) -> u64 {
        self.latency.iter().copied().max().unwrap_or(0)
    }

    pub(in crate::sim) fn wired(&mut self, timer: u32) {
        self.timer = timer;
    }

    /// A read request is here, and translated at a moment from now on: takes it, or leaves it in its buffer. Says
    /// whether it was taken.
    pub(in crate::sim) fn request(
        &mut self,
        wire: u32,
        tlp: &Tlp,
        (now, translated): (u64, u64),
        net: &mut Net,
        agenda: &mut Agenda,
    ) -> bool {
        match self.told.iter().position(|w| *w == wire) {
            Some(at) => {
                self.told.swap_remove(at);
            }
            // Those that are told go first.
            None if self.has_room() && self.told.is_empty() => {}
            None => {
                self.refused.insert(wire);
                return false;
            }
        }
        let mut job = Job::of(wire, tlp, net);
        job.ready = translated.saturating_add(self.latency[job.place]);
        self.in_work += 1;
        self.held += 1;
        // In order of the moments, which is that of their coming but for those that were translated first.
        let working = &mut self.working[job.place];
        let behind = working.iter().rev().take_while(|j| j.ready > job.ready).count();
        working.insert(working.len() - behind, job);
        agenda.by(self.timer, job.ready);
        if self.most < HELD {
            // The one behind it waits from now on. Who is next the turns say, once all that were told are in.
            let queue = &net.wires[wire as usize].queues[Class::NonPosted as usize];
            if queue.get(1).is_some_and(|next| next.ready <= now && net.ends(next)) {
                self.refused.insert(wire);
            }
            if self.told.is_empty() {
                self.accept_more(now, net, agenda);
            }
        }
        true
    }

    /// Whether writes never wait.
    pub(in crate::sim) fn takes_writes_at_once(&self) -> bool {
        self.takes[0].is_none()
    }

    /// A write is here: whether the memory takes it now. If not, it will be called for.
    pub(in crate::sim) fn write(&mut self, id: u32, wire: &Wire, payload: u16, now: u64, agenda: &mut Agenda) -> bool {
        let Some(memory) = self.takes[0].map(|i| &mut self.memories[i]) else { return true };
        if memory.free > now || !memory.turns.is_empty() {
            memory.wait(wire.port_to, Access::Write(id));
            agenda.by(self.timer, memory.free);
            return false;
        }
        memory.free = now + memory.pace.span(payload as u64);
        true
    }

    /// Moves reads along whose time has come: into `jobs`, or writes that the memory takes into `writes` (the wire
    /// whose head it is).
    pub(in crate::sim) fn tick(
        &mut self,
        now: u64,
        jobs: &mut Vec<Job>,
        writes: &mut Vec<u32>,
        net: &Net,
        agenda: &mut Agenda,
    ) {
        for place in 0..self.working.len() {
            while let Some(job) = self.working[place].front().copied().filter(|j| j.ready <= now) {
                self.working[place].pop_front();
                match self.takes[1] {
                    Some(i) => self.memories[i].wait(job.port, Access::Read(job)),
                    None => self.leave_work(job, now, jobs, net, agenda),
                }
            }
        }
        for i in 0..self.memories.len() {
            while self.memories[i].free <= now {
                let memory = &mut self.memories[i];
                let Some(access) = memory.next() else { break };
                match access {
                    Access::Read(job) => {
                        memory.free = now + memory.pace.span(job.left as u64);
                        self.leave_work(job, now, jobs, net, agenda);
                    }
                    Access::Write(wire) => {
                        let payload =
                            net.wires[wire as usize].queues[Class::Posted as usize].front().map_or(0, |t| t.payload);
                        memory.free = now + memory.pace.span(payload as u64);
                        writes.push(wire);
                    }
                }
            }
        }
        let working = self.working.iter().filter_map(|w| w.front()).fold(NEVER, |least, j| least.min(j.ready));
        let memory = self.memories.iter().filter(|m| !m.turns.is_empty()).fold(NEVER, |least, m| least.min(m.free));
        agenda.set(self.timer, working.min(memory));
    }

    /// Whether one more read may come that nothing is promised to.
    fn has_room(&self) -> bool {
        let told = self.told.len() as u32;
        self.in_work.saturating_add(told) < self.most && self.held.saturating_add(told) < HELD
    }

    fn leave_work(&mut self, job: Job, now: u64, jobs: &mut Vec<Job>, net: &Net, agenda: &mut Agenda) {
        self.in_work -= 1;
        jobs.push(job);
        self.accept_more(now, net, agenda);
    }

    /// The last completion of a read has been sent.
    pub(in crate::sim) fn sent(&mut self, now: u64, net: &Net, agenda: &mut Agenda) {
        self.held -= 1;
        self.accept_more(now, net, agenda);
    }

    fn accept_more(&mut self, now: u64, net: &Net, agenda: &mut Agenda) {
        if self.has_room()
            && let Some(wire) = self.refused.range(self.last + 1..).chain(&self.refused).next().copied()
        {
            self.refused.remove(&wire);
            self.told.push(wire);
            self.last = wire;
            agenda.set(net.wires[wire as usize].rx + Class::NonPosted as u32, now);
        }
    }
}

impl Job {
    /// What a read request asks for.
    pub(in crate::sim) fn of(wire: u32, tlp: &Tlp, net: &Net) -> Job {
        let answer = net.flows[tlp.flow as usize].answer;
        let asks = tlp.asks as u32;
        Job {
            flow: tlp.flow,
            tag: tlp.tag,
            left: asks,
            piece: answer.piece(asks.into()) as u32,
            ecrc: answer.ecrc,
            port: net.wires[wire as usize].port_to,
            ready: 0,
            place: answer.place,
            ends: true,
            control: tlp.control,
        }
    }

    /// So many bytes of it, in one completion.
    pub(in crate::sim) fn part(&self, bytes: u32, ends: bool) -> Job {
        Job { left: bytes, piece: bytes, ends, ..*self }
    }

    /// The next completion, and whether it is the last.
    pub(in crate::sim) fn next(&self, net: &Net) -> Tlp {
        let payload = self.left.min(self.piece);
        Tlp {
            head: 0,
            tail: 0,
            ready: 0,
            born: 0,
            at: net.flows[self.flow as usize].back,
            flow: self.flow,
            tag: self.tag,
            body: pcie::tlp_body(Header::Dw3, payload as u64, self.ecrc) as u16,
            payload: payload as u16,
            asks: 0,
            class: Class::Completion,
            last: payload == self.left && self.ends,
            control: self.control,
        }
    }

    pub(in crate::sim) fn sent(&mut self, payload: u16) {
        self.left -= payload as u32;
    }
}
