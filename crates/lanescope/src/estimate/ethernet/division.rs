//! How wires are divided: among classes, among the ports that frames come in by, among the flows of a station.
//!
//! **PFC** stops a port of a switch, class by class, by the bytes of its frames that wait there. So where a wire is
//! full every port that has enough for it has as many bytes in its queue as any other, and that queue is a FIFO:
//! ports have equal parts of the bytes, whatever the rate of their links and the size of their frames, and behind a
//! port that leads to another switch the same is true of that switch's ports. A station is held up as a whole, and
//! its flows take turns. Who shares a port that is stopped with others gets through it only as they do, in the
//! proportion in which they come in there, wherever it goes on to: that is a queue of the filling.
//!
//! Without PFC frames get through in the proportion in which they come (`turns`). Classes share a wire by the rule of
//! its port, and what one of them or one of its flows leaves is first that class's.
//!
//! **The coin.** What is divided are turns, and a port's are bytes: the flows of a station bring so many bytes in a
//! turn that its turns together are its bytes. How many that are hangs on what comes of it, so the coin is set again
//! with the rates that it has led to.

use crate::estimate::core::fill::{Behind, Queue, Resource, Share, Use, Wait, behind, fill};
use crate::estimate::ethernet::path_loads::{Asked, NO_WIRE};
use crate::estimate::ethernet::turns::{self, Order};
use crate::plan::ethernet::Network;
use crate::protocol::ethernet;
use crate::scenario::NodeKeys;
use crate::scenario::keys::{FlowControl, Scheduling};
use std::collections::BTreeMap;

/// Rounds in which the coin is set by the rates that it has led to.
const ROUNDS: usize = 16;
/// Of what is born at moments of its own, so little that what saturates beside it is all that counts at first.
const GUESS: f64 = 1e-9;
/// What is left to those that come last is never less, of what a group has.
const LEAST: f64 = 1e-4;
/// Of the coin: what is no change.
const SAME: f64 = 1e-7;
/// What strict priority leaves to classes that have nothing left, of a wire's bytes, and each to the next below it.
const STARVED: f64 = 1e-6;
const BELOW: f64 = 1e-2;
/// Hops of uses from here on are places in [`Division::ways`]; from [`LEAF`] on they have no port.
const WAYS: usize = 1 << 28;
const LEAF: usize = 1 << 29;
/// Wires of all streams together up to which ports are told apart, and up to which it is asked who holds up whom.
pub(super) const MOST_WIRES: usize = 1 << 16;
const MOST_WAITS: usize = 1 << 12;

/// A port that may be stopped: the wire that leads there, and the class.
type Port = (u32, usize);

/// One use of a wire, or one flow in a queue.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// `None`: it goes before all classes.
    class: Option<usize>,
    /// Those whose turns are together their bytes: a station's in a class, or a queue's.
    group: u32,
    /// Payload bytes of a turn, relative to others of the group.
    turn: f64,
    /// What it sends as long as that is not known, in the same measure.
    guess: f64,
    /// Whether all of it comes before the others of its group.
    first: bool,
    /// Frames per byte of the wire.
    frames: f64,
    /// Bytes per byte of the wire as they are counted where its group has its turns: a switch's memory holds neither
    /// preambles nor gaps.
    counted: f64,
}

/// How all wires are divided.
pub(super) struct Division<'a> {
    network: &'a Network,
    asked: &'a [Asked],
    orders: Vec<Order>,
    /// By class: whether ports are stopped one by one.
    by_port: Vec<bool>,
    /// Ports of uses that come by one of several ways, nearest first.
    ways: Vec<Vec<u64>>,
    /// By resource and use.
    members: Vec<Vec<Member>>,
    pub(super) resources: Vec<Resource<u32>>,
    /// Ports that may be stopped.
    pub(super) queues: Vec<Queue<Port>>,
    waiting: Vec<Vec<Member>>,
}

