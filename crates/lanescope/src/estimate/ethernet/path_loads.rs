//! What streams ask of the wires of an Ethernet, per payload byte.

use crate::estimate::ethernet::Beside;
use crate::plan::Network;
use crate::plan::ethernet::latency;
use crate::plan::ethernet::{NodeId, Pick, Stream, packets};
use crate::protocol::ethernet;
use crate::scenario::keys::{Ecmp, FlowControl};
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// Pairs of source and destination that are looked at; of more, evenly spaced ones.
pub(in crate::estimate) const MOST_PAIRS: usize = 1 << 20;
/// The same where wires stand for their trunks: to each destination there are as many, and ways are no matter.
const MOST_IN_TRUNKS: usize = MOST_PAIRS / 4;

/// The corners in the order of [`Asked::latency`].
pub(in crate::estimate) const CORNERS: [Corner; 3] = [Corner::Slower, Corner::Typical, Corner::Faster];

/// The frames of a stream, per payload byte.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::estimate) struct Frames {
    /// Frames (not bytes).
    pub(in crate::estimate) count: f64,
    /// Headers, FCS and padding.
    pub(in crate::estimate) framing: f64,
    /// Preambles and gaps.
    pub(in crate::estimate) gap: f64,
    /// Payload of a message (in all, not per byte), the mean.
    pub(in crate::estimate) message: f64,
    /// Bytes of the wire, of the message that takes the fewest.
    least: f64,
}

impl Frames {
    fn of(network: &Network, stream: &Stream) -> Frames {
        let mut all = Frames { least: f64::INFINITY, ..Frames::default() };
        let (mut messages, mut payload) = (0.0, 0.0);
        let mut add = |size: u64| {
            let (mut count, mut framing) = (0, 0);
            for (n, data, bytes) in network.cut(stream, size) {
                count += n;
                framing += n * (bytes - data);
            }
            let gap = count * (ethernet::PREAMBLE + ethernet::GAP);
            messages += 1.0;
            payload += size as f64;
            all.count += count as f64;
            all.framing += framing as f64;
            all.gap += gap as f64;
            all.least = all.least.min(network.wire_bytes(stream, size) as f64 / size as f64);
        };
        stream.typical_sizes().into_iter().for_each(&mut add);
        Frames {
            count: all.count / payload,
            framing: all.framing / payload,
            gap: all.gap / payload,
            message: payload / messages,
            least: all.least,
        }
    }

    /// Bytes of the wire.
    pub(in crate::estimate) fn wire(&self) -> f64 {
        1.0 + self.framing + self.gap
    }
}

/// One stream.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct Asked {
    /// Its frames.
    pub(in crate::estimate) frames: Frames,
    /// The wires that it takes, with the part of its payload; in their order where there is one way.
    pub(in crate::estimate) wires: Vec<(u32, f64)>,
    /// How many of these carry its data; on those behind them are its acknowledgements.
    pub(in crate::estimate) data: usize,
    /// The class of its frames; of several that of the first destination.
    pub(in crate::estimate) class: usize,
    /// Connections that take turns at its source.
    pub(in crate::estimate) connections: f64,
    /// The wires that lead to its destinations.
    pub(in crate::estimate) last: Vec<u32>,
    /// Its own link's way out, and payload bytes per second that it carries.
    pub(in crate::estimate) own: u32,
    pub(in crate::estimate) line: f64,
    /// Payload bytes per second that it wants; infinite of one that always has something.
    pub(in crate::estimate) wants: f64,
    /// Whether it has one destination, so that its wires are one behind the other.
    pub(in crate::estimate) single: bool,
    /// Payload bytes per second that it cannot exceed, whatever the others do.
    pub(in crate::estimate) bound: f64,
    /// Unloaded femtoseconds of one message to the farthest of its destinations, by corner.
    pub(in crate::estimate) latency: [u128; 3],
}

/// Where there is no wire.
pub(in crate::estimate) const NO_WIRE: u32 = u32::MAX;
/// Bytes of the wire that a program's frame takes in a station's turn: a full frame of 1500 B with preamble and gap.
const TURN: f64 = (1500 + ethernet::HEADER + ethernet::FCS + ethernet::PREAMBLE + ethernet::GAP) as f64;

/// A program as a stream whose unit is its progress.
pub(in crate::estimate) fn program(network: &Network, beside: &Beside) -> Asked {
    let Beside { wires, progress, class } = beside;
    // Beside streams that are spread over trunks it has one wire of each.
    let in_trunks = in_trunks(network);
    let of_trunk = |w: u32| network.routes.trunk(w).filter(|_| in_trunks).map_or(w, |(first, _)| first);
    let wires: Vec<(u32, f64)> = wires.iter().map(|&(w, part)| (of_trunk(w), part * capacity(network, w))).collect();
    let most = wires.iter().map(|w| w.1).fold(TURN, f64::max);
    let frames = Frames { message: TURN / most, least: 1.0, ..Frames::default() };
    let (last, own, data) = (Vec::new(), NO_WIRE, wires.len());
    let (wants, class, connections) = (*progress, *class, 1.0);
    let (line, single, bound, latency) = (1.0, true, 1.0, [0; 3]);
    Asked { frames, wires, data, class, connections, last, own, line, wants, single, bound, latency }
}

