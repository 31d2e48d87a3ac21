//! The protocol calculator: what one link carries, by size of payload.
//!
//! It asks the estimate, with a scenario of one link between a root complex and a device that write to each other as
//! fast as they can; so a number of `wire` and a number of a study have the same formula behind them. The others are
//! closed arithmetic of their rule books: [`ethernet`], [`fibre_channel`], [`infiniband`], [`sas`], [`scsi`].

pub mod ethernet;
pub mod fibre_channel;
pub mod infiniband;
pub mod pci;
mod read;
pub mod sas;
pub mod scsi;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::protocol::pcie::{self, PayloadSize, Speed};
use crate::result::{LinkReport, Report};
use crate::scenario::tree::Author;
use crate::scenario::{Included, Nothing};
use crate::units::{Bytes, UnitError};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts as a scenario has them.
#[derive(Clone, Debug)]
pub struct Question {
    /// `gen3 x8`.
    pub speed: String,
    /// Payload of one TLP, e.g. `256 B`.
    pub payload: String,
    /// `3DW` or `4DW`.
    pub header: String,
    /// With the ECRC digest.
    pub ecrc: bool,
    /// TLPs per Ack, or `"never"`.
    pub ack_every: String,
    /// TLPs per UpdateFC, or `"never"`.
    pub update_fc_every: String,
    /// Payload of one completion, for reads; cut at the payload of one TLP.
    pub completion: String,
    /// Bytes of one read request.
    pub request: String,
    /// Whether SKP ordered sets are counted.
    pub ordered_sets: bool,
    /// Whether both directions are loaded at once.
    pub both_ways: bool,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// `gen3 x8`.
    pub speed: String,
    /// Signalled bits per second, one way.
    pub raw: f64,
    /// After line coding, one way.
    pub coded: f64,
    /// Bytes of framing and header around the payload of a write TLP.
    pub tlp_overhead: u64,
    /// Bytes of that TLP on the wire.
    pub tlp_bytes: u64,
    /// Write TLPs per second, one way.
    pub tlps_per_second: f64,
    /// Payload of writes, bits per second, one way, with as many directions loaded as the question says.
    pub write: f64,
    /// The same with this direction alone loaded, as by one flow of a scenario: the other carries nothing but the DLLPs
    /// for it.
    pub write_alone: f64,
    /// Payload of reads with completions of that size, bits per second, one way.
    pub read: f64,
    /// Bytes of one completion as used: what was asked, cut at MPS (2.0, 2.2.2) and at what one request asks for.
    pub completion: u64,
    /// Payload / bytes of TLPs and DLLPs, of writes.
    pub efficiency: f64,
    /// The specification's Ack latency limit in symbol times, at MPS = payload; `None` where the payload is no MPS or
    /// acknowledgement is part of flits.
    pub ack_limit_symbols: Option<u64>,
    /// The direction away from the device, at the write load: the waterfall.
    pub direction: LinkReport,
    /// Efficiency by payload.
    pub curve: Vec<Point>,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// Payload of one TLP in bytes.
    pub payload: u64,
    /// Payload / bytes of TLPs.
    pub efficiency: f64,
    /// Payload / bytes of TLPs and DLLPs.
    pub with_dllps: f64,
    /// Payload of writes, bits per second, one way.
    pub write: f64,
}

/// The payloads of the curve: 4 B to 4 KiB.
const PAYLOADS: [u64; 11] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// One link; writes of `size` in TLPs of at most `mps`. What goes the other way comes from another device, since a
/// processor's stores are of a cache line at most; that device's link is like this one, and half as busy.
fn scenario(q: &Question, size: Bytes, mps: PayloadSize, dllps: bool) -> String {
    let every = |v: &str| if dllps { v.to_owned() } else { "\"never\"".to_owned() };
    let skp = if q.ordered_sets { "" } else { "skp_interval = \"never\"\n" };
    let link = |name: &str, device: &str| {
        format!(
            "[links.{name}]\nbetween = [\"root\", \"{device}\"]\npcie = \"{}\"\nmps = \"{mps}\"\nack_every = {}\n\
             update_fc_every = {}\n{skp}",
            q.speed,
            every(&q.ack_every),
            every(&q.update_fc_every)
        )
    };
    let device = |name: &str| {
        format!(
            "[parts.{name}]\nis = \"endpoint\"\necrc = {}\ntags = 256\nengines = 4096\nmax_read_request = \"{}\"\n",
            q.ecrc, q.request
        )
    };
    let write = |name: &str, from: &str, to: &str| {
        format!(
            "[flows.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\ndo = \"write\"\nsize = \"{size}\"\nheader = \"{}\"\n",
            q.header
        )
    };
    let back = match q.both_ways {
        true => device("peer") + &link("feed", "peer") + &write("down", "peer", "device"),
        false => String::new(),
    };
    format!("[parts.root]\nis = \"root-complex\"\ncompletion_size = \"{}\"\n", q.completion)
        + &device("device")
        + &link("link", "device")
        + &write("up", "device", "root.memory")
        + &back
}

