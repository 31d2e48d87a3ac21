//! Fibre Channel: line rates, frames, buffer-to-buffer credit, and what SCSI (FCP) sends over it.
//!
//! References: FC-PI (INCITS 352) and its successors for rates, FC-PH (X3.230-1994) and FC-FS (INCITS 373) and its
//! successors for frames and credit, FCP-4 (INCITS 481) for information units. A byte here is a byte after line coding;
//! a word has four. Frames of class 3 are meant: R_RDY, no ACK.

use super::ethernet::flight;
use crate::units::{Bytes, Length, Rate, Time};

/// Bytes of a transmission word (FC-PH, clause 16): frames and the signals between them are whole words.
pub(crate) const WORD: u64 = 4;
/// Start-of-frame delimiter, bytes: an ordered set (FC-PH, clauses 16 and 17).
pub(crate) const SOF: u64 = 4;
/// Frame header, bytes (FC-PH, clause 18).
pub(crate) const HEADER: u64 = 24;
/// Cyclic redundancy check, bytes (FC-PH, clause 17).
pub(crate) const CRC: u64 = 4;
/// End-of-frame delimiter, bytes: an ordered set (FC-PH, clauses 16 and 17).
pub(crate) const EOF: u64 = 4;
/// What a frame has around its data field: delimiters, header, CRC.
pub(crate) const FRAMING: u64 = SOF + HEADER + CRC + EOF;
/// Largest data field, bytes: optional headers, payload and fill (FC-PH, clause 17).
pub(crate) const MOST_FIELD: u64 = 2112;
/// A primitive signal, e.g. Idle or R_RDY, bytes: an ordered set (FC-PH, clause 16).
pub(crate) const PRIMITIVE: u64 = 4;
/// Primitive signals that a transmitter sends between two frames at least (FC-PH, 17.1).
pub(crate) const GAP_SIGNALS: u64 = 6;
/// Idles before and after each R_RDY at least (FC-PH, clause 16). 8GFC has another fill word, ARB(FF), in their place,
/// of the same size (FC-FS-3).
pub(crate) const IDLES_AROUND: u64 = 2;
/// Bytes between two frames at least. One R_RDY fits in: two Idles, R_RDY, two Idles are five of the six signals.
pub(crate) const GAP: u64 = GAP_SIGNALS * PRIMITIVE;

/// Network header, bytes of the data field (FC-PH, clause 19).
pub(crate) const NETWORK_HEADER: u64 = 16;
/// Association header, bytes of the data field (FC-PH, clause 19).
pub(crate) const ASSOCIATION_HEADER: u64 = 32;
/// Longest device header, bytes of the data field: 16, 32 or 64 (FC-PH, clause 19).
pub(crate) const MOST_DEVICE_HEADER: u64 = 64;
/// Those three together, bytes.
pub(crate) const MOST_OPTIONAL: u64 = NETWORK_HEADER + ASSOCIATION_HEADER + MOST_DEVICE_HEADER;

/// FCP_CMND, bytes: LUN 8, control 4, CDB 16, FCP_DL 4; no additional CDB (FCP-4, 9.2).
pub(crate) const CMND: u64 = 32;
/// FCP_XFER_RDY, bytes: offset 4, burst length 4, reserved 4 (FCP-4, 9.3).
pub(crate) const XFER_RDY: u64 = 12;
/// FCP_RSP without response or sense data, bytes (FCP-4, 9.5).
pub(crate) const RSP: u64 = 24;

/// Bytes that fill a data field up to whole words (FC-PH, clause 17).
pub(crate) const fn fill(field: u64) -> u64 {
    field.next_multiple_of(WORD) - field
}

/// Bytes of a frame, SOF to EOF, whose data field has so many bytes: optional headers and payload.
pub const fn frame(field: u64) -> u64 {
    FRAMING + field + fill(field)
}

/// Bytes that a frame takes of a busy wire: with the least gap.
pub const fn wire(frame: u64) -> u64 {
    frame + GAP
}

/// Bytes between two frames when so many R_RDYs go between them: each with its Idles, neighbours share theirs.
pub(crate) const fn gap(r_rdys: u64) -> u64 {
    let signals = if r_rdys == 0 { 0 } else { r_rdys + IDLES_AROUND * (r_rdys + 1) };
    PRIMITIVE * if signals < GAP_SIGNALS { GAP_SIGNALS } else { signals }
}

/// A transfer cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Frames, the last one included; 0 where there is nothing to carry.
    pub frames: u64,
    /// Payload of each but the last.
    pub payload: u64,
    /// Payload of the last.
    pub last: u64,
    /// Optional headers of each.
    pub optional: u64,
}

