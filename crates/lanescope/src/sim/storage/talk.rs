//! Transactions between stations: an I/O of a worker is a message over TCP, one of a pair at a time.
//!
//! Both ends of a pair run the same program, so both issue an I/O at once and complete it at once; what is simulated is
//! the worker's processor, and the message as segments in Ethernet's frames. The end that sends learns that a message
//! has come when its last segment has: acknowledgements are not sent. Where connections are counted, the other end
//! opens one before the first transaction and closes it behind the last (`protocol::tcp`).

use crate::plan::Plan;
use crate::plan::ethernet::NodeId;
use crate::plan::storage::{IoFlow, Pair};
use crate::protocol::roce;
use crate::protocol::tcp::{CLOSE, HEADERS, OPEN, wire};
use crate::sim::ethernet::{Load, StationCommand, StationEvent};
use crate::sim::pcie::random;
use crate::sim::storage::worker::Does;
use crate::sim::storage::{Fabric, Io, Volume};
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;

/// When the I/Os of each flow begin. Stations that all begin at one moment go on in lockstep, which hides what they do
/// to one another where their ways meet. So the workers of each begin at a moment of its own, drawn from the run's seed
/// out of the time that their longest message, or 64 KiB of it, takes the wire. Those of a single one begin at time 0,
/// and so do those of other volumes.
pub(super) fn phases(plan: &Plan, seed: u64) -> Vec<u64> {
    let mut spread: BTreeMap<NodeId, u64> = BTreeMap::new();
    for (flow, pair) in plan.storage.flows.iter().filter_map(|f| Some((f, plan.storage.pair(f)?))) {
        let longest = flow.lines.iter().map(|l| l.size.0.max(l.reply.0)).max().unwrap_or(0).min(1 << 16);
        let byte = plan.network.link(plan.network.out(pair.ends[0], 0)).rate.typical.byte_fs();
        let most = spread.entry(pair.ends[0]).or_default();
        *most = (*most).max(wire(longest, pair.segment) * byte);
    }
    let several = spread.len() > 1;
    for (station, most) in spread.iter_mut().filter(|_| several) {
        let name = format!("phase of {}", plan.network.node(*station).name);
        *most = ((random(seed, &name).next_u64() as u128 * *most as u128) >> 64) as u64;
    }
    let at = |f: &IoFlow| plan.storage.pair(f).filter(|_| several).map_or(0, |pair| spread[&pair.ends[0]]);
    plan.storage.flows.iter().map(at).collect()
}

/// Marks the packets of stations that are segments of a pair.
pub(in crate::sim) const TALK: u32 = 1 << 31;
/// Segments that stand before an adapter at most: the next follows when one has found room there.
const AHEAD: u64 = 4;

/// An I/O before it is issued: its line, its direction, its size and that of its reply.
pub(super) type Wanted = (u32, (Does, u64, u64));

/// A pair at work.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    flow: u32,
    ends: [NodeId; 2],
    /// What decides the way from either end.
    ways: [u32; 2],
    segment: u64,
    class: u8,
    connections: Option<u32>,
    /// The message under way: whose it is, from which end, what of it the adapter has not been given, and segments that
    /// have not come.
    io: u32,
    from: usize,
    rest: u64,
    out: u32,
    /// The segments of a connection's beginning or end that are exchanged, each by whether it comes from the other end;
    /// sent, and come.
    steps: &'static [bool],
    sent: usize,
    come: usize,
    /// Whether there is a connection, since when, and for how many transactions more.
    open: bool,
    began: u64,
    left: u32,
    /// What waits for it.
    wanted: Option<Wanted>,
}

impl Talk {
    pub(super) fn new(flow: u32, pair: &Pair) -> Talk {
        Talk {
            flow,
            ends: pair.ends,
            ways: pair.ways,
            segment: pair.segment,
            class: pair.class,
            connections: pair.connections,
            io: 0,
            from: 0,
            rest: 0,
            out: 0,
            steps: &[],
            sent: 0,
            come: 0,
            open: false,
            began: 0,
            left: 0,
            wanted: None,
        }
    }

    /// A segment with so much payload from an end.
    fn segment(&self, number: u32, from: usize, payload: u64) -> (NodeId, StationCommand) {
        let client = (payload + HEADERS) as u32;
        let load = Load {
            packet: TALK | number,
            to: self.ends[1 - from],
            way: self.ways[from],
            client,
            payload: payload as u32,
            class: self.class,
            ack: false,
            pair: u32::MAX,
            run: u16::MAX,
            opcode: roce::NONE,
        };
        (self.ends[from], StationCommand::Frame(load))
    }

