//! A real instrument's table beside what was worked out and simulated for the same rows.
//!
//! A table becomes [`Point`]s, one number for each row: what the instrument is run for. Points of the same name, ranks
//! and size stand in one row of the comparison. Another instrument's tables join by giving points of their own.

pub mod storage;

use super::Paint;
use super::infiniband::instrument::pairs;
use crate::import::{Row, Table};
use crate::units::{Bytes, digits, human_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Write;

/// What a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Seconds; less is better.
    Time,
    /// Bytes a second; more is better.
    Rate,
    /// I/Os a second; more is better.
    PerSecond,
}

/// One number of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// `PingPong`, `osu_latency`.
    pub name: String,
    /// Processes, where they are known.
    pub ranks: Option<u32>,
    /// Size of a message.
    pub bytes: Option<u64>,
    /// What the value is of.
    pub quantity: Quantity,
    /// Seconds or bytes/s.
    pub value: f64,
}

/// A real table beside the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The rows of the real table that have an answer, in its order.
    pub rows: Vec<Compared>,
    /// How far off the answers are, for each part of the table.
    pub parts: Vec<Part>,
    /// Parts of the real table that have no answer: `Allgatherv, 2 ranks`.
    pub left_out: Vec<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// `PingPong`.
    pub name: String,
    /// Processes, where they are known.
    pub ranks: Option<u32>,
    /// Size of a message; null where there is none.
    pub bytes: Option<u64>,
    /// What the values are of.
    pub quantity: Quantity,
    /// What the real instrument printed, seconds or bytes/s.
    pub real: f64,
    /// What was worked out.
    pub estimate: Option<f64>,
    /// What was simulated.
    pub simulated: Option<f64>,
    /// Estimate / real - 1; null without an estimate, or where the instrument printed 0.
    pub estimate_off: Option<f64>,
    /// Simulated / real - 1, likewise.
    pub simulated_off: Option<f64>,
}

/// How far off a part of the table is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// `PingPong`.
    pub name: String,
    /// Processes, where they are known.
    pub ranks: Option<u32>,
    /// Of the estimate.
    pub estimate: Option<Off>,
    /// Of the simulation.
    pub simulated: Option<Off>,
}

/// Relative deviations of a part's rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Off {
    /// Rows with a deviation.
    pub rows: usize,
    /// The mean of their absolute values.
    pub mean: f64,
    /// The one that is farthest off, with its sign.
    pub worst: f64,
    /// The size at which it is.
    pub worst_bytes: Option<u64>,
}

impl Off {
    /// Of deviations with their sizes; none without any.
    fn of(all: impl Iterator<Item = (f64, Option<u64>)>) -> Option<Off> {
        let all: Vec<(f64, Option<u64>)> = all.collect();
        let (worst, worst_bytes) = all.iter().copied().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
        let mean = all.iter().map(|o| o.0.abs()).sum::<f64>() / all.len() as f64;
        Some(Off { rows: all.len(), mean, worst, worst_bytes })
    }
}

/// How far an answer is off; none without one, or where the instrument printed 0.
fn deviation(answer: Option<f64>, real: f64) -> Option<f64> {
    answer.filter(|_| real > 0.0).map(|a| a / real - 1.0)
}

/// The points of an instrument's table: the time where it prints one (the mean over ranks where OSU prints only that),
/// else the rate.
pub fn points(table: &Table) -> Vec<Point> {
    let point = |name: &str, ranks: Option<u32>, row: &Row| {
        let time = row.t_max.or(row.t_avg).map(|t| (Quantity::Time, t));
        let (quantity, value) = match name {
            "osu_bw" | "osu_bibw" | "osu_mbw_mr" | "Uniband" | "Biband" => (Quantity::Rate, row.rate?),
            // OSU's collectives print the mean; the slowest rank stands beside it only with -f.
            _ if name.starts_with("osu_") && !pairs(name) => (Quantity::Time, row.t_avg?),
            _ => time.or(row.rate.map(|r| (Quantity::Rate, r)))?,
        };
        Some(Point { name: name.to_owned(), ranks, bytes: row.bytes, quantity, value })
    };
    let rows = table.blocks.iter().flat_map(|b| b.rows.iter().map(move |r| (b, r)));
    rows.filter_map(|(b, r)| point(&b.name, b.ranks, r)).collect()
}

/// A point by what it is of. Names are compared without case.
type Key = (String, Option<u64>, Quantity);

/// Finds an answer of the same name, size and quantity, and of the same ranks where both know them.
struct Answers(HashMap<Key, Vec<(Option<u32>, f64)>>);

