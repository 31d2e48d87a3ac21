//! Which of some things belong together, because they meet, directly or by others: union-find with path halving (Tarjan
//! and van Leeuwen, J. ACM 31, 1984). What stands for a set is the first of it.

/// Sets of the numbers below some count, each alone at first.
pub(crate) struct Meeting {
    before: Vec<usize>,
}

impl Meeting {
    pub(crate) fn new(count: usize) -> Meeting {
        Meeting { before: (0..count).collect() }
    }

    /// The first of those that one belongs to.
    pub(crate) fn first(&mut self, mut of: usize) -> usize {
        while self.before[of] != of {
            self.before[of] = self.before[self.before[of]];
            of = self.before[of];
        }
        of
    }

    /// Two meet.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.before[a.max(b)] = a.min(b);
    }
}
