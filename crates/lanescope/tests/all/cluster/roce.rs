//! Channel adapters on Ethernet.

use super::{BARE, VERBS, latency, one, simulate, simulate_by, wire};
use crate::common::{flow, planned, run, wrong};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::result::{Crossed, Crossing, Ending, Idle, Note, Simulation};
use lanescope::sim::{Run, Step};

fn star(nodes: u32, keys: &str, link: &str, flow: &str) -> String {
    format!(
        "[parts.node]\nis = \"channel-adapter\"\ncount = {nodes}\n{keys}\n\
         [parts.sw]\nis = \"ethernet-switch\"\nflow_control = \"pfc\"\nlatency = \"400 ns\"\n\
         [links.cable]\nbetween = [\"node.*\", \"sw\"]\n{link}\n\
         [flows.job]\nranks = [\"node.*\"]\n{flow}"
    )
}

/// The same with each adapter on a bus of its own.
fn hosted(nodes: u32, keys: &str, bus: &str, link: &str, flow: &str) -> String {
    let mut text = star(nodes, keys, link, flow);
    for n in 0..nodes {
        text += &match bus {
            "pcie" => format!(
                "[parts.host{n}]\nis = \"root-complex\"\nread_latency = \"300 ns\"\n\
                 [links.slot{n}]\nbetween = [\"host{n}\", \"node.{n}\"]\npcie = \"gen3 x8\"\n"
            ),
            _ => format!(
                "[parts.host{n}]\nis = \"host-bridge\"\n\
                 [links.slot{n}]\nbetween = [\"host{n}\", \"node.{n}\"]\npci = \"pci-x 133 64-bit\"\n"
            ),
        };
    }
    text
}

#[test]
fn one_packet_by_hand() {
    // 64 B: Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4: 126 B and a preamble of 8, at 0.8 ns each, twice; the cables'
    // 50 ns, and the switch's 400 ns.
    let text = star(2, BARE, "ethernet = \"10 Gb/s\"\ndelay = \"50 ns\"", &one("64 B"));
    let frame = 18 + 28 + 12 + 64 + 4;
    let s = simulate(&text, &[]);
    assert_eq!(latency(&s), 2 * ((8 + frame) * 800_000 + 50_000_000) + 400_000_000);
    let w = wire(&s, "cable.0", "sw").slots;
    assert_eq!((w.payload, w.framing, w.padding, w.gap, w.tlps), (64, frame - 64, 0, 20, 1));
    // Back comes one acknowledgement: 28 + 12 + 4 + 4.
    let w = wire(&s, "cable.1", "sw").slots;
    assert_eq!((w.payload, w.framing, w.gap, w.tlps), (0, 18 + 48, 20, 1));
    // Cut-through: the switch begins with the header's last byte.
    let s = simulate(&text, &["parts.sw.forwarding=cut-through"]);
    assert_eq!(latency(&s), (8 + 14) * 800_000 + 50_000_000 + 400_000_000 + (8 + frame) * 800_000 + 50_000_000);
}

#[test]
fn a_message_of_several_packets_by_hand() {
    // 1500 B hold 1024 B of data: 3000 B are twice 1024 and 952.
    let text = star(2, BARE, "ethernet = \"10 Gb/s\"\ndelay = \"50 ns\"", &one("3000 B"));
    let s = simulate(&text, &[]);
    let around = 18 + 28 + 12 + 4;
    let frames = [1024 + around, 1024 + around, 952 + around];
    // The first two come in, then the second goes out with its gap, which the last, shorter, waits for.
    let bytes = 2 * (frames[0] + 20) - 12 + frames[1] + 20 + 8 + frames[2];
    let hand = bytes * 800_000 + 2 * 50_000_000 + 400_000_000;
    assert_eq!(latency(&s), hand);
    let w = wire(&s, "cable.0", "sw").slots;
    assert_eq!((w.payload, w.framing, w.gap), (3000, 3 * around, 60));
}

#[test]
fn the_empty_message_is_padded() {
    // 18 + 28 + 12 + 4 = 62.
    let text = star(2, BARE, "ethernet = \"10 Gb/s\"", &one("0 B"));
    let w = wire(&simulate(&text, &[]), "cable.0", "sw").slots;
    assert_eq!((w.payload, w.framing, w.padding), (0, 62, 2));
}

