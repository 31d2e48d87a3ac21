//! Clusters of a plan: channel adapters, the InfiniBand between them, and the ranks that use both.
//!
//! Each port of an adapter is an *endpoint*. Endpoints come first among the nodes of the fabric, switches behind them.
//! An endpoint's wire is InfiniBand's, or its station on Ethernet is (RoCE). What an adapter moves to and from host
//! memory are flows of its host's side that it feeds, like those of storage.

mod build;
pub(crate) mod carriage;
pub(in crate::plan) mod jobs;
pub(in crate::plan) mod roce;

pub(in crate::plan) use build::{buffers, build, packet_payload};
pub(crate) use roce::Pausing;

use crate::mpi::{Costs, Job};
use crate::plan::Side;
use crate::plan::ethernet::{Network, NodeId, Routes};
use crate::plan::{Dma, DmaPath, FlowId};
use crate::protocol::infiniband::{INFINIBAND, LineRate, Mtu, Operation, Packet, Position, Service};
use crate::scenario::keys::{self, ChannelAdapter, InfinibandSwitch, Interface, Setting};
use crate::scenario::quantity::{Corner, Quantity};
use crate::units::Time;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Connections whose rates are shown one by one, at most.
pub(crate) const MOST_CONNECTIONS: usize = 64;

/// Which of so many nodes links join with one of them.
fn joined(nodes: usize, links: impl Iterator<Item = [NodeId; 2]> + Clone, from: NodeId) -> Vec<bool> {
    let mut reached = vec![false; nodes];
    reached[from.0 as usize] = true;
    loop {
        let before = reached.iter().filter(|r| **r).count();
        for [a, b] in links.clone().map(|ends| ends.map(|n| n.0 as usize)) {
            let either = reached[a] || reached[b];
            (reached[a], reached[b]) = (either, either);
        }
        if reached.iter().filter(|r| **r).count() == before {
            return reached;
        }
    }
}

/// The clusters of a plan; without adapters where there is none.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Channel adapters.
    pub adapters: Vec<Adapter>,
    /// Their ports, in the order of adapters.
    pub endpoints: Vec<Endpoint>,
    /// Switches of InfiniBand.
    pub switches: Vec<Switch>,
    /// Links of InfiniBand.
    pub links: Vec<Link>,
    /// The ways between endpoints, over switches.
    pub routes: Routes,
    /// What ranks run.
    pub jobs: Vec<JobFlow>,
    /// Payload of the largest packet of queue pairs of NVMe over Fabrics; 0 without any.
    pub queue_mtu: u64,
    /// What its messages take alone, where a run at flow level asks.
    pub(crate) costs: Option<Arc<dyn carriage::MessageCosts>>,
}

/// A channel adapter.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// `hca.0`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Its values.
    pub keys: ChannelAdapter,
    /// How it reaches host memory; without a bus its data are at hand.
    pub host: Option<HostSide>,
    /// Its first endpoint.
    pub first: u32,
}

/// An adapter's ways to its host and back.
#[derive(Clone, Debug)]
pub struct HostSide {
    /// Its own reads and writes.
    pub dma: Dma,
    /// The processor's writes to it.
    pub doorbell: DmaPath,
    /// The host.
    pub name: String,
    /// What it moves beside data for queue pairs of NVMe over Fabrics, where it has some.
    pub queues: Option<QueueFlows>,
}

/// Flows of PCIe by which an adapter moves what is no data, for queue pairs of NVMe over Fabrics.
#[derive(Clone, Copy, Debug)]
pub struct QueueFlows {
    /// Reads of work requests, and of command capsules without data.
    pub work: FlowId,
    /// Writes of completions, and of command capsules without data.
    pub entries: FlowId,
    /// Reads, and writes, of response capsules, whose TLPs are shorter. In a run they go with the others.
    pub responses: [FlowId; 2],
    /// The processor's writes of doorbells.
    pub bells: FlowId,
    /// Those of doorbells that bring descriptor and data with them, of command and of response capsules, where these
    /// are short enough: in fewer and longer TLPs. In a run they go with the others.
    pub inline: [Option<FlowId>; 2],
}

