//! Workers: threads that issue I/Os by their access specification, so many outstanding at each target, and complete
//! them.

use crate::plan::storage::{IoFlow, Storage, Volume};
use crate::scenario::keys::{self, Line, SECTOR, WHOLE};
use crate::sim::core::source::Arrivals;
use crate::sim::core::tally::{self, Tally};
use crate::sim::pcie::random;
use crate::sim::storage::count::Counts;
use crate::sim::storage::fabrics::Remote;
use crate::sim::storage::nvme::Uses;
use crate::sim::storage::{Event, Fabric, Io, zipf};
use crate::units::Pace;
use crate::units::Rate;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;

/// Where the time of I/Os went: sums over those that are done, fs. The stages are those of [`crate::result::STAGES`].
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Stages(pub(in crate::sim) [u128; 6]);

impl Stages {
    /// An I/O whose stages began at these moments is over.
    fn add(&mut self, marks: &[u64; 6], now: u64) {
        let ends = marks.iter().skip(1).chain(std::iter::once(&now));
        let mut before = marks[0];
        for (sum, end) in self.0.iter_mut().zip(ends) {
            // A stage that was passed over has no mark of its own, and no length.
            let end = (*end).max(before);
            *sum += (end - before) as u128;
            before = end;
        }
    }
}

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    Writes,
    Trims,
}

/// The I/Os of one worker at one volume.
#[derive(Clone, Debug)]
pub(super) struct FlowState {
    pub(super) core: u32,
    pub(super) volume: Volume,
    pub(super) adapter: u32,
    pub(super) group: u32,
    lines: Arc<[Line]>,
    /// The first byte of what is used, and how many there are.
    start: u64,
    range: u64,
    submit: u64,
    complete: u64,
    wake: u64,
    /// Of NVMe: its queue pairs at each drive; I/Os that its worker is to put in, and to take out.
    pub(super) uses: Vec<Uses>,
    /// Its queue pairs to a drive of another host.
    pub(super) remote: Option<Box<Remote>>,
    pub(super) submitting: u32,
    pub(super) completing: u32,
    random: Xoshiro256PlusPlus,
    /// By which random places are wanted, where they are not all alike.
    places: Option<keys::Places>,
    /// Where the last I/O ended, from the start.
    at: u64,
    /// I/Os that may be issued, of the present burst those that are left, and from when they may go.
    slots: u32,
    burst: u32,
    open_at: u64,
    /// The line of the next I/O, where it was drawn with the pause before it.
    drawn: Option<u32>,
    /// When the next may go at the earliest, where there is a rate that it keeps to; and for when its timer is set.
    due: Option<Arrivals>,
    timer: u64,
    pub(super) tally: Tally,
    pub(super) fingerprint: u64,
    pub(super) counts: Counts,
    pub(super) stages: Stages,
}

impl FlowState {
    pub(super) fn new(storage: &Storage, flow: &IoFlow, group: u32, seed: u64) -> FlowState {
        let due = flow.rate.as_ref().map(|rate| {
            // One byte for each I/O.
            let pace = Pace::new(Rate::from_bits(8 * u64::from(rate.typical.get())));
            let arrivals =
                (flow.arrivals == keys::Arrivals::Poisson).then(|| random(seed, &format!("{} due", flow.name)));
            Arrivals::new(pace, 1, arrivals)
        });
        FlowState {
            core: flow.core,
            volume: flow.volume,
            // What is between stations never comes to an adapter.
            adapter: flow.adapter.unwrap_or(u32::MAX),
            group,
            lines: flow.lines.clone(),
            start: flow.start.0,
            range: flow.range.0,
            submit: flow.submit.typical.fs(),
            complete: flow.complete.typical.fs(),
            wake: flow.wake.typical.fs(),
            uses: Uses::of(storage, flow),
            remote: None,
            submitting: 0,
            completing: 0,
            random: random(seed, &flow.name),
            places: flow.places.clone(),
            at: 0,
            slots: 0,
            burst: 0,
            open_at: 0,
            drawn: None,
            due,
            timer: 0,
            tally: Tally::default(),
            fingerprint: group as u64 + 1,
            counts: Counts::new(),
            stages: Stages::default(),
        }
    }

