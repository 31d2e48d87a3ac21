//! Ethernet at flow level: against packets, against queues that theory knows, and the laws that every run keeps.

use super::{plan, planned, within};
use crate::common::choices::runner;
use crate::common::grow::ethernet::grow;
use crate::common::{refused, simulate_by};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::plan::Plan;
use lanescope::result::{Ending, Simulation};
use lanescope::scenario::keys::SimulationLevel;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

const FLOW: &str = "run.level=flow";

fn simulate(text: &str, sets: &[&str]) -> Simulation {
    let plan = planned(text, sets);
    simulate_by(&plan, plan.limits.seed as u64, u64::MAX)
}

/// Two stations over two switches, each link with a rate of its own.
fn chain(rates: [&str; 3], forwarding: &str, size: &str, rest: &str) -> String {
    let [first, middle, last] = rates;
    format!(
        r#"
[parts.a]
is = "station"
[parts.b]
is = "station"
[parts.s]
is = "ethernet-switch"
count = 2
forwarding = "{forwarding}"
latency = "300 ns"
[links.first]
between = ["a", "s.0"]
ethernet = "{first}"
[links.middle]
between = ["s.0", "s.1"]
ethernet = "{middle}"
delay = "1 us"
[links.last]
between = ["s.1", "b"]
ethernet = "{last}"
[flows.f]
from = "a"
to = "b"
do = "send"
size = "{size}"
load = {{ rate = "1 Mb/s" }}
{rest}
[run]
for = "200 ms"
"#
    )
}

/// A message alone takes exactly as long as packet by packet, over wires of whatever rates.
#[test]
fn a_message_alone_takes_as_long_as_packet_by_packet() {
    let rates = prop::array::uniform3(prop::sample::select(vec!["1 Gb/s", "10 Gb/s", "25 Gb/s", "100 Gb/s"]));
    let size = prop::sample::select(vec!["1 B", "100 B", "1500 B", "1501 B", "9000 B", "10000 B", "20000 B"]);
    let law = |(rates, cut, size, roce): ([&str; 3], bool, &str, bool)| {
        let rest = if roce { "transport = \"rocev2\"" } else { "" };
        let text = chain(rates, if cut { "cut-through" } else { "store-and-forward" }, size, rest);
        let sets = ["run.for=900 ms", "parts.s.flow_control=pfc"];
        let (packets, flows) = (simulate(&text, &sets), simulate(&text, &[&sets[..], &[FLOW]].concat()));
        let (a, b) = (packets.flows[0].max, flows.flows[0].max);
        // Latencies are counted in picoseconds, and of these in three digits.
        prop_assert!((a - b).abs() <= 2e-12 + 1e-3 * a, "{a} by packets, {b} by flows\n{text}");
        let (a, b) = (packets.flows[0].latency.mean, flows.flows[0].latency.mean);
        // The end of a message falls on a femtosecond.
        prop_assert!((a - b).abs() <= 2e-15 + 1e-12 * a, "{a} by packets, {b} by flows\n{text}");
        Ok(())
    };
    let ran = runner(Config::default()).run(&(rates, any::<bool>(), size, any::<bool>()), law);
    ran.expect("the same to the femtosecond");
}

/// The first packet of a RoCE message is longer than those behind it, and begins no later for that on the next wire.
#[test]
fn a_longer_first_packet_holds_up_none_but_the_next() {
    for size in ["19500 B", "20000 B", "20481 B", "21000 B"] {
        let rates = ["10 Gb/s", "25 Gb/s", "25 Gb/s"];
        let text = chain(rates, "store-and-forward", size, "transport = \"rocev2\"");
        let [packets, flows] = [&[][..], &[FLOW]].map(|sets| simulate(&text, sets).flows[0].latency.mean);
        assert!((packets - flows).abs() <= 2e-15, "{size}: {packets} by packets, {flows} by flows");
    }
}

