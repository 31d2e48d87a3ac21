//! Hosts of several root complexes: peers through them, access control services, the IOMMU, processors and NICs as
//! requesters. Laws on random hosts, and packets worked out by hand.

use crate::bodies::{invariants, simulated};
use crate::common::choices::runner;
use crate::common::{self, flow, grow, has, has_at, within};
use crate::random_scenarios::simulate;
use crate::shares::feasible;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::result::{Ending, Report, Simulation};
use lanescope::sim::{Run, Step};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// Shares fit on everything, no flow beats its bound, slots and clocks add up, Little's law, and the pieces that a run
/// is done in change nothing.
#[test]
fn the_laws_hold_on_random_hosts() {
    let (planned, refused, told, flows) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..400), |bytes| {
        let text = grow::sockets::grow(&bytes, false);
        let (plan, diagnostics) = common::plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        planned.set(planned.get() + 1);
        let caught = std::panic::catch_unwind(|| {
            let report = estimate(&plan, &diagnostics);
            invariants::check(&plan, &report);
            invariants::repeatable(&plan, &diagnostics, &report);
            invariants::alone(&plan, &diagnostics);
            feasible(&plan, &report);
            let (whole, _) = simulate(&plan, 1 << 20).expect("it can be simulated");
            let (pieces, silent) = simulate(&plan, 997).expect("it can be simulated");
            simulated::check(&plan, &whole, &silent);
            let stuck = matches!(whole.ending, Ending::Deadlock { .. } | Ending::Stall { .. } | Ending::Running);
            assert!(!stuck, "it ends as {:?}", whole.ending);
            let pieces = Simulation { events: whole.events, ..pieces };
            assert!(pieces == whole, "the pieces that a run is done in change it");
            (simulated::check_whole(&plan, &whole, &report), whole.flows.len())
        });
        let (t, n) = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        told.set(told.get() + t);
        flows.set(flows.get() + n as u32);
        Ok(())
    });
    println!(
        "{} planned, {} refused; {} of {} flows near a bound",
        planned.get(),
        refused.get(),
        told.get(),
        flows.get()
    );
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(planned.get() > 4 * refused.get(), "most hosts should be valid: {} refused", refused.get());
    assert!(told.get() * 20 > flows.get(), "bounds should say something");
}

/// A flow alone gets its share to 2 %, or a note says by what mechanism not. A run whose cap of packets ends it before
/// 32 operations are done, of which a report says nothing, is done again with a longer one.
#[test]
fn a_flow_alone_in_a_host_gets_its_share() {
    let (all, noted, worst) = (Cell::new(0), Cell::new(0), Cell::new(0.0f64));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..300), |bytes| {
        let text = grow::sockets::grow(&bytes, true) + "[run]\nuntil = \"0.5 %\"\n";
        let answered = |most: u64| {
            let (plan, diagnostics) = common::plan(&text, &[&format!("run.max_packets={most}")]);
            let plan = plan?;
            let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
            while run.advance(1 << 20) != Step::Done {}
            Some(estimate(&plan, &diagnostics).with(run.snapshot()))
        };
        let few = |report: &Report| {
            let cut = report.simulation.as_ref().filter(|s| s.ending == Ending::PacketCap);
            cut.is_some_and(|s| s.flows.iter().any(|f| f.operations < 32))
        };
        let caught = std::panic::catch_unwind(|| match answered(60_000) {
            Some(report) if few(&report) => answered(5_000_000),
            report => report,
        });
        let Some(report) = caught.map_err(|_| TestCaseError::fail(format!("it panics:\n{text}")))? else {
            return Ok(());
        };
        let Some(simulation) = &report.simulation else { return Ok(()) };
        for (said, is) in report.flows.iter().zip(&simulation.flows) {
            let off = is.rate.mean / said.share.typical - 1.0;
            let slack = is.rate.half.map_or(0.02, |h| (h / is.rate.mean).max(0.02));
            all.set(all.get() + 1);
            if off.abs() > slack {
                noted.set(noted.get() + 1);
                worst.set(if off.abs() > worst.get().abs() { off } else { worst.get() });
                if report.notes.iter().all(|n| n.element != format!("flows.{}", said.name)) {
                    return Err(TestCaseError::fail(format!("{}: {off:+.3} without a note:\n{text}", said.name)));
                }
            }
        }
        Ok(())
    });
    println!("{} flows; {} more than 2 % off, with a note, at worst {:+.3}", all.get(), noted.get(), worst.get());
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(noted.get() * 5 <= all.get(), "{} of {} flows need a note", noted.get(), all.get());
}

