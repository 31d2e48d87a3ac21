//! What belongs to no technology: names of things, flow groups, and the DMA of adapters.

pub(in crate::plan) mod address;
pub(in crate::plan) mod dma;
pub(in crate::plan) mod groups;
