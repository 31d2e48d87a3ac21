//! What a station sends: streams at their source, and lanes, one for each connection, in which messages and packets
//! wait for their turn.

use crate::plan::ethernet::Stream;
use crate::protocol::ethernet::{frame, wire};
use crate::protocol::infiniband::{Operation, WORD};
use crate::protocol::roce::opcode;
use crate::sim::ethernet::queue_pair::Sending;
use crate::sim::ethernet::rates::{Constants, Limit};
use crate::sim::ethernet::source::Source;
use crate::sim::ethernet::{Flowing, Frame, Kind};
use std::collections::VecDeque;

/// A stream at its source.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) stream: u32,
    pub(super) source: Source,
    /// Of each target: the station, what decides among equal ways, the class, the lane here.
    pub(super) targets: Vec<Target>,
    /// Data of the largest frame.
    pub(super) payload: u64,
    /// Bytes between Ethernet's header and FCS beside data: of the first frame of a message, and of others; and what
    /// data are padded to, less one.
    pub(super) around: [u64; 2],
    pub(super) pad: u64,
    pub(super) flowing: Flowing,
    /// Of the message that is being sent: its birth, when its first frame left the application, what is left of it, and
    /// for whom.
    pub(super) current: Option<(u64, u64, u64, u32)>,
    /// When it was last served, and as which of its station, for turns among those that always have something: several
    /// are served at one moment where there is room for them.
    pub(super) served: (u64, u64),
}

/// A destination of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) node: u32,
    pub(super) way: u32,
    pub(super) class: u8,
    /// The first of its lanes, how many it has, and how many messages they have been given.
    pub(super) lane: u32,
    pub(super) lanes: u32,
    pub(super) given: u32,
}

/// A message that waits in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) born: u64,
    pub(super) left: u64,
    pub(super) bytes: u64,
    pub(super) sender: u32,
    pub(super) target: u32,
    pub(super) begun: bool,
}

/// What waits for one destination.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) node: u32,
    pub(super) way: u32,
    pub(super) class: u8,
    /// Its number among all lanes of all stations: its connection.
    pub(super) global: u32,
    pub(super) messages: VecDeque<Message>,
    /// A sender that always has something for it, and the number of its target.
    pub(super) endless: Option<(u32, u32)>,
    pub(super) stopped: bool,
    /// With grants, in frames since time 0: what has come, what the destination was told of, what was granted, what was
    /// sent.
    pub(super) come: u64,
    pub(super) told: u64,
    pub(super) granted: u64,
    pub(super) sent: u64,
    pub(super) limit: Option<Limit>,
    pub(super) active: bool,
    /// Packets of a channel adapter.
    pub(super) loads: VecDeque<Frame>,
    /// Where packets have numbers.
    pub(super) sending: Option<Box<Sending>>,
    pub(super) flowing: Flowing,
}

/// What a lane sends next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// A frame that was lost.
    Again,
    /// A packet of a channel adapter.
    Load,
    /// So much data of a message: sender, target.
    Message(u32, u32, u64),
}

impl Lane {
    pub(super) fn new(node: u32, class: u8, global: u32, limit: Option<Limit>) -> Lane {
        Lane {
            node,
            way: 0,
            class,
            global,
            messages: VecDeque::new(),
            endless: None,
            stopped: false,
            come: 0,
            told: 0,
            granted: 0,
            sent: 0,
            limit,
            active: false,
            loads: VecDeque::new(),
            sending: None,
            flowing: Flowing::default(),
        }
    }

    /// What it sends next, and the bytes of that frame.
    pub(super) fn next(&self, senders: &[Sender]) -> Option<(Next, u64)> {
        if let Some(bytes) = self.sending.as_ref().and_then(|s| s.again()) {
            return Some((Next::Again, bytes));
        }
        if self.sending.as_ref().is_some_and(|s| !s.is_open()) {
            return None;
        }
        if let Some(load) = self.loads.front() {
            return Some((Next::Load, load.bytes as u64));
        }
        let (sender, target, left, first) = match (self.messages.front(), self.endless) {
            (Some(m), _) => (m.sender, m.target, m.bytes, !m.begun),
            (None, Some((sender, target))) => (sender, target, senders[sender as usize].source.bytes, true),
            (None, None) => return None,
        };
        let s = &senders[sender as usize];
        let data = left.min(s.payload);
        Some((Next::Message(sender, target, data), s.bytes(data, first)))
    }

    /// Packets that it keeps until they are acknowledged.
    pub(super) fn kept(&self) -> u64 {
        self.sending.as_ref().map_or(0, |s| s.kept())
    }

    /// A frame of so many bytes counts against its rate.
    pub(super) fn pace(&mut self, constants: &Option<Constants>, bytes: u64, now: u64) {
        if let (Some(limit), Some(c)) = (&mut self.limit, constants) {
            limit.take(c, wire(bytes), now);
        }
    }
}

impl Sender {
    pub(super) fn new(stream: u32, source: Source, targets: Vec<Target>, made: &Stream, payload: u64) -> Sender {
        // Of a whole word of data, so that nothing is padding.
        let around = [true, false].map(|first| made.headers(4, first));
        let pad = if made.is_roce() { WORD - 1 } else { 0 };
        let flowing = Flowing::default();
        Sender { stream, source, targets, payload, around, pad, flowing, current: None, served: (0, 0) }
    }

    /// Whether a lane of its station is its own.
    pub(super) fn has(&self, lane: u32) -> bool {
        self.targets.iter().any(|t| (t.lane..t.lane + t.lanes).contains(&lane))
    }

    /// MAC client data of a frame with so much payload; `first`: of its message.
    #[inline]
    fn client(&self, data: u64, first: bool) -> u64 {
        ((data + self.pad) & !self.pad) + self.around[usize::from(!first)]
    }

    /// Bytes of such a frame.
    #[inline]
    pub(super) fn bytes(&self, data: u64, first: bool) -> u64 {
        frame(self.client(data, first))
    }

    /// A frame of so much data for one of its targets.
    #[inline(always)]
    pub(super) fn frame(&self, t: Target, data: u64, first: bool, last: bool) -> Frame {
        let client = self.client(data, first);
        let plain = Frame::new(Kind::Data, frame(client), t.node, t.way, t.lane);
        let headers = (client - data) as u8;
        let opcode = if self.pad > 0 { opcode(Operation::Write, first, last) } else { plain.opcode };
        Frame { stream: self.stream, data: data as u16, class: t.class, headers, last, opcode, ..plain }
    }
}
