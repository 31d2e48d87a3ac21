//! What streams ask of the wires of an Ethernet, per payload byte.

use crate::estimate::ethernet::Beside;
use crate::plan::Network;
use crate::plan::ethernet::latency;
use crate::plan::ethernet::{NodeId, Pick, Stream, packets};
use crate::protocol::ethernet;
use crate::scenario::keys::{Ecmp, FlowControl};
use crate::scenario::quantity::Corner;
use std::collections::{BTreeMap, HashMap};

/// Pairs of source and destination that are looked at; of more, evenly spaced ones.
pub(in crate::estimate) const MOST_PAIRS: u64 = 1 << 20;
/// The same of streams that are spread evenly: to each destination there are as many, and ways are no matter.
const MOST_EVEN: u64 = MOST_PAIRS / 4;
/// Destinations of each stream that are looked at, at least.
const LEAST_SAMPLE: u64 = 4;
/// A stream with so many connections is spread evenly over parallel wires, as far as hashing goes.
const MANY: u64 = 64;
/// Links from which on frames that have a choice of their own are spread over some of the parallel wires for all.
const MANY_LINKS: usize = 1 << 15;
/// Streams times wires on which others have a way of their own, at most: each such wire has all that is spread over it.
const MOST_BESIDE: usize = 1 << 24;

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
    /// Whether its messages are born at moments of their own; else there is always one more.
    pub(in crate::estimate) paced: bool,
    /// Whether it has one destination, so that its wires are one behind the other.
    pub(in crate::estimate) single: bool,
    /// Payload bytes per second that it cannot exceed, whatever the others do.
    pub(in crate::estimate) bound: f64,
    /// Unloaded femtoseconds of one message to the farthest of its destinations, by corner.
    pub(in crate::estimate) latency: [u128; 3],
    /// Whether its part of the first of parallel wires is that of each of them.
    pub(in crate::estimate) even: bool,
}

/// Where there is no wire.
pub(in crate::estimate) const NO_WIRE: u32 = u32::MAX;
/// Bytes of the wire that a program's frame takes in a station's turn: a full frame of 1500 B with preamble and gap.
const TURN: f64 = (1500 + ethernet::HEADER + ethernet::FCS + ethernet::PREAMBLE + ethernet::GAP) as f64;

/// A program as a stream whose unit is its progress.
pub(in crate::estimate) fn program(network: &Network, beside: &Beside) -> Asked {
    let Beside { wires, progress, class } = beside;
    let wires: Vec<(u32, f64)> = wires.iter().map(|&(w, part)| (w, part * capacity(network, w))).collect();
    let most = wires.iter().map(|w| w.1).fold(TURN, f64::max);
    let frames = Frames { message: TURN / most, least: 1.0, ..Frames::default() };
    let (last, own, data) = (Vec::new(), NO_WIRE, wires.len());
    let (wants, class, connections) = (*progress, *class, 1.0);
    let (line, paced, single, bound, latency, even) = (1.0, false, true, 1.0, [0; 3], false);
    Asked { frames, wires, data, class, connections, last, own, line, wants, paced, single, bound, latency, even }
}

/// Bytes per second of a wire.
pub(in crate::estimate) fn capacity(network: &Network, wire: u32) -> f64 {
    network.link(wire).rate.typical.rate().bytes()
}

/// Wires that stand for all that are parallel to them: so many connections share each that hashing spreads these
/// evenly, where the few that are looked at would not be; and frames that have a choice of their own are in any case.
pub(in crate::estimate) struct Even {
    /// Wires on which flows with a way of their own are, which have all that is spread over them, too.
    beside: Vec<bool>,
    /// The same by the first of those that are parallel, which is not among them.
    siblings: HashMap<u32, Vec<u32>>,
}

impl Even {
    /// `None` where no rule says which wires are parallel, each destination has one way, or all can be looked at one by
    /// one; also where too many flows have a way of their own.
    fn of(network: &Network, programs: &[Beside]) -> Option<Even> {
        let spread = network.reorders() && network.links.len() > MANY_LINKS;
        let any = network.routes.parallel(0).is_some() && network.ecmp() != Ecmp::Destination;
        if !any || !spread && network.pairs() <= MOST_PAIRS {
            return None;
        }
        let mut made = Even { beside: vec![false; 2 * network.links.len()], siblings: HashMap::new() };
        let mut count = 0;
        let mut mark = |wire: u32| {
            count += usize::from(!std::mem::replace(&mut made.beside[wire as usize], true));
            count.saturating_mul(network.streams.len()) <= MOST_BESIDE
        };
        if !programs.iter().flat_map(|p| &p.wires).all(|(wire, _)| mark(*wire)) {
            return None;
        }
        for (index, stream) in network.streams.iter().enumerate().filter(|(_, s)| !is_spread(network, s)) {
            for (target, _) in targets(stream, usize::MAX) {
                let there = spread_wires(network, stream, index, target).into_iter().map(|(wire, _)| wire);
                let back = network.along([target, stream.source], network.way(index, target));
                let back = if stream.is_roce() { back } else { Vec::new() };
                if !there.chain(back).all(&mut mark) {
                    return None;
                }
            }
        }
        for wire in (0..2 * network.links.len() as u32).filter(|w| made.beside[*w as usize]) {
            let first = network.routes.parallel(wire).map_or(wire, |(first, _)| first);
            if first != wire {
                made.siblings.entry(first).or_default().push(wire);
            }
        }
        Some(made)
    }

