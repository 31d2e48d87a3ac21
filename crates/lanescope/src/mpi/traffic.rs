//! What a job sends, found without running it: who sends to whom, how many messages, which collectives.

use super::collective::Call;
use super::op::{Body, Job, Op, Step};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

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
    pub(crate) fn collectives(&self, most: usize) -> Vec<(Option<u32>, String)> {
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

/// What ranks send.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sent {
    pub(crate) messages: u64,
    pub(crate) bytes: f64,
}

impl Sent {
    fn one(bytes: u64) -> Sent {
        Sent { messages: 1, bytes: bytes as f64 }
    }

    fn plus(self, other: Sent, times: u64) -> Sent {
        Sent {
            messages: self.messages.saturating_add(other.messages.saturating_mul(times)),
            bytes: self.bytes + other.bytes * times as f64,
        }
    }
}

impl Job {
    /// What all ranks send, counted before any of it is sent: no more messages than there are, and not much further
    /// than `most`. With `steady`, what is timed counts once, since a run may leave it early.
    pub(crate) fn sends(&self, steady: bool, most: u64) -> Sent {
        let n = self.bodies.len() as u32;
        let mut alike: HashMap<*const Body, (u32, u64)> = HashMap::new();
        for (rank, body) in (0..n).zip(&self.bodies) {
            alike.entry(Arc::as_ptr(body)).or_insert((rank, 0)).1 += 1;
        }
        let mut all: Vec<(u32, u64)> = alike.into_values().collect();
        all.sort_unstable();
        let mut sum = Sent::default();
        for (rank, ranks) in all {
            let mut count = Count { n, steady, most: most / ranks + 1, sum: Sent::default() };
            match &*self.bodies[rank as usize] {
                Body::Steps(steps) => count.steps(steps, 1),
                Body::Graph(tasks) => tasks.iter().for_each(|t| count.op(&t.op, 1)),
            }
            sum = sum.plus(count.sum, ranks);
            if sum.messages > most {
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
    sum: Sent,
}

impl Count {
    fn steps(&mut self, steps: &[Step], times: u64) {
        for step in steps {
            if self.sum.messages > self.most {
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
            Op::Send { bytes, .. } | Op::Isend { bytes, .. } | Op::Sendrecv { bytes, .. } => Sent::one(*bytes),
            Op::Collective(what) => {
                let Ok(call) = Call::new(what, self.n) else { return };
                // Ranks of a tree send more or less; some of them, so that the least is none too many.
                let sends = |rank: u32| {
                    let rounds = (0..).map_while(|k| call.round(rank, k)).filter_map(|round| round.send);
                    let sizes = rounds.take(self.n as usize).map(|(_, part)| call.bytes(rank, part));
                    sizes.fold(Sent::default(), |sum, bytes| sum.plus(Sent::one(bytes), 1))
                };
                let some = [0, 1, self.n / 2, self.n - 1].into_iter().map(|r| sends(r.min(self.n - 1)));
                some.min_by_key(|sent| sent.messages).unwrap_or_default()
            }
            _ => Sent::default(),
        };
        self.sum = self.sum.plus(sent, times);
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
