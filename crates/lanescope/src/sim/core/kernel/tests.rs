//! The agenda against a plain heap.

use super::*;
use proptest::prelude::*;

/// What a world may do with moments, of the kernel and of the model that it is held against.
trait Moments {
    fn at(&self, slot: u32) -> u64;
    fn move_to(&mut self, slot: u32, at: u64);
}

impl Moments for Agenda {
    fn at(&self, slot: u32) -> u64 {
        self.get(slot)
    }

    fn move_to(&mut self, slot: u32, at: u64) {
        self.set(slot, at);
    }
}

/// The kernel in a few lines: a heap of all moments that were ever set.
struct Model {
    at: Vec<u64>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    events: u64,
}

impl Moments for Model {
    fn at(&self, slot: u32) -> u64 {
        self.at[slot as usize]
    }

    fn move_to(&mut self, slot: u32, at: u64) {
        self.at[slot as usize] = at;
        self.heap.push(Reverse((at, slot)));
    }
}

impl Model {
    fn run(&mut self, actor: &mut Actor, until: u64, budget: u64) -> Pause {
        let stop = self.events.saturating_add(budget);
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if at == NEVER || self.at(slot) != at {
                self.heap.pop();
            } else if at >= until {
                return Pause::Reached;
            } else if self.events >= stop {
                return Pause::Budget;
            } else {
                self.events += 1;
                actor.act(slot, at, self);
            }
        }
        Pause::Silent
    }
}

/// Moves slots at random, and writes down what came when.
struct Actor {
    slots: u32,
    random: u64,
    /// Moments lie so many femtoseconds apart, about.
    gap: u64,
    /// Each slot moves itself alone, and is back soon.
    steady: bool,
    heard: Vec<(u64, u32)>,
}

impl World for Actor {
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        self.act(slot, now, agenda);
    }
}

impl Actor {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 8) % below
    }

    fn act(&mut self, slot: u32, now: u64, moments: &mut impl Moments) {
        self.heard.push((now, slot));
        if self.steady {
            let again = now + 1 + self.draw(2 * self.slots as u64 * self.gap);
            return moments.move_to(slot, again);
        }
        // Mostly it comes again, and rarely at once.
        let again = match self.draw(16) {
            0 => NEVER,
            _ => self.moment(now),
        };
        moments.move_to(slot, again);
        for _ in 0..self.draw(3) {
            self.disturb(now, moments);
        }
    }

    /// Moves any slot, or takes it away and puts it back.
    fn disturb(&mut self, now: u64, moments: &mut impl Moments) {
        let slot = self.draw(self.slots as u64) as u32;
        let old = moments.at(slot);
        match self.draw(6) {
            0 => moments.move_to(slot, NEVER),
            1 => moments.move_to(slot, now),
            2 if old >= now => {
                let elsewhere = self.moment(now);
                moments.move_to(slot, elsewhere);
                moments.move_to(slot, old);
            }
            _ => {
                let at = self.moment(now);
                moments.move_to(slot, at);
            }
        }
    }

    /// Behind `now`: near, far, in step with others, or at the end of time.
    fn moment(&mut self, now: u64) -> u64 {
        let gap = self.gap;
        let ahead = match self.draw(32) {
            0 => gap.saturating_mul(self.draw(1 << 20)),
            1 => return NEVER - 1 - self.draw(3),
            2..9 => return now.saturating_add(gap * 8 - now % (gap * 8)),
            _ => self.draw(gap * 4) + 1,
        };
        now.saturating_add(ahead)
    }
}

/// The kernel and the model, disturbed and interrupted alike.
struct Both {
    agenda: Agenda,
    ours: Actor,
    model: Model,
    theirs: Actor,
}

impl Both {
    fn new(agenda: Agenda, slots: u32, random: u64, gap: u64) -> Both {
        let actor = || Actor { slots, random, gap, steady: false, heard: Vec::new() };
        let model = Model { at: vec![NEVER; slots as usize], heap: BinaryHeap::new(), events: 0 };
        let mut both = Both { agenda, ours: actor(), model, theirs: actor() };
        (0..slots).for_each(|slot| both.set(slot, slot as u64 % 3));
        both
    }

    fn set(&mut self, slot: u32, at: u64) {
        self.agenda.set(slot, at);
        self.model.move_to(slot, at);
    }

    fn gap(&mut self, gap: u64) {
        (self.ours.gap, self.theirs.gap) = (gap, gap);
    }

