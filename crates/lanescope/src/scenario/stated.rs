//! Which keys a scenario states: what a method that does not model one of them has to name.

use super::keys::{self, PART_KEYS};
use super::parts::Joined;
use super::tree::{Node, PROVENANCE, RANGE, Table, Value};
use crate::diagnostic::Span;

/// A key that stands in the scenario's text, in its platform's, in a device's that it uses, or in a `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// As a `--set` would write it: `links.lan.ecmp`, `flows.rx.load.arrivals`.
    pub path: String,
    /// The kind of table that it stands in, one of [`keys::TABLES`].
    pub table: &'static str,
    /// The key in that table: `ecmp`, `load.arrivals`.
    pub key: String,
    /// Its value (of a range the typical one) as it is written; empty of lists and tables.
    pub value: String,
    /// Where it stands.
    pub span: Span,
}

/// The kind of table that a key of a part stands in: adapters have the keys of a device and of a station beside their
/// own.
pub(super) fn of_part(group: &str, is: &str, joined: &Joined, key: &str) -> Option<&'static str> {
    let device = if joined.pci.contains(group) { "pci-device" } else { "endpoint" };
    let kinds = match is {
        "host-adapter" | "channel-adapter" => vec![is, device, "station"],
        "nvme" => vec![is, "ssd", "endpoint"],
        _ => vec![is],
    };
    let all = keys::TABLES.iter().filter(|t| t.section == "parts");
    let mut with = kinds.into_iter().filter_map(|k| all.clone().find(|t| t.name == k));
    with.find(|t| t.keys.iter().any(|k| k.name == key)).map(|t| t.name)
}

/// Notes all keys of a table, and of the tables that are their values.
pub(super) fn note(all: &mut Vec<Stated>, path: &str, table: &Table, kind: impl Fn(&str) -> Option<&'static str>) {
    for (key, node) in &table.0 {
        if PROVENANCE.contains(&key.as_str()) || path.starts_with("parts.") && PART_KEYS.contains(&key.as_str()) {
            continue;
        }
        let Some(kind) = kind(key) else { continue };
        add(all, &format!("{path}.{key}"), kind, key, node);
    }
}

fn add(all: &mut Vec<Stated>, path: &str, table: &'static str, key: &str, node: &Node) {
    let span = node.key;
    let stated = |value: String| Stated { path: path.to_owned(), table, key: key.to_owned(), value, span };
    match &node.value {
        Value::Table(t) if t.is_quantity() => {
            let typical = t.get("typical").or(t.get("value"));
            // A table in place of a value: `load = { value = { rate = … }, source = … }`.
            match typical {
                Some(Node { value: Value::Table(_), .. }) => {
                    typical.into_iter().for_each(|n| add(all, path, table, key, n));
                }
                _ => all.push(stated(typical.map(written).unwrap_or_default())),
            }
        }
        Value::Table(t) => {
            all.push(stated(String::new()));
            for (inner, node) in &t.0 {
                if !RANGE.contains(&inner.as_str()) && !PROVENANCE.contains(&inner.as_str()) {
                    add(all, &format!("{path}.{inner}"), table, &format!("{key}.{inner}"), node);
                }
            }
        }
        Value::Array(list) if list.iter().any(|n| matches!(n.value, Value::Table(_))) => {
            all.push(stated(String::new()));
            // A key of several lines is one.
            let mut inner = Vec::new();
            for node in list {
                add(&mut inner, path, table, key, node);
            }
            for s in inner {
                if s.key != key && !all.iter().any(|a| a.path == s.path && a.value == s.value) {
                    all.push(s);
                }
            }
        }
        _ => all.push(stated(written(node))),
    }
}

fn written(node: &Node) -> String {
    match &node.value {
        Value::Text(s) | Value::Float(s) | Value::Date(s) => s.clone(),
        Value::Integer(n) => n.map(|n| n.to_string()).unwrap_or_default(),
        Value::Bool(b) => b.to_string(),
        Value::Array(_) | Value::Table(_) => String::new(),
    }
}
