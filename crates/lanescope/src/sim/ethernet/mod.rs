//! Ethernet, frame by frame: stations, switches with memories, MACs that obey pauses.
//!
//! A frame is copied nowhere: it stands in one arena (`frames`), and queues and wires are lists through it. An egress
//! port (`Wire`) transmits, and announces its frame to the far end at once; nothing is taken back. What a switch
//! forgets of a frame (its memory) is written off in order of time when the switch next looks, so an uncontended hop is
//! one event: the arrival. `station` sends and receives, `switch` stores and forwards, `source` says when messages are
//! born, `rates` is DCQCN, `lane` is what a station sends, `queue_pair` numbers packets and `retransmission` sends
//! again what was lost, `roce` joins stations to channel adapters. `parallel` runs the parts that `partition` divides a
//! fabric into, each on a core of its own. `flow_level` is another way to run the same plans: messages as flows.

mod binding;
mod build;
mod capture;
mod client;
mod deadlock;
mod flow_level;
mod frames;
mod lane;
mod parallel;
mod partition;
mod queue_pair;
mod rates;
mod report;
mod retransmission;
mod roce;
mod source;
mod station;
mod switch;
mod victims;

pub(super) use client::{Load, StationCommand, StationEvent};
pub(super) use flow_level::FlowLevel;
pub(super) use parallel::Parallel;

use crate::plan::ethernet::{Network, NodeId};
use crate::protocol::ethernet::{FCS, GAP, HEADER, PREAMBLE, QUANTUM_BITS, frame, wire};
use crate::result::{Idle, SlotCounts};
use crate::sim::core::kernel::{Agenda, NEVER, World};
use crate::sim::core::recorder::Framed;
use crate::sim::core::tally::{self, Tally};
use capture::Capture;
use frames::{Arena, Frame, Kind, List, NONE};
use queue_pair::Pair;
use report::AtWindow;
use station::Station;
use std::collections::HashMap;
use std::sync::Arc;
use switch::Switch;
use victims::victims;

/// Frames in a run at most: what waits in applications included.
pub(super) const MOST_FRAMES: usize = 1 << 23;

/// Idle causes that a wire has; an index of its accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Nothing,
    Pace,
    Grants,
    Stopped,
    Paused,
    /// A channel adapter waits for data from host memory.
    Host,
}

const WHY: [Idle; 6] = [Idle::NothingToSend, Idle::Pace, Idle::Grants, Idle::Stopped, Idle::Paused, Idle::Host];

/// When the part at the end of a wire may act on a data frame.
#[derive(Clone, Copy, Debug)]
enum Reach {
    /// So long after its last bit.
    Whole(u64),
    /// So long after its header, if it leaves on a wire that is not faster.
    Header(u64),
    /// With its last bit, but that is only counted: it needs no event.
    Counted,
}

/// A pause of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Pausing {
    from: u64,
    until: u64,
}

/// An egress port, and the way to the other end of its link. What every frame touches comes first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Wire {
    /// fs per byte.
    byte: u64,
    delay: u64,
    /// Busy until then: the frame and the gap behind it.
    free: u64,
    /// Idle since when.
    idle_from: u64,
    /// Frames on their way.
    flight: List,
    /// Slots of the agenda: arrivals and local control frames at the far end, the transmitter here.
    arrive: u32,
    control: u32,
    tx: u32,
    /// Data frames that wait.
    waiting: u32,
    /// Whether the transmitter's slot is set.
    armed: bool,
    /// Whether its far end is in another part of the fabric, of which another thread takes care.
    leaves_part: bool,
    /// Why it is idle.
    why: Why,
    /// Classes that are paused, as far as known.
    paused: u8,
    turn: u8,
    /// The number of the port at each end among its node's.
    port_from: u16,
    port_to: u16,
    reach: Reach,
    /// Control frames that wait; they go first.
    urgent: List,
    /// Payload, frames and their bytes from destination to FCS that were carried.
    payload: u64,
    frames: u64,
    bytes: u64,
    /// Idle without anything to send, fs.
    nothing: u64,
    /// Bytes of headers in frames, beyond what every frame has: of IP, UDP and transports.
    headers: u64,
    /// The number of the far node among the switches.
    to_switch: u32,
    /// Control frames that were carried.
    counts: Counts,
    /// Idle for other reasons, fs.
    idle: [u64; 6],
    /// Bytes of the frames that wait.
    queued: u64,
    /// Nodes at the near and the far end.
    from: u32,
    to: u32,
    /// Local control frames on their way: those are acted on without the latency of a switch.
    local: List,
    /// Frames that wait, by class.
    queues: Vec<List>,
    /// Bytes of each; empty where there is one class.
    queued_of: Vec<u64>,
    pauses: Box<[Pausing; 8]>,
}

