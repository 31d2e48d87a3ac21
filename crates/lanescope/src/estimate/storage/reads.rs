//! Reads in a solid-state drive, page by page: where the log has put their pages, two may lie on one die or behind one
//! channel, and the last of them ends a read.
//!
//! How many meet there is by chance, and how long the last takes is no sum of means: so some reads of a kind are
//! followed, one by itself or as many as are outstanding, each page to a place that is drawn. The draws are the same
//! whatever the drive is like, and of twice as many channels or dies each lies in its half of the same place: what
//! makes a drive faster makes no read by itself slower by chance, and those of several by about one per cent. At its
//! least a read finds all its pages on different channels.
//!
//! Not in it: programs that hold up reads, which come on top ([`programs`](super::programs)), and connections of SAS
//! that pages of one read open anew where they come apart.

use crate::estimate::storage::Kind;
use crate::estimate::storage::queueing::Station;
use crate::plan::storage::{Serial, Unit};
use crate::scenario::keys::{PlaneReads, Ssd};
use crate::scenario::quantity::{Corner, Quantity};
use crate::tools::{gcd, mixed};
use crate::units::Time;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Places of a command within a page that a mean is taken over, and pages beyond which their order does not matter to
/// the least.
pub(super) const PLACES: u64 = 64;

/// Pages of a command that are worked on at once.
const WINDOW: usize = 64;

/// Reads of a kind that are followed: their mean is within one per cent. Of long ones, in which chance evens out, so
/// many pages in all, but no fewer reads than `FEWEST`; and of those outstanding, each so often.
const READS: u64 = 1200;
const PAGES: u64 = 40_000;
const FEWEST: u64 = 16;
const TIMES: u64 = 6;

/// Pages, and commands, of a longer read that are followed: the others come as they do.
const LONGEST: u64 = 2048;

/// Pages of all reads that are outstanding, up to which they are followed: of more hardly any channel is ever without
/// one.
const MOST: u64 = 4096;

/// Reads that follow one another on one page, up to which they are followed.
const ON_ONE: u64 = 16;

/// How often a die may work for itself before it senses a page.
const IN_A_ROW: u32 = 100;

/// Channels, and dies, that are told apart.
const APART: u64 = 1 << 14;

/// Seconds to sense a lower, a middle and an upper page.
fn read_times(k: &Ssd, corner: Corner) -> [f64; 3] {
    let middle = k.read_time.at(corner).seconds();
    let other = |q: &Option<Quantity<Time>>| q.as_ref().map_or(middle, |q| q.at(corner).seconds());
    [other(&k.lower_read_time), middle, other(&k.upper_read_time)]
}

/// The mean of them; or the least.
pub(super) fn sense(k: &Ssd, corner: Corner, least: bool) -> f64 {
    let all = read_times(k, corner);
    if least { all.into_iter().fold(f64::INFINITY, f64::min) } else { all.iter().sum::<f64>() / 3.0 }
}

/// The part of a die's time that the drive takes for itself, and for how long at once, seconds.
pub(super) fn house(k: &Ssd, corner: Corner) -> (f64, f64) {
    let Some(time) = &k.housekeeping else { return (0.0, 0.0) };
    let every = k.housekeeping_interval.at(corner).seconds().max(1e-15);
    let time = time.at(corner).seconds().min(every);
    (time / every, time)
}

/// How a read is cut into commands: bytes of one at most, and how much later than the one before it each begins.
#[derive(Clone, Copy)]
pub(in crate::estimate) struct Cut {
    pub(in crate::estimate) most: u64,
    pub(in crate::estimate) apart: f64,
}

impl Cut {
    /// Not at all.
    pub(in crate::estimate) const NONE: Cut = Cut { most: u64::MAX, apart: 0.0 };
}

/// A link behind a drive: it opens for so long before the first data of a read, and takes so long for a byte.
pub(in crate::estimate) type Wire = (f64, f64);

/// That of a serial link, for so many bytes that follow one another: in their frames, with the gaps between.
pub(in crate::estimate) fn wire(link: &Serial, bytes: f64) -> Wire {
    let (frame, bytes) = (link.frame.max(1), (bytes.round() as u64).max(1));
    let (full, rest) = (bytes / frame, bytes % frame);
    let one = |n: u64| if n > 0 { link.bytes(Unit::Data(n as u32)) } else { 0 };
    let gaps = (bytes.div_ceil(frame) - 1) * link.gap(0, 0);
    let each = (full * one(frame) + one(rest) + gaps) as f64 / bytes as f64;
    (link.opening() as f64 / link.rate.bytes(), each / link.rate.bytes())
}

