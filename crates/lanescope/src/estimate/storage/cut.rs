//! Into what the I/Os of an array behind an adapter are cut: in the mean over the places where one may begin, as the
//! simulation cuts each.

use crate::estimate::storage::Kind;
use crate::plan::storage::{Array, IoFlow, Storage};
use crate::tools::gcd;

/// Into what an I/O is cut, in the mean.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Cut {
    /// Commands: one for each strip that it touches.
    pub(in crate::estimate) pieces: f64,
    /// Disks that these lie on; those on one disk lie side by side there. Of mirrors, one of two.
    pub(in crate::estimate) disks: f64,
    /// Stripes that it touches.
    pub(in crate::estimate) stripes: f64,
}

/// Ways to cut a random I/O that are looked at.
const WAYS: u64 = 16;

impl Cut {
    /// That of a kind of I/O of a flow, whose range is taken to be many strips.
    pub(in crate::estimate) fn of(storage: &Storage, a: &Array, flow: &IoFlow, k: Kind) -> Cut {
        let size = (k.bytes.round() as u64).max(1);
        let touched = |unit: u64| touched(flow.start.0, k.step, size, unit);
        let pieces = touched(a.keys.strip.typical.0);
        // A disk that reads on goes on with the next strip; drives without heads take turns.
        let disks = if a.mirrors() && a.has_heads(storage) { a.data_disks() } else { a.disks.len() as u64 };
        Cut { pieces, disks: pieces.min(disks as f64), stripes: touched(a.width()) }
    }

    /// The ways in which a random I/O may be cut, a few evenly among all: bytes of each disk that it lies on.
    pub(in crate::estimate) fn ways(a: &Array, flow: &IoFlow, k: Kind) -> Vec<Vec<f64>> {
        let strip = a.keys.strip.typical.0.max(1);
        let disks = if a.mirrors() { a.data_disks() } else { a.disks.len() as u64 }.max(1);
        let (size, step) = ((k.bytes.round() as u64).max(1), gcd(k.step.max(1), strip));
        let all = strip / step;
        let few = all.min(WAYS);
        let way = |i: u64| {
            // In the middle of its part of all.
            let place = u128::from(2 * i + 1) * u128::from(all) / u128::from(2 * few);
            let (mut at, mut left) = (flow.start.0 % step + place as u64 * step, size);
            let mut on = vec![0.0; disks.min(size.div_ceil(strip) + 1) as usize];
            while left > 0 {
                let bytes = left.min(strip - at % strip);
                let n = on.len() as u64;
                on[(at / strip % n) as usize] += bytes as f64;
                (at, left) = (at + bytes, left - bytes);
            }
            on.retain(|bytes| *bytes > 0.0);
            on
        };
        (0..few).map(way).collect()
    }

    /// Bytes that pass below the heads for each that a read asks for: between stripes of RAID 5 also the parities.
    pub(in crate::estimate) fn swept(&self, a: &Array, k: Kind) -> f64 {
        if !a.has_parity() || !k.read {
            return 1.0;
        }
        let parities = a.disks.len() as f64 / a.data_disks().max(1) as f64 - 1.0;
        1.0 + parities * if k.random > 0.0 { 1.0 - 1.0 / self.stripes } else { 1.0 }
    }
}

/// How many units of so many bytes an I/O touches, in the mean over all places a step apart, from a first one on: by
/// Hermite's identity.
fn touched(start: u64, step: u64, size: u64, unit: u64) -> f64 {
    let unit = unit.max(1);
    let step = gcd(step.max(1), unit);
    let last = (start % step).saturating_add(size - 1) / step;
    1.0 + last as f64 * step as f64 / unit as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As counted place by place.
        #[test]
        fn the_mean_of_what_is_touched(start in 0u64..2000, step in 1u64..300, size in 1u64..2000, unit in 1u64..300) {
            let count = |i: u64| (start + i * step + size - 1) / unit - (start + i * step) / unit + 1;
            let sum: u64 = (0..unit).map(count).sum();
            let mean = sum as f64 / unit as f64;
            prop_assert!((touched(start, step, size, unit) - mean).abs() < 1e-9 * mean);
        }
    }
}
