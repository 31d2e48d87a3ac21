//! One file per command.

pub(crate) mod answer;
pub(crate) mod diff;
pub(crate) mod library;
pub(crate) mod need;
pub(crate) mod simulate;
pub(crate) mod study;
pub(crate) mod wire;