    /// I/Os that have come by its rate and have not begun.
    pub(super) fn backlog(&self, now: u64) -> u64 {
        self.due.as_ref().map_or(0, |due| due.due(now))
    }

    /// Whether it writes at all.
    pub(super) fn writes(&self) -> bool {
        self.lines.iter().any(|l| l.read < WHOLE || l.reply.0 > 0)
    }

    /// Whether it wants the next I/O when one is done: it neither keeps to a rate nor pauses.
    pub(super) fn presses(&self) -> bool {
        self.due.is_none() && self.lines.iter().all(|l| l.delay.fs() == 0)
    }

    /// A number below `n`.
    fn draw(&mut self, n: u64) -> u64 {
        ((self.random.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// Whether something of so many hundredths of a percent happens. What is certain needs no random number.
    fn happens(&mut self, part: u32) -> bool {
        part == WHOLE || part > 0 && self.draw(WHOLE as u64) < part as u64
    }

    /// Draws the line of the next I/O.
    fn line(&mut self) -> u32 {
        if self.lines.len() == 1 {
            return 0;
        }
        let mut left = self.draw(WHOLE as u64) as u32;
        let mut shares = self.lines.iter().map(|l| l.share);
        let found = shares.position(|share| {
            let here = left < share;
            left = left.saturating_sub(share);
            here
        });
        found.unwrap_or(self.lines.len() - 1) as u32
    }

    /// Where an I/O of so many bytes begins: anywhere, or where the last one ended, at the next multiple of what it is
    /// aligned to.
    fn place(&mut self, line: u32, size: u64) -> u64 {
        let Line { align, random, .. } = self.lines[line as usize];
        let align = if align.0 == 0 { SECTOR } else { align.0 };
        let room = self.range.saturating_sub(size);
        let offset = if self.happens(random) {
            match &self.places {
                None => self.draw(room / align + 1) * align,
                Some(law) => zipf::place(&mut self.random, law, (self.range, size), align),
            }
        } else {
            let next = self.at.next_multiple_of(align);
            if next > room { 0 } else { next }
        };
        self.at = offset + size;
        self.start + offset
    }
}

impl Fabric {
    /// One more of a flow's I/Os may be issued.
    pub(super) fn free(&mut self, flow: u32, now: u64) {
        self.flows[flow as usize].slots += 1;
        self.open(flow, now);
    }

    /// A flow issues what it may: a burst, after its pause, and the next, each when it is due. The line that is drawn
    /// for the pause is that of the burst's first I/O. What comes late for want of a free place is made up for as soon
    /// as there is one.
    pub(super) fn open(&mut self, flow: u32, now: u64) {
        loop {
            let f = &mut self.flows[flow as usize];
            if f.slots == 0 {
                return;
            }
            if f.burst == 0 {
                let drawn = f.line();
                let Line { burst, delay, .. } = f.lines[drawn as usize];
                (f.drawn, f.burst) = (Some(drawn), burst);
                f.open_at = now.saturating_add(delay.fs());
                let at = f.open_at;
                if at > now {
                    self.plan_at(at, Event::Open(flow));
                    return;
                }
            } else if f.open_at > now {
                return;
            }
            let f = &mut self.flows[flow as usize];
            if let Some(due) = &mut f.due {
                let at = due.next();
                if at > now {
                    if std::mem::replace(&mut f.timer, at) != at {
                        self.plan_at(at, Event::Open(flow));
                    }
                    return;
                }
                due.advance();
            }
            f.burst -= 1;
            f.slots -= 1;
            let line = f.drawn.take().unwrap_or_else(|| f.line());
            let Line { read, trim, size, reply, .. } = f.lines[line as usize];
            let read = f.happens(read);
            let does = match read {
                true => Does::Reads,
                false if f.happens(trim) => Does::Trims,
                false => Does::Writes,
            };
            self.begin(flow, (line, (does, size.0, reply.0)), now);
        }
    }

    /// A program wants an I/O, which its worker issues as soon as its processor is free: its direction, its size, and
    /// that of the reply to follow. A reply knows when its request began.
    pub(super) fn issue(
        &mut self,
        flow: u32,
        line: u32,
        (does, size, reply): (Does, u64, u64),
        request: Option<u64>,
        now: u64,
    ) {
        let (read, trim) = (does == Does::Reads, does == Does::Trims);
        let f = &mut self.flows[flow as usize];
        let offset = f.place(line, size);
        f.submitting += u32::from(!f.uses.is_empty());
        // It is outstanding from now on, also while it waits for the processor.
        f.tally.start(now);
        let (core, volume, own) = (f.core, f.volume, f.submit);
        let spread = match volume {
            Volume::Array(array) => self.spread(array, read, offset, size),
            Volume::Target(_) | Volume::Station(_) => None,
        };
        let submit = own + spread.as_ref().map_or(0, |s| s.0);
        let at = self.workers[core as usize].work(submit, now);
        let (called, marks) = (at - submit, [now; 6]);
        let began = request.unwrap_or(called);
        let (left, tasks, before) = (size, 0, false);
        let io = Io { flow, line, read, trim, offset, size, reply, began, called, left, tasks, before, marks };
        let io = self.ios.add(io);
        if let (Volume::Array(array), Some((_, spread))) = (volume, spread) {
            self.keep(array, io, spread);
        }
        self.plan_at(at, Event::Submitted(io));
    }

    /// Bytes of an I/O are where they belong.
    pub(super) fn delivered(&mut self, io: u32, bytes: u64, now: u64) {
        let i = &mut self.ios.all[io as usize];
        i.left -= bytes;
        i.marks[4] = now;
        let f = &mut self.flows[i.flow as usize];
        f.tally.bytes += bytes;
        f.counts.moved += bytes;
    }

    /// An I/O's status is in host memory: its worker has to see it. One that sleeps has to wake up for it.
    pub(super) fn answered(&mut self, io: u32, now: u64) {
        self.ios.all[io as usize].marks[5] = now;
        let flow = self.ios.all[io as usize].flow;
        let turn = self.awake(flow, now);
        let f = &mut self.flows[flow as usize];
        f.completing += u32::from(!f.uses.is_empty());
        let at = self.workers[f.core as usize].work(f.complete, turn);
        self.plan_at(at, Event::Completed(io));
    }

    /// From when on a flow's worker may turn to what has come: one that sleeps has to wake up.
    pub(super) fn awake(&self, flow: u32, now: u64) -> u64 {
        let f = &self.flows[flow as usize];
        if self.workers[f.core as usize].free <= now { now.saturating_add(f.wake) } else { now }
    }

    /// An I/O is over; the next one begins.
    pub(super) fn completed(&mut self, io: u32, now: u64) {
        let io = self.ios.remove(io);
        let f = &mut self.flows[io.flow as usize];
        let born = io.marks[0];
        f.tally.finish(born, now);
        f.fingerprint = tally::fingerprint(f.fingerprint, born, now);
        f.stages.add(&io.marks, now);
        if io.called >= self.counting {
            let way = if io.trim { 2 } else { usize::from(!io.read) };
            f.counts.add(way, io.size, (born, io.called, now), &self.edges);
            self.latencies[f.group as usize][way].record((now - io.called) / 1000);
            self.whole[f.group as usize].record((now - born) / 1000);
        }
        if io.reply == 0 && io.began >= self.counting {
            f.counts.transactions.add(now - io.began);
        }
        self.taken_out(io.flow, now);
        if io.reply > 0 {
            let does = if io.read { Does::Writes } else { Does::Reads };
            self.issue(io.flow, io.line, (does, io.reply, 0), Some(io.began), now);
        } else {
            self.transacted(io.flow, now);
        }
    }
}
