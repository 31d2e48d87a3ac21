//! From a scenario's adapters, targets, arrays and flows of I/Os to [`Storage`].

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::core::address::{self, Address, Directory};
use crate::plan::core::dma::{self, Engine, Host};
use crate::plan::pci::Buses;
use crate::plan::storage::room::Room;
use crate::plan::storage::{
    Adapter, AdapterKind, Array, Device, HostArray, IoFlow, Medium, Runs, SerialKeys, Storage, Target, Transport,
    Volume, fabrics, nvme,
};
use crate::plan::{Flow, PartId};
use crate::protocol::scsi;
use crate::scenario::keys::{self, FileTest, Level, Line, WHOLE};
use crate::scenario::quantity::{Confidence, Name, Names, Origin, Quantity};
use crate::scenario::{MAX_THINGS, Named, PartKeys, Scenario, StoreKeys};
use crate::units::{Bytes, Rate, Time};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// I/Os that all workers together may keep in flight: each costs a simulation some hundred bytes.
const MOST_IN_FLIGHT: u64 = 1 << 20;

/// Strips of one I/O of an array that its host runs: more than any kernel makes one request of.
const MOST_STRIPS: u64 = 1 << 12;

/// What stands in `between`.
const ENDS: &str = "the adapter comes first, then what is attached to it: disks, SSDs and RAM disks";

impl Host<'_> {
    /// Whether a name is that of a part on the host's side, and of none of storage.
    fn knows(&self, directory: &Directory<StoreKeys>, text: &str) -> bool {
        let head = text.split('.').next().unwrap_or_default();
        let here = self.parts.iter().any(|p| p.name == text || p.name == head || p.group == head);
        here && directory.find(&mut Diagnostics::default(), text, Span::default()).is_none()
    }

    /// Whether a name is that of an endpoint.
    fn endpoint(&self, text: &str) -> bool {
        let named = self.parts.iter().find(|p| p.name == text || p.group == text);
        named.is_some_and(|p| matches!(p.keys, PartKeys::Endpoint(_)))
    }
}

