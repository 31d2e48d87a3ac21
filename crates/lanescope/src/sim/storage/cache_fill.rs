//! What a cache holds that is not written on yet, and whether that has stopped rising.
//!
//! Neither that a cache has no room at a moment nor how much is in it then says that it does not fill any more: a burst
//! fills it for a moment, and programs that end together empty a part of it at once. So the least and the most that was
//! in it are compared, each time that it has been written over.

/// Bytes in a cache.
#[derive(Clone, Debug)]
pub(super) struct CacheFill {
    room: u64,
    held: u64,
    taken: u64,
    /// How often it has been written over; the least and the most that it held since then, and the time before.
    rounds: u64,
    range: [u64; 2],
    before: [u64; 2],
    steady: bool,
}

impl CacheFill {
    /// An empty one with so much room.
    pub(super) fn new(room: u64) -> CacheFill {
        CacheFill { room, held: 0, taken: 0, rounds: 0, range: [0; 2], before: [0; 2], steady: false }
    }

    /// Whether so much more fits; what is larger than all of it does when it is empty.
    pub(super) fn fits(&self, bytes: u64) -> bool {
        self.held == 0 || self.held.saturating_add(bytes) <= self.room
    }

    /// Lets that much in, or promises it room.
    pub(super) fn take(&mut self, bytes: u64) {
        self.held += bytes;
        self.taken += bytes;
        self.range[1] = self.range[1].max(self.held);
        let rounds = self.taken / self.room.max(1);
        if rounds > self.rounds {
            self.rounds = rounds;
            let no_more = |(now, before): (&u64, &u64)| *now <= before + self.room / 100;
            self.steady |= rounds > 1 && self.range.iter().zip(&self.before).all(no_more);
            (self.before, self.range) = (self.range, [self.held; 2]);
        }
    }

    /// So much of it is free again.
    pub(super) fn free(&mut self, bytes: u64) {
        self.held -= bytes;
        self.range[0] = self.range[0].min(self.held);
    }

    /// What is in it.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// All that has been let in.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether it held no more than when it had been written over the time before.
    pub(super) fn is_steady(&self) -> bool {
        self.steady
    }
}
