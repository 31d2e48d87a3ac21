//! Ways through switches: for each switch and destination switch, the wires that begin a shortest way.
//!
//! Stations hang on one switch each, so destinations behind one switch share a row. Where several wires are equally short, a flow's number decides: each
//! choice takes a digit of it, in the base of the number of choices, so that two choices on one way are independent.

use super::{EthernetLink, Node, NodeId};
use crate::scenario::NodeKeys;
use std::collections::{HashMap, VecDeque};

/// Switches at most: the table has the square of this.
pub(super) const MOST_SWITCHES: usize = 4096;
const NONE: u32 = u32::MAX;

/// What every switch does with every destination.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Of each node: its own number among the switches, or [`NONE`].
    switch: Vec<u32>,
    /// Of each station: the switch it hangs on (a node), the wire that leads from there to it, and its number among the stations.
    attached: Vec<(u32, u32, u32)>,
    switches: usize,
    /// By switch and destination switch: an index of `sets`.
    table: Vec<u32>,
    /// Stretches of `ways`.
    sets: Vec<(u32, u32)>,
    ways: Vec<u32>,
}

impl Routes {
    /// Works out all ways.
    pub(super) fn new(nodes: &[Node], links: &[EthernetLink]) -> Routes {
        let mut switch = vec![NONE; nodes.len()];
        let mut list = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            if let NodeKeys::Switch(_) = node.keys {
                switch[i] = list.len() as u32;
                list.push(i);
            }
        }
        let n = list.len();
        let mut attached = vec![(NONE, NONE, NONE); nodes.len()];
        let mut stations = 0;
        for (i, node) in nodes.iter().enumerate().filter(|(i, _)| switch[*i] == NONE) {
            if let Some(&(link, end)) = node.ports.first() {
                let other = links[link as usize].ends[1 - end as usize].0;
                attached[i] = (other, 2 * link + 1 - end as u32, stations);
            }
            stations += 1;
        }
        // Each switch's neighbours among switches, with the wire to them.
        let near: Vec<Vec<(usize, u32)>> = list
            .iter()
            .map(|&i| {
                let ports = nodes[i].ports.iter();
                ports
                    .filter_map(|&(link, end)| {
                        let other = switch[links[link as usize].ends[1 - end as usize].0 as usize];
                        (other != NONE).then_some((other as usize, 2 * link + end as u32))
                    })
                    .collect()
            })
            .collect();
        let mut routes = Routes { switch, attached, switches: n, table: vec![NONE; n * n], ..Routes::default() };
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
                let ways: Vec<u32> =
                    near[at].iter().filter(|(next, _)| distance[*next] + 1 == distance[at]).map(|w| w.1).collect();
                let (sets, all) = (&mut routes.sets, &mut routes.ways);
                let set = *known.entry(ways).or_insert_with_key(|ways| {
                    sets.push((all.len() as u32, ways.len() as u32));
                    all.extend(ways);
                    sets.len() as u32 - 1
                });
                routes.table[at * n + to] = set;
            }
        }
        routes
    }

    /// The wire on which a switch sends what is bound for a station; takes a digit of `way` where it has a choice.
    #[inline]
    pub fn next(&self, at: NodeId, to: NodeId, way: &mut u32) -> Option<u32> {
        let (home, wire, _) = self.attached[to.0 as usize];
        if home == at.0 {
            return Some(wire);
        }
        let (from, home) = (*self.switch.get(at.0 as usize)?, *self.switch.get(home as usize)?);
        if from == NONE || home == NONE {
            return None;
        }
        let set = self.table[from as usize * self.switches + home as usize];
        let &(start, n) = self.sets.get(set as usize)?;
        if n == 1 {
            return Some(self.ways[start as usize]);
        }
        let digit = *way % n;
        *way /= n;
        Some(self.ways[(start + digit) as usize])
    }

    /// The number of a station among the stations.
    pub fn number(&self, station: NodeId) -> u32 {
        self.attached[station.0 as usize].2
    }

    /// Whether one station's frames can get to another.
    pub(super) fn reach(&self, from: NodeId, to: NodeId) -> bool {
        let (first, ..) = self.attached[from.0 as usize];
        first == to.0 || first != NONE && self.next(NodeId(first), to, &mut 0).is_some()
    }
}
