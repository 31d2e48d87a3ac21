//! A scenario that was read and wired, and a report.

use crate::convert::{any, object, plain, wrong};
use crate::table::Table;
use crate::ticks::{Ticks, alone};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::pens::svg::Method;
use lanescope::pens::{self, Paint};
use lanescope::plan::Plan;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use lanescope_front::files::Files;
use lanescope_front::{files, pictures, planned};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// An estimate that was seen to take no longer is repeated where it is asked for, and saves the cost of a thread; all
/// others are worked out where Ctrl-C can leave them.
const AT_ONCE: Duration = Duration::from_millis(10);
/// Events between two looks at the clock: some milliseconds.
const PIECE: u64 = 1 << 14;

/// A scenario, read and planned.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Model {
    name: String,
    text: String,
    sets: Vec<String>,
    plan: Arc<Plan>,
    diagnostics: Arc<Diagnostics>,
    /// Whether an estimate of it was there at once.
    quick: AtomicBool,
}

impl Model {
    fn read(py: Python, name: String, text: String, sets: Vec<String>) -> PyResult<Model> {
        let included = Included { name: name.clone(), text: text.clone(), author: Author::User };
        let over = sets.clone();
        let (plan, diagnostics) = alone(py, move |_| {
            let mut diagnostics = Diagnostics::default();
            (lanescope::plan(&mut diagnostics, included, &over, &Files), diagnostics)
        })?;
        match plan {
            Some(plan) => {
                let (plan, diagnostics) = (Arc::new(plan), Arc::new(diagnostics));
                Ok(Model { name, text, sets, plan, diagnostics, quick: AtomicBool::new(false) })
            }
            None => Err(wrong(py, &diagnostics)),
        }
    }

    fn estimated(&self, py: Python) -> PyResult<lanescope::result::Report> {
        if self.quick.load(Ordering::Relaxed) {
            return Ok(py.detach(|| estimate(&self.plan, &self.diagnostics)));
        }
        let (plan, diagnostics) = (self.plan.clone(), self.diagnostics.clone());
        let (report, lasted) = alone(py, move |_| {
            let began = Instant::now();
            (estimate(&plan, &diagnostics), began.elapsed())
        })?;
        self.quick.store(lasted <= AT_ONCE, Ordering::Relaxed);
        Ok(report)
    }
}

#[pymethods]
impl Model {
    #[new]
    fn new(py: Python, name: String, text: String, sets: Vec<String>) -> PyResult<Model> {
        Model::read(py, name, text, sets)
    }

    /// Reads a file.
    #[staticmethod]
    fn open(py: Python, path: String, sets: Vec<String>) -> PyResult<Model> {
        let read = py.detach(|| files::scenario(&path)).map_err(|e| plain(py, &e))?;
        Model::read(py, read.name, read.text, sets)
    }

    /// The same with another value laid over it.
    fn set(&self, py: Python, set: String) -> PyResult<Model> {
        let sets = self.sets.iter().cloned().chain([set]).collect();
        Model::read(py, self.name.clone(), self.text.clone(), sets)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn sets(&self) -> Vec<String> {
        self.sets.clone()
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        &self.plan.fingerprint
    }

    #[getter]
    fn title(&self) -> &str {
        &self.plan.title
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.diagnostics.warnings()
    }

    /// What will run, as `lanescope plan --json` prints it.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &planned::json(&self.plan))
    }

    /// The answer in closed form.
    fn estimate(&self, py: Python) -> PyResult<Report> {
        Ok(Report { plan: self.plan.clone(), report: self.estimated(py)? })
    }

    /// Seconds that the library takes for so many estimates: what the cost of a call is measured against.
    fn estimate_time(&self, py: Python, times: u32) -> f64 {
        py.detach(|| {
            let began = std::time::Instant::now();
            for _ in 0..times {
                std::hint::black_box(estimate(&self.plan, &self.diagnostics));
            }
            began.elapsed().as_secs_f64()
        })
    }

