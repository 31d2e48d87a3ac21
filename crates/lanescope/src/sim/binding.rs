//! What binds a flow, as the ledgers along its way show it.

use crate::mpi::Account;
use crate::plan::Dma;
use crate::plan::ethernet::{Network, NodeId};
use crate::plan::pci::{BusFlow, Buses};
use crate::plan::{Flow, FlowId, Hop, Plan};
use crate::result::{
    Binding, BusIdle, Idle, STAGES, SimulatedBackbone, SimulatedFrames, SimulatedIos, SimulatedLink, SimulatedMemory,
    SlotCounts, computing, time_share, way,
};
use crate::scenario::keys::FlowControl;
use crate::units::{Bytes, digits, human_rate};

/// A wire with so much of its slots taken is full.
const FULL: f64 = 0.97;
/// Ways of a table of streams that are looked at, at most.
const MOST_WAYS: usize = 4096;

/// What holds a flow of PCIe up, by the ledgers along its way: a wire whose slots are all taken; else what its
/// requester's own wire waited for.
pub(super) fn flow(plan: &Plan, flow: FlowId, links: &[SimulatedLink], backbones: &[SimulatedBackbone]) -> Binding {
    let flow = &plan.flows[flow.0 as usize];
    let name = |hop: Hop| plan.direction_name(hop);
    let of = |hop: Hop| &links[crate::sim::pcie::wire_of(hop) as usize].slots;
    let ways = flow.route.iter().flat_map(|h| [*h, h.reversed()]).chain(flow.back.iter().copied());
    let used = |s: &SlotCounts| s.busy() as f64 / s.total().max(1) as f64;
    let fullest = ways.max_by(|a, b| used(of(*a)).total_cmp(&used(of(*b))));
    if let Some(hop) = fullest.filter(|h| used(of(*h)) > FULL) {
        let share = digits(100.0 * used(of(hop)));
        return Binding {
            element: name(hop),
            resource: "slots".into(),
            evidence: format!("{share} % of its slots taken"),
        };
    }
    if let Some(binding) = backbone(plan, flow, backbones) {
        return binding;
    }
    let Some(&first) = flow.route.first() else {
        return Binding {
            element: format!("flows.{}", flow.name),
            resource: "its own load".into(),
            evidence: String::new(),
        };
    };
    // A packet of this flow that waits for room on its way, there or back, holds up those behind it.
    let blocked = |s: &SlotCounts| -> u64 {
        Idle::ALL.into_iter().zip(s.idle).filter(|(c, _)| c.is_credit()).map(|(_, n)| n).sum()
    };
    let part = |s: &SlotCounts| blocked(s) as f64 / s.total().max(1) as f64;
    let ways = flow.route.iter().flat_map(|h| [*h, h.reversed()]).chain(flow.back.iter().copied());
    let held = ways.max_by(|a, b| part(of(*a)).total_cmp(&part(of(*b)))).filter(|h| *h != first && part(of(*h)) > 0.1);
    if let Some(hop) = held {
        let idle = of(hop).idle;
        let causes = Idle::ALL.into_iter().zip(idle).filter(|(c, _)| c.is_credit());
        let cause = causes.max_by_key(|(_, n)| *n).map_or("", |(c, _)| c.words());
        let share = digits(100.0 * part(of(hop)));
        let evidence = format!("{share} % of its time idle: {cause}");
        return Binding { element: name(hop), resource: "credits".into(), evidence };
    }
    let slots = of(first);
    let (cause, idle) =
        Idle::ALL.into_iter().zip(slots.idle).max_by_key(|(_, n)| *n).unwrap_or((Idle::NothingToSend, 0));
    let share = digits(100.0 * idle as f64 / slots.total().max(1) as f64);
    let evidence = format!("{share} % of its port's time idle: {}", cause.words());
    let (element, resource) = match cause {
        Idle::Tags => (format!("parts.{}", plan.part(flow.source).name), "read requests in flight"),
        Idle::TurnAround => (format!("parts.{}", plan.part(flow.source).name), "turn-around"),
        Idle::Pace => (format!("parts.{}", plan.part(flow.source).name), "engine"),
        Idle::PostedCredits | Idle::NonPostedCredits | Idle::CompletionCredits => (name(first), "credits"),
        Idle::ReplayBuffer => (name(first), "replay buffer"),
        _ => (format!("flows.{}", flow.name), "its own load"),
    };
    Binding { element, resource: resource.into(), evidence }
}

