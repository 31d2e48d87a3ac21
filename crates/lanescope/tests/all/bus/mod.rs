//! Shared buses against hand-worked clocks, and the laws that every run keeps.

mod by_hand;
mod calculator;
mod random_buses;

use crate::common;
use crate::common::planned;
use lanescope::plan::{Plan, Program};
use lanescope::result::Simulation;
use lanescope::units::Time;

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
    }
    little(plan, s);
}

/// Little's law, to the last bit of a float. Of a run that begins with nothing in flight, the integral of the
/// operations in flight up to a moment is the sum of the latencies of those done by then and of the ages of those that
/// are in flight: so these ages are their difference, and none is negative. Over a window that opens later the integral
/// is as much more than the sum of latencies as the ages at its end are more than those at its beginning.
fn little(plan: &Plan, s: &Simulation) {
    let ages = |until: f64| -> Vec<f64> {
        let mut plan = plan.clone();
        plan.limits.length = Some(Time::from_fs((until * 1e15).round() as u64));
        plan.limits.warmup = Some(Time::ZERO);
        if until == 0.0 {
            return vec![0.0; s.flows.len()];
        }
        let s = common::simulate_by(&plan, 1, u64::MAX);
        assert!((s.window - until).abs() <= 1e-12 * until, "{} s in place of {until}", s.window);
        s.flows.iter().map(|f| (f.in_flight - f.little) * s.window).collect()
    };
    let (opens, closes) = (ages(s.warmup), ages(s.warmup + s.window));
    for ((f, opens), closes) in s.flows.iter().zip(opens).zip(closes) {
        let noise = 1e-9 * (1.0 + f.in_flight.max(f.little)) * (s.warmup + s.window);
        assert!(opens >= -noise && closes >= -noise, "{}: ages of {opens} s and {closes} s", f.name);
        let apart = (f.in_flight - f.little) * s.window;
        let off = (apart - (closes - opens)).abs();
        assert!(
            off <= noise,
            "{}: {} in flight, {} by Little's law: {apart} s of {opens} s to {closes} s",
            f.name,
            f.in_flight,
            f.little
        );
    }
}
