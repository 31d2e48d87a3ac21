//! How many Acks and UpdateFCs answer TLPs that come so often.
//!
//! A receiver answers every N-th TLP, or those that came when the limit ends, whichever is first: on a narrow link each
//! may be answered by itself. So the number of DLLPs depends on how fast TLPs come, which depends on the room that
//! DLLPs leave. There may be two answers, for the more DLLPs the slower TLPs come: we begin with the fewest, one for
//! every N, and count again at the shares that these give; DLLPs only become more, so this ends.

use crate::estimate::core::elements::Key;
use crate::estimate::core::fill::{Resource, Share};
use crate::estimate::pcie::slots::{Slots, Wires};
use crate::plan::pcie::check::credits;
use crate::plan::{Asking, Flow, Hop, Plan, Program};
use crate::protocol::pcie::{self, Class};
use crate::scenario::keys::{After, Do};
use crate::scenario::quantity::{Corner, Every};

/// How often DLLPs are counted again at the shares that they gave: a wire whose DLLPs are more in every pass has been
/// through all N of the default after four.
pub(in crate::estimate) const PASSES: usize = 8;

/// Payload bytes per second of a flow whose TLPs come faster than any limit ends: DLLPs are the fewest.
const AT_ONCE: f64 = 1e30;

/// How a flow loads its wires.
struct Pattern {
    /// Payload bytes per second that its wires carry at most, if DLLPs take nothing.
    alone: f64,
    /// Payload bytes per second of its share; `None` where it counts by itself, as fast as wires carry it.
    share: Option<f64>,
    /// Read requests that leave together, and bytes that they ask for.
    requests: f64,
    asked: f64,
    /// Bytes that are written together; 0 of a stream of writes.
    written: f64,
    /// Data credits of a TLP of each class.
    data: [u64; 3],
}

impl Pattern {
    /// `alone` are the bytes per second that wires carry of it.
    ///
    /// - Requests leave together (`requests`): a batch of them; those of one operation, if there are tags for all
    ///   operations that are outstanding (an open load begins one at a time). Otherwise each waits for a tag.
    /// - Writes of an operation leave together (`written`) where operations begin one by one: an open or closed load,
    ///   or writes that alternate with reads. A saturating flow sends one stream.
    fn of(plan: &Plan, corner: Corner, flow: &Flow, alone: f64, share: Option<f64>) -> Pattern {
        let Asking { engines, tags, after, .. } = plan.asking(corner, flow);
        let (size, request) = (flow.size.at(corner).0, plan.request_size(corner, flow));
        let operations = match flow.program {
            // While a write is sent, tags become free for the read behind it.
            _ if flow.op.typical == Do::Alternate => Some(1),
            Program::Closed { outstanding, .. } => Some(u64::from(outstanding)),
            Program::Open { .. } => Some(1),
            Program::Saturating | Program::ExternallyDriven => None,
        };
        let each = size.div_ceil(request);
        let all = operations.map(|n| n.saturating_mul(each));
        let requests = match after {
            After::Batch => tags,
            After::Request if all.is_some_and(|all| all <= engines.saturating_mul(tags)) => each,
            After::Request => 1,
        } as f64;
        let written = if operations.is_some() { size as f64 } else { 0.0 };
        let (write, piece) =
            (plan.write_payload(corner, flow).min(size), plan.completion_size(corner, flow, request.min(size)));
        let data = [pcie::data_credits(write), 0, pcie::data_credits(piece.min(size))];
        Pattern { alone, share, requests, asked: requests * request.min(size) as f64, written, data }
    }

    /// Those of all flows. Externally driven ones (DMA of I/Os and messages) have no share of their own: each counts by
    /// itself, at full speed, and others do not see its TLPs.
    fn all(plan: &Plan, corner: Corner, wires: &Wires, shares: Option<&[Share]>) -> Vec<Pattern> {
        let mut alone = vec![f64::INFINITY; plan.flows.len()];
        for (hop, list) in wires {
            let link = plan.link(hop.link);
            let rate = link.speed.at(corner).coded().bytes() * link.usable(corner);
            for (flow, s) in list.iter().filter(|(_, s)| s.packets() > 0.0) {
                alone[*flow] = alone[*flow].min(rate / s.packets());
            }
        }
        let one = |(i, (flow, alone)): (usize, (&Flow, f64))| {
            let share = || shares.map_or(AT_ONCE, |shares| shares[i].rate);
            let share = (!flow.is_externally_driven()).then(share);
            Pattern::of(plan, corner, flow, alone, share)
        };
        plan.flows.iter().zip(alone).enumerate().map(one).collect()
    }

    /// How many TLPs of a class come together within a time, where there are so many for each payload byte.
    fn together(&self, class: Class, tlps: f64, time: f64) -> f64 {
        let bytes = match class {
            Class::Posted => self.written,
            Class::NonPosted => return if tlps > 0.0 { self.requests } else { 0.0 },
            Class::Completion => self.asked,
        };
        (tlps * bytes).min(meanwhile(tlps * self.alone, time))
    }
}

/// How many TLPs come within a time from one on, if they come so often a second and evenly; at an infinite rate within
/// no time it is not a number, which `min` and `max` leave out.
fn meanwhile(rate: f64, time: f64) -> f64 {
    // A float's noise does not part the last from the end of the time.
    1.0 + (rate * time * (1.0 + 1e-9)).floor()
}

