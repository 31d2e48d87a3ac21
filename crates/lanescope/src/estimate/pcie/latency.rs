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

/// How a packet goes through a switch that cuts through, into a faster link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarded {
    /// In one piece, as it is: it waits until its tail does not overtake its own arrival. So behind a link that has
    /// become faster the next one begins later, and a packet may be longer on its way.
    Whole,
    /// Each bit as soon as the one before it lets it, which no switch is faster than, and a faster link never makes
    /// later: what a bound counts.
    BitByBit,
}

/// An empty system, in which one packet or one operation is on its way.
#[derive(Clone, Copy)]
pub(crate) struct Unloaded<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) corner: Corner,
    pub(crate) forwarded: Forwarded,
}

impl<'a> Unloaded<'a> {
    /// As packets are forwarded in truth.
    pub(crate) fn new(plan: &'a Plan, corner: Corner) -> Unloaded<'a> {
        Unloaded { plan, corner, forwarded: Forwarded::Whole }
    }

    /// What no packet is faster than, for a bound.
    pub(crate) fn least(self) -> Unloaded<'a> {
        Unloaded { forwarded: Forwarded::BitByBit, ..self }
    }

    /// A time of a flow in truth, and what no packet is faster than: the same, but where a switch holds packets back.
    pub(crate) fn ends<T: Copy>(self, flow: &Flow, time: impl Fn(Unloaded<'a>) -> T) -> [T; 2] {
        let truth = time(self);
        let held_back = self.may_hold_back(&flow.route) || self.may_hold_back(&flow.back);
        [truth, if held_back { time(self.least()) } else { truth }]
    }

    /// Whether a switch on a route may hold packets back for the links behind it: it cuts through from a link into one
    /// of another speed, and that is not the last. Into the last a tail is as late as it would be bit by bit.
    fn may_hold_back(&self, hops: &[Hop]) -> bool {
        let speed = |hop: &Hop| self.plan.link(hop.link).speed.at(self.corner);
        let cuts_through = |hop: &Hop| match &self.plan.part(self.plan.leaves(*hop)).keys {
            PartKeys::Switch(s) => s.forwarding.typical == Forwarding::CutThrough,
            _ => false,
        };
        hops.windows(3).any(|at| cuts_through(&at[1]) && speed(&at[0]) != speed(&at[1]))
    }
}

/// Times of a read of `size` bytes sent as requests of at most `request` bytes, back to back.
pub(crate) struct ReadTimes {
    /// Request's first bit out to the first double word of data in, ns.
    pub(crate) first: f64,
    /// To the last byte where the engine wants it, ns.
    pub(crate) last: f64,
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

impl Unloaded<'_> {
    /// Sends one packet over empty links and switches. `bytes` gives its wire size in a generation's framing.
    pub(crate) fn cross(&self, hops: &[Hop], bytes: &dyn Fn(Generation) -> u64) -> Arrival {
        let Unloaded { plan, corner, forwarded } = *self;
        let mut at = Arrival { first: 0.0, last: 0.0 };
        for (i, hop) in hops.iter().enumerate() {
            let link = plan.link(hop.link);
            let speed = link.speed.at(corner);
            let serial = bytes(speed.generation) as f64 / speed.coded().bytes() * 1e9;
            // When the link may begin, and when it may end at the earliest.
            let (start, end) = match (i, &plan.part(plan.leaves(*hop)).keys) {
                (0, _) => (0.0, 0.0),
                (_, PartKeys::Switch(s)) => {
                    let latency = s.latency.at(corner).ns();
                    let (first, last) = (at.first + latency, at.last + latency);
                    match (s.forwarding.typical, forwarded) {
                        (Forwarding::CutThrough, Forwarded::Whole) => (first.max(last - serial), last),
                        (Forwarding::CutThrough, Forwarded::BitByBit) => (first, last),
                        (Forwarding::StoreAndForward, _) => (last, last),
                    }
                }
                (_, PartKeys::RootComplex(k)) => {
                    let whole = at.last + k.peer_latency.at(corner).ns();
                    (whole, whole)
                }
                _ => (at.last, at.last),
            };
            let delay = link.delay.at(corner).ns();
            at = Arrival { first: start + delay, last: (start + serial).max(end) + delay };
        }
        at
    }

