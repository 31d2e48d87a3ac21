//! NVMe over Fabrics: commands worked out by hand, packet by packet and TLP by TLP, to the femtosecond; and what must
//! hold on random hosts, targets and fabrics.

use super::by_hand::{NS, US, moments, read, stored};
use super::laws::laws;
use super::{check, ios, simulate};
use crate::common::choices::{none_apart, on_random, runner};
use crate::common::grow::fabrics::{alone, grow};
use crate::common::{has, plan, planned, run as answer, simulate_by, simulated, toward, within, wrong};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::plan::Plan;
use lanescope::protocol::nvme;
use lanescope::result::{Simulation, SlotCounts};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// Two hosts, each with an adapter, the second with a drive, all at the end of links of 1 B/ns without DLLPs or ordered
/// sets; a byte of the cable takes 1 ns too.
const HOSTS: &str = r#"
[parts.own]
is = "root-complex"
read_latency = "400 ns"
write_latency = "100 ns"
completion_size = "128 B"
[parts.target]
is = "root-complex"
read_latency = "400 ns"
write_latency = "100 ns"
completion_size = "128 B"
[parts.hca]
is = "channel-adapter"
count = 2
header = "3DW"
work_time = "100 ns"
send_latency = "200 ns"
receive_latency = "200 ns"
packet_time = "0 ns"
[parts.drive]
is = "nvme"
header = "3DW"
command_time = "1 us"
command_latency = "2 us"
page = "16 KiB"
read_time = "25 us"
channel_rate = "200 MB/s"
program_time = "300 us"
stripe_rate = "100 MB/s"
[links.own]
between = ["own", "hca.0"]
pcie = "gen1 x4"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[links.theirs]
between = ["target", "hca.1"]
pcie = "gen1 x4"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[links.slot]
between = ["target", "drive"]
pcie = "gen1 x4"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[links.cable]
between = ["hca.0", "hca.1"]
infiniband = "sdr 4x"
delay = "30 ns"
[flows.io]
from = "own"
to = "drive"
do = "io"
submit_time = "5 us"
complete_time = "10 us"
target_time = "2 us"
"#;

fn text(access: &str, length: &str, more: &str) -> String {
    format!("{HOSTS}access = {access}\n{more}\n[run]\nfor = \"{length}\"\nwarmup = \"0 s\"\n")
}

/// One I/O, in a window that closes before the next one's doorbell; it is done at `end`.
fn once(access: &str, end: u64) -> Simulation {
    simulate(&text(access, &format!("{} ns", end / NS + 1000), ""), &[])
}

/// Start, LRH, BTH, ICRC, VCRC and end of a packet of SDR 4X, 1 ns a byte.
const AROUND: u64 = 28 * NS;
/// RETH of an RDMA READ's request and of the first packet of an RDMA WRITE; AETH of the first and last of an answer.
const RETH: u64 = 16 * NS;
const AETH: u64 = 4 * NS;
/// The way of a packet behind its last byte: the cable, and what the adapter takes until its data may go on.
const COMES: u64 = (30 + 200) * NS;
/// What an adapter takes for a work request: its engine, and the look-up.
const WORK: u64 = (100 + 200) * NS;
/// A completion entry of an adapter, 64 B in a TLP of 84 B, right behind what it is for.
const TOLD: u64 = 84 * NS;

/// A TLP of a write whose first bit may leave at `t`: when it is in at the other end.
fn rung(t: u64, payload: u64) -> u64 {
    t.next_multiple_of(4 * NS) + (20 + payload) * NS + NS
}

/// A work request that a processor hands over at `t`: doorbell (8 B), engine, descriptor (64 B).
fn requested(t: u64) -> u64 {
    read(rung(t, 8) + WORK, 64)
}

/// When a message of one packet, whose processor hands it over at `t`, is in the other host's memory, with the
/// completion behind it.
fn sent(t: u64, bytes: u64) -> u64 {
    let there = read(requested(t), bytes) + AROUND + bytes * NS + COMES;
    stored(there, bytes) + TOLD
}

