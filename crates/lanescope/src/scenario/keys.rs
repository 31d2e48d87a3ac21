//! Every key that a scenario knows, declared once.
//!
//! One declaration gives the typed struct, the reader, the default with its origin, the message for a misspelt key, the
//! JSON Schema and the reference that `lanescope schema --text` prints. A key that is not here does not exist.

use super::quantity::{
    Confidence, Count, Every, Names, Origin, Packets, Percent, Problem, Quantity, Reason, Shape, Slower, read, unknown,
    words,
};
use super::tree::{Author, Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::protocol::pcie::{CompletionSize, Generation, Header, Lanes, LoadSize, PayloadSize, Speed};
use crate::units::{Bytes, Frequency, Rate, Time};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::num::NonZeroU32;
use std::sync::OnceLock;

/// What one key is, for messages, schema and documentation.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it means, with source.
    pub doc: &'static str,
    /// JSON Schema of one value.
    pub schema: fn() -> Json,
    /// Whether it may be a range.
    pub ranged: bool,
    /// Its default as TOML, and why.
    pub default: Option<(&'static str, &'static str)>,
    /// Whether a table without it is refused.
    pub required: bool,
    /// What it is for.
    pub role: Role,
}

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is part of what is asked about: changing it changes an answer, or a report says that it does not.
    Model,
    /// It only tells people something, or is held against the answer: no method looks at it.
    Tells,
}

/// A filled value for `lanescope plan`.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The key.
    pub key: &'static str,
    /// The typical value as text.
    pub value: String,
    /// The range as text (slower end, faster end), where there is one.
    pub range: Option<(String, String)>,
    /// Where it is from.
    pub origin: Origin,
    /// How sure.
    pub confidence: Confidence,
    /// The reason or page.
    pub source: Reason,
    /// Whether it is the key's default.
    pub default: bool,
}

impl Setting {
    /// Of one quantity.
    #[inline(never)]
    pub fn of<T: Shape>(key: &'static str, q: &Quantity<T>) -> Setting {
        // Most values have no range, and are put into words once.
        let ranged = q.slow != q.fast;
        let range = ranged.then(|| (q.slow.show(), q.fast.show())).filter(|(slow, fast)| slow != fast);
        Setting {
            key,
            value: q.typical.show(),
            range,
            origin: q.origin,
            confidence: q.confidence,
            source: q.source.clone(),
            default: q.default,
        }
    }
}