    /// The longest time that `bytes` (per generation) take on any one link of a route: what a train of packets adds
    /// behind its first.
    fn slowest(&self, hops: &[Hop], bytes: &dyn Fn(Generation) -> f64) -> f64 {
        let Unloaded { plan, corner, .. } = *self;
        let time = |h: &Hop| {
            let speed = plan.link(h.link).speed.at(corner);
            bytes(speed.generation) / speed.coded().bytes() * 1e9
        };
        hops.iter().map(time).fold(0.0, f64::max)
    }

    /// When the last bit of a train of TLPs arrives that leave back to back, ns after the first bit of the first;
    /// `None` of a way that goes through no root complex, where switches cut through and the train stays together.
    ///
    /// A root complex passes a TLP on when it has it whole, so a short last one gains on the one before it: the last
    /// arrives when the train has passed the hop that is slowest for it, and then the last by itself has gone on.
    fn passed_on(&self, hops: &[Hop], [head, tail, all]: [&dyn Fn(Generation) -> u64; 3]) -> Option<f64> {
        let Unloaded { plan, corner, .. } = *self;
        let root = |h: &Hop| matches!(plan.part(plan.leaves(*h)).keys, PartKeys::RootComplex(_));
        if !hops.iter().skip(1).any(root) {
            return None;
        }
        let behind = |k: usize| {
            let link = plan.link(hops[k].link);
            let speed = link.speed.at(corner);
            let between = all(speed.generation).saturating_sub(head(speed.generation) + tail(speed.generation));
            let first = self.cross(&hops[..=k], head).last - link.delay.at(corner).ns();
            first + between as f64 / speed.coded().bytes() * 1e9 + self.cross(&hops[k..], tail).last
        };
        Some((0..hops.len()).map(behind).fold(0.0, f64::max))
    }

    /// An unloaded read; `request` is the size of each request, for the completion size that it gets.
    pub(crate) fn read(&self, flow: &Flow, size: u64, request: u64) -> ReadTimes {
        let (full, rest) = pcie::split(size, request);
        let train = Train { request, full: full as f64, rest, short: if rest > 0 { 1.0 } else { 0.0 } };
        let times = self.arrived(flow, &train);
        ReadTimes { first: times.first, last: times.last + self.placed(flow, size as f64) }
    }

    /// A train of requests, unloaded: when the first data and the last are in, before an internal bus carries them.
    pub(crate) fn arrived(&self, flow: &Flow, train: &Train) -> ReadTimes {
        let Unloaded { plan, corner, .. } = *self;
        let ecrc = plan.ecrc(flow);
        let header = flow.header.at(corner);
        let there = self.cross(&flow.route, &|g| pcie::tlp(g, header, 0, ecrc));
        let back = &flow.back;
        let largest = if train.full > 0.0 { train.request } else { train.rest };
        let piece = plan.completion_size(corner, flow, largest);
        let head = piece.min(largest);
        let arrive = self.cross(back, &|g| pcie::tlp(g, Header::Dw3, head, ecrc));
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
        let completions = self.slowest(back, &|g| (bytes(g) - pcie::tlp(g, Header::Dw3, head, ecrc) as f64).max(0.0));
        let ahead = (train.requests() - 1.0).max(0.0);
        let requests = self.slowest(&flow.route, &|g| ahead * pcie::tlp(g, header, 0, ecrc) as f64);
        let end = if train.short > 0.0 { train.rest } else { train.request };
        let (tail, whole) = (last_piece(end, piece), train.bytes() as u64 > head);
        let through = self.passed_on(
            back,
            [&|g| pcie::tlp(g, Header::Dw3, head, ecrc), &|g| pcie::tlp(g, Header::Dw3, tail, ecrc), &|g| {
                bytes(g) as u64
            }],
        );
        // Nor do they leave faster than the requester's port lets them.
        let requests = requests.max(self.held_apart(flow, ahead, |g| pcie::tlp(g, header, 0, ecrc)));
        let mut last = begin
            + match through.filter(|_| whole) {
                Some(through) => through.max(arrive.last + requests),
                None => arrive.last + completions.max(requests),
            };
        if let (Some(b), PartKeys::RootComplex(k)) = (plan.backbone(corner, flow.target), &plan.part(flow.target).keys)
        {
            // The buses may be slower than any link: the last completion follows the last data that they carry.
            let tail = self.cross(back, &|g| pcie::tlp(g, Header::Dw3, tail, ecrc)).last;
            let across = b.read_time(train.bytes() as u64);
            last = last.max(there.last + plan.read_latency(corner, k, flow.place) + across + tail);
        }
        let own = match &plan.part(flow.source).keys {
            PartKeys::Endpoint(k) => k.latency.at(corner).ns(),
            _ => 0.0,
        };
        ReadTimes { first: begin + arrive.first + prefix + own, last: last + own }
    }

