//! What has happened to a flow since time 0, whatever its medium.

use crate::result::SlotCounts;
use hdrhistogram::Histogram;

/// Femtoseconds in a second.
pub(in crate::sim) const SECOND: f64 = 1e15;

/// Sums of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Tally {
    /// Payload delivered.
    pub(in crate::sim) bytes: u64,
    /// Operations begun, and the sum of their beginnings, fs.
    pub(in crate::sim) begun: u64,
    pub(in crate::sim) begun_sum: u128,
    /// Operations done, the sum of their ends, and of their latencies, fs.
    pub(in crate::sim) done: u64,
    pub(in crate::sim) done_sum: u128,
    pub(in crate::sim) latency: u128,
    /// Reads whose first data have come, and the sum of the times to them, fs.
    pub(in crate::sim) firsts: u64,
    pub(in crate::sim) first_latency: u128,
    /// Of frames: the sum of the times since they left the application, of operations done, fs.
    pub(in crate::sim) transit: u128,
    /// Frames sent, and delivered, with their bytes from destination to FCS.
    pub(in crate::sim) sent: u64,
    pub(in crate::sim) frames: u64,
    pub(in crate::sim) frame_bytes: u64,
    /// Frames that came marked, and notifications that were sent for them.
    pub(in crate::sim) marked: u64,
    pub(in crate::sim) notified: u64,
    /// Frames dropped.
    pub(in crate::sim) dropped: u64,
    /// Of those: frames of messages that the application's queue had no room for.
    pub(in crate::sim) refused: u64,
    /// Of those sent: frames sent again. Frames that came and were not taken.
    pub(in crate::sim) resent: u64,
    pub(in crate::sim) discarded: u64,
    /// Operations whose end was dropped, and the sum of the moments, fs.
    pub(in crate::sim) lost: u64,
    pub(in crate::sim) lost_sum: u128,
    /// Operations of a closed load that are due and have not begun, at the moment of asking, and the sum of when they
    /// became due, fs.
    pub(in crate::sim) waiting: u64,
    pub(in crate::sim) waiting_sum: u128,
}

impl Tally {
    #[inline]
    pub(in crate::sim) fn start(&mut self, born: u64) {
        self.begun += 1;
        self.begun_sum += born as u128;
    }

    #[inline]
    pub(in crate::sim) fn finish(&mut self, born: u64, done: u64) {
        self.done += 1;
        self.done_sum += done as u128;
        self.latency += (done - born) as u128;
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        // None is forgotten: each has a name here.
        let Tally {
            bytes,
            begun,
            begun_sum,
            done,
            done_sum,
            latency,
            firsts,
            first_latency,
            transit,
            sent,
            frames,
            frame_bytes,
            marked,
            notified,
            dropped,
            refused,
            resent,
            discarded,
            lost,
            lost_sum,
            waiting,
            waiting_sum,
        } = other;
        self.bytes += bytes;
        self.begun += begun;
        self.begun_sum += begun_sum;
        self.done += done;
        self.done_sum += done_sum;
        self.latency += latency;
        self.firsts += firsts;
        self.first_latency += first_latency;
        self.transit += transit;
        self.sent += sent;
        self.frames += frames;
        self.frame_bytes += frame_bytes;
        self.marked += marked;
        self.notified += notified;
        self.dropped += dropped;
        self.refused += refused;
        self.resent += resent;
        self.discarded += discarded;
        self.lost += lost;
        self.lost_sum += lost_sum;
        self.waiting += waiting;
        self.waiting_sum += waiting_sum;
    }
}

/// What a wire has carried for messages that are followed as flows.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Carried {
    /// Bytes of the wire, of data, and packets.
    pub(in crate::sim) bytes: f64,
    pub(in crate::sim) payload: f64,
    pub(in crate::sim) packets: f64,
}

