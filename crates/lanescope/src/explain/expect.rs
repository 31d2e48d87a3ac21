//! What devices should reach: alone to and from host memory, all of a class at once, and peer to peer.

use super::belief::{Belief, shown};
use super::endpoints::{Endpoint, word};
use super::rate::{Corner, Range, Sizes, Way, efficiency};
use super::{Device, Expected, Far, Topology};
use crate::diagnostic::{Diagnostics, Span};
use crate::import::host::{Address, Kind, value};
use crate::protocol::pcie::{self, Header, Speed};
use crate::scenario::keys::{RootComplex, Switch};
use crate::scenario::quantity;
use crate::scenario::tree::Table;
use crate::units::Time;
use std::collections::BTreeSet;

impl Topology<'_> {
    /// Functions on the way of a device: itself and the ports above it.
    pub(crate) fn on_path(&self, endpoint: &Endpoint) -> Vec<Address> {
        let mut all = vec![endpoint.address];
        all.extend(self.tree.path(endpoint.address));
        all
    }

    fn of_express<T>(
        &self,
        a: &Address,
        get: impl Fn(&crate::import::host::function::Express) -> Option<T>,
    ) -> Option<T> {
        get(self.host.functions.get(a)?.express.as_ref()?)
    }

    /// Max_Payload_Size in force: what the device sends, or the least of the ports that the dump knows.
    pub(crate) fn mps(&self, endpoint: &Endpoint) -> Option<u32> {
        let of = |a: &Address| self.of_express(a, |e| value(&e.mps));
        of(&endpoint.address).or_else(|| self.on_path(endpoint).iter().filter_map(of).min())
    }

    /// The least Max_Payload_Size Supported on the way, and whose it is.
    pub(crate) fn mps_supported(&self, endpoint: &Endpoint) -> Option<(u32, Address)> {
        let of = |a: &Address| Some((self.of_express(a, |e| value(&e.mps_supported))?, *a));
        // Of several that allow no more, the one nearest to the root clamps all.
        self.on_path(endpoint).iter().rev().filter_map(of).min_by_key(|(size, _)| *size)
    }

    /// Sizes on the way of a device.
    pub(crate) fn sizes(&self, endpoint: &Endpoint, corner: Corner) -> Sizes {
        let supported = self.mps_supported(endpoint).map_or(512, |(size, _)| size);
        let pick = |[low, typical, high]: [u32; 3]| match corner {
            Corner::Low => low,
            Corner::Typical => typical,
            Corner::High => high,
        };
        let open = pick([128, supported.min(256), supported.min(512)]);
        let mps = self.mps(endpoint).unwrap_or(open).min(4096);
        let mrrs = self.of_express(&endpoint.address, |e| value(&e.mrrs)).unwrap_or(pick([512, 512, 4096]));
        let root = self.on_path(endpoint).last().copied();
        let of_root = |get: fn(&crate::import::host::function::Express) -> Option<u32>| {
            root.filter(|r| *r != endpoint.address).and_then(|r| self.of_express(&r, get))
        };
        // A root complex answers in pieces of its RCB, or joins some: cache lines of 64 B, up to 256 B (2.0, 2.3.1.1).
        let rcb = of_root(|e| value(&e.rcb)).unwrap_or(64);
        let most = of_root(|e| value(&e.mps)).unwrap_or(mps).min(mps).min(mrrs).min(256);
        let completion = pick([rcb.min(most), most.min(128), most]);
        Sizes { mps: mps.into(), mrrs: mrrs.min(4096).into(), completion: completion.into() }
    }

    /// The speed of a link at a corner.
    pub(crate) fn speed(&self, link: usize, corner: Corner) -> Option<Speed> {
        let Belief { low, typical, high, .. } = self.beliefs.get(link)?;
        match corner {
            Corner::Low => *low,
            Corner::Typical => *typical,
            Corner::High => *high,
        }
    }

    /// What a device gets of some links at a corner, GB/s, and which link binds; `None` where one is not known.
    pub(crate) fn along(&self, endpoint: &Endpoint, links: &[usize], way: Way, corner: Corner) -> Option<(f64, usize)> {
        let sizes = self.sizes(endpoint, corner);
        let mut least: Option<(f64, usize)> = None;
        for link in links {
            match self.speed(*link, corner) {
                Some(speed) => {
                    let rate = self.rates.of(speed, sizes, way)?;
                    if least.is_none_or(|(l, _)| rate < l) {
                        least = Some((rate, *link));
                    }
                }
                // What is not known does not bound from above.
                None if corner == Corner::High => {}
                None => return None,
            }
        }
        least.map(|(rate, link)| (rate * efficiency(endpoint.kind, way, corner), link))
    }

    /// What stands between a device and its links: its network ports, and the shared bus that it stands on, GB/s.
    pub(crate) fn cap(&self, endpoint: &Endpoint, way: Way, corner: Corner) -> Option<f64> {
        let bus = endpoint.bus.and_then(|b| self.bus_rate(b, endpoint, way, corner));
        // Which of a family an adapter is may leave its ports slower, but none faster.
        let ports = endpoint.port.or(endpoint.family.filter(|_| corner != Corner::Low));
        [ports, bus].into_iter().flatten().reduce(f64::min)
    }

    /// What a device should reach alone, GB/s.
    pub(crate) fn alone(&self, endpoint: &Endpoint, way: Way) -> (Range, Option<usize>) {
        let of = |corner| {
            let cap = self.cap(endpoint, way, corner);
            // A host bridge of PCI has no link above it.
            if endpoint.links.is_empty() {
                return cap.map(|c| (c, None));
            }
            let wire = self.along(endpoint, &endpoint.links, way, corner);
            match (wire, endpoint.bus.and(cap)) {
                // A bus is slower than any link: what its bridge's link runs at need not be known.
                (None, Some(cap)) => Some((cap, None)),
                (wire, _) => wire.map(|(rate, link)| (cap.map_or(rate, |c| c.min(rate)), Some(link))),
            }
        };
        let [low, typical, high] = Corner::ALL.map(of);
        // A network may be slower than the slot: where nothing says how fast its ports are, nothing is certain.
        let low = low.filter(|_| endpoint.kind != Kind::Nic || endpoint.port.is_some());
        let bound = typical.or(high).and_then(|(_, link)| link);
        (Range { low: low.map(|l| l.0), typical: typical.map(|l| l.0), high: high.map(|l| l.0) }, bound)
    }

    /// What to call a link: its upper port and what is below.
    pub(crate) fn link_name(&self, link: usize) -> String {
        let link = &self.tree.links[link];
        match link.upper {
            Some(upper) => format!("link {upper} – {}", link.lower),
            None => format!("link above {}", link.lower),
        }
    }

    /// The network ports of a device, where they bind it alone.
    fn ports_bind(&self, endpoint: &Endpoint, way: Way) -> Option<String> {
        let along = |corner| self.along(endpoint, &endpoint.links, way, corner);
        let (wire, _) = along(Corner::Typical).or_else(|| along(Corner::High))?;
        let port = endpoint.port.or(endpoint.family).filter(|p| *p <= wire)?;
        let most = if endpoint.port.is_some() { "" } else { "at most " };
        Some(format!("its network ports, {most}{port:.3} GB/s"))
    }

    /// What binds a device alone: its network ports, or a link on its way.
    pub(crate) fn binds_alone(&self, endpoint: &Endpoint, way: Way) -> String {
        self.ports_bind(endpoint, way).unwrap_or_else(|| match self.alone(endpoint, way).1 {
            Some(link) => self.link_name(link),
            None => "a link whose speed is not known".to_owned(),
        })
    }

    fn expected(&self, endpoint: &Endpoint, way: Way) -> Expected {
        if let Some(bus) = endpoint.bus {
            let rate = self.alone(endpoint, way).0;
            let bound_by = match endpoint.port.filter(|p| rate.typical == Some(*p)) {
                Some(port) => format!("its network ports, {port:.3} GB/s"),
                None => self.bus_name(bus),
            };
            return Expected { rate, bound_by, upgrade: None };
        }
        let (rate, bound) = self.alone(endpoint, way);
        let wire = bound.and_then(|b| Some((b, self.speed(b, Corner::Typical).or(self.speed(b, Corner::High))?)));
        if let Some(bound_by) = self.ports_bind(endpoint, way) {
            return Expected { rate, bound_by, upgrade: None };
        }
        let bound_by = match wire {
            Some((link, speed)) => {
                format!("{}, {}, MPS {}", self.link_name(link), shown(speed), self.sizes(endpoint, Corner::Typical).mps)
            }
            None => "a link whose speed is not known".to_owned(),
        };
        Expected { rate, bound_by, upgrade: bound.and_then(|b| self.upgrade(endpoint, way, b)) }
    }

    /// The cheapest change that gives a device more: what a link can do already, a larger MPS, another slot.
    fn upgrade(&self, endpoint: &Endpoint, way: Way, bound: usize) -> Option<String> {
        let now = self.alone(endpoint, way).0.typical?;
        let belief = &self.beliefs[bound];
        let sizes = self.sizes(endpoint, Corner::Typical);
        let gain = efficiency(endpoint.kind, way, Corner::Typical);
        let with = |speed: Speed, sizes: Sizes| Some(self.rates.of(speed, sizes, way)? * gain);
        let worth = |rate: f64| rate > now * 1.02;
        let typical = belief.typical?;
        if let Some(capable) = belief.capable.filter(|c| c.coded() > typical.coded()) {
            let rate = with(capable, sizes).filter(|r| worth(*r))?;
            let who = match belief.upper_capable {
                Some(_) => "that both ends can do",
                None => "that the device can do, if the port above can",
            };
            return Some(format!("retrain it to the {} {who}: {rate:.2} GB/s", shown(capable)));
        }
        if let Some((supported, _)) = self.mps_supported(endpoint).filter(|(s, _)| u64::from(*s) > sizes.mps) {
            let size = u64::from(supported.min(512));
            let larger = Sizes { mps: size, completion: sizes.completion, ..sizes };
            if let Some(rate) = with(typical, larger).filter(|r| worth(*r)) {
                return Some(format!(
                    "MPS {size} B, which every part of the path supports (pci=pcie_bus_perf): {rate:.2} GB/s"
                ));
            }
        }
        let own = self.beliefs.get(*endpoint.links.first()?)?;
        if let Some(device) = own.lower_capable.filter(|d| d.coded() > typical.coded()) {
            let rate = with(device, sizes).filter(|r| worth(*r))?;
            return Some(format!("a slot of {}, which the device can do: {rate:.2} GB/s", shown(device)));
        }
        None
    }
}

