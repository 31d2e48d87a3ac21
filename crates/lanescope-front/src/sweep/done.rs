//! Which points of a sweep are there: a bit for each, so that the most that a sweep may have take 12.5 MB.

use super::Shard;

/// A set of points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    words: Vec<u64>,
    size: u64,
    count: u64,
}

impl Done {
    /// None of so many points.
    pub fn none(size: u64) -> Done {
        Done { words: vec![0; size.div_ceil(64) as usize], size, count: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a point is there.
    pub fn has(&self, point: u64) -> bool {
        self.words.get((point / 64) as usize).is_some_and(|word| word >> (point % 64) & 1 == 1)
    }

    /// Adds a point of the sweep; gives whether it is new.
    pub fn insert(&mut self, point: u64) -> bool {
        let new = point < self.size && !self.has(point);
        if new {
            self.words[(point / 64) as usize] |= 1 << (point % 64);
            self.count += 1;
        }
        new
    }

    /// The first point of a shard that is missing, from one on.
    pub fn first_missing(&self, shard: Shard, from: u64) -> Option<u64> {
        let mut at = shard.at_or_after(from);
        while at < self.size && self.has(at) {
            at += shard.step();
        }
        (at < self.size).then_some(at)
    }

    /// The points of a shard that are missing: found as they are asked for.
    pub fn missing(self, shard: Shard) -> Missing {
        let mut missing = Missing { done: self, shard, next: shard.at_or_after(0), left: 0 };
        let mut at = missing.next;
        while at < missing.done.size {
            missing.left += usize::from(!missing.done.has(at));
            at += shard.step();
        }
        missing
    }
}

/// The missing points of a shard, in their order.
#[derive(Clone, Debug)]
pub struct Missing {
    done: Done,
    shard: Shard,
    next: u64,
    left: usize,
}

impl Iterator for Missing {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let point = self.done.first_missing(self.shard, self.next)?;
        self.next = point + self.shard.step();
        self.left -= 1;
        Some(point)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Missing {}
