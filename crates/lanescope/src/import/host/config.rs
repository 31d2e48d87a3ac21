//! Configuration space decoded: header, bridges' buses, PCI Express, PCI-X, power management, AER, ACS, Secondary PCIe.
//!
//! Offsets and fields are those of the PCI Local Bus Specification 3.0 (chapter 6), the PCI Express Base Specification
//! (2.0 and 3.0, chapter 7; 16 GT/s and above from 4.0 to 6.0), PCI-X 2.0, and the PCI-to-PCI bridge architecture 1.2.
//! A dump may hold 64, 256 or 4096 bytes; what lies beyond is unknown. Lists of capabilities that loop end.

use super::function::{Acs, CORRECTABLE, Corrected, Express, Fact, Function, Known, PciX, Place, PortType};
use super::put;
use crate::protocol::pcie::Generation;
use std::collections::BTreeMap;

/// Configuration space, as far as it was dumped.
pub(crate) struct Space<'a> {
    bytes: &'a [u8],
    at: Place,
}

/// Capabilities that fit into 192 bytes, four each.
const MOST_CAPABILITIES: usize = 48;
/// Extended capabilities that fit into 3840 bytes, eight each.
const MOST_EXTENDED: usize = 480;

/// The generation of a link speed field (2.0, 7.8.6: Supported Link Speeds; 6.0 goes on to 6).
fn speed(bits: u32) -> Option<Generation> {
    Generation::ALL.get((bits & 0xf).checked_sub(1)? as usize).copied()
}

