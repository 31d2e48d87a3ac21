//! A collective's messages: when each is on each element. Followed are pieces through trees and switches, and all of a
//! collective that has few messages.
//!
//! What meets at an element shares it evenly (as packets that take turns do). The first and the last packet of a
//! message wait for one packet of each that is there, and go one behind the other: so channels that begin together
//! drift apart from hop to hop, and one hides behind another. What is on its way up a tree and what is on its way down
//! meet, thread blocks have so many messages under way, and of two below one the second is sent to later: so messages
//! of the schedule are followed one by one, as a fluid in place of packets. Channels and rails that do the same at
//! other GPUs are followed once, with their elements laid over one another.

use super::element::{Server, Visit};
use super::turns::At;
use crate::plan::gpu::collective::{Collective, Move};
use crate::plan::gpu::schedule::{Message, NONE, Schedule};
use crate::plan::gpu::{Element, GpuCluster};
use crate::scenario::keys::{CollectiveAlgorithm as Algorithm, CollectiveProtocol as Protocol};
use crate::tools::gcd;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Ranks of a cluster that is followed whole, channel by channel. Of a larger one fewer nodes are, and each level more
/// of the tree takes as long as the last of these; channels that go the same way are followed as one.
const RANKS: u32 = 64;
/// Nodes of a larger one, at least.
const NODES: u32 = 4;
/// Pieces that are followed, where all ranks are and where not; each more takes as long as one of the last half.
const PIECES: [u64; 2] = [16, 8];
/// Messages of a piece that are followed, at most: where channels have more, fewer of them stand for all.
const MESSAGES: u32 = 8192;
/// Messages of a whole collective that are followed, at most, where all ranks are and where not.
const FEW: [u64; 2] = [20_000, 8192];

fn lcm(a: u32, b: u32) -> u32 {
    a / gcd(u64::from(a), u64::from(b)) as u32 * b
}

/// Trees that an algorithm uses.
fn trees(c: &GpuCluster, how: Algorithm) -> u32 {
    if matches!(how, Algorithm::DoubleTree | Algorithm::NvlsTree) && c.nodes > 1 { 2 } else { 1 }
}

/// Channels so far apart go the same way.
pub(super) fn period(c: &GpuCluster, how: Algorithm) -> u32 {
    let switch = matches!(how, Algorithm::Nvls | Algorithm::NvlsTree);
    let each = if c.nodes > 1 { (c.nics / c.gpus).max(1) } else { 1 };
    match (switch, c.links.is_none_or(|l| l.switched)) {
        (true, _) if each == 1 => trees(c, how),
        (_, false) => c.channels,
        _ => lcm(c.gpus * each, trees(c, how)),
    }
}

/// Which channels and GPUs stand for all.
#[derive(Clone, Debug)]
struct Alike {
    /// Channels, and how many each stands for.
    channels: Vec<(u32, f64)>,
    /// GPUs of a node that do something else than those before them; the others do the same, so many further on.
    gpus: u32,
}

impl Alike {
    fn of(c: &GpuCluster, how: Algorithm) -> Alike {
        let switch = matches!(how, Algorithm::Nvls | Algorithm::NvlsTree);
        let trees = trees(c, how);
        let period = period(c, how);
        // GPUs that share a NIC do the same at it. Trees of few ranks are followed GPU by GPU nevertheless: what goes
        // over links meanwhile overlaps with what goes through the NIC, from GPU to GPU at other times.
        let shares = if c.nodes > 1 { (c.gpus / c.nics).max(1) } else { 1 };
        let turn = match switch {
            true => 1,
            false if c.ranks() <= RANKS => lcm(shares, trees),
            false => trees,
        };
        let whole = switch || c.channels.is_multiple_of(lcm(period, c.gpus));
        let gpus = if whole && c.gpus.is_multiple_of(turn) { turn } else { c.gpus };
        let period = if c.ranks() <= RANKS { c.channels } else { period };
        let first = (0..period.min(c.channels)).filter(|ch| switch || ch % c.gpus < gpus);
        let times = |ch: u32| f64::from((c.channels - ch).div_ceil(period));
        let mut channels: Vec<(u32, f64)> = first.map(|ch| (ch, times(ch))).collect();
        let most = (MESSAGES / (2 * Alike::nodes(c) * c.gpus)).max(1) as usize;
        if channels.len() > most {
            let each = channels.len() as f64 / most as f64;
            channels.truncate(most);
            channels.iter_mut().for_each(|ch| ch.1 *= each);
        }
        Alike { channels, gpus }
    }