/// Resolves and checks the storage of a scenario, and adds each adapter's DMA to the flows of PCIe or of its bus.
pub(in crate::plan) fn build(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    host: &Host,
    flows: &mut Vec<Flow>,
    buses: &mut Buses,
) -> Storage {
    let mut storage = Storage::default();
    if scenario.stores.is_empty() && scenario.ios.is_empty() {
        return storage;
    }
    let directory = Directory::new(&scenario.stores);
    let mut places = Places::default();
    for (i, part) in scenario.stores.iter().enumerate() {
        let (id, name, group) = (PartId(i as u32), part.name.clone(), part.group.clone());
        let target = |device| Target { name: name.clone(), group: group.clone(), device, transport: u32::MAX };
        match &part.keys {
            StoreKeys::Adapter(keys) => {
                let engine = Engine { name: &name, header: &keys.header, piece: piece(keys), why: WHY };
                let Some((dma, host)) = dma::of(diagnostics, host, &engine, part.span, flows, buses) else {
                    places.broken.insert(id);
                    continue;
                };
                places.adapter.insert(id, storage.adapters.len() as u32);
                let kind = AdapterKind::Host(keys.clone());
                storage.adapters.push(Adapter { name, group, kind, dma, host });
            }
            StoreKeys::Nvme(keys) => {
                let Some(adapter) = nvme::adapter(diagnostics, host, part, keys, flows, buses) else {
                    places.broken.insert(id);
                    continue;
                };
                let (at, transport) = (storage.adapters.len() as u32, storage.transports.len() as u32);
                storage.adapters.push(adapter);
                places.target.insert(id, storage.targets.len() as u32);
                let targets = vec![storage.targets.len() as u32];
                let device = Device::Ssd(keys.flash.clone());
                storage.targets.push(Target { transport, ..target(device) });
                storage.transports.push(Transport { name, group, adapter: at, targets, medium: Medium::Inside });
            }
            keys => {
                let Some(device) = Device::of(keys) else { continue };
                places.target.insert(id, storage.targets.len() as u32);
                storage.targets.push(target(device));
            }
        }
    }
    nvme::drive_ports(diagnostics, scenario, host, &storage);
    for link in &scenario.fc_links {
        let keys = SerialKeys::Fc(link.keys.clone());
        serial(diagnostics, &directory, &places, host, (&link.name, link.span, keys), &mut storage);
    }
    for link in &scenario.sas_links {
        let keys = SerialKeys::Sas(link.keys.clone());
        serial(diagnostics, &directory, &places, host, (&link.name, link.span, keys), &mut storage);
    }
    for link in &scenario.scsi_links {
        parallel(diagnostics, &directory, &places, host, link, &mut storage);
    }
    for (i, part) in scenario.stores.iter().enumerate() {
        let loose = places.target.get(&PartId(i as u32)).map(|t| storage.targets[*t as usize].transport == u32::MAX);
        if loose == Some(true) && !diagnostics.has_errors() {
            diagnostics.push(
                Diagnostic::error(part.span, format!("{} is not connected to anything", part.name))
                    .hint(format!("add a link with fc, sas or scsi: between = [\"an adapter\", \"{}\"]", part.name)),
            );
        }
    }
    if diagnostics.has_errors() {
        return storage;
    }
    for (i, part) in scenario.stores.iter().enumerate() {
        let StoreKeys::Array(keys) = &part.keys else { continue };
        if let Some(array) = array(diagnostics, &directory, &places, &storage, keys, part.span) {
            places.array.insert(PartId(i as u32), storage.arrays.len() as u32);
            storage.arrays.push(Array { name: part.name.clone(), group: part.group.clone(), ..array });
        }
    }
    if diagnostics.has_errors() {
        return storage;
    }
    for io in &scenario.ios {
        expand(diagnostics, scenario, &directory, &places, host, buses, io, &mut storage);
        if storage.flows.len() > MAX_THINGS {
            diagnostics.push(
                Diagnostic::error(io.span, format!("more than {MAX_THINGS} flows"))
                    .hint("hosts x workers x targets, of all flows together"),
            );
            return storage;
        }
    }
    let in_flight: u64 = storage.flows.iter().map(|f| f.outstanding.typical.get() as u64).sum();
    if let (true, Some(io)) = (in_flight > MOST_IN_FLIGHT, scenario.ios.first()) {
        diagnostics.push(
            Diagnostic::error(
                io.keys.outstanding.span.unwrap_or(io.span),
                format!("{in_flight} I/Os in flight, all workers and targets together"),
            )
            .hint(format!("at most {MOST_IN_FLIGHT}")),
        );
    }
    storage
}

/// What a part of storage has become.
#[derive(Default)]
struct Places {
    adapter: HashMap<PartId, u32>,
    target: HashMap<PartId, u32>,
    array: HashMap<PartId, u32>,
    /// Adapters without a way to a host: that was said, and nobody needs to hear that they are not there.
    broken: HashSet<PartId>,
}

/// The adapters and targets that a list of names stands for.
fn ends(
    diagnostics: &mut Diagnostics,
    directory: &Directory<StoreKeys>,
    places: &Places,
    host: &Host,
    names: &Names,
    span: Span,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let (Some(first), rest @ [_, ..]) = (names.0.first(), names.0.get(1..).unwrap_or_default()) else {
        diagnostics.push(
            Diagnostic::error(span, "a link joins an adapter and its targets")
                .hint("between = [\"an adapter\", \"a target\", …]"),
        );
        return None;
    };
    let broken = &places.broken;
    let mut find = |name: &Name, places: &HashMap<PartId, u32>, what: &str| {
        if host.knows(directory, &name.text) {
            let d = Diagnostic::error(name.span, format!("{} is not {what}", name.text));
            diagnostics.push(d.hint(ENDS));
            return None;
        }
        let Address { parts, rest, .. } = directory.find(diagnostics, &name.text, name.span)?;
        if !rest.is_empty() {
            diagnostics
                .push(Diagnostic::error(name.span, format!("{what} has no {rest:?}")).hint("ports are taken in order"));
            return None;
        }
        let ids: Option<Vec<u32>> = parts.iter().map(|p| places.get(p).copied()).collect();
        if ids.is_none() && !parts.iter().any(|p| broken.contains(p)) {
            let d = Diagnostic::error(name.span, format!("{} is not {what}", name.text));
            diagnostics.push(d.hint(ENDS));
        }
        ids
    };
    let adapters = find(first, &places.adapter, "a host adapter")?;
    let mut targets = Vec::new();
    for name in rest {
        targets.extend(find(name, &places.target, "a disk, SSD or RAM disk")?);
    }
    Some((adapters, targets))
}

