//! What a flow of I/Os is on average, and through which queues it goes.

use crate::plan::storage::{HostQueues, IoFlow};
use crate::scenario::keys::WHOLE;

/// What the I/Os of a flow are on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mix {
    /// Bytes of one, replies included.
    pub bytes: f64,
    /// Bytes of it that are read.
    pub read: f64,
    /// Bytes of it that are written.
    pub written: f64,
    /// Bytes of it that are deallocated.
    pub trimmed: f64,
    /// Pause before it, on average, seconds.
    pub delay: f64,
}

impl IoFlow {
    /// Queues at NVMe drives that its I/Os go through: the worker's, or those of the target that it asks.
    pub(crate) fn queues_at_drives(&self) -> impl Iterator<Item = &HostQueues> {
        self.queues.iter().chain(self.remote.iter().map(|r| &r.queues))
    }

    /// What it asks for at its stated rate, bits per second.
    pub(crate) fn wanted(&self) -> Option<f64> {
        self.rate.as_ref().map(|ios| f64::from(ios.typical.get()) * self.mix().bytes * 8.0)
    }

    /// The averages of its lines.
    pub(crate) fn mix(&self) -> Mix {
        let (mut mix, mut burst) = (Mix::default(), 0.0);
        for line in self.lines.iter() {
            let share = line.share as f64 / WHOLE as f64;
            let read = line.read as f64 / WHOLE as f64;
            let (size, reply) = (line.size.f64(), line.reply.f64());
            mix.bytes += share * (size + reply);
            mix.read += share * (read * size + (1.0 - read) * reply);
            let trimmed = share * (1.0 - read) * size * line.trim as f64 / WHOLE as f64;
            mix.trimmed += trimmed;
            mix.written += share * ((1.0 - read) * size + read * reply) - trimmed;
            mix.delay += share * line.delay.seconds();
            burst += share * line.burst as f64;
        }
        // Each burst begins with a draw: the mean pause is for the mean burst.
        mix.delay /= burst;
        mix
    }
}
