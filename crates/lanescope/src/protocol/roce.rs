//! Packets of RoCE v2 byte by byte, from the Ethernet destination to the ICRC, as captures hold them: IPv4, UDP to port
//! 4791, BTH and what its opcode asks for (InfiniBand Architecture, 9.2 to 9.3 and annex A17).
//!
//! What a model does not know is made up: addresses of parts, queue pair numbers, keys; payload is zeros.

use crate::protocol::ethernet::{FCS, MIN_FRAME, PRIORITIES, address};
use crate::protocol::infiniband::{AETH, BTH, ICRC, IMM_DT, IPV4, Operation, RETH, UDP, WORD};

/// UDP's destination port (annex A17).
pub(crate) const PORT: u16 = 4791;
/// No packet of RoCE.
pub(crate) const NONE: u8 = u8::MAX;
/// RC acknowledge (9.2.1, table 38).
pub(crate) const ACKNOWLEDGE: u8 = 0x11;
/// Congestion notification (annex A17.9.3).
pub(crate) const CNP: u8 = 0x81;
/// A positive acknowledgement that says nothing of credit (9.7.5.2.4).
pub(crate) const ACK: u8 = 0x1F;
/// A packet sequence error (9.7.5.2.8).
pub(crate) const NAK_SEQUENCE: u8 = 0x60;
/// EtherType of IPv4.
const ETHER_IPV4: u16 = 0x0800;
/// Bytes of a CNP behind its BTH (annex A17.9.3).
const CNP_RESERVED: u64 = 16;

/// The opcode of an RC packet of an operation, by whether it is the message's first and last (9.2.1, table 38).
pub(crate) const fn opcode(operation: Operation, first: bool, last: bool) -> u8 {
    let immediate = matches!(operation, Operation::SendImmediate | Operation::WriteImmediate) as u8;
    match (operation, first, last) {
        (Operation::Send | Operation::SendImmediate, true, false) => 0x00,
        (Operation::Send | Operation::SendImmediate, false, false) => 0x01,
        (Operation::Send | Operation::SendImmediate, false, true) => 0x02 + immediate,
        (Operation::Send | Operation::SendImmediate, true, true) => 0x04 + immediate,
        (Operation::Write | Operation::WriteImmediate, true, false) => 0x06,
        (Operation::Write | Operation::WriteImmediate, false, false) => 0x07,
        (Operation::Write | Operation::WriteImmediate, false, true) => 0x08 + immediate,
        (Operation::Write | Operation::WriteImmediate, true, true) => 0x0A + immediate,
        (Operation::Read, ..) => 0x0C,
        (Operation::ReadResponse, true, false) => 0x0D,
        (Operation::ReadResponse, false, false) => 0x0E,
        (Operation::ReadResponse, false, true) => 0x0F,
        (Operation::ReadResponse, true, true) => 0x10,
        (Operation::Ack, ..) => ACKNOWLEDGE,
        (Operation::AtomicAck, ..) => 0x12,
        // CmpSwap: nothing here sends any.
        (Operation::Atomic, ..) => 0x13,
    }
}

/// Whether a packet of RC is the last of its message, by its opcode: it asks for an acknowledgement.
pub(crate) const fn ends_message(opcode: u8) -> bool {
    !matches!(opcode, 0x00 | 0x01 | 0x06 | 0x07 | 0x0D | 0x0E | NONE)
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// `opcode`, `ACKNOWLEDGE` or `CNP`.
    pub opcode: u8,
    /// Bytes of data.
    pub payload: u32,
    /// Its connection.
    pub connection: u32,
    /// Packet sequence number.
    pub number: u32,
    /// Of an acknowledgement: `ACK` or `NAK_SEQUENCE`.
    pub syndrome: u8,
    /// Whether a queue on the way marked it.
    pub marked: bool,
    /// Its priority, which the DSCP says as class selector.
    pub priority: u8,
}

impl Packet {
    /// Bytes of extended headers behind the BTH.
    fn extended(&self) -> u64 {
        match self.opcode {
            0x06 | 0x0A | 0x0C => RETH,
            0x0B => RETH + IMM_DT,
            0x03 | 0x05 | 0x09 => IMM_DT,
            ACKNOWLEDGE | 0x0D | 0x0F | 0x10 => AETH,
            CNP => CNP_RESERVED,
            _ => 0,
        }
    }

    /// The frame of a packet between two parts, without its FCS.
    pub(crate) fn frame(&self, to: u32, from: u32) -> Vec<u8> {
        let padded = u64::from(self.payload).next_multiple_of(WORD);
        let transport = BTH + self.extended() + padded + ICRC;
        let mut out = Vec::with_capacity((14 + IPV4 + UDP + transport) as usize);
        out.extend(address(to));
        out.extend(address(from));
        out.extend(ETHER_IPV4.to_be_bytes());
        let ip = out.len();
        // ECN-capable, or congestion experienced (RFC 3168).
        let ecn = if self.marked { 0b11 } else { 0b10 };
        let dscp = (u32::from(self.priority) % PRIORITIES) as u8 * 8;
        out.extend([0x45, dscp << 2 | ecn]);
        out.extend(((IPV4 + UDP + transport) as u16).to_be_bytes());
        out.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        for part in [from, to] {
            let [_, a, b, c] = (part + 1).to_be_bytes();
            out.extend([10, a, b, c]);
        }
        let sum = checksum(&out[ip..ip + IPV4 as usize]).to_be_bytes();
        out[ip + 10..ip + 12].copy_from_slice(&sum);
        // The source port tells connections apart for ECMP.
        out.extend((0xC000 | (self.connection & 0x3FFF) as u16).to_be_bytes());
        out.extend(PORT.to_be_bytes());
        out.extend(((UDP + transport) as u16).to_be_bytes());
        out.extend([0, 0]);
        let pads = (padded - u64::from(self.payload)) as u8;
        out.extend([self.opcode, pads << 4, 0xFF, 0xFF]);
        // Of a CNP the backward notification.
        out.push(if self.opcode == CNP { 0x40 } else { 0 });
        out.extend(&(0x11 + self.connection).to_be_bytes()[1..]);
        // The last packet of a message asks for its acknowledgement.
        let asks = matches!(self.opcode, 0x02..=0x05 | 0x08..=0x0B);
        out.push(if asks { 0x80 } else { 0 });
        out.extend(&self.number.to_be_bytes()[1..]);
        if self.opcode == ACKNOWLEDGE {
            out.push(self.syndrome);
            out.extend(&self.number.to_be_bytes()[1..]);
        } else {
            out.resize(out.len() + self.extended() as usize, 0);
        }
        out.resize(out.len() + padded as usize, 0);
        let crc = icrc(&out[ip..]).to_le_bytes();
        out.extend(crc);
        out.resize(out.len().max((MIN_FRAME - FCS) as usize), 0);
        out
    }
}