/// One station that sends to many, over a link that alone is slow.
fn fan(flow_control: &str, load: &str) -> String {
    format!(
        r#"
[parts.src]
is = "station"
[parts.dst]
is = "station"
count = 300
[parts.sw]
is = "ethernet-switch"
flow_control = "{flow_control}"
memory = "64 MiB"
latency = "0 ns"
[links.in]
between = ["src", "sw"]
ethernet = "10 Gb/s"
delay = "0 ns"
[links.out]
between = ["sw", "dst.*"]
ethernet = "400 Gb/s"
delay = "0 ns"
[flows.f]
from = "src"
to = "dst.*"
do = "send"
pattern = "random"
sizes = [["15 kB", "0 %"], ["15 kB", "80 %"], ["150 kB", "80 %"], ["150 kB", "100 %"]]
load = {{ share = "{load}", arrivals = "poisson" }}
[run]
for = "60 s"
warmup = "100 ms"
level = "flow"
"#
    )
}

/// Mean of a message's time on the wire, and of its square, s: four of five have 10 frames, one has 100.
const SERVICE: f64 = 0.8 * 10.0 * 1538.0 * 0.8e-9 + 0.2 * 100.0 * 1538.0 * 0.8e-9;
const SQUARE: f64 = 0.8 * (10.0 * 1538.0 * 0.8e-9) * (10.0 * 1538.0 * 0.8e-9)
    + 0.2 * (100.0 * 1538.0 * 0.8e-9) * (100.0 * 1538.0 * 0.8e-9);

/// One FIFO is M/G/1: the mean wait is that of Pollaczek and Khinchine, rho E[S²] / (2 E[S] (1 - rho)).
#[test]
fn a_fifo_waits_as_pollaczek_and_khinchine_have_it() {
    for (load, rho) in [("30 %", 0.3), ("60 %", 0.6), ("80 %", 0.8)] {
        let s = simulate(&fan("none", load), &[]);
        let theory = SERVICE + rho * SQUARE / (2.0 * SERVICE * (1.0 - rho));
        let seen = s.flows[0].latency;
        println!("{load}: {} ± {:?}, {theory}", seen.mean, seen.half);
        // The last frame goes on behind the switch: 1518 B at 400 Gb/s, and nothing else.
        within(0.015, seen.mean, theory + 1526.0 * 0.02e-9);
    }
}

/// Lanes that take turns are processor sharing: the mean is E[S] / (1 - rho), whatever the sizes. Two messages for one
/// of 300 stations stand one behind the other, which is rare.
#[test]
fn lanes_share_as_a_processor_does() {
    for (load, rho) in [("30 %", 0.3), ("60 %", 0.6), ("80 %", 0.8)] {
        let s = simulate(&fan("voq", load), &[]);
        let seen = s.flows[0].latency;
        println!("{load}: {} ± {:?}, {}", seen.mean, seen.half, SERVICE / (1.0 - rho));
        within(0.02, seen.mean, SERVICE / (1.0 - rho) + 1526.0 * 0.02e-9);
    }
}

/// Stations behind leaves and spines that send messages of drawn sizes to one another.
const CLOS: &str = r#"
[parts.host]
is = "station"
count = 8
retransmission = "selective"
window = 32
[parts.leaf]
is = "ethernet-switch"
count = 2
memory = "1 GB"
[parts.spine]
is = "ethernet-switch"
count = 4
memory = "1 GB"
[links.fabric]
leaf_spine = { leaves = 2, spines = 4, hosts = 4 }
ethernet = "10 Gb/s"
[flows.f]
from = "host.*"
to = "host.*"
do = "send"
transport = "rocev2"
sizes = [["0 B", "0 %"], ["10 kB", "50 %"], ["100 kB", "80 %"], ["1 MB", "100 %"]]
pattern = "random"
load = { share = "60 %", arrivals = "poisson" }
[run]
for = "300 ms"
"#;

/// Where sources are kept to a window of about what the path holds, so that queues stay short, completion times are
/// those of packets: the same messages come at the same moments, so that what differs is the method. 10 % is the goal
/// that was set for the 99th percentile.
#[test]
fn completion_times_are_those_of_packets_with_short_queues() {
    let (packets, flows) = (simulate(CLOS, &[]), simulate(CLOS, &[FLOW]));
    let [a, b] = [&packets.flows[0], &flows.flows[0]];
    println!("mean {} {}, half {} {}, p99 {} {}", a.latency.mean, b.latency.mean, a.p50, b.p50, a.p99, b.p99);
    println!("{} {} events", packets.events, flows.events);
    within(0.01, b.rate.mean, a.rate.mean);
    within(0.1, b.latency.mean, a.latency.mean);
    within(0.1, b.p50, a.p50);
    within(0.1, b.p99, a.p99);
    assert!(flows.flow_level && !packets.flow_level && flows.events < packets.events / 50);
}

