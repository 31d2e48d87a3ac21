//! Reads of a solid-state drive that are followed page by page, each to a place that is drawn: one by itself, as many
//! of a kind as are outstanding, or those of several flows.
//!
//! Where the log has put their pages, two may lie on one die or behind one channel, and the last of them ends a read.
//! How many meet there is by chance, and how long the last takes is no sum of means. The draws are the same whatever
//! the drive is like, and of twice as many channels or dies each lies in its half of the same place: what makes a drive
//! faster makes no read by itself slower by chance, and those of several by about one per cent.
//!
//! Not in it: programs that hold up reads, which come on top ([`programs`](super::programs)), what writes beside reads
//! put on the way to the drive, and that flows have queue pairs of their own: those of one number count as one.

use crate::estimate::storage::Kind;
use crate::estimate::storage::lane::{Data, Lane};
use crate::estimate::storage::queueing::Station;
use crate::estimate::storage::reads::{Command, Commands, Reads, Wire, sense};
use crate::scenario::keys::{Arrivals, Ssd};
use crate::scenario::quantity::Corner;
use crate::tools::mixed;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Pages of a command that are worked on at once.
const WINDOW: usize = 64;

/// Pages of all reads that are outstanding, up to which they are followed: of more hardly any channel is ever without
/// one.
const MOST: u64 = 4096;

/// Reads that follow one another on one page, up to which they are followed.
const ON_ONE: u64 = 128;

/// How often each of those outstanding is followed, at least. Of those of one flow so many pages in all: how unevenly
/// they lie on the dies is one draw for all that wait together, so that what 64 of them come to is known to two per
/// cent only once each was followed a hundred times. Of each of several flows so many I/Os, but not once all have had
/// so many pages, or as many as are outstanding so often.
const TIMES: u64 = 6;
const OF_ONE: u64 = 20_000;
const OF_EACH: u64 = 2400;
const PAGES: u64 = 120_000;
const ROUNDS: u64 = 120;

/// How often a die may work for itself before it senses a page.
const IN_A_ROW: u32 = 100;

/// Dies that are told apart.
const APART: u64 = 1 << 14;

/// Seconds of one read by itself from its arrival until its last data are on their way over a link, or over what is
/// slower behind it: the mean, or the least. Its commands go one beside the other.
pub(in crate::estimate) fn alone(
    k: &Ssd,
    corner: Corner,
    (kind, cut): (Kind, Commands),
    wire: Wire,
    least: bool,
) -> f64 {
    let drive = Reads::new(k, corner, (kind, cut), wire);
    if least {
        return drive.least(sense(k, corner, true), kind.bytes);
    }
    let size = kind.bytes;
    if drive.whole && drive.house.0 == 0.0 {
        return drive.mean + size * (drive.channel + drive.own) + wire.opens() + size * wire.byte;
    }
    known(drive.key(), || {
        let enough = match drive.reads() {
            few if few < drive.places => few,
            many => many.next_multiple_of(drive.places),
        };
        let ask = Ask::Reads { reads: &drive, rest: 0.0, behind: 0.0, stations: &[] };
        let of_all = Run::new(&[Load { n: 1, cores: &[0], pace: None, kinds: vec![(1.0, ask)], enough }])
            .follow(u32::MAX, u64::MAX);
        vec![of_all[0][0].inside * drive.longer]
    })[0]
}

/// Seconds of one of `n` reads that are outstanding at a drive and come there by some stations, when it would take so
/// long by itself and takes its link as a station. `None` where they are not followed: each is one page anywhere, many
/// lie on one page, or they are very many.
pub(in crate::estimate) fn among(
    k: &Ssd,
    corner: Corner,
    (kind, cut): (Kind, Commands),
    wire: Wire,
    (n, time): (u32, f64),
    (stations, link): (&[Station], &Station),
) -> Option<f64> {
    let drive = Reads::new(k, corner, (kind, cut), wire);
    // Of small ones that follow one another several lie on one page; of very many, too few pages were followed.
    let on_one = drive.on_one();
    let chance = n > 1 && on_one <= ON_ONE && !(drive.whole && drive.random && drive.house.0 == 0.0);
    if !chance || u64::from(n) * drive.touched() > MOST {
        return None;
    }
    let inside = alone(k, corner, (kind, cut), wire, false);
    let ask = Ask::of(&drive, kind, (inside, time), (stations, link));
    let enough = (drive.reads() / 2 * on_one).max(OF_ONE / drive.touched()).max(TIMES * u64::from(n));
    let mut key = ask.key();
    key.push(n.into());
    let each = known(key, || {
        let load = Load { n, cores: &[0], pace: None, kinds: vec![(1.0, ask)], enough };
        vec![Run::new(&[load]).follow(u32::MAX, u64::MAX)[0][0].each]
    })[0];
    // What is not in the drive comes once, however long a read is.
    let outside = (time - inside).max(passed(stations));
    Some((each + (each - outside).max(0.0) * (drive.longer - 1.0)).max(time))
}

