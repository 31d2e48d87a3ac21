//! Recorded traces (`fixtures/traces`): all of them load, with the amounts that stand in them.

use super::{fixture, text};
use lanescope::diagnostic::Diagnostics;
use lanescope::import::{goal, ti};
use lanescope::mpi::{Body, Job, Kind, Op, Step};

/// Reads a trace whose index names files beside it.
fn trace(name: &str) -> Option<(Option<Job>, String)> {
    let folder = fixture("traces/simgrid-ti")?;
    let mut diagnostics = Diagnostics::default();
    let text = text(&format!("traces/simgrid-ti/{name}"))?;
    let source = diagnostics.add_source(name, text);
    let mut beside = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|e| e.to_string());
    let job = ti::read(&mut diagnostics, source, &mut beside);
    Some((job, diagnostics.to_string()))
}

fn ops(job: &Job, rank: usize) -> Vec<&Op> {
    let Body::Steps(steps) = &*job.bodies[rank] else { panic!("steps") };
    steps.iter().map(|s| if let Step::Do(op) = s { op } else { panic!("{s:?}") }).collect()
}

#[test]
fn every_time_independent_trace_loads() {
    for (name, ranks, steps) in [
        ("actions_allreduce.txt", 3, [3, 3]),
        ("actions_alltoall.txt", 3, [1, 1]),
        ("actions_alltoallv.txt", 3, [1, 1]),
        ("actions_barrier.txt", 3, [3, 3]),
        ("actions_bcast.txt", 3, [6, 6]),
        ("actions_reducescatter.txt", 4, [2, 2]),
        ("actions_waitall.txt", 3, [3, 3]),
        ("actions_with_isend.txt", 3, [4, 5]),
    ] {
        let Some((job, said)) = trace(name) else { return };
        let job = job.unwrap_or_else(|| panic!("{said}"));
        assert_eq!((job.bodies.len(), said.as_str()), (ranks, ""), "{name}");
        assert_eq!([ops(&job, 0).len(), ops(&job, 1).len()], steps, "{name}");
    }
    let Some((job, _)) = trace("actions_with_isend.txt") else { return };
    let job = job.expect("a job");
    assert_eq!(ops(&job, 1)[0], &Op::Irecv { from: Some(0), bytes: 1_000_000, tag: Some(0), request: 0 });
    assert_eq!(ops(&job, 1)[3], &Op::Wait(0));
}

#[test]
fn a_file_for_each_rank_comes_through_an_index() {
    let Some(folder) = fixture("traces/simgrid-ti") else { return };
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("both", "actions0.txt\nactions1.txt\n");
    let mut beside = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|e| e.to_string());
    let job = ti::read(&mut diagnostics, source, &mut beside).expect("a job");
    assert_eq!(ops(&job, 0)[1], &Op::Recv { from: Some(1), bytes: 1_000_000, tag: Some(1) });
    assert_eq!(ops(&job, 1)[4], &Op::Wait(1));
    // Alone, each names a rank that has no line.
    let (job, said) = trace("actions1.txt").expect("the fixtures are here");
    assert!(job.is_none() && said.contains("rank 0 has no line"), "{said}");

    let (job, said) = trace("smpi_replay.txt").expect("the fixtures are here");
    let job = job.unwrap_or_else(|| panic!("{said}"));
    assert_eq!((job.bodies.len(), said.as_str()), (32, ""));
    let kinds = |kind: Kind| {
        let of = |op: &&Op| matches!(op, Op::Collective(c) if c.kind == kind);
        (0..32).map(|rank| ops(&job, rank).iter().filter(|op| of(op)).count()).sum::<usize>()
    };
    // Counted with awk: 288 bcast, 512 barrier, 192 allreduce, 160 alltoall, 64 alltoallv, 32 gather.
    assert_eq!([Kind::Bcast, Kind::Barrier, Kind::Allreduce].map(kinds), [288, 512, 192]);
    assert_eq!([Kind::Alltoall, Kind::Alltoallv, Kind::Gather].map(kinds), [160, 64, 32]);
    let blocks = |rank: usize| {
        let of = |op: &&Op| match op {
            Op::Collective(c) if c.kind == Kind::Alltoall => Some(c.bytes),
            _ => None,
        };
        ops(&job, rank).iter().filter_map(of).max()
    };
    // 13824 doubles for each of 32 ranks.
    assert_eq!(blocks(9), Some(13824 * 8));
}

#[test]
fn a_schedule_of_goal_loads() {
    let Some(text) = text("traces/goal/binary_tree_32.goal") else { return };
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("binary_tree_32.goal", text);
    let job = goal::read(&mut diagnostics, source).expect("a job");
    assert_eq!(diagnostics.to_string(), "");
    let tasks = |rank: usize| match &*job.bodies[rank] {
        Body::Graph(tasks) => tasks,
        Body::Steps(_) => panic!("a graph"),
    };
    assert_eq!((job.bodies.len(), tasks(0).len(), tasks(31).len()), (32, 5, 1));
    assert_eq!((&tasks(1)[4].op, &tasks(1)[4].requires[..]), (&Op::Send { to: 17, bytes: 1, tag: 0 }, &[0][..]));
    // 31 messages down the tree, each answered by what waits for it.
    let all = |of: fn(&Op) -> bool| (0..32).map(|r| tasks(r).iter().filter(|t| of(&t.op)).count()).sum::<usize>();
    assert_eq!(all(|op| matches!(op, Op::Send { .. })), 31);
    assert_eq!(all(|op| matches!(op, Op::Recv { .. })), 31);
    assert_eq!((0..32).map(|r| tasks(r).iter().map(|t| t.requires.len()).sum::<usize>()).sum::<usize>(), 26);
}