    /// How long a requester's port takes for so many TLPs of a size before the last one leaves, with the gaps between
    /// them, ns. The port's clock is at most one TLP behind, which is made up for: after a pause two go back to back.
    fn held_apart(&self, flow: &Flow, ahead: f64, bytes: impl Fn(Generation) -> u64) -> f64 {
        let Unloaded { plan, corner, .. } = *self;
        let Some(first) = flow.route.first() else { return 0.0 };
        let speed = plan.link(first.link).speed.at(corner);
        let wire = bytes(speed.generation) as f64 / speed.coded().bytes() * 1e9;
        ahead * wire + (ahead - 1.0).max(0.0) * plan.tlp_gap(corner, flow)
    }

    /// The time that a requester takes for some bytes at one of its rates, ns.
    fn takes(&self, flow: &Flow, rate: fn(&Endpoint) -> &Option<Quantity<Rate>>, bytes: f64) -> f64 {
        let Unloaded { plan, corner, .. } = *self;
        let PartKeys::Endpoint(k) = &plan.part(flow.source).keys else { return 0.0 };
        rate(k).as_ref().map_or(0.0, |r| bytes * 1e9 / r.at(corner).bytes())
    }

    /// The time that an internal bus takes for some bytes, ns.
    fn carried(&self, flow: &Flow, bytes: f64) -> f64 {
        self.takes(flow, |k| &k.bus_rate, bytes)
    }

    /// The time from the arrival of all of a read's bytes until they are in their place in the requester, ns: an
    /// internal bus carries them, and they are moved.
    pub(crate) fn placed(&self, flow: &Flow, bytes: f64) -> f64 {
        self.carried(flow, bytes) + self.moved(flow, bytes)
    }

    /// The part of it that reads in flight do not wait for one another, ns.
    fn moved(&self, flow: &Flow, bytes: f64) -> f64 {
        self.takes(flow, |k| &k.move_rate, bytes)
    }

    /// A train of requests, unloaded, until the tag of the last is free again, ns. An internal bus carries each
    /// request's data as soon as they are in, while those of the next are coming.
    pub(crate) fn released(&self, flow: &Flow, train: &Train) -> f64 {
        let end = if train.short > 0.0 { train.rest } else { train.request };
        let all = self.arrived(flow, train).last + self.placed(flow, end as f64);
        if train.requests() <= 1.0 {
            return all;
        }
        // As late as the bus, if it is slower than the links: it begins when the first request is in.
        let one = Train {
            full: if train.full > 0.0 { 1.0 } else { 0.0 },
            short: if train.full > 0.0 { 0.0 } else { 1.0 },
            ..*train
        };
        let carried = self.carried(flow, train.bytes()) + self.moved(flow, end as f64);
        all.max(self.arrived(flow, &one).last + carried)
    }

    /// An unloaded posted write of `size`: first bit out to the last byte done at the target, ns.
    pub(crate) fn write(&self, flow: &Flow, size: u64) -> f64 {
        let Unloaded { plan, corner, .. } = *self;
        let (ecrc, header, payload) = (plan.ecrc(flow), flow.header.at(corner), plan.write_payload(corner, flow));
        let first = size.min(payload);
        let arrive = self.cross(&flow.route, &|g| pcie::tlp(g, header, first, ecrc));
        let mut behind = self.slowest(&flow.route, &|g| {
            (pcie::cut(g, header, size, payload, ecrc).1 - pcie::tlp(g, header, first, ecrc)) as f64
        });
        let through = self.passed_on(
            &flow.route,
            [
                &|g| pcie::tlp(g, header, first, ecrc),
                &|g| pcie::tlp(g, header, last_piece(size, payload), ecrc),
                &|g| pcie::cut(g, header, size, payload, ecrc).1,
            ],
        );
        if let Some(through) = through.filter(|_| size > first) {
            behind = through - arrive.last;
        }
        if size > first {
            // The requester's port may hold its TLPs farther apart than any link does.
            let tail = self.cross(&flow.route, &|g| pcie::tlp(g, header, last_piece(size, payload), ecrc));
            let ahead = (size.div_ceil(payload) - 1) as f64;
            let left = self.held_apart(flow, ahead, |g| pcie::tlp(g, header, first, ecrc));
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
}
