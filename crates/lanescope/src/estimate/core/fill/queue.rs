//! Where packets of several flows stand behind one another.

/// A buffer in which packets of several flows wait for what is beyond it.
#[derive(Clone, Debug)]
pub(crate) struct Queue<Q> {
    /// What it is.
    pub(crate) key: Q,
    /// Bytes of payload that it holds.
    pub(crate) room: f64,
    /// Who may stand in it.
    pub(crate) waits: Vec<Wait>,
    /// Whether its packets are counted in a coin of its own: what one is worth elsewhere, those that go there tell.
    pub(crate) own_coin: bool,
}

/// One flow in a queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    /// The flow.
    pub(crate) flow: usize,
    /// Packets per payload byte, the arbiter's coin.
    pub(crate) packets: f64,
    /// As [`Use::hops`].
    pub(crate) hops: usize,
    /// Bytes of it that there are at most, in the queue and beyond: infinite for a load that does not wait for what it
    /// has sent.
    pub(crate) most: f64,
    /// How far along its way the queue is: what holds it up here holds it up at every earlier place.
    pub(crate) place: usize,
    /// The resources that it waits for here (indices).
    pub(crate) beyond: Vec<usize>,
}

/// A flow that stands in a buffer behind others that wait for a resource, and does not use that itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passing {
    /// Packets per payload byte, the arbiter's coin.
    pub(super) packets: f64,
    /// Where it comes from.
    pub(super) way: Way,
}

/// How such a flow comes into the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    /// The flow, and how many hops its packets have behind them before the port of the buffer.
    pub(super) flow: usize,
    pub(super) hops: usize,
    /// One of those that wait there and go on to what the other passes by: the flow, and its hops to the buffer and to
    /// that.
    pub(super) beside: (usize, usize, usize),
}