/// Bytes per second of a wire.
pub(in crate::estimate) fn capacity(network: &Network, wire: u32) -> f64 {
    network.link(wire).rate.typical.rate().bytes()
}

/// Whether wires stand for the trunks that they are of: where a rule says which are parallel, and so many pairs share
/// each that hashing spreads them evenly. The few that are looked at would be spread less evenly than all are.
pub(in crate::estimate) fn in_trunks(network: &Network) -> bool {
    network.pairs() > MOST_PAIRS && network.ecmp() != Ecmp::Destination && network.routes.trunk(0).is_some()
}

/// What is looked at of many pairs.
#[derive(Clone, Copy)]
struct Sample {
    /// Destinations of each stream, at most.
    most: usize,
    /// Whether wires stand for their trunks.
    trunks: bool,
}

impl Sample {
    /// The wires of a way; of each trunk on it the first, with the part that one wire of the trunk has.
    fn wires(self, network: &Network, wires: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        let trunk = |(wire, part): (u32, f64)| {
            let (first, width) = network.routes.trunk(wire).unwrap_or((wire, 1));
            (first, part / f64::from(width))
        };
        if self.trunks { wires.into_iter().map(trunk).collect() } else { wires }
    }
}

/// What every stream asks.
pub(in crate::estimate) fn asked(network: &Network) -> Vec<Asked> {
    let pairs = network.pairs();
    let trunks = in_trunks(network);
    let most = if trunks { MOST_IN_TRUNKS } else { MOST_PAIRS };
    let most = if pairs > MOST_PAIRS { (most / network.streams.len()).max(1) } else { usize::MAX };
    let sample = Sample { most, trunks };
    let mut parts = vec![0.0; 2 * network.links.len()];
    let mut all: Vec<Asked> = Vec::with_capacity(network.streams.len());
    for (i, stream) in network.streams.iter().enumerate() {
        // Streams of one table are cut alike, but for traces and for what their links carry.
        let before = i.checked_sub(1).map(|b| (&network.streams[b], all[b].frames));
        let alike = |b: &Stream| b.group == stream.group && b.room == stream.room && stream.trace.is_none();
        let frames = before.filter(|(b, _)| alike(b)).map_or_else(|| Frames::of(network, stream), |(_, frames)| frames);
        all.push(one(network, i, frames, sample, &mut parts));
    }
    all
}

/// Destinations of several streams that are looked at one by one, at most; where there are more, each stream keeps its
/// proportions.
pub(in crate::estimate) const MOST_LANES: usize = 1 << 12;

/// Streams whose destinations do not wait for one another, taken apart: each destination with the stream that it is of.
/// Where nothing stops the source it sends to all in its proportions, and what is dropped on one way holds up no other;
/// where each destination may be stopped by itself, lanes take turns, and one that is held leaves its turn to the
/// others. `None` where a source keeps to its proportions: what cannot get to one destination stands before what is for
/// others; and so do those that need grants, since destinations give them in turns and what is granted to slow ways
/// holds back the rest.
pub(in crate::estimate) fn lanes(network: &Network, asked: &[Asked]) -> Option<Vec<(usize, Asked)>> {
    let control = network.flow_control();
    let pairs = network.pairs();
    let apart = matches!(control, FlowControl::None | FlowControl::Voq);
    if !apart || pairs > MOST_LANES || asked.iter().all(|a| a.single) {
        return None;
    }
    let mut all = Vec::with_capacity(pairs);
    for (index, (stream, a)) in network.streams.iter().zip(asked).enumerate() {
        if a.single {
            all.push((index, a.clone()));
            continue;
        }
        for (target, part) in targets(stream, usize::MAX) {
            let mut wires = spread(network, stream, index, target);
            let (data, single) = (wires.len(), wires.iter().all(|w| w.1 == 1.0));
            wires.extend(acknowledgements(network, stream, target, network.way(index, target), &a.frames));
            let at = stream.targets.iter().position(|t| t == target).unwrap_or(0);
            let (class, connections) = (network.class(stream, at), f64::from(stream.connections.typical.get()));
            // A source that nothing stops sends at the rate of its line, or at its own.
            let most = if control == FlowControl::None { a.line } else { f64::INFINITY };
            let wants = a.wants.min(most) * part;
            let lane = Asked { wires, data, class, connections, single, wants, last: Vec::new(), ..a.clone() };
            all.push((index, lane));
        }
    }
    all.extend(asked.iter().cloned().enumerate().skip(network.streams.len()));
    Some(all)
}

