//! The closed form of I/Os: what one asks of workers, adapters, transports and targets, of its host's bus by DMA, and
//! how long it takes unloaded.
//!
//! The DMA of an adapter is two flows of PCIe with weights of their own everywhere; an I/O asks for so much of each. So
//! its resources join those of PCIe in one filling, and what is left of a link is known to both. A closed load is a
//! resource too: so many I/Os outstanding, each held for its time.
//!
//! Transactions between stations are I/Os without an adapter: their wires, and the time of one, are in [`transact`].
//!
//! Not in it: queueing for buses, reads and writes that come in bunches, read-ahead that runs dry.

mod among;
mod array;
mod cut;
mod disk;
mod ends;
pub(in crate::estimate) mod fabrics;
mod flash;
mod followed;
mod heads;
mod host_array;
pub(in crate::estimate) mod in_order;
mod lane;
mod nvme;
mod places;

pub(in crate::estimate) mod programs;
mod queueing;
mod reads;
mod report;
mod rotation;
mod shape;
mod stripes;
mod train;
pub(in crate::estimate) mod transact;
mod unloaded;
mod write_loop;
mod write_through;

use crate::estimate::core::elements::{Key, OWN, Part};
use crate::estimate::core::fill::{Filled, Resource, Share, Use};
use crate::estimate::core::row;
use crate::estimate::pci;
use crate::estimate::pcie::resources::path;
use crate::plan::Dma;
use crate::plan::Plan;
use crate::plan::storage::{AdapterKind, Device, IoFlow, Medium, Storage, Target, Volume};
use crate::protocol::scsi;
use crate::scenario::keys::{Arrivals, Line, SECTOR, WHOLE};
use crate::scenario::quantity::Corner;
use among::{Asked, Waited, queued};
use disk::{heads, range};
use ends::Ends;
pub(in crate::estimate) use heads::followed;
use nvme::{Drive, drives};
use places::{Places, Waits};
pub(in crate::estimate) use report::{binding, flows, full, links, notes};
use shape::Shape;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use unloaded::One;

/// What one payload byte of a flow asks of everything of storage, and of its adapter's DMA.
#[derive(Clone, Debug, Default)]
struct Demand {
    /// (what, units per second), units per payload byte.
    parts: BTreeMap<Part, (f64, f64)>,
    /// Bytes of host memory read, and written, per payload byte.
    read: f64,
    write: f64,
    /// Bytes of flows of PCIe beside: of what an NVMe controller moves beside data, and of the drives of an array that
    /// the host runs.
    around: BTreeMap<usize, f64>,
}

/// What a flow of I/Os comes to beside its resources.
#[derive(Clone, Debug, Default)]
pub(in crate::estimate) struct Charged {
    /// Bytes of host memory that its DMA reads, and writes, per payload byte.
    pub(in crate::estimate) read: f64,
    pub(in crate::estimate) write: f64,
    /// Bytes of flows of PCIe beside: of what an NVMe controller moves beside data, and of the drives of an array that
    /// the host runs.
    pub(in crate::estimate) around: BTreeMap<usize, f64>,
    /// Unloaded time of a draw of its lines, seconds: an I/O, and its reply.
    time: f64,
    /// How long one of those outstanding takes with those beside it, and what is between two of them, which is in it.
    among: f64,
    between: f64,
    /// Of that, what it waits at its adapter for places at its disks.
    places: f64,
    /// For how long the heads of its disk work for a draw of its lines, and for how long they would if nobody else did
    /// move them, seconds, where they were followed.
    heads: [f64; 2],
    /// After how long it does that in the long run, seconds, and which part of it at first, where that differs.
    settles: Option<[f64; 2]>,
    /// Whether its reads wait for those of flows that are unlike it as for what they are.
    told_apart: bool,
    /// How much later than their disks could take them the I/Os of a row are done, because they come late, seconds for
    /// each: as the share has it, and what it may come to.
    late: [f64; 2],
}

impl Charged {
    /// Whether those outstanding wait for one another, or for what a disk does between them.
    fn waits(&self) -> bool {
        self.among - self.between > self.time * (1.0 + report::WAITS)
    }
}

