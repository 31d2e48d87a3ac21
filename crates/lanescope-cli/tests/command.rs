//! The binary as a user meets it: exit codes, forms of output, mistakes.

use assert_cmd::Command;
use std::path::PathBuf;
use tempfile::TempDir;

const GOOD: &str = r#"
title = "one card"
[parts.host]
is = "root-complex"
[parts.card]
is = "endpoint"
[links.slot]
between = ["host", "card"]
pcie = "gen3 x8"
mps = "256 B"
[flows.rx]
from = "card"
to = "host.memory"
do = "write"
size = "2 KiB"
"#;

fn lanescope(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lanescope").expect("the binary");
    command.args(args).env("NO_COLOR", "1");
    command
}

/// A folder with one file.
fn folder(text: &str) -> (TempDir, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let file: PathBuf = dir.path().join("s.toml");
    std::fs::write(&file, text).expect("written");
    let name = file.to_string_lossy().into_owned();
    (dir, name)
}

/// Runs, expects an exit code, and gives (stdout, stderr).
fn out(args: &[&str], code: i32) -> (String, String) {
    let output = lanescope(args).output().expect("it runs");
    let (a, b) =
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{a}{b}");
    (a, b)
}

#[test]
fn answered_unstable_wrong() {
    let (_dir, file) = folder(GOOD);
    let (text, _) = out(&["run", &file], 0);
    assert!(text.contains("57.46 Gb/s") && text.contains("links.slot toward host"), "{text}");
    let (text, _) = out(&["run", &file, "--set", "flows.rx.load={ rate = \"60 Gb/s\" }"], 1);
    assert!(text.contains("unstable"), "{text}");
    let (text, error) = out(&["run", &file, "--set", "flows.rx.load={ rate = \"64 Gb/s\" }"], 2);
    assert!(text.is_empty() && error.contains("more than links.slot carries"), "{error}");
    out(&["run", "no-such-file.toml"], 2);
    out(&["run"], 2);
    out(&["frobnicate"], 2);
}

#[test]
fn standard_input_is_a_file_too() {
    let from_file = lanescope(&["run", "-", "--json"]).write_stdin(GOOD).output().expect("it runs");
    assert!(from_file.status.success());
    let report: serde_json::Value = serde_json::from_slice(&from_file.stdout).expect("JSON");
    assert_eq!(report["schema"], 1);
    lanescope(&["check", "-"]).write_stdin("").assert().code(2);
    lanescope(&["check", "-"]).write_stdin(vec![0xff, 0xfe, 0x00]).assert().code(2);
    lanescope(&["check", "-"]).write_stdin(vec![b'#'; 10 << 20]).assert().code(2);
}

#[test]
fn json_and_csv_everywhere() {
    let (_dir, file) = folder(GOOD);
    let study = ["study", "run", "polarfire", "--method", "estimate"];
    let commands: [&[&str]; 14] = [
        &["plan", &file],
        &["estimate", &file],
        &["run", &file],
        &["simulate", &file],
        &["simulate", &file, "--links"],
        &["run", &file, "--vary", "parts.card.tags=1,2"],
        &["need", &file, "--flow", "rx", "--rate", "80 Gb/s"],
        &["wire", "pcie", "gen2", "x4"],
        &["wire", "pci"],
        &["wire", "ethernet", "10 Gb/s"],
        &["platform", "list"],
        &["study", "list"],
        &["study", "fit", "polarfire"],
        &study,
    ];
    for command in commands {
        let plain: Vec<&str> = command.iter().copied().filter(|c| *c != "--links").collect();
        let (json, _) = out(&[plain.as_slice(), &["--json"]].concat(), 0);
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let (csv, _) = out(&[command, &["--csv"]].concat(), 0);
        let mut rows = csv::Reader::from_reader(csv.as_bytes());
        let width = rows.headers().expect("a head").len();
        assert!(width > 1, "{command:?}");
        assert!(rows.records().all(|r| r.is_ok_and(|r| r.len() == width)), "{command:?}");
    }
    let (json, _) = out(&["check", &file, "--json"], 0);
    assert!(json.contains("\"valid\": true"));
    let (_dir, bad) = folder("[parts.x]\nis = 3\n");
    assert!(out(&["check", &bad, "--json"], 2).0.contains("\"line\": 2"));
    assert!(out(&["check", &bad, "--csv"], 2).0.lines().count() >= 2);
}

