//! From a run's counts to what a person reads.

use crate::plan::FlowGroup;
use crate::result::{
    Interval, IoSeen, Note, OverSeeds, SimulatedFlow, SimulatedLink, SimulatedSwitch, Simulation, SlotCounts, Verdict,
};
use crate::scenario::keys::SimulationLevel;
use crate::sim::core::stats;
use crate::sim::core::subsystem::{Batch, OwnReport, Traffic, Window, WireName};
use crate::sim::core::tally::{SECOND, Tally, longest, quantile};
use crate::sim::ethernet::Fabric;
use crate::sim::run::{FAR_BEHIND, Phase, Run};
use serde::Serialize;

/// The part of what is asked for that may be missing beyond chance: a backlog that rises by less is not told from one
/// that does not.
const BEHIND: f64 = 2e-3;

/// What a time series holds at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Simulated time, s.
    pub time: f64,
    /// Payload delivered since time 0, bytes, of each flow.
    pub delivered: Vec<u64>,
    /// Operations that have arrived and not begun, of each flow with an open load.
    pub backlog: Vec<u64>,
    /// Operations begun since time 0, of each flow.
    pub begun: Vec<u64>,
    /// Operations done since time 0, of each flow.
    pub done: Vec<u64>,
    /// Of each direction of each link: slots that were not idle, since time 0.
    pub busy: Vec<u64>,
    /// The same: TLPs in flight and in the buffer at its end.
    pub queued: Vec<usize>,
    /// The same: payload of these, bytes.
    pub queued_bytes: Vec<u64>,
    /// The same: header credits that the transmitter has left, by class (posted, non-posted, completion); `None` is
    /// infinite.
    pub credits: Vec<[Option<u32>; 3]>,
    /// Of each Ethernet switch: bytes of its memory in use.
    pub memory: Vec<u64>,
    /// Of each direction of each Ethernet link: how long PAUSE or PFC has held its transmitter since time 0, fs.
    pub paused: Vec<u64>,
    /// Bytes per second that DCQCN allows: of each connection of each stream of frames, then the slowest of each
    /// program, then its queue pairs (`Cluster::queue_pairs`).
    pub limits: Vec<f64>,
}

impl Run {
    fn window_fs(&self) -> f64 {
        (self.now - self.window) as f64
    }

    fn batch_values(&self, group: &FlowGroup, value: impl Fn(&Batch) -> f64) -> Vec<f64> {
        self.batches[group.index].iter().map(value).collect()
    }

    /// Payload of a flow group, bytes per fs, both ways added. Batches that keep step with a load all look alike,
    /// so the interval is never narrower than one operation of each member, which an end of the window may have cut.
    fn rate_both(&self, group: &FlowGroup, traffic: &Traffic) -> Interval {
        let bytes = self.batch_values(group, |b| b.bytes as f64);
        let times = vec![self.batch as f64; bytes.len()];
        let cut = traffic.cut * group.members.len() as f64 / times.iter().sum::<f64>();
        let seen = stats::ratio(&bytes, &times);
        Interval { half: seen.half.map(|h| h.max(cut)), ..seen }
    }

    /// Payload of a flow group, bytes per fs; per direction where it alternates.
    pub(super) fn rate(&self, group: &FlowGroup) -> Interval {
        let traffic = self.system.of(group.technology).traffic(&self.plan, group.members[0]);
        self.rate_both(group, &traffic).times(if traffic.alternates { 0.5 } else { 1.0 })
    }

    /// Mean latency of its operations, fs.
    pub(super) fn latency(&self, group: &FlowGroup) -> Interval {
        let (tops, bottoms) = (self.batch_values(group, |b| b.latency), self.batch_values(group, |b| b.done as f64));
        stats::ratio(&tops, &bottoms)
    }

    /// [`Sample::limits`].
    fn limits(&self, ethernet: &Fabric) -> Vec<f64> {
        let mut all = ethernet.limits(self.plan.cluster.jobs.len(), self.now);
        let of = |pair: Option<u32>| pair.and_then(|p| ethernet.limit(p, self.now)).unwrap_or(f64::NAN);
        all.extend(self.system.infiniband.shown_pairs().map(of));
        all
    }

