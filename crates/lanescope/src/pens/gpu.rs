//! Collectives as nccl-tests print them, with the reason behind each line; beside a measured table; and as sections of
//! a page.

use super::chart::{Chart, Series};
use super::page::{self, Section};
use super::svg::escape;
use super::{Grid, cell, instrument};
use crate::import::nccl_tests::Row;
use crate::import::{self, Block, Suite, Table};
use crate::mpi::benchmark::Version;
use crate::plan::gpu::collective::Collective;
use crate::result::gpu::{CollectiveReport, CollectiveRow, SimulatedCollective};
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
            count(r, row.bytes).to_string(),
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

/// The heading of the answer.
pub fn title(r: &CollectiveReport) -> String {
    format!("{} over {} GPUs", r.collective.name(), r.ranks)
}

/// A row for each size as numbers, for frames: bytes, seconds, bytes per second.
pub fn rows_grid(r: &CollectiveReport) -> Grid {
    let head = [
        "bytes",
        "algorithm",
        "protocol",
        "time_s",
        "algbw_bytes_per_s",
        "busbw_bytes_per_s",
        "busbw_slower_bytes_per_s",
        "busbw_faster_bytes_per_s",
        "bound_bytes_per_s",
        "bound_by",
        "takes",
        "launch_s",
        "hops_s",
        "filling_s",
        "busy_s",
        "simulated_time_s",
        "simulated_busbw_bytes_per_s",
    ];
    let row = |row: &CollectiveRow| {
        let (slower, faster) = row.range.unwrap_or((row.busbw, row.busbw));
        let simulated = |pick: fn(&SimulatedCollective) -> f64| row.simulated.as_ref().map(pick);
        let (p, number) = (&row.parts, |value: f64| cell(Some(value)));
        vec![
            row.bytes.to_string(),
            row.algorithm.word().into(),
            row.protocol.word().into(),
            number(row.time),
            number(row.algbw),
            number(row.busbw),
            number(slower),
            number(faster),
            number(row.bound),
            row.bound_by.clone(),
            row.takes.clone(),
            number(p.launch),
            number(p.hops),
            number(p.filling),
            number(p.busy),
            cell(simulated(|s| s.time)),
            cell(simulated(|s| s.busbw)),
        ]
    };
    Grid { head: head.map(String::from).to_vec(), rows: r.rows.iter().map(row).collect() }
}

fn range(row: &CollectiveRow) -> String {
    match row.range {
        Some((a, b)) => format!("{} ({} … {})", gb(row.busbw), gb(a), gb(b)),
        None => gb(row.busbw),
    }
}

/// Elements that a rank hands over, as nccl-tests count them: of floats.
fn count(r: &CollectiveReport, bytes: u64) -> u64 {
    match r.collective {
        Collective::AllGather | Collective::ReduceScatter | Collective::Alltoall => bytes / 4 / u64::from(r.ranks),
        Collective::AllReduce | Collective::Broadcast | Collective::Sendrecv => bytes / 4,
    }
}

/// Time and bus bandwidth of a row: simulated where it was, else estimated.
fn best(row: &CollectiveRow) -> (f64, f64) {
    row.simulated.as_ref().map_or((row.time, row.busbw), |s| (s.time, s.busbw))
}

/// The table of nccl-tests, line by line, for whoever has scripts for those. In place takes as long as out of place.
pub fn nccl_tests(r: &CollectiveReport) -> String {
    let mut out = format!("# lanescope, in the layout of nccl-tests: {}_perf\n", r.collective.name());
    let _ = writeln!(out, "#\n#{:>74}{:>32}", "out-of-place", "in-place");
    let twice = |one: &str| format!("{one}{one}\n");
    let columns = "       size         count      type   redop    root";
    let _ = write!(out, "#{columns}{}", twice("     time   algbw   busbw #wrong"));
    let units = "        (B)    (elements)                          ";
    let _ = write!(out, "#{units}{}", twice("     (us)  (GB/s)  (GB/s)       "));
    let redop = if r.collective.reduces() { "sum" } else { "none" };
    let root = if r.collective == Collective::Broadcast { 0 } else { -1 };
    for row in &r.rows {
        let (time, busbw) = best(row);
        let one = format!("{:>9}{:>8}{:>8}{:>7}", us(time), gb(row.bytes as f64 / time), gb(busbw), 0);
        let (bytes, count) = (row.bytes, count(r, row.bytes));
        let _ = writeln!(out, "{bytes:>12}{count:>14}{:>10}{redop:>8}{root:>8}{one}{one}", "float");
    }
    out
}

/// What IMB and OSU call the size of a collective, in bytes of nccl-tests: they say what each rank hands to each.
pub fn blocks(what: Collective, ranks: u32) -> u64 {
    match what {
        Collective::AllGather | Collective::Alltoall => u64::from(ranks),
        _ => 1,
    }
}

