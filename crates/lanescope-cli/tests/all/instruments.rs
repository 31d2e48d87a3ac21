//! fio and IOzone as a person meets them: job files and ladders on a machine, results in their own forms, and real
//! results beside simulated ones.

use crate::common::{folder, lanescope, out, wrong};
use std::path::Path;
use std::process::Command;

const MACHINE: &str = r#"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
[parts.lun]
is = "ram-disk"
count = 2
capacity = "64 MiB"
[links.slot]
between = ["host", "hba"]
pcie = "gen2 x8"
[links.fc]
between = ["hba", "lun.*"]
fc = "8GFC"
"#;

const JOBS: &str = "[global]\nioengine=libaio\ndirect=1\nsize=16m\nruntime=20ms\n[mix]\nrw=randrw\nbs=4k\niodepth=4\n\
    numjobs=2\ngroup_reporting\n\
                    [seq]\nstonewall\nfilename=/dev/sdb\nrw=read\nbs=64k\niodepth=2\n";

/// A folder with a machine and a job file.
fn jobs(text: &str) -> (tempfile::TempDir, String, String) {
    let (dir, machine) = folder(MACHINE);
    let file = dir.path().join("jobs.fio");
    std::fs::write(&file, text).expect("written");
    (dir, file.to_string_lossy().into_owned(), machine)
}

#[test]
fn a_job_file_runs_and_says_what_binds() {
    let (_dir, file, machine) = jobs(JOBS);
    let (text, error) = out(&["fio", &file, &machine], 0);
    assert_eq!(error, "");
    for words in [
        "mix: (groupid=0): err= 0\n  read: IOPS=",
        "seq: (groupid=1)",
        "  IO depths    : ",
        "bound by",
        "parts.host: worker 0",
        "links.fc.1 toward hba: slots",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Without a simulation, what was worked out stands alone.
    let (text, _) = out(&["fio", &file, &machine, "--estimate"], 0);
    assert!(!text.contains("groupid") && text.lines().count() == 4, "{text}");
    let (text, _) = out(&["fio", &file, &machine, "--json", "--estimate"], 0);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (json[0]["jobs"][0]["name"].as_str(), json[1]["jobs"][0]["estimate"][1]["rate"].as_f64()),
        (Some("mix"), Some(0.0))
    );
    assert!(json[1]["jobs"][0]["estimate"][0]["per_second"].as_f64().is_some_and(|n| n > 1000.0), "{text}");
}

#[test]
fn scenarios_of_runs_can_be_kept_and_run_alone() {
    let (dir, file, machine) = jobs(JOBS);
    let (text, _) = out(&["fio", &file, &machine, "--show", "--map", "/dev/sdb=lun.0"], 0);
    assert!(
        text.contains("[flows.mix-1]") && text.contains("[flows.seq]") && text.contains("max_time = \"20 ms\""),
        "{text}"
    );
    // The mapped volume is lun.0, the other file has what is left.
    assert!(text.contains("to = \"lun.1\"") && text.contains("to = \"lun.0\""), "{text}");
    let second = text.rfind("title =").expect("a second run");
    let alone = dir.path().join("seq.toml");
    std::fs::write(&alone, &text[second..]).expect("written");
    let (text, _) = out(&["estimate", &alone.to_string_lossy()], 0);
    assert!(text.contains("seq"), "{text}");
}

#[test]
fn mistakes_are_told() {
    let (_dir, file, machine) = jobs("[a]\niodepht=4\n");
    wrong(&["fio", &file, &machine], &["fio has no option iodepht", "did you mean iodepth?", "jobs.fio:2:1"]);
    let (_, error) = out(&["fio", &file, &machine, "--tolerant", "--estimate"], 0);
    assert!(error.contains("warning"), "{error}");
    wrong(&["fio", &machine, &file], &["error"]);
    wrong(&["fio", "no-such.fio", &machine], &["there is no such file"]);
    let (_dir, file, machine) = jobs(JOBS);
    wrong(&["fio", &file, &machine, "--map", "x"], &["FILE=VOLUME"]);
    wrong(&["fio", &file, &machine, "--map", "/dev/sdb=lun.9"], &["no volume", "did you mean lun."]);
    wrong(&["fio", &file, &machine, "--estimate", "--output-format", "json"], &["--json has the estimate"]);
}

