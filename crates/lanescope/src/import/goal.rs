//! GOAL, the text form of LogGOPSim's schedules: each rank's tasks with what they wait for.
//!
//! ```text
//! num_ranks 2
//! rank 0 { a: calc 1000  b: send 8b to 1 tag 7  b requires a }
//! rank 1 { recv 8b from 0 tag 7 }
//! ```
//! `calc` is in nanoseconds. `requires` waits until the other task is complete, `irequires` until it has begun. `cpu`
//! and `nic` are read and not used: a rank has one processor here, and its adapters are the scenario's. Comments are
//! those of C, and `#` to the end of a line.

use super::{MOST_OPS, Reading, shown};
use crate::diagnostic::{Diagnostics, SourceId, nearest};
use crate::mpi::benchmark::MOST_RANKS;
use crate::mpi::{Body, Job, Op, Task};
use crate::units::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// Most bytes of a message.
const MOST_BYTES: u64 = 1 << 40;
/// Most dependencies, all ranks together.
const MOST_EDGES: u64 = 4 * MOST_OPS;

/// Reads a schedule.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Job> {
    let name = diagnostics.source(source).name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let mut job = Reading::of(diagnostics, source, schedule)?;
    job.title = format!("goal {}, {} ranks", shown(&name), job.bodies.len());
    Some(job)
}

/// A word or a sign, with the byte at which it begins.
#[derive(Clone, Copy)]
struct Token<'a> {
    at: usize,
    text: &'a str,
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// Moves to the next token without taking it.
    fn peek(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).len();
            self.at += blank;
            let rest = &rest[blank..];
            if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                let first = rest.chars().next()?;
                let length = match first {
                    '{' | '}' | ':' => 1,
                    _ => rest.find(|c: char| c.is_ascii_whitespace() || "{}:".contains(c)).unwrap_or(rest.len()),
                };
                return Some(Token { at: self.at, text: &rest[..length] });
            }
        }
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.at += token.text.len();
        Some(token)
    }

    /// The next token if it is this one.
    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|t| t.text == text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Passes over the rest of the line, up to the end of a block.
    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find(['\n', '}']).unwrap_or(rest.len());
    }

    /// Where the text ends.
    fn end(&self) -> (usize, usize) {
        (self.text.len(), self.text.len())
    }
}

fn schedule(text: &str, reading: &mut Reading) -> Option<Job> {
    let mut tokens = Tokens { text, at: 0 };
    let first = tokens.next();
    if first.is_none_or(|t| t.text != "num_ranks") {
        let hint = "it begins with `num_ranks` and their number";
        reading.error(first.map_or((0, 0), clip), "no GOAL schedule", hint);
        return None;
    }
    let ranks = number(&mut tokens, "number of ranks", 1, u64::from(MOST_RANKS), reading)? as u32;
    let mut reader = Reader { ranks, tasks: 0, edges: 0 };
    let mut bodies: Vec<Option<Arc<Body>>> = vec![None; ranks as usize];
    while let Some(token) = tokens.next() {
        if reading.enough() {
            return None;
        }
        if token.text != "rank" {
            reading.error(
                clip(token),
                format!("`{}` where a rank begins", shown(token.text)),
                "a block is `rank 0 { ... }`",
            );
            tokens.skip_line();
            tokens.take("}");
            continue;
        }
        let rank = number(&mut tokens, "rank", 0, u64::from(ranks) - 1, reading)? as usize;
        if !tokens.take("{") {
            let span = tokens.peek().map_or(tokens.end(), clip);
            reading.error(span, "no `{` behind the rank", "a block is `rank 0 { ... }`");
            return None;
        }
        let body = reader.block(&mut tokens, reading)?;
        if bodies[rank].is_some() {
            reading.error(clip(token), format!("a second block of rank {rank}"), "each rank has one");
        }
        bodies[rank] = Some(Arc::new(Body::Graph(body)));
    }
    let idle = bodies.iter().filter(|b| b.is_none()).count();
    if idle == bodies.len() {
        reading.error(tokens.end(), "no rank does anything", "a block is `rank 0 { ... }`");
        return None;
    }
    if let Some(first) = bodies.iter().position(|b| b.is_none()) {
        let message = format!("{idle} of {ranks} ranks have no block, rank {first} first");
        reading.warning(tokens.end(), message, "they do nothing");
    }
    let nothing = Arc::new(Body::Graph(Vec::new()));
    let bodies = bodies.into_iter().map(|b| b.unwrap_or_else(|| nothing.clone())).collect();
    Some(Job { title: String::new(), bodies, sections: Vec::new() })
}

