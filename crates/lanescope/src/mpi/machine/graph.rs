//! Tasks that wait for one another, as GOAL has them (Hoefler, Siebert, Lumsdaine 2009: Group Operation Assembly
//! Language).
//!
//! A rank has one processor. Receives are posted as soon as they may be; of what needs the processor, the task that
//! became ready first is next.

use super::*;
use crate::mpi::op::Task;

/// Who waits for whom, of all ranks with the same body.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    /// By task, where its successors begin; one more at the end.
    done: Vec<u32>,
    begun: Vec<u32>,
    after_done: Vec<u32>,
    after_begun: Vec<u32>,
}

/// Successors as lists one behind the other.
fn turn(tasks: &[Task], of: fn(&Task) -> &[u32]) -> Result<(Vec<u32>, Vec<u32>), String> {
    let mut first = vec![0u32; tasks.len() + 1];
    let mut all = 0u32;
    for (i, task) in tasks.iter().enumerate() {
        for &before in of(task) {
            let Some(count) = first.get_mut(before as usize).filter(|_| (before as usize) < tasks.len()) else {
                return Err(format!("task {i} requires task {before} of {}", tasks.len()));
            };
            *count += 1;
            all = all.checked_add(1).ok_or("too many requirements")?;
        }
    }
    let mut sum = 0;
    for count in &mut first {
        sum += std::mem::replace(count, sum);
    }
    let mut next = first.clone();
    let mut after = vec![0u32; all as usize];
    for (i, task) in tasks.iter().enumerate() {
        for &before in of(task) {
            let place = &mut next[before as usize];
            after[*place as usize] = i as u32;
            *place += 1;
        }
    }
    Ok((first, after))
}

impl Edges {
    pub(super) fn new(tasks: &[Task]) -> Result<Arc<Edges>, String> {
        if tasks.len() >= NONE as usize {
            return Err(format!("{} tasks are too many", tasks.len()));
        }
        let legal = |op: &Op| {
            matches!(
                op,
                Op::Compute(_) | Op::Work(_) | Op::Send { .. } | Op::Recv { .. } | Op::Isend { .. } | Op::Irecv { .. }
            )
        };
        if let Some(i) = tasks.iter().position(|t| !legal(&t.op)) {
            return Err(format!("task {i} is not a calculation, send or receive"));
        }
        let (done, after_done) = turn(tasks, |t| &t.requires)?;
        let (begun, after_begun) = turn(tasks, |t| &t.irequires)?;
        Ok(Arc::new(Edges { done, begun, after_done, after_begun }))
    }
}

/// How far a rank's graph is.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    edges: Arc<Edges>,
    /// What each task still waits for.
    missing: Vec<u32>,
    /// Tasks that may begin and need the processor.
    ready: VecDeque<u32>,
    /// Receives that may begin.
    receives: VecDeque<u32>,
    is_receive: Vec<bool>,
    /// Tasks that are not complete.
    pub(super) open: usize,
}

impl Graph {
    pub(super) fn new(edges: Arc<Edges>, tasks: &[Task]) -> Graph {
        let mut graph = Graph {
            edges,
            missing: tasks.iter().map(|t| (t.requires.len() + t.irequires.len()) as u32).collect(),
            ready: VecDeque::new(),
            receives: VecDeque::new(),
            is_receive: tasks.iter().map(|t| matches!(t.op, Op::Recv { .. } | Op::Irecv { .. })).collect(),
            open: tasks.len(),
        };
        for task in 0..tasks.len() as u32 {
            if graph.missing[task as usize] == 0 {
                graph.may_begin(task);
            }
        }
        graph
    }

    /// Whether the rank has something to do, its end included.
    pub(super) fn ready(&self) -> bool {
        !self.ready.is_empty() || !self.receives.is_empty() || self.open == 0
    }

    fn may_begin(&mut self, task: u32) {
        let queue = if self.is_receive[task as usize] { &mut self.receives } else { &mut self.ready };
        queue.push_back(task);
    }

    fn release(&mut self, begun: bool, task: u32) {
        let edges = Arc::clone(&self.edges);
        let (first, after) = if begun { (&edges.begun, &edges.after_begun) } else { (&edges.done, &edges.after_done) };
        let t = task as usize;
        for &next in &after[first[t] as usize..first[t + 1] as usize] {
            self.missing[next as usize] -= 1;
            if self.missing[next as usize] == 0 {
                self.may_begin(next);
            }
        }
    }

    pub(super) fn completed(&mut self, task: u32) {
        self.open -= 1;
        self.release(false, task);
    }
}

impl Core {
    /// The next task of a rank.
    pub(super) fn task(&mut self, tasks: &[Task], r: u32, out: &mut Vec<Post>) {
        self.steps += 1;
        self.fuel = self.fuel.saturating_sub(1);
        self.drain(r, out);
        let rank = &mut self.ranks[r as usize];
        let Some(graph) = &mut rank.graph else { return };
        let Some(task) = graph.receives.pop_front().or_else(|| graph.ready.pop_front()) else {
            if graph.open == 0 {
                return self.finish(r);
            }
            rank.state = State::Blocked;
            return;
        };
        rank.step += 1;
        graph.release(true, task);
        let request = match tasks[task as usize].op {
            Op::Send { to, bytes, tag } | Op::Isend { to, bytes, tag, .. } => self.send(r, to, tag, bytes, 0, out),
            Op::Recv { from, bytes, tag } | Op::Irecv { from, bytes, tag, .. } => {
                self.receive(r, from, tag, bytes, 0, out)
            }
            Op::Compute(time) => {
                self.compute(r, time.fs());
                NONE
            }
            Op::Work(work) => {
                self.compute(r, self.working(work));
                NONE
            }
            _ => NONE,
        };
        if request == NONE {
            if let Some(graph) = &mut self.ranks[r as usize].graph {
                graph.completed(task);
            }
        } else {
            self.requests[request].task = task;
        }
    }
}
