//! How fast an engine is by itself: rates, intervals between starts, and what its port loses between TLPs.

use crate::protocol::pcie::{Class, SIZES};
use crate::sim::pcie::wire::Tlp;
use crate::units::Pace;

/// A rate that holds over any longer time.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Gate {
    pub(in crate::sim) pace: Pace,
    /// When all that has passed would be through at that rate.
    pub(super) at: u64,
    /// How far what has passed may be ahead of the rate.
    ahead: u64,
}

impl Gate {
    pub(in crate::sim) fn new(pace: Pace) -> Gate {
        Gate { pace, at: 0, ahead: 0 }
    }

    /// A gate for reads and writes together may be ahead by the largest read request that there is: an engine moves the
    /// data of both side by side, although they are issued one after the other.
    pub(in crate::sim) fn both(self) -> Gate {
        Gate { ahead: self.pace.span(SIZES[5]), ..self }
    }

    /// Lets `bytes` through. What came a little late because the port was busy may catch up by as much as one passage.
    fn pass(&mut self, now: u64, bytes: u64) {
        let span = self.pace.span(bytes);
        self.at = self.at.max(now.saturating_sub(span)).saturating_add(span);
    }

    /// When the next may pass.
    fn opens(&self) -> u64 {
        self.at.saturating_sub(self.ahead)
    }
}

/// At most one start in so long.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Interval {
    pub(in crate::sim) every: u64,
    pub(in crate::sim) at: u64,
}

/// What a requester's port loses between the TLPs of its operations.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Gaps {
    /// After each, and after the last of a transfer.
    pub(in crate::sim) tlp: u64,
    pub(in crate::sim) transfer: u64,
    /// When it turns from read requests to writes, or back.
    pub(in crate::sim) change: u64,
    until: u64,
    /// Whether the last one was a read request.
    read: Option<bool>,
}

impl Gaps {
    fn turn(&self, read: bool) -> u64 {
        if self.read.is_none_or(|last| last == read) { 0 } else { self.change }
    }

    /// From when on the next one may go.
    pub(in crate::sim) fn opens(&self, read: bool) -> u64 {
        self.until.saturating_add(self.turn(read))
    }

    /// Whether there are any.
    fn lose(&self) -> bool {
        self.tlp + self.transfer + self.change > 0
    }

    /// One went at `now`, and its last bit leaves at `end`. Gaps follow the engine's own clock: what the wire adds by
    /// beginning on a whole symbol time is made up for with the next.
    pub(in crate::sim) fn went(&mut self, tlp: &Tlp, now: u64, end: u64) {
        if !self.lose() {
            return;
        }
        let read = tlp.class == Class::NonPosted;
        let transfer = if tlp.last { self.transfer } else { 0 };
        let period = (end - now).saturating_add(self.tlp).saturating_add(transfer);
        self.until = self.opens(read).max(now.saturating_sub(period)).saturating_add(period);
        self.read = Some(read);
    }
}

/// All limits of one engine; most have none of them.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Limits {
    pub(in crate::sim) both: Option<Gate>,
    pub(in crate::sim) read: Option<Gate>,
    pub(in crate::sim) write: Option<Gate>,
    /// What its engines sustain of the link, in bytes of TLPs: completions of its reads, and writes.
    pub(in crate::sim) sustained: [Option<Gate>; 2],
    /// The line of a NIC, packets in and out.
    pub(in crate::sim) line: [Option<Gate>; 2],
    pub(in crate::sim) read_starts: Option<Interval>,
    pub(in crate::sim) write_starts: Option<Interval>,
    /// What its port loses between TLPs.
    pub(in crate::sim) gaps: Gaps,
    /// Whether it has any of them.
    any: bool,
}

impl Limits {
    /// All of them are known.
    pub(in crate::sim) fn complete(&mut self) {
        let Limits { both, read, write, sustained, line, read_starts, write_starts, gaps, .. } = &*self;
        let gates = [both, read, write].into_iter().chain(sustained).chain(line).flatten();
        let starts = [read_starts, write_starts].into_iter().flatten();
        self.any = gates.count() + starts.count() > 0 || gaps.lose();
    }

    /// Whether it has any of them.
    pub(in crate::sim) fn any(&self) -> bool {
        self.any
    }

    /// From when on a TLP may go, but for gaps of its port; `begins`: the first of its operation, `packet`: one of a
    /// NIC's.
    #[inline]
    pub(in crate::sim) fn opens(&self, read: bool, begins: bool, packet: bool) -> u64 {
        if self.any { self.latest(read, begins, packet) } else { 0 }
    }

    fn latest(&self, read: bool, begins: bool, packet: bool) -> u64 {
        let (own, starts) = if read { (&self.read, &self.read_starts) } else { (&self.write, &self.write_starts) };
        let gates = [&self.both, own, &self.sustained[usize::from(!read)]];
        let mut open = gates.into_iter().flatten().fold(0, |at, g| at.max(g.opens()));
        if begins {
            open = open.max(starts.map_or(0, |s| s.at));
            if packet {
                open = open.max(self.line[usize::from(read)].map_or(0, |line| line.opens()));
            }
        }
        open
    }

    /// A TLP of so many bytes, asked for or sent, goes. `sustains` works out what it takes of the link.
    #[inline]
    pub(in crate::sim) fn pass(&mut self, read: bool, bytes: u64, now: u64, sustains: impl FnOnce() -> u64) {
        if !self.any {
            return;
        }
        let own = if read { &mut self.read } else { &mut self.write };
        for gate in [&mut self.both, own].into_iter().flatten() {
            gate.pass(now, bytes);
        }
        if let Some(gate) = &mut self.sustained[usize::from(!read)] {
            gate.pass(now, sustains());
        }
    }

    /// An operation begins; of a NIC's packet: with so many bytes on the line.
    #[inline]
    pub(in crate::sim) fn begin(&mut self, read: bool, packet: Option<u64>, now: u64) {
        if !self.any {
            return;
        }
        if let Some(s) = if read { &mut self.read_starts } else { &mut self.write_starts } {
            s.at = s.at.max(now.saturating_sub(s.every)).saturating_add(s.every);
        }
        if let (Some(line), Some(bytes)) = (&mut self.line[usize::from(read)], packet) {
            line.pass(now, bytes);
        }
    }
}
