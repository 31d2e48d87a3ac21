//! The closed form of Ethernet against frames worked out by hand.

use crate::common::{flow, plan, planned, run, simulate_by, within};
use lanescope::estimate::need;
use lanescope::result::{Report, Verdict};
use lanescope::units::Rate;

/// Eight hosts around a switch.
const STAR: &str = r#"
[parts.host]
is = "station"
[parts.switch]
is = "ethernet-switch"
[links.net]
star = { hosts = 8 }
ethernet = "10 Gb/s"
delay = "100 ns"
[flows.all]
from = "host.*"
to = "host.*"
pattern = "permutation"
do = "send"
size = "1500 B"
"#;

/// Payload bits per second of messages of 1500 B at 10 Gb/s: 8 B of preamble, 18 B of header and FCS, 12 B of gap.
const LINE: f64 = 10e9 * 1500.0 / 1538.0;

fn fabric(rule: &str, parts: &str) -> String {
    STAR.replace("star = { hosts = 8 }", rule).replace("[parts.switch]\nis = \"ethernet-switch\"\n", parts)
}

#[track_caller]
fn near(a: f64, b: f64) {
    within(1e-9, a, b);
}

/// To the femtosecond.
#[track_caller]
fn takes(report: &Report, name: &str, nanoseconds: f64) {
    let seconds = flow(report, name).latency.typical;
    assert_eq!((seconds * 1e15).round(), (nanoseconds * 1e6).round(), "{seconds}");
}

/// What every report keeps: ledgers add up, and no wire carries more than it can.
fn ledgers(report: &Report) {
    for l in &report.links {
        let entries = l.ledger.entries();
        near(entries.iter().map(|e| e.1).sum(), l.ledger.raw);
        assert!(entries.iter().all(|e| e.1 >= 0.0), "{l:?}");
    }
    let shares: f64 = report.flows.iter().map(|f| f.share.typical).sum();
    near(shares, report.total.as_ref().expect("flows").share.typical);
    for f in &report.flows {
        assert!(f.share.typical <= f.bound.typical * (1.0 + 1e-9), "{f:?}");
    }
}

#[test]
fn one_frame_over_a_star() {
    // Twice 1526 B at 0.8 ns and 100 ns of cable, and 400 ns in the switch.
    let r = run(STAR, &[]);
    takes(&r, "all", 2.0 * (1526.0 * 0.8 + 100.0) + 400.0);
    let f = flow(&r, "all");
    near(f.latency.slower, f.latency.typical + 600e-9);
    near(f.latency.faster, f.latency.typical - 300e-9);
    assert_eq!(f.what, "send 1500 B, host.0 → switch.0 → host.4");
    assert_eq!(f.verdict, Verdict::Stable);
    assert!(f.latency_first.is_none() && f.round_trip.is_none() && f.wanted_each.is_empty());
    near(f.share.typical, 8.0 * LINE);
    near(f.bound.typical, 8.0 * LINE);
    assert_eq!(f.bound_by.words(), "links.net.0 toward switch.0: slots");
    assert_eq!((r.links.len(), r.switches.len()), (16, 1));
    assert_eq!((r.links[0].from.as_str(), r.links[0].to.as_str()), ("switch.0", "host.0"));
    assert_eq!(r.links[0].speed, "10 Gb/s Ethernet");
    near(r.links[0].tlp_overhead.expect("data"), 38.0);
    near(r.links[0].tlps, 10e9 / 8.0 / 1538.0);
    ledgers(&r);
}

