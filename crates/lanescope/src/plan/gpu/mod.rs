//! A cluster of GPUs, resolved: which elements have a capacity, and what a packet takes of each on its way.
//!
//! Everything is by rule: node, GPU and NIC have numbers, and an element's place in the arena is arithmetic. A packet
//! passes stages; each stage is one element, or several where a switch of NVLink reduces (all GPUs send) or multicasts
//! (all receive).

pub mod collective;
pub mod ladder;
pub mod schedule;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::protocol::infiniband::{INFINIBAND, Operation, Packet, Position, ROCE, Service};
use crate::protocol::pcie::{self, Header, Speed};
use crate::protocol::{nvlink, pcie::completion_head};
use crate::scenario::Included;
use crate::scenario::gpu::{self, Cluster};
use crate::scenario::keys::{CollectiveAlgorithm, CollectiveProtocol, Setting};
use crate::scenario::quantity::{Confidence, Corner, Origin};
use crate::units::Rate;
use std::collections::BTreeSet;

/// GPUs of a cluster at most.
pub(crate) const MOST_GPUS: u64 = 65_536;
/// GPUs of a node at most.
const MOST_OF_NODE: u32 = 1024;

/// One direction of something that has a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// All links of a GPU to its NVSwitches.
    Up(u32),
    /// And from them.
    Down(u32),
    /// The links of one GPU to another, where no switch joins them.
    Pair(u32, u32),
    /// A NIC's slot, towards the NIC.
    SlotOut(u32),
    /// And from it.
    SlotIn(u32),
    /// A NIC's link, towards the network.
    NicOut(u32),
    /// And from it.
    NicIn(u32),
    /// NVLink-C2C of a GPU, to its processor and the NICs there.
    ChipOut(u32),
    /// And from it.
    ChipIn(u32),
    /// All links of a leaf switch to the spine.
    LeafUp(u32),
    /// And from it.
    LeafDown(u32),
}

/// One element on a packet's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    /// Its place in the arena.
    pub element: u32,
    /// The element of the opposite direction, which carries so many flits of answer for each full packet; of NVLink
    /// only.
    pub answer: Option<(u32, u64)>,
    /// Whether the packet is one that a switch reduces or multicasts.
    pub nvls: bool,
}

/// The way of a message: stages one after the other, each of one element or of several at once.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The stages.
    pub stages: Vec<Vec<Leg>>,
    /// Whether it leaves the node.
    pub network: bool,
    /// Largest payload of a packet.
    pub unit: u64,
}

/// A cluster with every default filled in, at one corner of its ranges.
#[derive(Clone, Debug)]
pub struct GpuCluster {
    /// One line.
    pub title: String,
    /// Nodes.
    pub nodes: u32,
    /// GPUs of a node.
    pub gpus: u32,
    /// NICs of a node.
    pub nics: u32,
    /// What joins the GPUs of a node; none where there is one GPU.
    pub links: Option<&'static nvlink::Generation>,
    /// Whether the switch of a node reduces.
    pub nvls: bool,
    /// Whether messages to another rail go through the GPU of that rail.
    pub pxn: bool,
    /// Channels.
    pub channels: u32,
    /// Bytes per second of one.
    pub channel_rate: f64,
    /// Bytes per second of a GPU's memory.
    pub memory_rate: f64,
    /// Bytes of a step of a channel.
    pub chunk: u64,
    /// Slices of it.
    pub slices: u32,
    /// Slices under way at most.
    pub slots: u32,
    /// Bytes of a stage of in-switch reduction, of a channel.
    pub nvls_chunk: u64,
    /// Seconds until the first byte.
    pub launch: f64,
    /// Seconds of a hop over links of GPUs, by [`CollectiveProtocol`].
    pub hop: [f64; 3],
    /// Seconds of a hop over the network.
    pub net: [f64; 3],
    /// Seconds of a stage of in-switch reduction.
    pub hop_nvls: f64,
    /// The algorithm asked for.
    pub algorithm: Option<CollectiveAlgorithm>,
    /// The protocol asked for.
    pub protocol: Option<CollectiveProtocol>,
    rails: bool,
    spine: bool,
    pods: u32,
    nodes_per_leaf: u32,
    pub(crate) mtu: u64,
    roce: bool,
    slot: Speed,
    mps: u64,
    /// Bytes per second: of a GPU's links, of those of a pair, of a slot, a NIC and the spine's side of a leaf.
    rates: [f64; 5],
    /// The same of NVLink-C2C, where there is such.
    chip: Option<f64>,
    nvls_efficiency: f64,
    down: BTreeSet<u32>,
    /// Every value with its origin.
    pub settings: Vec<(String, Vec<Setting>)>,
}

