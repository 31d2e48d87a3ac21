//! Max-min fair rates of flows that come and go.
//!
//! Each link has a *level*: the rate that it lets any of its flows have. A flow's rate is the least level on its path.
//! A link's level follows from what its flows may have elsewhere: those that have less elsewhere keep it, the others
//! share what these leave, alike (water filling); where all fit, the link has no level. When a flow comes or goes, the
//! links of its path are worked out anew, and then every link for which something has changed by that, until nothing
//! does. Where that ends, each flow has a link on its path that is full and lets none of its flows have more: which is
//! what max-min fair means (Bertsekas, Gallager, Data Networks, 6.5.2), and there is one such division. It ends because
//! the link whose flows get least of all has the same level from its first turn on, then the next, and so on (Charny,
//! Clark, Jain, Congestion Control with Explicit Rate Indication, ICC 1995).
//!
//! So what one flow costs does not grow with the network, but with how far a change is felt.

use crate::tools::Slab;
use std::collections::VecDeque;

/// Levels that differ by no more than this part of them are the same: a float's noise.
const NOISE: f64 = 1e-9;

/// A link on a flow's path.
#[derive(Clone, Copy, Debug)]
struct Use {
    link: u32,
    /// Its place among the members of the link.
    place: u32,
    /// The part of the flow that goes over it.
    part: f64,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    uses: Vec<Use>,
    rate: f64,
    touched: bool,
}

/// One flow over a link: which, and which of its uses.
#[derive(Clone, Copy, Debug)]
struct Member {
    flow: u32,
    at: u32,
}

#[derive(Clone, Debug)]
struct Link {
    capacity: f64,
    /// Infinite where its flows are held back elsewhere.
    level: f64,
    members: Vec<Member>,
    /// Whether it is to be worked out anew.
    stale: bool,
}

/// Flows over links.
#[derive(Clone, Debug)]
pub(in crate::sim) struct MaxMin {
    links: Vec<Link>,
    flows: Slab<Flow>,
    stale: VecDeque<u32>,
    touched: Vec<u32>,
    /// What each member of a link could have elsewhere, and its part: kept between calls for its room alone.
    wants: Vec<(f64, f64)>,
}

impl MaxMin {
    /// Links with these capacities, and no flows.
    pub(in crate::sim) fn new(capacities: impl Iterator<Item = f64>) -> MaxMin {
        let link = |capacity| Link { capacity, level: f64::INFINITY, members: Vec::new(), stale: false };
        MaxMin {
            links: capacities.map(link).collect(),
            flows: Slab::new(),
            stale: VecDeque::new(),
            touched: Vec::new(),
            wants: Vec::new(),
        }
    }

    /// A flow comes, over links of which each takes such a part of it; at least one takes all. Its number may have been
    /// another's before. Rates are out of date until [`MaxMin::settle`].
    pub(in crate::sim) fn add(&mut self, path: impl Iterator<Item = (u32, f64)>) -> u32 {
        let flow = self.flows.add(Flow { uses: Vec::new(), rate: 0.0, touched: true });
        for (at, (link, part)) in (0u32..).zip(path) {
            let members = &mut self.links[link as usize].members;
            members.push(Member { flow, at });
            let place = members.len() as u32 - 1;
            self.flows[flow].uses.push(Use { link, place, part });
            self.doubt(link);
        }
        self.touched.push(flow);
        flow
    }

    /// A flow goes.
    pub(in crate::sim) fn remove(&mut self, flow: u32) {
        let gone = self.flows.take(flow);
        for u in gone.uses {
            let members = &mut self.links[u.link as usize].members;
            members.swap_remove(u.place as usize);
            if let Some(moved) = members.get(u.place as usize).copied() {
                self.flows[moved.flow].uses[moved.at as usize].place = u.place;
            }
            self.doubt(u.link);
        }
    }

    /// What a flow has.
    #[cfg(test)]
    fn rate(&self, flow: u32) -> f64 {
        self.flows[flow].rate
    }

