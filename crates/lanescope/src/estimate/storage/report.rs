//! What a report says of I/Os: the words for what they use, their tables, the transports at the estimated load, and
//! what the simulation sees beside.

use crate::estimate::core::bound::{held_against, others, typically_bound};
use crate::estimate::core::elements::{Key, Part};
use crate::estimate::core::fill::Resource;
use crate::estimate::core::row;
use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::rotation::Row;
use crate::estimate::storage::write_through::follows;
use crate::estimate::storage::{Kind, kinds, nvme, programs};
use crate::estimate::{Outcome, ranged};
use crate::plan::storage::{Device, IoFlow, Medium, Storage, Volume, Wire};
use crate::plan::{Dma, Flow, PartId, Plan};
use crate::result::{Binding, Excess, FlowReport, Ledger, LinkReport, Note, Ranged, Verdict, way as way_of};
use crate::scenario::keys::{Level, Line, WHOLE};
use crate::scenario::quantity::Corner;
use crate::units::{Bytes, human_time};
use std::collections::BTreeSet;

/// What a part is called, and what of it is used.
fn words(plan: &Plan, part: Part, capacity: f64) -> (String, String, String) {
    let s = &*plan.storage;
    let adapter = |a: u32| format!("parts.{}", s.adapters[a as usize].name);
    let target = |t: u32| format!("parts.{}", s.targets[t as usize].name);
    let lane = |t: u32, back: bool| {
        let t = &s.transports[t as usize];
        let from = &s.adapters[t.adapter as usize].name;
        let to = t.targets.first().map_or("", |x| s.targets[*x as usize].name.as_str());
        let end = match t.medium {
            Medium::Scsi { .. } | Medium::Inside => "",
            Medium::Serial { .. } if back => from,
            Medium::Serial { .. } => to,
        };
        way_of(&t.name, end)
    };
    match part {
        Part::Transport(t, back) => (lane(t, back), "slots".into(), "100 % of its slots taken".into()),
        Part::Credits(t, back) => {
            let what = format!("{capacity} frames of the far port_buffer / the time until their credit is back");
            (lane(t, back), "buffer credit".into(), what)
        }
        Part::Target(t) => {
            let t = &s.targets[t as usize];
            let (what, why) = match t.device {
                Device::Ram(_) | Device::Ssd(_) => ("its rate", "its rate, reads and writes added"),
                Device::Disk(_) => ("heads", "100 % of their time"),
            };
            (format!("parts.{}", t.name), what.into(), why.into())
        }
        Part::Channels(t) => (target(t), "channels".into(), "100 % of their time: channel_rate".into()),
        Part::Dies(t) => (target(t), "dies".into(), "100 % of their time: read_time".into()),
        Part::Stripes(t) => (target(t), "stripes".into(), "100 % of their time, full: program_time".into()),
        Part::Controller(t) => (target(t), "controller".into(), "100 % of its time: command_time".into()),
        Part::QueuePair(a, pair) => (adapter(a), format!("queue pair {pair}"), "100 % of its time: queue_time".into()),
        Part::Entries(a, pair) => {
            let what = format!("{capacity} of its queue_entries / the time of each");
            (adapter(a), format!("entries of queue pair {pair}"), what)
        }
        Part::Cache(a) => (adapter(a), "cache memory".into(), "its memory_bandwidth".into()),
        Part::Parity(a) => (adapter(a), "parity engine".into(), "its xor_rate".into()),
        Part::Processor(a) => (adapter(a), "processor".into(), "100 % of its time: command_time".into()),
        Part::Worker(w) => {
            let host = &s.workers[w as usize];
            (format!("parts.{host}"), s.core_of(w), "submit_time + complete_time".into())
        }
        Part::Clocks(b) => (
            format!("links.{}", plan.buses.buses[b as usize].name),
            "clocks".into(),
            "100 % of its clocks taken".into(),
        ),
        Part::Splits(d) => {
            let m = plan.buses.timing(d, Corner::Typical);
            let what = if m.speed.is_x() { "splits" } else { "delayed read" };
            let device = format!("parts.{}", plan.buses.devices[d as usize].name);
            (device, "reads outstanding".into(), format!("{} {what} of {} B", m.splits, m.read.0))
        }
        Part::Device(d) => (
            format!("parts.{}", plan.buses.devices[d as usize].name),
            "turn-around".into(),
            "clocks between its transactions".into(),
        ),
        Part::Queue(t) => {
            (target(t), "commands at it".into(), format!("{capacity} of its adapter's queue_depth / the time of each"))
        }
        Part::Outstanding(i) => {
            let what = format!("{capacity} outstanding / the unloaded time of an I/O");
            (format!("flows.{}", s.flows[i as usize].group), "I/Os outstanding".into(), what)
        }
        Part::Pause(i) => {
            (format!("flows.{}", s.flows[i as usize].group), "delay".into(), "its pauses, one after the other".into())
        }
        Part::Ethernet(wire) => (plan.network.wire_name(wire), "slots".into(), "100 % of its slots taken".into()),
        Part::Fabric(named) => {
            let (element, what) = crate::estimate::infiniband::words(plan, named);
            (element, what.into(), "100 % of its time taken".into())
        }
        Part::Remote(i) => {
            let flow = &s.flows[i as usize];
            let host = s.adapter(flow).map_or("", |a| a.host.as_str());
            (format!("parts.{host}"), format!("cores for flows.{}", flow.group), "target_time".into())
        }
        Part::RemoteEntries(i) => {
            let what = format!("{capacity} of its fabric_entries / the time of each");
            (format!("flows.{}", s.flows[i as usize].group), "entries of its queue pairs".into(), what)
        }
        Part::Rate(i) => {
            let what = format!("its own rate: {capacity} I/Os a second at each target");
            (format!("flows.{}", s.flows[i as usize].group), "rate".into(), what)
        }
    }
}