const PAIR: &str = r#"
[parts.rc]
is = "root-complex"
max_payload = "256 B"
peer_latency = "200 ns"
write_latency = "0 ns"
[parts.sw]
is = "switch"
max_payload = "256 B"
latency = "150 ns"
[parts.gpu]
is = "endpoint"
max_payload = "256 B"
count = 2
[links.up]
between = ["rc", "sw.up"]
pcie = "gen3 x16"
delay = "0 ns"
[links.slots]
between = ["sw.down.*", "gpu.*"]
pcie = "gen3 x16"
delay = "0 ns"
[flows.copy]
from = "gpu.0"
to = "gpu.1"
do = "write"
size = "256 B"
load = { outstanding = 1 }
[run]
for = "20 us"
"#;

/// A TLP of 256 B is 280 B on the wire: 280 / 15.754 GB/s = 17.77 ns. Below one switch its first bit passes in 150 ns:
/// 150 + 17.77. Redirected it goes through the switch, waits in the root complex until it is whole, and 200 ns more,
/// and through the switch again: 150 + 17.77 + 200 + 150 + 17.77.
#[test]
fn a_redirected_write_goes_up_and_down() {
    let wire = 280.0 / (16.0 * 8.0 * 128.0 / 130.0 / 8.0);
    for (sets, ns) in [
        (&[][..], 150.0 + wire),
        (&["links.slots.acs_request_redirect=true"][..], 150.0 + wire + 200.0 + 150.0 + wire),
        (
            &[
                "links.slots.acs_request_redirect=true",
                "links.slots.acs_direct_translated=true",
                "parts.gpu.atc_entries=4",
            ][..],
            150.0 + wire,
        ),
    ] {
        let report = common::run(PAIR, sets);
        within(1e-4, flow(&report, "copy").latency.typical * 1e9, ns);
        let simulation = common::simulate(PAIR, sets);
        aligned(simulation.flows[0].latency.mean * 1e9, ns, 4);
    }
}

/// A packet after idle begins on lane 0, and behind an ordered set that is due: on each wire up to a symbol time of 16
/// lanes later, 1.02 ns, and 0.1 ns on average.
#[track_caller]
fn aligned(is: f64, by_hand: f64, wires: u32) {
    let most = by_hand + f64::from(wires) * 1.12;
    assert!((by_hand - 1e-3..=most).contains(&is), "{is} ns is not {by_hand} ns and up to a symbol time a wire");
}

/// Only the requests of a read are redirected where completions are not: they go up and down, and come back directly.
#[test]
fn requests_and_completions_are_redirected_apart() {
    let read = ["flows.copy.do=read"];
    let latency = |more: &[&str]| {
        let sets: Vec<&str> = read.iter().chain(more).copied().collect();
        let (report, simulation) = (common::run(PAIR, &sets), common::simulate(PAIR, &sets));
        let said = flow(&report, "copy").latency.typical * 1e9;
        aligned(simulation.flows[0].latency.mean * 1e9, said, 8);
        said
    };
    let direct = latency(&[]);
    let requests = latency(&["links.slots.acs_request_redirect=true"]);
    let both = latency(&["links.slots.acs_request_redirect=true", "links.slots.acs_completion_redirect=true"]);
    // A request of 24 B, a completion of 276 B: each way adds the root complex, a switch, and its time on a wire.
    let time = |bytes: f64| bytes / (16.0 * 8.0 * 128.0 / 130.0 / 8.0);
    within(1e-3, requests - direct, 350.0 + time(24.0));
    within(1e-3, both - requests, 350.0 + time(276.0));
}

const SOCKETS: &str = r#"
[parts.rc]
is = "root-complex"
max_payload = "256 B"
count = 2
[parts.gpu]
is = "endpoint"
max_payload = "256 B"
count = 2
[links.fabric]
between = ["rc.0", "rc.1"]
coherent = "4 GB/s"
[links.slots]
between = ["rc.*", "gpu.*"]
pcie = "gen4 x16"
[flows.copy]
from = "gpu.0"
to = "gpu.1"
do = "write"
size = "64 KiB"
[run]
until = "0.5 %"
"#;