/// Control frames that a wire has carried.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Bytes, with preamble and gap, and frames.
    control: u64,
    controls: u64,
    /// Pause frames with a time, and without.
    xoff: u64,
    xon: u64,
}

impl Wire {
    /// Whether the transmitter may begin a frame of a class now; else from when on it may.
    #[inline]
    fn blocked(&mut self, class: usize, now: u64) -> Option<u64> {
        if self.paused >> class & 1 == 0 {
            return None;
        }
        let Pausing { from, until } = self.pauses[class];
        if now >= until {
            self.paused &= !(1 << class);
        }
        (from <= now && now < until).then_some(until)
    }

    /// The transmitter is and stays idle, from now on for this reason.
    fn idles(&mut self, now: u64, why: Why) {
        if self.why != why {
            self.rested(now);
            self.why = why;
        }
    }

    /// How long it has waited because its receiver paused it, fs.
    pub(super) fn paused_for(&self, now: u64) -> u64 {
        let open = if self.why == Why::Paused { now.saturating_sub(self.idle_from) } else { 0 };
        self.idle[Why::Paused as usize] + open
    }

    /// Writes idle time down up to a moment.
    #[inline]
    fn rested(&mut self, now: u64) {
        if now > self.idle_from {
            let time = now - std::mem::replace(&mut self.idle_from, now);
            if self.why == Why::Nothing {
                self.nothing += time;
            } else {
                self.idle[self.why as usize] += time;
            }
        }
    }

    /// The same in whole slots: the rest is left to what comes. Later ledgers then never take a slot back from a cause.
    fn settle(&mut self, now: u64) {
        self.rested(now);
        let (mut sum, mut before) = (0, 0);
        self.idle[0] = self.nothing;
        for idle in &mut self.idle {
            sum += *idle;
            let whole = sum - sum % self.byte;
            *idle = whole - before;
            before = whole;
        }
        self.nothing = self.idle[0];
        self.idle_from -= sum - before;
    }

    /// Pauses a class, or lets it go on.
    fn pause(&mut self, class: usize, now: u64, response: u64, length: u64) {
        let p = &mut self.pauses[class];
        if length == 0 {
            p.until = p.until.min(now);
        } else {
            if now >= p.until {
                p.from = now + response;
            }
            p.until = now + length;
            self.paused |= 1 << class;
        }
    }

    /// The ledger since time 0. Idle time becomes slots by rounding the running sum, so that the parts add up to the
    /// whole.
    pub(super) fn slots(&self) -> SlotCounts {
        let c = &self.counts;
        let mut slots = SlotCounts {
            payload: self.payload,
            framing: self.frames * (HEADER + FCS) + self.headers,
            padding: self.bytes - self.frames * (HEADER + FCS) - self.headers - self.payload,
            gap: self.frames * (PREAMBLE + GAP),
            control: c.control,
            controls: c.controls,
            tlps: self.frames + c.controls,
            data_tlps: self.frames,
            ..SlotCounts::default()
        };
        let (mut sum, mut before) = (0, 0);
        let mut idle = self.idle;
        idle[0] = self.nothing;
        for (cause, fs) in WHY.into_iter().zip(idle) {
            sum += fs;
            let slot = sum / self.byte;
            slots.idle[cause as usize] = slot - before;
            before = slot;
        }
        slots
    }
}

/// What happens to the frames of one stream.
#[derive(Clone, Debug)]
pub(super) struct StreamState {
    pub(super) tally: Tally,
    pub(super) fingerprint: u64,
    group: u32,
}

