//! A grid of runs that may outgrow one process: its points, its rows, and how they are worked out.
//!
//! A [`Question`] is all of it as text: a scenario, what is laid over it, and the points. Its points are numbered, so
//! that a process, a shard, a thread or another machine can be handed numbers; what a point gives depends on nothing
//! but the question and its number. [`run`] works them out on threads of its own, which end with it: no pool stays
//! behind that a fork would find dead. [`Folder`] keeps rows as Parquet, and knows which points are there.

mod chart;
mod done;
mod fields;
mod folder;
mod row;
mod slurm;
mod table;

pub use chart::{chart, series};
pub use done::{Done, Missing};
pub use fields::{Field, rows};
pub use folder::{Folder, Shard, Summary};
pub use row::{COLUMNS, Cell, Column, Fingerprint, Kind, Row, fingerprint};
pub use slurm::script;
pub use table::{from_parquet, points_of, rows_of_bytes, to_parquet};

use crate::draw;
use crate::files::Files;
use lanescope::Base;
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::plan::Plan;
use lanescope::result::Report;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Points of a sweep at most.
pub const MOST: u64 = 100_000_000;
/// Events between two looks at whether a run is to go on: some milliseconds.
const PIECE: u64 = 1 << 16;
/// How long a thread gathers rows before it hands them over.
const TOGETHER: Duration = Duration::from_millis(5);
/// How often the caller is asked whether to go on.
const TICK: Duration = Duration::from_millis(20);

/// Where the points are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Points {
    /// All combinations of the values of each path; the last path runs fastest.
    Grid(Vec<Vec<String>>),
    /// One after the other: a value for each path.
    List(Vec<Vec<String>>),
}

/// What is asked: a scenario at many points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What messages call the scenario; files that it names are looked for beside it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What is laid over it at every point: `path=value`.
    pub sets: Vec<String>,
    /// The paths that vary.
    pub paths: Vec<String>,
    /// Their values.
    pub points: Points,
    /// Whether each point is simulated beside its estimate.
    pub simulate: bool,
    /// Seeds that each point is simulated with; empty for the scenario's own.
    pub seeds: Vec<u32>,
    /// Metrics beside the columns that every sweep has, as [`Report::metric`] has them; of simulated points their
    /// simulated means.
    pub metrics: Vec<String>,
}

impl Question {
    /// How many points there are.
    ///
    /// # Errors
    ///
    /// More than [`MOST`], none, a value that is missing or empty, a path given twice, or seeds without a simulation.
    pub fn size(&self) -> Result<u64, String> {
        let width = self.paths.len();
        if let Some(twice) = self.paths.iter().enumerate().find(|(i, p)| self.paths[..*i].contains(p)) {
            return Err(format!("{} is varied twice", twice.1));
        }
        if !self.seeds.is_empty() && !self.simulate {
            return Err("seeds are for simulations: an estimate draws no random numbers; simulate too".into());
        }
        let lists = match &self.points {
            Points::Grid(lists) | Points::List(lists) => lists,
        };
        if lists.iter().flatten().any(|v| v.trim().is_empty()) {
            return Err("one of the values is empty".into());
        }
        let points = match &self.points {
            Points::Grid(lists) if lists.len() != width => return Err("every path needs its values".into()),
            Points::List(lists) if lists.iter().any(|l| l.len() != width) => {
                return Err("every point needs a value for each path".into());
            }
            Points::Grid(lists) => lists.iter().try_fold(1u64, |n, l| n.checked_mul(l.len() as u64)),
            Points::List(lists) => Some(lists.len() as u64),
        };
        let all = points.and_then(|n| n.checked_mul(self.seeds.len().max(1) as u64));
        match all.filter(|n| *n <= MOST) {
            None => Err(format!("a sweep has at most {MOST} points")),
            Some(0) => Err("there is no point: a path without values, or no points at all".into()),
            Some(n) => Ok(n),
        }
    }

    /// The values of a point, one for each path, and its seed.
    pub fn point(&self, number: u64) -> (Vec<&str>, Option<u32>) {
        let seeds = self.seeds.len().max(1) as u64;
        let seed = self.seeds.get((number % seeds) as usize).copied();
        let mut rest = number / seeds;
        let values = match &self.points {
            Points::List(lists) => lists[rest as usize].iter().map(String::as_str).collect(),
            Points::Grid(lists) => {
                let mut values: Vec<&str> = lists
                    .iter()
                    .rev()
                    .map(|list| {
                        let value = &list[(rest % list.len() as u64) as usize];
                        rest /= list.len() as u64;
                        value.as_str()
                    })
                    .collect();
                values.reverse();
                values
            }
        };
        (values, seed)
    }