/// Between sockets the coherent link binds: of its 4 GB/s 256 of 272 B are payload.
#[test]
fn the_link_between_sockets_binds() {
    let report = common::run(SOCKETS, &[]);
    let copy = flow(&report, "copy");
    assert_eq!(copy.bound_by.element, "links.fabric toward rc.1");
    within(1e-9, copy.share.typical, 8.0 * 4e9 * 256.0 / 272.0);
    let simulation = common::simulate(SOCKETS, &[]);
    within(2e-3, simulation.flows[0].rate.mean, copy.share.typical);
    // To the memory of the far socket the same, to the near one the slot.
    let far = common::run(SOCKETS, &["flows.copy.to=rc.1.memory"]);
    within(1e-9, flow(&far, "copy").share.typical, copy.share.typical);
    let near = common::run(SOCKETS, &["flows.copy.to=rc.0.memory"]);
    assert!(flow(&near, "copy").share.typical > 6.0 * copy.share.typical);
}

/// Every read misses, and one walk of 1 us at a time carries 64 B each: 64 B/us; with 64 pages at hand of 128, half
/// walk.
#[test]
fn walks_bind_by_their_number() {
    let text = SOCKETS.replace("to = \"gpu.1\"", "to = \"rc.0.memory\"").replace("do = \"write\"", "do = \"read\"")
        + "max_packets = 400_000\n";
    let sets = [
        "flows.copy.size=64 B",
        "flows.copy.addresses=random",
        "parts.rc.iommu=on",
        "parts.rc.iommu_walks=1",
        "parts.rc.iommu_walk=1 us",
        "parts.rc.iotlb_entries=64",
    ];
    for (window, part) in [("64 GiB", 1.0), ("512 KiB", 0.5)] {
        let window = format!("flows.copy.window={window}");
        let sets: Vec<&str> = sets.into_iter().chain([window.as_str()]).collect();
        let (report, simulation) = (common::run(&text, &sets), common::simulate(&text, &sets));
        within(1e-4, flow(&report, "copy").share.typical, 8.0 * 64e6 / part);
        within(0.02, simulation.flows[0].rate.mean, 8.0 * 64e6 / part);
    }
    // A window that the IOTLB holds costs nothing.
    let held: Vec<&str> = sets.into_iter().chain(["flows.copy.window=256 KiB"]).collect();
    let free: Vec<&str> = held.iter().copied().chain(["parts.rc.iommu=off"]).collect();
    within(
        1e-9,
        flow(&common::run(&text, &held), "copy").share.typical,
        flow(&common::run(&text, &free), "copy").share.typical,
    );
}

/// A processor's stores are TLPs of 64 B: 64 of 88 B. Eight descriptors a fetch, four entries a write, an interrupt
/// each
/// 32 packets, worked out by hand.
#[test]
fn processors_and_nics_send_what_they_send() {
    let wire = 8.0 * 15.753_846_153_846_153e9 * (1.0 - 1.0 / 375.0);
    let store =
        SOCKETS.replace("from = \"gpu.0\"\nto = \"gpu.1\"", "from = \"rc.0\"\nto = \"gpu.0\"").replace("gen4", "gen3");
    let report = common::run(&store, &[]);
    within(1e-9, flow(&report, "copy").share.typical, wire * 64.0 / 88.0);
    within(2e-3, common::simulate(&store, &[]).flows[0].rate.mean, wire * 64.0 / 88.0);
    let receive = SOCKETS
        .replace("to = \"gpu.1\"\ndo = \"write\"", "to = \"rc.0.memory\"\ndo = \"receive\"")
        .replace("gen4", "gen3")
        .replace("64 KiB", "1514 B");
    let sets = ["links.slots.ack_every=never", "links.slots.update_fc_every=never", "links.slots.delay=0 ns"];
    // Six TLPs of up to 256 B, 16 B x 4 every four packets, 4 B every 32, and a read request of 24 B every eight.
    let packet = (1514.0 + 2.0 + 6.0 * 24.0) + (64.0 + 24.0) / 4.0 + (4.0 + 24.0) / 32.0 + 24.0 / 8.0;
    let report = common::run(&receive, &sets);
    within(1e-9, flow(&report, "copy").share.typical, wire * 1514.0 / packet);
    within(3e-3, common::simulate(&receive, &sets).flows[0].rate.mean, wire * 1514.0 / packet);
}