    /// The links of a flow's path, with the part that each takes.
    pub(in crate::sim) fn path(&self, flow: u32) -> impl Iterator<Item = (u32, f64)> {
        self.flows[flow].uses.iter().map(|u| (u.link, u.part))
    }

    fn doubt(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].stale, true) {
            self.stale.push_back(link);
        }
    }

    /// Works out what has changed; `changed` hears of each flow whose rate has, and which link holds it to that.
    pub(in crate::sim) fn settle(&mut self, mut changed: impl FnMut(u32, f64, u32)) {
        while let Some(link) = self.stale.pop_front() {
            self.links[link as usize].stale = false;
            self.divide(link);
        }
        for flow in std::mem::take(&mut self.touched) {
            let f = &mut self.flows[flow];
            // One that has gone has no path any more.
            if !std::mem::replace(&mut f.touched, false) || f.uses.is_empty() {
                continue;
            }
            let levels = f.uses.iter().map(|u| (self.links[u.link as usize].level, u.link));
            let (rate, by) = levels.fold((f64::INFINITY, 0), |least, l| if l.0 < least.0 { l } else { least });
            if rate != f.rate {
                f.rate = rate;
                changed(flow, rate, by);
            }
        }
    }

    /// The two lowest levels on a flow's path but for one link's, and where the lowest is.
    fn elsewhere(&self, member: Member) -> (u32, f64, f64) {
        let (mut at, mut first, mut second) = (u32::MAX, f64::INFINITY, f64::INFINITY);
        for (i, u) in (0u32..).zip(&self.flows[member.flow].uses) {
            let level = self.links[u.link as usize].level;
            if i == member.at {
                continue;
            }
            if level < first {
                (at, first, second) = (i, level, first);
            } else {
                second = second.min(level);
            }
        }
        (at, first, second)
    }

    /// Works out a link's level, and which links this is news for.
    fn divide(&mut self, link: u32) {
        let mut wants = std::mem::take(&mut self.wants);
        wants.clear();
        let l = &self.links[link as usize];
        wants.extend(l.members.iter().map(|m| {
            let part = self.flows[m.flow].uses[m.at as usize].part;
            (self.elsewhere(*m).1, part)
        }));
        let (old, level) = (l.level, water(l.capacity, &mut wants));
        self.wants = wants;
        self.links[link as usize].level = level;
        let same = |a: f64, b: f64| a == b || (a - b).abs() <= NOISE * a.min(b);
        if same(old, level) {
            return;
        }
        for place in 0..self.links[link as usize].members.len() {
            let member = self.links[link as usize].members[place];
            let (lowest, first, second) = self.elsewhere(member);
            let f = &mut self.flows[member.flow];
            if first.min(old) != first.min(level) && !std::mem::replace(&mut f.touched, true) {
                self.touched.push(member.flow);
            }
            for i in 0..f.uses.len() as u32 {
                let u = self.flows[member.flow].uses[i as usize];
                if i == member.at {
                    continue;
                }
                // What the flow may have without that link, as far as that link asks: no more than its own level.
                let own = self.links[u.link as usize].level;
                let without = if i == lowest { second } else { first };
                if !same(without.min(old).min(own), without.min(level).min(own)) {
                    self.doubt(u.link);
                }
            }
        }
    }
}