/// A token's place, short enough to draw.
fn clip(token: Token) -> (usize, usize) {
    let short = token.text.char_indices().nth(40).map_or(token.text.len(), |c| c.0);
    (token.at, token.at + short)
}

/// A whole number within bounds; sizes may end in `b`.
fn number(tokens: &mut Tokens, what: &str, least: u64, most: u64, reading: &mut Reading) -> Option<u64> {
    let Some(token) = tokens.next() else {
        reading.error(tokens.end(), format!("the text ends where a {what} should be"), "");
        return None;
    };
    let digits = if what == "size" { token.text.trim_end_matches('b') } else { token.text };
    let value = digits.parse::<u64>().ok().filter(|n| (least..=most).contains(n));
    if value.is_none() {
        let message = format!("`{}` is not a valid {what}", shown(token.text));
        reading.error(clip(token), message, format!("it is a whole number from {least} to {most}"));
    }
    value
}

/// What was read so far of all ranks.
struct Reader {
    ranks: u32,
    tasks: u64,
    edges: u64,
}

/// A dependency as it is written: of which label, on which, and whether it waits for the end.
type Edge<'a> = (Token<'a>, Token<'a>, bool);

impl Reader {
    /// The tasks of a rank, to the closing brace.
    fn block(&mut self, tokens: &mut Tokens, reading: &mut Reading) -> Option<Vec<Task>> {
        let mut tasks: Vec<Task> = Vec::new();
        // Where each begins, for messages.
        let mut places = Vec::new();
        let mut labels: HashMap<&str, u32> = HashMap::new();
        let mut edges: Vec<Edge> = Vec::new();
        loop {
            if reading.enough() {
                return None;
            }
            let Some(token) = tokens.next() else {
                reading.error(tokens.end(), "the text ends within a rank", "a block ends with `}`");
                return None;
            };
            if token.text == "}" {
                break;
            }
            let mut op = token;
            if tokens.take(":") {
                if labels.insert(token.text, tasks.len() as u32).is_some() {
                    let message = format!("a second task `{}` of the rank", shown(token.text));
                    reading.error(clip(token), message, "labels are unique within a rank");
                }
                let Some(next) = tokens.next() else { continue };
                op = next;
            } else if !["calc", "send", "recv"].contains(&token.text) {
                match tokens.peek().map(|t| t.text) {
                    Some(kind @ ("requires" | "irequires")) => {
                        tokens.next();
                        let Some(on) = tokens.next() else { continue };
                        edges.push((token, on, kind == "requires"));
                        self.edges += 1;
                        if self.edges > MOST_EDGES {
                            reading.error(clip(on), format!("more than {MOST_EDGES} dependencies"), "");
                            return None;
                        }
                    }
                    _ => {
                        let message = format!("`{}` is neither a task nor a dependency", shown(token.text));
                        let near = nearest(token.text, ["calc", "send", "recv"]);
                        let hint = match near {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => "write `l1: calc 100`, `l2: send 8b to 1 tag 0` or `l2 requires l1`".into(),
                        };
                        reading.error(clip(token), message, hint);
                        tokens.skip_line();
                    }
                }
                continue;
            }
            self.tasks += 1;
            if self.tasks > MOST_OPS {
                reading.error(clip(op), format!("more than {MOST_OPS} tasks"), "take a shorter schedule");
                return None;
            }
            // A task that cannot be read keeps its place, so that labels stay right.
            let read = self.task(op, tokens, reading);
            if read.is_none() {
                tokens.skip_line();
            }
            tasks.push(Task { op: read.unwrap_or(Op::WaitAll), requires: Vec::new(), irequires: Vec::new() });
            places.push(token);
        }
        for (of, on, complete) in edges {
            let find = |label: Token, reading: &mut Reading| {
                let found = labels.get(label.text).copied();
                if found.is_none() && !reading.enough() {
                    let message = format!("there is no task `{}` in this rank", shown(label.text));
                    let near = if labels.len() > 1000 { None } else { nearest(label.text, labels.keys().copied()) };
                    reading.error(clip(label), message, near.map_or(String::new(), |n| format!("did you mean `{n}`?")));
                }
                found
            };
            if let (Some(of), Some(on)) = (find(of, reading), find(on, reading)) {
                let task = &mut tasks[of as usize];
                if complete { &mut task.requires } else { &mut task.irequires }.push(on);
            }
        }
        if let Some(stuck) = cycle(&tasks) {
            let message = format!("the tasks around `{}` wait for one another", shown(places[stuck].text));
            reading.error(clip(places[stuck]), message, "follow its `requires`: they come back to it");
        }
        Some(tasks)
    }

