//! How a wire is divided among classes and, with PFC, among the ports that frames come in by.

use super::{plan, simulate_by};
use crate::common::choices::{Choices, runner};
use crate::common::{flow, planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::protocol::ethernet::wire;
use lanescope::result::Report;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};

/// Payload bits per second of each flow, `f0` and on.
fn shares(report: &Report, n: usize) -> Vec<f64> {
    (0..n).map(|i| flow(report, &format!("f{i}")).share.typical).collect()
}

/// By both methods.
fn both(text: &str, n: usize) -> [Vec<f64>; 2] {
    let plan = planned(text, &[]);
    let seen = simulate_by(&plan, 1, u64::MAX);
    let rate = |i: usize| seen.flows.iter().find(|f| f.name == format!("f{i}")).map_or(f64::NAN, |f| f.rate.mean);
    [shares(&estimate(&plan, &Diagnostics::default()), n), (0..n).map(rate).collect()]
}

/// A flow to a station.
fn send(i: usize, from: &str, to: &str, size: u64, more: &str) -> String {
    format!("[flows.f{i}]\nfrom = \"{from}\"\nto = \"{to}\"\ndo = \"send\"\nsize = \"{size} B\"\n{more}\n")
}

/// Bytes of a frame from destination to FCS with so much payload.
fn frame(size: u64) -> f64 {
    (size.max(46) + 18) as f64
}

/// The level of each of some who ask for at most so much, when so much is divided among them by weights.
fn divided(capacity: f64, all: &[(f64, f64)]) -> Vec<f64> {
    let taken = |level: f64| all.iter().map(|(weight, most)| (weight * level).min(*most)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e15);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if taken(middle) > capacity { high = middle } else { low = middle }
    }
    all.iter().map(|(weight, most)| (weight * low).min(*most)).collect()
}

/// Weights and strict priority hold for classes, whatever their flows ask for: what a flow leaves is first that of the
/// others of its class, and only what a class leaves is that of other classes.
#[test]
fn what_a_flow_leaves_is_first_that_of_its_class() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let strict = c.below(2) == 0;
        let weights: Vec<usize> = (0..3).map(|_| 1 + c.below(5)).collect();
        let (n, size) = (2 + c.below(6), c.about(200, 4096));
        let flows: Vec<(usize, Option<usize>)> =
            (0..n).map(|_| (c.below(3), (c.below(3) == 0).then(|| 1 + c.below(30)))).collect();
        let mut text = format!(
            "[parts.h]\nis = \"station\"\ncount = {}\n[parts.s]\nis = \"ethernet-switch\"\nflow_control = \"pfc\"\n\
             scheduling = \"{}\"\nweights = {{ 0 = {}, 1 = {}, 2 = {} }}\n[links.l]\nbetween = [\"h.*\", \"s\"]\n\
             ethernet = \"100 Gb/s\"\nmtu = \"4200 B\"\n",
            n + 1,
            if strict { "strict" } else { "weighted" },
            weights[0],
            weights[1],
            weights[2]
        );
        for (i, (class, wants)) in flows.iter().enumerate() {
            let load = wants.map_or(String::new(), |w| format!("load = {{ rate = \"{w} Gb/s\" }}\n"));
            text += &send(i, &format!("h.{}", i + 1), "h.0", size, &format!("priority = {class}\n{load}"));
        }
        let found = shares(&estimate(&planned(&text, &[]), &Diagnostics::default()), n);
        // By hand, in payload bits: all frames are alike.
        let line = 100e9 * size as f64 / (frame(size) + 20.0);
        let wants = |i: usize| flows[i].1.map_or(line, |w| w as f64 * 1e9).min(line);
        let of = |class: usize| (0..n).filter(|i| flows[*i].0 == class).collect::<Vec<usize>>();
        let asks: Vec<f64> = (0..3).map(|class| of(class).into_iter().map(&wants).sum()).collect();
        let classes = if strict {
            let mut left = line;
            let mut all = vec![0.0; 3];
            for class in (0..3).rev() {
                all[class] = asks[class].min(left);
                left -= all[class];
            }
            all
        } else {
            divided(line, &(0..3).map(|class| (weights[class] as f64, asks[class])).collect::<Vec<_>>())
        };
        for (class, has) in classes.into_iter().enumerate() {
            let mine = of(class);
            let rates = divided(has, &mine.iter().map(|i| (1.0, wants(*i))).collect::<Vec<_>>());
            for (i, rate) in mine.into_iter().zip(rates) {
                let apart = (found[i] - rate).abs() > 1e-4 * line;
                proptest::prop_assert!(!apart, "f{i}: {} is not {rate}\n{text}", found[i]);
            }
        }
        Ok::<(), TestCaseError>(())
    };
    runner(Config::default()).run(&vec(any::<u8>(), 64), law).unwrap_or_else(|e| panic!("{e}"));
}

