//! When something that carries one packet at a time is taken.

use std::collections::VecDeque;

/// Pauses of a timeline that are remembered: each acknowledgement to come leaves one before it.
const PAUSES: usize = 64;

/// When something that carries one packet at a time is taken, fs. Messages are carried one after the other, each along
/// its whole way, so that one that is carried later may come somewhere earlier: it finds the pauses that others left.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    /// From when on nothing takes it.
    pub(super) free: f64,
    /// The last times before that in which nothing takes it, in order.
    pauses: VecDeque<(f64, f64)>,
}

impl Timeline {
    /// Takes it for so long from `at` on, in pauses and then at the end; gives when that ends. Who finds a pause that
    /// is too short goes on in the next.
    pub(super) fn book(&mut self, at: f64, time: f64) -> f64 {
        let (mut end, mut left) = (at, time);
        if time <= 0.0 {
            let next = self.pauses.partition_point(|p| p.1 < at);
            return at.max(self.pauses.get(next).map_or(self.free, |p| p.0));
        }
        let mut i = self.pauses.partition_point(|p| p.1 <= at);
        while i < self.pauses.len() && left > 0.0 {
            let (from, until) = self.pauses[i];
            let start = from.max(at);
            end = until.min(start + left);
            left -= end - start;
            match (start > from, end < until) {
                (true, true) => {
                    self.pauses[i].1 = start;
                    self.pauses.insert(i + 1, (end, until));
                    i += 1;
                }
                (true, false) => self.pauses[i].1 = start,
                (false, true) => self.pauses[i].0 = end,
                (false, false) => {
                    self.pauses.remove(i);
                    continue;
                }
            }
            i += 1;
        }
        if left > 0.0 {
            if at > self.free {
                self.pauses.push_back((self.free, at));
                self.free = at;
            }
            self.free += left;
            end = self.free;
        }
        while self.pauses.len() > PAUSES {
            self.pauses.pop_front();
        }
        end
    }
}
