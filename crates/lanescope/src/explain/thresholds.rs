//! A table for health checks: of each device, what a copy must reach at least, and why.
//!
//! The lowest acceptable number is the low end of what is expected, less a twentieth for the instrument. A device whose
//! low end no dump bounds has no threshold, and a comment says why: a drive's flash, or a network adapter's ports, may
//! be slower than its slot, and a table that every healthy device fails is of no use.

use super::rate::Way;
use super::{Topology, expect};
use crate::import::host::{Host, Kind};
use std::fmt::Write;

/// What instruments and their overheads may leave of a copy. Assumed.
const SLACK: f64 = 0.95;

/// Writes the table as CSV: device, address, test, lowest acceptable in GB/s, reason.
pub fn emit(host: &Host) -> String {
    let topology = Topology::of(host);
    let mut out = "device,address,test,lowest_gb_per_s,reason\n".to_owned();
    let mut without = String::new();
    for endpoint in topology.devices.iter().filter(|s| matches!(s.kind, Kind::Gpu | Kind::Nic | Kind::Drive)) {
        let (write, read) = match endpoint.kind {
            Kind::Gpu => ("device to host copy", "host to device copy"),
            Kind::Nic => ("receive", "send"),
            _ => ("sequential read", "sequential write"),
        };
        for (test, way) in [(write, Way::Write), (read, Way::Read)] {
            let (range, bound) = topology.alone(endpoint, way);
            let unknown = match endpoint.kind {
                Kind::Drive => Some("what the drive itself can do"),
                Kind::Nic if endpoint.port.is_none() => Some("the rate of its ports"),
                _ => None,
            };
            if let (Some(what), Some(high)) = (unknown, range.high) {
                let _ = writeln!(
                    without,
                    "# {} {} {test}: {what} is not in the dumps; it reaches {high:.2} GB/s at most",
                    endpoint.id, endpoint.address
                );
                continue;
            }
            match (range.low, bound) {
                (Some(low), Some(bound)) => {
                    let port = endpoint.port.filter(|port| *port <= low);
                    let reason = match port {
                        Some(port) => format!("its network ports of {port:.3} GB/s"),
                        None => expect::reason(&topology, endpoint, bound),
                    };
                    let _ = writeln!(
                        out,
                        "{},{},{test},{:.2},\"at least {low:.2} over {reason}, less 5 %\"",
                        endpoint.id,
                        endpoint.address,
                        low * SLACK
                    );
                }
                _ => {
                    let _ = writeln!(
                        without,
                        "# {} {} {test}: the speed of a link on its path is not known",
                        endpoint.id, endpoint.address
                    );
                }
            }
        }
    }
    out + &without
}
