//! From a run's counts to what a person reads.

use crate::plan::pci::BusFlow;
use crate::plan::{Backbone, FlowId, PartId, Program};
use crate::protocol::pcie::Class;
use crate::result::{
    BusClocks, Interval, IoCounts, IoSeen, Medium, OverSeeds, SimulatedBackbone, SimulatedFlow, SimulatedFrames,
    SimulatedIos, SimulatedLink, SimulatedMemory, SimulatedSwitch, Simulation, SlotCounts, Verdict,
};
use crate::scenario::PartKeys;
use crate::scenario::keys::{Buffers, StreamLoad};
use crate::scenario::quantity::Corner;
use crate::sim::core::stats;
use crate::sim::core::tally::Tally;
use crate::sim::storage::count;
use crate::sim::{Run, binding};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Femtoseconds in a second.
const SECOND: f64 = 1e15;
/// The part of what is asked for that may be missing beyond chance: a backlog that rises by less is not told from one
/// that does not.
const BEHIND: f64 = 2e-3;

/// What the reports of all flow groups are made of.
#[derive(Clone, Copy)]
struct Counters<'a> {
    tallies: &'a [Tally],
    /// Of each flow, and of each stream.
    backlogs: &'a [u64],
    in_flight: &'a [u64],
    links: &'a [SimulatedLink],
    backbones: &'a [SimulatedBackbone],
    /// Of each Ethernet switch.
    memories: &'a [SimulatedMemory],
}

/// What so much of the operations took at most, s.
fn quantile(picoseconds: &Histogram<u64>, part: f64) -> f64 {
    if picoseconds.is_empty() { 0.0 } else { picoseconds.value_at_quantile(part) as f64 * 1e-12 }
}

/// What the longest of them took, s.
fn longest(picoseconds: &Histogram<u64>) -> f64 {
    if picoseconds.is_empty() { 0.0 } else { picoseconds.max() as f64 * 1e-12 }
}

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
}

impl Run {
    fn window_fs(&self) -> f64 {
        (self.now - self.window) as f64
    }

    fn batch_values(&self, group: usize, value: impl Fn(&crate::sim::Batch) -> f64) -> Vec<f64> {
        self.batches[group].iter().map(value).collect()
    }

    /// Payload of a flow group, bytes per fs, both ways added. Batches that keep step with a load all look alike,
    /// so the interval is never narrower than one operation of each member, which an end of the window may have cut.
    fn rate_both(&self, group: usize) -> Interval {
        let bytes = self.batch_values(group, |b| b.bytes as f64);
        let times = vec![self.batch as f64; bytes.len()];
        let members = &self.groups[group];
        let first = members[0];
        let size = match (self.streams(group), self.ios_of(group), self.bus_flows(group)) {
            _ if self.job(group).is_some() => 0.0,
            (Some(s), ..) => self.plan.network.streams[s[0]].size.typical.f64(),
            // Counted frame by frame, and burst by burst; messages as a whole.
            (_, Some(f), _) => {
                let f = &self.plan.storage.flows[f[0]];
                f.mix().bytes.min(if f.adapter.is_some() { 64.0 * 1024.0 } else { f64::INFINITY })
            }
            (_, _, Some((_, f))) => f.size.typical.f64(),
            _ => self.plan.flows[first].size.typical.f64(),
        };
        let cut = size * members.len() as f64 / times.iter().sum::<f64>();
        let seen = stats::ratio(&bytes, &times);
        Interval { half: seen.half.map(|h| h.max(cut)), ..seen }
    }

    /// Payload of a flow group, bytes per fs; per direction where it alternates.
    pub(super) fn rate(&self, group: usize) -> Interval {
        self.rate_both(group).times(if self.alternates(group) { 0.5 } else { 1.0 })
    }

    /// Mean latency of its operations, fs.
    pub(super) fn latency(&self, group: usize) -> Interval {
        let (tops, bottoms) = (self.batch_values(group, |b| b.latency), self.batch_values(group, |b| b.done as f64));
        stats::ratio(&tops, &bottoms)
    }

