//! IOzone's ladders, and its tests as scenarios.
//!
//! A simulated host has no page cache: every file is as if it were larger than memory, and sequential records are what
//! read-ahead and write-behind make of them (`test`, `request` and `ahead` of a flow). With `-I` each record goes by
//! itself. Writing again is as writing, and reading again as reading; `fwrite` and `fread` are buffered as these are.
//! Records of a stride read are 17 of them apart, one after the other. Reading backward, and writing one record again
//! and again, have no counterpart.

use super::{Block, Output};
use crate::import::Test;
use crate::units::Bytes;
use std::fmt::Write;

/// Files from this size on have no records below [`SMALL_RECORD`] (IOzone's cross-over, without -z).
pub(super) const LARGE_FILE: u64 = 32 << 20;
/// See [`LARGE_FILE`].
pub(super) const SMALL_RECORD: u64 = 64 << 10;
/// Bytes of a request that the file system makes of sequential records; the default of `request`.
const REQUEST: u64 = 256 << 10;
/// Records from one to the next of a stride read.
const STRIDE: u64 = 17;

/// What is simulated for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Sequential writes.
    Write,
    /// Sequential reads.
    Read,
    /// Reads in random order.
    RandomRead,
    /// Writes in random order.
    RandomWrite,
    /// Reads, 17 records apart.
    Stride,
}

/// One row's measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rung {
    /// Bytes of the file.
    pub file: u64,
    /// Bytes of a record.
    pub record: u64,
    /// What is done.
    pub kind: Kind,
    /// Whether around the page cache.
    pub direct: bool,
    /// Processes, each with a file of its own.
    pub processes: u32,
}

impl Rung {
    /// The load itself, the same for all rungs that ask for it: behind the page cache sequential records of any size
    /// are requests of the file system's.
    pub fn load(self) -> Rung {
        let merged = !self.direct && matches!(self.kind, Kind::Write | Kind::Read);
        if merged { Rung { record: REQUEST.min(self.file), ..self } } else { self }
    }
}

/// What stands for a column, and whether that goes around the page cache where -I says so; none where nothing does.
pub fn column(column: usize) -> Option<(Kind, bool)> {
    Some(match column {
        0 | 1 => (Kind::Write, true),
        2 | 3 => (Kind::Read, true),
        4 => (Kind::RandomRead, true),
        5 => (Kind::RandomWrite, true),
        8 => (Kind::Stride, true),
        // A stream's buffer is the host's.
        9 | 10 => (Kind::Write, false),
        11 | 12 => (Kind::Read, false),
        _ => return None,
    })
}

/// The columns of a row that have a measure.
pub fn measures(file: u64, record: u64, direct: bool, columns: impl Iterator<Item = usize>) -> Vec<(usize, Rung)> {
    let of = |c: usize| {
        let (kind, around) = column(c)?;
        Some((c, Rung { file, record, kind, direct: direct && around, processes: 1 }))
    };
    columns.filter_map(of).collect()
}

/// Blocks of the throughput mode that have a measure, by the words that IOzone has for those who run.
const HEARD: [(&str, Kind, u32); 7] = [
    ("initial writers", Kind::Write, 0),
    ("rewriters", Kind::Write, 0),
    ("readers", Kind::Read, 1),
    ("re-readers", Kind::Read, 1),
    ("stride readers", Kind::Stride, 5),
    ("random readers", Kind::RandomRead, 2),
    ("random writers", Kind::RandomWrite, 2),
];

/// The blocks of the throughput mode for tests of these numbers; all where there are none.
pub fn heard(numbers: &[u32]) -> impl Iterator<Item = (&'static str, Kind)> {
    HEARD.into_iter().filter(move |h| numbers.is_empty() || numbers.contains(&h.2)).map(|h| (h.0, h.1))
}

/// What stands for a block that somebody's IOzone has printed.
pub fn measure(output: &Output, block: &Block) -> Option<Rung> {
    let (file, record) = output.each.filter(|e| e.0 > 0 && e.1 > 0)?;
    let name = block.name.strip_suffix('s').unwrap_or(&block.name);
    let kind = HEARD.iter().find(|h| h.0.strip_suffix('s').unwrap_or(h.0) == name)?.1;
    Some(Rung { file, record, kind, direct: output.direct, processes: block.processes })
}

/// The rows of `-a`: files and records double from the least to the most; a record is at most a file. `all` keeps small
/// records of large files, as -z does.
pub fn ladder(files: (u64, u64), records: (u64, u64), all: bool) -> Vec<(u64, u64)> {
    let doubles = |(least, most): (u64, u64)| {
        std::iter::successors(Some(least.max(1)), |n| n.checked_mul(2)).take_while(move |n| *n <= most)
    };
    let rows = doubles(files).flat_map(|file| doubles(records).take_while(move |r| *r <= file).map(move |r| (file, r)));
    rows.filter(|(file, record)| all || *file < LARGE_FILE || *record >= SMALL_RECORD).collect()
}

/// A rung as a scenario: a flow for each process, `p0`, `p1`, and so on.
pub fn tests(rung: &Rung, host: &str, volume: &str, capacity: u64) -> Test {
    let Rung { file, record, kind, direct, processes } = *rung;
    let (word, read) = match kind {
        Kind::Write => ("write", false),
        Kind::Read => ("read", true),
        Kind::RandomRead => ("random-read", true),
        Kind::RandomWrite => ("random-write", false),
        Kind::Stride => ("stride read", true),
    };
    let mut text = String::new();
    for process in 0..processes {
        let _ = writeln!(text, "[flows.p{process}]\nfrom = {host:?}\nto = {volume:?}\ndo = \"io\"");
        // Each has a file of its own, as far as the volume goes.
        let places = (capacity / file.max(1)).max(1);
        let start = u64::from(process) % places * file;
        let range = file.min(capacity);
        let _ = writeln!(text, "start = \"{}\"\nfile = \"{}\"", Bytes(start), Bytes(range));
        if direct || kind == Kind::Stride {
            let percent = |yes: bool| if yes { "100 %" } else { "0 %" };
            let random = matches!(kind, Kind::RandomRead | Kind::RandomWrite);
            let step = if kind == Kind::Stride { record.saturating_mul(STRIDE).min(1 << 30) } else { record };
            let _ = writeln!(
                text,
                "access = {{ size = \"{}\", read = \"{}\", random = \"{}\", align = \"{}\" }}\noutstanding = 1",
                Bytes(record),
                percent(read),
                percent(random),
                Bytes(step.max(512))
            );
        } else {
            let request = REQUEST.min(range);
            let _ = writeln!(text, "test = \"{word}\"\nrecord = \"{}\"", Bytes(record));
            if !matches!(kind, Kind::RandomRead | Kind::RandomWrite) {
                let _ = writeln!(text, "request = \"{}\"", Bytes(request));
            }
        }
        text.push('\n');
    }
    text.push_str("[run]\nuntil = \"±1 %\"\nmax_time = \"60 s\"\n");
    let mut title = format!("{word} of {} in records of {}", Bytes(file), Bytes(record));
    if processes > 1 {
        let _ = write!(title, ", {processes} processes");
    }
    Test { title, text }
}
