//! fio from outside: its own job files, results of a real 3.33, and results in its form from simulated machines.
//!
//! The examples lie in the shared folder; where it is not there, their tests are skipped and say so.

use crate::common;
use crate::common::machine::{MACHINE, machine};
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::import::fio::{self, JobFile, Output, Run};
use lanescope::pens;
use lanescope::result::Simulation;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The folder with fio's own examples.
fn fixtures() -> Option<PathBuf> {
    common::shared("fio")
}

fn jobs(text: &str, tolerant: bool) -> (Option<JobFile>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("t.fio", text);
    let mut files = |name: &str| match name {
        "disk.inc" => Ok("direct=1\nioengine=libaio\n".to_owned()),
        "loop.inc" => Ok("include loop.inc\n".to_owned()),
        _ => Err("there is none".to_owned()),
    };
    let file = fio::job::read(&mut diagnostics, source, tolerant, &mut files);
    assert_eq!(file.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (file, diagnostics)
}

fn right(text: &str) -> JobFile {
    let (file, said) = jobs(text, false);
    file.unwrap_or_else(|| panic!("{said}"))
}

fn runs(file: &JobFile, map: &[(&str, &str)], full: bool) -> (Option<Vec<Run>>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let map: Vec<(String, String)> = map.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let runs = fio::runs(&mut diagnostics, file, &machine(), &map, full);
    assert_eq!(runs.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (runs, diagnostics)
}

fn scenarios(text: &str) -> Vec<Run> {
    let (runs, said) = runs(&right(text), &[], false);
    runs.unwrap_or_else(|| panic!("{said}"))
}

fn lines(run: &Run) -> Vec<&str> {
    run.test.text.lines().collect()
}

#[test]
fn what_global_says_holds_for_the_sections_after_it() {
    let file = right(
        "; a comment\n[global]\nbs=8k\ndirect=1\nioengine=libaio\n[a]\nrw=randread\niodepth=4\n[global]\nbs=16k # \
            now\n[b]\nrw = write ; too\nname=c\n",
    );
    let all: Vec<_> = file.jobs.iter().map(|j| (j.name.as_str(), j.rw.as_str(), j.sizes[0][0].0, j.depth)).collect();
    assert_eq!(all, [("a", "randread", 8192, 4), ("c", "write", 16384, 1)]);
    assert_eq!(file.jobs[0].options, [("rw".into(), "randread".into()), ("iodepth".into(), "4".into())]);
    assert_eq!(file.global.last(), Some(&("bs".into(), "16k".into())));
    // An included text stands where it is named.
    let file = right("[global]\ninclude disk.inc\niodepth=7\n[a]\n");
    assert_eq!(file.jobs[0].depth, 7);
    assert!(jobs("[a]\ninclude loop.inc\n", false).1.to_string().contains("more than 16 files"));
    assert!(jobs("[a]\ninclude other\n", false).1.to_string().contains("cannot include other: there is none"));
}

#[test]
fn groups_follow_stonewalls() {
    let file = right("[a]\n[b]\nnew_group\n[c]\nstonewall\n[d]\nstonewall=0\n[e]\nwait_for=d\n");
    let all: Vec<_> = file.jobs.iter().map(|j| (j.group, j.run)).collect();
    assert_eq!(all, [(0, 0), (1, 0), (2, 1), (2, 1), (2, 2)]);
    // A stonewall before the first job parts nothing.
    assert_eq!(right("[a]\nstonewall\n").jobs[0].run, 0);
}

#[test]
fn jobs_become_flows() {
    let text = "[global]\ndirect=1\nioengine=libaio\nfilename=/dev/sda\nsize=256m\n\
                [mix]\nrw=randrw\nrwmixread=70\nbs=4k,16k\niodepth=16\nnumjobs=2\noffset=1m\noffset_increment=2m\n\
                [rated]\nstonewall\nfilename=/dev/sdb\nrw=write\nbs=64k\nrate=50m\n\
                rate_process=poisson\nruntime=7\nrandseed=9\n\
                thinktime=20ms\nthinktime_blocks=3\n";
    let all = scenarios(text);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].threads.iter().map(|t| t.flow.as_str()).collect::<Vec<_>>(), ["mix-0", "mix-1"]);
    for line in [
        "[flows.mix-1]",
        "from = \"host\"",
        "to = \"lun.0\"",
        "    { size = \"4 KiB\", share = \"70 %\", read = \"100 %\", random = \"100 %\", align = \"4 KiB\" },",
        "    { size = \"16 KiB\", share = \"30 %\", read = \"0 %\", random = \"100 %\", align = \"16 KiB\" },",
        "outstanding = 16",
        "start = \"3 MiB\"",
        "file = \"256 MiB\"",
    ] {
        assert!(lines(&all[0]).contains(&line), "{line}: {}", all[0].test.text);
    }
    for line in [
        "to = \"lun.1\"",
        "access = { size = \"64 KiB\", read = \"0 %\", random = \"0 %\", delay = \"20 ms\", burst = 3 }",
        "rate = 800",
        "arrivals = \"poisson\"",
        "max_time = \"7 s\"",
        "seed = 9",
    ] {
        assert!(lines(&all[1]).contains(&line), "{line}: {}", all[1].test.text);
    }
    let (whole, _) = runs(&right("[a]\nruntime=3\nramp_time=2\n"), &[], true);
    let text = &whole.expect("a run")[0].test.text;
    assert!(text.contains("for = \"3 s\"\nwarmup = \"2 s\"") && text.contains("max_time = \"5 s\""), "{text}");
}

