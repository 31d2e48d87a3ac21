//! What the command and the Python package share, and the pure library must not have: files, threads, diagnostics
//! drawn in their text, sweeps with their Parquet, tables of measured rows.
//!
//! [`sweep`] is the largest: a grid of runs that may be killed, divided and gone on with. Nothing here works out a
//! rate: all answers are the library's.

pub mod collective;
pub mod draw;
pub mod files;
pub mod gather;
pub mod hosts;
pub mod measured;
pub mod sweep;
pub mod vary;

use lanescope::pens;
use lanescope::pens::page::{Document, Section};
pub use lanescope::pens::planned;
use lanescope::pens::svg::Method;
use lanescope::plan::Plan;
use lanescope::result::Report;
use lanescope::scenario::Included;

/// The topology, and the waterfall of every direction that binds or is the busiest, by each of some methods: names and
/// SVG. Names of the estimate's end in its name where it is not alone.
pub fn pictures(plan: &Plan, report: &Report, methods: &[Method]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for method in methods {
        let which = match method {
            Method::Estimate if methods.len() > 1 => "-estimate",
            _ => "",
        };
        all.push((format!("topology{which}"), pens::svg::topology(plan, report, *method)));
        for at in pens::shown(report, *method, false) {
            let link = &report.links[at];
            let name = match link.to.is_empty() {
                true => format!("waterfall-{}{which}", link.name),
                false => format!("waterfall-{}-to-{}{which}", link.name, link.to),
            };
            let simulated = report.simulation.as_ref().filter(|_| *method == Method::Simulation);
            let svg = match simulated.and_then(|s| s.links.get(at)) {
                Some(simulated) => pens::svg::simulated_waterfall(link, simulated),
                None => pens::svg::waterfall(link),
            };
            all.push((name, svg));
        }
    }
    all
}

/// A page of sections that no engine answers again, about the text that they are of.
pub fn page(title: &str, text: &Included, sections: Vec<Section>) -> String {
    let about = format!("lanescope {}, {}", env!("CARGO_PKG_VERSION"), text.name);
    Document { title, about: &about, sections, scenario: &text.text, live: None }.html()
}
