//! Every error that a user can cause: where it is in the user's text, what was expected, and what to do.
//!
//! The library never prints. It returns a [`Diagnostics`] that owns the texts it points into, so that a front end can
//! show the lines.

use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Which of the texts of a [`Diagnostics`] a span points into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SourceId(pub u32);

/// A stretch of a source text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A text that was read, and what to call it in a message.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name, `<stdin>`, `--set`, or a library name.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Whether its warnings are known to its authors: those of the library.
    pub quiet: bool,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing can be answered.
    Error,
    /// Legal, but suspicious.
    Warning,
}

/// One message that points into a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where; `None` when no text is to blame.
    pub span: Option<Span>,
    /// A few words at that place.
    pub label: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// The same at a place, where it has none yet.
    pub fn at(self, span: Span) -> Diagnostic {
        Diagnostic { span: self.span.or(Some(span)), ..self }
    }

    /// An error at a place.
    pub fn error(span: impl Into<Option<Span>>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            span: span.into(),
            label: String::new(),
            hint: None,
        }
    }

    /// A warning at a place.
    pub fn warning(span: impl Into<Option<Span>>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, message) }
    }

    /// With a few words at the place.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// With advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into()).filter(|h| !h.is_empty());
        self
    }
}

/// All that was found while reading one scenario, with the texts it points into.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    sources: Vec<Source>,
    list: Vec<Diagnostic>,
    /// Warnings that others may be like, but for the number of a copy: which of the list, its own message, and
    /// those of the others.
    alike: Vec<(usize, String, BTreeSet<String>)>,
}

/// A message without the numbers of copies: of `nic.3 … links.slot.3` what is the same of all slots.
fn of_any_copy(message: &str) -> impl Iterator<Item = &str> {
    message.split([' ', ',', ':']).flat_map(|word| {
        let named = word.starts_with(|c: char| c.is_ascii_alphabetic());
        word.split('.').filter(move |part| !named || part.parse::<u32>().is_err())
    })
}

impl Diagnostics {
    /// Takes a text in and names it.
    pub fn add_source(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.sources.push(Source { name: name.into(), text: text.into(), quiet: false });
        SourceId(self.sources.len() as u32 - 1)
    }

    /// The id that the next text gets.
    pub fn next_source(&self) -> SourceId {
        SourceId(self.sources.len() as u32)
    }

    /// Drops the warnings that point into a text.
    pub fn quiet(&mut self, id: SourceId) {
        self.sources[id.0 as usize].quiet = true;
    }

    /// The text behind an id.
    pub fn source(&self, id: SourceId) -> &Source {
        &self.sources[id.0 as usize]
    }

    /// Notes one more; the same message at the same place is kept once (a device used eight times is wrong once), and
    /// warnings that differ only in the number of a copy are counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let known = diagnostic.severity == Severity::Warning
            && diagnostic.span.is_some_and(|s| self.sources.get(s.source.0 as usize).is_some_and(|s| s.quiet));
        // Nobody reads more than so many of a kind; looking for equals would take longer than reading did.
        let alike = self.list.iter().filter(|d| d.severity == diagnostic.severity).count();
        if known || self.list.contains(&diagnostic) || self.folded(&diagnostic) || alike >= 200 {
            return;
        }
        if diagnostic.severity == Severity::Warning && diagnostic.span.is_some() {
            self.alike.push((self.list.len(), diagnostic.message.clone(), BTreeSet::new()));
        }
        self.list.push(diagnostic);
    }

    /// Counts a warning with one that is like it, if there is one.
    fn folded(&mut self, d: &Diagnostic) -> bool {
        if d.severity != Severity::Warning || d.span.is_none() {
            return false;
        }
        let like = self.alike.iter_mut().find(|(at, message, _)| {
            let other = &self.list[*at];
            (other.span, &other.label, &other.hint) == (d.span, &d.label, &d.hint)
                && of_any_copy(message).eq(of_any_copy(&d.message))
        });
        let Some((at, message, others)) = like else { return false };
        // The same one again is no other copy.
        if *message != d.message && others.insert(d.message.clone()) {
            let more = if others.len() == 1 { "one more is".to_owned() } else { format!("{} more are", others.len()) };
            self.list[*at].message = format!("{message}; {more} like it");
        }
        true
    }

    /// How many were noted.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether anything forbids an answer.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Errors first, then warnings, each in the order of the text.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<_> = self.list.iter().collect();
        all.sort_by_key(|d| (d.severity, d.span));
        all
    }

    /// File, line and column (both from 1) of a span's start.
    pub fn place(&self, span: Span) -> (String, usize, usize) {
        let source = self.source(span.source);
        let before = &source.text.as_bytes()[..(span.start as usize).min(source.text.len())];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&b| b != b'\n').count() + 1;
        (source.name.clone(), line, column)
    }

    /// The texts of the warnings, for a report.
    pub fn warnings(&self) -> Vec<String> {
        self.sorted().into_iter().filter(|d| d.severity == Severity::Warning).map(|d| d.message.clone()).collect()
    }
}

