//! A parallel SCSI bus: an adapter and its targets win it in the order in which they ask, for one connection each.
//!
//! A command comes in one connection; its data in bursts, each after a reselection of its own; its status with the last
//! burst, or alone where a write waits for the media. Between connections the bus is free for others.

use crate::protocol::scsi::{self, BusPolicy, Direction, Held};
use crate::result::{Idle, SlotCounts};
use crate::scenario::keys::ScsiLink;
use crate::sim::core::clock::Clock;
use crate::sim::storage::{Event, Fabric, Job, Link, Owner};
use std::collections::VecDeque;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has to be brought.
    Command,
    /// Its data have to move.
    Data,
    /// Its status is left.
    Status,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    task: u32,
    bytes: u64,
    status: bool,
}

/// A bus and who waits for it.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    bus: &'static scsi::Bus,
    policy: BusPolicy,
    burst: u64,
    clock: Clock,
    /// The first slot (a byte's time at the full rate) that is not accounted for.
    next: u64,
    queue: VecDeque<u32>,
    current: Option<Connection>,
    pub(super) counts: SlotCounts,
}

impl Bus {
    pub(super) fn new(keys: &ScsiLink, policy: BusPolicy) -> Bus {
        let bus = keys.scsi.typical.0;
        Bus {
            bus,
            policy,
            burst: keys.burst.typical.0,
            clock: Clock::new(bus.peak()),
            next: 0,
            queue: VecDeque::new(),
            current: None,
            counts: SlotCounts::default(),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Connections that may begin in such a time, at most: none is shorter than one that moves nothing.
    pub(super) fn most_packets(&self, span: u64) -> u64 {
        let Bus { bus, policy, .. } = self;
        let bursts = [Direction::In, Direction::Out].map(|way| scsi::burst(bus, policy, way, 0, false));
        let all = [scsi::command(bus, policy), scsi::status(bus, policy)].into_iter().chain(bursts);
        span / all.map(|held| held.total().fs()).min().unwrap_or(0).max(1) + 1
    }

    /// Accounts for the time since the last connection.
    pub(super) fn settle(&mut self, now: u64) {
        if self.current.is_some() {
            // It is booked up to its end.
            return;
        }
        let slot = self.clock.slot(now);
        if slot > self.next {
            self.counts.idle[Idle::NothingToSend as usize] += slot - self.next;
            self.next = slot;
        }
    }

    /// Accounts for a connection up to its end. What is neither data nor arbitration nor selection is command,
    /// messages, status, CRC.
    fn book(&mut self, held: &Held, bytes: u64, end: u64) {
        let slots = self.clock.slot(end).saturating_sub(self.next);
        let part = |fs: u64| (fs as u128 * slots as u128 / held.total().fs().max(1) as u128) as u64;
        let data = bytes.min(slots);
        let won = part(held.arbitration.fs() + held.selection.fs()).min(slots - data);
        self.counts.payload += data;
        self.counts.arbitration += won;
        self.counts.framing += slots - data - won;
        self.counts.tlps += 1;
        self.counts.data_tlps += (bytes > 0) as u64;
        self.next += slots;
    }
}

impl Fabric {
    fn bus(&mut self, link: u32) -> Option<&mut Bus> {
        match self.links.get_mut(link as usize) {
            Some(Link::Scsi(b)) => Some(b),
            _ => None,
        }
    }

    /// A task wants the bus for what comes next.
    pub(super) fn wants(&mut self, task: u32, now: u64) {
        let link = self.targets[self.tasks.all[task as usize].target as usize].transport;
        if let Some(b) = self.bus(link) {
            b.queue.push_back(task);
            self.grant(link, now);
        }
    }

    /// Gives a free bus to who has waited longest.
    fn grant(&mut self, link: u32, now: u64) {
        let Some(Link::Scsi(b)) = self.links.get_mut(link as usize) else { return };
        if b.current.is_some() {
            return;
        }
        let Some(task) = b.queue.pop_front() else { return };
        let t = &self.tasks.all[task as usize];
        let name = match t.phase {
            Phase::Command => "command",
            Phase::Status => "status",
            Phase::Data if t.read => "data in",
            Phase::Data => "data out",
        };
        let (held, bytes, status) = match t.phase {
            Phase::Command => (scsi::command(b.bus, &b.policy), 0, false),
            Phase::Status => (scsi::status(b.bus, &b.policy), 0, true),
            Phase::Data => {
                let bytes = (t.size - t.sent).min(b.burst);
                let last = t.sent + bytes == t.size;
                let status = last && !b.policy.status_alone && (t.read || t.service.early || t.service.end <= now);
                let way = if t.read { Direction::In } else { Direction::Out };
                (scsi::burst(b.bus, &b.policy, way, bytes, status), bytes, status)
            }
        };
        b.settle(now);
        b.current = Some(Connection { task, bytes, status });
        let end = now.saturating_add(held.total().fs());
        b.book(&held, bytes, end);
        self.plan_at(end, Event::Bus(link));
        self.seen(link, 0, name, (now, end), bytes);
    }

    /// A connection is over.
    pub(super) fn connection_over(&mut self, link: u32, now: u64) {
        let Some(Connection { task, bytes, status }) = self.bus(link).and_then(|b| b.current.take()) else { return };
        let t = &mut self.tasks.all[task as usize];
        match t.phase {
            Phase::Command => {
                t.phase = Phase::Data;
                let (read, offset, size, target) = (t.read, t.offset, t.size, t.target);
                let service = self.targets[target as usize].device.serve(read, offset, size, now);
                self.tasks.all[task as usize].service = service;
                self.next_burst(link, task, now);
            }
            Phase::Data => {
                t.sent += bytes;
                t.arrived += bytes;
                let (owner, read, more) = (t.owner, t.read, t.sent < t.size);
                if !read {
                    t.landed = t.arrived;
                }
                self.first_data(task, now);
                if let (Owner::Io(io), false) = (owner, read) {
                    self.delivered(io, bytes, now);
                }
                if read {
                    match owner {
                        Owner::Io(_) | Owner::Beside(_) | Owner::Remote(_) => {
                            self.dma(Job::Frame { task, bytes: bytes as u32 }, now)
                        }
                        Owner::Part(_) => self.through_cache(task, bytes, now),
                        Owner::Stripe(..) => self.landed(task, bytes, now),
                    }
                }
                if more {
                    self.next_burst(link, task, now);
                } else if status {
                    self.task_answered(task, now);
                } else {
                    let t = &mut self.tasks.all[task as usize];
                    t.phase = Phase::Status;
                    let at = t.service.end.max(now);
                    self.plan_at(at, Event::Wants(task));
                }
            }
            Phase::Status => self.task_answered(task, now),
        }
        self.grant(link, now);
    }

    /// When the next burst of a task can go: a read's when the target has it, a write's when the target takes it and
    /// the adapter has it.
    fn next_burst(&mut self, link: u32, task: u32, now: u64) {
        let Some(burst) = self.bus(link).map(|b| b.burst) else { return };
        let t = &mut self.tasks.all[task as usize];
        let bytes = (t.size - t.sent).min(burst);
        if t.read {
            let at = t.service.ready(t.sent + bytes).max(now);
            self.plan_at(at, Event::Wants(task));
        } else if let Owner::Io(_) = t.owner {
            t.fetched += bytes;
            self.dma(Job::Out { task, bytes: bytes as u32 }, now);
        } else {
            let at = t.service.begin.max(now);
            self.plan_at(at, Event::Wants(task));
        }
    }

    /// A write's next burst has come from host memory.
    pub(super) fn burst_fetched(&mut self, task: u32, bytes: u64, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        t.ready += bytes;
        let at = t.service.begin.max(now);
        self.plan_at(at, Event::Wants(task));
    }
}
