//! The keys of shared parallel buses: host bridges, devices, and the bus that joins them.

use super::*;
use crate::protocol::pci::{self, Decode, LEAST_READ, MOST_BYTES, MOST_SPLITS, SpeedError, Wait};
use crate::scenario::quantity::{expected, with_unit};
use std::cmp::Ordering;

words! {
    /// How fast a target claims a transaction.
    Claim {
        /// In the first clock in which it may.
        Fast = "fast",
        /// A clock later.
        Medium = "medium",
        /// Two clocks later.
        Slow = "slow",
    }
}

impl Claim {
    /// What the rules call it.
    pub fn decode(self) -> Decode {
        match self {
            Claim::Fast => Decode::Fast,
            Claim::Medium => Decode::Medium,
            Claim::Slow => Decode::Slow,
        }
    }
}

impl Shape for pci::Speed {
    fn read(node: &Node) -> Result<Self, Problem> {
        let Value::Text(text) = &node.value else {
            return Err(Problem(expected("a bus", node).0, "for example \"pci-x 133 64-bit\"".into()));
        };
        let shown: String = text.chars().take(40).collect();
        pci::Speed::parse(text).map_err(|e| match e {
            SpeedError::Form => Problem(
                format!("{shown:?} is not a valid bus"),
                "standard, clock and width: \"pci 33 32-bit\", \"pci 66 64-bit\", \"pci-x 133 64-bit\"".into(),
            ),
            SpeedError::Clock(standard, clock) => {
                let clock: String = clock.chars().take(20).collect();
                let known = pci::Speed::clocks_of(standard).join(", ");
                Problem(format!("{} has no clock {clock:?}", standard.name()), format!("it has {known} (MHz)"))
            }
            SpeedError::Width(standard, width) => {
                let width: String = width.chars().take(20).collect();
                let known: Vec<String> = standard.widths().iter().map(|w| format!("{w}-bit")).collect();
                let hint = format!("it is {} wide", known.join(" or "));
                Problem(format!("{} is not {width:?} wide", standard.name()), hint)
            }
        })
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "enum": pci::Speed::all().map(|s| s.to_string()).collect::<Vec<_>>() })
    }
}