/// I/Os of a flow at a drive: how many are outstanding, the cores that begin them, how many of them come in a second
/// where they keep to a rate, and of each kind the part that is of it.
#[derive(Clone, Debug)]
pub(in crate::estimate) struct Source {
    pub(in crate::estimate) n: u32,
    pub(in crate::estimate) cores: Vec<usize>,
    pub(in crate::estimate) rate: Option<(f64, Arrivals)>,
    pub(in crate::estimate) kinds: Vec<(f64, Io)>,
}

/// An I/O: a read, with how it is cut, its link, its seconds by itself, what it passes on its way to the drive, and its
/// link as a station; or what waits for no read, with its seconds.
#[derive(Clone, Debug)]
pub(in crate::estimate) enum Io {
    Read { kind: Kind, cut: Commands, wire: Wire, time: f64, stations: Vec<Station>, link: Station },
    Other(f64),
}

/// What several flows wait for at a drive: seconds of an I/O of each of their kinds, and of that at the adapter for one
/// of so many places (`depth`). `None` where they are not followed.
pub(in crate::estimate) fn of_several(
    k: &Ssd,
    corner: Corner,
    sources: &[Source],
    depth: u32,
) -> Option<Vec<Vec<(f64, f64)>>> {
    let reads_of = |io: &Io| match io {
        Io::Read { kind, cut, wire, .. } => Some(Reads::new(k, corner, (*kind, *cut), *wire)),
        Io::Other(_) => None,
    };
    let all: Vec<Vec<Option<Reads>>> =
        sources.iter().map(|s| s.kinds.iter().map(|(_, io)| reads_of(io)).collect()).collect();
    // Of those outstanding as many are of a kind as are drawn.
    let pages = |(s, all): (&Source, &Vec<Option<Reads>>)| {
        let drawn: f64 = s.kinds.iter().map(|(part, _)| part).sum();
        let touched = |((part, _), reads): (&(f64, Io), &Option<Reads>)| match reads {
            Some(reads) if drawn > 0.0 => part / drawn * reads.touched() as f64,
            _ => 0.0,
        };
        (f64::from(s.n) * s.kinds.iter().zip(all).map(touched).sum::<f64>()).ceil() as u64
    };
    let outstanding: u64 = sources.iter().zip(&all).map(pages).fold(0, u64::saturating_add);
    let mut reads = all.iter().flatten().flatten();
    if outstanding > MOST || reads.any(|r| r.longer > 1.0 || r.on_one() > ON_ONE) {
        return None;
    }
    let mut key = vec![u64::from(depth)];
    let mut loads = Vec::with_capacity(sources.len());
    for (source, all) in sources.iter().zip(&all) {
        let pace = source.rate.map(|(rate, arrivals)| (rate, arrivals == Arrivals::Poisson));
        key.extend([source.n.into(), source.cores.len() as u64, source.kinds.len() as u64]);
        key.extend(source.cores.iter().map(|c| *c as u64));
        key.extend(pace.map_or([0, 0], |(rate, by_chance)| [rate.to_bits(), by_chance.into()]));
        let mut kinds = Vec::with_capacity(all.len());
        for ((part, io), reads) in source.kinds.iter().zip(all) {
            let ask = match (io, reads) {
                (Io::Read { kind, cut, wire, time, stations, link }, Some(reads)) => {
                    let inside = alone(k, corner, (*kind, *cut), *wire, false);
                    Ask::of(reads, *kind, (inside, *time), (stations, link))
                }
                (Io::Read { time, .. } | Io::Other(time), _) => Ask::Other(*time),
            };
            key.push(part.to_bits());
            key.extend(ask.key());
            kinds.push((*part, ask));
        }
        let on_one = all.iter().flatten().map(Reads::on_one).max().unwrap_or(1);
        let enough = (OF_EACH * on_one).max(TIMES * u64::from(source.n));
        loads.push(Load { n: source.n, cores: &source.cores, pace, kinds, enough });
    }
    let flat = known(key, || {
        let of_all = Run::new(&loads).follow(depth, PAGES.max(outstanding * ROUNDS));
        of_all.iter().flatten().flat_map(|f| [f.each, f.place]).collect()
    });
    let mut all = flat.chunks_exact(2).map(|f| (f[0], f[1]));
    Some(loads.iter().map(|l| all.by_ref().take(l.kinds.len()).collect()).collect())
}

