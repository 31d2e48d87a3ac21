//! The closed form of an array that its host runs over NVMe drives: what an I/O becomes, how its commands lie on the
//! drives, and how long it takes by itself.
//!
//! What it becomes is asked of the same [`Array::spread`] that a simulation follows, and averaged over the places where
//! it may begin; what a bound may count is worked out: as few commands as can be, cut so that they help most. Drives
//! share the commands evenly.
//!
//! Not in it: ranges that touch some of the drives only, and that the last of several commands on drives with waits of
//! their own is later than one of them is.

use crate::estimate::core::elements::Part;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::nvme::{self, Drive, drives};
use crate::estimate::storage::unloaded::One;
use crate::estimate::storage::{Kind, command, queue_pairs};
use crate::plan::Dma;
use crate::plan::storage::{Array, IoFlow, Spread, Storage};
use crate::scenario::keys::Level;
use crate::scenario::quantity::Corner;
use crate::tools::gcd;
use std::collections::BTreeMap;

/// Places where an I/O may begin that a mean is taken over, and strips of all of them together.
const PLACES: u64 = 64;
const STRIPS: u64 = 1 << 12;

/// What an I/O becomes: commands and their bytes, those that read what there was and those of the I/O itself, with
/// mirrors and parity.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::estimate) struct Shape {
    /// Commands: before, and of the I/O.
    pub(in crate::estimate) commands: [f64; 2],
    /// Their bytes.
    pub(in crate::estimate) bytes: [f64; 2],
    /// The largest.
    pub(in crate::estimate) largest: [f64; 2],
    /// Their pages of flash, if they are counted.
    pub(in crate::estimate) pages: [f64; 2],
    /// Bytes that parity is made of.
    pub(in crate::estimate) parity: f64,
}

impl Shape {
    /// That of a kind of I/O of a flow, in pages of so many bytes (0: they are not counted).
    pub(in crate::estimate) fn of(a: &Array, flow: &IoFlow, k: Kind, (ends, page): (Ends, u64)) -> Shape {
        match ends {
            Ends::Least => least(a, flow.start.0, k),
            Ends::Usual => usual(a, flow.start.0, k, page),
        }
    }
}

/// The fewest commands and the least parity.
fn least(a: &Array, start: u64, k: Kind) -> Shape {
    let (strip, data) = (a.keys.strip.typical.f64(), a.data_disks() as f64);
    // Drives that strips in a row lie on, each of which is one command at least: of mirrors one of two.
    let n = if a.mirrors() { data } else { a.disks.len() as f64 };
    let size = k.bytes;
    let uncut = data == 1.0 || {
        let (strip, step) = (a.keys.strip.typical.0, k.step.max(1));
        strip.is_multiple_of(step) && size <= step as f64 && start.is_multiple_of(step)
    };
    // However an I/O is cut at the strips, one of its pieces is half of it or a whole strip; and no piece is less than
    // the mean. On a drive one is cut by each parity that lies there, one of each stripe.
    let stripes = if a.keys.level.typical == Level::Raid5 { (size / (strip * data)).ceil() + 1.0 } else { 0.0 };
    let largest = if uncut { size } else { (0.5 * size).min(strip).max(size / (n + stripes)).max(1.0) };
    let pieces = if data == 1.0 { 1.0 } else { (size / strip).ceil().clamp(1.0, n) };
    let own = |commands: f64, bytes: f64, parity: f64| Shape {
        commands: [0.0, commands],
        bytes: [0.0, bytes],
        largest: [0.0, largest],
        pages: [0.0; 2],
        parity,
    };
    match a.keys.level.typical {
        _ if k.read => own(pieces, size, 0.0),
        Level::Raid0 => own(pieces, size, 0.0),
        Level::Raid1 | Level::Raid10 => own(2.0 * pieces, 2.0 * size, 0.0),
        // Whole stripes, if any can be.
        Level::Raid5 if size >= strip * data => own(pieces + 1.0, size * (1.0 + 1.0 / data), size),
        // The parity of a part of a stripe is as long as that, up to a strip; in two stripes there are two.
        Level::Raid5 => {
            let all = size + size.min(strip);
            let (commands, largest) = ([pieces + 1.0; 2], [largest; 2]);
            Shape { commands, bytes: [all; 2], largest, pages: [0.0; 2], parity: size + all }
        }
    }
}

