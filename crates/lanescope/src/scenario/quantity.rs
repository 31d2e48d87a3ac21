//! A value, or a range with its typical, and where it is from; and how each kind of value is written.

use super::tree::{Author, Node, PROVENANCE, RANGE, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::protocol::ethernet::LineRate;
use crate::protocol::pcie::{CompletionSize, Generation, Header, Lanes, LoadSize, PayloadSize, Speed};
use crate::units::{Bytes, Frequency, Length, Rate, Time, UnitError};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::cmp::Ordering;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Where a number is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The user or the study says so.
    Stated,
    /// A public specification says so.
    Standard,
    /// Chosen so that a given number comes out; the source names it.
    Fitted,
    /// A practitioner's choice; the source says why.
    Assumed,
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// As good as known.
    Exact,
    /// Would surprise if wrong.
    Likely,
    /// May be wrong.
    Guess,
}

/// Which end of a range a corner of the estimate takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Corner {
    /// Every range at its slower end.
    Slower,
    /// Every range at its typical value.
    Typical,
    /// Every range at its faster end.
    Faster,
}

/// The sentence or page behind a value. Those of the program's own defaults are the same for every plan of every
/// thread: they are not counted, since a counter that two threads move is what they would wait for most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Of a default.
    Own(&'static str),
    /// Of a text that was read, or made for one plan.
    Read(Arc<str>),
}

impl std::ops::Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Reason::Own(text) => text,
            Reason::Read(text) => text,
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        if text.is_empty() { Reason::Own("") } else { Reason::Read(text.into()) }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self)
    }
}

/// A value or a range, with its origin. `slow` and `fast` are the ends by effect, not by size: a latency's slow end is
/// its high one.
#[derive(Clone, Debug, Serialize)]
pub struct Quantity<T> {
    /// The end that makes things slower.
    pub slow: T,
    /// What is most likely.
    pub typical: T,
    /// The end that makes things faster.
    pub fast: T,
    /// Where it is from.
    pub origin: Origin,
    /// How sure it is.
    pub confidence: Confidence,
    /// The sentence or page behind it, or the reason of an assumption.
    pub source: Reason,
    /// Whether nobody wrote it down: the key's default.
    pub default: bool,
    /// Where it was written.
    #[serde(skip)]
    pub span: Option<Span>,
}

impl<T: Clone> Quantity<T> {
    /// The value at a corner.
    pub fn at(&self, corner: Corner) -> T {
        match corner {
            Corner::Slower => self.slow.clone(),
            Corner::Typical => self.typical.clone(),
            Corner::Faster => self.fast.clone(),
        }
    }

    /// The same origin with another value, e.g. one derived from it.
    pub fn with<U: Clone>(&self, value: U) -> Quantity<U> {
        Quantity {
            slow: value.clone(),
            typical: value.clone(),
            fast: value,
            origin: self.origin,
            confidence: self.confidence,
            source: self.source.clone(),
            default: self.default,
            span: self.span,
        }
    }

    /// A single value that the plan worked out by a rule.
    pub fn derived(value: T, origin: Origin, confidence: Confidence, why: &str) -> Quantity<T> {
        Quantity {
            slow: value.clone(),
            typical: value.clone(),
            fast: value,
            origin,
            confidence,
            source: why.into(),
            default: true,
            span: None,
        }
    }
}

/// Which end of a key's range is the slower one; `One` where a range makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slower {
    /// The low end (a rate, a count of tags).
    Low,
    /// The high end (a latency).
    High,
    /// No range.
    One,
}

/// What is wrong with a value: message and hint.
pub struct Problem(pub String, pub String);

/// A kind of value: how it is written, read, shown, and described to an editor.
pub trait Shape: Clone + PartialEq + Serialize {
    /// A number, which a library must give an origin.
    const NUMBER: bool = true;
    /// Reads one value.
    fn read(node: &Node) -> Result<Self, Problem>;
    /// Where in a value that cannot be read the mistake is.
    fn blame(node: &Node) -> Span {
        node.span
    }
    /// For a person.
    fn show(&self) -> String;
    /// JSON Schema of the value.
    fn schema() -> Json;
    /// Order, for ranges.
    fn order(&self, _: &Self) -> Option<Ordering> {
        None
    }
}