/// A processor rings once for so many packets: of 64 B packets by eight, a doorbell of 4 B is 28 B on the wire down,
/// and a completion with eight descriptors of 16 B is 148 B.
#[test]
fn doorbells_go_down_to_a_nic() {
    let text = SOCKETS
        .replace("to = \"gpu.1\"\ndo = \"write\"", "to = \"rc.0.memory\"\ndo = \"receive\"")
        .replace("gen4", "gen3")
        .replace("64 KiB", "64 B")
        .replace("until = \"0.5 %\"", "for = \"1 ms\"");
    let sets = [
        "flows.copy.load={ rate = \"5.12 Gb/s\" }",
        "links.slots.ack_every=never",
        "links.slots.update_fc_every=never",
        "parts.gpu.packets_a_doorbell=8",
        "parts.rc.completion_size=128 B",
    ];
    // Ten million packets a second, an eighth of which come with 28 B and 148 B.
    let down = 8.0 * 10e6 / 8.0 * (28.0 + 148.0);
    let control = |report: &lanescope::result::Report| {
        let link = report.links.iter().find(|l| l.name == "slots.0" && l.to == "gpu.0").expect("a link");
        link.ledger.control
    };
    let report = common::run(&text, &sets);
    within(1e-9, control(&report), down);
    let simulation = common::simulate(&text, &sets);
    let link = simulation.links.iter().find(|l| l.name == "slots.0" && l.to == "gpu.0").expect("a link");
    let bits = link.slots.control as f64 * 8.0 / simulation.window;
    within(5e-3, bits, down);
    // Each alone, and none below a whole batch.
    let rare = common::run(&text, &[&sets[..3], &["parts.gpu.packets_a_doorbell=80"], &sets[4..]].concat());
    within(1e-9, control(&report) - control(&rare), 8.0 * 10e6 * 28.0 * (1.0 / 8.0 - 1.0 / 80.0));
    // None is larger than a register that is written at once.
    let wrong = common::wrong(&text, &[&sets[..], &["parts.gpu.doorbell=128 B"]].concat());
    has(&wrong, &["--set:1:20", "doorbell", "64 B"]);
}

/// A packet of 1514 B takes 1538 B of a line (FCS, preamble, gap), one of 60 B and less 84 B.
#[test]
fn a_line_binds_packets_each_way() {
    let text = SOCKETS
        .replace("to = \"gpu.1\"\ndo = \"write\"", "to = \"rc.0.memory\"\ndo = \"receive\"\nheaders = \"14 B\"")
        .replace("64 KiB", "1514 B")
        + "max_packets = 400_000\n[flows.out]\nfrom = \"gpu.0\"\nto = \"rc.0.memory\"\ndo = \"transmit\"\n\
            size = \"40 B\"\n";
    let sets = ["parts.gpu.line=10 Gb/s", "parts.gpu.tags=256"];
    let (report, simulation) = (common::run(&text, &sets), common::simulate(&text, &sets));
    for (name, rate) in [("copy", 10e9 * 1514.0 / 1538.0), ("out", 10e9 * 40.0 / 84.0)] {
        let said = flow(&report, name);
        within(1e-9, said.share.typical, rate);
        assert_eq!((said.bound_by.element.as_str(), said.bound_by.evidence.as_str()), ("parts.gpu.0", "its line"));
        within(5e-3, common::simulated(&simulation, name).rate.mean, rate);
    }
    within(1e-9, flow(&report, "copy").goodput.expect("headers").typical, 10e9 * 1500.0 / 1538.0);
}

const FUNCTIONS: &str = r#"
[parts.rc]
is = "root-complex"
max_payload = "256 B"
read_latency = "1 us"
[parts.nic]
is = "endpoint"
max_payload = "256 B"
[parts.second]
is = "endpoint"
function_of = "nic"
tags = 8
[links.slot]
between = ["rc", "nic"]
pcie = "gen3 x8"
ack_every = "never"
update_fc_every = "never"
delay = "0 ns"
[flows.first]
from = "nic"
to = "rc.memory"
do = "write"
size = "256 B"
[flows.more]
from = "second"
to = "rc.memory"
do = "write"
size = "256 B"
[run]
until = "0.5 %"
"#;