/// The DLLPs of one direction of a link.
struct Receiver {
    acks: Every,
    updates: Every,
    /// Header and data credits of each class, where a scenario states them.
    credits: [[Option<u32>; 2]; 3],
    /// Seconds that one may be held back.
    limit: f64,
    /// Slots of one.
    size: f64,
    /// TLPs that come a second of all shares: all, and of each class.
    all: f64,
    classes: [f64; 3],
}

impl Receiver {
    fn new(plan: &Plan, corner: Corner, hop: Hop) -> Receiver {
        let link = plan.link(hop.link);
        let keys = &plan.part(plan.arrives(hop.reversed())).keys;
        let of = |class: Class| {
            let (headers, data) = credits(keys, class);
            [headers, data].map(|q| q.map(|q| q.at(corner)))
        };
        Receiver {
            credits: Class::ALL.map(of),
            acks: link.ack_every.at(corner),
            updates: link.update_fc_every.at(corner),
            limit: link.held_back(corner),
            size: pcie::dllp(link.speed.typical.generation) as f64,
            all: 0.0,
            classes: [0.0; 3],
        }
    }

    /// What comes at the share of a flow.
    fn add(&mut self, s: &Slots, share: f64) {
        self.all += share * s.acked.iter().sum::<f64>();
        self.classes.iter_mut().zip(s.freed).for_each(|(sum, tlps)| *sum += share * tlps);
    }

    /// TLPs of a class that one UpdateFC answers at most: a receiver does not hold back half of the room that it has.
    fn room(&self, class: Class, every: u32, pattern: &Pattern) -> u32 {
        let [headers, data] = self.credits[class as usize].map(|n| n.map(|n| (n / 2).max(1)));
        let of_data = data.map(|n| u64::from(n).div_ceil(pattern.data[class as usize].max(1)) as u32);
        every.min(headers.unwrap_or(every)).min(of_data.unwrap_or(every))
    }

    /// Slots of Acks and of UpdateFCs for each payload byte of a flow (2.0, 2.6.1.2 and 3.5.3.1).
    fn answers(&self, s: &Slots, pattern: &Pattern) -> [f64; 2] {
        let together = |class: Class, tlps: f64| pattern.together(class, tlps, self.limit);
        let own = if pattern.share.is_none() { pattern.alone } else { 0.0 };
        let answers = |n: u32, tlps: f64, of_shares: f64, together: f64| {
            let each = meanwhile(of_shares + own * tlps, self.limit).max(together).min(f64::from(n));
            if tlps > 0.0 { tlps * self.size / each } else { 0.0 }
        };
        let (acked, freed) = (s.acked, s.freed);
        let most = Class::ALL.map(|c| together(c, acked[c as usize])).into_iter().fold(1.0, f64::max);
        let acks = self.acks.0.map_or(0.0, |n| answers(n, acked.iter().sum(), self.all, most));
        let of = |c: Class| {
            let (tlps, rate) = (freed[c as usize], self.classes[c as usize]);
            self.updates.0.map_or(0.0, |n| answers(self.room(c, n, pattern), tlps, rate, together(c, tlps)))
        };
        [acks, Class::ALL.map(of).iter().sum()]
    }
}

/// The wires with DLLPs counted anew: without shares the fewest; at shares those of all flows together, no fewer than
/// before. `None` if they are as many as before.
pub(in crate::estimate) fn counted(
    plan: &Plan,
    corner: Corner,
    wires: &Wires,
    shares: Option<&[Share]>,
) -> Option<Wires> {
    let patterns = Pattern::all(plan, corner, wires, shares);
    let mut answers = Vec::with_capacity(wires.values().map(Vec::len).sum());
    for (hop, list) in wires {
        let mut receiver = Receiver::new(plan, corner, *hop);
        list.iter().for_each(|(flow, s)| receiver.add(s, patterns[*flow].share.unwrap_or(0.0)));
        answers.extend(list.iter().map(|(flow, s)| {
            let [acks, updates] = receiver.answers(s, &patterns[*flow]);
            if shares.is_some() { [acks.max(s.acks), updates.max(s.update_fc)] } else { [acks, updates] }
        }));
    }
    let same = wires.values().flatten().zip(&answers).all(|((_, s), n)| [s.acks, s.update_fc] == *n);
    (!same).then(|| {
        let mut wires = wires.clone();
        for ((_, s), n) in wires.values_mut().flatten().zip(answers) {
            [s.acks, s.update_fc] = n;
        }
        wires
    })
}

/// Takes the DLLPs of other wires of the same flows over into what they ask for, where nothing depends on them: no wire
/// on which they are others was full, or is. Gives whether it did.
pub(in crate::estimate) fn take(resources: &mut [Resource<Key>], wires: &Wires, shares: &[Share]) -> bool {
    // Wires come before all other resources, in the order of the hops, with the uses of flows first.
    let first = |s: &Slots| s.acks + s.update_fc;
    let fits = wires.iter().zip(&*resources).all(|((hop, list), r)| {
        let load = |dllps: &dyn Fn(usize, f64) -> f64| -> f64 {
            r.uses.iter().enumerate().map(|(i, u)| (u.weight + dllps(i, u.first)) * shares[u.flow].rate).sum()
        };
        let room = r.capacity * (1.0 - 1e-6);
        r.key == Key::Wire(*hop)
            && r.uses.len() == list.len()
            && (r.uses.iter().zip(list).all(|(u, (_, s))| u.first == first(s))
                || load(&|_, before| before) < room && load(&|i, _| first(&list[i].1)) < room)
    });
    if fits {
        for (r, list) in resources.iter_mut().zip(wires.values()) {
            r.uses.iter_mut().zip(list).for_each(|(u, (_, s))| u.first = first(s));
        }
    }
    fits
}
