//! What an array behind an adapter makes of its I/Os: commands of disks, passages through the adapter's memory and its
//! parity engine.
//!
//! At least, what a cache may gather goes to the disks in whole stripes, and of what may be written again while it
//! waits nothing goes there at all.

use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::disk::{heads, range, variation};
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::flash::{self, Beside};
use crate::estimate::storage::nvme;
use crate::estimate::storage::queueing::{Station, queue};
use crate::estimate::storage::reads;
use crate::estimate::storage::rotation::Row;
use crate::estimate::storage::shape::Shape;
use crate::estimate::storage::{Kind, Part, command, queue_pairs};
use crate::plan::Dma;
use crate::plan::storage::{Array, Device, IoFlow, Medium, Storage, Target, Volume};
use crate::scenario::keys::{Level, Line, SECTOR, Ssd, WHOLE};
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// Of mirrored disks that a sequential flow reads, which of each pair it reads: the one that it began with, the second
/// of the first such flow, the first of the next.
fn reads_on(storage: &Storage, a: &Array, flow: &IoFlow, k: Kind) -> Option<usize> {
    if !k.read || k.random > 0.0 || k.left_out() > 0.0 || !a.mirrors() || !a.has_heads(storage) {
        return None;
    }
    let reads =
        |f: &&IoFlow| f.volume == flow.volume && f.lines.iter().any(|l| l.random == 0 && (l.read > 0 || l.reply.0 > 0));
    let before = storage.flows.iter().filter(reads).position(|f| std::ptr::eq(f, flow)).unwrap_or(0);
    Some((before + 1) % 2)
}

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

/// Those of a kind of I/O: at least, and usually; `torn` is what one becomes whose stripes a cache does not gather.
fn passages(storage: &Storage, flow: &IoFlow, a: &Array, k: Kind, (ends, torn): (Ends, Option<&Shape>)) -> Passages {
    let (strip, level, data) = (a.keys.strip.typical.f64(), a.keys.level.typical, a.data_disks() as f64);
    let of = |reads, writes, memory, parity| Passages { reads, writes, memory, parity };
    if k.read {
        return of(1.0, 0.0, 2.0, 0.0);
    }
    // In a cache any may come to whole stripes, which are written with a parity of the new data alone.
    let whole = back(storage, a) || k.bytes >= strip * data;
    // The parity of a part of a stripe is as long as that, up to a strip; what lies in several strips may share it.
    let span = if k.bytes <= strip { 1.0 } else { 1.0 / data };
    let all = match (level, torn, whole) {
        (Level::Raid0, ..) => of(0.0, 1.0, 2.0, 0.0),
        (Level::Raid1 | Level::Raid10, ..) => of(0.0, 2.0, 3.0, 0.0),
        // Into the memory, what the parity is made of, the parity, and all out again.
        (Level::Raid5, Some(s), _) => {
            let [old, new] = s.bytes.map(|bytes| bytes / k.bytes);
            of(old, new, s.parity / k.bytes + 2.0 * new, s.parity / k.bytes)
        }
        (Level::Raid5, None, true) => of(0.0, 1.0 + 1.0 / data, 3.0 + 2.0 / data, 1.0),
        (Level::Raid5, None, false) => of(1.0 + span, 1.0 + span, 4.0 + 3.0 * span, 2.0 + span),
    };
    let kept = if ends == Ends::Least { kept(storage, flow, a) } else { 1.0 };
    of(all.reads * kept, all.writes * kept, 1.0 + (all.memory - 1.0) * kept, all.parity * kept)
}

