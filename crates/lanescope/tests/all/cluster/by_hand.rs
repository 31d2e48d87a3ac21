//! Messages over InfiniBand worked out by hand, to the femtosecond.
//!
//! A byte of SDR 4X takes 1 ns. Around a packet's payload are start, LRH, BTH, ICRC, VCRC and end: 1 + 8 + 12 + 4 + 2 +
//! 1 = 28 B.

use super::{BARE, VERBS, latency, one, simulate, wire};
use lanescope::result::Idle;

const NS: u64 = 1_000_000;

/// Two adapters on one cable.
fn pair(keys: &str, link: &str, flow: &str) -> String {
    format!(
        "[parts.node]\nis = \"channel-adapter\"\ncount = 2\n{keys}\n\
         [links.cable]\nbetween = [\"node.0\", \"node.1\"]\n{link}\n\
         [flows.job]\nranks = [\"node.*\"]\n{flow}"
    )
}

/// Two adapters on a switch, each by a link of its own.
fn switched(keys: &str, links: [&str; 2], flow: &str) -> String {
    format!(
        "[parts.node]\nis = \"channel-adapter\"\ncount = 2\n{keys}\n\
         [parts.sw]\nis = \"infiniband-switch\"\nlatency = \"200 ns\"\n\
         [links.a]\nbetween = [\"node.0\", \"sw\"]\n{}\n[links.b]\nbetween = [\"node.1\", \"sw\"]\n{}\n\
         [flows.job]\nranks = [\"node.*\"]\n{flow}",
        links[0], links[1]
    )
}

const SDR: &str = "infiniband = \"sdr 4x\"\ndelay = \"30 ns\"";
const EDR: &str = "infiniband = \"edr 4x\"\ndelay = \"30 ns\"";

#[test]
fn one_packet_over_one_wire() {
    let s = simulate(&pair(BARE, SDR, &one("64 B")), &[]);
    assert_eq!(latency(&s), (28 + 64 + 30) * NS);
    let w = wire(&s, "cable", "node.1").slots;
    assert_eq!((w.payload, w.framing, w.acks, w.tlps), (64, 28, 0, 1));
    // The acknowledgement, 4 B more than an empty packet, goes back.
    let back = wire(&s, "cable", "node.0").slots;
    assert_eq!((back.payload, back.framing, back.acks, back.tlps), (0, 0, 32, 1));
    // One byte is padded to a word; nothing is a packet, too.
    assert_eq!(latency(&simulate(&pair(BARE, SDR, &one("1 B")), &[])), (28 + 4 + 30) * NS);
    assert_eq!(latency(&simulate(&pair(BARE, SDR, &one("0 B")), &[])), (28 + 30) * NS);
    // FDR 4X has 64 bits in 66: 92 B at 600/11 Gb/s, rounded up.
    let s = simulate(&pair(BARE, "infiniband = \"fdr 4x\"\ndelay = \"30 ns\"", &one("64 B")), &[]);
    assert_eq!(latency(&s), (92u64 * 8 * 11 * 1_000_000).div_ceil(600) + 30 * NS);
}

#[test]
fn one_packet_through_a_switch() {
    let s = simulate(&switched(BARE, [SDR, SDR], &one("64 B")), &[]);
    // Start and LRH come in, the switch takes its time, the packet goes out.
    assert_eq!(latency(&s), (9 + 30 + 200 + 92 + 30) * NS);
    // To a faster wire it waits, so that the last byte is there when it is needed: 92 B take 92 and 7.36 ns.
    let s = simulate(&switched(BARE, [SDR, EDR], &one("64 B")), &[]);
    assert_eq!(latency(&s), (92 + 30 + 200 + 30) * NS);
    // From a faster one it need not: 9 B take 0.72 ns, and the slower wire begins with its next whole slot.
    let s = simulate(&switched(BARE, [EDR, SDR], &one("64 B")), &[]);
    assert_eq!(latency(&s), (1 + 30 + 200 + 92 + 30) * NS);
}

#[test]
fn what_an_adapter_takes() {
    let keys =
        "work_time = \"100 ns\"\nsend_latency = \"210 ns\"\nreceive_latency = \"190 ns\"\npacket_time = \"7 ns\"\n";
    let s = simulate(&pair(keys, SDR, &one("64 B")), &[]);
    assert_eq!(latency(&s), (100 + 210 + 7 + 92 + 30 + 7 + 190) * NS);
    // Of three packets each way takes its time for one after the other, beside the wire.
    let s = simulate(&pair(keys, SDR, &one("5000 B")), &[]);
    assert_eq!(latency(&s), (100 + 210 + 7 + 5000 + 3 * 28 + 30 + 7 + 190) * NS);
    // Engines slower than the wire set the pace, 3 us a packet: the second comes in after two of them and 2076 ns, when
    // the other engine is through with the first; the third, shorter, waits for that engine.
    let s = simulate(&pair(keys, SDR, &one("5000 B")), &["parts.node.packet_time=3 us"]);
    assert_eq!(latency(&s), (100 + 210 + 2 * 3000 + 2076 + 30 + 2 * 3000 + 190) * NS);
    // Messages take the engine one after the other.
    let flow = format!(
        "{VERBS}program = \"if rank == 0 {{ isend 64 B to 1; isend 64 B to 1; waitall }} else {{ recv from 0; recv \
            from 0 }}\"\n"
    );
    let s = simulate(&pair(keys, SDR, &flow), &["parts.node.packet_time=0 ns"]);
    let first = 100 + 210 + 92 + 30 + 190;
    assert_eq!(latency(&s), (2 * first + 100) * NS / 2);
}

