//! The rules of Iometer that a run keeps.

use super::{HOST, IO, RAM, ios, simulate};
use crate::common::{simulated, within};
use lanescope::result::Simulation;

/// Small I/Os to RAM disks without latency of their own, for so long.
fn run(access: &str, more: &str, length: &str) -> String {
    format!("{HOST}{RAM}{IO}access = {access}\n{more}\n[run]\nfor = \"{length}\"\nwarmup = \"0 s\"\n")
}

fn done(s: &Simulation) -> f64 {
    simulated(s, "io").operations as f64
}

/// The slots of the wire to the RAM disk, and back.
fn payloads(s: &Simulation) -> (f64, f64) {
    (s.links[2].slots.payload as f64, s.links[3].slots.payload as f64)
}

#[test]
fn outstanding_is_per_worker_and_target() {
    let two = RAM.replace("is =", "count = 3\nis =").replace("\"ram\"]", "\"ram.*\"]");
    let text = run("{ size = \"512 B\" }", "outstanding = 4\nworkers = 2", "5 ms").replace(RAM, &two);
    // A long latency: all of them wait for the target most of the time.
    let s = simulate(&text, &["flows.io.to=ram.*", "parts.ram.latency=2 ms", "parts.hba.command_time=1 ns"]);
    let f = simulated(&s, "io");
    // 2 workers x 3 targets x 4, but for the beginning.
    assert!((22.5..=24.0).contains(&f.in_flight), "{}", f.in_flight);
    assert_eq!(f.each.len(), 6);
}

#[test]
fn percentages_are_probabilities() {
    let access = "[{ size = \"512 B\", share = \"25 %\", read = \"100 %\" }, \
        { size = \"4 KiB\", share = \"75 %\", read = \"40 %\" }]";
    let s = simulate(
        &run(access, "outstanding = 16\nsubmit_time = \"0 s\"\n", "400 ms").replacen("submit_time = \"5 us\"\n", "", 1),
        &["parts.hba.command_time=1 us"],
    );
    let n = done(&s);
    assert!(n > 20_000.0, "{n}");
    let (there, back) = payloads(&s);
    // Written: 3/4 x 0.6 of 4 KiB; read: 1/4 of 512 B and 3/4 x 0.4 of 4 KiB; 1 % is four deviations and more.
    within(0.02, there / n, 0.75 * 0.6 * 4096.0);
    within(0.02, back / n, 0.25 * 512.0 + 0.75 * 0.4 * 4096.0);
}

/// What a disk gets, from how long it takes: where an I/O follows the one before there is no seek.
const DISK: &str = r#"
[parts.ram]
is = "disk"
capacity = "1 GiB"
rpm = 10000
zones = 1
outer_rate = "64 MB/s"
inner_rate = "64 MB/s"
track_seek = "1 ms"
average_seek = "1 ms"
full_seek = "1 ms"
cache = "0 B"
[links.fc]
between = ["hba", "ram"]
fc = "4GFC"
"#;

fn disk(access: &str, more: &str, length: &str) -> String {
    run(access, more, length).replace(RAM, DISK)
}

#[test]
fn a_share_of_the_ios_is_random() {
    let rate = |percent: u32| {
        let access = format!("{{ size = \"64 KiB\", random = \"{percent} %\" }}");
        done(&simulate(&disk(&access, "outstanding = 4", "8 s"), &[])) / 8.0
    };
    // 64 KiB take 1.024 ms; a random one 1 ms of seek and half a turn besides, and where the I/O before was random and
    // this one is not, it follows.
    let (sequential, random) = (1.024e-3, 1.024e-3 + 1e-3 + 3e-3);
    within(0.01, rate(0), 1.0 / sequential);
    within(0.03, rate(100), 1.0 / random);
    within(0.03, rate(30), 1.0 / (0.7 * sequential + 0.3 * random));
}

#[test]
fn sequential_ios_begin_again_at_the_end_of_the_range() {
    // 16 of them fit; then a seek of 1 ms back to the beginning, and the wait for it to come round.
    let s = simulate(&disk("{ size = \"64 KiB\" }", "file = \"1 MiB\"\noutstanding = 4", "4 s"), &[]);
    // 16.384 ms of data, 1 ms of seek: the next whole turn begins at 18 ms.
    within(0.002, done(&s) / 4.0, 16.0 / 18e-3);
    // With a remainder nothing is read beyond the end: 15 of them.
    let s = simulate(&disk("{ size = \"64 KiB\" }", "file = \"1020 KiB\"\noutstanding = 4", "4 s"), &[]);
    // 15.36 ms and 1 ms of seek.
    within(0.002, done(&s) / 4.0, 15.0 / 18e-3);
}