#[test]
fn odd_shapes_of_access_are_kept() {
    let access = |options: &str| {
        let text = scenarios(&format!("[a]\ndirect=1\n{options}\n"))[0].test.text.clone();
        text.lines().find_map(|l| l.strip_prefix("access = ")).unwrap_or_default().to_owned()
    };
    assert_eq!(access("rw=read:4k"), "{ size = \"4 KiB\", read = \"100 %\", random = \"0 %\", align = \"8 KiB\" }");
    assert_eq!(
        access("rw=randread:8"),
        "{ size = \"4 KiB\", read = \"100 %\", random = \"12.5 %\", align = \"4 KiB\" }"
    );
    assert_eq!(
        access("rw=randwrite\nbs=512\npercentage_random=50"),
        "{ size = \"512 B\", read = \"0 %\", random = \"50 %\" }"
    );
    assert_eq!(
        access("readwrite=readwrite\nrwmixwrite=60\nblocksize=1m"),
        "{ size = \"1 MiB\", read = \"40 %\", random = \"0 %\" }"
    );
    // Shares of three sizes in two directions add up to 100 % whatever is rounded.
    let text = scenarios("[a]\nrw=randrw\nrwmixread=33\nbssplit=1k:2k:4k,8k:16k:32k\n")[0].test.text.clone();
    let shares: f64 = text
        .match_indices("share = \"")
        .map(|(at, m)| {
            let rest = &text[at + m.len()..];
            rest[..rest.find(' ').expect("a unit")].parse::<f64>().expect("a number")
        })
        .sum();
    assert!((shares - 100.0).abs() < 1e-9, "{text}");
}

