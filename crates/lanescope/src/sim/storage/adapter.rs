//! An adapter: it fetches commands, sends them on, moves data between its ports and host memory, and reports what is
//! done.

use crate::plan::DmaPath;
use crate::plan::storage::{self, AdapterKind, Service, Unit, Volume};
use crate::sim::core::source::Transfer;
use crate::sim::storage::nvme::Controller;
use crate::sim::storage::scsi::Phase;
use crate::sim::storage::ssd::Progress;
use crate::sim::storage::{Event, Fabric, Io, Job, Link, Owner, Server, Task};

/// An adapter's own parts.
#[derive(Clone, Debug)]
pub(super) struct Adapter {
    /// Reads of host memory, and writes.
    ways: [DmaPath; 2],
    /// Its processor, its cache memory, and what works out parity.
    pub(super) processor: Server,
    pub(super) memory: Server,
    pub(super) parity: Server,
    command_time: u64,
    /// Of its processor for each command of an array.
    drive_command: u64,
    command_bytes: u64,
    status_bytes: u64,
    /// Its queues, where it is an NVMe controller.
    pub(super) controller: Option<Box<Controller>>,
}

impl Adapter {
    pub(super) fn new(storage: &storage::Storage, at: u32) -> Adapter {
        let adapter = &storage.adapters[at as usize];
        let own = Adapter {
            ways: adapter.dma.paths(),
            processor: Server::default(),
            memory: Server::default(),
            parity: Server::default(),
            command_time: 0,
            drive_command: 0,
            command_bytes: 0,
            status_bytes: 0,
            controller: None,
        };
        match &adapter.kind {
            AdapterKind::Host(k) => Adapter {
                memory: Server::new(k.memory_bandwidth.as_ref().map(|q| q.typical)),
                parity: Server::new(k.xor_rate.as_ref().map(|q| q.typical)),
                command_time: k.command_time.typical.fs(),
                drive_command: k.drive_command_time.as_ref().map_or(0, |q| q.typical.fs()),
                command_bytes: k.command_bytes.typical.0,
                status_bytes: k.status_bytes.typical.0,
                ..own
            },
            AdapterKind::Nvme(k) => {
                let of_arrays = storage.arrays.iter().flat_map(|a| &a.queues);
                let queues = storage
                    .flows
                    .iter()
                    .flat_map(|f| f.queues_at_drives())
                    .chain(of_arrays)
                    .filter(|q| q.adapter == at);
                let pairs = queues.flat_map(|q| k.pairs(q)).max().map_or(0, |p| p + 1);
                let target = storage.targets.iter().find(|t| storage.transports[t.transport as usize].adapter == at);
                let buffer = target.map_or(0, |t| t.device.port_buffer().0);
                Adapter { controller: Some(Box::new(Controller::new(k, adapter.dma, buffer, pairs))), ..own }
            }
        }
    }
}

impl Adapter {
    /// Time that its processor (of NVMe its queue pairs, the mean of all), memory and parity engine have worked, fs.
    pub(super) fn worked(&self, now: u64) -> [u64; 3] {
        let first = self.controller.as_ref().map_or_else(|| self.processor.worked(now), |c| c.worked(now));
        [first, self.memory.worked(now), self.parity.worked(now)]
    }
}

impl Fabric {
    fn adapter_of(&self, job: Job) -> u32 {
        match job {
            Job::Command { io } | Job::FromCache { io, .. } | Job::ToCache { io, .. } | Job::Status { io } => {
                self.flows[self.ios.all[io as usize].flow as usize].adapter
            }
            Job::Frame { task, .. } | Job::Out { task, .. } => {
                self.targets[self.tasks.all[task as usize].target as usize].adapter
            }
            // It knows its ways itself.
            Job::Nvme(_) => 0,
        }
    }

    /// Asks for DMA over the host's bus.
    pub(super) fn dma(&mut self, job: Job, now: u64) {
        let adapter = &self.adapters[self.adapter_of(job) as usize];
        let (writes, bytes) = match job {
            Job::Command { .. } => (false, adapter.command_bytes),
            Job::Out { bytes, .. } | Job::ToCache { bytes, .. } => (false, bytes as u64),
            Job::Frame { bytes, .. } | Job::FromCache { bytes, .. } => (true, bytes as u64),
            Job::Status { .. } => (true, adapter.status_bytes),
            Job::Nvme(_) => (false, 0),
        };
        if bytes == 0 {
            self.moved(job, now);
            return;
        }
        let way = adapter.ways[writes as usize];
        let token = self.jobs.add(job);
        self.asked.push((way, Transfer { bytes, token, born: now, control: false }));
    }

    /// DMA is done, now or at a moment to come.
    pub(in crate::sim) fn done(&mut self, token: u32, at: u64, now: u64) {
        if at > now {
            self.plan_at(at, Event::Dma(token));
        } else {
            self.over(token, now);
        }
    }

