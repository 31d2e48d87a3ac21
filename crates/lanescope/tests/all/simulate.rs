//! The simulator by hand, against the estimate, and at its edges.

use crate::common;
use crate::common::{plan, run, simulate, simulated, toward, within};
use lanescope::result::{Ending, Idle, Simulation};
use lanescope::sim::Run;
use std::fmt::Write;

/// A card behind a switch, one operation alone in the system.
const ALONE: &str = r#"
[parts.host]
is = "root-complex"
read_latency = "400 ns"
write_latency = "0 ns"
[parts.sw]
is = "switch"
latency = "100 ns"
[parts.card]
is = "endpoint"
[links.up]
between = ["host", "sw.up"]
pcie = "gen1 x4"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[links.down]
between = ["sw.down.0", "card"]
pcie = "gen1 x4"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[flows.w]
from = "card"
to = "host.memory"
do = "write"
size = "64 B"
header = "3DW"
load = { outstanding = 1, think = "1 h" }
[run]
for = "10 us"
warmup = "0 ns"
"#;

/// A symbol time of Gen1: a packet after idle begins on lane 0, so it may wait so long at each wire.
const SYMBOL: f64 = 4e-9;

#[test]
fn one_write_by_hand() {
    // 84 B: 84 ns on x4, 42 ns on x8, 336 ns on x1. The wire out of the switch begins a packet each 4 ns.
    // What the switch takes is from its first bit in, at 1, to its first bit out.
    let cases: [(&[&str], f64, f64); 5] = [
        // Head at 1, out at 101 -> 104, 84, 1.
        (&[], 189e-9, 103e-9),
        // Into the faster link it waits for the tail: 85 + 100 - 42 = 143 -> 144, 42, 1.
        (&["links.up.pcie=gen1 x8"], 187e-9, 143e-9),
        // Into the slower: 101 -> 104, 336, 1.
        (&["links.up.pcie=gen1 x1"], 441e-9, 103e-9),
        // From the slower: 337 + 100 - 84 = 353 -> 356, 84, 1.
        (&["links.down.pcie=gen1 x1"], 441e-9, 355e-9),
        // Stored: 85 + 100 = 185 -> 188, 84, 1.
        (&["parts.sw.forwarding=store-and-forward"], 273e-9, 187e-9),
    ];
    for (sets, by_hand, through) in cases {
        let s = simulate(ALONE, sets);
        let f = simulated(&s, "w");
        assert_eq!(f.operations, 1);
        assert!((f.latency.mean - by_hand).abs() < 1e-15, "{sets:?}: {} is not {by_hand}", f.latency.mean);
        let [sw] = &s.switches[..] else { panic!("one switch: {:?}", s.switches) };
        let off = [sw.latency - through, sw.latency_max - through].map(f64::abs);
        assert!(sw.tlps == 1 && off.iter().all(|off| *off < 1e-15), "{sets:?}: {sw:?} is not {through}");
        let estimate = common::flow(&run(ALONE, sets), "w").latency.typical;
        let off = f.latency.mean - estimate;
        assert!((0.0..SYMBOL).contains(&off), "{sets:?}: {} against {estimate}", f.latency.mean);
    }
}

#[test]
fn one_read_by_hand() {
    let read = ["flows.w.do=read", "flows.w.size=256 B", "parts.host.completion_size=64 B"];
    let s = simulate(ALONE, &read);
    let f = simulated(&s, "w");
    // 20 B out at x4: head at 1, out at 101 -> 104, in at 125. Completions from 525 -> 528, in the switch at 529, out
    // at 629 -> 632. The first data are 19 B behind the head of the first, the last byte at 4 x 84 ns.
    assert!((f.latency.mean - (632e-9 + 336e-9 + 1e-9)).abs() < 1e-15, "{}", f.latency.mean);
    let first = f.latency_first.expect("a read");
    assert!((first - (632e-9 + 19e-9 + 1e-9)).abs() < 1e-15, "{first}");
    for sets in [&[][..], &["links.up.pcie=gen1 x8"], &["links.down.pcie=gen1 x1"], &["parts.sw.latency=33 ns"]] {
        let sets = [&read[..], sets].concat();
        let (s, r) = (simulate(ALONE, &sets), run(ALONE, &sets));
        let (ours, theirs) = (simulated(&s, "w"), common::flow(&r, "w"));
        // It waits for a lane 0 at each of four wires.
        let off = ours.latency.mean - theirs.latency.typical;
        assert!((0.0..4.0 * SYMBOL).contains(&off), "{sets:?}: off by {off}");
        let off = ours.latency_first.expect("a read") - theirs.latency_first.expect("a read").typical;
        assert!((0.0..4.0 * SYMBOL).contains(&off), "{sets:?}: first data off by {off}");
    }
}

