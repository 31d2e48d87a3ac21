//! `collective`: what nccl-tests should print on a GPU cluster, and why.

use super::page::{self, Begin};
use super::tables::{self, Layout};
use crate::{ANSWERED, Scenario, WRONG, input, interrupt, output};
use clap::Args;
use lanescope::diagnostic::Diagnostics;
use lanescope::pens::gpu as pens;
use lanescope::plan::gpu::GpuCluster;
use lanescope::plan::gpu::ladder::Ladder;
use lanescope::result::gpu::CollectiveReport;
use lanescope::scenario::Included;
use lanescope_front::collective::{self as asked, Ended};

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
    #[command(flatten)]
    page: page::Html,
}

pub(crate) fn main(a: &CollectiveArgs) -> u8 {
    answer(a).unwrap_or_else(|e| {
        if let Some(e) = e {
            output::error(&e);
        }
        WRONG
    })
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
    let what = asked::named(&a.collective)?;
    let mut sizes = asked::ladder(["--min", "--max"], [&a.min, &a.max], a.factor)?;
    let ladder = Ladder { collective: a.collective.clone(), min: a.min.clone(), max: a.max.clone(), factor: a.factor };
    let text = input::scenario(&a.on.file)?;
    let mut sets = a.on.sets.clone();
    sets.extend(asked::sets(a.algorithm.as_deref(), a.protocol.as_deref(), a.channels));
    let corners = cluster(&text, &sets)?;
    if a.table.is_some_and(|t| t != Layout::Own) {
        let blocks = pens::blocks(what, corners[0].ranks());
        sizes.iter_mut().for_each(|s| *s = s.saturating_mul(blocks));
    }
    let mut report = lanescope::estimate::gpu::collective(&corners, what, &sizes)?;
    let whole = !a.simulate || simulate(&corners[0], &mut report)?;
    let begin = || Ok(Begin { included: Some(text), sets, collective: Some(ladder), ..Begin::default() });
    page::write(&a.page, &pens::title(&report), || pens::sections(&report, None), begin, None)?;
    if let Some(layout) = a.table {
        output::print(&tables::collective(&report, layout)?);
    } else if a.on.json {
        output::json(&report);
    } else if a.on.csv {
        output::csv(&pens::grid(&report));
    } else {
        output::print(&asked::text(&report, &pens::grid(&report)));
    }
    Ok(if whole { ANSWERED } else { crate::NO_VALUE })
}

/// Simulates each row; whether all were. What was finished before Ctrl-C stays.
fn simulate(c: &GpuCluster, report: &mut CollectiveReport) -> Result<bool, String> {
    match asked::simulate(c, report, |_| !interrupt::stopped())? {
        Ended::Whole => return Ok(true),
        Ended::Stopped => output::say!("stopped: what follows is what was finished"),
        Ended::Left(why) => output::say!("note: {why}"),
    }
    Ok(false)
}
