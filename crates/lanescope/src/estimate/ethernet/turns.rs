//! The coin in which a wire is divided.
//!
//! A switch's queue is a FIFO: of what comes, each stream gets through in the proportion in which it comes, whichever
//! ports it comes by. What comes to a wire is what the wires before it have let through, so a stream that shared a wire
//! with many has become thin; where nothing is held back it is what is offered. With flow control, sources keep what
//! they could not send and catch up at the rate of their line: there only saturated streams stand in the queues, and
//! modest ones get all that they ask for. Each class of frames has a queue of its own; how much of the wire each has is
//! the port's rule: strict, by weights, or a frame each in turn. A station sends messages in the order in which they
//! are born, those of streams that always have one more in turn; or frames of its connections.

use crate::estimate::core::fill::Resource;
use crate::estimate::ethernet::NOISE;
use crate::estimate::ethernet::path_loads::{Asked, NO_WIRE};
use crate::plan::ethernet::Network;
use crate::protocol::ethernet;
use crate::scenario::NodeKeys;
use crate::scenario::keys::Scheduling;

/// Rounds of thinning along ways; as many hops as the longest way of a fat tree has wires settle in as many rounds.
const ROUNDS: usize = 32;
/// Acknowledgements go before all that waits: they take hardly any of the coin.
pub(super) const FIRST: f64 = 1e-12;

/// What comes to each wire of each use, and whether it is acknowledgements: payload bytes per second, in the order of
/// its uses.
pub(super) type Comes = Vec<Vec<(f64, bool)>>;

/// What comes to every wire once the wires before it have let through what they can.
pub(super) fn comes(network: &Network, asked: &[Asked], orders: &[Order], resources: &[Resource<u32>]) -> Comes {
    let born = |a: &Asked| if network.lossless(a.class) { a.line } else { a.wants.min(a.line) };
    let mut at = vec![usize::MAX; 2 * network.links.len()];
    resources.iter().enumerate().for_each(|(r, resource)| at[resource.key as usize] = r);
    // By resource and use: the part that gets through.
    let mut through: Vec<Vec<f64>> = resources.iter().map(|r| vec![1.0; r.uses.len()]).collect();
    // By resource: what comes of each use, and whether it is acknowledgements.
    let mut comes: Vec<Vec<(f64, bool)>> = resources.iter().map(|r| Vec::with_capacity(r.uses.len())).collect();
    for _round in 0..ROUNDS {
        comes.iter_mut().for_each(Vec::clear);
        for a in asked {
            let mut rate = born(a);
            for (i, (wire, _)) in a.wires.iter().enumerate() {
                let r = at[*wire as usize];
                if r != usize::MAX {
                    let place = comes[r].len();
                    comes[r].push((rate, i >= a.data));
                    // The wires of several destinations are not one behind the other, but for the source's own.
                    let thins = (a.single || *wire == a.own) && a.own != NO_WIRE && i < a.data;
                    rate *= if thins { through[r][place] } else { 1.0 };
                }
            }
        }
        let mut moved = false;
        for (r, resource) in resources.iter().enumerate() {
            let station = network.leaves(resource.key);
            let new = match network.station(station) {
                Some(_) => sent(asked, resource, orders[station.0 as usize], &comes[r], &born),
                None => parts(network, asked, resource, &comes[r]),
            };
            moved |= new.iter().zip(&through[r]).any(|(new, old)| (new - old).abs() > NOISE);
            through[r] = new;
        }
        if !moved {
            break;
        }
    }
    comes
}

/// In what order a station sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One FIFO of messages.
    Messages,
    /// A frame of each connection in turn.
    Connections,
    /// The same within a class; classes take turns, a frame each.
    Classes,
}

/// The order of each station, by node.
pub(super) fn stations(network: &Network, asked: &[Asked]) -> Vec<Order> {
    let own = network.by_source();
    let mut ranks = vec![false; network.nodes.len()];
    // Programs have no wire of their own.
    for (wire, _) in asked.iter().filter(|a| a.own == NO_WIRE).flat_map(|program| &program.wires) {
        ranks[network.leaves(*wire).0 as usize] = true;
    }
    let order = |(streams, ranks): (&Vec<usize>, bool)| match network.in_lanes(streams, ranks) {
        true if network.pauses_classes(streams, ranks) => Order::Classes,
        true => Order::Connections,
        false => Order::Messages,
    };
    own.iter().zip(ranks).map(order).collect()
}

