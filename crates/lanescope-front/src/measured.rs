//! A table of measured rows, read for a fit: CSV with a column for each path that was set and each metric that was
//! measured.
//!
//! A head that ends in a metric (`flows.rx.share`) is measured; every other is a path of the scenario
//! (`flows.rx.size`). A number has the unit of its head, in brackets (`flows.rx.share (Gb/s)`), or its own
//! (`13.9 Gb/s`); without either it is in SI steps.

use crate::draw;
use crate::files::Files;
use lanescope::diagnostic::Diagnostics;
use lanescope::result::{FLOW_METRICS, LINK_METRICS, PROGRAM_METRICS, SIMULATED_FLOW_METRICS};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use lanescope::study::measured::{Fitting, Observed, Unknown};
use lanescope::units::{Bytes, Rate, Time, in_unit};

/// Bytes of a table at most.
pub const MOST: usize = 1 << 24;

/// A head: what it is called, and its unit.
fn head(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    match text.strip_suffix([')', ']']).and_then(|t| t.rsplit_once(['(', '['])) {
        Some((name, unit)) => (name.trim(), Some(unit.trim())),
        None => (text, None),
    }
}

fn is_metric(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let known = |list: &[lanescope::result::MetricKind]| list.iter().any(|m| m.name == last);
    match name.split('.').next() {
        Some("flows") => known(FLOW_METRICS) || known(SIMULATED_FLOW_METRICS) || known(PROGRAM_METRICS),
        Some("links") => known(LINK_METRICS),
        Some("switches") => true,
        _ => false,
    }
}

/// A number in SI steps.
fn number(text: &str, unit: Option<&str>) -> Option<f64> {
    match (text.parse::<f64>().ok(), unit) {
        (Some(n), None) => Some(n),
        // How many steps one of the unit is.
        (Some(n), Some(unit)) => in_unit(1.0, unit).filter(|u| *u > 0.0).map(|u| n / u),
        (None, _) => {
            let rate = Rate::parse(text).ok().map(|r| r.bits());
            rate.or_else(|| Time::parse(text).ok().map(|t| t.seconds()))
                .or_else(|| Bytes::parse(text).ok().map(Bytes::f64))
        }
    }
}

/// Where a record's own text begins that the reader says to begin at `at`: behind line breaks, of which CRLF may have
/// left one character, and behind notes.
fn first(text: &str, mut at: usize) -> usize {
    while let Some(rest) = text.get(at..) {
        let next = match rest.bytes().next() {
            Some(b'\r' | b'\n') => 1,
            Some(b'#') => rest.find('\n').unwrap_or(rest.len()),
            _ => break,
        };
        at += next;
    }
    at
}

/// Reads a table. Cells may be empty: what was not measured, or not set in that row.
///
/// # Errors
///
/// A line that does not fit its head, a cell that is no number, a unit that is none, or a table without a metric.
pub fn read(name: &str, text: &str) -> Result<Vec<Observed>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let heads: Vec<(String, Option<String>)> = match reader.headers() {
        Ok(h) => h.iter().map(head).map(|(n, u)| (n.to_owned(), u.map(str::to_owned))).collect(),
        Err(e) => return Err(format!("{name}: {e}")),
    };
    for (head, unit) in &heads {
        if let Some(unit) = unit
            && in_unit(1.0, unit).is_none()
        {
            return Err(format!("{name}: {head}: {unit} is not a valid unit; e.g. Gb/s, MB/s, us, KiB, %"));
        }
    }
    if !heads.iter().any(|(h, _)| is_metric(h)) {
        return Err(format!(
            "{name}: no column is of a metric, so there is nothing to fit to; a head like \"flows.rx.share (Gb/s)\" is"
        ));
    }
    let mut all = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| format!("{name}: {e}"))?;
        let start = record.position().map_or(0, |p| p.byte() as usize);
        let line = text.get(..first(text, start)).unwrap_or(text).matches('\n').count() + 1;
        let cells = || heads.iter().zip(record.iter()).filter(|(_, c)| !c.is_empty());
        let set: Vec<String> = cells()
            .filter(|((h, _), _)| !is_metric(h))
            .map(|((h, unit), cell)| match unit {
                Some(unit) => format!("{h}={cell} {unit}"),
                None => format!("{h}={cell}"),
            })
            .collect();
        for ((metric, unit), cell) in cells().filter(|((h, _), _)| is_metric(h)) {
            let value = number(cell, unit.as_deref()).ok_or_else(|| {
                format!(
                    "{name}:{line}: {metric}: {cell:?} is not a number: 13.9 under \"{metric} (Gb/s)\", or 13.9 Gb/s"
                )
            })?;
            all.push(Observed {
                name: format!("{name}:{line}: {metric}"),
                set: set.clone(),
                metric: metric.clone(),
                value,
            });
        }
    }
    Ok(all)
}