/// What stations and switches share.
#[derive(Clone, Debug)]
struct Net {
    frames: Arena,
    wires: Vec<Wire>,
    /// Frames that they have carried, all together.
    carried: u64,
    streams: Vec<StreamState>,
    /// Latencies of messages from their birth, and from leaving the application, ps, by flow group.
    latencies: Vec<tally::Cells>,
    transits: Vec<tally::Cells>,
    network: Arc<Network>,
    capture: Option<Capture>,
    /// For channel adapters; how many of their frames were lost that nobody sends again.
    events: Vec<StationEvent>,
    lost: u64,
    /// Connections, where they are told to slow down or send again; and those of channel adapters by their own numbers.
    pairs: Vec<Pair>,
    of_adapter: HashMap<u32, u32>,
    /// Whether queue pairs send again what is lost, and frames that they keep for that.
    resends: bool,
    kept: u64,
    spread: Spread,
    /// Frames that have left for other parts of the fabric, each with its wire in place of what is next in its row.
    leaving: Vec<Frame>,
}

/// How a source chooses among equal ways.
#[derive(Clone, Copy, Debug)]
enum Spread {
    /// Each connection has one.
    Connections,
    /// Another one after a pause of so long.
    Flowlets(u64),
    /// Each frame has its own.
    Frames,
}

/// What a connection has chosen so far.
#[derive(Clone, Copy, Debug, Default)]
struct Flowing {
    choice: u32,
    last: u64,
}

impl Spread {
    /// What decides the way of a connection's next frame.
    #[inline]
    fn way(self, way: u32, flowing: &mut Flowing, now: u64) -> u32 {
        match self {
            Spread::Connections => return way,
            Spread::Frames => flowing.choice += 1,
            Spread::Flowlets(gap) => {
                // At time 0 it was last served at 1.
                if now.saturating_sub(flowing.last) > gap && flowing.last > 0 {
                    flowing.choice += 1;
                }
                flowing.last = now.max(1);
            }
        }
        if flowing.choice == 0 {
            return way;
        }
        // A hash of both (the finalizer of splitmix64): choices are independent of one another.
        let mut mixed = (way as u64) << 32 | flowing.choice as u64;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as u32
    }
}

impl Net {
    /// The frame that has come by a wire; the slot is set to the next.
    #[inline]
    fn arrived(&mut self, on: u32, slot: u32, agenda: &mut Agenda) -> Option<u32> {
        let w = &mut self.wires[on as usize];
        w.flight.next(slot, &self.frames, agenda)
    }

    /// The same of local control frames.
    fn control_arrived(&mut self, on: u32, slot: u32, agenda: &mut Agenda) -> Option<u32> {
        let w = &mut self.wires[on as usize];
        w.local.next(slot, &self.frames, agenda)
    }

    /// The transmitter of a wire is to be looked at then.
    #[inline]
    fn look(&mut self, on: u32, at: u64, agenda: &mut Agenda) {
        let w = &mut self.wires[on as usize];
        w.armed = true;
        agenda.set(w.tx, at);
    }

    /// There is nothing to look at.
    #[inline]
    fn rest(&mut self, on: u32, agenda: &mut Agenda) {
        let w = &mut self.wires[on as usize];
        if w.armed {
            w.armed = false;
            agenda.set(w.tx, NEVER);
        }
    }

