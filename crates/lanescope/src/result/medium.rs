//! What kind of link a report is about, and what people call there what happens on it.

use super::LinkReport;
use crate::protocol::fibre_channel::LineRate;

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// PCIe, or a line of text that says nothing else.
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
}

impl LinkReport {
    /// By its speed as it is written.
    pub fn medium(&self) -> Medium {
        if self.speed.ends_with(" SCSI") {
            Medium::Scsi
        } else if self.speed.ends_with(" SAS") {
            Medium::Sas
        } else if self.speed.ends_with(" Ethernet") {
            Medium::Ethernet
        } else if self.speed.ends_with(" InfiniBand") {
            Medium::Infiniband
        } else if LineRate::parse(&self.speed).is_some() {
            Medium::FibreChannel
        } else {
            Medium::Pcie
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
            _ => entry,
        }
    }
}

/// The entry that every ledger has around payload.
pub const FRAMING: &str = "headers, framing";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Ledger, Ranged};

    #[test]
    fn a_link_is_known_by_its_speed() {
        let of = |speed: &str| {
            let payload = Ranged { typical: 0.0, slower: 0.0, faster: 0.0 };
            let [name, from, to] = ["l", "a", "b"].map(String::from);
            let ledger = Ledger::default();
            let speed = speed.to_owned();
            LinkReport { name, from, to, speed, payload, ledger, tlps: 0.0, tlp_overhead: None }.medium()
        };
        assert_eq!(of("gen3 x8"), Medium::Pcie);
        assert_eq!(of("10 Gb/s Ethernet"), Medium::Ethernet);
        assert_eq!(of("4GFC"), Medium::FibreChannel);
        assert_eq!(of("3G SAS"), Medium::Sas);
        assert_eq!(of("ultra320 SCSI"), Medium::Scsi);
        assert_eq!(of("pci-x 133 64-bit"), Medium::Pcie);
        assert_eq!(of("sdr 4x InfiniBand"), Medium::Infiniband);
    }

    #[test]
    fn flow_control_has_the_words_of_its_medium() {
        assert_eq!(Medium::Infiniband.estimated("UpdateFC DLLPs"), "flow-control packets");
        assert_eq!(Medium::Infiniband.simulated("Ack DLLPs"), "acknowledgements");
        assert_eq!(Medium::Infiniband.simulated(FRAMING), FRAMING);
        assert_eq!(Medium::Pcie.simulated("Ack DLLPs"), "Ack DLLPs");
    }
}
