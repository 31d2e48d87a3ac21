//! Programs as they are written, and what is wrong with those that are not.

use super::parse::MOST_ERRORS;
use super::*;
use crate::mpi::op::{Body, Op, Step, UNNAMED};
use crate::units::Time;

fn read_in(text: &str, ranks: u32) -> (Option<Job>, String) {
    let mut d = Diagnostics::default();
    let source = d.add_source("p", text);
    let job = read(&mut d, text, Some(Span { source, start: 0, end: text.len() as u32 }), ranks);
    (job, d.to_string())
}

fn good(text: &str, ranks: u32) -> Job {
    let (job, said) = read_in(text, ranks);
    assert_eq!(said, "", "{text}");
    job.expect("a job")
}

fn wrong(text: &str, ranks: u32) -> String {
    let (job, said) = read_in(text, ranks);
    assert!(job.is_none(), "{text} is read");
    said
}

fn steps(job: &Job, rank: usize) -> &[Step] {
    match &*job.bodies[rank] {
        Body::Steps(steps) => steps,
        Body::Graph(_) => panic!("a graph"),
    }
}

fn ops(job: &Job, rank: usize) -> Vec<Op> {
    let op = |s: &Step| match s {
        Step::Do(op) => op.clone(),
        _ => panic!("a loop: {s:?}"),
    };
    steps(job, rank).iter().map(op).collect()
}

fn send(to: u32, bytes: u64) -> Op {
    Op::Send { to, bytes, tag: 0 }
}

#[test]
fn the_example_of_the_head_is_read() {
    let text = include_str!("../text.rs");
    let body = text.split("```text").nth(1).and_then(|t| t.split("//! ```").next()).expect("an example");
    let program: String = body.lines().map(|l| l.trim_start_matches("//!").to_owned() + "\n").collect();
    let job = good(&program, 4);
    assert_eq!((job.title.as_str(), job.sections.len(), job.sections[0].ranks), ("program, 4 ranks", 1, 4));
    let [Step::Timed { section: 0, times: 100, body }] = steps(&job, 0) else { panic!("one timed block") };
    assert_eq!(
        body[..3],
        [
            Step::Do(Op::Irecv { from: Some(3), bytes: 8192, tag: Some(0), request: 0 }),
            Step::Do(Op::Send { to: 1, bytes: 8192, tag: 0 }),
            Step::Do(Op::Wait(0)),
        ]
    );
    assert_eq!(body[3], Step::Do(Op::Compute(Time::from_fs(5_000_000_000))));
    let Step::Do(Op::Collective(all)) = &body[4] else { panic!("an allreduce") };
    assert_eq!((all.kind, all.bytes, all.algorithm), (Kind::Allreduce, 8, None));
}

#[test]
fn every_statement_of_the_head_is_known() {
    let all = "compute 5 us; work 2e6; send 1 B to 0 tag 3; recv 1 B from any tag any; recv from 0 tag 3
        isend 1 B to 0 as a; irecv from any as b; wait a b; isend 1 B to 0; waitall; sendrecv 1 MiB to 0 from 0
        barrier; bcast 1 B root 0 ring; reduce 1 B; gather 1 B; scatter 1 B; allreduce 1 MB scatter_allgather
        reduce_scatter 1 B pairwise; allgather 1 B bruck; alltoall 1 KiB spread; alltoallv (to + 1) * 1 KiB pairwise
        repeat 2 { barrier }; repeat 2 as i { send i * 1 B to 0 }
        timed \"t\" 3 moves 2 MiB { barrier }
        if rank > 0 { barrier } else if ranks == 1 { work 1 } else { work 2 }";
    let job = good(all, 1);
    assert_eq!(steps(&job, 0).len(), 27);
    assert_eq!((job.sections[0].counted, job.sections[0].repetitions), (2 << 20, 3));
}

#[test]
fn expressions_are_worked_out() {
    for (text, value) in [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("7 - 2 - 1", 4),
        ("(rank - 1) % ranks", 23),
        ("7 / 2 + 7 % 2", 4),
        ("(0 - 7) / 2 + 10", 6),
        ("rank ^ 5", 5),
        ("1 << 2", 4),
        ("8 >> 1 + 1", 2),
        ("1 + (2 < 3)", 2),
        ("not 0 + 1", 0),
        ("2 * (1 == 1 and not (1 != 1)) + (0 or 3)", 3),
        ("-1 + 3", 2),
        ("6 MiB / 2 MiB", 3),
        ("(1_000 + 2.5e1) / 205", 5),
    ] {
        assert_eq!(ops(&good(&format!("send 1 B to {text}"), 24), 0), [send(value, 1)], "{text}");
    }
    assert_eq!(ops(&good("send 1 MiB / ranks + 2 * 1 B to 0", 8), 0), [send(0, (1 << 20) / 8 + 2)]);
    assert_eq!(ops(&good("compute 2 * 1.5 us - 1 ns", 1), 0), [Op::Compute(Time::from_fs(2_999_000_000))]);
    assert_eq!(ops(&good("work 1e12 / ranks", 4), 0), [Op::Work(2.5e11)]);
}

