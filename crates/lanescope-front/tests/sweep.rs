//! Random sweeps, divided and interrupted at random, have the rows of the whole.

use bytes::Bytes;
use lanescope_front::sweep::{
    Done, Folder, MOST, Points, Question, Row, Shard, fingerprint, from_parquet, points_of, rows_of_bytes, run,
    to_parquet,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

const TEXT: &str = r#"
[parts.host]
is = "root-complex"
[parts.nic]
is = "endpoint"
count = 2
[parts.sw]
is = "switch"
[links.up]
between = ["host", "sw.up"]
pcie = "gen3 x4"
[links.slots]
between = ["sw.down.*", "nic.*"]
pcie = "gen3 x8"
[flows.rx]
from = "nic.*"
to = "host.memory"
do = "write"
size = "2 KiB"
[flows.tx]
from = "nic.0"
to = "host.memory"
do = "read"
size = "4 KiB"
"#;

/// Paths and values of them; some of the values have no answer.
const AXES: [(&str, [&str; 5]); 4] = [
    ("parts.nic.tags", ["1", "2", "none", "32", "64"]),
    ("links.up.pcie", ["gen3 x4", "gen9 x4", "gen2 x8", "gen4 x1", "gen3 x16"]),
    ("flows.rx.size", ["64 B", "1 KiB", "0 B", "4 KiB", "17 B"]),
    ("parts.host.read_latency", ["100 ns", "1 us", "5 Gb/s", "400 ns", "0 ns"]),
];

fn question(paths: Vec<usize>, counts: Vec<usize>, metric: bool) -> Question {
    let mut used = BTreeSet::new();
    let axes: Vec<_> = paths.into_iter().zip(counts).filter(|(p, _)| used.insert(*p)).collect();
    Question {
        name: "s.toml".into(),
        text: TEXT.into(),
        sets: Vec::new(),
        paths: axes.iter().map(|(p, _)| AXES[*p].0.to_owned()).collect(),
        points: Points::Grid(
            axes.iter().map(|(p, n)| AXES[*p].1[..*n].iter().map(|v| (*v).to_owned()).collect()).collect(),
        ),
        simulate: false,
        seeds: Vec::new(),
        metrics: if metric { vec!["links.up.utilisation".into()] } else { Vec::new() },
    }
}

fn whole(question: &Question, threads: usize) -> Vec<Row> {
    let all = Done::none(question.size().expect("small")).missing(Shard::ALL);
    let mut rows = Vec::new();
    let take = |new: Vec<Row>| {
        rows.extend(new);
        Ok(())
    };
    run(question, all, threads, take, |_| true).expect("rows");
    rows.sort_by_key(|r| (r.point, r.place));
    rows
}

fn questions() -> impl Strategy<Value = Question> {
    (prop::collection::vec(0..AXES.len(), 1..=3), prop::collection::vec(1usize..=5, 3), any::<bool>())
        .prop_map(|(paths, counts, metric)| question(paths, counts, metric))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// One thread, several, shards in any order, and stops anywhere: the same rows. Every point ends as rows of both
    /// flows or as one with an error.
    #[test]
    fn a_sweep_has_the_rows_of_the_whole(
        question in questions(),
        threads in 1usize..4,
        shards in 1u32..5,
        stops in prop::collection::vec(0u64..6, 0..4),
    ) {
        let expected = whole(&question, 1);
        prop_assert_eq!(&whole(&question, threads), &expected);
        for point in 0..question.size().expect("small") {
            let rows: Vec<&Row> = expected.iter().filter(|r| r.point == point).collect();
            let fine = rows.len() == 2 && rows.iter().all(|r| r.error().is_none());
            prop_assert!(fine || rows.len() == 1 && rows[0].error().is_some(), "point {point}: {} rows", rows.len());
        }
        let dir = tempfile::tempdir().expect("a folder");
        // Processes that are stopped after a few points, then those that end.
        for stop in stops.iter().map(|s| Some(*s)).chain([None]) {
            for shard in (1..=shards).rev() {
                let shard = Shard::parse(&format!("{shard}/{shards}")).expect("a shard");
                let mut folder = Folder::open(dir.path(), &question, shard).expect("a folder of this sweep");
                folder.run(threads, |done| stop.is_none_or(|s| done < s)).expect("stored");
            }
        }
        let folder = Folder::open(dir.path(), &question, Shard::ALL).expect("a folder of this sweep");
        prop_assert_eq!(folder.pending().len(), 0);
        let rows = folder.rows().expect("rows");
        let summary = folder.summary().expect("rows");
        prop_assert_eq!((summary.rows, summary.fingerprint), (rows.len() as u64, fingerprint(&expected)));
        prop_assert_eq!(summary.failed, rows.iter().filter(|r| r.error().is_some()).count() as u64);
        prop_assert_eq!(fingerprint(&rows), fingerprint(&expected));
        prop_assert_eq!(rows, expected);
    }

    /// What is written is read again; another sweep's rows are not taken, and neither are bytes cut short.
    #[test]
    fn rows_go_round(question in questions(), cut in 1usize..200) {
        let rows = whole(&question, 2);
        let identity = question.identity();
        let mut bytes = Vec::new();
        to_parquet(&question, &identity, &rows, &mut bytes).expect("written");
        prop_assert_eq!(&rows_of_bytes(&question, &identity, bytes.clone()).expect("read"), &rows);
        let mut points: Vec<u64> = rows.iter().map(|r| r.point).collect();
        points.dedup();
        prop_assert_eq!(points_of(&question, &identity, Bytes::from(bytes.clone())).expect("read"), points);
        prop_assert!(rows_of_bytes(&question, "another", bytes.clone()).is_err());
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        prop_assert!(rows_of_bytes(&question, &identity, bytes).is_err());
    }

    /// What is missing of a shard is what is not there, in order and counted, from any point on; shards divide it.
    #[test]
    fn what_is_missing_is_the_rest(
        size in 1u64..400,
        there in prop::collection::btree_set(0u64..450, 0..300),
        of in 1u32..6,
        from in 0u64..450,
    ) {
        let mut done = Done::none(size);
        for point in &there {
            prop_assert_eq!(done.insert(*point), *point < size);
            prop_assert!(!done.insert(*point));
        }
        prop_assert_eq!(done.len(), there.range(..size).count() as u64);
        let mut all = Vec::new();
        for index in 1..=of {
            let shard = Shard::parse(&format!("{index}/{of}")).expect("a shard");
            let missing = done.clone().missing(shard);
            let (count, mut list) = (missing.len(), missing.collect::<Vec<u64>>());
            prop_assert_eq!(count, list.len());
            prop_assert!(list.is_sorted());
            prop_assert!(list.iter().all(|p| p % u64::from(of) == u64::from(index - 1)));
            list.retain(|p| *p >= from);
            prop_assert_eq!(done.first_missing(shard, from), list.first().copied());
            all.extend(list);
        }
        all.sort();
        let expected: Vec<u64> = (from..size).filter(|p| !there.contains(p)).collect();
        prop_assert_eq!(all, expected);
    }

    /// Bytes that are no file of Parquet are an error and no panic.
    #[test]
    fn noise_is_no_row(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let question = question(vec![0], vec![1], false);
        prop_assert!(rows_of_bytes(&question, &question.identity(), noise).is_err());
    }
}

/// A sweep of the most points begins, and is stopped, without a number in memory for each of them.
#[test]
fn the_largest_sweep_begins_at_once() {
    let values = |n: u32| (1..=n).map(|v| format!("{v} B")).collect::<Vec<_>>();
    let question = Question {
        paths: vec!["flows.rx.size".into(), "flows.tx.size".into()],
        points: Points::Grid(vec![values(10_000), values(10_000)]),
        ..question(vec![0], vec![1], false)
    };
    assert_eq!(question.size(), Ok(MOST));
    let dir = tempfile::tempdir().expect("a folder");
    let before = memory();
    let mut folder = Folder::open(dir.path(), &question, Shard::ALL).expect("open");
    let done = folder.run(1, |_| false).expect("stored");
    assert!(done < 10_000, "{done} points before the first tick");
    assert_eq!(folder.pending().len() as u64, MOST - done);
    assert_eq!((folder.first_pending(MOST - 3), folder.first_pending(MOST)), (Some(MOST - 3), None));
    let more = memory().saturating_sub(before);
    // Two sets of bits are 25 MB, the rows some MB; numbers of all points were 800 MB.
    assert!(more < 200 << 20, "{more} bytes more than before");
}

/// Bytes of this process that are in memory at the most so far; 0 where the system does not say.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() << 10
}

