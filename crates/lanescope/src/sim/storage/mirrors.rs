//! Which drive of a mirrored pair reads: the one that has been given less to read so far, the second of equals. So the
//! two take turns where reads are alike, and whatever the sizes neither is ever ahead by more than one read. Of disks
//! it is the one whose last read ended where this one begins, if there is one: its heads need not move, and those of
//! the other would have to (Linux' md keeps a reader of rotating disks at the disk that it reads, too).
//!
//! Each pair counts for itself. One turn for a whole array would send the first read of each I/O to the one drive of a
//! pair and the second to the other: of I/Os of two strips, half of the drives would read nothing.

use crate::scenario::keys::SECTOR;

/// The pairs of an array.
#[derive(Clone, Debug, Default)]
pub(super) struct Mirrors {
    pairs: Vec<Pair>,
    /// Whether its drives have heads.
    heads: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// Bytes by which its second drive is ahead.
    ahead: i64,
    /// The sector behind the last read of each: of none, none.
    ends: [Option<u64>; 2],
}

impl Mirrors {
    pub(super) fn new(heads: bool) -> Mirrors {
        Mirrors { pairs: Vec::new(), heads }
    }

    /// So many bytes from an offset on are to be read from a pair: whether by its second drive.
    pub(super) fn second_reads(&mut self, pair: usize, offset: u64, bytes: u64) -> bool {
        if self.pairs.len() <= pair {
            self.pairs.resize(pair + 1, Pair::default());
        }
        let pair = &mut self.pairs[pair];
        // Whole sectors move.
        let begin = offset / SECTOR;
        let goes_on = |which: &bool| self.heads && pair.ends[usize::from(*which)] == Some(begin);
        let second = [true, false].into_iter().find(goes_on).unwrap_or(pair.ahead <= 0);
        pair.ends[usize::from(second)] = offset.checked_add(bytes).map(|end| end.div_ceil(SECTOR));
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        pair.ahead = if second { pair.ahead.saturating_add(bytes) } else { pair.ahead.saturating_sub(bytes) };
        second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neither_is_ahead_by_more_than_one_read(
            reads in prop::collection::vec((0usize..4, 0u64..4, 1u64..1 << 40), 1..200),
        ) {
            let (mut mirrors, mut read, mut largest) = (Mirrors::new(false), [[0u64; 2]; 4], [0; 4]);
            for (pair, offset, bytes) in reads {
                read[pair][usize::from(mirrors.second_reads(pair, offset, bytes))] += bytes;
                largest[pair] = largest[pair].max(bytes);
                prop_assert!(read[pair][0].abs_diff(read[pair][1]) <= largest[pair]);
            }
        }

        /// Two readers of disks that read on have one of the drives each, in whatever order they come.
        #[test]
        fn who_reads_on_stays_where_it_is(order in prop::collection::vec(any::<bool>(), 1..100)) {
            let (mut mirrors, mut at) = (Mirrors::new(true), [0, 1 << 40]);
            let first = [0, 1].map(|i| {
                at[i] += 4096;
                mirrors.second_reads(0, at[i] - 4096, 4096)
            });
            prop_assert_eq!(first, [true, false]);
            for who in order.into_iter().map(usize::from) {
                prop_assert_eq!(mirrors.second_reads(0, at[who], 4096), first[who]);
                at[who] += 4096;
            }
        }
    }

    #[test]
    fn pairs_take_turns_of_their_own() {
        let mut mirrors = Mirrors::new(false);
        // I/Os of two strips, one on each pair.
        let io = |m: &mut Mirrors| [0, 1].map(|pair| m.second_reads(pair, 0, 4096));
        assert_eq!([io(&mut mirrors), io(&mut mirrors), io(&mut mirrors)], [[true; 2], [false; 2], [true; 2]]);
    }
}
