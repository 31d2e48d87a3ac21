//! The rows of a sweep: one for each point and flow, the same columns whatever the scenario.

use super::{Question, metric};
use lanescope::result::{Ending, Report, Verdict};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hash;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers, in SI steps: bits/s, s, B.
    Float,
    /// Text.
    Text,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// There is none.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
}

/// A column that every sweep has.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its head, with the unit.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it is.
    pub doc: &'static str,
}

const fn column(name: &'static str, kind: Kind, doc: &'static str) -> Column {
    Column { name, kind, doc }
}

/// Columns behind the number of the point, its values and its seed. Rates are payload bits per second of all instances,
/// one way; times are seconds.
pub const COLUMNS: &[Column] = &[
    column("flow", Kind::Text, "the flow; none where the point has no answer"),
    column("instances", Kind::Int, "its instances"),
    column("share_bps", Kind::Float, "estimate: the fair share"),
    column("share_slower_bps", Kind::Float, "the same with every range at its slower end"),
    column("share_faster_bps", Kind::Float, "the same with every range at its faster end"),
    column("bound_bps", Kind::Float, "estimate: what no allocation can exceed"),
    column("latency_s", Kind::Float, "estimate: one operation to its last byte, unloaded"),
    column("time_s", Kind::Float, "estimate: what a program of ranks takes"),
    column("bound_by", Kind::Text, "the element that binds the share"),
    column("resource", Kind::Text, "what of it"),
    column("verdict", Kind::Text, "stable or unstable, by the estimate"),
    column("simulated_bps", Kind::Float, "simulation: the mean rate"),
    column("simulated_half_bps", Kind::Float, "half of its 95 % interval"),
    column("simulated_latency_s", Kind::Float, "simulation: the mean latency of an operation"),
    column("simulated_p99_s", Kind::Float, "what 99 % of the operations do not exceed"),
    column("simulated_max_s", Kind::Float, "the longest"),
    column("simulated_time_s", Kind::Float, "simulation: what a program of ranks took"),
    column("ios_per_s", Kind::Float, "simulation: I/Os done per second"),
    column("simulated_unstable", Kind::Text, "yes where a backlog grows without end, else no"),
    column("ending", Kind::Text, "why the simulation ended"),
    column("plan", Kind::Text, "fingerprint of the plan"),
    column("warnings", Kind::Text, "what in the scenario is probably unintended"),
    column("not_modelled", Kind::Text, "keys that a method ignores"),
    column("not_simulated", Kind::Text, "why there is no simulation, where one was asked for"),
    column("error", Kind::Text, "why there is no answer at this point"),
];

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The number of its point.
    pub point: u64,
    /// Its place among the rows of the point.
    pub place: u32,
    /// Its cells: of [`COLUMNS`], then of the metrics.
    pub cells: Vec<Cell>,
}

/// A row of a point without an answer.
pub(super) fn failed(question: &Question, point: u64, why: &str) -> Row {
    let mut cells = vec![Cell::Null; COLUMNS.len() + question.metrics.len()];
    cells[COLUMNS.len() - 1] = Cell::Text(why.to_owned());
    Row { point, place: 0, cells }
}

fn float(value: impl Into<Option<f64>>) -> Cell {
    value.into().filter(|v| v.is_finite()).map_or(Cell::Null, Cell::Float)
}

fn text(value: impl Into<String>) -> Cell {
    Cell::Text(value.into())
}

fn list(all: Vec<String>) -> Cell {
    if all.is_empty() { Cell::Null } else { Cell::Text(all.join("; ")) }
}

