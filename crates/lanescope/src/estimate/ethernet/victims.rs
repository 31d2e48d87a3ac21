//! Victims of pauses: flows that stand behind others that are stopped, though nothing on their own way is full.
//!
//! PFC stops a port and a class, so who shares both with a flow that waits further on gets through only as that flow
//! does, and its share says so. PAUSE stops all ports of a switch whose memory fills up: a share does not say that. Nor
//! does one know what DCQCN's sources have not recovered yet.

use crate::estimate::ethernet::Outcome;
use crate::result::Note;
use crate::scenario::keys::FlowControl;
use std::collections::BTreeMap;

/// What is to be said of each table of flows.
pub(super) fn notes(outcome: &Outcome) -> Vec<Note> {
    let Outcome { network, asked, resources, shares, behind, .. } = outcome;
    let streams = network.streams.len();
    let full = |flow: usize| shares[flow].by.map(|r| resources[r].key);
    // Switches that stop all their ports, by a wire that is full behind them.
    let mut stopping: BTreeMap<u32, u32> = BTreeMap::new();
    if network.flow_control() == FlowControl::Pause {
        for wire in (0..streams).filter_map(full) {
            let node = network.leaves(wire);
            if network.station(node).is_none() {
                stopping.entry(node.0).or_insert(wire);
            }
        }
    }
    let of_one = |flow: usize| -> Option<String> {
        if let (Some(wire), Some(cause)) = (behind[flow], full(flow)) {
            return Some(format!(
                "a victim of pauses: it shares {} with flows of its priority that wait for {}, which it does not \
                 cross; PFC stops that port as a whole, so it gets through only in its turns beside them",
                network.wire_name(wire),
                network.wire_name(cause)
            ));
        }
        let wires = &asked[flow].wires[..asked[flow].data];
        let stops = |w: &(u32, f64)| stopping.get(&network.arrives(w.0).0).map(|cause| (w.0, *cause));
        let (wire, cause) = wires.iter().find_map(stops)?;
        (!wires.iter().any(|w| w.0 == cause)).then(|| {
            format!(
                "a victim of pauses: {} is paused whenever {} is full, which it does not cross, because PAUSE speaks \
                 for all of a switch's memory; its share does not count that",
                network.wire_name(wire),
                network.wire_name(cause)
            )
        })
    };
    let note = |members: Vec<usize>| {
        let text = members.iter().find_map(|m| of_one(*m))?;
        let element = format!("flows.{}", network.streams[members[0]].group);
        Some(Note { element, mechanism: "pause".into(), text })
    };
    let slowed_down = (network.slows_down() && streams > 0).then(|| Note {
        element: "total".into(),
        mechanism: "congestion-control".into(),
        text:
            "shares assume full wires, and that DCQCN slows sources down before ports are stopped: sources that have \
               not recovered their rate get less"
                .into(),
    });
    network.groups().into_iter().filter_map(note).chain(slowed_down).collect()
}
