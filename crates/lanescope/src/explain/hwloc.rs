//! A host as hwloc's XML, version 2: nodes with their memory and distances, bridges, functions, and what links carry.
//!
//! A dump that is read again says the same. What hwloc has a place for and no dump said is left out; but a file must
//! name processors and nodes, or hwloc refuses it: where no dump lists them there is one of each, and a remark says so.
//! `pci_link_speed` is what a link is believed to run at under load. As memory attributes stand what each device should
//! read and write of its node's memory, as distances what peers should write to one another, in MiB/s as hwloc counts.

use super::rate::mebibytes;
use super::{Corner, Explained, Topology, explain};
use crate::import::host::hwloc::UNASSIGNED_CLASS;
use crate::import::host::xml::escape;
use crate::import::host::{Address, Function, Host, Kind, value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Elements inside one another, at most.
const MOST_DEEP: usize = 100;
/// Processors of a node that are written, at most.
const MOST_PROCESSORS: u32 = 4096;
/// Numbers of `distances2` in one element; hwloc itself breaks its lists.
const PER_LINE: usize = 10;

/// hwloc's flags of distances (hwloc/distances.h): from the operating system, by a user, of latency, of bandwidth.
const OS_LATENCY: u32 = 1 | 4;
const USER_BANDWIDTH: u32 = 2 | 8;
/// hwloc's flags of memory attributes (hwloc/memattrs.h): higher is better, and each value has an initiator.
const HIGHER_OF_INITIATOR: u32 = 1 | 4;

struct Pen<'a> {
    topology: &'a Topology<'a>,
    children: BTreeMap<Option<Address>, Vec<Address>>,
    written: BTreeSet<Address>,
    /// gp_index by address of a function, and by node.
    functions: BTreeMap<Address, u64>,
    nodes: BTreeMap<u32, u64>,
    next: u64,
    out: String,
}

/// `0-3,8` as processors.
fn processors(text: &str) -> BTreeSet<u32> {
    let mut all = BTreeSet::new();
    for part in text.split([',', ' ']).filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            all.extend((first..=last.min(MOST_PROCESSORS)).take(MOST_PROCESSORS as usize));
        }
    }
    all
}

/// hwloc's bitmap: words of 32 bits, the highest first.
fn bitmap(bits: &BTreeSet<u32>) -> String {
    let words = bits.last().map_or(1, |b| b / 32 + 1);
    let word = |n: u32| bits.range(n * 32..n * 32 + 32).fold(0u32, |w, b| w | 1 << (b % 32));
    (0..words).rev().map(|n| format!("0x{:08x}", word(n))).collect::<Vec<_>>().join(",")
}

/// Writes the file.
pub fn emit(host: &Host) -> String {
    let topology = Topology::of(host);
    let mut children: BTreeMap<Option<Address>, Vec<Address>> = BTreeMap::new();
    for address in host.functions.keys() {
        children.entry(topology.tree.parent(*address)).or_default().push(*address);
    }
    let pen = Pen {
        topology: &topology,
        children,
        written: BTreeSet::new(),
        functions: BTreeMap::new(),
        nodes: BTreeMap::new(),
        next: 2,
        out: String::new(),
    };
    pen.file()
}