/// A link in words, with what it is taken for.
pub(crate) fn reason(topology: &Topology, endpoint: &Endpoint, link: usize) -> String {
    let speed = topology.speed(link, Corner::Low).map_or_else(|| "a speed that is not known".to_owned(), shown);
    format!("{} at {speed} and MPS {} B", topology.link_name(link), topology.sizes(endpoint, Corner::Low).mps)
}

/// Lines of all devices.
pub(crate) fn devices(topology: &Topology) -> Vec<Device> {
    let nodes: BTreeSet<u32> = topology.devices.iter().filter_map(|d| d.node).collect();
    let several = nodes.len() > 1 || topology.host.nodes.len() > 1;
    let line = |endpoint: &Endpoint| {
        let [to_memory, from_memory] = [Way::Write, Way::Read].map(|way| topology.expected(endpoint, way));
        let function = topology.host.functions.get(&endpoint.address);
        let names = endpoint.functions.iter().filter_map(|a| topology.host.functions.get(a));
        Device {
            id: endpoint.id.clone(),
            address: endpoint.address.to_string(),
            name: function.map_or_else(String::new, |f| f.called()),
            kind: word(endpoint.kind).to_owned(),
            devices: names.flat_map(|f| f.devices.iter().map(|d| d.value.clone())).collect(),
            node: endpoint.node,
            read_latency_ns: latency(topology, endpoint, false),
            far: several.then(|| Far {
                to_memory: at_most(to_memory.rate),
                from_memory: at_most(from_memory.rate),
                read_latency_ns: latency(topology, endpoint, true),
            }),
            to_memory,
            from_memory,
        }
    };
    topology.devices.iter().map(line).collect()
}

