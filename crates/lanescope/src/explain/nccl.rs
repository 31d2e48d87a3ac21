//! A host as NCCL's topology file: what the dumps say, with links as they are believed to be under load.
//!
//! A host that came from such a file is written as it was, with the speeds that are believed in place of those that
//! were claimed; what is not known stays as empty as it was. Read again, the file gives the same file.

use super::belief::Standing;
use super::{Corner, Topology};
use crate::import::host::function::Net;
use crate::import::host::xml::escape;
use crate::import::host::{Address, Dump, Function, Host, Kind, gigatransfers, read, value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Elements inside one another, at most.
const MOST_DEEP: usize = 64;

struct Pen<'a> {
    topology: &'a Topology<'a>,
    children: BTreeMap<Option<Address>, Vec<Address>>,
    corrected: BTreeSet<Address>,
    out: String,
}

fn attributes(list: &[(String, String)]) -> String {
    list.iter().fold(String::new(), |mut out, (name, value)| {
        let _ = write!(out, " {name}=\"{}\"", escape(value));
        out
    })
}

/// Sets an attribute, at its place where it has one.
fn set(list: &mut Vec<(String, String)>, name: &str, value: String) {
    match list.iter_mut().find(|(n, _)| n == name) {
        Some((_, old)) => *old = value,
        None => list.push((name.to_owned(), value)),
    }
}

/// Corrections that follow from corrections, at most: files of several hosts in one contradict themselves.
const MOST_ROUNDS: usize = 12;

/// Writes the file, so that reading it changes nothing.
pub fn emit(host: &Host) -> String {
    let mut text = write(host);
    for _ in 0..MOST_ROUNDS {
        let dump = Dump::Text { name: "written".into(), text: &text };
        let again = read(&[dump]).first().map(write).unwrap_or_default();
        if again == text {
            break;
        }
        text = again;
    }
    text
}

fn write(host: &Host) -> String {
    let topology = Topology::of(host);
    let from_file = host.functions.values().any(|f| f.nccl.as_ref().is_some_and(|n| !n.attributes.is_empty()));
    let kept: Vec<Address> = match from_file {
        true => host.functions.iter().filter(|(_, f)| f.nccl.is_some()).map(|(a, _)| *a).collect(),
        false => wanted(&topology),
    };
    let mut children: BTreeMap<Option<Address>, Vec<Address>> = BTreeMap::new();
    for address in &kept {
        let nested = host.functions.get(address).and_then(|f| f.nccl.as_ref()?.above);
        let above =
            if from_file { nested } else { topology.tree.path(*address).into_iter().find(|p| kept.contains(p)) };
        children.entry(above.filter(|a| kept.contains(a))).or_default().push(*address);
    }
    let order = |a: &Address| host.functions.get(a).and_then(|f| f.nccl.as_ref()).map_or(0, |n| n.order);
    children.values_mut().for_each(|c| c.sort_by_key(|a| (order(a), *a)));
    let mut pen = Pen { topology: &topology, children, corrected: BTreeSet::new(), out: String::new() };
    let system = host.nccl_system.clone().unwrap_or_else(|| vec![("version".into(), "1".into())]);
    let _ = writeln!(pen.out, "<system{}>", attributes(&system));
    let roots = pen.children.get(&None).cloned().unwrap_or_default();
    let node_of = |a: &Address| {
        let function = host.functions.get(a)?;
        function
            .nccl
            .as_ref()
            .and_then(|n| n.node)
            .or_else(|| value(&function.node))
            .or_else(|| topology.tree.ends_below(*a).iter().find_map(|e| value(&host.functions.get(e)?.node)))
    };
    let mut nodes: Vec<(u32, u32)> = host.nodes.iter().map(|(n, node)| (node.order, *n)).collect();
    nodes.sort_unstable();
    let mut listed: Vec<u32> = nodes.into_iter().map(|(_, n)| n).collect();
    for root in &roots {
        let node = node_of(root).unwrap_or(0);
        if !listed.contains(&node) {
            listed.push(node);
        }
    }
    for node in listed {
        let known = host.nodes.get(&node);
        let own = known.and_then(|n| n.nccl.clone()).unwrap_or_else(|| vec![("numaid".into(), node.to_string())]);
        let _ = writeln!(pen.out, "  <cpu{}>", attributes(&own));
        for root in roots.iter().filter(|r| node_of(r).unwrap_or(0) == node) {
            pen.pci(*root, 2);
        }
        if let Some(nets) = known.map(|n| n.nets.as_slice()).filter(|n| !n.is_empty()) {
            pen.nets(nets, 2);
        }
        pen.out += "  </cpu>\n";
    }
    pen.out += "</system>\n";
    pen.out
}

