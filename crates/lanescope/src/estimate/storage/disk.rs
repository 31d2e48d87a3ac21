//! The closed form of a disk: for how long a command has its heads.
//!
//! A sequential flow is taken at the rate of the zone in which its range begins, a random one at the mean of its range.

use crate::estimate::storage::Kind;
use crate::estimate::storage::ends::Ends;
use crate::plan::storage::{IoFlow, Storage, Volume, seek, spindle_phase, zones};
use crate::scenario::keys::Disk;
use crate::scenario::quantity::Corner;

/// Seconds of a disk's heads for a command. At least its transfer in the fastest zone of the range: the heads may stand
/// where they should. Usually, where they must move, a seek within the range and half a turn; and what a sequential
/// flow leaves out.
pub(in crate::estimate) fn heads(k: &Disk, corner: Corner, ends: Ends, (start, range): (f64, f64), kind: Kind) -> f64 {
    if ends == Ends::Least {
        return kind.bytes / fastest(k, corner, (start, range));
    }
    let rate = mean_rate(k, corner, (start, range), kind.anywhere);
    let positions = match kind.random > 0.0 {
        true => kind.random * positioning(k, corner, (start, range), kind.bytes, 1.0),
        false => passes(k, corner, kind.read, kind.left_out(), rate),
    };
    positions + kind.bytes * kind.swept / rate
}

/// The media rate of the zone of a byte, bytes per second. Zones are of equal size, and their rates fall evenly.
pub(in crate::estimate) fn media_rate(k: &Disk, corner: Corner, at: f64) -> f64 {
    let zones = f64::from(zones(k));
    let zone = (at * zones / k.capacity.typical.f64()).floor().clamp(0.0, zones - 1.0);
    let (outer, inner) = (k.outer_rate.at(corner).bytes(), k.inner_rate.at(corner).bytes());
    outer - (outer - inner) * zone / (zones - 1.0).max(1.0)
}

/// The mean of that over commands of which a part (`anywhere`) lies anywhere in a range, the others at its beginning.
pub(in crate::estimate) fn mean_rate(k: &Disk, corner: Corner, (start, range): (f64, f64), anywhere: f64) -> f64 {
    let first = media_rate(k, corner, start);
    if anywhere <= 0.0 {
        return first;
    }
    let (all, end) = (zones(k), start + range.max(1.0));
    let zone = k.capacity.typical.f64() / f64::from(all);
    let which = |at: f64| ((at / zone).floor() as u32).min(all - 1);
    let mut time = 0.0;
    for i in which(start)..=which(end) {
        // The last one has no end.
        let from = start.max(f64::from(i) * zone);
        let upto = if i + 1 == all { end } else { end.min(f64::from(i + 1) * zone) };
        time += (upto - from).max(0.0) / media_rate(k, corner, (f64::from(i) + 0.5) * zone);
    }
    1.0 / (anywhere * time / (end - start) + (1.0 - anywhere) / first)
}

/// Seeks between two random places of a range, from behind the one to the beginning of the other: seconds, and the part
/// of all that takes so long. Within a track nothing moves.
fn seeks(k: &Disk, corner: Corner, (start, range): (f64, f64), bytes: f64) -> impl Iterator<Item = (f64, f64)> + use<> {
    let (track, room) = (media_rate(k, corner, start) * turn(k, corner), (range - bytes).max(0.0));
    let (all, capacity) = (seek_times(k, corner), k.capacity.typical.f64());
    (0..STEPS).map(move |i| {
        // The difference of two places has a triangular density.
        let x = (2.0 * f64::from(i) + 1.0) / f64::from(STEPS) - 1.0;
        let far = (x * room + bytes).abs();
        (if far < track { 0.0 } else { seek((far / capacity).min(1.0), all) }, 2.0 * (1.0 - x.abs()) / f64::from(STEPS))
    })
}

pub(in crate::estimate) fn seek_times(k: &Disk, corner: Corner) -> [f64; 3] {
    [&k.track_seek, &k.average_seek, &k.full_seek].map(|s| s.at(corner).seconds())
}

/// A mean seek between two random places of a range, and half a turn: how long the heads of a disk take to a command
/// that begins anywhere. Of a command for so many disks at once it is the mean of the last of them: their heads stand
/// alike after what they did together before, and each has an angle of its own (of m, the last has m / (m + 1) of a
/// turn on average).
pub(in crate::estimate) fn positioning(k: &Disk, corner: Corner, range: (f64, f64), bytes: f64, disks: f64) -> f64 {
    let seek = seeks(k, corner, range, bytes).map(|(seek, part)| part * seek).sum::<f64>();
    seek + turn(k, corner) * disks / (disks + 1.0)
}

