//! NCCL's and RCCL's topology file: nodes, functions inside one another, GPUs with their direct links, interfaces.
//!
//! The file is made by the library from sysfs, or written by hand for virtual machines, and often leaves levels of
//! switches out. What it says of links are claims (`link_speed` is the most that a device can do, not what was
//! negotiated, in most versions); whether they are believed is decided elsewhere. Attributes are kept as written, so
//! that the file can be written again.

use super::function::{Address, Claim, Direct, Fact, Nccl, Net, generation};
use super::xml::Tag;
use super::{Form, Host, Place, Remark, clean};

/// Functions inside one another, at most.
const MOST_DEEP: usize = 64;

/// Reads the tags of a `system` element; `place` gives the line of a byte.
pub(crate) fn read<'a>(host: &mut Host, tags: impl Iterator<Item = Tag<'a>>, place: impl Fn(usize) -> Place) {
    let mut open: Vec<Address> = Vec::new();
    let mut node = None;
    let mut in_nic = false;
    let (mut order, mut nodes) = (0, host.nodes.len() as u32);
    for tag in tags {
        let at = place(tag.at);
        match tag.name {
            "system" if tag.opens => {
                host.found(Form::Nccl, at);
                host.nccl_system.get_or_insert_with(|| kept(&tag));
            }
            "cpu" if tag.opens => {
                node = tag.get("numaid").and_then(|n| n.parse::<u32>().ok());
                cpu(host, node, &tag, nodes, at);
                nodes += 1;
            }
            "cpu" => node = None,
            "pci" if tag.opens => {
                let Some(address) = tag.get("busid").and_then(|b| Address::parse(b.trim())) else { continue };
                pci(host, address, open.last().copied(), node, &tag, order, at);
                order += 1;
                if !tag.closes && open.len() < MOST_DEEP {
                    open.push(address);
                }
            }
            "pci" => {
                open.pop();
            }
            "nic" => {
                in_nic = tag.opens && !tag.closes;
                if let (true, Some(function)) = (tag.opens, open.last().and_then(|a| nccl_of(host, *a, at))) {
                    function.nets.get_or_insert_default();
                }
            }
            "gpu" if tag.opens => {
                if let Some(function) = open.last().and_then(|a| nccl_of(host, *a, at)) {
                    function.gpu = Some(kept(&tag));
                }
            }
            "nvlink" | "xgmi" if tag.opens => {
                if let Some(function) = open.last().and_then(|a| nccl_of(host, *a, at)) {
                    function.direct.push(Direct { kind: tag.name.to_owned(), attributes: kept(&tag) });
                }
            }
            "net" if tag.opens && in_nic => net(host, open.last().copied(), node, &tag, at),
            _ => {}
        }
    }
}

/// Attributes as they may be kept.
fn kept(tag: &Tag) -> Vec<(String, String)> {
    tag.attributes.iter().map(|(n, v)| (clean(n), clean(v))).collect()
}

fn nccl_of(host: &mut Host, address: Address, at: Place) -> Option<&mut Nccl> {
    host.function(address, at).map(|f| f.nccl.get_or_insert_default())
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn cpu(host: &mut Host, node: Option<u32>, tag: &Tag, order: u32, at: Place) {
    if let Some(node) = node.filter(|n| *n < 4096) {
        let known = host.nodes.entry(node).or_default();
        known.nccl.get_or_insert_with(|| kept(tag));
        known.order = order;
    }
    let of = |name| tag.get(name).and_then(number);
    if let (Some(family), Some(model)) = (of("familyid"), of("modelid")) {
        // CPUID counts extended families from 15 on; some files have the register's bytes: 0x8f for 23.
        let family = if family > 0xf && family & 0xf == 0xf { 0xf + (family >> 4) } else { family };
        host.family.get_or_insert(Fact { value: (family, model), at });
    }
}

fn pci(host: &mut Host, address: Address, above: Option<Address>, node: Option<u32>, tag: &Tag, order: u32, at: Place) {
    if let Some(class) = tag.get("class").and_then(number).filter(|c| *c <= 0xff_ffff) {
        // 0x030200: base class, sub-class, interface.
        host.learn(address, "class", (class >> 8) as u16, at, |f| &mut f.class);
    }
    let id = |name| tag.get(name).and_then(number).and_then(|n| u16::try_from(n).ok());
    if let (Some(vendor), Some(device)) = (id("vendor"), id("device"))
        && vendor != 0
        && vendor != 0xffff
    {
        host.learn(address, "ids", (vendor, device), at, |f| &mut f.ids);
    }
    if let Some(node) = node {
        host.learn(address, "NUMA node", node, at, |f| &mut f.node);
    }
    let Some(function) = host.function(address, at) else { return };
    if function.nccl.as_ref().is_some_and(|n| !n.attributes.is_empty()) {
        host.note(Remark::Skipped, format!("{address} is in the file twice; the first is kept"), at);
        return;
    }
    let nccl = function.nccl.get_or_insert_default();
    (nccl.attributes, nccl.above, nccl.node, nccl.order) = (kept(tag), above.filter(|a| *a != address), node, order);
    let speed = tag.get("link_speed");
    let width = tag.get("link_width").and_then(number).and_then(|w| u8::try_from(w).ok());
    function.claim = Claim {
        speed: speed.and_then(generation).map(|value| Fact { value, at }),
        width: width.filter(|w| (1..=32).contains(w)).map(|value| Fact { value, at }),
        empty: speed.is_some_and(|s| generation(s).is_none()) || width == Some(0),
        ..function.claim.clone()
    };
}

fn net(host: &mut Host, function: Option<Address>, node: Option<u32>, tag: &Tag, at: Place) {
    let attributes = kept(tag);
    let net = Net { attributes };
    let Some(address) = function else {
        if let Some(node) = node.and_then(|n| host.nodes.get_mut(&n)) {
            node.nets.push(net);
        }
        return;
    };
    let Some(known) = host.function(address, at) else { return };
    if let Some(name) = tag.get("name").map(clean).filter(|n| !n.is_empty()) {
        device(known, name, at);
    }
    if let Some(speed) = tag.get("speed").and_then(|s| s.parse::<u64>().ok()).filter(|s| *s > 0) {
        // Ports of one adapter add up.
        let before = known.net_speed.take().map_or(0, |f| f.value);
        known.net_speed = Some(Fact { value: before.saturating_add(speed), at });
    }
    if let Some(nccl) = nccl_of(host, address, at) {
        nccl.nets.get_or_insert_default().push(net);
    }
}

/// Notes a name of the operating system, once.
pub(crate) fn device(function: &mut super::Function, name: String, at: Place) {
    if function.devices.len() < 64 && function.devices.iter().all(|d| d.value != name) {
        function.devices.push(Fact { value: name, at });
    }
}
