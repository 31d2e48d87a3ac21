//! From a run's counts to what a person reads.

use super::fabric::Part;
use super::tally::Tally;
use super::{Run, stats};
use crate::plan::{FlowId, Hop, Plan};
use crate::protocol::pcie::Class;
use crate::result::{
    Binding, Idle, Interval, OverSeeds, SimulatedFlow, SimulatedLink, SimulatedSwitch, Simulation, SlotCounts,
};
use serde::Serialize;

/// Femtoseconds in a second.
const SECOND: f64 = 1e15;

/// What a time series holds at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Simulated time, s.
    pub time: f64,
    /// Payload delivered since time 0, bytes, of each flow.
    pub delivered: Vec<u64>,
    /// Operations that have arrived and not begun, of each flow with an open load.
    pub backlog: Vec<u64>,
    /// Of each direction of each link: slots that were not idle, since time 0.
    pub busy: Vec<u64>,
    /// The same: TLPs in flight and in the buffer at its end.
    pub queued: Vec<usize>,
    /// The same: payload of these, bytes.
    pub queued_bytes: Vec<u64>,
    /// The same: header credits that the transmitter has left, by class (posted, non-posted, completion); `None` is infinite.
    pub credits: Vec<[Option<u32>; 3]>,
}

impl Run {
    fn window_fs(&self) -> f64 {
        (self.now - self.window) as f64
    }

    fn batch_values(&self, group: usize, value: impl Fn(&super::Batch) -> f64) -> Vec<f64> {
        self.batches[group].iter().map(value).collect()
    }

    /// Payload of a table of flows, bytes per fs, both ways added. Batches that keep step with a load all look alike, so the interval is never narrower than
    /// one operation of each member, which an end of the window may have cut.
    fn rate_both(&self, group: usize) -> Interval {
        let bytes = self.batch_values(group, |b| b.bytes as f64);
        let times = vec![self.batch as f64; bytes.len()];
        let members = &self.groups[group];
        let size = self.plan.flows[members[0]].size.typical.f64();
        let cut = size * members.len() as f64 / times.iter().sum::<f64>();
        let seen = stats::ratio(&bytes, &times);
        Interval { half: seen.half.map(|h| h.max(cut)), ..seen }
    }

