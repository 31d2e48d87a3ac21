//! NVMe: a controller's ways to its host's memory and back, which queue pairs a worker has, and what the host's
//! software takes for an I/O.
//!
//! Data move by the two flows that every adapter has. What surrounds them (commands, lists, entries, interrupts,
//! doorbells) are flows of their own: their TLPs are small, and a ledger counts them apart.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::core::dma::{self, Engine, Host};
use crate::plan::pci::Buses;
use crate::plan::storage::{Adapter, AdapterKind, Storage};
use crate::plan::{Dma, DmaPath, Flow, FlowId};
use crate::protocol::nvme;
use crate::scenario::keys::{
    self, Completions, DataPointers, Do, Doorbells, HostProcessor, HostSoftware, Nvme, NvmeDrive, Setting,
};
use crate::scenario::quantity::{Confidence, Corner, Origin, Quantity};
use crate::scenario::{Named, Part, PartKeys, Scenario, StoreKeys};
use crate::units::{Bytes, Time};
use std::num::NonZeroU32;

/// An NVMe controller: its values, and by which flows of PCIe it moves what is no data.
#[derive(Clone, Debug)]
pub struct Controller {
    /// Its values.
    pub keys: Nvme,
    /// Reads of commands.
    pub commands: FlowId,
    /// Reads of PRP lists.
    pub lists: FlowId,
    /// Writes of completion entries.
    pub entries: FlowId,
    /// Writes of interrupts.
    pub interrupts: FlowId,
    /// The processor's writes of doorbells.
    pub doorbells: FlowId,
}

/// The queue pairs of a worker at a drive, and how it uses them.
#[derive(Clone, Debug)]
pub struct HostQueues {
    /// The drive's controller.
    pub adapter: u32,
    /// The first of them, and how many; behind the controller's last comes its first.
    pub first: u32,
    /// See `first`.
    pub count: Quantity<NonZeroU32>,
    /// How it hears of completions.
    pub completions: Quantity<Completions>,
    /// Commands that it puts into a queue before it rings.
    pub batch: Quantity<NonZeroU32>,
}

impl HostQueues {
    /// Whether it looks at the queue all the time.
    pub(crate) fn polls(&self) -> bool {
        self.completions.typical == Completions::Polling
    }

    pub(super) fn settings(&self) -> Vec<Setting> {
        vec![
            Setting::of("queue_pairs", &self.count),
            Setting::of("completions", &self.completions),
            Setting::of("commands_a_doorbell", &self.batch),
        ]
    }
}

impl Controller {
    /// Commands that a queue pair holds: one entry stays free (Base 2.0, 3.3.1.5).
    pub(crate) fn room(&self, corner: Corner) -> u32 {
        self.keys.queue_entries.at(corner).get() - 1
    }

    /// Which of its queue pairs a worker has, each once.
    pub(crate) fn pairs(&self, queues: &HostQueues) -> impl Iterator<Item = u32> + use<> {
        let all = self.keys.queue_pairs.typical.get();
        let first = queues.first;
        (0..queues.count.typical.get().min(all)).map(move |i| (first + i) % all)
    }

    /// Whether two workers have a queue pair of it in common.
    fn share(&self, a: &HostQueues, b: &HostQueues) -> bool {
        let all = self.keys.queue_pairs.typical.get();
        // How far behind the first of one the other's begins, going round.
        let behind = |from: u32, to: u32| (to + all - from) % all;
        behind(a.first, b.first) < a.count.typical.get() || behind(b.first, a.first) < b.count.typical.get()
    }

    /// Bytes of lists that it reads for a command with so much data.
    pub(crate) fn lists(&self, corner: Corner, bytes: u64) -> u64 {
        match self.keys.data_pointers.typical {
            DataPointers::Sgl => 0,
            DataPointers::Prp => nvme::prp_lists(bytes, self.keys.memory_page.at(corner).0),
        }
    }

    /// Entries that an interrupt stands for at most, and for how long it is held back.
    pub(crate) fn coalescing(&self, corner: Corner) -> (u32, Time) {
        let time = self.keys.coalesce_time.at(corner);
        (if time > Time::ZERO { self.keys.coalesced.at(corner).get() } else { 1 }, time)
    }