impl<'a> Division<'a> {
    pub(super) fn new(network: &'a Network, asked: &'a [Asked], resources: Vec<Resource<u32>>) -> Division<'a> {
        let orders = turns::stations(network, asked);
        let comes = turns::comes(network, asked, &orders, &resources);
        let few = asked.iter().map(|a| a.wires.len()).sum::<usize>() <= MOST_WIRES && asked.iter().all(|a| !a.even);
        // Where DCQCN slows sources down, queues seldom come to where ports are stopped.
        let pfc = network.flow_control() == FlowControl::Pfc && few && !network.slows_down();
        let by_port = (0..network.classes.len().max(1)).map(|c| pfc && network.lossless(c)).collect();
        let (ways, members) = (Vec::new(), vec![Vec::new(); resources.len()]);
        let (queues, waiting) = (Vec::new(), Vec::new());
        let mut made = Division { network, asked, orders, by_port, ways, members, resources, queues, waiting };
        made.uses(&comes);
        if pfc {
            made.queue();
        }
        made
    }

    /// What divides all uses, with the ports that they come by.
    fn uses(&mut self, comes: &turns::Comes) {
        let network = self.network;
        let mut at = vec![usize::MAX; 2 * network.links.len()];
        self.resources.iter().enumerate().for_each(|(r, resource)| at[resource.key as usize] = r);
        let old: Vec<Vec<Use>> = self.resources.iter_mut().map(|r| std::mem::take(&mut r.uses)).collect();
        let mut next = vec![0; old.len()];
        for a in self.asked {
            for (i, &(wire, _)) in a.wires.iter().enumerate().filter(|(_, w)| at[w.0 as usize] != usize::MAX) {
                let r = at[wire as usize];
                let used = &old[r][next[r]];
                let (brings, acks) = comes[r][next[r]];
                next[r] += 1;
                let member = self.member(a, wire, acks, brings, used.weight);
                if acks {
                    // A switch and a station send them before all that waits.
                    self.resources[r].uses.push(Use { weight: 0.0, first: used.weight, hops: LEAF, ..used.clone() });
                    self.members[r].push(member);
                    continue;
                }
                for (part, hops) in self.hops(a, i) {
                    self.resources[r].uses.push(Use { weight: used.weight * part, hops, ..used.clone() });
                    self.members[r].push(member);
                }
            }
        }
    }

    /// How one stream or program takes part in the division of a wire.
    fn member(&self, a: &Asked, wire: u32, acks: bool, brings: f64, weight: f64) -> Member {
        let node = self.network.leaves(wire);
        let of_a_station = self.network.station(node).is_some();
        let frames =
            if a.frames.count > 0.0 { a.frames.count / a.frames.wire() } else { 1.0 / (weight * a.frames.message) };
        // In one FIFO, or where connections take turns, classes are no matter.
        let apart = !of_a_station || self.orders[node.0 as usize] == Order::Classes;
        let class = (!acks).then_some(if apart { a.class } else { 0 });
        let turn = |wire: u32| {
            let order = self.orders[self.network.leaves(wire).0 as usize];
            turns::turn(a, wire, order)
        };
        let (group, turn) = match of_a_station {
            true => (0, turn(wire)),
            false if self.by_port[a.class] && a.own != NO_WIRE => (1 + a.own, turn(a.own)),
            false if self.by_port[a.class] => (0, a.frames.message),
            false => (0, brings.max(1e-300)),
        };
        let stored = !of_a_station && self.by_port[a.class];
        let counted = if stored { counted(frames) } else { 1.0 };
        // In one FIFO of messages what is born at moments of its own comes first: a turn has all of it.
        let first = a.paced && turn * turns::FIRST >= a.wants * 0.5;
        let guess = if first { a.wants * GUESS } else { turn };
        Member { class, group, turn, guess, first, frames, counted }
    }

    /// The parts in which a use comes by several ports, and where each has its place.
    fn hops(&mut self, a: &Asked, i: usize) -> Vec<(f64, usize)> {
        let network = self.network;
        let wire = a.wires[i].0;
        if network.station(network.leaves(wire)).is_some() {
            return vec![(1.0, 0)];
        }
        if !self.by_port[a.class] || a.own == NO_WIRE {
            return vec![(1.0, LEAF + 1 + a.class)];
        }
        if a.single {
            return vec![(1.0, i)];
        }
        let before = |wire: u32| {
            let node = network.leaves(wire);
            a.wires[..a.data].iter().filter(move |w| network.arrives(w.0) == node)
        };
        let all: f64 = before(wire).map(|w| w.1).sum();
        let mut parts = Vec::new();
        for &(first, part) in before(wire) {
            let (class, mut way) = (a.class as u64, Vec::new());
            let mut at = Some(first);
            // Ways have no more wires than all ways together.
            while let Some(wire) = at.filter(|_| way.len() <= 2 * a.data) {
                way.extend([class, u64::from(wire)]);
                at = before(wire).next().map(|w| w.0);
            }
            way.push(class);
            self.ways.push(way);
            parts.push((part / all, WAYS + self.ways.len() - 1));
        }
        if parts.is_empty() { vec![(1.0, LEAF + 1 + a.class)] } else { parts }
    }

    /// The ports that stand behind a use, nearest first: before each of them the class, whose own turns are.
    fn path(&self, flow: usize, hops: usize) -> Vec<u64> {
        let a = &self.asked[flow];
        let class = a.class as u64;
        match hops {
            LEAF => Vec::new(),
            _ if hops > LEAF => vec![class],
            0 if self.network.flow_control() != FlowControl::Pfc => Vec::new(),
            _ if hops >= WAYS => self.ways[hops - WAYS].clone(),
            _ => (a.wires[..hops].iter().rev()).flat_map(|w| [class, u64::from(w.0)]).chain([class]).collect(),
        }
    }

    /// The ports that may be stopped, with those that come in there.
    fn queue(&mut self) {
        let mut of_flow: Vec<BTreeMap<u32, usize>> = vec![BTreeMap::new(); self.asked.len()];
        for (r, resource) in self.resources.iter().enumerate() {
            resource.uses.iter().filter(|u| u.hops != LEAF).for_each(|u| {
                of_flow[u.flow].insert(resource.key, r);
            });
        }
        let mut all: BTreeMap<Port, (Queue<Port>, Vec<Member>)> = BTreeMap::new();
        let mut count = 0;
        for (flow, a) in self.asked.iter().enumerate().filter(|(_, a)| a.own != NO_WIRE && self.by_port[a.class]) {
            // Of those with several ways, or destinations, what stands in their own port.
            let ports = if a.single { a.data.saturating_sub(1) } else { 1 };
            for (i, &(wire, _)) in a.wires[..a.data].iter().enumerate().take(ports) {
                let beyond: Vec<usize> = (a.wires[i + 1..a.data].iter())
                    .filter(|w| w.0 != wire)
                    .filter_map(|w| of_flow[flow].get(&w.0).copied())
                    .collect();
                let (member, weight) = (self.member(a, a.own, false, 1.0, a.frames.wire()), a.frames.wire());
                let key = (wire, a.class);
                let room = 1.0;
                let (queue, members) = all
                    .entry(key)
                    .or_insert_with(|| (Queue { key, room, waits: Vec::new(), own_coin: true }, Vec::new()));
                let wait = Wait { flow, packets: weight, hops: i, most: f64::INFINITY, place: 1 + i, beyond };
                queue.waits.push(wait);
                members.push(Member { group: 1 + a.own, counted: counted(member.frames), ..member });
                count += 1;
            }
        }
        let differ = |q: &Queue<Port>| q.waits.iter().any(|w| w.beyond != q.waits[0].beyond);
        if count <= MOST_WAITS {
            (self.queues, self.waiting) = all.into_values().filter(|(q, _)| differ(q)).unzip();
        }
    }

    /// What everybody gets. A rate that was fixed together with one that its flow stands behind may be more than its
    /// turns in that queue: such a flow asks for no more than these in the next round.
    pub(super) fn filled(&mut self) -> Vec<Share> {
        let mut rates: Option<Vec<f64>> = None;
        let mut held: BTreeMap<usize, Behind> = BTreeMap::new();
        let mut round = 0;
        loop {
            let moved = self.coin(rates.as_deref(), round);
            let mut caps: Vec<f64> = self.asked.iter().map(|a| a.wants).collect();
            held.values().for_each(|b| caps[b.flow] = caps[b.flow].min(b.most));
            let filled = fill(&self.resources, &self.queues, &caps, |flow, hops| self.path(flow, hops), None);
            let mut shares = filled.shares.clone();
            let mut more = 0.0_f64;
            for b in held.values_mut() {
                let turns = |flow: usize| self.queues[b.queue].waits.iter().find(|w| w.flow == flow).map(|w| w.packets);
                let (Some(mine), Some(others)) = (turns(b.flow), turns(b.other)) else { continue };
                let most = shares[b.other].rate * others / mine;
                more = more.max((most / b.most - 1.0).abs());
                b.most = most;
            }
            for b in behind(&self.resources, &self.queues, &shares, &filled) {
                if shares[b.flow].rate > b.most * (1.0 + SAME) && !held.contains_key(&b.flow) {
                    more = f64::INFINITY;
                    held.insert(b.flow, b);
                }
            }
            let settled = rates.is_some() && moved < SAME && more < SAME;
            round += 1;
            if settled || round == ROUNDS {
                for b in held.values() {
                    let (by, share) = (shares[b.other].by, &mut shares[b.flow]);
                    if share.by.is_none() && share.rate < self.asked[b.flow].wants * (1.0 - SAME) {
                        (share.by, share.behind) = (by, Some(b.queue));
                    }
                }
                return shares;
            }
            rates = Some(shares.iter().map(|s| s.rate).collect());
        }
    }

    /// Sets the coin, for such rates. Gives by what part it has moved at most.
    fn coin(&mut self, rates: Option<&[f64]>, round: usize) -> f64 {
        let mut moved = 0.0_f64;
        // The last rounds go half the way, should they swing.
        let part = if round > ROUNDS / 2 { 0.5 } else { 1.0 };
        for r in 0..self.resources.len() {
            let units = self.units(r, rates);
            let (resource, members) = (&mut self.resources[r], &self.members[r]);
            let pairs = resource.uses.iter().map(|u| (u.flow, u.weight)).collect::<Vec<_>>();
            let old: Vec<f64> = resource.uses.iter().map(|u| u.packets).collect();
            let coins = coins(&pairs, members, rates.map(|rates| (rates, old.as_slice())), &units);
            for (used, coin) in resource.uses.iter_mut().zip(coins) {
                let new = if rates.is_some() { used.packets.powf(1.0 - part) * coin.powf(part) } else { coin };
                if used.weight > 0.0 {
                    moved = moved.max((new / used.packets - 1.0).abs());
                }
                used.packets = new;
            }
        }
        for (queue, members) in self.queues.iter_mut().zip(&self.waiting) {
            let weights = queue.waits.iter().map(|w| (w.flow, self.asked[w.flow].frames.wire())).collect::<Vec<_>>();
            let old: Vec<f64> = queue.waits.iter().map(|w| w.packets).collect();
            let coins = coins(&weights, members, rates.map(|rates| (rates, old.as_slice())), &[]);
            queue.waits.iter_mut().zip(coins).for_each(|(wait, coin)| wait.packets = coin);
        }
        moved
    }

    /// Bytes of a wire that a turn of each class has.
    fn units(&self, r: usize, rates: Option<&[f64]>) -> Vec<f64> {
        let (resource, members) = (&self.resources[r], &self.members[r]);
        let classes = self.by_port.len();
        let node = self.network.leaves(resource.key);
        let keys = match &self.network.node(node).keys {
            NodeKeys::Switch(k) => Some(k),
            NodeKeys::Station(_) if self.orders[node.0 as usize] == Order::Classes => None,
            NodeKeys::Station(_) => return vec![1.0; classes],
        };
        // Frames of what each class sends now; of one that sends nothing, of what it would.
        let sums = |rates: Option<&[f64]>| {
            let mut sums = vec![(0.0, 0.0, 0.0); classes];
            for (used, m) in resource.uses.iter().zip(members) {
                let rate = rates.map_or(m.guess, |rates| rates[used.flow]);
                if let Some(class) = m.class {
                    let (bytes, sum) = (used.weight * rate, &mut sums[class]);
                    *sum = (sum.0 + bytes, sum.1 + bytes * m.frames, sum.2 + bytes * m.counted);
                }
            }
            sums
        };
        let (known, guess) = (sums(rates), sums(None));
        let of = |c: usize| if known[c].1 > 0.0 { known[c] } else { guess[c] };
        let frame = |c: usize| if of(c).1 > 0.0 { of(c).0 / of(c).1 } else { 1.0 };
        // Bytes that are counted, for each of the wire.
        let counted = |c: usize| if of(c).0 > 0.0 { of(c).2 / of(c).0 } else { 1.0 };
        let Some(k) = keys else { return (0..classes).map(frame).collect() };
        let (rule, weights) = self.network.scheduling(k);
        let units: Vec<f64> = match rule {
            Scheduling::Turns => (0..classes).map(frame).collect(),
            // Ports count bytes of frames, wires also preambles and gaps.
            Scheduling::Weighted => {
                let framed = |c: usize| (frame(c) - (ethernet::PREAMBLE + ethernet::GAP) as f64).max(1.0);
                (0..classes).map(|c| f64::from(weights[c]) * frame(c) / framed(c)).collect()
            }
            Scheduling::Strict => self.strict(r, rates),
        };
        units.iter().enumerate().map(|(c, unit)| unit * counted(c)).collect()
    }

    /// The same where the highest class comes first: what it asks for, and what that leaves to others. What is before
    /// all classes takes its part of the wire first.
    fn strict(&self, r: usize, rates: Option<&[f64]>) -> Vec<f64> {
        let (resource, members) = (&self.resources[r], &self.members[r]);
        let mut asks = vec![0.0; self.by_port.len()];
        let mut left = resource.capacity;
        for (used, m) in resource.uses.iter().zip(members) {
            let a = &self.asked[used.flow];
            match m.class {
                Some(class) => asks[class] += used.weight * a.wants.min(a.line),
                None => left -= used.first * rates.map_or(0.0, |rates| rates[used.flow]),
            }
        }
        let (mut left, mut starved) = (left.max(0.0), STARVED * resource.capacity);
        let mut all = vec![0.0; asks.len()];
        // Classes ascend with priorities.
        for class in (0..asks.len()).rev().filter(|c| asks[*c] > 0.0) {
            all[class] = asks[class].min(left);
            left -= all[class];
            if all[class] < starved {
                all[class] = starved;
                starved *= BELOW;
            }
        }
        all.iter().map(|unit| unit.max(1e-300)).collect()
    }
}