    /// Begins to transmit a frame; the transmitter is free. Gives the moment when its last bit has left.
    #[inline(always)]
    fn transmit(&mut self, on: u32, id: u32, now: u64, agenda: &mut Agenda) -> u64 {
        if self.capture.is_some() {
            self.take_down(on, id, now);
        }
        let w = &mut self.wires[on as usize];
        let f = &mut self.frames[id];
        let bytes = f.bytes as u64;
        self.carried += 1;
        w.rested(now);
        let end = now + (PREAMBLE + bytes) * w.byte;
        w.free = end + GAP * w.byte;
        (w.idle_from, w.why) = (w.free, Why::Nothing);
        let tail = end + w.delay;
        if let Some(trace) = &mut agenda.trace {
            let seen = Framed {
                stream: f.stream,
                packet: (f.kind == Kind::Data && f.stream == NONE).then_some(f.lane),
                kind: f.kind as u8,
                local: f.kind.is_local(),
                bytes: f.bytes,
                payload: f.data,
            };
            trace.frame(w.tx, id, seen, (now, end));
        }
        if f.kind == Kind::Data {
            w.payload += f.data as u64;
            w.frames += 1;
            w.bytes += bytes;
            w.headers += f.headers as u64;
        } else {
            w.counts.control += wire(bytes);
            w.counts.controls += 1;
            match (f.kind, f.born) {
                (Kind::Pause | Kind::Pfc, 0) => w.counts.xon += 1,
                (Kind::Pause | Kind::Pfc, _) => w.counts.xoff += 1,
                _ => {}
            }
            if f.kind.is_local() {
                f.at = tail;
                if w.leaves_part {
                    self.leave(on, id);
                    return end;
                }
                let at = w.control;
                if w.local.push(id, &mut self.frames) {
                    agenda.set(at, tail);
                }
                return end;
            }
        }
        f.at = match w.reach {
            Reach::Whole(latency) => tail + latency,
            Reach::Counted => tail,
            Reach::Header(latency) => {
                let mut way = f.way;
                let out = self.network.routes.next(w.to_switch, NodeId(f.target), &mut way);
                let (byte, head) = (w.byte, now + (PREAMBLE + HEADER) * w.byte + w.delay);
                match out {
                    Some(out) if self.wires[out as usize].byte < byte => tail + latency,
                    _ => head + latency,
                }
            }
        };
        let at = f.at;
        if matches!(self.wires[on as usize].reach, Reach::Counted) {
            self.take_in(on, now, agenda);
            self.wires[on as usize].flight.push(id, &mut self.frames);
            return end;
        }
        let w = &mut self.wires[on as usize];
        if w.leaves_part {
            self.leave(on, id);
        } else if w.flight.push(id, &mut self.frames) {
            let slot = w.arrive;
            agenda.set(slot, at);
        }
        end
    }

    /// A frame goes to another part of the fabric.
    fn leave(&mut self, on: u32, id: u32) {
        self.leaving.push(Frame { next: on, ..self.frames[id] });
        self.frames.drop(id);
    }

    /// A frame that has left another part comes.
    fn enter(&mut self, frame: &Frame, agenda: &mut Agenda) {
        let id = self.frames.put(*frame);
        let w = &mut self.wires[frame.next as usize];
        let (row, slot) = if frame.kind.is_local() { (&mut w.local, w.control) } else { (&mut w.flight, w.arrive) };
        if row.push(id, &mut self.frames) {
            agenda.set(slot, frame.at);
        }
    }

    /// As if nothing had been counted: what a part counts beside others is added to what those have.
    fn counts_anew(&mut self) {
        self.carried = 0;
        for s in &mut self.streams {
            (s.tally, s.fingerprint) = (Tally::default(), 0);
        }
        self.latencies.iter_mut().chain(&mut self.transits).for_each(|cells| cells.reset());
    }

    /// What another part has counted, too.
    fn add(&mut self, part: &Net) {
        self.carried += part.carried;
        self.kept += part.kept;
        for (sum, more) in self.streams.iter_mut().zip(&part.streams) {
            sum.tally += more.tally;
            sum.fingerprint = sum.fingerprint.wrapping_add(more.fingerprint);
        }
        self.latencies.iter_mut().zip(&part.latencies).for_each(|(sum, more)| sum.add(more));
        self.transits.iter_mut().zip(&part.transits).for_each(|(sum, more)| sum.add(more));
    }

    /// Counts what has come before a moment by a wire whose far end does no more with it. Whether something is still on
    /// its way.
    #[inline]
    fn take_in(&mut self, on: u32, before: u64, agenda: &mut Agenda) -> bool {
        loop {
            let first = self.wires[on as usize].flight.first;
            if first == NONE {
                return false;
            }
            let at = self.frames[first].at;
            if at >= before {
                return true;
            }
            self.wires[on as usize].flight.pop(&self.frames);
            self.deliver(first, at);
            agenda.events += 1;
        }
    }