/// When the drive's entry is in the target's memory, of a read of 4 KiB that the target gives it at `t`.
fn drive_reads(t: u64) -> u64 {
    let there = read(rung(t, 4), 64) + (3 + 25) * US + 20_480 * NS;
    // The entry, 36 B, right behind the data.
    stored(there, 4096) + 36 * NS
}

/// The response of 16 B, handed over at `t`.
fn responded(t: u64) -> u64 {
    sent(t, nvme::COMPLETION)
}

/// The same two hosts on a cable of Ethernet, whose frames take packets of 2 KiB.
fn over_ethernet(access: &str, length: u64) -> Simulation {
    let text = text(access, &format!("{} ns", length / NS + 1000), "");
    let cable = "ethernet = \"10 Gb/s\"\nmtu = \"2148 B\"";
    simulate(&text.replace("infiniband = \"sdr 4x\"", cable), &[])
}

/// Preamble, Ethernet header, IPv4, UDP, BTH, ICRC and FCS of a frame of RoCE v2: 8 + 14 + 20 + 8 + 12 + 4 + 4 B, and
/// what it carries, at 10 Gb/s. The gap behind it holds nobody up.
fn framed(bytes: u64) -> u64 {
    (70 + bytes) * 800_000
}

/// As [`sent`], over Ethernet.
fn sent_framed(t: u64, bytes: u64) -> u64 {
    stored(read(requested(t), bytes) + framed(bytes) + COMES, bytes) + TOLD
}

/// Headers of a frame of RoCE v2, destination to FCS, around its payload.
const HEADERS: u64 = 62;

#[test]
fn one_read_over_roce() {
    let given = sent_framed(5 * US, 64) + US;
    let done = drive_reads(given) + US;
    // As over InfiniBand: data come from the target's host 2368 ns apart, slower than the cable takes them.
    let first = read(requested(done), 2048) + framed(16 + 2048) + COMES;
    let landed = stored(first, 4096);
    let told = landed + 36 * NS + TOLD;
    let s = over_ethernet("{ size = \"4 KiB\" }", told + 10 * US);
    assert_eq!(moments(&s, "io"), [5 * US, given, done, landed, told, told + 10 * US]);
    // The hosts' links carry what they do over InfiniBand.
    let at = |link: &str, to: &str| toward(&s, link, to).slots;
    let (down, up) = (at("own", "hca.0"), at("own", "own"));
    assert_eq!((down.control, up.payload, up.control), (28 + 84 + 84, 4096, 36 + 84 + 84), "{down:?} {up:?}");
    // The capsule, and acknowledgements of WRITE and response (AETH); WRITE (RETH in its first packet) and response,
    // and the acknowledgement of the capsule.
    let (there, back) = (at("cable", "hca.1"), at("cable", "hca.0"));
    let around = |l: SlotCounts| (l.payload, l.framing + l.acks, l.gap);
    assert_eq!(around(there), (64, HEADERS + 2 * (HEADERS + 4), 3 * 20), "{there:?}");
    assert_eq!(around(back), (4096 + 16, 3 * HEADERS + 16 + HEADERS + 4, 4 * 20), "{back:?}");
}

#[test]
fn one_write_that_the_target_reads_over_roce() {
    let given = sent_framed(5 * US, 64) + US;
    let asked = requested(given) + framed(16) + COMES;
    let first = read(asked, 2048) + framed(4 + 2048) + COMES;
    let come = stored(first, 8192) + TOLD;
    let done = drive_writes(come, 8192) + US;
    let told = sent_framed(done, nvme::COMPLETION);
    let s = over_ethernet("{ size = \"8 KiB\", read = \"0 %\" }", told + 10 * US);
    assert_eq!(moments(&s, "io"), [5 * US, given, given, told, told, told + 10 * US]);
    let (there, back) = (toward(&s, "cable", "hca.1").slots, toward(&s, "cable", "hca.0").slots);
    let around = |l: SlotCounts| (l.payload, l.framing + l.acks, l.gap);
    // Capsule, four packets of the answer with an AETH in the first and the last; the response's acknowledgement.
    assert_eq!(around(there), (64 + 8192, 5 * HEADERS + 8 + HEADERS + 4, 6 * 20), "{there:?}");
    // The request, the response, the capsule's acknowledgement.
    assert_eq!(around(back), (16, 2 * HEADERS + 16 + HEADERS + 4, 3 * 20), "{back:?}");
}