#[test]
fn what_was_arranged_is_written() {
    // Behind a request and its answer, 64 B each, come 3000 B as an RDMA write with immediate data: RETH with the
    // first, 4 B with the last.
    let flow = "do = \"mpi\"\neager = \"0 B\"\nprogram = \"if rank == 0 { send 3000 B to 1 } else { recv from 0 }\"\n";
    let s = simulate(&star(2, BARE, "ethernet = \"10 Gb/s\"", flow), &[]);
    let w = wire(&s, "cable.0", "sw").slots;
    // And the acknowledgement of the answer.
    assert_eq!((w.payload, w.framing, w.tlps), (3064, 4 * 62 + 20 + 66, 5));
}

/// Every row of an instrument, simulated and estimated.
fn close(share: f64, text: &str, sets: &[&str]) {
    let (s, report) = (simulate(text, sets), run(text, sets));
    let seen = s.flows[s.flows.len() - 1].program.as_ref().expect("a program");
    let estimated = &flow(&report, "job").programs[0];
    assert_eq!(seen.rows.len(), estimated.rows.len());
    for (a, b) in seen.rows.iter().zip(&estimated.rows) {
        let off = a.t_avg / b.t_avg - 1.0;
        assert!(
            off.abs() <= share,
            "{} of {:?} B: {} s simulated, {} s estimated ({off:+.4})\n{text}",
            a.name,
            a.bytes,
            a.t_avg,
            b.t_avg
        );
    }
}

#[test]
fn ping_pong_is_what_the_estimate_says() {
    let ping = "do = \"mpi\"\nbenchmark = \"imb PingPong\"\nsizes = [\"0 B\", \"8 B\", \"1 KiB\", \"4 KiB\", \"64 \
        KiB\", \"1 MiB\"]\n";
    for link in ["ethernet = \"10 Gb/s\"", "ethernet = \"100 Gb/s\"\nmtu = \"9000 B\""] {
        close(0.02, &star(2, "", link, ping), &[]);
        close(0.02, &star(2, "", link, ping), &["parts.sw.forwarding=cut-through", "parts.sw.flow_control=pause"]);
        close(0.02, &hosted(2, "", "pcie", link, ping), &[]);
    }
    close(0.02, &hosted(2, "", "pci", "ethernet = \"10 Gb/s\"", ping), &[]);
    let direct =
        star(2, "", "ethernet = \"10 Gb/s\"", ping).replace("[\"node.*\", \"sw\"]", "[\"node.0\", \"node.1\"]");
    let (head, tail) = direct.split_once("[parts.sw]").expect("a switch");
    let tail = tail.split_once("[links").expect("links").1;
    close(0.02, &format!("{head}[links{tail}"), &[]);
}

/// Two send to one over 10 Gb/s, whose host takes much less.
fn incast(bus: &str, control: &str) -> String {
    let bus = match bus {
        "pcie" => {
            "[parts.host]\nis = \"root-complex\"\n[links.slot]\nbetween = [\"host\", \"node.0\"]\npcie = \"gen1 x1\"\n"
        }
        _ => {
            "[parts.host]\nis = \"host-bridge\"\ndisconnect = \"4 KiB\"\n[links.slot]\nbetween = [\"host\", \
                \"sink\"]\npci = \"pci 33.33 32-bit\"\n"
        }
    };
    let bus = bus.replace("node.0", "sink");
    format!(
        "[parts.sink]\nis = \"channel-adapter\"\n[parts.node]\nis = \"channel-adapter\"\ncount = 2\n\
         [parts.sw]\nis = \"ethernet-switch\"\nflow_control = \"{control}\"\n{bus}\
         [links.last]\nbetween = [\"sink\", \"sw\"]\nethernet = \"10 Gb/s\"\n\
         [links.cable]\nbetween = [\"node.*\", \"sw\"]\nethernet = \"10 Gb/s\"\n\
         [flows.job]\nranks = [\"sink\", \"node.*\"]\n{VERBS}\
         program = \"repeat 4 {{ if rank == 0 {{ irecv from 1; irecv from 2; waitall }} else {{ send 1 MiB to 0 }} \
         }}\"\n"
    )
}

fn rate(s: &Simulation) -> f64 {
    s.flows[s.flows.len() - 1].rate.mean
}

