//! What a run asks of clusters between events, and what its report says of them.

use crate::plan::{FlowGroup, Plan};
use crate::protocol::infiniband::Mtu;
use crate::result::{Ending, Medium, Note, SlotCounts};
use crate::scenario::keys::Technology;
use crate::sim::core::kernel::NEVER;
use crate::sim::core::recorder::Trace;
use crate::sim::core::subsystem::{OwnReport, Subsystem, Traffic, Window, WireName};
use crate::sim::core::tally::{Cells, Tally};
use crate::sim::infiniband::{Fabric, binding, deadlock};
use std::borrow::Cow;

impl Subsystem for Fabric {
    fn technology(&self) -> Technology {
        Technology::Infiniband
    }

    fn wires(&self) -> usize {
        self.wires.len()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        let cluster = &plan.cluster;
        let name = |wire: u32| WireName {
            name: cluster.link(wire).name.clone(),
            from: cluster.node_name(cluster.leaves(wire)),
            to: cluster.node_name(cluster.arrives(wire)),
            medium: Medium::Infiniband,
            coded: cluster.link(wire).rate.typical.data_rate().bits(),
        };
        (0..self.wires.len() as u32).map(name).collect()
    }

    fn counts(&self) -> Vec<SlotCounts> {
        self.wires.iter().map(|w| w.counts).collect()
    }

    fn held(&self) -> Vec<(usize, u64)> {
        self.wires.iter().map(|w| w.held(&self.packets)).collect()
    }

    /// At flow level messages begun: they are the work.
    fn packets(&self) -> u64 {
        if let Some(flows) = &self.flow_level {
            return flows.begun;
        }
        self.wires.iter().map(|w| w.counts.tlps).sum()
    }

    fn tallies(&self, _now: u64) -> Vec<Tally> {
        self.runs.iter().map(|r| r.tally).collect()
    }

    /// Ranks wait for one another, and nothing stands at the source.
    fn backlogs(&self, _now: u64) -> Vec<u64> {
        vec![0; self.runs.len()]
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.runs.iter().map(|r| (r.fingerprint, r.tally.done)).collect()
    }

    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        Cow::Borrowed(&self.runs[group].latencies)
    }

    fn open_window(&mut self, _now: u64) {
        self.runs.iter_mut().for_each(|r| r.latencies.reset());
    }

    /// At flow level `System` has the ledgers put down ([`Fabric::take_ledgers`]).
    fn settle(&mut self, now: u64) {
        if self.flow_level.is_none() {
            self.wires.iter_mut().for_each(|w| w.settle(now));
        }
    }

    fn stall_timeout(&self) -> u64 {
        let longest = Mtu::ALL[4].bytes() + 128;
        let hops = self.wires.iter().map(|w| w.span(longest)).max().unwrap_or(0);
        // Through the buffers of many neighbours.
        4096 * hops
    }

    fn deadlock(&self, _plan: &Plan, _now: u64, before: u64, _silent: bool) -> Option<Vec<String>> {
        deadlock::deadlock(self, before)
    }

    /// Who waits for whom, where nothing will happen by itself any more.
    fn waiting(&self, _plan: &Plan) -> Vec<String> {
        if self.next() < NEVER || self.jobs.used() > 0 {
            return Vec::new();
        }
        if self.packets.used > 0 {
            return deadlock::waiting(self);
        }
        let blocked = self.runs.iter().filter(|r| !r.machine.is_done());
        blocked.flat_map(|r| r.machine.waiting()).collect()
    }

    fn fault(&self) -> Option<String> {
        let mut runs = self.runs.iter().zip(&self.plan.jobs);
        runs.find_map(|(r, j)| Some(format!("flows.{}: {}", j.name, r.machine.fault()?)))
    }

    fn rows(&self, _plan: &Plan, trace: &mut Trace) {
        self.trace_rows(trace);
    }

    fn record(&mut self, on: bool) {
        self.runs.iter_mut().for_each(|r| r.machine.log(on));
    }

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        Traffic { group: &plan.cluster.jobs[flow].name, cut: 0.0, alternates: false, whole: true, offered: None }
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        let report = |group: &FlowGroup| {
            let job = group.members[0];
            let accounts: Vec<_> = self.runs[job].machine.accounts().collect();
            let ways = binding::ways(view.plan, job);
            let for_ever = matches!(view.ending, Ending::Stall { .. } | Ending::Deadlock { .. } | Ending::Silent);
            let stalled = for_ever && !self.runs[job].machine.is_done();
            let bound_by = binding::job(view.plan, job, &accounts, view.links, &ways);
            let bound_by = if stalled { binding::stalled(&self.plan.jobs[job].name, view.ending) } else { bound_by };
            OwnReport { program: Some(self.program(job)), ways, ..bound_by.into() }
        };
        groups.iter().map(report).collect()
    }

    fn notes(&self, _view: &Window) -> Vec<Note> {
        let text = "messages share wires, adapters and hosts' PCIe max-min fair at once, as many packets of each: no \
                    packet waits in a switch, nothing is paused or dropped, and acknowledgements and flow-control \
                    packets take nothing of the wires; of PCIe, requests of packets shorter than a read request count \
                    as up to half more";
        let note = Note { element: "run.level".into(), mechanism: "flow-level".into(), text: text.into() };
        self.flow_level.iter().map(|_| note.clone()).collect()
    }
}

impl Fabric {
    /// What wires have carried at flow level.
    pub(in crate::sim) fn take_ledgers(&mut self, ledgers: Vec<SlotCounts>) {
        self.wires.iter_mut().zip(ledgers).for_each(|(w, counts)| w.counts = counts);
    }
}
