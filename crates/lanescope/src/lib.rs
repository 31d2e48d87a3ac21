//! lanescope: where does my bandwidth go?
//!
//! A pure laboratory: text in, report out. It opens no file or socket, reads no clock, starts no thread. The walk:
//! `scenario text → Scenario → Plan → estimate, simulate → Report → text | json | csv | svg`. The rooms stand in an
//! order (units, tools, diagnostic, protocol, scenario, mpi, import, plan, result, estimate, sim, explain, pens,
//! library, study, api); each uses only rooms before it, and a test checks.
//!
//! [`api`] has the four steps of an answer. Three examples, each of which runs as a test:
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
use scenario::{Included, Resolver};

/// Text to plan: the first half of every walk. Warnings and errors are in `diagnostics`.
pub fn plan(
    diagnostics: &mut Diagnostics,
    scenario: Included,
    sets: &[String],
    resolver: &dyn Resolver,
) -> Option<Plan> {
    let scenario = scenario::read(diagnostics, scenario, sets, resolver)?;
    plan::build(diagnostics, &scenario)
}
