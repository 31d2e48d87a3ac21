//! What a device's own control register costs it: the size of its requests, its tags, the order of its writes.

use super::rounded;
use crate::explain::endpoints::Endpoint;
use crate::explain::rate::{Corner, Sizes, Way};
use crate::explain::scenario::with_tags;
use crate::explain::{Finding, Topology};
use crate::import::host::function::Express;
use crate::import::host::{Fact, Kind, value};
use crate::protocol::pcie::Generation;
use std::collections::HashMap;

/// Tags of five bits, which a function has without Extended Tag Field Enable (2.0, 7.8.4).
const FEW_TAGS: u32 = 32;

impl Topology<'_> {
    fn express(&self, endpoint: &Endpoint) -> Option<&Express> {
        self.host.functions.get(&endpoint.address).and_then(|f| f.express.as_ref())
    }

    fn control<T>(&self, endpoint: &Endpoint, fact: &Fact<T>) -> Vec<String> {
        vec![format!("{}: DevCtl of {}", self.host.place(fact.at), endpoint.address)]
    }
}

/// Small read requests.
pub(super) fn requests(topology: &Topology, all: &mut Vec<Finding>) {
    for endpoint in topology.devices.iter().filter(|s| s.kind < Kind::Bridge) {
        let express = topology.express(endpoint);
        let Some(mrrs) = express.and_then(|e| e.mrrs.as_ref()).filter(|m| m.value < 512) else { continue };
        let now = topology.sizes(endpoint, Corner::Typical);
        let larger = Sizes { mrrs: 512, completion: now.mps.min(128), ..now };
        let cost = rounded(topology.gain(endpoint, None, Some(larger)));
        if cost > 0.0 {
            all.push(Finding {
                kind: "mrrs".into(),
                at: endpoint.id.clone(),
                also: Vec::new(),
                cost,
                text: format!(
                    "{} reads in requests of {} B; with 512 B it would get {cost:.2} GB/s more",
                    endpoint.id, mrrs.value
                ),
                evidence: vec![format!("{}: DevCtl of {}", topology.place(mrrs.at), endpoint.address)],
                cure: "a larger Max_Read_Request_Size, by the driver or pci=pcie_bus_perf".into(),
            });
        }
    }
}

/// Too few tags for what the link carries: five bits, where the reads that a fast link needs in flight take more.
pub(super) fn tags(topology: &Topology, all: &mut Vec<Finding>) {
    let mut known = HashMap::new();
    for endpoint in topology.devices.iter().filter(|e| e.kind < Kind::Bridge && e.bus.is_none()) {
        let Some(express) = topology.express(endpoint) else { continue };
        let Some(off) = express.extended_tags.as_ref().filter(|e| !e.value) else { continue };
        let own = endpoint.links.first().and_then(|l| topology.speed(*l, Corner::Typical));
        if own.is_none_or(|s| s.generation < Generation::Gen4) || value(&express.ten_bit_tags) == Some(true) {
            continue;
        }
        // Devices that are alike have the same answer.
        let speed = |l: &usize| topology.speed(*l, Corner::Typical).or_else(|| topology.speed(*l, Corner::High));
        let speeds: Vec<_> = endpoint.links.iter().map(speed).collect();
        let sizes = topology.sizes(endpoint, Corner::Typical);
        let key = (endpoint.kind, sizes, endpoint.port.map(f64::to_bits), speeds);
        let (few, many) = *known.entry(key).or_insert_with(|| {
            let at = |tags| with_tags(topology, endpoint, Way::Read, tags, Corner::Typical);
            (at(FEW_TAGS), at(256))
        });
        let (Some(few), Some(many)) = (few, many) else { continue };
        let cost = rounded(many - few);
        let mrrs = sizes.mrrs;
        let able = value(&express.extended_tags_supported);
        let cure = match able {
            Some(false) => "a larger Max_Read_Request_Size: the device has no more tags",
            _ => {
                "Extended Tag Field Enable: the kernel sets it where all on the way allow it; look for a quirk in its \
             log (no_ext_tags), and for the firmware's setting"
            }
        };
        let effect = match cost > 0.0 {
            true => format!("reads get {few:.2} GB/s with them and {many:.2} with 256"),
            false => format!(
                "they suffice for {few:.2} GB/s while memory answers as fast as is typical, and not when it is slower"
            ),
        };
        all.push(Finding {
            kind: "few-tags".into(),
            at: endpoint.id.clone(),
            also: Vec::new(),
            cost,
            text: format!(
                "{} ({}) has extended tags off: {FEW_TAGS} reads of {mrrs} B in flight at most; {effect}",
                endpoint.id,
                topology.called(endpoint.address)
            ),
            evidence: topology.control(endpoint, off),
            cure: cure.into(),
        });
    }
}

/// Relaxed Ordering off at a device that writes to others through a root complex: there its writes stay in order.
pub(super) fn ordering(topology: &Topology, all: &mut Vec<Finding>) {
    let peers = |e: &&Endpoint| matches!(e.kind, Kind::Gpu | Kind::Nic) && e.bus.is_none() && !e.links.is_empty();
    let devices: Vec<&Endpoint> = topology.devices.iter().filter(peers).collect();
    let gpus = devices.iter().filter(|e| e.kind == Kind::Gpu).count();
    for endpoint in &devices {
        // A GPU has peers in GPUs and adapters, an adapter only in GPUs.
        let others = if endpoint.kind == Kind::Gpu { devices.len() - 1 } else { gpus };
        let Some(off) = topology.express(endpoint).and_then(|e| e.relaxed_ordering.as_ref()).filter(|r| !r.value)
        else {
            continue;
        };
        let Some(rate) = topology.alone(endpoint, Way::Write).0.typical.filter(|_| others > 0) else { continue };
        // An adapter of 1 Gb/s does no peer-to-peer transfers that anybody waits for.
        if endpoint.port.is_some_and(|p| p < 1.0) {
            continue;
        }
        all.push(Finding {
            kind: "relaxed-ordering".into(),
            at: endpoint.id.clone(),
            also: Vec::new(),
            cost: 0.0,
            text: format!(
                "{} ({}) has Relaxed Ordering off: each of its writes, to memory and to peers, waits for the one \
                 before. At risk are its {rate:.2} GB/s, where a root complex forwards them or memory is far",
                endpoint.id,
                topology.called(endpoint.address)
            ),
            evidence: topology.control(endpoint, off),
            cure:
                "PCI_WR_ORDERING=1 for ConnectX (mlxconfig), Relaxed Ordering in the driver or the firmware's setup; \
                   a program must not rely on the order of its writes then"
                    .into(),
        });
    }
}
