//! The parallel buses before PCI Express: peak rates of ISA, EISA, VL-bus, PCI, PCI-X. Bursts, arbitration and split transactions come with the bus parts.

use crate::units::Rate;

/// A parallel bus at its highest published clock. All masters and both directions share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// The name people use.
    pub name: &'static str,
    /// Data lines.
    pub width_bits: u64,
    /// Transfer clock as a ratio in hertz (PCI's 33 MHz is 100/3).
    pub clock: (u64, u64),
    /// Clocks per data transfer, and data transfers per such stretch (PCI-X 266 moves two per clock).
    pub clocks_per_transfer: (u64, u64),
    /// Where the numbers are from.
    pub source: &'static str,
}

/// ISA to PCI-X 533.
pub const BUSES: &[Bus] = &[
    Bus {
        name: "isa",
        width_bits: 16,
        clock: (4_770_000, 1),
        clocks_per_transfer: (1, 1),
        source: "Dell Power Solutions 2005 lists 16 bit at 4.77 MHz, 9 MB/s: one transfer a clock, the bus's ideal",
    },
    Bus {
        name: "eisa",
        width_bits: 32,
        clock: (8_333_333, 1),
        clocks_per_transfer: (1, 1),
        source: "EISA 3.12, burst cycles at BCLK 8.33 MHz",
    },
    Bus {
        name: "vl-bus",
        width_bits: 32,
        clock: (33_333_333, 1),
        clocks_per_transfer: (1, 1),
        source: "VESA VL-Bus 2.0, burst at 33 MHz",
    },
    Bus {
        name: "pci-32-33",
        width_bits: 32,
        clock: (33_000_000, 1),
        clocks_per_transfer: (1, 1),
        source: "PCI 2.1, 33 MHz",
    },
    Bus {
        name: "pci-64-33",
        width_bits: 64,
        clock: (33_000_000, 1),
        clocks_per_transfer: (1, 1),
        source: "PCI 2.1, 64-bit extension",
    },
    Bus {
        name: "pci-32-66",
        width_bits: 32,
        clock: (66_000_000, 1),
        clocks_per_transfer: (1, 1),
        source: "PCI 2.1, 66 MHz",
    },
    Bus {
        name: "pci-64-66",
        width_bits: 64,
        clock: (66_000_000, 1),
        clocks_per_transfer: (1, 1),
        source: "PCI 2.1, 66 MHz, 64-bit",
    },
    Bus { name: "pci-x-66", width_bits: 64, clock: (66_666_667, 1), clocks_per_transfer: (1, 1), source: "PCI-X 1.0a" },
    Bus {
        name: "pci-x-100",
        width_bits: 64,
        clock: (100_000_000, 1),
        clocks_per_transfer: (1, 1),
        source: "PCI-X 1.0a",
    },
    Bus {
        name: "pci-x-133",
        width_bits: 64,
        clock: (133_333_333, 1),
        clocks_per_transfer: (1, 1),
        source: "PCI-X 1.0a",
    },
    Bus {
        name: "pci-x-266",
        width_bits: 64,
        clock: (133_333_333, 1),
        clocks_per_transfer: (1, 2),
        source: "PCI-X 2.0, two transfers a clock",
    },
    Bus {
        name: "pci-x-533",
        width_bits: 64,
        clock: (133_333_333, 1),
        clocks_per_transfer: (1, 4),
        source: "PCI-X 2.0, four transfers a clock",
    },
];

impl Bus {
    /// A bus by name.
    pub fn named(name: &str) -> Option<&'static Bus> {
        BUSES.iter().find(|b| b.name == name)
    }

    /// Data rate with a transfer on every possible clock; shared by both directions.
    pub fn peak(&self) -> Rate {
        let (clocks, transfers) = self.clocks_per_transfer;
        Rate::ratio((self.width_bits * self.clock.0 * transfers) as u128, (self.clock.1 * clocks) as u128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_as_the_literature_quotes_them() {
        let mb = |name| Bus::named(name).expect("listed").peak().bytes() / 1e6;
        assert!((mb("isa") - 9.54).abs() < 1e-9);
        assert!((mb("eisa") - 33.333_332).abs() < 1e-6);
        assert_eq!(mb("pci-32-33"), 132.0);
        assert_eq!(mb("pci-64-66"), 528.0);
        assert!((mb("pci-x-133") - 1066.67).abs() < 0.01);
        assert!((mb("pci-x-533") - 4266.67).abs() < 0.01);
    }
}
