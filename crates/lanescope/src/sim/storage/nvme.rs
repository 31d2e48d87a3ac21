//! NVMe in a run: what a host and a controller do for a command beside moving its data, TLP by TLP.
//!
//! A worker puts commands into one of its queue pairs and rings; the controller fetches those that were rung for, as
//! many at once as it may, deals with each, and lets the drive behind it work. Data of a read go to host memory as they
//! come from the drive, and the completion entry right behind them: the writes of a controller stay in order, so it is
//! never there before its data. An interrupt goes behind the entries that it stands for. A worker that polls sees an
//! entry when it is in memory.

use crate::plan::storage::{self, Controller as Planned};
use crate::plan::{Dma, DmaPath};
use crate::protocol::nvme;
use crate::scenario::quantity::Corner;
use crate::sim::core::source::Transfer;
use crate::sim::storage::{Event, Fabric, Io, Job, Owner, Server};
use std::collections::VecDeque;

/// Data that one transfer moves at most: those of a read that are at hand, those of a write that are asked for at once.
const PIECE: u64 = 16 << 10;

/// A step of a command that some DMA is for. A queue pair is known by its controller and its number there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// A doorbell for so many commands.
    Rings { adapter: u32, pair: u32, commands: u32 },
    /// So many commands.
    Commands { adapter: u32, pair: u32, commands: u32 },
    /// The PRP lists of a command.
    Lists { task: u32 },
    /// Data of a read.
    In { task: u32, bytes: u32 },
    /// Data of a write.
    Out { task: u32, bytes: u32 },
    /// The completion entry of a command.
    Entry { adapter: u32, task: u32 },
    /// An interrupt for so many entries.
    Interrupt { adapter: u32, pair: u32, entries: u32 },
    /// A doorbell for entries that were taken out.
    Taken,
}

/// A queue pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    /// What its commands take of the controller, one after the other.
    pub(super) server: Server,
    /// Commands that it holds, and those that wait in the host for a free entry.
    held: u32,
    waiting: VecDeque<u32>,
    /// Commands in it that were not rung for, whose doorbell is on its way, and that are not fetched.
    unrung: Vec<u32>,
    ringing: VecDeque<u32>,
    rung: VecDeque<u32>,
    fetching: VecDeque<u32>,
    /// Entries without an interrupt yet, the earliest first, and until when the oldest waits for others.
    posted: VecDeque<u32>,
    unannounced: u32,
    until: u64,
    /// Entries that were taken out since the head was rung for.
    taken: u32,
}

/// A controller's queues, and the data on their way.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) pairs: Vec<Pair>,
    room: u32,
    queue_time: u64,
    fetched: u32,
    largest: u64,
    coalesced: u32,
    coalesce_time: u64,
    doorbell: u64,
    /// Commands, lists, data out; data in, entries, interrupts; doorbells.
    commands: DmaPath,
    lists: DmaPath,
    entries: DmaPath,
    interrupts: DmaPath,
    doorbells: DmaPath,
    data: [DmaPath; 2],
    /// For the lists of a command of so many bytes.
    planned: Planned,
    /// Bytes of data on their way out of host memory and into it, and what its buffer has room for, each way.
    moving: [u64; 2],
    buffer: u64,
    /// Data that wait for room: of which command, and up to which byte.
    stalled: [VecDeque<(u32, u64)>; 2],
}

/// How a flow uses its queue pairs at a drive.
#[derive(Clone, Debug)]
pub(super) struct Uses {
    adapter: u32,
    target: u32,
    pairs: Vec<u32>,
    turn: usize,
    polls: bool,
    batch: u32,
    /// Queue pairs with commands of its that may not have been rung for, and with entries taken out that may not.
    put: Vec<u32>,
    taken: Vec<u32>,
}

