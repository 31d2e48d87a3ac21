//! Stations whose queue pairs send again: what receivers answer, what senders hear, and lanes for packets of channel
//! adapters.

use crate::plan::Plan;
use crate::plan::ethernet::NodeId;
use crate::plan::ethernet::packets::ack_frame;
use crate::protocol::ethernet::frame;
use crate::result::Note;
use crate::scenario::keys::Retransmission;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::core::tally::SECOND;
use crate::sim::ethernet::client::{Load, StationEvent};
use crate::sim::ethernet::lane::Lane;
use crate::sim::ethernet::queue_pair::{Answer, Pair, RETRIES, Sending};
use crate::sim::ethernet::rates::Limit;
use crate::sim::ethernet::station::{Lanes, Station};
use crate::sim::ethernet::{Fabric, Frame, Kind, NONE, Net};
use crate::units::human_time;
use std::collections::BTreeMap;

impl Net {
    /// Whether packets of a frame's connection have numbers.
    #[inline]
    pub(super) fn numbers(&self, f: &Frame) -> bool {
        self.pairs.get(f.pair() as usize).is_some_and(|p| p.receiving.is_some())
    }

    /// Something for the sender of a connection.
    pub(super) fn answer(&mut self, on: u32, kind: Kind, pair: u32, from: u32, number: u32) {
        let id = self.control(on, kind, number as u64, from, pair, pair);
        self.frames[id].bytes = ack_frame() as u16;
    }
}

impl Station {
    /// A packet with a number has come.
    pub(super) fn receive(&mut self, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let pair = net.frames[id].pair();
        let adapters = net.frames[id].stream == NONE;
        let (mut taken, mut dropped) = (Vec::new(), None);
        let from = net.pairs[pair as usize].from;
        let Some(receiving) = &mut net.pairs[pair as usize].receiving else { return };
        let answer = receiving.came(id, &net.frames, &mut taken, &mut dropped);
        let expected = receiving.expected;
        let duplicate = dropped.is_some();
        if let Some(id) = dropped {
            net.discard(id);
        }
        let last = taken.iter().any(|id| net.frames[*id].last);
        for id in taken {
            self.accept(id, now, net, agenda);
        }
        match answer {
            Answer::Nothing => return,
            // A channel adapter acknowledges by itself the messages that it has accepted.
            Answer::Ack if adapters && !duplicate && last => return,
            Answer::Ack => net.answer(self.out, Kind::Ack, pair, from, expected),
            Answer::Naks(all) => all.into_iter().for_each(|n| net.answer(self.out, Kind::Nak, pair, from, n)),
        }
        self.pull(now, net, agenda);
    }

    /// What a receiver says of a connection.
    pub(super) fn heard(&mut self, f: &Frame, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let pair = if f.kind == Kind::Reply { f.left as u32 } else { f.lane };
        let Some(index) = net.pairs.get(pair as usize).map(|p| p.lane) else { return };
        let Some(lane) = self.lanes.get_mut(index as usize) else { return };
        if let Some(s) = &mut lane.sending {
            let number = f.born as u32;
            // Go-back-N names the first that is missing: all before have come.
            let all_before = f.kind != Kind::Nak || s.rule.kind == Retransmission::GoBackN;
            let gone = if all_before { s.acked(number, now) } else { 0 };
            net.kept -= gone as u64;
            if f.kind == Kind::Nak {
                if gone == 0 && all_before {
                    s.in_vain();
                }
                s.lost(number);
            }
        }
        self.wake(index);
        self.pull(now, net, agenda);
    }

    /// A lane may have something to send.
    fn wake(&mut self, index: u32) {
        let lane = &mut self.lanes[index as usize];
        if !lane.active && lane.next(&self.senders).is_some() {
            self.kind.activate(lane, index, &mut self.active);
        }
    }

    /// Queue pairs whose time is over send again. Gives when to look the next time.
    pub(super) fn expire(&mut self, now: u64) -> u64 {
        if now < self.deadline {
            return self.deadline;
        }
        self.deadline = NEVER;
        for index in 0..self.lanes.len() as u32 {
            let Some(s) = &mut self.lanes[index as usize].sending else { continue };
            s.expire(now);
            self.deadline = self.deadline.min(s.deadline());
            self.wake(index);
        }
        self.deadline
    }

    /// A new frame of a lane counts against its rate, and where packets have numbers it gets one and is kept.
    pub(super) fn keep(&mut self, index: u32, made: &mut Frame, now: u64, net: &mut Net) {
        let lane = &mut self.lanes[index as usize];
        lane.pace(&self.constants, made.bytes as u64, now);
        if let Some(s) = &mut lane.sending {
            s.keep(made, now);
            net.kept += 1;
            self.deadline = self.deadline.min(s.deadline());
        }
    }

    /// A frame that was lost is sent again.
    pub(super) fn take_again(&mut self, index: u32, which: usize, now: u64, net: &mut Net) {
        let lane = &mut self.lanes[index as usize];
        let Some(mut made) = lane.sending.as_mut().and_then(|s| s.take_again(now)) else { return };
        self.deadline = self.deadline.min(lane.sending.as_ref().map_or(NEVER, |s| s.deadline()));
        made.way = net.spread.way(lane.way, &mut lane.flowing, now);
        lane.pace(&self.constants, made.bytes as u64, now);
        match net.streams.get_mut(made.stream as usize) {
            Some(stream) => {
                stream.tally.sent += 1;
                stream.tally.resent += 1;
            }
            None => net.pairs[made.pair() as usize].resent += 1,
        }
        self.put(which, made, net);
    }