    /// Nodes that are followed.
    fn nodes(c: &GpuCluster) -> u32 {
        let whole = c.ranks() <= RANKS;
        if whole { c.nodes } else { (RANKS / 2 / c.gpus).max(NODES).min(c.nodes) }
    }

    /// How many GPUs do the same at an element for each that is followed.
    fn sharers(&self, c: &GpuCluster, place: u32) -> u32 {
        use Element::*;
        match c.element(place) {
            _ if c.of_all_nics(place) => c.gpus / self.gpus,
            SlotOut(_) | SlotIn(_) | NicOut(_) | NicIn(_) | LeafUp(_) | LeafDown(_) => {
                (c.gpus / c.nics.max(1) / self.gpus).max(1)
            }
            _ => 1,
        }
    }

    /// The element that stands for one.
    fn element(&self, c: &GpuCluster, place: u32) -> u32 {
        use Element::*;
        let gpu = |r: u32| r / c.gpus * c.gpus + r % c.gpus % self.gpus;
        // A NIC is its GPU's, or the GPUs' that share it.
        let nics = (self.gpus * c.nics / c.gpus).max(1);
        let nic = |n: u32| n / c.nics * c.nics + n % c.nics % nics;
        c.place(match c.element(place) {
            Up(g) => Up(gpu(g)),
            Down(g) => Down(gpu(g)),
            ChipOut(g) => ChipOut(gpu(g)),
            ChipIn(g) => ChipIn(gpu(g)),
            SlotOut(n) => SlotOut(nic(n)),
            SlotIn(n) => SlotIn(nic(n)),
            NicOut(n) => NicOut(nic(n)),
            NicIn(n) => NicIn(nic(n)),
            Pair(a, b) => {
                let back = a % c.gpus / self.gpus * self.gpus;
                Pair(a - back, b / c.gpus * c.gpus + (b % c.gpus + c.gpus - back) % c.gpus)
            }
            LeafUp(l) => LeafUp(c.leaf_of_rails(l, nics)),
            LeafDown(l) => LeafDown(c.leaf_of_rails(l, nics)),
        })
    }
}

/// An element of a way.
#[derive(Clone, Copy, Debug)]
struct Leg {
    server: u32,
    /// Seconds of a full packet, and how many messages this one stands for here.
    packet: f64,
    times: f64,
    /// The opposite element, and the seconds of an answer there.
    answer: Option<(u32, f64)>,
}

/// The way of a message.
#[derive(Clone, Copy, Debug)]
struct Way {
    what: Move,
    /// The next way of the same thread block.
    next: u32,
    /// Where the legs of each stage end; the first stage begins at the first of these.
    bounds: [u32; STAGES + 1],
    stages: u8,
    /// Seconds of a packet at elements that only those use that use a slower one beside it.
    beside: f64,
    unit: f64,
    network: bool,
}

/// The ways of thread blocks: the same whatever the bytes.
#[derive(Clone, Debug, Default)]
struct Ways {
    legs: Vec<Leg>,
    all: Vec<Way>,
    /// The first way of each thread block.
    first: Vec<u32>,
    /// The element by which messages come to each, and whether that has packets in a queue: it is slower, or they come
    /// by several.
    before: HashMap<u32, (u32, bool)>,
}

impl Ways {
    /// Whether packets stand in a queue at an element.
    fn queues(&self, server: u32) -> bool {
        self.before.get(&server).is_none_or(|before| before.1)
    }

    /// The way of a message of a thread block.
    fn find(&mut self, c: &GpuCluster, m: &Message, alike: &Alike) -> Result<u32, String> {
        let block = m.block as usize;
        if self.first.len() <= block {
            self.first.resize(block + 1, NONE);
        }
        let mut known = self.first[block];
        while let Some(way) = self.all.get(known as usize) {
            if way.what == m.what {
                return Ok(known);
            }
            known = way.next;
        }
        let channel = alike.channels.iter().find(|ch| ch.0 == m.channel).copied().unwrap_or((0, 1.0));
        let way = Way { next: self.first[block], ..self.way(c, m.what, channel, alike)? };
        self.all.push(way);
        self.first[block] = self.all.len() as u32 - 1;
        Ok(self.first[block])
    }

