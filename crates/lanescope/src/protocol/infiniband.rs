//! InfiniBand: link speeds and widths, packets by operation, credits; and RoCE, which carries the same transport in
//! Ethernet frames.
//!
//! References: InfiniBand Architecture Specification (IBA) volume 1, chapters 5 (packets), 7 (link), 9 (transport),
//! annexes A14 (XRC), A16 and A17 (RoCE); volume 2 for the physical layer. Confirmed by public descriptions of them:
//! sizes and order of all headers but XRCETH, which packets of an operation have which header, delimiters as one symbol
//! each, LRH's length in words without the VCRC, MTUs, fields of a flow control packet, blocks of 64 B, virtual lane 15
//! without flow control, rates up to EDR with their coding, rates of HDR and NDR, data rates of all. From memory:
//! XRCETH, how often flow control packets are sent, half of the counter as most credit, that a block count goes up to
//! the VCRC, RS-FEC as the reason of 16/17, XDR's signalling, FEC of FDR and EDR, that delimiters cost the same behind
//! 64b/66b, where the start of a packet takes its octet of a block as Ethernet's does. Not counted: skip ordered sets,
//! some 4 symbols in 4,500.
//!
//! A byte here is a byte after line coding. A packet without delimiters and VCRC is a whole number of words, so with
//! both it is one again: it fills the lanes of 1X, 2X and 4X links, and 8X and 12X links may begin a packet on every
//! fourth lane; nothing is lost between packets.

use super::ethernet;
use crate::units::{Bytes, Rate, Time};
use std::fmt;

/// Local route header, bytes (IBA 7.7).
pub(crate) const LRH: u64 = 8;
/// Global route header, bytes: in packets to another subnet, in multicast packets, and in all of RoCE v1 (IBA 8.3).
pub(crate) const GRH: u64 = 40;
/// Base transport header, bytes (IBA 9.2).
pub(crate) const BTH: u64 = 12;
/// Datagram extended transport header, bytes (IBA 9.3.2).
pub(crate) const DETH: u64 = 8;
/// RDMA extended transport header, bytes: address, key, length (IBA 9.3.3).
pub(crate) const RETH: u64 = 16;
/// Atomic extended transport header, bytes (IBA 9.3.4).
pub(crate) const ATOMIC_ETH: u64 = 28;
/// Acknowledgement extended transport header, bytes (IBA 9.3.5).
pub(crate) const AETH: u64 = 4;
/// What an atomic operation found, bytes (IBA 9.3.5).
pub(crate) const ATOMIC_ACK_ETH: u64 = 8;
/// Immediate data, bytes (IBA 9.3.6).
pub(crate) const IMM_DT: u64 = 4;
/// Extended transport header of shared receive queues, bytes (IBA annex A14).
pub(crate) const XRCETH: u64 = 4;
/// Invariant CRC, bytes (IBA 7.8.1).
pub(crate) const ICRC: u64 = 4;
/// Variant CRC, bytes (IBA 7.8.2).
pub(crate) const VCRC: u64 = 2;
/// Start delimiter (SDP, SLP), bytes: one symbol (IBA 7.9, volume 2).
pub(crate) const START: u64 = 1;
/// End delimiter (EGP, EBP), bytes: one symbol (IBA 7.9, volume 2).
pub(crate) const END: u64 = 1;
/// Payloads are padded to words of so many bytes (IBA 9.2).
pub(crate) const WORD: u64 = 4;
/// Longest message, bytes: 2^31 (IBA 9.7, 9.8).
pub(crate) const MOST_MESSAGE: u64 = 1 << 31;

