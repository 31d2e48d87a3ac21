//! What flows ask of links, engines, root complexes and switch cores, per payload byte.

use crate::estimate::core::elements::Key;
use crate::estimate::core::fill::{Resource, Use};
use crate::estimate::pcie::credit_loop::{CreditLoop, CreditedTlp};
use crate::estimate::pcie::latency::Unloaded;
use crate::estimate::pcie::slots::{Slots, Wires, of_flow, slots};
use crate::estimate::pcie::turns::{Followed, beside};
use crate::estimate::pcie::{dllps, latency, requester, walks};
use crate::plan::Meeting;
use crate::plan::pcie::check::{credits, replay_buffer};
use crate::plan::{Batch, Direction, Flow, Hop, PartId, Plan, Program};
use crate::protocol::pcie::{self, Class, Generation, Header};
use crate::scenario::PartKeys;
use crate::scenario::keys::{AddressOrder, Core, Do, Forwarding};
use crate::scenario::quantity::Corner;
use std::collections::{BTreeMap, BTreeSet};

/// What flows ask of wires, with the fewest DLLPs.
pub(crate) fn wires(plan: &Plan, corner: Corner) -> Wires {
    let wires = slots(plan, corner);
    dllps::counted(plan, corner, &wires, None).unwrap_or(wires)
}

/// The ports that a flow's packets came through before `hops` of its route, nearest first, then its source.
pub(crate) fn path(flow: &Flow, hops: usize) -> Vec<u64> {
    let mut path: Vec<u64> = flow.route[..hops]
        .iter()
        .rev()
        .map(|h| (h.link.0 as u64) << 1 | (h.direction == Direction::Up) as u64)
        .collect();
    path.push(1 << 40 | flow.source.0 as u64);
    path
}

/// How many hops of a flow's way lie before a direction of a link: that of its requests, or of what answers them.
fn place(flow: &Flow, hop: Hop) -> usize {
    let at = |wanted: Hop| flow.route.iter().position(|h| *h == wanted);
    let back = || flow.back.iter().position(|h| *h == hop || h.reversed() == hop);
    let end = flow.back.len();
    at(hop).or_else(|| at(hop.reversed())).or_else(|| back().map(|i| (end - 1 - i).min(flow.route.len()))).unwrap_or(0)
}

/// The turns that each flow needs of a wire, for each payload byte.
///
/// An arbiter gives turns by TLPs. But completions come in the order of their requests, and these by turns at the
/// requester's tags and at the ports before a completer, so flows that have the requester or the completer in common
/// get as many requests each, whatever their completions are cut to: each counts as if its own were of the mean number.
fn turns(plan: &Plan, list: &[(usize, Slots)]) -> Vec<f64> {
    let each = |s: &Slots| s.completions / s.answered;
    // TLPs of another flow are counted with that.
    let own = |index: usize| plan.flows[index].piece_of.is_none();
    let mut cut = list.iter().filter(|(i, s)| s.answered > 0.0 && own(*i)).map(|(_, s)| each(s));
    let first = cut.next().unwrap_or(1.0);
    if cut.all(|c| (c - first).abs() <= 1e-12 * first) {
        return list.iter().map(|(_, s)| s.tlps).collect();
    }
    // Flows that have an end in common, directly or by others.
    let mut meeting = Meeting::new(list.len());
    let mut ends: BTreeMap<(bool, PartId), usize> = BTreeMap::new();
    for (i, (index, _)) in list.iter().enumerate().filter(|(_, (_, s))| s.answered > 0.0) {
        let flow = &plan.flows[*index];
        for end in [(false, flow.source), (true, flow.target)] {
            meeting.join(i, *ends.entry(end).or_insert(i));
        }
    }
    let mut mean = vec![(0.0, 0.0); list.len()];
    for (i, (_, s)) in list.iter().enumerate().filter(|(_, (i, s))| s.answered > 0.0 && own(*i)) {
        let mean: &mut (f64, f64) = &mut mean[meeting.first(i)];
        *mean = (mean.0 + each(s), mean.1 + 1.0);
    }
    let turns = |(i, (_, s)): (usize, &(usize, Slots))| {
        if s.answered == 0.0 {
            return s.tlps;
        }
        let (sum, n) = mean[meeting.first(i)];
        s.tlps - s.completions + s.answered * sum / n
    };
    list.iter().enumerate().map(turns).collect()
}