#[test]
fn a_message_of_several_packets() {
    // 2048, 2048 and 904 B.
    let s = simulate(&pair(BARE, SDR, &one("5000 B")), &[]);
    assert_eq!(latency(&s), (5000 + 3 * 28 + 30) * NS);
    let s = simulate(&pair(BARE, SDR, &one("5000 B")), &["links.cable.mtu=256 B"]);
    assert_eq!(latency(&s), (5000 + 20 * 28 + 30) * NS);
    // Through a switch the wires work at once.
    let s = simulate(&switched(BARE, [SDR, SDR], &one("5000 B")), &[]);
    assert_eq!(latency(&s), (9 + 30 + 200 + 5000 + 3 * 28 + 30) * NS);
    // Into a slower wire, 1x, packets queue up. Its slots are 4 ns: it begins at 240, not at 239.
    let slow = "infiniband = \"sdr 1x\"\ndelay = \"30 ns\"";
    let s = simulate(&switched(BARE, [SDR, slow], &one("5000 B")), &[]);
    assert_eq!(latency(&s), (240 + 4 * (5000 + 3 * 28) + 30) * NS);
    // Into a faster one each waits for itself: the last is 932 B.
    let s = simulate(&switched(BARE, [SDR, EDR], &one("5000 B")), &[]);
    assert_eq!(latency(&s), (5000 + 3 * 28 + 30 + 200 + 30) * NS);
}

#[test]
fn an_rdma_write_says_where_to() {
    // Request and answer of 64 B, then data with RETH in the first and 4 B in the last packet: two packets of 2048 and
    // 952 B.
    let flow = "do = \"mpi\"\neager = \"0 B\"\nprogram = \"if rank == 0 { send 3000 B to 1 } else { recv from 0 }\"\n";
    let s = simulate(&pair(BARE, SDR, flow), &[]);
    let w = wire(&s, "cable", "node.1").slots;
    // And the acknowledgement of the answer.
    assert_eq!((w.payload, w.framing, w.acks, w.tlps), (3064, 3 * 28 + 16 + 4, 32, 4));
}

#[test]
fn credit_is_told_by_the_quarter() {
    // A packet of 2048 B takes ceil(2074 / 64) = 33 blocks of 512: the fourth passes 128, and so on.
    let s = simulate(&pair(BARE, SDR, &one("64 KiB")), &[]);
    let back = wire(&s, "cable", "node.0").slots;
    assert_eq!((back.controls, back.update_fc, back.acks), (8, 64, 32));
    // 8 KiB are 128 blocks: each packet passes 32. Three packets go at once, the fourth with the first's credit:
    // without waiting for it.
    let s = simulate(&pair(BARE, SDR, &one("64 KiB")), &["parts.node.receive_buffer=8 KiB"]);
    assert_eq!(wire(&s, "cable", "node.0").slots.controls, 32);
    assert_eq!(latency(&s), (65_536 + 32 * 28 + 30) * NS);
    // Of a buffer for one packet each waits for the one before: the wire, and a notice of 8 B back.
    let s = simulate(&pair(BARE, SDR, &one("64 KiB")), &["parts.node.receive_buffer=2176 B"]);
    assert_eq!(latency(&s), (32 * (2048 + 28 + 30) + 31 * (8 + 30)) * NS);
    let w = wire(&s, "cable", "node.1").slots;
    assert_eq!(w.idle[Idle::LaneCredits as usize], 31 * (30 + 8 + 30));
}

#[test]
fn two_ports_are_two_ways() {
    // Each port has a cable of its own; messages at once over both take the engine of the adapter in turn.
    let text = format!(
        "[parts.node]\nis = \"channel-adapter\"\ncount = 2\nadapter_ports = 2\n{BARE}\n\
         [links.a]\nbetween = [\"node.0.port.0\", \"node.1.port.0\"]\n{SDR}\n\
         [links.b]\nbetween = [\"node.0.port.1\", \"node.1.port.1\"]\n{SDR}\n\
         [flows.a]\nranks = [\"node.0.port.0\", \"node.1.port.0\"]\n{0}\n\
         [flows.b]\nranks = [\"node.0.port.1\", \"node.1.port.1\"]\n{0}\n",
        one("64 KiB")
    );
    let s = simulate(&text, &[]);
    let alone = (65_536 + 32 * 28 + 30) * NS;
    assert_eq!(s.flows.iter().map(|f| (f.latency.mean * 1e15).round() as u64).collect::<Vec<_>>(), [alone; 2]);
    assert_eq!(wire(&s, "a", "node.1.port.0").slots.payload, 65_536);
    let s = simulate(&text, &["parts.node.work_time=1 us"]);
    assert_eq!((s.flows[0].latency.mean * 1e15).round() as u64, alone + 1000 * NS);
    assert_eq!((s.flows[1].latency.mean * 1e15).round() as u64, alone + 2000 * NS);
}

