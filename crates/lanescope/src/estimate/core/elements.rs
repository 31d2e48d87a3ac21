//! What has a capacity, in every technology: the names of resources. The filling divides any of them; only where they
//! are charged and put into words is a technology known.

use crate::plan::{Hop, PartId};
use crate::protocol::pcie::Class;
use crate::scenario::keys::Do;

/// What a resource is. The order breaks ties in reports: links before engines before the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::estimate) enum Key {
    /// Slots of one direction of a link.
    Wire(Hop),
    /// Tags of an endpoint.
    Tags(PartId),
    /// An endpoint's ceilings and pauses.
    Engine(PartId, Ceiling),
    /// Reads that a root complex works on at once.
    ReadsInFlight(PartId),
    /// A root complex's memory: reads and writes added, or only what a flow does to it.
    Memory(PartId, Do),
    /// The bus of a root complex's backbone that carries writes and read requests.
    RequestBus(PartId),
    /// Its bus that carries what was read.
    CompletionBus(PartId),
    /// Reads that it works on at once for the port at the upper end of a hop.
    PortReads(Hop),
    /// A switch's shared core, or what a root complex passes on from port to port.
    Core(PartId),
    /// Credits of a class at the receiver of a hop; header credits when `true`.
    Credits(Hop, Class, bool),
    /// The replay buffer of a hop's transmitter.
    Replay(Hop),
    /// A closed load's operations in flight.
    Outstanding(usize),
    /// The order of an alternating flow's operations: a write waits for the requests of the read before it to be out.
    InTurn(usize),
    /// Loads that a processor keeps in flight through a root port.
    Loads(Hop),
    /// What a processor stores through a root port.
    Stores(Hop),
    /// Page walks that a root complex's IOMMU does at once.
    Walks(PartId),
    /// Something of storage.
    Storage(Part),
    /// Something that carries the messages of several programs.
    Cluster(ClusterElement),
}

/// Which of an endpoint's own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::estimate) enum Ceiling {
    /// `rate`, reads and writes added.
    Both,
    /// `read_rate`.
    Read,
    /// `bus_rate`.
    Bus,
    /// `write_rate`.
    Write,
    /// `read_interval`.
    ReadInterval,
    /// `write_interval`.
    WriteInterval,
    /// The time of its port: the wire time of each TLP, and what it loses between them (`tlp_gap`, `transfer_gap`,
    /// `direction_change`).
    Port,
    /// `engine_efficiency` of the TLPs of its writes.
    SustainedWrites,
    /// The same of the completions that it asked for.
    SustainedReads,
    /// `line` of what comes in.
    LineIn,
    /// `line` of what goes out.
    LineOut,
}

/// What a resource of storage is. The order breaks ties in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::estimate) enum Part {
    /// Slots of a transport toward its target (`false`) or back; of a bus always `false`.
    Transport(u32, bool),
    /// Credit of a serial transport's frames toward its target (`false`) or back.
    Credits(u32, bool),
    /// A target: its rate, or its heads.
    Target(u32),
    /// Channels of a solid-state drive.
    Channels(u32),
    /// Its dies, as they sense pages.
    Dies(u32),
    /// Its stripes in programming.
    Stripes(u32),
    /// Its controller.
    Controller(u32),
    /// An adapter's cache memory.
    Cache(u32),
    /// An adapter's parity engine.
    Parity(u32),
    /// An adapter's processor.
    Processor(u32),
    /// A controller's queue pair, by its number: what it takes for its commands one after the other.
    QueuePair(u32, u32),
    /// Commands that a controller's queue pair holds.
    Entries(u32, u32),
    /// A worker's processor.
    Worker(u32),
    /// What carries the messages of NVMe over Fabrics.
    Fabric(ClusterElement),
    /// The processor of a target, as far as it works for a flow of another host.
    Remote(u32),
    /// Commands that the queue pairs of such a flow hold.
    RemoteEntries(u32),
    /// Clocks of a shared bus.
    Clocks(u32),
    /// A device's reads outstanding on a shared bus.
    Splits(u32),
    /// A device's own clocks on a shared bus.
    Device(u32),
    /// Commands that a target may have.
    Queue(u32),
    /// I/Os outstanding of a flow.
    Outstanding(u32),
    /// The pauses of a flow before its bursts, one after the other however many are outstanding.
    Pause(u32),
    /// The rate that a flow keeps to.
    Rate(u32),
    /// Slots of an Ethernet's wire, for transactions.
    Ethernet(u32),
}

/// The hops of a use of storage's own: there flows take turns by themselves, whatever ports of PCIe they share.
pub(in crate::estimate) const OWN: usize = usize::MAX;

/// What of a cluster carries one packet at a time: a timeline of the closed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::estimate) enum ClusterElement {
    /// A wire of InfiniBand, of Ethernet.
    Wire(u32),
    Frame(u32),
    /// A shared bus.
    Bus(u32),
    /// Reads, and writes, of an adapter over PCIe.
    Reads(u32),
    Writes(u32),
    /// An adapter's engine: work requests, packets.
    Work(u32),
    Packets(u32),
}
