//! A serial link, of Fibre Channel or SAS: two lanes of frames between an adapter's port and a target's.
//!
//! A lane sends information units before data, data in the order of the commands; of a target that works on several at
//! once, those that are there. Every frame takes a credit of the far port and gives it back when the port's buffer is
//! free: at an adapter when the frame is in host memory, at a target when it is taken in. What answers frames (R_RDY;
//! ACK and RRDY) rides between frames, or goes at once where nothing else does. On SAS a connection is opened for each
//! command, each leave to send, and each run of one command's data, with the status behind a read's.

use crate::plan::storage::{Medium, Serial, Transport, Unit};
use crate::result::{Idle, SlotCounts};
use crate::sim::core::clock::Clock;
use crate::sim::core::kernel::NEVER;
use crate::sim::storage::{Event, Fabric, Owner};
use std::collections::VecDeque;

fn step(link: &Serial, unit: Unit) -> &'static str {
    let [command, ready, data, response, _] = link.steps();
    match unit {
        Unit::Command => command,
        Unit::Ready => ready,
        Unit::Data(_) => data,
        Unit::Response => response,
    }
}

/// One direction.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    clock: Clock,
    /// The first slot that is not booked, and its moment.
    next: u64,
    next_at: u64,
    delay: u64,
    /// Frames that the far port has room for, and has at most.
    credit: u32,
    most: u32,
    /// Frames, and connections, of the other lane that are to be answered with the next gap.
    owed: u32,
    accepted: u32,
    /// The command whose data have opened a connection.
    open: Option<u32>,
    control: VecDeque<(Unit, u32)>,
    data: VecDeque<u32>,
    /// Why it is idle, since it is.
    idle: Idle,
    /// Bytes of the adapter's buffer that the frame in sending will leave.
    leaving: u64,
    /// The earliest moment for which it is called already.
    called: u64,
    pub(super) counts: SlotCounts,
}

impl Lane {
    /// Makes sure that it is looked at by a moment.
    fn call(&mut self, at: u64) -> bool {
        let sooner = at < self.called;
        if sooner {
            self.called = at;
        }
        sooner
    }

    /// Books idle slots up to the first that begins at `now` or later.
    pub(super) fn settle(&mut self, now: u64) {
        if now <= self.next_at {
            // The slot that begins there is the next, although its moment is rounded up.
            return;
        }
        let slot = self.clock.slot(now);
        if slot > self.next {
            self.counts.idle[self.idle as usize] += slot - self.next;
            self.next = slot;
            self.next_at = self.clock.time(slot);
        }
    }

    /// Frames that it may begin to carry in such a time, at most: none is shorter than one without data.
    fn most_packets(&self, span: u64, serial: &Serial) -> u64 {
        span / self.clock.span(serial.bytes(Unit::Data(0))).max(1) + 1
    }

    /// Units, and commands with data, that wait here.
    pub(super) fn waiting(&self) -> usize {
        self.control.len() + self.data.len()
    }
}

/// Two lanes and how frames go over them: the lane to the target, then the one to the adapter.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) lanes: [Lane; 2],
    serial: Serial,
    /// The adapter's buffer for data on their way out, and what of it is in use.
    room: u64,
    used: u64,
    /// Commands whose data are fetched from host memory, in order.
    fetching: VecDeque<u32>,
}

impl Link {
    pub(super) fn new(transport: &Transport, room: u64) -> Option<Link> {
        let Medium::Serial { keys, credit } = &transport.medium else { return None };
        let serial = keys.typical();
        let delay = serial.flight.fs();
        let lane = |credit: u32| Lane {
            clock: Clock::new(serial.rate),
            next: 0,
            next_at: 0,
            delay,
            credit,
            most: credit,
            owed: 0,
            accepted: 0,
            open: None,
            control: VecDeque::new(),
            data: VecDeque::new(),
            idle: Idle::NothingToSend,
            leaving: 0,
            called: NEVER,
            counts: SlotCounts::default(),
        };
        let lanes = [lane(credit[1]), lane(credit[0])];
        Some(Link { lanes, serial, room: room.max(serial.frame), used: 0, fetching: VecDeque::new() })
    }

    /// Frames that its lanes may begin to carry in such a time, at most.
    pub(super) fn most_packets(&self, span: u64) -> u64 {
        self.lanes.iter().map(|lane| lane.most_packets(span, &self.serial)).fold(0, u64::saturating_add)
    }
}

