//! An array in an adapter: reads are cut at the strips and come through the cache; writes gather in the cache and go to
//! the disks stripe by stripe.
//!
//! A stripe that is whole goes at once, with the parity worked out of it. One that is not waits for the rest of it;
//! when the cache runs full the one that has waited longest goes, and its parity is made of the old data and the old
//! parity, which are read first. Each passage of a byte into or out of the cache takes the adapter's memory once.

use crate::plan::storage::{self, LOOKED_AT, Storage, Volume};
use crate::scenario::quantity::Corner;
use crate::sim::storage::cache_fill::CacheFill;
use crate::sim::storage::mirrors::Mirrors;
use crate::sim::storage::{Event, Fabric, Job, Owner};
use crate::tools::Slab;
use std::collections::{BTreeMap, VecDeque};

/// Data of one transfer between host memory and cache.
const PIECE: u64 = 64 << 10;

/// What the adapter's memory is through with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// A read's data: into the cache and out again. The task, and how much.
    Read(u32, u32),
    /// A write's data are in the cache.
    Written(u32, u32),
    /// A stripe's parity is worked out, or its data are ready to go.
    Stripe(u32),
    /// A stripe's data and parity are out of the memory.
    Out(u32),
}

/// A stripe in the cache: pieces by their place in it.
#[derive(Clone, Debug, Default)]
struct Stripe {
    pieces: Vec<(u64, u64)>,
    filled: u64,
    /// When it came, for who goes first.
    turn: u64,
}

/// A stripe on its way to the disks.
#[derive(Clone, Debug, Default)]
struct Work {
    stripe: u64,
    pieces: Vec<(u64, u64)>,
    filled: u64,
    /// Commands of the present step that are not done.
    left: u32,
    /// Whether old data and parity are being read.
    reading: bool,
    /// The disks that it is written to, by their places in the array.
    disks: Vec<usize>,
    /// Writes that wait for it.
    owners: Vec<u32>,
}

/// An array.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) adapter: u32,
    planned: storage::Array,
    pub(super) disks: Vec<u32>,
    strip: u64,
    /// Data of a stripe.
    width: u64,
    through: bool,
    /// Bytes in the cache that are not on the disks, and those promised to writes that come in.
    dirty: CacheFill,
    /// What of that let in has come, and what had been let in when there first was no room: until that has come, the
    /// cache takes it in faster than the disks do.
    came: u64,
    full: Option<u64>,
    gathering: BTreeMap<u64, Stripe>,
    /// The same by who came first.
    order: BTreeMap<u64, u64>,
    turn: u64,
    works: Slab<Work>,
    /// How many of these each disk has, and beside how many a full cache sends it no more. A drive without heads works
    /// on as many as the adapter lets it.
    at_disk: Vec<u32>,
    kept_at_disk: u32,
    /// Writes that wait for room.
    waiting: VecDeque<u32>,
    mirrors: Mirrors,
}

impl Array {
    pub(super) fn new(storage: &Storage, array: &storage::Array) -> Array {
        // One that the host runs is none of an adapter: it keeps nothing here.
        let own = array.adapter().map(|a| &storage.adapters[a as usize]);
        let cache = own.and_then(|o| o.host_adapter()).and_then(|k| k.cache.as_ref());
        let strip = array.keys.strip.typical.0;
        let width = array.width();
        Array {
            adapter: array.adapter().unwrap_or(u32::MAX),
            planned: array.clone(),
            disks: array.disks.clone(),
            strip,
            width,
            through: !own.is_some_and(|o| o.writes_back()),
            // A stripe has to fit, or it could never be whole.
            dirty: CacheFill::new(cache.map_or(0, |q| q.typical.0).max(width)),
            came: 0,
            full: None,
            gathering: BTreeMap::new(),
            order: BTreeMap::new(),
            turn: 0,
            works: Slab::new(),
            at_disk: vec![0; array.disks.len()],
            kept_at_disk: own.map_or(0, |own| array.kept_at_drive(storage, own, Corner::Typical)),
            waiting: VecDeque::new(),
            mirrors: Mirrors::new(array.has_heads(storage)),
        }
    }

    /// The disks of a data strip: (place in the array, and its mirror's), for the strip's number in a stripe.
    fn disk(&self, stripe: u64, strip: u64) -> (usize, Option<usize>) {
        let disk = self.planned.disk(stripe, strip);
        (disk, self.planned.mirrors().then_some(disk + 1))
    }