/// Everything that has a capacity, and what each flow asks of it.
pub(in crate::estimate) fn resources(
    plan: &Plan,
    corner: Corner,
    wires: &Wires,
    followed: &Followed,
) -> Vec<Resource<Key>> {
    // Wires come before all others, in the order of the hops.
    let mut first: Vec<Resource<Key>> = Vec::with_capacity(wires.len());
    let mut all: BTreeMap<Key, Resource<Key>> = BTreeMap::new();
    let beside = beside(plan, corner, followed);
    let walked = walks::ports(plan, corner);
    let senders = senders(plan);
    let mut last_begins = vec![[0.0; 2]; plan.flows.len()];
    let mut add = |key: Key, capacity: f64, used: Use| {
        let uses = &mut all.entry(key).or_insert_with(|| Resource { key, capacity, uses: Vec::new() }).uses;
        match uses.last_mut().filter(|u| u.flow == used.flow) {
            // What a flow asks of it twice, as for data and for descriptors, is one demand.
            Some(mine) => {
                mine.weight += used.weight;
                mine.packets += used.packets;
                mine.first += used.first;
                mine.first_least += used.first_least;
            }
            None => uses.push(used),
        }
    };
    for (hop, list) in wires {
        let link = plan.link(hop.link);
        let speed = link.speed.at(corner);
        let rate = speed.coded().bytes();
        let capacity = rate * link.usable(corner);
        // A TLP is kept from its first bit to the arrival of the Ack for it, at best.
        let replay =
            replay_buffer(&plan.part(plan.leaves(*hop)).keys).filter(|_| link.ack_every.at(corner).0.is_some());
        let mut uses = Vec::with_capacity(list.len());
        for (&(index, slots), packets) in list.iter().zip(turns(plan, list)) {
            // At its own port.
            let own = plan.flows[index].route.first() == Some(hop);
            let packets = if own { packets * beside[index] } else { packets };
            let used = Use {
                flow: index,
                weight: slots.packets(),
                packets,
                first: slots.acks + slots.update_fc,
                first_least: slots.dllps_least,
                hops: place(&plan.flows[index], *hop),
            };
            if let (Some(buffer), true) = (replay, slots.tlps > 0.0) {
                let bytes = slots.packets() / slots.tlps + pcie::dllp(speed.generation) as f64;
                let kept = bytes / rate + 2.0 * link.delay.at(corner).seconds();
                let kept = Use { weight: slots.packets() * kept, first: 0.0, first_least: 0.0, ..used };
                add(Key::Replay(*hop), buffer.at(corner).f64(), kept);
            }
            uses.push(used);
        }
        first.push(Resource { key: Key::Wire(*hop), capacity, uses });
    }
    let mut readers = vec![0_u32; plan.parts.len()];
    let reads = |f: &&Flow| f.reads() && f.piece_of.is_none();
    plan.flows.iter().filter(reads).for_each(|f| readers[f.source.0 as usize] += 1);
    for (index, flow) in plan.flows.iter().enumerate() {
        // What is taken, and by how many TLPs: ports and flows come in turn TLP by TLP, whatever it is that they take.
        let plain = |weight: f64, packets: f64, hops: usize| Use {
            flow: index,
            weight,
            packets,
            first: 0.0,
            first_least: 0.0,
            hops,
        };
        let end = flow.route.len();
        let turns = requester::Turns::of(plan, corner, flow);
        let alone = readers[flow.source.0 as usize] == 1;
        requester::limits(plan, corner, index, (alone, beside[index]), &mut |key, capacity, weight, packets, lucky| {
            add(key, capacity, Use { first_least: -lucky, ..plain(weight, packets, 0) });
        });
        if let PartKeys::RootComplex(k) = &plan.part(flow.target).keys {
            let both = if flow.reads() && flow.writes() { 2.0 } else { 1.0 };
            let size = flow.size.at(corner).f64();
            // Descriptors and entries of a NIC's packets lie in the same memory: (bytes, TLPs) for each payload byte.
            let queue = plan.packet_queue(corner, flow);
            let of = |batch: Batch| {
                let each = 1.0 / (batch.packets.max(1) as f64 * size);
                (batch.bytes as f64 * each, each)
            };
            let fetched = queue.map_or((0.0, 0.0), |q| of(q.fetch));
            let entries = queue.map_or((0.0, 0.0), |q| of(q.writes[0]));
            let moved = |data: bool, turns: f64, beside: (f64, f64)| (f64::from(data) + beside.0, turns + beside.1);
            let read = moved(flow.reads(), turns.reads, fetched);
            let written = moved(flow.writes(), turns.writes, entries);
            let ways = [
                (Do::Alternate, (read.0 + written.0, read.1 + written.1), &k.memory_bandwidth),
                (Do::Read, read, &k.read_bandwidth),
                (Do::Write, written, &k.write_bandwidth),
            ];
            for (way, (bytes, turns), rate) in ways {
                if let (Some(rate), true) = (rate, bytes > 0.0) {
                    add(Key::Memory(flow.target, way), rate.at(corner).bytes(), plain(bytes, turns, end));
                }
            }
            backbone(plan, corner, index, &mut add);
            if let (Some(iommu), Some(misses)) = (plan.iommu(corner, flow.target), plan.misses(corner, flow)) {
                // In a row, a write of a flow that alternates finds the page that was read.
                let drawn = if flow.addresses.typical == AddressOrder::Random { both } else { 1.0 };
                let weight = drawn * misses.walks * iommu.interval * 1e-9 / flow.size.at(corner).f64();
                let first_least = if misses.certain { 0.0 } else { -weight };
                let used = Use { first_least, ..plain(weight, turns.reads + turns.writes, end) };
                add(Key::Walks(flow.target), 1.0, used);
            }
            if let (Some(n), true) = (&k.reads_in_flight, read.1 > 0.0) {
                let weight = plan.completer_latency(corner, flow) * 1e-9 * read.1;
                add(Key::ReadsInFlight(flow.target), n.at(corner).get() as f64, plain(weight, read.1, end));
            }
        }
        // A core moves whole TLPs without their framing, both ways of a flow added.
        let mut through: BTreeMap<PartId, (f64, f64, usize)> = BTreeMap::new();
        let mut passed: Vec<Hop> = Vec::new();
        for (i, &hop) in [&flow.route, &flow.back].into_iter().flat_map(|way| way.iter().enumerate().skip(1)) {
            let Some(slots) = of_flow(wires, hop, index).filter(|_| !passed.contains(&hop)) else { continue };
            passed.push(hop);
            let framing = pcie::tlp_framing(plan.link(hop.link).speed.typical.generation) as f64;
            // Of what only completions cross, as if its requests had come all the way.
            let at = through.entry(plan.leaves(hop)).or_insert((0.0, 0.0, i.min(end)));
            (at.0, at.1) = (at.0 + slots.packets() - slots.tlps * framing, at.1 + slots.tlps);
        }
        for (part, (bytes, tlps, hops)) in through {
            let rate = match &plan.part(part).keys {
                PartKeys::Switch(k) => k.core_bandwidth.as_ref().filter(|_| k.core.typical != Core::Crossbar),
                PartKeys::RootComplex(k) => k.peer_bandwidth.as_ref(),
                PartKeys::Endpoint(_) => None,
            };
            if let (Some(rate), true) = (rate, tlps > 0.0) {
                add(Key::Core(part), rate.at(corner).bytes(), plain(bytes, tlps, hops));
            }
        }
        credit_loops(plan, corner, flow, (&walked, &senders), &mut add, &plain, &mut last_begins[index]);
    }
    first.extend(all.into_values());
    requester::wait_for_rates(plan, corner, &mut first, &last_begins);
    walks::add(plan, corner, &mut first);
    first
}

