//! Flows of one station: whose turn it is, in the buffers of adapter and MAC as in the application.

use super::{frames, simulate_by};
use crate::common::choices::{Choices, runner};
use crate::common::{flow, planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::protocol::ethernet::wire;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};

/// Flows that saturate one station, of such sizes and priorities, in this order.
fn station(control: &str, rule: &str, flows: &[(usize, u64, u64)]) -> String {
    let mut text = format!(
        "[parts.h]\nis = \"station\"\ncount = 2\n[parts.s]\nis = \"ethernet-switch\"\nflow_control = \"{control}\"\n\
         scheduling = \"{rule}\"\n[links.l]\nbetween = [\"h.*\", \"s\"]\nethernet = \"10 Gb/s\"\nmtu = \"4200 B\"\n"
    );
    for (name, size, priority) in flows {
        text += &format!(
            "[flows.f{name}]\nfrom = \"h.0\"\nto = \"h.1\"\ndo = \"send\"\nsize = \"{size} B\"\npriority = {priority}\n"
        );
    }
    text + "[run]\nfor = \"12 ms\"\nwarmup = \"2 ms\"\n"
}

/// Whatever the sizes, the priorities, the rule of the switch and its flow control: flows of one class of a station
/// send as many frames each, in whatever order they are listed, and the estimate says what comes of it.
#[test]
fn flows_of_a_station_have_equal_turns() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let control = c.of(&["none", "pfc", "pfc", "pause"]);
        let rule = c.of(&["turns", "weighted", "strict"]);
        let n = 2 + c.below(4);
        let priorities = 1 + c.below(3);
        let mut flows: Vec<(usize, u64, u64)> =
            (0..n).map(|i| (i, c.about(64, 4096), c.below(priorities) as u64)).collect();
        let rates = |flows: &[(usize, u64, u64)]| {
            let seen = simulate_by(&planned(&station(control, rule, flows), &[]), 1, u64::MAX);
            let rate = |i: usize| seen.flows.iter().find(|f| f.name == format!("f{i}")).map_or(0.0, |f| f.rate.mean);
            (0..n).map(rate).collect::<Vec<f64>>()
        };
        let text = station(control, rule, &flows);
        let report = estimate(&planned(&text, &[]), &Diagnostics::default());
        let seen = rates(&flows);
        let sizes: Vec<(u64, u64)> = flows.iter().map(|f| (f.1, f.2)).collect();
        flows.rotate_left(1 + c.below(n - 1));
        let moved = rates(&flows);
        // A window holds a frame more or less of each flow.
        let ends = |i: usize| 2.0 * sizes[i].0 as f64 * 8.0 / 10e-3;
        for i in 0..n {
            let apart = |a: f64, b: f64| (a - b).abs() > 0.02 * a.max(b) + ends(i);
            proptest::prop_assert!(!apart(seen[i], moved[i]), "f{i}: {} and {}\n{text}", seen[i], moved[i]);
            let estimated = flow(&report, &format!("f{i}")).share.typical;
            proptest::prop_assert!(!apart(seen[i], estimated), "f{i}: {} of {estimated}\n{text}", seen[i]);
            for j in (0..n).filter(|j| sizes[*j].1 == sizes[i].1) {
                let turns = |k: usize| seen[k] / sizes[k].0 as f64;
                let apart = apart(seen[i], turns(j) * sizes[i].0 as f64);
                proptest::prop_assert!(!apart, "f{i} and f{j}: {} and {} turns\n{text}", turns(i), turns(j));
            }
        }
        Ok::<(), TestCaseError>(())
    };
    let said = runner(Config::default()).run(&vec(any::<u8>(), 64), law);
    said.unwrap_or_else(|e| panic!("{e}"));
}

/// Two flows of one class and one of another share 10 Gb/s frame by frame of each class in turn: 1538 bytes of the
/// wire each, so that the two have a quarter of the frames each.
#[test]
fn a_class_does_not_move_the_turns_of_another() {
    let text = station("pfc", "turns", &[(0, 1500, 0), (1, 1500, 3), (2, 1500, 0)]);
    let seen = simulate_by(&planned(&text, &[]), 1, u64::MAX);
    let line = 10e9 * 1500.0 / wire(1518) as f64;
    for (name, part) in [("f0", 0.25), ("f1", 0.5), ("f2", 0.25)] {
        let found = seen.flows.iter().find(|f| f.name == name).expect("the flow");
        within(0.005, found.rate.mean, part * line);
        assert_eq!(frames(found).dropped, 0);
    }
}
