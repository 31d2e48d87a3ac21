//! The simulator against queueing theory and against packets worked out by hand.

use crate::common::{in_own_process, planned, simulate, simulate_by, simulated, toward, within};
use lanescope::result::Simulation;
use lanescope::sim::core::kernel::{Agenda, NEVER, World};
use lanescope::sim::exponential;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::fmt::Write;

/// One device at a root port, nothing on the link but TLPs. Gen1 x1: a slot takes 4 ns.
const ONE: &str = r#"
[parts.host]
is = "root-complex"
read_latency = "400 ns"
completion_size = "64 B"
write_latency = "100 ns"
[parts.card]
is = "endpoint"
[links.slot]
between = ["host", "card"]
pcie = "gen1 x1"
mps = "256 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[flows.dma]
from = "card"
to = "host.memory"
do = "write"
size = "256 B"
header = "3DW"
[run]
for = "2 ms"
warmup = "100 us"
"#;

/// Wire bytes of a TLP of 256 B with a 3DW header in Gen1.
const FULL: f64 = 20.0 + 256.0;

/// M/D/1 (Pollaczek and Khinchine): the mean wait is rho x service / 2 / (1 - rho). An arrival at an idle wire waits
/// for the next slot besides, half a slot of 4 ns on average: that is nothing here, against a service of 1104 ns.
#[test]
fn a_poisson_load_on_a_link_waits_as_in_m_d_1() {
    let service = FULL * 4e-9;
    for (rho, length) in [(0.5, "100 ms"), (0.8, "300 ms"), (0.9, "4 s")] {
        let load = format!("flows.dma.load={{ rate = \"{} b/s\", arrivals = \"poisson\" }}", rho * 2048.0 / service);
        let s = simulate(ONE, &[&load, &format!("run.for={length}"), "run.warmup=1 ms"]);
        let f = simulated(&s, "dma");
        let theory = service + rho * service / 2.0 / (1.0 - rho) + 101e-9 + (1.0 - rho) * 2e-9;
        let (mean, half) = (f.latency.mean, f.latency.half.expect("an interval"));
        assert!(half < 0.03 * theory, "rho {rho}: an interval of {half} s");
        assert!((mean - theory).abs() < 1.2 * half, "rho {rho}: {mean} is not {theory}, +- {half}");
        assert!(!f.unstable);
    }
}

/// Customers at one server: slot 0 is the next arrival, slot 1 the end of a service.
struct Station {
    random: Xoshiro256PlusPlus,
    gap: f64,
    service: f64,
    waiting: VecDeque<u64>,
    /// Integral of the number in the system, and since when it is what it is.
    area: f64,
    since: u64,
    done: u64,
    times: f64,
    /// Means of batches: number and time in the system.
    batches: Vec<[f64; 2]>,
}

const BATCH: u64 = 100_000;

impl World for Station {
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        self.area += self.waiting.len() as f64 * (now - self.since) as f64;
        self.since = now;
        if slot == 0 {
            if self.waiting.is_empty() {
                agenda.set(1, now + exponential(&mut self.random, self.service));
            }
            self.waiting.push_back(now);
            agenda.set(0, now + exponential(&mut self.random, self.gap));
            return;
        }
        let came = self.waiting.pop_front().expect("somebody is served");
        self.times += (now - came) as f64;
        self.done += 1;
        let next = if self.waiting.is_empty() { NEVER } else { now + exponential(&mut self.random, self.service) };
        agenda.set(1, next);
        if self.done.is_multiple_of(BATCH) {
            let length = BATCH as f64 * self.gap;
            self.batches.push([self.area / length, self.times / BATCH as f64 / self.service]);
            (self.area, self.times) = (0.0, 0.0);
        }
    }
}

