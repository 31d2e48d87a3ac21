//! The machine that runs a [`Job`]: processors of ranks, matching, eager and rendezvous, collectives, and nothing about
//! networks.
//!
//! Whoever drives it carries messages. He asks for the [`next`](Machine::next) moment at which a processor does
//! something, calls [`on`](Machine::on) then, carries what was posted, and tells of each message twice:
//! [`sent`](Machine::sent) when the sender may know that it has left, [`arrived`](Machine::arrived) when it lies in the
//! target's memory. Everything else happens here: a rank is one processor that works off its steps, and while it is
//! inside a call of the library it also handles what has come. A rank that computes handles nothing (single-threaded
//! libraries make no progress then), so a rendezvous waits.
//!
//! Costs follow LogGP (Alexandrov et al. 1995: overheads at both ends, a gap per byte), with the protocol switch of
//! LogGPS (Ino et al. 2001): an eager message is copied into a buffer and out of one, a larger one asks first (request,
//! clear to send) and is then written where it belongs. Order is MPI's (MPI-3.1,
//! 3.5): of two messages that match a receive, the one that was sent first is taken; of two receives that match a
//! message, the one that was posted first.

mod blocked;
mod exchange;
mod graph;
mod log;
mod program;
mod rows;

use super::collective::Call;
use super::op::{Body, Collective, Job, Op, Step};
use crate::tools::Slab;
use crate::units::{Rate, Time};
use exchange::{Message, Posted, Request, Unexpected};
use graph::{Edges, Graph};
use log::Log;
pub(crate) use log::{Called, Logged, Mail, Spending};
use program::Next;
pub use rows::Row;
use rows::Rows;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// No job has more ranks.
pub(crate) const MOST_RANKS: usize = 65_536;

/// Nobody, nothing.
const NONE: u32 = u32::MAX;
/// In place of a section: its clock stands.
const UNTIMED: u32 = u32::MAX - 1;

/// What the library and its processor cost. Times are in femtoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Processor time to hand one message to the adapter: a send, but also each request, clear-to-send and RDMA write
    /// of a rendezvous.
    pub send: u64,
    /// Processor time to take in one message that has come: an eager one, a request, a clear-to-send, the end of a
    /// rendezvous.
    pub receive: u64,
    /// Bytes that the library adds to an eager message.
    pub header: u64,
    /// Bytes of a request and of a clear-to-send.
    pub control: u64,
    /// The largest message that is sent eagerly.
    pub eager: u64,
    /// Memory copy by the processor: into and out of eager buffers, and between ranks of a node. `None` takes no time.
    pub copy: Option<Rate>,
    /// Combining of what a reduction receives, received bytes per second. `None` takes no time.
    pub reduce: Option<Rate>,
    /// Floating-point operations per second, of [`Op::Work`].
    pub work: f64,
    /// No library in between: every message is sent as it is, without copy, and its send is complete when it has left.
    pub verbs: bool,
}

/// Which node each rank runs on. Ranks of one node exchange through memory: the sender pays its overhead and one copy,
/// the receiver its overhead, and nothing is posted. The choice between eager and rendezvous is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// By rank.
    pub node_of: Vec<u32>,
}

/// What a message is to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A message as a whole, with the library's header: a send.
    Eager,
    /// Request to send: a send.
    Request,
    /// Clear to send: a send.
    Clear,
    /// The data of a rendezvous: an RDMA write into the receiver's buffer, with immediate data that tell him of it. Its
    /// arrival ends the rendezvous, so there is no message of its own for that.
    Data,
}

/// A message handed to the adapter.
///
/// A carrier keeps the order of a connection: of messages from one rank to another, those posted earlier arrive earlier
/// ([`What::Data`] may be overtaken).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// What to call it in [`Machine::sent`] and [`Machine::arrived`]. Reused once both were told.
    pub token: u32,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank, on another node.
    pub to: u32,
    /// Bytes, the library's header included.
    pub bytes: u64,
    /// Its kind.
    pub what: What,
    /// When the processor is done with it, not before the call that posts it.
    pub at: u64,
}

/// Where a rank's time went, in femtoseconds. All parts together are the time at which the rank was done, or that it
/// has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// [`Op::Compute`] and [`Op::Work`], and the combining of reductions.
    pub computing: u64,
    /// Send overhead.
    pub sending: u64,
    /// Receive overhead.
    pub receiving: u64,
    /// Copying.
    pub copying: u64,
    /// Waiting for messages, or for sends to leave.
    pub waiting: u64,
    /// Messages of the program and of its collectives that the rank sent, to its own node too.
    pub messages: u64,
    /// Their bytes, without headers and control messages.
    pub bytes: u64,
}