impl Fabric {
    /// Puts a command's unit into a lane.
    pub(super) fn unit(&mut self, link: u32, way: usize, unit: Unit, task: u32, now: u64) {
        if let Some(l) = self.serial(link) {
            l.lanes[way].control.push_back((unit, task));
            self.lane(link, way, now);
        }
    }

    /// Lets a target send a read's data, as they become ready.
    pub(super) fn data_back(&mut self, link: u32, task: u32, now: u64) {
        if let Some(l) = self.serial(link) {
            l.lanes[1].data.push_back(task);
            self.lane(link, 1, now);
        }
    }

    /// Sends a write's data: those of a stripe from the cache, others as they come from host memory.
    pub(super) fn data_out(&mut self, link: u32, task: u32, now: u64) {
        let Some(l) = crate::sim::storage::link_of(&mut self.links, link) else { return };
        l.lanes[0].data.push_back(task);
        let t = &mut self.tasks.all[task as usize];
        if let Owner::Stripe(..) = t.owner {
            (t.fetched, t.ready) = (t.size, t.size);
            self.lane(link, 0, now);
        } else {
            l.fetching.push_back(task);
            self.fetch(link, now);
        }
    }

    /// Asks for as much of the data to go out as the adapter's buffer has room for.
    fn fetch(&mut self, link: u32, now: u64) {
        loop {
            let Some(l) = self.serial(link) else { return };
            let (Some(&task), frame) = (l.fetching.front(), l.serial.frame) else { return };
            let t = &mut self.tasks.all[task as usize];
            let bytes = (t.size - t.fetched).min(frame);
            let Some(l) = crate::sim::storage::link_of(&mut self.links, link) else { return };
            if l.used + bytes > l.room {
                return;
            }
            l.used += bytes;
            t.fetched += bytes;
            if t.fetched == t.size {
                l.fetching.pop_front();
            }
            self.dma(crate::sim::storage::Job::Out { task, bytes: bytes as u32 }, now);
        }
    }

    /// Data to go out have come from host memory.
    pub(super) fn fetched(&mut self, task: u32, bytes: u64, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        t.ready += bytes;
        let link = self.targets[t.target as usize].transport;
        self.lane(link, 0, now);
    }

    /// The far port of a lane has room again for a frame: that goes by the other lane.
    pub(super) fn room(&mut self, link: u32, way: usize, now: u64) {
        if let Some(l) = self.serial(link) {
            l.lanes[1 - way].owed += 1;
            self.lane(link, 1 - way, now);
        }
    }

    /// Credit has come for a lane.
    pub(super) fn credited(&mut self, link: u32, way: usize, credits: u32, now: u64) {
        if let Some(l) = self.serial(link) {
            let lane = &mut l.lanes[way];
            lane.credit += credits;
            debug_assert!(lane.credit <= lane.most, "credit that was never taken");
            self.lane(link, way, now);
        }
    }

    /// A lane is looked at because its time has come.
    pub(super) fn called(&mut self, link: u32, way: usize, now: u64) {
        if let Some(l) = self.serial(link) {
            let lane = &mut l.lanes[way];
            if lane.called <= now {
                lane.called = NEVER;
            }
        }
        self.lane(link, way, now);
    }

    /// A target that works on several commands has more data.
    pub(super) fn more_back(&mut self, link: u32, now: u64) {
        self.lane(link, 1, now);
    }

