//! Fabrics of InfiniBand under load: credit, shares, lanes, deadlocks; and the same run in pieces.

use super::{BARE, VERBS, simulate, simulate_by, wire};
use crate::common::{flow, planned, run, within, wrong};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::result::{Ending, Idle, Simulation};
use lanescope::sim::{Run, Step};

const SDR: &str = "infiniband = \"sdr 4x\"";

/// So many adapters around one switch.
fn star(nodes: u32, keys: &str, flows: &str) -> String {
    format!(
        "[parts.node]\nis = \"channel-adapter\"\ncount = {nodes}\n{keys}\n[parts.sw]\nis = \"infiniband-switch\"\n\
         [links.cable]\nbetween = [\"node.*\", \"sw\"]\n{SDR}\n{flows}"
    )
}

fn program(name: &str, ranks: &str, keys: &str, text: &str) -> String {
    format!("[flows.{name}]\nranks = {ranks}\n{VERBS}{keys}program = \"{text}\"\n")
}

fn rate(s: &Simulation, name: &str) -> f64 {
    s.flows.iter().find(|f| f.name == name).expect("the flow").rate.mean
}

#[test]
fn a_slow_host_stops_the_sender_by_credit() {
    // The sink alone has a bus: PCIe Gen1 x1, 2 Gb/s coded, for 8 Gb/s of InfiniBand.
    let bus = "[parts.host]\nis = \"root-complex\"\n[links.slot]\nbetween = [\"host\", \"sink\"]\npcie = \"gen1 x1\"\n";
    let text = format!(
        "[parts.sink]\nis = \"channel-adapter\"\nreceive_buffer = \"8 KiB\"\n[parts.node]\nis = \
            \"channel-adapter\"\n{bus}\
         [links.cable]\nbetween = [\"node\", \"sink\"]\n{SDR}\n{}",
        program("job", "[\"node\", \"sink\"]", "", "if rank == 0 { send 16 MiB to 1 } else { recv from 0 }")
    );
    let s = simulate(&text, &[]);
    // The same device writing by itself.
    let alone = format!(
        "[parts.sink]\nis = \"endpoint\"\n{bus}\
         [flows.dma]\nfrom = \"sink\"\nto = \"host.memory\"\ndo = \"write\"\nsize = \"2 KiB\"\nload = \"saturate\"\n"
    );
    let alone = simulate_plain(&alone);
    within(1e-3, rate(&s, "job"), alone);
    let w = wire(&s, "cable", "sink").slots;
    // What is idle lacks credit, until the last packet is out: then the bus has at most a buffer full to write.
    let idle = w.idle[Idle::LaneCredits as usize];
    assert!(w.idle.iter().sum::<u64>() - idle < 8192 * 8000 / 1680, "{:?}", w.idle);
    within(2e-3, idle as f64 / w.total() as f64, 1.0 - alone / 8e9 * 2076.0 / 2048.0);
    assert_eq!(w.payload, 16 << 20);
    let slot = s.links.iter().find(|l| l.name == "slot" && l.to == "host").expect("the bus").slots;
    assert_eq!(slot.payload, (16 << 20) + 64);
}

/// The rate of the only flow of a plan without clusters.
fn simulate_plain(text: &str) -> f64 {
    let plan = planned(text, &["run.for=20 ms"]);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
    while run.advance(u64::MAX) != Step::Done {}
    run.snapshot().flows[0].rate.mean
}

#[test]
fn an_incast_holds_up_what_stands_behind() {
    // 0, 1 and 2 send to 3, each gets a third; 0 sends packet by packet as much to 4, whose link has room: but its
    // packets stand behind the others in the same buffers.
    let text = "repeat 8 \
        { repeat 128 { if rank == 0 { isend 2 KiB to 3; isend 2 KiB to 4 } else if rank < 3 { isend 2 KiB to 3 } \
        else if rank == 3 { irecv from 0; irecv from 1; irecv from 2 } else { irecv from 0 } }; waitall }";
    let text = star(5, BARE, &program("job", "[\"node.*\"]", "", text));
    let s = simulate(&text, &[]);
    let w = |name: &str, to: &str| wire(&s, name, to).slots;
    let hot = w("cable.3", "node.3");
    within(0.01, hot.busy() as f64 / hot.total() as f64, 1.0);
    // 0 has two messages for each that 3 takes of it, at a third of 3's link: two thirds of its own.
    let own = w("cable.0", "sw");
    within(0.02, own.busy() as f64 / own.total() as f64, 2.0 / 3.0);
    // But for the ends of its eight rounds, when it waits for acknowledgements, it lacks credit otherwise.
    within(0.1, own.idle[Idle::LaneCredits as usize] as f64 / own.total() as f64, 1.0 / 3.0);
    let cold = w("cable.4", "node.4");
    within(0.02, cold.busy() as f64 / cold.total() as f64, 1.0 / 3.0);
    // With buffers that hold it all, nobody stands in front.
    let s = simulate(&text, &["parts.sw.buffer=128 KiB"]);
    assert!(wire(&s, "cable.0", "sw").slots.idle[Idle::LaneCredits as usize] < own.idle[Idle::LaneCredits as usize]);
}