#[test]
fn files_find_their_volumes() {
    let volumes = |text: &str, map: &[(&str, &str)]| {
        let (runs, said) = runs(&right(text), map, false);
        runs.map(|r| r[0].threads.iter().map(|t| t.volumes.join("+")).collect::<Vec<_>>()).ok_or(said.to_string())
    };
    let two = "[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\n[c]\nfilename=/dev/sda\n";
    assert_eq!(volumes(two, &[]), Ok(vec!["lun.0".into(), "lun.1".into(), "lun.0".into()]));
    assert_eq!(volumes(two, &[("/dev/sda", "lun.1")]), Ok(vec!["lun.1".into(), "lun.0".into(), "lun.1".into()]));
    assert_eq!(volumes("[a]\nfilename=/dev/sda:/dev/sdb\n", &[]), Ok(vec!["lun.0+lun.1".into()]));
    assert_eq!(volumes("[a]\nfilename=0000\\:01\\:00.0\n", &[("0000:01:00.0", "lun.1")]), Ok(vec!["lun.1".into()]));
    assert_eq!(
        volumes("[a]\ndirectory=/d\n[b]\ndirectory=/d\n", &[("b", "lun.1")]),
        Ok(vec!["lun.0".into(), "lun.1".into()])
    );
    let three = "[a]\nfilename=x:y:z\n";
    assert!(
        volumes(three, &[]).is_err_and(|e| e.contains("3 files, the machine has 2 volumes") && e.contains("--map"))
    );
    assert_eq!(volumes(three, &[("z", "lun.0")]).map_err(|_| ()), Err(()));
    assert_eq!(volumes(three, &[("z", "lun.0"), ("y", "lun.0")]), Ok(vec!["lun.1+lun.0".into()]));
    assert!(volumes(two, &[("/dev/sdx", "lun.1")]).is_err_and(|e| e.contains("did you mean /dev/sda")));
    assert!(volumes(two, &[("/dev/sda", "lun.7")]).is_err_and(|e| e.contains("did you mean lun.")));
    // More than there is: what there is.
    let (runs, said) = runs(&right("[a]\nsize=2g\noffset=90%\n"), &[], false);
    let text = &runs.expect("a run")[0].test.text;
    assert!(
        said.to_string().contains("2 GiB on lun.0, which holds 1 GiB") && text.contains("start = \"966367641 B\""),
        "{text}"
    );
    assert!(!text.contains("file ="), "{text}");
}