/// Plugs a target into a transport.
fn plug(diagnostics: &mut Diagnostics, storage: &mut Storage, target: u32, transport: u32, span: Span) {
    let t = &mut storage.targets[target as usize];
    if t.transport == u32::MAX {
        t.transport = transport;
    } else if let Medium::Inside = storage.transports[t.transport as usize].medium {
        let what = format!("{} is an NVMe drive", t.name);
        diagnostics.push(Diagnostic::error(span, what).hint("it is attached by a PCIe link: pcie = \"gen4 x4\""));
    } else {
        let (name, other) = (&t.name, &storage.transports[t.transport as usize].name);
        diagnostics.push(
            Diagnostic::error(span, format!("{name} is already plugged into links.{other}"))
                .hint("a target has one port"),
        );
    }
}

fn serial(
    diagnostics: &mut Diagnostics,
    directory: &Directory<StoreKeys>,
    places: &Places,
    host: &Host,
    (group, span, link): (&str, Span, SerialKeys),
    storage: &mut Storage,
) {
    let (between, data, (most, clause), _) = link.parts();
    let span = between.span.unwrap_or(span);
    let frame = data.typical.0;
    if frame == 0 || frame > most {
        diagnostics.push(
            Diagnostic::error(data.span.unwrap_or(span), format!("a frame with {} of data", data.typical))
                .hint(format!("the data field has 1 B to {most} B ({clause})")),
        );
        return;
    }
    let Some((adapters, targets)) = ends(diagnostics, directory, places, host, &between.typical, span) else {
        return;
    };
    let names = &between.typical.0;
    let sides = [(names[0].text.as_str(), adapters.len(), true), (names[1].text.as_str(), targets.len(), false)];
    let Some(n) = address::pairs(diagnostics, Some(span), sides) else { return };
    for i in 0..n {
        let (adapter, target) = (adapters[i * adapters.len() / n], targets[i]);
        let name = if n > 1 { format!("{group}.{i}") } else { group.to_owned() };
        let frames = |buffer: Bytes| (buffer.0 / frame).clamp(1, 65_535) as u32;
        let Some(own) = storage.adapters[adapter as usize].host_adapter().map(|k| k.port_buffer.typical) else {
            continue;
        };
        let its = storage.targets[target as usize].device.port_buffer();
        let transport = storage.transports.len() as u32;
        plug(diagnostics, storage, target, transport, span);
        let medium = Medium::Serial { keys: link.clone(), credit: [frames(own), frames(its)] };
        storage.transports.push(Transport { name, group: group.to_owned(), adapter, targets: vec![target], medium });
    }
}

fn parallel(
    diagnostics: &mut Diagnostics,
    directory: &Directory<StoreKeys>,
    places: &Places,
    host: &Host,
    link: &Named<keys::ScsiLink>,
    storage: &mut Storage,
) {
    let k = &link.keys;
    let span = k.between.span.unwrap_or(link.span);
    let Some((adapters, targets)) = ends(diagnostics, directory, places, host, &k.between.typical, span) else {
        return;
    };
    let [adapter] = adapters[..] else {
        diagnostics.push(
            Diagnostic::error(span, format!("links.{} has {} adapters", link.name, adapters.len()))
                .hint("one adapter, then all its disks on this bus; write a link for each bus"),
        );
        return;
    };
    // One line of data for each identifier: 8, or 16 on a wide bus (SPI-3, 4.7).
    let most = k.scsi.typical.0.width_bits;
    if targets.len() as u64 + 1 > most {
        let what = format!("links.{}: {} devices on one bus", link.name, targets.len() + 1);
        diagnostics.push(
            Diagnostic::error(span, what)
                .hint(format!("{} has {most} identifiers, the adapter's among them (SPI-3)", k.scsi.typical.0.name)),
        );
        return;
    }
    if k.burst.typical.0 < 512 || k.burst.typical.0 > 1 << 24 {
        let what = format!("links.{}: bursts of {}", link.name, k.burst.typical);
        diagnostics.push(Diagnostic::error(k.burst.span.unwrap_or(span), what).hint("512 B to 16 MiB"));
        return;
    }
    let flash = targets.iter().map(|t| &storage.targets[*t as usize]).find(|t| matches!(t.device, Device::Ssd(_)));
    if let Some(flash) = flash {
        let what = format!("{} is an SSD, and links.{} a parallel SCSI bus", flash.name, link.name);
        diagnostics.push(Diagnostic::error(span, what).hint("an SSD is attached by a link with sas or fc"));
        return;
    }
    let transport = storage.transports.len() as u32;
    targets.iter().for_each(|t| plug(diagnostics, storage, *t, transport, span));
    let medium = Medium::Scsi { keys: k.clone(), policy: scsi::BusPolicy::of(k.scsi.typical.0) };
    let name = link.name.clone();
    storage.transports.push(Transport { name: name.clone(), group: name, adapter, targets, medium });
}

