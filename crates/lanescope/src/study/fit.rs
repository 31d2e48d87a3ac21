//! Fits that anyone can run again: least squares of relative errors over the free values of a study's scenarios.

use super::{Error, Fit, Free, Row, Study};
use crate::result::Report;
use rmpfit::{MPError, MPFitter, MPPar, MPResult};
use serde::Serialize;
use std::cell::RefCell;

/// A fitted parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its path.
    pub path: String,
    /// Its unit.
    pub unit: String,
    /// What the fit found.
    pub value: f64,
    /// Whether it ended at one of its limits.
    pub at_limit: bool,
}

/// The outcome of a fit.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// The fit's name.
    pub name: String,
    /// The free parameters.
    pub parameters: Vec<Parameter>,
    /// What it was fitted to: name, published, with the fitted values, with the stored ones.
    pub targets: Vec<(String, f64, f64, f64)>,
}

struct Target {
    name: String,
    scenario: String,
    set: Vec<String>,
    metric: String,
    unit: String,
    value: f64,
    /// How well it is known, as a share: what the fit counts its error against.
    within: f64,
}

struct Problem<'a> {
    study: &'a Study,
    fit: &'a Fit,
    targets: Vec<Target>,
    limits: Vec<MPPar>,
    failed: Option<Error>,
    /// What was simulated last, and with what.
    last: RefCell<Option<(Question, Vec<Report>)>>,
}

/// A scenario and what is laid over it.
type Question = (String, Vec<String>);

/// Counts stay whole and times keep a tenth of a picosecond, unless the study says otherwise.
fn text(value: f64, free: &Free) -> String {
    format!("{value:.0$} {1}", decimals(free), free.unit).trim_end().to_owned()
}

fn decimals(free: &Free) -> usize {
    free.decimals.unwrap_or(if free.unit.is_empty() { 0 } else { 4 })
}

impl Problem<'_> {
    fn value(&self, target: &Target, params: Option<&[f64]>) -> Result<f64, Error> {
        let mut set = target.set.clone();
        for (free, p) in self.fit.free.iter().zip(params.unwrap_or_default()) {
            set.extend(free.paths.iter().map(|path| format!("{path}={}", text(*p, free))));
        }
        let Target { scenario, metric, unit, .. } = target;
        match self.fit.seeds {
            0 => Ok(self.study.metric(scenario, &set, metric, unit)?.value),
            seeds => {
                // Numbers of one scenario stand together: it is simulated once for all of them.
                let key = (scenario.clone(), set);
                let mut last = self.last.borrow_mut();
                if last.as_ref().is_none_or(|(k, _)| *k != key) {
                    let runs = self.study.runs(scenario, &key.1, seeds)?;
                    *last = Some((key, runs));
                }
                let runs = last.as_ref().map_or(&[][..], |(_, runs)| runs);
                Ok(Study::over(runs, metric, unit)?.0.value)
            }
        }
    }
}

impl MPFitter for Problem<'_> {
    fn eval(&mut self, params: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        for (deviate, target) in deviates.iter_mut().zip(&self.targets) {
            match self.value(target, Some(params)) {
                Ok(v) => *deviate = (v / target.value - 1.0) / target.within,
                Err(e) => {
                    self.failed = Some(e);
                    return Err(MPError::Eval);
                }
            }
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.targets.len()
    }

    fn parameters(&self) -> &[MPPar] {
        &self.limits
    }
}

/// Runs one fit of a study. Rows marked `asked` are refused.
pub fn fit(study: &Study, fit: &Fit) -> Result<Fitted, Error> {
    let rows = study.rows()?;
    let mut targets = Vec::new();
    for id in &fit.rows {
        let row = rows.iter().find(|r| r.id == *id).ok_or_else(|| format!("fit {}: there is no row {id}", fit.name))?;
        // "about 5000" is a number to fit to, though not one to give an error against.
        let about = || row.published_text.as_deref()?.strip_prefix("about ")?.parse().ok();
        let (Some(value), Some(scenario), "given") = (row.published.or_else(about), &row.scenario, row.status.as_str())
        else {
            return Err(format!(
                "fit {}: row {id} is not a given number; asked and predicted rows are never fitted",
                fit.name
            ));
        };
        targets.push(Target {
            name: id.clone(),
            scenario: scenario.clone(),
            set: row.set.clone(),
            metric: row.metric.clone(),
            unit: row.unit.clone(),
            value,
            within: 1.0,
        });
    }
    for p in &fit.points {
        // A number that is no row must not be a row under another name.
        let asks = |r: &&Row| (r.scenario.as_ref(), &r.set, &r.metric) == (Some(&p.scenario), &p.set, &p.metric);
        if let Some(row) = rows.iter().filter(|r| r.status != "given").find(asks) {
            return Err(format!(
                "fit {}: {} asks what row {} asks; asked and predicted rows are never fitted",
                fit.name, p.name, row.id
            ));
        }
        targets.push(Target {
            name: p.name.clone(),
            scenario: p.scenario.clone(),
            set: p.set.clone(),
            metric: p.metric.clone(),
            unit: p.unit.clone(),
            value: p.value,
            within: 1.0,
        });
    }
    for (target, within) in targets.iter_mut().zip(&fit.within) {
        target.within = within / 100.0;
    }
    if fit.free.len() > targets.len() {
        return Err(format!(
            "fit {}: {} free parameters cannot be determined from {} numbers",
            fit.name,
            fit.free.len(),
            targets.len()
        ));
    }
    let limit = |f: &Free| MPPar {
        limited_low: true,
        limited_up: true,
        limit_low: f.low,
        limit_up: f.high,
        // A thousandth of the range, but never less than one whole thing of a count.
        step: f.step.unwrap_or_else(|| ((f.high - f.low) * 1e-3).max(if f.unit.is_empty() { 1.0 } else { 0.0 })),
        ..MPPar::new()
    };
    let limits = fit.free.iter().map(limit).collect();
    let mut values: Vec<f64> = fit.free.iter().map(|f| f.start).collect();
    let mut p = Problem { study, fit, targets, limits, failed: None, last: RefCell::new(None) };
    if let Err(e) = p.mpfit(&mut values) {
        return Err(p.failed.unwrap_or_else(|| format!("fit {}: {e}", fit.name)));
    }
    let mut compared = Vec::new();
    for t in &p.targets {
        compared.push((t.name.clone(), t.value, p.value(t, Some(&values))?, p.value(t, None)?));
    }
    let parameters = fit.free.iter().zip(&values).map(|(f, &value)| {
        // As it is kept: a count is whole.
        let places = 10f64.powi(decimals(f) as i32);
        let value = (value * places).round() / places;
        let near = 1e-3 * (f.high - f.low);
        Parameter {
            path: f.paths.join(" and "),
            unit: f.unit.clone(),
            value,
            at_limit: value - f.low < near || f.high - value < near,
        }
    });
    Ok(Fitted { name: fit.name.clone(), parameters: parameters.collect(), targets: compared })
}
