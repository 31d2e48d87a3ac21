//! What devices can do at most, by their ids and names: for files that hold a link's present speed alone, or one that
//! its author made up.

use crate::import::host::{Function, Kind, value};
use crate::protocol::pcie::{Generation, Speed};

/// What a device can do at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Most {
    /// Its generation, where that is known.
    pub(crate) generation: Option<Generation>,
    /// Its lanes.
    pub(crate) lanes: u64,
}

impl Most {
    /// Whether it can have a link of this speed.
    pub(crate) fn allows(&self, speed: Speed) -> bool {
        self.generation.is_none_or(|g| speed.generation <= g) && speed.lanes.count() <= self.lanes
    }
}

/// Vendor, device, generation and lanes. GPUs are those that virtual machines' files misstate, which may give them no
/// names: by NVIDIA's product briefs P100, V100 and T4 are PCIe 3.0, A100 and A10 are 4.0, H100 is 5.0. Adapters are
/// those of two generations' width, whose GB/s alone leave it open which it is: Intel's datasheets of 82598, 82576,
/// 82599, X540, I350, I210 and XL710; Broadcom's (LSI's) of SAS2008 and SAS2108; NVIDIA's (Mellanox's) user manuals of
/// ConnectX-2 to ConnectX-6 Dx.
const DEVICES: &[(u16, u16, Generation, u64)] = &[
    (0x10de, 0x15f7, Generation::Gen3, 16),
    (0x10de, 0x15f8, Generation::Gen3, 16),
    (0x10de, 0x15f9, Generation::Gen3, 16),
    (0x10de, 0x1db1, Generation::Gen3, 16),
    (0x10de, 0x1db4, Generation::Gen3, 16),
    (0x10de, 0x1db5, Generation::Gen3, 16),
    (0x10de, 0x1db6, Generation::Gen3, 16),
    (0x10de, 0x1eb8, Generation::Gen3, 16),
    (0x10de, 0x20b0, Generation::Gen4, 16),
    (0x10de, 0x20b2, Generation::Gen4, 16),
    (0x10de, 0x20b5, Generation::Gen4, 16),
    (0x10de, 0x2237, Generation::Gen4, 16),
    (0x10de, 0x2330, Generation::Gen5, 16),
    (0x10de, 0x2331, Generation::Gen5, 16),
    (0x8086, 0x10c6, Generation::Gen1, 8),
    (0x8086, 0x10c7, Generation::Gen1, 8),
    (0x8086, 0x10c9, Generation::Gen1, 4),
    (0x8086, 0x10fb, Generation::Gen2, 8),
    (0x8086, 0x10fc, Generation::Gen2, 8),
    (0x8086, 0x1528, Generation::Gen2, 8),
    (0x8086, 0x1521, Generation::Gen2, 4),
    (0x8086, 0x1522, Generation::Gen2, 4),
    (0x8086, 0x1533, Generation::Gen1, 1),
    (0x8086, 0x1572, Generation::Gen3, 8),
    (0x8086, 0x1583, Generation::Gen3, 8),
    (0x1000, 0x0072, Generation::Gen2, 8),
    (0x1000, 0x0079, Generation::Gen2, 8),
    (0x15b3, 0x673c, Generation::Gen2, 8),
    (0x15b3, 0x6746, Generation::Gen2, 8),
    (0x15b3, 0x6750, Generation::Gen2, 8),
    (0x15b3, 0x1003, Generation::Gen3, 8),
    (0x15b3, 0x1015, Generation::Gen3, 8),
    (0x15b3, 0x1017, Generation::Gen3, 16),
    (0x15b3, 0x101b, Generation::Gen4, 16),
    (0x15b3, 0x101d, Generation::Gen4, 16),
];

/// How GPUs' chip names begin, which stand in the names of their functions: NVIDIA's whitepapers of Fermi, Kepler (of
/// its chips GK110 was sold as either), Maxwell, Pascal, Volta, Turing, Ampere, Ada, Hopper and Blackwell; AMD's pages
/// of its products.
const CHIPS: &[(&str, Generation)] = &[
    ("GF1", Generation::Gen2),
    ("GK104", Generation::Gen3),
    ("GK106", Generation::Gen3),
    ("GK107", Generation::Gen3),
    ("GK210", Generation::Gen3),
    ("GM1", Generation::Gen3),
    ("GM2", Generation::Gen3),
    ("GP1", Generation::Gen3),
    ("GV100", Generation::Gen3),
    ("TU1", Generation::Gen3),
    ("GA10", Generation::Gen4),
    ("AD10", Generation::Gen4),
    ("GH100", Generation::Gen5),
    ("GB20", Generation::Gen5),
    ("Vega 10", Generation::Gen3),
    ("Navi 1", Generation::Gen4),
    ("Navi 2", Generation::Gen4),
    ("Navi 3", Generation::Gen4),
    ("Arcturus", Generation::Gen4),
    ("Aldebaran", Generation::Gen4),
    ("Aqua Vanjaram", Generation::Gen5),
];

/// Lanes of a drive: the connectors U.2, U.3, M.2 and those of EDSFF's common widths have four.
const OF_A_DRIVE: u64 = 4;

/// What a device can do at most, where its ids, its name or its class say so.
pub(crate) fn most(function: &Function) -> Option<Most> {
    let listed = value(&function.ids).and_then(|i| DEVICES.iter().find(|d| (d.0, d.1) == i));
    if let Some((.., generation, lanes)) = listed {
        return Some(Most { generation: Some(*generation), lanes: *lanes });
    }
    match function.kind() {
        Kind::Gpu => {
            let name = function.called();
            // A name of its own, and not the end of another.
            let starts =
                |chip: &str| name.match_indices(chip).any(|(at, _)| at == 0 || name[..at].ends_with([' ', '[']));
            let chip = CHIPS.iter().find(|(chip, _)| starts(chip))?;
            Some(Most { generation: Some(chip.1), lanes: 16 })
        }
        Kind::Drive => Some(Most { generation: None, lanes: OF_A_DRIVE }),
        _ => None,
    }
}
