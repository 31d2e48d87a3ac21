//! Packet by packet: what happens to a plan's flows in time, and where every slot of every wire goes.
//!
//! [`Run`] is resumable: `advance` does a piece of the work, `snapshot` tells what there is. It begins with a warm-up
//! that is left out, then gathers batches until the means are tight, the length asked for is over, or a cap is reached.
//! `pcie`, `pci`, `ethernet`, `infiniband` and `storage` are the technologies; what they share stands in `core`: the
//! `kernel` says what happens next, `tally` and `stats` count, `recorder` writes a time line. `world` joins them,
//! `binding` says what binds, `report` what came out.

mod binding;
pub mod core;
mod ethernet;
mod infiniband;
mod not_modelled;
mod pci;
mod pcie;
mod report;
mod storage;
mod trace;
mod world;

pub use core::source::exponential;
pub use core::stats::mean as mean_of;
pub use not_modelled::NOT_MODELLED;
pub use report::{Sample, over_seeds};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::pci::BusFlow;
use crate::plan::{Hop, Plan, Program};
use crate::protocol::pci::Standard;
use crate::protocol::pcie::Framing;
use crate::result::timeline::Timeline;
use crate::result::{BusClocks, Crossed, Ending, SlotCounts};
use crate::scenario::PartKeys;
use crate::scenario::keys::Do;
use crate::units::Time;
use core::kernel::{self, Agenda, Pause};
use core::stats;
use core::tally::Tally;
use world::System;

/// Operations that closed loads may hold in flight, all together: a bound on the memory of a run.
const MOST_IN_FLIGHT: u64 = 1 << 22;
/// How long an Ethernet is simulated at most, fs: 2 h. The moment of a message is reckoned from the beginning, in half
/// of what a clock can count.
const LONGEST_ETHERNET: u64 = 7_200_000_000_000_000_000;
/// How long I/Os are simulated at most, fs: 5 h. What is under way then ends later, and a clock counts to 5.1 h.
const LONGEST_STORAGE: u64 = 18_000_000_000_000_000_000;
/// Events between two looks at the caps: enough that a look costs nothing, and few against the packets that are
/// allowed.
const LEAST_LOOK: u64 = 1 << 8;
const MOST_LOOK: u64 = 1 << 16;
/// Events at one moment after which a run is called a stall; several more for each operation that a closed load may
/// begin at once.
const MOST_AT_ONCE: u64 = 1 << 22;
/// Batches of the warm-up.
const WARMUP_BATCHES: usize = 64;
/// Warm-ups are given up, and taken as they are, after so many doublings.
const WARMUP_DOUBLINGS: u32 = 8;
/// Operations of each flow group that a mean is taken of, at least.
const LEAST_OPERATIONS: u64 = 50;
/// The part of the arrivals that must stay behind, of so many operations, before a run is ended for it: a queue near
/// its capacity may grow for long and then stop.
const FAR_BEHIND: f64 = 0.05;
const LONG_ENOUGH: u64 = 10_000;
/// Shortest first batch, fs. Longer than any ordered set or DLLP policy takes to repeat itself.
const LEAST_BATCH: u64 = 2_000_000_000;

/// What happened to one flow group in one batch.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    done: u64,
    latency: f64,
    transit: f64,
    frame_bytes: u64,
    /// At the end of the batch.
    backlog: u64,
}

impl std::ops::AddAssign for Batch {
    fn add_assign(&mut self, later: Batch) {
        self.bytes += later.bytes;
        self.done += later.done;
        self.latency += later.latency;
        self.transit += later.transit;
        self.frame_bytes += later.frame_bytes;
        self.backlog = later.backlog;
    }
}

/// What had been counted when somebody asked last.
#[derive(Clone, Debug, Default)]
struct Update {
    time: f64,
    counts: Vec<storage::Counts>,
    busy: Vec<f64>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Warmup { doublings: u32 },
    Measure,
    Done,
}

/// How far `advance` got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    More,
    /// A moment asked for with [`Run::sample_every`] is reached: call [`Run::sample`].
    Sample,
    /// The run is over.
    Done,
}