/// A port of an adapter.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The adapter.
    pub adapter: u32,
    /// Its number there.
    pub port: u32,
    /// Its station on Ethernet, where it is no port of InfiniBand.
    pub station: Option<NodeId>,
    /// The wire that leaves it, where it is InfiniBand's.
    pub out: Option<u32>,
    /// When it pauses its neighbour on Ethernet, where programs send there.
    pub pausing: Option<Pausing>,
}

/// A switch of InfiniBand.
#[derive(Clone, Debug)]
pub struct Switch {
    /// `leaf.1`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Its values.
    pub keys: InfinibandSwitch,
}

/// A link of InfiniBand.
#[derive(Clone, Debug)]
pub struct Link {
    /// `cable.3`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Its ends, as written: nodes of the fabric.
    pub ends: [NodeId; 2],
    /// Speed and width.
    pub rate: Quantity<LineRate>,
    /// Payload of the largest packet.
    pub mtu: Quantity<Mtu>,
    /// Time of flight.
    pub delay: Quantity<Time>,
    /// Data virtual lanes.
    pub lanes: Quantity<NonZeroU32>,
}

/// A message program, placed.
#[derive(Clone, Debug)]
pub struct JobFlow {
    /// Its table.
    pub name: String,
    /// As written.
    pub keys: keys::Mpi,
    /// What the ranks do.
    pub job: Arc<Job>,
    /// The endpoint of each rank.
    pub ranks: Vec<u32>,
    /// Payload of a packet: the least MTU of all ways.
    pub mtu: u64,
}

impl JobFlow {
    /// What library and processor cost, at a corner.
    pub(crate) fn costs(&self, corner: Corner) -> Costs {
        let k = &self.keys;
        let verbs = k.interface.typical == Interface::Verbs;
        Costs {
            send: k.send_time.at(corner).fs(),
            receive: k.receive_time.at(corner).fs(),
            // There is no library to add one.
            header: if verbs { 0 } else { k.header_bytes.at(corner).0 },
            control: k.control_bytes.at(corner).0,
            eager: k.eager.at(corner).0,
            copy: Some(k.copy_rate.at(corner)),
            reduce: Some(k.reduce_rate.at(corner)),
            work: k.speed.at(corner).0,
            verbs,
        }
    }
}

impl Cluster {
    /// Payload of the largest packet of all that use it.
    pub(crate) fn largest_payload(&self) -> Option<u64> {
        let queues = (self.queue_mtu > 0).then_some(self.queue_mtu);
        self.jobs.iter().map(|j| j.mtu).chain(queues).max()
    }