    /// Cuts a range at the strips: (stripe, place in the stripe, bytes).
    fn cut(&self, offset: u64, size: u64) -> Vec<(u64, u64, u64)> {
        let (mut at, mut left) = (offset, size);
        let mut all = Vec::new();
        while left > 0 {
            let place = at % self.width;
            let bytes = left.min(self.strip - place % self.strip);
            all.push((at / self.width, place, bytes));
            at += bytes;
            left -= bytes;
        }
        all
    }

    /// Whether its cache does not fill any more: no more of it is dirty than when it had been written over the time
    /// before, or it has been full of what has come, and there is always more to come.
    pub(super) fn settled(&self, presses: bool) -> bool {
        let full = self.full.is_some_and(|let_in| self.came >= let_in);
        self.through || self.dirty.is_steady() || presses && full
    }

    /// Bytes of its adapter's cache that are not on the disks yet.
    pub(super) fn cached(&self) -> u64 {
        self.dirty.held()
    }

    /// The part of a strip that a work's parity covers: all of a whole stripe's, else where it has pieces.
    fn parity_of(&self, work: &Work) -> (u64, u64) {
        if work.filled >= self.width { (0, self.strip) } else { span(&work.pieces, self.strip) }
    }

    /// The disks that pieces of a stripe are written to, by their places in the array, each once.
    fn touched(&self, stripe: u64, pieces: &[(u64, u64)]) -> Vec<usize> {
        let data = pieces.iter().flat_map(|(place, _)| {
            let (disk, mirror) = self.disk(stripe, place / self.strip);
            [Some(disk), mirror].into_iter().flatten()
        });
        let parity = self.planned.has_parity().then(|| self.planned.parity_disk(stripe));
        let mut all: Vec<usize> = data.chain(parity).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The command for a work's parity: disk, place, bytes.
    fn parity_command(&self, work: &Work) -> (u32, u64, u64) {
        let (from, to) = self.parity_of(work);
        (self.disks[self.planned.parity_disk(work.stripe)], work.stripe * self.strip + from, to - from)
    }
}

impl Fabric {
    /// An I/O of an array begins.
    pub(super) fn start(&mut self, array: u32, io: u32, now: u64) {
        let i = self.ios.all[io as usize];
        if !i.read {
            self.arrays[array as usize].waiting.push_back(io);
            self.admit(array, now);
            return;
        }
        let a = &mut self.arrays[array as usize];
        let mut tasks = Vec::new();
        for (stripe, place, bytes) in a.cut(i.offset, i.size) {
            let (disk, mirror) = a.disk(stripe, place / a.strip);
            let offset = stripe * a.strip + place % a.strip;
            let disk = mirror.filter(|_| a.mirrors.second_reads(disk / 2, offset, bytes)).unwrap_or(disk);
            tasks.push((a.disks[disk], offset, bytes));
        }
        let tasks = self.in_transfers(tasks);
        self.ios.all[io as usize].tasks = tasks.len() as u32;
        for (target, offset, bytes) in tasks {
            self.task(Owner::Part(io), target, true, offset, bytes, now);
        }
    }

    /// Lets writes into the cache, as far as it has room.
    fn admit(&mut self, array: u32, now: u64) {
        loop {
            let a = &mut self.arrays[array as usize];
            let Some(&io) = a.waiting.front() else { return };
            let size = self.ios.all[io as usize].size;
            if !a.dirty.fits(size) {
                a.full.get_or_insert(a.dirty.taken());
                self.flush(array, now);
                return;
            }
            a.dirty.take(size);
            a.waiting.pop_front();
            let mut left = size;
            while left > 0 {
                let bytes = left.min(PIECE);
                left -= bytes;
                self.dma(Job::ToCache { io, bytes: bytes as u32 }, now);
            }
        }
    }

    /// Sends the stripes that have waited longest to the disks, so many that no disk is idle for which there are any:
    /// the others may still gather.
    fn flush(&mut self, array: u32, now: u64) {
        loop {
            let a = &self.arrays[array as usize];
            if a.at_disk.iter().all(|stripes| *stripes >= a.kept_at_disk) {
                return;
            }
            let wanted = |stripe: &u64| {
                let pieces = a.gathering.get(stripe).map_or(&[][..], |s| &s.pieces);
                a.touched(*stripe, pieces).into_iter().any(|disk| a.at_disk[disk] < a.kept_at_disk)
            };
            let Some(stripe) = a.order.values().take(LOOKED_AT).copied().find(wanted) else { return };
            self.destage(array, stripe, Vec::new(), now);
        }
    }