/// Seconds that a bus is held for one command with so many bytes at one target.
fn held(medium: &Medium, read: bool, bytes: f64) -> f64 {
    let Medium::Scsi { keys, policy } = medium else { return 0.0 };
    let way = if read { scsi::Direction::In } else { scsi::Direction::Out };
    scsi::io(keys.scsi.typical.0, policy, way, bytes.round() as u64, keys.burst.typical.0).total().seconds()
}

/// One kind of command of a flow: how many there are per I/O, their bytes, whether they read, and how many begin
/// anywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::estimate) struct Kind {
    pub(in crate::estimate) count: f64,
    pub(in crate::estimate) bytes: f64,
    pub(in crate::estimate) read: bool,
    /// Whether they deallocate: no data of theirs move.
    pub(in crate::estimate) trim: bool,
    pub(in crate::estimate) random: f64,
    /// How many lie anywhere: of a random I/O that is cut, all pieces, of which the first alone moves a disk's heads.
    pub(in crate::estimate) anywhere: f64,
    /// Bytes that pass below a disk's heads for each that is asked for: whole sectors, however an array cuts them.
    pub(in crate::estimate) swept: f64,
    /// Disks that it lies on at once: it waits for the last of them.
    pub(in crate::estimate) disks: f64,
    /// Pages of flash that one of them has in the mean, where they are cut anywhere; 0 where it is as many as its bytes
    /// fill.
    pub(in crate::estimate) pages: f64,
    /// Offsets are multiples of this: an alignment, or how far a sequential flow goes on.
    pub(in crate::estimate) step: u64,
    /// Offsets are multiples of this, wherever the one before has ended.
    pub(in crate::estimate) align: u64,
}

impl Kind {
    /// Commands that follow one another, each with its heads where they should be.
    fn new(count: f64, bytes: f64, read: bool, step: u64) -> Kind {
        let swept = (bytes / SECTOR as f64).ceil() * SECTOR as f64 / bytes;
        Kind {
            count,
            bytes,
            read,
            trim: false,
            random: 0.0,
            anywhere: 0.0,
            swept,
            disks: 1.0,
            pages: 0.0,
            step,
            align: step,
        }
    }

    /// Bytes between the end of one, whole sectors, and the beginning of the next of a sequential flow.
    fn left_out(&self) -> f64 {
        (self.step as f64 - (self.bytes / SECTOR as f64).ceil() * SECTOR as f64).max(0.0)
    }
}

pub(in crate::estimate) fn kinds(lines: &[Line]) -> Vec<Kind> {
    let part = |n: u32| n as f64 / WHOLE as f64;
    let mut all = Vec::new();
    for l in lines {
        let (share, read, random, trim) = (part(l.share), part(l.read), part(l.random), part(l.trim));
        let align = if l.align.0 == 0 { SECTOR } else { l.align.0 };
        let least = align.max(SECTOR);
        let step = if l.random > 0 { least } else { l.size.0.next_multiple_of(least) };
        let mut add = |count: f64, bytes: f64, read: bool, trim: bool| {
            if count > 0.0 && bytes > 0.0 {
                all.push(Kind { trim, random, anywhere: random, align, ..Kind::new(count, bytes, read, step) });
            }
        };
        add(share * read, l.size.f64(), true, false);
        add(share * (1.0 - read) * (1.0 - trim), l.size.f64(), false, false);
        add(share * (1.0 - read) * trim, l.size.f64(), false, true);
        if l.reply.0 > 0 {
            add(share * read, l.reply.f64(), false, false);
            add(share * (1.0 - read), l.reply.f64(), true, false);
        }
    }
    all
}

