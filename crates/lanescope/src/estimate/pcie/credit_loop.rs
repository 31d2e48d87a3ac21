//! A buffer whose credits only one flow takes, followed TLP by TLP: TLPs enter in order, each when there are credits
//! for all of it, and credits come back by UpdateFCs, which wait for one another (6.0, 2.6.1.2).
//!
//! Means say too much here: one that finds too few credits leaves what there are to nobody else, and the last of an
//! operation may free too few for an UpdateFC to go at once.
//!
//! On a link that was idle, a packet begins with a symbol time, on the first lane (3.0, 4.2.2.3.2), which is some per
//! cent where one TLP waits for the other.
//!
//! Not in it: what else is on the wire.

use std::collections::VecDeque;

/// TLPs that are followed, and the part of them after which they count.
const FOLLOWED: usize = 768;
const BEGUN: usize = 256;

/// Operations of a closed load that are followed; the second half of them counts.
const OPERATIONS: u32 = 16;

/// A buffer with room for so many of its largest TLPs is not followed: means say enough.
const ROOMY: f64 = 64.0;

/// TLPs of an operation that are alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct CreditedTlp {
    /// How many there are of them in an operation, in the mean.
    pub(super) each: f64,
    /// Bytes of data of one, and its data credits.
    pub(super) bytes: f64,
    pub(super) data: f64,
    /// Seconds of one on the wire.
    pub(super) wire: f64,
    /// Seconds from its first bit until it has left the buffer.
    pub(super) inside: f64,
}

/// A buffer, and how its receiver says what is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct CreditLoop {
    /// Header and data credits; infinite ones count as such.
    pub(super) room: [f64; 2],
    /// TLPs that one UpdateFC tells of; `None` where credits are back at once.
    pub(super) every: Option<u32>,
    /// Seconds that one waits at most.
    pub(super) limit: f64,
    /// Seconds of one on its way, and of the Acks that are due with it and go before it, in the mean.
    pub(super) back: f64,
    pub(super) ack: f64,
    /// Seconds of a symbol time of the link, with which packets begin where it was idle.
    pub(super) symbol: f64,
    /// Seconds for each byte of a memory behind the buffer, which takes in one TLP after the other.
    pub(super) memory: f64,
}

/// What the receiver has not told yet.
#[derive(Default)]
struct Freed {
    count: u32,
    credits: [f64; 2],
    deadline: f64,
}

impl CreditLoop {
    /// When a packet begins on a link that is idle from a moment on.
    fn begin(&self, at: f64) -> f64 {
        if self.symbol > 0.0 { (at / self.symbol - 1e-6).ceil() * self.symbol } else { at }
    }

    /// Seconds that an operation of such TLPs takes, in their order; `None` where there is room for many.
    pub(super) fn operation(&self, tlps: &[CreditedTlp]) -> Option<f64> {
        if self.is_roomy(tlps) {
            return None;
        }
        let mut line = Line::new(self);
        let mut owed = vec![0.0; tlps.len()];
        let (mut begun, mut operations) = (None, 0_u64);
        // Of very many the others come as the first.
        let longer = (tlps.iter().map(|t| t.each).sum::<f64>() / BEGUN as f64).max(1.0);
        loop {
            for (tlp, owed) in tlps.iter().zip(&mut owed) {
                *owed += tlp.each / longer;
                while *owed >= 1.0 - 1e-9 {
                    *owed -= 1.0;
                    line.send(tlp)?;
                }
            }
            operations += 1;
            match begun {
                None if line.sent >= BEGUN => begun = Some((operations, line.now)),
                Some((before, then)) if line.sent >= FOLLOWED => {
                    return Some((line.now - then) / (operations - before) as f64 * longer);
                }
                // Of what comes once in very many operations nothing waits.
                None if operations > 64 * FOLLOWED as u64 => return None,
                _ => {}
            }
        }
    }

    /// Seconds from the first bit of an operation of such TLPs until its last one begins, in the mean over operations
    /// each of which begins so long after the last one of the one before has begun: with what that has left untold.
    /// `None` where there is room for many.
    pub(super) fn last_begins(&self, tlps: &[CreditedTlp], after: f64) -> Option<f64> {
        if self.is_roomy(tlps) {
            return None;
        }
        let mut line = Line::new(self);
        let longer = (tlps.iter().map(|t| t.each).sum::<f64>() / FOLLOWED as f64).max(1.0);
        let (mut sum, mut begins) = (0.0, 0.0_f64);
        for operation in 0..OPERATIONS {
            line.now = self.begin(line.now.max(begins));
            let (first, mut last) = (line.now, line.now);
            for tlp in tlps {
                for _ in 0..(tlp.each / longer).ceil() as u64 {
                    last = line.send(tlp)?;
                }
            }
            if operation >= OPERATIONS / 2 {
                sum += last - first;
            }
            begins = last + after;
        }
        Some(sum / (OPERATIONS - OPERATIONS / 2) as f64 * longer)
    }

    /// What no run is slower to give: UpdateFCs wait for nothing, and packets for no symbol time.
    pub(super) fn at_least(&self) -> CreditLoop {
        CreditLoop { every: self.every.map(|_| 1), symbol: 0.0, ack: 0.0, ..*self }
    }