impl<'a> Space<'a> {
    /// The bytes from offset 0 on, and where they stand.
    pub(crate) fn new(bytes: &'a [u8], at: Place) -> Space<'a> {
        Space { bytes, at }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    fn dword(&self, at: usize) -> Option<u32> {
        Some(u32::from(self.word(at)?) | u32::from(self.word(at + 2)?) << 16)
    }

    fn fact<T>(&self, value: Option<T>) -> Known<T> {
        value.map(|value| Fact { value, at: self.at })
    }

    /// Decodes into a function; what it knew before stays, and is given where the bytes say something else.
    pub(crate) fn decode(&self, into: &mut Function) -> Vec<&'static str> {
        let mut differs = Vec::new();
        // A function that does not answer reads as all ones.
        let Some(vendor) = self.word(0).filter(|v| *v != 0xffff && *v != 0) else { return differs };
        let mut class = |known: &mut Known<u16>, value| {
            if put(known, value, self.at).is_err() {
                differs.push("class");
            }
        };
        if let Some(value) = self.word(0x0a) {
            class(&mut into.class, value);
        }
        if let Some(device) = self.word(2)
            && put(&mut into.ids, (vendor, device), self.at).is_err()
        {
            differs.push("ids");
        }
        let header = self.byte(0x0e).unwrap_or(0) & 0x7f;
        if (header == 1 || header == 2)
            && let (Some(second), Some(last)) = (self.byte(0x19), self.byte(0x1a))
            && put(&mut into.buses, (second, last), self.at).is_err()
        {
            differs.push("bus numbers");
        }
        // Status register, bit 5: 66 MHz Capable (PCI 3.0, 6.2.3); Secondary Status stands elsewhere for CardBus.
        let bit5 = |status: Option<u16>| status.map(|s| s & 0x20 != 0);
        into.mhz66 = into.mhz66.take().or(self.fact(bit5(self.word(6))));
        let secondary = match header {
            1 => self.word(0x1e),
            2 => self.word(0x16),
            _ => None,
        };
        into.secondary_mhz66 = into.secondary_mhz66.take().or(self.fact(bit5(secondary)));
        // Status register, bit 4: there is a list (PCI 3.0, 6.2.3).
        if self.word(6).is_some_and(|s| s & 0x10 != 0) {
            let first = if header == 2 { 0x14 } else { 0x34 };
            self.capabilities(self.byte(first).unwrap_or(0), header, into);
        }
        if into.express.is_some() && self.bytes.len() > 0x103 {
            self.extended(into);
        }
        differs
    }

    fn capabilities(&self, first: u8, header: u8, into: &mut Function) {
        let mut next = usize::from(first & !3);
        for _ in 0..MOST_CAPABILITIES {
            let (true, Some(id), Some(after)) = (next >= 0x40, self.byte(next), self.byte(next + 1)) else { return };
            match id {
                0x01 => {
                    let state = self.word(next + 4).map(|s| (s & 3) as u8);
                    into.power = into.power.take().or(self.fact(state));
                }
                0x07 => into.pcix = Some(self.pcix(next, header == 1)),
                0x10 => into.express = Some(self.express(next, into.express.take().unwrap_or_default())),
                0xff => return,
                _ => {}
            }
            next = usize::from(after & !3);
        }
    }

    /// PCI-X 2.0, 7.2 (devices) and 8.6 (bridges).
    fn pcix(&self, at: usize, bridge: bool) -> PciX {
        let (command, status) = (self.word(at + 2), self.dword(at + 4));
        if bridge {
            return PciX {
                bridge: self.fact(Some(true)),
                wide: self.fact(command.map(|s| s & 1 != 0)),
                mhz133: self.fact(command.map(|s| s & 2 != 0)),
                frequency: self.fact(command.map(|s| u32::from(s >> 6 & 7))),
                ..PciX::default()
            };
        }
        let outstanding = [1, 2, 3, 4, 8, 12, 16, 32];
        PciX {
            bridge: self.fact(Some(false)),
            wide: self.fact(status.map(|s| s & 1 << 16 != 0)),
            mhz133: self.fact(status.map(|s| s & 1 << 17 != 0)),
            read_count: self.fact(command.map(|c| 512 << (c >> 2 & 3))),
            outstanding: self.fact(command.map(|c| outstanding[usize::from(c >> 4 & 7)])),
            frequency: None,
        }
    }

    /// PCI Express (2.0, 7.8), below what was known before.
    fn express(&self, at: usize, before: Express) -> Express {
        let flags = self.word(at + 2);
        let port = flags.and_then(|f| PortType::of(f >> 4 & 0xf));
        let second = flags.is_some_and(|f| f & 0xf >= 2);
        let (cap, ctl, sta) = (self.dword(at + 4), self.word(at + 8), self.word(at + 10));
        let linked = port.is_none_or(PortType::has_link);
        let of_link = |value: Option<u32>| value.filter(|_| linked);
        let link = of_link(self.dword(at + 12));
        let (link_ctl, link_sta) =
            (of_link(self.word(at + 16).map(u32::from)), of_link(self.word(at + 18).map(u32::from)));
        let slot = flags.is_some_and(|f| f & 0x100 != 0);
        let slot_sta = self.word(at + 26).filter(|_| slot);
        let cap2 = of_link(self.dword(at + 44)).filter(|_| second);
        let (ctl2, link_ctl2) = (self.word(at + 40).filter(|_| second), of_link(self.word(at + 48).map(u32::from)));
        let size = |bits: u32| 128_u32 << (bits & 7);
        let has_rcb = port.is_some_and(|p| {
            matches!(p, PortType::RootPort | PortType::Endpoint | PortType::LegacyEndpoint | PortType::ToPci)
        });
        let or = |known: Known<u32>, value: Option<u32>| known.or(self.fact(value));
        let yes = |known: Known<bool>, value: Option<bool>| known.or(self.fact(value));
        Express {
            port: before.port.or(self.fact(port)),
            mps_supported: or(before.mps_supported, cap.map(size)),
            mps: or(before.mps, ctl.map(|c| size(u32::from(c >> 5)))),
            mrrs: or(before.mrrs, ctl.map(|c| size(u32::from(c >> 12)))),
            relaxed_ordering: yes(before.relaxed_ordering, ctl.map(|c| c & 1 << 4 != 0)),
            extended_tags_supported: yes(before.extended_tags_supported, cap.map(|c| c & 1 << 5 != 0)),
            extended_tags: yes(before.extended_tags, ctl.map(|c| c & 1 << 8 != 0)),
            ten_bit_tags: yes(before.ten_bit_tags, ctl2.map(|c| c & 1 << 12 != 0)),
            no_snoop: yes(before.no_snoop, ctl.map(|c| c & 1 << 11 != 0)),
            correctable: yes(before.correctable, sta.map(|s| s & 1 != 0)),
            speed_capable: before.speed_capable.or(self.fact(link.and_then(speed))),
            width_capable: before.width_capable.or(self.fact(link.map(|l| (l >> 4 & 0x3f) as u8))),
            speed: before.speed.or(self.fact(link_sta.and_then(speed))),
            width: before.width.or(self.fact(link_sta.map(|l| (l >> 4 & 0x3f) as u8))),
            active: yes(before.active, link_sta.map(|l| l & 1 << 13 != 0)),
            // Hardwired to 0 in a component of 2.5 GT/s alone (2.0, 7.8.19).
            speed_target: before
                .speed_target
                .or(self.fact(link_ctl2.filter(|_| second).and_then(|c| speed(if c & 0xf == 0 { 1 } else { c })))),
            speed_supported: before
                .speed_supported
                .or(self.fact(cap2.and_then(|c| speed(7_u32.checked_sub((c as u8 >> 1).leading_zeros())? + 1)))),
            rcb: or(before.rcb, link_ctl.filter(|_| has_rcb).map(|c| if c & 1 << 3 == 0 { 64 } else { 128 })),
            present: yes(before.present, slot_sta.map(|s| s & 1 << 6 != 0)),
        }
    }

    fn extended(&self, into: &mut Function) {
        let mut next = 0x100;
        for _ in 0..MOST_EXTENDED {
            let Some(head) = self.dword(next).filter(|h| *h != 0 && *h != u32::MAX) else { return };
            match head & 0xffff {
                0x0001 => {
                    let status = self.dword(next + 16).map(corrected);
                    into.corrected = into.corrected.take().or(self.fact(status));
                }
                0x000d => {
                    let capable = self.word(next + 4).map(acs);
                    let on = self.word(next + 6).map(acs);
                    into.acs_capable = into.acs_capable.take().or(self.fact(capable));
                    into.acs = into.acs.take().or(self.fact(on));
                }
                0x0019 => {
                    let lanes = self.dword(next + 8);
                    into.lane_errors = into.lane_errors.take().or(self.fact(lanes));
                }
                _ => {}
            }
            next = (head >> 20 & !3) as usize;
            if next < 0x100 {
                return;
            }
        }
    }
}

/// Bits of an ACS register (3.0, 7.16.2 and 7.16.3).
fn acs(bits: u16) -> Acs {
    Acs {
        request_redirect: bits & 1 << 2 != 0,
        completion_redirect: bits & 1 << 3 != 0,
        upstream_forwarding: bits & 1 << 4 != 0,
        direct_translated: bits & 1 << 6 != 0,
    }
}

fn corrected(bits: u32) -> Corrected {
    let kinds: BTreeMap<_, _> =
        CORRECTABLE.iter().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, name)| (*name, 1)).collect();
    Corrected { kinds, counted: false, told_by: "CESta" }
}

/// Reads one row of a hex dump, `c0: 01 48 …`: its offset and its bytes.
pub(crate) fn row(line: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, rest) = line.trim().split_once(':')?;
    if !(2..=3).contains(&offset.len()) || !rest.starts_with(' ') {
        return None;
    }
    let offset = usize::from_str_radix(offset, 16).ok().filter(|o| o.is_multiple_of(16))?;
    let mut bytes = Vec::with_capacity(16);
    for word in rest.split_ascii_whitespace() {
        if word.len() != 2 {
            return None;
        }
        bytes.push(u8::from_str_radix(word, 16).ok()?);
    }
    (1..=16).contains(&bytes.len()).then_some((offset, bytes))
}