/// A flow control packet, bytes: operand and FCTBS, virtual lane and FCCL, a CRC (IBA 7.9.4).
pub(crate) const FLOW_CONTROL: u64 = 6;
/// The same on the wire.
pub(crate) const FLOW_CONTROL_WIRE: u64 = START + FLOW_CONTROL + END;
/// Symbol times, bytes of one lane, within which each virtual lane's flow control packet is repeated at least (IBA
/// 7.9.4).
pub(crate) const FLOW_CONTROL_SYMBOLS: u64 = 65_536;
/// Bytes of a block, the unit of credit (IBA 7.9).
pub(crate) const BLOCK: u64 = 64;
/// Blocks that a receiver may promise to a virtual lane at once: half of what a counter of 12 bits tells apart (IBA
/// 7.9.4).
pub(crate) const MOST_BLOCKS: u64 = 2048;
/// Blocks that must be free again in a buffer of so many before its receiver says so: a quarter of it, or as many as
/// still leave room for the largest packet. The standard leaves it open; chosen, so that flow control packets are few.
pub(crate) const fn blocks_told(whole: u64, largest: u64) -> u64 {
    let (quarter, room) = (whole / 4, (whole + 1).saturating_sub(largest));
    let least = if quarter < room { quarter } else { room };
    if least == 0 { 1 } else { least }
}
/// Blocks of credit that a buffer of so many bytes is.
pub(crate) const fn buffer_blocks(bytes: u64) -> u64 {
    match bytes / BLOCK {
        0 => 1,
        blocks if blocks > MOST_BLOCKS => MOST_BLOCKS,
        blocks => blocks,
    }
}
/// How far apart packets of `blocks` blocks start at least by the credit of a buffer of `whole`, where the largest
/// packet takes `largest`. A packet takes `size` on the wire, and `until_known` from its start until the sender knows
/// that its place is free, both in one unit of time, which is the answer's.
///
/// The buffer holds W packets, and credit comes back for k at once: as many as bring what [`blocks_told`] waits for.
/// Packet n then starts no earlier than `until_known` after packet k⌈(n + 1 − W)/k⌉ − 1, the last of the k that make
/// room for it, and than `size` after the packet before it. Of these two constraints the longest cycle is one wait for
/// credit and k − 1 − (W mod k) packets behind one another, in which k⌊W/k⌋ packets go.
pub(crate) fn paced_by_credit(whole: u64, largest: u64, blocks: u64, size: f64, until_known: f64) -> f64 {
    let blocks = blocks.max(1);
    let held = (whole / blocks).max(1);
    let told = blocks_told(whole, largest).div_ceil(blocks).min(held);
    let behind = told - 1 - held % told;
    size.max((until_known + behind as f64 * size) / (held - held % told) as f64)
}
/// Virtual lanes for data: 0 to 14 (IBA 7.6). Lane 15 is for management, without flow control.
pub const DATA_LANES: u64 = 15;

/// IPv4 header without options, bytes (RFC 791).
pub(crate) const IPV4: u64 = 20;
/// IPv6 header, bytes (RFC 8200).
pub(crate) const IPV6: u64 = 40;
/// UDP header, bytes (RFC 768); RoCE v2 goes to port 4791 (IBA annex A17).
pub(crate) const UDP: u64 = 8;

/// The speed of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speed {
    /// Single data rate.
    Sdr,
    /// Double data rate.
    Ddr,
    /// Quad data rate.
    Qdr,
    /// FDR's coding at 10 Gb/s; Mellanox's own.
    Fdr10,
    /// Fourteen data rate.
    Fdr,
    /// Enhanced data rate.
    Edr,
    /// High data rate.
    Hdr,
    /// Next data rate.
    Ndr,
    /// Extended data rate.
    Xdr,
}

/// (speed, name, signalled bits per second of a lane, bits of data, bits of line for them, coding).
type Row = (Speed, &'static str, u64, u64, u64, &'static str);

/// 64b/66b may be transcoded: 256b/257b with RS(528,514) takes 64 of 66 bits too, so error correction costs EDR nothing
/// more; with RS(544,514), 16 of 17 are data.
const SPEEDS: [Row; 9] = [
    (Speed::Sdr, "sdr", 2_500_000_000, 8, 10, "8b/10b"),
    (Speed::Ddr, "ddr", 5_000_000_000, 8, 10, "8b/10b"),
    (Speed::Qdr, "qdr", 10_000_000_000, 8, 10, "8b/10b"),
    (Speed::Fdr10, "fdr10", 10_312_500_000, 64, 66, "64b/66b"),
    (Speed::Fdr, "fdr", 14_062_500_000, 64, 66, "64b/66b"),
    (Speed::Edr, "edr", 25_781_250_000, 64, 66, "64b/66b, or 256b/257b with RS(528,514)"),
    (Speed::Hdr, "hdr", 53_125_000_000, 16, 17, "256b/257b with RS(544,514)"),
    (Speed::Ndr, "ndr", 106_250_000_000, 16, 17, "256b/257b with RS(544,514)"),
    (Speed::Xdr, "xdr", 212_500_000_000, 16, 17, "256b/257b with RS(544,514)"),
];

impl Speed {
    /// All, slowest first.
    pub(crate) fn all() -> impl Iterator<Item = Speed> {
        SPEEDS.iter().map(|r| r.0)
    }

    fn row(self) -> Row {
        SPEEDS[self as usize]
    }

    /// `sdr` to `xdr`.
    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }
}

/// Lanes of a link: 1, 2, 4, 8 or 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u8);

impl Width {
    /// All, narrowest first (IBA volume 2; 2X came with HDR).
    pub(crate) const ALL: [Width; 5] = [Width(1), Width(2), Width(4), Width(8), Width(12)];