#[test]
fn aligned_ios_leave_holes() {
    // 1.024 ms of data in each 6 ms: 384,000 B are a turn.
    let s = simulate(&disk("{ size = \"64 KiB\", align = \"384000 B\" }", "outstanding = 4", "4 s"), &[]);
    within(0.01, done(&s) / 4.0, 1.0 / 6e-3);
    // A sector without align: 700 B take 1024.
    let s = simulate(
        &disk("{ size = \"700 B\" }", "outstanding = 64", "1 s"),
        &[
            "flows.io.submit_time=0 s",
            "flows.io.complete_time=0 s",
            "parts.hba.command_time=0 s",
            "flows.io.file=512 MiB",
        ],
    );
    within(0.01, done(&s), 64e6 / 1024.0);
}

#[test]
fn a_pause_stands_before_each_burst() {
    for (outstanding, burst) in [(1, 1), (1, 5), (8, 1), (8, 5), (3, 20)] {
        let access = format!("{{ size = \"512 B\", delay = \"10 ms\", burst = {burst} }}");
        let s = simulate(&run(&access, &format!("outstanding = {outstanding}"), "1 s"), &[]);
        // The pause begins when the next may go: at once with several outstanding, after the last one of the burst with
        // one.
        let one = simulated(&s, "io").latency.mean;
        let cycle = if outstanding == 1 { 10e-3 + burst as f64 * one } else { 10e-3 };
        let most = (1.0 / cycle).floor() * burst as f64;
        assert!(
            (done(&s) - most).abs() <= burst as f64 + 2.0 || outstanding == 3,
            "{outstanding}, {burst}: {} of {most}",
            done(&s)
        );
        // Nothing before the first pause.
        let early = simulate(&run(&access, &format!("outstanding = {outstanding}"), "9 ms"), &[]);
        assert_eq!((done(&early), simulated(&early, "io").in_flight), (0.0, 0.0));
    }
    // Without a pause the burst means nothing.
    let of = |burst: u32| done(&simulate(&run(&format!("{{ size = \"512 B\", burst = {burst} }}"), "", "20 ms"), &[]));
    assert_eq!(of(1), of(7));
}

#[test]
fn pauses_of_several_lines() {
    let access = "[{ size = \"512 B\", share = \"50 %\", delay = \"1 ms\" }, { size = \"4 KiB\", share = \"50 %\" }]";
    let s = simulate(&run(access, "outstanding = 1", "4 s"), &[]);
    let (_, back) = payloads(&s);
    // Each line keeps its share, and its pauses.
    within(0.04, back / done(&s), 0.5 * (512.0 + 4096.0));
    let one = simulated(&s, "io").latency.mean;
    within(0.04, 4.0 / done(&s), one + 0.5e-3);
}

#[test]
fn a_reply_follows_at_once_in_the_other_direction() {
    for (read, there, back) in [("100 %", 1024.0, 2048.0), ("0 %", 2048.0, 1024.0)] {
        let access = format!("{{ size = \"2 KiB\", read = \"{read}\", reply = \"1 KiB\", delay = \"1 ms\" }}");
        let s = simulate(&run(&access, "", "1 s"), &[]);
        let pairs = done(&s) / 2.0;
        let (out, home) = payloads(&s);
        within(0.01, out / pairs, there);
        within(0.01, home / pairs, back);
        // One pause for both.
        let one = simulated(&s, "io").latency.mean;
        within(0.01, 1.0 / pairs, 1e-3 + 2.0 * one);
    }
    // A random reply of a random request: it is placed by its own line's rule.
    let s = simulate(&disk("{ size = \"512 B\", random = \"100 %\", reply = \"512 B\" }", "", "4 s"), &[]);
    // Both seek for 1 ms and wait for half a turn on average.
    assert!(ios(&s, "io").stages[2] > 3.5e-3 && ios(&s, "io").stages[2] < 4.6e-3, "{:?}", ios(&s, "io").stages);
}
