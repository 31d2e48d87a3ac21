//! What is in a solid-state drive: a controller, dies behind channels, and stripes that are programmed side by side.
//!
//! A read is cut at the pages; each is sensed on the die where the log has left it, which is as good as random, and
//! comes over the die's channel. The data of a command go to the link in order, those of several commands as they come.
//! A write is cut into pages too, which go to the stripes in turn; a stripe that is free takes what waits for it, as
//! many pages as fit, takes their data in, and programs all of them at once. Data of writes are asked for while the
//! buffer has room for them.
//!
//! What else keeps a die busy is what makes reads late. A stripe may hold its dies while it programs or erases, until
//! its end or until a read suspends it; what garbage collection moves is read from dies and programmed before more is
//! taken in, once as much as a program holds is owed.

use crate::plan::storage::{self, Unit};
use crate::scenario::keys::{PlaneReads, Ssd as Keys};
use crate::scenario::quantity::Quantity;
use crate::sim::storage::cache_fill::CacheFill;
use crate::sim::storage::{Event, Fabric, Link, Owner, Server};
use crate::tools::mixed;
use crate::units::Pace;
use crate::units::Time;
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

/// Pages of different planes of a die that are sensed together, from a moment on.
#[derive(Clone, Copy, Debug)]
struct Batch {
    begins: u64,
    ends: u64,
    planes: u64,
}

#[derive(Clone, Debug, Default)]
struct Stripe {
    waiting: VecDeque<Page>,
    /// What it takes in or programs.
    inside: Vec<Page>,
    /// Whether it programs what garbage collection moves; of such pages it owes so many thousandths.
    collects: bool,
    owed: u64,
    /// Programs since a block was erased.
    programs: u32,
    /// How much longer its program takes for the reads that have suspended it, and when it ends without them.
    suspended: u64,
    until: u64,
}

/// A drive.
#[derive(Clone, Debug)]
pub(super) struct Ssd {
    controller: Server,
    command_time: u64,
    /// What a deallocation takes beside that, and for each byte.
    trim_time: u64,
    trim_pace: Option<Pace>,
    /// What tells its log from those of other drives.
    log: u64,
    page: u64,
    /// Of lower, middle and upper pages.
    read_times: [u64; 3],
    /// Planes that sense by themselves, those of a die side by side; or of each die how many sense together, and what
    /// they will.
    planes: usize,
    dies: Vec<Server>,
    joint: u32,
    batches: Vec<VecDeque<Batch>>,
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
    /// Whether programs hold their dies, and how long it takes to suspend one.
    holds: bool,
    suspend: Option<u64>,
    /// Thousandths of a page that are moved for each that is written; time to erase a block, and programs in one.
    moved: u64,
    erase: u64,
    block: u32,
    /// Pages that were moved.
    collected: u64,
    /// For how long a die is busy by itself, and once in what time; of each when it is next, and how often it was.
    house: Option<[u64; 2]>,
    houses: Vec<(u64, u64)>,
    /// What every command takes beside others.
    latency: u64,
    own: Server,
    /// Bytes in the buffer or promised to it.
    buffer: CacheFill,
    cache: bool,
    /// Writes that wait for room.
    waiting: VecDeque<u32>,
}

/// A part of a span that is as good as random.
fn part_of(bits: u64, span: u64) -> u64 {
    ((u128::from(bits) * u128::from(span)) >> 64) as u64
}