/// Devices of two kinds behind a switch, and what can be asked of them.
const TREE: &str = r#"
[parts.host]
is = "root-complex"
read_latency = "400 ns"
completion_size = "128 B"
[parts.sw]
is = "switch"
[parts.nic]
is = "endpoint"
count = 3
tags = 64
[links.up]
between = ["host", "sw.up"]
pcie = "gen3 x8"
mps = "256 B"
[links.down]
between = ["sw.down.*", "nic.*"]
pcie = "gen3 x4"
mps = "256 B"
[flows.rx]
from = "nic.*"
to = "host.memory"
do = "write"
size = "2 KiB"
[run]
for = "400 us"
warmup = "50 us"
"#;

/// The link of the NIC, where there is one.
const LONE: &str = "down.0";

/// Simulated share of the estimated one, of each flow, in percent off.
fn off(text: &str, sets: &[&str]) -> Vec<(String, f64)> {
    let (s, r) = (simulate(text, sets), run(text, sets));
    let off = |f: &lanescope::result::SimulatedFlow| {
        let share = common::flow(&r, &f.name).share.typical;
        (f.name.clone(), 100.0 * (f.rate.mean / share - 1.0))
    };
    s.flows.iter().map(off).collect()
}

/// Where flows do not hold up each other's packets the estimate is what happens.
#[test]
fn shares_and_simulation_agree_where_nothing_queues() {
    let read = "flows.rx.do=read";
    let cases: [&[&str]; 21] = [
        &[],
        &["links.up.pcie=gen1 x8"],
        &["links.up.pcie=gen2 x1", "links.down.pcie=gen2 x1"],
        &["links.up.pcie=gen4 x16", "links.down.pcie=gen4 x4"],
        &["links.up.pcie=gen5 x16", "links.down.pcie=gen5 x16"],
        &["links.up.mps=128 B", "links.down.mps=128 B"],
        &["links.up.mps=1 KiB", "links.down.mps=1 KiB", "flows.rx.size=64 KiB"],
        &["flows.rx.size=64 B"],
        &["links.up.ack_every=1", "links.up.update_fc_every=1"],
        &["parts.sw.forwarding=store-and-forward"],
        &[read],
        &[read, "parts.sw.core=shared-memory", "parts.sw.core_bandwidth=200 GB/s"],
        &[read, "links.up.pcie=gen1 x8"],
        &[read, "links.up.pcie=gen4 x16", "links.down.pcie=gen4 x4"],
        &[read, "flows.rx.size=64 B", "parts.nic.tags=8"],
        &[read, "parts.nic.tags=2", "parts.nic.count=1"],
        &[read, "parts.nic.tags=2", "parts.nic.turnaround=500 ns"],
        &[read, "flows.rx.load={ outstanding = 1, think = \"1 us\" }"],
        &["parts.nic.count=1", "flows.rx.load={ outstanding = 2, think = \"3 us\" }"],
        &["flows.rx.load={ rate = \"10 Gb/s\" }"],
        &["flows.rx.do=alternate", "links.up.pcie=gen4 x8"],
    ];
    let mut far = String::new();
    for sets in cases {
        for (flow, off) in off(TREE, sets) {
            println!("{off:+.2} % {flow} {sets:?}");
            if off.abs() > 2.0 {
                let _ = writeln!(far, "{off:+.2} % {flow} {sets:?}");
            }
        }
    }
    assert!(far.is_empty(), "{far}");
}

