//! Ways through switches: for each switch and destination switch, the wires that begin a shortest way.
//!
//! Stations hang on one switch each, so destinations behind one switch share a row. Where several wires are equally
//! short, a flow's number decides: each choice takes a digit of it, in the base of the number of choices, so that two
//! choices on one way are independent. Leaves and spines, and fat trees, need no table: what is below a switch is a
//! stretch of the leaves, in equal parts below each of its wires down, and to all others any wire up is as short.

use crate::plan::core::meeting::Meeting;
use crate::plan::ethernet::NodeId;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Switches at most where no rule wires them: the table has the square of this.
pub(in crate::plan) const MOST_SWITCHES: usize = 4096;
/// Ways of equal length that are used at most.
const MOST_WAYS: usize = 255;
/// Wires of all different choices at most: a place among them is the upper part of a number.
const MOST_CHOICES: usize = (1 << 24) - MOST_SWITCHES * MOST_WAYS;
const NONE: u32 = u32::MAX;

/// What every switch does with every destination.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Of each node: its own number among the switches, or [`NONE`].
    switch: Vec<u32>,
    /// Of each station: the number of the switch it hangs on, and the wire that leads from there to it.
    attached: Vec<(u32, u32)>,
    /// Of each station: its number among the stations.
    numbers: Vec<u32>,
    /// Of each node: equal for those that can reach one another.
    islands: Vec<u32>,
    beyond: Beyond,
    ways: Vec<u32>,
    /// With levels, of each wire: the first of those that are parallel to it, and how many these are.
    parallel: Vec<(u32, u32)>,
}

/// The wires that begin a shortest way to another switch: a stretch of `Routes::ways`.
#[derive(Clone, Debug)]
enum Beyond {
    /// By switch and destination switch: where its stretch begins, and how long it is (the low byte, at most 255).
    Table { switches: usize, stretches: Vec<u32> },
    /// Of each switch what is below it and above.
    Levels(Vec<Pod>),
}

impl Default for Beyond {
    fn default() -> Self {
        Beyond::Table { switches: 0, stretches: Vec::new() }
    }
}

/// What a switch of leaves and spines, or of a fat tree, has below it and above.
#[derive(Clone, Copy, Debug)]
struct Pod {
    /// The leaves below it, of those that are numbered first among all switches; itself where it is one.
    first: u32,
    leaves: u32,
    /// As many of them below each of its wires down; these begin here in `ways`.
    each: u32,
    down: u32,
    /// Its wires up, and how many.
    up: u32,
    ups: u32,
}

/// A node, as far as ways go: whether it passes on, and the link of each of its ports with the end that it is.
pub(in crate::plan) struct Wired<'a> {
    pub(in crate::plan) switch: bool,
    pub(in crate::plan) ports: &'a [(u32, u8)],
}

/// Switches in levels, from the leaves up: the nodes of each level, in an order in which what is below one switch are
/// neighbours, and all switches of a level have as many below them.
pub(in crate::plan) type Levels = Vec<Vec<NodeId>>;

/// The stations and switches of a network, numbered, before there are ways.
fn numbered(nodes: &[Wired], links: &[[NodeId; 2]]) -> (Routes, Vec<usize>) {
    let mut switch = vec![NONE; nodes.len()];
    let mut list = Vec::new();
    for (i, _) in nodes.iter().enumerate().filter(|(_, node)| node.switch) {
        switch[i] = list.len() as u32;
        list.push(i);
    }
    let mut attached = vec![(NONE, NONE); nodes.len()];
    let mut numbers = vec![NONE; nodes.len()];
    for (number, (i, node)) in nodes.iter().enumerate().filter(|(i, _)| switch[*i] == NONE).enumerate() {
        if let Some(&(link, end)) = node.ports.first() {
            let other = links[link as usize][1 - end as usize].0;
            attached[i] = (switch[other as usize], 2 * link + 1 - end as u32);
        }
        numbers[i] = number as u32;
    }
    let mut meeting = Meeting::new(nodes.len());
    links.iter().for_each(|[a, b]| meeting.join(a.0 as usize, b.0 as usize));
    let islands = (0..nodes.len()).map(|i| meeting.first(i) as u32).collect();
    (Routes { switch, attached, numbers, islands, ..Routes::default() }, list)
}