    /// A width, when the specification has it.
    pub fn new(lanes: u64) -> Option<Width> {
        Width::ALL.into_iter().find(|w| w.lanes() == lanes)
    }

    /// How many.
    pub(crate) fn lanes(self) -> u64 {
        self.0.into()
    }
}

/// What a port runs at, one way: `edr 4x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRate {
    /// Of each lane.
    pub speed: Speed,
    /// Lanes.
    pub width: Width,
}

impl LineRate {
    /// All: by speed, then by width.
    pub(crate) fn all() -> impl Iterator<Item = LineRate> {
        Speed::all().flat_map(|speed| Width::ALL.map(|width| LineRate { speed, width }))
    }

    /// Reads `edr 4x`, in any case.
    pub(crate) fn parse(text: &str) -> Option<LineRate> {
        let (speed, width) = text.trim().split_once(|c: char| c.is_ascii_whitespace())?;
        let lanes = width.trim_start().strip_suffix(['x', 'X'])?;
        Some(LineRate {
            speed: Speed::all().find(|s| s.name().eq_ignore_ascii_case(speed))?,
            width: Width::ALL.into_iter().find(|w| w.lanes().to_string() == lanes)?,
        })
    }

    /// Bits per second on the medium.
    pub(crate) fn raw(self) -> Rate {
        Rate::from_bits(self.speed.row().2 * self.width.lanes())
    }

    /// Bits per second after line coding and error correction: `edr 4x` has 100 Gb/s, `fdr 4x` 54.55 Gb/s.
    pub(crate) fn data_rate(self) -> Rate {
        let (_, _, _, data, line, _) = self.speed.row();
        self.raw().scaled(data, line)
    }

    /// What flow control packets leave of [`data_rate`](LineRate::data_rate) at most, when each of so many virtual
    /// lanes has no more than it must have.
    pub(crate) fn after_flow_control(self, virtual_lanes: u64) -> Rate {
        let all = FLOW_CONTROL_SYMBOLS * self.width.lanes();
        self.data_rate().scaled(all.saturating_sub(FLOW_CONTROL_WIRE * virtual_lanes), all)
    }

    /// Bytes of the link between two flow control packets of a virtual lane at most.
    pub(crate) fn flow_control_bytes(self) -> u64 {
        FLOW_CONTROL_SYMBOLS * self.width.lanes()
    }

    /// The line coding.
    pub(crate) fn coding(self) -> &'static str {
        self.speed.row().5
    }

    /// How long so many bytes take on the wire.
    pub fn time(self, bytes: u64) -> Time {
        self.data_rate().time(Bytes(bytes))
    }
}

impl fmt::Display for LineRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}x", self.speed.name(), self.width.0)
    }
}

impl serde::Serialize for LineRate {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Largest payload of a packet (IBA 7.7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mtu(u16);

impl Mtu {
    /// All, smallest first.
    pub(crate) const ALL: [Mtu; 5] = [Mtu(256), Mtu(512), Mtu(1024), Mtu(2048), Mtu(4096)];

    /// An MTU, when the specification has it.
    pub(crate) fn new(bytes: Bytes) -> Option<Mtu> {
        Mtu::ALL.into_iter().find(|m| m.bytes() == bytes.0)
    }

    /// In bytes.
    pub(crate) const fn bytes(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.bytes()).fmt(f)
    }
}

impl serde::Serialize for Mtu {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// What a packet belongs to (IBA 9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImmediate,
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate data.
    WriteImmediate,
    /// RDMA READ, the request: one packet, however much it asks for.
    Read,
    /// RDMA READ, the data.
    ReadResponse,
    /// Acknowledgement, good or bad.
    Ack,
    /// CmpSwap or FetchAdd.
    Atomic,
    /// Its answer.
    AtomicAck,
}

impl Operation {
    /// As the specification writes it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Operation::Send => "SEND",
            Operation::SendImmediate => "SEND with immediate",
            Operation::Write => "RDMA WRITE",
            Operation::WriteImmediate => "RDMA WRITE with immediate",
            Operation::Read => "RDMA READ request",
            Operation::ReadResponse => "RDMA READ response",
            Operation::Ack => "ACK",
            Operation::Atomic => "atomic request",
            Operation::AtomicAck => "atomic ACK",
        }
    }

    /// Whether its packets carry the bytes of the message.
    pub(crate) const fn carries(self) -> bool {
        use Operation::{ReadResponse, Send, SendImmediate, Write, WriteImmediate};
        matches!(self, Send | SendImmediate | Write | WriteImmediate | ReadResponse)
    }

    const fn answers(self) -> bool {
        matches!(self, Operation::ReadResponse | Operation::Ack | Operation::AtomicAck)
    }
}