/// Whether frames of several classes meet on a wire.
pub(super) fn several(asked: &[Asked], resource: &Resource<u32>) -> bool {
    let mut all = resource.uses.iter().map(|u| asked[u.flow].class);
    all.next().is_some_and(|first| all.any(|c| c != first))
}

/// What a stream brings in a turn at its station, payload bytes.
pub(super) fn turn(a: &Asked, wire: u32, order: Order) -> f64 {
    match order {
        // In the order in which they are born: what always has one more comes behind all of those, of which each stream
        // has a part of what it offers.
        Order::Messages if a.paced && a.own == wire => a.wants / FIRST,
        Order::Connections | Order::Classes if a.frames.count > 0.0 => a.connections / a.frames.count,
        // A program's frames are of no size in particular.
        _ => a.frames.message,
    }
}

/// Of what a station has, the part of each stream that it sends.
fn sent(
    asked: &[Asked],
    resource: &Resource<u32>,
    order: Order,
    comes: &[(f64, bool)],
    born: &impl Fn(&Asked) -> f64,
) -> Vec<f64> {
    let data = || resource.uses.iter().zip(comes).filter(|(_, (_, acks))| !acks);
    let acks: f64 = resource.uses.iter().zip(comes).filter(|(_, c)| c.1).map(|(u, c)| u.weight * c.0).sum();
    let left = (resource.capacity - acks).max(0.0);
    let wants = |a: &Asked| a.wants.min(a.line);
    if data().map(|(u, _)| u.weight * born(&asked[u.flow])).sum::<f64>() <= left || data().nth(1).is_none() {
        return vec![1.0; comes.len()];
    }
    let uses: Vec<_> = data().map(|(u, _)| (u, &asked[u.flow])).collect();
    let classes = if order == Order::Classes { uses.iter().map(|(_, a)| a.class + 1).max().unwrap_or(1) } else { 1 };
    let class = |a: &Asked| if classes > 1 { a.class } else { 0 };
    let divided = |asks: &dyn Fn(&Asked) -> f64| {
        let (mut of_class, mut frames) = (vec![0.0; classes], vec![0.0; classes]);
        for (u, a) in &uses {
            of_class[class(a)] += u.weight * asks(a);
            frames[class(a)] += a.frames.count * asks(a);
        }
        let has = by_weight(left, &of_class, |c| if frames[c] > 0.0 { of_class[c] / frames[c] } else { 1.0 });
        let mut all = vec![0.0; uses.len()];
        for (c, has) in has.into_iter().enumerate() {
            let asks: Vec<f64> =
                uses.iter().map(|(u, a)| if class(a) == c { u.weight * asks(a) } else { 0.0 }).collect();
            let part = by_weight(has, &asks, |i| uses[i].0.weight * turn(uses[i].1, resource.key, order));
            all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
        }
        all
    };
    // What is paused catches up in its turns, when it may send again; the others have what that leaves on average.
    let (held, usual) = (divided(&|a| born(a)), divided(&wants));
    let mut all = uses.iter().zip(held).zip(usual).map(|(((u, a), held), usual)| {
        let rate = if a.paced { held.max(usual) } else { usual } / u.weight;
        (rate / born(a)).min(1.0)
    });
    comes.iter().map(|(_, acks)| if *acks { 1.0 } else { all.next().unwrap_or(1.0) }).collect()
}

