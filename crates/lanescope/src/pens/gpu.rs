//! Collectives as nccl-tests print them, with the reason behind each line; beside a measured table; and as sections of
//! a page.

use super::Grid;
use super::chart::{Chart, Series};
use super::page::{self, Section};
use super::svg::escape;
use crate::import::nccl_tests::Row;
use crate::result::gpu::{CollectiveReport, CollectiveRow};
use crate::units::Bytes;
use std::fmt::Write;

fn gb(rate: f64) -> String {
    format!("{:.2}", rate / 1e9)
}

fn us(seconds: f64) -> String {
    let us = seconds * 1e6;
    if us < 100.0 { format!("{us:.2}") } else { format!("{us:.1}") }
}

/// What the lines are of.
fn about(r: &CollectiveReport) -> String {
    let gpus = r.ranks / r.nodes.max(1);
    let of = if r.title.is_empty() { String::new() } else { format!("{}: ", r.title) };
    format!("{of}{} over {} GPUs, {} nodes of {gpus}", r.collective.name(), r.ranks, r.nodes)
}

/// The grid: size, count, then time and rates; of the simulation too where there is one.
pub fn grid(r: &CollectiveReport) -> Grid {
    let simulated = r.rows.iter().any(|row| row.simulated.is_some());
    let first = ["size", "count", "type", "algorithm", "protocol", "time", "algbw", "busbw", "bound"];
    let mut head = first.map(String::from).to_vec();
    if simulated {
        head.extend(["simulated", "busbw"].map(String::from));
    }
    head.extend(["bound by", "most of the time"].map(String::from));
    let row = |row: &CollectiveRow| {
        let mut line = vec![
            row.bytes.to_string(),
            (row.bytes / 4).to_string(),
            "float".into(),
            row.algorithm.word().into(),
            row.protocol.word().into(),
            us(row.time),
            gb(row.algbw),
            range(row),
            gb(row.bound),
        ];
        if simulated {
            match &row.simulated {
                Some(s) => line.extend([us(s.time), gb(s.busbw)]),
                None => line.extend(["-".to_owned(), "-".to_owned()]),
            }
        }
        line.extend([row.bound_by.clone(), row.takes.clone()]);
        line
    };
    Grid { head, rows: r.rows.iter().map(row).collect() }
}

fn range(row: &CollectiveRow) -> String {
    match row.range {
        Some((a, b)) => format!("{} ({} … {})", gb(row.busbw), gb(a), gb(b)),
        None => gb(row.busbw),
    }
}

/// What stands above and below the table.
pub fn around(r: &CollectiveReport) -> (String, String) {
    let head = format!(
        "# {}\n# chosen: {}\n# size in B, count of floats, time in us, algbw, busbw and bound in GB/s (10^9 bytes a \
         second; of a bus, one way)\n",
        about(r),
        r.rule
    );
    let mut tail = String::new();
    for (name, why) in &r.refused {
        let _ = writeln!(tail, "# not by {name}: {why}");
    }
    for what in &r.not_modelled {
        let _ = writeln!(tail, "# not modelled: {what}");
    }
    (head, tail)
}

/// A measured table beside the answer.
pub fn beside(r: &CollectiveReport, measured: &[Row]) -> Grid {
    let head = ["size", "measured us", "expected us", "measured busbw", "expected busbw", "off", "bound", "bound by"];
    let row = |m: &Row| {
        let found = r.rows.iter().find(|row| row.bytes == m.bytes)?;
        let off = 100.0 * (m.busbw / found.busbw - 1.0);
        let above = if m.busbw > found.bound * 1.0001 { " above" } else { "" };
        Some(vec![
            m.bytes.to_string(),
            us(m.time),
            us(found.time),
            gb(m.busbw),
            gb(found.busbw),
            format!("{off:+.1} %"),
            format!("{}{above}", gb(found.bound)),
            found.bound_by.clone(),
        ])
    };
    Grid { head: head.map(String::from).to_vec(), rows: measured.iter().filter_map(row).collect() }
}

/// Sections of a page: the curve, the table, what is left out.
pub fn sections(r: &CollectiveReport) -> Vec<Section> {
    let points = |f: &dyn Fn(&CollectiveRow) -> Option<f64>| {
        r.rows.iter().filter_map(|row| Some((row.bytes as f64, f(row)? / 1e9))).collect::<Vec<_>>()
    };
    let mut series = vec![
        Series { name: "expected".into(), points: points(&|row| Some(row.busbw)) },
        Series { name: "bound".into(), points: points(&|row| Some(row.bound)) },
    ];
    let simulated = points(&|row| row.simulated.as_ref().map(|s| s.busbw));
    if !simulated.is_empty() {
        series.push(Series { name: "simulated".into(), points: simulated });
    }
    let title = format!("{}, busbw", r.collective.name());
    let chart = Chart { title: &title, x: "size", y: "GB/s", log_x: true, x_unit_bytes: true, series: &series }.svg();
    let mut grid = grid(r);
    for (line, row) in grid.rows.iter_mut().zip(&r.rows) {
        line[0] = Bytes(row.bytes).to_string();
    }
    let list = |all: &mut dyn Iterator<Item = String>| {
        let items: String = all.map(|t| format!("<li>{}</li>\n", escape(&t))).collect();
        format!("<ul>\n{items}</ul>\n")
    };
    let (refused, missing) = (
        list(&mut r.refused.iter().map(|(name, why)| format!("not by {name}: {why}"))),
        list(&mut r.not_modelled.iter().cloned()),
    );
    let section = |id: &str, title: &str, html: String| Section { id: id.into(), title: title.into(), html };
    let chosen = format!("<p>{}. Chosen: {}.</p>\n", escape(&about(r)), escape(&r.rule));
    vec![
        section("curve", "Bus bandwidth", format!("{chosen}<figure>{chart}</figure>\n")),
        page::grid("rows", "Sizes", &grid),
        section("refused", "Algorithms that cannot be had here", refused),
        section("not-modelled", "Not modelled", missing),
    ]
}
