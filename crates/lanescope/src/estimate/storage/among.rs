//! I/Os among others: how long one takes with those that are outstanding beside it.
//!
//! Flows that are alike count as one with all that they have outstanding. Those that differ, in what they ask for or in
//! how many they have, are told apart at a solid-state drive by itself: whoever comes there waits for what is there of
//! all of them, page by page, as far as those outstanding are few enough to be followed.
//!
//! Not in it: flows that differ at a disk, an array or a RAM disk, and more than can be followed. They count as alike,
//! and a note says so.

use crate::estimate::storage::array;
use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::flash::{self, Beside};
use crate::estimate::storage::followed::{self, Io, Source};
use crate::estimate::storage::heads::{self, Met, Way};
use crate::estimate::storage::nvme::{self, Drive, drives};
use crate::estimate::storage::queueing::Station;
use crate::estimate::storage::reads::Wire;
use crate::estimate::storage::shape::Shape;
use crate::estimate::storage::unloaded::One;
use crate::estimate::storage::write_loop::Written;
use crate::estimate::storage::{Kind, held, kinds};
use crate::plan::storage::{Device, IoFlow, Medium, Storage, Target, Volume};
use crate::scenario::keys::{Disk, Ssd};
use crate::scenario::quantity::Corner;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A flow of I/Os: its kinds, how long each takes by itself, seconds, and how long a read of a page waits for programs.
pub(super) struct Asked<'a> {
    pub(super) one: One<'a>,
    pub(super) kinds: Vec<Kind>,
    pub(super) alone: Vec<f64>,
    pub(super) held: f64,
    parts: OnceCell<Vec<f64>>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(one: One<'a>, held: f64) -> Asked<'a> {
        let kinds = kinds(&one.flow.lines);
        let alone = kinds.iter().map(|k| one.time(*k)).collect();
        Asked { one, kinds, alone, held, parts: OnceCell::new() }
    }

    /// How many of those outstanding are of a kind, as a part: by Little's law as it is drawn and as long as it takes
    /// among its like. Kinds are served one after the other, so each goes as often as the others let it: where one
    /// takes less time, more of those outstanding wait with the others, and there are more of all.
    pub(super) fn part(&self, which: usize) -> f64 {
        self.parts.get_or_init(|| self.parts())[which]
    }

    fn parts(&self) -> Vec<f64> {
        let storage = &self.one.plan.storage;
        let disk = |t: u32| matches!(storage.targets[t as usize].device, Device::Disk(_));
        if !storage.targets_of(self.one.flow.volume).into_iter().any(disk) {
            // What waits in a solid-state drive waits at many places at once, for others than its like.
            return by_time(&self.kinds, &self.alone);
        }
        let among =
            |which: usize, part: f64| queued(&self.one, (self.kinds[which], self.alone[which], self.held), part);
        parts(&self.kinds, &self.alone, among)
    }
}

/// How many of those outstanding are of each kind, as a part, where each takes so long (Little's law).
pub(super) fn by_time(kinds: &[Kind], times: &[f64]) -> Vec<f64> {
    let each = || kinds.iter().zip(times).map(|(k, time)| k.count * time);
    let all = each().sum::<f64>().max(1e-300);
    each().map(|one| one / all).collect()
}

/// How many of so many are of each kind, as a part, where each takes so long alone, and so long among so large a part.
pub(super) fn parts(kinds: &[Kind], alone: &[f64], among: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let mut parts = by_time(kinds, alone);
    let rounds = if (2..=TOLD_APART).contains(&kinds.len()) { ROUNDS } else { 0 };
    for _ in 0..rounds {
        let times: Vec<f64> = parts.iter().enumerate().map(|(which, part)| among(which, *part)).collect();
        let next = by_time(kinds, &times);
        let moved = parts.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        parts = next;
        if moved < SETTLED {
            break;
        }
    }
    parts
}