/// Of what comes to a wire, the part of each use that gets through.
fn parts(network: &Network, asked: &[Asked], resource: &Resource<u32>, comes: &[(f64, bool)]) -> Vec<f64> {
    let classes = network.classes.len().max(1);
    let load = |class: Option<usize>| -> f64 {
        let all = resource.uses.iter().zip(comes).filter(|(u, _)| class.is_none_or(|c| asked[u.flow].class == c));
        all.map(|(u, c)| u.weight * c.0).sum()
    };
    if !several(asked, resource) {
        let load = load(None);
        return vec![if load > resource.capacity { resource.capacity / load } else { 1.0 }; comes.len()];
    }
    let allotted = allotted(network, asked, resource, comes);
    let part = |class: usize| {
        let load = load(Some(class));
        if load > allotted[class] { allotted[class] / load } else { 1.0 }
    };
    let all: Vec<f64> = (0..classes).map(part).collect();
    resource.uses.iter().map(|u| all[asked[u.flow].class]).collect()
}

/// Bytes per second that each class has of a wire, by what it asks for and the rule of the port.
fn allotted(network: &Network, asked: &[Asked], resource: &Resource<u32>, comes: &[(f64, bool)]) -> Vec<f64> {
    let classes = network.classes.len().max(1);
    let (mut asks, mut frames) = (vec![0.0; classes], vec![0.0; classes]);
    let mut left = resource.capacity;
    for (used, (comes, acks)) in resource.uses.iter().zip(comes) {
        let a = &asked[used.flow];
        // A source that is paused catches up as soon as others before it are held up: it brings what it wants.
        let rate = if network.lossless(a.class) { a.wants.min(a.line) } else { comes.min(a.wants) };
        if *acks {
            left -= used.weight * rate;
            continue;
        }
        asks[a.class] += used.weight * rate;
        frames[a.class] += a.frames.count * rate;
    }
    let left = left.max(0.0);
    let (rule, weights) = match &network.node(network.leaves(resource.key)).keys {
        NodeKeys::Switch(k) => network.scheduling(k),
        NodeKeys::Station(_) => (Scheduling::Turns, Vec::new()),
    };
    match rule {
        Scheduling::Strict => {
            let mut left = left;
            let mut all = vec![0.0; classes];
            // Classes ascend with priorities.
            for class in (0..classes).rev() {
                all[class] = asks[class].min(left);
                left -= all[class];
            }
            all
        }
        // Ports count bytes of frames, wires also preambles and gaps.
        Scheduling::Weighted => by_weight(left, &asks, |class| {
            let frames = asks[class] - frames[class] * (ethernet::PREAMBLE + ethernet::GAP) as f64;
            f64::from(weights[class]) * if frames > 0.0 { asks[class] / frames } else { 1.0 }
        }),
        // A frame each: classes of larger frames get more.
        Scheduling::Turns => {
            by_weight(left, &asks, |class| if frames[class] > 0.0 { asks[class] / frames[class] } else { 1.0 })
        }
    }
}

/// What is there, divided by weights among those that want it; what one leaves is the others'.
fn by_weight(capacity: f64, asks: &[f64], weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut got = vec![0.0; asks.len()];
    let mut left = capacity;
    let mut open: Vec<usize> = (0..asks.len()).filter(|c| asks[*c] > 0.0).collect();
    while !open.is_empty() {
        let sum: f64 = open.iter().map(|c| weight(*c)).sum();
        let share = |c: usize| left * weight(c) / sum;
        let (content, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|c| asks[**c] <= share(**c));
        if content.is_empty() {
            open.iter().for_each(|&c| got[c] = share(c));
            break;
        }
        content.iter().for_each(|&c| got[c] = asks[c]);
        left = (left - content.iter().map(|c| asks[*c]).sum::<f64>()).max(0.0);
        open = rest;
    }
    got
}

#[cfg(test)]
mod tests {
    use super::by_weight;

    #[test]
    fn weights_by_hand() {
        assert_eq!(by_weight(40.0, &[100.0, 100.0, 100.0], |c| [20.0, 10.0, 10.0][c]), [20.0, 10.0, 10.0]);
        // The middle one leaves 5, of which the others get 2 : 1.
        assert_eq!(by_weight(40.0, &[100.0, 4.0, 100.0], |c| [20.0, 10.0, 10.0][c]), [24.0, 4.0, 12.0]);
        assert_eq!(by_weight(40.0, &[10.0, 0.0, 10.0], |_| 1.0), [10.0, 0.0, 10.0]);
    }
}
