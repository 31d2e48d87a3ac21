//! `wire ethernet` and a run of one flow give one number for one link.

use super::simulate_by;
use crate::common::{planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::estimate::wire::ethernet::{Question, wire};

#[test]
fn the_calculator_and_a_scenario_give_one_number() {
    for rate in ["100 Mb/s", "1 Gb/s", "10 Gb/s", "25 Gb/s", "100 Gb/s", "400 Gb/s"] {
        for data in ["1 B", "46 B", "47 B", "1000 B", "1500 B", "9000 B"] {
            let question = Question { rate: rate.into(), data: data.into(), length: "10 m".into(), response: None };
            let answer = wire(&mut Diagnostics::default(), &question).expect("a valid question");
            // In 80 ns there are whole bytes at every rate.
            let frames = 4000.0;
            let text = format!(
                "[parts.a]\nis = \"station\"\n[parts.b]\nis = \"station\"\n[links.net]\nbetween = [\"a\", \"b\"]\n\
                 ethernet = \"{rate}\"\nmtu = \"9000 B\"\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ndo = \"send\"\n\
                 size = \"{data}\"\n[run]\nfor = \"{} ns\"\nwarmup = \"{} ns\"\n",
                80.0 * (frames * answer.frame_time * 1e9 / 80.0).ceil(),
                80.0 * (answer.frame_time * 1e9).ceil(),
            );
            let plan = planned(&text, &[]);
            let report = estimate(&plan, &Diagnostics::default());
            let (flow, seen) = (&report.flows[0], &simulate_by(&plan, 1, u64::MAX));
            println!("{rate}, {data}: {} {} {}", answer.shares.payload, flow.share.typical, seen.flows[0].rate.mean);
            within(1e-9, flow.share.typical, answer.shares.payload);
            within(1e-9, flow.bound.typical, answer.shares.payload);
            // One frame more or less ends in the window.
            within(1.0 / (frames - 1.0), seen.flows[0].rate.mean, answer.shares.payload);
            // The same parts of the raw rate, by the names of a ledger.
            let link = report.links.iter().find(|l| l.to == "b").expect("the link");
            within(1e-9, link.ledger.raw, answer.shares.raw);
            within(1e-9, link.ledger.payload, answer.shares.payload);
        }
    }
}