    /// Payload of a table of flows, bytes per fs; per direction where it alternates.
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
        let (plan, net) = (&self.plan, &self.fabric.net);
        let window = self.window_fs();
        let tallies = self.tallies();
        let links: Vec<SimulatedLink> = plan
            .directions()
            .zip(&net.wires)
            .enumerate()
            .map(|(i, (hop, wire))| {
                let slots = wire.counts.since(self.counts_at_window.get(i).unwrap_or(&SlotCounts::default()));
                let coded = plan.link(hop.link).speed.typical.coded().bits();
                let whole = slots.total().max(1) as f64;
                let batches: Vec<f64> = self.wire_batches[i].iter().map(|b| *b as f64).collect();
                let half = stats::ratio(&batches, &vec![self.batch as f64; batches.len()]).half;
                SimulatedLink {
                    name: plan.link(hop.link).name.clone(),
                    from: plan.part(plan.leaves(hop)).name.clone(),
                    to: plan.part(plan.arrives(hop)).name.clone(),
                    payload: Interval {
                        mean: slots.payload as f64 / whole * coded,
                        half: half.map(|h| h * 8.0 * SECOND),
                    },
                    slots,
                    coded,
                }
            })
            .collect();
        let backlogs = self.fabric.backlogs(self.now);
        let flows: Vec<SimulatedFlow> =
            (0..self.groups.len()).map(|g| self.flow(g, &tallies, &backlogs, &links)).collect();
        let rates = (0..self.groups.len()).map(|g| self.mean_rate(g, &tallies));
        let both_ways = rates.fold(Interval { mean: 0.0, half: Some(0.0) }, Interval::plus).times(8.0 * SECOND);
        let switches = plan
            .parts
            .iter()
            .zip(&self.fabric.parts)
            .enumerate()
            .filter_map(|(i, (planned, part))| {
                let Part::Switch(s) = part else { return None };
                let (count, sum) = self.transit_at_window.get(i).copied().unwrap_or((0, 0));
                let tlps = s.transit.count - count;
                let mean = if tlps > 0 { (s.transit.sum - sum) as f64 / tlps as f64 } else { 0.0 };
                Some(SimulatedSwitch {
                    name: planned.name.clone(),
                    latency: mean / SECOND,
                    latency_max: s.transit.max as f64 / SECOND,
                    tlps,
                })
            })
            .collect();
        let print = net
            .flows
            .iter()
            .fold(self.seed, |h, f| (h ^ f.print).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ f.tally.done);
        Simulation {
            seed: self.seed,
            fingerprint: format!("{print:016x}"),
            ending: self.ending.clone(),
            warmup: self.window as f64 / SECOND,
            window: window / SECOND,
            packets: self.packets(),
            events: self.events(),
            until: plan.stop.length.is_none().then_some(plan.stop.until.0),
            flows,
            both_ways,
            links,
            switches,
        }
    }

    /// Both ways added, bytes per fs: of the batches, or where there are none yet, of all that there is.
    fn mean_rate(&self, group: usize, tallies: &[Tally]) -> Interval {
        let whole = self.rate_both(group);
        if self.batches[group].len() >= 2 && !self.in_warmup() {
            return whole;
        }
        let bytes: u64 = self.groups[group].iter().map(|&m| tallies[m].bytes - self.at_window[m].bytes).sum();
        Interval { mean: bytes as f64 / self.window_fs().max(1.0), half: None }
    }

    fn in_warmup(&self) -> bool {
        matches!(self.phase, super::Phase::Warmup { .. })
    }

    fn flow(&self, group: usize, tallies: &[Tally], backlogs: &[u64], links: &[SimulatedLink]) -> SimulatedFlow {
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
        let latency = if batched.half.is_some() && !self.in_warmup() {
            batched
        } else {
            Interval { mean: if done > 0 { latency_sum / done as f64 } else { 0.0 }, half: None }
        };
        // Operations in flight: the integral over the window of begun - done, by the sums of their moments.
        let area = |now: f64, t: &Tally| {
            (t.begun as f64 * now - t.begun_sum as f64) - (t.done as f64 * now - t.done_sum as f64)
        };
        let (from, to) = (self.window as f64, self.now as f64);
        let in_flight: f64 =
            members.iter().map(|&m| area(to, &tallies[m]) - area(from, &self.at_window[m])).sum::<f64>() / window;
        let histogram = &self.fabric.net.latencies[group];
        let quantile = |q: f64| if histogram.is_empty() { 0.0 } else { histogram.value_at_quantile(q) as f64 * 1e-12 };
        let rate = self.mean_rate(group, tallies).times(ways * 8.0 * SECOND);
        let rising = self.batch_values(group, |b| b.backlog as f64);
        let unstable = stats::grows(&rising, done as f64, 2e-3);
        SimulatedFlow {
            name: plan.flows[members[0]].group.clone(),
            rate,
            each: members
                .iter()
                .map(|&m| (tallies[m].bytes - self.at_window[m].bytes) as f64 / window * ways * 8.0 * SECOND)
                .collect(),
            latency: latency.times(1.0 / SECOND),
            latency_first: (firsts > 0.0).then(|| sum(&|t| t.first_latency) as f64 / firsts / SECOND),
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: if histogram.is_empty() { 0.0 } else { histogram.max() as f64 * 1e-12 },
            operations: done,
            in_flight,
            little: latency_sum / window,
            backlog: members.iter().map(|&m| backlogs[m]).sum(),
            unstable,
            bound_by: bound_by(plan, FlowId(members[0] as u32), links),
            over_seeds: None,
        }
    }

    /// The values of a time series at the present moment; everything before has happened.
    pub fn sample(&self) -> Sample {
        let net = &self.fabric.net;
        let held: Vec<_> = net.wires.iter().map(super::wire::Wire::held).collect();
        Sample {
            time: self.time(),
            delivered: net.flows.iter().map(|f| f.tally.bytes).collect(),
            backlog: self.fabric.backlogs(self.now),
            busy: net.wires.iter().map(|w| w.counts.busy()).collect(),
            queued: held.iter().map(|h| h.0).collect(),
            queued_bytes: held.iter().map(|h| h.1).collect(),
            credits: net.wires.iter().map(|w| Class::ALL.map(|c| w.left(c).0)).collect(),
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
        })
        .collect();
    let mut first = (!runs.is_empty()).then(|| runs.swap_remove(0))?;
    first.flows.iter_mut().zip(all).for_each(|(f, over)| f.over_seeds = Some(over));
    Some(first)
}