#[test]
fn cut_through_waits_for_the_header_or_for_the_frame() {
    let cut = "parts.switch.forwarding=cut-through";
    // 22 B of preamble and header into the switch, the frame out of it.
    takes(&run(STAR, &[cut]), "all", 22.0 * 0.8 + 100.0 + 400.0 + 1526.0 * 0.8 + 100.0);
    let pair = |one: &str, two: &str| {
        format!(
            "[parts.a]\nis = \"station\"\n[parts.b]\nis = \"station\"\n[parts.switch]\nis = \"ethernet-switch\"\n\
             [links.in]\nbetween = [\"a\", \"switch\"]\nethernet = \"{one}\"\ndelay = \"100 ns\"\n\
             [links.out]\nbetween = [\"switch\", \"b\"]\nethernet = \"{two}\"\ndelay = \"100 ns\"\n\
             [flows.f]\nfrom = \"a\"\nto = \"b\"\ndo = \"send\"\nsize = \"1500 B\"\n"
        )
    };
    let (up, down) = (pair("1 Gb/s", "10 Gb/s"), pair("10 Gb/s", "1 Gb/s"));
    takes(&run(&up, &[cut]), "f", 1526.0 * 8.0 + 100.0 + 400.0 + 1526.0 * 0.8 + 100.0);
    takes(&run(&down, &[cut]), "f", 22.0 * 0.8 + 100.0 + 400.0 + 1526.0 * 8.0 + 100.0);
    // Two frames: the second waits for the first on the slow wire, gap included.
    let r = run(&down, &["flows.f.size=3000 B"]);
    takes(&r, "f", 1526.0 * 0.8 + 100.0 + 400.0 + 1538.0 * 8.0 + 1526.0 * 8.0 + 100.0);
    // The slower wire binds, and the faster one is a tenth busy.
    let f = flow(&r, "f");
    near(f.share.typical, LINE / 10.0);
    near(f.bound.typical, LINE / 10.0);
    assert_eq!(f.bound_by.element, "links.out toward b");
    near(r.links[0].ledger.utilisation(), 0.1);
    ledgers(&r);
}

#[test]
fn frames_of_a_message_follow_one_another() {
    // 1500, 1500 and 1000 B. The last is in the switch at 2 x 1230.4 + 820.8 + 500 = 3781.6 ns, but the second has the
    // wire until 1720.8 + 2 x 1230.4.
    let r = run(STAR, &["flows.all.size=4000 B"]);
    takes(&r, "all", 1720.8 + 2.0 * 1230.4 + 820.8 + 100.0);
    near(flow(&r, "all").share.typical, 8.0 * 10e9 * 4000.0 / (1538.0 + 1538.0 + 1038.0));
    let jumbo = run(STAR, &["flows.all.size=9216 B", "links.net.mtu=9216 B"]);
    takes(&jumbo, "all", 2.0 * ((9216.0 + 26.0) * 0.8 + 100.0) + 400.0);
    near(flow(&jumbo, "all").share.typical, 8.0 * 10e9 * 9216.0 / 9254.0);
    // A tebibyte in frames of 1500 B is no sum over frames.
    let long = run(STAR, &["flows.all.size=1 TiB"]);
    assert!((flow(&long, "all").latency.typical / ((1u64 << 40) as f64 * 8.0 / LINE) - 1.0).abs() < 1e-6);
}

#[test]
fn one_frame_over_a_fat_tree() {
    let text = fabric("fat_tree = { k = 4 }", "[parts.switch]\nis = \"ethernet-switch\"\necmp = \"destination\"\n");
    let r = run(&text, &[]);
    // Host, edge, aggregation, core, aggregation, edge, host: six wires, five switches.
    takes(&r, "all", 6.0 * (1526.0 * 0.8 + 100.0) + 5.0 * 400.0);
    near(flow(&r, "all").latency.slower * 1e9, 6.0 * 1320.8 + 5.0 * 1000.0);
    // d-mod-k finds each destination a way of its own.
    near(flow(&r, "all").share.typical, 16.0 * LINE);
    ledgers(&r);
    // Hashed ways meet: somebody gets less, nobody more, and what bound there is says the same of each way.
    let hashed = run(&text, &["parts.switch.ecmp=hash"]);
    let f = flow(&hashed, "all");
    assert!(f.share.typical < 16.0 * LINE * 0.99 && f.each.iter().all(|e| *e <= LINE * (1.0 + 1e-9)), "{f:?}");
    ledgers(&hashed);
    // 95 % of the line are 95 % of the slots.
    let open = run(&text, &["flows.all.load={ share = \"95 %\" }"]);
    let f = flow(&open, "all");
    near(f.share.typical, 16.0 * 0.95 * LINE);
    near(f.wanted_each[3], 0.95 * LINE);
    assert_eq!((f.verdict, f.bound_by.words().as_str()), (Verdict::Stable, "flows.all.0: its own load"));
    let out = open.links.iter().find(|l| l.to == "host.3").expect("a link");
    near(out.ledger.utilisation(), 0.95);
}