/// What so many take, of a function of whole numbers: between two of them the mean.
pub(super) fn between(n: f64, of: impl Fn(u32) -> f64) -> f64 {
    let n = n.max(1.0);
    let (fewer, more) = (of(n.floor() as u32), if n.fract() > 0.0 { of(n.ceil() as u32) } else { 0.0 });
    fewer * (1.0 - n.fract()) + more * n.fract()
}

/// Kinds whose parts are worked out by how long they wait, in so many rounds at most, until none moves by so much.
const TOLD_APART: usize = 8;
const ROUNDS: u32 = 32;
const SETTLED: f64 = 5e-4;

/// What an I/O of a kind takes among all, seconds, and what of that it waits at its adapter for a place at its drive;
/// and for how long the heads of a disk work for it, where they were followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    pub(super) time: f64,
    pub(super) place: f64,
    pub(super) heads: Option<f64>,
    /// If that is what it settles to: after how long, and which part of it its flow does at first.
    pub(super) settles: Option<[f64; 2]>,
}

/// For each flow what its kinds wait for, where flows or sizes of reads that differ meet at a drive by itself.
pub(super) fn classes(storage: &Storage, corner: Corner, all: &[Asked]) -> Vec<Option<Vec<Waited>>> {
    let mut waited: Vec<Option<Vec<Waited>>> = all.iter().map(|_| None).collect();
    let mut at: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, f) in all.iter().enumerate() {
        if let Volume::Target(t) = f.one.flow.volume {
            at.entry(t).or_default().push(i);
        }
    }
    for (target, flows) in at {
        let at = &storage.targets[target as usize];
        if let Device::Disk(k) = &at.device {
            let times = at_disk(storage, corner, (k, at), all, &flows).into_iter().flatten();
            times.zip(&flows).for_each(|(times, i)| waited[*i] = Some(times));
            continue;
        }
        let groups = groups(all, &flows);
        // Of one class, reads of several sizes wait for one another, too.
        let several = |group: &[usize]| {
            let kinds = &all[group[0]].kinds;
            kinds.len() > 1 && kinds.iter().all(|k| k.read)
        };
        if groups.len() > MOST || groups.len() < 2 && !several(&groups[0]) {
            continue;
        }
        let times = match &at.device {
            Device::Ssd(k) => at_flash(storage, corner, k, all, &groups),
            _ => None,
        };
        for (times, group) in times.into_iter().flatten().zip(&groups) {
            group.iter().for_each(|i| waited[*i] = Some(times.clone()));
        }
    }
    waited
}

/// Classes at a drive that are told apart.
const MOST: usize = 64;

/// Flows at a drive that are alike, and have as many outstanding.
fn groups(all: &[Asked], flows: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in flows {
        match groups.iter_mut().find(|g| alike(&all[g[0]], &all[*i])) {
            Some(group) => group.push(*i),
            None => groups.push(vec![*i]),
        }
    }
    groups
}

/// Whether two flows ask for the same, each with as many outstanding.
fn alike(a: &Asked, b: &Asked) -> bool {
    let numbers = |f: &Asked| {
        let (c, flow) = (f.one.corner, f.one.flow);
        let rate = flow.rate.as_ref().map(|r| (r.at(c), flow.arrivals));
        (flow.outstanding.at(c), rate, flow.submit.at(c), flow.complete.at(c), flow.adapter)
    };
    numbers(a) == numbers(b) && a.kinds == b.kinds && a.alone == b.alone
}