/// Trims have their own size and rate; where a drive takes none, no job that trims runs there.
#[test]
fn trims_are_lines_of_their_own() {
    let (file, said) = jobs(
        "[t]\nrw=randtrim\nbs=4k,8k,64k\nrate_iops=,,500\niodepth=8\nioengine=libaio\n\
         direct=1\n[w]\nrw=trimwrite\nbs=16k\n\
         ioengine=io_uring\niodepth=4\ndirect=1\n",
        false,
    );
    let (file, said) = (file.expect("jobs"), said.to_string());
    assert!(
        said.contains("libaio trims one at a time") && said.contains("rw=trimwrite: trims and writes come"),
        "{said}"
    );
    let [t, w] = &file.jobs[..] else { panic!("two jobs") };
    assert_eq!(
        (t.read, t.trims, t.depth, t.rate, &t.sizes[1][..]),
        (0, 100, 1, Some(500.0), &[(64 << 10, 10_000)][..])
    );
    assert_eq!((w.read, w.trims, w.depth), (0, 50, 4));
    let machine = |trims: bool| lanescope::import::Machine {
        hosts: vec![lanescope::import::Host {
            name: "host".into(),
            volumes: vec![lanescope::import::Volume {
                name: "drive".into(),
                capacity: lanescope::units::Bytes(1 << 40),
                nvme: true,
                trims,
            }],
        }],
        ..lanescope::import::Machine::default()
    };
    let run = |trims: bool| {
        let mut d = Diagnostics::default();
        let map = [("t", "drive"), ("w", "drive")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        (lanescope::import::fio::runs(&mut d, &file, &machine(trims), &map, false), d.to_string())
    };
    let (runs, said) = run(true);
    let text = &runs.unwrap_or_else(|| panic!("{said}"))[0].test.text;
    assert!(text.contains("size = \"64 KiB\", read = \"0 %\", trim = \"100 %\", random = \"100 %\""), "{text}");
    assert!(text.contains("size = \"16 KiB\", read = \"0 %\", trim = \"50 %\", random = \"0 %\""), "{text}");
    let (none, said) = run(false);
    assert!(none.is_none() && said.contains("job t trims, and drive takes no trims"), "{said}");
}

#[test]
fn mistakes_have_their_place() {
    for (text, words) in [
        ("", "no job"),
        ("[global]\nbs=4k\n", "no job"),
        ("bs=4k\n[a]\n", "t.fio:1:1: error: bs is in no section"),
        ("[a\n", "has no end"),
        ("[a]\niodepht=4\n", "t.fio:2:1: error: fio has no option iodepht (did you mean iodepth?)"),
        ("[a]\nbs=4x\n", "t.fio:2:1: error: bs=4x"),
        ("[a]\nbs\n", "bs has no value"),
        ("[a]\nrw=reed\n", "did you mean read?"),
        ("[a]\nrw=randtirm\n", "did you mean randtrim?"),
        ("[a]\nrw=read:-4k\n", "go backward"),
        ("[a]\nioengine=libaoi\n", "did you mean libaio?"),
        ("[a]\nioengine=rdma\n", "ioengine=rdma cannot be modelled"),
        ("[a]\nbssplit=4k/60\n", "add up to 100"),
        ("[a]\nbsrange=4k-1g\n", "at most 50 sizes"),
        ("[a]\nbs=2g\n", "more than 1 GiB"),
        ("[a]\niodepth=0\n", "1 to 65536"),
        ("[a]\nnumjobs=4000\n[b]\nnumjobs=4000\n", "more than 4096 jobs"),
        ("[a]\nrandom_distribution=zip:1\n", "did you mean zipf?"),
        ("[a]\nrwmixread=101\n", "0 to 100"),
    ] {
        let (file, said) = jobs(text, false);
        assert!(file.is_none() && said.to_string().contains(words), "{text}: {said}");
    }
    // What fio has and the model has not is said once, at its first place.
    let (file, said) = jobs("[a]\nsync=1\nzonemode=zbd\n[b]\nsync=1\nzonemode=none\n", false);
    assert!(file.is_some());
    let said = said.to_string();
    assert!(
        said.contains("t.fio:2:1: warning: sync is not modelled") && said.matches("sync is not").count() == 1,
        "{said}"
    );
    let (file, said) = jobs("[a]\niodepth=8\nrw=${RW}\n", false);
    assert_eq!(file.map(|f| (f.jobs[0].depth, f.jobs[0].rw.clone())), Some((1, "read".into())));
    let said = said.to_string();
    assert!(said.contains("iodepth=8 has no effect: psync waits") && said.contains("rw=${RW}"), "{said}");
    let (file, said) = jobs("[a]\nbogus=1\n", true);
    assert!(file.is_some() && said.to_string().contains("warning: fio has no option bogus"), "{said}");
}

/// Laws of places are those of the job, in the scenario that it becomes.
#[test]
fn laws_of_places_are_carried_over() {
    let law = |law: &str| {
        let text = format!("[a]\nrw=randread\nsize=16m\nrandom_distribution={law}\n");
        let (file, said) = jobs(&text, false);
        let file = file.unwrap_or_else(|| panic!("{said}"));
        let (runs, also) = runs(&file, &[], false);
        let text = runs.unwrap_or_else(|| panic!("{also}"))[0].test.text.clone();
        let found = text.lines().find_map(|l| l.strip_prefix("distribution = ")).map(str::to_owned);
        common::planned(&format!("{MACHINE}\n{text}"), &[]);
        (found, said.to_string())
    };
    assert_eq!(law("pareto:0.2").0.as_deref(), Some("\"pareto:0.2\""));
    assert_eq!(law("normal:20").0.as_deref(), Some("\"normal:20\""));
    assert_eq!(law("zoned:50/5:30/15:20/80").0.as_deref(), Some("\"zoned:50/5:30/15:20/80\""));
    assert_eq!(law("zoned_abs:50/1m:50/").0.as_deref(), Some("\"zoned_abs:50/1048576 B:50/\""));
    assert_eq!(law("random").0, None);
    let (found, said) = law("zoned:50/5:50/,60/10:40/");
    assert_eq!(found.as_deref(), Some("\"zoned:50/5:50/\""));
    assert!(said.contains("that of reads holds for both"), "{said}");
    for (wrong, words) in [
        ("pareto:1.5", "above 0 and below 1"),
        ("normal:x", "above 0 and below 100"),
        ("zoned:50/5", "add up to 100"),
        ("zoned_abs:50/x:50/", "sizes of zones"),
    ] {
        let (file, said) = jobs(&format!("[a]\nrandom_distribution={wrong}\n"), false);
        assert!(file.is_none() && said.to_string().contains(words), "{wrong}: {said}");
    }
}

/// All that fio can be asked, one letter wrong: many messages, and then an end.
#[test]
fn a_file_with_every_option_misspelt_is_refused() {
    let Some(dir) = fixtures() else { return };
    let mut text = String::from("[a]\n");
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        let of = std::fs::read_to_string(entry.path()).expect("a text");
        if entry.path().extension().is_some_and(|e| e == "fio") {
            for line in of.lines().filter(|l| l.contains('=') && !l.starts_with([';', '#', ' '])) {
                text += &format!("x{line}\n");
            }
        }
    }
    let (file, said) = jobs(&text, false);
    assert!(file.is_none());
    assert_eq!(said.sorted().iter().filter(|d| d.severity == Severity::Error).count(), 20);
    let (file, said) = jobs(&text, true);
    assert!(file.is_some(), "{said}");
}

