//! The event kernel: what happens next.
//!
//! Everything that can happen next (a packet becomes ready, a transmitter falls free, a timer ends) has a *slot*, which
//! holds one moment and may be moved at will. Slots of the near future are linked into a ring of buckets of equal
//! width, unsorted; when time comes to a bucket it is sorted into a batch, and worked off in order of (moment, slot).
//! What is set for the present bucket while it is worked off goes into the batch or, where that is long, into a heap
//! beside it; what lies beyond the ring, into another heap. Batch and heaps may hold moments that a slot no longer has:
//! those are passed over. The width follows the load, so that a bucket holds a few moments and few lie beyond the ring;
//! the order of events never depends on it.

use crate::sim::core::recorder::Trace;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment that never comes.
pub const NEVER: u64 = u64::MAX;

/// No slot.
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
/// Moments beyond the ring that no slot has any more: so many, and as many as there are slots, may stay there.
const STALE_ALLOWED: usize = 64;
const MAX_MOMENTS: u64 = 12;

/// A moment of a slot; of equal moments the lower slot comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    slot: u32,
}

/// The present moment of a slot, and its neighbours where it stands in the ring.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: u64,
    next: u32,
    before: u32,
}

/// In place of a neighbour: the slot does not stand in the ring.
const OUT: u32 = u32::MAX - 1;

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
    slots: Vec<Slot>,
    /// The bucket that time has come to, sorted, and the next of its entries.
    batch: Vec<Entry>,
    next: usize,
    /// What was set for this bucket while the rest of the batch was long; where it is short, that goes into the batch
    /// itself.
    soon: BinaryHeap<Reverse<Entry>>,
    /// Its number since time 0, and the buckets behind it, each at its number modulo their count.
    now: u64,
    buckets: Vec<u32>,
    full: [u64; WORDS],
    words: u64,
    shift: u32,
    far: BinaryHeap<Reverse<Entry>>,
    /// The slot that acts, and its next moment: put back when it has acted, however often it was moved.
    acting: u32,
    again: u64,
    events: u64,
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
        Agenda {
            slots: vec![Slot { at: NEVER, next: NONE, before: OUT }; slots],
            batch: Vec::new(),
            next: 0,
            soon: BinaryHeap::new(),
            now: 0,
            buckets: vec![NONE; BUCKETS],
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
    pub fn get(&self, slot: u32) -> u64 {
        if slot == self.acting { self.again } else { self.slots[slot as usize].at }
    }

    /// Moves the moment of a slot; not before the present one.
    #[inline]
    pub fn set(&mut self, slot: u32, at: u64) {
        if slot == self.acting {
            self.again = at;
        } else {
            self.put(slot, at);
        }
    }

    /// Moves it only to an earlier moment.
    #[inline]
    pub fn by(&mut self, slot: u32, at: u64) {
        if at < self.get(slot) {
            self.set(slot, at);
        }
    }

    #[inline]
    fn put(&mut self, slot: u32, at: u64) {
        let s = &mut self.slots[slot as usize];
        let old = std::mem::replace(&mut s.at, at);
        if old == at {
            return;
        }
        if s.before != OUT {
            self.unlink(slot, old);
        }
        if at != NEVER {
            self.file(slot, at);
        }
    }

    /// Takes a slot out of the ring, where it stood for a moment.
    fn unlink(&mut self, slot: u32, old: u64) {
        let s = &mut self.slots[slot as usize];
        let (next, before) = (s.next, std::mem::replace(&mut s.before, OUT));
        if next != NONE {
            self.slots[next as usize].before = before;
        }
        if before != NONE {
            self.slots[before as usize].next = next;
            return;
        }
        let place = (old >> self.shift) as usize % BUCKETS;
        self.buckets[place] = next;
        if next == NONE {
            self.emptied(place);
        }
    }

    #[inline]
    fn emptied(&mut self, place: usize) {
        self.full[place / 64] &= !(1 << (place % 64));
        if self.full[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
    }

    #[inline]
    fn file(&mut self, slot: u32, at: u64) {
        let bucket = at >> self.shift;
        self.outer += u64::from(bucket > self.now + BUCKETS as u64 / 2);
        if bucket.wrapping_sub(self.now + 1) < BUCKETS as u64 - 1 {
            let place = bucket as usize % BUCKETS;
            let next = std::mem::replace(&mut self.buckets[place], slot);
            let s = &mut self.slots[slot as usize];
            (s.next, s.before) = (next, NONE);
            if next != NONE {
                self.slots[next as usize].before = slot;
            }
            self.full[place / 64] |= 1 << (place % 64);
            self.words |= 1 << (place / 64);
        } else if bucket <= self.now {
            let entry = Entry { at, slot };
            let left = self.batch.len() - self.next;
            if left <= SHORT_BATCH {
                // What is used up goes, since a bucket of few slots may be wide enough never to end.
                if self.next >= KEPT_CAPACITY {
                    self.batch.drain(..self.next);
                    self.next = 0;
                }
                let behind = self.batch[self.next..].iter().rev().take_while(|e| **e > entry).count();
                self.batch.insert(self.next + left - behind, entry);
            } else {
                self.crowded += u64::from(at != self.last);
                self.soon.push(Reverse(entry));
            }
        } else {
            self.beyond += 1;
            self.far.push(Reverse(Entry { at, slot }));
            if self.far.len() > 2 * self.slots.len() + STALE_ALLOWED {
                self.sift();
            }
        }
    }

    /// Most of what lies beyond the ring has been moved since: only what still holds stays.
    #[cold]
    fn sift(&mut self) {
        let mut far = std::mem::take(&mut self.far).into_vec();
        far.clear();
        let (shift, end) = (self.shift, self.now + BUCKETS as u64);
        let slots = self.slots.iter().enumerate().filter(|(_, s)| s.at != NEVER && s.at >> shift >= end);
        far.extend(slots.map(|(slot, s)| Reverse(Entry { at: s.at, slot: slot as u32 })));
        self.far = far.into();
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The latest moment that had an event.
    pub fn past(&self) -> u64 {
        if self.last == NEVER { 0 } else { self.last }
    }

    /// The earliest moment of all.
    pub fn next(&self) -> u64 {
        self.slots.iter().map(|s| s.at).min().unwrap_or(NEVER)
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
    #[inline]
    fn turn(&mut self) -> bool {
        self.batch.clear();
        self.next = 0;
        let near = self.first();
        let far = self.far.peek().map(|e| e.0.at >> self.shift);
        let Some(bucket) = near.into_iter().chain(far).min() else { return false };
        self.now = bucket;
        if near == Some(bucket) {
            let place = bucket as usize % BUCKETS;
            let mut slot = std::mem::replace(&mut self.buckets[place], NONE);
            while slot != NONE {
                let s = &mut self.slots[slot as usize];
                s.before = OUT;
                self.batch.push(Entry { at: s.at, slot });
                slot = s.next;
            }
            self.emptied(place);
        }
        // What was beyond the ring, and is no longer.
        while let Some(&Reverse(Entry { at, slot })) = self.far.peek() {
            if at >> self.shift >= self.now + BUCKETS as u64 {
                break;
            }
            self.far.pop();
            let s = &self.slots[slot as usize];
            if s.at == at && s.before == OUT {
                if at >> self.shift == self.now { self.batch.push(Entry { at, slot }) } else { self.file(slot, at) }
            }
        }
        if self.batch.len() > 1 {
            self.batch.sort_unstable();
        }
        self.turns += 1;
        self.sorted += self.batch.len() as u64;
        true
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
        self.batch.clear();
        self.soon.clear();
        self.far.clear();
        for slot in 0..self.slots.len() {
            let s = &mut self.slots[slot];
            s.before = OUT;
            if s.at != NEVER {
                let at = s.at;
                self.file(slot as u32, at);
            }
        }
        (self.crowded, self.outer, self.beyond) = (0, 0, 0);
    }

    /// The earliest entry of the present bucket that still holds.
    #[inline]
    fn first_of_bucket(&mut self) -> Option<Entry> {
        loop {
            let sorted = self.batch.get(self.next);
            let entry = match (sorted, self.soon.peek()) {
                (Some(&a), None) => a,
                (Some(&a), Some(&Reverse(b))) => a.min(b),
                (None, Some(&Reverse(b))) => b,
                (None, None) => return None,
            };
            if self.slots[entry.slot as usize].at == entry.at {
                return Some(entry);
            }
            self.pass(entry);
        }
    }

    /// The first entry of the bucket is used up.
    #[inline]
    fn pass(&mut self, entry: Entry) {
        if self.batch.get(self.next) == Some(&entry) {
            self.next += 1;
        } else {
            self.soon.pop();
        }
    }

    /// Lets everything happen that lies before `until`, but no more than so many events.
    #[inline]
    pub fn run<W: World>(&mut self, world: &mut W, until: u64, budget: u64) -> Pause {
        let stop = self.events.saturating_add(budget);
        loop {
            let Some(entry) = self.first_of_bucket() else {
                if self.turn() {
                    continue;
                }
                return Pause::Silent;
            };
            let Entry { at, slot } = entry;
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
            self.pass(entry);
            self.events += 1;
            self.moments += u64::from(at != std::mem::replace(&mut self.last, at));
            (self.acting, self.again) = (slot, at);
            world.on(slot, at, self);
            self.acting = NONE;
            // Its entry is used up, so that the same moment again is a new one.
            self.slots[slot as usize].at = NEVER;
            let again = self.again;
            self.put(slot, again);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a world may do with moments, of the kernel and of the model that it is held against.
    trait Moments {
        fn at(&self, slot: u32) -> u64;
        fn move_to(&mut self, slot: u32, at: u64);
    }

    impl Moments for Agenda {
        fn at(&self, slot: u32) -> u64 {
            self.get(slot)
        }

        fn move_to(&mut self, slot: u32, at: u64) {
            self.set(slot, at);
        }
    }

    /// The kernel in a few lines: a heap of all moments that were ever set.
    struct Model {
        at: Vec<u64>,
        heap: BinaryHeap<Reverse<(u64, u32)>>,
        events: u64,
    }

    impl Moments for Model {
        fn at(&self, slot: u32) -> u64 {
            self.at[slot as usize]
        }

        fn move_to(&mut self, slot: u32, at: u64) {
            self.at[slot as usize] = at;
            self.heap.push(Reverse((at, slot)));
        }
    }

    impl Model {
        fn run(&mut self, actor: &mut Actor, until: u64, budget: u64) -> Pause {
            let stop = self.events.saturating_add(budget);
            while let Some(&Reverse((at, slot))) = self.heap.peek() {
                if at == NEVER || self.at(slot) != at {
                    self.heap.pop();
                } else if at >= until {
                    return Pause::Reached;
                } else if self.events >= stop {
                    return Pause::Budget;
                } else {
                    self.events += 1;
                    actor.act(slot, at, self);
                }
            }
            Pause::Silent
        }
    }

    /// Moves slots at random, and writes down what came when.
    struct Actor {
        slots: u32,
        random: u64,
        /// Moments lie so many femtoseconds apart, about.
        gap: u64,
        /// Each slot moves itself alone, and is back soon.
        steady: bool,
        heard: Vec<(u64, u32)>,
    }

    impl World for Actor {
        fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
            self.act(slot, now, agenda);
        }
    }

    impl Actor {
        fn draw(&mut self, below: u64) -> u64 {
            self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.random >> 8) % below
        }

        fn act(&mut self, slot: u32, now: u64, moments: &mut impl Moments) {
            self.heard.push((now, slot));
            if self.steady {
                let again = now + 1 + self.draw(2 * self.slots as u64 * self.gap);
                return moments.move_to(slot, again);
            }
            // Mostly it comes again, and rarely at once.
            let again = match self.draw(16) {
                0 => NEVER,
                _ => self.moment(now),
            };
            moments.move_to(slot, again);
            for _ in 0..self.draw(3) {
                self.disturb(now, moments);
            }
        }

        /// Moves any slot, or takes it away and puts it back.
        fn disturb(&mut self, now: u64, moments: &mut impl Moments) {
            let slot = self.draw(self.slots as u64) as u32;
            let old = moments.at(slot);
            match self.draw(6) {
                0 => moments.move_to(slot, NEVER),
                1 => moments.move_to(slot, now),
                2 if old >= now => {
                    let elsewhere = self.moment(now);
                    moments.move_to(slot, elsewhere);
                    moments.move_to(slot, old);
                }
                _ => {
                    let at = self.moment(now);
                    moments.move_to(slot, at);
                }
            }
        }

        /// Behind `now`: near, far, in step with others, or at the end of time.
        fn moment(&mut self, now: u64) -> u64 {
            let gap = self.gap;
            let ahead = match self.draw(32) {
                0 => gap.saturating_mul(self.draw(1 << 20)),
                1 => return NEVER - 1 - self.draw(3),
                2..9 => return now.saturating_add(gap * 8 - now % (gap * 8)),
                _ => self.draw(gap * 4) + 1,
            };
            now.saturating_add(ahead)
        }
    }

    /// The kernel and the model, disturbed and interrupted alike.
    struct Both {
        agenda: Agenda,
        ours: Actor,
        model: Model,
        theirs: Actor,
    }

    impl Both {
        fn new(slots: u32, random: u64, gap: u64) -> Both {
            let actor = || Actor { slots, random, gap, steady: false, heard: Vec::new() };
            let model = Model { at: vec![NEVER; slots as usize], heap: BinaryHeap::new(), events: 0 };
            let mut both = Both { agenda: Agenda::new(slots as usize), ours: actor(), model, theirs: actor() };
            (0..slots).for_each(|slot| both.set(slot, slot as u64 % 3));
            both
        }

        fn set(&mut self, slot: u32, at: u64) {
            self.agenda.set(slot, at);
            self.model.move_to(slot, at);
        }

        fn gap(&mut self, gap: u64) {
            (self.ours.gap, self.theirs.gap) = (gap, gap);
        }

        /// All slots come closer together.
        fn gather(&mut self, gap: u64) {
            self.gap(gap);
            let earliest = self.agenda.next();
            (0..self.model.at.len() as u32).for_each(|slot| self.set(slot, earliest + slot as u64 * gap));
        }

        fn run(&mut self, until: u64, budget: u64) {
            let ended = self.agenda.run(&mut self.ours, until, budget);
            assert_eq!(ended, self.model.run(&mut self.theirs, until, budget));
            assert_eq!(self.agenda.events(), self.model.events);
            assert_eq!(self.agenda.next(), self.model.at.iter().copied().min().unwrap_or(NEVER));
            assert_eq!(self.ours.heard, self.theirs.heard);
            self.ours.heard.clear();
            self.theirs.heard.clear();
        }

        /// From outside, between two runs.
        fn disturb(&mut self, now: u64) {
            self.ours.disturb(now, &mut self.agenda);
            self.theirs.disturb(now, &mut self.model);
        }
    }

    proptest! {
        #[test]
        fn events_come_in_the_order_of_a_plain_heap(
            slots in 1u32..80,
            random: u64,
            steps in prop::collection::vec((0u64..2000, 0u64..400, 0u32..44), 1..20),
        ) {
            let mut both = Both::new(slots, random, 1 << 20);
            let mut now = 0;
            for (ahead, budget, wide) in steps {
                both.gap(1 << wide);
                // Until a moment that has gone by, too: then nothing happens.
                let until = (now + (ahead << wide)).saturating_sub(1000);
                both.run(until, budget * budget / 16);
                now = now.max(until);
                if both.agenda.next() >= now {
                    (0..ahead % 8).for_each(|_| both.disturb(now));
                }
            }
        }
    }

    #[test]
    fn the_width_follows_the_load_to_both_of_its_limits() {
        let mut both = Both::new(60, 1, 1 << 49);
        (both.ours.steady, both.theirs.steady) = (true, true);
        both.run(NEVER, 4000);
        assert_eq!(both.agenda.shift, *SHIFTS.end());
        both.gather(1);
        both.run(NEVER, 20_000);
        assert_eq!(both.agenda.shift, *SHIFTS.start());
        both.gather(1 << 20);
        both.run(NEVER, 20_000);
        assert!((20..26).contains(&both.agenda.shift), "2^{} fs", both.agenda.shift);
    }

    #[test]
    fn few_slots_are_a_list_that_is_cut_off_behind() {
        let mut both = Both::new(2, 1, 1 << 20);
        (both.ours.steady, both.theirs.steady) = (true, true);
        both.run(NEVER, 20_000);
        assert!(
            both.agenda.shift > 30 && both.agenda.batch.len() <= KEPT_CAPACITY + SHORT_BATCH,
            "{}",
            both.agenda.batch.len()
        );
    }

    /// Slots that are moved about far away, for ever.
    struct Timers(u32);

    impl World for Timers {
        fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
            agenda.set(slot, now + 1000);
            agenda.set(1 + (now / 1000) as u32 % (self.0 - 1), now + (1 << 45));
        }
    }

    #[test]
    fn moments_that_no_slot_has_any_more_do_not_pile_up() {
        let mut agenda = Agenda::new(10);
        agenda.set(0, 0);
        agenda.run(&mut Timers(10), NEVER, 100_000);
        assert!(agenda.far.len() <= 2 * 10 + STALE_ALLOWED && agenda.far.capacity() < 1000, "{}", agenda.far.len());
    }

    /// Everything happens at once, and wakes another at once.
    struct Crowd(u32);

    impl World for Crowd {
        fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
            let half = self.0 / 2;
            agenda.set(slot, if slot < half { now + 1_000_000 } else { NEVER });
            if slot < half {
                agenda.set(half + (slot.wrapping_mul(7919) + 1) % half, now);
            }
        }
    }

    #[test]
    fn crowds_of_one_moment_cost_no_more_than_others() {
        let mut agenda = Agenda::new(200_000);
        (0..100_000).for_each(|slot| agenda.set(slot, 5));
        assert_eq!(agenda.run(&mut Crowd(200_000), 2_000_000, u64::MAX), Pause::Reached);
        assert_eq!(agenda.events(), 400_000);
    }
}
