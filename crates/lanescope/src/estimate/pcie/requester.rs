//! What a requester can ask for: its engines' own rates, tags that are used again, and closed loads whose operations
//! wait for one another.
//!
//! A requester issues its requests in order, so what it does in an empty system is a chain of waits: a request for the
//! one before it to be on the wire, for the request that had its tag before, or with batches for the batch that its
//! engine had before; the first one of an operation of a closed load for the operation so many before it. A round of
//! such waits that goes on by so many operations, and takes so long, is a limit: no load gets further in less
//! (Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity, 1992, 2.3: the greatest mean of a circuit).

use crate::estimate::core::elements::{Ceiling, Key};
use crate::estimate::core::fill::Resource;
use crate::estimate::pcie::latency::{self, Train, Unloaded, last_piece};
use crate::estimate::pcie::walks;
use crate::plan::{Asking, Flow, Hop, Plan, Program};
use crate::protocol::pcie;
use crate::scenario::PartKeys;
use crate::scenario::keys::{After, Do};
use crate::scenario::quantity::Corner;
use crate::tools::gcd;

/// What a requester sends for each payload byte: read requests, and TLPs with the data of writes. It takes its turns by
/// these.
pub(in crate::estimate) struct Turns {
    pub(in crate::estimate) reads: f64,
    pub(in crate::estimate) writes: f64,
}

impl Turns {
    /// Those of a flow.
    pub(in crate::estimate) fn of(plan: &Plan, corner: Corner, flow: &Flow) -> Turns {
        let size = flow.size.at(corner).0;
        let each = |does: bool, piece: u64| if does { size.div_ceil(piece) as f64 / size as f64 } else { 0.0 };
        Turns {
            reads: each(flow.reads(), plan.request_size(corner, flow)),
            writes: each(flow.writes(), plan.write_payload(corner, flow)),
        }
    }
}

/// Unloaded time of one operation of a flow, ns; the mean of a read and a write for a flow that alternates.
pub(crate) fn operation(plan: &Plan, corner: Corner, flow: &Flow) -> f64 {
    translated(Unloaded::new(plan, corner), flow) + walks::alone(plan, corner, flow)
}

/// The same where every translation is at hand.
fn translated(empty: Unloaded, flow: &Flow) -> f64 {
    let write = || empty.write(flow, flow.size.at(empty.corner).0);
    let read = || Reads::of(empty, flow).span(1);
    match flow.op.typical {
        Do::Read | Do::Transmit => read(),
        Do::Write | Do::Receive => write(),
        Do::Alternate => 0.5 * (read() + write()),
    }
}

/// The read requests of a flow.
struct Reads<'a> {
    empty: Unloaded<'a>,
    flow: &'a Flow,
    asking: Asking,
    /// Bytes of a whole request, and of the short one at the end of an operation.
    request: u64,
    rest: u64,
    /// Requests of an operation.
    each: u64,
}

