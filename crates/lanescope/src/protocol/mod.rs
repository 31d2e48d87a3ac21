//! The rule books: what a protocol puts on the wire, one file each.
//!
//! Wire sizes, line rates, credit units and timers, each with its clause. `estimate` and the simulator share them, so
//! that a wire size has one formula in one place. Nothing here knows about parts, plans or time passing.

pub mod ethernet;
pub mod fibre_channel;
pub mod infiniband;
pub mod nvlink;
pub mod nvme;
pub mod pci;
pub mod pcie;
pub mod roce;
pub mod sas;
pub mod scsi;
pub mod tcp;
