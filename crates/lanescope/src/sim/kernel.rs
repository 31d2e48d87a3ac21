//! The event kernel: what happens next, and how far an island may run before it must listen to the others.
//!
//! Parts that act on one another without delay form an *island*. Each island has a few *slots*, one per thing that can happen next (a packet
//! becomes ready, a transmitter falls free, a timer ends); a slot holds one moment and may be moved at will. A tournament over the slots of an
//! island gives its next moment, a tournament over the islands the next island.
//!
//! The earliest island does not stop after one event: whatever the others do, nothing can reach it before the second-earliest moment plus its own
//! *lookahead* (the least delay of anything that comes in). Up to there it runs alone, and the index over islands is touched once. What it sends
//! itself may be answered, which draws the limit in. So dense load is worked off in windows and sparse load event by event, with one result.

/// A moment that never comes.
pub const NEVER: u64 = u64::MAX;

/// No island, no slot.
const NONE: u32 = u32::MAX;

/// A place of a tournament: the earliest moment below it, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: u64,
    leaf: u32,
}

/// The earliest of some moments. On a tie the lower leaf comes first, so the order never depends on history.
#[derive(Clone, Debug)]
struct Tournament {
    /// A power of two.
    leaves: usize,
    /// A heap-shaped tree: 1 is the root, the leaves are the second half.
    places: Vec<Place>,
}

impl Tournament {
    fn new(leaves: usize) -> Tournament {
        let leaves = leaves.max(1).next_power_of_two();
        let mut places = vec![Place { at: NEVER, leaf: 0 }; 2 * leaves];
        for (i, place) in places.iter_mut().enumerate() {
            // With nothing to come, the lowest leaf below a place holds it.
            let below = i.max(1).leading_zeros() - leaves.leading_zeros();
            place.leaf = ((i << below) - leaves.min(i << below)) as u32;
        }
        Tournament { leaves, places }
    }

    #[inline]
    fn first(&self) -> Place {
        self.places[1]
    }

    #[inline]
    fn get(&self, leaf: u32) -> u64 {
        self.places[self.leaves + leaf as usize].at
    }

    #[inline]
    fn set(&mut self, leaf: u32, at: u64) {
        let mut i = self.leaves + leaf as usize;
        let mut won = Place { at, leaf };
        self.places[i] = won;
        while i > 1 {
            let rival = self.places[i ^ 1];
            if rival.at < won.at || (rival.at == won.at && rival.leaf < won.leaf) {
                won = rival;
            }
            i >>= 1;
            if self.places[i] == won {
                return;
            }
            self.places[i] = won;
        }
    }

    /// The earliest moment of all leaves but one.
    #[inline]
    fn others(&self, leaf: u32) -> u64 {
        let mut i = self.leaves + leaf as usize;
        let mut least = NEVER;
        while i > 1 {
            least = least.min(self.places[i ^ 1].at);
            i >>= 1;
        }
        least
    }
}

/// One island: its slots, and how long nothing from outside can reach it.
#[derive(Clone, Debug)]
struct Island {
    slots: Tournament,
    first: u32,
    lookahead: u64,
}

/// What acts when a moment comes.
pub trait World {
    /// The moment of `slot` has come. The slot is still set: whoever acts sets it to its next moment, or to [`NEVER`].
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda);
}

/// How a run of the kernel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Everything before the moment asked for has happened.
    Reached,
    /// Nothing is left to happen, ever.
    Silent,
    /// As many events as were allowed have happened.
    Budget,
}

/// All islands with their slots.
#[derive(Clone, Debug)]
pub struct Agenda {
    islands: Vec<Island>,
    index: Tournament,
    /// The island of each slot.
    home: Vec<u32>,
    running: u32,
    /// The slot that acts, and its next moment: put back when it has acted, however often it was moved.
    acting: u32,
    again: u64,
    limit: u64,
    events: u64,
}

impl Agenda {
    /// Islands, each given by its number of slots and its lookahead in femtoseconds. Slots are numbered through, island after island.
    pub fn new(islands: &[(u32, u64)]) -> Agenda {
        let mut home = Vec::new();
        let all = islands
            .iter()
            .enumerate()
            .map(|(i, &(slots, lookahead))| {
                let first = home.len() as u32;
                home.extend(std::iter::repeat_n(i as u32, slots as usize));
                Island { slots: Tournament::new(slots as usize), first, lookahead }
            })
            .collect();
        let index = Tournament::new(islands.len());
        Agenda { islands: all, index, home, running: NONE, acting: NONE, again: NEVER, limit: 0, events: 0 }
    }

    /// The first slot of an island.
    pub fn first_slot(&self, island: u32) -> u32 {
        self.islands[island as usize].first
    }

    /// When a slot's moment is.
    #[inline]
    pub fn get(&self, slot: u32) -> u64 {
        if slot == self.acting {
            return self.again;
        }
        let island = &self.islands[self.home[slot as usize] as usize];
        island.slots.get(slot - island.first)
    }

    /// Moves the moment of a slot. A slot of another island is a message to it: not before this island's now plus that one's lookahead.
    #[inline]
    pub fn set(&mut self, slot: u32, at: u64) {
        if slot == self.acting {
            self.again = at;
            return;
        }
        let home = self.home[slot as usize];
        let island = &mut self.islands[home as usize];
        island.slots.set(slot - island.first, at);
        if home != self.running {
            self.tell(home, at);
        }
    }

