//! A GPU cluster as written: `nodes = 2`, `node = { … }`, `network = { … }`, `collectives = { … }`.

use super::Included;
use super::keys::{CollectiveKeys, GpuCluster, GpuNetwork, GpuNode};
use super::quantity::unknown;
use super::tree::{self, Author, Set, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};

/// What `kind` says of such a text.
pub const KIND: &str = "gpu-cluster";
/// Its tables.
pub(super) const TABLES: [&str; 3] = ["node", "network", "collectives"];

/// A cluster as written.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// One line for a report's head.
    pub title: String,
    /// How many nodes, and what of them is down.
    pub cluster: GpuCluster,
    /// One of them.
    pub node: GpuNode,
    /// Between them.
    pub network: GpuNetwork,
    /// How the library works.
    pub collectives: CollectiveKeys,
    /// Where the text begins, for what is wrong with all of it.
    pub span: Span,
}

/// Whether a text is one of a GPU cluster, by its `kind`, or by its `node` where it has none.
pub fn is_cluster(text: &str) -> bool {
    let mut none = Diagnostics::default();
    let source = none.add_source(String::new(), text.to_owned());
    tree::parse(&mut none, source, Author::User).is_some_and(|root| said(&root).is_some())
}

/// Where a text says that it is one; a node says it too.
pub(super) fn said(root: &Table) -> Option<Span> {
    match root.get("kind") {
        Some(kind) => matches!(&kind.value, Value::Text(t) if t == KIND).then_some(kind.span),
        None => root.get("node").map(|n| n.key),
    }
}

/// Reads a cluster's text with `sets` (`path=value`) laid over it. `None` where there is any error; all are in
/// `diagnostics`.
pub fn read(diagnostics: &mut Diagnostics, included: Included, sets: &[String]) -> Option<Cluster> {
    let hint = "for example\n\nkind = \"gpu-cluster\"\nnodes = 2\nnode = { gpus = 8, nvlink = \"4\", nics = 8, \
                infiniband = \"ndr 4x\" }";
    if included.text.trim().is_empty() {
        diagnostics.push(Diagnostic::error(None, format!("{} is empty", included.name)).hint(hint));
        return None;
    }
    let source = diagnostics.add_source(included.name, included.text);
    let span = Span { source, start: 0, end: 1 };
    let mut root = tree::parse(diagnostics, source, included.author)?;
    for set in sets {
        let Set { keys, node } = tree::parse_set(diagnostics, set)?;
        root.put(&keys, node);
    }
    let title = match root.take("title").map(|n| n.value) {
        Some(Value::Text(t)) => t.chars().filter(|c| !c.is_control()).take(200).collect(),
        _ => String::new(),
    };
    match root.take("kind").map(|n| (n.span, n.value)) {
        Some((_, Value::Text(kind))) if kind == KIND => {}
        None if root.get("node").is_some() => {}
        Some((at, _)) => {
            diagnostics.push(Diagnostic::error(at, format!("a GPU cluster has kind = {KIND:?}")).hint(hint));
            return None;
        }
        None => {
            diagnostics.push(Diagnostic::error(span, "this is no GPU cluster: it has no node").hint(hint));
            return None;
        }
    }
    let mut table = |diagnostics: &mut Diagnostics, key: &str| match root.take(key) {
        None => Some((Table::default(), span)),
        Some(node) => match node.value {
            Value::Table(t) => Some((t, node.span)),
            _ => {
                diagnostics.push(Diagnostic::error(node.span, format!("{key} is a table")).hint(hint));
                None
            }
        },
    };
    let [node, network, collectives] = TABLES.map(|key| table(diagnostics, key));
    let own = ["nodes", "down"];
    for (name, node) in &root.0 {
        if !own.contains(&name.as_str()) {
            let known = own.into_iter().chain(TABLES).chain(["title", "kind"]);
            diagnostics.push(unknown(name, node.key, known, "a GPU cluster"));
        }
    }
    root.0.retain(|(name, _)| own.contains(&name.as_str()));
    let cluster = GpuCluster::read(diagnostics, &root, span);
    let node = node.and_then(|(t, at)| GpuNode::read(diagnostics, &t, at));
    let network = network.and_then(|(t, at)| GpuNetwork::read(diagnostics, &t, at));
    let collectives = collectives.and_then(|(t, at)| CollectiveKeys::read(diagnostics, &t, at));
    if diagnostics.has_errors() {
        return None;
    }
    Some(Cluster { title, cluster: cluster?, node: node?, network: network?, collectives: collectives?, span })
}
