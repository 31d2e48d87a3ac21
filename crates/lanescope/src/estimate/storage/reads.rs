//! What a read asks of a solid-state drive: its commands, the pages that they lie on, where each of these is, and how
//! soon one by itself can be over at its least, with all its pages on different channels.

use crate::estimate::storage::Kind;
use crate::plan::storage::{Serial, Unit};
use crate::scenario::keys::{PlaneReads, Ssd};
use crate::scenario::quantity::{Corner, Quantity};
use crate::tools::{gcd, mixed};
use crate::units::Time;

/// Places of a command within a page that a mean is taken over, and pages beyond which their order does not matter to
/// the least.
pub(super) const PLACES: u64 = 64;

/// Reads of a kind that are followed: their mean is within one per cent. Of long ones, in which chance evens out, so
/// many pages in all, but no fewer reads than `FEWEST`.
const READS: u64 = 1200;
const PAGES: u64 = 40_000;
const FEWEST: u64 = 16;

/// Pages, and commands, of a longer read that are followed: the others come as they do.
const LONGEST: u64 = 2048;

/// Channels that are told apart.
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
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Commands {
    pub(in crate::estimate) most: u64,
    pub(in crate::estimate) apart: f64,
}

impl Commands {
    /// As one.
    pub(in crate::estimate) const ONE: Commands = Commands { most: u64::MAX, apart: 0.0 };
}

/// A link behind a drive: seconds of a byte; and if it is a serial one, what that adds. On any other, data go as they
/// come.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Wire {
    pub(in crate::estimate) byte: f64,
    pub(in crate::estimate) serial: Option<Frames>,
}

/// A serial link: seconds that a connection opens before the data of another command, and bytes of a frame, before each
/// of which an older command may come.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Frames {
    pub(in crate::estimate) opens: f64,
    pub(in crate::estimate) frame: f64,
}

impl Wire {
    /// One that is no serial link.
    pub(in crate::estimate) fn in_order(byte: f64) -> Wire {
        Wire { byte, serial: None }
    }

    /// Seconds before the first data of a read.
    pub(super) fn opens(&self) -> f64 {
        self.serial.map_or(0.0, |s| s.opens)
    }
}

/// That of a serial link, for so many bytes that follow one another: in their frames, with the gaps between.
pub(in crate::estimate) fn wire(link: &Serial, bytes: f64) -> Wire {
    let (frame, bytes) = (link.frame.max(1), (bytes.round() as u64).max(1));
    let (full, rest) = (bytes / frame, bytes % frame);
    let one = |n: u64| if n > 0 { link.bytes(Unit::Data(n as u32)) } else { 0 };
    let gaps = (bytes.div_ceil(frame) - 1) * link.gap(0, 0);
    let each = (full * one(frame) + one(rest) + gaps) as f64 / bytes as f64;
    let rate = link.rate.bytes();
    let serial = Frames { opens: link.opening() as f64 / rate, frame: frame as f64 };
    Wire { byte: each / rate, serial: Some(serial) }
}

/// A number of 32 bits as a place of so many.
pub(super) fn place_of(bits: u64, of: u64) -> u64 {
    ((bits & u64::from(u32::MAX)) * of) >> 32
}

/// A command of one.
#[derive(Clone, Default)]
pub(super) struct Command {
    /// How many were given to the drive before it.
    pub(super) number: u64,
    /// Its first page on the drive, and the bytes of each.
    pub(super) page: u64,
    pub(super) parts: Vec<u64>,
    pub(super) asked: usize,
    /// Pages that are through, and the first that is not.
    pub(super) through: Vec<bool>,
    pub(super) first: usize,
}

/// Reads of a kind at a drive.
pub(super) struct Reads {
    pub(super) channels: u64,
    /// What senses by itself on each channel, and how many planes of it sense together.
    pub(super) dies: u64,
    pub(super) joint: u64,
    pub(super) times: [f64; 3],
    /// Seconds of a byte on a channel, and at the drive's own rate.
    pub(super) channel: f64,
    pub(super) own: f64,
    /// The part of a die's time that the drive takes for itself, and for how long at once: so long in each interval.
    pub(super) house: (f64, f64),
    pub(super) wire: Wire,
    pub(super) page: u64,
    /// Bytes of one that are followed, and how much longer it is.
    pub(super) size: u64,
    pub(super) longer: f64,
    /// Each begins so far behind the one before; or anywhere, at one of so many places in a page, this far apart.
    pub(super) step: u64,
    pub(super) random: bool,
    pub(super) places: u64,
    pub(super) common: u64,
    /// Whether each is one page, and the mean time to sense one.
    pub(super) whole: bool,
    pub(super) mean: f64,
    pub(super) cut: Commands,
}

