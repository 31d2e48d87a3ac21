//! Host adapters, their transports and targets, arrays, and the I/Os of hosts, resolved.
//!
//! An I/O goes from a worker of a host to an adapter, from there over a *transport* (a link of Fibre Channel or SAS, or
//! a SCSI bus) to a target, and back. Its data cross the host's own bus as DMA: two flows of that bus for each adapter,
//! one that reads host memory and one that writes it, with the program
//! [`Program::ExternallyDriven`](crate::plan::Program::ExternallyDriven). A
//! *volume* is what workers see: a target, or an array of several; or the other end of an Ethernet, for workers of
//! stations that exchange messages.

mod build;
pub(in crate::plan) mod fabrics;
mod heads;
mod mix;
pub mod nvme;
mod room;
mod serial;
mod spread;
mod transact;

pub(super) use build::build;
pub use fabrics::Remote;
pub(crate) use heads::{Heads, Service};
pub use nvme::Controller;
pub(crate) use nvme::HostQueues;
pub(crate) use serial::SerialKeys;
pub use serial::{Serial, Unit};
pub use spread::Spread;
#[cfg(test)]
pub(crate) use spread::array_of_host;
pub(crate) use spread::{LOOKED_AT, Piece};
pub(super) use transact::{build as transactions, carried};

use crate::import;
use crate::plan::Dma;
use crate::plan::Side;
use crate::plan::ethernet::{Network, NodeId};
use crate::protocol::scsi;
use crate::scenario::StoreKeys;
use crate::scenario::keys::{
    self, Disk, FileTest, HostAdapter, Level, Line, PartKind, RamDisk, ScsiLink, Setting, Ssd,
};
use crate::scenario::quantity::Quantity;
use crate::tools::mixed;
use crate::units::{Bytes, Rate, Time};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::sync::Arc;

/// The storage of a plan; without adapters where there is none.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    /// Host adapters.
    pub adapters: Vec<Adapter>,
    /// Disks, RAM disks and solid-state drives.
    pub targets: Vec<Target>,
    /// Arrays.
    pub arrays: Vec<Array>,
    /// What joins adapters and targets.
    pub transports: Vec<Transport>,
    /// Pairs of stations whose workers exchange messages.
    pub pairs: Vec<Pair>,
    /// Workers: the host of each.
    pub workers: Vec<String>,
    /// One for each worker and volume.
    pub flows: Vec<IoFlow>,
}

/// A host adapter.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// `hba.0`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// What it is.
    pub kind: AdapterKind,
    /// How it reaches host memory.
    pub dma: Dma,
    /// The host whose memory that is.
    pub host: String,
}

/// What an adapter is.
#[allow(clippy::large_enum_variant, reason = "few of them, in one list")]
#[derive(Clone, Debug)]
pub enum AdapterKind {
    /// A host adapter, with its values.
    Host(HostAdapter),
    /// An NVMe controller, whose drive is its one target.
    Nvme(Controller),
}

impl Adapter {
    /// Its values, where it is a host adapter.
    pub fn host_adapter(&self) -> Option<&HostAdapter> {
        match &self.kind {
            AdapterKind::Host(keys) => Some(keys),
            AdapterKind::Nvme(_) => None,
        }
    }

    /// Its queues, where it is an NVMe controller.
    pub(crate) fn controller(&self) -> Option<&Controller> {
        match &self.kind {
            AdapterKind::Host(_) => None,
            AdapterKind::Nvme(controller) => Some(controller),
        }
    }

    /// When it says that a write to an array is done.
    pub fn writes_back(&self) -> bool {
        self.host_adapter().is_some_and(|k| k.write_policy.typical == keys::WritePolicy::WriteBack)
    }

    fn settings(&self) -> Vec<Setting> {
        match &self.kind {
            AdapterKind::Host(keys) => keys.settings(),
            AdapterKind::Nvme(controller) => controller.keys.settings(),
        }
    }
}

