//! A scenario out of the arguments: its text, and its plan.

use crate::{Scenario, WRONG, output};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::plan::gpu::GpuCluster;
use lanescope::scenario::{Included, gpu};
pub(crate) use lanescope_front::files::{Files, limited_path, lossy, path};
use std::sync::OnceLock;

/// The text of a scenario. Standard input can be read once, and is kept for whoever asks again.
pub(crate) fn scenario(file: &str) -> Result<Included, String> {
    static INPUT: OnceLock<Result<Included, String>> = OnceLock::new();
    match file {
        "-" => INPUT.get_or_init(|| lanescope_front::files::scenario("-")).clone(),
        _ => lanescope_front::files::scenario(file),
    }
}

/// A cluster of GPUs at its typical values; none where the text is of something else. What is wrong is said.
pub(crate) fn cluster(a: &Scenario) -> Option<Result<GpuCluster, u8>> {
    let included = scenario(&a.file).ok().filter(|i| gpu::is_cluster(&i.text))?;
    let mut diagnostics = Diagnostics::default();
    let corners = GpuCluster::corners(&mut diagnostics, included, &a.sets);
    output::diagnostics(&diagnostics);
    Some(corners.map(|mut c| c.swap_remove(0)).ok_or(WRONG))
}

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
