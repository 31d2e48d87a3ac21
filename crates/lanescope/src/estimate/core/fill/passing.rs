//! Who passes a resource by, and takes turns with those that wait for it.
//!
//! A buffer whose packets wait for a resource holds packets of other flows too, which go on by other ways. The ports
//! before that buffer give turns to all that goes into it: so a flow that does not use the resource takes turns from
//! those of its own port that do, and leaves more of the resource to other ports. Of two flows of one port one waits
//! for a link, and one goes elsewhere: together they have as many turns as a flow of another port that waits for that
//! link. So the first has half of what the last has, and the second no more than the first.
//!
//! The same holds of a buffer and those that stand in buffers before it.

use super::queue::{Passing, Way};
use super::turns::{Member, Tree};
use super::{Queue, Resource, Use, Wait};
use std::collections::BTreeMap;

/// Flows of one source, of which some go to a resource and the others do not. The others have as many turns as those
/// that wait, and change nothing for any but themselves: so they need no place in a tree.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Those that go there, by the resource's uses.
    pub(super) uses: Vec<usize>,
    /// The others, each with its packets per payload byte.
    pub(super) others: Vec<(usize, f64)>,
}

/// Who passes a resource by.
#[derive(Clone, Debug, Default)]
pub(super) struct By {
    pub(super) passing: Vec<Passing>,
    pub(super) sides: Vec<Side>,
    /// Whether there are more of the former than are counted.
    pub(super) left_out: bool,
}

/// More than so many flows pass by without turns, since each division is of all of them: all to all, 32 devices below
/// four switches come to 600.
const MOST: usize = 256;

/// Those of each resource in `among`.
pub(super) fn passing<K, Q>(resources: &[Resource<K>], queues: &[Queue<Q>], among: &[bool]) -> Vec<By> {
    let mut all: Vec<Vec<(usize, Passing)>> = vec![Vec::new(); resources.len()];
    let mut sides: Vec<Vec<Side>> = vec![Vec::new(); resources.len()];
    let users = |r: &Resource<K>| sorted(r.uses.iter().filter(|u| u.weight > 0.0).map(|u| u.flow));
    let mut users_of: Vec<Option<Vec<usize>>> = vec![None; resources.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); resources.len()];
    for queue in queues {
        let mut beyond: Vec<usize> = Vec::new();
        for (w, wait) in queue.waits.iter().enumerate() {
            for &r in wait.beyond.iter().filter(|r| among[**r]) {
                if waiting[r].is_empty() {
                    beyond.push(r);
                }
                waiting[r].push(w);
            }
        }
        for r in beyond {
            let uses = &resources[r].uses;
            let of = std::mem::take(&mut waiting[r]);
            // Completions come in the order of their requests, which have had their turns before: nobody joins later.
            let farther = |w: &usize| {
                let wait = &queue.waits[*w];
                let used: &Use = uses.iter().find(|u| u.flow == wait.flow && u.weight > 0.0)?;
                (used.hops > wait.hops).then_some((wait.flow, wait.hops, used.hops))
            };
            let most: f64 = of.iter().map(|w| queue.waits[*w].most).sum();
            let (Some(beside), true) = (of.iter().find_map(farther), most >= queue.room) else { continue };
            let users = users_of[r].get_or_insert_with(|| users(&resources[r]));
            let there = || uses.iter().find(|u| u.flow == beside.0 && u.weight > 0.0).map(|u| u.packets);
            let worth = worth(queue, beside.0, there);
            if of.iter().any(|w| queue.waits[*w].hops > 0) {
                join(&mut all[r], queue, beside, worth, users);
                continue;
            }
            let flows = sorted(of.iter().map(|w| queue.waits[*w].flow));
            let goes = |u: &usize| uses[*u].weight > 0.0 && flows.binary_search(&uses[*u].flow).is_ok();
            let other = |w: &&Wait| w.packets > 0.0 && users.binary_search(&w.flow).is_err();
            sides[r].push(Side {
                uses: (0..uses.len()).filter(goes).collect(),
                others: queue.waits.iter().filter(other).map(|w| (w.flow, w.packets * worth)).collect(),
            });
        }
    }
    let by = |(all, sides)| {
        let (passing, left_out) = last(all);
        By { passing, sides, left_out }
    };
    all.into_iter().zip(sides).map(by).collect()
}

