//! All parts of a plan, wired: what the kernel runs.

pub(in crate::sim) mod backbone;
pub(in crate::sim) mod binding;
pub(in crate::sim) mod completer;
mod deadlock;
pub(in crate::sim) mod iommu;
mod limits;
mod report;
pub(in crate::sim) mod requester;
mod spare;
pub(in crate::sim) mod switch;
mod tags;
pub(in crate::sim) mod terminal;
pub(in crate::sim) mod wire;

use crate::plan::pcie::check::replay_buffer;
use crate::plan::{Asking, Flow, Hop, LinkId, PartId, Place, Plan, Program};
use crate::protocol::pcie::{self, Class};
use crate::result::BusClocks;
use crate::scenario::PartKeys;
use crate::scenario::keys::{After, Endpoint, Forwarding, Order};
use crate::scenario::quantity::Corner;
use crate::sim::core::clock::Clock;
use crate::sim::core::kernel::{Agenda, World};
use crate::sim::core::source::{self, Arrivals, Source, Transfer};
use crate::sim::core::tally::{self, Tally};
use crate::sim::pcie::backbone::Backbone;
use crate::sim::pcie::completer::{Answer, Bandwidth, Completer};
use crate::sim::pcie::iommu::Iommu;
use crate::sim::pcie::limits::{Gate, Interval};
use crate::sim::pcie::requester::{Doorbell, Packets, Requester, Shape, Stream};
use crate::sim::pcie::switch::Switch;
use crate::sim::pcie::tags::{Engine, Tags};
use crate::sim::pcie::terminal::Terminal;
use crate::sim::pcie::wire::{Account, Credits, Policy, Tlp, Wire, WireSpec};
use crate::units::Pace;
use crate::units::Rate;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher;

/// What a slot of the agenda stands for; the part that acts comes last.
#[derive(Clone, Copy, Debug)]
enum Signal {
    /// The head of a class on a wire is ready at the receiver.
    Head(u32, Class, u32),
    /// The data link layer at the receiver has DLLPs to send.
    Answer(u32),
    /// The transmitter may act.
    Free(u32, u32),
    /// A part's own timer.
    Timer(u32, u32),
}

/// When the part at the end of a wire may act on a TLP.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Reach {
    /// When it is in whole.
    End,
    /// So long after its first bit, if it can leave on a link that is not faster; else so that its tail does not
    /// overtake its own arrival.
    CutThrough(u64),
    /// So long after its last bit.
    StoreAndForward(u64),
    /// When it is in whole, and so long after that if it goes on.
    Root(u64),
    /// When it is in whole, but all that is done then is to count it, as done so long after that: it needs no event.
    Counted(u64),
}

/// When a part may act on a TLP: so long after its first bit, and so long after its last, but for what it may be
/// earlier than that.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Ready {
    pub(in crate::sim) after_head: u64,
    pub(in crate::sim) after_tail: u64,
    pub(in crate::sim) early: u64,
}

/// A flow in a run.
#[derive(Clone, Debug)]
pub(in crate::sim) struct FlowState {
    /// Where its ways begin in the fabric's paths.
    pub(in crate::sim) there: u32,
    pub(in crate::sim) back: u32,
    /// Behind the last of them.
    end: u32,
    pub(in crate::sim) answer: Answer,
    /// Its flow group.
    pub(in crate::sim) group: u32,
    /// Of a closed load: the pause after each operation, and when the next ones may begin.
    think: Option<u64>,
    pub(in crate::sim) again: VecDeque<u64>,
    /// Writes that have arrived and are done later, by the write latency: when each began and is done, in order.
    arrived: VecDeque<(u64, u64)>,
    /// Of another side's writes: the tokens of those under way. Posted writes of a flow arrive in order.
    writing: Option<VecDeque<u32>>,
    pub(in crate::sim) tally: Tally,
    /// A hash of the moments at which its operations were done.
    pub(in crate::sim) fingerprint: u64,
    /// Which function of its device asks.
    pub(in crate::sim) function: u32,
    /// Of packets: what the processor rings for them.
    pub(in crate::sim) doorbell: Option<Doorbell>,
    /// Of another side's: whether it moves what surrounds data, and the flow through whose queue its transfers go.
    control: bool,
    rides: u32,
    /// The place of its stream at its requester.
    place: usize,
}

