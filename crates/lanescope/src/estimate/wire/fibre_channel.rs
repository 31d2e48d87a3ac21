//! What one Fibre Channel link carries, by size of frame, the credits that a distance asks for, and what SCSI commands
//! cost. Both directions are alike.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::estimate::wire::read::read;
use crate::protocol::ethernet::flight;
use crate::protocol::fibre_channel::{
    self, Exchange, FRAMING, GAP, LineRate, Loop, MOST_FIELD, MOST_OPTIONAL, WORD, fill, frame,
};
use crate::units::{Bytes, Length, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts with their units.
#[derive(Clone, Debug)]
pub struct Question {
    /// Speed of the port, e.g. `4GFC`.
    pub rate: String,
    /// Payload of one frame, e.g. `2048 B`.
    pub data: String,
    /// Optional headers of one frame, e.g. `0 B`.
    pub optional: String,
    /// Length of the cable, e.g. `50 m`.
    pub length: String,
    /// From a frame's end to the moment when its buffer is free, e.g. `0 ns`.
    pub response: String,
    /// Buffer-to-buffer credits that there are, if that is to be known, e.g. `16`.
    pub credits: Option<String>,
    /// Bytes of one SCSI command, e.g. `64 KiB`.
    pub transfer: String,
    /// What one FCP_XFER_RDY asks for; all at once without it.
    pub burst: Option<String>,
}

/// The answer; one direction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Speed as text: `4GFC`.
    pub rate: String,
    /// Bits per second after line coding and error correction.
    pub coded: f64,
    /// Line coding, and the standard that has the rate.
    pub coding: String,
    /// Payload of one frame in bytes.
    pub data: u64,
    /// Optional headers of one frame in bytes.
    pub optional: u64,
    /// Bytes of the frame, SOF to EOF.
    pub frame: u64,
    /// Bytes that it takes of a busy wire, with six primitive signals.
    pub wire: u64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Seconds of one frame on the wire, with its gap.
    pub frame_time: f64,
    /// Payload / bytes on the wire.
    pub efficiency: f64,
    /// Where the signalled bits go.
    pub shares: Shares,
    /// Seconds through the cable.
    pub flight: f64,
    /// Buffer-to-buffer credits with which a port never waits, when nothing else goes back.
    pub credits: u64,
    /// The same when R_RDY may have to wait for such a frame the other way.
    pub credits_both_ways: u64,
    /// With the credits that there are.
    pub given: Option<Given>,
    /// One read.
    pub read: Command,
    /// One write.
    pub write: Command,
    /// Efficiency by payload.
    pub curve: Vec<Point>,
}

/// What a number of credits allows.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Given {
    /// Credits.
    pub credits: u64,
    /// Share of the wire's time in use at most, when nothing else goes back.
    pub used: f64,
    /// Payload, bits per second.
    pub payload: f64,
    /// Share of the wire's time when R_RDYs wait for frames the other way.
    pub used_both_ways: f64,
}

/// What one SCSI command costs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Command {
    /// Bytes of data.
    pub bytes: u64,
    /// Bytes on the wire to the target, with gaps.
    pub to_target: u64,
    /// Bytes on the wire to the initiator, with gaps.
    pub to_initiator: u64,
    /// Frames to the target.
    pub frames_to_target: u64,
    /// Frames to the initiator.
    pub frames_to_initiator: u64,
    /// Commands per second that the busier direction carries.
    pub per_second: f64,
    /// Their data, bits per second.
    pub payload: f64,
}

/// Where signalled bits go, in bits per second; the entries below `raw` add up to it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Shares {
    /// Signalled bits.
    pub raw: f64,
    /// Line coding and error correction.
    pub line_coding: f64,
    /// Primitive signals between frames.
    pub primitives: f64,
    /// Delimiters, header and CRC.
    pub framing: f64,
    /// Optional headers.
    pub optional: f64,
    /// Fill bytes.
    pub fill: f64,
    /// Payload.
    pub payload: f64,
}

