//! The parallel buses before PCI Express: peak rates of ISA to PCI-X 533, and what a transaction of PCI or PCI-X costs
//! in clocks.
//!
//! Clauses are those of PCI Local Bus 2.3 (3.0 has the same), of the PCI-X Addendum 1.0b and of PCI-X Protocol 2.0. A
//! bus has one clock, and all masters and both directions share it; so everything here is a number of clocks, and a
//! moment is a count of them.

mod transaction;

pub(crate) use transaction::{ADB, Decode, INITIAL_LATENCY, LEAST_READ, MOST_SPLITS, Phases};
pub use transaction::{MOST_BYTES, Wait};

use crate::units::Rate;
use std::fmt;

/// A parallel bus at its highest published clock. All masters and both directions share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// The name people use.
    pub name: &'static str,
    /// Data lines.
    pub width_bits: u64,
    /// Transfer clock as a ratio in hertz (PCI-X's 133 MHz is 400/3).
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
    Bus {
        name: "pci-x-66",
        width_bits: 64,
        clock: (200_000_000, 3),
        clocks_per_transfer: (1, 1),
        source: "PCI-X 1.0a",
    },
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
        clock: (400_000_000, 3),
        clocks_per_transfer: (1, 1),
        source: "PCI-X 1.0a",
    },
    Bus {
        name: "pci-x-266",
        width_bits: 64,
        clock: (400_000_000, 3),
        clocks_per_transfer: (1, 2),
        source: "PCI-X 2.0, two transfers a clock",
    },
    Bus {
        name: "pci-x-533",
        width_bits: 64,
        clock: (400_000_000, 3),
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

    /// The same bus as a scenario writes it, where it has transactions that are known: `pci-x 133 64-bit`.
    pub(crate) fn speed(&self) -> Option<Speed> {
        let wanted = |s: &&Step| {
            s.standard != Standard::Isa && s.clock == self.clock && s.per_clock == self.clocks_per_transfer.1
        };
        let standard = if self.name.starts_with("pci-x") { Standard::PciX } else { Standard::Pci };
        let known = self.name.starts_with("pci");
        let step = STEPS.iter().filter(|_| known).filter(|s| s.standard == standard).find(wanted)?;
        Some(Speed { step, width: self.width_bits as u32 })
    }
}

/// The family of rules that a bus follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standard {
    /// ISA: only its peak rate is known here.
    Isa,
    /// Conventional PCI.
    Pci,
    /// PCI-X.
    PciX,
}

impl Standard {
    /// What a scenario calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Standard::Isa => "isa",
            Standard::Pci => "pci",
            Standard::PciX => "pci-x",
        }
    }

    /// Data lines that it may have (PCI 2.3, 3.8: 64-bit extension).
    pub(crate) fn widths(self) -> &'static [u32] {
        match self {
            Standard::Isa => &[16],
            _ => &[32, 64],
        }
    }
}

/// One clock of a standard.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    standard: Standard,
    /// As people say it: `133`.
    name: &'static str,
    /// As a ratio in hertz.
    clock: (u64, u64),
    /// Transfers a clock.
    per_clock: u64,
    /// Devices beside the bridge that the electrical rules carry.
    devices: usize,
}

/// All clocks. Devices: PCI 2.3, 4.2 (ten loads at 33 MHz, the bridge is one; half of the slots at 66 MHz); PCI-X 1.0b,
/// 9.10 (four slots at 66 MHz, two at 100 MHz, one at 133 MHz); PCI-X 2.0: one.
static STEPS: [Step; 10] = [
    Step { standard: Standard::Isa, name: "4.77", clock: (4_770_000, 1), per_clock: 1, devices: 8 },
    Step { standard: Standard::Pci, name: "33", clock: (33_000_000, 1), per_clock: 1, devices: 9 },
    Step { standard: Standard::Pci, name: "33.33", clock: (100_000_000, 3), per_clock: 1, devices: 9 },
    Step { standard: Standard::Pci, name: "66", clock: (66_000_000, 1), per_clock: 1, devices: 4 },
    Step { standard: Standard::Pci, name: "66.67", clock: (200_000_000, 3), per_clock: 1, devices: 4 },
    Step { standard: Standard::PciX, name: "66", clock: (200_000_000, 3), per_clock: 1, devices: 4 },
    Step { standard: Standard::PciX, name: "100", clock: (100_000_000, 1), per_clock: 1, devices: 2 },
    Step { standard: Standard::PciX, name: "133", clock: (400_000_000, 3), per_clock: 1, devices: 1 },
    Step { standard: Standard::PciX, name: "266", clock: (400_000_000, 3), per_clock: 2, devices: 1 },
    Step { standard: Standard::PciX, name: "533", clock: (400_000_000, 3), per_clock: 4, devices: 1 },
];

