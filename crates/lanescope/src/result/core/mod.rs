//! What belongs to no technology: why a port is idle, counted by cause; why a simulation and a share part; what a
//! method does not model; and a run's timeline.

pub(in crate::result) mod apart;
pub(in crate::result) mod causes;
pub(in crate::result) mod gap;
pub mod timeline;
