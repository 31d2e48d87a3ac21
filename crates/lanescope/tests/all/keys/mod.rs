//! Every key counts: for each key of the language there is a scenario in which changing it changes the answer of each
//! method, or that method's report says that it does not model it. `rows.txt` has a line for each; a key without one
//! fails the test.

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::result::{Gap, NotModelled};
use lanescope::scenario::keys::{Key, Role, TABLES};
use lanescope::scenario::tree::Author;
use lanescope::scenario::{Included, Resolver};
use lanescope::sim::{Run, Step};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const METHODS: [&str; 2] = ["estimate", "simulate"];

/// One line of `rows.txt`.
struct Row {
    table: String,
    scenario: String,
    path: String,
    key: String,
    /// A value, and which methods must refuse it.
    values: [(String, Refused); 2],
    /// What is set beside it.
    beside: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Refused {
    Never,
    Always,
    /// By the simulation, and by nobody else.
    Simulation,
}

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/all/keys").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn rows() -> Vec<Row> {
    let mut head: Option<[String; 3]> = None;
    let mut all = Vec::new();
    for line in file("rows.txt").lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some((table, rest)) = line.strip_prefix('[').and_then(|l| l.split_once("] ")) {
            let (scenario, path) = rest.split_once(' ').expect("a scenario and a path");
            head = Some([table, scenario, path].map(str::to_owned));
            continue;
        }
        let [table, scenario, path] = head.clone().expect("a line stands below its table");
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let (&[key, a, b], beside) = cells.split_first_chunk().expect("a key and two values");
        let value = |text: &str| match (text.strip_suffix(" refused"), text.strip_suffix(" unsimulated")) {
            (Some(value), _) => (value.to_owned(), Refused::Always),
            (_, Some(value)) => (value.to_owned(), Refused::Simulation),
            _ => (text.to_owned(), Refused::Never),
        };
        let of = |set: &str| match ["parts.", "links.", "flows.", "run."].iter().any(|s| set.starts_with(s)) {
            true => set.to_owned(),
            false => format!("{path}.{set}"),
        };
        let beside = beside.iter().flat_map(|b| b.split(" ; ")).map(|s| of(s.trim())).collect();
        all.push(Row { table, scenario, key: key.to_owned(), values: [value(a), value(b)], beside, path });
    }
    all
}

/// Texts of this folder.
struct Here;

impl Resolver for Here {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        match reference.strip_prefix("./") {
            Some(name) => Ok(Included { name: name.to_owned(), text: file(name), author: Author::User }),
            None => Library.resolve(reference, from),
        }
    }
    fn names(&self) -> Vec<String> {
        Library.names()
    }
}

/// What answers are made of: every number with its way there. Not in it are names, words about the question (what,
/// speed), where a run came from (seed, fingerprint, events), and what was measured.
fn numbers(of: &Value, way: &str, all: &mut BTreeMap<String, f64>) {
    const NOT: [&str; 12] = [
        "schema",
        "provenance",
        "upgrade",
        "measured",
        "warnings",
        "not_modelled",
        "notes",
        "seed",
        "events",
        "until",
        "simulation",
        "program",
    ];
    match of {
        Value::Number(n) => {
            all.insert(way.to_owned(), n.as_f64().unwrap_or(f64::NAN));
        }
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| numbers(v, &format!("{way}.{i}"), all)),
        Value::Object(map) => {
            map.iter()
                .filter(|(k, _)| !NOT.contains(&k.as_str()))
                .for_each(|(k, v)| numbers(v, &format!("{way}.{k}"), all));
        }
        _ => {}
    }
}

/// What a method says.
enum Answer {
    Numbers(BTreeMap<String, f64>, Vec<NotModelled>),
    Refusal(String),
}

fn plan(row: &Row, value: &str) -> Result<(Plan, Diagnostics), String> {
    let mut d = Diagnostics::default();
    let name = format!("{}.toml", row.scenario);
    let scenario = Included { text: file(&name), name, author: Author::User };
    // `$` stands for the value where several things must say the same.
    let mut sets: Vec<String> = row.beside.iter().map(|s| s.replace('$', value)).collect();
    sets.push(format!("{}.{}={value}", row.path, row.key));
    match lanescope::plan(&mut d, scenario, &sets, &Here) {
        Some(plan) => Ok((plan, d)),
        None => Err(d.to_string()),
    }
}

