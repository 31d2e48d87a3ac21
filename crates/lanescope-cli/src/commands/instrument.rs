//! Instruments of storage: a list of tests, each a scenario laid over one machine, worked out and simulated.
//!
//! An instrument's reader gives [`Test`]s; here each becomes a plan by naming the machine as its platform. Tests run on all cores, and are handed over in
//! their order as soon as they are there, so that Ctrl-C leaves the finished ones behind.

use super::simulate::{self, quietly};
use crate::input::Files;
use crate::{ANSWERED, NO_VALUE, Scenario, WRONG, output};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::estimate::estimate;
use lanescope::import::{Machine, Test};
use lanescope::plan::Plan;
use lanescope::result::Report;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

/// The machine that an instrument works on, and how.
#[derive(Args, Clone)]
pub(crate) struct On {
    /// The machine: a scenario, whose own flows are left out, or a platform of the library
    pub(crate) machine: String,
    /// Override a value of the machine: parts.drive.latency="20 us" (may be repeated)
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
            let scenario = Scenario { file: self.machine.clone(), sets: self.sets.clone(), json: false, csv: false };
            return super::answer::load(&scenario).map(|(plan, _)| plan.machine());
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
        let mut plan = lanescope::plan(diagnostics, included, &self.sets, &Files)?;
        if self.full {
            plan.stop = plan.stop.whole();
        }
        if let Some(seed) = self.seed {
            plan.stop.seed = seed;
        }
        Some(plan)
    }

    /// Answers tests and hands each over, in their order. What is wrong with one is said once, and ends the whole.
    pub(crate) fn run(&self, tests: &[Test], mut each: impl FnMut(usize, Answered)) -> u8 {
        let mut plans = Vec::with_capacity(tests.len());
        let mut said = HashSet::new();
        for test in tests {
            let mut diagnostics = Diagnostics::default();
            let plan = self.plan(test, &mut diagnostics);
            // The same thing is wrong with each test.
            if plan.is_none() || diagnostics.sorted().iter().any(|d| said.insert(d.message.clone())) {
                output::diagnostics(&diagnostics);
            }
            let Some(plan) = plan else { return WRONG };
            plans.push((plan, diagnostics));
        }
        let stop = simulate::listen();
        let bar = bar(tests.len());
        let (send, receive) = mpsc::channel();
        let answer = |(plan, mut diagnostics): (Plan, Diagnostics)| {
            let mut report = estimate(&plan, &diagnostics);
            let simulated = match self.estimate {
                true => None,
                false => quietly(&plan, plan.stop.seed, &mut diagnostics),
            };
            let complete = self.estimate || simulated.is_some();
            if let Some(s) = simulated {
                report = report.with(s);
            }
            let wrong = diagnostics.sorted().into_iter().filter(|d| d.severity == Severity::Error);
            let why: Vec<String> = wrong.map(|d| d.message.clone()).collect();
            (Answered { plan, report }, complete, why)
        };
        let (mut code, mut done) = (ANSWERED, 0);
        let mut told = HashSet::new();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                plans.into_par_iter().enumerate().for_each_with(send, |send, (i, plan)| {
                    // What Ctrl-C has cut short before it began has nothing to show.
                    if !stop.load(Ordering::Relaxed) {
                        let _ = send.send((i, answer(plan)));
                    }
                });
            });
            // One core may be ahead of another: what came early waits for its turn.
            let mut early = BTreeMap::new();
            for (i, answered) in receive {
                early.insert(i, answered);
                bar.inc(1);
                while let Some((answered, complete, why)) = early.remove(&done) {
                    if !complete {
                        code = NO_VALUE;
                        let why = why.into_iter().filter(|w| told.insert(w.clone()));
                        why.for_each(|w| bar.suspend(|| eprintln!("note: not simulated: {w}")));
                    }
                    bar.suspend(|| each(done, answered));
                    done += 1;
                }
            }
            // Of those that were stopped, what lies behind a gap is shown too.
            for (i, (answered, ..)) in early {
                each(i, answered);
                done += 1;
            }
        });
        bar.finish_and_clear();
        if stop.load(Ordering::Relaxed) {
            eprintln!("stopped: {done} of {} tests have an answer, the last of them as far as seen", tests.len());
            code = NO_VALUE;
        }
        code
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
