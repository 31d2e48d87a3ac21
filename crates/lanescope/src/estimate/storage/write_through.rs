//! Writes that go through to drives, followed one by one: what a closed load of them comes to. To arrays of solid-state
//! drives, or one that collects garbage or whose programs hold dies, and to disks with a parity, whose heads wait for
//! one another. Where a drive's buffer is a cache, it is full.
//!
//! Each begins where it is drawn and becomes the commands that the array makes of it ([`Array::spread`]): those that
//! read old data and parity, then those that write. Pages come one behind the other over a drive's wire and go to its
//! stripes ([`stripes`](super::stripes)); heads go where commands are, in the order in which these come ([`Heads`], as
//! in a run). The last of all decides.
//!
//! Not in it: credits, the host's bus, and that drives of one array have other wires or pages than its first.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::nvme;
use crate::estimate::storage::shape::parts;
use crate::estimate::storage::stripes::{Flash, NOBODY};
use crate::estimate::storage::unloaded::{One, Other};
use crate::estimate::storage::{Kind, kinds};
use crate::plan::storage::{Adapter, Array, Device, Heads, IoFlow, LOOKED_AT, Medium, Piece, Spread, Storage, Volume};
use crate::scenario::keys::Ssd;
use crate::scenario::quantity::Corner;
use crate::tools::{Slab, mixed};
use crate::units::Time;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Pages of those outstanding that are followed at most.
const MOST: f64 = 16_384.0;

/// How often each of those outstanding is followed at least; pages, and I/Os, of all. A half of it until what is at
/// the beginning is over.
const TIMES: u64 = 12;
const PAGES: f64 = 40_000.0;
const DRAWN: u64 = 4000;

/// Seconds that are followed at most: half of what heads can tell.
const LONGEST: f64 = 9000.0;

/// What is through, or on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Whoever issues it with an I/O.
    Issued(u32),
    /// The adapter with a command, which goes to its drive.
    Sent(u32),
    /// A command on its way to its drive.
    Arrived(u32),
    /// A drive with a command.
    Done(u32),
    /// So many bytes of a command that writes, a page at most, on the wire of its drive.
    Page(u32, u64),
    /// A stripe of a drive with its program.
    Programmed(u32, u32),
}

/// What of an I/O goes by itself: commands that read, and those that write when these are done.
#[derive(Clone, Debug, Default)]
struct Step {
    reads: Vec<Piece>,
    writes: Vec<Piece>,
    /// Bytes that a parity is made of.
    parity: u64,
}

/// A step under way: its I/O, how many of its commands are not done, and how long one of them has waited for a place.
#[derive(Clone, Debug, Default)]
struct Under {
    io: u32,
    step: Step,
    left: u32,
    waits: f64,
    /// Steps that its I/O has.
    steps: u32,
}

/// A command of a drive, of a step: where it begins, its bytes, pages of a write that are not programmed, and since
/// when it waits for a place, or has one.
#[derive(Clone, Copy, Debug, Default)]
struct Command {
    step: u32,
    disk: u32,
    read: bool,
    offset: u64,
    bytes: u64,
    left: u32,
    since: f64,
}

/// What one of those outstanding comes to, seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// From when it is issued until it is done.
    pub(super) time: f64,
    /// Of that, what it waits at its adapter for places at its drives.
    pub(super) place: f64,
    /// For how long all of its commands have places, added.
    pub(super) held: f64,
    /// For how long heads work for it, or stripes, those of all drives added.
    pub(super) worked: f64,
}

/// Drives of an array, and all that a write meets beside their inside; seconds.
struct Drives<'a> {
    /// What its drives are: the first of them.
    device: &'a Device,
    storage: &'a Storage,
    corner: Corner,
    /// `None` of a drive by itself.
    array: Option<&'a Array>,
    flow: &'a IoFlow,
    /// Workers' processors for each I/O.
    host: f64,
    /// On the way to the array and back.
    around: f64,
    /// To make each command of a drive, and a byte of what a parity is made of: a worker's processor where the host
    /// runs the array, else the adapter's and its parity engine.
    given: f64,
    parity: f64,
    /// Between what is read and what is written then.
    again: f64,
    /// A drive's processor for each command: of a solid-state drive it deals with one at a time.
    command: f64,
    /// A command that writes, beside that, its data and programs or heads; a byte of these on its wire.
    lead: f64,
    wire: f64,
    /// The most that a command moves, and commands that the adapter has at a drive at most.
    largest: u64,
    depth: u32,
    /// Whether its host runs it.
    by_host: bool,
}