fn at_most(near: Range) -> Range {
    Range { low: None, typical: None, high: near.high }
}

/// Root complex and switch as the scenario language has them by default: where no dump says how long they take.
fn defaults() -> (RootComplex, Switch) {
    let (mut d, nothing) = (Diagnostics::default(), Table::default());
    let (Some(root), Some(switch)) =
        (RootComplex::read(&mut d, &nothing, Span::default()), Switch::read(&mut d, &nothing, Span::default()))
    else {
        unreachable!("a test reads the defaults");
    };
    (root, switch)
}

fn ns(quantity: &quantity::Quantity<Time>, of: quantity::Corner) -> f64 {
    quantity.at(of).seconds() * 1e9
}

impl Topology<'_> {
    /// Switches on the way of a device.
    fn switches(&self, endpoint: &Endpoint) -> f64 {
        self.tree.path(endpoint.address).into_iter().filter(|a| self.in_switch(*a)).count() as f64
    }

    /// What packets of some payloads take on each wire of a device's way, added, ns.
    fn wires(&self, endpoint: &Endpoint, corner: Corner, packets: &[(Header, u64)]) -> Option<f64> {
        let wire = |l: &usize| {
            let speed = self.speed(*l, corner)?;
            let bytes: u64 = packets.iter().map(|(h, p)| pcie::tlp(speed.generation, *h, *p, false)).sum();
            Some(bytes as f64 / speed.coded().bytes() * 1e9)
        };
        endpoint.links.iter().map(wire).sum()
    }
}

