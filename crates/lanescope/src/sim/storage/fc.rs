//! A Fibre Channel link: two lanes of frames between an adapter's port and a target's.
//!
//! A lane sends information units before data, data in the order of the commands. Every frame takes a credit of the far port and gives it back as an
//! R_RDY when the port's buffer is free: at an adapter when the frame is in host memory, at a target when it is taken in. R_RDYs ride in the
//! gaps between frames, or go at once where nothing else does.

use super::super::clock::Clock;
use super::super::kernel::NEVER;
use super::{Event, Fabric, Owner};
use crate::plan::storage::{Medium, Transport};
use crate::protocol::{ethernet::flight, fibre_channel as fc};
use crate::result::{Idle, SlotCounts};
use std::collections::VecDeque;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// FCP_CMND.
    Command,
    /// FCP_XFER_RDY.
    Ready,
    /// FCP_DATA, so many bytes.
    Data(u32),
    /// FCP_RSP.
    Response,
}

impl Unit {
    /// Its name.
    fn step(self) -> &'static str {
        match self {
            Unit::Command => STEPS[0],
            Unit::Ready => STEPS[1],
            Unit::Data(_) => STEPS[2],
            Unit::Response => STEPS[3],
        }
    }

    /// Bytes of its data field.
    fn field(self) -> u64 {
        match self {
            Unit::Command => fc::CMND,
            Unit::Ready => fc::XFER_RDY,
            Unit::Data(bytes) => bytes as u64,
            Unit::Response => fc::RSP,
        }
    }
}

/// What a lane sends.
const STEPS: [&str; 5] = ["FCP_CMND", "FCP_XFER_RDY", "FCP_DATA", "FCP_RSP", "R_RDY"];

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
    /// R_RDYs for the other lane, to go with the next gap.
    owed: u32,
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

    /// Units, and commands with data, that wait here.
    pub(super) fn waiting(&self) -> usize {
        self.control.len() + self.data.len()
    }
}

/// A link: the lane to the target, then the one to the adapter.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) lanes: [Lane; 2],
    /// Data of a full frame.
    frame: u64,
    /// The adapter's buffer for data on their way out, and what of it is in use.
    room: u64,
    used: u64,
    /// Commands whose data are fetched from host memory, in order.
    fetching: VecDeque<u32>,
}

impl Link {
    pub(super) fn new(transport: &Transport, room: u64) -> Option<Link> {
        let Medium::Fc { keys, credit } = &transport.medium else { return None };
        let delay = flight(keys.length.typical).fs();
        let lane = |credit: u32| Lane {
            clock: Clock::new(keys.fc.typical.rate()),
            next: 0,
            next_at: 0,
            delay,
            credit,
            most: credit,
            owed: 0,
            control: VecDeque::new(),
            data: VecDeque::new(),
            idle: Idle::NothingToSend,
            leaving: 0,
            called: NEVER,
            counts: SlotCounts::default(),
        };
        let frame = keys.frame.typical.0;
        let lanes = [lane(credit[1]), lane(credit[0])];
        Some(Link { lanes, frame, room: room.max(frame), used: 0, fetching: VecDeque::new() })
    }
}

impl Fabric {
    /// Puts a command's unit into a lane.
    pub(super) fn unit(&mut self, link: u32, way: usize, unit: Unit, task: u32, now: u64) {
        if let Some(l) = self.fc(link) {
            l.lanes[way].control.push_back((unit, task));
            self.lane(link, way, now);
        }
    }

    /// Lets a target send a read's data, as they become ready.
    pub(super) fn data_back(&mut self, link: u32, task: u32, now: u64) {
        if let Some(l) = self.fc(link) {
            l.lanes[1].data.push_back(task);
            self.lane(link, 1, now);
        }
    }

