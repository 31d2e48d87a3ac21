//! What uses a station: a channel adapter, or workers of I/Os. Commands go down to the station, events come up.

use crate::plan::ethernet::NodeId;
use crate::plan::infiniband::Pausing;
use crate::sim::core::kernel::NEVER;
use crate::sim::ethernet::frames::{Frame, Kind};
use std::collections::VecDeque;

/// What an adapter tells its station.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum StationCommand {
    Frame(Load),
    /// Bytes of client data of one class that came are held until they are in host memory; they no longer are.
    Holds(u8, u32),
    Frees(u8, u32),
    /// Whether it waits for its host.
    Fetches(bool),
}

/// A packet that is to go in a frame.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Load {
    pub(in crate::sim) packet: u32,
    /// The station that it is for, and what decides its way there.
    pub(in crate::sim) to: NodeId,
    pub(in crate::sim) way: u32,
    /// Client data, and of these the message's own.
    pub(in crate::sim) client: u32,
    pub(in crate::sim) payload: u32,
    pub(in crate::sim) class: u8,
    /// An acknowledgement goes before all that has not begun, and is not reported.
    pub(in crate::sim) ack: bool,
    /// The queue pair that it is of, by a number of its owner, and the program; without one it is sent as it comes.
    pub(in crate::sim) pair: u32,
    pub(in crate::sim) run: u16,
    /// Of RoCE.
    pub(in crate::sim) opcode: u8,
}

/// What adapters hear.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum StationEvent {
    /// A packet with data has left the adapter for its MAC.
    Left(u32),
    /// A packet has come.
    Came(u32),
}

/// What a neighbour is stopped by.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim::ethernet) struct Account {
    pub(in crate::sim::ethernet) used: u64,
    pub(in crate::sim::ethernet) stopped: bool,
    /// When that must be said again.
    pub(in crate::sim::ethernet) again: u64,
}

/// A station's adapter.
#[derive(Clone, Debug)]
pub(in crate::sim::ethernet) struct Adapter {
    pub(in crate::sim::ethernet) pausing: Pausing,
    /// The pause that it sends: of a class, or of all.
    pub(in crate::sim::ethernet) kind: Kind,
    pub(in crate::sim::ethernet) accounts: Vec<Account>,
    /// Frames-to-be, by the buffers that they go through.
    pub(in crate::sim::ethernet) waiting: Vec<VecDeque<Frame>>,
    /// Whether it has room before the station's own streams: those had it last.
    pub(in crate::sim::ethernet) first: bool,
    pub(in crate::sim::ethernet) fetches: bool,
    /// Whether packets of queue pairs wait in lanes of their own.
    pub(in crate::sim::ethernet) in_lanes: bool,
    /// Bit n: class n may pause the neighbour.
    pub(in crate::sim::ethernet) lossless: u8,
}

impl Adapter {
    pub(in crate::sim::ethernet) fn new(pausing: Pausing, pfc: bool, classes: usize, buffers: usize) -> Adapter {
        Adapter {
            pausing,
            kind: if pfc { Kind::Pfc } else { Kind::Pause },
            accounts: vec![Account::default(); if pfc { classes } else { 1 }],
            waiting: vec![VecDeque::new(); buffers],
            first: false,
            fetches: false,
            in_lanes: false,
            lossless: u8::MAX,
        }
    }

    /// When a stop must be said again.
    pub(in crate::sim::ethernet) fn again(&self) -> u64 {
        self.accounts.iter().filter(|a| a.stopped).map(|a| a.again).min().unwrap_or(NEVER)
    }
}