/// What following reads came to, by all that it hangs on: estimates ask again for other corners, and for upgrades that
/// leave the drive as it is.
pub(super) fn known(key: Vec<u64>, follow: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
    thread_local! { static KNOWN: RefCell<HashMap<Vec<u64>, Vec<f64>>> = RefCell::default() }
    if let Some(times) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return times;
    }
    let times = follow();
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KNOWN_AT_MOST {
            known.clear();
        }
        known.insert(key, times.clone());
    });
    times
}

/// Results that are kept.
const KNOWN_AT_MOST: usize = 4096;

/// Pages of different planes of a die that are sensed together.
#[derive(Clone, Copy)]
struct Batch {
    begins: f64,
    ends: f64,
    planes: u64,
}

/// What senses one page at a time; or a batch of several planes.
#[derive(Default)]
struct Die {
    free: f64,
    batches: Vec<Batch>,
    /// Intervals in which it has worked for itself.
    intervals: u64,
}

impl Die {
    /// It works for itself, where that is before a page that is to be sensed now: a part of its time, so long at once.
    fn keeps_house(&mut self, at: usize, (part, once): (f64, f64), now: f64) {
        if part <= 0.0 {
            return;
        }
        // What an idle one has done before does not matter; and who has nearly no time left stays late.
        let every = once / part;
        let before = if self.free <= now { (now - once) / every } else { 0.0 };
        self.intervals = self.intervals.max(before as u64);
        for _ in 0..IN_A_ROW {
            // At some moment of its next interval.
            let drawn = mixed(mixed(at as u64) ^ self.intervals) >> 11;
            let next = (self.intervals as f64 + drawn as f64 / (1_u64 << 53) as f64) * every;
            if next > now.max(self.free) {
                break;
            }
            self.free = self.free.max(next) + once;
            self.intervals += 1;
        }
    }

    /// Senses a page of a plane; when it is sensed. Batches that have not begun take it along, if it makes none behind
    /// them late.
    fn sense(&mut self, (plane, joint): (u64, u64), span: f64, now: f64) -> f64 {
        self.batches.retain(|b| b.ends > now);
        let last = self.batches.len().saturating_sub(1);
        let fits = |(i, b): &(usize, &mut Batch)| {
            b.begins > now && b.planes & 1 << plane == 0 && (*i == last || b.begins + span <= b.ends)
        };
        if let Some((_, batch)) = self.batches.iter_mut().enumerate().find(fits) {
            batch.planes |= 1 << plane;
            batch.ends = batch.ends.max(batch.begins + span);
            self.free = self.free.max(batch.ends);
            return batch.begins + span;
        }
        let begins = self.free.max(now);
        self.free = begins + span;
        if joint > 1 {
            self.batches.push(Batch { begins, ends: self.free, planes: 1 << plane });
        }
        self.free
    }
}

/// I/Os of a flow that are followed: how many are outstanding, their cores, how many come in a second and whether by
/// chance, their kinds each with the part of all that is of it, and how many are enough.
struct Load<'a> {
    n: u32,
    cores: &'a [usize],
    pace: Option<(f64, bool)>,
    kinds: Vec<(f64, Ask<'a>)>,
    enough: u64,
}

/// Reads, with how long until one that is done comes again, the seconds of the link for what is no data of one, behind
/// them, and what it passes when it comes; or what takes so long whatever else there is.
enum Ask<'a> {
    Reads { reads: &'a Reads, rest: f64, behind: f64, stations: &'a [Station] },
    Other(f64),
}

/// What following I/Os of a kind came to: the mean of their time in the drive, of one outstanding from its end to the
/// next, or from when it is due, and of that waiting for its place.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    inside: f64,
    each: f64,
    place: f64,
}