/// A simulation of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    plan: Plan,
    seed: u64,
    system: System,
    agenda: Agenda,
    /// The members of each flow group: PCIe's, then Ethernet's, then those of I/Os, then those of buses.
    groups: Vec<Vec<usize>>,
    /// How many tables are PCIe's, how many are PCIe's and Ethernet's, and how many are not a bus's.
    tables: usize,
    frames: usize,
    before_buses: usize,
    before_jobs: usize,
    phase: Phase,
    /// Everything before has happened.
    now: u64,
    /// Length of a batch, and the end of the current one.
    batch: u64,
    batch_end: u64,
    /// When the run must end, whatever else.
    last: u64,
    /// When the packets are counted next: a batch may be as long as anyone asks for, and must not outrun their cap.
    next_count: u64,
    /// The same by events: a late burst must not outrun it either. And the moment that was then, with the events since
    /// it began: time must go on.
    next_look: u64,
    still: (u64, u64),
    most_at_once: u64,
    /// When the measured window began.
    window: u64,
    /// Tallies at the beginning of the window, and of the batch.
    at_window: Vec<Tally>,
    at_batch: Vec<Tally>,
    counts_at_window: Vec<SlotCounts>,
    carried_at_window: Vec<(u64, u128, u64)>,
    drops_at_window: Vec<ethernet::Stored>,
    pauses_at_window: Vec<(u64, u64)>,
    /// Of each bus: payload.
    moved_at_window: Vec<u64>,
    stages_at_window: Vec<storage::Stages>,
    worked_at_window: Vec<u64>,
    /// When somebody asked for an update last, and the counts and work of then.
    at_update: Update,
    backbones_at_window: Vec<[BusClocks; 2]>,
    /// By flow group.
    batches: Vec<Vec<Batch>>,
    /// Payload slots, by wire.
    wire_batches: Vec<Vec<u64>>,
    payload_at_batch: Vec<u64>,
    /// Whether a backlog grew over the window before.
    grew: bool,
    ending: Ending,
    /// The longest time that a packet may be blocked by ordinary traffic, fs.
    stall_timeout: u64,
    last_delivery: (u64, u64),
    step: Option<u64>,
    next_sample: u64,
}

/// What cannot be simulated is said before any work: too much memory, or a link that the simulator does not know.
fn check(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let mut fine = true;
    for link in plan.links.iter() {
        let speed = link.speed.typical;
        if speed.generation.framing() == Framing::Flits {
            fine = false;
            diagnostics.push(
                Diagnostic::error(link.speed.span, format!("links.{}: FLIT mode cannot be simulated yet", link.name))
                    .hint("lanescope estimate answers with its rates; Gen1 to Gen5 can be simulated"),
            );
        }
    }
    if plan.limits.length == Some(Time::ZERO) || plan.limits.max_time == Time::ZERO {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of no time has no answer")
                .hint("run.for and run.max_time are above 0 s"),
        );
    }
    let length = plan.limits.length.unwrap_or(plan.limits.max_time).fs();
    let warmup = plan.limits.warmup.map_or(plan.limits.length.map_or(0, |l| l.fs() / 10), |w| w.fs());
    if !plan.network.streams.is_empty() && length.saturating_add(warmup) > LONGEST_ETHERNET {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of more than 2 h of Ethernet, warm-up included")
                .hint("write less in run.for, run.warmup or run.max_time: milliseconds are many thousand frames"),
        );
    }
    if !plan.storage.flows.is_empty() && length.saturating_add(warmup) > LONGEST_STORAGE {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of more than 5 h of I/Os, warm-up included")
                .hint("write less in run.for, run.warmup or run.max_time: minutes are many thousand I/Os"),
        );
    }
    let mut flights = 0u64;
    for bus in &plan.buses.buses {
        if bus.speed.typical.standard() == Standard::Isa {
            fine = false;
            let what = format!("links.{}: of ISA only the peak is known", bus.name);
            diagnostics.push(Diagnostic::error(bus.speed.span, what).hint("PCI and PCI-X can be simulated"));
        }
    }
    let pcie = plan.flows.iter().map(|f| (&f.name, &f.load, &f.program));
    for (name, load, program) in pcie.chain(plan.buses.flows.iter().map(|f| (&f.name, &f.load, &f.program))) {
        if let Program::Closed { outstanding, round_trip, .. } = *program {
            flights += outstanding as u64;
            if round_trip.is_some() {
                fine = false;
                let what = format!("flow {name}: a stated round_trip cannot be simulated");
                diagnostics.push(
                    Diagnostic::error(load.span, what)
                        .hint("the simulation finds the round trip; lanescope estimate takes it as given"),
                );
            }
        }
        if flights > MOST_IN_FLIGHT {
            fine = false;
            let what = format!("the closed loads keep more than {MOST_IN_FLIGHT} operations in flight");
            diagnostics.push(Diagnostic::error(load.span, what).hint("a simulation remembers each of them"));
            break;
        }
    }
    fine &= under_way(plan, diagnostics);
    let ports: u64 = plan
        .parts
        .iter()
        .filter(|p| matches!(p.keys, PartKeys::Switch(_)))
        .map(|p| p.ports.len() as u64)
        .map(|n| n * n)
        .sum();
    if ports > 1 << 22 {
        fine = false;
        diagnostics.push(Diagnostic::error(None, "the switches have too many ports to be simulated"));
    }
    fine
}