#[test]
fn loops_are_unrolled_only_when_they_must() {
    let job = good("repeat 1000000000 { compute 1 ns }", 2);
    assert!(matches!(steps(&job, 0), [Step::Repeat { times: 1_000_000_000, .. }]));
    assert!(std::sync::Arc::ptr_eq(&job.bodies[0], &job.bodies[1]), "ranks that do the same share it");
    let job = good("repeat 3 as i { repeat 2 as j { send 1 B to i * 2 + j } }", 6);
    assert_eq!(ops(&job, 5), (0..6).map(|to| send(to, 1)).collect::<Vec<_>>());
    let job = good("repeat 3 as i { compute 1 ns }", 1);
    assert!(matches!(steps(&job, 0), [Step::Repeat { times: 3, .. }]));
    let job = good("repeat 0 { barrier }; repeat 5 { if rank == 1 { barrier } }", 2);
    assert_eq!((steps(&job, 0).len(), steps(&job, 1).len()), (0, 1));
    // Sizes of an alltoallv in a loop whose variable they use.
    let job = good("repeat 2 as i { alltoallv (i * 10 + to) * 1 B }", 3);
    let each = |op: &Op| match op {
        Op::Collective(c) => c.each.clone().expect("sizes").to_vec(),
        _ => panic!("{op:?}"),
    };
    assert_eq!(ops(&job, 2).iter().map(each).collect::<Vec<_>>(), [[0, 1, 2], [10, 11, 12]]);
    let job = good("repeat 2 as i { alltoallv (i * 10) * 1 B }", 2);
    assert_eq!(ops(&job, 0).iter().map(each).collect::<Vec<_>>(), [[0, 0], [10, 10]]);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, said) in [
        (
            "send 8 to 1",
            "p:1:6: error: a size needs its unit (units are B, kB, MB, GB (decimal) or KiB, MiB, GiB (binary), e.g. 8 \
                B)\n",
        ),
        (
            "barrier\n  send 8 B to 16",
            "p:2:15: error: rank 0 sends to rank 16, but ranks are 0 to 15 ((rank + 1) % ranks is the next one, around \
                the ring)\n",
        ),
        (
            "recv 8 B from rank - 1",
            "p:1:15: error: rank 0 receives from rank -1, but ranks are 0 to 15 ((rank + 1) % ranks is the next one, \
                around the ring)\n",
        ),
        ("send 9223372036854775808 B to 1", "p:1:6: error: 9223372036854775808 B is too large: at most 1 EiB\n"),
        ("send 2 TiB to 1", "p:1:6: error: 2199023255552 B is too large for a message (at most 1 TiB)\n"),
        (
            "send 1 TiB * 1024 * 1024 * 1024 * 1024 * 1024 to 1",
            "p:1:33: error: the result is too large (no number is above 1e24)\n",
        ),
        ("send 8 B to 1 / (rank - rank)", "p:1:15: error: division by zero\n"),
        ("send 8 B to 1 % 0", "p:1:15: error: division by zero\n"),
        ("send 8 KB to 1", "p:1:6: error: there is no unit \"KB\" (KB is ambiguous: write kB (1000) or KiB (1024))\n"),
        ("send 8.5 B to 1", "p:1:6: error: 8.5 B is too fine: it is counted in steps of whole bytes\n"),
        ("send 1 us to 1", "p:1:6: error: expected a size, found a time (for example 8 KiB)\n"),
        ("compute 5", "p:1:9: error: compute takes a time with its unit (for example compute 5 us)\n"),
        (
            "send 8 B + 1 us to 1",
            "p:1:10: error: sizes, times and plain numbers cannot be mixed here (give both the same kind of unit)\n",
        ),
        ("sned 8 B to 1", "p:1:1: error: there is no statement \"sned\" (did you mean send?)\n"),
        ("send 8 B 1", "p:1:10: error: expected \"to\", found \"1\" (for example send 8 KiB to 1)\n"),
        (
            "send 8 B to 1 2",
            "p:1:15: error: \"2\" does not belong to this statement (statements end with the line or with ;)\n",
        ),
        (
            "send 8 B to any",
            "p:1:13: error: \"any\" is not a number (any is allowed only after from and tag of a receive)\n",
        ),
        ("send 8 B to r", "p:1:13: error: \"r\" is not a number (known here: rank, ranks)\n"),
        ("repeat 2 {", "p:1:10: error: a block is not closed (add a } where it ends)\n"),
        ("barrier }", "p:1:9: error: \"}\" begins no statement"),
        ("else { }", "p:1:1: error: else without if\n"),
        ("barrier 8 B", "p:1:9: error: \"8\" does not belong to this statement"),
        ("allreduce", "p:1:1: error: allreduce of how much? (for example allreduce 1 MiB)\n"),
        ("allreduce 8 B root 1", "p:1:15: error: allreduce has no root\n"),
        (
            "allreduce 8 B pairwise",
            "p:1:15: error: allreduce is not done by pairwise (it is done by recursive_doubling, scatter_allgather, \
                ring)\n",
        ),
        ("bcast 8 B root 16", "p:1:16: error: rank 0 has as its root rank 16"),
        (
            "wait a",
            "p:1:6: error: no isend or irecv is called a (a request gets its name where it begins: isend 8 B to 1 as \
                a)\n",
        ),
        ("isend 8 B to 1 as a; wait a a", "p:1:29: error: rank 0 waits for request a, which is not open"),
        ("isend 8 B to 1 as a; isend 8 B to 1 as a", "p:1:22: error: rank 0 begins request a again while it is open"),
        (
            "repeat 2 { isend 8 B to 1 as a }; waitall",
            "p:1:12: error: request a is still open when the loop begins it again",
        ),
        (
            "isend 8 B to 1 as a; repeat 2 { wait a }",
            "p:1:1: error: request a is waited for in a loop, but begins before it",
        ),
        ("send 8 B to 1 as a", "p:1:15: error: a blocking send or receive has no name"),
        ("repeat 2 as rank { }", "p:1:13: error: rank already has another meaning"),
        ("send 8 B to 1 tag 3000000000", "p:1:19: error: a tag is 3000000000 for rank 0: it is from 0 to 2147483647\n"),
        ("send 8 B to 1 == 1 == 1", "p:1:20: error: comparisons do not chain (write a < b and b < c)\n"),
        ("timed x 3 { }", "p:1:7: error: expected a name in quotes, found \"x\""),
        ("timed \"x 3 { }", "p:1:7: error: this text does not end"),
        ("send 8 B to 1 = 1", "p:1:15: error: '=' means nothing here (equal is ==)\n"),
        ("work 2.5", "p:1:6: error: 2.5 is not a whole number\n"),
        ("work 1e99999999999999999999", "p:1:6: error: 1e99999999999999999999 is too large a number (at most 1e24)\n"),
        ("work -1", "p:1:6: error: work is -1 for rank 0: it is from 0 to 1000000000000000000000\n"),
        ("work 1 << 64", "p:1:8: error: cannot shift by 64 (by 0 to 63)\n"),
        (
            "repeat 1e13 { barrier }",
            "p:1:8: error: the number of repetitions is 10000000000000 for rank 0: it is from 0 to 1000000000000\n",
        ),
        ("repeat 1e9 as i { work i }", "p:1:19: error: the program unrolls to more than 4000000 steps for 16 ranks"),
        (
            "repeat 1e9 as i { if i == 5 { barrier } }",
            "error: the program unrolls to more than 4000000 steps for 16 ranks",
        ),
        ("if rank == 3 { send 8 B to 99 }", "p:1:28: error: rank 3 sends to rank 99"),
    ] {
        let found = wrong(text, 16);
        assert!(found.contains(said), "{text}\n{found}");
        assert_eq!(found.lines().count(), 1, "{text}\n{found}");
    }
}

