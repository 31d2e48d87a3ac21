//! Fair shares: progressive filling at every resource, by its arbitration tree.
//!
//! A resource serves its ports in turn, packet by packet, and within a port what that port's own ports sent: so a
//! flow's weight is its place in the tree, not a number. The filling fixes rates in rounds. In each, every resource
//! divides what it has by its tree as if all flows whose rate is still open took all that they can; a flow's *offer* is
//! the least that any of its resources gives it. Offers are feasible together, for at each resource they add up to no
//! more than what it divided. A resource that its offers fill cannot give any of its flows more, whatever the others
//! do: their rates are now fixed, and so is that of a flow whose offer is all that it can take. Where nothing is full
//! (two resources may each hold back the other's flows, since each has a tree of its own) the least offers rise
//! together until something is. So each round fixes a flow, and there are no more rounds than flows; what is fixed has
//! been feasible when it was, and everything later is divided from what it left. The order in which flows are listed is
//! in none of this.
//!
//! **DLLPs** go before packets. Those of a flow that also sends packets come with its turns. Those of flows that send
//! nothing else somewhere are taken off the capacity before it is divided, and depend on shares that depend on them in
//! turn: the filling is done again with the load that it gave, until that load is the one that it was done with. Each
//! packet answered by a DLLP is longer than it, so this contracts; should it not settle in [`PASSES`], all flows of
//! what is overdriven are scaled down to what it carries, and the answer says so.
//!
//! **Queues.** Packets that wait for a full resource stand in the buffers before it. Flows that share such a buffer get
//! no more turns than those that fill it: the buffer takes a packet in when one has left, and its ports take turns. So
//! when a flow's rate is fixed by something beyond a buffer, that of the flows behind it in the buffer is bounded by as
//! many turns. Rates are then fixed from the least to the greatest. Whoever has more than his turns then is told so
//! (`behind`). And those behind take turns too, at the ports before the buffer: where a resource is divided they stand
//! in its tree, though they take nothing of it (`passing`).

mod before;
mod behind;
mod divide;
mod passing;
mod queue;
mod turns;

use crate::plan::Meeting;
pub(crate) use before::Before;
use before::Made;
pub(crate) use behind::{Behind, behind};
use passing::{By, Side, passing};
use queue::Passing;
pub(crate) use queue::{Queue, Wait};
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;
use turns::{Room, Tree};

/// What one flow asks of one resource, per payload byte.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Use {
    /// The flow.
    pub(crate) flow: usize,
    /// Units that its packets take.
    pub(crate) weight: f64,
    /// Packets, the arbiter's coin.
    pub(crate) packets: f64,
    /// Units that go before all packets (DLLPs), at the usual policy.
    pub(crate) first: f64,
    /// The same, the fewest that the policy allows: what a bound counts beside `weight`. Negative where a bound counts
    /// less than the packets of a share take, as of page walks that a lucky run has none of.
    pub(crate) first_least: f64,
    /// How many hops its packets have behind them: what gives them their place in the arbitration tree.
    pub(crate) hops: usize,
}

impl Use {
    /// Packets and DLLPs together.
    pub(in crate::estimate) fn whole(&self) -> f64 {
        self.weight + self.first
    }
}

/// Something with a capacity.
#[derive(Clone, Debug)]
pub(crate) struct Resource<K> {
    /// What it is.
    pub(crate) key: K,
    /// Units per second.
    pub(crate) capacity: f64,
    /// Who uses it.
    pub(crate) uses: Vec<Use>,
}

impl<K> Resource<K> {
    /// Units per second that it is asked for at such shares, DLLPs counted.
    pub(crate) fn load(&self, shares: &[Share]) -> f64 {
        self.uses.iter().map(|u| u.whole() * shares[u.flow].rate).sum()
    }
}

/// The outcome for one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    /// Payload bytes per second.
    pub(crate) rate: f64,
    /// Index of the resource that binds; `None` when the flow gets all that it asks for.
    pub(crate) by: Option<usize>,
    /// The queue (an index) in which it stands behind others that wait for that resource, if it does not use it itself.
    pub(crate) behind: Option<usize>,
}

/// The outcome for all.
#[derive(Clone)]
pub(crate) struct Filled {
    /// By flow.
    pub(crate) shares: Vec<Share>,
    /// Whether the load of DLLPs settled; if not, shares were scaled down to what everything carries.
    pub(crate) settled: bool,
    /// Whether so many flows pass a resource by that their turns are left out.
    pub(crate) left_out: bool,
    /// What it was made of, for another that is nearly the same.
    made: Rc<Made>,
}

/// Passes of the filling, each with the load of DLLPs that the one before gave; they settle in about five.
const PASSES: usize = 64;
/// Rounds in which queues hold back one another's flows, whenever rates were fixed.
const QUEUES: usize = 4;
/// How often offers are brought closer to what flows can have at most, before the least of them rise.
const CLOSER: usize = 8;
/// Of a capacity: a float's noise.
const NOISE: f64 = 1e-10;