/// One that is outstanding: of which load, core and kind, when it was due, asked for a place and got it; and commands
/// that are not done.
#[derive(Clone, Copy, Default)]
struct Slot {
    load: usize,
    core: usize,
    kind: usize,
    due: f64,
    asked: f64,
    begun: f64,
    left: usize,
}

/// One that was done: of which kind, when, and its time in the drive, from when it was due, and for a place.
#[derive(Clone, Copy)]
struct Done {
    kind: usize,
    ends: f64,
    inside: f64,
    each: f64,
    place: f64,
}

/// What happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// An I/O comes to a station; behind the last of them to the drive.
    Comes(u32),
    /// It has a place there.
    Enters,
    /// One that is no read is done.
    Ends,
    /// A command begins.
    Begins,
    /// A page of a command is sensed, is over its channel, and through the drive's own rate.
    Sensed(u32),
    Moved(u32),
    Through(u32),
    /// The lane of a serial link is to be looked at: the number of this event.
    Gone(u32),
}

/// Seconds of an I/O at stations.
fn passed(stations: &[Station]) -> f64 {
    stations.iter().map(|s| s.visits * s.service).sum()
}

impl<'a> Ask<'a> {
    /// Reads, each of which by itself takes so long in the drive and in all, with the stations on its way there and its
    /// link as one.
    fn of(
        reads: &'a Reads,
        kind: Kind,
        (inside, time): (f64, f64),
        (stations, link): (&'a [Station], &Station),
    ) -> Ask<'a> {
        let wire = reads.wire;
        let behind = (link.visits * link.service - wire.opens() - kind.bytes * wire.byte).max(0.0);
        Ask::Reads { reads, rest: (time - passed(stations) - inside).max(0.0), behind, stations }
    }

    /// All that they hang on.
    fn key(&self) -> Vec<u64> {
        match self {
            Ask::Reads { reads, rest, behind, stations } => {
                let mut key = reads.key();
                key.push(stations.len() as u64);
                key.extend([*rest, *behind].map(f64::to_bits));
                key.extend(stations.iter().flat_map(|s| [s.servers, s.visits, s.service]).map(f64::to_bits));
                key
            }
            // No drive has so many channels.
            Ask::Other(time) => vec![u64::MAX, time.to_bits()],
        }
    }

    fn reads(&self) -> Option<&'a Reads> {
        match self {
            Ask::Reads { reads, .. } => Some(reads),
            Ask::Other(_) => None,
        }
    }

    fn stations(&self) -> &'a [Station] {
        match self {
            Ask::Reads { stations, .. } => stations,
            Ask::Other(_) => &[],
        }
    }
}

impl Load<'_> {
    /// The I/O of a number: of which kind, and how much later than the one before it is due, where they keep to a rate.
    fn draw(&self, number: u64) -> (usize, f64) {
        let drawn = |salt: u64| (mixed(number ^ mixed(salt)) >> 11) as f64 / (1_u64 << 53) as f64;
        let kind = match self.kinds.len() {
            1 => 0,
            _ => {
                let (mut upto, drawn) = (0.0, drawn(1));
                let at = self.kinds.iter().position(|(part, _)| {
                    upto += part;
                    drawn < upto
                });
                at.unwrap_or(self.kinds.len() - 1)
            }
        };
        let later = self.pace.map_or(0.0, |(rate, by_chance)| match by_chance {
            true => -libm::log(1.0 - drawn(2)) / rate,
            false => 1.0 / rate,
        });
        (kind, later)
    }

    /// What its I/Os came to, of which these were done, by kind. What is at the beginning is over after a third.
    fn came_to(&self, done: &[Done]) -> Vec<Followed> {
        let (from, last) = (done.len() / 3, done.len().saturating_sub(1));
        let mean = |of: &mut dyn Iterator<Item = f64>| {
            let (sum, n) = of.fold((0.0, 0), |(sum, n), each| (sum + each, n + 1));
            if n > 0 { sum / f64::from(n) } else { 0.0 }
        };
        let of_kind = |kind: usize, ask: &Ask| {
            let mine = |from: usize| done[from..].iter().filter(move |d| d.kind == kind);
            let each = match (&self.pace, self.kinds.len()) {
                // By Little's law.
                (None, 1) => {
                    let between = done.last().zip(done.get(from)).map_or(0.0, |(last, from)| last.ends - from.ends);
                    f64::from(self.n) * between / (last - from).max(1) as f64
                }
                _ => mean(&mut mine(from).map(|d| d.each)),
            };
            let least = if let Ask::Other(time) = ask { *time } else { 0.0 };
            let inside = mean(&mut mine(0).map(|d| d.inside));
            Followed { inside, each: each.max(least), place: mean(&mut mine(from).map(|d| d.place)) }
        };
        self.kinds.iter().enumerate().map(|(kind, (_, ask))| of_kind(kind, ask)).collect()
    }
}