impl Serialize for pci::Speed {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl Shape for Wait {
    fn read(node: &Node) -> Result<Self, Problem> {
        with_unit(node, "a delay", Wait::UNITS, "60 clocks", Wait::parse)
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({
            "type": "string", "examples": ["60 clocks", "450 ns"],
            "description": "a delay in clocks of the bus, or in time",
        })
    }
    fn order(&self, other: &Self) -> Option<Ordering> {
        self.partial_cmp(other)
    }
}

impl Serialize for Wait {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

macro_rules! limited {
    ($(#[$m:meta])* $name:ident, $of:ty, $hint:expr, $fits:expr) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub struct $name($of);

        impl $name {
            /// The value.
            pub fn get(self) -> $of {
                self.0
            }
        }

        impl Shape for $name {
            fn read(node: &Node) -> Result<Self, Problem> {
                let value = <$of as Shape>::read(node)?;
                let fits: fn(&$of) -> bool = $fits;
                if fits(&value) { Ok(Self(value)) } else { Err(Problem(format!("{value} is not allowed"), $hint)) }
            }
            fn show(&self) -> String {
                self.0.to_string()
            }
            fn schema() -> Json {
                <$of as Shape>::schema()
            }
            fn order(&self, other: &Self) -> Option<Ordering> {
                Some(self.0.cmp(&other.0))
            }
        }
    };
}

limited! {
    /// Maximum Memory Read Byte Count: 512 B to 4 KiB, a power of two.
    ReadByteCount, Bytes, "512, 1024, 2048 and 4096 B (PCI-X 1.0b, 7.2.3)".into(),
    |b| b.0.is_power_of_two() && (LEAST_READ..=MOST_BYTES).contains(&b.0)
}
limited! {
    /// Maximum Outstanding Split Transactions: 1 to 32.
    Splits, Count, format!("1 to {MOST_SPLITS} (PCI-X 1.0b, 7.2.3)"), |n| (1..=MOST_SPLITS).contains(n)
}
limited! {
    /// Bytes of one transaction: 1 B to 4 KiB.
    Burst, Bytes, "1 B to 4 KiB, what the byte count of PCI-X holds (1.0b, 2.5)".into(),
    |b| (1..=MOST_BYTES).contains(&b.0)
}
limited! {
    /// Latency timer: a byte, in clocks.
    LatencyTimer, Count, "0 to 255: the register has 8 bits (PCI 2.3, 6.2.4)".into(), |n| *n <= 255
}

table! {
    /// A host bridge: memory behind a shared bus.
    HostBridge, HOST_BRIDGE, "a host bridge" {
        /// From the end of a read's request (PCI-X's split response, PCI's first retry) to the moment at which the
        /// bridge has its data and asks for the bus, or takes the repeated read. In clocks of the bus or in time.
        read_latency: default Wait, High = "{ low = \"250 ns\", typical = \"450 ns\", high = \"900 ns\" }" Assumed Guess
            "bridges of 1998 to 2006 answer within some hundred ns; 450 ns are 60 clocks at 133 MHz";
        /// How fast it claims a transaction: in PCI-X decode A, B or C.
        decode: default Claim, One = "\"medium\"" Assumed Likely
            "most bridges are medium (PCI) or decode B; a clock a transaction";
        /// Wait states before the first data of a write; PCI-X rounds them up to pairs (1.0b, 2.9.2).
        write_waits: default Count, High = "0" Assumed Likely "writes are posted";
        /// Bytes that it takes of a write, or gives of a read, in one transaction, then it disconnects; of PCI-X a
        /// multiple of 128 B. Without it, of conventional PCI 128 B, as bridge/intel-21154 (4 KiB for a bridge that
        /// takes all); of PCI-X, all.
        disconnect: opt Burst, Low;
        /// Of conventional PCI: bytes that it fetches for a read, since no byte count tells it how many are wanted. As
        /// bridge/intel-21154.
        prefetch: default Burst, Low = "{ low = \"64 B\", typical = \"128 B\", high = \"512 B\" }" Assumed Likely
            "a bridge of Intel's 21154 class fetches two cache lines of 64 B for Memory Read Multiple (Pericom \
             PI7C8150, PI7C8154A: read prefetch address boundaries), more where data flow through";
        /// Clocks after which its split completions make room for others at the next boundary.
        latency_timer: default LatencyTimer, One = "64" Standard Likely "PCI-X 1.0b, 7.1: after reset";
    }
}

table! {
    /// A device on a shared bus: a DMA master.
    PciDevice, PCI_DEVICE, "a device on a bus" {
        /// Maximum Memory Read Byte Count: bytes that one read of PCI-X asks for.
        read_byte_count: default ReadByteCount, Low = "\"512 B\"" Standard Likely
            "PCI-X 1.0b, 7.2.3: after reset; drivers may raise it";
        /// Maximum Outstanding Split Transactions: reads of PCI-X that it has outstanding.
        splits: default Splits, Low = "1" Assumed Guess "one DMA engine that waits for its data";
        /// Bytes of its longest write, and of conventional PCI its longest read.
        burst: default Burst, Low = "\"4 KiB\"" Assumed Likely "what the byte count of PCI-X holds (1.0b, 2.5)";
        /// From the last data phase of one transaction of its own to the address phase of the next; the bus needs at
        /// least one clock between.
        turnaround: default Wait, High =
            "{ low = \"1 clocks\", typical = \"4 clocks\", high = \"16 clocks\" }" Assumed Guess
            "a DMA engine loads the next address and count";
        /// Clocks after which a burst makes room for others, at the next data phase of PCI, the next 128 B boundary of
        /// PCI-X.
        latency_timer: default LatencyTimer, One = "64" Standard Likely
            "PCI-X 1.0b, 7.1: after reset; of PCI, what firmware often writes";
        /// How fast it claims split completions.
        decode: default Claim, One = "\"medium\"" Assumed Likely "as bridges; a clock a transaction";
        /// Whether its addresses have 64 bits: a dual address cycle, a clock a transaction.
        dual_address: default bool, One = "false" Assumed Likely "buffers below 4 GiB";
        /// Payload that it can move, reads and writes added.
        rate: opt Rate, Low;
        /// Payload that it can read.
        read_rate: opt Rate, Low;
        /// Payload that it can write.
        write_rate: opt Rate, Low;
    }
}

table! {
    /// A shared parallel bus: all its ends take turns.
    BusLink, BUS_LINK, "a bus" {
        /// The bridge first, then all devices on it, with * for all instances.
        between: must Names, One;
        /// Standard, clock in MHz and width, e.g. "pci-x 133 64-bit" or "pci 33 32-bit"; "isa 4.77 16-bit" for its peak
        /// alone.
        pci: must pci::Speed, One;
    }
}

parts! {
    /// The keys of one part of a shared bus.
    BusKeys {
        /// The bridge to memory.
        Bridge(HostBridge) = HostBridge,
        /// A DMA master.
        Device(PciDevice) = PciDevice,
    }
}