/// A field's name as a user writes it (`r#do` is `do`).
const fn key_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares a table of keys. Modes: `must` (required), `opt` (absent means: not there), `tell` (the same, of a key that
/// no answer depends on), or a default `= "toml" origin confidence "why"`.
macro_rules! table {
    (@field must $t:ty) => { Quantity<$t> };
    (@field opt $t:ty) => { Option<Quantity<$t>> };
    (@field tell $t:ty) => { Option<Quantity<$t>> };
    (@field default $t:ty) => { Quantity<$t> };
    (@default) => { None };
    (@default $d:literal $why:literal) => { Some(($d, $why)) };
    ($(#[$m:meta])* $name:ident, $table:ident, $of:literal {
        $(
            $(#[doc = $doc:literal])+ $field:ident : $mode:ident $t:ty, $slower:ident
            $(= $d:literal $origin:ident $confidence:ident $why:literal)? ;
        )+
    }) => {
        $(#[$m])*
        #[derive(Clone, Debug, Serialize)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: table!(@field $mode $t),)+ }

        #[doc = concat!("The keys of ", $of, ".")]
        pub static $table: &[Key] = &[$(Key {
            name: key_name(stringify!($field)),
            doc: concat!($($doc),+),
            schema: <$t as Shape>::schema,
            ranged: !matches!(Slower::$slower, Slower::One),
            default: table!(@default $($d $why)?),
            required: matches!(stringify!($mode).as_bytes(), b"must"),
            role: if matches!(stringify!($mode).as_bytes(), b"tell") { Role::Tells } else { Role::Model },
        }),+];

        impl $name {
            /// Reads a table; problems go to `diagnostics`, and then there is no value.
            pub fn read(diagnostics: &mut Diagnostics, table: &Table, span: Span) -> Option<Self> {
                let _ = span; // only required keys point at it
                refuse_unknown(diagnostics, table, $table, $of);
                $(let $field = {
                    let (key, slower) = (key_name(stringify!($field)), Slower::$slower);
                    let got = table.get(key).map(|n| read::<$t>(diagnostics, key, slower, n));
                    table!(
                        @take $mode $t, got, diagnostics, span, $of, key, slower $(, $d $origin $confidence $why)?
                    )
                };)+
                Some(Self { $($field: $field?),+ })
            }

            /// Everything that is set, for `lanescope plan`.
            #[allow(clippy::vec_init_then_push, reason = "some tables begin with keys that may be absent")]
            pub fn settings(&self) -> Vec<Setting> {
                let mut all = Vec::new();
                $(table!(@setting $mode, all, key_name(stringify!($field)), self.$field);)+
                all
            }
        }
    };
    (@take must $t:ty, $got:ident, $diag:ident, $span:ident, $of:expr, $key:expr, $slower:expr) => {
        $got.unwrap_or_else(|| missing($diag, $span, $of, $key))
    };
    (@take opt $t:ty, $got:ident, $diag:ident, $span:ident, $of:expr, $key:expr, $slower:expr) => {
        match $got { Some(Some(value)) => Some(Some(value)), Some(None) => None, None => Some(None) }
    };
    (@take tell $t:ty, $($rest:tt)*) => { table!(@take opt $t, $($rest)*) };
    (
        @take default $t:ty, $got:ident, $diag:ident, $span:ident, $of:expr, $key:expr, $slower:expr,
        $d:literal $origin:ident $confidence:ident $why:literal
    ) => {
        $got.unwrap_or_else(|| {
            // Read once: the text of a default never changes, and reading it was most of the work on a small scenario.
            static READ: OnceLock<Quantity<$t>> = OnceLock::new();
            let origins = (Origin::$origin, Confidence::$confidence);
            Some(once(&READ, $d, $slower, origins, $why))
        })
    };
    (@setting opt, $all:ident, $key:expr, $value:expr) => {
        if let Some(q) = &$value { $all.push(Setting::of($key, q)); }
    };
    (@setting tell, $all:ident, $key:expr, $value:expr) => { table!(@setting opt, $all, $key, $value); };
    (@setting $mode:ident, $all:ident, $key:expr, $value:expr) => { $all.push(Setting::of($key, &$value)); };
}

/// What a required key is that is not there: an error.
fn missing<T>(diagnostics: &mut Diagnostics, span: Span, of: &str, key: &str) -> Option<T> {
    let what = format!("{of} has no {key}");
    diagnostics.push(Diagnostic::error(span, what).hint(format!("add {key} = …")));
    None
}

/// A default, read the first time that it is asked for.
#[inline(never)]
fn once<T: Shape>(
    known: &OnceLock<Quantity<T>>,
    toml: &str,
    slower: Slower,
    origins: (Origin, Confidence),
    why: &'static str,
) -> Quantity<T> {
    if let Some(q) = known.get() {
        return q.clone();
    }
    known.get_or_init(|| default(toml, slower, origins, why)).clone()
}

/// A default is written as the user would write it, and read by the same reader.
fn default<T: Shape>(toml: &str, slower: Slower, origins: (Origin, Confidence), why: &'static str) -> Quantity<T> {
    let mut d = Diagnostics::default();
    let quantity = written(&mut d, toml).and_then(|n| read::<T>(&mut d, "default", slower, &n));
    match quantity {
        Some(q) => {
            let (origin, confidence) = origins;
            Quantity { origin, confidence, source: Reason::Own(why), default: true, span: None, ..q }
        }
        // Every default is read in a test (`defaults_are_readable`).
        None => unreachable!("the default {toml} cannot be read: {d}"),
    }
}

/// A value alone, as a node.
fn written(diagnostics: &mut Diagnostics, toml: &str) -> Option<Node> {
    let source = diagnostics.add_source("default", format!("x = {toml}"));
    super::tree::parse(diagnostics, source, Author::User)?.take("x")
}

/// Declares the parts of one technology: for each kind its keys, and how it is read.
macro_rules! parts {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $kind:ident($keys:ty) = $word:ident),+ $(,)? }) => {
        $(#[$m])*
        #[allow(clippy::large_enum_variant, reason = "a plan has few parts, and those of a technology in one list")]
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vm])* $kind($keys)),+ }

        impl $name {
            /// Everything that is set.
            pub fn settings(&self) -> Vec<Setting> {
                match self { $($name::$kind(k) => k.settings()),+ }
            }

            /// What a user writes for it.
            pub fn kind(&self) -> PartKind {
                match self { $($name::$kind(_) => PartKind::$word),+ }
            }

            /// Reads the table of a part; `None` where its kind is another technology's.
            pub(in crate::scenario) fn read(
                diagnostics: &mut Diagnostics,
                kind: PartKind,
                table: &Table,
                span: Span,
            ) -> Option<Option<Self>> {
                match kind {
                    $(PartKind::$word => Some(<$keys>::read(diagnostics, table, span).map($name::$kind)),)+
                    _ => None,
                }
            }
        }
    };
}