/// What a target is.
#[allow(clippy::large_enum_variant, reason = "few of them, in one list")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Device {
    /// RAM behind a controller.
    Ram(RamDisk),
    /// A disk.
    Disk(Disk),
    /// A solid-state drive.
    Ssd(Ssd),
}

impl Device {
    /// The target that keys describe; none of an adapter or an array.
    fn of(keys: &StoreKeys) -> Option<Device> {
        match keys {
            StoreKeys::Ram(k) => Some(Device::Ram(k.clone())),
            StoreKeys::Disk(k) => Some(Device::Disk(k.clone())),
            StoreKeys::Ssd(k) => Some(Device::Ssd(k.clone())),
            StoreKeys::Nvme(k) => Some(Device::Ssd(k.flash.clone())),
            _ => None,
        }
    }

    /// What a user writes for it.
    pub(crate) fn kind(&self) -> PartKind {
        match self {
            Device::Ram(_) => PartKind::RamDisk,
            Device::Disk(_) => PartKind::Disk,
            Device::Ssd(_) => PartKind::Ssd,
        }
    }

    /// Everything that is set.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        match self {
            Device::Ram(k) => k.settings(),
            Device::Disk(k) => k.settings(),
            Device::Ssd(k) => k.settings(),
        }
    }

    /// Bytes that it stores.
    pub(crate) fn capacity(&self) -> Bytes {
        match self {
            Device::Ram(k) => k.capacity.typical,
            Device::Disk(k) => k.capacity.typical,
            Device::Ssd(k) => k.capacity.typical,
        }
    }

    /// Bytes of frames that its port takes in before they are in their place.
    pub(crate) fn port_buffer(&self) -> Bytes {
        match self {
            Device::Ram(k) => k.port_buffer.typical,
            Device::Disk(k) => k.cache.typical,
            Device::Ssd(k) => k.port_buffer.typical,
        }
    }

    /// What in it works, one thing at a time or several of a kind.
    fn servers(&self) -> &'static [&'static str] {
        match self {
            Device::Ram(_) => &["its rate"],
            Device::Disk(_) => &["heads"],
            Device::Ssd(_) => &["controller", "channels", "dies", "stripes"],
        }
    }
}

/// A disk, RAM disk or solid-state drive on a transport.
#[derive(Clone, Debug)]
pub struct Target {
    /// `disk.3`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Its values.
    pub device: Device,
    /// The transport that it hangs on.
    pub transport: u32,
}

/// An array of targets: behind one adapter, or of NVMe drives of one host.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Its values.
    pub keys: keys::Array,
    /// The targets, in the order of the strips.
    pub disks: Vec<u32>,
    /// What runs it.
    pub runs: Runs,
    /// The controller's queue pair at each drive, in their order; none where disks hang on transports, or the host runs
    /// it.
    pub queues: Vec<HostQueues>,
}

/// What runs an array.
#[derive(Clone, Debug)]
pub enum Runs {
    /// The adapter that all of its targets hang on, or below whose own root complex they do, with a cache.
    Adapter(u32),
    /// The host of its NVMe drives, without one.
    Host(HostArray),
}

/// An array that a host runs.
#[derive(Clone, Debug)]
pub struct HostArray {
    /// The host.
    pub name: String,
    /// Time of a worker's processor for each command beyond an I/O's first.
    pub command: Quantity<Time>,
    /// Bytes that it makes parity of in a second.
    pub parity: Quantity<Rate>,
}

/// How an adapter and its targets are joined.
#[derive(Clone, Debug)]
pub struct Transport {
    /// `fc.1`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// The adapter.
    pub adapter: u32,
    /// The targets: one on a serial link.
    pub targets: Vec<u32>,
    /// What it is.
    pub medium: Medium,
}

/// What a transport is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Medium {
    /// A serial link between two ports: Fibre Channel or SAS.
    Serial {
        /// Its values.
        keys: SerialKeys,
        /// Credit that the target has at the adapter's port, and the adapter at the target's: frames.
        credit: [u32; 2],
    },
    /// A parallel SCSI bus.
    Scsi {
        /// Its values.
        keys: ScsiLink,
        /// How it is used.
        policy: scsi::BusPolicy,
    },
    /// Nothing: an NVMe controller and its drive are one part.
    Inside,
}

