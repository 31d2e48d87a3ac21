//! One function of a host as dumps tell it: every fact optional, each with the dump and the line that said it.
//!
//! What no dump says stays `None`. Nothing is filled in here: a default would later look like evidence.

use crate::protocol::pcie::Generation;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Where a fact stands: which dump, and its line counted from 1; line 0 is the whole dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Index into [`super::Host::dumps`].
    pub dump: u32,
    /// Line, counted from 1.
    pub line: u32,
}

/// A value and who said it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact<T> {
    /// What was said.
    pub value: T,
    /// By whom.
    pub at: Place,
}

/// A fact that may be unknown.
pub type Known<T> = Option<Fact<T>>;

/// The value of a fact, if there is one.
pub fn value<T: Clone>(known: &Known<T>) -> Option<T> {
    known.as_ref().map(|f| f.value.clone())
}

/// Domain, bus, device and function (PCI Firmware Specification 3.0, 4.1; written as lspci and the kernel do).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Domain (segment group); Linux numbers those of VMD from 0x10000.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device, 0 to 31.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

impl Address {
    /// Reads `01:00.0`, `0000:01:00.0` or `00000000:01:00.0`.
    pub fn parse(text: &str) -> Option<Address> {
        let hex = |t: &str, widths: std::ops::RangeInclusive<usize>| {
            (widths.contains(&t.len()) && t.bytes().all(|b| b.is_ascii_hexdigit()))
                .then(|| u32::from_str_radix(t, 16).ok())
                .flatten()
        };
        let (front, function) = text.split_once('.')?;
        let mut parts = front.rsplit(':');
        let device = hex(parts.next()?, 2..=2)?;
        let bus = hex(parts.next()?, 2..=2)?;
        let domain = match parts.next() {
            Some(domain) => hex(domain, 4..=8)?,
            None => 0,
        };
        let function = hex(function, 1..=1)?;
        (parts.next().is_none() && device < 32 && function < 8).then_some(Address {
            domain,
            bus: bus as u8,
            device: device as u8,
            function: function as u8,
        })
    }

