//! What every simulation must keep, whatever the scenario.

use lanescope::plan::{Flow, PartId, Plan, Program};
use lanescope::protocol::pcie;
use lanescope::result::{Report, SimulatedFlow, Simulation};
use lanescope::scenario::PartKeys;
use lanescope::scenario::keys::{After, Core};
use lanescope::scenario::quantity::Corner;
use std::collections::BTreeSet;

/// Panics with a sentence where a simulation breaks a law. `silent` is for how long, at its end, no operation of each flow had been done.
pub fn check(plan: &Plan, simulation: &Simulation, silent: &[f64]) {
    for (flow, silent) in simulation.flows.iter().zip(silent) {
        // Reads and writes of one flow may be stuck on one side and done at once on the other, so they have no common longest latency.
        if plan.flows.iter().any(|f| f.group == flow.name && !(f.reads() && f.writes())) {
            little(flow, simulation.window, *silent);
        }
        let ladder = [0.0, flow.p50, flow.p99, flow.p999, flow.max];
        assert!(ladder.is_sorted(), "{}: percentiles out of order, {ladder:?}", flow.name);
        let members = plan.flows.iter().map(|f| &f.group).chain(plan.storage.flows.iter().map(|f| &f.group));
        assert_eq!(flow.each.len(), members.filter(|g| **g == flow.name).count(), "{}", flow.name);
        let all = [flow.rate.mean, flow.latency.mean, flow.in_flight, flow.little];
        assert!(all.iter().chain(&flow.each).all(|v| v.is_finite() && *v >= 0.0), "{flow:?}");
    }
    slots(plan, simulation);
    clocks(plan, simulation);
}

/// The clocks of either bus of a backbone are those of the window, but for a transaction across each edge of it; what flows got has crossed.
fn clocks(plan: &Plan, simulation: &Simulation) {
    let roots = (0..plan.parts.len() as u32).map(PartId);
    let planned: Vec<_> = roots.filter_map(|id| Some((id, plan.backbone(Corner::Typical, id)?))).collect();
    assert_eq!(planned.len(), simulation.backbones.len());
    for ((id, b), found) in planned.into_iter().zip(&simulation.backbones) {
        let all = simulation.window * b.clocks_per_second();
        let longest = b.arbitration + b.request + b.completion + b.data(b.line);
        for (name, bus) in found.buses() {
            let off = (bus.total() as f64 - all).abs();
            assert!(
                off <= longest as f64 + 2.0 + 1e-9 * all,
                "{}: {name}: {} clocks of {all}",
                found.name,
                bus.total()
            );
            assert!(bus.data <= bus.transactions * b.data(b.line), "{}: {name}: {bus:?}", found.name);
            assert!(bus.arbitration <= bus.transactions * b.arbitration, "{}: {name}: {bus:?}", found.name);
        }
        assert_eq!(found.request.overhead, found.request.transactions * b.request);
        assert_eq!(found.completion.overhead, found.completion.transactions * b.completion);
        assert_eq!(found.completion.arbitration, 0);
        if simulation.warmup == 0.0 {
            let to = plan.flows.iter().filter(|f| f.target == id);
            let groups: BTreeSet<&str> = to.map(|f| f.group.as_str()).collect();
            let got = simulation.flows.iter().filter(|f| groups.contains(f.name.as_str()));
            let bytes = got.flat_map(|f| &f.each).sum::<f64>() * simulation.window / 8.0;
            let carried = ((found.request.data + found.completion.data) * b.width) as f64;
            // The tables of flows may go to several roots.
            let alone = plan.flows.iter().all(|f| f.target == id || !groups.contains(f.group.as_str()));
            assert!(!alone || bytes <= carried * (1.0 + 1e-9), "{}: {bytes} B of {carried} carried", found.name);
        }
    }
}

