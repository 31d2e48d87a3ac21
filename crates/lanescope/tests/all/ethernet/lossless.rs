//! Flow control that must lose nothing, and what happens where it must not be trusted.

use super::{dropped, frames, plan, simulate_by};
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::result::{Ending, Idle, Simulation};
use lanescope::sim::{Run, Step};

/// Stations on one switch, each sending bursts to random others.
fn star(hosts: usize, control: &str, memory: &str) -> String {
    format!(
        r#"
[parts.host]
is = "station"
nic_buffer = "4 KiB"
mac_buffer = "4 KiB"
[parts.switch]
is = "ethernet-switch"
flow_control = "{control}"
memory = "{memory}"
[links.lan]
star = {{ hosts = {hosts} }}
ethernet = "10 Gb/s"
length = "10 m"
[flows.f]
from = "host.*"
to = "host.*"
pattern = "random"
do = "send"
size = "1200 B"
load = {{ share = "85 %", burst = 30 }}
[run]
for = "400 us"
warmup = "0 s"
"#
    )
}

/// What a sample says of the time that links were paused is what their ledgers have.
#[test]
fn samples_have_the_time_that_links_were_paused() {
    for control in ["pause", "pfc", "none"] {
        let (plan, d) = plan(&star(5, control, "60 KiB"), &[]);
        let plan = plan.unwrap_or_else(|| panic!("{d}"));
        let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
        while run.advance(u64::MAX) != Step::Done {}
        let (sample, s) = (run.sample(), run.snapshot());
        let mut most = 0.0_f64;
        for (link, fs) in s.links.iter().zip(&sample.paused) {
            // Slots of 10 Gb/s are 800 ps; a ledger has whole ones, which may put one to another cause.
            let booked = link.slots.idle[Idle::Paused as usize] * 800_000;
            assert!(fs.abs_diff(booked) <= 800_000, "{}: {fs} and {booked} fs", link.name);
            let seen = *fs as f64 * 1e-15 / sample.time;
            most = most.max(seen);
        }
        assert_eq!(most > 0.01, control != "none", "{control}: {most}");
    }
}

/// Runs it with many seeds; nothing is to be lost, and flow control is to have had something to do.
fn nothing_is_lost(text: &str, sets: &[&str], seeds: u64) {
    let (plan, d) = plan(text, sets);
    let plan = plan.unwrap_or_else(|| panic!("{d}"));
    assert!(d.sorted().is_empty(), "{d}");
    let mut controls = 0;
    for seed in 0..seeds {
        let s = simulate_by(&plan, seed, u64::MAX);
        assert_eq!(dropped(&s), 0, "seed {seed}: {:?}", s.switches);
        assert_eq!(s.ending, Ending::Length, "seed {seed}");
        assert!(s.flows.iter().all(|f| frames(f).delivered > 0));
        controls += s.links.iter().map(|l| l.slots.controls).sum::<u64>();
    }
    assert!(controls > 0, "nothing had to be held up");
}

#[test]
fn a_switch_that_pauses_loses_nothing() {
    nothing_is_lost(&star(6, "pause", "64 KiB"), &["parts.switch.high_threshold=15 kB"], 100);
    nothing_is_lost(&star(4, "pause", "48 KiB"), &["parts.switch.high_threshold=15 kB"], 100);
    nothing_is_lost(
        &star(6, "pause", "320 KiB"),
        &["parts.switch.forwarding=cut-through", "links.lan.ethernet=100 Gb/s", "parts.switch.high_threshold=100 kB"],
        100,
    );
}

#[test]
fn priorities_that_are_paused_lose_nothing() {
    nothing_is_lost(&star(6, "pfc", "64 KiB"), &[], 100);
    let each = ["flows.f.priority=destination"];
    nothing_is_lost(&star(5, "pfc", "300 KiB"), &each, 100);
    nothing_is_lost(&star(8, "pfc", "700 KiB"), &[&each[..], &["parts.switch.scheduling=strict"]].concat(), 30);
}

#[test]
fn destinations_that_are_stopped_lose_nothing() {
    nothing_is_lost(&star(5, "voq", "400 KiB"), &[], 100);
    nothing_is_lost(&star(8, "voq", "1100 KiB"), &["flows.f.load={ share = \"95 %\", burst = 200 }"], 20);
}

#[test]
fn grants_lose_nothing() {
    nothing_is_lost(&star(6, "credits", "32 KiB"), &[], 100);
    nothing_is_lost(&star(4, "credits", "6 KiB"), &["parts.switch.forwarding=cut-through"], 100);
    nothing_is_lost(&star(8, "credits", "64 KiB"), &["flows.f.load={ share = \"95 %\", burst = 200 }"], 20);
}

/// Every mechanism against the very memory that the plan says it needs, with thresholds stated: one byte less and the
/// plan warns.
#[test]
fn the_memory_that_a_plan_asks_for_is_enough() {
    for control in ["pause", "pfc", "voq", "credits"] {
        for (high, more) in [
            ("3 kB", &[][..]),
            ("10 kB", &["links.lan.ethernet=100 Gb/s"]),
            (
                "2 kB",
                &["links.lan.length=200 m", "flows.f.size=64 B", "flows.f.load={ share = \"90 %\", burst = 300 }"],
            ),
        ] {
            let text = star(5, control, "1 GB");
            let high = format!("parts.switch.high_threshold={high}");
            // What grants has no thresholds, and nothing else takes credit.
            let mut sets = vec![if control == "credits" { "parts.host.credit=8 kB" } else { high.as_str() }];
            sets.extend(more);
            let needs =
                plan(&text, &sets).0.expect("a plan").network.buffering.iter().flatten().next().expect("one").needs;
            let (less, memory) =
                (format!("parts.switch.memory={} B", needs - 1), format!("parts.switch.memory={needs} B"));
            sets.push(&less);
            assert_eq!(plan(&text, &sets).1.sorted().len(), 1, "{control}: {needs} B");
            *sets.last_mut().expect("one") = &memory;
            println!("{control} {high}: {needs} B");
            nothing_is_lost(&text, &sets, 20);
            // All to one, as fast as they can.
            sets.extend(["flows.f.load=saturate", "flows.f.pattern=pairs", "flows.f.to=host.0"]);
            nothing_is_lost(&text, &sets, 1);
        }
    }
}

fn losses(text: &str, sets: &[&str], word: &str) -> Simulation {
    let (plan, d) = plan(text, sets);
    assert!(d.sorted().iter().any(|d| d.severity == Severity::Warning && d.message.contains(word)), "{d}");
    simulate_by(&plan.expect("only a warning"), 1, u64::MAX)
}

#[test]
fn too_little_headroom_is_said_and_loses_frames() {
    let text = star(6, "pfc", "256 KiB");
    let s = losses(&text, &["parts.switch.headroom=2 kB", "parts.switch.high_threshold=8 kB"], "too little headroom");
    let lost = s.switches[0].memory.expect("a memory");
    assert!(lost.no_headroom > 0 && lost.no_memory == 0 && dropped(&s) == lost.no_headroom, "{lost:?}");
    let s = losses(&star(6, "pause", "16 KiB"), &["parts.switch.high_threshold=15 kB"], "too little headroom");
    assert!(s.switches[0].memory.expect("a memory").no_memory > 0);
    let s = losses(&star(6, "credits", "32 KiB"), &["parts.host.credit=64 kB"], "too little headroom");
    assert!(s.switches[0].memory.expect("a memory").no_memory > 0);
}