/// What the commands of a flow ask for, per payload byte.
fn demand(plan: &Plan, corner: Corner, ends: Ends, (flow, at): (&IoFlow, u32), kinds: &[Kind]) -> Demand {
    let storage = &*plan.storage;
    let own = storage.adapter(flow);
    let bytes: f64 = kinds.iter().map(|k| k.count * k.bytes).sum();
    let mut parts: BTreeMap<Part, (f64, f64)> = BTreeMap::new();
    let mut add = |part: Part, capacity: f64, weight: f64| {
        parts.entry(part).or_insert((capacity, 0.0)).1 += weight / bytes;
    };
    let (mut read, mut write) = (0.0, 0.0);
    let mut around: BTreeMap<usize, f64> = BTreeMap::new();
    for k in kinds {
        let host = flow.submit.at(corner).seconds() + flow.complete.at(corner).seconds();
        add(Part::Worker(flow.core), 1.0, k.count * host);
        if let Some((a, _)) = storage.host_array(flow) {
            let mut moves = BTreeMap::new();
            host_array::demand((storage, flow, a), (corner, ends), *k, &mut add, &mut moves);
            moves.into_iter().for_each(|(flow, moved)| *around.entry(flow).or_default() += moved / bytes);
            continue;
        }
        let (Some(own), Some(number)) = (own, flow.adapter) else { continue };
        match &own.kind {
            AdapterKind::Host(keys) => {
                add(Part::Processor(number), 1.0, k.count * keys.command_time.at(corner).seconds());
                read += k.count * keys.command_bytes.at(corner).f64();
                write += k.count * keys.status_bytes.at(corner).f64();
            }
            AdapterKind::Nvme(_) => {
                for drive in nvme::drives(storage, flow) {
                    for (flow, moved) in nvme::around(&drive, flow, corner, *k) {
                        *around.entry(flow.0 as usize).or_default() += k.count * moved / bytes;
                    }
                    queue_pairs(&drive, corner, *k, &mut add);
                }
                let mut moves = BTreeMap::new();
                fabrics::demand(plan, corner, (flow, at), *k, &mut add, &mut moves);
                moves.into_iter().for_each(|(flow, moved)| *around.entry(flow).or_default() += moved / bytes);
            }
        }
        if !k.trim {
            *(if k.read { &mut write } else { &mut read }) += k.count * k.bytes;
        }
        match flow.volume {
            Volume::Target(t) => command(storage, corner, ends, flow, t, *k, k.count, &mut add),
            Volume::Array(a) => {
                let mut moves = BTreeMap::new();
                array::demand((storage, flow, a), (corner, ends), *k, &mut add, &mut moves);
                moves.into_iter().for_each(|(flow, moved)| *around.entry(flow).or_default() += moved / bytes);
            }
            Volume::Station(_) => {}
        }
    }
    if let Some(pair) = storage.pair(flow) {
        transact::wires(plan, pair, kinds).for_each(|(part, capacity, weight)| add(part, capacity, weight));
    }
    if let Some(Dma::Bus { read: reads, write: writes }) = own.map(|a| a.dma) {
        for (flow, moved) in [(reads, read), (writes, write)].into_iter().filter(|(_, moved)| *moved > 0.0) {
            let fed = pci::external_load(&plan.buses, flow, corner);
            let more = if ends == Ends::Least { 0.0 } else { fed.more };
            add(Part::Clocks(fed.bus), fed.hertz, moved * (fed.least + more));
            add(Part::Device(fed.device), fed.hertz, moved * fed.own);
            if fed.held > 0.0 {
                add(Part::Splits(fed.device), fed.splits, moved * fed.held);
            }
        }
    }
    Demand { parts, read: read / bytes, write: write / bytes, around }
}

/// What the commands of a kind take of a worker's queue pairs at a controller: each has its part of them.
fn queue_pairs(drive: &Drive, corner: Corner, k: Kind, add: &mut dyn FnMut(Part, f64, f64)) {
    let Drive { controller, queues, .. } = drive;
    let time = controller.keys.queue_time.at(corner).seconds();
    if time <= 0.0 {
        return;
    }
    let pairs: Vec<u32> = controller.pairs(queues).collect();
    let each = k.count * nvme::commands(controller, corner, k) * time / pairs.len().max(1) as f64;
    pairs.iter().for_each(|pair| add(Part::QueuePair(queues.adapter, *pair), 1.0, each));
}