impl From<&Medium> for keys::Medium {
    fn from(medium: &Medium) -> keys::Medium {
        match medium {
            Medium::Serial { keys: SerialKeys::Fc(_), .. } => keys::Medium::FibreChannel,
            Medium::Serial { keys: SerialKeys::Sas(_), .. } => keys::Medium::Sas,
            Medium::Scsi { .. } => keys::Medium::Scsi,
            // It has no wire that a report could speak of.
            Medium::Inside => keys::Medium::Pcie,
        }
    }
}

/// A worker's station and its other end, which exchange messages over TCP (see [`crate::protocol::tcp`]).
#[derive(Clone, Debug)]
pub struct Pair {
    /// The worker's station, and the other.
    pub ends: [NodeId; 2],
    /// Their names.
    pub names: [String; 2],
    /// Payload of the largest segment between them.
    pub segment: u64,
    /// Transactions of a connection; `None` is one connection that lasts.
    pub connections: Option<u32>,
    /// The class of their frames.
    pub class: u8,
    /// What decides the way from the worker's station, and of the way back, where several are equal.
    pub ways: [u32; 2],
}

/// One direction of a transport, or a bus.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// What it is of, and its number.
    pub transport: &'a Transport,
    /// See `transport`.
    pub at: u32,
    /// Whether it is the way from the target back; never of a bus.
    pub back: bool,
    /// The end that sends; of a bus the adapter.
    pub from: &'a str,
    /// The end that receives; empty of a bus.
    pub to: &'a str,
}

/// What workers see as a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// A target by itself.
    Target(u32),
    /// An array.
    Array(u32),
    /// The other end of a pair of stations.
    Station(u32),
}

/// The I/Os of one worker at one volume.
#[derive(Clone, Debug)]
pub struct IoFlow {
    /// `io.3`.
    pub name: String,
    /// Its table.
    pub group: String,
    /// The worker.
    pub worker: u32,
    /// The core that it runs on: the number of the first worker there.
    pub core: u32,
    /// What it works on.
    pub volume: Volume,
    /// The adapter that the volume hangs on; none between stations, and of an array that the host runs.
    pub adapter: Option<u32>,
    /// What its I/Os are.
    pub lines: Arc<[Line]>,
    /// Where the part of the volume that is used begins, and how many bytes it has.
    pub start: Bytes,
    /// See `start`.
    pub range: Bytes,
    /// The law of places by which random offsets are wanted; none where all are wanted alike.
    pub places: Option<keys::Places>,
    /// I/Os outstanding.
    pub outstanding: Quantity<std::num::NonZeroU32>,
    /// Draws of a line that may be issued a second, where that is held to.
    pub rate: Option<Quantity<std::num::NonZeroU32>>,
    /// How these are spaced.
    pub arrivals: keys::Arrivals,
    /// Time of the worker's processor for each.
    pub submit: Quantity<Time>,
    /// The same when it is done.
    pub complete: Quantity<Time>,
    /// From an interrupt until a worker that sleeps goes on.
    pub wake: Quantity<Time>,
    /// The queues of this worker at NVMe drives: at one, or at each of an array, in its order.
    pub queues: Vec<HostQueues>,
    /// How the worker reaches a drive of another host.
    pub remote: Option<Remote>,
    /// What was measured.
    pub measured: Option<Rate>,
    /// As written.
    pub about: String,
    /// The file test behind the lines, where it is one.
    pub test: Option<FileTest>,
}