#[test]
fn lanes_share_a_wire_and_nothing_else() {
    let send = "if rank == 0 { send 4 MiB to 1 } else { recv from 0 }";
    let lanes = |keys: &str, second: &str| {
        let flows = program("a", "[\"node.0\", \"node.1\"]", "", send) + &program("b", second, "lane = 1\n", send);
        star(3, keys, &flows).replace(SDR, "infiniband = \"sdr 4x\"\nlanes = 2")
    };
    // Adapters of the first node alternate between two messages only packet by packet of different lanes: here both of
    // one port, in order.
    let s = simulate(&lanes(BARE, "[\"node.2\", \"node.1\"]"), &[]);
    // Two senders, one receiver: turns between lanes, half each.
    let each = 8e9 * 2048.0 / 2076.0 / 2.0;
    for name in ["a", "b"] {
        within(0.01, rate(&s, name), each);
    }
    // Lane 0 has no credit where the receiver's bus is slow; lane 1, to another, goes on beside it through the same
    // switch.
    let slow =
        "[parts.host]\nis = \"root-complex\"\n[links.slot]\nbetween = [\"host\", \"node.1\"]\npcie = \"gen1 x1\"\n";
    for (lane, fast) in [(0, false), (1, true)] {
        let flows = program("a", "[\"node.0\", \"sink\"]", "", &send.replace("4 MiB", "16 MiB"))
            + &program("b", "[\"node.1\", \"node.2\"]", &format!("lane = {lane}\n"), send);
        let text = format!(
            "[parts.sink]\nis = \"channel-adapter\"\n[parts.node]\nis = \"channel-adapter\"\ncount = 3\n{BARE}{}\
             [parts.leaf]\nis = \"infiniband-switch\"\ncount = 2\n\
             [links.up]\nbetween = [\"leaf.0\", \"leaf.1\"]\n{SDR}\nlanes = 2\n\
             [links.left]\nbetween = [\"node.0\", \"leaf.0\"]\n{SDR}\nlanes = 2\n[links.more]\nbetween = [\"node.1\", \
             \"leaf.0\"]\n{SDR}\nlanes = 2\n\
             [links.right]\nbetween = [\"node.2\", \"leaf.1\"]\n{SDR}\nlanes = 2\n[links.last]\nbetween = [\"sink\", \
             \"leaf.1\"]\n{SDR}\nlanes = 2\n{flows}",
            slow.replace("node.1", "sink")
        );
        let s = simulate(&text, &[]);
        let b = s.flows.iter().find(|f| f.name == "b").expect("b").latency.mean;
        let alone = 4_194_304.0 * 2076.0 / 2048.0 * 1e-9;
        // Together on the uplink: on one lane b waits behind what a cannot deliver.
        assert_eq!(b < 1.5 * alone, fast, "lane {lane}: {b} s, alone {alone} s");
    }
}

/// Switches in a ring with an adapter each; everybody sends to the one so many further on.
fn ring(switches: u32, further: u32) -> String {
    let text = format!("sendrecv 1 MiB to (rank + {further}) % ranks from (rank - {further}) % ranks");
    let links =
        (0..switches).map(|n| format!("[links.r{n}]\nbetween = [\"sw.{n}\", \"sw.{}\"]\n{SDR}\n", (n + 1) % switches));
    let links: String = links.collect();
    format!(
        "[parts.node]\nis = \"channel-adapter\"\ncount = {switches}\n{BARE}[parts.sw]\nis = \
            \"infiniband-switch\"\ncount = {switches}\nbuffer = \"4 KiB\"\n\
         [links.cable]\nbetween = [\"node.*\", \"sw.*\"]\n{SDR}\n{links}{}",
        program("job", "[\"node.*\"]", "", &text)
    )
}

#[test]
fn a_ring_of_switches_deadlocks_and_says_so() {
    // Of five, the way to the one after next is the same way round for all: each buffer fills with what wants on into
    // the next.
    let plan = planned(&ring(5, 2), &[]);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
    while run.advance(u64::MAX) != Step::Done {}
    let Ending::Deadlock { mut circle } = run.snapshot().ending else { panic!("{:?}", run.snapshot().ending) };
    circle.sort();
    let names = (0..5).map(|n| format!("links.r{n} toward sw.{}: no virtual-lane credit", (n + 1) % 5));
    assert_eq!(circle, names.collect::<Vec<_>>());
    // To the next, nothing stands in another's way.
    simulate(&ring(5, 1), &[]);
}