/// What holds a table of I/Os up: something on their way that works all the time; else what holds up the DMA; else the
/// stage that takes most of an I/O.
pub(super) fn io(
    plan: &Plan,
    flows: &[usize],
    links: &[SimulatedLink],
    times: &SimulatedIos,
    backbones: &[SimulatedBackbone],
) -> Binding {
    let storage = &*plan.storage;
    let mine: Vec<_> = flows.iter().map(|f| &storage.flows[*f]).collect();
    let mut full: Option<(f64, Binding)> = None;
    let mut candidate = |share: f64, element: String, resource: &str| {
        if share > full.as_ref().map_or(FULL, |f| f.0) {
            let evidence = format!("{} % of its time taken", digits(100.0 * share));
            full = Some((share, Binding { element, resource: resource.into(), evidence }));
        }
    };
    // The wires of storage, and behind them the buses, stand last.
    let (before, buses) = links.split_at(links.len() - plan.buses.buses.len());
    let first = before.len() - storage.wires().count();
    for (wire, link) in storage.wires().zip(&before[first..]) {
        if mine.iter().any(|f| f.adapter == Some(wire.transport.adapter)) {
            candidate(link.utilisation(), way(&link.name, &link.to), "slots");
        }
    }
    // Those of Ethernet come behind PCIe's.
    let mut ways: Vec<u32> = Vec::new();
    for pair in mine.iter().filter_map(|f| storage.pair(f)) {
        ways.extend([true, false].into_iter().flat_map(|read| pair.path(&plan.network, read)));
    }
    ways.sort_unstable();
    ways.dedup();
    for wire in ways {
        let link = &links[2 * plan.links.len() + wire as usize];
        candidate(link.utilisation(), way(&link.name, &link.to), "slots");
    }
    for (name, share) in &times.busy {
        let (element, what) = name.split_once(": ").unwrap_or((name, ""));
        candidate(*share, element.to_owned(), what);
    }
    if let Some((_, binding)) = full {
        return binding;
    }
    // As many as they were allowed to.
    let wanted: Option<f64> = mine.iter().map(|f| f.rate.as_ref().map(|r| f64::from(r.typical.get()))).sum();
    let done = times.seen.counts.iter().map(|c| c.transactions.count as f64).sum::<f64>() / times.seen.time.max(1e-300);
    if let Some(wanted) = wanted.filter(|wanted| done > FULL * wanted) {
        return Binding {
            element: format!("flows.{}", mine.first().map_or("", |f| &f.group)),
            resource: "rate".into(),
            evidence: format!("{} a second of its own rate of {}", digits(done), digits(wanted)),
        };
    }
    let mut adapters: Vec<u32> = mine.iter().filter_map(|f| f.adapter).collect();
    adapters.dedup();
    for adapter in adapters {
        let by = match storage.adapters[adapter as usize].dma {
            Dma::Pcie { read, write } => [read, write].map(|dma| flow(plan, dma, links, backbones)),
            Dma::Bus { read, write } => {
                [read, write].map(|dma| bus(&plan.buses, &plan.buses.flows[dma as usize], buses))
            }
        };
        if let Some(by) = by.into_iter().find(|by| by.resource != "its own load") {
            return by;
        }
    }
    let all: f64 = times.stages.iter().sum();
    let (stage, most) = STAGES.iter().zip(times.stages).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((&"", 0.0));
    Binding {
        element: format!("flows.{}", mine.first().map_or("", |f| &f.group)),
        resource: "I/Os outstanding".into(),
        evidence: format!("{} % of an I/O's time: {stage}", digits(100.0 * most / all.max(1e-300))),
    }
}