/// Head-of-line blocking of messages: with one FIFO at each station 60 % of the links is not carried, with lanes it is.
#[test]
fn a_fifo_of_messages_blocks() {
    let plain = ["flows.f.transport=frames", FLOW, "run.for=2 s"];
    let fifo = simulate(CLOS, &plain);
    assert!(fifo.flows[0].unstable, "{:?}", fifo.flows[0].rate);
    assert_eq!(fifo.flows[0].bound_by.resource, "sharing", "{:?}", fifo.flows[0].bound_by);
    let lanes = simulate(CLOS, &[FLOW, "run.for=2 s"]);
    assert!(!lanes.flows[0].unstable && lanes.flows[0].rate.mean > 1.05 * fifo.flows[0].rate.mean);
}

/// What must hold of one network.
fn laws(made: &Plan) -> Simulation {
    let whole = simulate_by(made, 1, u64::MAX);
    let pieces = simulate_by(made, 1, 97);
    assert!(Simulation { events: whole.events, ..pieces } == whole, "the pieces that a run is done in change it");
    for link in &whole.links {
        let slots = (link.coded / 8.0 * whole.window).round() as u64;
        // Four kinds of bytes, each rounded down, at both ends of the window.
        assert!(link.slots.total().abs_diff(slots) <= 5, "{}: {} of {slots}", link.name, link.slots.total());
        // A part of a message is counted in whole bytes of each kind.
        assert!(link.slots.gap.abs_diff(20 * link.slots.data_tlps) <= 21, "{}: {:?}", link.name, link.slots);
    }
    let report = estimate(made, &Diagnostics::default());
    for (flow, closed) in whole.flows.iter().zip(&report.flows) {
        // What had come of a message when the window opened is counted in whole bytes: of each under way one may be
        // more, and each stream has one to each destination and queue pair at most.
        let (seen, bound) = (flow.rate.mean * whole.window / 8.0, closed.bound.typical * whole.window / 8.0);
        let under_way: usize =
            made.network.streams.iter().map(|s| s.targets.len() * s.connections.typical.get() as usize).sum();
        assert!(seen <= bound * (1.0 + 1e-9) + under_way as f64, "flows.{}: {seen} B, at most {bound}", flow.name);
    }
    assert!(
        !matches!(whole.ending, Ending::Stall { .. } | Ending::Deadlock { .. } | Ending::Running),
        "{:?}",
        whole.ending
    );
    whole
}

#[test]
fn the_laws_hold_on_random_networks_at_flow_level() {
    let (simulated, busy) = (Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 60..120), |bytes| {
        let text = grow(&bytes);
        let (Some(made), _) = plan(&text, &[FLOW, "run.warmup=5 us"]) else { return Ok(()) };
        let caught = std::panic::catch_unwind(|| laws(&made));
        let s = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        busy.set(busy.get() + u32::from(s.flows.iter().any(|f| f.operations > 0)));
        Ok(())
    });
    println!("{} simulated, {} busy", simulated.get(), busy.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(busy.get() > simulated.get() / 2, "{} of {}", busy.get(), simulated.get());
}

#[test]
fn a_fixed_length_leaves_nothing_to_its_confidence() {
    for level in ["packet", "flow"] {
        let level = format!("run.level={level}");
        let s = simulate(CLOS, &[&level, "run.for=1 ms", "run.until=\"±5 %\""]);
        assert!(s.not_modelled.iter().any(|n| n.key == "run.until"), "{level}: {:?}", s.not_modelled);
    }
}

