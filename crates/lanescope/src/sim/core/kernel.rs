//! The event kernel: what happens next.
//!
//! Everything that can happen next (a packet becomes ready, a transmitter falls free, a timer ends) has a *slot*, which
//! holds one moment and may be moved at will. Few slots are the leaves of a tournament tree (`tournament`). Of many,
//! moments of the near future are entries in a ring of buckets of equal width, unsorted; when time comes to a bucket it
//! is sorted into a batch, and worked off in order of (moment, slot). What is set for the present bucket while it is
//! worked off goes into the batch or, where that is long, into a heap beside it; what lies beyond the ring goes into
//! another heap. No entry is looked for when its slot is moved: it is passed over when its time comes, because the slot
//! has another moment then. The width follows the load, so that a bucket holds a few moments and few lie beyond the
//! ring; the order of events depends neither on it nor on which of the two it is.

use crate::sim::core::recorder::Trace;
use crate::sim::core::tournament::{self, Tournament};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment that never comes.
pub const NEVER: u64 = tournament::NEVER;

/// No slot, or no list of a bucket.
const NONE: u32 = u32::MAX;
/// Buckets of the ring; a bit of a word each, and a bit of one word for each word.
const BUCKETS: usize = 4096;
const WORDS: usize = BUCKETS / 64;
/// The width of a bucket is a power of two of femtoseconds, at first about 1 ns.
const FIRST_SHIFT: u32 = 20;
const SHIFTS: std::ops::RangeInclusive<u32> = 12..=50;
/// The width is looked at after so many events. A bucket of few moments costs more than it sorts; one of many costs
/// more to put moments into.
const RESIZE_INTERVAL: u64 = if cfg!(test) { 64 } else { 1 << 13 };
const MIN_MOMENTS: u64 = 3;
/// A batch with no more than so many entries left takes in another where it belongs.
const SHORT_BATCH: usize = 16;
const KEPT_CAPACITY: usize = 64;
/// A list of a bucket that has held more gives its memory back.
const LONG_LIST: usize = 256;
/// Moments beyond the ring that no slot has any more: so many, and as many as there are slots, may stay there.
const STALE_ALLOWED: usize = 64;
const MAX_MOMENTS: u64 = 12;

/// A moment of a slot; of equal moments the lower slot comes first. One word, the moment above the slot, so that one
/// comparison orders both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    fn new(at: u64, slot: u32) -> Entry {
        Entry(u128::from(at) << 64 | u128::from(slot))
    }

    #[inline]
    fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// What acts when a moment comes.
pub trait World {
    /// The moment of `slot` has come. The slot is still set: whoever acts sets it to its next moment, or to [`NEVER`].
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda);
}

/// How a run of the kernel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Everything before the moment asked for has happened.
    Reached,
    /// Nothing is left to happen, ever.
    Silent,
    /// As many events as were allowed have happened.
    Budget,
}

/// All slots.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// All slots, where there are few; then what the calendar has is empty.
    few: Option<Tournament>,
    /// The present moment of each slot. An entry that says another is stale.
    slots: Vec<u64>,
    /// The bucket that time has come to, sorted, and the next of its entries.
    batch: Vec<Entry>,
    next: usize,
    /// What was set for this bucket while the rest of the batch was long; where it is short, that goes into the batch
    /// itself.
    soon: BinaryHeap<Reverse<Entry>>,
    /// Its number since time 0, and the buckets behind it, each at its number modulo their count: which of the lists
    /// holds its entries. Lists go round, so that there are no more of them than buckets were ever full at once.
    now: u64,
    buckets: Box<[u32; BUCKETS]>,
    lists: Vec<Vec<Entry>>,
    free: Vec<u32>,
    full: [u64; WORDS],
    words: u64,
    shift: u32,
    far: BinaryHeap<Reverse<Entry>>,
    /// The slot that acts, and its next moment: put back when it has acted, however often it was moved.
    acting: u32,
    again: u64,
    /// What happens without a slot counts, too.
    pub(in crate::sim) events: u64,
    /// What happened is told to it, where anybody wants to know.
    pub(in crate::sim) trace: Option<Box<Trace>>,
    /// Since the width was last looked at: buckets that came up, entries sorted for them, moments that had an event,
    /// later ones put into a long batch, into the outer half of the ring or beyond it, and beyond it; and the next
    /// look.
    turns: u64,
    sorted: u64,
    moments: u64,
    last: u64,
    crowded: u64,
    outer: u64,
    beyond: u64,
    look: u64,
}

impl Agenda {
    /// So many slots, without moments.
    pub fn new(slots: usize) -> Agenda {
        let few = Tournament::new(slots);
        Agenda { slots: vec![NEVER; if few.is_some() { 0 } else { slots }], few, ..Agenda::calendar(0) }
    }

