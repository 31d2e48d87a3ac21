//! Read tags: one for each request that is outstanding, and how an engine uses them again.

use crate::result::Idle;
use crate::sim::core::kernel::NEVER;
use std::collections::VecDeque;

/// Read requests that may be outstanding, and when a used one may be used again.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Tags {
    /// Until the first flow says how many.
    None,
    /// Each by itself: how many are free, and when those in turn-around will be.
    Single { free: u64, resting: VecDeque<u64>, turnaround: u64 },
    /// Engine by engine: all tags of one, then its turn-around.
    Batch { engines: Vec<Engine>, tags: u32, turn: usize, turnaround: u64 },
}

/// An engine that issues its tags as a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Engine {
    issued: u32,
    outstanding: u32,
    open_at: u64,
}

impl Tags {
    /// Whether a request may go now: the engine that sends it, or when to ask again.
    pub(super) fn ready(&mut self, now: u64) -> Result<u16, (Idle, u64)> {
        match self {
            Tags::None => Err((Idle::Tags, NEVER)),
            Tags::Single { free, resting, .. } => {
                while resting.front().is_some_and(|at| *at <= now) {
                    resting.pop_front();
                    *free += 1;
                }
                match (*free, resting.front()) {
                    (0, Some(&at)) => Err((Idle::TurnAround, at)),
                    (0, None) => Err((Idle::Tags, NEVER)),
                    _ => Ok(0),
                }
            }
            Tags::Batch { engines, tags, turn, .. } => {
                let n = engines.len();
                let (mut idle, mut wake) = (Idle::Tags, NEVER);
                for k in 0..n {
                    let i = (*turn + k) % n;
                    let e = &engines[i];
                    if e.open_at > now {
                        (idle, wake) = (Idle::TurnAround, wake.min(e.open_at));
                    } else if e.issued < *tags {
                        *turn = i;
                        return Ok(i as u16);
                    }
                }
                Err((idle, wake))
            }
        }
    }

    /// A request goes.
    pub(super) fn take(&mut self, engine: u16) {
        match self {
            Tags::None => {}
            Tags::Single { free, .. } => *free -= 1,
            Tags::Batch { engines, tags, turn, .. } => {
                let e = &mut engines[engine as usize];
                e.issued += 1;
                e.outstanding += 1;
                if e.issued == *tags {
                    *turn = (engine as usize + 1) % engines.len();
                }
            }
        }
    }

    /// A request is done.
    pub(super) fn release(&mut self, engine: u16, now: u64) {
        match self {
            Tags::None => {}
            Tags::Single { free, turnaround: 0, .. } => *free += 1,
            Tags::Single { resting, turnaround, .. } => resting.push_back(now.saturating_add(*turnaround)),
            Tags::Batch { engines, turnaround, .. } => {
                let e = &mut engines[engine as usize];
                e.outstanding -= 1;
                if e.outstanding == 0 {
                    (e.issued, e.open_at) = (0, now.saturating_add(*turnaround));
                }
            }
        }
    }
}
