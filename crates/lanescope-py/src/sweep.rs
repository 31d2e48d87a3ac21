//! Sweeps: the engine of the command, with rows that Python's frames take as they are.

use crate::convert::{of_sweep, plain};
use crate::table::{Table, batch, rows_of};
use crate::ticks::Ticks;
use arrow_array::RecordBatch;
use lanescope::pens::chart::{Chart, Series};
use lanescope_front::sweep::{self as engine, COLUMNS, Done, Folder, Missing, Points, Question, Row, Shard, Summary};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Rows that are held in memory at most: about a gigabyte while they are worked out. More stay in their folder.
const HELD: u64 = 1_000_000;

/// Where rows go.
enum Store {
    Memory {
        rows: Vec<Row>,
        done: Done,
    },
    Disk(Box<Folder>),
    /// The rows have been handed over.
    Closed,
}

/// Why nothing is asked of a sweep whose rows have been handed over.
const CLOSED: &str = "this sweep is closed";

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
                    wait for it, or start a sweep of your own";

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
            let rows = question.check()?.saturating_mul(question.size()?);
            let identity = question.identity();
            let shard = shard.as_deref().map_or(Ok(Shard::ALL), Shard::parse)?;
            let store = match out {
                Some(dir) => Store::Disk(Box::new(Folder::open(Path::new(&dir), &question, shard)?)),
                None if shard != Shard::ALL => return Err("a shard is of a folder: give out=".into()),
                None if rows > HELD => {
                    return Err(format!("{rows} rows are more than are kept in memory ({HELD}): give out=, a folder"));
                }
                None => Store::Memory { rows: Vec::new(), done: Done::none(question.size()?) },
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

    /// How many have rows.
    fn done(&self, py: Python) -> PyResult<u64> {
        match &*self.store().map_err(|e| of_sweep(py, &e))? {
            Store::Memory { done, .. } => Ok(done.len()),
            Store::Disk(folder) => Ok(folder.done()),
            Store::Closed => Err(of_sweep(py, CLOSED)),
        }
    }

    /// How many points are missing.
    fn left(&self, py: Python) -> PyResult<usize> {
        let left = py.detach(|| Ok(missing(&*self.store()?)?.len()));
        left.map_err(|e: String| of_sweep(py, &e))
    }

    /// The numbers of so many points that are missing, from one on.
    fn pending(&self, py: Python, first: u64, most: usize) -> PyResult<Vec<u64>> {
        let pending = py.detach(|| {
            let store = self.store()?;
            let (mut pending, mut next) = (Vec::new(), first);
            while pending.len() < most
                && let Some(point) = first_missing(&store, next)?
            {
                pending.push(point);
                next = point + 1;
            }
            Ok(pending)
        });
        pending.map_err(|e: String| of_sweep(py, &e))
    }

    /// Works out what is missing on threads of this process. Gives whether Ctrl-C ended it.
    #[pyo3(signature = (threads, progress = None))]
    fn run(&self, py: Python, threads: usize, progress: Option<Py<PyAny>>) -> PyResult<bool> {
        let mut ticks = Ticks::new(progress);
        let worked = py.detach(|| -> Result<(), String> {
            let mut store = self.store()?;
            let pending = missing(&store)?;
            let all = pending.len().max(1) as f64;
            let tick = |done: u64| ticks.go_on(done as f64 / all);
            match &mut *store {
                Store::Disk(folder) => folder.run(threads, tick)?,
                Store::Memory { rows, done } => {
                    let take = |new: Vec<Row>| {
                        if let Some(row) = new.first() {
                            done.insert(row.point);
                        }
                        rows.extend(new);
                        Ok(())
                    };
                    engine::run(&self.question, pending, threads, take, tick)?
                }
                Store::Closed => return Err(CLOSED.into()),
            };
            ticks.ask(1.0);
            Ok(())
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
                return Err(
                    "this worker reads another scenario, or has another version of lanescope, than the process that \
                            asks: the files that the scenario names, and the package, must be the same on both"
                        .into(),
                );
            }
            let mut rows = Vec::new();
            engine::run(
                &question,
                points.into_iter(),
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
                let mut count = 0;
                for point in new.chunk_by(|a, b| a.point == b.point) {
                    count += 1;
                    if done.insert(point[0].point) {
                        rows.extend_from_slice(point);
                    }
                }
                Ok(count)
            }
            Store::Closed => Err(CLOSED.into()),
        });
        taken.map_err(|e| of_sweep(py, &e))
    }

    /// Stores what is taken and not stored yet.
    fn flush(&self, py: Python) -> PyResult<()> {
        let stored = py.detach(|| match &mut *self.store()? {
            Store::Disk(folder) => folder.flush(),
            Store::Memory { .. } | Store::Closed => Ok(()),
        });
        stored.map_err(|e| of_sweep(py, &e))
    }

    /// Stores what is taken, gives the folder free for others, and hands over the rows that are there.
    fn close(&self, py: Python) -> PyResult<Rows> {
        let closed = py.detach(|| {
            let mut store = self.store()?;
            let (mut rows, failed) = match &mut *store {
                Store::Memory { rows, .. } => (std::mem::take(rows), None),
                Store::Disk(folder) => {
                    let stored = folder.flush();
                    let summary = folder.summary()?;
                    if summary.rows > HELD {
                        let done = folder.done();
                        *store = Store::Closed;
                        stored?;
                        return Ok(Rows { question: self.question.clone(), batch: None, summary, done });
                    }
                    let mut rows = folder.rows()?;
                    // What a full disk did not take is here all the same.
                    rows.extend(folder.waiting().iter().cloned());
                    (rows, stored.err())
                }
                Store::Closed => return Err(CLOSED.into()),
            };
            rows.sort_by_key(|r| (r.point, r.place));
            rows.dedup_by_key(|r| (r.point, r.place));
            if let Some(e) = failed {
                *store = Store::Closed;
                return Err(e);
            }
            let rows = Rows::of(self.question.clone(), &rows);
            *store = Store::Closed;
            rows
        });
        closed.map_err(|e: String| of_sweep(py, &e))
    }

    /// Names and docs of the columns that every sweep has.
    #[staticmethod]
    fn columns() -> Vec<(&'static str, &'static str)> {
        COLUMNS.iter().map(|c| (c.name, c.doc)).collect()
    }
}

