//! Keys that count only beside another: what a scenario states and nothing reads is said.
//!
//! Each [`Rule`] is a condition that the meaning of its keys names ("With scheduling = "weighted": …"). It is held
//! against what is [`Stated`], so it is the same for a key of the text, of a platform, of one instance and of a
//! `--set`.

use super::keys::TABLES;
use super::stated::Stated;
use crate::diagnostic::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;

/// When some keys of a kind of table count.
struct Rule {
    /// The kind of table, one of [`TABLES`].
    table: &'static str,
    keys: &'static [&'static str],
    /// The key that decides, and the kind of table that it stands in where that is not their own: then it decides in
    /// any table of the kind.
    beside: &'static str,
    of: Option<&'static str>,
    when: When,
}

/// Values of the deciding key with which the others count.
enum When {
    /// One of these.
    Is(&'static [&'static str]),
    /// Any that does not begin so.
    Not(&'static str, &'static str),
    /// Any.
    Stated,
}

const fn is(
    table: &'static str,
    keys: &'static [&'static str],
    beside: &'static str,
    values: &'static [&'static str],
) -> Rule {
    Rule { table, keys, beside, of: None, when: When::Is(values) }
}

const fn stated(table: &'static str, keys: &'static [&'static str], beside: &'static str) -> Rule {
    Rule { table, keys, beside, of: None, when: When::Stated }
}

const DCQCN: &[&str] = &[
    "cnp_interval",
    "dcqcn_gain",
    "alpha_timer",
    "rate_timer",
    "byte_counter",
    "fast_recovery",
    "additive_increase",
    "hyper_increase",
    "least_rate",
];

const RULES: &[Rule] = &[
    is("ethernet-switch", &["weights"], "scheduling", &["weighted"]),
    is("ethernet-switch", &["ecmp_seed"], "ecmp", &["hash", "flowlet"]),
    is("ethernet-switch", &["flowlet_gap"], "ecmp", &["flowlet"]),
    is("ethernet-switch", &["high_threshold", "low_threshold"], "flow_control", &["pause", "pfc", "voq"]),
    is("ethernet-switch", &["pause_quanta"], "flow_control", &["pause", "pfc"]),
    is("ethernet-switch", &["lossless", "lossy_memory", "headroom"], "flow_control", &["pfc"]),
    is("ethernet-switch", &["ecn_low", "ecn_high", "ecn_probability"], "congestion_control", &["dcqcn"]),
    Rule {
        table: "station",
        keys: DCQCN,
        beside: "congestion_control",
        of: Some("ethernet-switch"),
        when: When::Is(&["dcqcn"]),
    },
    Rule {
        table: "station",
        keys: &["credit"],
        beside: "flow_control",
        of: Some("ethernet-switch"),
        when: When::Is(&["credits"]),
    },
    is("station", &["reordering", "window"], "retransmission", &["selective"]),
    is("send", &["connections"], "transport", &["rocev2"]),
    is("mpi", &["eager", "header_bytes", "control_bytes"], "interface", &["mpi"]),
    Rule {
        table: "mpi",
        keys: &["sizes"],
        beside: "benchmark",
        of: None,
        when: When::Not("npb", "a benchmark of sizes, e.g. \"imb PingPong\""),
    },
    stated("mpi", &["repetitions"], "benchmark"),
    stated("nvme", &["trim_rate"], "trim_time"),
    stated("ssd", &["housekeeping_interval"], "housekeeping"),
    is("ssd", &["suspend_time"], "die_programs", &["true"]),
];

impl Rule {
    fn counts(&self, value: &str) -> bool {
        match self.when {
            When::Is(values) => values.contains(&value),
            When::Not(begins, _) => !value.is_empty() && !value.trim_start().starts_with(begins),
            When::Stated => !value.is_empty(),
        }
    }

    /// What a text would have to say.
    fn wants(&self) -> String {
        let shown = |v: &&str| if *v == "true" { (*v).to_owned() } else { format!("{v:?}") };
        match self.when {
            When::Is(values) => {
                format!("{} = {}", self.beside, values.iter().map(shown).collect::<Vec<_>>().join(" or "))
            }
            When::Not(_, words) => words.to_owned(),
            When::Stated => self.beside.to_owned(),
        }
    }

    /// The value of the deciding key where nothing states it; empty where it then does not exist.
    fn default(&self) -> &'static str {
        let table = TABLES.iter().find(|t| t.name == self.of.unwrap_or(self.table));
        let key = table.and_then(|t| t.keys.iter().find(|k| k.name == self.beside));
        key.and_then(|k| k.default).map_or("", |(value, _)| value.trim_matches('"'))
    }
}

/// What is stated, by its path.
type ByPath<'a> = BTreeMap<&'a str, &'a Stated>;

/// Values of the deciding key for a table: its own, else that of the table that it is an instance of; of a table with
/// instances that state another, theirs too.
fn decided<'a>(by_path: &ByPath<'a>, rule: &Rule, path: &str) -> Vec<&'a str> {
    let at = |path: &str| by_path.get(format!("{path}.{}", rule.beside).as_str()).map(|s| s.value.as_str());
    let group = path.rsplit_once('.').filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit())).map(|(group, _)| group);
    let own = at(path).or_else(|| at(group?));
    let below = format!("{path}.");
    let instances = by_path.range(below.as_str()..).take_while(|(p, _)| p.starts_with(&below));
    let theirs =
        instances.filter(|(_, s)| s.key == rule.beside && s.table == rule.table).map(|(_, s)| s.value.as_str());
    let mut all: Vec<&str> = theirs.collect();
    all.push(own.unwrap_or(rule.default()));
    all
}