/// A value that is the vendor's word.
fn vendors(key: &'static str, value: String, source: &str) -> Setting {
    let (origin, confidence) = (Origin::Stated, Confidence::Likely);
    Setting { key, value, range: None, origin, confidence, source: source.into(), default: true }
}

/// What is known of a generation of links, with its origins.
fn generation(l: &nvlink::Generation) -> Vec<Setting> {
    let packet =
        format!("{} B for {} B of data, {} B of answer", nvlink::packet(nvlink::DATA), nvlink::DATA, nvlink::FLIT);
    let inferred = "Foley and Danskin, IEEE Micro 37(2), 2017; that this generation keeps it is inferred";
    vec![
        vendors("links", l.links.to_string(), l.source),
        vendors("lanes", l.lanes.to_string(), l.source),
        vendors("lane_rate", format!("{} Gb/s", l.lane), l.source),
        vendors("signalling", l.signalling.to_owned(), l.source),
        Setting { origin: Origin::Assumed, confidence: Confidence::Guess, ..vendors("packet", packet, inferred) },
    ]
}

impl GpuCluster {
    /// Resolves a cluster at a corner of its ranges; `None` where it cannot be.
    pub(crate) fn build(diagnostics: &mut Diagnostics, c: &Cluster, corner: Corner) -> Option<GpuCluster> {
        let before = diagnostics.count();
        let (node, network, how) = (&c.node, &c.network, &c.collectives);
        let (nodes, gpus, nics) = (c.cluster.nodes.typical.get(), node.gpus.typical.get(), node.nics.typical);
        let mut wrong = |at, what: String, hint: &str| diagnostics.push(Diagnostic::error(at, what).hint(hint));
        let at = |span: Option<crate::diagnostic::Span>| span.unwrap_or(c.span);
        if u64::from(nodes) * u64::from(gpus) > MOST_GPUS || gpus > MOST_OF_NODE || nics > MOST_OF_NODE {
            let what = format!("{nodes} nodes of {gpus} GPUs and {nics} NICs");
            let hint = format!("at most {MOST_GPUS} GPUs, {MOST_OF_NODE} GPUs and NICs of a node");
            wrong(at(c.cluster.nodes.span), what, &hint);
            return None;
        }
        let links = match (&node.nvlink, &node.xgmi) {
            (Some(a), Some(_)) => {
                wrong(at(a.span), "a node has nvlink or xgmi, not both".into(), "leave one out");
                None
            }
            (Some(a), None) => Some(a.typical.generation()),
            (None, Some(b)) => Some(b.typical.generation()),
            (None, None) => None,
        };
        if gpus > 1 && node.nvlink.is_none() && node.xgmi.is_none() {
            let hint = "set nvlink = \"4\" or xgmi = \"3\"; GPUs that only PCIe joins are what run and explain answer";
            wrong(at(node.gpus.span), format!("nothing joins the {gpus} GPUs of a node"), hint);
        }
        let nvls = node.nvls.as_ref().map_or(links.is_some_and(|l| l.reduces), |q| q.typical);
        if let (true, Some(l), Some(q)) = (nvls, links, &node.nvls)
            && !l.switched
        {
            wrong(at(q.span), format!("{} has no switch that can reduce", l.name), "leave nvls out");
        }
        if let (Some(q), None) = (&node.c2c_rate, &node.c2c) {
            wrong(at(q.span), "a c2c_rate without C2C".into(), "set c2c = \"1\", or leave c2c_rate out");
        }
        if nodes > 1 && nics == 0 {
            let what = format!("its {nodes} nodes are not connected: a node has no NIC");
            wrong(at(node.nics.span.or(c.cluster.nodes.span)), what, "set nics = 8 and infiniband = \"ndr 4x\"");
        }
        let [fewer, more] = [gpus.min(nics), gpus.max(nics)];
        if fewer > 0 && more % fewer != 0 {
            let hint = "each GPU has as many NICs, or each NIC as many GPUs, as the others";
            wrong(at(node.nics.span), format!("{nics} NICs cannot be divided among {gpus} GPUs"), hint);
        }
        let nic = match (&node.infiniband, &node.roce) {
            (Some(a), Some(_)) => {
                wrong(at(a.span), "a NIC has infiniband or roce, not both".into(), "leave one out");
                None
            }
            (Some(a), None) => Some((a.typical.after_flow_control(1).bytes(), false)),
            (None, Some(b)) => Some((b.typical.rate().bytes(), true)),
            (None, None) => None,
        };
        if nics > 0 && nic.is_none() {
            let hint = "set infiniband = \"ndr 4x\" or roce = \"400 Gb/s\"";
            wrong(at(node.nics.span), "its NICs have no link".into(), hint);
        }
        for (name, chunk) in [("chunk", &how.chunk), ("nvls_chunk", &how.nvls_chunk)] {
            if !(256..=1 << 30).contains(&chunk.typical.0) {
                wrong(at(chunk.span), format!("{name} cannot be {}", chunk.typical), "256 B to 1 GiB");
            }
        }
        let most = [(&how.channels, 1024), (&how.slices, 64), (&how.slots, 1024)];
        for ((q, most), name) in most.into_iter().zip(["channels", "slices", "slots"]) {
            if q.typical.get() > most {
                wrong(at(q.span), format!("{name} cannot be {}", q.typical), &format!("at most {most}"));
            }
        }
        let per_leaf = network.nodes_per_leaf.as_ref().map_or(nodes, |q| q.typical.get()).min(nodes);
        let pods = nodes.div_ceil(per_leaf);
        let slot = node.slot.typical;
        let (nic, roce) = nic.unwrap_or_default();
        let nic = nic * network.efficiency.at(corner).0;
        let below = per_leaf * if network.rails.typical { 1 } else { nics };
        let gpu = node.link_rate.as_ref().map_or(links.map_or(0.0, |l| l.gpu().bytes()), |q| q.at(corner).bytes());
        // Links of a GPU are divided evenly among the others of its node.
        let pair = gpu / f64::from(gpus.saturating_sub(1).max(1));
        let times =
            |keys: [&crate::scenario::quantity::Quantity<crate::units::Time>; 3]| keys.map(|q| q.at(corner).seconds());
        let memory = links.map_or(2e12, |l| l.memory as f64);
        let mut settings = vec![
            ("cluster".to_owned(), c.cluster.settings()),
            ("node".to_owned(), node.settings()),
            ("network".to_owned(), network.settings()),
            ("collectives".to_owned(), how.settings()),
        ];
        if let Some(l) = links {
            settings.insert(2, (l.name.to_owned(), generation(l)));
            let own = &mut settings[1].1;
            let rates = [("link_rate", l.gpu()), ("memory_rate", Rate::from_bits(8 * l.memory))];
            let missing = rates.into_iter().filter(|(key, _)| own.iter().all(|s| s.key != *key)).collect::<Vec<_>>();
            own.extend(missing.into_iter().map(|(key, rate)| vendors(key, rate.to_string(), l.source)));
        }
        if node.c2c.is_some() && node.c2c_rate.is_none() {
            let rate = Rate::from_bits(8 * nvlink::C2C).to_string();
            settings[1].1.push(vendors("c2c_rate", rate, "GH200 white paper: 900 GB/s of both directions"));
        }
        let mut cluster = GpuCluster {
            title: c.title.clone(),
            nodes,
            gpus,
            nics,
            links,
            nvls: nvls && gpus > 1,
            pxn: how.pxn.typical && gpus > 1,
            channels: how.channels.typical.get(),
            channel_rate: how.channel_rate.at(corner).bytes(),
            memory_rate: node.memory_rate.as_ref().map_or(memory, |q| q.at(corner).bytes()),
            chunk: how.chunk.typical.0,
            slices: how.slices.typical.get(),
            slots: how.slots.typical.get(),
            nvls_chunk: how.nvls_chunk.typical.0,
            launch: how.launch.at(corner).seconds(),
            hop: times([&how.hop_simple, &how.hop_ll128, &how.hop_ll]),
            net: times([&how.net_simple, &how.net_ll128, &how.net_ll])
                .map(|t| t + network.latency.at(corner).seconds()),
            hop_nvls: how.hop_nvls.at(corner).seconds(),
            algorithm: how.algorithm.as_ref().map(|q| q.typical),
            protocol: how.protocol.as_ref().map(|q| q.typical),
            rails: network.rails.typical,
            spine: network.spine.typical,
            pods,
            nodes_per_leaf: per_leaf,
            mtu: network.mtu.typical.bytes(),
            roce,
            slot,
            mps: node.mps.typical.bytes(),
            rates: [
                gpu,
                pair,
                slot.coded().bytes() * slot.usable(pcie::skp_intervals(slot.generation).map_or(0, |i| i.1)),
                nic,
                nic * f64::from(below) / f64::from(network.oversubscription.typical.get()),
            ],
            chip: (node.c2c.as_ref())
                .map(|_| node.c2c_rate.as_ref().map_or(nvlink::C2C as f64, |q| q.at(corner).bytes())),
            nvls_efficiency: how.nvls_efficiency.at(corner).0,
            down: BTreeSet::new(),
            settings,
        };
        if let Some(q) = &network.leaves
            && nics > 0
            && q.typical < cluster.leaves()
        {
            let rule = cluster.leaf_rule();
            let first = cluster.leaf_name(q.typical);
            let what = format!("{} leaf switches, but {rule} needs {}", q.typical, cluster.leaves());
            wrong(at(q.span), what, &format!("{first} has no switch; leave leaves out, or rails = false"));
        }
        for name in c.cluster.down.iter().flat_map(|q| &q.typical.0) {
            match cluster.named(&name.text) {
                Some(all) => cluster.down.extend(all),
                None => {
                    let hint = "node0.nic3, node1.gpu2 (its links to other GPUs), node0.c2c1, rail2, leaf5 or spine";
                    wrong(name.span, format!("there is no {:?} in this cluster", name.text), hint);
                }
            }
        }
        (diagnostics.count() == before).then_some(cluster)
    }

