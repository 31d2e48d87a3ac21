//! Sweeps: the engine of the command, with rows that Python's frames take as they are.

use crate::convert::{of_sweep, plain};
use crate::table::{schema, stream};
use crate::ticks::Ticks;
use arrow_array::RecordBatch;
use lanescope::pens::chart::{Chart, Series};
use lanescope_front::sweep::{self as engine, COLUMNS, Folder, Points, Question, Row, Shard};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Where rows go.
enum Store {
    Memory { rows: Vec<Row>, done: HashSet<u64> },
    Disk(Box<Folder>),
}

/// A sweep: its question, and the rows that are there.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Sweep {
    question: Arc<Question>,
    identity: String,
    store: Mutex<Store>,
}

/// Why a second user is sent away at once: the first may wait for the interpreter that the second holds, and a process
/// that was forked while a sweep was running has nobody who would ever finish it.
const BUSY: &str = "another thread is running this sweep, or was when this process was forked: \
                    wait for it, or make a sweep of your own";

impl Sweep {
    fn store(&self) -> Result<MutexGuard<'_, Store>, String> {
        match self.store.try_lock() {
            Ok(store) => Ok(store),
            Err(TryLockError::Poisoned(store)) => Ok(store.into_inner()),
            Err(TryLockError::WouldBlock) => Err(BUSY.to_owned()),
        }
    }
}

#[pymethods]
impl Sweep {
    /// `lists` are the values of each path of a grid, or, with `grid` false, a list of points. Without `out` rows stay
    /// in memory.
    #[new]
    #[pyo3(signature = (scenario, paths, lists, grid, simulate, seeds, metrics, out = None, shard = None))]
    #[expect(clippy::too_many_arguments, reason = "a question as plain values, which can be sent elsewhere")]
    fn new(
        py: Python,
        scenario: (String, String, Vec<String>),
        paths: Vec<String>,
        lists: Vec<Vec<String>>,
        grid: bool,
        simulate: bool,
        seeds: Vec<u32>,
        metrics: Vec<String>,
        out: Option<String>,
        shard: Option<String>,
    ) -> PyResult<Sweep> {
        let (name, text, sets) = scenario;
        let points = if grid { Points::Grid(lists) } else { Points::List(lists) };
        let question = Question { name, text, sets, paths, points, simulate, seeds, metrics };
        let made = py.detach(|| -> Result<Sweep, String> {
            question.check()?;
            let identity = question.identity();
            let shard = shard.as_deref().map_or(Ok(Shard::ALL), Shard::parse)?;
            let store = match out {
                Some(dir) => Store::Disk(Box::new(Folder::open(Path::new(&dir), &question, shard)?)),
                None if shard != Shard::ALL => return Err("a shard is of a folder: say out=".into()),
                None => Store::Memory { rows: Vec::new(), done: HashSet::new() },
            };
            Ok(Sweep { question: Arc::new(question), identity, store: Mutex::new(store) })
        });
        made.map_err(|e| of_sweep(py, &e))
    }

    /// The question as text, for [`answer`](Sweep::answer) elsewhere.
    fn question(&self, py: Python) -> PyResult<String> {
        serde_json::to_string(&*self.question).map_err(|e| plain(py, &e.to_string()))
    }

    #[getter]
    fn identity(&self) -> &str {
        &self.identity
    }

    /// How many points there are in all.
    fn size(&self, py: Python) -> PyResult<u64> {
        self.question.size().map_err(|e| of_sweep(py, &e))
    }

    /// Points whose rows are there.
    fn done(&self, py: Python) -> PyResult<u64> {
        Ok(match &*self.store().map_err(|e| of_sweep(py, &e))? {
            Store::Memory { done, .. } => done.len() as u64,
            Store::Disk(folder) => folder.done(),
        })
    }

    /// The numbers of the points that are missing.
    fn pending(&self, py: Python) -> PyResult<Vec<u64>> {
        let size = self.size(py)?;
        Ok(match &*self.store().map_err(|e| of_sweep(py, &e))? {
            Store::Memory { done, .. } => (0..size).filter(|p| !done.contains(p)).collect(),
            Store::Disk(folder) => folder.pending(),
        })
    }