#[test]
fn reports_hold_to_their_schema() {
    let (_dir, file) = folder(GOOD);
    let schema: serde_json::Value = serde_json::from_str(&out(&["schema", "report"], 0).0).expect("JSON");
    let report: serde_json::Value = serde_json::from_str(&out(&["run", &file, "--json"], 0).0).expect("JSON");
    jsonschema::validate(&schema, &report).expect("a report of the schema");
    let scenario: serde_json::Value = serde_json::from_str(&out(&["schema"], 0).0).expect("JSON");
    assert!(scenario["properties"]["flows"].is_object());
}

#[test]
fn set_and_vary() {
    let (_dir, file) = folder(GOOD);
    let (text, _) = out(&["run", &file, "--set", "links.slot.pcie=gen4 x8"], 0);
    assert!(text.contains("114.9 Gb/s"), "{text}");
    let (text, _) = out(
        &["run", &file, "--vary", "links.slot.pcie=gen3 x4,gen3 x8", "--vary", "flows.rx.size=64 B..256 B by x2"],
        0,
    );
    assert_eq!(text.lines().count(), 1 + 2 * 3, "{text}");
    let (_, error) = out(&["run", &file, "--vary", "links.slot.pcie=gen3 x4,gen3 x5"], 2);
    assert!(error.contains("x5"), "{error}");
    let (_, error) = out(&["run", &file, "--vary", "parts.card.tags=1..99999 by 1"], 2);
    assert!(error.contains("more than"), "{error}");
    // The same grid in one thread and in many.
    let many = lanescope(&["run", &file, "--json", "--vary", "parts.card.tags=1..40 by 1"]).output().expect("it runs");
    let one = lanescope(&["run", &file, "--json", "--vary", "parts.card.tags=1..40 by 1"])
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("it runs");
    assert_eq!(many.stdout, one.stdout);
}

#[test]
fn two_reports_are_compared() {
    let (dir, file) = folder(GOOD);
    let save = |name: &str, args: &[&str]| {
        let path = dir.path().join(name);
        std::fs::write(&path, out(args, 0).0).expect("written");
        path.to_string_lossy().into_owned()
    };
    let a = save("a.json", &["run", &file, "--json"]);
    let b = save("b.json", &["run", &file, "--json", "--set", "links.slot.pcie=gen3 x16"]);
    assert_eq!(out(&["diff", &a, &a], 0).0, "nothing moved\n");
    let (text, _) = out(&["diff", &a, &b], 0);
    assert!(text.contains("flows.rx.share") && text.contains("+100.00 %"), "{text}");
    out(&["diff", &a, &file], 2);
}

#[test]
fn pictures_are_written() {
    let (dir, file) = folder(GOOD);
    let to = dir.path().join("pictures");
    out(&["run", &file, "--svg", &to.to_string_lossy()], 0);
    out(&["run", &file, "--svg", &to.to_string_lossy(), "--vary", "flows.rx.size=64 B..4 KiB by x2"], 0);
    out(&["wire", "pcie", "gen3", "x8", "--svg", &to.to_string_lossy()], 0);
    for name in ["topology.svg", "waterfall-slot-to-host.svg", "curve.svg", "efficiency.svg"] {
        let text = std::fs::read_to_string(to.join(name)).expect("a picture");
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{name}");
    }
    let ethernet = dir.path().join("ethernet");
    out(&["wire", "ethernet", "10 Gb/s", "--svg", &ethernet.to_string_lossy()], 0);
    assert!(ethernet.join("efficiency.svg").exists() && ethernet.join("payload-rate.svg").exists());
    out(&["study", "run", "pes16t4g2", "--quick", "--method", "estimate", "--svg", &to.to_string_lossy()], 0);
    for figure in ["figure-2", "figure-3", "figure-4"] {
        assert!(to.join("pes16t4g2").join(format!("{figure}.svg")).exists());
    }
}

#[test]
fn a_newcomer_starts_from_a_file() {
    let (starter, _) = out(&["new"], 0);
    let (_dir, file) = folder(&starter);
    out(&["run", &file], 0);
    let (platform, _) = out(&["new", "raspberry-pi/cm4"], 0);
    let (_dir, file) = folder(&platform);
    out(&["run", &file], 0);
    let (_, error) = out(&["new", "raspbery-pi/cm4"], 2);
    assert!(error.contains("did you mean raspberry-pi/cm4?"), "{error}");
    out(&["platform", "show", "example/nic-25g"], 0);
    for shell in ["bash", "zsh", "fish"] {
        assert!(!out(&["completions", shell], 0).0.is_empty());
    }
    assert!(out(&["schema", "--text"], 0).0.contains("ack_every"));
}

