//! What stands behind the links of a host: its devices, each with all of its functions.

use super::Topology;
use super::belief::Standing;
use super::tree::Role;
use crate::import::host::{Address, Kind, value};
use std::collections::BTreeMap;

/// What stands behind a link: a device, with all of its functions.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
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
    /// What no network adapter of its family exceeds, all ports together, GB/s, where these are not known.
    pub(crate) family: Option<f64>,
    /// The bridge of the shared bus that it stands on, if it does.
    pub(crate) bus: Option<Address>,
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
pub(crate) fn endpoints(topology: &Topology) -> Vec<Endpoint> {
    let host = topology.host;
    let mut endpoints = Vec::new();
    for (index, link) in topology.tree.links.iter().enumerate() {
        if topology.beliefs[index].standing == Standing::Empty {
            continue;
        }
        let ends: Vec<Address> =
            link.functions.iter().copied().filter(|a| topology.tree.role(*a) == Role::End).collect();
        let kind = |a: &Address| host.functions.get(a).map_or(Kind::Other, |f| f.kind());
        // A bridge of an excerpt whose inside is not in the dump is no device.
        let Some(address) = ends.iter().copied().min_by_key(|a| (kind(a), *a)) else { continue };
        let kind = kind(&address);
        let node =
            ends.iter().chain(topology.tree.path(address).iter()).find_map(|a| value(&host.functions.get(a)?.node));
        endpoints.push(Endpoint {
            id: String::new(),
            address,
            kind,
            links: topology.tree.links_above(address),
            node,
            port: port_rate(topology, &ends, kind),
            family: family_rate(topology, address, kind),
            functions: ends,
            bus: None,
        });
    }
    on_buses(topology, &mut endpoints);
    endpoints.sort_by_key(|s| (s.kind, s.address));
    let mut counts = BTreeMap::new();
    for endpoint in &mut endpoints {
        let n = counts.entry(word(endpoint.kind)).or_insert(0);
        endpoint.id = format!("{}{n}", word(endpoint.kind));
        *n += 1;
    }
    endpoints
}

/// Devices on shared buses, PCI and PCI-X, which have no link of their own: those that move data.
fn on_buses(topology: &Topology, endpoints: &mut Vec<Endpoint>) {
    let mut by_device: BTreeMap<(u32, u8, u8), Vec<(Kind, Address)>> = BTreeMap::new();
    for (address, function) in &topology.host.functions {
        let moves = function.kind() < Kind::Bridge && topology.tree.role(*address) == Role::End;
        if moves && topology.tree.shared_bus(*address).is_some() && topology.tree.link_above(*address).is_none() {
            by_device
                .entry((address.domain, address.bus, address.device))
                .or_default()
                .push((function.kind(), *address));
        }
    }
    for functions in by_device.into_values() {
        let Some((kind, address)) = functions.iter().min().copied() else { continue };
        let functions: Vec<Address> = functions.into_iter().map(|f| f.1).collect();
        endpoints.push(Endpoint {
            id: String::new(),
            address,
            kind,
            links: topology.tree.links_above(address),
            node: value(&topology.host.functions.get(&address).and_then(|f| f.node.clone())),
            port: port_rate(topology, &functions, kind),
            family: family_rate(topology, address, kind),
            functions,
            bus: topology.tree.shared_bus(address),
        });
    }
}

/// What the ports of a network adapter carry together, GB/s: as a dump says, or as a name does ("Gigabit"), the dump's
/// or that of its ids.
fn port_rate(topology: &Topology, functions: &[Address], kind: Kind) -> Option<f64> {
    if kind != Kind::Nic {
        return None;
    }
    let each = functions.iter().map(|a| {
        let function = topology.host.functions.get(a)?;
        let said = value(&function.net_speed).map(|mb| mb as f64 / 8e3);
        said.or_else(|| named_rate(&function.called()))
    });
    each.collect::<Option<Vec<f64>>>().map(|all| all.iter().sum())
}

/// GB/s that all ports of an adapter carry together at most, by its family: a ConnectX-6 at x16 up to 200 Gb/s (NVIDIA,
/// ConnectX-6 Ethernet Adapter Cards User Manual, introduction), a ConnectX-7 one port of 400 Gb/s or two of 200
/// (ConnectX-7 Cards for OCP Spec 3.0 User Manual, introduction).
fn family_rate(topology: &Topology, address: Address, kind: Kind) -> Option<f64> {
    const FAMILIES: [(&str, f64); 2] = [("ConnectX-6", 200.0), ("ConnectX-7", 400.0)];
    let name = topology.host.functions.get(&address).filter(|_| kind == Kind::Nic)?.called();
    FAMILIES.iter().find(|(family, _)| name.contains(family)).map(|(_, gigabits)| gigabits / 8.0)
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

impl Topology<'_> {
    /// Names of a device in the operating system.
    pub(crate) fn names(&self, endpoint: &Endpoint) -> Vec<String> {
        let functions = endpoint.functions.iter().filter_map(|a| self.host.functions.get(a));
        functions.flat_map(|f| f.devices.iter().map(|d| d.value.clone())).collect()
    }

    /// The nth GPU: as nvidia-smi numbers it, else by address.
    pub(crate) fn gpu(&self, index: usize) -> Option<&Endpoint> {
        let name = format!("GPU{index}");
        let by_name = self.devices.iter().find(|s| self.names(s).contains(&name));
        by_name.or_else(|| self.devices.iter().filter(|s| s.kind == Kind::Gpu).nth(index))
    }

    /// A device by its name in the report, its address, or its name in the operating system.
    pub(crate) fn device(&self, name: &str) -> Option<&Endpoint> {
        let name = name.trim().trim_start_matches("/dev/");
        let address = Address::parse(&name.to_ascii_lowercase());
        let all = || self.devices.iter();
        all()
            .find(|s| s.id == name || address.is_some_and(|a| s.functions.contains(&a)))
            .or_else(|| all().find(|s| self.names(s).iter().any(|n| n == name)))
            // A partition or namespace: nvme0n1p2 is on nvme0.
            .or_else(|| {
                let controller =
                    name.strip_prefix("nvme").map(|n| n.chars().take_while(char::is_ascii_digit).collect::<String>());
                let controller = format!("nvme{}", controller.filter(|c| !c.is_empty())?);
                all().find(|s| self.names(s).contains(&controller))
            })
            // Where there is one drive, a drive's test is of it.
            .or_else(|| {
                let mut drives = all().filter(|s| s.kind == Kind::Drive);
                let only = drives.next().filter(|_| drives.next().is_none());
                only.filter(|_| name.starts_with("nvme"))
            })
    }
}