/// Seconds of one read by itself from its arrival until its last data are on their way over a link, or over what is
/// slower behind it: the mean, or the least. Its commands go one beside the other.
pub(in crate::estimate) fn alone(k: &Ssd, corner: Corner, (kind, cut): (Kind, Cut), wire: Wire, least: bool) -> f64 {
    let drive = Drive::new(k, corner, (kind, cut), wire);
    if least {
        return drive.least(sense(k, corner, true), kind.bytes);
    }
    let size = kind.bytes;
    if drive.whole && drive.house.0 == 0.0 {
        return drive.mean + size * (drive.channel + drive.own) + wire.0 + size * wire.1;
    }
    known(drive.key(), || {
        let reads = match drive.reads() {
            few if few < drive.places => few,
            many => many.next_multiple_of(drive.places),
        };
        let times = drive.follow(&Load { n: 1, rest: 0.0, behind: 0.0, stations: &[] }, reads).times;
        times.iter().sum::<f64>() / times.len() as f64 * drive.longer
    })
}

/// Seconds of one of `n` reads that are outstanding at a drive and come there by some stations, when it would take so
/// long by itself and takes its link as a station. `None` where they are not followed: each is one page anywhere, many
/// lie on one page, or they are very many.
pub(in crate::estimate) fn among(
    k: &Ssd,
    corner: Corner,
    (kind, cut): (Kind, Cut),
    wire: Wire,
    (n, time): (u32, f64),
    (stations, link): (&[Station], &Station),
) -> Option<f64> {
    let drive = Drive::new(k, corner, (kind, cut), wire);
    // Of small ones that follow one another several lie on one page; of very many, too few pages were followed.
    let on_one = if drive.random { 1 } else { (drive.page / drive.step).max(1) };
    let chance = n > 1 && on_one <= ON_ONE && !(drive.whole && drive.random && drive.house.0 == 0.0);
    if !chance || u64::from(n) * drive.touched() > MOST {
        return None;
    }
    let passed: f64 = stations.iter().map(|s| s.visits * s.service).sum();
    let inside = alone(k, corner, (kind, cut), wire, false) / drive.longer;
    let behind = (link.visits * link.service - wire.0 - kind.bytes * wire.1).max(0.0);
    let rest = (time - passed - inside * drive.longer).max(0.0);
    let reads = (drive.reads() / 2 * on_one).max(TIMES * u64::from(n));
    let mut key = drive.key();
    key.extend([u64::from(n), rest.to_bits(), behind.to_bits()]);
    key.extend(stations.iter().flat_map(|s| [s.servers, s.visits, s.service]).map(f64::to_bits));
    let each = known(key, || drive.follow(&Load { n, rest, behind, stations }, reads).each);
    Some((each + (each - rest - passed).max(0.0) * (drive.longer - 1.0)).max(time))
}

/// What following reads came to, by all that it hangs on: estimates ask again for other corners, and for upgrades that
/// leave the drive as it is.
fn known(key: Vec<u64>, follow: impl FnOnce() -> f64) -> f64 {
    thread_local! { static KNOWN: RefCell<HashMap<Vec<u64>, f64>> = RefCell::default() }
    if let Some(time) = KNOWN.with_borrow(|known| known.get(&key).copied()) {
        return time;
    }
    let time = follow();
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KNOWN_AT_MOST {
            known.clear();
        }
        known.insert(key, time);
    });
    time
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

/// A number of 32 bits as a place of so many.
fn place_of(bits: u64, of: u64) -> u64 {
    ((bits & u64::from(u32::MAX)) * of) >> 32
}

/// Reads that are outstanding: how many, how long until one that is done comes again, and what it passes then.
struct Load<'a> {
    n: u32,
    rest: f64,
    /// Seconds of the link for what is no data of a read, behind them.
    behind: f64,
    stations: &'a [Station],
}

/// What following them came to: of each its time in the drive, in the order of their ends; and of one outstanding from
/// its end to the next.
struct Followed {
    times: Vec<f64>,
    each: f64,
}