#[test]
fn a_slow_host_holds_the_senders_up() {
    for bus in ["pcie", "pci"] {
        for control in ["pfc", "pause"] {
            // A small memory, so that the switch must pass the pause on.
            let sets = ["parts.sw.memory=256 KiB"];
            let text = incast(bus, control);
            let s = simulate(&text, &sets);
            let last = wire(&s, "last", "sink");
            assert_eq!(s.flows[s.flows.len() - 1].operations, 8, "nothing is lost");
            let (stops, goes) = wire(&s, "last", "sw").pauses;
            assert!(stops > 10 && goes > 10, "{control}: the receiver pauses the switch {stops} times");
            for node in ["node.0", "node.1"] {
                let link = if node == "node.0" { "cable.0" } else { "cable.1" };
                assert!(wire(&s, link, node).pauses.0 > 5, "{control}: the switch pauses {node}");
                assert!(wire(&s, link, "sw").slots.idle[Idle::Paused as usize] > 0);
            }
            // Idle for what it was told, and nothing else.
            let idle = &last.slots.idle;
            let other: u64 = idle.iter().sum::<u64>() - idle[Idle::Paused as usize];
            assert!(idle[Idle::Paused as usize] > 50 * other, "{idle:?}");
            // What the bus takes, from the same run without Ethernet between: its own estimate of writes.
            let used = s.links.iter().find(|l| l.name == "slot" && (l.to == "host" || l.to.is_empty())).expect("a bus");
            let busy = used.slots.busy() as f64 / used.slots.total() as f64;
            assert!(busy > 0.98, "{bus} {control}: the bus is {busy} busy at {} Gb/s", rate(&s) / 1e9);
            // The pieces that a run is done in change nothing, whichever bus and whoever pauses.
            if (bus == "pci") == (control == "pause") {
                assert_eq!(s, simulate_by(&planned(&text, &sets), 997).with_events(s.events));
            }
        }
    }
}

trait WithEvents {
    fn with_events(self, events: u64) -> Self;
}

impl WithEvents for Simulation {
    fn with_events(self, events: u64) -> Self {
        Simulation { events, ..self }
    }
}

#[test]
fn what_cannot_work_is_said() {
    let text = star(2, "", "ethernet = \"10 Gb/s\"", &one("64 B"));
    for control in ["voq", "credits"] {
        let said = wrong(&text, &[&format!("parts.sw.flow_control={control}")]);
        assert!(said.contains("no per-destination queues or grants"), "{said}");
    }
    let said = wrong(&text, &["parts.node.receive_buffer=2 KiB"]);
    assert!(said.contains("cannot pause in time"), "{said}");
    let said = wrong(&text, &["parts.node.mac_buffer=1 KiB"]);
    assert!(said.contains("a frame must fit whole: 1106 B"), "{said}");
    let said = wrong(&text, &["links.cable.mtu=200 B"]);
    assert!(said.contains("holds no packet of RoCE"), "{said}");
    let said = wrong(&text, &["flows.job.lane=8"]);
    assert!(said.contains("0 to 7"), "{said}");
}

/// The algorithm of an instrument's collective can be stated, is named in the answer, and changes it.
#[test]
fn an_instrument_states_its_algorithm() {
    let text =
        star(8, "", "ethernet = \"100 Gb/s\"", "do = \"mpi\"\nbenchmark = \"imb Allreduce\"\nsizes = [\"1 MiB\"]\n");
    let times = ["recursive_doubling", "scatter_allgather", "ring"].map(|name| {
        let plan = planned(&text, &[&format!("flows.job.algorithm={name}")]);
        let report = lanescope::estimate::estimate(&plan, &Diagnostics::default());
        report.flows[0].programs[0].rows[0].t_max
    });
    // log n steps of the whole vector are slower than both that move it twice.
    assert!(times[0] > 1.2 * times[1].max(times[2]) && times[1] != times[2], "{times:?}");
    for (sets, says) in [
        (&["flows.job.algorithm=rings"][..], "did you mean ring?"),
        (&["flows.job.algorithm=bruck"], "it is done by recursive_doubling"),
        (&["flows.job.algorithm=ring", "flows.job.benchmark=imb PingPong"], "leave algorithm out"),
        (&["flows.job.algorithm=ring", "flows.job.benchmark=npb is.S"], "leave algorithm out"),
    ] {
        let said = wrong(&text, sets);
        assert!(said.contains(says), "{said}");
    }
    let program = text.replace("benchmark = \"imb Allreduce\"", "program = \"allreduce 8 B\"").replace("sizes", "#");
    assert!(wrong(&program, &["flows.job.algorithm=ring"]).contains("stands behind the collective"));
}

/// A run whose wires carry some packets twice.
fn in_pieces(plan: &Plan, events: u64) -> Simulation {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("a run");
    while run.advance(events) != Step::Done {}
    run.snapshot()
}

