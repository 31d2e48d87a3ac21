//! The flows of a filling in one row: those of PCIe, then I/Os, then message programs. Ethernet's streams and the flows
//! of buses are filled apart.

use crate::plan::{FlowRef, Plan};
use crate::scenario::keys::Technology;
use std::ops::Range;

/// Where the I/Os of a plan stand.
pub(in crate::estimate) fn ios(plan: &Plan) -> Range<usize> {
    let first = plan.flows.len();
    first..first + plan.storage.flows.len()
}

/// Where its programs do.
pub(in crate::estimate) fn programs(plan: &Plan) -> Range<usize> {
    let first = ios(plan).end;
    first..first + plan.cluster.jobs.len()
}

/// The flow at a place.
pub(in crate::estimate) fn flow(plan: &Plan, place: usize) -> FlowRef {
    let (ios, programs) = (ios(plan), programs(plan));
    let (technology, first) = match place {
        p if p < ios.start => (Technology::Pcie, 0),
        p if p < ios.end => (Technology::Storage, ios.start),
        _ => (Technology::Infiniband, programs.start),
    };
    FlowRef { technology, number: place - first }
}
