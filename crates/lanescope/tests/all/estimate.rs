//! The closed form against packets worked out by hand.

use crate::common;
use crate::common::{flow, plan, run, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::need;
use lanescope::result::Verdict;
use lanescope::units::Rate;

const ONE: &str = r#"
[parts.host]
is = "root-complex"
read_latency = "400 ns"
completion_size = "64 B"
[parts.card]
is = "endpoint"
tags = 4
[links.slot]
between = ["host", "card"]
pcie = "gen1 x8"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[flows.dma]
from = "card"
to = "host.memory"
do = "write"
size = "512 B"
header = "3DW"
"#;

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
}

#[test]
fn posted_writes_by_hand() {
    // 4 TLPs of 128 + 20 B for 512 B of payload on 2000 MB/s.
    let r = run(ONE, &[]);
    near(flow(&r, "dma").share.typical, 16e9 * 512.0 / 592.0);
    assert_eq!(flow(&r, "dma").bound_by.element, "links.slot toward host");
    // With an Ack each TLP the other way nothing changes; with one ordered set in 1000 symbols, 4 of 1000 are lost.
    let r = run(ONE, &["links.slot.ack_every=1", "links.slot.skp_interval=1000"]);
    near(flow(&r, "dma").share.typical, 16e9 * 512.0 / 592.0 * 0.996);
    let down = &r.links[0].ledger;
    near(down.acks, flow(&r, "dma").share.typical / 512.0 * 4.0 * 8.0);
}

#[test]
fn reads_by_hand() {
    let r = run(ONE, &["flows.dma.do=read", "parts.card.tags=64"]);
    // 8 completions of 64 + 20 B.
    near(flow(&r, "dma").share.typical, 16e9 * 512.0 / 672.0);
    // One request: 20 B at 2 B/ns, 1 ns, 400 ns, 672 B at 2 B/ns, 1 ns = 748 ns; its first data after 10 + 1 + 400 + 1
    // + (3 + 12 + 4) / 2.
    let f = flow(&r, "dma");
    near(f.round_trip.expect("a read").typical, 748e-9);
    near(f.latency_first.expect("a read").typical, 421.5e-9);
}

#[test]
fn tags_over_round_trip() {
    let r = run(ONE, &["flows.dma.do=read", "parts.card.tags=2", "parts.card.turnaround=252 ns"]);
    // 2 x 512 B in 748 + 252 ns.
    near(flow(&r, "dma").share.typical, 2.0 * 512.0 / 1000e-9 * 8.0);
    assert_eq!(flow(&r, "dma").bound_by.element, "parts.card");
    // All tags together: 2 requests stream for another 336 ns, then the pause.
    let r = run(
        ONE,
        &[
            "flows.dma.do=read",
            "parts.card.tags=2",
            "parts.card.turnaround=252 ns",
            "parts.card.turnaround_after=batch",
        ],
    );
    near(flow(&r, "dma").share.typical, 1024.0 / 1336e-9 * 8.0);
}

#[test]
fn a_closed_load_is_outstanding_over_round_trip_and_thought() {
    let r = run(ONE, &["flows.dma.do=read", "flows.dma.load={ outstanding = 1, think = \"252 ns\" }"]);
    near(flow(&r, "dma").share.typical, 512.0 / 1000e-9 * 8.0);
    let r = run(ONE, &["flows.dma.do=read", "flows.dma.load={ outstanding = 1, round_trip = \"2 us\" }"]);
    near(flow(&r, "dma").share.typical, 512.0 / 2e-6 * 8.0);
}

#[test]
fn credits_over_their_round_trip() {
    // One header credit: a TLP (148 B, 74 ns), 1 ns there, UpdateFC (8 B, 4 ns), 1 ns back: 80 ns for 128 B.
    let r = run(ONE, &["parts.host.posted_headers=1"]);
    near(flow(&r, "dma").share.typical, 128.0 / 80e-9 * 8.0);
    assert!(flow(&r, "dma").bound_by.resource.contains("posted_headers"), "{:?}", flow(&r, "dma").bound_by);
    // A short last TLP goes round sooner: 128 and 128 B in 80 ns each, 44 B (64 + 8 B on the wire) in 38 ns; the next
    // begins with the symbol time after that, of 4 ns.
    let r = run(ONE, &["parts.host.posted_headers=1", "flows.dma.size=300 B"]);
    near(flow(&r, "dma").share.typical, 300.0 / 200e-9 * 8.0);
}

