//! Where the strips of an array lie, and how one that its host runs spreads an I/O: which commands go to which of its
//! drives, and in which order.
//!
//! Reads and writes are cut at the strips; what lies side by side on one drive is one command, as the block layer of a
//! kernel merges what it is given together. A mirrored write is written twice. RAID 5 is left-symmetric: of a stripe
//! that is written whole the parity is made of the new data alone; of any other the old data and the old parity are
//! read first, in as many commands, and all is written when they have come. Both methods ask here, so they cannot
//! differ in it.
//!
//! Not in it: a cache that gathers the writes of several I/Os into whole stripes, locks of stripes that two writes
//! share, journals and bitmaps.

use crate::plan::storage::{Adapter, Array, Device, Storage};
use crate::scenario::keys::Level;
use crate::scenario::quantity::Corner;

/// Stripes at a disk with heads, beside which a full cache sends it no more: one that it writes, and one that waits.
const KEPT_AT_HEADS: u32 = 2;

/// Stripes of a full cache that have waited longest, among which those for idle drives are looked for.
pub(crate) const LOOKED_AT: usize = 64;

/// A command of a drive, not yet cut at its controller's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The drive's place in the array. Of a mirrored pair it is the first; its mirror's is the next.
    pub disk: usize,
    /// Where it begins on the drive.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether they are data of the I/O itself, and no parity.
    pub own: bool,
}

/// The commands of an I/O.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Reads of old data and parities, before anything is written.
    pub before: Vec<Piece>,
    /// Reads, or writes, of the data and their parities.
    pub pieces: Vec<Piece>,
    /// Bytes that the parity is made of: new data, and what was read before.
    pub parity: u64,
}

/// Commands that grow as long as what comes lies behind what is there.
struct Joined {
    all: Vec<Piece>,
    /// The last of each drive: of data, and of parities.
    last: Vec<[usize; 2]>,
}

impl Joined {
    fn new(disks: usize) -> Joined {
        Joined { all: Vec::new(), last: vec![[usize::MAX; 2]; disks] }
    }

    fn add(&mut self, piece: Piece) {
        let last = &mut self.last[piece.disk][usize::from(piece.own)];
        match self.all.get_mut(*last) {
            Some(before) if before.offset + before.bytes == piece.offset => before.bytes += piece.bytes,
            _ => {
                *last = self.all.len();
                self.all.push(piece);
            }
        }
    }
}

impl Array {
    /// Data of a stripe.
    pub(crate) fn width(&self) -> u64 {
        self.keys.strip.typical.0.saturating_mul(self.data_disks())
    }

    /// Whether each write goes to two drives.
    pub(crate) fn mirrors(&self) -> bool {
        matches!(self.keys.level.typical, Level::Raid1 | Level::Raid10)
    }

    /// Whether it has a parity.
    pub(crate) fn has_parity(&self) -> bool {
        self.keys.level.typical == Level::Raid5
    }

    /// Whether its drives are disks, whose heads have to move.
    pub(crate) fn has_heads(&self, storage: &Storage) -> bool {
        self.disks.first().is_some_and(|d| matches!(storage.targets[*d as usize].device, Device::Disk(_)))
    }

    /// Stripes that a full cache has at each drive before it sends it no more: at solid-state drives as many as the
    /// adapter has commands there.
    pub(crate) fn kept_at_drive(&self, storage: &Storage, own: &Adapter, corner: Corner) -> u32 {
        match own.host_adapter() {
            Some(keys) if !self.has_heads(storage) => keys.queue_depth.at(corner).get().max(KEPT_AT_HEADS),
            _ => KEPT_AT_HEADS,
        }
    }

    /// The drive of a strip of a stripe: of mirrors the first. RAID 5 is left-symmetric.
    pub(crate) fn disk(&self, stripe: u64, strip: u64) -> usize {
        let n = self.disks.len() as u64;
        match self.keys.level.typical {
            Level::Raid0 => strip as usize,
            Level::Raid1 | Level::Raid10 => 2 * strip as usize,
            Level::Raid5 => ((self.parity_disk(stripe) as u64 + 1 + strip) % n) as usize,
        }
    }

    /// The drive of a stripe's parity.
    pub(crate) fn parity_disk(&self, stripe: u64) -> usize {
        let n = self.disks.len() as u64;
        (n - 1 - stripe % n) as usize
    }