/// Operations that closed loads begin at time 0.
fn at_once(plan: &Plan) -> u64 {
    let programs = plan.flows.iter().map(|f| &f.program).chain(plan.buses.flows.iter().map(|f| &f.program));
    let closed = programs.map(|p| if let Program::Closed { outstanding, .. } = p { *outstanding as u64 } else { 0 });
    closed.sum()
}

/// The packets that links and buffers hold, which grow with latency x rate; no more can be than a run may send.
fn under_way(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let mut crossed: Vec<Hop> =
        plan.flows.iter().flat_map(|f| f.route.iter().chain(&f.back)).flat_map(|h| [*h, h.reversed()]).collect();
    crossed.sort_unstable_by_key(|h| (h.link.0, h.direction.from()));
    crossed.dedup();
    let mut all = 0.0;
    for hop in crossed {
        let (link, to) = (plan.link(hop.link), plan.part(plan.arrives(hop)));
        // The least that is sent in numbers: a cache line with its header and framing.
        let packets = link.speed.typical.coded().bytes() / 88.0;
        let (latency, span) = match &to.keys {
            PartKeys::Switch(k) => (k.latency.typical, k.latency.span),
            PartKeys::RootComplex(k) => (k.write_latency.typical, k.write_latency.span),
            PartKeys::Endpoint(_) => (Time::ZERO, None),
        };
        // Credits go round in both delays, and buffers are twice that (see `Plan::buffer`).
        all += packets * (4.0 * link.delay.typical.seconds() + 2.0 * latency.seconds());
        if all.min(plan.limits.max_packets as f64) > MOST_IN_FLIGHT as f64 {
            let longest = if link.delay.typical > latency { link.delay.span } else { span };
            let what = format!("links.{} holds more than {MOST_IN_FLIGHT} packets on their way", link.name);
            let hint = "latency x rate: write a shorter delay or latency, or less in run.max_packets";
            diagnostics.push(Diagnostic::error(longest, what).hint(hint));
            return false;
        }
    }
    true
}

