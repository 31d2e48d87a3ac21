//! I/Os that differ at one disk, followed from worker to heads and back: those of several flows, or those of one with
//! several kinds of them.
//!
//! Where the heads stand when a command comes hangs on whose the one before was: a sequential flow loses its place to
//! every other one, and what that costs is a seek and most of a turn, more than its data. No mean of its own says how
//! often. So the commands come to the disk in the order in which they are given, each with the moments of the heads
//! ([`Heads`], as in a run), and their data over its wire in that order; all else that lies before and behind the disk
//! takes each as long as it takes one by itself.
//!
//! Not in it: waits for what lies behind the wire, other flows on the same processors, adapter or bus, and I/Os that
//! answer one another, pause, deallocate or prefer some places.

use crate::estimate::storage::followed::known;
use crate::plan::storage::{Device, Heads, IoFlow, Storage, Volume};
use crate::scenario::keys::{Arrivals, Disk, Line, WHOLE};
use crate::scenario::quantity::{Corner, Quantity};
use crate::tools::mixed;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How many I/Os of each flow are followed, and how many of all at most.
const OF_EACH: u64 = 6000;
const OF_ALL: u64 = 200_000;

/// The same of a flow by itself, which nothing puts in another order: what is drawn for it is drawn by number, and it
/// is the same numbers that count whatever its times, its disk, and how many are outstanding. So what gets better is
/// not hidden by the chance of other ones; for who draws anew it is below 1 %.
const OF_ONE: u64 = 12_000;

/// The order in which the I/Os of several flows come to the disk moves from round to round, and with it how often a
/// sequential flow finds its place. So they are followed for twice as long, from `LEAST` (160 s) on, until each does as
/// much in the second half as in the quarter before it and in the eighth before that (to 2 %, and the chance of so
/// many), with so many I/Os of each at least; the second half counts. At first is `WHILE` (20 s); as long a write cache
/// may take to fill, before that.
const WHILE: u64 = 20_000_000_000_000_000;
const LEAST: u64 = 8 * WHILE;
const ENOUGH: u64 = 1000;
const SETTLED: f64 = 0.02;

/// The first part that is told apart from what settles: of `WHILE`, where that is settled to 5 %.
const AT_FIRST: f64 = 0.05;
const ROUNDS: u64 = 3;

/// Of fewer I/Os of a flow nothing is said.
const FEW: usize = 64;

/// I/Os outstanding that are followed.
const MOST: u64 = 16_384;

/// Longer than a disk is followed, fs: four hours.
const LONG: u64 = 14_400_000_000_000_000_000;

/// Turns of a disk that an I/O of a flow by itself takes at most on average, where so many are followed within that.
const TURNS: u64 = 2;

/// A kind of I/O: how often it is drawn, what it is, and its seconds on the way by itself. `behind` is what it takes
/// from when the media are through with its last byte, `least` from when the disk turns to it, with all data at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) count: f64,
    pub(super) size: u64,
    pub(super) read: bool,
    pub(super) random: f64,
    pub(super) align: u64,
    pub(super) behind: f64,
    pub(super) least: f64,
    /// Seconds of the wire, and which way its data go: a bus has one for both.
    pub(super) wire: f64,
    pub(super) lane: usize,
}

/// A flow at the disk.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub(super) flow: &'a IoFlow,
    pub(super) kinds: Vec<Way>,
}

/// What an I/O of a kind came to, seconds: from when it was asked for until its worker is done with it; of that waiting
/// at the adapter for a place; and for how long the heads worked for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    pub(super) time: f64,
    pub(super) place: f64,
    pub(super) heads: f64,
    /// If that is what it settles to: after how long, seconds, and which part of it its flow does in the first of it.
    pub(super) settles: Option<[f64; 2]>,
}

impl Met {
    /// Numbers of one.
    const FLAT: usize = 5;

    fn flat(met: &Option<Met>) -> [f64; Met::FLAT] {
        let Some(Met { time, place, heads, settles }) = met else { return [NONE; Met::FLAT] };
        let [after, first] = settles.unwrap_or([NONE; 2]);
        [*time, *place, *heads, after, first]
    }

    fn of_flat(flat: &[f64]) -> Option<Met> {
        let &[time, place, heads, after, first] = flat else { return None };
        let settles = (after >= 0.0).then_some([after, first]);
        (time >= 0.0).then_some(Met { time, place, heads, settles })
    }
}

