//! What instruments count of a flow's I/Os: bytes and times by direction, transactions, and the bins of their
//! latencies.
//!
//! Only what began after the counting did is in it: an I/O that was issued in the ramp is never counted (Iometer User's
//! Guide 1.1.0, ramp up time).

use crate::result::{BIN_EDGES, IoCounts, IoSide, Latencies, Times};
use hdrhistogram::Histogram;

/// Femtoseconds in a second, and in the picosecond that squares and histograms are counted in.
const SECOND: f64 = 1e15;
const PICO: u64 = 1000;

/// Times of something: sums of fs, squares of ps.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Sums {
    count: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
    /// The longest since somebody asked last.
    recent: u64,
}

impl Sums {
    #[inline]
    pub(in crate::sim) fn add(&mut self, fs: u64) {
        self.min = if self.count == 0 { fs } else { self.min.min(fs) };
        self.max = self.max.max(fs);
        self.recent = self.recent.max(fs);
        self.count += 1;
        self.sum += fs as u128;
        // Flows hold at most 2^16 I/Os at a time, for at most 5 h: the squares of their times stay below 2^125.
        let ps = (fs / PICO) as u128;
        self.squares += ps * ps;
    }

    /// What came since `before`, which is then now. The shortest is that of the whole.
    fn update(&mut self, before: &mut Sums) -> Sums {
        let (count, sum, squares) = (self.count - before.count, self.sum - before.sum, self.squares - before.squares);
        let latest = Sums { count, sum, squares, max: self.recent, ..*self };
        self.recent = 0;
        *before = *self;
        latest
    }

    fn times(&self) -> Times {
        Times {
            count: self.count,
            sum: self.sum as f64 / SECOND,
            squares: self.squares as f64 * 1e-24,
            min: self.min as f64 / SECOND,
            max: self.max as f64 / SECOND,
        }
    }
}

/// The counts of one flow.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Counts {
    /// Reads, writes, trims.
    bytes: [u64; 3],
    times: [Sums; 3],
    /// Before the call, for the worker's processor; and from the moment at which the program wanted them.
    waits: [Sums; 3],
    whole: [Sums; 3],
    pub(in crate::sim) transactions: Sums,
    pub(in crate::sim) connections: Sums,
    bins: [u64; 21],
    /// Bytes that have come to their place, of I/Os that are counted or not.
    pub(in crate::sim) moved: u64,
}

impl Counts {
    pub(in crate::sim) const fn new() -> Counts {
        const NONE: Sums = Sums { count: 0, sum: 0, squares: 0, min: 0, max: 0, recent: 0 };
        Counts {
            bytes: [0; 3],
            times: [NONE; 3],
            waits: [NONE; 3],
            whole: [NONE; 3],
            transactions: NONE,
            connections: NONE,
            bins: [0; 21],
            moved: 0,
        }
    }

    /// An I/O of a way (0 reads, 1 writes, 2 deallocates) is done: when the program wanted it, when its worker's
    /// processor turned to it, and now.
    #[inline]
    pub(in crate::sim) fn add(
        &mut self,
        way: usize,
        bytes: u64,
        (wanted, called, now): (u64, u64, u64),
        edges: &Edges,
    ) {
        self.bytes[way] += bytes;
        self.times[way].add(now - called);
        self.waits[way].add(called - wanted);
        self.whole[way].add(now - wanted);
        self.bins[edges.bin(now - called)] += 1;
    }

    /// What came since `before`, which is then now.
    pub(in crate::sim) fn update(&mut self, before: &mut Counts) -> Counts {
        let mut latest = *self;
        for way in 0..3 {
            latest.bytes[way] -= before.bytes[way];
            latest.times[way] = self.times[way].update(&mut before.times[way]);
            latest.waits[way] = self.waits[way].update(&mut before.waits[way]);
            latest.whole[way] = self.whole[way].update(&mut before.whole[way]);
        }
        latest.transactions = self.transactions.update(&mut before.transactions);
        latest.connections = self.connections.update(&mut before.connections);
        latest.bins.iter_mut().zip(before.bins).for_each(|(now, then)| *now -= then);
        latest.moved -= before.moved;
        (before.bytes, before.bins, before.moved) = (self.bytes, self.bins, self.moved);
        latest
    }

    /// As results have them: of this flow, worker and target.
    pub(in crate::sim) fn report(&self, flow: &str, worker: u32, target: &str) -> IoCounts {
        let side = |way: usize| IoSide {
            bytes: self.bytes[way],
            times: self.times[way].times(),
            waits: self.waits[way].times(),
            whole: self.whole[way].times(),
        };
        IoCounts {
            flow: flow.to_owned(),
            worker,
            target: target.to_owned(),
            reads: side(0),
            writes: side(1),
            trims: side(2),
            transactions: self.transactions.times(),
            connections: self.connections.times(),
            bins: self.bins,
            moved: self.moved,
        }
    }
}

