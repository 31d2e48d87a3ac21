//! What is planned, in order of time; ties go by the order in which it was planned.
//!
//! Few things are planned at a time as a rule, and most of what is planned anew comes soon: so the next ones are a
//! sorted row, into which one more goes with few steps, and only what is behind so many is in a heap.

use crate::sim::storage::Event;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The most that the row holds.
const NEAR: usize = 64;

/// An event at its moment; ties go by the order in which they were planned.
#[derive(Clone, Copy, Debug)]
struct Planned {
    at: u64,
    n: u64,
    event: Event,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.n) == (other.at, other.n)
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.n).cmp(&(other.at, other.n))
    }
}

/// All that is planned.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    /// The next ones, in order; none only where there are no others.
    near: VecDeque<Planned>,
    far: BinaryHeap<Reverse<Planned>>,
    n: u64,
}

impl Schedule {
    pub(super) fn add(&mut self, at: u64, event: Event) {
        self.n += 1;
        let planned = Planned { at, n: self.n, event };
        // Behind all of its moment.
        if self.far.peek().is_some_and(|first| first.0.at <= at) {
            self.far.push(Reverse(planned));
            return;
        }
        let place = self.near.partition_point(|p| p.at <= at);
        self.near.insert(place, planned);
        if self.near.len() > NEAR {
            self.far.extend(self.near.pop_back().map(Reverse));
        }
    }

    /// When the next one is.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        self.near.front().map(|p| p.at)
    }

    /// Takes the next one out, if it is by a moment.
    #[inline]
    pub(super) fn pop(&mut self, by: u64) -> Option<Event> {
        let event = self.near.front().filter(|p| p.at <= by)?.event;
        self.near.pop_front();
        if self.near.is_empty() {
            self.draw_near();
        }
        Some(event)
    }

    #[inline(never)]
    fn draw_near(&mut self) {
        while self.near.len() < NEAR / 2
            && let Some(Reverse(planned)) = self.far.pop()
        {
            self.near.push_back(planned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many there are, they come as from one heap.
    #[test]
    fn the_order_is_that_of_time_and_of_planning() {
        let (mut schedule, mut heap) = (Schedule::default(), BinaryHeap::new());
        let (mut state, mut now) = (7_u64, 0);
        for i in 0..20_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // As many as there are in one of three parts of the time, and now and then none.
            let wanted = [3, 60, 900][i as usize / 2000 % 3];
            if heap.len() < wanted && i % 2000 < 1990 {
                let at = now + (state >> 33) % [4, 50, 5000][(state >> 20) as usize % 3];
                schedule.add(at, Event::Issue(i));
                heap.push(Reverse((at, i)));
            } else {
                for _ in 0..if i % 2000 < 1990 { 3 } else { heap.len() } {
                    let Some(Reverse((at, i))) = heap.pop() else { break };
                    assert_eq!(schedule.next(), Some(at));
                    assert!(at == 0 || schedule.pop(at - 1).is_none(), "too soon");
                    assert_eq!(schedule.pop(at), Some(Event::Issue(i)));
                    now = at;
                }
            }
        }
    }
}
