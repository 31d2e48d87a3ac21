//! A fabric divided among threads: which node goes to which, and taking the parts of one from another and back.
//!
//! Switches that have stations are divided first, so that those that exchange much stay together; what lies above them
//! is divided level by level, each evenly. Stations go with their switch, so that a part may count what comes to a
//! station without an event.

use crate::plan::ethernet::{Network, NodeId, Stream};
use crate::protocol::ethernet::{HEADER, PREAMBLE, frame};
use crate::scenario::keys::FlowControl;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::ethernet::frames::{Arena, List};
use crate::sim::ethernet::{Fabric, NONE, Net, Reach, Wire};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which part each node belongs to, in at most so many parts; `None` where there are too few switches. `frames` are
/// those that each wire has carried: what a node sends is its work, what two nodes exchange ties them together.
pub(super) fn divide(network: &Network, frames: &[u64], parts: usize) -> Option<Vec<u32>> {
    let graph = Graph::new(network, frames);
    let parts = parts.min(graph.switches.iter().filter(|n| graph.level[**n] == 0).count());
    if parts < 2 {
        return None;
    }
    let mut owner = vec![NONE; network.nodes.len()];
    graph.grow(parts, &mut owner);
    graph.climb(parts, &mut owner);
    for n in (0..owner.len()).filter(|n| graph.level[*n] == NONE) {
        let of = graph.neighbours(n).map(|(_, to)| to).find(|to| graph.level[*to] != NONE);
        owner[n] = of.map_or(0, |to| owner[to]);
    }
    // Parts that got nothing are none.
    let mut number = vec![NONE; parts];
    let mut used = 0;
    for part in &mut owner {
        let number = &mut number[*part as usize];
        if *number == NONE {
            *number = used;
            used += 1;
        }
        *part = *number;
    }
    (used > 1).then_some(owner)
}

/// Switches, their work, and what ties them together.
struct Graph<'a> {
    network: &'a Network,
    frames: &'a [u64],
    switches: Vec<usize>,
    /// Of each switch how far it is from a station; [`NONE`] of a station.
    level: Vec<u32>,
    /// Frames that it has sent, those of its stations included.
    work: Vec<u64>,
}

