//! Collectives of GPUs, packet by packet.
//!
//! Thread blocks send their messages in order (`plan::gpu::schedule`), each when those that it waits for have been
//! received and added up, and while the receiver has buffers (slots). A message is packets that pass the stages of its
//! way; an element sends one packet at a time, of its messages in turn. A packet of NVLink is answered by a flit the
//! other way, which goes before the packets there. Where a switch reduces, a packet goes on when it has come from all
//! GPUs; where it multicasts, to all of them at once.
//!
//! Each element has a slot of the agenda; thread blocks and what has been received have one heap behind one slot.

use super::core::kernel::{Agenda, NEVER, Pause, World};
use crate::plan::gpu::collective::{Collective, Move};
use crate::plan::gpu::schedule::{NONE, Schedule};
use crate::plan::gpu::{GpuCluster, Leg, Path};
use crate::protocol::nvlink::FLIT;
use crate::result::gpu::{CollectiveReport, SimulatedCollective};
use crate::scenario::keys::{CollectiveAlgorithm as Algorithm, CollectiveProtocol as Protocol};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// GPUs that are simulated at most.
pub(crate) const MOST_RANKS: u32 = 64;
/// Packets on elements at most.
const MOST_PACKETS: u64 = 1_000_000_000;
const FS: f64 = 1e15;

fn fs(seconds: f64) -> u64 {
    (seconds * FS).round() as u64
}

/// A leg with its times.
#[derive(Clone, Copy, Debug)]
struct Step {
    leg: Leg,
    stage: u32,
    /// Femtoseconds of a full packet, and the bytes of it.
    full: u64,
    wire: f64,
}

#[derive(Debug)]
struct Way {
    steps: Vec<Step>,
    /// The first step of each stage, and the end.
    stages: Vec<u32>,
    unit: u64,
    /// From the last byte to the receipt.
    pause: u64,
}

/// A message under way: packets sent on each leg, and whether it stands in that leg's queue.
#[derive(Debug, Default)]
struct Flight {
    message: u32,
    way: u32,
    packets: u32,
    last: u64,
    sent: Vec<(u32, bool)>,
    /// When its thread block has moved all of it: no wire lets it be received before.
    moved: u64,
    /// The message of the same thread block on the same way before it, and the one behind it: they stay in order.
    before: u32,
    behind: u32,
}

#[derive(Clone, Debug, Default)]
struct Wire {
    queue: VecDeque<(u32, u32)>,
    current: Option<(u32, u32)>,
    free: u64,
    /// Femtoseconds of answers that go before the next packet, and what one takes.
    debt: u64,
    answer: u64,
    /// Femtoseconds of payload, headers and answers.
    spent: [u64; 3],
    packets: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    next: u32,
    end: u32,
    under_way: u32,
    ready: u64,
    /// Whether a message is still on its way to the first element: the next begins behind it.
    sending: bool,
}

/// What comes at a time that is no wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Received(u32),
    Ready(u32),
}

#[derive(Debug)]
struct Fabric {
    schedule: Schedule,
    protocol: Protocol,
    slots: u32,
    channel_fs: f64,
    ways: Vec<Way>,
    way_of: Vec<u32>,
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// The latest message under way of a thread block on a way.
    latest: HashMap<(u32, u32), u32>,
    wires: Vec<Wire>,
    blocks: Vec<Block>,
    order: Vec<u32>,
    waits: Vec<u8>,
    followers: (Vec<u32>, Vec<u32>),
    heap: BinaryHeap<Reverse<(u64, Event)>>,
    left: u32,
    end: u64,
}

/// A collective that is being simulated.
#[derive(Debug)]
pub struct CollectiveRun {
    fabric: Fabric,
    agenda: Agenda,
    names: Vec<String>,
    bytes: u64,
    factor: f64,
}

