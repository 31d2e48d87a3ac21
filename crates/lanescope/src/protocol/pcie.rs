//! PCI Express: line rates, framing, TLP and DLLP sizes, ordered sets, flow-control units, Ack limits.
//!
//! Clauses are those of the PCI Express Base Specification; "2.0" or "3.0" in front says which revision's numbering.
//! Sizes are bytes as they cross the link after line coding ("slots" of the ledger): one symbol of 8b/10b, one byte of
//! a 128b/130b block, one byte of a flit. They are the same for any number of lanes, because lanes stripe bytes.

use crate::units::{Bytes, Rate};
use serde::Serialize;
use std::fmt;

/// A generation of the physical layer, named by the base specification's major revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Generation {
    /// 2.5 GT/s, 8b/10b.
    Gen1,
    /// 5 GT/s, 8b/10b.
    Gen2,
    /// 8 GT/s, 128b/130b.
    Gen3,
    /// 16 GT/s, 128b/130b.
    Gen4,
    /// 32 GT/s, 128b/130b.
    Gen5,
    /// 64 GT/s, PAM4, FLIT mode.
    Gen6,
    /// 128 GT/s, PAM4, FLIT mode.
    Gen7,
    /// None: the coherent fabric of a host (Infinity Fabric, UPI, a mesh), which carries the same transactions from
    /// one root complex to another at a rate of its own.
    Coherent,
}

/// How a TLP is wrapped for the wire, which changes with the line coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// 8b/10b: STP and END symbols around sequence number and LCRC (2.0, 4.2.2).
    Symbols,
    /// 128b/130b: an STP token that holds length and sequence number, then the LCRC (3.0, 4.2.2.3).
    Tokens,
    /// 256 B flits that hold TLPs without any framing of their own (6.0, 4.2.3.4).
    Flits,
    /// None that is known: the rate of a coherent link is that of transactions, their headers counted.
    Bare,
}

impl Generation {
    /// Most tags of one requester: 8 bits (2.0, 2.2.6.2), 10 from 16 GT/s on (4.0, 2.2.6.2), 14 from 64 GT/s on (6.0,
    /// 2.2.6.2).
    pub fn tags(self) -> u32 {
        match self {
            g if g < Self::Gen4 => 1 << 8,
            g if g < Self::Gen6 => 1 << 10,
            _ => 1 << 14,
        }
    }

    /// All of PCIe, oldest first.
    pub(crate) const ALL: [Generation; 7] =
        [Self::Gen1, Self::Gen2, Self::Gen3, Self::Gen4, Self::Gen5, Self::Gen6, Self::Gen7];

    /// `"gen1"` to `"gen7"`, or `"coherent"`.
    pub(crate) fn name(self) -> &'static str {
        ["gen1", "gen2", "gen3", "gen4", "gen5", "gen6", "gen7", "coherent"][self as usize]
    }

    /// Reads `"gen3"`.
    pub(crate) fn parse(text: &str) -> Option<Generation> {
        Self::ALL.into_iter().find(|g| g.name() == text)
    }

    /// The next one.
    pub(crate) fn next(self) -> Option<Generation> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// Bits per second on one lane, one direction, before line coding (1.0 to 7.0, "Data Rates"); a coherent link has
    /// no lanes that anybody counts.
    pub(crate) fn lane_rate(self) -> Rate {
        Rate::from_bits(
            [
                2_500_000_000,
                5_000_000_000,
                8_000_000_000,
                16_000_000_000,
                32_000_000_000,
                64_000_000_000,
                128_000_000_000,
                0,
            ][self as usize],
        )
    }

    /// The framing that this line rate uses. (Gen1 to Gen5 can also train to FLIT mode beside a Gen6 partner; not
    /// modelled.)
    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::Gen1 | Self::Gen2 => Framing::Symbols,
            Self::Gen3 | Self::Gen4 | Self::Gen5 => Framing::Tokens,
            Self::Gen6 | Self::Gen7 => Framing::Flits,
            Self::Coherent => Framing::Bare,
        }
    }

    /// Line coding as data bits over line bits: 8/10, 128/130, or 1/1 (PAM4 with precoding, 6.0, 4.2.1).
    pub(crate) fn coding(self) -> (u64, u64) {
        match self.framing() {
            Framing::Symbols => (8, 10),
            Framing::Tokens => (128, 130),
            Framing::Flits | Framing::Bare => (1, 1),
        }
    }
}