/// The Internet checksum of a header (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}

/// The invariant CRC from the IP header on, with all ones for what changes on the way (annex A17.3.3).
fn icrc(packet: &[u8]) -> u32 {
    // Type of service, time to live, checksums of IP and UDP, and reserved bits of the BTH.
    let changes = |at: usize| matches!(at, 1 | 8 | 10 | 11 | 26 | 27 | 32);
    let link = std::iter::repeat_n(0xFF, 8);
    let rest = packet.iter().enumerate().map(|(at, byte)| if changes(at) { 0xFF } else { *byte });
    let mut crc = u32::MAX;
    for byte in link.chain(rest) {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_by_hand() {
        let packet = Packet {
            opcode: opcode(Operation::Write, true, true),
            payload: 5,
            connection: 2,
            number: 0x0102_0304,
            syndrome: 0,
            marked: true,
            priority: 3,
        };
        let frame = packet.frame(1, 0);
        // Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, data 8, ICRC 4.
        assert_eq!(frame.len(), 14 + 20 + 8 + 12 + 16 + 8 + 4);
        assert_eq!(frame[12..16], [0x08, 0x00, 0x45, (3 << 5) | 0b11]);
        assert_eq!(frame[16..18], 68u16.to_be_bytes());
        assert_eq!(frame[26..34], [10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(frame[34..40], [0xC0, 2, 0x12, 0xB7, 0, 48]);
        assert_eq!(frame[42..54], [0x0A, 0x30, 0xFF, 0xFF, 0, 0, 0, 0x13, 0x80, 2, 3, 4]);
        // A header with its checksum sums up to nothing.
        assert_eq!(checksum(&frame[14..34]), 0);
    }

    /// The checksum that textbooks work out: 4500 + 0073 + 4000 + 4011 + c0a8 + 0001 + c0a8 + 00c7 is 2479c, folded
    /// 479e, and its complement b861. Where folding carries it is folded again: of ones' complement ffff is nothing, so
    /// that ffff + ffff + 0001 is 1.
    #[test]
    fn checksums_by_hand() {
        let header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xC0, 0xA8, 0, 0x01, 0xC0, 0xA8, 0, 0xC7];
        assert_eq!(checksum(&header), 0xB861);
        assert_eq!(checksum(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 1]), 0xFFFE);
    }

    /// Of the opcodes of table 38 those with an RDMA header (16 B), immediate data (4), both, or an acknowledgement's
    /// (4); of a CNP 16 reserved bytes. Without data the headers are 14 + 20 + 8 + 12 B, and the ICRC 4; what is below
    /// 60 B is padded to that, with the FCS the 64 B that 802.3 asks for.
    #[test]
    fn headers_of_each_opcode() {
        let bytes = |opcode, payload| {
            let (connection, number, syndrome, marked, priority) = (0, 0, 0, false, 0);
            Packet { opcode, payload, connection, number, syndrome, marked, priority }.frame(0, 1).len()
        };
        for (opcode, extended) in [
            (0x06, 16),
            (0x0A, 16),
            (0x0C, 16),
            (0x0B, 20),
            (0x03, 4),
            (0x05, 4),
            (0x09, 4),
            (0x11, 4),
            (0x0D, 4),
            (0x0F, 4),
            (0x10, 4),
            (0x81, 16),
            (0x00, 0),
            (0x01, 0),
            (0x07, 0),
            (0x08, 0),
            (0x0E, 0),
        ] {
            assert_eq!(bytes(opcode, 256), 14 + 20 + 8 + 12 + extended + 256 + 4, "{opcode:#x}");
        }
        assert_eq!((bytes(0x04, 0), bytes(0x11, 0)), (60, 62));
    }

    #[test]
    fn the_crc_is_that_of_ethernet() {
        // The check value of CRC-32 is that of "123456789", without what stands before it here.
        let mut crc = u32::MAX;
        for byte in b"123456789" {
            crc ^= u32::from(*byte);
            (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 });
        }
        assert_eq!(!crc, 0xCBF4_3926);
        // By zlib, of eight bytes FF and what does not change on the way.
        let counted: Vec<u8> = (0..40).collect();
        assert_eq!((icrc(&[0; 40]), icrc(&counted)), (0x117E_FAD1, 0x0DF7_3DA6));
        // What routers change leaves it as it is.
        let (mut a, mut b) = ([7; 40], [7; 40]);
        (a[1], b[8]) = (1, 3);
        assert_eq!(icrc(&a), icrc(&b));
    }
}