    /// The same with the simulation beside it, and whether Ctrl-C ended that. `must` says that there is no answer
    /// without a simulation.
    fn simulate(&self, py: Python, must: bool, progress: Option<Py<PyAny>>) -> PyResult<(Report, bool)> {
        let mut ticks = Ticks::new(progress);
        let seed = u64::from(self.plan.limits.seed);
        let mut diagnostics = Diagnostics::clone(&self.diagnostics);
        let report = self.estimated(py)?;
        let run = py.detach(|| {
            let run = (!report.flows.is_empty()).then(|| Run::new(&self.plan, seed, &mut diagnostics)).flatten();
            run.map(|mut run| {
                while run.advance(PIECE) != Step::Done {
                    if !ticks.go_on(run.progress()) {
                        run.stop();
                    }
                }
                ticks.ask(1.0);
                run.snapshot()
            })
        });
        let report = match run {
            Some(simulation) => report.with(simulation),
            None if must && !report.flows.is_empty() => return Err(wrong(py, &diagnostics)),
            None => report,
        };
        let interrupted = ticks.end()?;
        Ok((Report { plan: self.plan.clone(), report }, interrupted))
    }

    /// Why it cannot be simulated; `None` where it can.
    fn not_simulated(&self, py: Python) -> Option<String> {
        let mut diagnostics = Diagnostics::default();
        let seed = u64::from(self.plan.limits.seed);
        let run = py.detach(|| Run::new(&self.plan, seed, &mut diagnostics).is_some());
        (!run).then(|| lanescope_front::draw::plain(&diagnostics))
    }
}

/// An answer, with the plan that it is of.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Report {
    plan: Arc<Plan>,
    report: lanescope::result::Report,
}

#[pymethods]
impl Report {
    /// All of it, as `--json` prints it.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        any(py, &self.report)
    }

    /// The same as text of JSON.
    fn json(&self, py: Python) -> PyResult<String> {
        serde_json::to_string_pretty(&self.report).map_err(|e| plain(py, &e.to_string()))
    }

    /// As the command prints it, without colours.
    fn text(&self, all_links: bool) -> String {
        pens::text::report(&self.report, Paint::default(), all_links)
    }

    /// Its pictures, names and SVG: the simulation's where there is one, then the estimate's.
    fn pictures(&self, py: Python, simulation: bool, estimated: bool) -> Vec<(String, String)> {
        let mut methods = Vec::new();
        if simulation && self.report.simulation.is_some() {
            methods.push(Method::Simulation);
        }
        if estimated {
            methods.push(Method::Estimate);
        }
        py.detach(|| pictures(&self.plan, &self.report, &methods))
    }

    /// One of its tables: `flows`, `links`, `slots`, `rows`.
    fn table(&self, py: Python, which: &str) -> PyResult<Table> {
        let grid = match (which, &self.report.simulation) {
            ("flows", _) => pens::flows_grid(&self.report),
            ("links", _) => pens::links_grid(&self.report),
            ("slots", Some(simulation)) => pens::slots_grid(simulation),
            ("slots", None) => return Err(plain(py, "slots are counted by a simulation: this report has none")),
            ("rows", _) => pens::rows_grid(&self.report),
            _ => return Err(plain(py, &format!("{which:?} is not a table; there are flows, links, slots and rows"))),
        };
        Table::of(py, &grid)
    }

    /// A metric by its path: its value, its dimension, and the range or half of the interval.
    fn metric<'py>(&self, py: Python<'py>, path: &str, simulated: bool) -> PyResult<Bound<'py, PyAny>> {
        let found = match simulated {
            true => self
                .report
                .simulated(path)
                .map(|m| serde_json::json!({ "value": m.value.mean, "half": m.value.half, "dimension": m.dimension })),
            false => self
                .report
                .metric(path)
                .map(|m| serde_json::json!({ "value": m.value, "range": m.range, "dimension": m.dimension })),
        };
        object(py, &found.map_err(|e| plain(py, &e))?)
    }
}
