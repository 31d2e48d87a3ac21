//! The four steps of an answer: load a text, change a value, estimate, simulate.
//!
//! Everything else in this crate is what these are made of. A [`Model`] is a scenario that has been read and wired; it
//! is not changed by what is asked of it, and may be asked from several threads. Texts name devices and platforms of
//! the built-in library; those that name files are read with [`crate::plan()`] and a
//! [`Resolver`](crate::scenario::Resolver)
//! of one's own.

use crate::diagnostic::Diagnostics;
use crate::estimate;
use crate::library::Library;
use crate::pens::{Paint, text};
use crate::plan::Plan;
use crate::result::Report;
use crate::scenario::Included;
use crate::scenario::tree::Author;
use crate::sim::{Run, Step};
use std::fmt;

/// Events between two looks at whether a run is to go on: some milliseconds.
const EVENTS: u64 = 1 << 14;

/// What is wrong with a scenario. Prints as the command prints it: each mistake with its place in the text and what to
/// do about it.
#[derive(Clone, Debug)]
pub struct Error {
    diagnostics: Diagnostics,
}

impl Error {
    /// The mistakes one by one, with severity, place, message and hint.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostics.fmt(f)
    }
}

impl std::error::Error for Error {}

/// A scenario that can be answered.
#[derive(Clone, Debug)]
pub struct Model {
    scenario: Included,
    sets: Vec<String>,
    plan: Plan,
    diagnostics: Diagnostics,
}

/// Reads a scenario: the text of a TOML file; `name` is what messages call it.
///
/// # Errors
///
/// Whatever `lanescope check` would refuse: all mistakes of the text at once.
pub fn load(name: &str, text: &str) -> Result<Model, Error> {
    let scenario = Included { name: name.to_owned(), text: text.to_owned(), author: Author::User };
    Model::of(scenario, Vec::new())
}

impl Model {
    fn of(scenario: Included, sets: Vec<String>) -> Result<Model, Error> {
        let mut diagnostics = Diagnostics::default();
        match crate::plan(&mut diagnostics, scenario.clone(), &sets, &Library) {
            Some(plan) => Ok(Model { scenario, sets, plan, diagnostics }),
            None => Err(Error { diagnostics }),
        }
    }

    /// The same with another value, as `--set` has it: a path like `parts.nic.tags`, a value as in TOML (quotes around
    /// a string may be left out).
    ///
    /// # Errors
    ///
    /// A path that leads nowhere, a value that its key does not take, or a plan that is impossible with it.
    pub fn set(&self, path: &str, value: &str) -> Result<Model, Error> {
        let mut sets = self.sets.clone();
        sets.push(format!("{path}={value}"));
        Model::of(self.scenario.clone(), sets)
    }

    /// What was wired: parts, links, routes and flows with all their values.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the text says that is likely not meant, one line each.
    pub fn warnings(&self) -> Vec<String> {
        self.diagnostics.warnings()
    }

    /// The answer in closed form. Rates are bits per second, times are seconds.
    pub fn estimate(&self) -> Report {
        estimate::estimate(&self.plan, &self.diagnostics)
    }

    /// The answer in closed form, and beside it that of the simulation, for as long and as tight as the scenario's
    /// `[run]` says, with its seed.
    ///
    /// # Errors
    ///
    /// A scenario that the simulation does not know, e.g. FLIT mode.
    pub fn simulate(&self) -> Result<Report, Error> {
        self.simulate_while(self.plan.limits.seed as u64, |_| true)
    }

    /// The same with a seed, for as long as `goes_on` gives true: it is called every some milliseconds with the run, of
    /// which it may ask how far it has come. What was found until then is the answer.
    ///
    /// # Errors
    ///
    /// As [`Model::simulate`].
    pub fn simulate_while(&self, seed: u64, mut goes_on: impl FnMut(&Run) -> bool) -> Result<Report, Error> {
        let mut diagnostics = self.diagnostics.clone();
        let Some(mut run) = Run::new(&self.plan, seed, &mut diagnostics) else { return Err(Error { diagnostics }) };
        while run.advance(EVENTS) != Step::Done {
            if !goes_on(&run) {
                run.stop();
            }
        }
        Ok(self.estimate().with(run.snapshot()))
    }
}

/// A report as the command prints it, without colours.
pub fn text(report: &Report) -> String {
    text::report(report, Paint::default(), false)
}
