//! Captures in pcapng (draft-ietf-opsawg-pcapng), the format of Wireshark: one section, one interface, a block per
//! frame.
//!
//! Written by hand, because three kinds of blocks are less than a dependency: the crate for it, pcap-file, stands at
//! candidates of its next release and brings derive macros along. Little-endian always, so that the same run gives the
//! same bytes on every machine.

use crate::protocol::ethernet::{MAC_CONTROL_ADDRESS, address, data_frame, pause_frame, pfc_frame};
use crate::result::{Crossed, Crossing};
use std::io::{Result, Write};

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Tells a reader the byte order.
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;
/// shb_userappl.
const PROGRAM: u16 = 4;
/// if_name.
const NAME: u16 = 2;
/// if_tsresol.
const RESOLUTION: u16 = 9;
/// if_fcslen: without it Wireshark guesses whether the last four bytes are an FCS.
const FCS_LENGTH: u16 = 13;
/// epb_flags; its lowest two bits are the direction.
const FLAGS: u16 = 2;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

const FS_PER_NS: u64 = 1_000_000;
/// Longer names of links are cut: an option holds 64 KiB at most, and no reader shows as much.
const LONGEST_NAME: usize = 255;
/// Bytes that say which frame of which flow this is: flow, number, mark.
const LABEL: usize = 4 + 8 + 1;

/// Writes a capture. The interface stands at the link's first end: what comes from there is outbound.
pub struct Pcapng<W: Write> {
    out: W,
    snaplen: u32,
    /// The body of the block that is being written, kept for its memory.
    body: Vec<u8>,
    written: u64,
}

impl<W: Write> Pcapng<W> {
    /// Begins a capture of a link; of each frame at most `snaplen` bytes are kept, or all of them with 0.
    pub fn new(out: W, link_name: &str, snaplen: u32) -> Result<Pcapng<W>> {
        let mut pen = Pcapng { out, snaplen, body: Vec::new(), written: 0 };
        pen.words(&[BYTE_ORDER]);
        pen.halves(&[1, 0]);
        // The section's length is not known while it is written.
        pen.body.extend(u64::MAX.to_le_bytes());
        pen.option(PROGRAM, b"lanescope");
        pen.last_option();
        pen.block(SECTION)?;

        pen.halves(&[LINKTYPE_ETHERNET, 0]);
        pen.words(&[snaplen]);
        let end = (0..=LONGEST_NAME.min(link_name.len())).rev().find(|&i| link_name.is_char_boundary(i)).unwrap_or(0);
        pen.option(NAME, &link_name.as_bytes()[..end]);
        pen.option(RESOLUTION, &[9]);
        pen.option(FCS_LENGTH, &[0]);
        pen.last_option();
        pen.block(INTERFACE)?;
        Ok(pen)
    }

    /// Adds a frame, at the nanosecond in which it began.
    pub fn frame(&mut self, crossed: &Crossed) -> Result<()> {
        let bytes = bytes(&crossed.what);
        let kept = if self.snaplen == 0 { bytes.len() } else { bytes.len().min(self.snaplen as usize) };
        let ns = crossed.at / FS_PER_NS;
        self.words(&[0, (ns >> 32) as u32, ns as u32, kept as u32, bytes.len() as u32]);
        self.padded(&bytes[..kept]);
        let direction = if crossed.down { OUTBOUND } else { INBOUND };
        self.option(FLAGS, &direction.to_le_bytes());
        self.last_option();
        self.block(PACKET)
    }

    /// Bytes of the capture so far.
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// Ends the capture and gives the writer back.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn words(&mut self, words: &[u32]) {
        self.body.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    }

    fn halves(&mut self, halves: &[u16]) {
        self.body.extend(halves.iter().flat_map(|h| h.to_le_bytes()));
    }

    /// Bytes, and zeros up to the next word.
    fn padded(&mut self, bytes: &[u8]) {
        self.body.extend(bytes);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.halves(&[code, value.len() as u16]);
        self.padded(value);
    }

    fn last_option(&mut self) {
        self.halves(&[0, 0]);
    }

    /// Writes the body as a block: its length stands before and behind it, so that a reader can go either way.
    fn block(&mut self, kind: u32) -> Result<()> {
        let length = (self.body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&length)?;
        self.written += self.body.len() as u64 + 12;
        self.body.clear();
        Ok(())
    }
}

