//! The machine that job files of storage run on in tests.

use lanescope::import::{Host, Machine, Volume};
use lanescope::units::Bytes;

/// A host with two RAM disks of 1 GiB, without a load.
pub const MACHINE: &str = r#"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
[parts.lun]
is = "ram-disk"
count = 2
[links.slot]
between = ["host", "hba"]
pcie = "gen2 x8"
[links.fc]
between = ["hba", "lun.*"]
fc = "8GFC"
"#;

/// What instruments find on it.
pub fn machine() -> Machine {
    let volume = |i: u32| Volume { name: format!("lun.{i}"), capacity: Bytes(1 << 30), nvme: false, trims: false };
    Machine { hosts: vec![Host { name: "host".into(), volumes: vec![volume(0), volume(1)] }], ..Machine::default() }
}
