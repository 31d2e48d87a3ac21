//! Ethernet at flow level: messages are flows, which share wires max-min fair, and nothing is followed frame by frame.
//!
//! A message takes its part of every wire on its path at one rate, which changes only when another comes or goes
//! (`core/max_min`). Its last byte arrives when all its bytes have gone at these rates, and after that what its last
//! frame takes behind the slowest wire of its path: so a message alone takes exactly as long as packet by packet. What
//! stations do is the same as there: one FIFO, or a lane for each destination that takes turns with the others;
//! messages are drawn by the same sources from the same random numbers. What switches do to frames that meet (memories,
//! pauses, drops, marks, the order of priorities) is left out.

use crate::plan::ethernet::latency::{Train, message};
use crate::plan::ethernet::{Network, NodeId};
use crate::plan::{FlowGroup, Plan};
use crate::protocol::ethernet::{GAP, PREAMBLE};
use crate::result::{Idle, Note, SlotCounts};
use crate::scenario::keys::Technology;
use crate::scenario::quantity::Corner;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::core::max_min::MaxMin;
use crate::sim::core::moments::Moments;
use crate::sim::core::recorder::Trace;
use crate::sim::core::subsystem::{OwnReport, Subsystem, Traffic, Window, WireName};
use crate::sim::core::tally::{self, Cells, SECOND, Tally};
use crate::sim::ethernet::build::phase;
use crate::sim::ethernet::report::{traffic, wire_names};
use crate::sim::ethernet::source::Source;
use crate::sim::ethernet::{MOST_FRAMES, binding};
use crate::sim::pcie::random;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// The part of what is wanted below which it is not carried: what one moment of a random load may be short is less.
const MISSING: f64 = 0.95;

/// A message as its source made it.
#[derive(Clone, Copy, Debug, Default)]
struct Message {
    stream: u32,
    target: u32,
    /// Its queue pair.
    connection: u32,
    born: u64,
    bytes: u64,
}

/// A message that is being sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    message: Message,
    /// Bytes that it takes of a wire, preambles and gaps included; those of its frames' headers, FCS and padding;
    /// frames.
    whole: f64,
    framing: f64,
    frames: f64,
    /// Bytes of the wire that had gone at a moment, and the rate since, bytes per fs.
    gone: f64,
    since: u64,
    rate: f64,
    /// The rate that it has alone, and the wire that holds it to less.
    alone: f64,
    by: u32,
    /// From then on, when all is gone, until the last bit has arrived, fs.
    behind: u64,
}

impl Sent {
    /// The part of it that has gone.
    fn part(&self, now: u64) -> f64 {
        ((self.gone + self.rate * (now - self.since) as f64) / self.whole).min(1.0)
    }

    /// For how long, up to a moment, others have kept it from the rate that it has alone, since its rate changed.
    fn held(&self, now: u64) -> f64 {
        if self.rate < self.alone * (1.0 - 1e-9) { (now - self.since) as f64 } else { 0.0 }
    }

    /// When all of it will have gone.
    fn end(&self) -> u64 {
        if self.rate <= 0.0 {
            return NEVER;
        }
        let left = ((self.whole - self.gone).max(0.0) / self.rate).round();
        // A message takes some time, and none takes longer than a clock counts.
        self.since.saturating_add((left as u64).max(1)).min(NEVER - 1)
    }
}

/// What a wire has carried.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    payload: f64,
    framing: f64,
    gap: f64,
    frames: f64,
    /// Time for which it held messages to their share of it, of all of them together, fs.
    held: f64,
}

/// A stream at its source.
#[derive(Clone, Debug)]
struct Sender {
    stream: u32,
    source: Source,
    /// When it was last served, for turns among those that always have something.
    served: u64,
    /// Messages that each queue pair has been given, by target: they take turns.
    given: HashMap<u32, u32>,
}

#[derive(Clone, Debug)]
struct Station {
    senders: Vec<Sender>,
    /// Whether messages for different destinations are under way at once; else one after the other.
    lanes: bool,
    /// Without lanes: whether one is.
    busy: bool,
    /// When what always has something to send begins.
    from: u64,
}

/// Where a message stands among those of its station: by stream, target and queue pair.
type Lane = (u32, u32, u32);

/// What arrives: when, a number for the order of equal moments, the stream, and when it was born.
type Arrival = Reverse<(u64, u64, u32, u64)>;

