//! A fabric on several cores: each part of it has a thread and an agenda of its own.
//!
//! A frame that leaves a part acts in another only when it has crossed the wire between. So all parts may go on by
//! themselves for as long as the shortest such crossing takes, from the earliest moment of all on; then they exchange
//! what has left and begin the next such window (conservative synchronisation: Chandy and Misra, CACM 24, 1981; in
//! windows: Nicol, JACM 40, 1993). Events at one moment go by their slots, each of which is in one part, and no part
//! sees anything of another but what crosses. So what comes out is what one thread gives, bit by bit, however the
//! fabric is divided.

use crate::plan::{FlowGroup, Plan};
use crate::result::{Note, SimulatedLink, SlotCounts};
use crate::scenario::keys::Technology;
use crate::sim::core::kernel::{Agenda, NEVER, Pause};
use crate::sim::core::recorder::Trace;
use crate::sim::core::subsystem::{OwnReport, Subsystem, Switched, Traffic, Window, WireName};
use crate::sim::core::tally::{Cells, Tally};
use crate::sim::core::threads::{Barrier, together};
use crate::sim::ethernet::partition::{divide, lookahead};
use crate::sim::ethernet::report::{traffic, wire_names};
use crate::sim::ethernet::{Fabric, Frame, MOST_FRAMES, Net, deadlock};
use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events of one part in a window at most, so that a run whose time stands still can be ended.
const MOST_AT_ONCE: u64 = 1 << 20;

/// Wires, streams and queue pairs of all parts at most: about a gigabyte.
const MOST_COPIES: usize = 1 << 21;
/// Events of all parts in a window, about, at most.
const MOST_IN_A_WINDOW: f64 = 65_536.0;

/// A rate of events is one over so long at least, fs.
const LEAST_PAST: u64 = 1_000_000;

/// What one thread runs: in lines of the cache that no other writes to, nor fetches beside its own.
#[derive(Clone, Debug)]
#[repr(align(128))]
struct Part {
    fabric: Fabric,
    agenda: Agenda,
}

/// All parts of a fabric.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Parallel {
    parts: Vec<Part>,
    /// The part of each node.
    owner: Vec<u32>,
    /// How long a part goes on by itself, fs.
    lookahead: u64,
}

/// What threads tell one another between two windows. Each has two: while one is read, the other is written.
struct Exchange {
    barrier: Barrier,
    /// By thread: the earliest moment at which it, or what it has sent, acts; and its events so far.
    next: [Vec<AtomicU64>; 2],
    events: [Vec<AtomicU64>; 2],
    /// By receiver and sender: frames that have left ([`Net::leaving`](super::Net)).
    mail: [Vec<Mutex<Vec<Frame>>>; 2],
}

impl Exchange {
    fn new(parts: &mut [Part]) -> Exchange {
        let n = parts.len();
        let mut values = |value: fn(&mut Part) -> u64| {
            let all: Vec<u64> = parts.iter_mut().map(value).collect();
            [0, 1].map(|_| all.iter().map(|v| AtomicU64::new(*v)).collect())
        };
        Exchange {
            next: values(|part| part.agenda.peek()),
            events: values(|part| part.agenda.events()),
            barrier: Barrier::new(n),
            mail: [0, 1].map(|_| (0..n * n).map(|_| Mutex::default()).collect()),
        }
    }
}

/// Goes on in windows until a moment, or until all have had so many events.
fn run(me: usize, part: &mut Part, between: &Between, exchange: &Exchange, until: u64, most_events: u64) {
    let _member = exchange.barrier.member();
    let n = exchange.next[0].len();
    for side in (0..2).cycle() {
        // Every thread reads the same, and so comes to the same.
        let first = exchange.next[side].iter().map(|next| next.load(Ordering::Relaxed)).min().unwrap_or(NEVER);
        let events: u64 = exchange.events[side].iter().map(|events| events.load(Ordering::Relaxed)).sum();
        if first >= until || events >= most_events {
            break;
        }
        let end = first.saturating_add(between.lookahead).min(until);
        part.agenda.run(&mut part.fabric, end, MOST_AT_ONCE);
        let (mut earliest, other) = (part.agenda.peek(), 1 - side);
        let Net { leaving, wires, .. } = &mut part.fabric.net;
        debug_assert!(leaving.iter().all(|frame| frame.at >= end), "a frame acts before its window has ended");
        earliest = leaving.iter().map(|frame| frame.at).fold(earliest, u64::min);
        for to in (0..n).filter(|to| *to != me) {
            let mut mail = lock(&exchange.mail[other][to * n + me]);
            if n == 2 {
                std::mem::swap(&mut *mail, leaving);
            } else {
                let there = |f: &&Frame| between.owner[wires[f.next as usize].to as usize] as usize == to;
                mail.extend(leaving.iter().filter(there));
            }
        }
        leaving.clear();
        exchange.next[other][me].store(earliest, Ordering::Relaxed);
        exchange.events[other][me].store(part.agenda.events(), Ordering::Relaxed);
        exchange.barrier.meet();
        for from in (0..n).filter(|from| *from != me) {
            let mut mail = lock(&exchange.mail[other][me * n + from]);
            mail.iter().for_each(|frame| part.fabric.net.enter(frame, &mut part.agenda));
            mail.clear();
        }
    }
}

