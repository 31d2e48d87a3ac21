//! What is in a solid-state drive: a controller, dies behind channels, and stripes that are programmed side by side.
//!
//! A read is cut at the pages; each is sensed on the die where the log has left it, which is as good as random, and
//! comes over the die's channel. The data of a command go to the link in order, those of several commands as they come.
//! A write is cut into pages too, which go to the stripes in turn; a stripe that is free takes what waits for it, as
//! many pages as fit, takes their data in, and programs all of them at once. Data of writes are asked for while the
//! buffer has room for them.

use crate::plan::storage::Unit;
use crate::scenario::keys::Ssd as Keys;
use crate::sim::storage::{Event, Fabric, Owner, Server};
use std::collections::VecDeque;

/// Pages of one read that are worked on at once: a mask of as many bits says which have come.
const WINDOW: u32 = u64::BITS;

/// What is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The controller with a command.
    Begin(u32),
    /// A die with a page of a command: its number among them.
    Sensed(u32, u32),
    /// The channel with it.
    Moved(u32, u32),
    /// The drive's own rate with it.
    There(u32, u32),
    /// The drive's own rate with so many bytes of a write.
    Passed(u32, u32),
    /// A stripe with its program.
    Programmed(u32),
}

/// How far a command is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Pages of a read that are asked for, and the first that has not come.
    asked: u32,
    first: u32,
    /// Those that have come behind it.
    come: u64,
    /// Bytes of a write that are in the buffer, cut into pages, and programmed.
    stored: u64,
    cut: u64,
    programmed: u64,
}

/// A page of a write, and who waits for it.
#[derive(Clone, Copy, Debug)]
struct Page {
    task: Option<u32>,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Stripe {
    waiting: VecDeque<Page>,
    /// What it takes in or programs.
    inside: Vec<Page>,
}

/// A drive.
#[derive(Clone, Debug)]
pub(super) struct Ssd {
    controller: Server,
    command_time: u64,
    page: u64,
    read_time: u64,
    dies: Vec<Server>,
    channels: Vec<Server>,
    stripes: Vec<Stripe>,
    pages: usize,
    program_time: u64,
    /// How long a stripe takes its data in, and how long all of them have worked or are to work: a stripe's work is
    /// booked when it begins.
    intake: Server,
    programs: Vec<Server>,
    /// Whose turn it is.
    turn: usize,
    own: Server,
    /// Bytes in the buffer or promised to it, and what fits.
    held: u64,
    buffer: u64,
    cache: bool,
    /// Writes that wait for room.
    waiting: VecDeque<u32>,
    /// Whether the buffer has been full; what has been written to it, and was in it when it had been written over so
    /// many times; whether no more was the time after.
    full: bool,
    taken: u64,
    rounds: u64,
    before: u64,
    steady: bool,
}

/// Bits without order from a number, the same always (Steele, Lea, Flood: SplitMix, 2014).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl Ssd {
    pub(super) fn new(k: &Keys) -> Ssd {
        let channels = k.channels.typical.get() as usize;
        let stripes = k.stripes.typical.get() as usize;
        Ssd {
            controller: Server::default(),
            command_time: k.command_time.typical.fs(),
            page: k.page.typical.0.max(1),
            read_time: k.read_time.typical.fs(),
            dies: vec![Server::default(); channels * k.dies.typical.get() as usize],
            channels: vec![Server::new(Some(k.channel_rate.typical)); channels],
            stripes: vec![Stripe::default(); stripes],
            pages: k.stripe_pages.typical.get() as usize,
            program_time: k.program_time.typical.fs(),
            intake: Server::new(Some(k.stripe_rate.typical)),
            programs: vec![Server::default(); stripes],
            turn: 0,
            own: Server::new(k.rate.as_ref().map(|r| r.typical)),
            held: 0,
            buffer: k.buffer.typical.0,
            cache: k.write_cache.typical,
            waiting: VecDeque::new(),
            full: false,
            taken: 0,
            rounds: 0,
            before: 0,
            steady: false,
        }
    }

    /// Time that controller, channels and stripes have worked before a moment, fs; of channels and stripes the mean of
    /// all.
    pub(super) fn worked(&self, now: u64) -> [u64; 3] {
        let mean = |all: &[Server]| {
            let sum: u128 = all.iter().map(|s| s.worked(now) as u128).sum();
            (sum / all.len().max(1) as u128) as u64
        };
        [self.controller.worked(now), mean(&self.channels), mean(&self.programs)]
    }

