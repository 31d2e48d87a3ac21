//! Programs at flow level: against arithmetic by hand, the estimate of one message, packets, and the laws that every
//! run keeps.

use super::agree::{alike, pattern, with_room};
use super::{check, simulate, simulate_by, to_and_fro, with_program};
use crate::common::choices::{Choices, none_apart, runner};
use crate::common::grow::cluster::grow;
use crate::common::{flow, plan, planned, refused};
use lanescope::estimate::estimate;
use lanescope::result::Simulation;
use lanescope::scenario::keys::SimulationLevel;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq};
use proptest::test_runner::{Config, TestCaseError};
use std::cell::{Cell, RefCell};

const FLOW: &str = "run.level=flow";

/// How long a program took, s.
fn time(s: &Simulation) -> f64 {
    s.flows[0].program.as_ref().map_or(0.0, |p| p.time)
}

/// Nodes on one switch, with nothing that takes time but the wires: 100 Gb/s, so a byte takes 80 ps.
fn bare(nodes: u32, program: &str) -> String {
    format!(
        "[parts.n]\nis = \"channel-adapter\"\ncount = {nodes}\nwork_time = \"0 ns\"\nsend_latency = \"0 ns\"\n\
         receive_latency = \"0 ns\"\n[parts.sw]\nis = \"infiniband-switch\"\nbuffer = \"1 MiB\"\nlatency = \"0 ns\"\n\
         [links.c]\nbetween = [\"n.*\", \"sw\"]\ninfiniband = \"edr 4x\"\nmtu = \"4096 B\"\ndelay = \"0 ns\"\n\
         [flows.job]\ndo = \"mpi\"\ninterface = \"verbs\"\nsend_time = \"0 ns\"\nreceive_time = \"0 ns\"\n\
         header_bytes = \"0 B\"\nranks = [\"n.*\"]\nprogram = \"{program}\"\n"
    )
}

/// Ranks 0 and 1 send to rank 2, and rank 1 sends to rank 3 as well. The link toward node 2 is shared by two messages,
/// the one from node 1 by two, so the first three have half of a link each: 0 to 2, 1 to 2 and 1 to 3 need 256 packets
/// at 80 ps a byte, twice as long as alone, and all end at once. Each packet is LRH 8, BTH 12, ICRC 4, VCRC 2 and two
/// framing bytes around 4096 B of data; the first byte is behind two wires and a switch that reads 9 bytes.
#[test]
fn two_messages_on_a_link_have_half_of_it_each() {
    let program = "if rank == 0 { isend 1 MiB to 2 } else { if rank == 1 { isend 1 MiB to 2; isend 1 MiB to 3 } else \
                   { if rank == 2 { irecv from 0; irecv from 1 } else { irecv from 1 } } }; waitall";
    let s = simulate(&bare(4, program), &[FLOW]);
    let wire = 256.0 * 4124.0 * 80e-12;
    // Rank 1's second message waits for 16 KiB that are read ahead of the first, and its port is half idle meanwhile.
    let ahead = 16_384.0 * 80e-12 / 2.0;
    let off = (time(&s) - ahead) / (2.0 * wire) - 1.0;
    assert!((0.0..1e-3).contains(&off), "{off}: {} s, {wire} s alone", time(&s));
    let alone = simulate(&bare(4, "if rank == 0 { send 1 MiB to 2 } else { if rank == 2 { recv from 0 } }"), &[FLOW]);
    let off = time(&alone) / wire - 1.0;
    assert!((0.0..1e-3).contains(&off), "{off}: {} s, {wire} s alone", time(&alone));
}

/// A random cluster; what would be on PCI, which is not followed at flow level, is on PCIe.
fn grown(bytes: &[u8]) -> String {
    let line = |line: &str| match line.split_once(" = ") {
        Some(("pci", _)) => "pcie = \"gen2 x4\"\n".to_owned(),
        _ => line.replace("host-bridge", "root-complex") + "\n",
    };
    grow(bytes).lines().map(line).collect()
}

