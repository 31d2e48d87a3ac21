//! What waits behind page walks of an IOMMU: writes in a root port's buffer, reads that hold tags, closed loads.
//!
//! Where packets leave a window in order (credits of writes, which stay in order; tags of reads that follow one another
//! through pages), packet i + N goes when packet i has left. A miss holds up its own page's packets and all behind them
//! in the window; of those that miss meanwhile each began later and has waited as long when the first is over, so they
//! cost no more. The next that costs is the first miss at or behind packet i + N: with `group` packets to a page, each
//! page missing by `chance`, that is ceil(N / group) x group + (1 / chance - 1) x group packets on. Each such cycle
//! takes the walk longer, less what the window has in hand: N packets at their pace, beyond the round trip.
//!
//! Random reads have no order: a miss costs the tags of its own page's requests, for the rest of the walk.

use crate::estimate::core::elements::Key;
use crate::estimate::core::fill::{Resource, Use};
use crate::plan::{Flow, Hop, Misses, Plan, Program};
use crate::protocol::pcie::{self, Class};
use crate::scenario::keys::AddressOrder;
use crate::scenario::quantity::Corner;
use std::collections::BTreeSet;

/// The page walks of a flow.
struct Walks {
    /// One, seconds.
    walk: f64,
    /// How many go on at once.
    at_once: f64,
    misses: Misses,
    size: f64,
    random: bool,
}

impl Walks {
    fn of(plan: &Plan, corner: Corner, flow: &Flow) -> Option<Walks> {
        let (iommu, misses) = plan.iommu(corner, flow.target).zip(plan.misses(corner, flow))?;
        let random = flow.addresses.typical == AddressOrder::Random;
        let (walk, at_once) = (iommu.walk * 1e-9, iommu.walk / iommu.interval);
        Some(Walks { walk, at_once, misses, size: flow.size.at(corner).f64(), random })
    }

    /// Packets of a page in a row, at least one, and the chance that the first of them misses.
    fn groups(&self, packets: f64) -> (f64, f64) {
        let group = packets / self.misses.pages;
        let chance = self.misses.walks / self.misses.pages;
        if group >= 1.0 { (group, chance) } else { (1.0, 1.0 - (1.0 - chance).powf(1.0 / group)) }
    }

    /// A flow of `packets` an operation by itself.
    fn train(&self, packets: f64) -> Train {
        let (group, chance) = self.groups(packets);
        // Pages of an operation that is drawn miss or hit together.
        let drawn = if self.random { (packets / group).max(1.0) } else { 1.0 };
        Train { walk: self.walk, at_once: self.at_once, group, chance, drawn }
    }

    /// Seconds for each payload byte for which requests of pages that miss hold their tags: each for the rest of the
    /// walk.
    fn held(&self, packets: f64, apart: f64) -> f64 {
        let (group, chance) = self.groups(packets);
        let bytes = self.size / packets;
        // A sum of what falls by a request's time each: to the end of the group, or of the walk.
        let n = if apart > 0.0 { group.min((self.walk / (bytes * apart)).ceil()).max(1.0) } else { group };
        chance * (n * self.walk - 0.5 * n * (n - 1.0) * bytes * apart).max(0.0) / (group * bytes)
    }
}

/// Packets that come one after the other, as they meet page walks.
#[derive(Clone, Copy)]
struct Train {
    walk: f64,
    at_once: f64,
    /// Packets from one that may miss to the next.
    group: f64,
    /// Part of these that miss.
    chance: f64,
    /// How many miss or hit together.
    drawn: f64,
}

impl Train {
    /// Seconds that walks add to each packet where a window lets so many through in order; `apart` is the time of one
    /// at best, `round` what the window waits for one to come back.
    fn in_order(&self, window: f64, apart: f64, round: f64) -> f64 {
        let pages = (window / self.group - 1e-9).ceil();
        let wait = self.busy(pages, self.group * apart) - (window * apart - round).max(0.0);
        let cycle = match self.drawn > pages {
            true => pages / self.chance,
            false => ((pages / self.drawn - 1e-9).ceil() + 1.0 / self.chance - 1.0) * self.drawn,
        };
        wait.max(0.0) / (cycle * self.group)
    }

