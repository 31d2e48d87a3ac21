//! What ranks and adapters did, for a time line: rows, and the thread of arrows that follows a message from its
//! sender's call through packets to its receiver's.
//!
//! A thread is known by its message: run and token. Where it has come to is kept here: at the sender (handed over,
//! doorbell, descriptor), at each packet, and at the receiver (packets taken in, data written, completion).

use super::Args;
use crate::mpi::{Called, Logged, Mail, Spending};
use crate::plan::infiniband::Cluster;
use crate::result::timeline::{NameId, SliceId, Timeline, TrackId};

/// Where a thread is, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct At {
    pub(in crate::sim) slice: Option<SliceId>,
    pub(in crate::sim) since: u64,
    /// Of a packet: what it is called on a wire, and its message's number.
    pub(in crate::sim) name: Option<NameId>,
    pub(in crate::sim) message: u64,
}

/// A message's thread.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Thread {
    pub(in crate::sim) serial: u64,
    pub(in crate::sim) sent: Option<SliceId>,
    pub(in crate::sim) out: At,
    pub(in crate::sim) came: At,
}

/// A rank's row, and the slices that are open on it.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Rank {
    pub(in crate::sim) track: TrackId,
    pub(in crate::sim) open: Vec<Option<SliceId>>,
}

/// A program.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Program {
    pub(in crate::sim) ranks: Vec<Rank>,
    pub(in crate::sim) sections: Vec<NameId>,
    /// By token.
    pub(in crate::sim) threads: Vec<Thread>,
}

/// An adapter's rows: work requests, reads from the host and writes to it, packets out and in.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Rows {
    pub(in crate::sim) work: TrackId,
    pub(in crate::sim) reads: TrackId,
    pub(in crate::sim) writes: TrackId,
    pub(in crate::sim) out: TrackId,
    pub(in crate::sim) inward: TrackId,
}

/// Words that are used again and again.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Words {
    pub(in crate::sim) compute: NameId,
    pub(in crate::sim) copy: NameId,
    pub(in crate::sim) wait: NameId,
    pub(in crate::sim) receive: NameId,
    /// Of a message by its kind.
    pub(in crate::sim) sends: [NameId; 4],
    pub(in crate::sim) doorbell: NameId,
    pub(in crate::sim) work: NameId,
    pub(in crate::sim) descriptor: NameId,
    pub(in crate::sim) data: NameId,
    pub(in crate::sim) packet: NameId,
    pub(in crate::sim) completion: NameId,
    /// Packets on a wire: of a send, of a write, an acknowledgement, a flow-control packet.
    pub(in crate::sim) wire: [NameId; 4],
}

/// Everything that is remembered of ranks and adapters.
#[derive(Clone, Debug)]
pub(in crate::sim) struct MessageTrace {
    pub(in crate::sim) words: Words,
    pub(in crate::sim) programs: Vec<Program>,
    pub(in crate::sim) adapters: Vec<Rows>,
    /// By place of a packet.
    pub(in crate::sim) packets: Vec<At>,
    pub(in crate::sim) serial: u64,
}

impl MessageTrace {
    pub(in crate::sim) fn new(plan: &Cluster, line: &mut Timeline) -> MessageTrace {
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
        MessageTrace { words, programs, adapters, packets: Vec::new(), serial: 0 }
    }

    /// What is open ends.
    pub(in crate::sim) fn finish(&mut self, line: &mut Timeline, now: u64) {
        for rank in self.programs.iter_mut().flat_map(|p| &mut p.ranks) {
            rank.open.drain(..).for_each(|slice| line.end(slice, now));
        }
    }

    pub(in crate::sim) fn thread(&mut self, run: usize, token: u32) -> &mut Thread {
        let threads = &mut self.programs[run].threads;
        if threads.len() <= token as usize {
            threads.resize(token as usize + 1, Thread::default());
        }
        &mut threads[token as usize]
    }

    pub(in crate::sim) fn packet(&self, id: u32) -> At {
        self.packets.get(id as usize).copied().unwrap_or_default()
    }

    /// What a rank did.
    pub(in crate::sim) fn logged(&mut self, run: usize, logged: Logged, line: &mut Timeline, args: &Args) {
        let w = self.words;
        let row = |s: &MessageTrace, rank: u32| s.programs[run].ranks[rank as usize].track;
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
