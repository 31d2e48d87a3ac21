//! A time line for Perfetto (ui.perfetto.dev): its trace in protobuf, as "Writing TrackEvent Protos Synthetically" of
//! its reference says.
//!
//! Not Chrome's JSON: there an arrow is bound to whatever slice happens to be open at its moment, which is ambiguous
//! where one slice ends as the next begins; rows must pose as threads of processes, counters hang on processes; and a
//! file is about five times as large. In protobuf an arrow names its two slices, rows and curves have groups and an
//! order of their own. Five messages are less than a dependency, so they are written by hand; numbers of fields are
//! those of perfetto's trace_packet.proto, track_event.proto, track_descriptor.proto, counter_descriptor.proto,
//! interned_data.proto and debug_annotation.proto (v59).
//!
//! Perfetto wants the slices of a row to lie within one another or apart, and packets in order of time. So slices that
//! overlap go on *lanes*, rows of one name, which it draws as one; and at each nanosecond, its finest step, what ends
//! comes before what begins, in the order in which it was recorded.

mod protobuf;
#[cfg(test)]
mod reader;
mod simulated;

use crate::result::timeline::{NameId, Slice, Timeline};
use protobuf::Message;
use std::cmp::Reverse;
use std::io::{Result, Write};

const FS_PER_NS: u64 = 1_000_000;
/// Lanes of a row. A slice that fits on none of them is cut short, rather than searching ever more of them.
const MOST_LANES: usize = 64;
/// Everything stands on one sequence of packets, whose words were told in its first packet.
const SEQUENCE: u64 = 1;
/// SEQ_INCREMENTAL_STATE_CLEARED and SEQ_NEEDS_INCREMENTAL_STATE.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;
/// TrackEvent.Type.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// TrackDescriptor.ChildTracksOrdering: by rank.
const EXPLICIT: u64 = 3;
/// CounterDescriptor.Unit: bytes.
const BYTES: u64 = 3;
/// The row that holds all groups, so that they keep their order.
const ROOT: u64 = 1;

/// What became of a time line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the file.
    pub bytes: u64,
    /// Slices that were cut short, because too many of their row overlapped.
    pub cut: u64,
    /// Arrows that were left out, because they pointed back in time.
    pub backward: u64,
}

/// One packet to come. Ordered by time; at the same time by what it does, then as it was recorded, an outer slice
/// before an inner one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    ns: u64,
    doing: Doing,
    order: u32,
    depth: u32,
    row: u64,
    index: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    /// Where arrows come in at the end of a slice that is still open.
    Arrive,
    End,
    Begin,
    Sample,
}

/// Where a slice was put.
#[derive(Clone, Copy, Default)]
struct Place {
    row: u64,
    /// When it ends, if it was cut short.
    end: u64,
    order: u32,
    depth: u32,
}

/// A slice that is open on a lane.
#[derive(Clone, Copy)]
struct Open {
    begin: u64,
    end: u64,
    order: u32,
    depth: u32,
}

struct Lane {
    row: u64,
    open: Vec<Open>,
}

impl Lane {
    /// Closes what has ended by then.
    fn until(&mut self, ns: u64) {
        while self.open.last().is_some_and(|o| o.end <= ns) {
            self.open.pop();
        }
    }

    /// Puts a slice into what is open. What begins with its outer slice must not go before it, even if it was recorded
    /// before.
    fn put(&mut self, begin: u64, end: u64, index: u32) -> Place {
        let (mut order, mut depth) = (index, 0);
        if let Some(outer) = self.open.last() {
            depth = outer.depth + 1;
            if outer.begin == begin {
                order = order.max(outer.order);
            }
        }
        if end > begin {
            self.open.push(Open { begin, end, order, depth });
        }
        Place { row: self.row, end, order, depth }
    }
}

fn span(s: &Slice) -> (u64, u64) {
    (s.begin / FS_PER_NS, s.end / FS_PER_NS)
}

/// A sorted list of (slice, arrow): the arrows of one slice.
fn of(list: &[(u32, u64)], slice: u32) -> &[(u32, u64)] {
    let from = list.partition_point(|e| e.0 < slice);
    &list[from..from + list[from..].partition_point(|e| e.0 == slice)]
}

