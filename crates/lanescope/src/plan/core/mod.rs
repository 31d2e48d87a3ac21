//! What belongs to no technology: names of things, flow groups, their places in the row of all, and the DMA of
//! adapters, and which things meet.

pub(in crate::plan) mod address;
pub(in crate::plan) mod dma;
pub(in crate::plan) mod groups;
pub(in crate::plan) mod meeting;
pub(in crate::plan) mod row;
