//! Names of parts and ports as a scenario writes them: `nic.*`, `sw.down.2`, `rc.0.memory`.

use crate::diagnostic::{Diagnostic, Diagnostics, Span, nearest};
use crate::plan::PartId;
use crate::scenario::keys::PartKind;
use crate::scenario::{Part, PartKeys, Scenario};
use std::collections::HashMap;

/// The parts of a scenario by the name of their table, in the order of their instances.
pub(in crate::plan) struct Directory<'a, K = PartKeys> {
    parts: &'a [Part<K>],
    groups: HashMap<&'a str, Vec<PartId>>,
    /// Tables of parts that have no place here, with what they are.
    others: HashMap<&'a str, PartKind>,
    /// What has.
    hint: &'static str,
}

/// Parts that an address names, and what follows their names (a port or a place).
pub(in crate::plan) struct Address {
    pub(in crate::plan) parts: Vec<PartId>,
    pub(in crate::plan) rest: String,
    /// Whether it was written with a star over instances.
    pub(in crate::plan) many: bool,
}

impl<'a, K> Directory<'a, K> {
    pub(in crate::plan) fn new(parts: &'a [Part<K>]) -> Self {
        let mut groups: HashMap<&str, Vec<PartId>> = HashMap::new();
        for (i, part) in parts.iter().enumerate() {
            groups.entry(&part.group).or_default().push(PartId(i as u32));
        }
        Directory { parts, groups, others: HashMap::new(), hint: "" }
    }

    /// With the names of all parts of a scenario, to say of one that is elsewhere what it is, and what is wanted here.
    pub(in crate::plan) fn among(mut self, scenario: &'a Scenario, hint: &'static str) -> Self {
        let pcie = scenario.parts.iter().map(|p| (p.group.as_str(), p.keys.kind()));
        let ethernet = scenario.nodes.iter().map(|p| (p.group.as_str(), p.keys.kind()));
        let buses = scenario.bus_parts.iter().map(|p| (p.group.as_str(), p.keys.kind()));
        // Last, for an adapter is an endpoint too.
        let stores = scenario.stores.iter().map(|p| (p.group.as_str(), p.keys.kind()));
        let fabric = scenario.fabric_parts.iter().map(|p| (p.group.as_str(), p.keys.kind()));
        self.others = pcie.chain(ethernet).chain(buses).chain(stores).chain(fabric).collect();
        self.hint = hint;
        self
    }

    pub(in crate::plan) fn part(&self, id: PartId) -> &'a Part<K> {
        &self.parts[id.0 as usize]
    }

    /// Of a list of addresses, separated by commas, all parts; what follows their names must be the same.
    pub(in crate::plan) fn find_all(&self, diagnostics: &mut Diagnostics, text: &str, span: Span) -> Option<Address> {
        let mut all: Option<Address> = None;
        for one in text.split(',') {
            let found = self.find(diagnostics, one.trim(), span)?;
            match &mut all {
                None => all = Some(found),
                Some(all) if all.rest == found.rest => {
                    all.parts.extend(found.parts);
                    all.many = true;
                }
                Some(all) => {
                    let what = format!("{:?} and {:?} are not the same place of a part", all.rest, found.rest);
                    diagnostics.push(Diagnostic::error(span, what).hint("write a flow for each"));
                    return None;
                }
            }
        }
        all
    }

    /// Splits `group[.instance|.*|.first-last][.rest]`.
    pub(in crate::plan) fn find(&self, diagnostics: &mut Diagnostics, text: &str, span: Span) -> Option<Address> {
        let (group, mut rest) = text.split_once('.').unwrap_or((text, ""));
        let Some(ids) = self.groups.get(group) else {
            if let Some(kind) = self.others.get(group) {
                let what = format!("{group} is {}, which has no place here", kind.noun());
                diagnostics.push(Diagnostic::error(span, what).hint(self.hint));
                return None;
            }
            let d = Diagnostic::error(span, format!("there is no part {group:?}"));
            let mut known: Vec<&str> = self.groups.keys().copied().collect();
            known.sort_unstable();
            diagnostics.push(match nearest(group, known.iter().copied()) {
                Some(near) => d.label(format!("did you mean {near}?")),
                None => d.hint(format!("parts are: {}", known.iter().take(12).copied().collect::<Vec<_>>().join(", "))),
            });
            return None;
        };
        let counted = self.part(ids[0]).name != group;
        if !counted {
            return Some(Address { parts: ids.clone(), rest: rest.to_owned(), many: false });
        }
        let (which, after) = rest.split_once('.').unwrap_or((rest, ""));
        // A count that is varied may be one: then there is no question which.
        if ids.len() == 1 && !which.starts_with(|c: char| c.is_ascii_digit() || c == '*') {
            return Some(Address { parts: ids.clone(), rest: rest.to_owned(), many: false });
        }
        rest = after;
        let range = which.split_once('-').and_then(|(a, b)| Some((a.parse::<usize>().ok()?, b.parse::<usize>().ok()?)));
        let range = range.and_then(|(a, b)| ids.get(a..b.checked_add(1)?)).filter(|r| !r.is_empty());
        let parts = if which == "*" {
            ids.clone()
        } else if let Some(some) = range {
            some.to_vec()
        } else if let Some(one) = which.parse::<usize>().ok().and_then(|i| ids.get(i)) {
            vec![*one]
        } else {
            let (what, hint) = match ids.len() {
                1 => (format!("there is one {group}"), format!("write {group} or {group}.0")),
                n => (
                    format!("which {group}? There are {n}"),
                    format!("write {group}.0 to {group}.{0}, {group}.0-{0}, or {group}.* for all", n - 1),
                ),
            };
            diagnostics.push(Diagnostic::error(span, what).hint(hint));
            return None;
        };
        Some(Address { many: which == "*" || range.is_some(), parts, rest: rest.to_owned() })
    }
}