impl Cut {
    /// So many bytes in frames of at most `payload` bytes, with so many bytes of optional headers in each. A `payload`
    /// of 0 counts as 1.
    pub(crate) const fn new(bytes: u64, payload: u64, optional: u64) -> Cut {
        let payload = if payload == 0 { 1 } else { payload };
        let frames = bytes.div_ceil(payload);
        let last = if frames == 0 { 0 } else { bytes - (frames - 1) * payload };
        Cut { frames, payload, last, optional }
    }

    /// Bytes of all of it on a busy wire, with a gap to each frame.
    pub(crate) const fn wire(self) -> u64 {
        match self.frames {
            0 => 0,
            n => {
                let full = wire(frame(self.payload + self.optional));
                full.saturating_mul(n - 1).saturating_add(wire(frame(self.last + self.optional)))
            }
        }
    }
}

/// What one SCSI command puts on each direction of a link, gaps included, and in how many frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Bytes from the initiator to the target.
    pub to_target: u64,
    /// Bytes from the target to the initiator.
    pub to_initiator: u64,
    /// Frames from the initiator to the target; as many R_RDYs come back on each link.
    pub frames_to_target: u64,
    /// Frames from the target to the initiator.
    pub frames_to_initiator: u64,
}

/// A read of so many bytes: FCP_CMND there, FCP_DATA and FCP_RSP back (FCP-4, clause 4).
pub(crate) const fn read(bytes: u64, payload: u64) -> Exchange {
    let data = Cut::new(bytes, payload, 0);
    Exchange {
        to_target: wire(frame(CMND)),
        to_initiator: data.wire().saturating_add(wire(frame(RSP))),
        frames_to_target: 1,
        frames_to_initiator: data.frames + 1,
    }
}

/// A write of so many bytes in bursts: FCP_CMND there, then for each burst FCP_XFER_RDY back and FCP_DATA there,
/// FCP_RSP at last (FCP-4, clause 4). A burst is what one FCP_XFER_RDY asks for; a burst of 0 bytes counts as all.
/// First bursts that wait for no XFER_RDY are not meant.
pub(crate) const fn write(bytes: u64, payload: u64, burst: u64) -> Exchange {
    let burst = if burst == 0 || burst > bytes { bytes } else { burst };
    let bursts = if bytes == 0 { 0 } else { bytes.div_ceil(burst) };
    let full = Cut::new(burst, payload, 0);
    let last = Cut::new(if bursts == 0 { 0 } else { bytes - (bursts - 1) * burst }, payload, 0);
    let before = bursts.saturating_sub(1);
    Exchange {
        to_target: wire(frame(CMND)).saturating_add(full.wire().saturating_mul(before)).saturating_add(last.wire()),
        to_initiator: wire(frame(XFER_RDY)).saturating_mul(bursts).saturating_add(wire(frame(RSP))),
        frames_to_target: 1 + full.frames * before + last.frames,
        frames_to_initiator: bursts + 1,
    }
}

/// Payload / bytes of the wire, of frames nose to tail.
pub(crate) fn efficiency(payload: u64, optional: u64) -> f64 {
    payload as f64 / wire(frame(payload + optional)) as f64
}

/// The speed of a port, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRate(u64);

