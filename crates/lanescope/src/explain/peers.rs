//! What devices should reach from one to another: pairs, where their ways meet, and what joins them beside PCI Express.

use super::endpoints::Endpoint;
use super::rate::{Corner, Range, Way};
use super::tree::Role;
use super::{Pair, Topology};
use crate::import::host::{Address, Kind, PortType, value};
use std::collections::BTreeMap;

impl Topology<'_> {
    /// Whether NVLink or xGMI joins two devices.
    pub(crate) fn joined(&self, from: &Endpoint, to: &Endpoint) -> bool {
        direct(self, from, to).is_some()
    }
}

/// Most pairs that a report lists; a host with more is listed by its first devices.
const MOST_PAIRS: usize = 2000;

/// Pairs of GPUs, and of GPUs with network adapters.
pub(crate) fn pairs(topology: &Topology) -> Vec<Pair> {
    let of = |kind| topology.devices.iter().filter(move |s| s.kind == kind && s.bus.is_none());
    let gpus: Vec<&Endpoint> = of(Kind::Gpu).collect();
    let mut lines = Vec::new();
    for (n, from) in gpus.iter().enumerate() {
        if lines.len() >= MOST_PAIRS {
            break;
        }
        for to in gpus[n + 1..].iter().copied().chain(of(Kind::Nic)) {
            if lines.len() < MOST_PAIRS {
                lines.extend(pair(topology, from, to));
            }
        }
    }
    related(topology, &mut lines);
    lines
}

/// What `nvidia-smi topo -m` says of pairs: direct links, and the ways of devices that no other dump shows.
fn related(topology: &Topology, lines: &mut Vec<Pair>) {
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    for endpoint in &topology.devices {
        for function in endpoint.functions.iter().filter_map(|a| topology.host.functions.get(a)) {
            ids.extend(function.devices.iter().map(|d| (d.value.as_str(), endpoint.id.as_str())));
        }
    }
    for relation in &topology.host.relations {
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
            forwarded_as: None,
            bound_by: "links that this dump does not show".to_owned(),
            direct,
            simulated: None,
            simulated_both_ways: None,
        });
    }
}

/// Where two ways meet: below a switch, or not.
pub(crate) struct PeerPath {
    /// The function that both ways pass, if it is within a switch.
    pub(crate) switch: Option<Address>,
    /// Links of the one only, and of the other only.
    pub(crate) own: (Vec<usize>, Vec<usize>),
    /// A port whose ACS sends requests up.
    pub(crate) redirect: Option<Address>,
}

impl PeerPath {
    /// Whether a root complex passes it on: nothing joins the two below it, or ACS sends requests up.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.switch.is_none() || self.redirect.is_some()
    }

    /// Links that a write from one to the other crosses.
    pub(crate) fn links(&self, from: &Endpoint, to: &Endpoint) -> Vec<usize> {
        match self.is_forwarded() {
            true => from.links.iter().chain(&to.links).copied().collect(),
            false => self.own.0.iter().chain(&self.own.1).copied().collect(),
        }
    }
}

pub(crate) fn peer_path(topology: &Topology, from: &Endpoint, to: &Endpoint) -> PeerPath {
    let (a, b) = (topology.tree.path(from.address), topology.tree.path(to.address));
    let common = a.iter().find(|x| b.contains(x)).copied();
    let switch = common.filter(|c| matches!(topology.tree.role(*c), Role::Up | Role::Switch));
    let only = |of: &Endpoint, other: &Endpoint| -> Vec<usize> {
        of.links.iter().copied().filter(|l| switch.is_none() || !other.links.contains(l)).collect()
    };
    // A downstream port redirects what comes up to it (3.0, 6.12.1.1).
    let ports = a.iter().chain(&b).filter(|p| {
        topology.host.functions.get(p).is_some_and(|f| {
            f.port().is_none_or(|p| p == PortType::Downstream) && value(&f.acs).is_some_and(|s| s.request_redirect)
        })
    });
    let redirect = switch.and_then(|_| ports.copied().next());
    PeerPath { switch, own: (only(from, to), only(to, from)), redirect }
}

