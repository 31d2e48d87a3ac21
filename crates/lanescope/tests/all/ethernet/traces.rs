//! Loads that a text says, message by message.

use super::by_hand::{BYTE, NS};
use super::{Text, check, frames};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::result::{Crossed, Crossing, Ending, Simulation};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};

const SCENARIO: &str = r#"
[parts.host]
is = "station"
[parts.switch]
is = "ethernet-switch"
[links.lan]
star = { hosts = 4 }
ethernet = "10 Gb/s"
delay = "100 ns"
[flows.f]
from = "host.0"
to = "host.*"
pattern = "random"
do = "send"
size = "1 B"
load = { trace = "./frames.csv" }
[run]
for = "10 ms"
warmup = "0 s"
"#;

fn plan(trace: &'static str, sets: &[&str]) -> (Option<Plan>, Diagnostics) {
    let mut d = Diagnostics::default();
    let included = Included { name: "test".into(), text: SCENARIO.to_owned(), author: Author::User };
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let plan = lanescope::plan(&mut d, included, &sets, &Text(trace));
    (plan, d)
}

fn run(trace: &'static str, sets: &[&str]) -> (Simulation, Vec<Crossed>) {
    let (plan, d) = plan(trace, sets);
    let plan = plan.unwrap_or_else(|| panic!("{d}"));
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
    run.capture(0);
    while run.advance(u64::MAX) != Step::Done {}
    let s = run.snapshot();
    check(&plan, &s);
    (s, run.crossed())
}

const TRACE: &str = "# a comment\ntime, destination, size\n0 ns, host.1, 100 B\n\n1.5 us, host.2, 3000 B\n1.5 us, \
    host.3, 1 B\n40 us, host.1, 1482 B\n";

#[test]
fn messages_are_born_when_a_trace_says() {
    for control in ["none", "pause", "pfc", "voq", "credits"] {
        let (s, crossed) = run(TRACE, &[&format!("parts.switch.flow_control={control}")]);
        let data = |c: &Crossed| match c.what {
            Crossing::Data { to, data, .. } => Some((c.at - 8 * BYTE, to, data)),
            _ => None,
        };
        let all: Vec<(u64, u32, u32)> = crossed.iter().filter_map(data).collect();
        let f = &s.flows[0];
        assert_eq!((f.operations, frames(f).delivered, frames(f).in_flight), (4, 5, 0), "{control}");
        assert_eq!(s.ending, Ending::Silent, "{control}: all is done");
        if control == "none" || control == "pause" || control == "pfc" {
            let third = 1_500 * NS + 2 * 1538 * BYTE;
            let want = [
                (0, 1, 100),
                (1_500 * NS, 2, 1500),
                (1_500 * NS + 1538 * BYTE, 2, 1500),
                (third, 3, 1),
                (40_000 * NS, 1, 1482),
            ];
            // The numbers of parts are those of the plan: hosts first, or the switch.
            let first = all[0].1 - 1;
            let all: Vec<_> = all.iter().map(|a| (a.0, a.1 - first, a.2)).collect();
            assert_eq!(all, want, "{control}");
        }
    }
}

/// A pause that was lifted while nothing waited is no stall, however long the silence after it is.
#[test]
fn silence_after_a_pause_is_no_stall() {
    let tail = "0 ns, host.1, 60 kB\n9.9 ms, host.1, 1 B\n";
    let sets = [
        "parts.switch.flow_control=pause",
        "parts.switch.high_threshold=100 B",
        "parts.switch.low_threshold=50 B",
        "parts.switch.memory=100 kB",
    ];
    let (s, _) = run(tail, &sets);
    assert!(s.links.iter().any(|l| l.pauses.0 > 0 && l.pauses.1 > 0));
    assert_eq!(s.flows[0].operations, 2);
    assert_eq!(s.ending, Ending::Silent);
}

#[test]
fn what_is_wrong_in_a_trace_is_shown_in_its_line() {
    let cases = [
        ("0 ns, host.1, 100 B\n1 ns, host.1\n", "1 ns, host.1", "three cells"),
        ("0 ns, host.1, 100 B\r\nsoon, host.1, 1 B\r\n", "soon, host.1, 1 B", "not a valid time"),
        ("time,to,size\r\n\r\n0 ns, host.7, 100 B\r\n", "0 ns, host.7, 100 B", "not a valid destination"),
        ("0 ns, host.0, 100 B\n", "0 ns, host.0, 100 B", "not a valid destination"),
        ("5 ns, host.1, 100 B\n4 ns, host.1, 1 B", "4 ns, host.1, 1 B", "must not decrease"),
        ("5 ns, host.1, 0 B\n", "5 ns, host.1, 0 B", "1 B to 1 TiB"),
        ("5 ns, host.1, many\n", "5 ns, host.1, many", "not a valid size"),
    ];
    for (trace, line, word) in cases {
        let (plan, d) = plan(trace, &[]);
        assert!(plan.is_none());
        let problem = d.sorted().into_iter().find(|d| d.message.contains(word)).unwrap_or_else(|| panic!("{d}"));
        let span = problem.span.expect("a place");
        let source = d.source(span.source);
        assert_eq!(
            (source.name.as_str(), &source.text[span.start as usize..span.end as usize]),
            ("./frames.csv", line)
        );
    }
    assert!(plan("# nothing\n", &[]).1.to_string().contains("the trace is empty"));
}
