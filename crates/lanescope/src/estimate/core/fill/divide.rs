//! One division in a filling: what a resource gives those that use it, and those that pass it by.

use super::turns::Room;
use super::{Filling, Pass, passing};

impl<K: PartialEq, Q, P: Fn(usize, usize) -> Vec<u64>> Filling<'_, K, Q, P> {
    /// What resources let each of some flows have: at most (`upper`), or as they were divided.
    pub(super) fn least(&self, flows: &[usize], p: &mut Pass, upper: bool) {
        let Pass { gives, upper: most, least, .. } = p;
        let bounds: &[f64] = if upper { most } else { gives };
        for &f in flows {
            let (mut by, mut first, mut second) = (usize::MAX, f64::INFINITY, f64::INFINITY);
            for &(t, u) in &self.of_flow[f] {
                let bound = bounds[self.tight[t].first + u];
                if bound < first {
                    // One resource may hold a flow in several ways.
                    second = if t == by { second } else { first };
                    (by, first) = (t, bound);
                } else if t != by {
                    second = second.min(bound);
                }
            }
            least[f] = (by, first, second);
        }
    }

    /// Divides a resource by turns among those that send packets: bytes per second for each use. Nobody asks for more
    /// than other resources let him have (`least`); what he would get beyond that is not known, so if it must be sure
    /// he gets no more.
    pub(super) fn divide(&self, t: usize, dllps: f64, p: &Pass, sure: bool, room: &mut Room, gives: &mut Vec<f64>) {
        let tight = &self.tight[t];
        let resource = &self.resources[tight.resource];
        let uses = &resource.uses;
        let mut left = (resource.capacity - dllps).max(0.0);
        let elsewhere = |f: usize| {
            let (by, first, second) = p.least[f];
            p.most[f].min(if by == t { second } else { first })
        };
        gives.clear();
        // First what each asks for; nobody can have more than all of it.
        gives.extend(uses.iter().map(|u| match p.rate[u.flow] {
            _ if u.weight == 0.0 => 0.0,
            Some(rate) => rate,
            None => elsewhere(u.flow),
        }));
        gives.extend(tight.passing.iter().map(|a| p.rate[a.way.flow].unwrap_or_else(|| elsewhere(a.way.flow))));
        let mut asks = std::mem::take(&mut room.asks);
        let mut shares = std::mem::take(&mut room.shares);
        asks.clear();
        asks.extend(uses.iter().zip(gives.iter()).map(|(u, g)| g.min(left / u.whole())));
        asks.extend_from_slice(&gives[uses.len()..]);
        loop {
            let load: f64 = uses.iter().zip(&asks).filter(|(u, _)| u.weight > 0.0).map(|(u, a)| u.whole() * a).sum();
            let fits = load <= left * (1.0 + 1e-12);
            if !fits {
                let tree = tight
                    .tree
                    .get_or_init(|| passing::tree(uses.iter().map(|u| (u.flow, u.hops)), &tight.passing, self.path));
                room.turns((uses, &tight.passing), tree, left, &asks, &mut shares);
            }
            // A rate that was fixed above its turn (offers had grown) stays; it is no longer in the tree.
            let mut above = false;
            for (i, (u, asks)) in uses.iter().zip(&mut asks).enumerate() {
                let given = if fits { *asks } else { shares[i] };
                if let (Some(rate), true) = (p.rate[u.flow], *asks > 0.0 && u.weight > 0.0)
                    && given * (1.0 + 1e-9) < rate
                {
                    (left, *asks, above) = ((left - u.whole() * rate).max(0.0), 0.0, true);
                }
            }
            if above {
                continue;
            }
            let given = if fits { &asks } else { &shares };
            for ((u, given), gives) in uses.iter().zip(given).zip(gives.iter_mut()) {
                let held = *given < *gives * (1.0 - 1e-12) || (sure && *given < p.most[u.flow]);
                *gives = if u.weight > 0.0 && held { *given } else { f64::INFINITY };
            }
            // Who passes by takes nothing of it, whatever he gets.
            for (given, gives) in given.iter().zip(gives.iter_mut()).skip(uses.len()) {
                *gives = if *given < *gives * (1.0 - 1e-12) { *given } else { f64::INFINITY };
            }
            // And who comes from the source of those that wait has their turns.
            for side in &tight.sides {
                let turns = |u: &usize| (given[*u] < asks[*u] * (1.0 - 1e-12)).then(|| given[*u] * uses[*u].packets);
                let most = side.uses.iter().filter_map(turns).reduce(f64::max).unwrap_or(f64::INFINITY);
                gives.extend(side.others.iter().map(|(_, packets)| most / packets));
            }
            (room.asks, room.shares) = (asks, shares);
            return;
        }
    }
}