    /// What there is so far.
    pub fn snapshot(&self) -> Simulation {
        let plan = &self.plan;
        let window = self.window_fs();
        let tallies = self.tallies();
        let counts = self.system.counts();
        let link = |i: usize, name: &str, (from, to): (&str, &str), medium: Medium, coded: f64, pauses: (u64, u64)| {
            let slots = counts[i].since(self.counts_at_window.get(i).unwrap_or(&SlotCounts::default()));
            let whole = slots.total().max(1) as f64;
            let batches: Vec<f64> = self.wire_batches[i].iter().map(|b| *b as f64).collect();
            let half = stats::ratio(&batches, &vec![self.batch as f64; batches.len()]).half;
            SimulatedLink {
                name: name.to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
                medium,
                payload: Interval { mean: slots.payload as f64 / whole * coded, half: half.map(|h| h * 8.0 * SECOND) },
                slots,
                coded,
                pauses,
            }
        };
        let mut links: Vec<SimulatedLink> = plan
            .directions()
            .enumerate()
            .map(|(i, hop)| {
                let (name, coded) = (&plan.link(hop.link).name, plan.link(hop.link).speed.typical.coded().bits());
                let ends = [plan.leaves(hop), plan.arrives(hop)].map(|p| plan.part(p).name.as_str());
                link(i, name, ends.into(), Medium::Pcie, coded, (0, 0))
            })
            .collect();
        let (first, network) = (links.len(), &plan.network);
        let pauses = self.pauses();
        links.extend((0..pauses.len()).map(|on| {
            let wire = on as u32;
            let before = self.pauses_at_window.get(on).copied().unwrap_or_default();
            let pauses = (pauses[on].0 - before.0, pauses[on].1 - before.1);
            let ends = [network.leaves(wire), network.arrives(wire)].map(|n| network.node(n).name.as_str());
            let l = network.link(wire);
            link(first + on, &l.name, ends.into(), Medium::Ethernet, l.rate.typical.rate().bits(), pauses)
        }));
        let first = links.len();
        links.extend(plan.storage.wires().enumerate().map(|(on, wire)| {
            let t = &wire.transport;
            link(first + on, &t.name, (wire.from, wire.to), (&t.medium).into(), t.rate().bits(), (0, 0))
        }));
        let (first, buses) = (links.len(), &plan.buses);
        links.extend(self.moved().into_iter().zip(&buses.buses).enumerate().map(|(i, (moved, bus))| {
            let speed = bus.speed.typical;
            let (ends, medium) = (buses.ends_text(bus), Medium::from(speed.standard()));
            let seen = link(first + i, &bus.name, (&ends, ""), medium, speed.peak().bits(), (0, 0));
            // Batches are of clocks; a narrow last data phase carries less than its clock could.
            let bytes = moved - self.moved_at_window.get(i).copied().unwrap_or(0);
            let half = seen.payload.half.map(|h| h * speed.per_clock() as f64);
            let payload = Interval { mean: bytes as f64 * 8.0 * SECOND / window.max(1.0), half };
            SimulatedLink { payload, ..seen }
        }));
        let (first, cluster) = (links.len(), &plan.cluster);
        links.extend((0..2 * cluster.links.len() as u32).map(|wire| {
            let [from, to] = [cluster.leaves(wire), cluster.arrives(wire)].map(|n| cluster.node_name(n));
            let l = cluster.link(wire);
            link(
                first + wire as usize,
                &l.name,
                (&from, &to),
                Medium::Infiniband,
                l.rate.typical.data_rate().bits(),
                (0, 0),
            )
        }));
        let before = |i: usize| self.drops_at_window.get(i).copied().unwrap_or_default();
        let stored = self.system.ethernet.stored(self.now);
        let memories: Vec<SimulatedMemory> = network
            .switches()
            .zip(&stored)
            .enumerate()
            .map(|(i, ((_, node, keys), s))| SimulatedMemory {
                most: s.most,
                at_end: s.now,
                no_memory: s.no_memory - before(i).no_memory,
                no_headroom: s.no_headroom - before(i).no_headroom,
                size: match keys.buffers.typical {
                    Buffers::Shared => keys.memory.typical.0,
                    _ => keys.memory.typical.0.saturating_mul(node.ports.len() as u64),
                },
            })
            .collect();
        let backbones = self.backbones();
        let backlogs = self.system.backlogs(self.now);
        let in_flight = self.system.ethernet.in_flight();
        let seen = Counters {
            tallies: &tallies,
            backlogs: &backlogs,
            in_flight: &in_flight,
            links: &links,
            backbones: &backbones,
            memories: &memories,
        };
        let flows: Vec<SimulatedFlow> = (0..self.groups.len()).map(|g| self.flow(g, &seen)).collect();
        let rates = (0..self.groups.len()).map(|g| self.mean_rate(g, &tallies));
        let both_ways = rates.fold(Interval { mean: 0.0, half: Some(0.0) }, Interval::plus).times(8.0 * SECOND);
        let pcie = plan.parts.iter().filter(|p| matches!(p.keys, PartKeys::Switch(_))).map(|p| (&p.name, None));
        let ethernet = network.switches().zip(&memories).map(|((_, node, _), memory)| (&node.name, Some(*memory)));
        let switches = pcie
            .chain(ethernet)
            .zip(self.system.carried(self.now))
            .enumerate()
            .map(|(i, ((name, memory), (count, sum, most)))| {
                let (before, sum_before, _) = self.carried_at_window.get(i).copied().unwrap_or_default();
                let tlps = count - before;
                let mean = if tlps > 0 { (sum - sum_before) as f64 / tlps as f64 } else { 0.0 };
                SimulatedSwitch {
                    name: name.clone(),
                    latency: mean / SECOND,
                    latency_max: most as f64 / SECOND,
                    tlps,
                    memory,
                }
            })
            .collect();
        let fold = |h: u64, (fingerprint, done): (u64, u64)| {
            (h ^ fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ done
        };
        let fingerprint = self.system.fingerprints().fold(self.seed, fold);
        let ethernet = &links[2 * plan.links.len()..][..2 * network.links.len()];
        let notes = crate::sim::ethernet::victims(network, ethernet);
        Simulation {
            seed: self.seed,
            fingerprint: format!("{fingerprint:016x}"),
            ending: self.ending.clone(),
            warmup: self.window as f64 / SECOND,
            window: window / SECOND,
            packets: self.packets(),
            events: self.events(),
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

    /// The buses of every backbone in the measured time.
    fn backbones(&self) -> Vec<SimulatedBackbone> {
        let parts = (0..self.plan.parts.len() as u32).map(PartId);
        let planned = parts.filter_map(|id| Some((id, self.plan.backbone(Corner::Typical, id)?)));
        let one = |(i, ((id, planned), now)): (usize, ((PartId, Backbone), [BusClocks; 2]))| {
            let before = self.backbones_at_window.get(i).copied().unwrap_or_default();
            let [request, completion] = [0, 1].map(|bus| now[bus].since(&before[bus]));
            let name = self.plan.part(id).name.clone();
            SimulatedBackbone { name, clock: planned.clocks_per_second(), width: planned.width, request, completion }
        };
        planned.zip(self.system.pcie.backbones()).enumerate().map(one).collect()
    }

    /// Both ways added, bytes per fs: of the batches, or where there are none yet, of all that there is. A program
    /// counts from its beginning to its end.
    fn mean_rate(&self, group: usize, tallies: &[Tally]) -> Interval {
        let whole = self.rate_both(group);
        if self.batches[group].len() >= 2 && !self.in_warmup() && self.job(group).is_none() {
            return whole;
        }
        let bytes: u64 = self.groups[group].iter().map(|&m| tallies[m].bytes - self.at_window[m].bytes).sum();
        Interval { mean: bytes as f64 / self.window_fs().max(1.0), half: None }
    }

    fn in_warmup(&self) -> bool {
        matches!(self.phase, crate::sim::Phase::Warmup { .. })
    }

    fn flow(&self, group: usize, seen: &Counters) -> SimulatedFlow {
        let Counters { tallies, backlogs, links, backbones, memories, .. } = *seen;
        let members = &self.groups[group];
        let plan = &self.plan;
        let ways = if self.alternates(group) { 0.5 } else { 1.0 };
        let window = self.window_fs().max(1.0);
        let sum = |f: &dyn Fn(&Tally) -> u128| -> u128 {
            members.iter().map(|&m| f(&tallies[m]) - f(&self.at_window[m])).sum()
        };
        let done = sum(&|t| t.done as u128) as u64;
        let latency_sum = sum(&|t| t.latency) as f64;
        let firsts = sum(&|t| t.firsts as u128) as f64;
        let batched = self.latency(group);
        let latency = if batched.half.is_some() && !self.in_warmup() && self.job(group).is_none() {
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
            members.iter().map(|&m| area(to, &tallies[m]) - area(from, &self.at_window[m])).sum::<f64>() / window;
        // Ranks say what they will send before its moment: where a run is cut off there, such a message counts as less
        // than none.
        let in_flight = in_flight.max(0.0);
        let histogram = self.system.latencies(group);
        let frames = self.streams(group).map(|streams| (self.frames(group, &streams, seen), streams));
        let ios = self.ios_of(group).map(|flows| (self.io_times(group, &flows, done), flows));
        let rate = self.mean_rate(group, tallies).times(ways * 8.0 * SECOND);
        let of_bus = self.bus_flows(group);
        let job = self.job(group);
        let dma = frames.is_none() && ios.is_none() && of_bus.is_none() && job.is_none();
        let packets = plan.flows.get(members[0]).filter(|_| dma);
        let packets = packets.and_then(|f| Some((f.headers.as_ref()?.typical, f.size.typical)));
        let rising = self.batch_values(group, |b| b.backlog as f64);
        let unstable = stats::grows(&rising, done as f64, BEHIND) || self.short(group, tallies, rate.mean);
        SimulatedFlow {
            name: match (&frames, &ios, &of_bus) {
                _ if job.is_some() => plan.cluster.jobs[job.unwrap_or(0)].name.clone(),
                (Some((_, s)), ..) => plan.network.streams[s[0]].group.clone(),
                (_, Some((_, f)), _) => plan.storage.flows[f[0]].group.clone(),
                (_, _, Some((_, f))) => f.group.clone(),
                _ => plan.flows[members[0]].group.clone(),
            },
            rate,
            each: members
                .iter()
                .map(|&m| (tallies[m].bytes - self.at_window[m].bytes) as f64 / window * ways * 8.0 * SECOND)
                .collect(),
            goodput: packets.map(|(headers, size)| rate.mean * (1.0 - headers.f64() / size.f64())),
            latency: latency.times(1.0 / SECOND),
            latency_first: (firsts > 0.0).then(|| sum(&|t| t.first_latency) as f64 / firsts / SECOND),
            p50: quantile(histogram, 0.5),
            p99: quantile(histogram, 0.99),
            p999: quantile(histogram, 0.999),
            max: longest(histogram),
            operations: done,
            in_flight,
            little: latency_sum / window,
            backlog: members.iter().map(|&m| backlogs[m]).sum(),
            unstable,
            frames: frames.as_ref().map(|(frames, _)| *frames),
            bound_by: match (&frames, &ios, &of_bus) {
                _ if job.is_some() => {
                    let accounts: Vec<_> = self.system.cluster.accounts(job.unwrap_or(0)).collect();
                    binding::job(plan, job.unwrap_or(0), &accounts, links)
                }
                (Some((f, s)), ..) => binding::stream(&plan.network, s, &links[2 * plan.links.len()..], f, memories),
                (_, Some((times, f)), _) => binding::io(plan, f, links, times, backbones),
                (_, _, Some((_, f))) => {
                    let first = links.len() - 2 * plan.cluster.links.len() - plan.buses.buses.len();
                    binding::bus(&plan.buses, f, &links[first..])
                }
                _ => binding::flow(plan, FlowId(members[0] as u32), links, backbones),
            },
            ios: ios.map(|(times, _)| times),
            program: job.map(|j| self.system.cluster.program(j)),
            over_seeds: None,
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
    fn short(&self, group: usize, tallies: &[Tally], rate: f64) -> bool {
        let (plan, members) = (&self.plan, &self.groups[group]);
        let window = self.window_fs() / SECOND;
        // Of one member: bits per second, bytes of an operation, operations that come together; and whether they come
        // however many are carried.
        let asked = |m: usize| -> Option<(f64, f64, f64, bool)> {
            let (streams, ios) = (plan.flows.len(), plan.flows.len() + plan.network.streams.len());
            let buses = ios + plan.storage.flows.len();
            if let Some(f) = plan.flows.get(m) {
                return Some((plan.wanted(f)?, f.size.typical.f64(), 1.0, matches!(f.program, Program::Open { .. })));
            }
            if let Some(s) = plan.network.streams.get(m - streams) {
                let together = match s.load.typical {
                    StreamLoad::Bursts { length, .. } => 2.0 * length,
                    // A text has its own beginning and end.
                    StreamLoad::Trace(_) => return None,
                    _ => 1.0,
                };
                return Some((s.offered?.bits(), s.size.typical.f64(), together, true));
            }
            if let Some(f) = m.checked_sub(ios).and_then(|i| plan.storage.flows.get(i)) {
                return Some((f.wanted()?, f.mix().bytes, 1.0, true));
            }
            match plan.buses.flows.get(m.checked_sub(buses)?)? {
                f @ BusFlow { program: Program::Open { rate, .. }, .. } => {
                    Some((rate.bits(), f.size.typical.f64(), 1.0, true))
                }
                _ => None,
            }
        };
        let Some(asked) = members.iter().map(|&m| asked(m)).collect::<Option<Vec<_>>>() else { return false };
        let wants: f64 = asked.iter().map(|a| a.0).sum();
        if asked.iter().any(|a| !a.3) {
            return Verdict::of(wants, rate, false, 0.0) == Verdict::Unstable;
        }
        let ways = if self.alternates(group) { 0.5 } else { 1.0 };
        let under_way = |t: &Tally| t.begun.saturating_sub(t.done + t.lost) as f64;
        let (mut held, mut lost, mut variance, mut edges) = (0.0, 0.0, 0.0, 0.0);
        for (&m, (rate, size, together, _)) in members.iter().zip(&asked) {
            let (now, then) = (&tallies[m], &self.at_window[m]);
            held += (under_way(now) - under_way(then)).max(0.0) * size * ways;
            lost += (now.lost - then.lost) as f64 * size;
            variance += rate * window / 8.0 * size * together;
            edges += 2.0 * size;
        }
        let (offered, chance) = (wants * window / 8.0, 4.0 * variance.sqrt() + edges);
        let missing = offered - rate * window / 8.0 - held - chance;
        // Where a few are lost to bursts nothing grows, and the report counts them; where many are, the load is not
        // carried.
        missing - lost > BEHIND * offered || missing > crate::sim::FAR_BEHIND * offered
    }

    /// Where the time of a table's I/Os went, and what worked.
    fn io_times(&self, group: usize, flows: &[usize], done: u64) -> SimulatedIos {
        let window = self.window_fs().max(1.0);
        let mut stages = [0.0; 6];
        let all: Vec<_> = self.system.storage.stages().collect();
        for &i in flows {
            let (now, before) = (all[i], self.stages_at_window.get(i).copied().unwrap_or_default());
            stages.iter_mut().enumerate().for_each(|(k, s)| *s += (now.0[k] - before.0[k]) as f64);
        }
        let names = self.plan.storage.workers_and_parts();
        let worked = self.system.storage.worked(self.now);
        let taking_part = self.plan.storage.taking_part(flows);
        let mut busy: Vec<(String, f64)> = (names.into_iter().zip(worked).enumerate())
            .filter(|(i, _)| taking_part[*i])
            .map(|(i, (name, now))| {
                let before = self.worked_at_window.get(i).copied().unwrap_or(0);
                (name, now.saturating_sub(before) as f64 / window)
            })
            .filter(|(_, share)| *share > 0.0)
            .collect();
        busy.sort_by(|a, b| b.1.total_cmp(&a.1));
        busy.truncate(16);
        SimulatedIos {
            per_second: done as f64 / window * SECOND,
            stages: stages.map(|s| s / done.max(1) as f64 / SECOND),
            busy,
            seen: self.seen(flows.iter().copied()),
            latencies: self.system.storage.latencies()[group - self.frames].each_ref().map(count::latencies),
        }
    }

    /// What instruments ask for while a run is under way: all I/Os that have begun since the counting did and are done.
    /// Counts are cumulative; it costs no more than a few names and numbers for each flow of I/Os.
    pub fn ios(&self) -> IoSeen {
        self.seen(0..self.plan.storage.flows.len())
    }

    /// The same since the last such question; without one, since the counting began. The shortest times are those of
    /// the whole.
    pub fn latest_ios(&mut self) -> IoSeen {
        let all = self.ios();
        let mut before = std::mem::take(&mut self.at_update);
        before.counts.resize(all.counts.len(), count::Counts::new());
        before.busy.resize(all.busy.len(), 0.0);
        let counts = all.counts.iter().zip(&mut before.counts).enumerate();
        let latest = IoSeen {
            time: all.time - before.time,
            counts: counts
                .map(|(i, (c, then))| self.system.storage.update(i, then).report(&c.flow, c.worker, &c.target))
                .collect(),
            busy: all.busy.iter().zip(&before.busy).map(|(now, then)| now - then).collect(),
        };
        (before.time, before.busy) = (all.time, all.busy);
        self.at_update = before;
        latest
    }

    /// The same of some flows.
    fn seen(&self, flows: impl Iterator<Item = usize>) -> IoSeen {
        let storage = &*self.plan.storage;
        // In the middle of a piece of work, things have happened later than all that is over.
        let now = if self.is_done() { self.now } else { self.now.max(self.agenda.past()) };
        let counts: Vec<IoCounts> = flows
            .map(|i| {
                let flow = &storage.flows[i];
                self.system.storage.counts_of(i).report(&flow.name, flow.worker, storage.volume_name(flow.volume))
            })
            .collect();
        let (first, last) = (counts.first().map_or(0, |c| c.worker), counts.last().map_or(0, |c| c.worker));
        let worked = self.system.storage.workers_worked(now).enumerate();
        let busy = worked.skip(first as usize).take((last + 1 - first) as usize).map(|(i, now)| {
            let before = self.worked_at_window.get(i).copied().unwrap_or(0);
            now.saturating_sub(before) as f64 / SECOND
        });
        IoSeen { time: (now - self.window) as f64 / SECOND, busy: busy.collect(), counts }
    }

    /// What Ethernet counts of a flow group.
    fn frames(&self, group: usize, streams: &[usize], seen: &Counters) -> SimulatedFrames {
        let histogram = self.system.transits(group - self.tables);
        let window = self.window_fs().max(1.0);
        let since = |f: fn(&Tally) -> u128| -> u128 {
            self.groups[group].iter().map(|&m| f(&seen.tallies[m]) - f(&self.at_window[m])).sum()
        };
        let values = |f: fn(&crate::sim::Batch) -> f64| self.batch_values(group, f);
        let batched = self.batches[group].len() >= 2 && !self.in_warmup();
        let times = vec![self.batch as f64; self.batches[group].len()];
        // As latency and rate are: of the batches, or where there are too few yet, of all that there is.
        let or =
            |i: Interval, all: f64| if batched && i.half.is_some() { i } else { Interval { mean: all, half: None } };
        let rate = stats::ratio(&values(|b| b.frame_bytes as f64), &times);
        let transit = stats::ratio(&values(|b| b.transit), &values(|b| b.done as f64));
        let done = since(|t| t.done as u128).max(1) as f64;
        SimulatedFrames {
            rate: or(rate, since(|t| t.frame_bytes as u128) as f64 / window).times(8.0 * SECOND),
            delivered: since(|t| t.frames as u128) as u64,
            sent: since(|t| t.sent as u128) as u64,
            dropped: since(|t| t.dropped as u128) as u64,
            marked: since(|t| t.marked as u128) as u64,
            notified: since(|t| t.notified as u128) as u64,
            in_flight: streams.iter().map(|s| seen.in_flight[*s]).sum(),
            transit: or(transit, since(|t| t.transit) as f64 / done).times(1.0 / SECOND),
            transit_p99: quantile(histogram, 0.99),
            transit_max: longest(histogram),
        }
    }

    /// The values of a time series at the present moment; everything before has happened.
    pub fn sample(&self) -> Sample {
        let (net, ethernet) = (&self.system.pcie.net, &self.system.ethernet);
        let mut held: Vec<_> = net.wires.iter().map(crate::sim::pcie::wire::Wire::held).collect();
        held.extend((0..ethernet.wires()).map(|on| ethernet.held(on)));
        held.extend(self.system.storage.held());
        held.extend((0..self.system.bus.wires()).map(|bus| self.system.bus.held(bus)));
        held.extend((0..self.system.cluster.wires()).map(|on| self.system.cluster.held(on)));
        let mut credits: Vec<_> = net.wires.iter().map(|w| Class::ALL.map(|c| w.left(c).0)).collect();
        credits.resize(self.system.wires(), [None; 3]);
        let tallies = self.tallies();
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
            memory: ethernet.stored(self.now).iter().map(|s| s.now).collect(),
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
