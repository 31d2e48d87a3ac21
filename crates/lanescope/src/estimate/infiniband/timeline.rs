//! When something that carries one packet at a time is taken.

use std::collections::VecDeque;

/// Pauses of a timeline that are remembered: each acknowledgement to come leaves one before it, and sixteen ranks of a
/// node in an all-to-all have more than a hundred messages under way.
const PAUSES: usize = 256;

/// When something that carries one packet at a time is taken, fs. Messages are carried one after the other, each along
/// its whole way, so that one that is carried later may come somewhere earlier: it finds the pauses that others left.
///
/// Moments are whole femtoseconds: of a difference of two late fractions a rounding remains, and what has a rounding of
/// itself left over when it has found its place would end in another.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    /// From when on nothing takes it.
    free: u64,
    /// The last times before that in which nothing takes it, in order.
    pauses: VecDeque<(u64, u64)>,
}

impl Timeline {
    /// From when on nothing takes it.
    pub(super) fn free(&self) -> f64 {
        self.free as f64
    }

    /// Takes it for so long from `at` on, in pauses and then at the end; gives when that ends. Who finds a pause that
    /// is too short goes on in the next.
    pub(super) fn book(&mut self, at: f64, time: f64) -> f64 {
        let (at, mut left) = (at.round() as u64, time.round() as u64);
        if left == 0 {
            let next = self.pauses.partition_point(|p| p.1 < at);
            return at.max(self.pauses.get(next).map_or(self.free, |p| p.0)) as f64;
        }
        let mut end = at;
        let mut i = self.pauses.partition_point(|p| p.1 <= at);
        while i < self.pauses.len() && left > 0 {
            let (from, until) = self.pauses[i];
            let start = from.max(at);
            end = until.min(start.saturating_add(left));
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
        if left > 0 {
            if at > self.free {
                self.pauses.push_back((self.free, at));
                self.free = at;
            }
            self.free = self.free.saturating_add(left);
            end = self.free;
        }
        while self.pauses.len() > PAUSES {
            self.pauses.pop_front();
        }
        end as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// What is booked stands where it would stand at any other hour of a program.
        #[test]
        fn a_place_does_not_hang_on_the_hour(
            bookings in vec((0u32..20_000_000, 0u32..700), 1..60),
            hour in 1u64..10_000_000_000_000,
        ) {
            let (mut early, mut late) = (Timeline::default(), Timeline::default());
            early.book(0.0, 1.0);
            late.book(0.0, hour as f64 + 1.0);
            for (at, bytes) in bookings {
                // A byte at 54.55 Gb/s takes 146666.67 fs.
                let (at, time) = (f64::from(at) + 1.0, f64::from(bytes) * 8e6 / 54.545_454);
                let [a, b] = [early.book(at, time), late.book(at + hour as f64, time) - hour as f64];
                prop_assert!((a - b).abs() <= 1.0, "{} and {}", a, b);
            }
        }
    }

    /// Whatever comes later: a rounding that is left over would end behind that.
    #[test]
    fn what_fits_in_a_pause_ends_in_it() {
        for hour in (0..1000).map(|n| 7_111_111.377 * f64::from(n)) {
            let mut line = Timeline::default();
            line.book(hour + 90e6, 1e6);
            let end = line.book(hour + 1e6, 5_866_606.6);
            assert!((end - (hour + 6_866_606.6)).abs() <= 1.0, "{hour}: {end}");
        }
    }

    #[test]
    fn what_is_longer_than_a_pause_goes_on_in_the_next() {
        let mut line = Timeline::default();
        line.book(10.0, 10.0);
        line.book(25.0, 10.0);
        assert_eq!(line.book(0.0, 12.0), 22.0);
        assert_eq!(line.book(0.0, 5.0), 37.0);
    }
}