impl Routes {
    /// Works out all ways, over links with these ends; `None` where there are too many different choices.
    pub(in crate::plan) fn new(nodes: &[Wired], links: &[[NodeId; 2]]) -> Option<Routes> {
        let (mut routes, list) = numbered(nodes, links);
        let n = list.len();
        // Each switch's neighbours among switches, with the wire to them.
        let near: Vec<Vec<(usize, u32)>> = list
            .iter()
            .map(|&i| {
                let ports = nodes[i].ports.iter();
                ports
                    .filter_map(|&(link, end)| {
                        let other = routes.switch[links[link as usize][1 - end as usize].0 as usize];
                        (other != NONE).then_some((other as usize, 2 * link + end as u32))
                    })
                    .collect()
            })
            .collect();
        let mut stretches = vec![0; n * n];
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        for to in 0..n {
            let mut distance = vec![NONE; n];
            distance[to] = 0;
            let mut queue = VecDeque::from([to]);
            while let Some(at) = queue.pop_front() {
                for &(next, _) in &near[at] {
                    if distance[next] == NONE {
                        distance[next] = distance[at] + 1;
                        queue.push_back(next);
                    }
                }
            }
            for at in (0..n).filter(|&at| at != to && distance[at] != NONE) {
                let shorter = near[at].iter().filter(|(next, _)| distance[*next] + 1 == distance[at]);
                let ways: Vec<u32> = shorter.map(|w| w.1).take(MOST_WAYS).collect();
                let all = &mut routes.ways;
                stretches[at * n + to] = *known.entry(ways).or_insert_with_key(|ways| {
                    let start = all.len() as u32;
                    all.extend(ways);
                    start << 8 | ways.len() as u32
                });
            }
            if routes.ways.len() >= MOST_CHOICES {
                return None;
            }
        }
        routes.beyond = Beyond::Table { switches: n, stretches };
        Some(routes)
    }

