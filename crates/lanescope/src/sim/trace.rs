//! Rows and names of a time line for all that a plan has. What is written into them, parts say as they do it.

use crate::plan::Plan;
use crate::protocol::pcie::Class;
use crate::result::timeline::Timeline;
use crate::sim::core::recorder::{Args, MessageTrace, Stage, Trace};
use crate::sim::pcie::{Fabric, wire_of};
use crate::sim::world::System;
use std::collections::{BTreeMap, VecDeque};

/// Something that happened to a flow, in the words of its side.
const TLPS: [&str; 3] = ["write", "read request", "completion"];
/// DLLPs, by whether they return credit.
const DLLPS: [&str; 2] = ["Ack", "UpdateFC"];
/// Kinds of Ethernet frames, as `ethernet::Kind` numbers them.
const FRAMES: [&str; 8] = ["data", "pause", "PFC pause", "stop", "go", "request", "grant", "CNP"];
/// Transactions of a shared bus, as its arbiter numbers them.
const TRANSACTIONS: [&str; 6] =
    ["write", "split request", "retry", "read data", "split completion", "programmed write"];
/// Those of a root complex's backbone.
const CROSSINGS: [&str; 3] = ["write", "read request", "read data"];

/// Rows for all that a plan has, from a moment on.
pub(super) fn trace(plan: &Plan, system: &System, most_events: usize, now: u64) -> Trace {
    let mut line = Timeline::new(&plan.title, most_events);
    let mut name = |text: &str| line.name(text);
    let args = Args {
        payload: name("payload"),
        bytes: name("bytes"),
        tag: name("tag"),
        message: name("message"),
        to: name("to"),
        from: name("from"),
        blocks: name("blocks"),
    };
    let dllps = DLLPS.map(&mut name);
    let frames = FRAMES.map(&mut name);
    let crossings = CROSSINGS.map(&mut name);
    let completion = name(TRANSACTIONS[4]);
    // A device's flow is known by its name; what an adapter moves for itself, by what it is.
    let tlps = plan.flows.iter().map(|f| TLPS.map(|kind| name(&format!("{}: {kind}", f.name)))).collect();
    let streams = plan.network.streams.iter().map(|s| name(&s.name)).collect();
    let moves = plan.buses.flows.iter();
    let transactions = moves.map(|f| TRANSACTIONS.map(|kind| name(&format!("{}: {kind}", f.name)))).collect();
    let cluster = MessageTrace::new(&plan.cluster, &mut line);
    let mut trace = Trace {
        args,
        begin: now,
        rows: Vec::new(),
        tlps,
        dllps,
        stages: Vec::new(),
        reads: BTreeMap::new(),
        streams,
        frames,
        framed: Vec::new(),
        memories: Vec::new(),
        transactions,
        completion,
        crossings,
        backbones: BTreeMap::new(),
        transports: Vec::new(),
        cluster,
        line,
    };
    system.cluster.rows(&mut trace);
    for (on, slot) in system.ethernet.slots_of_wires().enumerate() {
        let network = &plan.network;
        let first = network.station(network.leaves(on as u32)).is_some();
        let name = network.wire_name(on as u32);
        trace.row("Ethernet", &name, slot, first);
        if !first {
            trace.queued("Ethernet", &format!("{name}: waiting"), "B", slot);
        }
    }
    for (_, node, _) in plan.network.switches() {
        let counter = trace.line.counter("Ethernet", &format!("parts.{}: memory in use", node.name), "B");
        trace.memories.push(counter);
    }
    pcie(&mut trace, plan, &system.pcie);
    for (bus, slot) in plan.buses.buses.iter().zip(system.bus.slots_of_buses()) {
        trace.row("buses", &format!("links.{}", bus.name), slot, true);
    }
    for wire in plan.storage.wires() {
        let toward = if wire.to.is_empty() { String::new() } else { format!(" toward {}", wire.to) };
        let row = trace.line.track("storage", &format!("links.{}{toward}", wire.transport.name));
        // A bus has one, whichever way.
        let rows = if wire.to.is_empty() { 2 } else { 1 };
        trace.transports.extend(std::iter::repeat_n(row, rows));
    }
    trace
}

fn pcie(trace: &mut Trace, plan: &Plan, fabric: &Fabric) {
    for (hop, wire) in plan.directions().zip(&fabric.net.wires) {
        let name = plan.direction_name(hop);
        trace.row("PCIe", &name, wire.tx, true);
        for (class, kind) in Class::ALL.into_iter().zip(["posted", "non-posted", "completion"]) {
            trace.credit("PCIe", &format!("{name}: {kind} headers left"), "headers", wire.tx, wire.left(class).0);
        }
    }
    for flow in plan.flows.iter() {
        for (hops, back) in [(flow.route.len(), false), (flow.back.len(), true)] {
            let stage = |i| Stage { first: i == 0, last: i + 1 == hops, back, slices: VecDeque::new() };
            trace.stages.extend((0..hops).map(stage));
        }
        debug_assert!(flow.route.iter().all(|h| (wire_of(*h) as usize) < fabric.net.wires.len()));
    }
    for (part, timer) in fabric.backbone_timers() {
        let name = &plan.parts[part].name;
        let rows =
            ["request bus", "completion bus"].map(|bus| trace.line.track("PCIe", &format!("parts.{name}: {bus}")));
        trace.backbones.insert(timer, rows);
    }
}
