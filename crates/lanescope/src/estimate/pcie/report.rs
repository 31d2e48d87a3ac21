//! What a report says of PCIe flows: their tables, the words for what binds them, and where the bits of each link go.

use crate::estimate::core::alike;
use crate::estimate::core::bound::{held_against, others, typically_bound};
use crate::estimate::core::elements::{Ceiling, Key};
use crate::estimate::pcie::latency::Unloaded;
use crate::estimate::pcie::requester::{ends_with_operation, held_back, operation};
use crate::estimate::{Outcome, alone, binding, bound_of_framing, bounds, element};
use crate::plan::{Direction, Flow, Hop, LinkId, PartId, Plan, Program};
use crate::protocol::pcie::{self as protocol, Class};
use crate::result::{Excess, FlowReport, Ledger, LinkReport, Medium, Ranged, Upgrade, Verdict};
use crate::scenario::PartKeys;
use crate::scenario::keys::{After, Do};
use crate::scenario::quantity::{Corner, Shape};
use crate::units::{Time, human_time};

pub(in crate::estimate) fn flow_report(
    plan: &Plan,
    members: &[usize],
    [slower, typical, faster]: [&Outcome; 3],
    upgrade: Option<Upgrade>,
) -> FlowReport {
    let flow = &plan.flows[members[0]];
    let name = flow.group.as_str();
    let total = |o: &Outcome| members.iter().map(|&i| o.shares[i].rate).sum::<f64>() * 8.0;
    let bound_all = bounds(members, [slower, typical, faster]);
    // Only wires, all their slots, only packets.
    let framing_limit = bound_of_framing(plan, typical, members) * 8.0;
    let corners = [(Corner::Slower, slower), (Corner::Typical, typical), (Corner::Faster, faster)];
    let times = corners.map(|(c, o)| slowest(plan, c, o, members));
    let at =
        |pick: fn(&Times) -> f64| Ranged { slower: pick(&times[0]), typical: pick(&times[1]), faster: pick(&times[2]) };
    let latency = at(|t| t.operation);
    let (latency_first, round_trip) = (flow.reads().then(|| at(|t| t.first)), flow.reads().then(|| at(|t| t.request)));
    let each: Vec<f64> = members.iter().map(|&i| typical.shares[i].rate * 8.0).collect();
    let wanted_each =
        members.iter().map(|&i| plan.wanted(&plan.flows[i])).collect::<Option<Vec<f64>>>().unwrap_or_default();
    let open = matches!(flow.program, Program::Open { .. });
    let short = |(wants, gets): (&f64, &f64)| Verdict::of(*wants, *gets, open, 1e-9) == Verdict::Unstable;
    let unstable = wanted_each.iter().zip(&each).any(short);
    let main = typically_bound(&typical.shares, members);
    let bound_by = binding(plan, typical, main);
    let bound_also = others(members.iter().map(|&i| element(plan, typical, i)), &bound_by.element);
    let measured = flow.measured.map(|m| held_against(m, &each, members, bound_all, |i| alone(faster, i)));
    let ends = |&i: &usize| {
        let flow = &plan.flows[i];
        [flow.source, flow.target].map(|p| plan.part(p).name.as_str())
    };
    FlowReport {
        name: name.to_owned(),
        instances: members.len(),
        what: format!(
            "{} {}, {}",
            match (flow.packets, flow.reads()) {
                (false, _) => Shape::show(&flow.op.typical),
                (true, true) => "transmit".into(),
                (true, false) => "receive".into(),
            },
            flow.size.typical,
            alike::ways(&members.iter().map(|&i| plan.way(&plan.flows[i])).collect::<Vec<_>>())
        ),
        both_ways: flow.op.typical == Do::Alternate,
        operation: Some(flow.size.typical.f64()),
        frame_rate: None,
        goodput: flow.headers.as_ref().map(|h| {
            let data = |c: Corner| 1.0 - h.at(c).f64() / flow.size.at(c).f64();
            Ranged {
                slower: total(slower) * data(Corner::Slower),
                typical: total(typical) * data(Corner::Typical),
                faster: total(faster) * data(Corner::Faster),
            }
        }),
        wanted_each,
        bound: bound_all,
        share: Ranged { typical: total(typical), slower: total(slower), faster: total(faster) },
        alike: alike::alike(&each, &members.iter().map(ends).collect::<Vec<_>>()),
        each,
        framing_limit,
        latency_first,
        latency,
        round_trip,
        bound_by,
        bound_also,
        upgrade,
        measured,
        verdict: if unstable { Verdict::Unstable } else { Verdict::Stable },
        excess: if open { Excess::Queue } else { Excess::Source },
        programs: Vec::new(),
    }
}