    fn task(&self, op: Token, tokens: &mut Tokens, reading: &mut Reading) -> Option<Op> {
        let most_ns = Time::MAX.fs() / 1_000_000;
        let word = match op.text {
            "calc" => {
                let ns = number(tokens, "number of nanoseconds", 0, most_ns, reading)?;
                self.places(tokens, reading)?;
                return Some(Op::Compute(Time::from_fs(ns * 1_000_000)));
            }
            "send" => "to",
            "recv" => "from",
            _ => {
                let message = format!("unknown task `{}`", shown(op.text));
                let near = nearest(op.text, ["calc", "send", "recv"]).unwrap_or("calc, send and recv");
                reading.error(clip(op), message, format!("there are calc, send and recv; did you mean {near}?"));
                return None;
            }
        };
        let bytes = number(tokens, "size", 0, MOST_BYTES, reading)?;
        if !tokens.take(word) {
            let span = tokens.peek().map_or(tokens.end(), clip);
            reading.error(
                span,
                format!("no `{word}` behind the size"),
                format!("write `{} 8b {word} 1 tag 0`", op.text),
            );
            return None;
        }
        let other = number(tokens, "rank", 0, u64::from(self.ranks) - 1, reading)? as u32;
        let tag = self.places(tokens, reading)?;
        Some(match word {
            "to" => Op::Send { to: other, bytes, tag },
            _ => Op::Recv { from: Some(other), bytes, tag: Some(tag) },
        })
    }

    /// Tag, processor and adapter, in any order; the tag.
    fn places(&self, tokens: &mut Tokens, reading: &mut Reading) -> Option<u32> {
        let mut tag = 0;
        loop {
            if tokens.take("tag") {
                tag = number(tokens, "tag", 0, u64::from(u32::MAX), reading)? as u32;
            } else if tokens.take("cpu") || tokens.take("nic") {
                number(tokens, "number", 0, u64::from(u32::MAX), reading)?;
            } else {
                return Some(tag);
            }
        }
    }
}

