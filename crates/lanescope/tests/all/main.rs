//! All tests of the library from outside, in one program: what links once is built once, and slow tests run beside
//! quick ones.
//!
//! `common` is what they share; `bodies` is what they share with the fuzz targets.

mod backbone;
mod bodies;
mod bus;
mod closed;
mod cluster;
mod collectives;
mod common;
mod completions;
mod corpus;
mod estimate;
mod ethernet;
mod extremes;
mod fio;
mod hints;
mod hosts;
mod iometer;
mod iommu;
mod iozone;
mod keys;
mod limits;
mod mixtures;
mod mpi;
mod network;
mod pcapng;
mod pictures;
mod programs;
mod random_scenarios;
mod rooms;
mod shares;
mod simulate;
mod sockets;
mod storage;
mod studies;
mod theory;
mod upgrades;
mod wrong;