/// One drive: commands there, and those that wait at the adapter for a place; when its processor and its wire are free.
struct Drive<'a> {
    there: u32,
    places: VecDeque<u32>,
    /// When the last of the old data that it reads has come.
    read: f64,
    processor: f64,
    wire: f64,
    inside: Inside<'a>,
}

/// What takes in what is written.
enum Inside<'a> {
    Flash(Flash<'a>),
    Disk(Box<Heads>),
}

/// A server that deals with one after the other: when it is through.
fn pass(free: &mut f64, span: f64, now: f64) -> f64 {
    *free = free.max(now) + span;
    *free
}

/// A row of events; moments are not negative, so that their bits are in their order. Of what is at one moment, first
/// what was known first.
#[derive(Default)]
struct Due {
    all: BinaryHeap<Reverse<(u64, u64, Event)>>,
    known: u64,
}

impl Due {
    fn add(&mut self, at: f64, event: Event) {
        self.known += 1;
        self.all.push(Reverse((at.to_bits(), self.known, event)));
    }

    fn next(&mut self) -> Option<(f64, Event)> {
        self.all.pop().map(|Reverse((bits, _, event))| (f64::from_bits(bits), event))
    }
}

impl Drives<'_> {
    /// Where the `j`-th I/O begins: anywhere, or behind the one before.
    fn place(&self, k: Kind, size: u64, j: u64) -> u64 {
        let (flow, by_chance) = (self.flow, mixed(j));
        let places = |step: u64| flow.range.0.saturating_sub(size) / step + 1;
        let random = (by_chance >> 32) as f64 / 2.0_f64.powi(32) < k.random;
        let step = if k.random > 0.0 { k.align.max(1) } else { k.step.max(1) };
        flow.start.0 + step * if random { mixed(by_chance) % places(step) } else { j % places(step) }
    }

    /// Into what the `j`-th I/O is cut.
    fn steps(&self, k: Kind, j: u64) -> Vec<Step> {
        let size = (k.bytes.round() as u64).max(1);
        let place = self.place(k, size, j);
        let Some(array) = self.array else {
            let whole = Piece { disk: 0, offset: place, bytes: size, own: true };
            return vec![Step { writes: vec![whole], ..Step::default() }];
        };
        let step = |s: Spread| {
            let mut step = Step { reads: s.before, writes: s.pieces, parity: s.parity };
            if array.mirrors() {
                let copies: Vec<Piece> = step.writes.iter().map(|p| Piece { disk: p.disk + 1, ..*p }).collect();
                step.writes.extend(copies);
            }
            step
        };
        parts(array, false, place, size).map(step).collect()
    }

    /// Seconds from one write of a kind to the next behind a cache that is full of them: each stripe that an I/O covers
    /// goes at once, and of the others so many at each drive that none is idle, among those that have waited longest.
    fn destaged(&self, kept: u32, k: Kind, read: Reading) -> Option<f64> {
        let enough = self.enough(k).max(LOOKED_AT as u64);
        let mut run = Run::new(self, 0, read);
        let (mut drawn, mut half, mut waiting) = (0_u64, None, VecDeque::new());
        run.at_drive = vec![0; run.drives.len()];
        let mut now = 0.0;
        loop {
            // As in a run: one at a time, until no drive has too few.
            loop {
                while waiting.len() < LOOKED_AT && run.at_drive.iter().any(|n| *n < kept) {
                    let steps = self.steps(k, drawn).into_iter();
                    let (torn, whole): (Vec<Step>, Vec<Step>) = steps.partition(|step| !step.reads.is_empty());
                    drawn += 1;
                    waiting.extend(torn);
                    whole.into_iter().for_each(|step| run.destage(step, now));
                }
                let few = |disk: usize| run.at_drive[disk] < kept;
                let wanted = |step: &Step| touched(step).any(few);
                let Some(at) = waiting.iter().position(wanted) else { break };
                waiting.remove(at).into_iter().for_each(|step| run.destage(step, now));
            }
            let (at, event) = run.due.next()?;
            now = at;
            run.deal(event, now);
            match half {
                None if drawn >= enough / 2 => half = Some((drawn, now)),
                Some((before, then)) if drawn >= enough && now > then => {
                    return Some((now - then) / (drawn - before).max(1) as f64);
                }
                _ if now > LONGEST || drawn > 8 * enough => return None,
                _ => {}
            }
        }
    }

    /// What one of `n` writes of a kind that are outstanding comes to, each of which is issued again when it is done; a
    /// solid-state drive reads so many bytes of old data in so long.
    fn in_turn(&self, (n, full): (u32, bool), k: Kind, read: Reading) -> Option<Written> {
        let enough = self.enough(k).max(u64::from(n) * TIMES);
        let mut run = Run::new(self, n, read);
        let (mut drawn, mut half) = (0, None);
        if full && run.cached {
            run.fill(n, k.bytes);
        }
        (0..n).for_each(|io| run.issue(io, 0.0));
        while let Some((now, event)) = run.due.next() {
            match event {
                Event::Issued(io) => {
                    run.begin(io, self.steps(k, drawn), now + self.around);
                    drawn += 1;
                }
                event => run.deal(event, now),
            }
            let so_far = [now, run.done as f64, run.place, run.held, run.worked()];
            match half {
                None if run.done >= enough / 2 => half = Some(so_far),
                Some(before) if run.done >= enough && now > before[0] => {
                    let mut all = so_far.into_iter().zip(before).map(|(now, before)| now - before);
                    let mut next = || all.next().unwrap_or_default();
                    let (span, done) = (next(), next());
                    let [place, held, worked] = [next() / done, next() / done, next() / done];
                    return Some(Written { time: f64::from(n) * span / done, place, held, worked });
                }
                _ if now > LONGEST || run.done > 8 * enough => return None,
                _ => {}
            }
        }
        None
    }

    /// I/Os of a kind that are followed at least.
    fn enough(&self, k: Kind) -> u64 {
        let strip = self.array.map_or(u64::MAX, |a| a.keys.strip.typical.0.max(1));
        let each = (k.bytes / self.page().min(strip) as f64).ceil().max(1.0);
        ((PAGES / each) as u64).min(DRAWN)
    }

    /// Bytes of a page, or at most of what goes to a disk at once.
    fn page(&self) -> u64 {
        match self.device {
            Device::Ssd(k) => k.page.typical.0.max(1),
            _ => u64::MAX,
        }
    }
}