#[test]
fn json_is_written_and_stands_beside_itself() {
    let (dir, file, machine) = jobs(JOBS);
    let real = dir.path().join("real.json");
    let name = real.to_string_lossy().into_owned();
    let (text, _) = out(&["fio", &file, &machine, "--output-format", "json+", "--output", &name], 0);
    assert_eq!(text, "");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&real).expect("written")).expect("JSON");
    assert_eq!((json["fio version"].as_str(), json["jobs"].as_array().map(Vec::len)), (Some("fio-3.33"), Some(2)));
    assert!(json["jobs"][1]["read"]["clat_ns"]["bins"].is_object(), "{json}");
    // The load is in it: the same machine comes to the same again.
    let (text, error) = out(&["compare", &name, &machine, "--json"], 0);
    let beside: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = beside["rows"].as_array().expect("rows");
    let of_time = |row: &&serde_json::Value| row["what"].as_str().is_some_and(|w| w.contains(" clat "));
    assert_eq!(rows.iter().filter(|r| !of_time(r)).count(), 9, "{text}{error}");
    // Every percentile that fio prints has its row, but for those of which too few I/Os were simulated.
    let percentiles = rows.iter().filter(of_time).count();
    let left = beside["left_out"].to_string();
    assert!(percentiles > 3 * 12 && left.contains("simulated I/Os are too few"), "{percentiles} {left}");
    for row in rows {
        let off = row["simulated_off"].as_f64().expect("a deviation");
        assert!(off.abs() < 1e-3 && row["bound_by"].as_str().is_some_and(|b| !b.is_empty()), "{row}");
    }
    let (text, _) = out(&["compare", &name, &machine], 0);
    assert!(text.contains("read clat 50 %") && text.contains("simulated I/Os are too few for them"), "{text}");
    let (text, _) = out(&["compare", &name, &machine, "--estimate"], 0);
    assert!(text.contains("percentiles: only a simulation has a distribution"), "{text}");
    assert!(text.starts_with("mix ") && text.contains("  read IOPS ") && text.contains("  bound by   "), "{text}");
    // Half of it is refused.
    std::fs::write(&real, &json.to_string()[..2000]).expect("written");
    wrong(&["compare", &name, &machine], &["the text ends within a document"]);
}

