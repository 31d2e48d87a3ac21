//! RoCE between stations: what its packets take of the wire, what is sent again where frames are lost or overtake one
//! another, and what is said of it.

use super::{captured, frames, planned, simulate, simulate_by};
use crate::common::choices::{Choices, runner};
use crate::common::{flow, plan, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::protocol::ethernet::wire;
use lanescope::result::Simulation;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};

/// Hosts on leaves and spines, or on one switch.
fn fabric(leaves: u32, spines: u32, hosts: u32, switch: &str, host: &str, flows: &str) -> String {
    format!(
        "[parts.host]\nis = \"station\"\n{host}\n[parts.leaf]\nis = \"ethernet-switch\"\n{switch}\n[parts.spine]\n\
         is = \"ethernet-switch\"\n{switch}\n[links.net]\n\
         leaf_spine = {{ leaves = {leaves}, spines = {spines}, hosts = {hosts} }}\nethernet = \"100 Gb/s\"\n\
         mtu = \"4200 B\"\n{flows}"
    )
}

#[test]
fn a_write_by_hand() {
    // 10,000 B: two packets of 4096 B and one of 1808 B; RETH in the first. Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC
    // 4.
    let text = "[parts.host]\nis = \"station\"\ncount = 2\n[links.cable]\nbetween = [\"host.0\", \"host.1\"]\n\
        ethernet = \"10 Gb/s\"\nmtu = \"4200 B\"\ndelay = \"50 ns\"\n[flows.f]\nfrom = \"host.0\"\nto = \"host.1\"\n\
        do = \"send\"\ntransport = \"rocev2\"\nsize = \"10000 B\"\nload = { trace = \"./one.csv\" }\n\
        [run]\nfor = \"100 us\"\nwarmup = \"0 s\"\n";
    let text = text.replace("{ trace = \"./one.csv\" }", "{ rate = \"1 Gb/s\" }");
    let plan = planned(&text, &[]);
    let report = estimate(&plan, &Diagnostics::default());
    let seen = simulate_by(&plan, 1, u64::MAX);
    let around = 18 + 20 + 8 + 12 + 4;
    let sent = [4096 + around + 16, 4096 + around, 1808 + around];
    // At 0.8 ns a byte, preamble first; the gaps between.
    let last = sent.iter().map(|f| wire(*f)).sum::<u64>() - 12;
    let latency = (last as f64 * 0.8 + 50.0) * 1e-9;
    within(1e-9, seen.flows[0].latency.mean, latency);
    within(1e-9, flow(&report, "f").latency.typical, latency);
    let [out, back] = [&seen.links[0], &seen.links[1]];
    let messages = out.slots.payload / 10_000;
    assert!(messages > 1);
    assert_eq!(out.slots.framing, out.slots.data_tlps / 3 * (3 * around + 16));
    // An acknowledgement for each: 18 + 20 + 8 + 12 + 4 + 4.
    assert_eq!((back.slots.control, back.slots.controls), (messages * wire(66), messages));
    // The estimate counts them, too, and its ledgers add up.
    let rate = flow(&report, "f").share.typical;
    within(1e-9, report.links[1].ledger.acks, rate * wire(66) as f64 / 10_000.0);
    within(1e-9, report.links[0].ledger.framing, rate * (3 * around + 16) as f64 / 10_000.0);
}

#[test]
fn a_connection_fills_its_wire() {
    let flows = "[flows.f]\nfrom = \"host.0\"\nto = \"host.1\"\ndo = \"send\"\ntransport = \"rocev2\"\n\
        size = \"128 KiB\"\n[run]\nfor = \"2 ms\"\nwarmup = \"200 us\"\n";
    for connections in [1, 4] {
        let text = fabric(2, 1, 1, "flow_control = \"pfc\"", "", flows);
        let plan = planned(&text, &[&format!("flows.f.connections={connections}")]);
        let report = estimate(&plan, &Diagnostics::default());
        let payload = 100e9 * 131_072.0 / (32.0 * wire(4096 + 62) as f64 + 16.0);
        within(1e-9, flow(&report, "f").share.typical, payload);
        within(0.003, simulate_by(&plan, 1, u64::MAX).flows[0].rate.mean, payload);
    }
}

/// Incast with too little memory, by rule.
fn incast(rule: &str, more: &str) -> String {
    let flows = format!(
        "[flows.f]\nfrom = \"host.*\"\nto = \"host.0\"\ndo = \"send\"\ntransport = \"rocev2\"\n\
         size = \"20000 B\"\n{more}\n\
         [run]\nfor = \"2 ms\"\nwarmup = \"0 s\"\n"
    );
    let host = format!("retransmission = \"{rule}\"\nretransmission_timeout = \"100 us\"\n");
    fabric(2, 2, 2, "memory = \"100 kB\"", &host, &flows)
}

