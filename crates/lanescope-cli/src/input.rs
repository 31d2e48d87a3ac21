//! A scenario out of the arguments: its text, and its plan.

use crate::{Scenario, WRONG, output};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
pub(crate) use lanescope_front::files::{Files, limited_path, lossy, path, scenario};

/// Reads and plans; says what is wrong on standard error.
pub(crate) fn load(a: &Scenario) -> Result<(Plan, Diagnostics), u8> {
    let included = scenario(&a.file).map_err(|e| {
        output::error(&e);
        WRONG
    })?;
    let mut diagnostics = Diagnostics::default();
    let plan = lanescope::plan(&mut diagnostics, included, &a.sets, &Files);
    output::diagnostics(&diagnostics);
    plan.map(|p| (p, diagnostics)).ok_or(WRONG)
}