/// What an array's commands ask of its disks, its transports, and its adapter's processor, memory and parity engine; of
/// NVMe drives behind it, bytes of the flows of PCIe there.
pub(in crate::estimate) fn demand(
    (storage, flow, array): (&Storage, &IoFlow, u32),
    (corner, ends): (Corner, Ends),
    k: Kind,
    add: &mut dyn FnMut(Part, f64, f64),
    dma: &mut BTreeMap<usize, f64>,
) {
    let a = &storage.arrays[array as usize];
    let (n, strip) = (a.disks.len() as f64, a.keys.strip.typical.f64());
    let Some(adapter) = a.adapter() else { return };
    let own = &storage.adapters[adapter as usize];
    let Some(keys) = own.host_adapter() else { return };
    let back = own.writes_back();
    // What a disk is asked for at once: a strip, or as much of it as there is. Writes that follow one another make up
    // strips in a cache.
    let gathered = !k.read && back && (k.random < 1.0 || ends == Ends::Least);
    let cut = Cut::of(storage, a, flow, k);
    let (piece, disks) = match ends {
        _ if gathered => (strip, (k.bytes / strip).clamp(1.0, n)),
        Ends::Least => (k.bytes.min(strip), n),
        Ends::Usual => (k.bytes / cut.pieces, cut.disks),
    };
    let pieces = (k.bytes / piece).max(1.0);
    // What is not gathered is cut as it comes.
    let page = match &storage.targets[a.disks.first().map_or(0, |d| *d as usize)].device {
        Device::Ssd(d) => d.page.at(corner).0,
        _ => 0,
    };
    let cuts = ends == Ends::Usual && !k.read && !gathered && (a.has_parity() || page > 0);
    let torn = cuts.then(|| Shape::of(a, flow, k, (ends, page)));
    let Passages { reads, writes, memory, parity } = passages(storage, flow, a, k, (ends, torn.as_ref()));
    let bytes = k.count * k.bytes;
    if let Some(rate) = &keys.memory_bandwidth {
        add(Part::Cache(adapter), rate.at(corner).bytes(), bytes * memory);
    }
    if let (Some(rate), true) = (&keys.xor_rate, parity > 0.0) {
        add(Part::Parity(adapter), rate.at(corner).bytes(), bytes * parity);
    }
    // Old data and parity are read before new ones are written, two commands of each stripe at a time, of as many
    // stripes as there are disks. Heads that wait for the one while they could do the other are busy K of K + n - 1,
    // for K commands among n disks alike (Zahorjan, Sevcik, Eager, Galler: CACM 25, 1982).
    let under_way = 2.0 * if back { n } else { f64::from(flow.outstanding.at(corner).get()) };
    let alone = match !k.read && reads > 0.0 && ends == Ends::Usual {
        true => (under_way + n - 1.0) / under_way,
        false => 1.0,
    };
    // The pieces of one I/O on one disk lie side by side: its heads move once.
    let moves = k.random * pieces.min(disks) / pieces;
    let one_side = if ends == Ends::Usual { reads_on(storage, a, flow, k) } else { None };
    // What a sequential flow leaves out between two of its I/Os passes below the heads; a row that is followed knows
    // when.
    let followed = Row::of(storage, corner, flow, k).is_some();
    let passes = k.random == 0.0 && a.has_heads(storage) && !gathered && !followed;
    let gap = if passes { k.left_out() / pieces } else { 0.0 };
    let drives = nvme::behind(storage, a);
    let given = keys.drive_command_time.as_ref().map_or(0.0, |q| q.at(corner).seconds());
    let over = cut.swept(a, k);
    let (swept, gap) = (k.swept * over * alone, gap * over);
    let sectors = |bytes: f64| (bytes / SECTOR as f64).ceil() * SECTOR as f64;
    let step = |piece: f64| if gap > 0.0 { (sectors(piece) + gap).round() as u64 } else { SECTOR };
    let mut each = |read: bool, (count, piece): (f64, f64), random: f64, add: &mut dyn FnMut(Part, f64, f64)| {
        if count * piece <= 0.0 {
            return;
        }
        let random = random * alone;
        let pages = torn.filter(|_| !read).map_or(0.0, |s| s.pages[1] / s.commands[1].max(1e-300));
        let kind = Kind { count: 0.0, bytes: piece, read, trim: false, random, swept, pages, step: step(piece), ..k };
        for (i, disk) in a.disks.iter().enumerate() {
            let part = match one_side {
                Some(side) if i % 2 == side => 2.0,
                Some(_) => continue,
                None => 1.0,
            };
            command(storage, corner, ends, flow, *disk, kind, part * count / n, add);
        }
        let commands = drives.first().map_or(1.0, |d| nvme::commands(d.controller, corner, kind));
        if given > 0.0 {
            add(Part::Processor(adapter), 1.0, count * commands * given);
        }
        for drive in &drives {
            let Dma::Pcie { read: reads, write } = drive.own.dma else { continue };
            *dma.entry(if read { write } else { reads }.0 as usize).or_default() += count / n * piece;
            for (flow, moved) in nvme::around(drive, flow, corner, kind) {
                // Pieces that are cut anywhere may have no lists at all.
                let certain = flow != drive.controller.lists || ends == Ends::Usual;
                *dma.entry(flow.0 as usize).or_default() += if certain { count / n * moved } else { 0.0 };
            }
            queue_pairs(drive, corner, Kind { count: count / n, ..kind }, add);
        }
    };
    match torn.filter(|_| a.has_parity()) {
        // Pieces of one I/O that lie on a disk lie side by side there, those of its parity, too.
        Some(s) => [true, false].into_iter().zip(s.commands).zip(s.bytes).for_each(|((read, commands), all)| {
            let moves = k.random * commands.min(n) / commands.max(1e-300);
            each(read, (k.count * commands, all / commands.max(1e-300)), moves, add);
        }),
        None => [(true, reads), (false, writes)]
            .into_iter()
            .for_each(|(read, all)| each(read, (bytes * all / piece, piece), moves, add)),
    }
}

