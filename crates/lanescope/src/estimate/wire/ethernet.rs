//! What one Ethernet link carries, by size of frame, and what its pauses cost. One direction; both are alike and do not
//! load one another.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::estimate::wire::read::read;
use crate::protocol::ethernet::{
    self, FCS, GAP, HEADER, LineRate, MOST_DATA, MOST_QUANTA, PREAMBLE, flight, frame, headroom, padding,
};
use crate::units::{Bytes, Length, Rate, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts with their units.
#[derive(Clone, Debug)]
pub struct Question {
    /// Rate of the MAC, e.g. `10 Gb/s`.
    pub rate: String,
    /// MAC client data of one frame, e.g. `1500 B`.
    pub data: String,
    /// Length of the cable, e.g. `100 m`.
    pub length: String,
    /// How long a sender takes to heed a pause, e.g. `100 ns`; `None`: as long as the standard allows.
    pub response: Option<String>,
}

/// The answer; one direction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Rate of the MAC as text: `10 Gb/s`.
    pub rate: String,
    /// The same in bits per second.
    pub mac: f64,
    /// Line coding, with its clause.
    pub coding: String,
    /// MAC client data of one frame in bytes.
    pub data: u64,
    /// Bytes of its frame, destination to FCS.
    pub frame: u64,
    /// Bytes that it takes of the wire, with preamble and gap.
    pub wire: u64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Seconds of one frame on the wire, with preamble and gap.
    pub frame_time: f64,
    /// Data / bytes on the wire.
    pub efficiency: f64,
    /// Where the signalled bits go.
    pub shares: Shares,
    /// Seconds of a pause quantum.
    pub quantum: f64,
    /// Seconds of the longest pause.
    pub longest_pause: f64,
    /// Quanta that a sender may take to heed a pause (802.3, 31B.3.7); `None` where no number could be confirmed.
    pub pause_response: Option<u64>,
    /// Seconds through the cable.
    pub flight: f64,
    /// Seconds that the headroom reckons with for it.
    pub response: f64,
    /// Bytes that a receiver needs beyond the level at which it sends a pause, with frames of this size both ways: as
    /// switches plan it.
    pub headroom: u64,
    /// Efficiency by data.
    pub curve: Vec<Point>,
}

/// Where signalled bits go, in bits per second; the entries below `raw` add up to it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Shares {
    /// Signalled bits.
    pub raw: f64,
    /// Line coding, and forward error correction where it belongs to it.
    pub line_coding: f64,
    /// Interpacket gap and preamble.
    pub gap_and_preamble: f64,
    /// Addresses, type and FCS.
    pub header_and_fcs: f64,
    /// Padding of frames that would be too small.
    pub padding: f64,
    /// MAC client data.
    pub payload: f64,
}