impl Graph<'_> {
    fn new<'a>(network: &'a Network, frames: &'a [u64]) -> Graph<'a> {
        let nodes = network.nodes.len();
        let switches = (0..nodes).filter(|n| network.station(NodeId(*n as u32)).is_none()).collect();
        let mut graph = Graph { network, frames, switches, level: vec![NONE; nodes], work: vec![0; nodes] };
        let is_switch = |n: &usize| network.station(NodeId(*n as u32)).is_none();
        for n in 0..nodes {
            let sent: u64 = graph.neighbours(n).map(|(out, _)| frames[out as usize] + 1).sum();
            // A station goes with its switch, and so does its work. Stations back to back are nobody's.
            let of = if is_switch(&n) { Some(n) } else { graph.neighbours(n).map(|(_, to)| to).find(is_switch) };
            if let Some(of) = of {
                graph.work[of] += sent;
            }
        }
        let has_stations = |n: &&usize| graph.neighbours(**n).any(|(_, to)| !is_switch(&to));
        let mut reached: Vec<usize> = graph.switches.iter().filter(has_stations).copied().collect();
        for level in 0.. {
            reached.retain(|n| graph.level[*n] == NONE);
            reached.iter().for_each(|n| graph.level[*n] = level);
            if reached.is_empty() {
                break;
            }
            let beyond = reached.iter().flat_map(|n| graph.neighbours(*n)).map(|(_, to)| to);
            reached = beyond.filter(is_switch).collect();
        }
        graph
    }

    /// Wires out of a node, and where they lead.
    fn neighbours(&self, n: usize) -> impl Iterator<Item = (u32, usize)> + use<'_> {
        let id = NodeId(n as u32);
        let ports = 0..self.network.node(id).ports.len();
        ports.map(move |port| self.network.out(id, port)).map(|out| (out, self.network.arrives(out).0 as usize))
    }

    /// The same among switches, with what ties the two together.
    fn ties(&self, n: usize) -> impl Iterator<Item = (u64, usize)> + use<'_> {
        let tied = self.neighbours(n).filter(|(_, to)| self.level[*to] != NONE);
        tied.map(|(out, to)| (self.frames[out as usize] + self.frames[(out ^ 1) as usize] + 1, to))
    }

    /// Divides the switches that have stations. Each part grows by the one with the strongest ties to it, until it has
    /// its share of their work; other switches only lead from one to the next.
    fn grow(&self, parts: usize, owner: &mut [u32]) {
        let leaves = || self.switches.iter().copied().filter(|n| self.level[*n] == 0);
        let mut left: u64 = leaves().map(|n| self.work[n]).sum();
        for part in 0..parts as u32 {
            let goal = left / (parts as u64 - u64::from(part));
            let (mut mine, mut strength, mut passed) = (0, vec![0u64; owner.len()], vec![false; owner.len()]);
            // Of equals the one that comes first in the plan.
            let mut next: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
            let mut unseen = leaves();
            loop {
                let tied = loop {
                    match next.pop() {
                        // What has gained ties since stands there again.
                        Some((t, Reverse(n))) if passed[n] || owner[n] != NONE || t != strength[n] => {}
                        other => break other.map(|(_, Reverse(n))| n),
                    }
                };
                let Some(n) = tied.or_else(|| unseen.find(|n| owner[*n] == NONE)) else { break };
                passed[n] = true;
                if self.level[n] == 0 {
                    // The last takes all that is left; others stop where one more would take them further from their
                    // share.
                    if part + 1 < parts as u32 && mine > 0 && 2 * mine + self.work[n] > 2 * goal {
                        break;
                    }
                    owner[n] = part;
                    mine += self.work[n];
                }
                for (tie, to) in self.ties(n).filter(|(_, to)| owner[*to] == NONE) {
                    strength[to] += tie;
                    next.push((strength[to], Reverse(to)));
                }
            }
            left -= mine;
        }
    }

    /// Divides what lies above them, level by level, each evenly: where all send at once, all that is at work at a
    /// moment may be of one level. A switch goes where its ties are, as long as there is room.
    fn climb(&self, parts: usize, owner: &mut [u32]) {
        let highest = self.switches.iter().map(|n| self.level[*n]).filter(|l| *l != NONE).max().unwrap_or(0);
        for level in 1..=highest {
            let mut all: Vec<(u64, Reverse<usize>, Vec<u64>)> = Vec::new();
            for n in self.switches.iter().copied().filter(|n| self.level[*n] == level) {
                let mut to = vec![0; parts];
                self.ties(n).filter(|(_, other)| owner[*other] != NONE).for_each(|(t, o)| to[owner[o] as usize] += t);
                let mut sorted = to.clone();
                sorted.sort_unstable_by_key(|t| Reverse(*t));
                all.push((sorted[0] - sorted[1], Reverse(n), to));
            }
            // Those that have most to lose first.
            all.sort_unstable_by(|a, b| b.cmp(a));
            let goal = all.iter().map(|a| self.work[a.1.0]).sum::<u64>().div_ceil(parts as u64);
            let mut load = vec![0u64; parts];
            for (_, Reverse(n), to) in all {
                let room = |part: &usize| load[*part] + self.work[n] / 2 <= goal;
                let best = (0..parts).filter(room).max_by_key(|part| (to[*part], Reverse(load[*part]), Reverse(*part)));
                let part = best.or_else(|| (0..parts).min_by_key(|part| load[*part])).unwrap_or(0);
                owner[n] = part as u32;
                load[part] += self.work[n];
            }
        }
        // What no station reaches has nothing to do.
        self.switches.iter().filter(|n| self.level[**n] == NONE).for_each(|n| owner[*n] = 0);
    }
}

/// The shortest time from an event in one part to the first that it can cause in another, fs, if any wires between
/// switches lie between them: a control frame or as much of a data frame as its receiver waits for.
pub(super) fn lookahead(network: &Network, wires: &[Wire]) -> u64 {
    let smallest = smallest_frame(network);
    let shortest = |w: &Wire| {
        let acts = match w.reach {
            Reach::Whole(latency) => (PREAMBLE + smallest) * w.byte + latency,
            Reach::Header(latency) => (PREAMBLE + HEADER) * w.byte + latency,
            Reach::Counted => return NEVER,
        };
        // What a neighbour must know acts without the latency of a switch.
        let told = (PREAMBLE + frame(0)) * w.byte;
        w.delay + if network.flow_control() == FlowControl::None { acts } else { acts.min(told) }
    };
    let is_switch = |node: u32| network.station(NodeId(node)).is_none();
    wires.iter().filter(|w| is_switch(w.from) && is_switch(w.to)).map(shortest).min().unwrap_or(NEVER)
}