/// M/M/1 at rho 0.9: 9 in the system, for 10 services each (Kleinrock, Queueing Systems I, 3.2).
#[test]
fn the_kernel_runs_m_m_1() {
    let (gap, service) = (1e9, 0.9e9);
    let random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (waiting, batches) = (VecDeque::new(), Vec::new());
    let mut station = Station { random, gap, service, waiting, area: 0.0, since: 0, done: 0, times: 0.0, batches };
    let mut agenda = Agenda::new(2);
    agenda.set(0, 0);
    let until = (60.0 * BATCH as f64 * gap) as u64;
    agenda.run(&mut station, until, u64::MAX);
    assert!(agenda.next() >= until);
    // The first batch began empty. Student's quantile for 50 values is 2.01.
    let n = station.batches.len() as f64 - 1.0;
    assert!(n > 50.0);
    for (i, theory) in [9.0, 10.0].into_iter().enumerate() {
        let values = station.batches.iter().skip(1).map(|b| b[i]);
        let mean = values.clone().sum::<f64>() / n;
        let half = 2.01 * (values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!(half < 0.03 * theory && (mean - theory).abs() < half, "{mean} +- {half} is not {theory}");
    }
    // Little's law holds exactly, but for who is there at the end: number x gap = sum of times.
    let sum = |i: usize| station.batches.iter().map(|b| b[i]).sum::<f64>();
    within(1e-3, sum(0), 0.9 * sum(1));
}

/// N devices below a switch, each writing to all of N others, at random, as fast as it can. All links alike, packets of
/// one size, ample credits.
fn square(n: usize) -> String {
    let mut text = format!(
        r#"
[parts.host]
is = "root-complex"
[parts.sw]
is = "switch"
queues = "fifo"
ports = 64
posted_headers = 4096
posted_data = 65536
[parts.in]
is = "endpoint"
count = {n}
order = "random"
[parts.out]
is = "endpoint"
count = {n}
[links.up]
between = ["host", "sw.up"]
pcie = "gen1 x1"
[run]
for = "15 ms"
warmup = "1 ms"
"#
    );
    for i in 0..n {
        for (part, port) in [("in", i), ("out", n + i)] {
            let _ = write!(
                text,
                r#"
[links.{part}{i}]
between = ["sw.down.{port}", "{part}.{i}"]
pcie = "gen1 x1"
mps = "128 B"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
"#
            );
        }
        let _ = write!(text, "[flows.to{i}]\nfrom = \"in.*\"\nto = \"out.{i}\"\ndo = \"write\"\nsize = \"128 B\"\n");
    }
    text
}

/// The share of the slots that the outputs of a square carry.
fn carried(n: usize, sets: &[&str]) -> f64 {
    let s = simulate(&square(n), sets);
    let used = |i: usize| {
        let slots = toward(&s, &format!("out{i}"), &format!("out.{i}")).slots;
        (slots.payload + slots.framing) as f64 / slots.total() as f64
    };
    (0..n).map(used).sum::<f64>() / n as f64
}

/// The same, slot by slot with nothing of PCIe: inputs whose heads want a random output, of which each takes one in a
/// slot.
fn slotted(n: usize, slots: u32) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut draw = || (((random.next_u64() >> 32) * n as u64) >> 32) as usize;
    let mut heads: Vec<usize> = (0..n).map(|_| draw()).collect();
    let mut sent = 0u64;
    for slot in 0..slots as usize {
        let mut taken = vec![false; n];
        for i in 0..n {
            // Who is asked first does not matter to the sum.
            let i = (i + slot) % n;
            if !std::mem::replace(&mut taken[heads[i]], true) {
                sent += 1;
                heads[i] = draw();
            }
        }
    }
    sent as f64 / slots as f64 / n as f64
}

/// Head-of-line blocking of saturated inputs: 0.75 for two ports, 0.6553 for four, toward 2 - sqrt(2) for many (Karol,
/// Hluchyj and Morgan 1987, table I, for a switch in slots). Equal packets on equal links keep in step, so the same
/// holds here.
#[test]
fn heads_of_line_block_as_karol_and_others_found() {
    for (n, theory) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let (ours, model) = (carried(n, &[]), slotted(n, 100_000));
        println!("{n}: {ours} {model} {theory}");
        within(0.01, model, theory);
        within(0.01, ours, theory);
    }
    let (ours, model) = (carried(16, &[]), slotted(16, 50_000));
    println!("16: {ours} {model}");
    within(0.01, ours, model);
    assert!(ours > 2.0 - 2f64.sqrt());
}

