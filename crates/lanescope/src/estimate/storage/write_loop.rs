//! A closed load of writes that go through to drives, followed one by one. Where a drive's buffer is a cache, it is
//! full.
//!
//! Each begins where it is drawn and becomes the commands that the array makes of it ([`Array::spread`]): those that
//! read old data and parity, then those that write. Pages come one behind the other over a drive's wire and go to its
//! stripes ([`stripes`](super::stripes)); heads go where commands are, in the order in which these come ([`Heads`], as
//! in a run). The last of all decides.
//!
//! Not in it: credits, the host's bus, and that drives of one array have other wires or pages than its first.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::shape::parts;
use crate::estimate::storage::stripes::{Flash, NOBODY};
use crate::estimate::storage::{Kind, flash};
use crate::plan::storage::{Array, Device, Heads, LOOKED_AT, Piece, Spread};
use crate::scenario::quantity::Corner;
use crate::tools::{Slab, mixed};
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};

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
#[derive(Clone, Debug)]
pub(super) struct Drives<'a> {
    /// What its drives are, in their order.
    pub(super) devices: Vec<&'a Device>,
    pub(super) corner: Corner,
    /// `None` of a drive by itself.
    pub(super) array: Option<&'a Array>,
    /// Where the part of it that is used begins, and how many bytes it has.
    pub(super) start: u64,
    pub(super) range: u64,
    /// Workers' processors for each I/O.
    pub(super) host: f64,
    /// On the way to the array and back.
    pub(super) around: f64,
    /// To make each command of a drive, and a byte of what a parity is made of: a worker's processor where the host
    /// runs the array, else the adapter's and its parity engine.
    pub(super) given: f64,
    pub(super) parity: f64,
    /// Between what is read and what is written then.
    pub(super) again: f64,
    /// A drive's processor for each command: of a solid-state drive it deals with one at a time.
    pub(super) command: f64,
    /// A command that writes, beside that, its data and programs or heads; a byte of these on its wire.
    pub(super) lead: f64,
    pub(super) wire: f64,
    /// A byte of what a drive reads, on its way to the array.
    pub(super) back: f64,
    /// The most that a command moves, and commands that the adapter has at a drive at most.
    pub(super) largest: u64,
    pub(super) depth: u32,
    /// Whether its host runs it.
    pub(super) by_host: bool,
    /// How long a solid-state drive reads so many bytes of old data.
    pub(super) reading: Reading,
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

impl<'a> Drives<'a> {
    /// Where the `j`-th I/O begins: anywhere, or behind the one before.
    fn place(&self, k: Kind, size: u64, j: u64) -> u64 {
        let by_chance = mixed(j);
        let places = |step: u64| self.range.saturating_sub(size) / step + 1;
        let random = (by_chance >> 32) as f64 / 2.0_f64.powi(32) < k.random;
        let step = if k.random > 0.0 { k.align.max(1) } else { k.step.max(1) };
        self.start + step * if random { mixed(by_chance) % places(step) } else { j % places(step) }
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
    pub(super) fn destaged(&self, kept: u32, k: Kind) -> Option<f64> {
        let enough = self.enough(k).max(LOOKED_AT as u64);
        let mut run = Run::new(self, 0);
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

    /// What one of `n` writes of a kind that are outstanding comes to, each of which is issued again when it is done;
    /// `full`: caches are.
    pub(super) fn in_turn(&self, (n, full): (u32, bool), k: Kind) -> Option<Written> {
        let enough = self.enough(k).max(u64::from(n) * TIMES);
        let mut run = Run::new(self, n);
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

    /// All that a result hangs on, beside what the caller adds.
    pub(super) fn key(&self, k: Kind, once: &[u64]) -> Vec<u64> {
        let array = self.array.map(|a| (a.keys.level.typical, a.keys.strip.typical, a.host().is_some()));
        let mut told = Digest([DefaultHasher::new(), DefaultHasher::new()]);
        // A digest takes any text.
        let _ = write!(told, "{:?}", (k, array, Drives { array: None, ..self.clone() }));
        once.iter().copied().chain(told.0.map(|hash| hash.finish())).collect()
    }

    /// How long old data of so many bytes keep a drive busy, of which others wait for it: its link, all of its
    /// channels, or all of its dies.
    fn busy(&self, bytes: u64) -> f64 {
        let Device::Ssd(d) = self.device() else { return 0.0 };
        let (of, one) = ((self.corner, Ends::Usual), Kind::new(1.0, bytes as f64, true, 1));
        let mut most = bytes as f64 * self.back;
        flash::ask(d, of, 0, one, 1.0, &mut |_, capacity, asked| most = most.max(asked / capacity));
        most
    }

    /// The first of its drives: what they are like.
    fn device(&self) -> &'a Device {
        self.devices[0]
    }

    /// I/Os of a kind that are followed at least.
    fn enough(&self, k: Kind) -> u64 {
        let strip = self.array.map_or(u64::MAX, |a| a.keys.strip.typical.0.max(1));
        let each = (k.bytes / self.page().min(strip) as f64).ceil().max(1.0);
        ((PAGES / each) as u64).min(DRAWN)
    }

    /// Bytes of a page, or at most of what goes to a disk at once.
    fn page(&self) -> u64 {
        match self.device() {
            Device::Ssd(k) => k.page.typical.0.max(1),
            _ => u64::MAX,
        }
    }
}

/// A digest of 128 bits: what has the same is taken for the same.
struct Digest([DefaultHasher; 2]);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let [one, other] = &mut self.0;
        one.write(text.as_bytes());
        other.write_u8(1);
        other.write(text.as_bytes());
        Ok(())
    }
}