/// The table that IMB or OSU would print; none where they have no such benchmark.
pub fn instrument(r: &CollectiveReport, suite: Suite, version: Version) -> Option<Table> {
    let name = match (suite, r.collective) {
        (Suite::Osu, Collective::AllReduce) => "osu_allreduce",
        (Suite::Osu, Collective::AllGather) => "osu_allgather",
        (Suite::Osu, Collective::ReduceScatter) => "osu_reduce_scatter",
        (Suite::Osu, Collective::Broadcast) => "osu_bcast",
        (Suite::Osu, Collective::Alltoall) => "osu_alltoall",
        (Suite::Osu, Collective::Sendrecv) => return None,
        (Suite::Imb, Collective::AllReduce) => "Allreduce",
        (Suite::Imb, Collective::AllGather) => "Allgather",
        (Suite::Imb, Collective::ReduceScatter) => "Reduce_scatter",
        (Suite::Imb, Collective::Broadcast) => "Bcast",
        (Suite::Imb, Collective::Alltoall) => "Alltoall",
        (Suite::Imb, Collective::Sendrecv) => "Sendrecv",
    };
    let row = |row: &CollectiveRow| {
        let (time, _) = best(row);
        // Every rank has sent and received.
        let rate = (r.collective == Collective::Sendrecv).then_some(2.0 * row.bytes as f64 / time);
        let bytes = Some(row.bytes / blocks(r.collective, r.ranks));
        let all = Some(time);
        import::Row { bytes, repetitions: Some(1), t_min: all, t_max: all, t_avg: all, rate, messages: None }
    };
    let rows = r.rows.iter().map(row).collect();
    let block = Block { name: name.into(), ranks: Some(r.ranks), waiting: 0, rows };
    Some(instrument::of_version(suite, version, vec![block]))
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
        let _ = writeln!(tail, "# {name} is not available: {why}");
    }
    for text in r.rows.iter().filter_map(CollectiveRow::apart) {
        let _ = writeln!(tail, "# note: {text}");
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

/// Bus bandwidth against the size: expected, bound, and simulated where it was; with the answer before a change beside
/// it.
pub fn chart(r: &CollectiveReport, before: Option<&CollectiveReport>) -> String {
    let of = |r: &CollectiveReport, f: &dyn Fn(&CollectiveRow) -> Option<f64>| {
        r.rows.iter().filter_map(|row| Some((row.bytes as f64, f(row)? / 1e9))).collect::<Vec<_>>()
    };
    let points = |f: &dyn Fn(&CollectiveRow) -> Option<f64>| of(r, f);
    let mut series = vec![
        Series { name: "expected".into(), points: points(&|row| Some(row.busbw)) },
        Series { name: "bound".into(), points: points(&|row| Some(row.bound)) },
    ];
    let simulated = points(&|row| row.simulated.as_ref().map(|s| s.busbw));
    if !simulated.is_empty() {
        series.push(Series { name: "simulated".into(), points: simulated });
    }
    if let Some(b) = before {
        series.push(Series { name: "before".into(), points: of(b, &|row| Some(row.busbw)) });
    }
    let title = format!("{}, busbw", r.collective.name());
    Chart { title: &title, x: "size", y: "GB/s", log_x: true, x_unit_bytes: true, series: &series }.svg()
}

/// Sections of a page: the curve, the table, what is left out; with the answer before a change beside it.
pub fn sections(r: &CollectiveReport, before: Option<&CollectiveReport>) -> Vec<Section> {
    let mut grid = grid(r);
    for name in &mut grid.head {
        match name.as_str() {
            "time" | "simulated" => *name += ", us",
            "algbw" | "busbw" | "bound" => *name += ", GB/s",
            _ => {}
        }
    }
    for (line, row) in grid.rows.iter_mut().zip(&r.rows) {
        line[0] = Bytes(row.bytes).to_string();
    }
    if let Some(b) = before {
        let place = grid.head.iter().position(|h| h == "busbw").map_or(0, |p| p + 1);
        grid.head.insert(place, "busbw before".into());
        for (line, row) in grid.rows.iter_mut().zip(&r.rows) {
            let old = b.rows.iter().find(|old| old.bytes == row.bytes);
            line.insert(place, old.map_or("-".into(), range));
        }
    }
    let list = |all: &mut dyn Iterator<Item = String>| {
        let items: String = all.map(|t| format!("<li>{}</li>\n", escape(&t))).collect();
        if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
    };
    let refused = list(&mut r.refused.iter().map(|(name, why)| format!("{name} is not available: {why}")));
    let apart = list(&mut r.rows.iter().filter_map(CollectiveRow::apart));
    let missing = list(&mut r.not_modelled.iter().cloned());
    let section = |id: &str, title: &str, html: String| Section { id: id.into(), title: title.into(), html };
    let chosen = format!("<p>{}. Chosen: {}.</p>\n", escape(&about(r)), escape(&r.rule));
    let mut all = vec![
        section("curve", "Bus bandwidth", format!("{chosen}<figure class=\"picture\">{}</figure>\n", chart(r, before))),
        page::grid("rows", "Sizes", &grid),
        section("refused", "Algorithms that are not available here", refused),
        section("apart", "Notes", apart),
        section("not-modelled", "Not modelled", missing),
    ];
    all.retain(|s| !s.html.is_empty());
    all
}
