//! Transactions between stations, every frame and gap worked out by hand.

use super::{fs, ios, simulate};
use crate::common::{flow, has_at as has, plan, planned, run, simulated, within, wrong};
use lanescope::diagnostic::Diagnostics;
use lanescope::result::{Ending, IoCounts, Simulation};
use lanescope::sim::{Run, Step};

const NS: u64 = 1_000_000;
const US: u64 = 1000 * NS;
/// A byte at 10 Gb/s.
const BYTE: u64 = 800_000;
/// Both processors.
const HOST: u64 = 15 * US;
/// An empty segment: 40 B of headers in a frame of 64 B, behind 8 B of preamble; 12 B of gap follow.
const EMPTY: u64 = 72 * BYTE;

/// Two stations on one cable.
const CABLE: &str = r#"
[parts.a]
is = "station"
[parts.b]
is = "station"
[links.lan]
between = ["a", "b"]
ethernet = "10 Gb/s"
delay = "100 ns"
[flows.net]
from = "a"
to = "b"
do = "transact"
access = { size = "2000 B", read = "0 %" }
submit_time = "5 us"
complete_time = "10 us"
[run]
for = "1 ms"
warmup = "0 s"
"#;

/// The same on one switch.
fn switched() -> String {
    CABLE.replace(
        "[links.lan]\nbetween = [\"a\", \"b\"]\n",
        "[parts.sw]\nis = \"ethernet-switch\"\nlatency = \"400 ns\"\n[links.lan]\nbetween = [\"sw\", [\"a\", \"b\"]]\n",
    )
    .replace("between = [\"sw\", [\"a\", \"b\"]]", "between = [\"sw\", \"a\"]")
    .replace(
        "[flows.net]",
        "[links.other]\nbetween = [\"sw\", \"b\"]\nethernet = \"10 Gb/s\"\ndelay = \"100 ns\"\n[flows.net]",
    )
}

fn only(s: &Simulation) -> &IoCounts {
    let [one] = &ios(s, "net").seen.counts[..] else { panic!("{:?}", ios(s, "net").seen) };
    one
}

/// 2000 B are 1460 B and 540 B: frames of 1518 B and 598 B, and a gap between.
const MESSAGE: u64 = (8 + 1518 + 12 + 8 + 598) * BYTE;

#[test]
fn one_message_on_one_cable() {
    let by_hand = HOST + MESSAGE + 100 * NS;
    for read in ["0 %", "100 %"] {
        let access = format!("flows.net.access={{ size = \"2000 B\", read = \"{read}\" }}");
        let s = simulate(CABLE, &[&access]);
        let c = only(&s);
        let side = if read == "0 %" { c.writes } else { c.reads };
        assert_eq!((fs(side.times.min), fs(side.times.max)), (by_hand, by_hand));
        // One after the other for a millisecond, and nothing else.
        let n = 1000 * US / by_hand;
        assert_eq!((c.ios(), side.bytes, c.transactions.count, c.connections.count), (n, 2000 * n, n, 0));
        assert_eq!((c.flow.as_str(), c.worker, c.target.as_str()), ("net", 0, "b"));
        let stages = ios(&s, "net").stages.map(fs);
        assert_eq!(stages, [5 * US, 0, 0, MESSAGE + 100 * NS, 0, 10 * US]);
        // What the frames carry, each way.
        let [there, back] = &s.links[..] else { panic!("{}", s.links.len()) };
        let (used, idle) = if read == "0 %" { (there, back) } else { (back, there) };
        assert_eq!(idle.slots.busy(), 0);
        // The last message may be on its way.
        let frames = used.slots.tlps;
        assert!(frames == 2 * n || frames == 2 * n + 2, "{frames}");
        assert_eq!((used.slots.payload, used.slots.framing), (1000 * frames, 58 * frames));
        // The estimate says the same.
        let report = run(CABLE, &[&access]);
        let f = flow(&report, "net");
        assert_eq!(fs(f.latency.typical), by_hand);
        within(1e-9, f.share.typical, 16_000.0 / by_hand as f64 * 1e15);
        within(1e-9, f.bound.typical, f.share.typical);
        assert_eq!(f.bound_by.resource, "I/Os outstanding");
        assert_eq!(report.links.iter().filter(|l| l.payload.typical > 0.0).count(), 1);
    }
}

#[test]
fn a_request_and_its_reply() {
    let access = "flows.net.access={ size = \"2000 B\", read = \"0 %\", reply = \"1 B\" }";
    let s = simulate(CABLE, &[access]);
    let c = only(&s);
    let (there, back) = (HOST + MESSAGE + 100 * NS, HOST + EMPTY + 100 * NS);
    assert_eq!([c.writes.times.min, c.writes.times.max].map(fs), [there; 2]);
    assert_eq!([c.reads.times.min, c.reads.times.max].map(fs), [back; 2]);
    assert_eq!([c.transactions.min, c.transactions.max].map(fs), [there + back; 2]);
    assert_eq!(c.transactions.count, 1000 * US / (there + back));
    let report = run(CABLE, &[access]);
    within(1e-9, flow(&report, "net").share.typical, 8.0 * 2001.0 / (there + back) as f64 * 1e15);
}

