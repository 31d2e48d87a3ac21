//! Classes at a port: weights, strict priority, classes that lose beside classes that do not.

use super::{frames, plan, simulate, simulate_by};
use crate::common::choices::{Choices, runner};
use crate::common::{flow, planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};

/// Senders of one priority each into one port, by weights; which of them are paused.
fn port(weights: &[u32], sizes: &[u64], lossless: &[usize], more: &str) -> String {
    let named: Vec<String> = weights.iter().enumerate().map(|(p, w)| format!("{p} = {w}")).collect();
    let paused: Vec<String> = lossless.iter().map(usize::to_string).collect();
    let mut text = format!(
        "[parts.sender]\nis = \"station\"\ncount = {}\n[parts.receiver]\nis = \"station\"\n[parts.switch]\n\
         is = \"ethernet-switch\"\nflow_control = \"pfc\"\nscheduling = \"weighted\"\nweights = {{ {} }}\n\
         lossless = [{}]\nmemory = \"2 MiB\"\n[links.in]\nbetween = [\"sender.*\", \"switch\"]\n\
         ethernet = \"10 Gb/s\"\nmtu = \"9000 B\"\n[links.out]\nbetween = [\"switch\", \"receiver\"]\n\
         ethernet = \"10 Gb/s\"\nmtu = \"9000 B\"\n",
        weights.len(),
        named.join(", "),
        paused.join(", ")
    );
    for (i, size) in sizes.iter().enumerate() {
        text += &format!(
            "[flows.f{i}]\nfrom = \"sender.{i}\"\nto = \"receiver\"\ndo = \"send\"\nsize = \"{size} B\"\n\
             priority = {i}\n{more}\n"
        );
    }
    text + "[run]\nfor = \"60 ms\"\nwarmup = \"10 ms\"\n"
}

/// Whatever the weights and the sizes of frames, and whether a class is paused or dropped: bytes of saturated classes
/// are as their weights, to half a per cent, by both methods.
#[test]
fn weights_are_exact() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let n = 2 + c.below(5);
        let most = if c.below(2) == 0 { 2 } else { 9 };
        let weights: Vec<u32> = (0..n).map(|_| 1 + c.below(most) as u32).collect();
        let sizes: Vec<u64> = (0..n).map(|_| c.about(200, 3000)).collect();
        let lossless: Vec<usize> = (0..n).filter(|_| c.below(2) == 0).collect();
        let text = port(&weights, &sizes, &lossless, "");
        let plan = planned(&text, &[]);
        let report = estimate(&plan, &Diagnostics::default());
        let seen = simulate_by(&plan, 1, u64::MAX);
        // A class that could have more than its link carries leaves the rest to others: then none is saturated.
        let sum: u32 = weights.iter().sum();
        let all: f64 = seen.flows.iter().map(|f| frames(f).rate.mean).sum();
        for (i, weight) in weights.iter().enumerate() {
            let part = f64::from(*weight) / f64::from(sum);
            let simulated = frames(&seen.flows[i]).rate.mean / all;
            let estimated = flow(&report, &format!("f{i}")).frame_rate.expect("frames").typical;
            let estimates: f64 = report.flows.iter().map(|f| f.frame_rate.expect("frames").typical).sum();
            let wire = |rate: f64| rate / estimates;
            proptest::prop_assert!((simulated / part - 1.0).abs() < 0.005, "{i}: {simulated} of {part}\n{text}");
            proptest::prop_assert!((wire(estimated) / part - 1.0).abs() < 0.005, "{i}: {estimated}\n{text}");
            // What is paused loses nothing.
            let lost = frames(&seen.flows[i]).dropped;
            proptest::prop_assert!(lost == 0 || !lossless.contains(&i), "{i}: {lost} lost\n{text}");
        }
        Ok::<(), TestCaseError>(())
    };
    let said = runner(Config { cases: 24, ..Config::default() }).run(&vec(any::<u8>(), 64), law);
    said.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn equal_loads_have_equal_shares() {
    for rule in ["turns", "weighted"] {
        let text = port(&[1; 4], &[1500; 4], &[0, 1, 2, 3], "");
        let seen = simulate(&text, &[&format!("parts.switch.scheduling={rule}")]);
        let all: f64 = seen.flows.iter().map(|f| f.rate.mean).sum();
        seen.flows.iter().for_each(|f| within(0.005, f.rate.mean, all / 4.0));
    }
}

#[test]
fn the_highest_class_comes_first() {
    // 6 Gb/s of the highest, all that the next wants of the rest, and nothing is left for the lowest.
    let text =
        port(&[1; 3], &[1500; 3], &[0, 1, 2], "").replace("[flows.f2]", "[flows.f2]\nload = { rate = \"6 Gb/s\" }");
    let plan = planned(&text, &["parts.switch.scheduling=strict"]);
    let report = estimate(&plan, &Diagnostics::default());
    let seen = simulate_by(&plan, 1, u64::MAX);
    let line = 10e9 * 1500.0 / 1538.0;
    for (name, rate) in [("f2", 6e9), ("f1", line - 6e9), ("f0", 0.0)] {
        let [estimated, simulated] = [
            flow(&report, name).share.typical,
            seen.flows.iter().find(|f| f.name == name).map_or(f64::NAN, |f| f.rate.mean),
        ];
        assert!((estimated - rate).abs() < 0.005 * line, "{name}: {estimated} of {rate}");
        assert!((simulated - rate).abs() < 0.005 * line, "{name}: {simulated} of {rate}");
    }
}

#[test]
fn classes_that_lose_leave_the_others_alone_in_100_seeds() {
    let text = port(&[1, 1, 1], &[1500, 700, 4000], &[1], "load = { share = \"80 %\", burst = 30 }")
        .replace("for = \"60 ms\"\nwarmup = \"10 ms\"", "for = \"3 ms\"\nwarmup = \"0 s\"");
    let (plan, d) = plan(&text, &["parts.switch.memory=400 kB"]);
    let plan = plan.unwrap_or_else(|| panic!("{d}"));
    let mut lost = 0;
    for seed in 0..100 {
        let seen = simulate_by(&plan, seed, u64::MAX);
        assert_eq!(frames(&seen.flows[1]).dropped, 0, "seed {seed}");
        lost += frames(&seen.flows[0]).dropped + frames(&seen.flows[2]).dropped;
    }
    assert!(lost > 0, "the others had no room");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let text = port(&[1, 1], &[1500; 2], &[0], "");
    for (set, says) in [
        ("parts.switch.weights={ 0 = 0, 1 = 0 }", "add up to nothing"),
        ("parts.switch.weights={ 0 = 0, 1 = 3 }", "would never be served"),
        ("parts.switch.weights={ 9 = 1 }", "is not a valid priority"),
        ("parts.switch.weights={ 0 = 100000 }", "more than 1000"),
        ("parts.switch.weights=[1, 2]", "are a table"),
        ("parts.switch.lossless=[8]", "priorities 0 to 7"),
        ("parts.switch.lossy_memory=64 MiB", "is a part of the memory"),
        ("parts.switch.lossy_memory=100 B", "holds a frame"),
    ] {
        let (made, d) = plan(&text, &[set]);
        assert!(made.is_none() && d.to_string().contains(says), "{set}: {d}");
    }
}