    fn way(&mut self, c: &GpuCluster, what: Move, (channel, times): (u32, f64), alike: &Alike) -> Result<Way, String> {
        let path = c.path(what, channel)?;
        let mut stages: Vec<Vec<Leg>> = Vec::new();
        let mut beside = 0.0;
        let mut last: Option<Element> = None;
        for stage in &path.stages {
            let mut legs: Vec<Leg> = Vec::new();
            for leg in stage {
                let server = alike.element(c, leg.element);
                let packet = c.wire(*leg, path.unit) / c.rate(leg.element);
                if let Some(same) = legs.iter_mut().find(|l| l.server == server) {
                    same.times += times;
                    continue;
                }
                let shared = f64::from(alike.sharers(c, leg.element));
                let answer = leg.answer.map(|(back, flits)| (alike.element(c, back), c.answer(back, flits)));
                legs.push(Leg { server, packet, times: times * shared, answer });
            }
            // A NIC's link and its slot carry the same to the GPU.
            let own = c.element(stage[0].element);
            // Not on the way out: a thread block goes on when the slot has taken all, which may be before the link has.
            let same = matches!((last, own), (Some(Element::NicIn(_)), Element::SlotIn(_)));
            last = Some(own);
            if !same {
                stages.push(legs);
                continue;
            }
            if let Some(before) = stages.last_mut() {
                let (a, b) = (before[0].packet, legs[0].packet);
                beside += a.min(b);
                if b > a {
                    *before = legs;
                }
            }
        }
        for pair in stages.windows(2) {
            for (a, b) in pair[0].iter().flat_map(|a| pair[1].iter().map(move |b| (a, b))) {
                let (by, queue) = self.before.entry(b.server).or_insert((a.server, false));
                *queue |= *by != a.server || b.packet * b.times > a.packet * a.times * (1.0 + 1e-9);
            }
        }
        stages.first().into_iter().flatten().for_each(|leg| {
            self.before.insert(leg.server, (NONE, true));
        });
        let mut bounds = [self.legs.len() as u32; STAGES + 1];
        for (i, legs) in stages.iter().enumerate() {
            self.legs.extend(legs);
            bounds[i + 1] = self.legs.len() as u32;
        }
        let (unit, network, stages) = (path.unit as f64, path.network, stages.len() as u8);
        Ok(Way { what, next: NONE, bounds, stages, beside, unit, network })
    }
}

