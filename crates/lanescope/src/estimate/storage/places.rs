//! Places of an adapter's queues: so many commands it has at each of its disks (`queue_depth`), and all others that are
//! outstanding wait for one of these to be done.
//!
//! A command holds its place from the adapter's processor until its status has come, and in a solid-state drive waits
//! for no more than those that have one, too. Heads are busy however many wait for them. Not in it: what an adapter
//! with a cache writes behind its host's back.

use crate::estimate::storage::Kind;
use crate::estimate::storage::among::{between, by_time, parts};
use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::flash::{self, Beside};
use crate::estimate::storage::nvme;
use crate::estimate::storage::queueing::Station;
use crate::estimate::storage::reads;
use crate::estimate::storage::unloaded::One;
use crate::plan::storage::{Adapter, Array, Device, IoFlow, Medium, Storage, Target, Volume};
use crate::scenario::quantity::Corner;

/// How long a command waits for one of `c` places at one of some disks, as a part of the time that each is held, while
/// so many others are at any of them (binomial). Who finds all places taken waits until the first is done, of `c` that
/// began anywhere `1 / (c + 1)` of their time, and for each that waited before it for `1 / c` more.
fn by_chance(others: f64, disks: f64, c: f64) -> f64 {
    let others = others.round().min(f64::from(u32::MAX));
    if others < c {
        return 0.0;
    }
    let (mut fewer, mut room) = (0.0, 0.0);
    for (part, j) in binomial(others as u32, disks).zip(0..c as u32) {
        fewer += part;
        room += (c - f64::from(j)) * part;
    }
    let (full, behind) = ((1.0 - fewer).max(0.0), (others / disks - c + room).max(0.0));
    full / (c + 1.0) + behind / c
}

/// How likely it is that so many of `n` are at one of some disks, each at any of them: of none, of one, and so on.
fn binomial(n: u32, disks: f64) -> impl Iterator<Item = f64> {
    let all = f64::from(n);
    let mut part = (all * (-1.0 / disks).ln_1p()).exp();
    (0..=n).map(move |j| {
        let now = part;
        part *= (all - f64::from(j)) / (f64::from(j) + 1.0) / (disks - 1.0);
        now
    })
}

/// Those that a flow's commands may have.
pub(super) struct Places<'a> {
    own: &'a Adapter,
    /// None of a disk by itself.
    array: Option<&'a Array>,
    pub(super) disks: Vec<u32>,
    /// At each disk.
    pub(super) depth: u32,
}

/// What an I/O of a kind waits for because others are at its disks.
#[derive(Clone, Copy, Default)]
pub(super) struct Waits {
    /// Each of its commands at its drive, for those that have places there.
    pub(super) command: f64,
    /// All of them there, one beside the other.
    pub(super) there: f64,
    /// At the adapter, for places.
    pub(super) place: f64,
}