/// The backbone of a flow's target, if it holds the flow up: a bus whose clocks are all taken, or reads that wait for
/// others of their port.
fn backbone(plan: &Plan, flow: &Flow, backbones: &[SimulatedBackbone]) -> Option<Binding> {
    let name = &plan.part(flow.target).name;
    let found = backbones.iter().find(|b| b.name == *name)?;
    let element = format!("parts.{name}");
    let carries = [true, flow.reads()];
    let buses = found.buses().into_iter().zip(carries).filter(|(_, carries)| *carries).map(|(bus, _)| bus);
    let fullest = buses.max_by(|a, b| a.1.utilisation().total_cmp(&b.1.utilisation()))?;
    if fullest.1.utilisation() > FULL {
        let evidence = format!("{} % of its {}'s clocks taken", digits(100.0 * fullest.1.utilisation()), fullest.0);
        return Some(Binding { element, resource: fullest.0.into(), evidence });
    }
    let waits = found.request.idle[BusIdle::Reads as usize] as f64 / found.request.total().max(1) as f64;
    (flow.reads() && waits > 0.1).then(|| Binding {
        element,
        resource: "reads in flight of a port".into(),
        evidence: format!("{} % of its request bus's clocks idle: {}", digits(100.0 * waits), BusIdle::Reads.words()),
    })
}

/// What holds the streams of one table up: a wire whose slots are all taken; else what made its senders or the ports on
/// their ways wait; else frames that found no room, at the switch that dropped most. `memories` are those of the
/// switches, in their order.
pub(super) fn stream(
    network: &Network,
    streams: &[usize],
    wires: &[SimulatedLink],
    frames: &SimulatedFrames,
    memories: &[SimulatedMemory],
) -> Binding {
    let mut ways: Vec<u32> = Vec::new();
    let pairs = streams.iter().flat_map(|&s| network.streams[s].targets.iter().map(move |t| (s, *t)));
    for (s, target) in pairs.take(MOST_WAYS) {
        ways.extend(network.path(s, target));
    }
    ways.sort_unstable();
    ways.dedup();
    let slots = |w: u32| &wires[w as usize].slots;
    let share = |w: u32, n: u64| n as f64 / slots(w).total().max(1) as f64;
    let most = |f: &dyn Fn(u32) -> f64| ways.iter().copied().max_by(|a, b| f(*a).total_cmp(&f(*b)).then(b.cmp(a)));
    let used = |w: u32| share(w, slots(w).busy());
    let percent = |part: f64| digits(100.0 * part);
    if let Some(w) = most(&used).filter(|w| used(*w) > FULL) {
        let evidence = format!("{} % of its slots taken", percent(used(w)));
        return Binding { element: network.wire_name(w), resource: "slots".into(), evidence };
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
                let evidence = format!(
                    "held back by DCQCN: {time} below its line rate of {line}, by {} CNPs for {} marked frames; it delivers {}",
                    frames.notified,
                    frames.marked,
                    human_rate(frames.rate.mean)
                );
                Binding { element: name, resource: "congestion control".into(), evidence }
            }
        };
    }
    if frames.dropped as f64 > 1e-3 * frames.sent as f64 {
        let part = percent(frames.dropped as f64 / frames.sent as f64);
        let lost = |m: &SimulatedMemory| m.no_memory + m.no_headroom;
        // Of equal ones the first.
        let dropping = network.switches().zip(memories).filter(|(_, m)| lost(m) > 0);
        let worst = dropping.reduce(|worst, next| if lost(next.1) > lost(worst.1) { next } else { worst });
        return match worst {
            Some(((_, node, k), m)) => Binding {
                element: format!("parts.{}", node.name),
                resource: "memory".into(),
                evidence: if m.no_headroom > m.no_memory {
                    format!("a port's headroom was used up: {part} % of the frames dropped")
                } else {
                    format!("its memory of {} was full: {part} % of the frames dropped", k.memory.typical)
                },
            },
            None => Binding {
                element: format!("parts.{}", network.node(network.streams[streams[0]].source).name),
                resource: "queue".into(),
                evidence: format!("its queue was full: {part} % of the frames dropped"),
            },
        };
    }
    Binding {
        element: format!("flows.{}", network.streams[streams[0]].group),
        resource: "its own load".into(),
        evidence: "it gets all that it asks for".into(),
    }
}

