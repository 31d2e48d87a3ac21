//! One part's table, taken apart: what kind it is, and of an adapter which keys are its own and which those of the
//! device that its host sees.

use super::keys::{
    self, BusKeys, CHANNEL_ADAPTER, ChannelAdapter, ENDPOINT, Endpoint, FabricKeys, HOST_ADAPTER, HostAdapter, Key,
    NVME, NodeKeys, NvmeDrive, PART_KEYS, PCI_DEVICE, PartKeys, PartKind, PciDevice, SSD, STATION, Station, StoreKeys,
};
use super::quantity::{Problem, Shape, unknown};
use super::tree::{Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use std::collections::HashSet;

/// The keys of any part.
#[allow(clippy::large_enum_variant, reason = "one at a time, on its way to its own list")]
#[derive(Clone)]
pub(super) enum AnyKeys {
    Pcie(PartKeys),
    Ethernet(NodeKeys),
    Bus(BusKeys),
    Storage(StoreKeys),
    Fabric(FabricKeys),
    /// A host adapter is a device of its host's bus, too.
    Adapter(DmaKeys, HostAdapter),
    /// An NVMe drive is one, on PCIe.
    Nvme(Endpoint, NvmeDrive),
    /// A channel adapter may be one, and a station of Ethernet.
    Channel(Option<DmaKeys>, Option<Station>, ChannelAdapter),
}

/// How an adapter stands on its host's side.
#[allow(clippy::large_enum_variant, reason = "one at a time, on its way to its own list")]
#[derive(Clone)]
pub(super) enum DmaKeys {
    Pcie(Endpoint),
    Bus(PciDevice),
}

/// The tables of parts that links of a medium join, as far as they can be read.
#[derive(Default)]
pub(super) struct Joined {
    pub(super) pci: HashSet<String>,
    pub(super) pcie: HashSet<String>,
    pub(super) ethernet: HashSet<String>,
}

/// The tables of the parts that a link names, as far as they can be read.
pub(super) fn groups_between(table: &Table) -> Vec<String> {
    let names = match table.get("between").map(|n| &n.value) {
        Some(Value::Array(list)) => list.as_slice(),
        _ => &[],
    };
    let group = |n: &Node| match &n.value {
        Value::Text(s) => s.split('.').next().map(str::to_owned),
        _ => None,
    };
    let mut all: Vec<String> = names.iter().filter_map(group).collect();
    // Rules name their hosts.
    for rule in ["star", "leaf_spine", "fat_tree"] {
        if let Some(Value::Table(rule)) = table.get(rule).map(|n| &n.value) {
            let host = rule.get("host").and_then(|n| String::read(n).ok());
            all.push(host.unwrap_or_else(|| "host".into()));
        }
    }
    all
}

/// Reads one part's table.
pub(super) fn read_part(
    diagnostics: &mut Diagnostics,
    table: &Table,
    span: Span,
    group: &str,
    joined: &Joined,
) -> Option<AnyKeys> {
    let Some(node) = table.get("is") else {
        diagnostics.push(Diagnostic::error(span, "this part has no kind").hint(format!(
            "add use = \"a library device\", or is = {}",
            keys::PART_KINDS.iter().map(|row| format!("{:?}", row.word)).collect::<Vec<_>>().join(", ")
        )));
        keys::refuse_unknown_anywhere(diagnostics, table);
        return None;
    };
    match PartKind::read(node) {
        Ok(PartKind::HostAdapter) => {
            let (device, [own, _]) = adapter(diagnostics, table, span, "a host adapter", HOST_ADAPTER, None, {
                if joined.pci.contains(group) { Some(true) } else { Some(false) }
            });
            let own = HostAdapter::read(diagnostics, &own, span);
            Some(AnyKeys::Adapter(device?, own?))
        }
        Ok(PartKind::Nvme) => {
            let (device, [own, flash]) =
                adapter(diagnostics, table, span, "an NVMe drive", NVME, Some(SSD), Some(false));
            let own = NvmeDrive::of(diagnostics, [&own, &flash], span);
            match device? {
                DmaKeys::Pcie(port) => Some(AnyKeys::Nvme(port, own?)),
                DmaKeys::Bus(_) => None,
            }
        }
        Ok(PartKind::ChannelAdapter) => {
            let side = match (joined.pci.contains(group), joined.pcie.contains(group)) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            };
            let station = joined.ethernet.contains(group).then_some(STATION);
            let (device, [own, on_ethernet]) =
                adapter(diagnostics, table, span, "a channel adapter", CHANNEL_ADAPTER, station, side);
            let station = match station {
                Some(_) => Some(Station::read(diagnostics, &on_ethernet, span)?),
                None => None,
            };
            let own = ChannelAdapter::read(diagnostics, &own, span);
            if side.is_some() && device.is_none() {
                return None;
            }
            Some(AnyKeys::Channel(device, station, own?))
        }
        Ok(kind) => plain(diagnostics, kind, table, span),
        Err(Problem(message, hint)) => {
            diagnostics.push(Diagnostic::error(node.span, format!("is: {message}")).hint(hint));
            keys::refuse_unknown_anywhere(diagnostics, table);
            None
        }
    }
}

