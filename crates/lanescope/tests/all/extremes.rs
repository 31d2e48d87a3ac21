//! Limits are limits: whatever a key is set to, a scenario is refused with a place and a hint, or it is planned, worked
//! out and simulated to an end, in bounded time and memory, without overflow (this profile checks), and what is printed
//! meets its own schema.
//!
//! Keys come from the schema, so a new one is tried as soon as it is there. Small bases of every technology are the
//! ground; one to three values are laid over one. Each case runs beside the test, which watches time and memory: what
//! never ends has no stack to unwind.

use crate::common;
use crate::common::alone;
use crate::common::choices::cases;
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::estimate::estimate;
use lanescope::pens::{self, Paint};
use lanescope::plan::Plan;
use lanescope::result::{Report, json_schema};
use lanescope::scenario::keys::{self, FLOW_KINDS, Key, LINK_KINDS, PART_KINDS};
use lanescope::sim::{Run, Step};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest that one case may take; the slowest known takes a tenth of it in this profile on an idle machine.
const LONGEST: Duration = Duration::from_secs(60);
/// What a case may add to the memory of the process: what stands in the arenas of the largest plan that is accepted.
const MOST_MEMORY: u64 = 1 << 30;
/// Packets on links, and events for each of them, that a run may take.
const PACKETS: u64 = 20_000;
const EVENTS: u64 = 6_000_000;
/// Caps that the cases get, by packets and by simulated time.
const CAPS: [&str; 2] = ["run.max_packets=20000", "run.max_time=\"2 ms\""];

/// Bases: the scenarios that `lanescope new` prints, and what they leave out.
const BASES: [(&str, &str); 19] = [
    ("pcie", include_str!("../../../lanescope-cli/src/starter.toml")),
    ("pcie-loads", PCIE),
    ("backbone", BACKBONE),
    ("ethernet", include_str!("../../../lanescope-cli/src/starter-ethernet.toml")),
    ("star", STAR),
    ("leaf-spine", LEAF_SPINE),
    ("fat-tree", FAT_TREE),
    ("pci", include_str!("../../../lanescope-cli/src/starter-pci.toml")),
    ("pci-x", BUS),
    ("storage", include_str!("../../../lanescope-cli/src/starter-storage.toml")),
    ("fc", FC),
    ("sas", SAS),
    ("scsi", SCSI),
    ("array", ARRAY),
    ("cluster", include_str!("../../../lanescope-cli/src/starter-cluster.toml")),
    ("roce", include_str!("../../../lanescope-cli/src/starter-roce.toml")),
    // At flow level: `[run]` is their last table.
    ("cluster-flows", concat!(include_str!("../../../lanescope-cli/src/starter-cluster.toml"), "\nlevel = \"flow\"\n")),
    ("roce-flows", concat!(include_str!("../../../lanescope-cli/src/starter-roce.toml"), "\nlevel = \"flow\"\n")),
    ("overload", include_str!("../cases/overload-not-reported.toml")),
];