/// Seconds for so many bytes.
type Reading<'a> = &'a dyn Fn(u64) -> f64;

/// A closed load under way.
struct Run<'a> {
    of: &'a Drives<'a>,
    /// How long a solid-state drive reads so many bytes of old data, and each byte of a long read.
    read: Reading<'a>,
    slope: f64,
    due: Due,
    /// When the processors of workers and of the adapter are free.
    host: f64,
    adapter: f64,
    drives: Vec<Drive<'a>>,
    steps: Slab<Under>,
    commands: Slab<Command>,
    /// Of each I/O.
    left: Vec<u32>,
    done: u64,
    /// Stripes of a full cache that are at each drive; empty where there is none.
    at_drive: Vec<u32>,
    /// What they have waited for places, each as long as its parts did on average, and for how long commands had some.
    place: f64,
    held: f64,
    /// How long heads have worked.
    heads: f64,
    /// Whether a page that is in a drive's buffer is done.
    cached: bool,
}

impl<'a> Run<'a> {
    fn new(of: &'a Drives<'a>, n: u32, read: Reading<'a>) -> Run<'a> {
        let targets = of.storage.targets_of(of.flow.volume);
        let inside = |(place, target): (usize, &u32)| match &of.storage.targets[*target as usize].device {
            Device::Disk(k) => Some(Inside::Disk(Box::new(Heads::new(k, of.corner, place)))),
            Device::Ssd(k) => Some(Inside::Flash(Flash::new(k, of.corner))),
            _ => None,
        };
        let one = |inside: Inside<'a>| Drive {
            there: 0,
            places: VecDeque::new(),
            read: 0.0,
            processor: 0.0,
            wire: 0.0,
            inside,
        };
        let parity = of.array.is_some_and(Array::has_parity) && matches!(of.device, Device::Ssd(_));
        let slope = if parity { (read(FARTHEST) - read(FARTHEST / 2)) * 2.0 / FARTHEST as f64 } else { 0.0 };
        Run {
            of,
            read,
            slope,
            due: Due::default(),
            host: 0.0,
            adapter: 0.0,
            drives: targets.iter().enumerate().filter_map(inside).map(one).collect(),
            steps: Slab::new(),
            commands: Slab::new(),
            left: vec![0; n as usize],
            done: 0,
            at_drive: Vec::new(),
            place: 0.0,
            held: 0.0,
            heads: 0.0,
            cached: matches!(of.device, Device::Ssd(k) if k.write_cache.typical),
        }
    }

