//! Pictures of a plan and of a link, drawn by ourselves as self-contained SVG.
//!
//! [`topology`] shows what is there and how busy it is, [`waterfall`] and [`simulated_waterfall`] where the bits of one
//! direction go. A picture shows the numbers of one [`Method`], and its title says which. All are plain text in the
//! end, so this file holds what every picture needs: the sheet, the text on it, and numbers without noise. No picture
//! has a script, a font or an image of its own, and none refers to anything outside.

mod fold;
mod layout;
mod load;
mod scene;
mod topology;
mod waterfall;

pub(super) use topology::colours;
pub use topology::topology;
pub use waterfall::{simulated_waterfall, waterfall};

use crate::result::Report;
use std::fmt;

/// Whose numbers a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The closed form's.
    Estimate,
    /// The packet simulation's.
    Simulation,
}

impl Method {
    /// The same, or the estimate where nothing was simulated.
    fn of(self, report: &Report) -> Method {
        if report.simulation.is_some() { self } else { Method::Estimate }
    }

    /// What stands behind a title.
    pub fn participle(self) -> &'static str {
        match self {
            Method::Estimate => "estimated",
            Method::Simulation => "simulated",
        }
    }
}

/// Text.
const INK: &str = "#1f2933";
/// Text of less weight.
const SOFT: &str = "#5f6c7b";
/// Frames and rules.
const RULE: &str = "#d5dbe1";
/// What binds.
const ACCENT: &str = "#0b62b8";
/// What is lost or held back.
const ALARM: &str = "#b3261e";

/// Writes into a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = std::fmt::Write::write_fmt($out, format_args!($($arg)*)); }};
}
pub(super) use put;

/// A text as XML takes it: the four special characters escaped, characters that XML 1.0 forbids replaced.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(allowed(c)),
        }
    }
    out
}

/// The character itself, a space for white space, or the replacement character where XML 1.0 has no way to write it.
pub(super) fn allowed(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c => c,
    }
}

/// The head of a picture: size, title for those who cannot see it, white ground. [`CLOSE`] ends it.
pub(super) fn open(size: (f64, f64), view: (f64, f64), title: &str) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" \
            font-family=\"sans-serif\">\n\
         <title>{title}</title>\n<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n",
        Px(size.0),
        Px(size.1),
        Px(view.0),
        Px(view.1),
        Px(view.0),
        Px(view.1)
    )
}

/// The end of a picture.
pub(super) const CLOSE: &str = "</svg>\n";

/// A length in tenths of a pixel at most; what is not finite becomes 0.
#[derive(Clone, Copy)]
pub(super) struct Px(pub(super) f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // Adding 0 turns -0 into 0.
        let tenths = if self.0.is_finite() { (self.0 * 10.0).round() + 0.0 } else { 0.0 };
        if tenths % 10.0 == 0.0 { write!(f, "{:.0}", tenths / 10.0) } else { write!(f, "{:.1}", tenths / 10.0) }
    }
}

/// Where a text stands, and how it looks.
#[derive(Clone, Copy)]
pub(super) struct Pen {
    size: f64,
    fill: &'static str,
    anchor: &'static str,
    bold: bool,
}

impl Pen {
    /// Left-aligned, plain.
    pub(super) const fn new(size: f64, fill: &'static str) -> Pen {
        Pen { size, fill, anchor: "start", bold: false }
    }

    pub(super) const fn bold(self) -> Pen {
        Pen { bold: true, ..self }
    }

    pub(super) const fn middle(self) -> Pen {
        Pen { anchor: "middle", ..self }
    }

    pub(super) const fn end(self) -> Pen {
        Pen { anchor: "end", ..self }
    }

    /// Writes one line with its base at `(x, y)`.
    pub(super) fn write(self, out: &mut String, x: f64, y: f64, text: &str) {
        self.write_xml(out, x, y, &escape(text));
    }

    /// The same for a text that is XML already.
    fn write_xml(self, out: &mut String, x: f64, y: f64, xml: &str) {
        put!(out, "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", Px(x), Px(y), Px(self.size), self.fill);
        if self.anchor != "start" {
            put!(out, " text-anchor=\"{}\"", self.anchor);
        }
        if self.bold {
            out.push_str(" font-weight=\"600\"");
        }
        put!(out, ">{xml}</text>\n");
    }
}

/// How wide a line may come out: fonts differ, so this is on the wide side.
fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// At most so many characters, the middle left out: names differ at their ends.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let n = text.chars().count();
    if n <= most {
        return text.to_owned();
    }
    let tail = most.saturating_sub(1) / 2;
    let head = most.saturating_sub(1) - tail;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(n - tail)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::plan::Plan;
    use crate::result::Report;
    use crate::scenario::tree::Author;
    use crate::scenario::{Included, Nothing};

    pub(super) fn answer(text: &str) -> (Plan, Report) {
        let mut d = Diagnostics::default();
        let included = Included { name: "test".into(), text: text.into(), author: Author::User };
        let scenario = crate::scenario::read(&mut d, included, &[], &Nothing);
        let plan = scenario.and_then(|s| crate::plan::build(&mut d, &s));
        let Some(plan) = plan else { panic!("{d}") };
        let report = crate::estimate::estimate(&plan, &d);
        (plan, report)
    }

    /// Fails when tags do not pair, attributes do not close, or a bare special character is left.
    pub(in crate::pens) fn well_formed(svg: &str) {
        let (mut open, mut rest): (Vec<&str>, &str) = (Vec::new(), svg);
        while let Some(at) = rest.find('<') {
            let text = &rest[..at];
            assert!(!text.contains('>'), "bare > in {text:?}");
            for (i, _) in text.match_indices('&') {
                assert!(
                    ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"].iter().any(|e| text[i..].starts_with(e)),
                    "bare & in {text:?}"
                );
            }
            let end = rest[at..].find('>').map(|e| at + e).expect("a tag closes");
            let tag = &rest[at + 1..end];
            assert!(!tag.contains('<') && tag.matches('"').count() % 2 == 0, "bad tag {tag:?}");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => assert_eq!(open.pop(), Some(name)),
                (false, false) => open.push(name),
                _ => {}
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty() && rest.trim().is_empty(), "left open: {open:?}");
        assert!(svg.starts_with("<svg ") && svg.contains("viewBox=") && svg.contains("<title>"));
        assert!(!svg.chars().any(|c| c != '\n' && allowed(c) != c), "a character that XML forbids");
        // A length is an attribute; a text may well be called NaN.
        assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf"), "a length that is no number");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape("a<b> & \"c\"\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd} ");
    }

    #[test]
    fn lengths_are_short_and_finite() {
        let all = [1.0, 1.25, -0.01, f64::NAN, f64::INFINITY].map(|v| Px(v).to_string());
        assert_eq!(all, ["1", "1.3", "0", "0", "0"]);
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("abcdefghij", 5), "ab…ij");
        assert_eq!(shorten("abc", 5), "abc");
        assert_eq!(shorten("äöüäöü", 4), "äö…ü");
        assert_eq!(shorten("abc", 0), "…");
    }
}