/// Files that no volume of a host can serve, and why.
const REFUSED: [(&str, &str); 6] = [
    ("ex-gpudirect-rdmaio-client.fio", "ioengine=rdma"),
    ("ex-libcufile-cufile.fio", "ioengine=libcufile"),
    ("ex-netio.fio", "ioengine=net"),
    ("ex-null.fio", "it does no I/O"),
    ("ex-rdmaio-client.fio", "ioengine=rdma"),
    ("ex-rdmaio-server.fio", "ioengine=rdma"),
];

#[test]
fn all_real_job_files_are_read() {
    let Some(dir) = fixtures() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".fio") {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let (file, said) = jobs(&text, false);
        let refused =
            REFUSED.iter().find(|r| r.0 == name).map(|r| r.1).or((name == "ex-zipf.fio").then_some("it does no I/O"));
        let Some(file) = file else {
            let why = refused.unwrap_or_else(|| panic!("{name}: {said}"));
            assert!(said.to_string().contains(why), "{name}: {said}");
            continue;
        };
        assert!(refused.is_none(), "{name} should be refused");
        let (runs, said) = runs(&file, &[], false);
        for run in runs.unwrap_or_else(|| panic!("{name}: {said}")) {
            let plan = common::planned(&format!("{MACHINE}\n{}", run.test.text), &[]);
            assert_eq!(plan.storage.groups().len(), run.threads.len(), "{name}");
        }
    }
    assert_eq!(seen, 33);
}

/// Drives on PCIe, without a load.
const DRIVES: &str = r#"
[parts.host]
is = "root-complex"
[parts.drive]
use = "example/nvme-drive"
count = 8
[links.slot]
between = ["host", "drive.*"]
pcie = "gen4 x4"
"#;