/// Two adapters, each on a PCI-X bus of its own at 7.5 ns a clock, whose devices answer at once.
fn on_buses(keys: &str, flow: &str) -> String {
    let keys = format!("{BARE}turnaround = \"1 clock\"\ndecode = \"fast\"\nread_byte_count = \"4 KiB\"\n{keys}");
    let mut text = pair(&keys, SDR, flow);
    for n in 0..2 {
        text += &format!(
            "[parts.host{n}]\nis = \"host-bridge\"\nread_latency = \"60 clocks\"\ndecode = \"fast\"\n\
             [links.bus{n}]\nbetween = [\"host{n}\", \"node.{n}\"]\npci = \"pci-x 133 64-bit\"\n"
        );
    }
    text
}

/// When clock `n` begins, fs.
fn clock(n: u64) -> u64 {
    n * 7_500_000
}

/// The clock that begins at a moment or later.
fn at(fs: u64) -> u64 {
    fs.div_ceil(7_500_000)
}

/// A write of 64 B after idleness: four clocks from REQ# to the address, address, attributes, response, eight data
/// phases.
const WRITE: u64 = 4 + 3 + 8;
/// A split read of 64 B: the request's five clocks, the delay, the way to the completion's address and its three
/// clocks, eight data phases.
const READ: u64 = 4 + 5 + 60 + 4 + 3 + 8;

#[test]
fn a_message_from_memory_to_memory_clock_by_clock() {
    let s = simulate(&on_buses("", &one("64 B")), &[]);
    // The doorbell's 8 B are one data phase; the descriptor is read, then the data.
    let sent = 4 + 3 + 1 + 2 * READ;
    let there = clock(sent) + (92 + 30) * NS;
    // Data are written, and the completion right behind: an idle clock, and no arbitration that anybody sees.
    let done = at(there) + WRITE + 1 + 3 + 8;
    assert_eq!(latency(&s), clock(done));
    // On the sender's bus: the doorbell, two requests and their completions, and the completion queue's entry once the
    // acknowledgement is there.
    let bus = |name: &str| s.links.iter().find(|l| l.name == name).expect("a bus").slots;
    let (a, b) = (bus("bus0"), bus("bus1"));
    assert_eq!((a.tlps, a.payload, a.address), (6, 1 + 8 + 8 + 8, 4 * 3));
    assert_eq!((a.requests, b.requests), (2 * 6, 0));
    assert_eq!((b.tlps, b.payload, b.address, b.turnarounds), (2, 16, 6, 2));
    // While the bridge gets what was asked for, nobody has anything to say.
    assert!(a.idle[Idle::Bridge as usize] >= 2 * 58, "{:?}", a.idle);
}

#[test]
fn without_completions_the_data_are_the_end() {
    let s = simulate(&on_buses("completion_bytes = \"0 B\"\n", &one("64 B")), &[]);
    let there = clock(4 + 3 + 1 + 2 * READ) + (92 + 30) * NS;
    assert_eq!(latency(&s), clock(at(there) + WRITE));
    // An empty message is none's data: it is over when it has come.
    let s = simulate(&on_buses("completion_bytes = \"0 B\"\n", &one("0 B")), &[]);
    assert_eq!(latency(&s), (clock(4 + 3 + 1 + READ) + (28 + 30) * NS).next_multiple_of(NS));
}

#[test]
fn an_inline_message_is_pushed_whole() {
    let s = simulate(&on_buses("inline = \"64 B\"\n", &one("64 B")), &[]);
    // 64 B of descriptor and 64 B of data are 16 data phases; the wire begins with its next whole slot.
    let there = (clock(4 + 3 + 16).next_multiple_of(NS)) + (92 + 30) * NS;
    assert_eq!(latency(&s), clock(at(there) + WRITE + 1 + 3 + 8));
    let fetched = simulate(&on_buses("inline = \"63 B\"\n", &one("64 B")), &[]);
    assert_eq!(latency(&fetched), latency(&simulate(&on_buses("", &one("64 B")), &[])));
}

#[test]
fn descriptors_may_be_at_hand() {
    let s = simulate(&on_buses("descriptor_bytes = \"0 B\"\n", &one("64 B")), &[]);
    let there = clock(4 + 3 + 1 + READ).next_multiple_of(NS) + (92 + 30) * NS;
    assert_eq!(latency(&s), clock(at(there) + WRITE + 1 + 3 + 8));
}
