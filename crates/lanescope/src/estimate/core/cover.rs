//! What several flows can have together at most.
//!
//! Each resource limits the sum over those that use it, so any way to cover the flows with resources gives a bound. The
//! best cover depends on the values, and a bound that goes from one cover to another may fall where something gets
//! better. Here covers depend on the structure alone (who uses what): small sets first, and a larger one over those of
//! them that lie within it, once with the resources of each class in front; the least of these is the bound. Each is
//! made of sums and minima of what resources carry, so it never falls where one carries more. Where a use may cost
//! nothing, its resource is no part of the structure then: so covers without such resources count in any case.

use std::collections::BTreeMap;

/// A resource, as a limit of a sum.
pub(in crate::estimate) struct Cover {
    /// Units per second.
    pub(in crate::estimate) capacity: f64,
    /// Flows, and the units that a byte of each takes at least.
    pub(in crate::estimate) who: Vec<(usize, f64)>,
    /// Resources that are likely to cover the flows side by side, e.g. all links one way.
    pub(in crate::estimate) class: u32,
}

/// Classes from here on are of resources whose uses may cost nothing; there are few of them.
pub(in crate::estimate) const MAY_BE_FREE: u32 = 8;

/// Flows that are covered together: a chain of members.
#[derive(Clone, Copy)]
struct Part {
    /// How many, and the first and the last.
    count: usize,
    first: usize,
    last: usize,
    /// The most that they can have; none of what has become part of a larger one.
    most: Option<f64>,
}

