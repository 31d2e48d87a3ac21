//! What stands behind the links of a host: its devices, each with all of its functions.

use super::Seen;
use super::belief::Standing;
use super::tree::Role;
use crate::import::host::{Address, Kind, value};
use std::collections::BTreeMap;

/// What stands behind a link: a device, with all of its functions.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Its name in reports.
    pub(crate) id: String,
    /// The most telling of its functions.
    pub(crate) address: Address,
    /// All of them.
    pub(crate) functions: Vec<Address>,
    /// What it is for.
    pub(crate) kind: Kind,
    /// Its links up to the root complex, the nearest first.
    pub(crate) links: Vec<usize>,
    /// Its NUMA node.
    pub(crate) node: Option<u32>,
    /// Sum of its network ports, GB/s.
    pub(crate) port: Option<f64>,
}

/// What a kind of device is called.
pub(crate) fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Gpu => "gpu",
        Kind::Nic => "nic",
        Kind::Drive => "drive",
        Kind::Storage => "storage",
        _ => "device",
    }
}

/// Devices behind links that are not empty, GPUs first, in the order of addresses.
pub(crate) fn slots(seen: &Seen) -> Vec<Slot> {
    let host = seen.host;
    let mut slots = Vec::new();
    for (index, link) in seen.tree.links.iter().enumerate() {
        if seen.beliefs[index].standing == Standing::Empty {
            continue;
        }
        let ends: Vec<Address> = link.functions.iter().copied().filter(|a| seen.tree.role(*a) == Role::End).collect();
        let kind = |a: &Address| host.functions.get(a).map_or(Kind::Other, |f| f.kind());
        // A bridge of an excerpt whose inside is not in the dump is no device.
        let Some(address) = ends.iter().copied().min_by_key(|a| (kind(a), *a)) else { continue };
        let kind = kind(&address);
        let node = ends.iter().chain(seen.tree.path(address).iter()).find_map(|a| value(&host.functions.get(a)?.node));
        slots.push(Slot {
            id: String::new(),
            address,
            kind,
            links: seen.tree.links_above(address),
            node,
            port: port_rate(seen, &ends, kind),
            functions: ends,
        });
    }
    slots.sort_by_key(|s| (s.kind, s.address));
    let mut counts = BTreeMap::new();
    for slot in &mut slots {
        let n = counts.entry(word(slot.kind)).or_insert(0);
        slot.id = format!("{}{n}", word(slot.kind));
        *n += 1;
    }
    slots
}

/// What the ports of a network adapter carry together, GB/s: as a dump says, or as the name does ("Gigabit").
fn port_rate(seen: &Seen, functions: &[Address], kind: Kind) -> Option<f64> {
    if kind != Kind::Nic {
        return None;
    }
    let each = functions.iter().map(|a| {
        let function = seen.host.functions.get(a)?;
        let said = value(&function.net_speed).map(|mb| mb as f64 / 8e3);
        said.or_else(|| named_rate(function.name.as_ref()?.value.as_str()))
    });
    each.collect::<Option<Vec<f64>>>().map(|all| all.iter().sum())
}

/// GB/s of a port by the adapter's name: `I350 Gigabit`, `10-Gigabit`, `40GbE`.
fn named_rate(name: &str) -> Option<f64> {
    let number_before = |word: &str| {
        let front = name[..name.find(word)?].trim_end_matches(['-', ' ']);
        // A number of its own: "10-Gigabit", not the 350 of "I350 Gigabit".
        let last = front.rsplit([' ', '/', '(']).next()?;
        last.parse::<f64>().ok().filter(|n| (1.0..=1600.0).contains(n))
    };
    if let Some(gigabits) = number_before("GbE").or_else(|| number_before("Gigabit")) {
        return Some(gigabits / 8.0);
    }
    let plain = ["Gigabit Network", "Gigabit Ethernet", "Gigabit Adapter"].iter().any(|w| name.contains(w));
    (plain && !name.contains("10GE")).then_some(0.125)
}