impl CollectiveRun {
    /// Prepares a run.
    ///
    /// # Errors
    ///
    /// More GPUs, messages or packets than are simulated, or a transfer without a way.
    pub fn new(
        c: &GpuCluster,
        what: Collective,
        how: Algorithm,
        protocol: Protocol,
        bytes: u64,
    ) -> Result<CollectiveRun, String> {
        if c.ranks() > MOST_RANKS {
            return Err(format!("{} GPUs; at most {MOST_RANKS} are simulated", c.ranks()));
        }
        if let Some(why) = c.refused(what, how, protocol) {
            return Err(why);
        }
        let schedule = c.schedule(what, how, bytes)?;
        let mut known: HashMap<(Move, u32), u32> = HashMap::new();
        let mut ways = Vec::new();
        let mut way_of = Vec::with_capacity(schedule.messages.len());
        let mut packets = 0_u64;
        for m in &schedule.messages {
            let key = (m.what, m.channel);
            let way = match known.get(&key) {
                Some(way) => *way,
                None => {
                    let path = c.path(m.what, m.channel)?;
                    let pause = match m.what {
                        Move::Send(..) => c.latency(path.network, protocol),
                        Move::Reduce(_) | Move::Multicast(_) => c.hop_nvls,
                    };
                    ways.push(Way::of(c, &path, fs(pause)));
                    known.insert(key, ways.len() as u32 - 1);
                    ways.len() as u32 - 1
                }
            };
            way_of.push(way);
            let w: &Way = &ways[way as usize];
            packets += GpuCluster::carried(protocol, m.bytes).div_ceil(w.unit) * w.steps.len() as u64;
        }
        if packets > MOST_PACKETS {
            return Err(format!("{packets} packets; at most {MOST_PACKETS} are simulated"));
        }
        let elements = c.elements();
        let wire = |e: u32| Wire { answer: fs(FLIT as f64 / c.rate(e).max(1.0)), ..Wire::default() };
        let names = (0..elements).map(|e| c.name(e)).collect();
        let mut agenda = Agenda::new(elements as usize + 1);
        let fabric = Fabric::new(schedule, protocol, c, (ways, way_of), (0..elements).map(wire).collect());
        agenda.set(elements, fs(c.launch));
        Ok(CollectiveRun { fabric, agenda, names, bytes, factor: what.bus_factor(c.ranks()) })
    }

    /// Lets so many events happen; whether it has ended.
    ///
    /// # Errors
    ///
    /// Messages that wait for one another.
    pub fn advance(&mut self, events: u64) -> Result<bool, String> {
        match self.agenda.run(&mut self.fabric, NEVER, events) {
            Pause::Budget => Ok(false),
            _ if self.fabric.left > 0 => Err(format!("deadlock: {} messages wait for one another", self.fabric.left)),
            _ => Ok(true),
        }
    }

    /// Share of the messages that have been received.
    pub fn done(&self) -> f64 {
        1.0 - f64::from(self.fabric.left) / self.fabric.schedule.messages.len().max(1) as f64
    }

    /// What came out.
    pub fn result(&self) -> SimulatedCollective {
        let time = self.fabric.end as f64 / FS;
        let spent = |w: &Wire| w.spent.iter().sum::<u64>();
        let wires = &self.fabric.wires;
        let most = (0..wires.len()).max_by_key(|i| (spent(&wires[*i]), Reverse(*i))).unwrap_or(0);
        let share = |part: u64| part as f64 / (self.fabric.end as f64).max(1.0);
        let [payload, headers, answers] = wires.get(most).map_or([0; 3], |w| w.spent).map(share);
        SimulatedCollective {
            time,
            busbw: self.bytes as f64 / time * self.factor,
            packets: wires.iter().map(|w| w.packets).sum(),
            busiest: self.names.get(most).cloned().unwrap_or_default(),
            busy: payload + headers + answers,
            ledger: [payload, headers, answers, 1.0 - payload - headers - answers],
        }
    }
}

/// The rows of a report, simulated one after the other by the algorithm and protocol that the estimate chose.
#[derive(Debug, Default)]
pub struct RowsRun {
    row: usize,
    run: Option<CollectiveRun>,
    left: Option<String>,
}