/// The level up to which flows that want so much each, of which so large a part goes over it, fill a capacity; infinite
/// where all that they want fits.
fn water(capacity: f64, wants: &mut [(f64, f64)]) -> f64 {
    let all: f64 = wants.iter().map(|(want, part)| want * part).sum();
    if all <= capacity {
        return f64::INFINITY;
    }
    wants.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut left, mut parts) = (capacity, wants.iter().map(|w| w.1).sum::<f64>());
    for &(want, part) in wants.iter() {
        if want * parts >= left {
            break;
        }
        left -= want * part;
        parts -= part;
    }
    left.max(0.0) / parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Progressive filling, round by round: all rates rise together until a link is full, whose flows then stay.
    fn filled(capacities: &[f64], paths: &[Vec<(u32, f64)>]) -> Vec<f64> {
        let mut rates: Vec<Option<f64>> = vec![None; paths.len()];
        while rates.iter().any(Option::is_none) {
            let level = |link: usize| {
                let over = |f: usize| paths[f].iter().filter(|u| u.0 as usize == link).map(|u| u.1).sum::<f64>();
                let fixed: f64 = (0..paths.len()).filter_map(|f| Some(rates[f]? * over(f))).sum();
                let open: f64 = (0..paths.len()).filter(|f| rates[*f].is_none()).map(over).sum();
                if open > 0.0 { (capacities[link] - fixed).max(0.0) / open } else { f64::INFINITY }
            };
            let levels: Vec<f64> = (0..capacities.len()).map(level).collect();
            let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
            for (rate, path) in rates.iter_mut().zip(paths).filter(|(r, _)| r.is_none()) {
                if path.iter().any(|u| levels[u.0 as usize] <= least * (1.0 + 1e-12)) {
                    *rate = Some(least);
                }
            }
        }
        rates.into_iter().flatten().collect()
    }

    #[test]
    fn a_flow_that_is_held_back_elsewhere_leaves_its_part_to_the_others() {
        // Bertsekas and Gallager's kind of example: link 0 of 1 carries all three, link 1 of 0.2 the first.
        let mut all = MaxMin::new([1.0, 0.2].into_iter());
        let flows = [vec![0, 1], vec![0], vec![0]];
        let numbers = flows.map(|path| all.add(path.into_iter().map(|l| (l, 1.0))));
        all.settle(|_, _, _| {});
        assert_eq!(numbers.map(|f| all.rate(f)), [0.2, 0.4, 0.4]);
        all.remove(numbers[1]);
        let mut heard = Vec::new();
        all.settle(|flow, rate, by| heard.push((flow, rate, by)));
        assert_eq!(heard, [(numbers[2], 0.8, 0)]);
        // Half of a flow goes over a link that is full with it.
        let mut split = MaxMin::new([1.0, 0.25].into_iter());
        let one = split.add([(0, 1.0), (1, 0.5)].into_iter());
        split.settle(|_, _, _| {});
        assert_eq!(split.rate(one), 0.5);
    }

    proptest! {
        /// However flows come and go, rates are those of progressive filling.
        #[test]
        fn rates_are_those_of_progressive_filling(
            capacities in prop::collection::vec(1u32..1000, 1..8),
            steps in prop::collection::vec(
                (any::<bool>(), prop::collection::btree_map(0u32..8, 1u32..4, 1..6), any::<u16>()),
                1..40,
            ),
        ) {
            let capacities: Vec<f64> = capacities.into_iter().map(f64::from).collect();
            let mut all = MaxMin::new(capacities.iter().copied());
            let mut here: Vec<(u32, Vec<(u32, f64)>)> = Vec::new();
            let mut rates = std::collections::HashMap::new();
            for (goes, path, which) in steps {
                if goes && !here.is_empty() {
                    let (flow, _) = here.remove(which as usize % here.len());
                    all.remove(flow);
                    rates.remove(&flow);
                } else {
                    let n = capacities.len() as u32;
                    let part = |(link, thirds): (u32, u32)| (link % n, f64::from(thirds) / 3.0);
                    let mut path: Vec<(u32, f64)> = path.into_iter().map(part).collect();
                    path.sort_by_key(|u| u.0);
                    path.dedup_by_key(|u| u.0);
                    here.push((all.add(path.iter().copied()), path));
                }
                all.settle(|flow, rate, _| { rates.insert(flow, rate); });
                let paths: Vec<_> = here.iter().map(|h| h.1.clone()).collect();
                for ((flow, path), want) in here.iter().zip(filled(&capacities, &paths)) {
                    let rate = all.rate(*flow);
                    prop_assert!((rate - want).abs() <= 1e-6 * want, "flow over {path:?}: {rate}, not {want}");
                    prop_assert_eq!(rates[flow], rate, "whoever follows the changes knows all rates");
                }
            }
        }
    }
}