    /// Sends a write's data: those of a stripe from the cache, others as they come from host memory.
    pub(super) fn data_out(&mut self, link: u32, task: u32, now: u64) {
        let Some(l) = super::link_of(&mut self.links, link) else { return };
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
            let Some(l) = self.fc(link) else { return };
            let (Some(&task), frame) = (l.fetching.front(), l.frame) else { return };
            let t = &mut self.tasks.all[task as usize];
            let bytes = (t.size - t.fetched).min(frame);
            let Some(l) = super::link_of(&mut self.links, link) else { return };
            if l.used + bytes > l.room {
                return;
            }
            l.used += bytes;
            t.fetched += bytes;
            if t.fetched == t.size {
                l.fetching.pop_front();
            }
            self.dma(super::Job::Out { task, bytes: bytes as u32 }, now);
        }
    }

    /// Data to go out have come from host memory.
    pub(super) fn fetched(&mut self, task: u32, bytes: u64, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        t.ready += bytes;
        let link = self.targets[t.target as usize].transport;
        self.lane(link, 0, now);
    }

    /// The far port of a lane has room again for a frame: an R_RDY goes by the other lane.
    pub(super) fn room(&mut self, link: u32, way: usize, now: u64) {
        if let Some(l) = self.fc(link) {
            l.lanes[1 - way].owed += 1;
            self.lane(link, 1 - way, now);
        }
    }

    /// R_RDYs have come for a lane.
    pub(super) fn credited(&mut self, link: u32, way: usize, credits: u32, now: u64) {
        if let Some(l) = self.fc(link) {
            let lane = &mut l.lanes[way];
            lane.credit += credits;
            debug_assert!(lane.credit <= lane.most, "credit that was never taken");
            self.lane(link, way, now);
        }
    }

    /// A lane is looked at because its time has come.
    pub(super) fn called(&mut self, link: u32, way: usize, now: u64) {
        if let Some(l) = self.fc(link) {
            let lane = &mut l.lanes[way];
            if lane.called <= now {
                lane.called = NEVER;
            }
        }
        self.lane(link, way, now);
    }

    /// Sends what a lane can send.
    fn lane(&mut self, link: u32, way: usize, now: u64) {
        if let Some(l) = self.fc(link)
            && l.lanes[way].leaving > 0
            && l.lanes[way].next_at <= now
        {
            // The frame before has left the adapter's buffer, whoever looks first.
            l.used -= std::mem::take(&mut l.lanes[way].leaving);
            self.fetch(link, now);
        }
        let tasks = &mut self.tasks;
        let Some(l) = super::link_of(&mut self.links, link) else { return };
        let frame = l.frame;
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
                let ready = if way == 0 { t.ready - t.sent >= bytes } else { t.service.ready(t.sent + bytes) <= now };
                if ready {
                    (unit, place) = (Some((Unit::Data(bytes as u32), task)), i);
                    break;
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
        let owed = std::mem::take(&mut lane.owed);
        let from = lane.next_at;
        let Some((unit, task)) = send else {
            if owed > 0 {
                let slots = fc::PRIMITIVE * owed as u64;
                lane.counts.control += slots;
                lane.counts.controls += owed as u64;
                lane.next += slots;
                lane.next_at = lane.clock.time(lane.next);
                let at = lane.next_at + lane.delay;
                wake = wake.min(lane.next_at);
                let end = lane.next_at;
                self.plan_at(at, Event::Credit(link, 1 - way as u8, owed));
                self.seen(link, way, STEPS[4], (from, end), 0);
            }
            let Some(l) = super::link_of(&mut self.links, link) else { return };
            if wake != NEVER && l.lanes[way].call(wake) {
                self.plan_at(wake, Event::Lane(link, way as u8));
            }
            return;
        };
        lane.credit -= 1;
        let field = unit.field();
        let (whole, gap) = (fc::frame(field), fc::gap(owed as u64));
        let counts = &mut lane.counts;
        let r_rdys = fc::PRIMITIVE * owed as u64;
        match unit {
            Unit::Data(bytes) => {
                counts.payload += bytes as u64;
                counts.framing += whole - bytes as u64;
                counts.data_tlps += 1;
            }
            _ => counts.requests += whole,
        }
        counts.tlps += 1;
        counts.gap += gap - r_rdys;
        counts.control += r_rdys;
        counts.controls += owed as u64;
        let (end, delay) = (lane.clock.time(lane.next + whole), lane.delay);
        lane.next += whole + gap;
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
        self.seen(link, way, unit.step(), (from, end), field);
        self.plan_at(end + delay, Event::Frame(link, way as u8, unit, task));
        if owed > 0 {
            self.plan_at(next_at + delay, Event::Credit(link, 1 - way as u8, owed));
        }
        if again {
            self.plan_at(next_at, Event::Lane(link, way as u8));
        }
    }
}
