//! From a report to text, CSV and pictures. JSON is the report itself; [`diff`] compares two; [`pcapng`] writes frames
//! for Wireshark, [`timeline`] a time line for Perfetto.

pub mod chart;
pub mod compare;
pub mod diff;
mod ethernet;
pub mod explain;
pub mod gpu;
mod infiniband;
pub mod page;
pub mod planned;
pub mod series;
mod storage;
pub mod svg;
pub mod text;
pub mod timeline;

pub use ethernet::pcapng;
pub use infiniband::instrument;
pub use storage::{fio, iometer, ios, iozone};

use crate::result::{LinkReport, ProgramRow, Report, STAGES, Simulation};
use std::collections::HashSet;
use svg::Method;

/// Terminal colours, or none: escape sequences to put before a kind of words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paint {
    /// Names and results.
    pub strong: &'static str,
    /// What binds.
    pub accent: &'static str,
    /// Side remarks.
    pub faint: &'static str,
    /// Trouble.
    pub alarm: &'static str,
    /// Back to normal.
    pub off: &'static str,
}

impl Paint {
    /// For a terminal.
    pub const TERMINAL: Paint =
        Paint { strong: "\x1b[1m", accent: "\x1b[36m", faint: "\x1b[2m", alarm: "\x1b[31m", off: "\x1b[0m" };
}

/// A table: column heads and rows, for CSV and for tables on a terminal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Column heads, with their unit.
    pub head: Vec<String>,
    /// Rows of the same length.
    pub rows: Vec<Vec<String>>,
}

fn cell(value: Option<f64>) -> String {
    // Twelve digits are far below any model's truth, and keep 0.1 + 0.2 out of spreadsheets.
    value.map_or(String::new(), |v| format!("{v:.11e}").parse::<f64>().unwrap_or(v).to_string())
}

/// Things that worked on a flow's I/Os which are named: the busiest.
const BUSIEST: usize = 3;

/// Columns that flows of frames add.
const FRAME_HEADS: [&str; 7] = [
    "simulated_frames_bps",
    "simulated_frames_sent",
    "simulated_frames_delivered",
    "simulated_frames_dropped",
    "simulated_transit_s",
    "simulated_transit_p99_s",
    "simulated_transit_max_s",
];

fn has_frames(s: &Simulation) -> bool {
    s.flows.iter().any(|f| f.frames.is_some())
}

/// The flows of a report, one a row, in bits per second and seconds.
pub fn flows_grid(report: &Report) -> Grid {
    let head = [
        "flow",
        "instances",
        "both_ways",
        "wanted_bps",
        "bound_bps",
        "share_bps",
        "share_slower_bps",
        "share_faster_bps",
        "framing_limit_bps",
        "latency_first_s",
        "latency_s",
        "bound_by",
        "resource",
        "measured_each_bps",
        "unexplained_bps",
        "verdict",
        "simulated_bps",
        "simulated_half_bps",
        "simulated_latency_s",
        "simulated_latency_half_s",
        "simulated_p99_s",
        "simulated_max_s",
        "simulated_verdict",
        "ending",
    ];
    // Only a simulated Ethernet has these.
    let ethernet = report.simulation.as_ref().is_some_and(has_frames);
    let mut head = head.map(String::from).to_vec();
    if ethernet {
        head.extend(FRAME_HEADS.map(String::from));
    }
    // And only simulated I/Os have these.
    let storage = report.simulation.as_ref().is_some_and(|s| s.flows.iter().any(|f| f.ios.is_some()));
    if storage {
        head.push("ios_per_s".into());
        head.extend(["issue", "command", "target", "data", "status", "complete"].map(|s| format!("stage_{s}_s")));
        head.extend((1..=BUSIEST).flat_map(|n| [format!("at_work_{n}"), format!("at_work_{n}_share")]));
    }
    // And flows of ranks these.
    let ranks = has_programs(report);
    if ranks {
        let columns = ["time_s", "time_slower_s", "time_faster_s", "simulated_time_s", "messages"];
        head.extend(columns.map(String::from));
    }
    let rows = report.flows.iter().enumerate().map(|(i, f)| {
        let s = report.simulation.as_ref().and_then(|s| s.flows.get(i));
        let mut row = vec![
            f.name.clone(),
            f.instances.to_string(),
            f.both_ways.to_string(),
            cell((!f.wanted_each.is_empty()).then(|| f.wanted_each.iter().sum())),
            cell(Some(f.bound.typical)),
            cell(Some(f.share.typical)),
            cell(Some(f.share.slower)),
            cell(Some(f.share.faster)),
            cell(Some(f.framing_limit)),
            cell(f.latency_first.map(|l| l.typical)),
            cell(Some(f.latency.typical)),
            f.bound_by.element.clone(),
            f.bound_by.resource.clone(),
            cell(f.measured.as_ref().map(|m| m.each)),
            cell(f.measured.as_ref().map(|m| m.unexplained.iter().sum())),
            format!("{:?}", f.verdict).to_lowercase(),
            cell(s.map(|s| s.rate.mean)),
            cell(s.and_then(|s| s.rate.half)),
            cell(s.map(|s| s.latency.mean)),
            cell(s.and_then(|s| s.latency.half)),
            cell(s.map(|s| s.p99)),
            cell(s.map(|s| s.max)),
            s.map_or("", |s| if s.unstable { "unstable" } else { "stable" }).to_owned(),
            report.simulation.as_ref().map_or(String::new(), |s| s.ending.name().to_owned()),
        ];
        if ethernet {
            let f = s.and_then(|s| s.frames);
            row.extend([
                cell(f.map(|f| f.rate.mean)),
                f.map_or(String::new(), |f| f.sent.to_string()),
                f.map_or(String::new(), |f| f.delivered.to_string()),
                f.map_or(String::new(), |f| f.dropped.to_string()),
                cell(f.map(|f| f.transit.mean)),
                cell(f.map(|f| f.transit_p99)),
                cell(f.map(|f| f.transit_max)),
            ]);
        }
        if storage {
            let ios = s.and_then(|s| s.ios.as_ref());
            row.push(cell(ios.map(|i| i.per_second)));
            row.extend((0..STAGES.len()).map(|n| cell(ios.map(|i| i.stages[n]))));
            for n in 0..BUSIEST {
                let busy = ios.and_then(|i| i.busy.get(n));
                row.extend([busy.map_or(String::new(), |b| b.0.clone()), cell(busy.map(|b| b.1))]);
            }
        }
        if ranks {
            let program = s.and_then(|s| s.program.as_ref());
            row.extend((0..3).map(|n| cell(f.programs.get(n).map(|p| p.time))));
            row.push(cell(program.map(|p| p.time)));
            row.push(program.or(f.programs.first()).map_or(String::new(), |p| p.messages.to_string()));
        }
        row
    });
    Grid { head, rows: rows.collect() }
}