/// One queue for all ports behind a fast link: the completions for one port wait, and all behind them.
#[test]
fn a_single_queue_holds_up_other_ports() {
    let sets = ["flows.rx.do=read", "links.up.pcie=gen4 x16", "links.down.pcie=gen4 x4", "parts.sw.queues=fifo"];
    for (flow, off) in off(TREE, &sets) {
        assert!(off < -30.0, "{off:+.2} % {flow}");
    }
}

/// Payload that arrived at the end is payload that was carried, but for what is on its way.
#[test]
fn the_ledger_carries_what_is_delivered() {
    for sets in [&[][..], &["flows.rx.do=read"], &["flows.rx.do=alternate", "parts.sw.core=shared-memory"]] {
        let sets = [sets, &["parts.sw.core_bandwidth=100 GB/s"]].concat();
        let s = simulate(TREE, &sets);
        let f = simulated(&s, "rx");
        let each: f64 = f.each.iter().sum();
        within(1e-9, each, f.rate.mean);
        let (up, down) = (toward(&s, "up", "host").payload.mean, toward(&s, "up", "sw").payload.mean);
        let reads = sets[0] != "flows.rx.do=read" && up > 0.0;
        let carried = if reads { up } else { down };
        // Less than 64 KiB is on its way at either edge of 400 us.
        assert!((carried - each).abs() < 65536.0 * 8.0 / s.window, "{sets:?}: {carried} carried, {each} delivered");
        let ends = ["host", "sw"].map(|to| toward(&s, "up", to).slots);
        assert!(ends.iter().any(|s| s.acks > 0) && ends.iter().all(|s| s.ordered_sets > 0));
    }
}

/// Five switches in a ring of crosslinks, each with a device that writes to the one two further on.
fn ring() -> String {
    let mut text = String::from("[parts.host]\nis = \"root-complex\"\n");
    for i in 0..5 {
        let (next, before, target) = ((i + 1) % 5, (i + 4) % 5, (i + 2) % 5);
        let _ = write!(
            text,
            r#"
[parts.sw{i}]
is = "switch"
posted_headers = 1
[parts.d{i}]
is = "endpoint"
[links.up{i}]
between = ["host", "sw{i}.up"]
pcie = "gen3 x4"
[links.slot{i}]
between = ["sw{i}.down.0", "d{i}"]
pcie = "gen3 x4"
[links.ring{i}]
between = ["sw{i}.down.1", "sw{next}.down.2"]
pcie = "gen3 x4"
crosslink = true
carries = ["d{i}", "d{before}"]
[flows.f{i}]
from = "d{i}"
to = "d{target}"
do = "write"
size = "128 B"
"#
        );
    }
    text
}

/// Buffers in a ring fill up with what wants on (Dally and Seitz 1987: a cycle of channels that wait for one another).
#[test]
fn a_ring_of_switches_locks_up_and_is_named() {
    let s = simulate(&ring(), &[]);
    let Ending::Deadlock { circle } = &s.ending else { panic!("{:?}", s.ending) };
    assert_eq!(circle.len(), 5, "{circle:?}");
    for i in 0..5 {
        let wire = format!("links.ring{i} toward sw{}", (i + 1) % 5);
        assert!(circle.iter().any(|c| c.starts_with(&wire) && c.contains("Posted")), "{wire}: {circle:?}");
    }
    // Cut it open and it runs.
    let s = simulate(&ring(), &["flows.f0.to=d1", "run.for=1 ms"]);
    assert_eq!(s.ending, Ending::Length);
    assert!(s.flows.iter().all(|f| f.rate.mean > 1e9), "{:?}", s.flows);
}

/// Two NICs behind a Gen3 x4 uplink, which carries 28 Gb/s of their payload.
#[test]
fn an_open_load_is_stable_or_its_backlog_grows() {
    let nics = ["parts.nic.count=2", "links.up.pcie=gen3 x4", "run.for=2 ms"];
    for (rate, stable) in [(10, true), (20, false)] {
        let load = format!("flows.rx.load={{ rate = \"{rate} Gb/s\", arrivals = \"poisson\" }}");
        let s = simulate(TREE, &[&nics[..], &[&load]].concat());
        let f = simulated(&s, "rx");
        assert_eq!(f.unstable, !stable, "{rate} Gb/s");
        if stable {
            assert!(f.backlog < 30, "{}", f.backlog);
            // 2 ms of Poisson arrivals: 2441 operations, so 2 % is one deviation.
            within(0.06, f.rate.mean, 20e9);
        } else {
            let missing = (40e9 - f.rate.mean) * (s.window + s.warmup) / 8.0 / 2048.0;
            within(0.1, f.backlog as f64, missing);
        }
    }
}

