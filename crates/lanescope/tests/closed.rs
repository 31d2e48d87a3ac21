//! Closed loads, engines and tags: hand-worked cases, in which both methods must say the same.

mod common;

use common::{flow, run, simulate, simulated, within};

const ALTERNATE: &str = include_str!("cases/alternate-closed.toml");
const ENGINES: &str = include_str!("cases/engines-of-one-tag.toml");
const PROCESSOR: &str = include_str!("cases/processor-reads.toml");

/// Operations are a read, then a write, and so on; so one outstanding takes the time of both for each 4 KiB that go either way.
///
/// Gen3 x8 carries 7.877 B/ns. The read: requests of 512 B are 24 B, 8 of them; the first is in after 3.05 + 1 ns, its data are worked on for 400 ns (300 and
/// 100 of memory), and 64 completions of 64 B, 84 B each, take 682.5 ns, and 1 ns of flight: 1,087.6 ns. The write: 16 TLPs of 280 B, 568.8 ns, 1 ns of
/// flight, and 50 ns to the coherence point. 4,096 B in the two of them.
#[test]
fn a_closed_load_that_alternates_takes_the_time_of_both() {
    let sets = ["parts.host.read_latency=300 ns", "parts.host.memory_latency=100 ns", "parts.host.write_latency=50 ns"];
    let per_ns = 8.0 * 128.0 / 130.0;
    let read = 24.0 / per_ns + 1.0 + 400.0 + 64.0 * 84.0 / per_ns + 1.0;
    let write = 16.0 * 280.0 / per_ns + 1.0 + 50.0;
    let by_hand = 4096.0 * 8.0 / (read + write) * 1e9;
    let (r, s) = (run(ALTERNATE, &sets), simulate(ALTERNATE, &sets));
    within(1e-6, flow(&r, "x").share.typical, by_hand);
    within(0.02, simulated(&s, "x").rate.mean, by_hand);
    within(1e-6, flow(&r, "x").latency.typical, 0.5e-9 * (read + write));
    within(0.02, simulated(&s, "x").latency.mean, 0.5e-9 * (read + write));
    // As the case stands.
    let (r, s) = (run(ALTERNATE, &[]), simulate(ALTERNATE, &[]));
    within(0.02, simulated(&s, "x").rate.mean, flow(&r, "x").share.typical);
}

/// An operation's requests go to the tags of all engines: eight requests of 512 B, four at a time, so two round trips of one request.
#[test]
fn an_operation_takes_the_tags_of_all_engines() {
    for outstanding in [1, 2, 8] {
        let set = format!("flows.x.load.outstanding={outstanding}");
        let (r, s) = (run(ENGINES, &[&set]), simulate(ENGINES, &[&set]));
        let (share, rate) = (flow(&r, "x").share.typical, simulated(&s, "x").rate.mean);
        println!("{outstanding}: {share} {rate}");
        assert!(rate <= flow(&r, "x").bound.typical * 1.001, "{rate} of {:?}", flow(&r, "x").bound);
        within(0.02, rate, share);
    }
}

/// A processor has ten loads of 64 B in flight: 64 B x 10 by the time of one, and no more than these are in flight.
#[test]
fn a_processor_reads_a_device_by_a_few_loads() {
    let (r, s) = (run(PROCESSOR, &[]), simulate(PROCESSOR, &[]));
    let (told, seen) = (flow(&r, "f"), simulated(&s, "f"));
    within(0.02, told.share.typical, 10.0 * 64.0 * 8.0 / told.latency.typical);
    within(0.02, seen.rate.mean, told.share.typical);
    assert!(seen.in_flight < 10.01, "{}", seen.in_flight);
    assert!(told.bound_by.resource.contains("loads in flight"), "{:?}", told.bound_by);
    // One at a time, of 8 B.
    let sets = ["parts.host.load_size=8 B", "parts.host.loads_in_flight=1", "flows.f.size=8 B"];
    let (r, s) = (run(PROCESSOR, &sets), simulate(PROCESSOR, &sets));
    within(0.02, simulated(&s, "f").rate.mean, flow(&r, "f").share.typical);
    within(0.02, flow(&r, "f").share.typical, 64.0 / flow(&r, "f").latency.typical);
}