/// The nodes of a value: one, or low, typical and high of a range.
enum Ends<'a> {
    One(&'a Node),
    Range([&'a Node; 3]),
}

impl<'a> Ends<'a> {
    /// Those of a node, and the table that they stand in, if it is a quantity's.
    fn of(diagnostics: &mut Diagnostics, key: &str, node: &'a Node) -> Option<(Ends<'a>, Option<&'a Table>)> {
        let Value::Table(t) = &node.value else { return Some((Ends::One(node), None)) };
        if !t.is_quantity() {
            return Some((Ends::One(node), None));
        }
        match RANGE.map(|k| t.get(k)) {
            [Some(v), None, None, None] => Some((Ends::One(v), Some(t))),
            [None, Some(low), Some(typical), Some(high)] => Some((Ends::Range([low, typical, high]), Some(t))),
            _ => {
                let what = format!("{key}: a quantity has either value, or all of low, typical and high");
                let hint = "for example { low = \"64 B\", typical = \"128 B\", high = \"256 B\" }";
                diagnostics.push(Diagnostic::error(node.span, what).hint(hint));
                None
            }
        }
    }
}

/// Reads one value.
fn one<T: Shape>(diagnostics: &mut Diagnostics, key: &str, node: &Node) -> Option<T> {
    match T::read(node) {
        Ok(v) => Some(v),
        Err(problem) => {
            tell(diagnostics, key, problem, T::blame(node));
            None
        }
    }
}

fn tell(diagnostics: &mut Diagnostics, key: &str, Problem(message, hint): Problem, at: Span) {
    let known = || match key {
        "from" | "to" if message.ends_with("found a list") => {
            "several instances are one text: \"host.1-4\", or \"host.*\" for all; others have a table each".to_owned()
        }
        _ => format!("lanescope schema --text says what {key} may be"),
    };
    let hint = if hint.is_empty() { known() } else { hint };
    diagnostics.push(Diagnostic::error(at, format!("{key}: {message}")).hint(hint));
}

/// Whether a key takes a range, and this one rises.
fn is_range(diagnostics: &mut Diagnostics, key: &str, slower: Slower, at: Span, rises: bool) -> bool {
    if slower == Slower::One {
        let what = format!("{key} takes one value, not a range");
        let hint = "write { value = … } or the value alone; --vary runs several";
        diagnostics.push(Diagnostic::error(at, what).hint(hint));
    } else if !rises {
        let what = format!("{key}: a range needs low <= typical <= high");
        diagnostics.push(Diagnostic::error(at, what));
    }
    slower != Slower::One && rises
}

/// Origin, confidence and source of a value: its own, or those of the tables around it. `number`: one that a library
/// must give an origin.
fn provenance(
    diagnostics: &mut Diagnostics,
    key: &str,
    node: &Node,
    own: Option<&Table>,
    number: bool,
) -> (Origin, Confidence, Reason) {
    for (k, n) in own.iter().flat_map(|t| &t.0) {
        if !RANGE.contains(&k.as_str()) && !PROVENANCE.contains(&k.as_str()) {
            let known = RANGE.iter().chain(&PROVENANCE).copied();
            diagnostics.push(unknown(k, n.key, known, "a quantity"));
        }
    }
    let part = |name: &str| {
        own.and_then(|t| t.get(name)).or_else(|| node.around.iter().find(|(k, _)| k == name).map(|(_, n)| n))
    };
    let mut word = |name: &str, words: &[&'static str]| -> Option<usize> {
        let node = part(name)?;
        match &node.value {
            Value::Text(s) if words.contains(&s.as_str()) => words.iter().position(|w| w == s),
            _ => {
                diagnostics.push(Diagnostic::error(node.span, format!("{name} is one of {}", words.join(", "))));
                None
            }
        }
    };
    let origin = word("origin", &["stated", "standard", "fitted", "assumed"])
        .map(|i| [Origin::Stated, Origin::Standard, Origin::Fitted, Origin::Assumed][i]);
    let confidence = word("confidence", &["exact", "likely", "guess"])
        .map(|i| [Confidence::Exact, Confidence::Likely, Confidence::Guess][i]);
    let source = match part("source").map(|n| &n.value) {
        Some(Value::Text(s)) => s.as_str().into(),
        _ => "".into(),
    };
    if number && node.author == Author::Library && (origin.is_none() || confidence.is_none()) {
        diagnostics
            .push(Diagnostic::error(node.span, format!("{key}: a number of the library says where it is from")).hint(
            "add origin (stated, standard, fitted, assumed) and confidence (exact, likely, guess) here or in its table",
        ));
    }
    (origin.unwrap_or(Origin::Stated), confidence.unwrap_or(Confidence::Exact), source)
}

/// Reads a value that may be a quantity table. Problems go to `diagnostics`. What is the same for all kinds of values
/// stands in functions of its own: there are dozens of kinds, and this is compiled for each.
#[inline(never)]
pub fn read<T: Shape>(diagnostics: &mut Diagnostics, key: &str, slower: Slower, node: &Node) -> Option<Quantity<T>> {
    let before = diagnostics.count();
    let (ends, own) = Ends::of(diagnostics, key, node)?;
    let (slow, typical, fast) = match ends {
        Ends::One(n) => {
            let v: T = one(diagnostics, key, n)?;
            (v.clone(), v.clone(), v)
        }
        Ends::Range(all) => {
            let [low, typical, high] = all.map(|n| one::<T>(diagnostics, key, n));
            let (low, typical, high) = (low?, typical?, high?);
            let rising = |a: &T, b: &T| matches!(a.order(b), Some(Ordering::Less | Ordering::Equal));
            let rises = rising(&low, &typical) && rising(&typical, &high);
            if !is_range(diagnostics, key, slower, node.span, rises) {
                return None;
            }
            if slower == Slower::Low { (low, typical, high) } else { (high, typical, low) }
        }
    };
    let (origin, confidence, source) = provenance(diagnostics, key, node, own, T::NUMBER);
    let span = Some(node.span);
    (diagnostics.count() == before).then_some(Quantity {
        slow,
        typical,
        fast,
        origin,
        confidence,
        source,
        default: false,
        span,
    })
}

/// The message for a key that does not exist, with the nearest one that does.
pub fn unknown<'a>(key: &str, span: Span, known: impl IntoIterator<Item = &'a str>, of: &str) -> Diagnostic {
    let known: Vec<_> = known.into_iter().collect();
    let d = Diagnostic::error(span, format!("{of} has no key {key:?}"));
    match super::usual::key(key, &known) {
        Some(near) => d.label(format!("did you mean {near}?")),
        None => d.hint(format!("it has: {}", known.join(", "))),
    }
}

pub(super) fn expected(what: &str, node: &Node) -> Problem {
    let kind = node.kind();
    Problem(format!("expected {what}, found {kind}"), String::new())
}

/// A quantity with a unit in its text.
pub(super) fn with_unit<T>(
    node: &Node,
    what: &str,
    units: &str,
    example: &str,
    parse: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<T, Problem> {
    let text = match &node.value {
        Value::Text(s) => s.clone(),
        Value::Integer(Some(i)) => {
            return Err(Problem(
                format!("{what} needs its unit"),
                format!(
                    "write it as a string with one of {units}, e.g. \"{i} {}\"",
                    example.split(' ').nth(1).unwrap_or("")
                ),
            ));
        }
        Value::Integer(None) | Value::Float(_) => {
            return Err(Problem(
                format!("{what} needs its unit"),
                format!("for example \"{example}\"; units are {units}"),
            ));
        }
        _ => {
            let Problem(m, _) = expected(what, node);
            return Err(Problem(m, format!("for example \"{example}\"")));
        }
    };
    let shown: String = text.chars().take(40).collect();
    parse(&text).map_err(|e| match e {
        UnitError::NoNumber => Problem(format!("{shown:?} is not {what}"), format!("for example \"{example}\"")),
        UnitError::NoUnit => {
            Problem(format!("{what} needs its unit"), format!("units are {units}, e.g. \"{example}\""))
        }
        UnitError::WrongUnit(u) => {
            let u: String = u.chars().take(20).collect();
            let hint = match (u.as_str(), what) {
                ("G" | "GE" | "GbE", "a rate") => format!("write \"{} Gb/s\"", shown.trim_end_matches(&u).trim()),
                ("KB", _) => "KB is ambiguous: write kB (1000) or KiB (1024)".into(),
                ("Kb/s", _) => "write kb/s".into(),
                ("Gbps", _) | ("Gbit/s", _) | ("Gb", "a rate") => "write Gb/s for bits, GB/s for bytes".into(),
                ("GBps", _) => "write GB/s".into(),
                _ => format!("units are {units}, e.g. \"{example}\""),
            };
            Problem(format!("{what} has no unit {u:?}"), hint)
        }
        UnitError::TooLarge(most) => {
            Problem(format!("{shown:?} is too large for {what}: at most {most}"), String::new())
        }
        UnitError::TooSmall(least) => {
            Problem(format!("{shown:?} is too fine for {what}: it is counted in steps of {least}"), String::new())
        }
        UnitError::Negative => Problem(format!("{what} cannot be negative"), String::new()),
        UnitError::Zero => Problem(format!("{what} of 0 never moves anything"), String::new()),
    })
}

macro_rules! unit_shape {
    ($t:ty, $what:literal, $example:literal) => {
        impl Shape for $t {
            fn read(node: &Node) -> Result<Self, Problem> {
                with_unit(node, $what, <$t>::UNITS, $example, <$t>::parse)
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn schema() -> Json {
                json!({
                    "type": "string", "pattern": "^ *[0-9_.]+ *[A-Za-zµ/]+ *$", "examples": [$example],
                    "description": concat!($what, " with its unit"),
                })
            }
            fn order(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
    };
}
unit_shape!(Time, "a duration", "420 ns");
unit_shape!(Bytes, "a size", "256 B");
unit_shape!(Rate, "a rate", "25 Gb/s");
unit_shape!(Frequency, "a clock", "1.2 GHz");
unit_shape!(Length, "a length", "5 m");

impl Shape for LineRate {
    fn read(node: &Node) -> Result<Self, Problem> {
        let rate = Rate::read(node)?;
        LineRate::of(rate).ok_or_else(|| {
            let all: Vec<String> = LineRate::all().map(|r| r.to_string()).collect();
            Problem(format!("no MAC runs at {rate}"), format!("Ethernet has {}", all.join(", ")))
        })
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "enum": LineRate::all().map(|r| r.to_string()).collect::<Vec<_>>() })
    }
}

macro_rules! size_shape {
    ($t:ty, $expected:literal, $hint:literal) => {
        impl Shape for $t {
            fn read(node: &Node) -> Result<Self, Problem> {
                let bytes = Bytes::read(node)?;
                <$t>::new(bytes).ok_or_else(|| Problem(format!("{} cannot be {bytes}", $expected), $hint.into()))
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn schema() -> Json {
                Bytes::schema()
            }
            fn order(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
    };
}
pub(super) use size_shape;
size_shape!(PayloadSize, "a payload size", "sizes are 128, 256, 512, 1024, 2048 and 4096 B (2.0, 7.8.4)");
size_shape!(
    CompletionSize,
    "a completion",
    "a multiple of 64 B up to 4 KiB (2.0, 2.3.1.1: cut at the read completion boundary)"
);

size_shape!(LoadSize, "one load or store", "1, 2, 4, 8, 16, 32 or 64 B: one instruction, up to a cache line");

/// A whole number of things.
pub type Count = u32;

/// No count is larger: a plan of a billion parts is a mistake, and so are a million tags on one wire.
pub const MAX_COUNT: i64 = 16_777_216;

impl Shape for NonZeroU32 {
    fn read(node: &Node) -> Result<Self, Problem> {
        NonZeroU32::new(Count::read(node)?)
            .ok_or_else(|| Problem("0 would never move anything".into(), "at least 1".into()))
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 1, "maximum": MAX_COUNT })
    }
    fn order(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Shape for Count {
    fn read(node: &Node) -> Result<Self, Problem> {
        match node.value {
            Value::Integer(Some(i)) if (0..=MAX_COUNT).contains(&i) => Ok(i as u32),
            Value::Integer(Some(i)) if i < 0 => {
                Err(Problem("a count is not negative".into(), "0 or more of them".into()))
            }
            Value::Integer(_) => {
                Err(Problem(format!("a count is at most {MAX_COUNT}"), "no machine has so many".into()))
            }
            Value::Float(_) => Err(Problem("expected a whole number".into(), "a fraction makes no sense here".into())),
            _ => Err(Problem(
                expected("a whole number", node).0,
                "write it without quotes and without a unit, e.g. 4".into(),
            )),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 0, "maximum": MAX_COUNT })
    }
    fn order(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A number of packets; a long run counts more than a [`Count`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packets(pub u64);

impl Packets {
    const MAX: i64 = 1_000_000_000_000;
}

impl Shape for Packets {
    fn read(node: &Node) -> Result<Self, Problem> {
        match node.value {
            Value::Integer(Some(i)) if (1..=Self::MAX).contains(&i) => Ok(Packets(i as u64)),
            Value::Integer(_) => Err(Problem(format!("a number of packets is from 1 to {}", Self::MAX), String::new())),
            _ => Err(Problem(expected("a whole number", node).0, "write it without quotes, e.g. 50_000_000".into())),
        }
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 1, "maximum": Self::MAX })
    }
}

/// Once per so many; `None` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Every(pub Option<Count>);

impl Every {
    /// How often per event: 1/N, or 0.
    pub fn share(self) -> f64 {
        self.0.map_or(0.0, |n| 1.0 / n as f64)
    }
}

impl Shape for Every {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.value {
            Value::Text(s) if s == "never" => Ok(Every(None)),
            Value::Integer(Some(i)) if (1..=MAX_COUNT).contains(i) => Ok(Every(Some(*i as u32))),
            Value::Integer(_) => Err(Problem("expected a whole number from 1, or \"never\"".into(), String::new())),
            _ => Err(Problem(expected("a whole number from 1, or \"never\"", node).0, String::new())),
        }
    }
    fn show(&self) -> String {
        self.0.map_or("never".into(), |n| n.to_string())
    }
    fn schema() -> Json {
        json!({ "oneOf": [{ "type": "integer", "minimum": 1, "maximum": MAX_COUNT }, { "const": "never" }] })
    }
    fn order(&self, other: &Self) -> Option<Ordering> {
        Some(self.0.unwrap_or(u32::MAX).cmp(&other.0.unwrap_or(u32::MAX)))
    }
}

impl Shape for bool {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        match node.value {
            Value::Bool(b) => Ok(b),
            _ => Err(expected("true or false", node)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

impl Shape for String {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.value {
            Value::Text(s) => Ok(s.clone()),
            _ => Err(expected("a string in quotes", node)),
        }
    }
    fn show(&self) -> String {
        self.clone()
    }
    fn schema() -> Json {
        json!({ "type": "string" })
    }
}

/// One name or a list of names, each with its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Names(pub Vec<Name>);

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Name {
    /// As written.
    pub text: String,
    /// Where.
    #[serde(skip)]
    pub span: Span,
}

impl Shape for Names {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let one = |n: &Node| match &n.value {
            Value::Text(s) => Ok(Name { text: s.clone(), span: n.span }),
            _ => Err(expected("a name in quotes", n)),
        };
        match &node.value {
            Value::Array(list) => list.iter().map(one).collect::<Result<_, _>>().map(Names),
            _ => Ok(Names(vec![one(node)?])),
        }
    }
    fn show(&self) -> String {
        self.0.iter().map(|n| n.text.as_str()).collect::<Vec<_>>().join(" - ")
    }
    fn schema() -> Json {
        json!({ "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

/// A percentage such as the `±1 %` of a stop rule, as a share.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Percent(pub f64);

impl Shape for Percent {
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = || Problem("expected a percentage above 0 and up to 100".into(), "for example \"±1 %\"".into());
        let Value::Text(s) = &node.value else { return Err(hint()) };
        let s = s.trim();
        let s = ["±", "+/-", "+-"].into_iter().find_map(|sign| s.strip_prefix(sign)).unwrap_or(s);
        let number = s.trim().strip_suffix('%').ok_or_else(hint)?;
        match number.trim().parse::<f64>() {
            Ok(v) if v.is_finite() && v > 0.0 && v <= 100.0 => Ok(Percent(v / 100.0)),
            _ => Err(hint()),
        }
    }
    fn show(&self) -> String {
        format!("±{} %", self.0 * 100.0)
    }
    fn order(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^.*%$", "examples": ["±1 %"] })
    }
}

impl Shape for Lanes {
    fn read(node: &Node) -> Result<Self, Problem> {
        let widths = "widths are x1, x2, x4, x8, x12, x16 and x32";
        let text = match &node.value {
            Value::Text(s) => s.clone(),
            Value::Integer(Some(i)) => format!("x{i}"),
            _ => return Err(Problem(expected("a link width", node).0, widths.into())),
        };
        text.trim()
            .strip_prefix('x')
            .and_then(|n| n.parse().ok())
            .and_then(Lanes::new)
            .ok_or_else(|| Problem(format!("there is no width {text:?}"), widths.into()))
    }
    fn show(&self) -> String {
        format!("x{}", self.count())
    }
    fn schema() -> Json {
        json!({ "enum": Lanes::WIDTHS.map(|w| format!("x{w}")) })
    }
}

impl Shape for Generation {
    fn read(node: &Node) -> Result<Self, Problem> {
        let Value::Text(s) = &node.value else {
            return Err(Problem(expected("a generation", node).0, "gen1 to gen7".into()));
        };
        Generation::parse(s.trim())
            .ok_or_else(|| Problem(format!("there is no generation {s:?}"), "gen1 to gen7".into()))
    }
    fn show(&self) -> String {
        self.name().into()
    }
    fn schema() -> Json {
        json!({ "enum": Generation::ALL.map(Generation::name) })
    }
}

impl Shape for Speed {
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = "write generation and width, e.g. \"gen3 x8\"";
        let Value::Text(s) = &node.value else { return Err(Problem(expected("a PCIe speed", node).0, hint.into())) };
        let mut words = s.split_whitespace();
        let (Some(g), Some(l), None) = (words.next(), words.next(), words.next()) else {
            return Err(Problem(
                format!("{:?} is not a PCIe speed", s.chars().take(40).collect::<String>()),
                hint.into(),
            ));
        };
        let word = |text: &str| Node { value: Value::Text(text.to_owned()), ..node.clone() };
        Ok(Speed::new(Generation::read(&word(g))?, Lanes::read(&word(l))?))
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^gen[1-7] +x(1|2|4|8|12|16|32)$", "examples": ["gen3 x8"] })
    }
}

impl Shape for Header {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.value {
            Value::Text(s) if s == "3DW" => Ok(Header::Dw3),
            Value::Text(s) if s == "4DW" => Ok(Header::Dw4),
            _ => {
                Err(Problem("expected \"3DW\" (32-bit addresses) or \"4DW\" (64-bit addresses)".into(), String::new()))
            }
        }
    }
    fn show(&self) -> String {
        if *self == Header::Dw3 { "3DW".into() } else { "4DW".into() }
    }
    fn schema() -> Json {
        json!({ "enum": ["3DW", "4DW"] })
    }
    fn order(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Declares a word that a user chooses from a few: an enum with its texts.
macro_rules! words {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
        pub enum $name { $($(#[$vm])* #[serde(rename = $text)] $variant),+ }
        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As it is written.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
        impl $crate::scenario::quantity::Shape for $name {
            const NUMBER: bool = false;
            fn read(node: &$crate::scenario::tree::Node) -> Result<Self, $crate::scenario::quantity::Problem> {
                let words = [$($text),+];
                match &node.value {
                    $($crate::scenario::tree::Value::Text(s) if s == $text => Ok(Self::$variant),)+
                    other => {
                        let $crate::scenario::tree::Value::Text(written) = other else {
                            let what = format!("expected one of {}, found {}", words.join(", "), node.kind());
                            let hint = format!("a word in quotes, e.g. {:?}", words[0]);
                            return Err($crate::scenario::quantity::Problem(what, hint));
                        };
                        let written: String = written.chars().take(40).collect();
                        let near = $crate::scenario::usual::word(&written, words);
                        Err($crate::scenario::quantity::Problem(
                            format!("{written:?} is none of {}", words.join(", ")),
                            near.map_or(String::new(), |n| format!("did you mean {n:?}?")),
                        ))
                    }
                }
            }
            fn show(&self) -> String {
                self.word().into()
            }
            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": [$($text),+] })
            }
        }
    };
}
pub(crate) use words;
