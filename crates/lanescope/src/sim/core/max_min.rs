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
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    link: u32,
    /// Its place among the members of the link.
    place: u32,
    /// The part of the flow that goes over it.
    part: f64,
}

/// The lowest levels on a path, and where the lowest is.
#[derive(Clone, Copy, Debug, Default)]
struct Lowest {
    at: u32,
    first: f64,
    second: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Its stretch of `MaxMin::uses`.
    start: u32,
    length: u32,
    touched: bool,
    rate: f64,
    /// As the levels are: what a link asks of each of its flows is most of the work.
    lowest: Lowest,
}

/// One flow over a link: which, which of its uses, and the part of it.
#[derive(Clone, Copy, Debug)]
struct Member {
    flow: u32,
    at: u32,
    part: f64,
}

#[derive(Clone, Debug)]
struct Link {
    capacity: f64,
    members: Vec<Member>,
}

/// Flows over links.
#[derive(Clone, Debug)]
pub(in crate::sim) struct MaxMin {
    links: Vec<Link>,
    /// Of each link; infinite where its flows are held back elsewhere.
    levels: Vec<f64>,
    flows: Slab<Flow>,
    /// The paths of all flows, and by length the stretches that are free.
    uses: Vec<Use>,
    free: Vec<Vec<u32>>,
    /// Links that are to be worked out anew, in turn, and whether each is among them.
    stale: VecDeque<u32>,
    is_stale: Vec<bool>,
    touched: Vec<u32>,
    /// What each member of a link could have elsewhere, and its part: kept between calls for its room alone.
    wants: Vec<(f64, f64)>,
}

impl Lowest {
    /// Of some levels.
    fn of(levels: impl Iterator<Item = f64>) -> Lowest {
        let mut all = Lowest { at: u32::MAX, first: f64::INFINITY, second: f64::INFINITY };
        for (i, level) in (0u32..).zip(levels) {
            if level < all.first {
                all = Lowest { at: i, first: level, second: all.first };
            } else {
                all.second = all.second.min(level);
            }
        }
        all
    }

    /// The lowest but for one place of the path.
    fn without(&self, at: u32) -> f64 {
        if self.at == at { self.second } else { self.first }
    }
}

impl MaxMin {
    /// Links with these capacities, and no flows.
    pub(in crate::sim) fn new(capacities: impl Iterator<Item = f64>) -> MaxMin {
        let link = |capacity| Link { capacity, members: Vec::new() };
        let links: Vec<Link> = capacities.map(link).collect();
        MaxMin {
            levels: vec![f64::INFINITY; links.len()],
            is_stale: vec![false; links.len()],
            links,
            flows: Slab::new(),
            uses: Vec::new(),
            free: Vec::new(),
            stale: VecDeque::new(),
            touched: Vec::new(),
            wants: Vec::new(),
        }
    }

    /// A flow comes, over links of which each takes such a part of it; at least one takes all. Its number may have been
    /// another's before. Rates are out of date until [`MaxMin::settle`].
    pub(in crate::sim) fn add(&mut self, path: impl ExactSizeIterator<Item = (u32, f64)>) -> u32 {
        let length = path.len();
        let start = self.free.get_mut(length).and_then(Vec::pop).unwrap_or(self.uses.len() as u32);
        self.uses.resize(self.uses.len().max(start as usize + length), Use::default());
        let lowest = Lowest::of(std::iter::empty());
        let flow = self.flows.add(Flow { start, length: length as u32, rate: 0.0, touched: true, lowest });
        for (at, (link, part)) in (0u32..).zip(path) {
            let members = &mut self.links[link as usize].members;
            members.push(Member { flow, at, part });
            let place = members.len() as u32 - 1;
            self.uses[(start + at) as usize] = Use { link, place, part };
            self.doubt(link);
        }
        self.look(flow);
        self.touched.push(flow);
        flow
    }

    /// A flow goes.
    pub(in crate::sim) fn remove(&mut self, flow: u32) {
        let Flow { start, length, .. } = self.flows.take(flow);
        for i in start..start + length {
            let u = self.uses[i as usize];
            let members = &mut self.links[u.link as usize].members;
            members.swap_remove(u.place as usize);
            if let Some(moved) = members.get(u.place as usize).copied() {
                let of = self.flows[moved.flow].start + moved.at;
                self.uses[of as usize].place = u.place;
            }
            self.doubt(u.link);
        }
        let length = length as usize;
        if length >= self.free.len() {
            self.free.resize(length + 1, Vec::new());
        }
        self.free[length].push(start);
    }

    /// What a flow has.
    #[cfg(test)]
    fn rate(&self, flow: u32) -> f64 {
        self.flows[flow].rate
    }

