//! A plan as a picture sees it: nodes and what joins them, whatever their technology.
//!
//! A part that several technologies know (a root complex's endpoint that is a channel adapter, and a station) is one
//! node. A shared bus is a node, too: a line with its devices tied to it. So everything has a place in one graph, and
//! its row there: fabrics have their spines on top, trees their roots.

use crate::plan::storage::{Medium, Target, Volume};
use crate::plan::{DmaPath, Plan};
use crate::scenario::keys::{PartKind, PartRole, Technology};
use std::collections::{HashMap, HashSet, VecDeque};

/// A part, or a bus.
pub(super) struct Node<'a> {
    /// `nic.1`; of a bus, that of its table: `slots`.
    pub(super) name: &'a str,
    /// The table it is from.
    pub(super) group: &'a str,
    /// What it is; `None` is a shared bus.
    pub(super) kind: Option<PartKind>,
    /// Of a bus, which of the wires.
    pub(super) wire: Option<usize>,
    /// Rows above it.
    pub(super) row: usize,
}

/// A link of any kind.
pub(super) struct Wire<'a> {
    pub(super) name: &'a str,
    /// Its nodes, the one nearer to the root first as the plan has it; both the same of a bus.
    pub(super) ends: [usize; 2],
    /// The end that receives in each direction, as reports call it: toward the second end, then toward the first. A bus
    /// has one, without a name.
    pub(super) toward: Vec<String>,
    /// `gen3 x8`, `10 Gb/s Ethernet`.
    pub(super) speed: String,
    /// Lanes, for its width in the picture.
    pub(super) lanes: u64,
    /// Outside the tree of PCIe.
    pub(super) crosslink: bool,
    /// Whether channel adapters reach their hosts over it: the estimate counts their time, but not what they move
    /// there.
    pub(super) fed: bool,
}

/// What joins two nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// A wire.
    Wire(usize),
    /// A place on a bus, or in an array.
    Tie,
}

/// The whole graph.
pub(super) struct Scene<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) wires: Vec<Wire<'a>>,
    /// Of each node: what joins it to which other.
    pub(super) joints: Vec<Vec<(Joint, usize)>>,
    /// Of each node: the flow groups that begin (even) and end (odd) there.
    pub(super) roles: Vec<Vec<usize>>,
    /// Nodes by their name.
    pub(super) place: HashMap<&'a str, usize>,
}

/// Lanes that a link is drawn with which has none.
const PLAIN: u64 = 3;
/// Ends of streams that are looked at, at most.
const MOST_ENDS: usize = 1 << 21;