/// A bus as a scenario writes it: `pci-x 133 64-bit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    step: &'static Step,
    width: u32,
}

/// Why a text is no bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpeedError {
    /// No three words with a standard first.
    Form,
    /// The standard has no such clock; it has these.
    Clock(Standard, String),
    /// The standard has no such width.
    Width(Standard, String),
}

impl Speed {
    /// Reads `pci-x 133 64-bit`.
    pub(crate) fn parse(text: &str) -> Result<Speed, SpeedError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [standard, clock, width] = words.as_slice() else { return Err(SpeedError::Form) };
        let all = [Standard::Isa, Standard::Pci, Standard::PciX];
        let standard = all.into_iter().find(|s| s.name() == *standard).ok_or(SpeedError::Form)?;
        let bits = width.strip_suffix("-bit").and_then(|w| w.parse::<u32>().ok()).ok_or(SpeedError::Form)?;
        let step = STEPS
            .iter()
            .find(|s| s.standard == standard && s.name == *clock)
            .ok_or_else(|| SpeedError::Clock(standard, (*clock).into()))?;
        if !standard.widths().contains(&bits) {
            return Err(SpeedError::Width(standard, (*width).into()));
        }
        Ok(Speed { step, width: bits })
    }

    /// Every bus that can be written.
    pub(crate) fn all() -> impl Iterator<Item = Speed> {
        STEPS.iter().flat_map(|step| step.standard.widths().iter().map(move |&width| Speed { step, width }))
    }

    /// The clocks of a standard, as people say them.
    pub(crate) fn clocks_of(standard: Standard) -> Vec<&'static str> {
        STEPS.iter().filter(|s| s.standard == standard).map(|s| s.name).collect()
    }

    /// The family of rules.
    pub(crate) fn standard(self) -> Standard {
        self.step.standard
    }

    /// Whether it has PCI-X's transactions: attributes, splits, disconnects at boundaries.
    pub fn is_x(self) -> bool {
        self.step.standard == Standard::PciX
    }

    /// Clocks per second as a rate of one byte each, for arithmetic in slots.
    pub(crate) fn clock_rate(self) -> Rate {
        Rate::ratio(8 * self.step.clock.0 as u128, self.step.clock.1 as u128)
    }

    /// Clocks per second.
    pub fn hertz(self) -> f64 {
        self.step.clock.0 as f64 / self.step.clock.1 as f64
    }

    /// Bytes that a clock moves in a data phase; in mode 2 in two or four transfers (PCI-X 2.0, 2.12:
    /// source-synchronous bursts push).
    pub fn per_clock(self) -> u64 {
        self.width as u64 / 8 * self.step.per_clock
    }

    /// Data rate with a transfer on every possible clock; shared by all.
    pub fn peak(self) -> Rate {
        self.clock_rate().scaled(self.per_clock(), 1)
    }

    /// Devices beside the bridge that the electrical rules carry.
    pub(crate) fn devices(self) -> usize {
        self.step.devices
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}-bit", self.step.standard.name(), self.step.name, self.width)
    }
}

impl PartialOrd for Speed {
    fn partial_cmp(&self, other: &Speed) -> Option<std::cmp::Ordering> {
        Some(self.peak().cmp(&other.peak()))
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

    #[test]
    fn a_bus_is_read_as_it_is_written() {
        for speed in Speed::all() {
            assert_eq!(Speed::parse(&speed.to_string()), Ok(speed));
        }
        for bus in BUSES {
            if let Some(speed) = bus.speed() {
                assert_eq!(speed.peak(), bus.peak(), "{}", bus.name);
            }
        }
        assert_eq!(BUSES.iter().filter(|b| b.speed().is_some()).count(), 9);
        assert!(matches!(Speed::parse("pci-x 133 128-bit"), Err(SpeedError::Width(Standard::PciX, _))));
        assert!(matches!(Speed::parse("pci-x 150 64-bit"), Err(SpeedError::Clock(Standard::PciX, _))));
        for text in ["", "pci", "pcie gen3 x8", "pci 33 wide"] {
            assert_eq!(Speed::parse(text), Err(SpeedError::Form), "{text}");
        }
    }
}