/// Lanes of a link: x1, x2, x4, x8, x12, x16 or x32 (2.0, 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Lanes(u8);

impl Lanes {
    /// The widths that the specification defines.
    pub(crate) const WIDTHS: [u8; 7] = [1, 2, 4, 8, 12, 16, 32];

    /// A width, when the specification has it.
    pub(crate) fn new(lanes: u64) -> Option<Lanes> {
        Self::WIDTHS.into_iter().find(|&w| w as u64 == lanes).map(Lanes)
    }

    /// How many.
    pub fn count(self) -> u64 {
        self.0 as u64
    }

    /// Twice as many (x12 is skipped: it is not a step that a slot offers).
    pub(crate) fn doubled(self) -> Option<Lanes> {
        Lanes::new(self.count() * 2)
    }
}

/// Generation and width of a trained link, or the rate of a coherent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Speed {
    /// Generation.
    pub generation: Generation,
    /// Width; 1 of a coherent link.
    pub lanes: Lanes,
    /// What a coherent link carries one way, headers of transactions counted; 0 of PCIe.
    pub coherent: Rate,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.generation {
            Generation::Coherent => write!(f, "{} coherent", self.coherent),
            _ => write!(f, "{} x{}", self.generation.name(), self.lanes.0),
        }
    }
}

impl Serialize for Speed {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl Speed {
    /// Of a link of PCIe.
    pub(crate) fn new(generation: Generation, lanes: Lanes) -> Speed {
        Speed { generation, lanes, coherent: Rate::from_bits(0) }
    }

    /// Of a coherent link, one way.
    pub(crate) fn coherent(rate: Rate) -> Speed {
        Speed { generation: Generation::Coherent, lanes: Lanes(1), coherent: rate }
    }

    /// Whether it is of a coherent link, which has neither DLLPs nor ordered sets.
    pub fn is_coherent(self) -> bool {
        self.generation == Generation::Coherent
    }

    /// Bits per second one way, before line coding.
    pub(crate) fn raw(self) -> Rate {
        match self.generation {
            Generation::Coherent => self.coherent,
            generation => generation.lane_rate().scaled(self.lanes.count(), 1),
        }
    }

    /// Bits per second one way after line coding: the rate of the ledger's slots.
    pub fn coded(self) -> Rate {
        let (n, d) = self.generation.coding();
        self.raw().scaled(n, d)
    }

