//! The Ethernet of a plan: stations, switches, links, streams of frames, and the ways between them.
//!
//! It stands beside the PCIe side in arenas of its own. Building is in `build`, ways in `routes`, one message alone in
//! `latency`, and what the memories of switches allow in `buffers`.

mod buffers;
mod build;
pub(crate) mod latency;
pub(crate) mod packets;
mod routes;
mod streams;
mod targets;

pub(crate) use buffers::Buffering;
pub(in crate::plan) use build::build;
pub(crate) use routes::Routes;
pub(in crate::plan) use routes::{MOST_SWITCHES, Wired};
pub use targets::Targets;

use crate::plan::Side;
use crate::protocol::ethernet::LineRate;
use crate::scenario::NodeKeys;
use crate::scenario::keys::{
    CongestionControl, Ecmp, EthernetSwitch, FlowControl, Priorities, Priority, Scheduling, Setting, SizeDistribution,
    Station, StreamLoad, Transport, Weights,
};
use crate::scenario::quantity::{Confidence, Corner, Origin, Quantity, Shape};
use crate::units::{Bytes, Rate, Time};
use serde::Serialize;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Index of a station or switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NodeId(pub u32);

/// A station or switch, wired.
#[derive(Clone, Debug)]
pub struct Node {
    /// `host.1` or `sw`.
    pub name: String,
    /// The table it is from: `host`.
    pub group: String,
    /// Kind and values.
    pub keys: NodeKeys,
    /// Its ports in order: the link of each, and which end of it.
    pub ports: Vec<(u32, u8)>,
}

/// An Ethernet link.
#[derive(Clone, Debug)]
pub struct EthernetLink {
    /// `lan.1` or `uplink`.
    pub name: String,
    /// The table it is from.
    pub group: String,
    /// Its ends, as written.
    pub ends: [NodeId; 2],
    /// The number of the port at each end.
    pub ports: [u32; 2],
    /// Rate of its MACs.
    pub rate: Quantity<LineRate>,
    /// Time of flight.
    pub delay: Quantity<Time>,
    /// Client data of the largest frame.
    pub mtu: Quantity<Bytes>,
}

/// How a stream chooses the destination of its next message or burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Pick {
    /// There is one.
    One,
    /// At random, all alike.
    Random,
    /// The next in turn.
    Turns,
}

/// A message of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// When it is born, fs.
    pub at: u64,
    /// Index of its destination among the stream's.
    pub target: u32,
    /// Client data.
    pub bytes: u64,
}

/// Frames from one station to one or more.
#[derive(Clone, Debug)]
pub struct Stream {
    /// `all.1` or `all`.
    pub name: String,
    /// The table it is from.
    pub group: String,
    /// The station that sends.
    pub source: NodeId,
    /// The stations that receive; the sender is never among them.
    pub targets: Targets,
    /// How it chooses among them.
    pub pick: Pick,
    /// Client data of a message; where sizes are drawn the mean, of a trace the largest.
    pub size: Quantity<Bytes>,
    /// What sizes are drawn from.
    pub sizes: Option<Arc<Quantity<SizeDistribution>>>,
    /// As written.
    pub load: Quantity<StreamLoad>,
    /// What an open load offers on average, payload per second.
    pub offered: Option<Rate>,
    /// The messages of a trace.
    pub trace: Option<Arc<[Traced]>>,
    /// Priority of its frames.
    pub priority: Quantity<Priority>,
    /// How they are made.
    pub transport: Quantity<Transport>,
    /// Queue pairs to each destination.
    pub connections: Quantity<NonZeroU32>,
    /// Client data of a frame that may leave: what the source's link carries; of RoCE, whose path MTU both ends agree
    /// on, the links of all its destinations too.
    pub room: u64,
    /// What was measured.
    pub measured: Option<Rate>,
}

impl Stream {
    /// `64 KiB`, or `web-search (mean 1.71 MB, up to 30 MB)`.
    pub(crate) fn sizes_text(&self) -> String {
        self.sizes.as_ref().map_or_else(|| self.size.typical.to_string(), |sizes| sizes.typical.show())
    }
}

/// The Ethernet of a plan; without nodes where there is none.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Stations and switches.
    pub nodes: Vec<Node>,
    /// Links.
    pub links: Vec<EthernetLink>,
    /// Streams of frames.
    pub streams: Vec<Stream>,
    /// The ways between stations.
    pub routes: Routes,
    /// The first of the switches: what all have in common is asked of it, for every frame's way.
    model: Option<NodeId>,
    /// The longest frame that any stream sends, bytes.
    longest: u64,
    /// Priorities in use, ascending; a class is an index of these.
    pub classes: Vec<u8>,
    /// What the memory of each switch allows, by node.
    pub buffering: Vec<Option<Buffering>>,
    /// Whether switches may drop frames.
    drops: bool,
}

impl Network {
    /// A node by id.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Whether there is any Ethernet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The keys of a station.
    pub(crate) fn station(&self, id: NodeId) -> Option<&Station> {
        match &self.node(id).keys {
            NodeKeys::Station(k) => Some(k),
            NodeKeys::Switch(_) => None,
        }
    }

