//! Instruments of storage: a list of tests, each a scenario laid over one machine, worked out and simulated.
//!
//! An instrument's reader gives [`Test`]s; here each becomes a plan by naming the machine as its platform. Tests run on
//! all cores, and are handed over in their order as soon as they are there, so that Ctrl-C leaves the finished ones
//! behind.

use super::simulate::quietly;
use crate::input::Files;
use crate::{ANSWERED, NO_VALUE, Scenario, WRONG, interrupt, output};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::estimate::estimate;
use lanescope::import::{Machine, Test};
use lanescope::plan::{Plan, RunLimits};
use lanescope::result::{Report, Simulation};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::units::Time;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::Sender;

/// The machine that an instrument works on, and how.
#[derive(Args, Clone)]
pub(crate) struct On {
    /// The machine: a scenario, or a platform of the library. Of storage its own flows are left out, since the result
    /// tells its load; a result of IMB or OSU is held against its flows of ranks. Of nccl-tests: a GPU cluster
    pub(crate) machine: String,
    #[command(flatten)]
    pub(crate) how: How,
}

/// How tests are answered.
#[derive(Args, Clone)]
pub(crate) struct How {
    /// Override a value of the machine, or of a flow that --show prints: parts.drive.latency="20 us" (may be repeated)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Leave the simulation out
    #[arg(long)]
    pub(crate) estimate: bool,
    /// Simulate the whole of each test's time, however tight the means are before its end
    #[arg(long, conflicts_with = "estimate")]
    pub(crate) full: bool,
    /// Start of all random numbers
    #[arg(long)]
    pub(crate) seed: Option<u32>,
}

/// `--map NAME=VOLUME`: a name of an instrument's file, and what it stands for here.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    // A device's name may have a sign of equality, a volume's has none.
    let (name, volume) = text.rsplit_once('=').map(|(n, v)| (n.trim(), v.trim())).unwrap_or_default();
    match name.is_empty() || volume.is_empty() {
        true => Err("write a name, = and a volume: \"Pliant LS300S P10\"=ssd.0".into()),
        false => Ok((name.to_owned(), volume.to_owned())),
    }
}

/// A test that was worked out and, unless that was left out or cannot be, simulated.
pub(crate) struct Answered {
    /// What ran.
    pub(crate) plan: Plan,
    /// What came out.
    pub(crate) report: Report,
}

impl On {
    /// Hosts and volumes of the machine. What is wrong with it has been said when there is none.
    pub(crate) fn machine(&self) -> Result<Machine, u8> {
        if self.is_file() {
            // The flows that are overridden are those of the tests.
            let sets = self.how.sets.iter().filter(|s| !s.trim_start().starts_with("flows.")).cloned().collect();
            let scenario = Scenario { file: self.machine.clone(), sets, json: false, csv: false };
            return crate::input::load(&scenario).map(|(plan, _)| plan.machine());
        }
        // Of a name that the library does not have, the user has typed no more than that.
        if !lanescope::library::platforms().iter().any(|e| e.name == self.machine) {
            return Err(super::library::unknown(&self.machine));
        }
        let mut diagnostics = Diagnostics::default();
        let plan = self.plan(&Test { title: self.machine.clone(), text: String::new() }, &mut diagnostics);
        output::diagnostics(&diagnostics);
        plan.map(|p| p.machine()).ok_or(WRONG)
    }

    fn is_file(&self) -> bool {
        self.machine.ends_with(".toml") || Path::new(&self.machine).exists()
    }

    /// A test as a scenario that runs alone, beside the machine's file.
    pub(crate) fn scenario(&self, test: &Test) -> String {
        let reference = match self.is_file() && !self.machine.starts_with(['.', '/']) {
            true => format!("./{}", self.machine),
            false => self.machine.clone(),
        };
        let quoted = |s: &str| serde_json::Value::from(s).to_string();
        format!("title = {}\nplatform = {}\n\n{}", quoted(&test.title), quoted(&reference), test.text)
    }

    /// What will run for a test.
    pub(crate) fn plan(&self, test: &Test, diagnostics: &mut Diagnostics) -> Option<Plan> {
        // Nobody has written this text, so a message names the test; no path may hide in the name.
        let name = format!("test {}", test.title.replace(['/', '\\'], " "));
        let included = Included { name, text: self.scenario(test), author: Author::User };
        let mut plan = lanescope::plan(diagnostics, included, &self.how.sets, &Files)?;
        if self.how.full {
            // An instrument counts from the end of its ramp; without one, from the start.
            plan.limits = RunLimits { warmup: plan.limits.warmup.or(Some(Time::ZERO)), ..plan.limits.whole() };
        }
        if let Some(seed) = self.how.seed {
            plan.limits.seed = seed;
        }
        Some(plan)
    }