/// Shares of all flows. `caps` are their own wishes in bytes per second, infinite where they take what there is. `path`
/// gives the ports that a flow's packets came through after so many hops, nearest first; equal prefixes share a port.
pub(crate) fn shares<K: PartialEq>(
    resources: &[Resource<K>],
    caps: &[f64],
    path: impl Fn(usize, usize) -> Vec<u64>,
) -> Vec<Share> {
    fill::<K, ()>(resources, &[], caps, path, None).shares
}

/// The same, with queues, and whether it settled. Of one that was made `before` it takes what is the same: all of it,
/// or the trees.
pub(crate) fn fill<K: PartialEq, Q>(
    resources: &[Resource<K>],
    queues: &[Queue<Q>],
    caps: &[f64],
    path: impl Fn(usize, usize) -> Vec<u64>,
    before: Option<Before<K, Q>>,
) -> Filled {
    let filling = Filling::new(resources, queues, caps, &path, before.as_ref());
    if let Some(before) = before.filter(|b| b.same(&filling, caps)) {
        return before.filled.clone();
    }
    let mut room = Room::default();
    let mut shares: Vec<Share> = filling.alone.iter().map(|&(rate, by)| Share { rate, by, behind: None }).collect();
    let mut dllps = vec![0.0; filling.tight.len()];
    let mut p = filling.start();
    let settled = filling.groups.iter().filter(|g| !g.settle(&filling, &mut dllps, &mut p, &mut room, &mut shares));
    let settled = settled.count() == 0;
    let scaled = filling.project(&mut shares);
    // Who gets all that he asks for is held back by nothing, even where the last slot is his.
    for (share, cap) in shares.iter_mut().zip(caps).filter(|(s, c)| c.is_finite() && s.rate >= **c * (1.0 - 1e-9)) {
        *share = Share { rate: share.rate.min(*cap), by: None, behind: None };
    }
    let tight = filling.tight.into_iter().map(|t| (t.resource, t.tree, t.passing)).collect();
    let left_out = filling.left_out;
    let made = Rc::new(Made { caps: caps.to_vec(), alone: filling.alone, tight, trees: filling.trees });
    Filled { shares, settled: settled || scaled >= 1.0 - 1e-9, left_out, made }
}

/// A resource that may hold somebody back.
struct Tight {
    resource: usize,
    /// Made when it first divides.
    tree: Rc<OnceCell<Tree>>,
    /// Those that take turns with its flows on their way to it, and do not use it.
    passing: Vec<Passing>,
    sides: Vec<Side>,
    /// Its entries among all: its uses, then those that pass by.
    first: usize,
    entries: usize,
    /// Whether somebody sends nothing but DLLPs.
    dllps: bool,
}

/// Flows that meet, directly or by others, where something may hold them back; nothing of one group depends on another.
#[derive(Default)]
struct Group {
    flows: Vec<usize>,
    /// Places in `tight`.
    tight: Vec<usize>,
    queues: Vec<usize>,
}

impl Group {
    /// Passes until the load of DLLPs is the one that it was done with. Gives whether it came to that.
    fn settle<K: PartialEq, Q, P: Fn(usize, usize) -> Vec<u64>>(
        &self,
        filling: &Filling<K, Q, P>,
        dllps: &mut [f64],
        p: &mut Pass,
        room: &mut Room,
        shares: &mut [Share],
    ) -> bool {
        let mut before = None::<(Vec<f64>, Vec<f64>)>;
        for pass in 0..PASSES {
            filling.pass(self, dllps, p, room, shares);
            let gave: Vec<f64> = self.tight.iter().map(|&t| filling.dllps(t, shares)).collect();
            let settled = self.tight.iter().zip(&gave).all(|(&t, gave)| {
                let resource = filling.tight[t].resource;
                // As much as was left out; or more, and all fits; or less, and nobody was held back for it.
                let off = gave - dllps[t];
                off.abs() <= NOISE * 1e-2 * filling.resources[resource].capacity
                    || if off > 0.0 {
                        filling.fits(t, shares)
                    } else {
                        self.flows.iter().all(|&f| shares[f].by != Some(resource))
                    }
            });
            if settled {
                return true;
            }
            // A straight line through the last two passes; later half a step at a time.
            let mine: Vec<f64> = self.tight.iter().map(|&t| dllps[t]).collect();
            for (i, &t) in self.tight.iter().enumerate() {
                let capacity = filling.resources[filling.tight[t].resource].capacity;
                let guess = match &before {
                    Some((x, y)) if pass < 12 && (mine[i] - x[i]).abs() > 1e-15 * capacity => {
                        let slope = ((gave[i] - y[i]) / (mine[i] - x[i])).clamp(-1.0, 0.5);
                        (gave[i] - slope * mine[i]) / (1.0 - slope)
                    }
                    Some(_) if pass >= 12 => mine[i] + (gave[i] - mine[i]) / (2.0 + (pass - 12) as f64 / 8.0),
                    _ => gave[i],
                };
                dllps[t] = guess.clamp(0.0, capacity);
            }
            before = Some((mine, gave));
        }
        false
    }
}