struct Pen<'a, W: Write> {
    t: &'a Timeline,
    out: W,
    packet: Message,
    written: Written,
    next_row: u64,
    /// Row of each track, and rank in its group.
    tracks: Vec<(u64, u64)>,
    /// Row of each group.
    groups: Vec<(NameId, u64)>,
    places: Vec<Place>,
    steps: Vec<Step>,
}

/// (slice, arrow) of all arrows, each list sorted.
#[derive(Default)]
struct Arrows {
    /// They go out.
    out: Vec<(u32, u64)>,
    /// They come in where the slice begins.
    begin: Vec<(u32, u64)>,
    /// They come in where it ends.
    end: Vec<(u32, u64)>,
}

/// Writes a time line. It is held in memory a second time while it is put in order.
pub fn write(t: &Timeline, out: impl Write) -> Result<Written> {
    let mut pen = Pen {
        t,
        out,
        packet: Message::default(),
        written: Written::default(),
        next_row: ROOT,
        tracks: Vec::new(),
        groups: Vec::new(),
        places: vec![Place::default(); t.slices().len()],
        steps: Vec::new(),
    };
    pen.words()?;
    pen.rows()?;
    pen.curves()?;
    pen.lanes()?;
    let arrows = pen.arrows();
    for step in std::mem::take(&mut pen.steps) {
        pen.step(step, &arrows)?;
    }
    pen.out.flush()?;
    Ok(pen.written)
}