/// (name in GFC, signalled bits per second, bits of data, bits of line for them, coding and standard).
type Row = (u64, u64, u64, u64, &'static str);

/// 32GFC transcodes 64B/66B to 256B/257B and adds RS(528,514): 256/257 x 514/528 is 64/66, so that error correction
/// costs nothing more.
const RATES: [Row; 6] = [
    (1, 1_062_500_000, 8, 10, "8B/10B, FC-PI"),
    (2, 2_125_000_000, 8, 10, "8B/10B, FC-PI"),
    (4, 4_250_000_000, 8, 10, "8B/10B, FC-PI-2"),
    (8, 8_500_000_000, 8, 10, "8B/10B, FC-PI-4"),
    (16, 14_025_000_000, 64, 66, "64B/66B, FC-PI-5"),
    (32, 28_050_000_000, 64, 66, "64B/66B as 256B/257B with RS(528,514), FC-PI-6"),
];

impl LineRate {
    /// All, slowest first.
    pub(crate) fn all() -> impl Iterator<Item = LineRate> {
        RATES.iter().map(|r| LineRate(r.0))
    }

    /// The speed that people call so many Gb/s.
    pub fn gfc(speed: u64) -> Option<LineRate> {
        LineRate::all().find(|r| r.0 == speed)
    }

    /// Reads `4GFC`, or `4 Gb/s` as people say: the name of a speed, not the bits that it carries.
    pub(crate) fn parse(text: &str) -> Option<LineRate> {
        let text = text.trim();
        let number = ["GFC", "gfc", "Gb/s"].into_iter().find_map(|unit| text.strip_suffix(unit))?;
        LineRate::gfc(number.trim_end().parse().ok()?)
    }

    fn row(self) -> Row {
        RATES.into_iter().find(|r| r.0 == self.0).unwrap_or(RATES[0])
    }

    /// Bits per second on the medium, one way.
    pub(crate) fn raw(self) -> Rate {
        Rate::from_bits(self.row().1)
    }

    /// Bits per second after line coding and error correction, one way: 4GFC has 3.4 Gb/s = 425 MB/s.
    pub fn rate(self) -> Rate {
        let (_, _, data, line, _) = self.row();
        self.raw().scaled(data, line)
    }

    /// The line coding, and the standard that has the rate.
    pub(crate) fn coding(self) -> &'static str {
        self.row().4
    }

    /// How long so many bytes take on the wire.
    pub(crate) fn time(self, bytes: u64) -> Time {
        self.rate().time(Bytes(bytes))
    }

    /// Payload of frames nose to tail, exactly.
    pub(crate) fn payload_rate(self, payload: u64, optional: u64) -> Rate {
        self.rate().scaled(payload, wire(frame(payload + optional)))
    }
}

impl serde::Serialize for LineRate {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl std::fmt::Display for LineRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}GFC", self.0)
    }
}

/// What stands between a frame's start and the moment when its credit is back (FC-PH, clause 26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Length of the cable.
    pub length: Length,
    /// From a frame's end at the receiver to the moment when its buffer is free and R_RDY could start.
    pub response: Time,
    /// Bytes of the frame that R_RDY waits for at worst, SOF to EOF; 0 where nothing else goes that way.
    pub reverse: u64,
}

impl Loop {
    /// Bytes that a port could send from a frame's start until its credit is back: the frame, there and back through
    /// the cable, the response, what goes before R_RDY (a frame that has just begun, and two Idles), and R_RDY itself.
    pub(crate) fn bytes(self, rate: LineRate, frame: u64) -> u64 {
        let waited = Time::from_fs(2 * flight(self.length).fs() + self.response.fs());
        let before = if self.reverse == 0 { 0 } else { self.reverse + IDLES_AROUND * PRIMITIVE };
        // Rounded up: a byte that is under way counts.
        frame + rate.rate().slots(waited) + u64::from(waited > Time::ZERO) + before + PRIMITIVE
    }

    /// Buffer-to-buffer credits with which a port never waits, with frames of this size (SOF to EOF).
    pub(crate) fn credits(self, rate: LineRate, frame: u64) -> u64 {
        self.bytes(rate, frame).div_ceil(wire(frame))
    }

