//! Serial Attached SCSI: line rates, address frames and connections, SSP frames and their credit, and what a SCSI
//! command puts on a link.
//!
//! References: SAS-1.1 (INCITS 417) and its successors SAS-2 to SAS-4 for rates, SPL (INCITS 476) and its successors
//! for the link and transport layers. Formats and sizes of frames were held against a published interface manual of a
//! drive (Fujitsu C141-C013, sections 1.4 to 1.6); what is marked *from memory* was not. A byte here is a byte after
//! line coding; a dword has four.
//!
//! Left out: the deletable primitives of rate tolerance (one ALIGN or NOTIFY in 2048 dwords, from memory: 0.05 %),
//! expanders, wide ports, retries.

use crate::units::Rate;

/// Bytes of a dword: frames and primitives are whole dwords.
pub(crate) const DWORD: u64 = 4;
/// A primitive, e.g. SOF, ACK or RRDY, bytes.
pub(crate) const PRIMITIVE: u64 = 4;
/// SSP frame header, bytes (SSP frame format: bytes 0 to 23).
pub(crate) const HEADER: u64 = 24;
/// Cyclic redundancy check of a frame, bytes.
pub(crate) const CRC: u64 = 4;
/// What an SSP frame has around its information unit: SOF, header, CRC, EOF.
pub(crate) const FRAMING: u64 = PRIMITIVE + HEADER + CRC + PRIMITIVE;
/// Largest information unit of a DATA frame, bytes.
pub(crate) const MOST_UNIT: u64 = 1024;
/// COMMAND information unit, bytes: LUN 8, control 4, CDB 16; no additional CDB.
pub(crate) const COMMAND: u64 = 28;
/// XFER_RDY information unit, bytes: offset 4, length 4, reserved 4.
pub(crate) const XFER_RDY: u64 = 12;
/// RESPONSE information unit without response or sense data, bytes.
pub(crate) const RESPONSE: u64 = 24;
/// OPEN address frame, bytes: 28, CRC 4, between SOAF and EOAF.
pub(crate) const OPEN: u64 = 2 * PRIMITIVE + 28 + CRC;
/// What ends a connection in one direction, bytes: DONE once, CLOSE three times (*from memory*: CLOSE is a triple
/// primitive sequence).
pub(crate) const CLOSING: u64 = PRIMITIVE + 3 * PRIMITIVE;
/// What a port that opens a connection sends beside frames, bytes.
pub(crate) const OPENER: u64 = OPEN + CLOSING;
/// What the port at the other end sends for it, bytes: OPEN_ACCEPT and its own closing.
pub(crate) const ACCEPTER: u64 = PRIMITIVE + CLOSING;
/// What a receiver sends back for each frame, bytes: ACK, and RRDY when the frame's buffer is free.
pub(crate) const ANSWER: u64 = 2 * PRIMITIVE;

/// Bytes of an SSP frame, SOF to EOF, with an information unit of so many bytes and what fills it up to whole dwords.
pub(crate) const fn frame(unit: u64) -> u64 {
    FRAMING + unit.next_multiple_of(DWORD)
}

/// Bytes of the frames of so many bytes of data, `unit` in each: no gap between them is asked for. A `unit` of 0 counts
/// as 1.
pub(crate) const fn data(bytes: u64, unit: u64) -> u64 {
    let unit = if unit == 0 { 1 } else { unit };
    let last = bytes % unit;
    let full = (bytes / unit).saturating_mul(frame(unit));
    if last == 0 { full } else { full.saturating_add(frame(last)) }
}

/// What one SCSI command puts on each direction of a link, and in how many frames and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Bytes from the initiator to the target: frames, answers to frames, connections.
    pub to_target: u64,
    /// Bytes from the target to the initiator.
    pub to_initiator: u64,
    /// Frames from the initiator to the target.
    pub frames_to_target: u64,
    /// Frames from the target to the initiator.
    pub frames_to_initiator: u64,
    /// Connections that the initiator opens.
    pub opened_by_initiator: u64,
    /// Connections that the target opens.
    pub opened_by_target: u64,
}

impl Exchange {
    fn of(there: [u64; 3], back: [u64; 3]) -> Exchange {
        let ([bytes, frames, opened], [back_bytes, back_frames, back_opened]) = (there, back);
        let around = |bytes: u64, opened: u64, accepted: u64, answered: u64| {
            bytes.saturating_add(opened * OPENER + accepted * ACCEPTER).saturating_add(answered.saturating_mul(ANSWER))
        };
        Exchange {
            to_target: around(bytes, opened, back_opened, back_frames),
            to_initiator: around(back_bytes, back_opened, opened, frames),
            frames_to_target: frames,
            frames_to_initiator: back_frames,
            opened_by_initiator: opened,
            opened_by_target: back_opened,
        }
    }
}

/// A read of so many bytes: COMMAND there in a connection, DATA and RESPONSE back in another.
pub(crate) fn read(bytes: u64, unit: u64) -> Exchange {
    let frames = bytes.div_ceil(unit.max(1));
    Exchange::of([frame(COMMAND), 1, 1], [data(bytes, unit).saturating_add(frame(RESPONSE)), frames + 1, 1])
}

