//! Message programs as a few lines of text, which every rank runs:
//!
//! ```text
//! # A ring, then a reduction; the first rank works longer.
//! timed "step" 100 {
//!     irecv 8 KiB from (rank - 1) % ranks as left
//!     send 8 KiB to (rank + 1) % ranks
//!     wait left
//!     if rank == 0 { compute 5 us } else { compute 3 us }
//!     allreduce 8 B
//! }
//! ```
//!
//! | statement | meaning |
//! | --- | --- |
//! | `compute 5 us`, `work 2e6` | the processor is busy so long, or with so many floating-point operations |
//! | `send SIZE to RANK [tag N]` | blocking send; the tag is 0 unless it is said |
//! | `recv [SIZE] from RANK [tag N]` | blocking receive; `from any`, `tag any`; without a size whatever comes |
//! | `isend …`, `irecv …` `[as NAME]` | the same, begun; `wait NAME …` waits for those, `waitall` for all that are open
//! |
//! | `sendrecv SIZE to RANK from RANK [tag N]` | both at once |
//! | `barrier` | |
//! | `bcast`, `reduce`, `gather`, `scatter` `SIZE [root RANK] [ALGORITHM]` | the root is rank 0 unless it is said |
//! | `allreduce`, `reduce_scatter`, `allgather`, `alltoall` `SIZE [ALGORITHM]` | sizes as in
//! [`Collective`](super::Collective) |
//! | `alltoallv SIZE [ALGORITHM]` | the size may depend on `to` |
//! | `repeat N { … }`, `repeat N as i { … }` | `i` is 0, 1, …, N - 1 |
//! | `timed "NAME" N [moves SIZE] { … }` | repeated under the clock; what a repetition moves gives a rate |
//! | `if CONDITION { … } else if … { … } else { … }` | |
//!
//! Statements end with the line or with `;`, comments begin with `#`. Expressions are whole numbers with `+ - * / % ^
//! << >>`, comparisons, `and`, `or`, `not` and parentheses; `rank` and `ranks` are numbers, `%` is never negative, `/`
//! rounds down, `^` is exclusive or. Sizes and times carry their unit and are multiplied and divided like numbers: `1
//! MiB / ranks`. A rank may send to itself; whether that blocks is the library's matter, as it is with any other rank.

mod lex;
mod parse;
mod unroll;
mod value;

use super::op::{Algorithm, Job, Kind};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use parse::Parser;
use std::ops::Range;
use value::Expr;

/// No program is longer, in bytes.
const MOST_TEXT: usize = 1 << 20;

/// What is wrong, where in the program, and what to do.
struct Problem {
    at: Range<usize>,
    message: String,
    hint: String,
}

type Result<T> = std::result::Result<T, Problem>;

