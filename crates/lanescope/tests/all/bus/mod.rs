//! Shared buses against hand-worked clocks, and the laws that every run keeps.

mod by_hand;
mod calculator;
mod random_buses;

use crate::common;
use crate::common::planned;
use lanescope::plan::{Plan, Program};
use lanescope::result::Simulation;
use lanescope::scenario::quantity::Corner;

/// Simulates a plan to its end, so many events at a time, and checks the laws that every run keeps.
fn simulate_by(plan: &Plan, events: u64) -> Simulation {
    let s = common::simulate_by(plan, 1, events);
    check(plan, &s);
    s
}

fn simulate(text: &str, sets: &[&str]) -> Simulation {
    simulate_by(&planned(text, sets), u64::MAX)
}

/// No transaction of a device takes more clocks. One is written down when it ends, its turn-around with it, so the
/// clocks of a window are as many more, or fewer.
fn longest(plan: &Plan, device: u32) -> u64 {
    let m = plan.buses.timing(device, Corner::Typical);
    let bridge =
        &plan.buses.bridges[plan.buses.buses[plan.buses.devices[device as usize].bus as usize].bridge as usize];
    let bytes = m.write.0.max(m.read.0);
    let waits = (bridge.keys.write_waits.typical as u64).next_multiple_of(2).max(if m.waited { m.delay } else { 0 });
    // Two address phases, attributes, a response of a slow target on PCI-X, two clocks in which a target ends it, and
    // the turn-around; a burst may begin within a data phase, and the window within a clock at either end.
    bytes.div_ceil(m.speed.per_clock()) + waits + 2 + 1 + 4 + 2 + 1 + 1 + 2
}

/// Every clock is accounted for, and every operation is somewhere.
fn check(plan: &Plan, s: &Simulation) {
    for (link, bus) in s.links.iter().zip(&plan.buses.buses) {
        let hertz = bus.speed.typical.hertz();
        let whole = s.window * hertz;
        let edge = bus.devices.iter().map(|d| longest(plan, *d)).max().expect("a device") as f64;
        let off = (link.slots.total() as f64 - whole).abs();
        assert!(off <= edge, "{}: {} of {whole} clocks, with {edge} at an edge", link.name, link.slots.total());
        assert_eq!(link.to, "", "a bus has no directions");
        assert!(link.payload.mean <= bus.speed.typical.peak().bits() * (1.0 + edge / whole));
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
    common::little(plan, 1, s);
}
