//! `collective`: what nccl-tests should print on a GPU cluster, and why.

use super::page;
use super::tables::{self, Layout};
use crate::{ANSWERED, Scenario, WRONG, input, interrupt, output};
use clap::Args;
use lanescope::diagnostic::Diagnostics;
use lanescope::pens::gpu as pens;
use lanescope::plan::gpu::GpuCluster;
use lanescope::plan::gpu::collective::Collective;
use lanescope::plan::gpu::schedule::size;
use lanescope::result::gpu::CollectiveReport;
use lanescope::scenario::Included;
use lanescope::sim::gpu::CollectiveRun;

/// Sizes of a ladder at most.
const MOST_SIZES: usize = 1000;
/// Events between two looks at Ctrl-C.
const PIECE: u64 = 1_000_000;

/// A collective and a cluster.
#[derive(Args)]
pub(crate) struct CollectiveArgs {
    /// all_reduce, all_gather, reduce_scatter, broadcast, alltoall or sendrecv
    collective: String,
    #[command(flatten)]
    on: Scenario,
    /// Print the table alone, as nccl-tests do, or in the layout of an instrument of MPI; sizes are then as it counts
    /// them (OSU and IMB: of an all-gather and an all-to-all what a rank hands to each)
    #[arg(
        long, value_enum, value_name = "LAYOUT", num_args = 0..=1, default_missing_value = "own", require_equals = true,
        conflicts_with_all = ["json", "csv"]
    )]
    table: Option<Layout>,
    /// Smallest size, as nccl-tests take it: 8, 512K, 64M (powers of 1024)
    #[arg(long, default_value = "8")]
    min: String,
    /// Largest size
    #[arg(long, default_value = "16G")]
    max: String,
    /// From a size to the next
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..=1 << 32))]
    factor: u64,
    /// ring, tree, double_binary_tree, recursive_doubling, nvls, nvls_tree or direct, in place of the fastest (the same
    /// as --set collectives.algorithm=…)
    #[arg(long)]
    algorithm: Option<String>,
    /// simple, ll128 or ll, in place of the fastest
    #[arg(long)]
    protocol: Option<String>,
    /// Channels
    #[arg(long)]
    channels: Option<u32>,
    /// Simulate each size packet by packet, too: clusters of up to 64 GPUs
    #[arg(long)]
    simulate: bool,
    /// Write the answer to this file as a page to read and print
    #[arg(long, value_name = "FILE")]
    html: Option<std::path::PathBuf>,
}

pub(crate) fn main(a: &CollectiveArgs) -> u8 {
    answer(a).unwrap_or_else(|e| {
        if let Some(e) = e {
            output::error(&e);
        }
        WRONG
    })
}

/// The collective of a name.
pub(super) fn named(text: &str) -> Result<Collective, String> {
    let name = text.trim_end_matches("_perf").replace("all_to_all", "alltoall");
    Collective::named(&name).ok_or_else(|| {
        let near = lanescope::diagnostic::nearest(&name, Collective::ALL.map(Collective::name));
        let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
        format!("there is no collective {text:?}{near} There are {}", Collective::ALL.map(Collective::name).join(", "))
    })
}

/// The ladder of sizes.
fn ladder(a: &CollectiveArgs) -> Result<Vec<u64>, String> {
    let (least, most) =
        (size(&a.min).map_err(|e| format!("--min: {e}"))?, size(&a.max).map_err(|e| format!("--max: {e}"))?);
    if most > 1 << 44 {
        return Err(format!("--max {}: at most 16 TiB", a.max));
    }
    if least > most {
        return Err(format!("--min {} is above --max {}", a.min, a.max));
    }
    let next = |s: &u64| s.checked_mul(a.factor).filter(|s| *s <= most);
    Ok(std::iter::successors(Some(least), next).take(MOST_SIZES).collect())
}

/// The cluster of a text, and where values are ranges its slower and faster ends. What is wrong in it has been told.
pub(super) fn cluster(text: &Included, sets: &[String]) -> Result<Vec<GpuCluster>, Option<String>> {
    let mut diagnostics = Diagnostics::default();
    let corners = GpuCluster::corners(&mut diagnostics, text.clone(), sets);
    output::diagnostics(&diagnostics);
    corners.ok_or(None)
}

/// An error with nothing to say has been told.
fn answer(a: &CollectiveArgs) -> Result<u8, Option<String>> {
    let what = named(&a.collective)?;
    let mut sizes = ladder(a)?;
    let text = input::scenario(&a.on.file)?;
    let mut sets = a.on.sets.clone();
    let quoted = |key: &str, v: &Option<String>| v.as_ref().map(|v| format!("collectives.{key}={v}"));
    sets.extend(quoted("algorithm", &a.algorithm));
    sets.extend(quoted("protocol", &a.protocol));
    sets.extend(a.channels.map(|n| format!("collectives.channels={n}")));
    let corners = cluster(&text, &sets)?;
    if a.table.is_some_and(|t| t != Layout::Own) {
        let blocks = pens::blocks(what, corners[0].ranks());
        sizes.iter_mut().for_each(|s| *s = s.saturating_mul(blocks));
    }
    let mut report = lanescope::estimate::gpu::collective(&corners, what, &sizes)?;
    let whole = !a.simulate || simulate(&corners[0], &mut report)?;
    let title = format!("{} over {} GPUs", what.name(), report.ranks);
    let html = page::Html { html: a.html.clone(), fixed: true };
    page::write_fixed(&html, &title, &text, pens::sections(&report))?;
    if let Some(layout) = a.table {
        output::print(&tables::collective(&report, layout)?);
    } else if a.on.json {
        output::json(&report);
    } else if a.on.csv {
        output::csv(&pens::grid(&report));
    } else {
        let (head, tail) = pens::around(&report);
        output::print(&format!("{head}{}{tail}", output::table_text(&pens::grid(&report))));
    }
    Ok(if whole { ANSWERED } else { crate::NO_VALUE })
}

/// Simulates each row by the algorithm and protocol of the estimate; whether all were. What was finished before Ctrl-C
/// stays.
fn simulate(c: &GpuCluster, report: &mut CollectiveReport) -> Result<bool, String> {
    let mut left = None;
    for row in &mut report.rows {
        let mut run = match CollectiveRun::new(c, report.collective, row.algorithm, row.protocol, row.bytes) {
            Ok(run) => run,
            Err(why) => {
                left.get_or_insert(format!("{} B and what else is not simulated: {why}", row.bytes));
                continue;
            }
        };
        while !run.advance(PIECE)? {
            if interrupt::stopped() {
                output::say!("stopped: what follows was finished");
                return Ok(false);
            }
        }
        row.simulated = Some(run.result());
    }
    if let Some(why) = &left {
        output::say!("note: {why}");
    }
    Ok(left.is_none())
}