    /// The share of the wire's time that so many credits keep in use, at most 1.
    pub fn use_of(self, rate: LineRate, frame: u64, credits: u64) -> f64 {
        (credits as f64 * wire(frame) as f64 / self.bytes(rate, frame) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(gfc: u64) -> LineRate {
        LineRate::gfc(gfc).expect("a speed")
    }

    #[test]
    fn a_frame_of_2048_bytes_by_hand() {
        // 4 + 24 + 2048 + 4 + 4, and six primitive signals.
        assert_eq!((frame(2048), wire(frame(2048))), (2084, 2108));
        // 3.4 Gb/s x 2048 / 2108 = 412.9 MB/s.
        let four = speed(4);
        assert_eq!(four.payload_rate(2048, 0), Rate::ratio(3_400_000_000 * 2048, 2108));
        assert!((four.payload_rate(2048, 0).bytes() / 1e6 - 412.903).abs() < 1e-3);
        assert_eq!(four.time(2108).fs(), 4_960_000_000);
        // The longest frame, and one whose field is no whole word.
        assert_eq!((frame(MOST_FIELD), frame(0), frame(1), fill(1), fill(4)), (2148, 36, 40, 3, 0));
        // An optional header is data of the field, not payload.
        assert!((efficiency(2048, NETWORK_HEADER) - 2048.0 / 2124.0).abs() < 1e-15);
    }

    #[test]
    fn speeds_by_hand() {
        let all: Vec<f64> = LineRate::all().map(|r| r.rate().bytes() / 1e6).collect();
        assert_eq!(all, [106.25, 212.5, 425.0, 850.0, 1700.0, 3400.0]);
        // Transcoding and error correction together are 64 of 66 bits.
        assert_eq!(256 * 514 * 66, 64 * 257 * 528);
        assert_eq!((speed(16).raw().bits(), speed(32).raw().bits()), (14.025e9, 28.05e9));
        for rate in LineRate::all() {
            assert_eq!(LineRate::parse(&rate.to_string()), Some(rate));
        }
        for text in ["4gfc", "4 GFC", " 4 Gb/s ", "4Gb/s"] {
            assert_eq!(LineRate::parse(text), Some(speed(4)), "{text}");
        }
        for text in ["", "4", "GFC", "3GFC", "4.25 Gb/s", "-4GFC", "4 GB/s", "99999999999999999999GFC"] {
            assert_eq!(LineRate::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_r_rdy_costs_nothing_in_a_gap() {
        assert_eq!((gap(0), gap(1), gap(2), gap(3)), (24, 24, 32, 44));
    }

    #[test]
    fn transfers_are_cut() {
        let cut = Cut::new(8192, 2048, 0);
        assert_eq!((cut.frames, cut.last, cut.wire()), (4, 2048, 4 * 2108));
        let cut = Cut::new(5000, 2048, 16);
        // 2048, 2048 and 904 B, each with 16 B of header: 2 x (36 + 2064 + 24) + 36 + 920 + 24.
        assert_eq!((cut.frames, cut.last, cut.wire()), (3, 904, 2 * 2124 + 980));
        assert_eq!(Cut::new(0, 2048, 0).wire(), 0);
        assert_eq!(Cut::new(3, 0, 0).frames, 3);
    }

    #[test]
    fn scsi_commands_by_hand() {
        // FCP_CMND 36 + 32 + 24, FCP_RSP 36 + 24 + 24, FCP_XFER_RDY 36 + 12 + 24.
        let a = read(4096, 2048);
        assert_eq!((a.to_target, a.to_initiator), (92, 2 * 2108 + 84));
        assert_eq!((a.frames_to_target, a.frames_to_initiator), (1, 3));
        let a = write(10_000, 2048, 4096);
        // Bursts of 4096, 4096 and 1808 B: two, two frames and one.
        assert_eq!((a.to_target, a.to_initiator), (92 + 4 * 2108 + 36 + 1808 + 24, 3 * 72 + 84));
        assert_eq!((a.frames_to_target, a.frames_to_initiator), (6, 4));
        assert_eq!(write(4096, 2048, 0), write(4096, 2048, 4096));
        assert_eq!((read(0, 2048).to_initiator, write(0, 2048, 512).to_initiator), (84, 84));
    }

    #[test]
    fn credits_by_hand() {
        let around =
            |km: &str, reverse| Loop { length: Length::parse(km).expect("a length"), response: Time::ZERO, reverse };
        // 10 km are 100 us there and back: 21,250 B at 2GFC. With the frame and R_RDY 23,339 B, in slots of 2108 B:
        // 11.07.
        assert_eq!(around("10 km", 0).bytes(speed(2), 2084), 2084 + 21_251 + 4);
        assert_eq!(around("10 km", 0).credits(speed(2), 2084), 12);
        // A frame the other way may be in front of R_RDY.
        assert_eq!(around("10 km", 2084).credits(speed(2), 2084), 13);
        // Behind a frame two Idles go, too. 100 us for a buffer to be free are as long as 10 km there and back.
        assert_eq!(around("10 km", 2084).bytes(speed(2), 2084), 2084 + 21_251 + 2084 + 2 * 4 + 4);
        let busy = |km| Loop { response: Time::from_fs(100_000_000_000), ..around(km, 0) };
        assert_eq!(busy("0 m").bytes(speed(2), 2084), 2084 + 21_251 + 4);
        assert_eq!(busy("10 km").bytes(speed(2), 2084), 2084 + 42_501 + 4);
        assert_eq!(around("0 m", 0).bytes(speed(2), 2084), 2084 + 4);
        // Back to back one is enough without a cable, two behind a frame.
        assert_eq!((around("0 m", 0).credits(speed(2), 2084), around("0 m", 2084).credits(speed(2), 2084)), (1, 2));
        let half = around("10 km", 0).use_of(speed(2), 2084, 6);
        assert!((half - 6.0 * 2108.0 / 23_339.0).abs() < 1e-12);
        assert_eq!(around("10 km", 0).use_of(speed(2), 2084, 12), 1.0);
    }
}
