//! Bounds of several flows together, and which of them stands for all.

use crate::estimate::core::cover::{self, Cover};
use crate::estimate::core::fill::{Resource, Share, Use};
use crate::result::{Measured, Ranged};
use crate::units::Rate;
use std::collections::BTreeMap;

/// A member bound by what binds most members, of equals the one listed first: what a person would look at first.
pub(in crate::estimate) fn typically_bound(shares: &[Share], members: &[usize]) -> usize {
    let mut count: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for &m in members {
        *count.entry(shares[m].by).or_default() += 1;
    }
    let most = count.into_iter().rev().max_by_key(|(by, n)| (by.is_some(), *n)).map(|(by, _)| by);
    members.iter().copied().find(|&m| Some(shares[m].by) == most).unwrap_or(members[0])
}

/// What binds the members other than the element that was named, each once; at most 64.
pub(in crate::estimate) fn others(elements: impl Iterator<Item = String>, named: &str) -> Vec<String> {
    let mut others: Vec<String> = Vec::new();
    for element in elements {
        if others.len() < 64 && element != named && !others.contains(&element) {
            others.push(element);
        }
    }
    others
}

/// What was measured of each of some flows, against their shares, their bound together, and that of each alone; bits
/// per second.
pub(in crate::estimate) fn held_against(
    measured: Rate,
    each: &[f64],
    members: &[usize],
    together: Ranged,
    alone: impl Fn(usize) -> f64,
) -> Measured {
    let m = measured.bits();
    let above = |rate: f64, limit: f64| rate > limit * (1.0 + 1e-9);
    let all = above(m * members.len() as f64, together.faster.max(together.typical));
    Measured {
        each: m,
        unexplained: each.iter().map(|share| share - m).collect(),
        above_bound: members.iter().filter(|&&i| all || above(m, alone(i))).count(),
    }
}

/// The most that all members together can get.
pub(in crate::estimate) fn bound<'a, K: Copy + 'a>(
    resources: impl IntoIterator<Item = &'a Resource<K>>,
    members: &[usize],
    weight: impl Fn(&Use) -> f64,
    capacity: impl Fn(K, f64) -> f64,
    class: impl Fn(K) -> u32,
) -> f64 {
    // By flow; of those that are no members there is none.
    let mut alone: Vec<Option<f64>> = vec![None; members.iter().max().map_or(0, |m| m + 1)];
    members.iter().for_each(|m| alone[*m] = Some(f64::INFINITY));
    let mut covers: Vec<Cover> = Vec::new();
    for r in resources {
        let capacity = capacity(r.key, r.capacity);
        let mut who = Vec::new();
        for u in &r.uses {
            let (Some(Some(most)), asks) = (alone.get_mut(u.flow), weight(u)) else { continue };
            if asks > 0.0 {
                *most = most.min(capacity / asks);
                // Only packets make a resource a limit of the sum: DLLPs alone would stretch it far beyond.
                who.extend((u.weight > 0.0).then_some((u.flow, asks)));
            }
        }
        if who.len() > 1 {
            covers.push(Cover { capacity, who, class: class(r.key) });
        }
    }
    cover::most(&members.iter().filter_map(|m| Some((*m, alone[*m]?))).collect(), &covers)
}