impl<'a> Places<'a> {
    /// `None` where no such adapter lies between.
    pub(super) fn of(storage: &'a Storage, corner: Corner, flow: &IoFlow) -> Option<Places<'a>> {
        let own = storage.adapter(flow)?;
        let depth = own.host_adapter()?.queue_depth.at(corner).get();
        let array = match flow.volume {
            Volume::Target(_) => None,
            Volume::Array(a) => Some(&storage.arrays[a as usize]),
            Volume::Station(_) => return None,
        };
        let disks = storage.targets_of(flow.volume);
        (!disks.is_empty()).then_some(Places { own, array, disks, depth })
    }

    /// What an I/O of a kind waits for, which takes so long alone, with programs that hold up each page of a read for
    /// so long. Of those that have places, so much are of its kind.
    pub(super) fn waits(&self, one: &One, (k, time, programs): (Kind, f64, f64), part: f64) -> Waits {
        let (storage, disks) = (&*one.plan.storage, self.disks.len() as f64);
        let commands = self.commands(storage, one.flow, k);
        if commands == 0.0 || k.trim {
            return Waits::default();
        }
        let outstanding = f64::from(nvme::outstanding(storage, one.flow, one.corner, (k, time)).0);
        let cut = self.array.map(|a| (a, Cut::of(storage, a, one.flow, k)));
        let piece = k.bytes / cut.map_or(1.0, |(_, cut)| cut.pieces);
        let alone = self.held(one, k, 0.0) / commands;
        let Target { device, transport, .. } = &storage.targets[self.disks[0] as usize];
        let command = match (device, &storage.transports[*transport as usize].medium) {
            // Those that have places at a drive are among themselves there, with its wire.
            (Device::Ssd(d), Medium::Serial { keys, .. }) => {
                let link = keys.at(one.corner);
                let size = (piece.round() as u64).max(1);
                let bytes = if k.read { link.read(size).to_initiator } else { link.write(size).to_target };
                let beside = Beside {
                    stations: vec![Station::one(d.command_time.at(one.corner).seconds())],
                    link: Station::one(bytes as f64 / link.rate.bytes()),
                    follow: Some((reads::wire(&link, piece), reads::Commands::ONE)),
                    drives: 1.0,
                    strip: 0.0,
                };
                let n = (outstanding * commands / disks).clamp(1.0, f64::from(self.depth)) * part;
                let kind = Kind { bytes: piece, ..k };
                let among = between(n, |n| flash::among(d, one.corner, kind, (n, alone, programs), &beside));
                (among - alone).max(0.0)
            }
            _ => 0.0,
        };
        let Some((a, cut)) = cut else { return Waits { command, there: command, place: 0.0 } };
        // Two mirrors write the same, and of what is read each has every second.
        let (pairs, copies) = match (a.mirrors(), k.read) {
            (false, _) => (1.0, 1.0),
            (true, read) => (2.0, if read { 1.0 } else { 2.0 }),
        };
        let groups = disks / pairs;
        let places = f64::from(self.depth) * if copies < pairs { 2.0 } else { 1.0 };
        // What goes to all disks, or to one after the other, goes nowhere by chance.
        let chance = if groups > 1.0 { k.random * ((groups - cut.disks) / (groups - 1.0)).max(0.0) } else { 0.0 };
        let all = outstanding * commands / copies;
        let even = (all / groups / places - 1.0).max(0.0);
        let drawn = if chance > 0.0 { by_chance((all - commands / copies).max(0.0), groups, places) } else { 0.0 };
        let last = (2..=(cut.pieces.round() as u64).min(4096)).map(|i| chance / i as f64).sum::<f64>() + 1.0;
        let place = (alone + command) * (chance * drawn + (1.0 - chance) * even) * last;
        Waits { command, there: command * last, place }
    }

    /// How many of those that have places are of each kind, as a part.
    pub(super) fn parts(&self, one: &One, kinds: &[Kind], (alone, programs): (&[f64], f64)) -> Vec<f64> {
        let storage = &one.plan.storage;
        let disk = |t: &u32| matches!(storage.targets[*t as usize].device, Device::Disk(_));
        if !self.disks.iter().any(disk) {
            // As for what waits in a solid-state drive.
            return by_time(kinds, alone);
        }
        let held: Vec<f64> = kinds.iter().map(|k| self.held(one, *k, 0.0)).collect();
        parts(kinds, &held, |which, part| {
            let waits = self.waits(one, (kinds[which], alone[which], programs), part);
            self.held(one, kinds[which], waits.command)
        })
    }

    /// What an I/O of a kind becomes at the disks; nothing of what a cache takes in.
    fn commands(&self, storage: &Storage, flow: &IoFlow, k: Kind) -> f64 {
        let Some(a) = self.array else { return 1.0 };
        let cut = Cut::of(storage, a, flow, k);
        match k.read {
            true => cut.pieces,
            false if self.own.writes_back() => 0.0,
            false if a.has_parity() => 2.0 * (cut.pieces + cut.stripes),
            false if a.mirrors() => 2.0 * cut.pieces,
            false => cut.pieces,
        }
    }

    /// For how long an I/O of a kind holds places, those of all of its commands added, seconds, each with what it waits
    /// for others there. At least: one that is half of it, or a strip.
    pub(super) fn held(&self, one: &One, k: Kind, waits: f64) -> f64 {
        let Some(a) = self.array else { return one.at_target(self.own, self.disks[0], k) + waits };
        let (storage, strip) = (&*one.plan.storage, a.keys.strip.typical.f64());
        let commands = self.commands(storage, one.flow, k);
        let at = |bytes: f64| one.piece_at_target(self.own, self.disks[0], k, bytes);
        if commands == 0.0 || k.trim {
            return 0.0;
        }
        if one.ends == Ends::Least {
            return at((0.5 * k.bytes).min(strip).max(1.0));
        }
        let cut = Cut::of(storage, a, one.flow, k);
        // Those that lie side by side on a disk are through one after the other.
        let side_by_side = cut.pieces / cut.disks;
        let time = match a.has_heads(storage) {
            true => at(k.bytes / cut.disks) * (side_by_side + 1.0) / (2.0 * side_by_side),
            false => at(k.bytes / cut.pieces),
        };
        commands * (time + waits)
    }
}