fn run(diagnostics: &mut Diagnostics, text: String) -> Option<Report> {
    let included = Included { name: "wire".into(), text, author: Author::User };
    let plan = crate::plan(diagnostics, included, &[], &Nothing)?;
    Some(crate::estimate::estimate(&plan, diagnostics))
}

/// Answers; what is wrong with the question is in `diagnostics`.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let payload = match Bytes::parse(&q.payload) {
        Ok(bytes) if (1..=4096).contains(&bytes.0) => bytes,
        other => {
            let (why, example) = match other {
                Err(UnitError::NoUnit) => (": it has no unit", format!("{} B", q.payload.trim())),
                _ => ("", "256 B".to_owned()),
            };
            let what = format!("{:?} is not a valid payload of a TLP{why}", q.payload);
            diagnostics
                .push(Diagnostic::error(None, what).hint(format!("1 B to 4 KiB, e.g. {example:?} (2.0, 2.2.2)")));
            return None;
        }
    };
    // The least MPS that such a TLP needs; completions are cut at it too.
    let mps = |payload: Bytes| PayloadSize::all().find(|m| m.bytes() >= payload.0).unwrap_or(PayloadSize::RESET);
    let report = run(diagnostics, scenario(q, payload, mps(payload), true))?;
    // Reads alone: their requests and the DLLPs for both are all that goes the other way.
    let alone = Question { both_ways: false, ..q.clone() };
    let read =
        run(diagnostics, scenario(&alone, Bytes(4096), mps(payload), true).replace("do = \"write\"", "do = \"read\""))?;
    let write_alone = run(diagnostics, scenario(&alone, payload, mps(payload), true))?;
    let up = report.links.get(1)?.clone();
    let share = |r: &Report| r.flows.first().map_or(0.0, |f| f.share.typical);
    let efficiency = |l: &LinkReport| {
        let used = l.ledger.coded() - l.ledger.idle - l.ledger.ordered_sets - l.ledger.flits;
        l.ledger.payload / used
    };
    let mut curve = Vec::new();
    for payload in PAYLOADS {
        let of = |dllps| scenario(q, Bytes(payload), mps(Bytes(payload)), dllps);
        let (with, without) = (run(diagnostics, of(true))?, run(diagnostics, of(false))?);
        curve.push(Point {
            payload,
            efficiency: efficiency(without.links.get(1)?),
            with_dllps: efficiency(with.links.get(1)?),
            write: share(&with),
        });
    }
    let asked = |text: &str| Bytes::parse(text).ok().map(|b| b.0);
    let completion = asked(&q.completion)?.min(mps(payload).bytes()).min(asked(&q.request)?);
    let speed = parse_speed(&q.speed)?;
    let header = if q.header == "3DW" { pcie::Header::Dw3 } else { pcie::Header::Dw4 };
    let bytes = pcie::tlp(speed.generation, header, payload.0, q.ecrc);
    let limit = pcie::ack_latency_limit(speed.generation, speed.lanes, payload.0);
    Some(Answer {
        speed: speed.to_string(),
        raw: speed.raw().bits(),
        coded: speed.coded().bits(),
        tlp_overhead: bytes - payload.0.next_multiple_of(4),
        tlp_bytes: bytes,
        tlps_per_second: up.tlps,
        write: share(&report),
        write_alone: share(&write_alone),
        read: share(&read),
        completion,
        efficiency: efficiency(&up),
        ack_limit_symbols: (pcie::PayloadSize::new(payload).is_some() && limit > 0).then_some(limit),
        direction: up,
        curve,
    })
}

/// What one link carries with nothing else on it, bits per second of payload one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Carried {
    /// Writes in TLPs of a payload.
    pub write: f64,
    /// Reads, in completions of a size.
    pub read: f64,
}