/// The reports of the tables of I/Os.
pub(in crate::estimate) fn flows(plan: &Plan, outcomes: [&Outcome; 3]) -> Vec<FlowReport> {
    let first = row::ios(plan).start;
    plan.storage
        .groups()
        .iter()
        .map(|g| {
            let members: Vec<usize> = g.iter().map(|i| i + first).collect();
            report(plan, &members, outcomes)
        })
        .collect()
}

fn report(plan: &Plan, members: &[usize], [slower, typical, faster]: [&Outcome; 3]) -> FlowReport {
    let first = row::ios(plan).start;
    let flow = |i: usize| &plan.storage.flows[i - first];
    let total = |o: &Outcome| members.iter().map(|&i| o.shares[i].rate).sum::<f64>() * 8.0;
    let each: Vec<f64> = members.iter().map(|&i| typical.shares[i].rate * 8.0).collect();
    let bound = crate::estimate::bounds(members, [slower, typical, faster]);
    let main = typically_bound(&typical.shares, members);
    let bound_by = crate::estimate::binding(plan, typical, main);
    let bound_also = others(members.iter().map(|&i| crate::estimate::element(plan, typical, i)), &bound_by.element);
    let of = flow(members[0]);
    let time = |o: &Outcome| {
        let slowest = members.iter().map(|&i| o.charged[i - first].time).fold(0.0, f64::max);
        slowest / of.lines.iter().map(ops).sum::<f64>()
    };
    let measured = of.measured.map(|m| held_against(m, &each, members, bound, |i| crate::estimate::alone(faster, i)));
    let wanted = members.iter().map(|&i| flow(i).wanted()).collect::<Option<Vec<f64>>>().unwrap_or_default();
    FlowReport {
        operation: of_one_size(&of.lines),
        goodput: None,
        frame_rate: None,
        alike: Vec::new(),
        name: of.group.clone(),
        instances: members.len(),
        what: format!("{}, {}", of.about, plan.storage.route_text(of)),
        both_ways: false,
        verdict: verdict(&wanted, &each),
        wanted_each: wanted,
        bound,
        share: Ranged { typical: total(typical), slower: total(slower), faster: total(faster) },
        each,
        framing_limit: crate::estimate::bound_of_framing(plan, typical, members) * 8.0,
        latency_first: None,
        latency: Ranged { slower: time(slower), typical: time(typical), faster: time(faster) },
        round_trip: None,
        bound_by,
        bound_also,
        upgrade: None,
        measured,
        excess: Excess::Source,
        programs: Vec::new(),
    }
}