impl<'a> Scene<'a> {
    pub(super) fn new(plan: &'a Plan) -> Scene<'a> {
        let mut scene = Scene {
            nodes: Vec::new(),
            wires: Vec::new(),
            joints: Vec::new(),
            roles: Vec::new(),
            place: HashMap::new(),
        };
        scene.parts(plan);
        scene.links(plan);
        scene.buses(plan);
        scene.fed(plan);
        scene.roles(plan);
        scene.rows();
        scene
    }

    /// The node of a part; one that several technologies know is what the last of them calls it.
    fn node(&mut self, name: &'a str, group: &'a str, kind: PartKind) -> usize {
        let at = *self.place.entry(name).or_insert(self.nodes.len());
        if at == self.nodes.len() {
            self.nodes.push(Node { name, group, kind: Some(kind), wire: None, row: usize::MAX });
            self.joints.push(Vec::new());
        }
        self.nodes[at].kind = Some(kind);
        at
    }

    fn parts(&mut self, plan: &'a Plan) {
        for part in plan.parts.iter() {
            self.node(&part.name, &part.group, part.keys.kind());
        }
        // A further function has no link: it stands below its device.
        for (part, device) in plan.parts.iter().filter_map(|p| Some((p, plan.part(p.function_of?)))) {
            self.tie(self.place[part.name.as_str()], self.place[device.name.as_str()]);
        }
        for node in &plan.network.nodes {
            self.node(&node.name, &node.group, node.keys.kind());
        }
        let table = |name: &'a str| name.rsplit_once('.').map_or(name, |(group, _)| group);
        for bridge in &plan.buses.bridges {
            self.node(&bridge.name, table(&bridge.name), PartKind::HostBridge);
        }
        for device in &plan.buses.devices {
            self.node(&device.name, table(&device.name), PartKind::PciDevice);
        }
        for adapter in &plan.storage.adapters {
            let kind = if adapter.controller().is_some() { PartKind::Nvme } else { PartKind::HostAdapter };
            self.node(&adapter.name, &adapter.group, kind);
        }
        // A controller and its drive are one.
        let inside =
            |t: &&Target| plan.storage.adapters[plan.storage.adapter_of_target(t) as usize].controller().is_some();
        for target in plan.storage.targets.iter().filter(|t| !inside(t)) {
            self.node(&target.name, &target.group, target.device.kind());
        }
        for adapter in &plan.cluster.adapters {
            self.node(&adapter.name, &adapter.group, PartKind::ChannelAdapter);
        }
        for switch in &plan.cluster.switches {
            self.node(&switch.name, &switch.group, PartKind::InfinibandSwitch);
        }
        for array in &plan.storage.arrays {
            let at = self.node(&array.name, &array.group, PartKind::Array);
            for disk in &array.disks {
                let disk = self.place[plan.storage.targets[*disk as usize].name.as_str()];
                self.tie(disk, at);
            }
        }
    }

    fn tie(&mut self, a: usize, b: usize) {
        self.joints[a].push((Joint::Tie, b));
        self.joints[b].push((Joint::Tie, a));
    }

    fn wire(&mut self, wire: Wire<'a>) {
        let ([a, b], joint) = (wire.ends, Joint::Wire(self.wires.len()));
        self.joints[a].push((joint, b));
        self.joints[b].push((joint, a));
        self.wires.push(wire);
    }

    fn links(&mut self, plan: &'a Plan) {
        for link in plan.links.iter() {
            let names = link.ends.each_ref().map(|e| plan.part(e.part).name.as_str());
            let speed = link.speed.typical;
            let (lanes, crosslink) = (speed.lanes.count(), link.crosslink);
            // Of the port above it, which may send what goes to peers up to the root complex.
            let acs = link.acs.words();
            let shown = if acs.is_empty() { speed.to_string() } else { format!("{speed}, ACS {acs}") };
            self.straight(&link.name, names, names.map(String::from), shown, lanes, crosslink);
        }
        let network = &plan.network;
        for link in &network.links {
            let names = link.ends.map(|n| network.node(n).name.as_str());
            let speed = format!("{} Ethernet", link.rate.typical);
            self.straight(&link.name, names, names.map(String::from), speed, PLAIN, false);
        }
        let cluster = &plan.cluster;
        for link in &cluster.links {
            let names = link.ends.map(|n| match cluster.switch_of(n) {
                Some(switch) => cluster.switches[switch].name.as_str(),
                None => cluster.adapter_of(n.0).name.as_str(),
            });
            let speed = format!("{} InfiniBand", link.rate.typical);
            self.straight(&link.name, names, link.ends.map(|n| cluster.node_name(n)), speed, PLAIN, false);
        }
        let storage = &plan.storage;
        for t in &storage.transports {
            let adapter = storage.adapters[t.adapter as usize].name.as_str();
            let mut targets = t.targets.iter().map(|d| storage.targets[*d as usize].name.as_str());
            match (&t.medium, targets.next()) {
                (Medium::Inside, _) => {}
                (Medium::Serial { .. }, Some(target)) => {
                    let names = [adapter, target];
                    self.straight(&t.name, names, names.map(String::from), t.speed(), PLAIN, false);
                }
                (_, first) => {
                    let all: Vec<&str> = std::iter::once(adapter).chain(first).chain(targets).collect();
                    self.bus(&t.name, &t.group, t.speed(), &all);
                }
            }
        }
    }

    /// A link between two nodes; `called` are its ends as reports call them.
    fn straight(
        &mut self,
        name: &'a str,
        nodes: [&'a str; 2],
        called: [String; 2],
        speed: String,
        lanes: u64,
        crosslink: bool,
    ) {
        let [Some(a), Some(b)] = nodes.map(|n| self.place.get(n).copied()) else { return };
        let [first, second] = called;
        self.wire(Wire { name, ends: [a, b], toward: vec![second, first], speed, lanes, crosslink, fed: false });
    }

    /// A bus and all that is on it.
    fn bus(&mut self, name: &'a str, group: &'a str, speed: String, on: &[&str]) {
        let (at, wire) = (self.nodes.len(), self.wires.len());
        self.nodes.push(Node { name, group, kind: None, wire: Some(wire), row: usize::MAX });
        self.joints.push(Vec::new());
        let ends = [at, at];
        self.wires.push(Wire {
            name,
            ends,
            toward: vec![String::new()],
            speed,
            lanes: PLAIN,
            crosslink: false,
            fed: false,
        });
        for part in on {
            if let Some(part) = self.place.get(part).copied() {
                self.tie(part, at);
            }
        }
    }

    fn buses(&mut self, plan: &'a Plan) {
        let buses = &plan.buses;
        for bus in &buses.buses {
            let devices = bus.devices.iter().map(|d| buses.devices[*d as usize].name.as_str());
            let all: Vec<&str> =
                std::iter::once(buses.bridges[bus.bridge as usize].name.as_str()).chain(devices).collect();
            self.bus(&bus.name, &bus.name, bus.speed.typical.to_string(), &all);
        }
    }

    /// Marks what channel adapters reach their hosts over.
    fn fed(&mut self, plan: &Plan) {
        let ways = plan.cluster.adapters.iter().filter_map(|a| a.host.as_ref()).flat_map(|h| h.dma.paths());
        let mut names: HashSet<&str> = HashSet::new();
        for way in ways {
            match way {
                DmaPath::Pcie(f) => {
                    let route = &plan.flows[f.0 as usize].route;
                    names.extend(route.iter().map(|hop| plan.link(hop.link).name.as_str()));
                }
                DmaPath::Bus(f) => {
                    names.insert(&plan.buses.of(&plan.buses.flows[f as usize]).0.name);
                }
            }
        }
        self.wires.iter_mut().for_each(|w| w.fed = names.contains(w.name));
    }

    /// Which flow groups begin and end at each node: parts that do different things are not alike.
    fn roles(&mut self, plan: &'a Plan) {
        self.roles = vec![Vec::new(); self.nodes.len()];
        let mut tables: HashMap<&str, usize> = HashMap::new();
        let mut add = |scene: &mut Scene<'a>, table: &'a str, node: &str, ends: usize| {
            let new = tables.len();
            let role = 2 * *tables.entry(table).or_insert(new) + ends;
            if let Some(&at) = scene.place.get(node)
                && !scene.roles[at].contains(&role)
            {
                scene.roles[at].push(role);
            }
        };
        for f in plan.flows.iter().filter(|f| !f.is_externally_driven()) {
            add(self, &f.group, &plan.part(f.source).name, 0);
            add(self, &f.group, &plan.part(f.target).name, 1);
        }
        let network = &plan.network;
        let mut left = MOST_ENDS;
        for s in &network.streams {
            add(self, &s.group, &network.node(s.source).name, 0);
            let seen = s.targets.len().min(left);
            left -= seen;
            for target in s.targets.iter().take(seen) {
                add(self, &s.group, &network.node(target).name, 1);
            }
        }
        for f in plan.buses.flows.iter().filter(|f| !f.is_externally_driven()) {
            add(self, &f.group, &plan.buses.devices[f.device as usize].name, usize::from(f.from_bridge));
        }
        let storage = &plan.storage;
        for f in &storage.flows {
            add(self, &f.group, &storage.workers[f.worker as usize], 0);
            add(self, &f.group, storage.volume_name(f.volume), 1);
            if let Volume::Array(a) = f.volume {
                for disk in &storage.arrays[a as usize].disks {
                    add(self, &f.group, &storage.targets[*disk as usize].name, 1);
                }
            }
        }
        for job in &plan.cluster.jobs {
            for rank in &job.ranks {
                add(self, &job.name, &plan.cluster.adapter_of(*rank).name, 0);
            }
        }
        self.roles.iter_mut().for_each(|r| r.sort_unstable());
    }

    fn is_fabric(&self, node: usize) -> bool {
        // A PCIe switch has a root above it.
        self.nodes[node]
            .kind
            .is_some_and(|k| k.row().role == PartRole::Switch && k.row().technology != Technology::Pcie)
    }

    /// Whether a joint counts for the row of a node: crosslinks are beside the tree.
    pub(super) fn is_upright(&self, joint: Joint) -> bool {
        !matches!(joint, Joint::Wire(w) if self.wires[w].crosslink)
    }

    /// Gives every node its row: the distance from the nearest top of what it hangs together with.
    fn rows(&mut self) {
        let n = self.nodes.len();
        let mut tops = self.spines();
        // What hangs together with no switch of a fabric: PCIe's roots and bridges, else its first node.
        let mut seen = vec![false; n];
        self.walk(&tops, &mut seen);
        let mut below = vec![false; n];
        let of_pcie = |kind: PartKind| kind.row().technology == Technology::Pcie;
        for wire in self.wires.iter().filter(|w| !w.crosslink && w.ends[0] != w.ends[1]) {
            below[wire.ends[1]] |= self.nodes[wire.ends[0]].kind.is_some_and(of_pcie);
        }
        let root = |node: &Node| node.kind.is_some_and(|k| of_pcie(k) || k.row().role == PartRole::Root);
        let roots: Vec<usize> = (0..n).filter(|&i| !seen[i] && !below[i] && root(&self.nodes[i])).collect();
        self.walk(&roots, &mut seen);
        tops.extend(roots);
        for i in 0..n {
            if !seen[i] {
                tops.push(i);
                self.walk(&[i], &mut seen);
            }
        }
        let mut next: VecDeque<usize> = tops.iter().copied().collect();
        tops.iter().for_each(|&t| self.nodes[t].row = 0);
        while let Some(at) = next.pop_front() {
            for k in 0..self.joints[at].len() {
                let (joint, to) = self.joints[at][k];
                if self.is_upright(joint) && self.nodes[to].row == usize::MAX {
                    self.nodes[to].row = self.nodes[at].row + 1;
                    next.push_back(to);
                }
            }
        }
    }

    /// Marks all that hangs together with some nodes.
    fn walk(&self, from: &[usize], seen: &mut [bool]) {
        let mut next: Vec<usize> = from.to_vec();
        from.iter().for_each(|&t| seen[t] = true);
        while let Some(at) = next.pop() {
            for &(joint, to) in &self.joints[at] {
                if self.is_upright(joint) && !seen[to] {
                    seen[to] = true;
                    next.push(to);
                }
            }
        }
    }

    /// Of each fabric, the switches that are farthest from its stations.
    fn spines(&self) -> Vec<usize> {
        let n = self.nodes.len();
        let mut height = vec![usize::MAX; n];
        let mut next = VecDeque::new();
        for i in (0..n).filter(|&i| !self.is_fabric(i)) {
            height[i] = 0;
            next.push_back(i);
        }
        while let Some(at) = next.pop_front() {
            for &(_, to) in self.joints[at].iter().filter(|j| self.is_fabric(j.1)) {
                if height[to] == usize::MAX {
                    height[to] = height[at] + 1;
                    next.push_back(to);
                }
            }
        }
        let mut seen = vec![false; n];
        let mut tops = Vec::new();
        for i in (0..n).filter(|&i| self.is_fabric(i)) {
            if seen[i] {
                continue;
            }
            let mut fabric = vec![i];
            seen[i] = true;
            let mut at = 0;
            while at < fabric.len() {
                for &(_, to) in self.joints[fabric[at]].iter().filter(|j| self.is_fabric(j.1)) {
                    if !seen[to] {
                        seen[to] = true;
                        fabric.push(to);
                    }
                }
                at += 1;
            }
            let most = fabric.iter().map(|&s| height[s]).max().unwrap_or(0);
            tops.extend(fabric.into_iter().filter(|&s| height[s] == most));
        }
        tops.sort_unstable();
        tops
    }
}
