//! What goes wrong on purpose: each mistake gives a message that points at its place.

mod common;
use common::{plan, wrong};

/// One link and one flow, right in all its parts; tests break it by replacing a piece.
const GOOD: &str = r#"
[parts.host]
is = "root-complex"
[parts.nic]
is = "endpoint"
[links.slot]
between = ["host", "nic"]
pcie = "gen3 x8"
mps = "256 B"
[flows.rx]
from = "nic"
to = "host.memory"
do = "write"
size = "2 KiB"
"#;

fn broken(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    wrong(&GOOD.replace(from, to), &[])
}

fn has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in:\n{message}");
    }
}

#[test]
fn the_good_one_is_good() {
    let (plan, diagnostics) = plan(GOOD, &[]);
    assert!(plan.is_some());
    assert_eq!(diagnostics.to_string(), "");
}

#[test]
fn two_misspelt_keys_are_both_shown() {
    let m = wrong(&GOOD.replace("pcie", "pice").replace("size", "sise"), &[]);
    has(&m, &["t.toml:8:1", "\"pice\"", "did you mean pcie?", "t.toml:14:1", "\"sise\"", "did you mean size?"]);
}

#[test]
fn a_wrong_kind_does_not_hide_other_mistakes() {
    has(
        &broken("is = \"endpoint\"", "is = \"endpiont\"\ntgas = 3"),
        &["did you mean \"endpoint\"?", "\"tgas\"", "tags"],
    );
}

#[test]
fn units_are_missing_or_wrong() {
    has(&broken("\"2 KiB\"", "2048"), &["t.toml:14:8", "needs its unit", "2048 B"]);
    has(&broken("\"2 KiB\"", "\"2048\""), &["needs its unit"]);
    has(&broken("\"2 KiB\"", "\"2 KB\""), &["write kB (1000) or KiB (1024)"]);
    has(&broken("\"2 KiB\"", "\"2 ns\""), &["a size has no unit \"ns\""]);
    has(&broken("do = \"write\"", "do = \"write\"\nmeasured = \"9 Gbps\""), &["write Gb/s for bits"]);
}

#[test]
fn links_that_do_not_exist() {
    has(&broken("gen3 x8", "gen3 x3"), &["t.toml:8:8", "there is no link of \"x3\"", "x1, x2, x4, x8"]);
    has(&broken("gen3 x8", "gen9 x8"), &["there is no generation"]);
    has(&broken("gen3 x8", "x8"), &["generation and width"]);
    has(&broken("256 B", "192 B"), &["t.toml:9:7", "cannot be 192 B", "128, 256, 512"]);
    has(&broken("is = \"endpoint\"", "is = \"endpoint\"\nmax_read_request = \"8 KiB\""), &["cannot be 8 KiB"]);
    has(&broken("is = \"root-complex\"", "is = \"root-complex\"\ncompletion_size = \"96 B\""), &["cannot be 96 B"]);
}

#[test]
fn a_port_faster_or_wider_than_its_part() {
    has(
        &broken("is = \"endpoint\"", "is = \"endpoint\"\ngeneration = \"gen2\""),
        &["t.toml:9:8", "runs at gen3", "gen2 part", "gen2 x8"],
    );
    has(&broken("is = \"endpoint\"", "is = \"endpoint\"\nlanes = \"x4\""), &["is x8, but nic has x4 ports"]);
}

#[test]
fn loops_and_loose_ends() {
    has(&wrong(&(GOOD.to_owned() + "[parts.lost]\nis = \"switch\"\n"), &[]), &["lost is wired to nothing", "between"]);
    let ring = r#"
[parts.a]
is = "switch"
[parts.b]
is = "switch"
[links.one]
between = ["a.down.0", "b.up"]
pcie = "gen3 x8"
[links.two]
between = ["b.down.0", "a.up"]
pcie = "gen3 x8"
"#;
    has(&wrong(ring, &[]), &["closes a loop", "crosslink = true"]);
    let second = ring.replace("b.down.0\", \"a.up", "a.down.1\", \"b.up");
    has(&wrong(&second, &[]), &["b.up is already plugged into links.one", "loop"]);
    let beside = ring.replace("b.down.0\", \"a.up", "a.down.1\", \"b.down.0");
    has(&wrong(&beside, &[]), &["joins two downstream ports", "crosslink = true"]);
}

#[test]
fn names_twice_or_nowhere() {
    has(&wrong(&(GOOD.to_owned() + "[parts.nic]\nis = \"switch\"\n"), &[]), &["two things have the same name"]);
    has(&broken("\"host\", \"nic\"", "\"host\", \"nick\""), &["there is no part \"nick\"", "did you mean nic?"]);
    has(&broken("host.memory", "host.disk"), &["memory, cache and remote"]);
    has(&wrong(&(GOOD.to_owned() + "[parts.\"nic.0\"]\ntags = 3\n"), &[]), &["no instance of a part"]);
}

