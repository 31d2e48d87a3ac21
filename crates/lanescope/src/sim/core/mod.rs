//! What belongs to no technology: what happens next, threads, clocks, sources of operations, tallies and
//! their means, circles of what waits, and what a run asks of each technology.

pub(in crate::sim) mod clock;
pub(in crate::sim) mod deadlock;
pub mod kernel;
pub(in crate::sim) mod max_min;
pub(in crate::sim) mod moments;
pub(in crate::sim) mod recorder;
pub(in crate::sim) mod source;
pub(in crate::sim) mod stats;
pub(in crate::sim) mod subsystem;
pub(in crate::sim) mod tally;
pub(in crate::sim) mod threads;
mod tournament;