    /// Lets caches be full of pages of writes of so many bytes, of which there are so many.
    fn fill(&mut self, n: u32, bytes: f64) {
        let Device::Ssd(k) = self.of.device else { return };
        let page = k.page.typical.f64().max(1.0);
        let each = (bytes / (bytes / page).ceil().max(1.0)).round().max(1.0) as u64;
        // Full programs twice, and what is outstanding.
        let programs = [&k.stripes, &k.stripe_pages].map(|q| u64::from(q.at(self.of.corner).get()));
        let most = (2 * programs[0] * programs[1] * each) as f64 + f64::from(n) * bytes;
        for (disk, drive) in (0..).zip(&mut self.drives) {
            let Inside::Flash(flash) = &mut drive.inside else { continue };
            for (stripe, ends) in flash.fill(each, most as u64) {
                self.due.add(ends, Event::Programmed(disk, stripe as u32));
            }
        }
    }

    /// How long heads or stripes have worked, seconds.
    fn worked(&self) -> f64 {
        let of = |drive: &Drive| match &drive.inside {
            Inside::Flash(flash) => flash.worked,
            Inside::Disk(_) => 0.0,
        };
        self.heads + self.drives.iter().map(of).sum::<f64>()
    }

    /// Something of a command is through.
    fn deal(&mut self, event: Event, now: f64) {
        match event {
            Event::Issued(_) => {}
            Event::Sent(at) => self.send(at, now),
            Event::Arrived(at) => self.arrived(at, now),
            Event::Page(at, bytes) => self.page(at, bytes, now),
            Event::Programmed(disk, stripe) => self.programmed(disk, stripe, now),
            Event::Done(at) => self.over(at, now),
        }
    }

    /// A stripe leaves a cache.
    fn destage(&mut self, step: Step, now: f64) {
        touched(&step).for_each(|disk| self.at_drive[disk] += 1);
        let reads = !step.reads.is_empty();
        let at = self.steps.add(Under { step, steps: 1, ..Under::default() });
        self.make(at, reads, now);
    }

    fn issue(&mut self, io: u32, now: f64) {
        let at = pass(&mut self.host, self.of.host, now);
        self.due.add(at, Event::Issued(io));
    }