/// One stream; `parts` is room for a number by wire, all zero before and after.
fn one(network: &Network, index: usize, frames: Frames, sample: Sample, parts: &mut [f64]) -> Asked {
    let stream = &network.streams[index];
    let own = network.out(stream.source, 0);
    let line = capacity(network, own) / frames.least;
    let wants = stream.offered.map_or(f64::INFINITY, |r| r.bytes());
    let (single, bound) = (stream.targets.len() == 1, 0.0);
    let (wires, last, class) = (Vec::new(), Vec::new(), network.class(stream, 0));
    let connections = f64::from(stream.connections.typical.get()) * stream.targets.len() as f64;
    let latency = [0; 3];
    let mut made = Asked { frames, wires, data: 0, class, connections, last, own, line, wants, single, bound, latency };
    let targets = targets(stream, sample.most);
    let train = latency::Train::of(network, stream, stream.size.typical.0);
    for &(target, part) in &targets {
        let path = network.path(index, target);
        let spread = if sample.trunks {
            sample.wires(network, path.iter().map(|w| (*w, 1.0)).collect())
        } else {
            spread(network, stream, index, target)
        };
        made.single &= spread.iter().all(|w| w.1 == 1.0);
        for &(wire, of) in &spread {
            if parts[wire as usize] == 0.0 {
                made.wires.push((wire, 0.0));
            }
            parts[wire as usize] += part * of;
        }
        made.last.extend(path.last());
        let narrowest = spread.iter().map(|(w, of)| capacity(network, *w) / of).fold(f64::INFINITY, f64::min);
        made.bound += narrowest / frames.least;
        for (slowest, corner) in made.latency.iter_mut().zip(CORNERS) {
            *slowest = latency::message(network, &path, train, corner).max(*slowest);
        }
    }
    // Every destination may take as much as its way carries; those not looked at are like the others.
    made.bound = (made.bound * stream.targets.len() as f64 / targets.len().max(1) as f64).min(line);
    for (wire, part) in &mut made.wires {
        *part = std::mem::take(&mut parts[*wire as usize]);
    }
    made.data = made.wires.len();
    for &(target, part) in &targets {
        let all = acknowledgements(network, stream, target, network.way(index, target), &made.frames);
        let all = sample.wires(network, all);
        made.wires.extend(all.into_iter().map(|(wire, of)| (wire, of * part)));
    }
    made
}

/// The wires to a destination with the part of the frames that takes each, over all connections.
fn spread(network: &Network, stream: &Stream, index: usize, target: NodeId) -> Vec<(u32, f64)> {
    let ends = [stream.source, target];
    let connections = stream.connections.typical.get();
    if connections == 1 || network.reorders() {
        return network.spread(ends, network.way(index, target));
    }
    let mut all: Vec<(u32, f64)> = Vec::new();
    for number in 0..connections {
        for wire in network.along(ends, network.way_of_connection(index, target, number)) {
            let part = 1.0 / f64::from(connections);
            match all.iter_mut().find(|w| w.0 == wire) {
                Some(w) => w.1 += part,
                None => all.push((wire, part)),
            }
        }
    }
    // Of all connections together it is just one, whatever the sum of floats.
    all.iter_mut().filter(|w| (w.1 - 1.0).abs() < 1e-9).for_each(|w| w.1 = 1.0);
    all
}

/// The wires back from a destination, with what acknowledgements take there of what a payload byte takes on the way to
/// it: one for each message of RoCE; plain frames have none.
fn acknowledgements(network: &Network, stream: &Stream, target: NodeId, way: u32, frames: &Frames) -> Vec<(u32, f64)> {
    if !stream.is_roce() {
        return Vec::new();
    }
    let bytes = ethernet::wire(packets::ack_frame()) as f64 / frames.message;
    let back = network.along([target, stream.source], way);
    back.into_iter().map(|wire| (wire, bytes / frames.wire())).collect()
}

/// The destinations of a stream with the part of its payload that each gets, at most so many.
fn targets(stream: &Stream, most: usize) -> Vec<(NodeId, f64)> {
    let all = &stream.targets;
    if let Some(trace) = &stream.trace {
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        trace.iter().for_each(|t| *bytes.entry(t.target).or_default() += t.bytes);
        let whole = bytes.values().sum::<u64>() as f64;
        return bytes.into_iter().map(|(t, b)| (all.get(t as usize), b as f64 / whole)).collect();
    }
    let n = all.len().min(most);
    // Counted from the one after itself, so that of many streams each destination is looked at equally often.
    let after = match stream.pick {
        Pick::Random if n < all.len() => all.behind(stream.source),
        _ => 0,
    };
    (0..n).map(|i| (all.get((after + i * all.len() / n) % all.len()), 1.0 / n as f64)).collect()
}