/// A read that is under way: when it came to the drive, and commands that are not done.
#[derive(Clone, Copy, Default)]
struct Read {
    begun: f64,
    left: usize,
}

/// A command of one.
#[derive(Clone, Default)]
struct Command {
    /// Its first page on the drive, and the bytes of each.
    page: u64,
    parts: Vec<u64>,
    asked: usize,
    /// Pages that are through, and the first that is not.
    through: Vec<bool>,
    first: usize,
}

/// What happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A read comes to a station; behind the last of them to the drive.
    Comes(u32),
    /// A command begins.
    Begins,
    /// A page of a command is sensed, is over its channel, and through the drive's own rate.
    Sensed(u32),
    Moved(u32),
    Through(u32),
}

/// A drive, and the reads that it gets.
struct Drive {
    channels: u64,
    /// What senses by itself on each channel, and how many planes of it sense together.
    dies: u64,
    joint: u64,
    times: [f64; 3],
    /// Seconds of a byte on a channel, and at the drive's own rate.
    channel: f64,
    own: f64,
    /// The part of a die's time that the drive takes for itself, and for how long at once: so long in each interval.
    house: (f64, f64),
    wire: Wire,
    page: u64,
    /// Bytes of one that are followed, and how much longer it is.
    size: u64,
    longer: f64,
    /// Each begins so far behind the one before; or anywhere, at one of so many places in a page, this far apart.
    step: u64,
    random: bool,
    places: u64,
    common: u64,
    /// Whether each is one page, and the mean time to sense one.
    whole: bool,
    mean: f64,
    cut: Cut,
}

impl Drive {
    fn new(k: &Ssd, corner: Corner, (kind, cut): (Kind, Cut), wire: Wire) -> Drive {
        let n = |q: u32| u64::from(q);
        let planes = n(k.planes.at(corner).get());
        let joint = if k.plane_reads.typical == PlaneReads::Together { planes } else { 1 };
        let (times, house) = (read_times(k, corner), house(k, corner));
        let (page, size) = (k.page.typical.0.max(1), (kind.bytes.round() as u64).max(1));
        let followed = size.min(page.saturating_mul(LONGEST)).min(cut.most.saturating_mul(LONGEST));
        // Where commands begin in a page: multiples of what their step and the page have in common.
        let common = gcd(kind.step.max(1), page);
        let all = page / common;
        Drive {
            channels: n(k.channels.at(corner).get()).min(APART),
            dies: (n(k.dies.at(corner).get()) * planes / joint).min(u64::from(u32::MAX)),
            joint,
            times,
            channel: 1.0 / k.channel_rate.at(corner).bytes(),
            own: k.rate.as_ref().map_or(0.0, |r| 1.0 / r.at(corner).bytes()),
            house,
            wire,
            page,
            size: followed,
            longer: size as f64 / followed as f64,
            step: kind.step.max(1),
            random: kind.random > 0.0,
            places: all.clamp(1, PLACES),
            common,
            whole: (all - 1) * common + size <= page,
            mean: times.iter().sum::<f64>() / 3.0,
            cut,
        }
    }

    /// All that reads of it hang on.
    fn key(&self) -> Vec<u64> {
        let Drive { channels, dies, joint, times, channel, own, house, wire, page, size, longer, .. } = *self;
        let Drive { step, random, places, common, cut, .. } = *self;
        let mut key = vec![channels, dies, joint, page, size, step, places, common, u64::from(random), cut.most];
        key.extend(times.map(f64::to_bits));
        let others = [channel, own, house.0, house.1, wire.0, wire.1, longer, cut.apart];
        key.extend(others.map(f64::to_bits));
        key
    }

    /// Where the i-th of some that begin anywhere begins in its page: a step that is prime to all goes to all of
    /// them, and few are spread.
    fn place(&self, i: u64) -> u64 {
        self.page / self.common * (i * 101 % self.places) / self.places * self.common
    }

    /// Pages of one that are followed, at most.
    fn touched(&self) -> u64 {
        self.size.div_ceil(self.page) + self.size.div_ceil(self.cut.most)
    }

    /// How many are followed.
    fn reads(&self) -> u64 {
        READS.min(PAGES / self.touched()).max(FEWEST)
    }