/// What a link carries of long transfers one way: writes in TLPs of `payload`, which need be no MPS; reads in requests
/// of `request` answered in completions of `completion`; 64-bit addresses, DLLPs as [`wire`] has them by default.
pub(crate) fn carried(speed: Speed, payload: Bytes, request: PayloadSize, completion: Bytes) -> Option<Carried> {
    // TLPs that are smaller than any MPS are short operations.
    let (mps, size) = match PayloadSize::new(payload) {
        Some(mps) => (mps, Bytes(4096)),
        None => (PayloadSize::all().find(|m| m.bytes() >= payload.0)?, payload),
    };
    let question = Question {
        speed: speed.to_string(),
        payload: payload.to_string(),
        header: "4DW".into(),
        ecrc: false,
        ack_every: "4".into(),
        update_fc_every: "4".into(),
        completion: completion.to_string(),
        request: Bytes(request.bytes()).to_string(),
        ordered_sets: true,
        both_ways: false,
    };
    let mut diagnostics = Diagnostics::default();
    let text = scenario(&question, size, mps, true);
    let share = |r: &Report| r.flows.first().map_or(0.0, |f| f.share.typical);
    let read = run(&mut diagnostics, text.replace("do = \"write\"", "do = \"read\""))?;
    Some(Carried { write: share(&run(&mut diagnostics, text)?), read: share(&read) })
}

fn parse_speed(text: &str) -> Option<Speed> {
    let (g, l) = text.split_once(' ')?;
    let lanes = pcie::Lanes::new(l.trim().strip_prefix('x')?.parse().ok()?)?;
    Some(Speed::new(pcie::Generation::parse(g)?, lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idt_reports_arithmetic() {
        let q = Question {
            speed: "gen2 x4".into(),
            payload: "64 B".into(),
            header: "3DW".into(),
            ecrc: false,
            ack_every: "4".into(),
            update_fc_every: "4".into(),
            completion: "64 B".into(),
            request: "512 B".into(),
            ordered_sets: false,
            both_ways: true,
        };
        let mut d = Diagnostics::default();
        let a = wire(&mut d, &q).expect("a valid question");
        assert_eq!((a.raw, a.coded, a.tlp_bytes, a.tlp_overhead), (20e9, 16e9, 84, 20));
        // Two DLLPs of 8 B for four TLPs: 4 B a TLP.
        assert!((a.efficiency - 64.0 / 88.0).abs() < 1e-9, "{}", a.efficiency);
        let at = |p: u64| a.curve.iter().find(|c| c.payload == p).map_or(0.0, |c| c.efficiency);
        assert!((at(64) - 64.0 / 84.0).abs() < 1e-12);
        assert!((at(4096) - 4096.0 / 4116.0).abs() < 1e-12);
    }

    /// A completion larger than MPS, or than a request, is answered as the largest that there can be, and says so.
    #[test]
    fn a_completion_is_cut_at_mps_and_at_the_request() {
        let ask = |payload: u64, completion: u64, request: u64| {
            let q = Question {
                speed: "gen5 x4".into(),
                payload: format!("{payload} B"),
                header: "4DW".into(),
                ecrc: false,
                ack_every: "4".into(),
                update_fc_every: "4".into(),
                completion: format!("{completion} B"),
                request: format!("{request} B"),
                ordered_sets: true,
                both_ways: true,
            };
            let answer = wire(&mut Diagnostics::default(), &q).expect("a valid question");
            (answer.completion, answer.read)
        };
        for (payload, completion, request, used) in [
            (128, 256, 512, 128),
            (512, 1024, 4096, 512),
            (64, 256, 512, 128),
            (256, 256, 128, 128),
            (256, 64, 512, 64),
        ] {
            let (said, read) = ask(payload, completion, request);
            assert_eq!((said, read), (used, ask(payload, used, request).1), "{payload} {completion} {request}");
        }
    }

    /// With both directions alike, and Acks by count (so many TLPs come within the Ack latency limit), each carries for
    /// each of its TLPs a share of an Ack and an UpdateFC for the other's:
    /// (n TLPs of payload, header and framing) and two DLLPs of 8 B for n of them.
    #[test]
    fn both_directions_carry_the_dllps_of_the_other() {
        for (speed, mps, every, framing) in
            [("gen1 x1", 128, 1, 24), ("gen3 x8", 256, 4, 24), ("gen4 x16", 4096, 1, 24), ("gen5 x16", 512, 2, 24)]
        {
            let q = Question {
                speed: speed.into(),
                payload: format!("{mps} B"),
                header: "4DW".into(),
                ecrc: false,
                ack_every: every.to_string(),
                update_fc_every: every.to_string(),
                completion: "64 B".into(),
                request: "512 B".into(),
                ordered_sets: false,
                both_ways: true,
            };
            let mut d = Diagnostics::default();
            let a = wire(&mut d, &q).expect("a valid question");
            let n = f64::from(every);
            let (mps, framing) = (f64::from(mps), f64::from(framing));
            let efficiency = n * mps / (n * (mps + framing) + 16.0);
            assert!((a.efficiency - efficiency).abs() < 1e-9, "{speed}: {} for {efficiency}", a.efficiency);
            assert!((a.write / (a.coded * efficiency) - 1.0).abs() < 1e-9, "{speed}: {} of {}", a.write, a.coded);
        }
    }
}
