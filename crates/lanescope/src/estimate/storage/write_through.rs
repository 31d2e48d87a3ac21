//! Writes that go through to drives: which are followed one by one ([`write_loop`](super::write_loop)), and what they
//! come to. To arrays of solid-state drives, or one that collects garbage, whose programs hold dies, or whose cache has
//! room for few of these; and to disks with a parity, whose heads wait for one another.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::followed::known;
use crate::estimate::storage::unloaded::{One, Other};
use crate::estimate::storage::write_loop::{Drives, Reading, Written};
use crate::estimate::storage::{Kind, kinds, nvme, reads};
use crate::plan::storage::{Adapter, Array, Device, IoFlow, Medium, Storage, Volume};
use crate::scenario::keys::Ssd;
use crate::scenario::quantity::Corner;

/// Pages of those outstanding that are followed at most.
const MOST: f64 = 16_384.0;

/// Pages that fill all caches at most.
const FILLED: f64 = 262_144.0;

/// The array of a write that is followed, if it is one, a drive, its number, and how many are followed at most; `None`
/// of all else.
fn drives_of<'a>(
    storage: &'a Storage,
    corner: Corner,
    flow: &IoFlow,
    k: Kind,
) -> Option<(Option<&'a Array>, &'a Device, u32, u32)> {
    let first = *storage.targets_of(flow.volume).first()?;
    let array = match flow.volume {
        Volume::Array(a) => Some(&storage.arrays[a as usize]),
        Volume::Target(_) => None,
        Volume::Station(_) => return None,
    };
    let device = &storage.targets[first as usize].device;
    let disk = |t: &u32| matches!(storage.targets[*t as usize].device, Device::Disk(_));
    if array.is_some_and(|a| a.disks.iter().any(|t| disk(t) != disk(&first))) {
        return None;
    }
    let reads = || flow.lines.iter().any(|l| l.read > 0 || l.reply.0 > 0 || l.trim > 0);
    let page = match (device, array) {
        // Kinds of one drive share its programs.
        (Device::Ssd(d), a)
            if a.is_none_or(|a| a.disks.len() == 1) && nothing_holds_up(d, corner) && kinds(&flow.lines).len() > 1 =>
        {
            None
        }
        (Device::Ssd(d), _) => {
            // A cache that is full lets in what is programmed: full programs, where it has room for them.
            let programs = full_programs(d, corner);
            let is_small = d.buffer.at(corner).f64() < programs;
            let apart = !nothing_holds_up(d, corner) || !d.write_cache.typical || is_small;
            // What fills it is followed, too, page by page.
            let page = d.page.typical.f64().max(1.0);
            let each = k.bytes / (k.bytes / page).ceil().max(1.0);
            let drives = array.map_or(1.0, |a| a.disks.len() as f64);
            let filled = drives * (d.buffer.at(corner).f64() / each.max(1.0)).min(programs / page);
            (apart && (!d.write_cache.typical || filled <= FILLED)).then_some(page)
        }
        // What reads beside moves the heads, too.
        (Device::Disk(_), Some(a)) if a.has_parity() && !reads() => Some(f64::INFINITY),
        _ => None,
    }?;
    let written = !k.read && !k.trim && flow.remote.is_none();
    let copies = if array.is_some_and(Array::mirrors) { 2.0 } else { 1.0 };
    let strip = array.map_or(f64::INFINITY, |a| a.keys.strip.typical.f64().max(1.0));
    let parts = copies * (k.bytes / page.min(strip).max(1.0) + 2.0);
    (written && parts <= MOST).then_some((array, device, first, (MOST / parts) as u32))
}

/// Whether a drive's programs wait for nothing but their data.
fn nothing_holds_up(d: &Ssd, corner: Corner) -> bool {
    !d.die_programs.typical && d.write_amplification.at(corner).0 <= 1.0
}

/// Bytes that all stripes program at once, and as much that comes meanwhile.
fn full_programs(d: &Ssd, corner: Corner) -> f64 {
    let pages = [&d.stripes, &d.stripe_pages].map(|q| f64::from(q.at(corner).get()));
    2.0 * pages[0] * pages[1] * d.page.typical.f64()
}