impl<W: Write> Pen<'_, W> {
    /// One packet of the sequence.
    fn packet(&mut self, flags: u64, body: impl FnOnce(&mut Message)) -> Result<()> {
        self.packet.message(1, |m| {
            body(m);
            m.number(10, SEQUENCE);
            m.number(13, flags);
        });
        self.out.write_all(&self.packet.0)?;
        self.written.bytes += self.packet.0.len() as u64;
        self.packet.0.clear();
        Ok(())
    }

    /// All words that events use, so that an event has a number in their place; 0 is no number.
    fn words(&mut self) -> Result<()> {
        let t = self.t;
        let (mut events, mut args) = (vec![false; t.names().len()], vec![false; t.names().len()]);
        for s in t.slices() {
            events[s.name.index()] = true;
            t.args(s).iter().for_each(|a| args[a.0.index()] = true);
        }
        self.packet(CLEARED, |m| {
            m.message(12, |m| {
                for (field, used) in [(2, events), (3, args)] {
                    for (i, name) in t.names().iter().enumerate().filter(|n| used[n.0]) {
                        m.message(field, |m| {
                            m.number(1, i as u64 + 1);
                            m.text(2, name);
                        });
                    }
                }
            });
            // The first packet of the sequence, and nothing before it is missing.
            m.number(87, 1);
        })
    }

    fn new_row(&mut self) -> u64 {
        let row = self.next_row;
        self.next_row += 1;
        row
    }

    /// Tells of a row: below `parent`, in the place of its rank; 0 is no parent.
    fn describe(
        &mut self,
        row: u64,
        parent: u64,
        rank: u64,
        name: &str,
        more: impl FnOnce(&mut Message),
    ) -> Result<()> {
        self.packet(NEEDED, |m| {
            m.message(60, |m| {
                m.number(1, row);
                m.text(2, name);
                if parent > 0 {
                    m.number(5, parent);
                    m.number(12, rank);
                }
                more(m);
            });
        })
    }

    fn group(&mut self, name: NameId) -> Result<u64> {
        if let Some(g) = self.groups.iter().find(|g| g.0 == name) {
            return Ok(g.1);
        }
        let (row, rank) = (self.new_row(), self.groups.len() as u64);
        self.groups.push((name, row));
        self.describe(row, ROOT, rank, self.t.text(name), |m| m.number(11, EXPLICIT))?;
        Ok(row)
    }

    /// The root, groups, and the first lane of each row.
    fn rows(&mut self) -> Result<()> {
        let t = self.t;
        let root = self.new_row();
        self.describe(root, 0, 0, t.title(), |m| {
            m.number(11, EXPLICIT);
            if t.dropped() > 0 {
                m.text(14, &format!("{} later events are not shown: the buffer was full", t.dropped()));
            }
        })?;
        for (rank, track) in t.tracks().iter().enumerate() {
            let group = self.group(track.group)?;
            let row = self.new_row();
            self.tracks.push((row, rank as u64));
            self.describe(row, group, rank as u64, t.text(track.name), |_| {})?;
        }
        Ok(())
    }

    /// Counters and their samples.
    fn curves(&mut self) -> Result<()> {
        let t = self.t;
        let mut rows = Vec::new();
        for (i, c) in t.counters().iter().enumerate() {
            let group = self.group(c.group)?;
            let row = self.new_row();
            rows.push(row);
            let rank = t.tracks().len() + i;
            self.describe(row, group, rank as u64, t.text(c.name), |m| {
                m.message(8, |m| match t.text(c.unit) {
                    "B" => m.number(3, BYTES),
                    "" => {}
                    unit => m.text(6, unit),
                });
            })?;
        }
        self.steps.extend(t.samples().iter().enumerate().map(|(i, s)| Step {
            ns: s.at / FS_PER_NS,
            doing: Doing::Sample,
            order: i as u32,
            depth: 0,
            row: rows[s.counter.index()],
            index: i as u32,
        }));
        Ok(())
    }

    /// Puts each slice on the first lane of its row on which nothing that is open ends within it.
    fn lanes(&mut self) -> Result<()> {
        let t = self.t;
        let mut sorted: Vec<u32> = (0..t.slices().len() as u32).collect();
        sorted.sort_unstable_by_key(|&i| {
            let s = &t.slices()[i as usize];
            let (begin, end) = span(s);
            (s.track, begin, Reverse(end), i)
        });
        for list in sorted.chunk_by(|&a, &b| t.slices()[a as usize].track == t.slices()[b as usize].track) {
            let track = t.slices()[list[0] as usize].track;
            let (row, rank) = self.tracks[track.index()];
            let mut lanes = vec![Lane { row, open: Vec::new() }];
            for &index in list {
                let (begin, mut end) = span(&t.slices()[index as usize]);
                lanes.iter_mut().for_each(|l| l.until(begin));
                let fits = |l: &Lane| l.open.last().is_none_or(|o| o.end >= end) || end == begin;
                let place = match lanes.iter().position(fits) {
                    Some(lane) => lanes[lane].put(begin, end, index),
                    None if lanes.len() < MOST_LANES => {
                        let t_track = t.tracks()[track.index()];
                        let (row, group) = (self.new_row(), self.group(t_track.group)?);
                        self.describe(row, group, rank, t.text(t_track.name), |_| {})?;
                        let mut lane = Lane { row, open: Vec::new() };
                        let place = lane.put(begin, end, index);
                        lanes.push(lane);
                        place
                    }
                    None => {
                        // Where the most of it is left.
                        self.written.cut += 1;
                        let until = |l: &Lane| l.open.last().map_or(0, |o| o.end);
                        let lane = (0..lanes.len()).max_by_key(|&l| (until(&lanes[l]), Reverse(l))).unwrap_or(0);
                        end = until(&lanes[lane]);
                        lanes[lane].put(begin, end, index)
                    }
                };
                self.places[index as usize] = place;
                let Place { row, order, depth, .. } = place;
                self.steps.push(Step { ns: begin, doing: Doing::Begin, order, depth, row, index });
                if end > begin {
                    self.steps.push(Step { ns: end, doing: Doing::End, order, depth, row, index });
                }
            }
        }
        Ok(())
    }

    /// Decides where each arrow ends, and puts all steps in order. Perfetto takes the slice that begins first as the
    /// one that an arrow comes from.
    fn arrows(&mut self) -> Arrows {
        let t = self.t;
        let began = |i: usize| {
            let p = self.places[i];
            (span(&t.slices()[i]).0, p.order, p.depth)
        };
        let mut all = Arrows::default();
        for (n, (from, to)) in t.arrows().iter().enumerate() {
            let arrow = n as u64 + 1;
            let (a, b) = (from.index(), to.index());
            if began(a) < began(b) {
                all.begin.push((b as u32, arrow));
            } else if self.places[b].end > began(a).0 && a != b {
                all.end.push((b as u32, arrow));
            } else {
                self.written.backward += 1;
                continue;
            }
            all.out.push((a as u32, arrow));
        }
        for list in [&mut all.out, &mut all.begin, &mut all.end] {
            list.sort_unstable();
        }
        // One moment takes all arrows of a slice.
        for list in all.end.chunk_by(|a, b| a.0 == b.0) {
            let Place { row, end, order, depth } = self.places[list[0].0 as usize];
            self.steps.push(Step { ns: end, doing: Doing::Arrive, order, depth, row, index: list[0].0 });
        }
        self.steps.sort_unstable();
        all
    }

    fn step(&mut self, step: Step, arrows: &Arrows) -> Result<()> {
        let t = self.t;
        let Step { ns, doing, row, index, .. } = step;
        let moment = doing == Doing::Begin && self.places[index as usize].end == ns;
        self.packet(NEEDED, |m| {
            m.number(8, ns);
            m.message(11, |m| {
                m.number(
                    9,
                    match doing {
                        Doing::Begin if !moment => BEGIN,
                        Doing::Begin | Doing::Arrive => INSTANT,
                        Doing::End => END,
                        Doing::Sample => COUNTER,
                    },
                );
                m.number(11, row);
                match doing {
                    Doing::Begin => {
                        let slice = &t.slices()[index as usize];
                        m.number(10, slice.name.index() as u64 + 1);
                        for (name, value) in t.args(slice) {
                            m.message(4, |m| {
                                m.number(1, name.index() as u64 + 1);
                                m.number(3, *value);
                            });
                        }
                        of(&arrows.out, index).iter().for_each(|a| m.fixed(47, a.1));
                        of(&arrows.begin, index).iter().for_each(|a| m.fixed(48, a.1));
                    }
                    Doing::Arrive => {
                        m.number(10, t.slices()[index as usize].name.index() as u64 + 1);
                        of(&arrows.end, index).iter().for_each(|a| m.fixed(48, a.1));
                    }
                    // A signed field: more than it holds is as much as it holds.
                    Doing::Sample => m.number(30, t.samples()[index as usize].value.min(i64::MAX as u64)),
                    Doing::End => {}
                }
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::reader::{read, written};
    use super::*;
    use crate::result::timeline::SliceId;
    use proptest::prelude::*;

    const NS: u64 = FS_PER_NS;

    /// A message from rank 0 to rank 1, whose receive was posted first; recorded in no order.
    fn small() -> Timeline {
        let mut t = Timeline::new("ping", 100);
        let (rank0, rank1) = (t.track("ranks", "rank 0"), t.track("ranks", "rank 1"));
        let wire = t.track("wires", "up");
        let credits = t.counter("wires", "credits", "blocks");
        let (send, recv, packet, bytes) = (t.name("send"), t.name("recv"), t.name("packet"), t.name("bytes"));
        let received = t.slice(rank1, recv, 0, 900 * NS, &[]);
        let first = t.slice(wire, packet, 200 * NS, 300 * NS, &[(bytes, 2048)]);
        let second = t.slice(wire, packet, 300 * NS, 340 * NS + 5, &[(bytes, 300)]);
        let sent = t.slice(rank0, send, 100 * NS, 250 * NS, &[(bytes, 2348)]);
        t.arrow(sent, first);
        t.arrow(sent, second);
        t.arrow(second, received);
        t.sample(credits, 200 * NS, 31);
        t.sample(credits, 0, u64::MAX);
        t
    }

    #[test]
    fn a_small_time_line_by_hand() {
        let (trace, done) = written(&small());
        assert_eq!((done.cut, done.backward), (0, 0));
        let rows: Vec<(&str, u64)> = trace.rows.values().map(|r| (r.0.as_str(), r.1)).collect();
        let groups = [("ping", 0), ("ping/ranks", 0), ("ping/ranks/rank 0", 0), ("ping/ranks/rank 1", 1)];
        assert_eq!(rows, [&groups[..], &[("ping/wires", 1), ("ping/wires/up", 2), ("ping/wires/credits", 3)]].concat());
        let seen: Vec<_> = trace.slices.iter().map(|s| (s.row.as_str(), s.name.as_str(), s.begin, s.end)).collect();
        let expected = [
            ("ping/ranks/rank 1", "recv", 0, 900),
            ("ping/ranks/rank 0", "send", 100, 250),
            ("ping/wires/up", "packet", 200, 300),
            // The first ends before the second begins, at the same nanosecond; what is finer than that is cut off.
            ("ping/wires/up", "packet", 300, 340),
            // The receive had begun before: the arrow comes in at its end, within it.
            ("ping/ranks/rank 1", "recv", 900, 900),
        ];
        assert_eq!(seen, expected);
        assert_eq!(trace.slices.iter().map(|s| s.depth).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
        assert_eq!(trace.slices[1].args, [("bytes".to_owned(), 2348)]);
        assert_eq!(trace.flows, [(1, 2), (1, 3), (3, 4)]);
        assert_eq!(
            trace.samples,
            [("ping/wires/credits".to_owned(), 0, i64::MAX), ("ping/wires/credits".to_owned(), 200, 31)]
        );
    }

    #[test]
    fn the_bytes_of_a_packet_by_hand() {
        let mut t = Timeline::new("t", 1);
        let (row, name) = (t.track("g", "r"), t.name("n"));
        t.slice(row, name, NS, 301 * NS, &[]);
        let mut file = Vec::new();
        write(&t, &mut file).expect("a vector takes all");
        // Words: g 1, r 2, n 3. Rows: t 1, g 2, r 3. The slice's end: packet { 8: 301, 11: { 9: 2, 11: 3 }, 10: 1, 13:
        // 2 }.
        let end = [0x0A, 13, 0x40, 0xAD, 0x02, 0x5A, 4, 0x48, 2, 0x58, 3, 0x50, 1, 0x68, 2];
        assert_eq!(file[file.len() - end.len()..], end);
        // The words at the head: packet { 12: { 2: { 1: 3, 2: "n" } }, 87: 1, 10: 1, 13: 1 }.
        let head = [0x0A, 16, 0x62, 7, 0x12, 5, 0x08, 3, 0x12, 1, b'n', 0xB8, 5, 1, 0x50, 1, 0x68, 1];
        assert_eq!(file[..head.len()], head);
    }

    #[test]
    fn slices_that_overlap_go_on_lanes_of_one_name() {
        let mut t = Timeline::new("", 100);
        let (row, a, b) = (t.track("g", "bus"), t.name("a"), t.name("b"));
        for (begin, end) in [(0, 100), (20, 60), (50, 150), (150, 160), (120, 170)] {
            t.slice(row, a, begin * NS, end * NS, &[]);
        }
        t.slice(row, b, 150 * NS, 150 * NS, &[]);
        let (trace, done) = written(&t);
        let lanes: Vec<_> = trace.rows.iter().filter(|r| r.1.0 == "/g/bus").collect();
        // (50, 150) crosses both of the first lane's; (120, 170) crosses it on the second, but the first is free by
        // then.
        assert_eq!((lanes.len(), lanes[0].1, done.cut), (2, lanes[1].1, 0));
        let seen: Vec<_> = trace.slices.iter().map(|s| (s.begin, s.end, s.depth)).collect();
        assert_eq!(seen, [(0, 100, 0), (20, 60, 1), (50, 150, 0), (120, 170, 0), (150, 160, 1), (150, 150, 2)]);
    }

    #[test]
    fn too_many_that_overlap_are_cut() {
        let mut t = Timeline::new("", 1000);
        let (row, name) = (t.track("g", "r"), t.name("n"));
        for n in 0..=MOST_LANES as u64 {
            t.slice(row, name, n * NS, (1000 + n) * NS, &[]);
        }
        let (trace, done) = written(&t);
        assert_eq!((trace.slices.len(), done.cut), (MOST_LANES + 1, 1));
        // It ends with the last of the others.
        assert_eq!(trace.slices[MOST_LANES].end, 1000 + MOST_LANES as u64 - 1);
    }

    #[test]
    fn arrows_within_a_nanosecond_follow_the_recording() {
        let mut t = Timeline::new("", 100);
        let (a, b, name) = (t.track("g", "a"), t.track("g", "b"), t.name("n"));
        let first = t.slice(b, name, 7 * NS, 7 * NS + 1, &[]);
        let second = t.slice(a, name, 7 * NS + 2, 7 * NS + 3, &[]);
        let third = t.slice(b, name, 7 * NS + 4, 9 * NS, &[]);
        t.arrow(first, second);
        t.arrow(second, third);
        // Back in time, and to itself.
        t.arrow(third, first);
        t.arrow(third, third);
        let (trace, done) = written(&t);
        assert_eq!((trace.flows, done.backward), (vec![(0, 1), (1, 2)], 2));
        // A slice recorded after those within it still goes before them.
        let mut t = Timeline::new("", 100);
        let (row, name, whole) = (t.track("g", "r"), t.name("part"), t.name("whole"));
        t.slice(row, name, 0, 5 * NS, &[]);
        t.slice(row, name, 5 * NS, 9 * NS, &[]);
        t.slice(row, whole, 0, 9 * NS, &[]);
        let (trace, _) = written(&t);
        let seen: Vec<_> = trace.slices.iter().map(|s| (s.name.as_str(), s.depth)).collect();
        assert_eq!(seen, [("whole", 0), ("part", 1), ("part", 1)]);
    }

    #[test]
    fn nothing_is_a_file_too() {
        let (trace, done) = written(&Timeline::new("nothing", 0));
        assert_eq!((trace.rows.len(), trace.slices.len(), done.bytes > 0), (1, 0, true));
    }

    #[test]
    fn what_was_forgotten_is_said() {
        let mut t = Timeline::new("t", 1);
        let (row, name) = (t.track("g", "r"), t.name("n"));
        let [kept, lost] = [0, 5].map(|at| t.slice(row, name, at * NS, at * NS + NS, &[]));
        t.arrow(kept, lost);
        let mut file = Vec::new();
        write(&t, &mut file).expect("a vector takes all");
        assert!(file.windows(14).any(|w| w == b"2 later events"));
        assert_eq!(read(&file).slices.len(), 1);
    }

    proptest! {
        #[test]
        fn whatever_is_recorded_is_what_is_read(
            slices in proptest::collection::vec((0u32..4, 0u64..40, 0u64..20, 0u64..3), 0..120),
            arrows in proptest::collection::vec((0usize..120, 0usize..120), 0..60),
        ) {
            let mut t = Timeline::new("", 1000);
            let names: Vec<_> = (0..3).map(|n| t.name(&format!("n{n}"))).collect();
            let arg = t.name("index");
            let rows: Vec<_> = (0..4).map(|n| t.track("g", &format!("r{n}"))).collect();
            let mut ids: Vec<Option<SliceId>> = Vec::new();
            for (i, &(row, begin, length, name)) in slices.iter().enumerate() {
                // Half nanoseconds, so that rounding has something to do.
                let (begin, end) = (begin * NS / 2, (begin + length) * NS / 2);
                ids.push(t.slice(rows[row as usize], names[name as usize], begin, end, &[(arg, i as u64)]));
            }
            for (a, b) in arrows {
                t.arrow(ids.get(a).copied().flatten(), ids.get(b).copied().flatten());
            }
            // The reader holds the file to what Perfetto asks for.
            let (trace, done) = written(&t);
            let mut seen: Vec<_> = trace.slices.iter().filter(|s| !s.args.is_empty()).collect();
            seen.sort_by_key(|s| s.args[0].1);
            prop_assert_eq!(seen.len(), slices.len());
            for (s, &(row, begin, length, name)) in seen.iter().zip(&slices) {
                prop_assert_eq!((s.begin, s.end), (begin / 2, (begin + length) / 2));
                prop_assert_eq!((s.name.clone(), s.row.clone()), (format!("n{name}"), format!("/g/r{row}")));
            }
            prop_assert_eq!(trace.flows.len() as u64 + done.backward, t.arrows().len() as u64);
            prop_assert_eq!(done.cut, 0);
        }
    }
}