/// Simulations by what was simulated: of many rows one of the values is what stands in the scenario.
type Simulated = BTreeMap<String, BTreeMap<String, f64>>;

fn answer(row: &Row, value: &str, method: &str, before: Option<&mut Simulated>) -> Answer {
    let (plan, mut d) = match plan(row, value) {
        Ok(planned) => planned,
        Err(why) => return Answer::Refusal(why),
    };
    let mut all = BTreeMap::new();
    if method == "estimate" {
        let report = estimate(&plan, &d);
        numbers(&serde_json::to_value(&report).expect("JSON"), "", &mut all);
        return Answer::Numbers(all, report.not_modelled);
    }
    let what = format!("{} {:?} {}", plan.fingerprint, plan.limits, row.scenario);
    let Some(mut run) = Run::new(&plan, u64::from(plan.limits.seed), &mut d) else {
        return Answer::Refusal(d.to_string());
    };
    // What is not modelled depends on what a scenario states, and is known before it is run.
    if let Some(same) = before.as_ref().and_then(|b| b.get(&what)) {
        return Answer::Numbers(same.clone(), run.snapshot().not_modelled);
    }
    while run.advance(1 << 20) != Step::Done {}
    let seen = run.snapshot();
    numbers(&serde_json::to_value(&seen).expect("JSON"), "", &mut all);
    if let Some(before) = before {
        before.insert(what, all.clone());
    }
    Answer::Numbers(all, seen.not_modelled)
}

/// What is wrong about one line, for one method.
fn wrong(row: &Row, method: &str, before: Option<&mut Simulated>) -> Option<String> {
    let prints = [0, 1].map(|i| plan(row, &row.values[i].0).map(|(p, _)| p.fingerprint).ok());
    // Of values that share a fingerprint both are simulated: one is not to be taken for the other.
    let mut before = before.filter(|_| prints[0] != prints[1]);
    let answers = [0, 1].map(|i| answer(row, &row.values[i].0, method, before.as_deref_mut()));
    for ((value, refused), answer) in row.values.iter().zip(&answers) {
        let must = match refused {
            Refused::Never => false,
            Refused::Always => true,
            Refused::Simulation => method == "simulate",
        };
        match answer {
            Answer::Refusal(why) if !must => return Some(format!("{value} is refused: {why}")),
            Answer::Numbers(..) if must => return Some(format!("{value} is not refused")),
            _ => {}
        }
    }
    let [Answer::Numbers(a, said_a), Answer::Numbers(b, said_b)] = &answers else { return None };
    // Plans that give other answers have other fingerprints; how long they are simulated is not in these.
    if a != b && row.table != "run" && prints[0] == prints[1] {
        return Some("it changes the answer, and not the fingerprint of the plan".into());
    }
    let path = format!("{}.{}", row.path, row.key);
    let listed = [said_a, said_b].into_iter().flatten().any(|n| n.key == path && n.methods == [method]);
    match (a == b, listed) {
        (true, false) => Some("it changes nothing, and the report does not say so".into()),
        (false, true) => Some("the report says that it is not modelled, and it changes the answer".into()),
        _ => None,
    }
}

/// Holds all lines of some scenarios, both methods.
fn hold(scenarios: &[&str]) {
    hold_by(&METHODS, &[], scenarios);
}