    /// Kinds of the columns of paths: whole numbers, numbers, or text.
    pub fn kinds(&self) -> Vec<Kind> {
        let of = |values: &mut dyn Iterator<Item = &String>| {
            let (mut whole, mut number) = (true, true);
            for v in values {
                whole &= v.parse::<i64>().is_ok();
                number &= v.parse::<f64>().is_ok_and(f64::is_finite);
            }
            if whole {
                Kind::Int
            } else if number {
                Kind::Float
            } else {
                Kind::Text
            }
        };
        match &self.points {
            Points::Grid(lists) => lists.iter().map(|l| of(&mut l.iter())).collect(),
            Points::List(lists) => (0..self.paths.len()).map(|i| of(&mut lists.iter().map(|l| &l[i]))).collect(),
        }
    }

    /// What is laid over the scenario at a point.
    fn laid(&self, number: u64) -> Vec<String> {
        let (values, seed) = self.point(number);
        let own = self.paths.iter().zip(values).map(|(path, value)| format!("{path}={value}"));
        self.sets.iter().cloned().chain(own).chain(seed.map(|s| format!("run.seed={s}"))).collect()
    }

    /// The scenario, to be planned at many points.
    fn base(&self) -> Base {
        Base::new(Included { name: self.name.clone(), text: self.text.clone(), author: Author::User })
    }

    fn plan(&self, sets: &[String], diagnostics: &mut Diagnostics) -> Option<Plan> {
        self.base().plan(diagnostics, sets, &Files)
    }

    /// Whether the scenario itself and the first point can be answered, and the metrics are there: what is wrong
    /// everywhere is said once, before anything runs. Gives how many rows a point has.
    ///
    /// # Errors
    ///
    /// What [`Question::size`] says; a path that leads nowhere, drawn in its text; a metric that no report has.
    pub fn check(&self) -> Result<u64, String> {
        self.size()?;
        let mut diagnostics = Diagnostics::default();
        let base = self.plan(&self.sets, &mut diagnostics);
        // A scenario may need a varied value to stand; then its first point decides.
        let plan = match base {
            Some(plan) => plan,
            None => {
                let mut first = Diagnostics::default();
                self.plan(&self.laid(0), &mut first).ok_or_else(|| draw::plain(&first))?
            }
        };
        for (path, value) in self.paths.iter().zip(self.point(0).0) {
            let mut found = Diagnostics::default();
            let sets = [self.sets.as_slice(), &[format!("{path}={value}")]].concat();
            let planned = self.plan(&sets, &mut found).is_some();
            // Only what points at the path itself is wrong everywhere; a value may be wrong at this point alone.
            let path_is_wrong = |d: &&lanescope::diagnostic::Diagnostic| {
                d.severity == Severity::Error
                    && d.span.is_some_and(|s| {
                        let source = found.source(s.source);
                        source.name.starts_with("--set")
                            && source.text.get(..s.end as usize).is_some_and(|t| !t.contains('='))
                    })
            };
            if !planned && found.sorted().iter().any(path_is_wrong) {
                return Err(draw::plain(&found));
            }
        }
        let report = lanescope::estimate::estimate(&plan, &Diagnostics::default());
        for metric in &self.metrics {
            // What only a simulation gives is looked for at each point.
            if !self.simulate {
                report.metric(metric)?;
            }
        }
        Ok(report.flows.len().max(1) as u64)
    }

    /// What tells this sweep from every other: the question, the program's version, and the plan that the scenario
    /// comes to with the files that it names.
    pub fn identity(&self) -> String {
        let mut hash = SipHasher13::new_with_keys(0, 0);
        let mut diagnostics = Diagnostics::default();
        let base = match self.plan(&self.sets, &mut diagnostics) {
            Some(plan) => plan.fingerprint,
            None => diagnostics.to_string(),
        };
        (env!("CARGO_PKG_VERSION"), base).hash(&mut hash);
        serde_json::to_string(&(
            &self.text,
            &self.sets,
            &self.paths,
            &self.points,
            self.simulate,
            &self.seeds,
            &self.metrics,
        ))
        .unwrap_or_default()
        .hash(&mut hash);
        let h = hash.finish128();
        format!("{:016x}{:016x}", h.h1, h.h2)
    }

    /// The rows of a point: one for each flow, or one that says why there is none. `None` when it was told to stop
    /// before the point was done; half a simulation is no row.
    pub fn answer(&self, number: u64, stopped: &(dyn Fn() -> bool + Sync)) -> Option<Vec<Row>> {
        self.answer_on(&mut self.base(), number, stopped)
    }

    fn answer_on(&self, base: &mut Base, number: u64, stopped: &(dyn Fn() -> bool + Sync)) -> Option<Vec<Row>> {
        let one = AssertUnwindSafe(|| self.rows(base, number, stopped));
        match catch_unwind(one) {
            Ok(rows) => rows,
            // A bug of this program is named at its point and does not end the others.
            Err(panic) => {
                *base = self.base();
                let said = panic.downcast_ref::<String>().map(String::as_str);
                let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
                Some(vec![row::failed(
                    self,
                    number,
                    &format!("the program failed: this is a bug of lanescope: {said}"),
                )])
            }
        }
    }