    /// Whether nobody's hardware has it: vendors of virtual machines declare bridges at `ffff:ff:…`.
    pub(crate) fn made_up(self) -> bool {
        self.domain == 0xffff && self.bus == 0xff
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Device/Port Type of the PCI Express Capabilities register (2.0, 7.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortType {
    /// PCI Express endpoint.
    Endpoint,
    /// Legacy endpoint.
    LegacyEndpoint,
    /// Root port of a root complex.
    RootPort,
    /// Upstream port of a switch.
    Upstream,
    /// Downstream port of a switch.
    Downstream,
    /// PCI Express to PCI or PCI-X bridge.
    ToPci,
    /// PCI or PCI-X to PCI Express bridge.
    FromPci,
    /// Root complex integrated endpoint: no link.
    Integrated,
    /// Root complex event collector: no link.
    Collector,
}

impl PortType {
    /// By its number in the register.
    pub(crate) fn of(bits: u16) -> Option<PortType> {
        Some(match bits {
            0 => Self::Endpoint,
            1 => Self::LegacyEndpoint,
            4 => Self::RootPort,
            5 => Self::Upstream,
            6 => Self::Downstream,
            7 => Self::ToPci,
            8 => Self::FromPci,
            9 => Self::Integrated,
            10 => Self::Collector,
            _ => return None,
        })
    }

    /// Whether it has a link at all.
    pub(crate) fn has_link(self) -> bool {
        !matches!(self, Self::Integrated | Self::Collector)
    }
}

/// The PCI Express capability (2.0, 7.8).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Express {
    /// Device/Port Type.
    pub port: Known<PortType>,
    /// Max_Payload_Size Supported of DevCap, bytes.
    pub mps_supported: Known<u32>,
    /// Max_Payload_Size of DevCtl, bytes: what the function sends at most, and what it accepts.
    pub mps: Known<u32>,
    /// Max_Read_Request_Size of DevCtl, bytes.
    pub mrrs: Known<u32>,
    /// Enable Relaxed Ordering of DevCtl.
    pub relaxed_ordering: Known<bool>,
    /// Extended Tag Field Supported of DevCap: tags of 8 bits.
    pub extended_tags_supported: Known<bool>,
    /// Extended Tag Field Enable of DevCtl.
    pub extended_tags: Known<bool>,
    /// 10-Bit Tag Requester Enable of DevCtl2.
    pub ten_bit_tags: Known<bool>,
    /// Enable No Snoop of DevCtl.
    pub no_snoop: Known<bool>,
    /// Correctable Error Detected of DevSta.
    pub correctable: Known<bool>,
    /// Max Link Speed of LnkCap.
    pub speed_capable: Known<Generation>,
    /// Maximum Link Width of LnkCap, lanes.
    pub width_capable: Known<u8>,
    /// Current Link Speed of LnkSta; the fastest of several dumps, since links idle slower.
    pub speed: Known<Generation>,
    /// Negotiated Link Width of LnkSta, lanes; 0 where nothing is there.
    pub width: Known<u8>,
    /// Data Link Layer Link Active of LnkSta.
    pub active: Known<bool>,
    /// Target Link Speed of LnkCtl2: what software asks for. It is no speed of a link.
    pub speed_target: Known<Generation>,
    /// Fastest of Supported Link Speeds Vector of LnkCap2.
    pub speed_supported: Known<Generation>,
    /// Read Completion Boundary of LnkCtl, bytes.
    pub rcb: Known<u32>,
    /// Presence Detect State of SltSta.
    pub present: Known<bool>,
}

/// The PCI-X capability (PCI-X 2.0, 7.2 and 8.6).
#[derive(Clone, Debug, Default, Serialize)]
pub struct PciX {
    /// Whether it is that of a bridge.
    pub bridge: Known<bool>,
    /// 64-bit device; of a bridge, of its secondary side.
    pub wide: Known<bool>,
    /// 133 MHz capable; of a bridge, its secondary side.
    pub mhz133: Known<bool>,
    /// Maximum Memory Read Byte Count, bytes.
    pub read_count: Known<u32>,
    /// Maximum Outstanding Split Transactions.
    pub outstanding: Known<u32>,
    /// Of a bridge, the mode of its secondary bus: 0 is conventional PCI.
    pub frequency: Known<u32>,
}

/// What Access Control Services do (3.0, 6.12 and 7.16), of the capability or the control register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Acs {
    /// P2P Request Redirect: requests to peers go up to the root complex.
    pub request_redirect: bool,
    /// P2P Completion Redirect: completions to peers do.
    pub completion_redirect: bool,
    /// Upstream Forwarding.
    pub upstream_forwarding: bool,
    /// Direct Translated P2P: translated requests go the short way.
    pub direct_translated: bool,
}

/// Correctable errors (2.0, 7.10.5): the status register's bits, or the kernel's counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Corrected {
    /// By lspci's names: RxErr, BadTLP, BadDLLP, Rollover, Timeout, AdvNonFatalErr. 1 where only a bit is known.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Whether they were counted (sysfs), or only seen since the last clearing.
    pub counted: bool,
    /// What says so: `CESta` of the capability, `aer_dev_correctable` of sysfs, `AER` of the kernel's log.
    pub told_by: &'static str,
}

/// Names of the bits of Correctable Error Status, as lspci writes them.
pub(crate) const CORRECTABLE: [(u32, &str); 6] =
    [(0, "RxErr"), (6, "BadTLP"), (7, "BadDLLP"), (8, "Rollover"), (12, "Timeout"), (13, "AdvNonFatalErr")];

impl Corrected {
    /// Errors of the link itself: all but the advisory ones, which requests to nowhere raise too.
    pub fn of_the_link(&self) -> u64 {
        self.kinds.iter().filter(|(k, _)| **k != "AdvNonFatalErr").map(|(_, n)| n).sum()
    }
}

/// A device that could move more than a link on its way (drivers/pci/pci.c, `__pcie_print_link_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limited {
    /// The port whose link is the slowest; of several as slow, the one nearest to the root complex.
    pub by: Address,
    /// What that link ran at, with its lanes.
    pub now: (Generation, u8),
    /// What the device can do.
    pub capable: (Generation, u8),
}

