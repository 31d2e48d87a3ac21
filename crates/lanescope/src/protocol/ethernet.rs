//! Ethernet: MAC rates, frame sizes, pause frames. References are to IEEE 802.3-2018 unless another is named.

mod frames;

pub use frames::address;
pub(crate) use frames::{data_frame, pause_frame, pfc_frame};

use crate::units::{Bytes, Length, Rate, Time};

/// Preamble and start frame delimiter, bytes (3.2.1, 3.2.2).
pub(crate) const PREAMBLE: u64 = 8;
/// Interpacket gap, bytes: 96 bit times (4.4.2).
pub(crate) const GAP: u64 = 12;
/// Destination, source and type, bytes (3.2.3 to 3.2.6).
pub(crate) const HEADER: u64 = 14;
/// Frame check sequence, bytes (3.2.9).
pub(crate) const FCS: u64 = 4;
/// minFrameSize, bytes (4.4.2).
pub(crate) const MIN_FRAME: u64 = 64;
/// Client data of the largest frames that are in use (jumbo; no standard).
pub(crate) const MOST_DATA: u64 = 9216;

/// Femtoseconds that a bit takes through a millimetre of cable: 5 ns a metre, two thirds of the speed of light, as in
/// fibre.
const FS_PER_MM: u64 = 5_000;

/// EtherType of MAC control frames (annex 31A).
pub(crate) const MAC_CONTROL: u16 = 0x8808;
/// Where MAC control frames go: 01-80-C2-00-00-01 (annex 31B.1).
pub(crate) const MAC_CONTROL_ADDRESS: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
/// Opcode of PAUSE (annex 31A).
pub(crate) const PAUSE_OPCODE: u16 = 0x0001;
/// Opcode of priority-based flow control (annex 31A; 802.1Qbb).
pub(crate) const PFC_OPCODE: u16 = 0x0101;
/// Bit times of a pause quantum (annex 31B.2).
pub(crate) const QUANTUM_BITS: u64 = 512;
/// Quanta of the longest pause: the operand has 16 bits (annex 31B.2).
pub const MOST_QUANTA: u64 = u16::MAX as u64;
/// Priorities of PFC (802.1Qbb; 802.1Q, 36.1).
pub(crate) const PRIORITIES: u32 = 8;
/// EtherType of the frames that lanescope makes up: IEEE 802 local experimental 1 (802-2014, 9.2.4).
pub(crate) const EXPERIMENTAL: u16 = 0x88B5;

/// Bytes of a MAC frame, destination to FCS, that carries so much data: at least [`MIN_FRAME`] (3.2.8).
pub(crate) const fn frame(data: u64) -> u64 {
    let bytes = HEADER + data + FCS;
    if bytes < MIN_FRAME { MIN_FRAME } else { bytes }
}

/// Bytes that a frame takes of the wire: with preamble and gap.
pub const fn wire(frame: u64) -> u64 {
    PREAMBLE + frame + GAP
}

/// Bytes of padding in a frame that carries so much data (3.2.8).
pub(crate) const fn padding(data: u64) -> u64 {
    frame(data) - HEADER - FCS - data
}

/// A rate at which a MAC runs, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRate(u64);

/// (MAC rate, signalled rate of all lanes) in bits per second, with the clause of the coding.
const RATES: [(u64, u64, &str); 14] = [
    (10_000_000, 20_000_000, "Manchester, clause 7"),
    (100_000_000, 125_000_000, "4B/5B, clause 24"),
    (1_000_000_000, 1_250_000_000, "8B/10B, clause 36"),
    (2_500_000_000, 3_125_000_000, "8B/10B, clause 127 (802.3cb)"),
    (5_000_000_000, 5_156_250_000, "64B/66B, clause 129 (802.3cb)"),
    (10_000_000_000, 10_312_500_000, "64B/66B, clause 49"),
    (25_000_000_000, 25_781_250_000, "64B/66B, clause 107"),
    (40_000_000_000, 41_250_000_000, "64B/66B, clause 82"),
    (50_000_000_000, 53_125_000_000, "256B/257B with RS(544,514), clause 134 (802.3cd)"),
    (100_000_000_000, 103_125_000_000, "64B/66B, clause 82"),
    (200_000_000_000, 212_500_000_000, "256B/257B with RS(544,514), clause 119"),
    (400_000_000_000, 425_000_000_000, "256B/257B with RS(544,514), clause 119"),
    (800_000_000_000, 850_000_000_000, "256B/257B with RS(544,514), clause 172 (802.3df)"),
    (1_600_000_000_000, 1_700_000_000_000, "256B/257B with RS(544,514) (802.3dj)"),
];

