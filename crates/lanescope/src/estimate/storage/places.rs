//! Places of an adapter's queues: so many commands it has at each of its disks (`queue_depth`), and all others that are
//! outstanding wait for one of these to be done.
//!
//! A command holds its place from the adapter's processor until its status has come, and in a solid-state drive waits
//! for no more than those that have one, too. Heads are busy however many wait for them. Not in it: what an adapter
//! with a cache writes behind its host's back.

use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::unloaded::One;
use crate::estimate::storage::{Kind, kinds};
use crate::plan::storage::{Adapter, Array, Device, IoFlow, Storage, Volume};
use crate::scenario::quantity::Corner;

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
    /// I/Os of the flow that have their places at all disks together, at most.
    pub(super) ios: u32,
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
        let mut places = Places { own, array, disks: storage.targets_of(flow.volume), depth, ios: depth };
        if array.is_some() {
            let all = kinds(&flow.lines);
            let count: f64 = all.iter().map(|k| k.count).sum();
            let each = all.iter().map(|k| k.count * places.commands(storage, flow, *k)).sum::<f64>() / count;
            places.ios = (f64::from(depth) * places.disks.len() as f64 / each.max(1.0)) as u32;
        }
        places.ios = places.ios.max(1);
        Some(places)
    }

    /// How long one of `n` I/Os of an array waits at the adapter for places, which it would hold for so long, seconds.
    /// The others are at any of the disks (binomial); who finds all places of a disk taken waits until the first is
    /// done, of `c` that began anywhere `1 / (c + 1)` of their time, and for each that waited before it for `1 / c`
    /// more.
    pub(super) fn wait(&self, one: &One, (n, k): (u32, Kind), held: f64) -> f64 {
        let (Some(a), c) = (self.array, f64::from(self.depth)) else { return 0.0 };
        let commands = self.commands(&one.plan.storage, one.flow, k);
        // Two mirrors write the same, and of what is read each has every second.
        let (pairs, copies) = (if a.mirrors() { 2.0 } else { 1.0 }, if k.read { 1.0 } else { 2.0 });
        let (disks, copies) = (self.disks.len() as f64 / pairs, if a.mirrors() { copies } else { 1.0 });
        let c = if copies < pairs { c * pairs } else { c };
        let others = ((f64::from(n) - 1.0) * commands / copies).round();
        if commands == 0.0 || others < c {
            return 0.0;
        }
        let each = held / commands;
        let (mut fewer, mut room) = (0.0, 0.0);
        if disks > 1.0 {
            for (part, j) in binomial(others as u32, disks).zip(0..c as u32) {
                fewer += part;
                room += (c - f64::from(j)) * part;
            }
        }
        let (full, behind) = ((1.0 - fewer).max(0.0), (others / disks - c + room).max(0.0));
        each * (full / (c + 1.0) + behind / c)
    }

    /// Whether they are those of disks, and not of solid-state drives.
    pub(super) fn heads(&self, storage: &Storage) -> bool {
        let disk = |t: &u32| matches!(storage.targets[*t as usize].device, Device::Disk(_));
        self.disks.iter().any(disk)
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

    /// For how long an I/O of a kind holds places, those of all of its commands added, seconds, by themselves or with
    /// what it waits for others there. At least: one that is half of it, or a strip.
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
        // Those that lie side by side on a disk are through one after the other; who waits longest makes the I/O's
        // wait.
        let side_by_side = cut.pieces / cut.disks;
        let time = match a.has_heads(storage) {
            true => at(k.bytes / cut.disks) * (side_by_side + 1.0) / (2.0 * side_by_side),
            false => at(k.bytes / cut.pieces),
        };
        let longest: f64 = (1..=(cut.pieces.round() as u64).min(4096)).map(|i| 1.0 / i as f64).sum();
        commands * (time + waits / longest)
    }
}