/// A task that can never begin because it waits for itself in the end.
fn cycle(tasks: &[Task]) -> Option<usize> {
    let ons = |t: usize| tasks[t].requires.iter().chain(&tasks[t].irequires).map(|&on| on as usize);
    // Those that wait for each task, one list behind the other.
    let mut start = vec![0u32; tasks.len() + 1];
    for t in 0..tasks.len() {
        ons(t).for_each(|on| start[on + 1] += 1);
    }
    for t in 0..tasks.len() {
        start[t + 1] += start[t];
    }
    let mut fill = start.clone();
    let mut waiting = vec![0u32; start.last().copied().unwrap_or(0) as usize];
    for t in 0..tasks.len() {
        ons(t).for_each(|on| {
            waiting[fill[on] as usize] = t as u32;
            fill[on] += 1;
        });
    }
    let mut left: Vec<u32> = tasks.iter().map(|t| (t.requires.len() + t.irequires.len()) as u32).collect();
    let mut ready: Vec<usize> = (0..tasks.len()).filter(|&t| left[t] == 0).collect();
    while let Some(t) = ready.pop() {
        for &next in &waiting[start[t] as usize..start[t + 1] as usize] {
            left[next as usize] -= 1;
            if left[next as usize] == 0 {
                ready.push(next as usize);
            }
        }
    }
    let stuck = left.iter().position(|&n| n > 0)?;
    // That one may only wait for the cycle: go back until a task comes twice.
    let mut seen = vec![false; tasks.len()];
    let mut at = stuck;
    while !seen[at] {
        seen[at] = true;
        at = ons(at).find(|&on| left[on] > 0)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Option<Job>, String) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("g.goal", text);
        let job = read(&mut diagnostics, source);
        assert_eq!(job.is_none(), diagnostics.has_errors(), "{diagnostics}");
        (job, diagnostics.to_string())
    }

    fn refused(text: &str) -> String {
        let (job, said) = with(text);
        assert!(job.is_none());
        said
    }

    #[test]
    fn tasks_and_what_they_wait_for_are_read() {
        let (job, said) = with(
            "num_ranks 2 // two\n/* a\n comment */ rank 0 \
                {\n a: calc 1500 cpu 3\n b: send 8b to 1 tag 7 nic 1\nb requires a\n\
             c irequires b # later\n c: recv 16b from 1 }\nrank 1 { recv 8b from 0 tag 7 send 16b to 0 }\n",
        );
        let job = job.expect(&said);
        assert_eq!((said.as_str(), job.title.as_str()), ("", "goal g.goal, 2 ranks"));
        let Body::Graph(tasks) = &*job.bodies[0] else { panic!("a graph") };
        assert_eq!(tasks[0].op, Op::Compute(Time::from_fs(1_500_000_000)));
        assert_eq!(tasks[1], Task { op: Op::Send { to: 1, bytes: 8, tag: 7 }, requires: vec![0], irequires: vec![] });
        assert_eq!(tasks[2].op, Op::Recv { from: Some(1), bytes: 16, tag: Some(0) });
        assert_eq!((&tasks[2].requires[..], &tasks[2].irequires[..]), (&[][..], &[1][..]));
        let Body::Graph(tasks) = &*job.bodies[1] else { panic!("a graph") };
        assert_eq!(tasks.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_said_at_its_place() {
        let rank = |inside: &str| refused(&format!("num_ranks 2\nrank 0 {{\n{inside}\n}}\nrank 1 {{ }}\n"));
        assert!(refused("").contains("no GOAL schedule"));
        assert!(refused("num_ranks 0\n").contains("`0` is not a valid number of ranks"));
        assert!(refused("num_ranks 65537\n").contains("from 1 to 65536"));
        assert!(refused("num_ranks 2\n").contains("no rank does anything"));
        assert!(refused("num_ranks 2\nrank 5 { }\n").contains("g.goal:2:6: error: `5` is not a valid rank"));
        assert!(refused("num_ranks 2\nrank 0 { } rank 0 { }\n").contains("a second block of rank 0"));
        assert!(refused("num_ranks 2\nrank 0 {\n").contains("ends within a rank"));
        assert!(refused("num_ranks 2\nrank 0 calc 1\n").contains("no `{`"));
        assert!(refused("num_ranks 2\nblock 0 { }\nrank 0 { calc 1 }\n").contains("where a rank begins"));
        assert!(rank("l1: sned 8b to 1").contains("g.goal:3:5: error: unknown task `sned`"));
        assert!(rank("sned 8b to 1").contains("did you mean `send`?"));
        assert!(rank("send -8b to 1").contains("`-8b` is not a valid size"));
        assert!(rank("send 9223372036854775808b to 1").contains("from 0 to 1099511627776"));
        assert!(rank("send 8b from 1").contains("no `to` behind the size"));
        assert!(rank("send 8b to 2").contains("`2` is not a valid rank"));
        assert!(rank("calc 99999999999999999").contains("nanoseconds"));
        assert!(rank("l1: calc 1\nl1: calc 2").contains("a second task `l1`"));
        assert!(
            rank("l1: calc 1\nl1 requires l2")
                .contains("g.goal:4:13: error: there is no task `l2` in this rank (did you mean `l1`?)")
        );
        assert!(
            rank("l1: calc 1\nl2: calc 1\nl3: calc 1\nl1 requires l2\nl2 irequires l3\nl3 requires l2")
                .contains("`l2` wait for one another")
        );
        assert!(rank("l1: calc 1\nl1 requires l1").contains("`l1` wait"));
    }

    #[test]
    fn a_rank_without_a_block_does_nothing() {
        let (job, said) = with("num_ranks 3\nrank 0 { calc 5 }\n");
        assert_eq!(job.map(|j| j.bodies.len()), Some(3));
        assert!(said.contains("warning: 2 of 3 ranks have no block, rank 1 first"), "{said}");
    }

    #[test]
    fn noise_ends_soon_and_long_chains_do_not_overflow() {
        assert_eq!(refused(&"no schedule at all\n".repeat(100_000)).lines().count(), 1);
        assert_eq!(refused(&format!("num_ranks 1\n{}", "noise {\n".repeat(100_000))).lines().count(), 20);
        assert_eq!(refused(&format!("num_ranks 1\nrank 0 {{ {}", "noise here\n".repeat(100_000))).lines().count(), 20);
        let mut chain = String::from("num_ranks 1\nrank 0 {\nl0: calc 1\n");
        for i in 1..50_000 {
            chain.push_str(&format!("l{i}: calc 1\nl{i} requires l{}\n", i - 1));
        }
        assert!(with(&format!("{chain}}}\n")).0.is_some());
        assert!(refused(&format!("{chain}l0 requires l49999\n}}\n")).contains("wait for one another"));
    }
}
