//! What will run: parts, links, flows and their routes, resolved and checked once. The only input of every method.
//!
//! Ids index arenas, so a method never looks a name up. Every value keeps its origin, defaults included (`lanescope
//! plan` shows them). `resolve` asks each technology for its part.

mod core;
pub mod ethernet;
pub mod gpu;
pub mod infiniband;
pub mod pci;
pub mod pcie;
mod resolve;
pub mod storage;

pub(crate) use core::dma::{Dma, DmaPath};
pub(crate) use core::meeting::Meeting;
pub(crate) use core::row::{FlowGroup, FlowRef};
pub(crate) use ethernet::Network;
pub(crate) use infiniband::Cluster;
pub(crate) use pci::Buses;
pub use pcie::backbone::Crossing;
pub(crate) use pcie::backbone::{Backbone, Taken};
pub(crate) use pcie::check::port_limits;
pub(crate) use pcie::derived::{Asking, PacketQueue};
pub use pcie::derived::{Batch, Buffer};
pub use pcie::iommu::Misses;
pub(crate) use pcie::iommu::Translation;
pub(crate) use pcie::tree::{Acs, Direction, FlowId, LinkId};
pub use pcie::tree::{End, Flow, Hop, Link, Part, PartId, Place, Port, Program};
pub use resolve::build;
pub use storage::Storage;

use crate::protocol::infiniband::ROCE;
use crate::scenario::Stated;
use crate::scenario::keys::{Setting, SimulationLevel, Technology};
use crate::scenario::quantity::Percent;
use crate::units::Time;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::sync::Arc;

/// What a plan asks of each technology.
trait Side {
    /// Every value of every thing, with its origin.
    fn settings(&self) -> Vec<(String, Vec<Setting>)>;

    /// What can change an answer and is no setting.
    fn hash(&self, hash: &mut SipHasher13);

    /// How many flows it has.
    fn flows(&self) -> usize;

    /// How many directions of links, a bus counted once.
    fn links(&self) -> usize;

    /// The flows of each table of a scenario, in order.
    fn groups(&self) -> Vec<Vec<usize>>;
}

/// The order in which settings are listed, and hashed: another would be another fingerprint of every plan.
const STATED: [Technology; 5] =
    [Technology::Pcie, Technology::Ethernet, Technology::Pci, Technology::Storage, Technology::Infiniband];

/// A scenario, resolved. Immutable; a copy with one thing changed shares the rest.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One line for a report's head.
    pub title: String,
    /// All parts.
    pub parts: Arc<Vec<Part>>,
    /// All links.
    pub links: Arc<Vec<Link>>,
    /// All flows.
    pub flows: Arc<Vec<Flow>>,
    /// Stations, switches, links and streams of Ethernet.
    pub network: Arc<Network>,
    /// Shared buses, with bridges, devices and flows.
    pub buses: Arc<Buses>,
    /// Host adapters, disks and the I/Os of hosts.
    pub storage: Arc<Storage>,
    /// Channel adapters, InfiniBand, and what ranks run.
    pub cluster: Arc<Cluster>,
    /// When a simulation ends.
    pub limits: RunLimits,
    /// Every key that the scenario states: of those that a method does not model, its report speaks.
    pub stated: Arc<Vec<Stated>>,
    /// A hash of everything that can change an answer, stable across machines and versions of the compiler.
    pub fingerprint: String,
}

/// When a simulation ends. The estimate has no use for it.
#[derive(Clone, Debug)]
pub struct RunLimits {
    /// Half width of the intervals of the means, as a share.
    pub until: Percent,
    /// Simulated time, when it was fixed.
    pub length: Option<Time>,
    /// What is left out at the beginning, when it was fixed.
    pub warmup: Option<Time>,
    /// No run simulates longer.
    pub max_time: Time,
    /// No run simulates more TLP-hops.
    pub max_packets: u64,
    /// Start of all random numbers.
    pub seed: u32,
    /// What a simulation follows; of one that [`crate::plan()`] has made never [`SimulationLevel::Auto`].
    pub level: SimulationLevel,
    /// Why that was chosen, where the scenario leaves the choice.
    pub level_reason: Option<String>,
}

impl RunLimits {
    /// The same, but for as long as a run may be: tight or not, and however many packets that takes.
    pub fn whole(&self) -> RunLimits {
        RunLimits { length: Some(self.length.unwrap_or(self.max_time)), max_packets: u64::MAX, ..self.clone() }
    }
}

impl Plan {
    /// What instruments find on it: hosts with their volumes, and stations.
    pub fn machine(&self) -> crate::import::Machine {
        let stations =
            (0..self.network.nodes.len() as u32).filter(|n| self.network.station(ethernet::NodeId(*n)).is_some());
        let stations = stations.map(|n| self.network.nodes[n as usize].name.clone()).collect();
        crate::import::Machine { hosts: self.storage.hosts(), stations }
    }

    /// Every value of every thing, with its origin.
    pub fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        STATED.into_iter().flat_map(|technology| self.side(technology).settings()).collect()
    }

    /// What is a technology's own. PCIe's lies in the plan itself.
    fn side(&self, technology: Technology) -> &dyn Side {
        match technology {
            Technology::Pcie => self,
            Technology::Ethernet => &*self.network,
            Technology::Storage => &*self.storage,
            Technology::Pci => &*self.buses,
            Technology::Infiniband => &*self.cluster,
        }
    }

    /// Whether frames may be dropped that nothing sends again: packets of programs, or segments of transactions.
    pub(crate) fn loses(&self) -> bool {
        !self.storage.pairs.is_empty() && self.network.can_drop()
    }

    /// Whether queue pairs may have to send packets again.
    pub(crate) fn resends(&self) -> bool {
        let roce = self.programs_on_ethernet()
            || self.storage.flows.iter().any(|f| self.over_roce(f))
            || self.network.streams.iter().any(|s| s.is_roce());
        roce && self.network.resends()
    }

    /// Whether a flow of I/Os goes to a drive of another host, over Ethernet.
    pub(crate) fn over_roce(&self, flow: &storage::IoFlow) -> bool {
        flow.remote.as_ref().is_some_and(|r| r.carrier(&self.cluster) == ROCE)
    }

    /// Whether ranks exchange messages over Ethernet.
    pub(crate) fn programs_on_ethernet(&self) -> bool {
        let on_ethernet = |e: &u32| self.cluster.endpoints[*e as usize].station.is_some();
        self.cluster.jobs.iter().any(|j| j.ranks.iter().any(on_ethernet))
    }

    /// Works out [`Plan::fingerprint`].
    fn hash(&self) -> String {
        let mut hash = SipHasher13::new();
        for (name, settings) in self.settings() {
            hash.write(name.as_bytes());
            for s in settings {
                hash.write(s.key.as_bytes());
                hash.write(s.value.as_bytes());
                if let Some((slow, fast)) = s.range {
                    hash.write(slow.as_bytes());
                    hash.write(fast.as_bytes());
                }
                hash.write(b";");
            }
        }
        STATED.into_iter().for_each(|technology| self.side(technology).hash(&mut hash));
        format!("{:016x}", hash.finish())
    }
}