    /// The share of the slots that TLPs can use beside ordered sets and the fixed parts of flits.
    /// `skp_interval` in symbols (8b/10b) or blocks (128b/130b); 0 turns ordered sets off.
    pub(crate) fn usable(self, skp_interval: u64) -> f64 {
        1.0 - ordered_set_share(self.generation, skp_interval) - flit_overhead(self.generation)
    }
}

/// Bytes of a flit and of its TLP part (6.0, 4.2.3.4: 236 B TLP, 6 B DLP, 8 B CRC, 6 B FEC).
pub(crate) const FLIT: (u64, u64) = (256, 236);

/// The share of the slots that flits spend on DLP, CRC and FEC.
pub(crate) fn flit_overhead(generation: Generation) -> f64 {
    match generation.framing() {
        Framing::Flits => 1.0 - FLIT.1 as f64 / FLIT.0 as f64,
        _ => 0.0,
    }
}

/// SKP ordered sets are scheduled every 1180 to 1538 symbol times (2.0, 4.2.7).
pub(crate) const SKP_SYMBOLS: (u64, u64) = (1180, 1538);
/// SKP ordered sets are scheduled every 370 to 375 blocks (3.0, 4.2.7).
pub(crate) const SKP_BLOCKS: (u64, u64) = (370, 375);

/// The shortest and the longest interval between SKP ordered sets, in symbols or blocks; `None` in FLIT mode, where
/// they are not modelled.
pub(crate) fn skp_intervals(generation: Generation) -> Option<(u64, u64)> {
    match generation.framing() {
        Framing::Symbols => Some(SKP_SYMBOLS),
        Framing::Tokens => Some(SKP_BLOCKS),
        Framing::Flits | Framing::Bare => None,
    }
}

/// The share of the slots that SKP ordered sets take: COM and three SKP on every lane each `interval` symbols (2.0,
/// 4.2.7.1), or one block of 16 symbols on every lane each `interval` blocks (3.0, 4.2.7.2; its EDS token of 4 B a link
/// is left out). FLIT mode's are not modelled: 0.
pub(crate) fn ordered_set_share(generation: Generation, interval: u64) -> f64 {
    // The same on any number of lanes.
    ordered_set_slots(generation, Lanes(1), interval).map_or(0.0, |(every, size)| (size as f64 / every as f64).min(1.0))
}

/// SKP ordered sets in slots (bytes) of a link: one each so many, and the size of one; `None` where there are none (see
/// `ordered_set_share`).
pub fn ordered_set_slots(generation: Generation, lanes: Lanes, interval: u64) -> Option<(u64, u64)> {
    let lanes = lanes.count();
    match generation.framing() {
        _ if interval == 0 => None,
        Framing::Symbols => Some((interval * lanes, 4 * lanes)),
        Framing::Tokens => Some((interval * 16 * lanes, 16 * lanes)),
        Framing::Flits | Framing::Bare => None,
    }
}

/// Size of a TLP header (2.0, 2.2.1): three double words for 32-bit addresses and completions, four for 64-bit
/// addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Header {
    /// 3 DW, 12 B.
    #[serde(rename = "3DW")]
    Dw3,
    /// 4 DW, 16 B.
    #[serde(rename = "4DW")]
    Dw4,
}

impl Header {
    /// In bytes.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Header::Dw3 => 12,
            Header::Dw4 => 16,
        }
    }
}

/// Bytes around header and payload of one TLP. 8b/10b: STP 1, sequence number 2, LCRC 4, END 1 (2.0, 3.5.2.1 and
/// 4.2.2). 128b/130b: STP token 4 (with the sequence number), LCRC 4 (3.0, 4.2.2.3.1). Flits: none.
pub(crate) fn tlp_framing(generation: Generation) -> u64 {
    match generation.framing() {
        Framing::Symbols | Framing::Tokens => 8,
        Framing::Flits | Framing::Bare => 0,
    }
}

/// Bytes that one TLP puts on the wire: framing, header, payload in whole double words, and the ECRC digest where it is
/// on (2.0, 2.7.1).
pub fn tlp(generation: Generation, header: Header, payload: u64, ecrc: bool) -> u64 {
    tlp_framing(generation) + tlp_body(header, payload, ecrc)
}

/// The same without the framing: what a TLP keeps from link to link.
pub(crate) fn tlp_body(header: Header, payload: u64, ecrc: bool) -> u64 {
    header.bytes() + payload.next_multiple_of(4) + if ecrc { 4 } else { 0 }
}

/// Bytes that one DLLP (Ack, Nak, UpdateFC) puts on the wire: SDP 1, content 4, CRC 2, END 1 (2.0, 3.4.1 and 4.2.2), or
/// an SDP token of 2 and 6 (3.0, 4.2.2.3.1). In FLIT mode they travel in the DLP bytes of each flit: none.
pub(crate) fn dllp(generation: Generation) -> u64 {
    match generation.framing() {
        Framing::Symbols | Framing::Tokens => 8,
        Framing::Flits | Framing::Bare => 0,
    }
}

/// Bytes until the first byte of a completion's payload has arrived: start framing and header (2.0, 2.2.9: 3 DW).
pub(crate) fn completion_head(generation: Generation) -> u64 {
    let start = match generation.framing() {
        Framing::Symbols => 3,
        Framing::Tokens => 4,
        Framing::Flits | Framing::Bare => 0,
    };
    start + Header::Dw3.bytes()
}