/// Whether the heads are followed where a flow is: at a disk by itself, with flows that differ, or one whose I/Os do.
/// One that asks for one kind, or several that ask alike for the same anywhere, have a closed form.
pub(in crate::estimate) fn followed(storage: &Storage, corner: Corner, flow: &IoFlow) -> bool {
    let Volume::Target(target) = flow.volume else { return false };
    if !matches!(storage.targets[target as usize].device, Device::Disk(_)) {
        return false;
    }
    let there = || storage.flows.iter().filter(|f| f.volume == flow.volume);
    let n = |f: &IoFlow| u64::from(f.outstanding.at(corner).get());
    let plain = |l: &Line| l.reply.0 == 0 && l.delay.fs() == 0 && l.burst <= 1 && l.trim == 0;
    if !there().all(|f| f.places.is_none() && f.lines.iter().all(plain)) || there().map(n).sum::<u64>() > MOST {
        return false;
    }
    let one = |part: u32| part == 0 || part == WHOLE;
    let of_one_kind = matches!(&*flow.lines, [l] if one(l.read) && one(l.random));
    let asks = |f: &IoFlow| {
        let rate = f.rate.as_ref().map(|r| (r.at(corner), f.arrivals));
        (n(f), rate, f.submit.at(corner), f.complete.at(corner))
    };
    let anywhere = flow.lines.iter().all(|l| l.random == WHOLE);
    let closed = |f: &IoFlow| std::ptr::eq(f, flow) || anywhere && f.lines == flow.lines && asks(f) == asks(flow);
    !(of_one_kind && there().all(closed))
}

/// I/Os of flows at a disk: what each of their kinds comes to, those that were seen. The adapter's processor takes so
/// long for each (`given`, seconds), and has so many of them at the disk (`depth`). `None` if an hour is too short.
pub(super) fn among(
    k: &Disk,
    corner: Corner,
    sources: &[Source],
    (given, depth): (f64, u32),
) -> Option<Vec<Vec<Option<Met>>>> {
    let core_of = core_of(sources);
    let key = key(k, corner, (sources, &core_of), (given, depth));
    let flat = known(key, || {
        let all = Run::new(k, corner, (sources, core_of), (given, depth)).follow().unwrap_or_default();
        all.iter().flatten().flat_map(Met::flat).collect()
    });
    if flat.is_empty() {
        return None;
    }
    let mut all = flat.chunks_exact(Met::FLAT).map(Met::of_flat);
    Some(sources.iter().map(|s| all.by_ref().take(s.kinds.len()).collect()).collect())
}

/// Which flows have a worker's core in common: a number for each.
fn core_of(sources: &[Source]) -> Vec<usize> {
    let mut cores: Vec<u32> = sources.iter().map(|s| s.flow.core).collect();
    cores.sort_unstable();
    cores.dedup();
    sources.iter().map(|s| cores.partition_point(|c| *c < s.flow.core)).collect()
}

/// What no time is.
const NONE: f64 = -1.0;

/// All that what they come to hangs on.
fn key(k: &Disk, corner: Corner, (sources, core_of): (&[Source], &[usize]), (given, depth): (f64, u32)) -> Vec<u64> {
    let mut key = vec![u64::from_le_bytes(*b"of heads"), given.to_bits(), depth.into(), sources.len() as u64];
    let times = [&k.track_seek, &k.average_seek, &k.full_seek, &k.command_time];
    key.extend(times.map(|q| q.at(corner).fs()));
    key.extend([&k.outer_rate, &k.inner_rate].map(|q| q.at(corner).bits().to_bits()));
    key.extend([k.capacity.typical.0, k.cache.at(corner).0, u64::from(k.write_cache.typical)]);
    key.extend([k.rpm.at(corner).get() as u64, k.zones.typical.get().into()]);
    for (Source { flow, kinds }, core) in sources.iter().zip(core_of) {
        key.extend([flow.submit.at(corner).fs(), flow.complete.at(corner).fs()]);
        key.extend([flow.start.0, flow.range.0, flow.outstanding.at(corner).get().into(), *core as u64]);
        let rate = flow.rate.as_ref().map_or(0, |r| u64::from(r.at(corner).get()));
        key.extend([rate, u64::from(flow.arrivals == Arrivals::Poisson), kinds.len() as u64]);
        for w in kinds {
            key.extend([w.size, w.align, u64::from(w.read), w.lane as u64]);
            key.extend([w.count, w.random, w.behind, w.least, w.wire].map(f64::to_bits));
        }
    }
    key
}