/// Fits a scenario's unknown values to measured numbers, by its estimate or its simulation. `goes_on` is asked between
/// answers; false ends the fit without a result.
///
/// # Errors
///
/// Those of [`lanescope::study::measured::fit`], and a scenario that cannot be answered, drawn in its text.
pub fn fit(
    name: &str,
    text: &str,
    sets: &[String],
    unknowns: &[Unknown],
    observed: &[Observed],
    simulate: bool,
    goes_on: &dyn Fn() -> bool,
) -> Result<Fitting, String> {
    let answers = |own: &[String]| {
        let mut diagnostics = Diagnostics::default();
        let included = Included { name: name.to_owned(), text: text.to_owned(), author: Author::User };
        let sets = [sets, own].concat();
        let wrong = |d: &Diagnostics| draw::plain(d);
        let plan = lanescope::plan(&mut diagnostics, included, &sets, &Files).ok_or_else(|| wrong(&diagnostics))?;
        let report = lanescope::estimate::estimate(&plan, &diagnostics);
        if !goes_on() {
            return Err("stopped before the fit had come to an end".to_owned());
        }
        if !simulate {
            return Ok(report);
        }
        let run = Run::new(&plan, u64::from(plan.limits.seed), &mut diagnostics);
        let mut run = run.ok_or_else(|| wrong(&diagnostics))?;
        while run.advance(1 << 16) != Step::Done {
            if !goes_on() {
                return Err("stopped before the fit had come to an end".to_owned());
            }
        }
        Ok(report.with(run.snapshot()))
    };
    lanescope::study::measured::fit(&answers, unknowns, observed, simulate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_settings_and_metrics() {
        let text = "flows.rx.size,flows.rx.share (Gb/s),flows.rx.latency\n64 B,1.5,\n# note\n1 KiB,2 Gb/s,3 us\n";
        let rows = read("t.csv", text).expect("a table");
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].set, ["flows.rx.size=64 B"]);
        assert_eq!((rows[0].value, rows[1].value), (1.5e9, 2e9));
        assert!((rows[2].value - 3e-6).abs() < 1e-18);
        assert_eq!(rows[2].metric, "flows.rx.latency");
    }

    #[test]
    fn lines_are_those_of_the_file() {
        for end in ["\n", "\r\n"] {
            let text = ["flows.rx.share", "1", "# note", "2", ""].join(end);
            let names: Vec<String> = read("t", &text).expect("a table").into_iter().map(|o| o.name).collect();
            assert_eq!(names, ["t:2: flows.rx.share", "t:4: flows.rx.share"]);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("flows.rx.size\n64 B\n", "no column is of a metric"),
            ("flows.rx.share (furlongs)\n1\n", "is not a valid unit"),
            ("flows.rx.share\nfast\n", "is not a number"),
            ("flows.rx.share,a\n1\n", "t.csv"),
        ] {
            let said = read("t.csv", text).expect_err(text);
            assert!(said.contains(word), "{said}");
        }
    }
}