impl RowsRun {
    /// Lets so many events happen; whether all rows are done. Each that is puts its result into the report.
    ///
    /// # Errors
    ///
    /// Messages that wait for one another.
    pub fn advance(&mut self, c: &GpuCluster, report: &mut CollectiveReport, events: u64) -> Result<bool, String> {
        let Some(row) = report.rows.get_mut(self.row) else { return Ok(true) };
        let mut run = match self.run.take() {
            Some(run) => run,
            None => match CollectiveRun::new(c, report.collective, row.algorithm, row.protocol, row.bytes) {
                Ok(run) => run,
                Err(why) => {
                    self.left.get_or_insert(format!("{} B and what else is not simulated: {why}", row.bytes));
                    self.row += 1;
                    return Ok(self.row == report.rows.len());
                }
            },
        };
        if run.advance(events)? {
            row.simulated = Some(run.result());
            self.row += 1;
        } else {
            self.run = Some(run);
        }
        Ok(self.row == report.rows.len())
    }

    /// Share of the rows that are done.
    pub fn done(&self, rows: usize) -> f64 {
        (self.row as f64 + self.run.as_ref().map_or(0.0, CollectiveRun::done)) / rows.max(1) as f64
    }

    /// Why some rows are not simulated.
    pub fn left(&self) -> Option<&str> {
        self.left.as_deref()
    }
}

impl Way {
    fn of(c: &GpuCluster, path: &Path, pause: u64) -> Way {
        let (mut steps, mut stages) = (Vec::new(), vec![0]);
        for (stage, legs) in path.stages.iter().enumerate() {
            for leg in legs {
                let wire = c.wire(*leg, path.unit);
                let full = fs(wire / c.rate(leg.element));
                steps.push(Step { leg: *leg, stage: stage as u32, full, wire });
            }
            stages.push(steps.len() as u32);
        }
        Way { steps, stages, unit: path.unit, pause }
    }
}