/// Where an I/O's commands lie: on the first of so many disks alike, how it is cut, and whether mirrors take turns.
struct Lies {
    disk: u32,
    disks: f64,
    cut: Cut,
    mirrored: bool,
}

impl Lies {
    /// `None` of what waits for no disk, or is no I/O of disks.
    fn of(storage: &Storage, flow: &IoFlow, k: Kind) -> Option<Lies> {
        let back = storage.adapter(flow).is_some_and(|own| own.writes_back());
        match flow.volume {
            Volume::Target(disk) => {
                Some(Lies { disk, disks: 1.0, cut: Cut { pieces: 1.0, disks: 1.0, stripes: 1.0 }, mirrored: false })
            }
            Volume::Array(a) => {
                let a = &storage.arrays[a as usize];
                let disk = *a.disks.first().filter(|_| k.read || !back && !a.has_parity())?;
                // Two mirrors write the same.
                let disks = if a.mirrors() && !k.read { a.data_disks() } else { a.disks.len() as u64 } as f64;
                Some(Lies { disk, disks, cut: Cut::of(storage, a, flow, k), mirrored: a.mirrors() && k.read })
            }
            Volume::Station(_) => None,
        }
    }
}

/// Bytes of an array that lie side by side on one drive; 0 of a drive by itself, and of mirrors, which take turns.
pub(in crate::estimate) fn strip(storage: &Storage, flow: &IoFlow) -> f64 {
    match flow.volume {
        Volume::Array(a) if !storage.arrays[a as usize].mirrors() => {
            storage.arrays[a as usize].keys.strip.typical.f64()
        }
        _ => 0.0,
    }
}

