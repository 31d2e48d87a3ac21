//! What every simulation must keep, whatever the scenario.

use lanescope::plan::Plan;
use lanescope::protocol::pcie;
use lanescope::result::{SimulatedFlow, Simulation};

/// Panics with a sentence where a simulation breaks a law.
pub(crate) fn check(plan: &Plan, simulation: &Simulation) {
    for flow in &simulation.flows {
        little(flow, simulation.window);
        let ladder = [0.0, flow.p50, flow.p99, flow.p999, flow.max];
        assert!(ladder.is_sorted(), "{}: percentiles out of order, {ladder:?}", flow.name);
        let members = plan.flows.iter().filter(|f| f.group == flow.name).count();
        assert_eq!(flow.each.len(), members, "{}", flow.name);
        let all = [flow.rate.mean, flow.latency.mean, flow.in_flight, flow.little];
        assert!(all.iter().chain(&flow.each).all(|v| v.is_finite() && *v >= 0.0), "{flow:?}");
    }
    slots(plan, simulation);
}

/// Little's law: operations in flight = operations per second x mean latency. The two sides count operations across an edge of the window
/// differently, by at most the longest latency for each that is in flight there.
fn little(flow: &SimulatedFlow, window: f64) {
    if flow.operations < 32 {
        return; // the longest latency is not known yet
    }
    let across = 2.0 * (2.0 * flow.in_flight.max(flow.little) + 2.0);
    let edge = across * flow.max / window;
    let off = (flow.in_flight - flow.little).abs();
    assert!(off <= edge, "{}: {} in flight, {} by Little's law", flow.name, flow.in_flight, flow.little);
}

/// The slots of each direction are those of the window, but for what was booked across its edges: a packet, an ordered set, and DLLPs.
fn slots(plan: &Plan, simulation: &Simulation) {
    for (hop, link) in plan.directions().zip(&simulation.links) {
        let of = plan.link(hop.link);
        let lanes = of.speed.typical.lanes.count() as f64;
        let packet = pcie::tlp(of.speed.typical.generation, pcie::Header::Dw4, of.mps.typical.bytes(), true) as f64;
        let edge = packet + 2.0 * 16.0 * lanes + 8.0 * 8.0;
        let all = simulation.window * link.coded / 8.0;
        let off = (link.slots.total() as f64 - all).abs();
        let name = format!("links.{} toward {}", link.name, link.to);
        assert!(off <= edge + 1e-9 * all, "{name}: {} slots in a window of {all}", link.slots.total());
        let tlps = (link.slots.framing + link.slots.requests) as f64;
        assert!(link.slots.tlps == 0 || tlps > 0.0, "{name}: TLPs without headers");
        let payload = link.slots.payload as f64 / link.slots.total().max(1) as f64 * link.coded;
        assert!((link.payload - payload).abs() <= 1e-9 * payload, "{name}: {} is not {payload}", link.payload);
    }
}