impl Account {
    /// All time together.
    pub(crate) fn total(&self) -> u64 {
        self.computing + self.sending + self.receiving + self.copying + self.waiting
    }
}

/// A job in the course of being run.
#[derive(Clone, Debug)]
pub struct Machine {
    job: Arc<Job>,
    core: Core,
}

/// What a rank's processor is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The program goes on as soon as the processor is free.
    Free,
    /// The program waits inside a call; the processor handles what comes.
    Blocked,
    /// The program has ended.
    Done,
}

/// A level of the program counter.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The step it stands at; a loop while the next level is inside it.
    at: u32,
    /// Of a timed loop: its section.
    section: u32,
    times: u64,
    round: u64,
    /// When this repetition began.
    began: u64,
}

#[derive(Clone, Debug)]
struct Rank {
    state: State,
    /// The processor is busy until then, or free since then.
    time: u64,
    /// Whether it stands in `due`.
    scheduled: bool,
    /// The program is at its end and waits for what is still open.
    ending: bool,
    /// Requests that must be complete before the program goes on.
    pending: u32,
    frames: Vec<Frame>,
    /// Steps begun, for messages to a person.
    step: u64,
    /// The collective under way, its next round, and what it combines before that, in bytes.
    call: Option<Call>,
    round: u32,
    combine: u64,
    /// Collectives begun.
    collectives: u64,
    /// What has come and was not handled yet.
    inbox: VecDeque<u32>,
    /// By context: point-to-point, collective.
    posted: [VecDeque<Posted>; 2],
    unexpected: [VecDeque<Unexpected>; 2],
    /// Open handles, ascending, with their request ([`NONE`]: complete).
    handles: Vec<(u32, u32)>,
    graph: Option<Box<Graph>>,
    account: Account,
}

impl Rank {
    /// Keeps the processor busy.
    fn spend(&mut self, time: u64, on: fn(&mut Account) -> &mut u64) {
        self.time = self.time.saturating_add(time);
        let sum = on(&mut self.account);
        *sum = sum.saturating_add(time);
    }
}

/// A rate as femtoseconds for so many bytes, in lowest terms.
#[derive(Clone, Copy, Debug)]
struct Speed {
    fs: u64,
    bytes: u64,
}

impl Speed {
    fn new(rate: Rate) -> Speed {
        let (bits, per) = rate.parts();
        let (fs, bytes) = Rate::ratio(8_000_000_000_000_000 * per as u128, bits.max(1) as u128).parts();
        Speed { fs, bytes: bytes.max(1) }
    }

    /// ceil(bytes / rate).
    fn span(self, bytes: u64) -> u64 {
        match bytes.checked_mul(self.fs) {
            Some(top) => top.div_ceil(self.bytes),
            None => (bytes as u128 * self.fs as u128).div_ceil(self.bytes as u128).min(Time::MAX.fs() as u128) as u64,
        }
    }
}

/// What the first rank called as its `index`-th collective.
#[derive(Clone, Debug)]
struct First {
    index: u64,
    rank: u32,
    what: Collective,
}

/// So many collectives are remembered to be compared: a rank that is further behind is not looked at.
const WINDOW: u64 = 1024;

/// Messages under way, and sends and receives open, of all ranks together; an all-to-all among 1,024 ranks that begins
/// everything at once has a million.
const MOST_OPEN: usize = 1 << 22;

/// Steps in one call of the driver; then he is asked to call again, at the same moment. So a program that never lets
/// time pass does not keep him from counting.
const FUEL: u32 = 65_536;

#[derive(Clone, Debug)]
struct Core {
    costs: Costs,
    copy: Option<Speed>,
    reduce: Option<Speed>,
    node_of: Vec<u32>,
    ranks: Vec<Rank>,
    messages: Slab<Message>,
    requests: Slab<Request>,
    /// So many of either: [`MOST_OPEN`].
    most_open: usize,
    /// Processors that have something to do, by moment and rank.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Messages within a node, by the moment at which they are there and their order.
    near: BinaryHeap<Reverse<(u64, u64, u32)>>,
    order: u64,
    rows: Rows,
    edges: Vec<Arc<Edges>>,
    called: Vec<Option<First>>,
    /// Ranks that are not done.
    left: usize,
    end: u64,
    steps: u64,
    fuel: u32,
    fault: Option<String>,
    log: Log,
}

