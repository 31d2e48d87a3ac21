//! Host adapters, their transports and targets, arrays, and the I/Os of hosts, resolved.
//!
//! An I/O goes from a worker of a host to an adapter, from there over a *transport* (a link of Fibre Channel or SAS, or a SCSI bus) to a target, and back. Its
//! data cross the host's own bus as DMA: two flows of that bus for each adapter, one that reads host memory and one that writes it, with
//! the program [`Program::Fed`](super::Program::Fed). A *volume* is what workers see: a target, or an array of several.

mod build;
mod serial;

pub(super) use build::build;
pub use serial::{Exchange, Serial, SerialKeys, Unit};

use super::Dma;
use crate::protocol::scsi;
use crate::scenario::keys::{self, Disk, FileTest, HostAdapter, Level, Line, RamDisk, ScsiLink, Setting, Ssd, WHOLE};
use crate::scenario::quantity::Quantity;
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
    /// Its values.
    pub keys: HostAdapter,
    /// How it reaches host memory.
    pub dma: Dma,
    /// The host whose memory that is.
    pub host: String,
}

/// What a target is.
#[allow(clippy::large_enum_variant, reason = "few of them, in one list")]
#[derive(Clone, Debug)]
pub enum Device {
    /// RAM behind a controller.
    Ram(RamDisk),
    /// A disk.
    Disk(Disk),
    /// A solid-state drive.
    Ssd(Ssd),
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

/// An array of targets behind one adapter.
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
    /// The adapter that all hang on.
    pub adapter: u32,
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
        habits: scsi::Habits,
    },
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// A target by itself.
    Target(u32),
    /// An array.
    Array(u32),
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
    /// What it works on.
    pub volume: Volume,
    /// The adapter that the volume hangs on.
    pub adapter: u32,
    /// What its I/Os are.
    pub lines: Arc<[Line]>,
    /// Bytes from the volume's beginning that are used.
    pub range: Bytes,
    /// I/Os outstanding.
    pub outstanding: Quantity<std::num::NonZeroU32>,
    /// Time of the worker's processor for each.
    pub submit: Quantity<Time>,
    /// The same when it is done.
    pub complete: Quantity<Time>,
    /// What was measured.
    pub measured: Option<Rate>,
    /// As written.
    pub about: String,
    /// The file test behind the lines, where it is one.
    pub test: Option<FileTest>,
}

impl Storage {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.adapters.is_empty()
    }

    /// The adapter of a target.
    pub fn adapter_of(&self, target: u32) -> u32 {
        self.transports[self.targets[target as usize].transport as usize].adapter
    }

    /// The name of what a flow works on.
    pub fn volume_name(&self, volume: Volume) -> &str {
        match volume {
            Volume::Target(t) => &self.targets[t as usize].name,
            Volume::Array(a) => &self.arrays[a as usize].name,
        }
    }

    /// Bytes of a volume.
    pub fn capacity(&self, volume: Volume) -> u64 {
        match volume {
            Volume::Target(t) => self.targets[t as usize].capacity(),
            Volume::Array(a) => {
                let array = &self.arrays[a as usize];
                let least = array.disks.iter().map(|d| self.targets[*d as usize].capacity()).min().unwrap_or(0);
                // Whole strips only.
                let strips = least / array.keys.strip.typical.0.max(1);
                strips.saturating_mul(array.keys.strip.typical.0).saturating_mul(array.data_disks())
            }
        }
    }

    /// Indices of the flows of each table, in order.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        super::facts::tables(self.flows.iter().map(|f| f.group.as_str()))
    }

    /// `host → hba.0 → lun.0`.
    pub fn route_text(&self, flow: &IoFlow) -> String {
        let (host, adapter) = (&self.workers[flow.worker as usize], &self.adapters[flow.adapter as usize].name);
        format!("{host} → {adapter} → {}", self.volume_name(flow.volume))
    }

    /// The wires in the order of reports: a serial link toward its target and back, a bus once.
    pub fn wires(&self) -> impl Iterator<Item = Wire<'_>> {
        self.transports.iter().zip(0u32..).flat_map(|(transport, at)| {
            let adapter = self.adapters[transport.adapter as usize].name.as_str();
            let target = transport.targets.first().map_or("", |t| self.targets[*t as usize].name.as_str());
            // A bus is all of its ends'.
            let (there, back) = match transport.medium {
                Medium::Serial { .. } => (target, Some(Wire { transport, at, back: true, from: target, to: adapter })),
                Medium::Scsi { .. } => ("", None),
            };
            std::iter::once(Wire { transport, at, back: false, from: adapter, to: there }).chain(back)
        })
    }

    /// What works in a run, one name each: workers, adapters (processor, memory, parity), targets.
    pub fn workers_and_parts(&self) -> Vec<String> {
        let workers = self.workers.iter().enumerate().map(|(i, host)| format!("parts.{host}: worker {i}"));
        let adapters = self.adapters.iter().flat_map(|a| {
            ["processor", "cache memory", "parity engine"].map(|what| format!("parts.{}: {what}", a.name))
        });
        let targets =
            self.targets.iter().flat_map(|t| t.servers().iter().map(|what| format!("parts.{}: {what}", t.name)));
        workers.chain(adapters).chain(targets).collect()
    }

    /// Which of [`Storage::workers_and_parts`] take part in the I/Os of some flows.
    pub fn taking_part(&self, flows: &[usize]) -> Vec<bool> {
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
        for flow in flows.iter().map(|&f| &self.flows[f]) {
            all[flow.worker as usize] = true;
            let adapter = workers + 3 * flow.adapter as usize;
            all[adapter..adapter + 3].fill(true);
            let one;
            let targets = match flow.volume {
                Volume::Target(t) => {
                    one = [t];
                    &one[..]
                }
                Volume::Array(a) => &self.arrays[a as usize].disks,
            };
            targets.iter().for_each(|t| all[places[*t as usize].clone()].fill(true));
        }
        all
    }

    /// Every value of every thing, with its origin.
    pub fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        let parts = self.adapters.iter().map(|a| (format!("parts.{}", a.name), a.keys.settings()));
        let targets = self.targets.iter().map(|t| {
            let settings = match &t.device {
                Device::Ram(k) => k.settings(),
                Device::Disk(k) => k.settings(),
                Device::Ssd(k) => k.settings(),
            };
            (format!("parts.{}", t.name), settings)
        });
        let arrays = self.arrays.iter().map(|a| (format!("parts.{}", a.name), a.keys.settings()));
        let links = self.transports.iter().map(|t| {
            let settings = match &t.medium {
                Medium::Serial { keys, .. } => keys.settings(),
                Medium::Scsi { keys, .. } => keys.settings(),
            };
            (format!("links.{}", t.name), settings)
        });
        let flows = self.flows.iter().map(|f| {
            let all = vec![
                Setting::of("outstanding", &f.outstanding),
                Setting::of("submit_time", &f.submit),
                Setting::of("complete_time", &f.complete),
            ];
            (format!("flows.{}", f.name), all)
        });
        parts.chain(targets).chain(arrays).chain(links).chain(flows).collect()
    }

    pub(super) fn hash(&self, hash: &mut SipHasher13) {
        for flow in &self.flows {
            hash.write(self.route_text(flow).as_bytes());
            hash.write_u64(flow.range.0);
            for line in flow.lines.iter() {
                hash.write(format!("{line:?}").as_bytes());
            }
        }
    }
}

