//! What a run asks of Ethernet between events, and what its report says of it.

use crate::plan::ethernet::{Network, NodeId, Stream};
use crate::plan::{FlowGroup, Plan};
use crate::protocol::ethernet::wire;
use crate::result::{Interval, Medium, Note, SimulatedFrames, SimulatedLink, SimulatedMemory, SlotCounts};
use crate::scenario::keys::{Buffers, StreamLoad, Technology};
use crate::sim::core::recorder::Trace;
use crate::sim::core::stats;
use crate::sim::core::subsystem::{Batch, Offered, OwnReport, Subsystem, Switched, Traffic, Window, WireName};
use crate::sim::core::tally::{Cells, SECOND, Tally, longest, quantile};
use crate::sim::ethernet::{Fabric, Stored, binding, deadlock, retransmission, victims};
use std::borrow::Cow;

/// Counts at the moment at which the window opened; none before.
#[derive(Clone, Debug, Default)]
pub(super) struct AtWindow {
    /// Of each wire.
    pauses: Vec<(u64, u64)>,
    /// Of each switch.
    stored: Vec<Stored>,
}

impl AtWindow {
    /// What another part of the fabric knows of a wire of its own.
    pub(super) fn take_wire(&mut self, part: &AtWindow, wire: usize) {
        if let (Some(mine), Some(theirs)) = (self.pauses.get_mut(wire), part.pauses.get(wire)) {
            *mine = *theirs;
        }
    }

    /// The same of a switch.
    pub(super) fn take_switch(&mut self, part: &AtWindow, switch: usize) {
        if let (Some(mine), Some(theirs)) = (self.stored.get_mut(switch), part.stored.get(switch)) {
            *mine = *theirs;
        }
    }
}

impl Subsystem for Fabric {
    fn technology(&self) -> Technology {
        Technology::Ethernet
    }

    fn wires(&self) -> usize {
        self.net.wires.len()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        wire_names(&plan.network)
    }

    fn counts(&self) -> Vec<SlotCounts> {
        self.net.wires.iter().map(|w| w.slots()).collect()
    }

    fn payloads(&self, _now: u64) -> Vec<u64> {
        self.net.wires.iter().map(|w| w.payload).collect()
    }

    fn held(&self) -> Vec<(usize, u64)> {
        let frames = &self.net.frames;
        let held = |w: &super::Wire| {
            let all = w.flight.iter(frames).chain(w.queues.iter().flat_map(|q| q.iter(frames)));
            all.fold((0, 0), |(n, bytes), id| (n + 1, bytes + frames[id].data as u64))
        };
        self.net.wires.iter().map(held).collect()
    }

    fn packets(&self) -> u64 {
        self.net.carried
    }

    fn tallies(&self, _now: u64) -> Vec<Tally> {
        self.net.streams.iter().map(|s| s.tally).collect()
    }