const PCIE: &str = r#"
[parts.host]
is = "root-complex"
[parts.sw]
is = "switch"
[parts.dev]
is = "endpoint"
count = 2
[links.up]
between = ["host", "sw.up"]
pcie = "gen2 x4"
[links.slots]
between = ["sw.down.*", "dev.*"]
pcie = "gen2 x4"
[flows.open]
from = "dev.*"
to = "host.memory"
do = "write"
size = "512 B"
load = { rate = "2 Gb/s", arrivals = "poisson" }
[flows.closed]
from = "dev.0"
to = "host.memory"
do = "alternate"
size = "4 KiB"
load = { outstanding = 4, think = "1 us" }
[flows.peer]
from = "dev.0"
to = "dev.1"
do = "write"
size = "256 B"
"#;
const BACKBONE: &str = r#"
[parts.host]
is = "root-complex"
backbone_clock = "125 MHz"
backbone_width = "16 B"
backbone_line = "64 B"
backbone_latency = "10 ns"
arbitration_clocks = 1
request_clocks = 3
completion_clocks = 4
[parts.dev]
is = "endpoint"
[links.up]
between = ["host", "dev"]
pcie = "gen1 x4"
[flows.rd]
from = "dev"
to = "host.memory"
do = "read"
size = "4 KiB"
"#;
const STAR: &str = r#"
[parts.sw]
is = "ethernet-switch"
[parts.a]
is = "station"
count = 3
[parts.b]
is = "station"
[links.as]
between = ["a.*", "sw"]
ethernet = "10 Gb/s"
[links.b]
between = ["b", "sw"]
ethernet = "10 Gb/s"
[flows.in]
from = "a.*"
to = "b"
do = "send"
size = "1500 B"
load = { rate = "3 Gb/s", burst = 20 }
"#;
const LEAF_SPINE: &str = r#"
[parts.leaf]
is = "ethernet-switch"
count = 2
flow_control = "pause"
[parts.spine]
is = "ethernet-switch"
count = 2
flow_control = "pause"
[parts.a]
is = "station"
count = 2
[parts.b]
is = "station"
count = 2
[links.a]
between = ["a.*", "leaf.0"]
ethernet = "10 Gb/s"
[links.b]
between = ["b.*", "leaf.1"]
ethernet = "10 Gb/s"
[links.s0]
between = ["spine.0", "leaf.*"]
ethernet = "10 Gb/s"
[links.s1]
between = ["spine.1", "leaf.*"]
ethernet = "10 Gb/s"
[flows.x]
from = "a.*"
to = "b.*"
do = "send"
size = "9000 B"
"#;
const FAT_TREE: &str = r#"
[parts.core]
is = "ethernet-switch"
flow_control = "pfc"
buffers = "shared"
[parts.edge]
is = "ethernet-switch"
count = 2
flow_control = "pfc"
[parts.a]
is = "station"
count = 2
[parts.b]
is = "station"
[links.e]
between = ["edge.*", "core"]
ethernet = "25 Gb/s"
[links.a]
between = ["a.*", "edge.0"]
ethernet = "25 Gb/s"
[links.b]
between = ["b", "edge.1"]
ethernet = "25 Gb/s"
[flows.x]
from = "a.*"
to = "b"
do = "send"
size = "1500 B"
load = { share = "70 %", arrivals = "poisson" }
"#;
const BUS: &str = r#"
[parts.host]
is = "host-bridge"
[parts.dev]
is = "pci-device"
count = 2
[links.bus]
between = ["host", "dev.*"]
pci = "pci-x 133 64-bit"
[flows.rd]
from = "dev.0"
to = "host.memory"
do = "read"
size = "4 KiB"
[flows.wr]
from = "dev.1"
to = "host.memory"
do = "write"
size = "512 B"
load = { rate = "100 Mb/s" }
"#;
const FC: &str = r#"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
[links.slot]
between = ["host", "hba"]
pcie = "gen1 x4"
[parts.ram]
is = "ram-disk"
[links.fc]
between = ["hba", "ram"]
fc = "4GFC"
[flows.io]
from = "host"
to = "ram"
do = "io"
access = { size = "64 KiB", read = "50 %" }
outstanding = 8
"#;
const SAS: &str = r#"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
[links.slot]
between = ["host", "hba"]
pcie = "gen2 x4"
[parts.ssd]
is = "ssd"
[links.sas]
between = ["hba", "ssd"]
sas = "6 Gb/s"
[flows.io]
from = "host"
to = "ssd"
do = "io"
access = { size = "8 KiB", read = "70 %" }
outstanding = 4
"#;
const SCSI: &str = r#"
[parts.host]
is = "host-bridge"
[parts.hba]
is = "host-adapter"
[links.bus]
between = ["host", "hba"]
pci = "pci 66 64-bit"
[parts.disk]
is = "disk"
count = 2
[links.scsi]
between = ["hba", "disk.*"]
scsi = "ultra320"
[flows.io]
from = "host"
to = "disk.*"
do = "io"
access = { size = "64 KiB", read = "100 %" }
outstanding = 2
"#;
const ARRAY: &str = r#"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
cache = "16 MiB"
[links.slot]
between = ["host", "hba"]
pcie = "gen2 x4"
[parts.disk]
is = "disk"
count = 4
[links.sas]
between = ["hba", "disk.*"]
sas = "3 Gb/s"
[parts.raid]
is = "array"
disks = ["disk.*"]
level = "raid5"
[flows.io]
from = "host"
to = "raid"
do = "io"
access = { size = "64 KiB", read = "50 %" }
outstanding = 4
"#;

