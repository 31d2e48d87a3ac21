//! Frames byte by byte, from the destination to the end of the data: without the FCS, as captures hold them.

use super::{EXPERIMENTAL, FCS, HEADER, MAC_CONTROL, MAC_CONTROL_ADDRESS, MIN_FRAME, PAUSE_OPCODE, PFC_OPCODE};

/// Bytes of the smallest frame without its FCS.
const LEAST: usize = (MIN_FRAME - FCS) as usize;

/// A made-up address of a part's port: unicast, locally administered (802-2014, 8.2.2), with the part's index in its
/// last four bytes.
pub fn address(part: u32) -> [u8; 6] {
    let [a, b, c, d] = part.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// A frame of type [`EXPERIMENTAL`], padded to the smallest size (3.2.8).
pub(crate) fn data_frame(to: [u8; 6], from: [u8; 6], data: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity((HEADER as usize + data.len()).max(LEAST));
    frame.extend(to);
    frame.extend(from);
    frame.extend(EXPERIMENTAL.to_be_bytes());
    frame.extend(data);
    if frame.len() < LEAST {
        frame.resize(LEAST, 0);
    }
    frame
}

/// A MAC control frame: its opcode, 16-bit operands and zeros (31.4).
fn control(from: [u8; 6], opcode: u16, operands: &[u16]) -> [u8; LEAST] {
    let mut frame = [0; LEAST];
    let words = [MAC_CONTROL, opcode].into_iter().chain(operands.iter().copied()).flat_map(u16::to_be_bytes);
    for (slot, byte) in frame.iter_mut().zip(MAC_CONTROL_ADDRESS.into_iter().chain(from).chain(words)) {
        *slot = byte;
    }
    frame
}

/// A PAUSE for so many quanta; 0 takes an earlier one back (annex 31B.1).
pub(crate) fn pause_frame(from: [u8; 6], quanta: u16) -> [u8; LEAST] {
    control(from, PAUSE_OPCODE, &[quanta])
}

/// A PFC frame: quanta for each priority that it speaks of (annex 31D; 802.1Qbb). Bit n of the class-enable vector is
/// priority n, and the times stand in the order of the priorities.
pub(crate) fn pfc_frame(from: [u8; 6], quanta: [Option<u16>; 8]) -> [u8; LEAST] {
    let mut operands = [0; 9];
    for (priority, time) in quanta.into_iter().enumerate() {
        if let Some(time) = time {
            operands[0] |= 1 << priority;
            operands[1 + priority] = time;
        }
    }
    control(from, PFC_OPCODE, &operands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_local_unicast_and_differ() {
        assert_eq!(address(0), [2, 0, 0, 0, 0, 0]);
        assert_eq!(address(0x0102_A0FF), [2, 0, 1, 2, 0xA0, 0xFF]);
        assert_eq!(address(u32::MAX)[0] & 0b11, 0b10);
    }

    #[test]
    fn data_frames_by_hand() {
        let frame = data_frame(address(7), address(1), &[0xAA, 0xBB]);
        let mut hand = vec![2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1, 0x88, 0xB5, 0xAA, 0xBB];
        hand.extend([0; 44]);
        assert_eq!(frame, hand);
        // 46 B of data need no padding; the FCS would make 64.
        assert_eq!(data_frame(address(7), address(1), &[1; 46]).len(), 60);
        for data in [0, 45, 46, 47, 1500, 9216] {
            let frame = data_frame(address(7), address(1), &vec![1; data]);
            assert_eq!(frame.len() as u64 + FCS, super::super::frame(data as u64));
        }
    }

    #[test]
    fn pause_by_hand() {
        let mut hand = [0; 60];
        hand[..18].copy_from_slice(&[
            0x01, 0x80, 0xC2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x03, 0x88, 0x08, 0x00, 0x01, 0x12, 0x34,
        ]);
        assert_eq!(pause_frame(address(3), 0x1234), hand);
    }

    #[test]
    fn pfc_by_hand() {
        let mut quanta = [None; 8];
        (quanta[0], quanta[3], quanta[7]) = (Some(0), Some(0xFFFF), Some(0x0102));
        let mut hand = [0; 60];
        hand[..34].copy_from_slice(&[
            0x01, 0x80, 0xC2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x03, 0x88, 0x08, 0x01, 0x01, //
            0x00, 0x89, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0x01, 0x02,
        ]);
        assert_eq!(pfc_frame(address(3), quanta), hand);
    }
}
