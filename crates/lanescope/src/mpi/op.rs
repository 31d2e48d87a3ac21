//! The steps of a rank.

use super::collective::Call;
use crate::units::Time;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The program of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// One line for a report's head: `imb PingPong`, `npb is.C, 16 ranks`.
    pub title: String,
    /// What each rank does; the length is the number of ranks. Ranks that do the same share it.
    pub bodies: Vec<Arc<Body>>,
    /// What is timed, in order; [`Step::Timed`] names them by index.
    pub sections: Vec<Section>,
}

impl Job {
    /// Pairs of ranks of which the first sends to the second, in the order of ranks and steps: so many at most, and
    /// whether there are more.
    pub fn connections(&self, most: usize) -> (Vec<[u32; 2]>, bool) {
        let n = self.bodies.len() as u32;
        let mut found = Found { all: Vec::new(), known: HashSet::new(), most, more: false };
        for (rank, body) in (0..n).zip(&self.bodies) {
            match &**body {
                Body::Steps(steps) => found.steps(steps, rank, n),
                Body::Graph(tasks) => tasks.iter().for_each(|t| found.op(&t.op, rank, n)),
            }
            if found.more {
                break;
            }
        }
        (found.all, found.more)
    }
}

impl Job {
    /// The collectives that the first rank of the most steps calls, each once, with how they are done: `allreduce 1 MB:
    /// Rabenseifner (reduce-scatter + allgather)`; and the section that times it, if one does. So many at most.
    pub fn collectives(&self, most: usize) -> Vec<(Option<u32>, String)> {
        let mut all = Vec::new();
        let n = self.bodies.len() as u32;
        // All ranks call the same ones, but for those that wait elsewhere.
        let steps = self.bodies.iter().filter_map(|b| match &**b {
            Body::Steps(steps) => Some(steps),
            Body::Graph(_) => None,
        });
        if let Some(steps) = steps.reduce(|most, next| if next.len() > most.len() { next } else { most }) {
            called(steps, None, n, most, &mut all);
        }
        all
    }
}

impl Job {
    /// Messages that all ranks send, counted before any is sent: no more than there are, and not much further than
    /// `most`. With `steady`, what is timed counts once, since a run may leave it early.
    pub fn messages(&self, steady: bool, most: u64) -> u64 {
        let n = self.bodies.len() as u32;
        let mut alike: HashMap<*const Body, (u32, u64)> = HashMap::new();
        for (rank, body) in (0..n).zip(&self.bodies) {
            alike.entry(Arc::as_ptr(body)).or_insert((rank, 0)).1 += 1;
        }
        let mut all: Vec<(u32, u64)> = alike.into_values().collect();
        all.sort_unstable();
        let mut sum = 0u64;
        for (rank, ranks) in all {
            let mut count = Count { n, steady, most: most / ranks + 1, sum: 0 };
            match &*self.bodies[rank as usize] {
                Body::Steps(steps) => count.steps(steps, 1),
                Body::Graph(tasks) => tasks.iter().for_each(|t| count.op(&t.op, 1)),
            }
            sum = sum.saturating_add(count.sum.saturating_mul(ranks));
            if sum > most {
                break;
            }
        }
        sum
    }
}

/// Messages of one rank, as far as they are counted.
struct Count {
    n: u32,
    steady: bool,
    most: u64,
    sum: u64,
}

impl Count {
    fn steps(&mut self, steps: &[Step], times: u64) {
        for step in steps {
            if self.sum > self.most {
                return;
            }
            match step {
                Step::Do(op) => self.op(op, times),
                Step::Timed { times: n, body, .. } if self.steady => self.steps(body, times.saturating_mul(*n.min(&1))),
                Step::Repeat { times: n, body } | Step::Timed { times: n, body, .. } => {
                    self.steps(body, times.saturating_mul(*n))
                }
                Step::Untimed(body) => self.steps(body, times),
            }
        }
    }

