//! Storage in a run: workers, adapters, transports and targets, and every I/O from its worker to its target and back.
//!
//! Frames and bursts are few against the TLPs of their DMA, so this side keeps its events by itself (`planned`), behind
//! one slot of the agenda. What it asks of the host's bus goes out through [`Fabric::asked`] and comes back through
//! [`Fabric::done`]. `worker` issues and completes, `adapter` fetches commands and moves data, `array` spreads them,
//! `serial` and `scsi` carry them, `device` and `ssd` are what a target does. `talk` is what workers of stations do
//! over an Ethernet.

mod adapter;
mod array;
mod binding;
mod cache_fill;
mod count;
mod device;
mod fabrics;
mod host_array;
mod mirrors;
mod nvme;
mod planned;
mod report;
mod scsi;
mod serial;
mod ssd;
mod talk;
mod worker;
mod zipf;

use crate::plan::ethernet::NodeId;
use crate::plan::storage::{self, Medium, Service, Unit, Volume};
use crate::plan::{DmaPath, Plan};
use crate::sim::core::kernel::NEVER;
use crate::sim::core::recorder::Carried;
use crate::sim::core::source::Transfer;
use crate::sim::core::tally;
use crate::sim::ethernet::StationCommand;
use crate::sim::infiniband::Verb;
use crate::tools::Slab;
use crate::units::Pace;
use adapter::Adapter;
use array::Array;
use count::Edges;
use device::Device;
use host_array::HostArray;
use report::AtWindow;
use std::collections::VecDeque;
use talk::Talk;
use worker::{FlowState, Stages};

pub(super) use talk::TALK;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// One of a flow's I/Os may be issued.
    Issue(u32),
    /// The pause before a flow's burst is over.
    Open(u32),
    /// DMA is done.
    Dma(u32),
    /// An I/O has left its worker's processor for the adapter.
    Submitted(u32),
    /// The adapter's processor has dealt with a command.
    Processed(u32),
    /// The adapter's processor has made a command for a disk or drive of its array.
    Given(u32),
    /// The worker's processor is done with an I/O.
    Completed(u32),
    /// The worker's processor has made the parity of an I/O.
    Parity(u32),
    /// A lane's turn.
    Lane(u32, u8),
    /// A frame is in whole.
    Frame(u32, u8, Unit, u32),
    /// Credit for so many frames has come for a lane.
    Credit(u32, u8, u32),
    /// A target's port has room for one more frame of a link.
    Room(u32),
    /// A target's processor is through with a command of NVMe over Fabrics.
    Remote(u32),
    /// A command's turn in its NVMe queue pair is over.
    Queued(u32),
    /// Completion entries of a controller's queue pair have waited for others.
    Coalesced(u32, u32),
    /// Something in a solid-state drive is through.
    Flash(u32, ssd::Step),
    /// A target has taken all of a write in: its status may go.
    Taken(u32),
    /// A task wants the SCSI bus for what comes next.
    Wants(u32),
    /// The SCSI bus is through with a connection.
    Bus(u32),
    /// The adapter's memory, and its parity engine, are through with something.
    Memory(u32, array::Passed),
}

/// What a transfer of DMA is for.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// An I/O's command.
    Command { io: u32 },
    /// A frame's data on their way to host memory.
    Frame { task: u32, bytes: u32 },
    /// Data to go out.
    Out { task: u32, bytes: u32 },
    /// Data of an array, from its cache to host memory.
    FromCache { io: u32, bytes: u32 },
    /// Data of an array, from host memory to its cache.
    ToCache { io: u32, bytes: u32 },
    /// An I/O's status.
    Status { io: u32 },
    /// Of NVMe.
    Nvme(nvme::Move),
}

/// Whom a task works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// An I/O of a volume by itself.
    Io(u32),
    /// An I/O of an array that the host runs, of whose data it moves none: a mirror's copy, old data, parity.
    Beside(u32),
    /// A command that came over a fabric.
    Remote(u32),
    /// A part of an array's read.
    Part(u32),
    /// A stripe of an array that goes to the disks: the array, and the number of the work.
    Stripe(u32, u32),
}