impl Way {
    /// Its legs of a stage.
    fn legs(&self, stage: u8) -> std::ops::Range<usize> {
        self.bounds[usize::from(stage)] as usize..self.bounds[usize::from(stage) + 1] as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Received(u32),
    Ready(u32),
    Element(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    next: usize,
    end: usize,
    under_way: u32,
    ready: f64,
    sending: bool,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    way: u32,
    /// Packets, and those of the last.
    packets: f64,
    last: f64,
    /// The message of the same thread block and way before it, and the one behind it: they stay in order.
    before: u32,
    behind: u32,
    /// How many stages it has begun and left, and whether it waits for the next.
    begun: u8,
    left: u8,
    wants: bool,
    /// Legs of the stages that wait for its last packet, which has not come through the stage before.
    late: [u64; STAGES],
    /// Legs of the stages whose first packet has not passed; whose last one has not.
    first: [u8; STAGES],
    rest: [u8; STAGES],
    moved: f64,
    adding: f64,
}

/// Stages of a way at most: C2C, NIC and leaf at both ends.
const STAGES: usize = 8;

/// Messages that are followed.
struct Run<'a> {
    schedule: &'a Schedule,
    ways: &'a Ways,
    /// Seconds of a hop over links, over the network, and of a stage of a switch.
    pauses: [f64; 3],
    flights: Vec<Flight>,
    blocks: Vec<Block>,
    order: Vec<u32>,
    waits: Vec<u8>,
    /// Messages that wait for another, and where those of each end.
    followers: Vec<u32>,
    ends: Vec<u32>,
    servers: Vec<Server>,
    events: BinaryHeap<Reverse<(At, Event)>>,
    slots: u32,
    end: f64,
}

/// Numbers places that so many of each want, and gives where those of each begin.
fn places(counts: &mut [u32]) {
    let mut from = 0;
    for count in counts {
        let own = *count;
        *count = from;
        from += own;
    }
}

impl<'a> Run<'a> {
    fn new(
        c: &GpuCluster,
        schedule: &'a Schedule,
        protocol: Protocol,
        alike: &Alike,
        ways: &'a mut Ways,
    ) -> Result<Run<'a>, String> {
        let count = schedule.messages.len();
        let mut latest: Vec<u32> = Vec::new();
        let mut flights: Vec<Flight> = Vec::with_capacity(count);
        let mut sent = vec![0_u32; schedule.blocks as usize];
        let mut waits = vec![0; count];
        let mut ends = vec![0_u32; count];
        for (i, m) in schedule.messages.iter().enumerate() {
            let way = ways.find(c, m, alike)?;
            latest.resize(ways.all.len(), NONE);
            let w = &ways.all[way as usize];
            let carried = GpuCluster::carried(protocol, m.bytes) as f64;
            let packets = carried / w.unit;
            let mut legs = [0; STAGES];
            (0..w.stages).for_each(|s| legs[usize::from(s)] = w.legs(s).len() as u8);
            let before = std::mem::replace(&mut latest[way as usize], i as u32);
            if let Some(b) = flights.get_mut(before as usize) {
                b.behind = i as u32;
            }
            flights.push(Flight {
                way,
                packets,
                last: packets - (packets.ceil() - 1.0),
                before,
                behind: NONE,
                begun: 0,
                left: 0,
                wants: false,
                late: [0; STAGES],
                first: legs,
                rest: legs,
                moved: carried / c.channel_rate,
                adding: if m.adds { m.bytes as f64 / c.channel_rate } else { 0.0 },
            });
            sent[m.block as usize] += 1;
            for a in m.after.iter().filter(|a| **a != NONE) {
                ends[*a as usize] += 1;
                waits[i] += 1;
            }
        }
        places(&mut sent);
        let block = |from: &u32| Block { next: *from as usize, end: *from as usize, ..Block::default() };
        let mut blocks: Vec<Block> = sent.iter().map(block).collect();
        places(&mut ends);
        let mut followers = vec![0; waits.iter().map(|w| usize::from(*w)).sum()];
        let mut order = vec![0; count];
        for (i, m) in schedule.messages.iter().enumerate() {
            let b = &mut blocks[m.block as usize];
            order[b.end] = i as u32;
            b.end += 1;
            for a in m.after.iter().filter(|a| **a != NONE) {
                let end = &mut ends[*a as usize];
                followers[*end as usize] = i as u32;
                *end += 1;
            }
        }
        let server = |e| Server { due: f64::INFINITY, queues: ways.queues(e), ..Server::default() };
        let servers = (0..c.elements()).map(server).collect();
        let pauses = [c.latency(false, protocol), c.latency(true, protocol), c.hop_nvls];
        let (slots, events) = (c.slots, BinaryHeap::new());
        let end = 0.0;
        Ok(Run { schedule, ways, pauses, flights, blocks, order, waits, followers, ends, servers, events, slots, end })
    }

    /// Seconds from the last packet of a message until it has been received.
    fn pause(&self, way: &Way) -> f64 {
        self.pauses[match way.what {
            Move::Send(..) => usize::from(way.network),
            _ => 2,
        }]
    }

    /// Seconds until the last message has been received; infinitely many where they are more than `most`.
    fn time(mut self, most: f64) -> f64 {
        (0..self.blocks.len() as u32).for_each(|b| self.send(b, 0.0));
        while let Some(Reverse((At(now), event))) = self.events.pop() {
            if now > most {
                return f64::INFINITY;
            }
            match event {
                Event::Received(m) => self.received(m, now),
                Event::Ready(block) => self.send(block, now),
                Event::Element(e) if self.servers[e as usize].due == now => self.serve(e, now),
                Event::Element(_) => {}
            }
        }
        self.end
    }