#[test]
fn everybody_to_one() {
    let text = STAR.replace("to = \"host.*\"\npattern = \"permutation\"", "to = \"host.0\"");
    let r = run(&text, &[]);
    let f = flow(&r, "all");
    assert_eq!((f.instances, f.bound_by.element.as_str()), (7, "links.net.0 toward host.0"));
    near(f.share.typical, LINE);
    near(f.bound.typical, LINE);
    f.each.iter().for_each(|e| near(*e, LINE / 7.0));
    // Each by itself could have the line.
    let measured = run(&text, &["flows.all.measured=\"2 Gb/s\""]);
    assert_eq!(flow(&measured, "all").measured.as_ref().expect("it is").above_bound, 7);
    // Seven times 20 % of the line are more than the line.
    let open = run(&text, &["flows.all.load={ share = \"20 %\" }"]);
    assert_eq!(flow(&open, "all").verdict, Verdict::Unstable);
    near(flow(&open, "all").share.typical, LINE);
    ledgers(&open);
}

#[test]
fn at_random_and_in_turns_every_line_is_full() {
    for pattern in ["random", "all-to-all"] {
        let r = run(STAR, &[&format!("flows.all.pattern={pattern}")]);
        let f = flow(&r, "all");
        assert_eq!(f.what, "send 1500 B, host.0 → 7 stations");
        near(f.share.typical, 8.0 * LINE);
        near(f.bound.typical, 8.0 * LINE);
        r.links.iter().for_each(|l| near(l.ledger.utilisation(), 1.0));
        ledgers(&r);
    }
    // Six to two: two lines are all that there is.
    let text = STAR.replace("\"host.*\"\nto = \"host.*\"", "\"host.*\"\nto = \"sink.*\"").replace(
        "[links.net]",
        "[parts.sink]\nis = \"station\"\ncount = 2\n[links.sinks]\nbetween = [\"switch.0\", \"sink.*\"]\nethernet = \
            \"10 Gb/s\"\n[links.net]",
    );
    let r = run(&text, &["flows.all.pattern=random"]);
    near(flow(&r, "all").share.typical, 2.0 * LINE);
    near(flow(&r, "all").bound.typical, 2.0 * LINE);
    ledgers(&r);
}

#[test]
fn small_messages_are_padded() {
    let r = run(STAR, &["flows.all.size=1 B"]);
    near(flow(&r, "all").share.typical, 8.0 * 10e9 / 84.0);
    let l = &r.links[0].ledger;
    // 1 B of data, 18 B of header and FCS, 45 B of padding, 20 B of preamble and gap; 64B/66B takes 312.5 Mb/s.
    near(l.framing, l.payload * 63.0);
    near(l.gap, l.payload * 20.0);
    near(l.line_coding, 312.5e6);
    near(r.links[0].tlp_overhead.expect("data"), 83.0);
    takes(&r, "all", 2.0 * (72.0 * 0.8 + 100.0) + 400.0);
    ledgers(&r);
}

const LEAVES: &str = "[parts.leaf]\nis = \"ethernet-switch\"\n[parts.spine]\nis = \"ethernet-switch\"\n";

#[test]
fn an_uplink_that_is_too_narrow() {
    // Eight hosts of 10 Gb/s below a leaf with 40 Gb/s up: half of the line each.
    let text = fabric("leaf_spine = { leaves = 2, spines = 1, hosts = 8 }\nuplink = \"40 Gb/s\"", LEAVES);
    let r = run(&text, &[]);
    let f = flow(&r, "all");
    near(f.share.typical, 16.0 * LINE / 2.0);
    near(f.bound.typical, 16.0 * LINE / 2.0);
    assert!(["links.net.16 toward spine.0", "links.net.17 toward leaf.1"].contains(&f.bound_by.element.as_str()));
    assert_eq!(r.switches.len(), 3);
    ledgers(&r);
}