/// Threads meet between writing and reading: nobody waits here.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// What lies between parts.
struct Between<'a> {
    owner: &'a [u32],
    lookahead: u64,
}

impl Parallel {
    /// Divides a fabric among at most so many threads, each with at least `least_events` events in a window and more
    /// where there are more threads, at the rate of events so far. `None` where there is too little to do.
    pub(in crate::sim) fn divide(
        fabric: &Fabric,
        agenda: &Agenda,
        threads: usize,
        least_events: f64,
    ) -> Option<Parallel> {
        let net = &fabric.net;
        // What crosses a link is taken down in order, and adapters are asked by others.
        if net.capture.is_some() || fabric.stations.iter().any(|s| s.adapter.is_some()) {
            return None;
        }
        let frames: Vec<u64> = net.wires.iter().map(|w| w.frames + w.counts.controls).collect();
        // Each part has a copy of what does not depend on its nodes.
        let copied = net.wires.len() + net.streams.len() + net.pairs.len();
        let longest = lookahead(&net.network, &net.wires);
        let per_fs = agenda.events() as f64 / agenda.past().max(longest.min(LEAST_PAST)) as f64;
        // A shorter window is right, too: none is so long that a run cannot be stopped.
        let lookahead = longest.min((MOST_IN_A_WINDOW / per_fs) as u64).max(1);
        let enough = |parts: &usize| {
            let each = least_events * (1.0 + *parts as f64 / 4.0);
            per_fs * lookahead as f64 >= each * *parts as f64
        };
        let parts = (2..=threads.min(MOST_COPIES / copied.max(1))).rev().find(enough)?;
        let owner = divide(&net.network, &frames, parts)?;
        let used = owner.iter().max().map_or(0, |last| last + 1);
        let part = |which| {
            let (fabric, agenda) = fabric.part(agenda, &owner, which);
            Part { fabric, agenda }
        };
        let parts = (0..used).map(part).collect();
        Some(Parallel { parts, owner, lookahead })
    }

    /// A time that is too short for threads to be worth their meetings, fs.
    pub(in crate::sim) fn least_span(&self) -> u64 {
        self.lookahead.saturating_mul(16)
    }

    /// How many threads there are.
    pub(in crate::sim) fn threads(&self) -> usize {
        self.parts.len()
    }

    /// Goes on for about so many events, or until a moment; everything before it has happened then. `None`, and nothing
    /// has happened, where there cannot be so many threads.
    pub(in crate::sim) fn run(&mut self, until: u64, budget: u64) -> Option<Pause> {
        let most = self.events().saturating_add(budget);
        let exchange = Exchange::new(&mut self.parts);
        let between = Between { owner: &self.owner, lookahead: self.lookahead };
        let all = together(&mut self.parts, |i, part| run(i, part, &between, &exchange, until, most));
        all.then(|| self.pause(until))
    }

    /// How it stands, of what is to happen before a moment.
    pub(in crate::sim) fn pause(&mut self, until: u64) -> Pause {
        match self.next() {
            NEVER => Pause::Silent,
            next if next >= until => Pause::Reached,
            _ => Pause::Budget,
        }
    }

    /// The earliest moment of all.
    pub(in crate::sim) fn next(&mut self) -> u64 {
        self.parts.iter_mut().map(|part| part.agenda.peek()).min().unwrap_or(NEVER)
    }

    /// Events so far.
    pub(in crate::sim) fn events(&self) -> u64 {
        self.parts.iter().map(|part| part.agenda.events()).sum()
    }

    /// The latest moment that had an event.
    pub(in crate::sim) fn past(&self) -> u64 {
        self.parts.iter().map(|part| part.agenda.past()).max().unwrap_or(0)
    }