/// All Ethernet of a plan.
#[derive(Clone, Debug)]
pub(in crate::sim) struct FlowLevel {
    network: Arc<Network>,
    /// Its slot of the agenda.
    pub(in crate::sim) slot: u32,
    stations: Vec<Station>,
    rates: MaxMin,
    /// By number of their flows.
    sent: Vec<Option<Sent>>,
    /// Messages that wait behind another of their lane; one that is under way has its lane here.
    lanes: HashMap<Lane, VecDeque<Message>>,
    /// When stations have something to do, then when flows end.
    moments: Moments,
    /// Messages whose last bit is on its way.
    arriving: BinaryHeap<Arrival>,
    begun: u64,
    ended: u64,
    tallies: Vec<Tally>,
    fingerprints: Vec<u64>,
    /// By stream: its group, and its station.
    groups: Vec<u32>,
    of_stream: Vec<u32>,
    /// Messages that each stream has in lanes, not begun.
    behind: Vec<u64>,
    latencies: Vec<Cells>,
    carried: Vec<Carried>,
    /// The same for programs, which follow their messages themselves.
    programs: Vec<Carried>,
    /// Idle slots of each wire when the window opened.
    idle_at_window: Vec<u64>,
    now: u64,
}

impl Carried {
    /// Such a part of a message.
    fn add(&mut self, s: &Sent, part: f64) {
        self.payload += s.message.bytes as f64 * part;
        self.framing += s.framing * part;
        self.gap += s.frames * (PREAMBLE + GAP) as f64 * part;
        self.frames += s.frames * part;
    }

    fn with(&self, other: &Carried) -> Carried {
        Carried {
            payload: self.payload + other.payload,
            framing: self.framing + other.framing,
            gap: self.gap + other.gap,
            frames: self.frames + other.frames,
            held: self.held + other.held,
        }
    }

    /// The ledger of a wire that has had so many slots. Each part is rounded down by itself, so that none falls from
    /// one count to the next; together they may be some bytes short of all. A wire that is always full is so up to a
    /// float's noise: idle slots are no fewer than at an earlier count.
    fn ledger(&self, slots: u64, idle_before: u64) -> SlotCounts {
        let mut counts = SlotCounts {
            payload: self.payload as u64,
            framing: self.framing as u64,
            gap: self.gap as u64,
            tlps: self.frames as u64,
            data_tlps: self.frames as u64,
            ..SlotCounts::default()
        };
        let idle = slots as f64 - (self.payload + self.framing + self.gap);
        counts.idle[Idle::NothingToSend as usize] = (idle.max(0.0) as u64).max(idle_before);
        counts
    }
}