/// Bytes that fill up the last symbol time of a packet when nothing follows it: PAD symbols or IDL tokens on the lanes
/// that it leaves over (2.0, 4.2.2.1; 3.0, 4.2.2.3.2). Packets back to back leave none, since starts may fall on any
/// fourth lane.
pub fn lane_padding(wire: u64, lanes: Lanes) -> u64 {
    wire.next_multiple_of(lanes.count().max(4)) - wire
}

/// A class of traffic with flow-control credits of its own (2.0, 2.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Memory writes and messages.
    Posted,
    /// Reads, and writes that are answered.
    NonPosted,
    /// Completions.
    Completion,
}

impl Class {
    /// All of them.
    pub(crate) const ALL: [Class; 3] = [Class::Posted, Class::NonPosted, Class::Completion];
}

/// One data credit is 4 DW (2.0, 2.6.1).
pub const DATA_CREDIT: u64 = 16;

/// Data credits of one class that a payload takes (2.0, 2.6.1); it always takes one header credit beside.
pub(crate) fn data_credits(payload: u64) -> u64 {
    payload.div_ceil(DATA_CREDIT)
}

/// Legal values of Max_Payload_Size and Max_Read_Request_Size (2.0, 7.8.4).
pub(crate) const SIZES: [u64; 6] = [128, 256, 512, 1024, 2048, 4096];

/// A value of Max_Payload_Size or Max_Read_Request_Size in bytes: one of `SIZES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PayloadSize(u64);

impl PayloadSize {
    /// A size, when the specification has it.
    pub(crate) fn new(bytes: Bytes) -> Option<PayloadSize> {
        SIZES.contains(&bytes.0).then_some(PayloadSize(bytes.0))
    }

    /// What both fields hold after reset, as MPS (2.0, 7.8.4).
    pub(crate) const RESET: PayloadSize = PayloadSize(128);

    /// The largest.
    pub(crate) const LARGEST: PayloadSize = PayloadSize(4096);

    /// All of them, smallest first.
    pub(crate) fn all() -> impl Iterator<Item = PayloadSize> {
        SIZES.into_iter().map(PayloadSize)
    }

    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for PayloadSize {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Bytes(self.0).fmt(f)
    }
}

/// Payload of a completion that is not the last of its request: a multiple of the read completion boundary's 64 B, up
/// to 4 KiB (2.0, 2.3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CompletionSize(u64);

impl CompletionSize {
    /// A size, when a completer may cut there.
    pub(crate) fn new(bytes: Bytes) -> Option<CompletionSize> {
        ((64..=4096).contains(&bytes.0) && bytes.0.is_multiple_of(64)).then_some(CompletionSize(bytes.0))
    }

    /// In bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CompletionSize {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Bytes(self.0).fmt(f)
    }
}

/// Bytes that a processor reads of a device at a time: a power of two up to a cache line of 64 B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LoadSize(u64);

impl LoadSize {
    /// A size, when a processor has such loads.
    pub(crate) fn new(bytes: Bytes) -> Option<LoadSize> {
        (bytes.0.is_power_of_two() && bytes.0 <= 64).then_some(LoadSize(bytes.0))
    }

    /// In bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for LoadSize {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Bytes(self.0).fmt(f)
    }
}

/// The longest that a receiver may hold back an Ack, in symbol times: ((MPS + 28) x AckFactor / lanes) + InternalDelay,
/// truncated (2.0, 3.5.3.1, tables 3-7 and 3-8; 3.0 adds 8 GT/s. InternalDelay of 19, 70 and 115; that of 8 GT/s is
/// also taken for 16 and 32). A symbol time is one byte time of one *lane*. The same numbers limit UpdateFC (2.0,
/// 2.6.1.2). FLIT mode acknowledges in every flit: 0.
pub(crate) fn ack_latency_limit(generation: Generation, lanes: Lanes, mps: u64) -> u64 {
    let internal = match generation {
        Generation::Gen1 => 19.0,
        Generation::Gen2 => 70.0,
        Generation::Gen3 | Generation::Gen4 | Generation::Gen5 => 115.0,
        Generation::Gen6 | Generation::Gen7 | Generation::Coherent => return 0,
    };
    let factor = match (mps, lanes.count()) {
        (..=256, ..=4) => 1.4,
        (..=256, 8) => 2.5,
        (..=256, _) => 3.0,
        (_, ..=8) => 1.0,
        _ => 2.0,
    };
    ((mps + 28) as f64 * factor / lanes.count() as f64 + internal) as u64
}