#[test]
fn one_capsule_takes_1_811_ns() {
    // The doorbell 29 ns; 300 ns; descriptor and capsule, each a request (21 ns), 400 ns, at the next lane 0 a
    // completion of 84 and 1 ns; the packet of 92 B, 30 and 200 ns; a TLP of 84 B, the completion of 84 B, 101 ns.
    // Lanes add 3, 3, 2, 3 and 3 ns.
    let t = 5 * US;
    assert_eq!(rung(t, 8), t + 29 * NS);
    assert_eq!(requested(t), t + (29 + 300 + 3 + 421 + 3 + 85) * NS);
    let taken = read(requested(t), 64) - requested(t);
    assert_eq!(taken, (3 + 421 + 3 + 85) * NS);
    let landed = sent(t, 64) - read(requested(t), 64);
    assert_eq!(landed, (92 + 230 + 1 + 84 + 84 + 101) * NS);
}

#[test]
fn one_read() {
    let capsule = sent(5 * US, 64);
    // The target's processor takes half of its time before, and half behind the drive.
    let given = capsule + US;
    let done = drive_reads(given) + US;
    // The WRITE, two packets of 2 KiB: 5 requests are out before the response's descriptor asks for one, but the data
    // of both packets follow one another, 2368 ns each, slower than the cable. RETH is in the first.
    let write = requested(done);
    let first = read(write, 2048) + AROUND + RETH + 2048 * NS + COMES;
    let landed = stored(first, 4096);
    // The response's data come behind those of the WRITE; it waits for the second packet, and its bytes for those in
    // front of them on PCIe: 36 B, and the completion.
    let second = read(write, 4096) + AROUND + 2048 * NS;
    assert!(second + AROUND + 16 * NS + COMES < landed - 101 * NS);
    let told = landed + 36 * NS + TOLD;
    let s = once("{ size = \"4 KiB\" }", told + 10 * US);
    assert_eq!(moments(&s, "io"), [5 * US, given, done, landed, told, told + 10 * US]);
    // On the worker's link: a doorbell, two things fetched; 4 KiB of data, the response, completions of capsule and
    // for the response.
    let at = |link: &str, to: &str| toward(&s, link, to).slots;
    let (down, up) = (at("own", "hca.0"), at("own", "own"));
    assert_eq!((down.control, down.payload, down.requests), (28 + 84 + 84, 0, 0), "{down:?}");
    assert_eq!((up.payload, up.framing, up.requests), (4096, 32 * 20, 2 * 20), "{up:?}");
    assert_eq!(up.control, 36 + 84 + 84, "{up:?}");
    // On the target's: two doorbells, two descriptors, the response, the data; the capsule, its completion, and the
    // response's. The WRITE has none.
    let (down, up) = (at("theirs", "hca.1"), at("theirs", "target"));
    assert_eq!((down.control, down.payload), (2 * 28 + 2 * 84 + 36, 4096), "{down:?}");
    assert_eq!((up.control, up.payload, up.requests), (84 + 84 + 84, 0, (2 + 8 + 1) * 20), "{up:?}");
    // The drive's link has what it has for a host of its own.
    let (down, up) = (at("slot", "drive"), at("slot", "target"));
    assert_eq!((down.control, up.payload, up.control), (2 * 24 + 84, 4096, 36), "{down:?} {up:?}");
    // On the cable: the capsule, acknowledgements of WRITE and response; WRITE and response, that of the capsule.
    let (there, back) = (at("cable", "hca.1"), at("cable", "hca.0"));
    assert_eq!((there.payload, there.framing, there.acks), (64, 28, 2 * 32), "{there:?}");
    assert_eq!((back.payload, back.framing, back.acks), (4096 + 16, 3 * 28 + 16, 32), "{back:?}");
}

