//! `iometer` as a person meets it: set-ups run, shown and saved, results appended.

use crate::common::{folder, out};
use std::path::{Path, PathBuf};

const MACHINE: &str = r#"
title = "three RAM disks"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
[parts.ssd]
is = "ram-disk"
count = 3
[links.slot]
between = ["host", "hba"]
pcie = "gen3 x8"
[links.fc]
between = ["hba", "ssd.*"]
fc = "8GFC"
[flows.load]
from = "host"
to = "ssd.*"
do = "io"
access = { size = "8 KiB", read = "67 %", random = "100 %", align = "8 KiB" }
outstanding = 2
workers = 2
[run]
for = "1 s"
warmup = "0 s"
"#;

/// What makes runs short.
const SHORT: [&str; 4] = ["--set", "run.for=10ms", "--set", "run.warmup=1ms"];

/// The machine, and the set-up that its own flows are.
fn saved() -> (tempfile::TempDir, String, PathBuf) {
    let (dir, machine) = folder(MACHINE);
    let setup = dir.path().join("a.icf");
    let (_, said) = out(&["iometer", "--save", path(&setup), &machine], 0);
    assert!(said.contains("1 access specification, 1 manager, 2 workers"), "{said}");
    (dir, machine, setup)
}

fn path(p: &Path) -> &str {
    p.to_str().expect("a path of characters")
}

fn cycle(setup: &Path, test_type: &str) {
    let text = std::fs::read_to_string(setup).expect("a set-up");
    let text = text
        .replace("\tNORMAL", &format!("\t{test_type}"))
        .replace("1          32         2", "1          4          2");
    std::fs::write(setup, text).expect("written");
}

#[test]
fn a_set_up_runs_and_its_results_are_appended() {
    let (dir, machine, setup) = saved();
    cycle(&setup, "CYCLE_OUTSTANDING_IOS");
    let csv = dir.path().join("results.csv");
    let run =
        |more: &[&str]| out(&[&["iometer", path(&setup), &machine, "--csv", path(&csv)], &SHORT[..], more].concat(), 0);
    let (text, said) = run(&[]);
    assert!(text.contains("three RAM disks, 4 outstanding") && text.contains("MB/s (10^6)"), "{text}");
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(said.contains("3 of 3 tests appended to") && said.contains("80 columns"), "{said}");
    let first = std::fs::read_to_string(&csv).expect("results");
    assert_eq!(first.matches("\r\nDISK,").count(), 18);
    assert_eq!(first.matches("'Access specifications\r\n").count(), 1);
    // Appended, never replaced.
    run(&["--columns", "56", "--tests", "2"]);
    let both = std::fs::read_to_string(&csv).expect("results");
    assert!(both.starts_with(&first) && both[first.len()..].contains("2008.06.18"));
    assert_eq!(both.matches("'Test Type").count(), 2);
    assert_eq!(both[first.len()..].matches("\r\nDISK,").count(), 6);
    let row = both.lines().next_back().unwrap_or_default();
    assert!(row.len() == 23, "the last line is a time stamp: {row}");
}

#[test]
fn percentiles_histogram_and_json_stand_beside() {
    let (dir, machine, setup) = saved();
    let (p, h) = (dir.path().join("p.csv"), dir.path().join("h.csv"));
    let args = ["iometer", path(&setup), &machine, "--json", "--percentiles", path(&p), "--histogram", path(&h)];
    let (text, _) = out(&[&args[..], &SHORT].concat(), 0);
    let tests: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let all = &tests[0]["rows"][0];
    assert_eq!(all["statistics"].as_object().map(|s| s.len()), Some(34));
    assert!(all["statistics"]["% DPC Time"].is_null() && all["statistics"]["Total Error Count"] == 0.0);
    // All managers, the manager, two workers.
    assert_eq!(tests[0]["rows"].as_array().map(Vec::len), Some(4));
    let count = all["latencies"]["all"]["count"].as_u64().expect("a number");
    let table = std::fs::read_to_string(&p).expect("percentiles");
    assert!(
        table.starts_with("test,title,row,name,direction,ios,p50 ms,p90 ms,p95 ms,p99 ms,p99.9 ms,p99.99 ms\n"),
        "{table}"
    );
    assert!(table.contains(&format!(",ALL,All,all,{count},")), "{table}");
    let mut rows = csv::Reader::from_path(&h).expect("a histogram");
    let all = rows.records().map(|r| r.expect("a row")).filter(|r| &r[2] == "ALL");
    assert_eq!(all.map(|r| r[6].parse::<u64>().expect("a number")).sum::<u64>(), count);
}

