//! Ethernet, frame by frame, against hand-worked numbers, theory and the laws that every run keeps.

mod agree;
mod by_hand;
mod calculator;
mod classes;
use crate::common;
mod congestion;
mod deadlocks;
mod fabrics;
mod flow_level;
mod headroom;
mod lossless;
mod notes;
mod parallel;
mod pauses;
mod ports;
mod queue_pairs;
mod random_networks;
mod several_flows;
mod stations;
mod theory;
mod traces;

use crate::common::{plan, planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::protocol::ethernet::wire;
use lanescope::result::{Crossed, SimulatedFrames, SimulatedSwitch, Simulation};
use lanescope::scenario::tree::Author;
use lanescope::scenario::{Included, Resolver};
use lanescope::sim::{Run, Step};

/// Every reference is this text.
struct Text<'a>(&'a str);

impl Resolver for Text<'_> {
    fn resolve(&self, reference: &str, _from: &str) -> Result<Included, String> {
        Ok(Included { name: reference.to_owned(), text: self.0.to_owned(), author: Author::User })
    }
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Simulates a plan to its end, so many events at a time, and checks the laws that every run keeps.
fn simulate_by(plan: &Plan, seed: u64, events: u64) -> Simulation {
    let s = common::simulate_by(plan, seed, events);
    check(plan, &s);
    s
}

fn simulate(text: &str, sets: &[&str]) -> Simulation {
    let plan = planned(text, sets);
    simulate_by(&plan, plan.limits.seed as u64, u64::MAX)
}

/// The same, with what crosses a link.
fn captured(text: &str, sets: &[&str], link: &str) -> (Simulation, Vec<Crossed>) {
    let plan = planned(text, sets);
    let mut run = Run::new(&plan, plan.limits.seed as u64, &mut Diagnostics::default()).expect("a run");
    run.capture(plan.network.links.iter().position(|l| l.name == link).expect("the link is there"));
    while run.advance(u64::MAX) != Step::Done {}
    let s = run.snapshot();
    check(&plan, &s);
    (s, run.crossed())
}

/// Every slot of every wire is accounted for, and every frame is somewhere.
fn check(plan: &Plan, s: &Simulation) {
    // A frame that an end of the window cuts is counted whole, where it begins.
    let longest = wire(plan.network.longest_frame().max(78));
    for link in &s.links {
        let whole = (link.coded / 8.0 * s.window).round() as u64;
        let total = link.slots.total();
        assert!(total.abs_diff(whole) <= longest + 1, "{} to {}: {total} of {whole}", link.name, link.to);
        assert!(link.slots.idle.iter().all(|n| *n <= whole), "{} to {}: {:?}", link.name, link.to, link.slots.idle);
        let gaps = 20 * link.slots.data_tlps;
        assert_eq!(link.slots.gap, gaps, "{}", link.name);
        if plan.network.streams.iter().all(|s| !s.is_roce()) {
            assert_eq!(link.slots.framing, 18 * link.slots.data_tlps, "{}", link.name);
        }
    }
    for flow in &s.flows {
        let f = frames(flow);
        if s.warmup == 0.0 {
            let found = f.delivered + f.discarded + f.dropped + f.in_flight;
            assert_eq!(f.sent, found, "{}: every frame is somewhere", flow.name);
        }
    }
    let by_stations: u64 = s.flows.iter().map(|f| frames(f).refused).sum();
    let by_switches = s.switches.iter().filter_map(|w| w.memory).map(|m| m.no_memory + m.no_headroom).sum::<u64>();
    assert_eq!(by_stations + by_switches, dropped(s), "each frame is dropped in one place");
    for flow in s.flows.iter().filter(|f| f.bound_by.resource == "queue") {
        assert!(2 * frames(flow).refused > frames(flow).dropped, "{}: {:?}", flow.name, flow.bound_by);
    }
    for flow in s.flows.iter().filter(|f| f.bound_by.resource == "memory") {
        let named = |w: &&SimulatedSwitch| flow.bound_by.element == format!("parts.{}", w.name);
        let memory = s.switches.iter().find(named).and_then(|w| w.memory).expect("a switch");
        assert!(memory.no_memory + memory.no_headroom > 0, "{}: {:?}", flow.name, flow.bound_by);
        assert!(2 * frames(flow).refused <= frames(flow).dropped, "{}: {:?}", flow.name, flow.bound_by);
    }
    for (switch, (_, _, keys)) in s.switches.iter().zip(plan.network.switches()) {
        let ports = if keys.buffers.typical == lanescope::scenario::keys::Buffers::Shared { 1 } else { u64::MAX };
        let memory = switch.memory.expect("a memory");
        assert!(memory.most <= keys.memory.typical.0.saturating_mul(ports), "{}: {memory:?}", switch.name);
        assert!(memory.at_end <= memory.most);
    }
}

fn frames(flow: &lanescope::result::SimulatedFlow) -> SimulatedFrames {
    flow.frames.expect("a flow of frames")
}

/// Frames dropped, of all flows.
fn dropped(s: &Simulation) -> u64 {
    s.flows.iter().map(|f| frames(f).dropped).sum()
}

/// Femtoseconds of a time that was given in seconds.
fn fs(seconds: f64) -> u64 {
    (seconds * 1e15).round() as u64
}