    /// Gives the adapter one more segment of the message, if there is one.
    fn feed(&mut self, number: u32) -> Option<(NodeId, StationCommand)> {
        let payload = self.rest.min(self.segment);
        (payload > 0).then(|| {
            self.rest -= payload;
            self.out += 1;
            self.segment(number, self.from, payload)
        })
    }

    /// The segments that may go: up to the next from the other side.
    fn exchange(&mut self, number: u32, commands: &mut Vec<(NodeId, StationCommand)>) {
        let Some(&way) = self.steps.get(self.sent) else { return };
        while self.steps.get(self.sent) == Some(&way) {
            self.sent += 1;
            commands.push(self.segment(number, usize::from(way), 0));
        }
    }

    fn begin(&mut self, steps: &'static [bool], number: u32, commands: &mut Vec<(NodeId, StationCommand)>) {
        (self.steps, self.sent, self.come) = (steps, 0, 0);
        self.exchange(number, commands);
    }
}

impl Fabric {
    /// What stations are to be told.
    pub(in crate::sim) fn commands(&mut self) -> &mut Vec<(NodeId, StationCommand)> {
        &mut self.commands
    }

    /// The pair of a flow, if it is one of stations.
    fn talk_of(&mut self, flow: u32) -> Option<(u32, &mut Talk)> {
        match self.flows[flow as usize].volume {
            Volume::Station(t) => Some((t, &mut self.talks[t as usize])),
            Volume::Target(_) | Volume::Array(_) => None,
        }
    }

    /// A flow's next I/O may be issued: at once, or when there is a connection.
    pub(super) fn begin(&mut self, flow: u32, (line, what): Wanted, now: u64) {
        let mut opens = None;
        if let Some((number, talk)) = self.talk_of(flow)
            && let (Some(n), false) = (talk.connections, talk.open)
        {
            (talk.wanted, talk.left, talk.began) = ((n > 0).then_some((line, what)), n, now);
            opens = Some(number);
        }
        match opens {
            Some(number) => self.talks[number as usize].begin(&OPEN, number, &mut self.commands),
            None => self.issue(flow, line, what, None, now),
        }
    }

    /// A transaction is over: the next may be issued, or the connection is closed.
    pub(super) fn transacted(&mut self, flow: u32, now: u64) {
        let mut closes = None;
        if let Some((number, talk)) = self.talk_of(flow)
            && talk.connections.is_some()
        {
            talk.left -= 1;
            closes = (talk.left == 0).then_some(number);
        }
        match closes {
            Some(number) => self.talks[number as usize].begin(&CLOSE, number, &mut self.commands),
            None => self.free(flow, now),
        }
    }

    /// Both ends have issued an I/O: the message goes.
    pub(super) fn speak(&mut self, number: u32, io: u32, now: u64) {
        let i = &mut self.ios.all[io as usize];
        (i.marks[2], i.marks[3]) = (now, now);
        let Io { read, size, .. } = *i;
        let talk = &mut self.talks[number as usize];
        (talk.io, talk.from, talk.rest, talk.out) = (io, usize::from(read), size, 0);
        for _ in 0..AHEAD {
            self.commands.extend(talk.feed(number));
        }
    }

    /// A station tells something of a segment: the adapter has taken it in, or it has come.
    pub(in crate::sim) fn on_station_event(&mut self, event: StationEvent, now: u64) {
        let (StationEvent::Left(id) | StationEvent::Came(id)) = event;
        let number = id & !TALK;
        let talk = &mut self.talks[number as usize];
        match event {
            StationEvent::Left(_) => self.commands.extend(talk.feed(number)),
            StationEvent::Came(_) if talk.steps.is_empty() => {
                talk.out -= 1;
                if talk.out == 0 && talk.rest == 0 {
                    let io = talk.io;
                    let size = self.ios.all[io as usize].size;
                    self.delivered(io, size, now);
                    self.answered(io, now);
                }
            }
            StationEvent::Came(_) => {
                talk.come += 1;
                if talk.come < talk.steps.len() {
                    if talk.come == talk.sent {
                        talk.exchange(number, &mut self.commands);
                    }
                    return;
                }
                talk.steps = &[];
                talk.open = !talk.open;
                let (flow, began) = (talk.flow, talk.began);
                match (talk.open, talk.wanted.take()) {
                    (true, Some((line, what))) => self.issue(flow, line, what, None, now),
                    (true, None) => talk.begin(&CLOSE, number, &mut self.commands),
                    (false, _) => {
                        if began >= self.counting {
                            self.flows[flow as usize].counts.connections.add(now - began);
                        }
                        self.free(flow, now);
                    }
                }
            }
        }
    }
}