/// Two functions on one port take turns with their TLPs, whatever number of flows each has: 280 B for each 256 B.
/// Each waits for tags of its own: eight reads of 512 B at a time, of the second alone.
#[test]
fn functions_share_a_port_and_nothing_else() {
    let wire = 8.0 * 0.5 * 15.753_846_153_846_153e9 * (1.0 - 1.0 / 375.0);
    let third = FUNCTIONS.to_owned()
        + "[flows.third]\nfrom = \"second\"\nto = \"rc.memory\"\ndo = \"write\"\nsize = \"256 B\"\n";
    for (text, parts) in
        [(FUNCTIONS, &[("first", 0.5), ("more", 0.5)][..]), (&third, &[("first", 0.5), ("third", 0.25)])]
    {
        let (report, simulation) = (common::run(text, &[]), common::simulate(text, &[]));
        for (name, part) in parts {
            let rate = part * wire * 256.0 / 280.0;
            within(1e-6, flow(&report, name).share.typical, rate);
            within(5e-3, common::simulated(&simulation, name).rate.mean, rate);
        }
    }
    // Reads of 512 B that take 1 us and what the wire needs: of eight tags, and of 256.
    let reads = ["flows.first.do=read", "flows.more.do=read", "flows.first.size=512 B", "flows.more.size=512 B"];
    let sets = [&reads[..], &["parts.nic.tags=4", "flows.first.load={ outstanding = 64 }"]].concat();
    let (report, simulation) = (common::run(FUNCTIONS, &sets), common::simulate(FUNCTIONS, &sets));
    let (four, eight) = (flow(&report, "first").share.typical, flow(&report, "more").share.typical);
    within(1e-6, eight, 2.0 * four);
    within(0.02, common::simulated(&simulation, "first").rate.mean, four);
    within(0.02, common::simulated(&simulation, "more").rate.mean, eight);
    // Data of a peer come from the function that is asked, in its own time.
    let asked = FUNCTIONS.replace("from = \"second\"\nto = \"rc.memory\"", "from = \"rc\"\nto = \"second\"");
    let sets = [
        "flows.more.do=read",
        "flows.more.size=64 B",
        "flows.more.load={ outstanding = 1 }",
        "flows.first.load={ rate = \"1 Mb/s\" }",
    ];
    let time = |latency: &str| {
        let set = format!("parts.second.read_latency={latency}");
        let sets: Vec<&str> = sets.iter().copied().chain([set.as_str()]).collect();
        let said = flow(&common::run(&asked, &sets), "more").latency.typical * 1e9;
        aligned(common::simulated(&common::simulate(&asked, &sets), "more").latency.mean * 1e9, said, 4);
        said
    };
    within(1e-6, time("700 ns") - time("200 ns"), 500.0);
}

/// What a further function says of the port that it shares counts for nothing, and that is said.
#[test]
fn what_is_of_the_port_is_said_to_be() {
    let plain = common::run(FUNCTIONS, &[]);
    for (key, value) in [
        ("lanes", "x4"),
        ("generation", "gen2"),
        ("max_payload", "128 B"),
        ("posted_headers", "8"),
        ("posted_data", "8"),
        ("nonposted_headers", "8"),
        ("replay_buffer", "1 KiB"),
    ] {
        let sets = [format!("parts.second.{key}={value}")];
        let (plan, diagnostics) = common::plan(FUNCTIONS, &[&sets[0]]);
        let warnings = diagnostics.warnings();
        assert!(warnings.iter().any(|w| w.contains(key) && w.contains("port of nic")), "{key}: {warnings:?}");
        assert_eq!(estimate(&plan.expect("a plan"), &Diagnostics::default()).flows, plain.flows, "{key}");
    }
    // As the device has it: nothing to say.
    let (_, diagnostics) = common::plan(FUNCTIONS, &["parts.second.max_payload=256 B"]);
    assert!(diagnostics.warnings().is_empty(), "{diagnostics}");
}

/// Functions of nothing, of themselves, with links of their own, and what goes between two of one device.
#[test]
fn functions_that_cannot_be_are_refused() {
    let refused = |from: &str, to: &str, parts: &[&str]| {
        assert!(FUNCTIONS.contains(from));
        has_at(&common::wrong(&FUNCTIONS.replace(from, to), &[]), parts);
    };
    refused("function_of = \"nic\"", "function_of = \"nick\"", &["nick", "did you mean nic"]);
    refused("function_of = \"nic\"", "function_of = \"second\"", &["itself"]);
    refused("function_of = \"nic\"", "function_of = \"rc\"", &["no functions"]);
    refused("function_of = \"nic\"", "function_of = [\"nic\", \"rc\"]", &["one device"]);
    refused(
        "[links.slot]",
        "[links.own]\nbetween = [\"rc\", \"second\"]\npcie = \"gen3 x4\"\n[links.slot]",
        &["second", "a link of its own"],
    );
    refused("from = \"second\"\nto = \"rc.memory\"", "from = \"second\"\nto = \"nic\"", &["one device"]);
}