impl<'a> Reads<'a> {
    fn of(empty: Unloaded<'a>, flow: &'a Flow) -> Reads<'a> {
        let Unloaded { plan, corner, .. } = empty;
        let request = plan.request_size(corner, flow);
        let (full, rest) = pcie::split(flow.size.at(corner).0, request);
        let asking = plan.asking(corner, flow);
        Reads { empty, flow, asking, request, rest, each: full + u64::from(rest > 0) }
    }

    /// The first so many requests from the beginning of an operation on.
    fn first(&self, requests: u64) -> Train {
        let short = if self.rest > 0 { requests / self.each } else { 0 };
        Train { request: self.request, full: (requests - short) as f64, rest: self.rest, short: short as f64 }
    }

    /// The last so many to the end of an operation.
    fn last(&self, requests: u64) -> Train {
        let short = if self.rest > 0 { requests.div_ceil(self.each) } else { 0 };
        Train { request: self.request, full: (requests - short) as f64, rest: self.rest, short: short as f64 }
    }

    /// So many, on average over all that there are.
    fn average(&self, requests: f64) -> Train {
        let short = if self.rest > 0 { requests / self.each as f64 } else { 0.0 };
        Train { request: self.request, full: requests - short, rest: self.rest, short }
    }

    fn arrived(&self, train: &Train) -> f64 {
        self.empty.arrived(self.flow, train).last
    }

    fn released(&self, train: &Train) -> f64 {
        self.empty.released(self.flow, train)
    }

    /// One request until its tag is free again, the pause left out.
    fn one(&self, short: bool) -> f64 {
        let n = |is: bool| if is { 1.0 } else { 0.0 };
        self.released(&Train { request: self.request, full: n(!short), rest: self.rest, short: n(short) })
    }

    /// Time between the first request of some operations in a row, alone in the system, and the end of the last of
    /// them, ns.
    fn span(&self, operations: u64) -> f64 {
        let whole = self.flow.size.at(self.empty.corner).f64();
        let requests = self.each.saturating_mul(operations);
        let all = self.arrived(&self.first(requests)) + self.empty.placed(self.flow, whole);
        match self.rounds(requests) {
            Some((before, last)) => {
                let placed = self.empty.placed(self.flow, whole);
                all.max(before + self.arrived(&last) + placed)
            }
            None => all,
        }
    }

    /// Of so many requests from the beginning of an operation to the end of one: how long the last that find a tag
    /// together wait for those before them, ns, and which these are. `None` if there are tags for all at once.
    fn rounds(&self, requests: u64) -> Option<(f64, Train)> {
        let Asking { engines, tags, turnaround, after } = self.asking;
        let pause = turnaround.ns();
        // Whose tags are used again is a chain of waits back to requests from the first on, which may wait for wires or
        // an internal bus: all of it one after the other, or its last link behind a train of all the others. What lies
        // between is no later, since both are straight lines.
        match after {
            After::Request => {
                let pool = engines.saturating_mul(tags);
                let all = (requests - 1) / pool;
                let of = |n: u64, short: bool| if n > 0 { n as f64 * (self.one(short) + pause) } else { 0.0 };
                let wait = |back: u64| {
                    // Of those between, each so many requests before the next, some are short.
                    let short = if self.rest > 0 { (back - 1) / (self.each / gcd(self.each, pool)) } else { 0 };
                    let begin = self.released(&self.first(requests - back * pool)) + pause;
                    begin + of(back - 1 - short, false) + of(short, true)
                };
                (all > 0).then(|| (wait(1).max(wait(all)), self.last(1)))
            }
            After::Batch => {
                let batches = requests.div_ceil(tags);
                let all = (batches - 1) / engines;
                let wait = |back: u64| {
                    let first = (batches - back * engines).saturating_mul(tags);
                    let between = (back - 1) as f64 * (self.released(&self.average(tags as f64)) + pause);
                    self.released(&self.first(first)) + pause + between
                };
                (all > 0).then(|| (wait(1).max(wait(all)), self.last(requests - (batches - 1) * tags)))
            }
        }
    }

    /// What an operation takes of the engines, or of the tags, ns: how many there are, and for how long it holds one,
    /// added.
    fn held(&self, alone: bool) -> (f64, f64) {
        let Asking { engines, tags, turnaround, after } = self.asking;
        let pause = turnaround.ns();
        match after {
            After::Request => {
                // Little's law: tags in use = requests per second x time of one.
                let short = u64::from(self.rest > 0);
                let full = self.each - short;
                let of = |n: u64, short: bool| if n > 0 { n as f64 * (self.one(short) + pause) } else { 0.0 };
                ((engines * tags) as f64, of(full, false) + of(short, true))
            }
            After::Batch => match self.flow.program {
                // It ends with each operation if there is no other.
                Program::Closed { outstanding: 1, round_trip: None, .. } if alone => {
                    let (full, rest) = pcie::split(self.each, tags);
                    let whole = full as f64 * (self.released(&self.average(tags as f64)) + pause);
                    let part = if rest > 0 { self.released(&self.last(rest)) + pause } else { 0.0 };
                    (engines as f64, whole + part)
                }
                // Of a closed load with fewer requests outstanding than tags, a batch may wait for operations to end
                // and others to begin, which is not counted: then more tags would make a bound smaller.
                _ => {
                    let time = self.released(&self.average(tags as f64));
                    (engines as f64, (time + pause) * self.each as f64 / tags as f64)
                }
            },
        }
    }

    /// The time from the first request of an operation to the moment at which the last is out, ns, where tags do not
    /// cover it at once.
    fn issued(&self) -> Option<f64> {
        let (before, last) = self.rounds(self.each)?;
        let first = self.flow.route.first()?;
        Some(before + (last.full + last.short) * request(self.empty.plan, self.empty.corner, self.flow, *first))
    }
}