/// What does not change from pass to pass.
struct Filling<'a, K, Q, P> {
    resources: &'a [Resource<K>],
    queues: &'a [Queue<Q>],
    path: &'a P,
    /// The most that each flow can have if nobody else is there, and what holds it to that.
    alone: Vec<(f64, Option<usize>)>,
    tight: Vec<Tight>,
    /// The entries of each flow: (in `tight`, entry).
    of_flow: Vec<Vec<(usize, usize)>>,
    /// Trees of queues, with those that pass them by, and the queues of each flow: (queue, place in its waits).
    trees: Vec<(Tree, Vec<Passing>)>,
    in_buffers: Vec<Vec<(usize, usize)>>,
    /// Those of several flows; a flow in none gets what it can have alone.
    groups: Vec<Group>,
    /// Whether too many pass by to be counted.
    left_out: bool,
}

/// Flows that meet at a resource that may be tight, or in a queue.
fn groups<K, Q>(resources: &[Resource<K>], queues: &[Queue<Q>], flows: usize, tight: &[Tight]) -> Vec<Group> {
    let mut meeting = Meeting::new(flows);
    for t in tight {
        let uses = &resources[t.resource].uses;
        uses.iter().for_each(|u| meeting.join(uses[0].flow, u.flow));
    }
    for q in queues.iter().filter(|q| !q.waits.is_empty()) {
        q.waits.iter().for_each(|w| meeting.join(q.waits[0].flow, w.flow));
    }
    let mut place = vec![usize::MAX; flows];
    let mut groups: Vec<Group> = Vec::new();
    let mut of = |f: usize, groups: &mut Vec<Group>| {
        let first = meeting.first(f);
        if place[first] == usize::MAX {
            place[first] = groups.len();
            groups.push(Group::default());
        }
        place[first]
    };
    for f in 0..flows {
        let g = of(f, &mut groups);
        groups[g].flows.push(f);
    }
    for (t, tight) in tight.iter().enumerate() {
        let g = of(resources[tight.resource].uses[0].flow, &mut groups);
        groups[g].tight.push(t);
    }
    for (q, queue) in queues.iter().enumerate().filter(|(_, q)| !q.waits.is_empty()) {
        let g = of(queue.waits[0].flow, &mut groups);
        groups[g].queues.push(q);
    }
    groups.retain(|g| g.flows.len() > 1);
    groups
}

/// A rate that is fixed now: what binds it, and the queue in which it stands behind others.
#[derive(Clone, Copy)]
struct Fixed {
    flow: usize,
    by: Option<usize>,
    behind: Option<usize>,
}

/// A pass under way.
struct Pass {
    /// What each flow may ask for: what it can have alone, or beside those that fill a queue.
    most: Vec<f64>,
    /// The resource and queue that hold it to that.
    held: Vec<(Option<usize>, Option<usize>)>,
    /// What each resource would give, entry by entry.
    gives: Vec<f64>,
    /// What it would give at most, if others take no more than they were offered.
    upper: Vec<f64>,
    stale: Vec<bool>,
    /// Flows without a rate, of each resource.
    open: Vec<usize>,
    rate: Vec<Option<f64>>,
    /// By queue, those whose rate was fixed by something beyond it (places in its waits), with what that was.
    waiting: Vec<Vec<(usize, usize)>>,
    /// What each flow may have by all its resources.
    offer: Vec<f64>,
    /// The resource that gives each flow the least, what that is, and the least that another gives it.
    least: Vec<(usize, f64, f64)>,
    /// Where a flow is among those that are fixed in a round.
    among: Vec<usize>,
}

