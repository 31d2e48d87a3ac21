//! What IOzone prints: the table of `-a`, the reports of `-R`, and the blocks of its throughput mode `-t`.
//!
//! Numbers of the table stand below their heads, and what did not run is blank: a row with fewer numbers is read by the
//! columns in which they end. Units are those that the header says: `Kbytes/sec`, of 1024 B, or with `-O` operations a
//! second, with `-N` microseconds an operation.

mod load;

pub use load::{Kind, Rung, column, heard, ladder, measure, measures, tests};

use super::{MOST_ROWS, Reading, beginning, lines, shown, words};
use crate::diagnostic::{Diagnostics, SourceId};

/// Columns of the table, and reports.
pub const COLUMNS: usize = 13;

/// What a column is: its heads in two lines, the title of its report, and the number that `-i` has for it.
pub const HEADS: [(&str, &str, &str, u32); COLUMNS] = [
    ("", "write", "Writer", 0),
    ("", "rewrite", "Re-writer", 0),
    ("", "read", "Reader", 1),
    ("", "reread", "Re-Reader", 1),
    ("random", "read", "Random read", 2),
    ("random", "write", "Random write", 2),
    ("bkwd", "read", "Backward read", 3),
    ("record", "rewrite", "Record rewrite", 4),
    ("stride", "read", "Stride read", 5),
    ("", "fwrite", "Fwrite", 6),
    ("", "frewrite", "Re-Fwrite", 6),
    ("", "fread", "Fread", 7),
    ("", "freread", "Re-Fread", 7),
];

/// What numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// KiB a second.
    #[default]
    Kib,
    /// Operations a second.
    Operations,
    /// Microseconds an operation.
    Micros,
}

impl Unit {
    /// Bytes a second of a number for records of so many bytes.
    pub fn rate(self, value: f64, record: u64) -> f64 {
        match self {
            Unit::Kib => value * 1024.0,
            Unit::Operations => value * record as f64,
            Unit::Micros => record as f64 / value * 1e6,
        }
    }

    /// The number for so many bytes a second.
    pub fn of_rate(self, rate: f64, record: u64) -> f64 {
        match self {
            Unit::Kib => rate / 1024.0,
            Unit::Operations => rate / record as f64,
            Unit::Micros => record as f64 / rate * 1e6,
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Bytes of the file.
    pub file: u64,
    /// Bytes of a record.
    pub record: u64,
    /// A number for each column; none where it is blank.
    pub values: [Option<f64>; COLUMNS],
}

/// A block of the throughput mode; rates as printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Processes.
    pub processes: u32,
    /// `initial writers`, `re-readers`.
    pub name: String,
    /// What the children have seen together.
    pub children: f64,
    /// What their parent has seen.
    pub parent: Option<f64>,
    /// The least of a process.
    pub min: Option<f64>,
    /// The most.
    pub max: Option<f64>,
    /// The mean.
    pub avg: Option<f64>,
    /// What the slowest had moved when the first was done, KiB, or operations with `-O`.
    pub min_xfer: Option<f64>,
}

/// An output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// `3.434`; empty where it is not said.
    pub version: String,
    /// The command line; empty likewise.
    pub command: String,
    /// What numbers are.
    pub unit: Unit,
    /// Whether I/O went around the page cache: `-I`.
    pub direct: bool,
    /// The table's rows, or those of reports put together.
    pub rows: Vec<Row>,
    /// Blocks of the throughput mode.
    pub blocks: Vec<Block>,
    /// Bytes of each process's file in the throughput mode, and of its records.
    pub each: Option<(u64, u64)>,
}

/// Whether a text looks like one.
pub fn is(text: &str) -> bool {
    let mut head = lines(text).take(2000).map(|l| l.1);
    head.any(|l| {
        l.contains("Iozone: ") || heads(l).is_some() || report(l).is_some() || l.contains("Children see throughput")
    })
}

/// Reads an output.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Output> {
    Reading::of(diagnostics, source, parse)
}

/// The columns at which the heads of a table end.
fn heads(line: &str) -> Option<[usize; COLUMNS + 2]> {
    let all: Vec<(usize, &str)> = words(0, line).map(|(at, w)| (at + w.len(), w)).collect();
    let names = ["kb", "reclen"].into_iter().chain(HEADS.map(|h| h.1));
    let same = all.len() == COLUMNS + 2 && all.iter().zip(names).all(|(w, name)| w.1.eq_ignore_ascii_case(name));
    let mut ends = [0; COLUMNS + 2];
    ends.iter_mut().zip(&all).for_each(|(end, w)| *end = w.0);
    same.then_some(ends)
}