    /// Plans of all tests. What is wrong with one is said, once, and ends the whole.
    fn plans(&self, tests: &[Test]) -> Result<Vec<(Plan, Diagnostics)>, u8> {
        let mut said = HashSet::new();
        let mut planned = |test: &Test| {
            let mut diagnostics = Diagnostics::default();
            let plan = self.plan(test, &mut diagnostics);
            // The same thing is wrong with each test.
            if plan.is_none() || diagnostics.sorted().iter().any(|d| said.insert(d.message.clone())) {
                output::diagnostics(&diagnostics);
            }
            plan.map(|p| (p, diagnostics)).ok_or(WRONG)
        };
        tests.iter().map(&mut planned).collect()
    }

    /// Answers tests and hands each over, in their order.
    pub(crate) fn run(&self, tests: &[Test], mut each: impl FnMut(usize, Answered)) -> u8 {
        let plans = match self.plans(tests) {
            Ok(plans) => plans,
            Err(code) => return code,
        };
        let bar = bar(tests.len());
        let mut reasons = Reasons::default();
        let mut done = 0;
        let on = self.clone();
        let work = move |send| {
            plans.into_par_iter().enumerate().for_each_with(send, |send: &mut Sender<_>, (i, (plan, diagnostics))| {
                // What a signal has cut short before it began has nothing to show.
                if !interrupt::stopped() {
                    let run = |plan: &Plan, d: &mut Diagnostics| quietly(plan, plan.limits.seed, d);
                    let _ = send.send((i, on.answer(plan, diagnostics, run)));
                }
            });
        };
        // One core may be ahead of another: what came early waits for its turn.
        let mut early = BTreeMap::new();
        interrupt::gather(work, |(i, answered)| {
            early.insert(i, answered);
            bar.inc(1);
            while let Some((answered, why)) = early.remove(&done) {
                bar.suspend(|| reasons.tell(why));
                bar.suspend(|| each(done, answered));
                done += 1;
            }
        });
        // Of those that were stopped, what lies behind a gap is shown too.
        for (i, (answered, _)) in early {
            each(i, answered);
            done += 1;
        }
        bar.finish_and_clear();
        self.end(tests.len(), done, interrupt::stopped(), reasons)
    }

    /// The same one after the other, with `simulate` in the place of a silent run. It is dropped before anything is
    /// handed over, so that it may hold the terminal.
    pub(crate) fn watch(
        &self,
        tests: &[Test],
        mut simulate: impl FnMut(usize, &Plan, &mut Diagnostics) -> Watched,
        mut each: impl FnMut(usize, Answered),
    ) -> u8 {
        let plans = match self.plans(tests) {
            Ok(plans) => plans,
            Err(code) => return code,
        };
        let (mut all, mut stopped) = (Vec::new(), false);
        for (i, (plan, diagnostics)) in plans.into_iter().enumerate() {
            all.push(self.answer(plan, diagnostics, |plan, d| {
                let watched = simulate(i, plan, d);
                stopped = watched.enough;
                watched.simulation
            }));
            if stopped {
                break;
            }
        }
        drop(simulate);
        let (done, mut reasons) = (all.len(), Reasons::default());
        for (i, (answered, why)) in all.into_iter().enumerate() {
            reasons.tell(why);
            each(i, answered);
        }
        self.end(tests.len(), done, stopped, reasons)
    }

    /// Works a test out and simulates it. With it why it was not, where it should have been.
    fn answer(
        &self,
        plan: Plan,
        mut diagnostics: Diagnostics,
        simulate: impl FnOnce(&Plan, &mut Diagnostics) -> Option<Simulation>,
    ) -> (Answered, Vec<String>) {
        let mut report = estimate(&plan, &diagnostics);
        if !self.how.estimate
            && let Some(s) = simulate(&plan, &mut diagnostics)
        {
            report = report.with(s);
            return (Answered { plan, report }, Vec::new());
        }
        let wrong = diagnostics.sorted().into_iter().filter(|d| d.severity == Severity::Error && !self.how.estimate);
        let why = wrong.map(|d| d.message.clone()).collect();
        (Answered { plan, report }, why)
    }

    fn end(&self, tests: usize, done: usize, stopped: bool, reasons: Reasons) -> u8 {
        if stopped {
            crate::output::say!("stopped: {done} of {tests} tests have an answer, the last of them as far as seen");
        }
        if stopped || !reasons.0.is_empty() { NO_VALUE } else { ANSWERED }
    }
}

/// A run that somebody watched.
pub(crate) struct Watched {
    /// What came out.
    pub(crate) simulation: Option<Simulation>,
    /// Whether no other test is wanted.
    pub(crate) enough: bool,
}

/// Reasons why tests were not simulated; each is said once.
#[derive(Default)]
struct Reasons(HashSet<String>);

impl Reasons {
    fn tell(&mut self, why: Vec<String>) {
        for reason in why {
            if self.0.insert(reason.clone()) {
                crate::output::say!("note: not simulated: {reason}");
            }
        }
    }
}

fn bar(tests: usize) -> ProgressBar {
    let terminal = std::io::stderr().is_terminal() && tests > 1;
    let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(tests as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} tests, {elapsed} so far") {
        bar.set_style(style);
    }
    bar
}