    /// A packet of a channel adapter's is sent.
    pub(super) fn take_load(&mut self, index: u32, which: usize, now: u64, net: &mut Net) {
        let lane = &mut self.lanes[index as usize];
        let Some(mut made) = lane.loads.pop_front() else { return };
        let way = made.way;
        made.way = net.spread.way(way, &mut lane.flowing, now);
        self.keep(index, &mut made, now, net);
        net.events.push(StationEvent::Left(made.lane));
        self.put(which, made, net);
    }

    /// A packet of a channel adapter's connection: it waits in a lane of its own. An acknowledgement says how far the
    /// connection has come the other way.
    pub(super) fn load_lane(&mut self, load: &Load, mut made: Frame, net: &mut Net) {
        if load.ack {
            let pair = net.of_adapter.get(&load.pair).copied().unwrap_or(NONE);
            let receiving = net.pairs.get(pair as usize).and_then(|p| p.receiving.as_ref());
            let Some(expected) = receiving.map(|r| r.expected) else {
                let which = if self.kind == Lanes::Classes { load.class as usize } else { 0 };
                return self.enter_first(which, made, net);
            };
            let id = net.control(self.out, Kind::Reply, expected as u64, load.to.0, load.packet, load.way);
            (net.frames[id].bytes, net.frames[id].left) = (frame(load.client as u64) as u16, pair as u64);
            return;
        }
        let pair = match net.of_adapter.get(&load.pair) {
            Some(pair) => *pair,
            None => {
                let (pair, index) = (net.pairs.len() as u32, self.lanes.len() as u32);
                let numbered = net.resends.then_some(self.rule);
                let limit = self.constants.as_ref().map(Limit::new);
                let mut lane = Lane::new(load.to.0, load.class, pair, limit);
                (lane.way, lane.sending) = (load.way, numbered.map(|r| Box::new(Sending::new(r))));
                self.lanes.push(lane);
                net.pairs.push(Pair { run: load.run, ..Pair::new(self.node, index, numbered) });
                net.of_adapter.insert(load.pair, pair);
                pair
            }
        };
        made.left = pair as u64;
        let index = net.pairs[pair as usize].lane;
        self.lanes[index as usize].loads.push_back(made);
        self.wake(index);
    }
}

/// What is to be said of queue pairs: programs that DCQCN slows down or that lose packets, and connections that send
/// the same again and again.
pub(super) fn notes(plan: &Plan, fabric: &Fabric) -> Vec<Note> {
    let net = &fabric.net;
    let mut notes = Vec::new();
    for (run, job) in plan.cluster.jobs.iter().enumerate() {
        let mine = || net.pairs.iter().filter(|p| usize::from(p.run) == run);
        let [marks, cnps, resent, dropped] =
            [|p: &Pair| p.marks, |p: &Pair| p.cnps, |p: &Pair| p.resent, |p: &Pair| p.dropped]
                .map(|of| mine().map(of).sum::<u64>());
        let element = format!("flows.{}", job.name);
        if cnps > 0 {
            let text = format!("DCQCN slowed its queue pairs down: {cnps} CNPs for {marks} marked packets");
            notes.push(Note { element: element.clone(), mechanism: "congestion-control".into(), text });
        }
        if dropped > 0 || resent > 0 {
            let lanes = fabric.stations.iter().flat_map(|s| &s.lanes);
            let of_run = lanes.filter(|l| net.pairs.get(l.global as usize).is_some_and(|p| usize::from(p.run) == run));
            let (mut timeouts, mut longest) = (0, 0);
            for sending in of_run.filter_map(|l| l.sending.as_ref()) {
                timeouts += sending.timeouts;
                longest = longest.max(sending.rule.timeout);
            }
            let waited = match timeouts {
                0 => String::new(),
                1 => format!(", after a time-out of {}", human_time(longest as f64 / SECOND)),
                n => format!(", after {n} time-outs of {}", human_time(longest as f64 / SECOND)),
            };
            let text = format!("{dropped} of its packets were dropped, {resent} were sent again{waited}");
            notes.push(Note { element, mechanism: "retransmission".into(), text });
        }
    }
    // The worst of each table.
    let mut worst: BTreeMap<&str, (u32, &Station, &Lane)> = BTreeMap::new();
    for station in &fabric.stations {
        for lane in &station.lanes {
            let Some(s) = lane.sending.as_ref().filter(|s| s.most_fruitless > RETRIES) else { continue };
            let pair = &net.pairs[lane.global as usize];
            let name = match plan.cluster.jobs.get(usize::from(pair.run)) {
                Some(job) => job.name.as_str(),
                None => match station.senders.iter().find(|s| s.has(pair.lane)) {
                    Some(s) => plan.network.streams[s.stream as usize].group.as_str(),
                    None => continue,
                },
            };
            let entry = worst.entry(name).or_insert((0, station, lane));
            if s.most_fruitless > entry.0 {
                *entry = (s.most_fruitless, station, lane);
            }
        }
    }
    let node = |n: u32| plan.network.node(NodeId(n)).name.as_str();
    notes.extend(worst.into_iter().map(|(name, (times, station, lane))| Note {
        element: format!("flows.{name}"),
        mechanism: "livelock".into(),
        text: format!(
            "livelock: a queue pair from {} to {} sent the same packets {times} times without any progress; verbs give \
             up after retry_cnt = {RETRIES}",
            node(station.node),
            node(lane.node)
        ),
    }));
    notes
}