#[test]
fn alternating_reads_and_writes_share_both_directions() {
    let r = run(ONE, &["flows.dma.do=alternate", "parts.card.tags=64"]);
    // Up: 592 + 20 B; down: 672 B, which binds.
    let f = flow(&r, "dma");
    near(f.share.typical, 16e9 * 512.0 / 672.0);
    assert!(f.both_ways);
    near(r.metric("flows.dma.both_ways").expect("there").value, 2.0 * f.share.typical);
}

#[test]
fn a_switch_cuts_through_and_stores() {
    let text = r#"
[parts.host]
is = "root-complex"
read_latency = "0 ns"
write_latency = "0 ns"
[parts.sw]
is = "switch"
latency = "100 ns"
[parts.card]
is = "endpoint"
[links.fast]
between = ["host", "sw.up"]
pcie = "gen1 x8"
delay = "1 ns"
[links.slow]
between = ["sw.down.0", "card"]
pcie = "gen1 x4"
delay = "1 ns"
[flows.w]
from = "card"
to = "host.memory"
do = "write"
size = "64 B"
header = "3DW"
"#;
    // 84 B: 84 ns on x4, 42 ns on x8. Into the faster link the switch waits for the tail: 84 + 1 + 100 + 1 ns.
    near(flow(&run(text, &[]), "w").latency.typical, 186e-9);
    // Stored: 84 + 1, 100, 42, 1.
    near(flow(&run(text, &["parts.sw.forwarding=store-and-forward"]), "w").latency.typical, 228e-9);
    // Equal links: head after 100, tail 84 behind.
    near(flow(&run(text, &["links.fast.pcie=gen1 x4"]), "w").latency.typical, 186e-9);
    near(run(text, &[]).metric("switches.sw.latency").expect("there").value, 100e-9);
}

#[test]
fn an_open_load_gets_what_it_asks_or_is_unstable() {
    let r = run(ONE, &["flows.dma.load={ rate = \"10 Gb/s\" }"]);
    near(flow(&r, "dma").share.typical, 10e9);
    assert_eq!(flow(&r, "dma").verdict, Verdict::Stable);
    let r = run(ONE, &["flows.dma.load={ rate = \"15 Gb/s\" }"]);
    assert_eq!(flow(&r, "dma").verdict, Verdict::Unstable);
}

#[test]
fn a_measured_value_is_held_against_both() {
    let r = run(ONE, &["flows.dma.measured=10 Gb/s"]);
    let m = flow(&r, "dma").measured.clone().expect("measured");
    near(m.unexplained[0], flow(&r, "dma").share.typical - 10e9);
    assert_eq!(m.above_bound, 0);
    assert_eq!(
        flow(&run(ONE, &["flows.dma.measured=15 Gb/s"]), "dma").measured.clone().expect("measured").above_bound,
        1
    );
}

#[test]
fn ranges_are_carried_through() {
    let r = run(
        ONE,
        &[
            "flows.dma.do=read",
            "parts.card.tags=64",
            "parts.host.completion_size={ low = \"64 B\", typical = \"128 B\", high = \"128 B\" }",
        ],
    );
    let share = flow(&r, "dma").share;
    near(share.slower, 16e9 * 512.0 / 672.0);
    near(share.typical, 16e9 * 512.0 / 592.0);
    near(share.faster, share.typical);
}

#[test]
fn the_inverse_finds_each_single_change() {
    let (p, _) = plan(ONE, &["flows.dma.do=read", "parts.card.tags=1"]);
    let p = p.expect("valid");
    let answer = need(&p, "dma", Rate::parse("20 Gb/s").expect("a rate")).expect("the flow is there");
    // No single change is enough: the tags bind first, then the link.
    assert!(answer.alone.iter().all(|s| !s.enough), "{:?}", answer.alone);
    assert!(answer.together.last().expect("steps").enough, "{:?}", answer.together);
    // 512 B x 2 in 748 ns is 10.95 Gb/s: two tags are enough for 10, one is not.
    let answer = need(&p, "dma", Rate::parse("10 Gb/s").expect("a rate")).expect("the flow is there");
    assert!(answer.alone.iter().any(|s| s.change == "parts.card.tags=2" && s.enough), "{:?}", answer.alone);
    assert!(need(&p, "nobody", Rate::parse("1 Gb/s").expect("a rate")).is_err());
}

#[test]
fn an_upgrade_says_what_a_step_gives_and_what_binds_then() {
    let r = run(ONE, &["flows.dma.do=read", "parts.card.tags=1"]);
    let l = flow(&r, "dma").upgrade.clone().expect("tags can be doubled");
    assert_eq!(l.change, "parts.card.tags=2");
    near(l.share, 2.0 * 512.0 / 748e-9 * 8.0);
    assert_eq!(l.then.element, "parts.card");
}

