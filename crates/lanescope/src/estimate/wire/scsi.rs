//! What one parallel SCSI bus carries, by size of transfer, and how long a command holds it. Everyone on the bus shares
//! it.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::estimate::wire::read::read;
use crate::protocol::scsi::{BUSES, Bus, BusPolicy, Clocking, Direction, Held, SELECTION_ABORT_NS, command, io};
use crate::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts with their units.
#[derive(Clone, Debug)]
pub struct Question {
    /// Name of the bus, e.g. `ultra320`.
    pub bus: String,
    /// Bytes of one command, e.g. `64 KiB`.
    pub size: String,
    /// Most bytes of one connection; all at once without it.
    pub burst: Option<String>,
    /// A write instead of a read.
    pub write: bool,
    /// One byte by asynchronous handshake; as usual without it.
    pub byte: Option<String>,
    /// How long a selected device takes to answer; as usual without it.
    pub response: Option<String>,
    /// Without queue tags.
    pub untagged: bool,
    /// The target keeps the bus from command to status.
    pub keeps: bool,
    /// Status comes with a connection of its own.
    pub status_alone: bool,
    /// Command and status as information units.
    pub packetized: bool,
    /// Quick arbitration and selection.
    pub quick: bool,
}

/// The answer; reads and writes share the bus.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Name of the bus.
    pub bus: String,
    /// Where its numbers are from.
    pub source: String,
    /// Data lines.
    pub width_bits: u64,
    /// Seconds from one transfer to the next.
    pub period: f64,
    /// Bits per second while data go.
    pub peak: f64,
    /// Whether it is a write.
    pub write: bool,
    /// Whether command and status go as information units.
    pub packetized: bool,
    /// Whether the bus is passed on by quick arbitration.
    pub quick: bool,
    /// Bytes of one command.
    pub size: u64,
    /// Most bytes of one connection.
    pub burst: u64,
    /// How long a command holds the bus, and for what.
    pub held: Split,
    /// Seconds of it before the target leaves the bus for the first time; `None` where it does not leave.
    pub command: Option<f64>,
    /// Commands per second on a bus that is never idle.
    pub per_second: f64,
    /// Their data, bits per second.
    pub payload: f64,
    /// Share of the time in which data go at the full rate.
    pub efficiency: f64,
    /// Efficiency by size of command, with the same bursts.
    pub curve: Vec<Point>,
}

/// Seconds that the bus is held; the four add up to `total`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Split {
    /// All of it.
    pub total: f64,
    /// Times that the bus is won.
    pub connections: u64,
    /// A free bus settles, and arbitration.
    pub arbitration: f64,
    /// Selection and reselection.
    pub selection: f64,
    /// Messages, command, status, information units, CRC, changes of phase.
    pub control: f64,
    /// Data.
    pub data: f64,
}

impl Split {
    fn of(held: Held) -> Split {
        Split {
            total: held.total().seconds(),
            connections: held.connections,
            arbitration: held.arbitration.seconds(),
            selection: held.selection.seconds(),
            control: held.control.seconds(),
            data: held.data.seconds(),
        }
    }

