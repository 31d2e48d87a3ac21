//! A run: how long, until when, and what it ends with.
//!
//! It begins with a warm-up that is left out, then gathers batches until the means are tight, the length asked for is
//! over, or a cap is reached.

use crate::diagnostic::Diagnostics;
use crate::plan::{FlowGroup, Plan, Program};
use crate::result::timeline::Timeline;
use crate::result::{Crossed, Ending, SlotCounts};
use crate::scenario::keys::Technology;
use crate::sim::System;
use crate::sim::check::check;
use crate::sim::core::kernel::{self, Agenda, Pause};
use crate::sim::core::stats;
use crate::sim::core::subsystem::{Batch, Subsystem};
use crate::sim::core::tally::Tally;
use crate::sim::ethernet::Parallel;
use crate::sim::trace;

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
pub(super) const FAR_BEHIND: f64 = 0.05;
const LONG_ENOUGH: u64 = 10_000;
/// Events after which a fabric is divided among threads: what each wire has carried until then says who does what.
const BEFORE_DIVIDED: u64 = 1 << 15;
/// Events that each thread has between two meetings at least, on average: fewer cost more than they take.
const LEAST_IN_A_WINDOW: f64 = 24.0;
/// Where there might be too many packets before a piece of a run ends, events are spared in parts of it; by so many
/// halvings, since each part is a look at every wire.
const SPARED_HALVINGS: u32 = 6;
/// On several threads a piece of a run is so many times as long as it was asked to be.
const PIECES_AT_ONCE: u64 = 8;
/// Shortest first batch, fs. Longer than any ordered set or DLLP policy takes to repeat itself.
const LEAST_BATCH: u64 = 2_000_000_000;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
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
    pub(super) plan: Plan,
    pub(super) seed: u64,
    pub(super) system: System,
    pub(super) agenda: Agenda,
    pub(super) groups: Vec<FlowGroup>,
    pub(super) phase: Phase,
    /// Everything before has happened.
    pub(super) now: u64,
    /// Length of a batch, and the end of the current one.
    pub(super) batch: u64,
    pub(super) batch_end: u64,
    /// When the run must end, whatever else.
    pub(super) last: u64,
    /// When the packets are counted next: a batch may be as long as anyone asks for, and must not outrun their cap.
    pub(super) next_count: u64,
    /// The same by events: a late burst must not outrun it either. And the moment that was then, with the events since
    /// it began: time must go on.
    pub(super) next_look: u64,
    pub(super) still: (u64, u64),
    pub(super) most_at_once: u64,
    /// Whether what is only counted has no events, and up to when that is decided.
    spares: bool,
    spares_to: u64,
    /// Threads that it may use, after how many events they are first used, and the events that each has between two
    /// meetings at least; and how many were used.
    threads: usize,
    divide_at: u64,
    least_in_a_window: f64,
    pub(super) used_threads: usize,
    /// When the measured window began.
    pub(super) window: u64,
    /// Tallies at the beginning of the window, and of the batch.
    pub(super) at_window: Vec<Tally>,
    pub(super) at_batch: Vec<Tally>,
    pub(super) counts_at_window: Vec<SlotCounts>,
    /// Of each switch: packets, and the sum of what they took, fs.
    pub(super) switched_at_window: Vec<(u64, u128)>,
    /// By flow group.
    pub(super) batches: Vec<Vec<Batch>>,
    /// Payload slots, by wire.
    pub(super) wire_batches: Vec<Vec<u64>>,
    pub(super) payload_at_batch: Vec<u64>,
    /// Whether a backlog grew over the window before.
    pub(super) grew: bool,
    pub(super) ending: Ending,
    /// The longest time that a packet may be blocked by ordinary traffic, fs.
    pub(super) stall_timeout: u64,
    pub(super) last_delivery: (u64, u64),
    pub(super) step: Option<u64>,
    pub(super) next_sample: u64,
}

/// Operations that closed loads begin at time 0.
fn at_once(plan: &Plan) -> u64 {
    let programs = plan.flows.iter().map(|f| &f.program).chain(plan.buses.flows.iter().map(|f| &f.program));
    let closed = programs.map(|p| if let Program::Closed { outstanding, .. } = p { *outstanding as u64 } else { 0 });
    closed.sum()
}