impl Run {
    /// Prepares a run; `None` when it cannot be, with the reasons in `diagnostics`.
    pub fn new(plan: &Plan, seed: u64, diagnostics: &mut Diagnostics) -> Option<Run> {
        if !check(plan, diagnostics) {
            return None;
        }
        let mut groups = plan.groups();
        let (system, agenda) = System::build(plan, &groups, seed);
        let tables = groups.len();
        let mut flows = plan.flows.len();
        let behind = |all: Vec<Vec<usize>>, first: usize| {
            all.into_iter().map(move |g| g.into_iter().map(|i| i + first).collect())
        };
        groups.extend(behind(plan.network.groups(), flows));
        flows += plan.network.streams.len();
        let frames = groups.len();
        groups.extend(behind(plan.storage.groups(), flows));
        flows += plan.storage.flows.len();
        let before_buses = groups.len();
        groups.extend(behind(plan.buses.groups(), flows));
        flows += plan.buses.flows.len();
        let before_jobs = groups.len();
        groups.extend((0..plan.cluster.jobs.len()).map(|job| vec![flows + job]));
        flows += plan.cluster.jobs.len();
        let stop = &plan.limits;
        let (warmup, last) = match stop.length {
            Some(length) => {
                let warmup = stop.warmup.map_or(length.fs() / 10, |w| w.fs());
                (Some(warmup), warmup.saturating_add(length.fs()))
            }
            // Programs begin and end: all of it counts.
            None if before_jobs < groups.len() => (Some(0), stop.max_time.fs()),
            None => (stop.warmup.map(|w| w.fs()), stop.warmup.map_or(0, |w| w.fs()).saturating_add(stop.max_time.fs())),
        };
        let mut run = Run {
            seed,
            phase: Phase::Warmup { doublings: 0 },
            now: 0,
            batch: LEAST_BATCH,
            batch_end: LEAST_BATCH,
            last,
            next_count: LEAST_BATCH,
            next_look: 0,
            still: (0, 0),
            most_at_once: MOST_AT_ONCE + 8 * at_once(plan),
            window: 0,
            at_window: vec![Tally::default(); flows],
            at_batch: vec![Tally::default(); flows],
            counts_at_window: Vec::new(),
            carried_at_window: Vec::new(),
            drops_at_window: Vec::new(),
            pauses_at_window: Vec::new(),
            moved_at_window: Vec::new(),
            stages_at_window: Vec::new(),
            worked_at_window: Vec::new(),
            at_update: Update::default(),
            backbones_at_window: Vec::new(),
            batches: vec![Vec::new(); groups.len()],
            wire_batches: vec![Vec::new(); system.wires()],
            payload_at_batch: vec![0; system.wires()],
            grew: false,
            ending: Ending::Running,
            stall_timeout: system.stall_timeout(),
            last_delivery: (0, 0),
            step: None,
            next_sample: kernel::NEVER,
            plan: plan.clone(),
            system,
            tables,
            frames,
            before_buses,
            before_jobs,
            agenda,
            groups,
        };
        if let Some(warmup) = warmup {
            // One batch as long as it was said to be.
            run.phase = Phase::Warmup { doublings: WARMUP_DOUBLINGS };
            if warmup == 0 {
                run.open_window();
            } else {
                (run.batch, run.batch_end) = (warmup, warmup);
            }
        }
        Some(run)
    }

    /// Asks for a sample each so often, from now on.
    pub fn sample_every(&mut self, step: crate::units::Time) {
        self.step = Some(step.fs().max(1));
        self.next_sample = self.now + step.fs().max(1);
    }

    /// Takes down what crosses an Ethernet link from now on, by its number; [`Run::crossed`] gives it.
    pub fn capture(&mut self, link: usize) {
        self.system.ethernet.capture(link as u32);
    }

    /// What crossed the captured link since the last time, in order of time. It grows until it is taken.
    pub fn crossed(&mut self) -> Vec<Crossed> {
        self.system.ethernet.crossed()
    }

    /// Takes down what ranks, adapters, wires and buses do, at most so many events. To be called before the run has
    /// begun.
    pub fn record(&mut self, most_events: usize) {
        let trace = trace::trace(&self.plan, &self.system, most_events, self.now);
        self.agenda.trace = Some(Box::new(trace));
        self.system.record(true);
    }

    /// What was taken down, if anything was to be; nothing is from then on.
    pub fn timeline(&mut self) -> Option<Timeline> {
        let trace = self.agenda.trace.take()?;
        self.system.record(false);
        Some(trace.finish(self.now.max(self.agenda.past())))
    }

    /// No more samples.
    pub fn sample_no_more(&mut self) {
        (self.step, self.next_sample) = (None, kernel::NEVER);
    }

