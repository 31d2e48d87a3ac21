//! `compare` with what nccl-tests printed: a real table beside the estimate of the same cluster.

use super::super::collective::{cluster, named};
use super::super::page;
use super::Compare;
use crate::{ANSWERED, input, output};
use lanescope::diagnostic::{Diagnostics, SourceId};
use lanescope::import;
use lanescope::pens::gpu as pens;

/// A real table of nccl-tests beside the answer. An error with nothing to say has been told.
pub(super) fn beside(a: &Compare, diagnostics: &mut Diagnostics, source: SourceId) -> Result<u8, Option<String>> {
    let table = import::nccl_tests::read(diagnostics, source);
    output::diagnostics(diagnostics);
    let table = table.ok_or(None)?;
    let test =
        table.test.ok_or("the table does not say which collective it is: give the command line too".to_owned())?;
    let what = named(test)?;
    let text = input::scenario(&a.on.machine)?;
    let corners = cluster(&text, &a.on.how.sets)?;
    let (real, ours) = (table.ranks, corners[0].ranks());
    if real > 0 && real != ours {
        return Err(Some(format!("the table has {real} ranks, the cluster {ours} GPUs: set nodes or node.gpus")));
    }
    let mut sizes: Vec<u64> = table.rows.iter().map(|r| r.bytes).collect();
    sizes.dedup();
    let report = lanescope::estimate::gpu::collective(&corners, what, &sizes)?;
    let grid = pens::beside(&report, &table.rows);
    let title = format!("{} beside a measured table", what.name());
    page::write_fixed(&a.page, &title, &text, pens::sections(&report))?;
    if a.json {
        output::json(&serde_json::json!({ "report": report, "measured": table.rows }));
        return Ok(ANSWERED);
    }
    let (head, tail) = pens::around(&report);
    output::print(&format!("{head}{}{tail}", output::table_text(&grid)));
    Ok(ANSWERED)
}
