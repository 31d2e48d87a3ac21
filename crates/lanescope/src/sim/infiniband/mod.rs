//! Clusters in a run: ranks, channel adapters, and the InfiniBand between them, on the agenda of all sides.
//!
//! Ranks are a [`Machine`] for each job: it says which messages are handed to adapters, and hears which have left and
//! come. An adapter (`adapter`) takes a message apart into packets, moving its data over its host's bus where
//! it has one: what it asks for goes out through [`Fabric::asked`] and comes back through [`Fabric::done`], so bus and
//! fabric hold one another up. A port that is a station of Ethernet hands its packets there and gets those that come
//! ([`Fabric::commands`], [`Fabric::on_station_event`]). Wires (`wire`) and switches have slots of the agenda of their
//! own; what adapters and ranks wait for stands in one heap behind one slot.

mod adapter;
mod binding;
mod build;
mod deadlock;
mod flow_level;
mod report;
mod trace;
mod wire;

use crate::mpi::{Machine, Post, What};
use crate::plan::DmaPath;
use crate::plan::ethernet::{Network, NodeId};
use crate::plan::infiniband::Cluster;
use crate::result::ProgramReport;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::core::source::Transfer;
use crate::sim::core::tally::{self, Tally};
use crate::sim::ethernet::{StationCommand, StationEvent};
use crate::tools::Slab;
use adapter::Act;
use adapter::{Adapter, Job, Message, Overheads, Port};
pub(in crate::sim) use adapter::{Kind, Verb};
use flow_level::FlowLevel;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use wire::{Arena, NONE, Why, Wire};

/// Tokens of a cluster's DMA have this bit.
pub(in crate::sim) const OWN: u32 = 1 << 31;

/// What happens at a moment of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A rank's processor has handed a message over.
    Posted(u32),
    /// The adapter has dealt with a work request.
    Worked(u32),
    /// DMA is done.
    Dma(u32),
    /// The adapter is through with a port's next packet.
    Go(u32),
    /// A packet's data may go to host memory.
    Accept(u32),
}

/// An event at its moment; ties go by the order in which they were planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Planned {
    at: u64,
    n: u64,
    event: Event,
}

/// What a slot of the agenda stands for.
#[derive(Clone, Copy, Debug)]
enum Signal {
    /// Something has come by a wire.
    Arrives(u32),
    /// A wire falls free, or has credit.
    Free(u32),
}

/// One program, and what it has done.
#[derive(Clone, Debug)]
struct Run {
    machine: Machine,
    /// The endpoint of each rank.
    ranks: Vec<u32>,
    mtu: u32,
    /// Its virtual lane, or its class on Ethernet.
    lane: u8,
    tally: Tally,
    fingerprint: u64,
    latencies: tally::Cells,
}

/// All clusters of a plan.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Fabric {
    plan: Arc<Cluster>,
    network: Arc<Network>,
    packets: Arena,
    wires: Vec<Wire>,
    adapters: Vec<Adapter>,
    ports: Vec<Port>,
    messages: Slab<Message>,
    jobs: Slab<Job>,
    runs: Vec<Run>,
    heap: BinaryHeap<Reverse<Planned>>,
    planned: u64,
    asked: Vec<(DmaPath, Transfer)>,
    /// What ports tell their stations.
    commands: Vec<(NodeId, StationCommand)>,
    /// Messages of NVMe over Fabrics that have come, by what their owners know them by.
    told: Vec<u32>,
    posts: Vec<Post>,
    /// Queue pairs, by program and ranks: the number of the first, and whose turn it is, of data that were arranged and
    /// of all else. Those of InfiniBand, where one alone needs no number, are missing.
    pairs: HashMap<(usize, u32, u32), (u32, [u32; 2])>,
    /// The number that comes next.
    next_pair: u32,
    /// The class of packets of NVMe over Fabrics on Ethernet.
    class: u8,
    /// Queue pairs whose rates are shown: program, ranks, number among theirs.
    shown: Vec<(usize, [u32; 2], u32)>,
    /// Bytes around a packet's data, and of an acknowledgement: of InfiniBand on a wire, of RoCE of client data.
    overheads: [Overheads; 2],
    acks: [u32; 2],
    signals: Vec<Signal>,
    /// In place of adapters and wires, where messages are followed as flows.
    pub(in crate::sim) flow_level: Option<Box<FlowLevel>>,
    /// Its first slot of the agenda, and that of the heap behind all wires.
    base: u32,
    pub(in crate::sim) slot: u32,
    armed: u64,
}

