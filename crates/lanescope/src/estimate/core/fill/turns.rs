//! How one resource divides what it has: ports take turns, packet by packet, and within a port that port's own ports.
//!
//! Ports form a tree with flows as its leaves. A node that asks for less than its turns leaves the rest to those beside
//! it. Capacities are in units (slots, tags, clocks), turns in packets; the number of turns that fills a capacity is
//! found by false position, since units rise with turns in straight pieces.
//!
//! A packet takes turns only at the ports that it crosses. In a buffer that waits for a resource stand packets that go
//! on by other ways too: they take turns at the ports before that buffer, not behind it (`join`).
//!
//! A tree is made once and divided many times, so it lies flat, what is behind a port in a row, and a division takes
//! its room from [`Room`].

use crate::estimate::core::fill::Use;
use crate::estimate::core::fill::queue::Passing;
use std::ops::Range;

/// A node of an arbitration tree.
#[derive(Clone, Debug)]
enum Node {
    /// A port: what is behind it, places in [`Tree::below`], and which leaves there take turns at it that do not at the
    /// port beyond it, places in [`Tree::passing`].
    Port(Range<usize>, Range<usize>),
    /// A flow: an index into the resource's uses.
    Leaf(usize),
}

/// An arbitration tree. What is behind a node comes before it; its root comes last.
#[derive(Debug, Default)]
pub(in crate::estimate) struct Tree {
    nodes: Vec<Node>,
    below: Vec<usize>,
    passing: Vec<usize>,
}

/// A member of a tree: the ports that its packets came through, nearest first, and the first of them (counted so) at
/// which they take turns.
pub(super) struct Member {
    pub(super) path: Vec<u64>,
    pub(super) join: usize,
}

impl Tree {
    /// The tree of some members.
    pub(super) fn of(members: &[Member]) -> Tree {
        let mut tree = Tree::default();
        tree.add(members, &(0..members.len()).collect::<Vec<_>>(), 0, None);
        tree
    }