    /// What the first packet of a window waits that misses, walkers shared with the misses of all its pages, each so
    /// long behind the other, beyond that time, seconds.
    fn busy(&self, pages: f64, apart: f64) -> f64 {
        if pages <= self.at_once {
            return self.walk;
        }
        // The others miss independently of one another; of many the number is near its mean.
        let others = pages as u64 - 1;
        let waits = |missed: f64| {
            let span = (pages - 1.0) * apart * (missed - 1.0) / missed;
            self.walk.max(self.walk * (missed / self.at_once).ceil() - span)
        };
        if others > 64 || self.chance >= 1.0 {
            return waits(1.0 + others as f64 * self.chance);
        }
        let (mut part, mut sum) = ((1.0 - self.chance).powi(others as i32), 0.0);
        for k in 0..=others {
            sum += part * waits(1.0 + k as f64);
            part *= (others - k) as f64 / (k + 1) as f64 * self.chance / (1.0 - self.chance);
        }
        sum
    }
}

/// The time that page walks add to one operation of a flow, alone in the system, ns: its packets walk side by side.
pub(in crate::estimate) fn alone(plan: &Plan, corner: Corner, flow: &Flow) -> f64 {
    Walks::of(plan, corner, flow).map_or(0.0, |w| w.one() * 1e9)
}

impl Walks {
    /// What one operation waits for the walks of its pages, side by side, seconds.
    fn one(&self) -> f64 {
        let Misses { walks, pages, .. } = self.misses;
        // Of an operation that is smaller than a page and follows others, one in so many.
        if pages <= 1.0 { self.walk * walks } else { self.walk * (1.0 - (1.0 - walks / pages).powf(pages)) }
    }
}

/// Whether something is counted by how long it is held, not by a pace of its own.
fn is_held(key: Key) -> bool {
    matches!(
        key,
        Key::Tags(_)
            | Key::Loads(_)
            | Key::Outstanding(_)
            | Key::InTurn(_)
            | Key::Credits(..)
            | Key::Replay(_)
            | Key::ReadsInFlight(_)
            | Key::PortReads(_)
            | Key::Walks(_)
    )
}

/// Adds page walks to what tags, credits and outstanding operations are held for. A bound has none of it, since a run
/// may be lucky.
pub(in crate::estimate) fn add(plan: &Plan, corner: Corner, resources: &mut [Resource<Key>]) {
    let walks: Vec<Option<Walks>> = plan.flows.iter().map(|f| Walks::of(plan, corner, f)).collect();
    if walks.iter().all(Option::is_none) {
        return;
    }
    // What a byte takes at best.
    let mut apart = vec![0.0_f64; plan.flows.len()];
    for r in resources.iter().filter(|r| !is_held(r.key)) {
        for u in &r.uses {
            if let Some(apart) = apart.get_mut(u.flow) {
                *apart = apart.max(u.whole() / r.capacity);
            }
        }
    }
    for r in resources.iter_mut().filter(|r| is_held(r.key)) {
        let capacity = r.capacity;
        let more: Vec<f64> = match r.key {
            Key::Credits(hop, Class::Posted, headers) => {
                let at_end =
                    r.uses.iter().map(|u| (u, plan.flows.get(u.flow).filter(|f| f.route.last() == Some(&hop))));
                let Some(users) = at_end.map(|(u, f)| f.map(|f| (u, f))).collect::<Option<Vec<_>>>() else { continue };
                posted(plan, corner, headers, capacity, &users, &walks, &apart)
            }
            Key::Tags(_) | Key::Outstanding(_) => {
                let own = |u: &Use| {
                    let (flow, w) = plan.flows.get(u.flow).zip(walks.get(u.flow).and_then(Option::as_ref))?;
                    Some(capacity * held(plan, corner, r.key, flow, w, apart[u.flow], u.weight / capacity))
                };
                r.uses.iter().map(|u| own(u).unwrap_or(0.0)).collect()
            }
            _ => continue,
        };
        for (u, more) in r.uses.iter_mut().zip(more) {
            u.weight += more;
            u.first_least -= more;
        }
    }
}

