//! Values of one thing that do not fit each other, whatever stands around it.

use super::keys::Core;
use super::quantity::Corner;
use super::{Part, PartKeys};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Checks every part that could be read, so that all errors of a file are shown at once.
pub(super) fn parts(diagnostics: &mut Diagnostics, parts: &[Part]) {
    for part in parts {
        match &part.keys {
            PartKeys::RootComplex(k) => {
                if k.large_read.is_some() != k.large_completion_size.is_some() {
                    diagnostics.push(Diagnostic::error(
                        part.span,
                        format!("{}: large_read and large_completion_size go together", part.name),
                    ));
                }
                let cycles = |c| k.core_cycles.at(c) + k.hub_cycles.at(c);
                if [Corner::Slower, Corner::Typical, Corner::Faster].map(cycles) != [0; 3] && k.core_clock.is_none() {
                    diagnostics.push(Diagnostic::error(
                        part.span,
                        format!("{}: core_cycles and hub_cycles need core_clock", part.name),
                    ));
                }
            }
            PartKeys::Switch(k) => {
                if k.core.typical == Core::Crossbar && k.core_bandwidth.is_some() {
                    diagnostics.push(
                        Diagnostic::warning(
                            k.core.span.or(Some(part.span)),
                            format!("{}: a crossbar does not block, its core_bandwidth is not used", part.name),
                        )
                        .hint("say core = \"shared-bus\" or \"shared-memory\""),
                    );
                }
                if k.core.typical != Core::Crossbar && k.core_bandwidth.is_none() {
                    diagnostics.push(Diagnostic::error(
                        part.span,
                        format!("{}: a shared core needs its core_bandwidth", part.name),
                    ));
                }
            }
            PartKeys::Endpoint(_) => {}
        }
    }
}
