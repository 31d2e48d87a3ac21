//! Threads of one run, and a barrier at which they meet every few microseconds.
//!
//! Of a run that several threads share nothing depends on which of them is faster: they exchange what they have only
//! where all have met. At the barrier the last to come lets all go on. Whoever waits spins for a while, since a thread
//! that sleeps takes longer to wake up than most waits take, and then lets others have its core.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does something with each of several things at once, the first on this thread. The numbers count them.
pub(in crate::sim) fn together<T: Send>(things: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    let Some((first, others)) = things.split_first_mut() else { return };
    std::thread::scope(|scope| {
        for (i, thing) in others.iter_mut().enumerate() {
            let work = &work;
            scope.spawn(move || work(i + 1, thing));
        }
        work(0, first);
    });
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
    come: Apart<AtomicUsize>,
    /// How often all have met.
    met: Apart<AtomicUsize>,
    /// A thread has panicked, and will not come.
    broken: AtomicBool,
}

impl Barrier {
    pub(in crate::sim) fn new(threads: usize) -> Barrier {
        Barrier { threads, come: Apart::default(), met: Apart::default(), broken: AtomicBool::new(false) }
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
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
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
