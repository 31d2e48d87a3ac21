//! Bursts worked out by hand, to the femtosecond.

use super::{check, simulate, simulate_by};
use crate::common::{flow, run, simulated, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::result::{Idle, Simulation};
use lanescope::sim::{Run, Step};

/// A bridge and devices that answer at once and pause for nothing but the idle clock.
fn bus(speed: &str, device: &str, flows: &str) -> String {
    format!(
        "[parts.bridge]\nis = \"host-bridge\"\nread_latency = \"60 clocks\"\ndecode = \"fast\"\n\
         [parts.nic]\nis = \"pci-device\"\nturnaround = \"1 clock\"\ndecode = \"fast\"\n{device}\n\
         [links.slots]\nbetween = [\"bridge\", \"nic{}\"]\npci = \"{speed}\"\n{flows}",
        if device.starts_with("count") { ".*" } else { "" }
    )
}

/// A flow of all devices.
fn dma(what: &str, size: &str, load: &str, many: bool) -> String {
    let from = if many { "nic.*" } else { "nic" };
    format!(
        "[flows.dma]\nfrom = \"{from}\"\nto = \"bridge.memory\"\ndo = \"{what}\"\nsize = \"{size}\"\nload = {load}\n"
    )
}

const LONG: &str = "{ outstanding = 1, think = \"1.2 us\" }";

/// The latency of one operation after the other, ps as the histogram keeps it.
fn alone(speed: &str, device: &str, what: &str, size: &str) -> Simulation {
    simulate(&bus(speed, device, &dma(what, size, LONG, false)), &["run.for=200 us", "run.warmup=0 s"])
}

fn latency(s: &Simulation) -> f64 {
    simulated(s, "dma").p50
}

#[test]
fn a_write_of_64_bytes_over_pci() {
    // Two clocks from REQ# to the address, then address, 16 data phases: a fast target takes the first word in the
    // clock behind the address.
    let s = alone("pci 33.33 32-bit", "", "write", "64 B");
    within(1e-3, latency(&s), 19.0 * 30e-9);
    // End to end: 1 + 16 + 1 clocks for 64 B, and not one of them idle.
    let s = simulate(&bus("pci 33.33 32-bit", "", &dma("write", "64 B", "\"saturate\"", false)), &["run.for=18 ms"]);
    within(1e-4, simulated(&s, "dma").rate.mean, 64.0 * 8.0 / (18.0 * 30e-9));
    let c = &s.links[0].slots;
    assert_eq!(c.idle.iter().sum::<u64>(), 0);
    assert_eq!((c.payload, c.address, c.turnarounds), (16 * c.tlps, c.tlps, c.tlps));
}

#[test]
fn a_write_of_4_kib_over_pci_x_133() {
    // Four clocks from REQ# to the address, address, attributes, response, 512 data phases of 7.5 ns.
    let s = alone("pci-x 133 64-bit", "", "write", "4 KiB");
    within(1e-3, latency(&s), 519.0 * 7.5e-9);
    let s = simulate(&bus("pci-x 133 64-bit", "", &dma("write", "4 KiB", "\"saturate\"", false)), &["run.for=50 ms"]);
    within(1e-4, simulated(&s, "dma").rate.mean, 4096.0 * 8.0 / (516.0 * 7.5e-9));
}

#[test]
fn the_moments_are_whole_counts_of_clocks() {
    // 1000 writes end at clock 4 + 516 x n - 1: none of them a femtosecond off, which the fingerprint of a longer run
    // would show.
    let text = bus("pci-x 133 64-bit", "", &dma("write", "4 KiB", "\"saturate\"", false));
    let plan = super::planned(&text, &["run.for=3.8700001 ms", "run.warmup=0 s"]);
    let s = simulate_by(&plan, u64::MAX);
    // The bus begins at clock 0: the burst of a saturated master was asked for before.
    assert_eq!(simulated(&s, "dma").operations, 1000);
    let plan = super::planned(&text, &["run.for=3.8699924 ms", "run.warmup=0 s"]);
    assert_eq!(simulated(&simulate_by(&plan, u64::MAX), "dma").operations, 999);
}

#[test]
fn a_split_read() {
    // Arbitration 4, request 5 and its idle clock beside the delay of 60, arbitration 4, three clocks before the data,
    // 512.
    let s = alone("pci-x 133 64-bit", "read_byte_count = \"4 KiB\"", "read", "4 KiB");
    within(1e-3, latency(&s), (4 + 5 + 60 + 4 + 515) as f64 * 7.5e-9);
    within(1e-9, simulated(&s, "dma").latency_first.expect("a read"), (4 + 5 + 60 + 4 + 4) as f64 * 7.5e-9);
    // One at a time: the next is asked for when the data are there.
    let text = bus("pci-x 133 64-bit", "read_byte_count = \"4 KiB\"", &dma("read", "4 KiB", "\"saturate\"", false));
    let s = simulate(&text, &["run.for=50 ms"]);
    within(2e-4, simulated(&s, "dma").rate.mean, 4096.0 * 8.0 / (588.0 * 7.5e-9));
    let c = &s.links[0].slots;
    let reads = c.data_tlps as f64;
    within(1e-3, c.requests as f64, 6.0 * reads);
    within(1e-3, c.idle[Idle::Bridge as usize] as f64, 59.0 * reads);
    within(1e-3, c.idle[Idle::Arbitration as usize] as f64, 7.0 * reads);
    // With two splits the delay of one is filled by the data of the other, and the latency timer cuts what somebody
    // waits for.
    let s = simulate(&text, &["run.for=50 ms", "parts.nic.splits=2"]);
    assert!(simulated(&s, "dma").rate.mean > 4096.0 * 8.0 / (560.0 * 7.5e-9), "{}", simulated(&s, "dma").rate.mean);
}

#[test]
fn a_short_read_of_pci_waits_on_the_bus() {
    // Address, turn-around, eight wait states, 16 data phases, idle.
    let text = bus("pci 33.33 32-bit", "", &dma("read", "64 B", "\"saturate\"", false));
    let s = simulate(&text, &["run.for=20 ms", "parts.bridge.read_latency=8 clocks", "parts.bridge.prefetch=64 B"]);
    // The burst could be longer than what the bridge fetches, so a word more is asked for only where there is one.
    within(1e-4, simulated(&s, "dma").rate.mean, 64.0 * 8.0 / (27.0 * 30e-9));
    assert_eq!(s.links[0].slots.waits, 8 * s.links[0].slots.tlps);
}

#[test]
fn a_long_read_of_pci_is_retried_until_the_data_are_there() {
    let text = bus("pci 33.33 32-bit", "", &dma("read", "64 B", "\"saturate\"", false));
    let s = simulate(&text, &["run.for=20 ms", "parts.bridge.prefetch=64 B"]);
    // A retry is address, STOP#, FRAME# off: three clocks, then four until the next address. The data are ready at 3 +
    // 60, the tenth address comes at 9 x 7 = 63: nine retries. Then address, turn-around, 16 data phases, idle: 82
    // clocks.
    within(2e-4, simulated(&s, "dma").rate.mean, 64.0 * 8.0 / (82.0 * 30e-9));
    let c = &s.links[0].slots;
    within(1e-3, c.retries as f64, (9 * 4) as f64 * c.data_tlps as f64);
    let report = run(&text, &["parts.bridge.prefetch=64 B"]);
    within(1e-9, flow(&report, "dma").share.typical, 64.0 * 8.0 / (82.0 * 30e-9));
    // A bound charges one retry, and no waiting for the next.
    within(1e-9, flow(&report, "dma").bound.typical, 64.0 * 8.0 / (82.0 * 30e-9));
}

#[test]
fn a_bridge_that_disconnects_makes_short_bursts() {
    let text = bus("pci-x 133 64-bit", "", &dma("write", "4 KiB", "\"saturate\"", false));
    let s = simulate(&text, &["run.for=20 ms", "parts.bridge.disconnect=512 B"]);
    // 3 + 64 clocks, two for which REQ# is away, four of arbitration; the last of eight is not sent away: one clock.
    within(1e-3, simulated(&s, "dma").rate.mean, 4096.0 * 8.0 / ((7 * (67 + 6) + 68) as f64 * 7.5e-9));
    let report = run(&text, &["parts.bridge.disconnect=512 B"]);
    within(1e-9, flow(&report, "dma").share.typical, 4096.0 * 8.0 / ((7 * (67 + 6) + 68) as f64 * 7.5e-9));
}

#[test]
fn equal_masters_share_alike_and_make_room_for_one_another() {
    let text = bus("pci-x 133 64-bit", "count = 4", &dma("write", "4 KiB", "\"saturate\"", true));
    let s = simulate(&text, &["run.for=20 ms"]);
    let each = &simulated(&s, "dma").each;
    for one in each {
        within(2e-3, *one, each[0]);
    }
    // The latency timer ends each burst at 512 B: 64 data clocks of 68.
    within(1e-3, simulated(&s, "dma").rate.mean, 512.0 * 8.0 / (68.0 * 7.5e-9));
    let report = run(&text, &[]);
    within(1e-9, flow(&report, "dma").share.typical, 512.0 * 8.0 / (68.0 * 7.5e-9));
    assert_eq!(flow(&report, "dma").bound_by.element, "links.slots");
    // The timer is the devices': without it whole bursts go.
    let s = simulate(
        &text,
        &["run.for=20 ms", "parts.nic.latency_timer=255", "parts.nic.burst=1 KiB", "flows.dma.size=1 KiB"],
    );
    within(1e-3, simulated(&s, "dma").rate.mean, 1024.0 * 8.0 / (132.0 * 7.5e-9));
}

#[test]
fn a_rate_of_its_own_and_modest_loads() {
    let text = bus(
        "pci-x 133 64-bit",
        "count = 2",
        &dma("write", "1 KiB", "{ rate = \"1 Gb/s\", arrivals = \"poisson\" }", true),
    );
    let s = simulate(&text, &["run.for=50 ms"]);
    within(0.02, simulated(&s, "dma").rate.mean, 2e9);
    let text = bus("pci-x 133 64-bit", "write_rate = \"2 Gb/s\"", &dma("write", "1 KiB", "\"saturate\"", false));
    let s = simulate(&text, &["run.for=20 ms"]);
    within(1e-3, simulated(&s, "dma").rate.mean, 2e9);
    assert_eq!(simulated(&s, "dma").bound_by.resource, "engine");
    assert_eq!(flow(&run(&text, &[]), "dma").bound_by.evidence, "its write_rate");
}

#[test]
fn more_than_the_bus_carries_is_unstable() {
    let text = bus("pci 33 32-bit", "", &dma("write", "512 B", "{ rate = \"1.05 Gb/s\" }", false));
    let s = simulate(&text, &["run.for=50 ms"]);
    assert!(simulated(&s, "dma").unstable || simulated(&s, "dma").backlog > 100);
    assert_eq!(format!("{:?}", flow(&run(&text, &[]), "dma").verdict), "Unstable");
}

#[test]
fn two_buses_do_not_meet() {
    let text = "[parts.bridge]\nis = \"host-bridge\"\n[parts.nic]\nis = \"pci-device\"\ncount = 2\n\
        [links.a]\nbetween = [\"bridge\", \"nic.0\"]\npci = \"pci 33 32-bit\"\n\
        [links.b]\nbetween = [\"bridge\", \"nic.1\"]\npci = \"pci-x 100 64-bit\"\n\
        [flows.f]\nfrom = \"nic.*\"\nto = \"bridge.memory\"\ndo = \"write\"\nsize = \"4 KiB\"\n[run]\nfor = \"5 ms\"\n";
    let report = run(text, &[]);
    let s = simulate(text, &[]);
    let f = flow(&report, "f");
    for (simulated, share) in simulated(&s, "f").each.iter().zip(&f.each) {
        within(0.01, *simulated, *share);
    }
    assert!(f.each[0] < 132e6 * 8.0 && f.each[1] > 750e6 * 8.0);
    assert_eq!(report.links.len(), 2);
    within(1e-12, report.metric("links.b.raw").expect("one entry").value, 6.4e9);
    within(1e-12, report.metric("flows.*.share").expect("a total").value, f.share.typical);
}

#[test]
fn samples_and_pieces() {
    let text = bus(
        "pci-x 66 32-bit",
        "count = 3\nread_byte_count = \"2 KiB\"\nsplits = 4",
        &dma("alternate", "3 kB", "\"saturate\"", true),
    );
    let plan: Plan = super::planned(&text, &["run.for=3 ms"]);
    let whole = simulate_by(&plan, u64::MAX);
    assert_eq!(Simulation { events: whole.events, ..simulate_by(&plan, 7) }, whole);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
    run.sample_every(lanescope::units::Time::parse("100 us").expect("a time"));
    let mut busy = 0;
    while run.advance(u64::MAX) != Step::Done {
        let sample = run.sample();
        assert!(sample.busy.len() == 1 && sample.busy[0] >= busy && sample.delivered.len() == 3);
        busy = sample.busy[0];
    }
    check(&plan, &run.snapshot());
}