/// The same by some methods, with something set beside.
fn hold_by(methods: &[&str], beside: &[&str], scenarios: &[&str]) {
    let (mut faults, mut before) = (Vec::new(), Simulated::new());
    for mut row in rows().into_iter().filter(|r| scenarios.contains(&r.scenario.as_str())) {
        row.beside.extend(beside.iter().map(|s| (*s).to_owned()));
        let row = &row;
        let only = TABLES.iter().find(|t| t.name == row.table).and_then(|t| t.only);
        for method in methods.iter().copied().filter(|m| only.is_none_or(|o| o == *m)) {
            if let Some(what) = wrong(row, method, Some(&mut before)) {
                faults.push(format!("[{}] {} in {}, {method}: {what}", row.table, row.key, row.scenario));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} keys do not count:\n{}\nmodel them, give them a scenario in tests/all/keys/rows.txt where they matter, or \
            list them in \
         estimate/not_modelled.rs or sim/not_modelled.rs",
        faults.len(),
        faults.join("\n")
    );
}

/// The scenarios of the tests below: together they are all.
const PCIE: [&str; 5] = ["pcie", "cross", "free", "functions", "sockets"];
const ETHERNET: [&str; 5] = ["ethernet", "leaves", "pair", "sizes", "tree"];
const STORAGE: [&str; 8] = ["bus", "storage", "disk", "transact", "nvme", "nvme-array", "nvme-fabrics", "nvme-raid"];
const CLUSTER: [&str; 4] = ["cluster", "lanes", "program", "trace"];

#[test]
fn every_key_of_pcie_counts() {
    hold(&PCIE);
}

#[test]
fn every_key_of_ethernet_counts() {
    hold(&ETHERNET);
}

#[test]
fn every_key_of_storage_and_buses_counts() {
    hold(&STORAGE);
}

#[test]
fn every_key_of_clusters_counts() {
    hold(&CLUSTER);
}

/// At flow level, too.
#[test]
fn every_key_of_clusters_counts_at_flow_level() {
    hold_by(&["simulate"], &["run.level=flow"], &CLUSTER);
}

/// The keys of the tables that a value may be.
fn inner(schema: &Value, path: &str, all: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, value) in properties {
            let path = format!("{path}.{key}");
            inner(value, &path, all);
            all.insert(path);
        }
    }
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|k| schema.get(k)).filter_map(Value::as_array);
    lists.flatten().chain(schema.get("items")).for_each(|s| inner(s, path, all));
}

/// All keys of a key: itself, and those of its value.
fn whole(key: &Key) -> BTreeSet<String> {
    let mut all = BTreeSet::from([key.name.to_owned()]);
    inner(&(key.schema)(), key.name, &mut all);
    all
}

#[test]
fn every_key_of_the_language_has_a_scenario() {
    let rows = rows();
    let has = |table: &str, key: &str| rows.iter().any(|r| r.table == table && r.key == key);
    let mut missing = Vec::new();
    for table in TABLES.iter() {
        for key in table.keys.iter().filter(|k| k.role == Role::Model).flat_map(whole) {
            if !has(table.name, &key) {
                missing.push(format!("[{}] {key}", table.name));
            }
        }
    }
    assert!(missing.is_empty(), "without a line in tests/all/keys/rows.txt:\n{}", missing.join("\n"));
    let exists =
        |r: &&Row| TABLES.iter().any(|t| t.name == r.table && t.keys.iter().flat_map(whole).any(|k| k == r.key));
    let unknown: Vec<_> = rows.iter().filter(|r| !exists(r)).map(|r| format!("[{}] {}", r.table, r.key)).collect();
    assert!(unknown.is_empty(), "no keys: {unknown:?}");
    let held = [&PCIE[..], &ETHERNET, &STORAGE, &CLUSTER].concat();
    assert!(rows.iter().all(|r| held.contains(&r.scenario.as_str())), "a scenario that no test looks at");
}