#[test]
fn runs_end_at_their_caps() {
    let s = simulate(TREE, &["run.for=123 us", "run.warmup=7 us"]);
    assert_eq!(s.ending, Ending::Length);
    within(1e-12, s.warmup, 7e-6);
    within(1e-12, s.window, 123e-6);
    assert_eq!(s.until, None);
    let s = simulate(TREE, &["run.for=1 ms", "run.warmup=0 ns"]);
    assert_eq!(s.warmup, 0.0);
    within(1e-12, s.window, 1e-3);
    // A cap on packets holds whatever length was asked for.
    for length in ["run.for=1 s", "run.warmup=1 s"] {
        let s = simulate(TREE, &[length, "run.max_packets=5000"]);
        assert_eq!(s.ending, Ending::PacketCap, "{length}");
        assert!((5000..50_000).contains(&s.packets), "{length}: {} packets", s.packets);
    }
    let text = TREE.replace("for = \"400 us\"\nwarmup = \"50 us\"\n", "");
    let s = simulate(&text, &["run.max_time=30 us"]);
    assert_eq!(s.ending, Ending::TimeCap);
    within(1e-12, s.warmup + s.window, 30e-6);
    let s = simulate(&text, &["run.until=2 %"]);
    assert_eq!(s.ending, Ending::Tight);
    let f = simulated(&s, "rx");
    assert!(f.rate.relative() <= 0.02 && f.latency.relative() <= 0.02, "{f:?}");
    let s = simulate(&text, &["flows.rx.load={ outstanding = 2, think = \"1 h\" }"]);
    assert_eq!(s.ending, Ending::TimeCap);
    assert_eq!(s.packets, 3 * 2 * 8 * 2);
}

/// What a text is refused for by the simulator, though it can be planned.
fn refused(sets: &[&str]) -> String {
    let (plan, mut diagnostics) = plan(TREE, sets);
    let plan = plan.unwrap_or_else(|| panic!("{diagnostics}"));
    assert!(Run::new(&plan, 1, &mut diagnostics).is_none());
    diagnostics.to_string()
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let has = |text: &str, words: &str| assert!(text.contains(words), "{text}");
    has(&refused(&["flows.rx.load={ outstanding = 16000000 }"]), "operations in flight");
    has(&refused(&["links.up.pcie=gen6 x4", "links.up.mps=256 B"]), "FLIT");
    has(&refused(&["flows.rx.do=read", "flows.rx.load={ outstanding = 1, round_trip = \"2 us\" }"]), "round_trip");
}

#[test]
fn shared_cores_carry_their_bandwidth_and_share_it_fairly() {
    for core in ["shared-bus", "shared-memory"] {
        for arbitration in ["round-robin", "oldest-first"] {
            let set = |k: &str, v: &str| format!("parts.sw.{k}={v}");
            let sets = [set("core", core), set("core_bandwidth", "2 GB/s"), set("arbitration", arbitration)];
            let s = simulate(TREE, &sets.each_ref().map(String::as_str));
            let f = simulated(&s, "rx");
            // TLPs of 16 + 256 B count without their framing.
            within(0.005, f.rate.mean, 16e9 * 256.0 / 272.0);
            f.each.iter().for_each(|e| within(0.01, *e, f.rate.mean / 3.0));
        }
    }
    // Three ports that fill an uplink share it in turn.
    let s = simulate(TREE, &["links.up.pcie=gen3 x4"]);
    let f = simulated(&s, "rx");
    f.each.iter().for_each(|e| within(0.005, *e, f.rate.mean / 3.0));
}