/// The points of a sweep that are missing.
fn missing(store: &Store) -> Result<Missing, String> {
    match store {
        Store::Memory { done, .. } => Ok(done.clone().missing(Shard::ALL)),
        Store::Disk(folder) => Ok(folder.pending()),
        Store::Closed => Err(CLOSED.into()),
    }
}

/// The first of them, from one on.
fn first_missing(store: &Store, from: u64) -> Result<Option<u64>, String> {
    match store {
        Store::Memory { done, .. } => Ok(done.first_missing(Shard::ALL, from)),
        Store::Disk(folder) => Ok(folder.first_pending(from)),
        Store::Closed => Err(CLOSED.into()),
    }
}

/// Rows of a sweep, as columns.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Rows {
    question: Arc<Question>,
    /// None where there are more than [`HELD`]: they are in their folder.
    batch: Option<RecordBatch>,
    summary: Summary,
    done: u64,
}

impl Rows {
    fn of(question: Arc<Question>, rows: &[Row]) -> Result<Rows, String> {
        let mut summary = Summary::default();
        rows.iter().for_each(|row| summary.take(row));
        let batch = Some(batch(&question, rows)?);
        let done = rows.chunk_by(|a, b| a.point == b.point).count() as u64;
        Ok(Rows { question, batch, summary, done })
    }

    fn batch(&self, py: Python) -> PyResult<&RecordBatch> {
        let many = || {
            format!(
                "{} rows are more than are kept in memory ({HELD}); the files of the folder are Parquet: \
                 polars.scan_parquet, duckdb or pyarrow.dataset read them piece by piece",
                self.summary.rows
            )
        };
        self.batch.as_ref().ok_or_else(|| of_sweep(py, &many()))
    }
}

#[pymethods]
impl Rows {
    /// The columns, for frames.
    fn table(&self, py: Python) -> PyResult<Table> {
        Ok(Table::from(self.batch(py)?.clone()))
    }

    fn __len__(&self) -> usize {
        self.summary.rows as usize
    }

    /// How many points have rows.
    #[getter]
    fn done(&self) -> u64 {
        self.done
    }

    /// Heads of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.question.fields().into_iter().map(|f| f.name).collect()
    }

    /// A hash of all rows: the same rows give the same.
    #[getter]
    fn fingerprint(&self) -> String {
        self.summary.fingerprint.to_string()
    }

    /// How many points have no answer.
    #[getter]
    fn failed(&self) -> u64 {
        self.summary.failed
    }

    /// The first thousand of them, and why.
    fn errors(&self) -> Vec<(u64, String)> {
        self.summary.errors.clone()
    }

    /// The values of a point as the scenario has them, one for each path.
    fn point(&self, py: Python, number: u64) -> PyResult<Vec<String>> {
        let size = self.question.size().map_err(|e| of_sweep(py, &e))?;
        if number >= size {
            return Err(of_sweep(py, &format!("there is no point {number}; there are {size}")));
        }
        Ok(self.question.point(number).0.into_iter().map(str::to_owned).collect())
    }

    /// Curves of a column against a path: the words of the horizontal axis, and each curve's name and points.
    #[expect(clippy::type_complexity, reason = "plain values for Python")]
    fn series(&self, py: Python, x: &str, y: &str) -> PyResult<(String, Vec<(String, Vec<(f64, f64)>)>)> {
        let batch = self.batch(py)?;
        let all = py.detach(|| engine::series(&self.question, &rows_of(&self.question, batch), x, y));
        let (words, all) = all.map_err(|e| of_sweep(py, &e))?;
        Ok((words, all.into_iter().map(|s| (s.name, s.points)).collect()))
    }

    /// The same as SVG.
    fn chart(&self, py: Python, x: &str, y: &str) -> PyResult<String> {
        let batch = self.batch(py)?;
        let drawn = py.detach(|| engine::chart(&self.question, &rows_of(&self.question, batch), x, y));
        drawn.map_err(|e| of_sweep(py, &e))
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