#[test]
fn all_real_job_files_of_block_devices_run_on_nvme_drives() {
    let Some(dir) = fixtures() else { return };
    let machine = common::planned(DRIVES, &[]).machine();
    let (mut seen, mut ios) = (0, 0);
    for entry in std::fs::read_dir(dir).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let (Some(file), true) = (jobs(&text, false).0, name.ends_with(".fio")) else { continue };
        let mut diagnostics = Diagnostics::default();
        let runs = fio::runs(&mut diagnostics, &file, &machine, &[], false);
        for run in runs.unwrap_or_else(|| panic!("{name}: {diagnostics}")) {
            let host = run.test.text.lines().filter(|l| l.starts_with("host_software = ")).count();
            assert_eq!(host, run.threads.len(), "{name}: an engine for each clone\n{}", run.test.text);
            let s = common::simulate(&format!("{DRIVES}\n{}", run.test.text), &["run.max_time=2 ms"]);
            for flow in &s.flows {
                let times = flow.ios.as_ref().expect("I/Os");
                let counted: u64 = times.latencies.iter().flat_map(|l| &l.0).map(|bin| bin.1).sum();
                assert!(counted <= flow.operations, "{name}: {}", flow.name);
                ios += flow.operations;
            }
        }
        seen += 1;
    }
    assert!(seen >= 20 && ios > 10_000, "{seen} files, {ios} I/Os");
}

/// The engine of a job says how its host issues I/Os, on NVMe drives alone.
#[test]
fn engines_are_the_hosts_software() {
    let machine = common::planned(DRIVES, &[]).machine();
    for (options, software) in [
        ("ioengine=libaio\ndirect=1", "libaio"),
        ("ioengine=io_uring\ndirect=1", "io_uring"),
        ("ioengine=io_uring\nhipri=1\ndirect=1", "io_uring-polled"),
        ("ioengine=psync\ndirect=1", "psync"),
        ("ioengine=spdk\ndirect=1", "spdk"),
    ] {
        let file = right(&format!("[job]\nrw=randread\nbs=4k\n{options}\n"));
        let runs = fio::runs(&mut Diagnostics::default(), &file, &machine, &[], false).expect("runs");
        assert!(lines(&runs[0]).contains(&format!("host_software = {software:?}").as_str()), "{:?}", lines(&runs[0]));
        let on_disks = fio::runs(&mut Diagnostics::default(), &file, &self::machine(), &[], false).expect("runs");
        assert!(!on_disks[0].test.text.contains("host_software"));
    }
}

