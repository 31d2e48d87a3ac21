//! Time lines of simulations: what they hold is what the reports count.
#![cfg(test)]

use super::reader::{Trace, written};
use super::write;
use crate::diagnostic::Diagnostics;
use crate::library::Library;
use crate::plan::Plan;
use crate::result::timeline::{Slice, Timeline};
use crate::result::{Simulation, SlotCounts};
use crate::scenario::{Included, tree::Author};
use crate::sim::{Run, Step};
use std::collections::BTreeMap;

const ENOUGH: usize = 1 << 20;

fn plan(text: &str) -> Plan {
    let mut d = Diagnostics::default();
    let included = Included { name: "t.toml".into(), text: text.into(), author: Author::User };
    crate::plan(&mut d, included, &[], &Library).unwrap_or_else(|| panic!("{d}"))
}

/// Runs a plan to its end, recording so many events of it.
fn recorded(plan: &Plan, most: usize) -> (Timeline, Simulation) {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    run.record(most);
    while run.advance(1000) != Step::Done {}
    let line = run.timeline().expect("it was recorded");
    assert!(run.timeline().is_none(), "it is taken once");
    (line, run.snapshot())
}

fn bytes(t: &Timeline) -> Vec<u8> {
    let mut file = Vec::new();
    write(t, &mut file).expect("a vector takes all");
    file
}

/// The slices of a row in order of time, with their names.
fn row<'t>(t: &'t Timeline, name: &str) -> Vec<(&'t str, Slice)> {
    let track = t.tracks().iter().position(|r| t.text(r.name) == name).unwrap_or_else(|| panic!("no row {name}"));
    let of = t.slices().iter().filter(|s| s.track.index() == track);
    let mut all: Vec<(&str, Slice)> = of.map(|s| (t.text(s.name), *s)).collect();
    all.sort_by_key(|s| s.1.begin);
    all
}

/// The slices of a wire lie one behind the other.
fn apart(slices: &[(&str, Slice)]) {
    for pair in slices.windows(2) {
        assert!(pair[0].1.end <= pair[1].1.begin, "{pair:?}");
    }
}

/// Slots of a wire that its slices take, at a rate in slots per second.
fn slots(slices: &[(&str, Slice)], rate: f64) -> u64 {
    apart(slices);
    slices.iter().map(|(_, s)| ((s.end - s.begin) as f64 * 1e-15 * rate).round() as u64).sum()
}

/// The highest and the lowest value of each counter.
fn ranges(t: &Timeline) -> BTreeMap<&str, (u64, u64)> {
    let mut all = BTreeMap::new();
    for s in t.samples() {
        let range = all.entry(t.text(t.counters()[s.counter.index()].name)).or_insert((s.value, s.value));
        *range = (range.0.min(s.value), range.1.max(s.value));
    }
    all
}

fn arg(t: &Timeline, slice: &Slice, name: &str) -> Option<u64> {
    t.args(slice).iter().find(|a| t.text(a.0) == name).map(|a| a.1)
}

/// Nothing runs back, and what the pen draws is all that was recorded.
fn drawn(t: &Timeline) -> Trace {
    assert_eq!(t.dropped(), 0);
    let (trace, done) = written(t);
    assert_eq!((done.cut, done.backward), (0, 0));
    assert_eq!(trace.flows.len(), t.arrows().len());
    for &(from, to) in &trace.flows {
        assert!(trace.slices[from].begin <= trace.slices[to].begin);
    }
    trace
}

/// The slots of every wire of a kind are those of its ledger.
fn books(t: &Timeline, simulation: &Simulation, said: fn(&SlotCounts) -> u64) {
    let mut seen = 0;
    for l in &simulation.links {
        let name = crate::result::way(&l.name, &l.to);
        let slices = row(t, &name);
        assert_eq!(slots(&slices, l.coded / 8.0), said(&l.slots), "{name}");
        seen += slices.len();
    }
    assert!(seen > 0);
}

const NODES: &str = "[parts.node]\nis = \"channel-adapter\"\ncount = 2\nwork_time = \"100 ns\"\nsend_latency = \"200 \
    ns\"\nreceive_latency = \"150 ns\"\n\
    receive_buffer = \"16 KiB\"\n[parts.sw]\nis = \"infiniband-switch\"\nbuffer = \"8 KiB\"\n\
    [links.cable]\nbetween = [\"node.*\", \"sw\"]\ninfiniband = \"sdr 4x\"\nmtu = \"2048 B\"\n";