    /// The wire of which a wire has the load, where it has none of its own.
    pub(in crate::estimate) fn stands_for(&self, network: &Network, wire: u32) -> Option<u32> {
        let (first, _) = network.routes.parallel(wire)?;
        (first != wire && !self.beside[wire as usize]).then_some(first)
    }
}

/// Whether a stream is spread evenly over parallel wires.
fn is_spread(network: &Network, stream: &Stream) -> bool {
    let connections = stream.targets.len() as u64 * u64::from(stream.connections.typical.get());
    network.reorders() || stream.trace.is_none() && connections >= MANY
}

/// What every stream asks, beside programs.
pub(in crate::estimate) fn asked(network: &Network, programs: &[Beside]) -> (Vec<Asked>, Option<Even>) {
    let pairs = network.pairs();
    let even = Even::of(network, programs);
    let most = if even.is_some() { MOST_EVEN } else { MOST_PAIRS };
    let each = (most / network.streams.len().max(1) as u64).max(LEAST_SAMPLE);
    let most = if pairs > MOST_PAIRS { each as usize } else { usize::MAX };
    let mut by_leaf = (std::ptr::null(), Vec::new());
    let mut parts = vec![0.0; 2 * network.links.len()];
    let mut all: Vec<Asked> = Vec::with_capacity(network.streams.len());
    for (i, stream) in network.streams.iter().enumerate() {
        // Streams of one table are cut alike, but for traces and for what their links carry.
        let before = i.checked_sub(1).map(|b| (&network.streams[b], all[b].frames));
        let alike = |b: &Stream| b.group == stream.group && b.room == stream.room && stream.trace.is_none();
        let frames = before.filter(|(b, _)| alike(b)).map_or_else(|| Frames::of(network, stream), |(_, frames)| frames);
        let list = stream.targets.list();
        if even.is_some() && by_leaf.0 != list.as_ptr() {
            by_leaf = (list.as_ptr(), network.routes.by_leaf(list.iter().copied()));
        }
        let spread = even.as_ref().filter(|_| is_spread(network, stream)).map(|even| (even, by_leaf.1.as_slice()));
        let most = if spread.is_some() || even.is_none() { most } else { usize::MAX };
        all.push(one(network, i, frames, most, spread, &mut parts));
    }
    (all, even)
}

