//! What binds streams of frames, as the ledgers along their ways show it.

use crate::plan::ethernet::{Network, NodeId};
use crate::result::{Binding, Idle, SimulatedFrames, SimulatedLink, SimulatedMemory};
use crate::scenario::keys::FlowControl;
use crate::sim::core::subsystem::FULL;
use crate::units::{Bytes, digits, human_rate};

/// Ways of a table of streams that are looked at, at most.
const MOST_WAYS: usize = 4096;

/// What holds the streams of one table up: a wire whose slots are all taken; else what made its senders or the ports on
/// their ways wait; else frames that found no room, at the switch that dropped most. `memories` are those of the
/// switches, in their order.
pub(in crate::sim) fn stream(
    network: &Network,
    streams: &[usize],
    wires: &[SimulatedLink],
    frames: &SimulatedFrames,
    memories: &[SimulatedMemory],
) -> Binding {
    let ways = ways(network, streams);
    let slots = |w: u32| &wires[w as usize].slots;
    let share = |w: u32, n: u64| n as f64 / slots(w).total().max(1) as f64;
    let most = |f: &dyn Fn(u32) -> f64| ways.iter().copied().max_by(|a, b| f(*a).total_cmp(&f(*b)).then(b.cmp(a)));
    let used = |w: u32| share(w, slots(w).busy());
    let percent = |part: f64| digits(100.0 * part);
    // A source that sends the same again and again fills its own wire with it.
    let drops = frames.dropped as f64 > 1e-3 * frames.sent as f64;
    let repeats = |w: u32| drops && frames.resent > 0 && network.station(network.leaves(w)).is_some();
    let carries = |w: u32| if repeats(w) { 0.0 } else { used(w) };
    if let Some(w) = most(&carries).filter(|w| carries(*w) > FULL) {
        return full(network, wires, w);
    }
    // The port that waited most, for something that another part decides.
    let causes = [Idle::Paused, Idle::Stopped, Idle::Grants, Idle::Pace];
    let held = |w: u32| causes.iter().map(|c| share(w, slots(w).idle[*c as usize])).fold(0.0, f64::max);
    if let Some(w) = most(&held).filter(|w| held(*w) > 0.01) {
        let cause = causes.into_iter().max_by_key(|c| slots(w).idle[*c as usize]).unwrap_or_default();
        let time = format!("{} % of its time", percent(held(w)));
        let name = network.wire_name(w);
        return match cause {
            Idle::Paused => {
                let evidence = format!("{time} paused by {}", stopper(network, w));
                Binding { element: name, resource: "pause".into(), evidence }
            }
            Idle::Stopped => {
                let evidence = format!("{time} with its destinations stopped by {}", stopper(network, w));
                Binding { element: name, resource: "stops".into(), evidence }
            }
            Idle::Grants => {
                let evidence = format!("{time} with nothing granted by its destinations");
                Binding { element: name, resource: "credits".into(), evidence }
            }
            _ => {
                let line = network.link(w).rate.typical;
                // A source that was told before the window opened may still recover its rate throughout the window.
                let told = match frames.notified {
                    0 => "by CNPs from before the measured time, or for other flows of its station".to_owned(),
                    n => format!("by {n} CNPs for {} marked frames", frames.marked),
                };
                let evidence = format!(
                    "held back by DCQCN: {time} below its line rate of {line}, {told}; flows.{} delivers {}",
                    network.streams[streams[0]].group,
                    human_rate(frames.rate.mean)
                );
                Binding { element: name, resource: "congestion control".into(), evidence }
            }
        };
    }
    if drops {
        let part = |frames_of: u64| percent(frames_of as f64 / frames.sent as f64);
        if 2 * frames.refused > frames.dropped {
            // Of several sources by their table: any of them may be the one.
            let [first, last] = [streams[0], streams[streams.len() - 1]].map(|s| network.streams[s].source);
            let node = network.node(first);
            let name = if first == last { &node.name } else { &node.group };
            let evidence = format!("its queue had no room for {} % of the frames", part(frames.refused));
            return Binding { element: format!("parts.{name}"), resource: "queue".into(), evidence };
        }
        let again = match frames.resent {
            0 => String::new(),
            n => format!(", {} % of all that was sent was sent again", part(n)),
        };
        let lost = |m: &SimulatedMemory| m.no_memory + m.no_headroom;
        // On these ways, if it was there: others are taken where frames are spread. Of equal ones the first.
        let passed = |node: NodeId| ways.iter().any(|w| network.leaves(*w) == node);
        let dropping = network.switches().zip(memories).filter(|(_, m)| lost(m) > 0);
        let key = |((id, ..), m): &((NodeId, _, _), &SimulatedMemory)| (passed(*id), lost(m));
        let worst = dropping.reduce(|worst, next| if key(&next) > key(&worst) { next } else { worst });
        if let Some(((id, node, k), m)) = worst {
            let part = part(frames.dropped - frames.refused);
            return Binding {
                element: format!("parts.{}", node.name),
                resource: "memory".into(),
                evidence: if m.no_headroom > m.no_memory {
                    format!("a port's headroom was used up: {part} % of the frames dropped")
                } else if 2 * m.no_lossy > m.no_memory {
                    let lossy = Bytes(network.buffering[id.0 as usize].map_or(0, |b| b.lossy));
                    format!(
                        "the part of its memory for lossy priorities, {lossy} (lossy_memory), had no room: {part} % \
                         of the frames dropped{again}"
                    )
                } else {
                    format!("its memory of {} was full: {part} % of the frames dropped{again}", k.memory.typical)
                },
            };
        }
    }
    own_load(network, streams)
}