/// What a flow asks of the backbone of its target. A grant passes behind the data of the transaction before, if that
/// was another port's: shares count on it as often as the other ports' transactions have data, and a bound whenever one
/// of them has any.
fn backbone(plan: &Plan, corner: Corner, index: usize, add: &mut impl FnMut(Key, f64, Use)) {
    let flow = &plan.flows[index];
    let (Some(backbone), Some(&port)) = (plan.backbone(corner, flow.target), flow.route.last()) else { return };
    let per_byte = 1.0 / flow.size.at(corner).f64();
    let crossing = plan.crossing(corner, flow, &backbone);
    let plain = |clocks: f64, turns: u64| Use {
        flow: index,
        weight: clocks * per_byte,
        packets: turns as f64 * per_byte,
        first: 0.0,
        first_least: 0.0,
        hops: flow.route.len(),
    };
    // Of each other port, what part of its transactions has data.
    let mut others: BTreeMap<Hop, (u64, u64)> = BTreeMap::new();
    for other in plan.flows.iter().filter(|f| f.target == flow.target && f.piece_of.is_none()) {
        if let Some(&hop) = other.route.last().filter(|h| **h != port) {
            let taken = plan.crossing(corner, other, &backbone).requests;
            let all = others.entry(hop).or_default();
            (all.0, all.1) = (all.0 + taken.with_data, all.1 + taken.transactions);
        }
    }
    let parts = others.values().map(|(data, all)| *data as f64 / (*all).max(1) as f64);
    let behind = parts.sum::<f64>() / others.len().max(1) as f64;
    let taken = crossing.requests;
    let grants = taken.transactions as f64 * per_byte;
    let shown = |hidden: f64| grants * (backbone.arbitration as f64 - hidden * backbone.hidden() as f64);
    let used = Use {
        first: shown(behind),
        first_least: shown(if behind > 0.0 { 1.0 } else { 0.0 }),
        ..plain(taken.clocks as f64, taken.transactions)
    };
    add(Key::RequestBus(flow.target), backbone.clocks_per_second(), used);
    if !flow.reads() {
        return;
    }
    let answers = crossing.completions;
    let used = plain(answers.clocks as f64, answers.transactions);
    add(Key::CompletionBus(flow.target), backbone.clocks_per_second(), used);
    if let (Some(n), PartKeys::RootComplex(k)) = (backbone.reads, &plan.part(flow.target).keys) {
        // Little's law: reads in flight = requests per second x time of one, to the end of its last completion.
        let request = plan.request_size(corner, flow);
        let speed = plan.link(port.link).speed.at(corner);
        let time = |asks: u64| {
            let piece = plan.completion_size(corner, flow, asks).max(1);
            let last = latency::last_piece(asks, piece);
            let wire = pcie::tlp(speed.generation, Header::Dw3, last, plan.ecrc(flow)) as f64 / speed.coded().bytes();
            (backbone.read_time(asks) + plan.read_latency(corner, k, flow.place)) * 1e-9 + wire
        };
        let (full, rest) = pcie::split(flow.size.at(corner).0, request);
        let held = if full > 0 { full as f64 * time(request) } else { 0.0 } + if rest > 0 { time(rest) } else { 0.0 };
        let used = Use { packets: held * per_byte, weight: held * per_byte, ..plain(0.0, 0) };
        add(Key::PortReads(port.reversed()), n as f64, used);
    }
}

