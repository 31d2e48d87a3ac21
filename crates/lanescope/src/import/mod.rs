//! Other people's formats: traces of programs, the tables that instruments print, and dumps of hosts.
//!
//! Every reader takes a text that a [`Diagnostics`] already holds and gives what it found, or nothing and at least one
//! error. A reader stops after [`MOST_MESSAGES`] messages: what comes then is of another format.

pub mod fio;
pub mod goal;
pub mod host;
pub mod imb;
pub mod iometer;
pub mod iozone;
mod machine;
pub mod nccl_tests;
pub mod osu;
pub mod table;
pub mod ti;

pub use machine::{Host, Machine, Test, Volume};
pub use table::{Block, Row, Suite, Table};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity, SourceId, Span};

/// Messages after which a reader gives up on a text.
pub const MOST_MESSAGES: usize = 20;

/// Rows of a text of tables, at most.
const MOST_ROWS: usize = 1_000_000;

/// Most operations of a trace, all ranks together; one takes some 60 bytes.
const MOST_OPS: u64 = 16_000_000;

/// The table of an instrument, whichever prints so.
pub fn instrument(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Table> {
    if diagnostics.source(source).text.contains("# OSU ") {
        osu::read(diagnostics, source)
    } else {
        imb::read(diagnostics, source)
    }
}

/// A text while it is read, and what was noticed.
struct Reading {
    source: SourceId,
    list: Vec<Diagnostic>,
}

impl Reading {
    /// Reads a held text with `with`; an answer counts only without errors.
    fn of<T>(
        diagnostics: &mut Diagnostics,
        source: SourceId,
        with: impl FnOnce(&str, &mut Reading) -> Option<T>,
    ) -> Option<T> {
        let mut reading = Reading::new(source);
        let text = &diagnostics.source(source).text;
        let found = if text.len() > u32::MAX as usize {
            reading.error((0, 0), "the text is larger than 4 GiB", "cut it into pieces");
            None
        } else {
            with(text, &mut reading)
        };
        if found.is_none() {
            reading.stopped();
        }
        let wrong = reading.end(diagnostics);
        found.filter(|_| !wrong)
    }

    fn new(source: SourceId) -> Reading {
        Reading { source, list: Vec::new() }
    }

    /// Without an answer there must be an error.
    fn stopped(&mut self) {
        if !self.list.iter().any(|d| d.severity == Severity::Error) {
            let last = self.list.last().and_then(|d| d.span).map_or((0, 0), |s| (s.start as usize, s.end as usize));
            self.error(last, "reading stopped here, after too many warnings", "is it in another format?");
        }
    }

    /// Hands over what was noticed; whether anything was wrong.
    fn end(self, diagnostics: &mut Diagnostics) -> bool {
        let wrong = self.list.iter().any(|d| d.severity == Severity::Error);
        self.list.into_iter().for_each(|d| diagnostics.push(d));
        wrong
    }

    fn span(&self, (start, end): (usize, usize)) -> Span {
        Span { source: self.source, start: start as u32, end: end as u32 }
    }

    /// Notes an error at bytes from and to.
    fn error(&mut self, at: (usize, usize), message: impl Into<String>, hint: impl Into<String>) {
        self.list.push(Diagnostic::error(self.span(at), message).hint(hint));
    }

    /// Notes a warning.
    fn warning(&mut self, at: (usize, usize), message: impl Into<String>, hint: impl Into<String>) {
        self.list.push(Diagnostic::warning(self.span(at), message).hint(hint));
    }

    /// Notes a warning that is not repeated.
    fn once(&mut self, at: (usize, usize), message: &str, hint: &str) {
        if self.list.iter().all(|d| d.message != message) {
            self.warning(at, message, hint);
        }
    }

    /// Puts a row, the so-manieth of the text, into the block that it stands in. Whether that is not too many.
    fn keep(&mut self, row: Row, blocks: &mut [Block], rows: usize, at: (usize, usize)) -> bool {
        if rows > MOST_ROWS {
            self.error(at, format!("more than {MOST_ROWS} rows"), "cut the text into pieces");
        } else if let Some(block) = blocks.last_mut() {
            block.rows.push(row);
        }
        rows <= MOST_ROWS
    }

    /// Whether enough was said.
    fn enough(&self) -> bool {
        self.list.len() >= MOST_MESSAGES
    }
}

/// The lines of a text with the byte at which each begins, without their ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}

/// The words of a line with the byte at which each begins.
fn words(start: usize, line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_ascii_whitespace().map(move |word| (start + (word.as_ptr() as usize - line.as_ptr() as usize), word))
}

/// The first bytes of a text from a place, to point at: at most 60, whole characters.
fn beginning(text: &str, at: usize) -> (usize, usize) {
    let end = (at..=text.len().min(at + 60)).rev().find(|&end| text.is_char_boundary(end));
    (at, end.unwrap_or(at))
}

/// A word short enough for a message.
fn shown(word: &str) -> String {
    let mut short: String = word.chars().map(|c| if c.is_control() { '?' } else { c }).take(40).collect();
    if word.chars().count() > 40 {
        short.push('…');
    }
    short
}