/// (MAC rate, pause quanta) of [`LineRate::pause_response`].
const RESPONSES: [(u64, u64); 9] = [
    (100_000_000, 1),
    (1_000_000_000, 2),
    (10_000_000_000, 60),
    (25_000_000_000, 80),
    (40_000_000_000, 118),
    (50_000_000_000, 147),
    (100_000_000_000, 394),
    (200_000_000_000, 453),
    (400_000_000_000, 905),
];

impl LineRate {
    /// All, slowest first.
    pub fn all() -> impl Iterator<Item = LineRate> {
        RATES.iter().map(|r| LineRate(r.0))
    }

    /// The MAC that runs at this rate, if there is one.
    pub(crate) fn of(rate: Rate) -> Option<LineRate> {
        LineRate::all().find(|r| r.rate() == rate)
    }

    fn row(self) -> (u64, u64, &'static str) {
        RATES.into_iter().find(|r| r.0 == self.0).unwrap_or(RATES[5])
    }

    /// Bits per second of the MAC, one way: after line coding.
    pub fn rate(self) -> Rate {
        Rate::from_bits(self.0)
    }

    /// Bits per second on the medium, one way: with line coding, and forward error correction where it belongs to it.
    pub(crate) fn raw(self) -> Rate {
        Rate::from_bits(self.row().1)
    }

    /// The line coding and its clause.
    pub(crate) fn coding(self) -> &'static str {
        self.row().2
    }

    /// Femtoseconds of a byte: whole at every rate.
    pub fn byte_fs(self) -> u64 {
        8_000_000_000_000_000 / self.0
    }

    /// How long so many bytes take on the wire.
    pub(crate) fn time(self, bytes: u64) -> Time {
        self.rate().time(Bytes(bytes))
    }

    /// How long a pause quantum is.
    pub(crate) fn quantum(self) -> Time {
        self.time(QUANTUM_BITS / 8)
    }

    /// Quanta after a PAUSE has come in, from which on a sender may begin no further frame (31B.3.7); `None` where no
    /// number could be confirmed. Of two numbers for one rate it is that of ports over fibre and backplane: 10GBASE-T
    /// has more than the 60 of 10 Gb/s.
    pub(crate) fn pause_response(self) -> Option<u64> {
        RESPONSES.into_iter().find(|r| r.0 == self.0).map(|r| r.1)
    }
}

impl LineRate {
    /// The longest that a sender may take to heed a pause: `LineRate::pause_response`; where no number could be
    /// confirmed, the longer time of the rates next to it that have one.
    pub fn longest_response(self) -> Time {
        let time = |r: (u64, u64)| LineRate(r.0).time(r.1 * QUANTUM_BITS / 8);
        if let Some(quanta) = self.pause_response() {
            return time((self.0, quanta));
        }
        let below = RESPONSES.into_iter().rfind(|r| r.0 < self.0).map(time);
        let above = RESPONSES.into_iter().find(|r| r.0 > self.0).map(time);
        below.max(above).unwrap_or(Time::ZERO)
    }
}

impl serde::Serialize for LineRate {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl std::fmt::Display for LineRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.rate())
    }
}

/// How long a bit takes through so much cable.
pub(crate) fn flight(length: Length) -> Time {
    Time::from_fs(length.mm() * FS_PER_MM)
}