    fn put(&mut self, at: f64, event: Event) {
        self.events.push(Reverse((At(at), event)));
    }

    /// Lets a thread block send what it can.
    fn send(&mut self, block: u32, now: f64) {
        let b = &mut self.blocks[block as usize];
        if b.next == b.end || b.under_way >= self.slots || b.sending {
            return;
        }
        let m = self.order[b.next];
        if self.waits[m as usize] > 0 {
            return;
        }
        if now < b.ready {
            let at = b.ready;
            self.put(at, Event::Ready(block));
            return;
        }
        let f = &mut self.flights[m as usize];
        b.next += 1;
        b.under_way += 1;
        b.sending = true;
        b.ready = now + f.moved;
        f.moved += now;
        if f.packets == 0.0 {
            let way = f.way;
            let at = now + self.pause(&self.ways.all[way as usize]);
            self.blocks[block as usize].sending = false;
            self.put(at, Event::Received(m));
            return self.send(block, now);
        }
        self.begin(m, now);
    }

    /// A message comes to its next stage.
    fn begin(&mut self, m: u32, now: f64) {
        let before = self.flights[m as usize].before;
        let before = self.flights.get(before as usize).map_or(u8::MAX, |b| b.left);
        let f = &mut self.flights[m as usize];
        let stage = f.begun;
        f.wants = before <= stage;
        if f.wants {
            return;
        }
        f.begun += 1;
        let (way, packets, last) = (f.way, f.packets.min(1.0), f.packets <= 1.0);
        let legs = self.ways.all[way as usize].legs(stage);
        for (i, leg) in self.ways.legs[legs].iter().enumerate() {
            let s = &mut self.servers[leg.server as usize];
            s.advance(now);
            s.queue((m, stage, i as u8), last, leg.packet * packets * leg.times, leg.packet);
            self.again(leg.server);
        }
    }

    /// Something has changed at an element: it is looked at when that may be done, or before.
    fn again(&mut self, e: u32) {
        let s = &mut self.servers[e as usize];
        if let Some((at, _)) = s.next()
            && at < s.due
        {
            s.due = at;
            self.put(at, Event::Element(e));
        }
    }

    fn leg(&self, (m, stage, leg): Visit) -> Leg {
        let way = &self.ways.all[self.flights[m as usize].way as usize];
        self.ways.legs[way.bounds[usize::from(stage)] as usize + usize::from(leg)]
    }

    /// What an element does next, is done.
    fn serve(&mut self, e: u32, now: f64) {
        let s = &mut self.servers[e as usize];
        s.due = f64::INFINITY;
        let Some((_, of_shared)) = s.next().filter(|next| next.0 <= now) else { return self.again(e) };
        s.advance(now);
        let first = if of_shared { None } else { s.line.pop_front() };
        let (visit, all) = match first {
            Some(packet) => (packet.visit, packet.last),
            None => {
                // All but the last packet have passed.
                let Some(Reverse((until, visit))) = s.until.pop() else { return };
                s.given = s.given.max(until.0);
                let times = self.leg(visit).times;
                self.servers[e as usize].leave(times);
                return self.last(visit, now);
            }
        };
        if all {
            self.again(e);
            self.left(visit, now);
            return;
        }
        // The first packet has passed: it goes on, and the others share the element.
        let (leg, f) = (self.leg(visit), &mut self.flights[visit.0 as usize]);
        let s = &mut self.servers[e as usize];
        if f.packets > 2.0 {
            s.there += leg.times;
            s.until.push(Reverse((At(s.given + leg.packet * (f.packets - f.last - 1.0)), visit)));
        }
        let two = f.packets <= 2.0;
        f.first[visit.1 as usize] -= 1;
        let more = visit.1 + 1 < self.ways.all[f.way as usize].stages;
        let goes_on = more && f.first[visit.1 as usize] == 0 && f.begun == visit.1 + 1;
        match two {
            true => self.last(visit, now),
            false => self.again(e),
        }
        if goes_on {
            self.begin(visit.0, now);
        }
    }