impl FlowLevel {
    /// Stations of a network, with a slot of the agenda.
    pub(in crate::sim) fn build(plan: &Plan, seed: u64, slot: u32) -> FlowLevel {
        let network = &plan.network;
        let groups = network.groups();
        let mut group = vec![0; network.streams.len()];
        for (number, members) in (0u32..).zip(&groups) {
            members.iter().for_each(|m| group[*m] = number);
        }
        let own = network.by_source();
        let (mut stations, mut of_stream) = (Vec::new(), vec![0; network.streams.len()]);
        for (node, own) in own.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
            let senders: Vec<Sender> = (own.iter())
                .map(|&i| {
                    let stream = &network.streams[i];
                    let source = Source::new(network, stream, random(seed, &stream.name));
                    Sender { stream: i as u32, source, served: 0, given: HashMap::new() }
                })
                .collect();
            let from = if senders.iter().any(|s| s.source.saturates()) {
                phase(network, NodeId(node as u32), own.iter().map(|i| &network.streams[*i]), seed)
            } else {
                0
            };
            own.iter().for_each(|i| of_stream[*i] = stations.len() as u32);
            stations.push(Station { senders, lanes: network.in_lanes(own, false), busy: false, from });
        }
        // A single one begins at time 0, as packet by packet.
        let mut eager: Vec<&mut Station> =
            stations.iter_mut().filter(|s| s.senders.iter().any(|s| s.source.saturates())).collect();
        if let [one] = eager.as_mut_slice() {
            one.from = 0;
        }
        for s in stations.iter_mut() {
            s.senders.iter_mut().for_each(|sender| sender.source.starts(s.from));
        }
        let capacity = |wire: u32| 1.0 / network.link(wire).rate.typical.byte_fs() as f64;
        let wires = 2 * network.links.len();
        let mut moments = Moments::default();
        (0..stations.len() as u32).for_each(|s| moments.set(s, 0));
        FlowLevel {
            slot,
            stations,
            rates: MaxMin::new((0..wires as u32).map(capacity)),
            sent: Vec::new(),
            lanes: HashMap::new(),
            moments,
            arriving: BinaryHeap::new(),
            begun: 0,
            ended: 0,
            tallies: vec![Tally::default(); network.streams.len()],
            fingerprints: group.iter().map(|g| u64::from(*g) + 1).collect(),
            groups: group,
            of_stream,
            behind: vec![0; network.streams.len()],
            latencies: groups.iter().map(|_| Cells::default()).collect(),
            carried: vec![Carried::default(); wires],
            programs: vec![Carried::default(); wires],
            idle_at_window: vec![0; wires],
            now: 0,
            network: network.clone(),
        }
    }

    /// What happens next.
    pub(in crate::sim) fn next(&self) -> u64 {
        self.moments.first().0.min(self.arriving.peek().map_or(NEVER, |a| a.0.0))
    }

    /// All that happens at a moment, and when something happens again.
    pub(in crate::sim) fn on(&mut self, now: u64, agenda: &mut Agenda) {
        self.now = now;
        while let Some(Reverse((_, _, stream, born))) = self.arriving.peek().copied().filter(|a| a.0.0 <= now) {
            self.arriving.pop();
            self.arrive(stream, born, now);
        }
        loop {
            let (at, number) = self.moments.first();
            if at > now {
                break;
            }
            match (number as usize).checked_sub(self.stations.len()) {
                None => self.serve(number, now),
                Some(flow) => self.finish(flow as u32, now),
            }
        }
        let FlowLevel { rates, sent, moments, stations, carried, .. } = self;
        rates.settle(|flow, rate, by| {
            let Some(s) = sent[flow as usize].as_mut() else { return };
            carried[s.by as usize].held += s.held(now);
            s.by = by;
            s.gone = (s.gone + s.rate * (now - s.since) as f64).min(s.whole);
            (s.since, s.rate) = (now, rate);
            moments.set(stations.len() as u32 + flow, s.end());
        });
        agenda.set(self.slot, self.next());
    }

    /// A message has arrived.
    fn arrive(&mut self, stream: u32, born: u64, now: u64) {
        let i = stream as usize;
        self.tallies[i].finish(born, now);
        self.fingerprints[i] = tally::fingerprint(self.fingerprints[i], born, now);
        self.latencies[self.groups[i] as usize].record((now - born) / 1000);
    }

    /// A station sends what it may, and says when it has more.
    fn serve(&mut self, station: u32, now: u64) {
        let next =
            if self.stations[station as usize].lanes { self.sort(station, now) } else { self.fill(station, now) };
        self.moments.set(station, next);
    }

    /// One FIFO: the earliest message comes first.
    fn fill(&mut self, station: u32, now: u64) -> u64 {
        let s = &mut self.stations[station as usize];
        if s.busy {
            return NEVER;
        }
        let key = |s: &Sender| s.source.born.max(if s.source.saturates() { s.served } else { 0 });
        let Some(sender) = s.senders.iter_mut().min_by_key(|s| key(s)) else { return NEVER };
        let source = &mut sender.source;
        if source.born > now {
            return source.born;
        }
        let born = if source.saturates() { now } else { source.born };
        let made = Message { stream: sender.stream, target: source.target, connection: 0, born, bytes: source.bytes };
        source.advance();
        sender.served = now;
        s.busy = true;
        self.tallies[made.stream as usize].start(born);
        self.begin(made, now);
        NEVER
    }

    /// Messages that are born go to their lanes.
    fn sort(&mut self, station: u32, now: u64) -> u64 {
        let mut next = NEVER;
        let mut made: Vec<Message> = Vec::new();
        let s = &mut self.stations[station as usize];
        for sender in &mut s.senders {
            let stream = &self.network.streams[sender.stream as usize];
            let connections = stream.connections.typical.get();
            if sender.source.saturates() {
                // Each lane always has one more, from the beginning on.
                if now < s.from {
                    next = next.min(s.from);
                } else if s.from != NEVER {
                    let all = (0..stream.targets.len() as u32).flat_map(|t| (0..connections).map(move |c| (t, c)));
                    made.extend(all.map(|(target, connection)| {
                        let bytes = sender.source.bytes;
                        Message { stream: sender.stream, target, connection, born: now, bytes }
                    }));
                }
                continue;
            }
            let source = &mut sender.source;
            while source.born <= now {
                let mut connection = 0;
                if connections > 1 {
                    let given = sender.given.entry(source.target).or_default();
                    connection = std::mem::replace(given, (*given + 1) % connections);
                }
                let (born, bytes) = (source.born, source.bytes);
                made.push(Message { stream: sender.stream, target: source.target, connection, born, bytes });
                source.advance();
            }
            next = next.min(source.born);
        }
        if now >= s.from {
            s.from = NEVER;
        }
        for m in made {
            self.tallies[m.stream as usize].start(m.born);
            match self.lanes.get_mut(&(m.stream, m.target, m.connection)) {
                Some(lane) => {
                    lane.push_back(m);
                    self.behind[m.stream as usize] += 1;
                }
                None => {
                    self.lanes.insert((m.stream, m.target, m.connection), VecDeque::new());
                    self.begin(m, now);
                }
            }
        }
        next
    }

    /// A message begins to be sent.
    fn begin(&mut self, made: Message, now: u64) {
        let network = &self.network;
        let stream = &network.streams[made.stream as usize];
        let target = stream.targets.get(made.target as usize);
        let way = network.way_of_connection(made.stream as usize, target, made.connection);
        let ends = [stream.source, target];
        let path = network.along(ends, way);
        let (mut frames, mut bytes) = (0, 0);
        for (n, _, each) in network.cut(stream, made.bytes) {
            (frames, bytes) = (frames + n, bytes + n * each);
        }
        let whole = bytes + frames * (PREAMBLE + GAP);
        let slowest = path.iter().map(|on| network.link(*on).rate.typical.byte_fs()).max().unwrap_or(0);
        let alone = message(network, &path, Train::of(network, stream, made.bytes), Corner::Typical);
        // A path without a delay ends a gap earlier than the wire is free again.
        let behind = alone.saturating_sub(u128::from(whole) * u128::from(slowest)) as u64;
        let path_first = path[0];
        let flow = if network.reorders() {
            self.rates.add(network.spread(ends, way).into_iter())
        } else {
            self.rates.add(path.iter().map(|on| (*on, 1.0)))
        };
        if flow as usize >= self.sent.len() {
            self.sent.resize(flow as usize + 1, None);
        }
        self.begun += 1;
        self.sent[flow as usize] = Some(Sent {
            message: made,
            whole: whole as f64,
            framing: (bytes - made.bytes) as f64,
            frames: frames as f64,
            gone: 0.0,
            since: now,
            rate: 0.0,
            alone: 1.0 / slowest.max(1) as f64,
            by: path_first,
            behind,
        });
    }

    /// All bytes of a message have gone; whoever waits behind it is next.
    fn finish(&mut self, flow: u32, now: u64) {
        let number = self.stations.len() as u32 + flow;
        self.moments.set(number, NEVER);
        let Some(s) = self.sent[flow as usize].take() else { return };
        self.carried[s.by as usize].held += s.held(now);
        for (wire, part) in self.rates.path(flow) {
            self.carried[wire as usize].add(&s, part);
        }
        self.rates.remove(flow);
        let m = s.message;
        self.tallies[m.stream as usize].bytes += m.bytes;
        self.ended += 1;
        self.arriving.push(Reverse((now.saturating_add(s.behind), self.ended, m.stream, m.born)));
        let station = self.of_stream[m.stream as usize];
        if !self.stations[station as usize].lanes {
            self.stations[station as usize].busy = false;
            self.moments.set(station, now);
            return;
        }
        let lane = (m.stream, m.target, m.connection);
        let endless =
            self.stations[station as usize].senders.iter().any(|s| s.stream == m.stream && s.source.saturates());
        let next = if endless {
            self.tallies[m.stream as usize].start(now);
            Some(Message { born: now, ..m })
        } else {
            self.lanes.get_mut(&lane).and_then(|l| l.pop_front()).inspect(|m| self.behind[m.stream as usize] -= 1)
        };
        match next {
            Some(next) => self.begin(next, now),
            None => drop(self.lanes.remove(&lane)),
        }
    }
}

