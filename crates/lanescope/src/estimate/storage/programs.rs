//! Reads that wait for dies which program: how long, at the rate at which the shares write.
//!
//! What is written goes to stripes page by page. A stripe that programs takes in next what has come meanwhile, at least
//! one page: of arrivals by chance, as many as come in the time `T` of a program or one, `aT + e^-aT` in the mean for a
//! rate `a` (a server of batches: Bailey, JRSS B 16, 1954). Whatever it holds, it has the dies of all of its pages,
//! from taking its data in until the end. So a die is taken for a part of the time, and a read that comes then waits
//! for the rest: `p E[T²] / 2 E[T]` in the mean over all dies. Suspended programs cost who comes first the time to
//! suspend one.
//!
//! The rates are those of the shares, which depend on these waits: they are worked out in turns ([`PASSES`]).
//!
//! Not in it: programs that wait for one another's dies, and reads that hold up programs.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::shape::Shape;
use crate::estimate::storage::{Kind, kinds, nvme};
use crate::plan::storage::{Device, IoFlow, Storage};
use crate::scenario::keys::{Ssd, WHOLE};
use crate::scenario::quantity::Corner;

/// Turns in which shares and waits are worked out.
pub(in crate::estimate) const PASSES: usize = 6;

/// Of the time a die is free for reads, at least.
const LEFT: f64 = 0.02;

/// Whether a flow reads, and whether it writes.
pub(super) fn does(flow: &IoFlow) -> [bool; 2] {
    let replies = |l: &crate::scenario::keys::Line| l.reply.0 > 0;
    [
        flow.lines.iter().any(|l| l.read > 0 || replies(l)),
        flow.lines.iter().any(|l| l.read < WHOLE && l.trim < WHOLE || replies(l)),
    ]
}

/// The drive of a target, if reads may wait there for what it programs.
fn programs(storage: &Storage, target: u32) -> Option<&Ssd> {
    match &storage.targets[target as usize].device {
        Device::Ssd(k) if k.die_programs.typical => Some(k),
        _ => None,
    }
}

/// Whether reads of a plan wait for programs at all.
pub(in crate::estimate) fn matter(storage: &Storage) -> bool {
    let there = |f: &IoFlow| storage.targets_of(f.volume).iter().any(|t| programs(storage, *t).is_some());
    let any = |way: usize| storage.flows.iter().any(|f| does(f)[way] && there(f));
    any(0) && any(1)
}

/// Pages that a flow writes to each of its drives for a byte of its own, those of an array taken to be alike.
fn pages(storage: &Storage, flow: &IoFlow, k: &Ssd, corner: Corner) -> f64 {
    let page = k.page.typical.f64().max(1.0);
    let of = |bytes: f64| (bytes / page).ceil().max(1.0);
    let (mut written, mut bytes) = (0.0, 0.0);
    for kind in kinds(&flow.lines) {
        bytes += kind.count * kind.bytes;
        if kind.read || kind.trim {
            continue;
        }
        let (count, each, drives) = match storage.host_array(flow) {
            Some((a, _)) => {
                let s = Shape::of(a, flow, kind, (Ends::Usual, 0));
                (s.commands[1], s.bytes[1] / s.commands[1].max(1e-300), a.disks.len() as f64)
            }
            None => (1.0, kind.bytes, storage.targets_of(flow.volume).len().max(1) as f64),
        };
        let controller = nvme::drives(storage, flow).first().map(|d| d.controller);
        let pieces = controller.map_or(1.0, |c| nvme::commands(c, corner, Kind { bytes: each, ..kind }));
        written += kind.count * count * pieces * of(each / pieces) / drives;
    }
    if bytes > 0.0 { written / bytes } else { 0.0 }
}

/// For each flow, seconds that a read of a page waits for programs, at shares of so many bytes a second of each.
///
/// Of one that reads and writes, a read meets what the others of its I/Os outstanding write: where a write is done when
/// it is programmed, one less than all.
pub(in crate::estimate) fn waits(storage: &Storage, corner: Corner, rates: &[f64]) -> Vec<f64> {
    let mut rate_of = vec![0.0; storage.targets.len()];
    // Pages a second of each flow at each of its drives.
    let mut own = Vec::with_capacity(rates.len());
    for (flow, rate) in storage.flows.iter().zip(rates) {
        let targets = storage.targets_of(flow.volume);
        let first = targets.iter().find_map(|t| programs(storage, *t));
        let written = first.map_or(0.0, |k| rate * pages(storage, flow, k, corner));
        for target in targets {
            if programs(storage, target).is_some() {
                rate_of[target as usize] += written;
            }
        }
        own.push(match first {
            Some(k) if !k.write_cache.typical => written / f64::from(flow.outstanding.at(corner).get()),
            _ => 0.0,
        });
    }
    let one = |(flow, own): (&IoFlow, f64)| {
        if !does(flow)[0] {
            return 0.0;
        }
        let targets = storage.targets_of(flow.volume);
        let at = |t: &u32| match (programs(storage, *t), rate_of[*t as usize] - own) {
            (Some(k), rate) if rate > 0.0 => wait(k, corner, rate),
            _ => 0.0,
        };
        targets.iter().map(at).sum::<f64>() / targets.len().max(1) as f64
    };
    storage.flows.iter().zip(own).map(one).collect()
}

/// The same of one drive that is written so many pages a second.
fn wait(k: &Ssd, corner: Corner, pages: f64) -> f64 {
    let n = |q: u32| f64::from(q);
    let (stripes, most) = (n(k.stripes.at(corner).get()), n(k.stripe_pages.at(corner).get()));
    let dies = n(k.channels.at(corner).get()) * n(k.dies.at(corner).get());
    let (program, page) = (k.program_time.at(corner).seconds(), k.page.typical.f64());
    let (intake, each) = (page / k.stripe_rate.at(corner).bytes(), pages / stripes);
    let (erase, block) = (k.erase_time.at(corner).seconds(), n(k.block_programs.at(corner).get()));
    // Each holds what came while the one before took its data in and was programmed.
    let mut holds = 1.0_f64;
    for _ in 0..20 {
        let come = each * (holds * intake + program + erase / block);
        holds = (come + libm::exp(-come)).clamp(1.0, most);
    }
    // Of what garbage collection moves, programs are full, and it is read before.
    let (rate, moved) = (each / holds, each * (k.write_amplification.at(corner).0 - 1.0) / most);
    let time = holds * intake + program;
    let gather = k.read_time.at(corner).seconds() + page / k.channel_rate.at(corner).bytes();
    // (programs a second, time of each): with an erase before one of so many.
    let all = [
        (rate * (1.0 - 1.0 / block), time),
        (rate / block, time + erase),
        (moved * (1.0 - 1.0 / block), gather + program),
        (moved / block, gather + program + erase),
    ];
    let sum = |of: &dyn Fn(f64) -> f64| all.iter().map(|(rate, time)| rate * of(*time)).sum::<f64>();
    // A stripe programs one thing at a time, and has so many of all dies.
    let busy = sum(&|t| t).min(1.0);
    let (part, scale) = (stripes * most.min(dies) / dies, busy / sum(&|t| t).max(1e-300));
    let held = (busy * part).min(1.0 - LEFT);
    match &k.suspend_time {
        Some(time) => held * time.at(corner).seconds(),
        None => sum(&|t| t * t) * scale * part.min(held / busy.max(1e-300)) / 2.0,
    }
}
