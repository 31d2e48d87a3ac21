//! When operations begin: always (saturating), at their arrivals (open), or when one before is done (closed).
//!
//! Arrivals are worked out when somebody is ready for them, so a load that no one can carry costs no memory.

use crate::sim::core::kernel::NEVER;
use crate::units::Pace;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::VecDeque;

/// No backlog is counted further.
const COUNTED: u64 = 1 << 20;

/// When the next operation of a flow may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Next {
    /// Now; it has waited since.
    Now(u64),
    /// Not before; [`NEVER`] until something else happens.
    At(u64),
}

/// Another operation of a closed load may begin at a moment; in order, for pauses may end before those of earlier ones.
pub(in crate::sim) fn again(moments: &mut VecDeque<u64>, at: u64) {
    let behind = moments.iter().rev().take_while(|a| **a > at).count();
    moments.insert(moments.len() - behind, at);
}

/// What makes operations begin.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Source {
    /// There is always one more, from a moment on.
    Saturating { from: u64 },
    /// So many come a second.
    Open(Arrivals),
    /// One for each that is done. Its first ones begin at one moment.
    Closed { first: u32, from: u64 },
    /// What another side has asked for, in order.
    ExternallyDriven(VecDeque<Transfer>),
}

/// DMA that another side asks for.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Transfer {
    pub(in crate::sim) bytes: u64,
    /// By which it is known to who asked.
    pub(in crate::sim) token: u32,
    /// When it was asked for.
    pub(in crate::sim) born: u64,
    /// Whether it is no data, but what surrounds them.
    pub(in crate::sim) control: bool,
}

impl Source {
    #[inline]
    pub(in crate::sim) fn next(&mut self, now: u64, again: &mut VecDeque<u64>) -> Next {
        match self {
            Source::Saturating { from } if *from > now => Next::At(*from),
            Source::Saturating { .. } => Next::Now(now),
            Source::Open(arrivals) if arrivals.next <= now => {
                let born = arrivals.next;
                arrivals.advance();
                Next::Now(born)
            }
            Source::Open(arrivals) => Next::At(arrivals.next),
            Source::Closed { first: 1.., from } if *from > now => Next::At(*from),
            Source::Closed { first: first @ 1.., from } => {
                *first -= 1;
                Next::Now(*from)
            }
            Source::ExternallyDriven(transfers) => transfers.front().map_or(Next::At(NEVER), |t| Next::Now(t.born)),
            Source::Closed { .. } => match again.front().copied() {
                Some(at) if at <= now => {
                    again.pop_front();
                    Next::Now(at)
                }
                at => Next::At(at.unwrap_or(NEVER)),
            },
        }
    }

    /// Takes the next transfer of another side; of all other sources `None`.
    pub(in crate::sim) fn transfer(&mut self) -> Option<Transfer> {
        match self {
            Source::ExternallyDriven(transfers) => transfers.pop_front(),
            _ => None,
        }
    }

    pub(in crate::sim) fn is_closed(&self) -> bool {
        matches!(self, Source::Closed { .. })
    }

    pub(in crate::sim) fn saturates(&self) -> bool {
        matches!(self, Source::Saturating { .. })
    }

    /// Operations of a closed load that wait for their first turn, since it began.
    pub(in crate::sim) fn unasked(&self) -> (u32, u64) {
        match self {
            Source::Closed { first, from } => (*first, *from),
            _ => (0, 0),
        }
    }

    /// Operations that have arrived by `now` and have not begun.
    pub(in crate::sim) fn backlog(&self, now: u64) -> u64 {
        match self {
            Source::Open(arrivals) => arrivals.due(now),
            _ => 0,
        }
    }
}

/// The arrivals of an open load: evenly spaced, or Poisson.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Arrivals {
    next: u64,
    n: u64,
    bytes: u64,
    pace: Pace,
    random: Option<(Xoshiro256PlusPlus, f64)>,
}

impl Arrivals {
    /// One arrival for each `bytes` at a pace. With random numbers, the gaps are exponential with the same mean.
    pub(in crate::sim) fn new(pace: Pace, bytes: u64, random: Option<Xoshiro256PlusPlus>) -> Arrivals {
        let mean = pace.span(bytes) as f64;
        let mut a = Arrivals { next: 0, n: 0, bytes, pace, random: random.map(|r| (r, mean)) };
        if a.random.is_some() {
            a.advance();
        }
        a
    }

    /// When the next one comes.
    #[inline]
    pub(in crate::sim) fn next(&self) -> u64 {
        self.next
    }

    /// How many have come by `now`, and none of them has been taken.
    pub(in crate::sim) fn due(&self, now: u64) -> u64 {
        let (mut ahead, mut n) = (self.clone(), 0);
        while ahead.next <= now && n < COUNTED {
            ahead.advance();
            n += 1;
        }
        n
    }

    /// The one after it is next.
    pub(in crate::sim) fn advance(&mut self) {
        self.next = match &mut self.random {
            Some((random, mean)) => self.next.saturating_add(exponential(random, *mean)),
            None => {
                self.n += 1;
                self.pace.span(self.n.saturating_mul(self.bytes))
            }
        };
    }
}

/// An exponential variate, by inversion. The logarithm is that of the `libm` crate, the same on every machine.
pub fn exponential(random: &mut impl Rng, mean: f64) -> u64 {
    let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    (-libm::log(uniform) * mean) as u64
}