/// What goes wrong on purpose.
#[test]
fn impossible_hosts_are_said_at_their_place() {
    let refused = |text: &str, sets: &[&str], parts: &[&str]| has_at(&common::wrong(text, sets), parts);
    // A redirect without a root, and one that does not forward.
    let rootless = PAIR
        .replace("[links.up]\nbetween = [\"rc\", \"sw.up\"]\npcie = \"gen3 x16\"\ndelay = \"0 ns\"\n", "")
        .replace(
            "[parts.rc]\nis = \"root-complex\"\nmax_payload = \"256 B\"\npeer_latency = \"200 ns\"\nwrite_latency \
            = \"0 ns\"\n",
            "",
        )
        .replace("pcie = \"gen3 x16\"", "pcie = \"gen3 x16\"\nacs_request_redirect = true");
    refused(&rootless, &[], &["redirect", "there is none"]);
    let refuses = PAIR
        .replace("peer_latency", "peer_to_peer = \"refuses\"\npeer_latency")
        .replace("[links.slots]", "[links.slots]\nacs_request_redirect = true");
    refused(&refuses, &[], &["gpu.0", "rc", "forwards nothing"]);
    // Memory on a node that is not there; sockets without a link.
    refused(&SOCKETS.replace("gpu.1\"\ndo", "rc.2.memory\"\ndo"), &[], &["which rc", "rc.0"]);
    let apart = SOCKETS.replace("[links.fabric]\nbetween = [\"rc.0\", \"rc.1\"]\ncoherent = \"4 GB/s\"\n", "");
    refused(&apart, &[], &["no path", "coherent"]);
    // A page of 3 KiB, a window below an operation, a peer without memory.
    let translated = SOCKETS.replace("count = 2\n[parts.gpu]", "count = 2\niommu_page = \"3 KiB\"\n[parts.gpu]");
    refused(&translated, &[], &["3 KiB", "4 KiB"]);
    refused(&SOCKETS.replace("size = ", "window = \"4 KiB\"\nsize = "), &[], &["window", "smaller"]);
    refused(&SOCKETS.replace("count = 2\n[links", "count = 2\nbar = \"0 B\"\n[links"), &[], &["gpu.1", "no memory"]);
    // A coherent link to a device, or from a root complex to itself; a shift that leads nowhere.
    refused(&SOCKETS.replace("\"rc.1\"]", "\"gpu.1\"]"), &[], &["coherent", "gpu.1"]);
    refused(&SOCKETS.replace("\"rc.1\"]", "\"rc.0\"]"), &[], &["itself"]);
    let shift = SOCKETS
        .replace("from = \"gpu.0\"\nto = \"gpu.1\"", "from = \"gpu.*\"\nto = \"gpu.*\"\npattern = { shift = 2 }");
    refused(&shift, &[], &["shift by 2", "itself"]);
}

/// Rings, shifts, ranges and lists are the flows that they name.
#[test]
fn patterns_are_the_flows_that_they_name() {
    let routes = |from: &str, to: &str, pattern: &str| {
        let text = SOCKETS.replace("count = 2\n[links", "count = 4\n[links").replace(
            "from = \"gpu.0\"\nto = \"gpu.1\"",
            &format!("from = \"{from}\"\nto = \"{to}\"\npattern = {pattern}"),
        );
        let plan = common::planned(&text, &[]);
        let pairs = plan.flows.iter().map(|f| (f.source.0 - 2, f.target.0 - 2));
        pairs.collect::<Vec<_>>()
    };
    assert_eq!(routes("gpu.*", "gpu.*", "\"ring\""), [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(routes("gpu.*", "gpu.*", "{ shift = 2 }"), [(0, 2), (1, 3), (2, 0), (3, 1)]);
    assert_eq!(routes("gpu.0-1", "gpu.2-3", "\"all-to-all\""), [(0, 2), (0, 3), (1, 2), (1, 3)]);
    assert_eq!(routes("gpu.0, gpu.3", "gpu.1, gpu.2", "\"pairs\""), [(0, 1), (3, 2)]);
    assert_eq!(routes("gpu.1-2", "gpu.1-2", "\"ring\""), [(1, 2), (2, 1)]);
}