impl FlowState {
    /// Whether another side asks for its transfers, and hears of each.
    pub(in crate::sim) fn is_fed(&self) -> bool {
        self.writing.is_some()
    }

    #[inline]
    pub(in crate::sim) fn started(&mut self, born: u64) {
        self.tally.start(born);
    }

    /// A write has begun.
    #[inline]
    pub(in crate::sim) fn wrote(&mut self, token: u32) {
        if let Some(tokens) = &mut self.writing {
            tokens.push_back(token);
        }
    }

    /// A write arrives now, and is done at a later moment.
    #[inline]
    pub(in crate::sim) fn arrives(&mut self, born: u64, done: u64, now: u64) {
        while self.arrived.front().is_some_and(|(_, done)| *done <= now) {
            self.arrived.pop_front();
        }
        self.arrived.push_back((born, done));
    }

    /// What has happened by now: a write that has arrived and is not yet done is in flight.
    pub(in crate::sim) fn tally(&self, now: u64) -> Tally {
        let mut tally = self.tally;
        for &(born, done) in self.arrived.iter().filter(|(_, done)| *done > now) {
            tally.done -= 1;
            tally.done_sum -= done as u128;
            tally.latency -= (done - born) as u128;
        }
        tally
    }

    #[inline]
    pub(in crate::sim) fn received(&mut self, bytes: u64) {
        self.tally.bytes += bytes;
    }

    pub(in crate::sim) fn first_data(&mut self, after: u64) {
        self.tally.firsts += 1;
        self.tally.first_latency += after as u128;
    }
}

/// What all parts share: wires, ways and flows.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Net {
    /// Twice the link, plus 1 for the direction up.
    pub(in crate::sim) wires: Vec<Wire>,
    /// The wires of each flow, there and back.
    pub(in crate::sim) paths: Vec<u32>,
    pub(in crate::sim) flows: Vec<FlowState>,
    /// Latencies of operations in picoseconds, by flow group.
    pub(in crate::sim) latencies: Vec<tally::Cells>,
    /// Transfers of another side that are done: flow, token, moment.
    pub(in crate::sim) done: Vec<(u32, u32, u64)>,
    /// Whether events are spared that are known ahead to change nothing.
    pub(in crate::sim) foresees: bool,
}

impl Net {
    /// Whether a TLP is on the last wire of its way.
    #[inline]
    pub(in crate::sim) fn ends(&self, tlp: &Tlp) -> bool {
        let flow = &self.flows[tlp.flow as usize];
        // Completions go back, and so do doorbells.
        tlp.at + 1 == if tlp.at >= flow.back { flow.end } else { flow.back }
    }

    /// Puts a TLP on a wire, and works out when the next part may act on it.
    #[inline(always)]
    pub(in crate::sim) fn put(&mut self, wire: u32, tlp: &mut Tlp, now: u64, agenda: &mut Agenda) -> u64 {
        let w = &self.wires[wire as usize];
        let head_only = Ready { after_head: 0, after_tail: 0, early: u64::MAX };
        let whole = Ready { early: 0, ..head_only };
        let ready = match w.reach {
            Reach::Root(latency) if !self.ends(tlp) => Ready { after_tail: latency, ..whole },
            Reach::End | Reach::Root(_) => whole,
            Reach::Counted(_) => {
                self.take_in(wire, now, agenda);
                whole
            }
            Reach::StoreAndForward(latency) => Ready { after_tail: latency, ..whole },
            Reach::CutThrough(latency) => {
                let out = &self.wires[self.paths[tlp.at as usize + 1] as usize];
                let after_head = latency.max(w.header);
                if out.rank > w.rank {
                    Ready { after_head, after_tail: latency, early: out.clock.span(out.bytes(tlp.body) as u64) }
                } else {
                    Ready { after_head, ..head_only }
                }
            }
        };
        let begin = self.wires[wire as usize].send(tlp, now, ready, agenda);
        if let Some(trace) = &mut agenda.trace {
            let w = &self.wires[wire as usize];
            trace.tlp(w.tx, tlp.sent(), begin, w.next_at);
        }
        begin
    }

    /// A write is in, and done so long after now. Gives the same as [`Net::finished`].
    #[inline]
    pub(in crate::sim) fn written(&mut self, tlp: &Tlp, latency: u64, now: u64) -> Option<u64> {
        let flow = &mut self.flows[tlp.flow as usize];
        flow.received(tlp.payload as u64);
        if !tlp.last {
            return None;
        }
        let done = now.saturating_add(latency);
        if done > now {
            flow.arrives(tlp.born, done, now);
        }
        self.finished(tlp.flow, tlp.born, done, None)
    }

