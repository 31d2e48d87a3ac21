//! What the messages of a stream are cut into, and whether what is lost of them is sent again.
//!
//! A plain frame carries data and nothing else. In RoCE v2 a message is an RDMA WRITE: each frame has the headers of
//! IPv4, UDP and InfiniBand's transport around at most a path MTU of data, and the last one is acknowledged.

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::ethernet::{Network, NodeId, Stream};
use crate::protocol::ethernet;
use crate::protocol::infiniband::{Mtu, Operation, Packet, Position, ROCE, Service};
use crate::scenario::NodeKeys;
use crate::scenario::keys::{CongestionControl, Ecmp, FlowControl, Priority, Station, Transport};
use crate::scenario::quantity::{Quantity, Shape};
use crate::units::Rate;
use std::num::NonZeroU32;

/// Queue pairs between two ends at most.
const MOST_CONNECTIONS: u32 = 256;

/// MAC client data of a packet of a WRITE with so much payload.
fn client_data(payload: u64, position: Position) -> u64 {
    Packet { operation: Operation::Write, service: Service::Rc, position, payload }.client_data(ROCE)
}

/// Bytes of the frame of an acknowledgement, positive or negative.
pub(crate) fn ack_frame() -> u64 {
    Packet::ack(Service::Rc).bytes(ROCE)
}

/// Whether RoCE runs over the switches of a network: their flow control must be one that knows nothing of its stations.
pub(in crate::plan) fn runs(diagnostics: &mut Diagnostics, network: &Network, flow: &str) -> bool {
    let control = network.flow_control();
    let Some((switch, k)) = network.model() else { return true };
    if matches!(control, FlowControl::None | FlowControl::Pause | FlowControl::Pfc) {
        return true;
    }
    let what = format!("flows.{flow}: RoCE over switches with flow_control = \"{}\"", control.show());
    diagnostics.push(Diagnostic::error(k.flow_control.span, what).hint(format!(
        "its adapters have no per-destination queues or grants: set parts.{}.flow_control = \"pfc\", \"pause\", or \
         \"none\", where what is lost is sent again",
        switch.group
    )));
    false
}

/// Whether the connections of a flow are as few as anybody has.
pub(in crate::plan) fn few(diagnostics: &mut Diagnostics, connections: &Quantity<NonZeroU32>, flow: &str) -> bool {
    let several = connections.typical.get();
    if several > MOST_CONNECTIONS {
        let what = format!("flow {flow}: {several} connections to each destination");
        diagnostics.push(Diagnostic::error(connections.span, what).hint(format!("at most {MOST_CONNECTIONS}")));
    }
    several <= MOST_CONNECTIONS
}

/// Whether a stream can be cut into packets; else says why not.
pub(super) fn check(diagnostics: &mut Diagnostics, network: &Network, stream: &Stream) -> bool {
    let (roce, several) = (stream.is_roce(), stream.connections.typical.get());
    let problem = if roce && network.path_mtu(stream) == 0 {
        let ends = std::iter::once(stream.source).chain(stream.targets.iter());
        let narrow = ends.min_by_key(|n| network.link(network.out(*n, 0)).mtu.typical);
        let link = network.link(network.out(narrow.unwrap_or(stream.source), 0));
        let least = client_data(Mtu::ALL[0].bytes(), Position::First);
        let what = format!("links.{}: an MTU of {} holds no packet of RoCE", link.group, link.mtu.typical);
        Some((link.mtu.span, what, format!("at least {least} B")))
    } else if !roce && several > 1 {
        let what = format!("flow {}: plain frames have no connections", stream.group);
        Some((stream.connections.span, what, "set transport = \"rocev2\", or leave connections out".into()))
    } else {
        None
    };
    let Some((span, what, hint)) = problem else {
        let runs = !roce || runs(diagnostics, network, &stream.group);
        return runs && few(diagnostics, &stream.connections, &stream.group);
    };
    diagnostics.push(Diagnostic::error(span.or(stream.size.span), what).hint(hint));
    false
}

/// Timers of DCQCN at least: 1 us.
const LEAST_TIMER_FS: u64 = 1_000_000_000;

/// Parameters of DCQCN that nothing could run with; one table is told of once.
pub(super) fn dcqcn(diagnostics: &mut Diagnostics, network: &Network) {
    let mut last = "";
    for node in &network.nodes {
        let NodeKeys::Station(k) = &node.keys else { continue };
        let line = node.ports.first().map(|p| network.links[p.0 as usize].rate.typical.rate());
        let Some((span, what, hint)) = out_of_range(k, line).filter(|_| last != node.group) else { continue };
        diagnostics.push(Diagnostic::error(span, format!("parts.{}: {what}", node.group)).hint(hint));
        last = &node.group;
    }
}