/// Whether a flow never waits for a tag, typically: each operation is a batch, which ends before the next begins.
pub(in crate::estimate) fn ends_with_operation(plan: &Plan, flow: &Flow) -> bool {
    let reads = Reads::of(Unloaded::new(plan, Corner::Typical), flow);
    let alone = plan.flows.iter().filter(|f| f.source == flow.source && f.reads() && f.piece_of.is_none()).count() == 1;
    reads.asking.after == After::Batch
        && alone
        && matches!(flow.program, Program::Closed { outstanding: 1, round_trip: None, .. })
        && reads.each <= reads.asking.tags
}

/// Takes a resource by its key: its capacity, what a payload byte takes of it, by how many TLPs, and what of that a
/// bound leaves out.
pub(in crate::estimate) type Add<'a> = dyn FnMut(Key, f64, f64, f64, f64) + 'a;

/// What the requester of a flow and its load allow; `alone`, if it is the only one that reads there. Others of the
/// requester have `beside` turns for each TLP of the flow, read requests and writes together.
pub(in crate::estimate) fn limits(
    plan: &Plan,
    corner: Corner,
    index: usize,
    (alone, beside): (bool, f64),
    add: &mut Add,
) {
    let flow = &plan.flows[index];
    let size = flow.size.at(corner).f64();
    let turns = Turns::of(plan, corner, flow);
    engine(plan, corner, flow, (&turns, beside), add);
    // What is between a time in truth and what no packet is faster than, a bound leaves out.
    let empty = Unloaded::new(plan, corner);
    if flow.reads() {
        let [(capacity, time), (_, at_least)] = empty.ends(flow, |empty| Reads::of(empty, flow).held(alone));
        let key = match (&plan.part(flow.source).keys, flow.route.first()) {
            (PartKeys::RootComplex(_), Some(first)) => Key::Loads(*first),
            _ => Key::Tags(flow.source),
        };
        add(key, capacity, time * 1e-9 / size, turns.reads, (time - at_least) * 1e-9 / size);
        let issued = || empty.ends(flow, |empty| Reads::of(empty, flow).issued());
        if flow.writes()
            && let [Some(out), Some(at_least)] = issued()
        {
            // Then the write is issued, and then the next read, whose requests may not pass the write on the slowest
            // link either (2.4.1).
            let write = flow.route.iter().map(|hop| sending(plan, corner, flow, *hop));
            let write = write.fold(writing(plan, corner, flow), f64::max);
            add(Key::InTurn(index), 1.0, (out + write) * 1e-9 / size, 1.0, (out - at_least) * 1e-9 / size);
        }
    }
    if let Some(queue) = plan.packet_queue(corner, flow) {
        // Descriptors are fetched ahead, through the same tags.
        let asking = plan.asking(corner, flow);
        let one = Train { request: queue.fetch.bytes, full: 1.0, rest: 0, short: 0.0 };
        let [held, at_least] = empty.ends(flow, |empty| empty.released(flow, &one));
        let (held, lucky) = ((held + asking.turnaround.ns()) * 1e-9, (held - at_least) * 1e-9);
        let fetches = 1.0 / (queue.fetch.packets as f64 * size);
        add(Key::Tags(flow.source), (asking.engines * asking.tags) as f64, held * fetches, fetches, lucky * fetches);
    }
    let Program::Closed { outstanding, .. } = &flow.program else { return };
    let [Some(time), Some(at_least)] = empty.ends(flow, |empty| round(empty, flow)) else { return };
    add(Key::Outstanding(index), *outstanding as f64, time * 1e-9 / size, 1.0, (time - at_least) * 1e-9 / size);
}