impl<'a, K: PartialEq, Q, P: Fn(usize, usize) -> Vec<u64>> Filling<'a, K, Q, P> {
    fn new(
        resources: &'a [Resource<K>],
        queues: &'a [Queue<Q>],
        caps: &[f64],
        path: &'a P,
        before: Option<&Before<K, Q>>,
    ) -> Self {
        let mut alone: Vec<(f64, Option<usize>)> = caps.iter().map(|c| (*c, None)).collect();
        for (r, resource) in resources.iter().enumerate() {
            for u in resource.uses.iter().filter(|u| u.whole() > 0.0) {
                let most = resource.capacity / u.whole();
                let (least, by) = &mut alone[u.flow];
                // Of equal ones what more flows share is what a person would look at first.
                let shared = |r: usize| resources[r].uses.len();
                if most < *least * (1.0 - NOISE)
                    || most <= *least * (1.0 + NOISE) && by.is_some_and(|by| shared(r) > shared(by))
                {
                    (*least, *by) = (least.min(most), Some(r));
                }
            }
        }
        // Most resources never fill up. Nobody alone exceeds one.
        let fills = |resource: &Resource<K>| {
            let most: f64 = resource.uses.iter().map(|u| u.whole() * alone[u.flow].0).sum();
            resource.uses.len() >= 2 && most > resource.capacity * (1.0 + 1e-12)
        };
        let fills: Vec<bool> = resources.iter().map(fills).collect();
        let mut passes = passing(resources, queues, &fills);
        let at_one = passes.iter().any(|by| by.left_out);
        let (mut tight, mut of_flow, mut first) = (Vec::<Tight>::new(), vec![Vec::new(); caps.len()], 0);
        for (r, resource) in resources.iter().enumerate().filter(|(r, _)| fills[*r]) {
            let By { passing, sides, .. } = std::mem::take(&mut passes[r]);
            let others = sides.iter().flat_map(|s| &s.others).map(|(flow, _)| *flow);
            let passes = passing.iter().map(|p| p.way.flow).chain(others);
            let mut entries = 0;
            for flow in resource.uses.iter().map(|u| u.flow).chain(passes) {
                of_flow[flow].push((tight.len(), entries));
                entries += 1;
            }
            let dllps = resource.uses.iter().any(|u| u.weight == 0.0 && u.first > 0.0);
            let tree = before.and_then(|b| b.tree(r, resource, &passing)).unwrap_or_default();
            tight.push(Tight { resource: r, tree, passing, sides, first, entries, dllps });
            first += entries;
        }
        let mut in_buffers = vec![Vec::new(); caps.len()];
        for (q, queue) in queues.iter().enumerate() {
            queue.waits.iter().enumerate().for_each(|(w, wait)| in_buffers[wait.flow].push((q, w)));
        }
        let (trees, in_one) = passing::trees(queues, path);
        let left_out = at_one || in_one;
        let groups = groups(resources, queues, caps.len(), &tight);
        Filling { resources, queues, path, alone, tight, of_flow, trees, in_buffers, groups, left_out }
    }

    /// The DLLPs of those that send nothing else, at a resource that may be tight.
    fn dllps(&self, t: usize, shares: &[Share]) -> f64 {
        let uses = self.resources[self.tight[t].resource].uses.iter().filter(|u| u.weight == 0.0);
        if self.tight[t].dllps { uses.map(|u| u.first * shares[u.flow].rate).sum() } else { 0.0 }
    }

    /// Whether a resource carries all of it.
    fn fits(&self, t: usize, shares: &[Share]) -> bool {
        let resource = &self.resources[self.tight[t].resource];
        resource.load(shares) <= resource.capacity * (1.0 + 1e-12)
    }

    /// Scales down the flows of what carries more than it can; gives by how much at most.
    fn project(&self, shares: &mut [Share]) -> f64 {
        let mut scale = vec![1.0f64; shares.len()];
        for t in &self.tight {
            let resource = &self.resources[t.resource];
            let load = resource.load(shares);
            if load > resource.capacity {
                for u in &resource.uses {
                    scale[u.flow] = scale[u.flow].min(resource.capacity / load);
                }
            }
        }
        shares.iter_mut().zip(&scale).for_each(|(s, scale)| s.rate *= scale);
        scale.into_iter().fold(1.0, f64::min)
    }

    /// Room for passes.
    fn start(&self) -> Pass {
        let entries = self.tight.last().map_or(0, |t| self.entries(t).end);
        let flows = self.alone.len();
        Pass {
            most: self.alone.iter().map(|a| a.0).collect(),
            held: self.alone.iter().map(|a| (a.1, None)).collect(),
            gives: vec![f64::INFINITY; entries],
            upper: vec![f64::INFINITY; entries],
            stale: vec![true; self.tight.len()],
            open: vec![0; self.tight.len()],
            rate: vec![None; flows],
            waiting: vec![Vec::new(); self.queues.len()],
            offer: vec![0.0; flows],
            least: vec![(usize::MAX, f64::INFINITY, f64::INFINITY); flows],
            among: vec![usize::MAX; flows],
        }
    }

    /// Forgets the last pass of a group.
    fn reset(&self, group: &Group, p: &mut Pass) {
        for &f in &group.flows {
            (p.most[f], p.held[f]) = (self.alone[f].0, (self.alone[f].1, None));
            (p.rate[f], p.offer[f], p.among[f]) = (None, 0.0, usize::MAX);
        }
        for &t in &group.tight {
            let uses = self.uses(&self.tight[t]);
            p.open[t] = uses.iter().filter(|u| u.weight > 0.0).count();
            p.gives[self.entries(&self.tight[t])].fill(f64::INFINITY);
        }
        self.forget_upper(group, p);
        group.queues.iter().for_each(|&q| p.waiting[q].clear());
    }

