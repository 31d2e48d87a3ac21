//! What the kernel's log says is limited, where the registers of the dumps do not say it already.
//!
//! The log is of the moment it was printed, mostly boot; where registers say something else by now, both are told.

use super::rounded;
use crate::explain::belief::{Standing, shown};
use crate::explain::rate::{Corner, Sizes, Way};
use crate::explain::{Finding, Topology};
use crate::import::host::function::{Limited, PayloadLog};
use crate::import::host::{Address, Fact, value};
use crate::protocol::pcie::{Generation, Lanes, Speed};

/// Sizes of which nothing is said: what every function can do.
const LEAST: Sizes = Sizes { mps: 128, mrrs: 512, completion: 64 };

fn speed((generation, lanes): (Generation, u8)) -> Option<Speed> {
    Some(Speed::new(generation, Lanes::new(u64::from(lanes))?))
}

impl Topology<'_> {
    /// `0000:01:00.0`, with the name where there is one.
    fn who(&self, address: Address) -> String {
        match self.host.functions.get(&address).map(|f| f.called()).filter(|c| c != "not named") {
            Some(name) => format!("{address} ({name})"),
            None => address.to_string(),
        }
    }
}

/// Links that limit a device: a finding for each that has none by the registers.
pub(super) fn limited(topology: &Topology, all: &mut Vec<Finding>) {
    let lines = topology.host.functions.iter().flat_map(|(a, f)| f.limited.iter().map(move |l| (a, l)));
    for (address, said) in lines {
        let line = format!("{}: available PCIe bandwidth of {address}", topology.place(said.at));
        let index = link(topology, *address, &said.value);
        let name = index.map(|i| topology.link_name(i));
        let same = |f: &&mut Finding| {
            ["trained-down", "narrow-slot"].contains(&f.kind.as_str())
                && name.as_ref().is_some_and(|n| *n == f.at || f.also.contains(n))
        };
        match all.iter_mut().find(same) {
            Some(known) if known.evidence.contains(&line) => {}
            Some(known) => known.evidence.push(line),
            None => all.extend(finding(topology, *address, said, index, line)),
        }
    }
}

/// The link that the log means: below the port that it names, on the way of the device.
fn link(topology: &Topology, address: Address, said: &Limited) -> Option<usize> {
    if said.by == address {
        return topology.tree.link_above(address);
    }
    let on_way = topology.tree.links_above(address);
    on_way.into_iter().find(|l| topology.tree.links[*l].upper == Some(said.by))
}

fn finding(
    topology: &Topology,
    address: Address,
    fact: &Fact<Limited>,
    index: Option<usize>,
    line: String,
) -> Option<Finding> {
    let said = &fact.value;
    let (then, capable) = (speed(said.now)?, speed(said.capable)?);
    let endpoint = topology.devices.iter().find(|e| e.functions.contains(&address));
    let sizes = endpoint.map_or(LEAST, |e| topology.sizes(e, Corner::Typical));
    // A device's ports may be slower than either.
    let cap = endpoint.and_then(|e| topology.cap(e, Way::Write, Corner::Typical)).unwrap_or(f64::INFINITY);
    let rate = |s| topology.rates.of(s, sizes, Way::Write).map(|r| r.min(cap));
    let lost = rounded(rate(capable)? - rate(then)?);
    let belief = index.map(|i| &topology.beliefs[i]);
    let now = belief.filter(|b| b.at.is_some_and(|at| at != fact.at)).and_then(|b| b.negotiated);
    let rises = belief.is_some_and(|b| b.standing == Standing::Idle);
    let manages = endpoint.is_some_and(|e| topology.manages(e));
    let (cost, clause) = match now.filter(|n| *n != then) {
        _ if rises => (0.0, "; an idle GPU lowers its link speed, and under load it rises again".to_owned()),
        Some(now) if now.coded() > then.coded() => {
            (0.0, format!("; by now the link runs at {}, so the log is of an earlier time", shown(now)))
        }
        _ if manages => (0.0, "; no bulk data pass this function, so it costs nothing".to_owned()),
        _ if lost > 0.0 => (lost, format!("; it costs {lost:.2} GB/s")),
        _ => (0.0, "; its network ports carry less, so it costs nothing today".to_owned()),
    };
    Some(Finding {
        kind: "limited-link".into(),
        at: match index {
            Some(index) => topology.link_name(index),
            None => format!("link of {}", said.by),
        },
        also: Vec::new(),
        cost,
        text: format!(
            "{} can do {}, and the kernel found the link at {} on its way at {}{clause}",
            topology.who(address),
            shown(capable),
            topology.who(said.by),
            shown(then)
        ),
        evidence: vec![line],
        cure: match then.lanes < capable.lanes {
            true => format!(
                "sudo lspci -vvv -s {} says whether that port can do more: if it can, reseat the card, look for a \
                 bifurcation setting or a riser that lacks lanes; if not, a slot of {}",
                said.by,
                shown(capable)
            ),
            false => format!(
                "sudo lspci -vvv -s {} says whether that port can do more: if it can, look for a speed limit in the \
                 firmware's setup and for corrected errors; if not, a slot of {}",
                said.by,
                shown(capable)
            ),
        },
    })
}