/// When the drive's entry of a write is in the target's memory: bytes of one page, given to it at `t`.
fn drive_writes(t: u64, bytes: u64) -> u64 {
    let begins = read(rung(t, 4), 64) + 3 * US;
    let programmed = read(begins, bytes) + bytes * 10 * NS + 300 * US;
    stored(programmed, nvme::COMPLETION)
}

#[test]
fn one_write_in_its_capsule() {
    let given = sent(5 * US, 64 + 512) + US;
    let done = drive_writes(given, 512) + US;
    let told = responded(done);
    let s = once("{ size = \"512 B\", read = \"0 %\" }", told + 10 * US);
    // Its data move with the capsule, and are counted when the response has come.
    assert_eq!(moments(&s, "io"), [5 * US, given, given, told, told, told + 10 * US]);
    let cable = toward(&s, "cable", "hca.1").slots;
    assert_eq!((cable.payload, cable.framing, cable.acks), (576, 28, 32), "{cable:?}");
}

#[test]
fn one_write_that_the_target_reads() {
    let given = sent(5 * US, 64) + US;
    // The request, a packet of 28 and 16 B; the worker's adapter answers by itself, four packets of 2 KiB, whose data
    // come from its host at 2368 ns each; the first has AETH, and so has the last.
    let asked = requested(given) + AROUND + RETH + COMES;
    let first = read(asked, 2048) + AROUND + AETH + 2048 * NS + COMES;
    let come = stored(first, 8192) + TOLD;
    let done = drive_writes(come, 8192) + US;
    let told = responded(done);
    let s = once("{ size = \"8 KiB\", read = \"0 %\" }", told + 10 * US);
    assert_eq!(moments(&s, "io"), [5 * US, given, given, told, told, told + 10 * US]);
    let (there, back) = (toward(&s, "cable", "hca.1").slots, toward(&s, "cable", "hca.0").slots);
    // The answer is not acknowledged, and the request neither.
    assert_eq!((there.payload, there.framing, there.acks), (64 + 8192, 5 * 28 + 2 * 4, 32), "{there:?}");
    assert_eq!((back.payload, back.framing, back.acks), (16, 2 * 28 + 16, 32), "{back:?}");
    // No doorbell of the worker's for the answer: one for the capsule.
    assert_eq!(toward(&s, "own", "hca.0").slots.control, 28 + 2 * 84);
}

/// Little's law on a closed load is exact: what is outstanding is in flight at every moment.
#[test]
fn littles_law_is_exact() {
    let transports = ["infiniband = \"sdr 4x\"", "ethernet = \"10 Gb/s\""];
    for (depth, transport) in [1, 7, 128].into_iter().flat_map(|d| transports.map(|t| (d, t))) {
        let text = text("{ size = \"4 KiB\", random = \"100 %\" }", "20 ms", &format!("outstanding = {depth}"));
        let text = text.replace(transports[0], transport);
        let s = simulate(&text, &["flows.io.workers=3", "flows.io.queue_pairs=2"]);
        within(1e-12, simulated(&s, "io").in_flight, 3.0 * f64::from(depth));
    }
}

/// A queue pair of so many entries holds one command less.
#[test]
fn a_queue_pair_holds_one_command_less_than_its_entries() {
    let access = "{ size = \"4 KiB\", random = \"100 %\" }";
    let sets = ["flows.io.submit_time=\"1 us\"", "flows.io.complete_time=\"1 us\""];
    let at = |more: &str| {
        let text = text(access, "40 ms", more);
        (simulated(&simulate(&text, &sets), "io").rate.mean, answer(&text, &sets))
    };
    let (two, estimated) = at("outstanding = 64\nfabric_entries = 3");
    let (alike, _) = at("outstanding = 2");
    // But that the worker has the next one at hand.
    assert!(two > 0.98 * alike && two < 1.12 * alike, "{two} and {alike}");
    assert_eq!(estimated.flows[0].bound_by.resource, "entries of its queue pairs");
    within(0.05, estimated.flows[0].share.typical, two);
}