    /// Only the last packet of a message has still to pass an element: now, or when it has come.
    fn last(&mut self, visit: Visit, now: f64) {
        let f = &mut self.flights[visit.0 as usize];
        match 1_u64.checked_shl(u32::from(visit.2)).filter(|_| f.left < visit.1) {
            Some(bit) => {
                f.late[usize::from(visit.1)] |= bit;
                let e = self.leg(visit).server;
                self.again(e);
            }
            None => self.ends(visit, now, true),
        }
    }

    /// The last packet of a message has come to an element; `waits`, if packets of those that share it stand there.
    fn ends(&mut self, visit: Visit, now: f64, waits: bool) {
        let leg = self.leg(visit);
        let last = self.flights[visit.0 as usize].last;
        let s = &mut self.servers[leg.server as usize];
        s.advance(now);
        s.queue(visit, true, leg.packet * last * leg.times, if waits { leg.packet } else { 0.0 });
        self.again(leg.server);
    }

    /// The last packet of a message has passed an element.
    fn left(&mut self, visit: Visit, now: f64) {
        let (m, stage, _) = visit;
        let leg = self.leg(visit);
        let f = &mut self.flights[m as usize];
        if let Some((back, answer)) = leg.answer {
            let s = &mut self.servers[back as usize];
            s.advance(now);
            s.answers += answer * f.packets.ceil() * leg.times;
            self.again(back);
        }
        let f = &mut self.flights[m as usize];
        f.rest[stage as usize] -= 1;
        if f.rest[stage as usize] == 0 && f.left == stage {
            self.passed(m, now);
        }
    }

    /// A message has left its stage.
    fn passed(&mut self, m: u32, now: f64) {
        let f = &mut self.flights[m as usize];
        f.left += 1;
        let (left, behind) = (f.left, f.behind);
        let way = &self.ways.all[f.way as usize];
        if left == way.stages {
            let (packets, moved, adding) = (f.packets, f.moved, f.adding);
            let at = (now + way.beside * packets.min(1.0)).max(moved) + self.pause(way) + adding;
            self.put(at, Event::Received(m));
        } else if f.begun == left {
            self.begin(m, now);
        } else {
            let mut late = std::mem::take(&mut f.late[usize::from(left)]);
            while late != 0 {
                // What had come had passed, of this message as of others: none of them keeps it waiting.
                self.ends((m, left, late.trailing_zeros() as u8), now, false);
                late &= late - 1;
            }
        }
        if self.flights.get(behind as usize).is_some_and(|b| b.wants && b.begun + 1 == left) {
            self.begin(behind, now);
        }
        if left == 1 {
            let block = self.schedule.messages[m as usize].block;
            self.blocks[block as usize].sending = false;
            self.send(block, now);
        }
    }

    fn received(&mut self, m: u32, now: f64) {
        self.end = self.end.max(now);
        let block = self.schedule.messages[m as usize].block;
        self.blocks[block as usize].under_way -= 1;
        self.send(block, now);
        let from = if m == 0 { 0 } else { self.ends[m as usize - 1] };
        for i in from..self.ends[m as usize] {
            let next = self.followers[i as usize];
            self.waits[next as usize] -= 1;
            if self.waits[next as usize] == 0 {
                self.send(self.schedule.messages[next as usize].block, now);
            }
        }
    }
}

/// Seconds of all messages of a collective behind the launch, each followed, where there are few; infinitely many where
/// they are more than `most`. An error where a transfer has no way.
pub(super) fn whole(
    c: &GpuCluster,
    what: Collective,
    how: Algorithm,
    protocol: Protocol,
    (bytes, most): (u64, f64),
) -> Result<Option<f64>, String> {
    if c.messages(what, how, bytes) > FEW[usize::from(c.ranks() > RANKS)] {
        return Ok(None);
    }
    let alike = Alike { channels: (0..c.channels).map(|ch| (ch, 1.0)).collect(), gpus: c.gpus };
    let all = c.schedule(what, how, bytes)?;
    Ok(Some(Run::new(c, &all, protocol, &alike, &mut Ways::default())?.time(most)))
}

/// What of a cluster is followed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// All nodes that are.
    Nodes,
    /// Half of them.
    Half,
    /// Of all of them, the first channel alone.
    Channel,
}