    /// Adds the node of some members, whose ports are alike up to such a depth; `beyond` is the depth of the node that
    /// it is behind. Gives its place.
    fn add(&mut self, all: &[Member], members: &[usize], depth: usize, beyond: Option<usize>) -> usize {
        // A port with a single thing behind it is that thing: nothing is divided before ways part.
        let (&first, rest) = match members {
            [one] => return self.push(Node::Leaf(*one)),
            [] => return self.push(Node::Port(0..0, 0..0)),
            [first, rest @ ..] => (first, rest),
        };
        let together = |depth: usize| {
            let port = all[first].path.get(depth);
            port.is_some() && rest.iter().all(|m| all[*m].path.get(depth) == port)
        };
        let depth = (depth..).find(|d| !together(*d)).unwrap_or(depth);
        let mut ports: Vec<(u64, Vec<usize>)> = Vec::new();
        let mut behind = Vec::new();
        for &m in members {
            match all[m].path.get(depth) {
                None => behind.push(self.push(Node::Leaf(m))),
                Some(port) => match ports.iter_mut().find(|(p, _)| p == port) {
                    Some((_, list)) => list.push(m),
                    None => ports.push((*port, vec![m])),
                },
            }
        }
        for (_, list) in ports {
            behind.push(self.add(all, &list, depth + 1, Some(depth)));
        }
        // A port with a single thing behind it is that thing.
        if let [one] = behind[..] {
            return one;
        }
        let (begin, passing) = (self.below.len(), self.passing.len());
        self.below.extend(behind);
        if let Some(beyond) = beyond {
            let join = |m: &&usize| (beyond + 1..=depth).contains(&all[**m].join);
            self.passing.extend(members.iter().filter(join));
        }
        self.push(Node::Port(begin..self.below.len(), passing..self.passing.len()))
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Gives `amount` packets to a node, in turns: so many of those that the port beyond it counts.
    fn give(&self, asked: &Asked, node: usize, amount: f64, given: &mut [f64]) {
        let all = asked.all[node];
        let passing = match &self.nodes[node] {
            Node::Port(_, passing) if !passing.is_empty() => &self.passing[passing.clone()],
            _ => return self.divide(asked, node, amount, given),
        };
        // The turns of all rise with those that are counted, in straight pieces: find them by false position.
        let (mut low, mut high) = (0.0, all);
        let (mut at_low, mut at_high) = (-amount, asked.packets[node] - amount);
        if at_high <= 0.0 {
            return self.divide(asked, node, all, given);
        }
        for i in 0..60 {
            let straight = low - at_low * (high - low) / (at_high - at_low);
            let guess = if i % 4 == 3 || !straight.is_finite() { 0.5 * (low + high) } else { straight };
            self.divide(asked, node, guess, given);
            let over = guess - passing.iter().map(|m| given[*m]).sum::<f64>() - amount;
            if over.abs() <= amount * 1e-13 || high - low <= high * 1e-15 {
                break;
            }
            if over > 0.0 { (high, at_high) = (guess, over) } else { (low, at_low) = (guess, over) }
        }
    }

    /// Divides `amount` packets among what is behind a node, in turns.
    fn divide(&self, asked: &Asked, node: usize, amount: f64, given: &mut [f64]) {
        match &self.nodes[node] {
            Node::Leaf(m) => given[*m] = amount.min(asked.packets[node]),
            Node::Port(below, _) => {
                let (mut left, mut n) = (amount, below.len());
                for &next in &asked.order[below.clone()] {
                    let turn = (left / n as f64).min(asked.packets[next]);
                    self.give(asked, next, turn, given);
                    left -= turn;
                    n -= 1;
                }
            }
        }
    }

    /// What each leaf may have by turns while one of them, with nothing that it asks for, gets `mine`: every node
    /// beside the way to it gets as much as the node on that way.
    pub(in crate::estimate) fn beside(&self, asked: &Asked, leaf: usize, mine: f64, given: &mut [f64]) {
        self.beside_at(asked, self.root(), leaf, mine, given);
    }

    /// The same below a node. If the leaf is below it: what the node gets of those that the port beyond it counts.
    fn beside_at(&self, asked: &Asked, node: usize, leaf: usize, mine: f64, given: &mut [f64]) -> Option<f64> {
        let (below, passing) = match &self.nodes[node] {
            Node::Leaf(m) if *m == leaf => {
                given[leaf] = mine;
                return Some(mine);
            }
            Node::Leaf(_) => return None,
            Node::Port(below, passing) => (&asked.order[below.clone()], &self.passing[passing.clone()]),
        };
        let found = |&next: &usize| Some((next, self.beside_at(asked, next, leaf, mine, given)?));
        let (on_the_way, turn) = below.iter().find_map(found)?;
        let mut all = turn;
        for &other in below.iter().filter(|n| **n != on_the_way) {
            self.give(asked, other, turn, given);
            all += turn.min(asked.packets[other]);
        }
        Some((all - passing.iter().map(|m| given[*m]).sum::<f64>()).max(0.0))
    }
}

/// A tree made ready for one division: what is asked for below each node, the modest first.
#[derive(Default)]
pub(in crate::estimate) struct Asked {
    /// By node: of those that the port beyond it counts.
    packets: Vec<f64>,
    /// By node, of all that take turns at it.
    all: Vec<f64>,
    /// [`Tree::below`], what is behind each port in its order.
    order: Vec<usize>,
}

impl Asked {
    /// Makes a tree ready, where each leaf asks for so many packets.
    pub(in crate::estimate) fn ready(&mut self, tree: &Tree, packets: &[f64]) {
        self.packets.clear();
        self.all.clear();
        self.order.clone_from(&tree.below);
        for node in &tree.nodes {
            let all = match node {
                Node::Leaf(m) => packets[*m],
                Node::Port(below, _) => {
                    let order = &mut self.order[below.clone()];
                    order.sort_by(|a, b| self.packets[*a].total_cmp(&self.packets[*b]));
                    order.iter().map(|n| self.packets[*n]).sum()
                }
            };
            let passing = match node {
                Node::Port(_, passing) => tree.passing[passing.clone()].iter().map(|m| packets[*m]).sum(),
                Node::Leaf(_) => 0.0,
            };
            self.all.push(all);
            self.packets.push((all - passing).max(0.0));
        }
    }
}

/// Room for divisions, one after the other.
#[derive(Default)]
pub(in crate::estimate) struct Room {
    pub(in crate::estimate) asked: Asked,
    /// What each use of a resource asks for, and what it gets.
    pub(in crate::estimate) asks: Vec<f64>,
    pub(in crate::estimate) shares: Vec<f64>,
    packets: Vec<f64>,
    given: Vec<f64>,
}

impl Room {
    /// Divides `left` units by turns; bytes per second for each use, and then for each of those that pass by, in
    /// `shares`.
    pub(super) fn turns(
        &mut self,
        (uses, passing): (&[Use], &[Passing]),
        tree: &Tree,
        left: f64,
        asks: &[f64],
        shares: &mut Vec<f64>,
    ) {
        let Room { asked, packets, given, .. } = self;
        packets.clear();
        packets.extend(uses.iter().zip(asks).map(|(u, a)| if u.weight > 0.0 { a * u.packets } else { 0.0 }));
        packets.extend(passing.iter().zip(&asks[uses.len()..]).map(|(p, a)| a * p.packets));
        given.clear();
        given.resize(packets.len(), 0.0);
        let units = |given: &[f64]| {
            uses.iter().zip(given).filter(|(u, _)| u.weight > 0.0).map(|(u, g)| g / u.packets * u.whole()).sum::<f64>()
        };
        // Units rise with the number of turns, in straight pieces (one piece where all packets are alike): find the
        // number that fills the capacity by false position, halving where that does not halve.
        asked.ready(tree, packets);
        let (mut low, mut high) = (0.0, asked.all[tree.root()]);
        let (mut at_low, mut at_high) = (-left, units(packets) - left);
        // Packets of strict priorities are a millionth of others': it may be long until the bracket is near.
        for i in 0..200 {
            let straight = low - at_low * (high - low) / (at_high - at_low);
            let guess = if i % 4 == 3 || !straight.is_finite() { 0.5 * (low + high) } else { straight };
            tree.divide(asked, tree.root(), guess, given);
            let over = units(given) - left;
            if over.abs() <= left * 1e-13 || high - low <= high * 1e-15 {
                break;
            }
            if over > 0.0 { (high, at_high) = (guess, over) } else { (low, at_low) = (guess, over) }
        }
        shares.clear();
        shares
            .extend(uses.iter().zip(&*given).map(|(u, g)| if u.weight > 0.0 { g / u.packets } else { f64::INFINITY }));
        shares.extend(passing.iter().zip(&given[uses.len()..]).map(|(p, g)| g / p.packets));
    }
}