/// `count` commands of a kind at a target.
#[allow(clippy::too_many_arguments)]
fn command(
    storage: &Storage,
    corner: Corner,
    ends: Ends,
    flow: &IoFlow,
    target: u32,
    k: Kind,
    count: f64,
    add: &mut dyn FnMut(Part, f64, f64),
) {
    let Target { device, transport, .. } = &storage.targets[target as usize];
    let t = &storage.transports[*transport as usize];
    match &t.medium {
        Medium::Serial { keys, credit } => {
            let (size, link) = (k.bytes.round() as u64, keys.at(corner));
            let wire = if k.read { link.read(size) } else { link.write(size) };
            let rate = link.rate.bytes();
            add(Part::Transport(*transport, false), rate, count * wire.to_target as f64);
            add(Part::Transport(*transport, true), rate, count * wire.to_initiator as f64);
            // A credit is gone while its frame is sent and on its way, and while what answers that comes back (FC-FS,
            // buffer-to-buffer flow control); how long the far port's buffer is full is not known here.
            let held = |frames: u64, bytes: u64| bytes as f64 / rate + frames as f64 * 2.0 * link.flight.seconds();
            let [there, back] = link.frames(k.read, size);
            add(Part::Credits(*transport, false), credit[1].into(), count * held(there, wire.to_target));
            add(Part::Credits(*transport, true), credit[0].into(), count * held(back, wire.to_initiator));
        }
        Medium::Scsi { .. } => add(Part::Transport(*transport, false), 1.0, count * held(&t.medium, k.read, k.bytes)),
        Medium::Inside => {}
    }
    // An NVMe controller is given large I/Os in pieces.
    let own = storage.adapters[t.adapter as usize].controller();
    if let (true, Some(own)) = (k.trim, own) {
        add(Part::Controller(target), 1.0, count * nvme::trim(own, corner, k.bytes));
        return;
    }
    let pieces = own.map_or(1.0, |c| nvme::commands(c, corner, k));
    let (count, k) = (count * pieces, Kind { bytes: k.bytes / pieces, pages: k.pages / pieces, ..k });
    match device {
        Device::Ram(d) => {
            if let Some(rate) = &d.rate {
                add(Part::Target(target), rate.at(corner).bytes(), count * k.bytes);
            }
        }
        Device::Disk(d) => {
            add(Part::Target(target), 1.0, count * heads(d, corner, ends, range(storage, flow), k));
        }
        Device::Ssd(d) => flash::ask(d, (corner, ends), target, k, count, add),
    }
}

