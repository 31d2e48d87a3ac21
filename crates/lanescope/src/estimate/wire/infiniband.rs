//! What one link of InfiniBand carries of an operation's messages, packet by packet; and the same of RoCE, whose
//! packets go in Ethernet frames.
//!
//! Messages follow one another without a gap, and each is acknowledged once where it is acknowledged at all: the fewest
//! that the specification allows. What a queue pair, an adapter or a bus behind it may add is not in it. On InfiniBand
//! each direction has flow control packets of one virtual lane, as rarely as they may be.

use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::estimate::wire::read::read;
use crate::protocol::ethernet;
use crate::protocol::infiniband::{Carrier, LineRate, MOST_MESSAGE, Message, Mtu, Operation, Packet, Service};
use crate::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts with their units.
#[derive(Clone, Debug)]
pub struct Question {
    /// Speed and width, e.g. `edr 4x`; of RoCE the rate of the MAC, e.g. `100 Gb/s`.
    pub rate: String,
    /// What the packets go in.
    pub carrier: Carrier,
    /// Largest payload of a packet, e.g. `2048 B`.
    pub mtu: String,
    /// `send`, `write` or `read`.
    pub operation: String,
    /// `rc`, `uc`, `ud` or `xrc`.
    pub service: String,
    /// With immediate data, of a send or a write.
    pub immediate: bool,
    /// Bytes of one message, e.g. `64 KiB`.
    pub size: String,
}

/// The answer. The direction of data is that of the requester, but for reads.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// As it is written: `edr 4x`, `100 Gb/s`.
    pub rate: String,
    /// Line coding.
    pub coding: String,
    /// Bits per second after it, one way.
    pub coded: f64,
    /// What the packets go in: `InfiniBand`, `RoCE v2 over IPv4`.
    pub carrier: String,
    /// Largest payload of a packet, bytes.
    pub mtu: u64,
    /// `RDMA WRITE`.
    pub operation: String,
    /// `rc`.
    pub service: String,
    /// Bytes of one message.
    pub size: u64,
    /// The packets of one message and of its answer, by kind.
    pub packets: Vec<Kind>,
    /// What goes in the direction of data for one message.
    pub with_data: Way,
    /// What goes against it for one message.
    pub against: Way,
    /// Messages per second, when they go one way only.
    pub messages_per_second: f64,
    /// Their data, bits per second.
    pub payload: f64,
    /// Messages per second in each direction, when as many go both ways.
    pub messages_per_second_both_ways: f64,
    /// Their data, bits per second, in each direction.
    pub payload_both_ways: f64,
    /// Data / bytes on the wire in the direction of data.
    pub efficiency: f64,
    /// Bytes of the wire between two flow control packets of a virtual lane, at most; `None` of RoCE.
    pub flow_control_every: Option<u64>,
    /// Where the signalled bits of the direction of data go, when messages go one way only; they add up to the first,
    /// `raw`.
    pub shares: Vec<Share>,
    /// By size of a message.
    pub curve: Vec<Point>,
}

/// Packets of one kind.
#[derive(Clone, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Kind {
    /// `RDMA WRITE first`.
    pub name: String,
    /// Whether it goes with the data.
    pub with_data: bool,
    /// How many there are in a message.
    pub count: u64,
    /// Bytes on the wire of each.
    pub wire: u64,
    /// Blocks of credit of each; 0 of RoCE.
    pub blocks: u64,
    /// What it consists of, in the order in which it is sent.
    pub parts: Vec<Part>,
}

/// A part of a packet.
#[derive(Clone, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Part {
    /// `BTH`.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// What one message puts on one direction.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema, PartialEq)]
pub struct Way {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub wire: u64,
    /// Blocks of credit; 0 of RoCE.
    pub blocks: u64,
}

/// A share of a rate.
#[derive(Clone, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Share {
    /// Of what.
    pub name: String,
    /// Bits per second.
    pub bits: f64,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// Bytes of one message.
    pub size: u64,
    /// Packets with data.
    pub packets: u64,
    /// Bytes on the wire in the direction of data.
    pub wire: u64,
    /// Messages per second, one way.
    pub messages_per_second: f64,
    /// Data / bytes on the wire.
    pub efficiency: f64,
    /// Data, bits per second, one way.
    pub payload: f64,
    /// The same in each direction, when as many messages go both ways.
    pub payload_both_ways: f64,
}

