//! What an array makes of its I/Os: disk reads and writes, passages through the adapter's memory and its parity engine,
//! per byte.
//!
//! At least, what a cache may gather goes to the disks in whole stripes, and of what may be written again while it
//! waits nothing goes there at all.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::{Kind, SECTOR};
use crate::plan::storage::{Array, IoFlow, Storage};
use crate::scenario::keys::{Level, Line, WHOLE};

/// The part of what a flow writes that goes to an array's disks for certain. What is written again while it waits in a
/// cache takes the place of the old, and never goes there; that cannot be in a row of writes each behind the other,
/// whose stripes go as soon as they are whole, but for what is left at both ends of the range. Of all others nothing is
/// certain.
fn kept(storage: &Storage, flow: &IoFlow, a: &Array) -> f64 {
    if !back(storage, a) {
        return 1.0;
    }
    let writes = |f: &&IoFlow| f.volume == flow.volume && f.lines.iter().any(|l| l.read < WHOLE || l.reply.0 > 0);
    let row =
        |l: &Line| l.random == 0 && l.read == 0 && l.reply.0 == 0 && l.size.0.is_multiple_of(l.align.0.max(SECTOR));
    match &*flow.lines {
        [line] if row(line) && storage.flows.iter().filter(writes).count() == 1 => {
            let width = a.keys.strip.typical.f64() * a.data_disks() as f64;
            (1.0 - 2.0 * width / flow.range.f64()).max(0.0)
        }
        _ => 0.0,
    }
}

/// Whether a write to it is done in its adapter's cache.
fn back(storage: &Storage, a: &Array) -> bool {
    a.adapter().is_some_and(|own| storage.adapters[own as usize].writes_back())
}

/// What a byte of an array's I/O becomes: bytes read from disks and written to them, passages through the adapter's
/// memory and its parity engine.
pub(in crate::estimate) struct Passages {
    pub(in crate::estimate) reads: f64,
    pub(in crate::estimate) writes: f64,
    pub(in crate::estimate) memory: f64,
    pub(in crate::estimate) parity: f64,
}

/// Those of a kind of I/O: at least, and usually.
pub(in crate::estimate) fn passages(storage: &Storage, ends: Ends, flow: &IoFlow, a: &Array, k: Kind) -> Passages {
    let (strip, level, data) = (a.keys.strip.typical.f64(), a.keys.level.typical, a.data_disks() as f64);
    let back = back(storage, a);
    let of = |reads, writes, memory, parity| Passages { reads, writes, memory, parity };
    if k.read {
        return of(1.0, 0.0, 2.0, 0.0);
    }
    // Sequential writes, and random ones that cover their stripes, are written with a parity of the new data alone; in
    // a cache any may come to that.
    let whole = match ends {
        Ends::Usual => back && k.random < 1.0 || k.bytes >= strip * data,
        Ends::Least => back || k.bytes >= strip * data,
    };
    // The parity of a part of a stripe is as long as that, up to a strip; what lies in several strips may share it.
    let span = match ends {
        Ends::Usual => (strip / k.bytes).min(1.0),
        Ends::Least if k.bytes <= strip => 1.0,
        Ends::Least => 1.0 / data,
    };
    let all = match (level, whole) {
        (Level::Raid0, _) => of(0.0, 1.0, 2.0, 0.0),
        (Level::Raid1 | Level::Raid10, _) => of(0.0, 2.0, 3.0, 0.0),
        (Level::Raid5, true) => of(0.0, 1.0 + 1.0 / data, 3.0 + 2.0 / data, 1.0),
        (Level::Raid5, false) => of(1.0 + span, 1.0 + span, 4.0 + 3.0 * span, 2.0 + span),
    };
    let kept = if ends == Ends::Least { kept(storage, flow, a) } else { 1.0 };
    of(all.reads * kept, all.writes * kept, 1.0 + (all.memory - 1.0) * kept, all.parity * kept)
}