/// Destinations of several streams that are looked at one by one, at most; where there are more, each stream keeps its
/// proportions.
pub(in crate::estimate) const MOST_LANES: u64 = 1 << 12;

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
    let mut all = Vec::with_capacity(pairs as usize);
    for (index, (stream, a)) in network.streams.iter().zip(asked).enumerate() {
        if a.single {
            all.push((index, a.clone()));
            continue;
        }
        for (target, part) in targets(stream, usize::MAX) {
            let mut wires = spread_wires(network, stream, index, target);
            let (data, single) = (wires.len(), wires.iter().all(|w| w.1 == 1.0));
            wires.extend(acknowledgements(network, stream, target, network.way(index, target), &a.frames));
            let at = stream.targets.find(target).unwrap_or(0);
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
fn one(
    network: &Network,
    index: usize,
    frames: Frames,
    most: usize,
    even: Option<(&Even, &[u32])>,
    parts: &mut [f64],
) -> Asked {
    let stream = &network.streams[index];
    let own = network.out(stream.source, 0);
    let line = capacity(network, own) / frames.least;
    let wants = stream.offered.map_or(f64::INFINITY, |r| r.bytes());
    let (single, bound) = (stream.targets.len() == 1, 0.0);
    let (wires, last, class) = (Vec::new(), Vec::new(), network.class(stream, 0));
    let connections = f64::from(stream.connections.typical.get()) * stream.targets.len() as f64;
    let mut made = Asked {
        frames,
        wires,
        data: 0,
        class,
        connections,
        last,
        own,
        line,
        wants,
        paced: stream.offered.is_some(),
        single,
        bound,
        latency: [0; 3],
        even: even.is_some(),
    };
    let targets: Vec<(NodeId, f64, Vec<u32>)> =
        targets(stream, most).into_iter().map(|(target, part)| (target, part, network.path(index, target))).collect();
    let beyond = even.map_or_else(Vec::new, |(_, by_leaf)| beyond(network, stream, &targets, by_leaf));
    // The parts of a way's wires, of parallel ones that of the first, as it is of each.
    let evenly = |way: Vec<(u32, f64)>| -> Vec<(u32, f64)> {
        let (ends, hops) = (way.len(), levels(way.len()));
        let level = |i: usize| if i <= hops { i - 1 } else { 2 * hops - i };
        let part = |(i, (wire, part)): (usize, (u32, f64))| {
            let (first, width) = network.routes.parallel(wire).unwrap_or((wire, 1));
            let of_level = if i == 0 || i + 1 == ends { 1.0 } else { beyond[level(i)] };
            (first, part * of_level / f64::from(width))
        };
        way.into_iter().enumerate().map(part).collect()
    };
    let train = latency::Train::of(network, stream, stream.size.typical.0);
    let mut acks = Vec::new();
    for (target, part, path) in &targets {
        let wires = match even {
            Some(_) => evenly(path.iter().map(|w| (*w, 1.0)).collect()),
            None => spread_wires(network, stream, index, *target),
        };
        made.single &= wires.iter().all(|w| w.1 == 1.0);
        for &(wire, of) in &wires {
            if parts[wire as usize] == 0.0 {
                made.wires.push((wire, 0.0));
            }
            parts[wire as usize] += part * of;
        }
        made.last.extend(path.last());
        let narrowest = wires.iter().map(|(w, of)| capacity(network, *w) / of).fold(f64::INFINITY, f64::min);
        made.bound += narrowest / frames.least;
        for (slowest, corner) in made.latency.iter_mut().zip(CORNERS) {
            *slowest = latency::message(network, path, train, corner).max(*slowest);
        }
        let back = acknowledgements(network, stream, *target, network.way(index, *target), &made.frames);
        let back = if even.is_some() { evenly(back) } else { back };
        acks.extend(back.into_iter().map(|(wire, of)| (wire, of * part)));
    }
    // Every destination may take as much as its way carries; those not looked at are like the others.
    made.bound = (made.bound * stream.targets.len() as f64 / targets.len().max(1) as f64).min(line);
    for (wire, part) in &mut made.wires {
        *part = std::mem::take(&mut parts[*wire as usize]);
    }
    let siblings = |wires: &[(u32, f64)]| -> Vec<(u32, f64)> {
        let Some((even, _)) = even else { return Vec::new() };
        let of = |(wire, part): &(u32, f64)| {
            even.siblings.get(wire).into_iter().flatten().map(|sibling| (*sibling, *part)).collect::<Vec<_>>()
        };
        wires.iter().flat_map(of).collect()
    };
    let beside = siblings(&made.wires);
    made.wires.extend(beside);
    made.data = made.wires.len();
    let beside = siblings(&acks);
    made.wires.extend(acks.into_iter().chain(beside));
    made
}

/// How many levels up a way of so many wires goes, and down again, between the wires of its ends.
fn levels(wires: usize) -> usize {
    wires.saturating_sub(2) / 2
}

/// For each level of switches, what the part of a stream that goes beyond the switch of that level on its way is of the
/// part of the destinations looked at that are there.
fn beyond(network: &Network, stream: &Stream, looked_at: &[(NodeId, f64, Vec<u32>)], by_leaf: &[u32]) -> Vec<f64> {
    let highest = looked_at.iter().max_by_key(|(_, _, path)| path.len());
    let Some((_, _, path)) = highest else { return Vec::new() };
    let all = stream.targets.len() as f64;
    // The source is below its own switches, and none of its destinations.
    let itself = u32::from(stream.targets.len() < stream.targets.list().len() && stream.targets.len() > 1);
    let part = |level: usize| {
        let switch = network.routes.switch(network.leaves(path[level + 1]));
        let exact = (all - f64::from(network.routes.below(switch, by_leaf).saturating_sub(itself))) / all;
        let seen: f64 = looked_at.iter().filter(|(_, _, path)| levels(path.len()) > level).map(|l| l.1).sum();
        exact / seen
    };
    (0..levels(path.len())).map(part).collect()
}

/// The wires to a destination with the part of the frames that takes each, over all connections.
fn spread_wires(network: &Network, stream: &Stream, index: usize, target: NodeId) -> Vec<(u32, f64)> {
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
    // The middle of each of as many stretches: the next station would hang on the same switch more often than all do.
    let place = |i: usize| (2 * i as u64 + 1) * all.len() as u64 / (2 * n as u64);
    (0..n).map(|i| (all.get((after + place(i) as usize) % all.len()), 1.0 / n as f64)).collect()
}