#[test]
fn peers_pass_through_their_switch_only() {
    let text = r#"
[parts.host]
is = "root-complex"
[parts.sw]
is = "switch"
[parts.gpu]
is = "endpoint"
[parts.ssd]
is = "endpoint"
[links.up]
between = ["host", "sw.up"]
pcie = "gen1 x1"
[links.down]
between = ["sw.down.0", "gpu"]
pcie = "gen3 x8"
[links.disk]
between = ["sw.down.1", "ssd"]
pcie = "gen3 x4"
[flows.load]
from = "gpu"
to = "ssd"
do = "write"
size = "4 KiB"
"#;
    let r = run(text, &[]);
    assert_eq!(flow(&r, "load").bound_by.element, "links.disk toward ssd");
    assert!(r.links.iter().filter(|l| l.name == "up").all(|l| l.tlps == 0.0));
}

#[test]
fn flit_mode_has_rates() {
    let r = run(ONE, &["links.slot.pcie=gen6 x8", "links.slot.mps=256 B", "links.slot.skp_interval=never"]);
    // 64 GB/s raw, 236 of 256 B of each flit, TLPs of 12 + 256 B without framing.
    near(flow(&r, "dma").share.typical, 512e9 * 236.0 / 256.0 * 256.0 / 268.0);
}

#[test]
fn a_replay_buffer_over_the_ack_round_trip() {
    let text = r#"
[parts.host]
is = "root-complex"
[parts.nic]
is = "endpoint"
replay_buffer = "560 B"
[links.slot]
between = ["host", "nic"]
pcie = "gen3 x8"
mps = "256 B"
delay = "500 ns"
[flows.rx]
from = "nic"
to = "host.memory"
do = "write"
size = "256 B"
"#;
    // Two TLPs of 280 B, each kept for its own time and an Ack's (288 B at 7.877 GB/s, 36.6 ns) and two flights.
    let report = common::run(text, &[]);
    let f = common::flow(&report, "rx");
    let expected = 2.0 * 256.0 * 8.0 / (1000e-9 + 288.0 / 7.8769e9);
    assert!((f.share.typical / expected - 1.0).abs() < 1e-3, "{} {expected}", f.share.typical);
    assert_eq!(f.bound_by.resource, "replay buffer");
    let upgrade = f.upgrade.as_ref().expect("a lift");
    assert!(
        upgrade.change.starts_with("parts.nic.replay_buffer=") && upgrade.share > 1.9 * f.share.typical,
        "{upgrade:?}"
    );
}

/// `wire pcie` and a scenario of one flow over the same link give one number, whatever the link; with both directions
/// loaded it is never more.
#[test]
fn the_calculator_and_a_scenario_give_one_number() {
    use lanescope::estimate::wire::{Question, wire};
    for speed in ["gen1 x1", "gen2 x4", "gen3 x8", "gen4 x16", "gen5 x2", "gen6 x4"] {
        for (payload, header) in [("64 B", "3DW"), ("256 B", "4DW"), ("512 B", "3DW"), ("300 B", "4DW")] {
            let question = Question {
                speed: speed.into(),
                payload: payload.into(),
                header: header.into(),
                ecrc: false,
                ack_every: "4".into(),
                update_fc_every: "4".into(),
                completion: "64 B".into(),
                request: "512 B".into(),
                ordered_sets: true,
                both_ways: true,
            };
            let answer = wire(&mut Diagnostics::default(), &question).expect("a valid question");
            let mps = match payload {
                "64 B" => "128 B",
                "300 B" => "512 B",
                _ => payload,
            };
            let text = format!(
                "[parts.root]\nis = \"root-complex\"\n[parts.device]\nis = \"endpoint\"\n[links.link]\n\
                 between = [\"root\", \"device\"]\npcie = \"{speed}\"\nmps = \"{mps}\"\nack_every = 4\nupdate_fc_every \
                 = 4\n\
                 [flows.up]\nfrom = \"device\"\nto = \"root.memory\"\ndo = \"write\"\nsize = \"{payload}\"\nheader = \
                 \"{header}\"\n"
            );
            let share = flow(&run(&text, &[]), "up").share.typical;
            within(1e-9, answer.write_alone, share);
            assert!(answer.write <= answer.write_alone * (1.0 + 1e-9), "{} {}", answer.write, answer.write_alone);
        }
    }
}