/// I/Os at a stated rate are an open load: what is late is made up for, if ever.
fn verdict(wanted: &[f64], each: &[f64]) -> Verdict {
    let short = |(wants, gets): (&f64, &f64)| Verdict::of(*wants, *gets, true, 1e-6) == Verdict::Unstable;
    if wanted.iter().zip(each).any(short) { Verdict::Unstable } else { Verdict::Stable }
}

/// Bytes of an I/O where all have one size.
fn of_one_size(lines: &[Line]) -> Option<f64> {
    let first = lines.first()?.size;
    lines.iter().all(|l| l.size == first && (l.reply.0 == 0 || l.reply == first)).then_some(first.f64())
}

/// I/Os for each draw of a line: the reply is one too.
fn ops(line: &Line) -> f64 {
    line.share as f64 / WHOLE as f64 * if line.reply.0 > 0 { 2.0 } else { 1.0 }
}

/// The transports at the estimated load.
pub(in crate::estimate) fn links(plan: &Plan, outcome: &Outcome) -> Vec<LinkReport> {
    let storage = &*plan.storage;
    let first = row::ios(plan).start;
    storage
        .wires()
        .map(|wire| {
            let t = wire.transport;
            let key = Key::Storage(Part::Transport(wire.at, wire.back));
            let uses = outcome.resources.iter().find(|r| r.key == key);
            let (mut used, mut payload) = (0.0, 0.0);
            for u in uses.iter().flat_map(|r| &r.uses) {
                let rate = outcome.shares[u.flow].rate;
                used += rate * u.whole();
                payload += rate * carried(storage, &storage.flows[u.flow - first], &wire);
            }
            let (raw, coded, used) = match &t.medium {
                Medium::Serial { keys, .. } => (keys.typical().raw.bits(), t.rate().bits(), used * 8.0),
                Medium::Scsi { .. } | Medium::Inside => (t.rate().bits(), t.rate().bits(), used * t.rate().bits()),
            };
            let payload = (payload * 8.0).min(used);
            let ledger = Ledger {
                raw,
                line_coding: raw - coded,
                framing: used - payload,
                payload,
                idle: (coded - used).max(0.0),
                ..Ledger::default()
            };
            LinkReport {
                name: t.name.clone(),
                from: wire.from.into(),
                to: wire.to.into(),
                medium: crate::result::Medium::from(&t.medium),
                speed: t.speed(),
                payload: ranged(|_| payload),
                ledger,
                tlps: 0.0,
                tlp_overhead: None,
            }
        })
        .collect()
}

/// Data bytes on a transport's wire per payload byte of a flow.
fn carried(storage: &Storage, flow: &IoFlow, wire: &Wire) -> f64 {
    let mix = flow.mix();
    let (read, written) = (mix.read / mix.bytes, mix.written / mix.bytes);
    match (flow.volume, &wire.transport.medium) {
        (Volume::Station(_), _) => 0.0,
        (Volume::Target(_), Medium::Serial { .. }) if wire.back => read,
        (Volume::Target(_), Medium::Serial { .. }) => written,
        (Volume::Target(_), Medium::Scsi { .. }) => read + written,
        (Volume::Target(_), Medium::Inside) => 0.0,
        (Volume::Array(a), _) => {
            let a = &storage.arrays[a as usize];
            let mine = a.disks.iter().filter(|d| storage.targets[**d as usize].transport == wire.at).count();
            let copies = match a.keys.level.typical {
                Level::Raid0 => 1.0,
                Level::Raid1 | Level::Raid10 => 2.0,
                Level::Raid5 => 1.0 + 1.0 / a.data_disks() as f64,
            };
            (read + written * copies) * mine as f64 / a.disks.len() as f64
        }
    }
}

