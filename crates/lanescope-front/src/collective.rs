//! Collectives of GPU clusters as the command and the Python package ask for them: names and sizes, what is laid over
//! the cluster, and each size simulated.

use crate::draw;
use lanescope::pens::{self, Grid};
use lanescope::plan::gpu::GpuCluster;
pub use lanescope::plan::gpu::ladder::{bytes, named, sizes as ladder};
use lanescope::result::gpu::CollectiveReport;
use lanescope::sim::gpu::RowsRun;

/// Events between two looks at whether to go on: some milliseconds.
const PIECE: u64 = 1 << 16;

/// What is laid over a cluster for an algorithm, a protocol and channels that are asked for: `path=value`.
pub fn sets(algorithm: Option<&str>, protocol: Option<&str>, channels: Option<u32>) -> Vec<String> {
    let all = [("algorithm", algorithm), ("protocol", protocol)];
    let own = all.into_iter().filter_map(|(key, v)| Some(format!("collectives.{key}={}", v?)));
    own.chain(channels.map(|n| format!("collectives.channels={n}"))).collect()
}

/// The answer for people: a table of it, with what stands above and below.
pub fn text(report: &CollectiveReport, table: &Grid) -> String {
    let (head, tail) = pens::gpu::around(report);
    format!("{head}{}{tail}", draw::table(table))
}

/// How simulations of a ladder ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every size has its simulation.
    Whole,
    /// It was told to stop; sizes that were finished before have theirs.
    Stopped,
    /// Some cannot be simulated: why the first cannot.
    Left(String),
}

/// Simulates each row by the algorithm and protocol of the estimate. `go_on` is asked every some milliseconds, with the
/// share of the rows that is done.
///
/// # Errors
///
/// A run that comes to a halt.
pub fn simulate(
    c: &GpuCluster,
    report: &mut CollectiveReport,
    mut go_on: impl FnMut(f64) -> bool,
) -> Result<Ended, String> {
    let all = report.rows.len();
    let mut run = RowsRun::default();
    while !run.advance(c, report, PIECE)? {
        if !go_on(run.done(all)) {
            return Ok(Ended::Stopped);
        }
    }
    Ok(run.left().map_or(Ended::Whole, |why| Ended::Left(why.to_owned())))
}