/// What a switch's memory holds of a byte of the wire, with so many frames in it.
fn counted(frames: f64) -> f64 {
    (1.0 - (ethernet::PREAMBLE + ethernet::GAP) as f64 * frames).max(0.1)
}

/// Bytes and turns of a group, and of these the bytes of what comes first and the turns of the others; and what it has
/// of the coin.
#[derive(Clone, Copy, Default)]
struct Sum {
    bytes: f64,
    turns: f64,
    first: f64,
    others: f64,
    coin: f64,
    /// How many members it has, and how many that come first.
    members: f64,
    before: f64,
}

/// The coin of some members per payload byte, each with its flow and the bytes that it takes of the wire. `rates` come
/// with the coin that has led to them.
fn coins(all: &[(usize, f64)], members: &[Member], rates: Option<(&[f64], &[f64])>, units: &[f64]) -> Vec<f64> {
    let unit = |m: &Member| m.class.and_then(|c| units.get(c)).copied().unwrap_or(1.0);
    let sums = |rates: Option<(&[f64], &[f64])>| {
        let mut sums: BTreeMap<(Option<usize>, u32), Sum> = BTreeMap::new();
        for (i, (&(flow, weight), m)) in all.iter().zip(members).enumerate() {
            let rate = rates.map_or(m.guess, |(rates, _)| rates[flow]);
            let bytes = weight * m.counted * rate;
            let sum = sums.entry((m.class, m.group)).or_default();
            sum.bytes += bytes;
            sum.turns += rate / m.turn;
            if m.first {
                sum.first += bytes
            } else {
                sum.others += rate / m.turn
            }
            sum.members += 1.0;
            sum.before += f64::from(u8::from(m.first));
            sum.coin += rates.map_or(0.0, |(rates, old)| rates[flow] * old[i] * unit(m));
        }
        sums
    };
    let (known, guess) = (sums(rates), sums(None));
    // Of one that has it all only the proportions count.
    let ports = !units.is_empty() && known.len() > 1;
    let coin = |(&(_, weight), m): (&(usize, f64), &Member)| {
        if m.class.is_none() {
            return 0.0;
        }
        let key = (m.class, m.group);
        let sum = if known[&key].bytes > 0.0 { known[&key] } else { guess[&key] };
        if rates.is_some() && ports && sum.first > 0.0 && guess[&key].others > 0.0 {
            // A port's coin is its bytes: what comes first of these may be all that there is for the group.
            let left = sum.coin - sum.first;
            let coin = match (m.first, left > sum.coin * LEAST) {
                // All have the same of the coin, so these have for all.
                (true, false) => weight * m.counted * sum.before / sum.members,
                (true, true) => sum.coin / m.turn,
                (false, enough) => {
                    // Bytes of a turn of the others, of which all the coin is left to so many bytes.
                    let of = if sum.others > 0.0 { sum } else { guess[&key] };
                    let each = (of.bytes - of.first).max(0.0) / of.others;
                    each / m.turn * sum.coin / if enough { left } else { sum.coin * LEAST }
                }
            };
            return coin / unit(m);
        }
        sum.bytes / sum.turns / m.turn / unit(m)
    };
    all.iter().zip(members).map(coin).collect()
}
