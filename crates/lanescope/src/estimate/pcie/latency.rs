//! Unloaded times along a route: one packet or one operation in an empty system.

use crate::plan::{Flow, Hop, Plan, Taken};
use crate::protocol::pcie::{self, Generation, Header};
use crate::scenario::PartKeys;
use crate::scenario::keys::{Endpoint, Forwarding};
use crate::scenario::quantity::{Corner, Quantity};
use crate::units::Rate;

/// When a packet's first and last bit arrive at the end of a route, in ns after its first bit left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrival {
    pub(crate) first: f64,
    pub(crate) last: f64,
}

/// Sends one packet over empty links and switches. `bytes` gives its wire size in a generation's framing.
pub(crate) fn cross(plan: &Plan, corner: Corner, hops: &[Hop], bytes: &dyn Fn(Generation) -> u64) -> Arrival {
    let mut at = Arrival { first: 0.0, last: 0.0 };
    for (i, hop) in hops.iter().enumerate() {
        let link = plan.link(hop.link);
        let speed = link.speed.at(corner);
        let serial = bytes(speed.generation) as f64 / speed.coded().bytes() * 1e9;
        let start = match (i, &plan.part(plan.leaves(*hop)).keys) {
            (0, _) => 0.0,
            (_, PartKeys::Switch(s)) => {
                let latency = s.latency.at(corner).ns();
                match s.forwarding.typical {
                    // Into a faster link a switch waits, so that the packet's tail does not overtake its own arrival.
                    Forwarding::CutThrough => (at.first + latency).max(at.last + latency - serial),
                    Forwarding::StoreAndForward => at.last + latency,
                }
            }
            (_, PartKeys::RootComplex(k)) => at.last + k.peer_latency.at(corner).ns(),
            _ => at.last,
        };
        let delay = link.delay.at(corner).ns();
        at = Arrival { first: start + delay, last: start + serial + delay };
    }
    at
}

/// The longest time that `bytes` (per generation) take on any one link of a route: what a train of packets adds behind
/// its first.
fn slowest(plan: &Plan, corner: Corner, hops: &[Hop], bytes: &dyn Fn(Generation) -> f64) -> f64 {
    let time = |h: &Hop| {
        let speed = plan.link(h.link).speed.at(corner);
        bytes(speed.generation) / speed.coded().bytes() * 1e9
    };
    hops.iter().map(time).fold(0.0, f64::max)
}

/// When the last bit of a train of TLPs arrives that leave back to back, ns after the first bit of the first; `None` of
/// a way that goes through no root complex, where switches cut through and the train stays together.
///
/// A root complex passes a TLP on when it has it whole, so a short last one gains on the one before it: the last
/// arrives when the train has passed the hop that is slowest for it, and then the last by itself has gone on.
fn passed_on(
    plan: &Plan,
    corner: Corner,
    hops: &[Hop],
    [head, tail, all]: [&dyn Fn(Generation) -> u64; 3],
) -> Option<f64> {
    let root = |h: &Hop| matches!(plan.part(plan.leaves(*h)).keys, PartKeys::RootComplex(_));
    if !hops.iter().skip(1).any(root) {
        return None;
    }
    let behind = |k: usize| {
        let link = plan.link(hops[k].link);
        let speed = link.speed.at(corner);
        let between = all(speed.generation).saturating_sub(head(speed.generation) + tail(speed.generation));
        let first = cross(plan, corner, &hops[..=k], head).last - link.delay.at(corner).ns();
        first + between as f64 / speed.coded().bytes() * 1e9 + cross(plan, corner, &hops[k..], tail).last
    };
    Some((0..hops.len()).map(behind).fold(0.0, f64::max))
}

/// Times of a read of `size` bytes sent as requests of at most `request` bytes, back to back.
pub(crate) struct ReadTimes {
    /// Request's first bit out to the first double word of data in, ns.
    pub(crate) first: f64,
    /// To the last byte where the engine wants it, ns.
    pub(crate) last: f64,
}

/// An unloaded read; `request` is the size of each request, for the completion size that it gets.
pub(crate) fn read(plan: &Plan, corner: Corner, flow: &Flow, size: u64, request: u64) -> ReadTimes {
    let (full, rest) = pcie::split(size, request);
    let train = Train { request, full: full as f64, rest, short: if rest > 0 { 1.0 } else { 0.0 } };
    let times = arrived(plan, corner, flow, &train);
    ReadTimes { first: times.first, last: times.last + placed(plan, corner, flow, size as f64) }
}

/// Read requests that go out back to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    /// Bytes of a whole one.
    pub(crate) request: u64,
    /// How many of these; not a whole number where it is an average.
    pub(crate) full: f64,
    /// Bytes of the short one at the end of each operation; 0 if there is none.
    pub(crate) rest: u64,
    /// How many of these.
    pub(crate) short: f64,
}