/// The most that all can get, each alone no more than this.
pub(in crate::estimate) fn most(alone: &BTreeMap<usize, f64>, covers: &[Cover]) -> f64 {
    let mut classes: Vec<u32> = covers.iter().map(|c| c.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let free: Vec<u32> = classes.iter().copied().filter(|c| *c >= MAY_BE_FREE).collect();
    let one = |first: u32, without: &[u32]| {
        let mut order: Vec<&Cover> = covers.iter().filter(|c| !without.contains(&c.class)).collect();
        order.sort_by_key(|c| (c.who.len(), c.class != first, c.class));
        along(alone, &order)
    };
    let mut least: f64 = alone.values().sum();
    // Any of them may cost nothing, whatever the others do.
    for some in 0..1u32 << free.len() {
        let without: Vec<u32> = (0..free.len()).filter(|i| (some >> i) & 1 == 1).map(|i| free[i]).collect();
        for first in classes.iter().filter(|c| !without.contains(c)) {
            least = least.min(one(*first, &without));
        }
    }
    least
}

/// The same with covers in an order.
fn along(alone: &BTreeMap<usize, f64>, order: &[&Cover]) -> f64 {
    // By the member's number, since there are many covers of many members; a part that does not exist for all others.
    const NONE: usize = usize::MAX;
    let numbers = alone.last_key_value().map_or(0, |(m, _)| m + 1);
    let (mut part_of, mut next) = (vec![NONE; numbers], vec![NONE; numbers]);
    let mut parts: Vec<Part> = Vec::with_capacity(alone.len() + order.len());
    for (&m, &most) in alone {
        part_of[m] = parts.len();
        parts.push(Part { count: 1, first: m, last: m, most: Some(most) });
    }
    let mut within: Vec<(usize, f64)> = Vec::new();
    let (mut covered, mut inside) = (Vec::new(), Vec::<(usize, f64, f64)>::new());
    for cover in order {
        // How many of each part it covers, and what they take at least.
        within.resize(parts.len(), (0, f64::INFINITY));
        covered.clear();
        for &(m, weight) in &cover.who {
            let part = part_of.get(m).copied().unwrap_or(NONE);
            if let Some((n, least)) = within.get_mut(part) {
                if *n == 0 {
                    covered.push(part);
                }
                (*n, *least) = (*n + 1, least.min(weight));
            }
        }
        covered.sort_unstable();
        inside.clear();
        for &i in &covered {
            let (n, lightest) = std::mem::replace(&mut within[i], (0, f64::INFINITY));
            if parts[i].count == n
                && let Some(most) = parts[i].most.take()
            {
                inside.push((i, most, lightest));
            }
        }
        // The lightest first: nobody gets more bytes out of the same units.
        inside.sort_by(|a, b| a.2.total_cmp(&b.2));
        let (mut room, mut all) = (cover.capacity, 0.0);
        let mut joined: Option<Part> = None;
        for &(i, most, lightest) in &inside {
            let got = most.min(room / lightest);
            (all, room) = (all + got, (room - got * lightest).max(0.0));
            let mut member = parts[i].first;
            while member != NONE {
                part_of[member] = parts.len();
                member = next[member];
            }
            joined = Some(match joined {
                None => parts[i],
                Some(before) => {
                    next[before.last] = parts[i].first;
                    Part { count: before.count + parts[i].count, last: parts[i].last, ..before }
                }
            });
        }
        parts.extend(joined.map(|part| Part { most: Some(all), ..part }));
    }
    parts.into_iter().filter_map(|p| p.most).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn covers(sets: &[(f64, Vec<usize>, u32)]) -> Vec<Cover> {
        let one = |(capacity, who, class): &(f64, Vec<usize>, u32)| Cover {
            capacity: *capacity,
            who: who.iter().map(|&m| (m, 1.0 + m as f64 / 8.0)).collect(),
            class: *class,
        };
        sets.iter().map(one).collect()
    }

    #[test]
    fn sources_and_destinations_of_all_to_all() {
        // Four stations; flow 4 a + b goes from a to b; each link carries 3 one way.
        let flows: Vec<usize> = (0..4).flat_map(|a| (0..4).filter(move |b| *b != a).map(move |b| 4 * a + b)).collect();
        let alone = flows.iter().map(|&f| (f, 3.0)).collect();
        let link = |s: usize, out: bool| {
            let who = flows.iter().filter(|f| s == if out { *f / 4 } else { *f % 4 }).map(|&f| (f, 1.0)).collect();
            Cover { capacity: 3.0, who, class: u32::from(out) }
        };
        let covers: Vec<Cover> = (0..4).flat_map(|s| [link(s, true), link(s, false)]).collect();
        assert_eq!(most(&alone, &covers), 12.0);
    }

    #[test]
    fn what_comes_to_cost_nothing_lowers_no_bound() {
        // Two workers, each with a flow to each of two disks, which carry 3; the workers could carry far more.
        let alone = (0..4).map(|f| (f, 3.0)).collect();
        let disk = |d: usize| Cover { capacity: 3.0, who: vec![(d, 1.0), (d + 2, 1.0)], class: 2 };
        let worker = |w: usize| Cover { capacity: 1e3, who: vec![(2 * w, 1.0), (2 * w + 1, 1.0)], class: MAY_BE_FREE };
        assert_eq!(most(&alone, &[worker(0), worker(1), disk(0), disk(1)]), 6.0);
        assert_eq!(most(&alone, &[disk(0), disk(1)]), 6.0);
    }

    proptest! {
        /// No division that fits everywhere exceeds it, and it falls nowhere when something carries more.
        #[test]
        fn holds_every_division_and_never_falls(
            sets in prop::collection::vec((1.0..9.0f64, prop::collection::btree_set(0..8usize, 1..8), 0..3u32), 1..8),
            rates in prop::collection::vec(0.0..5.0f64, 8),
            (which, more) in (0..8usize, 0.0..9.0f64),
        ) {
            let list = |(c, s, k): (f64, std::collections::BTreeSet<usize>, u32)| (c, s.into_iter().collect(), k);
            let mut sets: Vec<(f64, Vec<usize>, u32)> = sets.into_iter().map(list).collect();
            let alone: BTreeMap<usize, f64> = (0..8).map(|f| (f, 4.0)).collect();
            let before = most(&alone, &covers(&sets));
            // Scaled down until everything carries it.
            let mut rates: Vec<f64> = rates.iter().map(|r| r.min(4.0)).collect();
            for c in covers(&sets) {
                let load: f64 = c.who.iter().map(|(m, w)| rates[*m] * w).sum();
                if load > c.capacity {
                    c.who.iter().for_each(|(m, _)| rates[*m] *= c.capacity / load);
                }
            }
            prop_assert!(rates.iter().sum::<f64>() <= before * (1.0 + 1e-12));
            let which = which % sets.len();
            sets[which].0 += more;
            prop_assert!(most(&alone, &covers(&sets)) >= before * (1.0 - 1e-12));
        }
    }
}