#[test]
fn who_shares_a_wire_with_many_comes_thin() {
    // To host.0 come three neighbours at a line each, and four from the other leaf over one line: a quarter of it each.
    let text = fabric("leaf_spine = { leaves = 2, spines = 1, hosts = 4 }", LEAVES)
        .replace("to = \"host.*\"\npattern = \"permutation\"", "to = \"host.0\"");
    let r = run(&text, &[]);
    let f = flow(&r, "all");
    assert_eq!(f.instances, 7);
    for (i, e) in f.each.iter().enumerate() {
        near(*e, if i < 3 { LINE / 4.0 } else { LINE / 16.0 });
    }
    ledgers(&r);
}

#[test]
fn a_fifo_is_shared_by_what_comes_unless_flow_control_keeps_it_back() {
    let text = STAR.replace(
        "[flows.all]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"",
        "[flows.light]\nfrom = \"host.1\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\nload = \
            { share = \"25 %\" }\n\
         [flows.heavy]\nfrom = \"host.2\"\nto = \"host.0\"",
    );
    let lossy = run(&text, &[]);
    near(flow(&lossy, "light").share.typical, LINE * 0.2);
    near(flow(&lossy, "heavy").share.typical, LINE * 0.8);
    assert_eq!(flow(&lossy, "light").verdict, Verdict::Unstable);
    for control in ["pause", "pfc", "voq", "credits"] {
        let kept = run(&text, &[&format!("parts.switch.flow_control={control}")]);
        near(flow(&kept, "light").share.typical, LINE * 0.25);
        near(flow(&kept, "heavy").share.typical, LINE * 0.75);
        assert_eq!(flow(&kept, "light").verdict, Verdict::Stable);
        assert_eq!(flow(&kept, "light").bound_by.words(), "flows.light: its own load");
    }
}

#[test]
fn pcie_and_ethernet_in_one_text() {
    let text = STAR.to_owned()
        + "[parts.rc]\nis = \"root-complex\"\n[parts.nic]\nis = \"endpoint\"\n[links.slot]\nbetween = [\"rc\", \
            \"nic\"]\npcie = \"gen3 x8\"\n\
           [flows.rx]\nfrom = \"nic\"\nto = \"rc.memory\"\ndo = \"write\"\nsize = \"2 KiB\"\n";
    let r = run(&text, &[]);
    assert_eq!(r.flows.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["rx", "all"]);
    assert_eq!((r.links.len(), r.links[0].name.as_str(), r.links[2].name.as_str()), (18, "slot", "net.0"));
    let total = r.total.as_ref().expect("flows");
    near(total.bound.typical, flow(&r, "rx").bound.typical + 8.0 * LINE);
    assert!(total.bound_by.element.starts_with("links.net"));
    ledgers(&r);
    let metric = |path: &str| r.metric(path).expect("a metric").value;
    near(metric("flows.all.share"), 8.0 * LINE);
    near(metric("links.net.3.utilisation"), 1.0);
    near(metric("links.net.3.up.efficiency"), 1500.0 / 1538.0);
    let (plan, _) = plan(&text, &[]);
    let error = need(&plan.expect("a plan"), "all", Rate::from_bits(1)).expect_err("not of PCIe");
    assert!(error.contains("Ethernet"), "{error}");
}

#[test]
fn many_pairs_are_looked_at_in_bounded_time() {
    // 1,200 stations are 1.4 million pairs.
    let text = STAR.replace("hosts = 8", "hosts = 1200").replace("permutation", "random");
    let start = std::time::Instant::now();
    let r = run(&text, &[]);
    assert!(start.elapsed().as_secs() < 20);
    near(flow(&r, "all").share.typical, 1200.0 * LINE);
    ledgers(&r);
}