impl Answers {
    fn new(points: &[Point]) -> Answers {
        let mut all: HashMap<Key, Vec<_>> = HashMap::new();
        for p in points {
            all.entry((p.name.to_lowercase(), p.bytes, p.quantity)).or_default().push((p.ranks, p.value));
        }
        Answers(all)
    }

    fn of(&self, p: &Point) -> Option<f64> {
        let near = self.0.get(&(p.name.to_lowercase(), p.bytes, p.quantity))?;
        let fits = |ranks: Option<u32>| ranks.is_none() || p.ranks.is_none() || ranks == p.ranks;
        near.iter().find(|(ranks, _)| fits(*ranks)).map(|n| n.1)
    }
}

/// Lays answers beside a real table's points.
pub fn compare(real: &[Point], estimate: &[Point], simulated: &[Point]) -> Comparison {
    let (estimates, simulations) = (Answers::new(estimate), Answers::new(simulated));
    let mut comparison = Comparison::default();
    let mut at = 0;
    while at < real.len() {
        let head = &real[at];
        let same = |p: &&Point| p.name == head.name && p.ranks == head.ranks;
        let part = &real[at..at + real[at..].iter().take_while(same).count()];
        at += part.len();
        let first = comparison.rows.len();
        for p in part {
            let (estimate, simulated) = (estimates.of(p), simulations.of(p));
            if estimate.is_none() && simulated.is_none() {
                continue;
            }
            comparison.rows.push(Compared {
                name: p.name.clone(),
                ranks: p.ranks,
                bytes: p.bytes,
                quantity: p.quantity,
                real: p.value,
                estimate,
                simulated,
                estimate_off: deviation(estimate, p.value),
                simulated_off: deviation(simulated, p.value),
            });
        }
        let rows = &comparison.rows[first..];
        if rows.is_empty() {
            comparison.left_out.push(called(&head.name, head.ranks));
        } else {
            let off = |of: fn(&Compared) -> Option<f64>| Off::of(rows.iter().filter_map(|r| Some((of(r)?, r.bytes))));
            let (estimate, simulated) = (off(|r| r.estimate_off), off(|r| r.simulated_off));
            comparison.parts.push(Part { name: head.name.clone(), ranks: head.ranks, estimate, simulated });
        }
    }
    comparison
}

fn called(name: &str, ranks: Option<u32>) -> String {
    ranks.map_or(name.to_owned(), |n| format!("{name}, {n} ranks"))
}

/// The comparison for a person: a block for each part, then how far off it is.
pub fn text(comparison: &Comparison, paint: Paint) -> String {
    let mut out = String::new();
    let columns =
        [comparison.rows.iter().any(|r| r.estimate.is_some()), comparison.rows.iter().any(|r| r.simulated.is_some())];
    let mut rows = comparison.rows.iter().peekable();
    for part in &comparison.parts {
        let _ = write!(out, "{}{:<22}{}{:>12}", paint.strong, called(&part.name, part.ranks), paint.off, "real");
        for (there, head) in columns.into_iter().zip(["estimate", "simulated"]) {
            if there {
                let _ = write!(out, "{head:>14}{:>10}", "off");
            }
        }
        out.push('\n');
        while let Some(row) = rows.next_if(|r| r.name == part.name && r.ranks == part.ranks) {
            let bytes = row.bytes.map_or(String::new(), |b| Bytes(b).to_string());
            let _ = write!(out, "{bytes:>22}{:>12}", value(row.real, row.quantity));
            let answers = [(row.estimate, row.estimate_off), (row.simulated, row.simulated_off)];
            for (there, (answer, off)) in columns.into_iter().zip(answers) {
                if there {
                    let answer = answer.map_or("-".into(), |a| value(a, row.quantity));
                    let _ = write!(out, "{answer:>14}{:>10}", off.map_or("-".into(), percent));
                }
            }
            out.push('\n');
        }
        for (off, method) in [(part.estimate, "estimate"), (part.simulated, "simulated")] {
            let Some(off) = off else { continue };
            let place = off.worst_bytes.map_or(String::new(), |b| format!(" at {}", Bytes(b)));
            let mean = digits(rounded(off.mean * 100.0));
            let said = format!("{method} {mean} % off on average, at worst {}{place}", percent(off.worst));
            let _ = writeln!(out, "{}{said}{}", paint.faint, paint.off);
        }
        out.push('\n');
    }
    if !comparison.left_out.is_empty() {
        let _ = writeln!(out, "without an answer: {}", comparison.left_out.join("; "));
    }
    out
}

fn value(value: f64, quantity: Quantity) -> String {
    match quantity {
        Quantity::Time => human_time(value),
        Quantity::Rate => format!("{} MB/s", digits(value / 1e6)),
        Quantity::PerSecond => format!("{} IOPS", digits(value)),
    }
}

