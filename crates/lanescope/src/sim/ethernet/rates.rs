//! DCQCN: how fast a source may send to one destination (Zhu et al., Congestion Control for Large-Scale RDMA
//! Deployments, SIGCOMM 2015).
//!
//! A notification cuts the rate by alpha/2 and raises alpha; without notifications alpha falls every K, and the rate
//! rises every T and every B bytes: first halfway back to where it was (fast recovery, F times), then the target itself
//! rises (additive, and hyper when timer and counter are both past F). Timers cost no events: what they would have done
//! is worked out when the source looks.

use crate::protocol::ethernet::LineRate;
use crate::scenario::keys::Station;

const SECOND: f64 = 1e15;

/// The constants of a station's adapter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    gain: f64,
    alpha_timer: u64,
    rate_timer: u64,
    bytes: u64,
    recovery: u32,
    additive: f64,
    hyper: f64,
    least: f64,
    line: f64,
    pub(super) interval: u64,
}

impl Constants {
    pub(super) fn of(k: &Station, line: LineRate) -> Constants {
        Constants {
            gain: 1.0 / k.dcqcn_gain.typical as f64,
            alpha_timer: k.alpha_timer.typical.fs(),
            rate_timer: k.rate_timer.typical.fs(),
            bytes: k.byte_counter.typical.0,
            recovery: k.fast_recovery.typical,
            additive: k.additive_increase.typical.bytes(),
            hyper: k.hyper_increase.typical.bytes(),
            least: k.least_rate.typical.bytes(),
            line: line.rate().bytes(),
            interval: k.cnp_interval.typical.fs(),
        }
    }
}

/// What a source knows of one destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Bytes per second now, and where it wants to be.
    rate: f64,
    target: f64,
    alpha: f64,
    /// When the timers last ran out.
    alpha_at: u64,
    rate_at: u64,
    sent: u64,
    /// How often timer and counter ran out since the last cut.
    timer: u32,
    counter: u32,
    /// Whether it was ever cut: before, it runs at the rate of the line.
    cut: bool,
    /// The next frame may be taken then.
    pub(super) next: u64,
}

impl Limit {
    pub(super) fn new(c: &Constants) -> Limit {
        let (rate, target) = (c.line, c.line);
        Limit { rate, target, alpha: 1.0, alpha_at: 0, rate_at: 0, sent: 0, timer: 0, counter: 0, cut: false, next: 0 }
    }

    fn raise(&mut self, c: &Constants) {
        if self.timer.max(self.counter) > c.recovery {
            let step = if self.timer.min(self.counter) > c.recovery { c.hyper } else { c.additive };
            self.target = (self.target + step).min(c.line);
        }
        self.rate = ((self.rate + self.target) / 2.0).min(c.line);
    }

    /// What the timers have done by now.
    fn follow(&mut self, c: &Constants, now: u64) {
        while now - self.alpha_at >= c.alpha_timer {
            self.alpha *= 1.0 - c.gain;
            self.alpha_at += c.alpha_timer;
            // Below this nobody can tell.
            if self.alpha < 1e-9 {
                self.alpha_at += (now - self.alpha_at) / c.alpha_timer * c.alpha_timer;
            }
        }
        while now - self.rate_at >= c.rate_timer {
            self.rate_at += c.rate_timer;
            self.timer += 1;
            self.raise(c);
            if self.rate >= c.line {
                self.rate_at += (now - self.rate_at) / c.rate_timer * c.rate_timer;
            }
        }
    }

    /// A frame of so many bytes on the wire is taken.
    pub(super) fn take(&mut self, c: &Constants, bytes: u64, now: u64) {
        if self.cut {
            self.follow(c, now);
            self.sent += bytes;
            while self.sent >= c.bytes {
                self.sent -= c.bytes;
                self.counter += 1;
                self.raise(c);
            }
        }
        self.next = self.next.max(now) + (bytes as f64 / self.rate * SECOND) as u64;
    }

    /// A notification has come.
    pub(super) fn notified(&mut self, c: &Constants, now: u64) {
        if self.cut {
            self.follow(c, now);
        }
        self.cut = true;
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(c.least);
        self.alpha = (1.0 - c.gain) * self.alpha + c.gain;
        (self.alpha_at, self.rate_at, self.sent, self.timer, self.counter) = (now, now, 0, 0, 0);
    }

    /// Bytes per second at a moment, if nothing is sent until then.
    pub(super) fn rate_at(mut self, c: &Constants, now: u64) -> f64 {
        if self.cut {
            self.follow(c, now);
        }
        self.rate
    }

    /// Bytes per second now.
    #[cfg(test)]
    fn rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Diagnostics, Span};
    use crate::scenario::tree::Table;
    use crate::units::Rate;

    fn constants() -> Constants {
        let mut d = Diagnostics::default();
        let station = Station::read(&mut d, &Table::default(), Span::default()).expect("defaults");
        Constants::of(&station, LineRate::of(Rate::from_bits(40_000_000_000)).expect("a rate"))
    }

    const US: u64 = 1_000_000_000;

    #[test]
    fn a_first_notification_halves_the_rate_and_recovery_comes_back_halfway_each_time() {
        let c = constants();
        let mut limit = Limit::new(&c);
        limit.notified(&c, 1000 * US);
        assert_eq!(limit.rate(), 2.5e9);
        limit.take(&c, 1538, 1056 * US);
        assert_eq!(limit.rate(), 3.75e9, "one timer");
        limit.take(&c, 1538, (1000 + 3 * 55 + 1) * US);
        assert_eq!(limit.rate(), 5e9 - 2.5e9 / 8.0, "three");
    }

    #[test]
    fn alpha_falls_without_notifications_and_then_a_cut_is_shallow() {
        let c = constants();
        let mut limit = Limit::new(&c);
        limit.notified(&c, 0);
        limit.take(&c, 64, 256 * 55 * US + 1);
        let before = limit.rate();
        limit.notified(&c, 256 * 55 * US + 2);
        // (1 - 1/256)^256 of alpha is left, about 1/e.
        let cut = 1.0 - limit.rate() / before;
        assert!((cut - 0.5 * (-1f64).exp()).abs() < 0.002, "{cut}");
    }

    #[test]
    fn the_pace_is_the_rate() {
        let c = constants();
        let mut limit = Limit::new(&c);
        for _ in 0..10 {
            limit.take(&c, 1000, 0);
        }
        assert_eq!(limit.next, 10 * 200_000_000, "1000 B take 200 ns at 40 Gb/s");
    }
}
