//! What goes wrong on purpose: each mistake gives a message that points at its place.

use crate::common;
use crate::common::{has, plan, wrong};

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

#[test]
fn the_good_one_is_good() {
    let (plan, diagnostics) = plan(GOOD, &[]);
    assert!(plan.is_some());
    assert_eq!(diagnostics.to_string(), "");
}

#[test]
fn a_rate_of_ethernet_as_it_is_called_is_told_with_its_unit() {
    let text = "[parts.a]\nis = \"station\"\n[parts.b]\nis = \"station\"\n[links.wire]\nbetween = [\"a\", \"b\"]\n\
        ethernet = \"100G\"\n[flows.f]\nfrom = \"a\"\nto = \"b\"\nsize = \"1500 B\"\n";
    for called in ["100G", "100 GbE", "100GE"] {
        has(&wrong(&text.replace("100G", called), &[]), &["t.toml:7", "write \"100 Gb/s\""]);
    }
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
    has(&broken("gen3 x8", "gen3 x3"), &["t.toml:8:8", "there is no width \"x3\"", "x1, x2, x4, x8"]);
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
    has(
        &wrong(&(GOOD.to_owned() + "[parts.lost]\nis = \"switch\"\n"), &[]),
        &["lost is not connected to anything", "between"],
    );
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
    has(&wrong(&(GOOD.to_owned() + "[parts.nic]\nis = \"switch\"\n"), &[]), &["a name is used twice"]);
    has(&broken("\"host\", \"nic\"", "\"host\", \"nick\""), &["there is no part \"nick\"", "did you mean nic?"]);
    has(&broken("host.memory", "host.disk"), &["memory, cache and remote"]);
    has(&wrong(&(GOOD.to_owned() + "[parts.\"nic.0\"]\ntags = 3\n"), &[]), &["not an instance of a part"]);
}

#[test]
fn a_load_that_its_own_link_cannot_carry_is_answered() {
    // Between what framing leaves and the coded rate, above it, and above anything.
    for rate in ["60 Gb/s", "64 Gb/s", "1000000 Tb/s"] {
        let near = GOOD.replace("do = \"write\"", &format!("do = \"write\"\nload = {{ rate = \"{rate}\" }}"));
        let report = common::run(&near, &[]);
        assert_eq!(common::flow(&report, "rx").verdict, lanescope::result::Verdict::Unstable, "{rate}");
    }
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
        &["too large for a duration: at most 5 h"],
    );
    has(&broken("2 KiB", "9999999999999999999999 GiB"), &["too large"]);
    has(&broken("2 KiB", "2000000 TiB"), &["too large for a size"]);
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
    has(&wrong(GOOD, &["links.slot=3"]), &["ends at a table"]);
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
        &["low <= typical <= high"],
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

/// A star and one flow of Ethernet; the texts of the numbers stand at their lines.
const STAR: &str = r#"
[parts.host]
is = "station"
[parts.switch]
is = "ethernet-switch"
[links.net]
star = { hosts = 9 }
ethernet = "10 Gb/s"
[flows.all]
from = "host.*"
to = "host.0"
do = "send"
size = "1500 B"
"#;

fn broken_star(from: &str, to: &str) -> String {
    assert!(STAR.contains(from), "{from}");
    wrong(&STAR.replace(from, to), &[])
}

#[test]
fn a_good_star_is_good() {
    let (plan, diagnostics) = plan(STAR, &[]);
    assert!(plan.is_some());
    assert_eq!(diagnostics.to_string(), "");
}

#[test]
fn thresholds_of_a_switch_against_each_other() {
    let switch = |keys: &str| broken_star("is = \"ethernet-switch\"", &format!("is = \"ethernet-switch\"\n{keys}"));
    has(
        &switch("memory = \"100 KiB\"\nhigh_threshold = \"200 KiB\""),
        &["t.toml:7:18", "high_threshold = 200 KiB is above its memory of 100 KiB", "never be reached"],
    );
    has(
        &switch("high_threshold = \"10 KiB\"\nlow_threshold = \"20 KiB\""),
        &["t.toml:7:17", "low_threshold = 20 KiB is above high_threshold = 10 KiB"],
    );
    has(&switch("ecn_high = \"10 KiB\"\necn_low = \"20 KiB\""), &["t.toml:7:11", "ecn_low = 20 KiB is above ecn_high"]);
    has(&switch("pause_quanta = 65536"), &["t.toml:6:16", "a pause frame holds 1 to 65535"]);
    has(&switch("memory = \"1 KiB\""), &["t.toml:6:10", "smaller than one frame (1518 B)", "stored whole"]);
    let few = switch("ports = 8");
    has(&few, &["switch.0 has no port 8: it has 8"]);
    assert!(!few.contains("wired to nothing"), "{few}");
}