impl Ssd {
    /// A drive, at its place in an array if it is in one.
    pub(super) fn new(k: &Keys, own: Option<&storage::Controller>, place: usize) -> Ssd {
        // The logs of drives have put pages of a number on dies of their own.
        let log = if place == 0 { 0 } else { mixed(place as u64) };
        let channels = k.channels.typical.get() as usize;
        let stripes = k.stripes.typical.get() as usize;
        let all = k.planes.typical.get();
        let together = k.plane_reads.typical == PlaneReads::Together;
        let (planes, joint) = if together { (1, all) } else { (all as usize, 1) };
        let servers = channels * k.dies.typical.get() as usize * planes;
        let every = k.housekeeping_interval.typical.fs().max(1);
        let house = k.housekeeping.as_ref().map(|q| [q.typical.fs().min(every), every]);
        let middle = k.read_time.typical.fs();
        let other = |q: &Option<Quantity<Time>>| q.as_ref().map_or(middle, |q| q.typical.fs());
        Ssd {
            controller: Server::default(),
            command_time: k.command_time.typical.fs(),
            trim_time: own.and_then(|c| c.keys.trim_time.as_ref()).map_or(0, |q| q.typical.fs()),
            trim_pace: own.and_then(|c| c.keys.trim_rate.as_ref()).map(|q| Pace::new(q.typical)),
            log,
            page: k.page.typical.0.max(1),
            read_times: [other(&k.lower_read_time), middle, other(&k.upper_read_time)],
            planes,
            dies: vec![Server::default(); servers],
            joint,
            batches: if joint > 1 { vec![VecDeque::new(); servers] } else { Vec::new() },
            channels: vec![Server::new(Some(k.channel_rate.typical)); channels],
            stripes: vec![Stripe::default(); stripes],
            pages: k.stripe_pages.typical.get() as usize,
            program_time: k.program_time.typical.fs(),
            intake: Server::new(Some(k.stripe_rate.typical)),
            programs: vec![Server::default(); stripes],
            turn: 0,
            holds: k.die_programs.typical,
            suspend: k.suspend_time.as_ref().map(|q| q.typical.fs()),
            moved: ((k.write_amplification.typical.0 - 1.0) * 1000.0).round() as u64,
            erase: k.erase_time.typical.fs(),
            block: k.block_programs.typical.get(),
            collected: 0,
            house,
            houses: match house {
                Some([_, every]) => (0..servers as u64).map(|die| (part_of(mixed(die ^ log), every), 0)).collect(),
                None => Vec::new(),
            },
            latency: own.map_or(0, |c| c.keys.command_latency.typical.fs()),
            own: Server::new(k.rate.as_ref().map(|r| r.typical)),
            buffer: CacheFill::new(k.buffer.typical.0),
            cache: k.write_cache.typical,
            waiting: VecDeque::new(),
        }
    }

    /// Time that controller, channels, dies and stripes have worked before a moment, fs; of all but the controller the
    /// mean of all.
    pub(super) fn worked(&self, now: u64) -> [u64; 4] {
        let mean = |all: &[Server]| {
            let sum: u128 = all.iter().map(|s| s.worked(now) as u128).sum();
            (sum / all.len().max(1) as u128) as u64
        };
        [self.controller.worked(now), mean(&self.channels), mean(&self.dies), mean(&self.programs)]
    }

    /// Whether its cache holds no more than when it had been written over the time before.
    pub(super) fn settled(&self) -> bool {
        !self.cache || self.buffer.is_steady() || self.buffer.taken() == 0
    }

    /// Bytes in its write buffer; 0 where what is in it is not done.
    pub(super) fn cached(&self) -> u64 {
        if self.cache { self.buffer.held() } else { 0 }
    }

    /// Takes a write's data on, if there is room; what is larger than the buffer, when that is empty.
    fn admit(&mut self, size: u64) -> bool {
        if !self.buffer.fits(size) {
            return false;
        }
        self.buffer.take(size);
        true
    }

    /// What senses a page, a plane or a die with planes that do so together, and its channel.
    fn place(&self, page: u64) -> (usize, usize) {
        let one = mixed(page ^ self.log) % (self.dies.len() as u64 * u64::from(self.joint));
        let die = (one / u64::from(self.joint)) as usize;
        (die, die / self.planes % self.channels.len())
    }

