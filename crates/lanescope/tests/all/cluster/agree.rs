//! Where nothing queues, or everybody does the same, the closed form and the simulation take the same time; else a note
//! says why not.

use super::{simulate_by, to_and_fro, with_program};
use crate::common::choices::{Choices, none_apart, runner};
use crate::common::grow::cluster::grow as any_cluster;
use crate::common::{plan, planned};
use lanescope::estimate::estimate;
use lanescope::result::{Idle, Note, ProgramReport, Report, SimulatedLink};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// Alike nodes of today on one switch, or on two leaves below two spines.
pub(super) fn alike(c: &mut Choices, nodes: usize, levels: usize) -> String {
    let ethernet = c.below(2) == 0;
    let (switch, cable) = match ethernet {
        true => (
            "is = \"ethernet-switch\"\nflow_control = \"pfc\"\necmp = \"destination\"\n",
            format!("ethernet = \"{}\"\nmtu = \"4200 B\"\n", c.of(&["10 Gb/s", "25 Gb/s", "100 Gb/s"])),
        ),
        false => (
            "is = \"infiniband-switch\"\nbuffer = \"64 KiB\"\n",
            format!("infiniband = \"{}\"\nmtu = \"4096 B\"\n", c.of(&["sdr 4x", "fdr 4x", "edr 4x"])),
        ),
    };
    // A slot of its own, or its data at hand.
    let mut text = if c.below(2) == 0 {
        format!(
            "[parts.n]\nuse = \"example/hca-edr\"\ncount = {nodes}\n[parts.h]\nuse = \"example/root-complex\"\ncount = \
                {nodes}\n\
             [links.s]\nbetween = [\"h.*\", \"n.*\"]\npcie = \"{}\"\nmps = \"256 B\"\n",
            c.of(&["gen3 x8", "gen3 x16"])
        )
    } else {
        format!("[parts.n]\nis = \"channel-adapter\"\ncount = {nodes}\nreceive_buffer = \"64 KiB\"\n")
    };
    if levels == 1 {
        return text + &format!("[parts.sw]\n{switch}[links.c]\nbetween = [\"n.*\", \"sw\"]\n{cable}");
    }
    for (leaf, half) in [(0, 0..nodes / 2), (1, nodes / 2..nodes)] {
        text += &format!("[parts.leaf{leaf}]\n{switch}");
        for n in half {
            text += &format!("[links.c{n}]\nbetween = [\"n.{n}\", \"leaf{leaf}\"]\n{cable}");
        }
    }
    for spine in 0..nodes / 2 {
        text += &format!("[parts.spine{spine}]\n{switch}");
        for leaf in 0..2 {
            text += &format!("[links.u{leaf}{spine}]\nbetween = [\"leaf{leaf}\", \"spine{spine}\"]\n{cable}");
        }
    }
    text
}

/// The simulated time against the estimated one; and what is wrong with the note that explains it, if anything is: one
/// that is missing, or that names what the simulation's counts do not show.
fn off(text: &str) -> (f64, Result<(), String>) {
    let (made, diagnostics) = plan(text, &[]);
    let report = estimate(&made.unwrap_or_else(|| panic!("{diagnostics}")), &diagnostics);
    let seen = simulate_by(&planned(text, &[]), u64::MAX);
    let times = |p: &ProgramReport| p.rows.first().map_or(p.time, |r| r.t_max);
    let closed = times(&report.flows.last().expect("a flow").programs[0]);
    let simulated = times(seen.flows.last().and_then(|f| f.program.as_ref()).expect("a program"));
    let off = simulated / closed - 1.0;
    let report = report.with(seen);
    let shown = match report.notes.iter().find(|n| n.element == "flows.job") {
        None => Err("no note".to_owned()),
        Some(note) if shown(note, off, &report) => Ok(()),
        Some(note) => Err(format!("nothing shows {note:?}")),
    };
    (off, shown)
}

