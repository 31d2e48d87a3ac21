//! How one resource divides what it has: ports take turns, packet by packet, and within a port that port's own ports.
//!
//! Ports form a tree with flows as its leaves. A node that asks for less than its turns leaves the rest to those beside
//! it. Capacities are in units (slots, tags, clocks), turns in packets; the number of turns that fills a capacity is
//! found by false position, since units rise with turns in straight pieces.

use crate::estimate::core::fill::Use;

/// A node of an arbitration tree: a port, or at the leaves a flow (an index into the resource's uses).
pub(in crate::estimate) enum Node {
    Port(Vec<Node>),
    Leaf(usize),
}

/// The tree of some members, by the ports that their packets came through from such a depth on.
pub(in crate::estimate) fn tree(paths: &[Vec<u64>], members: &[usize], depth: usize) -> Node {
    // A port with a single thing behind it is that thing: nothing is divided before ways part.
    let (&first, rest) = match members {
        [one] => return Node::Leaf(*one),
        [] => return Node::Port(Vec::new()),
        [first, rest @ ..] => (first, rest),
    };
    let together = |depth: usize| {
        let port = paths[first].get(depth);
        port.is_some() && rest.iter().all(|m| paths[*m].get(depth) == port)
    };
    let depth = (depth..).find(|d| !together(*d)).unwrap_or(depth);
    let mut ports: Vec<(u64, Vec<usize>)> = Vec::new();
    let mut nodes = Vec::new();
    for &m in members {
        match paths[m].get(depth) {
            None => nodes.push(Node::Leaf(m)),
            Some(port) => match ports.iter_mut().find(|(p, _)| p == port) {
                Some((_, list)) => list.push(m),
                None => ports.push((*port, vec![m])),
            },
        }
    }
    nodes.extend(ports.into_iter().map(|(_, list)| tree(paths, &list, depth + 1)));
    // A port with a single thing behind it is that thing.
    if nodes.len() == 1 { nodes.remove(0) } else { Node::Port(nodes) }
}

/// A tree made ready for one division: what is asked for below each node, the modest first.
pub(in crate::estimate) struct Asked {
    packets: f64,
    leaf: Option<usize>,
    below: Vec<Asked>,
}

/// A tree made ready, where each leaf asks for so many packets.
pub(in crate::estimate) fn ready(node: &Node, packets: &[f64]) -> Asked {
    let (leaf, mut below) = match node {
        Node::Leaf(m) => (Some(*m), Vec::new()),
        Node::Port(nodes) => (None, nodes.iter().map(|n| ready(n, packets)).collect()),
    };
    below.sort_by(|a: &Asked, b: &Asked| a.packets.total_cmp(&b.packets));
    let sum = leaf.map_or_else(|| below.iter().map(|n| n.packets).sum(), |m| packets[m]);
    Asked { packets: sum, leaf, below }
}

/// Gives `amount` packets to a node, in turns.
fn give(node: &Asked, amount: f64, given: &mut [f64]) {
    if let Some(m) = node.leaf {
        given[m] = amount.min(node.packets);
        return;
    }
    let (mut left, mut n) = (amount, node.below.len());
    for below in &node.below {
        let turn = (left / n as f64).min(below.packets);
        give(below, turn, given);
        left -= turn;
        n -= 1;
    }
}

/// What each leaf may have by turns while one of them, with nothing that it asks for, gets `mine`: every node beside
/// the way to it gets as much as the node on that way. Gives what the node gets, if the leaf is below it.
pub(in crate::estimate) fn beside(node: &Asked, leaf: usize, mine: f64, given: &mut [f64]) -> Option<f64> {
    if node.leaf == Some(leaf) {
        given[leaf] = mine;
        return Some(mine);
    }
    let (at, turn) = node.below.iter().enumerate().find_map(|(i, n)| Some((i, beside(n, leaf, mine, given)?)))?;
    let mut all = turn;
    for (_, other) in node.below.iter().enumerate().filter(|(i, _)| *i != at) {
        give(other, turn, given);
        all += turn.min(other.packets);
    }
    Some(all)
}

/// Divides `left` units by turns; bytes per second for each use.
pub(in crate::estimate) fn turns(uses: &[Use], tree: &Node, left: f64, asked: &[f64]) -> Vec<f64> {
    let packets: Vec<f64> =
        uses.iter().zip(asked).map(|(u, a)| if u.weight > 0.0 { a * u.packets } else { 0.0 }).collect();
    let mut given = vec![0.0; uses.len()];
    let units = |given: &[f64]| {
        uses.iter().zip(given).filter(|(u, _)| u.weight > 0.0).map(|(u, g)| g / u.packets * u.whole()).sum::<f64>()
    };
    // Units rise with the number of turns, in straight pieces (one piece where all packets are alike): find the number
    // that fills the capacity by false position, halving where that does not halve.
    let asked = ready(tree, &packets);
    let (mut low, mut high) = (0.0, asked.packets);
    let (mut at_low, mut at_high) = (-left, units(&packets) - left);
    for i in 0..80 {
        let straight = low - at_low * (high - low) / (at_high - at_low);
        let guess = if i % 4 == 3 || !straight.is_finite() { 0.5 * (low + high) } else { straight };
        give(&asked, guess, &mut given);
        let over = units(&given) - left;
        if over.abs() <= left * 1e-13 || high - low <= high * 1e-15 {
            break;
        }
        if over > 0.0 { (high, at_high) = (guess, over) } else { (low, at_low) = (guess, over) }
    }
    uses.iter().zip(given).map(|(u, g)| if u.weight > 0.0 { g / u.packets } else { f64::INFINITY }).collect()
}