impl Uses {
    /// Those of a flow: at its drive, or at each drive of its array.
    pub(super) fn of(storage: &storage::Storage, flow: &storage::IoFlow) -> Vec<Uses> {
        let target = |i: usize| match flow.volume {
            storage::Volume::Target(t) => t,
            storage::Volume::Array(a) => storage.arrays[a as usize].disks[i],
            storage::Volume::Station(_) => u32::MAX,
        };
        let one = |(i, queues): (usize, &storage::HostQueues)| {
            let controller = storage.adapters[queues.adapter as usize].controller()?;
            Some(Uses {
                adapter: queues.adapter,
                target: target(i),
                pairs: controller.pairs(queues).collect(),
                turn: 0,
                polls: queues.polls(),
                batch: queues.batch.typical.get(),
                put: Vec::new(),
                taken: Vec::new(),
            })
        };
        flow.queues.iter().enumerate().filter_map(one).collect()
    }
}

/// Notes a queue pair, once: there are few that wait at a time.
fn note(list: &mut Vec<u32>, pair: u32) {
    if !list.contains(&pair) {
        list.push(pair);
    }
}

const TYPICAL: Corner = Corner::Typical;

impl Controller {
    pub(super) fn new(planned: &Planned, dma: Dma, buffer: u64, pairs: u32) -> Controller {
        let k = &planned.keys;
        let [read, write] = dma.paths();
        let (coalesced, time) = planned.coalescing(TYPICAL);
        Controller {
            pairs: vec![Pair::default(); pairs as usize],
            room: planned.room(TYPICAL).max(1),
            queue_time: k.queue_time.typical.fs(),
            fetched: k.commands_fetched.typical.get(),
            largest: k.max_transfer.typical.0.max(1),
            coalesced,
            coalesce_time: time.fs(),
            doorbell: planned.doorbell(),
            commands: DmaPath::Pcie(planned.commands),
            lists: DmaPath::Pcie(planned.lists),
            entries: DmaPath::Pcie(planned.entries),
            interrupts: DmaPath::Pcie(planned.interrupts),
            doorbells: DmaPath::Pcie(planned.doorbells),
            data: [read, write],
            planned: planned.clone(),
            moving: [0; 2],
            buffer: buffer.max(PIECE),
            stalled: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// Mean time that its queue pairs have worked before a moment, fs.
    pub(super) fn worked(&self, now: u64) -> u64 {
        let sum: u128 = self.pairs.iter().map(|p| u128::from(p.server.worked(now))).sum();
        (sum / self.pairs.len().max(1) as u128) as u64
    }
}

impl Fabric {
    fn controller(&mut self, adapter: u32) -> Option<&mut Controller> {
        self.adapters.get_mut(adapter as usize)?.controller.as_deref_mut()
    }

    fn controller_of(&self, task: u32) -> u32 {
        self.targets[self.tasks.all[task as usize].target as usize].adapter
    }

    /// Asks for DMA by a way.
    fn asks(&mut self, way: DmaPath, bytes: u64, step: Move, now: u64) {
        if bytes == 0 {
            self.stepped(step, now);
            return;
        }
        let token = self.jobs.add(Job::Nvme(step));
        self.asked.push((way, Transfer { bytes, token, born: now, control: false }));
    }

    /// A step's DMA is done.
    pub(super) fn stepped(&mut self, step: Move, now: u64) {
        match step {
            Move::Rings { adapter, pair, commands } => {
                let Some(c) = self.controller(adapter) else { return };
                let p = &mut c.pairs[pair as usize];
                let come = p.ringing.drain(..commands as usize);
                p.rung.extend(come);
                self.fetch_commands(adapter, pair, now);
            }
            Move::Commands { adapter, pair, commands } => {
                for _ in 0..commands {
                    let Some(c) = self.controller(adapter) else { return };
                    let (time, p) = (c.queue_time, &mut c.pairs[pair as usize]);
                    let Some(task) = p.fetching.pop_front() else { return };
                    let at = p.server.work(time, now);
                    if at > now {
                        self.plan_at(at, Event::Queued(task));
                    } else {
                        self.queued(task, now);
                    }
                }
            }
            Move::Lists { task } => {
                self.tasks.all[task as usize].lists = false;
                let t = &self.tasks.all[task as usize];
                match t.read {
                    // It knows now what to deallocate.
                    _ if t.trim => self.flash_command(task, now),
                    true => self.data_in(task, now),
                    // Once the drive has room for it.
                    false if t.wanted => self.data_out_of_memory(task, now),
                    false => {}
                }
            }
            Move::In { task, bytes } => {
                let adapter = self.controller_of(task);
                let t = &mut self.tasks.all[task as usize];
                if let Owner::Part(_) = t.owner {
                    // Landed is what is in the host's memory, not in the RAID controller's.
                    self.through_cache(task, bytes.into(), now);
                } else {
                    t.landed += u64::from(bytes);
                    if let Owner::Io(io) = t.owner {
                        self.delivered(io, bytes.into(), now);
                    }
                }
                self.goes_on(adapter, 1, bytes.into(), now);
            }
            Move::Out { task, bytes } => {
                let adapter = self.controller_of(task);
                self.tasks.all[task as usize].arrived += u64::from(bytes);
                self.flash_data(task, bytes.into(), now);
                self.goes_on(adapter, 0, bytes.into(), now);
            }
            Move::Entry { adapter, task } => {
                if self.polled(task) {
                    self.command_done(adapter, task, now);
                }
            }
            Move::Interrupt { adapter, pair, entries } => {
                for _ in 0..entries {
                    let Some(c) = self.controller(adapter) else { return };
                    let Some(task) = c.pairs[pair as usize].posted.pop_front() else { return };
                    self.command_done(adapter, task, now);
                }
            }
            Move::Taken => {}
        }
    }

    fn polled(&self, task: u32) -> bool {
        let (Owner::Io(io) | Owner::Beside(io)) = self.tasks.all[task as usize].owner else { return true };
        self.flows[self.ios.all[io as usize].flow as usize].uses.first().is_none_or(|u| u.polls)
    }

    /// An I/O of a drive has left its worker's processor.
    pub(super) fn enqueue(&mut self, io: u32, now: u64) {
        let Io { flow, read, offset, size, .. } = self.ios.all[io as usize];
        self.put(Owner::Io(io), 0, read, (offset, size), now);
        self.rings(flow, now);
    }

    /// Commands of an I/O for a drive, as large as the controller takes them, go into one of the worker's queue pairs.
    pub(super) fn put(&mut self, owner: Owner, drive: usize, read: bool, (offset, all): (u64, u64), now: u64) {
        let (Owner::Io(io) | Owner::Beside(io)) = owner else { return };
        let flow = self.ios.all[io as usize].flow;
        let Some(uses) = self.flows[flow as usize].uses.get_mut(drive) else { return };
        let (adapter, target, batch, pair) = (uses.adapter, uses.target, uses.batch, uses.pairs[uses.turn]);
        uses.turn = (uses.turn + 1) % uses.pairs.len();
        note(&mut uses.put, pair);
        let Some(c) = self.controller(adapter) else { return };
        let (largest, room) = (c.largest, c.room);
        let mut at = 0;
        let trim = self.ios.all[io as usize].trim;
        while at < all {
            // A range to be deallocated has no data: no transfer limits it.
            let size = if trim { all } else { largest.min(all - at) };
            let task = self.new_task(owner, target, read, offset + at, size);
            (self.tasks.all[task as usize].pair, self.tasks.all[task as usize].trim) = (pair, trim);
            self.ios.all[io as usize].tasks += 1;
            let Some(c) = self.controller(adapter) else { return };
            let p = &mut c.pairs[pair as usize];
            if p.held < room {
                p.held += 1;
                p.unrung.push(task);
            } else {
                p.waiting.push_back(task);
            }
            at += size;
        }
        // For the last of them it rings when it has nothing more to put in.
        if self.flows[flow as usize].submitting > 1 {
            self.ring(adapter, pair, batch, now);
        }
    }

    /// The largest command of an adapter's drive, if it is an NVMe controller.
    pub(super) fn largest(&self, adapter: u32) -> u64 {
        self.adapters[adapter as usize].controller.as_ref().map_or(u64::MAX, |c| c.largest)
    }

    /// A command of a RAID controller's array, or of a target's host, goes into the queue that it has at the drive, and
    /// it rings for it.
    pub(super) fn put_one(&mut self, task: u32, now: u64) {
        let (adapter, pair) = (self.controller_of(task), self.tasks.all[task as usize].pair);
        let Some(c) = self.controller(adapter) else { return };
        let (room, p) = (c.room, &mut c.pairs[pair as usize]);
        if p.held >= room {
            p.waiting.push_back(task);
            return;
        }
        p.held += 1;
        p.unrung.push(task);
        self.ring(adapter, pair, 1, now);
    }

    /// A worker has put an I/O's commands in: with nothing more to put in it rings for all.
    pub(super) fn rings(&mut self, flow: u32, now: u64) {
        let f = &mut self.flows[flow as usize];
        f.submitting -= 1;
        if f.submitting > 0 {
            return;
        }
        for drive in 0..f.uses.len() {
            while let Some((adapter, pair)) = {
                let uses = &mut self.flows[flow as usize].uses[drive];
                uses.put.pop().map(|pair| (uses.adapter, pair))
            } {
                self.ring(adapter, pair, 1, now);
            }
        }
    }

    /// Rings for the commands of a queue, if there are at least so many.
    fn ring(&mut self, adapter: u32, pair: u32, least: u32, now: u64) {
        let Some(c) = self.controller(adapter) else { return };
        let (way, bytes, p) = (c.doorbells, c.doorbell, &mut c.pairs[pair as usize]);
        let commands = p.unrung.len() as u32;
        if commands < least.max(1) {
            return;
        }
        p.ringing.extend(p.unrung.drain(..));
        self.asks(way, bytes, Move::Rings { adapter, pair, commands }, now);
    }

    /// The controller fetches what it has been rung for.
    fn fetch_commands(&mut self, adapter: u32, pair: u32, now: u64) {
        loop {
            let Some(c) = self.controller(adapter) else { return };
            let (way, most, p) = (c.commands, c.fetched, &mut c.pairs[pair as usize]);
            let commands = most.min(p.rung.len() as u32);
            if commands == 0 {
                return;
            }
            let some = p.rung.drain(..commands as usize);
            p.fetching.extend(some);
            let bytes = u64::from(commands) * nvme::COMMAND;
            self.asks(way, bytes, Move::Commands { adapter, pair, commands }, now);
        }
    }

    /// Its queue's turn is over: the controller deals with it, and reads its lists.
    pub(super) fn queued(&mut self, task: u32, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        let (size, trim, adapter) = (t.size, t.trim, self.targets[t.target as usize].adapter);
        if let Owner::Io(io) | Owner::Beside(io) = t.owner {
            let i = &mut self.ios.all[io as usize];
            // Of an array the first of its commands counts: others may follow those that read.
            if matches!(self.flows[i.flow as usize].volume, storage::Volume::Target(_)) || i.marks[2] == i.marks[0] {
                i.marks[2] = now;
            }
        }
        let Some(c) = self.controller(adapter) else { return };
        if trim {
            let way = c.lists;
            self.asks(way, nvme::RANGE, Move::Lists { task }, now);
            return;
        }
        let (way, bytes) = (c.lists, c.planned.lists(TYPICAL, size));
        if bytes > 0 {
            self.tasks.all[task as usize].lists = true;
            self.asks(way, bytes, Move::Lists { task }, now);
        }
        self.flash_command(task, now);
    }

    /// Sends what the drive has of a read to host memory, as far as the buffer has room, and the entry behind it.
    pub(super) fn data_in(&mut self, task: u32, now: u64) {
        self.in_turn(task, 1, now);
    }

    /// Asks host memory for the data of a write, as far as the buffer has room.
    pub(super) fn data_out_of_memory(&mut self, task: u32, now: u64) {
        self.tasks.all[task as usize].wanted = true;
        self.in_turn(task, 0, now);
    }

    /// Data that wait for room keep those that come later behind them, of whichever command and however few.
    fn in_turn(&mut self, task: u32, way: usize, now: u64) {
        let t = &self.tasks.all[task as usize];
        if t.lists {
            return;
        }
        let (upto, adapter) = (if way == 1 { t.ready } else { t.size }, self.controller_of(task));
        if self.controller(adapter).is_some_and(|c| !c.stalled[way].is_empty()) || !self.moves((task, upto), way, now) {
            let Some(c) = self.controller(adapter) else { return };
            c.stalled[way].push_back((task, upto));
        }
    }

    /// Moves data of a command up to a byte, as far as the buffer has room; whether it has.
    fn moves(&mut self, (task, upto): (u32, u64), way: usize, now: u64) -> bool {
        let adapter = self.controller_of(task);
        loop {
            let t = self.tasks.all[task as usize];
            let moved = if way == 1 { t.sent } else { t.fetched };
            let bytes = upto.saturating_sub(moved).min(PIECE);
            if bytes == 0 {
                return true;
            }
            let Some(c) = self.controller(adapter) else { return true };
            if c.moving[way] + bytes > c.buffer {
                return false;
            }
            c.moving[way] += bytes;
            let path = c.data[way];
            self.first_data(task, now);
            let t = &mut self.tasks.all[task as usize];
            if way == 0 {
                t.fetched += bytes;
                self.asks(path, bytes, Move::Out { task, bytes: bytes as u32 }, now);
                continue;
            }
            t.sent += bytes;
            let all = t.sent == t.size;
            self.asks(path, bytes, Move::In { task, bytes: bytes as u32 }, now);
            if all {
                self.entry(task, now);
                return true;
            }
        }
    }

    /// The buffer has room again: who was first goes on first.
    fn goes_on(&mut self, adapter: u32, way: usize, bytes: u64, now: u64) {
        let Some(c) = self.controller(adapter) else { return };
        c.moving[way] -= bytes;
        while let Some(first) = self.controller(adapter).and_then(|c| c.stalled[way].front().copied()) {
            if !self.moves(first, way, now) {
                return;
            }
            let Some(c) = self.controller(adapter) else { return };
            c.stalled[way].pop_front();
        }
    }

    /// A command is done: its entry goes to host memory, and behind it an interrupt, at once or when enough have come.
    pub(super) fn entry(&mut self, task: u32, now: u64) {
        let adapter = self.controller_of(task);
        let (pair, polled) = (self.tasks.all[task as usize].pair, self.polled(task));
        let Some(c) = self.controller(adapter) else { return };
        let way = c.entries;
        self.asks(way, nvme::COMPLETION, Move::Entry { adapter, task }, now);
        if polled {
            return;
        }
        let Some(c) = self.controller(adapter) else { return };
        let (most, time) = (c.coalesced, c.coalesce_time);
        let p = &mut c.pairs[pair as usize];
        p.posted.push_back(task);
        p.unannounced += 1;
        if p.unannounced >= most {
            self.interrupt(adapter, pair, now);
        } else if p.unannounced == 1 {
            p.until = now.saturating_add(time);
            let at = p.until;
            self.plan_at(at, Event::Coalesced(adapter, pair));
        }
    }

    /// Entries have waited for others for as long as they may.
    pub(super) fn coalesced(&mut self, adapter: u32, pair: u32, now: u64) {
        let due = |p: &Pair| p.unannounced > 0 && p.until <= now;
        if self.controller(adapter).is_some_and(|c| due(&c.pairs[pair as usize])) {
            self.interrupt(adapter, pair, now);
        }
    }

    fn interrupt(&mut self, adapter: u32, pair: u32, now: u64) {
        let Some(c) = self.controller(adapter) else { return };
        let (way, entries) = (c.interrupts, std::mem::take(&mut c.pairs[pair as usize].unannounced));
        self.asks(way, nvme::INTERRUPT, Move::Interrupt { adapter, pair, entries }, now);
    }

    /// The host sees that a command is done: its entry of the queue is free for one that waits.
    fn command_done(&mut self, adapter: u32, task: u32, now: u64) {
        let t = self.tasks.all[task as usize];
        let (Owner::Io(io) | Owner::Beside(io)) = t.owner else {
            self.command_of_others_done(adapter, task, now);
            return;
        };
        self.tasks.remove(task);
        let Some(c) = self.controller(adapter) else { return };
        let p = &mut c.pairs[t.pair as usize];
        p.held -= 1;
        p.taken += 1;
        if let Some(next) = p.waiting.pop_front() {
            p.held += 1;
            p.unrung.push(next);
            self.ring(adapter, t.pair, 1, now);
        }
        let i = &mut self.ios.all[io as usize];
        i.tasks -= 1;
        let (flow, over) = (i.flow, i.tasks == 0);
        let uses = &mut self.flows[flow as usize].uses;
        if let Some(uses) = uses.iter_mut().find(|u| u.adapter == adapter) {
            note(&mut uses.taken, t.pair);
        }
        match self.volume(flow) {
            _ if !over => {}
            storage::Volume::Array(array) => self.spread_over(array, io, now),
            _ => {
                debug_assert_eq!(self.ios.all[io as usize].left, 0, "an entry that came before its data");
                self.answered(io, now);
            }
        }
    }

    /// The same of a RAID controller's own command, or a target's: who gave it takes the entry out and rings for the
    /// head.
    fn command_of_others_done(&mut self, adapter: u32, task: u32, now: u64) {
        let (pair, owner) = (self.tasks.all[task as usize].pair, self.tasks.all[task as usize].owner);
        let Some(c) = self.controller(adapter) else { return };
        let (way, bytes, p) = (c.doorbells, c.doorbell, &mut c.pairs[pair as usize]);
        p.held -= 1;
        if let Some(next) = p.waiting.pop_front() {
            p.held += 1;
            p.unrung.push(next);
            self.ring(adapter, pair, 1, now);
        }
        self.asks(way, bytes, Move::Taken, now);
        if let Owner::Remote(command) = owner {
            self.tasks.remove(task);
            self.drive_done(command, now);
        } else {
            self.task_answered(task, now);
        }
    }

    /// A worker is done with an I/O: when it has nothing more to take out, or enough, it rings for the heads.
    pub(super) fn taken_out(&mut self, flow: u32, now: u64) {
        let f = &mut self.flows[flow as usize];
        if f.uses.is_empty() {
            return;
        }
        f.completing -= 1;
        let idle = f.completing == 0;
        for drive in 0..f.uses.len() {
            let uses = &mut self.flows[flow as usize].uses[drive];
            if uses.taken.is_empty() {
                continue;
            }
            let (adapter, least) = (uses.adapter, if idle { 1 } else { uses.batch });
            let mut pairs = std::mem::take(&mut uses.taken);
            pairs.retain(|pair| {
                let Some(c) = self.controller(adapter) else { return false };
                let (way, bytes, p) = (c.doorbells, c.doorbell, &mut c.pairs[*pair as usize]);
                if p.taken == 0 || p.taken >= least {
                    let rings = std::mem::take(&mut p.taken) > 0 && bytes > 0;
                    if rings {
                        self.asks(way, bytes, Move::Taken, now);
                    }
                    return false;
                }
                true
            });
            self.flows[flow as usize].uses[drive].taken = pairs;
        }
    }
}
