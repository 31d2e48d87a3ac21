//! Skeletons of NPB against what class C really called (`fixtures/traces`, measured for this project).

use super::{fixture, text};
use lanescope::mpi::npb::{Bench, Class, job};
use lanescope::mpi::{Body, Kind, Op, Step};
use std::collections::BTreeMap;
use std::process::Command;

/// One call as the recordings write it: operation, partner (-1: none), bytes.
type Call = (&'static str, i64, u64);
/// How often each call was made.
type Counts = BTreeMap<(String, i64, u64), u64>;

const RECORDED: [(Bench, u32); 12] = [
    (Bench::Bt, 16),
    (Bench::Bt, 36),
    (Bench::Cg, 16),
    (Bench::Cg, 32),
    (Bench::Ft, 16),
    (Bench::Ft, 32),
    (Bench::Is, 16),
    (Bench::Is, 32),
    (Bench::Mg, 16),
    (Bench::Mg, 32),
    (Bench::Sp, 16),
    (Bench::Sp, 36),
];

/// The calls of one iteration of a rank, without work.
fn iteration(bench: Bench, ranks: u32, rank: usize) -> Vec<Call> {
    let job = job(bench, Class::C, ranks, None, None).expect("a job");
    let Body::Steps(steps) = &*job.bodies[rank] else { panic!("steps") };
    let Some(Step::Timed { body, .. }) = steps.last() else { panic!("a row") };
    let mut open = 0;
    let mut calls = Vec::new();
    for step in body {
        let Step::Do(op) = step else { panic!("{step:?}") };
        calls.push(match op {
            Op::Work(_) => continue,
            Op::Isend { to, bytes, .. } => {
                open += 1;
                ("isend", i64::from(*to), *bytes)
            }
            Op::Irecv { from: Some(from), bytes, .. } => {
                open += 1;
                ("irecv", i64::from(*from), *bytes)
            }
            Op::Send { to, bytes, .. } => ("send", i64::from(*to), *bytes),
            Op::Wait(_) => {
                open -= 1;
                ("wait", -1, 0)
            }
            Op::WaitAll => ("waitall", -1, std::mem::take(&mut open)),
            Op::Collective(c) => match c.kind {
                Kind::Reduce => ("reduce", i64::from(c.root), c.bytes),
                Kind::Allreduce => ("allreduce", -1, c.bytes),
                Kind::Alltoall => ("alltoall", -1, c.bytes),
                Kind::Alltoallv => ("alltoallv", -1, c.each.iter().flat_map(|e| e.iter()).sum()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
    }
    calls
}

#[test]
fn every_rank_sends_what_was_counted() {
    let Some(table) = text("traces/npb-C-per-iteration.tsv") else { return };
    let mut counted: BTreeMap<(String, u32, usize), Counts> = BTreeMap::new();
    for line in table.lines().filter(|l| !l.starts_with(['#', 'b'])) {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| cells[i].parse::<i64>().expect("a number");
        let rank = (cells[0].to_lowercase(), number(1) as u32, number(2) as usize);
        counted.entry(rank).or_default().insert((cells[3].into(), number(4), number(5) as u64), number(6) as u64);
    }
    for (bench, ranks) in RECORDED {
        for rank in 0..ranks as usize {
            let mut ours = Counts::new();
            for (op, peer, bytes) in iteration(bench, ranks, rank) {
                if !["irecv", "wait", "waitall"].contains(&op) {
                    *ours.entry((op.to_owned(), peer, bytes)).or_default() += 1;
                }
            }
            let theirs = &counted[&(bench.word().to_owned(), ranks, rank)];
            assert_eq!(&ours, theirs, "{bench:?} on {ranks}, rank {rank}");
        }
    }
}

#[test]
fn every_rank_calls_in_the_order_that_was_recorded() {
    for (bench, ranks) in RECORDED {
        let name = format!("traces/npb-events/npb-{}-C-{ranks}.events.tsv.gz", bench.word().to_uppercase());
        let Some(path) = fixture(&name) else { return };
        let Ok(out) = Command::new("gzip").arg("-dc").arg(&path).output() else {
            eprintln!("skipped: there is no gzip");
            return;
        };
        let recorded = String::from_utf8(out.stdout).expect("text");
        let mut calls: Vec<Vec<(&str, i64, u64)>> = vec![Vec::new(); ranks as usize];
        for line in recorded.lines().filter(|l| !l.starts_with('#')) {
            let cells: Vec<&str> = line.split('\t').collect();
            let rank: usize = cells[0].parse().expect("a rank");
            calls[rank].push((cells[2], cells[3].parse().expect("a peer"), cells[4].parse().expect("bytes")));
        }
        for (rank, calls) in calls.iter().enumerate() {
            let ours = iteration(bench, ranks, rank);
            let found = calls.windows(ours.len()).filter(|w| *w == &ours[..]).count();
            // The untimed iteration and at least one more; the recordings of CG end in its second.
            let least = if bench == Bench::Cg { 1 } else { 2 };
            assert!(
                found >= least,
                "{bench:?} on {ranks}, rank {rank}: found {found} times: {:?}",
                &ours[..12.min(ours.len())]
            );
        }
    }
}