/// A real result of fio 3.33 beside an NVMe drive: every percentile that fio printed stands there as it printed it, or
/// is said to have no answer.
#[test]
fn a_real_distribution_stands_beside_a_simulated_one() {
    let (dir, machine) = folder(
        "[parts.host]\nis = \"root-complex\"\n[parts.drive]\nis = \"nvme\"\n[links.slot]\n\
         between = [\"host\", \"drive\"]\npcie = \"gen3 x4\"\n",
    );
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lanescope/tests/fixtures/fio/randrw.json+");
    let name = real.to_string_lossy().into_owned();
    let (text, error) = out(&["compare", &name, &machine, "--json"], 0);
    let beside: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = beside["rows"].as_array().expect("rows");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&real).expect("a fixture")).expect("JSON");
    let (mut beside_each_other, mut missing) = (0, 0);
    for (job, side) in [(0, "read"), (0, "write"), (1, "write")] {
        let entry = &json["jobs"][job];
        for (percent, time) in entry[side]["clat_ns"]["percentile"].as_object().expect("percentiles") {
            let what = format!("{side} clat {} %", percent.parse::<f64>().expect("a number"));
            let here = |r: &&serde_json::Value| r["what"] == what.as_str() && r["name"] == entry["jobname"];
            match rows.iter().find(here) {
                Some(row) => {
                    let shown = row["real"].as_f64().expect("a time") * 1e9;
                    assert!((shown - time.as_f64().expect("ns")).abs() < 1.0, "{what}: {row}");
                    assert!(row["simulated"].as_f64().is_some_and(|t| t > 0.0) && row["estimate"].is_null(), "{row}");
                    beside_each_other += 1;
                }
                None => missing += 1,
            }
        }
        // Percentiles of a distribution grow.
        let own: Vec<f64> = rows
            .iter()
            .filter(|r| r["name"] == entry["jobname"] && r["what"].to_string().contains(&format!("{side} clat")))
            .map(|r| r["simulated"].as_f64().expect("a time"))
            .collect();
        assert!(own.len() > 10 && own.is_sorted(), "{own:?}");
    }
    assert!(beside_each_other >= 3 * 12 && missing < 3 * 5, "{beside_each_other}, {missing} left out: {error}");
    assert_eq!(missing > 0, beside["left_out"].to_string().contains("too few"), "{}", beside["left_out"]);
    // Of clones that were reported one by one a percentile of all is in nobody's numbers; with bins it is.
    let clones = |bins: &str| {
        let lat = |at: u32| format!("\"percentile\": {{\"50.000000\": {at}}}{}", bins.replace("AT", &at.to_string()));
        let job = |at: u32| {
            format!(
                "{{\"jobname\": \"a\", \"groupid\": 0, \"read\": {{\"iops\": 10.0, \"bw_bytes\": 40960, \
                 \"total_ios\": 10, \"clat_ns\": {{\"mean\": 1e5, {}}}}}}}",
                lat(at)
            )
        };
        let options = "{\"rw\": \"randread\", \"bs\": \"4k\", \"numjobs\": \"2\", \"filename\": \"/dev/nvme0n1\", \
                       \"direct\": \"1\", \"runtime\": \"1\"}";
        let text = format!(
            "{{\"fio version\": \"fio-3.33\", \"global options\": {options}, \"jobs\": [{}, {}]}}\n",
            job(100_000),
            job(300_000)
        );
        let file = dir.path().join("clones.json");
        std::fs::write(&file, text).expect("written");
        out(&["compare", &file.to_string_lossy(), &machine], 0).0
    };
    let text = clones("");
    assert!(text.contains("2 percentiles of clones") && !text.contains("clat 50 %"), "{text}");
    let text = clones(", \"bins\": {\"AT\": 7}");
    assert!(text.contains("read clat 50 %") && text.contains("100 us"), "{text}");
}

/// A drive out of its data sheet: one of the library, and one of the user's own.
#[test]
fn a_drive_is_fitted_to_its_data_sheet() {
    let (text, _) = out(&["drive", "fit", "nvme/kioxia-cd6"], 0);
    assert!(text.starts_with("command_time = { value = ") && text.contains("# sheet_random_read"), "{text}");
    let (dir, machine) = folder("[parts.host]\nis = \"root-complex\"\n");
    let own = dir.path().join("own.toml");
    let device = "kind = \"device\"\nabout = \"x\"\nis = \"nvme\"\nchannel_rate = \"1 GB/s\"\n\
                  sheet_random_read = 400000\n";
    std::fs::write(&own, device).expect("written");
    let own = own.to_string_lossy().into_owned();
    let (text, _) = out(&["drive", "fit", &own, "--json"], 0);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["values"][0]["key"], "command_time", "{text}");
    assert!(json["compared"][0]["fitted"].as_f64().is_some_and(|f| (f / 4e5 - 1.0).abs() < 0.01), "{text}");
    wrong(&["drive", "fit", "nvme/kioxia-cd6", &machine], &["needs no machine"]);
    std::fs::write(&own, device.replace("sheet_random_read = 400000\n", "")).expect("written");
    wrong(&["drive", "fit", &own], &["states no number of a data sheet", "sheet_random_read"]);
}

