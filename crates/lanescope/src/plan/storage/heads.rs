//! The heads of a disk: when the data of a command pass below them.
//!
//! A disk has one set of heads and takes commands in the order in which they come: its moments follow from where the
//! heads are, how fast the zone moves and at which angle the disk stands. A sequential reader finds what the disk has
//! read ahead, as far as its cache goes; a writer is taken in so far ahead of the media; with a write cache, as soon as
//! that holds no more than its bytes. A run asks command by command, and so does the closed form where flows differ.

use crate::plan::storage::{seek, spindle_phase, zones};
use crate::scenario::keys::{Disk, SECTOR};
use crate::scenario::quantity::Corner;
use crate::units::{Pace, Rate, Time};
use std::collections::VecDeque;

/// What no moment hangs on, fs: angles and spans are rounded.
const ROUNDED: u64 = 1_000_000;

/// The moving parts of a disk.
#[derive(Clone, Debug)]
pub(crate) struct Heads {
    capacity: u64,
    /// One turn, fs, and how much of it is over at the beginning: spindles do not turn in step.
    turn: u64,
    phase: u64,
    /// To the next track, average, full, fs.
    seeks: [f64; 3],
    /// Zones of equal size, outermost first: their rate, and the bytes of a track.
    zones: Vec<(Pace, u64)>,
    cache: u64,
    write_cache: bool,
    /// Where they stand: the byte after the last one moved.
    at: u64,
    /// Whether that was read.
    read: bool,
    /// From when on they worked for the last command.
    from: u64,
    /// Whether the last read went on where the one before had ended, or not far behind.
    reads_on: bool,
    /// When the media are done with all that was asked for.
    media: u64,
    /// With a write cache: writes that it holds, when the media take each, and the bytes of all.
    held: VecDeque<Held>,
    holds: u64,
}

/// A write in a cache.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    begin: u64,
    end: u64,
}

/// When a command's data move, of a target whatever it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// When its first byte is there (reads) or may come (writes). What was read ahead may have been there before the
    /// command came.
    pub(crate) begin: u64,
    /// When the target has dealt with the command: nothing moves before.
    pub(crate) from: u64,
    /// How the others follow; without it they are all there.
    pub(crate) pace: Option<Pace>,
    /// When the media have taken all of a write in.
    pub(crate) end: u64,
    /// Whether a write's status need not wait for that.
    pub(crate) early: bool,
    /// Whether the target works on several commands at once and says itself when data are there: the moments are not
    /// known ahead.
    pub(crate) several: bool,
}

impl Service {
    /// What is not known yet.
    pub(crate) fn open() -> Service {
        Service { begin: 0, from: 0, pace: None, end: 0, early: true, several: false }
    }

    /// When `bytes` from its beginning are there.
    pub(crate) fn ready(&self, bytes: u64) -> u64 {
        self.begin.saturating_add(self.pace.map_or(0, |p| p.span(bytes))).max(self.from)
    }
}

impl Heads {
    pub(crate) fn new(k: &Disk, corner: Corner, place: usize) -> Heads {
        let turn = 60_000_000_000_000_000 / k.rpm.at(corner).get() as u64;
        let (outer, inner) = (k.outer_rate.at(corner).bits(), k.inner_rate.at(corner).bits());
        let last = (zones(k) - 1).max(1) as f64;
        let zone = |i: u32| {
            let rate = Rate::from_bits((outer - (outer - inner) * i as f64 / last).max(8.0) as u64);
            (Pace::new(rate), rate.slots(Time::from_fs(turn)).max(1))
        };
        Heads {
            capacity: k.capacity.typical.0,
            turn,
            phase: (spindle_phase(place) * turn as f64) as u64,
            seeks: [&k.track_seek, &k.average_seek, &k.full_seek].map(|s| s.at(corner).fs() as f64),
            zones: (0..zones(k)).map(zone).collect(),
            cache: k.cache.at(corner).0,
            write_cache: k.write_cache.typical,
            at: 0,
            // Nothing has been read ahead before anything is asked for.
            read: false,
            from: 0,
            reads_on: false,
            media: 0,
            held: VecDeque::new(),
            holds: 0,
        }
    }