/// How two queue pairs talk (IBA 9.7, 9.8; annex A14). Reliable and raw datagrams are not meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    /// Reliable connection.
    Rc,
    /// Unreliable connection: nothing is acknowledged.
    Uc,
    /// Unreliable datagram: nothing is acknowledged, a message is one packet.
    Ud,
    /// Extended reliable connection: as reliable, with a shared receive queue.
    Xrc,
}

impl Service {
    /// Whether it has the operation.
    pub(crate) const fn has(self, operation: Operation) -> bool {
        use Operation::{Send, SendImmediate, Write, WriteImmediate};
        match self {
            Service::Rc | Service::Xrc => true,
            Service::Uc => matches!(operation, Send | SendImmediate | Write | WriteImmediate),
            Service::Ud => matches!(operation, Send | SendImmediate),
        }
    }

    /// Whether requests are answered.
    pub(crate) const fn reliable(self) -> bool {
        matches!(self, Service::Rc | Service::Xrc)
    }
}

/// Where a packet stands in its message (IBA 9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    /// First of several.
    First,
    /// Neither first nor last.
    Middle,
    /// Last of several.
    Last,
    /// The only one.
    Only,
}

impl Position {
    /// Of the `n`-th packet, from 0, of so many.
    pub(crate) const fn of(n: u64, packets: u64) -> Position {
        match (n == 0, n + 1 >= packets) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        }
    }

    const fn begins(self) -> bool {
        matches!(self, Position::First | Position::Only)
    }

    const fn ends(self) -> bool {
        matches!(self, Position::Last | Position::Only)
    }
}

/// What a transport packet, BTH to ICRC, goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// A packet of InfiniBand.
    InfiniBand {
        /// With a global route header.
        grh: bool,
    },
    /// An Ethernet frame with a global route header (IBA annex A16).
    RoceV1,
    /// A datagram of UDP (IBA annex A17).
    RoceV2 {
        /// Over IPv6, not IPv4.
        ipv6: bool,
    },
}

/// What packets go in on InfiniBand: one subnet, without global routes.
pub(crate) const INFINIBAND: Carrier = Carrier::InfiniBand { grh: false };
/// What they go in on Ethernet.
pub(crate) const ROCE: Carrier = Carrier::RoceV2 { ipv6: false };

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packet {
    /// What it belongs to.
    pub operation: Operation,
    /// How.
    pub service: Service,
    /// Where it stands.
    pub position: Position,
    /// Bytes that it carries, without padding.
    pub payload: u64,
}

impl Packet {
    /// An acknowledgement.
    pub(crate) const fn ack(service: Service) -> Packet {
        Packet { operation: Operation::Ack, service, position: Position::Only, payload: 0 }
    }

    /// Its extended transport headers, with their bytes.
    pub(crate) fn extended(self) -> impl Iterator<Item = (&'static str, u64)> {
        use Operation::{Ack, Atomic, AtomicAck, Read, ReadResponse, SendImmediate, Write, WriteImmediate};
        let (o, begins, ends) = (self.operation, self.position.begins(), self.position.ends());
        [
            ("DETH", DETH, self.service == Service::Ud),
            ("XRCETH", XRCETH, self.service == Service::Xrc && !o.answers()),
            ("RETH", RETH, o == Read || begins && matches!(o, Write | WriteImmediate)),
            ("AtomicETH", ATOMIC_ETH, o == Atomic),
            ("AETH", AETH, matches!(o, Ack | AtomicAck) || o == ReadResponse && (begins || ends)),
            ("AtomicAckETH", ATOMIC_ACK_ETH, o == AtomicAck),
            ("ImmDt", IMM_DT, ends && matches!(o, SendImmediate | WriteImmediate)),
        ]
        .into_iter()
        .filter_map(|(name, bytes, there)| there.then_some((name, bytes)))
    }

    /// Bytes that fill the payload up to whole words (IBA 9.2, PadCnt).
    pub(crate) const fn padding(self) -> u64 {
        self.payload.next_multiple_of(WORD) - self.payload
    }

    /// Bytes of the transport packet, BTH to ICRC: the same in InfiniBand and RoCE.
    pub(crate) fn transport(self) -> u64 {
        BTH + self.extended().map(|e| e.1).sum::<u64>() + self.payload + self.padding() + ICRC
    }

    /// Bytes of the packet as a buffer holds it: LRH to VCRC; of RoCE the frame, destination to FCS.
    pub(crate) fn bytes(self, carrier: Carrier) -> u64 {
        match carrier {
            Carrier::InfiniBand { grh } => LRH + self.transport() + VCRC + if grh { GRH } else { 0 },
            Carrier::RoceV1 | Carrier::RoceV2 { .. } => ethernet::frame(self.client_data(carrier)),
        }
    }

