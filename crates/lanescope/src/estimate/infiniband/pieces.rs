//! What channel adapters move for message programs, in flows of PCIe by the length of their TLPs.
//!
//! A plan's flow of an adapter has long transfers, and what it asks of a link is by the byte. Programs move transfers
//! of any length: of 8 B nearly all is header. So each way of an adapter has two flows more here, both of single TLPs:
//! *short* ones, of which nearly all is header, and *full* ones. A TLP of any length between is so many bytes of the
//! one and so many of the other that both its bytes and it as one TLP are counted; what is longer is whole requests (of
//! a write, whole TLPs) and one such. What is asked of a link, a core or a host is a sum of so much a byte and so much
//! a TLP, and comes out right; what takes time by the transfer does as far as a transfer is one TLP or many.
//!
//! A read whose last request is shorter than the others and needs several completions counts as up to one request too
//! many: 2048 B with requests of 4096 B and completions of 256 B are 1.5. Lengths of TLPs are the typical ones.

use crate::plan::infiniband::Cluster;
use crate::plan::{Dma, DmaPath, FlowId, Plan};
use crate::scenario::quantity::Corner;
use crate::units::Bytes;
use std::borrow::Cow;
use std::sync::Arc;

/// Ways of an adapter: its reads and writes of host memory, and what its host writes to it.
pub(in crate::estimate) const READ: usize = 0;
pub(in crate::estimate) const WRITE: usize = 1;
pub(in crate::estimate) const BELL: usize = 2;

/// Bytes of a short TLP's data: a double word (2.0, 2.2.2).
const SHORT: u64 = 4;

/// One way of an adapter over PCIe, by the length of what is moved.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Way {
    /// The flows of whole requests, of full and of short single TLPs.
    flows: [FlowId; 3],
    /// Bytes of data in a full TLP.
    full: u64,
    /// Bytes that are asked for at once: of a write, those of a TLP.
    request: u64,
}

impl Way {
    /// The flows.
    pub(in crate::estimate) fn flows(&self) -> [FlowId; 3] {
        self.flows
    }

    /// The bytes of a transfer that count with each of the flows. A TLP shorter than a short one is one: what is sent
    /// is double words.
    pub(in crate::estimate) fn split(&self, bytes: u64) -> [f64; 3] {
        if bytes == 0 {
            return [0.0; 3];
        }
        let part = bytes % self.request;
        let last = if part == 0 { 0 } else { (part - 1) % self.full + 1 };
        let long = bytes - last;
        if last == 0 {
            return [long as f64, 0.0, 0.0];
        }
        // Of a TLP, the part that is a full one.
        let full = (last.max(SHORT) - SHORT) as f64 / (self.full - SHORT) as f64;
        [long as f64, full * self.full as f64, (1.0 - full) * SHORT as f64]
    }
}

/// The ways of every adapter over PCIe that programs use.
pub(in crate::estimate) type Ways = Vec<Option<[Way; 3]>>;

/// A plan with the flows of its adapters' single TLPs behind all others, and which those are. Without programs it is
/// the plan as it was.
pub(in crate::estimate) fn in_pieces(plan: &Plan) -> (Cow<'_, Plan>, Arc<Ways>) {
    let cluster: &Cluster = &plan.cluster;
    let mut ways = vec![None; cluster.adapters.len()];
    let mut flows = Vec::new();
    let first = plan.flows.len();
    for end in cluster.jobs.iter().flat_map(|job| job.ranks.iter()) {
        let at = cluster.endpoints[*end as usize].adapter as usize;
        let Some(side) = &cluster.adapters[at].host else { continue };
        let (Dma::Pcie { read, write }, DmaPath::Pcie(bell)) = (side.dma, side.doorbell) else { continue };
        if ways[at].is_some() {
            continue;
        }
        // A doorbell of the plan is one short TLP: what comes with one in several is made of full ones.
        let mut way = |long: FlowId, whole: bool| {
            let flow = &plan.flows[long.0 as usize];
            let mut single = |what: &str, bytes: u64| {
                let mut flow = flow.clone();
                flow.name = format!("{}, {what} TLPs", flow.name);
                flow.group.clone_from(&flow.name);
                flow.piece_of = Some(long);
                (flow.size.slow, flow.size.typical, flow.size.fast) = (Bytes(bytes), Bytes(bytes), Bytes(bytes));
                flows.push(flow);
                FlowId((first + flows.len() - 1) as u32)
            };
            let corner = Corner::Typical;
            let (full, request) = match flow.reads() {
                true => {
                    let request = plan.request_size(corner, flow);
                    (plan.completion_size(corner, flow, 1).min(request), request)
                }
                false => (plan.write_payload(corner, flow), plan.write_payload(corner, flow)),
            };
            let (singles, shorts) = (single("full", full), single("short", SHORT));
            Way { flows: [if whole { long } else { singles }, singles, shorts], full, request }
        };
        ways[at] = Some([way(read, true), way(write, true), way(bell, false)]);
    }
    if flows.is_empty() {
        return (Cow::Borrowed(plan), Arc::new(ways));
    }
    let mut more = plan.clone();
    Arc::make_mut(&mut more.flows).extend(flows);
    (Cow::Owned(more), Arc::new(ways))
}