/// With PFC every port that comes to a full wire with enough for it has as many bytes of frames there as any other, and
/// behind a port that leads to another switch those of that switch: so by hand, whatever the rates of links and the
/// sizes of frames.
#[test]
fn ports_have_equal_bytes_of_a_full_wire() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let (near, far) = (1 + c.below(5), c.below(5));
        let n = near + far;
        let rates: Vec<usize> = (0..n).map(|_| [10, 25, 40, 100][c.below(4)]).collect();
        let sizes: Vec<u64> = (0..n).map(|_| c.about(64, 4096)).collect();
        let mut text = format!(
            "[parts.h]\nis = \"station\"\ncount = {}\n[parts.t]\nis = \"station\"\n[parts.s]\n\
             is = \"ethernet-switch\"\ncount = 2\nflow_control = \"pfc\"\n[links.t]\n\
             between = [\"t\", \"s.0\"]\nethernet = \"25 Gb/s\"\nmtu = \"4200 B\"\n[links.up]\n\
             between = [\"s.0\", \"s.1\"]\nethernet = \"100 Gb/s\"\nmtu = \"4200 B\"\n",
            n + 1
        );
        for (i, rate) in rates.iter().enumerate() {
            text += &format!(
                "[links.l{i}]\nbetween = [\"h.{i}\", \"s.{}\"]\nethernet = \"{rate} Gb/s\"\nmtu = \"4200 B\"\n",
                usize::from(i >= near)
            );
            text += &send(i, &format!("h.{i}"), "t", sizes[i], "");
        }
        // What is not used is connected, so that the second switch is part of the network.
        text += &format!("[links.last]\nbetween = [\"h.{n}\", \"s.1\"]\nethernet = \"10 Gb/s\"\nmtu = \"4200 B\"\n");
        let found = shares(&estimate(&planned(&text, &[]), &Diagnostics::default()), n);
        // In bits of frames per second.
        let whole = |i: usize| (frame(sizes[i]) + 20.0) / frame(sizes[i]);
        let most = |i: usize| rates[i] as f64 * 1e9 / whole(i);
        let at = |level: f64| -> Vec<f64> {
            let mut all: Vec<f64> = (0..near).map(|i| most(i).min(level)).collect();
            all.extend(divided(level, &(near..n).map(|i| (1.0, most(i))).collect::<Vec<_>>()));
            all
        };
        let (mut low, mut high) = (0.0, 1e12);
        for _ in 0..200 {
            let level = 0.5 * (low + high);
            let load: f64 = at(level).iter().enumerate().map(|(i, rate)| rate * whole(i)).sum();
            if load > 25e9 { high = level } else { low = level }
        }
        for (i, rate) in at(low).into_iter().enumerate() {
            let rate = rate * sizes[i] as f64 / frame(sizes[i]);
            let apart = (found[i] - rate).abs() > 1e-4 * 25e9;
            proptest::prop_assert!(!apart, "f{i}: {} is not {rate}\n{text}", found[i]);
        }
        Ok::<(), TestCaseError>(())
    };
    runner(Config::default()).run(&vec(any::<u8>(), 64), law).unwrap_or_else(|e| panic!("{e}"));
}