/// The column of a report's title.
fn report(line: &str) -> Option<usize> {
    let title = line.trim().strip_prefix('"')?.strip_suffix("report\"")?.trim_end();
    HEADS.iter().position(|h| h.2.eq_ignore_ascii_case(title))
}

/// KiB as bytes.
fn kib(word: &str) -> Option<u64> {
    word.parse::<u64>().ok().filter(|n| (1..=1 << 40).contains(n)).map(|n| n * 1024)
}

fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|v| (0.0..1e18).contains(v) && !word.starts_with(['-', '+', 'n', 'i']))
}

fn parse(text: &str, reading: &mut Reading) -> Option<Output> {
    let mut output = Output::default();
    let mut ends: Option<[usize; COLUMNS + 2]> = None;
    // The report in work: its column and the sizes of records.
    let mut open: Option<(usize, Vec<u64>)> = None;
    let mut rows = 0;
    for (at, line) in lines(text) {
        if reading.enough() {
            return None;
        }
        let place = (at, at + line.len());
        let trimmed = line.trim();
        if let Some(found) = heads(line) {
            (ends, open) = (Some(found), None);
        } else if let Some(column) = report(line) {
            (ends, open) = (None, Some((column, Vec::new())));
        } else if let Some((column, records)) = open.as_mut().filter(|_| trimmed.starts_with('"')) {
            rows += 1;
            if records.is_empty() {
                let all: Option<Vec<u64>> =
                    trimmed.split_ascii_whitespace().map(|w| kib(w.trim_matches('"'))).collect();
                *records = all.unwrap_or_default().into_iter().take(64).collect();
                if records.is_empty() {
                    reading.warning(place, "no sizes of records", "a report begins with them: \"4\"  \"8\"  \"16\"");
                }
            } else {
                reported(&mut output, *column, records, trimmed, reading, place);
            }
        } else if trimmed.starts_with(|c: char| c.is_ascii_digit())
            && ends.is_some_and(|e| row(&mut output, &e, line, reading, place))
        {
            rows += 1;
        } else {
            said(&mut output, trimmed);
            throughput(&mut output, trimmed);
            if output.blocks.len() > MOST_ROWS {
                rows = MOST_ROWS + 1;
            }
        }
        if rows > MOST_ROWS {
            reading.error(place, format!("more than {MOST_ROWS} rows"), "cut the text into pieces");
            return None;
        }
    }
    if output.rows.is_empty() && output.blocks.is_empty() {
        if reading.list.is_empty() {
            let hint = "iozone -a prints a table below a line `KB reclen write rewrite …`, -R reports, -t lines \
                `Children see throughput …`";
            reading.error(beginning(text, 0), "no output of IOzone", hint);
        }
        return None;
    }
    Some(output)
}

/// What a line of the header says.
fn said(output: &mut Output, line: &str) {
    let first = |s: &str| s.split_ascii_whitespace().next().unwrap_or_default().chars().take(40).collect::<String>();
    let size = |key: &str| {
        let rest = line.split_once(key)?.1;
        kib(rest.split_ascii_whitespace().next()?)
    };
    if let Some(rest) = line.split_once("Version $Revision:") {
        output.version = first(rest.1);
    } else if let Some(command) = line.strip_prefix("Command line used:") {
        output.command = command.trim().chars().filter(|c| !c.is_control()).take(1000).collect();
        output.direct |= output.command.split_ascii_whitespace().any(|w| w == "-I");
    } else if line.contains("O_DIRECT feature enabled") {
        output.direct = true;
    } else if line.contains("operations per second") || line.starts_with("OPS Mode") {
        output.unit = Unit::Operations;
    } else if line.contains("microseconds per operation") || line.starts_with("Microseconds/op Mode") {
        output.unit = Unit::Micros;
    } else if let Some(record) = size("Record Size ") {
        output.each = Some((output.each.map_or(0, |e| e.0), record));
    } else if let Some(file) = size("File size set to ") {
        output.each = Some((file, output.each.map_or(0, |e| e.1)));
    } else if let Some(rest) = line.strip_prefix("Each process writes a ") {
        // `Each process writes a 262144 kByte file in 1024 kByte records`
        let mut sizes = rest.split_ascii_whitespace().filter_map(kib);
        if let (Some(file), Some(record)) = (sizes.next(), sizes.next()) {
            output.each = Some((file, record));
        }
    }
}