/// What the kernel's log says of a function's Max_Payload_Size, bytes; the worst last (drivers/pci/probe.c,
/// `pci_configure_mps`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadLog {
    /// It was set to less than it supports, since the port above has no more.
    Set {
        /// To what.
        now: u32,
        /// What it supports.
        max: u32,
    },
    /// The port above was set down to what the function supports.
    Lowered {
        /// To what.
        now: u32,
        /// From what.
        from: u32,
    },
    /// The kernel was told to leave the two as they are, and they differ.
    Unequal {
        /// The function's.
        own: u32,
        /// That of the port above.
        port: u32,
    },
    /// The function does not support what the port above has.
    Refused {
        /// That of the port above.
        port: u32,
    },
}

/// A link of NVLink or xGMI, as NCCL's file lists them below a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Direct {
    /// `nvlink` or `xgmi`.
    pub kind: String,
    /// Attributes as written: target, count, tclass.
    pub attributes: Vec<(String, String)>,
}

/// A network interface below a function, as NCCL's file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Net {
    /// Attributes as written: name, dev, speed, port, guid, …
    pub attributes: Vec<(String, String)>,
}

/// What NCCL's file says below a `pci` element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nccl {
    /// Attributes of the `pci` element, as written.
    pub attributes: Vec<(String, String)>,
    /// Attributes of the `gpu` element, if there is one.
    pub gpu: Option<Vec<(String, String)>>,
    /// Its direct links.
    pub direct: Vec<Direct>,
    /// Interfaces of its `nic` element; empty and present are two things.
    pub nets: Option<Vec<Net>>,
    /// The element around it; the file leaves levels out, so it need not be the bridge right above.
    pub above: Option<Address>,
    /// The `cpu` element around it.
    pub node: Option<u32>,
    /// The order in the file, so that it is written again as it was.
    pub order: u32,
}

/// A link above a function as an XML file states it: a claim, to be believed or not.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Claim {
    /// NCCL's `link_speed`.
    pub speed: Known<Generation>,
    /// NCCL's `link_width`, lanes.
    pub width: Known<u8>,
    /// hwloc's `pci_link_speed`, GB/s one way.
    pub gigabytes: Known<f64>,
    /// An empty `link_speed` or a width of 0: the file says that it does not know.
    pub empty: bool,
}

/// What a function is for, from its class code and, for BMCs, its vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// GPU or other accelerator.
    Gpu,
    /// Network adapter: Ethernet, InfiniBand, Fibre Channel.
    Nic,
    /// Solid-state drive on PCI Express.
    Drive,
    /// Adapter of drives: SAS, SATA, RAID.
    Storage,
    /// PCI-to-PCI bridge, port of a switch or root port.
    Bridge,
    /// Host bridge.
    Host,
    /// Anything else: management, audio, system functions.
    Other,
}

/// A function and all that dumps say of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Function {
    /// Class code: base class and sub-class.
    pub class: Known<u16>,
    /// The class as a dump writes it.
    pub class_name: Known<String>,
    /// Vendor and device id.
    pub ids: Known<(u16, u16)>,
    /// Vendor and device as a dump writes them.
    pub name: Known<String>,
    /// The bridge above it where a tree says so; else it follows from bus numbers.
    pub parent: Known<Address>,
    /// Secondary and subordinate bus of a bridge.
    pub buses: Known<(u8, u8)>,
    /// 66 MHz Capable of the Status register (PCI 3.0, 6.2.3); PCI Express has no such clock.
    pub mhz66: Known<bool>,
    /// Of a bridge, the same of its Secondary Status (PCI-to-PCI Bridge 1.2, 3.2.5.7).
    pub secondary_mhz66: Known<bool>,
    /// NUMA node; -1 of the kernel is unknown.
    pub node: Known<u32>,
    /// IOMMU group.
    pub iommu_group: Known<u32>,
    /// Kernel driver in use.
    pub driver: Known<String>,
    /// Names of its operating-system devices: eth0, mlx5_0, nvme0n1, GPU0.
    pub devices: Vec<Fact<String>>,
    /// Speed of its network port, Mb/s.
    pub net_speed: Known<u64>,
    /// Power state D0 to D3.
    pub power: Known<u8>,
    /// The PCI Express capability.
    pub express: Option<Express>,
    /// The PCI-X capability.
    pub pcix: Option<PciX>,
    /// ACS: what it can do.
    pub acs_capable: Known<Acs>,
    /// ACS: what is switched on.
    pub acs: Known<Acs>,
    /// Corrected errors.
    pub corrected: Known<Corrected>,
    /// Lanes with an error, a bit each (Lane Error Status; 3.0, 7.27.3).
    pub lane_errors: Known<u32>,
    /// The kernel's log names it as the port of the link that limits a device.
    pub limits: bool,
    /// What the kernel's log says of a slower link on its way, each time that it says something else.
    pub limited: Vec<Fact<Limited>>,
    /// What the kernel's log says of its Max_Payload_Size.
    pub payload_log: Known<PayloadLog>,
    /// lspci was not allowed to read the capabilities.
    pub denied: Known<bool>,
    /// What an XML file claims of the link above it.
    pub claim: Claim,
    /// What NCCL's file says.
    pub nccl: Option<Nccl>,
}