/// A write of so many bytes: COMMAND there, XFER_RDY for all of it back, DATA there, RESPONSE back, each in a
/// connection of its own.
pub(crate) fn write(bytes: u64, unit: u64) -> Exchange {
    let frames = bytes.div_ceil(unit.max(1));
    let moves = u64::from(bytes > 0);
    Exchange::of(
        [frame(COMMAND).saturating_add(data(bytes, unit)), 1 + frames, 1 + moves],
        [frame(XFER_RDY) * moves + frame(RESPONSE), moves + 1, moves + 1],
    )
}

/// The speed of a phy, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRate(usize);

/// (name, signalled bits per second, bits of data, bits of line for them, coding and standard).
type Row = (&'static str, u64, u64, u64, &'static str);

/// 22.5 Gb/s carries packets of 128 bits with 2 of header and 20 of Reed-Solomon code (SAS-4).
const RATES: [Row; 5] = [
    ("1.5G", 1_500_000_000, 8, 10, "8b/10b, SAS-1"),
    ("3G", 3_000_000_000, 8, 10, "8b/10b, SAS-1"),
    ("6G", 6_000_000_000, 8, 10, "8b/10b, SAS-2"),
    ("12G", 12_000_000_000, 8, 10, "8b/10b, SAS-3"),
    ("22.5G", 22_500_000_000, 128, 150, "128b/150b, SAS-4"),
];

impl LineRate {
    /// All, slowest first.
    pub(crate) fn all() -> impl Iterator<Item = LineRate> {
        (0..RATES.len()).map(LineRate)
    }

    /// Reads `3G`, `3 Gb/s` or `3Gbps`; 24G is what people call 22.5G.
    pub(crate) fn parse(text: &str) -> Option<LineRate> {
        let number = ["Gb/s", "Gbps", "G", "g"].into_iter().find_map(|unit| text.trim().strip_suffix(unit))?.trim_end();
        let number = if number == "24" { "22.5" } else { number };
        LineRate::all().find(|r| RATES[r.0].0.strip_suffix('G') == Some(number))
    }

    /// Bits per second on the medium, one way.
    pub(crate) fn raw(self) -> Rate {
        Rate::from_bits(RATES[self.0].1)
    }

    /// Bits per second after line coding, one way: 3G has 2.4 Gb/s = 300 MB/s.
    pub(crate) fn rate(self) -> Rate {
        let (_, _, data, line, _) = RATES[self.0];
        self.raw().scaled(data, line)
    }

    /// The line coding, and the standard that has the rate.
    pub(crate) fn coding(self) -> &'static str {
        RATES[self.0].4
    }
}

impl serde::Serialize for LineRate {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl std::fmt::Display for LineRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(RATES[self.0].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_by_hand() {
        let all: Vec<f64> = LineRate::all().map(|r| r.rate().bytes() / 1e6).collect();
        assert_eq!(all, [150.0, 300.0, 600.0, 1200.0, 2400.0]);
        for rate in LineRate::all() {
            assert_eq!(LineRate::parse(&rate.to_string()), Some(rate));
        }
        for text in ["3G", " 3 Gb/s ", "3Gbps", "3g"] {
            assert_eq!(LineRate::parse(text), Some(LineRate(1)), "{text}");
        }
        assert_eq!(LineRate::parse("24G"), LineRate::parse("22.5G"));
        for text in ["", "3", "G", "4G", "3 GB/s", "-3G"] {
            assert_eq!(LineRate::parse(text), None, "{text}");
        }
    }

    #[test]
    fn frames_by_hand() {
        // SOF 4, header 24, 1024, CRC 4, EOF 4.
        assert_eq!((frame(1024), frame(0), frame(1), frame(COMMAND)), (1060, 36, 40, 64));
        // 300 MB/s x 1024 / 1060 = 289.8 MB/s: 3.450 ns a byte.
        assert!((300e6 * 1024.0 / frame(1024) as f64 - 289.811e6).abs() < 1e3);
        assert_eq!((data(8192, 1024), data(1500, 1024), data(0, 1024), data(3, 0)), (8 * 1060, 1060 + 512, 0, 3 * 40));
    }

    #[test]
    fn commands_by_hand() {
        // OPEN 40, DONE and CLOSE 16; OPEN_ACCEPT 4 and the same.
        assert_eq!((OPENER, ACCEPTER), (56, 20));
        let a = read(65_536, 1024);
        // COMMAND 64 in a connection, the answer to its opening, and ACK and RRDY for 65 frames.
        assert_eq!(a.to_target, 64 + 56 + 20 + 65 * 8);
        assert_eq!(a.to_initiator, 64 * 1060 + 60 + 56 + 20 + 8);
        assert_eq!((a.frames_to_target, a.frames_to_initiator), (1, 65));
        let a = write(8192, 1024);
        assert_eq!(a.to_target, 64 + 8 * 1060 + 2 * 56 + 2 * 20 + 2 * 8);
        assert_eq!(a.to_initiator, 48 + 60 + 2 * 56 + 2 * 20 + 9 * 8);
        assert_eq!((a.opened_by_initiator, a.opened_by_target), (2, 2));
        assert_eq!((write(0, 1024).frames_to_target, write(0, 1024).to_initiator), (1, 60 + 56 + 20 + 8));
    }
}
