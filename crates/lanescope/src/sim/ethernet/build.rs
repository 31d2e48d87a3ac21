//! From a plan's network to stations, switches and wires.

use crate::plan::Plan;
use crate::plan::ethernet::{Network, NodeId, Stream};
use crate::scenario::NodeKeys;
use crate::scenario::keys::{CongestionControl, Ecmp, EthernetSwitch, FlowControl, Forwarding, SimulationLevel};
use crate::scenario::quantity::Corner;
use crate::sim::core::tally::{Cells, Tally};
use crate::sim::ethernet::lane::{Lane, Sender, Target};
use crate::sim::ethernet::queue_pair::{Pair, Rule, Sending};
use crate::sim::ethernet::rates::{Constants, Limit};
use crate::sim::ethernet::report::AtWindow;
use crate::sim::ethernet::source::Source;
use crate::sim::ethernet::station::{Grants, Lanes, Station};
use crate::sim::ethernet::switch::{Parts, Switch};
use crate::sim::ethernet::{
    Arena, Counts, Fabric, List, NONE, Net, Pausing, Reach, Signal, Spread, StreamState, Why, Wire,
};
use crate::sim::pcie::random;
use rand_xoshiro::rand_core::Rng;
use std::collections::HashMap;
use std::sync::Arc;

impl Fabric {
    /// Wires a network; its slots follow those that are there. Gives their number, and those that begin at time 0.
    pub(in crate::sim) fn build(plan: &Plan, seed: u64, base: u32) -> (Fabric, usize, Vec<u32>) {
        // At flow level another follows it.
        let none = Arc::default();
        let packets = plan.limits.level == SimulationLevel::Packet;
        let network = if packets { &plan.network } else { &none };
        let classes = network.classes.len().max(1);
        let wires = (0..2 * network.links.len() as u32).map(|on| wire(network, on, classes)).collect();
        let groups = network.groups();
        let tables = groups.iter().zip(0u32..).flat_map(|(members, table)| members.iter().map(move |_| table));
        let streams =
            tables.map(|group| StreamState { tally: Tally::default(), fingerprint: group as u64 + 1, group }).collect();
        let mut net = Net {
            frames: Arena::default(),
            wires,
            carried: 0,
            streams,
            latencies: groups.iter().map(|_| Cells::default()).collect(),
            transits: groups.iter().map(|_| Cells::default()).collect(),
            network: network.clone(),
            capture: None,
            events: Vec::new(),
            lost: 0,
            pairs: Vec::new(),
            of_adapter: HashMap::new(),
            resends: network.resends(),
            kept: 0,
            spread: spread(network),
            leaving: Vec::new(),
        };
        let (mut signals, mut begin, mut lanes) = (Vec::new(), Vec::new(), 0);
        let (mut switches, mut stations) = (Vec::new(), Vec::new());
        let own = network.by_source();
        for (i, planned) in network.nodes.iter().enumerate() {
            let id = NodeId(i as u32);
            let ports: Vec<(u32, u32)> =
                (0..planned.ports.len()).map(|p| network.out(id, p)).map(|out| (out ^ 1, out)).collect();
            let is_switch = matches!(planned.keys, NodeKeys::Switch(_));
            let number = if is_switch { switches.len() } else { stations.len() } as u32;
            for (port, &(inward, outward)) in ports.iter().enumerate() {
                let at = base + signals.len() as u32;
                let w = &mut net.wires[inward as usize];
                (w.arrive, w.control, w.port_to) = (at, at + 1, port as u16);
                w.to_switch = if is_switch { number } else { NONE };
                let w = &mut net.wires[outward as usize];
                (w.tx, w.port_from) = (at + 2, port as u16);
                signals.extend(if is_switch {
                    let (to, tell) = (Signal::ToSwitch(inward, number), Signal::TellSwitch(inward, number));
                    [to, tell, Signal::SwitchFree(outward, number)]
                } else {
                    let (to, tell) = (Signal::ToStation(inward, number), Signal::TellStation(inward, number));
                    [to, tell, Signal::Station(number)]
                });
            }
            let timer = base + signals.len() as u32;
            match &planned.keys {
                NodeKeys::Switch(k) => {
                    signals.push(Signal::SwitchTimer(number));
                    let Some(limits) = network.buffering[i] else { continue };
                    let mut switch = Switch::new(Parts {
                        number,
                        ports,
                        buffers: k.buffers.typical,
                        control: k.flow_control.typical,
                        congestion: k.congestion_control.typical,
                        scheduling: k.scheduling.typical,
                        limits,
                        most_marked: k.ecn_probability.typical.0,
                        classes,
                        quanta: k.pause_quanta.typical as u64,
                        latency: k.latency.typical.fs(),
                        random: random(seed, &planned.name),
                        lossless: lossless(network),
                        adaptive: network.ecmp() == Ecmp::Adaptive,
                        weights: network.scheduling(k).1,
                        longest: network.longest_frame(),
                    });
                    switch.timer = timer;
                    switches.push(switch);
                }
                NodeKeys::Station(_) => {
                    signals.push(Signal::Station(number));
                    let ranks = plan.cluster.endpoints.iter().any(|e| e.station == Some(id) && e.pausing.is_some());
                    let mut station = station(network, id, (&own[i], ranks), seed, classes, &mut lanes, &mut net.pairs);
                    station.timer = timer;
                    if !station.senders.is_empty() {
                        begin.push(timer);
                    }
                    stations.push(station);
                }
            }
        }
        phases(network, &mut stations, seed);
        for pair in &plan.storage.pairs {
            // What comes is taken at once: it stops nobody.
            let never = crate::plan::infiniband::Pausing { buffer: u64::MAX, high: u64::MAX, low: u64::MAX };
            let pfc = network.flow_control() == FlowControl::Pfc;
            for end in pair.ends {
                let station = &mut stations[network.routes.number(end) as usize];
                if station.adapter.is_none() {
                    station.adapts(never, pfc, classes, (false, u8::MAX));
                }
            }
        }
        for endpoint in plan.cluster.endpoints.iter().filter(|_| packets) {
            let (Some(station), Some(pausing)) = (endpoint.station, endpoint.pausing) else { continue };
            let pfc = network.flow_control() == FlowControl::Pfc;
            let lanes = (in_lanes(network), lossless(network));
            stations[network.routes.number(station) as usize].adapts(pausing, pfc, classes, lanes);
        }
        let mut sinks = Vec::new();
        if !answers(network, &net.pairs, &stations) {
            sinks.extend((0..net.wires.len() as u32).filter(|on| net.wires[*on as usize].to_switch == NONE));
        }
        let slots = signals.len();
        let at_window = AtWindow::default();
        (Fabric { net, switches, stations, signals, sinks, base, at_window }, slots, begin)
    }
}