    /// What resources give at most is to be found again.
    fn forget_upper(&self, group: &Group, p: &mut Pass) {
        for &t in &group.tight {
            p.upper[self.entries(&self.tight[t])].fill(f64::INFINITY);
            p.stale[t] = true;
        }
    }

    /// Rates of a group, with so many units of DLLPs taken off at each resource.
    fn pass(&self, group: &Group, dllps: &[f64], p: &mut Pass, room: &mut Room, shares: &mut [Share]) {
        self.reset(group, p);
        let mut left = group.flows.clone();
        let mut full: Vec<usize> = Vec::new();
        let (mut given, mut closer) = (Vec::new(), 0);
        while !left.is_empty() {
            self.least(&left, p, true);
            for &t in &group.tight {
                if std::mem::take(&mut p.stale[t]) && p.open[t] > 0 {
                    self.divide(t, dllps[t], p, true, room, &mut given);
                    p.gives[self.entries(&self.tight[t])].copy_from_slice(&given);
                }
            }
            for &f in &left {
                let gives = self.of_flow[f].iter().map(|&(t, u)| p.gives[self.tight[t].first + u]);
                p.offer[f] = gives.fold(p.most[f], f64::min);
            }
            full.clear();
            full.extend(group.tight.iter().filter(|&&t| p.open[t] > 0 && self.filled(t, dllps[t], p)));
            let has_all = |f: usize, p: &Pass| p.offer[f] >= p.most[f] * (1.0 - NOISE);
            if full.is_empty() && !left.iter().any(|&f| has_all(f, p)) {
                if closer < CLOSER {
                    // If others take no more than they are offered elsewhere: so much at most. And if they take that:
                    // so much at least.
                    self.least(&left, p, false);
                    let mut upper = Vec::new();
                    for &t in group.tight.iter().filter(|&&t| p.open[t] > 0) {
                        self.divide(t, dllps[t], p, false, room, &mut given);
                        upper.push((t, given.clone()));
                    }
                    self.forget_upper(group, p);
                    for (t, given) in upper {
                        p.upper[self.entries(&self.tight[t])].copy_from_slice(&given);
                    }
                    closer += 1;
                    continue;
                }
                self.rise(group, &left, dllps, p);
                full.extend(group.tight.iter().filter(|&&t| p.open[t] > 0 && self.filled(t, dllps[t], p)));
            }
            // Behind queues the least come first, as they hold back others.
            let mut limit = f64::INFINITY;
            let level = |t: usize, p: &Pass| {
                let open = self.uses(&self.tight[t]).iter().filter(|u| u.weight > 0.0 && p.rate[u.flow].is_none());
                open.map(|u| p.offer[u.flow]).fold(0.0, f64::max)
            };
            if !self.queues.is_empty() {
                let of_full = full.iter().map(|&t| level(t, p));
                let of_flows = left.iter().filter(|&&f| has_all(f, p)).map(|&f| p.offer[f]);
                limit = of_full.chain(of_flows).fold(f64::INFINITY, f64::min) * (1.0 + 1e-9);
            }
            let mut fixed: Vec<Fixed> = Vec::new();
            full.retain(|&t| level(t, p) <= limit);
            for &t in &full {
                let by = Some(self.tight[t].resource);
                for u in self.uses(&self.tight[t]).iter().filter(|u| u.weight > 0.0 && p.rate[u.flow].is_none()) {
                    match fixed.get_mut(p.among[u.flow]) {
                        _ if has_all(u.flow, p) => {} // It would have no more if that were not full.
                        None => {
                            p.among[u.flow] = fixed.len();
                            fixed.push(Fixed { flow: u.flow, by, behind: None });
                        }
                        // What more flows share is what a person would look at first.
                        Some(other) if self.shared(by) >= self.shared(other.by) => other.by = by,
                        Some(_) => {}
                    }
                }
            }
            for &f in left.iter().filter(|&&f| has_all(f, p) && p.offer[f] <= limit) {
                if p.among[f] == usize::MAX {
                    fixed.push(Fixed { flow: f, by: p.held[f].0, behind: p.held[f].1 });
                }
            }
            debug_assert!(!fixed.is_empty(), "a round fixes no flow");
            closer = 0;
            for &Fixed { flow: f, by, behind } in &fixed {
                p.rate[f] = Some(p.offer[f]);
                shares[f] = Share { rate: p.offer[f], by, behind };
                for &(t, u) in &self.of_flow[f] {
                    p.stale[t] = true;
                    let uses = self.uses(&self.tight[t]);
                    if uses.get(u).is_some_and(|u| u.weight > 0.0) {
                        p.open[t] -= 1;
                        // All of it is divided: who passes by is held to his turns (`hold_up`).
                        if p.open[t] == 0 {
                            let all = self.entries(&self.tight[t]);
                            p.gives[all.start + uses.len()..all.end].fill(f64::INFINITY);
                        }
                    }
                }
            }
            if !self.queues.is_empty() {
                self.hold_up(group, &fixed, p, room);
            }
            let before = left.len();
            left.retain(|&f| p.rate[f].is_none());
            if left.len() == before {
                break;
            }
        }
    }