#[test]
fn what_is_not_modelled_is_a_key_with_a_scenario() {
    let rows = rows();
    let all = [
        ("estimate", lanescope::estimate::NOT_MODELLED),
        ("simulate", lanescope::sim::NOT_MODELLED),
        ("simulate at flow level", lanescope::sim::NOT_AT_FLOW_LEVEL),
    ];
    for (method, gaps) in all {
        let each = gaps.iter().flat_map(|g| g.keys.iter().map(move |key| (g, key)));
        for (Gap { table, mechanism, why, .. }, key) in each {
            let here = rows.iter().any(|r| r.table == *table && r.key == *key);
            assert!(here, "{method} does not model [{table}] {key}: it has no line in rows.txt");
            assert!(mechanism.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{mechanism}");
            assert!(!why.is_empty() && !why.ends_with('.'), "{why}");
            assert_eq!(
                gaps.iter().filter(|g| g.table == *table && g.keys.contains(key)).count(),
                1,
                "[{table}] {key} twice"
            );
        }
    }
}

/// Keys that only tell people something change no number, and are none that a report would have to list.
#[test]
fn what_tells_changes_nothing() {
    let flows = [("pcie", "flows.w"), ("pair", "flows.f"), ("bus", "flows.w"), ("storage", "flows.io")];
    let told = [("about", ["\"a\"", "\"b\""]), ("measured", ["\"1 Gb/s\"", "\"2 Gb/s\""])];
    let parts = [("storage", "parts.ssd"), ("nvme", "parts.drive")];
    let sheet = [
        ("sheet_random_read", ["1000", "2000000"]),
        ("sheet_random_write", ["1000", "2000000"]),
        ("sheet_sequential_read", ["\"1 GB/s\"", "\"9 GB/s\""]),
        ("sheet_sequential_write", ["\"1 GB/s\"", "\"9 GB/s\""]),
        ("sheet_read_latency", ["\"9 us\"", "\"90 us\""]),
        ("sheet_write_latency", ["\"9 us\"", "\"90 us\""]),
    ];
    let flows = flows.into_iter().flat_map(|place| told.map(|key| (place, key)));
    let parts = parts.into_iter().flat_map(|place| sheet.map(|key| (place, key)));
    for ((scenario, path), (key, values)) in flows.chain(parts) {
        let values = values.map(|v| (v.to_owned(), Refused::Never));
        let [scenario, path, key] = [scenario, path, key].map(str::to_owned);
        let row = Row { table: String::new(), scenario, path, key, values, beside: Vec::new() };
        for method in METHODS {
            let said = wrong(&row, method, None);
            assert!(said.is_some_and(|s| s.starts_with("it changes nothing")), "{} {}", row.path, row.key);
        }
    }
}

/// The schema of reports says which version it is: whoever changes a field, its meaning or its words gives it a new
/// number.
#[test]
fn the_schema_of_reports_has_a_number() {
    let now = serde_json::json!({
        "version": lanescope::result::SCHEMA, "schema": lanescope::result::json_schema(),
    });
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/all/keys/report-schema.json");
    let before: Value =
        std::fs::read_to_string(&path).ok().and_then(|s| serde_json::from_str(&s).ok()).unwrap_or_default();
    if before == now {
        return;
    }
    assert!(
        before["version"] != now["version"],
        "the schema of reports has changed, and its number has not: raise SCHEMA in result/mod.rs, say in CHANGELOG.md \
            what changed, then \
         LANESCOPE_SCHEMA=write cargo test keys::schema"
    );
    if std::env::var("LANESCOPE_SCHEMA").is_ok_and(|v| v == "write") {
        let text = serde_json::to_string_pretty(&now).expect("JSON") + "\n";
        std::fs::write(&path, text).expect("the schema is written");
        return;
    }
    panic!("the schema of reports has a new number: LANESCOPE_SCHEMA=write cargo test keys::schema");
}

/// A fuzzer finds a key by chance only if its dictionary has it: every key, and every word that a key takes.
#[test]
fn the_fuzzers_dictionary_has_every_word() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/scenario.dict");
    let text = std::fs::read_to_string(&path).expect("the dictionary");
    let (head, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.starts_with('#'));
    let mut words: BTreeSet<String> = lines.into_iter().map(str::to_owned).collect();
    let before = words.len();
    for key in TABLES.iter().flat_map(|t| t.keys) {
        words.insert(format!("\"{}\"", key.name));
        let taken = (key.schema)();
        let taken = taken.get("enum").and_then(|e| e.as_array()).into_iter().flatten();
        words.extend(taken.filter_map(|w| w.as_str()).map(|w| format!("\"{w}\"")));
    }
    if words.len() > before && std::env::var("LANESCOPE_SCHEMA").is_ok_and(|v| v == "write") {
        let all: Vec<String> = head.into_iter().map(str::to_owned).chain(words).collect();
        std::fs::write(&path, all.join("\n") + "\n").expect("the dictionary is written");
        return;
    }
    let missing = words.len() - before;
    assert!(missing == 0, "{missing} words are not in fuzz/scenario.dict: LANESCOPE_SCHEMA=write cargo test keys::");
}