    /// Bytes of the pages of so many that begin so far in a page.
    fn pages(&self, mut at: u64, size: u64) -> Vec<u64> {
        let end = at.saturating_add(size);
        let mut parts = Vec::new();
        while at < end {
            let upto = end.min((at / self.page + 1).saturating_mul(self.page));
            parts.push(upto - at);
            at = upto;
        }
        parts
    }

    /// A read of so many bytes at its least, which senses a page for so long: each page on a channel of its own,
    /// wherever it begins.
    fn least(&self, sense: f64, size: f64) -> f64 {
        let channels = self.channels as f64;
        let all = size * self.channel / channels;
        let (opens, wire) = self.wire;
        if size > (self.page * PLACES) as f64 {
            return sense + all.max(opens + size * wire).max(size * self.own);
        }
        let one = |i: u64| {
            let mut pages: Vec<[f64; 2]> = self
                .pages(self.place(i), self.size)
                .iter()
                .map(|bytes| [*bytes as f64, sense + *bytes as f64 * self.channel])
                .collect();
            self.pass(&mut pages);
            let (mut sent, mut there, mut moved) = (0.0_f64, 0.0_f64, 0.0);
            for [bytes, through] in pages {
                moved += bytes;
                there = there.max(through).max(sense + moved * self.channel / channels);
                let opens = if sent > 0.0 { 0.0 } else { opens };
                sent = sent.max(there) + opens + bytes * wire;
            }
            sent
        };
        (0..self.places).map(one).fold(f64::INFINITY, f64::min)
    }

