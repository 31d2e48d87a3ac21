//! The destinations of a stream, by rule.
//!
//! All streams of a table share one list of stations, in ascending order. A stream has a place in it from which it
//! counts, and leaves its own source out: so that the memory of a table that sends to everybody grows with its
//! stations, and not with their square.

use crate::plan::ethernet::NodeId;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::sync::Arc;

/// The stations to which a stream sends.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Those of its whole table.
    all: Arc<[NodeId]>,
    /// The place of the source among them, which is passed over; the length of the list where it is not there.
    without: u32,
    /// Where the first is, the source not counted.
    first: u32,
    len: u32,
}

impl Targets {
    /// One station of a list.
    pub(in crate::plan) fn one(all: &Arc<[NodeId]>, place: usize) -> Targets {
        Targets { all: all.clone(), without: all.len() as u32, first: place as u32, len: 1 }
    }

    /// All stations of an ascending list but the source, in their order.
    pub(in crate::plan) fn but(all: &Arc<[NodeId]>, source: NodeId) -> Targets {
        debug_assert!(all.is_sorted());
        let without = all.binary_search(&source).unwrap_or(all.len()) as u32;
        let mut made = Targets { all: all.clone(), without, first: 0, len: 0 };
        made.len = made.others() as u32;
        made
    }

    /// The same, beginning with the one after the source, so that not all streams begin with the same.
    pub(in crate::plan) fn after(all: &Arc<[NodeId]>, source: NodeId) -> Targets {
        let mut made = Targets::but(all, source);
        made.first = made.behind(source) as u32;
        made
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "a stream without destinations is refused")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// How many the whole table has, the source not counted.
    fn others(&self) -> usize {
        self.all.len() - usize::from((self.without as usize) < self.all.len())
    }

    /// The place of one of them among all destinations of the table.
    pub fn place(&self, index: usize) -> usize {
        debug_assert!(index < self.len());
        let at = (self.first as usize + index) % self.others();
        at + usize::from(at >= self.without as usize)
    }

    /// One of them.
    pub fn get(&self, index: usize) -> NodeId {
        self.all[self.place(index)]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The stations of its table.
    pub(crate) fn list(&self) -> &Arc<[NodeId]> {
        &self.all
    }

    /// The index of a station among them.
    pub(crate) fn find(&self, station: NodeId) -> Option<usize> {
        let place = self.all.binary_search(&station).ok().filter(|p| *p != self.without as usize)?;
        let at = place - usize::from(place > self.without as usize);
        Some((at + self.others() - self.first as usize) % self.others()).filter(|index| *index < self.len())
    }

    /// Where, counted in the order of the list, the first behind a station is; 0 where none is.
    pub(crate) fn behind(&self, station: NodeId) -> usize {
        let place = self.all.partition_point(|t| *t <= station);
        let at = place - usize::from(place > self.without as usize);
        if at < self.len() { at } else { 0 }
    }

    /// What tells two from one another where the stations of both plans are the same: how many, the first and the
    /// last of the table, and of the stream.
    pub(super) fn hash(&self, hash: &mut SipHasher13) {
        let ends = [self.all.first(), self.all.last()].map(|t| t.map_or(u32::MAX, |t| t.0));
        ends.into_iter()
            .chain([self.all.len() as u32, self.without, self.first, self.len])
            .for_each(|n| hash.write_u32(n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nodes(targets: &Targets) -> Vec<u32> {
        targets.iter().map(|t| t.0).collect()
    }

    #[test]
    fn a_stream_leaves_its_source_out() {
        let all: Arc<[NodeId]> = [2, 3, 5, 7].map(NodeId).into();
        assert_eq!(nodes(&Targets::one(&all, 2)), [5]);
        assert_eq!(nodes(&Targets::but(&all, NodeId(3))), [2, 5, 7]);
        assert_eq!(nodes(&Targets::but(&all, NodeId(4))), [2, 3, 5, 7]);
        assert_eq!(nodes(&Targets::after(&all, NodeId(3))), [5, 7, 2]);
        assert_eq!(nodes(&Targets::after(&all, NodeId(7))), [2, 3, 5]);
        assert_eq!(nodes(&Targets::after(&all, NodeId(6))), [7, 2, 3, 5]);
        assert_eq!(nodes(&Targets::after(&all, NodeId(9))), [2, 3, 5, 7]);
        let alone: Arc<[NodeId]> = [NodeId(4)].into();
        assert_eq!(nodes(&Targets::but(&alone, NodeId(4))), [0; 0]);
    }

    proptest! {
        /// By rule there are the same as in a list that was written down.
        #[test]
        fn the_rule_is_the_list(members in proptest::collection::btree_set(0u32..40, 1..30), source in 0u32..40) {
            let all: Arc<[NodeId]> = members.iter().copied().map(NodeId).collect();
            let mut listed: Vec<u32> = members.iter().copied().filter(|m| *m != source).collect();
            let but = Targets::but(&all, NodeId(source));
            prop_assert_eq!(nodes(&but), listed.clone());
            prop_assert_eq!(but.behind(NodeId(source)), listed.iter().position(|m| *m > source).unwrap_or(0));
            for i in 0..but.len() {
                prop_assert_eq!(all[but.place(i)], but.get(i));
            }
            let one = Targets::one(&all, source as usize % all.len());
            for targets in [but, one, Targets::after(&all, NodeId(source))] {
                let found: Vec<_> = (0..targets.len()).map(|i| targets.find(targets.get(i))).collect();
                prop_assert_eq!(found, (0..targets.len()).map(Some).collect::<Vec<_>>());
                let elsewhere = (0..40).map(NodeId).filter(|n| targets.iter().all(|t| t != *n));
                prop_assert!(elsewhere.into_iter().all(|n| targets.find(n).is_none()));
            }
            let after = listed.iter().position(|m| *m > source).unwrap_or(0);
            listed.rotate_left(after);
            prop_assert_eq!(nodes(&Targets::after(&all, NodeId(source))), listed);
        }
    }
}