    /// Reads and resolves a text: at the typical values, and where there are ranges at the slower and the faster ends.
    pub fn corners(diagnostics: &mut Diagnostics, text: Included, sets: &[String]) -> Option<Vec<GpuCluster>> {
        let cluster = gpu::read(diagnostics, text, sets)?;
        let typical = GpuCluster::build(diagnostics, &cluster, Corner::Typical)?;
        let ranged = typical.settings.iter().flat_map(|(_, s)| s).any(|s| s.range.is_some());
        let mut all = vec![typical];
        for corner in [Corner::Slower, Corner::Faster].into_iter().filter(|_| ranged) {
            all.push(GpuCluster::build(diagnostics, &cluster, corner)?);
        }
        Some(all)
    }

    /// The same with so many channels.
    pub fn with_channels(&self, channels: u32) -> GpuCluster {
        GpuCluster { channels, ..self.clone() }
    }

    /// The same with so many nodes.
    pub(crate) fn with_nodes(&self, nodes: u32) -> GpuCluster {
        GpuCluster { nodes, ..self.clone() }
    }

    /// Nodes below one leaf switch.
    pub(crate) fn nodes_below_a_leaf(&self) -> u32 {
        self.nodes_per_leaf
    }

    /// Ranks: GPUs of all nodes.
    pub fn ranks(&self) -> u32 {
        self.nodes * self.gpus
    }

