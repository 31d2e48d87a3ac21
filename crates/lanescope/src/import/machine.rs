//! What a load of somebody else's format runs on, and what becomes of it: the hosts and volumes of a machine, and
//! scenarios laid over it.
//!
//! An instrument's file knows managers, drives and jobs by names of its own. Its reader maps them to a [`Machine`] and
//! writes each of its tests as the text of a scenario, which a person can read, keep and run alone: `platform` names
//! the machine, `flows` are the load.

use crate::units::Bytes;

/// Hosts with what hangs below them, in the order of the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Root complexes, and bridges of shared buses, that have volumes.
    pub hosts: Vec<Host>,
    /// Stations of Ethernet.
    pub stations: Vec<String>,
}

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// `host`, `node.3`.
    pub name: String,
    /// Disks, RAM disks, SSDs and arrays that its workers can reach.
    pub volumes: Vec<Volume>,
}

/// What a worker sees as a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// `drive.0`.
    pub name: String,
    /// Bytes that it holds.
    pub capacity: Bytes,
    /// Whether it is an NVMe drive: what the host's software takes for an I/O is told apart there.
    pub nvme: bool,
    /// Whether it takes trims.
    pub trims: bool,
}

/// One run of an instrument.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What a person calls it: `4 KiB; 100% Read; 0% random, 8 outstanding`.
    pub title: String,
    /// The scenario without its `platform` line: `flows` and `run`.
    pub text: String,
}