fn array(
    diagnostics: &mut Diagnostics,
    directory: &Directory<StoreKeys>,
    places: &Places,
    storage: &Storage,
    keys: &keys::Array,
    span: Span,
) -> Option<Array> {
    let mut disks = Vec::new();
    for name in &keys.disks.typical.0 {
        let found = directory.find(diagnostics, &name.text, name.span)?;
        for part in found.parts {
            let Some(&target) = places.target.get(&part) else {
                diagnostics.push(
                    Diagnostic::error(name.span, format!("{} is not a disk", name.text))
                        .hint("an array is made of disks, SSDs or RAM disks"),
                );
                return None;
            };
            let shown = &storage.targets[target as usize].name;
            let other = storage.arrays.iter().find(|a| a.disks.contains(&target));
            let wrong = match other {
                Some(other) => Some(format!("{shown} already belongs to {}", other.name)),
                None => disks.contains(&target).then(|| format!("{shown} is in the array twice")),
            };
            if let Some(what) = wrong {
                diagnostics.push(Diagnostic::error(name.span, what).hint("a disk belongs to one array, once"));
                return None;
            }
            disks.push(target);
        }
    }
    let at = keys.disks.span.unwrap_or(span);
    let (level, n) = (keys.level.typical, disks.len());
    let wrong = match level {
        Level::Raid0 if n < 1 => Some("RAID 0 has at least one disk"),
        Level::Raid1 if n != 2 => Some("RAID 1 is a pair; for more pairs there is raid10"),
        Level::Raid5 if n < 3 => Some("RAID 5 has at least three: a stripe of two data strips and a parity"),
        Level::Raid10 if n < 4 || n % 2 == 1 => Some("RAID 10 has pairs, at least two of them"),
        _ => None,
    };
    if let Some(why) = wrong {
        let shown = crate::scenario::quantity::Shape::show(&level);
        diagnostics.push(Diagnostic::error(at, format!("{shown} of {n} disks")).hint(why));
        return None;
    }
    let own = |d: u32| &storage.adapters[storage.adapter_of(d) as usize];
    let of_nvme = |d: u32| own(d).controller().is_some();
    if let Some(other) = disks.iter().find(|d| of_nvme(**d) != of_nvme(disks[0])) {
        let [drive, other] = if of_nvme(disks[0]) { [disks[0], *other] } else { [*other, disks[0]] };
        let [drive, other] = [drive, other].map(|d| &storage.targets[d as usize].name);
        let what = format!("{drive} is an NVMe drive, and {other} is none");
        diagnostics
            .push(Diagnostic::error(at, what).hint("a host runs arrays of NVMe drives, an adapter those of its own"));
        return None;
    }
    // Who runs it: the adapter of its disks, or the controller whose ports lead to its drives.
    let runs = |d: u32| if of_nvme(d) { storage.with_ports(&own(d).host) } else { Some(storage.adapter_of(d)) };
    if disks.iter().all(|d| runs(*d).is_none()) {
        return host_array(diagnostics, storage, keys, disks, span);
    }
    if let (true, Some(other)) = (of_nvme(disks[0]), disks.iter().find(|d| runs(**d) != runs(disks[0]))) {
        let below = |d: u32| format!("{} hangs below {}", storage.targets[d as usize].name, own(d).host);
        let what = format!("{}, and {}", below(disks[0]), below(*other));
        diagnostics.push(Diagnostic::error(at, what).hint("an array is of one host, or of one controller"));
        return None;
    }
    let adapter = runs(disks[0])?;
    let idle = [
        ("command_time", keys.command_time.as_ref().and_then(|q| q.span)),
        ("parity_rate", keys.parity_rate.as_ref().and_then(|q| q.span)),
    ];
    for (key, span) in idle.into_iter().filter_map(|(key, span)| Some((key, span?))) {
        let what = format!("{key} is not used: an adapter runs this array");
        diagnostics.push(Diagnostic::warning(span, what).hint("the adapter has memory_bandwidth and xor_rate"));
    }
    if let Some(other) = disks.iter().find(|d| runs(**d) != Some(adapter)) {
        let name = &storage.targets[*other as usize].name;
        diagnostics.push(
            Diagnostic::error(at, format!("{name} is attached to another adapter"))
                .hint("an array and its disks belong to one adapter"),
        );
        return None;
    }
    let own = storage.adapters[adapter as usize].host_adapter()?;
    if own.cache.is_none() {
        let name = &storage.adapters[adapter as usize].name;
        diagnostics.push(
            Diagnostic::error(at, format!("{name} has no cache to run an array in"))
                .hint(format!("set parts.{name}.cache, for example \"128 MiB\"")),
        );
        return None;
    }
    let strip = fitting(diagnostics, storage, keys, &disks, span)?;
    let data = if level == Level::Raid5 { n - 1 } else { n } as u64;
    let stripe = strip.saturating_mul(data);
    let name = &storage.adapters[adapter as usize].name;
    if let Some(cache) = own.cache.as_ref().filter(|c| c.typical.0 < stripe) {
        let what = format!("{name}: a cache of {} does not hold a stripe of {}", cache.typical, Bytes(stripe));
        diagnostics.push(
            Diagnostic::warning(cache.span.or(Some(at)), what)
                .hint("every write waits for room then; the estimate does not know this"),
        );
    }
    let runs = Runs::Adapter(adapter);
    let drives = disks.iter().filter(|d| of_nvme(**d));
    let queues = drives.map(|d| nvme::of_controller(storage.adapter_of(*d))).collect();
    Some(Array { name: String::new(), group: String::new(), keys: keys.clone(), disks, runs, queues })
}