    /// Works out what is missing on threads of this process. Gives whether Ctrl-C ended it.
    #[pyo3(signature = (threads, progress = None))]
    fn run(&self, py: Python, threads: usize, progress: Option<Py<PyAny>>) -> PyResult<bool> {
        let mut ticks = Ticks::new(progress);
        let pending = self.pending(py)?;
        let all = pending.len().max(1) as f64;
        let worked = py.detach(|| {
            let tick = |done: u64| ticks.go_on(done as f64 / all);
            let worked = match &mut *self.store()? {
                Store::Disk(folder) => folder.run(threads, tick),
                Store::Memory { rows, done } => engine::run(
                    &self.question,
                    &pending,
                    threads,
                    |new| {
                        done.extend(new.iter().map(|r| r.point));
                        rows.extend(new);
                        Ok(())
                    },
                    tick,
                ),
            };
            if worked.is_ok() {
                ticks.ask(1.0);
            }
            worked
        });
        let interrupted = ticks.end()?;
        worked.map_err(|e| of_sweep(py, &e))?;
        Ok(interrupted)
    }

    /// The rows of some points as bytes of Parquet: what a worker of another process or machine calls. `None` when a
    /// signal ended it.
    #[staticmethod]
    fn answer<'py>(
        py: Python<'py>,
        question: &str,
        identity: &str,
        points: Vec<u64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let question: Question = serde_json::from_str(question)
            .map_err(|e| of_sweep(py, &format!("this is no question of a sweep: {e}")))?;
        let mut ticks = Ticks::new(None);
        let worked = py.detach(|| -> Result<Vec<u8>, String> {
            if question.identity() != identity {
                return Err("this worker reads another scenario, or has another version of lanescope, than who asks: \
                            files that the scenario names and the package must be the same on both"
                    .into());
            }
            let mut rows = Vec::new();
            engine::run(
                &question,
                &points,
                threads,
                |new| {
                    rows.extend(new);
                    Ok(())
                },
                |_| ticks.go_on(0.0),
            )?;
            rows.sort_by_key(|r: &Row| (r.point, r.place));
            let mut bytes = Vec::new();
            engine::to_parquet(&question, identity, &rows, &mut bytes)?;
            Ok(bytes)
        });
        if ticks.end()? {
            return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err("the sweep was stopped"));
        }
        Ok(PyBytes::new(py, &worked.map_err(|e| of_sweep(py, &e))?))
    }

    /// Takes such bytes. Gives how many points they have.
    fn take(&self, py: Python, bytes: Vec<u8>) -> PyResult<u64> {
        let taken = py.detach(|| match &mut *self.store()? {
            Store::Disk(folder) => folder.take_parquet(bytes),
            Store::Memory { rows, done } => {
                let new = engine::rows_of_bytes(&self.question, &self.identity, bytes)?;
                let points: HashSet<u64> = new.iter().map(|r| r.point).collect();
                rows.extend(new.into_iter().filter(|r| !done.contains(&r.point)));
                let count = points.len() as u64;
                done.extend(points);
                Ok(count)
            }
        });
        taken.map_err(|e| of_sweep(py, &e))
    }

    /// Stores what is taken and not stored yet.
    fn flush(&self, py: Python) -> PyResult<()> {
        let stored = py.detach(|| match &mut *self.store()? {
            Store::Disk(folder) => folder.flush(),
            Store::Memory { .. } => Ok(()),
        });
        stored.map_err(|e| of_sweep(py, &e))
    }

    /// Stores what is taken, gives the folder free for others, and keeps its rows.
    fn close(&self, py: Python) -> PyResult<()> {
        let closed = py.detach(|| {
            let mut store = self.store()?;
            if let Store::Disk(folder) = &mut *store {
                let stored = folder.flush();
                let mut rows = folder.rows()?;
                rows.extend(folder.waiting().iter().cloned());
                let done = rows.iter().map(|r| r.point).collect();
                *store = Store::Memory { rows, done };
                stored?;
            }
            Ok(())
        });
        closed.map_err(|e: String| of_sweep(py, &e))
    }

    /// All rows that are there, in the order of their points.
    fn rows(&self, py: Python) -> PyResult<Rows> {
        let rows = py.detach(|| -> Result<Vec<Row>, String> {
            let mut rows = match &*self.store()? {
                Store::Memory { rows, .. } => rows.clone(),
                Store::Disk(folder) => folder.rows()?,
            };
            rows.sort_by_key(|r| (r.point, r.place));
            rows.dedup_by_key(|r| (r.point, r.place));
            Ok(rows)
        });
        let rows = rows.map_err(|e| of_sweep(py, &e))?;
        let batch = engine::batch(&self.question, &rows).map_err(|e| plain(py, &e))?;
        Ok(Rows { question: self.question.clone(), rows, batch })
    }

    /// Names and docs of the columns that every sweep has.
    #[staticmethod]
    fn columns() -> Vec<(&'static str, &'static str)> {
        COLUMNS.iter().map(|c| (c.name, c.doc)).collect()
    }
}