/// A core of the target for each queue pair is a cap.
#[test]
fn a_targets_processor_is_a_cap() {
    let sets = [
        "flows.io.submit_time=\"100 ns\"",
        "flows.io.complete_time=\"100 ns\"",
        "flows.io.target_time=\"20 us\"",
        "parts.drive.dies=64",
        "parts.drive.channels=32",
        "parts.drive.channel_rate=\"2 GB/s\"",
    ];
    for pairs in [1, 2] {
        let more = format!("outstanding = 64\nqueue_pairs = {pairs}");
        let text = text("{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }", "20 ms", &more);
        let text = text.replace("warmup = \"0 s\"", "warmup = \"3 ms\"");
        let s = simulate(&text, &sets);
        let rate = 50_000.0 * f64::from(pairs);
        within(0.02, simulated(&s, "io").rate.mean / 8.0 / 4096.0, rate);
        let e = answer(&text, &sets);
        within(1e-6, e.flows[0].share.typical / 8.0 / 4096.0, rate);
        let by = &e.flows[0].bound_by;
        assert_eq!((by.element.as_str(), by.resource.as_str()), ("parts.target", "cores for flows.io"));
        assert!(
            ios(&s, "io").busy.iter().any(|(name, share)| name == "parts.target: cores for flows.io" && *share > 0.97)
        );
    }
}

/// Both methods see the same on every wire.
#[test]
fn both_methods_fill_the_same_ledger() {
    let loads = [
        "{ size = \"4 KiB\", random = \"100 %\" }",
        "{ size = \"64 KiB\", random = \"100 %\", align = \"64 KiB\" }",
        "{ size = \"4 KiB\", read = \"0 %\" }",
        "{ size = \"32 KiB\", read = \"0 %\" }",
    ];
    let transports = ["infiniband = \"sdr 4x\"", "ethernet = \"10 Gb/s\"\nmtu = \"2148 B\""];
    // What comes with its doorbell: nothing, responses, commands too.
    let inline = ["0 B", "16 B", "64 B"];
    let all = loads.into_iter().flat_map(|l| transports.map(|t| (l, t)));
    for (inline, (access, transport)) in inline.into_iter().flat_map(|i| all.clone().map(move |one| (i, one))) {
        let text = text(access, "60 ms", "outstanding = 2").replace(transports[0], transport);
        // Lists are read in pieces that the estimate takes to be of one size.
        let sgl = ["parts.drive.data_pointers=\"sgl\"", &format!("parts.hca.inline=\"{inline}\"")];
        let (s, e) = (simulate(&text, &sgl), answer(&text, &sgl));
        let scale = simulated(&s, "io").rate.mean / e.flows[0].share.typical;
        for (l, m) in s.links.iter().zip(&e.links) {
            assert_eq!((&l.name, &l.to), (&m.name, &m.to));
            let bits = |n: u64| n as f64 * 8.0 / s.window;
            let fabric = l.name == "cable";
            let framing = bits(l.slots.framing) + if fabric { bits(l.slots.acks) } else { 0.0 };
            let same = |what: &str, seen: f64, told: f64| {
                let told = told * scale;
                assert!(
                    (seen - told).abs() <= 0.02 * seen.max(told) + 2e4,
                    "{access}, inline {inline}, {} {}: {what} {seen} {told}",
                    l.name,
                    l.to
                );
            };
            same("payload", bits(l.slots.payload), m.ledger.payload);
            // They are a TLP of their own, too, of which the estimate has one half.
            let half = match access.contains("4 KiB\", read = \"0") && ["hca.0", "target"].contains(&l.to.as_str()) {
                true if l.name == "own" || l.name == "theirs" => 20.0 / 2.0 * 8.0 * ios(&s, "io").per_second,
                _ => 0.0,
            };
            same("framing", framing - half, m.ledger.framing);
            same("gap", bits(l.slots.gap), m.ledger.gap);
            same("control", bits(l.slots.control), m.ledger.control);
            // 64 B behind 4 KiB in a capsule are a packet, and a request, of their own; the estimate has an eighth of a
            // request of 512 B for them, where the worker's adapter reads them.
            let rest = match access.contains("4 KiB\", read = \"0") && l.to == "own" {
                true => 7.0 / 8.0 * 20.0 * 8.0 * ios(&s, "io").per_second,
                false => 0.0,
            };
            same("requests", bits(l.slots.requests) - rest, m.ledger.requests);
        }
    }
}