    /// Bytes of a doorbell on the wire; none where it is written to memory.
    pub(crate) fn doorbell(&self) -> u64 {
        match self.keys.doorbells.typical {
            Doorbells::Registers => nvme::DOORBELL,
            Doorbells::Shadow => 0,
        }
    }
}

/// Where a controller's flows are from.
const WHY: &str = "an NVMe controller's DMA for the I/Os of its host";

/// A controller with its ways to its host.
pub(super) fn adapter(
    diagnostics: &mut Diagnostics,
    host: &Host,
    part: &Part<StoreKeys>,
    drive: &NvmeDrive,
    flows: &mut Vec<Flow>,
    buses: &mut Buses,
) -> Option<Adapter> {
    let keys = &drive.controller;
    let engine = |piece: u64| Engine { name: &part.name, header: &keys.header, piece: Bytes(piece), why: WHY };
    let piece = drive.flash.page.typical.0.clamp(512, 4096);
    let (dma, name) = dma::of(diagnostics, host, &engine(piece), part.span, flows, buses)?;
    let Dma::Pcie { write, .. } = dma else { return None };
    let fetched = u64::from(keys.commands_fetched.typical.get()) * nvme::COMMAND;
    let lists = keys.max_transfer.typical.0 / keys.memory_page.typical.0.max(1) * nvme::PRP;
    let mut beside =
        |piece: u64, what: (&str, Do), rides: Option<FlowId>| dma::beside(host, &engine(piece), what, rides, flows);
    let commands = beside(fetched, ("fetches commands", Do::Read), None)?;
    let controller = Controller {
        keys: keys.clone(),
        commands,
        lists: beside(lists.clamp(2 * nvme::PRP, 4096), ("fetches lists", Do::Read), Some(commands))?,
        entries: beside(nvme::COMPLETION, ("writes completion entries", Do::Write), Some(write))?,
        interrupts: beside(nvme::INTERRUPT, ("interrupts", Do::Write), Some(write))?,
        doorbells: match dma::doorbell(host, &engine(nvme::DOORBELL), flows, buses)? {
            DmaPath::Pcie(id) => id,
            DmaPath::Bus(_) => return None,
        },
    };
    flows[controller.doorbells.0 as usize].control = true;
    let kind = AdapterKind::Nvme(controller);
    Some(Adapter { name: part.name.clone(), group: part.group.clone(), kind, dma, host: name })
}

/// What the host takes for an I/O: its processor to issue it and when it is done, and until a worker that sleeps goes
/// on.
pub(super) struct Cost {
    pub(super) submit: Quantity<Time>,
    pub(super) complete: Quantity<Time>,
    pub(super) wake: Quantity<Time>,
    completions: Completions,
}

/// One way of issuing I/Os, in ns: low, typical and high of each time on a server of 2021.
struct Way {
    software: HostSoftware,
    submit: [u64; 3],
    complete: [u64; 3],
    wake: [u64; 3],
    completions: Completions,
    source: &'static str,
}

/// Where the times are from: what one core does at most of small I/Os to NVMe drives or to null_blk, as their authors
/// and drivers' documents say, divided between the two ends.
static WAYS: [Way; 6] = [
    Way {
        software: HostSoftware::Kernel2006,
        submit: [1_000, 2_500, 10_000],
        complete: [1_000, 5_000, 20_000],
        wake: [0, 0, 0],
        completions: Completions::Interrupts,
        source: "Linux 2.6 with the SCSI layer: 50,000 to 100,000 I/Os a second and core",
    },
    Way {
        software: HostSoftware::Libaio,
        submit: [600, 1_000, 2_000],
        complete: [400, 800, 1_500],
        wake: [1_000, 2_000, 5_000],
        completions: Completions::Interrupts,
        source: "libaio over blk-mq: 400,000 to 800,000 I/Os a second and core",
    },
    Way {
        software: HostSoftware::IoUring,
        submit: [400, 700, 1_500],
        complete: [300, 500, 1_000],
        wake: [1_000, 2_000, 5_000],
        completions: Completions::Interrupts,
        source: "io_uring by interrupts: 600,000 to 1,200,000 I/Os a second and core",
    },
    Way {
        software: HostSoftware::IoUringPolled,
        submit: [200, 350, 700],
        complete: [100, 200, 400],
        wake: [0, 0, 0],
        completions: Completions::Polling,
        source: "io_uring with IOPOLL: 1.2 to 3 million I/Os a second and core",
    },
    Way {
        software: HostSoftware::Psync,
        submit: [800, 1_200, 2_500],
        complete: [600, 1_000, 2_000],
        wake: [1_000, 2_000, 5_000],
        completions: Completions::Interrupts,
        source: "a system call and a context switch for each I/O",
    },
    Way {
        software: HostSoftware::Spdk,
        submit: [50, 80, 200],
        complete: [50, 80, 200],
        wake: [0, 0, 0],
        completions: Completions::Polling,
        source: "SPDK's own reports: 3 to 10 million I/Os a second and core",
    },
];

