//! Fair shares: progressive filling at every resource, by its arbitration tree, until all resources agree.
//!
//! A resource serves its ports in turn, packet by packet, and within a port what that port's own ports sent: so a flow's weight is its place in
//! the tree, not a number. Each resource in turn divides its capacity among the demands that the other resources leave; what a flow does not
//! take goes to the others. The rounds end when no share moves. DLLPs go first: those of flows that send nothing else here are taken off the
//! capacity before packets share it; those of a flow that does also send packets come with its turns (the sum is the same, and the rounds settle).

/// What one flow asks of one resource, per payload byte.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// The flow.
    pub(crate) flow: usize,
    /// Units that its packets take.
    pub(crate) weight: f64,
    /// Packets, the arbiter's coin.
    pub(crate) packets: f64,
    /// Units that go before all packets (DLLPs), at the usual policy.
    pub(crate) first: f64,
    /// The same, the fewest that the policy allows.
    pub(crate) first_least: f64,
    /// How many hops its packets have behind them: what gives them their place in the arbitration tree.
    pub(crate) hops: usize,
}

impl Use {
    /// Packets and DLLPs together.
    pub(super) fn whole(&self) -> f64 {
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

/// The outcome for one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    /// Payload bytes per second.
    pub(crate) rate: f64,
    /// Index of the resource that binds; `None` when the flow gets all that it asks for.
    pub(crate) by: Option<usize>,
}

/// A node of an arbitration tree: a port, or at the leaves a flow (an index into the resource's uses).
enum Node {
    Port(Vec<Node>),
    Leaf(usize),
}

fn tree(paths: &[Vec<u64>], members: &[usize], depth: usize) -> Node {
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
struct Asked {
    packets: f64,
    leaf: Option<usize>,
    below: Vec<Asked>,
}

fn ready(node: &Node, packets: &[f64]) -> Asked {
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

/// Shares of all flows. `caps` are their own wishes in bytes per second, infinite where they take what there is. `path` gives the ports that a
/// flow's packets came through after so many hops, nearest first; equal prefixes share a port.
pub(crate) fn shares<K>(
    resources: &[Resource<K>],
    caps: &[f64],
    path: impl Fn(usize, usize) -> Vec<u64>,
) -> Vec<Share> {
    // Most resources never fill up and need no tree.
    let mut trees: Vec<Option<Node>> = resources.iter().map(|_| None).collect();
    // What each resource lets each of its flows have, resource by resource; at first, all of it.
    let mut first_use = Vec::with_capacity(resources.len());
    let mut allowed: Vec<f64> = Vec::new();
    for resource in resources {
        first_use.push(allowed.len());
        allowed.extend(resource.uses.iter().map(|u| resource.capacity / u.whole().max(1e-300)));
    }
    // Where each flow's entries in it are, with their resources.
    let mut of_flow: Vec<Vec<(usize, usize)>> = vec![Vec::with_capacity(12); caps.len()];
    for (r, resource) in resources.iter().enumerate() {
        for (u, used) in resource.uses.iter().enumerate() {
            of_flow[used.flow].push((r, first_use[r] + u));
        }
    }
    let best = |flow: usize, allowed: &[f64], but: usize| {
        let others = of_flow[flow].iter().filter(|(r, _)| *r != but);
        others.fold(caps[flow], |least, &(_, i)| if allowed[i] < least { allowed[i] } else { least })
    };
    let mut rate: Vec<f64> = (0..caps.len()).map(|f| best(f, &allowed, usize::MAX)).collect();
    // A resource is looked at again when one of its flows has moved.
    let mut stale = vec![true; resources.len()];
    let (mut wished, mut asked) = (Vec::new(), Vec::new());
    for _round in 0..200 {
        let mut moved = false;
        for (r, resource) in resources.iter().enumerate() {
            if !std::mem::take(&mut stale[r]) {
                continue;
            }
            let uses = &resource.uses;
            let first: f64 = uses.iter().filter(|u| u.weight == 0.0).map(|u| u.first * rate[u.flow]).sum();
            let left = (resource.capacity - first).max(0.0);
            // Nobody can ask for more than all of it.
            let alone = |u: &Use| if u.weight > 0.0 { left / u.whole() } else { f64::INFINITY };
            wished.clear();
            wished.extend(uses.iter().map(|u| best(u.flow, &allowed, r)));
            asked.clear();
            asked.extend(uses.iter().zip(&wished).map(|(u, w)| alone(u).min(*w)));
            let load: f64 = uses.iter().zip(&asked).filter(|(u, _)| u.weight > 0.0).map(|(u, a)| u.whole() * a).sum();
            if load > left * (1.0 + 1e-12) {
                let tree = trees[r].get_or_insert_with(|| {
                    let paths: Vec<_> = uses.iter().map(|u| path(u.flow, u.hops)).collect();
                    tree(&paths, &(0..uses.len()).collect::<Vec<_>>(), 0)
                });
                asked = divide(resource, tree, left, &asked);
            }
            for (u, used) in uses.iter().enumerate() {
                // Who gets his wish is not held back here.
                allowed[first_use[r] + u] =
                    if asked[u] >= wished[u] * (1.0 - 1e-12) { f64::INFINITY } else { asked[u] };
                let new = best(used.flow, &allowed, usize::MAX);
                if (new - rate[used.flow]).abs() > 1e-11 * new.max(1.0) {
                    moved = true;
                    of_flow[used.flow].iter().for_each(|&(other, _)| stale[other] = true);
                }
                rate[used.flow] = new;
            }
        }
        if !moved {
            break;
        }
    }
    (0..caps.len())
        .map(|f| {
            let tightest = of_flow[f]
                .iter()
                .filter(|&&(_, i)| allowed[i] <= rate[f] * (1.0 + 1e-9))
                .max_by_key(|&&(r, _)| resources[r].uses.len());
            Share { rate: rate[f], by: tightest.map(|t| t.0) }
        })
        .collect()
}

/// Divides `left` units by turns; bytes per second for each use.
fn divide<K>(resource: &Resource<K>, tree: &Node, left: f64, asked: &[f64]) -> Vec<f64> {
    let uses = &resource.uses;
    // Only flows that send packets here are held back; those with nothing but DLLPs pass.
    let packets: Vec<f64> =
        uses.iter().zip(asked).map(|(u, a)| if u.weight > 0.0 { a * u.packets } else { 0.0 }).collect();
    let mut given = vec![0.0; uses.len()];
    let units = |given: &[f64]| {
        uses.iter().zip(given).filter(|(u, _)| u.weight > 0.0).map(|(u, g)| g / u.packets * u.whole()).sum::<f64>()
    };
    // Units rise with the number of turns, in straight pieces (one piece where all packets are alike): find the number that fills the
    // capacity by false position, halving where that does not halve.
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
}