    fn op(&mut self, op: &Op, times: u64) {
        let sent = match op {
            Op::Send { .. } | Op::Isend { .. } | Op::Sendrecv { .. } => 1,
            Op::Collective(what) => {
                let Ok(call) = Call::new(what, self.n) else { return };
                // Ranks of a tree send more or less; some of them, so that the least is none too many.
                let sends = |rank: u32| {
                    (0..).map_while(|k| call.round(rank, k)).filter(|r| r.send.is_some()).take(self.n as usize).count()
                };
                [0, 1, self.n / 2, self.n - 1].into_iter().map(|r| sends(r.min(self.n - 1))).min().unwrap_or(0)
            }
            _ => 0,
        };
        self.sum = self.sum.saturating_add(times.saturating_mul(sent as u64));
    }
}

fn called(steps: &[Step], section: Option<u32>, n: u32, most: usize, all: &mut Vec<(Option<u32>, String)>) {
    for step in steps {
        match step {
            Step::Do(Op::Collective(what)) if all.len() < most => {
                let one = (section, what.done(n));
                if !all.contains(&one) {
                    all.push(one);
                }
            }
            Step::Do(_) => {}
            // What the clock does not see is only there to bring ranks together.
            Step::Untimed(_) => {}
            Step::Repeat { body, .. } => called(body, section, n, most, all),
            Step::Timed { section, body, .. } => called(body, Some(*section), n, most, all),
        }
    }
}

/// Who sends to whom, as far as it was looked.
struct Found {
    all: Vec<[u32; 2]>,
    known: HashSet<[u32; 2]>,
    most: usize,
    more: bool,
}

impl Found {
    fn steps(&mut self, steps: &[Step], rank: u32, n: u32) {
        for step in steps {
            match step {
                Step::Do(op) => self.op(op, rank, n),
                Step::Repeat { times: 0, .. } | Step::Timed { times: 0, .. } => {}
                Step::Repeat { body, .. } | Step::Timed { body, .. } | Step::Untimed(body) => {
                    self.steps(body, rank, n);
                }
            }
            if self.more {
                return;
            }
        }
    }