/// The same of classes of I/Os at a solid-state drive.
fn at_flash(
    storage: &Storage,
    corner: Corner,
    k: &Ssd,
    all: &[Asked],
    groups: &[Vec<usize>],
) -> Option<Vec<Vec<Waited>>> {
    let mut cores: Vec<u32> = groups.iter().flatten().map(|i| all[*i].one.flow.core).collect();
    cores.sort_unstable();
    cores.dedup();
    let own = storage.adapter(all[groups[0][0]].one.flow).and_then(|own| own.host_adapter());
    let depth = own.map_or(u32::MAX, |keys| keys.queue_depth.at(corner).get());
    let source = |group: &Vec<usize>| {
        let (f, many) = (&all[group[0]], group.len() as u32);
        let flow = f.one.flow;
        let on = group.iter().map(|i| cores.partition_point(|c| *c < all[*i].one.flow.core)).collect();
        let rate = flow.rate.as_ref().map(|r| f64::from(r.at(corner).get()) * f64::from(many));
        let io = |(which, (k, time)): (usize, (&Kind, &f64))| {
            let way = if k.read && f.held == 0.0 { way_of(storage, &f.one, *k) } else { None };
            let io = match way {
                Some(Beside { stations, link, follow: Some((wire, cut)), .. }) => {
                    Io::Read { kind: *k, cut, wire, time: *time, stations, link }
                }
                _ if k.read => return None,
                _ => Io::Other(queued(&f.one, (*k, *time, f.held), f.part(which))),
            };
            Some((k.count, io))
        };
        let kinds = f.kinds.iter().zip(&f.alone).enumerate().map(io).collect::<Option<Vec<_>>>()?;
        let n = flow.outstanding.at(corner).get().saturating_mul(many);
        Some(Source { n, cores: on, rate: rate.map(|r| (r, flow.arrivals)), kinds })
    };
    let sources = groups.iter().map(source).collect::<Option<Vec<Source>>>()?;
    // Reads wait for reads alone.
    let kinds = sources.iter().flat_map(|s| &s.kinds);
    if kinds.filter(|(_, io)| matches!(io, Io::Read { .. })).count() < 2 {
        return None;
    }
    let times = followed::of_several(k, corner, &sources, depth)?;
    // What comes too seldom to be seen waits for nobody.
    let waited = |((time, place), alone): ((f64, f64), &f64)| Waited {
        time: time.max(*alone),
        place,
        heads: None,
        settles: None,
    };
    let of_group = |(times, group): (Vec<(f64, f64)>, &Vec<usize>)| {
        times.into_iter().zip(&all[group[0]].alone).map(waited).collect()
    };
    Some(times.into_iter().zip(groups).map(of_group).collect())
}

/// The same of flows at a disk, if its heads are followed.
fn at_disk(
    storage: &Storage,
    corner: Corner,
    (k, target): (&Disk, &Target),
    all: &[Asked],
    flows: &[usize],
) -> Option<Vec<Vec<Waited>>> {
    let first = flows.first().map(|i| all[*i].one.flow).filter(|flow| heads::followed(storage, corner, flow))?;
    let own = storage.adapter(first)?;
    let keys = own.host_adapter()?;
    let transport = &storage.transports[target.transport as usize];
    let source = |i: &usize| {
        let Asked { one, kinds, .. } = &all[*i];
        let way = |kind: &Kind| {
            let [behind, least] = one.around_heads(own, k, *kind);
            let Kind { count, bytes, read, random, align, .. } = *kind;
            let size = (bytes.round() as u64).max(1);
            let (wire, lane) = match &transport.medium {
                Medium::Serial { keys, .. } => {
                    let link = keys.at(corner);
                    let slots = if read { link.read(size).to_initiator } else { link.write(size).to_target };
                    (slots as f64 / link.rate.bytes(), usize::from(read))
                }
                bus => (held(bus, read, bytes), 0),
            };
            Way { count, size, read, random, align, behind, least, wire, lane }
        };
        heads::Source { flow: one.flow, kinds: kinds.iter().map(way).collect() }
    };
    let sources: Vec<_> = flows.iter().map(source).collect();
    let depth = keys.queue_depth.at(corner).get();
    let met = heads::among(k, corner, &sources, (keys.command_time.at(corner).seconds(), depth))?;
    let of_flow = |(met, i): (Vec<Option<Met>>, &usize)| {
        // What comes too seldom to be seen waits for nobody.
        let waited = |(met, alone): (Option<Met>, &f64)| match met {
            Some(Met { time, place, heads, settles }) => Waited { time, place, heads: Some(heads), settles },
            None => Waited { time: *alone, place: 0.0, heads: None, settles: None },
        };
        met.into_iter().zip(&all[*i].alone).map(waited).collect()
    };
    Some(met.into_iter().zip(flows).map(of_flow).collect())
}

