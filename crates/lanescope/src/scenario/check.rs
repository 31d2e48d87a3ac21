//! Values of one thing that do not fit each other, whatever stands around it.

mod backbone;

use super::keys::{Core, EthernetSwitch};
use super::quantity::Corner;
use super::{NodeKeys, Part, PartKeys};
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
                backbone::keys(diagnostics, part, k);
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

/// The same of Ethernet.
pub(super) fn nodes(diagnostics: &mut Diagnostics, nodes: &[Part<NodeKeys>]) {
    let mut last = "";
    for part in nodes {
        // What is wrong with a table is wrong with each of its instances.
        if let (NodeKeys::Switch(k), true) = (&part.keys, part.group != last) {
            let before = diagnostics.count();
            thresholds(diagnostics, part, k);
            last = if diagnostics.count() > before { &part.group } else { last };
        }
    }
}

/// Thresholds of an Ethernet switch against each other and its memory.
fn thresholds(diagnostics: &mut Diagnostics, part: &Part<NodeKeys>, k: &EthernetSwitch) {
    let memory = k.memory.typical;
    let pairs = [
        ("high_threshold", &k.high_threshold, "low_threshold", &k.low_threshold),
        ("ecn_high", &k.ecn_high, "ecn_low", &k.ecn_low),
    ];
    for (high_name, high, low_name, low) in pairs {
        for (name, q) in [(high_name, high), (low_name, low)] {
            if let Some(q) = q.as_ref().filter(|q| q.typical > memory) {
                let what = format!("{}: {name} = {} is above its memory of {memory}", part.name, q.typical);
                let d = Diagnostic::error(q.span.or(Some(part.span)), what);
                diagnostics.push(d.hint("it would never be reached"));
            }
        }
        if let (Some(high), Some(low)) = (high, low)
            && low.typical > high.typical
        {
            let what = format!("{}: {low_name} = {} is above {high_name} = {}", part.name, low.typical, high.typical);
            let d = Diagnostic::error(low.span.or(Some(part.span)), what);
            diagnostics.push(d.hint("what stopped above the high one goes on below the low one"));
        }
    }
    let quanta = k.pause_quanta.typical;
    if quanta == 0 || quanta > u16::MAX as u32 {
        let what = format!("{}: pause_quanta = {quanta}, but a pause frame holds 1 to 65535", part.name);
        diagnostics.push(Diagnostic::error(k.pause_quanta.span.or(Some(part.span)), what));
    }
}
