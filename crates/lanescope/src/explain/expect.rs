//! What devices should reach: alone to and from host memory, all of a class at once, and peer to peer.

use super::belief::{Belief, shown};
use super::rate::{Corner, Range, Sizes, Way, efficiency};
use super::slots::{Slot, word};
use super::tree::Role;
use super::{Device, Expected, Pair, Seen, Together, scenario};
use crate::diagnostic::{Diagnostics, Span};
use crate::import::host::{Address, Kind, PortType, value};
use crate::protocol::pcie::{self, Header, Speed};
use crate::scenario::keys::{RootComplex, Switch};
use crate::scenario::quantity;
use crate::scenario::tree::Table;
use crate::units::Time;
use std::collections::BTreeMap;

impl Seen<'_> {
    /// Whether NVLink or xGMI joins two devices.
    pub(crate) fn joined(&self, from: &Slot, to: &Slot) -> bool {
        direct(self, from, to).is_some()
    }

    /// Functions on the way of a device: itself and the ports above it.
    pub(crate) fn on_path(&self, slot: &Slot) -> Vec<Address> {
        let mut all = vec![slot.address];
        all.extend(self.tree.path(slot.address));
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
    pub(crate) fn mps(&self, slot: &Slot) -> Option<u32> {
        let of = |a: &Address| self.of_express(a, |e| value(&e.mps));
        of(&slot.address).or_else(|| self.on_path(slot).iter().filter_map(of).min())
    }

    /// The least Max_Payload_Size Supported on the way, and whose it is.
    pub(crate) fn mps_supported(&self, slot: &Slot) -> Option<(u32, Address)> {
        let of = |a: &Address| Some((self.of_express(a, |e| value(&e.mps_supported))?, *a));
        // Of several that allow no more, the one nearest to the root clamps all.
        self.on_path(slot).iter().rev().filter_map(of).min_by_key(|(size, _)| *size)
    }

    /// Sizes on the way of a device.
    pub(crate) fn sizes(&self, slot: &Slot, corner: Corner) -> Sizes {
        let supported = self.mps_supported(slot).map_or(512, |(size, _)| size);
        let pick = |[low, typical, high]: [u32; 3]| match corner {
            Corner::Low => low,
            Corner::Typical => typical,
            Corner::High => high,
        };
        let open = pick([128, supported.min(256), supported.min(512)]);
        let mps = self.mps(slot).unwrap_or(open).min(4096);
        let mrrs = self.of_express(&slot.address, |e| value(&e.mrrs)).unwrap_or(pick([512, 512, 4096]));
        let root = self.on_path(slot).last().copied();
        let of_root = |get: fn(&crate::import::host::function::Express) -> Option<u32>| {
            root.filter(|r| *r != slot.address).and_then(|r| self.of_express(&r, get))
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
    pub(crate) fn along(&self, slot: &Slot, links: &[usize], way: Way, corner: Corner) -> Option<(f64, usize)> {
        let sizes = self.sizes(slot, corner);
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
        least.map(|(rate, link)| (rate * efficiency(slot.kind, way, corner), link))
    }

    /// What a device should reach alone, GB/s.
    pub(crate) fn alone(&self, slot: &Slot, way: Way) -> (Range, Option<usize>) {
        let of = |corner| {
            let wire = self.along(slot, &slot.links, way, corner)?;
            Some((slot.port.map_or(wire.0, |p| p.min(wire.0)), wire.1))
        };
        let [low, typical, high] = Corner::ALL.map(of);
        let bound = typical.or(high).map(|(_, link)| link);
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

    fn expected(&self, slot: &Slot, way: Way) -> Expected {
        if let Some(bus) = self.tree.shared_bus(slot.address) {
            let bound_by = format!("the PCI bus behind {bus}, whose clock the dump does not say");
            return Expected { rate: Range::default(), bound_by, upgrade: None };
        }
        let (rate, bound) = self.alone(slot, way);
        let wire = bound.and_then(|b| Some((b, self.speed(b, Corner::Typical).or(self.speed(b, Corner::High))?)));
        let wire_typical = self.along(slot, &slot.links, way, Corner::Typical).map(|w| w.0);
        if let (Some(port), Some(wire)) = (slot.port, wire_typical)
            && port <= wire
        {
            let bound_by = format!("its network ports, {port:.3} GB/s");
            return Expected { rate, bound_by, upgrade: None };
        }
        let bound_by = match wire {
            Some((link, speed)) => {
                format!("{}, {}, MPS {}", self.link_name(link), shown(speed), self.sizes(slot, Corner::Typical).mps)
            }
            None => "a link whose speed is not known".to_owned(),
        };
        Expected { rate, bound_by, upgrade: bound.and_then(|b| self.upgrade(slot, way, b)) }
    }

    /// The cheapest change that gives a device more: what a link can do already, a larger MPS, another slot.
    fn upgrade(&self, slot: &Slot, way: Way, bound: usize) -> Option<String> {
        let now = self.alone(slot, way).0.typical?;
        let belief = &self.beliefs[bound];
        let sizes = self.sizes(slot, Corner::Typical);
        let gain = efficiency(slot.kind, way, Corner::Typical);
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
        if let Some((supported, _)) = self.mps_supported(slot).filter(|(s, _)| u64::from(*s) > sizes.mps) {
            let size = u64::from(supported.min(512));
            let larger = Sizes { mps: size, completion: sizes.completion, ..sizes };
            if let Some(rate) = with(typical, larger).filter(|r| worth(*r)) {
                return Some(format!("MPS {size} B, which all on the way can do (pci=pcie_bus_perf): {rate:.2} GB/s"));
            }
        }
        let own = self.beliefs.get(*slot.links.first()?)?;
        if let Some(device) = own.lower_capable.filter(|d| d.coded() > typical.coded()) {
            let rate = with(device, sizes).filter(|r| worth(*r))?;
            return Some(format!("a slot of {}, which the device can do: {rate:.2} GB/s", shown(device)));
        }
        None
    }
}

/// A link in words, with what it is taken for.
pub(crate) fn reason(seen: &Seen, slot: &Slot, link: usize) -> String {
    let speed = seen.speed(link, Corner::Low).map_or_else(|| "a speed that is not known".to_owned(), shown);
    format!("{} at {speed} and MPS {} B", seen.link_name(link), seen.sizes(slot, Corner::Low).mps)
}

/// Lines of all devices.
pub(crate) fn devices(seen: &Seen) -> Vec<Device> {
    let line = |slot: &Slot| {
        let function = seen.host.functions.get(&slot.address);
        let names = slot.functions.iter().filter_map(|a| seen.host.functions.get(a));
        Device {
            id: slot.id.clone(),
            address: slot.address.to_string(),
            name: function.map_or_else(String::new, |f| f.called()),
            kind: word(slot.kind).to_owned(),
            devices: names.flat_map(|f| f.devices.iter().map(|d| d.value.clone())).collect(),
            node: slot.node,
            to_memory: seen.expected(slot, Way::Write),
            from_memory: seen.expected(slot, Way::Read),
            read_latency_ns: latency(seen, slot),
        }
    };
    seen.devices.iter().map(line).collect()
}

/// An unloaded read of 64 B, ns: the root complex's `read_latency` and the `latency` of each switch on the way, there
/// and back, as the scenario language has them by default; request and completion on each wire.
fn latency(seen: &Seen, slot: &Slot) -> Range {
    let (mut d, nothing) = (Diagnostics::default(), Table::default());
    let (Some(root), Some(switch)) =
        (RootComplex::read(&mut d, &nothing, Span::default()), Switch::read(&mut d, &nothing, Span::default()))
    else {
        unreachable!("a test reads the defaults");
    };
    let switches = seen.tree.path(slot.address).into_iter().filter(|a| seen.in_switch(*a)).count() as f64;
    let at = |corner, of: quantity::Corner| {
        let ns = |q: &quantity::Quantity<Time>| q.at(of).seconds() * 1e9;
        let wires = slot.links.iter().map(|l| {
            let speed = seen.speed(*l, corner)?;
            let tlp = |header, payload| pcie::tlp(speed.generation, header, payload, false) as f64;
            Some((tlp(Header::Dw4, 0) + tlp(Header::Dw3, 64)) / speed.coded().bytes() * 1e9)
        });
        Some(ns(&root.read_latency) + 2.0 * ns(&switch.latency) * switches + wires.sum::<Option<f64>>()?)
    };
    Range {
        low: at(Corner::High, quantity::Corner::Faster),
        typical: at(Corner::Typical, quantity::Corner::Typical),
        high: at(Corner::Low, quantity::Corner::Slower),
    }
}

/// Loads of a class at once, as the estimate shares them.
pub(crate) fn together(seen: &Seen) -> Vec<Together> {
    let mut lines = Vec::new();
    for kind in [Kind::Gpu, Kind::Nic, Kind::Drive] {
        let slots: Vec<&Slot> = seen.devices.iter().filter(|s| s.kind == kind && !s.links.is_empty()).collect();
        if slots.len() < 2 {
            continue;
        }
        for (name, ways) in
            [("to memory", &[Way::Write][..]), ("from memory", &[Way::Read]), ("both ways", &[Way::Write, Way::Read])]
        {
            let [low, typical, high] = Corner::ALL.map(|c| scenario::shares(seen, &slots, ways, c));
            let Some(best) = typical.as_ref().or(high.as_ref()) else { continue };
            let range = |of: fn(&scenario::Shares) -> f64| Range {
                low: low.as_ref().map(of),
                typical: typical.as_ref().map(of),
                high: high.as_ref().map(of),
            };
            lines.push(Together {
                class: format!("{}s", word(kind)),
                devices: slots.len(),
                way: name.to_owned(),
                total: range(|s| s.total),
                least: range(|s| s.least),
                bound_by: best.bound_by.clone(),
            });
        }
    }
    lines
}

/// Most pairs that a report lists; a host with more is listed by its first devices.
const MOST_PAIRS: usize = 2000;

/// Pairs of GPUs, and of GPUs with network adapters.
pub(crate) fn pairs(seen: &Seen) -> Vec<Pair> {
    let of = |kind| seen.devices.iter().filter(move |s| s.kind == kind);
    let gpus: Vec<&Slot> = of(Kind::Gpu).collect();
    let mut lines = Vec::new();
    for (n, from) in gpus.iter().enumerate() {
        for to in gpus[n + 1..].iter().copied().chain(of(Kind::Nic)) {
            if lines.len() < MOST_PAIRS {
                lines.extend(pair(seen, from, to));
            }
        }
    }
    related(seen, &mut lines);
    lines
}

/// What `nvidia-smi topo -m` says of pairs: direct links, and the ways of devices that no other dump shows.
fn related(seen: &Seen, lines: &mut Vec<Pair>) {
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    for slot in &seen.devices {
        for function in slot.functions.iter().filter_map(|a| seen.host.functions.get(a)) {
            ids.extend(function.devices.iter().map(|d| (d.value.as_str(), slot.id.as_str())));
        }
    }
    for relation in &seen.host.relations {
        let of = |name: &str| ids.get(name).copied();
        let direct = relation.way.strip_prefix("NV").map(|n| format!("NVLink x{n}"));
        if let (Some(a), Some(b)) = (of(&relation.from), of(&relation.to)) {
            let ends = |p: &&mut Pair| (p.from == a && p.to == b) || (p.from == b && p.to == a);
            if let (Some(direct), Some(line)) = (direct, lines.iter_mut().find(ends)) {
                line.direct.get_or_insert(direct);
            }
            continue;
        }
        if lines.len() >= MOST_PAIRS {
            return;
        }
        // The legend of nvidia-smi topo -m.
        let (way, through) = match relation.way.as_str() {
            "PIX" => ("switch", "through one PCI Express bridge"),
            "PXB" => ("switch", "through several PCI Express bridges"),
            "PHB" => ("root", "through the root complex"),
            "NODE" => ("root", "through two root complexes of one NUMA node"),
            "SYS" | "SOC" => ("sockets", "through the root complexes of two NUMA nodes"),
            _ => ("direct", "over direct links"),
        };
        lines.push(Pair {
            from: relation.from.clone(),
            to: relation.to.clone(),
            way: way.to_owned(),
            through: format!("{through} ({})", relation.way),
            write: Range::default(),
            bound_by: "links that this dump does not show".to_owned(),
            direct,
        });
    }
}

/// Where two ways meet: below a switch, or not.
pub(crate) struct Meeting {
    /// The function that both ways pass, if it is within a switch.
    pub(crate) switch: Option<Address>,
    /// Links of the one only, and of the other only.
    pub(crate) own: (Vec<usize>, Vec<usize>),
    /// A port whose ACS sends requests up.
    pub(crate) redirect: Option<Address>,
}

pub(crate) fn meet(seen: &Seen, from: &Slot, to: &Slot) -> Meeting {
    let (a, b) = (seen.tree.path(from.address), seen.tree.path(to.address));
    let common = a.iter().find(|x| b.contains(x)).copied();
    let switch = common.filter(|c| matches!(seen.tree.role(*c), Role::Up | Role::Switch));
    let only = |of: &Slot, other: &Slot| -> Vec<usize> {
        of.links.iter().copied().filter(|l| switch.is_none() || !other.links.contains(l)).collect()
    };
    // A downstream port redirects what comes up to it (3.0, 6.12.1.1).
    let ports = a.iter().chain(&b).filter(|p| {
        seen.host.functions.get(p).is_some_and(|f| {
            f.port().is_none_or(|p| p == PortType::Downstream) && value(&f.acs).is_some_and(|s| s.request_redirect)
        })
    });
    let redirect = switch.and_then(|_| ports.copied().next());
    Meeting { switch, own: (only(from, to), only(to, from)), redirect }
}

fn pair(seen: &Seen, from: &Slot, to: &Slot) -> Option<Pair> {
    let meeting = meet(seen, from, to);
    let direct = direct(seen, from, to);
    let links: Vec<usize> = match (meeting.switch, meeting.redirect) {
        (Some(_), None) => meeting.own.0.iter().chain(&meeting.own.1).copied().collect(),
        _ => from.links.iter().chain(&to.links).copied().collect(),
    };
    let at = |corner| seen.along(from, &links, Way::Write, corner);
    let [low, typical, high] = Corner::ALL.map(at);
    let bound = typical.or(high)?.1;
    // What an adapter sends on is bound by its ports.
    let ports = [from.port, to.port].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let capped = |end: Option<(f64, usize)>| end.map(|l| l.0.min(ports));
    let mut write = Range { low: capped(low), typical: capped(typical), high: capped(high) };
    let far = matches!((from.node, to.node), (Some(a), Some(b)) if a != b);
    let (way, through) = match (meeting.switch, meeting.redirect) {
        (Some(switch), None) => ("switch", format!("through the switch at {switch}")),
        (Some(switch), Some(port)) => {
            ("redirected", format!("up from the switch at {switch} to the root and back: ACS redirects at {port}"))
        }
        (None, _) if far => ("sockets", "through the root complexes of two NUMA nodes".to_owned()),
        (None, _) => ("root", "through the root complex".to_owned()),
    };
    // No dump says whether and how fast a root complex forwards between its ports; between sockets less still.
    if way != "switch" {
        write.low = None;
    }
    if way == "sockets" {
        write.typical = None;
    }
    let bound_by = match way {
        "sockets" => "the link between the sockets, which no dump states".to_owned(),
        _ if write.high.is_some_and(|h| h >= ports) => format!("network ports, {ports:.3} GB/s"),
        _ => seen.link_name(bound),
    };
    Some(Pair { from: from.id.clone(), to: to.id.clone(), way: way.into(), through, write, bound_by, direct })
}

/// NVLink or xGMI between two GPUs: to one another, or both to a switch of such links.
fn direct(seen: &Seen, from: &Slot, to: &Slot) -> Option<String> {
    let nccl = |s: &Slot| seen.host.functions.get(&s.address)?.nccl.as_ref();
    let links = &nccl(from)?.direct;
    let target = |d: &crate::import::host::function::Direct, name: &str| {
        d.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    };
    let to_it = links.iter().find(|d| target(d, "target").and_then(|t| Address::parse(&t)) == Some(to.address));
    let switched = || {
        let classes: Vec<_> = links.iter().filter(|d| target(d, "tclass").as_deref() == Some("0x068000")).collect();
        let other = nccl(to)?.direct.iter().any(|d| target(d, "tclass").as_deref() == Some("0x068000"));
        classes.first().copied().filter(|_| other)
    };
    let found = to_it.or_else(switched)?;
    let name = if found.kind == "xgmi" { "xGMI" } else { "NVLink" };
    Some(name.to_owned())
}