    /// Senses a page with those of other planes that wait for its die, or behind them; when it is sensed. Who has begun
    /// waits for nobody, and nobody behind is put off.
    fn sense_together(&mut self, page: u64, die: usize, span: u64, now: u64) -> u64 {
        let plane = 1 << (mixed(page ^ self.log) % u64::from(self.joint));
        let (batches, die) = (&mut self.batches[die], &mut self.dies[die]);
        while batches.front().is_some_and(|b| b.ends <= now) {
            batches.pop_front();
        }
        let last = batches.len().saturating_sub(1);
        let fits = |(i, b): &(usize, &mut Batch)| {
            b.begins > now && b.planes & plane == 0 && (*i == last || b.begins.saturating_add(span) <= b.ends)
        };
        if let Some((_, batch)) = batches.iter_mut().enumerate().find(fits) {
            batch.planes |= plane;
            let done = batch.begins.saturating_add(span);
            if done > batch.ends {
                die.busy += done - batch.ends;
                (batch.ends, die.free) = (done, done);
            }
            return done;
        }
        let ends = die.work(span, now);
        batches.push_back(Batch { begins: ends - span, ends, planes: plane });
        ends
    }

    /// Time to sense a page: which of the bits of its cells it has is as good as random.
    fn sense_time(&self, page: u64) -> u64 {
        let [lower, middle, upper] = self.read_times;
        if lower == middle && middle == upper {
            return middle;
        }
        self.read_times[(mixed(!page ^ self.log) % 3) as usize]
    }

    /// What a die has done by itself up to a moment: once in each interval, at some moment of it.
    fn keep_house(&mut self, die: usize, now: u64) {
        let Some([time, every]) = self.house else { return };
        let server = &mut self.dies[die];
        loop {
            let (next, times) = self.houses[die];
            if next > now.max(server.free) {
                return;
            }
            server.work(time, next);
            let begins = (times + 1).saturating_mul(every);
            self.houses[die] =
                (begins.saturating_add(part_of(mixed(mixed(die as u64 ^ self.log) ^ times), every)), times + 1);
        }
    }

    /// Senses a page; when it is sensed. Whose die programs suspends that, once for all reads that wait there.
    fn sense(&mut self, page: u64, now: u64) -> u64 {
        let (plane, _) = self.place(page);
        let span = self.sense_time(page);
        self.keep_house(plane, now);
        let begins = self.dies[plane].free.max(now);
        let held = self.suspend.filter(|_| self.holds).zip(self.programming(plane / self.planes, begins));
        let Some((suspend, stripe)) = held else {
            return match self.joint {
                1 => self.dies[plane].work(span, now),
                _ => self.sense_together(page, plane, span, now),
            };
        };
        let stripe = &mut self.stripes[stripe];
        let already = self.dies[plane].free > now;
        let all = span + if already { 0 } else { suspend };
        stripe.suspended += all;
        stripe.until += all;
        self.dies[plane].work(all, now)
    }

    /// The stripe whose program holds a die at a moment.
    fn programming(&self, die: usize, at: u64) -> Option<usize> {
        if !self.holds || self.suspend.is_none() {
            return None;
        }
        let dies = self.dies.len() / self.planes;
        let holds = |s: usize| (0..self.pages).any(|i| (s * self.pages + i) % dies == die);
        (0..self.stripes.len()).find(|&s| self.stripes[s].until > at && holds(s))
    }

    /// Reads as many pages as a program holds, for garbage collection; when all have come over their channels.
    fn collect(&mut self, now: u64) -> u64 {
        let mut all = now;
        for _ in 0..self.pages {
            self.collected += 1;
            let page = mixed(self.collected.rotate_left(32));
            let sensed = self.sense(page, now);
            let channel = self.place(page).1;
            all = all.max(self.channels[channel].pass(self.page, sensed));
        }
        all
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
        if !s.inside.is_empty() || s.collects {
            return None;
        }
        let full = self.pages as u64 * 1000;
        let ready = if s.owed >= full {
            s.owed -= full;
            s.collects = true;
            self.collect(now)
        } else if s.waiting.is_empty() {
            return None;
        } else {
            let n = s.waiting.len().min(self.pages);
            s.inside.extend(s.waiting.drain(..n));
            s.owed += n as u64 * self.moved;
            let bytes: u64 = s.inside.iter().map(|p| p.bytes).sum();
            now.saturating_add(self.intake.pace.map_or(0, |p| p.span(bytes)))
        };
        let s = &mut self.stripes[stripe];
        let mut span = self.program_time;
        s.programs += 1;
        if s.programs > self.block {
            s.programs = 1;
            span = span.saturating_add(self.erase);
        }
        let begins = if self.holds { self.hold(stripe, ready, span) } else { ready };
        let end = begins.saturating_add(span);
        (self.stripes[stripe].until, self.stripes[stripe].suspended) = (end, 0);
        Some(self.programs[stripe].work(end - now, now))
    }