    /// An operation is done; a read of another side knows its token, its writes come in order. Gives the moment from
    /// which a closed load goes on.
    pub(in crate::sim) fn finished(&mut self, flow: u32, born: u64, done: u64, token: Option<u32>) -> Option<u64> {
        let f = &mut self.flows[flow as usize];
        f.tally.finish(born, done);
        f.fingerprint = tally::fingerprint(f.fingerprint, born, done);
        if let Some(writing) = &mut f.writing {
            if let Some(token) = token.or_else(|| writing.pop_front()) {
                self.done.push((flow, token, done));
            }
            return None;
        }
        let again = f.think.map(|think| done.saturating_add(think));
        if let Some(at) = again {
            source::again(&mut f.again, at);
        }
        // It grows as it needs to; a latency is below 5 h, so it can.
        self.latencies[f.group as usize].record((done - born) / 1000);
        again
    }
}

/// A part in a run.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Part {
    Terminal(Box<Terminal>),
    Switch(Box<Switch>),
}

/// All parts of a plan.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Fabric {
    pub(in crate::sim) parts: Vec<Part>,
    pub(in crate::sim) net: Net,
    signals: Vec<Signal>,
    /// The ledgers of each backbone when the window opened; none before.
    at_window: Vec<[BusClocks; 2]>,
}

impl World for Fabric {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        let net = &mut self.net;
        match self.signals[slot as usize] {
            Signal::Head(wire, class, part) => match &mut self.parts[part as usize] {
                Part::Terminal(t) => t.head(wire, class, now, net, agenda),
                Part::Switch(s) => s.head(wire, class, now, net, agenda),
            },
            Signal::Free(wire, part) => match &mut self.parts[part as usize] {
                Part::Terminal(t) => t.free(wire, now, net, agenda),
                Part::Switch(s) => s.free(wire, now, net, agenda),
            },
            Signal::Answer(wire) => {
                let [down, up] = &mut net.wires[(wire & !1) as usize..][..2] else { return };
                if wire & 1 == 0 { down.answer(up, now, agenda) } else { up.answer(down, now, agenda) }
            }
            Signal::Timer(which, part) => match &mut self.parts[part as usize] {
                Part::Terminal(t) => t.tick(which, now, net, agenda),
                Part::Switch(s) => s.tick(which, now, net, agenda),
            },
        }
    }
}

/// The wire of a hop.
pub(in crate::sim) fn wire_of(hop: Hop) -> u32 {
    2 * hop.link.0 + hop.direction as u32
}

/// A generator of its own for each name.
pub(in crate::sim) fn random(seed: u64, name: &str) -> Xoshiro256PlusPlus {
    let mut hash = SipHasher13::new_with_keys(seed, 0);
    hash.write(name.as_bytes());
    Xoshiro256PlusPlus::seed_from_u64(hash.finish())
}

const TYPICAL: Corner = Corner::Typical;

