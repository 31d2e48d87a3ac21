//! A program, worked out for each rank.

use super::value::{Expr, Scope, Unit, Value};
use super::{Block, Problem, Result, Statement, Tag, Verb, Written, problem};
use crate::mpi::op::{Body, Collective, Job, Kind, Op, Section, Step, UNNAMED};
use crate::units::{Bytes, Time};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Steps that are written down for all ranks together, and pieces of work to find them.
const MOST_STEPS: u64 = 4_000_000;
/// No message is larger.
const MOST_BYTES: i128 = 1 << 40;
/// No loop is longer.
const MOST_TIMES: i128 = 1_000_000_000_000;
/// MPI guarantees tags up to 32,767 (MPI-3.1, 8.1.2); libraries have some 2^31.
const MOST_TAG: i128 = i32::MAX as i128;

struct Unroll<'p> {
    ranks: u32,
    rank: u32,
    names: &'p [String],
    variables: Vec<i128>,
    stack: Vec<Value>,
    used_rank: bool,
    /// Steps so far, of all ranks.
    steps: u64,
    /// Requests that are open, with where they began; those without a name under [`UNNAMED`].
    open: BTreeMap<u32, Range<usize>>,
    written: &'p [Written],
    sections: Vec<Option<Section>>,
    /// The last rank that came to each section.
    seen: Vec<Option<u32>>,
}

/// The program of `ranks` ranks, and what is suspicious in it.
pub(super) fn job(body: &Block, written: &[Written], names: &[String], ranks: u32) -> Result<(Job, Vec<Problem>)> {
    let mut unroll = Unroll {
        ranks,
        rank: 0,
        names,
        variables: Vec::new(),
        stack: Vec::new(),
        used_rank: false,
        steps: 0,
        open: BTreeMap::new(),
        written,
        sections: written.iter().map(|_| None).collect(),
        seen: vec![None; written.len()],
    };
    let mut warnings: Vec<Problem> = Vec::new();
    let mut bodies: Vec<Arc<Body>> = Vec::new();
    for rank in 0..ranks {
        if rank == 1 && !unroll.used_rank {
            // All do the same.
            bodies.resize(ranks as usize, Arc::clone(&bodies[0]));
            unroll.sections.iter_mut().flatten().for_each(|s| s.ranks = ranks);
            break;
        }
        unroll.rank = rank;
        let mut steps = Vec::new();
        unroll.block(body, &mut steps)?;
        for (request, at) in std::mem::take(&mut unroll.open) {
            let what =
                if request == UNNAMED { "this request".into() } else { format!("request {}", names[request as usize]) };
            if !warnings.iter().any(|w| w.at == at) {
                let message = format!("{what} is never waited for");
                warnings.push(Problem { at, message, hint: "add a wait, or a waitall at the end".into() });
            }
        }
        bodies.push(Arc::new(Body::Steps(steps)));
    }
    let unused = |w: &Written| Section {
        name: w.name.clone(),
        size: None,
        ranks: 0,
        repetitions: 0,
        halves: 1,
        counted: 0,
        messages: 0,
    };
    let sections = unroll.sections.into_iter().zip(written).map(|(s, w)| s.unwrap_or_else(|| unused(w))).collect();
    let plural = if ranks == 1 { "" } else { "s" };
    Ok((Job { title: format!("program, {ranks} rank{plural}"), bodies, sections }, warnings))
}