#[test]
fn both_ends_on_one_switch() {
    let s = simulate(&switched(), &[]);
    // The first frame is whole in the switch, and 400 ns later on its way; the second waits until it and the gap are
    // through.
    let first = 1526 * BYTE + 100 * NS + 400 * NS;
    let by_hand = HOST + first + (1538 + 606) * BYTE + 100 * NS;
    let c = only(&s);
    assert_eq!([c.writes.times.min, c.writes.times.max].map(fs), [by_hand; 2]);
    let report = run(&switched(), &[]);
    assert_eq!(fs(flow(&report, "net").latency.typical), by_hand);
    // A slower link to the far end: frames follow one another there.
    let slow = ["links.other.ethernet=1 Gb/s"];
    let by_hand = HOST + first + 10 * (1538 + 606) * BYTE + 100 * NS;
    assert_eq!(fs(only(&simulate(&switched(), &slow)).writes.times.max), by_hand);
    assert_eq!(fs(flow(&run(&switched(), &slow), "net").latency.typical), by_hand);
    // A slower link to the near end: the short frame comes when the one before it has long gone.
    let slow = ["links.lan.ethernet=1 Gb/s"];
    let by_hand = HOST + 10 * (1538 + 606) * BYTE + 100 * NS + 400 * NS + 606 * BYTE + 100 * NS;
    assert_eq!(fs(only(&simulate(&switched(), &slow)).writes.times.max), by_hand);
    assert_eq!(fs(flow(&run(&switched(), &slow), "net").latency.typical), by_hand);
}