impl FlowLevel {
    /// Whether there are more messages than a run may hold.
    pub(in crate::sim) fn is_full(&self) -> bool {
        let waiting: u64 = self.behind.iter().sum();
        waiting as usize + self.arriving.len() + self.sent.len() > MOST_FRAMES
    }

    /// Messages under way.
    fn under_way(&self) -> impl Iterator<Item = (u32, &Sent)> {
        (0u32..).zip(&self.sent).filter_map(|(flow, s)| Some((flow, s.as_ref()?)))
    }

    /// What programs have carried over each wire up to now.
    pub(in crate::sim) fn take_programs(&mut self, frames: &[tally::Carried]) {
        for (sum, c) in self.programs.iter_mut().zip(frames) {
            let gap = c.packets * (PREAMBLE + GAP) as f64;
            let framing = (c.bytes - c.payload - gap).max(0.0);
            // The order of a sum is no news.
            let (payload, framing) = (c.payload.max(sum.payload), framing.max(sum.framing));
            *sum = Carried { payload, framing, gap: gap.max(sum.gap), frames: c.packets.max(sum.frames), held: 0.0 };
        }
    }

    /// What each wire has carried up to a moment.
    fn carried(&self, now: u64) -> Vec<Carried> {
        let mut all = self.carried.clone();
        for (flow, s) in self.under_way() {
            let gone = s.part(now);
            self.rates.path(flow).for_each(|(wire, part)| all[wire as usize].add(s, part * gone));
        }
        all
    }
}

