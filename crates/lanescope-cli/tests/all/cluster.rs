//! Clusters as a person meets them: the report of a message program, its instrument's table, and a real table beside
//! it.

use crate::common::{folder, out};
use std::path::Path;

/// Small messages only, so that a run is short.
const PAIR: &str = r#"
[parts.node]
is = "channel-adapter"
count = 2
[parts.sw]
is = "infiniband-switch"
[links.cable]
between = ["node.*", "sw"]
infiniband = "sdr 4x"
[flows.pp]
do = "mpi"
ranks = ["node.*"]
benchmark = "imb PingPong"
sizes = ["0 B", "1 KiB", "64 KiB"]
repetitions = 20
"#;

#[test]
fn a_program_is_reported_as_its_instrument_counts() {
    let (_dir, file) = folder(PAIR);
    let (text, _) = out(&["run", &file], 0);
    assert!(text.starts_with("pp    imb PingPong, 2 ranks\n  time "), "{text}");
    for words in [
        " estimated (",
        " simulated",
        "  bound by   ",
        "  ranks      estimated library ",
        "             simulated library ",
        "PingPong, 2 ranks; times are half a round trip; MB/s are 10^6 bytes/s, one way\n",
        "all ranks have ended",
        "(sdr 4x InfiniBand, one way)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("an operation") && !text.contains("DLLP"), "{text}");
    // A line for each size, with its deviation at the end.
    for size in ["0 B", "1 KiB", "64 KiB"] {
        let row = text.lines().find(|l| l.trim_start().starts_with(&format!("{size}  "))).expect("a row");
        assert!(row.contains(" 20 ") && row.ends_with(" %"), "{row}");
    }
    let (text, _) = out(&["estimate", &file], 0);
    assert!(text.contains("estimated") && !text.contains("simulated"), "{text}");
}

#[test]
fn rows_without_a_size_are_lines() {
    let (_dir, file) = folder(&PAIR.replace("sizes = [\"0 B\", \"1 KiB\", \"64 KiB\"]\n", ""));
    let (text, _) = out(&["run", &file, "--set", "flows.pp.benchmark=imb Barrier"], 0);
    let line = text.lines().find(|l| l.starts_with("  Barrier  ")).expect("a line");
    assert!(line.contains(" estimated (") && line.contains(" simulated (") && line.ends_with(", 20 times"), "{line}");
}

#[test]
fn ranks_that_only_compute_are_answered() {
    let (_dir, file) = folder(&PAIR.replace(
        "benchmark = \"imb PingPong\"\nsizes = [\"0 B\", \"1 KiB\", \"64 KiB\"]\nrepetitions = 20",
        "program = \"compute 5 us\"",
    ));
    let (text, _) = out(&["run", &file], 0);
    assert!(
        text.contains("5 us estimated; 5 us simulated (+0.0 %); 0 messages") && text.contains("computing 100.0 %"),
        "{text}"
    );
}

#[test]
fn flows_rows_and_sweeps_have_times() {
    let (dir, file) = folder(PAIR);
    let (csv, _) = out(&["run", &file, "--csv"], 0);
    assert!(
        csv.lines().next().is_some_and(|h| h.ends_with("time_s,time_slower_s,time_faster_s,simulated_time_s,messages")),
        "{csv}"
    );
    let (rows, _) = out(&["run", &file, "--csv", "--rows"], 0);
    assert_eq!(rows.lines().count(), 4, "{rows}");
    assert!(rows.contains("\npp,PingPong,1024,2,20,"), "{rows}");
    let vary = ["--vary", "flows.pp.send_time=200 ns,800 ns"];
    let (table, _) = out(&[&["run", &file], vary.as_slice()].concat(), 0);
    assert!(table.contains("pp time") && table.contains("pp simulated time") && !table.contains("share"), "{table}");
    let one = ["--set", "flows.pp.sizes=1 KiB"];
    let (table, _) = out(&[&["estimate", &file, "--csv"], vary.as_slice(), &one].concat(), 0);
    assert!(table.starts_with("flows.pp.send_time,pp time_s,pp t_s,pp rate_bytes_per_s,pp bound by\n"), "{table}");
    // As many cells in each row as in the head, which the writer sees to.
    let series = dir.path().join("series.csv");
    out(&["simulate", &file, "--series", &series.to_string_lossy(), "--step", "20 us"], 0);
    let series = std::fs::read_to_string(series).expect("a file");
    assert!(
        series.contains("flows.pp.messages_per_s") && series.contains("links.cable.0 toward sw.queued_packets"),
        "{series}"
    );
    let pictures = dir.path().join("pictures");
    out(
        &["estimate", &file, "--svg", &pictures.to_string_lossy(), "--vary", "flows.pp.send_time=200 ns..800 ns by x2"],
        0,
    );
    assert!(pictures.join("time.svg").exists() && !pictures.join("curve.svg").exists());
}

#[test]
fn a_difference_is_one_of_times() {
    let (dir, file) = folder(PAIR);
    let mut names = Vec::new();
    for time in ["200 ns", "800 ns"] {
        let (json, _) = out(&["estimate", &file, "--json", "--set", &format!("flows.pp.send_time={time}")], 0);
        let name = dir.path().join(format!("{}.json", names.len())).to_string_lossy().into_owned();
        std::fs::write(&name, json).expect("written");
        names.push(name);
    }
    let (text, _) = out(&["diff", &names[0], &names[1]], 0);
    assert!(
        text.contains("flows.pp.t.1024") && text.contains("flows.pp.time") && !text.contains("flows.pp.share"),
        "{text}"
    );
}

#[test]
fn check_and_plan_know_clusters() {
    let (_dir, file) = folder(PAIR);
    assert!(out(&["check", &file], 0).0.contains("3 parts, 2 links, 1 flow\n"));
    let (plan, _) = out(&["plan", &file], 0);
    assert!(plan.contains("flows.pp  imb PingPong, 2 ranks: on node.0, node.1"), "{plan}");
}

#[test]
fn tables_are_the_instruments_own() {
    let (_dir, file) = folder(PAIR);
    let (imb, _) = out(&["simulate", &file, "--table"], 0);
    assert!(imb.contains("# Benchmarking PingPong \n# #processes = 2 \n"), "{imb}");
    assert!(imb.contains("       #bytes #repetitions      t[usec]   Mbytes/sec\n            0           20 "), "{imb}");
    assert!(!imb.contains("imb PingPong, 2 ranks"), "{imb}");
    let (pmb, _) = out(&["estimate", &file, "--table=pmb"], 0);
    assert!(pmb.contains("# ( #processes = 2 ) \n"), "{pmb}");
    let (osu, _) = out(&["estimate", &file, "--table", "--set", "flows.pp.benchmark=osu_latency"], 0);
    assert!(osu.contains("# OSU MPI Latency Test") && osu.contains("# Size          Latency (us)\n"), "{osu}");
    let (_, error) = out(&["estimate", &file, "--table=osu"], 2);
    assert!(error.contains("is of IMB"), "{error}");
    let (_, error) =
        out(&["estimate", &file, "--table", "--set", "flows.pp.benchmark=npb is.S", "--set", "flows.pp.sizes=8 B"], 2);
    assert!(!error.is_empty());
}

#[test]
fn a_real_table_stands_beside_the_answers() {
    let (dir, file) = folder(PAIR);
    // A table of our own with one time doubled: what is compared is known.
    let (table, _) = out(&["estimate", &file, "--table"], 0);
    let real = dir.path().join("real.txt").to_string_lossy().into_owned();
    std::fs::write(&real, &table).expect("written");
    let (text, _) = out(&["compare", &real, &file], 0);
    assert!(
        text.starts_with("PingPong, 2 ranks ") && text.contains("estimate") && text.contains("simulated"),
        "{text}"
    );
    assert!(text.contains("\npp    imb PingPong, 2 ranks\n  bound by   "), "{text}");
    let (text, _) = out(&["compare", &real, &file, "--estimate", "--json"], 0);
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = answer["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        // Two decimals of a microsecond were printed.
        assert!(row["estimate_off"].as_f64().is_some_and(|o| o.abs() < 0.005), "{row}");
        assert!(row["simulated"].is_null());
    }
    assert_eq!(answer["flows"][0]["flow"], "pp");
}

#[test]
fn wrong_comparisons_are_told_why() {
    let (dir, file) = folder(PAIR);
    let real = dir.path().join("real.txt").to_string_lossy().into_owned();
    std::fs::write(&real, "nothing of the kind\n").expect("written");
    let (text, error) = out(&["compare", &real, &file], 2);
    assert!(text.is_empty() && !error.is_empty());
    std::fs::write(&real, out(&["estimate", &file, "--table"], 0).0).expect("written");
    let (_, error) = out(&["compare", &real, &file, "--flow", "p"], 2);
    assert!(error.contains("there is no flow of ranks \"p\""), "{error}");
    let (_, error) = out(&["compare", &real, &file, "--set", "flows.pp.benchmark=osu_latency"], 2);
    assert!(error.contains("PingPong, 2 ranks") && error.contains("osu_latency"), "{error}");
    let (_other, ethernet) = folder(&out(&["new", "--ethernet"], 0).0);
    let (_, error) = out(&["compare", &real, &ethernet], 2);
    assert!(error.contains("no flow of ranks"), "{error}");
    let (_, error) = out(&["compare", "no-such-file.txt", &file], 2);
    assert!(error.contains("there is no such file"), "{error}");
}

#[test]
fn recorded_tables_are_read() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lanescope/tests/fixtures/mpi");
    let table = own.join("stackhpc-alaska-roce-gcc9-openmpi4-ucx-Osu_latency.txt");
    let (_dir, file) = folder(&out(&["new", "--roce"], 0).0);
    let (text, _) = out(&["compare", &table.to_string_lossy(), &file, "--estimate"], 0);
    assert!(text.starts_with("osu_latency ") && text.contains("4 MiB") && text.contains("estimate "), "{text}");
}

#[test]
fn a_newcomer_starts_a_cluster_from_a_file() {
    for (option, kind) in [("--cluster", "InfiniBand"), ("--roce", "Ethernet")] {
        let (_dir, file) = folder(&out(&["new", option], 0).0);
        let sizes = "flows.pp.sizes=[\"8 B\", \"64 KiB\"]";
        let (text, _) = out(&["run", &file, "--set", sizes, "--set", "flows.pp.repetitions=10", "--all-links"], 0);
        assert!(text.contains("half a round trip") && text.contains(kind), "{option}: {text}");
    }
    assert!(out(&["platform", "show", "example/hca-edr"], 0).0.contains("channel-adapter"));
}
