//! What a target does with a command: when its data begin to come, and how fast.
//!
//! Both kinds are servers with one queue. When the data of a disk move its heads say.

use crate::plan::storage::{Device as Planned, Heads, Service, Target};
use crate::scenario::quantity::Corner;
use crate::units::Pace;

/// A target's inside.
#[derive(Clone, Debug)]
pub(super) struct Device {
    /// From a command's arrival to its being worked on.
    latency: u64,
    /// What a RAM disk moves.
    pace: Option<Pace>,
    free: u64,
    heads: Option<Heads>,
    /// Time that it has worked or is to work, fs, and when the last of it that is without gaps began.
    busy: u64,
    began: u64,
}

impl Device {
    /// A target, at its place in an array if it is in one.
    pub(super) fn new(target: &Target, place: usize) -> Device {
        match &target.device {
            // What an SSD does is not worked out ahead.
            Planned::Ssd(_) => Device { latency: 0, pace: None, free: 0, heads: None, busy: 0, began: 0 },
            Planned::Ram(k) => Device {
                latency: k.latency.typical.fs(),
                pace: k.rate.as_ref().map(|r| Pace::new(r.typical)),
                free: 0,
                heads: None,
                busy: 0,
                began: 0,
            },
            Planned::Disk(k) => Device {
                latency: k.command_time.typical.fs(),
                pace: None,
                free: 0,
                heads: Some(Heads::new(k, Corner::Typical, place)),
                busy: 0,
                began: 0,
            },
        }
    }

    /// Bytes in a disk's write cache that its media have not taken yet.
    pub(super) fn cached(&self, now: u64) -> u64 {
        self.heads.as_ref().map_or(0, |h| h.cached(now))
    }

    /// A command has arrived.
    pub(super) fn serve(&mut self, read: bool, offset: u64, size: u64, now: u64) -> Service {
        let start = now.saturating_add(self.latency);
        let Some(heads) = &mut self.heads else {
            let Some(pace) = &self.pace else {
                return Service { begin: start, from: start, pace: None, end: start, early: true, several: false };
            };
            let (begin, span) = (start.max(self.free), pace.span(size));
            if begin > self.free {
                self.began = begin;
            }
            self.free = begin.saturating_add(span);
            self.busy = self.busy.saturating_add(span);
            return Service { begin, from: begin, pace: Some(*pace), end: self.free, early: false, several: false };
        };
        let service = heads.serve(read, offset, size, start);
        self.free = heads.free();
        self.busy = self.busy.saturating_add(heads.worked());
        service
    }

    /// Time that it has worked before a moment, fs.
    pub(super) fn worked(&self, now: u64) -> u64 {
        self.busy - self.free.saturating_sub(now.max(self.began)).min(self.busy)
    }
}
