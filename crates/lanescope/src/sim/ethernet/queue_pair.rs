//! RoCE's queue pairs, where frames may be lost or overtake one another: packets have numbers, the receiver
//! acknowledges the last of each message and says which one is missing, and the sender sends again (IBA 9.7.5).
//!
//! Go-back-N: the receiver takes packets in their order, drops what comes behind a gap and says so once; the sender
//! goes back to the gap. Selective (Mittal et al., SIGCOMM 2018): the receiver keeps what comes behind a gap and names
//! each packet that is missing. Where neither tells, a time-out does: its time runs while a packet that asks for an
//! acknowledgement has none (IBA 9.7.6.1.3), so not before the last packet of a message has left. Acknowledgements go
//! like all notices before everything else, and are not lost.

use crate::protocol::roce;
use crate::scenario::keys::Retransmission;
use crate::sim::core::kernel::NEVER;
use crate::sim::ethernet::{Arena, Frame, NONE};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Time-outs and negative acknowledgements in a row, without progress, after which verbs would give a queue pair up
/// (retry_cnt, 3 bits: IBA 9.9.2.1.1).
pub(super) const RETRIES: u32 = 7;

/// How queue pairs of a station send again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) kind: Retransmission,
    pub(super) timeout: u64,
    /// Packets that may come before another until it counts as lost, and that may be under way.
    pub(super) reordering: u32,
    pub(super) window: u32,
}

impl Rule {
    /// Of selective receivers, whose window the sender may fill: after so many packets, half of it, they acknowledge
    /// all, too.
    fn acknowledges_halves(&self) -> Option<u32> {
        (self.kind == Retransmission::Selective).then(|| (self.window / 2).max(1))
    }
}

/// A queue pair's packets at the sender.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) rule: Rule,
    /// The first packet that is not acknowledged; the one that is sent next; the next new one.
    base: u32,
    cursor: u32,
    next: u32,
    /// Behind the last packet that asks for an acknowledgement.
    asked: u32,
    /// Selective: those that are to be sent again, and those that the receiver misses.
    missing: BTreeSet<u32>,
    named: BTreeSet<u32>,
    /// The receiver has said of all before this one whether they have come.
    known: u32,
    /// From `base` on.
    kept: VecDeque<Frame>,
    /// When it sends again, if it hears nothing.
    deadline: u64,
    /// Times that it had to, in a row without progress, and the most so far.
    fruitless: u32,
    pub(super) most_fruitless: u32,
    /// Time-outs since time 0.
    pub(super) timeouts: u64,
}

impl Sending {
    pub(super) fn new(rule: Rule) -> Sending {
        Sending {
            rule,
            base: 0,
            cursor: 0,
            next: 0,
            asked: 0,
            missing: BTreeSet::new(),
            named: BTreeSet::new(),
            known: 0,
            kept: VecDeque::new(),
            deadline: NEVER,
            fruitless: 0,
            most_fruitless: 0,
            timeouts: 0,
        }
    }

    /// Bytes of the frame that is to be sent again.
    pub(super) fn again(&self) -> Option<u64> {
        self.number().map(|n| self.kept[(n - self.base) as usize].bytes as u64)
    }

    fn number(&self) -> Option<u32> {
        match self.rule.kind {
            Retransmission::GoBackN => (self.cursor < self.next).then_some(self.cursor),
            Retransmission::Selective => self.missing.first().copied(),
        }
    }

    /// The same, taken: it is sent.
    pub(super) fn take_again(&mut self, now: u64) -> Option<Frame> {
        let number = self.number()?;
        self.missing.remove(&number);
        self.cursor = self.cursor.max(number + 1);
        self.wait_from(now);
        self.kept.get((number - self.base) as usize).copied()
    }

    /// A new packet is sent: it gets its number, and is kept.
    pub(super) fn keep(&mut self, made: &mut Frame, now: u64) {
        made.more = self.next;
        self.next += 1;
        self.cursor = self.next;
        self.kept.push_back(*made);
        let half_window = self.rule.acknowledges_halves().is_some_and(|half| self.next.is_multiple_of(half));
        if made.last || roce::ends_message(made.opcode) || half_window {
            self.asked = self.next;
        }
        if self.deadline == NEVER {
            self.wait_from(now);
        }
    }

    /// Waits for an acknowledgement from now on, if it has asked for one.
    fn wait_from(&mut self, now: u64) {
        self.deadline = if self.asked > self.base { now + self.rule.timeout } else { NEVER };
    }

    /// Packets before this one have come. How many are no longer kept.
    pub(super) fn acked(&mut self, number: u32, now: u64) -> usize {
        let gone = number.saturating_sub(self.base) as usize;
        if gone > 0 {
            self.kept.drain(..gone.min(self.kept.len()));
            self.base = number;
            self.cursor = self.cursor.max(number);
            self.missing = self.missing.split_off(&number);
            self.named = self.named.split_off(&number);
            self.fruitless = 0;
            self.wait_from(now);
        }
        gone
    }

    /// This packet has not come.
    pub(super) fn lost(&mut self, number: u32) {
        if number < self.base || number >= self.next {
            return;
        }
        match self.rule.kind {
            Retransmission::GoBackN => self.cursor = self.base,
            Retransmission::Selective => {
                self.missing.insert(number);
                self.named.insert(number);
                self.known = self.known.max(number + 1);
            }
        }
    }