impl Storage {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.adapters.is_empty() && self.flows.is_empty()
    }

    /// The adapter of a flow; none between stations, and of an array that the host runs.
    pub fn adapter(&self, flow: &IoFlow) -> Option<&Adapter> {
        flow.adapter.map(|a| &self.adapters[a as usize])
    }

    /// All adapters that the I/Os of a flow go to.
    pub(crate) fn adapters<'a>(&'a self, flow: &'a IoFlow) -> impl Iterator<Item = u32> + 'a {
        let many = if flow.adapter.is_none() { &flow.queues[..] } else { &[] };
        flow.adapter.into_iter().chain(many.iter().map(|q| q.adapter))
    }

    /// The controllers of the NVMe drives behind the adapter that runs a flow's array.
    pub(crate) fn behind(&self, flow: &IoFlow) -> impl Iterator<Item = u32> + '_ {
        let queues = match flow.volume {
            Volume::Array(a) => &self.arrays[a as usize].queues[..],
            Volume::Target(_) | Volume::Station(_) => &[],
        };
        queues.iter().map(|q| q.adapter)
    }

    /// The adapter whose NVMe drives hang below a root complex of this name, its own.
    pub(crate) fn with_ports(&self, root: &str) -> Option<u32> {
        let ports = |a: &Adapter| a.host_adapter().and_then(|k| k.drive_ports.as_ref()).map(|q| q.typical.clone());
        self.adapters.iter().position(|a| ports(a).as_deref() == Some(root)).map(|a| a as u32)
    }

    /// The array of a flow, where its host runs that.
    pub(crate) fn host_array(&self, flow: &IoFlow) -> Option<(&Array, &HostArray)> {
        let Volume::Array(a) = flow.volume else { return None };
        let array = &self.arrays[a as usize];
        Some((array, array.host()?))
    }

    /// The pair of a flow between stations.
    pub fn pair(&self, flow: &IoFlow) -> Option<&Pair> {
        match flow.volume {
            Volume::Station(p) => Some(&self.pairs[p as usize]),
            Volume::Target(_) | Volume::Array(_) => None,
        }
    }

    /// The adapter that a target hangs on.
    pub(crate) fn adapter_of_target(&self, target: &Target) -> u32 {
        self.transports[target.transport as usize].adapter
    }

    /// The adapter of a target.
    pub(crate) fn adapter_of(&self, target: u32) -> u32 {
        self.transports[self.targets[target as usize].transport as usize].adapter
    }

    /// The name of what a flow works on.
    pub(crate) fn volume_name(&self, volume: Volume) -> &str {
        match volume {
            Volume::Target(t) => &self.targets[t as usize].name,
            Volume::Array(a) => &self.arrays[a as usize].name,
            Volume::Station(p) => &self.pairs[p as usize].names[1],
        }
    }

    /// Bytes of a volume.
    pub(crate) fn capacity(&self, volume: Volume) -> u64 {
        match volume {
            Volume::Target(t) => self.targets[t as usize].capacity(),
            Volume::Array(a) => {
                let array = &self.arrays[a as usize];
                let least = array.disks.iter().map(|d| self.targets[*d as usize].capacity()).min().unwrap_or(0);
                // Whole strips only.
                let strips = least / array.keys.strip.typical.0.max(1);
                strips.saturating_mul(array.keys.strip.typical.0).saturating_mul(array.data_disks())
            }
            // Messages have no place.
            Volume::Station(_) => u64::MAX,
        }
    }

    /// The targets behind a volume.
    pub(crate) fn targets_of(&self, volume: Volume) -> Vec<u32> {
        match volume {
            Volume::Target(t) => vec![t],
            Volume::Array(a) => self.arrays[a as usize].disks.clone(),
            Volume::Station(_) => Vec::new(),
        }
    }

    /// Indices of the flows of each table, in order.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        crate::plan::core::groups::groups(self.flows.iter().map(|f| f.group.as_str()))
    }

    /// `host → hba.0 → lun.0`.
    pub(crate) fn route_text(&self, flow: &IoFlow) -> String {
        let (host, volume) = (&self.workers[flow.worker as usize], self.volume_name(flow.volume));
        match self.adapter(flow) {
            Some(adapter) if flow.remote.is_some() => format!("{host} → {} → {volume}", adapter.host),
            Some(adapter) if adapter.controller().is_some() => format!("{host} → {volume}"),
            Some(adapter) => format!("{host} → {} → {volume}", adapter.name),
            None if self.pair(flow).is_none() => format!("{host} → {volume}"),
            None => format!("{host} ↔ {volume}"),
        }
    }

    /// The wires in the order of reports: a serial link toward its target and back, a bus once.
    pub fn wires(&self) -> impl Iterator<Item = Wire<'_>> {
        self.transports.iter().zip(0u32..).flat_map(|(transport, at)| {
            let adapter = self.adapters[transport.adapter as usize].name.as_str();
            let target = transport.targets.first().map_or("", |t| self.targets[*t as usize].name.as_str());
            // A bus is all of its ends'.
            let (there, back) = match transport.medium {
                Medium::Serial { .. } => (target, Some(Wire { transport, at, back: true, from: target, to: adapter })),
                Medium::Scsi { .. } | Medium::Inside => ("", None),
            };
            let first = Wire { transport, at, back: false, from: adapter, to: there };
            (!matches!(transport.medium, Medium::Inside)).then_some(first).into_iter().chain(back)
        })
    }

    /// The hosts that have volumes, and those: targets that are in no array, then arrays.
    pub(crate) fn hosts(&self) -> Vec<import::Host> {
        let mut hosts: Vec<import::Host> = Vec::new();
        let alone = |t: &u32| self.arrays.iter().all(|a| !a.disks.contains(t));
        let targets = (0..self.targets.len() as u32).filter(alone).map(|t| (Volume::Target(t), self.adapter_of(t)));
        let first = |a: &Array| a.adapter().or(a.disks.first().map(|d| self.adapter_of(*d))).unwrap_or(0);
        let arrays = self.arrays.iter().enumerate().map(|(i, a)| (Volume::Array(i as u32), first(a)));
        for (volume, adapter) in targets.chain(arrays) {
            let host = &self.adapters[adapter as usize].host;
            let capacity = Bytes(self.capacity(volume));
            let own = self.adapters[adapter as usize].controller();
            let alone = matches!(volume, Volume::Target(_));
            let trims = alone && own.is_some_and(|c| c.keys.trim_time.is_some());
            let (name, nvme) = (self.volume_name(volume).to_owned(), own.is_some());
            let volume = import::Volume { name, capacity, nvme, trims };
            match hosts.iter_mut().find(|h| h.name == *host) {
                Some(h) => h.volumes.push(volume),
                None => hosts.push(import::Host { name: host.clone(), volumes: vec![volume] }),
            }
        }
        hosts
    }

    /// For each worker its core; and how many others run there, where it is the first.
    pub(crate) fn cores(&self) -> (Vec<u32>, Vec<u32>) {
        let mut cores: Vec<u32> = (0..self.workers.len() as u32).collect();
        let mut others = vec![0; self.workers.len()];
        for f in &self.flows {
            if f.core != std::mem::replace(&mut cores[f.worker as usize], f.core) {
                others[f.core as usize] += 1;
            }
        }
        (cores, others)
    }

    /// What a core is called: by its worker, or the first of several.
    pub fn core_of(&self, worker: u32) -> String {
        core_name(worker, self.cores().1[worker as usize])
    }

    /// Flows to drives of other hosts, each with the name of the target.
    pub(crate) fn remote(&self) -> impl Iterator<Item = (usize, &IoFlow, &str)> {
        let remote = self.flows.iter().enumerate().filter(|(_, f)| f.remote.is_some());
        remote.filter_map(|(i, f)| Some((i, f, self.adapter(f)?.host.as_str())))
    }

    /// What works in a run, one name each: workers, adapters (processor, memory, parity), targets, hosts that work for
    /// flows of others.
    pub(crate) fn workers_and_parts(&self) -> Vec<String> {
        let (_, others) = self.cores();
        let workers = self.workers.iter().zip(others).enumerate();
        let workers = workers.map(|(i, (host, others))| format!("parts.{host}: {}", core_name(i as u32, others)));
        let adapters = self.adapters.iter().flat_map(|a| {
            let first = if a.controller().is_some() { "queue pairs" } else { "processor" };
            [first, "cache memory", "parity engine"].map(|what| format!("parts.{}: {what}", a.name))
        });
        let targets =
            self.targets.iter().flat_map(|t| t.servers().iter().map(|what| format!("parts.{}: {what}", t.name)));
        let hosts = self.remote().map(|(_, f, host)| format!("parts.{host}: cores for flows.{}", f.name));
        workers.chain(adapters).chain(targets).chain(hosts).collect()
    }

    /// Which of [`Storage::workers_and_parts`] take part in the I/Os of some flows.
    pub(crate) fn taking_part(&self, flows: &[usize]) -> Vec<bool> {
        let (workers, adapters) = (self.workers.len(), self.adapters.len());
        let mut first = workers + 3 * adapters;
        let places: Vec<_> = (self.targets.iter())
            .map(|t| {
                let place = first..first + t.servers().len();
                first = place.end;
                place
            })
            .collect();
        let mut all = vec![false; first];
        all.extend(self.remote().map(|(i, ..)| flows.contains(&i)));
        for flow in flows.iter().map(|&f| &self.flows[f]) {
            all[flow.core as usize] = true;
            for adapter in self.adapters(flow).chain(self.behind(flow)) {
                let adapter = workers + 3 * adapter as usize;
                all[adapter..adapter + 3].fill(true);
            }
            self.targets_of(flow.volume).iter().for_each(|t| all[places[*t as usize].clone()].fill(true));
        }
        all
    }
}

