//! Rows that a collective of GPUs answers: the scenario is a GPU cluster, the metric `all_reduce.1G.busbw`.

use super::{Error, Study};
use crate::diagnostic::Diagnostics;
use crate::estimate::gpu::collective;
use crate::library;
use crate::plan::gpu::GpuCluster;
use crate::plan::gpu::collective::Collective;
use crate::plan::gpu::schedule::size;
use crate::result::Metric;
use crate::scenario::tree::Author;
use crate::scenario::{Included, gpu};
use crate::units::Dimension;

impl Study {
    /// Whether one of its scenarios is a cluster of GPUs, which answers by its collectives.
    pub fn is_cluster(&self, scenario: &str) -> bool {
        self.cluster(scenario).is_some()
    }

    /// The text of one of its scenarios, where that is a GPU cluster.
    pub(super) fn cluster(&self, scenario: &str) -> Option<Included> {
        let text = library::study_text(&self.id, scenario).filter(|t| gpu::is_cluster(t))?;
        let name = format!("studies/{}/{scenario}", self.id);
        Some(Included { name, text: text.to_owned(), author: Author::Library })
    }
}

/// A metric of a collective: its name, a size, and `busbw` or `time`.
pub(super) fn metric(text: Included, set: &[String], metric: &str) -> Result<Metric, Error> {
    let wrong = || format!("{metric} is not a collective, a size, and busbw or time: all_reduce.1G.busbw");
    let (what, rest) = metric.split_once('.').ok_or_else(wrong)?;
    let (bytes, of) = rest.split_once('.').ok_or_else(wrong)?;
    let what = Collective::named(what).ok_or_else(wrong)?;
    let mut diagnostics = Diagnostics::default();
    let corners = GpuCluster::corners(&mut diagnostics, text, set).ok_or_else(|| diagnostics.to_string())?;
    let report = collective(&corners, what, &[size(bytes)?])?;
    let row = report.rows.first().ok_or_else(wrong)?;
    let bound_by = Some(format!("{}, {}: {}", row.algorithm.word(), row.protocol.word(), row.bound_by));
    Ok(match of {
        "busbw" => Metric {
            value: row.busbw * 8.0,
            range: row.range.map(|(a, b)| (a * 8.0, b * 8.0)),
            bound: Some(row.bound * 8.0),
            bound_by,
            dimension: Dimension::Rate,
        },
        "time" => Metric { value: row.time, range: None, bound: None, bound_by, dimension: Dimension::Time },
        _ => return Err(wrong()),
    })
}
