//! NVMe over Fabrics: workers whose drives hang below another host, and the channel adapters between the two.
//!
//! A queue pair of NVMe is one of RDMA. The worker's adapter sends a command capsule; the target, the host that has the
//! drive below it, gives the command to the drive through a queue of its own there, and its adapter moves the data
//! between the memories of both hosts by RDMA READ and RDMA WRITE (NVMe over Fabrics 1.1; RDMA Transport 1.0).
//! Which adapters these are is known once the clusters are wired, so flows are resolved in two steps: [`Remote::new`]
//! when they are read, [`connect`] behind that.

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::core::address::Directory;
use crate::plan::core::dma::{self, Engine, Host};
use crate::plan::ethernet::{Network, NodeId, packets};
use crate::plan::infiniband::{self, Cluster, QueueFlows, roce};
use crate::plan::pci::Buses;
use crate::plan::storage::{Adapter, HostQueues, Storage, Volume};
use crate::plan::{Dma, DmaPath, Flow};
use crate::protocol::infiniband::{Carrier, INFINIBAND, Mtu, ROCE};
use crate::protocol::nvme;
use crate::scenario::keys::{self, Line, Setting};
use crate::scenario::quantity::{Corner, Quantity};
use crate::scenario::{FabricKeys, Named, Scenario};
use crate::units::{Bytes, Time};
use std::num::NonZeroU32;

/// How a worker reaches a drive of another host.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Ports of channel adapters: of the worker's host, and of the target.
    pub ends: [u32; 2],
    /// What decides the way of each queue pair's packets: to the target, and back.
    pub ways: Vec<[u32; 2]>,
    /// Payload of a packet between them.
    pub mtu: Mtu,
    /// The target's queue pairs at the drive: one for each of the worker's.
    pub queues: HostQueues,
    /// Data of a write that come in its capsule, at most.
    pub in_capsule: Quantity<Bytes>,
    /// Entries of a queue pair between the two hosts.
    pub entries: Quantity<NonZeroU32>,
    /// Time of the target's processor for a command.
    pub target_time: Quantity<Time>,
}

impl Remote {
    /// Its ends are found when there are any.
    pub(super) fn new(k: &keys::Io, queues: HostQueues) -> Remote {
        Remote {
            ends: [u32::MAX; 2],
            ways: Vec::new(),
            mtu: Mtu::ALL[0],
            queues,
            in_capsule: k.in_capsule_data.clone(),
            entries: k.fabric_entries.clone(),
            target_time: k.target_time.clone(),
        }
    }

    /// Commands that a queue pair holds: one entry stays free, as of a queue in memory (Base 2.0, 3.3.1.5).
    pub(crate) fn room(&self, corner: Corner) -> u32 {
        (self.entries.at(corner).get() - 1).max(1)
    }

    /// Whether a write's data come in its capsule.
    pub(crate) fn is_in_capsule(&self, corner: Corner, bytes: u64) -> bool {
        bytes <= self.in_capsule.at(corner).0
    }

    /// What its packets go in: those of InfiniBand, or on Ethernet those of RoCE v2 (NVMe over RDMA is the same over
    /// both).
    pub(crate) fn carrier(&self, cluster: &Cluster) -> Carrier {
        match cluster.endpoints[self.ends[0] as usize].station {
            Some(_) => ROCE,
            None => INFINIBAND,
        }
    }

    /// The stations of its ends on Ethernet.
    pub(crate) fn stations(&self, cluster: &Cluster) -> Option<[NodeId; 2]> {
        let [own, target] = self.ends.map(|e| cluster.endpoints[e as usize].station);
        Some([own?, target?])
    }

    pub(super) fn settings(&self) -> Vec<Setting> {
        vec![
            Setting::of("queue_pairs", &self.queues.count),
            Setting::of("in_capsule_data", &self.in_capsule),
            Setting::of("fabric_entries", &self.entries),
            Setting::of("target_time", &self.target_time),
        ]
    }
}

/// Priority of the frames of capsules and data on Ethernet.
const PRIORITY: u8 = 0;