fn results(text: &str) -> (Option<Output>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("fio.json", text);
    let output = fio::json::read(&mut diagnostics, source);
    assert_eq!(output.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (output, diagnostics)
}

/// Simulates a job file as the command does.
fn simulated(text: &str) -> (JobFile, Vec<Run>, Vec<Simulation>) {
    let file = right(text);
    let (runs, said) = runs(&file, &[], false);
    let runs = runs.unwrap_or_else(|| panic!("{said}"));
    let all = runs.iter().map(|r| common::simulate(&format!("{MACHINE}\n{}", r.test.text), &["run.max_time=20 ms"]));
    let all = all.collect();
    (file, runs, all)
}

fn output(file: &JobFile, runs: &[Run], all: &[Simulation]) -> Output {
    pens::fio::output(file, &runs.iter().zip(all).collect::<Vec<_>>(), 1_795_287_954_176)
}

const BOTH: &str = "[global]\nioengine=libaio\ndirect=1\nsize=256m\nruntime=5\n\
    [mix]\nrw=randrw\nrwmixread=70\nbs=4k\niodepth=16\nnumjobs=2\ngroup_reporting=1\n\
    [seq]\nstonewall\nrw=write\nbs=64k\niodepth=4\nrate=50m\n[two]\nrw=read\nnumjobs=2\n";

#[test]
fn our_json_is_read_as_a_real_one_is() {
    let (file, runs, all) = simulated(BOTH);
    let ours = output(&file, &runs, &all);
    let names: Vec<_> = ours.entries.iter().map(|e| (e.name.as_str(), e.group)).collect();
    assert_eq!(names, [("mix", 0), ("seq", 1), ("two", 1), ("two", 1)]);
    let (read, said) = results(&pens::fio::json(&ours, true));
    let read = read.unwrap_or_else(|| panic!("{said}"));
    assert_eq!((said.to_string(), read.entries.len(), read.disks.len()), (String::new(), 4, ours.disks.len()));
    for (a, b) in ours.entries.iter().zip(&read.entries) {
        assert_eq!((&a.name, a.runtime, a.depth, a.elapsed), (&b.name, b.runtime, b.depth, b.elapsed));
        for (a, b) in a.sides.iter().zip(&b.sides) {
            assert_eq!((a.bytes, a.ios, &a.lat.count, &a.clat.bins), (b.bytes, b.ios, &b.lat.count, &b.clat.bins));
            assert_eq!((&a.clat.percentiles, a.lat.min, a.lat.max), (&b.clat.percentiles, b.lat.min, b.lat.max));
            assert!((a.rate - b.rate).abs() <= 0.5 && (a.lat.mean - b.lat.mean).abs() < 1e-5);
            assert_eq!(a.clat.bins.iter().map(|x| x.1).sum::<u64>(), a.lat.count);
        }
    }
    // Bytes are those of I/Os; a rate is held; Little's law within what the ends of the window cut.
    let mix = &ours.entries[0];
    assert!(mix.sides[..2].iter().all(|s| s.bytes == s.ios * 4096 && s.ios > 100));
    assert_eq!(mix.sides[2].ios, 0);
    assert!((ours.entries[1].sides[1].per_second / 800.0 - 1.0).abs() < 0.1, "{:?}", ours.entries[1].sides[1]);
    let shares: f64 = mix.spread.iter().sum();
    assert!((shares - 100.0).abs() < 1e-6 && (mix.depths.iter().sum::<f64>() - 100.0).abs() < 1e-6);
    // Without the plus there are no bins, and all else is the same.
    let (plain, _) = results(&pens::fio::json(&ours, false));
    assert!(plain.is_some_and(|p| p.entries.iter().all(|e| e.sides.iter().all(|s| s.clat.bins.is_empty()))));
    assert!(pens::fio::text(&ours, pens::Paint::default()).contains("IOPS="));
}

/// Every path of keys with the type of what is there. Names that depend on a run stand for all of their kind.
fn shape(value: &Value, path: &str, out: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Object(of) => {
            for (key, value) in of {
                let free = path.ends_with("options") || path.ends_with("bins") || path.ends_with("percentile");
                shape(value, &format!("{path}/{}", if free { "*" } else { key }), out);
            }
            "object"
        }
        Value::Array(of) => {
            of.iter().for_each(|value| shape(value, &format!("{path}[]"), out));
            "array"
        }
        Value::Number(n) if n.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    };
    out.entry(path.to_owned()).or_default().insert(kind);
}

#[test]
fn every_key_of_a_real_file_is_in_ours_with_its_type() {
    let dir = common::fixture("fio").expect("the project's own");
    let (file, runs, all) = simulated(BOTH);
    let ours = output(&file, &runs, &all);
    for (name, plus) in [("randrw.json+", true), ("iometer-like.json", false), ("seqread.json+", true)] {
        let text = std::fs::read_to_string(dir.join(name)).expect("a text");
        let (mut real, mut own) = (BTreeMap::new(), BTreeMap::new());
        shape(&serde_json::from_str(&text).expect("JSON"), "", &mut real);
        shape(&serde_json::from_str(&pens::fio::json(&ours, plus)).expect("JSON"), "", &mut own);
        assert!(real.len() > 150, "{name}: {}", real.len());
        for (path, kinds) in &real {
            assert_eq!(own.get(path), Some(kinds), "{name}: {path}");
        }
        // What is more in ours: who made it. A direction in which a real job had no I/Os has what the other one has.
        let known = |p: &String| real.contains_key(p) || real.contains_key(&p.replace("/write/", "/read/"));
        let more: Vec<_> = own.keys().filter(|p| !known(p)).collect();
        assert_eq!(more, ["/lanescope"], "{name}");
        // Keys stand in fio's order.
        let order = |text: &str| {
            let keys =
                text.lines().filter_map(|l| l.trim().strip_prefix('"')?.split_once("\" : ").map(|k| k.0.to_owned()));
            let mut known = BTreeSet::new();
            let names = |k: &String| {
                !k.starts_with(|c: char| c.is_ascii_digit()) && real.keys().any(|p| p.ends_with(k.as_str()))
            };
            keys.filter(names).filter(|k| known.insert(k.clone())).filter(|k| !k.contains("option")).collect::<Vec<_>>()
        };
        let (theirs, own) = (order(&text), order(&pens::fio::json(&ours, plus)));
        let both = |a: &[String], b: &[String]| a.iter().filter(|k| b.contains(k)).cloned().collect::<Vec<_>>();
        let fixed: Vec<String> = both(&theirs, &own).into_iter().filter(|k| !OPTIONS.contains(&k.as_str())).collect();
        let same: Vec<String> = both(&own, &theirs).into_iter().filter(|k| !OPTIONS.contains(&k.as_str())).collect();
        assert_eq!(fixed, same, "{name}");
    }
}