    /// An I/O is at its array: what is read for it goes before what may be written at once, whose parity is made first.
    fn begin(&mut self, io: u32, steps: Vec<Step>, now: f64) {
        let all = steps.len() as u32;
        self.left[io as usize] = all;
        let (read, written): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| !step.reads.is_empty());
        for step in read.into_iter().chain(written) {
            let reads = !step.reads.is_empty();
            let at = self.steps.add(Under { io, step, steps: all, ..Under::default() });
            self.make(at, reads, now);
        }
    }

    /// Makes the commands of a step that read, or write. Of the first a host's processor takes no longer than of any
    /// I/O.
    fn make(&mut self, at: u32, read: bool, now: f64) {
        let Under { io, step, steps, .. } = std::mem::take(&mut self.steps.all[at as usize]);
        let parity = if read { 0.0 } else { step.parity as f64 * self.of.parity };
        let from = if self.of.by_host { pass(&mut self.host, parity, now) } else { now + parity };
        let (mut left, mut first) = (0, self.of.by_host && (read || step.reads.is_empty()));
        for piece in if read { &step.reads } else { &step.writes } {
            for (from_it, bytes) in cut(piece.bytes, self.of.largest) {
                let takes = if std::mem::take(&mut first) { 0.0 } else { self.of.given };
                let goes = pass(if self.of.by_host { &mut self.host } else { &mut self.adapter }, takes, from);
                let (disk, offset) = (piece.disk as u32, piece.offset + from_it);
                let one = Command { step: at, disk, read, offset, bytes, ..Command::default() };
                let command = self.commands.add(one);
                self.due.add(goes, Event::Sent(command));
                left += 1;
            }
        }
        self.steps.all[at as usize] = Under { io, step, left, waits: 0.0, steps };
    }

    /// A command is to go to its drive: at once where there is a place.
    fn send(&mut self, at: u32, now: f64) {
        let command = &mut self.commands.all[at as usize];
        command.since = now;
        let drive = &mut self.drives[command.disk as usize];
        if drive.there >= self.of.depth {
            drive.places.push_back(at);
            return;
        }
        drive.there += 1;
        self.go(at, now);
    }

    fn go(&mut self, at: u32, now: f64) {
        let command = &mut self.commands.all[at as usize];
        let under = &mut self.steps.all[command.step as usize];
        under.waits = under.waits.max(now - command.since);
        command.since = now;
        match (self.of.device, command.read) {
            (Device::Ssd(_), true) => {
                let drive = &mut self.drives[command.disk as usize];
                let held = match &mut drive.inside {
                    Inside::Flash(flash) => flash.held(command.bytes, now),
                    Inside::Disk(_) => 0.0,
                };
                // Behind others, it takes what so much more of a long read does.
                let behind = drive.read + command.bytes as f64 * self.slope;
                drive.read = behind.max(now + (self.read)(command.bytes));
                self.due.add(drive.read + held, Event::Done(at));
            }
            _ => self.due.add(now + self.of.lead, Event::Arrived(at)),
        }
    }

    /// A command has come to its drive.
    fn arrived(&mut self, at: u32, now: f64) {
        let Command { disk, read, offset, bytes, .. } = self.commands.all[at as usize];
        let (of, drive) = (self.of, &mut self.drives[disk as usize]);
        match &mut drive.inside {
            Inside::Flash(flash) => {
                if flash.admit(at, bytes) {
                    self.come(at, now);
                }
            }
            Inside::Disk(heads) => {
                let s = heads.serve(read, offset, bytes, ((now + of.command) * 1e15) as u64);
                self.heads += seconds(heads.worked());
                // What is read waits for its data, which follow as they come; a write for its own, and the media.
                let done = match (read, s.early) {
                    (true, _) => seconds(s.ready(bytes)).max(pass(&mut drive.wire, bytes as f64 * of.wire, now)),
                    (false, true) => pass(&mut drive.wire, bytes as f64 * of.wire, seconds(s.begin)),
                    (false, false) => seconds(s.end).max(pass(&mut drive.wire, bytes as f64 * of.wire, now)),
                };
                self.due.add(done, Event::Done(at));
            }
        }
    }

    /// Data of a command come, page by page: there is room for them.
    fn come(&mut self, at: u32, now: f64) {
        let (of, Command { disk, bytes, .. }) = (self.of, self.commands.all[at as usize]);
        let drive = &mut self.drives[disk as usize];
        let begun = pass(&mut drive.processor, of.command, now);
        let mut left = 0;
        for (_, part) in cut(bytes, of.page()) {
            left += 1;
            self.due.add(pass(&mut drive.wire, part as f64 * of.wire, begun), Event::Page(at, part));
        }
        self.commands.all[at as usize].left = left;
    }

    /// A page is in a drive's buffer.
    fn page(&mut self, at: u32, bytes: u64, now: f64) {
        let disk = self.commands.all[at as usize].disk;
        let Inside::Flash(flash) = &mut self.drives[disk as usize].inside else { return };
        if let (stripe, Some(ends)) = flash.page(if self.cached { NOBODY } else { at }, bytes, now) {
            self.due.add(ends, Event::Programmed(disk, stripe as u32));
        }
        if self.cached {
            self.through(at, now);
        }
    }

    /// A stripe is programmed.
    fn programmed(&mut self, disk: u32, stripe: u32, now: f64) {
        let Inside::Flash(flash) = &mut self.drives[disk as usize].inside else { return };
        let (pages, next, come) = flash.programmed(stripe as usize, now);
        if let Some(ends) = next {
            self.due.add(ends, Event::Programmed(disk, stripe));
        }
        for (at, _) in pages.into_iter().filter(|page| page.0 != NOBODY) {
            self.through(at, now);
        }
        come.into_iter().for_each(|at| self.come(at, now));
    }

    /// A page of a command is done.
    fn through(&mut self, at: u32, now: f64) {
        let command = &mut self.commands.all[at as usize];
        command.left -= 1;
        if command.left == 0 {
            self.over(at, now);
        }
    }

    /// A command is done.
    fn over(&mut self, at: u32, now: f64) {
        let Command { step, disk, read: reads, since, .. } = self.commands.remove(at);
        self.held += now - since;
        let drive = &mut self.drives[disk as usize];
        match drive.places.pop_front() {
            Some(next) => self.go(next, now),
            None => drive.there -= 1,
        }
        let under = &mut self.steps.all[step as usize];
        under.left -= 1;
        if under.left > 0 {
            return;
        }
        self.place += under.waits / f64::from(under.steps);
        if reads {
            self.make(step, false, now + self.of.again);
            return;
        }
        let Under { io, step, .. } = self.steps.take(step);
        if !self.at_drive.is_empty() {
            touched(&step).for_each(|disk| self.at_drive[disk] -= 1);
            return;
        }
        self.left[io as usize] -= 1;
        if self.left[io as usize] == 0 {
            self.done += 1;
            self.issue(io, now);
        }
    }
}

