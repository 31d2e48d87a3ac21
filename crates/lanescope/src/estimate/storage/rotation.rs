//! A row of writes to disks without a write cache, or of reads that leave something out, followed one by one.
//!
//! A command that is at its disk before the media are through with the one before, and with what is left out, goes on
//! without a wait; one that comes later has to wait until its place has come round. Whether it is in time depends on
//! the others that are outstanding, on how long a new one takes to come, and on whose turn the disks of an array are: a
//! whole turn hangs on a microsecond, so no mean says it. The moments themselves do: they follow from one another, and
//! repeat.
//!
//! Not in it: other flows at the same disks, adapter or processor; disks that differ; a SCSI bus, which commands and
//! data of all share; and parities, whose disks read before they write.

use crate::estimate::storage::Kind;
use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::disk::{media_rate, range, seek_times, turn};
use crate::plan::storage::{Array, Device, IoFlow, Medium, Storage, Target, Volume, seek, spindle_phase};
use crate::scenario::keys::{Disk, SECTOR};
use crate::scenario::quantity::Corner;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Turns, commands and rounds of all outstanding that are followed at most, whichever are first; half of them until
/// what is at the beginning is over.
const TURNS: f64 = 2048.0;
const COMMANDS: u64 = 60_000;
const ROUNDS: u64 = 256;

/// To which part of it the way of a command is exact: packets of several that are on their way wait for one another.
const EXACT: f64 = 0.05;

/// Commands outstanding of a row that is followed; of more a note says that they are not.
const MOST: f64 = 16_384.0;

/// The I/Os of a flow that is by itself on its disks.
pub(super) struct Row<'a> {
    flow: &'a IoFlow,
    corner: Corner,
    disk: &'a Disk,
    /// None of a disk by itself.
    array: Option<&'a Array>,
    /// How many are outstanding, and how many commands a disk is given at once.
    outstanding: u64,
    depth: usize,
    kind: Kind,
}

/// A disk: what its spindle is ahead of time, the byte behind the last one moved, when the media are through, and when
/// they were with those that it was given last.
struct Spindle {
    ahead: f64,
    at: u64,
    free: f64,
    given: VecDeque<f64>,
}