impl Run {
    /// Prepares a run; `None` when it cannot be, with the reasons in `diagnostics`.
    pub fn new(plan: &Plan, seed: u64, diagnostics: &mut Diagnostics) -> Option<Run> {
        if !check(plan, diagnostics) {
            return None;
        }
        let groups = plan.flow_groups();
        let flows = Technology::ALL.into_iter().map(|t| plan.flows_of(t).len()).sum();
        let (system, agenda) = System::build(plan, seed);
        let stop = &plan.limits;
        let (warmup, last) = match stop.length {
            Some(length) => {
                let warmup = stop.warmup.map_or(length.fs() / 10, |w| w.fs());
                (Some(warmup), warmup.saturating_add(length.fs()))
            }
            // Programs begin and end: all of it counts.
            None if !plan.cluster.jobs.is_empty() => (Some(0), stop.max_time.fs()),
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
            spares: false,
            spares_to: 0,
            threads: 1,
            divide_at: BEFORE_DIVIDED,
            least_in_a_window: LEAST_IN_A_WINDOW,
            used_threads: 1,
            window: 0,
            at_window: vec![Tally::default(); flows],
            at_batch: vec![Tally::default(); flows],
            counts_at_window: Vec::new(),
            switched_at_window: Vec::new(),
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
            agenda,
            groups,
        };
        run.spares = run.system.spare_events(plan);
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

    /// Lets it use so many threads: of Ethernet packet by packet, where there is enough to do at once. What comes out
    /// is the same with any number of them. What is sampled, captured or recorded on the way is on one.
    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// The same after so many events, however little there is to do: for tests.
    #[doc(hidden)]
    pub fn use_threads_after(&mut self, threads: usize, events: u64) {
        (self.threads, self.divide_at, self.least_in_a_window) = (threads, events, 0.0);
    }

    /// Has every event, also those whose whole effect is known ahead, which others are spared: for tests. To be called
    /// before the run has begun.
    #[doc(hidden)]
    pub fn spare_nothing(&mut self) {
        if std::mem::take(&mut self.spares) {
            self.system.spare_no_events(&mut self.agenda);
        }
    }

    /// Asks for a sample each so often, from now on.
    pub fn sample_every(&mut self, step: crate::units::Time) {
        self.unite();
        self.step = Some(step.fs().max(1));
        self.next_sample = self.now + step.fs().max(1);
    }

    /// Takes down what crosses an Ethernet link from now on, by its number; [`Run::crossed`] gives it.
    pub fn capture(&mut self, link: usize) {
        self.unite();
        self.system.ethernet.capture(link as u32);
    }

    /// What crossed the captured link since the last time, in order of time. It grows until it is taken.
    pub fn crossed(&mut self) -> Vec<Crossed> {
        self.system.ethernet.crossed()
    }

    /// Takes down what ranks, adapters, wires and buses do, at most so many events. To be called before the run has
    /// begun.
    pub fn record(&mut self, most_events: usize) {
        self.unite();
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

    /// Goes on for about `events` events; on several threads for some times as many.
    pub fn advance(&mut self, events: u64) -> Step {
        let stop = self.events().saturating_add(events);
        while self.phase != Phase::Done {
            let until = self.batch_end.min(self.next_sample).min(self.next_count).min(self.last);
            let near = self.spare(until);
            let budget = stop.saturating_sub(self.events());
            if budget == 0 {
                return Step::More;
            }
            if self.system.parallel.is_none() && self.agenda.events() >= self.next_look && self.look() {
                continue;
            }
            self.divide();
            let Some(mut pause) = self.go_on(near, budget) else { continue };
            if self.spares {
                let so_far = if pause == Pause::Budget { self.last_event() } else { near };
                // What is still to come without an event comes all the same.
                if self.system.take_in(so_far, &mut self.agenda) && pause == Pause::Silent {
                    pause = Pause::Reached;
                }
            }
            match pause {
                Pause::Budget => continue,
                Pause::Reached if near < until => {
                    self.now = near;
                    continue;
                }
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
                if self.phase != Phase::Done && self.system.is_full() {
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

    /// Lets happen what lies before a moment, or about so many events. None where that is to be begun anew.
    fn go_on(&mut self, until: u64, budget: u64) -> Option<Pause> {
        let Some(parallel) = &mut self.system.parallel else {
            // Looks are at the same events however a run is cut in pieces.
            let budget = budget.min(self.next_look - self.agenda.events());
            return Some(self.agenda.run(&mut self.system, until, budget));
        };
        let (next, mut end) = (parallel.next(), until);
        // A look by the number of events ends a run that has had its packets: where it may, events are in one row.
        let room = self.plan.limits.max_packets.saturating_sub(parallel.packets());
        while next < end && self.system.ethernet.most_packets(end - next) >= room {
            if end - next < parallel.least_span() {
                self.unite();
                return None;
            }
            end = next + (end - next) / 2;
        }
        // Threads are begun anew for each piece, which takes as long as some thousand events.
        let budget = budget.saturating_mul(PIECES_AT_ONCE);
        let Some(pause) = (if next < end { parallel.run(end, budget) } else { Some(parallel.pause(end)) }) else {
            self.unite();
            return None;
        };
        let (moment, events) = (parallel.next(), parallel.events());
        if moment != self.still.0 {
            self.still = (moment, events);
        } else if events - self.still.1 > self.most_at_once {
            self.unite();
        }
        Some(if pause == Pause::Reached && end < until { Pause::Budget } else { pause })
    }

    /// Divides Ethernet among threads, once, where there are several and it is alone.
    fn divide(&mut self) {
        if self.threads < 2 || self.agenda.events() < self.divide_at || self.system.parallel.is_some() {
            return;
        }
        self.divide_at = u64::MAX;
        let System { ethernet, flow_level, .. } = &self.system;
        let alone = flow_level.is_none() && self.system.wires() == self.system.of(Technology::Ethernet).wires();
        if alone && self.step.is_none() && self.agenda.trace.is_none() {
            let parallel = Parallel::divide(ethernet, &self.agenda, self.threads, self.least_in_a_window);
            self.system.parallel = parallel.map(Box::new);
            self.used_threads = self.used_threads.max(self.system.parallel.as_ref().map_or(1, |p| p.threads()));
        }
    }

    /// One thread goes on with all.
    fn unite(&mut self) {
        self.divide_at = u64::MAX;
        let Some(parallel) = self.system.parallel.take() else { return };
        let slots = self.system.split[0]..self.system.storage.slot;
        self.system.ethernet = parallel.join(&mut self.agenda, slots);
        if std::mem::take(&mut self.spares) {
            self.system.ethernet.spare_no_events(&mut self.agenda);
        }
        self.next_look = self.agenda.events().next_multiple_of(self.look_interval());
        self.still = (self.agenda.past(), self.agenda.events());
    }

    /// The latest moment that had an event.
    pub(super) fn last_event(&self) -> u64 {
        self.system.parallel.as_ref().map_or(self.agenda.past(), |p| p.past())
    }

    /// What is only counted may go without events up to a moment, unless there may be as many packets before it as
    /// may be: then up to a sooner one, which it gives; or from now on each has its event, since a look by the number
    /// of events ends the run. Everything before now has happened.
    fn spare(&mut self, until: u64) -> u64 {
        if !self.spares || self.system.parallel.is_some() || until <= self.now {
            return until;
        }
        if self.spares_to <= self.now {
            let room = self.plan.limits.max_packets.saturating_sub(self.packets());
            // Where programs end is seen at the end of a piece, so for them there is only the whole.
            let halvings = if self.plan.cluster.jobs.is_empty() { SPARED_HALVINGS } else { 0 };
            let mut spans = (0..=halvings).map(|n| (until - self.now) >> n);
            match spans.find(|span| self.system.most_packets(*span) < room) {
                Some(span) if span > 0 => self.spares_to = self.now + span,
                _ => {
                    self.spares = false;
                    self.system.spare_no_events(&mut self.agenda);
                    self.next_look = self.agenda.events().next_multiple_of(self.look_interval());
                    return until;
                }
            }
        }
        self.spares_to.min(until)
    }

    /// Looks are at multiples of so many events.
    fn look_interval(&self) -> u64 {
        (self.plan.limits.max_packets / 32).clamp(LEAST_LOOK, MOST_LOOK)
    }

    /// Whether there have been as many packets as may be; four steps of a program are work like one.
    fn spent(&self) -> bool {
        self.packets().max(self.system.infiniband.steps() / 4) >= self.plan.limits.max_packets
    }

    /// Looks, every so many events, whether the run may go on: it has packets left, and time goes on. Ends it where
    /// not.
    fn look(&mut self) -> bool {
        let events = self.agenda.events();
        self.next_look = events + self.look_interval();
        let moment = self.agenda.past();
        if moment != self.still.0 {
            self.still = (moment, events);
        }
        let ending = match () {
            () if self.spent() => Ending::PacketCap,
            () if events - self.still.1 > self.most_at_once => {
                let at = crate::units::human_time(moment as f64 / 1e15);
                let mut waiting = self.system.waiting(&self.plan);
                waiting.insert(
                    0,
                    format!("simulated time stands still at {at}: {} events at one moment", self.most_at_once),
                );
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
            self.now = self.now.max(self.last_event());
            self.end(Ending::Fault { what });
            return true;
        }
        let Some(at) = self.system.infiniband.ended().filter(|_| self.plan.limits.length.is_none()) else {
            return false;
        };
        self.now = self.now.max(at).max(self.last_event());
        self.end(Ending::Finished);
        true
    }

    fn end(&mut self, ending: Ending) {
        if self.window == 0 && matches!(self.phase, Phase::Warmup { .. }) {
            // Stopped while it warmed up: what there is counts.
            self.counts_at_window = vec![SlotCounts::default(); self.system.wires()];
        }
        if self.spares {
            self.system.take_in(self.now, &mut self.agenda);
        }
        self.unite();
        self.system.settle(&self.plan, self.now);
        self.ending = ending;
        self.phase = Phase::Done;
    }

    /// Ends a run before its time; what there is counts.
    pub fn stop(&mut self) {
        if !self.is_done() {
            if self.system.parallel.is_some() {
                // The others go on to where the furthest thread has come to.
                let furthest = self.last_event();
                self.unite();
                self.agenda.run(&mut self.system, furthest.saturating_add(1), u64::MAX);
            }
            // Everything before the next moment has happened.
            self.now = self.now.max(self.agenda.next().min(self.last));
            self.end(Ending::Stopped);
        }
    }

    /// Whether a run is over.
    pub(crate) fn is_done(&self) -> bool {
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
        self.system.parallel.as_ref().map_or(self.agenda.events(), |p| p.events())
    }

    /// Simulated time so far, s.
    pub fn time(&self) -> f64 {
        self.now as f64 / 1e15
    }

    pub(super) fn tallies(&self) -> Vec<Tally> {
        self.system.tallies(self.now)
    }

    fn open_window(&mut self) {
        self.phase = Phase::Measure;
        self.window = self.now;
        self.system.settle(&self.plan, self.now);
        self.at_window = self.tallies();
        self.at_batch = self.at_window.clone();
        self.counts_at_window = self.system.counts();
        let switched = self.system.switched(&self.plan, self.now);
        self.switched_at_window = switched.into_iter().map(|c| (c.packets, c.time)).collect();
        self.system.open_window(self.now);
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
        for group in &self.groups {
            let mut batch = Batch::default();
            for m in group.places() {
                let (now, then) = (&tallies[m], &self.at_batch[m]);
                batch.bytes += now.bytes - then.bytes;
                batch.done += now.done - then.done;
                batch.latency += (now.latency - then.latency) as f64;
                batch.transit += (now.transit - then.transit) as f64;
                batch.frame_bytes += now.frame_bytes - then.frame_bytes;
                batch.backlog += backlogs[m];
            }
            self.batches[group.index].push(batch);
        }
        self.at_batch = tallies;
        self.system.put_down(&self.plan, self.now);
        for (i, payload) in self.system.payloads(self.now).enumerate() {
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
                    && self.plan.cluster.jobs.is_empty()
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
        self.groups.iter().all(|g| {
            let (rate, latency) = (self.rate(g), self.latency(g));
            let done: u64 = self.batches[g.index].iter().map(|b| b.done).sum();
            rate.relative() <= until && latency.relative() <= until && done >= LEAST_OPERATIONS
        })
    }

    /// Looks for packets that wait for one another, and for a run that delivers nothing. Ends it, and says so.
    fn deadlock(&mut self, silent: bool) -> bool {
        if let Some(circle) = self.system.deadlock(&self.plan, self.now, self.stall_timeout, silent) {
            self.end(Ending::Deadlock { circle });
            return true;
        }
        // A run that has not fallen silent has just ended a batch.
        let tallies = if silent { &self.tallies() } else { &self.at_batch };
        let delivered: u64 = tallies.iter().map(|t| t.bytes).sum();
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