/// Drives that a step writes to, each once.
fn touched(step: &Step) -> impl Iterator<Item = usize> {
    let mut all: Vec<usize> = step.writes.iter().map(|p| p.disk).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

/// Parts of so many bytes, each as large as may be, and where each begins.
fn cut(bytes: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(most)).map(move |i| (i * most, most.min(bytes - i * most)))
}

/// Bytes whose time is worked out at most; beyond, it grows as it did last.
const FARTHEST: u64 = 1 << 19;

/// A time for so many bytes: worked out once for each power of two, and straight between them.
fn straight(of: impl Fn(f64) -> f64) -> impl Fn(u64) -> f64 {
    let known = RefCell::new(BTreeMap::new());
    move |bytes| {
        let below = 1 << bytes.clamp(512, FARTHEST).ilog2();
        let at = |bytes: u64| *known.borrow_mut().entry(bytes).or_insert_with(|| of(bytes as f64));
        let (fewer, more) = (at(below), at(2 * below));
        (fewer + (more - fewer) * (bytes as f64 - below as f64) / below as f64).max(0.0)
    }
}

fn seconds(fs: u64) -> f64 {
    Time::from_fs(fs).seconds()
}

/// The array of a write that is followed, if it is one, a drive, its number, and how many are followed at most; `None`
/// of all else.
fn drives_of<'a>(
    storage: &'a Storage,
    corner: Corner,
    flow: &IoFlow,
    k: Kind,
) -> Option<(Option<&'a Array>, &'a Device, u32, u32)> {
    let first = *storage.targets_of(flow.volume).first()?;
    let array = match flow.volume {
        Volume::Array(a) => Some(&storage.arrays[a as usize]),
        Volume::Target(_) => None,
        Volume::Station(_) => return None,
    };
    let device = &storage.targets[first as usize].device;
    let disk = |t: &u32| matches!(storage.targets[*t as usize].device, Device::Disk(_));
    if array.is_some_and(|a| a.disks.iter().any(|t| disk(t) != disk(&first))) {
        return None;
    }
    let reads = || flow.lines.iter().any(|l| l.read > 0 || l.reply.0 > 0 || l.trim > 0);
    let page = match (device, array) {
        // Kinds of one drive share its programs.
        (Device::Ssd(d), a)
            if a.is_none_or(|a| a.disks.len() == 1) && nothing_holds_up(d, corner) && kinds(&flow.lines).len() > 1 =>
        {
            None
        }
        (Device::Ssd(d), _) => {
            // A cache that is full lets in what is programmed: full programs.
            (!nothing_holds_up(d, corner) || !d.write_cache.typical).then(|| d.page.typical.f64())
        }
        // What reads beside moves the heads, too.
        (Device::Disk(_), Some(a)) if a.has_parity() && !reads() => Some(f64::INFINITY),
        _ => None,
    }?;
    let written = !k.read && !k.trim && flow.remote.is_none();
    let copies = if array.is_some_and(Array::mirrors) { 2.0 } else { 1.0 };
    let strip = array.map_or(f64::INFINITY, |a| a.keys.strip.typical.f64().max(1.0));
    let parts = copies * (k.bytes / page.min(strip).max(1.0) + 2.0);
    (written && parts <= MOST).then_some((array, device, first, (MOST / parts) as u32))
}

