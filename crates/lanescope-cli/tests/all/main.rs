//! All tests of the command in one program: what links once is built once, and slow tests run beside quick ones.

mod cluster;
mod collective;
mod command;
mod common;
mod explain;
mod infiniband;
mod instruments;
mod iometer;
mod live;
mod mistakes;
mod page;
mod pages;
mod signals;
mod storage;
