//! lanescope: where does my bandwidth go?
//!
//! A pure laboratory: text in, report out. It opens no file or socket, reads no clock, starts no thread. The walk:
//! `scenario text → Scenario → Plan → estimate, simulate → Report → text | json | csv | svg`. The rooms stand in an
//! order (units, tools, diagnostic, protocol, scenario, mpi, import, plan, result, estimate, sim, explain, pens,
//! library, study); each uses only rooms before it, and a test checks.
//!
//! ```
//! use lanescope::diagnostic::Diagnostics;
//! use lanescope::library::Library;
//! use lanescope::scenario::{Included, tree::Author};
//!
//! let text = r#"
//!     [parts.host]
//!     is = "root-complex"
//!     [parts.card]
//!     is = "endpoint"
//!     [links.slot]
//!     between = ["host", "card"]
//!     pcie = "gen3 x8"
//!     mps = "256 B"
//!     [flows.capture]
//!     from = "card"
//!     to = "host.memory"
//!     do = "write"
//!     size = "4 KiB"
//! "#;
//! let scenario = Included { name: "capture.toml".into(), text: text.into(), author: Author::User };
//! let mut diagnostics = Diagnostics::default();
//! let plan = lanescope::plan(&mut diagnostics, scenario, &[], &Library).expect("a scenario without mistakes");
//! let report = lanescope::estimate::estimate(&plan, &diagnostics);
//! assert_eq!(report.flows[0].bound_by.element, "links.slot toward host");
//! // 63.02 Gb/s after line coding, 256 of 280 B of each TLP, one block of 375 an ordered set.
//! assert!((report.flows[0].share.typical / 57.46e9 - 1.0).abs() < 1e-3);
//! ```

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
