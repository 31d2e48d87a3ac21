//! One wire on the way of a message: how far apart packets follow on it, and when one may go on.

use crate::estimate::infiniband::credit::Window;
use crate::protocol::infiniband::{FLOW_CONTROL_WIRE, paced_by_credit};

/// One wire on a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// The timeline of what crosses it.
    pub(super) timeline: usize,
    /// fs per byte.
    pub(super) byte: f64,
    /// Of a bit on the cable, fs.
    pub(super) delay: f64,
    /// Bytes until the next part may act, and what it then takes; of the last, all.
    pub(super) head: Option<f64>,
    pub(super) latency: f64,
    /// Bytes behind a packet in which the wire rests.
    pub(super) gap: f64,
    /// Blocks of credit for the buffer at its end; without limit on Ethernet.
    pub(super) credit: Option<u64>,
}

impl Hop {
    /// How long before its end is in a packet that takes `size` on the wire may go on. A faster wire behind a switch
    /// waits: so that it never runs dry, or on Ethernet for the whole frame.
    pub(super) fn lead(&self, next: Option<&Hop>, size: f64, ethernet: bool) -> f64 {
        match (self.head, next) {
            (Some(_), Some(next)) if ethernet && next.byte < self.byte => 0.0,
            (Some(head), Some(next)) => {
                let cut = size - (self.gap + head) * self.byte;
                cut.min(size * (next.byte / self.byte).min(1.0)).max(0.0)
            }
            _ => 0.0,
        }
    }

    /// How far apart packets start at least that take `size` on the wire and are of so many blocks (the largest of all
    /// `largest`), where each takes so long from its start until its place in the buffer is free.
    pub(super) fn paced(&self, size: f64, blocks: u64, largest: u64, until_free: f64) -> f64 {
        let Some(whole) = self.credit else { return size };
        paced_by_credit(whole, largest, blocks, size, until_free + self.back())
    }

    /// How long it takes to tell the sender of room.
    pub(super) fn back(&self) -> f64 {
        FLOW_CONTROL_WIRE as f64 * self.byte + self.delay
    }

    /// How long after the first packet of a train the last full one, and the last, begin at least, by the credit of the
    /// buffer as it is then. Full ones take `size` on the wire, and by credit they are `pace` apart.
    pub(super) fn starts(
        &self,
        n: f64,
        size: f64,
        pace: f64,
        [full, last]: [Place; 2],
        window: Option<Window>,
    ) -> [f64; 2] {
        let (Some(mut window), true) = (window, pace > size) else { return [(n - 2.0) * size, (n - 1.0) * size] };
        let (mut free, round) = (0.0_f64, window.round(full.blocks) as f64);
        let mut next = |place: Place| {
            let begins = free.max(window.take(place.blocks, self.back()));
            window.leaves(begins + place.until_free, place.blocks);
            free = begins + size;
            begins
        };
        // What is left out are whole rounds, so that the last stands in the round where it belongs.
        let far = ((n - 1.0 - FOLLOWED) / round).floor().max(0.0) * round;
        let before = (0..(n - 1.0 - far) as u64).fold(0.0, |_, _| next(full));
        [before + far * pace, next(last) + far * pace]
    }
}

/// A packet's place in the next buffer: its blocks, and how long after its start it is free.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) blocks: u64,
    pub(super) until_free: f64,
}

/// Packets of a message that are followed one by one through a buffer, about: more than any holds; those behind are as
/// far apart as in the long run.
const FOLLOWED: f64 = 512.0;