/// The same over Ethernet.
const STATIONS: &str = "[parts.node]\nis = \"channel-adapter\"\ncount = 2\n[parts.sw]\nis = \
    \"ethernet-switch\"\nflow_control = \"pause\"\n\
    [links.cable]\nbetween = [\"node.*\", \"sw\"]\nethernet = \"25 Gb/s\"\n";

const HOSTS: &str = "[parts.host]\nis = \"root-complex\"\ncount = 2\n\
    [links.slot]\nbetween = [\"host.*\", \"node.*\"]\npcie = \"gen1 x8\"\n";

const PING_PONG: &str = "[flows.pp]\ndo = \"mpi\"\nranks = \"node.*\"\nsend_time = \"400 ns\"\nreceive_time = \"300 \
    ns\"\n\
    program = \"\"\"\nif rank == 0 { send 1 KiB to 1; recv 100 KiB from 1 tag 7 }\nelse \
    { recv 1 KiB from 0; send 100 KiB to 0 tag 7 }\n\
    compute 1 us\nbarrier\n\"\"\"\n";

#[test]
fn a_ping_pong_over_infiniband() {
    let p = plan(&[NODES, PING_PONG].concat());
    let (t, simulation) = recorded(&p, ENOUGH);
    drawn(&t);
    books(&t, &simulation, SlotCounts::busy);
    // A send of 1 KiB: 400 ns of overhead, a copy at 10 GB/s; the adapter's 300 ns; and it is on the wire.
    let ns = |s: &Slice| (s.begin / 1_000_000, s.end / 1_000_000);
    let zero = row(&t, "rank 0");
    let first: Vec<_> = zero.iter().take(3).map(|(name, s)| (*name, ns(s))).collect();
    assert_eq!(first, [("send", (0, 502)), ("send overhead", (0, 400)), ("copy", (400, 502))]);
    let work = row(&t, "parts.node.0: work requests");
    assert_eq!((work[0].0, ns(&work[0].1)), ("work request", (502, 802)));
    let out = row(&t, "links.cable.0 toward sw");
    // 102.4 ns of copying; 1 KiB and the library's 32 B, 26 B around it, the delimiters' 2: 1084 B at 1 GB/s, from a
    // slot of the wire on.
    assert_eq!((out[0].0, ns(&out[0].1)), ("SEND", (803, 1887)));
    // What is not a call, a section or nested in one adds up to the rank's time.
    let pieces = [
        "send overhead",
        "request to send",
        "clear to send",
        "RDMA write",
        "receive overhead",
        "copy",
        "compute",
        "waiting",
    ];
    let accounts = &simulation.flows[0].program.as_ref().expect("a program").accounts;
    for (rank, account) in accounts.iter().enumerate() {
        let all = row(&t, &format!("rank {rank}"));
        let pieces: Vec<_> = all.into_iter().filter(|s| pieces.contains(&s.0)).collect();
        apart(&pieces);
        let sum: u64 = pieces.iter().map(|s| s.1.end - s.1.begin).sum();
        assert!((sum as f64 * 1e-15 - account.total()).abs() < 1e-12, "{sum} {account:?}");
    }
}

#[test]
fn a_message_is_followed_from_call_to_call() {
    followed(NODES);
    followed(STATIONS);
}