/// One that is outstanding: of which flow, its number there, of which kind, where, when it was due, came to the
/// adapter, got a place, and for how long the heads worked for it.
#[derive(Clone, Copy, Default)]
struct Slot {
    source: usize,
    number: u64,
    kind: usize,
    offset: u64,
    due: u64,
    came: u64,
    begun: u64,
    heads: u64,
}

/// One that was done: its number, of which kind and when; its times, fs.
#[derive(Clone, Copy)]
struct Done {
    number: u64,
    kind: usize,
    ends: u64,
    time: u64,
    place: u64,
    heads: u64,
}

/// A flow under way: I/Os that were drawn, when the last of them was due, where the last one ended, and those done.
#[derive(Default)]
struct Under {
    drawn: u64,
    due: u64,
    at: u64,
    done: Vec<Done>,
    /// Those done before the disk was as it stays.
    early: usize,
}

/// What happens to an I/O: its worker turns to it, it comes to the adapter, that has dealt with it, its status is back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Asked,
    Submitted,
    Given,
    Answered,
}

struct Run<'a> {
    sources: &'a [Source<'a>],
    corner: Corner,
    heads: Heads,
    latency: u64,
    given: u64,
    depth: u32,
    slots: Vec<Slot>,
    under: Vec<Under>,
    /// What happens when; of what is at one moment first what was known first.
    due: BinaryHeap<Reverse<(u64, u64, u32, Step)>>,
    order: u64,
    /// When the workers' cores and the adapter's processor are free.
    cores: Vec<u64>,
    core_of: Vec<usize>,
    processor: u64,
    wires: [u64; 2],
    /// I/Os that have a place at the disk, and those that wait for one.
    inside: u32,
    waiting: VecDeque<u32>,
    /// Whether writes have yet to fill a write cache.
    fills: bool,
    /// How many are followed of a flow by itself.
    of_one: Option<u64>,
    /// From when on they counted, and when they were no longer followed.
    ended: [u64; 2],
}

/// Femtoseconds of so many seconds.
fn fs(seconds: f64) -> u64 {
    (seconds * 1e15).round().clamp(0.0, LONG as f64) as u64
}