/// Flows of TLPs from NVMe drives, of each table one: nothing of what is inside is in them.
fn beside_flash(plan: &Plan) -> Vec<Note> {
    let engines = plan.storage.adapters.iter().filter(|a| a.controller().is_some());
    let drives: BTreeSet<PartId> = engines
        .filter_map(|a| match a.dma {
            Dma::Pcie { write, .. } => Some(plan.flows[write.0 as usize].source),
            Dma::Bus { .. } => None,
        })
        .collect();
    let mut groups = BTreeSet::new();
    let own = |f: &&Flow| !f.is_externally_driven() && drives.contains(&f.source) && groups.insert(f.group.clone());
    let note = |f: &Flow| Note {
        element: format!("flows.{}", f.group),
        mechanism: "flash".into(),
        text: format!(
            "{} is an NVMe drive, and these are its TLPs alone: neither its rate nor its flash is in them, as they \
             are in I/Os (do = \"io\")",
            plan.part(f.source).name
        ),
    };
    plan.flows.iter().filter(own).map(note).collect()
}

/// What the simulation sees in a table of I/Os and the estimate does not, by its mechanism.
pub(in crate::estimate) fn notes(plan: &Plan, outcome: &Outcome) -> Vec<Note> {
    let (first, storage) = (row::ios(plan).start, &*plan.storage);
    let mut notes = beside_flash(plan);
    for members in storage.groups() {
        let flow = &storage.flows[members[0]];
        let mut note = |mechanism: &str, text: String| {
            notes.push(Note { element: format!("flows.{}", flow.group), mechanism: mechanism.into(), text });
        };
        let mix = flow.mix();
        let (rate, alone) = (outcome.shares[first + members[0]].rate, outcome.charged[members[0]].time);
        let outstanding = f64::from(flow.outstanding.typical.get());
        // By Little's law, with all places taken.
        let each = outstanding * mix.bytes / rate.max(1e-300);
        if flow.rate.is_none() && mix.delay == 0.0 && rate > 0.0 && each > alone * 1.02 && outstanding > 1.0 {
            let (alone, each) = (human_time(alone), human_time(each));
            note(
                "queueing",
                format!(
                    "its latency, {alone}, is that of an I/O alone; {outstanding} outstanding take {each} each by \
                        Little's law"
                ),
            );
        }
        let by = outcome.shares[first + members[0]].by.map(|r| outcome.resources[r].key);
        let places = matches!(by, Some(Key::Storage(Part::Queue(_)))) || outcome.charged[members[0]].places > 0.0;
        // Sequential flows that are alike still have places of their own.
        let heads = match flow.volume {
            Volume::Array(a) => storage.arrays[a as usize].has_heads(storage),
            Volume::Target(t) => matches!(storage.targets[t as usize].device, Device::Disk(_)),
            Volume::Station(_) => false,
        };
        let alike = |f: &IoFlow| f.lines == flow.lines && !(heads && f.lines.iter().any(|l| l.random < WHOLE));
        let other = |f: &IoFlow| f.volume == flow.volume && !std::ptr::eq(f, flow) && !alike(f);
        // In a solid-state drive reads wait for reads and writes for writes; those followed wait for what there is.
        let flash = |t: &u32| matches!(storage.targets[*t as usize].device, Device::Ssd(_));
        let (mine, apart) = (programs::does(flow), outcome.charged[members[0]].told_apart);
        let meets = |f: &IoFlow| {
            let [reads, writes] = programs::does(f);
            let flash = storage.targets_of(flow.volume).iter().all(flash);
            other(f) && if flash { reads && mine[0] && !apart || writes && mine[1] } else { !apart }
        };
        if storage.pair(flow).is_none() && storage.flows.iter().any(meets) {
            let own = storage.flows.iter().filter(|f| meets(f)).all(|f| f.group == flow.group);
            let who = match own {
                true => "its other workers go on at places of their own",
                false => "other flows ask its drives for something else",
            };
            note(
                "unlike-flows",
                format!(
                    "{who}, and wait there in one queue with it: the share counts what they have outstanding as if it \
                        were like its own (reads among reads, writes among writes), and a sequential flow as if nobody \
                        moved the heads; where sizes, or sequential and random access, differ, it may be far off"
                ),
            );
        }
        let [worked, own] = outcome.charged[members[0]].heads;
        let of_disk = |part: &Part| matches!(part, Part::Target(_) | Part::Queue(_) | Part::Outstanding(_));
        let at_disk = matches!(by, Some(Key::Storage(part)) if of_disk(&part));
        if at_disk && worked > own * 1.05 && flow.lines.iter().any(|l| l.random < WHOLE) {
            let (worked, own) = (human_time(worked), human_time(own));
            note(
                "heads",
                format!(
                    "the heads of its disk work {worked} for each of its I/Os on average, with all that they seek and \
                        turn, {own} if it kept its place: a sequential flow loses that to every other one, and to its \
                        own I/Os elsewhere or the other way"
                ),
            );
        }
        // Of an array, or where I/Os pause or answer one another, nobody follows the heads.
        let mixed = kinds(&flow.lines).len() > 1 || flow.lines.iter().any(|l| l.random > 0);
        if heads && worked == 0.0 && mixed && flow.lines.iter().any(|l| l.random < WHOLE) {
            note(
                "heads-not-followed",
                "those of its I/Os that go on where the one before ended are counted as if the heads stood there: its \
                    others, elsewhere or the other way, move them, and it may get far less than its share"
                    .into(),
            );
        }
        if let (true, Some([after, part])) = (at_disk, outcome.charged[members[0]].settles) {
            note(
                "order",
                format!(
                    "in which order its I/Os and those of other flows come to the disk moves from round to round, and \
                        with it how often they find the heads in their place: at first it does {:.0} % of its share, \
                        after {} what the share says; a run that is shorter sees less of that",
                    100.0 * part,
                    human_time(after)
                ),
            );
        }
        if places && !apart && storage.flows.iter().any(other) {
            note(
                "places",
                "its commands wait at the adapter for the same places as those of other flows (queue_depth), in the \
                    order in which they come: behind those that hold a place for long; the share gives each its turns"
                    .into(),
            );
        }
        if let Some(nvme::Drive { controller, .. }) = nvme::drives(storage, flow).first() {
            let most = controller.keys.max_transfer.typical;
            let moved = flow.lines.iter().filter(|l| l.read > 0 || l.trim < WHOLE);
            let largest = moved.map(|l| l.size.max(l.reply)).max().unwrap_or_default();
            // What of it lies side by side on one drive of an array.
            let largest = match storage.host_array(flow) {
                Some((a, _)) => {
                    Bytes(largest.0.div_ceil(a.width().max(1)).saturating_mul(a.keys.strip.typical.0)).min(largest)
                }
                None => largest,
            };
            if largest > most {
                let n = largest.0.div_ceil(most.0.max(1));
                let text = format!("its I/Os of {largest} are {n} commands each, of {most} at most: max_transfer");
                note("split", text);
            }
        }
        let behind = storage.targets_of(flow.volume);
        let held = behind.iter().find_map(|t| match &storage.targets[*t as usize].device {
            Device::Ssd(k) if k.die_programs.typical => Some((t, k)),
            _ => None,
        });
        if let (true, Some((t, k))) = (programs::does(flow)[0], held) {
            let on = |f: &&IoFlow| storage.targets_of(f.volume).contains(t);
            if storage.flows.iter().filter(on).any(|f| programs::does(f)[1]) {
                let (most, why) = match &k.suspend_time {
                    Some(time) => (time.typical, "suspend_time"),
                    None => (k.program_time.typical, "program_time"),
                };
                note(
                    "reads-behind-programs",
                    format!(
                        "its reads meet dies that program what is written, and wait there for up to {most} ({why}) \
                         each time: the share has the mean of it, as if what is written came by chance"
                    ),
                );
            }
        }
        // A flow by itself on its disks is followed I/O by I/O, without parities.
        let through = match flow.volume {
            Volume::Target(_) => outstanding > 1.0,
            Volume::Array(_) | Volume::Station(_) => storage.adapter(flow).is_some_and(|own| !own.writes_back()),
        };
        let bare = behind
            .iter()
            .any(|d| matches!(&storage.targets[*d as usize].device, Device::Disk(k) if !k.write_cache.typical));
        let unfollowed = |k: Kind| {
            let row = !k.read && k.random == 0.0 && Row::of(storage, Corner::Typical, flow, k).is_none();
            row && !follows(storage, Corner::Typical, flow, k)
        };
        if through && bare && kinds(&flow.lines).into_iter().any(unfollowed) {
            note(
                "rotation",
                "its disks have no write cache: a write that is not there in time waits for its place to come round, \
                    of an array on the last of its disks; the share takes a whole turn where the next strip of a disk \
                    is not outstanding yet, and none elsewhere"
                    .into(),
            );
        }
        let [late, or] = outcome.charged[members[0]].late;
        let of_one = mix.bytes / rate.max(1e-300);
        if or > 0.02 * of_one {
            let why = match kinds(&flow.lines).iter().any(|k| k.read) {
                true => "nothing is read ahead for I/Os that leave something out",
                false => "its disks have no write cache",
            };
            let mean = match or - late > 0.02 * of_one {
                true => {
                    format!(
                        "{} or {} in the mean: which of them hangs on a few microseconds",
                        human_time(late),
                        human_time(or)
                    )
                }
                false => format!("{} in the mean", human_time(late)),
            };
            note(
                "late-for-a-turn",
                format!(
                    "{why}, and those that a disk has at once do not cover the time from one that is done to the \
                     next: who comes too late waits for its place to come round, {mean}"
                ),
            );
        }
        let gaps = |k: Kind| {
            let leaves_out = k.read && k.random == 0.0 && k.left_out() > 0.0;
            // Of two pieces that touch each other on a disk the second is read ahead, and so is all behind it.
            let touch = match flow.volume {
                Volume::Array(a) => {
                    let cut = Cut::of(storage, &storage.arrays[a as usize], flow, k);
                    cut.pieces > cut.disks
                }
                Volume::Target(_) | Volume::Station(_) => false,
            };
            leaves_out && !touch && Row::of(storage, Corner::Typical, flow, k).is_none()
        };
        let disks = behind.iter().any(|d| matches!(&storage.targets[*d as usize].device, Device::Disk(_)));
        if disks && kinds(&flow.lines).into_iter().any(gaps) {
            note(
                "rotation",
                "its reads leave something out, so a disk reads nothing ahead: those that come too late wait for \
                    their place to come round, which the share does not have"
                    .into(),
            );
        }
        let Volume::Array(a) = flow.volume else { continue };
        let a = &storage.arrays[a as usize];
        let width = a.keys.strip.typical.f64() * a.data_disks() as f64;
        let small = |l: &Line| l.random > 0 && l.read < WHOLE && l.size.f64() < width;
        let written = |k: &Kind| !k.read && !k.trim;
        let unfollowed = |k: Kind| !follows(storage, Corner::Typical, flow, k);
        let any = kinds(&flow.lines).into_iter().filter(written).any(unfollowed);
        if any && a.host().is_none() && a.keys.level.typical == Level::Raid5 && flow.lines.iter().any(small) {
            let text = "each part of a stripe is assumed to be read and written by itself, with a seek for each; parts \
                that are merged in the cache or at the heads take less";
            note("read-modify-write", text.into());
        }
    }
    notes
}