#[test]
fn rows_have_the_keys_of_the_contract() {
    let (json, _) = out(&["study", "run", "t5440:read.1", "--json", "--method", "estimate"], 0);
    let all: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(all["schema"], 1);
    let row = &all["studies"][0]["rows"][0];
    assert_eq!(
        (row["id"].as_str(), row["unit"].as_str(), row["status"].as_str()),
        (Some("read.1"), Some("MB/s"), Some("given"))
    );
    for key in
        ["quantity", "published", "published_text", "estimate", "bound", "estimate_range", "simulate", "bound_by"]
    {
        assert!(row.get(key).is_some(), "{key}");
    }
    let (json, _) = out(&["study", "run", "t5440:read.1", "--json"], 0);
    let all: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let simulate = &all["studies"][0]["rows"][0]["simulate"];
    let [low, value, high] = ["low", "value", "high"].map(|k| simulate[k].as_f64().expect("a number"));
    assert!(low <= value && value <= high && (value / 1511.0 - 1.0).abs() < 0.01, "{simulate}");
    // A row whose parts do not exist has no value, and the exit code says so.
    out(&["study", "run", "pes16t4g2:iometer.without.mix"], 1);
    out(&["study", "run", "pes16t4g2:raw"], 0);
    out(&["study", "run", "t5440:nothing"], 2);
    out(&["study", "run", "t5441"], 2);
    assert!(out(&["study", "show", "t5440", "fabric.toml"], 0).0.contains("flows.dma"));
}

#[test]
fn mistakes_are_drawn_at_their_place() {
    let (dir, file) = folder(&GOOD.replace("x8", "x3").replace("size", "sise").replace("256 B", "256"));
    let (_, error) = out(&["check", &file], 2);
    let error = error.replace(&dir.path().to_string_lossy().into_owned(), "");
    insta::assert_snapshot!(error);
}

#[test]
fn the_calculators_table_is_golden() {
    insta::assert_snapshot!(out(&["wire", "pcie", "gen2", "x4", "--header", "3DW", "--no-ordered-sets"], 0).0);
    insta::assert_snapshot!(out(&["wire", "pci"], 0).0);
    insta::assert_snapshot!(out(&["wire", "ethernet", "10 Gb/s"], 0).0);
    let small = ["wire", "ethernet", "100 Gb/s", "--data", "1 B", "--length", "2 km", "--response", "1.5 us"];
    insta::assert_snapshot!(out(&small, 0).0);
}

#[test]
fn wrong_questions_about_ethernet_are_answered_with_what_there_is() {
    let wrong = |args: &[&str], words: &[&str]| {
        let (text, error) = out(&[&["wire", "ethernet"], args].concat(), 2);
        assert!(text.is_empty() && words.iter().all(|w| error.contains(w)), "{args:?}: {error}");
    };
    wrong(&["9 Gb/s"], &["no Ethernet MAC runs at \"9 Gb/s\"", "10 Mb/s", "2.5 Gb/s", "1.6 Tb/s"]);
    wrong(&["10"], &["no unit", "10 Gb/s"]);
    wrong(&["10 ns"], &["is no rate"]);
    wrong(&["gen3"], &["is no rate"]);
    wrong(&[""], &["is no rate"]);
    for data in ["0 B", "10000000 B", "9217 B"] {
        wrong(&["10 Gb/s", "--data", data], &["is no data of a frame", "1 B to 9216 B"]);
    }
    for data in ["0", "10000000", "10000000000000000000000000"] {
        wrong(&["10 Gb/s", "--data", data], &["is no size", "1500 B"]);
    }
    wrong(&["10 Gb/s", "--length", "100"], &["is no length", "no unit"]);
    wrong(&["10 Gb/s", "--length", "2000 km", "--response", "6 h"], &["1000 km", "5 h"]);
    wrong(&["9 Gb/s", "--data", "0 B"], &["9 Gb/s", "is no data"]);
    wrong(&[], &["RATE"]);
    // The same rate in another unit is the same MAC.
    assert!(out(&["wire", "ethernet", "1250 MB/s"], 0).0.starts_with("10 Gb/s Ethernet"));
}

