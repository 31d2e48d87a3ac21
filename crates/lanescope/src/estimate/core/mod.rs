//! What belongs to no technology: things with a capacity, fair shares of them, and bounds of several flows together.

pub(in crate::estimate) mod alike;
pub(in crate::estimate) mod bound;
pub(in crate::estimate) mod cover;
pub(in crate::estimate) mod elements;
pub(in crate::estimate) mod fill;
pub(in crate::estimate) mod row;
