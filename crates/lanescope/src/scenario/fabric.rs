//! Fabrics by rule: how many parts of each table a rule makes.
//!
//! A rule (`fat_tree = { k = 8 }`) decides the counts of the tables of parts that it wires, so that one number changes
//! the whole fabric. The plan wires them.

use super::keys::EthernetLink;
use super::quantity::Quantity;
use super::tree::{Node, Table, Value};
use super::{MOST_LINKS, MOST_NODES, Named};
use crate::diagnostic::{Diagnostic, Diagnostics, Span, nearest};

/// Gives each table of parts that a rule wires its `count`.
pub(super) fn count(diagnostics: &mut Diagnostics, links: &[Named<EthernetLink>], parts: &mut [(String, Table, Span)]) {
    for link in links {
        let k = &link.keys;
        let mut made: Vec<(&str, u64, Option<Span>)> = Vec::new();
        let mut wired: Option<(u64, Option<Span>)> = None;
        if let Some(Quantity { typical: r, span, .. }) = &k.star {
            wired = Some((r.hosts as u64, *span));
            made.extend([(r.switch.as_str(), 1, *span), (r.host.as_str(), r.hosts as u64, *span)]);
        }
        if let Some(Quantity { typical: r, span, .. }) = &k.leaf_spine {
            let hosts = r.leaves as u64 * r.hosts as u64;
            wired = Some((hosts.saturating_add(r.leaves as u64 * r.spines as u64), *span));
            made.extend(
                [(r.leaf.as_str(), r.leaves as u64), (r.spine.as_str(), r.spines as u64), (r.host.as_str(), hosts)]
                    .map(|(t, n)| (t, n, *span)),
            );
        }
        if let Some(Quantity { typical: r, span, .. }) = &k.fat_tree {
            if !r.k.is_multiple_of(2) || r.k > 1 << 10 {
                let d = Diagnostic::error(*span, format!("a fat tree has an even k of at most 1024, not {}", r.k));
                diagnostics.push(d.hint("half of a switch's ports go up, half go down"));
                continue;
            }
            let (hosts, levels) = r.sizes();
            wired = Some((3 * hosts, *span));
            made.extend([(r.switch.as_str(), levels.iter().sum(), *span), (r.host.as_str(), hosts, *span)]);
        }
        let rules = [k.star.is_some(), k.leaf_spine.is_some(), k.fat_tree.is_some(), k.between.is_some()];
        match rules.into_iter().filter(|r| *r).count() {
            0 => diagnostics.push(
                Diagnostic::error(link.span, "this link has no ends")
                    .hint("add between = [\"…\", \"…\"], or a rule: star, leaf_spine or fat_tree"),
            ),
            1 => {}
            _ => diagnostics.push(
                Diagnostic::error(link.span, "a link has one of between, star, leaf_spine and fat_tree")
                    .hint("between joins its ends, the others wire many links by rule"),
            ),
        }
        if let Some((links, span)) = wired.filter(|(n, _)| *n > MOST_LINKS as u64) {
            let what = format!("this rule makes {links} links, more than {MOST_LINKS}");
            diagnostics.push(Diagnostic::error(span.unwrap_or(link.span), what));
        }
        for (table, n, span) in made {
            give(diagnostics, parts, table, n, span.unwrap_or(link.span));
        }
    }
}

fn give(diagnostics: &mut Diagnostics, parts: &mut [(String, Table, Span)], table: &str, n: u64, span: Span) {
    if n > MOST_NODES as u64 {
        diagnostics.push(Diagnostic::error(span, format!("this rule makes {n} of {table}, more than {MOST_NODES}")));
        return;
    }
    let names: Vec<String> = parts.iter().map(|p| p.0.clone()).collect();
    let Some((_, part, _)) = parts.iter_mut().find(|p| p.0 == table) else {
        let d = Diagnostic::error(span, format!("this rule uses parts.{table}, which does not exist"));
        diagnostics.push(match nearest(table, names.iter().map(String::as_str)) {
            Some(near) => d.hint(format!("did you mean parts.{near}?")),
            None => d.hint(format!("write [parts.{table}], without a count; or name another table in the rule")),
        });
        return;
    };
    match part.get("count") {
        None => {
            let Some((_, model)) = part.0.first() else { return };
            let node = Node { span, key: span, value: Value::Integer(Some(n as i64)), ..model.clone() };
            part.0.push(("count".into(), node));
        }
        Some(Node { value: Value::Integer(Some(own)), .. }) if *own == n as i64 => {}
        Some(node) => diagnostics.push(
            Diagnostic::error(node.span, format!("the rule of a link makes {n} of {table}"))
                .hint("leave count out: the rule sets it"),
        ),
    }
}