/// Stations that all send to all others at random, over these tables of switches, which a rule wires.
fn everybody(switches: &[&str], rule: &str, load: &str) -> String {
    let tables = switches.iter().map(|s| format!("[parts.{s}]\nis = \"ethernet-switch\"\n")).collect::<String>();
    format!(
        r#"
[parts.host]
is = "station"
{tables}[links.net]
{rule}
ethernet = "10 Gb/s"
[flows.all]
from = "host.*"
to = "host.*"
do = "send"
pattern = "random"
size = "1500 B"
load = {load}
"#
    )
}

/// 64 leaves of 32 stations with 4 links up: 4 million pairs. Of 2047 destinations 2016 are behind another leaf, so the
/// links up carry 4 / 32 of 10 Gb/s x 2047 / 2016 for each station, of which 1500 of 1538 bytes are payload. The same
/// of 20,000 stations, of whose destinations 13 each are looked at.
#[test]
fn an_oversubscribed_fabric_of_many_pairs_has_the_share_of_its_links_up() {
    for [leaves, spines, hosts] in [[64, 4, 32], [400, 8, 50]] {
        let rule = format!("leaf_spine = {{ leaves = {leaves}, spines = {spines}, hosts = {hosts} }}");
        let text = everybody(&["leaf", "spine"], &rule, "\"saturate\"");
        let report = estimate(&planned(&text, &[]), &Diagnostics::default());
        let flow = &report.flows[0];
        let all = f64::from(leaves * hosts);
        let up = f64::from(spines) / f64::from(hosts) * (all - 1.0) / (all - f64::from(hosts));
        within(1e-6, flow.share.typical, all * 10e9 * up * 1500.0 / 1538.0);
        let most = flow.each.iter().copied().fold(0.0, f64::max);
        assert!(flow.each.iter().all(|e| *e > (1.0 - 1e-6) * most), "all stations are alike");
        let up: Vec<_> = report.links.iter().filter(|l| l.to.starts_with("spine.")).collect();
        assert_eq!(up.len(), leaves as usize * spines as usize);
        assert!(up.iter().all(|l| l.ledger.idle < 1e-5 * l.ledger.raw), "links up are full");
        assert!(report.not_modelled.iter().any(|n| n.key == "flows.all.pattern"), "{:?}", report.not_modelled);
    }
}

/// A flow with one destination takes one of four links up of 25 Gb/s, whatever goes on beside it: 36 leaves of 32
/// stations send 1 % of 100 Gb/s each, of which 1120 / 1151 leave the leaf, a quarter by each link.
#[test]
fn a_flow_beside_many_pairs_keeps_its_one_way() {
    let rule = "uplink = \"25 Gb/s\"\nleaf_spine = { leaves = 36, spines = 4, hosts = 32 }";
    let one = "\n[flows.one]\nfrom = \"host.0\"\nto = \"host.600\"\ndo = \"send\"\nsize = \"1500 B\"\n";
    let text = everybody(&["leaf", "spine"], rule, "{ share = \"1 %\" }").replace("\"10 Gb/s\"", "\"100 Gb/s\"") + one;
    let control = ["parts.leaf.flow_control=pfc", "parts.spine.flow_control=pfc"];
    let report = estimate(&planned(&text, &control), &Diagnostics::default());
    let [all, one] = report.flows.as_slice() else { panic!("two flow groups") };
    within(1e-9, all.share.typical, all.wanted_each.iter().sum());
    let left = 25e9 - 32.0 * 1e9 * 1120.0 / 1151.0 / 4.0;
    within(1e-3, one.share.typical, left * 1500.0 / 1538.0);
    assert!(one.bound.typical >= one.share.typical && report.links.iter().all(|l| l.ledger.idle >= 0.0));
    let busy = report.links.iter().filter(|l| l.to.starts_with("spine.") && l.ledger.idle < 1e-6 * l.ledger.raw);
    assert_eq!(busy.count(), 1, "the one way is full, the links beside it are not");
}