impl Machine {
    /// Sets a job up; nothing has happened yet. `steady` lets timed sections end early: see [`Row`]. A job that cannot
    /// be run at all (more than `MOST_RANKS`, a placement of another size, a graph whose tasks require what is not
    /// there) has its `fault` at once.
    pub fn new(job: Arc<Job>, costs: Costs, placement: Placement, steady: Option<f64>) -> Machine {
        let core = Core::new(&job, costs, placement, steady);
        Machine { job, core }
    }

    /// What it runs.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The earliest moment at which a rank's processor does something by itself; `u64::MAX`: never, unless a message
    /// comes.
    pub fn next(&self) -> u64 {
        if self.core.fault.is_some() {
            return u64::MAX;
        }
        let due = self.core.due.peek().map_or(u64::MAX, |e| e.0.0);
        due.min(self.core.near.peek().map_or(u64::MAX, |e| e.0.0))
    }

    /// Does what is due at `now`, which is [`next`](Machine::next): the driver lets no moment pass. What is handed to
    /// the adapter is added to `out`.
    pub fn on(&mut self, now: u64, out: &mut Vec<Post>) {
        let Machine { job, core } = self;
        core.fuel = FUEL;
        while core.fuel > 0 && core.fault.is_none() {
            core.fuel -= 1;
            if let Some(&Reverse((at, _, message))) = core.near.peek()
                && at <= now
            {
                core.near.pop();
                core.come(job, message, at, out);
            } else if let Some(&Reverse((at, rank))) = core.due.peek()
                && at <= now
            {
                core.due.pop();
                core.ranks[rank as usize].scheduled = false;
                core.go(job, rank, at, out);
            } else {
                break;
            }
        }
    }

    /// The message has left: its completion is in the sender's memory.
    pub fn sent(&mut self, token: u32, now: u64, out: &mut Vec<Post>) {
        let Machine { job, core } = self;
        core.fuel = FUEL;
        core.left(job, token, now, out);
    }

    /// The message and its completion are in the target's memory.
    pub fn arrived(&mut self, token: u32, now: u64, out: &mut Vec<Post>) {
        let Machine { job, core } = self;
        core.fuel = FUEL;
        core.come(job, token, now, out);
    }

    /// Whether every rank has ended its program. Messages that nobody receives may still be under way.
    pub fn is_done(&self) -> bool {
        self.core.left == 0
    }

    /// When the last of the ranks that are done ended.
    pub fn time(&self) -> u64 {
        self.core.end
    }

    /// What ended the run before its time: ranks that call different collectives, a message longer than its receive, a
    /// job that makes no sense. Then [`next`](Machine::next) is `u64::MAX`.
    pub(crate) fn fault(&self) -> Option<String> {
        self.core.fault.clone()
    }

    /// Steps begun by all ranks together, and messages handled: a measure of work, for a driver that bounds it.
    pub(crate) fn steps(&self) -> u64 {
        self.core.steps
    }

    /// The rows of a section, by rank; empty where no rank has come to it.
    pub(crate) fn rows(&self, section: u32) -> &[Row] {
        self.core.rows.of(section)
    }

    /// Half of the 95 % interval of a section's time of a repetition, in femtoseconds, where it was left early.
    pub(crate) fn half(&self, section: u32) -> Option<f64> {
        self.core.rows.half(section)
    }

    /// Where each rank's time went.
    pub fn accounts(&self) -> impl Iterator<Item = Account> {
        self.core.ranks.iter().map(|r| r.account)
    }

    /// When a rank ended its program; `None`: it has not.
    pub fn ended(&self, rank: u32) -> Option<u64> {
        self.core.ranks.get(rank as usize).filter(|r| r.state == State::Done).map(|r| r.time)
    }
}