    fn backlogs(&self, now: u64) -> Vec<u64> {
        let mut all = vec![0; self.net.streams.len()];
        self.stations.iter().for_each(|s| s.backlogs(now, &mut all));
        all
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.net.streams.iter().map(|s| (s.fingerprint, s.tally.done)).collect()
    }

    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        Cow::Borrowed(&self.net.latencies[group])
    }

    fn switched(&self, plan: &Plan, now: u64) -> Vec<Switched> {
        let mut all = Vec::new();
        for (i, ((_, node, keys), s)) in plan.network.switches().zip(self.stored(now)).enumerate() {
            let before = self.at_window.stored.get(i).copied().unwrap_or_default();
            let memory = SimulatedMemory {
                most: s.most,
                at_end: s.now,
                no_memory: s.no_memory - before.no_memory,
                no_lossy: s.no_lossy - before.no_lossy,
                no_headroom: s.no_headroom - before.no_headroom,
                size: match keys.buffers.typical {
                    Buffers::Shared => keys.memory.typical.0,
                    _ => keys.memory.typical.0.saturating_mul(node.ports.len() as u64),
                },
            };
            all.push(Switched {
                name: node.name.clone(),
                packets: s.frames,
                time: s.transit,
                longest: s.transit_most,
                memory: Some(memory),
            });
        }
        all
    }

    fn open_window(&mut self, now: u64) {
        self.at_window = AtWindow { pauses: self.pauses().collect(), stored: self.stored(now) };
        self.net.latencies.iter_mut().chain(&mut self.net.transits).for_each(|h| h.reset());
        self.switches.iter_mut().for_each(|s| s.forget(now));
    }

    fn settle(&mut self, now: u64) {
        self.net.wires.iter_mut().for_each(|w| w.settle(now));
    }

    fn stall_timeout(&self) -> u64 {
        let longest = wire(self.net.network.longest_frame());
        let hops = self.net.wires.iter().map(|w| longest * w.byte + 2 * w.delay).max().unwrap_or(0);
        // Through a full memory on the slowest wire.
        let memory = self.net.network.buffering.iter().flatten().map(|b| b.memory).max().unwrap_or(0);
        let slowest = self.net.wires.iter().map(|w| w.byte).max().unwrap_or(0);
        (100 * hops).saturating_add(2 * memory.saturating_mul(slowest)).max(1)
    }

    fn deadlock(&self, _plan: &Plan, now: u64, before: u64, _silent: bool) -> Option<Vec<String>> {
        deadlock::deadlock(self, now, before)
    }

    fn waiting(&self, _plan: &Plan) -> Vec<String> {
        deadlock::waiting(self)
    }

    fn fault(&self) -> Option<String> {
        self.lost_frames()
    }

    fn rows(&self, plan: &Plan, trace: &mut Trace) {
        let network = &plan.network;
        for (on, wire) in self.net.wires.iter().enumerate() {
            let first = network.station(network.leaves(on as u32)).is_some();
            let name = network.wire_name(on as u32);
            trace.row("Ethernet", &name, wire.tx, first);
            if !first {
                trace.queued("Ethernet", &format!("{name}: waiting"), "B", wire.tx);
            }
        }
        for (_, node, _) in network.switches() {
            let counter = trace.line.counter("Ethernet", &format!("parts.{}: memory in use", node.name), "B");
            trace.memories.push(counter);
        }
    }

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        traffic(plan, flow)
    }

    fn of_wire(&self, _plan: &Plan, wire: usize, _window: f64, link: SimulatedLink) -> SimulatedLink {
        let counts = &self.net.wires[wire].counts;
        let before = self.at_window.pauses.get(wire).copied().unwrap_or_default();
        SimulatedLink { pauses: (counts.xoff - before.0, counts.xon - before.1), ..link }
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        let in_flight = if groups.is_empty() { Vec::new() } else { self.in_flight() };
        let memories: Vec<SimulatedMemory> = view.switches.iter().filter_map(|s| s.memory).collect();
        let links = view.links_of(Technology::Ethernet);
        let first = view.plan.links_of(Technology::Ethernet).start as u32;
        let report = |group: &FlowGroup| {
            let frames = self.frames(group, view, &in_flight);
            let bound_by = binding::stream(&view.plan.network, &group.members, links, &frames, &memories);
            let ways = binding::ways(&view.plan.network, &group.members);
            let ways = ways.into_iter().map(|w| first + w).collect();
            OwnReport { frames: Some(frames), ways, ..bound_by.into() }
        };
        groups.iter().map(report).collect()
    }

    fn notes(&self, view: &Window) -> Vec<Note> {
        let mut notes = victims(&view.plan.network, view.links_of(Technology::Ethernet));
        notes.extend(retransmission::notes(view.plan, self));
        notes
    }
}

/// Both directions of each link, in order.
pub(super) fn wire_names(network: &Network) -> Vec<WireName> {
    let name = |wire: u32| {
        let link = network.link(wire);
        WireName {
            name: link.name.clone(),
            from: network.node(network.leaves(wire)).name.clone(),
            to: network.node(network.arrives(wire)).name.clone(),
            medium: Medium::Ethernet,
            coded: link.rate.typical.rate().bits(),
        }
    };
    (0..2 * network.links.len() as u32).map(name).collect()
}

/// What a stream is.
pub(super) fn traffic(plan: &Plan, flow: usize) -> Traffic<'_> {
    let s = &plan.network.streams[flow];
    let size = s.size.typical.f64();
    let together = match s.load.typical {
        StreamLoad::Bursts { length, .. } => Some(2.0 * length),
        // A text has its own beginning and end.
        StreamLoad::Trace(_) => None,
        // The variance of a sum of random sizes is that of their number times the mean of their squares.
        _ => Some(s.sizes.as_ref().map_or(1.0, |q| q.typical.spread())),
    };
    let offered = s.offered.zip(together).map(|(o, together)| Offered { rate: o.bits(), size, together, open: true });
    Traffic { group: &s.group, cut: size, alternates: false, whole: false, offered }
}

impl Fabric {
    /// Pause frames that each wire has carried: with a time, without.
    fn pauses(&self) -> impl Iterator<Item = (u64, u64)> {
        self.net.wires.iter().map(|w| (w.counts.xoff, w.counts.xon))
    }

