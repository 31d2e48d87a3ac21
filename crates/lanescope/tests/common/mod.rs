//! Helpers of the integration tests.
#![allow(dead_code, reason = "each test file uses some of them")]

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::result::{FlowReport, Report};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;

/// Plans a user's text; the diagnostics come back in any case.
pub(crate) fn plan(text: &str, sets: &[&str]) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let included = Included { name: "t.toml".into(), text: text.to_owned(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &sets, &Library);
    (plan, diagnostics)
}

/// Answers a text that must be right.
pub(crate) fn run(text: &str, sets: &[&str]) -> Report {
    match plan(text, sets) {
        (Some(plan), diagnostics) => estimate(&plan, &diagnostics),
        (None, diagnostics) => panic!("{diagnostics}"),
    }
}

/// One flow of a report.
pub(crate) fn flow<'a>(report: &'a Report, name: &str) -> &'a FlowReport {
    report.flows.iter().find(|f| f.name == name).expect("the flow is there")
}

/// The text of all messages about a text that must be wrong.
pub(crate) fn wrong(text: &str, sets: &[&str]) -> String {
    let (plan, diagnostics) = plan(text, sets);
    assert!(plan.is_none(), "this should not have passed");
    diagnostics.to_string()
}