/// Bytes that may still come in after a receiver has decided to stop the sender: what it needs as headroom (802.1Q,
/// annex N; Cisco and Mellanox white papers count the same). The decision waits behind a frame that has just begun, the
/// pause frame crosses the link, the sender takes its time and finishes the frame that it has just begun, and what is
/// on the link comes in; and since a frame is charged at its end, but whole, the one that is coming in when the
/// decision falls counts, too. `delay` is one way; `response` is the sender's, [`LineRate::longest_response`] where
/// nothing less is known; it is measured from MDI to MDI, so it has the sender's interface in it, and `latency` is the
/// receiver's own: until it notices what has come. `longest` is the longest frame either way.
pub(crate) fn headroom(rate: LineRate, delay: Time, response: Time, latency: Time, longest: u64) -> u64 {
    let fs = delay.fs().saturating_mul(2).saturating_add(response.fs()).saturating_add(latency.fs());
    let flight = rate.rate().slots(Time::from_fs(fs)) + 1;
    // What goes before the pause frame, and the pause frame itself, are time in which data frames come in.
    wire(longest) + wire(MIN_FRAME) + flight + wire(longest) + longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_by_hand() {
        assert_eq!((frame(1500), wire(frame(1500)), padding(1500)), (1518, 1538, 0));
        assert_eq!((frame(46), padding(46)), (64, 0));
        assert_eq!((frame(1), padding(1), wire(frame(0))), (64, 45, 84));
        // 14.88 million of the smallest frames a second at 10 Gb/s, as every tester knows.
        assert_eq!((10e9 / 8.0 / wire(64) as f64) as u64, 14_880_952);
    }

    #[test]
    fn every_rate_has_a_whole_byte_time() {
        for rate in LineRate::all() {
            assert_eq!(rate.byte_fs() * rate.0, 8_000_000_000_000_000, "{rate}");
            assert!(rate.raw() > rate.rate());
            assert_eq!(LineRate::of(rate.rate()), Some(rate));
        }
        assert_eq!(LineRate::of(Rate::from_bits(9_000_000_000)), None);
        let ten = LineRate::of(Rate::from_bits(10_000_000_000)).expect("a rate");
        assert_eq!((ten.byte_fs(), ten.quantum().fs()), (800_000, 51_200_000));
    }

    #[test]
    fn pause_responses_are_those_of_white_papers() {
        // Bit times that switch makers reckon with: 30,720 at 10 Gb/s, 40,960 at 25, 60,416 at 40, 201,728 at 100,
        // 463,360 at 400.
        let bits = |gigabits: u64| {
            LineRate::of(Rate::from_bits(gigabits * 1_000_000_000))
                .and_then(|r| r.pause_response())
                .map(|q| q * QUANTUM_BITS)
        };
        let papers = [(10, 30_720), (25, 40_960), (40, 60_416), (100, 201_728), (400, 463_360)];
        assert!(papers.iter().all(|p| bits(p.0) == Some(p.1)));
        assert_eq!(bits(800), None);
        for (rate, _) in RESPONSES {
            assert!(LineRate::of(Rate::from_bits(rate)).is_some(), "{rate}");
        }
    }

    #[test]
    fn headroom_by_hand() {
        let ten = LineRate::of(Rate::from_bits(10_000_000_000)).expect("a rate");
        assert_eq!(Length::parse("100 m").map(flight), Ok(Time::from_fs(500_000_000)));
        // 100 ns each way are 250 B at 10 Gb/s; no response time; and a frame that is coming in.
        let way = Time::from_fs(100_000_000);
        assert_eq!(headroom(ten, way, Time::ZERO, Time::ZERO, 1518), 1538 + 84 + 251 + 1538 + 1518);
        // 60 quanta of 64 B, and 400 ns in the receiver are 500 B.
        let latency = Time::from_fs(400_000_000);
        assert_eq!(headroom(ten, way, ten.longest_response(), latency, 1518), 1538 + 84 + 751 + 3840 + 1538 + 1518);
        // Nothing is confirmed at 5 Gb/s: 10 Gb/s have 3.072 us, 1 Gb/s 1.024 us. Nor at 800 Gb/s: 400 Gb/s have 1.1584
        // us.
        let of =
            |gigabits: u64| LineRate::of(Rate::from_bits(gigabits * 1_000_000_000)).expect("a rate").longest_response();
        assert_eq!((of(5).fs(), of(800).fs()), (3_072_000_000, 1_158_400_000));
    }
}
