//! Deadlocks and stalls of Ethernet: who waits for whom.
//!
//! A port that is paused waits until the memory behind it drains, and that waits for the ports on which those frames
//! are to leave. Ports that have been paused for longer than anything ordinary takes, and wait only for one another,
//! will never send again: pauses are said again and again, so nothing falls silent.

use crate::sim::core::deadlock::circle;
use crate::sim::ethernet::Fabric;
use crate::sim::ethernet::station::Station;
use std::collections::BTreeSet;

/// For each wire whose transmitter has something to send and has been paused since before a moment: the wires on which
/// the frames that hold it up wait.
fn paused(fabric: &Fabric, now: u64, before: u64) -> Vec<Option<BTreeSet<u32>>> {
    let net = &fabric.net;
    if net.wires.iter().all(|w| w.paused == 0) {
        return Vec::new();
    }
    let all = net.wires.iter().map(|w| blocked(fabric, w, now, before).then(BTreeSet::new));
    let mut waits: Vec<Option<BTreeSet<u32>>> = all.collect();
    if waits.iter().all(Option::is_none) {
        return waits;
    }
    // What stands in a switch, by the wire that brought it, waits for the wire that takes it.
    for s in &fabric.switches {
        for &(_, out) in &s.ports {
            let moves = waits[out as usize].is_none();
            let mut last = None;
            for id in net.wires[out as usize].queues.iter().flat_map(|q| q.iter(&net.frames)) {
                let frame = &net.frames[id];
                if last.replace(frame.account) == Some(frame.account) {
                    continue;
                }
                for &(inward, _) in s.holds_up(frame) {
                    match &mut waits[inward as usize] {
                        // What it waits for moves, and then so will it.
                        wait if moves => *wait = None,
                        Some(list) => _ = list.insert(out),
                        None => {}
                    }
                }
            }
        }
    }
    waits
}

/// Whether anything has been paused since before a moment: if not, there is no deadlock, and no need for a longer look.
pub(super) fn may_be(fabric: &Fabric, now: u64, before: u64) -> bool {
    let held = |p: &crate::sim::ethernet::Pausing| p.from <= before && now < p.until;
    fabric.net.wires.iter().any(|w| w.paused != 0 && w.pauses.iter().any(held))
}

/// Whether a transmitter has something to send that has been paused since before a moment, however often that was said
/// again. A station that pauses waits for its host alone.
fn blocked(fabric: &Fabric, w: &crate::sim::ethernet::Wire, now: u64, before: u64) -> bool {
    if w.to_switch == crate::sim::ethernet::NONE {
        return false;
    }
    let held = |c: usize| w.paused >> c & 1 == 1 && w.pauses[c].from <= before && now < w.pauses[c].until;
    w.paused != 0 && (0..w.queues.len()).any(|c| held(c) && (!w.queues[c].is_empty() || station_waits(fabric, w, c)))
}

fn station_waits(fabric: &Fabric, w: &crate::sim::ethernet::Wire, class: usize) -> bool {
    station(fabric, w).is_some_and(|s| s.holds(class, &fabric.net.frames))
}

/// The station that a wire leaves, if it is one. Stations stand in the order of nodes.
fn station<'a>(fabric: &'a Fabric, w: &crate::sim::ethernet::Wire) -> Option<&'a Station> {
    let at = fabric.stations.binary_search_by_key(&w.from, |s| s.node).ok()?;
    fabric.stations.get(at)
}

/// A circle of wires that wait for one another, if there is one.
pub(super) fn deadlock(fabric: &Fabric, now: u64, before: u64) -> Option<Vec<String>> {
    let waits = paused(fabric, now, before).into_iter().map(|w| w.map(|set| set.into_iter().collect())).collect();
    let name = |w: u32| format!("{}: paused", fabric.net.network.wire_name(w));
    Some(circle(waits)?.into_iter().map(name).collect())
}

/// Transmitters that wait, and for what; at most 16.
pub(super) fn waiting(fabric: &Fabric) -> Vec<String> {
    let net = &fabric.net;
    let held = |w: &crate::sim::ethernet::Wire| match station(fabric, w) {
        None => w.waiting > 0,
        Some(s) => s.is_held() || s.waiting(&net.frames).next().is_some(),
    };
    let waits = net.wires.iter().enumerate().filter(|(_, w)| held(w));
    let name = |on: usize, w: &crate::sim::ethernet::Wire| {
        format!("{}: {}", net.network.wire_name(on as u32), crate::sim::ethernet::WHY[w.why as usize].words())
    };
    waits.take(16).map(|(i, w)| name(i, w)).collect()
}
