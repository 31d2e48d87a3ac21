//! From a scenario's flows of transactions to pairs of stations, and to the I/Os of their workers.
//!
//! The worker is Iometer's network worker, the other end the client that mirrors it: both know from one seed what comes
//! next, so both issue each I/O and complete it, and the one that sends sends. One I/O of a pair is under way at a time
//! (Iometer User's Guide 1.1.0: network workers have one outstanding).

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::core::address::{Address, Directory};
use crate::plan::ethernet::{Network, NodeId};
use crate::plan::storage::{IoFlow, Pair, Storage, Volume};
use crate::protocol::{ethernet, tcp};
use crate::scenario::keys::{Arrivals, FlowControl, Transact};
use crate::scenario::quantity::{Confidence, Name, Origin, Quantity, Shape};
use crate::scenario::{MAX_THINGS, Named, NodeKeys, Scenario};
use crate::units::Bytes;
use std::num::NonZeroU32;

/// What transactions bring to a network: MAC client data of their largest frames, at least `data`, and their priority.
/// Without any, nothing.
pub(in crate::plan) fn carried(scenario: &Scenario, network: &Network, data: u64) -> (u64, Option<u8>) {
    if scenario.transactions.is_empty() {
        return (data, None);
    }
    let most = network.links.iter().map(|l| l.mtu.typical.0).min().unwrap_or(0);
    (data.max(most), Some(0))
}

/// Resolves and checks the flows of transactions of a scenario.
pub(in crate::plan) fn build(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    network: &Network,
    storage: &mut Storage,
) {
    if scenario.transactions.is_empty() || diagnostics.has_errors() {
        return;
    }
    const HINT: &str = "transactions run between stations of an Ethernet: is = \"station\"";
    let directory = Directory::new(&scenario.nodes).among(scenario, HINT);
    for flow in &scenario.transactions {
        expand(diagnostics, &directory, network, flow, storage);
        if storage.flows.len() > MAX_THINGS {
            let d = Diagnostic::error(flow.span, format!("more than {MAX_THINGS} flows"))
                .hint("use fewer: no answer needs so many");
            diagnostics.push(d.hint("stations x workers x other ends, of all flows together"));
            return;
        }
    }
}

/// The stations of a name, and whether it has a star.
fn stations(
    diagnostics: &mut Diagnostics,
    directory: &Directory<NodeKeys>,
    text: &str,
    span: Span,
) -> Option<(Vec<NodeId>, bool)> {
    let Address { parts, rest, many } = directory.find(diagnostics, text, span)?;
    if !rest.is_empty() {
        let what = format!("transactions run between stations, not their {rest:?}");
        diagnostics.push(Diagnostic::error(span, what));
        return None;
    }
    if let Some(switch) = parts.iter().find(|p| matches!(directory.part(**p).keys, NodeKeys::Switch(_))) {
        let what = format!("{} is a switch: no worker runs there", directory.part(*switch).name);
        diagnostics.push(Diagnostic::error(span, what).hint("name stations"));
        return None;
    }
    Some((parts.into_iter().map(|p| NodeId(p.0)).collect(), many))
}

