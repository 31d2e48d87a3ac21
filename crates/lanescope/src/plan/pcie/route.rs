//! Ways through the trees: up from the requester, down to the target; over a crosslink only where it says so; from one
//! root complex to another over the coherent links between them; and up to the root where access control services (ACS)
//! send peers that way.

use crate::plan::{Direction, Hop, Link, LinkId, Part, PartId};
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
    /// The device on whose port each part is: itself, but for further functions.
    device: Vec<PartId>,
    /// All links at each part, for ways beside the tree.
    at: Vec<Vec<LinkId>>,
}

/// What goes a way: it decides whether a switch sends it up to the root complex (2.0, 6.12.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Bound {
    /// Requests whose address the device has had translated, or not.
    Requests { translated: bool },
    /// Completions.
    Completions,
}

impl Map {
    pub(in crate::plan) fn new(parts: &[Part], links: &[Link], cross: Vec<(LinkId, HashSet<PartId>)>) -> Map {
        let device = parts.iter().zip(0..).map(|(p, i)| p.function_of.unwrap_or(PartId(i))).collect();
        let mut map = Map { up: vec![None; parts.len()], cross, device, at: vec![Vec::new(); parts.len()] };
        for (i, link) in links.iter().enumerate() {
            let id = LinkId(i as u32);
            for end in &link.ends {
                map.at[end.part.0 as usize].push(id);
            }
            if !link.crosslink && !link.speed.typical.is_coherent() {
                map.up[link.ends[1].part.0 as usize] = Some((id, link.ends[0].part));
            }
        }
        // A search takes of equally short ways the one that it meets first, which must not be a matter of the file's
        // order: crosslinks before others, for somebody has said that they carry this, and then by name.
        for ids in &mut map.at {
            ids.sort_by_key(|id| {
                let link = &links[id.0 as usize];
                (!link.crosslink, &link.name)
            });
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

    /// The device on whose port a part is.
    pub(in crate::plan) fn device(&self, part: PartId) -> PartId {
        self.device[part.0 as usize]
    }

    /// The part on top of the tree that a part hangs in.
    pub(in crate::plan) fn root(&self, part: PartId) -> PartId {
        self.above(part).last().copied().unwrap_or(part)
    }

    /// The part itself and all above it.
    fn above(&self, part: PartId) -> Vec<PartId> {
        let mut chain = vec![self.device(part)];
        while let Some((_, above)) = self.up[chain[chain.len() - 1].0 as usize] {
            chain.push(above);
            if chain.len() > self.up.len().min(DEPTH + 2) {
                break;
            }
        }
        chain
    }

    /// The way from one part to another; crosslinks are used when they carry either. `None` when there is none.
    pub(in crate::plan) fn route(&self, links: &[Link], from: PartId, to: PartId, what: Bound) -> Option<Vec<Hop>> {
        let allowed: Vec<LinkId> =
            self.cross.iter().filter(|(_, who)| who.contains(&from) || who.contains(&to)).map(|(id, _)| *id).collect();
        let (from, to) = (self.device(from), self.device(to));
        if !allowed.is_empty() {
            return self.search(links, from, to, |id, link| !link.crosslink || allowed.contains(&id));
        }
        let (ups, downs) = (self.above(from), self.above(to));
        let hop = |part: &PartId, direction| Some(Hop { link: self.up[part.0 as usize]?.0, direction });
        let ways = |above: PartId, below: PartId| -> Vec<Hop> {
            let up = ups.iter().take_while(|p| **p != above).filter_map(|p| hop(p, Direction::Up));
            let down: Vec<Hop> =
                downs.iter().take_while(|p| **p != below).filter_map(|p| hop(p, Direction::Down)).collect();
            up.chain(down.into_iter().rev()).collect()
        };
        let (top, other) = (*ups.last()?, *downs.last()?);
        if let Some(&meet) = ups.iter().find(|p| downs.contains(p)) {
            let direct = ways(meet, meet);
            // A switch in which a way turns round is neither of its ends.
            let turns = meet != from && meet != to && meet != top;
            let entry = direct.iter().rfind(|h| h.direction == Direction::Up).filter(|_| turns);
            return match entry.is_some_and(|h| redirected(&links[h.link.0 as usize], what)) {
                true => Some(ways(top, top)),
                false => Some(direct),
            };
        }
        let mut route = ways(top, PartId(u32::MAX));
        let turn = route.iter().take_while(|h| h.direction == Direction::Up).count();
        let between = self.search(links, top, other, |_, link| link.speed.typical.is_coherent())?;
        route.splice(turn..turn, between);
        Some(route)
    }

    /// The shortest way over the links that are `open`, by links, a crosslink counting nothing, and then by the names
    /// of links, so that the order of the file changes nothing.
    fn search(
        &self,
        links: &[Link],
        from: PartId,
        to: PartId,
        open: impl Fn(LinkId, &Link) -> bool,
    ) -> Option<Vec<Hop>> {
        // Cost so far, and the step that led there.
        type Reached = (u32, Option<(PartId, Hop)>);
        let mut best: Vec<Option<Reached>> = vec![None; self.up.len()];
        best[from.0 as usize] = Some((0, None));
        let mut queue = VecDeque::from([from]);
        while let Some(part) = queue.pop_front() {
            let cost = best[part.0 as usize].map_or(0, |b| b.0);
            for &id in &self.at[part.0 as usize] {
                let link = &links[id.0 as usize];
                if !open(id, link) {
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

/// Whether the port at the upper end of a link sends what comes in by it and goes to a peer up to the root complex.
fn redirected(link: &Link, what: Bound) -> bool {
    match what {
        Bound::Requests { translated: true } if link.acs.direct_translated.typical => false,
        Bound::Requests { .. } => link.acs.request_redirect.typical,
        Bound::Completions => link.acs.completion_redirect.typical,
    }
}