/// Class names of lspci (pci.ids, list of known device classes) with their codes; those that a class of device or a
/// bridge has, and the others that hosts show often, since they tell a header from other lines.
pub(crate) const CLASSES: &[(&str, u16)] = &[
    ("Non-VGA unclassified device", 0x0000),
    ("VGA compatible unclassified device", 0x0001),
    ("SCSI storage controller", 0x0100),
    ("IDE interface", 0x0101),
    ("RAID bus controller", 0x0104),
    ("SATA controller", 0x0106),
    ("Serial Attached SCSI controller", 0x0107),
    ("Non-Volatile memory controller", 0x0108),
    ("Universal Flash Storage controller", 0x0109),
    ("Mass storage controller", 0x0180),
    ("Ethernet controller", 0x0200),
    ("Infiniband controller", 0x0207),
    ("InfiniBand controller", 0x0207),
    ("Fabric controller", 0x0208),
    ("Network controller", 0x0280),
    ("VGA compatible controller", 0x0300),
    ("3D controller", 0x0302),
    ("Display controller", 0x0380),
    ("Multimedia video controller", 0x0400),
    ("Multimedia audio controller", 0x0401),
    ("Audio device", 0x0403),
    ("Multimedia controller", 0x0480),
    ("RAM memory", 0x0500),
    ("FLASH memory", 0x0501),
    ("CXL", 0x0502),
    ("Memory controller", 0x0580),
    ("Host bridge", 0x0600),
    ("ISA bridge", 0x0601),
    ("EISA bridge", 0x0602),
    ("PCI bridge", 0x0604),
    ("PCMCIA bridge", 0x0605),
    ("CardBus bridge", 0x0607),
    ("Semi-transparent PCI-to-PCI bridge", 0x0609),
    ("InfiniBand to PCI host bridge", 0x060a),
    ("Bridge", 0x0680),
    ("Serial controller", 0x0700),
    ("Parallel controller", 0x0701),
    ("Multiport serial controller", 0x0702),
    ("Modem", 0x0703),
    ("Communication controller", 0x0780),
    ("PIC", 0x0800),
    ("DMA controller", 0x0801),
    ("Timer", 0x0802),
    ("RTC", 0x0803),
    ("PCI Hot-plug controller", 0x0804),
    ("SD Host controller", 0x0805),
    ("IOMMU", 0x0806),
    ("System peripheral", 0x0880),
    ("Timing Card", 0x0807),
    ("Keyboard controller", 0x0900),
    ("Mouse controller", 0x0902),
    ("Input device controller", 0x0980),
    ("Power PC", 0x0b20),
    ("Co-processor", 0x0b40),
    ("FireWire (IEEE 1394)", 0x0c00),
    ("USB controller", 0x0c03),
    ("USB Controller", 0x0c03),
    ("Fibre Channel", 0x0c04),
    ("SMBus", 0x0c05),
    ("InfiniBand", 0x0c06),
    ("IPMI Interface", 0x0c07),
    ("IPMI SMIC interface", 0x0c07),
    ("Network and computing encryption device", 0x1000),
    ("Encryption controller", 0x1080),
    ("DPIO module", 0x1100),
    ("Performance counters", 0x1101),
    ("Signal processing controller", 0x1180),
    ("Processing accelerators", 0x1200),
    ("Non-Essential Instrumentation", 0x1300),
    ("Coprocessor", 0x4000),
    ("Unassigned class", 0xff00),
];