/// Little's law: operations in flight = operations per second x mean latency. The two sides count operations across an edge of the window
/// differently, by at most the longest latency for each that is in flight there; what is stuck may be older by as long as nothing was done.
fn little(flow: &SimulatedFlow, window: f64, silent: f64) {
    if flow.operations < 32 || 20.0 * flow.max > window {
        return; // hardly anything has come to its end
    }
    let across = 2.0 * (2.0 * flow.in_flight.max(flow.little) + 2.0);
    let edge = across * (flow.max + silent) / window;
    let off = (flow.in_flight - flow.little).abs();
    assert!(off <= edge, "{}: {} in flight, {} by Little's law", flow.name, flow.in_flight, flow.little);
}

/// The slots of each direction are those of the window, but for what was booked across its edges: a packet, an ordered set, and DLLPs.
fn slots(plan: &Plan, simulation: &Simulation) {
    for (hop, link) in plan.directions().zip(&simulation.links) {
        let of = plan.link(hop.link);
        let lanes = of.speed.typical.lanes.count() as f64;
        let packet = pcie::tlp(of.speed.typical.generation, pcie::Header::Dw4, of.mps.typical.bytes(), true) as f64;
        // A bus slower than the link books a packet so that its last byte is there in time.
        let bus = match &plan.part(plan.leaves(hop)).keys {
            PartKeys::Switch(k) if k.core.typical == Core::SharedBus => k.core_bandwidth.as_ref(),
            _ => None,
        };
        let ahead = bus.map_or(0.0, |rate| packet / rate.typical.bytes() * link.coded / 8.0);
        // Ordered sets that fall due within a packet go out behind it, and more behind those.
        let interval = of.skp_interval.typical.0.unwrap_or(0) as u64;
        let sets = pcie::ordered_set_slots(of.speed.typical.generation, of.speed.typical.lanes, interval);
        let stretch = sets.map_or(1.0, |(every, size)| every as f64 / (every - size) as f64);
        // A wire of ordered sets for the most part falls behind with its DLLPs.
        let dllps = if stretch > 2.0 { 64.0 } else { 8.0 } * 8.0;
        let edge = (packet + ahead + 2.0 * 16.0 * lanes + dllps) * stretch;
        let all = simulation.window * link.coded / 8.0;
        let off = (link.slots.total() as f64 - all).abs();
        let name = format!("links.{} toward {}", link.name, link.to);
        assert!(off <= edge + 1e-9 * all, "{name}: {} slots in a window of {all}", link.slots.total());
        let tlps = (link.slots.framing + link.slots.requests) as f64;
        assert!(link.slots.tlps == 0 || tlps > 0.0, "{name}: TLPs without headers");
        let payload = link.slots.payload as f64 / link.slots.total().max(1) as f64 * link.coded;
        let shown = link.payload.mean;
        assert!((shown - payload).abs() <= 1e-9 * payload, "{name}: {shown} is not {payload}");
    }
}