#[test]
fn what_is_lost_is_sent_again_and_said() {
    for rule in ["go-back-n", "selective"] {
        // 90 % of the port: bursts meet now and then.
        let seen = simulate(&incast(rule, "load = { share = \"30 %\", burst = 8 }"), &[]);
        let f = frames(&seen.flows[0]);
        assert!(f.dropped > 0 && f.resent >= f.dropped.min(1), "{rule}: {f:?}");
        assert!(f.resent > 0, "{rule}: {f:?}");
        // Every message that began is done, or is under way: none is lost for good.
        let saturated = simulate(&incast(rule, ""), &[]);
        let f = frames(&saturated.flows[0]);
        assert!(f.dropped > 0 && f.resent > 0, "{rule}: {f:?}");
        let by = &saturated.flows[0].bound_by;
        assert!(by.resource == "slots" || by.evidence.contains("dropped"), "{rule}: {by:?}");
    }
}

/// Each host sends to the next, so nothing meets anything, in messages that may last longer than the time-out: nothing
/// is lost, nothing is sent again, and all of it is carried.
#[test]
fn what_is_not_lost_is_not_sent_again() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let host = format!(
            "retransmission = \"{}\"\nretransmission_timeout = \"{} us\"\n",
            c.of(&["go-back-n", "selective"]),
            50 + c.below(400)
        );
        let connections = 1 + c.below(4);
        let flows = format!(
            "[flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"\ndo = \"send\"\n\
             transport = \"rocev2\"\nconnections = {connections}\nsize = \"{} B\"\n{}\
             [run]\nfor = \"3 ms\"\nwarmup = \"0 s\"\n",
            c.about(100, 40_000_000),
            c.of(&["", "load = { share = \"90 %\" }\n"])
        );
        let seen = simulate(&fabric(1, 1, 2 + c.below(3) as u32, "", &host, &flows), &[]);
        let f = frames(&seen.flows[0]);
        proptest::prop_assert!((f.dropped, f.resent) == (0, 0), "{f:?}\n{host}{flows}");
        Ok::<(), TestCaseError>(())
    };
    let said = runner(Config::default()).run(&vec(any::<u8>(), 64), law);
    said.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn selective_retransmission_wastes_less() {
    let goodput = |rule: &str| {
        let s = simulate(&incast(rule, "load = { share = \"30 %\", burst = 8 }"), &[]);
        (frames(&s.flows[0]).resent, s.flows[0].rate.mean)
    };
    let (back, selective) = (goodput("go-back-n"), goodput("selective"));
    assert!(selective.0 < back.0, "{selective:?} {back:?}");
}

/// Open loads that the fabric can carry on average, over switches that drop: whatever is lost, everything arrives, and
/// only once.
#[test]
fn everything_arrives_once() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let rule = c.of(&["go-back-n", "selective"]);
        let ecmp = c.of(&["hash", "flowlet", "packet", "adaptive"]);
        let connections = 1 + c.below(3);
        let switch = format!("memory = \"{} B\"\necmp = \"{ecmp}\"\nflowlet_gap = \"5 us\"\n", c.about(9000, 300_000));
        let host = format!(
            "retransmission = \"{rule}\"\nretransmission_timeout = \"{} us\"\nreordering = {}\nwindow = {}\n",
            20 + c.below(100),
            c.below(40),
            2 + c.below(200)
        );
        let flows = format!(
            "[flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"{}\"\ndo = \"send\"\ntransport = \"rocev2\"\n\
             connections = {connections}\nsize = \"{} B\"\nload = {{ rate = \"4 Gb/s\", burst = {} }}\n\
             [run]\nfor = \"1 ms\"\nwarmup = \"0 s\"\nmax_packets = 200000\n",
            c.of(&["permutation", "random", "all-to-all"]),
            c.about(1, 60_000),
            1 + c.below(6)
        );
        let text = fabric(2, 1 + c.below(3) as u32, 1 + c.below(3) as u32, &switch, &host, &flows);
        let seen = simulate(&text, &[]);
        let f = &seen.flows[0];
        let counted = frames(f);
        // What is delivered was sent for the first time once, and was never delivered before.
        let new = counted.sent - counted.resent;
        proptest::prop_assert!(counted.delivered <= new, "{counted:?}\n{text}");
        // What was dropped is sent again, at the latest when the timeout ends: by then where the run ends before.
        if counted.resent == 0 && counted.dropped > 0 {
            let longer = simulate(&text.replace("for = \"1 ms\"", "for = \"2 ms\""), &[]);
            proptest::prop_assert!(frames(&longer.flows[0]).resent > 0, "{counted:?}\n{text}");
        }
        Ok::<(), TestCaseError>(())
    };
    let said = runner(Config { cases: 48, ..Config::default() }).run(&vec(any::<u8>(), 64), law);
    said.unwrap_or_else(|e| panic!("{e}"));
}

