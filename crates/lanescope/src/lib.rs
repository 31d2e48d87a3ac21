//! lanescope: where does my bandwidth go?
//!
//! A pure laboratory: text in, report out. It opens no file or socket, reads no clock, starts no thread. The walk:
//! `scenario text → Scenario → Plan → estimate → Report → text | json | csv | svg`. Each room below uses only rooms above it (a test checks).

pub mod diagnostic;
pub mod estimate;
pub mod library;
pub mod pens;
pub mod plan;
pub mod protocol;
pub mod result;
pub mod scenario;
pub mod study;
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