/// The resources of a corner, with the DMA of adapters charged to the I/Os behind it. The flows of I/Os stand behind
/// those of PCIe.
///
/// `held` is how long a read of a page of each flow waits for programs, seconds; none where it does not.
pub(in crate::estimate) fn charge<'a>(
    plan: &'a Plan,
    corner: Corner,
    held: &[f64],
    resources: &mut Vec<Resource<Key>>,
) -> Vec<Charged> {
    let storage = &*plan.storage;
    if storage.is_empty() {
        return Vec::new();
    }
    let first = row::ios(plan).start;
    let mixed: Vec<[Demand; 2]> = (storage.flows.iter().zip(0u32..))
        .map(|f| [Ends::Least, Ends::Usual].map(|ends| demand(plan, corner, ends, f, &kinds(&f.0.lines))))
        .collect();
    let of_programs: Vec<usize> = match plan.cluster.jobs.is_empty() {
        true => Vec::new(),
        false => plan.cluster.data_flows().collect(),
    };
    // By flow of PCIe: the flows of I/Os behind it, what each moves there at least, and usually.
    let mut dma: BTreeMap<usize, Vec<(usize, f64, f64)>> = BTreeMap::new();
    for (i, (f, [least, usual])) in storage.flows.iter().zip(&mixed).enumerate() {
        if let Some(Dma::Pcie { read, write }) = storage.adapter(f).map(|a| a.dma) {
            dma.entry(read.0 as usize).or_default().push((first + i, least.read, least.read));
            dma.entry(write.0 as usize).or_default().push((first + i, least.write, least.write));
        }
        for (flow, moved) in &usual.around {
            let least = least.around.get(flow).copied().unwrap_or(0.0).min(*moved);
            dma.entry(*flow).or_default().push((first + i, least, *moved));
        }
    }
    let paces = [Ends::Least, Ends::Usual].map(|ends| paces(plan, ends, resources));
    for r in resources.iter_mut() {
        let mut uses: Vec<Use> = Vec::new();
        for u in std::mem::take(&mut r.uses) {
            // What a channel adapter moves is no storage's: it keeps what it asks for.
            let Some(behind) = dma.get(&u.flow) else {
                uses.push(u);
                continue;
            };
            // Nor what it moves for programs, beside I/Os.
            if of_programs.contains(&u.flow) {
                uses.push(u.clone());
            }
            for &(flow, part, usually) in behind {
                let mine = Use {
                    flow,
                    weight: u.weight * part,
                    packets: u.packets * usually,
                    // What is not certain is in no bound.
                    first: u.first * usually + u.weight * (usually - part),
                    first_least: u.first_least * part,
                    hops: u.hops,
                };
                match uses.iter_mut().find(|o| o.flow == flow) {
                    Some(other) => {
                        other.weight += mine.weight;
                        other.packets += mine.packets;
                        other.first += mine.first;
                        other.first_least += mine.first_least;
                    }
                    None => uses.push(mine),
                }
            }
        }
        r.uses = uses;
    }
    resources.retain(|r| !r.uses.is_empty());
    let mut own: BTreeMap<Part, Resource<Key>> = BTreeMap::new();
    let mut charged = Vec::with_capacity(mixed.len());
    let one = |f: &'a IoFlow, ends: Ends| {
        let all = &paces[usize::from(ends == Ends::Usual)];
        let paces = match storage.adapter(f).map(|a| a.dma) {
            Some(Dma::Pcie { read, write }) => [all[read.0 as usize], all[write.0 as usize]],
            Some(Dma::Bus { .. }) | None => [0.0; 2],
        };
        One { plan, corner, flow: f, paces, of_flows: all, ends }
    };
    let asked: Vec<Asked> = (storage.flows.iter().enumerate())
        .map(|(i, f)| Asked::new(one(f, Ends::Usual), held.get(i).copied().unwrap_or(0.0)))
        .collect();
    let classes = among::classes(storage, corner, &asked);
    for (i, (f, [least, usual])) in storage.flows.iter().zip(&mixed).enumerate() {
        let mix = f.mix();
        let Asked { one: slow, kinds: all, alone, held, .. } = &asked[i];
        let fast = one(f, Ends::Least);
        let mean = |time: &dyn Fn(Kind) -> f64| all.iter().map(|k| k.count * time(*k)).sum::<f64>();
        let shortest = mean(&|k| fast.time(k));
        let places = Places::of(storage, corner, f);
        let at_places = OnceCell::new();
        // Of each kind: by itself, among all, and what it waits for those that have places at its disks.
        let (mut time, mut among, mut places_of, mut of_heads, mut settles) = (0.0, 0.0, 0.0, 0.0, None);
        let mut with_places = 0.0;
        let mut waits = Vec::with_capacity(all.len());
        let written = || all.iter().filter(|k| !k.read && !k.trim);
        let one_write = written().count() == 1;
        // Of a draw of all that it writes.
        let behind_cache = written().map(|k| Some(k.count * slow.destaged(*k)?)).sum::<Option<f64>>().unwrap_or(0.0);
        let (mut held_of, mut worked) = (vec![None; all.len()], 0.0);
        for (which, (k, &alone)) in all.iter().zip(alone).enumerate() {
            time += k.count * alone;
            if let Some(Waited { time, place, heads: worked, settles: late }) = classes[i].as_ref().map(|of| of[which])
            {
                among += k.count * time;
                places_of += k.count * place;
                of_heads += k.count * worked.unwrap_or(0.0);
                settles = settles.or(late);
                waits.push((time - place - alone).max(0.0));
                continue;
            }
            let part = asked[i].part(which);
            if let Some(through) = among::through(slow, *k, (part, alone)) {
                among += k.count * through.time;
                with_places += k.count * through.time;
                places_of += k.count * through.place;
                waits.push(0.0);
                held_of[which] = Some(through.held);
                // Programs that several kinds share are fuller than those of each.
                if one_write {
                    worked += k.count * through.worked / storage.targets_of(f.volume).len().max(1) as f64;
                }
                continue;
            }
            let of_all = queued(slow, (*k, alone, *held), part);
            let w = places.as_ref().map_or(Waits::default(), |p| {
                let parts: &Vec<f64> = at_places.get_or_init(|| p.parts(slow, all, (&asked[i].alone, *held)));
                p.waits(slow, (*k, alone, *held), parts[which])
            });
            // Where hardly any waits for a place, all are in the drives.
            let few = if w.place > report::WAITS * alone { alone + w.there + w.place } else { of_all };
            among += k.count * of_all;
            with_places += k.count * few;
            places_of += k.count * w.place;
            waits.push(w.command);
        }
        // All kinds together wait for the drives or for places at them: the one or the other.
        if with_places > among {
            among = with_places;
        } else if classes[i].is_none() && held_of.iter().all(Option::is_none) {
            places_of = 0.0;
        }
        // What a write has to itself of anything but its disk, or its place among those outstanding.
        let busiest = |which: &dyn Fn(&Part) -> bool| {
            let parts = usual.parts.iter().filter(|(part, _)| which(part));
            parts.map(|(_, (capacity, weight))| weight / capacity).fold(slow.paces[0], f64::max) * mix.bytes
        };
        let apart = busiest(&|part| !matches!(part, Part::Target(_) | Part::Worker(_)));
        let row = all.first().and_then(|k| slow.in_a_row(*k, apart));
        let among = row.map_or(among, |[each, _]| among.max(each * f64::from(f.outstanding.at(corner).get())));
        let late = row.map_or([0.0; 2], |each| each.map(|each| (each - busiest(&|_| true)).max(0.0)));
        let between = between(plan, corner, f);
        // Connections without transactions carry no payload.
        let never = storage.pair(f).is_some_and(|p| p.connections == Some(0));
        let per_byte = |time: f64| if never { NEVER } else { (time + between) / mix.bytes };
        let outstanding = f64::from(f.outstanding.at(corner).get());
        let mut of_own = 0.0;
        let is_disk = |t: &u32| matches!(storage.targets[*t as usize].device, Device::Disk(_));
        let mut parts: Vec<(Part, f64, f64, f64)> = (usual.parts.iter())
            .map(|(part, (capacity, weight))| {
                // The heads of a disk were followed, with all that they do for others between.
                let weight = match part {
                    Part::Target(_) if of_heads > 0.0 => {
                        of_own = weight * mix.bytes;
                        of_heads / mix.bytes
                    }
                    Part::Target(t) if worked > 0.0 && is_disk(t) => worked / mix.bytes,
                    Part::Stripes(_) if worked > 0.0 => worked / mix.bytes,
                    // Behind a full cache all drives are at work.
                    Part::Target(t) if behind_cache > 0.0 && is_disk(t) => behind_cache / mix.bytes,
                    Part::Stripes(_) if behind_cache > 0.0 => behind_cache * capacity / mix.bytes,
                    _ => *weight,
                };
                // What need not come here at all asks for next to nothing, and still has its turn here as others.
                let least = least.parts.get(part).map_or(0.0, |l| l.1).max(weight * NEXT_TO_NOTHING);
                (*part, *capacity, least, (weight - least).max(0.0))
            })
            .collect();
        let (held, more) = (per_byte(shortest), per_byte(among) - per_byte(shortest));
        parts.push((Part::Outstanding(i as u32), outstanding, held, more.max(0.0)));
        for drive in drives(storage, f) {
            let parts = &mut parts;
            full_queues(storage, corner, f, &drive, &mut |pair, share, room| {
                let time = |one: &One| share * mean(&|k| entries(one, f, &drive, k)) / mix.bytes;
                let (least, usual) = (time(&fast), time(slow));
                parts.push((Part::Entries(drive.queues.adapter, pair), room, least, (usual - least).max(0.0)));
            });
        }
        if let Some((room, drive)) =
            drives(storage, f).first().and_then(|d| Some((fabrics::full_queue(f, d, corner)?, *d)))
        {
            let time = |one: &One| {
                let of =
                    |k: Kind, remote| nvme::commands(drive.controller, corner, k) * one.of_fabric(remote, &drive, k);
                f.remote.as_ref().map_or(0.0, |remote| mean(&|k| of(k, remote))) / mix.bytes
            };
            let (least, usual) = (time(&fast), time(slow));
            parts.push((Part::RemoteEntries(i as u32), room, least, (usual - least).max(0.0)));
        }
        if let Some(places) = &places {
            let disks = places.disks.len() as f64;
            let held = |one: &One, part: f64| {
                let of = |((k, wait), held): ((&Kind, &f64), &Option<f64>)| {
                    let followed = held.filter(|_| one.ends == Ends::Usual);
                    k.count * followed.unwrap_or_else(|| places.held(one, *k, part * wait))
                };
                all.iter().zip(&waits).zip(&held_of).map(of).sum::<f64>() / mix.bytes / disks
            };
            let (least, usual) = (held(&fast, 0.0), held(slow, 1.0));
            let depth = f64::from(places.depth);
            let parts_of = |t: &u32| (Part::Queue(*t), depth, least.min(usual), (usual - least).max(0.0));
            parts.extend(places.disks.iter().filter(|_| usual > 0.0).map(parts_of));
        }
        if mix.delay > 0.0 {
            parts.push((Part::Pause(i as u32), 1.0, mix.delay / mix.bytes, 0.0));
        }
        // A reply is issued with its request. What is drawn may come sooner: it is a wish, and no bound.
        if let (Some(r), Arrivals::Even) = (&f.rate, f.arrivals) {
            parts.push((Part::Rate(i as u32), f64::from(r.at(corner).get()), 1.0 / mix.bytes, 0.0));
        }
        for (part, capacity, weight, more) in parts {
            let empty = || Resource { key: Key::Storage(part), capacity, uses: Vec::new() };
            // On a bus they take turns by what they need at least, elsewhere by time.
            let packets = if matches!(part, Part::Clocks(_)) { weight } else { weight + more };
            let used = Use { flow: first + i, weight, packets, first: more, first_least: 0.0, hops: OWN };
            own.entry(part).or_insert_with(empty).uses.push(used);
        }
        let (around, among) = (usual.around.clone(), among + between);
        charged.push(Charged {
            read: usual.read,
            write: usual.write,
            around,
            time,
            among,
            between,
            places: places_of,
            heads: [of_heads, of_own],
            settles,
            told_apart: classes[i].is_some(),
            late,
        });
    }
    resources.extend(own.into_values());
    charged
}