    /// The switches, with their keys.
    pub fn switches(&self) -> impl Iterator<Item = (NodeId, &Node, &EthernetSwitch)> {
        self.nodes.iter().enumerate().filter_map(|(i, n)| match &n.keys {
            NodeKeys::Switch(k) => Some((NodeId(i as u32), n, k)),
            NodeKeys::Station(_) => None,
        })
    }

    /// The first of the switches.
    fn model(&self) -> Option<(&Node, &EthernetSwitch)> {
        let node = self.node(self.model?);
        match &node.keys {
            NodeKeys::Switch(k) => Some((node, k)),
            NodeKeys::Station(_) => None,
        }
    }

    fn first_switch(&self) -> Option<&EthernetSwitch> {
        Some(self.model()?.1)
    }

    /// How switches keep their memories from overflowing: all alike.
    pub fn flow_control(&self) -> FlowControl {
        self.first_switch().map_or(FlowControl::None, |k| k.flow_control.typical)
    }

    /// What slows sources down: of all switches alike.
    pub fn congestion_control(&self) -> CongestionControl {
        self.first_switch().map_or(CongestionControl::None, |k| k.congestion_control.typical)
    }

    /// With flowlets: a pause after which a flow may take another path; of all switches alike.
    pub(crate) fn flowlet_gap(&self) -> Time {
        self.first_switch().map_or(Time::ZERO, |k| k.flowlet_gap.typical)
    }

    /// How switches choose among ways of equal length: all alike.
    pub(crate) fn ecmp(&self) -> Ecmp {
        self.first_switch().map_or(Ecmp::Hash, |k| k.ecmp.typical)
    }

    /// The sending node of a wire (twice the link, plus 1 for the way from its second end).
    pub(crate) fn leaves(&self, wire: u32) -> NodeId {
        self.links[wire as usize / 2].ends[wire as usize & 1]
    }

    /// The receiving node of a wire.
    pub fn arrives(&self, wire: u32) -> NodeId {
        self.leaves(wire ^ 1)
    }

    /// The link of a wire.
    pub fn link(&self, wire: u32) -> &EthernetLink {
        &self.links[wire as usize / 2]
    }

    /// The wire out of a node's port.
    pub fn out(&self, node: NodeId, port: usize) -> u32 {
        let (link, end) = self.node(node).ports[port];
        2 * link + end as u32
    }

    /// `links.lan.1 toward sw`.
    pub(crate) fn wire_name(&self, wire: u32) -> String {
        format!("links.{} toward {}", self.link(wire).name, self.node(self.arrives(wire)).name)
    }

    /// The longest frame that any stream sends, bytes.
    pub fn longest_frame(&self) -> u64 {
        self.longest
    }

    /// Which classes a switch pauses; a class is an index of [`Network::classes`].
    pub(crate) fn lossless(&self, class: usize) -> bool {
        let named = self.first_switch().and_then(|k| k.lossless.as_ref()).map(|q| q.typical);
        match self.flow_control() {
            // Stations back to back.
            _ if self.model.is_none() => true,
            FlowControl::None => false,
            FlowControl::Pfc => named.is_none_or(|p: Priorities| p.has(self.classes.get(class).copied().unwrap_or(0))),
            _ => true,
        }
    }

    /// How the ports of a switch choose among classes: the rule, and the weight of each class.
    pub(crate) fn scheduling(&self, k: &EthernetSwitch) -> (Scheduling, Vec<u32>) {
        let weights = k.weights.as_ref().map_or(Weights::EQUAL, |q| q.typical);
        (k.scheduling.typical, self.classes.iter().map(|p| weights.0[*p as usize]).collect())
    }

    /// The class of the frames of a stream to one of its targets.
    pub(crate) fn class(&self, stream: &Stream, target: usize) -> usize {
        let priority = match stream.priority.typical {
            Priority::Fixed(p) => p,
            Priority::Destination => stream.targets.place(target) as u8,
        };
        self.classes.iter().position(|c| *c == priority).unwrap_or(0)
    }

    /// What decides the way of a flow where several are equal: each choice takes a digit of it.
    pub(crate) fn way(&self, stream: usize, target: NodeId) -> u32 {
        self.way_of_connection(stream, target, 0)
    }

    /// The same of one of its queue pairs to a destination.
    pub(crate) fn way_of_connection(&self, stream: usize, target: NodeId, number: u32) -> u32 {
        let s = &self.streams[stream];
        let several = s.connections.typical.get() > 1;
        self.way_of([s.source, target], &s.group, if several { std::slice::from_ref(&number) } else { &[] })
    }

