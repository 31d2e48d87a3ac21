//! Collectives of a GPU library: which rank passes what on to whom, by algorithm.
//!
//! Each algorithm is told here once: who follows whom in a ring, who is above whom in a tree, and what share of the
//! data each transfer moves. The estimate adds the shares up; a simulation's schedule (`schedule`) makes messages of
//! them.

use super::{GpuCluster, Path};
use crate::scenario::keys::{CollectiveAlgorithm as Algorithm, CollectiveProtocol as Protocol};
use serde::Serialize;

/// What is asked for. Sizes are those of nccl-tests: of an all-gather and a reduce-scatter the whole vector, of an
/// all-to-all what one rank sends in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// Everyone has the sum of all vectors.
    AllReduce,
    /// Everyone has every block.
    AllGather,
    /// Everyone has the sum of one block.
    ReduceScatter,
    /// Everyone has the vector of one.
    Broadcast,
    /// Everyone sends each a block.
    Alltoall,
    /// Everyone sends the next its vector.
    Sendrecv,
}

impl Collective {
    /// All of them.
    pub const ALL: [Collective; 6] = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Broadcast,
        Collective::Alltoall,
        Collective::Sendrecv,
    ];

    /// The one that nccl-tests call so.
    pub fn named(name: &str) -> Option<Collective> {
        Collective::ALL.into_iter().find(|c| c.name() == name)
    }

    /// As nccl-tests calls it.
    pub fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all_reduce",
            Collective::AllGather => "all_gather",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::Broadcast => "broadcast",
            Collective::Alltoall => "alltoall",
            Collective::Sendrecv => "sendrecv",
        }
    }

    /// Bus bandwidth as a multiple of the algorithm's (nccl-tests, doc/PERFORMANCE.md).
    pub(crate) fn bus_factor(self, n: u32) -> f64 {
        let n = f64::from(n);
        match self {
            Collective::AllReduce => 2.0 * (n - 1.0) / n,
            Collective::AllGather | Collective::ReduceScatter | Collective::Alltoall => (n - 1.0) / n,
            Collective::Broadcast | Collective::Sendrecv => 1.0,
        }
    }

    /// Whether ranks add up what they receive.
    pub(crate) fn reduces(self) -> bool {
        matches!(self, Collective::AllReduce | Collective::ReduceScatter)
    }

    /// The algorithms that can do it.
    pub(crate) fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::*;
        match self {
            Collective::AllReduce => &[Ring, Tree, DoubleTree, RecursiveDoubling, Nvls, NvlsTree],
            Collective::AllGather | Collective::ReduceScatter => &[Ring, RecursiveDoubling, Nvls],
            Collective::Broadcast => &[Ring, Tree],
            Collective::Alltoall | Collective::Sendrecv => &[Direct],
        }
    }
}

/// The parent of a node in the binary tree whose leaves are the odd nodes: the node without its lowest bit, with the
/// next higher one set where there is such a node.
fn above(v: u32, n: u32) -> Option<u32> {
    if v == 0 {
        return None;
    }
    let bit = v & v.wrapping_neg();
    let up = (v ^ bit) | (bit << 1);
    Some(if up < n { up } else { v ^ bit })
}

/// The parent of each node in the first or the second tree: the second is the first mirrored, or with an odd number of
/// nodes moved on by one, so that leaves become inner nodes.
pub(crate) fn parents(n: u32, second: bool) -> Vec<Option<u32>> {
    let map = |v: u32| match (second, n.is_multiple_of(2)) {
        (false, _) => v,
        (true, true) => n - 1 - v,
        (true, false) => (v + 1) % n,
    };
    let mut all = vec![None; n as usize];
    for v in 0..n {
        all[map(v) as usize] = above(v, n).map(map);
    }
    all
}

/// The level of one in a tree; the root's is 0.
pub(super) fn level(parents: &[Option<u32>], of: u32) -> u32 {
    std::iter::successors(parents[of as usize], |p| parents[*p as usize]).count() as u32
}

/// Levels below the root.
pub(crate) fn depth(parents: &[Option<u32>]) -> u32 {
    (0..parents.len() as u32).map(|v| level(parents, v)).max().unwrap_or(0)
}

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// From a rank to another.
    Send(u32, u32),
    /// The switch adds up for a rank.
    Reduce(u32),
    /// The switch sends a rank's data to all of its node.
    Multicast(u32),
}

impl Move {
    /// Which of a channel's thread blocks does it: a ring has one; up a tree and down it, in the switch and between
    /// nodes, and what is `passed` on to another rail, others work at the same time.
    pub(crate) fn job(self, how: Algorithm, adds: bool, passed: bool) -> u32 {
        match (how, self) {
            (Algorithm::Direct, _) => u32::from(passed),
            (Algorithm::Ring | Algorithm::RecursiveDoubling, _) | (_, Move::Reduce(_)) => 0,
            (Algorithm::NvlsTree, Move::Send(..)) => 2 - u32::from(adds),
            (_, Move::Send(..)) => u32::from(!adds),
            (_, Move::Multicast(_)) => 3,
        }
    }
}