/// What a flow asks for by itself, bytes per second: what is drawn so often on average.
pub(in crate::estimate) fn wish(flow: &IoFlow) -> f64 {
    match (&flow.rate, flow.arrivals) {
        (Some(rate), Arrivals::Poisson) => f64::from(rate.typical.get()) * flow.mix().bytes,
        _ => f64::INFINITY,
    }
}

/// The part of a usual cost that stands for none in a bound.
const NEXT_TO_NOTHING: f64 = 1e-9;

/// Seconds for each byte of a flow that moves none.
const NEVER: f64 = 1e30;

/// Time between the transactions of a flow, seconds: its pauses, and connections that are opened and closed.
fn between(plan: &Plan, corner: Corner, flow: &IoFlow) -> f64 {
    flow.mix().delay + plan.storage.pair(flow).map_or(0.0, |pair| transact::connecting(plan, corner, pair))
}

/// Seconds of a byte of each flow of PCIe, one behind the other: on its wires alone, which is the least, or on all that
/// it uses.
fn paces(plan: &Plan, ends: Ends, resources: &[Resource<Key>]) -> Vec<f64> {
    let mut paces = vec![0.0_f64; plan.flows.len()];
    for r in resources {
        let (capacity, usual) = match (r.key, ends) {
            // A short transfer may meet no ordered set and no DLLP.
            (Key::Wire(hop), Ends::Least) => {
                let speed = plan.link(hop.link).speed.typical;
                (speed.coded().bytes() * speed.usable(0), false)
            }
            (_, Ends::Least) => continue,
            (_, Ends::Usual) => (r.capacity, true),
        };
        for u in &r.uses {
            let weight = u.weight + if usual { u.first_least } else { 0.0 };
            paces[u.flow] = paces[u.flow].max(weight / capacity);
        }
    }
    paces
}