impl Fabric {
    /// Wires a plan. Gives the number of its slots too.
    pub(in crate::sim) fn build(plan: &Plan, seed: u64) -> (Fabric, u32) {
        let groups = plan.groups();
        let (wires, latencies) = (wires(plan), groups.iter().map(|_| tally::Cells::default()).collect());
        let mut net = Net { wires, paths: Vec::new(), flows: Vec::new(), latencies, done: Vec::new(), foresees: false };
        // The members of a group stand in a row; behind them is what other technologies ask for.
        let tables = groups.iter().zip(0u32..).flat_map(|(members, table)| members.iter().map(move |_| table));
        let tables = tables.chain(std::iter::repeat(u32::MAX));
        for (flow, group) in plan.flows.iter().zip(tables) {
            let there = net.paths.len() as u32;
            net.paths.extend(flow.route.iter().map(|h| wire_of(*h)));
            let back = net.paths.len() as u32;
            net.paths.extend(flow.back.iter().map(|h| wire_of(*h)));
            let end = net.paths.len() as u32;
            let think = match flow.program {
                Program::Closed { think, .. } => Some(think.fs()),
                _ => None,
            };
            let fingerprint = group as u64 + 1;
            let (again, tally, answer) = (VecDeque::new(), Tally::default(), answer(plan, flow));
            let writing = flow.is_externally_driven().then(VecDeque::new);
            let queue = plan.packet_queue(TYPICAL, flow);
            let doorbell = queue.map(|q| Doorbell::new(&q, flow.header.typical, plan.ecrc(flow)));
            net.flows.push(FlowState {
                there,
                back,
                end,
                answer,
                group,
                think,
                again,
                arrived: VecDeque::new(),
                writing,
                tally,
                fingerprint,
                function: plan.function(flow.source) as u32,
                doorbell,
                control: flow.control,
                rides: flow.rides.map_or(net.flows.len() as u32, |f| f.0),
                place: 0,
            });
        }
        let forks = forks(&net);
        let mut fabric = Fabric { parts: Vec::new(), net, signals: Vec::new(), at_window: Vec::new() };
        for (i, part) in plan.parts.iter().enumerate() {
            // (wire in, wire out) of each port.
            let ports: Vec<(u32, u32)> = part.ports.iter().map(|p| wires_of(plan, p.link, PartId(i as u32))).collect();
            for (port, &(inward, outward)) in ports.iter().enumerate() {
                let at = fabric.signals.len() as u32;
                let wire = &mut fabric.net.wires[inward as usize];
                (wire.rx, wire.dl, wire.port_to) = (at, at + 3, port as u16);
                fabric.signals.extend(Class::ALL.map(|c| Signal::Head(inward, c, i as u32)));
                fabric.signals.push(Signal::Answer(inward));
                let wire = &mut fabric.net.wires[outward as usize];
                (wire.tx, wire.port_from) = (at + 4, port as u16);
                fabric.signals.push(Signal::Free(outward, i as u32));
            }
            let timer = fabric.signals.len() as u32;
            let mut built = build_part(plan, PartId(i as u32), &ports, &forks, seed);
            let timers = match &mut built {
                Part::Terminal(t) => {
                    t.wired(timer);
                    t.timers()
                }
                Part::Switch(s) => {
                    s.wired(timer);
                    s.timers()
                }
            };
            fabric.signals.extend((0..timers).map(|which| Signal::Timer(which, i as u32)));
            fabric.parts.push(built);
        }
        for i in 0..plan.flows.len() {
            fabric.request(plan, i, seed);
        }
        fabric.phases(plan, seed);
        let slots = fabric.signals.len() as u32;
        (fabric, slots)
    }

    /// Requesters that all begin at one moment go on in lockstep, which hides what they do to one another behind a
    /// common port. So each with a saturating or closed load begins at a moment of its own, drawn from the run's seed
    /// out of the time that its longest operation, or 64 KiB of it, takes its wire. A single one begins at time 0.
    fn phases(&mut self, plan: &Plan, seed: u64) {
        let eager = |f: &Flow| matches!(f.program, Program::Saturating | Program::Closed { .. });
        let mut spread: BTreeMap<u32, u64> = BTreeMap::new();
        for flow in plan.flows.iter().filter(|f| eager(f)) {
            let Some(first) = flow.route.first() else { continue };
            let wire = &self.net.wires[wire_of(*first) as usize];
            let (size, payload) = (flow.size.typical.0.min(1 << 16), plan.write_payload(TYPICAL, flow));
            let (_, bytes) = pcie::cut(wire.generation, flow.header.typical, size, payload, plan.ecrc(flow));
            let most = spread.entry(wire_of(*first)).or_default();
            *most = (*most).max(wire.clock.span(bytes));
        }
        if spread.len() < 2 {
            return;
        }
        for (id, most) in spread {
            let wire = &self.net.wires[id as usize];
            let (part, port) = (wire.from as usize, wire.port_from as usize);
            let Part::Terminal(terminal) = &mut self.parts[part] else { continue };
            let part = &plan.parts[part];
            let name = format!("phase of {}.{}", part.name, part.ports[port].name);
            let at = ((random(seed, &name).next_u64() as u128 * most as u128) >> 64) as u64;
            for stream in terminal.ports[port].requesters.iter_mut().flat_map(|r| &mut r.streams) {
                match &mut stream.source {
                    Source::Saturating { from } | Source::Closed { from, .. } => *from = at,
                    Source::Open(_) | Source::ExternallyDriven(_) => {}
                }
            }
        }
    }

