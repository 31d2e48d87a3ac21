//! An element that messages of a collective share, as a fluid: evenly, as packets that take turns do.
//!
//! The first and the last packet of a message are not part of it, since what follows waits for them: they stand in the
//! element's queue, behind one packet of each message that shares it.

use super::turns::At;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A message at an element: its number, stage, and leg.
pub(super) type Visit = (u32, u8, u8);

/// The first or last packet of a message in the queue of an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) visit: Visit,
    /// Whether it is the last of its message.
    pub(super) last: bool,
    /// Seconds of it, and of what stands before it of messages that share the element.
    pub(super) own: f64,
    pub(super) before: f64,
}

/// An element: messages that share it, and first and last packets, which go one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    pub(super) now: f64,
    /// What each that is there has been given, and how many there are.
    pub(super) given: f64,
    pub(super) there: f64,
    pub(super) until: BinaryHeap<Reverse<(At, Visit)>>,
    /// Packets that go one behind the other.
    pub(super) line: VecDeque<Packet>,
    /// When the latest of these came.
    pub(super) latest: f64,
    /// Seconds of answers that go before.
    pub(super) answers: f64,
    /// When it is looked at next.
    pub(super) due: f64,
    /// Whether packets stand in a queue here: not where all come one by one through another element as slow.
    pub(super) queues: bool,
}

impl Server {
    /// Lets time pass.
    pub(super) fn advance(&mut self, now: f64) {
        let mut passed = now - self.now;
        self.now = now;
        let paid = self.answers.min(passed);
        self.answers -= paid;
        passed -= paid;
        let share = if self.there > 0.0 { 1.0 / self.there } else { 0.0 };
        match self.line.front_mut() {
            Some(first) => {
                let before = first.before.min(passed);
                if share > 0.0 {
                    first.before -= before;
                    self.given += before * share;
                    passed -= before;
                } else {
                    first.before = 0.0;
                }
                first.own -= passed;
            }
            None => self.given += passed * share,
        }
    }

    /// When something is done next, and whether it is all but the last packet of a message that shares the element.
    pub(super) fn next(&self) -> Option<(f64, bool)> {
        let shared = self.until.peek().map(|Reverse((until, ..))| (until.0 - self.given) * self.there);
        let (work, of_shared) = match (self.line.front(), shared) {
            (Some(first), Some(shared)) if shared < first.before => (shared, true),
            (Some(first), Some(_)) => (first.before + first.own, false),
            (Some(first), None) => (first.own, false),
            (None, Some(shared)) => (shared, true),
            (None, None) => return None,
        };
        Some((self.now + self.answers + work.max(0.0), of_shared))
    }

    /// A message shares the element no longer: nobody in line waits for another packet of it.
    pub(super) fn leave(&mut self, times: f64) {
        let left = (self.there - times).max(0.0);
        self.line.iter_mut().for_each(|packet| packet.before *= left / self.there);
        self.there = left;
    }

    /// A packet stands behind those that are there: of each message that shares the element one (of so many seconds),
    /// which comes again when it has gone, and those in line.
    pub(super) fn queue(&mut self, visit: Visit, last: bool, own: f64, packet: f64) {
        let round = if self.queues { self.there * packet } else { 0.0 };
        let before = if self.line.is_empty() { round } else { round.min(self.now - self.latest) };
        self.latest = self.now;
        self.line.push_back(Packet { visit, last, own, before });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three messages share an element, a packet a second. A first packet that comes waits for one of each and then
    /// goes: it is through after four seconds; in these each of the three has sent one. A second, which comes half a
    /// second after the first, has the first before it and what came again in that time: half a packet of the others.
    #[test]
    fn a_first_packet_waits_for_one_of_each_that_is_there() {
        let far = (At(100.0), (9, 0, 0));
        let mut s = Server { there: 3.0, until: [Reverse(far)].into(), queues: true, ..Server::default() };
        s.queue((0, 0, 0), false, 1.0, 1.0);
        assert_eq!(s.next(), Some((4.0, false)));
        s.advance(0.5);
        s.queue((1, 0, 0), false, 1.0, 1.0);
        s.advance(4.0);
        assert!((s.given - 1.0).abs() < 1e-12 && s.next() == Some((4.0, false)));
        s.line.pop_front();
        assert_eq!(s.next(), Some((5.5, false)));
        s.advance(5.5);
        assert!((s.given - 3.5 / 3.0).abs() < 1e-12);
        s.line.pop_front();
        // Nobody else is there: what comes goes at once.
        let mut alone = Server { now: 5.5, ..Server::default() };
        alone.queue((2, 0, 0), true, 1.0, 1.0);
        assert_eq!(alone.next(), Some((6.5, false)));
    }
}