    /// Leaf switches, or switches of all rails.
    fn leaves(&self) -> u32 {
        self.pods * if self.rails { self.nics.max(1) } else { 1 }
    }

    fn leaf_rule(&self) -> String {
        let rails = if self.rails { format!("a rail for each of {} NICs", self.nics) } else { "a leaf".into() };
        if self.pods > 1 { format!("{rails} in each of {} pods", self.pods) } else { rails }
    }

    fn leaf_name(&self, leaf: u32) -> String {
        match (self.rails, self.pods) {
            (true, 1) => format!("rail{leaf}"),
            (true, pods) => format!("rail{} of pod {}", leaf / pods, leaf % pods),
            (false, _) => format!("leaf{leaf}"),
        }
    }

    /// The leaf switch of a NIC, numbered rail by rail and pod by pod.
    fn leaf(&self, nic: u32) -> u32 {
        let pod = nic / self.nics / self.nodes_per_leaf;
        if self.rails { nic % self.nics * self.pods + pod } else { pod }
    }

    /// The leaf switch of the rail that stands for another's, where rails repeat after so many.
    pub(crate) fn leaf_of_rails(&self, leaf: u32, rails: u32) -> u32 {
        if self.rails { leaf / self.pods % rails * self.pods + leaf % self.pods } else { leaf }
    }