/// A command at a target.
#[derive(Clone, Copy, Debug)]
struct Task {
    owner: Owner,
    target: u32,
    read: bool,
    /// It deallocates: nothing of its bytes moves.
    trim: bool,
    offset: u64,
    size: u64,
    /// Bytes asked for from host memory, come from there, sent, and arrived at the other end.
    fetched: u64,
    ready: u64,
    sent: u64,
    arrived: u64,
    /// Bytes that are in host memory or wherever they go.
    landed: u64,
    /// What the target does with it.
    service: Service,
    /// How far a solid-state drive is with it.
    progress: ssd::Progress,
    /// Of NVMe: its queue pair, whether its lists are on their way, and whether the drive wants a write's data.
    pair: u32,
    lists: bool,
    wanted: bool,
    /// Whether the target has said that it is done.
    answered: bool,
    /// How far it is on a SCSI bus.
    phase: scsi::Phase,
}

/// An I/O.
#[derive(Clone, Copy, Debug)]
struct Io {
    flow: u32,
    /// The line of the access specification behind it.
    line: u32,
    read: bool,
    /// It deallocates its bytes.
    trim: bool,
    offset: u64,
    size: u64,
    /// The reply that follows it.
    reply: u64,
    /// When its transaction began: of a reply, when its request did.
    began: u64,
    /// When its worker's processor turned to it: what instruments see as the call.
    called: u64,
    /// Bytes that are not where they belong.
    left: u64,
    /// Commands of it that are not done.
    tasks: u32,
    /// Whether those read what there was, of an array that the host runs.
    before: bool,
    /// Moments: wanted by the program, at the adapter, sent on, first data moved, last data moved, status in host
    /// memory.
    marks: [u64; 6],
}

/// What joins an adapter and its targets.
#[derive(Clone, Debug)]
enum Link {
    Serial(Box<serial::Link>),
    Scsi(Box<scsi::Bus>),
    /// An NVMe controller has its drive in itself.
    Inside,
}

/// A target: what it does, and the commands that it may not have yet.
#[derive(Clone, Debug)]
struct Target {
    device: Device,
    /// What is in a solid-state drive.
    flash: Option<Box<ssd::Ssd>>,
    transport: u32,
    adapter: u32,
    /// Commands at it, and how many there may be.
    tasks: u32,
    most: u32,
    waiting: VecDeque<u32>,
}

/// One thing that serves one after the other: how long it takes for a byte, until when it is busy, and how long it has
/// been.
#[derive(Clone, Debug, Default)]
struct Server {
    pace: Option<Pace>,
    free: u64,
    busy: u64,
}

impl Server {
    fn new(rate: Option<crate::units::Rate>) -> Server {
        Server { pace: rate.map(Pace::new), ..Server::default() }
    }

    /// When so many bytes are through.
    fn pass(&mut self, bytes: u64, now: u64) -> u64 {
        let span = self.pace.map_or(0, |p| p.span(bytes));
        self.work(span, now)
    }

    /// When work of so long is done.
    fn work(&mut self, span: u64, now: u64) -> u64 {
        self.free = self.free.max(now).saturating_add(span);
        self.busy = self.busy.saturating_add(span);
        self.free
    }

    /// Time that it has worked before a moment: work is booked ahead, without gaps.
    fn worked(&self, now: u64) -> u64 {
        self.busy - self.free.saturating_sub(now).min(self.busy)
    }
}

