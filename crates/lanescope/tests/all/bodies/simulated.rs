//! What every simulation must keep, whatever the scenario.

use lanescope::plan::{Batch, Flow, PartId, Plan, Program};
use lanescope::protocol::pcie::{self, Class};
use lanescope::result::{Report, SimulatedFlow, Simulation};
use lanescope::scenario::PartKeys;
use lanescope::scenario::keys::Core;
use lanescope::scenario::quantity::Corner;
use std::collections::BTreeSet;

/// Panics with a sentence where a simulation breaks a law. `silent` is for how long, at its end, no operation of each
/// flow had been done.
pub fn check(plan: &Plan, simulation: &Simulation, silent: &[f64]) {
    for (flow, silent) in simulation.flows.iter().zip(silent) {
        // Reads and writes of one open or saturating flow may be stuck on one side and done at once on the other, so
        // they have no common longest latency. Of a closed one `silent` reaches back far enough.
        let ordinary = |f: &&Flow| !(f.reads() && f.writes()) || matches!(f.program, Program::Closed { .. });
        if let Some(of) = plan.flows.iter().filter(|f| f.group == flow.name).find(ordinary) {
            little(flow, simulation.window, *silent);
            closed(plan, of, flow, simulation.window);
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

/// The clocks of either bus of a backbone are those of the window, but for a transaction across each edge of it; what
/// flows got has crossed.
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

/// How many operations of a table of flows may have been done since the oldest that is in flight was born, for
/// [`check`]: 1 where they are done in order. Of a closed load that alternates, behind a read that is stuck: all that
/// were in flight, then writes, until every operation in flight is a read. Reads are done in order, and begin in turn
/// with writes, so these are fewer than those in flight, twice, and one.
pub fn overtaken(plan: &Plan, name: &str) -> u64 {
    let members = plan.flows.iter().filter(|f| f.group == name);
    let each = members.map(|f| match f.program {
        Program::Closed { outstanding, .. } if f.reads() && f.writes() => 3 * outstanding as u64 + 1,
        _ => 0,
    });
    each.sum::<u64>().max(1)
}

/// The other half of Little's law, of a closed load: what is in flight or pauses is what is outstanding. A pause across
/// an edge of the window is counted whole, or not at all, once for each that is outstanding; so is the end of a write
/// that is in and not yet done; and a requester with a phase begins so much later.
fn closed(plan: &Plan, of: &Flow, flow: &SimulatedFlow, window: f64) {
    let Program::Closed { outstanding, think, .. } = of.program else { return };
    let all = outstanding as f64 * flow.each.len() as f64;
    let tail = match &plan.part(of.target).keys {
        PartKeys::RootComplex(k) => k.write_latency.typical.seconds(),
        _ => 0.0,
    };
    // The longest operation of any flow of the same port, as far as 64 KiB of it.
    let phase = |f: &Flow| {
        let speed = plan.link(f.route[0].link).speed.typical;
        let (size, payload) = (f.size.typical.0.min(1 << 16), plan.write_payload(Corner::Typical, f));
        pcie::cut(speed.generation, f.header.typical, size, payload, true).1 as f64 / speed.coded().bytes()
    };
    let phase = plan.flows.iter().map(phase).fold(0.0, f64::max);
    let pauses = flow.operations as f64 * think.seconds() / window;
    let edge = all * (think.seconds() + tail + phase) / window;
    let off = (all - flow.in_flight - pauses).abs();
    let seen = (flow.in_flight, pauses);
    assert!(off <= edge + 1e-9 * all, "{}: {all} outstanding, but {seen:?} in flight and pausing", flow.name);
}

/// Little's law: operations in flight = operations per second x mean latency. The two sides count operations across an
/// edge of the window differently, by at most the longest latency for each that is in flight there; what is stuck may
/// be older by as long as nothing was done.
fn little(flow: &SimulatedFlow, window: f64, silent: f64) {
    if flow.operations < 32 || 20.0 * flow.max > window {
        return; // hardly anything has come to its end
    }
    let across = 2.0 * (2.0 * flow.in_flight.max(flow.little) + 2.0);
    let edge = across * (flow.max + silent) / window;
    let off = (flow.in_flight - flow.little).abs();
    assert!(off <= edge, "{}: {} in flight, {} by Little's law", flow.name, flow.in_flight, flow.little);
}

/// The slots of each direction are those of the window, but for what was booked across its edges: a packet, an ordered
/// set, and DLLPs.
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
        let tlps = (link.slots.framing + link.slots.requests + link.slots.control) as f64;
        assert!(link.slots.tlps == 0 || tlps > 0.0, "{name}: TLPs without headers");
        let payload = link.slots.payload as f64 / link.slots.total().max(1) as f64 * link.coded;
        let shown = link.payload.mean;
        assert!((shown - payload).abs() <= 1e-9 * payload, "{name}: {shown} is not {payload}");
    }
}

/// What holds besides when the window begins at time 0, with nothing in flight: nobody gets more than the estimate's
/// bound for it, but for what its limits let through at once. Gives how many flows this says something about.
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

/// Payload that a flow may have got beyond its bound when a run ends that began with nothing in flight. Its bound is
/// the least of what several mechanisms allow; each holds on the average over whole rounds, and is ahead by what a
/// round gives before it is over. Which of them the bound is from is not known here, so the largest counts. `delivered`
/// is payload that has come, be its operation done or not; of a flow that alternates, half of both ways added.
fn at_once(plan: &Plan, flow: &Flow) -> f64 {
    const AT: Corner = Corner::Typical;
    let size = flow.size.typical.0 as f64;
    let payload = (flow.payload.typical.bytes() as f64).min(size);
    let request = if flow.reads() { (plan.request_size(AT, flow) as f64).min(size) } else { 0.0 };
    // One thing that an engine or a memory lets through: it is gone at once, and then the rest of its time passes.
    let one = request.max(if flow.writes() { payload } else { 0.0 });
    let mut most = one;
    if let PartKeys::Endpoint(k) = &plan.part(flow.source).keys {
        // A transfer begins, and is issued at once; so is a packet, whose time on a line then passes.
        if k.read_interval.is_some() || k.write_interval.is_some() || plan.line(AT, flow).is_some() {
            most = most.max(size);
        }
        // So does one whose port is held up behind it: the next waits, not the first.
        if k.transfer_gap.typical.fs() > 0 || k.direction_change.typical.fs() > 0 {
            most = most.max(size);
        }
        // A ceiling of reads and writes together lets one largest read request go ahead of its time.
        if k.rate.is_some() {
            most = most.max(one + 4096.0);
        }
    }
    if flow.reads() {
        // A tag's round is over when an internal bus has carried the data, and after its pause. With batches all
        // requests of one count together.
        let asking = plan.asking(AT, flow);
        most = most.max(asking.engines as f64 * asking.tags as f64 * request);
    }
    if let Program::Closed { outstanding, .. } = flow.program {
        // The round of an operation is over when it is done, and after its pause.
        most = most.max(outstanding as f64 * size);
    }
    for &hop in &flow.route {
        for (way, class) in [(hop, Class::Posted), (hop, Class::NonPosted), (hop.reversed(), Class::Completion)] {
            // What has passed gives its credits back later: all headers may be out, each of a whole TLP, or all data.
            // The estimate knows stated ones only.
            let keys = &plan.part(plan.arrives(way)).keys;
            let (headers, data) = stated(keys, class);
            let each = if class == Class::NonPosted { request } else { payload };
            let headers = headers.map_or(0.0, |h| h as f64 * each);
            most = most.max(headers).max(data.map_or(0.0, |d| d as f64 * pcie::DATA_CREDIT as f64));
            // And TLPs wait for their Ack in a replay buffer.
            most = most.max(replay(&plan.part(plan.leaves(way)).keys).map_or(0.0, |b| b as f64));
        }
    }
    if let PartKeys::RootComplex(k) = &plan.part(flow.target).keys {
        // A port's read is worked on until its last completion has left.
        if let (Some(n), true) = (&k.backbone_reads, flow.reads()) {
            most = most.max(n.typical.get() as f64 * request);
        }
    }
    // What belongs to a NIC's packets goes a batch at a time, for its packets on average: entries and interrupts behind
    // them, descriptors and doorbells the other way. One batch of each may still be due.
    let queue = plan.packet_queue(AT, flow);
    // And packets do not wait for descriptors: what all tags fetch at once is for that many.
    if let Some(q) = queue {
        let asking = plan.asking(AT, flow);
        most = most.max((asking.engines * asking.tags * q.fetch.packets) as f64 * size);
    }
    let due = queue.map_or(0, |q| [q.fetch, q.writes[0], q.writes[1], q.doorbell].map(batch).iter().sum());
    // Of one that alternates, an operation more of the kind that is not held up.
    let ahead = if flow.reads() && flow.writes() { size / 2.0 } else { 0.0 };
    // Wires: short TLPs at the end of an operation cost more than those before, and are counted on average; DLLPs for
    // the last TLPs go out later; and so does the ordered set that is due next. A TLP for each, and the set.
    let sets = flow.route.iter().map(|h| 16.0 * plan.link(h.link).speed.typical.lanes.count() as f64);
    most + due as f64 + ahead + 2.0 * one.max(payload) + sets.fold(0.0, f64::max)
}

/// Bytes on a wire of what goes for a batch of packets, by TLPs of 64 B and less: no completion is cut smaller.
fn batch(batch: Batch) -> u64 {
    pcie::cut(pcie::Generation::Gen1, pcie::Header::Dw4, batch.bytes, 64, true).1
}

/// Credits of a class that a part states: headers and data.
fn stated(keys: &PartKeys, class: Class) -> (Option<u32>, Option<u32>) {
    macro_rules! of {
        ($k:expr) => {
            match class {
                Class::Posted => (&$k.posted_headers, &$k.posted_data),
                _ => (&$k.nonposted_headers, &None),
            }
        };
    }
    let (headers, data) = match (keys, class) {
        (PartKeys::Switch(k), Class::Completion) => (&k.completion_headers, &k.completion_data),
        (_, Class::Completion) => (&None, &None),
        (PartKeys::RootComplex(k), _) => of!(k),
        (PartKeys::Switch(k), _) => of!(k),
        (PartKeys::Endpoint(k), _) => of!(k),
        (other, _) => panic!("a part that no law knows: {other:?}"),
    };
    (headers.as_ref().map(|q| q.typical), data.as_ref().map(|q| q.typical))
}

fn replay(keys: &PartKeys) -> Option<u64> {
    let buffer = match keys {
        PartKeys::RootComplex(k) => &k.replay_buffer,
        PartKeys::Switch(k) => &k.replay_buffer,
        PartKeys::Endpoint(k) => &k.replay_buffer,
        other => panic!("a part that no law knows: {other:?}"),
    };
    buffer.as_ref().map(|q| q.typical.0)
}
