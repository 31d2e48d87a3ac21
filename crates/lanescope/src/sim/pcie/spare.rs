//! Events that are spared, since all that they would do is known ahead.
//!
//! A requester that lacks credit for its next TLP when it sends one need not look again when its wire falls free
//! ([`Wire::wait_ahead`](crate::sim::pcie::wire::Wire::wait_ahead)). Writes that come to a memory without limits are
//! counted, and do no more: they are counted when their wire is next used, or when somebody looks at the run.
//! Completions that end no request change nothing but counts either, nor do writes to such a memory that are not the
//! last of theirs: they are taken in with one that is, or when somebody looks. All of them are added to the number of
//! events, as if they had been.

use crate::plan::{Plan, Program};
use crate::protocol::pcie::Class;
use crate::sim::core::kernel::Agenda;
use crate::sim::pcie::terminal::Terminal;
use crate::sim::pcie::{Fabric, Net, Part, Reach, Signal};

const POSTED: usize = Class::Posted as usize;
/// Classes of which it is enough to have the last of an operation or request.
const GATHERED: [Class; 2] = [Class::Posted, Class::Completion];

impl Net {
    /// Counts what has come before a moment by a wire whose end does no more with it. Whether something is still on its
    /// way.
    #[inline]
    pub(super) fn take_in(&mut self, wire: u32, before: u64, agenda: &mut Agenda) -> bool {
        let Reach::Counted(latency) = self.wires[wire as usize].reach else { return false };
        loop {
            let queue = &mut self.wires[wire as usize].queues[POSTED];
            match queue.front() {
                None => return false,
                Some(tlp) if tlp.ready >= before => return true,
                Some(_) => {}
            }
            if let Some(tlp) = queue.pop_front() {
                agenda.events += 1;
                self.written(&tlp, latency, tlp.ready);
            }
        }
    }
}

impl Terminal {
    /// Takes in what came before a moment of what is the last of nothing: what is has had its event. Whether more is on
    /// its way.
    fn take_in(&mut self, wire: u32, before: u64, net: &mut Net, agenda: &mut Agenda) -> bool {
        GATHERED.into_iter().fold(false, |more, class| {
            let own = &net.wires[wire as usize];
            if !own.gathers[class as usize] {
                return more;
            }
            if own.queues[class as usize].front().is_some_and(|tlp| tlp.ready < before) {
                agenda.events += 1;
                self.gathered(wire, class, before - 1, net, agenda);
            }
            more | !net.wires[wire as usize].queues[class as usize].is_empty()
        })
    }
}

impl Fabric {
    /// From now on events are spared. Whether there may be such.
    pub(in crate::sim) fn spare_events(&mut self, plan: &Plan) -> bool {
        for (wire, latency) in self.sinks(plan) {
            self.net.wires[wire].reach = Reach::Counted(latency);
        }
        for wire in 0..self.net.wires.len() {
            let ends = self.terminal(wire).is_some_and(|t| t.peers.is_none() && t.iommu.is_none());
            // A memory without limits: when the buffer is free of a write is known as it goes.
            let writes = self.write_latency(wire).is_some();
            let wire = &mut self.net.wires[wire];
            if ends && matches!(wire.reach, Reach::End) {
                // Without limits on completions: all have room for what they ask for.
                let completions = wire.left(Class::Completion) == (None, None);
                (wire.gathers, wire.tells_ahead) = ([writes, false, completions], writes);
            }
        }
        self.net.foresees = true;
        !plan.flows.is_empty()
    }

    /// Wires that carry nothing but writes to a memory without limits, for which nobody waits; and how long after its
    /// last bit such a write is done.
    fn sinks(&self, plan: &Plan) -> Vec<(usize, u64)> {
        let net = &self.net;
        let mut latencies: Vec<Option<u64>> = (0..net.wires.len()).map(|wire| self.write_latency(wire)).collect();
        let mut used = vec![false; net.wires.len()];
        for (flow, state) in plan.flows.iter().zip(&net.flows) {
            let counted = flow.writes()
                && !flow.reads()
                && !flow.packets
                && matches!(flow.program, Program::Saturating | Program::Open { .. });
            let there = &net.paths[state.there as usize..state.back as usize];
            let back = &net.paths[state.back as usize..state.end as usize];
            let last = there.last().filter(|_| counted).copied();
            // A write has no answer.
            for wire in there.iter().chain(if counted { &[][..] } else { back }) {
                used[*wire as usize] = true;
                if Some(*wire) != last {
                    latencies[*wire as usize] = None;
                }
            }
        }
        let wires = latencies.into_iter().zip(used).enumerate();
        wires.filter_map(|(wire, (latency, used))| latency.filter(|_| used).map(|latency| (wire, latency))).collect()
    }

    /// How long after its last bit a write by this wire is done, if what it comes to takes it at once.
    fn write_latency(&self, wire: usize) -> Option<u64> {
        let (t, wire) = (self.terminal(wire)?, &self.net.wires[wire]);
        let at_once = t.completer.takes_writes_at_once() && t.backbone.is_none();
        (at_once && t.peers.is_none() && t.iommu.is_none() && wire.may_tell_ahead()).then_some(t.write_latency)
    }

    /// The part at the end of a wire.
    fn end(&self, wire: usize) -> Option<usize> {
        match self.signals.get(self.net.wires[wire].rx as usize) {
            Some(Signal::Head(_, _, part)) => Some(*part as usize),
            _ => None,
        }
    }

    /// The same, if it is a root complex or a device.
    fn terminal(&self, wire: usize) -> Option<&Terminal> {
        match &self.parts[self.end(wire)?] {
            Part::Terminal(t) => Some(t),
            Part::Switch(_) => None,
        }
    }

    /// Counts what had no event and was before a moment. Whether more of it is to come.
    pub(in crate::sim) fn take_in(&mut self, before: u64, agenda: &mut Agenda) -> bool {
        (0..self.net.wires.len()).fold(false, |more, wire| {
            let gathers = self.net.wires[wire].gathers.contains(&true);
            let coming = match self.end(wire).filter(|_| gathers).map(|part| &mut self.parts[part]) {
                Some(Part::Terminal(t)) => t.take_in(wire as u32, before, &mut self.net, agenda),
                _ => self.net.take_in(wire as u32, before, agenda),
            };
            self.net.wires[wire].count_spared(before, agenda) | coming | more
        })
    }

    /// From now on no events are spared; those before have been counted.
    pub(in crate::sim) fn spare_no_events(&mut self, agenda: &mut Agenda) {
        self.net.foresees = false;
        for wire in &mut self.net.wires {
            if wire.spared > 0 {
                wire.spare_not(agenda);
            }
            let mut spares = std::mem::take(&mut wire.gathers);
            if let Reach::Counted(_) = wire.reach {
                (wire.reach, spares[POSTED]) = (Reach::End, true);
            }
            if spares[POSTED] {
                wire.told = wire.queues[POSTED].len();
            }
            for class in GATHERED.into_iter().filter(|class| spares[*class as usize]) {
                if let Some(tlp) = wire.queues[class as usize].front() {
                    agenda.set(wire.rx + class as u32, tlp.ready);
                }
            }
        }
    }

    /// TLPs that its wires may begin to carry in such a time, at most.
    pub(in crate::sim) fn most_packets(&self, span: u64) -> u64 {
        self.net.wires.iter().map(|wire| wire.most_packets(span)).fold(0, u64::saturating_add)
    }
}
