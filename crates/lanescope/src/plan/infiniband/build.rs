//! From a scenario's channel adapters, switches, links and flows of ranks to [`Cluster`].

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::Flow;
use crate::plan::core::address::{self, Directory};
use crate::plan::core::dma::{self, Engine, Host};
use crate::plan::ethernet::packets;
use crate::plan::ethernet::{MOST_SWITCHES, Network, NodeId, Routes, Wired};
use crate::plan::infiniband::{Adapter, Cluster, Endpoint, HostSide, JobFlow, Link, Switch, blocks, joined, roce};
use crate::plan::pci::Buses;
use crate::protocol::ethernet::PRIORITIES;
use crate::protocol::infiniband::{BLOCK, Mtu};
use crate::scenario::keys::{self, MOST_LANES};
use crate::scenario::quantity::Name;
use crate::scenario::{FabricKeys, MAX_THINGS, Named, Scenario};
use crate::units::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// Why an adapter moves anything.
const WHY: &str = "a channel adapter's DMA for the messages of its host";
/// Ranks of one program, at most.
const MOST_RANKS: usize = 65_536;
/// Ports of a switch or an adapter, at most.
const MOST_PORTS: u32 = 4096;

/// Resolves and checks the clusters of a scenario, and adds each adapter's DMA to the flows of PCIe or of its bus.
pub(in crate::plan) fn build(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    host: &Host,
    network: &Network,
    flows: &mut Vec<Flow>,
    buses: &mut Buses,
) -> Cluster {
    let mut cluster = Cluster::default();
    if scenario.fabric_parts.is_empty() && scenario.jobs.is_empty() {
        return cluster;
    }
    let mut nodes = Nodes { directory: Directory::new(&scenario.fabric_parts), ..Nodes::new(scenario) };
    nodes.directory = nodes.directory.among(scenario, "expected channel adapters and InfiniBand switches");
    for part in &scenario.fabric_parts {
        let (name, group) = (part.name.clone(), part.group.clone());
        match &part.keys {
            FabricKeys::Adapter(keys) => {
                let most = keys.adapter_ports.typical.get();
                if most > MOST_PORTS {
                    let d = Diagnostic::error(keys.adapter_ports.span.unwrap_or(part.span), format!("{most} ports"));
                    diagnostics.push(d.hint(format!("at most {MOST_PORTS}")));
                    return Cluster::default();
                }
                let piece = Bytes(Mtu::ALL[4].bytes());
                let engine = Engine { name: &name, header: &keys.header, piece, why: WHY };
                let side = dma::of(diagnostics, host, &engine, part.span, flows, buses);
                let side = side.and_then(|(dma, host_name)| {
                    // An empty doorbell still rings with a byte.
                    let engine = Engine { piece: keys.doorbell_bytes.typical.max(Bytes(1)), ..engine };
                    let doorbell = dma::doorbell(host, &engine, flows, buses)?;
                    Some(HostSide { dma, doorbell, name: host_name, queues: None })
                });
                let (first, adapter) = (cluster.endpoints.len() as u32, cluster.adapters.len() as u32);
                let station = network.nodes.iter().position(|n| n.name == name).map(|n| NodeId(n as u32));
                nodes.places.push(Place::Adapter(adapter));
                cluster.endpoints.extend((0..most).map(|port| Endpoint {
                    adapter,
                    port,
                    station: station.filter(|_| port == 0),
                    out: None,
                    pausing: None,
                }));
                cluster.adapters.push(Adapter { name, group, keys: keys.clone(), host: side, first });
            }
            FabricKeys::Switch(keys) => {
                nodes.places.push(Place::Switch(cluster.switches.len() as u32));
                cluster.switches.push(Switch { name, group, keys: keys.clone() });
            }
        }
    }
    if cluster.endpoints.len() > MOST_RANKS || cluster.switches.len() > MOST_SWITCHES {
        let span = scenario.fabric_parts.first().map(|p| p.span);
        let what = format!("{} ports and {} switches", cluster.endpoints.len(), cluster.switches.len());
        diagnostics.push(
            Diagnostic::error(span, what).hint(format!("at most {MOST_RANKS} ports and {MOST_SWITCHES} switches")),
        );
        return cluster;
    }
    for link in &scenario.infiniband_links {
        nodes.wire(diagnostics, link, &mut cluster);
        if cluster.links.len() > MAX_THINGS {
            diagnostics.push(
                Diagnostic::error(link.span, format!("more than {MAX_THINGS} links"))
                    .hint("use fewer: no answer needs so many"),
            );
            return cluster;
        }
    }
    let mut ports: Vec<Vec<(u32, u8)>> = vec![Vec::new(); cluster.endpoints.len() + cluster.switches.len()];
    for (i, link) in cluster.links.iter().enumerate() {
        for end in 0..2u8 {
            ports[link.ends[end as usize].0 as usize].push((i as u32, end));
        }
    }
    for (endpoint, ports) in cluster.endpoints.iter_mut().zip(&ports) {
        endpoint.out = ports.first().map(|(link, end)| 2 * link + *end as u32);
    }
    check_wiring(diagnostics, scenario, &nodes, &cluster, &ports);
    if diagnostics.has_errors() {
        return cluster;
    }
    let first_switch = cluster.endpoints.len();
    let wired: Vec<Wired> =
        ports.iter().enumerate().map(|(i, ports)| Wired { switch: i >= first_switch, ports }).collect();
    let ends: Vec<[NodeId; 2]> = cluster.links.iter().map(|l| l.ends).collect();
    let Some(routes) = Routes::new(&wired, &ends) else {
        diagnostics.push(Diagnostic::error(None, "the switches have too many different choices among their links"));
        return cluster;
    };
    cluster.routes = routes;
    for flow in &scenario.jobs {
        if let Some(job) = place(diagnostics, scenario, &nodes, &cluster, network, flow) {
            cluster.jobs.push(job);
        }
    }
    // One that left its repetitions early would be no load any more for the others.
    if cluster.jobs.len() > 1 {
        for steady in cluster.jobs.iter_mut().map(|j| &mut j.keys.steady).filter(|q| q.default) {
            *steady = steady.with(false);
        }
    }
    let on_wires = |j: &&JobFlow| j.ranks.iter().any(|e| cluster.endpoints[*e as usize].out.is_some());
    let largest = cluster.jobs.iter().filter(on_wires).map(|j| j.mtu).max();
    buffers(diagnostics, &cluster, largest.unwrap_or(0));
    if !diagnostics.has_errors() {
        roce::of_programs(diagnostics, &mut cluster, network);
    }
    cluster
}

