//! What kind of link a report is about, and what people call there what happens on it.

use crate::plan::storage::{self, SerialKeys};
use crate::protocol::pci::Standard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl From<&storage::Medium> for Medium {
    fn from(medium: &storage::Medium) -> Medium {
        match medium {
            storage::Medium::Serial { keys: SerialKeys::Fc(_), .. } => Medium::FibreChannel,
            storage::Medium::Serial { keys: SerialKeys::Sas(_), .. } => Medium::Sas,
            storage::Medium::Scsi { .. } => Medium::Scsi,
        }
    }
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

    /// An entry of an estimated ledger in the words of this medium. What surrounds data on a link of storage is one number there.
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
}
