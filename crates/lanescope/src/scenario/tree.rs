//! TOML text as a tree that remembers where every key and value stands.
//!
//! A scenario is laid together from several texts: the user's file, a platform, library devices, `--set`. Each node
//! keeps its span and whether its text is a library's, so that a message can point at the right line of the right file
//! after everything has been merged.

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use std::rc::Rc;
use toml::de::{DeTable, DeValue};

/// No scenario is larger than this; a dump or a log pasted by mistake is refused before it is parsed.
pub const MAX_TEXT: usize = 1 << 20;

/// Who wrote a text: a user's bare values are "stated", a library's must say where they are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// A person with a question.
    User,
    /// `platforms/` or `studies/`.
    Library,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub span: Span,
    /// The key it belongs to (the value again inside an array).
    pub key: Span,
    /// Who wrote it.
    pub author: Author,
    /// `origin`, `confidence` and `source` of the table it stands in.
    pub around: Rc<[(String, Node)]>,
    /// What it is.
    pub value: Value,
}

/// What a node holds. Dates have no meaning here and are kept as their text.
#[derive(Clone, Debug)]
pub enum Value {
    /// `"…"`.
    Text(String),
    /// A number without a point; `None` when it does not fit.
    Integer(Option<i64>),
    /// A number with a point, as written.
    Float(String),
    /// `true` or `false`.
    Bool(bool),
    /// A date or time.
    Date(String),
    /// `[…]`.
    Array(Vec<Node>),
    /// `{…}` or `[table]`, in the order of the text.
    Table(Table),
}

/// Keys and values in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Vec<(String, Node)>);

/// The keys that say where a number is from.
pub const PROVENANCE: [&str; 3] = ["origin", "confidence", "source"];
/// The keys that make a table a quantity with a range.
pub const RANGE: [&str; 4] = ["value", "low", "typical", "high"];

impl Table {
    /// The node of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, n)| n)
    }

    /// The same, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(k, _)| k == key).map(|(_, n)| n)
    }

    /// Takes a key out.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// The table under a key.
    pub fn table(&self, key: &str) -> Option<&Table> {
        match &self.get(key)?.value {
            Value::Table(t) => Some(t),
            _ => None,
        }
    }

    /// Lays `over` on top: tables are joined down to `depth` levels, below that the upper value replaces the lower.
    pub fn overlay(&mut self, over: Table, depth: usize) {
        for (key, node) in over.0 {
            match (self.get_mut(&key), node) {
                (Some(Node { value: Value::Table(low), .. }), Node { value: Value::Table(high), .. }) if depth > 0 => {
                    low.overlay(high, depth - 1);
                }
                (Some(low), node) => *low = node,
                (None, node) => self.0.push((key, node)),
            }
        }
    }

    /// Puts a value at the end of a path, whatever was there; tables on the way are made, and what is no table there is
    /// replaced.
    pub fn put(&mut self, keys: &[String], node: Node) {
        let [first, rest @ ..] = keys else { return };
        if rest.is_empty() {
            match self.get_mut(first) {
                Some(old) => *old = node,
                None => self.0.push((first.clone(), node)),
            }
            return;
        }
        if !matches!(self.get(first), Some(Node { value: Value::Table(_), .. })) {
            let empty = Node { value: Value::Table(Table::default()), around: none(), ..node.clone() };
            match self.get_mut(first) {
                Some(old) => *old = empty,
                None => self.0.push((first.clone(), empty)),
            }
        }
        if let Some(Node { value: Value::Table(inner), .. }) = self.get_mut(first) {
            inner.put(rest, node);
        }
    }

    /// Whether it is written as a quantity (`{ low = …, typical = …, high = … }`) and not as a thing with keys.
    pub fn is_quantity(&self) -> bool {
        self.0.iter().any(|(k, _)| RANGE.contains(&k.as_str()))
    }
}