    /// Data for the cache have crossed the host's bus.
    pub(super) fn take_in(&mut self, io: u32, bytes: u64, now: u64) {
        let adapter = self.flows[self.ios.all[io as usize].flow as usize].adapter;
        let at = self.adapters[adapter as usize].memory.pass(bytes, now);
        self.first(io, now);
        self.plan_at(at, Event::Memory(adapter, Passed::Written(io, bytes as u32)));
    }

    /// Commands for targets, (target, place, bytes), cut where an NVMe drive takes no more at once.
    fn in_transfers(&self, tasks: Vec<(u32, u64, u64)>) -> Vec<(u32, u64, u64)> {
        let largest = |target: u32| self.largest(self.targets[target as usize].adapter);
        if tasks.iter().all(|t| t.2 <= largest(t.0)) {
            return tasks;
        }
        let cut = |(target, offset, bytes): (u32, u64, u64)| {
            let most = largest(target);
            (0..bytes.div_ceil(most)).map(move |i| (target, offset + i * most, most.min(bytes - i * most)))
        };
        tasks.into_iter().flat_map(cut).collect()
    }

    /// Data of an array's read have come from a disk: into the cache and out again.
    pub(super) fn through_cache(&mut self, task: u32, bytes: u64, now: u64) {
        let Owner::Part(io) = self.tasks.all[task as usize].owner else { return };
        let adapter = self.flows[self.ios.all[io as usize].flow as usize].adapter;
        let at = self.adapters[adapter as usize].memory.pass(2 * bytes, now);
        self.plan_at(at, Event::Memory(adapter, Passed::Read(task, bytes as u32)));
    }

    /// Data of an array's read are in host memory.
    pub(super) fn moved_of(&mut self, io: u32, bytes: u64, now: u64) {
        self.delivered(io, bytes, now);
        self.io_over(io, now);
    }

    /// The adapter's memory, or its parity engine, is through with something.
    pub(super) fn passed(&mut self, array: u32, passed: Passed, now: u64) {
        match passed {
            Passed::Read(task, bytes) => {
                if let Owner::Part(io) = self.tasks.all[task as usize].owner {
                    // On Fibre Channel it came in a frame, whose buffer is free.
                    self.room(self.targets[self.tasks.all[task as usize].target as usize].transport, 1, now);
                    self.dma(Job::FromCache { io, bytes }, now);
                    self.landed(task, bytes as u64, now);
                }
            }
            Passed::Written(io, bytes) => {
                self.delivered(io, bytes as u64, now);
                if self.ios.all[io as usize].left == 0 {
                    self.cached(io, now);
                }
            }
            Passed::Stripe(work) => self.write_stripe(array, work, now),
            Passed::Out(work) => self.stripe_over(array, work, now),
        }
    }

    /// A write is in the cache whole: its stripes go when they are whole.
    fn cached(&mut self, io: u32, now: u64) {
        let i = self.ios.all[io as usize];
        let Volume::Array(array) = self.volume(i.flow) else { return };
        let a = &mut self.arrays[array as usize];
        a.came += i.size;
        let pieces = a.cut(i.offset, i.size);
        let mut touched: Vec<u64> = Vec::new();
        for (stripe, place, bytes) in pieces {
            a.turn += 1;
            let turn = a.turn;
            let order = &mut a.order;
            let s = a.gathering.entry(stripe).or_insert_with(|| {
                order.insert(turn, stripe);
                Stripe { turn, ..Stripe::default() }
            });
            // What is written again before it has gone takes the place of the old.
            if s.pieces.contains(&(place, bytes)) {
                a.dirty.free(bytes);
            } else {
                s.pieces.push((place, bytes));
                s.filled += bytes;
            }
            if touched.last() != Some(&stripe) {
                touched.push(stripe);
            }
        }
        let (width, through) = (a.width, a.through);
        for stripe in touched {
            let whole = self.arrays[array as usize].gathering.get(&stripe).is_some_and(|s| s.filled >= width);
            if through {
                self.ios.all[io as usize].tasks += 1;
                self.destage(array, stripe, vec![io], now);
            } else if whole {
                self.destage(array, stripe, Vec::new(), now);
            }
        }
        self.io_over(io, now);
        self.admit(array, now);
    }