fn problem<T>(at: &Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Result<T> {
    Err(Problem { at: at.clone(), message: message.into(), hint: hint.into() })
}

/// Where a program stands in the text that a person wrote.
struct Place {
    whole: Option<Span>,
    /// Where its first byte is, if it stands there as it is: a TOML string with escapes does not.
    first: Option<u32>,
}

impl Place {
    fn of(diagnostics: &Diagnostics, text: &str, whole: Option<Span>) -> Place {
        let first = whole.and_then(|span| {
            let raw = diagnostics.source(span.source).text.get(span.start as usize..span.end as usize)?;
            Some(span.start + raw.find(text)? as u32)
        });
        Place { whole, first }
    }

    fn span(&self, at: &Range<usize>) -> Option<Span> {
        let whole = self.whole?;
        Some(match self.first {
            Some(first) => Span { start: first + at.start as u32, end: first + at.end as u32, ..whole },
            None => whole,
        })
    }

    /// A diagnostic at a place; where that cannot be pointed at, its line is named.
    fn mark(&self, text: &str, diagnostic: Diagnostic, at: &Range<usize>) -> Diagnostic {
        let before = &text[..at.start.min(text.len())];
        let line = || before.matches('\n').count() + 1;
        // There is nothing to point at behind the end: then it is the last character.
        let last = before.chars().next_back().map_or(0, char::len_utf8);
        let shown = if at.is_empty() { at.start - last..at.end } else { at.clone() };
        let mut diagnostic = Diagnostic { span: self.span(&shown), ..diagnostic };
        if self.first.is_none() {
            diagnostic.label = format!("line {} of the program", line());
        }
        diagnostic
    }
}

/// Reads a program for so many ranks. `within` is where it stands: the span of the TOML value that holds it, or of the
/// file that it is. Mistakes go to `diagnostics`; `None` when there is any.
pub fn read(diagnostics: &mut Diagnostics, text: &str, within: Option<Span>, ranks: u32) -> Option<Job> {
    let place = Place::of(diagnostics, text, within);
    let refuse = |diagnostics: &mut Diagnostics, what: String| {
        diagnostics.push(Diagnostic::error(within, what));
        None
    };
    if text.len() > MOST_TEXT {
        return refuse(diagnostics, format!("a message program of {} bytes is too long: at most 1 MiB", text.len()));
    }
    if ranks == 0 || ranks as usize > super::MOST_RANKS {
        return refuse(diagnostics, format!("{ranks} ranks: a program has 1 to {}", super::MOST_RANKS));
    }
    let mut report = |p: Problem| {
        let d = Diagnostic::error(None, p.message).hint(p.hint);
        diagnostics.push(place.mark(text, d, &p.at));
    };
    let tokens = match lex::read(text) {
        Ok(tokens) => tokens,
        Err(p) => {
            report(p);
            return None;
        }
    };
    let mut parser = Parser::new(text, &tokens);
    let body = parser.program();
    for p in parser.problems.drain(..) {
        report(p);
    }
    let body = body?;
    let (sections, names) = (parser.sections, parser.names);
    match unroll::job(&body, &sections, &names, ranks) {
        Ok((job, warnings)) => {
            for w in warnings {
                let d = Diagnostic::warning(None, w.message).hint(w.hint);
                diagnostics.push(place.mark(text, d, &w.at));
            }
            Some(job)
        }
        Err(p) => {
            let d = Diagnostic::error(None, p.message).hint(p.hint);
            diagnostics.push(place.mark(text, d, &p.at));
            None
        }
    }
}

/// A statement and where it stands.
struct Statement {
    at: Range<usize>,
    what: Verb,
}

type Block = Vec<Statement>;

/// What a statement does.
enum Verb {
    Compute(Expr),
    Work(Expr),
    /// `None` for the request: blocking; `Some(None)`: it has no name.
    Send {
        size: Expr,
        to: Expr,
        tag: Option<Expr>,
        request: Option<Option<u32>>,
    },
    Recv {
        size: Option<Expr>,
        from: Option<Expr>,
        tag: Tag,
        request: Option<Option<u32>>,
    },
    Sendrecv {
        size: Expr,
        to: Expr,
        from: Expr,
        tag: Option<Expr>,
    },
    Wait(Vec<(u32, Range<usize>)>),
    WaitAll,
    Collective {
        kind: Kind,
        size: Option<Expr>,
        root: Option<Expr>,
        algorithm: Option<Algorithm>,
        /// The slot of `to`, in the size of an alltoallv.
        to: usize,
    },
    Repeat {
        times: Expr,
        /// The slot of its variable, if the body uses it.
        variable: Option<usize>,
        body: Block,
    },
    Timed {
        section: usize,
        times: Expr,
        body: Block,
    },
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Block,
    },
}

/// The tag of a receive.
enum Tag {
    Zero,
    Is(Expr),
    Any,
}

/// A timed block, as written.
struct Written {
    name: String,
    moves: Option<Expr>,
}

#[cfg(test)]
mod tests;