    fn uses(&self, flow: u32) -> &[Use] {
        let Flow { start, length, .. } = self.flows[flow];
        &self.uses[start as usize..(start + length) as usize]
    }

    /// The links of a flow's path, with the part that each takes.
    pub(in crate::sim) fn path(&self, flow: u32) -> impl Iterator<Item = (u32, f64)> {
        self.uses(flow).iter().map(|u| (u.link, u.part))
    }

    fn doubt(&mut self, link: u32) {
        if !std::mem::replace(&mut self.is_stale[link as usize], true) {
            self.stale.push_back(link);
        }
    }

    /// Notes the lowest levels on a flow's path.
    fn look(&mut self, flow: u32) {
        let levels = self.uses(flow).iter().map(|u| self.levels[u.link as usize]);
        self.flows[flow].lowest = Lowest::of(levels);
    }

    /// Works out what has changed; `changed` hears of each flow whose rate has, and which link holds it to that.
    pub(in crate::sim) fn settle(&mut self, mut changed: impl FnMut(u32, f64, u32)) {
        while let Some(link) = self.stale.pop_front() {
            self.is_stale[link as usize] = false;
            self.divide(link);
        }
        for flow in std::mem::take(&mut self.touched) {
            let f = &mut self.flows[flow];
            // One that has gone has no path any more.
            if !std::mem::replace(&mut f.touched, false) || f.length == 0 {
                continue;
            }
            let Lowest { at, first: rate, .. } = f.lowest;
            if rate != f.rate {
                f.rate = rate;
                let by = self.uses(flow).get(at as usize).map_or(0, |u| u.link);
                changed(flow, rate, by);
            }
        }
    }

    /// Works out a link's level, and which links this is news for.
    fn divide(&mut self, link: u32) {
        let MaxMin { links, levels, flows, wants, .. } = self;
        let l = &links[link as usize];
        wants.clear();
        wants.extend(l.members.iter().map(|m| (flows[m.flow].lowest.without(m.at), m.part)));
        let level = water(l.capacity, wants);
        let old = std::mem::replace(&mut levels[link as usize], level);
        if old == level {
            return;
        }
        let same = |a: f64, b: f64| a == b || (a - b).abs() <= NOISE * a.min(b);
        let news = !same(old, level);
        for place in 0..self.links[link as usize].members.len() {
            let member = self.links[link as usize].members[place];
            self.look(member.flow);
            if !news {
                continue;
            }
            let f = &mut self.flows[member.flow];
            let (start, length) = (f.start, f.length);
            let first = f.lowest.without(member.at);
            if first.min(old) != first.min(level) && !std::mem::replace(&mut f.touched, true) {
                self.touched.push(member.flow);
            }
            let all = start as usize..(start + length) as usize;
            let elsewhere = Lowest::of(
                (0u32..)
                    .zip(&self.uses[all.clone()])
                    .map(|(i, u)| if i == member.at { f64::INFINITY } else { self.levels[u.link as usize] }),
            );
            for (i, place) in (0u32..).zip(all) {
                if i == member.at {
                    continue;
                }
                // What the flow may have without that link, as far as that link asks: no more than its own level.
                let on = self.uses[place].link;
                let (own, without) = (self.levels[on as usize], elsewhere.without(i));
                if !same(without.min(old).min(own), without.min(level).min(own)) {
                    self.doubt(on);
                }
            }
        }
    }
}

/// The level up to which flows that want so much each, of which so large a part goes over it, fill a capacity; infinite
/// where all that they want fits, but for a float's noise: of what is no more than that nothing can be shared.
fn water(capacity: f64, wants: &mut [(f64, f64)]) -> f64 {
    let all: f64 = wants.iter().map(|(want, part)| want * part).sum();
    if all <= capacity * (1.0 + NOISE) {
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
        /// A link that just carries what its flows want leaves them that, in whatever order that is summed up.
        #[test]
        fn what_just_fits_is_held_back_by_no_noise(
            mut wants in prop::collection::vec((1e-12..1e3f64, 1e-9..1e9f64), 1..40),
        ) {
            let capacity: f64 = wants.iter().rev().map(|(want, part)| want * part).sum();
            let most = wants.iter().map(|w| w.0).fold(0.0, f64::max);
            for capacity in [capacity, capacity * (1.0 - 1e-15), capacity * (1.0 - 1e-8)] {
                let level = water(capacity, &mut wants);
                prop_assert!(level > 0.0, "{level}, where at most {most} is wanted");
                let carried: f64 = wants.iter().map(|(want, part)| want.min(level) * part).sum();
                prop_assert!((carried / capacity - 1.0).abs() < 1e-7, "{carried} of {capacity}");
            }
        }

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