    /// A stripe leaves the cache for the disks.
    fn destage(&mut self, array: u32, stripe: u64, owners: Vec<u32>, now: u64) {
        let a = &mut self.arrays[array as usize];
        let Some(Stripe { pieces, filled, turn }) = a.gathering.remove(&stripe) else { return };
        a.order.remove(&turn);
        let whole = filled >= a.width;
        let reading = a.planned.has_parity() && !whole;
        let disks = a.touched(stripe, &pieces);
        disks.iter().for_each(|disk| a.at_disk[*disk] += 1);
        let work = a.works.add(Work { stripe, pieces, filled, left: 0, reading, disks, owners });
        if !reading {
            self.parity(array, work, now);
            return;
        }
        // The old data of each piece, and the old parity of where they are.
        let mut tasks = Vec::new();
        let a = &self.arrays[array as usize];
        let w = &a.works.all[work as usize];
        for (place, bytes) in joined(&w.pieces, a.strip) {
            let (disk, _) = a.disk(w.stripe, place / a.strip);
            tasks.push((a.disks[disk], w.stripe * a.strip + place % a.strip, bytes));
        }
        tasks.push(a.parity_command(w));
        let tasks = self.in_transfers(tasks);
        self.arrays[array as usize].works.all[work as usize].left = tasks.len() as u32;
        for (target, offset, bytes) in tasks {
            self.task(Owner::Stripe(array, work), target, true, offset, bytes, now);
        }
    }

    /// Works out a stripe's parity, where it has one; then it is written.
    fn parity(&mut self, array: u32, work: u32, now: u64) {
        let a = &self.arrays[array as usize];
        let w = &a.works.all[work as usize];
        let adapter = &mut self.adapters[a.adapter as usize];
        let mut at = now;
        if a.planned.has_parity() {
            let (from, to) = a.parity_of(w);
            // New data, and with an old parity the old ones too; the parity is written to memory.
            let taken = if w.reading { 2 * w.filled + to - from } else { w.filled };
            at = adapter.parity.pass(taken, now).max(adapter.memory.pass(taken + to - from, now));
        }
        self.plan_at(at, Event::Memory(array, Passed::Stripe(work)));
    }

    /// Writes a stripe to its disks.
    fn write_stripe(&mut self, array: u32, work: u32, now: u64) {
        let a = &self.arrays[array as usize];
        let w = &a.works.all[work as usize];
        let mut tasks = Vec::new();
        for (place, bytes) in joined(&w.pieces, a.strip) {
            let (disk, mirror) = a.disk(w.stripe, place / a.strip);
            let offset = w.stripe * a.strip + place % a.strip;
            tasks.extend([Some(disk), mirror].into_iter().flatten().map(|d| (a.disks[d], offset, bytes)));
        }
        if a.planned.has_parity() {
            tasks.push(a.parity_command(w));
        }
        let bytes: u64 = tasks.iter().map(|t| t.2).sum();
        let adapter = a.adapter as usize;
        let tasks = self.in_transfers(tasks);
        let w = &mut self.arrays[array as usize].works.all[work as usize];
        w.reading = false;
        // One more for the way out of the memory.
        w.left = tasks.len() as u32 + 1;
        let at = self.adapters[adapter].memory.pass(bytes, now);
        self.plan_at(at, Event::Memory(array, Passed::Out(work)));
        for (target, offset, bytes) in tasks {
            self.task(Owner::Stripe(array, work), target, false, offset, bytes, now);
        }
    }

    /// A command of a stripe is done; with the last one the next step begins, or the stripe is on the disks.
    pub(super) fn stripe_over(&mut self, array: u32, work: u32, now: u64) {
        let a = &mut self.arrays[array as usize];
        let w = &mut a.works.all[work as usize];
        w.left -= 1;
        if w.left > 0 {
            return;
        }
        if w.reading {
            self.parity(array, work, now);
            return;
        }
        let done = a.works.take(work);
        done.disks.iter().for_each(|disk| a.at_disk[*disk] -= 1);
        a.dirty.free(done.filled);
        for io in done.owners {
            self.ios.all[io as usize].tasks -= 1;
            self.io_over(io, now);
        }
        self.admit(array, now);
    }
}

/// What a disk is told at once: pieces that touch one another within a strip are one.
fn joined(pieces: &[(u64, u64)], strip: u64) -> Vec<(u64, u64)> {
    let mut all = pieces.to_vec();
    all.sort_unstable();
    all.dedup_by(|next, last| {
        let joins = next.0 <= last.0 + last.1 && next.0 / strip == last.0 / strip;
        if joins {
            last.1 = last.1.max(next.0 + next.1 - last.0);
        }
        joins
    });
    all
}

/// The part of a strip that pieces of a stripe cover: from the first to the last byte that any of them has.
fn span(pieces: &[(u64, u64)], strip: u64) -> (u64, u64) {
    let from = pieces.iter().map(|(place, _)| place % strip).min().unwrap_or(0);
    let to = pieces.iter().map(|(place, bytes)| place % strip + bytes).max().unwrap_or(strip);
    (from, to.min(strip))
}