#[test]
fn a_root_complex_limits_reads_in_flight_and_memory() {
    let read = ["flows.rx.do=read", "run.for=2 ms"];
    let rate = |sets: &[&str]| simulated(&simulate(TREE, sets), "rx").rate.mean;
    // 512 B for each 400 ns that one of four is worked on.
    within(0.002, rate(&[&read[..], &["parts.host.reads_in_flight=4"]].concat()), 4.0 * 4096.0 / 400e-9);
    within(0.002, rate(&[&read[..], &["parts.host.memory_bandwidth=3 GB/s"]].concat()), 24e9);
    within(0.002, rate(&["parts.host.memory_bandwidth=3 GB/s", "run.for=2 ms"]), 24e9);
    // Both: half each.
    let both = ["flows.rx.do=alternate", "parts.host.memory_bandwidth=3 GB/s", "run.for=2 ms"];
    within(0.005, rate(&both), 12e9);
}

/// Reads and writes of a flow that alternates are as many.
#[test]
fn an_alternating_flow_moves_as_much_each_way() {
    for sets in [&[][..], &["parts.nic.rate=10 Gb/s"], &["flows.rx.load={ outstanding = 3 }"]] {
        let s = simulate(TREE, &[sets, &["flows.rx.do=alternate", "run.for=1 ms"]].concat());
        let (up, down) = (toward(&s, "up", "host").payload.mean, toward(&s, "up", "sw").payload.mean);
        within(0.01, up, down);
        within(0.01, simulated(&s, "rx").rate.mean, down);
        within(1e-9, s.both_ways.mean, 2.0 * simulated(&s, "rx").rate.mean);
    }
}

/// Peers meet in their switch; nothing reaches the root.
#[test]
fn peers_pass_through_their_switch() {
    let to = ["flows.rx.from=nic.0", "flows.rx.to=nic.1"];
    let s = simulate(TREE, &to);
    let estimate = run(TREE, &to);
    within(0.01, simulated(&s, "rx").rate.mean, common::flow(&estimate, "rx").share.typical);
    assert_eq!(toward(&s, "up", "host").slots.tlps, 0);
    assert!(toward(&s, "down.1", "nic.1").slots.payload > 0);
    // Reads of 2 KiB in four requests of 512 B; two of them in 1.2 us or so.
    let read = ["flows.rx.from=nic.0", "flows.rx.to=nic.1", "flows.rx.do=read", "parts.nic.tags=2"];
    let s = simulate(TREE, &read);
    within(0.02, simulated(&s, "rx").rate.mean, common::flow(&run(TREE, &read), "rx").share.typical);
    assert_eq!(toward(&s, "up", "host").slots.tlps + toward(&s, "up", "sw").slots.tlps, 0);
    assert!(toward(&s, "down.0", "nic.0").slots.payload > 0);
}