/// The strip of an array, which its disks hold.
fn fitting(
    diagnostics: &mut Diagnostics,
    storage: &Storage,
    keys: &keys::Array,
    disks: &[u32],
    span: Span,
) -> Option<u64> {
    let strip = keys.strip.typical.0;
    let least = disks.iter().map(|d| storage.targets[*d as usize].capacity()).min().unwrap_or(0);
    if strip > least {
        let what = format!("a strip of {} does not fit on its disks", keys.strip.typical);
        let hint = format!("the smallest of them holds {}", Bytes(least));
        diagnostics.push(Diagnostic::error(keys.strip.span.unwrap_or(span), what).hint(hint));
        return None;
    }
    Some(strip)
}

/// An array of NVMe drives, which their host runs.
fn host_array(
    diagnostics: &mut Diagnostics,
    storage: &Storage,
    keys: &keys::Array,
    disks: Vec<u32>,
    span: Span,
) -> Option<Array> {
    let host_of = |d: u32| storage.adapters[storage.adapter_of(d) as usize].host.as_str();
    let host = host_of(disks[0]);
    if let Some(other) = disks.iter().find(|d| host_of(**d) != host) {
        let what = format!(
            "{} is below {}, and others are below {host}",
            storage.targets[*other as usize].name,
            host_of(*other)
        );
        let at = keys.disks.span.unwrap_or(span);
        diagnostics.push(Diagnostic::error(at, what).hint("an array is of one host"));
        return None;
    }
    fitting(diagnostics, storage, keys, &disks, span)?;
    let command = || {
        let time = |ns: u64| Time::from_fs(ns * 1_000_000);
        let source = "a part of submit_time and complete_time of a kernel, which has the request already";
        let typical = Quantity::derived(time(300), Origin::Assumed, Confidence::Guess, source);
        Quantity { slow: time(1000), fast: time(100), ..typical }
    };
    let parity = || {
        let rate = |gb: u64| Rate::from_bits(gb * 8_000_000_000);
        let source =
            "kernels print 10 GB/s to 40 GB/s of data in a cache when they choose their routine; memory is slower";
        let typical = Quantity::derived(rate(8), Origin::Assumed, Confidence::Guess, source);
        Quantity { slow: rate(4), fast: rate(20), ..typical }
    };
    let host = HostArray {
        name: host.to_owned(),
        command: keys.command_time.clone().unwrap_or_else(command),
        parity: keys.parity_rate.clone().unwrap_or_else(parity),
    };
    let runs = Runs::Host(host);
    Some(Array { name: String::new(), group: String::new(), keys: keys.clone(), disks, runs, queues: Vec::new() })
}