    /// One whose slots are in the ring and beyond it, however few they are.
    fn calendar(slots: usize) -> Agenda {
        Agenda {
            few: None,
            slots: vec![NEVER; slots],
            batch: Vec::new(),
            next: 0,
            soon: BinaryHeap::new(),
            now: 0,
            buckets: Box::new([NONE; BUCKETS]),
            lists: Vec::new(),
            free: Vec::new(),
            full: [0; WORDS],
            words: 0,
            shift: FIRST_SHIFT,
            far: BinaryHeap::new(),
            acting: NONE,
            again: NEVER,
            events: 0,
            trace: None,
            turns: 0,
            sorted: 0,
            moments: 0,
            last: NEVER,
            crowded: 0,
            outer: 0,
            beyond: 0,
            look: RESIZE_INTERVAL,
        }
    }

    /// When a slot's moment is.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> u64 {
        match &self.few {
            _ if slot == self.acting => self.again,
            Some(few) => few.get(slot),
            None => self.slots[slot as usize],
        }
    }

    /// Moves the moment of a slot; not before the present one.
    #[inline]
    pub fn set(&mut self, slot: u32, at: u64) {
        if slot == self.acting {
            self.again = at;
        } else {
            self.move_other(slot, at);
        }
    }

    #[inline]
    fn move_other(&mut self, slot: u32, at: u64) {
        if self.few.as_mut().is_some_and(|few| few.set(slot, at)) {
            return;
        }
        self.spread(self.acting);
        let old = std::mem::replace(&mut self.slots[slot as usize], at);
        if old != at && at != NEVER {
            self.file(Entry::new(at, slot));
        }
    }

    /// A moment that is too late for the tournament: all go to the calendar, but for the entry of the slot that acts,
    /// which is used up.
    #[inline]
    fn spread(&mut self, acting: u32) {
        if let Some(few) = self.few.take() {
            self.spread_out(few, acting);
        }
    }

    #[cold]
    fn spread_out(&mut self, few: Tournament, acting: u32) {
        self.slots = few.moments();
        (self.now, self.look) = (self.past() >> self.shift, self.events + RESIZE_INTERVAL);
        for (slot, at) in (0u32..).zip(few.moments()).filter(|(slot, at)| *slot != acting && *at != NEVER) {
            self.file(Entry::new(at, slot));
        }
    }

    /// Moves it only to an earlier moment.
    #[inline]
    pub(crate) fn by(&mut self, slot: u32, at: u64) {
        if at < self.get(slot) {
            self.set(slot, at);
        }
    }

    #[inline]
    fn file(&mut self, entry: Entry) {
        let bucket = entry.at() >> self.shift;
        let ahead = bucket.wrapping_sub(self.now + 1);
        if ahead >= BUCKETS as u64 - 1 {
            return self.file_elsewhere(entry);
        }
        self.outer += u64::from(ahead >= BUCKETS as u64 / 2);
        let place = bucket as usize % BUCKETS;
        let list = match self.buckets[place] {
            NONE => self.open(place),
            list => list,
        };
        self.lists[list as usize].push(entry);
    }

    /// A list for a bucket that held nothing.
    #[inline]
    fn open(&mut self, place: usize) -> u32 {
        self.full[place / 64] |= 1 << (place % 64);
        self.words |= 1 << (place / 64);
        let list = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() as u32 - 1
        });
        self.buckets[place] = list;
        list
    }

    /// Into the present bucket, or beyond the ring.
    #[inline(never)]
    fn file_elsewhere(&mut self, entry: Entry) {
        if entry.at() >> self.shift > self.now {
            self.outer += 1;
            self.beyond += 1;
            self.far.push(Reverse(entry));
            if self.far.len() > 2 * self.slots.len() + STALE_ALLOWED {
                self.sift();
            }
            return;
        }
        let left = self.batch.len() - self.next;
        if left > SHORT_BATCH {
            self.crowded += u64::from(entry.at() != self.last);
            return self.soon.push(Reverse(entry));
        }
        // What is used up goes, since a bucket of few slots may be wide enough never to end.
        if self.next >= KEPT_CAPACITY {
            self.batch.drain(..self.next);
            self.next = 0;
        }
        let behind = self.batch[self.next..].iter().rev().take_while(|e| **e > entry).count();
        self.batch.insert(self.next + left - behind, entry);
    }

    /// Most of what lies beyond the ring has been moved since: only what still holds stays.
    #[cold]
    fn sift(&mut self) {
        let mut far = std::mem::take(&mut self.far).into_vec();
        far.clear();
        let (shift, end) = (self.shift, self.now + BUCKETS as u64);
        let slots = self.slots.iter().enumerate().filter(|(_, at)| **at != NEVER && **at >> shift >= end);
        far.extend(slots.map(|(slot, at)| Reverse(Entry::new(*at, slot as u32))));
        self.far = far.into();
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The latest moment that had an event.
    pub(crate) fn past(&self) -> u64 {
        if self.last == NEVER { 0 } else { self.last }
    }

    /// The earliest moment of all.
    pub fn next(&self) -> u64 {
        match &self.few {
            Some(few) => few.first().0,
            None => self.slots.iter().copied().min().unwrap_or(NEVER),
        }
    }

    /// The same, while the run goes on: it costs no look at every slot.
    pub(in crate::sim) fn peek(&mut self) -> u64 {
        match &self.few {
            Some(few) => few.first().0,
            None => self.earliest().map_or(NEVER, |(entry, _)| entry.at()),
        }
    }

    /// As many slots, all without a moment. Events so far are counted on, or anew.
    pub(in crate::sim) fn empty(&self, counts_on: bool) -> Agenda {
        let slots = self.few.as_ref().map_or(self.slots.len(), |few| few.moments().len());
        let (events, last) = if counts_on { (self.events, self.last) } else { (0, NEVER) };
        Agenda { events, last, look: events + RESIZE_INTERVAL, ..Agenda::new(slots) }
    }

    /// Goes on where another agenda of the same slots has come to: events that it has had are added.
    pub(in crate::sim) fn join(&mut self, events: u64, past: u64) {
        self.events += events;
        self.last = if past == 0 { self.last } else { past.max(self.past()) };
        self.look = self.events + RESIZE_INTERVAL;
    }

    /// The number of the first bucket behind the present one that holds something.
    #[inline]
    fn first(&self) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let place = self.now as usize % BUCKETS;
        let (word, bit) = (place / 64, place % 64);
        // Behind it in its own word, in the words behind, and around the ring in its own word again.
        let behind = self.full[word] & (!1u64 << bit);
        let found = if behind != 0 {
            word * 64 + behind.trailing_zeros() as usize
        } else {
            let turned = self.words.rotate_right((word + 1) as u32 % WORDS as u32);
            let at = (word + 1 + turned.trailing_zeros() as usize) % WORDS;
            at * 64 + self.full[at].trailing_zeros() as usize
        };
        Some(self.now + (found + BUCKETS - place) as u64 % BUCKETS as u64)
    }

    /// Goes on to the next bucket that holds something; `false` when there is none.
    fn turn(&mut self) -> bool {
        self.batch.clear();
        self.next = 0;
        let near = self.first();
        let far = self.far.peek().map(|e| e.0.at() >> self.shift);
        let Some(bucket) = near.into_iter().chain(far).min() else { return false };
        self.now = bucket;
        if near == Some(bucket) {
            let place = bucket as usize % BUCKETS;
            let list = std::mem::replace(&mut self.buckets[place], NONE);
            std::mem::swap(&mut self.batch, &mut self.lists[list as usize]);
            if self.lists[list as usize].capacity() > LONG_LIST {
                self.lists[list as usize] = Vec::new();
            }
            self.free.push(list);
            self.full[place / 64] &= !(1 << (place % 64));
            self.words &= !(u64::from(self.full[place / 64] == 0) << (place / 64));
        }
        if far.is_some() {
            self.draw_in();
        }
        if self.batch.len() <= SHORT_BATCH {
            insertion_sort(&mut self.batch);
        } else {
            self.batch.sort_unstable();
        }
        self.turns += 1;
        self.sorted += self.batch.len() as u64;
        true
    }

    /// What was beyond the ring, and is no longer.
    #[inline(never)]
    fn draw_in(&mut self) {
        while let Some(&Reverse(entry)) = self.far.peek() {
            let bucket = entry.at() >> self.shift;
            if bucket >= self.now + BUCKETS as u64 {
                break;
            }
            self.far.pop();
            if self.slots[entry.slot() as usize] != entry.at() {
                continue;
            }
            if bucket == self.now { self.batch.push(entry) } else { self.file(entry) }
        }
    }

    /// Narrower buckets where they are crowded, wider ones where they hold little or much lies beyond the ring. Nothing
    /// lies before `earliest`.
    #[cold]
    fn fit(&mut self, earliest: u64) {
        let turns = self.turns.max(1);
        let (moments, sorted, often) = (self.moments / turns, self.sorted / turns, RESIZE_INTERVAL / 4);
        let crowded = self.crowded > often;
        // Few slots that come again and again in a bucket are a short list, and cost least where it never ends. Sorting
        // many moments costs less than a heap of most of them, up to a point. Events of one moment stay together
        // however narrow a bucket is, but what they set should lie in another. The halves and doubles here keep the
        // width from swinging: what lies beyond the ring lies in its outer half when buckets are twice as wide.
        let wider = RESIZE_INTERVAL / turns < MIN_MOMENTS
            || !crowded && (sorted < MIN_MOMENTS || moments < 4 * MAX_MOMENTS && self.beyond > often);
        let many = crowded && moments > 1 || sorted >= MAX_MOMENTS && moments >= MAX_MOMENTS;
        let narrower = many && (moments >= 8 * MAX_MOMENTS || self.outer <= often);
        let shift = if wider { self.shift + 1 } else { self.shift - u32::from(narrower) };
        self.look = self.events + RESIZE_INTERVAL;
        (self.turns, self.sorted, self.moments, self.crowded, self.outer, self.beyond) = (0, 0, 0, 0, 0, 0);
        if shift == self.shift || !SHIFTS.contains(&shift) {
            return;
        }
        self.now = (earliest >> shift).saturating_sub(1);
        self.shift = shift;
        (self.full, self.words, self.next) = ([0; WORDS], 0, 0);
        self.buckets.fill(NONE);
        self.lists.iter_mut().for_each(Vec::clear);
        self.free = (0..self.lists.len() as u32).collect();
        self.batch.clear();
        self.soon.clear();
        self.far.clear();
        for slot in 0..self.slots.len() {
            let at = self.slots[slot];
            if at != NEVER {
                self.file(Entry::new(at, slot as u32));
            }
        }
        (self.crowded, self.outer, self.beyond) = (0, 0, 0);
    }

    /// The earliest entry that still holds, and whether it is of the batch; goes on to other buckets for it.
    #[inline]
    fn earliest(&mut self) -> Option<(Entry, bool)> {
        loop {
            if !self.soon.is_empty() {
                if let Some(found) = self.earliest_of_both() {
                    return Some(found);
                }
                continue;
            }
            match self.batch.get(self.next).copied() {
                Some(e) if self.slots[e.slot() as usize] == e.at() => return Some((e, true)),
                Some(_) => self.next += 1,
                None if self.turn() => {}
                None => return None,
            }
        }
    }

    /// The same of a bucket with a heap beside its batch; `None` once the heap is used up.
    #[inline(never)]
    fn earliest_of_both(&mut self) -> Option<(Entry, bool)> {
        while let Some(&Reverse(soon)) = self.soon.peek() {
            let (entry, sorted) = match self.batch.get(self.next) {
                Some(&e) if e < soon => (e, true),
                _ => (soon, false),
            };
            if self.slots[entry.slot() as usize] == entry.at() {
                return Some((entry, sorted));
            }
            self.pass(sorted);
        }
        None
    }

    /// The first entry of the batch, or of the heap beside it, is used up.
    #[inline]
    fn pass(&mut self, sorted: bool) {
        if sorted {
            self.next += 1;
        } else {
            self.soon.pop();
        }
    }

    /// Lets everything happen that lies before `until`, but no more than so many events.
    #[inline]
    pub fn run<W: World>(&mut self, world: &mut W, until: u64, budget: u64) -> Pause {
        let stop = self.events.saturating_add(budget);
        while let Some(few) = &mut self.few {
            let (at, slot) = few.first();
            if at >= until || self.events >= stop {
                return match at {
                    NEVER => Pause::Silent,
                    _ if at >= until => Pause::Reached,
                    _ => Pause::Budget,
                };
            }
            let again = self.act(world, at, slot);
            if !self.few.as_mut().is_some_and(|few| few.replay(slot, again)) {
                self.spread(slot);
                self.follow(slot, again);
            }
        }
        loop {
            let Some((entry, sorted)) = self.earliest() else { return Pause::Silent };
            let (at, slot) = (entry.at(), entry.slot());
            if at >= until {
                return Pause::Reached;
            }
            if self.events >= stop.min(self.look) {
                if self.events >= stop {
                    return Pause::Budget;
                }
                self.fit(at);
                continue;
            }
            self.pass(sorted);
            self.moments += u64::from(at != self.last);
            let again = self.act(world, at, slot);
            self.follow(slot, again);
        }
    }

    /// A slot's moment has come: gives its next.
    #[inline]
    fn act<W: World>(&mut self, world: &mut W, at: u64, slot: u32) -> u64 {
        self.events += 1;
        self.last = at;
        (self.acting, self.again) = (slot, at);
        world.on(slot, at, self);
        self.acting = NONE;
        self.again
    }

    /// The next moment of a slot that has acted. Its entry is used up, so that the same moment again is a new one.
    #[inline]
    fn follow(&mut self, slot: u32, again: u64) {
        self.slots[slot as usize] = again;
        if again != NEVER {
            self.file(Entry::new(again, slot));
        }
    }
}

/// Few entries, often in order already.
#[inline]
fn insertion_sort(entries: &mut [Entry]) {
    for i in 1..entries.len() {
        let entry = entries[i];
        let mut to = i;
        while to > 0 && entry < entries[to - 1] {
            entries[to] = entries[to - 1];
            to -= 1;
        }
        entries[to] = entry;
    }
}

#[cfg(test)]
mod tests;