    /// What becomes of an I/O of an array that its host runs.
    pub(crate) fn spread(&self, read: bool, offset: u64, size: u64) -> Spread {
        let (strip, width) = (self.keys.strip.typical.0.max(1), self.width().max(1));
        let parity = self.has_parity() && !read;
        let [mut before, mut pieces] = [(); 2].map(|()| Joined::new(self.disks.len()));
        let (mut made_of, mut at, end) = (0, offset, offset + size);
        while at < end {
            let stripe = at / width;
            let upto = end.min((stripe + 1).saturating_mul(width));
            // The part of a strip that the data of this stripe cover: what a parity has to cover too.
            let (begin, bytes) = (at - stripe * width, upto - at);
            let (from, to) = match begin / strip == (begin + bytes - 1) / strip {
                true => (begin % strip, begin % strip + bytes),
                // The end of one strip, and the beginning of another.
                false => (0, strip),
            };
            let whole = bytes == width;
            let place = |from: u64| stripe * strip + from;
            while at < upto {
                let begin = at - stripe * width;
                let bytes = (upto - at).min(strip - begin % strip);
                let disk = self.disk(stripe, begin / strip);
                let piece = Piece { disk, offset: place(begin % strip), bytes, own: true };
                pieces.add(piece);
                if parity && !whole {
                    before.add(piece);
                }
                at += bytes;
            }
            if parity {
                let own = Piece { disk: self.parity_disk(stripe), offset: place(from), bytes: to - from, own: false };
                pieces.add(own);
                made_of += bytes;
                if !whole {
                    before.add(own);
                    made_of += bytes + to - from;
                }
            }
        }
        Spread { before: before.all, pieces: pieces.all, parity: made_of }
    }
}

/// An array that its host runs, for tests.
#[cfg(test)]
pub(crate) fn array_of_host(level: Level, n: u32, strip: u64) -> Array {
    use crate::plan::storage::{HostArray, Runs};
    use crate::scenario::keys;
    use crate::scenario::quantity::{Confidence, Names, Origin, Quantity};
    use crate::units::{Bytes, Rate, Time};

    fn given<T: Clone>(value: T) -> Quantity<T> {
        Quantity::derived(value, Origin::Assumed, Confidence::Likely, "")
    }
    let (disks, strip) = (given(Names(Vec::new())), given(Bytes(strip)));
    let keys = keys::Array { level: given(level), disks, strip, command_time: None, parity_rate: None };
    let runs =
        Runs::Host(HostArray { name: String::new(), command: given(Time::ZERO), parity: given(Rate::from_bits(8)) });
    let disks = (0..n).collect();
    Array { name: String::new(), group: String::new(), keys, disks, runs, queues: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::array_of_host as array;
    use super::*;

    fn own(disk: usize, offset: u64, bytes: u64) -> Piece {
        Piece { disk, offset, bytes, own: true }
    }

    #[test]
    fn what_lies_side_by_side_is_one_command() {
        let one = array(Level::Raid0, 1, 64);
        assert_eq!(one.spread(true, 10, 1000).pieces, [own(0, 10, 1000)]);
        let three = array(Level::Raid0, 3, 64);
        // Half of strip 0, strips 1 to 3, and a piece of strip 4, which lies behind strip 1.
        let spread = three.spread(true, 32, 32 + 3 * 64 + 8);
        assert_eq!(spread.pieces, [own(0, 32, 96), own(1, 0, 72), own(2, 0, 64)]);
    }

    #[test]
    fn a_parity_covers_what_is_written() {
        let five = array(Level::Raid5, 4, 64);
        // Stripe 0 has its parity on the last drive, and its data on those before it.
        let s = five.spread(false, 16, 8);
        let parity = Piece { disk: 3, offset: 16, bytes: 8, own: false };
        assert_eq!((&s.pieces, s.parity), (&vec![own(0, 16, 8), parity], 24));
        assert_eq!(s.before, s.pieces);
        // Over a border of strips it covers all of a strip.
        let s = five.spread(false, 60, 8);
        assert_eq!(s.pieces[2], Piece { disk: 3, offset: 0, bytes: 64, own: false });
        // A whole stripe reads nothing.
        let s = five.spread(false, 0, 192);
        assert_eq!((s.before.len(), s.pieces.len(), s.parity), (0, 4, 192));
        assert!(five.spread(true, 0, 192).pieces.iter().all(|p| p.own));
    }

    /// Every byte has one place, and no two have the same.
    #[test]
    fn bytes_have_places_of_their_own() {
        for (level, n) in [(Level::Raid0, 3), (Level::Raid10, 4), (Level::Raid1, 2), (Level::Raid5, 4)] {
            let a = array(level, n, 16);
            let mut seen = std::collections::HashSet::new();
            for at in 0..a.width() * 10 {
                let s = a.spread(true, at, 1);
                assert_eq!(s.pieces.len(), 1);
                assert!(seen.insert((s.pieces[0].disk, s.pieces[0].offset)), "{level:?} {at}");
            }
            for (at, size) in [(3, 100), (0, 48), (17, 333), (47, 2)] {
                let s = a.spread(false, at, size);
                let sum: u64 = s.pieces.iter().filter(|p| p.own).map(|p| p.bytes).sum();
                assert_eq!(sum, size);
                let mut bytes: Vec<_> =
                    s.pieces.iter().flat_map(|p| (0..p.bytes).map(move |i| (p.disk, p.offset + i))).collect();
                let all = bytes.len();
                bytes.sort_unstable();
                bytes.dedup();
                assert_eq!(bytes.len(), all, "{level:?}: a byte is written twice");
            }
        }
    }
}