#[test]
fn the_laws_hold_on_random_fabrics() {
    on_random(80..200, grow, laws);
}

/// Random scenarios whose share and simulated rate are the same within 2 %; `of` gives one with its plan, if it can be
/// planned.
fn all_agree<S: Strategy>(inputs: &S, of: impl Fn(S::Value) -> (String, Option<Plan>, Diagnostics)) {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, wrong, tried) = (Cell::new(0.0_f64), RefCell::new(Vec::new()), Cell::new(0));
    let result = runner.run(inputs, |input| {
        let (text, Some(plan), d) = of(input) else { return Ok(()) };
        tried.set(tried.get() + 1);
        let off = apart(&plan, &d);
        worst.set(worst.get().max(off));
        if off > 0.02 {
            wrong.borrow_mut().push(format!("{off}\n{text}"));
        }
        Ok(())
    });
    println!("{} tried, at most {:.4} apart", tried.get(), worst.get());
    none_apart(result, &wrong.into_inner());
}

/// One I/O outstanding, and nothing else there.
#[test]
fn share_and_simulation_agree_where_nothing_queues() {
    all_agree(&vec(any::<u8>(), 60..120), |bytes| {
        let text = alone(&bytes);
        let (plan, d) = plan(&text, &[]);
        assert!(plan.is_some(), "{text}{d}");
        (text, plan, d)
    });
}

/// The same with receive buffers and data read ahead of a few packets: those of a short message wait for none of them,
/// later ones for what the first have left.
#[test]
fn few_packets_wait_for_credit_and_for_data_alike() {
    all_agree(&(vec(any::<u8>(), 60..120), vec(600_u32..12_000, 6)), |(bytes, sizes)| {
        let text = alone(&bytes);
        let keys = ["a.receive_buffer", "b.receive_buffer", "a.read_ahead", "b.read_ahead"];
        let cables = ["cable", "left", "right"].into_iter().filter(|cable| text.contains(&format!("[links.{cable}]")));
        let mut sets: Vec<String> = cables.map(|cable| format!("links.{cable}.delay=\"{} ns\"", sizes[4])).collect();
        sets.extend(keys.iter().zip(&sizes).map(|(k, bytes)| format!("parts.{k}=\"{bytes} B\"")));
        // Half of the workers sleep until the interrupt: meanwhile acknowledgements come, too.
        if sizes[5] % 2 == 0 {
            sets.push(format!("flows.f.wake_time=\"{} ns\"", 4 * sizes[5]));
        }
        // A port of RoCE has to pause in time, and a buffer to hold a packet.
        let (plan, d) = plan(&text, &sets.iter().map(String::as_str).collect::<Vec<_>>());
        (format!("{text}{sets:?}"), plan, d)
    });
}

/// How far share and simulated rate of a lone I/O are apart, of the share; but for one I/O that the window may cut off,
/// which is all of it where a limit has ended the run before any.
fn apart(plan: &Plan, d: &Diagnostics) -> f64 {
    let s = simulate_by(plan, 1, u64::MAX);
    let flow = estimate(plan, d).flows.swap_remove(0);
    let (share, mean) = (flow.share.typical, s.flows[0].rate.mean);
    let edge = flow.operation.expect("I/Os of one size") * 8.0 / s.window;
    ((share - mean).abs() - edge).max(0.0) / share
}

