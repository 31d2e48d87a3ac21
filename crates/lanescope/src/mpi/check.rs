//! What is wrong with a job before it runs: messages that cannot meet, collectives that not all ranks call, partners
//! that do not exist.
//!
//! Programs have no branches any more, so sends and receives can be counted: by sender, receiver and tag where the
//! receiver names them, else by receiver alone. A receive too many waits for ever, an error; a message too many may
//! stay where it is, a warning. That everything is called equally often does not mean that the order is right: a run
//! finds out.

use super::collective::Call;
use super::op::{Body, Job, Op, Step};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Nobody reads more of a kind.
const MOST_LINES: usize = 8;
/// With more combinations of two ranks and a tag than these, messages are not counted.
const MOST_PAIRS: usize = 1 << 18;

/// What a body does, in numbers.
#[derive(Default)]
struct Summary {
    /// By partner and tag: sends and receives.
    pairs: HashMap<(u32, u32), [u64; 2]>,
    /// Receives from anybody, or with any tag.
    any: u64,
    collectives: u64,
    /// The first mistake.
    wrong: Option<String>,
    /// How many pairs there may be.
    room: usize,
}

impl Summary {
    fn of(body: &Body, job: &Job, room: usize) -> Summary {
        let mut s = Summary { room, ..Summary::default() };
        match body {
            Body::Steps(steps) => s.steps(steps, 1, job),
            Body::Graph(tasks) => tasks.iter().for_each(|t| s.op(&t.op, 1, job)),
        }
        s
    }

    fn steps(&mut self, steps: &[Step], times: u64, job: &Job) {
        for step in steps {
            match step {
                Step::Do(op) => self.op(op, times, job),
                Step::Repeat { times: n, body } => self.steps(body, times.saturating_mul(*n), job),
                Step::Untimed(body) => self.steps(body, times, job),
                Step::Timed { section, times: n, body } => {
                    if *section as usize >= job.sections.len() {
                        self.wrong(|| format!("times section {section} of {}", job.sections.len()));
                    }
                    self.steps(body, times.saturating_mul(*n), job);
                }
            }
        }
    }

    fn wrong(&mut self, what: impl FnOnce() -> String) {
        self.wrong.get_or_insert_with(what);
    }

    fn op(&mut self, op: &Op, times: u64, job: &Job) {
        let mut pair = |partner: u32, tag: u32, receives: usize| {
            if self.pairs.len() > self.room {
                return;
            }
            let count = &mut self.pairs.entry((partner, tag)).or_default()[receives];
            *count = count.saturating_add(times);
        };
        match *op {
            Op::Send { to, tag, .. } | Op::Isend { to, tag, .. } => pair(to, tag, 0),
            Op::Recv { from: Some(from), tag: Some(tag), .. } | Op::Irecv { from: Some(from), tag: Some(tag), .. } => {
                pair(from, tag, 1);
            }
            Op::Recv { .. } | Op::Irecv { .. } => self.any = self.any.saturating_add(times),
            Op::Sendrecv { to, from, tag, .. } => {
                pair(to, tag, 0);
                pair(from, tag, 1);
            }
            Op::Collective(ref what) => {
                self.collectives = self.collectives.saturating_add(times);
                if let Err(wrong) = Call::new(what, job.bodies.len() as u32) {
                    self.wrong(|| format!("calls {what}: {wrong}"));
                }
            }
            Op::Compute(_) | Op::Work(_) | Op::Wait(_) | Op::WaitAll => {}
        }
        let partners = match *op {
            Op::Send { to, .. } | Op::Isend { to, .. } => [Some(to), None],
            Op::Recv { from, .. } | Op::Irecv { from, .. } => [from, None],
            Op::Sendrecv { to, from, .. } => [Some(to), Some(from)],
            _ => [None, None],
        };
        for partner in partners.into_iter().flatten().filter(|&p| p as usize >= job.bodies.len()) {
            let last = job.bodies.len().saturating_sub(1);
            self.wrong(|| format!("exchanges with rank {partner}, but ranks are 0 to {last}"));
        }
    }
}

/// Messages from one rank to another with one tag.
#[derive(Clone, Copy, Default)]
struct Count {
    sends: u64,
    receives: u64,
}