    /// The same by rule, where links between switches are those of the rule and no others. `None` where the rule does
    /// not say it all: a switch is in no level, or in two, or a station hangs on one that is no leaf.
    pub(in crate::plan) fn of_levels(nodes: &[Wired], links: &[[NodeId; 2]], levels: &Levels) -> Option<Routes> {
        let (mut routes, list) = numbered(nodes, links);
        // The level of each switch, and its place there.
        let mut place = vec![(usize::MAX, 0); nodes.len()];
        let mut in_levels = 0;
        for (level, of_level) in levels.iter().enumerate() {
            for (i, node) in of_level.iter().enumerate() {
                let place = &mut place[node.0 as usize];
                if !nodes[node.0 as usize].switch || place.0 != usize::MAX {
                    return None;
                }
                *place = (level, i);
                in_levels += 1;
            }
        }
        let attached = routes.attached.iter().filter(|(home, _)| *home != NONE);
        if in_levels != list.len() || attached.clone().any(|(home, _)| place[list[*home as usize]].0 != 0) {
            return None;
        }
        let mut pods = vec![Pod { first: 0, leaves: 0, each: 1, down: 0, up: 0, ups: 0 }; list.len()];
        for (level, nodes_of) in levels.iter().enumerate() {
            for node in nodes_of {
                let mut down: Vec<(usize, u32)> = Vec::new();
                let start = routes.ways.len() as u32;
                for &(link, end) in nodes[node.0 as usize].ports {
                    let (other, wire) = (links[link as usize][1 - end as usize], 2 * link + end as u32);
                    match place[other.0 as usize] {
                        (usize::MAX, _) => {}
                        (near, at) if near < level => down.push((at, wire)),
                        _ => routes.ways.push(wire),
                    }
                }
                let ups = (routes.ways.len() - start as usize).min(MOST_WAYS) as u32;
                down.sort_unstable();
                // Below a leaf there is itself; else what is below the first and all others.
                let (first, each) = match down.first() {
                    Some(&(at, _)) => {
                        let below = &pods[routes.switch(levels[level - 1][at]) as usize];
                        (below.first, below.leaves)
                    }
                    None => (place[node.0 as usize].1 as u32, 1),
                };
                let (own, leaves) = (routes.ways.len() as u32, each * down.len().max(1) as u32);
                routes.ways.extend(down.into_iter().map(|d| d.1));
                pods[routes.switch(*node) as usize] = Pod { first, leaves, each, down: own, up: start, ups };
            }
        }
        // Wires up from switches with the same below them are equally good ways from there to all others, and so are
        // the same wires down.
        let mut groups: BTreeMap<(usize, u32), Vec<u32>> = BTreeMap::new();
        for (level, nodes) in levels.iter().enumerate() {
            for pod in nodes.iter().map(|n| pods[routes.switch[n.0 as usize] as usize]) {
                let up = &routes.ways[pod.up as usize..(pod.up + pod.ups) as usize];
                groups.entry((level, pod.first)).or_default().extend(up);
            }
        }
        routes.parallel = (0..2 * links.len() as u32).map(|wire| (wire, 1)).collect();
        for group in groups.into_values() {
            for &wire in &group {
                routes.parallel[wire as usize] = (group[0], group.len() as u32);
                routes.parallel[wire as usize ^ 1] = (group[0] ^ 1, group.len() as u32);
            }
        }
        routes.beyond = Beyond::Levels(pods);
        Some(routes)
    }

    /// How many of some stations are below a switch of levels; `by_leaf` is of [`Routes::by_leaf`].
    pub(crate) fn below(&self, switch: u32, by_leaf: &[u32]) -> u32 {
        let Beyond::Levels(pods) = &self.beyond else { return 0 };
        let Pod { first, leaves, .. } = pods[switch as usize];
        by_leaf[(first + leaves) as usize] - by_leaf[first as usize]
    }

    /// Of each leaf how many of some stations are on those before it; one more at the end.
    pub(crate) fn by_leaf(&self, stations: impl Iterator<Item = NodeId>) -> Vec<u32> {
        let Beyond::Levels(pods) = &self.beyond else { return Vec::new() };
        let leaves = pods.iter().map(|p| p.first + p.leaves).max().unwrap_or(0);
        let mut sums = vec![0; leaves as usize + 1];
        for (home, _) in stations.map(|s| self.attached[s.0 as usize]).filter(|(home, _)| *home != NONE) {
            sums[pods[home as usize].first as usize + 1] += 1;
        }
        for i in 1..sums.len() {
            sums[i] += sums[i - 1];
        }
        sums
    }

    /// Of parallel wires (they begin, or end, at switches with the same below them) the first, and how many there are;
    /// `None` where no rule says which are parallel. What is spread over all ways evenly takes an equal part of each.
    pub(crate) fn parallel(&self, wire: u32) -> Option<(u32, u32)> {
        self.parallel.get(wire as usize).copied()
    }

    /// The number of a node among the switches; what [`Routes::next`] wants to know.
    pub(crate) fn switch(&self, node: NodeId) -> u32 {
        self.switch[node.0 as usize]
    }

    /// The wire on which a switch sends what is bound for a station; takes a digit of `way` where it has a choice.
    #[inline]
    pub(crate) fn next(&self, switch: u32, to: NodeId, way: &mut u32) -> Option<u32> {
        match self.choices(switch, to) {
            [] => None,
            [one] => Some(*one),
            several => {
                let n = several.len() as u32;
                let digit = *way % n;
                *way /= n;
                Some(several[digit as usize])
            }
        }
    }