/// A capsule of 4 KiB and 64 B: behind the full packet there is room for the short one, which waits for no credit.
#[test]
fn a_short_packet_behind_a_full_one_waits_for_no_credit() {
    let text = include_str!("../../cases/capsule-behind-a-full-packet.toml");
    let (s, e) = (simulate(text, &[]), answer(text, &[]));
    within(0.005, e.flows[0].share.typical, simulated(&s, "f").rate.mean);
}

/// Receive buffers of 1 to 10 packets of 33 blocks, around those where one packet more comes before its credit is told:
/// a quarter of the buffer. An I/O is one page, so that none of its parts waits for another.
#[test]
fn small_receive_buffers_pace_both_methods_alike() {
    let text = text("{ size = \"256 KiB\", random = \"100 %\", align = \"256 KiB\" }", "40 ms", "");
    let around = [33, 50, 66, 99, 131, 132, 136, 164, 165, 198, 231, 264, 268, 297, 330];
    for (delay, blocks) in [("1 us", 66), ("3 us", 136)].into_iter().chain(around.map(|blocks| ("10 us", blocks))) {
        let buffer = format!("parts.hca.receive_buffer=\"{} B\"", blocks * 64);
        let delay = format!("links.cable.delay=\"{delay}\"");
        let sets = ["page=\"256 KiB\"", "max_transfer=\"256 KiB\"", "channel_rate=\"4 GB/s\""]
            .map(|set| format!("parts.drive.{set}"));
        let sets = [&sets[0], &sets[1], &sets[2], &buffer, &delay].map(String::as_str);
        let (s, e) = (simulate(&text, &sets), answer(&text, &sets));
        let (share, mean) = (e.flows[0].share.typical, simulated(&s, "io").rate.mean);
        let edge = 8.0 * 262_144.0 / s.window;
        assert!((share - mean).abs() <= 0.02 * share + edge, "{sets:?}: {share} and {mean}");
    }
}

/// Workers of several hosts and several drives, beside those of the target's own.
#[test]
fn several_hosts_share_a_target() {
    let text = text("{ size = \"4 KiB\", random = \"100 %\" }", "20 ms", "outstanding = 4")
        + "[flows.local]\nfrom = \"target\"\nto = \"drive\"\ndo = \"io\"\noutstanding = 4\n\
           access = { size = \"4 KiB\", random = \"100 %\" }\ncompletions = \"polling\"\n";
    let plan = planned(&text, &[]);
    let s = simulate_by(&plan, 1, u64::MAX);
    check(&plan, &s, &[]);
    let e = answer(&text, &[]);
    for name in ["io", "local"] {
        let share = e.flows.iter().find(|f| f.name == name).expect("a flow").share.typical;
        within(0.08, simulated(&s, name).rate.mean, share);
    }
    assert!(simulated(&s, "local").latency.mean < simulated(&s, "io").latency.mean);
}

