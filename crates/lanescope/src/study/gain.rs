//! Rows that compare two scenarios: how much more one gives than the other.

use super::{Error, Study};
use crate::result::{Interval, Metric, Report, SimulatedMetric};
use crate::units::{Dimension, in_unit};
use serde::Deserialize;

/// What a row's metric is held against: (here / there) - 1.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The scenario.
    pub scenario: String,
    /// What is laid over it.
    #[serde(default)]
    pub set: Vec<String>,
}

impl Study {
    /// The gain in closed form. At the corners both are as slow, or as fast, as they can be.
    pub(super) fn gain(
        &self,
        (scenario, set): (&str, &[String]),
        gain: &Gain,
        metric: &str,
        unit: &str,
    ) -> Result<Metric, Error> {
        let here = self.report(scenario, set)?.metric(metric)?;
        let there = self.report(&gain.scenario, &gain.set)?.metric(metric)?;
        if Dimension::of_unit(unit) != Some(Dimension::Share) || here.dimension != there.dimension {
            return Err(format!("{metric} is not a valid gain in {unit}"));
        }
        let unit = |share: f64| in_unit(share, unit).unwrap_or(f64::NAN);
        let range = here.range.zip(there.range).map(|(a, b)| (unit(a.0 / b.0 - 1.0), unit(a.1 / b.1 - 1.0)));
        Ok(Metric {
            value: unit(here.value / there.value - 1.0),
            range: range.map(|(a, b)| (a.min(b), a.max(b))),
            dimension: Dimension::Share,
            bound: None,
            bound_by: both(here.bound_by, there.bound_by),
        })
    }

    /// The same of runs here against runs there, each with its interval.
    pub(super) fn simulated_gain(
        &self,
        gain: &Gain,
        metric: &str,
        seeds: u32,
        here: &[Report],
    ) -> Result<Vec<SimulatedMetric>, Error> {
        let there = self.runs(&gain.scenario, &gain.set, seeds)?;
        here.iter()
            .zip(&there)
            .map(|(here, there)| {
                let (here, there) = (here.simulated(metric)?, there.simulated(metric)?);
                let ratio = here.value.mean / there.value.mean;
                let half = here.value.half.zip(there.value.half);
                let half = half.map(|(a, b)| ratio * (a / here.value.mean + b / there.value.mean));
                Ok(SimulatedMetric {
                    value: Interval { mean: ratio - 1.0, half },
                    dimension: Dimension::Share,
                    bound_by: both(here.bound_by, there.bound_by),
                })
            })
            .collect()
    }
}

/// What binds here, and what binds there.
fn both(here: Option<String>, there: Option<String>) -> Option<String> {
    here.zip(there).map(|(here, there)| format!("{here}; against {there}"))
}