    /// Goes on for about `events` events.
    pub fn advance(&mut self, events: u64) -> Step {
        let stop = self.agenda.events().saturating_add(events);
        while self.phase != Phase::Done {
            let until = self.batch_end.min(self.next_sample).min(self.next_count).min(self.last);
            let budget = stop.saturating_sub(self.agenda.events());
            if budget == 0 {
                return Step::More;
            }
            if self.agenda.events() >= self.next_look && self.look() {
                continue;
            }
            // Looks are at the same events however a run is cut in pieces.
            match self.agenda.run(&mut self.system, until, budget.min(self.next_look - self.agenda.events())) {
                Pause::Budget => continue,
                Pause::Silent => {
                    if self.finished() {
                        continue;
                    }
                    // Time goes on although nothing happens; but if packets are blocked it need not.
                    self.now = until;
                    if !self.deadlock(true) && self.step.is_none() {
                        // Closed loads with a pause, or an open one, would still have timers: so all work is done.
                        self.end(Ending::Silent);
                    }
                    if self.is_done() {
                        return Step::Done;
                    }
                }
                Pause::Reached => {
                    if self.finished() {
                        continue;
                    }
                    self.now = until;
                }
            }
            if self.now >= self.batch_end {
                self.end_batch();
            }
            if self.now >= self.next_count {
                self.next_count = self.now + (self.now / 32).max(LEAST_BATCH);
                if self.phase != Phase::Done && self.spent() {
                    self.end(Ending::PacketCap);
                }
                if self.phase != Phase::Done && self.system.ethernet.is_full() {
                    self.end(Ending::Unstable);
                }
            }
            if self.phase != Phase::Done && self.now >= self.last {
                self.end(if self.plan.limits.length.is_some() { Ending::Length } else { Ending::TimeCap });
            }
            if let Some(step) = self.step
                && self.now >= self.next_sample
            {
                self.next_sample += step;
                return Step::Sample;
            }
        }
        Step::Done
    }

    /// Whether there have been as many packets as may be; four steps of a program are work like one.
    fn spent(&self) -> bool {
        self.packets().max(self.system.cluster.steps() / 4) >= self.plan.limits.max_packets
    }

    /// Looks, every so many events, whether the run may go on: it has packets left, and time goes on. Ends it where
    /// not.
    fn look(&mut self) -> bool {
        let events = self.agenda.events();
        self.next_look = events + (self.plan.limits.max_packets / 32).clamp(LEAST_LOOK, MOST_LOOK);
        let moment = self.agenda.past();
        if moment != self.still.0 {
            self.still = (moment, events);
        }
        let ending = match () {
            () if self.spent() => Ending::PacketCap,
            () if events - self.still.1 > self.most_at_once => {
                let at = crate::units::human_time(moment as f64 / 1e15);
                let mut waiting = self.system.waiting(&self.plan);
                waiting.insert(0, format!("time stands still at {at}: {} events at one moment", self.most_at_once));
                Ending::Stall { waiting }
            }
            () => return false,
        };
        self.now = self.now.max(self.agenda.next().min(self.last));
        self.end(ending);
        true
    }

    /// Ends a run whose programs have ended, or have failed.
    fn finished(&mut self) -> bool {
        if let Some(what) = self.system.fault() {
            self.now = self.now.max(self.agenda.past());
            self.end(Ending::Fault { what });
            return true;
        }
        let Some(at) = self.system.cluster.ended().filter(|_| self.plan.limits.length.is_none()) else { return false };
        self.now = self.now.max(at).max(self.agenda.past());
        self.end(Ending::Finished);
        true
    }

    fn end(&mut self, ending: Ending) {
        if self.window == 0 && matches!(self.phase, Phase::Warmup { .. }) {
            // Stopped while it warmed up: what there is counts.
            self.counts_at_window = vec![SlotCounts::default(); self.system.wires()];
        }
        self.system.settle(self.now);
        self.ending = ending;
        self.phase = Phase::Done;
    }

    /// Ends a run before its time; what there is counts.
    pub fn stop(&mut self) {
        if !self.is_done() {
            // Everything before the next moment has happened.
            self.now = self.now.max(self.agenda.next().min(self.last));
            self.end(Ending::Stopped);
        }
    }

    /// Whether a run is over.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The share of the work that is done, as far as one can tell: of the simulated time, or of the packets.
    pub fn progress(&self) -> f64 {
        let packets = self.packets() as f64 / self.plan.limits.max_packets as f64;
        (self.now as f64 / self.last as f64).max(packets).min(1.0)
    }