/// How long an operation of a closed load keeps the next one waiting, in an empty system, page walks left out, ns.
fn round(empty: Unloaded, flow: &Flow) -> Option<f64> {
    let Program::Closed { outstanding, think, round_trip } = &flow.program else { return None };
    let think = think.ns();
    match round_trip {
        Some(r) => Some((r.ns() + think) * if flow.reads() && flow.writes() { 2.0 } else { 1.0 }),
        // A read and a write for each byte that goes either way.
        None if flow.writes() => Some((translated(empty, flow) + think) * if flow.reads() { 2.0 } else { 1.0 }),
        None if flow.reads() => {
            let reads = Reads::of(empty, flow);
            let n = *outstanding as f64;
            let mut longest = reads.span(1) + think;
            // Rounds over several operations, whose requests wait for each other's tags: those that need one tag more
            // than there are.
            let Asking { engines, tags, .. } = reads.asking;
            for rounds in 1..=32u64 {
                let more = engines.saturating_mul(tags).saturating_mul(rounds) / reads.each;
                if more > 0 && more < *outstanding as u64 {
                    longest = longest.max((reads.span(more + 1) + think) * n / (n + more as f64));
                }
            }
            Some(longest)
        }
        None => None,
    }
}

/// What an operation of a flow takes at least where something on its way has a rate of its own, ns: its last piece goes
/// unloaded when that has taken in all before it. A memory takes writes in from when the first is there.
pub(in crate::estimate) fn held_back<'a>(
    empty: Unloaded,
    resources: impl Iterator<Item = &'a Resource<Key>>,
    i: usize,
) -> f64 {
    let Unloaded { plan, corner, .. } = empty;
    let flow = &plan.flows[i];
    let size = flow.size.at(corner).0;
    let piece = if flow.reads() { plan.request_size(corner, flow) } else { plan.write_payload(corner, flow) };
    let last = last_piece(size, piece);
    let unloaded = |bytes: u64| match flow.reads() {
        true => empty.read(flow, bytes, bytes).last,
        false => empty.write(flow, bytes),
    };
    let (of_last, of_first) = (unloaded(last), unloaded(piece.min(size)));
    let times = resources.filter_map(|r| {
        let takes: f64 = r.uses.iter().filter(|u| u.flow == i).map(|u| u.weight).sum();
        // Descriptors and entries of packets are no part of one.
        let takes = if matches!(r.key, Key::Memory(..)) { takes.min(1.0) } else { takes };
        let (begins, bytes) = match r.key {
            Key::Core(_) if flow.packets => return None,
            Key::ReadsInFlight(_) if !flow.reads() => return None,
            // Or, where the last is short, when the one before it is taken in.
            Key::Memory(..) if !flow.reads() && size > last => {
                let before = unloaded(size - last) + piece.min(size) as f64 * takes / r.capacity * 1e9;
                return Some(before.max(of_first + (size - last) as f64 * takes / r.capacity * 1e9));
            }
            Key::Memory(..) | Key::Core(_) => (of_last, size - last),
            Key::Engine(_, Ceiling::ReadInterval | Ceiling::WriteInterval | Ceiling::Port) => return None,
            // An engine that was idle lets one pass by at once.
            Key::Engine(..) => (of_last, (size - last).saturating_sub(piece)),
            // So many are worked on at once, and no others before one is done; those of the last round go together.
            Key::ReadsInFlight(_) => {
                let (most, all) = (r.capacity.max(1.0) as u64, size.div_ceil(piece));
                let before = (all.div_ceil(most) - 1).saturating_mul(most);
                let round = size.saturating_sub(before.saturating_mul(piece)).max(1);
                let rounds = before as f64 / all as f64 * size as f64;
                (empty.read(flow, round, piece.min(round)).last, rounds as u64)
            }
            _ => return None,
        };
        Some(begins + bytes as f64 * takes / r.capacity * 1e9)
    });
    times.fold(0.0, f64::max)
}

