//! Time-independent traces of SimGrid: one line for each call of MPI, with amounts in place of times.
//!
//! `rank op arguments`, all ranks in one file, or an index of files, one a line. Sizes are numbers of elements: bytes
//! after `init`, doubles after `init 1`, or of the datatype that ends a line. What the operations mean is what
//! SimGrid's replay makes of them (`smpi_replay.cpp`): a reduction is its messages and then the operations that the
//! rank works through; `test` may or may not complete a request, so it is passed over and the `wait` behind it waits;
//! communicators are passed over too. An operation before `init` is refused, because its unit would be a guess.

use super::{MOST_OPS, Reading, beginning, lines, shown, words};
use crate::diagnostic::{Diagnostics, SourceId, nearest};
use crate::mpi::benchmark::MOST_RANKS;
use crate::mpi::{Body, Collective, Job, Kind, Op, Step};
use crate::units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Bytes of SimGrid's datatypes, by number: double, int, char, short, long, float, byte, long long, signed char,
/// unsigned char, unsigned short, unsigned, unsigned long, unsigned long long, long double, wchar, bool, int8, int16,
/// int32.
const TYPES: [u64; 20] = [8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4];
/// Most bytes of one message or vector.
const MOST_BYTES: f64 = (1u64 << 40) as f64;
/// Most operations of one `compute`.
const MOST_WORK: f64 = 1e18;
/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` of SMPI.
const ANY_SOURCE: &str = "-555";
const ANY_TAG: &str = "-444";

/// Operations by their lower-case name: least and most arguments.
const OPS: [(&str, usize, usize); 26] = [
    ("init", 0, 1),
    ("finalize", 0, 0),
    ("comm_size", 0, 1),
    ("comm_split", 0, 9),
    ("comm_dup", 0, 9),
    ("location", 0, 2),
    ("compute", 1, 1),
    ("sleep", 1, 1),
    ("send", 3, 4),
    ("ssend", 3, 4),
    ("isend", 3, 4),
    ("recv", 3, 4),
    ("irecv", 3, 4),
    ("test", 3, 3),
    ("wait", 3, 3),
    ("waitall", 0, 1),
    ("barrier", 0, 0),
    ("bcast", 1, 3),
    ("reduce", 2, 4),
    ("allreduce", 2, 3),
    ("reducescatter", 2, usize::MAX),
    ("gather", 2, 5),
    ("scatter", 2, 5),
    ("allgather", 2, 4),
    ("alltoall", 2, 4),
    ("alltoallv", 4, usize::MAX),
];
/// Operations of SimGrid that have no counterpart here yet.
const UNREAD: [&str; 6] = ["sendrecv", "gatherv", "scatterv", "allgatherv", "scan", "exscan"];

/// Reads a trace. Files that an index names come through `resolve`.
pub fn read(
    diagnostics: &mut Diagnostics,
    source: SourceId,
    resolve: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Option<Job> {
    let sources = Reading::of(diagnostics, source, index)?;
    let sources = if sources.is_empty() {
        vec![source]
    } else {
        let mut found = Vec::new();
        for (at, name) in sources {
            match resolve(&name) {
                Ok(text) => found.push(diagnostics.add_source(name, text)),
                Err(why) => {
                    let mut reading = Reading::new(source);
                    reading.error(at, format!("cannot read {}: {why}", shown(&name)), "");
                    reading.end(diagnostics);
                    return None;
                }
            }
        }
        found
    };
    let mut reading = Reading::new(source);
    let texts: Vec<(SourceId, &str)> = sources.iter().map(|&s| (s, diagnostics.source(s).text.as_str())).collect();
    let job = trace(&texts, &mut reading);
    if job.is_none() {
        reading.stopped();
    }
    let title = diagnostics.source(source).name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let failed = reading.end(diagnostics);
    let mut job = job.filter(|_| !failed)?;
    job.title = format!("trace {}, {} ranks", shown(&title), job.bodies.len());
    Some(job)
}

type Span = (usize, usize);

/// The files that an index names; none where the text is a trace itself.
fn index(text: &str, reading: &mut Reading) -> Option<Vec<(Span, String)>> {
    let mut files = Vec::new();
    for (at, line) in lines(text) {
        let mut found = words(at, line);
        let Some((start, name)) = found.next().filter(|w| !w.1.starts_with('#')) else { continue };
        let span = (start, start + name.len());
        if found.next().is_some() {
            if files.is_empty() {
                return Some(files);
            }
            reading.error(span, "no file name", "a line of an index is one name without blanks");
        } else if name.len() > 4096 {
            reading.error(beginning(text, start), "a file name of more than 4096 bytes", "");
        } else if files.len() >= MOST_RANKS as usize {
            reading.error(span, format!("more than {MOST_RANKS} files"), "");
        } else {
            files.push((span, name.to_owned()));
            continue;
        }
        return None;
    }
    if files.is_empty() {
        reading.error(beginning(text, 0), "an empty trace", "a line of a trace is `rank op arguments`, e.g. `0 init`");
        return None;
    }
    Some(files)
}

/// A rank while its lines are read.
#[derive(Default)]
struct Rank {
    steps: Vec<Step>,
    /// Bytes of an element where no datatype stands; none before `init`.
    unit: Option<u64>,
    ended: bool,
    /// Handles of open requests by sender, receiver and tag, the oldest first.
    open: BTreeMap<(u32, u32, u32), VecDeque<u32>>,
    /// Handles that may be used again, and the next new one.
    free: Vec<u32>,
    next: u32,
}

impl Rank {
    fn push(&mut self, op: Op) {
        self.steps.push(Step::Do(op));
    }

    fn begin(&mut self, key: (u32, u32, u32)) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.open.entry(key).or_default().push_back(handle);
        handle
    }

    fn wait(&mut self, key: (u32, u32, u32)) -> Option<u32> {
        let list = self.open.get_mut(&key)?;
        let handle = list.pop_front()?;
        if list.is_empty() {
            self.open.remove(&key);
        }
        self.free.push(handle);
        Some(handle)
    }
}

fn trace(texts: &[(SourceId, &str)], reading: &mut Reading) -> Option<Job> {
    let ranks = census(texts, reading)?;
    let mut all: Vec<Rank> = Vec::new();
    all.resize_with(ranks as usize, Rank::default);
    let mut arguments = Vec::new();
    for &(source, text) in texts {
        reading.source = source;
        for (at, line) in lines(text) {
            if reading.enough() {
                return None;
            }
            arguments.clear();
            arguments.extend(words(at, line));
            // The census has looked at ranks and at lines of one word.
            let [(_, number), op, ..] = arguments[..] else { continue };
            if number.starts_with('#') {
                continue;
            }
            let Some(rank) = number.parse::<u32>().ok().filter(|r| *r < ranks) else { continue };
            let call = Call { rank, ranks, op, arguments: &arguments[2..] };
            call.read(&mut all[rank as usize], reading);
        }
    }
    let bodies = all.into_iter().map(|rank| Arc::new(Body::Steps(rank.steps))).collect();
    Some(Job { title: String::new(), bodies, sections: Vec::new() })
}

/// How many ranks there are; each must have a line.
fn census(texts: &[(SourceId, &str)], reading: &mut Reading) -> Option<u32> {
    let mut seen: Vec<bool> = Vec::new();
    let mut highest = (reading.source, (0, 0));
    let mut calls = 0u64;
    for &(source, text) in texts {
        reading.source = source;
        for (at, line) in lines(text) {
            if reading.enough() {
                return None;
            }
            let mut found = words(at, line);
            let Some((start, word)) = found.next().filter(|w| !w.1.starts_with('#')) else { continue };
            let span = (start, start + word.len());
            let rank = word.parse::<u32>().ok();
            let Some(rank) = rank else {
                let hint = "a line of a trace is `rank op arguments`, e.g. `0 send 1 0 1e6`";
                reading.error(span, format!("`{}` is not a valid rank", shown(word)), hint);
                continue;
            };
            if rank >= MOST_RANKS {
                reading.error(span, format!("rank {rank}"), format!("a trace has at most {MOST_RANKS} ranks"));
                continue;
            }
            if found.next().is_none() {
                reading.error(span, "a rank without an operation", "for example `0 finalize`");
                continue;
            }
            calls += 1;
            if calls > MOST_OPS {
                reading.error(span, format!("more than {MOST_OPS} operations"), "take a shorter trace");
                return None;
            }
            if rank as usize >= seen.len() {
                seen.resize(rank as usize + 1, false);
                highest = (source, span);
            }
            seen[rank as usize] = true;
        }
    }
    let missing: Vec<usize> = (0..seen.len()).filter(|&r| !seen[r]).collect();
    reading.source = highest.0;
    if seen.is_empty() {
        if reading.list.is_empty() {
            reading.error((0, 0), "no operation in any file", "a line of a trace is `rank op arguments`");
        }
        return None;
    }
    if let Some(first) = missing.first() {
        let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        let message = format!("rank {first}{more} has no line, but there is a rank {}", seen.len() - 1);
        reading.error(highest.1, message, "is a file missing? Ranks are numbered from 0 without gaps");
        return None;
    }
    Some(seen.len() as u32)
}

/// One line.
struct Call<'a> {
    rank: u32,
    ranks: u32,
    op: (usize, &'a str),
    arguments: &'a [(usize, &'a str)],
}

impl Call<'_> {
    fn span(&self) -> Span {
        (self.op.0, self.op.0 + self.op.1.len())
    }

    fn span_of(&self, i: usize) -> Span {
        self.arguments.get(i).map_or(self.span(), |a| (a.0, a.0 + a.1.len()))
    }

    fn word(&self, i: usize) -> &str {
        self.arguments.get(i).map_or("", |a| a.1)
    }

    /// An argument that is an amount from 0 to `most`.
    fn amount(&self, i: usize, what: &str, most: f64, reading: &mut Reading) -> Option<f64> {
        let value = self.word(i).parse::<f64>().ok().filter(|v| (0.0..=most).contains(v));
        if value.is_none() {
            let message = format!("`{}` is not a valid {what}", shown(self.word(i)));
            reading.error(self.span_of(i), message, format!("it is a number from 0 to {most:e}"));
        }
        value
    }

    /// Bytes of so many elements.
    fn bytes(&self, i: usize, unit: u64, reading: &mut Reading) -> Option<u64> {
        let count = self.amount(i, "number of elements", MOST_BYTES / unit as f64, reading)?;
        Some((count * unit as f64).round() as u64)
    }

    /// Another rank, or this one.
    fn partner(&self, i: usize, reading: &mut Reading) -> Option<u32> {
        let rank = self.word(i).parse::<u32>().ok().filter(|r| *r < self.ranks);
        if rank.is_none() {
            let message = format!("there is no rank `{}`", shown(self.word(i)));
            reading.error(self.span_of(i), message, format!("ranks go from 0 to {}", self.ranks - 1));
        }
        rank
    }

    fn tag(&self, i: usize, reading: &mut Reading) -> Option<u32> {
        let tag = self.word(i).parse::<u32>().ok();
        if tag.is_none() {
            reading.error(
                self.span_of(i),
                format!("`{}` is not a valid tag", shown(self.word(i))),
                "a tag is a whole number",
            );
        }
        tag
    }

    /// Bytes of the datatype that may stand at a place, else of the default.
    fn unit(&self, i: usize, default: u64, reading: &mut Reading) -> Option<u64> {
        if i >= self.arguments.len() {
            return Some(default);
        }
        let bytes = self.word(i).parse::<usize>().ok().and_then(|n| TYPES.get(n)).copied();
        if bytes.is_none() {
            let message = format!("`{}` is not a valid datatype", shown(self.word(i)));
            reading.error(
                self.span_of(i),
                message,
                "datatypes have numbers: 0 double, 1 int, 2 char, ... 6 byte, ... 19 int32",
            );
        }
        bytes
    }

    /// The root that may stand at a place.
    fn root(&self, i: usize, reading: &mut Reading) -> Option<u32> {
        if i < self.arguments.len() { self.partner(i, reading) } else { Some(0) }
    }

    fn read(&self, rank: &mut Rank, reading: &mut Reading) {
        let name = self.op.1.to_ascii_lowercase();
        let Some(&(name, least, most)) = OPS.iter().find(|o| o.0 == name) else {
            let hint = match nearest(self.op.1, OPS.iter().map(|o| o.0)) {
                _ if UNREAD.contains(&name.as_str()) => "it is not read yet".into(),
                Some(near) => format!("did you mean `{near}`?"),
                None => "the operations are those of SimGrid's replay: send, recv, compute, bcast, ...".into(),
            };
            reading.error(self.span(), format!("unknown operation `{}`", shown(self.op.1)), hint);
            return;
        };
        let given = self.arguments.len();
        if !(least..=most).contains(&given) {
            let wanted = if least == most { least.to_string() } else { format!("{least} or more") };
            reading.error(self.span(), format!("{name} has {given} arguments"), format!("it takes {wanted}"));
            return;
        }
        if rank.ended {
            reading.error(self.span(), format!("rank {} goes on after its finalize", self.rank), "");
            rank.ended = false;
        }
        if name == "init" {
            rank.unit = Some(if given == 1 { 8 } else { 1 });
            return;
        }
        let unit = rank.unit.unwrap_or_else(|| {
            let hint = "begin with `init`, then sizes are bytes, or `init 1`, then they are doubles";
            reading.error(self.span(), format!("rank {} begins without init", self.rank), hint);
            rank.unit = Some(1);
            1
        });
        // What is wrong has been said.
        let _ = self.step(name, unit, rank, reading);
    }

    fn step(&self, name: &str, unit: u64, rank: &mut Rank, reading: &mut Reading) -> Option<()> {
        let (me, p) = (self.rank, self.ranks as usize);
        match name {
            "finalize" => rank.ended = true,
            "compute" => {
                let work = self.amount(0, "number of operations", MOST_WORK, reading)?;
                self.work(work, rank);
            }
            "sleep" => {
                let seconds = self.amount(0, "number of seconds", Time::MAX.seconds(), reading)?;
                rank.push(Op::Compute(Time::from_fs((seconds * 1e15).round() as u64)));
            }
            "send" | "ssend" | "isend" => {
                let (to, tag) = (self.partner(0, reading)?, self.tag(1, reading)?);
                let bytes = self.bytes(2, self.unit(3, unit, reading)?, reading)?;
                let op = if name == "isend" {
                    Op::Isend { to, bytes, tag, request: rank.begin((me, to, tag)) }
                } else {
                    Op::Send { to, bytes, tag }
                };
                rank.push(op);
            }
            "recv" | "irecv" => {
                let from = if self.word(0) == ANY_SOURCE { None } else { Some(self.partner(0, reading)?) };
                let tag = if self.word(1) == ANY_TAG { None } else { Some(self.tag(1, reading)?) };
                // SimGrid takes whatever comes where the receiver does not know.
                let bytes = match self.word(2) {
                    "-1" | "0" => u64::MAX,
                    _ => self.bytes(2, self.unit(3, unit, reading)?, reading)?,
                };
                let op = if name == "irecv" {
                    let key = (from.unwrap_or(u32::MAX), me, tag.unwrap_or(u32::MAX));
                    Op::Irecv { from, bytes, tag, request: rank.begin(key) }
                } else {
                    Op::Recv { from, bytes, tag }
                };
                rank.push(op);
            }
            "wait" => {
                let number = |i: usize, any: &str, r: &mut Reading| match self.word(i) {
                    word if word == any => Some(u32::MAX),
                    _ if i == 2 => self.tag(i, r),
                    _ => self.partner(i, r),
                };
                let key = (number(0, ANY_SOURCE, reading)?, self.partner(1, reading)?, number(2, ANY_TAG, reading)?);
                match rank.wait(key) {
                    Some(handle) => rank.push(Op::Wait(handle)),
                    None => {
                        reading.once(self.span(), "nothing to wait for", "such lines are passed over, as SimGrid does")
                    }
                }
            }
            "waitall" => {
                rank.open.clear();
                rank.free.clear();
                rank.next = 0;
                rank.push(Op::WaitAll);
            }
            "barrier" => self.collective(Kind::Barrier, 0, 0, rank),
            "bcast" => {
                let bytes = self.bytes(0, self.unit(2, unit, reading)?, reading)?;
                self.collective(Kind::Bcast, bytes, self.root(1, reading)?, rank);
            }
            "reduce" | "allreduce" => {
                let kind = if name == "reduce" { Kind::Reduce } else { Kind::Allreduce };
                let bytes = self.bytes(0, self.unit(if name == "reduce" { 3 } else { 2 }, unit, reading)?, reading)?;
                let work = self.amount(1, "number of operations", MOST_WORK, reading)?;
                let root = if name == "reduce" { self.root(2, reading)? } else { 0 };
                self.collective(kind, bytes, root, rank);
                self.work(work, rank);
            }
            "reducescatter" => {
                if !(p + 1..=p + 2).contains(&self.arguments.len()) {
                    return self.counts(p + 1, reading);
                }
                let unit = self.unit(p + 1, unit, reading)?;
                let mut sum = 0;
                for i in 0..p {
                    sum += self.bytes(i, unit, reading)?;
                }
                let work = self.amount(p, "number of operations", MOST_WORK, reading)?;
                // Blocks may differ; the mean stands for all.
                self.collective(Kind::ReduceScatter, sum.div_ceil(p as u64), 0, rank);
                self.work(work, rank);
            }
            "gather" | "scatter" => {
                let kind = if name == "gather" { Kind::Gather } else { Kind::Scatter };
                let bytes = self.bytes(0, self.unit(3, unit, reading)?, reading)?;
                self.collective(kind, bytes, self.root(2, reading)?, rank);
            }
            "allgather" | "alltoall" => {
                let kind = if name == "allgather" { Kind::Allgather } else { Kind::Alltoall };
                let bytes = self.bytes(0, self.unit(2, unit, reading)?, reading)?;
                self.collective(kind, bytes, 0, rank);
            }
            "alltoallv" => {
                if !(2 * p + 2..=2 * p + 4).contains(&self.arguments.len()) {
                    return self.counts(2 * p + 2, reading);
                }
                let unit = self.unit(2 * p + 2, unit, reading)?;
                let mut each = Vec::with_capacity(p);
                for i in 1..=p {
                    each.push(self.bytes(i, unit, reading)?);
                }
                let kind = Kind::Alltoallv;
                let each = Some(each.into());
                let all = Collective { kind, bytes: 0, root: 0, algorithm: None, each, work: 0.0 };
                rank.push(Op::Collective(all));
            }
            // test, communicators and places in a source.
            _ => {}
        }
        Some(())
    }

    /// Says that a list does not fit the number of ranks.
    fn counts(&self, wanted: usize, reading: &mut Reading) -> Option<()> {
        let message = format!("{} has {} arguments on {} ranks", self.op.1, self.arguments.len(), self.ranks);
        reading.error(self.span(), message, format!("it takes {wanted}, and a datatype"));
        None
    }

    fn work(&self, work: f64, rank: &mut Rank) {
        if work > 0.0 {
            rank.push(Op::Work(work));
        }
    }

    fn collective(&self, kind: Kind, bytes: u64, root: u32, rank: &mut Rank) {
        let all = Collective { kind, bytes, root, algorithm: None, each: None, work: 0.0 };
        rank.push(Op::Collective(all));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Option<Job>, String) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("t.txt", text);
        let mut files = |name: &str| match name {
            "zero.txt" => Ok("0 init\n0 send 1 0 10\n".to_owned()),
            "one.txt" => Ok("1 init 1\n1 recv 0 0 10\n".to_owned()),
            _ => Err("there is none".to_owned()),
        };
        let job = read(&mut diagnostics, source, &mut files);
        assert_eq!(job.is_none(), diagnostics.has_errors(), "{diagnostics}");
        (job, diagnostics.to_string())
    }

    fn ops(job: &Job, rank: usize) -> Vec<Op> {
        let Body::Steps(steps) = &*job.bodies[rank] else { panic!("steps") };
        let op = |s: &Step| if let Step::Do(op) = s { op.clone() } else { panic!("{s:?}") };
        steps.iter().map(op).collect()
    }

    fn refused(text: &str) -> String {
        let (job, said) = with(text);
        assert!(job.is_none());
        said
    }

    #[test]
    fn sizes_are_bytes_doubles_or_of_a_datatype() {
        let (job, said) = with("0 init\n1 init 1\n0 send 1 7 1e3\n1 recv 0 7 125\n0 send 1 7 10 1\n1 recv 0 7 -1\n");
        let job = job.expect(&said);
        assert_eq!(ops(&job, 0)[0], Op::Send { to: 1, bytes: 1000, tag: 7 });
        assert_eq!(ops(&job, 1)[0], Op::Recv { from: Some(0), bytes: 1000, tag: Some(7) });
        assert_eq!(ops(&job, 0)[1], Op::Send { to: 1, bytes: 40, tag: 7 });
        assert_eq!(ops(&job, 1)[1], Op::Recv { from: Some(0), bytes: u64::MAX, tag: Some(7) });
        assert_eq!(job.title, "trace t.txt, 2 ranks");
    }

    #[test]
    fn handles_are_found_by_sender_receiver_and_tag() {
        let (job, said) = with(
            "0 init\n0 Isend 0 1 8\n0 irecv 0 2 8\n0 isend 0 2 8\n0 test 0 0 1\n0 wait 0 0 1\n0 isend 0 3 8\n\
             0 wait 0 0 2\n0 waitall\n0 isend 0 4 8\n0 wait 0 0 9\n",
        );
        let handles: Vec<_> = ops(&job.expect(&said), 0)
            .iter()
            .map(|op| match op {
                Op::Isend { request, .. } | Op::Irecv { request, .. } | Op::Wait(request) => i64::from(*request),
                _ => -1,
            })
            .collect();
        // 0, 1, 2; wait for 0; 0 again; the older of the two with tag 2; all; 0.
        assert_eq!(handles, [0, 1, 2, 0, 0, 1, -1, 0]);
        assert!(said.contains("t.txt:11:3: warning: nothing to wait for"), "{said}");
    }

    #[test]
    fn reductions_work_behind_their_messages() {
        let (job, said) = with(
            "0 init\n1 init\n0 reduce 8 100 1 5\n1 reduce 8 100 1 5\n0 allreduce 4 0\n1 allreduce 4 0\n0 sleep 1e-3\n",
        );
        let ops = ops(&job.expect(&said), 0);
        let Op::Collective(reduce) = &ops[0] else { panic!("{ops:?}") };
        // Eight floats to rank 1.
        assert_eq!((reduce.kind, reduce.bytes, reduce.root), (Kind::Reduce, 32, 1));
        assert_eq!(ops[1], Op::Work(100.0));
        assert_eq!(ops[3], Op::Compute(Time::from_fs(1_000_000_000_000)));
        assert_eq!(ops.len(), 4);
    }

    #[test]
    fn lists_have_a_number_for_each_rank() {
        let (job, said) = with(
            "0 init\n1 init\n0 alltoallv 100 1 40 30 20 2\n1 alltoallv 5 2 3 9 40 3 1 1\n\
             0 reducescatter 10 12 7 1\n1 reducescatter 10 12 7 1\n",
        );
        let job = job.expect(&said);
        let Op::Collective(c) = &ops(&job, 0)[0] else { panic!("a collective") };
        assert_eq!(c.each.as_deref(), Some(&[1, 40][..]));
        let Op::Collective(c) = &ops(&job, 1)[0] else { panic!("a collective") };
        assert_eq!(c.each.as_deref(), Some(&[8, 12][..]));
        let Op::Collective(c) = &ops(&job, 0)[1] else { panic!("a collective") };
        // (10 + 12) ints on two ranks.
        assert_eq!((c.kind, c.bytes), (Kind::ReduceScatter, 44));
        assert!(refused("0 init\n0 alltoallv 1 2 3 4 5 6 7\n").contains("on 1 ranks (it takes 4, and a datatype)"));
    }

    #[test]
    fn an_index_names_files() {
        let (job, said) = with("zero.txt\n one.txt \n");
        let job = job.expect(&said);
        assert_eq!(ops(&job, 1)[0], Op::Recv { from: Some(0), bytes: 80, tag: Some(0) });
        assert!(refused("zero.txt\ntwo.txt\n").contains("t.txt:2:1: error: cannot read two.txt: there is none"));
        assert!(refused("zero.txt\n0 init\n").contains("no file name"));
    }

    #[test]
    fn what_is_wrong_is_said_at_its_place() {
        assert!(refused("").contains("an empty trace"));
        assert!(refused("# nothing\n\n").contains("an empty trace"));
        assert!(
            refused("0 init\n3 init\n")
                .contains("t.txt:2:1: error: rank 1 and 1 more has no line, but there is a rank 3")
        );
        assert!(
            refused("0 init\n0 sned 0 0 1\n")
                .contains("t.txt:2:3: error: unknown operation `sned` (did you mean `send`?)")
        );
        assert!(refused("0 init\n0 gatherv 1 2 3\n").contains("not read yet"));
        assert!(
            refused("0 init\n0 send 0 0 -5\n").contains("t.txt:2:12: error: `-5` is not a valid number of elements")
        );
        assert!(refused("0 init\n0 send 0 0 9223372036854775808\n").contains("from 0 to 1.099511627776e12"));
        assert!(refused("0 init\n0 compute nan\n").contains("`nan` is not a valid number of operations"));
        assert!(refused("0 init\n0 sleep 1e30\n").contains("seconds"));
        assert!(refused("0 init\n0 send 7 0 1\n").contains("there is no rank `7` (ranks go from 0 to 0)"));
        assert!(refused("0 init\n0 send 0 x 1\n").contains("`x` is not a valid tag"));
        assert!(refused("0 init\n0 bcast 1 0 99\n").contains("`99` is not a valid datatype"));
        assert!(refused("0 init\n0 send 0\n").contains("send has 1 arguments (it takes 3 or more)"));
        assert!(refused("0 barrier\n0 barrier\n").contains("t.txt:1:3: error: rank 0 begins without init"));
        assert!(refused("0 init\n0 finalize\n0 barrier\n").contains("goes on after its finalize"));
        assert!(refused("0 init\n70000 init\n").contains("at most 65536 ranks"));
        assert!(refused("0 init\n0\n").contains("without an operation"));
        assert!(refused("0 init\nzero init\n").contains("`zero` is not a valid rank"));
    }

    #[test]
    fn noise_ends_soon() {
        let said = refused(&"no trace at all\n".repeat(100_000));
        assert_eq!(said.lines().count(), 20);
        let (job, said) = with(&format!("0 init\n{}", "0 wait 0 0 0\n".repeat(100_000)));
        assert!(job.is_some() && said.lines().count() == 1, "{said}");
        assert!(refused(&"x".repeat(1 << 20)).contains("4096"));
        assert!(refused(&format!("0 {}\n", "y".repeat(1 << 20))).len() < 400);
    }
}
