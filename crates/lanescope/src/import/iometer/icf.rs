//! Reads and writes set-ups of Iometer (.icf).
//!
//! The text is lines: `'Key`, then its value on the next line; `'` and a blank is a heading between the two. Sections
//! end with `'END …`, the whole is between two lines `Version …`. Iometer itself refuses what it does not know. So does
//! this reader, unless it is asked to be tolerant: scripts write many files that are slightly wrong, and then each
//! fault is a warning and reading goes on.

mod sections;
mod write;

pub use write::write;

use super::super::{Reading, beginning, lines, shown};
use super::Setup;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, nearest};
use std::iter::Peekable;

/// Faults after which a text is of another format. A set-up with an empty line between any two has some thousands.
const MOST_FAULTS: usize = 20_000;

/// Bytes of a line at most; names have some 100.
const LONGEST: usize = 1 << 16;

/// Reads a set-up. `tolerant` makes warnings of faults that leave something to go on with.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId, tolerant: bool) -> Option<Setup> {
    Reading::of(diagnostics, source, |text, reading| {
        let lines: Box<dyn Iterator<Item = (usize, &str)>> = Box::new(lines(text));
        Reader {
            reading,
            text,
            lines: lines.peekable(),
            tolerant,
            date: u64::MAX,
            last: (0, 0),
            faults: 0,
            stopped: false,
        }
        .file()
    })
}

/// A version as Iometer compares them: dates by yyyymmdd, all others after every date.
fn date(version: &str) -> u64 {
    let mut numbers = version.split(['.', '-']).map_while(|w| w.parse::<u64>().ok());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(y @ 1990..=2100), Some(m @ 1..=12), Some(d @ 1..=31)) => y * 10_000 + m * 100 + d,
        _ => u64::MAX,
    }
}

/// `1.1.0` of `Version 1.1.0 `.
fn version(line: &str) -> Option<&str> {
    let head = line.get(..7).filter(|h| h.eq_ignore_ascii_case("version"))?;
    let rest = &line[head.len()..];
    let name = rest.trim();
    let number = name.starts_with(|c: char| c.is_ascii_digit());
    (rest.starts_with([' ', '\t']) && number && name.len() < 40 && !name.contains(char::is_whitespace)).then_some(name)
}

/// A line without blanks around it, and where it begins.
#[derive(Clone, Copy)]
struct Line<'t> {
    at: usize,
    text: &'t str,
}

