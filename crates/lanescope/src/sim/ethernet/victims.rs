//! Victims of pauses: flows that are held up though nothing on their way is full.
//!
//! A pause speaks for a port (or for one priority of it), not for a destination: frames that go elsewhere stand behind
//! those that are meant. From a wire that was paused the way to the cause leads through the switch that paused it: to
//! its wires out that were paused themselves, and on, until one was full or its receiver stopped it. A flow that
//! crosses none of these is a victim.

use crate::plan::ethernet::Network;
use crate::result::{Idle, Note, SimulatedLink};
use crate::sim::ethernet::binding::stopper;
use crate::units::digits;
use std::collections::BTreeSet;

/// A wire that was paused for a larger part of its time holds a flow up.
const HELD: f64 = 0.05;
/// A wire that was busy for so much of its time is full: of the rest, what switches need to notice that they may go on.
const FULL: f64 = 0.9;
/// Ways that are looked at, at most.
const MOST_WAYS: usize = 4096;

/// What is to be said of the flows of a network; `links` are both ways of each of its links.
pub(in crate::sim) fn victims(network: &Network, links: &[SimulatedLink]) -> Vec<Note> {
    let paused = |w: u32| {
        let slots = &links[w as usize].slots;
        slots.idle[Idle::Paused as usize] as f64 / slots.total().max(1) as f64
    };
    if links.iter().zip(0..).all(|(_, w)| paused(w) <= HELD) {
        return Vec::new();
    }
    let busy = |w: u32| links[w as usize].slots.busy() as f64 / links[w as usize].slots.total().max(1) as f64;
    let causes = |from: u32| {
        let (mut causes, mut known, mut open) = (BTreeSet::new(), BTreeSet::from([from]), vec![from]);
        while let Some(wire) = open.pop() {
            let at = network.arrives(wire);
            if network.station(at).is_some() {
                causes.insert(wire);
                continue;
            }
            let ports = 0..network.node(at).ports.len();
            for out in ports.map(|p| network.out(at, p)).filter(|out| *out != wire ^ 1) {
                if paused(out) > HELD {
                    if known.insert(out) {
                        open.push(out);
                    }
                } else if busy(out) > FULL {
                    causes.insert(out);
                }
            }
        }
        causes
    };
    let mut looked = 0;
    let mut notes = Vec::new();
    for members in network.groups() {
        // The worst of a table: for how long, which wire, and for whose sake.
        let mut worst: Option<(f64, u32, u32)> = None;
        let mut held = 0;
        for &s in &members {
            let mut victim = false;
            for target in network.streams[s].targets.iter() {
                looked += 1;
                if looked > MOST_WAYS {
                    break;
                }
                let path = network.path(s, target);
                let most = path.iter().copied().max_by(|a, b| paused(*a).total_cmp(&paused(*b)));
                let Some(wire) = most.filter(|w| paused(*w) > HELD) else { continue };
                let causes = causes(wire);
                let Some(&cause) = causes.first().filter(|_| path.iter().all(|w| !causes.contains(w))) else {
                    continue;
                };
                victim = true;
                if worst.is_none_or(|w| paused(wire) > w.0) {
                    worst = Some((paused(wire), wire, cause));
                }
            }
            held += usize::from(victim);
        }
        let Some((part, wire, cause)) = worst else { continue };
        let who = match members.len() {
            1 => "it does".to_owned(),
            all => format!("{held} of its {all} streams do"),
        };
        notes.push(Note {
            element: format!("flows.{}", network.streams[members[0]].group),
            mechanism: "pause".into(),
            text: format!(
                "a victim of pauses: {} was paused {} % of its time by {}, because of {}, which {who} not cross",
                network.wire_name(wire),
                digits(100.0 * part),
                stopper(network, wire),
                network.wire_name(cause)
            ),
        });
    }
    notes
}
