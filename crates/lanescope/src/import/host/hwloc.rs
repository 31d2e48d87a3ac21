//! hwloc's XML, version 2 and what is alike in version 1: nodes, bridges with their buses, functions, their devices.
//!
//! `pci_link_speed` is GB/s of one direction after coding, by hwloc's arithmetic of the time; it is a claim like
//! NCCL's, and 0 where hwloc was not allowed to know. A function's node is the only one of the object that it hangs
//! below.

use super::function::{Address, Fact};
use super::nccl::device;
use super::xml::Tag;
use super::{Form, Host, Place, clean, put};
use std::collections::BTreeSet;

/// An element that is open.
struct Open {
    kind: Object,
    address: Option<Address>,
    nodes: BTreeSet<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Object {
    Node(u32),
    Package,
    Pci,
    Os,
    Other,
}

/// Class of a function whose class is not known: no class code has this number (pci.ids ends with 0xff00).
pub(crate) const UNASSIGNED_CLASS: u16 = 0xffff;

/// Elements inside one another, at most.
const MOST_DEEP: usize = 128;

/// `04` and `[8086:10c9]` of `0200 [8086:10c9] [003c:003f] 01 00`.
fn pci_type(text: &str) -> Option<(u16, (u16, u16))> {
    let mut words = text.split(' ');
    let hex = |t: &str| u16::from_str_radix(t, 16).ok();
    let class = hex(words.next()?)?;
    let (vendor, device) = words.next()?.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
    Some((class, (hex(vendor)?, hex(device)?)))
}

/// First and last bus of `0000:[04-06]`.
fn buses(text: &str) -> Option<(u8, u8)> {
    let (first, last) = text.split_once('[')?.1.strip_suffix(']')?.split_once('-')?;
    Some((u8::from_str_radix(first, 16).ok()?, u8::from_str_radix(last, 16).ok()?))
}

/// Reads the tags of a `topology` element out of `text`; `place` gives the line of a byte.
pub(crate) fn read<'a>(
    host: &mut Host,
    text: &'a str,
    tags: impl Iterator<Item = Tag<'a>>,
    place: impl Fn(usize) -> Place,
) {
    let mut open: Vec<Open> = Vec::new();
    let mut packages = 0;
    let (mut latency, mut indexes, mut values) = (false, Vec::new(), Vec::new());
    let (mut sockets_at, mut content) = (Place::default(), None);
    for tag in tags {
        let at = place(tag.at);
        if let Some((start, which)) = content.take() {
            let numbers = text.get(start..tag.at).unwrap_or_default().split_ascii_whitespace();
            let into: &mut Vec<u32> = if which == "indexes" { &mut indexes } else { &mut values };
            into.extend(numbers.take(1 << 16).filter_map(|n| n.parse::<u32>().ok()));
        }
        match tag.name {
            "topology" if tag.opens => host.found(Form::Hwloc, at),
            "object" if tag.opens => {
                let object = object(host, &tag, &mut open, at);
                if object.kind == Object::Package {
                    packages += 1;
                    sockets_at = at;
                }
                if !tag.closes && open.len() < MOST_DEEP {
                    open.push(object);
                }
            }
            "object" => {
                open.pop();
            }
            "info" if tag.opens => info(host, &tag, &open, at),
            "distances2" if tag.opens => {
                latency = tag.get("name").is_none_or(|n| n == "NUMALatency") && tag.get("type") == Some("NUMANode");
                (indexes, values) = (Vec::new(), Vec::new());
            }
            "distances2" if latency => distances(host, &indexes, &values, at),
            "indexes" | "u64values" if tag.opens && !tag.closes => content = Some((tag.end, tag.name)),
            _ => {}
        }
    }
    if packages > 0 {
        let _ = put(&mut host.sockets, packages, sockets_at);
    }
}

fn distances(host: &mut Host, indexes: &[u32], values: &[u32], at: Place) {
    if indexes.is_empty() || values.len() != indexes.len() * indexes.len() {
        return;
    }
    for (n, value) in values.iter().enumerate() {
        let pair = (indexes[n / indexes.len()], indexes[n % indexes.len()]);
        host.distances.entry(pair).or_insert(Fact { value: *value, at });
    }
}