    /// Nothing is full, and nobody has all that he can: the least offers rise together, each to its turn of the next
    /// greater one, until something is full or somebody has all.
    fn rise(&self, group: &Group, left: &[usize], dllps: &[f64], p: &mut Pass) {
        let mut steps: Vec<f64> = left.iter().map(|&f| p.offer[f]).collect();
        steps.sort_by(f64::total_cmp);
        let most = left.iter().map(|&f| p.most[f]).fold(f64::INFINITY, f64::min);
        // How far a resource lets all go that are below a level: a load in straight pieces between the offers.
        let mut level = most;
        for &t in group.tight.iter().filter(|&&t| p.open[t] > 0) {
            let uses: Vec<_> = self.uses(&self.tight[t]).iter().filter(|u| u.weight > 0.0).collect();
            let room = self.resources[self.tight[t].resource].capacity - dllps[t];
            let load = |level: f64| -> f64 {
                uses.iter().map(|u| u.whole() * p.rate[u.flow].unwrap_or(p.offer[u.flow].max(level))).sum()
            };
            if load(level) <= room {
                continue;
            }
            let above = steps.partition_point(|&s| s < level && load(s) <= room);
            let from = steps[above.saturating_sub(1)];
            let slope: f64 =
                (uses.iter().filter(|u| p.rate[u.flow].is_none() && p.offer[u.flow] <= from)).map(|u| u.whole()).sum();
            if slope > 0.0 {
                level = level.min(from + ((room - load(from)) / slope).max(0.0));
            }
        }
        left.iter().for_each(|&f| p.offer[f] = p.offer[f].max(level));
    }