fn followed(nodes: &str) {
    let (t, _) = recorded(&plan(&[nodes, HOSTS, PING_PONG].concat()), ENOUGH);
    let trace = drawn(&t);
    // Whoever takes a message in has two arrows: from the rank that sent it, and from the adapter that told of it.
    let takes = t.slices().iter().enumerate().filter(|(_, s)| t.text(s.name) == "receive overhead");
    let mut taken = 0;
    for (i, taking) in takes {
        taken += 1;
        let from: Vec<&Slice> =
            t.arrows().iter().filter(|a| a.1.index() == i).map(|a| &t.slices()[a.0.index()]).collect();
        let [sent, told] = from[..] else { panic!("{from:?}") };
        let group = |s: &Slice| t.text(t.tracks()[s.track.index()].group);
        assert_eq!((group(sent), group(told), t.text(told.name)), ("ranks", "adapters", "completion"));
        for s in [sent, told] {
            assert_eq!(arg(&t, s, "message"), arg(&t, taking, "message"));
            assert!(s.end <= taking.begin, "{s:?} {taking:?}");
        }
        // From there back to the call: completion, packets in, wires, data, descriptor, work request, doorbell.
        let (mut at, mut way) = (told, vec!["completion"]);
        while group(at) != "ranks" {
            let place = t.slices().iter().position(|s| std::ptr::eq(s, at)).expect("it is one of them");
            let before = t.arrows().iter().find(|a| a.1.index() == place).expect("something set it off");
            at = &t.slices()[before.0.index()];
            way.push(t.text(at.name));
        }
        assert_eq!(arg(&t, at, "message"), arg(&t, taking, "message"));
        let expected = |data: &'static str, wire: &'static str| {
            ["completion", "packet", wire, wire, data, "descriptor", "work request", "doorbell"].to_vec()
        };
        let send = way.last().copied().expect("a call");
        let wire = if send == "RDMA write" { "RDMA WRITE" } else { "SEND" };
        assert_eq!(way, [&expected("data", wire)[..], &[send]].concat());
    }
    // One eager message, three of a rendezvous, two of the barrier.
    assert_eq!(taken, 6);
    // Acknowledgements come from packets that were taken in.
    let acks = trace.slices.iter().filter(|s| s.name == "ack").count();
    assert_eq!(acks, 2 * 6, "each over two wires");
    // Every completion of PCIe has its request.
    let names: Vec<&str> = t.slices().iter().map(|s| t.text(s.name)).collect();
    for (i, _) in names.iter().enumerate().filter(|n| n.1.ends_with(": completion")) {
        let from = t.arrows().iter().find(|a| a.1.index() == i).expect("a request");
        assert!(names[from.0.index()].ends_with(": read request"));
    }
}

#[test]
fn ledgers_and_credits_of_hosts_and_adapters() {
    let p = plan(&[NODES, HOSTS, PING_PONG].concat());
    let (t, simulation) = recorded(&p, ENOUGH);
    // Ordered sets and padding are nobody's.
    books(&t, &simulation, |s| s.busy() - s.ordered_sets - s.padding);
    let ranges = ranges(&t);
    // 8 KiB and 16 KiB are 128 and 256 blocks of 64 B.
    let (of_switch, of_adapter) =
        (ranges["links.cable.1 toward sw: credit"], ranges["links.cable.0 toward node.0: credit"]);
    assert_eq!((of_switch.1, of_adapter.1), (128, 256));
    // A packet of 2 KiB is 33 blocks.
    assert!(of_switch.0 <= 128 - 33 && of_adapter.0 <= 256 - 33, "{of_switch:?} {of_adapter:?}");
    for (hop, class) in p.directions().flat_map(|h| crate::protocol::pcie::Class::ALL.map(|c| (h, c))) {
        let kind = ["posted", "non-posted", "completion"][class as usize];
        let seen = ranges.get(format!("{}: {kind} headers left", p.direction_name(hop)).as_str());
        let most = p.buffer(hop, class).headers.map(u64::from);
        assert!(seen.is_none_or(|s| Some(s.1) == most && s.0 < s.1), "{seen:?} of {most:?}");
    }
    assert!(ranges.keys().any(|k| k.ends_with(": posted headers left")));
}

#[test]
fn recording_is_bounded_and_changes_nothing() {
    let p = plan(&[NODES, HOSTS, PING_PONG].concat());
    let (whole, simulation) = recorded(&p, ENOUGH);
    let mut run = Run::new(&p, 1, &mut Diagnostics::default()).expect("it can be simulated");
    while run.advance(1000) != Step::Done {}
    assert!(run.timeline().is_none());
    assert_eq!(run.snapshot().fingerprint, simulation.fingerprint);
    assert_eq!(bytes(&whole), bytes(&recorded(&p, ENOUGH).0));
    for most in [0, 1, 100, whole.len() - 1] {
        let (t, seen) = recorded(&p, most);
        assert_eq!((t.len(), t.is_full(), seen.fingerprint), (most, true, simulation.fingerprint.clone()));
        assert!(t.dropped() > 0);
        // What is kept is the beginning of the whole; what goes on for longer may have lost its end.
        assert!(
            t.slices()
                .iter()
                .zip(whole.slices())
                .all(|(a, b)| (a.track, a.name, a.begin) == (b.track, b.name, b.begin))
        );
        written(&t);
    }
}