/// What has been followed of one algorithm, by protocol, piece and pieces.
#[derive(Clone, Debug)]
pub(super) struct Timetable {
    what: Collective,
    how: Algorithm,
    alike: Alike,
    /// The first channel alone, where there are many.
    alone: Option<Alike>,
    /// All nodes, those that are followed, and half of these.
    whole: GpuCluster,
    nodes: GpuCluster,
    half: GpuCluster,
    /// By [`Part`].
    ways: [Ways; 3],
    /// Stages between nodes that all have behind those that are followed, for each that these have behind half of them.
    more: f64,
    known: HashMap<(u32, u64, u64), f64>,
}

impl Timetable {
    pub(super) fn new(c: &GpuCluster, what: Collective, how: Algorithm) -> Timetable {
        let nodes = Alike::nodes(c);
        let [whole, nodes, half] = [c.nodes, nodes, nodes / 2].map(|n| c.with_nodes(n.max(1)));
        let stages = [&whole, &nodes, &half].map(|c| f64::from(c.stages(what, how).1));
        let more = (stages[0] - stages[1]) / (stages[1] - stages[2]).max(1.0);
        let (alike, known) = (Alike::of(c, how), HashMap::new());
        let first = Alike { channels: vec![(0, 1.0)], gpus: alike.gpus };
        let alone = (alike.channels.len() > 3).then_some(first);
        Timetable { what, how, alike, alone, whole, nodes, half, ways: Default::default(), more, known }
    }

    /// Seconds of a part of each channel behind the launch, where the busiest element takes `busy` of a byte of it;
    /// infinitely many where they are more than `most`. An error where a transfer has no way.
    pub(super) fn time(&mut self, protocol: Protocol, part: u64, (busy, most): (f64, f64)) -> Result<f64, String> {
        let c = &self.whole;
        let piece = c.piece_of(self.what, self.how, part);
        let pieces = PIECES[usize::from(c.ranks() > RANKS)];
        if part <= pieces * piece {
            return self.levels(protocol, (part, piece), most);
        }
        let half = self.levels(protocol, (pieces / 2 * piece, piece), f64::INFINITY)?;
        if half + busy * (part - pieces / 2 * piece) as f64 > most {
            return Ok(f64::INFINITY);
        }
        let whole = self.levels(protocol, (pieces * piece, piece), f64::INFINITY)?;
        let each = (whole - half) / ((pieces - pieces / 2) * piece) as f64;
        Ok(whole + each.max(busy) * (part - pieces * piece) as f64)
    }

    /// The same of all pieces that are told.
    fn levels(&mut self, protocol: Protocol, (part, piece): (u64, u64), most: f64) -> Result<f64, String> {
        let key = (protocol as u32, part, piece);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        // The first channel alone takes no longer than all.
        if self.alone.is_some()
            && self.more == 0.0
            && most.is_finite()
            && !self.follow(Part::Channel, protocol, (part, piece), most)?.is_finite()
        {
            return Ok(f64::INFINITY);
        }
        let seconds = if self.more > 0.0 {
            let half = self.follow(Part::Half, protocol, (part, piece), most)?;
            let most = (most + self.more * half) / (1.0 + self.more);
            let all = if half.is_finite() { self.follow(Part::Nodes, protocol, (part, piece), most)? } else { half };
            if all.is_finite() { all + (all - half) * self.more } else { all }
        } else {
            self.follow(Part::Nodes, protocol, (part, piece), most)?
        };
        if seconds.is_finite() {
            self.known.insert(key, seconds);
        }
        Ok(seconds)
    }

    /// Seconds of a part of the cluster.
    fn follow(&mut self, which: Part, protocol: Protocol, pieces: (u64, u64), most: f64) -> Result<f64, String> {
        let mut all = Schedule::default();
        let c = if which == Part::Half { &self.half } else { &self.nodes };
        let alike = self.alone.as_ref().filter(|_| which == Part::Channel).unwrap_or(&self.alike);
        for (channel, _) in &alike.channels {
            c.pipeline(&mut all, self.what, self.how, *channel, pieces, alike.gpus)?;
        }
        Ok(Run::new(c, &all, protocol, alike, &mut self.ways[which as usize])?.time(most))
    }
}
