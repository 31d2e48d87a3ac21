//! The backbone of a root complex: transactions by hand, every clock accounted for, and what binds.

use crate::common::{flow, run, simulate, simulated, within, wrong};
use lanescope::result::{BusIdle, Ending, SimulatedBackbone, Simulation};

/// Two cards below a hub, one operation each, alone in the system. A clock is 40 ns, a symbol 4 ns.
const ALONE: &str = r#"
[parts.hub]
is = "root-complex"
read_latency = "400 ns"
write_latency = "0 ns"
completion_size = "64 B"
backbone_clock = "25 MHz"
backbone_width = "8 B"
backbone_line = "64 B"
arbitration_clocks = 1
request_clocks = 3
completion_clocks = 4
backbone_latency = "10 ns"
[parts.a]
is = "endpoint"
[parts.b]
is = "endpoint"
[links.a]
between = ["hub.port.0", "a"]
pcie = "gen1 x1"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[links.b]
between = ["hub.port.1", "b"]
pcie = "gen1 x1"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[flows.a]
from = "a"
to = "hub.memory"
do = "write"
size = "64 B"
header = "3DW"
load = { outstanding = 1, think = "1 h" }
[run]
for = "10 us"
warmup = "0 ns"
"#;

/// The same of the other card.
const BESIDE: &str = r#"
[flows.b]
from = "b"
to = "hub.memory"
do = "write"
size = "64 B"
header = "3DW"
load = { outstanding = 1, think = "1 h" }
"#;

fn two(text: &str) -> String {
    text.replace("[run]", &format!("{BESIDE}[run]"))
}

/// Without the other card, which would have no flow.
fn backbone(simulation: &Simulation) -> &SimulatedBackbone {
    &simulation.backbones[0]
}

#[track_caller]
fn takes(simulation: &Simulation, name: &str, by_hand: f64) {
    let f = simulated(simulation, name);
    assert_eq!(f.operations, 1);
    assert!((f.latency.mean - by_hand).abs() < 1e-15, "{name}: {} is not {by_hand}", f.latency.mean);
}

#[test]
fn one_write_by_hand() {
    // 84 B arrive at 337 ns and ask at 347; the edge is at 360. Grant 1, address 3, data 8 clocks: 480 ns.
    let s = simulate(ALONE, &[]);
    takes(&s, "a", 840e-9);
    // Clock 0 to 9 idle, 12 clocks of work, the rest of 250 idle.
    let bus = backbone(&s).request;
    assert_eq!((bus.arbitration, bus.overhead, bus.data, bus.transactions), (1, 3, 8, 1));
    assert_eq!(bus.idle, [238, 0, 0, 0]);
    assert_eq!(bus.total(), 250);
    assert_eq!(backbone(&s).completion.idle[BusIdle::Nothing as usize], 250);
    // 148 B at 593, asking at 603, begun at 640: two transactions.
    takes(&simulate(ALONE, &["flows.a.size=128 B"]), "a", 1600e-9);
    // Two TLPs of a line each: the second is whole at 673 and asks at 683, is granted behind the first at 840 and
    // across at 1320.
    let s = simulate(
        ALONE,
        &[
            "flows.a.size=128 B",
            "links.a.mps=128 B",
            "flows.a.load={ outstanding = 2, think = \"1 h\" }",
            "flows.a.size=64 B",
        ],
    );
    assert_eq!(simulated(&s, "a").operations, 2);
    assert!((simulated(&s, "a").latency.mean - (840e-9 + 1320e-9) / 2.0).abs() < 1e-15);
    // With room for but one, the second leaves when the first is across and its credits are back: after the symbol, 336
    // ns, 11 ns and an edge.
    let one = ["flows.a.load=saturate", "parts.hub.posted_data=4", "run.for=100 us", "run.warmup=10 us"];
    let rate = simulated(&simulate(ALONE, &one), "a").rate.mean;
    assert!(rate < 64.0 * 8.0 / 827e-9 && rate > 64.0 * 8.0 / 960e-9, "{rate}");
    // 5 B cut to a line of 1 clock of data: (12 + 8 + 5 + 3) x 4 = 112, + 1 + 10, begun at 160: 1 + 3 + 1 clocks.
    takes(&simulate(ALONE, &["flows.a.size=5 B"]), "a", 360e-9);
    // The estimate does not wait for edges.
    let estimate = flow(&run(ALONE, &[]), "a").latency.typical;
    assert!((estimate - 827e-9).abs() < 1e-15, "{estimate}");
}