/// What of a station's parameters of DCQCN is out of range, and what would not be.
fn out_of_range(k: &Station, line: Option<Rate>) -> Option<(Option<Span>, String, String)> {
    let timers = [("alpha_timer", &k.alpha_timer), ("rate_timer", &k.rate_timer)];
    let (gain, counter) = (&k.dcqcn_gain, &k.byte_counter);
    let numbers =
        [("dcqcn_gain", gain.span, u64::from(gain.typical)), ("byte_counter", counter.span, counter.typical.0)];
    let rates = [
        ("least_rate", &k.least_rate),
        ("additive_increase", &k.additive_increase),
        ("hyper_increase", &k.hyper_increase),
    ];
    let short = timers.into_iter().find(|(_, q)| q.typical.fs() < LEAST_TIMER_FS);
    let zero = numbers.into_iter().find(|n| n.2 == 0);
    let fast = rates.into_iter().find(|(_, q)| !q.default && line.is_some_and(|l| q.typical > l));
    match (short, zero, fast) {
        (Some((key, q)), ..) => {
            let what = format!("DCQCN with {key} = \"{}\"", q.typical);
            Some((q.span, what, "at least 1 us: timers of adapters count in microseconds".into()))
        }
        (_, Some((key, span, _)), _) => Some((span, format!("DCQCN with {key} = 0"), "at least 1".into())),
        (.., Some((key, q))) => {
            let what = format!("DCQCN with {key} = \"{}\", more than its link carries", q.typical);
            Some((q.span, what, format!("the link has {}", line.unwrap_or(q.typical))))
        }
        _ => None,
    }
}

impl Stream {
    /// Client data of its largest message.
    pub(crate) fn largest(&self) -> u64 {
        self.sizes.as_ref().map_or(self.size.typical.0, |s| s.typical.largest())
    }

    /// Sizes that stand for those of its messages, each for as many of them.
    pub(crate) fn typical_sizes(&self) -> Vec<u64> {
        match (&self.trace, &self.sizes) {
            (Some(list), _) => list.iter().map(|t| t.bytes).collect(),
            (None, Some(sizes)) => sizes.typical.sampled().collect(),
            (None, None) => vec![self.size.typical.0],
        }
    }

    /// Whether its frames are RoCE's.
    pub fn is_roce(&self) -> bool {
        self.transport.typical == Transport::Roce
    }

    /// Bytes from destination to FCS of a frame with so much payload; `first`: of its message.
    pub(crate) fn frame(&self, payload: u64, first: bool) -> u64 {
        ethernet::frame(match (self.transport.typical, first) {
            (Transport::Frames, _) => payload,
            (Transport::Roce, true) => client_data(payload, Position::First),
            (Transport::Roce, false) => client_data(payload, Position::Middle),
        })
    }

    /// Bytes between the Ethernet header and the FCS that are no payload, padding up to the smallest frame apart.
    pub(crate) fn headers(&self, payload: u64, first: bool) -> u64 {
        match (self.transport.typical, first) {
            (Transport::Frames, _) => 0,
            (Transport::Roce, true) => client_data(payload, Position::First) - payload,
            (Transport::Roce, false) => client_data(payload, Position::Middle) - payload,
        }
    }
}

impl Network {
    /// Payload of the largest frame of a stream: of RoCE the largest path MTU whose packets fit the links of both ends,
    /// and 0 where none does.
    pub fn payload(&self, stream: &Stream) -> u64 {
        stream.largest().min(self.path_mtu(stream))
    }

    /// Payload that a frame of a stream may have.
    pub(crate) fn path_mtu(&self, stream: &Stream) -> u64 {
        let room = stream.room;
        match stream.transport.typical {
            Transport::Frames => room,
            Transport::Roce => {
                let fits = |m: &u64| client_data(*m, Position::First) <= room;
                Mtu::ALL.into_iter().rev().map(Mtu::bytes).find(fits).unwrap_or(0)
            }
        }
    }

    /// The longest frame of a stream, bytes.
    pub(crate) fn largest_frame(&self, stream: &Stream) -> u64 {
        stream.frame(self.payload(stream), true)
    }