/// How much longer a processor takes than a server of 2021, in hundredths.
fn slowness(processor: HostProcessor) -> u64 {
    match processor {
        HostProcessor::Server2006 => 300,
        HostProcessor::Server2012 => 160,
        HostProcessor::Server2017 => 120,
        HostProcessor::Server2021 => 100,
        HostProcessor::Desktop2021 => 70,
        HostProcessor::Board2020 => 350,
    }
}

/// No time to wake up.
pub(super) fn no_wake() -> Quantity<Time> {
    Quantity::derived(Time::ZERO, Origin::Assumed, Confidence::Guess, "it is in complete_time")
}

/// What a flow's host takes: as written, by its software, or the defaults of the keys.
pub(super) fn cost(k: &keys::Io) -> Cost {
    let way = k.host_software.as_ref().and_then(|s| WAYS.iter().find(|w| w.software == s.typical));
    let slower = slowness(k.host_processor.typical);
    let by_software = |way: &Way, ns: [u64; 3]| {
        let [fast, typical, slow] = ns.map(|ns| Time::from_fs(ns * 10_000 * slower));
        let source = format!("{}; {}", way.source, crate::scenario::quantity::Shape::show(&k.host_processor.typical));
        let q = Quantity::derived(typical, Origin::Assumed, Confidence::Guess, &source);
        // What was not written as such, but by its name.
        Quantity { slow, fast, default: false, ..q }
    };
    let time = |written: &Quantity<Time>, of: fn(&Way) -> [u64; 3]| match way.filter(|_| written.default) {
        Some(way) => by_software(way, of(way)),
        None => written.clone(),
    };
    let wake = match (&k.wake_time, way) {
        (Some(written), _) => written.clone(),
        (None, Some(way)) if way.wake[1] > 0 => by_software(way, way.wake),
        (None, _) => no_wake(),
    };
    Cost {
        submit: time(&k.submit_time, |w| w.submit),
        complete: time(&k.complete_time, |w| w.complete),
        wake,
        completions: way.map_or(Completions::Interrupts, |w| w.completions),
    }
}

/// Whether every adapter with NVMe drives behind it names a root complex that is its own.
pub(super) fn drive_ports(diagnostics: &mut Diagnostics, scenario: &Scenario, host: &Host, storage: &Storage) {
    for part in &scenario.stores {
        let StoreKeys::Adapter(keys) = &part.keys else { continue };
        let Some(ports) = &keys.drive_ports else { continue };
        let (span, root) = (ports.span.unwrap_or(part.span), ports.typical.as_str());
        let found = host.parts.iter().find(|p| p.name == root);
        let own = |a: &Adapter| a.name == part.name;
        let above = storage.adapters.iter().find(|a| own(a)).map(|a| a.host.as_str());
        let wrong = match found.map(|p| &p.keys) {
            Some(PartKeys::RootComplex(_)) if above == Some(root) => Some((
                format!("{} is below {root} itself", part.name),
                "name another root complex, for the controller's own memory",
            )),
            Some(PartKeys::RootComplex(_)) => {
                let first = storage.with_ports(root).map(|a| &storage.adapters[a as usize]);
                let first = first.filter(|a| !own(a));
                first.map(|a| (format!("{root} is {}'s already", a.name), "each controller has one of its own"))
            }
            _ => Some((
                format!("{root:?} is not a root complex"),
                "add [parts.NAME] with is = \"root-complex\" for the controller's memory, and links from it to drives",
            )),
        };
        if let Some((what, hint)) = wrong {
            diagnostics.push(Diagnostic::error(span, format!("drive_ports: {what}")).hint(hint));
        }
    }
}

