//! What happens to ranks and adapters is told to a recording.

use crate::protocol::infiniband::FLOW_CONTROL_WIRE;
use crate::result::timeline::NameId;
use crate::sim::core::kernel::Agenda;
use crate::sim::core::recorder::{At, Trace, put};
use crate::sim::infiniband::Fabric;
use crate::sim::infiniband::adapter::{Act, Job};

impl Fabric {
    /// Rows of all wires.
    pub(super) fn trace_rows(&self, trace: &mut Trace) {
        for (on, w) in self.wires.iter().enumerate() {
            let name = self.plan.wire_name(on as u32);
            trace.row("InfiniBand", &name, w.tx, true);
            trace.queued("InfiniBand", &format!("{name}: waiting"), "packets", w.tx);
            let lanes = w.wholes().count();
            for (lane, whole) in w.wholes().enumerate() {
                let of = if lanes > 1 { format!(" of lane {lane}") } else { String::new() };
                trace.credit("InfiniBand", &format!("{name}: credit{of}"), "blocks", w.tx, Some(whole));
            }
        }
    }

    /// Tells the trace, if there is one.
    #[inline]
    pub(in crate::sim) fn seen(&mut self, act: Act, now: u64, agenda: &mut Agenda) {
        if let Some(trace) = &mut agenda.trace {
            self.tell_trace(act, now, trace);
        }
    }

