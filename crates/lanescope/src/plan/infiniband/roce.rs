//! RoCE v2: packets of channel adapters in Ethernet's frames, and when an adapter pauses its neighbour.
//!
//! Where switches pause, by port or by priority, an adapter whose receive buffer fills up does so too; where they drop,
//! queue pairs send again. A program's virtual lane is the priority of its frames.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::ethernet::{Network, NodeId};
use crate::plan::infiniband::{Cluster, joined};
use crate::protocol::ethernet::{self, PRIORITIES};
use crate::protocol::infiniband::{Mtu, Operation, Packet, Position, ROCE, Service};
use crate::scenario::Scenario;
use crate::scenario::keys::FlowControl;
use crate::scenario::quantity::{Confidence, Origin, Quantity};
use crate::units::{Bytes, Time};

/// When a port on Ethernet pauses its neighbour: bytes of frames whose data are not in host memory, of one priority
/// with PFC, else of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pausing {
    /// What there is room for.
    pub buffer: u64,
    /// Above this it says stop: what may still come then fits.
    pub high: u64,
    /// From here on it says go on.
    pub low: u64,
}

/// MAC client data of the longest packet with so much payload.
pub(in crate::plan) fn client_data(payload: u64) -> u64 {
    let (operation, service, position) = (Operation::WriteImmediate, Service::Rc, Position::Only);
    Packet { operation, service, position, payload }.client_data(ROCE)
}

/// MAC client data of the largest frame that some links of a station's network carry, and all links between switches.
fn carries(network: &Network, station: NodeId, links: impl Fn([NodeId; 2]) -> bool) -> Option<Bytes> {
    let reached = joined(network.nodes.len(), network.links.iter().map(|l| l.ends), station);
    let switches = |ends: [NodeId; 2]| ends.into_iter().all(|end| network.station(end).is_none());
    let mine = network.links.iter().filter(|l| reached[l.ends[0].0 as usize] && (switches(l.ends) || links(l.ends)));
    mine.map(|l| l.mtu.typical).min()
}

/// MAC client data of the largest frame that all links between some stations of one network carry.
pub(in crate::plan) fn room(network: &Network, stations: &[NodeId]) -> Option<Bytes> {
    let mut member = vec![false; network.nodes.len()];
    stations.iter().for_each(|s| member[s.0 as usize] = true);
    let between = |end: NodeId| network.station(end).is_none() || member[end.0 as usize];
    let first = *stations.first()?;
    // Ranks of one station alone have no link between them.
    carries(network, first, |ends| ends.into_iter().all(between)).or_else(|| carries(network, first, |_| true))
}

/// Payload of the largest packet that all these links carry.
pub(in crate::plan) fn mtu(network: &Network, stations: &[NodeId]) -> Option<u64> {
    largest_of(room(network, stations)?)
}

/// Payload of the largest packet in a frame of so much client data.
fn largest_of(room: Bytes) -> Option<u64> {
    Mtu::ALL.into_iter().rev().map(Mtu::bytes).find(|m| client_data(*m) <= room.0)
}

/// MAC client data of the largest packet that any station of some groups may send to another of them.
pub(in crate::plan) fn largest(network: &Network, groups: &[&str]) -> u64 {
    let members = (0..network.nodes.len() as u32).map(NodeId).filter(|n| {
        let node = network.node(*n);
        network.station(*n).is_some() && groups.contains(&node.group.as_str())
    });
    // Of many alike one is enough.
    let mut seen = Vec::new();
    let mut most = 0;
    for station in members {
        let node = network.node(station);
        let own: Vec<Bytes> = node.ports.iter().map(|(link, _)| network.links[*link as usize].mtu.typical).collect();
        let alike = (node.group.as_str(), own);
        if !seen.contains(&alike) {
            let room = carries(network, station, |ends| ends.contains(&station));
            most = most.max(room.and_then(largest_of).map_or(0, client_data));
            seen.push(alike);
        }
    }
    most
}