/// The time that a TLP is in the buffer at the end of a hop, which it leaves by the next one, beyond its own on the
/// wire: a switch looks at its header, or waits for all of it, and reads it out at the faster of the two links' rates.
fn passage(plan: &Plan, corner: Corner, [hop, next]: [Hop; 2], bytes: impl Fn(Generation) -> u64) -> f64 {
    let span = |hop: Hop| {
        let speed = plan.link(hop.link).speed.at(corner);
        bytes(speed.generation) as f64 / speed.coded().bytes()
    };
    let (coming, going) = (span(hop), span(next));
    let (latency, whole, shared) = match &plan.part(plan.arrives(hop)).keys {
        PartKeys::Switch(k) => {
            let whole = k.forwarding.typical == Forwarding::StoreAndForward;
            (k.latency.at(corner).seconds(), whole, k.core.typical == Core::SharedMemory)
        }
        PartKeys::RootComplex(k) => (k.peer_latency.at(corner).seconds(), true, k.peer_bandwidth.is_some()),
        PartKeys::Endpoint(_) => return 0.0,
    };
    let ready = if whole { coming + latency } else { latency.max(coming + latency - going) };
    let read = if shared { 0.0 } else { coming.min(going) };
    (ready + read - coming).max(0.0)
}

/// Seconds after which all credits are back.
const ALL_TOLD: f64 = 1.0;

/// How many flows send packets of a class with data over a hop, by hop.
fn senders(plan: &Plan) -> BTreeMap<(Hop, Class), u32> {
    let mut all = BTreeMap::new();
    for flow in plan.flows.iter() {
        let posted = flow.route.iter().filter(|_| flow.writes() || flow.packets).map(|hop| (*hop, Class::Posted));
        let answers = flow.back.iter().filter(|_| flow.reads() || flow.packets).map(|hop| (*hop, Class::Completion));
        posted.chain(answers).for_each(|way| *all.entry(way).or_default() += 1);
    }
    all
}