    fn rows(&self, base: &mut Base, number: u64, stopped: &(dyn Fn() -> bool + Sync)) -> Option<Vec<Row>> {
        let mut diagnostics = Diagnostics::default();
        let Some(plan) = base.plan(&mut diagnostics, &self.laid(number), &Files) else {
            return Some(vec![row::failed(self, number, &first_error(&diagnostics))]);
        };
        let mut report = lanescope::estimate::estimate(&plan, &diagnostics);
        let mut not_simulated = None;
        if self.simulate {
            let mut found = Diagnostics::default();
            match simulate(&plan, &mut found, stopped) {
                Ok(Some(simulation)) => report = report.with(simulation),
                Ok(None) => return None,
                Err(()) => not_simulated = Some(first_error(&found)),
            }
        }
        Some(row::of(self, number, &report, not_simulated))
    }
}

/// A run to its end; `Ok(None)` when it was stopped.
fn simulate(
    plan: &Plan,
    diagnostics: &mut Diagnostics,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Option<lanescope::result::Simulation>, ()> {
    let Some(mut run) = Run::new(plan, u64::from(plan.limits.seed), diagnostics) else { return Err(()) };
    while run.advance(PIECE) != Step::Done {
        if stopped() {
            return Ok(None);
        }
    }
    Ok(Some(run.snapshot()))
}

/// The first error in one line: `name:line:column: message (hint)`.
fn first_error(diagnostics: &Diagnostics) -> String {
    let mut errors = diagnostics.sorted().into_iter().filter(|d| d.severity == Severity::Error);
    let Some(d) = errors.next() else { return "there is no plan, and no error that says why".into() };
    let more = match errors.count() {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    let place = d.span.map_or(String::new(), |s| {
        let (name, line, column) = diagnostics.place(s);
        format!("{name}:{line}:{column}: ")
    });
    let hint = d.hint.as_ref().map_or(String::new(), |h| format!(" ({h})"));
    format!("{place}{}{hint}{more}", d.message)
}

/// Works points out on threads of its own and hands their rows over as they come, in any order. The caller's `tick` is
/// called every some milliseconds, on the caller's thread, with how many are done; when it gives false, points that are
/// under way are dropped and the rest is not begun. Gives how many are done.
///
/// # Errors
///
/// What `take` says: the rest is not begun then.
pub fn run(
    question: &Question,
    points: impl ExactSizeIterator<Item = u64> + Send,
    threads: usize,
    mut take: impl FnMut(Vec<Row>) -> Result<(), String>,
    mut tick: impl FnMut(u64) -> bool,
) -> Result<u64, String> {
    let (stop, all) = (AtomicBool::new(false), points.len());
    let points = Mutex::new(points);
    let stopped = || stop.load(Ordering::Relaxed);
    let mut done = 0;
    let mut failed = None;
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Vec<Vec<Row>>>(1024);
        for _ in 0..threads.clamp(1, 1024).min(all.max(1)) {
            let send = send.clone();
            let (stopped, points) = (&stopped, &points);
            scope.spawn(move || {
                let (mut base, mut ready) = (question.base(), Vec::new());
                let mut last = std::time::Instant::now();
                while !stopped() {
                    // A statement of its own: the lock is free again before the point is worked out.
                    let next = points.lock().ok().and_then(|mut p| p.next());
                    let Some(point) = next else { break };
                    let Some(rows) = question.answer_on(&mut base, point, stopped) else { break };
                    ready.push(rows);
                    // Whoever takes them is woken for many: it would cost as much as an estimate each time.
                    if last.elapsed() >= TOGETHER {
                        last = std::time::Instant::now();
                        if send.send(std::mem::take(&mut ready)).is_err() {
                            return;
                        }
                    }
                }
                // That nobody takes them is no news to whoever has gone.
                let _ = send.send(ready);
            });
        }
        drop(send);
        let mut last = std::time::Instant::now();
        loop {
            match receive.recv_timeout(TICK) {
                Ok(ready) => {
                    for rows in ready {
                        done += 1;
                        if failed.is_none()
                            && let Err(e) = take(rows)
                        {
                            failed = Some(e);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if last.elapsed() >= TICK {
                last = std::time::Instant::now();
                if !tick(done) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    tick(done);
    match failed {
        Some(e) => Err(e),
        None => Ok(done),
    }
}

/// The value of a metric by the method that was asked for.
fn metric(report: &Report, path: &str, simulated: bool) -> Result<f64, String> {
    match simulated && report.simulation.is_some() {
        true => report.simulated(path).map(|m| m.value.mean).or_else(|_| report.metric(path).map(|m| m.value)),
        false => report.metric(path).map(|m| m.value),
    }
}
