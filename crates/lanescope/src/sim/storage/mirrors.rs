//! Which drive of a mirrored pair reads: the one that has been given less to read so far, the second of equals. So the
//! two take turns where reads are alike, and whatever the sizes neither is ever ahead by more than one read.
//!
//! Each pair counts for itself. One turn for a whole array would send the first read of each I/O to the one drive of a
//! pair and the second to the other: of I/Os of two strips, half of the drives would read nothing.

/// For each pair of an array, the bytes by which its second drive is ahead.
#[derive(Clone, Debug, Default)]
pub(super) struct Mirrors(Vec<i64>);

impl Mirrors {
    /// So many bytes are to be read from a pair: whether by its second drive.
    pub(super) fn second_reads(&mut self, pair: usize, bytes: u64) -> bool {
        if self.0.len() <= pair {
            self.0.resize(pair + 1, 0);
        }
        let ahead = &mut self.0[pair];
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let second = *ahead <= 0;
        *ahead = if second { ahead.saturating_add(bytes) } else { ahead.saturating_sub(bytes) };
        second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neither_is_ahead_by_more_than_one_read(reads in prop::collection::vec((0usize..4, 1u64..1 << 40), 1..200)) {
            let (mut mirrors, mut read, mut largest) = (Mirrors::default(), [[0u64; 2]; 4], [0; 4]);
            for (pair, bytes) in reads {
                read[pair][usize::from(mirrors.second_reads(pair, bytes))] += bytes;
                largest[pair] = largest[pair].max(bytes);
                prop_assert!(read[pair][0].abs_diff(read[pair][1]) <= largest[pair]);
            }
        }
    }

    #[test]
    fn pairs_take_turns_of_their_own() {
        let mut mirrors = Mirrors::default();
        // I/Os of two strips, one on each pair.
        let io = |m: &mut Mirrors| [0, 1].map(|pair| m.second_reads(pair, 4096));
        assert_eq!([io(&mut mirrors), io(&mut mirrors), io(&mut mirrors)], [[true; 2], [false; 2], [true; 2]]);
    }
}
