//! The closed form of transactions between stations: what their messages ask of the wires of an Ethernet, and how long
//! one takes by itself.
//!
//! One I/O of a pair is under way at a time, so the unloaded time of a transaction gives its rate; wires that several
//! pairs share are divided like all resources of I/Os. Streams of frames on the same wires are answered by themselves:
//! neither side of the estimate knows of the other.

use crate::estimate::Outcome;
use crate::estimate::core::row;
use crate::estimate::ethernet::{Train, message};
use crate::estimate::storage::{Kind, Part, kinds};
use crate::plan::Plan;
use crate::plan::storage::{IoFlow, Pair};
use crate::protocol::ethernet::{FCS, GAP, HEADER, MIN_FRAME, PREAMBLE};
use crate::protocol::tcp;
use crate::result::LinkReport;
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// What goes over a wire.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    /// Bytes of the wire, payload and frames.
    wire: f64,
    payload: f64,
    frames: f64,
}

/// Empty segments of a connection's beginning and end, from the other end (`true`) or from the worker's.
fn empty(from_other: bool) -> f64 {
    tcp::OPEN.iter().chain(&tcp::CLOSE).filter(|way| **way == from_other).count() as f64
}

/// Connections of a transaction: none where one lasts, or where there are no transactions.
fn connections(pair: &Pair) -> f64 {
    pair.connections.filter(|n| *n > 0).map_or(0.0, |n| 1.0 / f64::from(n))
}

/// What one transaction asks of the wires, on average.
fn loads(plan: &Plan, pair: &Pair, kinds: &[Kind]) -> BTreeMap<u32, Load> {
    let mut all: BTreeMap<u32, Load> = BTreeMap::new();
    for read in [true, false] {
        let mine = kinds.iter().filter(|k| k.read == read);
        let mut load = Load { frames: connections(pair) * empty(read), ..Load::default() };
        load.wire = load.frames * tcp::EMPTY as f64;
        for k in mine {
            let bytes = k.bytes.round() as u64;
            load.wire += k.count * tcp::wire(bytes, pair.segment) as f64;
            load.payload += k.count * k.bytes;
            load.frames += k.count * tcp::segments(bytes, pair.segment) as f64;
        }
        if load.frames > 0.0 {
            for wire in pair.path(&plan.network, read) {
                let sum = all.entry(wire).or_default();
                sum.wire += load.wire;
                sum.payload += load.payload;
                sum.frames += load.frames;
            }
        }
    }
    all
}

/// Resources and what they are asked for a transaction: (what, bytes per second, bytes).
pub(in crate::estimate) fn wires(plan: &Plan, pair: &Pair, kinds: &[Kind]) -> impl Iterator<Item = (Part, f64, f64)> {
    let network = plan.network.clone();
    loads(plan, pair, kinds)
        .into_iter()
        .map(move |(wire, l)| (Part::Ethernet(wire), network.link(wire).rate.typical.rate().bytes(), l.wire))
}

/// Unloaded time of a message, s: from the moment at which it is issued to its last bit at the other end.
fn crosses(plan: &Plan, corner: Corner, pair: &Pair, read: bool, bytes: u64) -> f64 {
    let path = pair.path(&plan.network, read);
    let (full, size) = (pair.segment + tcp::HEADERS, tcp::client_data(bytes, pair.segment));
    message(&plan.network, &path, Train::plain(full, size), corner) as f64 * 1e-15
}

/// Unloaded time of an I/O, s.
pub(in crate::estimate) fn time(plan: &Plan, corner: Corner, flow: &IoFlow, pair: &Pair, k: Kind) -> f64 {
    let host = flow.submit.at(corner).seconds() + flow.complete.at(corner).seconds();
    host + crosses(plan, corner, pair, k.read, k.bytes.round() as u64)
}

/// Time of connections for each transaction, s: what is opened and closed, unloaded.
pub(in crate::estimate) fn connecting(plan: &Plan, corner: Corner, pair: &Pair) -> f64 {
    let part = connections(pair);
    if part == 0.0 {
        return 0.0;
    }
    let mut sum = 0.0;
    for steps in [&tcp::OPEN[..], &tcp::CLOSE] {
        for run in steps.chunk_by(|a, b| a == b) {
            // Frames of the smallest size, back to back.
            let path = pair.path(&plan.network, run[0]);
            let data = MIN_FRAME - HEADER - FCS;
            sum += message(&plan.network, &path, Train::plain(data, data * run.len() as u64), corner) as f64 * 1e-15;
        }
    }
    sum * part
}

/// Adds what transactions put on the wires of an Ethernet to what streams do. `links` are both ways of each link, in
/// order.
pub(in crate::estimate) fn on_links(plan: &Plan, outcome: &Outcome, links: &mut [LinkReport]) {
    let first = row::ios(plan).start;
    for (i, flow) in plan.storage.flows.iter().enumerate() {
        let Some(pair) = plan.storage.pair(flow) else { continue };
        let transactions = outcome.shares[first + i].rate / flow.mix().bytes;
        for (wire, l) in loads(plan, pair, &kinds(&flow.lines)) {
            let Some(link) = links.get_mut(wire as usize) else { continue };
            let bits = 8.0 * transactions;
            let (payload, gap) = (bits * l.payload, bits * l.frames * (PREAMBLE + GAP) as f64);
            let ledger = &mut link.ledger;
            ledger.payload += payload;
            ledger.gap += gap;
            ledger.framing += bits * l.wire - payload - gap;
            ledger.idle = (ledger.idle - bits * l.wire).max(0.0);
            let frames = link.tlps + transactions * l.frames;
            (link.payload.slower, link.payload.typical, link.payload.faster) =
                (link.payload.slower + payload, link.payload.typical + payload, link.payload.faster + payload);
            link.tlps = frames;
            link.tlp_overhead = (frames > 0.0).then(|| (ledger.framing + ledger.gap) / 8.0 / frames);
        }
    }
}