#[test]
fn two_questions_have_two_identities() {
    let mut seen = BTreeSet::new();
    let first = question(vec![0, 1], vec![2, 2], false);
    let mut all = vec![first.clone(), question(vec![1, 0], vec![2, 2], false), question(vec![0, 1], vec![2, 3], false)];
    all.push(question(vec![0, 1], vec![2, 2], true));
    all.push(Question { sets: vec!["run.seed=7".into()], ..first.clone() });
    all.push(Question { simulate: true, ..first.clone() });
    all.push(Question { simulate: true, seeds: vec![1], ..first.clone() });
    all.push(Question { text: TEXT.replace("2 KiB", "1 KiB"), ..first.clone() });
    for q in &all {
        assert!(seen.insert(q.identity()));
    }
    // What a message calls it does not matter.
    assert!(!seen.insert(Question { name: "other.toml".into(), ..first }.identity()));
}

#[test]
fn one_shard_is_worked_on_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let question = question(vec![0], vec![2], false);
    let shard = |text| Shard::parse(text).expect("a shard");
    let first = Folder::open(dir.path(), &question, shard("1/2")).expect("open");
    let other = Folder::open(dir.path(), &question, shard("2/2")).expect("another shard");
    let said = Folder::open(dir.path(), &question, shard("1/2")).expect_err("taken");
    assert!(said.contains("another process"), "{said}");
    drop((first, other));
    Folder::open(dir.path(), &question, shard("1/2")).expect("free again");
}