    /// The flows of PCIe by which its adapters move data.
    pub(crate) fn data_flows(&self) -> impl Iterator<Item = usize> + '_ {
        let of = |a: &Adapter| match a.host.as_ref().map(|h| h.dma) {
            Some(Dma::Pcie { read, write }) => [read, write].map(|f| f.0 as usize).to_vec(),
            Some(Dma::Bus { .. }) | None => Vec::new(),
        };
        self.adapters.iter().flat_map(of)
    }

    /// The node of a switch.
    pub(crate) fn switch_node(&self, switch: usize) -> NodeId {
        NodeId((self.endpoints.len() + switch) as u32)
    }

    /// The switch that a node is.
    pub(crate) fn switch_of(&self, node: NodeId) -> Option<usize> {
        (node.0 as usize).checked_sub(self.endpoints.len())
    }

    /// The name of a node: `hca.0`, `hca.0.port.1`, `leaf.2`.
    pub(crate) fn node_name(&self, node: NodeId) -> String {
        if let Some(switch) = self.switch_of(node) {
            return self.switches[switch].name.clone();
        }
        let e = &self.endpoints[node.0 as usize];
        let adapter = &self.adapters[e.adapter as usize];
        match adapter.keys.adapter_ports.typical.get() {
            1 => adapter.name.clone(),
            _ => format!("{}.port.{}", adapter.name, e.port),
        }
    }

    /// The adapter of an endpoint.
    pub(crate) fn adapter_of(&self, endpoint: u32) -> &Adapter {
        &self.adapters[self.endpoints[endpoint as usize].adapter as usize]
    }

    /// The link of a wire (twice the link, plus 1 for the way from its second end).
    pub(crate) fn link(&self, wire: u32) -> &Link {
        &self.links[wire as usize / 2]
    }

    /// The sending node of a wire.
    pub(crate) fn leaves(&self, wire: u32) -> NodeId {
        self.link(wire).ends[wire as usize & 1]
    }

    /// The receiving node of a wire.
    pub(crate) fn arrives(&self, wire: u32) -> NodeId {
        self.leaves(wire ^ 1)
    }

    /// `links.cable.1 toward leaf`.
    pub(crate) fn wire_name(&self, wire: u32) -> String {
        format!("links.{} toward {}", self.link(wire).name, self.node_name(self.arrives(wire)))
    }

    /// What decides among ways of equal length: the destination's number, as subnet managers spread them.
    pub(crate) fn way(&self, to: u32) -> u32 {
        to
    }

    /// The same of packets from one rank of a program to another by one of their queue pairs, connections on Ethernet
    /// (`Network::way_of`).
    pub fn way_of(&self, network: &Network, job: &JobFlow, ranks: [u32; 2], connection: u32) -> u32 {
        let ends = ranks.map(|r| job.ranks[r as usize]);
        match ends.map(|e| self.endpoints[e as usize].station) {
            [Some(from), Some(to)] => {
                let numbers = [ranks[0], ranks[1], connection];
                let told = if job.keys.connections.typical.get() > 1 { 3 } else { 2 };
                network.way_of([from, to], &job.name, &numbers[..told])
            }
            _ => self.way(ends[1]),
        }
    }

    /// Pairs of ranks that send to one another through their adapters, at most so many, and whether there are more:
    /// ranks of one node exchange through memory.
    pub(crate) fn pairs_of(&self, job: &JobFlow, most: usize) -> (Vec<[u32; 2]>, bool) {
        let (mut pairs, more) = job.job.connections(most);
        let node = |rank: u32| self.endpoints[job.ranks[rank as usize] as usize].adapter;
        pairs.retain(|p| node(p[0]) != node(p[1]));
        (pairs, more)
    }

    /// The queue pairs of a program on Ethernet: the two ranks, and the number; none where there are more than
    /// [`MOST_CONNECTIONS`].
    pub(crate) fn queue_pairs(&self, job: &JobFlow) -> Vec<([u32; 2], u32)> {
        let on_ethernet = job.ranks.iter().any(|e| self.endpoints[*e as usize].station.is_some());
        let (pairs, more) = if on_ethernet { self.pairs_of(job, MOST_CONNECTIONS) } else { Default::default() };
        let each = job.keys.connections.typical.get();
        if more || pairs.len() * each as usize > MOST_CONNECTIONS {
            return Vec::new();
        }
        pairs.into_iter().flat_map(|p| (0..each).map(move |n| (p, n))).collect()
    }

    /// The nodes from one rank of a program to another by each of its connections, those that go the same way once:
    /// `nic.4 → leaf.1 → spine.0 → leaf.0 → nic.0`.
    pub fn route_text(&self, network: &Network, job: &JobFlow, ranks: [u32; 2]) -> String {
        let mut ways: Vec<String> = Vec::new();
        for connection in 0..job.keys.connections.typical.get() {
            let way = self.route_of(network, job, ranks, connection);
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways.join("; ")
    }

    /// The same by one of its connections.
    pub fn route_of(&self, network: &Network, job: &JobFlow, ranks: [u32; 2], connection: u32) -> String {
        let ends = ranks.map(|r| job.ranks[r as usize]);
        let mut names = vec![self.node_name(NodeId(ends[0]))];
        match ends.map(|e| self.endpoints[e as usize].station) {
            [Some(from), Some(to)] => {
                let wires = network.along([from, to], self.way_of(network, job, ranks, connection));
                names.extend(wires.into_iter().map(|w| network.node(network.arrives(w)).name.clone()));
            }
            _ => names.extend(self.path(ends[0], ends[1]).into_iter().map(|w| self.node_name(self.arrives(w)))),
        }
        names.join(" → ")
    }

    /// The wires from one rank of a program to another by one of its connections: those of InfiniBand by their numbers,
    /// those of Ethernet behind all of these.
    pub(crate) fn wires(&self, network: &Network, job: &JobFlow, ranks: [u32; 2], connection: u32) -> Vec<u32> {
        let ends = ranks.map(|r| job.ranks[r as usize]);
        match ends.map(|e| self.endpoints[e as usize].station) {
            [Some(from), Some(to)] => {
                let first = 2 * self.links.len() as u32;
                let wires = network.along([from, to], self.way_of(network, job, ranks, connection));
                wires.into_iter().map(|wire| first + wire).collect()
            }
            _ => self.path(ends[0], ends[1]),
        }
    }

    /// The wires from one endpoint to another; empty over Ethernet, or where there is no way.
    pub(crate) fn path(&self, from: u32, to: u32) -> Vec<u32> {
        let Some(first) = self.endpoints[from as usize].out else { return Vec::new() };
        let (mut path, mut way) = (vec![first], self.way(to));
        let mut at = self.arrives(first);
        while at.0 != to && path.len() <= self.switches.len() + 1 {
            let Some(next) = self.routes.next(self.routes.switch(at), NodeId(to), &mut way) else { return Vec::new() };
            path.push(next);
            at = self.arrives(next);
        }
        path
    }

    /// Time of flight of a wire at a corner.
    pub(crate) fn delay(&self, wire: u32, corner: Corner) -> Time {
        self.link(wire).delay.at(corner)
    }
}