/// One message at a time meets no other, so it takes what its closed form says, in any cluster with room in its
/// buffers, to 2 % as by packets: the credit that the message before has left is not there, nor its acknowledgement, a
/// frame of 84 B with preamble and gap, behind which an answer may have to stand on Ethernet.
#[test]
fn one_message_at_a_time_takes_what_its_closed_form_says() {
    let (wrong, tried, compared, exact) = (RefCell::new(Vec::new()), Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&(0..4usize, vec(any::<u8>(), 0..400)), |(size, bytes)| {
        let text = with_program(&grown(&bytes), &to_and_fro(["0 B", "100 B", "8 KiB", "200 KiB"][size]));
        let text = with_room(&text);
        tried.set(tried.get() + 1);
        let (Some(made), d) = plan(&text, &[FLOW]) else { return Ok(()) };
        compared.set(compared.get() + 1);
        let closed = flow(&estimate(&made, &d), "job").programs[0].time;
        let seen = time(&simulate_by(&made, u64::MAX));
        exact.set(exact.get() + u32::from((seen - closed).abs() <= 1e-6 * closed));
        let rate = |line: &str| line.strip_prefix("ethernet = \"")?.split_once(" Gb/s")?.0.parse::<f64>().ok();
        let slowest = text.lines().filter_map(rate).fold(f64::INFINITY, f64::min);
        // Three messages each way, of which the larger are a request, its answer, and data.
        let acknowledgements = [6.0, 18.0][size / 2] * 84.0 * 8.0 / (slowest * 1e9);
        if (seen - closed).abs() > 0.02 * closed + acknowledgements {
            wrong.borrow_mut().push(format!("{closed} s and {seen} s\n{text}"));
        }
        Ok(())
    });
    println!("{} of {} compared, {} the same to 1e-6", compared.get(), tried.get(), exact.get());
    assert!(10 * exact.get() >= 8 * compared.get(), "{} of {} are the same", exact.get(), compared.get());
    none_apart(result, &wrong.into_inner());
    assert!(2 * compared.get() >= tried.get(), "{} of {} compared", compared.get(), tried.get());
}

/// How long the two messages of a handshake wait, s, where each comes to a port just behind others that it has read
/// ahead: so much data, and a packet.
fn behind_others(text: &str) -> f64 {
    let ahead = if text.contains("example/hca-edr") { 65_536.0 } else { 16_384.0 };
    let of = |medium: &str| text.split_once(&format!("\n{medium} = \"")).map(|(_, rest)| rest);
    let gigabits = match (of("ethernet"), of("infiniband")) {
        (Some(rate), _) => rate.split_once(" Gb/s").and_then(|(rate, _)| rate.parse().ok()).expect("a rate"),
        (_, Some(rate)) if rate.starts_with("sdr") => 8.0,
        (_, Some(rate)) if rate.starts_with("fdr") => 54.5,
        _ => 100.0,
    };
    2.0 * (ahead + 4200.0) * 8.0 / (gigabits * 1e9)
}

/// Where all do alike, at flow level a program takes as long as packet by packet, to 5 %; but that in a ring over two
/// levels of switches, whose ways differ in length, moments decide whether the request of a rendezvous and its answer
/// come to a port before the data of another, or behind what it has read ahead of these.
#[test]
fn what_all_do_alike_takes_as_long_as_by_packets() {
    let (worst, beyond, wrong) = (Cell::new(0.0_f64), Cell::new((0, 0)), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 8..24), |bytes| {
        let mut c = Choices(bytes.iter());
        let levels = 1 + c.below(2);
        let text = alike(&mut c, 4, levels) + &pattern(&mut c);
        let [packets, flows] = [&[][..], &[FLOW]].map(|sets| time(&simulate(&text, sets)));
        let off = flows / packets - 1.0;
        worst.set(worst.get().max(off.abs()));
        let (all, some) = beyond.get();
        beyond.set((all + 1, some + u32::from(off.abs() > 0.05)));
        // Messages above 8 KiB are arranged.
        let moments = levels == 2 && text.contains("sendrecv") && !text.contains(" 8 KiB");
        let wait = if moments { 8.0 * behind_others(&text) / packets } else { 0.0 };
        if off.abs() > 0.05 + wait {
            wrong.borrow_mut().push(format!("{off:+.4}: {packets} s by packets, {flows} s by flows\n{text}"));
        }
        Ok(())
    });
    let (all, some) = beyond.get();
    println!("at most {:.4} apart, {some} of {all} by more than 5 %", worst.get());
    assert!(some <= 1 + all / 10, "{some} of {all} are apart");
    none_apart(result, &wrong.into_inner());
}

