//! `collective`, and `compare` with a table of nccl-tests.

use crate::common::{folder, out};

const TWO: &str =
    "kind = \"gpu-cluster\"\nnodes = 2\nnode = { gpus = 8, nvlink = \"4\", nics = 8, infiniband = \"ndr 4x\" }\n";

#[test]
fn a_ladder_of_sizes_in_every_form() {
    let (dir, file) = folder(TWO);
    let (text, _) = out(&["collective", "all_reduce", &file, "--min", "8", "--max", "16G"], 0);
    assert_eq!(text.lines().filter(|l| l.trim_start().starts_with(char::is_numeric)).count(), 32, "{text}");
    assert!(text.contains("nvls_tree") && text.contains("# nvls is not available:"), "{text}");
    let (json, _) = out(&["collective", "all_reduce", &file, "--min", "1M", "--max", "1M", "--json", "--simulate"], 0);
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let row = &report["rows"][0];
    assert_eq!((report["ranks"].as_u64(), row["bytes"].as_u64()), (Some(16), Some(1 << 20)));
    let [time, simulated] = [&row["time"], &row["simulated"]["time"]].map(|t| t.as_f64().expect("a time"));
    assert!((time / simulated - 1.0).abs() < 0.1, "{time} {simulated}");
    let (csv, _) = out(&["collective", "alltoall", &file, "--max", "64", "--csv", "--protocol", "simple"], 0);
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let page = dir.path().join("page.html");
    let name = page.to_string_lossy().into_owned();
    out(&["collective", "all_gather", &file, "--html", &name, "--static"], 0);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("<svg") && page.contains("Not modelled") && !page.contains("<script"), "{}", page.len());
}

/// What is printed in the layout of an instrument is read as the instrument's own, with the same numbers.
#[test]
fn tables_of_instruments_are_read_again() {
    let (dir, file) = folder(TWO);
    for what in ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"] {
        let (table, _) =
            out(&["collective", what, &file, "--min", "16M", "--max", "16G", "--factor", "4", "--table"], 0);
        let name = dir.path().join(format!("{what}.txt"));
        std::fs::write(&name, format!("$ ./{what}_perf\n{table}")).expect("written");
        let (text, _) = out(&["compare", &name.to_string_lossy(), &file], 0);
        assert!(text.matches("+0.0 %").count() + text.matches("-0.0 %").count() == 6, "{text}");
    }
    // 16 ranks: IMB and OSU count what each hands to each.
    let json = ["collective", "alltoall", &file, "--min", "64K", "--max", "64K", "--json"];
    let time = serde_json::from_str::<serde_json::Value>(&out(&json, 0).0).expect("JSON")["rows"][0]["time"].as_f64();
    let time = format!("{:.2}", time.expect("a time") * 1e6);
    for layout in ["--table=osu", "--table=imb", "--table=imb2017"] {
        let (table, _) = out(&["collective", "alltoall", &file, "--min", "4K", "--max", "4K", layout], 0);
        let row = table.lines().find(|l| l.trim_start().starts_with("4096")).unwrap_or_else(|| panic!("{table}"));
        assert!(row.contains(&time), "{row}: {time}");
    }
    assert!(out(&["collective", "sendrecv", &file, "--table=osu"], 2).1.contains("imb has"));
}

#[test]
fn mistakes_are_told() {
    let (_dir, file) = folder(TWO);
    for (args, says) in [
        (vec!["all_reduc"], "did you mean all_reduce?"),
        (vec!["all_reduce", "--min", "8 apples"], "is not a valid size"),
        (vec!["all_reduce", "--min", "2G", "--max", "1G"], "is above --max"),
        (vec!["all_reduce", "--algorithm", "rings"], "did you mean \"ring\"?"),
        (vec!["all_reduce", "--set", "node.nics=0"], "not connected"),
        (vec!["all_reduce", "--set", "node.link_rate=9"], "needs its unit"),
        (vec!["all_reduce", "--set", "down=[\"rail3\"]", "--algorithm", "ring"], "is down"),
    ] {
        let all = [vec!["collective", args[0], &file], args[1..].to_vec()].concat();
        let (_, error) = out(&all, 2);
        assert!(error.contains(says), "{args:?}: {error}");
    }
    let (_dir, empty) = folder("");
    assert!(out(&["collective", "all_reduce", &empty], 2).1.contains("is empty"));
    // What is not simulated is said, and the program's code tells.
    let big = ["collective", "all_reduce", &file, "--set", "nodes=16", "--min", "1K", "--max", "1K", "--simulate"];
    assert!(out(&big, 1).1.contains("at most 64 are simulated"));
}

#[test]
fn a_measured_table_stands_beside_the_answer() {
    let (dir, file) = folder(TWO);
    let table = dir.path().join("nccl.txt");
    let rows = "$ ./all_reduce_perf -b 1M -e 1G -f 1024\n\
        #       size         count      type   redop    root     time   algbw   busbw #wrong\n\
             1048576        262144     float     sum      -1    52.51   19.97   37.44      0\n\
          1073741824     268435456     float     sum      -1   4479.0  239.73  449.49      0\n";
    std::fs::write(&table, rows).expect("written");
    let table = table.to_string_lossy().into_owned();
    let (text, _) = out(&["compare", &table, &file], 0);
    assert!(text.contains("449.49") && text.contains("measured busbw"), "{text}");
    assert_eq!(text.lines().filter(|l| l.contains(" %")).count(), 2, "{text}");
    let (json, _) = out(&["compare", &table, &file, "--json"], 0);
    assert!(json.contains("\"measured\""), "{json}");
}

#[test]
fn a_newcomer_starts_from_a_file() {
    let (_dir, file) = folder(&out(&["new", "--gpus"], 0).0);
    let (text, _) = out(&["collective", "all_reduce", &file, "--min", "1G", "--max", "1G"], 0);
    assert!(text.contains("two nodes of eight GPUs") && text.contains("bound by"), "{text}");
}

/// `check` and `plan` know clusters: every value with its origin, and the ways.
#[test]
fn a_cluster_is_checked_and_planned() {
    let (_dir, file) = folder(TWO);
    assert!(out(&["check", &file], 0).0.contains("2 nodes of 8 GPUs and 8 NICs"));
    assert!(out(&["check", &file, "--json"], 0).0.contains("\"valid\": true"));
    let text = out(&["plan", &file], 0).0;
    for said in
        ["packet", "assumed, guess, default: Foley and Danskin", "H100 white paper", "link of nic0 of node1, in"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = out(&["plan", &file, "--set", "node.c2c=\"1\""], 0).0;
    assert!(text.contains("C2C of gpu0 of node0, out → slot of nic0") && text.contains("c2c_rate"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&out(&["plan", &file, "--json"], 0).0).expect("JSON");
    assert_eq!(json["routes"].as_array().map(Vec::len), Some(2));
    let (_dir, wrong) = folder(&TWO.replace("nics = 8", "nics = 3"));
    assert!(out(&["plan", &wrong], 2).1.contains("cannot be divided"));
    assert!(out(&["check", &wrong, "--json"], 2).0.contains("\"valid\": false"));
}