/// An unloaded read of 64 B, ns: the root complex's `read_latency` (and its `remote_latency`, of another node's memory)
/// and the `latency` of each switch on the way, there and back, as the scenario language has them by default; request
/// and completion on each wire.
fn latency(topology: &Topology, endpoint: &Endpoint, far: bool) -> Range {
    let (root, switch) = defaults();
    let at = |corner, of: quantity::Corner| {
        let wires = topology.wires(endpoint, corner, &[(Header::Dw4, 0), (Header::Dw3, 64)])?;
        let remote = if far { ns(&root.remote_latency, of) } else { 0.0 };
        Some(ns(&root.read_latency, of) + remote + 2.0 * ns(&switch.latency, of) * topology.switches(endpoint) + wires)
    };
    Range {
        low: at(Corner::High, quantity::Corner::Faster),
        typical: at(Corner::Typical, quantity::Corner::Typical),
        high: at(Corner::Low, quantity::Corner::Slower),
    }
}

/// What a write of 64 B takes from one device to another over the root complex, likely, ns: each wire, each switch's
/// `latency`, the root complex's `write_latency`, and its `remote_latency` between nodes.
pub(crate) fn passage(topology: &Topology, from: &Endpoint, to: &Endpoint) -> Option<f64> {
    let (root, switch) = defaults();
    let typical = quantity::Corner::Typical;
    let wires = |e| topology.wires(e, Corner::Typical, &[(Header::Dw4, 64)]);
    let far = matches!((from.node, to.node), (Some(a), Some(b)) if a != b);
    let crossing = ns(&root.write_latency, typical) + if far { ns(&root.remote_latency, typical) } else { 0.0 };
    let switches = ns(&switch.latency, typical) * (topology.switches(from) + topology.switches(to));
    Some(wires(from)? + wires(to)? + switches + crossing)
}