/// What a user can get wrong.
#[test]
fn what_goes_wrong_on_purpose() {
    let text = text("{ size = \"4 KiB\", random = \"100 %\" }", "1 ms", "");
    let says = |text: &str, sets: &[&str], parts: &[&str]| has(&wrong(text, sets), parts);
    // No route: the cable leads elsewhere.
    let apart = text.replace("between = [\"hca.0\", \"hca.1\"]", "between = [\"hca.0\", \"c.0\"]")
        + "[parts.c]\nis = \"channel-adapter\"\ncount = 2\n[links.c]\nbetween = [\"c.1\", \"hca.1\"]\n\
           infiniband = \"sdr 4x\"\n";
    says(&apart, &["flows.io.fabric=[\"hca.*\"]"], &["no path of InfiniBand from hca.0 to hca.1", "join them"]);
    let roce = text.replace("infiniband = \"sdr 4x\"", "ethernet = \"10 Gb/s\"");
    let apart = roce.replace("between = [\"hca.0\", \"hca.1\"]", "between = [\"hca.0\", \"c.0\"]")
        + "[parts.c]\nis = \"channel-adapter\"\ncount = 2\n[links.c]\nbetween = [\"c.1\", \"hca.1\"]\n\
           ethernet = \"10 Gb/s\"\n";
    says(&apart, &["flows.io.fabric=[\"hca.*\"]"], &["no path of Ethernet from hca.0 to hca.1", "join them"]);
    let mixed =
        text.replace("[parts.hca]\nis = \"channel-adapter\"\ncount = 2", "[parts.hca]\nis = \"channel-adapter\"");
    let mixed = mixed.replace("hca.0\"", "hca\"").replace("hca.1\"", "far\"");
    let mixed = mixed.replace("between = [\"hca\", \"far\"]", "between = [\"hca\", \"x\"]")
        + "[parts.far]\nis = \"channel-adapter\"\n[parts.x]\nis = \"channel-adapter\"\n[parts.y]\n\
           is = \"channel-adapter\"\n[links.e]\nbetween = [\"far\", \"y\"]\nethernet = \"10 Gb/s\"\n";
    says(&mixed, &[], &["no path from hca to far", "one of them is on InfiniBand"]);
    says(&roce, &["links.cable.mtu=\"300 B\""], &["an MTU of 300 B holds no packet of RoCE"]);
    let switched = roce.replace("between = [\"hca.0\", \"hca.1\"]", "between = [\"hca.*\", \"sw\"]")
        + "[parts.sw]\nis = \"ethernet-switch\"\n";
    says(&switched, &["parts.sw.flow_control=\"credits\""], &["RoCE over switches with flow_control"]);
    // The target has no adapter, or it is none of those that are named.
    says(&text, &["flows.io.fabric=[\"hca.0\"]"], &["drive is below target, and target has no channel adapter"]);
    says(&text, &["flows.io.fabric=[\"hca\"]"], &["which hca"]);
    says(&text, &["flows.io.fabric=[\"hba.*\"]"], &["there is no part \"hba\""]);
    says(&text, &["flows.io.fabric=[\"drive\"]"], &["fabric names channel adapters"]);
    // Several ways.
    let two = text.clone()
        + "[parts.more]\nis = \"channel-adapter\"\n[links.more]\nbetween = [\"own\", \"more\"]\npcie = \"gen1 x4\"\n\
           [links.far]\nbetween = [\"more\", \"sw\"]\ninfiniband = \"sdr 4x\"\n[parts.sw]\n\
           is = \"infiniband-switch\"\n";
    says(&two, &[], &["own has several channel adapters to reach drive by", "fabric = ["]);
    says(&text, &["flows.io.fabric_entries=1"], &["queue pairs of 1 entries", "2 to 65536"]);
    says(&text, &["flows.io.fabric_entries=70000"], &["2 to 65536"]);
    let trims = "flows.io.access={ size = \"4 KiB\", read = \"0 %\", trim = \"50 %\" }";
    says(&text, &[trims, "parts.drive.trim_time=\"1 us\""], &["trims over NVMe over Fabrics"]);
    says(&text, &["parts.hca.receive_buffer=\"1 KiB\""], &["a receive_buffer of 1 KiB holds no packet"]);
    // An array is of its own host.
    let array = "[parts.array]\nis = \"array\"\nlevel = \"raid0\"\ndisks = [\"drive\"]\n";
    says(&format!("{text}{array}"), &["flows.io.to=\"array\""], &["which is not own's"]);
    // Without a fabric it is as it was.
    let none = text.replace("[links.own]", "[links.none]").replace("channel-adapter", "host-adapter");
    assert!(plan(&none, &[]).0.is_none());
    // What works all the same is warned of, and what is not modelled is said.
    let warned = |sets: &[&str], part: &str| {
        let (planned, d) = plan(&text, sets);
        assert!(planned.is_some() && d.to_string().contains(part), "{d}");
    };
    warned(&["parts.drive.queue_pairs=2", "flows.io.queue_pairs=8"], "8 queue pairs at drive, which has 2");
    warned(&["flows.io.from=\"target\"", "flows.io.fabric=[\"hca.*\"]"], "fabric is not used");
    let gaps = answer(&text, &["flows.io.completions=\"polling\""]).not_modelled;
    assert!(gaps.iter().any(|g| g.key == "flows.io.completions"), "{gaps:?}");
}