    /// Whether its cache has been full once, or holds no more than when it had been written over the time before.
    pub(super) fn settled(&self) -> bool {
        !self.cache || self.full || self.steady || self.taken == 0
    }

    /// Takes a write's data on, if there is room; what is larger than the buffer, when that is empty.
    fn admit(&mut self, size: u64) -> bool {
        if self.held > 0 && self.held.saturating_add(size) > self.buffer {
            self.full = true;
            return false;
        }
        self.held += size;
        self.taken += size;
        let rounds = self.taken / self.buffer.max(1);
        if rounds > self.rounds {
            self.rounds = rounds;
            self.steady |= rounds > 1 && self.held <= self.before + self.buffer / 100;
            self.before = self.held;
        }
        true
    }

    /// The die and channel of a page.
    fn place(&self, page: u64) -> (usize, usize) {
        let die = (mixed(page) % self.dies.len() as u64) as usize;
        (die, die % self.channels.len())
    }

    /// Bytes of the `n`-th page that a command touches.
    fn part(&self, offset: u64, size: u64, n: u32) -> u64 {
        let page = offset / self.page + n as u64;
        let (from, to) = (page * self.page, (page + 1).saturating_mul(self.page));
        (offset + size).min(to).saturating_sub(offset.max(from))
    }

    /// Pages that a command touches.
    fn pages_of(&self, offset: u64, size: u64) -> u32 {
        let last = (offset + size.max(1) - 1) / self.page;
        (last - offset / self.page + 1).min(u32::MAX as u64) as u32
    }

    /// Lets a free stripe begin; when it will be done.
    fn begin(&mut self, stripe: usize, now: u64) -> Option<u64> {
        let s = &mut self.stripes[stripe];
        if !s.inside.is_empty() || s.waiting.is_empty() {
            return None;
        }
        let n = s.waiting.len().min(self.pages);
        s.inside.extend(s.waiting.drain(..n));
        let bytes: u64 = s.inside.iter().map(|p| p.bytes).sum();
        let span = self.intake.pace.map_or(0, |p| p.span(bytes)).saturating_add(self.program_time);
        Some(self.programs[stripe].work(span, now))
    }
}

impl Fabric {
    fn drive(&mut self, task: u32) -> Option<(u32, &mut Ssd)> {
        let target = self.tasks.all[task as usize].target;
        self.targets[target as usize].flash.as_deref_mut().map(|f| (target, f))
    }

    /// A command has arrived at a drive.
    pub(super) fn flash_command(&mut self, task: u32, now: u64) {
        self.tasks.all[task as usize].service.several = true;
        let Some((target, flash)) = self.drive(task) else { return };
        let at = flash.controller.work(flash.command_time, now);
        self.plan_at(at, Event::Flash(target, Step::Begin(task)));
    }

    /// Something in a drive is through.
    pub(super) fn flash(&mut self, target: u32, step: Step, now: u64) {
        match step {
            Step::Begin(task) => {
                let t = self.tasks.all[task as usize];
                let link = self.targets[target as usize].transport;
                if t.read {
                    self.data_back(link, task, now);
                    self.ask(task, now);
                    return;
                }
                let Some((_, flash)) = self.drive(task) else { return };
                // Who waits already goes first.
                if flash.waiting.is_empty() && flash.admit(t.size) {
                    self.unit(link, 1, Unit::Ready, task, now);
                } else {
                    flash.full = true;
                    flash.waiting.push_back(task);
                }
            }
            Step::Sensed(task, n) => {
                let t = self.tasks.all[task as usize];
                let Some((_, flash)) = self.drive(task) else { return };
                let (_, channel) = flash.place(t.offset / flash.page + n as u64);
                let bytes = flash.part(t.offset, t.size, n);
                let at = flash.channels[channel].pass(bytes, now);
                self.plan_at(at, Event::Flash(target, Step::Moved(task, n)));
            }
            Step::Moved(task, n) => {
                let t = self.tasks.all[task as usize];
                let Some((_, flash)) = self.drive(task) else { return };
                if flash.own.pace.is_none() {
                    self.there(task, n, now);
                    return;
                }
                let bytes = flash.part(t.offset, t.size, n);
                let at = flash.own.pass(bytes, now);
                self.plan_at(at, Event::Flash(target, Step::There(task, n)));
            }
            Step::There(task, n) => self.there(task, n, now),
            Step::Passed(task, bytes) => self.stored(task, bytes as u64, now),
            Step::Programmed(stripe) => self.programmed(target, stripe as usize, now),
        }
    }