/// Keys that every part has beside those of its kind; read before its kind is known.
pub const PART_KEYS: [&str; 4] = ["use", "is", "count", "about"];

fn refuse_unknown(diagnostics: &mut Diagnostics, table: &Table, keys: &[Key], of: &str) {
    let part = PART_KINDS.iter().any(|row| std::ptr::eq(row.keys, keys));
    for (name, node) in &table.0 {
        if keys.iter().any(|k| k.name == name) || part && PART_KEYS.contains(&name.as_str()) {
            continue;
        }
        let common = PART_KEYS.iter().copied().filter(|_| part);
        let mut d = unknown(name, node.key, keys.iter().map(|k| k.name).chain(common), of);
        let elsewhere = PART_KINDS.iter().find(|row| row.keys.iter().any(|k| k.name == name));
        if let (Some(row), true) = (elsewhere, d.label.is_empty()) {
            d = d.hint(format!("{name} belongs to {}", row.word));
        }
        // Some names are of links too, and lines of an access specification have keys of their own.
        let of_link = LINK_KINDS.iter().find(|l| l.keys.iter().any(|k| k.name == name));
        if let (Some(kind), true) = (of_link, LINK_KINDS.iter().any(|l| std::ptr::eq(l.keys, keys))) {
            d = Diagnostic::error(node.key, d.message).hint(format!("{name} belongs to {}", kind.noun));
        }
        let of_line = |n: &&str| storage::LINE_KEYS.contains(n);
        let usual = super::usual::names(name);
        let field = std::iter::once(name.as_str()).chain(usual).find(of_line);
        if let (Some(field), true) = (field, std::ptr::eq(keys, IO) || std::ptr::eq(keys, TRANSACT)) {
            let hint = format!("{field} is a field of a line: access = {{ {field} = … }}");
            d = Diagnostic::error(node.key, d.message).hint(hint);
        }
        diagnostics.push(d);
    }
}

/// For a part of unknown kind: refuses what no kind of part has.
pub(super) fn refuse_unknown_anywhere(diagnostics: &mut Diagnostics, table: &Table) {
    for (name, node) in &table.0 {
        let known = || PART_KINDS.iter().flat_map(|row| row.keys.iter().map(|k| k.name)).chain(PART_KEYS);
        if !known().any(|k| k == name) {
            diagnostics.push(unknown(name, node.key, known(), "a part"));
        }
    }
}

