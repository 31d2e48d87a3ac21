//! Deadlocks and stalls of PCIe: who waits for whom.
//!
//! A packet at the head of a queue waits for credits of the next wire; those come back when the buffer at that wire's
//! end is drained, which waits for the packets in it.

use crate::plan::{Direction, Hop, LinkId, Plan};
use crate::protocol::pcie::Class;
use crate::sim::core::deadlock::circle;
use crate::sim::pcie::{Fabric, Part};

/// `links.a toward sw.1`.
fn name(plan: &Plan, wire: u32) -> String {
    let direction = if wire & 1 == 0 { Direction::Down } else { Direction::Up };
    plan.direction_name(Hop { link: LinkId(wire / 2), direction })
}

/// For each wire whose transmitter has been blocked since before a moment: the wires whose buffers must drain first.
fn blocked(fabric: &Fabric, before: u64, silent: bool) -> Vec<Option<Vec<u32>>> {
    let net = &fabric.net;
    let mut waits: Vec<Option<Vec<u32>>> =
        net.wires.iter().map(|w| (w.waiting && (silent || w.blocked_since < before)).then(Vec::new)).collect();
    // What stands in the buffer at the end of a wire, and wants out by another.
    for part in &fabric.parts {
        let Part::Switch(s) = part else { continue };
        for (inward, outward) in s.blocked(net) {
            if let Some(list) = &mut waits[inward as usize]
                && !list.contains(&outward)
            {
                list.push(outward);
            }
        }
    }
    waits
}

/// A circle of wires that wait for one another, if there is one, with what each of them lacks.
pub(super) fn deadlock(plan: &Plan, fabric: &Fabric, before: u64, silent: bool) -> Option<Vec<String>> {
    let lack = |w: u32| {
        let wire = &fabric.net.wires[w as usize];
        let spent = Class::ALL.into_iter().filter(|c| wire.left(*c).0 == Some(0) || wire.left(*c).1 == Some(0));
        let spent: Vec<String> = spent.map(|c| format!("{c:?}")).collect();
        let kind = if spent.is_empty() {
            wire.idle.words().to_owned()
        } else {
            format!("no credits left ({})", spent.join(", "))
        };
        format!("{}: {kind}", name(plan, w))
    };
    Some(circle(blocked(fabric, before, silent))?.into_iter().map(lack).collect())
}

/// Transmitters that wait, and for what; at most 16.
pub(super) fn waiting(plan: &Plan, fabric: &Fabric) -> Vec<String> {
    let waits = fabric.net.wires.iter().enumerate().filter(|(_, w)| w.waiting);
    waits.take(16).map(|(i, w)| format!("{}: {}", name(plan, i as u32), w.idle.words())).collect()
}