    /// The same of a connection between two stations, which all that sends frames asks: with hashing, a hash of what
    /// tells connections apart in the headers (addresses by its ends, ports by whose it is and its own numbers; RFC
    /// 2992) and of the switches' seed. All frames of one connection go one way.
    pub(crate) fn way_of(&self, ends: [NodeId; 2], owner: &str, numbers: &[u32]) -> u32 {
        match self.ecmp() {
            Ecmp::Destination => self.routes.number(ends[1]),
            Ecmp::Hash | Ecmp::Flowlet | Ecmp::Packet | Ecmp::Adaptive => {
                let seed = self.first_switch().map_or(0, |k| k.ecmp_seed.typical);
                let mut hash = siphasher::sip::SipHasher13::new_with_keys(seed as u64, 0);
                // Names in place of addresses: what else stands in the file, and in which order, deals nothing anew.
                for end in ends {
                    hash.write(self.node(end).name.as_bytes());
                    hash.write_u8(0);
                }
                hash.write(owner.as_bytes());
                numbers.iter().for_each(|n| hash.write_u32(*n));
                hash.finish() as u32
            }
        }
    }

    /// The wires from a stream's source to one of its targets.
    pub(crate) fn path(&self, stream: usize, target: NodeId) -> Vec<u32> {
        self.along([self.streams[stream].source, target], self.way(stream, target))
    }

    /// The wires of a way of `Network::way_of`.
    pub fn along(&self, ends: [NodeId; 2], mut way: u32) -> Vec<u32> {
        let [source, target] = ends;
        let mut path = vec![self.out(source, 0)];
        let mut at = self.arrives(path[0]);
        while at != target && path.len() <= self.nodes.len() {
            let Some(wire) = self.routes.next(self.routes.switch(at), target, &mut way) else { break };
            path.push(wire);
            at = self.arrives(wire);
        }
        path
    }

    /// The streams of each node.
    pub(crate) fn by_source(&self) -> Vec<Vec<usize>> {
        let mut own = vec![Vec::new(); self.nodes.len()];
        self.streams.iter().enumerate().for_each(|(i, s)| own[s.source.0 as usize].push(i));
        own
    }

    /// Pairs of a source and a destination of its streams.
    pub(crate) fn pairs(&self) -> u64 {
        self.streams.iter().map(|s| s.targets.len() as u64).sum()
    }

    /// `host.0 → sw → host.1`, or to the first target and how many more.
    pub(crate) fn route_text(&self, stream: usize) -> String {
        let s = &self.streams[stream];
        let mut names = vec![self.node(s.source).name.as_str()];
        if s.targets.len() > 1 {
            return format!("{} → {} stations", names[0], s.targets.len());
        }
        names.extend(self.path(stream, s.targets.get(0)).into_iter().map(|w| self.node(self.arrives(w)).name.as_str()));
        names.join(" → ")
    }

    /// Indices of the streams of each table, in order.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        crate::plan::core::groups::groups(self.streams.iter().map(|s| s.group.as_str()))
    }

    /// Time of flight of a link at a corner.
    pub(crate) fn delay(&self, wire: u32, corner: Corner) -> Time {
        self.link(wire).delay.at(corner)
    }
}

impl Side for Network {
    fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        let mut all = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let kind = Quantity {
                default: false,
                ..Quantity::derived(node.keys.kind(), Origin::Stated, Confidence::Exact, "")
            };
            let mut settings = vec![Setting::of("is", &kind)];
            settings.extend(node.keys.settings());
            if let Some(Some(b)) = self.buffering.get(i) {
                b.fill(&mut settings);
            }
            all.push((format!("parts.{}", node.name), settings));
        }
        for link in &self.links {
            let settings = vec![
                Setting::of("ethernet", &link.rate),
                Setting::of("delay", &link.delay),
                Setting::of("mtu", &link.mtu),
            ];
            all.push((format!("links.{}", link.name), settings));
        }
        for s in &self.streams {
            let mut settings =
                vec![Setting::of("size", &s.size), Setting::of("load", &s.load), Setting::of("priority", &s.priority)];
            settings.extend(s.sizes.as_ref().map(|sizes| Setting::of("sizes", sizes.as_ref())));
            // What plain frames have been all along is not said of them.
            if s.transport.typical != Transport::Frames {
                settings.extend([Setting::of("transport", &s.transport), Setting::of("connections", &s.connections)]);
            }
            all.push((format!("flows.{}", s.name), settings));
        }
        all
    }

    /// Everything that can change an answer and is no setting: who is wired to whom, and who sends where.
    fn hash(&self, hash: &mut SipHasher13) {
        for link in &self.links {
            link.ends.iter().for_each(|e| hash.write_u32(e.0));
        }
        for s in &self.streams {
            hash.write_u32(s.source.0);
            hash.write_u8(s.pick as u8);
            s.targets.hash(hash);
            for (bytes, part) in s.sizes.iter().flat_map(|q| &q.typical.points) {
                hash.write_u64(*bytes);
                hash.write_u64(part.to_bits());
            }
            for t in s.trace.iter().flat_map(|t| t.iter()) {
                hash.write_u64(t.at);
                hash.write_u32(t.target);
                hash.write_u64(t.bytes);
            }
        }
    }

    fn flows(&self) -> usize {
        self.streams.len()
    }

    fn links(&self) -> usize {
        2 * self.links.len()
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        Network::groups(self)
    }
}