/// What happens when: moments are not negative, so their bits are in their order. Of what is at one moment, first what
/// was known first.
#[derive(Default)]
struct Agenda {
    due: BinaryHeap<Reverse<(u64, u32, u32, Step)>>,
    order: u32,
}

impl Agenda {
    fn add(&mut self, at: f64, who: usize, step: Step) {
        self.due.push(Reverse((at.to_bits(), self.order, who as u32, step)));
        self.order = self.order.wrapping_add(1);
    }

    fn next(&mut self) -> Option<(f64, usize, Step)> {
        self.due.pop().map(|Reverse((bits, _, who, step))| (f64::from_bits(bits), who as usize, step))
    }
}

/// A drive whose reads are followed, with what lies before and behind it.
struct Run<'a> {
    loads: &'a [Load<'a>],
    agenda: Agenda,
    /// Those that are outstanding; the first command of each, and whose each command is.
    slots: Vec<Slot>,
    first: Vec<usize>,
    slot_of: Vec<usize>,
    commands: Vec<Command>,
    /// When the servers of each station, the channels, the dies, the drive's own rate and the link are free.
    stations: Vec<Vec<f64>>,
    channels: Vec<f64>,
    dies: Vec<Die>,
    own: f64,
    wire: f64,
    lane: Lane,
    /// Commands that were given to the drive.
    given: u64,
    /// I/Os that have a place in the drive, and those that wait for one.
    inside: u32,
    waiting: VecDeque<usize>,
    /// Of each load I/Os that were begun, and when the last of them was due; of each of its kinds reads; all that are
    /// done.
    begun: Vec<(u64, f64)>,
    reads: Vec<Vec<u64>>,
    done: Vec<Vec<Done>>,
    /// Pages, and I/Os that are no reads, that have begun.
    pages: u64,
    /// Loads of which not enough are done.
    lacking: usize,
}

/// Servers of a station.
fn servers(s: &Station) -> usize {
    s.servers.round().clamp(1.0, 1024.0) as usize
}

