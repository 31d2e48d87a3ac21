//! A scenario laid over its platform: parts and links are joined, and the load is that of whoever writes one.

use super::tree::{Node, Table, Value};

/// What an I/O costs the processor of its worker: it belongs to the host that a platform describes, whatever load is
/// put on it.
const COSTS: [&str; 2] = ["submit_time", "complete_time"];

/// Lays a scenario over its platform. Flows of the platform count only where the scenario has none; what I/Os cost its
/// hosts stays.
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

/// Gives a flow of I/Os what it does not say of its costs, and the platform's flow from the same host does.
fn costs(flow: &mut Table, theirs: &Table) {
    let word = |t: &Table, key: &str| match t.get(key).map(|n| &n.value) {
        Some(Value::Text(s)) => Some(s.clone()),
        _ => None,
    };
    let Some(from) = word(flow, "from").filter(|_| word(flow, "do").is_some_and(|w| w == "io")) else { return };
    // `node.3` is one of `node.*`.
    let same = |name: &str| name == from || name.strip_suffix('*').is_some_and(|group| from.starts_with(group));
    let tables = theirs.0.iter().filter_map(|(_, n)| match &n.value {
        Value::Table(t) => Some(t),
        _ => None,
    });
    let mut near =
        tables.filter(|t| word(t, "do").is_some_and(|w| w == "io") && word(t, "from").is_some_and(|f| same(&f)));
    let Some(near) = near.next() else { return };
    for key in COSTS {
        if let (None, Some(node)) = (flow.get(key), near.get(key)) {
            flow.0.push((key.to_owned(), node.clone()));
        }
    }
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

    #[test]
    fn a_platform_below_itself_is_told() {
        let wrong = scenario("platform = \"itself\"").expect_err("endless");
        assert!(wrong.contains("more than 8 platforms"), "{wrong}");
    }
}
