//! A time line of a simulation: what each rank, adapter, wire and bus did and when, which work set off which, and what
//! rose and fell meanwhile.
//!
//! A [`Timeline`] is a bounded buffer. Names, tracks and counters are told once and known by number from then on, so
//! that recording an event is a push of a few words. When it is full, what comes later is counted and forgotten: the
//! beginning of a run is kept whole. A pen (`pens::timeline`) puts the events in order, so they may be recorded in any,
//! and slices of a track may overlap.

use std::collections::BTreeMap;

/// A row of the picture, from [`Timeline::track`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrackId(u32);

/// A word, from [`Timeline::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameId(u32);

/// A value that changes, from [`Timeline::counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CounterId(u32);

/// Something recorded, for [`Timeline::arrow`] and [`Timeline::end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SliceId(u32);

macro_rules! index {
    ($($id:ident),+) => {$(impl $id {
        /// Its place in the list of its kind.
        pub fn index(self) -> usize {
            self.0 as usize
        }
    })+};
}
index!(TrackId, NameId, CounterId, SliceId);

/// A row: its name in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// Rows of one group stand together.
    pub group: NameId,
    /// Its name.
    pub name: NameId,
}

/// A value that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Where it stands.
    pub group: NameId,
    /// Its name.
    pub name: NameId,
    /// Its unit: `B` for bytes, or any word.
    pub unit: NameId,
}

/// Something that took from `begin` to `end`; a moment, where they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Where.
    pub track: TrackId,
    /// What.
    pub name: NameId,
    /// When it began, femtoseconds.
    pub begin: u64,
    /// When it ended, femtoseconds; not before `begin`.
    pub end: u64,
    first_arg: u32,
    args: u8,
}

/// A value at a moment, until the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Of what.
    pub counter: CounterId,
    /// From when on, femtoseconds.
    pub at: u64,
    /// How much.
    pub value: u64,
}

/// Numbers that a slice may carry; more are left out.
pub const MOST_ARGS: usize = 8;

/// The recording.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    title: String,
    most: usize,
    names: Vec<String>,
    known: BTreeMap<String, NameId>,
    tracks: Vec<Track>,
    rows: BTreeMap<(NameId, NameId), TrackId>,
    counters: Vec<Counter>,
    curves: BTreeMap<(NameId, NameId), CounterId>,
    slices: Vec<Slice>,
    args: Vec<(NameId, u64)>,
    arrows: Vec<(SliceId, SliceId)>,
    samples: Vec<Sample>,
    dropped: u64,
}

impl Timeline {
    /// Records at most so many events: slices, arrows and samples together, some 30 to 60 bytes each. The title is a
    /// line for the head of the picture.
    pub fn new(title: &str, most_events: usize) -> Timeline {
        // Numbers of slices, and the pen's marks on them, have 32 bits.
        Timeline {
            title: title.to_owned(),
            most: most_events.min(u32::MAX as usize / MOST_ARGS),
            ..Timeline::default()
        }
    }

    /// A word by number. Meant for kinds of things (`RDMA WRITE first`); which one it was is for arguments to say.
    pub fn name(&mut self, text: &str) -> NameId {
        if let Some(&id) = self.known.get(text) {
            return id;
        }
        let id = NameId(self.names.len() as u32);
        self.names.push(text.to_owned());
        self.known.insert(text.to_owned(), id);
        id
    }

    /// A row of a group. Groups, and rows in their group, stand in the order in which they are first asked for; the
    /// same names are the same row.
    pub fn track(&mut self, group: &str, name: &str) -> TrackId {
        let (group, name) = (self.name(group), self.name(name));
        let next = TrackId(self.tracks.len() as u32);
        let id = *self.rows.entry((group, name)).or_insert(next);
        if id == next {
            self.tracks.push(Track { group, name });
        }
        id
    }

    /// A value that changes, drawn as a curve in its group, behind the rows. `B` is bytes; any other unit is shown as
    /// it is.
    pub fn counter(&mut self, group: &str, name: &str, unit: &str) -> CounterId {
        let (group, name, unit) = (self.name(group), self.name(name), self.name(unit));
        let next = CounterId(self.counters.len() as u32);
        let id = *self.curves.entry((group, name)).or_insert(next);
        if id == next {
            self.counters.push(Counter { group, name, unit });
        }
        id
    }

    /// Whether there is room for one event more; counts it as forgotten where there is not.
    fn room(&mut self) -> bool {
        let room = !self.is_full();
        self.dropped += u64::from(!room);
        room
    }

    /// Something that took from `begin` to `end` (femtoseconds), with numbers such as bytes. `None` when the buffer is
    /// full.
    pub fn slice(
        &mut self,
        track: TrackId,
        name: NameId,
        begin: u64,
        end: u64,
        args: &[(NameId, u64)],
    ) -> Option<SliceId> {
        if !self.room() {
            return None;
        }
        let args = &args[..args.len().min(MOST_ARGS)];
        let id = SliceId(self.slices.len() as u32);
        let first_arg = self.args.len() as u32;
        self.args.extend_from_slice(args);
        self.slices.push(Slice { track, name, begin, end: end.max(begin), first_arg, args: args.len() as u8 });
        Some(id)
    }