/// The rows of a report.
pub(super) fn of(question: &Question, point: u64, report: &Report, not_simulated: Option<String>) -> Vec<Row> {
    if report.flows.is_empty() {
        return vec![failed(question, point, "the scenario has no flows, so there is nothing to answer")];
    }
    let metrics: Result<Vec<f64>, String> =
        question.metrics.iter().map(|path| metric(report, path, question.simulate)).collect();
    let (metrics, wrong) = match metrics {
        Ok(all) => (all.into_iter().map(float).collect(), Cell::Null),
        Err(e) => (vec![Cell::Null; question.metrics.len()], Cell::Text(e)),
    };
    let left_out = report.not_modelled.iter().map(|n| format!("{} ({})", n.key, n.methods.join(", "))).collect();
    let (left_out, warnings) = (list(left_out), list(report.warnings.clone()));
    let row = |i: usize| {
        let f = &report.flows[i];
        let s = report.simulation.as_ref();
        let flow = s.and_then(|s| s.flows.get(i));
        let blocked = s
            .is_some_and(|s| matches!(s.ending, Ending::Deadlock { .. } | Ending::Stall { .. } | Ending::Fault { .. }));
        // A run that came to a halt has no rate: its ending says so.
        let going = flow.filter(|_| !blocked);
        let done = going.filter(|f| f.operations > 0);
        let verdict = if f.verdict == Verdict::Unstable { "unstable" } else { "stable" };
        let mut cells = vec![
            text(&f.name),
            Cell::Int(f.instances as i64),
            float(f.share.typical),
            float(f.share.slower),
            float(f.share.faster),
            float(f.bound.typical),
            float(f.latency.typical),
            float(f.programs.first().map(|p| p.time)),
            text(&f.bound_by.element),
            text(&f.bound_by.resource),
            text(verdict),
            float(going.map(|f| f.rate.mean)),
            float(going.and_then(|f| f.rate.half)),
            float(done.map(|f| f.latency.mean)),
            float(done.map(|f| f.p99)),
            float(done.map(|f| f.max)),
            float(going.and_then(|f| f.program.as_ref()).map(|p| p.time)),
            float(going.and_then(|f| f.ios.as_ref()).map(|ios| ios.per_second)),
            flow.map_or(Cell::Null, |f| text(if f.unstable { "yes" } else { "no" })),
            s.map_or(Cell::Null, |s| text(s.ending.name())),
            text(&report.provenance.plan),
            warnings.clone(),
            left_out.clone(),
            not_simulated.clone().map_or(Cell::Null, Cell::Text),
            wrong.clone(),
        ];
        cells.extend(metrics.iter().cloned());
        Row { point, place: i as u32, cells }
    };
    (0..report.flows.len()).map(row).collect()
}

impl Row {
    /// Why its point has no answer.
    pub fn error(&self) -> Option<&str> {
        match &self.cells[COLUMNS.len() - 1] {
            Cell::Text(why) => Some(why),
            _ => None,
        }
    }

    /// A cell of [`COLUMNS`] by its name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.get(COLUMNS.iter().position(|c| c.name == name)?)
    }
}

/// A hash of rows: the same rows, in any order, give the same on every machine. It is the sum of a hash of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Of one row.
    pub fn of(row: &Row) -> Fingerprint {
        let mut hash = SipHasher13::new_with_keys(0, 0);
        (row.point, row.place).hash(&mut hash);
        for cell in &row.cells {
            match cell {
                Cell::Null => 0u8.hash(&mut hash),
                Cell::Int(n) => (1u8, n).hash(&mut hash),
                Cell::Float(v) => (2u8, v.to_bits()).hash(&mut hash),
                Cell::Text(t) => (3u8, t.as_str()).hash(&mut hash),
            }
        }
        let h = hash.finish128();
        Fingerprint(u128::from(h.h1) << 64 | u128::from(h.h2))
    }

    /// With one more row.
    pub fn add(&mut self, row: &Row) {
        self.0 = self.0.wrapping_add(Fingerprint::of(row).0);
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The fingerprint of some rows.
pub fn fingerprint(rows: &[Row]) -> Fingerprint {
    let mut all = Fingerprint::default();
    rows.iter().for_each(|row| all.add(row));
    all
}