/// Puts a row of the table away; whether it is one.
fn row(
    output: &mut Output,
    ends: &[usize; COLUMNS + 2],
    line: &str,
    reading: &mut Reading,
    place: (usize, usize),
) -> bool {
    let all: Vec<(usize, &str)> = words(0, line).map(|(at, w)| (at + w.len(), w)).take(COLUMNS + 8).collect();
    let count = all.iter().take_while(|w| number(w.1).is_some()).count().min(COLUMNS + 2);
    let numbers = &all[..count];
    let sizes = |i: usize| numbers.get(i).and_then(|w| kib(w.1));
    let (Some(file), Some(record)) = (sizes(0), sizes(1)) else {
        return false;
    };
    let mut row = Row { file, record, ..Row::default() };
    if numbers.len() < all.len() {
        let behind = all[numbers.len()].1;
        reading.warning(place, format!("a row with {:?} in it", shown(behind)), "what comes from there on is left out");
    }
    let full = numbers.len() == COLUMNS + 2;
    let mut last = 1;
    for (i, (end, word)) in numbers.iter().enumerate().skip(2) {
        // Columns are at least 8 wide; heads and numbers end within one of each other.
        let near = (2..COLUMNS + 2).min_by_key(|c| ends[*c].abs_diff(*end)).unwrap_or(2);
        let column = if full { i } else { near };
        if column <= last || !full && ends[column].abs_diff(*end) > 3 {
            let what = format!("{} is below no header of the table", shown(word));
            reading.warning(place, what, "the row is left out: nothing says which test it belongs to");
            return true;
        }
        last = column;
        row.values[column - 2] = number(word).filter(|v| *v > 0.0);
    }
    output.rows.push(row);
    true
}

/// A row of a report: the size of the file, then a number for each size of records that is not larger.
fn reported(
    output: &mut Output,
    column: usize,
    records: &[u64],
    line: &str,
    reading: &mut Reading,
    place: (usize, usize),
) {
    let mut all = line.split_ascii_whitespace();
    let file = all.next().and_then(|w| kib(w.trim_matches('"')));
    let values: Option<Vec<f64>> = all.map(number).take(65).collect();
    let (Some(file), Some(values)) = (file, values) else {
        reading.warning(place, format!("no row of a report: {}", shown(line)), "it is left out");
        return;
    };
    // Small records of large files are not run, and leave no gap.
    let fits = |least: u64| records.iter().copied().filter(|r| (least..=file).contains(r)).collect::<Vec<_>>();
    let (whole, large) = (fits(0), fits(load::SMALL_RECORD));
    let records = match values.len() {
        n if n == whole.len() => whole,
        n if n == large.len() && file >= load::LARGE_FILE => large,
        _ => {
            let what = format!("{} numbers for {} sizes of records", values.len(), whole.len());
            reading.warning(place, what, "the row is left out: which is of which is not to be seen");
            return;
        }
    };
    for (record, value) in records.into_iter().zip(values).filter(|v| v.1 > 0.0) {
        // Reports have the same rows in the same order; the last ones are the likeliest.
        let known =
            output.rows.iter().rposition(|r| (r.file, r.record) == (file, record) && r.values[column].is_none());
        let at = known.unwrap_or_else(|| {
            output.rows.push(Row { file, record, ..Row::default() });
            output.rows.len() - 1
        });
        output.rows[at].values[column] = Some(value);
    }
}

/// `Children see throughput for 4 initial writers = 1234.56 kB/sec` and the lines below.
fn throughput(output: &mut Output, line: &str) {
    let Some((what, value)) = line.split_once('=') else { return };
    let mut value = value.split_ascii_whitespace();
    let Some(number) = value.next().and_then(number) else { return };
    if value.next().is_some_and(|unit| unit.starts_with("ops")) {
        output.unit = Unit::Operations;
    }
    let what = what.trim_end();
    if let Some(rest) = what.strip_prefix("Children see throughput for") {
        let mut rest = rest.split_ascii_whitespace();
        let processes = rest.next().and_then(|n| n.parse().ok()).filter(|n| (1..=1_000_000).contains(n));
        let name: Vec<&str> = rest.collect();
        if let Some(processes) = processes {
            let name = name.join(" ").chars().take(40).collect();
            output.blocks.push(Block { processes, name, children: number, ..Block::default() });
        }
        return;
    }
    let Some(block) = output.blocks.last_mut() else { return };
    match what {
        "Min throughput per process" | "Min throughput per thread" => block.min = Some(number),
        "Max throughput per process" | "Max throughput per thread" => block.max = Some(number),
        "Avg throughput per process" | "Avg throughput per thread" => block.avg = Some(number),
        "Min xfer" => block.min_xfer = Some(number),
        _ if what.starts_with("Parent sees throughput for") => block.parent = Some(number),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