    /// Bytes per second that DCQCN allows: of each connection of each stream, in their order, and the slowest of each
    /// program.
    pub(in crate::sim) fn limits(&self, jobs: usize, now: u64) -> Vec<f64> {
        let network = &self.net.network;
        if !network.slows_down() {
            return Vec::new();
        }
        let connections = |s: &Stream| s.targets.len() * s.connections.typical.get() as usize;
        let mut offsets = Vec::with_capacity(network.streams.len());
        let mut all = 0;
        for stream in &network.streams {
            offsets.push(all);
            all += connections(stream);
        }
        let mut limits = vec![f64::NAN; all + jobs];
        for station in &self.stations {
            let Some(constants) = &station.constants else { continue };
            let rate = |lane: u32| {
                let limit = station.lanes.get(lane as usize).and_then(|l| l.limit);
                limit.map_or(f64::NAN, |l| l.rate_at(constants, now))
            };
            for sender in &station.senders {
                let first = offsets[sender.stream as usize];
                for (at, lane) in sender.targets.iter().flat_map(|t| t.lane..t.lane + t.lanes).enumerate() {
                    limits[first + at] = rate(lane);
                }
            }
            for (index, lane) in station.lanes.iter().enumerate() {
                let run = self.net.pairs.get(lane.global as usize).map_or(u16::MAX, |p| p.run);
                if let Some(slowest) = limits.get_mut(all..).and_then(|l| l.get_mut(usize::from(run))) {
                    *slowest = slowest.min(rate(index as u32));
                }
            }
        }
        limits
    }

    /// The same of one queue pair of a channel adapter, by its owner's number.
    pub(in crate::sim) fn limit(&self, pair: u32, now: u64) -> Option<f64> {
        let pair = &self.net.pairs[*self.net.of_adapter.get(&pair)? as usize];
        let station = &self.stations[self.net.network.routes.number(NodeId(pair.from)) as usize];
        Some(station.lanes.get(pair.lane as usize)?.limit?.rate_at(station.constants.as_ref()?, now))
    }

    /// Frames of each stream that are in adapters, on wires and in switches: found there, not reckoned.
    fn in_flight(&self) -> Vec<u64> {
        let (net, mut all, mut found) = (&self.net, vec![0; self.net.streams.len()], 0);
        let mut count = |id: u32| {
            found += 1;
            if let Some(n) = all.get_mut(net.frames[id].stream as usize) {
                *n += 1;
            }
        };
        for w in &net.wires {
            for list in [w.flight, w.local, w.urgent].iter().chain(&w.queues) {
                list.iter(&net.frames).for_each(&mut count);
            }
        }
        self.stations.iter().for_each(|s| s.waiting(&net.frames).for_each(&mut count));
        self.switches.iter().for_each(|s| s.behind().for_each(&mut count));
        net.pairs.iter().for_each(|p| p.early().for_each(&mut count));
        debug_assert_eq!(found, net.frames.used(), "no frame is forgotten");
        all
    }

    /// What Ethernet counts of a flow group.
    fn frames(&self, group: &FlowGroup, view: &Window, in_flight: &[u64]) -> SimulatedFrames {
        let histogram = &self.net.transits[group.nth].histogram();
        let batches = &view.batches[group.index];
        let values = |f: fn(&Batch) -> f64| batches.iter().map(f).collect::<Vec<f64>>();
        let times = vec![view.batch as f64; batches.len()];
        // As latency and rate are: of the batches, or where there are too few yet, of all that there is.
        let or = |i: Interval, all: f64| {
            if view.batched && i.half.is_some() { i } else { Interval { mean: all, half: None } }
        };
        let rate = stats::ratio(&values(|b| b.frame_bytes as f64), &times);
        let transit = stats::ratio(&values(|b| b.transit), &values(|b| b.done as f64));
        let since = |f: fn(&Tally) -> u128| view.since(group, f);
        let done = since(|t| t.done as u128).max(1) as f64;
        SimulatedFrames {
            rate: or(rate, since(|t| t.frame_bytes as u128) as f64 / view.length()).times(8.0 * SECOND),
            delivered: since(|t| t.frames as u128) as u64,
            sent: since(|t| t.sent as u128) as u64,
            dropped: since(|t| t.dropped as u128) as u64,
            refused: since(|t| t.refused as u128) as u64,
            resent: since(|t| t.resent as u128) as u64,
            discarded: since(|t| t.discarded as u128) as u64,
            marked: since(|t| t.marked as u128) as u64,
            notified: since(|t| t.notified as u128) as u64,
            in_flight: group.members.iter().map(|s| in_flight[*s]).sum(),
            transit: or(transit, since(|t| t.transit) as f64 / done).times(1.0 / SECOND),
            transit_p99: quantile(histogram, 0.99),
            transit_max: longest(histogram),
        }
    }
}