/// A ledger of what is summed up in floats, no part of which is less than at an earlier count: the order of a sum, and
/// a float's noise, are no news.
pub(in crate::sim) fn no_less(now: SlotCounts, before: &SlotCounts) -> SlotCounts {
    let mut idle = now.idle;
    idle.iter_mut().zip(before.idle).for_each(|(now, before)| *now = before.max(*now));
    SlotCounts {
        payload: now.payload.max(before.payload),
        framing: now.framing.max(before.framing),
        requests: now.requests.max(before.requests),
        acks: now.acks.max(before.acks),
        update_fc: now.update_fc.max(before.update_fc),
        ordered_sets: now.ordered_sets.max(before.ordered_sets),
        tlps: now.tlps.max(before.tlps),
        data_tlps: now.data_tlps.max(before.data_tlps),
        idle,
        ..now
    }
}

/// A hash of the moments at which operations were done. A sum: operations end at different parts, so their order here
/// is not that of time.
#[inline]
pub(in crate::sim) fn fingerprint(fingerprint: u64, born: u64, done: u64) -> u64 {
    fingerprint.wrapping_add((done ^ born.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ done)
}

/// Counts of values in the cells of a histogram of three significant digits, 1024 to each power of two: all that an
/// operation costs is one addition. What is asked of them, a [`Histogram`] made of them answers.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Cells(Vec<u64>);

impl Cells {
    /// One value more.
    #[inline]
    pub(in crate::sim) fn record(&mut self, value: u64) {
        let power = 53 - (value | 2047).leading_zeros();
        let cell = ((power as usize) << 10) + (value >> power) as usize;
        match self.0.get_mut(cell) {
            Some(n) => *n += 1,
            None => self.grow(cell),
        }
    }

    #[cold]
    fn grow(&mut self, cell: usize) {
        self.0.resize((cell + 1).next_multiple_of(1024), 0);
        self.0[cell] += 1;
    }

    /// What others have counted, too.
    pub(in crate::sim) fn add(&mut self, others: &Cells) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        self.0.iter_mut().zip(&others.0).for_each(|(n, more)| *n += more);
    }

    /// Nothing was counted.
    pub(in crate::sim) fn reset(&mut self) {
        self.0.fill(0);
    }

    /// The same as a histogram.
    pub(in crate::sim) fn histogram(&self) -> Histogram<u64> {
        let mut all = Histogram::new(3).unwrap_or_else(|e| unreachable!("three digits are allowed: {e}"));
        all.auto(true);
        for (cell, n) in self.0.iter().enumerate().filter(|(_, n)| **n > 0) {
            let power = (cell >> 10).saturating_sub(1);
            all.record_n(((cell - (power << 10)) as u64) << power, *n)
                .unwrap_or_else(|e| unreachable!("it grows: {e}"));
        }
        all
    }
}

/// What so much of the operations took at most, s.
pub(in crate::sim) fn quantile(picoseconds: &Histogram<u64>, part: f64) -> f64 {
    if picoseconds.is_empty() { 0.0 } else { picoseconds.value_at_quantile(part) as f64 * 1e-12 }
}

/// What the longest of them took, s.
pub(in crate::sim) fn longest(picoseconds: &Histogram<u64>) -> f64 {
    if picoseconds.is_empty() { 0.0 } else { picoseconds.max() as f64 * 1e-12 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Cells forget no more than a histogram of three digits does.
        #[test]
        fn cells_are_a_histogram(values in prop::collection::vec((any::<u64>(), 0u32..60), 0..200)) {
            let (mut cells, mut whole) = (Cells::default(), Histogram::<u64>::new(3).expect("three digits"));
            whole.auto(true);
            for (value, shift) in values {
                let value = value >> 4 >> shift;
                cells.record(value);
                whole.record(value).expect("it grows");
            }
            let same = cells.histogram();
            prop_assert_eq!((same.len(), same.max()), (whole.len(), whole.max()));
            for part in [0.0, 0.5, 0.99, 0.999, 1.0] {
                prop_assert_eq!(same.value_at_quantile(part), whole.value_at_quantile(part));
            }
        }
    }
}
