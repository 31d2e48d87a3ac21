//! One direction of an InfiniBand link: queues by virtual lane, credit for the far end's buffer, and the packets on
//! their way.
//!
//! A packet is sent when the receiver's buffer of its lane has room for it (IBA 1.2, 7.9: blocks of 64 B). The port
//! that begins to send announces the packet to the far end at once. A buffer's blocks are free when the last byte has
//! left it; the receiver says so in flow-control packets, which go between packets of the way back and are
//! booked there without an event. Until blocks worth a quarter of the buffer are free it says nothing, unless the rest
//! would hold no packet.

use crate::protocol::infiniband::{FLOW_CONTROL_WIRE, blocks_told, buffer_blocks};
use crate::result::{Idle, SlotCounts};
use crate::sim::core::clock::Clock;
use crate::sim::core::kernel::NEVER;
use std::collections::VecDeque;

pub(in crate::sim) const NONE: u32 = u32::MAX;

/// A packet, at its place in the arena.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Packet {
    /// When the part at the end of its wire may act on it.
    pub(in crate::sim) at: u64,
    pub(in crate::sim) next: u32,
    /// The wire out of the switch that it is on its way to, and what decides further choices.
    pub(in crate::sim) out: u32,
    pub(in crate::sim) way: u32,
    /// The endpoint that it is for.
    pub(in crate::sim) to: u32,
    pub(in crate::sim) message: u32,
    /// Bytes that it takes of a wire, and data among them.
    pub(in crate::sim) bytes: u32,
    pub(in crate::sim) payload: u32,
    /// The wire whose buffer holds it.
    pub(in crate::sim) held: u32,
    pub(in crate::sim) blocks: u16,
    pub(in crate::sim) lane: u8,
    pub(in crate::sim) ack: bool,
    /// Of an adapter's own: whether its data have come from host memory.
    pub(in crate::sim) ready: bool,
    /// What it would say on Ethernet.
    pub(in crate::sim) opcode: u8,
}

/// All packets.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Arena {
    pub(in crate::sim) all: Vec<Packet>,
    free: u32,
    pub(in crate::sim) used: usize,
}

impl Arena {
    pub(in crate::sim) fn new() -> Arena {
        Arena { all: Vec::new(), free: NONE, used: 0 }
    }

    #[inline]
    pub(in crate::sim) fn put(&mut self, packet: Packet) -> u32 {
        self.used += 1;
        if self.free == NONE {
            self.all.push(packet);
            return self.all.len() as u32 - 1;
        }
        let id = self.free;
        self.free = std::mem::replace(&mut self.all[id as usize], packet).next;
        id
    }

    #[inline]
    pub(in crate::sim) fn drop(&mut self, id: u32) {
        self.used -= 1;
        self.all[id as usize].next = self.free;
        self.free = id;
    }
}

/// A queue through the arena.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct List {
    pub(in crate::sim) first: u32,
    last: u32,
}

impl List {
    pub(in crate::sim) const EMPTY: List = List { first: NONE, last: NONE };

    #[inline]
    pub(in crate::sim) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Puts a packet last; whether it is the first, too.
    #[inline]
    pub(in crate::sim) fn push(&mut self, id: u32, packets: &mut Arena) -> bool {
        packets.all[id as usize].next = NONE;
        let was_empty = self.is_empty();
        if was_empty {
            self.first = id;
        } else {
            packets.all[self.last as usize].next = id;
        }
        self.last = id;
        was_empty
    }

    /// Puts a packet first.
    pub(in crate::sim) fn push_front(&mut self, id: u32, packets: &mut Arena) {
        packets.all[id as usize].next = self.first;
        if self.is_empty() {
            self.last = id;
        }
        self.first = id;
    }

    #[inline]
    pub(in crate::sim) fn pop(&mut self, packets: &Arena) -> Option<u32> {
        let id = self.first;
        if id == NONE {
            return None;
        }
        self.first = packets.all[id as usize].next;
        Some(id)
    }

    fn iter<'a>(&self, packets: &'a Arena) -> impl Iterator<Item = &'a Packet> + use<'a> {
        let at = |id: u32| packets.all.get(id as usize);
        std::iter::successors(at(self.first), move |p| at(p.next))
    }
}

/// One virtual lane of a wire.
#[derive(Clone, Copy, Debug)]
struct Lane {
    queue: List,
    /// Blocks that the sender may use.
    credit: u32,
    /// Blocks of the receiver's buffer, those that are free again without the sender's being told, and from how many on
    /// he is.
    whole: u32,
    freed: u32,
    credit_step: u32,
}

/// Why a wire is idle; an index of its accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Why {
    Nothing,
    /// An adapter waits for data from host memory.
    Host,
    Credit,
}

const WHY: [Idle; 3] = [Idle::NothingToSend, Idle::Host, Idle::LaneCredits];