/// Whether a station does more with a frame than to count it: it answers what has a number, a mark or a grant, and
/// hands on what is for a channel adapter.
fn answers(network: &Network, pairs: &[Pair], stations: &[Station]) -> bool {
    let marks = |keys: &EthernetSwitch| keys.congestion_control.typical == CongestionControl::Dcqcn;
    pairs.iter().any(|p| p.receiving.is_some())
        || network.streams.iter().any(|s| s.is_roce())
        || network.switches().any(|(_, _, keys)| marks(keys))
        || stations.iter().any(|s| s.adapter.is_some() || s.grants.is_some() || s.constants.is_some())
}

/// Stations that all begin at one moment go on in lockstep, which hides what they do to one another where their ways
/// meet. So each that always has something to send begins at a moment of its own, drawn from the run's seed out of the
/// time that its longest message, or 64 KiB of it, takes its wire. A single one begins at time 0.
fn phases(network: &Network, stations: &mut [Station], seed: u64) {
    let mut eager: Vec<&mut Station> = stations.iter_mut().filter(|s| s.saturates()).collect();
    if eager.len() < 2 {
        return;
    }
    for station in &mut eager {
        let streams = station.senders.iter().map(|s| &network.streams[s.stream as usize]);
        station.starts(phase(network, NodeId(station.node), streams, seed));
    }
}

/// When such a station begins, fs.
pub(super) fn phase<'a>(
    network: &Network,
    station: NodeId,
    streams: impl Iterator<Item = &'a Stream>,
    seed: u64,
) -> u64 {
    let bytes = streams.map(|s| network.wire_bytes(s, s.size.typical.0.min(1 << 16))).max().unwrap_or(0);
    let most = bytes * network.link(network.out(station, 0)).rate.typical.byte_fs();
    let name = format!("phase of {}", network.node(station).name);
    ((random(seed, &name).next_u64() as u128 * most as u128) >> 64) as u64
}

fn wire(network: &Network, on: u32, classes: usize) -> Wire {
    let link = network.link(on);
    let reach = match &network.node(network.arrives(on)).keys {
        NodeKeys::Station(_) => Reach::Whole(0),
        NodeKeys::Switch(k) => match k.forwarding.typical {
            Forwarding::StoreAndForward => Reach::Whole(k.latency.typical.fs()),
            Forwarding::CutThrough => Reach::Header(k.latency.typical.fs()),
        },
    };
    Wire {
        byte: link.rate.typical.byte_fs(),
        delay: network.delay(on, Corner::Typical).fs(),
        reach,
        free: 0,
        flight: List::EMPTY,
        local: List::EMPTY,
        urgent: List::EMPTY,
        queues: vec![List::EMPTY; classes],
        queued_of: vec![0; if classes > 1 { classes } else { 0 }],
        waiting: 0,
        queued: 0,
        turn: 0,
        paused: 0,
        pauses: Box::new([Pausing::default(); 8]),
        armed: false,
        leaves_part: false,
        to_switch: NONE,
        idle_from: 0,
        why: Why::Nothing,
        payload: 0,
        headers: 0,
        frames: 0,
        bytes: 0,
        nothing: 0,
        idle: [0; 6],
        arrive: 0,
        control: 0,
        tx: 0,
        from: network.leaves(on).0,
        to: network.arrives(on).0,
        port_from: 0,
        port_to: 0,
        counts: Counts::default(),
    }
}