    /// A frame of the protocols themselves, for the next port or for a station.
    fn control(&mut self, on: u32, kind: Kind, says: u64, target: u32, lane: u32, way: u32) -> u32 {
        // Whose it is.
        let account = self.wires[on as usize].from;
        let id = self.frames.put(Frame { born: says, account, ..Frame::new(kind, frame(0), target, way, lane) });
        let urgent = &mut self.wires[on as usize].urgent;
        if kind.is_local() {
            // What a neighbour must know waits for nothing but the frame in flight.
            urgent.push_front(id, &mut self.frames);
        } else {
            urgent.push(id, &mut self.frames);
        }
        id
    }

    /// Something that a neighbour must know. What still waits to be said is said as it is now, and not twice: then it
    /// is nothing new.
    fn say(&mut self, on: u32, kind: Kind, class: u8, quanta: u64, target: u32) -> bool {
        let same = |f: &Frame| match f.kind {
            Kind::Pause | Kind::Pfc => f.kind == kind && f.class == class,
            Kind::Stop | Kind::Go => f.target == target,
            _ => false,
        };
        let waits = self.wires[on as usize].urgent.iter(&self.frames).find(|id| same(&self.frames[*id]));
        if let Some(id) = waits {
            (self.frames[id].kind, self.frames[id].born) = (kind, quanta);
            return false;
        }
        let id = self.control(on, kind, quanta, target, NONE, 0);
        self.frames[id].class = class;
        true
    }

    /// A pause of a neighbour, for the wire that leads to it.
    fn obey(&mut self, out: u32, f: &Frame, response: u64, now: u64) {
        let w = &mut self.wires[out as usize];
        let length = f.born * (QUANTUM_BITS / 8) * w.byte;
        match f.kind {
            Kind::Pause => (0..w.queues.len()).for_each(|class| w.pause(class, now, response, length)),
            Kind::Pfc => w.pause(f.class as usize, now, response, length),
            _ => {}
        }
    }

    /// A frame has come to its station.
    fn deliver(&mut self, id: u32, now: u64) {
        let f = &self.frames[id];
        let stream = &mut self.streams[f.stream as usize];
        stream.tally.bytes += f.data as u64;
        stream.tally.frames += 1;
        stream.tally.frame_bytes += f.bytes as u64;
        if f.last {
            stream.tally.finish(f.born, now);
            stream.tally.transit += (now - f.left) as u128;
            stream.fingerprint = tally::fingerprint(stream.fingerprint, f.born, now);
            let group = stream.group as usize;
            self.latencies[group].record((now - f.born) / 1000);
            self.transits[group].record((now - f.left) / 1000);
        }
        self.frames.drop(id);
    }

    /// A frame finds no room.
    fn lose(&mut self, id: u32, now: u64) {
        let f = self.frames[id];
        let again = self.numbers(&f);
        match self.streams.get_mut(f.stream as usize) {
            Some(StreamState { tally, .. }) => {
                tally.dropped += 1;
                if f.last && !again {
                    tally.lost += 1;
                    tally.lost_sum += now as u128;
                }
            }
            None if again => self.pairs[f.pair() as usize].dropped += 1,
            None => self.lost += 1,
        }
        self.frames.drop(id);
    }

    /// A packet has come that its receiver does not take: it has it, or takes another first.
    fn discard(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(self.frames[id].stream as usize) {
            stream.tally.discarded += 1;
        }
        self.frames.drop(id);
    }
}

/// What a slot of the agenda stands for: a wire, and the number of the switch or station that acts.
#[derive(Clone, Copy, Debug)]
enum Signal {
    ToSwitch(u32, u32),
    ToStation(u32, u32),
    /// A local control frame.
    TellSwitch(u32, u32),
    TellStation(u32, u32),
    /// A port falls free.
    SwitchFree(u32, u32),
    /// The same of a station, or something to send.
    Station(u32),
    SwitchTimer(u32),
}

/// All Ethernet of a plan.
#[derive(Clone, Debug)]
pub(super) struct Fabric {
    net: Net,
    switches: Vec<Switch>,
    stations: Vec<Station>,
    signals: Vec<Signal>,
    /// Wires whose far end does no more than count what comes.
    sinks: Vec<u32>,
    /// The first slot of the agenda that is Ethernet's.
    base: u32,
    at_window: AtWindow,
}

