//! `diff`: what moved between two reports.

use crate::{ANSWERED, WRONG, input, output};
use clap::Args;
use lanescope::pens::Grid;
use lanescope::pens::diff::{diff, grid};
use lanescope::result::{Report, SCHEMA};
use serde_json::json;
use std::path::Path;

/// Two reports written with --json.
#[derive(Args)]
pub(crate) struct Diff {
    /// The report before
    before: String,
    /// The report after
    after: String,
    /// Relative change below which a number has not moved
    #[arg(long, default_value_t = 1e-6, value_parser = share)]
    tolerance: f64,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

/// A report of ten thousand links and flows is about 20 MB.
const MOST: usize = 64 << 20;

/// A finite share.
fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0).ok_or_else(|| "a number from 0, e.g. 0.01".into())
}

fn load(file: &str) -> Result<Report, String> {
    let text = input::limited_path(Path::new(file), MOST, "a report")?;
    let report: Report =
        serde_json::from_str(&text).map_err(|e| format!("{file} is not a report of lanescope run --json: {e}"))?;
    if report.schema != SCHEMA {
        return Err(format!("{file} has report schema {}, this program writes {SCHEMA}", report.schema));
    }
    Ok(report)
}

pub(crate) fn main(a: &Diff) -> u8 {
    let (before, after) = match load(&a.before).and_then(|x| load(&a.after).map(|y| (x, y))) {
        Ok(pair) => pair,
        Err(e) => {
            output::error(&e);
            return WRONG;
        }
    };
    let (changes, moved) = diff(&before, &after, a.tolerance.abs());
    if a.json {
        let numbers: Vec<_> = changes
            .iter()
            .map(|c| json!({ "path": c.path, "before": c.before, "after": c.after, "dimension": c.dimension }))
            .collect();
        let words: Vec<_> =
            moved.iter().map(|m| json!({ "path": m.path, "before": m.before, "after": m.after })).collect();
        output::json(&json!({ "numbers": numbers, "words": words }));
    } else if a.csv {
        let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        let mut rows: Vec<_> =
            changes.iter().map(|c| vec![c.path.clone(), number(c.before), number(c.after)]).collect();
        rows.extend(moved.iter().map(|m| vec![m.path.clone(), m.before.clone(), m.after.clone()]));
        output::csv(&Grid { head: ["what", "before", "after"].map(String::from).to_vec(), rows });
    } else if changes.is_empty() && moved.is_empty() {
        output::print("nothing moved\n");
    } else {
        output::table(&grid(&changes, &moved));
    }
    ANSWERED
}
