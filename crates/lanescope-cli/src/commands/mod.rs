//! One file per command.

pub(crate) mod answer;
mod capture;
pub(crate) mod collective;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod drive;
pub(crate) mod explain;
pub(crate) mod fio;
pub(crate) mod fit;
pub(crate) mod instrument;
pub(crate) mod iometer;
pub(crate) mod iozone;
pub(crate) mod library;
mod live;
pub(crate) mod need;
pub(crate) mod page;
mod series;
pub(crate) mod simulate;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod tables;
mod trace;
pub(crate) mod wire;
