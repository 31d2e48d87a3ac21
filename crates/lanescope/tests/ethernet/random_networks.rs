//! Random small networks: what must hold on every one of them.

use super::common::choices::{Choices, runner};
use super::{dropped, frames, plan, simulate_by};
use lanescope::plan::Plan;
use lanescope::result::{Ending, Simulation};
use lanescope::scenario::keys::{CongestionControl, FlowControl};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

const CONTROLS: [&str; 5] = ["none", "pause", "pfc", "credits", "voq"];

fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let shape = c.below(4);
    let control = c.of(&CONTROLS[..if shape < 2 { 5 } else { 4 }]);
    let priority = c.of(&["0", "5", "\"destination\""]);
    // Frames of one table go to eight stations at most where each has its priority.
    let (rule, tables) = match shape {
        0 | 1 => (format!("star = {{ hosts = {} }}", 2 + c.below(7)), &["switch"][..]),
        2 => {
            let (leaves, spines, hosts) = (1 + c.below(3), 1 + c.below(2), 1 + c.below(2));
            (
                format!("leaf_spine = {{ leaves = {}, spines = {spines}, hosts = {hosts} }}", leaves + 1),
                &["leaf", "spine"][..],
            )
        }
        _ => ("fat_tree = { k = 4 }".into(), &["switch"][..]),
    };
    let buffers = if control == "none" { c.of(&["shared", "output", "input"]) } else { "shared" };
    let priority = if buffers == "input" || shape == 3 && priority.starts_with('"') { "3" } else { priority };
    let mut keys = format!(
        "is = \"ethernet-switch\"\nflow_control = \"{control}\"\nbuffers = \"{buffers}\"\nmemory = \"{} B\"\nforwarding = \"{}\"\nscheduling = \"{}\"\necmp = \"{}\"\nlatency = \"{} ps\"\n",
        c.about(9236, 4_000_000),
        c.of(&["store-and-forward", "cut-through"]),
        c.of(&["turns", "strict"]),
        c.of(&["hash", "destination"]),
        c.about(1, 2_000_000),
    );
    let high = c.about(100, 100_000);
    keys += &c.maybe(|c| {
        let low = 1 + high * c.below(256) as u64 / 256;
        format!(
            "high_threshold = \"{high} B\"\n{}",
            if c.below(2) == 0 { format!("low_threshold = \"{low} B\"\n") } else { String::new() }
        )
    });
    keys += &c.maybe(|c| format!("headroom = \"{} B\"\n", c.about(9300, 200_000)));
    keys += &c.maybe(|c| format!("pause_quanta = {}\n", c.about(1, 65535)));
    keys += &c.maybe(|_| "congestion_control = \"dcqcn\"\n".into());
    let mtu = c.of(&["1500", "9000", "300"]);
    let mut text = String::new();
    for table in tables {
        text += &format!("[parts.{table}]\n{keys}");
    }
    text += "[parts.host]\nis = \"station\"\n";
    text += &c.maybe(|c| format!("pause_response = \"{} ns\"\n", c.about(1, 5000)));
    text += &c.maybe(|c| {
        format!("nic_buffer = \"{} B\"\nmac_buffer = \"{} B\"\n", c.about(9018, 40_000), c.about(9018, 40_000))
    });
    text += &c.maybe(|c| format!("queue = \"{} B\"\n", c.about(1, 100_000)));
    text += &c.maybe(|c| format!("credit = \"{} B\"\n", c.about(1, 100_000)));
    let rates = ["1 Gb/s", "10 Gb/s", "25 Gb/s", "100 Gb/s"];
    text += &format!(
        "[links.net]\n{rule}\nethernet = \"{}\"\ndelay = \"{} ps\"\nmtu = \"{mtu} B\"\n",
        c.of(&rates),
        c.about(1, 3_000_000)
    );
    if shape > 1 {
        text += &c.maybe(|c| format!("uplink = \"{}\"\n", c.of(&rates)));
    }
    for flow in 0..1 + c.below(2) {
        let share = 1 + c.below(if flow == 0 { 100 } else { 40 });
        let load = match c.below(5) {
            0 => "\"saturate\"".into(),
            1 => format!("{{ share = \"{share} %\" }}"),
            2 => format!("{{ share = \"{share} %\", arrivals = \"poisson\" }}"),
            3 => format!("{{ share = \"{share} %\", burst = {}.5, bursts = \"fixed\" }}", 1 + c.below(60)),
            _ => format!("{{ share = \"{share} %\", burst = {} }}", 1 + c.below(200)),
        };
        let (pattern, to) = match c.below(5) {
            0 => ("permutation", "host.*"),
            1 => ("all-to-all", "host.*"),
            2 => ("pairs", "host.0"),
            _ => ("random", "host.*"),
        };
        text += &format!(
            "[flows.f{flow}]\nfrom = \"host.*\"\nto = \"{to}\"\npattern = \"{pattern}\"\ndo = \"send\"\nsize = \"{} B\"\nload = {load}\npriority = {}\n",
            c.about(1, 9000),
            if flow == 0 || buffers == "input" { priority } else { "0" }
        );
    }
    text + "[run]\nfor = \"150 us\"\nwarmup = \"0 s\"\nmax_packets = 60000\n"
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
    assert!(safe > simulated / 10 && lossy > simulated / 10, "{safe} and {lossy} of {simulated}");
}