/// What flows to drives of other hosts bring to a network: MAC client data of their largest frames, at least `data`,
/// and their priority. Without any, nothing.
pub(in crate::plan) fn carried(
    scenario: &Scenario,
    network: &Network,
    storage: &Storage,
    data: u64,
) -> (u64, Option<u8>) {
    let remote = storage.flows.iter().filter(|f| f.remote.is_some());
    let ios = scenario.ios.iter().filter(|io| remote.clone().any(|f| f.group == io.name));
    let named =
        ios.map(|io| io.keys.fabric.as_ref().map(|q| q.typical.0.iter().map(|n| roce::group(&n.text)).collect()));
    let named: Vec<Option<Vec<&str>>> = named.collect();
    let adapters = scenario.fabric_parts.iter().filter(|p| matches!(p.keys, FabricKeys::Adapter(_)));
    let used = adapters.filter(|p| named.iter().any(|n| n.as_ref().is_none_or(|n| n.contains(&p.group.as_str()))));
    let groups: Vec<&str> = used.map(|p| p.group.as_str()).collect();
    if !groups.iter().any(|g| roce::station(network, g).is_some()) {
        return (data, None);
    }
    let most = roce::largest(network, &groups);
    (data.max(most), Some(PRIORITY))
}

/// Whether a volume of an adapter could be reached over a fabric: a drive by itself, where there are channel adapters.
/// A drive behind a RAID controller is that one's.
pub(super) fn reaches(scenario: &Scenario, storage: &Storage, own: &Adapter, volume: Volume) -> bool {
    if storage.with_ports(&own.host).is_some() {
        return false;
    }
    let fabric = scenario.fabric_parts.iter().any(|p| matches!(p.keys, FabricKeys::Adapter(_)));
    fabric && own.controller().is_some() && matches!(volume, Volume::Target(_))
}

/// Why lines that deallocate cannot go over a fabric, and what to do.
pub(super) fn takes_no_trims(lines: &[Line]) -> Option<(String, String)> {
    let trims = lines.iter().any(|l| l.trim > 0);
    trims.then(|| ("trims over NVMe over Fabrics".into(), "leave trim out: they are not modelled there".into()))
}

/// Why an adapter rings, fetches and completes.
const WHY: &str = "a channel adapter's work requests and completions of NVMe over Fabrics";