/// Seconds from a random command for several disks to the last byte of the last of them, in the mean over the ways in
/// which it may be cut: for each the bytes of every disk. So often (`alike`) their heads stand alike, after what they
/// did together before; otherwise each stands where another command has left it. Each has an angle of its own.
pub(in crate::estimate) fn last_of(
    k: &Disk,
    corner: Corner,
    range: (f64, f64),
    cuts: &[Vec<f64>],
    (rate, alike): (f64, f64),
) -> f64 {
    let (turn, bytes) = (turn(k, corner), cuts.iter().flatten().sum::<f64>() / cuts.len().max(1) as f64);
    let seeks: Vec<(f64, f64)> = seeks(k, corner, range, bytes).collect();
    let most = seeks.iter().map(|s| s.0).fold(0.0, f64::max) + turn;
    // How likely a disk begins within a time: for each seek a ramp as long as a turn, from then on. The slopes first.
    let step = most / f64::from(STEPS);
    let mut begun = vec![0.0; STEPS as usize + 2];
    for (at, slope) in seeks.iter().flat_map(|(seek, part)| [(*seek, part / turn), (seek + turn, -part / turn)]) {
        begun[((at / step).round() as usize).min(STEPS as usize)] += slope;
    }
    let (mut slope, mut sum) = (0.0, 0.0);
    for p in &mut begun {
        slope += *p;
        (*p, sum) = (sum, sum + slope * step);
    }
    let apart = |x: f64| match x <= 0.0 {
        true => 0.0,
        false => begun.get((x / step) as usize).map_or(1.0, |p| p.min(1.0)),
    };
    let together = |x: f64| (x / turn).clamp(0.0, 1.0);
    // The mean of the last: how likely it is not there yet, over all time.
    let last = |cut: &[f64], most: f64, has: &dyn Fn(f64) -> f64| {
        let longest = cut.iter().copied().fold(0.0, f64::max) / rate;
        let step = (most + longest) / f64::from(STEPS);
        let not_yet = |i: u32| {
            let x = (f64::from(i) + 0.5) * step;
            1.0 - cut.iter().map(|bytes| has(x - bytes / rate)).product::<f64>()
        };
        (0..STEPS).map(not_yet).sum::<f64>() * step
    };
    let seek: f64 = seeks.iter().map(|(seek, part)| seek * part).sum();
    let one = |cut: &Vec<f64>| alike * (seek + last(cut, turn, &together)) + (1.0 - alike) * last(cut, most, &apart);
    cuts.iter().map(one).sum::<f64>() / cuts.len().max(1) as f64
}

/// How much longer than one of them the later of two mirrors takes to the same place: their heads stand alike, their
/// spindles do not. The mean over the pairs of an array, seconds.
pub(in crate::estimate) fn later_mirror(k: &Disk, corner: Corner, disks: usize) -> f64 {
    let apart = |pair: usize| {
        let [first, second] = [2 * pair, 2 * pair + 1].map(spindle_phase);
        // Where one waits u, the other waits u + d, or a turn less: the later of them d (1 - d) more than one, on
        // average.
        let d = (first - second).abs();
        d * (1.0 - d)
    };
    let pairs = disks / 2;
    (0..pairs).map(apart).sum::<f64>() / pairs.max(1) as f64 * turn(k, corner)
}

/// The variance of the time of a command that begins anywhere, by the square of a mean: seeks differ, and the angle is
/// any.
pub(in crate::estimate) fn variation(k: &Disk, corner: Corner, range: (f64, f64), bytes: f64, mean: f64) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (seek, part) in seeks(k, corner, range, bytes) {
        (sum, squares) = (sum + part * seek, squares + part * seek * seek);
    }
    let turn = turn(k, corner);
    (squares - sum * sum + turn * turn / 12.0) / (mean * mean).max(1e-300)
}

/// Steps of an integral over the places of a disk.
const STEPS: u32 = 256;

/// Bytes of each disk that a flow uses: the first of them, and how many.
pub(in crate::estimate) fn range(storage: &Storage, flow: &IoFlow) -> (f64, f64) {
    let disks = match flow.volume {
        Volume::Target(_) | Volume::Station(_) => 1,
        Volume::Array(a) => storage.arrays[a as usize].data_disks(),
    };
    (flow.start.f64() / disks as f64, flow.range.f64() / disks as f64)
}

/// One turn of a disk, seconds.
pub(in crate::estimate) fn turn(k: &Disk, corner: Corner) -> f64 {
    60.0 / k.rpm.at(corner).get() as f64
}

/// The fastest media rate in a range, bytes per second: rates fall or rise evenly from one end to the other.
pub(in crate::estimate) fn fastest(k: &Disk, corner: Corner, (start, range): (f64, f64)) -> f64 {
    media_rate(k, corner, start).max(media_rate(k, corner, start + range))
}

/// How long the heads take over what a sequential flow leaves out between two of its I/Os, seconds: passed over while
/// reading ahead, or left and come to again, whichever is sooner.
fn passes(k: &Disk, corner: Corner, read: bool, gap: f64, rate: f64) -> f64 {
    if gap <= 0.0 {
        return 0.0;
    }
    let passed_over = if read && gap <= k.cache.at(corner).f64() { gap / rate } else { f64::INFINITY };
    let (angle, turn) = (gap / rate, turn(k, corner));
    let far = (gap / k.capacity.typical.f64()).min(1.0);
    let moves = if gap < rate * turn { 0.0 } else { seek(far, seek_times(k, corner)) };
    // The place comes by once in a turn.
    passed_over.min(angle + ((moves - angle) / turn).ceil() * turn)
}