impl Core {
    fn new(job: &Job, costs: Costs, placement: Placement, steady: Option<f64>) -> Core {
        let n = job.bodies.len();
        let mut core = Core {
            copy: costs.copy.map(Speed::new),
            reduce: costs.reduce.map(Speed::new),
            costs,
            node_of: placement.node_of,
            ranks: Vec::new(),
            messages: Slab::new(),
            requests: Slab::new(),
            most_open: MOST_OPEN,
            due: BinaryHeap::new(),
            near: BinaryHeap::new(),
            order: 0,
            rows: Rows::new(job, steady),
            edges: Vec::new(),
            called: vec![None; WINDOW as usize],
            left: n,
            end: 0,
            steps: 0,
            fuel: 0,
            fault: None,
            log: Log::default(),
        };
        if n > MOST_RANKS {
            core.fault = Some(format!("{n} ranks: at most {MOST_RANKS} are run"));
            return core;
        }
        if core.node_of.len() != n {
            core.fault = Some(format!("{n} ranks, but {} of them have a node", core.node_of.len()));
            return core;
        }
        let mut seen: Vec<(*const Body, usize)> = Vec::new();
        for (r, body) in job.bodies.iter().enumerate() {
            let graph = match &**body {
                Body::Steps(_) => None,
                Body::Graph(tasks) => {
                    let at = Arc::as_ptr(body);
                    let known = seen.iter().rev().find(|s| std::ptr::eq(s.0, at)).map(|s| s.1);
                    let edges = match known.map_or_else(|| Edges::new(tasks), |i| Ok(Arc::clone(&core.edges[i]))) {
                        Ok(edges) => edges,
                        Err(wrong) => {
                            core.fault = Some(format!("rank {r}: {wrong}"));
                            return core;
                        }
                    };
                    if known.is_none() {
                        seen.push((at, core.edges.len()));
                        core.edges.push(Arc::clone(&edges));
                    }
                    Some(Box::new(Graph::new(edges, tasks)))
                }
            };
            core.ranks.push(Rank {
                state: State::Free,
                time: 0,
                scheduled: true,
                ending: false,
                pending: 0,
                frames: vec![Frame { at: 0, section: NONE, times: 1, round: 0, began: 0 }],
                step: 0,
                call: None,
                round: 0,
                combine: 0,
                collectives: 0,
                inbox: VecDeque::new(),
                posted: Default::default(),
                unexpected: Default::default(),
                handles: Vec::new(),
                graph,
                account: Account::default(),
            });
            core.due.push(Reverse((0, r as u32)));
        }
        core
    }

    fn schedule(&mut self, r: u32) {
        let rank = &mut self.ranks[r as usize];
        if rank.time > Time::MAX.fs() {
            self.fail(format!("rank {r} runs for more than 5 h, the longest time there is"));
        } else if !rank.scheduled {
            rank.scheduled = true;
            self.due.push(Reverse((rank.time, r)));
        }
    }

    fn fail(&mut self, what: String) {
        self.fault.get_or_insert(what);
    }

    /// Whether what a blocked rank waits for is there.
    fn satisfied(&self, r: u32) -> bool {
        let rank = &self.ranks[r as usize];
        match &rank.graph {
            None => rank.pending == 0,
            Some(graph) => graph.ready(),
        }
    }

    /// A blocked rank has something to look at, from `now`.
    fn wake(&mut self, job: &Job, r: u32, now: u64, out: &mut Vec<Post>) {
        let rank = &self.ranks[r as usize];
        if rank.state != State::Blocked || rank.scheduled {
        } else if rank.time > now {
            self.schedule(r);
        } else {
            self.go(job, r, now, out);
        }
    }

    /// The processor of a rank is free at `now`: lets it go on until it is busy, blocked or done.
    fn go(&mut self, job: &Job, r: u32, now: u64, out: &mut Vec<Post>) {
        let rank = &mut self.ranks[r as usize];
        if rank.time < now {
            let since = std::mem::replace(&mut rank.time, now);
            rank.account.waiting += now - since;
            self.spent(r, Spending::Waiting, since);
        }
        while self.fault.is_none() {
            let rank = &self.ranks[r as usize];
            if rank.time > now {
                return self.schedule(r);
            }
            match rank.state {
                State::Done => return,
                State::Blocked => {
                    self.drain(r, out);
                    if !self.satisfied(r) {
                        return; // the next message or completion wakes it
                    }
                    self.ranks[r as usize].state = State::Free;
                }
                State::Free => match &*job.bodies[r as usize] {
                    Body::Graph(tasks) => self.task(tasks, r, out),
                    Body::Steps(steps) => self.step(steps, r, out),
                },
            }
            if self.fuel == 0 {
                return self.schedule(r);
            }
        }
    }

    /// The next piece of a program.
    fn step(&mut self, steps: &[Step], r: u32, out: &mut Vec<Post>) {
        if self.ranks[r as usize].call.is_some() {
            return self.round(r, out);
        }
        self.goes_on(r);
        match self.fetch(steps, r) {
            Next::Later => {}
            Next::Op(op) => self.perform(op, r, out),
            Next::End => {
                if self.ranks[r as usize].ending {
                    return self.finish(r);
                }
                // As MPI_Finalize: what is open ends first.
                self.ranks[r as usize].ending = true;
                self.drain(r, out);
                self.await_all(r);
            }
        }
    }

    fn finish(&mut self, r: u32) {
        let rank = &mut self.ranks[r as usize];
        rank.state = State::Done;
        self.end = self.end.max(rank.time);
        self.left -= 1;
    }
}

#[cfg(test)]
mod tests;