/// Finds the adapters of flows to drives of other hosts, and adds what these move beside data to the flows of PCIe.
pub(in crate::plan) fn connect(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    host: &Host,
    network: &Network,
    (flows, buses): (&mut Vec<Flow>, &mut Buses),
    cluster: &mut Cluster,
    storage: &mut Storage,
) {
    if diagnostics.has_errors() {
        return;
    }
    let directory = Directory::new(&scenario.fabric_parts);
    let directory = directory.among(scenario, "fabric names channel adapters");
    // On InfiniBand, and on Ethernet with the flow that has it.
    let (mut largest, mut framed) = (0, (0, String::new()));
    for io in &scenario.ios {
        let mut wanted =
            storage.flows.iter().filter(|f| f.group == io.name).filter_map(|f| Some((f, f.remote.as_ref()?)));
        if wanted.next().is_none() {
            if let Some(q) = io.keys.fabric.as_ref() {
                let what = format!("flow {}: fabric is not used, since its targets are below its own host", io.name);
                diagnostics.push(Diagnostic::warning(q.span, what).hint("leave it out"));
            }
            continue;
        }
        let entries = &io.keys.fabric_entries;
        let few = entries.slow.get().min(entries.typical.get());
        if few < 2 || entries.typical.get() > nvme::MOST_ENTRIES {
            let d = Diagnostic::error(entries.span.unwrap_or(io.span), format!("queue pairs of {few} entries"));
            diagnostics
                .push(d.hint("2 to 65536: one of them stays free (Fabrics 1.1, Connect command: SQSIZE has 16 bits)"));
            return;
        }
        let Some(allowed) = allowed(diagnostics, &directory, cluster, io) else { return };
        let all = (0..storage.flows.len()).filter(|f| storage.flows[*f].group == io.name);
        for at in all.collect::<Vec<_>>() {
            let flow = &storage.flows[at];
            if flow.remote.is_none() {
                continue;
            }
            let Some(drive) = storage.adapter(flow) else { continue };
            let hosts = [storage.workers[flow.worker as usize].as_str(), drive.host.as_str()];
            let span = io.keys.fabric.as_ref().and_then(|q| q.span).or(io.keys.to.span).unwrap_or(io.span);
            let Some(ends) = ends(diagnostics, (cluster, network), &allowed, (hosts, &drive.name), span) else {
                return;
            };
            let payload = infiniband::packet_payload(diagnostics, cluster, network, &ends, span);
            let Some(mtu) = payload.and_then(|bytes| Mtu::new(Bytes(bytes))) else { return };
            let stations = ends.map(|e| cluster.endpoints[e as usize].station);
            if stations[0].is_none() {
                largest = mtu.bytes().max(largest);
            } else if !packets::runs(diagnostics, network, &io.name) {
                return;
            } else if mtu.bytes() > framed.0 {
                framed = (mtu.bytes(), io.name.clone());
            }
            let name = flow.name.clone();
            let pairs = flow.remote.as_ref().and_then(|r| Some(drive.controller()?.pairs(&r.queues).count()));
            let way = |pair: u32| match stations {
                [Some(own), Some(target)] => {
                    [[own, target], [target, own]].map(|e| network.way_of(e, &name, std::slice::from_ref(&pair)))
                }
                _ => [ends[1], ends[0]].map(|e| cluster.way(e)),
            };
            let ways = (0..pairs.unwrap_or(0) as u32).map(way).collect();
            if let Some(remote) = &mut storage.flows[at].remote {
                (remote.ends, remote.ways, remote.mtu) = (ends, ways, mtu);
            }
        }
    }
    if largest > 0 {
        infiniband::buffers(diagnostics, cluster, largest);
        cluster.queue_mtu = largest;
    }
    // Programs have theirs already, of packets that may be longer.
    let of_programs =
        cluster.jobs.iter().filter(|j| j.ranks.iter().any(|e| cluster.endpoints[*e as usize].station.is_some()));
    framed.0 = if framed.0 > 0 { of_programs.map(|j| j.mtu).fold(framed.0, u64::max) } else { 0 };
    if framed.0 > 0 {
        roce::pausing(diagnostics, cluster, network, (framed.0, &framed.1));
    }
    let mut used: Vec<u32> = storage.flows.iter().filter_map(|f| f.remote.as_ref()).flat_map(|r| r.ends).collect();
    used.sort_unstable();
    used.dedup();
    for end in used {
        let adapter = cluster.endpoints[end as usize].adapter as usize;
        let adapter = &mut cluster.adapters[adapter];
        let Some(side) = adapter.host.as_mut().filter(|side| side.queues.is_none()) else { continue };
        let Dma::Pcie { read, write } = side.dma else { continue };
        let k = &adapter.keys;
        let engine = |piece: Bytes| {
            let piece = Bytes(piece.0.max(1));
            Engine { name: &adapter.name, header: &k.header, piece, why: WHY }
        };
        let work = engine(k.descriptor_bytes.typical);
        let work = dma::beside(host, &work, ("fetches work requests", keys::Do::Read), Some(read), flows);
        let entries = engine(k.completion_bytes.typical);
        let entries = dma::beside(host, &entries, ("writes completions", keys::Do::Write), Some(write), flows);
        let response = engine(Bytes(nvme::RESPONSE_CAPSULE));
        let out = dma::beside(host, &response, ("fetches responses", keys::Do::Read), Some(read), flows);
        let come = dma::beside(host, &response, ("writes responses", keys::Do::Write), Some(write), flows);
        let bells = dma::doorbell(host, &engine(k.doorbell_bytes.typical), flows, buses);
        // A capsule with data in it is longer than one without; then the longest is meant, whose headers weigh least.
        let most = k.inline.as_ref().map_or(0, |q| q.typical.0);
        let fits = [(nvme::COMMAND_CAPSULE, most), (nvme::RESPONSE_CAPSULE, nvme::RESPONSE_CAPSULE)];
        let inline = fits.map(|(least, longest)| {
            let bytes = Bytes(k.descriptor_bytes.typical.0 + longest);
            let DmaPath::Pcie(flow) =
                (most >= least).then(|| dma::doorbell(host, &engine(bytes), flows, buses)).flatten()?
            else {
                return None;
            };
            Some(flow)
        });
        let all = (work, entries, out, come, bells);
        if let (Some(work), Some(entries), Some(out), Some(come), Some(DmaPath::Pcie(bells))) = all {
            for (bell, what) in
                [(Some(bells), "for queues"), (inline[0], "with commands"), (inline[1], "with responses")]
            {
                let Some(bell) = bell else { continue };
                let flow = &mut flows[bell.0 as usize];
                flow.control = true;
                flow.name = format!("{} {what}", flow.name);
                flow.group.clone_from(&flow.name);
            }
            side.queues = Some(QueueFlows { work, entries, responses: [out, come], bells, inline });
        }
    }
}