/// What binds a flow of I/Os.
pub(in crate::estimate) fn binding(plan: &Plan, outcome: &Outcome, part: Part, capacity: f64) -> Binding {
    let (element, resource, evidence) = words(plan, part, capacity);
    let binding = Binding { element, resource, evidence };
    match part {
        Part::Outstanding(i) => outstanding(plan, outcome, i as usize, binding),
        _ => binding,
    }
}

/// What makes the time of those outstanding, where it is more than that of one alone: they wait for one another, or for
/// their place on a disk to come round again. What of this is most of the time is what binds.
fn outstanding(plan: &Plan, outcome: &Outcome, flow: usize, binding: Binding) -> Binding {
    let io = &plan.storage.flows[flow];
    let charged = &outcome.charged[flow];
    let among_all = charged.among - charged.between;
    let what = format!("{} outstanding / {} each", io.outstanding.typical, human_time(charged.among));
    match late(plan, outcome, flow) {
        Some(part) => {
            let of_one = charged.late[0] / part;
            let evidence = format!(
                "{what}: in the mean {} of every {} pass until its place has come round",
                human_time(charged.late[0]),
                human_time(of_one)
            );
            let disk = plan.storage.targets_of(io.volume).first().map(|t| &plan.storage.targets[*t as usize].name);
            match disk.filter(|_| part > 0.5) {
                Some(disk) => Binding { element: format!("parts.{disk}"), resource: "rotation".into(), evidence },
                None => Binding { evidence, ..binding },
            }
        }
        None if charged.places > (among_all - charged.time) / 2.0 && charged.places > 0.0 => {
            let first = plan.storage.targets_of(io.volume).first().copied().unwrap_or_default();
            let depth =
                plan.storage.adapter(io).and_then(|a| a.host_adapter()).map_or(1, |k| k.queue_depth.typical.get());
            let (element, resource, _) = words(plan, Part::Queue(first), 0.0);
            let evidence = format!(
                "{depth} of its adapter's queue_depth at each: an I/O waits {} for places, of {}",
                human_time(charged.places),
                human_time(charged.among)
            );
            Binding { element, resource, evidence }
        }
        None if charged.waits() => {
            let alone = human_time(charged.time);
            Binding { evidence: format!("{what}, with the wait for one another: one alone takes {alone}"), ..binding }
        }
        None => binding,
    }
}