impl Shares {
    /// The entries that add up to `raw`, in the order in which they are taken off, with the words a person reads.
    pub fn entries(&self) -> [(&'static str, f64); 6] {
        [
            ("line coding", self.line_coding),
            ("primitive signals", self.primitives),
            ("SOF header CRC EOF", self.framing),
            ("optional headers", self.optional),
            ("fill bytes", self.fill),
            ("payload", self.payload),
        ]
    }
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// Payload of one frame in bytes.
    pub data: u64,
    /// Bytes on the wire.
    pub wire: u64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Payload / bytes on the wire.
    pub efficiency: f64,
    /// Payload, bits per second.
    pub payload: f64,
    /// Credits for the distance, when nothing else goes back.
    pub credits: u64,
}

/// The payloads of the curve; those that optional headers leave no room for are left out.
const DATA: [u64; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, MOST_FIELD];

fn point(rate: LineRate, data: u64, optional: u64, way: Loop) -> Point {
    let frame = frame(data + optional);
    let wire = fibre_channel::wire(frame);
    Point {
        data,
        wire,
        frames_per_second: rate.rate().bytes() / wire as f64,
        efficiency: fibre_channel::efficiency(data, optional),
        payload: rate.payload_rate(data, optional).bits(),
        credits: way.credits(rate, frame),
    }
}

fn shares(rate: LineRate, data: u64, optional: u64) -> Shares {
    let (raw, coded) = (rate.raw().bits(), rate.rate().bits());
    let wire = fibre_channel::wire(frame(data + optional)) as f64;
    let of = |bytes: u64| coded * bytes as f64 / wire;
    Shares {
        raw,
        line_coding: raw - coded,
        primitives: of(GAP),
        framing: of(FRAMING),
        optional: of(optional),
        fill: of(fill(data + optional)),
        payload: of(data),
    }
}

fn command(rate: LineRate, bytes: u64, x: Exchange) -> Command {
    let per_second = rate.rate().bytes() / x.to_target.max(x.to_initiator) as f64;
    Command {
        bytes,
        to_target: x.to_target,
        to_initiator: x.to_initiator,
        frames_to_target: x.frames_to_target,
        frames_to_initiator: x.frames_to_initiator,
        per_second,
        payload: per_second * bytes as f64 * 8.0,
    }
}

/// Most bytes of one command: FCP_DL has 32 bits.
const MOST_TRANSFER: u64 = u32::MAX as u64;

/// Most credits: a port tells its number in 16 bits (FC-PH, clause 23).
const MOST_CREDITS: u64 = u16::MAX as u64;

/// Answers; what is wrong with the question is in `diagnostics`, all of it at once.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let rate = LineRate::parse(&q.rate);
    if rate.is_none() {
        let list = LineRate::all().map(|r| r.to_string()).collect::<Vec<_>>().join(", ");
        let what = format!("{:?} is not a valid speed of Fibre Channel", q.rate);
        diagnostics.push(Diagnostic::error(None, what).hint(format!("there are {list}, e.g. \"4GFC\" or \"4 Gb/s\"")));
    }
    let mut size = |text: &str, what: &str, example: &str, most: u64, least: u64, hint: &str| {
        let bytes = read(diagnostics, (text, "size", Bytes::UNITS, example), Bytes::parse)?.0;
        let fits = (least..=most).contains(&bytes);
        if !fits {
            let hint = format!("{least} B to {most} B{hint}, e.g. {example:?}");
            diagnostics.push(Diagnostic::error(None, format!("{text:?} is not a valid {what}")).hint(hint));
        }
        fits.then_some(bytes)
    };
    let optional = size(&q.optional, "optional headers of a frame", "0 B", MOST_OPTIONAL, 0, " (FC-PH, clause 19)");
    let room = MOST_FIELD - optional.unwrap_or(0);
    let data = size(&q.data, "payload of a frame", "2048 B", room, 1, " (FC-PH, clause 17: the data field)");
    let transfer = size(&q.transfer, "transfer", "64 KiB", MOST_TRANSFER, 1, " (FCP-4, 9.2: FCP_DL)");
    let burst = match &q.burst {
        None => Some(0),
        Some(burst) => size(burst, "burst", "64 KiB", MOST_TRANSFER, 1, " (FCP-4, 9.3)"),
    };
    let optional = optional.filter(|o| {
        if o % WORD != 0 {
            let what = format!("{:?} is not a valid size of optional headers", q.optional);
            diagnostics.push(Diagnostic::error(None, what).hint("a multiple of 4 B: 16 B, 32 B or 64 B each"));
        }
        o % WORD == 0
    });
    let length = read(diagnostics, (&q.length, "length", Length::UNITS, "50 m"), Length::parse);
    let response = read(diagnostics, (&q.response, "duration", Time::UNITS, "0 ns"), Time::parse);
    let credits = match &q.credits {
        None => Some(None),
        Some(text) => match text.trim().parse() {
            Ok(n) if (1..=MOST_CREDITS).contains(&n) => Some(Some(n)),
            _ => {
                let what = format!("{text:?} is not a valid number of credits");
                diagnostics.push(Diagnostic::error(None, what).hint(format!("1 to {MOST_CREDITS}, e.g. \"16\"")));
                None
            }
        },
    };
    let (rate, data, optional, length, response) = (rate?, data?, optional?, length?, response?);
    let (transfer, burst, credits) = (transfer?, burst?, credits?);

