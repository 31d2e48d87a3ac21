//! What a technology is, said once: its kinds of links, parts and flows in a scenario, and the words for what crosses
//! its links.
//!
//! Whoever needs a list of technologies, of kinds of links or of kinds of parts walks these tables; a new one is a row
//! here. [`TABLES`] is the whole language.

use super::*;
use crate::protocol::pci::Standard;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::LazyLock;

/// A technology: a folder of each room and a subsystem of each run, in the order in which reports list what is theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Technology {
    /// PCI Express, and the coherent links between root complexes.
    Pcie,
    /// Ethernet.
    Ethernet,
    /// I/Os over Fibre Channel, SAS, SCSI, or between stations.
    Storage,
    /// Shared parallel buses: ISA, PCI and PCI-X.
    Pci,
    /// InfiniBand, channel adapters, and the message programs of ranks.
    Infiniband,
}

impl Technology {
    /// All of them, in order.
    pub const ALL: [Technology; 5] =
        [Technology::Pcie, Technology::Ethernet, Technology::Storage, Technology::Pci, Technology::Infiniband];
}

/// A kind of link in a scenario.
#[derive(Clone, Copy)]
pub struct LinkKind {
    /// The key that makes a link one of this kind.
    pub key: &'static str,
    /// Other keys that only such a link has.
    pub also: &'static [&'static str],
    /// Where one of these keys stands beside it, the link is of that kind.
    pub unless: &'static [&'static str],
    /// With its article, as a message says it.
    pub noun: &'static str,
    /// A value of `key`, and what else to say of it.
    pub example: (&'static str, &'static str),
    /// Its keys.
    pub keys: &'static [Key],
}

/// Every kind of link.
pub static LINK_KINDS: [LinkKind; 8] = [
    link("pcie", "a link of PCIe", "gen3 x8", LINK),
    LinkKind {
        unless: &["pcie"],
        example: ("64 GB/s", " (between root complexes)"),
        ..link("coherent", "a coherent link", "64 GB/s", COHERENT_LINK)
    },
    LinkKind {
        also: &["star", "leaf_spine", "fat_tree"],
        unless: &["pcie"],
        ..link("ethernet", "a link of Ethernet", "10 Gb/s", ETHERNET_LINK)
    },
    link("infiniband", "a link of InfiniBand", "edr 4x", INFINIBAND_LINK),
    link("fc", "a link of Fibre Channel", "4GFC", FC_LINK),
    link("sas", "a SAS link", "3G", SAS_LINK),
    link("scsi", "a SCSI bus", "ultra320", SCSI_LINK),
    LinkKind { unless: &["pcie", "ethernet"], ..link("pci", "a PCI bus", "pci-x 133 64-bit", BUS_LINK) },
];

const fn link(key: &'static str, noun: &'static str, example: &'static str, keys: &'static [Key]) -> LinkKind {
    LinkKind { key, also: &[], unless: &[], noun, example: (example, ""), keys }
}

impl LinkKind {
    /// Whether a table is a link of this kind.
    pub(in crate::scenario) fn is(&self, table: &Table) -> bool {
        let own = std::iter::once(&self.key).chain(self.also).any(|k| table.get(k).is_some());
        own && self.unless.iter().all(|k| table.get(k).is_none())
    }
}

/// What a flow does, and where.
#[derive(Clone, Copy)]
pub struct FlowKind {
    /// Its short name.
    pub name: &'static str,
    /// What `do` says.
    pub does: &'static [&'static str],
    /// What that is, for a message.
    pub noun: &'static str,
    /// Keys that only such a flow has: they say what it does where `do` does not.
    pub own: &'static [&'static str],
    /// Its keys.
    pub keys: &'static [Key],
}

/// Every kind of flow.
pub static FLOW_KINDS: [FlowKind; 5] = [
    FlowKind {
        name: "dma",
        does: &["read", "write", "alternate", "receive", "transmit"],
        noun: "DMA",
        own: &[],
        keys: FLOW,
    },
    FlowKind { name: "send", does: &["send"], noun: "frames", own: &[], keys: STREAM },
    FlowKind { name: "io", does: &["io"], noun: "I/Os", own: &["access", "test"], keys: IO },
    FlowKind { name: "transact", does: &["transact"], noun: "messages and replies", own: &[], keys: TRANSACT },
    FlowKind {
        name: "mpi",
        does: &["mpi"],
        noun: "ranks",
        own: &["ranks", "program", "benchmark", "trace"],
        keys: MPI,
    },
];

/// Where a part stands in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartRole {
    /// Memory is behind it: links lead down from it.
    Root,
    /// It passes on.
    Switch,
    /// It begins or ends flows.
    End,
}

