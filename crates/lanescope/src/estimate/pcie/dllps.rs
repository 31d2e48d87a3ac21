//! How many Acks and UpdateFCs answer TLPs that come so often.
//!
//! A receiver answers every so many TLPs, or those that have come when it may hold the answer back no longer: on a
//! narrow link each may be answered by itself. So DLLPs follow from the shares, and these from what DLLPs leave them.
//! Before there are shares each flow is taken by itself, as fast as its wires carry it.

use crate::estimate::core::fill::Share;
use crate::estimate::pcie::slots::{Slots, Wires};
use crate::plan::{Asking, Flow, Hop, Plan, Program};
use crate::protocol::pcie::{self, Class};
use crate::scenario::keys::{After, Do};
use crate::scenario::quantity::{Corner, Every};

/// How often DLLPs are counted again at the shares that they gave.
pub(in crate::estimate) const PASSES: usize = 6;

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
}

impl Pattern {
    /// `alone` are the bytes per second that wires carry of it. Operations that begin one by one are sent as fast as
    /// wires carry them, as are batches of requests, and reads that alternate with writes; requests that only wait for
    /// tags leave as tags become free.
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
        Pattern { alone, share, requests, asked: requests * request.min(size) as f64, written }
    }

    /// Those of all flows. What an adapter's other side asks for comes transfer by transfer: it has no share here.
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
            let share = shares.filter(|_| !flow.is_externally_driven()).map(|shares| shares[i].rate);
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

/// How many TLPs come within a time from one on, if they come so often a second and evenly.
fn meanwhile(rate: f64, time: f64) -> f64 {
    // A float's noise does not part the last from the end of the time.
    1.0 + (rate * time * (1.0 + 1e-9)).floor()
}

/// The DLLPs of one direction of a link.
struct Receiver {
    acks: Every,
    updates: Every,
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
        Receiver {
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

    /// Counts the answers to a flow (2.0, 2.6.1.2 and 3.5.3.1).
    fn count(&self, s: &mut Slots, pattern: &Pattern) {
        let together = |class: Class, tlps: f64| pattern.together(class, tlps, self.limit);
        let own = if pattern.share.is_none() { pattern.alone } else { 0.0 };
        let answers = |every: Every, tlps: f64, of_shares: f64, together: f64| match every.0 {
            Some(n) if tlps > 0.0 => {
                let each = meanwhile(of_shares + own * tlps, self.limit).max(together).min(f64::from(n));
                tlps * self.size / each
            }
            _ => 0.0,
        };
        let (acked, freed) = (s.acked, s.freed);
        let most = Class::ALL.map(|c| together(c, acked[c as usize])).into_iter().fold(1.0, f64::max);
        s.acks = answers(self.acks, acked.iter().sum(), self.all, most);
        let of = |c: Class| {
            let tlps = freed[c as usize];
            answers(self.updates, tlps, self.classes[c as usize], together(c, tlps))
        };
        s.update_fc = Class::ALL.map(of).iter().sum();
    }
}

/// Counts all DLLPs: at these shares together; without shares, those of each flow by itself. Gives whether they are
/// others than before.
pub(in crate::estimate) fn count(plan: &Plan, corner: Corner, wires: &mut Wires, shares: Option<&[Share]>) -> bool {
    let patterns = Pattern::all(plan, corner, wires, shares);
    let mut others = false;
    for (hop, list) in wires {
        let mut receiver = Receiver::new(plan, corner, *hop);
        list.iter().for_each(|(flow, s)| receiver.add(s, patterns[*flow].share.unwrap_or(0.0)));
        for (flow, s) in list {
            let before = (s.acks, s.update_fc);
            receiver.count(s, &patterns[*flow]);
            others |= before != (s.acks, s.update_fc);
        }
    }
    others
}