/// Packets in a shared memory hold no one up but by the room they take: with ample room an output idles only when
/// nobody wants it.
#[test]
fn a_shared_memory_blocks_no_heads_of_line() {
    for n in [2, 4] {
        let ours = carried(n, &["parts.sw.core=shared-memory", "parts.sw.core_bandwidth=100 GB/s"]);
        println!("shared memory {n}: {ours}");
        assert!(ours > 0.95, "{n}: {ours}");
    }
}

/// The same link, 2 km long: 10 us each way.
fn far(sets: &[&str]) -> f64 {
    let mut all = vec!["links.slot.delay=10 us", "run.for=100 ms", "run.warmup=1 ms"];
    all.extend(sets);
    simulated(&simulate(ONE, &all), "dma").rate.mean / 8.0
}

/// Whole operations in 100 ms: 4000 or more, so one more or less at an edge is below this.
const EDGE: f64 = 5e-4;

/// Credits / credit round trip: a TLP of 276 B takes 1104 ns, flies 10 us, is freed, and its UpdateFC of 8 B (32 ns)
/// flies back.
#[test]
fn credits_over_their_round_trip() {
    let round = 1104e-9 + 10e-6 + 32e-9 + 10e-6;
    for tlps in [1, 2, 5] {
        // 16 credits of 16 B are one TLP.
        let credits = format!("parts.host.posted_data={}", 16 * tlps);
        within(EDGE, far(&[&credits, "links.slot.update_fc_every=1"]), tlps as f64 * 256.0 / round);
        let credits = format!("parts.host.posted_headers={tlps}");
        within(EDGE, far(&[&credits, "links.slot.update_fc_every=1"]), tlps as f64 * 256.0 / round);
    }
    // Four TLPs of room, an UpdateFC when half of it is free: the first of a burst waits for the second to come in.
    let gathered = far(&["parts.host.posted_headers=4", "links.slot.update_fc_every=4"]);
    within(EDGE, gathered, 4.0 * 256.0 / (round + 1104e-9));
    // One TLP of room for each 4: the receiver reports when its time limit ends only if nothing else makes it.
    let held = far(&["parts.host.posted_headers=5", "links.slot.update_fc_every=3", "links.slot.dllp_limit=4 us"]);
    // Half of 5 is 2: the fifth TLP is reported 4 us after it came in, later than the sixth could have been sent.
    assert!(held < 5.0 * 256.0 / round && held > 4.0 * 256.0 / (round + 4e-6), "{held}");
}

/// Read requests in flight x size / round trip: 20 B out, four completions of 84 B back.
#[test]
fn tags_over_the_round_trip() {
    let read = ["flows.dma.do=read", "parts.card.max_read_request=256 B"];
    let round = 80e-9 + 10e-6 + 400e-9 + 4.0 * 336e-9 + 10e-6;
    for tags in [1, 4, 7] {
        let tags_key = format!("parts.card.tags={tags}");
        within(EDGE, far(&[read[0], read[1], &tags_key]), tags as f64 * 256.0 / round);
        // An operation of eight requests takes them as they come.
        within(EDGE, far(&[read[0], read[1], &tags_key, "flows.dma.size=2 KiB"]), tags as f64 * 256.0 / round);
    }
    // Non-posted credits are given back when the request is taken in: that is sooner.
    let round = 80e-9 + 10e-6 + 32e-9 + 10e-6;
    let credits = ["parts.card.tags=64", "parts.host.nonposted_headers=3", "links.slot.update_fc_every=1"];
    within(EDGE, far(&[&read[..], &credits].concat()), 3.0 * 256.0 / round);
}

/// Operations in flight / (latency + pause) (the interactive response time law; Lazowska and others 1984, 3.4).
#[test]
fn closed_loads_are_outstanding_over_latency_and_thought() {
    let (read, write) = (80e-9 + 10e-6 + 400e-9 + 4.0 * 336e-9 + 10e-6, 1104e-9 + 10e-6 + 100e-9);
    for (what, latency) in [("read", read), ("write", write)] {
        for (outstanding, think) in [(1, 0.0), (3, 1e-6), (6, 50e-6)] {
            let load = format!("flows.dma.load={{ outstanding = {outstanding}, think = \"{} ns\" }}", think * 1e9);
            let rate = far(&[&format!("flows.dma.do={what}"), &load]);
            within(EDGE, rate, outstanding as f64 * 256.0 / (latency + think));
        }
    }
}