#[test]
fn a_run_that_is_stopped_has_its_open_calls() {
    let p = plan(&[NODES, PING_PONG].concat());
    let mut run = Run::new(&p, 1, &mut Diagnostics::default()).expect("it can be simulated");
    run.record(ENOUGH);
    run.advance(4);
    run.stop();
    let t = run.timeline().expect("it was recorded");
    let now = (run.snapshot().window * 1e15).round() as u64;
    let waits = row(&t, "rank 1");
    assert_eq!((waits[0].0, waits[0].1.begin, waits[0].1.end), ("recv", 0, now));
    assert!(now > 0);
}

#[test]
fn sections_hold_calls_and_calls_hold_work() {
    let text = [
        NODES,
        "[flows.i]\ndo = \"mpi\"\nranks = \"node.*\"\nbenchmark = \"imb Allreduce\"\nsizes = [\"64 B\"]\nrepetitions = \
            3\nsteady = false\n",
    ];
    let (t, _) = recorded(&plan(&text.concat()), ENOUGH);
    let trace = drawn(&t);
    let of =
        |name: &str| trace.slices.iter().filter(|s| s.row.ends_with("/rank 0") && s.name == name).collect::<Vec<_>>();
    let (sections, calls) = (of("Allreduce 64 B"), of("allreduce"));
    assert_eq!(sections.len(), 3);
    for call in calls.iter().filter(|c| c.depth == 1) {
        assert_eq!(call.args, [("bytes".to_owned(), 64)]);
        assert!(sections.iter().any(|s| s.begin <= call.begin && call.end <= s.end), "{call:?}");
    }
    assert_eq!(calls.iter().filter(|c| c.depth == 1).count(), 3);
    assert!(of("send overhead").iter().all(|s| s.depth > 0));
}

#[test]
fn frames_and_memories_of_ethernet() {
    let text = "[parts.host]\nis = \"station\"\ncount = 3\n[parts.sw]\nis = \"ethernet-switch\"\nmemory = \"64 \
        KiB\"\nflow_control = \"pause\"\n\
        [links.lan]\nbetween = [\"host.*\", \"sw\"]\nethernet = \"10 Gb/s\"\n\
        [flows.one]\nfrom = \"host.1\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"9 KiB\"\n\
        [flows.two]\nfrom = \"host.2\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"9 KiB\"\n[run]\nfor = \"200 \
        us\"\nwarmup = \"0 s\"\n";
    let p = plan(text);
    let (t, simulation) = recorded(&p, ENOUGH);
    drawn(&t);
    for (l, wire) in simulation.links.iter().zip(0..) {
        let name = p.network.wire_name(wire);
        let slices = row(&t, &name);
        let gap = crate::protocol::ethernet::GAP * l.slots.tlps;
        assert_eq!(slots(&slices, l.coded / 8.0) + gap, l.slots.busy(), "{name}");
        assert_eq!(slices.iter().filter(|s| s.0 == "pause").count() as u64, l.slots.controls);
    }
    let ranges = ranges(&t);
    let memory = ranges["parts.sw: memory in use"];
    assert_eq!(memory.1, simulation.switches[0].memory.expect("a memory").most);
    assert!(memory.1 <= 64 * 1024);
    assert!(ranges["links.lan.0 toward host.0: waiting"].1 > 0);
    // Each frame that left the switch came in.
    let toward: Vec<_> = t.tracks().iter().map(|r| t.text(r.name)).collect();
    let left = t.slices().iter().enumerate().filter(|(_, s)| toward[s.track.index()] == "links.lan.0 toward host.0");
    let left = left.filter(|(_, s)| t.text(s.name) != "pause");
    let mut frames = 0;
    for (i, s) in left {
        let from = t.arrows().iter().find(|a| a.1.index() == i).map(|a| &t.slices()[a.0.index()]).expect("a frame");
        assert!(s.name == from.name && from.begin < s.begin && toward[from.track.index()].ends_with(" toward sw"));
        frames += 1;
    }
    assert!(frames > 100);
}