    fn uses(&self, tight: &Tight) -> &'a [Use] {
        &self.resources[tight.resource].uses
    }

    /// The entries of a resource among all.
    fn entries(&self, tight: &Tight) -> Range<usize> {
        tight.first..tight.first + tight.entries
    }

    fn shared(&self, resource: Option<usize>) -> usize {
        resource.map_or(0, |r| self.resources[r].uses.len())
    }

    /// Whether the offers fill a resource.
    fn filled(&self, t: usize, dllps: f64, p: &Pass) -> bool {
        let uses = self.uses(&self.tight[t]).iter().filter(|u| u.weight > 0.0);
        let load: f64 = uses.map(|u| u.whole() * p.rate[u.flow].unwrap_or(p.offer[u.flow])).sum();
        load >= (self.resources[self.tight[t].resource].capacity) * (1.0 - NOISE) - dllps
    }

    /// Rates were fixed by resources: in the queues before those, others get no more turns than the flows that wait
    /// there.
    fn hold_up(&self, group: &Group, fixed: &[Fixed], p: &mut Pass, room: &mut Room) {
        let mut filled: Vec<(usize, usize)> = Vec::new();
        for &Fixed { flow, by, behind } in fixed {
            let Some(by) = by else { continue };
            // Of a flow that was held up in a queue itself: the queues before that.
            let held_at = behind.and_then(|q| self.queues[q].waits.iter().find(|w| w.flow == flow)).map(|w| w.place);
            for &(b, w) in &self.in_buffers[flow] {
                let at = &self.queues[b].waits[w];
                if at.beyond.contains(&by) || held_at.is_some_and(|place| at.place < place) {
                    p.waiting[b].push((w, by));
                    filled.push((b, by));
                }
            }
        }
        filled.sort_unstable();
        filled.dedup_by_key(|f| f.0);
        filled.retain(|&(b, _)| {
            let most: f64 = p.waiting[b].iter().map(|&(w, _)| self.queues[b].waits[w].most).sum();
            most >= self.queues[b].room
        });
        // A flow that is held back in one queue sends fewer packets through another, where ports then have fewer turns.
        for _round in 0..QUEUES {
            let mut less: Vec<(usize, f64, Option<usize>, usize)> = Vec::new();
            for &(b, _) in &filled {
                let waits = &self.queues[b].waits;
                let (tree, passing) = &self.trees[b];
                let all =
                    (waits.iter().map(|w| (w.flow, w.packets))).chain(passing.iter().map(|p| (p.way.flow, p.packets)));
                let asks: Vec<f64> = all.map(|(f, packets)| p.rate[f].unwrap_or(p.most[f]) * packets).collect();
                room.asked.ready(tree, &asks);
                let mut given = vec![0.0; asks.len()];
                for &(w, by) in &p.waiting[b] {
                    tree.beside(&room.asked, w, asks[w], &mut given);
                    for (other, turns) in waits.iter().zip(&given).filter(|(o, _)| p.rate[o.flow].is_none()) {
                        less.push((other.flow, turns / other.packets, Some(by), b));
                    }
                }
            }
            let mut moved = false;
            for (flow, most, by, b) in less {
                if most < p.most[flow] * (1.0 - NOISE) {
                    (p.most[flow], p.held[flow], moved) = (most, (by, Some(b)), true);
                    self.of_flow[flow].iter().for_each(|&(t, _)| p.stale[t] = true);
                }
            }
            if !moved {
                break;
            }
            // Who is held back leaves more to others.
            self.forget_upper(group, p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `hops` stands for the path in these tests: 0 for none, else port and source as its digits.
    fn used(flow: usize, weight: f64, path: &[u64]) -> Use {
        let hops = path.iter().fold(0, |n, p| n * 10 + *p as usize);
        Use { flow, weight, packets: weight, first: 0.0, first_least: 0.0, hops }
    }

    fn path(_: usize, hops: usize) -> Vec<u64> {
        hops.to_string().bytes().filter(|&b| b != b'0').map(u64::from).collect()
    }

    fn rates(resources: &[Resource<u8>], caps: &[f64]) -> Vec<f64> {
        shares(resources, caps, path).into_iter().map(|s| (s.rate * 1e6).round() / 1e6).collect()
    }

    const MUCH: f64 = f64::INFINITY;

    #[test]
    fn one_resource_is_divided_evenly_and_the_modest_leave_the_rest() {
        let r =
            [Resource { key: 0, capacity: 12.0, uses: vec![used(0, 1.0, &[]), used(1, 1.0, &[]), used(2, 1.0, &[])] }];
        assert_eq!(rates(&r, &[MUCH; 3]), [4.0, 4.0, 4.0]);
        assert_eq!(rates(&r, &[1.0, MUCH, MUCH]), [1.0, 5.5, 5.5]);
    }

    #[test]
    fn ports_take_turns_not_flows() {
        // Flows 0 and 1 behind port 7, flow 2 behind port 8.
        let r = [Resource {
            key: 0,
            capacity: 12.0,
            uses: vec![used(0, 1.0, &[7, 1]), used(1, 1.0, &[7, 2]), used(2, 1.0, &[8, 1])],
        }];
        assert_eq!(rates(&r, &[MUCH; 3]), [3.0, 3.0, 6.0]);
        // What flow 0 leaves goes to its own port first.
        assert_eq!(rates(&r, &[1.0, MUCH, MUCH]), [1.0, 5.0, 6.0]);
    }

    #[test]
    fn turns_are_packets_so_large_packets_get_more() {
        let mut small = used(0, 1.0, &[1]);
        small.packets = 1.0 / 64.0;
        let mut large = used(1, 1.0, &[2]);
        large.packets = 1.0 / 256.0;
        let r = [Resource { key: 0, capacity: 10.0, uses: vec![small, large] }];
        assert_eq!(rates(&r, &[MUCH; 2]), [2.0, 8.0]);
    }

    #[test]
    fn two_bottlenecks_agree() {
        // Flow 0 uses both; flow 1 the narrow one, flow 2 the wide one: max-min gives 2, 2, 8.
        let r = [
            Resource { key: 0, capacity: 10.0, uses: vec![used(0, 1.0, &[1]), used(2, 1.0, &[2])] },
            Resource { key: 1, capacity: 4.0, uses: vec![used(0, 1.0, &[1]), used(1, 1.0, &[2])] },
        ];
        assert_eq!(rates(&r, &[MUCH; 3]), [2.0, 2.0, 8.0]);
        assert_eq!(shares(&r, &[MUCH; 3], path).iter().map(|s| s.by).collect::<Vec<_>>(), [Some(1), Some(1), Some(0)]);
    }

    #[test]
    fn a_flow_whose_dllps_outweigh_its_packets_settles() {
        // Each byte takes 24 of packets and 32 of DLLPs here: taking the DLLPs off first would swing ever wider.
        let mut own = used(0, 24.0, &[]);
        own.first = 32.0;
        let r = [Resource { key: 0, capacity: 112.0, uses: vec![own] }];
        assert_eq!(rates(&r, &[MUCH]), [2.0]);
    }

    #[test]
    fn dllps_go_first_and_hold_nobody_back() {
        // Flow 1 sends only DLLPs here, 0.1 of a byte each; flow 0 gets what is left.
        let mut dllps = used(1, 0.0, &[]);
        (dllps.first, dllps.packets) = (0.1, 0.0);
        let r = [
            Resource { key: 0, capacity: 10.0, uses: vec![used(0, 1.0, &[]), dllps] },
            Resource { key: 1, capacity: 20.0, uses: vec![used(1, 1.0, &[])] },
        ];
        assert_eq!(rates(&r, &[MUCH; 2]), [8.0, 20.0]);
    }

    /// Each of two flows sends its packets where the other sends DLLPs: a + b / 5 = 10 and b + a / 10 = 20, so that a
    /// is 6 / 0.98 and b 20 - a / 10. What DLLPs take and what is left for packets depend on one another.
    #[test]
    fn dllps_of_two_flows_settle_where_both_equations_hold() {
        let dllps = |flow, each| Use { packets: 0.0, first: each, ..used(flow, 0.0, &[]) };
        let r = [
            Resource { key: 0, capacity: 10.0, uses: vec![used(0, 1.0, &[]), dllps(1, 0.2)] },
            Resource { key: 1, capacity: 20.0, uses: vec![used(1, 1.0, &[]), dllps(0, 0.1)] },
        ];
        assert_eq!(rates(&r, &[MUCH; 2]), [6.122449, 19.387755]);
        assert!(fill::<u8, ()>(&r, &[], &[MUCH; 2], path, None).settled);
    }

    /// Nobody gets through a buffer in more turns than those who wait in it for something slow: 2 a second for equal
    /// packets, 4 where those behind are twice as large. Who asks for less is held back by nobody.
    #[test]
    fn a_full_buffer_lets_all_through_in_turn() {
        let wait = |flow: usize, packets, beyond: usize| {
            let beyond = vec![beyond];
            Wait { flow, packets, hops: flow + 1, most: MUCH, place: 0, beyond }
        };
        let r = [
            Resource { key: 0, capacity: 2.0, uses: vec![used(0, 1.0, &[1])] },
            Resource { key: 1, capacity: 100.0, uses: vec![used(1, 1.0, &[2])] },
        ];
        let behind = |packets, room, caps: [f64; 2]| {
            let queue = Queue { key: (), room, waits: vec![wait(0, 1.0, 0), wait(1, packets, 1)], own_coin: false };
            fill(&r, &[queue], &caps, path, None).shares
        };
        let both = behind(1.0, 8.0, [MUCH; 2]);
        assert_eq!(both[0], Share { rate: 2.0, by: Some(0), behind: None });
        assert_eq!(both[1], Share { rate: 2.0, by: Some(0), behind: Some(0) });
        assert_eq!(behind(0.5, 8.0, [MUCH; 2])[1].rate, 4.0);
        assert_eq!(behind(1.0, 8.0, [MUCH, 1.0])[1], Share { rate: 1.0, by: None, behind: None });
        assert_eq!(behind(1.0, 8.0, [1.0, MUCH])[1], Share { rate: 100.0, by: Some(1), behind: None });
    }

    /// One that is made of another gives what it gives alone, whatever has changed since: a capacity, who takes what,
    /// what somebody asks for, or nothing.
    #[test]
    fn a_filling_of_another_is_the_same_as_alone() {
        let made = |capacity, weight| {
            let uses = vec![used(0, weight, &[7, 1]), used(1, 1.0, &[7, 2]), used(2, 1.0, &[8, 1])];
            [Resource { key: 0, capacity, uses }]
        };
        let was = made(12.0, 1.0);
        let filled = fill::<u8, ()>(&was, &[], &[MUCH; 3], path, None);
        let again = |now: &[Resource<u8>], caps: &[f64]| {
            let before = Before { resources: &was, queues: &[], filled: &filled };
            let shares = fill::<u8, ()>(now, &[], caps, path, Some(before)).shares;
            shares.into_iter().map(|s| (s.rate * 1e6).round() / 1e6).collect::<Vec<_>>()
        };
        assert_eq!(again(&was, &[MUCH; 3]), [3.0, 3.0, 6.0]);
        assert_eq!(again(&made(6.0, 1.0), &[MUCH; 3]), [1.5, 1.5, 3.0]);
        assert_eq!(again(&was, &[1.0, MUCH, MUCH]), [1.0, 5.0, 6.0]);
        // A byte of flow 0 takes two slots: of 2.5 slots a turn of port 8, one is that port's own, 4.8 of twelve.
        let mut long = made(12.0, 2.0);
        long[0].uses[0].packets = 1.0;
        assert_eq!(again(&long, &[MUCH; 3]), [2.4, 2.4, 4.8]);
        // Flow 1 comes from the other port now: 6 for port 7, and 3 each behind port 8.
        let mut moved = made(12.0, 1.0);
        moved[0].uses[1] = used(1, 1.0, &[8, 2]);
        assert_eq!(again(&moved, &[MUCH; 3]), [6.0, 3.0, 3.0]);
    }
}