/// All of storage in a run.
#[derive(Clone, Debug)]
pub(super) struct Fabric {
    /// Its slot of the agenda.
    pub(super) slot: u32,
    schedule: planned::Schedule,
    /// The cores of the workers, by the first worker of each.
    workers: Vec<Server>,
    flows: Vec<FlowState>,
    ios: Slab<Io>,
    tasks: Slab<Task>,
    jobs: Slab<Job>,
    adapters: Vec<Adapter>,
    links: Vec<Link>,
    targets: Vec<Target>,
    arrays: Vec<Array>,
    host_arrays: Vec<Option<HostArray>>,
    /// Pairs of stations, and what those are to be told.
    talks: Vec<Talk>,
    commands: Vec<(NodeId, StationCommand)>,
    /// Commands to drives of other hosts, and what channel adapters are to be told.
    commands_out: Slab<fabrics::Command>,
    verbs: Vec<Verb>,
    /// By flow group, from the call of the worker: of reads, writes, and trims.
    latencies: Vec<[tally::Cells; 3]>,
    /// By flow group, from the moment at which the program wanted them.
    whole: Vec<tally::Cells>,
    /// Since when I/Os are counted for instruments: those that begin then or later.
    counting: u64,
    edges: Edges,
    /// DMA to be asked of the hosts' buses: (by which way, what).
    asked: Vec<(DmaPath, Transfer)>,
    /// What transports carried, for a trace: link, way, what, when, bytes.
    seen: Option<Vec<Carried>>,
    at_window: AtWindow,
}

/// How long nothing may happen to an I/O while all is well, fs.
const STALL_TIMEOUT: u64 = 10_000_000_000_000_000;

/// The serial link of a number.
fn link_of(links: &mut [Link], link: u32) -> Option<&mut serial::Link> {
    match links.get_mut(link as usize) {
        Some(Link::Serial(l)) => Some(l),
        _ => None,
    }
}