#[test]
fn several_mistakes_are_shown_at_once() {
    let said = wrong("send 8 B\nrepeat 2 {\n  sned\n  barrier\n}\nwait q\nrecv 1 B from x { }", 2);
    let lines: Vec<&str> = said.lines().map(|l| l.split(" error").next().unwrap_or("")).collect();
    assert_eq!(lines, ["p:1:9:", "p:3:3:", "p:6:6:", "p:7:15:"], "{said}");
    assert_eq!(wrong(&"x\n".repeat(1000), 2).lines().count(), MOST_ERRORS);
}

#[test]
fn what_is_begun_and_never_awaited_is_a_warning() {
    let (job, said) = read_in("isend 8 B to 0 as a\nirecv 8 B from 0", 4);
    assert!(job.is_some());
    assert_eq!(
        said,
        "p:1:1: warning: request a is never waited for (add a wait, or a waitall at the end)\n\
         p:2:1: warning: this request is never waited for (add a wait, or a waitall at the end)\n"
    );
    let job = good("repeat 9 { isend 8 B to 0 }\nwaitall", 1);
    let [Step::Repeat { body, .. }, _] = steps(&job, 0) else { panic!("a loop") };
    assert!(matches!(body[..], [Step::Do(Op::Isend { request: UNNAMED, .. })]));
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |n: usize| "repeat 2 { ".repeat(n) + "barrier" + &" }".repeat(n);
    good(&nested(60), 1);
    assert!(wrong(&nested(65), 1).contains("nested deeper than 64"));
    assert_eq!(wrong(&nested(100_000), 1).lines().count(), 1);
    let brackets = |n: usize| format!("send 1 B to {}0{}", "(".repeat(n), ")".repeat(n));
    good(&brackets(60), 1);
    for n in [65, 100_000] {
        assert!(wrong(&brackets(n), 1).contains("nested deeper than 64"));
    }
    assert!(wrong(&format!("work {}1", "not ".repeat(100_000)), 1).contains("nested deeper than 64"));
    // A long sum is no deep one.
    good(&format!("work 1{}", " + 1".repeat(100_000)), 1);
    let ifs = "if rank == 5 { barrier } else ".repeat(10_000);
    good(&format!("{ifs}{{ barrier }}"), 1);
    assert!(wrong(&" ".repeat(MOST_TEXT + 1), 1).contains("too long"));
    assert!(wrong("barrier", 0).contains("0 ranks: a program has 1 to 65536"));
    assert!(wrong("barrier", 70_000).contains("70000 ranks"));
}

