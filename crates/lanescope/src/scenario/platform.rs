//! A scenario laid over its platform: parts and links are joined, and the load is that of whoever writes one.

use super::tree::{Node, Table, Value};

/// What keys of a flow say of its host, whatever load is put on it: with what software I/Os are issued, what that costs
/// the processor of a worker, and what is set up for it. The others are the load.
const OF_THE_HOST: [(&str, Of); 12] = [
    ("submit_time", Of::Any),
    ("complete_time", Of::Any),
    ("host_software", Of::Io),
    ("host_processor", Of::Io),
    ("wake_time", Of::Software),
    ("completions", Of::Queues),
    ("commands_a_doorbell", Of::Queues),
    ("queue_pairs", Of::Target),
    ("fabric", Of::Target),
    ("in_capsule_data", Of::Target),
    ("fabric_entries", Of::Target),
    ("target_time", Of::Target),
];

/// Which flows a key of the host is carried over to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// I/Os and transactions.
    Any,
    /// I/Os.
    Io,
    /// I/Os issued by the same software: a flow that names its own has what that does.
    Software,
    /// The same, at a target that both flows have: other targets have no such queues.
    Queues,
    /// I/Os at a target that both flows have.
    Target,
}

/// Lays a scenario over its platform. Flows of the platform count only where the scenario has none; what they say of
/// its hosts stays.
pub(super) fn lay(mut base: Table, mut over: Table) -> Table {
    base.take("kind");
    base.take("about");
    if over.get("flows").is_some()
        && let Some(Node { value: Value::Table(theirs), .. }) = base.take("flows")
        && let Some(Value::Table(flows)) = over.get_mut("flows").map(|n| &mut n.value)
    {
        for (_, flow) in &mut flows.0 {
            if let Value::Table(flow) = &mut flow.value {
                costs(flow, &theirs);
            }
        }
    }
    base.overlay(over, 2);
    base
}

/// Gives a flow of I/Os or of transactions what it does not say of its host, and the platform's flows from there do.
fn costs(flow: &mut Table, theirs: &Table) {
    let Some((does, from)) = word(flow, "do").filter(|d| does_io(d)).zip(word(flow, "from")) else { return };
    let tables = theirs.0.iter().filter_map(|(_, n)| match &n.value {
        Value::Table(t) => Some(t),
        _ => None,
    });
    let same = |t: &&Table| word(t, "do") == Some(does.clone()) && word(t, "from").is_some_and(|f| meet(&f, &from));
    let near: Vec<&Table> = tables.filter(same).collect();
    let to = words(flow, "to");
    let at_target = |t: &Table| words(t, "to").iter().any(|a| to.iter().any(|b| meet(a, b)));
    // The flow at the same target says most.
    let targets: Vec<&Table> = near.iter().copied().filter(|t| at_target(t)).collect();
    let own_software = flow.get("host_software").is_some();
    for (key, of) in OF_THE_HOST {
        let fits = match of {
            Of::Any => true,
            Of::Io | Of::Target => does == "io",
            Of::Software | Of::Queues => does == "io" && !own_software,
        };
        let any = if matches!(of, Of::Queues | Of::Target) { &[][..] } else { &near[..] };
        let said = targets.iter().chain(any).find_map(|t| t.get(key));
        if let (true, None, Some(node)) = (fits, flow.get(key), said) {
            flow.0.push((key.to_owned(), node.clone()));
        }
    }
}

fn does_io(word: &str) -> bool {
    matches!(word, "io" | "transact")
}

fn word(t: &Table, key: &str) -> Option<String> {
    match t.get(key).map(|n| &n.value) {
        Some(Value::Text(s)) => Some(s.clone()),
        _ => None,
    }
}