/// The queue pair of a RAID controller at one of its drives: it looks at it all the time, and rings for each command.
pub(super) fn of_controller(adapter: u32) -> HostQueues {
    fn one<T: Clone>(value: T) -> Quantity<T> {
        Quantity::derived(value, Origin::Assumed, Confidence::Guess, "a controller's own queue at each of its drives")
    }
    HostQueues {
        adapter,
        first: 0,
        count: one(NonZeroU32::MIN),
        completions: one(Completions::Polling),
        batch: one(NonZeroU32::MIN),
    }
}

/// The queue pairs of a flow at a controller, behind those that others have there.
pub(super) fn queues(
    diagnostics: &mut Diagnostics,
    storage: &Storage,
    adapter: u32,
    io: &Named<keys::Io>,
    cost: &Cost,
    remote: bool,
) -> Option<HostQueues> {
    let (own, k) = (&storage.adapters[adapter as usize], &io.keys);
    let Some(controller) = own.controller() else {
        let of_nvme = [
            ("queue_pairs", k.queue_pairs.span),
            ("completions", k.completions.as_ref().and_then(|q| q.span)),
            ("commands_a_doorbell", k.commands_a_doorbell.as_ref().and_then(|q| q.span)),
        ];
        for (key, span) in of_nvme.into_iter().filter_map(|(key, span)| Some((key, span?))) {
            let what = format!("flow {}: {key} is not used, since {} is not an NVMe drive", io.name, own.name);
            diagnostics.push(Diagnostic::warning(span, what).hint("host adapters have queues of their own"));
        }
        return None;
    };
    let there = || storage.flows.iter().flat_map(|f| f.queues_at_drives()).filter(|q| q.adapter == adapter);
    let taken: u64 = there().map(|q| u64::from(q.count.typical.get())).sum();
    let (all, wants) = (controller.keys.queue_pairs.typical.get(), k.queue_pairs.typical.get());
    let completions = match &k.completions {
        // The queues are the target's, which looks at them all the time and rings for each command.
        _ if remote => {
            Quantity::derived(Completions::Polling, Origin::Assumed, Confidence::Likely, "the target polls its drive")
        }
        Some(written) => written.clone(),
        None => Quantity::derived(cost.completions, Origin::Assumed, Confidence::Likely, "what its host_software does"),
    };
    let queues = HostQueues {
        adapter,
        first: (taken % u64::from(all)) as u32,
        count: k.queue_pairs.clone(),
        completions,
        batch: k.commands_a_doorbell.clone().filter(|_| !remote).unwrap_or_else(|| {
            Quantity::derived(NonZeroU32::MIN, Origin::Assumed, Confidence::Guess, "rings for each")
        }),
    };
    if taken + u64::from(wants) > u64::from(all) && (taken == 0 || taken <= u64::from(all)) {
        let what =
            format!("flow {}: {} queue pairs at {}, which has {all}", io.name, taken + u64::from(wants), own.name);
        diagnostics.push(
            Diagnostic::warning(k.queue_pairs.span.unwrap_or(io.span), what)
                .hint("workers share them then; that they wait for one another's locks is not modelled"),
        );
    }
    // Who polls and who is interrupted have queues of their own.
    if there().any(|q| q.polls() != queues.polls() && controller.share(q, &queues)) {
        let what =
            format!("flow {}: its workers share queue pairs of {} with others, and some poll", io.name, own.name);
        diagnostics.push(Diagnostic::error(k.queue_pairs.span.unwrap_or(io.span), what).hint(
            "a queue pair interrupts or is polled; give the drive more queue_pairs, or all the same completions",
        ));
    }
    Some(queues)
}