#[test]
fn transactions_of_a_bus() {
    let text = "[parts.bridge]\nis = \"host-bridge\"\n[parts.card]\nis = \"pci-device\"\ncount = 2\n\
        [links.slot]\nbetween = [\"bridge\", \"card.*\"]\npci = \"pci-x 133 64-bit\"\n\
        [flows.reads]\nfrom = \"card.0\"\nto = \"bridge.memory\"\ndo = \"read\"\nsize = \"4 KiB\"\n\
        [flows.writes]\nfrom = \"card.1\"\nto = \"bridge.memory\"\ndo = \"write\"\nsize = \"4 KiB\"\n[run]\nfor = \"50 \
        us\"\nwarmup = \"0 s\"\n";
    let p = plan(text);
    let (t, simulation) = recorded(&p, ENOUGH);
    drawn(&t);
    let (l, slices) = (&simulation.links[0], row(&t, "links.slot"));
    assert_eq!(slots(&slices, p.buses.buses[0].speed.typical.hertz()), l.slots.busy());
    assert_eq!(slices.len() as u64, l.slots.tlps);
    for kind in ["reads: split request", "split completion", "writes: write"] {
        assert!(slices.iter().any(|s| s.0 == kind), "{kind}");
    }
}

#[test]
fn frames_of_storage() {
    let text = "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\n[links.slot]\nbetween = \
        [\"host\", \"hba\"]\npcie = \"gen1 x4\"\n\
        [parts.ram]\nis = \"ram-disk\"\n[links.fc]\nbetween = [\"hba\", \"ram\"]\nfc = \"4GFC\"\n\
        [flows.io]\nfrom = \"host\"\nto = \"ram\"\ndo = \"io\"\naccess = \
        { size = \"8 KiB\", read = \"50 %\" }\noutstanding = 4\n\
        [run]\nfor = \"500 us\"\nwarmup = \"0 s\"\n";
    let (t, simulation) = recorded(&plan(text), ENOUGH);
    drawn(&t);
    for l in &simulation.links[2..] {
        let slices = row(&t, &crate::result::way(&l.name, &l.to));
        apart(&slices);
        let frames: Vec<_> = slices.into_iter().filter(|s| s.0 != "R_RDY").collect();
        assert_eq!(frames.len() as u64, l.slots.tlps);
        assert_eq!(slots(&frames, l.coded / 8.0), l.slots.payload + l.slots.framing + l.slots.requests);
        assert!(l.slots.payload > 0 && frames.iter().any(|f| f.0 == "FCP_DATA"));
    }
}

#[test]
fn clocks_of_a_backbone() {
    let text = "[parts.hub]\nis = \"root-complex\"\nbackbone_clock = \"100 MHz\"\nbackbone_width = \"8 \
        B\"\nbackbone_line = \"64 B\"\n[parts.card]\nis = \"endpoint\"\ncount = 2\n\
        [links.slot]\nbetween = [\"hub.port.*\", \"card.*\"]\npcie = \"gen1 x1\"\n\
        [flows.reads]\nfrom = \"card.0\"\nto = \"hub.memory\"\ndo = \"read\"\nsize = \"1 KiB\"\n\
        [flows.writes]\nfrom = \"card.1\"\nto = \"hub.memory\"\ndo = \"write\"\nsize = \"1 KiB\"\n[run]\nfor = \"50 \
        us\"\nwarmup = \"0 s\"\n";
    let (t, simulation) = recorded(&plan(text), ENOUGH);
    drawn(&t);
    let backbone = &simulation.backbones[0];
    for (bus, counts) in [("request bus", backbone.request), ("completion bus", backbone.completion)] {
        let slices = row(&t, &format!("parts.hub: {bus}"));
        assert_eq!(slots(&slices, backbone.clock), counts.arbitration + counts.overhead + counts.data, "{bus}");
        assert_eq!(slices.len() as u64, counts.transactions);
        assert!(counts.transactions > 0);
    }
}