    /// Asks dies for pages of a read, as many as may be under way.
    fn ask(&mut self, task: u32, now: u64) {
        loop {
            let t = self.tasks.all[task as usize];
            let Some((target, flash)) = self.drive(task) else { return };
            let p = t.progress;
            if p.asked - p.first >= WINDOW || p.asked >= flash.pages_of(t.offset, t.size) {
                return;
            }
            let (die, _) = flash.place(t.offset / flash.page + p.asked as u64);
            let at = flash.dies[die].work(flash.read_time, now);
            self.plan_at(at, Event::Flash(target, Step::Sensed(task, p.asked)));
            self.tasks.all[task as usize].progress.asked += 1;
        }
    }

    /// A page of a read is in the controller: what is there without a gap may go.
    fn there(&mut self, task: u32, n: u32, now: u64) {
        let t = self.tasks.all[task as usize];
        let mut p = t.progress;
        p.come |= 1 << (n - p.first);
        let Some((target, flash)) = self.drive(task) else { return };
        let mut ready = 0;
        while p.come & 1 == 1 {
            ready += flash.part(t.offset, t.size, p.first);
            p.first += 1;
            p.come >>= 1;
        }
        let t = &mut self.tasks.all[task as usize];
        t.progress = p;
        t.ready += ready;
        let link = self.targets[target as usize].transport;
        self.ask(task, now);
        if ready > 0 {
            self.more_back(link, now);
        }
    }

    /// Data of a write have arrived at a drive.
    pub(super) fn flash_data(&mut self, task: u32, bytes: u64, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        t.landed = t.arrived;
        if let Owner::Io(io) = t.owner {
            self.delivered(io, bytes, now);
        }
        let Some((target, flash)) = self.drive(task) else { return };
        let through = flash.own.pace.is_some().then(|| flash.own.pass(bytes, now));
        let link = self.targets[target as usize].transport;
        match through {
            Some(at) => self.plan_at(at, Event::Flash(target, Step::Passed(task, bytes as u32))),
            None => self.stored(task, bytes, now),
        }
        self.room(link, 0, now);
    }

    /// Data of a write are in the buffer: each page of them goes to the next stripe.
    fn stored(&mut self, task: u32, bytes: u64, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        t.progress.stored += bytes;
        let (size, stored) = (t.size, t.progress.stored);
        let mut cut = t.progress.cut;
        let Some((target, flash)) = self.drive(task) else { return };
        let (page, cache) = (flash.page, flash.cache);
        let mut begun = Vec::new();
        while cut < stored && (stored - cut >= page || stored == size) {
            let bytes = (size - cut).min(page);
            cut += bytes;
            let stripe = flash.turn;
            flash.turn = (stripe + 1) % flash.stripes.len();
            flash.stripes[stripe].waiting.push_back(Page { task: (!cache).then_some(task), bytes });
            begun.extend(flash.begin(stripe, now).map(|at| (at, stripe)));
        }
        self.tasks.all[task as usize].progress.cut = cut;
        for (at, stripe) in begun {
            self.plan_at(at, Event::Flash(target, Step::Programmed(stripe as u32)));
        }
        if cache && stored == size {
            self.taken(task, now);
        }
    }

    /// A stripe is programmed: writes may be done, the next pages go in, and there is room for more.
    fn programmed(&mut self, target: u32, stripe: usize, now: u64) {
        let Some(flash) = self.targets[target as usize].flash.as_deref_mut() else { return };
        let mut done = std::mem::take(&mut flash.stripes[stripe].inside);
        flash.held -= done.iter().map(|p| p.bytes).sum::<u64>();
        let next = flash.begin(stripe, now);
        let mut ready = Vec::new();
        while let Some(&task) = flash.waiting.front() {
            if !flash.admit(self.tasks.all[task as usize].size) {
                break;
            }
            flash.waiting.pop_front();
            ready.push(task);
        }
        if let Some(at) = next {
            self.plan_at(at, Event::Flash(target, Step::Programmed(stripe as u32)));
        }
        for page in done.drain(..) {
            let Some(task) = page.task else { continue };
            let t = &mut self.tasks.all[task as usize];
            t.progress.programmed += page.bytes;
            if t.progress.programmed == t.size {
                self.taken(task, now);
            }
        }
        let link = self.targets[target as usize].transport;
        for task in ready {
            self.unit(link, 1, Unit::Ready, task, now);
        }
    }
}
