//! Every kind of table that a scenario has: the whole language, for whoever walks it.

use super::*;

/// The key tables of the kinds of part.
pub static PART_KINDS: [(&str, &[Key]); 14] = [
    ("root-complex", ROOT_COMPLEX),
    ("switch", SWITCH),
    ("endpoint", ENDPOINT),
    ("station", STATION),
    ("ethernet-switch", ETHERNET_SWITCH),
    ("host-bridge", HOST_BRIDGE),
    ("pci-device", PCI_DEVICE),
    ("host-adapter", HOST_ADAPTER),
    ("channel-adapter", CHANNEL_ADAPTER),
    ("infiniband-switch", INFINIBAND_SWITCH),
    ("ram-disk", RAM_DISK),
    ("disk", DISK),
    ("ssd", SSD),
    ("array", ARRAY),
];

/// A kind of table of a scenario.
#[derive(Clone, Copy)]
pub struct TableKind {
    /// `parts`, `links`, `flows`, or `run`.
    pub section: &'static str,
    /// Its short name: the kind of a part, the key that makes a link one of its medium, or what a flow does.
    pub name: &'static str,
    /// How such a table begins, for the reference.
    pub title: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// The only method that it speaks to; `None` where it describes what is asked about.
    pub only: Option<&'static str>,
}

const fn kind(section: &'static str, name: &'static str, title: &'static str, keys: &'static [Key]) -> TableKind {
    TableKind { section, name, title, keys, only: None }
}

/// Every kind of table: the whole language.
pub static TABLES: [TableKind; 29] = [
    kind("parts", "root-complex", "[parts.NAME] with is = \"root-complex\"", ROOT_COMPLEX),
    kind("parts", "switch", "[parts.NAME] with is = \"switch\"", SWITCH),
    kind("parts", "endpoint", "[parts.NAME] with is = \"endpoint\"", ENDPOINT),
    kind("parts", "station", "[parts.NAME] with is = \"station\"", STATION),
    kind("parts", "ethernet-switch", "[parts.NAME] with is = \"ethernet-switch\"", ETHERNET_SWITCH),
    kind("parts", "host-bridge", "[parts.NAME] with is = \"host-bridge\"", HOST_BRIDGE),
    kind("parts", "pci-device", "[parts.NAME] with is = \"pci-device\"", PCI_DEVICE),
    kind(
        "parts",
        "host-adapter",
        "[parts.NAME] with is = \"host-adapter\", beside the keys of an endpoint",
        HOST_ADAPTER,
    ),
    kind(
        "parts",
        "channel-adapter",
        "[parts.NAME] with is = \"channel-adapter\", beside the keys of an endpoint or a device on a bus",
        CHANNEL_ADAPTER,
    ),
    kind("parts", "infiniband-switch", "[parts.NAME] with is = \"infiniband-switch\"", INFINIBAND_SWITCH),
    kind("parts", "ram-disk", "[parts.NAME] with is = \"ram-disk\"", RAM_DISK),
    kind("parts", "disk", "[parts.NAME] with is = \"disk\"", DISK),
    kind("parts", "ssd", "[parts.NAME] with is = \"ssd\"", SSD),
    kind("parts", "array", "[parts.NAME] with is = \"array\"", ARRAY),
    kind("links", "pcie", "[links.NAME] with pcie", LINK),
    kind("links", "coherent", "[links.NAME] with coherent", COHERENT_LINK),
    kind("links", "ethernet", "[links.NAME] with ethernet", ETHERNET_LINK),
    kind("links", "infiniband", "[links.NAME] with infiniband", INFINIBAND_LINK),
    kind("links", "fc", "[links.NAME] with fc", FC_LINK),
    kind("links", "sas", "[links.NAME] with sas", SAS_LINK),
    kind("links", "scsi", "[links.NAME] with scsi", SCSI_LINK),
    kind("links", "pci", "[links.NAME] with pci", BUS_LINK),
    kind("flows", "dma", "[flows.NAME] with do = \"read\", \"write\" or \"alternate\"", FLOW),
    kind(
        "flows",
        "bus-dma",
        "[flows.NAME] with do = \"read\", \"write\" or \"alternate\", from a device on a bus",
        FLOW,
    ),
    kind("flows", "send", "[flows.NAME] with do = \"send\"", STREAM),
    kind("flows", "io", "[flows.NAME] with do = \"io\"", IO),
    kind("flows", "transact", "[flows.NAME] with do = \"transact\"", TRANSACT),
    kind("flows", "mpi", "[flows.NAME] with do = \"mpi\"", MPI),
    // How long to simulate, how tight, and from which random numbers.
    TableKind { only: Some("simulate"), ..kind("run", "run", "[run]", RUN) },
];