    pub(super) fn over(&mut self, token: u32, now: u64) {
        let job = self.jobs.remove(token);
        self.moved(job, now);
    }

    fn moved(&mut self, job: Job, now: u64) {
        match job {
            Job::Command { io } => {
                let adapter = self.flows[self.ios.all[io as usize].flow as usize].adapter as usize;
                let a = &mut self.adapters[adapter];
                let at = a.processor.work(a.command_time, now);
                self.plan_at(at, Event::Processed(io));
            }
            Job::Frame { task, bytes } => {
                let link = self.targets[self.tasks.all[task as usize].target as usize].transport;
                self.room(link, 1, now);
                self.landed(task, bytes as u64, now);
            }
            Job::Out { task, bytes } => {
                let target = self.tasks.all[task as usize].target;
                match self.links[self.targets[target as usize].transport as usize] {
                    Link::Serial(_) => self.fetched(task, bytes as u64, now),
                    Link::Scsi(_) => self.burst_fetched(task, bytes as u64, now),
                    Link::Inside => {}
                }
            }
            Job::FromCache { io, bytes } => self.moved_of(io, bytes as u64, now),
            Job::ToCache { io, bytes } => self.take_in(io, bytes as u64, now),
            Job::Status { io } => self.answered(io, now),
            Job::Nvme(step) => self.stepped(step, now),
        }
    }

    /// An I/O has reached its adapter; between stations, it is a message that may go.
    pub(super) fn submitted(&mut self, io: u32, now: u64) {
        let Io { flow, marks, .. } = &mut self.ios.all[io as usize];
        marks[1] = now;
        let f = &self.flows[*flow as usize];
        match f.volume {
            Volume::Station(talk) => self.speak(talk, io, now),
            Volume::Target(_) if !f.uses.is_empty() => self.enqueue(io, now),
            Volume::Target(_) if f.remote.is_some() => self.send_out(io, now),
            Volume::Array(array) if !f.uses.is_empty() => {
                let flow = *flow;
                self.spread_out(array, io, now);
                self.rings(flow, now);
            }
            Volume::Target(_) | Volume::Array(_) => self.dma(Job::Command { io }, now),
        }
    }

    /// The adapter knows what an I/O is.
    pub(super) fn processed(&mut self, io: u32, now: u64) {
        let i = &mut self.ios.all[io as usize];
        i.marks[2] = now;
        let Io { flow, read, offset, size, .. } = *i;
        match self.volume(flow) {
            Volume::Target(target) => {
                self.ios.all[io as usize].tasks = 1;
                self.task(Owner::Io(io), target, read, offset, size, now);
            }
            Volume::Array(array) => self.start(array, io, now),
            Volume::Station(_) => {}
        }
    }

    /// A command for a target: sent, or kept while it has as many as it may.
    pub(super) fn task(&mut self, owner: Owner, target: u32, read: bool, offset: u64, size: u64, now: u64) {
        let task = self.new_task(owner, target, read, offset, size);
        let t = &mut self.targets[target as usize];
        if t.tasks >= t.most {
            t.waiting.push_back(task);
            return;
        }
        t.tasks += 1;
        self.send(task, now);
    }

    /// A command of which nothing has happened.
    pub(super) fn new_task(&mut self, owner: Owner, target: u32, read: bool, offset: u64, size: u64) -> u32 {
        self.tasks.add(Task {
            owner,
            target,
            read,
            trim: false,
            offset,
            size,
            fetched: 0,
            ready: 0,
            sent: 0,
            arrived: 0,
            landed: 0,
            service: Service::open(),
            progress: Progress::default(),
            pair: 0,
            lists: false,
            wanted: false,
            answered: false,
            phase: Phase::Command,
        })
    }

    /// A command for a target: an adapter's processor makes those of its arrays.
    fn send(&mut self, task: u32, now: u64) {
        let adapter = match self.tasks.all[task as usize].owner {
            Owner::Part(io) => self.flows[self.ios.all[io as usize].flow as usize].adapter,
            Owner::Stripe(array, _) => self.arrays[array as usize].adapter,
            Owner::Io(_) | Owner::Beside(_) | Owner::Remote(_) => return self.give(task, now),
        };
        let a = &mut self.adapters[adapter as usize];
        if a.drive_command == 0 {
            return self.give(task, now);
        }
        let at = a.processor.work(a.drive_command, now);
        self.plan_at(at, Event::Given(task));
    }

    pub(super) fn give(&mut self, task: u32, now: u64) {
        let link = self.targets[self.tasks.all[task as usize].target as usize].transport;
        match self.links[link as usize] {
            Link::Serial(_) => self.unit(link, 0, Unit::Command, task, now),
            Link::Scsi(_) => self.wants(task, now),
            Link::Inside => self.put_one(task, now),
        }
    }