impl Shares {
    /// The entries that add up to `raw`, in the order in which they are taken off, with the words a person reads.
    pub fn entries(&self) -> [(&'static str, f64); 5] {
        [
            ("line coding", self.line_coding),
            ("gap, preamble", self.gap_and_preamble),
            ("header, FCS", self.header_and_fcs),
            ("padding", self.padding),
            ("payload", self.payload),
        ]
    }
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// MAC client data of one frame in bytes.
    pub data: u64,
    /// Bytes on the wire.
    pub wire: u64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Data / bytes on the wire.
    pub efficiency: f64,
    /// Payload, bits per second.
    pub payload: f64,
}

/// The sizes of the curve: powers of two, the least without padding, the most of the standard, and jumbo frames.
const DATA: [u64; 18] = [1, 2, 4, 8, 16, 32, 46, 64, 128, 256, 512, 1024, 1500, 2048, 4096, 8192, 9000, MOST_DATA];

fn point(rate: LineRate, data: u64) -> Point {
    let wire = ethernet::wire(frame(data));
    let efficiency = data as f64 / wire as f64;
    let mac = rate.rate();
    Point { data, wire, frames_per_second: mac.bytes() / wire as f64, efficiency, payload: mac.bits() * efficiency }
}

fn shares(rate: LineRate, data: u64) -> Shares {
    let (raw, mac) = (rate.raw().bits(), rate.rate().bits());
    let wire = ethernet::wire(frame(data)) as f64;
    let of = |bytes: u64| mac * bytes as f64 / wire;
    Shares {
        raw,
        line_coding: raw - mac,
        gap_and_preamble: of(GAP + PREAMBLE),
        header_and_fcs: of(HEADER + FCS),
        padding: of(padding(data)),
        payload: of(data),
    }
}

/// Answers; what is wrong with the question is in `diagnostics`, all of it at once.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let rate = read(diagnostics, (&q.rate, "rate", Rate::UNITS, "10 Gb/s"), Rate::parse).and_then(|rate| {
        let found = LineRate::of(rate);
        if found.is_none() {
            let list = LineRate::all().map(|r| r.to_string()).collect::<Vec<_>>().join(", ");
            let what = format!("no Ethernet MAC runs at {:?}", q.rate);
            diagnostics.push(Diagnostic::error(None, what).hint(format!("there are {list}")));
        }
        found
    });
    let data = read(diagnostics, (&q.data, "size", Bytes::UNITS, "1500 B"), Bytes::parse).and_then(|data| {
        let fits = (1..=MOST_DATA).contains(&data.0);
        if !fits {
            let what = format!("{:?} is not a valid payload of a frame", q.data);
            let hint = format!("1 B to {MOST_DATA} B, e.g. \"1500 B\" (802.3, 3.2.7; more than that is jumbo)");
            diagnostics.push(Diagnostic::error(None, what).hint(hint));
        }
        fits.then_some(data.0)
    });
    let length = read(diagnostics, (&q.length, "length", Length::UNITS, "100 m"), Length::parse);
    let response = q.response.as_ref().map(|r| read(diagnostics, (r, "duration", Time::UNITS, "0 ns"), Time::parse));
    let (rate, data, delay) = (rate?, data?, flight(length?));
    let response = response.unwrap_or_else(|| Some(rate.longest_response()))?;

    let Point { wire, frames_per_second, efficiency, .. } = point(rate, data);
    Some(Answer {
        rate: rate.to_string(),
        mac: rate.rate().bits(),
        coding: rate.coding().to_owned(),
        data,
        frame: frame(data),
        wire,
        frames_per_second,
        frame_time: rate.time(wire).seconds(),
        efficiency,
        shares: shares(rate, data),
        quantum: rate.quantum().seconds(),
        longest_pause: rate.quantum().seconds() * MOST_QUANTA as f64,
        pause_response: rate.pause_response(),
        flight: delay.seconds(),
        response: response.seconds(),
        headroom: headroom(rate, delay, response, Time::ZERO, frame(data)),
        curve: DATA.map(|data| point(rate, data)).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(rate: &str, data: &str, length: &str, response: &str) -> Result<Answer, Vec<String>> {
        let q =
            Question { rate: rate.into(), data: data.into(), length: length.into(), response: Some(response.into()) };
        let mut d = Diagnostics::default();
        wire(&mut d, &q).ok_or_else(|| d.sorted().iter().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn ten_gigabits_by_hand() {
        let a = ask("10 Gb/s", "1500 B", "100 m", "0 ns").expect("a valid question");
        assert_eq!((a.frame, a.wire), (1518, 1538));
        assert_eq!((a.frame_time, a.quantum), (1.2304e-6, 51.2e-9));
        assert!((a.longest_pause - 3.355392e-3).abs() < 1e-12);
        assert!((a.shares.payload - 10e9 * 1500.0 / 1538.0).abs() < 1e-3);
        // A frame has just begun, the pause, twice 500 ns (1250 B, and the byte that is under way), a frame of the
        // sender, and one that is coming in.
        assert_eq!(a.headroom, 1538 + 84 + 1251 + 1538 + 1518);
        // 60 quanta are 3.072 us: 3840 B more.
        let slow = ask("10 Gb/s", "1500 B", "100 m", "3.072 us").expect("a valid question");
        assert_eq!(slow.headroom - a.headroom, 3840);
        let smallest = ask("10 Gb/s", "46 B", "0 m", "0 ns").expect("a valid question");
        assert_eq!(smallest.frames_per_second as u64, 14_880_952);
    }

    #[test]
    fn shares_add_up_at_every_rate_and_size() {
        for rate in LineRate::all() {
            for data in DATA {
                let s = shares(rate, data);
                let sum: f64 = s.entries().iter().map(|e| e.1).sum();
                assert!((sum / s.raw - 1.0).abs() < 1e-12, "{rate} {data}");
                assert!((s.payload / point(rate, data).payload - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        let wrong = ask("9 Gb/s", "0 B", "100", "-1 ns").expect_err("nothing of it is right");
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        for data in ["10000000", "10000000 B", "9217 B", "0.5 B", "", "1 ns"] {
            assert!(ask("10 Gb/s", data, "100 m", "0 ns").is_err(), "{data}");
        }
        // The most that texts can say does not overflow.
        assert!(ask("1.6 Tb/s", "9216 B", "1000 km", "5 h").is_ok());
        assert!(ask("10 Gb/s", "9216 B", "1001 km", "0 ns").is_err());
    }
}