    #[cold]
    fn tell_trace(&mut self, act: Act, now: u64, trace: &mut Trace) {
        if let Act::Ranks = act {
            for (run, r) in self.runs.iter_mut().enumerate() {
                let Trace { cluster, line, args, .. } = trace;
                r.machine.take_log().for_each(|logged| cluster.logged(run, logged, line, args));
            }
            return;
        }
        let w = trace.cluster.words;
        // The message, and the packet if it is one's.
        let (message, packet) = match act {
            Act::Ranks => return,
            Act::Queued(on) => {
                let wire = &self.wires[on as usize];
                return trace.waits(wire.tx, now, wire.waiting as u64);
            }
            Act::Credit(on, lane, blocks, at) => {
                let back = &self.wires[(on ^ 1) as usize];
                let (begin, end) = back.last(FLOW_CONTROL_WIRE);
                trace.carried(back.tx, w.wire[3], begin, end, &[(trace.args.blocks, blocks as u64)]);
                return trace.returns(self.wires[on as usize].tx, lane as usize, blocks, at);
            }
            Act::Worked(m) => (m, None),
            Act::Over(Job::Bell(m) | Job::Descriptor(m) | Job::Arrived(m) | Job::Sent(m)) => (m, None),
            Act::Made(id) | Act::Gone(id) | Act::Carried(_, id) | Act::Came(id) | Act::Accepted(id) => {
                (self.packets.all[id as usize].message, Some(id))
            }
            Act::Placed(id) | Act::Acked(id) => (self.packets.all[id as usize].message, Some(id)),
            Act::Over(Job::Data(id)) => (self.packets.all[id as usize].message, Some(id)),
            // The packet is told of when it is placed.
            Act::Over(Job::Placed(_)) => return,
        };
        let m = self.messages.all[message as usize];
        if m.is_of_queue() {
            // Its steps are those of I/Os; here is what its packets take of the wires.
            if let Act::Carried(on, id) = act {
                let (p, wire) = (self.packets.all[id as usize], &self.wires[on as usize]);
                let (begin, end) = wire.last(p.bytes as u64);
                let name = w.wire[if p.ack { 2 } else { m.is_write() as usize }];
                trace.waits(wire.tx, now, wire.waiting as u64);
                trace.uses(wire.tx, p.lane as usize, p.blocks as u32, begin);
                trace.carried(wire.tx, name, begin, end, &[(trace.args.bytes, p.payload as u64)]);
            }
            return;
        }
        let (run, token) = (m.run as usize, m.token);
        let [sender, receiver] = [m.from, m.to].map(|e| self.ports[e as usize].adapter as usize);
        let thread = *trace.cluster.thread(run, token);
        let rows = |adapter: usize| trace.cluster.adapters[adapter];
        let (ours, theirs) = (rows(sender), rows(receiver));
        let at = packet.map_or(At::default(), |id| trace.cluster.packet(id));
        let args = [(trace.args.message, thread.serial), (trace.args.bytes, 0)];
        let of_message = &[args[0], (args[1].0, m.bytes)][..];
        let payload = packet.map_or(0, |id| self.packets.all[id as usize].payload as u64);
        let of_packet = &[args[0], (args[1].0, payload)][..];
        // (row, name, begin, end, from, numbers)
        let slice = |trace: &mut Trace, row, name, begin, end, from, numbers: &[(NameId, u64)]| {
            let slice = trace.line.slice(row, name, begin, end, numbers);
            trace.arrow(from, slice);
            At { slice, since: now, ..at }
        };
        match act {
            Act::Over(Job::Bell(_)) => {
                let out = slice(trace, ours.work, w.doorbell, m.born.min(now), now, thread.sent, of_message);
                trace.cluster.thread(run, token).out = out;
            }
            Act::Worked(_) => {
                let a = &self.adapters[sender];
                let mut out = At { since: now, ..thread.out };
                if a.work + a.send > 0 {
                    out = slice(trace, ours.work, w.work, now - a.work - a.send, now, thread.out.slice, of_message);
                }
                trace.cluster.thread(run, token).out = out;
            }
            Act::Over(Job::Descriptor(_)) => {
                let out = slice(trace, ours.reads, w.descriptor, thread.out.since, now, thread.out.slice, of_message);
                trace.cluster.thread(run, token).out = out;
            }
            Act::Over(Job::Arrived(_)) => {
                let came =
                    slice(trace, theirs.writes, w.completion, thread.came.since, now, thread.came.slice, of_message);
                trace.cluster.thread(run, token).came = came;
            }
            Act::Over(Job::Sent(_)) => {
                slice(trace, ours.writes, w.completion, thread.out.since, now, thread.out.slice, of_message);
            }
            _ => {}
        }
        let Some(id) = packet else { return };
        let next = match act {
            Act::Made(_) => {
                let name = Some(w.wire[m.is_write() as usize]);
                At { slice: thread.out.slice, since: now, name, message: thread.serial }
            }
            Act::Acked(_) => At { slice: thread.came.slice, since: now, name: Some(w.wire[2]), message: thread.serial },
            Act::Over(_) => slice(trace, ours.reads, w.data, at.since, now, at.slice, of_packet),
            Act::Gone(_) => {
                let span = self.adapters[sender].packet;
                slice(trace, ours.out, w.packet, now - span.min(now), now, at.slice, of_packet)
            }
            Act::Carried(on, _) => {
                let (p, wire) = (self.packets.all[id as usize], &self.wires[on as usize]);
                let (begin, end) = wire.last(p.bytes as u64);
                let name = at.name.unwrap_or(w.packet);
                let numbers = if p.ack { &of_packet[..1] } else { of_packet };
                trace.waits(wire.tx, now, wire.waiting as u64);
                trace.uses(wire.tx, p.lane as usize, p.blocks as u32, begin);
                let slice = trace.carried(wire.tx, name, begin, end, numbers);
                trace.arrow(at.slice, slice);
                At { slice, since: now, ..at }
            }
            Act::Came(_) if self.packets.all[id as usize].ack => {
                trace.cluster.thread(run, token).out = At { since: now, ..at };
                return;
            }
            Act::Came(_) => {
                let a = &self.adapters[receiver];
                let end = a.inward.max(now) + a.packet + a.receive;
                let begin = end - a.packet - a.receive;
                match end > now {
                    true => slice(trace, theirs.inward, w.packet, begin, end, at.slice, of_packet),
                    false => at,
                }
            }
            Act::Accepted(_) => {
                let at = At { since: now, ..at };
                trace.cluster.thread(run, token).came = at;
                at
            }
            Act::Placed(_) if now > at.since => {
                let placed = slice(trace, theirs.writes, w.data, at.since, now, at.slice, of_packet);
                // A completion is asked for with the last data.
                if self.adapters[receiver].completion == 0 {
                    trace.cluster.thread(run, token).came.slice = placed.slice;
                }
                placed
            }
            _ => return,
        };
        put(&mut trace.cluster.packets, id, next);
    }
}