impl Pen<'_> {
    fn index(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn file(mut self) -> String {
        let host = self.topology.host;
        // A node whose processors no dump lists gets one of its own, since hwloc knows no node without.
        let mut sets: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (node, known) in &host.nodes {
            sets.insert(*node, value(&known.processors).map(|p| processors(&p)).unwrap_or_default());
        }
        for node in host.functions.values().filter_map(|f| value(&f.node)) {
            sets.entry(node).or_default();
        }
        // What a dump has no node for is no node when it is read again.
        let numbered = !sets.is_empty();
        if !numbered {
            sets.insert(0, BTreeSet::new());
        }
        let free = sets.values().flatten().max().map_or(0, |m| m + 1);
        let made_up = sets.values().any(BTreeSet::is_empty);
        for (set, cpu) in sets.values_mut().filter(|s| s.is_empty()).zip(free..) {
            set.insert(cpu);
        }
        let all: BTreeSet<u32> = sets.values().flatten().copied().collect();
        let nodes: BTreeSet<u32> = sets.keys().copied().collect();
        self.out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";
        self.out += "<topology version=\"2.0\">\n";
        let whole = sets_of(&all, &nodes);
        let allowed = format!("allowed_cpuset=\"{}\" allowed_nodeset=\"{}\"", bitmap(&all), bitmap(&nodes));
        let _ = writeln!(self.out, "  <object type=\"Machine\" os_index=\"0\" {whole} {allowed} gp_index=\"1\">");
        self.infos(made_up);
        // Sockets that no dump assigns to nodes are not written.
        let packages = value(&host.sockets).filter(|s| *s as usize == sets.len());
        let alone = sets.len() == 1;
        for (node, set) in &sets {
            let own = sets_of(set, &BTreeSet::from([*node]));
            let package = self.index();
            let name = if packages.is_some() || (alone && host.sockets.is_some()) { "Package" } else { "Group" };
            let _ = writeln!(self.out, "    <object type=\"{name}\" os_index=\"{node}\" {own} gp_index=\"{package}\">");
            let index = self.index();
            self.nodes.insert(*node, index);
            let memory = host.nodes.get(node).and_then(|n| value(&n.memory));
            let memory = memory.map_or_else(String::new, |m| format!(" local_memory=\"{m}\""));
            let number = if numbered { format!(" os_index=\"{node}\"") } else { String::new() };
            let _ = writeln!(self.out, "      <object type=\"NUMANode\"{number} {own} gp_index=\"{index}\"{memory}/>");
            for cpu in set {
                let index = self.index();
                let bit = sets_of(&BTreeSet::from([*cpu]), &BTreeSet::from([*node]));
                let _ = writeln!(self.out, "      <object type=\"PU\" os_index=\"{cpu}\" {bit} gp_index=\"{index}\"/>");
            }
            self.roots(Some(*node), 6);
            self.out += "    </object>\n";
        }
        self.roots(None, 4);
        self.out += "  </object>\n";
        self.distances();
        let report = explain(host);
        self.peers(&report);
        self.memory(&report);
        self.out += "</topology>\n";
        self.out
    }

    fn infos(&mut self, made_up: bool) {
        let host = self.topology.host;
        let mut infos = Vec::new();
        infos.extend(host.processor.as_ref().map(|p| ("CPUModel", p.value.clone())));
        if let Some((family, model)) = value(&host.family) {
            infos.extend([("CPUFamilyNumber", family.to_string()), ("CPUModelNumber", model.to_string())]);
        }
        infos.push(("Backend", "lanescope".to_owned()));
        if made_up {
            infos.push(("Remark", "no dump lists the processors: one stands for all of a node".to_owned()));
        }
        for (name, value) in infos {
            let _ = writeln!(self.out, "    <info name=\"{name}\" value=\"{}\"/>", escape(&value));
        }
    }

    /// Functions behind no bridge whose node is this one, with all that is behind them.
    fn roots(&mut self, node: Option<u32>, indent: usize) {
        let tops = self.children.get(&None).cloned().unwrap_or_default();
        let host = self.topology.host;
        let node_of = |a: &Address| self.node_of(host, *a, 0);
        let mine: Vec<Address> = tops.into_iter().filter(|a| node_of(a) == node).collect();
        // hwloc hangs what is on one host bridge below one object, with the buses behind it.
        let mut bridges: BTreeMap<(u32, u8), Vec<Address>> = BTreeMap::new();
        for address in mine {
            bridges.entry((address.domain, address.bus)).or_default().push(address);
        }
        for ((domain, bus), functions) in bridges {
            let index = self.index();
            let last = functions.iter().map(|a| self.last_bus(*a, 0)).max().unwrap_or(bus).max(bus);
            let _ = writeln!(
                self.out,
                "{:indent$}<object type=\"Bridge\" gp_index=\"{index}\" bridge_type=\"0-1\" depth=\"0\" \
                 bridge_pci=\"{domain:04x}:[{bus:02x}-{last:02x}]\">",
                ""
            );
            for address in functions {
                self.function(address, indent + 2, 1);
            }
            let _ = writeln!(self.out, "{:indent$}</object>", "");
        }
    }

    /// The node of a function: its own, or the only one of what is behind it.
    fn node_of(&self, host: &Host, address: Address, depth: usize) -> Option<u32> {
        if let Some(own) = host.functions.get(&address).and_then(|f| value(&f.node)) {
            return Some(own);
        }
        let below = self.children.get(&Some(address)).map_or(&[][..], Vec::as_slice);
        let mut nodes = below.iter().filter(|_| depth < MOST_DEEP).filter_map(|b| self.node_of(host, *b, depth + 1));
        let first = nodes.next()?;
        nodes.all(|n| n == first).then_some(first)
    }

    fn last_bus(&self, address: Address, depth: usize) -> u8 {
        let own = self.topology.host.functions.get(&address).and_then(|f| value(&f.buses)).map_or(0, |b| b.1);
        let below = self.children.get(&Some(address)).map_or(&[][..], Vec::as_slice);
        let further = below.iter().filter(|_| depth < MOST_DEEP).map(|b| self.last_bus(*b, depth + 1)).max();
        own.max(address.bus).max(further.unwrap_or(0))
    }

    fn function(&mut self, address: Address, indent: usize, depth: usize) {
        if depth > MOST_DEEP || !self.written.insert(address) {
            return;
        }
        let Some(function) = self.topology.host.functions.get(&address) else { return };
        let index = self.index();
        self.functions.insert(address, index);
        let below = self.children.get(&Some(address)).cloned().unwrap_or_default();
        let bridge = function.buses.is_some() || !below.is_empty() || function.kind() == Kind::Bridge;
        let kind = if bridge { "Bridge" } else { "PCIDev" };
        let _ = write!(self.out, "{:indent$}<object type=\"{kind}\" gp_index=\"{index}\"", "");
        if bridge {
            let (first, last) = value(&function.buses).unwrap_or_else(|| {
                let first = below.first().map_or(0, |b| b.bus);
                (first, self.last_bus(address, depth))
            });
            let domain = address.domain;
            let _ = write!(
                self.out,
                " bridge_type=\"1-1\" depth=\"{depth}\" bridge_pci=\"{domain:04x}:[{first:02x}-{last:02x}]\""
            );
        }
        // What is not known is what no device may say of itself: an unassigned class, and no vendor.
        let class = value(&function.class).unwrap_or(if bridge { 0x0604 } else { UNASSIGNED_CLASS });
        let (vendor, device) = value(&function.ids).unwrap_or_default();
        let speed = self.speed(address, function);
        let _ = writeln!(
            self.out,
            " pci_busid=\"{address}\" pci_type=\"{class:04x} [{vendor:04x}:{device:04x}] [0000:0000] 00 00\" \
             pci_link_speed=\"{speed:.6}\">"
        );
        let inner = indent + 2;
        if let Some(name) = &function.name {
            let _ = writeln!(self.out, "{:inner$}<info name=\"PCIDevice\" value=\"{}\"/>", "", escape(&name.value));
        }
        for name in &function.devices {
            let index = self.index();
            // hwloc's kinds of devices: block, GPU, network, OpenFabrics, DMA, co-processor.
            let kind = match function.kind() {
                Kind::Drive | Kind::Storage => 0,
                Kind::Gpu => 1,
                Kind::Nic if name.value.contains('_') => 3,
                Kind::Nic => 2,
                _ => 0,
            };
            let name = escape(&name.value);
            let _ = writeln!(
                self.out,
                "{:inner$}<object type=\"OSDev\" gp_index=\"{index}\" name=\"{name}\" osdev_type=\"{kind}\"/>",
                ""
            );
        }
        for address in below {
            self.function(address, inner, depth + 1);
        }
        let _ = writeln!(self.out, "{:indent$}</object>", "");
    }

    /// GB/s of one direction after coding, as hwloc reckons them; 0 is its word for unknown.
    fn speed(&self, address: Address, function: &Function) -> f64 {
        // A port's link is the one below it: both of its ends have one speed.
        let below = self.topology.tree.links.iter().position(|l| l.upper == Some(address));
        let link = below.or_else(|| self.topology.tree.link_above(address));
        let believed = link.and_then(|l| self.topology.speed(l, Corner::Typical));
        let claimed = function.claim.gigabytes.as_ref().map(|g| g.value);
        believed.map(|s| s.coded().bytes() / 1e9).or(claimed).unwrap_or(0.0)
    }

    fn matrix(&mut self, head: &str, indexes: &[u64], values: &[u64]) {
        let _ = writeln!(self.out, "  <distances2 {head} nbobjs=\"{}\">", indexes.len());
        for (name, list) in [("indexes", indexes), ("u64values", values)] {
            for chunk in list.chunks(PER_LINE) {
                let text = chunk.iter().fold(String::new(), |all, n| all + &n.to_string() + " ");
                let _ = writeln!(self.out, "    <{name} length=\"{}\">{text}</{name}>", text.len());
            }
        }
        self.out += "  </distances2>\n";
    }

    /// The firmware's table of distances (SLIT).
    fn distances(&mut self) {
        let host = self.topology.host;
        let nodes: Vec<u32> = host.nodes.keys().copied().collect();
        let all = nodes.iter().flat_map(|a| nodes.iter().map(|b| host.distance(*a, *b).map(u64::from)));
        let Some(values) = all.collect::<Option<Vec<u64>>>().filter(|v| v.len() > 1) else { return };
        let indexes: Vec<u64> = nodes.iter().map(|n| u64::from(*n)).collect();
        let head = format!("type=\"NUMANode\" kind=\"{OS_LATENCY}\" name=\"NUMALatency\" indexing=\"os\"");
        self.matrix(&head, &indexes, &values);
    }

    /// What peers should write to one another. Where one pair is not known there is no matrix.
    fn peers(&mut self, report: &Explained) {
        let mut members: Vec<(&str, u64)> = Vec::new();
        for device in report.devices.iter().filter(|d| d.kind == "gpu") {
            let index = Address::parse(&device.address).and_then(|a| self.functions.get(&a).copied());
            members.extend(index.map(|i| (device.id.as_str(), i)));
        }
        if members.len() < 2 {
            return;
        }
        let rate = |a: &str, b: &str| {
            let pair = |p: &&super::Pair| (p.from == a && p.to == b) || (p.from == b && p.to == a);
            let pair = report.pairs.iter().find(pair).filter(|p| p.direct.is_none())?;
            pair.write.typical.or(pair.write.high)
        };
        let own = report.devices.iter().filter_map(|d| d.to_memory.rate.high).fold(0.0, f64::max);
        let all = members.iter().flat_map(|a| {
            members.iter().map(move |b| if a.0 == b.0 { Some(own) } else { rate(a.0, b.0) }).collect::<Vec<_>>()
        });
        let Some(values) = all.map(|v| v.map(mebibytes)).collect::<Option<Vec<u64>>>() else { return };
        let indexes: Vec<u64> = members.iter().map(|m| m.1).collect();
        let head = format!("type=\"PCIDev\" kind=\"{USER_BANDWIDTH}\" name=\"PCIPeerBandwidth\" indexing=\"gp\"");
        self.matrix(&head, &indexes, &values);
    }

    /// What each device should read and write of its node's memory.
    fn memory(&mut self, report: &Explained) {
        for name in ["DeviceReadBandwidth", "DeviceWriteBandwidth"] {
            let rate = |d: &super::Device| match name {
                "DeviceReadBandwidth" => d.from_memory.rate.typical,
                _ => d.to_memory.rate.typical,
            };
            let mut lines = String::new();
            for device in &report.devices {
                let function = Address::parse(&device.address).and_then(|a| self.functions.get(&a));
                let node = device.node.and_then(|n| self.nodes.get(&n));
                let (Some(function), Some(node), Some(rate)) = (function, node, rate(device)) else { continue };
                let _ = writeln!(
                    lines,
                    "    <memattr_value target_obj_gp_index=\"{node}\" target_obj_type=\"NUMANode\" value=\"{}\" \
                     initiator_obj_gp_index=\"{function}\" initiator_obj_type=\"PCIDev\"/>",
                    mebibytes(rate)
                );
            }
            if !lines.is_empty() {
                let _ = write!(
                    self.out,
                    "  <memattr name=\"{name}\" flags=\"{HIGHER_OF_INITIATOR}\">\n{lines}  </memattr>\n"
                );
            }
        }
    }
}

fn sets_of(cpus: &BTreeSet<u32>, nodes: &BTreeSet<u32>) -> String {
    let (cpus, nodes) = (bitmap(cpus), bitmap(nodes));
    format!("cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\"")
}