/// What holds besides when the window begins at time 0, with nothing in flight: nobody gets more than the estimate's bound for it, but for what its
/// limits let through at once. Gives how many flows this says something about.
pub fn check_whole(plan: &Plan, simulation: &Simulation, report: &Report) -> u32 {
    assert_eq!(simulation.warmup, 0.0);
    let mut told = 0;
    for flow in &simulation.flows {
        let bound = report.flows.iter().find(|f| f.name == flow.name).map_or(0.0, |f| f.bound.typical);
        let members: Vec<&Flow> = plan.flows.iter().filter(|f| f.group == flow.name).collect();
        let delivered: f64 = flow.each.iter().sum::<f64>() * simulation.window / 8.0;
        let size = members[0].size.typical.0 as f64;
        let ways = if members[0].reads() && members[0].writes() { 2.0 } else { 1.0 };
        let done = flow.operations as f64 * size;
        assert!(done <= delivered * ways * (1.0 + 1e-9), "{}: {done} B done of {delivered} B", flow.name);
        if let Program::Closed { outstanding, .. } = members[0].program {
            // A write that is in counts until it is done, be that after the window.
            let tail = match &plan.part(members[0].target).keys {
                PartKeys::RootComplex(k) => k.write_latency.typical.seconds(),
                _ => 0.0,
            };
            let most = outstanding as f64 * members.len() as f64 * (1.0 + tail / simulation.window);
            assert!(flow.in_flight <= most * (1.0 + 1e-9), "{}: {} in flight", flow.name, flow.in_flight);
        }
        // Two things that are faster here than there. The estimate lets an internal bus begin when a whole batch is in, the simulator when its
        // first request is. The estimate gives an operation of a closed load to one engine, the simulator to the tags of all.
        let eager = |f: &Flow| match &plan.part(f.source).keys {
            PartKeys::Endpoint(k) => {
                let closed = matches!(f.program, Program::Closed { .. }) && f.reads();
                k.bus_rate.is_some() && k.turnaround_after.typical == After::Batch
                    || closed && k.engines.typical.get() > 1
            }
            _ => false,
        };
        if members.iter().any(|f| eager(f)) {
            continue;
        }
        let at_once: f64 = members.iter().map(|f| at_once(plan, f)).sum();
        let most = bound * simulation.window / 8.0 + at_once;
        assert!(
            delivered <= most * (1.0 + 1e-6),
            "{}: {delivered} B in {} s, more than its bound of {bound} b/s and {at_once} B",
            flow.name,
            simulation.window
        );
        told += u32::from(at_once < 0.1 * most);
    }
    told
}

/// Payload that a flow may get in no time: an operation (an engine that starts one in so long), read requests as many as there are tags, the
/// operations of a closed load, writes for which there are credits and that stand in the queues.
fn at_once(plan: &Plan, flow: &Flow) -> f64 {
    let size = flow.size.typical.0 as f64;
    let mut most = 0.0f64;
    if let PartKeys::Endpoint(k) = &plan.part(flow.source).keys {
        let tags = k.engines.typical.get() as f64 * k.tags.typical.get() as f64;
        if flow.reads() {
            most = most.max(tags * (plan.request_size(Corner::Typical, flow) as f64).min(size));
        }
        let paced = [&k.rate, &k.read_rate, &k.write_rate].iter().any(|r| r.is_some());
        if k.read_interval.is_some() || k.write_interval.is_some() || paced {
            most = most.max(2.0 * size);
        }
        // A ceiling of reads and writes together lets one largest read request go ahead.
        if k.rate.is_some() {
            most = most.max(2.0 * size + 4096.0);
        }
    }
    most = most.max(match flow.program {
        Program::Closed { outstanding, .. } => outstanding as f64 * size,
        Program::Open { .. } => size,
        Program::Saturating | Program::Fed => 0.0,
    });
    // Of one that alternates, what is held up may be the second kind.
    let ahead = if flow.reads() && flow.writes() { size / 2.0 } else { 0.0 };
    // Stated header credits of every receiver on the way (the estimate knows no others), each for a whole TLP, and two TLPs for the rounding of
    // ways that alternate.
    let payload = (flow.payload.typical.bytes() as f64).min(size);
    let headers = |hop: &lanescope::plan::Hop| {
        let stated = match &plan.part(plan.arrives(*hop)).keys {
            PartKeys::RootComplex(k) => k.posted_headers.is_some() || k.posted_data.is_some(),
            PartKeys::Switch(k) => k.posted_headers.is_some() || k.posted_data.is_some(),
            PartKeys::Endpoint(k) => k.posted_headers.is_some() || k.posted_data.is_some(),
        };
        let headers = plan.buffer(*hop, pcie::Class::Posted).headers;
        headers.filter(|_| stated).map_or(0.0, f64::from)
    };
    let posted = if flow.writes() { flow.route.iter().map(headers).sum::<f64>() } else { 0.0 };
    most.max(posted * payload) + ahead + 2.0 * plan.request_size(Corner::Typical, flow) as f64 + 2.0 * payload
}
