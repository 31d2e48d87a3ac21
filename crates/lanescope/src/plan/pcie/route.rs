//! Ways through the tree: up from the requester, down to the target; over a crosslink only where it says so.

use crate::plan::{Direction, Hop, Link, LinkId, PartId};
use std::collections::{HashSet, VecDeque};

/// Levels of links below a root complex. A hierarchy has 256 buses, two for each switch on the way (PCI numbering);
/// nobody builds half of it in a row.
pub(in crate::plan) const DEPTH: usize = 64;

/// The tree above each part, and the crosslinks.
pub(in crate::plan) struct Map {
    /// The link up from each part, if any, and the part it leads to.
    up: Vec<Option<(LinkId, PartId)>>,
    /// Crosslinks, with the parts whose flows they carry.
    cross: Vec<(LinkId, HashSet<PartId>)>,
    /// All links at each part, for ways over crosslinks.
    at: Vec<Vec<LinkId>>,
}

impl Map {
    pub(in crate::plan) fn new(parts: usize, links: &[Link], cross: Vec<(LinkId, HashSet<PartId>)>) -> Map {
        let mut map = Map { up: vec![None; parts], cross, at: vec![Vec::new(); parts] };
        for (i, link) in links.iter().enumerate() {
            let id = LinkId(i as u32);
            for end in &link.ends {
                map.at[end.part.0 as usize].push(id);
            }
            if !link.crosslink {
                map.up[link.ends[1].part.0 as usize] = Some((id, link.ends[0].part));
            }
        }
        map
    }

    /// A link on a loop, if the way up from somewhere comes back.
    pub(in crate::plan) fn find_loop(&self) -> Option<LinkId> {
        let mut state = vec![0u8; self.up.len()]; // 0 new, 1 on this walk, 2 known to end
        for start in 0..self.up.len() {
            let mut walk = Vec::new();
            let mut at = start;
            while state[at] == 0 {
                state[at] = 1;
                walk.push(at);
                match self.up[at] {
                    Some((_, above)) => at = above.0 as usize,
                    None => break,
                }
            }
            if state[at] == 1 && self.up[at].is_some() && walk.last() != Some(&at) {
                return self.up[at].map(|u| u.0);
            }
            if state[at] == 1 && self.up[at].is_some_and(|u| u.1.0 as usize == at) {
                return self.up[at].map(|u| u.0);
            }
            walk.into_iter().for_each(|p| state[p] = 2);
        }
        None
    }

    /// A part that hangs deeper than so many links, and the link above it.
    pub(in crate::plan) fn too_deep(&self, most: usize) -> Option<LinkId> {
        let deep = (0..self.up.len()).find(|&p| self.above(PartId(p as u32)).len() > most)?;
        self.up[deep].map(|u| u.0)
    }

    /// The part on top of the tree that a part hangs in.
    pub(in crate::plan) fn root(&self, part: PartId) -> PartId {
        self.above(part).last().copied().unwrap_or(part)
    }

    /// The part itself and all above it.
    fn above(&self, part: PartId) -> Vec<PartId> {
        let mut chain = vec![part];
        while let Some((_, above)) = self.up[chain[chain.len() - 1].0 as usize] {
            chain.push(above);
            if chain.len() > self.up.len().min(DEPTH + 2) {
                break;
            }
        }
        chain
    }

    /// The way from one part to another; crosslinks are used when they carry either. `None` when there is none.
    pub(in crate::plan) fn route(&self, links: &[Link], from: PartId, to: PartId) -> Option<Vec<Hop>> {
        let allowed: Vec<LinkId> =
            self.cross.iter().filter(|(_, who)| who.contains(&from) || who.contains(&to)).map(|(id, _)| *id).collect();
        if !allowed.is_empty() {
            return self.search(links, from, to, &allowed);
        }
        let (ups, downs) = (self.above(from), self.above(to));
        let meet = ups.iter().find(|p| downs.contains(p))?;
        let hop = |part: &PartId, direction| Some(Hop { link: self.up[part.0 as usize]?.0, direction });
        let mut route: Vec<Hop> = ups.iter().take_while(|p| *p != meet).filter_map(|p| hop(p, Direction::Up)).collect();
        let down: Vec<Hop> = downs.iter().take_while(|p| *p != meet).filter_map(|p| hop(p, Direction::Down)).collect();
        route.extend(down.into_iter().rev());
        Some(route)
    }

    /// The shortest way over tree links and the allowed crosslinks, a crosslink counting nothing.
    fn search(&self, links: &[Link], from: PartId, to: PartId, allowed: &[LinkId]) -> Option<Vec<Hop>> {
        // Cost so far, and the step that led there.
        type Reached = (u32, Option<(PartId, Hop)>);
        let mut best: Vec<Option<Reached>> = vec![None; self.up.len()];
        best[from.0 as usize] = Some((0, None));
        let mut queue = VecDeque::from([from]);
        while let Some(part) = queue.pop_front() {
            let cost = best[part.0 as usize].map_or(0, |b| b.0);
            for &id in &self.at[part.0 as usize] {
                let link = &links[id.0 as usize];
                if link.crosslink && !allowed.contains(&id) {
                    continue;
                }
                let direction = if link.ends[0].part == part { Direction::Down } else { Direction::Up };
                let next = link.ends[direction.to()].part;
                let new = cost + u32::from(!link.crosslink);
                if best[next.0 as usize].is_none_or(|b| new < b.0) {
                    best[next.0 as usize] = Some((new, Some((part, Hop { link: id, direction }))));
                    if link.crosslink { queue.push_front(next) } else { queue.push_back(next) }
                }
            }
        }
        let mut route = Vec::new();
        let mut at = to;
        while at != from {
            let (_, came) = best[at.0 as usize]?;
            let (before, hop) = came?;
            route.push(hop);
            at = before;
        }
        route.reverse();
        Some(route)
    }
}