/// The lines of a file test: what the file system makes of it.
fn test_lines(k: &keys::Io, test: FileTest) -> Line {
    // Sequential records are gathered into requests; random ones go by themselves.
    let size = if test.random() { k.record.typical } else { k.request.typical };
    Line {
        size,
        share: WHOLE,
        read: if test.reads() { WHOLE } else { 0 },
        trim: 0,
        random: if test.random() { WHOLE } else { 0 },
        delay: Time::ZERO,
        burst: 1,
        align: if test.random() { k.record.typical } else { Bytes(0) },
        reply: Bytes(0),
    }
}

/// The volumes that a flow works on, each with the place where it was named; and whether a star stands for some.
fn volumes(
    diagnostics: &mut Diagnostics,
    directory: &Directory<StoreKeys>,
    places: &Places,
    host: &Host,
    io: &Named<keys::Io>,
    storage: &Storage,
) -> Option<(Vec<(Volume, Span)>, bool)> {
    const TARGETS: &str = "targets are disks, SSDs, NVMe drives, RAM disks and arrays";
    let names = &io.keys.to.typical.0;
    if names.is_empty() {
        let at = io.keys.to.span.unwrap_or(io.span);
        diagnostics.push(Diagnostic::error(at, format!("flow {} has no target", io.name)).hint(TARGETS));
        return None;
    }
    let (mut all, mut known, mut many) = (Vec::new(), HashSet::new(), names.len() > 1);
    for Name { text, span } in names {
        let nothing = || Diagnostic::error(*span, format!("{text} cannot be read or written")).hint(TARGETS);
        if host.knows(directory, text) {
            diagnostics.push(match host.endpoint(text) {
                true => Diagnostic::error(*span, format!("{text} is an endpoint, which moves data and stores none"))
                    .hint(format!("is = \"nvme\" makes a drive of it; {TARGETS}")),
                false => nothing(),
            });
            return None;
        }
        let Address { parts, rest, many: star } = directory.find(diagnostics, text, *span)?;
        many |= star;
        let volume =
            |p| places.target.get(p).map(|t| Volume::Target(*t)).or(places.array.get(p).map(|a| Volume::Array(*a)));
        let Some(volumes) = parts.iter().map(volume).collect::<Option<Vec<_>>>().filter(|_| rest.is_empty()) else {
            diagnostics.push(nothing());
            return None;
        };
        for (part, volume) in parts.iter().zip(volumes) {
            if !known.insert(*part) {
                let what = format!("{} is named twice", storage.volume_name(volume));
                let hint = "a worker works on a target once; outstanding says how many of its I/Os are in flight there";
                diagnostics.push(Diagnostic::error(*span, what).hint(hint));
                return None;
            }
            all.push((volume, *span));
        }
    }
    Some((all, many))
}