    /// A program takes the dies of its stripe, when all are free: when it begins. Those that reads may suspend stay
    /// free for them.
    fn hold(&mut self, stripe: usize, ready: u64, span: u64) -> u64 {
        let all = self.dies.len();
        let (dies, pages) = (all / self.planes, self.pages.min(all / self.planes));
        let planes = |i: usize| {
            let die = (stripe * self.pages + i) % dies;
            die * self.planes..(die + 1) * self.planes
        };
        let begins = (0..pages).flat_map(planes).fold(ready, |at, plane| at.max(self.dies[plane].free));
        if self.suspend.is_none() {
            for plane in (0..pages).flat_map(planes) {
                let d = &mut self.dies[plane];
                (d.free, d.busy) = (begins.saturating_add(span), d.busy.saturating_add(span));
            }
        }
        begins
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
        let t = &self.tasks.all[task as usize];
        let (trim, size) = (t.trim, t.size);
        let Some((target, flash)) = self.drive(task) else { return };
        let more = if trim { flash.trim_time + flash.trim_pace.map_or(0, |p| p.span(size)) } else { 0 };
        let at = flash.controller.work(flash.command_time + more, now).saturating_add(flash.latency);
        self.plan_at(at, Event::Flash(target, Step::Begin(task)));
    }

    /// Something in a drive is through.
    pub(super) fn flash(&mut self, target: u32, step: Step, now: u64) {
        match step {
            Step::Begin(task) => {
                let t = self.tasks.all[task as usize];
                let link = self.targets[target as usize].transport;
                if t.trim {
                    self.trimmed(task, now);
                    return;
                }
                if t.read {
                    self.data_back(link, task, now);
                    self.ask(task, now);
                    return;
                }
                let Some((_, flash)) = self.drive(task) else { return };
                // Who waits already goes first.
                if flash.waiting.is_empty() && flash.admit(t.size) {
                    self.wants_data(link, task, now);
                } else {
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

    /// What a command deallocates is off the map: its bytes count as moved.
    fn trimmed(&mut self, task: u32, now: u64) {
        let t = &mut self.tasks.all[task as usize];
        (t.arrived, t.landed) = (t.size, t.size);
        let (owner, size) = (t.owner, t.size);
        self.first_data(task, now);
        if let Owner::Io(io) = owner {
            self.delivered(io, size, now);
        }
        self.entry(task, now);
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
            let at = flash.sense(t.offset / flash.page + p.asked as u64, now);
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
            match self.links[link as usize] {
                Link::Inside => self.data_in(task, now),
                _ => self.more_back(link, now),
            }
        }
    }

    /// A drive has room for a write's data.
    fn wants_data(&mut self, link: u32, task: u32, now: u64) {
        match self.links[link as usize] {
            Link::Inside => self.data_out_of_memory(task, now),
            _ => self.unit(link, 1, Unit::Ready, task, now),
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
        let s = &mut flash.stripes[stripe];
        if s.suspended > 0 {
            // Reads have come between.
            let longer = std::mem::take(&mut s.suspended);
            let at = flash.programs[stripe].work(longer, now);
            self.plan_at(at, Event::Flash(target, Step::Programmed(stripe as u32)));
            return;
        }
        s.collects = false;
        let mut done = std::mem::take(&mut flash.stripes[stripe].inside);
        flash.buffer.free(done.iter().map(|p| p.bytes).sum());
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
            self.wants_data(link, task, now);
        }
    }
}