impl Function {
    /// What it is for.
    pub fn kind(&self) -> Kind {
        let Some(class) = value(&self.class) else {
            // NCCL's file of a virtual machine may list bare addresses; a `gpu` or `nic` below says what it is.
            return match &self.nccl {
                Some(n) if n.gpu.is_some() => Kind::Gpu,
                Some(n) if n.nets.is_some() => Kind::Nic,
                _ => self.kind_by_name(),
            };
        };
        let name = self.name.as_ref().map_or("", |f| f.value.as_str());
        // Display of a baseboard management controller: ASPEED, Matrox.
        let management = matches!(value(&self.ids), Some((0x1a03 | 0x102b, _)))
            || ["ASPEED", "Matrox"].iter().any(|v| name.starts_with(v));
        match class {
            0x0600 => Kind::Host,
            0x0604 | 0x0609 => Kind::Bridge,
            0x0300 | 0x0302 | 0x0380 if !management => Kind::Gpu,
            0x1200 | 0x0b40 => Kind::Gpu,
            0x0200 | 0x0207 | 0x0208 | 0x0280 | 0x0c04 | 0x0c06 => Kind::Nic,
            0x0108 => Kind::Drive,
            0x0100 | 0x0104 | 0x0106 | 0x0107 | 0x0180 => Kind::Storage,
            _ => Kind::Other,
        }
    }

    /// A bare tree has names and no classes; some names say what a device is.
    fn kind_by_name(&self) -> Kind {
        let name = self.name.as_ref().map_or("", |f| f.value.as_str());
        let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
        if has(&["NVMe", "Data Center SSD"]) && !has(&["RAID"]) {
            Kind::Drive
        } else if has(&["ConnectX", "Ethernet Controller", "Gigabit Network", "InfiniBand"]) {
            Kind::Nic
        } else if has(&["GeForce", "RTX", "Tesla", "Instinct", "Quadro"]) && !has(&["Audio", "USB"]) {
            Kind::Gpu
        } else {
            Kind::Other
        }
    }

    /// Whether it is a bridge to CardBus.
    pub(crate) fn to_cardbus(&self) -> bool {
        value(&self.class) == Some(0x0607)
    }

    /// The Device/Port Type.
    pub(crate) fn port(&self) -> Option<PortType> {
        self.express.as_ref().and_then(|e| value(&e.port))
    }

    /// What to call it: the dump's name of it, that of the PCI ID Repository, its ids, or its class.
    pub fn called(&self) -> String {
        match (&self.name, &self.ids, &self.class_name) {
            (Some(name), ..) => name.value.clone(),
            (_, Some(ids), _) => {
                listed(ids.value).unwrap_or_else(|| format!("[{:04x}:{:04x}]", ids.value.0, ids.value.1))
            }
            (.., Some(class)) => class.value.clone(),
            _ => "not named".to_owned(),
        }
    }
}

/// The name of a vendor's device in the PCI ID Repository, as lspci would print it.
fn listed((vendor, device): (u16, u16)) -> Option<String> {
    let known = pci_ids::Device::from_vid_pid(vendor, device)?;
    Some(super::clean(&format!("{} {}", known.vendor().name(), known.name())))
}

/// Reads `2.5GT/s`, `8.0 GT/s PCIe`, `16`; what is no rate of the specification is none.
pub fn generation(text: &str) -> Option<Generation> {
    let digits: String = text.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let rate: f64 = digits.parse().ok()?;
    Generation::ALL.into_iter().find(|g| (gigatransfers(*g) - rate).abs() < 0.01)
}

/// Transfers on a lane, 10^9 a second.
pub(crate) fn gigatransfers(generation: Generation) -> f64 {
    generation.lane_rate().bits() / 1e9
}