/// What an adapter hands over behind another message still takes its own time until it may go: with 10 us of latency in
/// the adapter, what is posted at 12 us arrives behind 22 us. By packets it takes 22.74 us, and 30.05 us.
#[test]
fn a_message_is_no_earlier_behind_another_than_alone() {
    for (second, later) in [("64 B", 12), ("64 KiB", 13)] {
        let program = format!(
            "if rank == 0 {{ isend 64 KiB to 1; compute {later} us; isend {second} to 1; waitall }} else \
             {{ irecv from 0; irecv from 0; waitall }}"
        );
        let text = bare(2, &program).replace("send_latency = \"0 ns\"", "send_latency = \"10 us\"");
        let [packets, flows] = [&[][..], &[FLOW]].map(|sets| time(&simulate(&text, sets)));
        assert!((flows / packets - 1.0).abs() < 0.01, "{second}: {packets} s by packets, {flows} s by flows");
    }
}

/// An adapter's engine takes packets of two messages in turn, so a stream of short ones does not keep a long one from
/// its packets.
#[test]
fn messages_that_meet_have_as_many_packets_each() {
    let program = "if rank == 0 { isend 8 MiB to 1; repeat 4000 { isend 8 B to 2 }; waitall } else { if rank == 1 { \
                   recv from 0 } else { repeat 4000 { irecv from 0 }; waitall } }";
    for engine in ["0 ns", "50 ns", "200 ns"] {
        let text = bare(3, program).replace("work_time", &format!("packet_time = \"{engine}\"\nwork_time"));
        let [packets, flows] = [&[][..], &[FLOW]].map(|sets| time(&simulate(&text, sets)));
        assert!((flows / packets - 1.0).abs() < 0.1, "{engine}: {packets} s by packets, {flows} s by flows");
    }
}

#[test]
fn the_laws_hold_on_random_clusters_at_flow_level() {
    let (tried, simulated, far) = (Cell::new(0), Cell::new(0), Cell::new((0.0f64, 0.0)));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..400), |bytes| {
        let text = grown(&bytes);
        tried.set(tried.get() + 1);
        let (Some(made), d) = plan(&text, &[FLOW]) else { return Ok(()) };
        let caught = std::panic::catch_unwind(|| {
            let whole = simulate_by(&made, u64::MAX);
            let pieces = simulate_by(&made, 97);
            assert!(
                Simulation { events: whole.events, ..pieces } == whole,
                "the pieces that a run is done in change it"
            );
            let closed = estimate(&made, &d);
            let (seen, most) = (whole.flows[0].rate.mean, flow(&closed, "job").bound.typical);
            assert!(seen <= most * (1.0 + 1e-9), "{seen} over {most}");
            let packets = simulate(&text, &[]);
            // The same ranks have sent the same bytes.
            let sent = |s: &Simulation| s.flows[0].program.as_ref().map_or(0, |p| p.bytes);
            assert_eq!(sent(&whole), sent(&packets));
            let (a, b) = (time(&whole), time(&packets));
            let off = if a == b { 1.0 } else { (a / b).max(b / a) };
            assert!(off <= 2.0, "{a} s by flows, {b} s by packets");
            off
        });
        let off = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        far.set((far.get().0.max(off), far.get().1 + off - 1.0));
        Ok(())
    });
    let (most, sum) = far.get();
    let mean = sum / f64::from(simulated.get().max(1));
    println!("{} simulated; off by a factor of {most:.3} at most, {:.1} % on average", simulated.get(), 100.0 * mean);
    assert!(mean < 0.1, "off by {mean} on average");
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(2 * simulated.get() >= tried.get(), "{} of {}", simulated.get(), tried.get());
}

