//! The earliest of many moments that move: a binary heap in which each entry knows its place.

use super::kernel::NEVER;

/// What no entry of the heap has.
const NOWHERE: u32 = u32::MAX;

/// Moments by number; those of [`NEVER`] take no part.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Moments {
    at: Vec<u64>,
    /// Where each number is in the heap.
    place: Vec<u32>,
    heap: Vec<u32>,
}

impl Moments {
    /// The earliest moment and its number, of equal moments the lowest; [`NEVER`] of none.
    pub(in crate::sim) fn first(&self) -> (u64, u32) {
        self.heap.first().map_or((NEVER, NOWHERE), |n| (self.at[*n as usize], *n))
    }

    /// Moves the moment of a number.
    pub(in crate::sim) fn set(&mut self, number: u32, at: u64) {
        let n = number as usize;
        if n >= self.at.len() {
            self.at.resize(n + 1, NEVER);
            self.place.resize(n + 1, NOWHERE);
        }
        self.at[n] = at;
        let mut place = self.place[n];
        if place == NOWHERE {
            if at == NEVER {
                return;
            }
            place = self.heap.len() as u32;
            self.heap.push(number);
            self.place[n] = place;
        }
        if at == NEVER {
            self.place[n] = NOWHERE;
            let Some(last) = self.heap.pop().filter(|last| *last != number) else { return };
            self.heap[place as usize] = last;
            self.place[last as usize] = place;
        }
        let place = self.rise(place as usize);
        self.sink(place);
    }

    fn key(&self, place: usize) -> (u64, u32) {
        let number = self.heap[place];
        (self.at[number as usize], number)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }

    /// Up to where nothing above is later; gives the place.
    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.key(place) < self.key((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let below = (2 * place + 1..2 * place + 3).filter(|b| *b < self.heap.len());
            let Some(least) = below.min_by_key(|b| self.key(*b)).filter(|b| self.key(*b) < self.key(place)) else {
                return;
            };
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest(moves in prop::collection::vec((0u32..20, 0u64..50), 0..200)) {
            let (mut moments, mut plain) = (Moments::default(), std::collections::BTreeMap::new());
            for (number, at) in moves {
                let at = if at >= 40 { NEVER } else { at };
                moments.set(number, at);
                plain.insert(number, at);
                let want = plain.iter().map(|(n, at)| (*at, *n)).filter(|m| m.0 != NEVER).min();
                prop_assert_eq!(moments.first(), want.unwrap_or((NEVER, NOWHERE)));
            }
        }
    }
}