#[test]
fn texts_of_ethernet_fit_the_schema() {
    let validator = jsonschema::validator_for(&lanescope::scenario::schema::json_schema()).expect("a schema");
    let fits = |text: &str| validator.is_valid(&toml::from_str::<serde_json::Value>(text).expect("TOML"));
    assert!(fits(STAR));
    // `latency` belongs to switches of both kinds, with other words around it.
    assert!(fits(
        &STAR.replace("\"ethernet-switch\"", "\"ethernet-switch\"\nlatency = \"1 us\"\nflow_control = \"pfc\"")
    ));
    assert!(fits(
        &STAR.replace("size =", "load = { share = \"90 %\", burst = 20 }\npriority = \"destination\"\nsize =")
    ));
    for (from, to) in [("ethernet =", "ethernt ="), ("\"permutation\"", "\"round\""), ("hosts = 8", "k = 8")] {
        assert!(!fits(&STAR.replace(from, to)), "{to}");
    }
}

/// Both methods' answers about one text, so loaded that no message meets another.
fn alike(text: &str, sets: &[&str]) {
    let sets: Vec<&str> = sets.iter().copied().chain(["run.for=\"2 ms\"", "run.warmup=\"0 s\""]).collect();
    let report = run(text, &sets);
    let simulation = simulate_by(&planned(text, &sets), 1, 1 << 20);
    for (f, s) in report.flows.iter().zip(&simulation.flows) {
        assert!(s.operations > 0, "{}", f.name);
        // The mean of alike numbers, in floats.
        assert!(
            (s.latency.mean - f.latency.typical).abs() < 0.5e-15,
            "{sets:?}: {} {}",
            s.latency.mean,
            f.latency.typical
        );
    }
}

#[test]
fn one_message_takes_as_long_as_in_the_simulation() {
    let tree = fabric("fat_tree = { k = 4 }", "[parts.switch]\nis = \"ethernet-switch\"\necmp = \"destination\"\n");
    let leaves = fabric("leaf_spine = { leaves = 2, spines = 1, hosts = 1 }\nuplink = \"1 Gb/s\"", LEAVES);
    let seldom = "flows.all.load={ rate = \"10 Mb/s\" }";
    let jumbo = "links.net.mtu=9000 B";
    for size in ["1 B", "1500 B", "3000 B", "3001 B", "20000 B"] {
        let size = format!("flows.all.size={size}");
        for text in [STAR, &tree, &leaves] {
            for forwarding in ["store-and-forward", "cut-through"] {
                let kinds = if text == leaves { ["leaf", "spine"].as_slice() } else { &["switch"] };
                let cut: Vec<String> = kinds.iter().map(|k| format!("parts.{k}.forwarding={forwarding}")).collect();
                let mut sets: Vec<&str> = cut.iter().map(String::as_str).chain([size.as_str(), seldom]).collect();
                alike(text, &sets);
                sets.push(jumbo);
                alike(text, &sets);
            }
        }
    }
}

#[test]
fn shares_are_what_the_simulation_finds() {
    let lot = fabric("leaf_spine = { leaves = 2, spines = 1, hosts = 4 }", LEAVES)
        .replace("to = \"host.*\"\npattern = \"permutation\"", "to = \"host.0\"");
    let beside = STAR.replace(
        "[flows.all]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"",
        "[flows.light]\nfrom = \"host.1\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\nload = \
            { share = \"25 %\", arrivals = \"poisson\" }\n\
         [flows.heavy]\nfrom = \"host.2\"\nto = \"host.0\"",
    );
    let paused = ["parts.switch.flow_control=pause", "parts.switch.memory=300 kB"];
    for (text, sets) in [(lot.as_str(), &[][..]), (&beside, &[]), (&beside, &paused), (STAR, &paused)] {
        let sets: Vec<&str> = sets.iter().copied().chain(["run.for=5 ms"]).collect();
        let report = run(text, &sets);
        let simulation = simulate_by(&planned(text, &sets), 1, 1 << 20);
        for (f, s) in report.flows.iter().zip(&simulation.flows) {
            assert!(s.rate.mean <= f.bound.typical * 1.001, "{}: {} {}", f.name, s.rate.mean, f.bound.typical);
            f.each.iter().zip(&s.each).for_each(|(share, simulated)| within(0.03, *share, *simulated));
        }
    }
}