/// What a part of the fabric has become.
#[derive(Clone, Copy)]
enum Place {
    Adapter(u32),
    Switch(u32),
}

/// The parts of the fabric, and which of their ports are taken.
struct Nodes<'a> {
    directory: Directory<'a, FabricKeys>,
    places: Vec<Place>,
    /// Links at each endpoint, by its node: the name of the link.
    taken: HashMap<u32, String>,
    /// Links at each switch.
    used: Vec<u32>,
}

impl<'a> Nodes<'a> {
    fn new(scenario: &'a Scenario) -> Nodes<'a> {
        let switches = scenario.fabric_parts.iter().filter(|p| matches!(p.keys, FabricKeys::Switch(_))).count();
        Nodes {
            directory: Directory::new(&scenario.fabric_parts),
            places: Vec::new(),
            taken: HashMap::new(),
            used: vec![0; switches],
        }
    }

    /// The nodes that a name stands for: adapters by their next free port or the one named, switches as they are.
    /// Whether they are open to any number of links.
    fn find(&self, diagnostics: &mut Diagnostics, cluster: &Cluster, name: &Name) -> Option<(Vec<Wanted>, bool)> {
        let address = self.directory.find(diagnostics, &name.text, name.span)?;
        let mut all = Vec::new();
        for id in &address.parts {
            match self.places[id.0 as usize] {
                Place::Switch(s) if address.rest.is_empty() => all.push(Wanted::Switch(s)),
                Place::Switch(_) => {
                    let what = format!("{} has no {:?}", name.text, address.rest);
                    diagnostics.push(Diagnostic::error(name.span, what).hint("a switch's ports are assigned in order"));
                    return None;
                }
                Place::Adapter(a) => {
                    let adapter = &cluster.adapters[a as usize];
                    let port = port_of(diagnostics, adapter, &address.rest, name.span)?;
                    all.push(Wanted::Port(a, port));
                }
            }
        }
        let open = all.iter().all(|w| matches!(w, Wanted::Switch(_)));
        Some((all, open))
    }

    fn wire(&mut self, diagnostics: &mut Diagnostics, link: &Named<keys::InfinibandLink>, cluster: &mut Cluster) {
        let k = &link.keys;
        let span = k.between.span.unwrap_or(link.span);
        if k.lanes.typical.get() > MOST_LANES {
            let d = Diagnostic::error(k.lanes.span.unwrap_or(span), format!("{} virtual lanes", k.lanes.typical));
            diagnostics.push(d.hint(format!("a port has 1 to {MOST_LANES} for data (IBA, 7.6)")));
            return;
        }
        let [a, b] = k.between.typical.0.as_slice() else {
            let what = format!("a link has two ends, not {}", k.between.typical.0.len());
            diagnostics.push(Diagnostic::error(span, what).hint("between = [\"a\", \"b\"]"));
            return;
        };
        let (Some((left, left_open)), Some((right, right_open))) =
            (self.find(diagnostics, cluster, a), self.find(diagnostics, cluster, b))
        else {
            return;
        };
        let mut ends = Vec::new();
        if k.mesh.typical {
            if !(left_open && right_open) {
                let d = Diagnostic::error(span, "a mesh joins switches to switches");
                diagnostics.push(d.hint("an adapter's port has one cable"));
                return;
            }
            if left.len().saturating_mul(right.len()) > MAX_THINGS {
                diagnostics.push(
                    Diagnostic::error(span, format!("more than {MAX_THINGS} links"))
                        .hint("use fewer: no answer needs so many"),
                );
                return;
            }
            ends.extend(left.iter().flat_map(|l| right.iter().map(move |r| [*l, *r])));
        } else {
            let sides = [(a.text.as_str(), left.len(), left_open), (b.text.as_str(), right.len(), right_open)];
            let Some(n) = address::pairs(diagnostics, Some(span), sides) else { return };
            ends.extend((0..n).map(|i| [left[i * left.len() / n], right[i * right.len() / n]]));
        }
        let n = ends.len();
        for (i, both) in ends.into_iter().enumerate() {
            let name = if n > 1 { format!("{}.{i}", link.name) } else { link.name.clone() };
            let [Some(from), Some(to)] = both.map(|w| self.plug(diagnostics, cluster, w, &name, span)) else { return };
            if from == to {
                let what = format!("links.{name}: both ends are {}", cluster.node_name(from));
                diagnostics.push(Diagnostic::error(span, what));
                return;
            }
            cluster.links.push(Link {
                name,
                group: link.name.clone(),
                ends: [from, to],
                rate: k.infiniband.clone(),
                mtu: k.mtu.clone(),
                delay: k.delay.clone(),
                lanes: k.lanes.clone(),
            });
        }
    }

    /// Takes a port for a link.
    fn plug(
        &mut self,
        diagnostics: &mut Diagnostics,
        cluster: &Cluster,
        wanted: Wanted,
        link: &str,
        span: Span,
    ) -> Option<NodeId> {
        match wanted {
            Wanted::Switch(s) => {
                let switch = &cluster.switches[s as usize];
                let (used, most) = (&mut self.used[s as usize], switch.keys.ports.typical.get());
                *used += 1;
                if *used > most {
                    let d = Diagnostic::error(span, format!("{} has no free port: it has {most}", switch.name));
                    diagnostics.push(d.hint(format!("set parts.{}.ports = … where it has more", switch.group)));
                    return None;
                }
                Some(cluster.switch_node(s as usize))
            }
            Wanted::Port(a, port) => {
                let adapter = &cluster.adapters[a as usize];
                let ports = match port {
                    Some(p) => p..p + 1,
                    None => 0..adapter.keys.adapter_ports.typical.get(),
                };
                let free = ports.clone().map(|p| adapter.first + p).find(|e| !self.taken.contains_key(e));
                let Some(free) = free else {
                    let other = &self.taken[&(adapter.first + ports.start)];
                    let which = port.map_or_else(|| adapter.name.clone(), |p| format!("{}.port.{p}", adapter.name));
                    let d = Diagnostic::error(span, format!("{which} is already plugged into links.{other}"));
                    diagnostics.push(d.hint(format!("set parts.{}.adapter_ports = 2 where it has two", adapter.group)));
                    return None;
                };
                self.taken.insert(free, link.to_owned());
                Some(NodeId(free))
            }
        }
    }
}

/// An end of a link as written.
#[derive(Clone, Copy)]
enum Wanted {
    /// A port of an adapter, or its next free one.
    Port(u32, Option<u32>),
    Switch(u32),
}

/// Reads `port.N` behind an adapter's name.
fn port_of(diagnostics: &mut Diagnostics, adapter: &Adapter, rest: &str, span: Span) -> Option<Option<u32>> {
    if rest.is_empty() {
        return Some(None);
    }
    let most = adapter.keys.adapter_ports.typical.get();
    match rest.strip_prefix("port.").and_then(|n| n.parse::<u32>().ok()) {
        Some(n) if n < most => Some(Some(n)),
        Some(_) => {
            let what = format!("{} has port.0 to port.{}", adapter.name, most - 1);
            let hint = format!("set parts.{}.adapter_ports where it has more", adapter.group);
            diagnostics.push(Diagnostic::error(span, what).hint(hint));
            None
        }
        None => {
            let what = format!("{} has no {rest:?}", adapter.name);
            diagnostics.push(Diagnostic::error(span, what).hint(format!("write {0}, or {0}.port.N", adapter.name)));
            None
        }
    }
}

/// Everything is wired to something, and nothing of an adapter is on two fabrics.
fn check_wiring(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    nodes: &Nodes,
    cluster: &Cluster,
    ports: &[Vec<(u32, u8)>],
) {
    // What could not be plugged is not also wired to nothing.
    let unplugged = diagnostics.has_errors();
    for (part, place) in scenario.fabric_parts.iter().zip(&nodes.places) {
        let (loose, both) = match *place {
            Place::Adapter(a) => {
                let adapter = &cluster.adapters[a as usize];
                let mut own =
                    (adapter.first..).take(adapter.keys.adapter_ports.typical.get() as usize).map(|e| e as usize);
                let station = cluster.endpoints[adapter.first as usize].station.is_some();
                let cabled = own.any(|e| !ports[e].is_empty());
                (!cabled && !station, cabled && station)
            }
            Place::Switch(s) => (ports[cluster.endpoints.len() + s as usize].is_empty(), false),
        };
        if loose && !unplugged {
            diagnostics.push(
                Diagnostic::error(part.span, format!("{} is not connected to anything", part.name))
                    .hint(format!("add a link: between = [\"{}\", \"…\"], infiniband = \"…\"", part.name)),
            );
        } else if both {
            diagnostics.push(
                Diagnostic::error(part.span, format!("{} is on InfiniBand and on Ethernet", part.name))
                    .hint("an adapter is on one of them; use two adapters"),
            );
        }
    }
}

/// Every buffer of InfiniBand holds a packet with so much payload, if there are packets.
pub(in crate::plan) fn buffers(diagnostics: &mut Diagnostics, cluster: &Cluster, mtu: u64) {
    if mtu == 0 {
        return;
    }
    let least = blocks(mtu) * BLOCK;
    let mut last = "";
    for wire in 0..2 * cluster.links.len() as u32 {
        let to = cluster.arrives(wire);
        let (name, group, key, q) = match cluster.switch_of(to) {
            Some(s) => {
                let s = &cluster.switches[s];
                (&s.name, &s.group, "buffer", &s.keys.buffer)
            }
            None => {
                let a = cluster.adapter_of(to.0);
                (&a.name, &a.group, "receive_buffer", &a.keys.receive_buffer)
            }
        };
        if q.typical.0 < least && last != group {
            let d = Diagnostic::error(q.span, format!("parts.{name}: a {key} of {} holds no packet", q.typical));
            diagnostics.push(d.hint(format!("of {} of payload: at least {least} B", Bytes(mtu))));
            last = group;
        }
    }
}

/// Ranks and their program.
fn place(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    nodes: &Nodes,
    cluster: &Cluster,
    network: &Network,
    flow: &Named<keys::Mpi>,
) -> Option<JobFlow> {
    let k = &flow.keys;
    let span = k.ranks.span.unwrap_or(flow.span);
    let each = k.each.typical.get() as usize;
    let mut ranks = Vec::new();
    for name in &k.ranks.typical.0 {
        let (wanted, _) = nodes.find(diagnostics, cluster, name)?;
        for w in wanted {
            let Wanted::Port(adapter, port) = w else {
                let d = Diagnostic::error(name.span, format!("{} is a switch: no rank runs there", name.text));
                diagnostics.push(d.hint("ranks are on channel adapters"));
                return None;
            };
            let endpoint = cluster.adapters[adapter as usize].first + port.unwrap_or(0);
            if ranks.len() + each > MOST_RANKS {
                let d = Diagnostic::error(span, format!("more than {MOST_RANKS} ranks"));
                diagnostics.push(d.hint("each rank is run step by step: write fewer, here or in each = …"));
                return None;
            }
            ranks.extend(std::iter::repeat_n(endpoint, each));
        }
    }
    let of = |e: u32| cluster.node_name(NodeId(e));
    for &rank in &ranks {
        let e = &cluster.endpoints[rank as usize];
        if e.out.is_none() && e.station.is_none() {
            diagnostics.push(Diagnostic::error(span, format!("{} has no cable", of(rank))));
            return None;
        }
    }
    let first = *ranks.first()?;
    for &rank in ranks.iter().filter(|r| **r != first) {
        let (a, b) = (&cluster.endpoints[first as usize], &cluster.endpoints[rank as usize]);
        let reached = match (a.station, b.station) {
            (Some(a), Some(b)) => network.routes.reach(a, b),
            (None, None) => cluster.routes.reach(NodeId(first), NodeId(rank)),
            _ => false,
        };
        if !reached {
            let d = Diagnostic::error(span, format!("there is no path from {} to {}", of(first), of(rank)));
            diagnostics.push(d.hint("all ranks of a program are in one fabric"));
            return None;
        }
    }
    let on_ethernet = cluster.endpoints[first as usize].station.is_some();
    let lanes = match on_ethernet {
        true => PRIORITIES,
        false => fabric(cluster, first).map(|l| l.lanes.typical.get()).min().unwrap_or(1),
    };
    if k.lane.typical >= lanes {
        let d = Diagnostic::error(k.lane.span.unwrap_or(flow.span), format!("virtual lane {}", k.lane.typical));
        let what = if on_ethernet { "on Ethernet it is a priority:" } else { "the links have lanes" };
        diagnostics.push(d.hint(format!("{what} 0 to {}", lanes - 1)));
        return None;
    }
    if on_ethernet && !packets::runs(diagnostics, network, &flow.name) {
        return None;
    }
    if !packets::few(diagnostics, &k.connections, &flow.name) {
        return None;
    }
    let mtu = packet_payload(diagnostics, cluster, network, &ranks, span)?;
    let job = crate::plan::infiniband::jobs::job(diagnostics, scenario, flow, ranks.len() as u32)?;
    Some(JobFlow { name: flow.name.clone(), keys: k.clone(), job: Arc::new(job), ranks, mtu })
}

/// The links of InfiniBand of the fabric that an endpoint is on; another fabric of the plan has its own.
fn fabric(cluster: &Cluster, endpoint: u32) -> impl Iterator<Item = &Link> {
    let nodes = cluster.endpoints.len() + cluster.switches.len();
    let reached = joined(nodes, cluster.links.iter().map(|l| l.ends), NodeId(endpoint));
    cluster.links.iter().filter(move |l| reached[l.ends[0].0 as usize])
}

/// Payload of a packet: what all links carry that lie between some endpoints, their own and those of switches. A path
/// MTU is agreed on by both ends of a queue pair; here by all ranks.
pub(in crate::plan) fn packet_payload(
    diagnostics: &mut Diagnostics,
    cluster: &Cluster,
    network: &Network,
    ranks: &[u32],
    span: Span,
) -> Option<u64> {
    let stations: Vec<NodeId> = ranks.iter().filter_map(|r| cluster.endpoints[*r as usize].station).collect();
    if stations.is_empty() {
        let mut member = vec![false; cluster.endpoints.len()];
        ranks.iter().for_each(|r| member[*r as usize] = true);
        let between = |end: NodeId| member.get(end.0 as usize).is_none_or(|is| *is);
        let mtu = |l: &Link| l.mtu.typical.bytes();
        let all = || fabric(cluster, ranks[0]);
        let mine = all().filter(|l| l.ends.into_iter().all(between)).map(mtu).min();
        // Ranks of one adapter alone have no link between them.
        return mine.or_else(|| all().map(mtu).min());
    }
    let mtu = roce::mtu(network, &stations);
    if mtu.is_none() {
        let room = roce::room(network, &stations)?;
        let what = format!("an MTU of {room} holds no packet of RoCE");
        let least = roce::client_data(Mtu::ALL[0].bytes());
        diagnostics.push(Diagnostic::error(span, what).hint(format!("at least {least} B")));
    }
    mtu
}