/// The same by both methods: a port that leads to another switch has half of the wire, and two behind it a quarter
/// each; a link of 25 Gb/s has as much as one of 100; of 64 B and of 1500 B there are as many bytes of frames.
#[test]
fn ports_have_equal_bytes_by_hand() {
    let star = |rates: [usize; 2], sink: usize, sizes: [u64; 2]| {
        let mut text = format!(
            "[parts.h]\nis = \"station\"\ncount = 2\n[parts.t]\nis = \"station\"\n[parts.s]\nis = \"ethernet-switch\"\n\
             flow_control = \"pfc\"\n[links.t]\nbetween = [\"t\", \"s\"]\nethernet = \"{sink} Gb/s\"\n\
             mtu = \"9000 B\"\n"
        );
        for (i, rate) in rates.iter().enumerate() {
            text +=
                &format!("[links.l{i}]\nbetween = [\"h.{i}\", \"s\"]\nethernet = \"{rate} Gb/s\"\nmtu = \"9000 B\"\n");
            text += &send(i, &format!("h.{i}"), "t", sizes[i], "");
        }
        text + "[run]\nfor = \"20 ms\"\nwarmup = \"4 ms\"\n"
    };
    let up = "[parts.h]\nis = \"station\"\ncount = 4\n[parts.s]\nis = \"ethernet-switch\"\ncount = 2\n\
              flow_control = \"pfc\"\n[links.a]\nbetween = [\"h.0-1\", \"s.0\"]\nethernet = \"100 Gb/s\"\n[links.b]\n\
              between = [\"h.2-3\", \"s.1\"]\nethernet = \"100 Gb/s\"\n[links.up]\nbetween = [\"s.0\", \"s.1\"]\n\
              ethernet = \"200 Gb/s\"\n[run]\nfor = \"20 ms\"\nwarmup = \"4 ms\"\n"
        .to_owned();
    let up = (0..3).fold(up, |text, i| text + &send(i, &format!("h.{}", i + 1), "h.0", 1500, ""));
    let line = |gigabits: f64| gigabits * 1e9 * 1500.0 / wire(1518) as f64;
    // 82 of 102 bytes and 1518 of 1538 are frames.
    let frames = 100e9 / (102.0 / 82.0 + 1538.0 / 1518.0);
    for (text, rates) in [
        (up, vec![line(50.0), line(25.0), line(25.0)]),
        (star([25, 100], 50, [1500, 1500]), vec![line(25.0), line(25.0)]),
        (star([100, 100], 100, [64, 1500]), vec![frames * 64.0 / 82.0, frames * 1500.0 / 1518.0]),
    ] {
        let [estimated, simulated] = both(&text, rates.len());
        for (i, rate) in rates.into_iter().enumerate() {
            within(1e-4, estimated[i], rate);
            within(0.02, simulated[i], rate);
        }
    }
}

/// Two flows of a station and a priority, one of which goes to a slow link: PFC stops the port of both, so the other
/// has its turns beside the first and no more, and a note names the wires.
#[test]
fn a_flow_behind_one_that_is_stopped_has_its_turns() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let sizes = [c.about(300, 4096), c.about(64, 4096)];
        let slow = [5, 10, 25][c.below(3)];
        let mut text = "[parts.h]\nis = \"station\"\n[parts.t]\nis = \"station\"\ncount = 2\n[parts.s]\n\
                        is = \"ethernet-switch\"\nflow_control = \"pfc\"\nmemory = \"1 MiB\"\n[links.h]\n\
                        between = [\"h\", \"s\"]\nethernet = \"400 Gb/s\"\nmtu = \"4200 B\"\n"
            .to_owned();
        for (i, rate) in [slow, 400].into_iter().enumerate() {
            text +=
                &format!("[links.t{i}]\nbetween = [\"t.{i}\", \"s\"]\nethernet = \"{rate} Gb/s\"\nmtu = \"4200 B\"\n");
            text += &send(i, "h", &format!("t.{i}"), sizes[i], "");
        }
        text += "[run]\nfor = \"12 ms\"\nwarmup = \"6 ms\"\n";
        let frames = slow as f64 * 1e9 / (frame(sizes[0]) + 20.0);
        // Unless both together fill their own wire.
        if frames * (frame(sizes[0]) + frame(sizes[1]) + 40.0) > 0.9 * 400e9 {
            return Ok(());
        }
        let [estimated, simulated] = both(&text, 2);
        for i in 0..2 {
            let rate = frames * sizes[i] as f64;
            proptest::prop_assert!((estimated[i] / rate - 1.0).abs() < 1e-4, "f{i}: {estimated:?}, {rate}\n{text}");
            proptest::prop_assert!((simulated[i] / rate - 1.0).abs() < 0.03, "f{i}: {simulated:?}, {rate}\n{text}");
        }
        let report = estimate(&planned(&text, &[]), &Diagnostics::default());
        let said = report.notes.iter().find(|n| n.element == "flows.f1").map(|n| n.text.clone()).unwrap_or_default();
        let named = ["links.h toward s", "links.t0 toward t.0", "PFC"].iter().all(|word| said.contains(word));
        proptest::prop_assert!(named, "{said}\n{text}");
        Ok::<(), TestCaseError>(())
    };
    runner(Config::default()).run(&vec(any::<u8>(), 64), law).unwrap_or_else(|e| panic!("{e}"));
}