/// Reads a part of which each key is its own.
fn plain(diagnostics: &mut Diagnostics, kind: PartKind, table: &Table, span: Span) -> Option<AnyKeys> {
    macro_rules! any {
        ($($keys:ident: $technology:ident),+) => {
            $(if let Some(read) = $keys::read(diagnostics, kind, table, span) {
                return read.map(AnyKeys::$technology);
            })+
        };
    }
    any!(PartKeys: Pcie, NodeKeys: Ethernet, BusKeys: Bus, StoreKeys: Storage, FabricKeys: Fabric);
    None
}

/// An adapter has the keys of a device on its host's side (on a bus, on PCIe, or none), and its own; and those of
/// something else that it is too, a station or a drive. Gives the device, and the tables of the other two.
fn adapter(
    diagnostics: &mut Diagnostics,
    table: &Table,
    span: Span,
    what: &str,
    own: &'static [Key],
    other: Option<&'static [Key]>,
    on_bus: Option<bool>,
) -> (Option<DmaKeys>, [Table; 2]) {
    let device = match on_bus {
        Some(true) => PCI_DEVICE,
        Some(false) => ENDPOINT,
        None => &[],
    };
    let other = other.unwrap_or_default();
    let has = |keys: &[Key], name: &str| keys.iter().any(|k| k.name == name);
    let known = || own.iter().chain(device).chain(other).map(|k| k.name).chain(PART_KEYS);
    let mut parts = [Table::default(), Table::default(), Table::default()];
    let place = match on_bus {
        Some(true) => " on a bus",
        Some(false) => " on PCIe",
        None => "",
    };
    for (name, node) in &table.0 {
        if !known().any(|k| k == name) {
            let elsewhere = match (has(ENDPOINT, name), has(PCI_DEVICE, name)) {
                (true, _) => Some("PCIe"),
                (false, true) => Some("a PCI bus"),
                (false, false) => has(STATION, name).then_some("Ethernet"),
            };
            let here = match on_bus {
                Some(true) => "on a PCI bus",
                Some(false) => "on PCIe",
                None => "on no host's bus",
            };
            diagnostics.push(match elsewhere {
                Some(medium) => Diagnostic::error(node.key, format!("{what}{place} has no key {name:?}"))
                    .hint(format!("an adapter has it on {medium}, and this one {here}")),
                None => unknown(name, node.key, known(), &format!("{what}{place}")),
            });
        } else if !PART_KEYS.contains(&name.as_str()) {
            let which = if has(own, name) {
                1
            } else if has(other, name) {
                2
            } else {
                0
            };
            parts[which].0.push((name.clone(), node.clone()));
        }
    }
    let [device, own, other] = parts;
    let device = match on_bus {
        Some(true) => PciDevice::read(diagnostics, &device, span).map(DmaKeys::Bus),
        Some(false) => Endpoint::read(diagnostics, &device, span).map(DmaKeys::Pcie),
        None => None,
    };
    (device, [own, other])
}