    /// The four, with the words a person reads.
    pub fn entries(&self) -> [(&'static str, f64); 4] {
        [
            ("arbitration", self.arbitration),
            ("selection", self.selection),
            ("messages, phases", self.control),
            ("data", self.data),
        ]
    }
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// Bytes of one command.
    pub size: u64,
    /// Seconds that it holds the bus.
    pub held: f64,
    /// Commands per second.
    pub per_second: f64,
    /// Share of the time in which data go.
    pub efficiency: f64,
    /// Data, bits per second.
    pub payload: f64,
}

fn point(size: u64, held: Held) -> Point {
    let total = held.total().seconds();
    Point {
        size,
        held: total,
        per_second: 1.0 / total,
        efficiency: held.data.seconds() / total,
        payload: size as f64 * 8.0 / total,
    }
}

/// The sizes of the curve: 512 B to 1 MiB.
const SIZES: [u64; 12] =
    [512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// Most bytes of one command: 65,535 blocks of 4 KiB are less.
const MOST: u64 = 1 << 30;

/// Longest time of one byte by handshake that is taken for one.
const LONGEST_BYTE_FS: u64 = 1_000_000_000_000;

/// Answers; what is wrong with the question is in `diagnostics`, all of it at once.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let bus = Bus::named(&q.bus);
    if bus.is_none() {
        let list = BUSES.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
        let what = format!("there is no SCSI bus {:?}", q.bus);
        diagnostics.push(Diagnostic::error(None, what).hint(format!("there are {list}")));
    }
    let mut size = |text: &str, what: &str| {
        let bytes = read(diagnostics, (text, "size", Bytes::UNITS, "64 KiB"), Bytes::parse)?.0;
        let fits = (1..=MOST).contains(&bytes);
        if !fits {
            let hint = "1 B to 1 GiB, e.g. \"64 KiB\"";
            diagnostics.push(Diagnostic::error(None, format!("{text:?} is not a valid {what}")).hint(hint));
        }
        fits.then_some(bytes)
    };
    let bytes = size(&q.size, "transfer");
    let most = match &q.burst {
        None => bytes,
        Some(burst) => size(burst, "burst"),
    };
    let mut time = |text: &Option<String>, what: &str, example: &str, most: u64| match text {
        None => Some(None),
        Some(text) => {
            let time = read(diagnostics, (text, "duration", Time::UNITS, example), Time::parse)?;
            if time.fs() > most {
                let what = format!("{text:?} is not a valid {what}");
                let hint = format!("at most {}, e.g. {example:?}", Time::from_fs(most));
                diagnostics.push(Diagnostic::error(None, what).hint(hint));
                return None;
            }
            Some(Some(time))
        }
    };
    let byte = time(&q.byte, "time of a byte by handshake", "200 ns", LONGEST_BYTE_FS);
    let response =
        time(&q.response, "answer to selection (SPI-4: selection abort time)", "1 us", SELECTION_ABORT_NS * 1_000_000);
    let (bus, bytes, most, byte, response) = (bus?, bytes?, most?, byte?, response?);

    let usual = BusPolicy::of(bus);
    let policy = BusPolicy {
        byte: byte.unwrap_or(usual.byte),
        response: response.unwrap_or(usual.response),
        tagged: !q.untagged,
        disconnects: !q.keeps,
        status_alone: q.status_alone,
        packetized: usual.packetized || q.packetized,
        quick: usual.quick || q.quick,
        ..usual
    };
    if policy.packetized && !bus.can_packetize() {
        let list = BUSES.iter().filter(|b| b.can_packetize()).map(|b| b.name).collect::<Vec<_>>().join(", ");
        let what = format!("{} has no information units", bus.name);
        diagnostics.push(Diagnostic::error(None, what).hint(format!("they need double transition: {list} (SPI-3)")));
        return None;
    }
    if policy.quick && !policy.packetized {
        let what = format!("quick arbitration on {} needs information units", bus.name);
        let hint = match bus.clocking {
            Clocking::Single => "there are none below ultra160",
            Clocking::Double | Clocking::Paced => "ask with --packetized too (SPI-4, clause 10)",
        };
        diagnostics.push(Diagnostic::error(None, what).hint(hint));
        return None;
    }
    let direction = if q.write { Direction::Out } else { Direction::In };
    let of = |size: u64, most: u64| io(bus, &policy, direction, size, most);
    let held = of(bytes, most);
    let Point { per_second, payload, efficiency, .. } = point(bytes, held);
    // Without a burst each size of the curve goes in one.
    let bursts = if q.burst.is_some() { most } else { 0 };
    Some(Answer {
        bus: bus.name.to_owned(),
        source: bus.source.to_owned(),
        width_bits: bus.width_bits,
        period: bus.period().seconds(),
        peak: bus.peak().bits(),
        write: q.write,
        packetized: policy.packetized,
        quick: policy.quick,
        size: bytes,
        burst: most,
        held: Split::of(held),
        command: policy.disconnects.then(|| command(bus, &policy).total().seconds()),
        per_second,
        payload,
        efficiency,
        curve: SIZES.map(|size| point(size, of(size, bursts))).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(bus: &str) -> Question {
        Question {
            bus: bus.into(),
            size: "4 KiB".into(),
            burst: None,
            write: false,
            byte: None,
            response: None,
            untagged: false,
            keeps: false,
            status_alone: false,
            packetized: false,
            quick: false,
        }
    }

    fn ask(q: Question) -> Result<Answer, Vec<String>> {
        let mut d = Diagnostics::default();
        wire(&mut d, &q).ok_or_else(|| d.sorted().iter().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn a_read_on_ultra2_by_hand() {
        let a = ask(question("ultra2")).expect("a valid question");
        // Two connections of 6.38 us, 4.4 and 2.6 us of phases, 51.2 us of data.
        assert!((a.held.total - 70.96e-6).abs() < 1e-15, "{}", a.held.total);
        assert!((a.per_second - 1.0 / 70.96e-6).abs() < 1e-6);
        assert!((a.efficiency - 51.2 / 70.96).abs() < 1e-12);
        assert!((a.held.entries().iter().map(|e| e.1).sum::<f64>() / a.held.total - 1.0).abs() < 1e-12);
        assert!((a.payload / a.peak - a.efficiency).abs() < 1e-12);
        // The curve has the same point.
        let same = a.curve.iter().find(|p| p.size == 4096).expect("a point");
        assert_eq!((same.held, same.payload), (a.held.total, a.payload));
        let kept = ask(Question { keeps: true, ..question("ultra2") }).expect("a valid question");
        assert!(kept.held.total < a.held.total && kept.command.is_none());
    }

    #[test]
    fn small_commands_gain_by_information_units() {
        let bus = "ultra160";
        let old = ask(question(bus)).expect("a valid question");
        let units = ask(Question { packetized: true, ..question(bus) }).expect("a valid question");
        let quick = ask(Question { packetized: true, quick: true, ..question(bus) }).expect("a valid question");
        assert!(quick.per_second > units.per_second && units.per_second > old.per_second);
        let a = ask(question("ultra320")).expect("a valid question");
        assert!(a.packetized && a.quick);
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        let wrong = ask(Question {
            size: "0 B".into(),
            burst: Some("64".into()),
            byte: Some("2 ms".into()),
            response: Some("201 us".into()),
            ..question("ultra640")
        })
        .expect_err("nothing of it is right");
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        assert!(ask(Question { packetized: true, ..question("ultra2") }).is_err());
        assert!(ask(Question { quick: true, ..question("ultra160") }).is_err());
        let most = Question {
            size: "1 GiB".into(),
            burst: Some("1 B".into()),
            byte: Some("1 ms".into()),
            ..question("scsi-1")
        };
        assert!(ask(most).is_ok());
    }
}