/// Solid-state drives on serial links, and what commands of an I/O pass on their way there from so many cores.
pub(in crate::estimate) fn way<'a>(
    storage: &'a Storage,
    corner: Corner,
    flow: &IoFlow,
    k: Kind,
    cores: f64,
) -> Option<(&'a Ssd, Beside)> {
    let Lies { disk, disks, cut, mirrored } = Lies::of(storage, flow, k)?;
    let Target { device, transport, .. } = &storage.targets[disk as usize];
    let (Device::Ssd(d), Medium::Serial { keys, .. }) = (device, &storage.transports[*transport as usize].medium)
    else {
        return None;
    };
    let keys = keys.at(corner);
    let wire = keys.read((k.bytes / cut.pieces).round() as u64).to_initiator as f64 / keys.rate.bytes();
    // Pages of several commands go over it by turns.
    let rest = 0.5 / (k.bytes / cut.pieces / d.page.at(corner).f64()).max(1.0);
    let link = Station { rest, ..Station::of_drives(disks, mirrored, cut.pieces, wire) };
    let keys_of = storage.adapter(flow).and_then(|own| own.host_adapter());
    let given = keys_of.map_or(0.0, |keys| {
        let each = keys.drive_command_time.as_ref().filter(|_| matches!(flow.volume, Volume::Array(_)));
        keys.command_time.at(corner).seconds() + each.map_or(0.0, |q| q.at(corner).seconds()) * cut.pieces
    });
    let taken = d.command_time.at(corner).seconds();
    let host = flow.submit.at(corner).seconds() + flow.complete.at(corner).seconds();
    let of_host = Station::of(cores, 1.0, host);
    let stations = vec![of_host, Station::one(given), Station::of_drives(disks, mirrored, cut.pieces, taken)];
    let follow = Some((reads::wire(&keys, k.bytes), reads::Commands::ONE));
    Some((d, Beside { stations, link, follow, drives: disks, strip: strip(storage, flow) }))
}

/// Time of one of `n` reads of disks or solid-state drives, or of writes through to them, with those that wait beside
/// it for heads, channels, dies or stripes, on so many cores; a read of a drive waits for programs, so long a page. Not
/// of a write of RAID 5 ([`write_through`](super::write_through)).
pub(in crate::estimate) fn queued(
    storage: &Storage,
    corner: Corner,
    flow: &IoFlow,
    (k, alone, held): (Kind, f64, f64),
    (n, cores): (u32, f64),
) -> f64 {
    let Some(Lies { disk, disks, cut, mirrored }) = Lies::of(storage, flow, k) else { return alone };
    if let Some((d, beside)) = way(storage, corner, flow, k, cores) {
        return flash::among(d, corner, k, (n, alone, held), &beside);
    }
    let Device::Disk(d) = &storage.targets[disk as usize].device else { return alone };
    if k.random == 0.0 || k.trim || !k.read && d.write_cache.typical {
        return alone;
    }
    let (bytes, at) = (k.bytes / cut.disks, range(storage, flow));
    let service = heads(d, corner, Ends::Usual, at, Kind { bytes, ..k });
    let varied = variation(d, corner, at, bytes, service);
    // What comes to a disk of many comes by chance; of two mirrors, every second of that (Kingman: Proc. Camb. Phil.
    // Soc. 57, 1961); and to the one pair there is, nothing comes by chance. Where each goes to all pairs, one of the
    // others is at the other mirrors, but for pieces that differ, which may turn that round: half of it is taken. Two
    // commands among n disks, each of a constant time, begin together or one behind the other: who comes then finds
    // 1 / (2 - 1/n) of a service left, as may be worked out by hand.
    let others = f64::from(n.max(2) - 1);
    let chance = match mirrored {
        true if disks > 2.0 => 0.5 - 0.25 * (cut.disks - 1.0) / (disks / 2.0 - 1.0) / others,
        true => 0.0,
        false => 1.0,
    };
    // So many commands at once have a disk each.
    let at_once = disks / cut.disks;
    let rest = ((chance + varied) / (2.0 - 1.0 / at_once)).min(1.0);
    // The last of several waits longest, if they do not all wait for the same.
    let differ = if disks > 1.0 { (disks - cut.disks) / (disks - 1.0) } else { 0.0 };
    let more = (2..=cut.disks.round() as u64).map(|i| 1.0 / i as f64).sum::<f64>();
    let station = Station { rest, ..Station::of(disks, cut.disks, service) };
    queue(vec![(station, 1.0 + differ * more)], (n, alone, 0.0))
}
