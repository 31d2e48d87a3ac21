//! What instruments of storage and of networks count: I/Os, bytes and times of each worker at each target, by
//! direction.
//!
//! These are the raw counts behind Iometer's 34 statistics and fio's JSON; only I/Os that began after the ramp are in
//! them, as in both instruments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Upper edges of the latency bins that Iometer 1.1.0 prints, s: an I/O is in the first bin whose edge it does not
/// reach; the last bin has none.
pub const BIN_EDGES: [f64; 20] = [
    50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 15e-3, 20e-3, 30e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1.0,
    2.0, 4.0, 5.0, 10.0,
];

/// Times of something that was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum, s.
    pub sum: f64,
    /// The sum of their squares, s².
    pub squares: f64,
    /// The shortest, s; 0 without any.
    pub min: f64,
    /// The longest, s; 0 without any.
    pub max: f64,
}

/// I/Os of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoSide {
    /// Bytes of those that are done.
    pub bytes: u64,
    /// From the call of the worker to its return: Iometer's response time, fio's `clat`.
    pub times: Times,
    /// Before the call: what they waited for the worker's processor, from the moment at which the program wanted them.
    /// fio's `slat`.
    #[serde(default)]
    pub waits: Times,
    /// Both together, fio's `lat`: I/Os a second times its mean are the I/Os outstanding (Little's law).
    #[serde(default)]
    pub whole: Times,
}

/// What one worker did at one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoCounts {
    /// The flow: `io.3`.
    pub flow: String,
    /// Its worker, by number: several flows of one worker share a processor.
    pub worker: u32,
    /// What it works on: `drive.0`, or of a network the other end.
    pub target: String,
    /// What was read.
    pub reads: IoSide,
    /// What was written.
    pub writes: IoSide,
    /// What was deallocated.
    #[serde(default)]
    pub trims: IoSide,
    /// Transactions: an I/O and its reply, or an I/O without one.
    pub transactions: Times,
    /// Connections that were opened, used and closed; none of disks.
    pub connections: Times,
    /// I/Os of all kinds by latency, between [`BIN_EDGES`].
    pub bins: [u64; 21],
    /// Bytes that have come to their place in the time, with those of I/Os that began before it or have not ended.
    #[serde(default)]
    pub moved: u64,
}

/// All that an instrument may ask for at a moment: cumulative since the counting began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoSeen {
    /// How long was counted, s.
    pub time: f64,
    /// One for each worker and target, in the order of the plan's flows.
    pub counts: Vec<IoCounts>,
    /// Of each worker, from that of the first of `counts` to that of the last: time that its processor has worked, s.
    pub busy: Vec<f64>,
}

impl IoSeen {
    /// The part of all bytes read and written that was written; 0 of none.
    pub(crate) fn written(&self) -> f64 {
        let [reads, writes] = [|c: &IoCounts| c.reads.bytes, |c: &IoCounts| c.writes.bytes]
            .map(|of| self.counts.iter().map(of).sum::<u64>() as f64);
        writes / (reads + writes).max(1.0)
    }

    /// Time that the processor of a worker has worked, s; 0 of one that is not in it.
    pub fn busy_of(&self, worker: u32) -> f64 {
        let first = self.counts.first().map_or(0, |c| c.worker);
        worker.checked_sub(first).and_then(|i| self.busy.get(i as usize)).copied().unwrap_or(0.0)
    }
}

/// Latencies of one direction of a flow group: (at most this many ns, how many I/Os), ascending; bins are at most 1/128
/// of their value wide, or 1 ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies(pub Vec<(u64, u64)>);

/// How long I/Os took that have so many bytes, s: of the time in which they were counted as large a part as their bytes
/// are of all that moved in it.
///
/// I/Os under way at either end are not counted; in a minute that does not show, but a run that ends as soon as its
/// means are known would give rates some per
/// cent too low.
pub fn lasted(time: f64, counted: u64, moved: u64) -> f64 {
    match counted > 0 && moved > counted {
        true => time * (counted as f64 / moved as f64),
        false => time,
    }
}

impl IoCounts {
    /// All I/Os.
    pub fn ios(&self) -> u64 {
        self.reads.times.count + self.writes.times.count + self.trims.times.count
    }
}

impl Times {
    /// The mean, s; 0 without any.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The same with those of another.
    pub fn plus(&self, other: &Times) -> Times {
        let min = match (self.count, other.count) {
            (0, _) => other.min,
            (_, 0) => self.min,
            _ => self.min.min(other.min),
        };
        Times {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
            min,
            max: self.max.max(other.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_takes_its_share_of_the_time() {
        // 400 of 500 bytes took 4/5 of 2 s; what nobody has counted, or moved beside, is no reason.
        assert_eq!([lasted(2.0, 400, 500), lasted(2.0, 0, 500), lasted(2.0, 400, 0)], [1.6, 2.0, 2.0]);
    }

    #[test]
    fn times_add_up() {
        let one = Times { count: 2, sum: 3.0, squares: 5.0, min: 1.0, max: 2.0 };
        assert_eq!(one.plus(&Times::default()), one);
        let both = one.plus(&Times { count: 1, sum: 0.5, squares: 0.25, min: 0.5, max: 0.5 });
        assert_eq!((both.count, both.min, both.max), (3, 0.5, 2.0));
        assert!((both.mean() - 3.5 / 3.0).abs() < 1e-12);
    }
}
