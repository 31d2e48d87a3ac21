//! The curves of a sweep: a column against a varied path.

use super::{COLUMNS, Cell, Question, Row};
use crate::vary::position;
use lanescope::pens::chart::{Chart, Series};
use lanescope::units::Bytes;

/// What a column's numbers are divided by for a person, and the unit then.
fn scaled(column: &str) -> (f64, &'static str) {
    if column.ends_with("_bps") {
        (1e9, "Gb/s of payload")
    } else if column.ends_with("_s") && column != "ios_per_s" {
        (1e-6, "us")
    } else {
        (1.0, "")
    }
}

/// The points of every curve: `y` (a column that holds numbers, or a metric) against the path `x`, whose values must be
/// numbers or quantities. Flows, the other paths and seeds give the lines. Points without a value are left out.
///
/// # Errors
///
/// A path that does not vary, values that are no numbers, or a column that is not there.
pub fn series(question: &Question, rows: &[Row], x: &str, y: &str) -> Result<(String, Vec<Series>), String> {
    let at = question
        .paths
        .iter()
        .position(|p| p == x)
        .ok_or_else(|| format!("{x} does not vary in this sweep; what varies is {}", question.paths.join(", ")))?;
    let names = || COLUMNS.iter().map(|c| c.name).chain(question.metrics.iter().map(String::as_str));
    let column =
        names().position(|n| n == y).ok_or_else(|| format!("there is no column {y}; see the sweep's columns"))?;
    let (step, _) = scaled(y);
    let (mut words, mut all) = (x.to_owned(), Vec::<Series>::new());
    for row in rows {
        let (values, seed) = question.point(row.point);
        let Some((place, unit)) = position(values[at]) else {
            return Err(format!("the values of {x} are not numbers, so there is no curve"));
        };
        words = format!("{x}{unit}");
        let value = match &row.cells[column] {
            Cell::Float(v) => *v,
            Cell::Int(n) => *n as f64,
            Cell::Null => continue,
            Cell::Text(_) => return Err(format!("column {y} holds text, so there is no curve")),
        };
        let flow = if let Some(Cell::Text(flow)) = row.cell("flow") { flow.as_str() } else { "" };
        let others = question.paths.iter().zip(&values).enumerate().filter(|(i, _)| *i != at);
        let name: Vec<String> = std::iter::once(flow.to_owned())
            .chain(others.map(|(_, (path, value))| format!("{path}={value}")))
            .chain(seed.map(|s| format!("seed {s}")))
            .collect();
        let (name, point) = (name.join(" "), (place, value / step));
        match all.iter_mut().find(|s| s.name == name) {
            Some(s) => s.points.push(point),
            None => all.push(Series { name, points: vec![point] }),
        }
    }
    all.iter_mut().for_each(|s| s.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    Ok((words, all))
}

/// The same drawn as SVG, as the command draws the curves of `--vary`.
///
/// # Errors
///
/// Those of [`series`].
pub fn chart(question: &Question, rows: &[Row], x: &str, y: &str) -> Result<String, String> {
    let (words, series) = series(question, rows, x, y)?;
    let xs = || series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    let (low, high) = xs().fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
    let at = question.paths.iter().position(|p| p == x).unwrap_or_default();
    let bytes = rows.iter().all(|r| Bytes::parse(question.point(r.point).0[at].trim_matches('"')).is_ok());
    let chart = Chart {
        title: &format!("{y} against {x}"),
        x: &words,
        y: scaled(y).1,
        log_x: low > 0.0 && high / low >= 8.0,
        x_unit_bytes: bytes,
        series: &series,
    };
    Ok(chart.svg())
}
