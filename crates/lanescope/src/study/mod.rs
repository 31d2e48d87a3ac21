//! Published systems, reproduced: rows, figures and fits, all of them runs of ordinary scenarios.
//!
//! A study is a folder of `studies/`: scenarios, a `study.toml` that says which metric of which scenario answers which
//! row, and a page. No row has a formula or a table of its own. Rows whose parts do not exist yet have no scenario, and
//! no value. How far off the answers are is `accuracy`'s.

mod accuracy;
mod collective;
pub mod drive;
mod fit;
mod gain;
mod interval;
pub mod measured;
mod outcome;
mod series;
pub mod sheet;

pub use accuracy::{Accuracy, filled};
pub use fit::{Fitted, fit};
pub(crate) use gain::Gain;
pub use interval::{CONFIDENCE, Misses, miss};
pub(crate) use outcome::Blind;
pub use outcome::{Class, Said};
pub(crate) use series::Lowest;

use crate::diagnostic::Diagnostics;
use crate::estimate::estimate;
use crate::library::{self, Library};
use crate::pens::chart::{Chart, Series};
use crate::plan::Plan;
use crate::result::{Metric, Report, SimulatedMetric};
use crate::scenario::tree::Author;
use crate::scenario::{Included, Resolver};
use crate::sim::{Run, Step, mean_of};
use crate::units::{Dimension, in_unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The text of `study.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its id, the name of its folder.
    #[serde(skip)]
    pub id: String,
    /// One line.
    pub title: String,
    /// Where the published numbers are from.
    pub source: String,
    /// The row whose scenario is drawn as a waterfall after the table.
    pub waterfall: Option<String>,
    /// What rows have where they do not say.
    #[serde(default)]
    defaults: RowText,
    /// The rows, in the order of the file.
    rows: Vec<RowText>,
    /// Curves.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Fits that can be run again.
    #[serde(default)]
    pub fits: Vec<Fit>,
    /// What was published of asked rows, apart from the rows.
    outcomes: Option<outcome::Outcomes>,
    /// Predictions as they stood before.
    #[serde(skip)]
    blind: BTreeMap<String, Blind>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RowText {
    id: String,
    quantity: Option<String>,
    unit: Option<String>,
    status: Option<String>,
    published: Option<f64>,
    published_text: Option<String>,
    methods: Option<String>,
    scenario: Option<String>,
    set: Option<Vec<String>>,
    metric: Option<String>,
    quick: Option<bool>,
    seeds: Option<u32>,
    note: Option<String>,
    lowest: Option<Lowest>,
    gain: Option<Gain>,
    class: Option<Class>,
}

/// One row: a question to a scenario, and what was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its id; a contract.
    pub id: String,
    /// What it is.
    pub quantity: String,
    /// Its unit; a contract.
    pub unit: String,
    /// `given` (may be fitted to), `asked` (never), or `predicted`: published, never fitted to, and held against the
    /// answer.
    pub status: String,
    /// The published number.
    pub published: Option<f64>,
    /// What is no plain number: `about 75`.
    pub published_text: Option<String>,
    /// Methods that must answer: `estimate`, `simulate` or `both`.
    pub methods: String,
    /// The scenario that answers; `None` until its parts exist.
    pub scenario: Option<String>,
    /// What is laid over it.
    pub set: Vec<String>,
    /// The metric that answers.
    pub metric: String,
    /// Whether `--quick` runs it.
    pub quick: bool,
    /// How many seeds the simulation is run with; more than one give the mean over them, with its interval.
    pub seeds: u32,
    /// A remark for the page; of a row without a scenario, why it has none.
    pub note: Option<String>,
    /// Whether the lowest rate over any window answers, as a share of another run's.
    pub lowest: Option<Lowest>,
    /// Whether the gain over another scenario answers: (metric / metric there) - 1.
    pub gain: Option<Gain>,
    /// What kind of number it is; by its unit where it does not say.
    pub class: Class,
}

/// A curve or several, each the metric of a scenario against a varied value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of the picture, without ending.
    pub file: String,
    /// Its head.
    pub title: String,
    /// Words under the x axis.
    pub x: String,
    /// Unit of the y axis, one that a row may have.
    pub unit: String,
    /// Powers of two on the x axis.
    #[serde(default)]
    pub log_x: bool,
    /// The x values are bytes.
    #[serde(default)]
    pub bytes: bool,
    /// The values on the x axis; without any, the x axis is simulated time in microseconds.
    #[serde(default)]
    pub values: Vec<f64>,
    /// Whether the simulation answers, with so many seeds; else the estimate.
    #[serde(default)]
    pub seeds: u32,
    /// Against time: how far apart the points are, and how many there are. With values on the x axis, the most of so
    /// many points is shown.
    #[serde(default)]
    pub step: String,
    /// See `step`.
    #[serde(default)]
    pub points: usize,
    /// The lines.
    pub series: Vec<Line>,
}

/// One line of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// In place of a scenario, the published numbers of these rows, one for each value on the x axis.
    #[serde(default)]
    pub published: Vec<String>,
    /// The scenario.
    #[serde(default)]
    pub scenario: String,
    /// What is laid over it; `{x}` is the value on the x axis.
    #[serde(default)]
    pub set: Vec<String>,
    /// The metric; against time `switches.NAME.memory`, `flows.NAME.share`, or `flows.NAME.waiting`: bytes asked for
    /// and not delivered.
    #[serde(default)]
    pub metric: String,
    /// Whether the lowest rate over any window is shown, as a share of another run's.
    pub lowest: Option<Lowest>,
    /// Whether the gain over another scenario is drawn, of the estimate.
    pub gain: Option<Gain>,
}

/// A fit: free values of scenarios, and the rows or points that they are fitted to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Its name.
    pub name: String,
    /// What it decides.
    pub about: String,
    /// The scenario that holds the fitted values (the result is held against it).
    pub stored_in: String,
    /// Whether the simulation is fitted, with so many seeds; else the estimate.
    #[serde(default)]
    pub seeds: u32,
    /// The free parameters.
    pub free: Vec<Free>,
    /// Ids of `given` rows that it is fitted to.
    #[serde(default)]
    pub rows: Vec<String>,
    /// How well each of these is known, in percent; without it, all alike. The least squares are of error / this.
    #[serde(default)]
    pub within: Vec<f64>,
    /// Published numbers that are no rows.
    #[serde(default)]
    pub points: Vec<PointText>,
}

/// A free parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Free {
    /// Paths in the scenario, as for `--set`; several take the same value.
    pub paths: Vec<String>,
    /// Unit written behind the number; empty for a count.
    #[serde(default)]
    pub unit: String,
    /// First guess.
    pub start: f64,
    /// Least value that is physically sensible.
    pub low: f64,
    /// Most.
    pub high: f64,
    /// The change by which a slope is found; without it, a thousandth of the range. What a simulation's noise must not
    /// drown.
    pub step: Option<f64>,
    /// Decimals that are kept; without it, four with a unit and none without.
    pub decimals: Option<usize>,
}

/// A published number to fit to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointText {
    /// What it is.
    pub name: String,
    /// The scenario.
    pub scenario: String,
    /// What is laid over it.
    #[serde(default)]
    pub set: Vec<String>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The number.
    pub value: f64,
}

/// What one row gave.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The row.
    pub id: String,
    /// What it is.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
    /// `given`, `asked` or `predicted`.
    pub status: String,
    /// The published number.
    pub published: Option<f64>,
    /// What is no plain number.
    pub published_text: Option<String>,
    /// Of an asked row, what was published after it had been predicted.
    pub outcome: Option<f64>,
    /// Of an asked or predicted row, what the program said before.
    pub blind: Option<Blind>,
    /// What kind of number it is.
    pub class: Class,
    /// The share at the typical values (for a latency the unloaded one).
    pub estimate: Option<f64>,
    /// What no allocation can exceed.
    pub bound: Option<f64>,
    /// The range of the stated values: the estimate with all of them at their slower, and at their faster end. No
    /// confidence goes with it.
    pub estimate_range: Option<(f64, f64)>,
    /// The prediction interval at [`CONFIDENCE`], learnt from other studies; see [`Misses`].
    pub interval: Option<(f64, f64)>,
    /// By simulation.
    pub simulate: Option<Simulated>,
    /// What binds.
    pub bound_by: Option<String>,
    /// Why there is no value.
    pub why: Option<String>,
}

/// A simulated value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// The mean, or a maximum.
    pub value: f64,
    /// Its interval's lower end; the value itself where there is no interval.
    pub low: f64,
    /// Its interval's upper end.
    pub high: f64,
}

/// Why a study cannot be read or run.
pub(crate) type Error = String;

impl Study {
    /// A study by id.
    pub fn load(id: &str) -> Result<Study, Error> {
        let text = library::study_text(id, "study.toml")
            .ok_or_else(|| format!("there is no study {id:?}; there are {}", library::studies().join(", ")))?;
        let mut study: Study = toml::from_str(text).map_err(|e| format!("studies/{id}/study.toml: {e}"))?;
        study.id = id.to_owned();
        study.check_outcomes(&study.rows()?)?;
        study.blind = outcome::recorded(id)?;
        Ok(study)
    }

    /// All rows.
    pub fn rows(&self) -> Result<Vec<Row>, Error> {
        let d = &self.defaults;
        let mut rows = Vec::new();
        for text in self.rows.iter().cloned() {
            let id = text.id;
            let must = |what: &str, a: Option<String>, b: &Option<String>| {
                a.or(b.clone()).ok_or_else(|| format!("studies/{}: row {id} has no {what}", self.id))
            };
            let unit = must("unit", text.unit, &d.unit)?;
            let metric = text.metric.or(d.metric.clone()).unwrap_or_default();
            let class = text.class.or(d.class).unwrap_or_else(|| Class::of(text.gain.is_some(), &unit, &metric));
            rows.push(Row {
                quantity: must("quantity", text.quantity, &d.quantity)?,
                unit,
                status: must("status", text.status, &d.status)?,
                published: text.published,
                published_text: text.published_text,
                methods: must("methods", text.methods, &d.methods)?,
                scenario: text.scenario.or(d.scenario.clone()).filter(|s| s != "none"),
                set: text.set.or(d.set.clone()).unwrap_or_default(),
                metric,
                quick: text.quick.or(d.quick).unwrap_or(false),
                seeds: text.seeds.or(d.seeds).unwrap_or(1).max(1),
                note: text.note,
                lowest: text.lowest,
                gain: text.gain,
                class,
                id,
            });
        }
        Ok(rows)
    }

    /// Plans one of its scenarios.
    pub fn plan(&self, scenario: &str, set: &[String]) -> Result<(Plan, Diagnostics), Error> {
        let text = library::study_text(&self.id, scenario)
            .ok_or_else(|| format!("studies/{}/{scenario} does not exist", self.id))?;
        let included = Included {
            name: format!("studies/{}/{scenario}", self.id),
            text: text.to_owned(),
            author: Author::Library,
        };
        let mut diagnostics = Diagnostics::default();
        match crate::plan(&mut diagnostics, included, set, &Shelf(&self.id)) {
            Some(plan) => Ok((plan, diagnostics)),
            None => Err(diagnostics.to_string()),
        }
    }

    /// Answers one of its scenarios in closed form.
    pub fn report(&self, scenario: &str, set: &[String]) -> Result<Report, Error> {
        self.plan(scenario, set).map(|(plan, diagnostics)| estimate(&plan, &diagnostics))
    }

    fn metric(&self, scenario: &str, set: &[String], metric: &str, unit: &str) -> Result<Metric, Error> {
        let mut m = match self.cluster(scenario) {
            Some(text) => collective::metric(text, set, metric)?,
            None => self.report(scenario, set)?.metric(metric)?,
        };
        if Dimension::of_unit(unit) != Some(m.dimension) {
            return Err(format!("{metric} is not a valid number of {unit}"));
        }
        let convert = |v: f64| in_unit(v, unit).unwrap_or(f64::NAN);
        m.value = convert(m.value);
        m.range = m.range.map(|(a, b)| (convert(a), convert(b)));
        m.bound = m.bound.map(convert);
        Ok(m)
    }

    /// Answers one of its scenarios in closed form and packet by packet.
    pub fn simulated(&self, scenario: &str, set: &[String]) -> Result<Report, Error> {
        let (plan, mut diagnostics) = self.plan(scenario, set)?;
        let report = estimate(&plan, &diagnostics);
        let Some(mut run) = Run::new(&plan, plan.limits.seed as u64, &mut diagnostics) else {
            return Err(diagnostics.to_string());
        };
        while run.advance(u64::MAX) != Step::Done {}
        Ok(report.with(run.snapshot()))
    }

    /// Simulates a scenario with so many seeds; with one, that of the scenario.
    fn runs(&self, scenario: &str, set: &[String], seeds: u32) -> Result<Vec<Report>, Error> {
        let one = |i: u32| {
            let mut set = set.to_vec();
            set.extend((seeds > 1).then(|| format!("run.seed={}", i + 1)));
            self.simulated(scenario, &set)
        };
        (0..seeds).map(one).collect()
    }

    /// A simulated metric in a unit: of one run with its interval, or the mean over several.
    fn over(runs: &[Report], metric: &str, unit: &str) -> Result<(Simulated, Option<String>), Error> {
        let all: Vec<SimulatedMetric> = runs.iter().map(|r| r.simulated(metric)).collect::<Result<_, _>>()?;
        Study::joined(&all, metric, unit)
    }

    /// Values of several runs as one.
    fn joined(all: &[SimulatedMetric], metric: &str, unit: &str) -> Result<(Simulated, Option<String>), Error> {
        let first = all.first().ok_or("nothing was simulated")?;
        if Dimension::of_unit(unit) != Some(first.dimension) {
            return Err(format!("{metric} is not a valid number of {unit}"));
        }
        let interval = match all {
            [one] => one.value,
            _ => mean_of(&all.iter().map(|m| m.value.mean).collect::<Vec<_>>()),
        };
        let convert = |v: f64| in_unit(v, unit).unwrap_or(f64::NAN);
        let half = interval.half.unwrap_or(0.0);
        let [value, low, high] = [0.0, -half, half].map(|off| convert(interval.mean + off));
        Ok((Simulated { value, low, high }, first.bound_by.clone()))
    }

    /// Answers one row by the methods that it names; without the simulation unless that is asked for.
    pub fn answer(&self, row: &Row, simulate: bool) -> Answer {
        self.answer_from(row, simulate, &mut None)
    }

    /// Answers rows of one question (see [`questions`]), which are simulated once for all of them.
    pub fn answers(&self, rows: &[&Row], simulate: bool) -> Vec<Answer> {
        let mut runs = None;
        rows.iter().map(|row| self.answer_from(row, simulate, &mut runs)).collect()
    }

    /// The same, with the runs of its question, which are made when they are first needed.
    fn answer_from(&self, row: &Row, simulate: bool, runs: &mut Option<Result<Vec<Report>, Error>>) -> Answer {
        let mut a = Answer {
            id: row.id.clone(),
            quantity: row.quantity.clone(),
            unit: row.unit.clone(),
            status: row.status.clone(),
            published: row.published,
            published_text: row.published_text.clone(),
            outcome: self.outcome(&row.id),
            blind: self.blind.get(&row.id).cloned(),
            class: row.class,
            estimate: None,
            bound: None,
            estimate_range: None,
            interval: None,
            simulate: None,
            bound_by: None,
            why: None,
        };
        let Some(scenario) = &row.scenario else {
            a.why = Some(row.note.clone().unwrap_or_else(|| "its parts are not modelled yet".into()));
            return a;
        };
        if row.methods != "simulate" {
            let metric = match &row.gain {
                None => self.metric(scenario, &row.set, &row.metric, &row.unit),
                Some(gain) => self.gain((scenario, &row.set), gain, &row.metric, &row.unit),
            };
            match metric {
                Ok(m) => {
                    (a.estimate, a.bound, a.estimate_range, a.bound_by) = (Some(m.value), m.bound, m.range, m.bound_by);
                }
                Err(why) => a.why = Some(why),
            }
        }
        if row.methods == "estimate" {
            return a;
        }
        if !simulate {
            a.why = a.why.or((row.methods == "simulate").then(|| "only a simulation can answer".into()));
            return a;
        }
        let runs = runs.get_or_insert_with(|| self.runs(scenario, &row.set, row.seeds));
        let made = runs.as_ref().map_err(Clone::clone);
        let value = made.and_then(|runs| match (&row.lowest, &row.gain) {
            (Some(l), _) => {
                Study::joined(&[self.lowest((scenario, &row.set), &row.metric, l, runs)?], &row.metric, &row.unit)
            }
            (None, Some(gain)) => {
                Study::joined(&self.simulated_gain(gain, &row.metric, row.seeds, runs)?, &row.metric, &row.unit)
            }
            (None, None) => Study::over(runs, &row.metric, &row.unit),
        });
        match value {
            Ok((simulated, by)) => {
                a.simulate = Some(simulated);
                a.bound_by = a.bound_by.or(by);
            }
            Err(why) => a.why = Some(why),
        }
        a
    }

    /// The points of a line of published numbers.
    fn published(&self, figure: &Figure, line: &Line) -> Result<Vec<(f64, f64)>, Error> {
        let rows = self.rows()?;
        let number = |id: &String| {
            let row = rows.iter().find(|r| r.id == *id && r.unit == figure.unit);
            row.and_then(|r| r.published)
                .ok_or_else(|| format!("{id} is not a row with a published number of {}", figure.unit))
        };
        if line.published.len() != figure.values.len() {
            return Err(format!("{}: {} rows for {} values", line.name, line.published.len(), figure.values.len()));
        }
        figure.values.iter().zip(&line.published).map(|(x, id)| Ok((*x, number(id)?))).collect()
    }

    /// Draws one of its figures.
    pub fn draw(&self, figure: &Figure) -> Result<String, Error> {
        // Lines of one scenario share its runs.
        let mut runs: BTreeMap<(String, Vec<String>), Vec<Report>> = BTreeMap::new();
        let mut series = Vec::new();
        for line in &figure.series {
            if !line.published.is_empty() {
                let points = self.published(figure, line)?;
                series.push(Series { name: line.name.clone(), points });
                continue;
            }
            let mut points = Vec::new();
            for &x in &figure.values {
                let at = |set: &[String]| set.iter().map(|s| s.replace("{x}", &x.to_string())).collect::<Vec<_>>();
                let set = at(&line.set);
                if let (Some(gain), 0) = (&line.gain, figure.seeds) {
                    let gain = Gain { set: at(&gain.set), ..gain.clone() };
                    let value = self.gain((&line.scenario, &set), &gain, &line.metric, &figure.unit)?.value;
                    points.push((x, value));
                    continue;
                }
                if !figure.step.is_empty() {
                    points.push((x, self.most(figure, line, &set)?));
                    continue;
                }
                if figure.seeds == 0 {
                    points.push((x, self.metric(&line.scenario, &set, &line.metric, &figure.unit)?.value));
                    continue;
                }
                let key = (line.scenario.clone(), set);
                if !runs.contains_key(&key) {
                    let new = self.runs(&key.0, &key.1, figure.seeds)?;
                    runs.insert(key.clone(), new);
                }
                let value = match &line.lowest {
                    None => Study::over(&runs[&key], &line.metric, &figure.unit)?,
                    Some(l) => {
                        let found = self.lowest((&key.0, &key.1), &line.metric, l, &runs[&key])?;
                        Study::joined(&[found], &line.metric, &figure.unit)?
                    }
                };
                points.push((x, value.0.value));
            }
            if figure.values.is_empty() {
                points = self.over_time(figure, line, &line.set)?;
            }
            series.push(Series { name: line.name.clone(), points });
        }
        Ok(Chart {
            title: &figure.title,
            x: &figure.x,
            y: &figure.unit,
            log_x: figure.log_x,
            x_unit_bytes: figure.bytes,
            series: &series,
        }
        .svg())
    }
}

impl Answer {
    /// Relative error against the published number, known before or after: of the simulation, or where there is none,
    /// of the estimate.
    pub fn error(&self) -> Option<f64> {
        off(self.said().value(), self.truth())
    }

    /// The same of what was said before the outcome was known.
    pub fn blind_error(&self) -> Option<f64> {
        off(self.blind.as_ref()?.said().value(), self.truth())
    }

    /// Whether it has a value by each of the methods.
    pub fn complete(&self, methods: &str) -> bool {
        let by = |m: &str| methods == m || methods == "both";
        (!by("estimate") || self.estimate.is_some()) && (!by("simulate") || self.simulate.is_some())
    }
}

/// How far a value is off, as a share of the truth; `None` where the truth is zero.
fn off(ours: Option<f64>, truth: Option<f64>) -> Option<f64> {
    ours.zip(truth.filter(|t| *t != 0.0)).map(|(ours, truth)| ours / truth - 1.0)
}

/// Finds library devices, and files of the study's own folder by `./name`.
struct Shelf<'a>(&'a str);

impl Resolver for Shelf<'_> {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        let Some(file) = reference.strip_prefix("./") else { return Library.resolve(reference, from) };
        let text = library::study_text(self.0, file).ok_or_else(|| format!("studies/{} has no {file}", self.0))?;
        Ok(Included { name: format!("studies/{}/{file}", self.0), text: text.to_owned(), author: Author::Library })
    }

    fn names(&self) -> Vec<String> {
        Library.names()
    }
}

/// Answers of several studies, as `study run --json` prints them.
#[derive(Clone, Debug, Serialize)]
pub struct Studies {
    /// 1.
    pub schema: u32,
    /// Each study with its rows.
    pub studies: Vec<Answers>,
}

/// The answers of one study.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    /// Its id.
    pub id: String,
    /// Its rows.
    pub rows: Vec<Answer>,
}

/// The places of rows that ask different metrics of the same runs: those of one scenario, with the same laid over it
/// and as many seeds.
pub fn questions(rows: &[Row]) -> Vec<Vec<usize>> {
    let mut all = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        let places: &mut Vec<usize> = all.entry((&row.scenario, &row.set, row.seeds)).or_default();
        places.push(i);
    }
    all.into_values().collect()
}

/// Which rows: study ids and row prefixes, in the order asked; everything when nothing is asked for.
pub fn select(wanted: &[String]) -> Result<Vec<(Study, Vec<Row>)>, Error> {
    let mut chosen: Vec<(Study, Vec<Row>)> = Vec::new();
    let all: Vec<String> = library::studies().into_iter().map(str::to_owned).collect();
    let wanted = if wanted.is_empty() { &all } else { wanted };
    let mut loaded: BTreeMap<String, usize> = BTreeMap::new();
    for w in wanted {
        let (id, prefix) = w.split_once(':').unwrap_or((w, ""));
        let at = match loaded.get(id) {
            Some(&at) => at,
            None => {
                chosen.push((Study::load(id)?, Vec::new()));
                loaded.insert(id.to_owned(), chosen.len() - 1);
                chosen.len() - 1
            }
        };
        let rows = chosen[at].0.rows()?;
        let found: Vec<Row> = rows.into_iter().filter(|r| r.id.starts_with(prefix)).collect();
        if found.is_empty() {
            return Err(format!("study {id} has no row that starts with {prefix:?}"));
        }
        for row in found {
            if !chosen[at].1.contains(&row) {
                chosen[at].1.push(row);
            }
        }
    }
    Ok(chosen)
}