/// Adds what something with a rate of its own holds an operation back to what keeps the next one of a closed load
/// waiting, and credits, for which the last TLP of a write of a flow waits so long, in truth and at least
/// (`last_begins`, seconds). What is drawn is for page walks to say.
pub(in crate::estimate) fn wait_for_rates(
    plan: &Plan,
    corner: Corner,
    resources: &mut [Resource<Key>],
    last_begins: &[[f64; 2]],
) {
    let waits = |i: usize, time: f64| {
        let flow = &plan.flows[i];
        let Program::Closed { think, round_trip: None, .. } = flow.program else { return None };
        let one_way = !(flow.reads() && flow.writes());
        (one_way && time > 0.0).then(|| (time + think.ns()) * 1e-9 / flow.size.at(corner).f64())
    };
    let closed: Vec<(usize, usize)> = resources
        .iter()
        .enumerate()
        .filter_map(|(at, r)| match r.key {
            Key::Outstanding(i) => Some((at, i)),
            _ => None,
        })
        .collect();
    if closed.is_empty() {
        return;
    }
    let mut of_flow: Vec<Vec<usize>> = vec![Vec::new(); plan.flows.len()];
    let has_rate = |key: Key| matches!(key, Key::Memory(..) | Key::Core(_) | Key::Engine(..) | Key::ReadsInFlight(_));
    for (at, r) in resources.iter().enumerate().filter(|(_, r)| has_rate(r.key)) {
        r.uses.iter().filter(|u| u.flow < plan.flows.len()).for_each(|u| of_flow[u.flow].push(at));
    }
    let empty = Unloaded::new(plan, corner);
    for (at, i) in closed {
        let flow = &plan.flows[i];
        let last = last_piece(flow.size.at(corner).0, plan.write_payload(corner, flow));
        let held = |empty: Unloaded, last_begins: f64| {
            let behind_others = if flow.writes() { last_begins * 1e9 + empty.write(flow, last) } else { 0.0 };
            held_back(empty, of_flow[i].iter().map(|at| &resources[*at]), i).max(behind_others)
        };
        let (time, at_least) = (held(empty, last_begins[i][0]), held(empty.least(), last_begins[i][1]));
        let (Some(time), Some(at_least)) = (waits(i, time), waits(i, at_least)) else { continue };
        for used in resources[at].uses.iter_mut().filter(|u| u.weight < time) {
            let counted = (used.weight + used.first_least).max(at_least);
            (used.weight, used.first_least) = (time, counted - time);
        }
    }
}

/// The time that a write's TLPs take on a link, ns.
fn sending(plan: &Plan, corner: Corner, flow: &Flow, hop: Hop) -> f64 {
    let speed = plan.link(hop.link).speed.at(corner);
    let (size, payload) = (flow.size.at(corner).0, plan.write_payload(corner, flow));
    let (_, bytes) = pcie::cut(speed.generation, flow.header.at(corner), size, payload, plan.ecrc(flow));
    bytes as f64 / speed.coded().bytes() * 1e9
}

/// The time for which a write's TLPs are sent, with the gaps behind them, ns.
fn writing(plan: &Plan, corner: Corner, flow: &Flow) -> f64 {
    let Some(first) = flow.route.first() else { return 0.0 };
    let tlps = flow.size.at(corner).0.div_ceil(plan.write_payload(corner, flow));
    tlps as f64 * plan.tlp_gap(corner, flow) + sending(plan, corner, flow, *first)
}

/// The time that one read request takes on the requester's own link, ns.
fn request(plan: &Plan, corner: Corner, flow: &Flow, first: Hop) -> f64 {
    let speed = plan.link(first.link).speed.at(corner);
    let bytes = pcie::tlp(speed.generation, flow.header.at(corner), 0, plan.ecrc(flow));
    bytes as f64 / speed.coded().bytes() * 1e9
}

/// The time for which a read's requests are sent, with the gaps behind them, ns.
fn requesting(plan: &Plan, corner: Corner, flow: &Flow) -> f64 {
    let Some(first) = flow.route.first() else { return 0.0 };
    let requests = flow.size.at(corner).0.div_ceil(plan.request_size(corner, flow));
    requests as f64 * (request(plan, corner, flow, *first) + plan.tlp_gap(corner, flow))
}