/// Bytes of the smallest frame that there may be.
fn smallest_frame(network: &Network) -> u64 {
    // Messages of one size, cut as the simulation cuts them, and nothing that answers them.
    let known = |s: &Stream| {
        let as_cut = network.payload(s) == network.path_mtu(s);
        s.sizes.is_none() && s.trace.is_none() && !s.is_roce() && as_cut
    };
    let silent = network.flow_control() == FlowControl::None && !network.slows_down();
    if !silent || !network.streams.iter().all(known) {
        return frame(0);
    }
    let cut = network.streams.iter().flat_map(|s| network.cut(s, s.size.typical.0));
    cut.map(|(_, _, bytes)| bytes).min().unwrap_or(frame(0))
}

/// Copies a list's frames from one arena to another.
fn rehouse(list: &mut List, from: &Arena, to: &mut Arena) {
    let ids = std::mem::replace(list, List::EMPTY).iter(from);
    ids.for_each(|id| {
        let id = to.put(from[id]);
        list.push(id, to);
    });
}

impl Wire {
    /// The rows of frames that its sender has, and those that its receiver has.
    fn rows(&mut self) -> (impl Iterator<Item = &mut List>, [&mut List; 2]) {
        (self.queues.iter_mut().chain([&mut self.urgent]), [&mut self.flight, &mut self.local])
    }
}

/// Copies the frames that a node of a fabric has from another arena into its own.
fn rehouse_node(fabric: &mut Fabric, which: Place, from: &Arena) {
    let to = &mut fabric.net.frames;
    match which {
        Place::Switch(n) => {
            for (id, _) in fabric.switches[n].fifos_mut() {
                *id = to.put(from[*id]);
            }
        }
        Place::Station(n) => fabric.stations[n].rows().for_each(|list| rehouse(list, from, to)),
    }
}

/// A node by its number among its like.
#[derive(Clone, Copy)]
enum Place {
    Switch(usize),
    Station(usize),
}

impl Fabric {
    /// The node of each switch; one without ports is nobody's neighbour.
    fn node_of(&self, switch: usize) -> Option<u32> {
        let out = self.switches[switch].ports.first()?.1;
        Some(self.net.wires[out as usize].from)
    }

    /// Queue pairs, and the nodes that receive what they send.
    fn receivers(&self) -> Vec<(usize, usize)> {
        if self.net.pairs.is_empty() {
            return Vec::new();
        }
        let lanes = self.stations.iter().flat_map(|s| &s.lanes);
        lanes.map(|lane| (lane.global as usize, lane.node as usize)).collect()
    }

    fn owner_of(&self, place: Place, owner: &[u32]) -> u32 {
        match place {
            Place::Switch(n) => self.node_of(n).map_or(0, |node| owner[node as usize]),
            Place::Station(n) => owner[self.stations[n].node as usize],
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.switches.len()).map(Place::Switch).chain((0..self.stations.len()).map(Place::Station))
    }

    /// One part of it, with its moments. The first part goes on with what has been counted so far.
    pub(super) fn part(&self, agenda: &Agenda, owner: &[u32], part: u32) -> (Fabric, Agenda) {
        let mut made = self.clone();
        made.net.frames = Arena::default();
        let from = &self.net.frames;
        let mut own = agenda.empty(part == 0);
        let moment = |slot: u32, own: &mut Agenda| own.set(slot, agenda.get(slot));
        let Net { wires, frames, .. } = &mut made.net;
        for w in wires {
            let (sends, receives) = (owner[w.from as usize] == part, owner[w.to as usize] == part);
            w.leaves_part = sends && !receives;
            let (near, far) = w.rows();
            for list in near {
                if sends { rehouse(list, from, frames) } else { *list = List::EMPTY }
            }
            for list in far {
                if receives { rehouse(list, from, frames) } else { *list = List::EMPTY }
            }
            if receives {
                moment(w.arrive, &mut own);
                moment(w.control, &mut own);
            }
            if sends {
                moment(w.tx, &mut own);
            }
        }
        for place in self.places() {
            let mine = self.owner_of(place, owner) == part;
            if mine {
                rehouse_node(&mut made, place, from);
            }
            match place {
                Place::Switch(n) if mine => moment(self.switches[n].timer, &mut own),
                Place::Station(n) if mine => moment(self.stations[n].timer, &mut own),
                // Nobody asks it for anything here.
                Place::Switch(_) => {}
                Place::Station(n) => made.stations[n].leaves(),
            }
        }
        for (pair, at) in self.receivers() {
            made.net.pairs[pair].rehouse_early(from, (owner[at] == part).then_some(&mut made.net.frames));
        }
        if part > 0 {
            made.net.counts_anew();
        }
        made.net.kept = made.stations.iter().flat_map(|s| &s.lanes).map(|lane| lane.kept()).sum();
        (made, own)
    }

