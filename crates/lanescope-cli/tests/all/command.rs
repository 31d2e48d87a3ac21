//! The binary as a user meets it: exit codes, forms of output, mistakes.

use crate::common::{GOOD, folder, lanescope, out, piped};
use std::path::Path;

#[test]
fn answered_unstable_wrong() {
    let (_dir, file) = folder(GOOD);
    let (text, _) = out(&["run", &file], 0);
    assert!(text.contains("57.46 Gb/s") && text.contains("links.slot toward host"), "{text}");
    let (text, _) = out(&["run", &file, "--set", "flows.rx.load={ rate = \"60 Gb/s\" }"], 1);
    assert!(text.contains("unstable"), "{text}");
    // More than the link's coded rate is an answer too.
    let (text, _) = out(&["run", &file, "--set", "flows.rx.load={ rate = \"64 Gb/s\" }"], 1);
    assert!(text.contains("64 Gb/s wanted") && text.contains("57.46 Gb/s of 64 Gb/s"), "{text}");
    out(&["run", "no-such-file.toml"], 2);
    out(&["run"], 2);
    out(&["frobnicate"], 2);
}

/// Who wants far more than he gets is never called stable, and the program's code says so.
#[test]
fn an_overload_is_an_answer_and_exits_with_1() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lanescope/tests/cases");
    for (case, flow, wanted) in [("overload-not-reported", "f2", 20e9), ("offered-above-link", "rx", 25e9)] {
        let file = cases.join(case).with_extension("toml");
        for method in ["estimate", "simulate", "run"] {
            let (json, _) = out(&[method, &file.to_string_lossy(), "--json"], 1);
            let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            let named = |flows: &serde_json::Value| {
                flows.as_array().expect("flows").iter().find(|f| f["name"] == flow).expect("the flow").clone()
            };
            let f = named(&report["flows"]);
            assert_eq!(f["verdict"], "unstable", "{case}: {method}");
            assert!(f["share"]["typical"].as_f64().expect("a rate") < wanted / 2.0, "{case}: {method}: {f}");
            if method != "estimate" {
                assert_eq!(named(&report["simulation"]["flows"])["unstable"], true, "{case}: {method}");
            }
        }
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let from_file = piped(&["run", "-", "--json"], GOOD);
    assert!(from_file.status.success());
    let report: serde_json::Value = serde_json::from_slice(&from_file.stdout).expect("JSON");
    assert_eq!(report["schema"], lanescope::result::SCHEMA);
    assert_eq!(piped(&["check", "-"], "").status.code(), Some(2));
    assert_eq!(piped(&["check", "-"], vec![0xff, 0xfe, 0x00]).status.code(), Some(2));
    assert_eq!(piped(&["check", "-"], vec![b'#'; 10 << 20]).status.code(), Some(2));
}