/// A kind of part in a scenario.
#[derive(Clone, Copy)]
pub struct PartRow {
    /// What a user writes behind `is`.
    pub word: &'static str,
    /// Whose it is.
    pub technology: Technology,
    /// Where it stands.
    pub role: PartRole,
    /// With its article, as a message says it.
    pub noun: &'static str,
    /// One, and several, as a picture says it.
    pub names: [&'static str; 2],
    /// Its keys.
    pub keys: &'static [Key],
    /// Whose keys it has too.
    pub beside: &'static str,
}

macro_rules! part_kinds {
    ($($(#[$m:meta])* $kind:ident = $word:literal, $technology:ident, $role:ident, $noun:literal,
        [$one:literal, $several:literal], $keys:ident $(, $beside:literal)?;)+) => {
        words! {
            /// What a part is.
            PartKind { $($(#[$m])* $kind = $word),+ }
        }

        /// The kinds of part, in the order of [`PartKind`].
        pub static PART_KINDS: [PartRow; [$($word),+].len()] = [$(PartRow {
            word: $word,
            technology: Technology::$technology,
            role: PartRole::$role,
            noun: $noun,
            names: [$one, $several],
            keys: $keys,
            beside: concat!("" $(, $beside)?),
        }),+];
    };
}

part_kinds! {
    /// A host's PCIe side: root ports, and memory behind them.
    RootComplex = "root-complex", Pcie, Root, "a root complex", ["root complex", "root complexes"], ROOT_COMPLEX;
    /// A PCIe switch.
    Switch = "switch", Pcie, Switch, "a PCIe switch", ["switch", "switches"], SWITCH;
    /// A device with DMA engines.
    Endpoint = "endpoint", Pcie, End, "an endpoint of PCIe", ["endpoint", "endpoints"], ENDPOINT;
    /// An end of an Ethernet link.
    Station = "station", Ethernet, End, "a station of Ethernet", ["station", "stations"], STATION;
    /// An Ethernet switch.
    EthernetSwitch = "ethernet-switch", Ethernet, Switch, "an Ethernet switch",
        ["Ethernet switch", "Ethernet switches"], ETHERNET_SWITCH;
    /// Memory behind a shared bus.
    HostBridge = "host-bridge", Pci, Root, "the bridge of a PCI bus", ["host bridge", "host bridges"], HOST_BRIDGE;
    /// A DMA master on a shared bus.
    PciDevice = "pci-device", Pci, End, "a device of a PCI bus", ["device", "devices"], PCI_DEVICE;
    /// A host adapter with ports for disks.
    HostAdapter = "host-adapter", Storage, End, "a host adapter", ["host adapter", "host adapters"], HOST_ADAPTER,
        "an endpoint";
    /// An adapter of InfiniBand, or of RoCE.
    ChannelAdapter = "channel-adapter", Infiniband, End, "a channel adapter",
        ["channel adapter", "channel adapters"], CHANNEL_ADAPTER, "an endpoint or a device on a bus";
    /// A switch of InfiniBand.
    InfinibandSwitch = "infiniband-switch", Infiniband, Switch, "an InfiniBand switch",
        ["InfiniBand switch", "InfiniBand switches"], INFINIBAND_SWITCH;
    /// A target of RAM.
    RamDisk = "ram-disk", Storage, End, "a RAM disk", ["RAM disk", "RAM disks"], RAM_DISK;
    /// A disk.
    Disk = "disk", Storage, End, "a disk", ["disk", "disks"], DISK;
    /// A solid-state drive.
    Ssd = "ssd", Storage, End, "a solid-state drive", ["solid-state drive", "solid-state drives"], SSD;
    /// An NVMe controller with its drive.
    Nvme = "nvme", Storage, End, "an NVMe drive", ["NVMe drive", "NVMe drives"], NVME,
        "an endpoint and of a solid-state drive";
    /// An array of disks behind one adapter.
    Array = "array", Storage, End, "an array", ["array", "arrays"], ARRAY;
}

impl PartKind {
    /// All that is said of it.
    pub fn row(self) -> &'static PartRow {
        &PART_KINDS[self as usize]
    }

    /// With its article, as a message says it.
    pub fn noun(self) -> &'static str {
        self.row().noun
    }
}

/// A kind of table of a scenario.
#[derive(Clone)]
pub struct TableKind {
    /// `parts`, `links`, `flows`, or `run`.
    pub section: &'static str,
    /// Its short name: the kind of a part, the key that makes a link one of its medium, or what a flow does.
    pub name: &'static str,
    /// How such a table begins, for the reference.
    pub title: String,
    /// Its keys.
    pub keys: &'static [Key],
    /// The only method that it speaks to; `None` where it describes what is asked about.
    pub only: Option<&'static str>,
}

/// Every kind of table: the whole language.
pub static TABLES: LazyLock<Vec<TableKind>> = LazyLock::new(|| {
    let kind = |section, name, title: String, keys| TableKind { section, name, title, keys, only: None };
    let parts = PART_KINDS.iter().map(|row| {
        let beside = if row.beside.is_empty() { "" } else { ", beside the keys of " };
        kind("parts", row.word, format!("[parts.NAME] with is = {:?}{beside}{}", row.word, row.beside), row.keys)
    });
    let links = LINK_KINDS.iter().map(|l| kind("links", l.key, format!("[links.NAME] with {}", l.key), l.keys));
    let flow = |f: &FlowKind, name, place: &str| {
        // What packets of a NIC are is said with the key.
        let does: Vec<String> = f.does.iter().take(3).map(|d| format!("{d:?}")).collect();
        let title = format!("[flows.NAME] with do = {}{place}", listed(&does));
        kind("flows", name, title, f.keys)
    };
    let flows = FLOW_KINDS.iter().flat_map(|f| {
        // Flows over PCIe and over a bus have the same keys.
        let on_bus = (f.name == "dma").then(|| flow(f, "bus-dma", ", from a device on a bus"));
        std::iter::once(flow(f, f.name, "")).chain(on_bus)
    });
    // How long to simulate, how tight, and from which random numbers.
    let run = TableKind { only: Some("simulate"), ..kind("run", "run", "[run]".into(), RUN) };
    parts.chain(links).chain(flows).chain([run]).collect()
});

/// `a, b or c`.
pub(in crate::scenario) fn listed(words: &[String]) -> String {
    match words {
        [all @ .., end] if !all.is_empty() => format!("{} or {end}", all.join(", ")),
        _ => words.concat(),
    }
}

/// What a link is, as the plan knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Medium {
    /// PCI Express.
    Pcie,
    /// Ethernet.
    Ethernet,
    /// Fibre Channel.
    FibreChannel,
    /// SAS.
    Sas,
    /// A parallel SCSI bus.
    Scsi,
    /// InfiniBand.
    Infiniband,
    /// Conventional PCI.
    Pci,
    /// PCI-X.
    PciX,
    /// ISA.
    Isa,
}

impl From<Standard> for Medium {
    fn from(standard: Standard) -> Medium {
        match standard {
            Standard::Isa => Medium::Isa,
            Standard::Pci => Medium::Pci,
            Standard::PciX => Medium::PciX,
        }
    }
}

impl Medium {
    /// `a TLP of 256 B payload`: what carries payload.
    pub fn unit(self) -> &'static str {
        match self {
            Medium::Pcie => "TLP",
            Medium::Ethernet | Medium::FibreChannel | Medium::Sas => "frame",
            Medium::Scsi => "connection",
            Medium::Infiniband => "packet",
            Medium::Pci | Medium::PciX | Medium::Isa => "transaction",
        }
    }

    /// Whether a link of it joins one adapter and several targets, which share its time: what surrounds payload there
    /// is time in which bytes could have moved.
    pub fn is_shared_by_targets(self) -> bool {
        self == Medium::Scsi
    }

    /// An entry of an estimated ledger in the words of this medium. What surrounds data on a link of storage is one
    /// number there.
    pub fn estimated(self, entry: &'static str) -> &'static str {
        match (self, entry) {
            (Medium::FibreChannel | Medium::Sas, FRAMING) => "commands, framing",
            (Medium::Scsi, FRAMING) => "commands, phases",
            (Medium::Infiniband, "Ack DLLPs") => "acknowledgements",
            (Medium::Infiniband, "UpdateFC DLLPs") => "flow-control packets",
            _ => entry,
        }
    }

    /// An entry of a simulated ledger in the words of this medium.
    pub fn simulated(self, entry: &'static str) -> &'static str {
        match (self, entry) {
            (Medium::FibreChannel | Medium::Sas, "read requests") => "command, response frames",
            (Medium::FibreChannel, "preamble, gap") => "primitive signals",
            (Medium::FibreChannel, "control frames") => "R_RDY",
            (Medium::Sas, "preamble, gap") => "connections",
            (Medium::Sas, "control frames") => "ACK, RRDY, OPEN_ACCEPT",
            (Medium::Scsi, FRAMING) => "messages, phases",
            (Medium::Infiniband, _) => self.estimated(entry),
            (Medium::Pcie, "control frames") => "descriptors, entries",
            _ => entry,
        }
    }
}

/// The entry that every ledger has around payload.
pub const FRAMING: &str = "headers, framing";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_control_has_the_words_of_its_medium() {
        assert_eq!(Medium::Infiniband.estimated("UpdateFC DLLPs"), "flow-control packets");
        assert_eq!(Medium::Infiniband.simulated("Ack DLLPs"), "acknowledgements");
        assert_eq!(Medium::Infiniband.simulated(FRAMING), FRAMING);
        assert_eq!(Medium::Pcie.simulated("Ack DLLPs"), "Ack DLLPs");
    }

    #[test]
    fn every_kind_finds_its_row() {
        assert_eq!(PartKind::Array.row().word, PartKind::Array.show());
        assert_eq!(PartKind::RootComplex.row().word, "root-complex");
        for (i, technology) in Technology::ALL.into_iter().enumerate() {
            assert_eq!(technology as usize, i);
        }
    }

    #[test]
    fn the_key_that_makes_a_link_one_of_its_kind_is_among_its_keys() {
        for kind in &LINK_KINDS {
            let own = std::iter::once(&kind.key).chain(kind.also);
            assert!(own.into_iter().all(|own| kind.keys.iter().any(|k| k.name == *own)), "{}", kind.key);
        }
    }
}