    /// Whether a place is one that all NICs of a node share.
    pub(crate) fn of_all_nics(&self, place: u32) -> bool {
        !self.rails && matches!(self.element(place), Element::LeafUp(_) | Element::LeafDown(_))
    }

    /// The NIC of a GPU on a channel.
    pub(crate) fn nic(&self, rank: u32, channel: u32) -> u32 {
        let (node, gpu) = (rank / self.gpus, rank % self.gpus);
        let own = match self.nics / self.gpus {
            0 => gpu / (self.gpus / self.nics.max(1)),
            each => gpu * each + channel / self.gpus % each,
        };
        node * self.nics + own
    }

    /// Elements in the arena.
    pub(crate) fn elements(&self) -> u32 {
        self.place(Element::Pair(self.ranks(), 0))
    }

    /// The place of an element.
    pub(crate) fn place(&self, element: Element) -> u32 {
        let (ranks, nics, leaves) = (self.ranks(), self.nodes * self.nics, self.leaves());
        let nic = 2 * ranks;
        let leaf = nic + 4 * nics;
        match element {
            Element::Up(gpu) => gpu,
            Element::Down(gpu) => ranks + gpu,
            Element::SlotOut(n) => nic + n,
            Element::SlotIn(n) => nic + nics + n,
            Element::NicOut(n) => nic + 2 * nics + n,
            Element::NicIn(n) => nic + 3 * nics + n,
            Element::LeafUp(n) => leaf + n,
            Element::LeafDown(n) => leaf + leaves + n,
            Element::ChipOut(gpu) => leaf + 2 * leaves + gpu,
            Element::ChipIn(gpu) => leaf + 2 * leaves + ranks + gpu,
            Element::Pair(from, to) => {
                let switched = self.links.is_none_or(|l| l.switched);
                leaf + 2 * leaves + self.chips() + if switched { 0 } else { from * self.gpus + to % self.gpus }
            }
        }
    }

    /// Whether NVLink-C2C stands between GPUs and NICs.
    pub(crate) fn has_chips(&self) -> bool {
        self.chip.is_some()
    }

    /// Elements of NVLink-C2C.
    fn chips(&self) -> u32 {
        if self.chip.is_some() { 2 * self.ranks() } else { 0 }
    }