    /// MAC client data of the frame that it goes in; 0 in InfiniBand.
    pub(crate) fn client_data(self, carrier: Carrier) -> u64 {
        match carrier {
            Carrier::InfiniBand { .. } => 0,
            Carrier::RoceV1 => GRH + self.transport(),
            Carrier::RoceV2 { ipv6 } => UDP + self.transport() + if ipv6 { IPV6 } else { IPV4 },
        }
    }

    /// Bytes that it takes of the wire: with delimiters, or with preamble and gap.
    pub(crate) fn wire(self, carrier: Carrier) -> u64 {
        match carrier {
            Carrier::InfiniBand { .. } => START + self.bytes(carrier) + END,
            Carrier::RoceV1 | Carrier::RoceV2 { .. } => ethernet::wire(self.bytes(carrier)),
        }
    }

    /// Blocks of credit that it takes: LRH to VCRC, rounded up (IBA 7.9). RoCE has no credit: 0.
    pub(crate) fn blocks(self, carrier: Carrier) -> u64 {
        match carrier {
            Carrier::InfiniBand { .. } => self.bytes(carrier).div_ceil(BLOCK),
            Carrier::RoceV1 | Carrier::RoceV2 { .. } => 0,
        }
    }

    /// Everything that [`wire`](Packet::wire) counts, in the order in which it is sent, with the words a person reads;
    /// nothing has 0 bytes.
    pub(crate) fn parts(self, carrier: Carrier) -> Vec<(&'static str, u64)> {
        let before: &[(&str, u64)] = match carrier {
            Carrier::InfiniBand { grh: false } => &[("start delimiter", START), ("LRH", LRH)],
            Carrier::InfiniBand { grh: true } => &[("start delimiter", START), ("LRH", LRH), ("GRH", GRH)],
            Carrier::RoceV1 => &[("preamble", ethernet::PREAMBLE), ("Ethernet header", ethernet::HEADER), ("GRH", GRH)],
            Carrier::RoceV2 { ipv6: false } => {
                &[("preamble", ethernet::PREAMBLE), ("Ethernet header", ethernet::HEADER), ("IPv4", IPV4), ("UDP", UDP)]
            }
            Carrier::RoceV2 { ipv6: true } => {
                &[("preamble", ethernet::PREAMBLE), ("Ethernet header", ethernet::HEADER), ("IPv6", IPV6), ("UDP", UDP)]
            }
        };
        let mut parts = before.to_vec();
        parts.push(("BTH", BTH));
        parts.extend(self.extended());
        parts.extend([("payload", self.payload), ("padding", self.padding()), ("ICRC", ICRC)]);
        match carrier {
            Carrier::InfiniBand { .. } => parts.extend([("VCRC", VCRC), ("end delimiter", END)]),
            Carrier::RoceV1 | Carrier::RoceV2 { .. } => parts.extend([
                ("padding of the frame", ethernet::padding(self.client_data(carrier))),
                ("FCS", ethernet::FCS),
                ("gap", ethernet::GAP),
            ]),
        }
        parts.retain(|p| p.1 > 0);
        parts
    }
}

/// A message, or its answer, cut into packets of at most the MTU (IBA 9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    /// What.
    pub operation: Operation,
    /// How.
    pub service: Service,
    /// Bytes that it moves; of a read request, those that it asks for.
    pub bytes: u64,
    /// Largest payload of a packet.
    pub mtu: Mtu,
}

impl Message {
    /// Packets: at least one, also without data.
    pub(crate) const fn packets(self) -> u64 {
        let packets = if self.operation.carries() { self.bytes.div_ceil(self.mtu.bytes()) } else { 1 };
        if packets == 0 { 1 } else { packets }
    }

    /// The `n`-th, from 0; those behind the last are like it.
    pub(crate) const fn packet(self, n: u64) -> Packet {
        let packets = self.packets();
        let position = Position::of(n, packets);
        let payload = match position {
            _ if !self.operation.carries() => 0,
            Position::First | Position::Middle => self.mtu.bytes(),
            Position::Last | Position::Only => self.bytes - (packets - 1) * self.mtu.bytes(),
        };
        Packet { operation: self.operation, service: self.service, position, payload }
    }

    /// The kinds of its packets, at most three, with how many there are: first, middle, last, or the only one.
    pub(crate) fn kinds(self) -> impl Iterator<Item = (u64, Packet)> {
        let packets = self.packets();
        let middle = packets.saturating_sub(2);
        [(1, 0), (middle, 1), (u64::from(packets > 1), packets - 1)]
            .into_iter()
            .filter(|k| k.0 > 0)
            .map(move |(count, n)| (count, self.packet(n)))
    }