/// Payload sizes that the kernel could not make alike, or made small.
pub(super) fn payload(topology: &Topology, all: &mut Vec<Finding>) {
    for (address, function) in &topology.host.functions {
        let Some(said) = &function.payload_log else { continue };
        let line = format!("{}: Max Payload Size of {address}", topology.place(said.at));
        let endpoint = topology.devices.iter().find(|e| e.functions.contains(address));
        let own_id = endpoint.map(|e| e.id.clone());
        let same = |f: &&mut Finding| {
            ["mps", "mps-mismatch"].contains(&f.kind.as_str())
                && [Some(address.to_string()), own_id.clone()]
                    .iter()
                    .flatten()
                    .any(|n| *n == f.at || f.also.contains(n))
        };
        if let Some(known) = all.iter_mut().find(same) {
            known.evidence.push(line);
            continue;
        }
        let who = topology.who(*address);
        let rate = endpoint.and_then(|e| topology.with(e, Way::Write, None, None)).map(rounded);
        let risk = match rate {
            Some(rate) => format!("all of its {rate:.2} GB/s are at risk"),
            None => "what it carries is at risk".to_owned(),
        };
        let malformed = "larger TLPs than the receiver's are malformed there (2.0, 2.2.2), and";
        let (kind, cost, text, cure) = match said.value {
            PayloadLog::Refused { port } => (
                "mps-mismatch",
                rate.unwrap_or(0.0),
                format!("the port above {who} sends {port} B, which the function does not support: {malformed} {risk}"),
                "the kernel's parameter pci=pcie_bus_safe: the least MPS of the way for all on it",
            ),
            PayloadLog::Unequal { own, port } => (
                "mps-mismatch",
                rate.unwrap_or(0.0),
                format!("{who} is set to MPS {own} B and the port above it to {port} B: {malformed} {risk}"),
                "the kernel's parameter pci=pcie_bus_safe: the least MPS of the way for all on it",
            ),
            PayloadLog::Lowered { now, from } => {
                let all = format!("{who} supports MPS {now} B, so the port above was set down from {from} B");
                ("mps", 0.0, format!("{all}: {}", costs(topology, address)), "another device: this one has no more")
            }
            PayloadLog::Set { now, max } => {
                let text = format!("{who} was set to MPS {now} B, as the port above it is, and supports {max} B");
                ("mps", 0.0, format!("{text}: {}", costs(topology, address)), {
                    "the kernel's parameter pci=pcie_bus_perf, or a slot whose ports support more"
                })
            }
        };
        // Sizes of 512 B gain no more (see `mps`), and where the rate is known its own finding says what smaller ones
        // cost.
        let small = matches!(said.value, PayloadLog::Set { now, .. } | PayloadLog::Lowered { now, .. } if now >= 512);
        if small || (kind == "mps" && rate.is_some()) {
            continue;
        }
        // Registers that agree by now: what the log says is past.
        let of = |a: Address| topology.host.functions.get(&a)?.express.as_ref()?.mps.as_ref().map(|m| (m.value, m.at));
        let own = of(*address).filter(|(_, at)| *at != said.at).map(|m| m.0);
        let port = topology.tree.parent(*address).and_then(of).map(|m| m.0);
        let past = own.zip(port).is_some_and(|(own, port)| own >= port);
        let cost = if past { 0.0 } else { cost };
        let by_now = match (own, past) {
            (Some(own), true) => {
                format!("; by now its MPS is {own} B, and the port's is no more: the log is of before")
            }
            (Some(own), false) => format!("; by now its MPS is {own} B"),
            (None, _) => String::new(),
        };
        all.push(Finding {
            kind: kind.into(),
            at: address.to_string(),
            also: Vec::new(),
            cost,
            text: format!("{text}{by_now}"),
            evidence: vec![line],
            cure: cure.into(),
        });
    }
}

/// What headers of so small payloads cost, where the link is not known.
fn costs(topology: &Topology, address: &Address) -> &'static str {
    let known = topology.host.functions.get(address).and_then(|f| f.express.as_ref()).and_then(|e| value(&e.speed));
    match known {
        Some(_) => "what that costs depends on the rest of its way, which no dump shows",
        None => "what that costs depends on its link, which no dump shows",
    }
}