impl Target {
    /// Bytes that it holds.
    pub fn capacity(&self) -> u64 {
        match &self.device {
            Device::Ram(k) => k.capacity.typical.0,
            Device::Disk(k) => k.capacity.typical.0,
            Device::Ssd(k) => k.capacity.typical.0,
        }
    }

    /// What in it works, one thing at a time or several of a kind.
    pub fn servers(&self) -> &'static [&'static str] {
        match &self.device {
            Device::Ram(_) => &["its rate"],
            Device::Disk(_) => &["heads"],
            Device::Ssd(_) => &["controller", "channels", "stripes"],
        }
    }
}

impl Array {
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
    pub fn rate(&self) -> Rate {
        match &self.medium {
            Medium::Serial { keys, .. } => keys.typical().rate,
            Medium::Scsi { keys, .. } => keys.scsi.typical.0.peak(),
        }
    }

    /// `4GFC`, `3G SAS` or `ultra320 SCSI`.
    pub fn speed(&self) -> String {
        match &self.medium {
            Medium::Serial { keys, .. } => keys.speed(),
            Medium::Scsi { keys, .. } => format!("{} SCSI", keys.scsi.typical.0.name),
        }
    }
}

/// Time of the heads to cross a part of a disk: by the square root of the distance up to a third, from the track seek to the average one; straight
/// from there to the full one.
pub fn seek(part: f64, [track, average, full]: [f64; 3]) -> f64 {
    let third = 1.0 / 3.0;
    if part <= third {
        track + (average - track) * libm::sqrt(part / third)
    } else {
        average + (full - average) * (part - third) / (1.0 - third)
    }
}

/// What the I/Os of a flow are on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix {
    /// Bytes of one, replies included.
    pub bytes: f64,
    /// Bytes of it that are read.
    pub read: f64,
    /// Bytes of it that are written.
    pub written: f64,
    /// Pause before it, on average, seconds.
    pub delay: f64,
}

impl IoFlow {
    /// The averages of its lines.
    pub fn mix(&self) -> Mix {
        let (mut mix, mut burst) = (Mix::default(), 0.0);
        for line in self.lines.iter() {
            let share = line.share as f64 / WHOLE as f64;
            let read = line.read as f64 / WHOLE as f64;
            let (size, reply) = (line.size.f64(), line.reply.f64());
            mix.bytes += share * (size + reply);
            mix.read += share * (read * size + (1.0 - read) * reply);
            mix.written += share * ((1.0 - read) * size + read * reply);
            mix.delay += share * line.delay.seconds();
            burst += share * line.burst as f64;
        }
        // Each burst begins with a draw: the mean pause is for the mean burst.
        mix.delay /= burst;
        mix
    }
}