#[test]
fn json_and_csv_everywhere() {
    let (_dir, file) = folder(GOOD);
    let study = ["study", "run", "polarfire", "--method", "estimate"];
    let commands: [&[&str]; 21] = [
        &["plan", &file],
        &["estimate", &file],
        &["run", &file],
        &["simulate", &file],
        &["simulate", &file, "--links"],
        &["run", &file, "--vary", "parts.card.tags=1,2"],
        &["need", &file, "--flow", "rx", "--rate", "80 Gb/s"],
        &["wire", "pcie", "gen2", "x4"],
        &["wire", "pci"],
        &["wire", "pci", "pci-x 133 64-bit"],
        &["wire", "ethernet", "10 Gb/s"],
        &["wire", "infiniband", "edr", "4x"],
        &["wire", "roce", "100 Gb/s"],
        &["wire", "fc", "4GFC"],
        &["wire", "sas", "3G"],
        &["wire", "scsi"],
        &["wire", "scsi", "ultra320"],
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
    // What is a file, and no table, has no CSV.
    let files: [(&[&str], &str); 3] = [
        (&["platform", "show", "example/nic-25g"], "/is"),
        (&["study", "show", "polarfire"], "/text"),
        (&["study", "show", "polarfire", "study.toml"], "/title"),
    ];
    for (command, key) in files {
        let (json, _) = out(&[command, &["--json"]].concat(), 0);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{command:?}: {e}"));
        assert!(value.pointer(key).is_some_and(|v| v.is_string()), "{command:?}: {json}");
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
    let (pci, _) = out(&["new", "--pci"], 0);
    let (_dir, bus) = folder(&pci);
    let (text, _) = out(&["run", &bus], 0);
    assert!(text.contains("links.slots") && text.contains("read requests") && text.contains("simulated"), "{text}");
    let (ethernet, _) = out(&["new", "--ethernet"], 0);
    let (_dir, file) = folder(&ethernet);
    out(&["run", &file], 0);
    let (storage, _) = out(&["new", "--storage"], 0);
    let (_dir, file) = folder(&storage);
    assert!(
        out(&["check", &file], 0).0.contains("12 parts, 5 links, 5 flows\n"),
        "adapters, disks and arrays are parts"
    );
    let (text, _) = out(&["run", &file, "--all-links"], 0);
    for word in
        ["I/Os", "busiest", "a frame of 2048 B", "R_RDY", "ultra320 SCSI, shared by all on it", "a connection of"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("preamble"), "{text}");
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
    assert_eq!(all["schema"], lanescope::result::SCHEMA);
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
    out(&["study", "run", "dell-hpc:pingpong.latency.pcix"], 0);
    out(&["study", "run", "pes16t4g2:raw"], 0);
    out(&["study", "run", "t5440:nothing"], 2);
    out(&["study", "run", "t5441"], 2);
    assert!(out(&["study", "show", "t5440", "fabric.toml"], 0).0.contains("flows.dma"));
}

/// What the standards say of the same questions, worked out by hand.
#[test]
fn the_calculators_tables_by_hand() {
    let says = |args: &[&str], lines: &[&str]| {
        let text = out(args, 0).0;
        lines.iter().for_each(|l| assert!(text.contains(l), "{args:?}: {l}: {text}"));
    };
    // Four lanes of 5 GT/s, 8b/10b; framing 1 + 2 + 4 + 1 B and three words of header (2.0, 2.2 and 3.6).
    let header = ["wire", "pcie", "gen2", "x4", "--header", "3DW", "--no-ordered-sets"];
    says(&header, &["20 Gb/s one way = 2500 MB/s", "16 Gb/s one way", "256 B payload + 20 B = 276 B"]);
    // Bytes of the bus x its clock: 4 x 33, 8 x 66, 8 x 133.33 MHz.
    says(&["wire", "pci"], &["132 MB/s", "528 MB/s", "1067 MB/s"]);
    // 66 bits for 64; 18 B of header and FCS, 20 of preamble and gap; 512 bit times a quantum (802.3, 31B).
    let ten = ["10.31 Gb/s", "1518 B with header and FCS, 1538 B on the wire", "51.2 ns", "60 quanta = 3.072 us"];
    says(&["wire", "ethernet", "10 Gb/s"], &ten);
    // The least frame is 64 B, 84 with preamble and gap: 10^11 / (84 x 8) a second.
    says(&["wire", "ethernet", "100 Gb/s", "--data", "1 B"], &["84 B on the wire", "148.8 million/s", "6.72 ns"]);
}

#[test]
fn mistakes_are_drawn_at_their_place() {
    let (dir, file) = folder(&GOOD.replace("x8", "x3").replace("size", "sise").replace("256 B", "256"));
    let (_, error) = out(&["check", &file], 2);
    let error = error.replace(&dir.path().to_string_lossy().into_owned(), "");
    insta::assert_snapshot!(error);
}

/// Golden: the program's own output, so that no figure of these tables changes unseen. Whether they are true is for
/// [`the_calculators_tables_by_hand`], and for the tests of `protocol` against their standards.
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
    wrong(&["10 ns"], &["is not a valid rate"]);
    wrong(&["gen3"], &["is not a valid rate"]);
    wrong(&[""], &["is not a valid rate"]);
    for data in ["0 B", "10000000 B", "9217 B"] {
        wrong(&["10 Gb/s", "--data", data], &["is not a valid payload of a frame", "1 B to 9216 B"]);
    }
    for data in ["0", "10000000", "10000000000000000000000000"] {
        wrong(&["10 Gb/s", "--data", data], &["is not a valid size", "1500 B"]);
    }
    wrong(&["10 Gb/s", "--length", "100"], &["is not a valid length", "no unit"]);
    wrong(&["10 Gb/s", "--length", "2000 km", "--response", "6 h"], &["1000 km", "5 h"]);
    wrong(&["9 Gb/s", "--data", "0 B"], &["9 Gb/s", "is not a valid payload"]);
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
         [flows.all]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"permutation\"\ndo = \"send\"\nsize = \"1500 \
         B\"\n",
    );
    let (text, _) = out(&["check", &file], 0);
    assert!(text.contains("5 parts (4 stations, 1 Ethernet switches), 4 links, 4 flows"), "{text}");
    let (text, _) = out(&["plan", &file], 0);
    assert!(text.contains("flows.all.1  host.1 → switch.0 → host.3"), "{text}");
    let (text, _) = out(&["estimate", &file], 0);
    assert!(text.contains("39.01 Gb/s") && text.contains("38 B a frame of 1500 B payload"), "{text}");
    let (csv, _) = out(&["estimate", &file, "--csv", "--links"], 0);
    assert!(csv.contains(",preamble_gap_bps,") && csv.contains("10 Gb/s Ethernet"), "{csv}");
    let pictures = dir.path().join("svg");
    out(&["estimate", &file, "--svg", &pictures.to_string_lossy()], 0);
    let mut names: Vec<_> =
        std::fs::read_dir(&pictures).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names[0], "topology.svg");
    assert!(names.iter().any(|n| n == "waterfall-net.0-to-switch.0.svg"), "{names:?}");
    let (_, error) = out(&["need", &file, "--flow", "all", "--rate", "1 Gb/s"], 2);
    assert!(error.contains("of Ethernet"), "{error}");
}