/// The mean over where it may begin. What a RAID controller makes of it is cut at the stripes, too.
fn usual(a: &Array, start: u64, k: Kind, page: u64) -> Shape {
    let (strip, width) = (a.keys.strip.typical.0.max(1), a.width().max(1));
    let period = if a.keys.level.typical == Level::Raid5 { width.saturating_mul(a.disks.len() as u64) } else { width };
    let size = (k.bytes.round() as u64).max(1);
    let step = gcd(k.step.max(1), period);
    let all = (period / step).max(1);
    let n = all.min(PLACES).min((STRIPS / (size / strip + 1)).max(1));
    let copies = if a.mirrors() && !k.read { 2.0 } else { 1.0 };
    let mut mean = Shape::default();
    for i in 0..n {
        // All parts of a period alike.
        let place = start % period + (u128::from(all) * u128::from(i) / u128::from(n)) as u64 * step;
        let mut largest = [0; 2];
        for s in parts(a, k.read, place, size) {
            for (which, pieces, copies) in [(0, &s.before, 1.0), (1, &s.pieces, copies)] {
                for p in pieces {
                    mean.bytes[which] += copies * p.bytes as f64 / n as f64;
                    mean.pages[which] += copies * p.bytes.div_ceil(page.max(1)) as f64 / n as f64;
                    largest[which] = p.bytes.max(largest[which]);
                }
                mean.commands[which] += copies * pieces.len() as f64 / n as f64;
            }
            mean.parity += s.parity as f64 / n as f64;
        }
        mean.largest.iter_mut().zip(largest).for_each(|(mean, largest)| *mean += largest as f64 / n as f64);
    }
    if page == 0 {
        mean.pages = [0.0; 2];
    }
    mean
}

/// What goes by itself of an I/O: all of it where the host runs the array, each stripe where a controller does.
pub(in crate::estimate) fn parts(a: &Array, read: bool, begin: u64, size: u64) -> impl Iterator<Item = Spread> {
    let (width, end) = (a.width().max(1), begin + size);
    let upto = move |at: u64| if a.host().is_some() { end } else { end.min((at / width + 1).saturating_mul(width)) };
    let places = std::iter::successors(Some(begin), move |at| Some(upto(*at)).filter(|next| *next < end));
    places.map(move |at| a.spread(read, at, upto(at) - at))
}

/// Seconds of a worker's processor for an I/O, beside that for one of a drive.
fn of_worker(a: &Array, corner: Corner, s: &Shape) -> f64 {
    let Some(host) = a.host() else { return 0.0 };
    let more = (s.commands[0] + s.commands[1] - 1.0).max(0.0);
    more * host.command.at(corner).seconds() + s.parity / host.parity.at(corner).bytes().max(1.0)
}

/// What the I/Os of a kind ask of the worker, the drives, and their ways to host memory: by flow of PCIe, in bytes.
pub(in crate::estimate) fn demand(
    (storage, flow, a): (&Storage, &IoFlow, &Array),
    (corner, ends): (Corner, Ends),
    k: Kind,
    add: &mut dyn FnMut(Part, f64, f64),
    moves: &mut BTreeMap<usize, f64>,
) {
    let all = drives(storage, flow);
    let page = all.first().map_or(0, |d| d.flash.page.at(corner).0);
    let s = Shape::of(a, flow, k, (ends, if k.read { 0 } else { page }));
    add(Part::Worker(flow.core), 1.0, k.count * of_worker(a, corner, &s));
    let share = 1.0 / a.disks.len() as f64;
    for (i, drive) in all.iter().enumerate() {
        let Dma::Pcie { read, write } = drive.own.dma else { continue };
        for which in [0, 1] {
            let reads = k.read || which == 0;
            let copies = if a.mirrors() && !reads { 2.0 } else { 1.0 };
            let whole = Kind { bytes: s.bytes[which] / copies, read: reads, ..k };
            // Of unequal pieces a controller may cut one, and not as many as if they were alike.
            let commands = match ends {
                Ends::Least if s.commands[which] > 1.0 => {
                    s.commands[which].max(copies * nvme::commands(drive.controller, corner, whole))
                }
                _ => s.commands[which],
            };
            let (count, bytes) = (k.count * share * commands, s.bytes[which] / commands.max(1e-300));
            if count <= 0.0 {
                continue;
            }
            let pages = if reads { 0.0 } else { s.pages[which] / commands.max(1e-300) };
            let one = Kind { bytes, read: reads, pages, ..k };
            let way = if reads { write } else { read };
            *moves.entry(way.0 as usize).or_default() += count * bytes;
            for (flow, moved) in nvme::around(drive, flow, corner, one) {
                // Pieces that are cut anywhere may have no lists at all.
                let certain = flow != drive.controller.lists || ends == Ends::Usual || a.data_disks() == 1;
                *moves.entry(flow.0 as usize).or_default() += if certain { count * moved } else { 0.0 };
            }
            queue_pairs(drive, corner, Kind { count, ..one }, add);
            if ends == Ends::Usual || s.commands[which] <= 1.0 {
                command(storage, corner, ends, flow, a.disks[i], one, count, add);
                continue;
            }
            // At least as many pages as if it were not cut: a piece may end in a page as another does.
            command(storage, corner, ends, flow, a.disks[i], whole, k.count * share * copies, add);
            let counted = copies * nvme::commands(drive.controller, corner, whole);
            let more = k.count * share * (s.commands[which] - counted).max(0.0);
            add(Part::Controller(a.disks[i]), 1.0, more * drive.flash.command_time.at(corner).seconds());
        }
    }
}