impl Train {
    pub(crate) fn bytes(&self) -> f64 {
        self.full * self.request as f64 + self.short * self.rest as f64
    }

    fn requests(&self) -> f64 {
        self.full + self.short
    }
}

/// A train of requests, unloaded: when the first data and the last are in, before an internal bus carries them.
pub(crate) fn arrived(plan: &Plan, corner: Corner, flow: &Flow, train: &Train) -> ReadTimes {
    let ecrc = plan.ecrc(flow);
    let header = flow.header.at(corner);
    let there = cross(plan, corner, &flow.route, &|g| pcie::tlp(g, header, 0, ecrc));
    let back = &flow.back;
    let largest = if train.full > 0.0 { train.request } else { train.rest };
    let piece = plan.completion_size(corner, flow, largest);
    let head = piece.min(largest);
    let arrive = cross(plan, corner, back, &|g| pcie::tlp(g, Header::Dw3, head, ecrc));
    let begin = there.last + plan.completer_latency(corner, flow);
    let data = |g: Generation| pcie::completion_head(g) + 4.min(largest);
    let prefix = back.last().map_or(0.0, |h| {
        let speed = plan.link(h.link).speed.at(corner);
        data(speed.generation) as f64 / speed.coded().bytes() * 1e9
    });
    // Completions behind the first follow as fast as the slowest link lets them; so do the requests for them.
    let bytes = |g: Generation| {
        let of = |asks: u64| pcie::cut(g, Header::Dw3, asks, piece, ecrc).1 as f64;
        train.full * of(train.request) + train.short * of(train.rest)
    };
    let completions =
        slowest(plan, corner, back, &|g| (bytes(g) - pcie::tlp(g, Header::Dw3, head, ecrc) as f64).max(0.0));
    let ahead = (train.requests() - 1.0).max(0.0);
    let requests = slowest(plan, corner, &flow.route, &|g| ahead * pcie::tlp(g, header, 0, ecrc) as f64);
    let end = if train.short > 0.0 { train.rest } else { train.request };
    let (tail, whole) = (last_piece(end, piece), train.bytes() as u64 > head);
    let through = passed_on(
        plan,
        corner,
        back,
        [&|g| pcie::tlp(g, Header::Dw3, head, ecrc), &|g| pcie::tlp(g, Header::Dw3, tail, ecrc), &|g| bytes(g) as u64],
    );
    // Nor do they leave faster than the requester's port lets them.
    let requests = requests.max(held_apart(plan, corner, flow, ahead, |g| pcie::tlp(g, header, 0, ecrc)));
    let mut last = begin
        + match through.filter(|_| whole) {
            Some(through) => through.max(arrive.last + requests),
            None => arrive.last + completions.max(requests),
        };
    if let (Some(b), PartKeys::RootComplex(k)) = (plan.backbone(corner, flow.target), &plan.part(flow.target).keys) {
        // The buses may be slower than any link: the last completion follows the last data that they carry.
        let tail = cross(plan, corner, back, &|g| pcie::tlp(g, Header::Dw3, tail, ecrc)).last;
        let across = b.read_time(train.bytes() as u64);
        last = last.max(there.last + plan.read_latency(corner, k, flow.place) + across + tail);
    }
    let own = match &plan.part(flow.source).keys {
        PartKeys::Endpoint(k) => k.latency.at(corner).ns(),
        _ => 0.0,
    };
    ReadTimes { first: begin + arrive.first + prefix + own, last: last + own }
}

/// How long a requester's port takes for so many TLPs of a size before the last one leaves, with the gaps between them,
/// ns. The port's clock is at most one TLP behind, which is made up for: after a pause two go back to back.
fn held_apart(plan: &Plan, corner: Corner, flow: &Flow, ahead: f64, bytes: impl Fn(Generation) -> u64) -> f64 {
    let Some(first) = flow.route.first() else { return 0.0 };
    let speed = plan.link(first.link).speed.at(corner);
    let wire = bytes(speed.generation) as f64 / speed.coded().bytes() * 1e9;
    ahead * wire + (ahead - 1.0).max(0.0) * plan.tlp_gap(corner, flow)
}

/// The time that a requester takes for some bytes at one of its rates, ns.
fn takes(plan: &Plan, corner: Corner, flow: &Flow, rate: fn(&Endpoint) -> &Option<Quantity<Rate>>, bytes: f64) -> f64 {
    let PartKeys::Endpoint(k) = &plan.part(flow.source).keys else { return 0.0 };
    rate(k).as_ref().map_or(0.0, |r| bytes * 1e9 / r.at(corner).bytes())
}