/// Eight hosts that send to a ninth.
const INCAST: &str = r#"
[parts.host]
is = "station"
[parts.switch]
is = "ethernet-switch"
memory = "300 kB"
[links.net]
star = { hosts = 9 }
ethernet = "10 Gb/s"
[flows.in]
from = "host.*"
to = "host.0"
do = "send"
size = "1500 B"
priority = 3
[run]
for = "1 ms"
warmup = "0 s"
"#;

/// Pause frames of a capture as tshark counts them: with a time, without. `None` where it is not installed.
fn pauses(capture: &std::path::Path, field: &str) -> Option<(u64, u64)> {
    let mut tshark = std::process::Command::new("tshark");
    tshark.arg("-r").arg(capture).args(["-Y", field, "-T", "fields", "-e", field]);
    let Ok(output) = tshark.output() else {
        eprintln!("skipped: tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let times: Vec<u64> = text.lines().map(|l| l.trim().parse().expect("quanta")).collect();
    let stop = times.iter().filter(|t| **t > 0).count() as u64;
    Some((stop, times.len() as u64 - stop))
}

#[test]
fn a_capture_holds_the_pauses_of_the_report() {
    let (dir, file) = folder(INCAST);
    for (control, field) in [("pause", "macc.pause_time"), ("pfc", "macc.cbfc.pause_time.c3")] {
        let capture = dir.path().join(format!("{control}.pcapng"));
        let set = format!("parts.switch.flow_control={control}");
        let name = capture.to_string_lossy();
        let args = ["run", &file, "--json", "--set", &set, "--pcap", &name, "--pcap-link", "net.1"];
        let (json, said) = out(&args, 0);
        assert!(said.contains("frames of links.net.1"), "{said}");
        let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        // From the first end, the switch, to the station that is to be silent; nobody pauses the switch.
        let sides: Vec<&serde_json::Value> = report["simulation"]["links"]
            .as_array()
            .expect("links")
            .iter()
            .filter(|l| l["name"] == "net.1")
            .map(|l| &l["pauses"])
            .collect();
        assert_eq!(sides[1], &serde_json::json!([0, 0]));
        let want = (sides[0][0].as_u64().expect("a number"), sides[0][1].as_u64().expect("a number"));
        assert!(want.0 > 0 && want.1 > 0, "{control}: {want:?}");
        if let Some(seen) = pauses(&capture, field) {
            assert_eq!(seen, want, "{control}");
        }
        let bytes = std::fs::read(&capture).expect("a capture");
        // With whole frames there is more of the same.
        out(&[&args[..], &["--snaplen", "0"]].concat(), 0);
        assert!(std::fs::read(&capture).expect("a capture").len() > 3 * bytes.len());
    }
}

#[test]
fn a_capture_knows_its_link() {
    let (dir, file) = folder(INCAST);
    let capture = dir.path().join("c.pcapng");
    let name = capture.to_string_lossy();
    // The first flow is that of host.1.
    let (_, said) = out(&["simulate", &file, "--pcap", &name], 0);
    assert!(said.contains("frames of links.net.1"), "{said}");
    let (_, said) = out(&["simulate", &file, "--pcap", &name, "--pcap-link", "links.net.0"], 0);
    assert!(said.contains("frames of links.net.0"), "{said}");
    let wrong = |args: &[&str], word: &str| {
        let (_, error) = out(&[&["simulate", &file], args].concat(), 2);
        assert!(error.contains(word), "{args:?}: {error}");
    };
    wrong(&["--pcap", &name, "--pcap-link", "nett.1"], "did you mean net.1?");
    wrong(&["--pcap", &name, "--pcap-link", "net"], "did you mean net.0, net.1");
    wrong(&["--pcap", &name, "--pcap-link", "uplink"], "links are net.0");
    wrong(&["--pcap", &name, "--seeds", "3"], "cannot be used with");
    wrong(&["--pcap", &name, "--vary", "links.net.star.hosts=2,3"], "cannot be used with");
    wrong(&["--snaplen", "64"], "--pcap");
    wrong(&["--pcap", "/no/such/folder/c.pcapng"], "/no/such/folder");
    let (_dir, pcie) = folder(GOOD);
    let (_, error) = out(&["simulate", &pcie, "--pcap", &name], 2);
    assert!(error.contains("no link of this scenario is Ethernet"), "{error}");
}

#[test]
fn a_time_line_is_written() {
    let cluster = "[parts.node]\nis = \"channel-adapter\"\ncount = 2\n[parts.sw]\nis = \
        \"infiniband-switch\"\n[links.cable]\nbetween = [\"node.*\", \"sw\"]\n\
                   infiniband = \"edr 4x\"\n[flows.pp]\ndo = \"mpi\"\nranks = \"node.*\"\nbenchmark = \"imb \
                   PingPong\"\nsizes = [\"1 KiB\"]\nrepetitions = 2\n";
    let (dir, file) = folder(cluster);
    let trace = dir.path().join("t.pftrace");
    let name = trace.to_string_lossy();
    let (with, said) = out(&["simulate", &file, "--trace", &name], 0);
    assert!(said.contains(&format!("wrote {name}, ")) && said.contains("ui.perfetto.dev"), "{said}");
    assert!(!said.contains("later events"), "{said}");
    let bytes = std::fs::read(&trace).expect("a time line");
    let has = |word: &str| bytes.windows(word.len()).any(|w| w == word.as_bytes());
    for word in
        ["rank 1", "parts.node.0: work requests", "links.cable.0 toward sw", "PingPong 1024 B", "receive overhead"]
    {
        assert!(has(word), "{word}");
    }
    // It changes nothing, and is the same each time.
    assert_eq!(out(&["simulate", &file], 0).0, with);
    out(&["run", &file, "--trace", &name], 0);
    assert_eq!(std::fs::read(&trace).expect("a time line"), bytes);
    let (_, said) = out(&["simulate", &file, "--trace", &name, "--trace-events", "20"], 0);
    assert!(said.contains(", 20 events") && said.contains("later events are beyond --trace-events 20"), "{said}");
    assert!(std::fs::read(&trace).expect("a time line").len() < bytes.len());
    let wrong = |args: &[&str], word: &str| {
        let (_, error) = out(&[&["simulate", &file], args].concat(), 2);
        assert!(error.contains(word), "{args:?}: {error}");
    };
    wrong(&["--trace", "/no/such/folder/t.pftrace"], "/no/such/folder");
    wrong(&["--trace", &name, "--trace-events", "0"], "0 is not in 1..=100000000");
    wrong(&["--trace-events", "5"], "--trace <FILE>");
    wrong(&["--trace", &name, "--seeds", "3"], "cannot be used with");
    wrong(&["--trace", &name, "--vary", "flows.pp.repetitions=1,2"], "cannot be used with");
    // What is no cluster has one too, and one that cannot be simulated leaves no file.
    let (_dir, pcie) = folder(GOOD);
    let (_, said) = out(&["simulate", &pcie, "--for", "5 us", "--trace", &name], 0);
    assert!(said.contains("wrote"), "{said}");
    assert!(String::from_utf8_lossy(&std::fs::read(&trace).expect("a time line")).contains("links.slot toward host"));
    let none = dir.path().join("none.pftrace");
    out(&["simulate", &pcie, "--set", "links.slot.pcie=gen6 x8", "--trace", &none.to_string_lossy()], 2);
    assert!(!none.exists());
}

#[test]
fn a_fabric_is_simulated_at_flow_level() {
    let (dir, file) = folder(&INCAST.replace("size = \"1500 B\"", "sizes = \"hadoop\"\nload = { share = \"5 %\" }"));
    let (text, _) = out(&["simulate", &file, "--level", "flow", "--for", "100 ms"], 0);
    assert!(text.contains("messages at flow level") && text.contains("hadoop (mean 120.4 kB, up to 10 MB)"), "{text}");
    assert!(text.contains("not modelled by the simulation: flows.in.priority"), "{text}");
    let (json, _) = out(&["simulate", &file, "--set", "run.level=flow", "--json"], 0);
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["simulation"]["flow_level"], true);
    // What needs packets, and what is no level.
    let none = dir.path().join("none.pcapng");
    for option in ["--pcap", "--trace"] {
        let (_, said) = out(&["simulate", &file, "--level", "flow", option, &none.to_string_lossy()], 2);
        assert!(said.contains(option) && !none.exists(), "{said}");
    }
    let (_, said) = out(&["simulate", &file, "--level", "flows"], 2);
    assert!(said.contains("packet, flow"), "{said}");
    let (_, said) = out(&["check", &file, "--set", "run.level=flows"], 2);
    assert!(said.contains("flow"), "{said}");
    // Sizes that are none: a name, points that fall, no end, and a size beside them.
    for (sizes, hint) in [
        ("\"websearch\"", "web-search"),
        ("[[\"9 kB\", \"0 %\"], [\"1 kB\", \"100 %\"]]", "may fall"),
        ("[[\"1 kB\", \"0 %\"], [\"9 kB\", \"50 %\"]]", "100 %"),
        ("[]", "2 to 1000 points"),
        ("9", "distribution"),
    ] {
        let (_, said) = out(&["check", &file, "--set", &format!("flows.in.sizes={sizes}")], 2);
        assert!(said.contains(hint), "{said}");
    }
    let (_, said) = out(&["check", &file, "--set", "flows.in.size=1 kB"], 2);
    assert!(said.contains("both a size and sizes"), "{said}");
    let (_, said) = out(&["check", &file, "--set", "flows.in.load=saturate"], 2);
    assert!(said.contains("poisson"), "{said}");
    let (_none, sizeless) = folder(&INCAST.replace("size = \"1500 B\"", ""));
    let (_, said) = out(&["check", &sizeless], 2);
    assert!(said.contains("it has no size"), "{said}");
    let (_dir, pcie) = folder(GOOD);
    let (_, said) = out(&["simulate", &pcie, "--level", "flow"], 2);
    assert!(said.contains("at flow level"), "{said}");
}

/// Ranks that exchange long messages: what it costs by packets is said, and what costs less.
const EXCHANGE: &str = "[parts.n]\nis = \"channel-adapter\"\ncount = 4\n[parts.h]\nis = \"root-complex\"\ncount = 4\n\
    [parts.sw]\nis = \"infiniband-switch\"\n[links.s]\nbetween = [\"h.*\", \"n.*\"]\npcie = \"gen3 x16\"\n[links.c]\n\
    between = [\"n.*\", \"sw\"]\ninfiniband = \"edr 4x\"\n[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\n\
    program = \"repeat 100 { alltoall 16 MiB pairwise }\"\n";

#[test]
fn a_program_is_simulated_at_flow_level() {
    let (dir, file) = folder(EXCHANGE);
    let (_, said) = out(&["simulate", &file, "--set", "run.max_packets=1000"], 0);
    assert!(said.contains("--level flow"), "{said}");
    let (text, said) = out(&["simulate", &file, "--level", "flow"], 0);
    assert!(
        text.contains("messages at flow level, handshakes included; all ranks") && !said.contains("--level flow"),
        "{text}"
    );
    let (json, _) = out(&["simulate", &file, "--level", "flow", "--json"], 0);
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    // Each of 1,200 messages of 16 MiB has a request and a clear-to-send before it.
    assert_eq!(report["simulation"]["packets"], 3600);
    let none = dir.path().join("none.csv");
    let name = none.to_string_lossy();
    for option in [&["--trace"][..], &["--step", "1 ms", "--series"]] {
        let args = [&["simulate", &file, "--level", "flow"], option, &[&name]].concat();
        let (_, said) = out(&args, 2);
        assert!(said.contains("at flow level") && !none.exists(), "{said}");
    }
    let bus =
        EXCHANGE.replace("root-complex", "host-bridge").replace("pcie = \"gen3 x16\"", "pci = \"pci-x 133 64-bit\"");
    let (_dir, bus) = folder(&bus);
    let (_, said) = out(&["simulate", &bus, "--level", "flow"], 2);
    assert!(said.contains("flows.job may use links.s"), "{said}");
}

#[test]
fn a_series_of_ethernet_has_its_own_columns() {
    let (dir, file) = folder(INCAST);
    let series = dir.path().join("s.csv");
    let name = series.to_string_lossy();
    let (_, said) = out(&["simulate", &file, "--series", &name, "--step", "50 us"], 0);
    assert!(said.contains("20 rows"), "{said}");
    let mut rows = csv::Reader::from_path(&series).expect("a series");
    let head: Vec<String> = rows.headers().expect("a head").iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = rows.records().map(|r| r.expect("as wide as the head")).collect();
    let at = |name: &str| head.iter().position(|h| h == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
    let last = |name: &str| rows[19][at(name)].parse::<f64>().expect("a number");
    assert!(last("links.net.0 toward host.0.utilisation") > 0.95);
    assert!(last("links.net.0 toward host.0.queued_frames") > 100.0);
    assert!(last("links.net.0 toward host.0.queued_bytes") > 150_000.0);
    let memory = last("switches.switch.0.memory_bytes");
    assert!(memory > 200_000.0 && memory <= 300_000.0, "{memory}");
    // Eight flows share what the link carries, but for the window's end.
    let all: f64 = (0..8).map(|i| last(&format!("flows.in.{i}.bps"))).sum();
    assert!((all / 9.75e9 - 1.0).abs() < 0.05, "{all}");
}

#[test]
fn a_series_has_the_rate_of_every_queue_pair() {
    let text = "[parts.node]\nis = \"channel-adapter\"\ncount = 3\n[parts.sw]\nis = \"ethernet-switch\"\n\
        flow_control = \"pfc\"\ncongestion_control = \"dcqcn\"\nmemory = \"4 MB\"\necn_high = \"20 kB\"\n[links.net]\n\
        between = [\"node.*\", \"sw\"]\nethernet = \"10 Gb/s\"\n[flows.job]\ndo = \"mpi\"\nranks = [\"node.*\"]\n\
        connections = 2\nprogram = \"repeat 8 { if rank == 0 { irecv from 1; irecv from 2; waitall } else { isend \
        1 MiB to 0; waitall } }\"\n";
    let (dir, file) = folder(text);
    let series = dir.path().join("s.csv");
    out(&["simulate", &file, "--series", &series.to_string_lossy(), "--step", "100 us"], 0);
    let mut rows = csv::Reader::from_path(&series).expect("a series");
    let head: Vec<String> = rows.headers().expect("a head").iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = rows.records().map(|r| r.expect("as wide as the head")).collect();
    let column = |name: &str| {
        let at = head.iter().position(|h| h == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
        rows.iter().map(|r| r[at].parse::<f64>().unwrap_or(f64::NAN)).collect::<Vec<_>>()
    };
    let slowest = column("flows.job.slowest_connection.rate_limit_bps");
    let mut all = vec![f64::INFINITY; rows.len()];
    for name in [
        "rank.1 toward rank.0.connection.0",
        "rank.1 toward rank.0.connection.1",
        "rank.2 toward rank.0.connection.0",
        "rank.2 toward rank.0.connection.1",
    ] {
        let own = column(&format!("flows.job.{name}.rate_limit_bps"));
        assert!(own.iter().any(|r| *r < 9e9), "{name} was never slowed down: {own:?}");
        all.iter_mut().zip(&own).for_each(|(least, r)| *least = least.min(*r));
    }
    for (least, said) in all.iter().zip(&slowest) {
        // What goes the other way is never marked.
        assert!(said.is_nan() || said == least || *said == 1e10, "{said} of {least}");
    }
}

#[test]
fn a_report_of_ethernet_says_what_became_of_the_frames() {
    let (_dir, file) = folder(INCAST);
    let (text, _) = out(&["simulate", &file, "--seeds", "3"], 0);
    for words in
        ["from address to FCS", "dropped (", "of 300000 B in use", "the memory was full", "frames dropped, longest"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("pause frames"), "{text}");
    let (text, _) = out(&["simulate", &file, "--set", "parts.switch.flow_control=pause", "--all-links"], 0);
    for words in ["pause frames    ", "  paused  ", "  preamble, gap  ", "  control frames  "] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("dropped"), "{text}");
    // What cannot be carried is lost, or stays at home.
    let open = "flows.in.load={ rate = \"2 Gb/s\" }";
    let (text, _) = out(&["estimate", &file, "--set", open], 1);
    assert!(text.contains("6.247 Gb/s is dropped in front of links.net.0 toward host.0"), "{text}");
    let (text, _) = out(&["estimate", &file, "--set", open, "--set", "parts.switch.flow_control=pause"], 1);
    assert!(text.contains("6.247 Gb/s stays at the source"), "{text}");
    let (text, _) = out(&["simulate", &file, "--set", open, "--set", "parts.switch.flow_control=pause"], 1);
    assert!(text.contains("  transit    ") && text.contains("from leaving the application"), "{text}");
    let (csv, _) = out(&["simulate", &file, "--csv"], 0);
    assert!(csv.contains(",simulated_frames_dropped,") && csv.contains(",simulated_transit_p99_s,"), "{csv}");
    let (csv, _) = out(&["simulate", &file, "--csv", "--links"], 0);
    assert!(csv.contains(",control_frames_sent,pauses_stop,pauses_go"), "{csv}");
}

#[test]
fn a_trace_lies_beside_its_scenario() {
    let (dir, file) = folder(
        &INCAST
            .replace("size = \"1500 B\"", "size = \"1 B\"\nload = { trace = \"frames.csv\" }")
            .replace("host.*", "host.1"),
    );
    let (_, error) = out(&["run", &file], 2);
    assert!(error.contains("frames.csv: there is no such file"), "{error}");
    let trace = dir.path().join("frames.csv");
    std::fs::write(&trace, "0 ns, host.0, 9000 B\n").expect("written");
    let (text, _) = out(&["run", &file], 0);
    assert!(text.contains("6 delivered") && text.contains("no event was left"), "{text}");
    // What comes faster than the link at the end of a text is carried all the same.
    std::fs::write(&trace, "0 ns, host.0, 100 B\n5 us, host.0, 9000 B\n").expect("written");
    let (text, _) = out(&["run", &file], 0);
    assert!(text.contains("7 delivered") && !text.contains("unstable"), "{text}");
    std::fs::write(&trace, "0 ns, host.9, 9000 B\n").expect("written");
    let (_, error) = out(&["run", &file], 2);
    assert!(error.contains("frames.csv:1:1") && error.contains("not a valid destination"), "{error}");
    // A trace may be longer than a scenario.
    std::fs::write(&trace, "0 ns, host.0, 1000 B # \n".replace(" # ", &" ".repeat(100)).repeat(20_000))
        .expect("written");
    out(&["check", &file], 0);
}

#[test]
fn impossible_networks_are_refused_at_once() {
    let (_dir, file) = folder(INCAST);
    let wrong = |set: &str, word: &str| {
        let (_, error) = out(&["run", &file, "--set", set], 2);
        assert!(error.contains(word), "{set}: {error}");
    };
    wrong("links.net.star.hosts=4000000000", "a count is at most");
    wrong("links.net.star.hosts=5000", "write ports = …");
    wrong("links.net.delay=5 h", "too long");
    wrong("parts.host.pause_response=5 h", "too long");
    wrong("parts.switch.memory=10000000 GB", "is more than 8 GiB");
    let (_, error) = out(&["simulate", &file, "--set", "parts.host.nic_buffer=1000 GB"], 2);
    assert!(error.contains("more than 8388608"), "{error}");
    let (_, error) = out(&["simulate", &file, "--for", "5 h"], 2);
    assert!(error.contains("more than 2 h of Ethernet"), "{error}");
    wrong("flows.in.load={ share = \"101 %\" }", "share = \"90 %\"");
    let random = INCAST.replace("to = \"host.0\"", "to = \"host.*\"\npattern = \"random\"").replace("9 }", "4000 }");
    let (_dir, file) = folder(&random);
    let (_, error) = out(&["simulate", &file], 2);
    assert!(error.contains("4194304 connections") && error.contains("2048 stations"), "{error}");
    // At flow level pairs are nobody's memory, unless each always has something to send.
    let (_, error) = out(&["simulate", &file, "--level", "flow", "--set", "flows.in.transport=rocev2"], 2);
    assert!(error.contains("each is remembered"), "{error}");
    let rate = "flows.in.load={ share = \"10 %\" }";
    let (text, _) = out(&["simulate", &file, "--level", "flow", "--set", rate, "--for", "20 us"], 0);
    assert!(text.contains("messages at flow level"), "{text}");
    let tree = "parts = { host = { is = \"station\" }, switch = { is = \"ethernet-switch\" } }\n[links.net]\n\
                fat_tree = { k = 104 }\nethernet = \"10 Gb/s\"\n";
    let (_dir, file) = folder(tree);
    let (_, error) = out(&["check", &file], 2);
    assert!(error.contains("281216 of host, more than 262144"), "{error}");
    let rule = "leaf_spine = { leaves = 80000, spines = 80000, hosts = 1, leaf = \"switch\", spine = \"switch\" }";
    let (_dir, file) = folder(&tree.replace("fat_tree = { k = 104 }", rule));
    let (_, error) = out(&["check", &file], 2);
    assert!(error.contains("6400080000 links, more than 1048576"), "{error}");
}

#[test]
fn a_bus_by_its_clocks() {
    let (text, _) = out(&["wire", "pci", "pci-x-133", "--burst", "4 KiB", "--decode", "fast"], 0);
    assert!(text.contains("516 clocks") && text.contains("60 clocks"), "{text}");
    let dir = tempfile::tempdir().expect("a folder");
    out(&["wire", "pci", "pci 66 64-bit", "--svg", &dir.path().to_string_lossy()], 0);
    assert!(dir.path().join("efficiency.svg").exists() && dir.path().join("payload-rate.svg").exists());
    assert!(out(&["wire", "pci", "isa"], 0).0.contains("9.54 MB/s"));
    let (_, error) = out(&["wire", "pci", "pci-x 134 64-bit", "--burst", "0 B"], 2);
    assert!(error.contains("not a bus") && error.contains("not a valid burst"), "{error}");
    // A bus is one entry everywhere.
    let (_dir, file) = folder(&out(&["new", "--pci"], 0).0);
    let (csv, _) = out(&["simulate", &file, "--links", "--csv", "--for", "1 ms"], 0);
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let series = dir.path().join("series.csv");
    out(&["simulate", &file, "--for", "1 ms", "--series", &series.to_string_lossy(), "--step", "100 us"], 0);
    assert!(std::fs::read_to_string(series).expect("a file").contains("links.slots.utilisation"));
    out(&["run", &file, "--svg", &dir.path().to_string_lossy()], 0);
    assert!(dir.path().join("waterfall-slots.svg").exists());
    assert!(out(&["need", &file, "--flow", "rx", "--rate", "9 Gb/s"], 2).1.contains("shared bus"));
}

#[test]
fn full_runs_the_whole_time_however_tight_the_means_are() {
    let text = "[parts.host]\nis = \"root-complex\"\n[parts.nic]\nis = \"endpoint\"\n[links.slot]\nbetween = \
        [\"host\", \"nic\"]\npcie = \"gen3 x4\"\n\
                [flows.rx]\nfrom = \"nic\"\nto = \"host.memory\"\ndo = \"write\"\nsize = \"4 KiB\"\n[run]\nmax_time = \
                \"3 ms\"\nmax_packets = 100\n";
    let file = std::env::temp_dir().join(format!("lanescope-full-{}.toml", std::process::id()));
    std::fs::write(&file, text).expect("a scenario");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_lanescope"))
        .args(["simulate", "--full", "--json"])
        .arg(&file)
        .output()
        .expect("the command runs");
    let _ = std::fs::remove_file(&file);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["simulation"]["ending"]["ending"], "length");
    assert_eq!(report["simulation"]["window"], 0.003);
}

#[test]
fn ios_have_columns_of_their_own() {
    let (dir, file) = folder(&out(&["new", "--storage"], 0).0);
    let short = ["--for", "5 ms", "--set", "run.warmup=1 ms"];
    let with = |args: &[&str]| out(&[args, &short].concat(), 0).0;
    let csv = with(&["simulate", &file, "--csv"]);
    assert!(
        csv.lines().next().is_some_and(|h| h.contains("ios_per_s,stage_issue_s") && h.contains("at_work_1")),
        "{csv}"
    );
    let vary = ["--vary", "flows.database.outstanding=1,4"];
    let short = ["--set", "run.for=5 ms", "--set", "run.warmup=1 ms"];
    let table = out(&[&["run", file.as_str()], vary.as_slice(), &short].concat(), 0).0;
    assert!(table.contains("database I/Os a second  database latency"), "{table}");
    let grid = out(&[&["run", file.as_str(), "--csv"], vary.as_slice(), &short].concat(), 0).0;
    assert!(grid.contains("database ios_per_s,database simulated_latency_s"), "{grid}");
    // As many cells in each row as in the head.
    let series = dir.path().join("series.csv");
    with(&["simulate", &file, "--series", &series.to_string_lossy(), "--step", "1 ms"]);
    let series = std::fs::read_to_string(series).expect("a file");
    assert!(series.contains("flows.database.0.ios_per_s") && series.contains("links.fc.0 toward hba.utilisation"));
    assert!(series.contains("links.bus.utilisation") && series.lines().count() > 4, "{series}");
    let plan = out(&["plan", &file], 0).0;
    assert!(plan.contains("host → raid → array: IOzone read") && !plan.contains("host memory"), "{plan}");
    assert_eq!(plan.matches("parts.hba\n").count(), 1, "{plan}");
    let (_, error) = out(&["need", &file, "--flow", "file", "--rate", "9 Gb/s"], 2);
    assert!(error.contains("of I/Os") && error.contains("--vary"), "{error}");
}