    /// Bytes in the write cache that the media have not taken yet.
    pub(crate) fn cached(&self, now: u64) -> u64 {
        self.held.iter().filter(|h| h.end > now).map(|h| h.bytes).sum()
    }

    /// Whether writes have filled the write cache.
    pub(crate) fn full(&self) -> bool {
        self.holds > self.cache
    }

    /// When the media are done with all that was asked for, fs.
    pub(crate) fn free(&self) -> u64 {
        self.media
    }

    /// How long they work for the last command, with all that the heads do for it, fs.
    pub(crate) fn worked(&self) -> u64 {
        self.media.saturating_sub(self.from)
    }

    /// From a moment on, when a write cache first has no more than it holds: only then another write comes in.
    fn room(&mut self, start: u64) -> u64 {
        while let Some(first) = self.held.front().filter(|h| h.end <= start) {
            self.holds -= first.bytes;
            self.held.pop_front();
        }
        let mut less = self.holds.saturating_sub(self.cache);
        for h in &self.held {
            if less <= h.bytes {
                let gone = (h.end - h.begin) as u128 * less as u128 / h.bytes.max(1) as u128;
                return if less == 0 { start } else { start.max(h.begin + gone as u64) };
            }
            less -= h.bytes;
        }
        start
    }

    /// The rate under the heads at an offset, and the bytes of a track there.
    fn zone(&self, offset: u64) -> (Pace, u64) {
        let zone = offset as u128 * self.zones.len() as u128 / self.capacity.max(1) as u128;
        self.zones[(zone as usize).min(self.zones.len() - 1)]
    }

    /// Time to cross a part of the disk: nothing where they stand, by the square root up to a third, straight from
    /// there.
    fn seek(&self, from: u64, to: u64) -> u64 {
        let part = from.abs_diff(to) as f64 / self.capacity.max(1) as f64;
        if from.abs_diff(to) < self.zone(to).1 {
            return 0;
        }
        seek(part, self.seeks) as u64
    }

    /// From a moment to the one at which a byte comes under the heads: a track begins where the one before ends, and
    /// angles go on as time does while bytes pass.
    fn turn_to(&self, offset: u64, now: u64) -> u64 {
        let angle = self.zone(offset).0.phase(offset, self.turn);
        (angle + self.turn - now.saturating_add(self.phase) % self.turn) % self.turn
    }