impl<'a> Row<'a> {
    /// `None` where a flow's I/Os are no such row, or its disks do not make them wait.
    pub(super) fn of(storage: &'a Storage, corner: Corner, flow: &'a IoFlow, kind: Kind) -> Option<Row<'a>> {
        let [line] = &*flow.lines else { return None };
        let row = !kind.trim && kind.random == 0.0 && kind.count >= 1.0;
        if !row || line.reply.0 > 0 || line.delay.fs() > 0 || line.burst > 1 || flow.rate.is_some() {
            return None;
        }
        let own = storage.adapter(flow)?;
        let array = match flow.volume {
            Volume::Target(_) => None,
            Volume::Array(a) => Some(&storage.arrays[a as usize]),
            Volume::Station(_) => return None,
        };
        let through = |a: &Array| !kind.read && !a.has_parity() && a.adapter().is_some() && !own.writes_back();
        if !array.is_none_or(through) {
            return None;
        }
        // Whole sectors, as both methods count them.
        let (size, step) = ((kind.bytes.round() as u64).max(1), kind.step.max(1));
        if !line.align.0.is_multiple_of(SECTOR) {
            return None;
        }
        let places = flow.range.0.saturating_sub(size) / step;
        let beside = |f: &IoFlow| f.adapter == flow.adapter || f.core == flow.core;
        if storage.flows.iter().any(|f| !std::ptr::eq(f, flow) && beside(f)) {
            return None;
        }
        let mut targets = storage.targets_of(flow.volume).into_iter().map(|t| &storage.targets[t as usize]);
        let first = targets.next()?;
        let Device::Disk(disk) = &first.device else { return None };
        let alike = |t: &Target| matches!(&t.device, Device::Disk(other) if same(other, disk));
        let serial = |t: &Target| matches!(storage.transports[t.transport as usize].medium, Medium::Serial { .. });
        if !serial(first) || !targets.all(|t| alike(t) && serial(t)) {
            return None;
        }
        // Nothing is read ahead for who leaves something out from the first on; the sector just read is at hand.
        let waits = if kind.read { kind.left_out() > 0.0 && places > 0 } else { !disk.write_cache.typical };
        if !waits {
            return None;
        }
        let keys = own.host_adapter()?;
        let all = u64::from(flow.outstanding.at(corner).get());
        // What the adapter's memory takes in until it is on the disks.
        let room = array.map_or(u64::MAX, |a| {
            let cache = keys.cache.as_ref().map_or(0, |q| q.at(corner).0).max(a.width());
            cache / (kind.bytes.round() as u64).max(1)
        });
        let outstanding = all.min(room).max(1);
        // No more than are followed in good time.
        let pieces = array.map_or(1.0, |a| Cut::of(storage, a, flow, kind).pieces);
        if outstanding as f64 * pieces > MOST {
            return None;
        }
        let depth = keys.queue_depth.at(corner).get() as usize;
        Some(Row { flow, corner, disk, array, outstanding, depth, kind })
    }

    /// Seconds from one to the next, in the mean: expected at this corner, and the most that they may come to. Whether
    /// one is in time may hang on less than the closed form of its way is exact to (`EXACT`): then they come to this or
    /// that.
    pub(super) fn spacing(&self, storage: &Storage, ways: [f64; 2], apart: f64) -> [f64; 2] {
        let as_long = |part: f64| self.follow(storage, ways.map(|way| way * part), apart);
        let [sooner, expected, later] = [1.0 - EXACT, 1.0, 1.0 + EXACT].map(as_long);
        let most = expected.max(sooner).max(later);
        match self.corner {
            Corner::Slower => [most; 2],
            Corner::Typical => [expected, most],
            Corner::Faster => [expected.min(sooner).min(later), most],
        }
    }

    /// A worker's processor takes what is done and what is new in the order in which they come; from there a command
    /// comes to its disk and back in so long (`way`, without the media's own time), and at least so long behind the one
    /// before (`apart`). One that waits at the adapter until its disk is given another takes the part between these two
    /// (`between`).
    fn follow(&self, storage: &Storage, [way, between]: [f64; 2], apart: f64) -> f64 {
        let (k, start) = (self.disk, range(storage, self.flow).0);
        let (turn, rate) = (turn(k, self.corner), media_rate(k, self.corner, start));
        let seeks = seek_times(k, self.corner);
        let disks = self.array.map_or(1, |a| a.disks.len());
        let mut all: Vec<Spindle> = (0..disks)
            .map(|i| Spindle { ahead: spindle_phase(i) * turn, at: u64::MAX, free: 0.0, given: VecDeque::new() })
            .collect();
        let write = |s: &mut Spindle, offset: u64, bytes: u64, came: f64| {
            let (from, to) = (offset / SECTOR * SECTOR, (offset + bytes).next_multiple_of(SECTOR));
            let place = if s.given.len() >= self.depth { s.given.pop_front() } else { None };
            let came = place.map_or(came, |done: f64| came.max(done + between));
            let begin = if from == s.at && s.free >= came {
                s.free
            } else {
                let part = from.abs_diff(s.at) as f64 / k.capacity.typical.f64();
                let near = s.at == u64::MAX || (from.abs_diff(s.at) as f64) < rate * turn;
                let there = came.max(s.free) + if near { 0.0 } else { seek(part.min(1.0), seeks) };
                there + ((from as f64 / rate - there - s.ahead) / turn).rem_euclid(1.0) * turn
            };
            s.at = to;
            s.free = begin + (to - from) as f64 / rate;
            s.given.push_back(s.free);
            s.free
        };
        let (size, step) = ((self.kind.bytes.round() as u64).max(1), self.kind.step.max(1));
        let places = (self.flow.range.0.saturating_sub(size) / step).saturating_add(1);
        // Whether a write is done, or asked for; moments are not negative, so their bits are in their order.
        let mut due: BinaryHeap<Reverse<(u64, bool)>> = (0..self.outstanding).map(|_| Reverse((0, false))).collect();
        let [complete, submit] = self.worker();
        let (mut worker, mut came, mut commands, mut n, mut half) = (0.0_f64, -apart, 0, 0_u64, None);
        while let Some(Reverse((bits, is_done))) = due.pop() {
            worker = worker.max(f64::from_bits(bits)) + if is_done { complete } else { submit };
            if is_done {
                due.push(Reverse((worker.to_bits(), false)));
                continue;
            }
            came = (came + apart).max(worker);
            let there = came + way;
            let offset = self.flow.start.0 + n % places * step;
            let mut last = there;
            let mut one = |disk: usize, offset: u64, bytes: u64| {
                last = last.max(write(&mut all[disk], offset, bytes, there));
                commands += 1;
            };
            match self.array {
                None => one(0, offset, size),
                Some(a) => each_piece(a, offset, size, &mut one),
            }
            due.push(Reverse((last.to_bits(), true)));
            n += 1;
            if n % self.outstanding != 0 {
                continue;
            }
            let rounds = n / self.outstanding;
            let (over, halfway) = (
                came >= TURNS * turn || commands >= COMMANDS || rounds >= ROUNDS,
                came >= TURNS / 2.0 * turn || commands >= COMMANDS / 2 || rounds >= ROUNDS / 2,
            );
            match half {
                None if halfway => half = Some((n, came)),
                Some((before, then)) if over && n > before => return (came - then) / (n - before) as f64,
                _ => {}
            }
        }
        0.0
    }

    /// What the worker's processor takes for a write that is done, and for a new one; nothing where it is not asked.
    fn worker(&self) -> [f64; 2] {
        [&self.flow.complete, &self.flow.submit].map(|q| q.at(self.corner).seconds())
    }

    /// Seconds of a write without the processor's part and that of the media, of one that takes so long alone; and
    /// those between its adapter and its disk.
    pub(super) fn ways(&self, storage: &Storage, alone: f64, at_target: f64) -> [f64; 2] {
        let media = self.media(storage);
        [alone - self.worker().iter().sum::<f64>() - media, at_target - media].map(|way| way.max(0.0))
    }

    /// How long the media of each disk take over its part of a write, seconds.
    fn media(&self, storage: &Storage) -> f64 {
        let disks = self.array.map_or(1.0, |a| Cut::of(storage, a, self.flow, self.kind).disks);
        self.kind.bytes / disks / media_rate(self.disk, self.corner, range(storage, self.flow).0)
    }
}

/// Whether two disks move alike.
fn same(a: &Disk, b: &Disk) -> bool {
    let times = |k: &Disk| [&k.track_seek, &k.average_seek, &k.full_seek, &k.command_time].map(|q| q.typical);
    let of = |k: &Disk| (k.capacity.typical, k.rpm.typical, k.zones.typical, k.cache.typical, k.write_cache.typical);
    times(a) == times(b)
        && of(a) == of(b)
        && a.outer_rate.typical == b.outer_rate.typical
        && a.inner_rate.typical == b.inner_rate.typical
}

/// The commands of a write, cut at the strips: disk, place there, bytes; of mirrors both.
fn each_piece(a: &Array, mut at: u64, size: u64, one: &mut dyn FnMut(usize, u64, u64)) {
    let (strip, width, end) = (a.keys.strip.typical.0.max(1), a.width().max(1), at + size);
    while at < end {
        let (stripe, place) = (at / width, at % width);
        let bytes = (end - at).min(strip - place % strip);
        let disk = a.disk(stripe, place / strip);
        let offset = stripe * strip + place % strip;
        one(disk, offset, bytes);
        if a.mirrors() {
            one(disk + 1, offset, bytes);
        }
        at += bytes;
    }
}
