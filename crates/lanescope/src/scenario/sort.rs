//! Of which kind a link or a flow is. What says none gets one message that lists them, and no others that follow from
//! it.

use super::keys::technology::listed;
use super::keys::{FLOW_KINDS, FlowKind, LINK, LINK_KINDS};
use super::tree::{Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span, nearest};
use std::collections::HashMap;

/// A table with its name and the place of that.
pub(super) type Thing = (String, Table, Span);

/// Tables by the name of their kind, in the order of the text.
#[derive(Default)]
pub(super) struct Sorted(HashMap<&'static str, Vec<Thing>>);

impl Sorted {
    fn add(&mut self, kind: &'static str, thing: Thing) {
        self.0.entry(kind).or_default().push(thing);
    }

    /// Those of a kind, taken out.
    pub(super) fn take(&mut self, kind: &str) -> Vec<Thing> {
        self.0.remove(kind).unwrap_or_default()
    }
}

/// Sorts flows by what they do.
pub(super) fn flows(diagnostics: &mut Diagnostics, flows: Vec<Thing>) -> Sorted {
    let mut sorted = Sorted::default();
    for flow in flows {
        // What its keys tell, where the word does not.
        let told = FLOW_KINDS.iter().find_map(|k| {
            let own = k.own.iter().find(|own| flow.1.get(own).is_some())?;
            Some((k, *own))
        });
        let said = match flow.1.get("do") {
            Some(Node { value: Value::Text(word), span, .. }) => Some((word.as_str(), *span)),
            _ => None,
        };
        let Some((word, span)) = said else {
            let absent = flow.1.get("do").is_none();
            sorted.add(told.filter(|_| absent).map_or("dma", |(kind, _)| kind.name), flow);
            continue;
        };
        let kind = FLOW_KINDS.iter().find(|k| k.does.contains(&word));
        match (kind, told) {
            (Some(FlowKind { name: "dma", .. }), Some((other @ FlowKind { name: "io", .. }, own))) => {
                let what = format!("do: {own} belongs to a flow of {}, and {word:?} is DMA", other.noun);
                diagnostics.push(Diagnostic::error(span, what).hint(format!("set do = {:?}", other.does[0])));
            }
            (Some(kind), _) => sorted.add(kind.name, flow),
            (None, told) => {
                let shown: String = word.chars().take(40).collect();
                let near = match told {
                    Some((FlowKind { name: "io", .. }, _)) => nearest(&shown, ["transact"]).or(Some("io")),
                    _ => nearest(&shown, FLOW_KINDS.iter().flat_map(|k| k.does.iter().copied())),
                };
                let all: Vec<String> =
                    FLOW_KINDS.iter().map(|k| format!("{} ({})", k.does.join(", "), k.noun)).collect();
                let d = Diagnostic::error(span, format!("do: {shown:?} is none of {}", all.join(", ")));
                diagnostics.push(near.map_or(d.clone(), |n| d.hint(format!("did you mean {n:?}?"))));
            }
        }
    }
    sorted
}

/// Sorts links by the keys that say what they are; those of PCIe are also those that seem to be.
pub(super) fn links(diagnostics: &mut Diagnostics, links: Vec<Thing>) -> Sorted {
    let mut sorted = Sorted::default();
    for link in links {
        let (name, table, span) = &link;
        // What PCIe has no key for is looked for first: its other keys then are wrong.
        if let Some(kind) = LINK_KINDS.iter().rev().find(|k| k.is(table)) {
            sorted.add(kind.key, link);
            continue;
        }
        let meant = table.0.iter().find_map(|(k, n)| {
            let known = LINK.iter().any(|l| l.name == k);
            (!known).then(|| nearest(k, LINK_KINDS.map(|k| k.key))).flatten().map(|m| (k, n, m))
        });
        match meant {
            // Its other keys are read as well.
            Some((_, _, "pcie")) => sorted.add("pcie", link),
            Some((key, node, medium)) => diagnostics.push(
                Diagnostic::error(node.key, format!("a link has no key {key:?}"))
                    .label(format!("did you mean {medium}?")),
            ),
            None => {
                let all = LINK_KINDS.map(|k| format!("{} = {:?}{}", k.key, k.example.0, k.example.1));
                diagnostics.push(
                    Diagnostic::error(*span, format!("links.{name} does not say of which technology it is"))
                        .hint(format!("add {}", listed(&all))),
                );
            }
        }
    }
    sorted
}