#[test]
fn one_read_by_hand() {
    // A request of 20 B at 81 ns asks at 91, begins at 120 and is through at 280; memory until 680, an edge; 12 clocks
    // until 1160, at the port's transmitter at 1170, on the wire at 1172; 84 B and 1 ns.
    let read = ["flows.a.do=read"];
    let s = simulate(ALONE, &read);
    takes(&s, "a", 1509e-9);
    let b = backbone(&s);
    assert_eq!((b.request.arbitration, b.request.overhead, b.request.data), (1, 3, 0));
    assert_eq!((b.completion.arbitration, b.completion.overhead, b.completion.data), (0, 4, 8));
    // From 0 nothing; the bus falls idle but once before its transaction.
    assert_eq!(b.completion.idle.iter().sum::<u64>(), 250 - 12);
    // Two lines, two completions: the second request is through at 440, its line waits for the first until 1160, and is
    // there at 1650; on the wire at 1652.
    takes(&simulate(ALONE, &["flows.a.do=read", "flows.a.size=128 B"]), "a", 1989e-9);
    // One completion of both: 148 B from 1652.
    let large = ["flows.a.do=read", "flows.a.size=128 B", "parts.hub.completion_size=128 B"];
    takes(&simulate(ALONE, &large), "a", 2245e-9);
    // A wider line holds both: one request, 16 clocks of data; at 1480 across, two completions from 1492.
    let line = ["flows.a.do=read", "flows.a.size=128 B", "parts.hub.backbone_line=128 B"];
    takes(&simulate(ALONE, &line), "a", 2165e-9);
    let estimate = flow(&run(ALONE, &read), "a").latency.typical;
    // 81 + 10 + 160 + 400 + 480 + 10 + 336 + 1.
    assert!((estimate - 1478e-9).abs() < 1e-15, "{estimate}");
}

#[test]
fn a_grant_passes_behind_the_data_of_another_port() {
    // Both ask at 347. The first is across at 840; the second was granted meanwhile and takes 11 clocks.
    // Arrivals of open loads have no phase.
    let (a, b) = ("flows.a.load={ rate = \"1 kb/s\" }", "flows.b.load={ rate = \"1 kb/s\" }");
    let s = simulate(&two(ALONE), &[a, b]);
    takes(&s, "a", 840e-9);
    takes(&s, "b", 1280e-9);
    assert_eq!(backbone(&s).request.arbitration, 1);
    // A read request carries no data to pass behind: it asks at 91 and is through at 280, a write that asks at 101
    // takes all 12.
    let s = simulate(&two(ALONE), &[a, b, "flows.a.do=read", "flows.b.size=1 B", "links.b.delay=0 ns"]);
    assert_eq!(backbone(&s).request.arbitration, 2);
    // One that comes two clocks before the end of it hides two of its seven: asks at 1000 (clock 25), the first is
    // across at clock 27.
    let s = simulate(&two(ALONE), &[a, b, "parts.hub.arbitration_clocks=7", "links.b.delay=654 ns"]);
    takes(&s, "a", 1080e-9);
    takes(&s, "b", (27.0 + 5.0 + 3.0 + 8.0) * 40e-9);
    assert_eq!(backbone(&s).request.arbitration, 7 + 5);
}

#[test]
fn reads_in_flight_of_a_port_are_bounded_by_their_round_trip() {
    // One at a time: an edge, 4 clocks, 400 ns, 12 clocks, 10 ns, to the symbol 2 ns, 336 ns, 10 ns, to the edge 2 ns:
    // 1400 ns.
    let one =
        ["flows.a.do=read", "flows.a.load=saturate", "parts.hub.backbone_reads=1", "run.for=1 ms", "run.warmup=10 us"];
    let s = simulate(ALONE, &one);
    within(2e-3, simulated(&s, "a").rate.mean, 64.0 * 8.0 / 1400e-9);
    let bus = backbone(&s).request;
    assert!(bus.idle[BusIdle::Reads as usize] > bus.total() / 2, "{bus:?}");
    let by = &simulated(&s, "a").bound_by;
    assert_eq!((by.element.as_str(), by.resource.as_str()), ("parts.hub", "reads in flight of a port"));
    // The estimate: without edges and symbols.
    let e = run(ALONE, &one);
    within(1e-9, flow(&e, "a").share.typical, 64.0 * 8.0 / 1396e-9);
    assert_eq!(flow(&e, "a").bound_by.resource, "reads in flight of a port");
}