    let alone = Loop { length, response, reverse: 0 };
    let Point { wire, frames_per_second, efficiency, payload, credits: needed, .. } =
        point(rate, data, optional, alone);
    let frame = frame(data + optional);
    let both = Loop { reverse: frame, ..alone };
    Some(Answer {
        rate: rate.to_string(),
        coded: rate.rate().bits(),
        coding: rate.coding().to_owned(),
        data,
        optional,
        frame,
        wire,
        frames_per_second,
        frame_time: rate.time(wire).seconds(),
        efficiency,
        shares: shares(rate, data, optional),
        flight: flight(length).seconds(),
        credits: needed,
        credits_both_ways: both.credits(rate, frame),
        given: credits.map(|credits| {
            let used = alone.use_of(rate, frame, credits);
            Given { credits, used, payload: payload * used, used_both_ways: both.use_of(rate, frame, credits) }
        }),
        read: command(rate, transfer, fibre_channel::read(transfer, data)),
        write: command(rate, transfer, fibre_channel::write(transfer, data, burst)),
        curve: DATA
            .into_iter()
            .filter(|d| d + optional <= MOST_FIELD)
            .map(|d| point(rate, d, optional, alone))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            rate: "4GFC".into(),
            data: "2048 B".into(),
            optional: "0 B".into(),
            length: "50 m".into(),
            response: "0 ns".into(),
            credits: None,
            transfer: "64 KiB".into(),
            burst: None,
        }
    }

    fn ask(q: Question) -> Result<Answer, Vec<String>> {
        let mut d = Diagnostics::default();
        wire(&mut d, &q).ok_or_else(|| d.sorted().iter().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn four_gfc_by_hand() {
        let a = ask(Question { credits: Some("1".into()), ..question() }).expect("a valid question");
        assert_eq!((a.frame, a.wire, a.coded), (2084, 2108, 3.4e9));
        assert!((a.shares.payload / 8e6 - 412.903).abs() < 1e-3);
        // 250 ns each way are 212.5 B: the loop is 2084 + 213 + 4 B, more than one slot of 2108 B.
        assert_eq!((a.flight, a.credits, a.credits_both_ways), (250e-9, 2, 3));
        let given = a.given.expect("asked for");
        assert!((given.used - 2108.0 / 2301.0).abs() < 1e-12);
        // 32 frames and the response; the command goes the other way.
        assert_eq!((a.read.to_initiator, a.read.to_target), (32 * 2108 + 84, 92));
        assert!((a.read.payload - 3.4e9 * 65536.0 / 67540.0).abs() < 1.0);
        assert_eq!((a.write.to_target, a.write.to_initiator), (92 + 32 * 2108, 72 + 84));
    }

    #[test]
    fn shares_add_up_at_every_speed_and_size() {
        for rate in LineRate::all() {
            for data in [1, 3, 4, 511, 2000, 2048] {
                for optional in [0, 16, 64] {
                    let s = shares(rate, data, optional);
                    let sum: f64 = s.entries().iter().map(|e| e.1).sum();
                    assert!((sum / s.raw - 1.0).abs() < 1e-12, "{rate} {data} {optional}");
                    assert!((s.payload / rate.payload_rate(data, optional).bits() - 1.0).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        let wrong = ask(Question {
            rate: "3GFC".into(),
            data: "2113 B".into(),
            optional: "3 B".into(),
            length: "50".into(),
            response: "-1 ns".into(),
            credits: Some("0".into()),
            transfer: "0 B".into(),
            burst: Some("1".into()),
        })
        .expect_err("nothing of it is right");
        assert_eq!(wrong.len(), 8, "{wrong:?}");
        let most = Question { data: "2112 B".into(), length: "1000 km".into(), response: "5 h".into(), ..question() };
        assert!(ask(Question { rate: "32GFC".into(), transfer: "4294967295 B".into(), ..most.clone() }).is_ok());
        // Optional headers take room from the payload.
        assert!(ask(Question { optional: "16 B".into(), ..most }).is_err());
    }
}
