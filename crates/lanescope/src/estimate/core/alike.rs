//! Instances of a flow that get alike, folded: how many of them run from where to where, and what they get in all.

use crate::result::Alike;
use std::collections::BTreeMap;

/// Shares that differ by less are equal: a float's noise.
const EQUAL: f64 = 1e-6;

/// Runs of numbers that are written out.
const RUNS: usize = 4;

/// Folds instances with equal shares, bits per second, the first of each fold in their order; `ends` are the source and
/// the target of each. Nothing of a single instance.
pub(in crate::estimate) fn alike(each: &[f64], ends: &[[&str; 2]]) -> Vec<Alike> {
    if each.len() < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..each.len()).collect();
    order.sort_by(|a, b| each[*b].total_cmp(&each[*a]));
    let mut folds: Vec<Vec<usize>> = Vec::new();
    for i in order {
        match folds.last_mut().filter(|fold| each[fold[0]] - each[i] <= EQUAL * each[fold[0]]) {
            Some(fold) => fold.push(i),
            None => folds.push(vec![i]),
        }
    }
    folds.iter_mut().for_each(|fold| fold.sort_unstable());
    folds.sort_unstable();
    let fold = |members: Vec<usize>| {
        let names = |end: usize| ranges(members.iter().map(|m| ends[*m][end]));
        let share: f64 = members.iter().map(|m| each[*m]).sum();
        Alike { from: names(0), to: names(1), share, members }
    };
    folds.into_iter().map(fold).collect()
}

/// The ways of several flows as one: `nic.0-3 → sw → host`, or the ends alone where they go by so many parts not alike.
pub(in crate::estimate) fn ways(ways: &[Vec<&str>]) -> String {
    let at = |i: usize| ranges(ways.iter().map(|w| w[i]));
    let last = |w: &Vec<&str>| w.len().saturating_sub(1);
    match ways {
        [] => String::new(),
        [first, rest @ ..] if rest.iter().all(|w| w.len() == first.len()) => {
            (0..first.len()).map(at).collect::<Vec<_>>().join(" → ")
        }
        _ => format!("{} → … → {}", at(0), ranges(ways.iter().map(|w| w[last(w)]))),
    }
}

/// Names as the scenario's language has them: `gpu.0-3`, `gpu.0-1, gpu.4`, `host`.
fn ranges<'a>(names: impl Iterator<Item = &'a str>) -> String {
    // Numbers of each name, those without any first.
    let mut groups: Vec<(&str, Vec<Option<u64>>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let split = name.rsplit_once('.').and_then(|(group, n)| Some((group, n.parse().ok()?)));
        let (group, number) = split.map_or((name, None), |(group, n)| (group, Some(n)));
        let at = *places.entry(group).or_insert_with(|| {
            groups.push((group, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(number);
    }
    let mut words = Vec::new();
    for (group, mut numbers) in groups {
        numbers.sort_unstable();
        numbers.dedup();
        let mut runs: Vec<(Option<u64>, Option<u64>)> = Vec::new();
        for n in numbers {
            match runs.last_mut().filter(|run| run.1.zip(n).is_some_and(|(last, n)| last + 1 == n)) {
                Some(run) => run.1 = n,
                None => runs.push((n, n)),
            }
        }
        words.extend(runs.into_iter().map(|run| match run {
            (Some(a), Some(b)) if a < b => format!("{group}.{a}-{b}"),
            (Some(a), _) => format!("{group}.{a}"),
            _ => group.to_owned(),
        }));
    }
    let more = words.len().saturating_sub(RUNS);
    words.truncate(RUNS);
    if more > 0 { format!("{} and {more} more", words.join(", ")) } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ranges_of_the_language() {
        let of = |names: &[&str]| ranges(names.iter().copied());
        assert_eq!(of(&["gpu.0", "gpu.2", "gpu.1", "gpu.0"]), "gpu.0-2");
        assert_eq!(of(&["gpu.0", "gpu.1", "gpu.5", "host"]), "gpu.0-1, gpu.5, host");
        assert_eq!(of(&["a.0", "a.2", "a.4", "a.6", "a.8", "a.10"]), "a.0, a.2, a.4, a.6 and 2 more");
        assert_eq!(of(&["nic.18446744073709551615"]), "nic.18446744073709551615");
    }

    #[test]
    fn equal_shares_are_one_fold() {
        let ends = [["gpu.0", "gpu.1"], ["gpu.1", "gpu.0"], ["gpu.2", "gpu.0"]];
        let folds = alike(&[2.0, 1.0, 2.0], &ends);
        let fold = |members: &[usize], from: &str, to: &str, share: f64| Alike {
            from: from.into(),
            to: to.into(),
            members: members.to_vec(),
            share,
        };
        assert_eq!(folds, [fold(&[0, 2], "gpu.0, gpu.2", "gpu.0-1", 4.0), fold(&[1], "gpu.1", "gpu.0", 1.0)]);
        assert!(alike(&[1.0], &ends[..1]).is_empty());
    }

    #[test]
    fn ways_fold_where_they_are_as_long() {
        let (a, b, c) = (vec!["nic.0", "sw", "host"], vec!["nic.1", "sw", "host"], vec!["nic.2", "host"]);
        assert_eq!(ways(&[a.clone(), b.clone()]), "nic.0-1 → sw → host");
        assert_eq!(ways(&[a, b, c]), "nic.0-2 → … → host");
    }
}