/// Whether the simulation's own counts show what a note says of a program that takes so much longer or shorter: the
/// link that it names was idle by that cause for at least a quarter of the part of the time in question; or its
/// messages took longer or shorter by at least as much, each.
fn shown(note: &Note, off: f64, report: &Report) -> bool {
    let simulation = report.simulation.as_ref().expect("it was simulated");
    let slots = |l: &SimulatedLink, n: u64| n as f64 / l.slots.total().max(1) as f64;
    let idle = |cause: Idle| {
        let path = |l: &SimulatedLink| match l.to.as_str() {
            "" => format!("links.{} was", l.name),
            to => format!("links.{} toward {to} was", l.name),
        };
        let named = simulation.links.iter().filter(|l| note.text.contains(&path(l)));
        named.map(|l| slots(l, l.slots.idle[cause as usize])).fold(0.0, f64::max) >= (off / (1.0 + off)).abs() / 4.0
    };
    match note.mechanism.as_str() {
        "credits" => idle(Idle::LaneCredits),
        "pause" => idle(Idle::Paused),
        "host-memory" => idle(Idle::Host),
        // Of what is quicker while its messages take longer, the estimate's order alone is said.
        "queueing" if off < 0.0 && !note.text.contains("a message takes") => true,
        "queueing" => {
            let (f, s) = (report.flows.last().expect("a flow"), simulation.flows.last().expect("a flow"));
            (s.latency.mean / f.latency.typical - 1.0) / off > 0.25
        }
        _ => false,
    }
}

fn holds(law: impl Fn(&mut Choices) -> (String, f64, bool)) -> (u32, u32) {
    let (worst, tried, wrong) = (Cell::new(0.0_f64), Cell::new((0, 0)), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 8..24), |bytes| {
        let (text, share, excused) = law(&mut Choices(bytes.iter()));
        let (off, shown) = off(&text);
        let (all, noted) = tried.get();
        tried.set((all + 1, noted + u32::from(off.abs() > share)));
        worst.set(worst.get().max(off.abs()));
        if off.abs() > share && !(excused && shown.is_ok()) {
            wrong.borrow_mut().push(format!("{off:+.4} of {share}, {shown:?}\n{text}"));
        }
        Ok(())
    });
    let (all, noted) = tried.get();
    println!("at most {:.4} apart, {noted} of {all} with a note", worst.get());
    none_apart(result, &wrong.into_inner());
    (all, noted)
}

#[test]
fn one_message_at_a_time_takes_what_the_estimate_says() {
    holds(|c| {
        let text = alike(c, 2, 1);
        let size = c.of(&["0 B", "8 B", "1 KiB", "8 KiB", "64 KiB", "1 MiB"]);
        let program = format!(
            "repeat 4 {{ if rank == 0 {{ send {size} to 1; recv from 1 }} else {{ recv from 0; send {size} to 0 }} }}"
        );
        (text + &format!("[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\nprogram = \"{program}\"\n"), 0.02, false)
    });
}

