//! Traces and tables of other people's programs, from anywhere.

use lanescope::diagnostic::{Diagnostics, Severity, SourceId};
use lanescope::import::{self, Table};
use lanescope::mpi::{Body, Job, Op, Step};
use lanescope::pens;

/// A held text, read; what is refused says why, and nothing is said of places outside the text.
pub fn read<T>(data: &[u8], with: impl FnOnce(&mut Diagnostics, SourceId) -> Option<T>) -> Option<T> {
    let text = std::str::from_utf8(data).ok()?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("fuzz", text);
    let found = with(&mut diagnostics, source);
    assert_eq!(found.is_none(), diagnostics.has_errors(), "a refusal says why, and only a refusal: {diagnostics}");
    let errors = diagnostics.sorted().iter().filter(|d| d.severity == Severity::Error).count();
    assert!(errors <= import::MOST_MESSAGES + 8 && diagnostics.count() <= 400, "{} messages", diagnostics.count());
    for d in diagnostics.sorted() {
        let Some(span) = d.span else { continue };
        let text = &diagnostics.source(span.source).text;
        assert!(span.start <= span.end && span.end as usize <= text.len(), "a span leaves its text: {d:?}");
        assert!(text.is_char_boundary(span.start as usize) && text.is_char_boundary(span.end as usize), "{d:?}");
    }
    found
}

/// SimGrid's traces; `a` and `b` are files that an index may name.
pub fn ti(data: &[u8]) -> bool {
    let mut files = |name: &str| match name {
        "a" => Ok("0 init\n0 isend 1 0 1e3\n0 waitall\n".to_owned()),
        "b" => Ok("1 init 1\n1 recv 0 0 125\n".to_owned()),
        _ => Err("there is none".to_owned()),
    };
    read(data, |d, s| import::ti::read(d, s, &mut files)).inspect(sound).is_some()
}

/// Schedules of LogGOPSim.
pub fn goal(data: &[u8]) -> bool {
    read(data, import::goal::read).inspect(sound).is_some()
}

/// Outputs of PMB and IMB.
pub fn imb(data: &[u8]) -> bool {
    read(data, import::imb::read).inspect(printed).is_some()
}

/// Outputs of the OSU micro-benchmarks.
pub fn osu(data: &[u8]) -> bool {
    read(data, import::osu::read).inspect(printed).is_some()
}

/// Partners exist, requests were begun before they are waited for, and dependencies are within the rank.
fn sound(job: &Job) {
    let ranks = job.bodies.len();
    let known = |rank: &u32| assert!((*rank as usize) < ranks, "rank {rank} of {ranks}");
    for body in &job.bodies {
        match &**body {
            Body::Steps(steps) => {
                let mut open = std::collections::BTreeSet::new();
                for step in steps {
                    let Step::Do(op) = step else { panic!("a trace has no loops: {step:?}") };
                    match op {
                        Op::Send { to, .. } => known(to),
                        Op::Recv { from, .. } => from.iter().for_each(known),
                        Op::Isend { to, request, .. } => {
                            known(to);
                            assert!(open.insert(*request), "request {request} is open");
                        }
                        Op::Irecv { from, request, .. } => {
                            from.iter().for_each(known);
                            assert!(open.insert(*request), "request {request} is open");
                        }
                        Op::Wait(request) => assert!(open.remove(request), "request {request} is not open"),
                        Op::WaitAll => open.clear(),
                        Op::Collective(c) => {
                            known(&c.root);
                            assert!(c.each.as_ref().is_none_or(|e| e.len() == ranks));
                        }
                        _ => {}
                    }
                }
            }
            Body::Graph(tasks) => {
                for task in tasks {
                    let all = task.requires.iter().chain(&task.irequires);
                    all.for_each(|&on| assert!((on as usize) < tasks.len()));
                    assert!(!matches!(task.op, Op::WaitAll | Op::Wait(_) | Op::Collective(_)), "{task:?}");
                }
            }
        }
    }
}

/// What was read can be printed and read again, and agrees with itself.
fn printed(table: &Table) {
    let text = pens::instrument::text(table);
    let again = read(text.as_bytes(), import::instrument).unwrap_or_else(|| panic!("{text}"));
    let rows = |t: &Table| t.blocks.iter().map(|b| b.rows.len()).sum::<usize>();
    assert_eq!(rows(&again), rows(table), "{text}");
    let points = pens::compare::points(table);
    let comparison = pens::compare::compare(&points, &points, &[]);
    assert_eq!(comparison.rows.len(), points.len());
    let _ = pens::compare::text(&comparison, pens::Paint::TERMINAL);
}
