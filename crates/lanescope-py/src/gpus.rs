//! Collectives of GPU clusters.

use crate::convert::{any, plain, wrong};
use crate::table::Table;
use crate::ticks::{Ticks, alone};
use lanescope::diagnostic::Diagnostics;
use lanescope::pens::gpu as pens;
use lanescope::plan::gpu::GpuCluster;
use lanescope::result::gpu::CollectiveReport;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope_front::collective::{self as asked, Ended};
use lanescope_front::files;
use pyo3::prelude::*;

/// What a collective takes, with the cluster's text.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Collective {
    text: Included,
    report: CollectiveReport,
}

/// `lanescope collective`: the answer; whether Ctrl-C ended the simulations; and why some are missing, if any.
/// `cluster` is a name with its text, or without one a file; `sizes` are sizes, `ladder` the two ends and the factor
/// of what is asked for where there are none.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each of the command's options")]
pub(crate) fn collective(
    py: Python,
    what: &str,
    cluster: (String, Option<String>),
    sets: Vec<String>,
    sizes: Vec<String>,
    ladder: (String, String, u64),
    how: (Option<String>, Option<String>, Option<u32>),
    simulate: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Collective, bool, Option<String>)> {
    let said = |e: String| plain(py, &e);
    let what = asked::named(what).map_err(said)?;
    let sizes = match sizes.as_slice() {
        [] => asked::ladder(["min", "max"], [&ladder.0, &ladder.1], ladder.2).map_err(said)?,
        some => some.iter().map(|s| asked::bytes("size", s)).collect::<Result<Vec<u64>, _>>().map_err(said)?,
    };
    let text = match cluster {
        (name, Some(text)) => Included { name, text, author: Author::User },
        (file, None) => py.detach(|| files::scenario(&file)).map_err(said)?,
    };
    let over = [sets, asked::sets(how.0.as_deref(), how.1.as_deref(), how.2)].concat();
    let included = text.clone();
    let (corners, answered, diagnostics) = alone(py, move |_| {
        let mut diagnostics = Diagnostics::default();
        let corners = GpuCluster::corners(&mut diagnostics, included, &over);
        let answered = corners.as_ref().map(|c| lanescope::estimate::gpu::collective(c, what, &sizes));
        (corners, answered, diagnostics)
    })?;
    let (Some(corners), Some(answered)) = (corners, answered) else { return Err(wrong(py, &diagnostics)) };
    let mut report = answered.map_err(said)?;
    let mut left = None;
    let mut interrupted = false;
    if simulate {
        let mut ticks = Ticks::new(progress);
        let ended = py.detach(|| {
            let ended = asked::simulate(&corners[0], &mut report, |done| ticks.go_on(done));
            ticks.ask(1.0);
            ended
        });
        interrupted = ticks.end()?;
        if let Ended::Left(why) = ended.map_err(said)? {
            left = Some(why);
        }
    }
    Ok((Collective { text, report }, interrupted, left))
}

/// A size in bytes, as nccl-tests take it.
#[pyfunction]
pub(crate) fn collective_size(py: Python, text: &str) -> PyResult<u64> {
    asked::bytes("size", text).map_err(|e| plain(py, &e))
}

#[pymethods]
impl Collective {
    /// All of it, as `--json` prints it.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        any(py, &self.report)
    }

    /// As the command prints it.
    fn text(&self) -> String {
        asked::text(&self.report, &pens::grid(&self.report))
    }

    /// The lines of nccl-tests.
    fn nccl_tests(&self) -> String {
        pens::nccl_tests(&self.report)
    }

    /// The page of `--html`.
    fn page(&self) -> String {
        lanescope_front::page(&pens::title(&self.report), &self.text, pens::sections(&self.report, None))
    }

    /// Bus bandwidth against the size, as SVG.
    fn chart(&self) -> String {
        pens::chart(&self.report, None)
    }

    /// A row for each size, for frames.
    fn table(&self, py: Python) -> PyResult<Table> {
        Table::of(py, &pens::rows_grid(&self.report))
    }
}