/// What one device writes to another, GB/s: over links below a switch what they carry, through root complexes what
/// those of the host's class forward.
pub(crate) fn writes(topology: &Topology, from: &Endpoint, to: &Endpoint, path: &PeerPath) -> Range {
    let links = path.links(from, to);
    // What an adapter sends on is bound by its ports.
    let ports = [from.port, to.port].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let along = |corner| Some(topology.along(from, &links, Way::Write, corner)?.0.min(ports));
    let forwarded = |corner| Some(topology.forwarded(from, to, corner)?.min(ports));
    let at = |corner| if path.is_forwarded() { forwarded(corner) } else { along(corner) };
    let [low, typical, high] = Corner::ALL.map(at);
    let high = high.or_else(|| along(Corner::High));
    // What the link between sockets leaves nobody measured by class; what a port sends back to itself neither.
    match (path.is_forwarded(), path.switch.is_some(), topology.far(from, to)) {
        (true, _, true) => Range { low: None, typical: None, high },
        (true, true, _) => Range { low: None, typical, high },
        _ => Range { low, typical, high },
    }
}

fn pair(topology: &Topology, from: &Endpoint, to: &Endpoint) -> Option<Pair> {
    let path = peer_path(topology, from, to);
    let direct = direct(topology, from, to);
    let links = path.links(from, to);
    let bound =
        [Corner::Typical, Corner::High].into_iter().find_map(|c| topology.along(from, &links, Way::Write, c))?.1;
    let ports = [from.port, to.port].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let write = writes(topology, from, to, &path);
    let far = topology.far(from, to);
    let (way, through) = match (path.switch, path.redirect) {
        (Some(switch), None) => ("switch", format!("through the switch at {switch}")),
        (Some(switch), Some(port)) => {
            ("redirected", format!("up from the switch at {switch} to the root and back: ACS redirects at {port}"))
        }
        (None, _) if far => ("sockets", "through the root complexes of two NUMA nodes".to_owned()),
        (None, _) => ("root", "through the root complex".to_owned()),
    };
    let class = topology.forwarding().filter(|_| path.is_forwarded());
    // Whatever else is not known: no more than its ports carry goes through an adapter.
    let at_ports = write.high.is_some_and(|h| h >= ports).then(|| format!("network ports, {ports:.3} GB/s"));
    let or = |unknown: String| match &at_ports {
        Some(ports) => format!("{ports}, or {unknown}"),
        None => unknown,
    };
    let bound_by = match (way, write.typical) {
        ("sockets", _) => match (topology.between_sockets(), &at_ports) {
            (Some(planned), Some(at_ports)) if ports < planned => at_ports.clone(),
            (Some(planned), _) => {
                or(format!("the link between the sockets, which no dump states; NCCL plans with {planned:.0} GB/s"))
            }
            (None, _) => or("the link between the sockets, which no dump states".to_owned()),
        },
        ("root" | "redirected", None) if class.is_none_or(|c| !c.is_measured()) => {
            or("what the root complex forwards, which no dump states".to_owned())
        }
        (_, None) => "a link whose speed is not known".to_owned(),
        ("root", _) if at_ports.is_none() => "the root complex, by its class".to_owned(),
        _ => at_ports.unwrap_or_else(|| topology.link_name(bound)),
    };
    Some(Pair {
        from: from.id.clone(),
        to: to.id.clone(),
        way: way.into(),
        through,
        write,
        forwarded_as: class.filter(|_| write.typical.is_some()).map(|c| format!("{}: {}", c.name, c.source)),
        bound_by,
        direct,
        simulated: None,
        simulated_both_ways: None,
    })
}

/// NVLink or xGMI between two GPUs: to one another, or both to a switch of such links.
fn direct(topology: &Topology, from: &Endpoint, to: &Endpoint) -> Option<String> {
    let nccl = |s: &Endpoint| topology.host.functions.get(&s.address)?.nccl.as_ref();
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