/// Which part of the time from one I/O to the next is for a disk's turn that it comes too late for, if it is worth a
/// word.
fn late(plan: &Plan, outcome: &Outcome, flow: usize) -> Option<f64> {
    let rate = outcome.shares[row::ios(plan).start + flow].rate;
    let part = outcome.charged[flow].late[0] * rate / plan.storage.flows[flow].mix().bytes;
    (part > WAITS).then_some(part)
}

/// What those outstanding of a flow wait for that has no time left: more of them would get no more.
pub(in crate::estimate) fn full<'o>(plan: &Plan, outcome: &'o Outcome, flow: usize) -> Option<&'o Resource<Key>> {
    if !outcome.charged[flow].waits() || late(plan, outcome, flow).is_some() {
        return None;
    }
    // Where the mean-value analysis has them wait.
    let nvme = !nvme::drives(&plan.storage, &plan.storage.flows[flow]).is_empty();
    let waited_for = |key: Key| match key {
        Key::Storage(Part::Target(t)) => matches!(plan.storage.targets[t as usize].device, Device::Disk(_)),
        Key::Storage(Part::Channels(_) | Part::Dies(_) | Part::Stripes(_) | Part::Transport(..)) => true,
        Key::Storage(Part::Controller(_) | Part::QueuePair(..) | Part::Worker(_)) | Key::Wire(_) => nvme,
        _ => false,
    };
    let taken =
        |r: &Resource<Key>| r.uses.iter().map(|u| outcome.shares[u.flow].rate * u.whole()).sum::<f64>() / r.capacity;
    let members = [row::ios(plan).start + flow];
    let used = outcome.used_by(&members).filter(|r| waited_for(r.key));
    let (most, part) = used.map(|r| (r, taken(r))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (part > FULL).then_some(most)
}

/// From which part of its time on what an I/O waits for is said.
pub(super) const WAITS: f64 = 0.02;

/// Which part of its time somebody must be taken for that others which wait there are bound by it, and not by how few
/// they are: a twentieth is all that more of them would gain.
const FULL: f64 = 0.95;
