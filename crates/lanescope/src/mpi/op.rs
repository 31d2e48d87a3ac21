//! The steps of a rank.

use crate::units::Time;
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
pub(crate) const UNNAMED: u32 = u32::MAX;

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
        /// The handle: free to be used again once it was waited for. `UNNAMED`: only [`Op::WaitAll`] waits for it,
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
