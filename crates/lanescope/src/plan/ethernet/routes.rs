//! Ways through switches: for each switch and destination switch, the wires that begin a shortest way.
//!
//! Stations hang on one switch each, so destinations behind one switch share a row. Where several wires are equally
//! short, a flow's number decides: each choice takes a digit of it, in the base of the number of choices, so that two
//! choices on one way are independent.

use crate::plan::ethernet::NodeId;
use std::collections::{HashMap, VecDeque};

/// Switches at most: the table has the square of this.
pub(in crate::plan) const MOST_SWITCHES: usize = 4096;
/// Ways of equal length that are used at most.
const MOST_WAYS: usize = 255;
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
    switches: usize,
    /// By switch and destination switch: where its stretch of `ways` begins, and how long it is (the low byte, at most
    /// 255).
    table: Vec<u32>,
    ways: Vec<u32>,
}

/// A node, as far as ways go: whether it passes on, and the link of each of its ports with the end that it is.
pub(in crate::plan) struct Wired<'a> {
    pub(in crate::plan) switch: bool,
    pub(in crate::plan) ports: &'a [(u32, u8)],
}

impl Routes {
    /// Works out all ways, over links with these ends.
    pub(in crate::plan) fn new(nodes: &[Wired], links: &[[NodeId; 2]]) -> Routes {
        let mut switch = vec![NONE; nodes.len()];
        let mut list = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            if node.switch {
                switch[i] = list.len() as u32;
                list.push(i);
            }
        }
        let n = list.len();
        let mut attached = vec![(NONE, NONE); nodes.len()];
        let mut numbers = vec![NONE; nodes.len()];
        for (number, (i, node)) in nodes.iter().enumerate().filter(|(i, _)| switch[*i] == NONE).enumerate() {
            if let Some(&(link, end)) = node.ports.first() {
                let other = links[link as usize][1 - end as usize].0;
                attached[i] = (switch[other as usize], 2 * link + 1 - end as u32);
            }
            numbers[i] = number as u32;
        }
        // Each switch's neighbours among switches, with the wire to them.
        let near: Vec<Vec<(usize, u32)>> = list
            .iter()
            .map(|&i| {
                let ports = nodes[i].ports.iter();
                ports
                    .filter_map(|&(link, end)| {
                        let other = switch[links[link as usize][1 - end as usize].0 as usize];
                        (other != NONE).then_some((other as usize, 2 * link + end as u32))
                    })
                    .collect()
            })
            .collect();
        let mut routes = Routes { switch, attached, numbers, switches: n, table: vec![0; n * n], ways: Vec::new() };
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
                routes.table[at * n + to] = *known.entry(ways).or_insert_with_key(|ways| {
                    let start = all.len() as u32;
                    all.extend(ways);
                    start << 8 | ways.len() as u32
                });
            }
        }
        routes
    }

    /// The number of a node among the switches; what [`Routes::next`] wants to know.
    pub(crate) fn switch(&self, node: NodeId) -> u32 {
        self.switch[node.0 as usize]
    }

    /// The wire on which a switch sends what is bound for a station; takes a digit of `way` where it has a choice.
    #[inline]
    pub(crate) fn next(&self, switch: u32, to: NodeId, way: &mut u32) -> Option<u32> {
        let (home, wire) = self.attached[to.0 as usize];
        if home == switch {
            return Some(wire);
        }
        let stretch = *self.table.get(switch as usize * self.switches + home as usize)?;
        let (start, n) = (stretch >> 8, stretch & 0xff);
        match n {
            0 => None,
            1 => Some(self.ways[start as usize]),
            n => {
                let digit = *way % n;
                *way /= n;
                Some(self.ways[(start + digit) as usize])
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
        let stretch = self.table.get(switch as usize * self.switches + *home as usize).copied().unwrap_or(0);
        let (start, n) = ((stretch >> 8) as usize, (stretch & 0xff) as usize);
        self.ways.get(start..start + n).unwrap_or(&[])
    }

    /// The number of a station among the stations.
    pub(crate) fn number(&self, station: NodeId) -> u32 {
        self.numbers[station.0 as usize]
    }

    /// Whether one station's frames can get to another.
    pub(in crate::plan) fn reach(&self, from: NodeId, to: NodeId) -> bool {
        let (first, last) = (self.attached[from.0 as usize], self.attached[to.0 as usize]);
        if first.0 == NONE {
            // Two stations back to back share a link.
            return last.1 / 2 == first.1 / 2;
        }
        last.0 != NONE && self.next(first.0, to, &mut 0).is_some()
    }
}
