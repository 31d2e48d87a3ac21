//! What only a simulation of Ethernet has to say: frames and their fates, the memories of switches, pauses.

use super::{Paint, plus_minus};
use crate::result::{Interval, OverSeeds, SimulatedFlow, SimulatedFrames, SimulatedLink, SimulatedMemory, Simulation};
use crate::units::{Bytes, digits, human_rate, human_time};
use std::fmt::Write;

/// Switches that have a line of their own; of a large fabric those that dropped most, or were fullest.
const SWITCHES: usize = 4;
/// Latency and transit that differ by a smaller part are one.
const SAME: f64 = 1e-6;

/// The frames of a flow.
pub(super) fn frames(out: &mut String, s: &SimulatedFlow, f: &SimulatedFrames, paint: Paint) {
    let _ = write!(out, "  frames     {} from address to FCS, {} delivered", human_rate(f.rate.mean), f.delivered);
    if f.dropped > 0 {
        let part = digits(100.0 * f.dropped as f64 / f.sent.max(1) as f64);
        let _ = write!(out, ", {}{} dropped{} ({part} % of those sent)", paint.alarm, f.dropped, paint.off);
    }
    if f.resent > 0 || f.discarded > 0 {
        let _ = write!(out, ", {} sent again, {} discarded by receivers", f.resent, f.discarded);
    }
    if s.latency.mean - f.transit.mean < SAME * s.latency.mean && s.max - f.transit_max < SAME * s.max {
        out.push_str("\n  transit    the same: nothing waits in the application\n");
        return;
    }
    let _ = writeln!(
        out,
        "\n  transit    {} from leaving the application to the last byte{}, 99 % within {}, longest {}",
        human_time(f.transit.mean),
        if s.unstable { " so far".into() } else { plus_minus(f.transit, human_time) },
        human_time(f.transit_p99),
        human_time(f.transit_max)
    );
}

/// Drops and longest transits over several seeds.
pub(super) fn over_seeds(out: &mut String, o: &OverSeeds) {
    let (Some(dropped), Some(transit)) = (o.dropped, o.transit_max) else { return };
    let spread = |i: Interval| i.half.filter(|h| *h > 0.0).map_or(String::new(), |h| format!(" ± {}", digits(h)));
    let _ = writeln!(
        out,
        "             and {}{} frames dropped, longest transit {}{}",
        digits(dropped.mean),
        spread(dropped),
        human_time(transit.mean),
        plus_minus(transit, human_time)
    );
}

/// Switches, then pauses.
pub(super) fn network(out: &mut String, s: &Simulation, paint: Paint) {
    let mut switches: Vec<(&str, SimulatedMemory)> =
        s.switches.iter().filter_map(|w| Some((w.name.as_str(), w.memory?))).collect();
    if switches.is_empty() {
        return;
    }
    let lost = |m: &SimulatedMemory| m.no_memory + m.no_headroom;
    let at_sources: u64 = s.flows.iter().filter_map(|f| f.frames).map(|f| f.refused).sum();
    let all = switches.len();
    if all > SWITCHES {
        // A stable sort: equal ones stay in the order of the scenario.
        switches.sort_by_key(|(_, m)| std::cmp::Reverse((lost(m), m.most)));
        switches.truncate(SWITCHES);
    }
    for (name, m) in &switches {
        let part = digits(100.0 * m.most as f64 / m.size.max(1) as f64);
        let _ =
            write!(out, "{}parts.{name}{}    at most {part} % of {} in use", paint.strong, paint.off, Bytes(m.size));
        for (n, why) in [
            (m.no_memory - m.no_lossy.min(m.no_memory), "the memory was full"),
            (m.no_lossy, "the part for lossy priorities (lossy_memory) had no room"),
            (m.no_headroom, "its headroom was used up"),
        ] {
            if n > 0 {
                let _ = write!(out, ", {}{n} frames dropped{}: {why}", paint.alarm, paint.off);
            }
        }
        out.push('\n');
    }
    if all > SWITCHES {
        let _ = writeln!(out, "and {} more switches with no more than that", all - SWITCHES);
    }
    if at_sources > 0 {
        let _ = writeln!(out, "{}{at_sources} frames dropped{} at full queues of stations", paint.alarm, paint.off);
    }
    pauses(out, &s.links, paint);
    out.push('\n');
}

/// How many pause frames there were, and where most.
fn pauses(out: &mut String, links: &[SimulatedLink], paint: Paint) {
    let sum = |l: &SimulatedLink| l.pauses.0 + l.pauses.1;
    let (stop, go) = links.iter().fold((0, 0), |(stop, go), l| (stop + l.pauses.0, go + l.pauses.1));
    // Of equal ones the first.
    let Some(most) = links.iter().rev().filter(|l| sum(l) > 0).max_by_key(|l| sum(l)) else { return };
    let _ = writeln!(
        out,
        "{}pause frames{}    {stop} XOFF, {go} XON; most on links.{} toward {}: {} and {}",
        paint.strong, paint.off, most.name, most.to, most.pauses.0, most.pauses.1
    );
}