impl Side for Storage {
    fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        let parts = self.adapters.iter().map(|a| (format!("parts.{}", a.name), a.settings()));
        let targets = self.targets.iter().map(|t| (format!("parts.{}", t.name), t.device.settings()));
        let arrays = self.arrays.iter().map(|a| (format!("parts.{}", a.name), a.settings()));
        let links = self.transports.iter().filter_map(|t| {
            let settings = match &t.medium {
                Medium::Serial { keys, .. } => keys.settings(),
                Medium::Scsi { keys, .. } => keys.settings(),
                Medium::Inside => return None,
            };
            Some((format!("links.{}", t.name), settings))
        });
        let flows = self.flows.iter().map(|f| {
            let mut all = vec![
                Setting::of("outstanding", &f.outstanding),
                Setting::of("submit_time", &f.submit),
                Setting::of("complete_time", &f.complete),
            ];
            all.extend(f.rate.as_ref().map(|rate| Setting::of("rate", rate)));
            // What older plans do not have leaves them as they were.
            all.extend((!f.wake.default).then(|| Setting::of("wake_time", &f.wake)));
            // Those of an array's drives are alike.
            all.extend(f.queues.first().iter().flat_map(|q| q.settings()));
            all.extend(f.remote.iter().flat_map(|r| r.settings()));
            (format!("flows.{}", f.name), all)
        });
        parts.chain(targets).chain(arrays).chain(links).chain(flows).collect()
    }

    fn hash(&self, hash: &mut SipHasher13) {
        for flow in &self.flows {
            hash.write(self.route_text(flow).as_bytes());
            hash.write_u64(flow.range.0);
            // What older plans do not have leaves their hash alone.
            if flow.start.0 > 0 {
                hash.write(format!("start {}", flow.start.0).as_bytes());
            }
            if let Some(pair) = self.pair(flow) {
                hash.write(format!("{:?} {} {}", pair.connections, pair.segment, pair.class).as_bytes());
            }
            if flow.core != flow.worker {
                hash.write(format!("core {}", flow.core).as_bytes());
            }
            match &flow.places {
                None => {}
                Some(keys::Places::Zipf(exponent)) => hash.write(format!("zipf {exponent}").as_bytes()),
                Some(places) => hash.write(format!("places {places:?}").as_bytes()),
            }
            if let Some(remote) = &flow.remote {
                hash.write(format!("ends {:?} {}", remote.ends, remote.mtu.bytes()).as_bytes());
            }
            for q in flow.queues_at_drives() {
                hash.write(format!("queues {} {}", q.first, q.count.typical).as_bytes());
            }
            if let Some(rate) = &flow.rate {
                hash.write(format!("rate {} {:?}", rate.typical, flow.arrivals).as_bytes());
            }
            for line in flow.lines.iter() {
                // Lines without trims are what they were before there were any.
                hash.write(format!("{line:?}").replace(", trim: 0,", ",").as_bytes());
            }
        }
    }

    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn links(&self) -> usize {
        self.wires().count()
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        Storage::groups(self)
    }
}

