//! Rows and names of a time line for all that a plan has. What is written into them, parts say as they do it.

use crate::plan::Plan;
use crate::result::timeline::Timeline;
use crate::sim::System;
use crate::sim::core::recorder::{Args, MessageTrace, Trace};
use std::collections::BTreeMap;

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
    for side in system.in_order_of_rows() {
        side.rows(plan, &mut trace);
    }
    trace
}
