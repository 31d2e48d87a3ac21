//! What ranks and adapters did, for a time line: rows, and the thread of arrows that follows a message from its
//! sender's call through packets to its receiver's.
//!
//! A thread is known by its message: run and token. Where it has come to is kept here: at the sender (handed over,
//! doorbell, descriptor), at each packet, and at the receiver (packets taken in, data written, completion).

use crate::mpi::{Called, Logged, Mail, Spending};
use crate::plan::infiniband::Cluster;
use crate::protocol::infiniband::FLOW_CONTROL_WIRE;
use crate::result::timeline::{NameId, SliceId, Timeline, TrackId};
use crate::sim::core::kernel::Agenda;
use crate::sim::infiniband::Fabric;
use crate::sim::infiniband::adapter::Job;
use crate::sim::trace::{Args, Trace, put};

/// What happens now, by place of message or packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Act {
    /// Ranks may have done something.
    Ranks,
    /// The adapter has dealt with a work request.
    Worked(u32),
    /// A packet is made: its data are asked for.
    Made(u32),
    /// The engine is through with it.
    Gone(u32),
    /// It is on a wire.
    Carried(u32, u32),
    /// Something has come to the queue of a wire.
    Queued(u32),
    /// A flow-control packet tells the sender of this wire of so many blocks of a lane; when it has come.
    Credit(u32, u8, u32, u64),
    /// It has come to its adapter.
    Came(u32),
    /// Its data may go to host memory, and are there.
    Accepted(u32),
    Placed(u32),
    /// An acknowledgement is made.
    Acked(u32),
    /// A transfer over the host's bus is done.
    Over(Job),
}

/// Where a thread is, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct At {
    pub(in crate::sim) slice: Option<SliceId>,
    since: u64,
    /// Of a packet: what it is called on a wire, and its message's number.
    pub(in crate::sim) name: Option<NameId>,
    pub(in crate::sim) message: u64,
}

/// A message's thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    serial: u64,
    sent: Option<SliceId>,
    out: At,
    came: At,
}

/// A rank's row, and the slices that are open on it.
#[derive(Clone, Debug)]
struct Rank {
    track: TrackId,
    open: Vec<Option<SliceId>>,
}

/// A program.
#[derive(Clone, Debug)]
struct Program {
    ranks: Vec<Rank>,
    sections: Vec<NameId>,
    /// By token.
    threads: Vec<Thread>,
}

/// An adapter's rows: work requests, reads from the host and writes to it, packets out and in.
#[derive(Clone, Copy, Debug)]
struct Rows {
    work: TrackId,
    reads: TrackId,
    writes: TrackId,
    out: TrackId,
    inward: TrackId,
}

/// Words that are used again and again.
#[derive(Clone, Copy, Debug)]
struct Words {
    compute: NameId,
    copy: NameId,
    wait: NameId,
    receive: NameId,
    /// Of a message by its kind.
    sends: [NameId; 4],
    doorbell: NameId,
    work: NameId,
    descriptor: NameId,
    data: NameId,
    packet: NameId,
    completion: NameId,
    /// Packets on a wire: of a send, of a write, an acknowledgement, a flow-control packet.
    wire: [NameId; 4],
}

/// Everything that is remembered of ranks and adapters.
#[derive(Clone, Debug)]
pub(in crate::sim) struct ClusterTrace {
    words: Words,
    programs: Vec<Program>,
    adapters: Vec<Rows>,
    /// By place of a packet.
    pub(in crate::sim) packets: Vec<At>,
    serial: u64,
}

impl ClusterTrace {
    pub(in crate::sim) fn new(plan: &Cluster, line: &mut Timeline) -> ClusterTrace {
        let programs = plan.jobs.iter().map(|job| {
            let group = if plan.jobs.len() == 1 { "ranks".to_owned() } else { format!("ranks of flows.{}", job.name) };
            let rank = |rank| Rank { track: line.track(&group, &format!("rank {rank}")), open: Vec::new() };
            let ranks = (0..job.ranks.len()).map(rank).collect();
            let sections = job.job.sections.iter().map(|s| {
                let size = s.size.map_or(String::new(), |bytes| format!(" {bytes} B"));
                line.name(&format!("{}{size}", s.name))
            });
            Program { ranks, sections: sections.collect(), threads: Vec::new() }
        });
        let programs = programs.collect();
        let adapters = plan.adapters.iter().map(|a| {
            let mut row = |what| line.track("adapters", &format!("parts.{}: {what}", a.name));
            Rows {
                work: row("work requests"),
                reads: row("reads from the host"),
                out: row("packets out"),
                inward: row("packets in"),
                writes: row("writes to the host"),
            }
        });
        let adapters = adapters.collect();
        let mut name = |text: &str| line.name(text);
        let words = Words {
            compute: name("compute"),
            copy: name("copy"),
            wait: name("waiting"),
            receive: name("receive overhead"),
            sends: ["send overhead", "request to send", "clear to send", "RDMA write"].map(&mut name),
            doorbell: name("doorbell"),
            work: name("work request"),
            descriptor: name("descriptor"),
            data: name("data"),
            packet: name("packet"),
            completion: name("completion"),
            wire: ["SEND", "RDMA WRITE", "ack", "flow control"].map(&mut name),
        };
        ClusterTrace { words, programs, adapters, packets: Vec::new(), serial: 0 }
    }