words! {
    /// When operations of an open load arrive.
    Arrivals {
        /// Evenly spaced.
        Even = "even",
        /// At random, without memory.
        Poisson = "poisson",
    }
}

words! {
    #[derive(PartialOrd, Ord)]
    /// What a flow does, seen from its requester.
    Do {
        /// Memory reads: requests out, completions back.
        Read = "read",
        /// Posted memory writes.
        Write = "write",
        /// As many reads as writes of the same size, in turn. Rates are then per direction.
        Alternate = "alternate",
        /// Packets that a NIC has received: writes of their bytes, with the descriptors, completion entries and
        /// interrupts that they take.
        Receive = "receive",
        /// Packets that a NIC is to send: reads of their bytes, and the same.
        Transmit = "transmit",
    }
}

/// How much a flow wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// As much as the requester can.
    Saturate,
    /// So much, whatever happens (an open load), of each instance.
    Open {
        /// Payload per second (per direction, where the flow alternates).
        rate: Rate,
        /// Whether arrivals are random (Poisson), not evenly spaced.
        poisson: bool,
    },
    /// A fixed number of operations in flight (a closed load), of each instance.
    Closed {
        /// Operations in flight.
        outstanding: Count,
        /// Pause between the end of one and the start of the next.
        think: Time,
        /// A stated time from an operation's start to its last byte, in place of the one that the path gives.
        round_trip: Option<Time>,
    },
}

const LOAD_KEYS: [&str; 5] = ["rate", "arrivals", "outstanding", "think", "round_trip"];

impl Shape for Load {
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = "\"saturate\", { rate = \"10 Gb/s\" }, or { outstanding = 8, think = \"300 ns\" }";
        match &node.value {
            Value::Text(s) if s == "saturate" => Ok(Load::Saturate),
            Value::Table(t) => {
                for (key, _) in &t.0 {
                    if !LOAD_KEYS.contains(&key.as_str()) {
                        let near = crate::diagnostic::nearest(key, LOAD_KEYS);
                        return Err(Problem(
                            format!("a load has no key {key:?}"),
                            near.map_or(hint.into(), |n| format!("did you mean {n}?")),
                        ));
                    }
                }
                match (t.get("rate"), t.get("outstanding")) {
                    (Some(rate), None) if t.get("think").is_none() && t.get("round_trip").is_none() => {
                        let arrivals = t.get("arrivals").map(Arrivals::read).transpose()?;
                        Ok(Load::Open { rate: Rate::read(rate)?, poisson: arrivals == Some(Arrivals::Poisson) })
                    }
                    (None, Some(n)) if t.get("arrivals").is_none() => {
                        let outstanding = Count::read(n)?;
                        if outstanding == 0 {
                            return Err(Problem(
                                "outstanding = 0 never issues anything".into(),
                                "write at least 1".into(),
                            ));
                        }
                        let time = |key: &str| t.get(key).map(Time::read).transpose();
                        Ok(Load::Closed {
                            outstanding,
                            think: time("think")?.unwrap_or(Time::ZERO),
                            round_trip: time("round_trip")?,
                        })
                    }
                    _ => Err(Problem("a load is open (rate) or closed (outstanding), not both".into(), hint.into())),
                }
            }
            _ => Err(Problem("this is not a load".into(), hint.into())),
        }
    }
    fn show(&self) -> String {
        match self {
            Load::Saturate => "saturate".into(),
            Load::Open { rate, poisson: false } => format!("open, {rate}"),
            Load::Open { rate, poisson: true } => format!("open, {rate}, Poisson"),
            Load::Closed { outstanding, think, round_trip } => {
                let mut s = format!("closed, {outstanding} outstanding");
                if *think > Time::ZERO {
                    s += &format!(", think {think}");
                }
                if let Some(r) = round_trip {
                    s += &format!(", stated round trip {r}");
                }
                s
            }
        }
    }
    fn schema() -> Json {
        json!({ "oneOf": [
            { "const": "saturate" },
            { "type": "object", "additionalProperties": false, "required": ["rate"],
              "properties": { "rate": Rate::schema(), "arrivals": Arrivals::schema() } },
            { "type": "object", "additionalProperties": false, "required": ["outstanding"],
              "properties": { "outstanding": Count::schema(), "think": Time::schema(), "round_trip": Time::schema() } },
        ]})
    }
}