/// How sources choose among equal ways.
fn spread(network: &Network) -> Spread {
    match network.ecmp() {
        Ecmp::Hash | Ecmp::Destination | Ecmp::Adaptive => Spread::Connections,
        Ecmp::Packet => Spread::Frames,
        Ecmp::Flowlet => Spread::Flowlets(network.flowlet_gap().fs()),
    }
}

/// Bit n: class n is paused and not dropped.
fn lossless(network: &Network) -> u8 {
    // Without any class there are no frames, or those of channel adapters alone.
    (0..network.classes.len().max(1)).filter(|c| network.lossless(*c)).fold(0, |set, c| set | 1 << c)
}

/// Whether packets of channel adapters wait by queue pair: each has its rate, sends again, or chooses its way.
fn in_lanes(network: &Network) -> bool {
    network.slows_down() || network.resends()
}

fn station(
    network: &Network,
    id: NodeId,
    (own, ranks): (&[usize], bool),
    seed: u64,
    classes: usize,
    lanes: &mut u32,
    pairs: &mut Vec<Pair>,
) -> Station {
    let node = network.node(id);
    let NodeKeys::Station(k) = &node.keys else { unreachable!("{} is a station", node.name) };
    let out = network.out(id, 0);
    let line = network.link(out).rate.typical;
    let dcqcn = network.slows_down();
    let control = network.flow_control();
    // These look at every switch: once, not for each pair of stations.
    let (resends, in_lanes) = (network.resends(), in_lanes(network));
    let kind = match control {
        FlowControl::Voq => Lanes::Stops,
        FlowControl::Credits => Lanes::Grants,
        _ if network.pauses_classes(own, ranks) => Lanes::Classes,
        _ if network.turns_by_frame(own, ranks) || ranks && in_lanes => Lanes::Rates,
        _ if k.queue.is_some() => Lanes::One,
        _ => Lanes::No,
    };
    let constants = dcqcn.then(|| Constants::of(k, line));
    let bound = k.queue.as_ref().map_or(u64::MAX, |q| q.typical.0);
    let buffers = (k.mac_buffer.typical.0, k.nic_buffer.typical.0);
    let response = k.pause_response.typical.fs();
    let rule = Rule {
        kind: k.retransmission.typical,
        timeout: k.retransmission_timeout.typical.fs().max(1),
        reordering: k.reordering.typical,
        window: k.window.typical.get(),
    };
    let mut station = Station::new(id.0, out, response, buffers, bound, kind, classes, constants, rule);
    for &index in own {
        let stream = &network.streams[index];
        let source = Source::new(network, stream, random(seed, &stream.name));
        let endless = source.saturates();
        let mut targets = Vec::new();
        for (t, target) in stream.targets.iter().enumerate() {
            let class = network.class(stream, t) as u8;
            // Frames carry the number of their connection: that among all, where the station has no lanes.
            let lane = if kind == Lanes::No { *lanes } else { station.lanes.len() as u32 };
            let connections = stream.connections.typical.get();
            let way = network.way(index, target);
            targets.push(Target { node: target.0, way, class, lane, lanes: connections, given: 0 });
            for number in 0..connections {
                let mut place = NONE;
                let numbered = (kind != Lanes::No && resends && stream.is_roce()).then_some(rule);
                if kind != Lanes::No {
                    place = station.lanes.len() as u32;
                    let mut made = Lane::new(target.0, class, *lanes, constants.as_ref().map(Limit::new));
                    made.way = network.way_of_connection(index, target, number);
                    made.endless = endless.then_some((station.senders.len() as u32, t as u32));
                    made.sending = numbered.map(|r| Box::new(Sending::new(r)));
                    station.lanes.push(made);
                }
                // Connections that neither slow down nor send again are nobody's business.
                if in_lanes {
                    pairs.push(Pair::new(id.0, place, numbered));
                }
                *lanes += 1;
            }
        }
        station.senders.push(Sender::new(index as u32, source, targets, stream, network.payload(stream).max(1)));
    }
    if control == FlowControl::Credits {
        let share = network.buffering.iter().flatten().map(|b| b.credit).min().unwrap_or(u64::MAX);
        let pool = k.credit.as_ref().map_or(share, |q| q.typical.0);
        station.grants = Some(Grants::new((pool / network.longest_frame()).max(1)));
    }
    station
}