impl Unroll<'_> {
    fn count(&mut self, at: &Range<usize>) -> Result<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return problem(
                at,
                format!("the program unrolls to more than {MOST_STEPS} steps for {} ranks", self.ranks),
                "a loop whose variable is not used in it is not unrolled",
            );
        }
        Ok(())
    }

    fn value(&mut self, expr: &Expr) -> Result<Value> {
        let Unroll { rank, ranks, ref variables, ref mut stack, ref mut used_rank, .. } = *self;
        expr.value(&mut Scope { rank, ranks, variables, used_rank }, stack)
    }

    /// A plain number from 0 to `most`.
    fn number(&mut self, expr: &Expr, what: &str, most: i128) -> Result<u64> {
        let Value { number, unit } = self.value(expr)?;
        if unit != Unit::None {
            return problem(&expr.at, format!("{what} is a plain number"), "it has no unit");
        }
        if !(0..=most).contains(&number) {
            let message = format!("{what} is {number} for rank {}: it is from 0 to {most}", self.rank);
            return problem(&expr.at, message, "");
        }
        Ok(number as u64)
    }

    fn size(&mut self, expr: &Expr) -> Result<u64> {
        let Value { number, unit } = self.value(expr)?;
        match unit {
            Unit::None => {
                let hint = format!("units are {}, e.g. {number} B", Bytes::UNITS);
                problem(&expr.at, "a size needs its unit", hint)
            }
            Unit::Time => problem(&expr.at, "expected a size, found a time", "for example 8 KiB"),
            Unit::Bytes if number < 0 => problem(&expr.at, format!("a size of {number} B"), "a size is not negative"),
            Unit::Bytes if number > MOST_BYTES => {
                problem(&expr.at, format!("{number} B is too large for a message"), "at most 1 TiB")
            }
            Unit::Bytes => Ok(number as u64),
        }
    }

    /// The rank of a partner.
    fn partner(&mut self, expr: &Expr, does: &str) -> Result<u32> {
        let Value { number, unit } = self.value(expr)?;
        if unit != Unit::None {
            return problem(&expr.at, "a rank is a plain number", "it has no unit");
        }
        if !(0..i128::from(self.ranks)).contains(&number) {
            let (r, last) = (self.rank, self.ranks - 1);
            let message = format!("rank {r} {does} rank {number}, but ranks are 0 to {last}");
            return problem(&expr.at, message, "(rank + 1) % ranks is the next one, around the ring");
        }
        Ok(number as u32)
    }

    fn tag(&mut self, expr: Option<&Expr>) -> Result<u32> {
        expr.map_or(Ok(0), |e| self.number(e, "a tag", MOST_TAG).map(|t| t as u32))
    }

    fn block(&mut self, block: &Block, out: &mut Vec<Step>) -> Result<()> {
        block.iter().try_for_each(|statement| self.statement(statement, out))
    }

    /// A request begins: its handle.
    fn begin(&mut self, request: Option<u32>, at: &Range<usize>) -> Result<u32> {
        let Some(request) = request else {
            self.open.insert(UNNAMED, at.clone());
            return Ok(UNNAMED);
        };
        if self.open.insert(request, at.clone()).is_some() {
            let name = &self.names[request as usize];
            let message = format!("rank {} begins request {name} again while it is open", self.rank);
            return problem(at, message, format!("wait {name} first, or give this one another name"));
        }
        Ok(request)
    }

    fn statement(&mut self, statement: &Statement, out: &mut Vec<Step>) -> Result<()> {
        let at = &statement.at;
        self.count(at)?;
        let op = match &statement.what {
            Verb::Compute(time) => {
                let Value { number, unit } = self.value(time)?;
                if unit != Unit::Time {
                    return problem(&time.at, "compute takes a time with its unit", "for example compute 5 us");
                }
                if !(0..=i128::from(Time::MAX.fs())).contains(&number) {
                    return problem(&time.at, "a time is from 0 to 5 h", "");
                }
                Op::Compute(Time::from_fs(number as u64))
            }
            Verb::Work(work) => Op::Work(self.number(work, "work", 1_000_000_000_000_000_000_000)? as f64),
            Verb::Send { size, to, tag, request } => {
                let (bytes, to, tag) = (self.size(size)?, self.partner(to, "sends to")?, self.tag(tag.as_ref())?);
                match request {
                    None => Op::Send { to, bytes, tag },
                    Some(request) => Op::Isend { to, bytes, tag, request: self.begin(*request, at)? },
                }
            }
            Verb::Recv { size, from, tag, request } => {
                let bytes = size.as_ref().map_or(Ok(u64::MAX), |s| self.size(s))?;
                let from = from.as_ref().map(|f| self.partner(f, "receives from")).transpose()?;
                let tag = match tag {
                    Tag::Any => None,
                    Tag::Zero => Some(0),
                    Tag::Is(tag) => Some(self.tag(Some(tag))?),
                };
                match request {
                    None => Op::Recv { from, bytes, tag },
                    Some(request) => Op::Irecv { from, bytes, tag, request: self.begin(*request, at)? },
                }
            }
            Verb::Sendrecv { size, to, from, tag } => {
                let bytes = self.size(size)?;
                let (to, from) = (self.partner(to, "sends to")?, self.partner(from, "receives from")?);
                Op::Sendrecv { to, bytes, from, most: bytes, tag: self.tag(tag.as_ref())? }
            }
            Verb::Wait(list) => {
                for (request, at) in list {
                    self.count(at)?;
                    if self.open.remove(request).is_none() {
                        let name = &self.names[*request as usize];
                        let message = format!("rank {} waits for request {name}, which is not open", self.rank);
                        return problem(at, message, "each wait needs an isend or irecv of its own before it");
                    }
                    out.push(Step::Do(Op::Wait(*request)));
                }
                return Ok(());
            }
            Verb::WaitAll => {
                self.open.clear();
                Op::WaitAll
            }
            Verb::Collective { kind, size, root, algorithm, to } => {
                let (mut bytes, mut each) = (0, None);
                match size {
                    Some(size) if *kind == Kind::Alltoallv => each = Some(self.each(size, *to, at)?),
                    Some(size) => bytes = self.size(size)?,
                    None => {}
                }
                let root = root.as_ref().map_or(Ok(0), |r| self.partner(r, "has as its root"))?;
                Op::Collective(Collective { kind: *kind, bytes, root, algorithm: *algorithm, each, work: 0.0 })
            }
            Verb::Repeat { times, variable: Some(slot), body } => {
                let times = self.number(times, "the number of repetitions", MOST_TIMES)?;
                for i in 0..times {
                    self.count(at)?;
                    self.variables.resize(slot + 1, 0);
                    self.variables[*slot] = i.into();
                    self.block(body, out)?;
                }
                return Ok(());
            }
            Verb::Repeat { times, variable: None, body } => {
                let times = self.number(times, "the number of repetitions", MOST_TIMES)?;
                if let Some(body) = self.round(times, body)? {
                    out.push(Step::Repeat { times, body });
                }
                return Ok(());
            }
            Verb::Timed { section, times, body } => {
                let times = self.number(times, "the number of repetitions", MOST_TIMES)?;
                self.section(*section, times)?;
                if let Some(body) = self.round(times, body)? {
                    out.push(Step::Timed { section: *section as u32, times, body });
                }
                return Ok(());
            }
            Verb::If { arms, otherwise } => {
                for (condition, body) in arms {
                    let Value { number, unit } = self.value(condition)?;
                    if unit != Unit::None {
                        return problem(
                            &condition.at,
                            "a condition is neither a size nor a time",
                            "compare it: == != < <= > >=",
                        );
                    }
                    if number != 0 {
                        return self.block(body, out);
                    }
                }
                return self.block(otherwise, out);
            }
        };
        out.push(Step::Do(op));
        Ok(())
    }

    /// The body of a loop that is not unrolled; `None` when there is nothing in it. It leaves open what was open
    /// before, or it could not come round again.
    fn round(&mut self, times: u64, body: &Block) -> Result<Option<Vec<Step>>> {
        if times == 0 {
            return Ok(None);
        }
        let before = self.open.clone();
        let mut steps = Vec::new();
        self.block(body, &mut steps)?;
        if times > 1 {
            let new = self.open.iter().find(|o| *o.0 != UNNAMED && !before.contains_key(o.0));
            if let Some((&request, at)) = new {
                let name = &self.names[request as usize];
                return problem(
                    at,
                    format!("request {name} is still open when the loop begins it again"),
                    format!("wait {name} in the loop, or leave its name out and waitall after it"),
                );
            }
            // A waitall finds nothing to do the second time; a wait would.
            let gone = before.iter().find(|o| *o.0 != UNNAMED && !self.open.contains_key(o.0) && waits(&steps, *o.0));
            if let Some((&request, at)) = gone {
                let name = &self.names[request as usize];
                return problem(
                    at,
                    format!("request {name} is waited for in a loop, but begins before it"),
                    "the loop would wait for it in each iteration",
                );
            }
        }
        Ok((!steps.is_empty()).then_some(steps))
    }

    /// Sizes of an alltoallv, for each rank.
    fn each(&mut self, size: &Expr, slot: usize, at: &Range<usize>) -> Result<Arc<[u64]>> {
        let mut each = Vec::with_capacity(self.ranks as usize);
        for to in 0..self.ranks {
            self.count(at)?;
            self.variables.resize(slot + 1, 0);
            self.variables[slot] = to.into();
            each.push(self.size(size)?);
        }
        Ok(each.into())
    }

    /// A rank comes to a timed block.
    fn section(&mut self, index: usize, times: u64) -> Result<()> {
        if self.sections[index].is_none() {
            let written = &self.written[index];
            let counted = written.moves.as_ref().map_or(Ok(0), |m| self.size(m))?;
            self.sections[index] = Some(Section {
                name: written.name.clone(),
                size: None,
                ranks: 0,
                repetitions: times,
                halves: 1,
                counted,
                messages: 0,
            });
        }
        if self.seen[index] != Some(self.rank)
            && let Some(section) = &mut self.sections[index]
        {
            section.ranks += 1;
            section.repetitions = section.repetitions.max(times);
            self.seen[index] = Some(self.rank);
        }
        Ok(())
    }
}

/// Whether steps wait for a request by its name.
fn waits(steps: &[Step], request: u32) -> bool {
    steps.iter().any(|s| match s {
        Step::Do(op) => *op == Op::Wait(request),
        Step::Repeat { body, .. } | Step::Timed { body, .. } | Step::Untimed(body) => waits(body, request),
    })
}
