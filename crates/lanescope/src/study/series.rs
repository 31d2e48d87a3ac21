//! What a study makes of a run's course in time: curves against time, the lowest rate over any window, the most that
//! ever waited.

use super::{Error, Figure, Line, Study};
use crate::plan::Plan;
use crate::result::{Interval, Report, SimulatedMetric};
use crate::sim::{Run, Sample, Step};
use crate::units::{Dimension, Time, in_unit};
use serde::Deserialize;

/// Windows begin at so many moments within the length of one.
const STEPS: usize = 64;

/// In place of a flow's mean rate: the lowest over any window, as a share of the mean of another run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lowest {
    /// How long a window is: the metric of a time, of the same run.
    pub over: String,
    /// What is laid over the scenario for the run that it is a share of.
    pub against: Vec<String>,
}

/// What a sample says about a flow or a switch.
enum Metric {
    /// Bytes delivered since time 0, of some flows.
    Delivered(Vec<usize>),
    /// Bytes that have been asked for and not delivered, of some flows.
    Waiting(Vec<usize>),
    /// Bytes in the memory of an Ethernet switch.
    Memory(usize),
}

impl Metric {
    fn of(plan: &Plan, metric: &str) -> Result<Metric, Error> {
        let none = || format!("{metric} cannot be seen against time");
        let (place, last) = metric.rsplit_once('.').ok_or_else(none)?;
        let flows = |name: &str| Some(plan.members(name)).filter(|m| !m.is_empty());
        let seen = match (place.split_once('.'), last) {
            (Some(("switches", name)), "memory") => {
                plan.network.switches().position(|(_, node, _)| node.name == name).map(Metric::Memory)
            }
            (Some(("flows", name)), "share") => flows(name).map(Metric::Delivered),
            (Some(("flows", name)), "waiting") => flows(name).map(Metric::Waiting),
            _ => None,
        };
        seen.ok_or_else(none)
    }

    /// Bytes.
    fn bytes(&self, plan: &Plan, sample: &Sample) -> f64 {
        match self {
            Metric::Memory(switch) => sample.memory[*switch] as f64,
            Metric::Delivered(flows) => flows.iter().map(|&f| sample.delivered[f] as f64).sum(),
            Metric::Waiting(flows) => {
                let asked = |f: usize| (sample.begun[f] + sample.backlog[f]) as f64 * plan.flows[f].size.typical.f64();
                flows.iter().map(|&f| asked(f) - sample.delivered[f] as f64).sum()
            }
        }
    }

    /// What a figure shows of two samples in a row.
    fn shown(&self, plan: &Plan, before: &Sample, now: &Sample) -> f64 {
        let bytes = self.bytes(plan, now);
        match self {
            Metric::Delivered(_) => (bytes - self.bytes(plan, before)) * 8.0 / (now.time - before.time),
            _ => bytes,
        }
    }
}

impl Study {
    /// Samples of a scenario each so often from its beginning, at most so many.
    fn samples(&self, scenario: &str, set: &[String], step: Time, most: usize) -> Result<(Plan, Vec<Sample>), Error> {
        let (plan, mut diagnostics) = self.plan(scenario, set)?;
        let Some(mut run) = Run::new(&plan, plan.limits.seed as u64, &mut diagnostics) else {
            return Err(diagnostics.to_string());
        };
        run.sample_every(step);
        let mut samples = vec![run.sample()];
        while samples.len() <= most {
            match run.advance(u64::MAX) {
                Step::Sample => samples.push(run.sample()),
                Step::More => {}
                Step::Done => break,
            }
        }
        Ok((plan, samples))
    }

    /// A line against time, in microseconds.
    pub(super) fn over_time(&self, figure: &Figure, line: &Line, set: &[String]) -> Result<Vec<(f64, f64)>, Error> {
        let step =
            Time::parse(&figure.step).map_err(|_| format!("figure {}: step is not a valid time", figure.file))?;
        let (plan, samples) = self.samples(&line.scenario, set, step, figure.points)?;
        let seen = Metric::of(&plan, &line.metric).map_err(|e| format!("figure {}: {e}", figure.file))?;
        let at = |pair: &[Sample]| {
            let value = in_unit(seen.shown(&plan, &pair[0], &pair[1]), &figure.unit).unwrap_or(f64::NAN);
            (pair[1].time * 1e6, value)
        };
        Ok(samples.windows(2).map(at).collect())
    }

    /// The most of a line against time.
    pub(super) fn most(&self, figure: &Figure, line: &Line, set: &[String]) -> Result<f64, Error> {
        Ok(self.over_time(figure, line, set)?.into_iter().map(|p| p.1).fold(f64::NAN, f64::max))
    }

    /// The lowest rate of a flow over any window after the warm-up, as a share of what it gets in another run. `runs`
    /// are those of the scenario.
    pub(super) fn lowest(
        &self,
        (scenario, set): (&str, &[String]),
        metric: &str,
        lowest: &Lowest,
        runs: &[Report],
    ) -> Result<SimulatedMetric, Error> {
        let report = runs.first().ok_or("nothing was simulated")?;
        let window = report.simulated(&lowest.over)?;
        let step = Time::from_fs((window.value.mean * 1e15 / STEPS as f64) as u64);
        if window.dimension != Dimension::Time || step == Time::ZERO {
            return Err(format!("{} is not a valid time", lowest.over));
        }
        let other: Vec<String> = set.iter().chain(&lowest.against).cloned().collect();
        let undisturbed = self.simulated(scenario, &other)?.simulated(metric)?;
        let (plan, samples) = self.samples(scenario, set, step, usize::MAX)?;
        let seen = Metric::of(&plan, metric)?;
        let warm = report.simulation.as_ref().map_or(0.0, |s| s.warmup);
        let settled: Vec<&Sample> = samples.iter().skip_while(|s| s.time < warm).collect();
        let rates = settled.windows(STEPS + 1).map(|w| seen.shown(&plan, w[0], w[STEPS]));
        let least = rates.fold(f64::INFINITY, f64::min);
        if !least.is_finite() || undisturbed.value.mean <= 0.0 {
            return Err(format!("the run is shorter than {}", lowest.over));
        }
        let value = Interval { mean: least / undisturbed.value.mean, half: None };
        Ok(SimulatedMetric { value, dimension: Dimension::Share, bound_by: report.simulated(metric)?.bound_by })
    }
}
