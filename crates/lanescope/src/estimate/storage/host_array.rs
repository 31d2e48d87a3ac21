//! The closed form of an array that its host runs over NVMe drives: what an I/O becomes, how its commands lie on the
//! drives, and how long it takes by itself.
//!
//! What it becomes is in [`shape`](super::shape). Drives share the commands evenly.
//!
//! Not in it: ranges that touch some of the drives only, and that the last of several commands on drives with waits of
//! their own is later than one of them is.

use crate::estimate::core::elements::Part;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::nvme::{self, Drive, drives};
use crate::estimate::storage::shape::Shape;
use crate::estimate::storage::unloaded::One;
use crate::estimate::storage::{Kind, command, queue_pairs};
use crate::plan::Dma;
use crate::plan::storage::{Array, IoFlow, Storage};
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

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
