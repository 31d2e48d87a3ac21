//! One value changed in a scenario's text, with all else left as its author wrote it: comments, order, spaces.
//!
//! A value that stands in the text is replaced at its place; one that does not gets a line below the head of its table,
//! or a table of its own at the end. The result is what `--set` would have made of the text, written down.

use super::tree::{Author, Node, Table, Value, parse, path_keys};
use crate::diagnostic::Diagnostics;

/// The text with `path` set to `value`; `value` is as `--set` takes it: TOML, or bare words.
///
/// # Errors
///
/// A text that is no TOML, a path that is none, or one that leads through something that is no table: why, in a
/// sentence.
pub fn with_value(text: &str, path: &str, value: &str) -> Result<String, String> {
    let keys = path_keys(path).ok_or_else(|| format!("{path} is not a path into a scenario"))?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("scenario", text);
    let tree = parse(&mut diagnostics, source, Author::User).ok_or("the text is not TOML")?;
    let written = written(value);
    let edited = match replaced(&tree, &keys) {
        Some(node) => {
            let (start, end) = (node.span.start as usize, node.span.end as usize);
            format!("{}{written}{}", &text[..start], &text[end..])
        }
        None => added(text, &tree, &keys, &written)?,
    };
    // What was written must be read back as meant: a place that this function mistakes is no silent change.
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("scenario", edited.as_str());
    let again =
        parse(&mut diagnostics, source, Author::User).ok_or_else(|| format!("{value} cannot be written there"))?;
    let mut wanted = tree;
    let node = lone(&written).ok_or_else(|| format!("{value} cannot be written there"))?;
    wanted.put(&keys, node);
    if same(&wanted, &again) { Ok(edited) } else { Err(format!("{path} cannot be set in this text; write it by hand")) }
}

/// Each value that stands in the text: its path, key by key, and itself as [`with_value`] takes it. One that is written
/// over several lines is left out, and of a text that is no TOML there are none.
pub fn values_of(text: &str) -> Vec<(Vec<String>, String)> {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("scenario", text);
    let mut all = Vec::new();
    if let Some(tree) = parse(&mut diagnostics, source, Author::User) {
        gather(text, &tree, &mut Vec::new(), &mut all);
    }
    all
}

fn gather(text: &str, table: &Table, path: &mut Vec<String>, all: &mut Vec<(Vec<String>, String)>) {
    for (key, node) in &table.0 {
        path.push(key.clone());
        let raw = text.get(node.span.start as usize..node.span.end as usize).unwrap_or_default();
        match &node.value {
            Value::Table(inner) if !raw.starts_with('{') => gather(text, inner, path, all),
            _ if raw.contains('\n') => {}
            _ => {
                // Bare words are easier to read and to change, where they are written back as what they were.
                let bare = raw.strip_prefix('"').and_then(|r| r.strip_suffix('"'));
                let bare = bare.filter(|b| written(b) == raw);
                all.push((path.clone(), bare.unwrap_or(raw).to_owned()));
            }
        }
        path.pop();
    }
}

/// The value as TOML: itself where it is some, else a string.
fn written(value: &str) -> String {
    let value = value.trim();
    match lone(value) {
        Some(_) => value.to_owned(),
        None => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A value of TOML by itself, on one line.
fn lone(value: &str) -> Option<Node> {
    if value.contains(['\n', '\r']) {
        return None;
    }
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("value", format!("x = {value}\n"));
    let mut table = parse(&mut diagnostics, source, Author::User)?;
    let node = table.take("x")?;
    table.0.is_empty().then_some(node)
}

/// The node at a path, where it stands as a value of its own: the text of a table with a head is in many places.
fn replaced<'a>(tree: &'a Table, keys: &[String]) -> Option<&'a Node> {
    let [first, rest @ ..] = keys else { return None };
    let node = tree.get(first)?;
    match (rest.is_empty(), &node.value) {
        (true, _) => Some(node),
        (false, Value::Table(inner)) => replaced(inner, rest),
        _ => None,
    }
}

