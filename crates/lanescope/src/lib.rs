//! lanescope: where does my bandwidth go?
//!
//! A pure laboratory: text in, report out. It opens no file or socket, reads no clock, starts no thread. The walk:
//! `scenario text → Scenario → Plan → estimate, simulate → Report → text | json | csv | svg`. The rooms stand in an
//! order (units, tools, diagnostic, protocol, scenario, mpi, import, plan, result, estimate, sim, explain, pens,
//! library, study, api); each uses only rooms before it, and a test checks.
//!
//! # What to build on
//!
//! - [`api`], for programs that want answers: load, set, estimate, simulate, print. This is the interface that is kept.
//! - [`result`], [`diagnostic`], [`scenario`] and [`units`], what `api` takes and gives: reports (their JSON has a
//!   numbered schema), mistakes, where the files of a scenario come from, quantities. Enums that new technologies
//!   extend are `#[non_exhaustive]`.
//! - All other modules are what the command, the Python module and the page are made of. They are public because these
//!   are crates of their own; they carry no promise of stability and may change in any version. What this crate alone
//!   uses is not public.
//!
//! Three examples of [`api`], each of which runs as a test:
//!
//! ```
#![doc = include_str!("../examples/estimate.rs")]
//! ```
//!
//! ```
#![doc = include_str!("../examples/simulate.rs")]
//! ```
//!
//! ```
#![doc = include_str!("../examples/sweep.rs")]
//! ```

pub mod api;
pub mod diagnostic;
pub mod estimate;
pub mod explain;
pub mod import;
pub mod library;
pub mod mpi;
pub mod pens;
pub mod plan;
pub mod protocol;
pub mod result;
pub mod scenario;
pub mod sim;
pub mod study;
mod tools;
pub mod units;

use diagnostic::Diagnostics;
use plan::Plan;
use scenario::{Included, Known, Resolver};

/// A scenario that is planned many times, each time with other values laid over it: its own text and those that it
/// names are read once. The texts must stay what they are meanwhile.
pub struct Base {
    text: Included,
    known: Known,
}

impl Base {
    /// Of a text.
    pub fn new(text: Included) -> Base {
        Base { text, known: Known::default() }
    }

    /// What [`plan()`] gives.
    pub fn plan(&mut self, diagnostics: &mut Diagnostics, sets: &[String], resolver: &dyn Resolver) -> Option<Plan> {
        let scenario = scenario::read_with(diagnostics, self.text.clone(), sets, resolver, &mut self.known)?;
        plan::build(diagnostics, &scenario).map(sim::with_level).map(estimate::with_message_costs)
    }
}

/// Text to plan: the first half of every walk. Warnings and errors are in `diagnostics`.
pub fn plan(
    diagnostics: &mut Diagnostics,
    scenario: Included,
    sets: &[String],
    resolver: &dyn Resolver,
) -> Option<Plan> {
    let scenario = scenario::read(diagnostics, scenario, sets, resolver)?;
    plan::build(diagnostics, &scenario).map(sim::with_level).map(estimate::with_message_costs)
}
