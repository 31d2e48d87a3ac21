//! A run in time: frames of a simulation at equal steps, as curves of a report and as a film that is played.

use super::parts::note;
use crate::pens::chart::{Chart, Series as Curve};
use crate::pens::series::Series;
use crate::pens::svg::{self, escape};
use crate::plan::Plan;
use crate::result::Report;
use crate::sim::{Run, Step};
use crate::units::{Time, digits, human_rate, human_time};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// Frames of a film.
pub const FRAMES: usize = 240;
/// Columns of a film at most: the busiest things are kept.
const MOST_COLUMNS: usize = 600;
/// Packets that a film follows at most; a longer run is shown from its beginning.
const PACKETS: f64 = 300_000.0;
/// Curves of one chart.
const CURVES: usize = 6;
/// Events between two looks at how far a run has come.
const PIECE: u64 = 1 << 14;

/// What stood when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Film {
    /// Seconds between two frames.
    pub step: f64,
    /// Columns: paths of things and what of them, `links.up toward host.utilisation`, `flows.rx.bps`.
    pub head: Vec<String>,
    /// The moment of each frame, seconds.
    pub times: Vec<f64>,
    /// By column: its value in each frame.
    pub columns: Vec<Vec<f64>>,
    /// Columns that are left out because there are too many.
    pub left_out: usize,
}

/// A film in the making: a run that is sampled.
#[derive(Debug)]
pub struct Shooting {
    run: Run,
    series: Series,
    film: Film,
    frames: usize,
}

impl Film {
    /// Begins a film of the same run as `report`'s simulation. `step` is the time between two frames; without it all of
    /// the run is shown, or its beginning where it is long. `None` where nothing was simulated.
    pub fn begin(plan: &Plan, report: &Report, step: Option<Time>) -> Option<Shooting> {
        let simulation = report.simulation.as_ref()?;
        let whole = simulation.warmup + simulation.window;
        let seen = whole * (PACKETS / simulation.packets.max(1) as f64).min(1.0);
        let own = Time::from_fs(((seen / FRAMES as f64) * 1e15).max(1.0) as u64);
        let step = step.filter(|t| *t > Time::ZERO).unwrap_or(own);
        let mut run = Run::new(plan, simulation.seed, &mut Default::default())?;
        run.sample_every(step);
        let series = Series::new(plan, report, run.sample());
        let film = Film {
            step: step.seconds(),
            head: series.head[1..].to_vec(),
            columns: vec![Vec::new(); series.head.len() - 1],
            ..Film::default()
        };
        Some(Shooting { run, series, film, frames: FRAMES })
    }

    /// The whole film at once.
    pub fn of(plan: &Plan, report: &Report) -> Option<Film> {
        let mut shooting = Film::begin(plan, report, None)?;
        while !shooting.advance() {}
        Some(shooting.finish())
    }

    /// The film as a page plays it: of each column its largest value, and in each frame its share of that in
    /// thousandths and what a person reads.
    pub fn frames(&self) -> Value {
        let columns = self.head.iter().zip(&self.columns).map(|(name, values)| {
            let (of, what) = name.rsplit_once('.').unwrap_or((name, ""));
            let peak = values.iter().copied().fold(0.0, f64::max);
            // A share is shown against all there is, all else against the most that there was.
            let scale = if matches!(what, "utilisation" | "paused") { 1.0 } else { peak };
            let share = |v: &f64| if scale > 0.0 { (v / scale * 1000.0).round().clamp(0.0, 1000.0) as u32 } else { 0 };
            json!({
                "name": name, "of": of, "what": words(what), "kind": what, "peak": peak,
                "shares": values.iter().map(share).collect::<Vec<_>>(),
                "shown": values.iter().map(|v| read(what, *v)).collect::<Vec<_>>(),
            })
        });
        json!({
            "step": human_time(self.step), "times": self.times.iter().map(|t| human_time(*t)).collect::<Vec<_>>(),
            "columns": columns.collect::<Vec<_>>(), "left": self.left_out, "colours": svg::colours(),
        })
    }

    /// The columns that end in one of some words, those that reach highest first.
    fn most(&self, ends: &[&str]) -> Vec<usize> {
        let peak = |i: usize| self.columns[i].iter().copied().fold(0.0, f64::max);
        let wanted = |i: &usize| ends.iter().any(|e| self.head[*i].ends_with(e));
        let mut list: Vec<usize> = (0..self.head.len()).filter(wanted).filter(|i| peak(*i) > 0.0).collect();
        list.sort_by(|a, b| peak(*b).total_cmp(&peak(*a)).then(a.cmp(b)));
        list
    }