#[allow(clippy::too_many_arguments, reason = "what a scenario's flows are resolved against")]
fn expand(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    directory: &Directory<StoreKeys>,
    places: &Places,
    host: &Host,
    buses: &Buses,
    io: &Named<keys::Io>,
    storage: &mut Storage,
) {
    let k = &io.keys;
    let from_span = k.from.span.unwrap_or(io.span);
    let Some(hosts) = hosts(diagnostics, host, buses, &k.from.typical, from_span) else { return };
    let Some((volumes, many)) = volumes(diagnostics, directory, places, host, io, storage) else { return };
    let test = k.test.as_ref().map(|t| t.typical);
    let lines: Arc<[Line]> = match (&k.access, test) {
        (Some(access), _) => access.typical.0.clone().into(),
        (None, Some(test)) => [test_lines(k, test)].into(),
        (None, None) => return,
    };
    let about = match (&k.access, test) {
        (Some(access), _) => crate::scenario::quantity::Shape::show(&access.typical),
        (None, Some(t)) => {
            format!("IOzone {}, {} records", crate::scenario::quantity::Shape::show(&t), k.record.typical)
        }
        (None, None) => String::new(),
    };
    // A random reader waits for each record; read-ahead and write-behind do the rest.
    let outstanding = match test {
        Some(FileTest::RandomRead) | None => k.outstanding.clone(),
        Some(_) => k.ahead.clone(),
    };
    if let (Some(_), Some(other)) = (&k.zipf, &k.distribution) {
        let what = format!("flow {} has both zipf and a distribution", io.name);
        diagnostics.push(
            Diagnostic::error(other.span.unwrap_or(io.span), what).hint("a flow has one distribution: leave one out"),
        );
        return;
    }
    let zipf = k.zipf.as_ref().map(|q| keys::Places::Zipf(q.typical.0));
    let places = zipf.or_else(|| k.distribution.as_ref().map(|q| q.typical.clone()));
    let largest = lines.iter().map(|l| l.size.0.max(l.reply.0)).max().unwrap_or(0);
    let count = hosts.len() * k.workers.typical.get() as usize * volumes.len();
    if count > MAX_THINGS {
        diagnostics.push(
            Diagnostic::error(k.workers.span.unwrap_or(io.span), format!("{count} pairs of a worker and a target"))
                .hint(format!("at most {MAX_THINGS}")),
        );
        return;
    }
    let many = count > 1 || many;
    let cost = nvme::cost(k);
    let mut n = 0;
    for name in hosts {
        let first = storage.workers.len() as u32;
        for of_host in 0..k.workers.typical.get() {
            let worker = storage.workers.len() as u32;
            let core = first + of_host % k.cores.as_ref().map_or(u32::MAX, |c| c.typical.get());
            storage.workers.push(name.clone());
            for &(volume, to_span) in &volumes {
                let (adapter, all) = match volume {
                    Volume::Target(t) => (Some(storage.adapter_of(t)), vec![storage.adapter_of(t)]),
                    Volume::Array(a) => {
                        let array = &storage.arrays[a as usize];
                        let drives = || array.disks.iter().map(|d| storage.adapter_of(*d)).collect();
                        (array.adapter(), array.adapter().map_or_else(drives, |a| vec![a]))
                    }
                    Volume::Station(_) => continue,
                };
                let Some(own) = all.first().map(|a| &storage.adapters[*a as usize]) else { continue };
                // A drive of another host is reached over a fabric, if there is one.
                let remote = own.host != name && fabrics::reaches(scenario, storage, own, volume);
                if own.host != name && !remote {
                    let volume = storage.volume_name(volume);
                    let what = match own.name == volume {
                        true => format!("{volume} is below {}, not {name}", own.host),
                        false => format!("{volume} is attached to {}, which is not {name}'s", own.name),
                    };
                    let hint = match storage.with_ports(&own.host).map(|a| &storage.adapters[a as usize].name) {
                        Some(raid) => format!("{raid} presents arrays to its host: make an array of it"),
                        None => format!(
                            "workers reach what is below their own root complex (I/Os to the drives of another socket \
                             are not modelled): from = \"{}\"",
                            own.host
                        ),
                    };
                    diagnostics.push(Diagnostic::error(to_span, what).hint(hint));
                    return;
                }
                let trims = takes_no_trims(storage, volume, &lines);
                let trims = trims.or_else(|| remote.then(|| fabrics::takes_no_trims(&lines)).flatten());
                if let Some((why, hint)) = trims {
                    let at = k.access.as_ref().and_then(|a| a.span).unwrap_or(io.span);
                    diagnostics.push(Diagnostic::error(at, format!("flow {}: {why}", io.name)).hint(hint));
                    return;
                }
                let room = Room { flow: io, name: storage.volume_name(volume), capacity: storage.capacity(volume) };
                let Some(range) = room.range(diagnostics, largest) else { return };
                if let (Volume::Array(a), None) = (volume, adapter) {
                    let strip = storage.arrays[a as usize].keys.strip.typical;
                    if largest / strip.0 > MOST_STRIPS {
                        let what = format!("an I/O of {} is {} strips of {strip}", Bytes(largest), largest / strip.0);
                        let at = k.access.as_ref().and_then(|a| a.span).or(k.request.span).unwrap_or(io.span);
                        diagnostics.push(Diagnostic::error(at, what).hint(format!("at most {MOST_STRIPS}")));
                        return;
                    }
                }
                let mut queues = Vec::new();
                for (i, drive) in all.into_iter().enumerate() {
                    let mut said = Diagnostics::default();
                    queues.extend(nvme::queues(&mut said, storage, drive, io, &cost, remote));
                    // What the drives of an array are warned of is said once.
                    said.sorted()
                        .into_iter()
                        .filter(|_| i == 0 || said.has_errors())
                        .for_each(|d| diagnostics.push(d.clone()));
                    if said.has_errors() {
                        return;
                    }
                }
                if let (Some(cores), true) = (&k.cores, core != worker && queues.iter().any(|q| q.polls())) {
                    let what =
                        format!("flow {}: {} workers poll on {} cores", io.name, k.workers.typical, cores.typical);
                    diagnostics.push(Diagnostic::error(cores.span.unwrap_or(io.span), what).hint(
                        "a worker that polls keeps its core busy all the time, and others there never run: as many \
                         cores as workers, or completions = \"interrupts\"",
                    ));
                    return;
                }
                let (queues, remote) = match (remote, queues.pop()) {
                    (true, Some(queues)) => (Vec::new(), Some(fabrics::Remote::new(k, queues))),
                    (_, last) => (queues.into_iter().chain(last).collect(), None),
                };
                storage.flows.push(IoFlow {
                    name: if many { format!("{}.{n}", io.name) } else { io.name.clone() },
                    group: io.name.clone(),
                    worker,
                    core,
                    volume,
                    adapter,
                    lines: lines.clone(),
                    start: k.start.typical,
                    range,
                    places: places.clone(),
                    outstanding: outstanding.clone(),
                    rate: k.rate.clone(),
                    arrivals: k.arrivals.typical,
                    submit: cost.submit.clone(),
                    complete: cost.complete.clone(),
                    wake: cost.wake.clone(),
                    queues,
                    remote,
                    measured: k.measured.as_ref().map(|q| q.typical),
                    about: about.clone(),
                    test,
                });
                n += 1;
            }
        }
    }
}