/// Notes what is wrong with a job. `within` is where it was written.
pub fn check(diagnostics: &mut Diagnostics, job: &Job, within: Option<Span>) {
    let mut known: HashMap<*const Body, usize> = HashMap::new();
    let mut summaries: Vec<Summary> = Vec::new();
    let mut pairs = 0;
    let mut of = Vec::with_capacity(job.bodies.len());
    for body in &job.bodies {
        let s = *known.entry(Arc::as_ptr(body)).or_insert_with(|| {
            summaries.push(Summary::of(body, job, MOST_PAIRS.saturating_sub(pairs)));
            summaries.len() - 1
        });
        pairs += summaries[s].pairs.len();
        of.push(s);
    }
    let mut lines: Vec<(Severity, String)> = Vec::new();
    for (rank, &s) in of.iter().enumerate() {
        if let Some(wrong) = &summaries[s].wrong {
            lines.push((Severity::Error, format!("rank {rank} {wrong}")));
        }
    }
    if lines.is_empty() {
        let calls = |rank: usize| summaries[of[rank]].collectives;
        if let Some(rank) = (1..of.len()).find(|&r| calls(r) != calls(0)) {
            lines.push((
                Severity::Error,
                format!(
                    "rank 0 calls {} collectives, rank {rank} calls {}: all ranks call all of them",
                    calls(0),
                    calls(rank)
                ),
            ));
        }
        if pairs <= MOST_PAIRS {
            count(&summaries, &of, &mut lines);
        }
    }
    for severity in [Severity::Error, Severity::Warning] {
        let all: Vec<&String> = lines.iter().filter(|l| l.0 == severity).map(|l| &l.1).collect();
        for (i, text) in all.iter().take(MOST_LINES).enumerate() {
            let mut d = Diagnostic { severity, ..Diagnostic::error(within, (*text).clone()) };
            if i + 1 == MOST_LINES && all.len() > MOST_LINES {
                d = d.hint(format!("and {} more like this", all.len() - MOST_LINES));
            }
            diagnostics.push(d);
        }
    }
}

/// Compares what is sent with what is received.
fn count(summaries: &[Summary], of: &[usize], lines: &mut Vec<(Severity, String)>) {
    let mut totals = vec![Count::default(); of.len()];
    for (rank, &s) in of.iter().enumerate() {
        let s = &summaries[s];
        let total = &mut totals[rank].receives;
        *total = s.pairs.values().fold(total.saturating_add(s.any), |sum, p| sum.saturating_add(p[1]));
        for (&(to, _), sends) in &s.pairs {
            let total = &mut totals[to as usize].sends;
            *total = total.saturating_add(sends[0]);
        }
    }
    let named = |rank: usize| summaries[of[rank]].any == 0;
    for (rank, &Count { sends, receives }) in totals.iter().enumerate().filter(|(rank, _)| !named(*rank)) {
        if receives > sends {
            lines.push((
                Severity::Error,
                format!("rank {rank} receives {}, but {} sent to it", amount(receives), are(sends)),
            ));
        } else if sends > receives {
            lines.push((
                Severity::Warning,
                format!("{} sent to rank {rank}, which receives {receives}", are_all(sends)),
            ));
        }
    }
    let mut counts: HashMap<(u32, u32, u32), Count> = HashMap::new();
    for (rank, &s) in of.iter().enumerate() {
        let rank = rank as u32;
        for (&(partner, tag), &[sends, receives]) in &summaries[s].pairs {
            if sends > 0 && named(partner as usize) {
                let c = counts.entry((partner, rank, tag)).or_default();
                c.sends = c.sends.saturating_add(sends);
            }
            if receives > 0 && named(rank as usize) {
                let c = counts.entry((rank, partner, tag)).or_default();
                c.receives = c.receives.saturating_add(receives);
            }
        }
    }
    let mut odd: Vec<_> = counts.into_iter().filter(|(_, c)| c.sends != c.receives).collect();
    odd.sort_unstable_by_key(|o| o.0);
    for ((receiver, sender, tag), Count { sends, receives }) in odd {
        lines.push(if receives > sends {
            let received = amount(receives);
            let text =
                format!("rank {receiver} receives {received} from rank {sender}, tag {tag}, but {} sent", are(sends));
            (Severity::Error, text)
        } else {
            let sent = amount(sends);
            let text =
                format!("rank {sender} sends {sent} to rank {receiver}, tag {tag}, but {} received", are(receives));
            (Severity::Warning, text)
        });
    }
}

fn amount(n: u64) -> String {
    if n == 1 { "1 message".into() } else { format!("{n} messages") }
}

fn are_all(n: u64) -> String {
    format!("{} {}", amount(n), if n == 1 { "is" } else { "are" })
}