/// What page walks add to the part of tags or outstanding operations that a payload byte takes, seconds: `apart` is
/// what it takes at best, of which these allow `paced`.
fn held(plan: &Plan, corner: Corner, key: Key, flow: &Flow, w: &Walks, apart: f64, paced: f64) -> f64 {
    let in_order = |packets: f64, window: f64| {
        let bytes = w.size / packets;
        let wait = w.train(packets).in_order(window, apart * bytes, window * paced * bytes) / bytes;
        if wait > 0.0 { apart.max(paced) + wait - paced } else { 0.0 }
    };
    match (key, &flow.program) {
        (Key::Tags(_), _) if flow.reads() => {
            let asking = plan.asking(corner, flow);
            let (window, packets) = (asking.engines as f64 * asking.tags as f64, packets(plan, corner, flow, true));
            match w.random && window > w.groups(packets).0 {
                true => w.held(packets, apart) / window,
                false => in_order(packets, window),
            }
        }
        (Key::Outstanding(_), &Program::Closed { outstanding, round_trip: None, .. }) => {
            let packets = packets(plan, corner, flow, flow.reads());
            match w.random && (flow.reads() || outstanding == 1) {
                true => w.one() / w.size / outstanding as f64,
                false => in_order(packets, outstanding as f64 * packets),
            }
        }
        _ => 0.0,
    }
}

/// What page walks add to the credits that a payload byte of each writer takes in a root port's buffer, whose packets
/// come in turn.
fn posted(
    plan: &Plan,
    corner: Corner,
    headers: bool,
    capacity: f64,
    users: &[(&Use, &Flow)],
    walks: &[Option<Walks>],
    apart: &[f64],
) -> Vec<f64> {
    let n = users.len() as f64;
    let each = |flow: &Flow| if headers { 1.0 } else { credits_each(plan, corner, flow) };
    let bytes = |flow: &Flow| flow.size.at(corner).f64() / packets(plan, corner, flow, false);
    let mean = |of: &dyn Fn(&Use, &Flow) -> f64| users.iter().map(|(u, f)| of(u, f)).sum::<f64>() / n;
    let train = |u: &Use, f: &Flow| walks[u.flow].as_ref().map(|w| w.train(w.size / bytes(f)));
    // Those of all flows that may miss are one behind the other.
    let all: Vec<Option<Train>> = users.iter().map(|(u, f)| train(u, f)).collect();
    let Some(first) = all.iter().flatten().next() else { return vec![0.0; users.len()] };
    let often: f64 = all.iter().flatten().map(|t| 1.0 / (t.group * n)).sum();
    let missing = |t: &Train| t.chance / (t.group * n);
    let missed: f64 = all.iter().flatten().map(missing).sum();
    let drawn = all.iter().flatten().map(|t| missing(t) * t.drawn).sum::<f64>() / missed;
    let train = Train { group: 1.0 / often, chance: missed / often, drawn, ..*first };
    let window = (capacity / mean(&|_, f| each(f))).floor().max(1.0);
    // What a walk has held back is free at once: no UpdateFC gathers it.
    let round = mean(&|u, f| (u.weight + u.first_least) * bytes(f) / each(f));
    let wait = train.in_order(window, mean(&|u, f| apart[u.flow] * bytes(f)), round);
    if wait == 0.0 {
        return vec![0.0; users.len()];
    }
    // Whose page it is pays for it; the others take the time of their packets.
    let own = |((u, f), t): (&(&Use, &Flow), &Option<Train>)| {
        let wait = t.as_ref().map_or(0.0, |t| wait * missing(t) / missed * n) / bytes(f);
        let paced = (u.weight + u.first_least) / capacity;
        (capacity * (apart[u.flow].max(paced) + wait) - u.weight).max(0.0)
    };
    users.iter().zip(&all).map(own).collect()
}

/// Read requests of an operation of a flow, or TLPs of its writes.
fn packets(plan: &Plan, corner: Corner, flow: &Flow, reads: bool) -> f64 {
    let piece = if reads { plan.request_size(corner, flow) } else { plan.write_payload(corner, flow) };
    flow.size.at(corner).0.div_ceil(piece) as f64
}

/// Data credits of a TLP of a flow's writes, on average.
fn credits_each(plan: &Plan, corner: Corner, flow: &Flow) -> f64 {
    let (size, payload) = (flow.size.at(corner).0, plan.write_payload(corner, flow));
    let (full, rest) = pcie::split(size, payload);
    let all = full * pcie::data_credits(payload) + pcie::data_credits(rest);
    all as f64 / (full + u64::from(rest > 0)) as f64
}

/// The last hops of flows that miss: their root ports' buffers fill, whatever they hold.
pub(in crate::estimate) fn ports(plan: &Plan, corner: Corner) -> BTreeSet<Hop> {
    let miss = |f: &&Flow| f.writes() && plan.misses(corner, f).is_some();
    plan.flows.iter().filter(miss).filter_map(|f| f.route.last().copied()).collect()
}