/// Directions of links that bind a flow by a method, by their place in the report; the first four.
pub(crate) fn binding_links(report: &Report, method: Method) -> Vec<usize> {
    let simulated = report.simulation.as_ref().filter(|_| method == Method::Simulation);
    let elements: HashSet<&String> = match simulated {
        Some(s) => s.flows.iter().map(|f| &f.bound_by.element).collect(),
        None => report.flows.iter().flat_map(|f| std::iter::once(&f.bound_by.element).chain(&f.bound_also)).collect(),
    };
    let binds = |(_, l): &(usize, &LinkReport)| elements.contains(&l.path());
    report.links.iter().enumerate().filter(binds).map(|(i, _)| i).take(4).collect()
}

/// Directions of links that are worth a waterfall by a method, by their place in the report: those that bind a flow; if
/// none does, the busiest. `all` are those that carry anything. Without a simulation the estimate decides.
pub fn shown(report: &Report, method: Method, all: bool) -> Vec<usize> {
    let simulated = report.simulation.as_ref().filter(|_| method == Method::Simulation);
    let used = |i: usize| match simulated {
        Some(s) => s.links.get(i).filter(|l| l.slots.tlps > 0 || l.slots.payload > 0).map_or(0.0, |l| l.utilisation()),
        None => {
            let l = &report.links[i];
            if l.tlps > 0.0 || l.ledger.payload > 0.0 { l.ledger.utilisation() } else { 0.0 }
        }
    };
    let carrying = || (0..report.links.len()).filter(|i| used(*i) > 0.01);
    if all {
        return carrying().collect();
    }
    let list = binding_links(report, method);
    // Of equally busy ones the last, as ever.
    if list.is_empty() { carrying().max_by(|a, b| used(*a).total_cmp(&used(*b))).into_iter().collect() } else { list }
}

/// Whether any flow is one of ranks.
fn has_programs(report: &Report) -> bool {
    let simulated = report.simulation.iter().flat_map(|s| &s.flows).any(|f| f.program.is_some());
    simulated || report.flows.iter().any(|f| !f.programs.is_empty())
}