/// Acknowledgements go before all that waits, and are a part of what the highest class takes: two flows of 64 B against
/// one another take 162 bytes of the wire for data and 86 for the other's acknowledgements, and nothing is left to a
/// lower priority.
#[test]
fn acknowledgements_leave_nothing_to_a_lower_priority() {
    let text = "[parts.h]\nis = \"station\"\ncount = 4\n[parts.s]\nis = \"ethernet-switch\"\nflow_control = \"pfc\"\n\
                scheduling = \"strict\"\n[links.l]\nbetween = [\"h.*\", \"s\"]\nethernet = \"50 Gb/s\"\n[run]\n\
                for = \"10 ms\"\nwarmup = \"2 ms\"\n"
        .to_owned()
        + &send(0, "h.1", "h.2", 512, "load = { rate = \"5 Gb/s\" }\n")
        + &send(1, "h.0", "h.2", 64, "transport = \"rocev2\"\npriority = 5\n")
        + &send(2, "h.2", "h.3", 64, "transport = \"rocev2\"\npriority = 5\n");
    let high = 50e9 * 64.0 / (162.0 + 86.0);
    for rates in both(&text, 3) {
        assert!(rates[0] < 1e-3 * high, "{rates:?}");
        within(0.01, rates[1], high);
        within(0.01, rates[2], high);
    }
}

/// A low threshold above a high one that is worked out of the memory is refused where it stands.
#[test]
fn a_low_threshold_above_the_high_one_is_refused() {
    let text = "[parts.h]\nis = \"station\"\ncount = 3\n[parts.s]\nis = \"ethernet-switch\"\nflow_control = \"pfc\"\n\
                [links.l]\nbetween = [\"h.*\", \"s\"]\nethernet = \"100 Gb/s\"\n"
        .to_owned()
        + &send(0, "h.1", "h.0", 1500, "");
    let flow_control = ["stop above the high one", "marks begin"];
    for (sets, key, [says, not]) in [
        (vec!["parts.s.low_threshold=11 MiB"], "low_threshold", flow_control),
        (vec!["parts.s.low_threshold=2 MiB", "parts.s.high_threshold=1 MiB"], "low_threshold", flow_control),
        (
            vec!["parts.s.congestion_control=dcqcn", "parts.s.ecn_low=11 MiB"],
            "ecn_low",
            [flow_control[1], flow_control[0]],
        ),
        (vec!["parts.s.ecn_low=2 MiB", "parts.s.ecn_high=1 MiB"], "ecn_low", [flow_control[1], flow_control[0]]),
    ] {
        let (made, d) = plan(&text, &sets);
        let said = d.to_string();
        assert!(made.is_none() && said.contains(key) && said.contains(says) && !said.contains(not), "{sets:?}: {said}");
        assert!(d.sorted().iter().any(|d| d.span.is_some()), "{sets:?}: {said}");
    }
    assert!(plan(&text, &["parts.s.low_threshold=2 MiB"]).0.is_some());
}