impl GpuCluster {
    /// Why an algorithm cannot do a collective here; `None` where it can.
    pub fn refused(&self, what: Collective, how: Algorithm, protocol: Protocol) -> Option<String> {
        if !what.algorithms().contains(&how) {
            let all: Vec<&str> = what.algorithms().iter().map(|a| a.word()).collect();
            return Some(format!("{} is not done by {}, but by {}", what.name(), how.word(), all.join(", ")));
        }
        let switch = matches!(how, Algorithm::Nvls | Algorithm::NvlsTree);
        match how {
            Algorithm::Nvls | Algorithm::NvlsTree if !self.nvls => Some("no switch of a node can reduce".into()),
            Algorithm::Nvls if self.nodes > 1 => {
                Some("nvls works within one node; across nodes there is nvls_tree".into())
            }
            Algorithm::NvlsTree if self.nodes == 1 => {
                Some("nvls_tree works across nodes; within one there is nvls".into())
            }
            Algorithm::RecursiveDoubling if !self.ranks().is_power_of_two() || !self.gpus.is_power_of_two() => {
                Some(format!("recursive doubling needs a power of two of ranks, not {}", self.ranks()))
            }
            _ if (switch || how == Algorithm::Direct) && protocol != Protocol::Simple => {
                Some(format!("{} has the protocol simple only", how.word()))
            }
            _ if protocol == Protocol::Ll128 && self.links.is_some_and(|l| !l.switched) => {
                Some("ll128 is NVLink's: it needs stores of 128 bytes that arrive whole".into())
            }
            _ => None,
        }
    }

    /// The way of a transfer on a channel.
    pub(crate) fn path(&self, what: Move, channel: u32) -> Result<Path, String> {
        match what {
            Move::Send(from, to) => self.way(from, to, channel),
            Move::Reduce(one) => self.in_switch(one, false),
            Move::Multicast(one) => self.in_switch(one, true),
        }
    }

    /// The GPU of a node that a channel's data leave by, and its neighbours down the node's chain.
    pub(crate) fn chain(&self, node: u32, channel: u32) -> Vec<u32> {
        let g = self.gpus;
        let step = self.stride(channel);
        (0..g).map(|i| node * g + (channel + i * step) % g).collect()
    }

    /// How far apart neighbours of a channel are: with links of each pair, channels take different ones, by strides
    /// that have no divisor in common with the number of GPUs.
    fn stride(&self, channel: u32) -> u32 {
        if self.links.is_none_or(|l| l.switched) || self.gpus < 3 {
            return 1;
        }
        let strides: Vec<u32> =
            (1..self.gpus).filter(|s| crate::tools::gcd(u64::from(*s), u64::from(self.gpus)) == 1).collect();
        strides[(channel / self.gpus) as usize % strides.len()]
    }

    /// The order of a channel's ring. In a node it comes in at the GPU of the channel's NIC and leaves by the next; in
    /// the next node the other way round, so that it stays on two rails (with an odd number of nodes all but once).
    pub(crate) fn ring(&self, channel: u32) -> Vec<u32> {
        let (g, n) = (self.gpus, self.nodes);
        let step = self.stride(channel);
        let first = channel % g;
        let mut order = Vec::with_capacity((g * n) as usize);
        for node in 0..n {
            let at = |i: u32| node * g + i % g;
            match node % 2 {
                // first, first - 1, …, first + 1
                0 => order.extend((0..g).map(|i| at(first + (g - i) * step))),
                _ => order.extend((1..=g).map(|i| at(first + i * step))),
            }
        }
        order
    }