    /// A frame is in whole at the far end of a lane.
    pub(super) fn frame(&mut self, link: u32, way: u8, unit: Unit, task: u32, now: u64) {
        match (way, unit) {
            (0, Unit::Command) => {
                self.room(link, 0, now);
                let t = self.tasks.all[task as usize];
                if self.targets[t.target as usize].flash.is_some() {
                    self.flash_command(task, now);
                    return;
                }
                let service = self.targets[t.target as usize].device.serve(t.read, t.offset, t.size, now);
                self.tasks.all[task as usize].service = service;
                if t.read {
                    self.data_back(link, task, now);
                } else {
                    self.plan_at(service.begin, Event::Taken(task));
                }
            }
            (0, Unit::Data(bytes)) => {
                let t = &mut self.tasks.all[task as usize];
                t.arrived += bytes as u64;
                if self.targets[t.target as usize].flash.is_some() {
                    self.flash_data(task, bytes as u64, now);
                    return;
                }
                let taken = t.service.ready(t.arrived).max(now);
                t.landed = t.arrived;
                let owner = t.owner;
                let (whole, status) =
                    (t.arrived == t.size, if t.service.early { taken } else { taken.max(t.service.end) });
                if let Owner::Io(io) = owner {
                    self.delivered(io, bytes as u64, now);
                }
                if taken <= now {
                    self.room(link, 0, now);
                } else {
                    self.plan_at(taken, Event::Room(link));
                }
                if whole {
                    self.plan_at(status, Event::Taken(task));
                }
            }
            (1, Unit::Ready) => {
                self.room(link, 1, now);
                self.first_data(task, now);
                self.data_out(link, task, now);
            }
            (1, Unit::Data(bytes)) => {
                self.first_data(task, now);
                match self.tasks.all[task as usize].owner {
                    Owner::Io(_) | Owner::Beside(_) | Owner::Remote(_) => self.dma(Job::Frame { task, bytes }, now),
                    Owner::Part(_) => self.through_cache(task, bytes as u64, now),
                    Owner::Stripe(..) => {
                        self.room(link, 1, now);
                        self.landed(task, bytes as u64, now);
                    }
                }
            }
            (1, Unit::Response) => {
                self.room(link, 1, now);
                self.task_answered(task, now);
            }
            _ => {}
        }
    }

    /// A target is ready for a write's data, or has all of them.
    pub(super) fn taken(&mut self, task: u32, now: u64) {
        let t = &self.tasks.all[task as usize];
        let (link, whole) = (self.targets[t.target as usize].transport, t.arrived == t.size);
        match (&self.links[link as usize], whole) {
            (Link::Serial(_), true) => self.unit(link, 1, Unit::Response, task, now),
            (Link::Serial(_), false) => self.unit(link, 1, Unit::Ready, task, now),
            (Link::Scsi(_), _) => self.wants(task, now),
            (Link::Inside, _) => self.entry(task, now),
        }
    }

    /// The first data of an I/O have moved, or may move.
    pub(super) fn first_data(&mut self, task: u32, now: u64) {
        if let Owner::Io(io) | Owner::Beside(io) | Owner::Part(io) = self.tasks.all[task as usize].owner {
            self.first(io, now);
        }
    }

    /// The same, of an I/O that is known.
    pub(super) fn first(&mut self, io: u32, now: u64) {
        let marks = &mut self.ios.all[io as usize].marks;
        if marks[3] == marks[0] {
            marks[3] = now;
        }
    }

    /// Data of a read are in host memory.
    pub(super) fn landed(&mut self, task: u32, bytes: u64, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        t.landed += bytes;
        if let Owner::Io(io) = t.owner {
            self.delivered(io, bytes, now);
        }
        self.task_over(task, now);
    }

    /// A target has said that a command is done.
    pub(super) fn task_answered(&mut self, task: u32, now: u64) {
        self.tasks.all[task as usize].answered = true;
        self.task_over(task, now);
    }

    /// Ends a command whose data have landed and whose target has answered.
    pub(super) fn task_over(&mut self, task: u32, now: u64) {
        let t = self.tasks.all[task as usize];
        if !t.answered || t.landed < t.size {
            return;
        }
        self.tasks.remove(task);
        let target = &mut self.targets[t.target as usize];
        target.tasks -= 1;
        if let Some(next) = target.waiting.pop_front() {
            target.tasks += 1;
            self.send(next, now);
        }
        match t.owner {
            Owner::Io(io) | Owner::Beside(io) | Owner::Part(io) => {
                self.ios.all[io as usize].tasks -= 1;
                self.io_over(io, now);
            }
            Owner::Stripe(array, work) => self.stripe_over(array, work, now),
            Owner::Remote(command) => self.drive_done(command, now),
        }
    }

    /// Reports an I/O whose data are where they belong and whose commands are done.
    pub(super) fn io_over(&mut self, io: u32, now: u64) {
        let i = &self.ios.all[io as usize];
        if i.left == 0 && i.tasks == 0 {
            self.dma(Job::Status { io }, now);
        }
    }
}