/// The channel adapters that a flow may use.
fn allowed(
    diagnostics: &mut Diagnostics,
    directory: &Directory<FabricKeys>,
    cluster: &Cluster,
    io: &Named<keys::Io>,
) -> Option<Vec<u32>> {
    let Some(names) = &io.keys.fabric else { return Some((0..cluster.adapters.len() as u32).collect()) };
    let mut all = Vec::new();
    for name in &names.typical.0 {
        let found = directory.find(diagnostics, &name.text, name.span)?;
        for part in found.parts {
            let part = directory.part(part);
            let Some(adapter) = cluster.adapters.iter().position(|a| a.name == part.name) else {
                let d = Diagnostic::error(name.span, format!("{} is no channel adapter", name.text));
                diagnostics.push(d.hint("fabric names channel adapters; switches between them are found"));
                return None;
            };
            if !found.rest.is_empty() {
                let d = Diagnostic::error(name.span, format!("{} names a port", name.text));
                diagnostics.push(d.hint("name the adapter: its first port that leads to the other end is taken"));
                return None;
            }
            all.push(adapter as u32);
        }
    }
    Some(all)
}

/// The ports between two hosts: those of the one adapter that each of them has.
fn ends(
    diagnostics: &mut Diagnostics,
    (cluster, network): (&Cluster, &Network),
    allowed: &[u32],
    ([own, target], drive): ([&str; 2], &str),
    span: Span,
) -> Option<[u32; 2]> {
    let mut one = |host: &str| {
        let of = |a: &&u32| cluster.adapters[**a as usize].host.as_ref().is_some_and(|h| h.name == host);
        let mine: Vec<u32> = allowed.iter().filter(of).copied().collect();
        let name = |a: u32| cluster.adapters[a as usize].name.as_str();
        let (what, hint) = match mine[..] {
            [adapter] => match cluster.adapters[adapter as usize].host.as_ref().map(|h| h.dma) {
                Some(Dma::Pcie { .. }) => return Some(adapter),
                _ => (
                    format!("{} is on a shared bus", name(adapter)),
                    "NVMe over Fabrics is modelled for adapters on PCIe".to_owned(),
                ),
            },
            [] => (
                format!("{drive} is below {target}, and {host} has no channel adapter to reach it by"),
                format!("give {host} a channel-adapter on its PCIe, or name that in fabric"),
            ),
            [first, second, ..] => (
                format!("{host} has several channel adapters to reach {drive} by"),
                format!("say which: fabric = [\"{}\", …] or [\"{}\", …]", name(first), name(second)),
            ),
        };
        diagnostics.push(Diagnostic::error(span, what).hint(hint));
        None
    };
    let adapters = [one(own)?, one(target)?];
    let ports = |a: u32| {
        let adapter = &cluster.adapters[a as usize];
        adapter.first..adapter.first + adapter.keys.adapter_ports.typical.get()
    };
    for a in ports(adapters[0]) {
        for b in ports(adapters[1]) {
            let [from, to] = [a, b].map(|e| &cluster.endpoints[e as usize]);
            let reached = match (from.station, to.station) {
                (Some(from), Some(to)) => network.routes.reach(from, to),
                (None, None) => from.out.is_some() && to.out.is_some() && cluster.routes.reach(NodeId(a), NodeId(b)),
                _ => false,
            };
            if reached {
                return Some([a, b]);
            }
        }
    }
    let [a, b] = adapters.map(|a| &cluster.adapters[a as usize]);
    let stations = [a, b].map(|a| cluster.endpoints[a.first as usize].station.is_some());
    let (of, hint) = match stations {
        [false, false] => ("of InfiniBand ", "join them by links with infiniband, through switches or directly"),
        [true, true] => ("of Ethernet ", "join them by links with ethernet, through switches or directly"),
        _ => ("", "one of them is on InfiniBand and the other on Ethernet: they talk over one of both"),
    };
    diagnostics.push(Diagnostic::error(span, format!("there is no path {of}from {} to {}", a.name, b.name)).hint(hint));
    None
}