impl<'a> Run<'a> {
    fn new(loads: &'a [Load<'a>]) -> Run<'a> {
        let asks = || loads.iter().flat_map(|l| &l.kinds).map(|(_, ask)| ask);
        let (mut slots, mut first, mut slot_of) = (Vec::new(), Vec::new(), Vec::new());
        for (load, l) in loads.iter().enumerate() {
            let commands = l.kinds.iter().filter_map(|(_, ask)| ask.reads()).map(Reads::commands_each).max();
            for core in l.cores.iter().cycle().take(l.n as usize) {
                first.push(slot_of.len());
                slot_of.resize(slot_of.len() + commands.unwrap_or(0), slots.len());
                slots.push(Slot { load, core: *core, ..Slot::default() });
            }
        }
        let cores = loads.iter().flat_map(|l| l.cores).map(|c| c + 1).max().unwrap_or(1);
        // Some flows pass more servers of a station than others: more queue pairs.
        let mut stations: Vec<usize> = Vec::new();
        for (i, s) in asks().flat_map(|ask| ask.stations().iter().enumerate()) {
            stations.resize(stations.len().max(i + 1), cores);
            stations[i] = stations[i].max(servers(s));
        }
        let (channels, dies) = asks().find_map(Ask::reads).map_or((0, 0), |r| (r.channels, r.channels * r.dies));
        let mut all = Vec::new();
        all.resize_with(dies.min(APART) as usize, Die::default);
        Run {
            loads,
            agenda: Agenda::default(),
            commands: vec![Command::default(); slot_of.len()],
            slots,
            first,
            slot_of,
            stations: stations.into_iter().map(|n| vec![0.0; n]).collect(),
            channels: vec![0.0; channels as usize],
            dies: all,
            own: 0.0,
            wire: 0.0,
            lane: Lane::default(),
            given: 0,
            inside: 0,
            waiting: VecDeque::new(),
            begun: vec![(0, 0.0); loads.len()],
            reads: loads.iter().map(|l| vec![0; l.kinds.len()]).collect(),
            done: loads.iter().map(|_| Vec::new()).collect(),
            pages: 0,
            lacking: loads.len(),
        }
    }

    /// Follows them, with so many places in the drive, until there are enough of each or so many pages, and I/Os that
    /// are no reads, have begun. What came of each load and its kinds.
    fn follow(mut self, depth: u32, pages: u64) -> Vec<Vec<Followed>> {
        (0..self.slots.len()).for_each(|who| self.next(who, 0.0));
        while let Some((now, who, step)) = self.agenda.next() {
            let command = match step {
                Step::Comes(i) => {
                    self.comes(i as usize, who, now, depth);
                    continue;
                }
                Step::Enters => {
                    self.enters(who, now);
                    continue;
                }
                Step::Ends if self.ends(who, now) || self.pages >= pages => break,
                Step::Ends => None,
                Step::Begins => self.goes_on(who, now).then_some(who),
                Step::Sensed(page) => {
                    self.sensed(who, page, now);
                    continue;
                }
                Step::Moved(page) if self.reads_of(who).own > 0.0 => {
                    let bytes = self.commands[who].parts[page as usize];
                    self.own = self.own.max(now) + bytes as f64 * self.reads_of(who).own;
                    self.agenda.add(self.own, who, Step::Through(page));
                    continue;
                }
                Step::Moved(page) | Step::Through(page) => {
                    self.commands[who].through[page as usize] = true;
                    self.goes_on(who, now).then_some(who)
                }
                Step::Gone(turn) => self.gone(turn, now),
            };
            let Some(command) = command else { continue };
            let slot = self.slot_of[command];
            self.slots[slot].left -= 1;
            if self.slots[slot].left > 0 {
                continue;
            }
            if self.ends(slot, now) || self.pages >= pages {
                break;
            }
        }
        self.loads.iter().zip(&self.done).map(|(load, done)| load.came_to(done)).collect()
    }

    /// A slot is free from now on: its next I/O.
    fn next(&mut self, who: usize, now: f64) {
        let slot = &mut self.slots[who];
        let (load, (number, last)) = (&self.loads[slot.load], &mut self.begun[slot.load]);
        let (kind, later) = load.draw(*number);
        *number += 1;
        *last += later;
        (slot.kind, slot.due) = (kind, now.max(*last));
        match &load.kinds[kind].1 {
            Ask::Reads { .. } => self.agenda.add(slot.due, who, Step::Comes(0)),
            Ask::Other(time) => {
                // Many of them may go by before a slow reader has had enough.
                self.pages += 1;
                self.agenda.add(slot.due + time, who, Step::Ends);
            }
        }
    }

    /// An I/O comes to a station, or behind the last of them to the drive.
    fn comes(&mut self, i: usize, who: usize, now: f64, depth: u32) {
        let slot = &mut self.slots[who];
        let load = &self.loads[slot.load];
        if let Some(s) = load.kinds[slot.kind].1.stations().get(i) {
            // Each core begins what is its own.
            let at = if i == 0 && self.loads.len() > 1 { slot.core } else { who % servers(s) };
            let free = &mut self.stations[i][at];
            *free = free.max(now) + s.visits * s.service;
            self.agenda.add(*free, who, Step::Comes(i as u32 + 1));
            return;
        }
        slot.asked = now;
        if self.inside < depth {
            self.inside += 1;
            self.enters(who, now);
        } else {
            self.waiting.push_back(who);
        }
    }

    /// An I/O has a place in the drive: its commands.
    fn enters(&mut self, who: usize, now: f64) {
        let slot = &mut self.slots[who];
        let Some(reads) = self.loads[slot.load].kinds[slot.kind].1.reads() else { return };
        let number = &mut self.reads[slot.load][slot.kind];
        (slot.begun, slot.left) = (now, reads.commands_each());
        // Different flows read different pages.
        let salt = if slot.load == 0 { 0 } else { mixed(slot.load as u64) };
        for (i, mut command) in reads.commands(*number, salt).enumerate() {
            command.number = self.given;
            self.given += 1;
            self.pages += command.parts.len() as u64;
            self.commands[self.first[who] + i] = command;
            self.agenda.add(now + i as f64 * reads.cut.apart, self.first[who] + i, Step::Begins);
        }
        *number += 1;
    }

    /// The reads that a command is of.
    fn reads_of(&self, command: usize) -> &'a Reads {
        let slot = &self.slots[self.slot_of[command]];
        // Nothing else has commands.
        self.loads[slot.load].kinds[slot.kind].1.reads().expect("a read has commands")
    }

    /// A page is sensed, and goes over its channel.
    fn sensed(&mut self, command: usize, page: u32, now: f64) {
        let (reads, c) = (self.reads_of(command), &self.commands[command]);
        let channel = reads.channel_of(c.page.wrapping_add(u64::from(page)));
        let free = &mut self.channels[channel];
        *free = free.max(now) + c.parts[page as usize] as f64 * reads.channel;
        self.agenda.add(*free, command, Step::Moved(page));
    }

    /// What is there of a command in order goes over the link, and more pages are sensed; whether all of it goes.
    fn goes_on(&mut self, command: usize, now: f64) -> bool {
        let (reads, c) = (self.reads_of(command), &mut self.commands[command]);
        let mut there = 0;
        while c.first < c.parts.len() && c.through[c.first] {
            there += c.parts[c.first];
            c.first += 1;
        }
        if there > 0 {
            match reads.wire.serial {
                Some(serial) => {
                    let data = Data { command, bytes: there as f64, byte: reads.wire.byte, serial };
                    let look = self.lane.add(c.number, data, now);
                    look.into_iter().for_each(|(at, turn)| self.agenda.add(at, 0, Step::Gone(turn)));
                }
                None => self.wire = self.wire.max(now) + there as f64 * reads.wire.byte,
            }
        }
        while c.asked < c.parts.len().min(c.first + WINDOW) {
            let page = c.page.wrapping_add(c.asked as u64);
            let (at, plane, span) = reads.place_and_time(page, self.dies.len());
            let die = &mut self.dies[at];
            die.keeps_house(at, reads.house, now);
            self.agenda.add(die.sense((plane, reads.joint), span, now), command, Step::Sensed(c.asked as u32));
            c.asked += 1;
        }
        c.first == c.parts.len() && reads.wire.serial.is_none()
    }

    /// The lane of a serial link is looked at: the status of a read whose data all have gone goes behind them, then the
    /// next data. Which command's are done.
    fn gone(&mut self, turn: u32, now: f64) -> Option<usize> {
        let last = self.lane.gone(turn)?.filter(|(command, rest)| {
            let c = &self.commands[*command];
            c.first == c.parts.len() && !rest
        });
        if let Some((command, _)) = last {
            let slot = self.slots[self.slot_of[command]];
            if let Ask::Reads { behind, .. } = self.loads[slot.load].kinds[slot.kind].1 {
                self.lane.status(now + behind);
            }
        }
        let next = self.lane.next(now);
        next.into_iter().for_each(|(at, turn)| self.agenda.add(at, 0, Step::Gone(turn)));
        last.map(|(command, _)| command)
    }

    /// An I/O is done: a read when its last data are over the link. Whether there are enough of all loads.
    fn ends(&mut self, who: usize, now: f64) -> bool {
        let slot = self.slots[who];
        let (kind, due) = (slot.kind, slot.due);
        match &self.loads[slot.load].kinds[kind].1 {
            Ask::Other(_) => {
                self.done[slot.load].push(Done { kind, ends: now, inside: now - due, each: now - due, place: 0.0 });
                self.next(who, now);
            }
            Ask::Reads { rest, behind, reads, .. } => {
                let ends = match reads.wire.serial {
                    Some(_) => now,
                    None => {
                        let ends = self.wire;
                        self.wire += behind;
                        ends
                    }
                };
                let (inside, place) = (ends - slot.begun, slot.begun - slot.asked);
                self.done[slot.load].push(Done { kind, ends, inside, each: ends - due + rest, place });
                self.next(who, ends + rest);
                match self.waiting.pop_front() {
                    Some(next) => self.agenda.add(ends, next, Step::Enters),
                    None => self.inside -= 1,
                }
            }
        }
        self.lacking -= usize::from(self.done[slot.load].len() as u64 == self.loads[slot.load].enough);
        self.lacking == 0
    }
}