    /// Whether there are more frames and messages than a run may hold.
    pub(in crate::sim) fn is_full(&self) -> bool {
        self.parts.iter().map(|part| part.fabric.frames_and_messages()).sum::<usize>() > MOST_FRAMES
    }

    /// Counts what has come before a moment without an event. Whether something of that kind is still on its way.
    pub(in crate::sim) fn take_in(&mut self, before: u64) -> bool {
        self.parts.iter_mut().fold(false, |more, part| part.fabric.take_in(before, &mut part.agenda) | more)
    }

    /// All parts as one again, and its moments.
    pub(in crate::sim) fn join(self, agenda: &mut Agenda, slots: std::ops::Range<u32>) -> Fabric {
        for slot in slots {
            let moment = self.parts.iter().map(|part| part.agenda.get(slot)).min();
            agenda.set(slot, moment.unwrap_or(NEVER));
        }
        agenda.join(self.events() - agenda.events(), self.past());
        self.whole()
    }

    /// The same, to be looked at.
    pub(in crate::sim) fn whole(&self) -> Fabric {
        let parts: Vec<&Fabric> = self.parts.iter().map(|part| &part.fabric).collect();
        Fabric::whole(&parts, &self.owner)
    }

    /// The part that has a wire's sender.
    fn of(&self, wire: usize) -> &Fabric {
        let from = self.parts[0].fabric.net.wires[wire].from;
        &self.parts[self.owner[from as usize] as usize].fabric
    }

    fn sum<T: Copy>(&self, of: impl Fn(&Fabric) -> Vec<T>, add: impl Fn(&mut T, T)) -> Vec<T> {
        let mut parts = self.parts.iter().map(|part| of(&part.fabric));
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|part| all.iter_mut().zip(part).for_each(|(sum, more)| add(sum, more)));
        all
    }
}

impl Subsystem for Parallel {
    fn technology(&self) -> Technology {
        Technology::Ethernet
    }

    fn wires(&self) -> usize {
        self.parts[0].fabric.wires()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        wire_names(&plan.network)
    }

    fn counts(&self) -> Vec<SlotCounts> {
        (0..self.wires()).map(|wire| self.of(wire).net.wires[wire].slots()).collect()
    }

    fn payloads(&self, _now: u64) -> Vec<u64> {
        (0..self.wires()).map(|wire| self.of(wire).net.wires[wire].payload).collect()
    }

    fn held(&self) -> Vec<(usize, u64)> {
        self.whole().held()
    }

    fn packets(&self) -> u64 {
        self.parts.iter().map(|part| part.fabric.packets()).sum()
    }

    fn tallies(&self, now: u64) -> Vec<Tally> {
        self.sum(|fabric| fabric.tallies(now), |sum, more| *sum += more)
    }

    fn backlogs(&self, now: u64) -> Vec<u64> {
        self.sum(|fabric| fabric.backlogs(now), |sum, more| *sum += more)
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.sum(Fabric::fingerprints, |sum, more| *sum = (sum.0.wrapping_add(more.0), sum.1 + more.1))
    }

    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        let mut all = Cells::default();
        self.parts.iter().for_each(|part| all.add(&part.fabric.latencies(group)));
        Cow::Owned(all)
    }

    fn switched(&self, plan: &Plan, now: u64) -> Vec<Switched> {
        self.whole().switched(plan, now)
    }

    fn open_window(&mut self, now: u64) {
        self.parts.iter_mut().for_each(|part| part.fabric.open_window(now));
    }

    fn settle(&mut self, now: u64) {
        self.parts.iter_mut().for_each(|part| part.fabric.settle(now));
    }

    fn stall_timeout(&self) -> u64 {
        self.parts[0].fabric.stall_timeout()
    }

    fn deadlock(&self, plan: &Plan, now: u64, before: u64, silent: bool) -> Option<Vec<String>> {
        let blocked = self.parts.iter().any(|part| deadlock::may_be(&part.fabric, now, before));
        blocked.then(|| self.whole().deadlock(plan, now, before, silent))?
    }

    fn waiting(&self, plan: &Plan) -> Vec<String> {
        self.whole().waiting(plan)
    }

    fn rows(&self, plan: &Plan, trace: &mut Trace) {
        self.whole().rows(plan, trace);
    }

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        traffic(plan, flow)
    }

    fn of_wire(&self, plan: &Plan, wire: usize, window: f64, link: SimulatedLink) -> SimulatedLink {
        self.of(wire).of_wire(plan, wire, window, link)
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        self.whole().reports(view, groups)
    }

    fn notes(&self, view: &Window) -> Vec<Note> {
        self.whole().notes(view)
    }
}