    /// Curves of what a run did: throughput, utilisation, queues, credits, backlogs and memory.
    pub(super) fn html(&self, report: &Report) -> String {
        let mut out = String::new();
        let whole = report.simulation.as_ref().map_or(0.0, |s| s.warmup + s.window);
        let seen = self.times.last().copied().unwrap_or(0.0);
        let part = if seen < whole * 0.99 { format!(" of {}", human_time(whole)) } else { String::new() };
        note(
            &mut out,
            "soft",
            &format!(
                "The first {}{part}, warm-up included; one point each {}.",
                human_time(seen),
                human_time(self.step)
            ),
        );
        let charts: [(&str, &str, &[&str], f64); 9] = [
            ("throughput of flows", "Gb/s of payload", &[".bps"], 1e-9),
            ("utilisation of links", "share of slots", &[".utilisation"], 1.0),
            (
                "packets queued for links",
                "packets",
                &[".queued_tlps", ".queued_frames", ".queued_packets", ".queued_completions", ".queued"],
                1.0,
            ),
            ("payload queued for links", "KiB", &[".queued_bytes"], 1.0 / 1024.0),
            ("header credits in use", "credits", &["_headers_in_use"], 1.0),
            ("operations that wait at their source", "operations", &[".backlog"], 1.0),
            ("I/Os and messages", "a second", &[".ios_per_s", ".messages_per_s"], 1.0),
            ("memory of switches", "KiB", &[".memory_bytes"], 1.0 / 1024.0),
            ("links paused by their receiver (PAUSE, PFC)", "share of the time", &[".paused"], 1.0),
        ];
        for (title, y, ends, scale) in charts {
            let list = self.most(ends);
            if list.is_empty() {
                continue;
            }
            let curve = |i: &usize| Curve {
                name: self.head[*i].clone(),
                points: self.times.iter().zip(&self.columns[*i]).map(|(t, v)| (t * 1e6, v * scale)).collect(),
            };
            let series: Vec<Curve> = list.iter().take(CURVES).map(curve).collect();
            let chart = Chart { title, x: "simulated time, us", y, log_x: false, x_unit_bytes: false, series: &series };
            let _ = writeln!(
                out,
                "<details{}><summary>{}</summary>\n<figure class=\"picture\">{}</figure>",
                if ends.contains(&".bps") || ends.contains(&".queued_bytes") { " open=\"open\"" } else { "" },
                escape(title),
                chart.svg().trim()
            );
            if list.len() > CURVES {
                note(&mut out, "soft", &format!("and {} more", list.len() - CURVES));
            }
            out += "</details>\n";
        }
        out
    }
}

/// What a column is, in words.
fn words(what: &str) -> String {
    match what {
        "bps" => "payload a second".into(),
        "ios_per_s" => "I/Os a second".into(),
        "messages_per_s" => "messages a second".into(),
        "backlog" => "operations waiting at the source".into(),
        "queued_bytes" => "payload queued".into(),
        "memory_bytes" => "memory in use".into(),
        "paused" => "paused by the receiver".into(),
        _ => what.replace('_', " ").replace("tlps", "TLPs"),
    }
}

/// A value as a person reads it.
fn read(what: &str, value: f64) -> String {
    match what {
        "bps" => human_rate(value),
        "utilisation" | "paused" => format!("{} %", digits(value * 100.0)),
        "queued_bytes" | "memory_bytes" => format!("{} KiB", digits(value / 1024.0)),
        _ => digits(value),
    }
}

impl Shooting {
    /// Goes on for some milliseconds; says whether the film is done.
    pub fn advance(&mut self) -> bool {
        match self.run.advance(PIECE) {
            Step::More => return false,
            Step::Sample => {
                let row = self.series.row(self.run.sample());
                let mut cells = row.iter().map(|c| c.parse::<f64>().unwrap_or(0.0));
                self.film.times.push(cells.next().unwrap_or(0.0));
                for (column, value) in self.film.columns.iter_mut().zip(cells) {
                    column.push(value);
                }
            }
            Step::Done => return true,
        }
        self.film.times.len() >= self.frames
    }

    /// How much of it is done.
    pub fn progress(&self) -> f64 {
        self.film.times.len() as f64 / self.frames as f64
    }

    /// The film as far as it is.
    pub fn finish(mut self) -> Film {
        let film = &mut self.film;
        if film.head.len() > MOST_COLUMNS {
            let peak = |column: &Vec<f64>| column.iter().copied().fold(0.0, f64::max);
            let live = film.columns.iter().map(|c| peak(c) > 0.0).collect::<Vec<_>>();
            let mut kept = 0;
            let mut keep = live.into_iter().map(|busy| {
                kept += usize::from(busy);
                busy && kept <= MOST_COLUMNS
            });
            let keep: Vec<bool> = keep.by_ref().collect();
            let mut at = 0;
            let mut next = || {
                at += 1;
                keep[at - 1]
            };
            film.head.retain(|_| next());
            at = 0;
            let mut next = || {
                at += 1;
                keep[at - 1]
            };
            film.columns.retain(|_| next());
            film.left_out = keep.iter().filter(|k| !**k).count();
        }
        self.film
    }
}
