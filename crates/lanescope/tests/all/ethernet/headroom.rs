//! Headroom by the standard's longest response: one number for calculator and switches, and it is enough.

use super::{dropped, planned, simulate_by};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::wire::ethernet::{Question, wire};
use lanescope::protocol::ethernet::LineRate;

fn star(rate: LineRate, more: &str) -> String {
    format!(
        "[parts.host]\nis = \"station\"\n{more}[parts.switch]\nis = \"ethernet-switch\"\nflow_control = \
            \"pfc\"\nlatency = \"0 ns\"\nmemory = \"1 GB\"\n\
         [links.lan]\nstar = {{ hosts = 4 }}\nethernet = \"{rate}\"\nlength = \"100 m\"\n\
         [flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"random\"\ndo = \"send\"\nsize = \"1500 B\"\nload = \
         {{ share = \"90 %\", burst = 200 }}\n\
         [run]\nfor = \"200 us\"\nwarmup = \"0 s\"\n"
    )
}

#[test]
fn the_calculator_and_the_switch_say_the_same() {
    for rate in LineRate::all() {
        let q = Question { rate: rate.to_string(), data: "1500 B".into(), length: "100 m".into(), response: None };
        let said = wire(&mut Diagnostics::default(), &q).expect("an answer");
        let made = planned(&star(rate, ""), &[]);
        let planned = made.network.buffering.iter().flatten().next().expect("a switch").headroom;
        assert_eq!(planned, said.headroom, "{rate}");
        // And no less than what the standard's response alone lets in.
        assert!(said.headroom as f64 > said.response * said.mac / 8.0, "{rate}");
    }
}

#[test]
fn senders_that_take_as_long_as_they_may_lose_nothing() {
    let mut stopped = 0;
    for rate in LineRate::all().filter(|r| r.rate().bits() >= 1e9) {
        let response = format!("pause_response = \"{} ns\"\n", rate.longest_response().seconds() * 1e9);
        let text = star(rate, &response);
        let high = ["parts.switch.high_threshold=4 kB"];
        let needs = planned(&text, &high).network.buffering.iter().flatten().next().expect("a switch").needs;
        let memory = format!("parts.switch.memory={needs} B");
        let to_one = ["flows.f.load=saturate", "flows.f.pattern=pairs", "flows.f.to=host.0"];
        for more in [&[][..], &to_one] {
            let made = planned(&text, &[&[high[0], memory.as_str()][..], more].concat());
            for seed in 0..4 {
                let s = simulate_by(&made, seed, u64::MAX);
                assert_eq!(dropped(&s), 0, "{rate}, seed {seed}: {:?}", s.switches);
                stopped += s.links.iter().map(|l| l.pauses.0).sum::<u64>();
            }
        }
    }
    assert!(stopped > 100, "{stopped} pauses");
}