/// Queue pairs that hold fewer commands than may be outstanding there: which, what part of a flow's commands at the
/// drive goes there, and how many there may be.
fn full_queues(storage: &Storage, corner: Corner, flow: &IoFlow, drive: &Drive, add: &mut dyn FnMut(u32, f64, f64)) {
    let Drive { controller, queues, .. } = drive;
    let most = kinds(&flow.lines).into_iter().map(|k| nvme::commands(controller, corner, k)).fold(1.0, f64::max);
    let there = storage.flows.iter().filter(|f| f.volume == flow.volume);
    let all: f64 = there.map(|f| f64::from(f.outstanding.at(corner).get())).sum::<f64>() * most;
    let room = f64::from(controller.room(corner));
    if all <= room {
        return;
    }
    let pairs: Vec<u32> = controller.pairs(queues).collect();
    pairs.iter().for_each(|pair| add(*pair, 1.0 / pairs.len() as f64, room));
}

/// For how long an I/O has entries of a drive's queues, those of all of its commands added, seconds.
fn entries(one: &One, flow: &IoFlow, drive: &Drive, k: Kind) -> f64 {
    // Those of one I/O begin together, and are done one behind the other: on average halfway.
    let of = |k: Kind| {
        let n = nvme::commands(drive.controller, one.corner, k);
        let first = one.of_queue(drive, Kind { bytes: k.bytes / n, ..k });
        n * if n > 1.0 && one.ends == Ends::Usual { (first + one.of_queue(drive, k)) / 2.0 } else { first }
    };
    let Some((a, _)) = one.plan.storage.host_array(flow) else { return of(k) };
    let s = Shape::of(a, flow, k, (one.ends, 0));
    let steps = [0, 1].into_iter().filter(|w| s.commands[*w] > 0.0).map(|w| {
        // As small as they may be cut.
        let bytes = if one.ends == Ends::Least { 1.0 } else { s.bytes[w] / s.commands[w] };
        s.commands[w] * of(Kind { bytes, read: k.read || w == 0, ..k })
    });
    steps.sum::<f64>() / a.disks.len() as f64
}