/// Whether a drive's programs wait for nothing but their data.
fn nothing_holds_up(d: &Ssd, corner: Corner) -> bool {
    !d.die_programs.typical && d.write_amplification.at(corner).0 <= 1.0
}

/// Whether writes of a kind are followed, or what a cache makes of them is.
pub(super) fn follows(storage: &Storage, corner: Corner, flow: &IoFlow, k: Kind) -> bool {
    let back = storage.adapter(flow).is_some_and(|own| own.writes_back());
    drives_of(storage, corner, flow, k).is_some() && (!back || behind_cache(storage, flow, k).is_some())
}

/// The array of RAID 5 of writes that lie anywhere, behind an adapter's cache, and that adapter.
fn behind_cache<'a>(storage: &'a Storage, flow: &IoFlow, k: Kind) -> Option<(&'a Array, &'a Adapter)> {
    let Volume::Array(a) = flow.volume else { return None };
    let (a, own) = (&storage.arrays[a as usize], storage.adapter(flow)?);
    (own.writes_back() && a.has_parity() && k.random >= 1.0).then_some((a, own))
}

impl One<'_> {
    /// One of `n` writes that are followed, each of which is done when its drives have taken it in; so many cores issue
    /// them, and they have so large a part of the places at their drives. `full`: caches of drives are. `None` where
    /// they are not followed.
    pub(super) fn through(&self, k: Kind, (n, part, cores): (u32, f64, f64), full: bool) -> Option<Written> {
        let storage = &*self.plan.storage;
        let cached = |t: &u32| matches!(&storage.targets[*t as usize].device, Device::Ssd(d) if d.write_cache.typical);
        // What one takes whose cache has room does not have to be followed.
        let empty = !full && storage.targets_of(self.flow.volume).iter().any(cached);
        if empty || storage.adapter(self.flow).is_some_and(|own| own.writes_back()) {
            return None;
        }
        let alone = |all: &Drives, read: Reading| all.in_turn((1, false), k, read);
        self.follow(k, cores, |all, most, read| {
            // What one takes by itself at a drive is known better, frame by frame: that is on the way.
            let more = self.known_alone(k).and_then(|known| Some(known - alone(all, read)?.time)).unwrap_or(0.0);
            let few = n.min(most);
            let depth = (f64::from(all.depth) * part).round().max(1.0) as u32;
            let one = Drives { lead: (all.lead + more).max(0.0), depth, ..*all }.in_turn((few, full), k, read)?;
            // More than are followed only wait.
            Some(Written { time: one.time * f64::from(n) / f64::from(few), ..one })
        })
    }

    /// How long a write by itself takes, where that does not have to be followed: one command of one drive that nothing
    /// holds up.
    pub(super) fn known_alone(&self, k: Kind) -> Option<f64> {
        let storage = &*self.plan.storage;
        let (c, targets) = (self.corner, storage.targets_of(self.flow.volume));
        let [target] = targets[..] else { return None };
        let Device::Ssd(d) = &storage.targets[target as usize].device else { return None };
        let commands = nvme::drives(storage, self.flow).first().map_or(1.0, |d| nvme::commands(d.controller, c, k));
        (nothing_holds_up(d, c) && commands <= 1.0).then(|| self.in_time(k))
    }

    /// Seconds from one write to the next behind an adapter's cache that is full of those that lie anywhere. `None` of
    /// all else.
    pub(super) fn destaged(&self, k: Kind) -> Option<f64> {
        let storage = &*self.plan.storage;
        let (a, own) = behind_cache(storage, self.flow, k)?;
        let kept = a.kept_at_drive(storage, own, self.corner);
        self.follow(k, 1.0, |all, _, read| all.destaged(kept, k, read))
    }

    /// Follows writes to drives, at most so many outstanding, that so many cores issue.
    fn follow<T>(&self, k: Kind, cores: f64, of: impl Fn(&Drives, u32, Reading) -> Option<T>) -> Option<T> {
        let (storage, c, flow) = (&*self.plan.storage, self.corner, self.flow);
        let (array, device, first, most) = drives_of(storage, c, flow, k).filter(|_| self.ends == Ends::Usual)?;
        let target = &storage.targets[first as usize];
        let submit = flow.submit.at(c).seconds() + flow.complete.at(c).seconds();
        // What a drive takes beside its data, and its data.
        let (command, program, rate) = match device {
            Device::Ssd(d) => {
                let rate = d.rate.as_ref().map_or(0.0, |q| 1.0 / q.at(c).bytes());
                let program = if d.write_cache.typical { 0.0 } else { d.program_time.at(c).seconds() };
                (d.command_time.at(c).seconds(), program, rate)
            }
            Device::Disk(d) => (d.command_time.at(c).seconds(), 0.0, 0.0),
            _ => return None,
        };
        let one = |read: bool, bytes: f64| Kind { bytes, read, random: 0.0, anywhere: 0.0, ..k };
        let of_nvme =
            |drive: &nvme::Drive| (self.paces_of(drive)[0], drive.controller.keys.max_transfer.at(c).0.max(1));
        let (cores, beside) = (cores.max(1.0), command + program);
        let plain = Drives {
            device,
            storage,
            corner: c,
            array,
            flow,
            host: submit / cores,
            around: 0.0,
            given: 0.0,
            parity: 0.0,
            again: 0.0,
            command,
            lead: 0.0,
            wire: rate,
            largest: u64::MAX,
            depth: u32::MAX,
            by_host: true,
        };
        if let Some(drive) = nvme::drives(storage, flow).first() {
            let (wire, largest) = of_nvme(drive);
            let (host, wake) = (array.and_then(Array::host), self.wake());
            let all = Drives {
                around: wake,
                given: host.map_or(0.0, |h| h.command.at(c).seconds() / cores),
                parity: host.map_or(0.0, |h| 1.0 / h.parity.at(c).bytes().max(1.0) / cores),
                again: wake,
                lead: (self.of_queue(drive, one(false, 1.0)) - beside).max(0.0),
                wire: wire.max(rate),
                largest,
                ..plain
            };
            return of(&all, most, &straight(|bytes| self.of_queue(drive, one(true, bytes))));
        }
        let own = storage.adapter(flow)?;
        let keys = own.host_adapter()?;
        let (wire, largest) = match &storage.transports[target.transport as usize].medium {
            Medium::Serial { keys, .. } => {
                let strip = array.map_or(f64::INFINITY, |a| a.keys.strip.typical.f64());
                let (link, size) = (keys.at(c), k.bytes.min(strip).round().max(1.0));
                (link.write(size as u64).to_target as f64 / link.rate.bytes() / size, u64::MAX)
            }
            Medium::Inside => of_nvme(nvme::behind(storage, array?).first()?),
            Medium::Scsi { .. } => return None,
        };
        // Data for an array are in the adapter's memory, those for a drive by itself come from the host's.
        let (other, fetched, pace) = match array {
            Some(_) => (Other::Cache, self.to_cache(own, k), 0.0),
            None => (Other::Host, 0.0, self.paces[0]),
        };
        let at_drive = |read: bool, bytes: f64| self.target(own, first, one(read, bytes), bytes, other);
        let all = Drives {
            around: self.around(own) - submit + fetched,
            given: keys.drive_command_time.as_ref().map_or(0.0, |q| q.at(c).seconds()),
            parity: keys.xor_rate.as_ref().map_or(0.0, |q| 1.0 / q.at(c).bytes()),
            lead: (at_drive(false, 1.0) - beside).max(0.0),
            wire: wire.max(rate).max(pace),
            largest,
            depth: keys.queue_depth.at(c).get(),
            by_host: false,
            ..plain
        };
        of(&all, most, &straight(|bytes| at_drive(true, bytes)))
    }
}