impl<'a> Run<'a> {
    fn new(
        k: &Disk,
        corner: Corner,
        (sources, core_of): (&'a [Source<'a>], Vec<usize>),
        (given, depth): (f64, u32),
    ) -> Run<'a> {
        let slots = sources.iter().enumerate().flat_map(|(source, s)| {
            let n = s.flow.outstanding.at(corner).get() as usize;
            std::iter::repeat_n(Slot { source, ..Slot::default() }, n)
        });
        let turn = 60_000_000_000_000_000 / k.rpm.at(corner).get() as u64;
        let of_one = match sources {
            [one] => {
                let rounds = ROUNDS * u64::from(one.flow.outstanding.at(corner).get());
                Some(OF_ONE.min(LONG / (TURNS * turn.max(1))).max(FEW as u64).max(rounds))
            }
            _ => None,
        };
        Run {
            sources,
            corner,
            heads: Heads::new(k, corner, 0),
            latency: k.command_time.at(corner).fs(),
            given: fs(given),
            depth: depth.max(1),
            slots: slots.collect(),
            under: sources.iter().map(|_| Under::default()).collect(),
            due: BinaryHeap::new(),
            order: 0,
            cores: vec![0; sources.len()],
            core_of,
            processor: 0,
            wires: [0; 2],
            inside: 0,
            waiting: VecDeque::new(),
            fills: k.write_cache.typical && sources.iter().flat_map(|s| &s.kinds).any(|w| !w.read),
            of_one,
            ended: [0; 2],
        }
    }

    /// Follows them until there are enough of each, at least a few rounds of all that are outstanding. What came of
    /// each flow and its kinds; `None` where even an hour was not enough.
    fn follow(mut self) -> Option<Vec<Vec<Option<Met>>>> {
        (0..self.slots.len() as u32).for_each(|who| self.next(who, 0));
        let (mut all, mut since, mut until) = (0, 0, LEAST);
        let mut lacking = self.sources.len();
        let drifts = self.sources.iter().flat_map(|s| &s.kinds).any(|w| w.random < 1.0);
        while let Some(Reverse((now, _, who, step))) = self.due.pop() {
            match step {
                Step::Asked => {
                    let at = self.works(who, now, |f| &f.submit);
                    self.add(at, who, Step::Submitted);
                }
                Step::Submitted => {
                    self.processor = self.processor.max(now).saturating_add(self.given);
                    self.add(self.processor, who, Step::Given);
                }
                Step::Given => {
                    self.slots[who as usize].came = now;
                    if self.inside < self.depth {
                        self.inside += 1;
                        self.serve(who, now);
                    } else {
                        self.waiting.push_back(who);
                    }
                }
                Step::Answered => {
                    match self.waiting.pop_front() {
                        Some(next) => self.serve(next, now),
                        None => self.inside -= 1,
                    }
                    let ends = self.works(who, now, |f| &f.complete);
                    let Slot { source, number, kind, due, came, begun, heads, .. } = self.slots[who as usize];
                    let (time, place) = (ends - due, begun - came);
                    let under = &mut self.under[source];
                    under.done.push(Done { number, kind, ends, time, place, heads });
                    let rounds = ROUNDS * u64::from(self.sources[source].flow.outstanding.at(self.corner).get());
                    let most = if drifts { ENOUGH } else { OF_EACH };
                    lacking -= usize::from((under.done.len() - under.early) as u64 == most.max(rounds));
                    all += 1;
                    if self.fills && self.heads.full() {
                        // They count from here on, and go on where they are: how far apart sequential flows are, and
                        // which of them comes first, is as it came about.
                        self.fills = false;
                        // What is drawn begins anew, so that it is the same with any cache.
                        self.under.iter_mut().for_each(|u| (u.early, u.drawn) = (u.done.len(), 0));
                        self.slots.iter_mut().for_each(|slot| slot.number = 0);
                        (all, since, until, lacking) = (0, now, now.saturating_add(LEAST), self.sources.len());
                    }
                    // What has not filled it by now will not.
                    self.fills &= all < OF_ALL && now < WHILE;
                    let over = all >= OF_ALL || now >= LONG;
                    let enough = match self.of_one {
                        Some(n) => number + 1 >= n,
                        None if !drifts => lacking == 0,
                        None if now < until => false,
                        None => {
                            let settled = lacking == 0 && self.under.iter().all(|u| u.settled(since, now));
                            until = now.saturating_add(now - since);
                            settled
                        }
                    };
                    if now >= LONG && self.under.iter().any(|u| (u.done.len() - u.early) < FEW) {
                        return None;
                    }
                    if !self.fills && enough || over {
                        self.ended = [since, now];
                        break;
                    }
                    self.next(who, ends);
                }
            }
        }
        let whole = drifts && self.of_one.is_none();
        let came_to = |(s, under): (&Source, &Under)| match whole {
            true => under.settles_to(s, self.corner, self.ended),
            false => under.came_to(s, self.corner, under.from(self.of_one)),
        };
        Some(self.sources.iter().zip(&self.under).map(came_to).collect())
    }

    fn add(&mut self, at: u64, who: u32, step: Step) {
        self.due.push(Reverse((at, self.order, who, step)));
        self.order += 1;
    }

    /// The worker's core takes a time for an I/O; when it is through.
    fn works(&mut self, who: u32, now: u64, time: fn(&IoFlow) -> &Quantity<Time>) -> u64 {
        let source = self.slots[who as usize].source;
        let core = &mut self.cores[self.core_of[source]];
        *core = now.max(*core).saturating_add(time(self.sources[source].flow).at(self.corner).fs());
        *core
    }

    /// One more of a flow's I/Os may be asked for: which it is.
    fn next(&mut self, who: u32, now: u64) {
        let source = self.slots[who as usize].source;
        let (Source { flow, kinds }, under) = (&self.sources[source], &mut self.under[source]);
        let number = under.drawn;
        under.drawn += 1;
        // Different flows draw differently.
        let drawn = |salt: u64| {
            let bits = mixed(number ^ mixed(salt ^ mixed(source as u64)));
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut upto, drawn_kind) = (0.0, drawn(1));
        let found = kinds.iter().position(|w| {
            upto += w.count;
            drawn_kind < upto
        });
        let kind = found.unwrap_or(kinds.len() - 1);
        let Way { size, random, align, .. } = kinds[kind];
        let room = flow.range.0.saturating_sub(size);
        let offset = if drawn(2) < random {
            (drawn(3) * (room / align + 1) as f64) as u64 * align
        } else {
            let next = under.at.next_multiple_of(align);
            if next > room { 0 } else { next }
        };
        under.at = offset + size;
        if let Some(rate) = &flow.rate {
            let mean = 1.0 / f64::from(rate.at(self.corner).get());
            let later = if flow.arrivals == Arrivals::Poisson { -libm::log(1.0 - drawn(4)) * mean } else { mean };
            under.due = under.due.saturating_add(fs(later));
        }
        let due = now.max(under.due);
        let slot = &mut self.slots[who as usize];
        (slot.number, slot.kind, slot.offset, slot.due) = (number, kind, flow.start.0 + offset, due);
        self.add(due, who, Step::Asked);
    }

    /// A command comes to the disk; when its worker hears of it.
    fn serve(&mut self, who: u32, now: u64) {
        let slot = &mut self.slots[who as usize];
        let Way { size, read, behind, least, wire, lane, .. } = self.sources[slot.source].kinds[slot.kind];
        let begins = now.saturating_add(self.latency);
        let service = self.heads.serve(read, slot.offset, size, begins);
        (slot.begun, slot.heads) = (now, self.heads.worked());
        let at_hand = if read { begins } else { service.begin.max(begins) }.max(self.wires[lane]);
        self.wires[lane] = at_hand.saturating_add(fs(wire));
        let through = match (read, service.early) {
            (true, _) => Some(service.ready(size)),
            (false, true) => None,
            (false, false) => Some(service.end),
        };
        let through = through.map_or(0, |t| t.saturating_add(fs(behind)));
        self.add(through.max(at_hand.saturating_add(fs(least))), who, Step::Answered);
    }
}