impl Fabric {
    fn plan_at(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.heap.push(Reverse(Planned { at, n: self.planned, event }));
    }

    /// The earliest moment of heap and ranks.
    fn next(&self) -> u64 {
        let ranks = self.runs.iter().map(|r| r.machine.next()).min().unwrap_or(NEVER);
        let flows = self.flow_level.as_ref().map_or(NEVER, |f| f.next());
        self.heap.peek().map_or(NEVER, |p| p.0.at).min(ranks).min(flows)
    }

    /// The moment of a slot has come.
    #[inline]
    pub(in crate::sim) fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        if slot == self.slot {
            self.armed = NEVER;
            agenda.set(slot, NEVER);
            self.act(now, agenda);
        } else {
            match self.signals[(slot - self.base) as usize] {
                Signal::Free(on) => {
                    agenda.set(slot, NEVER);
                    self.serve(on, now, agenda);
                }
                Signal::Arrives(on) => self.arrives(on, slot, now, agenda),
            }
        }
        self.arm(agenda);
    }

    /// The slot of heap and ranks is set to what comes next.
    #[inline]
    fn arm(&mut self, agenda: &mut Agenda) {
        self.seen(Act::Ranks, 0, agenda);
        let next = self.next();
        if next != self.armed {
            self.armed = next;
            agenda.set(self.slot, next);
        }
    }

    /// Works off the heap and the ranks.
    fn act(&mut self, now: u64, agenda: &mut Agenda) {
        while let Some(&Reverse(p)) = self.heap.peek()
            && p.at <= now
        {
            self.heap.pop();
            match p.event {
                Event::Posted(message) => self.posted(message, now),
                Event::Worked(message) => self.worked(message, now, agenda),
                Event::Dma(job) => self.over(job, now, agenda),
                Event::Go(port) => self.gone(port, now, agenda),
                Event::Accept(packet) => self.accept(packet, now, agenda),
            }
        }
        while let Some((message, arrived)) = self.flow_level.as_mut().and_then(|f| f.pop(now)) {
            self.tell(message, now, arrived);
        }
        for run in 0..self.runs.len() {
            if self.runs[run].machine.next() <= now {
                let mut posts = std::mem::take(&mut self.posts);
                self.runs[run].machine.on(now, &mut posts);
                self.take(run, &mut posts, now);
                self.posts = posts;
            }
        }
        if let Some(flows) = &mut self.flow_level {
            flows.share(now);
        }
    }

    /// Messages that ranks have handed over, or will.
    fn take(&mut self, run: usize, posts: &mut Vec<Post>, now: u64) {
        for post in posts.drain(..) {
            let r = &mut self.runs[run];
            let [from, to] = [post.from, post.to].map(|rank| r.ranks[rank as usize]);
            r.tally.start(post.at);
            let (connection, pair) = self.queue_pair(run, from, &post);
            let way = |ranks| self.plan.way_of(&self.network, &self.plan.jobs[run], ranks, connection);
            let ways = [way([post.from, post.to]), way([post.to, post.from])];
            let r = &self.runs[run];
            let of_run = (r.mtu, r.lane);
            let message = Message::new(&post, run as u16, [from, to], ways, (connection, pair), of_run);
            let message = self.messages.add(message);
            if let Some(flows) = &mut self.flow_level {
                flows.hand_over((&self.plan, &self.network), run, &post, message, connection);
            }
            if post.at > now {
                self.plan_at(post.at, Event::Posted(message));
            } else {
                self.posted(message, now);
            }
        }
    }

    /// The queue pair of the next message between two ranks of a program: its number among theirs, and on Ethernet
    /// among all.
    fn queue_pair(&mut self, run: usize, port: u32, post: &Post) -> (u32, u32) {
        let on_ethernet = self.ports[port as usize].wire == NONE;
        let connections = self.plan.jobs[run].keys.connections.typical.get();
        if !on_ethernet && connections == 1 {
            return (0, NONE);
        }
        let next = &mut self.next_pair;
        let (first, turns) = self.pairs.entry((run, post.from, post.to)).or_insert_with(|| {
            *next += connections;
            (*next - connections, [0; 2])
        });
        let turn = &mut turns[usize::from(post.what == What::Data)];
        let connection = *turn;
        *turn = (connection + 1) % connections;
        (connection, if on_ethernet { *first + connection } else { NONE })
    }

    /// The numbers of [`Cluster::queue_pairs`], of all programs, once they have been used.
    pub(in crate::sim) fn shown_pairs(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        let number = |(run, [from, to], connection): &(usize, [u32; 2], u32)| {
            self.pairs.get(&(*run, *from, *to)).map(|p| p.0 + connection)
        };
        self.shown.iter().map(number)
    }

    /// Tells a machine of a message.
    fn tell(&mut self, message: u32, now: u64, arrived: bool) {
        let m = &mut self.messages.all[message as usize];
        m.ends += 1;
        let (run, token, born, bytes, over) = (m.run as usize, m.token, m.born, m.bytes, m.ends == 2);
        let of_queue = m.is_of_queue();
        if over {
            self.messages.remove(message);
        }
        if of_queue {
            self.told.extend(arrived.then_some(token));
            return;
        }
        let mut posts = std::mem::take(&mut self.posts);
        let r = &mut self.runs[run];
        if arrived {
            r.tally.bytes += bytes;
            r.tally.finish(born, now);
            r.fingerprint = tally::fingerprint(r.fingerprint, born, now);
            r.latencies.record((now - born) / 1000);
            r.machine.arrived(token, now, &mut posts);
        } else {
            r.machine.sent(token, now, &mut posts);
        }
        self.take(run, &mut posts, now);
        self.posts = posts;
    }

    /// Something has come by a wire.
    #[inline]
    fn arrives(&mut self, on: u32, slot: u32, now: u64, agenda: &mut Agenda) {
        let w = &mut self.wires[on as usize];
        let Some(id) = w.flight.pop(&self.packets) else { return };
        let next = w.flight.first;
        agenda.set(slot, if next == NONE { NEVER } else { self.packets.all[next as usize].at });
        if w.to_switch == NONE {
            self.receive(on, id, now, agenda);
            return;
        }
        let p = &mut self.packets.all[id as usize];
        p.held = on;
        let out = p.out;
        self.wires[out as usize].queue(id, &mut self.packets);
        self.serve(out, now, agenda);
        self.seen(Act::Queued(out), now, agenda);
    }

    /// Sends what may be sent on a wire.
    #[inline]
    fn serve(&mut self, on: u32, now: u64, agenda: &mut Agenda) {
        let w = &mut self.wires[on as usize];
        if now < w.free {
            agenda.by(w.tx, w.free);
            return;
        }
        if let Some((held, lane, blocks)) = w.left() {
            self.release(held, lane, blocks, now, agenda);
        }
        let w = &mut self.wires[on as usize];
        if w.waiting == 0 {
            if w.from < self.ports.len() as u32 {
                let why = if self.ports[w.from as usize].fetches() { Why::Host } else { Why::Nothing };
                w.idles(now, why);
            }
            return;
        }
        let id = match w.choose(now, &self.packets) {
            Ok(id) => id,
            Err(at) => {
                w.idles(now, Why::Credit);
                agenda.set(w.tx, at);
                return;
            }
        };
        let p = self.packets.all[id as usize];
        let (head, tail) = w.send(&p, now);
        let (from, to_switch, tx, free) = (w.from, w.to_switch, w.tx, w.free);
        agenda.set(tx, free);
        self.seen(Act::Carried(on, id), now, agenda);
        let mut at = tail;
        if to_switch != NONE {
            let mut way = p.way;
            let Some(out) = self.plan.routes.next(to_switch, NodeId(p.to), &mut way) else {
                unreachable!("the plan has found a path for every packet")
            };
            let onward = self.wires[out as usize].span(p.bytes as u64);
            let w = &self.wires[on as usize];
            at = w.forwards(head, tail, onward, w.span(p.bytes as u64));
            let p = &mut self.packets.all[id as usize];
            (p.out, p.way) = (out, way);
        }
        self.packets.all[id as usize].at = at;
        let w = &mut self.wires[on as usize];
        if w.flight.push(id, &mut self.packets) {
            agenda.set(w.arrive, at);
        }
        if !p.ack && from < self.ports.len() as u32 {
            self.ports[from as usize].asked -= p.payload as u64;
            self.pump(from, now, agenda);
        }
    }

    /// Blocks of a buffer are free.
    #[inline]
    fn release(&mut self, on: u32, lane: u8, blocks: u16, now: u64, agenda: &mut Agenda) {
        let Some(blocks) = self.wires[on as usize].release(lane, blocks) else { return };
        let at = self.wires[(on ^ 1) as usize].send_credit(now);
        self.seen(Act::Credit(on, lane, blocks, at), now, agenda);
        let w = &mut self.wires[on as usize];
        if w.credit_sent(at, lane, blocks) {
            agenda.by(w.tx, at);
        }
    }

    /// What ports tell their stations on Ethernet.
    #[inline]
    pub(in crate::sim) fn commands(&mut self) -> &mut Vec<(NodeId, StationCommand)> {
        &mut self.commands
    }

    /// Messages of NVMe over Fabrics that have come.
    pub(in crate::sim) fn told(&mut self) -> &mut Vec<u32> {
        &mut self.told
    }

    /// A station tells something.
    pub(in crate::sim) fn on_station_event(&mut self, event: StationEvent, now: u64, agenda: &mut Agenda) {
        match event {
            StationEvent::Came(id) => self.receive(NONE, id, now, agenda),
            StationEvent::Left(id) => {
                let p = &self.packets.all[id as usize];
                let (payload, port) = (p.payload as u64, self.messages.all[p.message as usize].from);
                self.ports[port as usize].asked -= payload;
                self.pump(port, now, agenda);
            }
        }
        self.arm(agenda);
    }

    /// What adapters want of their hosts' buses: taken out.
    pub(in crate::sim) fn asked(&mut self) -> &mut Vec<(DmaPath, Transfer)> {
        &mut self.asked
    }

    /// DMA is done, now or at a moment to come.
    pub(in crate::sim) fn done(&mut self, token: u32, at: u64, now: u64, agenda: &mut Agenda) {
        let job = token & !OWN;
        if at > now {
            self.plan_at(at, Event::Dma(job));
        } else {
            self.over(job, now, agenda);
        }
        self.arm(agenda);
    }

    /// Steps of all programs so far: work beside that of packets.
    pub(in crate::sim) fn steps(&self) -> u64 {
        self.runs.iter().map(|r| r.machine.steps()).sum()
    }

    /// When all ranks of all programs had ended; `None` while any goes on, or where there is no program.
    pub(in crate::sim) fn ended(&self) -> Option<u64> {
        let all = !self.runs.is_empty() && self.runs.iter().all(|r| r.machine.is_done());
        all.then(|| self.runs.iter().map(|r| r.machine.time()).max().unwrap_or(0))
    }

    /// What a program has come to.
    fn program(&self, run: usize) -> ProgramReport {
        let job = &self.plan.jobs[run];
        ProgramReport::of(&job.name, &job.job, &self.runs[run].machine)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostics;
    use crate::library::Library;
    use crate::scenario::{Included, tree::Author};
    use crate::sim::{Run, Step};

    #[test]
    fn no_buffer_holds_more_than_it_can() {
        let text = "[parts.node]\nis = \"channel-adapter\"\ncount = 4\nreceive_buffer = \"5000 B\"\n[parts.sw]\nis = \
            \"infiniband-switch\"\nbuffer = \"4500 B\"\n\
            [links.cable]\nbetween = [\"node.*\", \"sw\"]\ninfiniband = \"sdr 4x\"\nlanes = 2\n\
            [flows.job]\ndo = \"mpi\"\nranks = [\"node.*\"]\nlane = 1\nprogram = \"alltoall 20 KiB\"\n";
        let mut d = Diagnostics::default();
        let included = Included { name: "t.toml".into(), text: text.into(), author: Author::User };
        let plan = crate::plan(&mut d, included, &[], &Library).expect("a plan");
        let mut run = Run::new(&plan, 1, &mut d).expect("a run");
        let mut most = 0;
        while run.advance(1) != Step::Done {
            for w in &run.system.infiniband.wires {
                let (used, whole) = w.buffer(1);
                assert!(used <= whole);
                assert_eq!(w.buffer(0).0, 0, "another lane's");
                most = most.max(used * 100 / whole);
            }
        }
        assert!(most > 90, "{most} % in use at most");
        // All is free again, but for what is not worth telling.
        assert!(run.system.infiniband.wires.iter().all(|w| w.buffer(1).0 == 0));
    }
}