#[test]
fn what_a_kill_leaves_is_swept_up_and_nothing_else_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let question = question(vec![0], vec![2], false);
    drop(Folder::open(dir.path(), &question, Shard::ALL).expect("open"));
    let at = |name: &str| dir.path().join(name);
    for name in [".unfinished-1-of-1-x.parquet", ".unfinished-1-of-2-x.parquet", "notes.txt"] {
        std::fs::write(at(name), "half").expect("written");
    }
    let mut folder = Folder::open(dir.path(), &question, Shard::ALL).expect("open");
    folder.run(1, |_| true).expect("stored");
    assert!(!at(".unfinished-1-of-1-x.parquet").exists());
    assert!(at(".unfinished-1-of-2-x.parquet").exists() && at("notes.txt").exists());
    // And a shard's file says whose it is to whoever reads it alone.
    let mut files = std::fs::read_dir(dir.path()).expect("listed").flatten().map(|e| e.path());
    let part = files.find(|p| p.extension().is_some_and(|e| e == "parquet") && !hidden(p)).expect("a part");
    assert!(from_parquet(&question, &question.identity(), File::open(part).expect("open")).is_ok());
}

fn hidden(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with('.'))
}

#[test]
fn shards_are_read_and_refused() {
    for bad in ["", "0/2", "3/2", "1", "1/0", "-1/2", "a/b", "1/2/3"] {
        assert!(Shard::parse(bad).is_err(), "{bad}");
    }
}