/// Packets that take ways of their own use all of them, and a receiver that waits a little resends nothing.
#[test]
fn sprayed_packets_fill_all_ways() {
    let flows = "[flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"\ndo = \"send\"\n\
        transport = \"rocev2\"\nsize = \"64 KiB\"\n[run]\nfor = \"1 ms\"\nwarmup = \"200 us\"\n";
    let run = |ecmp: &str, reordering: u32, rule: &str| {
        let switch = format!("flow_control = \"pfc\"\nmemory = \"16 MiB\"\necmp = \"{ecmp}\"\n");
        let host = format!("retransmission = \"{rule}\"\nreordering = {reordering}\n");
        let plan = planned(&fabric(2, 4, 4, &switch, &host, flows), &[]);
        let share = flow(&estimate(&plan, &Diagnostics::default()), "f").share.typical;
        (share, simulate_by(&plan, 1, u64::MAX))
    };
    let line = 8.0 * 100e9 * 65_536.0 / (16.0 * wire(4096 + 62) as f64 + 16.0);
    let (share, patient) = run("packet", 256, "selective");
    // Acknowledgements of two messages may meet on one wire.
    within(2.2 * wire(66) as f64 / 65_536.0, share, line);
    assert!(patient.flows[0].rate.mean > 0.9 * line, "{}", patient.flows[0].rate.mean / line);
    assert_eq!(frames(&patient.flows[0]).resent, 0);
    let (_, adaptive) = run("adaptive", 256, "selective");
    assert!(adaptive.flows[0].rate.mean > 0.95 * line, "{}", adaptive.flows[0].rate.mean / line);
    // One way each: some collide.
    let (_, hash) = run("hash", 0, "go-back-n");
    assert!(hash.flows[0].rate.mean < 0.9 * line, "{}", hash.flows[0].rate.mean / line);
    // Go-back-N takes what overtakes for a loss.
    let (_, strict) = run("packet", 0, "go-back-n");
    assert!(frames(&strict.flows[0]).resent > 0);
    assert!(strict.flows[0].rate.mean < patient.flows[0].rate.mean);
}

#[test]
fn flowlets_keep_the_order_and_leave_a_busy_way() {
    let flows = "[flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"\ndo = \"send\"\n\
        transport = \"rocev2\"\nsize = \"4000 B\"\nload = { share = \"30 %\", burst = 10 }\n\
        [run]\nfor = \"2 ms\"\nwarmup = \"0 s\"\n";
    let run = |ecmp: &str| {
        let switch =
            format!("flow_control = \"pfc\"\nmemory = \"16 MiB\"\necmp = \"{ecmp}\"\nflowlet_gap = \"20 us\"\n");
        simulate(&fabric(2, 4, 4, &switch, "", flows), &[])
    };
    // Equal ways, by how unequally they are used.
    let uneven = |s: &Simulation| {
        let up = s.links.iter().filter(|l| l.from.starts_with("leaf.0") && l.to.starts_with("spine"));
        let used: Vec<f64> = up.map(|l| l.slots.payload as f64).collect();
        used.iter().fold(0.0f64, |a, b| a.max(*b)) / used.iter().sum::<f64>()
    };
    let (flowlet, hash) = (run("flowlet"), run("hash"));
    assert!(uneven(&flowlet) < uneven(&hash) || uneven(&hash) < 0.3, "{} {}", uneven(&flowlet), uneven(&hash));
    assert_eq!(frames(&flowlet.flows[0]).resent, 0, "a pause is longer than what ways differ by");
}