    /// Moves the end of a slice that was recorded before its end was known.
    pub fn end(&mut self, slice: Option<SliceId>, at: u64) {
        if let Some(s) = slice.and_then(|s| self.slices.get_mut(s.index())) {
            s.end = at.max(s.begin);
        }
    }

    /// The first set off the second. Drawn from the end of `from` to the beginning of `to`; where `to` had begun before
    /// (a receive that was posted early), to
    /// its end. One with an end that was forgotten is forgotten.
    pub fn arrow(&mut self, from: Option<SliceId>, to: Option<SliceId>) {
        match (from, to) {
            (Some(from), Some(to)) if self.room() => self.arrows.push((from, to)),
            (Some(_), Some(_)) => {}
            _ => self.dropped += 1,
        }
    }

    /// The value from a moment (femtoseconds) on.
    pub fn sample(&mut self, counter: CounterId, at: u64, value: u64) {
        if self.room() {
            self.samples.push(Sample { counter, at, value });
        }
    }

    /// Events that it holds.
    pub fn len(&self) -> usize {
        self.slices.len() + self.arrows.len() + self.samples.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it takes nothing more.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// Events that came when it was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The line for the head of the picture.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The word behind a number.
    pub fn text(&self, name: NameId) -> &str {
        self.names.get(name.index()).map_or("", String::as_str)
    }

    /// All words, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All rows, by number.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// All counters, by number.
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }

    /// All slices, by number: as they were recorded.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// The numbers of a slice.
    pub fn args(&self, slice: &Slice) -> &[(NameId, u64)] {
        let first = slice.first_arg as usize;
        self.args.get(first..first + slice.args as usize).unwrap_or(&[])
    }

    /// All arrows: from, to.
    pub fn arrows(&self) -> &[(SliceId, SliceId)] {
        &self.arrows
    }

    /// All samples, as they were recorded.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_the_same_things() {
        let mut t = Timeline::new("t", 10);
        let (a, b) = (t.track("ranks", "rank 0"), t.track("ranks", "rank 1"));
        assert_eq!((t.track("ranks", "rank 0"), a == b, t.tracks().len()), (a, false, 2));
        assert_eq!((t.name("rank 1"), t.text(t.tracks()[b.index()].name)), (t.tracks()[1].name, "rank 1"));
        // A name in two groups is two rows; a counter is no row.
        assert_ne!(t.track("wires", "rank 0"), a);
        let c = t.counter("ranks", "rank 0", "B");
        assert_eq!((t.counter("ranks", "rank 0", "B"), t.counters().len(), t.tracks().len()), (c, 1, 3));
        assert_eq!((t.names().len(), t.is_empty()), (5, true));
    }

    #[test]
    fn a_full_buffer_counts_what_it_forgets() {
        let mut t = Timeline::new("t", 4);
        let (row, send, bytes) = (t.track("g", "r"), t.name("send"), t.name("bytes"));
        let curve = t.counter("g", "c", "");
        let first = t.slice(row, send, 10, 20, &[(bytes, 7)]);
        let second = t.slice(row, send, 30, 25, &[]);
        t.arrow(first, second);
        assert!(!t.is_full());
        t.sample(curve, 5, 1);
        assert_eq!((t.len(), t.is_full(), t.dropped()), (4, true, 0));
        let third = t.slice(row, send, 40, 50, &[(bytes, 8)]);
        t.sample(curve, 6, 2);
        t.arrow(first, second);
        t.arrow(second, third);
        t.end(third, 60);
        assert_eq!((third, t.len(), t.dropped()), (None, 4, 4));
        // What it holds is as it was; a slice does not end before it began.
        t.end(first, 22);
        t.end(second, 1);
        let [a, b] = t.slices() else { panic!("two slices") };
        assert_eq!(((a.begin, a.end), (b.begin, b.end)), ((10, 22), (30, 30)));
        assert_eq!((t.args(a), t.args(b)), (&[(bytes, 7)][..], &[][..]));
        // Nothing fits into nothing.
        let mut none = Timeline::new("", 0);
        let row = none.track("g", "r");
        assert_eq!((none.slice(row, send, 0, 1, &[]), none.dropped()), (None, 1));
    }

    #[test]
    fn too_many_numbers_are_left_out() {
        let mut t = Timeline::new("t", 2);
        let (row, name) = (t.track("g", "r"), t.name("n"));
        t.slice(row, name, 0, 1, &[(name, 1); 20]);
        t.slice(row, name, 0, 1, &[(name, 2)]);
        assert_eq!((t.args(&t.slices()[0]).len(), t.args(&t.slices()[1])), (MOST_ARGS, &[(name, 2)][..]));
    }
}