fn object(host: &mut Host, tag: &Tag, open: &mut [Open], at: Place) -> Open {
    let kind = tag.get("type").unwrap_or_default();
    let mut opened = Open { kind: Object::Other, address: None, nodes: BTreeSet::new() };
    match kind {
        "NUMANode" => {
            let Some(node) = tag.get("os_index").and_then(|n| n.parse().ok()).filter(|n| *n < 4096) else {
                return opened;
            };
            opened.kind = Object::Node(node);
            opened.nodes.insert(node);
            open.iter_mut().for_each(|o| {
                o.nodes.insert(node);
            });
            let known = host.nodes.entry(node).or_default();
            if let Some(memory) = tag.get("local_memory").and_then(|m| m.parse().ok()) {
                let _ = put(&mut known.memory, memory, at);
            }
        }
        "Package" | "Socket" => opened.kind = Object::Package,
        "OSDev" => {
            opened.kind = Object::Os;
            let above = open.iter().rev().find_map(|o| o.address);
            if let (Some(address), Some(name)) = (above, tag.get("name").map(clean).filter(|n| !n.is_empty()))
                && let Some(function) = host.function(address, at)
            {
                device(function, name, at);
            }
        }
        "Bridge" | "PCIDev" => {
            let Some(address) = tag.get("pci_busid").and_then(Address::parse) else { return opened };
            opened.kind = Object::Pci;
            opened.address = Some(address);
            pci(host, address, tag, open, at);
        }
        _ => {}
    }
    opened
}

fn pci(host: &mut Host, address: Address, tag: &Tag, open: &[Open], at: Place) {
    if let Some((class, ids)) = tag.get("pci_type").and_then(pci_type) {
        if class != UNASSIGNED_CLASS {
            host.learn(address, "class", class, at, |f| &mut f.class);
        }
        // Vendor 0 is nobody's.
        if ids.0 != 0 {
            host.learn(address, "ids", ids, at, |f| &mut f.ids);
        }
    }
    if let Some(buses) = tag.get("bridge_pci").and_then(buses) {
        host.learn(address, "bus numbers", buses, at, |f| &mut f.buses);
    }
    if let Some(parent) = open.last().and_then(|o| o.address) {
        host.learn(address, "parent", parent, at, |f| &mut f.parent);
    }
    // Objects of I/O come after the nodes of the object that they hang below.
    let locality = open.iter().rev().find(|o| o.address.is_none() && !o.nodes.is_empty());
    if let Some(node) = locality.filter(|o| o.nodes.len() == 1).and_then(|o| o.nodes.first()) {
        host.learn(address, "NUMA node", *node, at, |f| &mut f.node);
    }
    let speed = tag.get("pci_link_speed").and_then(|s| s.parse::<f64>().ok());
    if let (Some(speed), Some(function)) = (speed, host.function(address, at)) {
        if speed > 0.0 && speed.is_finite() {
            function.claim.gigabytes.get_or_insert(Fact { value: speed, at });
        } else {
            function.claim.empty = true;
        }
    }
}

fn info(host: &mut Host, tag: &Tag, open: &[Open], at: Place) {
    let (Some(name), Some(value), Some(on)) = (tag.get("name"), tag.get("value"), open.last()) else { return };
    match (name, on.kind) {
        ("PCIDevice", Object::Pci) => {
            if let Some(function) = on.address.and_then(|a| host.function(a, at)) {
                let _ = put(&mut function.name, clean(value), at);
            }
        }
        ("CPUModel", _) => {
            let _ = put(&mut host.processor, clean(value), at);
        }
        ("CPUFamilyNumber", _) => {
            if let Ok(family) = value.parse() {
                host.family.get_or_insert(Fact { value: (family, 0), at });
            }
        }
        ("CPUModelNumber", _) => {
            if let (Ok(model), Some(known)) = (value.parse(), &mut host.family)
                && known.value.1 == 0
            {
                known.value.1 = model;
            }
        }
        _ => {}
    }
}
