//! What an I/O of an array becomes at its drives: commands, bytes, pages of flash, and what parity is made of.
//!
//! It is asked of the same [`Array::spread`] that a simulation follows, and averaged over the places where it may
//! begin; what a bound may count is worked out: as few commands as can be, cut so that they help most.

use crate::estimate::storage::Kind;
use crate::estimate::storage::ends::Ends;
use crate::plan::storage::{Array, IoFlow, Spread};
use crate::scenario::keys::Level;
use crate::tools::gcd;

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
                    if page > 0 {
                        mean.pages[which] += copies * p.bytes.div_ceil(page) as f64 / n as f64;
                    }
                    largest[which] = p.bytes.max(largest[which]);
                }
                mean.commands[which] += copies * pieces.len() as f64 / n as f64;
            }
            mean.parity += s.parity as f64 / n as f64;
        }
        mean.largest.iter_mut().zip(largest).for_each(|(mean, largest)| *mean += largest as f64 / n as f64);
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