/// The way of a kind of I/O to a drive by itself.
fn way_of(storage: &Storage, slow: &One, k: Kind) -> Option<Beside> {
    match drives(storage, slow.flow).first() {
        Some(drive) => Some(way(slow, drive, k, 1.0, (1.0, 1), (1.0, false))),
        None => array::way(storage, slow.corner, slow.flow, k, 1.0).map(|(_, beside)| beside),
    }
}

/// The way of `count` commands of an I/O to NVMe drives, which so many workers on so many cores give them, and whether
/// the drives are mirrors that take turns.
fn way(
    slow: &One,
    drive: &Drive,
    one: Kind,
    count: f64,
    (cores, workers): (f64, u32),
    (drives, mirrored): (f64, bool),
) -> Beside {
    let (Drive { controller, queues, .. }, corner, flow) = (*drive, slow.corner, slow.flow);
    let host = flow.submit.at(corner).seconds() + flow.complete.at(corner).seconds();
    let pairs = controller.pairs(queues).count() as f64 * f64::from(workers);
    let pairs = pairs.min(f64::from(controller.keys.queue_pairs.at(corner).get()));
    let commands = count * nvme::commands(controller, corner, Kind { bytes: one.bytes / count, ..one });
    let pace = if one.trim { 0.0 } else { slow.paces_of(drive)[usize::from(one.read)] * one.bytes / count };
    let dealt = match one.trim {
        true => nvme::trim(controller, corner, one.bytes),
        false => controller.keys.command_time.at(corner).seconds(),
    };
    let of_drives = |visits, time| Station::of_drives(drives, mirrored, visits, time);
    let stations = [
        Station::of(cores, 1.0, host),
        Station::of(drives * pairs, commands, controller.keys.queue_time.at(corner).seconds()),
        of_drives(commands, dealt),
    ];
    let way = slow.on_the_way(drive, one, workers);
    let follow = way.is_empty().then_some((Wire::in_order(pace * count / one.bytes.max(1.0)), drive.cut(corner)));
    let strip = array::strip(&slow.plan.storage, flow);
    Beside { stations: [&stations[..], &way].concat(), link: of_drives(count, pace), follow, drives, strip }
}

/// Time of an I/O, which takes so long alone, with those that wait beside it at a disk or in a solid-state drive,
/// seconds; a read waits there for programs, so long a page. Of those outstanding, so much are of its kind.
pub(super) fn queued(slow: &One, (k, alone, held): (Kind, f64, f64), part: f64) -> f64 {
    let flow = slow.flow;
    let mut others = slow.plan.storage.flows.iter().filter(|f| f.volume == flow.volume && f.name != flow.name);
    let rounds = if others.any(|f| f.rate.is_some()) { ROUNDS } else { 0 };
    let mut time = queued_for(slow, (k, alone, held), (part, alone));
    // Of others that keep to a rate there are as many as come while one is dealt with: more, the longer that is.
    for _ in 0..rounds {
        let next = queued_for(slow, (k, alone, held), (part, time));
        if next <= time * (1.0 + SETTLED) {
            break;
        }
        time = next;
    }
    time
}

/// The same where those of others that keep to a rate take so long.
fn queued_for(slow: &One, (k, alone, held): (Kind, f64, f64), (part, time): (f64, f64)) -> f64 {
    let One { plan, corner, flow, .. } = *slow;
    let storage = &*plan.storage;
    if let Some(all) = through(slow, k, (part, time)) {
        return all.time;
    }
    if let Some(drive) = drives(storage, flow).first() {
        return queued_at_drives(storage, corner, flow, (k, alone, held, time), slow, drive);
    }
    if let Volume::Array(a) = flow.volume
        && let Some(drive) = nvme::behind(storage, &storage.arrays[a as usize]).first()
    {
        return queued_behind(slow, a, (k, alone, held, time), drive);
    }
    let (n, _, cores) = nvme::outstanding(storage, flow, corner, (k, time));
    between(f64::from(n) * part, |n| array::queued(storage, corner, flow, (k, alone, held), (n, cores)))
}