/// The rows of all message programs of a report, in seconds and bytes per second.
pub fn rows_grid(report: &Report) -> Grid {
    let head = [
        "flow",
        "row",
        "bytes",
        "ranks",
        "repetitions",
        "t_s",
        "t_slower_s",
        "t_faster_s",
        "rate_bytes_per_s",
        "messages_per_s",
        "simulated_repetitions",
        "simulated_t_s",
        "simulated_half_s",
        "simulated_t_min_s",
        "simulated_t_avg_s",
        "simulated_rate_bytes_per_s",
        "simulated_messages_per_s",
        "algorithm",
    ];
    let mut rows = Vec::new();
    for (i, f) in report.flows.iter().enumerate() {
        let simulated = report.simulation.as_ref().and_then(|s| s.flows.get(i)?.program.as_ref());
        let Some(longest) = f.programs.first().into_iter().chain(simulated).max_by_key(|p| p.rows.len()) else {
            continue;
        };
        for (n, row) in longest.rows.iter().enumerate() {
            let same = |r: &&ProgramRow| (&r.name, r.bytes, r.ranks) == (&row.name, row.bytes, row.ranks);
            let estimate = |corner: usize| f.programs.get(corner).and_then(|p| p.rows.get(n)).filter(same);
            let of = |pick: &dyn Fn(&ProgramRow) -> Option<f64>| cell(estimate(0).and_then(pick));
            let s = simulated.and_then(|p| p.rows.get(n)).filter(same);
            let simulated = |pick: &dyn Fn(&ProgramRow) -> Option<f64>| cell(s.and_then(pick));
            rows.push(vec![
                f.name.clone(),
                row.name.clone(),
                row.bytes.map_or(String::new(), |b| b.to_string()),
                row.ranks.to_string(),
                row.repetitions.to_string(),
                of(&|r| Some(r.t_max)),
                cell(estimate(1).map(|r| r.t_max)),
                cell(estimate(2).map(|r| r.t_max)),
                of(&|r| r.rate),
                of(&|r| r.messages_per_second),
                s.map_or(String::new(), |r| r.simulated.to_string()),
                simulated(&|r| Some(r.t_max)),
                simulated(&|r| r.interval.and_then(|i| i.half)),
                simulated(&|r| Some(r.t_min)),
                simulated(&|r| Some(r.t_avg)),
                simulated(&|r| r.rate),
                simulated(&|r| r.messages_per_second),
                row.algorithm.clone().unwrap_or_default(),
            ]);
        }
    }
    Grid { head: head.map(String::from).to_vec(), rows }
}

/// The simulated ledgers of a report, one direction a row, in slots of the measured time: bytes after line coding, or
/// clocks of a bus. All of them together are `coded_bps`.
pub fn slots_grid(simulation: &Simulation) -> Grid {
    let head = ["link", "from", "to", "coded_bps", "payload_bps", "payload_half_bps", "utilisation", "slots"];
    let mut head: Vec<String> = head.map(String::from).to_vec();
    let names = simulation.links.first().map(|l| l.entries()).unwrap_or_default();
    head.extend(names.iter().map(|(n, _)| n.replace([' ', ',', '-', '\''], "_").replace("__", "_")));
    let ethernet = has_frames(simulation);
    if ethernet {
        // Numbers of frames, not slots.
        head.extend(["data_frames", "control_frames_sent", "pauses_stop", "pauses_go"].map(String::from));
    }
    let rows = simulation.links.iter().map(|l| {
        let mut row = vec![l.name.clone(), l.from.clone(), l.to.clone()];
        let half = l.payload.half;
        row.extend([cell(Some(l.coded)), cell(Some(l.payload.mean)), cell(half), cell(Some(l.utilisation()))]);
        row.push(l.slots.total().to_string());
        row.extend(l.entries().iter().map(|(_, n)| n.to_string()));
        if ethernet {
            row.extend([l.slots.data_tlps, l.slots.controls, l.pauses.0, l.pauses.1].map(|n| n.to_string()));
        }
        row
    });
    Grid { head, rows: rows.collect() }
}

/// The ledgers of a report, one direction a row, in bits per second.
pub fn links_grid(report: &Report) -> Grid {
    let mut head: Vec<String> = ["link", "from", "to", "speed", "raw_bps"].map(String::from).to_vec();
    let names = report
        .links
        .first()
        .map(|l| l.ledger.entries().map(|(n, _)| n.replace([' ', ','], "_").replace("__", "_") + "_bps"))
        .unwrap_or_default();
    head.extend(names);
    head.push("utilisation".into());
    let rows = report.links.iter().map(|l| {
        let mut row = vec![l.name.clone(), l.from.clone(), l.to.clone(), l.speed.clone(), l.ledger.raw.to_string()];
        row.extend(l.ledger.entries().map(|(_, v)| v.to_string()));
        row.push(l.ledger.utilisation().to_string());
        row
    });
    Grid { head, rows: rows.collect() }
}