impl One<'_> {
    /// An I/O of NVMe drives, with its host, seconds.
    pub(in crate::estimate) fn nvme(&self, k: Kind) -> f64 {
        let (c, flow) = (self.corner, self.flow);
        let host = flow.submit.at(c).seconds() + flow.complete.at(c).seconds();
        let wake = self.wake();
        let all = drives(&self.plan.storage, flow);
        let at_drives = match self.plan.storage.host_array(flow) {
            Some((a, _)) => self.spread(a, &unlike(self, &all), k, wake),
            None => all.first().map_or(0.0, |drive| match &flow.remote {
                Some(remote) => self.of_fabric(remote, drive, k),
                None => self.of_queue(drive, k),
            }),
        };
        host + wake + at_drives
    }

    /// From the interrupt until the worker runs, seconds: one who has others outstanding may be awake.
    pub(in crate::estimate) fn wake(&self) -> f64 {
        let sleeps = self.ends == Ends::Usual || self.flow.outstanding.at(self.corner).get() == 1;
        if sleeps { self.flow.wake.at(self.corner).seconds() } else { 0.0 }
    }

    /// An I/O of an array that the host runs, from the doorbell until the worker hears of the last command, and what
    /// its worker's processor has to do beside that of one drive, seconds.
    fn spread(&self, a: &Array, all: &[Drive], k: Kind, wake: f64) -> f64 {
        let s = Shape::of(a, self.flow, k, (self.ends, 0));
        let step = |which: usize, drive: &Drive| {
            if s.commands[which] <= 0.0 {
                return 0.0;
            }
            let read = k.read || which == 0;
            self.of_queue(drive, Kind { bytes: s.largest[which].max(1.0), read, ..k })
        };
        let pick = |which: usize| {
            let times = all.iter().map(|d| step(which, d));
            match self.ends {
                Ends::Least => times.fold(f64::INFINITY, f64::min),
                // Who needs several waits for the slowest of them; who needs one has the mean.
                Ends::Usual if s.commands[which] > 1.5 => times.fold(0.0, f64::max),
                Ends::Usual => times.sum::<f64>() / all.len().max(1) as f64,
            }
        };
        let again = if s.commands[0] > 0.0 { wake } else { 0.0 };
        of_worker(a, self.corner, &s) + again + pick(0) + pick(1)
    }
}

/// Drives that are the first of their kind: of alike ones one is enough to be worked out.
fn unlike<'a>(one: &One, all: &[Drive<'a>]) -> Vec<Drive<'a>> {
    let mut kept: Vec<Drive> = Vec::new();
    for d in all {
        let same = |o: &Drive| o.own.group == d.own.group && one.paces_of(o) == one.paces_of(d) && o.alike(d);
        if !kept.iter().any(same) {
            kept.push(*d);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::storage::array_of_host;
    use proptest::prelude::*;

    proptest! {
        /// Wherever an I/O begins, it becomes no fewer commands, of no fewer bytes, than a bound counts.
        #[test]
        fn no_bound_counts_more_than_an_io_becomes(
            level in prop::sample::select(vec![Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5]),
            disks in 2u32..7,
            strip in prop::sample::select(vec![512u64, 1024, 1536, 4096, 65536]),
            size in prop_oneof![1u64..20_000, (1u64..40).prop_map(|n| n * 512)],
            step in (1u64..40).prop_map(|n| n * 512),
            (start, place) in ((0u64..100).prop_map(|n| n * 512), 0u64..1000),
            read: bool,
        ) {
            let disks = match level {
                Level::Raid1 => 2,
                Level::Raid10 => (disks & !1).max(4),
                Level::Raid5 => disks.max(3),
                Level::Raid0 => disks,
            };
            let a = array_of_host(level, disks, strip);
            let k = Kind { random: 1.0, anywhere: 1.0, ..Kind::new(1.0, size as f64, read, step) };
            let counted = least(&a, start, k);
            let s = a.spread(read, start + place * step, size);
            let copies = if a.mirrors() && !read { 2.0 } else { 1.0 };
            for (which, pieces, copies) in [(0, &s.before, 1.0), (1, &s.pieces, copies)] {
                let bytes = copies * pieces.iter().map(|p| p.bytes).sum::<u64>() as f64;
                let largest = pieces.iter().map(|p| p.bytes).max().unwrap_or(0) as f64;
                let there = [copies * pieces.len() as f64, bytes, largest];
                let least = [counted.commands[which], counted.bytes[which], counted.largest[which]];
                prop_assert!(least.iter().zip(there).all(|(l, t)| *l <= t * (1.0 + 1e-12)), "{counted:?} of {s:?}");
            }
            prop_assert!(counted.parity <= s.parity as f64 * (1.0 + 1e-12), "{counted:?} of {s:?}");
        }
    }
}