    /// Sets what begins at time 0.
    pub(in crate::sim) fn begin(&mut self, agenda: &mut Agenda) {
        for part in &mut self.parts {
            let Part::Terminal(t) = part else { continue };
            for port in &mut t.ports {
                for requester in port.requesters.iter_mut().filter(|r| !r.streams.is_empty()) {
                    requester.limits.complete();
                    requester.pick();
                    agenda.set(self.net.wires[port.wire as usize].tx, 0);
                }
            }
        }
    }

    /// Another side asks for DMA; [`Net::done`] tells when it is over.
    pub(in crate::sim) fn feed(&mut self, flow: u32, transfer: Transfer, agenda: &mut Agenda) {
        let FlowState { control, rides: flow, .. } = self.net.flows[flow as usize];
        let transfer = Transfer { control, ..transfer };
        let wire = &self.net.wires[self.net.paths[self.net.flows[flow as usize].there as usize] as usize];
        let (port, tx) = (wire.port_from as usize, wire.tx);
        let at = wire.next_at.max(transfer.born);
        let Part::Terminal(terminal) = &mut self.parts[wire.from as usize] else { return };
        let FlowState { function, place, .. } = self.net.flows[flow as usize];
        if terminal.ports[port].requesters[function as usize].feed(place, transfer) {
            agenda.by(tx, at);
        }
    }

    /// The parts that have a backbone, and its slot.
    pub(in crate::sim) fn backbone_timers(&self) -> Vec<(usize, u32)> {
        let of = |(i, part): (usize, &Part)| match part {
            Part::Terminal(t) => Some((i, t.backbone.as_ref()?.timer())),
            Part::Switch(_) => None,
        };
        self.parts.iter().enumerate().filter_map(of).collect()
    }

    /// Gives a flow to the requester at its first wire.
    fn request(&mut self, plan: &Plan, index: usize, seed: u64) {
        let flow = &plan.flows[index];
        let Some(&first) = flow.route.first().filter(|_| flow.rides.is_none()) else { return };
        let port = self.net.wires[wire_of(first) as usize].port_from as usize;
        let Part::Terminal(terminal) = &mut self.parts[plan.device(flow.source).0 as usize] else { return };
        let requester = &mut terminal.ports[port].requesters[plan.function(flow.source)];
        let source = plan.part(flow.source);
        if requester.streams.is_empty() {
            requester.tags = tags(plan.asking(TYPICAL, flow));
            if let PartKeys::RootComplex(k) = &source.keys {
                requester.limits.write = k.store_rate.as_ref().map(|q| Gate::new(Pace::new(q.typical)));
            }
            if let PartKeys::Endpoint(k) = &source.keys {
                engine(requester, k);
                let sustained = |share: f64| {
                    let rate = plan.link(first.link).speed.typical.coded().bits() * share;
                    Gate::new(Pace::new(Rate::from_bits(rate.round().max(1.0) as u64)))
                };
                let gate = k.engine_efficiency.as_ref().map(|q| sustained(q.typical.0));
                requester.limits.sustained = [gate, gate];
                if k.order.typical == Order::Random {
                    requester.random = Some(random(seed, &source.name));
                }
            }
        }
        let line = plan.line(TYPICAL, flow);
        if let Some((rate, _)) = line {
            requester.limits.line[usize::from(flow.reads())].get_or_insert_with(|| Gate::new(Pace::new(rate)));
        }
        let size = flow.size.typical.0;
        let both = if flow.reads() && flow.writes() { 2 } else { 1 };
        self.net.flows[index].place = requester.add(Stream {
            flow: index as u32,
            shape: Shape {
                reads: flow.reads(),
                writes: flow.writes(),
                size,
                payload: plan.write_payload(TYPICAL, flow),
                request: plan.request_size(TYPICAL, flow),
                header: flow.header.typical,
                ecrc: plan.ecrc(flow),
            },
            source: match flow.program {
                Program::Saturating => Source::Saturating { from: 0 },
                Program::Open { rate, poisson } => {
                    let random = poisson.then(|| random(seed, &flow.name));
                    Source::Open(Arrivals::new(Pace::new(rate.scaled(both, 1)), size, random))
                }
                Program::Closed { outstanding, .. } => Source::Closed { first: outstanding, from: 0 },
                Program::ExternallyDriven => Source::ExternallyDriven(VecDeque::new()),
            },
            current: None,
            was_read: false,
            packets: plan.packet_queue(TYPICAL, flow).map(|q| Packets::new(q, line.map_or(0, |l| l.1))),
        });
        let all = &requester.streams;
        if all.iter().any(|s| s.shape.reads) && all.iter().any(|s| s.shape.writes) {
            requester.limits.both = requester.limits.both.map(Gate::both);
        }
    }
}