    /// A command that the disk has dealt with at a moment: when its data move.
    pub(crate) fn serve(&mut self, read: bool, offset: u64, size: u64, start: u64) -> Service {
        let pace = self.zone(offset).0;
        let ahead = pace.span(self.cache);
        // Whole sectors move: the rest of one is passed over.
        let (from, to) = (offset / SECTOR * SECTOR, (offset + size).next_multiple_of(SECTOR));
        // The sector in which the last read ended is at hand.
        let (shared, passed) = (read && self.read && from + SECTOR == self.at, self.at);
        let from = if shared { passed } else { from };
        let to = to.max(from);
        let follows = from == self.at && read == self.read;
        // Whoever has read on once is read ahead for, and may leave something out: that passes below the heads all the
        // same.
        let skipped = from.wrapping_sub(self.at);
        let reads_on = read && self.read && (follows || self.reads_on && skipped <= self.cache);
        self.reads_on = reads_on;
        self.from = start.max(self.media);
        let moves = || {
            // Between reading and writing the electronics take a moment: where both are side by side, it is too late.
            let turns = if read != self.read && self.media > 0 { ROUNDED } else { 0 };
            let arrived = start.max(self.media).saturating_add(self.seek(self.at, from) + turns);
            arrived.saturating_add(self.turn_to(from, arrived))
        };
        let skip = pace.span(skipped.min(self.cache));
        // It has gone on reading, as far as its cache goes.
        let goes_on = self.media.saturating_add(skip).max(start.saturating_sub(ahead));
        let begin = if reads_on && (skipped == 0 || goes_on <= moves().saturating_add(ROUNDED)) {
            self.from = goes_on - skip.min(goes_on);
            goes_on
        } else if follows && self.media >= start {
            self.media
        } else {
            // Also where it is sooner there than by reading what lies between.
            moves()
        };
        let end = begin.saturating_add(pace.span(to - from));
        (self.at, self.read, self.media) = (to, read, end);
        if read {
            let at_hand = if shared { (passed - offset).min(size) } else { 0 };
            let begin = begin.saturating_sub(pace.span(at_hand));
            return Service { begin, from: start, pace: Some(pace), end, early: true, several: false };
        }
        if self.write_cache {
            let room = self.room(start);
            self.held.push_back(Held { bytes: size, begin, end });
            self.holds += size;
            // Of what is longer than the cache, the media have to take what does not fit.
            let end = end.saturating_sub(ahead);
            return Service { begin: room, from: start, pace: None, end, early: size <= self.cache, several: false };
        }
        // Taken in ahead of the media.
        Service {
            begin: start.max(begin.saturating_sub(ahead)),
            from: start,
            pace: None,
            end,
            early: false,
            several: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tree::Table;

    const MS: u64 = 1_000_000_000_000;

    fn heads() -> Heads {
        let mut d = crate::diagnostic::Diagnostics::default();
        Heads::new(&Disk::read(&mut d, &Table::default(), Default::default()).expect("defaults"), Corner::Typical, 0)
    }

    #[test]
    fn a_sequential_reader_goes_at_the_rate_of_the_zone() {
        let mut h = heads();
        let first = h.serve(true, 0, 1 << 20, 0);
        let next = h.serve(true, 1 << 20, 1 << 20, first.end);
        // Not later than the media, although the command came when the data before were done.
        assert_eq!(next.begin, first.end);
        // 2^20 B at 72 MB/s.
        assert!((next.end - next.begin).abs_diff(14_563_555_555_555) < 1_000_000);
        // After a second without a command it has read its cache full, and no more.
        let late = next.end + 1000 * MS;
        let third = h.serve(true, 2 << 20, 64 << 10, late);
        assert_eq!(late - third.begin, (2u64 << 20) * 1_000_000_000 / 72 + 1);
    }

    #[test]
    fn a_random_read_seeks_and_waits_for_half_a_turn_on_average() {
        let mut h = heads();
        let (mut sum, mut now) = (0u64, 0);
        let n = 2000u64;
        for i in 0..n {
            // Steps of equal length would meet the same few angles.
            let mixed = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i << 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let offset = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20;
            let offset = offset % 73_000_000_000 / 512 * 512;
            let s = h.serve(true, offset, 512, now);
            sum += s.begin - now;
            now = s.end;
        }
        // A seek over a third on average (a little less, by the square root), and 3 ms of 6.
        let mean = sum / n / (MS / 1000);
        assert!((7000..8200).contains(&mean), "{mean} us");
    }

    #[test]
    fn a_command_is_dealt_with_before_what_was_read_ahead_goes() {
        let mut h = heads();
        let first = h.serve(true, 0, 1 << 20, 0);
        let (came, dealt) = (first.end + 100 * MS, first.end + 100 * MS + 7);
        let hit = h.serve(true, 1 << 20, 4096, dealt);
        assert!(hit.begin < came, "it was read ahead");
        assert_eq!(hit.ready(4096), dealt);
    }

    /// Reads of 1000 B in a row begin and end inside sectors: the two that share one pass it below the heads once.
    #[test]
    fn a_sector_that_was_read_is_at_hand() {
        let mut h = heads();
        let first = h.serve(true, 0, 1000, 0);
        let mut now = first.end;
        for i in 1..128 {
            let next = h.serve(true, 1000 * i, 1000, now);
            // Its last byte is there no later than the end of its last sector.
            assert!(next.ready(1000) <= next.end.max(now) && next.end >= now);
            now = next.end;
        }
        // 250 sectors hold 128000 B, at 72 MB/s.
        assert!((now - first.begin).abs_diff(128_000 * 1_000_000_000 / 72) < 128);
    }

    #[test]
    fn a_late_writer_waits_for_the_disk_to_come_round() {
        let mut h = heads();
        let first = h.serve(false, 0, 1 << 20, 0);
        let next = h.serve(false, 1 << 20, 1 << 20, first.end + MS);
        // Angles are rounded down.
        assert!((next.end - first.end).abs_diff(6 * MS + (1u64 << 20) * 1_000_000_000 / 72) <= 1);
    }
}