    /// The element at a place.
    pub(crate) fn element(&self, place: u32) -> Element {
        let (ranks, nics, leaves) = (self.ranks(), self.nodes * self.nics, self.leaves());
        let nic = 2 * ranks;
        let leaf = nic + 4 * nics;
        match place {
            p if p < ranks => Element::Up(p),
            p if p < nic => Element::Down(p - ranks),
            p if p < leaf => {
                let (kind, n) = ((p - nic) / nics, (p - nic) % nics);
                [Element::SlotOut(n), Element::SlotIn(n), Element::NicOut(n), Element::NicIn(n)][kind as usize]
            }
            p if p < leaf + leaves => Element::LeafUp(p - leaf),
            p if p < leaf + 2 * leaves => Element::LeafDown(p - leaf - leaves),
            p if p < leaf + 2 * leaves + self.chips() => {
                let gpu = p - leaf - 2 * leaves;
                if gpu < ranks { Element::ChipOut(gpu) } else { Element::ChipIn(gpu - ranks) }
            }
            p => {
                let pair = p - leaf - 2 * leaves - self.chips();
                let from = pair / self.gpus;
                Element::Pair(from, from / self.gpus * self.gpus + pair % self.gpus)
            }
        }
    }

    /// As a report names it.
    pub(crate) fn name(&self, place: u32) -> String {
        let links = self.links.map_or("links", |l| l.name);
        let gpu = |g: u32| format!("gpu{} of node{}", g % self.gpus, g / self.gpus);
        let nic = |n: u32| format!("nic{} of node{}", n % self.nics, n / self.nics);
        match self.element(place) {
            Element::Up(g) => format!("{links} of {}, out", gpu(g)),
            Element::Down(g) => format!("{links} of {}, in", gpu(g)),
            Element::Pair(a, b) => {
                format!("{links} of node{}, gpu{} to gpu{}", a / self.gpus, a % self.gpus, { b % self.gpus })
            }
            Element::SlotOut(n) => format!("slot of {} ({}), to the NIC", nic(n), self.slot),
            Element::SlotIn(n) => format!("slot of {} ({}), from the NIC", nic(n), self.slot),
            Element::NicOut(n) => format!("link of {}, out", nic(n)),
            Element::NicIn(n) => format!("link of {}, in", nic(n)),
            Element::ChipOut(g) => format!("C2C of {}, out", gpu(g)),
            Element::ChipIn(g) => format!("C2C of {}, in", gpu(g)),
            Element::LeafUp(l) => format!("{}, to the spine", self.leaf_name(l)),
            Element::LeafDown(l) => format!("{}, from the spine", self.leaf_name(l)),
        }
    }

    /// Bytes per second of the wire of an element.
    pub(crate) fn rate(&self, place: u32) -> f64 {
        match self.element(place) {
            Element::Up(_) | Element::Down(_) => self.rates[0],
            Element::Pair(..) => self.rates[1],
            Element::SlotOut(_) | Element::SlotIn(_) => self.rates[2],
            Element::NicOut(_) | Element::NicIn(_) => self.rates[3],
            Element::LeafUp(_) | Element::LeafDown(_) => self.rates[4],
            Element::ChipOut(_) | Element::ChipIn(_) => self.chip.unwrap_or(f64::INFINITY),
        }
    }

    /// Bytes that a packet with so much payload takes of an element.
    pub(crate) fn wire(&self, leg: Leg, payload: u64) -> f64 {
        match self.element(leg.element) {
            Element::Up(_) | Element::Down(_) | Element::Pair(..) => {
                let bytes = nvlink::packet(payload) as f64;
                if leg.nvls { bytes / self.nvls_efficiency } else { bytes }
            }
            Element::ChipOut(_) | Element::ChipIn(_) => nvlink::lines(payload).0 as f64,
            // The NIC reads the GPU's memory: completions, as large as a write's payload.
            Element::SlotOut(_) => {
                let head = completion_head(self.slot.generation) + 4;
                (payload.div_ceil(self.mps) * head + payload) as f64
            }
            Element::SlotIn(_) => {
                let head = pcie::tlp(self.slot.generation, Header::Dw4, 0, false);
                (payload.div_ceil(self.mps) * head + payload) as f64
            }
            _ => {
                let (operation, service) = (Operation::Write, Service::Rc);
                let packet = Packet { operation, service, position: Position::Middle, payload };
                packet.wire(if self.roce { ROCE } else { INFINIBAND }) as f64
            }
        }
    }