/// What a class of engine sustains of its port: of the bytes that its link could carry in a second, and for each
/// payload byte those of the TLPs that carry it.
fn sustained(plan: &Plan, corner: Corner, flow: &Flow, turns: &Turns, efficiency: f64, add: &mut Add) {
    let (Some(first), size) = (flow.route.first(), flow.size.at(corner).0) else { return };
    let speed = plan.link(first.link).speed.at(corner);
    let capacity = efficiency * speed.coded().bytes();
    if flow.writes() {
        let bytes = sending(plan, corner, flow, *first) * 1e-9 * speed.coded().bytes() / size as f64;
        add(Key::Engine(flow.source, Ceiling::SustainedWrites), capacity, bytes, turns.writes, 0.0);
    }
    if flow.reads() {
        let request = plan.request_size(corner, flow);
        let piece = plan.completion_size(corner, flow, request.min(size));
        let (_, bytes) = latency::completions(speed.generation, size, request, piece, plan.ecrc(flow));
        let bytes = bytes as f64 / size as f64;
        add(Key::Engine(flow.source, Ceiling::SustainedReads), capacity, bytes, turns.reads, 0.0);
    }
}

/// Rates and pauses of the requesting endpoint; what a processor stores.
fn engine(plan: &Plan, corner: Corner, flow: &Flow, (turns, beside): (&Turns, f64), add: &mut Add) {
    let both_turns = (turns.reads + turns.writes) * beside;
    let k = match &plan.part(flow.source).keys {
        PartKeys::Endpoint(k) => k,
        PartKeys::RootComplex(k) => {
            if let (Some(rate), Some(first), true) = (&k.store_rate, flow.route.first(), flow.writes()) {
                add(Key::Stores(*first), rate.at(corner).bytes(), 1.0, turns.writes, 0.0);
            }
            return;
        }
        PartKeys::Switch(_) => return,
    };
    if let Some(efficiency) = &k.engine_efficiency {
        sustained(plan, corner, flow, turns, efficiency.at(corner).0, add);
    }
    let (part, size) = (flow.source, flow.size.at(corner).f64());
    if let Some((rate, bytes)) = plan.line(corner, flow) {
        let way = if flow.reads() { Ceiling::LineOut } else { Ceiling::LineIn };
        add(Key::Engine(part, way), rate.bytes(), bytes as f64 / size, 1.0 / size, 0.0);
    }
    let both = if flow.reads() && flow.writes() { 2.0 } else { 1.0 };
    if let Some(rate) = &k.rate {
        add(Key::Engine(part, Ceiling::Both), rate.at(corner).bytes(), both, both_turns, 0.0);
    }
    let own = [
        (turns.reads, Ceiling::Bus, &k.bus_rate),
        (turns.reads, Ceiling::Read, &k.read_rate),
        (turns.writes, Ceiling::Write, &k.write_rate),
    ];
    for (turns, ceiling, rate) in own {
        if let (true, Some(rate)) = (turns > 0.0, rate) {
            add(Key::Engine(part, ceiling), rate.at(corner).bytes(), 1.0, turns, 0.0);
        }
    }
    let starts = [
        (flow.reads(), Ceiling::ReadInterval, &k.read_interval),
        (flow.writes(), Ceiling::WriteInterval, &k.write_interval),
    ];
    for (does, ceiling, time) in starts {
        if let (true, Some(time)) = (does, time) {
            add(Key::Engine(part, ceiling), 1.0, time.at(corner).seconds() / size, 1.0 / size, 0.0);
        }
    }
    let [of_tlps, of_transfers, turning] = plan.gaps(corner, flow).map(|ns| ns * 1e-9);
    if of_tlps + of_transfers + turning > 0.0 {
        let writes = if flow.writes() { writing(plan, corner, flow) } else { 0.0 };
        let reads = if flow.reads() { requesting(plan, corner, flow) } else { 0.0 };
        // What goes in turn by itself certainly does.
        let alone = plan.flows.iter().filter(|f| f.source == flow.source).nth(1).is_none();
        let time = (writes + reads) * 1e-9 + of_transfers + turning;
        let lucky = if both > 1.0 && alone { 0.0 } else { turning / size };
        add(Key::Engine(part, Ceiling::Port), 1.0, time / size, both_turns, lucky);
    }
}