/// What holds a flow of a bus up: the bus, if it is never idle; else what its devices and the bridge made it wait for.
pub(super) fn bus(buses: &Buses, flow: &BusFlow, links: &[SimulatedLink]) -> Binding {
    let device = &buses.devices[flow.device as usize];
    let (bus, bridge) = buses.of(flow);
    let slots = &links[device.bus as usize].slots;
    let whole = slots.total().max(1) as f64;
    let used = slots.busy() as f64 / whole;
    if used > FULL {
        let evidence = format!("{} % of its clocks taken", digits(100.0 * used));
        return Binding { element: format!("links.{}", bus.name), resource: "clocks".into(), evidence };
    }
    let most = Idle::ALL.into_iter().zip(slots.idle).reduce(|a, b| if b.1 > a.1 { b } else { a });
    let (cause, idle) = most.unwrap_or((Idle::NothingToSend, 0));
    let time = format!("{} % of the bus's clocks idle", digits(100.0 * idle as f64 / whole));
    let (element, resource, evidence) = match cause {
        Idle::Bridge => {
            (format!("parts.{}", device.name), "reads outstanding", format!("{time}, waiting for {}", bridge.name))
        }
        Idle::TurnAround => (format!("parts.{}", device.name), "turn-around", format!("{time} between transactions")),
        Idle::Pace => (format!("parts.{}", device.name), "engine", format!("{time}, at its own rate")),
        Idle::Arbitration => (format!("links.{}", bus.name), "arbitration", time),
        _ => (format!("flows.{}", flow.group), "its own load", format!("{time}, nothing to send")),
    };
    Binding { element, resource: resource.into(), evidence }
}

/// `sw port 3 because memory passed 16 KiB`.
pub(super) fn stopper(network: &Network, wire: u32) -> String {
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

/// What holds the ranks of a program up: their own computing, else the link or bus that is busiest, else what one
/// message takes by itself.
pub(super) fn job(plan: &Plan, job: usize, accounts: &[Account], links: &[SimulatedLink]) -> Binding {
    let name = &plan.cluster.jobs[job].name;
    if let Some(binding) = computing(name, accounts) {
        return binding;
    }
    let used = |l: &SimulatedLink| l.slots.busy() as f64 / l.slots.total().max(1) as f64;
    let busiest = links.iter().reduce(|a, b| if used(b) > used(a) { b } else { a });
    match busiest.map(|l| (l, used(l))) {
        Some((link, part)) if part > 0.5 => Binding {
            element: crate::result::way(&link.name, &link.to),
            resource: if link.to.is_empty() { "clocks" } else { "slots" }.into(),
            evidence: format!("{} % taken", digits(100.0 * part)),
        },
        other => {
            let most = other.map_or(0.0, |(_, part)| 100.0 * part);
            let evidence = format!(
                "ranks wait {} % of their time and spend {} % in the library; no link is more than {} % busy",
                digits(100.0 * time_share(accounts, |a| a.waiting)),
                digits(100.0 * time_share(accounts, |a| a.sending + a.receiving + a.copying)),
                digits(most)
            );
            Binding { element: format!("flows.{name}"), resource: "latency".into(), evidence }
        }
    }
}
