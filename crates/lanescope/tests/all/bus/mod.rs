//! Shared buses against hand-worked clocks, and the laws that every run keeps.

mod by_hand;
mod calculator;
mod random_buses;

use crate::common;
use crate::common::planned;
use lanescope::plan::{Plan, Program};
use lanescope::result::Simulation;

/// Simulates a plan to its end, so many events at a time, and checks the laws that every run keeps.
fn simulate_by(plan: &Plan, events: u64) -> Simulation {
    let s = common::simulate_by(plan, 1, events);
    check(plan, &s);
    s
}

fn simulate(text: &str, sets: &[&str]) -> Simulation {
    simulate_by(&planned(text, sets), u64::MAX)
}

/// Every clock is accounted for, and every operation is somewhere.
fn check(plan: &Plan, s: &Simulation) {
    for (link, bus) in s.links.iter().zip(&plan.buses.buses) {
        let hertz = bus.speed.typical.hertz();
        let whole = s.window * hertz;
        // A transaction is written down when it ends, its idle clock with it.
        let longest = 4096.0 / bus.speed.typical.per_clock() as f64 + 64.0 + 40_000.0_f64.min(whole);
        let off = (link.slots.total() as f64 - whole).abs();
        assert!(off <= longest.min(1100.0), "{}: {} of {whole} clocks", link.name, link.slots.total());
        assert_eq!(link.to, "", "a bus has no directions");
        assert!(link.payload.mean <= bus.speed.typical.peak().bits() * (1.0 + 1100.0 / whole));
        let other = [link.slots.framing, link.slots.acks, link.slots.padding, link.slots.gap, link.slots.control];
        assert_eq!(other, [0; 5], "nothing of other protocols");
    }
    for f in &s.flows {
        let ladder = [0.0, f.p50, f.p99, f.p999, f.max];
        assert!(ladder.is_sorted(), "{}: {ladder:?}", f.name);
        let members = plan.buses.flows.iter().filter(|b| b.group == f.name);
        let mut most = 0.0;
        for flow in members {
            if let Program::Closed { outstanding, .. } = flow.program {
                most += outstanding as f64;
            } else {
                most = f64::INFINITY;
            }
        }
        assert!(f.in_flight <= most * (1.0 + 1e-9), "{}: {} in flight of {most}", f.name, f.in_flight);
        // Little's law, but for what is in flight at the ends of the window.
        if f.operations >= 32 && 20.0 * f.max < s.window {
            let edge = 4.0 * (f.in_flight.max(f.little) + 1.0) * f.max / s.window;
            assert!((f.in_flight - f.little).abs() <= edge, "{}: {} and {}", f.name, f.in_flight, f.little);
        }
    }
}
