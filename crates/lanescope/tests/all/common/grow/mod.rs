//! From any bytes to the text of a scenario, technology by technology.

pub(crate) mod bus;
pub(crate) mod cluster;
pub(crate) mod ethernet;
pub(crate) mod fabrics;
pub(crate) mod mixture;
pub(crate) mod nvme;
pub(crate) mod sockets;
pub(crate) mod storage;

use super::choices::Choices;