/// Those of each queue: they stand in a buffer before it behind others that go on to it; and whether they are too many.
fn before<Q>(queues: &[Queue<Q>]) -> Vec<(Vec<Passing>, bool)> {
    let mut queues_of: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (q, queue) in queues.iter().enumerate() {
        queue.waits.iter().enumerate().for_each(|(w, wait)| queues_of.entry(wait.flow).or_default().push((q, w)));
    }
    let of_queue = |queue: &Queue<Q>| {
        // Queues before this, each with one that goes from there to here.
        let mut earlier: BTreeMap<usize, (usize, usize, usize)> = BTreeMap::new();
        for wait in &queue.waits {
            for &(q, w) in &queues_of[&wait.flow] {
                let at = &queues[q].waits[w];
                // Of one source: see [`Side`].
                if at.place < wait.place && (1..wait.hops).contains(&at.hops) {
                    earlier.entry(q).or_insert((wait.flow, at.hops, wait.hops));
                }
            }
        }
        let mut all: Vec<(usize, Passing)> = Vec::new();
        let here = sorted(queue.waits.iter().map(|w| w.flow));
        for (q, beside) in earlier {
            let there = || queue.waits.iter().find(|w| w.flow == beside.0).map(|w| w.packets);
            let worth = worth(&queues[q], beside.0, there);
            join(&mut all, &queues[q], beside, worth, &here);
        }
        last(all)
    };
    queues.iter().map(of_queue).collect()
}

fn sorted(flows: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all: Vec<usize> = flows.collect();
    all.sort_unstable();
    all
}

/// What a packet of a queue is worth where one of its flows goes and counts so many packets per payload byte.
fn worth<Q>(queue: &Queue<Q>, flow: usize, there: impl Fn() -> Option<f64>) -> f64 {
    let here = || queue.waits.iter().find(|w| w.flow == flow).map(|w| w.packets);
    if !queue.own_coin {
        return 1.0;
    }
    there().zip(here()).map_or(1.0, |(there, here)| there / here)
}

/// Adds the flows in a buffer to those that pass by what others in it wait for, with the place of the buffer on their
/// way and what its packets are `worth` there; but for those that `go` there.
fn join<Q>(all: &mut Vec<(usize, Passing)>, queue: &Queue<Q>, beside: (usize, usize, usize), worth: f64, go: &[usize]) {
    for wait in queue.waits.iter().filter(|w| w.packets > 0.0 && go.binary_search(&w.flow).is_err()) {
        let way = Way { flow: wait.flow, hops: wait.hops, beside };
        all.push((wait.place, Passing { packets: wait.packets * worth, way }));
    }
}

/// Each flow once: the last of several buffers has all that stands in those before it. Whether they are too many: then
/// none.
fn last(mut all: Vec<(usize, Passing)>) -> (Vec<Passing>, bool) {
    all.sort_by_key(|(place, p)| (p.way.flow, std::cmp::Reverse(*place)));
    all.dedup_by_key(|(_, p)| p.way.flow);
    let left_out = all.len() > MOST;
    if left_out {
        all.clear();
    }
    (all.into_iter().map(|(_, p)| p).collect(), left_out)
}

/// The tree of those that go somewhere, (flow, hops), and of those that pass it by.
pub(super) fn tree(
    going: impl Iterator<Item = (usize, usize)>,
    passing: &[Passing],
    path: impl Fn(usize, usize) -> Vec<u64>,
) -> Tree {
    let mut members: Vec<Member> = going.map(|(flow, hops)| Member { path: path(flow, hops), join: 0 }).collect();
    members.extend(passing.iter().map(|p| {
        let (beside, to_buffer, beyond) = p.way.beside;
        let mut ports = path(beside, beyond);
        let join = ports.len() - path(beside, to_buffer).len();
        ports.truncate(join);
        ports.extend(path(p.way.flow, p.way.hops));
        Member { path: ports, join }
    }));
    Tree::of(&members)
}

/// The tree of each queue, with those that pass it by: members in the order of its waits, then these. And whether of
/// one those that pass it by are left out.
pub(super) fn trees<Q>(
    queues: &[Queue<Q>],
    path: impl Fn(usize, usize) -> Vec<u64>,
) -> (Vec<(Tree, Vec<Passing>)>, bool) {
    let before = before(queues);
    let left_out = before.iter().any(|(_, left_out)| *left_out);
    let made = |(queue, (passing, _)): (&Queue<Q>, (Vec<Passing>, bool))| {
        (tree(queue.waits.iter().map(|w| (w.flow, w.hops)), &passing, &path), passing)
    };
    (queues.iter().zip(before).map(made).collect(), left_out)
}
