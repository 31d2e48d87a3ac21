//! The event kernel: what happens next.
//!
//! Everything that can happen next (a packet becomes ready, a transmitter falls free, a timer ends) has a *slot*, which holds one moment and may be moved at
//! will. Slots of the near future are linked into a ring of buckets of equal width, unsorted; when time comes to a bucket it is sorted into a batch, and worked off
//! in order of (moment, slot). Slots beyond the ring wait in a heap. Batch and heap may hold moments that a slot no longer has: those are passed over. The
//! width follows the load, so that a bucket holds a few moments and few lie beyond the ring; the order of events never depends on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment that never comes.
pub const NEVER: u64 = u64::MAX;

/// No slot.
const NONE: u32 = u32::MAX;
/// Buckets of the ring; a bit of a word each, and a bit of one word for each word.
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;
/// The width of a bucket is a power of two of femtoseconds, at first about 1 ns.
const FIRST_SHIFT: u32 = 20;
const SHIFTS: std::ops::RangeInclusive<u32> = 12..=50;
/// The width is looked at after so many events. A bucket of few moments costs more than it sorts; one of many costs more to put moments into.
const LOOK: u64 = 1 << 13;
const FEW: u64 = 3;
const MANY: u64 = 12;

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
    /// Its number since time 0, and the buckets behind it, each at its number modulo their count.
    now: u64,
    buckets: Vec<u32>,
    full: [u64; WORDS],
    words: u16,
    shift: u32,
    far: BinaryHeap<Reverse<Entry>>,
    /// The slot that acts, and its next moment: put back when it has acted, however often it was moved.
    acting: u32,
    again: u64,
    events: u64,
    /// Since the width was last looked at: buckets that came up, moments that had an event, entries put beyond the ring; and the next look.
    turns: u64,
    moments: u64,
    last: u64,
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
            now: 0,
            buckets: vec![NONE; BUCKETS],
            full: [0; WORDS],
            words: 0,
            shift: FIRST_SHIFT,
            far: BinaryHeap::new(),
            acting: NONE,
            again: NEVER,
            events: 0,
            turns: 0,
            moments: 0,
            last: NEVER,
            beyond: 0,
            look: LOOK,
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
            let behind = self.batch[self.next..].iter().rev().take_while(|e| **e > entry).count();
            self.batch.insert(self.batch.len() - behind, entry);
        } else {
            self.beyond += 1;
            self.far.push(Reverse(Entry { at, slot }));
        }
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
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
        true
    }

    /// Narrower buckets where they are crowded, wider ones where they hold little or much lies beyond the ring.
    #[cold]
    fn fit(&mut self) {
        // Events of one moment stay together however narrow a bucket is.
        let shift = match self.moments / self.turns.max(1) {
            0..FEW => self.shift + 1,
            MANY.. => self.shift - 1,
            _ if self.beyond > LOOK / 4 => self.shift + 1,
            _ => self.shift,
        };
        self.look = self.events + LOOK;
        (self.turns, self.moments, self.beyond) = (0, 0, 0);
        if shift == self.shift || !SHIFTS.contains(&shift) {
            return;
        }
        // Everything to come lies behind the bucket before the present one.
        self.now = (self.now << self.shift >> shift).saturating_sub(1);
        self.shift = shift;
        (self.full, self.words, self.next) = ([0; WORDS], 0, 0);
        self.buckets.fill(NONE);
        self.batch.clear();
        self.far.clear();
        for slot in 0..self.slots.len() {
            let s = &mut self.slots[slot];
            s.before = OUT;
            if s.at != NEVER {
                let at = s.at;
                self.file(slot as u32, at);
            }
        }
        self.beyond = 0;
    }

    /// Lets everything happen that lies before `until`, but no more than so many events.
    #[inline]
    pub fn run<W: World>(&mut self, world: &mut W, until: u64, budget: u64) -> Pause {
        let stop = self.events.saturating_add(budget);
        loop {
            let Some(&Entry { at, slot }) = self.batch.get(self.next) else {
                if self.events >= self.look {
                    self.fit();
                }
                if self.next >= self.batch.len() && !self.turn() {
                    return Pause::Silent;
                }
                continue;
            };
            if self.slots[slot as usize].at != at {
                self.next += 1;
                continue;
            }
            if at >= until {
                return Pause::Reached;
            }
            if self.events >= stop {
                return Pause::Budget;
            }
            self.next += 1;
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

    /// Nodes in a ring pass tokens with random delays; each also has a timer of its own.
    struct Ring {
        nodes: u32,
        seed: Vec<u64>,
        heard: Vec<Vec<u64>>,
        inbox: Vec<std::collections::VecDeque<u64>>,
    }

    const LOOKAHEAD: u64 = 50;

    impl World for Ring {
        fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
            let (node, what) = (slot / 2, slot % 2);
            self.heard[node as usize].push(now * 2 + what as u64);
            let seed = &mut self.seed[node as usize];
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let random = *seed >> 40;
            if what == 0 {
                agenda.set(slot, now + 1 + random % 97);
            } else {
                let inbox = &mut self.inbox[node as usize];
                assert_eq!(inbox.pop_front(), Some(now), "messages come when they were sent for, in order");
                agenda.set(slot, inbox.front().copied().unwrap_or(NEVER));
            }
            if random.is_multiple_of(3) {
                let to = (node + 1) % self.nodes;
                let inbox = &mut self.inbox[to as usize];
                let at = (now + LOOKAHEAD + random % 30).max(inbox.back().copied().unwrap_or(0));
                inbox.push_back(at);
                agenda.by(to * 2 + 1, at);
            }
        }
    }

    fn ring(nodes: u32, lookahead: u64, budget: u64) -> Vec<Vec<u64>> {
        let mut world = Ring {
            nodes,
            seed: (0..nodes as u64).collect(),
            heard: vec![Vec::new(); nodes as usize],
            inbox: vec![Default::default(); nodes as usize],
        };
        let mut agenda = Agenda::new(2 * nodes as usize);
        (0..nodes).for_each(|n| agenda.set(2 * n, n as u64));
        while agenda.run(&mut world, 20_000, budget) == Pause::Budget {}
        world.heard
    }

    #[test]
    fn windows_of_any_width_and_interruptions_give_the_same_history() {
        for nodes in [2, 3, 7] {
            // Without lookahead the kernel goes strictly by time.
            let strict = ring(nodes, 0, u64::MAX);
            assert!(strict.iter().map(Vec::len).sum::<usize>() > 1000);
            assert_eq!(strict, ring(nodes, LOOKAHEAD, u64::MAX));
            assert_eq!(strict, ring(nodes, LOOKAHEAD / 3, u64::MAX));
            assert_eq!(strict, ring(nodes, LOOKAHEAD, 7));
        }
    }
}