impl fmt::Display for Diagnostics {
    /// One line each, `name:line:column: severity: message (hint)`, for tests and logs; the command draws them larger.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for d in self.sorted() {
            if let Some(span) = d.span {
                let (name, line, column) = self.place(span);
                write!(f, "{name}:{line}:{column}: ")?;
            }
            let severity = if d.severity == Severity::Error { "error" } else { "warning" };
            write!(f, "{severity}: {}", d.message)?;
            if !d.label.is_empty() {
                write!(f, " [{}]", d.label)?;
            }
            if let Some(hint) = &d.hint {
                write!(f, " ({hint})")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The nearest of `known` to what was written, when it is near enough to be meant.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100; // what is compared costs the product of both lengths
    if written.len() > LONGEST {
        return None;
    }
    known
        .into_iter()
        .filter(|k| k.len() <= LONGEST)
        .map(|k| (strsim::damerau_levenshtein(&written.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, k)| *d <= 1 + k.len().max(written.len()) / 4)
        .min()
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_key() {
        assert_eq!(nearest("betwen", ["between", "pcie", "mps"]), Some("between"));
        assert_eq!(nearest("colour", ["between", "pcie", "mps"]), None);
    }

    #[test]
    fn copies_are_warned_of_once() {
        let mut d = Diagnostics::default();
        let source = d.add_source("a.toml", "pcie = \"gen3 x4\"\n");
        let span = Span { source, start: 0, end: 4 };
        let mut warn = |message: &str| d.push(Diagnostic::warning(span, message));
        // Twice, as by two who read the same plan; and one of another width.
        for _ in 0..2 {
            (0..3).for_each(|n| warn(&format!("nic.{n} could use x8 and runs at x4 on links.slot.{n}")));
        }
        warn("nic.3 could use x16 and runs at x4 on links.slot.3");
        warn("the rate 2.5 Gb/s is odd");
        warn("the rate 2.6 Gb/s is odd");
        assert_eq!(
            d.warnings(),
            [
                "nic.0 could use x8 and runs at x4 on links.slot.0; 2 more are like it",
                "nic.3 could use x16 and runs at x4 on links.slot.3",
                "the rate 2.5 Gb/s is odd",
                "the rate 2.6 Gb/s is odd",
            ]
        );
    }

    #[test]
    fn a_line_names_file_line_and_column() {
        let mut d = Diagnostics::default();
        let source = d.add_source("a.toml", "x = 1\nyy = 2\n");
        d.push(Diagnostic::error(Span { source, start: 6, end: 8 }, "what is yy?").hint("write y"));
        assert_eq!(d.to_string(), "a.toml:2:1: error: what is yy? (write y)\n");
    }
}
