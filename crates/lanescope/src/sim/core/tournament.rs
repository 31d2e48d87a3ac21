//! The earliest of few moments: a tournament tree.
//!
//! Each slot is a leaf, each node above holds the earlier of its two children, so the root is the earliest of all.
//! Whoever moves a slot plays its matches again on the way up, as far as they may end otherwise: a comparison for each,
//! without a branch that depends on moments, where a calendar of so few would go from one bucket of few entries to the
//! next, and no processor could foretell how many there are.

use std::hint::select_unpredictable;

/// A moment that never comes.
pub(super) const NEVER: u64 = u64::MAX;

/// Slots at most: the tree should fit a first-level cache beside what the slots are of.
const MOST: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 9;
/// The latest moment of a slot, 36 s: above it there are the bits of the slot.
const LATEST: u64 = (1 << (64 - SLOT_BITS)) - 2;
const NODES: usize = 2 * MOST;

/// The moments of all slots, and the winner of each match.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Each a moment above its slot in one word, so that one comparison orders both; [`NEVER`] has no slot. The
    /// children of node `i` are `2 i` and `2 i + 1`, and node 1 is the root.
    nodes: Box<[u64; NODES]>,
    /// The node of slot 0.
    leaves: usize,
    slots: usize,
}

impl Tournament {
    /// So many slots, without moments; `None` of more than it can have.
    pub(super) fn new(slots: usize) -> Option<Tournament> {
        let leaves = slots.next_power_of_two();
        (slots <= MOST).then(|| Tournament { nodes: Box::new([NEVER; NODES]), leaves, slots })
    }

    /// The node of a slot. It is always below their number; said once, no index on the way up needs a check.
    #[inline]
    fn leaf(&self, slot: u32) -> usize {
        (self.leaves + slot as usize) % NODES
    }

    /// What stands for a moment of a slot; `None` if it is too late for that.
    #[inline]
    fn key(slot: u32, at: u64) -> Option<u64> {
        match at {
            NEVER => Some(NEVER),
            at if at > LATEST => None,
            at => Some(at << SLOT_BITS | u64::from(slot)),
        }
    }

    #[inline]
    fn moment(key: u64) -> u64 {
        if key == NEVER { NEVER } else { key >> SLOT_BITS }
    }

    /// The moment of a slot.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> u64 {
        Self::moment(self.nodes[self.leaf(slot)])
    }

    /// The moments of all slots.
    pub(super) fn moments(&self) -> Vec<u64> {
        (0..self.slots as u32).map(|slot| self.get(slot)).collect()
    }

    /// The earliest moment of all, and its slot: of equal moments the lowest.
    #[inline]
    pub(super) fn first(&self) -> (u64, u32) {
        (Self::moment(self.nodes[1]), self.nodes[1] as u32 % MOST as u32)
    }

    /// Moves a slot to another moment. Whether it can: not to one that is too late.
    #[inline]
    pub(super) fn set(&mut self, slot: u32, at: u64) -> bool {
        let Some(key) = Self::key(slot, at) else { return false };
        let mut i = self.leaf(slot);
        let old = std::mem::replace(&mut self.nodes[i], key);
        if key < old {
            // It wins what it won before, and perhaps more.
            i /= 2;
            while i > 0 && key < self.nodes[i] {
                self.nodes[i] = key;
                i /= 2;
            }
        } else if old < key {
            // What it did not win, it does not win now.
            let mut best = key;
            while i > 1 && self.nodes[i / 2] == old {
                best = earlier(best, self.nodes[i ^ 1]);
                i /= 2;
                self.nodes[i] = best;
            }
        }
        true
    }

    /// The same of the slot that was the first, and may win no match any more.
    #[inline]
    pub(super) fn replay(&mut self, slot: u32, at: u64) -> bool {
        let Some(key) = Self::key(slot, at) else { return false };
        let (mut i, mut best) = (self.leaf(slot), key);
        self.nodes[i] = best;
        while i > 1 {
            best = earlier(best, self.nodes[i ^ 1]);
            i /= 2;
            self.nodes[i] = best;
        }
        true
    }
}

/// The smaller of two, of which none can tell which it will be.
#[inline]
fn earlier(a: u64, b: u64) -> u64 {
    select_unpredictable(b < a, b, a)
}