    /// Seconds of so many flits of answer on an element.
    pub(crate) fn answer(&self, place: u32, flits: u64) -> f64 {
        (flits * nvlink::FLIT) as f64 / self.rate(place)
    }

    /// Nodes whose transfers to a node so far away (by exclusive or) meet at an element with those of one: at a leaf's
    /// links to the spine all that leave it, elsewhere none but its own.
    pub(crate) fn nodes_that_cross(&self, place: u32, distance: u32) -> f64 {
        if !matches!(self.element(place), Element::LeafUp(_) | Element::LeafDown(_)) {
            return 1.0;
        }
        let leaf = |node: u32| node / self.nodes_per_leaf;
        let below = 0..self.nodes_per_leaf.min(self.nodes);
        f64::from(below.filter(|v| leaf(*v) != leaf(v ^ distance)).count().max(1) as u32)
    }

    /// From GPU to GPU of a node.
    pub(crate) fn over_links(&self, from: u32, to: u32) -> Path {
        let leg =
            |element, answer| Leg { element: self.place(element), answer: Some((self.place(answer), 1)), nvls: false };
        let stages = match self.links.is_none_or(|l| l.switched) {
            true => {
                vec![vec![leg(Element::Up(from), Element::Down(from))], vec![leg(Element::Down(to), Element::Up(to))]]
            }
            false => vec![vec![leg(Element::Pair(from, to), Element::Pair(to, from))]],
        };
        Path { stages, network: false, unit: nvlink::DATA }
    }

    /// From the memory behind a NIC to that behind another; an error where no way leads there.
    pub(crate) fn over_network(&self, from: u32, to: u32) -> Result<Path, String> {
        let [a, b] = [from, to].map(|n| self.leaf(n));
        let mut way = vec![Element::SlotOut(from), Element::NicOut(from)];
        if a != b {
            if !self.spine {
                return Err(format!(
                    "nothing joins {} and {}: the network has no spine",
                    self.leaf_name(a),
                    self.leaf_name(b)
                ));
            }
            way.extend([Element::LeafUp(a), Element::LeafDown(b)]);
        }
        way.extend([Element::NicIn(to), Element::SlotIn(to)]);
        let leg = |e| vec![Leg { element: self.place(e), answer: None, nvls: false }];
        Ok(Path { stages: way.into_iter().map(leg).collect(), network: true, unit: self.mtu })
    }

    /// From a GPU to another on a channel.
    pub(crate) fn way(&self, from: u32, to: u32, channel: u32) -> Result<Path, String> {
        let path = if from / self.gpus == to / self.gpus {
            self.over_links(from, to)
        } else {
            let mut path = self.over_network(self.nic(from, channel), self.nic(to, channel))?;
            if self.chip.is_some() {
                let answers = nvlink::lines(path.unit).1;
                let leg = |element, back| {
                    let answer = Some((self.place(back), answers));
                    vec![Leg { element: self.place(element), answer, nvls: false }]
                };
                path.stages.insert(0, leg(Element::ChipOut(from), Element::ChipIn(from)));
                path.stages.push(leg(Element::ChipIn(to), Element::ChipOut(to)));
            }
            path
        };
        self.checked(path)
    }

    /// The elements of a way in words, one behind the other; an error where none leads there.
    pub(crate) fn way_text(&self, from: u32, to: u32) -> Result<String, String> {
        let path = self.way(from, to, 0)?;
        let names: Vec<String> = path.stages.iter().flatten().map(|l| self.name(l.element)).collect();
        Ok(names.join(" → "))
    }