    /// What is open ends.
    pub(in crate::sim) fn finish(&mut self, line: &mut Timeline, now: u64) {
        for rank in self.programs.iter_mut().flat_map(|p| &mut p.ranks) {
            rank.open.drain(..).for_each(|slice| line.end(slice, now));
        }
    }

    fn thread(&mut self, run: usize, token: u32) -> &mut Thread {
        let threads = &mut self.programs[run].threads;
        if threads.len() <= token as usize {
            threads.resize(token as usize + 1, Thread::default());
        }
        &mut threads[token as usize]
    }

    fn packet(&self, id: u32) -> At {
        self.packets.get(id as usize).copied().unwrap_or_default()
    }

    /// What a rank did.
    fn logged(&mut self, run: usize, logged: Logged, line: &mut Timeline, args: &Args) {
        let w = self.words;
        let row = |s: &ClusterTrace, rank: u32| s.programs[run].ranks[rank as usize].track;
        match logged {
            Logged::Spent { rank, on, begin, end } => {
                let name = match on {
                    Spending::Computing => w.compute,
                    Spending::Copying => w.copy,
                    Spending::Waiting => w.wait,
                };
                line.slice(row(self, rank), name, begin, end, &[]);
            }
            Logged::Sent { mail, begin, end } => {
                self.serial += 1;
                let serial = self.serial;
                let name = w.sends[mail.what as usize];
                let numbers = [
                    (args.to, mail.to as u64),
                    (args.bytes, mail.bytes),
                    (args.tag, mail.tag as u64),
                    (args.message, serial),
                ];
                let sent = line.slice(row(self, mail.from), name, begin, end, &numbers);
                let out = At { slice: sent, since: end, ..At::default() };
                *self.thread(run, mail.token) = Thread { serial, sent, out, came: At::default() };
            }
            Logged::Received { mail, begin, end } => {
                let Mail { token, from, to, tag, bytes, .. } = mail;
                let thread = *self.thread(run, token);
                let numbers = [
                    (args.from, from as u64),
                    (args.bytes, bytes),
                    (args.tag, tag as u64),
                    (args.message, thread.serial),
                ];
                let received = line.slice(row(self, to), w.receive, begin, end, &numbers);
                for from in [thread.sent, thread.came.slice] {
                    if from.is_some() {
                        line.arrow(from, received);
                    }
                }
            }
            Logged::Began { rank, at, what } => {
                let (name, numbers) = match what {
                    Called::Call { name, to, from, bytes, tag } => {
                        let number = |v: Option<u32>| v.map(u64::from);
                        let all = [
                            (args.to, number(to)),
                            (args.from, number(from)),
                            (args.bytes, bytes),
                            (args.tag, number(tag)),
                        ];
                        (line.name(name), all)
                    }
                    Called::Collective(kind, bytes) => {
                        let mut all = [(args.bytes, None); 4];
                        all[0].1 = (bytes > 0).then_some(bytes);
                        (line.name(kind.name()), all)
                    }
                    Called::Section(s) => (self.programs[run].sections[s as usize], [(args.bytes, None); 4]),
                };
                let mut known = [(args.bytes, 0); 4];
                let mut n = 0;
                for (name, value) in numbers {
                    if let Some(value) = value {
                        known[n] = (name, value);
                        n += 1;
                    }
                }
                let rank = &mut self.programs[run].ranks[rank as usize];
                rank.open.push(line.slice(rank.track, name, at, at, &known[..n]));
            }
            Logged::Ended { rank, at } => {
                let open = self.programs[run].ranks[rank as usize].open.pop().flatten();
                line.end(open, at);
            }
        }
    }
}

impl Fabric {
    /// Rows of all wires.
    pub(in crate::sim) fn rows(&self, trace: &mut Trace) {
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

    /// Whether ranks take down what they do.
    pub(in crate::sim) fn log(&mut self, on: bool) {
        self.runs.iter_mut().for_each(|r| r.machine.log(on));
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