    /// All slots come closer together.
    fn gather(&mut self, gap: u64) {
        self.gap(gap);
        let earliest = self.agenda.next();
        (0..self.model.at.len() as u32).for_each(|slot| self.set(slot, earliest + slot as u64 * gap));
    }

    fn run(&mut self, until: u64, budget: u64) {
        let ended = self.agenda.run(&mut self.ours, until, budget);
        assert_eq!(ended, self.model.run(&mut self.theirs, until, budget));
        assert_eq!(self.agenda.events(), self.model.events);
        assert_eq!(self.agenda.next(), self.model.at.iter().copied().min().unwrap_or(NEVER));
        assert_eq!(self.ours.heard, self.theirs.heard);
        self.ours.heard.clear();
        self.theirs.heard.clear();
    }

    /// From outside, between two runs.
    fn disturb(&mut self, now: u64) {
        self.ours.disturb(now, &mut self.agenda);
        self.theirs.disturb(now, &mut self.model);
    }
}

proptest! {
    #[test]
    fn events_come_in_the_order_of_a_plain_heap(
        slots in 1u32..80,
        random: u64,
        steps in prop::collection::vec((0u64..2000, 0u64..400, 0u32..44), 1..20),
        few: bool,
    ) {
        let make = if few { Agenda::new } else { Agenda::calendar };
        let mut both = Both::new(make(slots as usize), slots, random, 1 << 20);
        let mut now = 0;
        for (ahead, budget, wide) in steps {
            both.gap(1 << wide);
            // Until a moment that has gone by, too: then nothing happens.
            let until = (now + (ahead << wide)).saturating_sub(1000);
            both.run(until, budget * budget / 16);
            now = now.max(until);
            if both.agenda.next() >= now {
                (0..ahead % 8).for_each(|_| both.disturb(now));
            }
        }
    }
}

#[test]
fn the_width_follows_the_load_to_both_of_its_limits() {
    let mut both = Both::new(Agenda::calendar(60), 60, 1, 1 << 49);
    (both.ours.steady, both.theirs.steady) = (true, true);
    both.run(NEVER, 4000);
    assert_eq!(both.agenda.shift, *SHIFTS.end());
    both.gather(1);
    both.run(NEVER, 20_000);
    assert_eq!(both.agenda.shift, *SHIFTS.start());
    both.gather(1 << 20);
    both.run(NEVER, 20_000);
    assert!((20..26).contains(&both.agenda.shift), "2^{} fs", both.agenda.shift);
}

#[test]
fn few_slots_are_a_list_that_is_cut_off_behind() {
    let mut both = Both::new(Agenda::calendar(2), 2, 1, 1 << 20);
    (both.ours.steady, both.theirs.steady) = (true, true);
    both.run(NEVER, 20_000);
    assert!(
        both.agenda.shift > 30 && both.agenda.batch.len() <= KEPT_CAPACITY + SHORT_BATCH,
        "{}",
        both.agenda.batch.len()
    );
}

/// Slots that are moved about far away, for ever.
struct Timers(u32);

impl World for Timers {
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        agenda.set(slot, now + 1000);
        agenda.set(1 + (now / 1000) as u32 % (self.0 - 1), now + (1 << 45));
    }
}

#[test]
fn moments_that_no_slot_has_any_more_do_not_pile_up() {
    let mut agenda = Agenda::calendar(10);
    agenda.set(0, 0);
    agenda.run(&mut Timers(10), NEVER, 100_000);
    assert!(agenda.far.len() <= 2 * 10 + STALE_ALLOWED && agenda.far.capacity() < 1000, "{}", agenda.far.len());
}

/// Everything happens at once, and wakes another at once.
struct Crowd(u32);

impl World for Crowd {
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        let half = self.0 / 2;
        agenda.set(slot, if slot < half { now + 1_000_000 } else { NEVER });
        if slot < half {
            agenda.set(half + (slot.wrapping_mul(7919) + 1) % half, now);
        }
    }
}

#[test]
fn crowds_of_one_moment_cost_no_more_than_others() {
    let mut agenda = Agenda::new(200_000);
    (0..100_000).for_each(|slot| agenda.set(slot, 5));
    assert_eq!(agenda.run(&mut Crowd(200_000), 2_000_000, u64::MAX), Pause::Reached);
    assert_eq!(agenda.events(), 400_000);
}
