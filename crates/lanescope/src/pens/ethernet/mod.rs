//! Frames that crossed an Ethernet link, for Wireshark.

pub mod pcapng;