/// The place of a flow's packets in the arbitration trees of PCIe: behind its adapter's port, beside the other flows
/// there.
pub(in crate::estimate) fn way(plan: &Plan, flow: usize, hops: usize) -> Vec<u64> {
    if hops == OWN {
        return vec![flow as u64];
    }
    let io = &plan.storage.flows[row::flow(plan, flow).number];
    // Of several drives the first: whose turn it is among ports that lead to some of them is that one's.
    let first = plan.storage.adapters(io).min().map(|a| plan.storage.adapters[a as usize].dma);
    let Some(Dma::Pcie { write, .. }) = first else { return vec![flow as u64] };
    let mut way = path(&plan.flows[write.0 as usize], hops.min(plan.flows[write.0 as usize].route.len()));
    way.push(2 << 40 | flow as u64);
    way
}

/// What I/Os ask of shared buses at their shares: flows and their bytes per second, those of each flow of I/Os side by
/// side.
pub(in crate::estimate) fn on_buses(plan: &Plan, charged: &[Charged], shares: &[Share]) -> Vec<(u32, f64)> {
    let storage = &*plan.storage;
    let mut moved = Vec::new();
    for (i, (f, d)) in storage.flows.iter().zip(charged).enumerate() {
        if let Some(Dma::Bus { read, write }) = storage.adapter(f).map(|a| a.dma) {
            let rate = shares[row::ios(plan).start + i].rate;
            moved.extend([(read, rate * d.read), (write, rate * d.write)]);
        }
    }
    moved
}

/// Divides buses between I/Os and the flows there: what the buses' own division leaves to an I/O's DMA is the most that
/// the I/O may have, and what it leaves over goes to others. None where no bus has both.
pub(in crate::estimate) fn beside(
    plan: &Plan,
    corner: Corner,
    resources: &[Resource<Key>],
    charged: &[Charged],
    caps: &mut [f64],
    shares: &[Share],
    filled: impl Fn(&[f64]) -> Filled,
) -> Option<Filled> {
    let first = row::ios(plan).start;
    if plan.buses.flows.first().is_none_or(|f| f.is_externally_driven()) {
        return None;
    }
    let got = pci::beside(plan, corner, &on_buses(plan, charged, shares));
    let on_bus =
        |i: &usize| matches!(plan.storage.adapter(&plan.storage.flows[*i]).map(|a| a.dma), Some(Dma::Bus { .. }));
    let mut held = Vec::new();
    for (i, both) in (0..plan.storage.flows.len()).filter(on_bus).zip(got.chunks(2)) {
        let (flow, part) = (first + i, both.iter().map(|b| b.0).fold(1.0, f64::min));
        let mut own = plan.buses.flows.iter().take_while(|f| !f.is_externally_driven());
        if !own.any(|f| plan.buses.devices[f.device as usize].bus == both[0].1) {
            continue;
        }
        // Who got all that it asked for keeps to that: what others lose here goes to the flows of the bus.
        caps[flow] = shares[flow].rate * part;
        let clocks = Key::Storage(Part::Clocks(both[0].1));
        let by = if part < 1.0 { resources.iter().position(|r| r.key == clocks) } else { shares[flow].by };
        held.push((flow, by));
    }
    if held.is_empty() {
        return None;
    }
    let mut again = filled(caps);
    for (flow, by) in held {
        if again.shares[flow].rate >= caps[flow] * (1.0 - 1e-9) {
            again.shares[flow].by = by;
        }
    }
    Some(again)
}
