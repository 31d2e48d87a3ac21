//! A real result of an instrument of storage beside what was worked out and simulated for the same load, row by row,
//! with what binds each.

use super::{Off, Paint, Quantity, deviation, percent, rounded, value};
use crate::units::digits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// One number of a real result, and what the same load came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The job, the access specification with its depth, the column.
    pub name: String,
    /// What of it: `read IOPS`.
    pub what: String,
    /// What the values are of.
    pub quantity: Quantity,
    /// What the real instrument printed: s, bytes/s or 1/s.
    pub real: f64,
    /// What was worked out.
    pub estimate: Option<f64>,
    /// What was simulated.
    pub simulated: Option<f64>,
    /// Estimate / real - 1; null without an estimate, or where the instrument printed 0.
    pub estimate_off: Option<f64>,
    /// Simulated / real - 1, likewise.
    pub simulated_off: Option<f64>,
    /// What binds the load here: in the simulation where there was one.
    pub bound_by: String,
}

impl Row {
    /// A row; deviations are worked out.
    pub fn new(
        (name, what, quantity): (impl Into<String>, impl Into<String>, Quantity),
        real: f64,
        estimate: Option<f64>,
        simulated: Option<f64>,
        bound_by: impl Into<String>,
    ) -> Row {
        let (estimate_off, simulated_off) = (deviation(estimate, real), deviation(simulated, real));
        let (name, what, bound_by) = (name.into(), what.into(), bound_by.into());
        Row { name, what, quantity, real, estimate, simulated, estimate_off, simulated_off, bound_by }
    }
}

/// A real result beside the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Whose result it is: `fio-3.33`.
    pub instrument: String,
    /// Its rows that have an answer.
    pub rows: Vec<Row>,
    /// How far off the answers are for each kind of value, and with which method.
    pub parts: Vec<Part>,
    /// What has no answer, and why.
    pub left_out: Vec<String>,
}

/// How far off a kind of value is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// What of the rows: `read IOPS`.
    pub what: String,
    /// Of the estimate.
    pub estimate: Option<Off>,
    /// Of the simulation.
    pub simulated: Option<Off>,
}

impl Beside {
    /// Rows put together.
    pub fn new(instrument: impl Into<String>, rows: Vec<Row>, left_out: Vec<String>) -> Beside {
        let mut parts: Vec<Part> = Vec::new();
        for row in &rows {
            if parts.iter().any(|p| p.what == row.what) {
                continue;
            }
            let off = |of: fn(&Row) -> Option<f64>| {
                Off::of(rows.iter().filter(|r| r.what == row.what).filter_map(|r| Some((of(r)?, None))))
            };
            let (estimate, simulated) = (off(|r| r.estimate_off), off(|r| r.simulated_off));
            parts.push(Part { what: row.what.clone(), estimate, simulated });
        }
        Beside { instrument: instrument.into(), rows, parts, left_out }
    }
}

/// The comparison for a person: a block for each name.
pub fn text(beside: &Beside, paint: Paint) -> String {
    let mut out = String::new();
    let rows = &beside.rows;
    let columns = [rows.iter().any(|r| r.estimate.is_some()), rows.iter().any(|r| r.simulated.is_some())];
    let widest = rows.iter().map(|r| r.name.chars().count().max(r.what.chars().count() + 2)).max();
    let width = widest.unwrap_or(0).clamp(22, 60);
    let mut before: Option<&str> = None;
    for (i, row) in rows.iter().enumerate() {
        if before != Some(row.name.as_str()) {
            let _ = write!(out, "{}{:<width$}{}{:>14}", paint.strong, row.name, paint.off, "real");
            for (_, head) in columns.into_iter().zip(["estimate", "simulated"]).filter(|c| c.0) {
                let _ = write!(out, "{head:>14}{:>10}", "off");
            }
            out.push('\n');
        }
        before = Some(&row.name);
        let _ = write!(out, "  {:<w$}{:>14}", row.what, value(row.real, row.quantity), w = width - 2);
        let answers = [(row.estimate, row.estimate_off), (row.simulated, row.simulated_off)];
        for (_, (answer, off)) in columns.into_iter().zip(answers).filter(|c| c.0) {
            let answer = answer.map_or("-".into(), |a| value(a, row.quantity));
            let _ = write!(out, "{answer:>14}{:>10}", off.map_or("-".into(), percent));
        }
        out.push('\n');
        // Rows of one load are bound by one thing; where not, each says its own.
        if rows.get(i + 1).is_none_or(|next| next.name != row.name || next.bound_by != row.bound_by) {
            let _ = writeln!(out, "  {}bound by   {}{}", paint.faint, row.bound_by, paint.off);
        }
    }
    if !rows.is_empty() {
        out.push('\n');
    }
    // Of percentiles there are many, and each row says its own.
    for part in beside.parts.iter().filter(|p| !p.what.ends_with(" %")) {
        for (off, method) in [(part.estimate, "estimate"), (part.simulated, "simulated")] {
            // Of one row, the row says it.
            let Some(off) = off.filter(|o| o.rows > 1) else { continue };
            let mean = digits(rounded(off.mean * 100.0));
            let _ = writeln!(
                out,
                "{}{}, {method}: {mean} % off on average over {} rows, at worst {}{}",
                paint.faint,
                part.what,
                off.rows,
                percent(off.worst),
                paint.off
            );
        }
    }
    for left in &beside.left_out {
        let _ = writeln!(out, "without an answer: {left}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_each_other() {
        let rows = vec![
            Row::new(("seq", "read IOPS", Quantity::PerSecond), 100.0, Some(110.0), Some(95.0), "parts.lun: its rate"),
            Row::new(("seq", "read rate", Quantity::Rate), 4e6, Some(4.4e6), None, "parts.lun: its rate"),
            Row::new(("rand", "read IOPS", Quantity::PerSecond), 10.0, Some(8.0), None, "links.fc: slots"),
            Row::new(("rand", "read time", Quantity::Time), 0.0, Some(1.0), None, "links.fc: slots"),
        ];
        let beside = Beside::new("fio-3.33", rows, vec!["job x: it trims".into()]);
        assert_eq!(beside.parts.len(), 3);
        let off = beside.parts[0].estimate.expect("rows");
        assert!((off.mean - 0.15).abs() < 1e-12 && off.rows == 2, "{off:?}");
        assert_eq!(
            text(&beside, Paint::default()),
            "seq                             real      estimate       off     simulated       off\n\
             \u{20} read IOPS                 100 IOPS      110 IOPS   +10.0 %       95 IOPS    -5.0 %\n\
             \u{20} read rate                   4 MB/s      4.4 MB/s   +10.0 %             -         -\n\
             \u{20} bound by   parts.lun: its rate\n\
             rand                            real      estimate       off     simulated       off\n\
             \u{20} read IOPS                  10 IOPS        8 IOPS   -20.0 %             -         -\n\
             \u{20} read time                     0 ns           1 s         -             -         -\n\
             \u{20} bound by   links.fc: slots\n\n\
             read IOPS, estimate: 15 % off on average over 2 rows, at worst -20.0 %\n\
             without an answer: job x: it trims\n"
        );
        let json = serde_json::to_value(&beside).expect("JSON");
        assert_eq!(serde_json::from_value::<Beside>(json).ok(), Some(beside));
    }
}