impl Reads {
    pub(super) fn new(k: &Ssd, corner: Corner, (kind, cut): (Kind, Commands), wire: Wire) -> Reads {
        let n = |q: u32| u64::from(q);
        let planes = n(k.planes.at(corner).get());
        let joint = if k.plane_reads.typical == PlaneReads::Together { planes } else { 1 };
        let (times, house) = (read_times(k, corner), house(k, corner));
        let (page, size) = (k.page.typical.0.max(1), (kind.bytes.round() as u64).max(1));
        let followed = size.min(page.saturating_mul(LONGEST)).min(cut.most.saturating_mul(LONGEST));
        // Where commands begin in a page: multiples of what their step and the page have in common.
        let common = gcd(kind.step.max(1), page);
        let all = page / common;
        Reads {
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
    pub(super) fn key(&self) -> Vec<u64> {
        let Reads { channels, dies, joint, times, channel, own, house, wire, page, size, longer, .. } = *self;
        let Reads { step, random, places, common, cut, .. } = *self;
        let mut key = vec![channels, dies, joint, page, size, step, places, common, u64::from(random), cut.most];
        key.extend(times.map(f64::to_bits));
        let frame = wire.serial.map_or(0.0, |s| s.frame);
        let others = [channel, own, house.0, house.1, wire.opens(), wire.byte, frame, longer, cut.apart];
        key.extend(others.map(f64::to_bits));
        key
    }

    /// Where the i-th of some that begin anywhere begins in its page: a step that is prime to all goes to all of
    /// them, and few are spread.
    fn place(&self, i: u64) -> u64 {
        self.page / self.common * (i * 101 % self.places) / self.places * self.common
    }

    /// Pages of one that are followed, at most.
    pub(super) fn touched(&self) -> u64 {
        self.size.div_ceil(self.page) + self.size.div_ceil(self.cut.most)
    }

    /// How many are followed.
    pub(super) fn reads(&self) -> u64 {
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
    pub(super) fn least(&self, sense: f64, size: f64) -> f64 {
        let channels = self.channels as f64;
        let all = size * self.channel / channels;
        let (opens, wire) = (self.wire.opens(), self.wire.byte);
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

    /// Reads that follow one another on a page.
    pub(super) fn on_one(&self) -> u64 {
        if self.random { 1 } else { (self.page / self.step).max(1) }
    }

    /// Commands of one.
    pub(super) fn commands_each(&self) -> usize {
        self.size.div_ceil(self.cut.most) as usize
    }

    /// The commands of a read of a number; different flows (`salt`) read different pages.
    pub(super) fn commands(&self, i: u64, salt: u64) -> impl Iterator<Item = Command> + '_ {
        let (page, at) = match self.random {
            true => (mixed(i ^ salt), self.place(i)),
            false => {
                ((i.wrapping_mul(self.step) / self.page).wrapping_add(salt), i.wrapping_mul(self.step) % self.page)
            }
        };
        (0..self.size.div_ceil(self.cut.most)).map(move |c| {
            let (from, size) = (at + c * self.cut.most, self.cut.most.min(self.size - c * self.cut.most));
            let parts = self.pages(from % self.page, size);
            let page = page.wrapping_add(from / self.page);
            Command { page, through: vec![false; parts.len()], parts, ..Command::default() }
        })
    }

    /// The channel of a page.
    pub(super) fn channel_of(&self, page: u64) -> usize {
        place_of(mixed(page) >> 32, self.channels) as usize
    }

    /// Where a page is, which die of so many and which of its planes, and how long it is sensed.
    pub(super) fn place_and_time(&self, page: u64, dies: usize) -> (usize, u64, f64) {
        let drawn = mixed(page);
        let number = place_of(drawn >> 32, self.channels) * self.dies + place_of(drawn, self.dies);
        let more = mixed(!drawn);
        (number as usize % dies, place_of(more >> 32, self.joint), self.times[place_of(more, 3) as usize])
    }
}
