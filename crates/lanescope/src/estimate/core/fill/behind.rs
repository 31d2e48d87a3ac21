//! Shares that queues would not leave.
//!
//! Rates are fixed from the least to the greatest; but a queue counts turns of its ports, not flows. Two flows of one
//! port, each with less than the flow of another port that waits there for something full, may have more turns together
//! than that one has: they are fixed before it, and nothing holds them to its turns. Of 1500 random patterns two have
//! such flows, eight in all, and each of these gets at least 5 % less than its share in a simulation. To hold them to
//! their turns afterwards, and to fix all rates anew, is no cure: what they leave goes to those that hold them back,
//! which then are held back elsewhere.

use super::turns::Asked;
use super::{Filled, Queue, Resource, Share};

/// A flow with more than its turns in a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Behind {
    /// The flow.
    pub(crate) flow: usize,
    /// What its turns would leave it, payload bytes per second.
    pub(crate) most: f64,
    /// The queue (an index).
    pub(crate) queue: usize,
    /// The flow behind whose packets it stands there.
    pub(crate) other: usize,
}

/// How much a load may be below a capacity, or turns above what is given, for the noise of a float.
const APART: f64 = 1e-6;

/// Flows with more than their turns in a queue beside those that wait there for what binds them; of each flow where it
/// has the fewest. `filled` is a filling of these resources and queues.
pub(crate) fn behind<K, Q>(
    resources: &[Resource<K>],
    queues: &[Queue<Q>],
    shares: &[Share],
    filled: &Filled,
) -> Vec<Behind> {
    let mut all: Vec<Behind> = Vec::new();
    let full: Vec<bool> = resources.iter().map(|r| r.load(shares) >= r.capacity * (1.0 - APART)).collect();
    let stuck = |q: &Queue<Q>| -> Vec<usize> {
        let waits = |w: &usize| {
            let share = &shares[q.waits[*w].flow];
            share.by.is_some_and(|by| share.behind.is_none() && q.waits[*w].beyond.contains(&by))
        };
        let stuck: Vec<usize> = (0..q.waits.len()).filter(waits).collect();
        let fill = stuck.iter().map(|w| q.waits[*w].most).sum::<f64>() >= q.room;
        if fill { stuck } else { Vec::new() }
    };
    let stuck: Vec<Vec<usize>> = queues.iter().map(stuck).collect();
    if stuck.iter().all(Vec::is_empty) {
        return all;
    }
    let of_queues = queues.iter().zip(&filled.made.trees).zip(stuck).enumerate();
    for (queue, ((q, (tree, passing)), stuck)) in of_queues.filter(|(_, (_, s))| !s.is_empty()) {
        let turns: Vec<f64> = (q.waits.iter().map(|w| shares[w.flow].rate * w.packets))
            .chain(passing.iter().map(|p| shares[p.way.flow].rate * p.packets))
            .collect();
        let mut asked = Asked::default();
        asked.ready(tree, &turns);
        let mut given = vec![0.0; turns.len()];
        for &w in &stuck {
            tree.beside(&asked, w, turns[w], &mut given);
            let above: Vec<usize> = (0..q.waits.len()).filter(|o| given[*o] < turns[*o] * (1.0 - APART)).collect();
            // Who waits here himself has what is left where he waits (of several full things one is said to bind). If
            // that is more than his turns, then the one that he is held against is not what fills the queue.
            if above.iter().any(|o| q.waits[*o].beyond.iter().any(|r| full[*r])) {
                continue;
            }
            for o in above {
                let flow = q.waits[o].flow;
                let found = Behind { flow, most: given[o] / q.waits[o].packets, queue, other: q.waits[w].flow };
                match all.iter_mut().find(|b| b.flow == flow) {
                    Some(b) if b.most <= found.most => {}
                    Some(b) => *b = found,
                    None => all.push(found),
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::core::fill::{Use, Wait, fill};

    /// Flow 2 waits with 5 for the one resource, which is full, behind a port of its own; flows 0 and 1 come by another
    /// port.
    #[test]
    fn two_flows_of_a_port_have_the_turns_of_one() {
        let used = Use { flow: 2, weight: 1.0, packets: 1.0, first: 0.0, first_least: 0.0, hops: 0 };
        let resources = [Resource { key: (), capacity: 5.0, uses: vec![used] }];
        let share = |rate: f64, by| Share { rate, by, behind: None };
        let wait = |flow, beyond: &[usize]| {
            let beyond = beyond.to_vec();
            Wait { flow, packets: 1.0, hops: flow, most: f64::INFINITY, place: 1, beyond }
        };
        let queues =
            [Queue { key: (), room: 8.0, waits: vec![wait(0, &[]), wait(1, &[]), wait(2, &[0])], own_coin: false }];
        let path = |flow: usize, _: usize| if flow < 2 { vec![1, flow as u64] } else { vec![2] };
        let filled = fill(&resources, &queues, &[f64::INFINITY; 3], path, None);
        let of =
            |rate| behind(&resources, &queues, &[share(rate, None), share(rate, None), share(5.0, Some(0))], &filled);
        let found = of(4.0);
        assert_eq!(found.iter().map(|b| (b.flow, b.most, b.other)).collect::<Vec<_>>(), [(0, 2.5, 2), (1, 2.5, 2)]);
        assert_eq!(of(2.5), []);
        // Flow 1 waits here for something full, and yet has more than its turns beside flow 2. So that one does not
        // fill the queue, and flow 0 is not held to turns either.
        let used = Use { flow: 1, weight: 1.0, packets: 1.0, first: 0.0, first_least: 0.0, hops: 1 };
        let resources = [resources[0].clone(), Resource { key: (), capacity: 4.0, uses: vec![used] }];
        let mut queues = queues;
        queues[0].waits[1].beyond.push(1);
        let shares = [share(4.0, None), share(4.0, Some(1)), share(5.0, Some(0))];
        assert_eq!(behind(&resources, &queues, &shares, &filled), []);
    }
}