/// How a transfer is cut: so many full pieces, and the rest (0 when it divides).
pub(crate) fn split(size: u64, piece: u64) -> (u64, u64) {
    (size / piece, size % piece)
}

/// Pieces and their wire bytes when `size` goes out in TLPs of at most `piece` payload: (TLPs, bytes on the wire).
pub fn cut(generation: Generation, header: Header, size: u64, piece: u64, ecrc: bool) -> (u64, u64) {
    let (full, rest) = split(size, piece);
    let mut tlps = full;
    let mut bytes = full * tlp(generation, header, piece, ecrc);
    if rest > 0 {
        tlps += 1;
        bytes += tlp(generation, header, rest, ecrc);
    }
    (tlps, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(generation: Generation, lanes: u64) -> Speed {
        Speed::new(generation, Lanes::new(lanes).expect("a width"))
    }

    #[test]
    fn rates_by_generation() {
        let mb = |g, n| speed(g, n).coded().bytes() / 1e6;
        assert_eq!(mb(Generation::Gen1, 1), 250.0);
        assert_eq!(mb(Generation::Gen1, 8), 2000.0);
        assert_eq!(mb(Generation::Gen2, 4), 2000.0);
        assert!((mb(Generation::Gen3, 1) - 984.615_384).abs() < 1e-3);
        assert!((mb(Generation::Gen4, 4) - 7876.923).abs() < 1e-2);
        assert!((mb(Generation::Gen5, 16) - 63_015.38).abs() < 1e-1);
        assert_eq!(speed(Generation::Gen6, 16).coded().bits(), 1024e9);
        assert_eq!(speed(Generation::Gen7, 16).raw().bits(), 2048e9);
        // 242.2 GB/s of TLP bytes both ways is what flits leave of Gen6 x16.
        assert!((speed(Generation::Gen6, 16).usable(0) - 236.0 / 256.0).abs() < 1e-12);
    }

    #[test]
    fn a_64_byte_write_by_hand() {
        // STP 1 + sequence 2 + header 12 + data 64 + LCRC 4 + END 1
        assert_eq!(tlp(Generation::Gen1, Header::Dw3, 64, false), 84);
        // STP token 4 + header 16 + data 64 + LCRC 4
        assert_eq!(tlp(Generation::Gen3, Header::Dw4, 64, false), 88);
        assert_eq!(tlp(Generation::Gen3, Header::Dw4, 64, true), 92);
        // A read request is a header in its frame; a flit holds the bare header.
        assert_eq!(tlp(Generation::Gen2, Header::Dw3, 0, false), 20);
        assert_eq!(tlp(Generation::Gen6, Header::Dw4, 256, false), 272);
        // 5 bytes travel as two double words.
        assert_eq!(tlp(Generation::Gen1, Header::Dw3, 5, false), 28);
    }

    #[test]
    fn a_2_kib_write_in_256_byte_pieces() {
        assert_eq!(cut(Generation::Gen3, Header::Dw4, 2048, 256, false), (8, 8 * 280));
        assert_eq!(cut(Generation::Gen3, Header::Dw4, 300, 256, false), (2, 280 + 24 + 44));
    }

    #[test]
    fn ack_limits_are_those_of_the_tables() {
        let at = |g, n, mps| ack_latency_limit(g, Lanes::new(n).expect("a width"), mps);
        assert_eq!(at(Generation::Gen1, 1, 128), 237);
        assert_eq!(at(Generation::Gen1, 8, 128), 67);
        assert_eq!(at(Generation::Gen1, 16, 256), 72);
        assert_eq!(at(Generation::Gen1, 12, 512), 109);
        assert_eq!(at(Generation::Gen1, 1, 4096), 4143);
        assert_eq!(at(Generation::Gen2, 1, 128), 288);
        assert_eq!(at(Generation::Gen3, 1, 128), 333);
    }

    #[test]
    fn credits_and_padding() {
        assert_eq!(data_credits(128), 8);
        assert_eq!(data_credits(1), 1);
        assert_eq!(data_credits(0), 0);
        // 84 B on x8 end in lane 3; four lanes are padded when the link then goes idle.
        assert_eq!(lane_padding(84, Lanes::new(8).expect("a width")), 4);
        assert_eq!(lane_padding(84, Lanes::new(4).expect("a width")), 0);
    }

    #[test]
    fn ordered_sets_cost_a_quarter_of_a_percent() {
        assert!((ordered_set_share(Generation::Gen1, 1538) - 0.0026).abs() < 1e-5);
        assert!((ordered_set_share(Generation::Gen3, 375) - 0.00267).abs() < 1e-5);
        assert_eq!(ordered_set_share(Generation::Gen1, 0), 0.0);
    }

    #[test]
    fn frames_of_dllps_and_completions_by_hand() {
        // SDP, six bytes and END; a token of two bytes, and six.
        assert_eq!([Generation::Gen2, Generation::Gen3, Generation::Gen6].map(dllp), [8, 8, 0]);
        // STP and sequence number, or the token that has both; three double words.
        assert_eq!([Generation::Gen2, Generation::Gen3, Generation::Gen6].map(completion_head), [15, 16, 12]);
    }

    #[test]
    fn ordered_sets_on_every_lane() {
        let at = |g, n, every| ordered_set_slots(g, Lanes::new(n).expect("a width"), every);
        // COM and three SKP a lane each 1180 symbols of each lane; a block of 16 B a lane each 370 blocks.
        assert_eq!(at(Generation::Gen2, 4, 1180), Some((4720, 16)));
        assert_eq!(at(Generation::Gen3, 8, 370), Some((47_360, 128)));
        assert_eq!((at(Generation::Gen6, 8, 370), at(Generation::Gen3, 8, 0)), (None, None));
        assert_eq!(skp_intervals(Generation::Gen1), Some((1180, 1538)));
        assert_eq!(skp_intervals(Generation::Gen5), Some((370, 375)));
        assert_eq!(skp_intervals(Generation::Gen7), None);
        // A block of 375, and of each flit 20 B.
        assert!((speed(Generation::Gen3, 8).usable(375) - 374.0 / 375.0).abs() < 1e-12);
    }

    #[test]
    fn sizes_that_the_specification_has() {
        for (bytes, payload, completion, load) in [
            (0, false, false, false),
            (1, false, false, true),
            (3, false, false, false),
            (32, false, false, true),
            (64, false, true, true),
            (100, false, false, false),
            (128, true, true, false),
            (192, false, true, false),
            (4096, true, true, false),
            (4160, false, false, false),
            (8192, false, false, false),
        ] {
            let size = Bytes(bytes);
            assert_eq!(PayloadSize::new(size).map(PayloadSize::bytes), payload.then_some(bytes), "{bytes}");
            assert_eq!(CompletionSize::new(size).map(CompletionSize::bytes), completion.then_some(bytes), "{bytes}");
            assert_eq!(LoadSize::new(size).map(LoadSize::bytes), load.then_some(bytes), "{bytes}");
        }
    }

    #[test]
    fn generations_by_name() {
        assert_eq!(Generation::parse("gen4"), Some(Generation::Gen4));
        assert_eq!((Generation::parse("gen8"), Generation::parse("coherent")), (None, None));
        assert_eq!((Generation::Gen6.next(), Generation::Gen7.next()), (Some(Generation::Gen7), None));
    }

    #[test]
    fn only_real_widths_exist() {
        assert!(Lanes::new(3).is_none());
        assert_eq!(Lanes::new(8).and_then(Lanes::doubled), Lanes::new(16));
    }
}
