//! What a run asks of shared buses between events, and what its report says of them.

use crate::plan::pci::BusFlow;
use crate::plan::{FlowGroup, Plan, Program};
use crate::result::{Interval, SimulatedLink, SlotCounts};
use crate::scenario::keys::{Do, Technology};
use crate::sim::core::recorder::Trace;
use crate::sim::core::subsystem::{Offered, OwnReport, Subsystem, Traffic, Window, WireName};
use crate::sim::core::tally::{Cells, SECOND, Tally};
use crate::sim::pci::{Bus, Fabric, FlowState, binding};
use std::borrow::Cow;

impl Subsystem for Fabric {
    fn technology(&self) -> Technology {
        Technology::Pci
    }

    fn wires(&self) -> usize {
        self.buses.len()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        let buses = &plan.buses;
        let name = |bus: &crate::plan::pci::Bus| WireName {
            name: bus.name.clone(),
            from: buses.ends_text(bus),
            to: String::new(),
            medium: bus.speed.typical.standard().into(),
            coded: bus.speed.typical.peak().bits(),
        };
        buses.buses.iter().map(name).collect()
    }

    fn counts(&self) -> Vec<SlotCounts> {
        self.buses.iter().map(|b| b.counts).collect()
    }

    /// Split completions that wait at the bridge.
    fn held(&self) -> Vec<(usize, u64)> {
        self.buses.iter().map(Bus::held).collect()
    }

    /// Transactions.
    fn packets(&self) -> u64 {
        self.buses.iter().map(|b| b.counts.tlps).sum()
    }

    /// With what a closed load has waiting: its operations are in flight from the moment at which they are due.
    fn tallies(&self, now: u64) -> Vec<Tally> {
        let tally = |f: &FlowState| {
            let mut t = f.tally;
            if f.source.is_closed() {
                let (first, from) = f.source.unasked();
                let due = f.again.iter().copied().take_while(|at| *at <= now);
                let next = f.current.filter(|op| !op.started).map(|op| op.born);
                (t.waiting, t.waiting_sum) = (first as u64, first as u128 * from as u128);
                for at in due.chain(next) {
                    (t.waiting, t.waiting_sum) = (t.waiting + 1, t.waiting_sum + at as u128);
                }
            }
            t
        };
        self.net.flows.iter().map(tally).collect()
    }

    fn backlogs(&self, now: u64) -> Vec<u64> {
        let waits = |f: &FlowState| f.current.is_some_and(|op| !op.started && !op.endless);
        self.net.flows.iter().map(|f| f.source.backlog(now) + u64::from(waits(f))).collect()
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.net.flows.iter().map(|f| (f.fingerprint, f.tally.done)).collect()
    }

    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        Cow::Borrowed(&self.net.latencies[group])
    }

    fn open_window(&mut self, _now: u64) {
        self.at_window = self.buses.iter().map(|b| b.bytes).collect();
        self.net.latencies.iter_mut().for_each(|h| h.reset());
    }

    fn settle(&mut self, now: u64) {
        self.buses.iter_mut().for_each(|b| b.settle(now));
    }

    fn stall_timeout(&self) -> u64 {
        let longest = |b: &Bus| b.ticks.time(4096) * (1 + b.masters() as u64);
        100 * self.buses.iter().map(longest).max().unwrap_or(0)
    }

    fn rows(&self, plan: &Plan, trace: &mut Trace) {
        for (bus, slot) in plan.buses.buses.iter().zip(self.base..) {
            trace.row("buses", &format!("links.{}", bus.name), slot, true);
        }
    }

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        let f = &plan.buses.flows[flow];
        let size = f.size.typical.f64();
        let offered = match f {
            BusFlow { program: Program::Open { rate, .. }, .. } => {
                Some(Offered { rate: rate.bits(), size, together: 1.0, open: true })
            }
            _ => None,
        };
        Traffic { group: &f.group, cut: size, alternates: f.op.typical == Do::Alternate, whole: false, offered }
    }

    /// Batches are of clocks; a narrow last data phase carries less than its clock could.
    fn of_wire(&self, plan: &Plan, wire: usize, window: f64, link: SimulatedLink) -> SimulatedLink {
        let bytes = self.buses[wire].bytes - self.at_window.get(wire).copied().unwrap_or(0);
        let half = link.payload.half.map(|h| h * plan.buses.buses[wire].speed.typical.per_clock() as f64);
        SimulatedLink { payload: Interval { mean: bytes as f64 * 8.0 * SECOND / window, half }, ..link }
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        groups.iter().map(|group| binding::bus(view, group.members[0]).into()).collect()
    }
}