/// Retry buffer / Ack round trip: as with credits, an Ack of 8 B comes back for a TLP that is in whole.
#[test]
fn a_replay_buffer_over_the_ack_round_trip() {
    let round = 1104e-9 + 10e-6 + 32e-9 + 10e-6;
    for tlps in [1, 3] {
        let room = format!("parts.card.replay_buffer={} B", tlps * 276 + 100);
        within(EDGE, far(&[&room, "links.slot.ack_every=1"]), tlps as f64 * 256.0 / round);
    }
    // One Ack for three: the first waits for two more TLPs.
    let gathered = far(&["parts.card.replay_buffer=828 B", "links.slot.ack_every=3", "links.slot.dllp_limit=1 ms"]);
    within(EDGE, gathered, 3.0 * 256.0 / (round + 2.0 * 1104e-9));
    // Nobody sends the other two: the Ack goes when its time is over.
    let alone = far(&["parts.card.replay_buffer=276 B", "links.slot.ack_every=3", "links.slot.dllp_limit=7 us"]);
    within(EDGE, alone, 256.0 / (round + 7e-6));
}

/// Several devices, all kinds of load, DLLPs and ordered sets, credits that bind.
const BUSY: &str = r#"
[parts.host]
is = "root-complex"
posted_data = 64
memory_bandwidth = "9 GB/s"
reads_in_flight = 8
[parts.sw]
is = "switch"
[parts.nic]
is = "endpoint"
count = 3
order = "random"
turnaround = "33 ns"
[parts.disk]
is = "endpoint"
bus_rate = "2 GB/s"
[links.up]
between = ["host", "sw.up"]
pcie = "gen3 x4"
[links.down]
between = ["sw.down.*", "nic.*"]
pcie = "gen3 x2"
[links.disk]
between = ["sw.down.3", "disk"]
pcie = "gen4 x1"
[flows.rx]
from = "nic.*"
to = "host.memory"
do = "write"
size = "1500 B"
load = { rate = "3 Gb/s", arrivals = "poisson" }
[flows.tx]
from = "nic.*"
to = "host.cache"
do = "read"
size = "700 B"
load = { rate = "2 Gb/s", arrivals = "poisson" }
[flows.both]
from = "disk"
to = "host.memory"
do = "alternate"
size = "4 KiB"
load = { outstanding = 3, think = "100 ns" }
[flows.peer]
from = "nic.1"
to = "disk"
do = "read"
size = "512 B"
[run]
for = "1 ms"
"#;

/// A run is a function of its plan and seed: neither the pieces it is done in nor samples change it.
#[test]
fn the_same_seed_gives_the_same_run() {
    for set in ["parts.sw.latency=150 ns", "parts.sw.core=shared-bus", "links.disk.delay=1 fs"] {
        let plan = planned(BUSY, &[set, "parts.sw.core_bandwidth=3 GB/s", "run.for=300 us"]);
        let whole = simulate_by(&plan, 1, 1 << 20);
        assert!(whole.events > 10_000 && whole.flows.iter().all(|f| f.operations > 20));
        for events in [1 << 20, 1000, 17, 1] {
            // How often the kernel looked in vain is all that may depend on the pieces.
            let pieces = Simulation { events: whole.events, ..simulate_by(&plan, 1, events) };
            assert_eq!(pieces, whole, "{set}, {events} events at a time");
        }
        let other = simulate_by(&plan, 2, 1 << 20);
        assert_ne!(other.fingerprint, whole.fingerprint);
        assert_ne!(other.flows[0].latency, whole.flows[0].latency);
    }
    // Without random numbers the seed means nothing but its own name.
    let plan = planned(ONE, &[]);
    let (a, b) = (simulate_by(&plan, 1, 1 << 20), simulate_by(&plan, 2, 1 << 20));
    assert_eq!((a.flows, a.links), (b.flows, b.links));
}