/// Numbers that follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn word<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[(self.next() % all.len() as u64) as usize]
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[(self.next() % all.len() as u64) as usize]
    }
}

const COUNTS: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "64",
    "255",
    "1000",
    "4097",
    "65535",
    "65536",
    "1048576",
    "16777216",
    "4294967295",
    "18446744073709551615",
    "-1",
];
const TIMES: [&str; 12] =
    ["0 s", "1 fs", "1 ps", "3 ns", "1 us", "7 ms", "1 s", "100 s", "1 h", "5 h", "18446 s", "99999999 h"];
const SIZES: [&str; 14] = [
    "0 B", "1 B", "3 B", "64 B", "4 KiB", "4097 B", "65535 B", "1 MiB", "1 GiB", "1 TiB", "17 TB", "1 PB", "16 EiB",
    "-1 B",
];
const RATES: [&str; 12] = [
    "0 b/s",
    "1e-9 b/s",
    "1 b/s",
    "3 kb/s",
    "1 Mb/s",
    "999 Mb/s",
    "7 Gb/s",
    "100 Gb/s",
    "1 Tb/s",
    "1000000 Tb/s",
    "1e30 b/s",
    "NaN b/s",
];
const CLOCKS: [&str; 8] = ["0 Hz", "1 Hz", "1 kHz", "33 MHz", "1 GHz", "999 GHz", "1e12 GHz", "-1 Hz"];
const LENGTHS: [&str; 7] = ["0 m", "1 mm", "3 m", "100 km", "40000 km", "1e12 km", "-1 m"];
const PERCENTS: [&str; 9] = ["0 %", "0.000001 %", "0.1 %", "50 %", "99.999 %", "100 %", "101 %", "1e300 %", "nan"];

/// A value as TOML that a key's schema speaks of, at an end of what its type can hold.
fn value(random: &mut Random, key: &Key, base: &[(String, String)]) -> String {
    let schema = (key.schema)();
    let quoted = |s: &str| format!("\"{s}\"");
    if let Some(all) = schema.get("enum").and_then(|e| e.as_array()) {
        return random.of(all).to_string();
    }
    let text = schema.to_string();
    if random.next().is_multiple_of(16) {
        let odd = ["nan", "inf", "-inf", "\"NaN\"", "\"\"", "[]", "{}", "true", "1e308", "-0.0"];
        return random.word(&odd).to_owned();
    }
    let (time, rate, size) = (quoted(random.word(&TIMES)), quoted(random.word(&RATES)), quoted(random.word(&SIZES)));
    let count = random.word(&COUNTS);
    if text.contains("\"outstanding\"") || text.contains("\"burst\"") || text.contains("\"think\"") {
        let share = quoted(random.word(&PERCENTS));
        let forms = [
            "\"saturate\"".to_owned(),
            format!("{{ rate = {rate} }}"),
            format!("{{ rate = {rate}, arrivals = \"poisson\" }}"),
            format!("{{ share = {share} }}"),
            format!("{{ rate = {rate}, burst = {count} }}"),
            format!("{{ outstanding = {count} }}"),
            format!("{{ outstanding = {count}, think = {time} }}"),
        ];
        return random.of(&forms).clone();
    }
    if text.contains("a duration") {
        return time;
    }
    if text.contains("a rate") {
        return rate;
    }
    if text.contains("a size") {
        return size;
    }
    if text.contains("a clock") {
        return quoted(random.word(&CLOCKS));
    }
    if text.contains("a length") {
        return quoted(random.word(&LENGTHS));
    }
    if text.contains('%') {
        return quoted(random.word(&PERCENTS));
    }
    if text.contains("boolean") {
        return random.word(&["true", "false"]).to_owned();
    }
    if text.contains("integer") || text.contains("\"number\"") {
        return count.to_owned();
    }
    // Words of other things: of this base, at least.
    match random.next() % 3 {
        0 => quoted(&random.of(base).1),
        1 => quoted("*"),
        _ => quoted("x"),
    }
}