/// What a name of an adapter or of one of its instances begins with: `hca` of `hca.3`.
pub(in crate::plan) fn group(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The first station of such a group.
pub(in crate::plan) fn station(network: &Network, group: &str) -> Option<NodeId> {
    network.nodes.iter().position(|n| n.group == group).map(|n| NodeId(n as u32))
}

/// What programs bring to a network: MAC client data of their largest frames, and their priorities. Without programs,
/// nothing.
pub(in crate::plan) fn carried(scenario: &Scenario, network: &Network) -> (u64, Vec<u8>) {
    let (mut data, mut priorities) = (0, Vec::new());
    for job in scenario.jobs.iter().filter(|j| j.keys.lane.typical < PRIORITIES) {
        let groups: Vec<&str> = job.keys.ranks.typical.0.iter().map(|n| group(&n.text)).collect();
        if groups.iter().any(|g| station(network, g).is_some()) {
            priorities.push(job.keys.lane.typical as u8);
            data = data.max(largest(network, &groups));
        }
    }
    (data, priorities)
}

/// What programs need of the ports on Ethernet ([`pausing`]).
pub(in crate::plan) fn of_programs(diagnostics: &mut Diagnostics, cluster: &mut Cluster, network: &Network) {
    let on_ethernet = |e: &u32| cluster.endpoints[*e as usize].station.is_some();
    let mine = cluster.jobs.iter().filter(|j| j.ranks.iter().any(on_ethernet));
    let Some(job) = mine.max_by_key(|j| j.mtu) else { return };
    let (mtu, name) = (job.mtu, job.name.clone());
    pausing(diagnostics, cluster, network, (mtu, &name));
}

/// Gives every port on Ethernet its thresholds, for packets with so much payload of a flow; buffers that nobody stated
/// are made large enough.
pub(in crate::plan) fn pausing(
    diagnostics: &mut Diagnostics,
    cluster: &mut Cluster,
    network: &Network,
    (mtu, flow): (u64, &str),
) {
    let frame = ethernet::frame(client_data(mtu));
    let longest = network.longest_frame();
    let mut last = String::new();
    for e in 0..cluster.endpoints.len() {
        let Some(station) = cluster.endpoints[e].station else { continue };
        let Some(own) = network.station(station) else { continue };
        let adapter = &mut cluster.adapters[cluster.endpoints[e].adapter as usize];
        // What the standard allows is asked for; a buffer that was stated must at least hold what comes while a switch,
        // which heeds at once, is told.
        let (headroom, least) = (headroom(network, station, true), headroom(network, station, false));
        let needs = least.saturating_add(longest);
        let stated = &mut adapter.keys.receive_buffer;
        if stated.default && stated.typical.0 < headroom.saturating_add(longest) {
            let why = "computed from the link: twice what arrives until the neighbour has stopped";
            let bytes = Bytes(2 * headroom + longest);
            *stated = Quantity::derived(bytes, Origin::Assumed, Confidence::Guess, why);
        }
        let buffer = stated.typical.0;
        let headroom = headroom.min(buffer.saturating_sub(longest)).max(least);
        cluster.endpoints[e].pausing = Some(Pausing {
            buffer,
            high: buffer.saturating_sub(headroom),
            low: (buffer / 2).min(buffer.saturating_sub(headroom)),
        });
        if last == adapter.group {
            continue;
        }
        if buffer < needs {
            let what = format!("parts.{}: a receive_buffer of {} cannot pause in time", adapter.name, stated.typical);
            let d = Diagnostic::error(stated.span, what);
            diagnostics.push(d.hint(format!("{least} B may still come in, and it holds a frame: at least {needs} B")));
            last.clone_from(&adapter.group);
        }
        for (key, q) in [("nic_buffer", &own.nic_buffer), ("mac_buffer", &own.mac_buffer)] {
            if q.typical.0 < frame {
                let what = format!("parts.{}: a {key} of {} holds no frame of flows.{flow}", adapter.name, q.typical);
                diagnostics.push(Diagnostic::error(q.span, what).hint(format!("a frame must fit whole: {frame} B")));
                last.clone_from(&adapter.group);
            }
        }
    }
}

/// What may still come in to a station after it has decided to stop its neighbour, who takes as long as the standard
/// allows, or heeds at once.
fn headroom(network: &Network, station: NodeId, standard: bool) -> u64 {
    let (link, end) = network.node(station).ports[0];
    // Notices of other priorities may go before.
    let before = match network.flow_control() {
        FlowControl::Pfc => network.classes.len().saturating_sub(1) as u64 * ethernet::wire(ethernet::MIN_FRAME),
        _ => 0,
    };
    let link = link as usize;
    let all = match standard {
        true => network.headroom(link as u32, end, Time::ZERO),
        false => {
            let (link, none) = (&network.links[link], Time::ZERO);
            ethernet::headroom(link.rate.typical, link.delay.typical, none, none, network.longest_frame())
        }
    };
    all.saturating_add(before)
}