/// Names that options and keys of results share, or that stand among options.
const OPTIONS: [&str; 12] = [
    "rw",
    "bs",
    "iodepth",
    "numjobs",
    "rate",
    "size",
    "direct",
    "runtime",
    "filename",
    "ioengine",
    "name",
    "rwmixread",
];

#[test]
fn real_results_are_read() {
    let dir = common::fixture("fio").expect("the project's own");
    let read = |name: &str| {
        let (output, said) = results(&std::fs::read_to_string(dir.join(name)).expect("a text"));
        (output.unwrap_or_else(|| panic!("{said}")), said.to_string())
    };
    let (rw, said) = read("randrw.json+");
    assert_eq!((said.as_str(), rw.version.as_str(), rw.entries.len()), ("", "fio-3.33", 2));
    let side = &rw.entries[0].sides[0];
    assert_eq!((side.ios, side.bytes, side.rate, side.runtime), (193_878, 794_189_824, 158_806_203.0, 5001));
    assert_eq!(
        (side.lat.min, side.clat.percentiles.len(), side.clat.percentiles[16]),
        (37_074, 17, (99.99, 26_869_760))
    );
    assert_eq!(side.clat.bins[0], (20_352, 1));
    assert_eq!((rw.disks[0].name.as_str(), rw.disks[0].ios), ("vda", [233_201, 104_910]));
    // The load is in the results: the same job file again.
    let again = right(&fio::json::load_of(&rw));
    let real = right(&std::fs::read_to_string(dir.join("randrw.fio")).expect("a text"));
    let facts = |f: &JobFile| {
        f.jobs
            .iter()
            .map(|j| (j.name.clone(), j.rw.clone(), j.read, j.sizes.clone(), j.depth, j.clones, j.rate, j.group))
            .collect::<Vec<_>>()
    };
    assert_eq!(facts(&again), facts(&real));
    let (status, said) = read("status-interval.json");
    assert!(said.contains("7 documents"), "{said}");
    assert!(status.entries[0].sides[0].runtime >= 5000, "{:?}", status.entries[0].sides[0].runtime);
    assert_eq!(
        read("iometer-like.json").0.entries[0].options.iter().find(|o| o.0 == "ba").map(|o| o.1.as_str()),
        Some("512")
    );
}

#[test]
fn a_file_cut_anywhere_ends_in_an_answer_or_a_refusal() {
    let dir = common::fixture("fio").expect("the project's own");
    for name in ["randrw.json+", "status-interval.json", "iometer-like.json"] {
        let text = std::fs::read_to_string(dir.join(name)).expect("a text");
        for at in (0..text.len()).step_by(text.len() / 199) {
            let (output, _) = results(&text[..at]);
            // One document is whole or nothing; of several, those before the cut count.
            assert!(output.is_none() || name.starts_with("status"), "{name}: {at}");
        }
    }
    for text in ["\u{0}\u{1}".repeat(1 << 20), "[a]\n".repeat(100_000), "a=b\n".repeat(100_000), "{".repeat(1 << 20)] {
        let _ = jobs(&text, true);
        let _ = results(&text);
    }
}