table! {
    /// How long to simulate.
    RunKeys, RUN, "run" {
        /// Stop when the 95 % confidence intervals of the means are this narrow.
        until: opt Percent, One;
        /// Or simulate this long, after the warm-up.
        r#for: opt Time, One;
        /// Time left out at the beginning. Without it, until the load has settled; with `for`, a tenth of it.
        warmup: opt Time, One;
        /// Never simulate longer than this, tight or not.
        max_time: default Time, One = "\"1 s\"" Assumed Likely
            "a second of traffic settles what can settle; with ranks an hour, since programs end";
        /// Never simulate more than so many packets on links, tight or not; at flow level, messages.
        max_packets: default Packets, One = "50_000_000" Assumed Likely "some seconds of work; with ranks 500,000,000";
        /// Start of all random numbers.
        seed: opt Count, One;
        /// What a simulation follows: packets, or whole messages as flows; or whichever suits the load.
        level: default SimulationLevel, One = "\"packet\"" Assumed Likely
            "queues, credits and pauses are what often matters";
    }
}

words! {
    /// What a simulation follows.
    SimulationLevel {
        /// Every packet.
        Packet = "packet",
        /// Messages as flows, which share links max-min fair; for streams of frames, or programs of ranks.
        Flow = "flow",
        /// Messages where they are long and nothing is stated that only packets have; else packets. The report says
        /// which, and why.
        Auto = "auto",
    }
}

mod ethernet;
mod gpu;
mod infiniband;
mod nvme;
mod pci;
mod pcie;
mod places;
mod sizes;
mod storage;
pub(in crate::scenario) mod technology;

pub use ethernet::*;
pub use gpu::*;
pub use infiniband::*;
pub use nvme::*;
pub use pci::*;
pub use pcie::*;
pub use places::*;
pub use sizes::*;
pub use storage::*;
pub use technology::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_readable() {
        let mut d = Diagnostics::default();
        let empty = Table::default();
        assert!(RootComplex::read(&mut d, &empty, Span::default()).is_some());
        assert!(Switch::read(&mut d, &empty, Span::default()).is_some());
        assert!(Endpoint::read(&mut d, &empty, Span::default()).is_some());
        assert!(Station::read(&mut d, &empty, Span::default()).is_some());
        assert!(EthernetSwitch::read(&mut d, &empty, Span::default()).is_some());
        assert!(HostBridge::read(&mut d, &empty, Span::default()).is_some());
        assert!(PciDevice::read(&mut d, &empty, Span::default()).is_some());
        assert!(HostAdapter::read(&mut d, &empty, Span::default()).is_some());
        assert!(RamDisk::read(&mut d, &empty, Span::default()).is_some());
        assert!(Disk::read(&mut d, &empty, Span::default()).is_some());
        assert!(Ssd::read(&mut d, &empty, Span::default()).is_some());
        assert!(Nvme::read(&mut d, &empty, Span::default()).is_some());
        assert!(RunKeys::read(&mut d, &empty, Span::default()).is_some());
        assert!(!d.has_errors());
    }

    #[test]
    fn a_default_latency_is_slow_at_its_high_end() {
        let mut d = Diagnostics::default();
        let switch = Switch::read(&mut d, &Table::default(), Span::default()).expect("defaults");
        assert!(switch.latency.slow > switch.latency.fast);
    }
}