    /// Moves it only to an earlier moment.
    #[inline]
    pub fn by(&mut self, slot: u32, at: u64) {
        if at < self.get(slot) {
            self.set(slot, at);
        }
    }

    fn tell(&mut self, home: u32, at: u64) {
        let next = self.islands[home as usize].slots.first().at;
        if next != self.index.get(home) {
            self.index.set(home, next);
        }
        // Whoever was told may answer; nobody's answer is here sooner than this.
        if let Some(me) = self.islands.get(self.running as usize) {
            self.limit = self.limit.min(at.saturating_add(me.lookahead));
        }
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The earliest moment of all.
    pub fn next(&self) -> u64 {
        self.index.first().at
    }

    /// Lets everything happen that lies before `until`, but no more than about `budget` events (a window is finished).
    #[inline]
    pub fn run<W: World>(&mut self, world: &mut W, until: u64, budget: u64) -> Pause {
        let stop = self.events.saturating_add(budget);
        loop {
            let Place { at, leaf } = self.index.first();
            if at >= until {
                return if at == NEVER { Pause::Silent } else { Pause::Reached };
            }
            if self.events >= stop {
                return Pause::Budget;
            }
            self.running = leaf;
            let others = self.index.others(leaf).saturating_add(self.islands[leaf as usize].lookahead);
            // The earliest moment itself may always pass: without a lookahead, islands take turns.
            self.limit = others.max(at + 1).min(until);
            loop {
                let island = &self.islands[leaf as usize];
                let Place { at, leaf: slot } = island.slots.first();
                if at >= self.limit || self.events >= stop {
                    break;
                }
                self.events += 1;
                (self.acting, self.again) = (slot + island.first, at);
                world.on(self.acting, at, self);
                self.acting = NONE;
                self.islands[leaf as usize].slots.set(slot, self.again);
            }
            self.running = NONE;
            let next = self.islands[leaf as usize].slots.first().at;
            self.index.set(leaf, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tournament_gives_the_earliest_and_the_lowest_of_equals() {
        for leaves in [1usize, 2, 3, 5, 8, 13] {
            let mut t = Tournament::new(leaves);
            assert_eq!(t.first(), Place { at: NEVER, leaf: 0 });
            let mut plain = vec![NEVER; leaves];
            let mut x = 12345u64;
            for _ in 0..2000 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let leaf = (x >> 33) as usize % leaves;
                let at = if x >> 60 == 0 { NEVER } else { (x >> 20) % 16 };
                t.set(leaf as u32, at);
                plain[leaf] = at;
                let (i, least) = plain.iter().enumerate().min_by_key(|&(i, at)| (*at, i)).expect("leaves");
                assert_eq!(t.first(), Place { at: *least, leaf: i as u32 }, "{plain:?}");
                let rest = plain.iter().enumerate().filter(|(j, _)| *j != leaf).map(|(_, at)| *at).min();
                assert_eq!(t.others(leaf as u32), rest.unwrap_or(NEVER));
            }
        }
    }

    /// Nodes in a ring pass tokens with random delays; each also has a timer of its own.
    struct Ring {
        nodes: u32,
        seed: Vec<u64>,
        heard: Vec<Vec<u64>>,
        inbox: Vec<std::collections::VecDeque<u64>>,
    }

    const LOOKAHEAD: u64 = 50;

    impl World for Ring {
        fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
            let (node, what) = (slot / 2, slot % 2);
            self.heard[node as usize].push(now * 2 + what as u64);
            let seed = &mut self.seed[node as usize];
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let random = *seed >> 40;
            if what == 0 {
                agenda.set(slot, now + 1 + random % 97);
            } else {
                let inbox = &mut self.inbox[node as usize];
                assert_eq!(inbox.pop_front(), Some(now), "messages come when they were sent for, in order");
                agenda.set(slot, inbox.front().copied().unwrap_or(NEVER));
            }
            if random.is_multiple_of(3) {
                let to = (node + 1) % self.nodes;
                let inbox = &mut self.inbox[to as usize];
                let at = (now + LOOKAHEAD + random % 30).max(inbox.back().copied().unwrap_or(0));
                inbox.push_back(at);
                agenda.by(to * 2 + 1, at);
            }
        }
    }

    fn ring(nodes: u32, lookahead: u64, budget: u64) -> Vec<Vec<u64>> {
        let mut world = Ring {
            nodes,
            seed: (0..nodes as u64).collect(),
            heard: vec![Vec::new(); nodes as usize],
            inbox: vec![Default::default(); nodes as usize],
        };
        let mut agenda = Agenda::new(&vec![(2, lookahead); nodes as usize]);
        (0..nodes).for_each(|n| agenda.set(2 * n, n as u64));
        while agenda.run(&mut world, 20_000, budget) == Pause::Budget {}
        world.heard
    }

    #[test]
    fn windows_of_any_width_and_interruptions_give_the_same_history() {
        for nodes in [2, 3, 7] {
            // Without lookahead the kernel goes strictly by time.
            let strict = ring(nodes, 0, u64::MAX);
            assert!(strict.iter().map(Vec::len).sum::<usize>() > 1000);
            assert_eq!(strict, ring(nodes, LOOKAHEAD, u64::MAX));
            assert_eq!(strict, ring(nodes, LOOKAHEAD / 3, u64::MAX));
            assert_eq!(strict, ring(nodes, LOOKAHEAD, 7));
        }
    }
}