impl Side for Cluster {
    fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        let adapters = self.adapters.iter().map(|a| (format!("parts.{}", a.name), a.keys.settings()));
        let switches = self.switches.iter().map(|s| (format!("parts.{}", s.name), s.keys.settings()));
        let links = self.links.iter().map(|l| {
            let all = vec![
                Setting::of("infiniband", &l.rate),
                Setting::of("mtu", &l.mtu),
                Setting::of("delay", &l.delay),
                Setting::of("lanes", &l.lanes),
            ];
            (format!("links.{}", l.name), all)
        });
        let jobs = self.jobs.iter().map(|j| (format!("flows.{}", j.name), j.keys.settings()));
        adapters.chain(switches).chain(links).chain(jobs).collect()
    }

    fn hash(&self, hash: &mut SipHasher13) {
        for link in &self.links {
            link.ends.iter().for_each(|e| hash.write_u32(e.0));
        }
        for job in &self.jobs {
            job.ranks.iter().for_each(|r| hash.write_u32(*r));
            // What a trace says is nowhere among the settings.
            if job.keys.trace.is_some() {
                hash.write(format!("{:?}", job.job).as_bytes());
            }
        }
    }

    fn flows(&self) -> usize {
        self.jobs.len()
    }

    fn links(&self) -> usize {
        2 * self.links.len()
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        (0..self.jobs.len()).map(|job| vec![job]).collect()
    }
}

/// Blocks of credit that the longest packet with so much payload takes.
pub(crate) fn blocks(payload: u64) -> u64 {
    let (operation, service, position) = (Operation::WriteImmediate, Service::Rc, Position::Only);
    Packet { operation, service, position, payload }.blocks(INFINIBAND)
}