    /// All parts of a fabric as one again.
    pub(super) fn whole(parts: &[&Fabric], owner: &[u32]) -> Fabric {
        let mut made = parts[0].clone();
        made.net.frames = Arena::default();
        let Fabric { net, at_window, .. } = &mut made;
        for (on, wire) in net.wires.iter_mut().enumerate() {
            let [near, far] = [wire.from, wire.to].map(|node| parts[owner[node as usize] as usize]);
            let theirs = &far.net.wires[on];
            *wire = Wire { flight: theirs.flight, local: theirs.local, ..near.net.wires[on].clone() };
            wire.leaves_part = false;
            let (own, others) = wire.rows();
            own.for_each(|list| rehouse(list, &near.net.frames, &mut net.frames));
            others.into_iter().for_each(|list| rehouse(list, &far.net.frames, &mut net.frames));
            at_window.take_wire(&near.at_window, on);
        }
        parts[1..].iter().for_each(|part| net.add(&part.net));
        for place in made.places() {
            let of = parts[made.owner_of(place, owner) as usize];
            match place {
                Place::Switch(n) => {
                    made.switches[n] = of.switches[n].clone();
                    made.at_window.take_switch(&of.at_window, n);
                }
                Place::Station(n) => made.stations[n] = of.stations[n].clone(),
            }
            rehouse_node(&mut made, place, &of.net.frames);
        }
        for (pair, at) in made.receivers() {
            let of = &parts[owner[at] as usize].net;
            made.net.pairs[pair] = of.pairs[pair].clone();
            made.net.pairs[pair].rehouse_early(&of.frames, Some(&mut made.net.frames));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::library::Library;
    use crate::scenario::Included;
    use crate::scenario::tree::Author;

    fn network(rule: &str) -> std::sync::Arc<Network> {
        let text = format!(
            "[parts]\nhost = {{ is = \"station\" }}\nswitch = {{ is = \"ethernet-switch\" }}\n\
            [links]\nnet = {{ {rule}, ethernet = \"10 Gb/s\" }}\n\
            [flows]\nall = {{ from = \"host.*\", to = \"host.*\", pattern = \"permutation\", do = \"send\", \
            size = \"1500 B\" }}\n"
        );
        let included = Included { name: "t.toml".into(), text, author: Author::User };
        let mut d = Diagnostics::default();
        crate::plan(&mut d, included, &[], &Library).expect("a plan").network
    }

    #[test]
    fn a_fat_tree_is_halved_and_stations_go_with_their_switch() {
        let network = network("fat_tree = { k = 4 }");
        let owner = divide(&network, &vec![1; 2 * network.links.len()], 2).expect("two parts");
        // Eight of sixteen stations, four of eight switches of pods, twice, and two of four above.
        assert_eq!(owner.iter().filter(|o| **o == 0).count(), 18, "{owner:?}");
        for wire in 0..2 * network.links.len() as u32 {
            let [from, to] = [network.leaves(wire), network.arrives(wire)];
            if network.station(from).is_some() {
                assert_eq!(owner[from.0 as usize], owner[to.0 as usize]);
            }
        }
        // As many parts as switches with stations, which have much or little to do; and more.
        for parts in [8, 256] {
            let frames: Vec<u64> = (0..2 * network.links.len() as u64).map(|on| 1 + on * on % 1000).collect();
            let owner = divide(&network, &frames, parts).expect("several parts");
            let used = owner.iter().max().map_or(0, |last| last + 1);
            assert!((2..=8).contains(&used) && (0..used).all(|part| owner.contains(&part)), "{owner:?}");
        }
        // Four: each has something.
        let owner = divide(&network, &vec![1; 2 * network.links.len()], 4).expect("four parts");
        assert!((0..4).all(|part| owner.contains(&part)), "{owner:?}");
    }

    #[test]
    fn one_switch_cannot_be_divided() {
        let network = network("star = { hosts = 8 }");
        assert_eq!(divide(&network, &vec![1; 2 * network.links.len()], 2), None);
    }
}