/// The wires in and out of a part's end of a link.
fn wires_of(plan: &Plan, link: LinkId, part: PartId) -> (u32, u32) {
    let (down, up) = (2 * link.0, 2 * link.0 + 1);
    if plan.link(link).ends[0].part == part { (up, down) } else { (down, up) }
}

fn wires(plan: &Plan) -> Vec<Wire> {
    let mut rates: Vec<_> = plan.links.iter().map(|l| l.speed.typical.coded()).collect();
    rates.sort();
    rates.dedup();
    plan.directions()
        .map(|hop| {
            let link = plan.link(hop.link);
            let speed = link.speed.typical;
            let (lanes, generation) = (speed.lanes.count(), speed.generation);
            let clock = Clock::new(speed.coded());
            let credits = |n: Option<u32>| n.map_or(Credits::Infinite, Credits::Left);
            let account = |class| {
                let b = plan.buffer(hop, class);
                Account { headers: credits(b.headers), data: credits(b.data) }
            };
            let usual = || clock.span(link.ack_latency_limit(Corner::Typical));
            let limit = link.dllp_limit.as_ref().map_or_else(usual, |q| q.typical.fs());
            // Without Acks nothing would ever leave it.
            let replay =
                replay_buffer(&plan.part(plan.leaves(hop)).keys).filter(|_| link.ack_every.typical.0.is_some());
            let mut wire = Wire::new(WireSpec {
                clock,
                delay: link.delay.typical.fs(),
                from: plan.leaves(hop).0,
                generation,
                lanes,
                skp: link.ordered_sets(Corner::Typical),
                accounts: Class::ALL.map(account),
                replay: replay.map(|q| q.typical.0.min(u32::MAX as u64 / 2) as u32),
                acks: Policy { every: link.ack_every.typical.0, limit },
                updates: Policy { every: link.update_fc_every.typical.0, limit },
            });
            wire.rank = rates.binary_search(&speed.coded()).unwrap_or(0) as u32;
            wire.reach = match &plan.part(plan.arrives(hop)).keys {
                PartKeys::Switch(k) => match k.forwarding.typical {
                    Forwarding::CutThrough => Reach::CutThrough(k.latency.typical.fs()),
                    Forwarding::StoreAndForward => Reach::StoreAndForward(k.latency.typical.fs()),
                },
                PartKeys::RootComplex(k) if plan.part(plan.arrives(hop)).forwards => {
                    Reach::Root(k.peer_latency.typical.fs())
                }
                _ => Reach::End,
            };
            wire
        })
        .collect()
}

/// Nanoseconds to femtoseconds.
fn fs(ns: f64) -> u64 {
    (ns * 1e6).round() as u64
}

fn answer(plan: &Plan, flow: &Flow) -> Answer {
    let size = |bytes| plan.completion_size(TYPICAL, flow, bytes) as u32;
    let large = match &plan.part(flow.target).keys {
        PartKeys::RootComplex(k) => k.large_read.as_ref().map(|q| q.typical.0),
        _ => None,
    };
    Answer {
        pieces: [size(1), size(u64::MAX)],
        large: large.map_or(u32::MAX, |l| l.min(u32::MAX as u64) as u32),
        ecrc: plan.ecrc(flow),
        place: match flow.place {
            Place::Memory => 0,
            Place::Device => plan.function(flow.target),
            Place::Cache => 1,
            Place::Remote => 2,
        },
    }
}

/// Of each wire, whether the packets on it go on by several others.
fn forks(net: &Net) -> Vec<bool> {
    let mut next: Vec<Option<u32>> = vec![None; net.wires.len()];
    let mut forks = vec![false; net.wires.len()];
    for pair in net.paths.windows(2) {
        let first = *next[pair[0] as usize].get_or_insert(pair[1]);
        forks[pair[0] as usize] |= first != pair[1];
    }
    forks
}

