//! Random small networks: what must hold on every one of them.

use super::{dropped, frames, plan, simulate_by};
use crate::common::choices::runner;
use crate::common::grow::ethernet::grow;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::plan::Plan;
use lanescope::plan::ethernet::Stream;
use lanescope::result::{Ending, Simulation};
use lanescope::scenario::keys::{CongestionControl, FlowControl, Transport};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert};
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// What a frame of a stream takes on a wire beside its payload at most, in bytes.
fn beside_payload(stream: &Stream) -> u64 {
    // Preamble, addresses, type, FCS and gap; padding up to 46 bytes, one at least of payload.
    let frame = 8 + 18 + 12 + 45;
    match stream.transport.typical {
        Transport::Frames => frame,
        // IP, UDP, BTH, RETH, an immediate and ICRC.
        Transport::Roce => frame + 20 + 8 + 12 + 16 + 4 + 4,
    }
}

/// What must hold of one network.
fn laws(plan: &Plan, warned: bool) -> (Simulation, bool) {
    // A run without end to its packets, in two ways.
    let whole = simulate_by(plan, 1, u64::MAX);
    let pieces = simulate_by(plan, 1, 997);
    assert!(Simulation { events: whole.events, ..pieces } == whole, "the pieces that a run is done in change it");
    for (flow, members) in whole.flows.iter().zip(plan.network.groups()) {
        let line: f64 = members
            .iter()
            .map(|m| plan.network.link(plan.network.out(plan.network.streams[*m].source, 0)).rate.typical.rate().bits())
            .sum();
        assert!(flow.rate.mean <= line, "{} of {line}", flow.rate.mean);
        let f = frames(flow);
        assert!(f.delivered <= f.sent && f.transit.mean <= flow.latency.mean * (1.0 + 1e-9), "{f:?}");
        assert!(flow.operations <= f.delivered);
    }
    // Nothing was under way when the window opened, and a frame counts at its end. But a bound has whole messages:
    // where the last frame of one is shorter and has not come, the others of it were more than their part, by what the
    // last takes beside its payload at most.
    let report = estimate(plan, &Diagnostics::default());
    for ((flow, closed), members) in whole.flows.iter().zip(&report.flows).zip(plan.network.groups()) {
        let (seen, bound) = (flow.rate.mean, closed.bound.typical);
        let ahead: u64 = members.iter().map(|m| beside_payload(&plan.network.streams[*m])).sum();
        let most = bound + 8.0 * ahead as f64 / whole.window;
        assert!(seen <= most * (1.0 + 1e-9), "flows.{}: {seen} simulated, bound {bound}, {most}", flow.name);
        assert!(closed.share.typical <= bound * (1.0 + 1e-9), "flows.{}: share {:?}", flow.name, closed.share);
    }
    for l in &report.links {
        let parts: f64 = l.ledger.entries().iter().map(|e| e.1).sum();
        assert!((parts / l.ledger.raw - 1.0).abs() < 1e-6 && l.ledger.idle >= 0.0, "{}: {:?}", l.path(), l.ledger);
    }
    let network = &plan.network;
    // The application may refuse what its queue has no room for.
    let bounded =
        network.nodes.iter().any(|n| matches!(&n.keys, lanescope::scenario::NodeKeys::Station(k) if k.queue.is_some()));
    let switches: u64 = whole.switches.iter().filter_map(|s| s.memory).map(|m| m.no_memory + m.no_headroom).sum();
    assert!(bounded || switches == dropped(&whole), "{switches}");
    let safe = network.flow_control() != FlowControl::None
        && !warned
        && network.buffering.iter().flatten().all(|b| b.needs <= b.memory);
    if safe {
        assert_eq!(switches, 0, "flow control that is loss-free by construction");
    }
    let busy = whole.flows.iter().any(|f| f.operations > 0);
    assert!(!matches!(whole.ending, Ending::Stall { .. } | Ending::Running), "{:?}", whole.ending);
    if let Ending::Deadlock { circle } = &whole.ending {
        // Only pauses that speak for a whole memory make two switches wait for each other where no circle is wired.
        assert_eq!(network.flow_control(), FlowControl::Pause, "{circle:?}");
        assert!(network.switches().count() > 1, "{circle:?}");
    }
    if network.congestion_control() == CongestionControl::None && network.flow_control() == FlowControl::None {
        assert!(whole.links.iter().all(|l| l.slots.controls == 0));
    }
    (whole, safe && busy)
}