#[test]
fn connections_of_so_many_transactions() {
    // SYN, SYN-ACK, ACK; FIN, ACK and FIN one behind the other, ACK.
    let open = 3 * (EMPTY + 100 * NS);
    let close = 3 * (EMPTY + 100 * NS) + EMPTY + 12 * BYTE;
    let one = HOST + MESSAGE + 100 * NS;
    for n in [1u64, 3] {
        let sets = [format!("flows.net.connections={n}")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let s = simulate(CABLE, &sets);
        let c = only(&s);
        let by_hand = open + n * one + close;
        assert_eq!([c.connections.min, c.connections.max].map(fs), [by_hand; 2]);
        assert_eq!(c.connections.count, 1000 * US / by_hand);
        assert!(c.transactions.count - n * c.connections.count <= n);
        assert_eq!(fs(c.transactions.max), one);
        let report = run(CABLE, &sets);
        let f = flow(&report, "net");
        within(1e-9, f.share.typical, 16_000.0 * n as f64 / by_hand as f64 * 1e15);
        assert_eq!(fs(f.latency.typical).abs_diff(one) / 10, 0);
    }
    // Nothing but connections.
    let s = simulate(CABLE, &["flows.net.connections=0"]);
    let c = only(&s);
    assert_eq!([c.connections.min, c.connections.max].map(fs), [open + close; 2]);
    assert_eq!((c.connections.count, c.ios()), (1000 * US / (open + close), 0));
    let report = run(CABLE, &["flows.net.connections=0"]);
    let f = flow(&report, "net");
    assert!(f.share.typical < 1e-9 && f.bound.typical < 1e-9, "{f:?}");
}

#[test]
fn small_mtus_cut_small_segments() {
    // 100 B of client data: 60 B a segment; 2000 B are 33 full ones and 20 B.
    let s = simulate(CABLE, &["links.lan.mtu=100 B"]);
    let by_hand = HOST + (33 * (20 + 118) + 8 + 78) * BYTE + 100 * NS;
    assert_eq!(fs(only(&s).writes.times.max), by_hand);
    assert_eq!(fs(flow(&run(CABLE, &["links.lan.mtu=100 B"]), "net").latency.typical), by_hand);
}

#[test]
fn workers_share_a_wire() {
    let sets = [
        "flows.net.access={ size = \"1 MiB\", read = \"0 %\" }",
        "flows.net.workers=4",
        "flows.net.submit_time=1 us",
        "flows.net.complete_time=1 us",
        "run.for=100 ms",
    ];
    let s = simulate(CABLE, &sets);
    let report = run(CABLE, &sets);
    let f = flow(&report, "net");
    // 1460 B in 1538.
    within(1e-3, f.share.typical, 1e10 * 1460.0 / 1538.0);
    assert_eq!(f.bound_by.element, "links.lan toward b");
    let moved: u64 = ios(&s, "net").seen.counts.iter().map(|c| c.writes.bytes).sum();
    within(0.02, moved as f64 * 8.0 / 0.1, f.share.typical);
    let by = &simulated(&s, "net").bound_by;
    assert_eq!((by.element.as_str(), by.resource.as_str()), ("links.lan toward b", "slots"));
}

#[test]
fn everybody_with_all_others() {
    let text = r#"
[parts.h]
is = "station"
count = 3
[parts.sw]
is = "ethernet-switch"
[links.lan]
between = ["h.*", "sw"]
ethernet = "1 Gb/s"
[flows.net]
from = "h.*"
to = "h.*"
do = "transact"
access = { size = "4 KiB", read = "50 %", reply = "100 B" }
connections = 7
[run]
for = "50 ms"
warmup = "5 ms"
"#;
    let plan = planned(text, &[]);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    let mut looks = 0;
    while run.advance(5000) != Step::Done {
        looks += u32::from(run.ios().counts.iter().all(|c| c.transactions.count > 0));
    }
    let s = run.snapshot();
    assert!(looks > 3, "{looks}");
    let seen = &ios(&s, "net").seen;
    let pairs: Vec<_> = seen.counts.iter().map(|c| (c.worker, c.target.as_str())).collect();
    assert_eq!(pairs, [(0, "h.1"), (0, "h.2"), (1, "h.0"), (1, "h.2"), (2, "h.0"), (2, "h.1")]);
    for c in &seen.counts {
        // Connections that an end of the window cuts have transactions, and are not counted.
        let (n, connections) = (c.transactions.count, c.connections.count);
        assert!(n > 100 && 7 * connections <= n && n < 7 * (connections + 2), "{c:?}");
        // A reply whose request was before, and a request whose reply is behind.
        assert!(c.ios() >= 2 * n && c.ios() <= 2 * n + 2, "{c:?}");
    }
    // In other pieces, the same.
    let whole = crate::common::simulate_by(&plan, 1, u64::MAX);
    assert_eq!(Simulation { events: whole.events, ..s }, whole);
}

#[test]
fn what_a_switch_drops_ends_the_run() {
    let text = r#"
[parts.h]
is = "station"
count = 8
[parts.t]
is = "station"
[parts.sw]
is = "ethernet-switch"
memory = "4 KiB"
[links.lan]
between = ["h.*", "sw"]
ethernet = "10 Gb/s"
[links.last]
between = ["t", "sw"]
ethernet = "10 Gb/s"
[flows.net]
from = "h.*"
to = "t"
do = "transact"
access = { size = "64 KiB", read = "0 %" }
[run]
for = "50 ms"
"#;
    let of = |sets: &[&str]| {
        let plan = planned(text, sets);
        crate::common::simulate_by(&plan, 1, u64::MAX).ending
    };
    let Ending::Fault { what } = of(&[]) else { panic!("nothing was dropped") };
    assert!(what.contains("frames of RoCE or of transactions"), "{what}");
    assert_eq!(of(&["parts.sw.flow_control=pause", "parts.sw.memory=1 MiB"]), Ending::Length);
}

#[test]
fn what_can_be_wrong() {
    let text = switched();
    let broken = |old: &str, new: &str| {
        assert!(text.contains(old), "there is no {old:?}");
        wrong(&text.replacen(old, new, 1), &[])
    };
    assert!(plan(&text, &[]).0.is_some());
    has(&broken("to = \"b\"", "to = \"bb\""), &["there is no part \"bb\"", "did you mean b?"]);
    has(&broken("from = \"a\"", "from = \"aa\""), &["there is no part \"aa\"", "did you mean a?"]);
    has(&broken("to = \"b\"", "to = \"sw\""), &["sw is a switch", "name stations"]);
    has(&broken("to = \"b\"", "to = \"a\""), &["a would exchange messages with itself"]);
    has(&broken("to = \"b\"", "to = [\"b\", \"b\"]"), &["b is named twice", "workers"]);
    has(&broken("to = \"b\"", "to = []"), &["no other end"]);
    has(&broken("to = \"b\"", "to = \"b.port\""), &["not their \"port\""]);
    has(&broken("do = \"transact\"", "do = \"transcat\""), &["transcat", "did you mean \"transact\"?"]);
    has(&broken("access = {", "acess = {"), &["acess"]);
    has(&broken("submit_time", "outstanding = 4\nsubmit_time"), &["outstanding"]);
    has(&broken("submit_time", "reply = \"1 B\"\nsubmit_time"), &["reply is a field of a line"]);
    has(&broken("submit_time", "connections = -1\nsubmit_time"), &["not negative"]);
    has(&broken("latency = \"400 ns\"", "flow_control = \"voq\""), &["flow_control = \"voq\"", "pause"]);
    has(&broken("is = \"station\"", "is = \"station\"\nmac_buffer = \"1 KiB\""), &["mac_buffer of 1 KiB", "1518 B"]);
    has(&broken("size = \"2000 B\"", "size = \"0 B\""), &["1 B to 1 GiB"]);
    has(&broken("submit_time", "workers = 20000\nsubmit_time"), &["20000 pairs of a worker"]);
    // A station without any Ethernet, and a host that is none.
    let host = "[parts.host]\nis = \"root-complex\"\n[parts.dev]\nis = \"endpoint\"\n[links.slot]\nbetween = \
        [\"host\", \"dev\"]\npcie = \"gen1 x4\"\n";
    has(&wrong(&(host.to_owned() + &text).replacen("to = \"b\"", "to = \"host\"", 1), &[]), &["host is", "station"]);
}

/// Some access specifications, some stations, some ways between them: no pair exceeds its bound, and what every run
/// keeps holds.
#[test]
fn laws_of_random_transactions() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut held = 0;
    for case in 0..40 {
        let n = 2 + draw(4);
        let forwarding = ["cut-through", "store-and-forward"][draw(2) as usize];
        let rates = ["1 Gb/s", "10 Gb/s", "100 Gb/s"];
        let mut text = format!(
            "[parts.h]\nis = \"station\"\ncount = {n}\n[parts.sw]\nis = \"ethernet-switch\"\nforwarding = \
                \"{forwarding}\"\n\
             [parts.t]\nis = \"station\"\n[links.lan]\nbetween = [\"h.*\", \"sw\"]\nethernet = \"{}\"\nmtu = \"{} B\"\n\
             [links.last]\nbetween = [\"sw\", \"t\"]\nethernet = \"{}\"\n[flows.net]\ndo = \"transact\"\n",
            rates[draw(3) as usize],
            [46, 100, 1500, 9000][draw(4) as usize],
            rates[draw(3) as usize]
        );
        text += [
            "from = \"h.*\"\nto = \"h.*\"\n",
            "from = \"h.*\"\nto = [\"t\", \"h.0\"]\n",
            "from = \"t\"\nto = \"h.*\"\n",
        ][draw(3) as usize];
        let lines = 1 + draw(2);
        let all: Vec<String> = (0..lines)
            .map(|_| {
                let largest = [10, 2000, 60_000][draw(3) as usize];
                let (size, read) = (1 + draw(largest), [0, 50, 100][draw(3) as usize]);
                let reply = [0, 0, 1 + draw(5000)][draw(3) as usize];
                let pause = ["", ", delay = \"20 us\", burst = 3"][draw(2) as usize];
                format!(
                    "{{ size = \"{size} B\", share = \"{} %\", read = \"{read} %\", reply = \"{reply} B\"{pause} }}",
                    100 / lines
                )
            })
            .collect();
        text += &format!("access = [{}]\nworkers = {}\n", all.join(", "), 1 + draw(3));
        text += &["".into(), format!("connections = {}\n", 1 + draw(20))][draw(2) as usize];
        text += &format!("submit_time = \"{} ns\"\ncomplete_time = \"{} ns\"\n", draw(5000), draw(5000));
        text += "[run]\nfor = \"2 ms\"\nwarmup = \"0 s\"\n";
        let plan = planned(&text, &[]);
        let s = crate::common::simulate_by(&plan, 1, u64::MAX);
        super::check(&plan, &s, &[]);
        assert_eq!(crate::common::simulate_by(&plan, 1, 777).fingerprint, s.fingerprint, "case {case}:\n{text}");
        let report = run(&text, &[]);
        let (f, seen) = (flow(&report, "net"), &ios(&s, "net").seen);
        assert!(f.share.typical <= f.bound.typical * (1.0 + 1e-9), "{f:?}");
        let (mut bytes, mut transactions) = (0, 0);
        for c in &seen.counts {
            bytes += c.reads.bytes + c.writes.bytes;
            transactions += c.transactions.count;
            assert!(c.connections.count <= c.transactions.count, "{c:?}");
        }
        let largest = plan.storage.flows[0].lines.iter().map(|l| l.size.0 + l.reply.0).max().unwrap_or(0);
        let mixed = plan.storage.flows[0].lines.len() > 1 || text.contains("50 %\", reply");
        let drawn = if mixed { 6.0 / (transactions as f64 + 1.0).sqrt() } else { 0.0 };
        let slack = (seen.counts.len() as u64 * largest) as f64;
        let most = f.bound.typical / 8.0 * 2e-3 * (1.0 + drawn) + slack;
        assert!(bytes as f64 <= most * (1.0 + 1e-9), "case {case}: {bytes} B of {most} B\n{text}");
        held += u32::from(slack < 0.2 * most);
    }
    assert!(held > 20, "{held}");
}