fn are(n: u64) -> String {
    match n {
        0 => "none is".into(),
        1 => "1 is".into(),
        n => format!("{n} are"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::op::{Collective, Kind, Task};
    use crate::mpi::text;

    fn said(job: &Job) -> String {
        let mut d = Diagnostics::default();
        check(&mut d, job, None);
        d.to_string()
    }

    fn of(text: &str, ranks: u32) -> String {
        let mut d = Diagnostics::default();
        let job = text::read(&mut d, text, None, ranks);
        said(&job.unwrap_or_else(|| panic!("{d}")))
    }

    #[test]
    fn programs_that_fit_are_left_alone() {
        for text in [
            "",
            "sendrecv 8 B to (rank + 1) % ranks from (rank - 1) % ranks; barrier",
            "repeat 1e12 { repeat 1e12 { sendrecv 8 B to (rank + 1) % ranks from (rank - 1) % ranks } }",
            "if rank == 0 { repeat ranks - 1 { recv from any } } else { send 8 B to 0 tag rank }",
            "if rank == 0 { recv from 1 tag any; recv from 1 } else { if rank == 1 { repeat 2 { send 8 B to 0 } } }",
        ] {
            assert_eq!(of(text, 8), "", "{text}");
        }
        assert_eq!(of("repeat ranks as i { isend 8 B to i }; repeat ranks as i { irecv from i }; waitall", 300), "");
    }

    #[test]
    fn what_cannot_meet_is_told() {
        for (text, expected) in [
            (
                "if rank == 0 { repeat 3 { recv 8 B from 1 tag 7 } } else { repeat 2 { send 8 B to 0 tag 7 } }",
                "error: rank 0 receives 3 messages from rank 1, tag 7, but 2 are sent\n",
            ),
            (
                "if rank == 0 { recv 8 B from 1 tag 7 } else { send 8 B to 0 tag 6 }",
                "error: rank 0 receives 1 message from rank 1, tag 7, but none is sent\n\
                 warning: rank 1 sends 1 message to rank 0, tag 6, but none is received\n",
            ),
            (
                "if rank == 0 { repeat 2 { recv from any } } else { send 8 B to 0 }",
                "error: rank 0 receives 2 messages, but 1 is sent to it\n",
            ),
            (
                "if rank == 0 { recv from 1 tag any } else { repeat 3 { send 8 B to 0 tag 2 } }",
                "warning: 3 messages are sent to rank 0, which receives 1\n",
            ),
            (
                "sendrecv 8 B to rank from 1 - rank",
                "error: rank 0 receives 1 message from rank 1, tag 0, but none is sent\n\
                 error: rank 1 receives 1 message from rank 0, tag 0, but none is sent\n\
                 warning: rank 0 sends 1 message to rank 0, tag 0, but none is received\n\
                 warning: rank 1 sends 1 message to rank 1, tag 0, but none is received\n",
            ),
            (
                "repeat 3 { barrier }; if rank == 1 { barrier }",
                "error: rank 0 calls 3 collectives, rank 1 calls 4: all ranks call all of them\n",
            ),
        ] {
            assert_eq!(of(text, 2), expected, "{text}");
        }
        // More pairs than are counted.
        assert_eq!(of("repeat ranks as i { isend 8 B to i }; waitall", 520), "");
        // A thousand mistakes are eight lines.
        let many = of("recv from (rank + 1) % ranks", 1000);
        assert_eq!(many.lines().count(), 8);
        assert!(
            many.contains("rank 7 receives 1 message from rank 8, tag 0, but none is sent (and 992 more like this)"),
            "{many}"
        );
    }

    #[test]
    fn jobs_from_elsewhere_are_looked_at_too() {
        let send = |to| Op::Send { to, bytes: 8, tag: 0 };
        let job = |bodies: Vec<Body>| Job { bodies: bodies.into_iter().map(Arc::new).collect(), ..Job::default() };
        let steps = |op: Op| Body::Steps(vec![Step::Do(op)]);
        let task = |op| Task { op, requires: Vec::new(), irequires: Vec::new() };
        assert_eq!(said(&job(vec![steps(send(1))])), "error: rank 0 exchanges with rank 1, but ranks are 0 to 0\n");
        let graph = Body::Graph(vec![task(send(1)), task(send(1))]);
        let receives = steps(Op::Recv { from: Some(0), bytes: 8, tag: Some(0) });
        assert_eq!(
            said(&job(vec![graph, receives])),
            "warning: rank 0 sends 2 messages to rank 1, tag 0, but 1 is received\n"
        );
        let what = Collective { kind: Kind::Bcast, bytes: 8, root: 5, algorithm: None, each: None, work: 0.0 };
        assert_eq!(
            said(&job(vec![steps(Op::Collective(what))])),
            "error: rank 0 calls bcast 8 B root 5: its root 5 is none of 1 ranks\n"
        );
        let timed = Body::Steps(vec![Step::Timed { section: 0, times: 1, body: Vec::new() }]);
        assert_eq!(said(&job(vec![timed])), "error: rank 0 times section 0 of 0\n");
    }
}