impl Pair {
    /// The wires from the end that sends, of a worker's read or of its write.
    pub(crate) fn path(&self, network: &Network, read: bool) -> Vec<u32> {
        let [own, other] = self.ends;
        let ends = if read { [other, own] } else { [own, other] };
        network.along(ends, self.ways[usize::from(read)])
    }
}

impl Target {
    /// Bytes that it holds.
    pub(crate) fn capacity(&self) -> u64 {
        self.device.capacity().0
    }

    /// What in it works, one thing at a time or several of a kind.
    pub(crate) fn servers(&self) -> &'static [&'static str] {
        self.device.servers()
    }
}

impl Array {
    /// The adapter that runs it, if it is one.
    pub(crate) fn adapter(&self) -> Option<u32> {
        match &self.runs {
            Runs::Adapter(adapter) => Some(*adapter),
            Runs::Host(_) => None,
        }
    }

    /// How its host runs it, if that does.
    pub(crate) fn host(&self) -> Option<&HostArray> {
        match &self.runs {
            Runs::Adapter(_) => None,
            Runs::Host(host) => Some(host),
        }
    }

    fn settings(&self) -> Vec<Setting> {
        let mut all = self.keys.settings();
        if let Some(host) = self.host() {
            all.retain(|s| s.key != "command_time" && s.key != "parity_rate");
            all.extend([Setting::of("command_time", &host.command), Setting::of("parity_rate", &host.parity)]);
        }
        all
    }