/// What holds a flow up, by the ledgers along its way: a wire whose slots are all taken; else what its requester's own wire waited for.
fn bound_by(plan: &Plan, flow: FlowId, links: &[SimulatedLink]) -> Binding {
    let flow = &plan.flows[flow.0 as usize];
    let name = |hop: Hop| plan.direction_name(hop);
    let of = |hop: Hop| &links[super::fabric::wire_of(hop) as usize].slots;
    let ways = flow.route.iter().flat_map(|h| [*h, h.reversed()]);
    let used = |s: &SlotCounts| s.busy() as f64 / s.total().max(1) as f64;
    let fullest = ways.max_by(|a, b| used(of(*a)).total_cmp(&used(of(*b))));
    if let Some(hop) = fullest.filter(|h| used(of(*h)) > 0.97) {
        let share = crate::units::digits(100.0 * used(of(hop)));
        return Binding {
            element: name(hop),
            resource: "slots".into(),
            evidence: format!("{share} % of its slots taken"),
        };
    }
    let Some(&first) = flow.route.first() else {
        return Binding {
            element: format!("flows.{}", flow.name),
            resource: "its own load".into(),
            evidence: String::new(),
        };
    };
    // A packet of this flow that waits for room on its way, there or back, holds up those behind it.
    let stuck = |s: &SlotCounts| -> u64 {
        Idle::ALL.into_iter().zip(s.idle).filter(|(c, _)| c.is_credit()).map(|(_, n)| n).sum()
    };
    let part = |s: &SlotCounts| stuck(s) as f64 / s.total().max(1) as f64;
    let ways = flow.route.iter().flat_map(|h| [*h, h.reversed()]);
    let held = ways.max_by(|a, b| part(of(*a)).total_cmp(&part(of(*b)))).filter(|h| *h != first && part(of(*h)) > 0.1);
    if let Some(hop) = held {
        let idle = of(hop).idle;
        let causes = Idle::ALL.into_iter().zip(idle).filter(|(c, _)| c.is_credit());
        let cause = causes.max_by_key(|(_, n)| *n).map_or("", |(c, _)| c.words());
        let share = crate::units::digits(100.0 * part(of(hop)));
        let evidence = format!("{share} % of its time idle: {cause}");
        return Binding { element: name(hop), resource: "credits".into(), evidence };
    }
    let slots = of(first);
    let (cause, idle) =
        Idle::ALL.into_iter().zip(slots.idle).max_by_key(|(_, n)| *n).unwrap_or((Idle::NothingToSend, 0));
    let share = crate::units::digits(100.0 * idle as f64 / slots.total().max(1) as f64);
    let evidence = format!("{share} % of its port's time idle: {}", cause.words());
    let (element, resource) = match cause {
        Idle::Tags => (format!("parts.{}", plan.part(flow.source).name), "read requests in flight"),
        Idle::TurnAround => (format!("parts.{}", plan.part(flow.source).name), "turn-around"),
        Idle::Pace => (format!("parts.{}", plan.part(flow.source).name), "engine"),
        Idle::PostedCredits | Idle::NonPostedCredits | Idle::CompletionCredits => (name(first), "credits"),
        Idle::ReplayBuffer => (name(first), "replay buffer"),
        _ => (format!("flows.{}", flow.name), "its own load"),
    };
    Binding { element, resource: resource.into(), evidence }
}
