//! What a run asks of PCIe between events, and what its report says of it.

use crate::plan::{Backbone, FlowGroup, FlowId, Hop, PartId, Plan, Program};
use crate::protocol::pcie::Class;
use crate::result::{BusClocks, Medium, SimulatedBackbone, SlotCounts};
use crate::scenario::PartKeys;
use crate::scenario::keys::{Do, Technology};
use crate::scenario::quantity::Corner;
use crate::sim::core::recorder::{Stage, Trace};
use crate::sim::core::subsystem::{Offered, OwnReport, Subsystem, Switched, Traffic, Window, WireName};
use crate::sim::core::tally::{Cells, Tally};
use crate::sim::pcie::wire::Wire;
use crate::sim::pcie::{Fabric, Part, binding, deadlock, wire_of};
use std::borrow::Cow;
use std::collections::VecDeque;

impl Subsystem for Fabric {
    fn technology(&self) -> Technology {
        Technology::Pcie
    }

    fn wires(&self) -> usize {
        self.net.wires.len()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        let name = |hop: Hop| {
            let link = plan.link(hop.link);
            WireName {
                name: link.name.clone(),
                from: plan.part(plan.leaves(hop)).name.clone(),
                to: plan.part(plan.arrives(hop)).name.clone(),
                medium: Medium::Pcie,
                coded: link.speed.typical.coded().bits(),
            }
        };
        plan.directions().map(name).collect()
    }

    fn counts(&self) -> Vec<SlotCounts> {
        self.net.wires.iter().map(|w| w.counts).collect()
    }

    fn payloads(&self, _now: u64) -> Vec<u64> {
        self.net.wires.iter().map(|w| w.counts.payload).collect()
    }

    fn held(&self) -> Vec<(usize, u64)> {
        self.net.wires.iter().map(Wire::held).collect()
    }

    fn credits(&self) -> Vec<[Option<u32>; 3]> {
        self.net.wires.iter().map(|w| Class::ALL.map(|c| w.left(c).0)).collect()
    }

    fn packets(&self) -> u64 {
        self.net.wires.iter().map(|w| w.counts.tlps).sum()
    }

    /// With what a closed load has waiting: its operations are in flight from the moment at which they are due.
    fn tallies(&self, now: u64) -> Vec<Tally> {
        let mut all: Vec<Tally> = self.net.flows.iter().map(|f| f.tally(now)).collect();
        for part in &self.parts {
            let Part::Terminal(t) = part else { continue };
            let requesters = t.ports.iter().flat_map(|p| &p.requesters);
            for (flow, n, sum) in requesters.flat_map(|r| r.waiting(now, &self.net.flows)) {
                (all[flow as usize].waiting, all[flow as usize].waiting_sum) = (n, sum);
            }
        }
        all
    }

