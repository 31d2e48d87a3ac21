//! `compare` with what nccl-tests printed: a real table beside the estimate of the same cluster.

use super::super::collective::cluster;
use super::super::page::{self, Begin};
use super::Compare;
use crate::{ANSWERED, input, output};
use lanescope::diagnostic::{Diagnostics, SourceId};
use lanescope::import;
use lanescope::pens::{gpu as pens, page as pages};
use lanescope::plan::gpu::ladder::Ladder;
use lanescope_front::collective as asked;

/// A real table of nccl-tests beside the answer. An error with nothing to say has been told.
pub(super) fn beside(a: &Compare, diagnostics: &mut Diagnostics, source: SourceId) -> Result<u8, Option<String>> {
    let table = import::nccl_tests::read(diagnostics, source);
    output::diagnostics(diagnostics);
    let table = table.ok_or(None)?;
    let test =
        table.test.ok_or("the table does not say which collective it is: give the command line too".to_owned())?;
    let what = asked::named(test)?;
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
    let sections = || {
        let mut all = vec![pages::grid("beside", "Beside what was measured", &grid)];
        all.extend(pens::sections(&report, None));
        all
    };
    // A table's sizes are a ladder: by one factor, as nccl-tests have it.
    let [first, last] = [sizes.first(), sizes.last()].map(|s| s.copied().unwrap_or(8).to_string());
    let factor = sizes.windows(2).next().map_or(2, |w| (w[1] / w[0].max(1)).max(2));
    let ladder = Ladder { collective: what.name().into(), min: first, max: last, factor };
    let begin = || {
        Ok(Begin { included: Some(text), sets: a.on.how.sets.clone(), collective: Some(ladder), ..Begin::default() })
    };
    page::write(&a.page, &title, sections, begin, None)?;
    if a.json {
        output::json(&serde_json::json!({ "report": report, "measured": table.rows }));
        return Ok(ANSWERED);
    }
    output::print(&asked::text(&report, &grid));
    Ok(ANSWERED)
}