/// A wire.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Wire {
    clock: Clock,
    delay: u64,
    /// The first slot that is not booked, and when it begins.
    booked: u64,
    pub(in crate::sim) free: u64,
    pub(in crate::sim) why: Why,
    /// Slots of the agenda: arrivals at the far end, the transmitter here.
    pub(in crate::sim) arrive: u32,
    pub(in crate::sim) tx: u32,
    /// The nodes at both ends; of the far end its number among the switches, or [`NONE`].
    pub(in crate::sim) from: u32,
    pub(in crate::sim) to: u32,
    pub(in crate::sim) to_switch: u32,
    /// From a header's last byte to the first out of the switch at the far end.
    latency: u64,
    pub(in crate::sim) flight: List,
    lanes: Vec<Lane>,
    turn: u8,
    /// Packets that wait.
    pub(in crate::sim) waiting: u32,
    /// Since when its head has had no credit.
    pub(in crate::sim) starved: u64,
    /// Flow-control packets on their way here: when, lane, blocks.
    returning: VecDeque<(u64, u8, u32)>,
    /// What is being sent came in by this wire, whose buffer it leaves.
    leaving: (u32, u8, u16),
    pub(in crate::sim) counts: SlotCounts,
}

/// Bytes until a switch knows where a packet goes: the start delimiter and LRH.
const HEAD: u64 = crate::protocol::infiniband::START + crate::protocol::infiniband::LRH;

impl Wire {
    /// A wire at a rate, to a buffer of so many bytes for each lane; the largest packet takes so many blocks.
    pub(in crate::sim) fn new(clock: Clock, delay: u64, latency: u64, lanes: u32, buffer: u64, most: u64) -> Wire {
        let whole = buffer_blocks(buffer) as u32;
        let credit_step = blocks_told(whole as u64, most) as u32;
        Wire {
            clock,
            delay,
            booked: 0,
            free: 0,
            why: Why::Nothing,
            arrive: NONE,
            tx: NONE,
            from: NONE,
            to: NONE,
            to_switch: NONE,
            latency,
            flight: List::EMPTY,
            lanes: vec![Lane { queue: List::EMPTY, credit: whole, whole, freed: 0, credit_step }; lanes as usize],
            turn: 0,
            waiting: 0,
            starved: NEVER,
            returning: VecDeque::new(),
            leaving: (NONE, 0, 0),
            counts: SlotCounts::default(),
        }
    }

    /// How long so many bytes take.
    pub(in crate::sim) fn span(&self, bytes: u64) -> u64 {
        self.clock.span(bytes)
    }

    #[inline]
    pub(in crate::sim) fn queue(&mut self, id: u32, packets: &mut Arena) {
        let lane = packets.all[id as usize].lane as usize;
        self.lanes[lane].queue.push(id, packets);
        self.waiting += 1;
    }

    /// The same before all others of its lane: an adapter's acknowledgements.
    pub(in crate::sim) fn queue_first(&mut self, id: u32, packets: &mut Arena) {
        let lane = packets.all[id as usize].lane as usize;
        self.lanes[lane].queue.push_front(id, packets);
        self.waiting += 1;
    }

    /// The packet that goes now, taken from its queue; else when to look again.
    #[inline]
    pub(in crate::sim) fn choose(&mut self, now: u64, packets: &Arena) -> Result<u32, u64> {
        while let Some(&(at, lane, blocks)) = self.returning.front() {
            if at > now {
                break;
            }
            let l = &mut self.lanes[lane as usize];
            l.credit += blocks;
            debug_assert!(l.credit <= l.whole, "no more than the buffer holds");
            self.returning.pop_front();
        }
        let n = self.lanes.len();
        for i in 0..n {
            let index = (self.turn as usize + i) % n;
            let lane = &mut self.lanes[index];
            let id = lane.queue.first;
            if id == NONE {
                continue;
            }
            let blocks = packets.all[id as usize].blocks as u32;
            if lane.credit < blocks {
                continue;
            }
            lane.credit -= blocks;
            lane.queue.pop(packets);
            self.waiting -= 1;
            self.starved = NEVER;
            if n > 1 {
                self.turn = ((index + 1) % n) as u8;
            }
            return Ok(id);
        }
        if self.starved == NEVER {
            self.starved = now;
        }
        Err(self.returning.front().map_or(NEVER, |r| r.0))
    }

    /// Books a packet; it may begin now. Gives the moments of its header's and its last byte at the far end, and of its
    /// last byte here.
    #[inline]
    pub(in crate::sim) fn send(&mut self, packet: &Packet, now: u64) -> (u64, u64) {
        let start = self.begin(now);
        let end = start + packet.bytes as u64;
        let head = self.clock.time(start + HEAD) + self.delay;
        self.booked = end;
        self.free = self.clock.time(end);
        self.why = Why::Nothing;
        self.leaving = (packet.held, packet.lane, packet.blocks);
        let c = &mut self.counts;
        c.tlps += 1;
        if packet.ack {
            c.acks += packet.bytes as u64;
        } else {
            c.payload += packet.payload as u64;
            c.framing += (packet.bytes - packet.payload) as u64;
            c.data_tlps += 1;
        }
        (head, self.free + self.delay)
    }