    /// TLPs and frames carried over links so far.
    pub fn packets(&self) -> u64 {
        self.system.packets()
    }

    /// Events of the kernel so far.
    pub fn events(&self) -> u64 {
        self.agenda.events()
    }

    /// Simulated time so far, s.
    pub fn time(&self) -> f64 {
        self.now as f64 / 1e15
    }

    fn tallies(&self) -> Vec<Tally> {
        self.system.tallies(self.now)
    }

    fn open_window(&mut self) {
        self.phase = Phase::Measure;
        self.window = self.now;
        self.system.settle(self.now);
        self.at_window = self.tallies();
        self.at_batch = self.at_window.clone();
        self.counts_at_window = self.system.counts();
        self.carried_at_window = self.system.carried(self.now);
        self.drops_at_window = self.system.ethernet.stored(self.now);
        self.pauses_at_window = self.pauses();
        self.moved_at_window = self.moved();
        self.stages_at_window = self.system.storage.stages().copied().collect();
        self.worked_at_window = self.system.storage.worked(self.now);
        self.at_update = Update::default();
        self.backbones_at_window = self.system.pcie.backbones();
        self.system.forget(self.now);
        self.batches.iter_mut().for_each(Vec::clear);
        self.wire_batches.iter_mut().for_each(Vec::clear);
        self.payload_at_batch = self.counts_at_window.iter().map(|c| c.payload).collect();
        if self.plan.limits.warmup.is_some() || self.plan.limits.length.is_some() {
            let whole = self.last - self.now;
            self.batch = if self.plan.limits.length.is_some() { (whole / 32).max(1) } else { LEAST_BATCH };
        }
        self.batch_end = self.now.saturating_add(self.batch);
    }

    fn end_batch(&mut self) {
        let tallies = self.tallies();
        let backlogs = self.system.backlogs(self.now);
        for (group, members) in self.groups.iter().enumerate() {
            let mut batch = Batch::default();
            for &m in members {
                let (now, then) = (&tallies[m], &self.at_batch[m]);
                batch.bytes += now.bytes - then.bytes;
                batch.done += now.done - then.done;
                batch.latency += (now.latency - then.latency) as f64;
                batch.transit += (now.transit - then.transit) as f64;
                batch.frame_bytes += now.frame_bytes - then.frame_bytes;
                batch.backlog += backlogs[m];
            }
            self.batches[group].push(batch);
        }
        self.at_batch = tallies;
        for (i, counts) in self.system.counts().into_iter().enumerate() {
            let payload = counts.payload;
            self.wire_batches[i].push(payload - std::mem::replace(&mut self.payload_at_batch[i], payload));
        }
        self.batch_end = self.batch_end.saturating_add(self.batch);
        if self.deadlock(false) {
            return;
        }
        let n = self.batches.first().map_or(0, Vec::len);
        match self.phase {
            Phase::Warmup { .. } if self.plan.limits.warmup.is_some() || self.plan.limits.length.is_some() => {
                self.open_window()
            }
            Phase::Warmup { doublings } if doublings >= WARMUP_DOUBLINGS && self.system.settled() => self.open_window(),
            Phase::Warmup { doublings } if n >= WARMUP_BATCHES => {
                let settled = self.batches.iter().all(|b| {
                    let rates: Vec<f64> = b.iter().map(|b| b.bytes as f64).collect();
                    stats::warmup(&rates) < n / 2 && rates.iter().any(|r| *r > 0.0)
                });
                if settled && self.system.settled() {
                    self.open_window();
                } else {
                    self.join();
                    self.phase = Phase::Warmup { doublings: doublings + 1 };
                }
            }
            Phase::Measure => {
                if self.plan.limits.length.is_none()
                    && self.before_jobs == self.groups.len()
                    && [32, 40, 48, 56, 64].contains(&n)
                    && self.tight()
                {
                    self.end(Ending::Tight);
                } else if n >= stats::MOST {
                    // A backlog that grew over two windows, the second twice as long, will not stop growing.
                    let grows = self.plan.limits.length.is_none() && self.backlog_grows();
                    if grows && self.grew {
                        self.end(Ending::Unstable);
                        return;
                    }
                    self.grew = grows;
                    self.join();
                }
            }
            _ => {}
        }
    }