/// What links carry is what packets put there, to 2 %: of PCIe, too, with InfiniBand and with Ethernet.
/// Acknowledgements are left out, and with packets shorter than a read request these count as up to half more.
#[test]
fn ledgers_are_those_of_packets() {
    let [ethernet, infiniband] = [
        ("is = \"ethernet-switch\"\nflow_control = \"pfc\"", "ethernet = \"100 Gb/s\"\nmtu = \"4200 B\""),
        ("is = \"infiniband-switch\"", "infiniband = \"edr 4x\""),
    ];
    for ((switch, link), mtu) in [(ethernet, ""), (infiniband, "2048 B"), (infiniband, "4096 B")] {
        let mtu = if mtu.is_empty() { String::new() } else { format!("\nmtu = \"{mtu}\"") };
        let text = format!(
            "[parts.n]\nuse = \"example/hca-edr\"\ncount = 4\n[parts.h]\nuse = \"example/root-complex\"\n\
             count = 4\n[links.s]\nbetween = [\"h.*\", \"n.*\"]\npcie = \"gen3 x16\"\nmps = \"256 B\"\n\
             [parts.sw]\n{switch}\n[links.c]\nbetween = [\"n.*\", \"sw\"]\n{link}{mtu}\n\
             [flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\n\
             program = \"repeat 4 {{ alltoall 256 KiB pairwise }}\"\n"
        );
        let [packets, flows] = [&[][..], &[FLOW]].map(|sets| {
            let made = planned(&text, sets);
            let s = simulate_by(&made, u64::MAX);
            check(&made, &s);
            s
        });
        for (a, b) in packets.links.iter().zip(&flows.links) {
            let (name, pcie) = (format!("{mtu} {} toward {}", a.name, a.to), a.name.starts_with('s'));
            let (a, b) = (&a.slots, &b.slots);
            let near = |what: &str, most: f64, a: u64, b: u64| {
                let off = (b as f64 - a as f64).abs();
                // A kind of slots that is less than a thousandth of all weighs nothing.
                assert!(
                    off <= most * a as f64 + 1e-3 * packets.window * 16e9,
                    "{name}: {what} {a} by packets, {b} by flows"
                );
            };
            near("payload", 0.0, a.payload, b.payload);
            near("framing", 0.02, a.framing, b.framing);
            near("requests", if mtu.contains("2048") { 0.5 } else { 0.02 }, a.requests, b.requests);
            if pcie {
                near("packets", 0.1, a.tlps, b.tlps);
            }
            near("idle", 0.02, a.idle.iter().sum(), b.idle.iter().sum());
        }
        assert!(flows.events < packets.events / 50, "{} {}", flows.events, packets.events);
    }
}

/// The NAS integer sort among 16 ranks behind PCIe, an all-to-all of unequal parts at once: packets of many messages
/// wait for one another, which flow level leaves out, so it is faster, by no more than the goal for completion times.
#[test]
fn a_benchmark_takes_as_long_as_by_packets() {
    let text = include_str!("../../../studies/dell-hpc/ib-pcie.toml");
    let sets = ["flows.mpi.ranks=[\"hca.*\"]", "flows.mpi.speed=0.15 Gflop/s", "flows.mpi.benchmark=npb is.A"];
    let [packets, flows] = [&sets[..], &[&sets[..], &[FLOW]].concat()].map(|sets| time(&simulate(text, sets)));
    let off = flows / packets - 1.0;
    assert!((-0.1..0.01).contains(&off), "{packets} s by packets, {flows} s by flows");
}

