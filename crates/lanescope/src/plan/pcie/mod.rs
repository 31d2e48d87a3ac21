//! PCIe's part of a plan: its tree (`tree`, made by `build`), routes through it, what follows from the values, what
//! neighbours must agree on, the backbone of a root complex, and its IOMMU.

pub(in crate::plan) mod backbone;
pub(in crate::plan) mod build;
pub(crate) mod check;
pub(in crate::plan) mod derived;
pub(in crate::plan) mod iommu;
pub(in crate::plan) mod route;
pub(in crate::plan) mod tree;