#[test]
fn a_simulation_stands_beside_the_estimate() {
    let (dir, file) = folder(GOOD);
    let (text, _) = out(&["simulate", &file, "--for", "50 us", "--seed", "7"], 0);
    assert!(
        text.contains("  simulated  57.4") && text.contains("seed 7") && text.contains("as long as asked for"),
        "{text}"
    );
    // The same seed gives the same; another program's length of pieces does not matter.
    let print = |args: &[&str]| out(&[&["simulate", &file, "--json"], args].concat(), 0).0;
    assert_eq!(print(&["--seed", "3"]), print(&["--seed", "3"]));
    let (text, _) = out(
        &[
            "simulate",
            &file,
            "--for",
            "50 us",
            "--seeds",
            "3",
            "--set",
            "flows.rx.load={ rate = \"40 Gb/s\", arrivals = \"poisson\" }",
        ],
        0,
    );
    assert!(text.contains("over 3 seeds: 4"), "{text}");
    out(&["simulate", &file, "--seeds", "1"], 2);
    let series = dir.path().join("s.csv");
    let (_, said) =
        out(&["simulate", &file, "--for", "20 us", "--series", &series.to_string_lossy(), "--step", "1 us"], 0);
    // A tenth of warm-up comes before.
    assert!(said.contains("22 rows"), "{said}");
    let text = std::fs::read_to_string(&series).expect("a series");
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let head: Vec<String> = rows.headers().expect("a head").iter().map(str::to_owned).collect();
    assert!(head.contains(&"links.slot toward host.utilisation".to_owned()), "{head:?}");
    assert_eq!(rows.records().filter(|r| r.as_ref().is_ok_and(|r| r.len() == head.len())).count(), 22);
    let (_, error) = out(&["simulate", &file, "--series", &series.to_string_lossy(), "--step", "1"], 2);
    assert!(error.contains("--step"), "{error}");
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let (_dir, file) = folder(&GOOD.replace("gen3 x8", "gen6 x8"));
    let (_, error) = out(&["simulate", &file], 2);
    assert!(error.contains("FLIT mode cannot be simulated yet"), "{error}");
    // The estimate is still there.
    let (text, note) = out(&["run", &file], 0);
    assert!(text.contains("share") && note.contains("not simulated"), "{note}");
    let (_dir, file) = folder(GOOD);
    let (_, error) = out(&["run", &file, "--set", "flows.rx.do=read", "--set", "parts.card.tags=1000000"], 2);
    assert!(error.contains("at most 16384 tags"), "{error}");
    let (_, error) = out(&["simulate", &file, "--set", "flows.rx.load={ outstanding = 16_000_000 }"], 2);
    assert!(error.contains("operations in flight"), "{error}");
    // A load whose second operation never begins has no value; the cap on time ends it, and says so.
    let (text, _) = out(&["simulate", &file, "--set", "flows.rx.load={ outstanding = 1, think = \"1 h\" }"], 1);
    assert!(text.contains("run.max_time"), "{text}");
    // Far too long: the cap on packets ends it, and that is said before.
    let (text, note) = out(&["simulate", &file, "--for", "5 h", "--set", "run.max_packets=10_000"], 0);
    assert!(note.contains("run.max_packets ends it") && text.contains("run.max_packets"), "{note}{text}");
}

#[test]
fn ethernet_has_answers_too() {
    let (dir, file) = folder(
        "[parts.host]\nis = \"station\"\n[parts.switch]\nis = \"ethernet-switch\"\n\
         [links.net]\nstar = { hosts = 4 }\nethernet = \"10 Gb/s\"\n\
         [flows.all]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"\ndo = \"send\"\nsize = \"1500 B\"\n",
    );
    let (text, _) = out(&["check", &file], 0);
    assert!(text.contains("5 parts (4 stations, 1 Ethernet switches), 4 links, 4 flows"), "{text}");
    let (text, _) = out(&["plan", &file], 0);
    assert!(text.contains("flows.all.1  host.1 → switch.0 → host.3"), "{text}");
    let (text, _) = out(&["estimate", &file], 0);
    assert!(text.contains("39.01 Gb/s") && text.contains("38 B a frame of 1500 B payload"), "{text}");
    let (csv, _) = out(&["estimate", &file, "--csv", "--links"], 0);
    assert!(csv.contains(",preamble_gap,") && csv.contains("10 Gb/s Ethernet"), "{csv}");
    // There is no tree to draw.
    let pictures = dir.path().join("svg");
    out(&["estimate", &file, "--svg", &pictures.to_string_lossy()], 0);
    let mut names: Vec<_> =
        std::fs::read_dir(&pictures).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names[0], "waterfall-net.0-to-switch.0.svg");
    let (_, error) = out(&["need", &file, "--flow", "all", "--rate", "1 Gb/s"], 2);
    assert!(error.contains("of Ethernet"), "{error}");
}