#[test]
fn a_load_that_its_own_link_cannot_carry() {
    has(
        &broken("do = \"write\"", "do = \"write\"\nload = { rate = \"64 Gb/s\" }"),
        &["64 Gb/s is more than links.slot carries", "63.02 Gb/s"],
    );
    // Between what framing leaves and the coded rate it is a load like any other, and unstable.
    let near = GOOD.replace("do = \"write\"", "do = \"write\"\nload = { rate = \"60 Gb/s\" }");
    let report = common::run(&near, &[]);
    assert_eq!(common::flow(&report, "rx").verdict, lanescope::result::Verdict::Unstable);
}

#[test]
fn a_request_larger_than_any_buffer() {
    let m = broken("is = \"root-complex\"", "is = \"root-complex\"\nposted_data = 8");
    has(&m, &["a buffer of 128 B is smaller than one packet of flow rx (256 B)", "at least 16"]);
    has(
        &broken("is = \"root-complex\"", "is = \"root-complex\"\nposted_headers = 0"),
        &["advertises no posted_headers"],
    );
}

#[test]
fn huge_numbers_are_refused_before_any_work() {
    has(&broken("is = \"endpoint\"", "is = \"endpoint\"\ncount = 16000000"), &["more than 10000 parts"]);
    has(&broken("is = \"endpoint\"", "is = \"endpoint\"\ncount = 99999999999999999999"), &["a count is at most"]);
    has(
        &broken("is = \"endpoint\"", "is = \"endpoint\"\nturnaround = \"6 h\""),
        &["too much for a duration: at most 5 h"],
    );
    has(&broken("2 KiB", "9999999999999999999999 GiB"), &["too much"]);
    has(&broken("2 KiB", "2000000 TiB"), &["too much for a size"]);
    has(&wrong(&"x".repeat(2 << 20), &[]), &["too long for a scenario"]);
    let deep = "a = ".to_owned() + &"[".repeat(100_000);
    assert!(!wrong(&deep, &[]).is_empty());
}

#[test]
fn texts_that_are_no_scenario() {
    has(&wrong("", &[]), &["is empty", "lanescope new"]);
    has(&wrong("# nothing\n", &[]), &["no parts"]);
    has(&wrong("\u{0}\u{1}\u{2}", &[]), &["not TOML"]);
    has(&wrong("flows = 3\nparts = []\n", &[]), &["parts holds tables", "flows holds tables"]);
}

#[test]
fn sets_that_point_nowhere() {
    has(&wrong(GOOD, &["links.slto.pcie=gen4 x8"]), &["no link \"slto\"", "did you mean links.slot?"]);
    has(&wrong(GOOD, &["links.slot.pice=gen4 x8"]), &["did you mean pcie?"]);
    has(&wrong(GOOD, &["links.slot=3"]), &["stops at a thing"]);
    has(&wrong(GOOD, &["no equals sign"]), &["path=value"]);
    assert!(plan(GOOD, &["links.slot.pcie=\"gen4 x8\"", "flows.rx.size=64 B"]).0.is_some());
}

#[test]
fn ranges_that_are_none() {
    has(
        &broken("is = \"endpoint\"", "is = \"endpoint\"\nturnaround = { low = \"3 ns\", high = \"4 ns\" }"),
        &["low, typical and high"],
    );
    has(
        &broken(
            "is = \"endpoint\"",
            "is = \"endpoint\"\nturnaround = { low = \"9 ns\", typical = \"5 ns\", high = \"6 ns\" }",
        ),
        &["must rise"],
    );
    has(
        &broken("is = \"endpoint\"", "is = \"endpoint\"\nlanes = { low = \"x1\", typical = \"x4\", high = \"x8\" }"),
        &["one value, not a range"],
    );
}

#[test]
fn what_is_legal_but_suspicious_is_a_warning() {
    let wide = GOOD.replace("is = \"endpoint\"", "is = \"endpoint\"\nlanes = \"x16\"\nmax_payload = \"128 B\"");
    let (plan, diagnostics) = plan(&wide, &[]);
    let plan = plan.expect("legal");
    has(&diagnostics.to_string(), &["could use x16 and runs at x8", "MPS 256 B is clamped to 128 B by nic"]);
    assert_eq!(plan.links[0].mps.typical.bytes(), 128);
}

#[test]
fn a_library_number_says_where_it_is_from() {
    use lanescope::diagnostic::Diagnostics;
    use lanescope::library::Library;
    use lanescope::scenario::{Included, tree::Author};
    let mut d = Diagnostics::default();
    let text = GOOD.to_owned();
    let included = Included { name: "platforms/x.toml".into(), text, author: Author::Library };
    assert!(lanescope::plan(&mut d, included, &[], &Library).is_none());
    has(&d.to_string(), &["where it is from", "origin"]);
}

#[test]
fn buffers_smaller_than_a_packet_are_refused() {
    has(
        &broken("is = \"endpoint\"", "is = \"endpoint\"\nreplay_buffer = \"200 B\""),
        &["replay_buffer of 200 B", "280 B"],
    );
    has(
        &broken("is = \"root-complex\"", "is = \"root-complex\"\nposted_data = 15"),
        &["smaller than one packet", "at least 16"],
    );
    has(
        &broken("is = \"root-complex\"", "is = \"root-complex\"\nposted_headers = 0"),
        &["nothing of flow rx can ever be sent"],
    );
}