    /// The wires among which a switch has the choice for what is bound for a station.
    #[inline]
    pub(crate) fn choices(&self, switch: u32, to: NodeId) -> &[u32] {
        let (home, wire) = &self.attached[to.0 as usize];
        if *home == switch {
            return std::slice::from_ref(wire);
        }
        let (start, n) = match &self.beyond {
            Beyond::Table { switches, stretches } => {
                let stretch = stretches.get(switch as usize * switches + *home as usize).copied().unwrap_or(0);
                (stretch >> 8, stretch & 0xff)
            }
            Beyond::Levels(pods) => {
                let (Some(pod), Some(to)) = (pods.get(switch as usize), pods.get(*home as usize)) else { return &[] };
                let leaf = to.first.wrapping_sub(pod.first);
                if leaf < pod.leaves { (pod.down + leaf / pod.each, 1) } else { (pod.up, pod.ups) }
            }
        };
        self.ways.get(start as usize..(start + n) as usize).unwrap_or(&[])
    }

    /// The number of a station among the stations.
    pub(crate) fn number(&self, station: NodeId) -> u32 {
        self.numbers[station.0 as usize]
    }

    /// Whether one station's frames can get to another.
    pub(in crate::plan) fn reach(&self, from: NodeId, to: NodeId) -> bool {
        self.islands[from.0 as usize] == self.islands[to.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A fabric of pods: leaves and aggregation switches of each, cores of each aggregation switch, stations of each
    /// leaf; without aggregation switches leaves and spines. `order` numbers the nodes, `turn` rotates the links.
    struct Fabric {
        switch: Vec<bool>,
        ports: Vec<Vec<(u32, u8)>>,
        links: Vec<[NodeId; 2]>,
        levels: Levels,
        /// Whether a station hangs on a switch that is no leaf.
        elsewhere: bool,
    }

    fn fabric(shape: [usize; 5], order: &[u32], turn: usize, gateway: Option<usize>) -> Fabric {
        let [pods, leaves, aggregations, cores, hosts] = shape;
        let edges = pods * leaves;
        let counts =
            if aggregations == 0 { [edges, cores, 0] } else { [edges, pods * aggregations, aggregations * cores] };
        let switches: usize = counts.iter().sum();
        // Numbers below so many, in the order of `order`.
        let mut ids: Vec<usize> = (0..switches + edges * hosts + usize::from(gateway.is_some())).collect();
        ids.sort_by_key(|i| (order[i % order.len()], *i));
        let id = |i: usize| NodeId(ids[i] as u32);
        let (middle, top) = (counts[0], counts[0] + counts[1]);
        let mut links: Vec<[NodeId; 2]> = (0..edges * hosts).map(|h| [id(h / hosts), id(switches + h)]).collect();
        for edge in 0..edges {
            if aggregations == 0 {
                links.extend((0..cores).map(|s| [id(middle + s), id(edge)]));
            }
            links.extend((0..aggregations).map(|a| [id(middle + edge / leaves * aggregations + a), id(edge)]));
        }
        for a in 0..pods * aggregations {
            links.extend((0..cores).map(|c| [id(top + a % aggregations * cores + c), id(middle + a)]));
        }
        let at = gateway.map(|at| at % switches);
        links.extend(at.map(|at| [id(at), id(switches + edges * hosts)]));
        let turn = turn % links.len();
        links.rotate_left(turn);
        let mut ports = vec![Vec::new(); ids.len()];
        for (i, ends) in links.iter().enumerate() {
            ends.iter().zip(0..).for_each(|(node, end)| ports[node.0 as usize].push((i as u32, end)));
        }
        let mut switch = vec![false; ids.len()];
        (0..switches).for_each(|s| switch[ids[s]] = true);
        let level = |from: usize, n: usize| (from..from + n).map(id).collect::<Vec<_>>();
        let mut levels = vec![level(0, counts[0]), level(middle, counts[1]), level(top, counts[2])];
        levels.retain(|l| !l.is_empty());
        Fabric { switch, ports, links, levels, elsewhere: at.is_some_and(|at| at >= edges) }
    }

    /// By rule and by a search from each switch there are the same ways, in the same order.
    fn agree(f: &Fabric) {
        let wired: Vec<Wired> = f.switch.iter().zip(&f.ports).map(|(s, ports)| Wired { switch: *s, ports }).collect();
        let search = Routes::new(&wired, &f.links).expect("few choices");
        let rule = Routes::of_levels(&wired, &f.links, &f.levels);
        // Stations behind other switches than leaves are no part of the rule.
        if f.elsewhere {
            assert!(rule.is_none());
            return;
        }
        let rule = rule.expect("a fabric of the rule");
        let nodes = || (0..f.switch.len() as u32).map(NodeId);
        for at in nodes().filter(|n| f.switch[n.0 as usize]).map(|n| search.switch(n)) {
            for to in nodes().filter(|n| !f.switch[n.0 as usize]) {
                assert_eq!(rule.choices(at, to), search.choices(at, to), "from switch {at} to {to:?}");
                assert!(!rule.choices(at, to).is_empty());
                assert_eq!(rule.number(to), search.number(to));
            }
        }
        assert!(nodes().all(|n| rule.reach(NodeId(0), n)));
        let stations: Vec<NodeId> = nodes().filter(|n| !f.switch[n.0 as usize]).collect();
        evenly(&rule, f, &stations);
    }

    /// If each station sends to each other, and each switch spreads that evenly over its choices, parallel
    /// wires carry the same.
    fn evenly(routes: &Routes, f: &Fabric, stations: &[NodeId]) {
        let mut load = vec![0.0; 2 * f.links.len()];
        for &from in stations {
            for &to in stations.iter().filter(|t| **t != from) {
                let mut front = vec![(routes.attached[from.0 as usize].0, 1.0)];
                while let Some((at, part)) = front.pop() {
                    let choices = routes.choices(at, to);
                    for &wire in choices {
                        let part = part / choices.len() as f64;
                        load[wire as usize] += part;
                        let next = routes.switch(f.links[wire as usize / 2][1 - (wire & 1) as usize]);
                        front.extend((next != NONE).then_some((next, part)));
                    }
                }
            }
        }
        for (wire, load_of) in load.iter().enumerate() {
            let (first, width) = routes.parallel(wire as u32).expect("a rule");
            assert!((load_of - load[first as usize]).abs() < 1e-9, "{wire}, parallel to {first}");
            assert_eq!(routes.parallel(first), Some((first, width)));
        }
    }

    #[test]
    fn a_fat_tree_of_four_ports_has_two_ways_up() {
        let f = fabric([4, 2, 2, 2, 2], &[0], 0, None);
        agree(&f);
        let wired: Vec<Wired> = f.switch.iter().zip(&f.ports).map(|(s, ports)| Wired { switch: *s, ports }).collect();
        let routes = Routes::of_levels(&wired, &f.links, &f.levels).expect("a fat tree");
        // 8 edges, 8 aggregation switches and 4 cores; station 20 hangs on switch 0, station 35 on switch 7.
        let choices = |at: u32, to: u32| routes.choices(at, NodeId(to)).len();
        assert_eq!(
            [(0, 20), (0, 21), (0, 22), (0, 35), (8, 20), (8, 35), (16, 35)].map(|(a, t)| choices(a, t)),
            [1, 1, 2, 2, 1, 2, 1]
        );
    }

    proptest! {
        #[test]
        fn the_rule_is_the_search(
            shape in [1usize..5, 1usize..4, 0usize..4, 1usize..4, 1usize..3],
            order in proptest::collection::vec(0u32..100, 1..40),
            turn in 0usize..1000,
            gateway in proptest::option::of(0usize..100),
        ) {
            agree(&fabric(shape, &order, turn, gateway));
        }
    }
}