/// What a write comes to that goes through to its drives, where it is followed.
pub(super) fn through(slow: &One, k: Kind, (part, time): (f64, f64)) -> Option<Written> {
    let (n, _, cores) = nvme::outstanding(&slow.plan.storage, slow.flow, slow.corner, (k, time));
    slow.through(k, ((f64::from(n) * part).round().max(1.0) as u32, part.min(1.0), cores), true)
}

/// The same of an array of NVMe drives behind a RAID controller, taken to be alike: its reads. Writes that a cache
/// takes wait for room there, which the drives decide.
fn queued_behind(slow: &One, array: u32, (k, alone, held, time): (Kind, f64, f64, f64), drive: &Drive) -> f64 {
    let One { plan, corner, flow, .. } = *slow;
    let storage = &*plan.storage;
    let a = &storage.arrays[array as usize];
    let own = storage.adapter(flow).and_then(|own| own.host_adapter());
    let Some(keys) = own.filter(|_| k.read) else { return alone };
    let (n, _, cores) = nvme::outstanding(storage, flow, corner, (k, time));
    let drives = a.disks.len() as f64;
    let count = Cut::of(storage, a, flow, k).pieces;
    let piece = k.bytes / count;
    let commands = count * nvme::commands(drive.controller, corner, Kind { bytes: piece, ..k });
    let host = flow.submit.at(corner).seconds() + flow.complete.at(corner).seconds();
    let given = keys.drive_command_time.as_ref().map_or(0.0, |q| q.at(corner).seconds());
    let memory = keys.memory_bandwidth.as_ref().map_or(0.0, |q| 2.0 * k.bytes / q.at(corner).bytes());
    let of_drives = |visits, time| Station::of_drives(drives, a.mirrors(), visits, time);
    let stations = vec![
        Station::of(cores, 1.0, host),
        Station::one(keys.command_time.at(corner).seconds() + commands * given),
        of_drives(commands, drive.controller.keys.queue_time.at(corner).seconds()),
        of_drives(commands, drive.controller.keys.command_time.at(corner).seconds()),
        Station::one(memory),
        Station::one(slow.paces[1] * k.bytes),
    ];
    let link = of_drives(count, slow.paces_of(drive)[1] * k.bytes / count);
    let beside = Beside { stations, link, follow: None, drives, strip: 0.0 };
    flash::among(drive.flash, corner, k, (n, alone, held), &beside)
}

/// The same of NVMe: of a drive, or of an array that the host runs, whose drives are taken to be alike.
fn queued_at_drives(
    storage: &Storage,
    corner: Corner,
    flow: &IoFlow,
    (k, alone, held, as_long): (Kind, f64, f64, f64),
    slow: &One,
    drive: &Drive,
) -> f64 {
    let (n, workers, cores) = nvme::outstanding(storage, flow, corner, (k, as_long));
    let array = storage.host_array(flow).map(|(a, _)| (a.disks.len() as f64, Shape::of(a, flow, k, (Ends::Usual, 0))));
    let drives = array.as_ref().map_or(1.0, |a| a.0);
    let whole = Shape { commands: [0.0, 1.0], bytes: [0.0, k.bytes], ..Shape::default() };
    let shape = array.map_or(whole, |a| a.1);
    let mut time = alone;
    for which in [0, 1] {
        let (count, bytes) = (shape.commands[which], shape.bytes[which]);
        if count <= 0.0 {
            continue;
        }
        let one = Kind { bytes, read: k.read || which == 0, ..k };
        // Those that read what there was and those that write are different ones of all that are outstanding.
        let part = match shape.commands[0] > 0.0 {
            true => n.div_ceil(2),
            false => n,
        };
        let mirrored = one.read && storage.host_array(flow).is_some_and(|(a, _)| a.mirrors());
        let beside = way(slow, drive, one, count, (cores, workers), (drives, mirrored));
        time += flash::among(drive.flash, corner, one, (part, alone, held), &beside) - alone;
    }
    time
}