/// The time that an internal bus takes for some bytes, ns.
fn carried(plan: &Plan, corner: Corner, flow: &Flow, bytes: f64) -> f64 {
    takes(plan, corner, flow, |k| &k.bus_rate, bytes)
}

/// The time from the arrival of all of a read's bytes until they are in their place in the requester, ns: an internal
/// bus carries them, and they are moved.
pub(crate) fn placed(plan: &Plan, corner: Corner, flow: &Flow, bytes: f64) -> f64 {
    carried(plan, corner, flow, bytes) + moved(plan, corner, flow, bytes)
}

/// The part of it that reads in flight do not wait for one another, ns.
fn moved(plan: &Plan, corner: Corner, flow: &Flow, bytes: f64) -> f64 {
    takes(plan, corner, flow, |k| &k.move_rate, bytes)
}

/// A train of requests, unloaded, until the tag of the last is free again, ns. An internal bus carries each request's
/// data as soon as they are in, while those of the next are coming.
pub(crate) fn released(plan: &Plan, corner: Corner, flow: &Flow, train: &Train) -> f64 {
    let end = if train.short > 0.0 { train.rest } else { train.request };
    let all = arrived(plan, corner, flow, train).last + placed(plan, corner, flow, end as f64);
    if train.requests() <= 1.0 {
        return all;
    }
    // As late as the bus, if it is slower than the links: it begins when the first request is in.
    let one = Train {
        full: if train.full > 0.0 { 1.0 } else { 0.0 },
        short: if train.full > 0.0 { 0.0 } else { 1.0 },
        ..*train
    };
    let carried = carried(plan, corner, flow, train.bytes()) + moved(plan, corner, flow, end as f64);
    all.max(arrived(plan, corner, flow, &one).last + carried)
}

/// The size of the last of the pieces that `size` is cut into.
pub(crate) fn last_piece(size: u64, piece: u64) -> u64 {
    match pcie::split(size, piece).1 {
        0 => piece.min(size),
        rest => rest,
    }
}

/// TLPs and wire bytes of the completions of a read of `size` asked for in pieces of `request`.
pub(crate) fn completions(generation: Generation, size: u64, request: u64, piece: u64, ecrc: bool) -> (u64, u64) {
    let (full, rest) = pcie::split(size, request);
    let one = pcie::cut(generation, Header::Dw3, request, piece, ecrc);
    let last = pcie::cut(generation, Header::Dw3, rest, piece, ecrc);
    (full * one.0 + last.0, full * one.1 + last.1)
}

/// An unloaded posted write of `size`: first bit out to the last byte done at the target, ns.
pub(crate) fn write(plan: &Plan, corner: Corner, flow: &Flow, size: u64) -> f64 {
    let (ecrc, header, payload) = (plan.ecrc(flow), flow.header.at(corner), plan.write_payload(corner, flow));
    let first = size.min(payload);
    let arrive = cross(plan, corner, &flow.route, &|g| pcie::tlp(g, header, first, ecrc));
    let mut behind = slowest(plan, corner, &flow.route, &|g| {
        (pcie::cut(g, header, size, payload, ecrc).1 - pcie::tlp(g, header, first, ecrc)) as f64
    });
    let through = passed_on(
        plan,
        corner,
        &flow.route,
        [&|g| pcie::tlp(g, header, first, ecrc), &|g| pcie::tlp(g, header, last_piece(size, payload), ecrc), &|g| {
            pcie::cut(g, header, size, payload, ecrc).1
        }],
    );
    if let Some(through) = through.filter(|_| size > first) {
        behind = through - arrive.last;
    }
    if size > first {
        // The requester's port may hold its TLPs farther apart than any link does.
        let tail = cross(plan, corner, &flow.route, &|g| pcie::tlp(g, header, last_piece(size, payload), ecrc));
        let ahead = (size.div_ceil(payload) - 1) as f64;
        let left = held_apart(plan, corner, flow, ahead, |g| pcie::tlp(g, header, first, ecrc));
        behind = behind.max(left + tail.last - arrive.last);
    }
    if let Some(b) = plan.backbone(corner, flow.target) {
        let all = plan.crossing(corner, flow, &b).requests;
        let clocks = |t: Taken| (t.clocks + t.transactions * b.arbitration) as f64 * b.clock.period_ns();
        // What is behind the first TLP waits for the link or for the bus.
        behind = behind.max(clocks(all) - clocks(b.write(first))).max(0.0) + b.write_time(first);
    }
    let done = match &plan.part(flow.target).keys {
        PartKeys::RootComplex(k) => k.write_latency.at(corner).ns(),
        _ => 0.0,
    };
    arrive.last + behind + done
}