    /// When a switch lets a packet go on a wire that needs so long for it, whose header and last byte have come when.
    #[inline]
    pub(in crate::sim) fn forwards(&self, head: u64, tail: u64, onward: u64, own: u64) -> u64 {
        // A faster wire waits, so that it never runs dry.
        let ahead = if onward < own { (tail - onward).max(head) } else { head };
        ahead + self.latency
    }

    /// When what was booked last began and ends here, if it is of so many bytes.
    pub(in crate::sim) fn last(&self, bytes: u64) -> (u64, u64) {
        (self.free - self.clock.span_below(bytes), self.free)
    }

    /// Blocks of credit that the sender has of a lane at the beginning.
    pub(in crate::sim) fn wholes(&self) -> impl Iterator<Item = u32> {
        self.lanes.iter().map(|l| l.whole)
    }

    /// What left with the packet before: the wire whose buffer it was in, its lane and blocks.
    #[inline]
    pub(in crate::sim) fn left(&mut self) -> Option<(u32, u8, u16)> {
        let gone = std::mem::replace(&mut self.leaving, (NONE, 0, 0));
        (gone.0 != NONE).then_some(gone)
    }

    /// Blocks of the buffer at the far end are free. Whether the sender is to be told.
    #[inline]
    pub(in crate::sim) fn release(&mut self, lane: u8, blocks: u16) -> Option<u32> {
        let l = &mut self.lanes[lane as usize];
        l.freed += blocks as u32;
        (l.freed >= l.credit_step).then(|| std::mem::take(&mut l.freed))
    }

    /// A flow-control packet goes out on this wire as soon as it can. When it has come.
    pub(in crate::sim) fn send_credit(&mut self, now: u64) -> u64 {
        let start = self.begin(now);
        self.booked = start + FLOW_CONTROL_WIRE;
        self.free = self.clock.time(self.booked);
        self.counts.update_fc += FLOW_CONTROL_WIRE;
        self.counts.controls += 1;
        self.free + self.delay
    }

    /// It will come with blocks for a lane. Whether somebody waits for them.
    pub(in crate::sim) fn credit_sent(&mut self, at: u64, lane: u8, blocks: u32) -> bool {
        self.returning.push_back((at, lane, blocks));
        self.starved != NEVER
    }

    /// The first slot for what begins now; idle ones before it are written down.
    #[inline]
    fn begin(&mut self, now: u64) -> u64 {
        if now > self.free {
            self.rest(now);
        }
        self.booked
    }

    fn rest(&mut self, now: u64) {
        let slot = self.clock.slot(now);
        if slot > self.booked {
            self.counts.idle[WHY[self.why as usize] as usize] += slot - self.booked;
            self.booked = slot;
        }
    }

    /// It is idle from now on for this reason.
    #[inline]
    pub(in crate::sim) fn idles(&mut self, now: u64, why: Why) {
        if self.why != why {
            if now > self.free {
                self.rest(now);
            }
            self.why = why;
        }
    }

    /// Writes idle slots down that are over.
    pub(in crate::sim) fn settle(&mut self, now: u64) {
        if now > self.free {
            let slot = self.clock.slot(now);
            // The slot that now lies in is not over.
            let over = if self.clock.time(slot) > now { slot - 1 } else { slot };
            if over > self.booked {
                self.counts.idle[WHY[self.why as usize] as usize] += over - self.booked;
                self.booked = over;
            }
        }
    }

    /// Packets that wait or are on their way, with their payload.
    pub(in crate::sim) fn held(&self, packets: &Arena) -> (usize, u64) {
        let lists = self.lanes.iter().map(|l| l.queue).chain([self.flight]);
        lists.flat_map(|l| l.iter(packets)).fold((0, 0), |(n, bytes), p| (n + 1, bytes + p.payload as u64))
    }

    /// The wires in whose buffers the packets stand that wait here.
    pub(in crate::sim) fn holders<'a>(&'a self, packets: &'a Arena) -> impl Iterator<Item = u32> + 'a {
        self.lanes.iter().flat_map(|l| l.queue.iter(packets)).map(|p| p.held).filter(|held| *held != NONE)
    }

    /// Blocks in use of a lane's buffer at the far end, and all of them.
    #[cfg(test)]
    pub(in crate::sim) fn buffer(&self, lane: usize) -> (u32, u32) {
        let l = &self.lanes[lane];
        let returning: u32 = self.returning.iter().filter(|r| r.1 as usize == lane).map(|r| r.2).sum();
        (l.whole - l.credit - l.freed - returning, l.whole)
    }
}