/// How many links join two sides of a `between`, each given by its name, its ports, and whether it holds as many links
/// as the other side asks for.
pub(in crate::plan) fn pairs(
    diagnostics: &mut Diagnostics,
    span: Option<Span>,
    [(a, a_ports, a_open), (b, b_ports, b_open)]: [(&str, usize, bool); 2],
) -> Option<usize> {
    let n = match (a_open, b_open) {
        (true, true) => a_ports.max(b_ports),
        (true, false) => b_ports,
        (false, _) => a_ports,
    };
    let fits = |ports: usize, open: bool| if open { n.is_multiple_of(ports) } else { ports == n };
    if fits(a_ports, a_open) && fits(b_ports, b_open) {
        return Some(n);
    }
    diagnostics.push(
        Diagnostic::error(span, format!("{a} and {b} do not pair: {a_ports} and {b_ports}"))
            .hint("both sides of a link with * name the same number of ports, or one divides the other"),
    );
    None
}

/// A port as written: fixed, or any free one of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Wanted {
    /// This one.
    Fixed(String),
    /// The next free `down.N` or `port.N`.
    Any(&'static str),
}

/// Reads the port part of an address for a kind of part.
pub(in crate::plan) fn port(diagnostics: &mut Diagnostics, part: &Part, rest: &str, span: Span) -> Option<Wanted> {
    let (kind, ports) = match &part.keys {
        PartKeys::Endpoint(_) if rest.is_empty() => return Some(Wanted::Fixed(String::new())),
        PartKeys::Endpoint(_) => {
            diagnostics.push(Diagnostic::error(span, format!("{} has a single port, without a name", part.name)));
            return None;
        }
        PartKeys::Switch(_) if rest == "up" => return Some(Wanted::Fixed("up".into())),
        PartKeys::Switch(k) => ("down", k.ports.typical),
        PartKeys::RootComplex(k) => ("port", k.ports.typical),
    };
    let hint = match kind {
        "down" => format!("a switch has ports {0}.up and {0}.down.N, or {0}.down.* for the next free one", part.name),
        _ => format!("write {0}, {0}.port.N or {0}.port.*", part.name),
    };
    let which = match rest.strip_prefix(kind) {
        _ if rest.is_empty() && kind == "port" => return Some(Wanted::Any(kind)),
        Some("" | ".*") => return Some(Wanted::Any(kind)),
        Some(after) => after.strip_prefix('.').and_then(|n| n.parse::<u32>().ok()),
        None => None,
    };
    match which {
        Some(n) if n < ports => Some(Wanted::Fixed(format!("{kind}.{n}"))),
        Some(_) if ports == 0 => {
            diagnostics.push(Diagnostic::error(span, format!("{} has no {kind} ports", part.name)));
            None
        }
        Some(_) => {
            diagnostics.push(Diagnostic::error(span, format!("{} has {kind}.0 to {kind}.{}", part.name, ports - 1)));
            None
        }
        None => {
            diagnostics.push(Diagnostic::error(span, format!("{} has no port {rest:?}", part.name)).hint(hint));
            None
        }
    }
}