impl Node {
    /// What a person would call this.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Integer(_) | Value::Float(_) => "a bare number",
            Value::Bool(_) => "true or false",
            Value::Date(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Parses a text; every syntax error is reported, and `None` returned when there is any.
pub fn parse(diagnostics: &mut Diagnostics, source: SourceId, author: Author) -> Option<Table> {
    let text = diagnostics.source(source).text.clone();
    if text.len() > MAX_TEXT {
        let size = text.len() as f64 / (1 << 20) as f64;
        diagnostics.push(
            Diagnostic::error(
                None,
                format!("{}: {size:.1} MiB is too long for a scenario", diagnostics.source(source).name),
            )
            .hint("a scenario is a few lines of TOML, at most 1 MiB; is this the right file?"),
        );
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(&text);
    let broken = !errors.is_empty();
    for error in errors.iter().take(20) {
        let at = error.span().unwrap_or(0..text.len().min(1));
        let span = Span { source, start: at.start as u32, end: at.end.max(at.start + 1).min(text.len().max(1)) as u32 };
        let message = error.message().trim();
        let mut d = Diagnostic::error(span, format!("this is not TOML: {message}"));
        if message.contains("duplicate key") {
            let line = text[..span.start as usize].rsplit('\n').next().unwrap_or_default();
            if line.trim_start().starts_with('[') {
                d.message = "a name is used twice".into();
                d = d.label("this name is taken above").hint(
                    "names are unique within their section; for many alike \
                    use count = N, and [parts.\"name.1\"] to change one of them",
                );
            } else {
                d.message = "this key is in its table twice".into();
                d = d.label("its first value is above").hint("keep one of them");
            }
        }
        diagnostics.push(d);
    }
    (!broken).then(|| convert_table(table.get_ref(), source, author, &none()))
}

/// A value to be laid over a tree.
#[derive(Clone, Debug)]
pub struct Set {
    /// Where: the keys of its path.
    pub keys: Vec<String>,
    /// What.
    pub node: Node,
}

/// Reads `path=value` of `--set`. The value may be bare: `links.up.pcie=gen3 x8`.
pub fn parse_set(diagnostics: &mut Diagnostics, text: &str) -> Option<Set> {
    let source = diagnostics.add_source("--set", text);
    let whole = Span { source, start: 0, end: text.len() as u32 };
    let Some(at) = text.find('=') else {
        diagnostics.push(
            Diagnostic::error(whole, "--set takes path=value").hint("for example --set links.uplink.pcie=\"gen3 x8\""),
        );
        return None;
    };
    let (path, value) = (&text[..at], &text[at + 1..]);
    let key_span = Span { source, start: 0, end: at as u32 };
    let value_span = Span { source, start: at as u32 + 1, end: text.len() as u32 };
    let keys = match path_keys(path) {
        Some(keys) if text.len() < 10_000 => keys,
        _ => {
            diagnostics.push(
                Diagnostic::error(key_span, "this is not a path into a scenario")
                    .hint("write names with dots between them, e.g. links.uplink.pcie or parts.\"nic.1\".rate"),
            );
            return None;
        }
    };
    let mut node = match DeValue::parse(value.trim()) {
        Ok(v) => convert(v.get_ref(), value_span, key_span, source, Author::User, &none()),
        Err(_) => {
            let value = Value::Text(value.trim().to_owned());
            Node { span: value_span, key: key_span, author: Author::User, around: none(), value }
        }
    };
    respan(&mut node, value_span, key_span);
    Some(Set { keys, node })
}

/// The keys of a dotted path, by TOML's own rules for them (so a quoted key may hold dots); at most 8.
pub fn path_keys(path: &str) -> Option<Vec<String>> {
    let text = format!("{} = 0", path.trim());
    let parsed = DeTable::parse(&text).ok()?;
    let mut keys = Vec::new();
    let mut table = parsed.get_ref();
    loop {
        let (key, value) = table.iter().next()?;
        keys.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(t) if keys.len() < 8 => table = t,
            DeValue::Integer(_) if table.len() == 1 => return Some(keys),
            _ => return None,
        }
    }
}

/// Nothing around.
fn none() -> Rc<[(String, Node)]> {
    Rc::from([])
}

/// The value was parsed by itself; its places are those in the whole text.
fn respan(node: &mut Node, span: Span, key: Span) {
    node.span = span;
    node.key = key;
    match &mut node.value {
        Value::Array(list) => list.iter_mut().for_each(|n| respan(n, span, span)),
        Value::Table(t) => t.0.iter_mut().for_each(|(_, n)| respan(n, span, span)),
        _ => {}
    }
}

fn convert_table(table: &DeTable, source: SourceId, author: Author, around: &Rc<[(String, Node)]>) -> Table {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(k, _)| k.span().start);
    let span = |r: std::ops::Range<usize>| Span { source, start: r.start as u32, end: r.end as u32 };
    let quantity = entries.iter().any(|(k, _)| RANGE.contains(&k.get_ref().as_ref()));
    // Provenance beside the keys of a thing (not inside a quantity) is the provenance of all of them.
    let mut around = around.to_vec();
    let mut own = Vec::new();
    for (k, v) in &entries {
        let name = k.get_ref().to_string();
        if !quantity && PROVENANCE.contains(&name.as_str()) {
            let node = convert(v.get_ref(), span(v.span()), span(k.span()), source, author, &none());
            around.retain(|(n, _)| *n != name);
            around.push((name.clone(), node));
            own.push(name);
        }
    }
    let around: Rc<[(String, Node)]> = around.into();
    let rest = entries.into_iter().filter(|(k, _)| !own.contains(&k.get_ref().to_string()));
    Table(
        rest.map(|(k, v)| {
            (k.get_ref().to_string(), convert(v.get_ref(), span(v.span()), span(k.span()), source, author, &around))
        })
        .collect(),
    )
}

fn convert(
    value: &DeValue,
    span: Span,
    key: Span,
    source: SourceId,
    author: Author,
    around: &Rc<[(String, Node)]>,
) -> Node {
    let value = match value {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => Value::Integer(i64::from_str_radix(i.as_str(), i.radix()).ok()),
        DeValue::Float(f) => Value::Float(f.as_str().to_owned()),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => Value::Date(d.to_string()),
        DeValue::Array(a) => Value::Array(
            a.iter()
                .map(|v| {
                    let at = Span { source, start: v.span().start as u32, end: v.span().end as u32 };
                    convert(v.get_ref(), at, at, source, author, around)
                })
                .collect(),
        ),
        DeValue::Table(t) => Value::Table(convert_table(t, source, author, around)),
    };
    Node { span, key, author, around: Rc::clone(around), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Table>, Diagnostics) {
        let mut d = Diagnostics::default();
        let source = d.add_source("t", text);
        (parse(&mut d, source, Author::User), d)
    }

    #[test]
    fn keys_keep_their_place_and_order() {
        let (table, _) = read("[b]\nx = \"1 B\"\n[a]\ny = 2\n");
        let table = table.expect("valid");
        assert_eq!(table.0.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        let x = table.table("b").and_then(|b| b.get("x")).expect("there");
        assert_eq!((x.key.start, x.span.start, x.span.end), (4, 8, 13));
    }

    #[test]
    fn provenance_of_a_table_surrounds_its_values_only() {
        let (table, _) = read("[a]\norigin = \"stated\"\nx = 1\ny = { low = 1, origin = \"fitted\" }\n[b]\nz = 1");
        let table = table.expect("valid");
        let a = table.table("a").expect("a");
        assert!(a.get("origin").is_none());
        assert_eq!(a.get("x").expect("x").around.len(), 1);
        assert!(a.table("y").expect("y").get("origin").is_some());
        assert!(table.table("b").and_then(|b| b.get("z")).expect("z").around.is_empty());
    }

    #[test]
    fn a_bare_value_may_follow_set() {
        let mut d = Diagnostics::default();
        let set = parse_set(&mut d, "links.up.pcie=gen3 x8").expect("valid");
        assert_eq!(set.keys, ["links", "up", "pcie"]);
        assert!(matches!(&set.node.value, Value::Text(s) if s == "gen3 x8"));
        let set = parse_set(&mut d, "parts.\"nic.1\".count=4").expect("valid");
        assert_eq!(set.keys, ["parts", "nic.1", "count"]);
        assert!(matches!(set.node.value, Value::Integer(Some(4))));
        let mut table = Table::default();
        table.put(&set.keys, set.node);
        assert!(table.table("parts").and_then(|p| p.table("nic.1")).is_some_and(|n| n.get("count").is_some()));
        assert!(!d.has_errors());
        assert!(parse_set(&mut d, "nonsense").is_none());
        assert!(parse_set(&mut d, "a b=3").is_none());
        assert!(d.has_errors());
    }

    #[test]
    fn all_syntax_errors_are_shown() {
        let (table, d) = read("a = \n[b]\nx = = 2\n");
        assert!(table.is_none());
        assert!(d.sorted().len() >= 2, "{d}");
    }

    #[test]
    fn a_name_given_twice_is_explained() {
        let (_, d) = read("[parts.a]\nis=\"switch\"\n[parts.a]\nis=\"switch\"\n");
        assert!(d.to_string().contains("a name is used twice"), "{d}");
    }
}