/// A station on a spine is no part of what the rule says: its ways are searched for.
#[test]
fn a_station_on_a_spine_is_found() {
    let rule = "leaf_spine = { leaves = 3, spines = 2, hosts = 2 }";
    let gateway =
        "\n[parts.gw]\nis = \"station\"\n[links.out]\nbetween = [\"spine.1\", \"gw\"]\nethernet = \"10 Gb/s\"\n";
    let text = everybody(&["leaf", "spine"], rule, "\"saturate\"").replace("to = \"host.*\"", "to = \"gw\"") + gateway;
    let network = &planned(&text.replace("\"random\"", "\"pairs\""), &[]).network;
    for (stream, way) in network.streams.iter().zip(0..) {
        let path = network.along([stream.source, stream.targets.get(0)], way);
        assert_eq!((path.len(), network.arrives(path[2])), (3, stream.targets.get(0)));
    }
}

/// Two saturated tables of two classes have lanes by destination under PFC, though neither has by itself: each lane
/// always has a message at flow level.
#[test]
fn lanes_of_two_tables_are_counted() {
    let text = everybody(&["switch"], "star = { hosts = 1500 }", "\"saturate\"");
    let second =
        text[text.find("[flows.all]").expect("a table")..].replace("flows.all", "flows.two") + "priority = 1\n";
    let made = planned(&(text + &second), &[FLOW, "parts.switch.flow_control=pfc"]);
    let said = refused(&made);
    assert!(said.iter().any(|s| s.contains("connections to destinations")), "{said:?}");
}

/// 67 million pairs of 8192 stations: no table of pairs is made, at 60 % all is carried, and a run of some messages
/// ends. Packet by packet each pair would be remembered, which is refused.
#[test]
fn a_fabric_of_thousands_of_stations_is_planned_by_rule() {
    let load = "{ share = \"60 %\", arrivals = \"poisson\" }";
    let text = everybody(&["switch"], "fat_tree = { k = 32 }", load);
    let made = planned(&text, &[FLOW, "flows.all.size=1 MB", "run.for=30 us", "run.warmup=0 s"]);
    assert_eq!((made.network.streams.len(), made.network.links.len()), (8192, 3 * 8192));
    let report = estimate(&made, &Diagnostics::default());
    within(1e-9, report.flows[0].share.typical, report.flows[0].wanted_each.iter().sum());
    let s = simulate_by(&made, 1, u64::MAX);
    let bytes = made.network.streams[0].offered.expect("a rate").bytes() * 8192.0 * 30e-6;
    within(0.1, s.packets as f64, bytes / 1e6);
    let said = refused(&planned(&text, &[]));
    assert!(said.iter().any(|s| s.contains("connections to destinations")), "{said:?}");
}

#[test]
fn what_is_no_stream_is_refused() {
    let text = r#"
[parts.host]
is = "root-complex"
[parts.nic]
is = "endpoint"
[links.slot]
between = ["host", "nic"]
pcie = "gen3 x8"
[flows.w]
from = "nic"
to = "host.memory"
do = "write"
size = "4 KiB"
"#;
    let made = planned(text, &[FLOW]);
    let said = refused(&made);
    assert!(said.iter().any(|s| s.contains("flows.w")), "{said:?}");
}

/// Which level suits what: flows where messages are long or there is too much to remember of packets; packets where
/// links are saturated, messages short, or a switch's memory is stated.
#[test]
fn auto_follows_packets_where_they_matter() {
    let tree = |k: u32, load: &str| everybody(&["switch"], &format!("fat_tree = {{ k = {k} }}"), load);
    let open = "{ share = \"60 %\", arrivals = \"poisson\" }";
    let long = "flows.all.size=1 MB";
    let cases = [
        (4, open, vec![long], true, "on average"),
        (4, open, vec![], false, "flows.all have 1 packets"),
        (4, "\"saturate\"", vec![long], false, "saturates"),
        (4, open, vec![long, "parts.switch.memory=64 KiB"], false, "parts.switch.memory"),
        (32, open, vec![], true, "connections to destinations"),
    ];
    for (k, load, sets, flows, word) in cases {
        let made = planned(&tree(k, load), &[&sets[..], &["run.level=auto"]].concat());
        let why = made.limits.level_reason.as_deref().unwrap_or_default();
        assert_eq!(made.limits.level == SimulationLevel::Flow, flows, "{k} {load} {sets:?}: {why}");
        assert!(why.contains(word), "{k} {load} {sets:?}: {why}");
    }
}