/// One decimal.
fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

fn percent(off: f64) -> String {
    format!("{:+.1} %", off * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Block, Suite};

    fn table(name: &str, ranks: Option<u32>, rows: Vec<Row>) -> Table {
        let block = Block { name: name.into(), ranks, waiting: 0, rows };
        Table { suite: Suite::Imb, version: "4.1".into(), mbyte: 1 << 20, blocks: vec![block] }
    }

    fn row(bytes: u64, us: f64) -> Row {
        Row { bytes: Some(bytes), t_max: Some(us / 1e6), rate: Some(bytes as f64 / us * 1e6), ..Row::default() }
    }

    #[test]
    fn rows_of_one_size_stand_side_by_side() {
        let mut real = table("PingPong", Some(2), vec![row(0, 10.0), row(1024, 20.0), row(4 << 20, 40.0)]);
        real.blocks.push(Block { name: "Allgatherv".into(), ranks: Some(4), waiting: 0, rows: vec![row(1, 5.0)] });
        let ours = table("pingpong", Some(2), vec![row(0, 11.0), row(1024, 15.0)]);
        let worked = table("PingPong", None, vec![row(1024, 20.0)]);
        let comparison = compare(&points(&real), &points(&worked), &points(&ours));
        assert_eq!(comparison.rows.len(), 2);
        assert_eq!(comparison.left_out, ["Allgatherv, 4 ranks"]);
        let second = &comparison.rows[1];
        assert_eq!(
            (second.estimate_off, second.simulated_off.map(|o| (o * 1e6).round())),
            (Some(0.0), Some(-250_000.0))
        );
        let off = comparison.parts[0].simulated.expect("rows");
        // 10 % and 25 %.
        assert_eq!((off.rows, off.worst_bytes, (off.mean * 1e6).round()), (2, Some(1024), 175_000.0));
        assert_eq!(
            text(&comparison, Paint::default()),
            "PingPong, 2 ranks             real      estimate       off     simulated       off\n\
             \u{20}                  0 B       10 us             -         -         11 us   +10.0 %\n\
             \u{20}                1 KiB       20 us         20 us    +0.0 %         15 us   -25.0 %\n\
             estimate 0 % off on average, at worst +0.0 % at 1 KiB\n\
             simulated 17.5 % off on average, at worst -25.0 % at 1 KiB\n\n\
             without an answer: Allgatherv, 4 ranks\n"
        );
    }

    #[test]
    fn ranks_are_told_apart_where_they_are_known() {
        let real = table("Bcast", Some(8), vec![row(8, 10.0)]);
        let other = table("Bcast", Some(16), vec![row(8, 10.0)]);
        assert!(compare(&points(&real), &[], &points(&other)).rows.is_empty());
        let unknown = table("Bcast", None, vec![row(8, 10.0)]);
        assert_eq!(compare(&points(&unknown), &[], &points(&other)).rows.len(), 1);
    }

    #[test]
    fn each_instrument_gives_the_number_that_it_is_run_for() {
        let of = |name: &str, row: Row| points(&table(name, None, vec![row])).first().map(|p| (p.quantity, p.value));
        let all = Row { t_min: Some(1.0), t_max: Some(3.0), t_avg: Some(2.0), rate: Some(9.0), ..Row::default() };
        assert_eq!(of("PingPong", all), Some((Quantity::Time, 3.0)));
        assert_eq!(of("osu_allreduce", all), Some((Quantity::Time, 2.0)));
        assert_eq!(of("osu_latency", all), Some((Quantity::Time, 3.0)));
        assert_eq!(of("osu_bw", all), Some((Quantity::Rate, 9.0)));
        assert_eq!(of("Biband", Row { rate: Some(9.0), ..Row::default() }), Some((Quantity::Rate, 9.0)));
        assert_eq!(of("osu_bw", Row { t_max: Some(3.0), ..Row::default() }), None);
        assert_eq!(of("PingPong", Row::default()), None);
    }

    #[test]
    fn a_printed_zero_has_no_deviation() {
        let real = table("osu_latency", None, vec![row(8, 0.0)]);
        let ours = table("osu_latency", Some(2), vec![row(8, 1.0)]);
        let comparison = compare(&points(&real), &[], &points(&ours));
        assert_eq!((comparison.rows[0].simulated_off, comparison.parts[0].simulated), (None, None));
        let json = serde_json::to_value(&comparison).expect("JSON");
        assert_eq!(json["rows"][0]["simulated_off"], serde_json::Value::Null);
        assert_eq!(serde_json::from_value::<Comparison>(json).ok(), Some(comparison));
    }
}