/// Warns of each key that is stated and counts for nothing.
pub(super) fn warn(diagnostics: &mut Diagnostics, all: &[Stated]) {
    let by_path: ByPath = all.iter().map(|s| (s.path.as_str(), s)).collect();
    for stated in all {
        let of_key = |r: &&Rule| r.table == stated.table && r.keys.contains(&stated.key.as_str());
        let Some(rule) = RULES.iter().find(of_key) else { continue };
        let Some(path) = stated.path.strip_suffix(&format!(".{}", stated.key)) else { continue };
        let values = match rule.of {
            None => decided(&by_path, rule, path),
            Some(kind) => {
                let all = all.iter().filter(|s| s.table == kind && s.key == rule.beside);
                all.map(|s| s.value.as_str()).chain([rule.default()]).collect()
            }
        };
        if values.iter().any(|v| rule.counts(v)) {
            continue;
        }
        let what = format!("{path}: {} has no effect", stated.key);
        let now = match (values.last(), rule.of) {
            (Some(v), None) if !v.is_empty() => format!(", and {} is {v:?}", rule.beside),
            (_, Some(kind)) => format!(" of any {kind}, and none has that"),
            _ => String::new(),
        };
        diagnostics.push(Diagnostic::warning(stated.span, what).hint(format!("it counts with {}{now}", rule.wants())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{SourceId, Span};

    /// What is said of one table's keys, each with its value.
    fn said(keys: &[(&'static str, &str, &str, &str)]) -> String {
        let mut d = Diagnostics::default();
        let source = d.add_source("t.toml", "x".to_owned());
        let one = |(table, path, key, value): &(&'static str, &str, &str, &str)| Stated {
            path: format!("{path}.{key}"),
            table,
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            span: Span { source, start: 0, end: 1 },
        };
        assert_eq!(source, SourceId(0));
        let all: Vec<Stated> = keys.iter().map(one).collect();
        warn(&mut d, &all);
        d.to_string()
    }

    #[test]
    fn every_rule_is_of_keys_that_there_are_and_warns_only_without_its_condition() {
        for rule in RULES {
            let table = TABLES.iter().find(|t| t.name == rule.table).expect("a kind of table");
            let deciding = TABLES.iter().find(|t| t.name == rule.of.unwrap_or(rule.table)).expect("a kind of table");
            assert!(deciding.keys.iter().any(|k| k.name == rule.beside), "{}", rule.beside);
            for key in rule.keys {
                assert!(table.keys.iter().any(|k| k.name == *key), "{} has no {key}", rule.table);
                let own = (rule.table, "parts.x", *key, "1");
                let of =
                    |value| (deciding.name, if rule.of.is_some() { "parts.y" } else { "parts.x" }, rule.beside, value);
                assert_eq!(said(&[own]).contains("has no effect"), !rule.counts(rule.default()), "{key} alone");
                let right = match rule.when {
                    When::Is(values) => values.to_vec(),
                    When::Not(..) => vec!["imb PingPong", "osu_latency"],
                    When::Stated => vec!["1"],
                };
                for value in right {
                    assert_eq!(said(&[own, of(value)]), "", "{key} with {} = {value}", rule.beside);
                }
                if !matches!(rule.when, When::Stated) {
                    let other = if matches!(rule.when, When::Not(..)) { "npb is.A" } else { "other" };
                    assert!(said(&[own, of(other)]).contains(&format!("{key} has no effect")), "{key}");
                }
            }
        }
    }

    /// A meaning that begins with a condition on another key of the same table has a rule.
    #[test]
    fn what_a_meaning_says_is_a_rule() {
        // Said by `check`, which asks for more than one key.
        let elsewhere = ["arrivals", "host_processor"];
        for table in TABLES.iter() {
            for key in table.keys.iter().filter(|k| !elsewhere.contains(&k.name)) {
                let doc = key.doc.trim();
                let beside = doc.strip_prefix("With ").and_then(|d| d.split([' ', ':', ',']).next()).unwrap_or("");
                if table.keys.iter().any(|k| k.name == beside) {
                    let has = |r: &Rule| r.table == table.name && r.keys.contains(&key.name) && r.beside == beside;
                    assert!(RULES.iter().any(has), "{}.{}: {doc}", table.name, key.name);
                }
            }
        }
    }

    /// One instance may differ from its table, either way.
    #[test]
    fn instances_are_asked() {
        let weights = ("ethernet-switch", "parts.s", "weights", "");
        let own = ("ethernet-switch", "parts.s.3", "scheduling", "weighted");
        assert_eq!(said(&[weights, own]), "");
        let group = ("ethernet-switch", "parts.s", "scheduling", "weighted");
        assert_eq!(said(&[group, ("ethernet-switch", "parts.s.3", "weights", "")]), "");
        assert!(said(&[own, ("ethernet-switch", "parts.s.2", "weights", "")]).contains("parts.s.2: weights"));
    }
}