    /// Sends what a lane can send.
    fn lane(&mut self, link: u32, way: usize, now: u64) {
        if let Some(l) = self.serial(link)
            && l.lanes[way].leaving > 0
            && l.lanes[way].next_at <= now
        {
            // The frame before has left the adapter's buffer, whoever looks first.
            l.used -= std::mem::take(&mut l.lanes[way].leaving);
            self.fetch(link, now);
        }
        let tasks = &mut self.tasks;
        let Some(l) = crate::sim::storage::link_of(&mut self.links, link) else { return };
        let serial = l.serial;
        let frame = serial.frame;
        let lane = &mut l.lanes[way];
        lane.settle(now);
        if lane.next_at > now {
            // In the middle of a frame, or between two slots.
            let at = lane.next_at;
            if lane.call(at) {
                self.plan_at(at, Event::Lane(link, way as u8));
            }
            return;
        }
        // Units first, then the first command whose data are there.
        let (mut unit, mut wake) = (lane.control.front().copied(), NEVER);
        let mut place = 0;
        if unit.is_none() {
            for (i, &task) in lane.data.iter().enumerate() {
                let t = &tasks.all[task as usize];
                let bytes = (t.size - t.sent).min(frame);
                let several = t.service.several;
                let ready = match way {
                    1 if !several => t.service.ready(t.sent + bytes) <= now,
                    _ => t.ready - t.sent >= bytes,
                };
                if ready {
                    (unit, place) = (Some((Unit::Data(bytes as u32), task)), i);
                    break;
                }
                if several {
                    // It works on others too, and says when more is there.
                    continue;
                }
                if way == 1 {
                    // A target works in order: nothing behind the first is ready before it.
                    wake = t.service.ready(t.sent + bytes);
                    break;
                }
                if t.fetched == t.sent {
                    // Data are fetched in order too.
                    break;
                }
            }
        }
        let send = unit.filter(|_| lane.credit > 0);
        lane.idle = if unit.is_some() { Idle::BufferCredits } else { Idle::NothingToSend };
        let (owed, accepted) = (std::mem::take(&mut lane.owed), std::mem::take(&mut lane.accepted));
        let from = lane.next_at;
        let Some((unit, task)) = send else {
            if owed + accepted > 0 {
                let slots = serial.answers(owed as u64, accepted as u64);
                lane.counts.control += slots;
                lane.counts.controls += owed as u64;
                lane.next += slots;
                lane.next_at = lane.clock.time(lane.next);
                let at = lane.next_at + lane.delay;
                wake = wake.min(lane.next_at);
                let end = lane.next_at;
                if owed > 0 {
                    self.plan_at(at, Event::Credit(link, 1 - way as u8, owed));
                }
                self.seen(link, way, serial.steps()[4], (from, end), 0);
            }
            let Some(l) = crate::sim::storage::link_of(&mut self.links, link) else { return };
            if wake != NEVER && l.lanes[way].call(wake) {
                self.plan_at(wake, Event::Lane(link, way as u8));
            }
            return;
        };
        lane.credit -= 1;
        let field = serial.field(unit);
        let (whole, gap) = (serial.bytes(unit), serial.gap(owed as u64, accepted as u64));
        // A status goes with the data before it.
        let before = match unit {
            Unit::Data(_) | Unit::Response if lane.open == Some(task) => 0,
            _ => serial.opening(),
        };
        lane.open = matches!(unit, Unit::Data(_)).then_some(task);
        let counts = &mut lane.counts;
        let answers = serial.answers(owed as u64, accepted as u64);
        match unit {
            Unit::Data(bytes) => {
                counts.payload += bytes as u64;
                counts.framing += whole - bytes as u64;
                counts.data_tlps += 1;
            }
            _ => counts.requests += whole,
        }
        counts.tlps += 1;
        counts.gap += before + gap - answers;
        counts.control += answers;
        counts.controls += owed as u64;
        let (end, delay) = (lane.clock.time(lane.next + before + whole), lane.delay);
        lane.next += before + whole + gap;
        lane.next_at = lane.clock.time(lane.next);
        let next_at = lane.next_at;
        match unit {
            Unit::Data(bytes) => {
                let t = &mut tasks.all[task as usize];
                t.sent += bytes as u64;
                if way == 0 && !matches!(t.owner, Owner::Stripe(..)) {
                    lane.leaving = bytes as u64;
                }
                if t.sent == t.size {
                    lane.data.remove(place);
                    if way == 1 {
                        lane.control.push_back((Unit::Response, task));
                    }
                }
            }
            _ => {
                lane.control.pop_front();
            }
        }
        let again = lane.call(next_at);
        if before > 0 {
            l.lanes[1 - way].accepted += 1;
        }
        self.seen(link, way, step(&serial, unit), (from, end), field);
        self.plan_at(end + delay, Event::Frame(link, way as u8, unit, task));
        if owed > 0 {
            self.plan_at(next_at + delay, Event::Credit(link, 1 - way as u8, owed));
        }
        if again {
            self.plan_at(next_at, Event::Lane(link, way as u8));
        }
    }
}
