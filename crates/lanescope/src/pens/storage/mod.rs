//! What instruments of storage print: results in the forms of fio, Iometer and IOzone.

pub mod fio;
pub mod iometer;
pub mod ios;
pub mod iozone;