#[test]
fn a_frame_larger_than_its_adapter() {
    let host = |keys: &str| broken_star("is = \"station\"", &format!("is = \"station\"\n{keys}"));
    has(&host("nic_buffer = \"1 KiB\""), &["t.toml:4:14", "smaller than one frame of flow all (1518 B)", "fit whole"]);
    has(&host("mac_buffer = \"1517 B\""), &["t.toml:4:14", "smaller than one frame of flow all (1518 B)"]);
}

#[test]
fn priorities_that_ethernet_does_not_have() {
    let all = "to = \"host.0\"";
    has(
        &broken_star(all, "to = \"host.*\"\npattern = \"permutation\"\npriority = \"destination\""),
        &["t.toml:13:12", "9 destinations, but there are 8 priorities"],
    );
    has(&broken_star(all, "to = \"host.0\"\npriority = 8"), &["t.toml:12:12", "8 priorities", "0 to 7"]);
}

#[test]
fn switches_that_nothing_joins() {
    let apart = "[parts.a]\nis = \"station\"\n[parts.b]\nis = \"station\"\n[parts.sw]\nis = \"ethernet-switch\"\ncount \
        = 2\n\
        [links.one]\nbetween = [\"a\", \"sw.0\"]\nethernet = \"10 Gb/s\"\n[links.two]\nbetween = [\"b\", \
        \"sw.1\"]\nethernet = \"10 Gb/s\"\n\
        [flows.f]\nfrom = \"a\"\nto = \"b\"\ndo = \"send\"\nsize = \"64 B\"\n";
    has(&wrong(apart, &[]), &["t.toml:15:8", "there is no path from a to b", "no chain of links"]);
    let lost = apart.replace("[flows.f]", "[parts.c]\nis = \"station\"\n[flows.f]");
    has(&wrong(&lost, &[]), &["c is not connected to anything", "add a link"]);
    let twice = apart.replace("\"b\", \"sw.1\"", "\"a\", \"sw.1\"");
    has(&wrong(&twice, &[]), &["a is already plugged into another link"]);
}

#[test]
fn ethernet_links_and_rules_that_do_not_exist() {
    has(&broken_star("10 Gb/s", "9 Gb/s"), &["t.toml:8:12", "no MAC runs at 9 Gb/s", "10 Gb/s"]);
    has(
        &broken_star("star = { hosts = 9 }", "fat_tree = { k = 3 }"),
        &["t.toml:7:12", "a fat tree has an even k", "not 3"],
    );
    has(
        &broken_star("hosts = 9 }", "hosts = 9, host = \"hots\" }"),
        &["t.toml:7:8", "uses parts.hots, which does not exist", "did you mean parts.host?"],
    );
    has(
        &broken_star("hosts = 9", "hosts = 9, swich = \"switch\""),
        &["t.toml:7:8", "\"swich\"", "did you mean switch?"],
    );
    has(&broken_star("hosts = 9", "hosts = 0"), &["hosts = 0 makes no fabric"]);
    has(&broken_star("star = { hosts = 9 }\n", ""), &["t.toml:6:8", "has no ends", "star, leaf_spine or fat_tree"]);
    has(&broken_star("hosts = 9", "hosts = 300000"), &["this rule makes 300000 of host, more than 262144"]);
    has(&broken_star("hosts = 9", "hosts = 90000"), &["switch.0 has no port 4096"]);
    has(&broken_star("ethernet = ", "delay = \"1 ns\"\nlength = \"1 m\"\nethernet = "), &["both a delay and a length"]);
    has(&broken_star("ethernet = ", "mtu = \"9217 B\"\nethernet = "), &["t.toml:8:7", "46 to 9216 B"]);
}

#[test]
fn loads_that_frames_cannot_have() {
    let load = |load: &str| broken_star("size = ", &format!("load = {load}\nsize = "));
    has(&load("{ outstanding = 4 }"), &["t.toml:13:8", "no answers that a closed load could wait for"]);
    has(&load("{ share = \"50 %\", brust = 3 }"), &["\"brust\"", "did you mean burst?"]);
    has(&load("{ share = \"50 %\", burst = 0 }"), &["1 to 1,000,000"]);
    has(&broken_star("do = \"send\"", "do = \"send\"\nheader = \"3DW\""), &["\"header\""]);
    has(&broken_star("to = \"host.0\"", "to = \"switch.0\""), &["t.toml:11:6", "is a switch"]);
}

const BUS: &str = r#"
[parts.bridge]
is = "host-bridge"
[parts.nic]
is = "pci-device"
count = 2
[links.slots]
between = ["bridge", "nic.*"]
pci = "pci-x 100 64-bit"
[flows.rx]
from = "nic.*"
to = "bridge.memory"
do = "write"
size = "4 KiB"
"#;

fn broken_bus(from: &str, to: &str) -> String {
    assert!(BUS.contains(from), "{from}");
    wrong(&BUS.replace(from, to), &[])
}