    /// Pages of a read at its least (bytes, when it is over its channel) go through the drive's own rate as they come:
    /// a last one that is not whole is there before the others. Each waits for those before it in the command alone,
    /// since any other may as well come behind it.
    fn pass(&self, pages: &mut [[f64; 2]]) {
        fn go<'a>(pages: impl Iterator<Item = &'a mut [f64; 2]>, own: f64) -> f64 {
            pages.fold(0.0, |free: f64, p| {
                p[1] = free.max(p[1]) + p[0] * own;
                p[1]
            })
        }
        let Some((last, others)) = pages.split_last_mut() else { return };
        // It is before all that take longer.
        let mut all = others.to_vec();
        all.insert(others.partition_point(|p| p[1] <= last[1]), *last);
        last[1] = go(all.iter_mut(), self.own);
        go(others.iter_mut(), self.own);
    }

    /// The commands of a read of a number.
    fn commands(&self, i: u64) -> impl Iterator<Item = Command> + '_ {
        let (page, at) = match self.random {
            true => (mixed(i), self.place(i)),
            false => (i.wrapping_mul(self.step) / self.page, i.wrapping_mul(self.step) % self.page),
        };
        (0..self.size.div_ceil(self.cut.most)).map(move |c| {
            let (from, size) = (at + c * self.cut.most, self.cut.most.min(self.size - c * self.cut.most));
            let parts = self.pages(from % self.page, size);
            let page = page.wrapping_add(from / self.page);
            Command { page, through: vec![false; parts.len()], parts, ..Command::default() }
        })
    }

    /// Follows so many reads of a load.
    fn follow(&self, load: &Load, reads: u64) -> Followed {
        let commands = self.size.div_ceil(self.cut.most) as usize;
        let mut all = vec![Read::default(); load.n as usize];
        let mut under_way = vec![Command::default(); commands * load.n as usize];
        let mut free: Vec<Vec<f64>> =
            load.stations.iter().map(|s| vec![0.0; s.servers.round().clamp(1.0, 1024.0) as usize]).collect();
        let mut channels = vec![0.0_f64; self.channels as usize];
        let mut dies: Vec<Die> = Vec::new();
        dies.resize_with((self.channels * self.dies).min(APART) as usize, Die::default);
        let (mut own, mut wire) = (0.0_f64, 0.0_f64);
        let (mut begun, mut order) = (0, load.n);
        let (mut times, mut ends) = (Vec::with_capacity(reads as usize), Vec::with_capacity(reads as usize));
        // Moments are not negative, so their bits are in their order. Of what is at one moment, first what was known
        // first.
        let first = |i| Reverse((0, i, i, Step::Comes(0)));
        let mut due: BinaryHeap<Reverse<(u64, u32, u32, Step)>> = (0..load.n).map(first).collect();
        while let Some(Reverse((bits, _, who, step))) = due.pop() {
            let (now, who) = (f64::from_bits(bits), who as usize);
            let mut later = |at: f64, who: usize, step: Step| {
                order += 1;
                due.push(Reverse((at.to_bits(), order, who as u32, step)));
            };
            match step {
                Step::Comes(i) if (i as usize) < load.stations.len() => {
                    let (s, servers) = (&load.stations[i as usize], &mut free[i as usize]);
                    let at = who % servers.len();
                    servers[at] = servers[at].max(now) + s.visits * s.service;
                    later(servers[at], who, Step::Comes(i + 1));
                    continue;
                }
                Step::Comes(_) => {
                    all[who] = Read { begun: now, left: commands };
                    let those = who * commands..(who + 1) * commands;
                    under_way[those.clone()].iter_mut().zip(self.commands(begun)).for_each(|(old, new)| *old = new);
                    begun += 1;
                    for (i, c) in those.clone().zip(0..) {
                        later(now + f64::from(c) * self.cut.apart, i, Step::Begins);
                    }
                    continue;
                }
                Step::Begins => {}
                Step::Sensed(page) => {
                    let c = &under_way[who];
                    let channel = place_of(mixed(c.page.wrapping_add(page as u64)) >> 32, self.channels);
                    let free = &mut channels[channel as usize];
                    *free = free.max(now) + c.parts[page as usize] as f64 * self.channel;
                    later(*free, who, Step::Moved(page));
                    continue;
                }
                Step::Moved(page) if self.own > 0.0 => {
                    own = own.max(now) + under_way[who].parts[page as usize] as f64 * self.own;
                    later(own, who, Step::Through(page));
                    continue;
                }
                Step::Moved(page) | Step::Through(page) => under_way[who].through[page as usize] = true,
            }
            let c = &mut under_way[who];
            // What is there in order goes over the link.
            while c.first < c.parts.len() && c.through[c.first] {
                let opens = if c.first == 0 { self.wire.0 } else { 0.0 };
                wire = wire.max(now) + opens + c.parts[c.first] as f64 * self.wire.1;
                c.first += 1;
            }
            while c.asked < c.parts.len().min(c.first + WINDOW) {
                later(
                    self.sense(&mut dies, c.page.wrapping_add(c.asked as u64), now),
                    who,
                    Step::Sensed(c.asked as u32),
                );
                c.asked += 1;
            }
            if c.first < c.parts.len() {
                continue;
            }
            let read = &mut all[who / commands];
            read.left -= 1;
            if read.left > 0 {
                continue;
            }
            times.push(wire - read.begun);
            ends.push(wire);
            later(wire + load.rest, who / commands, Step::Comes(0));
            wire += load.behind;
            if times.len() as u64 >= reads {
                break;
            }
        }
        // What is at the beginning is over after a third.
        let (from, last) = (ends.len() / 3, ends.len().saturating_sub(1));
        let between = ends.last().zip(ends.get(from)).map_or(0.0, |(last, from)| last - from);
        Followed { times, each: f64::from(load.n) * between / (last - from).max(1) as f64 }
    }

    /// When a page that is asked for at a moment is sensed.
    fn sense(&self, dies: &mut [Die], page: u64, now: f64) -> f64 {
        let drawn = mixed(page);
        let number = place_of(drawn >> 32, self.channels) * self.dies + place_of(drawn, self.dies);
        let more = mixed(!drawn);
        let at = number as usize % dies.len();
        let die = &mut dies[at];
        let (part, once) = self.house;
        if part > 0.0 {
            // What an idle one has done before does not matter; and who has nearly no time left stays late.
            let every = once / part;
            let before = if die.free <= now { (now - once) / every } else { 0.0 };
            die.intervals = die.intervals.max(before as u64);
            for _ in 0..IN_A_ROW {
                // At some moment of its next interval.
                let drawn = mixed(mixed(at as u64) ^ die.intervals) >> 11;
                let next = (die.intervals as f64 + drawn as f64 / (1_u64 << 53) as f64) * every;
                if next > now.max(die.free) {
                    break;
                }
                die.free = die.free.max(next) + once;
                die.intervals += 1;
            }
        }
        let span = self.times[place_of(more, 3) as usize];
        die.sense((place_of(more >> 32, self.joint), self.joint), span, now)
    }
}
