//! When messages are born, and for whom.

use crate::plan::ethernet::{Network, Pick, Stream, Traced};
use crate::scenario::keys::{SizeDistribution, StreamLoad};
use crate::scenario::quantity::Quantity;
use crate::sim::core::kernel::NEVER;
use crate::sim::core::source::exponential;
use crate::units::Pace;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;

/// No backlog is counted further.
const COUNTED: u64 = 1 << 20;

/// What makes messages be born.
#[derive(Clone, Debug)]
enum Law {
    /// There is always one more.
    Saturating,
    /// The n-th after n x (mean) size at a pace.
    Even { pace: Pace, size: u64, n: u64 },
    /// At random, so far apart on average.
    Poisson { mean: f64 },
    /// Bursts back to back, and pauses between, fs.
    Bursts { spacing: u64, length: f64, fixed: bool, pause: f64 },
    /// As a text says.
    Trace { list: Arc<[Traced]>, at: usize },
}

/// The messages of one stream, one after the other: the next is always known.
#[derive(Clone, Debug)]
pub(super) struct Source {
    law: Law,
    random: Xoshiro256PlusPlus,
    /// What sizes are drawn from, where they are.
    sizes: Option<Arc<Quantity<SizeDistribution>>>,
    pick: Pick,
    targets: u32,
    /// Messages of the burst that are still to be born.
    left: u64,
    /// When the next message is born; a saturating source's at any time.
    pub(super) born: u64,
    /// Which of the stream's targets it is for.
    pub(super) target: u32,
    /// Its client data.
    pub(super) bytes: u64,
}

impl Source {
    pub(super) fn new(network: &Network, stream: &Stream, random: Xoshiro256PlusPlus) -> Source {
        let size = stream.size.typical.0;
        let pace = |r: crate::units::Rate| Pace::new(r);
        let law = match (&stream.load.typical, stream.offered, &stream.trace) {
            (StreamLoad::Trace(_), _, Some(list)) => Law::Trace { list: list.clone(), at: 0 },
            (StreamLoad::Open { poisson: true, .. }, Some(rate), _) => {
                // A mean of sizes is no whole number of bytes.
                let mean = stream.sizes.as_ref().map_or(1.0, |s| s.typical.mean() / size as f64);
                Law::Poisson { mean: pace(rate).span(size) as f64 * mean }
            }
            (StreamLoad::Open { .. }, Some(rate), _) => Law::Even { pace: pace(rate), size, n: 0 },
            (StreamLoad::Bursts { length, fixed, .. }, Some(rate), _) => {
                let wire = network.link(network.out(stream.source, 0));
                let spacing = network.wire_bytes(stream, size) * wire.rate.typical.byte_fs();
                let period = pace(rate).span(size) as f64 * length;
                // Bursts of more than the link carries are born faster than it sends, without a pause.
                let spacing = spacing.min((period / length) as u64);
                Law::Bursts {
                    spacing,
                    length: *length,
                    fixed: *fixed,
                    pause: (period - length * spacing as f64).max(0.0),
                }
            }
            _ => Law::Saturating,
        };
        let mut source = Source {
            law,
            random,
            sizes: stream.sizes.clone(),
            pick: stream.pick,
            targets: stream.targets.len() as u32,
            left: 0,
            born: 0,
            target: stream.targets.len() as u32 - 1,
            bytes: size,
        };
        match &source.law {
            Law::Even { .. } | Law::Saturating => {
                source.choose();
                source.draw();
            }
            Law::Bursts { pause, .. } => {
                // Stations do not all begin at once.
                source.born = exponential(&mut source.random, *pause);
                source.burst();
            }
            Law::Poisson { .. } | Law::Trace { .. } => source.advance(),
        }
        source
    }

    /// A number below so many, all alike.
    fn below(&mut self, n: u32) -> u32 {
        (((self.random.next_u64() >> 32) * n as u64) >> 32) as u32
    }

    fn choose(&mut self) {
        self.target = match self.pick {
            Pick::One => 0,
            Pick::Random => self.below(self.targets),
            Pick::Turns => (self.target + 1) % self.targets,
        };
    }

    fn burst(&mut self) {
        if let Law::Bursts { length, fixed, .. } = self.law {
            self.left = if fixed {
                // A length that is not whole is met on average.
                let part = (length.fract() * 2f64.powi(32)) as u64;
                length as u64 + u64::from((self.random.next_u64() >> 32) < part)
            } else {
                let stop = (2f64.powi(53) / length) as u64;
                let mut n = 1;
                while length > 1.0 && (self.random.next_u64() >> 11) >= stop {
                    n += 1;
                }
                n
            };
        }
        self.choose();
    }

    /// Goes on to the next message.
    #[inline]
    pub(super) fn advance(&mut self) {
        match &mut self.law {
            Law::Saturating => {}
            Law::Even { pace, size, n } => {
                *n += 1;
                self.born = pace.span(n.saturating_mul(*size));
            }
            Law::Poisson { mean } => self.born = self.born.saturating_add(exponential(&mut self.random, *mean)),
            Law::Bursts { spacing, pause, .. } => {
                self.born = self.born.saturating_add(*spacing);
                self.left -= 1;
                if self.left == 0 {
                    self.born = self.born.saturating_add(exponential(&mut self.random, *pause));
                    self.burst();
                }
                return;
            }
            Law::Trace { list, at } => {
                match list.get(*at) {
                    Some(m) => (self.born, self.target, self.bytes) = (m.at, m.target, m.bytes),
                    None => self.born = NEVER,
                }
                *at += 1;
                return;
            }
        }
        if self.pick != Pick::One {
            self.choose();
        }
        self.draw();
    }

    /// The size of the next message.
    fn draw(&mut self) {
        if let Some(sizes) = &self.sizes {
            self.bytes = sizes.typical.at(((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64);
        }
    }

    /// One that saturates begins at a moment.
    pub(super) fn starts(&mut self, at: u64) {
        if self.saturates() {
            self.born = at;
        }
    }

    pub(super) fn saturates(&self) -> bool {
        matches!(self.law, Law::Saturating)
    }

    /// Messages that are born by `now` and still here.
    pub(super) fn backlog(&self, now: u64) -> u64 {
        if self.saturates() || self.born > now {
            return 0;
        }
        let mut ahead = self.clone();
        let mut n = 0;
        while ahead.born <= now && n < COUNTED {
            ahead.advance();
            n += 1;
        }
        n
    }
}