impl Fabric {
    /// What transports have carried since the last time.
    pub(super) fn carried(&mut self) -> impl Iterator<Item = Carried> + '_ {
        self.seen.iter_mut().flat_map(|seen| seen.drain(..))
    }

    fn seen(&mut self, link: u32, way: usize, what: &'static str, when: (u64, u64), bytes: u64) {
        if let Some(seen) = &mut self.seen {
            seen.push((link, way, what, when, bytes));
        }
    }

    /// Wires a plan's storage; its one slot is `slot`.
    pub(super) fn build(plan: &Plan, seed: u64, slot: u32) -> Fabric {
        let storage = &plan.storage;
        let links = storage
            .transports
            .iter()
            .map(|t| {
                let room = storage.adapters[t.adapter as usize].host_adapter().map_or(0, |k| k.port_buffer.typical.0);
                match (&t.medium, serial::Link::new(t, room)) {
                    (Medium::Scsi { keys, policy }, _) => Link::Scsi(Box::new(scsi::Bus::new(keys, *policy))),
                    (Medium::Inside, _) => Link::Inside,
                    (_, Some(link)) => Link::Serial(Box::new(link)),
                    _ => unreachable!("a link that is no bus is serial"),
                }
            })
            .collect();
        let mut places = vec![0; storage.targets.len()];
        for array in &storage.arrays {
            array.disks.iter().enumerate().for_each(|(place, disk)| places[*disk as usize] = place);
        }
        let targets = (storage.targets.iter().zip(places))
            .map(|(t, place)| {
                let adapter = storage.transports[t.transport as usize].adapter;
                Target {
                    device: Device::new(t, place),
                    flash: match &t.device {
                        storage::Device::Ssd(k) => {
                            let own = storage.adapters[adapter as usize].controller();
                            Some(Box::new(ssd::Ssd::new(k, own, place)))
                        }
                        _ => None,
                    },
                    transport: t.transport,
                    adapter,
                    tasks: 0,
                    // An NVMe controller's queues say how many, or whose drive it is.
                    most: {
                        let own = &storage.adapters[adapter as usize];
                        let behind = storage.with_ports(&own.host).map(|a| &storage.adapters[a as usize]);
                        own.host_adapter().or(behind.and_then(|a| a.host_adapter()))
                    }
                    .map_or(u32::MAX, |k| k.queue_depth.typical.get()),
                    waiting: VecDeque::new(),
                }
            })
            .collect();
        let groups = storage.groups();
        let mut group_of = vec![0; storage.flows.len()];
        groups.iter().enumerate().for_each(|(g, all)| all.iter().for_each(|f| group_of[*f] = g as u32));
        let mut fabric = Fabric {
            slot,
            schedule: planned::Schedule::default(),
            workers: vec![Server::default(); storage.workers.len()],
            flows: storage.flows.iter().zip(group_of).map(|(f, g)| FlowState::new(storage, f, g, seed)).collect(),
            ios: Slab::new(),
            tasks: Slab::new(),
            jobs: Slab::new(),
            adapters: (0..storage.adapters.len() as u32).map(|a| Adapter::new(storage, a)).collect(),
            links,
            targets,
            arrays: storage.arrays.iter().map(|a| Array::new(storage, a)).collect(),
            host_arrays: host_array::all(storage),
            talks: Vec::new(),
            commands: Vec::new(),
            commands_out: Slab::new(),
            verbs: Vec::new(),
            latencies: groups.iter().map(|_| [(); 3].map(|()| tally::Cells::default())).collect(),
            whole: groups.iter().map(|_| tally::Cells::default()).collect(),
            counting: 0,
            edges: Edges::new(),
            asked: Vec::new(),
            seen: None,
            at_window: AtWindow::default(),
        };
        // Each pair is of one flow, in their order.
        fabric.talks.extend(
            (storage.flows.iter().enumerate())
                .filter_map(|(i, f)| storage.pair(f).map(|pair| Talk::new(i as u32, pair))),
        );
        let mut first = 0;
        for (flow, state) in storage.flows.iter().zip(&mut fabric.flows) {
            if let Volume::Target(target) = flow.volume {
                state.remote = fabrics::Remote::of(storage, flow, target, &mut first);
            }
        }
        let phases = talk::phases(plan, seed);
        for (i, flow) in storage.flows.iter().enumerate() {
            for _ in 0..flow.outstanding.typical.get() {
                fabric.plan_at(phases[i], Event::Issue(i as u32));
            }
        }
        fabric
    }

    fn plan_at(&mut self, at: u64, event: Event) {
        self.schedule.add(at, event);
    }

    /// When something happens next.
    pub(super) fn next(&self) -> u64 {
        self.schedule.next().unwrap_or(NEVER)
    }

    /// All that happens by a moment.
    pub(super) fn on(&mut self, now: u64) {
        while let Some(event) = self.schedule.pop(now) {
            match event {
                Event::Issue(flow) => self.free(flow, now),
                Event::Open(flow) => self.open(flow, now),
                Event::Dma(token) => self.over(token, now),
                Event::Submitted(io) => self.submitted(io, now),
                Event::Processed(io) => self.processed(io, now),
                Event::Given(task) => self.give(task, now),
                Event::Completed(io) => self.completed(io, now),
                Event::Parity(io) => self.parity_made(io, now),
                Event::Lane(link, way) => self.called(link, way as usize, now),
                Event::Frame(link, way, unit, task) => self.frame(link, way, unit, task, now),
                Event::Credit(link, way, n) => self.credited(link, way as usize, n, now),
                Event::Room(link) => self.room(link, 0, now),
                Event::Remote(command) => self.dealt_with(command, now),
                Event::Queued(task) => self.queued(task, now),
                Event::Coalesced(adapter, pair) => self.coalesced(adapter, pair, now),
                Event::Flash(target, step) => self.flash(target, step, now),
                Event::Taken(task) => self.taken(task, now),
                Event::Wants(task) => self.wants(task, now),
                Event::Bus(link) => self.connection_over(link, now),
                Event::Memory(at, passed) => self.passed(at, passed, now),
            }
        }
    }

    /// What is to be asked of the hosts' buses: taken out.
    pub(super) fn asked(&mut self) -> &mut Vec<(DmaPath, Transfer)> {
        &mut self.asked
    }

    fn serial(&mut self, link: u32) -> Option<&mut serial::Link> {
        link_of(&mut self.links, link)
    }

    /// The volume of a flow.
    fn volume(&self, flow: u32) -> Volume {
        self.flows[flow as usize].volume
    }
}