impl Subsystem for FlowLevel {
    fn technology(&self) -> Technology {
        Technology::Ethernet
    }

    fn wires(&self) -> usize {
        self.carried.len()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        wire_names(&plan.network)
    }

    fn counts(&self) -> Vec<SlotCounts> {
        let slots = |wire: usize| self.now / self.network.link(wire as u32).rate.typical.byte_fs();
        let carried = self.carried(self.now);
        let all = carried.iter().zip(&self.programs).map(|(streams, programs)| streams.with(programs));
        all.zip(&self.idle_at_window).enumerate().map(|(wire, (c, idle))| c.ledger(slots(wire), *idle)).collect()
    }

    fn payloads(&self, now: u64) -> Vec<u64> {
        self.carried(now).iter().zip(&self.programs).map(|(c, p)| (c.payload + p.payload) as u64).collect()
    }

    fn held(&self) -> Vec<(usize, u64)> {
        vec![(0, 0); self.wires()]
    }

    /// Messages begun: they are the work.
    fn packets(&self) -> u64 {
        self.begun
    }

    fn tallies(&self, now: u64) -> Vec<Tally> {
        let mut all = self.tallies.clone();
        for (_, s) in self.under_way() {
            all[s.message.stream as usize].bytes += (s.message.bytes as f64 * s.part(now)) as u64;
        }
        all
    }

    fn backlogs(&self, now: u64) -> Vec<u64> {
        let mut all = self.behind.clone();
        for s in self.stations.iter().flat_map(|s| &s.senders) {
            all[s.stream as usize] += s.source.backlog(now);
        }
        all
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.fingerprints.iter().zip(&self.tallies).map(|(f, t)| (*f, t.done)).collect()
    }

    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        Cow::Borrowed(&self.latencies[group])
    }

    fn open_window(&mut self, _now: u64) {
        self.idle_at_window = self.counts().iter().map(|c| c.idle.iter().sum()).collect();
        self.latencies.iter_mut().for_each(|cells| cells.reset());
    }

    fn settle(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Whoever has something to send sends it.
    fn stall_timeout(&self) -> u64 {
        1
    }

    fn rows(&self, _plan: &Plan, _trace: &mut Trace) {}

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        traffic(plan, flow)
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        let network = &view.plan.network;
        let links = view.links_of(Technology::Ethernet);
        let report = |g: &FlowGroup| {
            let offered: Option<Vec<f64>> =
                g.members.iter().map(|m| Some(network.streams[*m].offered?.bytes())).collect();
            let wants = offered.map_or(f64::INFINITY, |all| all.iter().sum());
            let carried = view.since(g, |t| t.bytes as u128) as f64 / view.length() * SECOND;
            let held =
                |wire: u32| (self.carried[wire as usize].held / view.now.max(1) as f64, carried < MISSING * wants);
            binding::flow(network, &g.members, links, held).into()
        };
        groups.iter().map(report).collect()
    }

    fn notes(&self, _view: &Window) -> Vec<Note> {
        // Of programs whoever follows them speaks.
        if self.network.streams.is_empty() {
            return Vec::new();
        }
        let text = "messages share links max-min fair at once: no frame waits in a queue, and nothing is \
                    paused, dropped or marked; a short message behind long ones takes longer than here";
        vec![Note { element: "run.level".into(), mechanism: "flow-level".into(), text: text.into() }]
    }
}