#[test]
fn what_a_switch_drops_is_sent_again() {
    // Two senders; a switch that has said it needs no headroom, and one that pauses nobody.
    let tight = &["parts.sw.high_threshold=20 KiB", "parts.sw.headroom=0 B"][..];
    let mut explained = 0;
    for (control, sets) in [("pfc", tight), ("none", &["parts.sw.memory=40 KiB"][..])] {
        for rule in ["go-back-n", "selective"] {
            let rule = format!("parts.node.retransmission={rule}");
            let plan = planned(
                &incast("pcie", control),
                &[sets, &[&rule, "parts.node.retransmission_timeout=50 us"]].concat(),
            );
            let whole = in_pieces(&plan, u64::MAX);
            let program = whole.flows[0].program.as_ref().expect("a program");
            assert!(whole.ending == Ending::Finished && program.bytes > 0, "{control} {rule}: {:?}", whole.ending);
            let said: Vec<_> = whole.notes.iter().filter(|n| n.mechanism == "retransmission").collect();
            assert!(said.iter().any(|n| n.text.contains("sent again")), "{control} {rule}: {:?}", whole.notes);
            // The same however the run is cut into pieces.
            assert_eq!(in_pieces(&plan, 1000).fingerprint, whole.fingerprint);
            // What takes far longer than the estimate does so for what was lost, or where switches pause for that, not
            // for queues.
            let report = lanescope::estimate::estimate(&plan, &Diagnostics::default()).with(whole);
            let why = report.notes.iter().filter(|n| n.text.contains("against the estimate"));
            let known = |n: &&Note| n.mechanism == "retransmission" || n.mechanism == "pause" && control == "pfc";
            explained += why.inspect(|n| assert!(known(n), "{control} {rule}: {n:?}")).count();
        }
    }
    assert!(explained > 0, "none takes longer");
}

/// The incast with a stream of plain frames from a sender to another station, of another priority or the same.
fn beside(lane: u32) -> String {
    let text = incast("pcie", "pfc").replace("program", &format!("lane = {lane}\nprogram"));
    format!(
        "{text}[parts.other]\nis = \"station\"\n[links.other]\nbetween = [\"other\", \"sw\"]\nethernet = \"10 Gb/s\"\n\
         [flows.plain]\nfrom = \"node.0\"\nto = \"other\"\ndo = \"send\"\nsize = \"1500 B\"\nload = \
         \"saturate\"\npriority = 3\n"
    )
}

#[test]
fn a_paused_priority_leaves_others_alone() {
    let sets = ["parts.sw.memory=256 KiB"];
    let rates = [3, 4].map(|lane| {
        let s = simulate(&beside(lane), &sets);
        let plain = s.flows.iter().find(|f| f.name == "plain").expect("the stream");
        let frames = plain.frames.expect("frames");
        assert_eq!(frames.dropped, 0);
        assert!(frames.sent - frames.delivered <= frames.in_flight, "none is forgotten");
        plain.rate.mean
    });
    // Sharing the priority, the stream is paused with the messages; else it has the wire but for their small part.
    assert!(rates[0] < 2e9 && rates[1] > 8e9, "{rates:?}");
}

#[test]
fn messages_and_frames_of_one_station_take_turns() {
    // Both fill the buffers of one adapter whenever they can; 1024 B of a message are a frame of 1106 B on the wire,
    // 1500 B one of 1538 B.
    let text = star(3, "", "ethernet = \"10 Gb/s\"", &one("16 MiB"))
        .replace("[\"node.*\"]", "[\"node.0\", \"node.1\"]")
        + "[flows.plain]\nfrom = \"node.0\"\nto = \"node.2\"\ndo = \"send\"\nsize = \"1500 B\"\nload = \"saturate\"\n";
    let s = simulate(&text, &[]);
    let rate = |name: &str| s.flows.iter().find(|f| f.name == name).expect("the flow").rate.mean;
    let ratio = rate("job") * 1106.0 / 1024.0 / (rate("plain") * 1538.0 / 1500.0);
    assert!((0.8..1.25).contains(&ratio), "{ratio}: {} and {}", rate("job"), rate("plain"));
}

#[test]
fn a_capture_shows_packets_and_pauses() {
    let plan = planned(&incast("pcie", "pfc"), &["parts.sw.memory=256 KiB"]);
    let link = plan.network.links.iter().position(|l| l.name == "last").expect("a link");
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
    run.capture(link);
    while run.advance(u64::MAX) != Step::Done {}
    let crossed = run.crossed();
    // 8 messages of 1024 full packets, and their acknowledgements.
    let frames = |bytes: u32| {
        let of = |c: &&Crossed| matches!(c.what, Crossing::Roce { packet, .. } if packet.payload == bytes);
        crossed.iter().filter(of).count()
    };
    assert_eq!((frames(1024), frames(0)), (8 * 1024, 8));
    let pauses = crossed.iter().filter(|c| matches!(c.what, Crossing::Pfc { .. })).count() as u64;
    let (stops, goes) = wire(&run.snapshot(), "last", "sw").pauses;
    assert_eq!(pauses, stops + goes);
}