#[test]
fn ladders_run_and_are_read_again() {
    let (dir, machine) = folder(MACHINE);
    let table = dir.path().join("iozone.txt");
    let name = table.to_string_lossy().into_owned();
    let ladder = [
        "iozone",
        &machine,
        "-a",
        "-n",
        "256k",
        "-g",
        "512k",
        "-y",
        "64k",
        "-q",
        "128k",
        "-i",
        "0",
        "-i",
        "5",
        "-R",
        "--set",
        "run.max_time=3 ms",
    ];
    let (text, error) = out(&ladder, 0);
    assert!(error.contains("no page cache"), "{error}");
    let rows: Vec<&str> = text.lines().filter(|l| l.trim_start().starts_with(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(rows.len(), 4, "{text}");
    // Write, rewrite and stride read; what did not run is blank.
    assert!(rows.iter().all(|r| r.split_whitespace().count() == 5 && r.len() == 107), "{text}");
    assert!(
        text.contains("\"Writer report\"\n        \"64\"  \"128\"\n") && text.contains("\"Stride read report\""),
        "{text}"
    );
    std::fs::write(&table, &text).expect("written");
    let (text, _) = out(&["compare", &name, &machine, "--set", "run.max_time=3 ms"], 0);
    assert!(text.contains("stride read") && text.contains("rate") || text.contains("MB/s"), "{text}");
    let (text, _) = out(&["iozone", &machine, "-t", "2", "-s", "1m", "-r", "64k", "-i", "1", "--estimate"], 0);
    for words in
        ["Children see throughput for  2 readers", "Parent sees", "Min xfer", "2 re-readers", "in 64 kByte records"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    std::fs::write(&table, &text).expect("written");
    let (text, _) = out(&["compare", &name, &machine, "--estimate", "--json"], 0);
    let beside: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(beside["rows"][0]["estimate_off"].as_f64().is_some_and(|o| o.abs() < 1e-3), "{text}");
    // Sequential records behind the page cache are one load, and each record around it is one of its own; random ones
    // too.
    for (more, loads) in [(&["-i", "0", "-i", "1"][..], 2), (&["-i", "2"], 16), (&["-i", "1", "-I"], 8)] {
        let ladder = ["iozone", &machine, "-a", "-n", "512k", "-g", "512k"];
        let (text, _) = out(&[&ladder[..], more, &["--show"]].concat(), 0);
        assert_eq!(text.matches("title = ").count(), loads, "{more:?}: {text}");
    }
    let ladder = ["iozone", &machine, "-a", "-n", "512k", "-g", "512k", "-i", "0"];
    let (text, _) = out(&[&ladder[..], &["--estimate"]].concat(), 0);
    let row = |l: &&str| l.trim_start().starts_with("512 ");
    let numbers = |l: &str| l.split_ascii_whitespace().skip(2).map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = text.lines().filter(row).map(numbers).collect();
    assert!(rows.len() == 8 && rows.iter().all(|r| *r == rows[0] && r.len() == 2), "{text}");
    // What a limit has cut short is marked.
    let (_, said) = out(&[&ladder[..], &["--set", "run.max_time=2 ms"]].concat(), 0);
    assert!(said.contains("ended at its limit of time") && said.contains("and 7 more"), "{said}");
    let (text, _) = out(&["iozone", &machine, "-s", "1m", "-N", "--estimate", "-I"], 0);
    assert!(text.contains("microseconds per operation") && text.contains("O_DIRECT"), "{text}");
    wrong(&["iozone", &machine, "-a", "-i", "3"], &["nothing is to be run"]);
    wrong(&["iozone", &machine, "-n", "4k"], &["-a"]);
    wrong(&["iozone", &machine, "-a", "-g", "4x"], &["a size in KiB"]);
    wrong(&["iozone", &machine, "-a", "-f", "disk"], &["no volume \"disk\"", "lun.0, lun.1"]);
}

#[test]
fn a_result_of_nobody_is_named_by_its_first_line() {
    let (dir, machine) = folder(MACHINE);
    let file = dir.path().join("notes.txt");
    std::fs::write(&file, "\n# Notes on disks\nthey turn\n").expect("written");
    wrong(&["compare", &file.to_string_lossy(), &machine], &["JSON of fio", "CSV of Iometer", "# Notes on disks"]);
}

/// A real result of each instrument, against a machine that is another.
#[test]
fn real_results_find_their_answers() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("../lanescope/tests/fixtures"), here.join("../../../shared/fixtures")];
    let (_dir, machine) = folder(MACHINE);
    for (name, rows) in [
        ("fio/randrw.json+", 9),
        ("fio/seqread.json+", 3),
        ("fio/iometer-like.json", 6),
        ("iometer/pliant-ls300s-qd-sweep-results.csv", 3 * 64),
        // Of 156 rows those with files up to 64 MiB, 11 columns each.
        ("iozone/ext4_1.iozone", 0),
    ] {
        let Some(file) = folders.iter().map(|folder| folder.join(name)).find(|file| file.exists()) else {
            eprintln!("skipped: {name} is not here");
            continue;
        };
        let (text, _) = out(&["compare", &file.to_string_lossy(), &machine, "--estimate", "--json"], 0);
        let beside: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let all = beside["rows"].as_array().expect("rows");
        assert!(
            all.len() == rows || rows == 0 && all.len() > 500 && all.len().is_multiple_of(11),
            "{name}: {}",
            all.len()
        );
        assert!(all.iter().all(|r| r["estimate"].as_f64().is_some_and(|v| v > 0.0)), "{name}");
    }
    // What is not 64 MiB large has no answer.
    wrong(
        &["compare", &folders[0].join("iozone/iozone2csv-sample.out").to_string_lossy(), &machine, "--estimate"],
        &["no row of", "do not fit on lun.0"],
    );
}

/// fio-plot (PyPI) draws what fio has written; and what we have.
#[test]
fn a_plotting_tool_of_fio_draws_our_results() {
    if Command::new("fio-plot").arg("-h").output().is_err() {
        eprintln!("skipped: fio-plot is not installed (pip install fio-plot)");
        return;
    }
    let (dir, machine) = folder(MACHINE);
    for depth in [1, 4] {
        let text = format!(
            "[global]\nioengine=libaio\ndirect=1\nbs=4k\nruntime=10ms\n[randread-{depth}-1]\nrw=randread\n\
                iodepth={depth}\nnumjobs=1\n"
        );
        let file = dir.path().join("j.fio");
        std::fs::write(&file, text).expect("written");
        let to = dir.path().join(format!("randread-{depth}-1.json"));
        let (file, to) = (file.to_string_lossy().into_owned(), to.to_string_lossy().into_owned());
        out(&["fio", &file, &machine, "--output-format", "json", "--output", &to], 0);
    }
    for (kind, more) in
        [("-l", ["-d", "1", "4"]), ("-L", ["-t", "iops", "--disable-grid"]), ("-H", ["-d", "4", "--disable-grid"])]
    {
        let picture = dir.path().join("picture.png");
        let done = Command::new("fio-plot")
            .arg("-i")
            .arg(dir.path())
            .args(["-T", "simulated", "-r", "randread", kind])
            .args(more)
            .arg("-o")
            .arg(&picture)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&done.stderr);
        let drawn = std::fs::read(&picture).unwrap_or_default();
        assert!(done.status.success() && drawn.starts_with(b"\x89PNG") && drawn.len() > 10_000, "{kind}: {said}");
        std::fs::remove_file(&picture).expect("removed");
    }
    // What it was called with is what it looks for.
    assert!(lanescope(&["fio", "--help"]).output().is_ok());
}