#[test]
fn a_program_in_toml_is_pointed_into() {
    // As it stands in the file: the quotes around it, and the line break behind them, are no part of it.
    for (open, close) in [("'''\n", "'''"), ("\"\"\"", "\"\"\""), ("'", "'")] {
        let program = if open == "'" { "barrier; send 8 to 1" } else { "barrier\nsend 8 to 1\n" };
        let toml = format!("[flows.mpi]\nprogram = {open}{program}{close}\n");
        let mut d = Diagnostics::default();
        let source = d.add_source("s.toml", toml.clone());
        let start = toml.find(open).expect("there") as u32;
        let end = toml.len() as u32 - 1;
        assert!(read(&mut d, program, Some(Span { source, start, end }), 2).is_none());
        let at = toml.find("8 to").expect("there");
        assert_eq!(d.sorted()[0].span, Some(Span { source, start: at as u32, end: at as u32 + 1 }), "{d}");
        assert_eq!(d.sorted()[0].label, "");
    }
    // With escapes it stands nowhere: the whole is pointed at, and the line named.
    let toml = "program = \"barrier\\nsend 8 to 1\"\n";
    let mut d = Diagnostics::default();
    let source = d.add_source("s.toml", toml);
    let whole = Span { source, start: 10, end: toml.len() as u32 - 1 };
    assert!(read(&mut d, "barrier\nsend 8 to 1", Some(whole), 2).is_none());
    assert_eq!((d.sorted()[0].span, d.sorted()[0].label.as_str()), (Some(whole), "line 2 of the program"));
}

#[test]
fn nonsense_is_refused_without_panic() {
    let pieces = [
        "send",
        "recv",
        "8",
        "B",
        "KiB",
        "to",
        "from",
        "any",
        "tag",
        "(",
        ")",
        "{",
        "}",
        "rank",
        "ranks",
        "repeat",
        "as",
        "i",
        "if",
        "else",
        "==",
        "-",
        "+",
        "*",
        "/",
        "%",
        "<<",
        "not",
        "and",
        "wait",
        "waitall",
        "isend",
        "irecv",
        "timed",
        "\"x\"",
        "\n",
        ";",
        "alltoallv",
        "bcast",
        "root",
        "ring",
        "1e9",
        "µs",
        "0",
    ];
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += pieces[(seed >> 33) as usize % pieces.len()];
            text += " ";
        }
        let (job, said) = read_in(&text, 3);
        assert!(job.is_some() != said.contains("error"), "{text}\n{said}");
    }
}