/// What is not followed yet is said.
#[test]
fn what_is_not_followed_is_refused() {
    let both = "[parts.n]\nis = \"channel-adapter\"\ncount = 2\n[parts.st]\nis = \"station\"\ncount = 2\n[parts.sw]\n\
                is = \"ethernet-switch\"\n[links.c]\nbetween = [\"n.*\", \"sw\"]\nethernet = \"10 Gb/s\"\n[links.d]\n\
                between = [\"st.*\", \"sw\"]\nethernet = \"10 Gb/s\"\n[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\n\
                program = \"barrier\"\n[flows.s]\nfrom = \"st.0\"\nto = \"st.1\"\ndo = \"send\"\nsize = \"1500 B\"\n";
    let bus = "[parts.n]\nis = \"channel-adapter\"\ncount = 2\n[parts.h]\nis = \"host-bridge\"\ncount = 2\n[links.b]\n\
               between = [\"h.*\", \"n.*\"]\npci = \"pci-x 133 64-bit\"\n[links.c]\nbetween = [\"n.0\", \"n.1\"]\n\
               infiniband = \"sdr 4x\"\n[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\nprogram = \"barrier\"\n";
    assert!(refused(&planned(bus, &[FLOW]))[0].contains("links.b"));
    let why = refused(&planned(both, &[FLOW]));
    assert!(why[0].contains("flows.job") && why[0].contains("flows.s") && why[0].contains("together"), "{why:?}");
}

/// What `auto` follows on random clusters is what one of the two levels gives, to the last digit; which one it says,
/// and packets wherever the other would be refused.
#[test]
fn auto_is_one_of_the_two_levels() {
    let (flows, packets) = (Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&(any::<bool>(), vec(any::<u8>(), 0..400)), |(as_it_is, bytes)| {
        // Half of them with nothing but long messages.
        let text = if as_it_is { grow(&bytes) } else { with_program(&grown(&bytes), &to_and_fro("1 MiB")) };
        let (Some(made), _) = plan(&text, &["run.level=auto"]) else { return Ok(()) };
        let mut chosen = simulate_by(&made, u64::MAX);
        let at = chosen.notes.iter().position(|n| n.element == "run.level" && n.mechanism == "level");
        let said = chosen.notes.remove(at.expect("it says what it follows")).text;
        let level = if chosen.flow_level { FLOW } else { "run.level=packet" };
        let words = if chosen.flow_level { "as flows" } else { "every packet" };
        prop_assert!(said.contains(words), "{said}");
        prop_assert_eq!(&chosen, &simulate(&text, &[level]), "{}", text);
        let count = if chosen.flow_level { &flows } else { &packets };
        count.set(count.get() + 1);
        Ok(())
    });
    println!("{} as flows, {} by packets", flows.get(), packets.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(flows.get() > 0 && packets.get() > 0);
}

/// Which level suits what: packets where messages are short, where a virtual lane is stated, or where there is
/// something else.
#[test]
fn auto_follows_packets_where_they_matter() {
    let lanes = "lane = 1\n[flows.other]\ndo = \"mpi\"\nranks = [\"n.0\", \"n.1\"]\nprogram = \"alltoall 1 MiB\"\n";
    let slots = "[parts.h]\nis = \"root-complex\"\ncount = 4\n[links.s]\nbetween = [\"h.*\", \"n.*\"]\n\
                 pcie = \"gen3 x16\"\n[parts.gpu]\nis = \"endpoint\"\n[links.g]\nbetween = [\"h.0\", \"gpu\"]\n\
                 pcie = \"gen3 x16\"\n[flows.copy]\nfrom = \"gpu\"\nto = \"h.0.memory\"\ndo = \"write\"\n\
                 size = \"4 KiB\"\n";
    let cases = [
        ("alltoall 64 KiB pairwise", "", true, "16 packets"),
        ("alltoall 60 KiB pairwise", "", false, "flows.job have 15 packets"),
        // Of each rank 3 messages of 256 packets, and 40 or 80 of none.
        ("alltoall 1 MiB pairwise; repeat 20 { barrier }", "", true, "16 packets"),
        ("alltoall 1 MiB pairwise; repeat 40 { barrier }", "", false, "have 9.253 packets"),
        ("alltoall 1 MiB", lanes, false, "virtual lane"),
        ("alltoall 1 MiB", slots, false, "flows.copy"),
    ];
    for (program, more, flows, word) in cases {
        let made = planned(&(bare(4, program) + more), &["run.level=auto"]);
        let why = made.limits.level_reason.as_deref().unwrap_or_default();
        assert_eq!(made.limits.level == SimulationLevel::Flow, flows, "{program} {why}");
        assert!(why.contains(word), "{program}: {why}");
    }
}