/// One device at a root port; what each of its own limits says in its key's line.
#[test]
fn the_limits_of_an_engine_hold() {
    let base = ["parts.nic.count=1", "links.up.pcie=gen3 x4", "run.for=4 ms"];
    let sim = |sets: &[&str]| simulate(TREE, &[&base[..], sets].concat());
    let rate = |sets: &[&str]| simulated(&sim(sets), "rx").rate.mean;
    let read = "flows.rx.do=read";
    for what in ["rate", "write_rate"] {
        within(0.002, rate(&[&format!("parts.nic.{what}=9 Gb/s")]), 9e9);
    }
    for what in ["rate", "read_rate", "bus_rate"] {
        within(0.002, rate(&[read, &format!("parts.nic.{what}=9 Gb/s")]), 9e9);
    }
    // A limit of the other kind is none.
    within(1e-9, rate(&["parts.nic.read_rate=1 Gb/s"]), rate(&[]));
    within(1e-9, rate(&[read, "parts.nic.write_rate=1 Gb/s"]), rate(&[read]));
    // Reads and writes added.
    within(0.002, rate(&["flows.rx.do=alternate", "parts.nic.rate=9 Gb/s"]), 4.5e9);
    // One transfer of 2 KiB in 4 us.
    within(0.002, rate(&["parts.nic.write_interval=4 us"]), 16384.0 / 4e-6);
    within(0.002, rate(&[read, "parts.nic.read_interval=4 us"]), 16384.0 / 4e-6);
    // After each TLP of 280 B its wire is left alone for 500 ns.
    let wire = 280.0 / (4.0 * 8e9 / 8.0 * 128.0 / 130.0);
    within(0.005, rate(&["parts.nic.tlp_gap=500 ns"]), 2048.0 / (wire + 500e-9));
    // So it is after a read request of 20 B: eight of those and four of these, of 512 B each, for 2 KiB each way.
    let request = 20.0 / (4.0 * 8e9 / 8.0 * 128.0 / 130.0);
    let pair = 8.0 * (wire + 500e-9) + 4.0 * (request + 500e-9);
    within(0.005, rate(&["flows.rx.do=alternate", "parts.nic.tlp_gap=500 ns"]), 16384.0 / pair);
    // After all eight 3 us more; between requests and writes 3 us, once there and once back.
    let writes = 8.0 * wire;
    within(0.005, rate(&["parts.nic.transfer_gap=3 us"]), 16384.0 / (writes + 3e-6));
    let pair = writes + 4.0 * request + 6e-6;
    within(0.005, rate(&["flows.rx.do=alternate", "parts.nic.direction_change=3 us"]), 16384.0 / pair);
    within(0.005, rate(&["flows.rx.do=alternate", "parts.nic.transfer_gap=3 us"]), 16384.0 / pair);
    assert!(toward(&sim(&["parts.nic.rate=9 Gb/s"]), LONE, "sw").slots.idle[Idle::Pace as usize] > 0);
}

/// A pause after each request, or after all tags together.
#[test]
fn turn_around_follows_each_request_or_the_batch() {
    let base = ["parts.nic.count=1", "flows.rx.do=read", "run.for=4 ms", "links.up.ack_every=never"];
    let sim = |sets: &[&str]| -> Simulation { simulate(TREE, &[&base[..], sets].concat()) };
    let closed = ["flows.rx.load={ outstanding = 1 }", "flows.rx.size=512 B", "parts.nic.tags=1"];
    let round = simulated(&sim(&closed), "rx").latency.mean;
    // A tag comes back `round` + 2 us after it went.
    for tags in [1, 2] {
        let s = sim(&["flows.rx.size=512 B", "parts.nic.turnaround=2 us", &format!("parts.nic.tags={tags}")]);
        within(0.02, simulated(&s, "rx").rate.mean, tags as f64 * 4096.0 / (round + 2e-6));
        assert!(toward(&s, LONE, "sw").slots.idle[Idle::TurnAround as usize] > 0);
    }
    // All four, then the pause: the last is in when three times 4 completions of 128 + 24 B have come in before it (x4:
    // 3.94 B/ns).
    let batch = round + 3.0 * 4.0 * 152.0 / 3.938e9;
    let sets = ["flows.rx.size=512 B", "parts.nic.turnaround=2 us", "parts.nic.turnaround_after=batch"];
    let s = sim(&[&sets[..], &["parts.nic.tags=4"]].concat());
    within(0.01, simulated(&s, "rx").rate.mean, 4.0 * 4096.0 / (batch + 2e-6));
    // Two engines beside one another pause each for itself.
    let s = sim(&[&sets[..], &["parts.nic.tags=1", "parts.nic.engines=2"]].concat());
    within(0.02, simulated(&s, "rx").rate.mean, 2.0 * 4096.0 / (round + 2e-6));
}

/// An internal bus adds size / bus_rate to a read, and gives back a request's tag when its own data are through.
#[test]
fn an_internal_bus_delays_the_read_and_frees_tags_as_it_goes() {
    let base = ["parts.nic.count=1", "flows.rx.do=read", "run.for=4 ms", "flows.rx.size=4 KiB"];
    let one = ["flows.rx.load={ outstanding = 1 }", "parts.nic.tags=8"];
    let sim = |sets: &[&str]| simulate(TREE, &[&base[..], sets].concat());
    let without = simulated(&sim(&one), "rx").latency.mean;
    let with = simulated(&sim(&[&one[..], &["parts.nic.bus_rate=2 GB/s"]].concat()), "rx").latency.mean;
    within(0.02, with - without, 4096.0 / 2e9);
    // Two tags: request by request through 512 B of the link and of the bus, whatever the operation is cut into.
    let tags = |size: &str| {
        let s = sim(&["parts.nic.tags=2", "parts.nic.bus_rate=2 GB/s", &format!("flows.rx.size={size}")]);
        simulated(&s, "rx").rate.mean
    };
    within(0.01, tags("512 B"), tags("4 KiB"));
}