    /// Bytes on the first wire, preamble and gap included, of a message of so much data.
    pub(crate) fn wire_bytes(&self, stream: &Stream, size: u64) -> u64 {
        self.cut(stream, size).into_iter().map(|(n, _, bytes)| n * ethernet::wire(bytes)).sum()
    }

    /// The frames of a message of so much data: how many, payload and bytes of each, in at most three kinds (the first,
    /// full ones, and what is left).
    pub(crate) fn cut(&self, stream: &Stream, size: u64) -> Vec<(u64, u64, u64)> {
        let most = self.path_mtu(stream).max(1);
        let (full, rest) = (size / most, size % most);
        let mut all = Vec::with_capacity(3);
        if full > 0 {
            all.push((1, most, stream.frame(most, true)));
        }
        if full > 1 {
            all.push((full - 1, most, stream.frame(most, false)));
        }
        if rest > 0 {
            all.push((1, rest, stream.frame(rest, full == 0)));
        }
        all
    }

    /// Whether frames of one connection may overtake one another.
    pub(crate) fn reorders(&self) -> bool {
        matches!(self.ecmp(), Ecmp::Packet | Ecmp::Adaptive | Ecmp::Flowlet)
    }

    /// Whether queue pairs must be ready to send again: frames may be lost, or overtake one another.
    pub(crate) fn resends(&self) -> bool {
        let switched = self.model.is_some();
        switched && (self.reorders() || self.can_drop() || (0..self.classes.len()).any(|c| !self.lossless(c)))
    }

    /// Whether a station with these streams, and with ranks of programs or without, lets connections take turns, a
    /// frame each; else its streams do, a message each.
    pub(crate) fn turns_by_frame(&self, streams: &[usize], ranks: bool) -> bool {
        let several = |s: &usize| {
            let s = &self.streams[*s];
            s.connections.typical.get() > 1 || s.is_roce() && self.resends()
        };
        self.slows_down() || streams.iter().any(several) || self.pauses_classes(streams, ranks)
    }

    /// Whether messages of a station with these streams take turns by destination; else one stands behind another.
    pub(crate) fn in_lanes(&self, streams: &[usize], ranks: bool) -> bool {
        matches!(self.flow_control(), FlowControl::Voq | FlowControl::Credits) || self.turns_by_frame(streams, ranks)
    }

    /// Whether frames of several classes leave a station that is paused class by class: none may stand before another.
    /// Which classes others send is nothing to it.
    pub(crate) fn pauses_classes(&self, streams: &[usize], ranks: bool) -> bool {
        let several = || {
            let of = |s: &usize| {
                let s = &self.streams[*s];
                // One priority for all destinations has one class.
                let one = matches!(s.priority.typical, Priority::Fixed(_));
                (0..if one { 1 } else { s.targets.len() }).map(move |t| self.class(s, t))
            };
            let mut all = streams.iter().flat_map(of);
            all.next().is_some_and(|first| all.any(|class| class != first))
        };
        self.flow_control() == FlowControl::Pfc && self.classes.len() > 1 && (ranks || several())
    }

    /// Whether queue pairs are told to slow down.
    pub(crate) fn slows_down(&self) -> bool {
        self.congestion_control() == CongestionControl::Dcqcn
    }

    /// The wires between two stations with the part of a connection's frames that takes each: one way, or where each
    /// frame has a choice of its own all shortest ones, evenly at each switch.
    pub(crate) fn spread(&self, ends: [NodeId; 2], way: u32) -> Vec<(u32, f64)> {
        if !self.reorders() {
            return self.along(ends, way).into_iter().map(|wire| (wire, 1.0)).collect();
        }
        let [source, target] = ends;
        let first = self.out(source, 0);
        let mut parts = vec![(first, 1.0)];
        let mut done = 0;
        // Wires of one switch are behind all that lead to it: shortest ways come to a switch after equally many hops.
        let mut front = vec![(self.arrives(first), 1.0)];
        while !front.is_empty() && done <= self.nodes.len() {
            done += 1;
            let mut next: Vec<(NodeId, f64)> = Vec::new();
            for (at, part) in front {
                if at == target {
                    continue;
                }
                let ways = self.routes.choices(self.routes.switch(at), target);
                for &wire in ways {
                    let part = part / ways.len() as f64;
                    parts.push((wire, part));
                    let to = self.arrives(wire);
                    match next.iter_mut().find(|n| n.0 == to) {
                        Some(n) => n.1 += part,
                        None => next.push((to, part)),
                    }
                }
            }
            front = next;
        }
        parts
    }
}