/// The names of a list, or the one name.
fn words(t: &Table, key: &str) -> Vec<String> {
    match t.get(key).map(|n| &n.value) {
        Some(Value::Text(s)) => vec![s.clone()],
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(|n| match &n.value {
                Value::Text(s) => Some(s.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether two names may mean the same part: `node.3` is one of `node.*`, and of `node`.
fn meet(a: &str, b: &str) -> bool {
    let covers = |group: &str, name: &str| {
        group.strip_suffix('*').is_some_and(|g| name.starts_with(g)) || name.strip_prefix(group).is_some_and(is_index)
    };
    a == b || covers(a, b) || covers(b, a)
}

fn is_index(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostics;
    use crate::scenario::tree::Author;
    use crate::scenario::{Included, Resolver, Scenario, read};

    /// Two texts: a machine with a load of its own, and one that stands on it; and one that stands on itself.
    struct Texts;

    impl Resolver for Texts {
        fn resolve(&self, reference: &str, _from: &str) -> Result<Included, String> {
            let text = match reference {
                "machine" => {
                    "[parts.node]\nis = \"root-complex\"\ncount = 2\n[flows.own]\nfrom = \"node.*\"\nto = \"d\"\n\
                     do = \"io\"\naccess = { size = \"4 KiB\" }\nsubmit_time = \
                     { low = \"1 us\", typical = \"3 us\", high = \"9 us\", source = \"seen\" }"
                }
                "named" => "title = \"named\"\nplatform = \"machine\"",
                "itself" => "platform = \"itself\"",
                other => return Err(format!("there is no {other}")),
            };
            Ok(Included { name: reference.into(), text: text.into(), author: Author::User })
        }
        fn names(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn scenario(text: &str) -> Result<Scenario, String> {
        let mut d = Diagnostics::default();
        let included = Included { name: "t.toml".into(), text: text.into(), author: Author::User };
        read(&mut d, included, &[], &Texts).ok_or_else(|| d.to_string())
    }

    #[test]
    fn a_load_is_the_scenarios_and_its_costs_are_the_hosts() {
        let own = scenario("platform = \"named\"").expect("right");
        assert_eq!((own.title.as_str(), own.ios[0].name.as_str()), ("named", "own"));
        let io = |more: &str| {
            let text = format!(
                "platform = \"named\"\n[flows.x]\nfrom = \"node.1\"\nto = \"d\"\ndo = \"io\"\n\
                 access = {{ size = \"8 KiB\" }}\n{more}"
            );
            let mut s = scenario(&text).expect("right");
            assert_eq!(s.ios.len(), 1, "the platform's load is not meant");
            s.ios.remove(0).keys
        };
        let kept = io("");
        assert_eq!((kept.submit_time.typical.ns(), kept.submit_time.slow.ns()), (3000.0, 9000.0));
        assert_eq!(&*kept.submit_time.source, "seen");
        assert!(kept.complete_time.default, "what nobody says is a default");
        assert_eq!(io("submit_time = \"7 us\"").submit_time.typical.ns(), 7000.0);
    }

    /// Each key of a flow of I/Os is of the load, or of the host: a new one must be put on one side.
    #[test]
    fn every_key_of_a_flow_is_the_loads_or_the_hosts() {
        const OF_THE_LOAD: [&str; 20] = [
            "about",
            "from",
            "to",
            "do",
            "access",
            "test",
            "zipf",
            "distribution",
            "start",
            "file",
            "record",
            "request",
            "ahead",
            "outstanding",
            "rate",
            "arrivals",
            "workers",
            "cores",
            "measured",
            "connections",
        ];
        let of_the_host: Vec<&str> = super::OF_THE_HOST.iter().map(|k| k.0).collect();
        for table in [crate::scenario::keys::IO, crate::scenario::keys::TRANSACT] {
            for key in table {
                let sides = [OF_THE_LOAD.contains(&key.name), of_the_host.contains(&key.name)];
                assert!(sides[0] != sides[1], "{} is on {sides:?}", key.name);
            }
        }
    }

    /// What a load without a word of its host has, as it would be written: what the platform's flow says of it.
    #[test]
    fn a_load_has_all_that_its_host_says() {
        let laid = |theirs: &str, own: &str| {
            let table = |text: &str| {
                let mut d = Diagnostics::default();
                let source = d.add_source("t.toml", text.to_owned());
                crate::scenario::tree::parse(&mut d, source, Author::User).expect("a table")
            };
            let over = super::lay(table(&format!("[flows.own]\nfrom = \"node.*\"\n{theirs}")), table(own));
            over.get("flows").map(|n| format!("{:?}", n.value)).unwrap_or_default()
        };
        let all: String = super::OF_THE_HOST.iter().map(|k| format!("{} = \"said\"\n", k.0)).collect();
        let load = |to: &str, more: &str| {
            laid(
                &format!("to = [\"d.*\", \"e\"]\ndo = \"io\"\n{all}"),
                &format!("[flows.x]\nfrom = \"node.1\"\nto = \"{to}\"\ndo = \"io\"\n{more}"),
            )
        };
        let has = |text: &str, key: &str| text.contains(&format!("({key:?}, "));
        for (key, of) in super::OF_THE_HOST {
            assert!(has(&load("d.3", ""), key) && has(&load("e", ""), key), "{key}");
            let queues = matches!(of, super::Of::Queues | super::Of::Target);
            assert_eq!(has(&load("f", ""), key), !queues, "{key} at a target of another kind");
        }
        let own = load("e", "host_software = \"libaio\"");
        assert!(own.contains("libaio") && !has(&own, "completions") && has(&own, "host_processor"), "{own}");
    }

    #[test]
    fn a_platform_below_itself_is_told() {
        let wrong = scenario("platform = \"itself\"").expect_err("endless");
        assert!(wrong.contains("more than 8 platforms"), "{wrong}");
    }
}