    fn join(&mut self) {
        self.batches.iter_mut().for_each(stats::join);
        self.wire_batches.iter_mut().for_each(stats::join);
        self.batch *= 2;
        self.batch_end = self.now.saturating_add(self.batch);
    }

    fn backlog_grows(&self) -> bool {
        self.batches.iter().any(|b| {
            let backlogs: Vec<f64> = b.iter().map(|b| b.backlog as f64).collect();
            let done: u64 = b.iter().map(|b| b.done).sum();
            done >= LONG_ENOUGH && stats::grows(&backlogs, done as f64, FAR_BEHIND)
        })
    }

    fn tight(&self) -> bool {
        let until = self.plan.limits.until.0;
        (0..self.groups.len()).all(|g| {
            let (rate, latency) = (self.rate(g), self.latency(g));
            let done: u64 = self.batches[g].iter().map(|b| b.done).sum();
            rate.relative() <= until && latency.relative() <= until && done >= LEAST_OPERATIONS
        })
    }

    /// Whether the reads and writes of a table are counted per direction.
    fn alternates(&self, group: usize) -> bool {
        let pcie = self.plan.flows.get(self.groups[group][0]).map(|f| f.op.typical);
        let op = pcie.or(self.bus_flows(group).map(|(_, f)| f.op.typical));
        op == Some(Do::Alternate)
    }

    /// The members of a table of a bus's flows by their numbers, and the first of them.
    fn bus_flows(&self, group: usize) -> Option<(Vec<usize>, &BusFlow)> {
        let first = self.plan.flows.len() + self.plan.network.streams.len() + self.plan.storage.flows.len();
        if !(self.before_buses..self.before_jobs).contains(&group) {
            return None;
        }
        let members: Vec<usize> = self.groups[group].iter().map(|m| m - first).collect();
        let flow = &self.plan.buses.flows[members[0]];
        Some((members, flow))
    }

    /// Payload that each bus has carried, bytes.
    fn moved(&self) -> Vec<u64> {
        (0..self.system.bus.wires()).map(|b| self.system.bus.carried(b)).collect()
    }

    /// The streams of a table of Ethernet's, by their numbers.
    fn streams(&self, group: usize) -> Option<Vec<usize>> {
        let first = self.plan.flows.len();
        (self.tables..self.frames).contains(&group).then(|| self.groups[group].iter().map(|m| m - first).collect())
    }

    /// The flows of a table of I/Os, by their numbers.
    fn ios_of(&self, group: usize) -> Option<Vec<usize>> {
        let first = self.plan.flows.len() + self.plan.network.streams.len();
        (self.frames..self.before_buses)
            .contains(&group)
            .then(|| self.groups[group].iter().map(|m| m - first).collect())
    }

    /// The program of a table of ranks, by its number.
    fn job(&self, group: usize) -> Option<usize> {
        group.checked_sub(self.before_jobs)
    }

    /// Pause frames that each wire of Ethernet has carried: with a time, without.
    fn pauses(&self) -> Vec<(u64, u64)> {
        (0..self.system.ethernet.wires()).map(|on| self.system.ethernet.pauses(on)).collect()
    }

    /// Looks for packets that wait for one another, and for a run that delivers nothing. Ends it, and says so.
    fn deadlock(&mut self, silent: bool) -> bool {
        if let Some(circle) = self.system.deadlock(&self.plan, self.now, self.stall_timeout, silent) {
            self.end(Ending::Deadlock { circle });
            return true;
        }
        let delivered: u64 = self.tallies().iter().map(|t| t.bytes).sum();
        if delivered != self.last_delivery.0 {
            self.last_delivery = (delivered, self.now);
        }
        if !silent && self.now.saturating_sub(self.last_delivery.1) <= self.stall_timeout.saturating_mul(100) {
            return false;
        }
        let waiting = self.system.waiting(&self.plan);
        if !waiting.is_empty() {
            self.end(Ending::Stall { waiting });
            return true;
        }
        false
    }
}