fn build_part(plan: &Plan, id: PartId, ports: &[(u32, u32)], forks: &[bool], seed: u64) -> Part {
    let outs: Vec<u32> = ports.iter().map(|p| p.1).collect();
    let pace =
        |q: &Option<crate::scenario::quantity::Quantity<crate::units::Rate>>| q.as_ref().map(|q| Pace::new(q.typical));
    match &plan.part(id).keys {
        PartKeys::Switch(k) => {
            let bandwidth = pace(&k.core_bandwidth).filter(|_| k.core.typical != crate::scenario::keys::Core::Crossbar);
            let forks: Vec<bool> = ports.iter().map(|p| forks[p.0 as usize]).collect();
            let (core, arbitration, queues) = (k.core.typical, k.arbitration.typical, k.queues.typical);
            Part::Switch(Box::new(Switch::new(ports, &forks, core, bandwidth, arbitration, queues)))
        }
        PartKeys::RootComplex(k) => {
            let latency = [Place::Memory, Place::Cache, Place::Remote].map(|p| fs(plan.read_latency(TYPICAL, k, p)));
            let most = k.reads_in_flight.as_ref().map(|q| q.typical.get());
            let apart = Bandwidth::Apart(pace(&k.write_bandwidth), pace(&k.read_bandwidth));
            let memory = pace(&k.memory_bandwidth).map_or(apart, Bandwidth::Added);
            let completer = Completer::new(latency.to_vec(), most, memory);
            let mut terminal = Terminal::new(&outs, completer, k.write_latency.typical.fs(), 1);
            let backbone = plan.backbone(TYPICAL, id);
            terminal.backbone = backbone.map(|b| Box::new(Backbone::new(b, latency.to_vec(), outs.len())));
            if plan.part(id).forwards {
                let forks: Vec<bool> = ports.iter().map(|p| forks[p.0 as usize]).collect();
                terminal.peers = Some(Box::new(Switch::hosted(ports, &forks, pace(&k.peer_bandwidth))));
            }
            let iommu = plan.iommu(TYPICAL, id);
            terminal.iommu = iommu.map(|i| Box::new(Iommu::new(plan, id, i, outs.len(), seed)));
            Part::Terminal(Box::new(terminal))
        }
        PartKeys::Endpoint(_) => {
            // Its functions answer from one port, each in its own time.
            let latency: Vec<u64> = std::iter::once(id)
                .chain(plan.part(id).functions.iter().copied())
                .filter_map(|p| match &plan.part(p).keys {
                    PartKeys::Endpoint(k) => Some(k.read_latency.typical.fs()),
                    _ => None,
                })
                .collect();
            let functions = latency.len();
            let completer = Completer::new(latency, None, Bandwidth::Apart(None, None));
            Part::Terminal(Box::new(Terminal::new(&outs, completer, 0, functions)))
        }
    }
}

/// The tags of a requester: a processor's loads in flight are such too.
fn tags(asking: Asking) -> Tags {
    let Asking { engines, tags, turnaround, after } = asking;
    let turnaround = turnaround.fs();
    match after {
        After::Request => Tags::Single { free: engines * tags, resting: VecDeque::new(), turnaround },
        After::Batch => {
            Tags::Batch { engines: vec![Engine::default(); engines as usize], tags: tags as u32, turn: 0, turnaround }
        }
    }
}

/// The limits of an endpoint's engines.
fn engine(r: &mut Requester, k: &Endpoint) {
    let gate = |q: &Option<crate::scenario::quantity::Quantity<crate::units::Rate>>| {
        q.as_ref().map(|q| Gate::new(Pace::new(q.typical)))
    };
    let interval = |q: &Option<crate::scenario::quantity::Quantity<crate::units::Time>>| {
        q.as_ref().map(|q| Interval { every: q.typical.fs(), at: 0 })
    };
    let l = &mut r.limits;
    (l.both, l.read, l.write, r.bus) = (gate(&k.rate), gate(&k.read_rate), gate(&k.write_rate), gate(&k.bus_rate));
    r.moves = k.move_rate.as_ref().map(|q| Pace::new(q.typical));
    (l.read_starts, l.write_starts) = (interval(&k.read_interval), interval(&k.write_interval));
    (l.gaps.tlp, l.gaps.transfer) = (k.tlp_gap.typical.fs(), k.transfer_gap.typical.fs());
    (l.gaps.change, r.latency) = (k.direction_change.typical.fs(), k.latency.typical.fs());
}