/// The same at flow level: a wire whose slots are all taken; else, where the load is not carried, the wire that holds
/// most messages to their share of it. `held` says how many those are on average, and whether the load is not carried.
pub(in crate::sim) fn flow(
    network: &Network,
    streams: &[usize],
    wires: &[SimulatedLink],
    held: impl Fn(u32) -> (f64, bool),
) -> Binding {
    let ways = ways(network, streams);
    let most = |f: &dyn Fn(u32) -> f64| ways.iter().copied().max_by(|a, b| f(*a).total_cmp(&f(*b)).then(b.cmp(a)));
    let used = |w: u32| wires[w as usize].utilisation();
    if let Some(w) = most(&used).filter(|w| used(*w) > FULL) {
        return full(network, wires, w);
    }
    match most(&|w| held(w).0).map(|w| (w, held(w))) {
        Some((w, (messages, true))) if messages > 0.0 => Binding {
            element: network.wire_name(w),
            resource: "sharing".into(),
            evidence: format!(
                "{} messages at a time have no more than their share of it, and hold up those behind them",
                digits(messages)
            ),
        },
        _ => own_load(network, streams),
    }
}

/// A wire whose slots are all taken.
fn full(network: &Network, wires: &[SimulatedLink], wire: u32) -> Binding {
    let evidence = format!("{} % of its slots taken", digits(100.0 * wires[wire as usize].utilisation()));
    Binding { element: network.wire_name(wire), resource: "slots".into(), evidence }
}

/// The wires that streams go over.
pub(super) fn ways(network: &Network, streams: &[usize]) -> Vec<u32> {
    let mut ways: Vec<u32> = Vec::new();
    let pairs = streams.iter().flat_map(|&s| network.streams[s].targets.iter().map(move |t| (s, t)));
    for (s, target) in pairs.take(MOST_WAYS) {
        ways.extend(network.path(s, target));
    }
    ways.sort_unstable();
    ways.dedup();
    ways
}

fn own_load(network: &Network, streams: &[usize]) -> Binding {
    Binding {
        element: format!("flows.{}", network.streams[streams[0]].group),
        resource: "its own load".into(),
        evidence: "the load is carried in full".into(),
    }
}

/// `sw port 3 because memory passed 16 KiB`.
pub(in crate::sim) fn stopper(network: &Network, wire: u32) -> String {
    let by: NodeId = network.arrives(wire);
    let node = network.node(by);
    let port = node.ports.iter().position(|&(link, end)| 2 * link + end as u32 == wire ^ 1).unwrap_or(0);
    let high = network.buffering[by.0 as usize].map_or(Bytes(0), |b| Bytes(b.high));
    let what = match network.flow_control() {
        FlowControl::Pfc => "its frames of one priority",
        FlowControl::Voq => "an output queue",
        _ => "memory",
    };
    format!("{} port {port} because {what} passed {high}", node.name)
}