/// The tables of a text: their paths, and which keys may stand there.
fn tables(text: &str) -> Vec<(String, Vec<&'static Key>)> {
    let doc: toml::Table = text.parse().expect("a base is TOML");
    let mut all = vec![("run".to_owned(), keys::RUN.iter().collect())];
    let has = |t: &toml::Value, name: &str| t.get(name).is_some();
    for (section, things) in &doc {
        let Some(things) = things.as_table() else { continue };
        for (name, thing) in things {
            let list: Vec<&'static [Key]> = match section.as_str() {
                "parts" => match thing.get("is").and_then(|k| k.as_str()) {
                    Some(kind) => PART_KINDS.iter().filter(|row| row.word == kind).map(|row| row.keys).collect(),
                    None => PART_KINDS.iter().map(|row| row.keys).collect(),
                },
                "links" => LINK_KINDS.iter().filter(|kind| has(thing, kind.key)).map(|kind| kind.keys).collect(),
                "flows" => {
                    let does = thing.get("do").and_then(|d| d.as_str()).unwrap_or("read");
                    FLOW_KINDS.iter().filter(|kind| kind.does.contains(&does)).map(|kind| kind.keys).collect()
                }
                _ => continue,
            };
            all.push((format!("{section}.{name}"), list.into_iter().flatten().collect()));
        }
    }
    all.retain(|(_, keys): &(String, Vec<&Key>)| !keys.is_empty());
    all
}

/// Some values over a base.
fn case(seed: u64) -> (usize, Vec<String>) {
    let random = &mut Random(seed);
    let base = (random.next() % BASES.len() as u64) as usize;
    let tables = tables(BASES[base].1);
    let names: Vec<(String, String)> =
        tables.iter().filter_map(|(path, _)| path.split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned()))).collect();
    let sets = 1 + [0, 0, 1, 2][(random.next() % 4) as usize];
    let sets = (0..sets).map(|_| {
        let (path, keys) = random.of(&tables);
        if path.starts_with("parts.") && random.next().is_multiple_of(12) {
            return format!("{path}.count={}", random.word(&COUNTS));
        }
        let key = *random.of(keys);
        format!("{path}.{}={}", key.name, value(random, key, &names))
    });
    (base, sets.collect())
}

/// The same over a base of PCIe alone: its text, and the values.
pub(crate) fn case_of_pcie(mut seed: u64) -> (&'static str, Vec<String>) {
    loop {
        let (base, sets) = case(seed);
        if ["pcie", "pcie-loads", "backbone"].contains(&BASES[base].0) {
            return (BASES[base].1, sets);
        }
        seed = Random(seed).next();
    }
}

/// What came of a case: refused, or how it ended.
type Outcome = Result<Option<String>, String>;

fn report_meets_its_schema(report: &Report) -> Result<(), String> {
    static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| jsonschema::validator_for(&json_schema()).expect("the schema is one"));
    let json = serde_json::to_value(report).map_err(|e| format!("no JSON: {e}"))?;
    if let Some(e) = schema.iter_errors(&json).next() {
        return Err(format!("{} breaks the schema: {e}", e.instance_path()));
    }
    numbers("", &json)
}

