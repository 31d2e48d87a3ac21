//! Several flows at one station, plain frames beside queue pairs: who is carried in full is, and nobody starves.

use super::{plan, simulate_by};
use crate::common::choices::{Choices, none_apart, runner};
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::RefCell;

/// A star of stations at 25 Gb/s.
fn star(c: &mut Choices, hosts: usize) -> String {
    format!(
        "[parts.host]\nis = \"station\"\n[parts.switch]\nis = \"ethernet-switch\"\nflow_control = \"{}\"\n{}\
         [links.net]\nstar = {{ hosts = {hosts} }}\nethernet = \"25 Gb/s\"\n\
         [run]\nfor = \"2 ms\"\nwarmup = \"200 us\"\nmax_packets = 300000\n",
        c.of(&["none", "pfc", "pfc", "pause", "voq"]),
        c.of(&["", "scheduling = \"strict\"\n", "scheduling = \"weighted\"\nweights = { 0 = 1, 1 = 2 }\n"]),
    )
}

/// A flow in a star: plain or of queue pairs, of some priority.
fn flow(c: &mut Choices, star: &str, name: &str, ends: &str, load: &str) -> String {
    let roce = c.below(2) == 0 && !star.contains("voq");
    let connections = if roce && c.below(2) == 0 { 1 + c.below(4) } else { 1 };
    let mut text = format!(
        "[flows.{name}]\n{ends}\ndo = \"send\"\nsize = \"{} B\"\nload = {load}\n",
        c.of(&["64", "256", "1000", "1500", "6000", "65536"])
    );
    if roce {
        text += "transport = \"rocev2\"\n";
    }
    if connections > 1 {
        text += &format!("connections = {connections}\n");
    }
    if c.below(3) == 0 {
        text += "priority = 1\n";
    }
    text
}

/// By how much shares and simulation of a text's flows are apart, beyond what the window may cut off and chance make.
fn apart(text: &str, most: f64, wrong: &RefCell<Vec<String>>) {
    let (Some(made), diagnostics) = plan(text, &[]) else { panic!("{}\n{text}", plan(text, &[]).1) };
    let report = estimate(&made, &diagnostics).with(simulate_by(&made, 1, u64::MAX));
    let simulation = report.simulation.as_ref().expect("it was simulated");
    for (f, s) in report.flows.iter().zip(&simulation.flows) {
        let off = s.rate.mean / f.share.typical - 1.0;
        let window = s.operations.max(1) as f64;
        let edge = 2.0 / window + s.rate.half.unwrap_or(0.0) / f.share.typical;
        if off.abs() > most + edge {
            wrong.borrow_mut().push(format!("{}: {off:+.4}, {edge:.4}\n{text}", f.name));
        }
    }
}

/// A paced flow beside one that always has more, of one station: whatever the sizes of their frames, each has its
/// turns.
#[test]
fn flows_of_a_station_have_their_turns() {
    let wrong = RefCell::new(Vec::new());
    let result = runner(Config::default()).run(&vec(any::<u8>(), 24), |bytes| {
        let c = &mut Choices(bytes.iter());
        let text = star(c, 4);
        let rate = format!("{{ rate = \"{} Mb/s\" }}", c.about(200, 20_000));
        let paced = flow(c, &text, "paced", "from = \"host.1\"\nto = \"host.0\"", &rate);
        let ends = ["to = \"host.2\"", "to = \"host.0\"", "to = \"host.*\"\npattern = \"random\""][c.below(3)];
        let bulk = flow(c, &text, "bulk", &format!("from = \"host.1\"\n{ends}"), "\"saturate\"");
        apart(&(text + &paced + &bulk), 0.03, &wrong);
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
}

/// Loads that no wire is too slow for arrive, whatever goes beside them and back.
#[test]
fn what_is_carried_in_full_arrives() {
    let wrong = RefCell::new(Vec::new());
    let result = runner(Config::default()).run(&vec(any::<u8>(), 48), |bytes| {
        let c = &mut Choices(bytes.iter());
        let hosts = 2 + c.below(4);
        let net = star(c, hosts);
        let mut text = net.clone();
        for i in 0..2 + c.below(3) {
            let from = c.below(hosts);
            let to = (from + 1 + c.below(hosts - 1)) % hosts;
            // Frames of 64 B take twice their payload.
            let rate = format!("{{ rate = \"{} Mb/s\" }}", c.about(100, 2_500));
            text += &flow(c, &net, &format!("f{i}"), &format!("from = \"host.{from}\"\nto = \"host.{to}\""), &rate);
        }
        apart(&text, 0.02, &wrong);
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
}