#[test]
fn the_laws_hold_on_random_networks() {
    let mut runner = runner(Config::default());
    let (refused, simulated, safe, lossy, packets) =
        (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner.run(&vec(any::<u8>(), 60..120), |bytes| {
        let text = grow(&bytes);
        let (plan, d) = plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(|| laws(&plan, !d.sorted().is_empty()));
        let (s, was_safe) = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        safe.set(safe.get() + u32::from(was_safe));
        lossy.set(lossy.get() + u32::from(dropped(&s) > 0));
        packets.set(packets.get() + s.packets);
        Ok(())
    });
    let (refused, simulated, safe, lossy) = (refused.get(), simulated.get(), safe.get(), lossy.get());
    println!("{simulated} simulated, {refused} refused, {safe} safe, {lossy} lossy, {} packets", packets.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(simulated > 2 * refused, "most networks should be simulated");
    let enough = (simulated / 10).max(1);
    assert!(safe >= enough && lossy >= enough, "{safe} and {lossy} of {simulated}");
}

/// Where each frame has a choice of its own, a flow is on several links at once: its bound is still above its share.
#[test]
fn no_share_exceeds_its_bound_where_frames_are_spread() {
    let (planned, spread) = (Cell::new(0), Cell::new(0));
    let all = (vec(any::<u8>(), 60..120), 0usize..3, 2u32..5, 0usize..4);
    let result = runner(Config::default()).run(&all, |(bytes, which, spines, uplink)| {
        let ecmp = ["packet", "flowlet", "adaptive"][which];
        let uplink = ["1 Gb/s", "2.5 Gb/s", "10 Gb/s", "25 Gb/s"][uplink];
        let text = grow(&bytes);
        let of_spines = text.contains("leaf_spine");
        let tables = if of_spines { &["leaf", "spine"][..] } else { &["switch"] };
        let mut sets: Vec<String> = tables.iter().map(|t| format!("parts.{t}.ecmp={ecmp}")).collect();
        if of_spines {
            sets.extend([format!("links.net.leaf_spine.spines={spines}"), format!("links.net.uplink={uplink}")]);
        }
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let (Some(plan), d) = plan(&text, &sets) else { return Ok(()) };
        let report = estimate(&plan, &d);
        planned.set(planned.get() + 1);
        spread.set(spread.get() + u32::from(of_spines));
        for f in &report.flows {
            let (share, bound) = (f.share.typical, f.bound.typical);
            prop_assert!(share <= bound * (1.0 + 1e-9), "{sets:?}: flows.{}: {share} of {bound}\n{text}", f.name);
        }
        for l in &report.links {
            let parts: f64 = l.ledger.entries().iter().map(|e| e.1).sum();
            prop_assert!((parts / l.ledger.raw - 1.0).abs() < 1e-6 && l.ledger.idle >= 0.0, "{}\n{text}", l.path());
        }
        Ok(())
    });
    println!("{} planned, {} over leaves and spines", planned.get(), spread.get());
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(spread.get() * 8 > planned.get(), "{} of {}", spread.get(), planned.get());
}

/// Behind a warm-up a flow may bring in no more than its bound and what was on its way when the window opened: that is
/// counted in a run that ends there.
#[test]
fn no_flow_exceeds_its_bound_behind_a_warm_up() {
    let compared = Cell::new(0);
    let result =
        runner(Config { max_shrink_iters: 200, ..Config::default() }).run(&vec(any::<u8>(), 60..120), |bytes| {
            let text = grow(&bytes);
            let (Some(before), _) = plan(&text, &["run.for=40 us"]) else { return Ok(()) };
            let (Some(made), d) = plan(&text, &["run.for=80 us", "run.warmup=40 us"]) else { return Ok(()) };
            let (first, whole, report) =
                (simulate_by(&before, 1, u64::MAX), simulate_by(&made, 1, u64::MAX), estimate(&made, &d));
            // A run that its cap ends has another window.
            if first.ending != Ending::Length || whole.ending != Ending::Length {
                return Ok(());
            }
            for ((f, s), (at_open, members)) in
                report.flows.iter().zip(&whole.flows).zip(first.flows.iter().zip(made.network.groups()))
            {
                let largest =
                    members.iter().map(|m| made.network.payload(&made.network.streams[*m])).max().unwrap_or(0);
                let under_way = frames(at_open).in_flight as f64 * largest as f64 * 8.0;
                let (brought, most) = (s.rate.mean * whole.window, f.bound.typical * whole.window + under_way);
                if brought > most * (1.0 + 1e-9) {
                    return Err(TestCaseError::fail(format!("flows.{}: {brought} bits of {most}\n{text}", f.name)));
                }
                compared.set(compared.get() + 1);
            }
            Ok(())
        });
    println!("{} flows compared", compared.get());
    if let Err(e) = result {
        panic!("{e}");
    }
}