/// No number is absurd: beyond what any machine does, or less than nothing where it counts something.
fn numbers(path: &str, json: &serde_json::Value) -> Result<(), String> {
    use serde_json::Value::{Array, Number, Object};
    match json {
        Number(n) => {
            let v = n.as_f64().unwrap_or(f64::NAN);
            // What may lie on either side of zero is a difference.
            let signed = path.contains("unexplained");
            let fine = v.is_finite() && (v >= 0.0 || signed) && v.abs() < 1e32;
            if fine { Ok(()) } else { Err(format!("{path} is {v}")) }
        }
        Array(all) => all.iter().enumerate().try_for_each(|(i, v)| numbers(&format!("{path}.{i}"), v)),
        Object(all) => all.iter().try_for_each(|(k, v)| numbers(&format!("{path}.{k}"), v)),
        _ => Ok(()),
    }
}

fn has_odd_words(text: &str) -> bool {
    let odd = |w: &str| ["NaN", "nan", "inf", "-inf"].contains(&w);
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(odd)
}

fn walk(base: usize, sets: &[String]) -> Outcome {
    let sets: Vec<&str> = sets.iter().map(String::as_str).chain(CAPS).collect();
    let (plan, diagnostics) = common::plan(BASES[base].1, &sets);
    refusals(&diagnostics)?;
    let Some(plan) = plan else {
        return if diagnostics.has_errors() { Ok(None) } else { Err("refused without a reason".into()) };
    };
    let report = estimate(&plan, &diagnostics);
    report_meets_its_schema(&report).map_err(|e| format!("estimate: {e}"))?;
    let Some((report, ending)) = simulate(&plan, report)? else { return Ok(Some("not simulated".into())) };
    report_meets_its_schema(&report).map_err(|e| format!("simulation: {e}"))?;
    let text = pens::text::report(&report, Paint::default(), true);
    if has_odd_words(&text) { Err(format!("no number:\n{text}")) } else { Ok(Some(ending)) }
}

/// Every error has a hint, and a place where there is one.
fn refusals(diagnostics: &Diagnostics) -> Result<(), String> {
    for d in diagnostics.sorted().into_iter().filter(|d| d.severity == Severity::Error) {
        if d.span.is_none() {
            return Err(format!("refused without a place: {}", d.message));
        }
        if d.hint.as_ref().is_none_or(|h| h.is_empty()) && d.label.is_empty() {
            return Err(format!("refused without a hint: {}", d.message));
        }
    }
    Ok(())
}

fn simulate(plan: &Plan, report: Report) -> Result<Option<(Report, String)>, String> {
    let mut reasons = Diagnostics::default();
    let Some(mut run) = Run::new(plan, 1, &mut reasons) else {
        let all = reasons.sorted();
        let said = all.iter().any(|d| d.severity == Severity::Error && d.hint.is_some());
        return if said { Ok(None) } else { Err("not simulated, without a reason and a hint".into()) };
    };
    while run.advance(1 << 12) != Step::Done {
        if run.events() > EVENTS {
            return Err(format!("{} events, {} packets at {} s", run.events(), run.packets(), run.time()));
        }
    }
    // A packet is on several links: the cap is kept to what one look at it lets pass.
    let most = plan.limits.max_packets.max(PACKETS);
    if run.packets() > most + most / 16 + 4096 {
        return Err(format!("{} packets past a cap of {most}", run.packets()));
    }
    let simulation = run.snapshot();
    let ending = simulation.ending.name().to_owned();
    Ok(Some((report.with(simulation), ending)))
}