/// The text with a new key: below the head of the deepest table that has one.
fn added(text: &str, tree: &Table, keys: &[String], value: &str) -> Result<String, String> {
    // Inside an inline table, `{ … }`: before its brace.
    let (mut table, mut depth) = (tree, 0);
    while depth + 1 < keys.len() {
        let Some(node) = table.get(&keys[depth]) else { break };
        let Value::Table(inner) = &node.value else {
            return Err(format!("{} is {}, not a table", keys[..=depth].join("."), node.kind()));
        };
        (table, depth) = (inner, depth + 1);
        let (start, end) = (node.span.start as usize, node.span.end as usize);
        if text.get(start..end).is_some_and(|t| t.starts_with('{') && t.ends_with('}')) {
            let path = dotted(&keys[depth..]);
            let comma = if inner.0.is_empty() { " " } else { ", " };
            let before = text[..end - 1].trim_end();
            return Ok(format!("{before}{comma}{path} = {value} }}{}", &text[end..]));
        }
    }
    for depth in (1..keys.len()).rev() {
        if let Some(at) = head(text, &keys[..depth]) {
            let line = format!("{} = {value}\n", dotted(&keys[depth..]));
            let newline = if text[..at].ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{}{newline}{line}{}", &text[..at], &text[at..]));
        }
    }
    let (last, table) = keys.split_last().ok_or("an empty path")?;
    if table.is_empty() {
        return Ok(format!("{} = {value}\n{text}", dotted(std::slice::from_ref(last))));
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{text}{newline}\n[{}]\n{} = {value}\n", dotted(table), dotted(std::slice::from_ref(last))))
}

/// Where the line behind the head `[a.b]` begins.
fn head(text: &str, keys: &[String]) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let line = line.trim_start();
        let Some(rest) = line.strip_prefix('[').filter(|r| !r.starts_with('[')) else { continue };
        // A name in quotes may hold a bracket: the shortest head that reads as a path is it.
        let ends = rest.match_indices(']').map(|(i, _)| i);
        let found = ends.filter_map(|i| path_keys(&rest[..i])).next();
        if found.is_some_and(|found| found == keys) {
            return Some(at);
        }
    }
    None
}

/// Keys as a path of TOML, in quotes where they need some.
pub fn dotted<K: AsRef<str>>(keys: &[K]) -> String {
    let bare = |k: &str| !k.is_empty() && k.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let one = |k: &K| if bare(k.as_ref()) { k.as_ref().to_owned() } else { quoted(k.as_ref()) };
    keys.iter().map(one).collect::<Vec<_>>().join(".")
}

/// Whether two tables say the same, in whatever order.
fn same(a: &Table, b: &Table) -> bool {
    a.0.len() == b.0.len() && a.0.iter().all(|(k, x)| b.get(k).is_some_and(|y| equal(&x.value, &y.value)))
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) | (Value::Float(a), Value::Float(b)) | (Value::Date(a), Value::Date(b)) => {
            a == b
        }
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| equal(&x.value, &y.value))
        }
        (Value::Table(a), Value::Table(b)) => same(a, b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "title = \"t\"  # a\n[parts.nic]\nuse = \"x\" # keep\ntags = 8\n\n[links.up]\nrange = { low = 1 }\n";

    fn set(path: &str, value: &str) -> String {
        with_value(TEXT, path, value).expect("set")
    }

    #[test]
    fn a_value_is_replaced_at_its_place() {
        assert_eq!(set("parts.nic.tags", "16"), TEXT.replace("tags = 8", "tags = 16"));
        assert_eq!(set("title", "it's \"b\""), TEXT.replace("\"t\"", "\"it's \\\"b\\\"\""));
        assert_eq!(set("links.up.range.low", "2"), TEXT.replace("low = 1", "low = 2"));
    }

    #[test]
    fn a_new_key_stands_below_its_head() {
        assert_eq!(set("parts.nic.count", "2"), TEXT.replace("[parts.nic]\n", "[parts.nic]\ncount = 2\n"));
        assert_eq!(set("links.up.pcie", "gen3 x8"), TEXT.replace("[links.up]\n", "[links.up]\npcie = \"gen3 x8\"\n"));
        assert_eq!(set("links.up.range.high", "3"), TEXT.replace("{ low = 1 }", "{ low = 1, high = 3 }"));
        assert!(set("parts.\"nic.1\".tags", "4").ends_with("\n[parts.\"nic.1\"]\ntags = 4\n"));
        assert!(set("run.seed", "4").ends_with("\n[run]\nseed = 4\n"));
        assert!(set("about", "x").starts_with("about = \"x\"\ntitle"));
    }

    #[test]
    fn values_are_found_as_they_are_set() {
        let text = format!("{TEXT}[run]\nseed = \"7\"\nlist = [\n1]\n[flows.a]\nfrom = [\"x\", \"y\"]\n");
        let all: Vec<_> = values_of(&text).into_iter().map(|(path, value)| (dotted(&path), value)).collect();
        let wanted = [
            ("title", "t"),
            ("parts.nic.use", "x"),
            ("parts.nic.tags", "8"),
            ("links.up.range", "{ low = 1 }"),
            ("run.seed", "\"7\""),
            ("flows.a.from", "[\"x\", \"y\"]"),
        ];
        assert_eq!(all, wanted.map(|(path, value)| (path.to_owned(), value.to_owned())));
        for (path, value) in all {
            assert_eq!(with_value(&text, &path, &value).as_deref(), Ok(text.as_str()), "{path}");
        }
        assert_eq!(values_of("x = "), []);
    }

    #[test]
    fn what_cannot_be_set_is_said() {
        assert!(with_value(TEXT, "title.x", "1").is_err());
        assert!(with_value(TEXT, "a b", "1").is_err());
        assert!(with_value("x = ", "a", "1").is_err());
        // A head inside a string of several lines is none.
        let text = "about = \"\"\"\n[run]\n\"\"\"\n";
        assert!(with_value(text, "run.seed", "1").is_err_and(|e| e.contains("by hand")));
    }
}