/// The frame itself.
fn bytes(what: &Crossing) -> Vec<u8> {
    match *what {
        Crossing::Data { from, to, data, flow, number, marked } => {
            let mut content = vec![0; (data as usize).max(LABEL)];
            content[..4].copy_from_slice(&flow.to_be_bytes());
            content[4..12].copy_from_slice(&number.to_be_bytes());
            content[12] = u8::from(marked);
            data_frame(address(to), address(from), &content[..data as usize])
        }
        Crossing::Roce { from, to, packet } => packet.frame(to, from),
        Crossing::Pause { from, quanta } => pause_frame(address(from), quanta).to_vec(),
        Crossing::Pfc { from, quanta } => pfc_frame(address(from), quanta).to_vec(),
        Crossing::Notice { from, to, word, value } => {
            let mut content = vec![word];
            content.extend(value.to_be_bytes());
            // What is for the other end goes where no bridge passes it on.
            data_frame(to.map_or(MAC_CONTROL_ADDRESS, address), address(from), &content)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// (kind, body) of each block, with their two lengths compared.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
        let mut list = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!((length % 4, word(bytes, length - 4) as usize), (0, length));
            list.push((word(bytes, 0), &bytes[8..length - 4]));
            bytes = &bytes[length..];
        }
        list
    }

    /// (code, value) of each option.
    fn options(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
        let mut list = Vec::new();
        loop {
            let (code, length) = (word(bytes, 0) as u16, (word(bytes, 0) >> 16) as usize);
            if code == 0 {
                assert_eq!(bytes.len(), 4, "nothing behind the last option");
                return list;
            }
            list.push((code, &bytes[4..4 + length]));
            bytes = &bytes[4 + length.next_multiple_of(4)..];
        }
    }

    fn write(name: &str, snaplen: u32, frames: &[Crossed]) -> Vec<u8> {
        let mut pen = Pcapng::new(Vec::new(), name, snaplen).expect("a vector takes all");
        frames.iter().for_each(|f| pen.frame(f).expect("a vector takes all"));
        pen.finish().expect("a vector takes all")
    }

    #[test]
    fn a_small_capture_by_hand() {
        let data = Crossing::Data { from: 1, to: 2, data: 101, flow: 3, number: 1 << 40, marked: true };
        let frames = [
            Crossed { at: 1_999_999, down: true, what: data },
            // 5 s are more nanoseconds than 32 bits hold.
            Crossed { at: 5_000_000_000_000_000, down: false, what: Crossing::Pause { from: 2, quanta: 0xFFFF } },
        ];
        let file = write("uplink", 64, &frames);
        let [section, interface, first, second] = blocks(&file)[..] else { panic!("four blocks") };

        assert_eq!((section.0, word(section.1, 0), word(section.1, 4)), (SECTION, BYTE_ORDER, 1));
        assert_eq!(section.1[8..16], [0xFF; 8]);
        assert_eq!(options(&section.1[16..]), [(4, &b"lanescope"[..])]);

        assert_eq!((interface.0, word(interface.1, 0), word(interface.1, 4)), (INTERFACE, 1, 64));
        assert_eq!(options(&interface.1[8..]), [(2, &b"uplink"[..]), (9, &[9][..]), (13, &[0][..])]);

        // Interface, time, bytes kept, bytes there were: 101 of data and 14 of header.
        let head = |b: &[u8]| [0, 4, 8, 12, 16].map(|at| word(b, at));
        assert_eq!((first.0, head(first.1)), (PACKET, [0, 0, 1, 64, 115]));
        assert_eq!(first.1[20..32], [address(2), address(1)].concat());
        assert_eq!(first.1[32..48], [0x88, 0xB5, 0, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(options(&first.1[20 + 64..]), [(2, &[2, 0, 0, 0][..])]);

        let ns = 5_000_000_000u64;
        assert_eq!(head(second.1), [0, (ns >> 32) as u32, ns as u32, 60, 60]);
        assert_eq!(second.1[20..80], pause_frame(address(2), 0xFFFF));
        assert_eq!(options(&second.1[80..]), [(2, &[1, 0, 0, 0][..])]);
    }

    #[test]
    fn short_data_cuts_its_label_and_no_snaplen_keeps_all() {
        let data = |data| Crossing::Data { from: 1, to: 2, data, flow: 0x0102_0304, number: 0, marked: true };
        assert_eq!(bytes(&data(2))[14..18], [1, 2, 0, 0]);
        assert_eq!((bytes(&data(0)).len(), bytes(&data(1500)).len()), (60, 1514));
        let file = write("", 0, &[Crossed { at: 0, down: true, what: data(1500) }]);
        assert_eq!(word(blocks(&file)[2].1, 12), 1514);
        // A snaplen that is no multiple of four is padded.
        let file = write("", 17, &[Crossed { at: 0, down: true, what: data(1500) }]);
        assert_eq!(blocks(&file)[2].1.len(), 20 + 20 + 12);
    }

    #[test]
    fn notices_and_long_names() {
        let notice = |to| bytes(&Crossing::Notice { from: 1, to, word: 7, value: 0x0102 });
        assert_eq!(notice(Some(9))[..6], address(9));
        assert_eq!(notice(None)[..6], MAC_CONTROL_ADDRESS);
        assert_eq!(notice(None)[12..24], [0x88, 0xB5, 7, 0, 0, 0, 0, 0, 0, 1, 2, 0]);
        // 255 is within a character of two bytes.
        let file = write(&"é".repeat(40_000), 0, &[]);
        assert_eq!(options(&blocks(&file)[1].1[8..])[0].1.len(), 254);
    }
}
