//! How often the flows of one requester have turns beside one another.
//!
//! A requester serves its flows in turn, a TLP each. Flows that read take turns with one another, and so do those that
//! write, whichever kind goes next. A flow that alternates changes from the one to the other with each operation, and
//! often finds that it is the next there: so it sends more TLPs than another flow has turns. How many more depends on
//! how long its operations are and on where both orders stand when it changes. So the order is followed, TLP by TLP,
//! with all flows always having something to send, until it repeats. It also depends on who begins and who comes up
//! behind whom, which a share must not: a share has the mean.

use crate::estimate::pcie::requester::Turns;
use crate::plan::{Flow, Hop, PartId, Plan};
use crate::scenario::PartKeys;
use crate::scenario::keys::Order;
use crate::scenario::quantity::Corner;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Requesters of more flows than this are not followed: their flows count TLP by TLP.
const MOST_FLOWS: usize = 32;

/// Of so many flows all orders are followed.
const ALL_ORDERS: usize = 4;

/// Operations of more TLPs are taken to be of one kind: what a change costs is no more than a part in so many.
const LONG: f64 = 100.0;

/// An order that has not come back to where it was after so many TLPs is averaged.
const MOST_TLPS: u32 = 1 << 14;

/// What was followed for the outcomes of one estimate, by the lengths of the flows of a requester: requesters are often
/// alike, and corners and upgrades seldom change how many TLPs an operation is.
pub(in crate::estimate) type Followed = Rc<RefCell<BTreeMap<Vec<[u32; 2]>, Vec<f64>>>>;

/// For each flow, the turns that others of its requester have meanwhile, for each of its TLPs: at most 1.
pub(in crate::estimate) fn beside(plan: &Plan, corner: Corner, followed: &Followed) -> Vec<f64> {
    let mut all = vec![1.0; plan.flows.len()];
    let mut requesters: BTreeMap<(Hop, PartId), Vec<usize>> = BTreeMap::new();
    for (index, flow) in plan.flows.iter().enumerate().filter(|(_, f)| !f.is_externally_driven()) {
        if let Some(first) = flow.route.first() {
            requesters.entry((*first, flow.source)).or_default().push(index);
        }
    }
    for ((_, source), flows) in requesters {
        // Of operations that are drawn none waits for a turn.
        let drawn = matches!(&plan.part(source).keys, PartKeys::Endpoint(k) if k.order.typical == Order::Random);
        let lengths: Vec<[u32; 2]> = flows.iter().map(|i| lengths(plan, corner, &plan.flows[*i])).collect();
        let alike = lengths.iter().all(|l| *l == lengths[0]);
        if drawn || alike || flows.len() > MOST_FLOWS || lengths.iter().all(|l| l.contains(&0)) {
            continue;
        }
        let mut followed = followed.borrow_mut();
        let sent = followed.entry(lengths).or_insert_with_key(|lengths| in_any_order(lengths));
        let least = sent.iter().copied().fold(f64::INFINITY, f64::min);
        if least > 0.0 {
            flows.iter().zip(sent).for_each(|(flow, sent)| all[*flow] = least / *sent);
        }
    }
    all
}

/// Requests of a read of a flow, and TLPs of a write. Without change of kind it does not matter how many they are.
fn lengths(plan: &Plan, corner: Corner, flow: &Flow) -> [u32; 2] {
    let turns = Turns::of(plan, corner, flow);
    let size = flow.size.at(corner).f64();
    let [reads, writes] = [turns.reads, turns.writes].map(|each| (each * size).round());
    match (reads > 0.0, writes > 0.0) {
        (true, true) if reads + writes <= LONG => [reads as u32, writes as u32],
        (true, true) if reads < writes => [0, 1],
        (reads, _) => [u32::from(reads), u32::from(!reads)],
    }
}

