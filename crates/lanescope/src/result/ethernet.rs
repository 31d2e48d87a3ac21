//! What a capture of one Ethernet link holds: frames as they crossed it, before a pen lays out their bytes.
//!
//! Parts are known by their index in the plan, so that a frame costs a simulation no text.

use crate::protocol::roce;

/// A frame that crossed a link that is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossed {
    /// Femtoseconds, when its first bit after the preamble left the sender.
    pub at: u64,
    /// Whether it went from the link's first end to its second.
    pub down: bool,
    /// What it was.
    pub what: Crossing,
}

/// What a captured frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Data of a flow.
    Data {
        /// The part that the flow starts at.
        from: u32,
        /// The part that it goes to.
        to: u32,
        /// Bytes of MAC client data.
        data: u32,
        /// The flow's index.
        flow: u32,
        /// Its frames, counted from 0.
        number: u64,
        /// Whether a queue on the way marked it for congestion.
        marked: bool,
    },
    /// A packet of RoCE v2.
    Roce {
        /// The part that sent it.
        from: u32,
        /// The part that it goes to.
        to: u32,
        /// What it says.
        packet: roce::Packet,
    },
    /// PAUSE to the other end.
    Pause {
        /// The part that sent it.
        from: u32,
        /// Pause quanta; 0 ends a pause.
        quanta: u16,
    },
    /// PFC to the other end.
    Pfc {
        /// The part that sent it.
        from: u32,
        /// Pause quanta of each priority that it speaks of.
        quanta: [Option<u16>; 8],
    },
    /// A control frame of a mechanism that has no frame in a standard.
    Notice {
        /// The part that sent it.
        from: u32,
        /// The part that it is for; `None` for the other end of the link.
        to: Option<u32>,
        /// What it says: a number of the mechanism.
        word: u8,
        /// With this value.
        value: u64,
    },
}
