//! Deadlocks and stalls of Ethernet: who waits for whom.
//!
//! A port that is paused waits until the memory behind it drains, and that waits for the ports on which those frames are to leave. Ports that have been paused for
//! longer than anything ordinary takes, and wait only for one another, will never send again: pauses are said again and again, so nothing falls silent.

use super::{Fabric, Kind};
use std::collections::BTreeSet;

/// For each wire whose transmitter has something to send and has been paused since before a moment: the wires on which the frames that hold it up wait.
fn paused(fabric: &Fabric, now: u64, before: u64) -> Vec<Option<BTreeSet<u32>>> {
    let net = &fabric.net;
    let blocked = |w: &super::Wire| {
        let held =
            |class: usize| w.paused >> class & 1 == 1 && now >= w.pauses[class].from && now < w.pauses[class].until;
        w.free <= before
            && (0..w.queues.len()).any(|c| held(c) && (!w.queues[c].is_empty() || station_waits(fabric, w, c)))
    };
    let mut waits: Vec<Option<BTreeSet<u32>>> = net.wires.iter().map(|w| blocked(w).then(BTreeSet::new)).collect();
    // What stands in a switch, by the wire that brought it, waits for the wire that takes it.
    for s in &fabric.switches {
        for &(_, out) in &s.ports {
            for (class, queue) in net.wires[out as usize].queues.iter().enumerate() {
                for id in queue.iter(&net.frames) {
                    for &(inward, _) in &s.ports {
                        let mine = match s.account_of(inward, class) {
                            Some(a) => a.stopped && s.brought(inward, &net.frames[id]),
                            None => false,
                        };
                        if let (true, Some(list)) = (mine, &mut waits[inward as usize]) {
                            list.insert(out);
                        }
                    }
                }
            }
        }
    }
    waits
}

fn station_waits(fabric: &Fabric, w: &super::Wire, class: usize) -> bool {
    let station = fabric.stations.iter().find(|s| s.node == w.from);
    station.is_some_and(|s| s.holds(class, &fabric.net.frames))
}

/// A circle of wires that wait for one another, if there is one; each waits for the next, and the last for the first.
pub(in crate::sim) fn deadlock(fabric: &Fabric, now: u64, before: u64) -> Option<Vec<String>> {
    let mut waits = paused(fabric, now, before);
    // Take out, again and again, whoever waits for a wire that moves: what is left waits only for itself.
    loop {
        let moves: Vec<usize> = (0..waits.len())
            .filter(|&w| {
                waits[w].as_ref().is_some_and(|l| l.is_empty() || l.iter().any(|&n| waits[n as usize].is_none()))
            })
            .collect();
        if moves.is_empty() {
            break;
        }
        moves.into_iter().for_each(|w| waits[w] = None);
    }
    let start = waits.iter().position(Option::is_some)?;
    let mut walk = vec![start as u32];
    loop {
        let next = waits[walk[walk.len() - 1] as usize].as_ref()?.first().copied()?;
        if let Some(at) = walk.iter().position(|w| *w == next) {
            let network = &fabric.net.network;
            let name = |w: &u32| format!("{}: paused", network.wire_name(*w));
            return Some(walk[at..].iter().map(name).collect());
        }
        walk.push(next);
    }
}

/// Transmitters that wait, and for what; at most 16.
pub(in crate::sim) fn waiting(fabric: &Fabric) -> Vec<String> {
    let net = &fabric.net;
    let held =
        |w: &super::Wire| w.queues.iter().flat_map(|q| q.iter(&net.frames)).any(|id| net.frames[id].kind == Kind::Data);
    let waits = net.wires.iter().enumerate().filter(|(_, w)| w.paused != 0 || held(w));
    let name = |on: usize, w: &super::Wire| {
        format!("{}: {}", net.network.wire_name(on as u32), super::WHY[w.why as usize].words())
    };
    waits.take(16).map(|(i, w)| name(i, w)).collect()
}