/// Bytes whose time is worked out at least, and at most; beyond, it grows as it did last.
const LEAST: u64 = 512;
const FARTHEST: u64 = 1 << 19;

/// Seconds for so many bytes: worked out for each power of two, and straight between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading(Vec<f64>);

impl Reading {
    pub(super) fn new(of: impl Fn(f64) -> f64) -> Reading {
        Reading((LEAST.ilog2()..=FARTHEST.ilog2() + 1).map(|power| of((1_u64 << power) as f64)).collect())
    }

    fn of(&self, bytes: u64) -> f64 {
        let power = bytes.clamp(LEAST, FARTHEST).ilog2();
        let below = (1_u64 << power) as f64;
        let [fewer, more] = [0, 1].map(|i| self.0[(power - LEAST.ilog2()) as usize + i]);
        (fewer + (more - fewer) * (bytes as f64 - below) / below).max(0.0)
    }
}

/// A closed load under way.
struct Run<'a> {
    of: &'a Drives<'a>,
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
    fn new(of: &'a Drives<'a>, n: u32) -> Run<'a> {
        let inside = |(place, device): (usize, &&'a Device)| match device {
            Device::Disk(k) => Some(Inside::Disk(Box::new(Heads::new(k, of.corner, place)))),
            Device::Ssd(k) => Some(Inside::Flash(Flash::new(k, of.corner, place))),
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
        Run {
            of,
            due: Due::default(),
            host: 0.0,
            adapter: 0.0,
            drives: of.devices.iter().enumerate().filter_map(inside).map(one).collect(),
            steps: Slab::new(),
            commands: Slab::new(),
            left: vec![0; n as usize],
            done: 0,
            at_drive: Vec::new(),
            place: 0.0,
            held: 0.0,
            heads: 0.0,
            cached: matches!(of.device(), Device::Ssd(k) if k.write_cache.typical),
        }
    }

    /// Lets caches be full of pages of writes of so many bytes, of which there are so many.
    fn fill(&mut self, n: u32, bytes: f64) {
        let Device::Ssd(k) = self.of.device() else { return };
        let page = k.page.typical.f64().max(1.0);
        let each = (bytes / (bytes / page).ceil().max(1.0)).round().max(1.0) as u64;
        // Full programs twice, and what is outstanding.
        let programs = [&k.stripes, &k.stripe_pages].map(|q| f64::from(q.at(self.of.corner).get()));
        let most = 2.0 * programs[0] * programs[1] * each as f64 + f64::from(n) * bytes;
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
        match (self.of.device(), command.read) {
            (Device::Ssd(_), true) => {
                let busy = self.of.busy(command.bytes);
                let drive = &mut self.drives[command.disk as usize];
                let held = match &mut drive.inside {
                    Inside::Flash(flash) => flash.held(command.offset, command.bytes, now),
                    Inside::Disk(_) => 0.0,
                };
                let behind = drive.read + busy;
                drive.read = behind.max(now + self.of.reading.of(command.bytes));
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

fn seconds(fs: u64) -> f64 {
    Time::from_fs(fs).seconds()
}