impl World for Fabric {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        let net = &mut self.net;
        match self.signals[(slot - self.base) as usize] {
            Signal::ToSwitch(on, switch) => {
                if let Some(id) = net.arrived(on, slot, agenda) {
                    self.switches[switch as usize].arrive(on, id, now, net, agenda);
                }
            }
            Signal::ToStation(on, station) => {
                if let Some(id) = net.arrived(on, slot, agenda) {
                    self.stations[station as usize].arrive(id, now, net, agenda);
                }
            }
            Signal::SwitchFree(on, switch) => {
                net.wires[on as usize].armed = false;
                agenda.set(slot, NEVER);
                self.switches[switch as usize].free(on, now, net, agenda);
            }
            Signal::Station(station) => {
                let station = &mut self.stations[station as usize];
                if slot == station.timer {
                    agenda.set(slot, NEVER);
                } else {
                    net.rest(station.out, agenda);
                }
                station.pull(now, net, agenda);
            }
            Signal::TellSwitch(on, switch) => {
                if let Some(id) = net.control_arrived(on, slot, agenda) {
                    self.switches[switch as usize].obey(on ^ 1, id, now, net, agenda);
                }
            }
            Signal::TellStation(on, station) => {
                if let Some(id) = net.control_arrived(on, slot, agenda) {
                    self.stations[station as usize].obey(id, now, net, agenda);
                }
            }
            Signal::SwitchTimer(switch) => self.switches[switch as usize].tick(now, net, agenda),
        }
    }
}

/// How much a switch holds, and what it did about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    /// Bytes now, and at most.
    pub(super) now: u64,
    pub(super) most: u64,
    /// Frames carried, and dropped: no memory, no headroom.
    pub(super) frames: u64,
    pub(super) no_memory: u64,
    /// Of these: the memory had room, but not the part of it that lossy priorities may take.
    pub(super) no_lossy: u64,
    pub(super) no_headroom: u64,
    /// Sum and most of what frames took from the bit that forwarding waits for to the first bit out, fs.
    pub(super) transit: u128,
    pub(super) transit_most: u64,
}

impl Fabric {
    /// What each switch holds and has done; in the order of nodes.
    pub(super) fn stored(&self, now: u64) -> Vec<Stored> {
        self.switches.iter().map(|s| s.stored(now)).collect()
    }

    /// How long each wire was paused, fs.
    pub(super) fn paused(&self, now: u64) -> Vec<u64> {
        self.net.wires.iter().map(|w| w.paused_for(now)).collect()
    }

    /// Whether there are more frames and messages than a run may hold.
    pub(super) fn is_full(&self) -> bool {
        self.frames_and_messages() > MOST_FRAMES
    }

    /// How many it holds.
    fn frames_and_messages(&self) -> usize {
        let waiting: usize = self.stations.iter().map(|s| s.messages).sum();
        self.net.frames.used() + waiting + self.net.kept as usize
    }

    /// Counts what has come before a moment without an event. Whether something of that kind is still on its way.
    pub(super) fn take_in(&mut self, before: u64, agenda: &mut Agenda) -> bool {
        let net = &mut self.net;
        self.sinks.iter().fold(false, |more, on| net.take_in(*on, before, agenda) | more)
    }

    /// From now on what is only counted has no events. Whether there is something of the kind.
    pub(super) fn spare_events(&mut self) -> bool {
        self.sinks.iter().for_each(|on| self.net.wires[*on as usize].reach = Reach::Counted);
        !self.sinks.is_empty()
    }

    /// From now on it has; what has come before is counted.
    pub(super) fn spare_no_events(&mut self, agenda: &mut Agenda) {
        for on in &self.sinks {
            let w = &mut self.net.wires[*on as usize];
            w.reach = Reach::Whole(0);
            if !w.flight.is_empty() {
                agenda.set(w.arrive, self.net.frames[w.flight.first].at);
            }
        }
    }

    /// Frames that its wires may begin to carry in such a time, at most.
    pub(super) fn most_packets(&self, span: u64) -> u64 {
        self.net.wires.iter().map(|w| span / (wire(frame(0)) * w.byte) + 1).fold(0, u64::saturating_add)
    }
}