impl Under {
    /// How many of them, of those that count, were done by a moment.
    fn by(&self, at: u64) -> usize {
        self.done[self.early..].partition_point(|d| d.ends < at)
    }

    /// Whether it does as much in the second half of the time in which it is followed as in the quarter before and in
    /// the eighth before that.
    fn settled(&self, since: u64, now: u64) -> bool {
        let part = |eighth: u64| self.by(since + (now - since) / 8 * eighth) as f64;
        let last = part(8) - part(4);
        let as_much = |n: f64, times: f64| (times * n / last - 1.0).abs() <= SETTLED + 1.0 / n.max(1.0).sqrt();
        as_much(part(4) - part(2), 2.0) && as_much(part(2) - part(1), 4.0)
    }

    /// The first of those that count: what is at the beginning is over after a third.
    fn from(&self, of_one: Option<u64>) -> usize {
        let done = &self.done[self.early..];
        let third = of_one.and_then(|n| done.iter().position(|d| d.number >= n / 3));
        third.unwrap_or(done.len() / 3)
    }

    /// What they come to in the second half, and after how long they do, if not soon.
    fn settles_to(&self, source: &Source, corner: Corner, [since, now]: [u64; 2]) -> Vec<Option<Met>> {
        let rate = |from: u64, to: u64| (self.by(to) - self.by(from)) as f64 / (to - from).max(1) as f64;
        let half = since + (now - since) / 2;
        let last = rate(half, now).max(1e-300);
        let first = rate(since, (since + WHILE).min(now)) / last;
        // Backwards by halves, as long as each is as the last one.
        let mut after = half;
        while after - since >= 2 * WHILE {
            let before = since + (after - since) / 2;
            if (rate(before, after) / last - 1.0).abs() > AT_FIRST {
                break;
            }
            after = before;
        }
        let late = (first - 1.0).abs() > AT_FIRST && now - since > WHILE;
        let settles = late.then_some([(after - since) as f64 * 1e-15, first]);
        let mut met = self.came_to(source, corner, self.by(half));
        met.iter_mut().flatten().for_each(|m| m.settles = settles);
        met
    }

    /// What its I/Os come to from one on, by kind.
    fn came_to(&self, source: &Source, corner: Corner, from: usize) -> Vec<Option<Met>> {
        let done = &self.done[self.early..];
        let done = &done[from..];
        let mean = |of: &[Done], what: fn(&Done) -> u64| {
            of.iter().map(|d| what(d) as f64).sum::<f64>() * 1e-15 / of.len().max(1) as f64
        };
        // By Little's law, where so many are always outstanding.
        let n = f64::from(source.flow.outstanding.at(corner).get());
        let part = match (&source.flow.rate, done) {
            (None, [first, .., last]) if last.ends > first.ends => {
                let between = (last.ends - first.ends) as f64 * 1e-15 / (done.len() - 1) as f64;
                n * between / mean(done, |d| d.time).max(1e-300)
            }
            _ => 1.0,
        };
        let of_kind = |kind: usize| {
            let mine: Vec<Done> = done.iter().filter(|d| d.kind == kind).copied().collect();
            let met = Met {
                time: mean(&mine, |d| d.time) * part,
                place: mean(&mine, |d| d.place) * part,
                heads: mean(&mine, |d| d.heads),
                settles: None,
            };
            (!mine.is_empty()).then_some(met)
        };
        (0..source.kinds.len()).map(of_kind).collect()
    }
}