/// Data of reads are moved side by side: each read takes size / move_rate longer, and with reads enough the link is
/// full all the same, which a bus of that rate would not let it be.
#[test]
fn moving_data_takes_time_and_is_no_ceiling() {
    let base = ["parts.nic.count=1", "flows.rx.do=read", "run.for=4 ms", "flows.rx.size=4 KiB", "parts.nic.tags=8"];
    let sim = |sets: &[&str]| simulate(TREE, &[&base[..], sets].concat());
    let one = ["flows.rx.load={ outstanding = 1 }"];
    let without = simulated(&sim(&one), "rx").latency.mean;
    let with = simulated(&sim(&[&one[..], &["parts.nic.move_rate=2 GB/s"]].concat()), "rx").latency.mean;
    within(0.02, with - without, 4096.0 / 2e9);
    let many = ["parts.nic.tags=256", "parts.nic.max_read_request=512 B"];
    let with = simulated(&sim(&[&many[..], &["parts.nic.move_rate=1 GB/s"]].concat()), "rx").rate.mean;
    within(0.01, with, simulated(&sim(&many), "rx").rate.mean);
    assert!(with > 2.0 * 8e9, "{with}");
}

/// A device that picks its flows at random serves one that has something to do.
#[test]
fn a_flow_without_work_does_not_hold_up_the_one_picked_at_random() {
    let text = format!(
        "{TREE}[flows.slow]\nfrom = \"nic.*\"\nto = \"host.memory\"\ndo = \"write\"\nsize = \"2 KiB\"\nload = {{ rate \
            = \"100 Mb/s\" }}\n"
    );
    let s = simulate(&text, &["parts.nic.order=random", "flows.rx.load={ rate = \"10 Gb/s\" }", "run.for=2 ms"]);
    within(0.01, simulated(&s, "rx").rate.mean, 30e9);
    within(0.05, simulated(&s, "slow").rate.mean, 0.3e9);
}

/// What a run says held a flow up is what does: each time the one thing that there is too little of, and for how much
/// of the time.
#[test]
fn a_run_names_what_holds_a_flow_up() {
    let answered = ["links.down.update_fc_every=1", "links.up.update_fc_every=1", "links.down.ack_every=1"];
    let cases: [(&[&str], &str, &str); 8] = [
        (&["links.up.pcie=gen1 x1"], "links.up toward host", "slots"),
        (&["parts.card.write_rate=100 MB/s"], "parts.card", "engine"),
        (&["flows.w.do=read", "parts.card.tags=1"], "parts.card", "read requests in flight"),
        (&["flows.w.do=read", "parts.card.tags=1", "parts.card.turnaround=5 us"], "parts.card", "turn-around"),
        (&["parts.sw.posted_headers=1", "links.down.delay=1 us"], "links.down toward sw", "credits"),
        (&["parts.host.posted_headers=1", "links.up.delay=1 us"], "links.up toward host", "credits"),
        (&["parts.card.replay_buffer=84 B", "links.down.delay=1 us"], "links.down toward sw", "replay buffer"),
        (&["flows.w.load={ outstanding = 1, think = \"2 us\" }"], "flows.w", "its own load"),
    ];
    for (sets, element, resource) in cases {
        let base = ["flows.w.load=saturate", "run.for=200 us", "run.warmup=50 us"];
        let s = simulate(ALONE, &[&base[..], &answered, sets].concat());
        let by = &simulated(&s, "w").bound_by;
        assert_eq!((by.element.as_str(), by.resource.as_str()), (element, resource), "{sets:?}: {by:?}");
        let percent: f64 = by.evidence.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!((60.0..=100.0).contains(&percent), "{sets:?}: {by:?}");
    }
}