/// Unloaded times of the slowest of some flows, in seconds.
#[derive(Clone, Copy, Default)]
struct Times {
    /// One operation.
    operation: f64,
    /// One request of a read to its first data.
    first: f64,
    /// One request of a read to its last byte.
    request: f64,
}

fn slowest(plan: &Plan, corner: Corner, outcome: &Outcome, members: &[usize]) -> Times {
    let mut worst = Times::default();
    for &i in members {
        let flow = &plan.flows[i];
        let mut time = operation(plan, corner, flow);
        if flow.reads() {
            let request = plan.request_size(corner, flow);
            let size = flow.size.at(corner).0.min(request);
            let read = Unloaded::new(plan, corner).read(flow, size, request);
            worst.first = worst.first.max(read.first * 1e-9);
            worst.request = worst.request.max(read.last * 1e-9);
        }
        if flow.op.typical != Do::Alternate {
            let only = [i];
            time = time.max(held_back(Unloaded::new(plan, corner), outcome.used_by(&only), i));
        }
        worst.operation = worst.operation.max(time * 1e-9);
    }
    worst
}

/// The name of the element behind something with a capacity.
pub(in crate::estimate) fn name(plan: &Plan, key: Key) -> String {
    match key {
        Key::Wire(hop) | Key::Credits(hop, ..) | Key::Replay(hop) => plan.direction_name(hop),
        Key::Tags(id)
        | Key::Engine(id, _)
        | Key::ReadsInFlight(id)
        | Key::Memory(id, _)
        | Key::RequestBus(id)
        | Key::CompletionBus(id)
        | Key::Walks(id)
        | Key::Core(id) => format!("parts.{}", plan.part(id).name),
        Key::PortReads(hop) | Key::Loads(hop) | Key::Stores(hop) => {
            format!("parts.{}", plan.part(plan.leaves(hop)).name)
        }
        Key::Outstanding(i) | Key::InTurn(i) => format!("flows.{}", plan.flows[i].name),
        // Named by their own technologies.
        Key::Storage(_) | Key::Cluster(_) => String::new(),
    }
}

/// What of an element binds a flow, and the evidence.
pub(in crate::estimate) fn words(plan: &Plan, key: Key, capacity: f64, flow: usize) -> (String, String) {
    match key {
        Key::Wire(_) => ("slots".into(), "100 % of its slots taken".into()),
        Key::Tags(id) => match plan.flows.get(flow).filter(|f| ends_with_operation(plan, f)) {
            Some(f) => ("operations in flight".into(), one_by_one(plan, f)),
            None => ("read requests in flight".into(), tags_text(plan, id, flow)),
        },
        Key::Engine(id, ceiling) => {
            let (what, key) = ceiling_words(plan, id, ceiling, flow);
            (what.into(), format!("its {key}"))
        }
        Key::ReadsInFlight(_) => ("reads in flight".into(), format!("{capacity} reads_in_flight / its latency")),
        Key::Memory(_, way) => {
            let (what, key) = memory_words(way);
            (what.into(), format!("its {key}"))
        }
        Key::RequestBus(_) => ("request bus".into(), "100 % of its request bus's clocks taken".into()),
        Key::CompletionBus(_) => ("completion bus".into(), "100 % of its completion bus's clocks taken".into()),
        Key::PortReads(_) => {
            ("reads in flight of a port".into(), format!("{capacity} backbone_reads / the time that each is worked on"))
        }
        Key::Core(id) => match core_key(plan, id) {
            key @ "peer_bandwidth" => ("peer to peer".into(), format!("its {key}")),
            key => ("core".into(), format!("its {key}")),
        },
        Key::Walks(id) => match walks_key(plan, id) {
            key @ "iommu_walks" => ("page walks".into(), format!("its {key} at once, for what misses the IOTLB")),
            key => ("page walks".into(), format!("its {key} between them, for what misses the IOTLB")),
        },
        Key::Stores(_) => ("stores of a processor".into(), "its store_rate".into()),
        Key::Credits(_, class, headers) => (
            format!("{} credits", credit_name(class, headers)),
            format!("{capacity} credits / the time until they come back"),
        ),
        Key::Replay(_) => {
            ("replay buffer".into(), format!("{capacity} B of replay_buffer / the time until they are acknowledged"))
        }
        Key::Loads(_) => {
            ("loads in flight".into(), format!("{capacity} loads_in_flight of a processor / the time of one, unloaded"))
        }
        Key::InTurn(_) => (
            "operations in turn".into(),
            "each write waits for the requests of the read before it, and they for tags".into(),
        ),
        Key::Outstanding(_) => {
            ("operations in flight".into(), format!("{capacity} outstanding / (round trip + think time)"))
        }
        // Worded by their own technologies.
        Key::Storage(_) | Key::Cluster(_) => Default::default(),
    }
}

