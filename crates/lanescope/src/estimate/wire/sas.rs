//! What one SAS link carries: frames, what SCSI commands cost it, and payload by the size of frames. Both directions
//! are alike.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::estimate::wire::read::read;
use crate::protocol::sas::{self, Exchange, LineRate, MOST_UNIT};
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts with their units.
#[derive(Clone, Debug)]
pub struct Question {
    /// Speed of the phy, e.g. `3G`.
    pub rate: String,
    /// Information unit of one DATA frame, e.g. `1024 B`.
    pub data: String,
    /// Bytes of one SCSI command, e.g. `64 KiB`.
    pub size: String,
    /// For how long an opened connection carries nothing, e.g. `1 us`.
    pub connection: String,
}

/// The answer; one direction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Speed as text: `3G`.
    pub rate: String,
    /// Line coding, and the standard that has the rate.
    pub coding: String,
    /// Signalled bits per second.
    pub raw: f64,
    /// Bits per second after line coding.
    pub coded: f64,
    /// Information unit of one DATA frame in bytes.
    pub data: u64,
    /// Bytes of the frame, SOF to EOF.
    pub frame: u64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Seconds of one frame.
    pub frame_time: f64,
    /// Information unit / frame.
    pub efficiency: f64,
    /// Payload of frames nose to tail, bits per second.
    pub payload: f64,
    /// Seconds for which an opened connection carries nothing.
    pub connection: f64,
    /// One read.
    pub read: Command,
    /// One write.
    pub write: Command,
    /// By size of frames.
    pub curve: Vec<Point>,
}

/// What one SCSI command costs, its connections included.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Command {
    /// Bytes of data.
    pub bytes: u64,
    /// Bytes on the wire to the target: frames, answers, what opens and closes connections.
    pub to_target: u64,
    /// Bytes on the wire to the initiator.
    pub to_initiator: u64,
    /// Frames to the target.
    pub frames_to_target: u64,
    /// Frames to the initiator.
    pub frames_to_initiator: u64,
    /// Connections of both ends.
    pub connections: u64,
    /// Commands per second that the busier direction carries.
    pub per_second: f64,
    /// Their data, bits per second.
    pub payload: f64,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// Information unit of one frame in bytes.
    pub data: u64,
    /// Bytes of the frame.
    pub frame: u64,
    /// Frames per second.
    pub frames_per_second: f64,
    /// Information unit / frame.
    pub efficiency: f64,
    /// Payload, bits per second.
    pub payload: f64,
}

/// The sizes of the curve.
const DATA: [u64; 9] = [4, 8, 16, 32, 64, 128, 256, 512, MOST_UNIT];
/// Most bytes of one command: a write's length has 32 bits in XFER_RDY.
const MOST_TRANSFER: u64 = u32::MAX as u64;

fn point(rate: LineRate, data: u64) -> Point {
    let frame = sas::frame(data);
    let efficiency = data as f64 / frame as f64;
    let frames_per_second = rate.rate().bytes() / frame as f64;
    Point { data, frame, frames_per_second, efficiency, payload: rate.rate().bits() * efficiency }
}

fn command(rate: LineRate, bytes: u64, connection: f64, x: Exchange) -> Command {
    let speed = rate.rate().bytes();
    let way = |bytes: u64, opened: u64| bytes as f64 / speed + opened as f64 * connection;
    let busier = way(x.to_target, x.opened_by_initiator).max(way(x.to_initiator, x.opened_by_target));
    Command {
        bytes,
        to_target: x.to_target,
        to_initiator: x.to_initiator,
        frames_to_target: x.frames_to_target,
        frames_to_initiator: x.frames_to_initiator,
        connections: x.opened_by_initiator + x.opened_by_target,
        per_second: 1.0 / busier,
        payload: bytes as f64 * 8.0 / busier,
    }
}

/// Answers; what is wrong with the question is in `diagnostics`, all of it at once.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let rate = LineRate::parse(&q.rate);
    if rate.is_none() {
        let list = LineRate::all().map(|r| r.to_string()).collect::<Vec<_>>().join(", ");
        let what = format!("{:?} is not a valid speed of SAS", q.rate);
        diagnostics.push(Diagnostic::error(None, what).hint(format!("there are {list}, e.g. \"3G\" or \"3 Gb/s\"")));
    }
    let mut size = |text: &str, what: &str, example: &str, most: u64, clause: &str| {
        let bytes = read(diagnostics, (text, "size", Bytes::UNITS, example), Bytes::parse)?.0;
        let fits = (1..=most).contains(&bytes);
        if !fits {
            let hint = format!("1 B to {most} B ({clause}), e.g. {example:?}");
            diagnostics.push(Diagnostic::error(None, format!("{text:?} is not a valid {what}")).hint(hint));
        }
        fits.then_some(bytes)
    };
    let data = size(&q.data, "information unit of a frame", "1024 B", MOST_UNIT, "SPL: a DATA information unit");
    let bytes = size(&q.size, "transfer", "64 KiB", MOST_TRANSFER, "XFER_RDY: 32 bits");
    let connection = read(diagnostics, (&q.connection, "duration", Time::UNITS, "1 us"), Time::parse);
    let (rate, data, bytes, connection) = (rate?, data?, bytes?, connection?.seconds());
    let Point { frame, frames_per_second, efficiency, payload, .. } = point(rate, data);
    Some(Answer {
        rate: rate.to_string(),
        coding: rate.coding().to_owned(),
        raw: rate.raw().bits(),
        coded: rate.rate().bits(),
        data,
        frame,
        frames_per_second,
        frame_time: rate.rate().time(Bytes(frame)).seconds(),
        efficiency,
        payload,
        connection,
        read: command(rate, bytes, connection, sas::read(bytes, data)),
        write: command(rate, bytes, connection, sas::write(bytes, data)),
        curve: DATA.into_iter().map(|d| point(rate, d)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(rate: &str, data: &str, size: &str, connection: &str) -> Result<Answer, usize> {
        let [rate, data, size, connection] = [rate, data, size, connection].map(str::to_owned);
        let mut d = Diagnostics::default();
        wire(&mut d, &Question { rate, data, size, connection }).ok_or(d.sorted().len())
    }

    #[test]
    fn three_gigabits_by_hand() {
        let a = ask("3G", "1024 B", "64 KiB", "1 us").expect("a valid question");
        assert_eq!((a.raw, a.coded, a.frame), (3e9, 2.4e9, 1060));
        assert!((a.payload / 8e6 - 289.811).abs() < 1e-3);
        // 64 frames, the response, OPEN and closing, the answers to one frame and one connection: 67 984 B at 300 MB/s,
        // and 1 us.
        assert_eq!(a.read.to_initiator, 64 * 1060 + 60 + 56 + 20 + 8);
        assert!((1e6 / a.read.per_second - (67_984.0 / 300.0 + 1.0)).abs() < 1e-9);
        assert_eq!((a.read.connections, a.write.connections), (2, 4));
        // The way to the target is the busier one of a write, with two connections on it.
        assert!((1e6 / a.write.per_second - (a.write.to_target as f64 / 300.0 + 2.0)).abs() < 1e-9);
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        assert_eq!(ask("4G", "1025 B", "0 B", "1").err(), Some(4));
        assert!(ask("22.5G", "1 B", "4294967295 B", "0 ns").is_ok());
    }
}