/// Rows of a sweep.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Rows {
    question: Arc<Question>,
    rows: Vec<Row>,
    batch: RecordBatch,
}

#[pymethods]
impl Rows {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        stream(py, &self.batch)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema(py, &self.batch)
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Heads of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    /// A hash of all rows: the same rows give the same.
    #[getter]
    fn fingerprint(&self, py: Python) -> String {
        py.detach(|| engine::fingerprint(&self.rows))
    }

    /// Points without an answer, and why.
    fn errors(&self) -> Vec<(u64, String)> {
        let of = |r: &Row| r.error().map(|why| (r.point, why.to_owned()));
        self.rows.iter().filter(|r| r.place == 0).filter_map(of).collect()
    }

    /// One column as a list: numbers in SI steps, whole numbers, text, or `None`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        use engine::Cell;
        use pyo3::IntoPyObjectExt;
        let all = || COLUMNS.iter().map(|c| c.name).chain(self.question.metrics.iter().map(String::as_str));
        let cell = |cell: &Cell| match cell {
            Cell::Null => Ok(py.None().into_bound(py)),
            Cell::Int(n) => n.into_bound_py_any(py),
            Cell::Float(v) => v.into_bound_py_any(py),
            Cell::Text(t) => t.into_bound_py_any(py),
        };
        if let Some(at) = all().position(|c| c == name) {
            return self.rows.iter().map(|r| cell(&r.cells[at])).collect();
        }
        if let Some(at) = self.question.paths.iter().position(|p| p == name) {
            return self.rows.iter().map(|r| self.question.point(r.point).0[at].into_bound_py_any(py)).collect();
        }
        match name {
            "point" => self.rows.iter().map(|r| r.point.into_bound_py_any(py)).collect(),
            "seed" => self.rows.iter().map(|r| self.question.point(r.point).1.into_bound_py_any(py)).collect(),
            _ => Err(of_sweep(py, &format!("there is no column {name}; there are {}", self.columns().join(", ")))),
        }
    }

    /// Curves of a column against a path: the words of the horizontal axis, and each curve's name and points.
    #[expect(clippy::type_complexity, reason = "plain values for Python")]
    fn series(&self, py: Python, x: &str, y: &str) -> PyResult<(String, Vec<(String, Vec<(f64, f64)>)>)> {
        let (words, all) = engine::series(&self.question, &self.rows, x, y).map_err(|e| of_sweep(py, &e))?;
        Ok((words, all.into_iter().map(|s| (s.name, s.points)).collect()))
    }

    /// The same as SVG.
    fn chart(&self, py: Python, x: &str, y: &str) -> PyResult<String> {
        py.detach(|| engine::chart(&self.question, &self.rows, x, y)).map_err(|e| of_sweep(py, &e))
    }
}

/// Any curves as SVG, drawn as the command draws its own.
#[pyfunction]
pub(crate) fn curves(
    title: &str,
    x: &str,
    y: &str,
    log_x: bool,
    bytes: bool,
    series: Vec<(String, Vec<(f64, f64)>)>,
) -> String {
    let series: Vec<Series> = series.into_iter().map(|(name, points)| Series { name, points }).collect();
    Chart { title, x, y, log_x, x_unit_bytes: bytes, series: &series }.svg()
}