    /// What there is so far.
    pub fn snapshot(&self) -> Simulation {
        let plan = &self.plan;
        let window = self.window_fs();
        let tallies = self.tallies();
        let counts = self.system.counts();
        let link = |(i, wire): (usize, WireName)| {
            let WireName { name, from, to, medium, coded } = wire;
            let slots = counts[i].since(self.counts_at_window.get(i).unwrap_or(&SlotCounts::default()));
            let whole = slots.total().max(1) as f64;
            let batches: Vec<f64> = self.wire_batches[i].iter().map(|b| *b as f64).collect();
            let half = stats::ratio(&batches, &vec![self.batch as f64; batches.len()]).half;
            let payload = Interval { mean: slots.payload as f64 / whole * coded, half: half.map(|h| h * 8.0 * SECOND) };
            SimulatedLink { name, from, to, medium, payload, slots, coded, pauses: (0, 0) }
        };
        let links = self.system.wire_names(plan).into_iter().enumerate().map(link).collect();
        let links = self.system.of_wires(plan, window.max(1.0), links);
        let switches: Vec<SimulatedSwitch> = (self.system.switched(plan, self.now).into_iter().enumerate())
            .map(|(i, now)| {
                let (before, time_before) = self.switched_at_window.get(i).copied().unwrap_or_default();
                let tlps = now.packets - before;
                let mean = if tlps > 0 { (now.time - time_before) as f64 / tlps as f64 } else { 0.0 };
                SimulatedSwitch {
                    name: now.name,
                    latency: mean / SECOND,
                    latency_max: now.longest as f64 / SECOND,
                    tlps,
                    memory: now.memory,
                }
            })
            .collect();
        let packets = self.system.infiniband.flow_level.is_none();
        let backbones = if packets { self.system.pcie.backbones_seen(plan) } else { Vec::new() };
        let view = Window {
            plan,
            now: self.now,
            past: self.past(),
            begin: self.window,
            tallies: &tallies,
            at_window: &self.at_window,
            batches: &self.batches,
            batch: self.batch,
            batched: self.batched(),
            links: &links,
            switches: &switches,
            backbones: &backbones,
            ending: &self.ending,
        };
        let backlogs = self.system.backlogs(self.now);
        let own = self.system.reports(&view, &self.groups);
        let flows: Vec<SimulatedFlow> =
            self.groups.iter().zip(own).map(|(g, own)| self.flow(g, &view, &backlogs, own)).collect();
        let rates = self.groups.iter().map(|g| {
            let traffic = self.system.of(g.technology).traffic(plan, g.members[0]);
            self.mean_rate(g, &traffic, &tallies)
        });
        let both_ways = rates.fold(Interval { mean: 0.0, half: Some(0.0) }, Interval::plus).times(8.0 * SECOND);
        let fold = |h: u64, (fingerprint, done): (u64, u64)| {
            (h ^ fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ done
        };
        let fingerprint = self.system.fingerprints().fold(self.seed, fold);
        let chosen = plan.limits.level_reason.as_ref().map(|why| Note {
            element: "run.level".into(),
            mechanism: "level".into(),
            text: why.clone(),
        });
        let notes = chosen.into_iter().chain(self.system.all().iter().flat_map(|side| side.notes(&view))).collect();
        Simulation {
            seed: self.seed,
            fingerprint: format!("{fingerprint:016x}"),
            ending: self.ending.clone(),
            warmup: self.window as f64 / SECOND,
            window: window / SECOND,
            packets: self.packets(),
            flow_level: plan.limits.level == SimulationLevel::Flow,
            events: self.events(),
            threads: self.used_threads,
            until: plan.limits.length.is_none().then_some(plan.limits.until.0),
            flows,
            both_ways,
            links,
            switches,
            backbones,
            not_modelled: crate::sim::not_modelled::of(plan),
            notes,
        }
    }

    /// Both ways added, bytes per fs: of the batches, or where there are none yet, of all that there is. A program
    /// counts from its beginning to its end.
    fn mean_rate(&self, group: &FlowGroup, traffic: &Traffic, tallies: &[Tally]) -> Interval {
        if self.batched() && !traffic.whole {
            return self.rate_both(group, traffic);
        }
        let bytes: u64 = group.places().map(|m| tallies[m].bytes - self.at_window[m].bytes).sum();
        Interval { mean: bytes as f64 / self.window_fs().max(1.0), half: None }
    }

    fn in_warmup(&self) -> bool {
        matches!(self.phase, Phase::Warmup { .. })
    }

    /// Whether there are batches enough for an interval.
    fn batched(&self) -> bool {
        self.batches.first().is_some_and(|b| b.len() >= 2) && !self.in_warmup()
    }

    fn flow(&self, group: &FlowGroup, view: &Window, backlogs: &[u64], own: OwnReport) -> SimulatedFlow {
        let tallies = view.tallies;
        let all = self.system.traffic(&self.plan, group);
        let traffic = &all[0];
        let ways = if traffic.alternates { 0.5 } else { 1.0 };
        let window = view.length();
        let done = view.since(group, |t| t.done as u128) as u64;
        let latency_sum = view.since(group, |t| t.latency) as f64;
        let firsts = view.since(group, |t| t.firsts as u128) as f64;
        let batched = self.latency(group);
        let latency = if batched.half.is_some() && !self.in_warmup() && !traffic.whole {
            batched
        } else {
            Interval { mean: if done > 0 { latency_sum / done as f64 } else { 0.0 }, half: None }
        };
        // Operations in flight: the integral over the window of begun - done, by the sums of their moments.
        let area = |now: f64, t: &Tally| {
            let gone = (t.done + t.lost) as f64 * now - t.done_sum as f64 - t.lost_sum as f64;
            (t.begun + t.waiting) as f64 * now - t.begun_sum as f64 - t.waiting_sum as f64 - gone
        };
        let (from, to) = (self.window as f64, self.now as f64);
        let in_flight: f64 =
            group.places().map(|m| area(to, &tallies[m]) - area(from, &self.at_window[m])).sum::<f64>() / window;
        // Ranks say what they will send before its moment: where a run is cut off there, such a message counts as less
        // than none.
        let in_flight = in_flight.max(0.0);
        let histogram = &self.system.latencies(group).histogram();
        let rate = self.mean_rate(group, traffic, tallies).times(ways * 8.0 * SECOND);
        let rising = self.batch_values(group, |b| b.backlog as f64);
        let unstable = stats::grows(&rising, done as f64, BEHIND) || self.short(group, &all, tallies, rate.mean);
        let each = |m: usize| (tallies[m].bytes - self.at_window[m].bytes) as f64 / window * ways * 8.0 * SECOND;
        SimulatedFlow {
            name: traffic.group.to_owned(),
            rate,
            each: group.places().map(each).collect(),
            goodput: own.without_headers.map(|part| rate.mean * part),
            latency: latency.times(1.0 / SECOND),
            latency_first: (firsts > 0.0).then(|| view.since(group, |t| t.first_latency) as f64 / firsts / SECOND),
            p50: quantile(histogram, 0.5),
            p99: quantile(histogram, 0.99),
            p999: quantile(histogram, 0.999),
            max: longest(histogram),
            operations: done,
            in_flight,
            little: latency_sum / window,
            backlog: group.places().map(|m| backlogs[m]).sum(),
            unstable,
            frames: own.frames,
            bound_by: own.bound_by,
            ios: own.ios,
            program: own.program,
            over_seeds: None,
            ways: own.ways,
        }
    }

    /// Whether a flow group gets less than it asks for, by more than chance. `rate` is what it gets, bits per
    /// second.
    ///
    /// What was asked for in the window was delivered, is under way, was lost, or stands in a backlog. At a load that
    /// is carried the backlog is that of a queue: it moves by chance, like the sum of the arrivals. The sum of N random
    /// ones has a standard deviation of sqrt(N), in bursts of B on average of sqrt(2 N B) (their number and their
    /// lengths both vary); four of them are what a queue without any capacity to spare reaches once in ten thousand
    /// windows. Even arrivals are off by the operations that an edge of the window cuts.
    fn short(&self, group: &FlowGroup, traffic: &[Traffic], tallies: &[Tally], rate: f64) -> bool {
        let window = self.window_fs() / SECOND;
        let Some(offered) = traffic.iter().map(|t| t.offered.as_ref()).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let wants: f64 = offered.iter().map(|o| o.rate).sum();
        if offered.iter().any(|o| !o.open) {
            return Verdict::of(wants, rate, false, 0.0) == Verdict::Unstable;
        }
        let ways = if traffic[0].alternates { 0.5 } else { 1.0 };
        let under_way = |t: &Tally| t.begun.saturating_sub(t.done + t.lost) as f64;
        let (mut held, mut lost, mut variance, mut edges) = (0.0, 0.0, 0.0, 0.0);
        for (m, o) in group.places().zip(offered) {
            let (now, then) = (&tallies[m], &self.at_window[m]);
            held += (under_way(now) - under_way(then)).max(0.0) * o.size * ways;
            lost += (now.lost - then.lost) as f64 * o.size;
            variance += o.rate * window / 8.0 * o.size * o.together;
            edges += 2.0 * o.size;
        }
        let (offered, chance) = (wants * window / 8.0, 4.0 * variance.sqrt() + edges);
        let missing = offered - rate * window / 8.0 - held - chance;
        // Where a few are lost to bursts nothing grows, and the report counts them; where many are, the load is not
        // carried.
        missing - lost > BEHIND * offered || missing > FAR_BEHIND * offered
    }

    /// In the middle of a piece of work, things have happened later than all that is over.
    fn past(&self) -> u64 {
        if self.is_done() { self.now } else { self.now.max(self.last_event()) }
    }

    /// What instruments ask for while a run is under way: all I/Os that have begun since the counting did and are done.
    /// Counts are cumulative; it costs no more than a few names and numbers for each flow of I/Os.
    pub fn ios(&self) -> IoSeen {
        let storage = &self.plan.storage;
        self.system.storage.instruments(storage, 0..storage.flows.len(), (self.window, self.past()))
    }

    /// The same since the last such question; without one, since the counting began. The shortest times are those of
    /// the whole.
    pub fn latest_ios(&mut self) -> IoSeen {
        let span = (self.window, self.past());
        self.system.storage.latest(&self.plan.storage, span)
    }

    /// The values of a time series at the present moment; everything before has happened.
    pub fn sample(&self) -> Sample {
        let (held, credits) = (self.system.held(), self.system.credits());
        let (tallies, ethernet) = (self.tallies(), self.system.fabric());
        Sample {
            time: self.time(),
            delivered: tallies.iter().map(|t| t.bytes).collect(),
            begun: tallies.iter().map(|t| t.begun).collect(),
            done: tallies.iter().map(|t| t.done).collect(),
            backlog: self.system.backlogs(self.now),
            busy: self.system.counts().iter().map(SlotCounts::busy).collect(),
            queued: held.iter().map(|h| h.0).collect(),
            queued_bytes: held.iter().map(|h| h.1).collect(),
            credits,
            limits: self.limits(&ethernet),
            memory: ethernet.stored(self.now).iter().map(|s| s.now).collect(),
            paused: ethernet.paused(self.now),
        }
    }
}

/// Runs of one plan with several seeds, as one: the first of them, with the means over all beside it.
pub fn over_seeds(mut runs: Vec<Simulation>) -> Option<Simulation> {
    let seeds = runs.len();
    let over = |pick: &dyn Fn(&SimulatedFlow) -> f64, flow: usize| {
        let values: Vec<f64> = runs.iter().map(|r| pick(&r.flows[flow])).collect();
        stats::mean(&values)
    };
    let flows = 0..runs.first().map_or(0, |r| r.flows.len());
    let all: Vec<OverSeeds> = flows
        .map(|f| OverSeeds {
            seeds,
            rate: over(&|s| s.rate.mean, f),
            latency: over(&|s| s.latency.mean, f),
            p99: over(&|s| s.p99, f),
            max: over(&|s| s.max, f),
            dropped: runs[0].flows[f].frames.map(|_| over(&|s| s.frames.map_or(0.0, |f| f.dropped as f64), f)),
            transit_max: runs[0].flows[f].frames.map(|_| over(&|s| s.frames.map_or(0.0, |f| f.transit_max), f)),
        })
        .collect();
    let mut first = (!runs.is_empty()).then(|| runs.swap_remove(0))?;
    first.flows.iter_mut().zip(all).for_each(|(f, over)| f.over_seeds = Some(over));
    Some(first)
}