/// What never ends has no time to be held against the estimate's, and no rank waits 0 % of its time.
#[test]
fn who_waits_for_ever_is_told_so() {
    let everyone_receives = "recv from (rank - 1) % ranks; send 1 KiB to (rank + 1) % ranks";
    let stalled = star(3, BARE, &program("job", "[\"node.*\"]", "", everyone_receives));
    for (text, resource) in [(ring(5, 2), "deadlock"), (stalled, "stall")] {
        let plan = planned(&text, &[]);
        let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
        while run.advance(u64::MAX) != Step::Done {}
        let seen = run.snapshot();
        let by = &seen.flows[0].bound_by;
        assert!(by.resource == resource && by.evidence.contains("for ever"), "{:?}: {by:?}", seen.ending);
        let report = estimate(&plan, &Diagnostics::default()).with(seen);
        assert!(report.notes.iter().all(|n| !n.text.contains("against the estimate")), "{:?}", report.notes);
    }
}

#[test]
fn a_buffer_that_holds_no_packet_is_refused() {
    let text = star(2, BARE, &program("job", "[\"node.*\"]", "", "barrier"));
    // 2048 B of an RDMA write with immediate data are 2094 B: 33 blocks.
    for key in ["parts.node.receive_buffer", "parts.sw.buffer"] {
        let said = wrong(&text, &[&format!("{key}=2111 B")]);
        assert!(said.contains("holds no packet") && said.contains("at least 2112 B"), "{said}");
        assert!(planned(&text, &[&format!("{key}=2112 B")]).cluster.jobs.len() == 1);
    }
}

#[test]
fn the_least_buffers_deadlock_nobody() {
    // One packet more or less: acknowledgements share the lane, and must not keep its credit back.
    for buffer in 2112..2300u32 {
        let text = star(3, BARE, &program("job", "[\"node.*\"]", "", "alltoall 10 KiB"));
        simulate(&text, &[&format!("parts.node.receive_buffer={buffer} B"), &format!("parts.sw.buffer={buffer} B")]);
    }
}

#[test]
fn the_same_run_in_pieces() {
    let all = program("job", "[\"node.*\"]", "", "alltoall 20 KiB; allreduce 8 KiB; barrier");
    let hosts = (0..6).map(|n| match n % 2 {
        0 => format!(
            "[parts.h{n}]\nis = \"host-bridge\"\n[links.b{n}]\nbetween = [\"h{n}\", \"node{n}\"]\npci = \
            \"pci-x 133 64-bit\"\n"
        ),
        _ => format!(
            "[parts.h{n}]\nis = \"root-complex\"\n[links.b{n}]\nbetween = [\"h{n}\", \"node{n}\"]\npcie = \
            \"gen1 x4\"\n"
        ),
    });
    let nodes = (0..6).map(|n| {
        format!("[parts.node{n}]\nis = \"channel-adapter\"\n[links.c{n}]\nbetween = [\"node{n}\", \"sw\"]\n{SDR}\n")
    });
    let names: Vec<String> = (0..6).map(|n| format!("\"node{n}\"")).collect();
    let text: String = nodes.chain(hosts).collect();
    let text =
        format!("[parts.sw]\nis = \"infiniband-switch\"\n{text}{}", all.replace("\"node.*\"", &names.join(", ")));
    let plan = planned(&text, &[]);
    let whole = simulate_by(&plan, u64::MAX);
    for events in [1, 7, 997] {
        let pieces = simulate_by(&plan, events);
        assert_eq!(Simulation { events: whole.events, ..pieces }, whole);
    }
    let report = run(&text, &[]);
    let (a, b) = (whole.flows[0].program.as_ref().expect("a program").time, flow(&report, "job").programs[0].time);
    assert!(a < 2.0 * b && b < 2.0 * a, "{a} s simulated, {b} s estimated");
}

#[test]
fn nothing_overtakes_in_the_estimate() {
    // Behind 2 KiB, which a slow bus reads, comes the short request of a large message: it must not be there before.
    let text = format!(
        "[parts.a]\nis = \"channel-adapter\"\n[parts.b]\nis = \"channel-adapter\"\n[links.cable]\nbetween = [\"a\", \
            \"b\"]\n{SDR}\n\
         [parts.host]\nis = \"host-bridge\"\n[links.bus]\nbetween = [\"host\", \"a\"]\npci = \"pci 33 32-bit\"\n\
         [flows.job]\nranks = [\"a\", \"b\"]\ndo = \"mpi\"\n\
         program = \"if rank == 0 {{ isend 2 KiB to 1; isend 9000 B to 1; waitall }} else {{ recv 2 KiB from 0; recv \
         9000 B from 0 }}\"\n"
    );
    let report = run(&text, &[]);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let seen = simulate(&text, &[]).flows[0].program.as_ref().expect("a program").time;
    within(0.15, flow(&report, "job").programs[0].time, seen);
}
