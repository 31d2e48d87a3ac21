//! Deadlocks of InfiniBand: who waits for whose buffer.
//!
//! A wire without credit waits until the buffer at its far end drains: a switch's by the wires on which those packets
//! are to leave, an adapter's into its host, which always moves. Ways that turn back through switches in a circle, on
//! one virtual lane, can fill all buffers of the circle.

use crate::sim::core::deadlock::circle;
use crate::sim::infiniband::{Fabric, NONE};

/// A circle of wires that wait for one another, if there is one: without credit since before a moment.
pub(super) fn deadlock(fabric: &Fabric, before: u64) -> Option<Vec<String>> {
    let starves = |w: &crate::sim::infiniband::Wire| w.waiting > 0 && w.starved < before && w.to_switch != NONE;
    if !fabric.wires.iter().any(starves) {
        return None;
    }
    let mut waits: Vec<Option<Vec<u32>>> = fabric.wires.iter().map(|w| starves(w).then(Vec::new)).collect();
    for (out, w) in fabric.wires.iter().enumerate() {
        for held in w.holders(&fabric.packets) {
            if let Some(Some(list)) = waits.get_mut(held as usize)
                && list.last() != Some(&(out as u32))
            {
                list.push(out as u32);
            }
        }
    }
    Some(circle(waits)?.into_iter().map(|w| name(fabric, w)).collect())
}

/// Wires without credit, and what they wait for; at most 16.
pub(super) fn waiting(fabric: &Fabric) -> Vec<String> {
    let waits =
        fabric.wires.iter().zip(0u32..).filter(|(w, _)| w.waiting > 0 && w.starved < crate::sim::infiniband::NEVER);
    waits.map(|(_, on)| name(fabric, on)).take(16).collect()
}

fn name(fabric: &Fabric, on: u32) -> String {
    format!("{}: {}", fabric.plan.wire_name(on), crate::result::Idle::LaneCredits.words())
}