fn expand(
    diagnostics: &mut Diagnostics,
    directory: &Directory<NodeKeys>,
    network: &Network,
    flow: &Named<Transact>,
    storage: &mut Storage,
) {
    let k = &flow.keys;
    let from_span = k.from.span.unwrap_or(flow.span);
    let Some((from, mut many)) = stations(diagnostics, directory, &k.from.typical, from_span) else { return };
    let mut to: Vec<(NodeId, Span)> = Vec::new();
    for Name { text, span } in &k.to.typical.0 {
        let Some((all, star)) = stations(diagnostics, directory, text, *span) else { return };
        many |= star;
        for id in all {
            if to.iter().any(|(other, _)| *other == id) {
                let what = format!("{} is named twice", network.node(id).name);
                diagnostics.push(Diagnostic::error(*span, what).hint("workers = 2 runs two side by side"));
                return;
            }
            to.push((id, *span));
        }
    }
    if to.is_empty() {
        let d = Diagnostic::error(k.to.span.unwrap_or(flow.span), format!("flow {} has no other end", flow.name));
        diagnostics.push(d.hint("name a station, or a list of them"));
        return;
    }
    let control = network.flow_control();
    if matches!(control, FlowControl::Voq | FlowControl::Credits) {
        let what = format!("flow {}: transactions over switches with flow_control = {:?}", flow.name, control.show());
        let d = Diagnostic::error(flow.span, what);
        diagnostics
            .push(d.hint("their frames do not use grants or per-destination stops: \"none\", \"pause\" or \"pfc\""));
        return;
    }
    if k.access.typical.0.iter().any(|l| l.trim > 0) {
        let d = Diagnostic::error(k.access.span.unwrap_or(flow.span), format!("flow {}: trims of messages", flow.name));
        diagnostics.push(d.hint("only NVMe drives take them"));
        return;
    }
    let workers = k.workers.typical.get();
    let count = (from.len() * to.len()).saturating_mul(workers as usize);
    if count > MAX_THINGS {
        let what = format!("{count} pairs of a worker and its other end");
        let d = Diagnostic::error(k.workers.span.unwrap_or(flow.span), what);
        diagnostics.push(d.hint(format!("at most {MAX_THINGS}")));
        return;
    }
    let many = many || count > 1 || to.len() > 1;
    let mut n = 0;
    for &own in &from {
        // A star for both ends: everybody with all others.
        let others: Vec<(NodeId, Span)> = to.iter().copied().filter(|(id, _)| *id != own).collect();
        if others.is_empty() {
            let what = format!("{} would exchange messages with itself", network.node(own).name);
            let d = Diagnostic::error(to[0].1, what);
            diagnostics.push(d.hint("what stays in a station crosses no Ethernet"));
            return;
        }
        for _worker in 0..workers {
            let worker = storage.workers.len() as u32;
            storage.workers.push(network.node(own).name.clone());
            for &(other, span) in &others {
                let number = storage.pairs.len() as u32;
                let Some(pair) = pair(diagnostics, network, flow, [own, other], number, span) else { return };
                let volume = Volume::Station(number);
                storage.pairs.push(pair);
                storage.flows.push(IoFlow {
                    name: if many { format!("{}.{n}", flow.name) } else { flow.name.clone() },
                    group: flow.name.clone(),
                    worker,
                    core: worker,
                    volume,
                    adapter: None,
                    lines: k.access.typical.0.clone().into(),
                    start: Bytes(0),
                    range: Bytes(1 << 40),
                    places: None,
                    outstanding: Quantity::derived(
                        NonZeroU32::MIN,
                        Origin::Standard,
                        Confidence::Likely,
                        "Iometer's network workers have one I/O outstanding",
                    ),
                    rate: None,
                    arrivals: Arrivals::Even,
                    submit: k.submit_time.clone(),
                    complete: k.complete_time.clone(),
                    wake: super::nvme::no_wake(),
                    queues: Vec::new(),
                    remote: None,
                    measured: k.measured.as_ref().map(|q| q.typical),
                    about: match k.connections.as_ref().map(|c| c.typical) {
                        None => k.access.typical.show(),
                        Some(n) => format!("{}; {n} transactions a connection", k.access.typical.show()),
                    },
                    test: None,
                });
                n += 1;
            }
        }
    }
}

/// Two stations, if their frames can go between them.
fn pair(
    diagnostics: &mut Diagnostics,
    network: &Network,
    flow: &Named<Transact>,
    ends: [NodeId; 2],
    number: u32,
    span: Span,
) -> Option<Pair> {
    let names = ends.map(|id| network.node(id).name.clone());
    // What follows one another has one number: connections that are opened anew go the way of those before.
    let ways = [ends, [ends[1], ends[0]]].map(|e| network.way_of(e, &flow.name, &[number]));
    let connections = flow.keys.connections.as_ref().map(|c| c.typical);
    let mut made = Pair { ends, names, segment: 0, connections, class: 0, ways };
    let path = made.path(network, false);
    if path.last().map(|w| network.arrives(*w)) != Some(ends[1]) {
        let what = format!("there is no path from {} to {}", made.names[0], made.names[1]);
        diagnostics.push(Diagnostic::error(span, what).hint("wire both to one network"));
        return None;
    }
    // What a path MTU discovery finds, both ways.
    let wires = path.into_iter().chain(made.path(network, true));
    let mtu = wires.map(|w| network.link(w).mtu.typical.0).min().unwrap_or(0);
    made.segment = tcp::segment(mtu).max(1);
    made.class = network.classes.iter().position(|c| *c == 0).unwrap_or(0) as u8;
    let frame = ethernet::frame(made.segment + tcp::HEADERS);
    for (id, name) in ends.iter().zip(&made.names) {
        let Some(k) = network.station(*id) else { continue };
        for (key, q) in [("nic_buffer", &k.nic_buffer), ("mac_buffer", &k.mac_buffer)] {
            if q.typical.0 < frame {
                let what = format!("parts.{name}: a {key} of {} holds no frame of flows.{}", q.typical, flow.name);
                let d = Diagnostic::error(q.span.unwrap_or(span), what);
                diagnostics.push(d.hint(format!("a frame must fit whole: {frame} B")));
                return None;
            }
        }
    }
    Some(made)
}
