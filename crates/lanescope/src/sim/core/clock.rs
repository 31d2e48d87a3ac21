//! Slots of a wire against moments, exactly and fast.
//!
//! A moment on a wire is computed from a count of slots, never summed: time(n) = ceil(n / rate), as [`Rate::time`] does
//! in 128 bits. Here both start from a base where slot and femtosecond meet exactly, which moves along with
//! the run, so that 64 bits are enough.

use crate::units::{Frequency, Rate};

/// Slots (bytes) of a wire, since time 0.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Clock {
    /// Femtoseconds per slot: `fs / slots`, in lowest terms.
    fs: u64,
    slots: u64,
    /// The power of two that `slots` are, as those of all widths but x12: then no division is needed.
    shift: Option<u32>,
    /// A slot that begins exactly at `base_fs`.
    base: u64,
    base_fs: u64,
}

impl Clock {
    pub(in crate::sim) fn new(rate: Rate) -> Clock {
        let (fs, slots) = rate.slot_ratio();
        Clock { fs, slots, shift: slots.is_power_of_two().then(|| slots.trailing_zeros()), base: 0, base_fs: 0 }
    }

    /// When slot `n` begins: ceil(n / rate). `n` is not before the base, which follows the latest question.
    #[inline]
    pub(in crate::sim) fn time(&mut self, n: u64) -> u64 {
        if n - self.base > 1 << 20 {
            let periods = (n - self.base) / self.slots;
            self.base += periods * self.slots;
            self.base_fs += periods * self.fs;
        }
        self.base_fs + self.span(n - self.base)
    }

    /// The first slot that begins at `t` or later. A beginning is rounded up: slot `n` begins at the moment that `time`
    /// says, so it is the first whose exact beginning is later than a femtosecond before `t`.
    #[inline]
    pub(in crate::sim) fn slot(&mut self, t: u64) -> u64 {
        self.follow(t);
        let since = t - self.base_fs;
        if since == 0 { self.base } else { self.base + (since - 1) * self.slots / self.fs + 1 }
    }

    fn follow(&mut self, t: u64) {
        if t - self.base_fs > 1 << 40 {
            let periods = (t - self.base_fs) / self.fs;
            self.base += periods * self.slots;
            self.base_fs += periods * self.fs;
        }
    }

    /// How long `n` slots take, rounded down: what goes on at the rate of a wire beside it must not fall behind by the
    /// rounding.
    #[inline]
    pub(in crate::sim) fn span_below(&self, n: u64) -> u64 {
        let top = n * self.fs;
        self.shift.map_or_else(|| top / self.slots, |shift| top >> shift)
    }

    /// How long `n` slots take, at least: ceil(n / rate).
    #[inline]
    pub(in crate::sim) fn span(&self, n: u64) -> u64 {
        let top = n * self.fs;
        self.shift.map_or_else(|| top.div_ceil(self.slots), |shift| (top + self.slots - 1) >> shift)
    }
}

/// The edges of a clock that is no wire's: clock `n` begins at ceil(n / frequency).
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Edges {
    hertz: u64,
}

/// Femtoseconds in a second.
const SECOND_FS: u128 = 1_000_000_000_000_000;

impl Edges {
    pub(in crate::sim) fn new(frequency: Frequency) -> Edges {
        Edges { hertz: frequency.0.max(1) }
    }

    /// When clock `n` begins.
    pub(in crate::sim) fn moment(&self, n: u64) -> u64 {
        (n as u128 * SECOND_FS).div_ceil(self.hertz as u128).min(u64::MAX as u128 >> 1) as u64
    }

    /// The first clock that begins at `t` or later.
    pub(in crate::sim) fn clock(&self, t: u64) -> u64 {
        let n = (t as u128 * self.hertz as u128).div_ceil(SECOND_FS) as u64;
        // A moment is rounded up: the clock before may begin at t too.
        if n > 0 && self.moment(n - 1) >= t { n - 1 } else { n }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::pcie::{Generation, Lanes, Speed};
    use crate::units::{Bytes, Pace, Time};

    #[test]
    fn the_fast_clock_is_the_exact_one() {
        let all = Generation::ALL.into_iter().flat_map(|g| Lanes::WIDTHS.map(|w| (g, w)));
        for (generation, width) in all {
            let rate = Speed::new(generation, Lanes::new(width as u64).expect("a width")).coded();
            let mut clock = Clock::new(rate);
            let mut n = 0_u64;
            for step in [0u64, 1, 7, 84, 280, 4096, 1_000_003, 77_777_777, 1 << 34, 3, 99] {
                n += step;
                assert_eq!(clock.time(n), rate.time(Bytes(n)).fs(), "{generation:?} x{width} slot {n}");
                let begins = clock.time(n);
                assert_eq!(clock.slot(begins), n, "{generation:?} x{width}: slot {n} begins when it begins");
                let t = clock.time(n) + 12_345;
                let slot = Clock::new(rate).slot(t);
                assert_eq!(clock.slot(t), slot);
                assert!(rate.time(Bytes(slot)).fs() >= t && rate.time(Bytes(slot - 1)).fs() < t);
            }
        }
    }

    #[test]
    fn edges_are_where_they_are_after_any_time() {
        for hertz in [1_000u64, 25_000_000, 33_333_333, 999_999_999_999, 7_777_777] {
            let edges = Edges::new(Frequency(hertz));
            let mut n = 0u64;
            for step in [0u64, 1, 2, 12, 1_000, 99_999, 1 << 22] {
                n += step;
                let t = edges.moment(n);
                assert_eq!(t, (n as u128 * 1_000_000_000_000_000).div_ceil(hertz as u128) as u64);
                assert_eq!(edges.clock(t), n, "{hertz} Hz clock {n}");
                assert_eq!(edges.clock(t + 1), n + 1, "{hertz} Hz after clock {n}");
            }
        }
    }

    #[test]
    fn a_pace_of_any_rate_is_exact() {
        for text in ["6.32 GB/s", "85.36 Gb/s", "1 b/s", "1.23456789123 Gb/s", "999999 Tb/s"] {
            let rate = Rate::parse(text).expect("a rate");
            for bytes in [1u64, 64, 4096, 1 << 20] {
                let exact = rate.time(Bytes(bytes)).fs();
                let ours = Pace::new(rate).span(bytes);
                assert!(ours == exact || exact == Time::MAX.fs(), "{text}: {bytes} B, {ours} {exact}");
            }
        }
    }
}