    /// Disks whose capacity is that of the array.
    pub fn data_disks(&self) -> u64 {
        let n = self.disks.len() as u64;
        match self.keys.level.typical {
            Level::Raid0 => n,
            Level::Raid1 | Level::Raid10 => n / 2,
            Level::Raid5 => n.saturating_sub(1),
        }
    }
}

impl Transport {
    /// Bytes per second that its data could have at most, one way; shared by both on a bus.
    pub(crate) fn rate(&self) -> Rate {
        match &self.medium {
            Medium::Serial { keys, .. } => keys.typical().rate,
            Medium::Scsi { keys, .. } => keys.scsi.typical.0.peak(),
            Medium::Inside => Rate::from_bits(8),
        }
    }

    /// `4GFC`, `3G SAS` or `ultra320 SCSI`.
    pub(crate) fn speed(&self) -> String {
        match &self.medium {
            Medium::Serial { keys, .. } => keys.speed(),
            Medium::Scsi { keys, .. } => format!("{} SCSI", keys.scsi.typical.0.name),
            Medium::Inside => String::new(),
        }
    }
}

/// `worker 0`, or `core of worker 0 and 3 more`.
fn core_name(worker: u32, others: u32) -> String {
    match others {
        0 => format!("worker {worker}"),
        n => format!("core of worker {worker} and {n} more"),
    }
}

/// The angle at which a disk stands at the beginning, as a part of a turn, by its place in an array: spindles do not
/// turn in step. It is any, the same in every run, and none for the first, or for a disk by itself.
pub(crate) fn spindle_phase(place: usize) -> f64 {
    (mixed(place as u64).wrapping_sub(mixed(0)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Time of the heads to cross a part of a disk: by the square root of the distance up to a third, from the track seek
/// to the average one; straight from there to the full one.
pub(crate) fn seek(part: f64, [track, average, full]: [f64; 3]) -> f64 {
    let third = 1.0 / 3.0;
    if part <= third {
        track + (average - track) * libm::sqrt(part / third)
    } else {
        average + (full - average) * (part - third) / (1.0 - third)
    }
}

/// Zones of a disk that are told apart: at most 1024, more than any has.
pub(crate) fn zones(disk: &Disk) -> u32 {
    disk.zones.typical.get().min(1024)
}
