//! PCIe: what a payload byte costs on links, at requesters and in host memory, where packets wait for one another, one
//! packet by itself, and what an upgrade would give.

pub(in crate::estimate) mod answers;
pub(in crate::estimate) mod completions;
mod credit_loop;
pub(in crate::estimate) mod dllps;
pub(in crate::estimate) mod latency;
pub(in crate::estimate) mod queues;
pub(in crate::estimate) mod report;
pub(in crate::estimate) mod requester;
pub(in crate::estimate) mod resources;
pub(in crate::estimate) mod slots;
pub(in crate::estimate) mod turns;
pub(in crate::estimate) mod upgrade;
pub(in crate::estimate) mod walks;