/// Found by random trees: heads of one ingress port of a switch that come in while the packet before them is read out,
/// at many moments that nearly coincide. The piece length decides how far each part runs ahead of the others, and must
/// not decide what they see.
#[test]
fn pieces_of_a_run_do_not_decide_when_a_switch_looks() {
    let text = r#"
[parts.host]
is = "root-complex"
reads_in_flight = 1
memory_bandwidth = "3.3333 GB/s"
posted_headers = 256
[parts.sw]
is = "switch"
queues = "fifo"
latency = "1 ns"
forwarding = "store-and-forward"
[parts.card]
is = "endpoint"
engines = 32
[links.up]
between = ["host", "sw.up"]
pcie = "gen5 x16"
mps = "128 B"
[links.down]
between = ["sw.down", "card"]
pcie = "gen3 x4"
mps = "512 B"
[flows.control]
from = "host"
to = "card"
do = "alternate"
size = "300 B"
[flows.small]
from = "card"
to = "host.memory"
do = "read"
size = "64 B"
[flows.large]
from = "card"
to = "host.memory"
do = "read"
size = "4097 B"
[run]
for = "400 us"
warmup = "0 ns"
"#;
    let plan = planned(text, &[]);
    let whole = simulate_by(&plan, 1, 1 << 20);
    for events in [1, 97, 997, 9973] {
        let pieces = Simulation { events: whole.events, ..simulate_by(&plan, 1, events) };
        assert_eq!(pieces, whole, "{events} events at a time");
    }
}

/// Peak memory of this process, kB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// The name of what tells a second process of this test how long to simulate.
const LENGTH: &str = "LANESCOPE_TEST_LENGTH";

/// A run ten times as long needs no more memory. Each is a process of its own, this same test, as a peak is never
/// forgotten.
#[test]
fn memory_does_not_grow() {
    if let Ok(length) = std::env::var(LENGTH) {
        let s = simulate(BUSY, &[&format!("run.for={length}"), "flows.rx.load={ rate = \"14 Gb/s\" }"]);
        println!("packets {} peak {}", s.packets, peak().expect("Linux"));
        return;
    }
    if peak().is_none() {
        println!("skipped: no /proc/self/status here to tell the peak of memory");
        return;
    }
    let child = |length: &str| -> [u64; 2] {
        let text = in_own_process("theory::memory_does_not_grow", LENGTH, length);
        let after = |word: &str| {
            let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("{text}"));
            rest.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
        };
        [after("packets "), after("peak ")]
    };
    let (short, long) = (child("5 ms"), child("50 ms"));
    println!("{short:?} {long:?}");
    assert!(long[0] > 9 * short[0]);
    // An allocator's whims; a byte kept for each packet more would be above this.
    assert!(long[1] < short[1] + (long[0] - short[0]) / 1024, "{short:?} {long:?}");
}

/// Reads and writes of one load end in different ways: a write 5 us after it came in, a read at once. Each that is done
/// is followed by one after the pause, so a read that follows a read does not wait for the write before it: its first
/// data are there after 80 + 1 + 400 + 1 + 76 ns and the TLPs that it finds before its port, of which no more than
/// `outstanding` can be.
#[test]
fn a_closed_load_that_alternates_waits_for_no_other() {
    for outstanding in [1, 2, 5] {
        let load = format!("flows.dma.load={{ outstanding = {outstanding}, think = \"1 us\" }}");
        let s = simulate(ONE, &["flows.dma.do=alternate", "parts.host.write_latency=5 us", "run.for=20 ms", &load]);
        let f = simulated(&s, "dma");
        let first = f.latency_first.expect("it reads");
        assert!((558e-9..558e-9 + 0.5 * outstanding as f64 * 1104e-9).contains(&first), "{outstanding}: {first}");
        // The response time law.
        within(2e-3, 2.0 * f.rate.mean / 8.0 / 256.0, outstanding as f64 / (f.latency.mean + 1e-6));
    }
}
