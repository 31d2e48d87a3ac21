//! What messages between two processes on two hosts should reach over an adapter: the adapter's slot, and its port.
//!
//! The tables name neither hosts nor adapter. The adapter is the one that stands in the text around the table, else the
//! fastest of the host. Bounds of its port are those of the calculator of RDMA messages, for packets of 1 KiB to 4 KiB.

use super::locate::{Load, Located};
use super::read::Messages;
use crate::diagnostic::Diagnostics;
use crate::estimate::wire::infiniband::{Question, wire};
use crate::explain::Topology;
use crate::explain::endpoints::Endpoint;
use crate::explain::rate::{Corner, Range, Way};
use crate::import::host::{Kind, value};
use crate::protocol::infiniband::{Carrier, LineRate};

/// Latencies that a long message may take beside its data: its own, and those of a rendezvous. Fewest, most. Assumed.
const LATENCIES: [f64; 3] = [3.0, 2.0, 1.0];

/// Payload of a packet at each corner, bytes: what a path's MTU is no dump says.
const MTUS: [u64; 3] = [1024, 2048, 4096];

/// Directions whose data the rate of a test counts; `None` where it is no test of two processes.
fn directions(test: &str) -> Option<f64> {
    match test.to_ascii_lowercase().as_str() {
        "pingpong" | "pingping" | "osu_latency" | "osu_bw" => Some(1.0),
        "sendrecv" | "exchange" | "osu_bibw" => Some(2.0),
        _ => None,
    }
}

/// What a row should reach, or why that cannot be said.
pub(super) fn expected<'a>(topology: &'a Topology, messages: &Messages) -> Located<'a> {
    let unjudged = |why: &str| Located::Unjudged(None, why.to_owned());
    let Some(directions) = directions(&messages.test) else {
        return unjudged("its time depends on the algorithm, and on how its ranks lie on hosts: no dump says either");
    };
    if messages.ranks.is_some_and(|r| r != 2) {
        return unjudged("more than two processes: which of them share a host and an adapter is not in the table");
    }
    if messages.on_gpu {
        return unjudged("its buffers are in the memory of a GPU, and which one is not in the table");
    }
    let (adapter, sure) = match adapter(topology, messages) {
        Ok(found) => found,
        Err(why) => return unjudged(&why),
    };
    let slot = topology.alone(adapter, Way::Read).0;
    let port = port(topology, adapter);
    let at = |n: usize, corner: Corner| {
        let slot = slot.at(corner)?;
        let rate = match &port {
            Some(port) => port[n].min(slot),
            // A port may be slower than its slot.
            None if corner == Corner::High => slot,
            None => return None,
        };
        // Where each message is waited for, its latency goes by beside its data.
        let waited = messages.latency.map_or(rate, |l| {
            let data = messages.bytes as f64 / (rate * 1e9);
            messages.bytes as f64 / (data + l * LATENCIES[n]) / 1e9
        });
        Some(waited * directions)
    };
    let range = Range { low: at(0, Corner::Low), typical: at(1, Corner::Typical), high: at(2, Corner::High) };
    let device = if sure { adapter.id.clone() } else { format!("{}, taken as the fastest", adapter.id) };
    if range.high.is_none() {
        return Located::Unjudged(Some(device), "the speed of a link on its path is not known".into());
    }
    let slot_binds = port.as_ref().is_none_or(|p| slot.high.is_some_and(|s| s < p[2]));
    let bound_by = if slot_binds {
        "its slot".to_owned()
    } else {
        format!("its port of {:.0} Gb/s", one_port(topology, adapter).unwrap_or(0.0) * 8.0)
    };
    let note = port.is_none().then_some("what its port carries no dump says: ethtool, ibstat");
    let above = "above what the adapter carries: both ranks were on one host and used its memory, or several adapters";
    Located::Load(Load { device, range, bound_by, note, above })
}

/// The adapter, and whether the text names it.
fn adapter<'a>(topology: &'a Topology, messages: &Messages) -> Result<(&'a Endpoint, bool), String> {
    let named = messages.adapters.iter().find_map(|a| topology.device(a));
    if let Some(named) = named.filter(|n| n.kind == Kind::Nic) {
        return Ok((named, true));
    }
    let all = || topology.devices.iter().filter(|e| e.kind == Kind::Nic);
    let high = |e: &Endpoint| topology.alone(e, Way::Read).0.high.unwrap_or(0.0);
    let fastest = all().map(high).fold(0.0, f64::max);
    let alike: Vec<&Endpoint> = all().filter(|e| high(e) > fastest * 0.999).collect();
    match alike.as_slice() {
        [] => Err("no network adapter is in the dumps".into()),
        [one] => Ok((one, all().count() == 1)),
        // They differ in nothing that counts here.
        [first, ..] if alike.iter().all(|e| e.port == first.port) => Ok((first, false)),
        several => {
            let (first, last) = (&several[0].id, &several[several.len() - 1].id);
            Err(format!(
                "which of {} adapters ({first} to {last}) it went over is not in the table: give the line with \
                 UCX_NET_DEVICES or --mca btl_openib_if_include too",
                several.len()
            ))
        }
    }
}

/// What one of its ports carries raw, GB/s.
fn one_port(topology: &Topology, adapter: &Endpoint) -> Option<f64> {
    let of = |a| value(&topology.host.functions.get(a)?.net_speed).map(|mb| mb as f64 / 8e3);
    adapter.functions.iter().find_map(of).or_else(|| Some(adapter.port? / adapter.functions.len().max(1) as f64))
}

/// What a port carries of messages at each corner, GB/s.
fn port(topology: &Topology, adapter: &Endpoint) -> Option<[f64; 3]> {
    let one = one_port(topology, adapter)?;
    let class = topology.host.functions.get(&adapter.address).and_then(|f| value(&f.class));
    let infiniband = LineRate::all()
        .filter(|_| matches!(class, Some(0x0207 | 0x0c06)))
        .find(|r| (r.data_rate().bytes() / 1e9 / one - 1.0).abs() < 0.04);
    let (rate, carrier) = match infiniband {
        Some(rate) => (rate.to_string(), Carrier::InfiniBand { grh: false }),
        None => (format!("{} Gb/s", one * 8.0), Carrier::RoceV2 { ipv6: false }),
    };
    let of = |mtu: u64| {
        let (rate, size) = (rate.clone(), "1 MiB".to_owned());
        let (operation, service) = ("write".to_owned(), "rc".to_owned());
        let question = Question { rate, carrier, mtu: format!("{mtu} B"), operation, service, immediate: false, size };
        wire(&mut Diagnostics::default(), &question).map(|a| a.payload / 8e9)
    };
    // A rate that no standard has: the port's own, as it is.
    let [low, typical, high] = MTUS.map(|m| of(m).unwrap_or(one));
    Some([low, typical, high])
}