/// TLPs of an operation that are alike: how many, on average, and bytes of data of each.
type Alike = (f64, u64);

/// Seconds that the memory of a flow's target takes for each byte that is written, where it has a rate.
fn taken_in(plan: &Plan, corner: Corner, flow: &Flow) -> f64 {
    let PartKeys::RootComplex(k) = &plan.part(flow.target).keys else { return 0.0 };
    let rate = k.memory_bandwidth.as_ref().or(k.write_bandwidth.as_ref());
    rate.map_or(0.0, |rate| 1.0 / rate.at(corner).bytes())
}

/// Credits / credit round trip: from a TLP's first bit to the arrival of the UpdateFC for it, with nothing else on the
/// link; and how long the last TLP of a write of a closed load waits for them, in truth and at least, seconds.
fn credit_loops(
    plan: &Plan,
    corner: Corner,
    flow: &Flow,
    (walked, senders): (&BTreeSet<Hop>, &BTreeMap<(Hop, Class), u32>),
    add: &mut dyn FnMut(Key, f64, Use),
    plain: &dyn Fn(f64, f64, usize) -> Use,
    last_begins: &mut [f64; 2],
) {
    let size = flow.size.at(corner).0;
    let payload = plan.write_payload(corner, flow);
    let cut = |size: u64, piece: u64| {
        let (full, rest) = pcie::split(size, piece);
        [(full as f64, piece), (if rest > 0 { 1.0 } else { 0.0 }, rest)]
    };
    let mut class = |hop: Hop, next: Option<&Hop>, hops: usize, class_of: Class, trains: &[Alike]| {
        let link = plan.link(hop.link);
        let speed = link.speed.at(corner);
        let (headers, data_credits) = credits(&plan.part(plan.arrives(hop)).keys, class_of);
        let mut room = [headers.map(|h| h.at(corner)), data_credits.map(|d| d.at(corner))];
        // What is behind a page walk fills a buffer of any size.
        if class_of == Class::Posted && walked.contains(&hop) {
            let buffer = plan.buffer(hop, class_of);
            room = [room[0].or(buffer.headers), room[1].or(buffer.data)];
        }
        let header = if class_of == Class::Completion { Header::Dw3 } else { flow.header.at(corner) };
        let wire = |data: u64| pcie::tlp(speed.generation, header, data, false) as f64 / speed.coded().bytes();
        let dllp = pcie::dllp(speed.generation) as f64 / speed.coded().bytes();
        let time = |data: u64| {
            // A write's data stay until they have crossed a backbone.
            let across = plan.backbone(corner, plan.arrives(hop)).filter(|_| class_of == Class::Posted);
            let across = across.map_or(0.0, |b| b.write_time(data) * 1e-9);
            let passage = next.map_or(0.0, |next| {
                passage(plan, corner, [hop, *next], |generation| pcie::tlp(generation, header, data, false))
            });
            wire(data) + dllp + 2.0 * link.delay.at(corner).seconds() + across + passage
        };
        let sum = |of: &dyn Fn(u64) -> f64| -> f64 {
            trains.iter().map(|&(n, data)| if n > 0.0 { n * of(data) } else { 0.0 }).sum::<f64>() / size as f64
        };
        let tlps = sum(&|_| 1.0);
        // An UpdateFC waits for others that it tells with it, of the receiver's policy or until half of its buffer is
        // free, and no longer than its limit; where packets come one behind the other. A run may be luckier.
        let policy = link.update_fc_every.at(corner).0.map_or(1.0, f64::from);
        let gathers = |credits: f64, each: f64| {
            let together = policy.min((0.5 * credits / each).ceil()) - 1.0;
            let apart = sum(&wire) / tlps;
            (together * apart).min(link.held_back(corner)).max(0.0)
        };
        let data_of = |data: u64| pcie::data_credits(data) as f64;
        // Whose packets are the only ones is followed: it waits for room for a whole one, and for UpdateFCs that wait.
        let back = dllp + link.delay.at(corner).seconds();
        let followed = (senders.get(&(hop, class_of)) == Some(&1)).then(|| CreditLoop {
            room: room.map(|r| r.map_or(f64::INFINITY, f64::from)),
            every: link.update_fc_every.at(corner).0,
            limit: link.held_back(corner),
            back,
            ack: link.ack_every.at(corner).0.map_or(0.0, |every| dllp / f64::from(every)),
            symbol: speed.lanes.count() as f64 / speed.coded().bytes(),
            memory: if plan.arrives(hop) == flow.target && class_of == Class::Posted {
                taken_in(plan, corner, flow)
            } else {
                0.0
            },
        });
        let takes = followed.and_then(|followed| {
            let one = |&(n, data): &Alike| CreditedTlp {
                each: n,
                bytes: data as f64,
                data: data_of(data),
                wire: wire(data),
                inside: time(data) - back,
            };
            let some: Vec<CreditedTlp> = trains.iter().filter(|t| t.0 > 0.0).map(one).collect();
            if let (Class::Posted, Program::Closed { outstanding, think, .. }) = (class_of, &flow.program) {
                // Of several outstanding one begins as if it were the first.
                let write = Unloaded::new(plan, corner).write(flow, latency::last_piece(size, payload));
                let after = if *outstanding == 1 { (write + think.ns()) * 1e-9 } else { ALL_TOLD };
                let ends = [(followed, after), (followed.at_least(), ALL_TOLD)];
                // Entries are written after so many packets, and no packet waits for them.
                let data = cut(size, payload).iter().filter(|t| flow.writes() && t.0 > 0.0).count();
                let ends = ends.map(|(by, after)| by.last_begins(&some[..data], after).unwrap_or(0.0));
                *last_begins = [0, 1].map(|i| last_begins[i].max(ends[i]));
            }
            followed.operation(&some)
        });
        let mut class = |key: Key, credits: f64, of: &dyn Fn(u64) -> f64| {
            let each = sum(of) / tlps;
            let gathered = gathers(credits, each) * sum(of);
            let sure = sum(&|data| time(data) * of(data));
            let held = takes.map_or(sure + gathered, |takes| takes / size as f64 * credits);
            add(key, credits, Use { first_least: (sure - held).min(0.0), ..plain(held, tlps, hops) });
        };
        let has_data = trains.iter().any(|t| t.0 > 0.0 && t.1 > 0);
        if let Some(h) = room[0] {
            class(Key::Credits(hop, class_of, true), h as f64, &|_| 1.0);
        }
        if let (Some(d), true) = (room[1], has_data) {
            class(Key::Credits(hop, class_of, false), d as f64, &data_of);
        }
    };
    // What belongs to a NIC's packets.
    let queue = plan.packet_queue(corner, flow);
    let each = |batch: Batch| 1.0 / batch.packets.max(1) as f64;
    let entries = queue.iter().flat_map(|q| q.writes).map(|batch| (each(batch), batch.bytes));
    for (i, &hop) in flow.route.iter().enumerate() {
        let next = flow.route.get(i + 1);
        let data = if flow.writes() { cut(size, payload).to_vec() } else { Vec::new() };
        let posted: Vec<Alike> = data.into_iter().chain(entries.clone()).collect();
        if !posted.is_empty() {
            class(hop, next, i, Class::Posted, &posted);
        }
        let asked = if flow.reads() { size.div_ceil(plan.request_size(corner, flow)) as f64 } else { 0.0 };
        let asked = asked + queue.map_or(0.0, |q| each(q.fetch));
        if asked > 0.0 {
            class(hop, next, i, Class::NonPosted, &[(asked, 0)]);
        }
    }
    for (i, &hop) in flow.back.iter().enumerate() {
        let mut answers: Vec<Alike> = Vec::new();
        if flow.reads() {
            let request = plan.request_size(corner, flow);
            let piece = plan.completion_size(corner, flow, request.min(size));
            let (full, rest) = pcie::split(size, request);
            answers.extend(cut(request, piece).map(|(n, data)| (n * full as f64, data)));
            answers.extend(cut(rest, piece));
        }
        if let Some(q) = queue {
            let piece = plan.completion_size(corner, flow, q.fetch.bytes);
            answers.extend(cut(q.fetch.bytes, piece).map(|(n, data)| (n * each(q.fetch), data)));
        }
        if !answers.is_empty() {
            class(hop, flow.back.get(i + 1), place(flow, hop), Class::Completion, &answers);
        }
    }
}