    /// Bytes on the wire of all of it.
    pub(crate) fn wire(self, carrier: Carrier) -> u64 {
        self.kinds().fold(0, |sum, (n, p)| n.saturating_mul(p.wire(carrier)).saturating_add(sum))
    }

    /// Blocks of credit of all of it.
    pub(crate) fn blocks(self, carrier: Carrier) -> u64 {
        self.kinds().fold(0, |sum, (n, p)| n.saturating_mul(p.blocks(carrier)).saturating_add(sum))
    }

    /// What comes back, where something does: the data of a read, else one acknowledgement of the whole message, the
    /// fewest that there can be (IBA 9.7.5).
    pub(crate) const fn answer(self) -> Option<Message> {
        let operation = match self.operation {
            _ if !self.service.reliable() || self.operation.answers() => return None,
            Operation::Read => Operation::ReadResponse,
            Operation::Atomic => Operation::AtomicAck,
            _ => Operation::Ack,
        };
        Some(Message { operation, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Ack, Atomic, AtomicAck, Read, ReadResponse, Send, SendImmediate, Write, WriteImmediate};
    use proptest::prelude::*;

    const IB: Carrier = Carrier::InfiniBand { grh: false };
    const ROUTED: Carrier = Carrier::InfiniBand { grh: true };
    const V2: Carrier = Carrier::RoceV2 { ipv6: false };
    const CARRIERS: [Carrier; 5] = [IB, ROUTED, Carrier::RoceV1, V2, Carrier::RoceV2 { ipv6: true }];
    const OPERATIONS: [Operation; 9] =
        [Send, SendImmediate, Write, WriteImmediate, Read, ReadResponse, Ack, Atomic, AtomicAck];

    fn message(operation: Operation, bytes: u64, mtu: u64) -> Message {
        Message { operation, service: Service::Rc, bytes, mtu: Mtu::new(Bytes(mtu)).expect("an MTU") }
    }

    fn rate(text: &str) -> LineRate {
        LineRate::parse(text).expect("a rate")
    }

    /// A sender of equal packets over a wire, one by one: of a buffer for W packets of which credit comes back for k at
    /// once, packet by packet, against the closed form.
    #[test]
    fn credit_paces_packets_as_one_by_one() {
        assert_eq!((blocks_told(66, 33), paced_by_credit(66, 33, 33, 2.0, 24.0)), (16, 12.0));
        // Room for four, told of two at a time: one waits behind the other.
        assert_eq!((blocks_told(136, 33), paced_by_credit(136, 33, 33, 2.0, 24.0)), (34, (24.0 + 2.0) / 4.0));
        proptest!(|(whole in 1u64..300, largest in 1u64..80, blocks in 1u64..80, until_known in 2.0..50.0)| {
            let (blocks, size) = (blocks.min(largest).min(whole), 2.0);
            let (mut credit, mut freed, mut free, mut start) = (whole, 0, 0, Vec::<f64>::new());
            let mut now = 0.0_f64;
            while start.len() < 3000 {
                while credit < blocks {
                    now = now.max(start[free] + until_known);
                    (free, freed) = (free + 1, freed + blocks);
                    if freed >= blocks_told(whole, largest.min(whole)) {
                        (credit, freed) = (credit + freed, 0);
                    }
                }
                credit -= blocks;
                start.push(now);
                now += size;
            }
            let pace = (start[2999] - start[599]) / 2400.0;
            let told = paced_by_credit(whole, largest.min(whole), blocks, size, until_known);
            // A cycle is at most as many packets as the buffer holds.
            prop_assert!((pace - told).abs() <= told * whole as f64 / blocks as f64 / 2400.0, "{} {}", pace, told);
        });
    }

    #[test]
    fn speeds_by_hand() {
        for (n, speed) in Speed::all().enumerate() {
            assert_eq!(speed as usize, n, "rows stand in the order of the speeds");
        }
        let gigabits = |text: &str| rate(text).data_rate();
        let whole = [("sdr 1x", 2), ("sdr 4x", 8), ("ddr 4x", 16), ("ddr 12x", 48), ("qdr 4x", 32), ("fdr10 4x", 40)];
        let modern =
            [("edr 4x", 100), ("hdr 2x", 100), ("hdr 4x", 200), ("ndr 4x", 400), ("xdr 4x", 800), ("edr 8x", 200)];
        for (text, gb) in whole.into_iter().chain(modern) {
            assert_eq!(gigabits(text), Rate::from_bits(gb * 1_000_000_000), "{text}");
        }
        // 56.25 Gb/s x 64 / 66.
        assert_eq!(gigabits("fdr 4x"), Rate::ratio(600_000_000_000, 11));
        assert_eq!(rate("fdr 4x").raw(), Rate::from_bits(56_250_000_000));
        // What the table says of error correction: 256/257 x 514/528 = 64/66, 256/257 x 514/544 = 16/17.
        assert_eq!((256 * 514 * 66, 256 * 514 * 17), (64 * 257 * 528, 16 * 257 * 544));
        // A byte of FDR 4X takes no whole number of femtoseconds: a moment comes of a count.
        assert_eq!(rate("fdr 4x").time(600_000_000_000 / 8).fs(), 11_000_000_000_000_000);
    }

    #[test]
    fn rates_are_read_as_they_are_shown() {
        assert_eq!(LineRate::all().count(), 45);
        for rate in LineRate::all() {
            assert_eq!(LineRate::parse(&rate.to_string()), Some(rate));
            assert!(rate.raw() > rate.data_rate());
        }
        for text in ["EDR 4X", " edr  4x ", "edr\t4x"] {
            assert_eq!(LineRate::parse(text), Some(rate("edr 4x")), "{text:?}");
        }
        for text in
            ["", "edr", "edr4x", "edr 4", "edr 3x", "edr 04x", "edr x", "tdr 4x", "4x edr", "edr 4x 4x", "edr -1x"]
        {
            assert_eq!(LineRate::parse(text), None, "{text:?}");
        }
        assert_eq!(Mtu::ALL.map(|m| m.to_string()), ["256 B", "512 B", "1 KiB", "2 KiB", "4 KiB"]);
        assert_eq!((Mtu::new(Bytes(1500)), Width::new(3), Width::new(12).map(Width::lanes)), (None, None, Some(12)));
    }

    #[test]
    fn packets_by_hand() {
        // 1 + 8 + 12 + 2048 + 4 + 2 + 1: 26 B around the payload, and two delimiters.
        let only = message(Send, 2048, 2048).packet(0);
        assert_eq!((only.transport(), only.bytes(IB), only.wire(IB), only.blocks(IB)), (2064, 2074, 2076, 33));
        assert_eq!(only.wire(ROUTED), 2116);
        // An RDMA WRITE says where to, once: 16 B.
        let write = message(Write, 10_000, 4096);
        let wires: Vec<u64> = (0..3).map(|n| write.packet(n).wire(IB)).collect();
        assert_eq!((write.packets(), wires), (3, vec![4096 + 44, 4096 + 28, 1808 + 28]));
        // 65 blocks each of 4138 and 4122 B, 29 of 1834 B.
        assert_eq!((write.wire(IB), write.blocks(IB)), (10_000 + 44 + 28 + 28, 65 + 65 + 29));
        // Data of a read: the first and the last packet have an AETH; the request is one packet of 44 B.
        let read = message(Read, 10_000, 4096);
        let data = read.answer().expect("the data");
        assert_eq!((read.packets(), read.wire(IB), data.wire(IB)), (1, 44, 10_000 + 3 * 28 + 8));
        // An acknowledgement: 1 + 8 + 12 + 4 + 4 + 2 + 1.
        assert_eq!((Packet::ack(Service::Rc).wire(IB), Packet::ack(Service::Rc).blocks(IB)), (32, 1));
        assert_eq!((message(Atomic, 8, 256).wire(IB), message(AtomicAck, 8, 256).wire(IB)), (28 + 28, 28 + 12));
        // One byte is padded to four; no data is a packet too.
        assert_eq!((message(Send, 1, 256).wire(IB), message(Send, 0, 256).wire(IB)), (32, 28));
        // Immediate data come with the last packet.
        let immediate = message(WriteImmediate, 512, 256);
        assert_eq!((immediate.packet(0).wire(IB), immediate.packet(1).wire(IB)), (256 + 44, 256 + 32));
        let datagram = Message { service: Service::Ud, ..message(Send, 256, 256) };
        assert_eq!((datagram.wire(IB), datagram.answer()), (256 + 36, None));
        let shared = Message { service: Service::Xrc, ..message(Write, 512, 256) };
        assert_eq!((shared.wire(IB), shared.answer().map(|a| a.wire(IB))), (512 + 2 * 32 + 16, Some(32)));
        assert_eq!(FLOW_CONTROL_WIRE, 8);
    }

    #[test]
    fn roce_by_hand() {
        let only = message(Write, 1024, 1024).packet(0);
        // 12 + 16 + 1024 + 4.
        assert_eq!(only.transport(), 1056);
        // 14 + 20 + 8 + 1056 + 4, and 20 of preamble and gap; an IPv6 header and a GRH are of one size, but v1 has no
        // UDP.
        assert_eq!((only.client_data(V2), only.bytes(V2), only.wire(V2)), (1084, 1102, 1122));
        assert_eq!((only.wire(Carrier::RoceV2 { ipv6: true }), only.wire(Carrier::RoceV1)), (1142, 1134));
        // The frame of an acknowledgement is padded: 14 + 20 + 8 + 12 + 4 + 4 + 4 = 66 B of v2 are enough, those of an
        // empty SEND are 62 B.
        assert_eq!((Packet::ack(Service::Rc).bytes(V2), message(Send, 0, 256).packet(0).bytes(V2)), (66, 64));
        assert_eq!((only.blocks(V2), only.client_data(IB)), (0, 0));
    }

    #[test]
    fn flow_control_costs_little() {
        // 8 B in 65,536 symbols of four lanes.
        let rate = rate("sdr 4x");
        assert_eq!(rate.flow_control_bytes(), 262_144);
        assert_eq!(rate.after_flow_control(1), Rate::ratio(8_000_000_000 * (262_144 - 8), 262_144));
        assert_eq!(rate.after_flow_control(0), rate.data_rate());
        assert!(rate.after_flow_control(DATA_LANES) > rate.data_rate().scaled(999, 1000));
    }

    fn any() -> impl Strategy<Value = (Message, Carrier)> {
        let services = [Service::Rc, Service::Uc, Service::Ud, Service::Xrc];
        let bytes = prop_oneof![0u64..20_000, 0..=MOST_MESSAGE];
        (0..OPERATIONS.len(), 0..services.len(), bytes, 0..Mtu::ALL.len(), 0..CARRIERS.len()).prop_map(
            move |(o, s, bytes, m, c)| {
                (Message { operation: OPERATIONS[o], service: services[s], bytes, mtu: Mtu::ALL[m] }, CARRIERS[c])
            },
        )
    }

    proptest! {
        #[test]
        fn packets_add_up((m, carrier) in any()) {
            let kinds: Vec<_> = m.kinds().collect();
            prop_assert_eq!(kinds.iter().map(|k| k.0).sum::<u64>(), m.packets());
            let carried: u64 = kinds.iter().map(|(n, p)| n * p.payload).sum();
            prop_assert_eq!(carried, if m.operation.carries() { m.bytes } else { 0 });
            for (_, p) in kinds {
                prop_assert!(p.payload <= m.mtu.bytes());
                let parts = p.parts(carrier);
                prop_assert_eq!(parts.iter().map(|p| p.1).sum::<u64>(), p.wire(carrier));
                if let Carrier::InfiniBand { .. } = carrier {
                    // Whole words, as the lanes want them; never more around the payload than the specification has
                    // (7.7.8: 126 B).
                    prop_assert_eq!(p.wire(carrier) % WORD, 0);
                    prop_assert!(p.bytes(carrier) - p.payload - p.padding() <= 126);
                    prop_assert!((p.bytes(carrier)..p.bytes(carrier) + BLOCK).contains(&(p.blocks(carrier) * BLOCK)));
                }
            }
            let one_by_one: u64 = (0..m.packets().min(300)).map(|n| m.packet(n).wire(carrier)).sum();
            prop_assert!(m.packets() > 300 || one_by_one == m.wire(carrier));
        }

        #[test]
        fn more_bytes_take_no_less_of_the_wire((m, carrier) in any(), more in 0u64..10_000) {
            let longer = Message { bytes: m.bytes + more, ..m };
            prop_assert!(longer.wire(carrier) >= m.wire(carrier) && longer.blocks(carrier) >= m.blocks(carrier));
            let answer = |m: Message| m.answer().map_or(0, |a| a.wire(carrier));
            prop_assert!(answer(longer) >= answer(m));
            // A larger MTU takes no more.
            let large = Message { mtu: Mtu::ALL[4], ..m };
            prop_assert!(large.wire(carrier) <= m.wire(carrier));
        }
    }

    #[test]
    fn services_have_their_operations() {
        let count = |s: Service| OPERATIONS.into_iter().filter(|o| s.has(*o)).count();
        assert_eq!([Service::Rc, Service::Uc, Service::Ud, Service::Xrc].map(count), [9, 4, 2, 9]);
        // An answer is not answered.
        assert!(OPERATIONS.into_iter().all(|o| message(o, 9, 256).answer().and_then(Message::answer).is_none()));
        assert_eq!(
            (Position::of(0, 1), Position::of(1, 3), Position::of(2, 3)),
            (Position::Only, Position::Middle, Position::Last)
        );
        // No message is too long for the arithmetic.
        let endless = message(Write, u64::MAX, 256);
        assert_eq!((endless.packets(), endless.wire(IB)), (1 << 56, u64::MAX));
    }
}