/// [`BIN_EDGES`] in fs.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Edges([u64; BIN_EDGES.len()]);

impl Edges {
    pub(in crate::sim) fn new() -> Edges {
        Edges(BIN_EDGES.map(|s| (s * SECOND).round() as u64))
    }

    /// The first bin whose edge is not reached.
    #[inline]
    fn bin(&self, fs: u64) -> usize {
        self.0.partition_point(|edge| *edge <= fs)
    }
}

/// Bits of a latency in ns that are counts apart; with the 3 digits of the histogram behind it, a bin is less than
/// 1/128 of its value wide.
const BITS: u32 = 8;

/// A histogram of ps as results have it.
pub(in crate::sim) fn latencies(picoseconds: &Histogram<u64>) -> Latencies {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for seen in picoseconds.iter_recorded() {
        let most = picoseconds.highest_equivalent(seen.value_iterated_to()).div_ceil(1000);
        let drop = (u64::BITS - most.leading_zeros()).saturating_sub(BITS + 1);
        let edge = most | ((1 << drop) - 1);
        match all.last_mut() {
            Some((last, n)) if *last == edge => *n += seen.count_at_value(),
            _ => all.push((edge, seen.count_at_value())),
        }
    }
    Latencies(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::core::tally::Cells;

    const US: u64 = 1_000_000_000;

    #[test]
    fn an_io_is_in_the_first_bin_whose_edge_it_does_not_reach() {
        let edges = Edges::new();
        assert_eq!([0, 50 * US - 1, 50 * US, 100 * US - 1, 100 * US].map(|t| edges.bin(t)), [0, 0, 1, 1, 2]);
        let s = 1_000_000 * US;
        assert_eq!(
            [4 * s - 1, 4 * s, 5 * s, 10 * s - 1, 10 * s, u64::MAX].map(|t| edges.bin(t)),
            [17, 18, 19, 19, 20, 20]
        );
    }

    #[test]
    fn sums_by_hand() {
        let (mut c, edges) = (Counts::new(), Edges::new());
        c.add(0, 4096, (0, 0, 3000 * US), &edges);
        c.add(0, 512, (0, 0, 1000 * US), &edges);
        c.add(1, 100, (0, 0, 40 * US), &edges);
        let counts = c.report("io", 0, "disk");
        let t = counts.reads.times;
        assert_eq!((counts.reads.bytes, t.count, t.sum, t.min, t.max), (4608, 2, 4e-3, 1e-3, 3e-3));
        // 9 and 1 ms².
        assert!((t.squares - 10e-6).abs() < 1e-18, "{}", t.squares);
        assert_eq!((counts.writes.bytes, counts.writes.times.min, counts.ios()), (100, 40e-6, 3));
        let mut bins = [0; 21];
        (bins[0], bins[5], bins[6]) = (1, 1, 1);
        assert_eq!(counts.bins, bins);
    }

    #[test]
    fn an_update_has_what_came_since_the_last_one() {
        let (mut c, mut before, edges) = (Counts::new(), Counts::new(), Edges::new());
        c.add(0, 4096, (0, 0, 3000 * US), &edges);
        assert_eq!(c.update(&mut before).report("io", 0, "disk"), c.report("io", 0, "disk"));
        c.add(0, 512, (0, 0, 1000 * US), &edges);
        c.add(0, 512, (0, 0, 2000 * US), &edges);
        let latest = c.update(&mut before).report("io", 0, "disk");
        assert_eq!((latest.reads.bytes, latest.reads.times.count, latest.bins.iter().sum::<u64>()), (1024, 2, 2));
        assert!((latest.reads.times.max - 2e-3).abs() < 1e-15 && (latest.reads.times.mean() - 1.5e-3).abs() < 1e-15);
        assert_eq!(c.report("io", 0, "disk").reads.times.max, 3e-3, "the whole is as it was");
        let nothing = c.update(&mut before).report("io", 0, "disk");
        assert_eq!((nothing.ios(), nothing.reads.times.max), (0, 0.0));
    }

    #[test]
    fn bins_of_latencies_are_narrow_and_hold_what_is_in_them() {
        for ns in [0, 1, 5, 127, 128, 255, 256, 257, 1000, 54_321, 1_000_001, 999_999_937, 17_999_999_999_999] {
            let mut h = Cells::default();
            h.record(ns * 1000);
            let Latencies(bins) = latencies(&h.histogram());
            let [(edge, 1)] = bins[..] else { panic!("{ns}: {bins:?}") };
            // Below 128 ns, to a nanosecond.
            assert!(edge >= ns && edge - ns <= (ns / 128).max(1), "{ns} ns in the bin to {edge}");
        }
        let mut h = Cells::default();
        (1..100_000u64).for_each(|ns| h.record(ns * 977));
        let Latencies(bins) = latencies(&h.histogram());
        assert!(bins.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(bins.iter().map(|b| b.1).sum::<u64>(), 99_999);
    }
}
