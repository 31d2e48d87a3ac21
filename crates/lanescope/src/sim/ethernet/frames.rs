//! Frames, where they stand, and the rows that they wait in.
//!
//! All frames of a run stand in one arena; a row of them (a queue, a wire's flight) is a list through it.

use crate::protocol::roce;
use crate::sim::core::kernel::{Agenda, NEVER};

/// No frame, no list.
pub(super) const NONE: u32 = u32::MAX;
/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    /// 802.3x: stop for so many quanta (0: go on).
    Pause,
    /// 802.1Qbb: the same for one class.
    Pfc,
    /// Frames for one station are to stop, or to go on.
    Stop,
    Go,
    /// A source has had so many frames for this destination since time 0; a destination grants so many more.
    Request,
    Grant,
    /// Congestion notification.
    Cnp,
    /// Of RoCE: all packets before this number have come; and this one has not.
    Ack,
    Nak,
    /// An acknowledgement of a channel adapter, which says what [`Kind::Ack`] says, too.
    Reply,
}

impl Kind {
    /// Whether it ends at the next port.
    pub(super) fn is_local(self) -> bool {
        matches!(self, Kind::Pause | Kind::Pfc | Kind::Stop | Kind::Go)
    }
}

/// One frame: a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Frame {
    /// When the part that it comes to may act on it, fs.
    pub(super) at: u64,
    /// When its message was born; of a control frame what it says.
    pub(super) born: u64,
    /// When it left the application; of a channel adapter's, its connection.
    pub(super) left: u64,
    /// The next of its list.
    pub(super) next: u32,
    /// [`NONE`] for a channel adapter's.
    pub(super) stream: u32,
    /// The station that it is for.
    pub(super) target: u32,
    /// What decides among equal ways.
    pub(super) way: u32,
    /// In a switch: whose account it is on.
    pub(super) account: u32,
    /// The pair of source and destination, where stations keep such; of a channel adapter's, its packet.
    pub(super) lane: u32,
    /// With credits: the low bits of how many frames its source has had for the destination since time 0. Of a queue
    /// pair that sends lost packets again: the number of the packet.
    pub(super) more: u32,
    /// Bytes from destination to FCS, and client data.
    pub(super) bytes: u16,
    pub(super) data: u16,
    pub(super) class: u8,
    /// Bytes between Ethernet's header and FCS that are neither data nor padding.
    pub(super) headers: u8,
    /// In a switch with a memory at each port: the port.
    pub(super) pool: u16,
    pub(super) kind: Kind,
    /// Whether its message ends with it.
    pub(super) last: bool,
    pub(super) marked: bool,
    /// Of RoCE; else [`roce::NONE`].
    pub(super) opcode: u8,
}

impl Frame {
    /// A frame before anybody has sent it: between nodes, without a message, a stream or data.
    #[inline(always)]
    pub(super) fn new(kind: Kind, bytes: u64, target: u32, way: u32, lane: u32) -> Frame {
        Frame {
            at: 0,
            born: 0,
            left: 0,
            next: NONE,
            stream: NONE,
            target,
            way,
            account: NONE,
            lane,
            more: 0,
            bytes: bytes as u16,
            data: 0,
            class: 0,
            headers: 0,
            pool: 0,
            kind,
            last: false,
            marked: false,
            opcode: roce::NONE,
        }
    }
}

/// All frames of a run; those that are gone are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    pub(super) frames: Vec<Frame>,
    pub(super) free: Vec<u32>,
}

impl Arena {
    #[inline]
    pub(super) fn put(&mut self, frame: Frame) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.frames[id as usize] = frame;
                id
            }
            None => {
                self.frames.push(frame);
                self.frames.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(super) fn drop(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Frames that are somewhere.
    pub(super) fn used(&self) -> usize {
        self.frames.len() - self.free.len()
    }
}

impl std::ops::Index<u32> for Arena {
    type Output = Frame;
    #[inline]
    fn index(&self, id: u32) -> &Frame {
        &self.frames[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Arena {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Frame {
        &mut self.frames[id as usize]
    }
}

/// Frames in a row, linked through the arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl List {
    pub(super) const EMPTY: List = List { first: NONE, last: NONE };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Puts a frame at the end; says whether it is alone.
    #[inline]
    pub(super) fn push(&mut self, id: u32, frames: &mut Arena) -> bool {
        frames[id].next = NONE;
        let alone = self.first == NONE;
        if alone {
            self.first = id;
        } else {
            frames[self.last].next = id;
        }
        self.last = id;
        alone
    }

    /// Puts a frame at the beginning.
    pub(super) fn push_front(&mut self, id: u32, frames: &mut Arena) {
        frames[id].next = self.first;
        if self.is_empty() {
            self.last = id;
        }
        self.first = id;
    }

    #[inline]
    pub(super) fn pop(&mut self, frames: &Arena) -> Option<u32> {
        if self.first == NONE {
            return None;
        }
        let id = self.first;
        self.first = frames[id].next;
        Some(id)
    }

    /// Takes the first, and sets its slot to the moment of the one behind it.
    #[inline]
    pub(super) fn next(&mut self, slot: u32, frames: &Arena, agenda: &mut Agenda) -> Option<u32> {
        let id = self.pop(frames)?;
        agenda.set(slot, if self.is_empty() { NEVER } else { frames[self.first].at });
        Some(id)
    }

    pub(super) fn iter<'a>(&self, frames: &'a Arena) -> impl Iterator<Item = u32> + use<'a> {
        let step = |id: &u32| Some(frames[*id].next).filter(|n| *n != NONE);
        std::iter::successors(Some(self.first).filter(|f| *f != NONE), step)
    }
}