    /// Every transfer of a collective by an algorithm, with the thread block (of its rank) that does it: channel and
    /// job, then the share of the size that it moves, and whether the receiver adds it up. Of an all-to-all only those
    /// of the first node's ranks: all nodes are alike.
    pub fn traffic(&self, what: Collective, how: Algorithm, tell: &mut impl FnMut(Move, (u32, u32), f64, bool)) {
        let mut put = |what: Move, channel: u32, share: f64, adds: bool| {
            tell(what, (channel, what.job(how, adds, false)), share, adds);
        };
        let n = self.ranks();
        let (channels, size) = (self.channels, f64::from(n));
        let each = 1.0 / f64::from(channels);
        match how {
            Algorithm::Ring => {
                let (times, adds) = match what {
                    Collective::AllReduce => (2.0 * (size - 1.0) / size, 0.5),
                    Collective::ReduceScatter => ((size - 1.0) / size, 1.0),
                    Collective::AllGather => ((size - 1.0) / size, 0.0),
                    _ => (1.0, 0.0),
                };
                for c in 0..channels {
                    let order = self.ring(c);
                    for (i, &from) in order.iter().enumerate() {
                        let to = order[(i + 1) % order.len()];
                        // A broadcast stops before the root, which is the first.
                        if what == Collective::Broadcast && i + 1 == order.len() || from == to {
                            continue;
                        }
                        put(Move::Send(from, to), c, times * each * adds, true);
                        put(Move::Send(from, to), c, times * each * (1.0 - adds), false);
                    }
                }
            }
            Algorithm::Tree | Algorithm::DoubleTree => {
                for c in 0..channels {
                    let parents = parents(self.nodes, how == Algorithm::DoubleTree && c % 2 == 1);
                    for node in 0..self.nodes {
                        let chain = self.chain(node, c);
                        let head = chain[0];
                        let up = parents[node as usize].map(|p| self.chain(p, c)[0]);
                        for (child, parent) in chain.windows(2).map(|w| (w[1], w[0])).chain(up.map(|p| (head, p))) {
                            if what == Collective::AllReduce {
                                put(Move::Send(child, parent), c, each, true);
                            }
                            put(Move::Send(parent, child), c, each, false);
                        }
                    }
                }
            }
            Algorithm::RecursiveDoubling => {
                // Channels go the same way unless a GPU has NICs of its own for them.
                let (ways, each) = if self.nics > self.gpus { (channels, each) } else { (1, 1.0) };
                for (step, share) in self.doubling(what) {
                    for r in 0..n {
                        (0..ways).for_each(|c| put(Move::Send(r, r ^ step), c, share * each, what.reduces()));
                    }
                }
            }
            Algorithm::Nvls => {
                let share = each / size;
                for c in 0..channels {
                    for r in 0..n {
                        if what != Collective::AllGather {
                            put(Move::Reduce(r), c, share, true);
                        }
                        if what != Collective::ReduceScatter {
                            put(Move::Multicast(r), c, share, false);
                        }
                    }
                }
            }
            Algorithm::NvlsTree => {
                let share = each / f64::from(self.gpus);
                for c in 0..channels {
                    let parents = parents(self.nodes, c % 2 == 1);
                    for r in 0..n {
                        put(Move::Reduce(r), c, share, true);
                        put(Move::Multicast(r), c, share, false);
                        if let Some(p) = parents[(r / self.gpus) as usize] {
                            let p = p * self.gpus + r % self.gpus;
                            put(Move::Send(r, p), c, share, true);
                            put(Move::Send(p, r), c, share, false);
                        }
                    }
                }
            }
            Algorithm::Direct if what == Collective::Sendrecv => {
                for r in (0..n).filter(|_| n > 1) {
                    for c in 0..channels {
                        put(Move::Send(r, (r + 1) % n), c, each, false);
                    }
                }
            }
            Algorithm::Direct => {
                for r in 0..self.gpus {
                    for to in (0..n).filter(|to| *to != r) {
                        for (hop, (from, to)) in self.hops(r, to).enumerate() {
                            let what = Move::Send(from, to);
                            let job = what.job(how, false, hop > 0);
                            (0..channels).for_each(|c| tell(what, (c, job), each / size, false));
                        }
                    }
                }
            }
        }
    }

    /// The one or two hops of a message: to another rail through the GPU of that rail in its own node (PXN).
    pub(crate) fn hops(&self, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        let g = self.gpus;
        let other_node = from / g != to / g;
        let via = from / g * g + to % g;
        let pxn = self.pxn && other_node && self.nics > 1 && via != from && self.nic(via, 0) != self.nic(from, 0);
        let (first, second) = if pxn { ((from, via), Some((via, to))) } else { ((from, to), None) };
        std::iter::once(first).chain(second)
    }

    /// Distances of recursive doubling, each with the share of the size that a rank sends.
    pub(crate) fn doubling(&self, what: Collective) -> Vec<(u32, f64)> {
        let n = self.ranks();
        let steps = (0..n.ilog2()).map(|k| 1 << k);
        match what {
            Collective::AllReduce => steps.map(|d| (d, 1.0)).collect(),
            Collective::AllGather => steps.map(|d| (d, f64::from(d) / f64::from(n))).collect(),
            // The largest halves go to the nearest.
            _ => steps.map(|d| (d, 0.5 / f64::from(d))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_span_all_nodes_and_leaves_change_places() {
        for n in 1..200 {
            for second in [false, true] {
                let up = parents(n, second);
                assert_eq!(up.iter().filter(|p| p.is_none()).count(), 1, "one root of {n}");
                assert!(depth(&up) <= n.next_power_of_two().ilog2() + 1, "{n} nodes: {}", depth(&up));
                let below = |v: u32| up.iter().filter(|p| **p == Some(v)).count();
                assert!((0..n).all(|v| below(v) <= 2), "binary");
            }
            // Nobody passes on to two in both trees.
            let [a, b] = [false, true].map(|s| parents(n, s));
            let twice = |v: u32| [&a, &b].into_iter().all(|t| t.iter().filter(|p| **p == Some(v)).count() == 2);
            assert!((0..n).all(|v| !twice(v)), "{n} nodes");
        }
    }
}