#[test]
fn tests_are_shown_as_scenarios_that_run_alone() {
    let (dir, machine, setup) = saved();
    cycle(&setup, "CYCLE_WORKERS");
    let (text, _) = out(&["iometer", path(&setup), &machine, "--show", "--tests", "2"], 0);
    assert!(text.contains("[flows.m1-w2]") && text.contains("to = [\"ssd.0\", \"ssd.1\", \"ssd.2\"]"), "{text}");
    let alone = dir.path().join("alone.toml");
    std::fs::write(&alone, &text).expect("written");
    let (text, _) = out(&[&["simulate", path(&alone)], &SHORT[..]].concat(), 0);
    assert!(text.contains("m1-w1") && text.contains("m1-w2"), "{text}");
    // Estimated only.
    let (text, _) = out(&["iometer", path(&setup), &machine, "--estimate"], 0);
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn names_are_mapped_and_what_is_wrong_is_said_at_its_place() {
    let (_dir, machine, setup) = saved();
    let text = std::fs::read_to_string(&setup).expect("a set-up");
    std::fs::write(&setup, text.replace("\tssd.0", "\t8: \"Pliant LS300S P10\"")).expect("written");
    let args = ["iometer", path(&setup), &machine, "--show"];
    let (text, _) = out(&[&args[..], &["--map", "Pliant LS300S P10=ssd.2"]].concat(), 0);
    assert!(text.contains("to = [\"ssd.2\", \"ssd.1\", \"ssd.2\"]"), "{text}");
    let (_, error) = out(&[&args[..], &["--map", "Pliant=ssd.2"]].concat(), 2);
    assert!(error.contains("the set-up has no target or manager Pliant"), "{error}");
    let (_, error) = out(&[&args[..], &["--map", "Pliant"]].concat(), 2);
    assert!(error.contains("a name, = and a volume"), "{error}");
    let (_, error) = out(&[&args[..], &["--tests", "1-9"]].concat(), 2);
    assert!(error.contains("the set-up has tests 1 to 1"), "{error}");
    // More targets than the machine has.
    let text = std::fs::read_to_string(&setup).expect("a set-up").replacen("\tssd.1", "\tC:", 1);
    std::fs::write(&setup, text).expect("written");
    let (_, error) = out(&args, 2);
    assert!(
        error.contains("no volume is left for target") && error.contains("host host has: ssd.0, ssd.1, ssd.2"),
        "{error}"
    );
    assert!(error.contains("a.icf:"), "{error}");
}

#[test]
fn slightly_wrong_set_ups_need_to_be_tolerated() {
    let (dir, machine, setup) = saved();
    let text = std::fs::read_to_string(&setup).expect("a set-up");
    std::fs::write(&setup, text.replace("'Disk Cycling", "'Target Cycling").replace("'Test Type", "\n'Test Type"))
        .expect("written");
    let (_, error) = out(&["iometer", path(&setup), &machine, "--show"], 2);
    assert!(
        error.contains("'Target Cycling is none of Iometer's keys") && error.contains("--tolerant reads it"),
        "{error}"
    );
    let (_, error) = out(&["iometer", path(&setup), &machine, "--show", "--tolerant"], 0);
    assert!(error.contains("warning") && error.contains("an empty line"), "{error}");
    // Saved, it is as it should be.
    let clean = dir.path().join("clean.icf");
    out(&["iometer", "--tolerant", "--save", path(&clean), path(&setup)], 0);
    assert_eq!(std::fs::read_to_string(&clean).expect("a set-up"), text);
    out(&["iometer", path(&clean), &machine, "--show"], 0);
}

#[test]
fn what_is_no_set_up_is_refused() {
    let (dir, machine, setup) = saved();
    let text = std::fs::read_to_string(&setup).expect("a set-up");
    std::fs::write(&setup, &text[..text.len() / 2]).expect("written");
    let (text, error) = out(&["iometer", path(&setup), &machine], 2);
    assert!(text.is_empty() && error.contains("has no end"), "{error}");
    std::fs::write(&setup, vec![b'\''; 20 << 20]).expect("written");
    let (_, error) = out(&["iometer", path(&setup), &machine], 2);
    assert!(error.contains("longer than 16 MiB"), "{error}");
    std::fs::write(&setup, [0xff, 0xfe, 0]).expect("written");
    out(&["iometer", path(&setup), &machine], 2);
    out(&["iometer", path(&setup)], 2);
    out(&["iometer", &machine, &machine], 2);
    // What Iometer has no words for.
    let odd = dir.path().join("odd.toml");
    let target = dir.path().join("b.icf");
    std::fs::write(&odd, MACHINE.replace("67 %", "66.5 %")).expect("written");
    let (_, error) = out(&["iometer", "--save", path(&target), path(&odd)], 2);
    assert!(error.contains("66.5 % reads") && error.contains("whole percentages"), "{error}");
    std::fs::write(&odd, MACHINE.replace("outstanding = 2", "outstanding = 3")).expect("written");
    let (_, error) = out(&["iometer", "--save", path(&target), &machine, path(&odd)], 2);
    assert!(error.contains("other targets, outstanding I/Os or sectors"), "{error}");
    assert!(!target.exists());
    std::fs::write(&odd, MACHINE.replace("8 KiB", "4 KiB").replace("three", "four")).expect("written");
    let (_, said) = out(&["iometer", "--save", path(&target), &machine, path(&odd)], 0);
    assert!(said.contains("2 access specifications, 1 manager, 2 workers"), "{said}");
}

/// Two managers on two stations: one worker, whose messages go over Ethernet.
#[test]
fn network_workers_run_between_stations() {
    let machine =
        "[parts.n]\nis = \"station\"\ncount = 2\n[links.lan]\nbetween = [\"n.0\", \"n.1\"]\nethernet = \"10 Gb/s\"\n";
    let (dir, machine) = folder(machine);
    let setup = dir.path().join("net.icf");
    let worker = "'Worker\n\tW\n'Worker type\n\tNETWORK,TCP\n'Default target settings for worker\n\
        'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed \
        value\n\t1,ENABLED,10,DISABLED,0\n\
        'Local network interface\n\t10.0.0.1\n'End default target settings for worker\n'Assigned access \
        specs\n\tDefault\n'End assigned access specs\n\
        'Target assignments\n'Target\n\t10.0.0.2\n'Target type\n\tNETWORK,TCP\n'Target manager ID, manager \
        name\n\t2,B\n'End target\n\
        'End target assignments\n'End worker\n";
    let managers = |worker: &str| {
        format!(
            "'MANAGER LIST ===\n'Manager ID, manager name\n\t1,A\n'Manager network address\n\t\n{worker}'End manager\n\
             'Manager ID, manager name\n\t2,B\n'Manager network address\n\tb\n'End manager\n'END manager list\n"
        )
    };
    std::fs::write(&setup, format!("Version 1.1.0 \n{}Version 1.1.0 \n", managers(worker))).expect("written");
    let csv = dir.path().join("net.csv");
    let args = ["iometer", path(&setup), &machine, "--csv", path(&csv)];
    let (text, error) = out(&[&args[..], &SHORT].concat(), 0);
    assert!(text.contains("Default"), "{text}{error}");
    let text = std::fs::read_to_string(&csv).expect("results");
    assert!(text.contains("\r\nNETWORK,A:10.0.0.1 >> B:10.0.0.2,,,,,"), "{text}");
    let row = text.lines().find(|l| l.starts_with("WORKER,")).expect("a worker");
    let cells: Vec<&str> = row.split(',').collect();
    let number = |i: usize| cells[i].parse::<f64>().expect("a number");
    // Transactions and connections per second, transactions of a connection.
    assert!(number(15) > 1000.0 && (number(15) / number(16) / 10.0 - 1.0).abs() < 0.05, "{row}");
    assert_eq!(cells[35], "10");
}

/// The access specifications of the switch's study, in the order of its rows.
const SWITCH: [&str; 4] = [
    "seqread={ size = \"2 MiB\", read = \"100 %\" }",
    "seqwrite={ size = \"2 MiB\", read = \"0 %\" }",
    "mix={ size = \"2 MiB\", read = \"67 %\" }",
    "random={ size = \"2 MiB\", read = \"50 %\", random = \"100 %\" }",
];

#[test]
fn the_set_up_of_the_switch_study_is_what_the_program_writes_and_runs() {
    let study = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/pes16t4g2");
    let file = |name: &str| study.join(name).to_string_lossy().into_owned();
    let dir = tempfile::tempdir().expect("a folder");
    let written = dir.path().join("iometer.icf").to_string_lossy().into_owned();
    let (machine, kept) = (file("iometer-without.toml"), file("iometer.icf"));
    let mut args = vec!["iometer", "--save", &written, &machine];
    SWITCH.iter().for_each(|access| args.extend(["--access", access]));
    out(&args, 0);
    let text = |name: &str| std::fs::read_to_string(name).expect("a set-up");
    assert_eq!(text(&written), text(&kept), "studies/pes16t4g2/iometer.icf is no longer what is written");
    // What an I/O costs the worker is the machine's, so the tests are those of the study's rows.
    let (shown, _) = out(&["iometer", &kept, &machine, "--show", "--tests", "1"], 0);
    assert!(shown.contains("size = \"2 MiB\"") && shown.contains("max_time = \"15 s\""), "{shown}");
    let (json, _) = out(&["iometer", &kept, &machine, "--estimate", "--json"], 0);
    let tests: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for (i, sets) in SWITCH.iter().enumerate() {
        let access = sets.split_once('=').expect("a name").1;
        let set = format!("flows.io.access={access}");
        let (json, _) = out(&["estimate", &machine, "--set", &set, "--json"], 0);
        let row: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let share = row["flows"][0]["share"]["typical"].as_f64().expect("a share") / 8e6;
        let mb = tests[i]["rows"][0]["statistics"]["Total MBs per Second (Decimal)"].as_f64().expect("a rate");
        assert!((mb / share - 1.0).abs() < 1e-9, "{sets}: {mb} and {share} MB/s");
    }
}