/// Sizes of the curve: 8 B to 4 MiB.
const SIZES: [u64; 15] =
    [8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

/// A link, as far as messages see it.
struct Link {
    name: String,
    coding: &'static str,
    raw: Rate,
    coded: Rate,
    /// What is left for packets.
    free: Rate,
    flow_control_every: Option<u64>,
}

fn link(diagnostics: &mut Diagnostics, q: &Question) -> Option<Link> {
    if let Carrier::InfiniBand { .. } = q.carrier {
        let Some(rate) = LineRate::parse(&q.rate) else {
            let hint = "a speed (sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr) and a width (1x, 2x, 4x, 8x, 12x), \
                e.g. \"edr 4x\"";
            let what = format!("there is no InfiniBand of {:?}", q.rate);
            diagnostics.push(Diagnostic::error(None, what).hint(hint));
            return None;
        };
        return Some(Link {
            name: rate.to_string(),
            coding: rate.coding(),
            raw: rate.raw(),
            coded: rate.data_rate(),
            free: rate.after_flow_control(1),
            flow_control_every: Some(rate.flow_control_bytes()),
        });
    }
    let rate = read(diagnostics, (&q.rate, "rate", Rate::UNITS, "100 Gb/s"), Rate::parse)?;
    let Some(mac) = ethernet::LineRate::of(rate) else {
        let list = ethernet::LineRate::all().map(|r| r.to_string()).collect::<Vec<_>>().join(", ");
        let what = format!("no Ethernet MAC runs at {:?}", q.rate);
        diagnostics.push(Diagnostic::error(None, what).hint(format!("there are {list}")));
        return None;
    };
    let (coding, raw, coded) = (mac.coding(), mac.raw(), mac.rate());
    Some(Link { name: mac.to_string(), coding, raw, coded, free: coded, flow_control_every: None })
}

/// One of a few words, or a message that lists them.
fn word<T: Copy>(diagnostics: &mut Diagnostics, text: &str, what: &str, words: &[(&'static str, T)]) -> Option<T> {
    let found = words.iter().find(|w| w.0.eq_ignore_ascii_case(text.trim()));
    if found.is_none() {
        let names = || words.iter().map(|w| w.0);
        let list = names().collect::<Vec<_>>().join(", ");
        let near = nearest(text, names()).map_or(String::new(), |n| format!("did you mean {n}? "));
        let d =
            Diagnostic::error(None, format!("{text:?} is not a valid {what}")).hint(format!("{near}there are {list}"));
        diagnostics.push(d);
    }
    found.map(|w| w.1)
}

fn message(diagnostics: &mut Diagnostics, q: &Question) -> Option<Message> {
    let operations = [("send", Operation::Send), ("write", Operation::Write), ("read", Operation::Read)];
    let services = [("rc", Service::Rc), ("uc", Service::Uc), ("ud", Service::Ud), ("xrc", Service::Xrc)];
    let operation = word(diagnostics, &q.operation, "operation", &operations);
    let service = word(diagnostics, &q.service, "transport service", &services);
    let mtu = read(diagnostics, (&q.mtu, "size", Bytes::UNITS, "2048 B"), Bytes::parse).and_then(|bytes| {
        let mtu = Mtu::new(bytes);
        if mtu.is_none() {
            let d = Diagnostic::error(None, format!("{:?} is not a valid MTU", q.mtu));
            diagnostics.push(d.hint("there are 256 B, 512 B, 1024 B, 2048 B and 4096 B (IBA 7.7.8)"));
        }
        mtu
    });
    let size = read(diagnostics, (&q.size, "size", Bytes::UNITS, "64 KiB"), Bytes::parse).and_then(|size| {
        let fits = size.0 <= MOST_MESSAGE;
        if !fits {
            let d = Diagnostic::error(None, format!("{:?} is not a valid message", q.size));
            diagnostics.push(d.hint("at most 2 GiB (IBA 9.7)"));
        }
        fits.then_some(size.0)
    });
    let (operation, service, mtu, bytes) = (operation?, service?, mtu?, size?);
    let mut wrong = |what: String, hint: &str| {
        diagnostics.push(Diagnostic::error(None, what).hint(hint));
        None
    };
    if !service.has(operation) {
        let what = format!("{} has no {}", q.service.trim().to_lowercase(), operation.name());
        return wrong(what, "rc and xrc have all operations, uc has send and write, ud has send (IBA 9.8)");
    }
    let operation = match (operation, q.immediate) {
        (Operation::Send, true) => Operation::SendImmediate,
        (Operation::Write, true) => Operation::WriteImmediate,
        (Operation::Read, true) => {
            return wrong("a read has no immediate data".into(), "a send or a write may have it");
        }
        (operation, _) => operation,
    };
    if service == Service::Ud && bytes > mtu.bytes() {
        let what = format!("a datagram of {:?} does not fit into a packet", q.size);
        return wrong(what, &format!("at most the MTU, {mtu} (IBA 9.8.3)"));
    }
    Some(Message { operation, service, bytes, mtu })
}

/// The message that goes with the data, and what goes against it.
fn ways(m: Message) -> (Message, Option<Message>) {
    match m.answer() {
        Some(data) if data.operation == Operation::ReadResponse => (data, Some(m)),
        answer => (m, answer),
    }
}

fn way(m: Option<Message>, carrier: Carrier) -> Way {
    m.map_or(Way::default(), |m| Way { packets: m.packets(), wire: m.wire(carrier), blocks: m.blocks(carrier) })
}

fn point(free: Rate, m: Message, carrier: Carrier) -> Point {
    let (data, against) = ways(m);
    let (with, against) = (way(Some(data), carrier), way(against, carrier));
    // The busier direction limits: of small reads it is that of the requests.
    let per_second = free.bytes() / with.wire.max(against.wire) as f64;
    let both_ways = free.bytes() / (with.wire + against.wire) as f64;
    let bits = m.bytes as f64 * 8.0;
    Point {
        size: m.bytes,
        packets: with.packets,
        wire: with.wire,
        messages_per_second: per_second,
        efficiency: m.bytes as f64 / with.wire as f64,
        payload: bits * per_second,
        payload_both_ways: bits * both_ways,
    }
}

fn kinds(m: Message, carrier: Carrier, with_data: bool) -> impl Iterator<Item = Kind> {
    let one =
        move |p: Packet| if m.packets() == 1 { String::new() } else { format!(" {:?}", p.position).to_lowercase() };
    m.kinds().map(move |(count, p)| Kind {
        name: format!("{}{}", m.operation.name(), one(p)),
        with_data,
        count,
        wire: p.wire(carrier),
        blocks: p.blocks(carrier),
        parts: p.parts(carrier).into_iter().map(|(name, bytes)| Part { name: name.into(), bytes }).collect(),
    })
}

/// Which share of the link a part of a packet belongs to.
fn share_of(part: &str) -> &'static str {
    match part {
        "payload" => "payload",
        "padding" | "padding of the frame" => "padding",
        "start delimiter" | "end delimiter" => "delimiters",
        "preamble" | "gap" => "gap, preamble",
        "Ethernet header" | "FCS" => "Ethernet header, FCS",
        "IPv4" | "IPv6" | "UDP" => "IP, UDP",
        "ICRC" | "VCRC" => "CRCs",
        "LRH" | "GRH" => "routing headers",
        _ => "transport headers",
    }
}

fn shares(link: &Link, packets: &[Kind], per_second: f64) -> Vec<Share> {
    let mut list = vec![
        ("raw", link.raw.bits()),
        ("line coding", link.raw.bits() - link.coded.bits()),
        ("flow control", link.coded.bits() - link.free.bits()),
    ];
    let order = [
        "gap, preamble",
        "Ethernet header, FCS",
        "IP, UDP",
        "delimiters",
        "routing headers",
        "transport headers",
        "CRCs",
        "padding",
        "payload",
    ];
    for name in order {
        let bytes: u64 = packets
            .iter()
            .filter(|k| k.with_data)
            .flat_map(|k| k.parts.iter().filter(|p| share_of(&p.name) == name).map(|p| k.count * p.bytes))
            .sum();
        list.push((name, bytes as f64 * 8.0 * per_second));
    }
    let used: f64 = list.iter().skip(1).map(|s| s.1).sum();
    let idle = link.raw.bits() - used;
    // Where the other direction limits. What is left by rounding is not idle.
    if idle > 1e-9 * link.raw.bits() {
        list.insert(3, ("idle", idle));
    }
    list.retain(|s| s.1 > 0.0);
    list.into_iter().map(|(name, bits)| Share { name: name.into(), bits }).collect()
}

/// Answers; what is wrong with the question is in `diagnostics`, all of it at once.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let (link, m) = (link(diagnostics, q), message(diagnostics, q));
    let (link, m) = (link?, m?);
    let (data, against) = ways(m);
    let mut packets: Vec<Kind> = kinds(data, q.carrier, true).collect();
    packets.extend(against.into_iter().flat_map(|a| kinds(a, q.carrier, false)));
    let here = point(link.free, m, q.carrier);
    let (with_data, back) = (way(Some(data), q.carrier), way(against, q.carrier));
    let fits = |size: &u64| m.service != Service::Ud || *size <= m.mtu.bytes();
    Some(Answer {
        rate: link.name.clone(),
        coding: link.coding.into(),
        coded: link.coded.bits(),
        carrier: carrier_name(q.carrier).into(),
        mtu: m.mtu.bytes(),
        operation: m.operation.name().trim_end_matches(" request").into(),
        service: q.service.trim().to_lowercase(),
        size: m.bytes,
        messages_per_second: here.messages_per_second,
        payload: here.payload,
        messages_per_second_both_ways: link.free.bytes() / (with_data.wire + back.wire) as f64,
        payload_both_ways: here.payload_both_ways,
        efficiency: here.efficiency,
        flow_control_every: link.flow_control_every,
        shares: shares(&link, &packets, here.messages_per_second),
        packets,
        with_data,
        against: back,
        curve: SIZES
            .into_iter()
            .filter(fits)
            .map(|bytes| point(link.free, Message { bytes, ..m }, q.carrier))
            .collect(),
    })
}

fn carrier_name(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::InfiniBand { grh: false } => "InfiniBand",
        Carrier::InfiniBand { grh: true } => "InfiniBand with GRH",
        Carrier::RoceV1 => "RoCE v1",
        Carrier::RoceV2 { ipv6: false } => "RoCE v2 over IPv4",
        Carrier::RoceV2 { ipv6: true } => "RoCE v2 over IPv6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            rate: "edr 4x".into(),
            carrier: Carrier::InfiniBand { grh: false },
            mtu: "2048 B".into(),
            operation: "write".into(),
            service: "rc".into(),
            immediate: false,
            size: "64 KiB".into(),
        }
    }

    fn ask(q: Question) -> Result<Answer, Vec<String>> {
        let mut d = Diagnostics::default();
        wire(&mut d, &q).ok_or_else(|| d.sorted().iter().map(|d| d.message.clone()).collect())
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-12
    }

    #[test]
    fn a_write_by_hand() {
        let a = ask(question()).expect("a valid question");
        // 32 packets with 28 B each, 16 B of RETH once; one ACK of 32 B.
        assert_eq!((a.with_data.packets, a.with_data.wire, a.against.wire), (32, 65_536 + 32 * 28 + 16, 32));
        let free = 100e9 * (262_144.0 - 8.0) / 262_144.0;
        assert!(close(a.payload, free * 65_536.0 / 66_448.0), "{}", a.payload);
        assert!(close(a.payload_both_ways, free * 65_536.0 / (66_448.0 + 32.0)));
        assert!(close(a.messages_per_second * 524_288.0, a.payload));
        let kinds: Vec<(&str, u64, u64, u64)> =
            a.packets.iter().map(|k| (k.name.as_str(), k.count, k.wire, k.blocks)).collect();
        let write =
            [("RDMA WRITE first", 1, 2092, 33), ("RDMA WRITE middle", 30, 2076, 33), ("RDMA WRITE last", 1, 2076, 33)];
        assert_eq!(kinds, [&write[..], &[("ACK", 1, 32, 1)]].concat());
    }

    #[test]
    fn a_small_read_is_limited_by_its_requests() {
        let a = ask(Question { operation: "read".into(), size: "8 B".into(), ..question() }).expect("a valid question");
        // The request has a RETH, the data have an AETH.
        assert_eq!((a.against.wire, a.with_data.wire), (44, 28 + 4 + 8));
        let free = 100e9 * (262_144.0 - 8.0) / 262_144.0 / 8.0;
        assert!(close(a.messages_per_second, free / 44.0));
        assert!(close(a.messages_per_second_both_ways, free / 84.0));
        let idle = a.shares.iter().find(|s| s.name == "idle").map_or(0.0, |s| s.bits);
        assert!(close(idle, free * 8.0 * 4.0 / 44.0));
    }

    #[test]
    fn roce_by_hand() {
        let v2 = Question {
            rate: "25 Gb/s".into(),
            carrier: Carrier::RoceV2 { ipv6: false },
            mtu: "1024 B".into(),
            ..question()
        };
        let a = ask(Question { size: "1024 B".into(), ..v2 }).expect("a valid question");
        assert_eq!((a.with_data.wire, a.with_data.blocks, a.flow_control_every), (1122, 0, None));
        assert!(close(a.payload, 25e9 * 1024.0 / 1122.0));
    }

    #[test]
    fn shares_add_up() {
        let carriers = [
            ("edr 4x", Carrier::InfiniBand { grh: true }),
            ("sdr 12x", Carrier::InfiniBand { grh: false }),
            ("100 Gb/s", Carrier::RoceV1),
            ("10 Gb/s", Carrier::RoceV2 { ipv6: true }),
        ];
        for (rate, carrier) in carriers {
            for operation in ["send", "write", "read"] {
                for size in ["0 B", "1 B", "13 B", "2048 B", "1 MB", "2 GiB"] {
                    let q = Question {
                        rate: rate.into(),
                        carrier,
                        operation: operation.into(),
                        size: size.into(),
                        ..question()
                    };
                    let a = ask(q).expect("a valid question");
                    let sum: f64 = a.shares.iter().skip(1).map(|s| s.bits).sum();
                    assert_eq!(a.shares[0].name, "raw");
                    assert!((sum / a.shares[0].bits - 1.0).abs() < 1e-9, "{rate} {operation} {size}: {:?}", a.shares);
                    assert!(a.payload_both_ways <= a.payload && a.payload <= a.coded);
                    assert!(a.curve.windows(2).all(|p| p[0].payload <= p[1].payload));
                }
            }
        }
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        let wrong = Question {
            rate: "edr 3x".into(),
            mtu: "1500 B".into(),
            operation: "sned".into(),
            service: "tcp".into(),
            size: "3 GiB".into(),
            ..question()
        };
        let all = ask(wrong).expect_err("nothing of it is right");
        assert_eq!(all.len(), 5, "{all:?}");
        let one = |q: Question| ask(q).expect_err("wrong").join("; ");
        assert_eq!(
            one(Question { service: "UC".into(), operation: "read".into(), ..question() }),
            "uc has no RDMA READ request"
        );
        assert_eq!(
            one(Question { immediate: true, operation: "read".into(), ..question() }),
            "a read has no immediate data"
        );
        let datagram = Question { service: "ud".into(), operation: "send".into(), ..question() };
        assert!(one(datagram.clone()).contains("does not fit"));
        assert_eq!(ask(Question { size: "2 KiB".into(), ..datagram }).map(|a| a.curve.len()), Ok(8));
        let roce = Question { carrier: Carrier::RoceV1, ..question() };
        assert!(one(roce.clone()).contains("is not a valid rate"));
        assert!(one(Question { rate: "9 Gb/s".into(), ..roce }).contains("no Ethernet MAC runs"));
    }
}