/// Whether writes of a kind are followed, or what a cache makes of them is.
pub(super) fn follows(storage: &Storage, corner: Corner, flow: &IoFlow, k: Kind) -> bool {
    let back = storage.adapter(flow).is_some_and(|own| own.writes_back());
    drives_of(storage, corner, flow, k).is_some() && (!back || behind_cache(storage, flow, k).is_some())
}

/// The array of RAID 5 of writes that lie anywhere, behind an adapter's cache, and that adapter.
fn behind_cache<'a>(storage: &'a Storage, flow: &IoFlow, k: Kind) -> Option<(&'a Array, &'a Adapter)> {
    let Volume::Array(a) = flow.volume else { return None };
    let (a, own) = (&storage.arrays[a as usize], storage.adapter(flow)?);
    (own.writes_back() && a.has_parity() && k.random >= 1.0).then_some((a, own))
}

impl One<'_> {
    /// One of `n` writes that are followed, each of which is done when its drives have taken it in; so many cores issue
    /// them, and they have so large a part of the places at their drives. `full`: caches of drives are. `None` where
    /// they are not followed.
    pub(super) fn through(&self, k: Kind, (n, part, cores): (u32, f64, f64), full: bool) -> Option<Written> {
        let storage = &*self.plan.storage;
        let cached = |t: &u32| matches!(&storage.targets[*t as usize].device, Device::Ssd(d) if d.write_cache.typical);
        // What one takes whose cache has room does not have to be followed.
        let empty = !full && storage.targets_of(self.flow.volume).iter().any(cached);
        if empty || storage.adapter(self.flow).is_some_and(|own| own.writes_back()) {
            return None;
        }
        let (all, most) = self.drives(k, cores)?;
        let (known, few) = (self.known_alone(k), n.min(most));
        let depth = (f64::from(all.depth) * part).round().max(1.0) as u32;
        let once = [u64::from(few), u64::from(depth), u64::from(full), known.map_or(u64::MAX, f64::to_bits)];
        let one = written(&all, k, &once, || {
            // What one takes by itself at a drive is known better, frame by frame: that is on the way.
            let more = known.and_then(|known| Some(known - all.in_turn((1, false), k)?.time)).unwrap_or(0.0);
            Drives { lead: (all.lead + more).max(0.0), depth, ..all.clone() }.in_turn((few, full), k)
        })?;
        // More than are followed only wait.
        Some(Written { time: one.time * f64::from(n) / f64::from(few), ..one })
    }

    /// How long a write by itself takes, where that does not have to be followed: one command of one drive that nothing
    /// holds up.
    pub(super) fn known_alone(&self, k: Kind) -> Option<f64> {
        let storage = &*self.plan.storage;
        let (c, targets) = (self.corner, storage.targets_of(self.flow.volume));
        let [target] = targets[..] else { return None };
        let Device::Ssd(d) = &storage.targets[target as usize].device else { return None };
        let commands = nvme::drives(storage, self.flow).first().map_or(1.0, |d| nvme::commands(d.controller, c, k));
        (nothing_holds_up(d, c) && commands <= 1.0).then(|| self.in_time(k))
    }

    /// Seconds from one write to the next behind an adapter's cache that is full of those that lie anywhere. `None` of
    /// all else.
    pub(super) fn destaged(&self, k: Kind) -> Option<f64> {
        let storage = &*self.plan.storage;
        let (a, own) = behind_cache(storage, self.flow, k)?;
        let kept = a.kept_at_drive(storage, own, self.corner);
        let (all, _) = self.drives(k, 1.0)?;
        let one = written(&all, k, &[u64::from(kept)], || {
            Some(Written { time: all.destaged(kept, k)?, place: 0.0, held: 0.0, worked: 0.0 })
        })?;
        Some(one.time)
    }

    /// The drives of writes that so many cores issue, and how many outstanding ones are followed at most.
    fn drives(&self, k: Kind, cores: f64) -> Option<(Drives<'_>, u32)> {
        let (storage, c, flow) = (&*self.plan.storage, self.corner, self.flow);
        let (array, device, first, most) = drives_of(storage, c, flow, k).filter(|_| self.ends == Ends::Usual)?;
        let target = &storage.targets[first as usize];
        let submit = flow.submit.at(c).seconds() + flow.complete.at(c).seconds();
        // What a drive takes beside its data, and its data.
        let (command, program, rate) = match device {
            Device::Ssd(d) => {
                let rate = d.rate.as_ref().map_or(0.0, |q| 1.0 / q.at(c).bytes());
                let program = if d.write_cache.typical { 0.0 } else { d.program_time.at(c).seconds() };
                (d.command_time.at(c).seconds(), program, rate)
            }
            Device::Disk(d) => (d.command_time.at(c).seconds(), 0.0, 0.0),
            _ => return None,
        };
        let one = |read: bool, bytes: f64| Kind { bytes, read, random: 0.0, anywhere: 0.0, ..k };
        let of_nvme = |drive: &nvme::Drive| (self.paces_of(drive), drive.controller.keys.max_transfer.at(c).0.max(1));
        let (cores, beside) = (cores.max(1.0), command + program);
        let parity = array.is_some_and(Array::has_parity) && matches!(device, Device::Ssd(_));
        let reading = |of: &dyn Fn(f64) -> f64| if parity { Reading::new(of) } else { Reading::default() };
        let plain = Drives {
            devices: storage.targets_of(flow.volume).iter().map(|t| &storage.targets[*t as usize].device).collect(),
            corner: c,
            array,
            start: flow.start.0,
            range: flow.range.0,
            host: submit / cores,
            around: 0.0,
            given: 0.0,
            parity: 0.0,
            again: 0.0,
            command,
            lead: 0.0,
            wire: rate,
            back: 0.0,
            largest: u64::MAX,
            depth: u32::MAX,
            by_host: true,
            reading: Reading::default(),
        };
        if let Some(drive) = nvme::drives(storage, flow).first() {
            let ([wire, back], largest) = of_nvme(drive);
            let (host, wake) = (array.and_then(Array::host), self.wake());
            let all = Drives {
                around: wake,
                given: host.map_or(0.0, |h| h.command.at(c).seconds() / cores),
                parity: host.map_or(0.0, |h| 1.0 / h.parity.at(c).bytes().max(1.0) / cores),
                again: wake,
                lead: (self.of_queue(drive, one(false, 1.0)) - beside).max(0.0),
                wire: wire.max(rate),
                back,
                largest,
                reading: reading(&|bytes| self.of_queue(drive, one(true, bytes))),
                ..plain
            };
            return Some((all, most));
        }
        let own = storage.adapter(flow)?;
        let keys = own.host_adapter()?;
        let ([wire, back], largest) = match &storage.transports[target.transport as usize].medium {
            Medium::Serial { keys, .. } => {
                let strip = array.map_or(f64::INFINITY, |a| a.keys.strip.typical.f64());
                let (link, size) = (keys.at(c), k.bytes.min(strip).round().max(1.0));
                let wire = link.write(size as u64).to_target as f64 / link.rate.bytes() / size;
                ([wire, reads::wire(&link, size).byte], u64::MAX)
            }
            Medium::Inside => of_nvme(nvme::behind(storage, array?).first()?),
            Medium::Scsi { .. } => return None,
        };
        // Data for an array are in the adapter's memory, those for a drive by itself come from the host's.
        let (other, fetched, pace) = match array {
            Some(_) => (Other::Cache, self.to_cache(own, k), 0.0),
            None => (Other::Host, 0.0, self.paces[0]),
        };
        let at_drive = |read: bool, bytes: f64| self.target(own, first, one(read, bytes), bytes, other);
        let all = Drives {
            around: self.around(own) - submit + fetched,
            given: keys.drive_command_time.as_ref().map_or(0.0, |q| q.at(c).seconds()),
            parity: keys.xor_rate.as_ref().map_or(0.0, |q| 1.0 / q.at(c).bytes()),
            lead: (at_drive(false, 1.0) - beside).max(0.0),
            wire: wire.max(rate).max(pace),
            back,
            largest,
            depth: keys.queue_depth.at(c).get(),
            by_host: false,
            reading: reading(&|bytes| at_drive(true, bytes)),
            ..plain
        };
        Some((all, most))
    }
}

/// What is worked out once of writes that are alike: their kind, their drives and all that is said in `once`.
fn written(all: &Drives, k: Kind, once: &[u64], follow: impl FnOnce() -> Option<Written>) -> Option<Written> {
    let follow = || follow().map_or(Vec::new(), |w| vec![w.time, w.place, w.held, w.worked]);
    match known(all.key(k, once), follow)[..] {
        [time, place, held, worked] => Some(Written { time, place, held, worked }),
        _ => None,
    }
}
