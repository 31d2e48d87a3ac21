//! Threads of one run, and a barrier at which they meet every few microseconds.
//!
//! Of a run that several threads share nothing depends on which of them is faster: they exchange what they have only
//! where all have met. At the barrier the last to come lets all go on. Whoever waits spins for a while, since a thread
//! that sleeps takes longer to wake up than most waits take, and then lets others have its core.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does something with each of several things at once, the first on this thread. The numbers count them. `false`, and
/// nothing was done, where there cannot be so many threads.
pub(in crate::sim) fn together<T: Send>(things: &mut [T], work: impl Fn(usize, &mut T) + Sync) -> bool {
    let Some((first, others)) = things.split_first_mut() else { return true };
    // Whoever is there waits until all are, or it is known that they will not be.
    let (gate, all_there) = (Barrier::new(others.len() + 1), AtomicBool::new(true));
    std::thread::scope(|scope| {
        let mut missing = 0;
        for (i, thing) in others.iter_mut().enumerate() {
            let (work, gate, all_there) = (&work, &gate, &all_there);
            let waits = move || {
                gate.meet();
                if all_there.load(Ordering::Relaxed) {
                    work(i + 1, thing);
                }
            };
            missing += usize::from(std::thread::Builder::new().spawn_scoped(scope, waits).is_err());
        }
        all_there.store(missing == 0, Ordering::Relaxed);
        (0..missing).for_each(|_| gate.stands_in());
        gate.meet();
        if missing == 0 {
            work(0, first);
        }
        missing == 0
    })
}

/// Turns of the wait before a core is offered to others.
const SPINS: u32 = 1 << 12;

/// A value in a line of the cache of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// A barrier for a fixed number of threads.
#[derive(Debug)]
pub(in crate::sim) struct Barrier {
    threads: usize,
    spins: u32,
    come: Apart<AtomicUsize>,
    /// How often all have met.
    met: Apart<AtomicUsize>,
    /// A thread has panicked, and will not come.
    broken: AtomicBool,
}

impl Barrier {
    pub(in crate::sim) fn new(threads: usize) -> Barrier {
        // Of more threads than cores somebody waits for the core that another spins on.
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let spins = if threads > cores { 0 } else { SPINS };
        Barrier { threads, spins, come: Apart::default(), met: Apart::default(), broken: AtomicBool::new(false) }
    }

    /// Waits for all. What each has stored before is seen by all behind it.
    pub(in crate::sim) fn meet(&self) {
        let met = self.met.0.load(Ordering::Acquire);
        if self.come.0.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.come.0.store(0, Ordering::Relaxed);
            self.met.0.store(met.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.met.0.load(Ordering::Acquire) == met {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of this run has panicked");
            spins += 1;
            if spins < self.spins { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    /// Comes for one that does not, and waits for nobody. Somebody is still to come.
    fn stands_in(&self) {
        self.come.0.fetch_add(1, Ordering::AcqRel);
    }

    /// While it is kept, a panic of its thread lets those that wait for that go, with a panic of their own.
    pub(in crate::sim) fn member(&self) -> Member<'_> {
        Member(self)
    }
}

/// A thread that others wait for.
pub(in crate::sim) struct Member<'a>(&'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_worked_at_once() {
        let (mut things, barrier) = ([0; 4], Barrier::new(4));
        let all = together(&mut things, |i, thing| {
            barrier.meet();
            *thing = i;
        });
        assert!(all && things == [0, 1, 2, 3], "{things:?}");
    }

    #[test]
    fn nobody_waits_for_threads_that_there_are_not() {
        let gate = Barrier::new(3);
        std::thread::scope(|scope| {
            scope.spawn(|| gate.meet());
            gate.stands_in();
            gate.meet();
        });
    }

    #[test]
    fn nobody_is_a_round_ahead() {
        let (barrier, rounds) = (Barrier::new(3), [const { AtomicUsize::new(0) }; 3]);
        std::thread::scope(|scope| {
            for mine in &rounds {
                let (barrier, rounds) = (&barrier, &rounds);
                scope.spawn(move || {
                    for round in 1..=500 {
                        mine.store(round, Ordering::Relaxed);
                        barrier.meet();
                        assert!(rounds.iter().all(|r| (round..=round + 1).contains(&r.load(Ordering::Relaxed))));
                        barrier.meet();
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_lets_the_others_go() {
        let barrier = Barrier::new(2);
        let failed = std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _member = barrier.member();
                panic!("as it should");
            });
            let waits = scope.spawn(|| barrier.meet());
            [panics.join().is_err(), waits.join().is_err()]
        });
        assert_eq!(failed, [true, true]);
    }
}
