//! What one message asks of all that carries it, as a run at flow level needs it.
//!
//! Closed forms know what a message takes alone; a run knows which are under way at once. Neither knows the other, so
//! what they have in common stands here: [`MessageCosts`] is asked by the run and answered by the closed forms.

use crate::mpi::Post;
use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Ways of an adapter: its reads and writes of host memory, and what its host writes to it.
pub(crate) const WAYS: usize = 3;
/// Flows of PCIe of each way, by the length of their TLPs.
pub(crate) const PIECES: usize = 3;

/// What works on one thing at a time in an adapter, besides its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Work requests of what it sends.
    Work,
    /// Packets that leave it.
    Out,
    /// Packets that come to it.
    In,
    /// Its reads of host memory, of which so many are in flight.
    Reads,
    /// Its writes to host memory.
    Writes,
}

impl Engine {
    /// All of them.
    pub(crate) const ALL: [Engine; 5] = [Engine::Work, Engine::Out, Engine::In, Engine::Reads, Engine::Writes];
}

/// A message that is alone; times in fs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carriage {
    /// From when it is handed over until its adapter asks for its data; until it and its completion are in the target's
    /// memory; and until the sender's completion is in his.
    pub(crate) taken_up: u64,
    pub(crate) arrived: u64,
    pub(crate) sent: u64,
    /// For how long it has each wire of its way, in order, and the wire with the buffer behind it, whose credits may
    /// hold its packets further apart.
    pub(crate) wires: Vec<[f64; 2]>,
    /// For how long it has each engine of the sender's adapter, and of the receiver's.
    pub(crate) engines: [[f64; Engine::ALL.len()]; 2],
    /// Bytes that the two adapters and their hosts move for it, by way, in TLPs of each length.
    pub(crate) moved: [[[f64; PIECES]; WAYS]; 2],
    /// Packets on each wire.
    pub(crate) packets: u64,
}

/// Slots of one direction of a link of PCIe that a byte of a flow takes, by kind; TLPs are counted, not slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotsOfByte {
    pub(crate) payload: f64,
    pub(crate) framing: f64,
    pub(crate) requests: f64,
    pub(crate) acks: f64,
    pub(crate) update_fc: f64,
    pub(crate) tlps: f64,
    pub(crate) data_tlps: f64,
}

impl SlotsOfByte {
    /// Adds those of so many bytes.
    pub(crate) fn add(&mut self, one: &SlotsOfByte, bytes: f64) {
        self.payload += bytes * one.payload;
        self.framing += bytes * one.framing;
        self.requests += bytes * one.requests;
        self.acks += bytes * one.acks;
        self.update_fc += bytes * one.update_fc;
        self.tlps += bytes * one.tlps;
        self.data_tlps += bytes * one.data_tlps;
    }
}

/// What adapters' transfers ask of PCIe.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnPcie {
    /// Adapters with the same number are alike, with everything between them and their hosts.
    pub(crate) alike: Vec<u32>,
    /// How many things have a capacity.
    pub(crate) resources: u32,
    /// The flows of each adapter by way and length of TLPs; `None` of one without PCIe, or without programs.
    pub(crate) flows: Vec<Option<[[u32; PIECES]; WAYS]>>,
    /// By flow: how long a byte has each of them, fs.
    pub(crate) takes: Vec<Vec<(u32, f64)>>,
    /// By flow: slots of each direction of a link, by its number.
    pub(crate) slots: Vec<Vec<(u32, SlotsOfByte)>>,
}

impl OnPcie {
    /// The flows by which an adapter moves so many bytes, by way, in TLPs of each length, and the bytes of each.
    pub(crate) fn moved_by<'a>(
        &'a self,
        adapter: u32,
        moved: &'a [[f64; PIECES]; WAYS],
    ) -> impl Iterator<Item = (u32, f64)> + 'a {
        let flows = self.flows[adapter as usize].iter().flatten().flatten().copied();
        flows.zip(moved.iter().flatten().copied()).filter(|(_, bytes)| *bytes > 0.0)
    }
}

/// Whoever knows the closed forms of a plan's messages.
pub(crate) trait MessageCosts: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// What adapters' transfers ask of PCIe.
    fn on_pcie(&self) -> &OnPcie;

    /// A message of a program, by the number of that, on one of its ranks' queue pairs.
    fn alone(&self, job: usize, post: &Post, connection: u32) -> Carriage;
}