    /// The switch of a node adds up what all its GPUs hold, for one of them; or sends one's data to all.
    pub(crate) fn in_switch(&self, one: u32, multicast: bool) -> Result<Path, String> {
        let first = one / self.gpus * self.gpus;
        let all = first..first + self.gpus;
        let leg =
            |element, answer| Leg { element: self.place(element), answer: Some((self.place(answer), 1)), nvls: true };
        let up = |g: u32| leg(Element::Up(g), Element::Down(g));
        let down = |g: u32| leg(Element::Down(g), Element::Up(g));
        let stages = match multicast {
            true => vec![vec![up(one)], all.map(down).collect()],
            false => vec![all.map(up).collect(), vec![down(one)]],
        };
        self.checked(Path { stages, network: false, unit: nvlink::DATA })
    }

    fn checked(&self, path: Path) -> Result<Path, String> {
        let dead = path.stages.iter().flatten().find(|l| self.down.contains(&l.element));
        match dead {
            Some(l) => Err(format!("{} is down", self.name(l.element))),
            None => Ok(path),
        }
    }

    /// The elements that a name stands for.
    fn named(&self, name: &str) -> Option<Vec<u32>> {
        let number = |text: &str, prefix: &str| text.strip_prefix(prefix)?.parse::<u32>().ok();
        let leaf = |l: u32| [Element::LeafUp(l), Element::LeafDown(l)];
        let nic = |n: u32| [Element::NicOut(n), Element::NicIn(n)];
        let all = || 0..self.nodes * self.nics;
        if let Some((node, part)) = name.split_once('.') {
            let node = number(node, "node").filter(|n| *n < self.nodes)?;
            if let Some(n) = number(part, "nic").filter(|n| *n < self.nics) {
                return Some(nic(node * self.nics + n).map(|e| self.place(e)).to_vec());
            }
            if let Some(g) = number(part, "c2c").filter(|g| *g < self.gpus && self.chip.is_some()) {
                let g = node * self.gpus + g;
                return Some([Element::ChipOut(g), Element::ChipIn(g)].map(|e| self.place(e)).to_vec());
            }
            let g = node * self.gpus + number(part, "gpu").filter(|n| *n < self.gpus && self.gpus > 1)?;
            if self.links.is_some_and(|l| l.switched) {
                return Some([Element::Up(g), Element::Down(g)].map(|e| self.place(e)).to_vec());
            }
            let others = (node * self.gpus..(node + 1) * self.gpus).filter(|o| *o != g);
            let both = others.flat_map(|o| [Element::Pair(g, o), Element::Pair(o, g)]);
            return Some(both.map(|e| self.place(e)).collect());
        }
        let below = |l: u32| all().filter(move |n| self.leaf(*n) == l).flat_map(nic).collect::<Vec<_>>();
        let some = match name {
            "spine" if self.leaves() > 1 => (0..self.leaves()).flat_map(leaf).collect(),
            _ if self.rails => {
                let rail = number(name, "rail").filter(|r| *r < self.nics)?;
                (0..self.pods).flat_map(|p| below(rail * self.pods + p)).collect()
            }
            _ => below(number(name, "leaf").filter(|l| *l < self.leaves() && self.nics > 0)?),
        };
        Some(some.into_iter().map(|e| self.place(e)).collect())
    }

    /// Seconds of a hop.
    pub(crate) fn latency(&self, network: bool, protocol: CollectiveProtocol) -> f64 {
        if network { self.net[protocol as usize] } else { self.hop[protocol as usize] }
    }

    /// Bytes that a protocol puts on the way for so many of data.
    pub(crate) fn carried(protocol: CollectiveProtocol, bytes: u64) -> u64 {
        match protocol {
            CollectiveProtocol::Simple => bytes,
            CollectiveProtocol::Ll128 => (bytes as u128 * 128).div_ceil(120) as u64,
            CollectiveProtocol::Ll => bytes.saturating_mul(2),
        }
    }
}