impl Fabric {
    fn new(
        schedule: Schedule,
        protocol: Protocol,
        c: &GpuCluster,
        (ways, way_of): (Vec<Way>, Vec<u32>),
        wires: Vec<Wire>,
    ) -> Fabric {
        let count = schedule.messages.len();
        let mut blocks = vec![Block::default(); schedule.blocks as usize];
        schedule.messages.iter().for_each(|m| blocks[m.block as usize].end += 1);
        let mut from = 0;
        for b in &mut blocks {
            let own = b.end;
            (b.next, b.end) = (from, from);
            from += own;
        }
        let mut order = vec![0; count];
        for (i, m) in schedule.messages.iter().enumerate() {
            let b = &mut blocks[m.block as usize];
            order[b.end as usize] = i as u32;
            b.end += 1;
        }
        let mut starts = vec![0_u32; count + 1];
        let mut waits = vec![0_u8; count];
        for (i, m) in schedule.messages.iter().enumerate() {
            for a in m.after.iter().filter(|a| **a != NONE) {
                starts[*a as usize + 1] += 1;
                waits[i] += 1;
            }
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut places = starts.clone();
        let mut followers = vec![0; starts[count] as usize];
        for (i, m) in schedule.messages.iter().enumerate() {
            for a in m.after.iter().filter(|a| **a != NONE) {
                followers[places[*a as usize] as usize] = i as u32;
                places[*a as usize] += 1;
            }
        }
        let launch = fs(c.launch);
        let heap = (0..blocks.len() as u32).map(|b| Reverse((launch, Event::Ready(b)))).collect();
        Fabric {
            schedule,
            protocol,
            slots: c.slots,
            channel_fs: FS / c.channel_rate,
            ways,
            way_of,
            flights: Vec::new(),
            free: Vec::new(),
            latest: HashMap::new(),
            wires,
            blocks,
            order,
            waits,
            followers: (starts, followers),
            heap,
            left: count as u32,
            end: 0,
        }
    }

    /// Lets a thread block send what it can.
    fn send(&mut self, block: u32, now: u64, agenda: &mut Agenda) {
        loop {
            let b = &mut self.blocks[block as usize];
            if b.next == b.end || b.under_way >= self.slots || b.sending {
                return;
            }
            let id = self.order[b.next as usize];
            if self.waits[id as usize] > 0 {
                return;
            }
            if now < b.ready {
                self.heap.push(Reverse((b.ready, Event::Ready(block))));
                agenda.by(self.wires.len() as u32, b.ready);
                return;
            }
            b.next += 1;
            b.under_way += 1;
            b.sending = self.schedule.messages[id as usize].bytes > 0;
            let bytes = self.schedule.messages[id as usize].bytes;
            b.ready = now + (GpuCluster::carried(self.protocol, bytes) as f64 * self.channel_fs) as u64;
            self.launch(id, bytes, now, agenda);
        }
    }

    fn launch(&mut self, id: u32, bytes: u64, now: u64, agenda: &mut Agenda) {
        let way = self.way_of[id as usize];
        let w = &self.ways[way as usize];
        let carried = GpuCluster::carried(self.protocol, bytes);
        if carried == 0 {
            let at = now + w.pause;
            self.heap.push(Reverse((at, Event::Received(id))));
            agenda.by(self.wires.len() as u32, at);
            return;
        }
        let packets = carried.div_ceil(w.unit);
        let last = carried - (packets - 1) * w.unit;
        let (legs, first) = (w.steps.len(), w.stages[1]);
        let place = self.free.pop().unwrap_or_else(|| {
            self.flights.push(Flight::default());
            self.flights.len() as u32 - 1
        });
        let f = &mut self.flights[place as usize];
        (f.message, f.way, f.packets, f.last) = (id, way, packets as u32, last);
        f.sent.clear();
        f.sent.resize(legs, (0, false));
        let block = self.schedule.messages[id as usize].block;
        f.moved = now + (carried as f64 * self.channel_fs) as u64;
        f.behind = NONE;
        let before = self.latest.insert((block, way), place).unwrap_or(NONE);
        f.before = before;
        if let Some(b) = self.flights.get_mut(before as usize) {
            b.behind = place;
        }
        (0..first).for_each(|step| self.queue(place, step, now, agenda));
    }

    /// Puts a message into the queue of a leg, unless it stands there.
    #[inline]
    fn queue(&mut self, flight: u32, step: u32, now: u64, agenda: &mut Agenda) {
        let before = self.flights[flight as usize].before;
        if self.flights.get(before as usize).is_some_and(|b| b.sent[step as usize].0 < b.packets) {
            return;
        }
        let f = &mut self.flights[flight as usize];
        let state = &mut f.sent[step as usize];
        if state.1 {
            return;
        }
        state.1 = true;
        let element = self.ways[f.way as usize].steps[step as usize].leg.element;
        self.wires[element as usize].queue.push_back((flight, step));
        if self.wires[element as usize].current.is_none() {
            self.start(element, now, agenda);
        }
    }

    /// Begins the next packet of an element.
    #[inline]
    fn start(&mut self, element: u32, now: u64, agenda: &mut Agenda) {
        let wire = &mut self.wires[element as usize];
        let Some((flight, step)) = wire.queue.pop_front() else {
            agenda.set(element, NEVER);
            return;
        };
        wire.current = Some((flight, step));
        let f = &self.flights[flight as usize];
        let way = &self.ways[f.way as usize];
        let s = &way.steps[step as usize];
        let last = f.sent[step as usize].0 + 1 == f.packets;
        let payload = if last { f.last } else { way.unit };
        // A short packet has the same headers.
        let bytes = if last { s.wire - (way.unit - payload) as f64 } else { s.wire };
        let whole = if last { (s.full as f64 * bytes / s.wire).round() as u64 } else { s.full };
        let data = (whole as f64 * payload as f64 / bytes) as u64;
        // Answers that fit into the time in which nothing was sent are gone.
        let idle = now.saturating_sub(wire.free);
        let gone = wire.debt.min(idle);
        let behind = wire.debt - gone;
        wire.debt = 0;
        wire.spent[0] += data;
        wire.spent[1] += whole - data;
        wire.spent[2] += gone + behind;
        wire.packets += 1;
        wire.free = now + behind + whole;
        agenda.set(element, wire.free);
        if let Some((back, flits)) = s.leg.answer {
            let back = &mut self.wires[back as usize];
            back.debt += flits * back.answer;
        }
    }

    /// A packet has passed an element.
    #[inline]
    fn passed(&mut self, element: u32, now: u64, agenda: &mut Agenda) {
        let Some((flight, step)) = self.wires[element as usize].current.take() else { return };
        let f = &mut self.flights[flight as usize];
        let way = &self.ways[f.way as usize];
        let stage = way.steps[step as usize].stage as usize;
        f.sent[step as usize].0 += 1;
        f.sent[step as usize].1 = false;
        let range = |s: usize| way.stages[s] as usize..way.stages[s + 1] as usize;
        let through = |f: &Flight, s: usize| f.sent[range(s)].iter().map(|l| l.0).min().unwrap_or(0);
        let own = f.sent[step as usize].0;
        let come = if stage == 0 { f.packets } else { through(f, stage - 1) };
        let all = through(f, stage);
        if own < come {
            f.sent[step as usize].1 = true;
            self.wires[element as usize].queue.push_back((flight, step));
        }
        let (behind, packets) = (f.behind, f.packets);
        if let (true, Some(next)) = (own == packets, self.flights.get(behind as usize)) {
            let come = if stage == 0 { next.packets } else { through(next, stage - 1) };
            if next.sent[step as usize].0 < come {
                self.queue(behind, step, now, agenda);
            }
        }
        let f = &self.flights[flight as usize];
        if stage == 0 && all == f.packets {
            let block = self.schedule.messages[f.message as usize].block;
            self.blocks[block as usize].sending = false;
            self.send(block, now, agenda);
        }
        let f = &self.flights[flight as usize];
        let way = &self.ways[f.way as usize];
        if all == own {
            // The last of the stage's elements has sent this packet.
            if stage + 2 < way.stages.len() {
                let next = way.stages[stage + 1]..way.stages[stage + 2];
                for step in next {
                    let f = &self.flights[flight as usize];
                    if f.sent[step as usize].0 < all {
                        self.queue(flight, step, now, agenda);
                    }
                }
            } else if all == f.packets {
                let m = &self.schedule.messages[f.message as usize];
                let adding = if m.adds { (m.bytes as f64 * self.channel_fs) as u64 } else { 0 };
                let come = now.max(f.moved) + way.pause + adding;
                self.heap.push(Reverse((come, Event::Received(f.message))));
                let (message, way, behind) = (f.message, f.way, f.behind);
                let block = self.schedule.messages[message as usize].block;
                match self.flights.get_mut(behind as usize) {
                    Some(next) => next.before = NONE,
                    None => {
                        self.latest.remove(&(block, way));
                    }
                }
                self.free.push(flight);
                let at = self.heap.peek().map_or(NEVER, |e| e.0.0);
                agenda.by(self.wires.len() as u32, at);
            }
        }
        // A message that followed may have begun already.
        if self.wires[element as usize].current.is_none() {
            self.start(element, now, agenda);
        }
    }

    fn received(&mut self, id: u32, now: u64, agenda: &mut Agenda) {
        self.left -= 1;
        self.end = self.end.max(now);
        let block = self.schedule.messages[id as usize].block;
        self.blocks[block as usize].under_way -= 1;
        self.send(block, now, agenda);
        let [from, to] = [id, id + 1].map(|i| self.followers.0[i as usize] as usize);
        for i in from..to {
            let next = self.followers.1[i];
            self.waits[next as usize] -= 1;
            if self.waits[next as usize] == 0 {
                self.send(self.schedule.messages[next as usize].block, now, agenda);
            }
        }
    }
}

impl World for Fabric {
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        if slot < self.wires.len() as u32 {
            self.passed(slot, now, agenda);
            return;
        }
        while let Some(Reverse((_, event))) = self.heap.peek().copied().filter(|e| e.0.0 <= now) {
            self.heap.pop();
            match event {
                Event::Received(id) => self.received(id, now, agenda),
                Event::Ready(block) => self.send(block, now, agenda),
            }
        }
        agenda.set(slot, self.heap.peek().map_or(NEVER, |e| e.0.0));
    }
}
