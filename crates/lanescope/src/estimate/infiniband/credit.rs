//! Room that packets take where they are sent, and leave further on: the credit of a receive buffer.
//!
//! A receiver tells of free room only when there is enough of it (`blocks_told`). So the first packets of a message
//! find less room than there is, by what those before it have left untold; later ones wait for the first to leave.

use std::collections::VecDeque;

/// Room as its sender knows it; in any unit of time.
#[derive(Clone)]
pub(in crate::estimate) struct Window {
    whole: u64,
    told: u64,
    known: u64,
    /// What is free, of which the sender is not told.
    untold: u64,
    /// Packets that take room: until when, and how much.
    taken: VecDeque<(f64, u64)>,
}

impl Window {
    /// So much in all, of which the sender is told when so much is free again; and what is free and not told.
    pub(in crate::estimate) fn new(whole: u64, told: u64, untold: u64) -> Window {
        let untold = untold.min(whole);
        Window { whole, told, known: whole - untold, untold, taken: VecDeque::new() }
    }

    /// As little as the sender may know of: all but one block of what is told at once is untold, and an acknowledgement
    /// takes one.
    pub(in crate::estimate) fn scarce(whole: u64, told: u64) -> Window {
        Window { known: whole.saturating_sub(told), ..Window::new(whole, told, told - 1) }
    }

    /// From when on there is room for a packet, which takes it. The sender is told so long after it is free.
    pub(in crate::estimate) fn take(&mut self, needs: u64, back: f64) -> f64 {
        let mut from = 0.0_f64;
        while self.known < needs {
            // One that needs more than there is takes all of it.
            let Some((left, size)) = self.taken.pop_front() else { break };
            self.untold += size;
            if self.untold >= self.told {
                self.known += std::mem::take(&mut self.untold);
                from = from.max(left + back);
            }
        }
        self.known = self.known.saturating_sub(needs);
        from
    }

    /// Whether a packet finds too little, and nothing takes room that it could wait for.
    pub(in crate::estimate) fn lacks(&self, needs: u64) -> bool {
        self.known < needs && self.taken.is_empty()
    }

    /// How many packets of one size go in a round of those that the sender is told of at once.
    pub(in crate::estimate) fn round(&self, size: u64) -> u64 {
        let (held, at_once) = ((self.whole / size.max(1)).max(1), self.told.div_ceil(size.max(1)));
        held - held % at_once.clamp(1, held)
    }

    /// When the packet that took room leaves it.
    pub(in crate::estimate) fn leaves(&mut self, at: f64, needs: u64) {
        self.taken.push_back((at, needs.min(self.whole)));
    }

    /// All that takes room leaves it so much later.
    pub(in crate::estimate) fn later(&mut self, by: f64) {
        self.taken.iter_mut().for_each(|(left, _)| *left += by);
    }

    /// What will be free and not told when all packets have left.
    pub(in crate::estimate) fn left_untold(&self) -> u64 {
        self.taken.iter().fold(self.untold, |untold, (_, size)| untold_behind(untold, self.told, 1, *size))
    }
}

/// What is free and not told behind so many packets that take so much each.
pub(in crate::estimate) fn untold_behind(untold: u64, told: u64, packets: u64, size: u64) -> u64 {
    let (size, first) = (size.max(1), told.saturating_sub(untold).div_ceil(size.max(1)).max(1));
    match packets.checked_sub(first) {
        // Then always as many at once.
        Some(rest) => rest % told.div_ceil(size).max(1) * size,
        None => untold + packets * size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_untold_is_as_one_by_one(told in 1u64..40, start in 0u64..40, packets in 0u64..60, size in 1u64..50) {
            let start = start.min(told - 1);
            let one_by_one = (0..packets).fold(start, |untold, _| match untold + size {
                free if free >= told => 0,
                free => free,
            });
            prop_assert_eq!(untold_behind(start, told, packets, size), one_by_one);
            let mut window = Window::new(1000, told, start);
            (0..packets.min(10)).for_each(|_| window.leaves(0.0, size));
            prop_assert_eq!(window.left_untold(), untold_behind(start, told, packets.min(10), size));
        }
    }
}
