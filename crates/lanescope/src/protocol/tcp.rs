//! TCP over IPv4, as far as messages between two stations need it: headers without options, and the segments that open
//! and close a connection.
//!
//! RFC 791 (IPv4) and RFC 9293 (TCP). No congestion window, no acknowledgements of data, no retransmission: a message
//! goes as fast as the wires let it.

use super::ethernet;

/// Bytes of an IPv4 header without options (RFC 791, 3.1).
pub(crate) const IPV4: u64 = 20;
/// Bytes of a TCP header without options (RFC 9293, 3.1).
pub(crate) const TCP: u64 = 20;
/// Both: what a segment has around its payload.
pub(crate) const HEADERS: u64 = IPV4 + TCP;

/// How a connection is opened, each segment by whether it goes from the end that opens: SYN, SYN-ACK, ACK (RFC 9293,
/// 3.5, figure 6).
pub(crate) const OPEN: [bool; 3] = [true, false, true];
/// How it is closed by the same end: FIN-ACK, ACK and FIN-ACK, ACK (RFC 9293, 3.6, figure 12).
pub(crate) const CLOSE: [bool; 4] = [true, false, false, true];

/// Payload of the largest segment in frames of so much client data.
pub(crate) const fn segment(mtu: u64) -> u64 {
    mtu.saturating_sub(HEADERS)
}

/// Segments of a message.
pub(crate) const fn segments(message: u64, segment: u64) -> u64 {
    message.div_ceil(segment)
}

/// MAC client data of a message: its payload, and the headers of its segments.
pub(crate) const fn client_data(message: u64, segment: u64) -> u64 {
    message + HEADERS * segments(message, segment)
}

/// Bytes on an Ethernet wire, preamble and gap included, of a message in segments.
pub const fn wire(message: u64, segment: u64) -> u64 {
    let (full, rest) = (message / segment, message % segment);
    let last = if rest > 0 { ethernet::wire(ethernet::frame(rest + HEADERS)) } else { 0 };
    full * ethernet::wire(ethernet::frame(segment + HEADERS)) + last
}

/// The same of a segment without payload: the smallest frame.
pub(crate) const EMPTY: u64 = ethernet::wire(ethernet::frame(HEADERS));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_by_hand() {
        let most = segment(1500);
        assert_eq!((most, EMPTY), (1460, 84));
        // A frame of 14 + 40 + 1460 + 4 B, with 8 B of preamble and 12 B of gap.
        assert_eq!((segments(1460, most), client_data(1460, most), wire(1460, most)), (1, 1500, 1538));
        // One byte more is a frame of the smallest size.
        assert_eq!((segments(1461, most), client_data(1461, most), wire(1461, most)), (2, 1541, 1538 + 84));
        assert_eq!((segments(8192, most), client_data(8192, most)), (6, 8192 + 240));
        assert_eq!(wire(8192, most), 5 * 1538 + 8 + 14 + 40 + 892 + 4 + 12);
    }
}