#[test]
fn retransmission_that_never_ends_is_a_livelock() {
    // The lower class is starved: what it sends never leaves the switch, and its time-outs send it again.
    let text = "[parts.host]\nis = \"station\"\ncount = 3\nretransmission_timeout = \"20 us\"\n[parts.switch]\n\
        is = \"ethernet-switch\"\nscheduling = \"strict\"\nmemory = \"200 kB\"\n[links.net]\n\
        between = [\"host.*\", \"switch\"]\nethernet = \"100 Gb/s\"\n\
        [flows.high]\nfrom = \"host.1\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\npriority = 1\n\
        [flows.low]\nfrom = \"host.2\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"4000 B\"\ntransport = \"rocev2\"\n\
        load = { rate = \"1 Gb/s\" }\n[run]\nfor = \"1 ms\"\nwarmup = \"0 s\"\n";
    let seen = simulate(text, &[]);
    let said: Vec<_> = seen.notes.iter().filter(|n| n.mechanism == "livelock").collect();
    let [note] = said.as_slice() else { panic!("{:?}", seen.notes) };
    assert!(note.element == "flows.low" && note.text.contains("host.2 to host.0"), "{note:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let text = incast("go-back-n", "");
    for (set, says) in [
        ("links.net.mtu=200 B", "holds no packet of RoCE"),
        ("flows.f.transport=frames", "nobody"),
        ("flows.f.connections=1000", "at most 256"),
        ("parts.host.retransmission_timeout=2 s", "is too long"),
        ("parts.host.rate_timer=10 ns", "at least 1 us"),
        ("parts.host.alpha_timer=0 s", "at least 1 us"),
        ("parts.host.dcqcn_gain=0", "dcqcn_gain = 0"),
        ("parts.host.byte_counter=0 B", "byte_counter = 0"),
        ("parts.host.least_rate=200 Gb/s", "more than its link carries"),
        ("parts.host.hyper_increase=200 Gb/s", "more than its link carries"),
    ] {
        let (made, d) = plan(&text, &[set]);
        match says {
            // Plain frames are as good.
            "nobody" => assert!(made.is_some(), "{d}"),
            _ => assert!(made.is_none() && d.to_string().contains(says), "{set}: {d}"),
        }
    }
    let (made, d) = plan(&text, &["parts.leaf.ecn_low=20 kB", "parts.leaf.ecn_high=10 kB"]);
    assert!(made.is_none() && d.to_string().contains("is above ecn_high"), "{d}");
    let (made, d) = plan(&text, &["flows.f.transport=frames", "flows.f.connections=2"]);
    assert!(made.is_none() && d.to_string().contains("plain frames have no connections"), "{d}");
    for control in ["voq", "credits"] {
        let sets = [format!("parts.leaf.flow_control={control}"), format!("parts.spine.flow_control={control}")];
        let (made, d) = plan(&text, &[&sets[0], &sets[1]]);
        assert!(made.is_none(), "{control}: {d}");
    }
}

/// The path MTU is the largest whose packets the links of both ends carry, as connections agree on it.
#[test]
fn both_ends_agree_on_a_path_mtu() {
    let text = |near: u64, far: u64, more: &str| {
        format!(
            "[parts.host]\nis = \"station\"\ncount = 2\n[parts.far]\nis = \"station\"\n[parts.switch]\n\
             is = \"ethernet-switch\"\n[links.near]\nbetween = [\"host.*\", \"switch\"]\n\
             ethernet = \"100 Gb/s\"\nmtu = \"{near} B\"\n[links.far]\nbetween = [\"far\", \"switch\"]\n\
             ethernet = \"100 Gb/s\"\nmtu = \"{far} B\"\n[flows.f]\nfrom = \"host.0\"\ndo = \"send\"\n\
             size = \"64 KiB\"\n{more}\n[run]\nfor = \"200 us\"\nwarmup = \"0 s\"\n"
        )
    };
    for near in [400, 1500, 2200, 4200, 9000] {
        for far in [400, 1500, 2200, 4200, 9000] {
            let text = text(near, far, "to = \"far\"\ntransport = \"rocev2\"");
            let (made, d) = plan(&text, &[]);
            let made = made.unwrap_or_else(|| panic!("{d}"));
            let (network, stream) = (&made.network, &made.network.streams[0]);
            let (payload, room) = (network.payload(stream), near.min(far));
            // IPv4, UDP, BTH, RETH and the ICRC: 60 B.
            let most = [256, 512, 1024, 2048, 4096].into_iter().filter(|m| m + 60 <= room).max();
            assert_eq!(Some(payload), most, "{near} {far}");
            let seen = simulate_by(&made, 1, u64::MAX);
            assert!(frames(&seen.flows[0]).delivered > 0 && frames(&seen.flows[0]).dropped == 0, "{near} {far}");
        }
    }
    // Plain frames are as long as their source sends them; a link that is not on their way is nobody's concern.
    let (made, d) = plan(&text(4200, 1500, "to = \"far\""), &[]);
    assert!(made.is_none() && d.to_string().contains("links.far carries at most 1500 B"), "{d}");
    let (made, d) = plan(&text(4200, 1500, "to = \"host.1\""), &[]);
    assert!(made.is_some(), "{d}");
}

#[test]
fn a_capture_knows_its_sender() {
    let text = incast("go-back-n", "load = { rate = \"1 Gb/s\" }");
    let (_, crossed) = captured(&text, &[], "net.0");
    assert!(!crossed.is_empty());
}