/// The part of all TLPs that each flow sends, however a file lists them: the mean of all orders, of more flows than
/// [`ALL_ORDERS`] of that of their lengths and of its reverse. Those of the same lengths have the same.
fn in_any_order(lengths: &[[u32; 2]]) -> Vec<f64> {
    let n = lengths.len();
    let mut sorted: Vec<usize> = (0..n).collect();
    sorted.sort_by_key(|i| lengths[*i]);
    let orders = if n > ALL_ORDERS {
        vec![sorted.iter().rev().copied().collect(), sorted]
    } else {
        let put = |order: &Vec<usize>, at: usize, next: usize| [&order[..at], &[next], &order[at..]].concat();
        let more = |orders: Vec<Vec<usize>>, next: usize| {
            orders.iter().flat_map(|o| (0..=o.len()).map(|at| put(o, at, next)).collect::<Vec<_>>()).collect()
        };
        sorted.into_iter().fold(vec![Vec::new()], more)
    };
    let mut mean = vec![0.0; n];
    for order in &orders {
        let sent = followed(&order.iter().map(|i| lengths[*i]).collect::<Vec<_>>());
        let all: u64 = sent.iter().sum();
        order.iter().zip(sent).for_each(|(i, sent)| mean[*i] += sent as f64 / all as f64);
    }
    let alike = |i: usize| (0..n).filter(move |j| lengths[*j] == lengths[i]);
    (0..n).map(|i| alike(i).map(|j| mean[j]).sum::<f64>() / alike(i).count() as f64).collect()
}

/// TLPs that each flow sends while the order of all repeats once, as the requester has it: flows come up in turn, and
/// the one that does sends a TLP of the flow whose turn it is among those of its kind.
fn followed(lengths: &[[u32; 2]]) -> Vec<u64> {
    let n = lengths.len();
    let next = |i: usize| if i + 1 < n { i + 1 } else { 0 };
    let begun = |i: usize, kind: usize| (kind, lengths[i][kind]);
    let mut at: Vec<(usize, u32)> = (0..n).map(|i| begun(i, usize::from(lengths[i][0] == 0))).collect();
    let (mut turn, mut turns, mut sent) = (0, [0; 2], vec![0; n]);
    let Some(one) = lengths.iter().position(|l| !l.contains(&0)) else { return sent };
    // Brent's way to find a cycle: where the order stood when it was last marked, what each had sent by then, and how
    // many operations later it is marked again.
    let mut marked = (turn, turns, at.clone(), sent.clone());
    let (mut operations, mut again) = (0, 1);
    for _ in 0..MOST_TLPS {
        let kind = at[turn].0;
        let mut goes = turns[kind];
        while at[goes].0 != kind {
            goes = next(goes);
        }
        sent[goes] += 1;
        at[goes].1 -= 1;
        if at[goes].1 == 0 {
            let other = 1 - kind;
            at[goes] = begun(goes, if lengths[goes][other] > 0 { other } else { kind });
        }
        (turns[kind], turn) = (next(goes), next(turn));
        // Each time that one of those that alternate has begun a read.
        if goes == one && at[one] == begun(one, 0) {
            if (turn, turns) == (marked.0, marked.1) && at == marked.2 {
                return sent.iter().zip(&marked.3).map(|(now, before)| now - before).collect();
            }
            operations += 1;
            if operations == again {
                marked = (turn, turns, at.clone(), sent.clone());
                again *= 2;
            }
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, where the first reads one TLP and writes one, and the second reads. They come up in turn: 0 reads; 1
    /// comes up, and reads; 0 writes; 1 comes up, but the order of those that read has come to 0, which reads; 0 comes
    /// up, and writes; 1 reads; 0 reads, and so on: 0 sends two for each of 1.
    #[test]
    fn who_alternates_goes_in_anothers_turn() {
        let sent = followed(&[[1, 1], [1, 0]]);
        assert_eq!(sent[0], 2 * sent[1], "{sent:?}");
    }

    /// Of two that come up in turn, in long operations each goes every other time, but for once when the kind changes.
    #[test]
    fn long_operations_lose_little() {
        let sent = followed(&[[8, 32], [0, 1]]);
        assert!((sent[1] as f64 / sent[0] as f64 - 38.0 / 40.0).abs() < 1e-9, "{sent:?}");
    }

    #[test]
    fn the_order_of_a_file_changes_nothing() {
        let (a, b) = (in_any_order(&[[3, 5], [0, 1], [3, 5], [1, 2]]), in_any_order(&[[0, 1], [1, 2], [3, 5], [3, 5]]));
        assert!(a.iter().zip([b[2], b[0], b[3], b[1]]).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
        assert_eq!(a[0], a[2]);
    }
}