/// Of a dump that is no such file: GPUs, adapters, and the switches above them.
fn wanted(topology: &Topology) -> Vec<Address> {
    let mut all = BTreeSet::new();
    for endpoint in topology.devices.iter().filter(|s| matches!(s.kind, Kind::Gpu | Kind::Nic)) {
        all.insert(endpoint.address);
        all.extend(topology.tree.path(endpoint.address).into_iter().filter(|a| topology.in_switch(*a)));
    }
    all.into_iter().collect()
}

impl Pen<'_> {
    fn pci(&mut self, address: Address, depth: usize) {
        if depth > MOST_DEEP || !self.corrected.insert(address) {
            return;
        }
        let Some(function) = self.topology.host.functions.get(&address) else { return };
        let indent = "  ".repeat(depth);
        let list = self.attributes_of(address, function);
        let _ = write!(self.out, "{indent}<pci{}", attributes(&list));
        let below = self.children.get(&Some(address)).cloned().unwrap_or_default();
        let nccl = function.nccl.clone().unwrap_or_default();
        if below.is_empty() && nccl.gpu.is_none() && nccl.nets.is_none() {
            self.out += "/>\n";
            return;
        }
        self.out += ">\n";
        if let Some(gpu) = &nccl.gpu {
            let _ = write!(self.out, "{indent}  <gpu{}", attributes(gpu));
            if nccl.direct.is_empty() {
                self.out += "/>\n";
            } else {
                self.out += ">\n";
                for direct in &nccl.direct {
                    let _ = writeln!(self.out, "{indent}    <{}{}/>", direct.kind, attributes(&direct.attributes));
                }
                let _ = writeln!(self.out, "{indent}  </gpu>");
            }
        }
        if let Some(nets) = &nccl.nets {
            self.nets(nets, depth + 1);
        }
        for child in below {
            self.pci(child, depth + 1);
        }
        let _ = writeln!(self.out, "{indent}</pci>");
    }

    fn nets(&mut self, nets: &[Net], depth: usize) {
        let indent = "  ".repeat(depth);
        let _ = writeln!(self.out, "{indent}<nic>");
        for net in nets {
            let _ = writeln!(self.out, "{indent}  <net{}/>", attributes(&net.attributes));
        }
        let _ = writeln!(self.out, "{indent}</nic>");
    }

    fn attributes_of(&self, address: Address, function: &Function) -> Vec<(String, String)> {
        let mut list = match &function.nccl {
            Some(nccl) if !nccl.attributes.is_empty() => nccl.attributes.clone(),
            _ => {
                let mut list = vec![("busid".to_owned(), address.to_string())];
                if let Some(class) = value(&function.class) {
                    list.push(("class".into(), format!("0x{class:04x}00")));
                }
                if let Some((vendor, device)) = value(&function.ids) {
                    list.push(("vendor".into(), format!("0x{vendor:04x}")));
                    list.push(("device".into(), format!("0x{device:04x}")));
                }
                list
            }
        };
        let Some(link) = self.topology.tree.link_above(address) else { return list };
        let belief = &self.topology.beliefs[link];
        let from_file = function.nccl.as_ref().is_some_and(|n| !n.attributes.is_empty());
        // What stands there and is believed is not written anew; what is only likely is not written at all.
        if from_file && !matches!(belief.standing, Standing::Virtual(_)) {
            return list;
        }
        let Some(speed) = self.topology.speed(link, Corner::Typical) else { return list };
        if from_file && belief.negotiated == Some(speed) {
            return list;
        }
        set(&mut list, "link_speed", format!("{:.1} GT/s PCIe", gigatransfers(speed.generation)));
        set(&mut list, "link_width", speed.lanes.count().to_string());
        list
    }
}