    fn op(&mut self, op: &Op, rank: u32, n: u32) {
        match op {
            Op::Send { to, .. } | Op::Isend { to, .. } | Op::Sendrecv { to, .. } => self.add([rank, *to]),
            Op::Collective(what) => {
                let Ok(call) = Call::new(what, n) else { return };
                let mut rounds = (0..).map_while(|k| call.round(rank, k)).filter_map(|round| round.send);
                while let (false, Some((to, _))) = (self.more, rounds.next()) {
                    self.add([rank, to]);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, pair: [u32; 2]) {
        if pair[0] == pair[1] || self.known.contains(&pair) {
        } else if self.all.len() == self.most {
            self.more = true;
        } else {
            self.known.insert(pair);
            self.all.push(pair);
        }
    }
}

/// What one rank does.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// One step after the other.
    Steps(Vec<Step>),
    /// Tasks that wait for one another (GOAL).
    Graph(Vec<Task>),
}

impl Default for Body {
    fn default() -> Body {
        Body::Steps(Vec::new())
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An operation.
    Do(Op),
    /// Some steps, so many times.
    Repeat {
        /// How often.
        times: u64,
        /// The steps.
        body: Vec<Step>,
    },
    /// Steps repeated under the clock: one row of an instrument's table. All ranks that take part have it with the same
    /// section and number of repetitions; a run may leave it early, after the same number of repetitions on all ranks,
    /// when the time of a repetition is steady.
    Timed {
        /// Index of [`Job::sections`].
        section: u32,
        /// Repetitions.
        times: u64,
        /// The steps of a repetition.
        body: Vec<Step>,
    },
    /// Steps while the clock of the [`Step::Timed`] around them stands: the barrier that instruments put behind each
    /// timed collective.
    Untimed(Vec<Step>),
}

/// A row of an instrument's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// `PingPong`, `is.C iteration`.
    pub name: String,
    /// Message size, bytes; `None` where it has none (a barrier, an iteration of a program).
    pub size: Option<u64>,
    /// Ranks that take part; others wait elsewhere.
    pub ranks: u32,
    /// Repetitions that the real instrument makes.
    pub repetitions: u64,
    /// The time printed is the time of a repetition divided by this (2 for a ping-pong's half round trip).
    pub halves: u32,
    /// Bytes that the printed rate counts, a repetition (PingPong: size, over the printed time; Sendrecv: 2 x size;
    /// Exchange: 4 x size; Biband: 2 x 64 x size). 0: no rate.
    pub counted: u64,
    /// Messages that the printed message rate counts, a repetition; 0: none.
    pub messages: u64,
}

/// A task of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What it does; sends and receives are complete in the sense of `isend`, `irecv` with a wait that nothing else
    /// waits for. No `Wait`, no collectives.
    pub op: Op,
    /// Tasks of the same rank, by index, that must be complete before it begins.
    pub requires: Vec<u32>,
    /// Tasks of the same rank, by index, that must have begun before it begins.
    pub irequires: Vec<u32>,
}

/// The handle of requests that nobody waits for by themselves.
pub const UNNAMED: u32 = u32::MAX;

/// What a rank does at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Works for so long.
    Compute(Time),
    /// Works through so many floating-point operations; the rate is the host's.
    Work(f64),
    /// Sends, and goes on when the buffer may be used again (blocking).
    Send {
        /// Rank.
        to: u32,
        /// Bytes.
        bytes: u64,
        /// Tag.
        tag: u32,
    },
    /// Receives (blocking). The size is the most that fits; `u64::MAX` is whatever comes.
    Recv {
        /// Rank, or any.
        from: Option<u32>,
        /// Bytes at most.
        bytes: u64,
        /// Tag, or any.
        tag: Option<u32>,
    },
    /// Begins to send. Requests are numbered by the rank in order of their start, from 0, all through its program; the
    /// text names them differently.
    Isend {
        /// Rank.
        to: u32,
        /// Bytes.
        bytes: u64,
        /// Tag.
        tag: u32,
        /// The handle: free to be used again once it was waited for. [`UNNAMED`]: only [`Op::WaitAll`] waits for it,
        /// and there may be many.
        request: u32,
    },
    /// Begins to receive.
    Irecv {
        /// Rank, or any.
        from: Option<u32>,
        /// Bytes at most.
        bytes: u64,
        /// Tag, or any.
        tag: Option<u32>,
        /// The handle.
        request: u32,
    },
    /// Waits for one handle.
    Wait(u32),
    /// Waits for all handles that are open.
    WaitAll,
    /// Sends and receives at once, and waits for both.
    Sendrecv {
        /// Rank to send to.
        to: u32,
        /// Bytes to send.
        bytes: u64,
        /// Rank to receive from.
        from: u32,
        /// Bytes to receive at most.
        most: u64,
        /// Tag of both.
        tag: u32,
    },
    /// An operation of all ranks.
    Collective(Collective),
}

/// An operation of all ranks of the job.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Which.
    pub kind: Kind,
    /// Bytes: of the whole vector (bcast, reduce, allreduce, scan), or of each rank's block (gather, scatter,
    /// allgather, alltoall, reduce_scatter). Of `Alltoallv` see `each`.
    pub bytes: u64,
    /// The root, of those that have one.
    pub root: u32,
    /// How, where the program says it; else by size, as MPICH chooses.
    pub algorithm: Option<Algorithm>,
    /// Of the variable kinds: the bytes of this rank for each rank.
    pub each: Option<Arc<[u64]>>,
    /// Floating-point operations of a reduction, in all; 0: only its cost per byte counts.
    pub work: f64,
}

/// Kinds of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// All wait for all.
    Barrier,
    /// From one to all.
    Bcast,
    /// From all to one, combined.
    Reduce,
    /// From all to all, combined.
    Allreduce,
    /// The same, each keeps its block.
    ReduceScatter,
    /// From all to one.
    Gather,
    /// From one to all, a block each.
    Scatter,
    /// From all to all, the same.
    Allgather,
    /// From all to all, a block each.
    Alltoall,
    /// The same with blocks of different sizes.
    Alltoallv,
}

/// How a collective is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// A binomial tree.
    Binomial,
    /// Distances that double, whole vectors or all that was gathered.
    RecursiveDoubling,
    /// Reduce-scatter by halving, then allgather by doubling (Rabenseifner); of a bcast: scatter, then allgather (van
    /// de Geijn).
    ScatterAllgather,
    /// Around the ring.
    Ring,
    /// Bruck: log n steps of combined blocks.
    Bruck,
    /// One partner after the other.
    Pairwise,
    /// All at once, without blocking.
    Spread,
}