/// What `n` cards get together, by the estimate and simulated, as clocks for each 64 B; and what binds.
fn clocks(writers: usize, readers: usize) -> (f64, f64, String) {
    let (head, _) = ALONE.split_once("[parts.a]").expect("the hub");
    let mut text = head.to_owned();
    for i in 0..writers + readers {
        let op = if i < writers { "write" } else { "read" };
        text += &format!(
            "[parts.c{i}]\nis = \"endpoint\"\n[links.l{i}]\nbetween = [\"hub\", \"c{i}\"]\npcie = \"gen2 x4\"\n\
             [flows.f{i}]\nfrom = \"c{i}\"\nto = \"hub.memory\"\ndo = \"{op}\"\nsize = \"128 B\"\n"
        );
    }
    text += "[run]\nuntil = \"±0.2 %\"\n";
    let report = run(&text, &[]);
    let s = simulate(&text, &[]);
    let clocks = |bits: f64| 64.0 * 8.0 / bits / 40e-9;
    let bound_by = s.flows[0].bound_by.resource.clone();
    let rates: Vec<f64> = s.flows.iter().map(|f| f.rate.mean).collect();
    let alike = |r: &[f64]| r.iter().all(|v| (v / r[0] - 1.0).abs() < 0.01);
    assert!(alike(&rates[..writers]) && alike(&rates[writers..]), "{rates:?}");
    let share = report.total.expect("flows").share.typical;
    (clocks(share), clocks(s.both_ways.mean), bound_by)
}

#[test]
fn patterns_take_the_clocks_that_one_counts() {
    for (writers, readers, by_hand, bus) in [
        (1, 0, 12.0, "request bus"),
        (2, 0, 11.0, "request bus"),
        (5, 0, 11.0, "request bus"),
        (0, 1, 12.0, "completion bus"),
        (0, 2, 12.0, "completion bus"),
        (0, 4, 12.0, "completion bus"),
        // Address 3 behind a write, 12 behind a request: 15 for two lines.
        (1, 1, 7.5, "request bus"),
    ] {
        let (share, simulated, bound_by) = clocks(writers, readers);
        within(1e-6, share, by_hand);
        within(3e-3, simulated, by_hand);
        assert_eq!(bound_by, bus, "{writers} writers, {readers} readers");
    }
}

#[test]
fn what_nonsense_is_told() {
    let has = |sets: &[&str], parts: &[&str]| {
        let message = wrong(ALONE, sets);
        parts.iter().for_each(|p| assert!(message.contains(p), "{p:?} is not in:\n{message}"));
    };
    let without =
        |key: &str| -> String { ALONE.lines().filter(|l| !l.starts_with(key)).map(|l| format!("{l}\n")).collect() };
    let message = wrong(&without("backbone_clock"), &[]);
    assert!(message.contains("backbone_width needs backbone_clock"), "{message}");
    assert!(message.contains("t.toml:7:18"), "it points at the value: {message}");
    let message = wrong(&without("backbone_line"), &[]);
    assert!(message.contains("needs backbone_width and backbone_line"), "{message}");
    has(&["parts.hub.backbone_clock=0 MHz"], &["never moves anything"]);
    has(&["parts.hub.backbone_clock=10 Hz"], &["too slow to be simulated", "1 kHz"]);
    has(&["parts.hub.backbone_width=0 B"], &["carries nothing"]);
    has(&["parts.hub.backbone_line=0 B"], &["not a multiple of backbone_width = 8 B"]);
    has(&["parts.hub.backbone_line=60 B"], &["60 B is not a multiple of backbone_width = 8 B", "whole clocks"]);
    has(&["parts.hub.backbone_line=8 KiB"], &["more than any TLP carries", "4 KiB"]);
    has(&["parts.hub.request_clocks=0"], &["request_clocks"]);
    has(&["parts.hub.arbitration_clocks=5000"], &["more clocks than a transaction can take", "4096"]);
    has(&["parts.hub.completion_clocks=16777216"], &["completion_clocks = 16777216"]);
    has(&["parts.hub.backbone_reads=0"], &["backbone_reads"]);
    has(&["parts.hub.backbone_reads=1000000"], &["more than any port holds"]);
    has(&["parts.hub.memory_bandwidth=1 GB/s"], &["contradicts a backbone"]);
    has(&["parts.hub.reads_in_flight=4"], &["set backbone_reads"]);
}

/// A bus may take longer for one write than links take for anything; that is no stall.
#[test]
fn a_slow_bus_is_no_stall() {
    let s = simulate(ALONE, &["parts.hub.backbone_clock=1 kHz", "flows.a.load=saturate", "run.for=400 ms"]);
    assert_eq!(s.ending, Ending::Length);
    // Twelve clocks each.
    let done = simulated(&s, "a").operations;
    assert!((30..=33).contains(&done), "{done}");
}