    fn is_roomy(&self, tlps: &[CreditedTlp]) -> bool {
        let largest = tlps.iter().map(|t| t.data).fold(0.0, f64::max);
        tlps.is_empty() || self.room[0] > ROOMY && self.room[1] > ROOMY * largest
    }
}

/// TLPs in the buffer or on their way to it, and UpdateFCs on their way back.
struct Line<'a> {
    of: &'a CreditLoop,
    /// When the next may begin at the earliest, how many have, and what is left of the credits.
    now: f64,
    sent: usize,
    left: [f64; 2],
    /// When the memory is free.
    memory: f64,
    freed: Freed,
    inside: VecDeque<(f64, [f64; 2])>,
    told: VecDeque<(f64, [f64; 2])>,
}

impl<'a> Line<'a> {
    fn new(of: &'a CreditLoop) -> Line<'a> {
        let (inside, told) = (VecDeque::new(), VecDeque::new());
        Line { of, now: 0.0, sent: 0, left: of.room, memory: 0.0, freed: Freed::default(), inside, told }
    }

    /// Sends one: when it begins, with what it waits for the memory then added. `None` where it never may.
    fn send(&mut self, tlp: &CreditedTlp) -> Option<f64> {
        let needs = [1.0, tlp.data];
        while (0..2).any(|i| self.left[i] < needs[i]) {
            let (at, credits) = self.next()?;
            if at > self.now {
                self.now = self.of.begin(at);
            }
            (0..2).for_each(|i| self.left[i] += credits[i]);
        }
        (0..2).for_each(|i| self.left[i] -= needs[i]);
        let begins = self.now;
        self.memory = self.memory.max(begins + tlp.inside);
        let taken = self.memory;
        self.inside.push_back((taken, needs));
        self.memory += tlp.bytes * self.of.memory;
        self.now += tlp.wire;
        self.sent += 1;
        Some(taken - tlp.inside)
    }

    /// The next credits that come back, and when; `None` where none ever do.
    fn next(&mut self) -> Option<(f64, [f64; 2])> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Some(told);
            }
            match self.inside.front().copied() {
                Some((at, credits)) if self.freed.count == 0 || at <= self.freed.deadline => {
                    self.inside.pop_front();
                    self.free(at, credits);
                }
                _ if self.freed.count > 0 => self.tell(self.freed.deadline),
                _ => return None,
            }
        }
    }

    fn free(&mut self, at: f64, credits: [f64; 2]) {
        let Some(every) = self.of.every else {
            self.told.push_back((at + self.of.back, credits));
            return;
        };
        let f = &mut self.freed;
        f.count += 1;
        (0..2).for_each(|i| f.credits[i] += credits[i]);
        let due = |i: usize| f.credits[i] >= (self.of.room[i] / 2.0).floor().max(1.0);
        if f.count >= every || due(0) || due(1) {
            self.tell(at);
        } else if f.count == 1 {
            f.deadline = at + self.of.limit;
        }
    }

    fn tell(&mut self, at: f64) {
        let Freed { credits, .. } = std::mem::take(&mut self.freed);
        self.told.push_back((self.of.begin(at) + self.of.ack + self.of.back, credits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many data credits, and TLPs of an UpdateFC, which waits for 1 us at most and takes 20 ns.
    fn buffer(data: f64, every: u32) -> CreditLoop {
        let room = [f64::INFINITY, data];
        CreditLoop { room, every: Some(every), limit: 1e-6, back: 20e-9, ack: 0.0, symbol: 0.0, memory: 0.0 }
    }

    /// A buffer of 48 credits holds one TLP of 32: each waits for the one before, 100 ns out and 20 ns back.
    #[test]
    fn one_at_a_time() {
        let of = buffer(48.0, 1);
        let tlp = CreditedTlp { each: 4.0, bytes: 512.0, data: 32.0, wire: 10e-9, inside: 100e-9 };
        let takes = of.operation(&[tlp]).unwrap_or_default();
        assert!((takes - 480e-9).abs() < 1e-12, "{takes}");
    }

    /// However many there are, few are followed.
    #[test]
    fn very_many_end() {
        let of = buffer(48.0, 4);
        let tlp = CreditedTlp { each: 1e17, bytes: 512.0, data: 32.0, wire: 10e-9, inside: 100e-9 };
        let rest = CreditedTlp { each: 1.0, ..tlp };
        for takes in [of.operation(&[tlp, rest]), of.last_begins(&[tlp, rest], 1e-6)] {
            let each = takes.unwrap_or_default() / 1e17;
            assert!((each / 120e-9 - 1.0).abs() < 0.02, "{each}");
        }
    }

    /// The last of an operation frees less than half: its UpdateFC waits for the limit, and the next operation for it.
    #[test]
    fn what_is_freed_last_is_told_late() {
        let of = buffer(20.0, 8);
        let whole = CreditedTlp { each: 1.0, bytes: 256.0, data: 16.0, wire: 10e-9, inside: 100e-9 };
        let rest = CreditedTlp { each: 1.0, bytes: 112.0, data: 7.0, wire: 10e-9, inside: 100e-9 };
        // The whole one: 120 ns until the rest may go; that: 100 ns, the limit and 20 ns until the next may.
        let takes = of.operation(&[whole, rest]).unwrap_or_default();
        assert!((takes - 1.24e-6).abs() < 1e-12, "{takes}");
    }
}