    fn backlogs(&self, now: u64) -> Vec<u64> {
        let mut all = vec![0; self.net.flows.len()];
        for part in &self.parts {
            let Part::Terminal(t) = part else { continue };
            for stream in t.ports.iter().flat_map(|p| &p.requesters).flat_map(|r| &r.streams) {
                all[stream.flow as usize] = stream.source.backlog(now);
            }
        }
        all
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.net.flows.iter().map(|f| (f.fingerprint, f.tally.done)).collect()
    }

    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        Cow::Borrowed(&self.net.latencies[group])
    }

    fn switched(&self, plan: &Plan, _now: u64) -> Vec<Switched> {
        let transit = |part: &Part| match part {
            Part::Switch(s) => Some((s.transit.count, s.transit.sum, s.transit.max)),
            Part::Terminal(_) => None,
        };
        let switches = plan.parts.iter().filter(|p| matches!(p.keys, PartKeys::Switch(_)));
        let switched = |(part, (packets, time, longest)): (&crate::plan::Part, _)| Switched {
            name: part.name.clone(),
            packets,
            time,
            longest,
            memory: None,
        };
        switches.zip(self.parts.iter().filter_map(transit)).map(switched).collect()
    }

    fn open_window(&mut self, _now: u64) {
        self.at_window = self.backbones();
        self.net.latencies.iter_mut().for_each(|h| h.reset());
        for part in &mut self.parts {
            if let Part::Switch(s) = part {
                s.transit.max = 0;
            }
        }
    }

    fn settle(&mut self, now: u64) {
        self.net.wires.iter_mut().for_each(|w| w.settle(now));
        for part in &mut self.parts {
            if let Part::Terminal(t) = part
                && let Some(b) = &mut t.backbone
            {
                b.settle(now);
            }
        }
    }

    /// Longer than every buffer of the plan takes to drain one after the other, and than any latency of a completer.
    fn stall_timeout(&self) -> u64 {
        let drain = |w: &Wire| w.clock.span(1 << 16).saturating_add(w.delay.saturating_mul(2));
        let wires: u64 = self.net.wires.iter().map(drain).fold(0, u64::saturating_add);
        let answers = self.parts.iter().map(|p| match p {
            Part::Terminal(t) => {
                let backbone = t.backbone.as_ref().map_or(0, |b| b.stall_timeout());
                t.completer.longest().saturating_add(t.write_latency).saturating_add(backbone)
            }
            Part::Switch(_) => 0,
        });
        wires.saturating_add(answers.max().unwrap_or(0)).saturating_add(100_000_000_000)
    }

    fn deadlock(&self, plan: &Plan, _now: u64, before: u64, silent: bool) -> Option<Vec<String>> {
        deadlock::deadlock(plan, self, before, silent)
    }

    fn waiting(&self, plan: &Plan) -> Vec<String> {
        deadlock::waiting(plan, self)
    }

    fn rows(&self, plan: &Plan, trace: &mut Trace) {
        for (hop, wire) in plan.directions().zip(&self.net.wires) {
            let name = plan.direction_name(hop);
            trace.row("PCIe", &name, wire.tx, true);
            for (class, kind) in Class::ALL.into_iter().zip(["posted", "non-posted", "completion"]) {
                let left = wire.left(class).0;
                trace.credit("PCIe", &format!("{name}: {kind} headers left"), "headers", wire.tx, left);
            }
        }
        for flow in plan.flows.iter() {
            for (hops, back) in [(flow.route.len(), false), (flow.back.len(), true)] {
                let stage = |i| Stage { first: i == 0, last: i + 1 == hops, back, slices: VecDeque::new() };
                trace.stages.extend((0..hops).map(stage));
            }
            debug_assert!(flow.route.iter().all(|h| (wire_of(*h) as usize) < self.net.wires.len()));
        }
        for (part, timer) in self.backbone_timers() {
            let name = &plan.parts[part].name;
            let rows =
                ["request bus", "completion bus"].map(|bus| trace.line.track("PCIe", &format!("parts.{name}: {bus}")));
            trace.backbones.insert(timer, rows);
        }
    }

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        let f = &plan.flows[flow];
        let size = f.size.typical.f64();
        let open = matches!(f.program, Program::Open { .. });
        Traffic {
            group: &f.group,
            cut: size,
            alternates: f.op.typical == Do::Alternate,
            whole: false,
            offered: plan.wanted(f).map(|rate| Offered { rate, size, together: 1.0, open }),
        }
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        let report = |group: &FlowGroup| {
            let flow = &view.plan.flows[group.members[0]];
            let headers = flow.headers.as_ref().map(|h| h.typical.f64() / flow.size.typical.f64());
            let bound_by = binding::flow(view, FlowId(group.members[0] as u32));
            OwnReport { without_headers: headers.map(|part| 1.0 - part), ..bound_by.into() }
        };
        groups.iter().map(report).collect()
    }
}

impl Fabric {
    /// What wires have carried for programs at flow level, in place of what they say themselves.
    pub(in crate::sim) fn take_ledgers(&mut self, ledgers: Vec<SlotCounts>) {
        self.net.wires.iter_mut().zip(ledgers).for_each(|(w, counts)| w.counts = counts);
    }

    /// The ledgers of each backbone since time 0.
    fn backbones(&self) -> Vec<[BusClocks; 2]> {
        let terminals = self.parts.iter().filter_map(|p| match p {
            Part::Terminal(t) => t.backbone.as_ref(),
            Part::Switch(_) => None,
        });
        terminals.map(|b| b.counts()).collect()
    }

    /// The buses of every backbone in the measured time.
    pub(in crate::sim) fn backbones_seen(&self, plan: &Plan) -> Vec<SimulatedBackbone> {
        let parts = (0..plan.parts.len() as u32).map(PartId);
        let planned = parts.filter_map(|id| Some((id, plan.backbone(Corner::Typical, id)?)));
        let one = |(i, ((id, planned), now)): (usize, ((PartId, Backbone), [BusClocks; 2]))| {
            let before = self.at_window.get(i).copied().unwrap_or_default();
            let [request, completion] = [0, 1].map(|bus| now[bus].since(&before[bus]));
            let name = plan.part(id).name.clone();
            SimulatedBackbone { name, clock: planned.clocks_per_second(), width: planned.width, request, completion }
        };
        planned.zip(self.backbones()).enumerate().map(one).collect()
    }
}
