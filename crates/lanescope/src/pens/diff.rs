//! What moved between two reports.

use super::Grid;
use crate::result::{FlowReport, ProgramReport, Report};
use crate::units::{Dimension, human};

/// One number that is in both reports, or in one.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// `flows.rx.share`.
    pub path: String,
    /// In the first report.
    pub before: Option<f64>,
    /// In the second.
    pub after: Option<f64>,
    /// What it is of.
    pub dimension: Dimension,
}

/// Words that changed, e.g. what binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// `flows.rx.bound_by`.
    pub path: String,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

/// All numbers whose relative change exceeds `tolerance`, and all words that changed, in the order of the reports.
pub fn diff(a: &Report, b: &Report, tolerance: f64) -> (Vec<Change>, Vec<Moved>) {
    let (before, after) = (numbers(a), numbers(b));
    let mut changes = Vec::new();
    for (path, value, dimension) in &before {
        let new = after.iter().find(|x| x.0 == *path).map(|x| x.1);
        if new.is_none_or(|n| (n - value).abs() > tolerance * value.abs().max(n.abs())) {
            changes.push(Change { path: path.clone(), before: Some(*value), after: new, dimension: *dimension });
        }
    }
    for (path, value, dimension) in &after {
        if !before.iter().any(|x| x.0 == *path) {
            changes.push(Change { path: path.clone(), before: None, after: Some(*value), dimension: *dimension });
        }
    }
    let words = |f: &FlowReport| format!("{}: {}", f.bound_by.element, f.bound_by.resource);
    let mut moved = Vec::new();
    for f in &a.flows {
        if let Some(g) = b.flows.iter().find(|g| g.name == f.name)
            && words(f) != words(g)
        {
            moved.push(Moved { path: format!("flows.{}.bound_by", f.name), before: words(f), after: words(g) });
        }
    }
    let simulated = |r: &Report| r.simulation.iter().flat_map(|s| s.flows.clone()).collect::<Vec<_>>();
    let after = simulated(b);
    for f in simulated(a) {
        if let Some(g) = after.iter().find(|g| g.name == f.name)
            && f.bound_by.words() != g.bound_by.words()
        {
            let path = format!("flows.{}.simulated_bound_by", f.name);
            moved.push(Moved { path, before: f.bound_by.words(), after: g.bound_by.words() });
        }
    }
    (changes, moved)
}

fn numbers(report: &Report) -> Vec<(String, f64, Dimension)> {
    let mut all = Vec::new();
    for f in &report.flows {
        if let Some(program) = f.programs.first() {
            all.extend(times(program, ""));
            continue;
        }
        let mut add =
            |name: &str, value: f64, dimension| all.push((format!("flows.{}.{name}", f.name), value, dimension));
        add("share", f.share.typical, Dimension::Rate);
        add("bound", f.bound.typical, Dimension::Rate);
        add("latency", f.latency.typical, Dimension::Time);
        if let Some(l) = f.latency_first {
            add("latency_first", l.typical, Dimension::Time);
        }
    }
    for f in report.simulation.iter().flat_map(|s| &s.flows) {
        if let Some(program) = &f.program {
            all.extend(times(program, "simulated_"));
            continue;
        }
        let path = |name: &str| format!("flows.{}.{name}", f.name);
        all.push((path("simulated"), f.rate.mean, Dimension::Rate));
        all.push((path("simulated_latency"), f.latency.mean, Dimension::Time));
    }
    for l in &report.links {
        let path = |name: &str| format!("{}.{name}", l.path());
        all.push((path("utilisation"), l.ledger.utilisation(), Dimension::Share));
        all.push((path("payload"), l.ledger.payload, Dimension::Rate));
    }
    for l in report.simulation.iter().flat_map(|s| &s.links) {
        let path = |name: &str| format!("{}.simulated_{name}", crate::result::way(&l.name, &l.to));
        all.push((path("utilisation"), l.utilisation(), Dimension::Share));
        all.push((path("payload"), l.payload.mean, Dimension::Rate));
    }
    all
}

/// The times of a message program: `flows.pp.time`, `flows.pp.simulated_t.1024`; of rows without a size, or of several
/// names, with the name.
fn times(program: &ProgramReport, method: &str) -> Vec<(String, f64, Dimension)> {
    let path = |words: &str| format!("flows.{}.{method}{words}", program.flow);
    let first = program.rows.first();
    let one = program.rows.iter().all(|r| first.is_some_and(|f| (&f.name, f.ranks) == (&r.name, r.ranks)));
    let mut all = vec![(path("time"), program.time, Dimension::Time)];
    all.extend(program.rows.iter().map(|r| {
        let of = match (one, r.bytes) {
            (true, Some(bytes)) => format!("t.{bytes}"),
            (_, Some(bytes)) => format!("t.{}.{}.{bytes}", r.name, r.ranks),
            (_, None) => format!("t.{}", r.name),
        };
        (path(&of), r.t_max, Dimension::Time)
    }));
    all
}

/// The changes as a table.
pub fn grid(changes: &[Change], moved: &[Moved]) -> Grid {
    let head = ["what", "before", "after", "change"].map(String::from).to_vec();
    let show = |v: Option<f64>, d| v.map_or("-".to_owned(), |v| human(v, d));
    let mut rows: Vec<Vec<String>> = changes
        .iter()
        .map(|c| {
            let change = match (c.before, c.after) {
                (Some(b), Some(a)) if b != 0.0 => format!("{:+.2} %", (a / b - 1.0) * 100.0),
                (None, _) => "new".into(),
                (_, None) => "gone".into(),
                _ => String::new(),
            };
            vec![c.path.clone(), show(c.before, c.dimension), show(c.after, c.dimension), change]
        })
        .collect();
    rows.extend(moved.iter().map(|m| vec![m.path.clone(), m.before.clone(), m.after.clone(), String::new()]));
    Grid { head, rows }
}