/// One operation at a time, whose requests are a batch.
fn one_by_one(plan: &Plan, flow: &Flow) -> String {
    let request = plan.request_size(Corner::Typical, flow).min(flow.size.typical.0);
    let time = Unloaded::new(plan, Corner::Typical).read(flow, flow.size.typical.0, request).last;
    let pause = plan.asking(Corner::Typical, flow).turnaround;
    let pause = if pause == Time::ZERO { String::new() } else { format!(" + {pause} turn-around") };
    format!("1 outstanding, {}{pause} each, unloaded", human_time(time * 1e-9))
}

/// Tags in use and the time that they are held, unloaded.
fn tags_text(plan: &Plan, part: PartId, flow: usize) -> String {
    // Of an I/O, those of its adapter's DMA.
    let of = |f: &&Flow| f.source == part && f.reads();
    let Some(f) = plan.flows.get(flow).or_else(|| plan.flows.iter().find(of)) else { return String::new() };
    let PartKeys::Endpoint(k) = &plan.part(f.source).keys else { return String::new() };
    let request = plan.request_size(Corner::Typical, f).min(f.size.typical.0);
    let all = match k.turnaround_after.typical {
        After::Request => request,
        After::Batch => request.saturating_mul(k.tags.typical.get() as u64),
    };
    let time = human_time(Unloaded::new(plan, Corner::Typical).read(f, all, request).last * 1e-9);
    let pause = match k.turnaround.typical.fs() {
        0 => String::new(),
        _ => format!(" + {} turn-around", k.turnaround.typical),
    };
    let each = if all == request { "a request" } else { "a batch" };
    format!("{} x {} tags, {time}{pause} {each}, unloaded", k.engines.typical, k.tags.typical)
}

/// What a person calls the bandwidth of a memory, and the key behind it.
pub(in crate::estimate) fn memory_words(way: Do) -> (&'static str, &'static str) {
    match way {
        Do::Alternate => ("memory", "memory_bandwidth"),
        Do::Read | Do::Transmit => ("memory, reads", "read_bandwidth"),
        Do::Write | Do::Receive => ("memory, writes", "write_bandwidth"),
    }
}

/// The key of what a part passes on from port to port.
pub(in crate::estimate) fn core_key(plan: &Plan, part: PartId) -> &'static str {
    match plan.part(part).keys {
        PartKeys::RootComplex(_) => "peer_bandwidth",
        _ => "core_bandwidth",
    }
}

/// The key that says how often page walks end: how many go on at once, or the time between them where that is longer.
pub(in crate::estimate) fn walks_key(plan: &Plan, part: PartId) -> &'static str {
    let apart = plan.iommu(Corner::Typical, part).is_some_and(|i| i.interval * i.walks as f64 > i.walk * (1.0 + 1e-9));
    if apart { "iommu_walk_interval" } else { "iommu_walks" }
}