/// Memory of this process, bytes; nothing where the system does not tell.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Runs one case beside; an error says what went wrong.
fn watched(base: usize, sets: Vec<String>) -> Outcome {
    let (send, receive) = channel();
    let (start, before) = (Instant::now(), memory());
    let worker = std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
        let _ = send.send(walk(base, &sets));
    });
    let worker = worker.map_err(|e| e.to_string())?;
    loop {
        match receive.recv_timeout(Duration::from_millis(20)) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Disconnected) => {
                let panic = worker.join().err();
                let words = panic.and_then(|p| p.downcast_ref::<String>().cloned());
                return Err(format!("it panics: {}", words.unwrap_or_default()));
            }
            Err(RecvTimeoutError::Timeout) if start.elapsed() > LONGEST => return Err("it never ends".into()),
            Err(RecvTimeoutError::Timeout) => {
                let more = memory().saturating_sub(before);
                if more > MOST_MEMORY {
                    return Err(format!("it takes {} MB", more >> 20));
                }
            }
        }
    }
}

/// Fixed cases and fresh ones, four times as many as of other laws: each is one seed. EXTREMES=SEED runs that case
/// alone.
#[test]
fn whatever_a_key_is_set_to_ends() {
    if !alone("extremes::whatever_a_key_is_set_to_ends") {
        return;
    }
    let one = std::env::var("EXTREMES").ok().and_then(|n| n.parse::<u64>().ok());
    let (fixed, fresh, seed) = cases();
    let seeds: Vec<u64> = match one {
        Some(seed) => vec![seed],
        None => (0..4 * fixed).chain((0..4 * fresh).map(|n| seed.wrapping_add(n))).collect(),
    };
    let cases = seeds.len();
    let all = std::env::var_os("EXTREMES_ALL").is_some();
    let (mut wrong, mut endings) = (Vec::new(), std::collections::BTreeMap::new());
    for seed in seeds {
        let (base, sets) = case(seed);
        let start = Instant::now();
        let outcome = watched(base, sets.clone());
        if start.elapsed() > Duration::from_secs(5) {
            println!("slow: {:?} EXTREMES={seed}: {} {sets:?}", start.elapsed(), BASES[base].0);
        }
        match outcome {
            Ok(end) => *endings.entry(end.unwrap_or("refused".into())).or_insert(0) += 1,
            Err(e) => {
                wrong.push(format!("EXTREMES={seed}: {} {sets:?}\n  {e}", BASES[base].0));
                println!("{}", wrong[wrong.len() - 1]);
                if !all {
                    break;
                }
            }
        }
    }
    println!("{endings:?}");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Without values over them, bases are answered: a property of refusals would be none.
#[test]
fn every_base_is_answered() {
    if !alone("extremes::every_base_is_answered") {
        return;
    }
    for (base, (name, _)) in BASES.iter().enumerate() {
        let outcome = watched(base, Vec::new());
        assert!(matches!(&outcome, Ok(Some(e)) if e != "not simulated"), "{name}: {outcome:?}");
    }
}

/// What was found before the law was written.
#[test]
fn what_was_found_once() {
    if !alone("extremes::what_was_found_once") {
        return;
    }
    let cases: [(&str, &[&str]); 7] = [
        ("backbone", &["parts.host.backbone_latency=\"5 h\""]),
        ("pcie", &["links.uplink.skp_interval=1"]),
        ("cluster", &["parts.hca.adapter_ports=65535"]),
        ("pcie-loads", &["links.up.delay=\"5 h\""]),
        ("pcie-loads", &["parts.sw.latency=\"5 h\""]),
        ("pcie-loads", &["parts.host.memory_latency=\"5 h\""]),
        ("pcie-loads", &["parts.host.write_latency=\"5 h\""]),
    ];
    for (name, sets) in cases {
        let base = BASES.iter().position(|(b, _)| *b == name).expect("a base");
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let outcome = watched(base, sets.clone());
        assert!(outcome.is_ok(), "{} {sets:?}: {outcome:?}", BASES[base].0);
    }
}