impl<'t> Line<'t> {
    fn of((at, line): (usize, &'t str)) -> Line<'t> {
        // A mark of byte order is no part of the first line.
        let text = line.trim_start_matches('\u{feff}').trim();
        Line { at: at + (text.as_ptr() as usize - line.as_ptr() as usize), text }
    }

    /// A part of it; of what is no part, the place is the whole line's.
    fn part(self, text: &'t str) -> Line<'t> {
        let text = text.trim();
        let at = (text.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        Line { at: self.at + if at <= self.text.len() { at } else { 0 }, text }
    }

    fn is_key(self) -> bool {
        self.text.starts_with('\'')
    }

    /// `'  hours minutes seconds`: words for people, above a value.
    fn is_heading(self) -> bool {
        self.text.strip_prefix('\'').is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    }

    /// Whether it is this key; neither case nor blanks matter.
    fn is(self, key: &str) -> bool {
        fn bare(s: &str) -> impl Iterator<Item = char> {
            s.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase())
        }
        self.is_key() && bare(self.text).eq(bare(key))
    }

    /// Whether it begins with this, in any case.
    fn begins(self, key: &str) -> bool {
        self.text.get(..key.len()).is_some_and(|head| head.eq_ignore_ascii_case(key))
    }
}

/// The first words of the sections.
const SECTIONS: [&str; 4] = ["'TEST SETUP", "'RESULTS DISPLAY", "'ACCESS SPECIFICATIONS", "'MANAGER LIST"];

struct Reader<'r, 't> {
    reading: &'r mut Reading,
    text: &'t str,
    lines: Peekable<Box<dyn Iterator<Item = (usize, &'t str)> + 't>>,
    tolerant: bool,
    /// The version, for comparison.
    date: u64,
    /// The last line that was taken.
    last: (usize, usize),
    /// How much was wrong, the same counted again.
    faults: usize,
    /// Too much is wrong to go on.
    stopped: bool,
}

impl<'t> Reader<'_, 't> {
    /// Notes a fault: an error, or a warning where that is enough. The same is said once.
    fn fault(&mut self, line: Line, message: impl Into<String>, hint: impl Into<String>) {
        let message = message.into();
        self.faults += 1;
        if self.faults > MOST_FAULTS {
            self.stopped = true;
        }
        if self.stopped || self.reading.list.iter().any(|d| d.message == message) {
            return;
        }
        let (_, end) = beginning(self.text, line.at);
        let at = (line.at, end.min(line.at + line.text.len()));
        match self.tolerant {
            true => self.reading.warning(at, message, hint),
            false => self.reading.error(at, message, hint),
        }
        self.stopped = self.reading.enough();
    }

    /// Notes that something is missing where the last line ends.
    fn missing(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        let (at, end) = self.last;
        self.fault(Line { at, text: self.text.get(at..end).unwrap_or_default() }, message, hint);
    }

    fn take(&mut self) -> Option<Line<'t>> {
        let line = Line::of(self.lines.next()?);
        self.last = (line.at, line.at + line.text.len());
        Some(line)
    }

    /// The next line that is not empty.
    fn peek(&mut self) -> Option<Line<'t>> {
        loop {
            if self.stopped {
                return None;
            }
            let line = Line::of(*self.lines.peek()?);
            if !line.text.is_empty() {
                return Some(line);
            }
            // An empty line at the very end is the end of the last line.
            let _ = self.lines.next();
            if self.lines.peek().is_some() {
                self.fault(line, "an empty line", "Iometer's files have none: take it out");
            }
        }
    }

    /// The value of a key: the next line, behind headings.
    fn value(&mut self, key: Line<'t>) -> Option<Line<'t>> {
        let mut empty = None;
        loop {
            let next = self.lines.peek().copied().map(Line::of);
            match next {
                Some(line) if line.text.is_empty() => {
                    let _ = self.take();
                    if empty.replace(line).is_some() {
                        self.fault(line, "an empty line", "Iometer's files have none: take it out");
                    }
                }
                Some(line) if line.is_heading() && empty.is_none() => {
                    let _ = self.take();
                }
                Some(line) if !line.is_key() && (empty.is_none() || version(line.text).is_none()) => {
                    if let Some(empty) = empty {
                        self.fault(empty, "an empty line", "Iometer's files have none: take it out");
                    }
                    return self.take();
                }
                _ if empty.is_some() => return empty,
                _ => {
                    let name = shown(key.text);
                    self.fault(key, format!("{name} has no value"), "it is on the line below");
                    return None;
                }
            }
        }
    }

    /// The values up to the next key.
    fn values(&mut self) -> Vec<Line<'t>> {
        let mut all = Vec::new();
        while let Some(line) = self.peek()
            && !line.is_key()
            && version(line.text).is_none()
        {
            all.extend(self.take());
        }
        all
    }

    /// Whether a line begins what stands beside sections.
    fn opens(line: Line) -> bool {
        SECTIONS.iter().any(|s| line.begins(s)) || version(line.text).is_some()
    }

    /// Reads up to a line `end`. `each` is given the keys between, and says whether it knows them; a key of `outer`
    /// ends it too, as what is missing.
    fn until(
        &mut self,
        what: &str,
        end: &str,
        outer: &[&str],
        known: &[&'static str],
        mut each: impl FnMut(&mut Self, Line<'t>) -> bool,
    ) {
        loop {
            let next = self.peek();
            let Some(line) = next.filter(|&l| !Self::opens(l) && !outer.iter().any(|o| l.is(o))) else {
                let message = format!("{what} has no end");
                let hint = format!("it ends with a line {end}");
                match next {
                    Some(line) => self.fault(line, message, hint),
                    None => self.missing(message, hint),
                }
                return;
            };
            let _ = self.take();
            if line.is(end) {
                return;
            }
            if !line.is_key() {
                self.fault(line, "a value without its key", "a key is the line above it, and begins with '");
            } else if !each(self, line) {
                let near = nearest(line.text, known.iter().copied());
                let hint = near.map_or(format!("{what} has {}", known.join("; ")), |n| format!("did you mean {n}?"));
                let message = format!("{what} has no {}", shown(line.text));
                if what == "TEST SETUP" && self.date < 19_990_217 {
                    // Iometer itself passed over them then.
                    self.reading.warning(self.last, message, hint);
                    self.stopped = self.reading.enough();
                } else {
                    self.fault(line, message, hint);
                }
                let _ = self.values();
            }
        }
    }

    fn file(mut self) -> Option<Setup> {
        let mut setup = Setup::default();
        if let Some((at, long)) = lines(self.text).find(|(_, l)| l.len() > LONGEST) {
            // Nobody wants to see that line.
            let message = format!("a line of {} bytes, from byte {at} on", long.len());
            let hint = "no set-up of Iometer has such lines: is it a text?";
            self.reading.list.push(Diagnostic::error(None, message).hint(hint));
            return None;
        }
        let Some(first) = self.peek() else {
            self.reading.error(
                (0, 0),
                "there is nothing in it",
                "a set-up of Iometer begins with a line Version 1.1.0",
            );
            return None;
        };
        match version(first.text) {
            Some(name) => {
                setup.version = name.to_owned();
                self.date = date(name);
                let _ = self.take();
            }
            None => {
                let hint = "the first and the last line of a set-up of Iometer are Version 1.1.0, or a date such as \
                    2008.06.18";
                self.fault(first, "the first line is not a valid version", hint);
                setup.version = "1.1.0".to_owned();
            }
        }
        let mut seen = [false; 4];
        loop {
            let Some(line) = self.peek() else {
                self.missing(
                    "the file ends without its version line",
                    "is it cut short? the last line is like the first",
                );
                break;
            };
            let _ = self.take();
            if let Some(name) = version(line.text) {
                if name != setup.version {
                    let message = format!("the last line says version {}, the first {}", shown(name), setup.version);
                    self.fault(line, message, "is the file cut short, or made of two?");
                }
                if let Some(more) = self.peek() {
                    self.fault(more, "there is text after the last line", "a set-up ends with its second line Version");
                }
                break;
            }
            let Some(section) = SECTIONS.iter().position(|s| line.begins(s)) else {
                let hint = "sections are 'TEST SETUP, 'RESULTS DISPLAY, 'ACCESS SPECIFICATIONS and 'MANAGER LIST";
                self.fault(line, "no section begins here", hint);
                continue;
            };
            if std::mem::replace(&mut seen[section], true) {
                self.fault(line, format!("a second section {}", SECTIONS[section]), "it is added to the first");
            }
            match section {
                0 => setup.test = Some(self.test_setup()),
                1 => setup.display = Some(self.display()),
                2 => self.specs(&mut setup.specs),
                _ => self.managers(&mut setup.managers),
            }
        }
        // A section of which nothing could be read is as good as none.
        if setup.test.is_none() && setup.display.is_none() && setup.specs.is_empty() && setup.managers.is_empty() {
            let hint =
                "a set-up of Iometer has sections 'TEST SETUP, 'RESULTS DISPLAY, 'ACCESS SPECIFICATIONS, 'MANAGER LIST";
            self.reading.error(beginning(self.text, 0), "no section of a set-up of Iometer", hint);
            return None;
        }
        self.names(&mut setup);
        (!self.stopped).then_some(setup)
    }
}

#[cfg(test)]
mod tests;