/// What a person calls a ceiling of a flow, and the key behind it.
pub(in crate::estimate) fn ceiling_words(
    plan: &Plan,
    part: PartId,
    ceiling: Ceiling,
    flow: usize,
) -> (&'static str, &'static str) {
    match ceiling {
        Ceiling::Both => ("engine, reads and writes added", "rate"),
        Ceiling::Read => ("engine, reads", "read_rate"),
        Ceiling::Bus => ("internal bus, reads", "bus_rate"),
        Ceiling::Write => ("engine, writes", "write_rate"),
        Ceiling::ReadInterval => ("reads a second", "read_interval"),
        Ceiling::WriteInterval => ("writes a second", "write_interval"),
        Ceiling::Port => ("time of its port", plan.costliest_gap(part, flow)),
        Ceiling::SustainedWrites => ("engine, writes", "engine_efficiency"),
        Ceiling::SustainedReads => ("engine, reads", "engine_efficiency"),
        Ceiling::LineIn => ("line, packets in", "line"),
        Ceiling::LineOut => ("line, packets out", "line"),
    }
}

/// The key that holds a class's credits.
pub(in crate::estimate) fn credit_name(class: Class, headers: bool) -> &'static str {
    match (class, headers) {
        (Class::Posted, true) => "posted_headers",
        (Class::Posted, false) => "posted_data",
        (Class::NonPosted, _) => "nonposted_headers",
        (Class::Completion, true) => "completion_headers",
        (Class::Completion, false) => "completion_data",
    }
}

/// Every direction of every link: down, then up.
pub(in crate::estimate) fn links(plan: &Plan, [slower, typical, faster]: [&Outcome; 3]) -> Vec<LinkReport> {
    let mut all = Vec::new();
    for (i, link) in plan.links.iter().enumerate() {
        for direction in [Direction::Down, Direction::Up] {
            let hop = Hop { link: LinkId(i as u32), direction };
            let [slower, typical, faster] =
                [(slower, Corner::Slower), (typical, Corner::Typical), (faster, Corner::Faster)]
                    .map(|(o, c)| ledger(plan, o, c, hop));
            let (ledger, tlps, data_tlps) = typical;
            all.push(LinkReport {
                name: link.name.clone(),
                from: plan.part(plan.leaves(hop)).name.clone(),
                to: plan.part(plan.arrives(hop)).name.clone(),
                medium: Medium::Pcie,
                speed: link.speed.typical.to_string(),
                tlp_overhead: (data_tlps > 0.0).then(|| ledger.framing / 8.0 / data_tlps),
                payload: Ranged { typical: ledger.payload, slower: slower.0.payload, faster: faster.0.payload },
                ledger,
                tlps,
            });
        }
    }
    all
}

/// Where the bits of one direction go at the shares of an outcome; and its TLPs, all and with data, per second.
fn ledger(plan: &Plan, outcome: &Outcome, corner: Corner, hop: Hop) -> (Ledger, f64, f64) {
    let link = plan.link(hop.link);
    let speed = link.speed.at(corner);
    let (raw, coded) = (speed.raw().bits(), speed.coded().bits());
    let mut ledger = Ledger {
        raw,
        line_coding: raw - coded,
        ordered_sets: coded * protocol::ordered_set_share(speed.generation, link.skp(corner)),
        flits: coded * protocol::flit_overhead(speed.generation),
        ..Ledger::default()
    };
    let (mut tlps, mut data_tlps) = (0.0, 0.0);
    for (flow, s) in outcome.wires.get(&hop).into_iter().flatten() {
        let bits = outcome.shares[*flow].rate * 8.0;
        ledger.payload += bits * s.payload;
        ledger.framing += bits * s.framing;
        ledger.control += bits * s.control;
        ledger.requests += bits * s.requests;
        ledger.acks += bits * s.acks;
        ledger.update_fc += bits * s.update_fc;
        tlps += bits / 8.0 * s.tlps;
        data_tlps += bits / 8.0 * s.data_tlps;
    }
    let tlp_slots = ledger.payload + ledger.framing + ledger.control + ledger.requests;
    let used = ledger.ordered_sets + ledger.flits + tlp_slots + ledger.acks + ledger.update_fc;
    debug_assert!(used <= coded * (1.0 + 1e-9), "links.{} carries {used} of {coded}", link.name);
    // What is left of a full wire is a float's noise, on either side of 0.
    ledger.idle = if used < coded * (1.0 - 1e-12) { coded - used } else { 0.0 };
    (ledger, tlps, data_tlps)
}