/// A random cluster with one rank on each node, which would else exchange through its memory, and large buffers.
pub(super) fn with_room(text: &str) -> String {
    let large = |line: &str| match line.split_once(" = ").map_or(line, |l| l.0) {
        "buffer" | "receive_buffer" | "each" => String::new(),
        _ if line.ends_with("\"infiniband-switch\"") => format!("{line}\nbuffer = \"1 MiB\"\n"),
        _ if line.ends_with("\"channel-adapter\"") => format!("{line}\nreceive_buffer = \"1 MiB\"\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(large).collect()
}

/// The same between two of any cluster: links of different speeds, switches that cut through, buses. What comes to a
/// bus out of step with its clock waits for an edge, up to a clock: at the sender a doorbell and a completion, at the
/// receiver the data; three times where a handshake goes before the data. Few credits have a law of their own, below.
#[test]
fn one_message_at_a_time_takes_as_long_in_any_cluster() {
    let (worst, wrong) = (Cell::new(0.0_f64), RefCell::new(Vec::new()));
    let (tried, compared) = (Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&(0..4usize, vec(any::<u8>(), 0..400)), |(size, bytes)| {
        let (size, number) = [("0 B", 0), ("100 B", 100), ("8 KiB", 8192), ("200 KiB", 204_800)][size];
        let text = with_program(&any_cluster(&bytes), &to_and_fro(size));
        let text = with_room(&text);
        tried.set(tried.get() + 1);
        // A cluster may have no way from one to the other.
        let (Some(made), d) = plan(&text, &[]) else { return Ok(()) };
        compared.set(compared.get() + 1);
        let closed = estimate(&made, &d).flows.last().expect("a flow").programs[0].time;
        let simulated = simulate_by(&made, u64::MAX).flows[0].program.as_ref().expect("a program").time;
        let off = simulated / closed - 1.0;
        worst.set(worst.get().max(off.abs()));
        let clock = |node: u32| match text.split_once(&format!("[\"h{node}\", \"n{node}\"]\npci = \"pci")) {
            Some((_, bus)) if bus.starts_with(" 33") => 30.3e-9,
            Some(_) => 10e-9,
            None => 0.0,
        };
        let eager = ["0 B", "1 KiB", "64 KiB"].map(|e| text.contains(&format!("eager = \"{e}\"")));
        let handshake = number > [0, 1024, 65_536, 8192][eager.iter().position(|e| *e).unwrap_or(3)];
        let edges = if handshake { 3.0 * 9.0 } else { 9.0 } * (clock(0) + clock(1)) / closed;
        if off.abs() > 0.02 + edges {
            wrong.borrow_mut().push(format!("{off:+.4}: {closed} s and {simulated} s\n{text}"));
        }
        Ok(())
    });
    println!("at most {:.4} apart, {} of {} compared", worst.get(), compared.get(), tried.get());
    none_apart(result, &wrong.into_inner());
    assert!(2 * compared.get() >= tried.get(), "{} of {} compared", compared.get(), tried.get());
}

/// An adapter that reads nothing ahead, on a narrow link: each packet's data are asked for when those before are there.
/// An Ack and an UpdateFC for the request go between its completions, an Ack for these before the next request: three
/// DLLPs of 32 ns for each read of 256 B, of some 1.9 us.
#[test]
fn what_answers_a_read_goes_before_the_next() {
    for (size, mtu) in [("8 KiB", 256), ("200 KiB", 256), ("200 KiB", 1024)] {
        let node = |n: u32| {
            format!(
                "[parts.n{n}]\nis = \"channel-adapter\"\nread_ahead = \"1 B\"\n[parts.h{n}]\nis = \
                 \"root-complex\"\n[links.s{n}]\nbetween = [\"h{n}\", \"n{n}\"]\npcie = \"gen1 x1\"\n"
            )
        };
        let text = format!(
            "{}{}[links.c]\nbetween = [\"n0\", \"n1\"]\ninfiniband = \"qdr 4x\"\nmtu = \"{mtu} B\"\n\
             [flows.job]\ndo = \"mpi\"\nranks = [\"n0\", \"n1\"]\nprogram = \"{}\"\n",
            node(0),
            node(1),
            to_and_fro(size)
        );
        let (off, _) = off(&text);
        assert!(off.abs() < 0.005, "{size}, {mtu} B: {off}");
    }
}

/// The same with receive buffers of some packets, on long cables: the first packets of a message find the room that
/// those before it have left, and later ones queue for it at the adapter and in the switch, to 5 % as where all do
/// alike. A switch and an adapter that hold a packet or two each may wait for one another, which the estimate does not
/// follow: that takes a note, and is rare.
#[test]
fn few_packets_wait_for_credit_alike() {
    let (all, noted) = holds(|c| {
        let mtu = 256 << c.below(4);
        let mut bytes = || {
            let most = [16_000, 200_000][c.below(2)];
            c.about(mtu + 128, most)
        };
        let (buffer, switch) = (bytes(), bytes());
        let adapter = format!("receive_buffer = \"{buffer} B\"\ncount = 2\n");
        let text = format!(
            "[parts.n]\nuse = \"example/hca-edr\"\n{adapter}[parts.h]\nuse = \"example/root-complex\"\ncount = 2\n\
             [links.s]\nbetween = [\"h.*\", \"n.*\"]\npcie = \"gen3 x16\"\nmps = \"256 B\"\n\
             [parts.sw]\nis = \"infiniband-switch\"\nbuffer = \"{switch} B\"\n\
             [links.c]\nbetween = [\"n.*\", \"sw\"]\ninfiniband = \"{}\"\nmtu = \"{mtu} B\"\ndelay = \"{} ns\"\n",
            c.of(&["sdr 4x", "qdr 4x", "edr 4x"]),
            c.about(10, 80_000),
        );
        let size = c.of(&["500 B", "2000 B", "4 KiB", "8 KiB", "16 KiB", "64 KiB", "512 KiB"]);
        let program = format!(
            "repeat 60 {{ if rank == 0 {{ send {size} to 1; recv from 1 }} else {{ recv from 0; send {size} to 0 }} }}"
        );
        (text + &format!("[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\nprogram = \"{program}\"\n"), 0.05, true)
    });
    assert!(noted <= 1 + all / 100, "{noted} of {all} are apart");
}

/// A program in which all ranks do the same.
pub(super) fn pattern(c: &mut Choices) -> String {
    let size = c.of(&["8 KiB", "64 KiB", "256 KiB"]);
    let program = match c.below(3) {
        0 => format!("repeat 4 {{ alltoall {size} pairwise }}"),
        1 => format!("repeat 8 {{ sendrecv {size} to (rank + 1) % ranks from (rank + ranks - 1) % ranks }}"),
        _ => format!("repeat 8 {{ sendrecv {size} to (rank + 2) % ranks from (rank + ranks - 2) % ranks }}"),
    };
    format!("[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\nprogram = \"{program}\"\n")
}

#[test]
fn what_all_do_alike_takes_what_the_estimate_says_or_a_note_says_why() {
    holds(|c| {
        let levels = 1 + c.below(2);
        (alike(c, 4, levels) + &pattern(c), 0.05, true)
    });
}

/// Of small messages most is what processors and adapters take for each: nine in ten are within 5 %, and a note says
/// why another is not.
#[test]
fn small_all_to_alls_take_what_the_estimate_says_or_a_note_says_why() {
    let (all, noted) = holds(|c| {
        let levels = 1 + c.below(2);
        let benchmark = c.of(&["osu_alltoall", "imb Alltoall"]);
        let each = 1 + c.below(4);
        let size = c.of(&["8 B", "256 B", "768 B", "1 KiB", "1536 B", "2 KiB"]);
        let job = format!("each = {each}\nbenchmark = \"{benchmark}\"\nrepetitions = 10\nsizes = [\"{size}\"]\n");
        let cluster = alike(c, 6, levels);
        (format!("{cluster}[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\n{job}"), 0.05, true)
    });
    assert!(noted <= 1 + all / 10, "{noted} of {all} are apart");
}

/// An adapter on PCI-X waits for each of its reads before the next: while host memory is looked up the bus is idle. The
/// adapter's reads are named, not a mere latency, and are quicker where the host answers sooner.
#[test]
fn reads_that_wait_for_one_another_on_a_bus_are_named() {
    let bus = |n: u32| {
        format!(
            "[parts.h{n}]\nis = \"host-bridge\"\n[links.b{n}]\nbetween = [\"h{n}\", \"n.{n}\"]\n\
             pci = \"pci-x 66 64-bit\"\n"
        )
    };
    let text = format!(
        "[parts.n]\nis = \"channel-adapter\"\ncount = 2\n{}{}[links.cable]\nbetween = [\"n.0\", \"n.1\"]\n\
         infiniband = \"sdr 4x\"\nmtu = \"2048 B\"\n[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\n\
         program = \"repeat 4 {{ if rank == 0 {{ send 1 MiB to 1 }} else {{ recv from 0 }} }}\"\n",
        bus(0),
        bus(1)
    );
    let answer = |latency: &str| {
        let (made, d) = plan(&text, &[&format!("parts.h0.read_latency={latency}")]);
        let made = made.unwrap_or_else(|| panic!("{d}"));
        let (report, s) = (estimate(&made, &d), simulate_by(&made, u64::MAX));
        let flow = report.flows.last().expect("a flow").clone();
        let simulated = s.flows[0].program.as_ref().expect("a program").time;
        assert!((simulated / flow.programs[0].time - 1.0).abs() < 0.01, "{simulated} {}", flow.programs[0].time);
        (simulated, flow.bound_by)
    };
    let ((late, by), (soon, _)) = (answer("900 ns"), answer("0 ns"));
    assert_eq!((by.element.as_str(), by.resource.as_str()), ("parts.n.0", "reads of host memory"));
    assert!(late > 1.1 * soon, "{late} {soon}");
}

/// Who comes late to an exchange clears the other's data first, and sends its own request behind that: the other's
/// clear-to-send then stands in one queue pair behind its data, and its adapter deals with that in order (IBA 9.5). So
/// data go one way after the other, by hand: twice 256 packets of 4096 B and 28 B around them (LRH 8, BTH 12, ICRC 4,
/// VCRC 2, SDP and EGP 1 each) at 8 Gb/s, behind the 20 us.
#[test]
fn a_clear_to_send_waits_behind_data_of_its_queue_pair() {
    let text = "[parts.n]\nis = \"channel-adapter\"\ncount = 2\nreceive_buffer = \"1 MiB\"\n[links.c]\nbetween = \
                [\"n.0\", \"n.1\"]\ninfiniband = \"sdr 4x\"\nmtu = \"4096 B\"\n[flows.job]\ndo = \"mpi\"\nranks = \
                [\"n.*\"]\nprogram = \"if rank == 1 { compute 20 us }; sendrecv 1 MiB to 1 - rank from 1 - rank\"\n";
    let (made, d) = plan(text, &[]);
    let made = made.unwrap_or_else(|| panic!("{d}"));
    let closed = estimate(&made, &d).flows[0].programs[0].time;
    let simulated = simulate_by(&made, u64::MAX).flows[0].program.as_ref().expect("a program").time;
    let by_hand = 20e-6 + 2.0 * 256.0 * (4096.0 + 28.0) / 1e9;
    for time in [closed, simulated] {
        // Handshakes and latencies are some microseconds.
        assert!(time > by_hand && time < by_hand + 10e-6, "{time} s, {by_hand} s by hand");
    }
}