    /// Whether a new packet may be sent: selective receivers remember so many only.
    pub(super) fn is_open(&self) -> bool {
        self.rule.kind == Retransmission::GoBackN || self.kept.len() < self.rule.window as usize
    }

    pub(super) fn in_vain(&mut self) {
        self.fruitless += 1;
        self.most_fruitless = self.most_fruitless.max(self.fruitless);
    }

    /// What a time-out does, if its time has come.
    pub(super) fn expire(&mut self, now: u64) {
        if now >= self.deadline {
            self.deadline = now + self.rule.timeout;
            self.timeouts += 1;
            self.in_vain();
            let known = self.known.max(self.base);
            self.lost(self.base);
            self.missing.extend(&self.named);
            // Of what was sent behind those nothing is known: all of it counts as lost (RFC 6675, 5.1).
            if self.rule.kind == Retransmission::Selective {
                self.missing.extend(known..self.next);
            }
        }
    }

    /// Packets that are kept.
    pub(super) fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    pub(super) fn deadline(&self) -> u64 {
        self.deadline
    }
}

/// A queue pair's packets at the receiver.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    rule: Rule,
    /// All before have come.
    pub(super) expected: u32,
    /// Go-back-N: the sender was told of the gap. Selective: gaps before this one were told.
    told: bool,
    told_to: u32,
    /// Selective: what came behind a gap.
    early: BTreeMap<u32, u32>,
}

/// What is to be answered to a packet.
pub(super) enum Answer {
    Nothing,
    Ack,
    Naks(Vec<u32>),
}

impl Receiving {
    pub(super) fn new(rule: Rule) -> Receiving {
        Receiving { rule, expected: 0, told: false, told_to: 0, early: BTreeMap::new() }
    }

    /// A packet has come: those that may be taken now go to `taken`, one that is dropped to `dropped`.
    pub(super) fn came(&mut self, id: u32, frames: &Arena, taken: &mut Vec<u32>, dropped: &mut Option<u32>) -> Answer {
        let f = &frames[id];
        let number = f.more;
        if number < self.expected || self.early.contains_key(&number) {
            *dropped = Some(id);
            // Its acknowledgement may be what the sender waits for.
            let tells = f.last || self.rule.kind == Retransmission::Selective;
            return if tells { Answer::Ack } else { Answer::Nothing };
        }
        if number > self.expected {
            if self.rule.kind == Retransmission::GoBackN {
                *dropped = Some(id);
                let first = !std::mem::replace(&mut self.told, true);
                return if first { Answer::Naks(vec![self.expected]) } else { Answer::Nothing };
            }
            self.early.insert(number, id);
            let to = number.saturating_sub(self.rule.reordering);
            let from = self.told_to.max(self.expected);
            self.told_to = self.told_to.max(to);
            let naks: Vec<u32> = (from..to).filter(|n| !self.early.contains_key(n)).collect();
            return if naks.is_empty() { Answer::Nothing } else { Answer::Naks(naks) };
        }
        self.told = false;
        let mut tells = f.last;
        let before = self.expected;
        self.expected += 1;
        taken.push(id);
        while let Some(id) = self.early.remove(&self.expected) {
            tells |= frames[id].last;
            self.expected += 1;
            taken.push(id);
        }
        tells |= self.rule.acknowledges_halves().is_some_and(|half| self.expected / half > before / half);
        if tells { Answer::Ack } else { Answer::Nothing }
    }
}

/// A connection: what is known of it at both ends.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// The station that sends, and its lane there.
    pub(super) from: u32,
    pub(super) lane: u32,
    /// Of a channel adapter's: the program.
    pub(super) run: u16,
    /// Where packets have numbers.
    pub(super) receiving: Option<Box<Receiving>>,
    /// When the last congestion notification was sent.
    pub(super) notified: u64,
    /// Of a channel adapter's, since time 0: frames marked, notifications, frames sent again and dropped.
    pub(super) marks: u64,
    pub(super) cnps: u64,
    pub(super) resent: u64,
    pub(super) dropped: u64,
}

impl Pair {
    pub(super) fn new(from: u32, lane: u32, rule: Option<Rule>) -> Pair {
        let receiving = rule.map(|r| Box::new(Receiving::new(r)));
        Pair { from, lane, run: u16::MAX, receiving, notified: NEVER, marks: 0, cnps: 0, resent: 0, dropped: 0 }
    }

    /// Frames that wait for those before them go to another arena, or are somebody else's.
    pub(super) fn rehouse_early(&mut self, from: &Arena, to: Option<&mut Arena>) {
        let Some(receiving) = &mut self.receiving else { return };
        match to {
            Some(to) => receiving.early.values_mut().for_each(|id| *id = to.put(from[*id])),
            None => receiving.early.clear(),
        }
    }

    /// Frames that wait for those before them.
    pub(super) fn early(&self) -> impl Iterator<Item = u32> + '_ {
        self.receiving.iter().flat_map(|r| r.early.values().copied())
    }
}

impl Frame {
    /// Its connection; [`NONE`] without one.
    #[inline]
    pub(super) fn pair(&self) -> u32 {
        if self.stream == NONE { self.left as u32 } else { self.lane }
    }
}