/// Why lines that deallocate cannot go to a volume, and what to do.
fn takes_no_trims(storage: &Storage, volume: Volume, lines: &[Line]) -> Option<(String, String)> {
    if lines.iter().all(|l| l.trim == 0) {
        return None;
    }
    let name = storage.volume_name(volume);
    match volume {
        Volume::Target(t) => match storage.adapters[storage.adapter_of(t) as usize].controller() {
            Some(own) if own.keys.trim_time.is_some() => None,
            Some(_) => {
                let hint = format!("set parts.{name}.trim_time, the time of its controller for one: \"20 us\"");
                Some((format!("{name} takes no trims"), hint))
            }
            None => {
                Some((format!("trims of {name}, which is not an NVMe drive"), "only NVMe drives take trims".into()))
            }
        },
        Volume::Array(_) | Volume::Station(_) => {
            Some((format!("trims of {name}, which is not a drive"), "name the drives themselves, with *".into()))
        }
    }
}

/// The hosts that a name stands for: root complexes, and bridges of shared buses.
fn hosts(diagnostics: &mut Diagnostics, host: &Host, buses: &Buses, text: &str, span: Span) -> Option<Vec<String>> {
    let roots = host.parts.iter().filter(|p| matches!(p.keys, PartKeys::RootComplex(_))).map(|p| p.name.as_str());
    let all: Vec<&str> = roots.chain(buses.bridges.iter().map(|b| b.name.as_str())).collect();
    let group = text.strip_suffix(".*");
    // An instance is its table's name, a dot, a number.
    let of = |name: &str| name == text || group.is_some() && name.rsplit_once('.').map(|(g, _)| g) == group;
    let found: Vec<String> = all.iter().filter(|n| of(n)).map(|n| n.to_string()).collect();
    if found.is_empty() {
        let near = crate::diagnostic::nearest(text, all.iter().copied());
        let hint = near.map_or_else(|| format!("hosts are: {}", all.join(", ")), |n| format!("did you mean {n}?"));
        let what = format!("{text:?} is not a host: I/Os come from a root complex, or from the bridge of a bus");
        diagnostics.push(Diagnostic::error(span, what).hint(hint));
        return None;
    }
    Some(found)
}

/// Where an adapter's flows are from.
const WHY: &str = "a device's DMA for the I/Os of its host";

/// What an adapter moves at once, for the estimate: a frame or a part of a burst.
fn piece(keys: &keys::HostAdapter) -> Bytes {
    Bytes(keys.port_buffer.typical.0.clamp(512, 4096))
}