#[test]
fn buses_that_do_not_exist() {
    assert_eq!(plan(BUS, &[]).1.to_string(), "");
    let speed = |to: &str| broken_bus("pci-x 100 64-bit", to);
    has(&speed("pci-x 133 128-bit"), &["t.toml:9:7", "pci-x is not \"128-bit\" wide", "32-bit or 64-bit"]);
    has(&speed("pci-x 150 64-bit"), &["t.toml:9:7", "pci-x has no clock \"150\"", "66, 100, 133, 266, 533"]);
    has(&speed("pci 133 64-bit"), &["pci has no clock \"133\""]);
    has(&speed("pci"), &["\"pci\" is not a valid bus", "pci-x 133 64-bit"]);
    has(&broken_bus("\"pci-x 100 64-bit\"", "100"), &["expected a bus", "pci-x 133 64-bit"]);
    // More devices than the electrical rules carry are a warning, no error.
    let (fine, d) = plan(&BUS.replace("100", "133"), &[]);
    assert!(fine.is_some());
    has(&d.to_string(), &["warning", "links.slots: 2 devices, but pci-x 133 64-bit carries 1"]);
}

#[test]
fn parts_of_buses_in_wrong_places() {
    let between = |to: &str| broken_bus("[\"bridge\", \"nic.*\"]", to);
    has(&between("[\"bridge\"]"), &["t.toml:8:11", "has 1 on it", "its bridge first"]);
    has(&between("[\"nic.*\", \"bridge\"]"), &["t.toml:8:12", "nic.0 is a device", "comes first"]);
    has(&between("[\"bridge\", \"nic.0\"]"), &["t.toml:4:8", "nic.1 is on no bus", "between"]);
    has(&between("[\"bridge\", \"nic.*\", \"nic.1\"]"), &["nic.1 is already on links.slots"]);
    has(&between("[\"bridge\", \"nic.*.up\"]"), &["has no port \"up\""]);
    has(&between("[\"bridge\", \"nik.*\"]"), &["there is no part \"nik\"", "did you mean nic?"]);
    has(&broken_bus("\"bridge.memory\"", "\"bridge\""), &["t.toml:12:6", "not memory of a host bridge"]);
    has(&broken_bus("\"bridge.memory\"", "\"nic.0\""), &["not memory of a host bridge"]);
    has(
        &broken_bus("from = \"nic.*\"", "from = \"bridge\""),
        &["t.toml:11:8", "bridge is a host bridge", "only answers"],
    );
    has(&broken_bus("from = \"nic.*\"", "from = \"nik.*\""), &["did you mean nic?"]);
    has(&broken_bus("from = \"nic.*\"", "header = \"3DW\"\nfrom = \"nic.*\""), &["header is PCIe's", "dual_address"]);
    let other = BUS.replace(
        "[flows.rx]",
        "[parts.far]\nis = \"host-bridge\"\n[parts.disk]\nis = \
        \"pci-device\"\n[links.far]\nbetween = [\"far\", \"disk\"]\npci = \"pci 33 32-bit\"\n[flows.rx]",
    );
    has(
        &wrong(&other.replace("\"bridge.memory\"", "\"far.memory\""), &[]),
        &["nic.0 and far share no bus", "links.slots"],
    );
}

#[test]
fn values_that_buses_cannot_have() {
    let device = |line: &str| broken_bus("count = 2", &format!("count = 2\n{line}"));
    has(&device("burst = \"0 B\""), &["t.toml:7:9", "burst: 0 B is not allowed", "1 B to 4 KiB"]);
    has(&device("burst = \"8 KiB\""), &["8 KiB is not allowed"]);
    has(&device("splits = 0"), &["splits: 0 is not allowed", "1 to 32"]);
    has(&device("splits = 1000"), &["splits: 1000 is not allowed"]);
    has(&device("read_byte_count = \"768 B\""), &["512, 1024, 2048 and 4096 B"]);
    has(&device("latency_timer = 256"), &["0 to 255"]);
    has(&device("turnaround = 4"), &["a delay needs its unit"]);
    has(&device("turnaround = \"4 B\""), &["a delay has no unit \"B\""]);
    has(
        &device("turnaround = { low = \"1 clocks\", typical = \"60 ns\", high = \"9 clocks\" }"),
        &["low <= typical <= high"],
    );
    has(&device("tags = 8"), &["a device on a bus has no key \"tags\"", "belongs to endpoint"]);
    has(
        &broken_bus("is = \"host-bridge\"", "is = \"host-bridge\"\ndisconnect = \"500 B\""),
        &["t.toml:4:14", "disconnect = 500 B is not a multiple of 128 B"],
    );
    has(&broken_bus("\"4 KiB\"", "\"0 B\""), &["t.toml:14:8", "moves nothing"]);
}
