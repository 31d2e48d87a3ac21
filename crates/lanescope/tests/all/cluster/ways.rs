//! Which of several equal ways the packets of a program take: what is printed is what happens, in both methods.

use super::simulate_by;
use crate::common::choices::{Choices, runner};
use crate::common::{planned, run};
use lanescope::plan::Plan;
use lanescope::plan::ethernet::NodeId;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::collections::{BTreeSet, HashMap};

/// Payload of a packet, and so the size that every message is a multiple of.
const PACKET: u64 = 4096;

/// Leaves and spines, or a fat tree; each pair of ranks that is drawn sends messages of its own size, one by each of
/// its queue pairs.
fn grow(bytes: &[u8]) -> (String, HashMap<[u32; 2], u64>) {
    let mut c = Choices(bytes.iter());
    let (leaves, hosts) = (2 + c.below(3), 1 + c.below(3));
    let (rule, nodes, tables) = match c.below(4) {
        0 => ("fat_tree = { k = 4, host = \"nic\", switch = \"leaf\" }".to_owned(), 16, &["leaf"][..]),
        _ => {
            let spines = 1 + c.below(4);
            let rule =
                format!("leaf_spine = {{ leaves = {leaves}, spines = {spines}, hosts = {hosts}, host = \"nic\" }}");
            (rule, leaves * hosts, &["leaf", "spine"][..])
        }
    };
    let keys = format!(
        "is = \"ethernet-switch\"\nflow_control = \"pfc\"\necmp = \"{}\"\necmp_seed = {}\n",
        c.of(&["hash", "hash", "destination"]),
        c.below(256)
    );
    let mut text = "[parts.nic]\nis = \"channel-adapter\"\n".to_owned();
    tables.iter().for_each(|t| text += &format!("[parts.{t}]\n{keys}"));
    text += &format!("[links.net]\n{rule}\nethernet = \"100 Gb/s\"\nmtu = \"4200 B\"\n");
    let each = 1 + c.below(2);
    let ranks = nodes * each;
    let mut pairs = HashMap::new();
    let mut program = String::new();
    let connections = 1 + c.below(3);
    for n in 0..1 + c.below(24) as u64 {
        let pair = [c.below(ranks) as u32, c.below(ranks) as u32];
        if pair[0] as usize / each != pair[1] as usize / each && !pairs.contains_key(&pair) {
            let size = PACKET * (1 + n);
            pairs.insert(pair, size);
            let [from, to] = pair;
            let one =
                format!("if rank == {from} {{ isend {size} B to {to} }}\nif rank == {to} {{ irecv from {from} }}\n");
            program += &one.repeat(connections);
        }
    }
    text += &format!(
        "[flows.job]\ndo = \"mpi\"\nranks = [\"nic.*\"]\neach = {each}\n\
         connections = {connections}\ninterface = \"verbs\"\nprogram = \
            \"\"\"\n{program}waitall\n\"\"\"\n"
    );
    (text, pairs)
}

/// Payload that each wire must carry when every message goes the way that is printed.
fn expected(plan: &Plan, pairs: &HashMap<[u32; 2], u64>) -> HashMap<(String, String), u64> {
    let mut all = HashMap::new();
    for (pair, bytes) in pairs {
        let job = &plan.cluster.jobs[0];
        let printed = plan.cluster.route_text(&plan.network, job, *pair);
        for connection in 0..job.keys.connections.typical.get() {
            let text = plan.cluster.route_of(&plan.network, job, *pair, connection);
            assert!(printed.split("; ").any(|way| way == text), "{printed} without {text}");
            let names: Vec<&str> = text.split(" → ").collect();
            for ends in names.windows(2) {
                *all.entry((ends[0].to_owned(), ends[1].to_owned())).or_default() += bytes;
            }
        }
    }
    all
}

#[test]
fn packets_go_the_way_that_is_printed() {
    let result = runner(Config::default()).run(&vec(any::<u8>(), 8..80), |bytes| {
        let (text, pairs) = grow(&bytes);
        let plan = planned(&text, &[]);
        let (job, network) = (&plan.cluster.jobs[0], &plan.network);
        let found: BTreeSet<[u32; 2]> = job.job.connections(usize::MAX).0.into_iter().collect();
        let said = pairs.keys().copied().collect();
        let check = || {
            assert_eq!(found, said, "the pairs that plan prints");
            let hand = expected(&plan, &pairs);
            let bytes = |from: &str, to: &str| hand.get(&(from.to_owned(), to.to_owned())).copied().unwrap_or(0);
            let seen = simulate_by(&plan, u64::MAX);
            for l in &seen.links {
                assert_eq!(l.slots.payload, bytes(&l.from, &l.to), "{} toward {}", l.name, l.to);
            }
            let report = run(&text, &[]);
            let time = report.flows[0].programs[0].time;
            for l in &report.links {
                let (share, whole) = (l.payload.typical * time / 8.0, bytes(&l.from, &l.to) as f64);
                assert!((share - whole).abs() < 1.0, "{} toward {}: {share} of {whole} B estimated", l.name, l.to);
                // No wire carries more than it can.
                assert!(l.ledger.coded() - l.ledger.idle <= l.ledger.coded() * (1.0 + 1e-9));
                assert!((l.ledger.entries().iter().map(|e| e.1).sum::<f64>() / l.ledger.raw - 1.0).abs() < 1e-9);
            }
            assert!(!network.is_empty());
        };
        std::panic::catch_unwind(check).map_err(|_| TestCaseError::fail(format!("the ways differ:\n{text}")))
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}

/// Two leaves with two hosts each below so many spines.
fn fabric(spines: u32, seed: u32) -> Plan {
    let keys = format!("is = \"ethernet-switch\"\nflow_control = \"pfc\"\necmp_seed = {seed}\n");
    planned(
        &format!(
            "[parts.nic]\nis = \"channel-adapter\"\n[parts.leaf]\n{keys}[parts.spine]\n{keys}\
             [links.net]\nleaf_spine = {{ leaves = 2, spines = {spines}, hosts = 2, host = \"nic\" }}\nethernet = \"10 \
             Gb/s\"\n\
             [flows.job]\ndo = \"mpi\"\nranks = [\"nic.*\"]\neach = 64\ninterface = \"verbs\"\nprogram = \"barrier\"\n"
        ),
        &[],
    )
}

/// The spine that a pair of ranks meets.
fn spine(plan: &Plan, pair: [u32; 2]) -> u32 {
    let job = &plan.cluster.jobs[0];
    let station = |rank: u32| plan.cluster.endpoints[job.ranks[rank as usize] as usize].station.expect("a station");
    let wires = plan.network.along(pair.map(station), plan.cluster.way_of(&plan.network, job, pair, 0));
    let NodeId(node) = plan.network.arrives(wires[1]);
    node
}

/// Of n trials that succeed with chance p, so many lie within four and a half standard deviations: once in 150,000 they
/// do not.
fn likely(found: usize, n: usize, p: f64) {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    assert!((found as f64 - mean).abs() <= 4.5 * deviation, "{found} of {n}, {mean} expected");
}

#[test]
fn connections_collide_as_often_as_chance_has_it() {
    for spines in [2, 3, 4] {
        let plan = fabric(spines, 7);
        // Queue pairs: rank 0 … 63 on the first node of one leaf, 128 … 191 on the first of the other; two of one pair
        // of nodes meet by chance.
        let met = (0..64).filter(|i| spine(&plan, [*i, 128 + i]) == spine(&plan, [*i, 128 + (i + 1) % 64])).count();
        likely(met, 64, 1.0 / f64::from(spines));
        // The same two connections under other seeds.
        let seeds = 0..200;
        let met = seeds.filter(|s| {
            let plan = fabric(spines, *s);
            spine(&plan, [0, 128]) == spine(&plan, [64, 192])
        });
        likely(met.count(), 200, 1.0 / f64::from(spines));
    }
}

/// One connection keeps to one way, so its packets stay in order; another seed may take another, and `destination`
/// always takes the same.
#[test]
fn a_connection_keeps_its_way_and_a_seed_may_change_it() {
    let ways: BTreeSet<u32> = (0..32).map(|seed| spine(&fabric(4, seed), [0, 128])).collect();
    assert_eq!(ways.len(), 4, "of 32 seeds each way is taken by some");
    let case = |name: &str| std::fs::read_to_string(format!("{}/tests/cases/{name}.toml", env!("CARGO_MANIFEST_DIR")));
    for name in ["ecmp-collides", "ecmp-never"] {
        let text = case(name).expect("a case");
        let mut used = BTreeSet::new();
        for seed in 0..16 {
            let sets = [format!("parts.leaf.ecmp_seed={seed}"), format!("parts.spine.ecmp_seed={seed}")];
            let sets = sets.each_ref().map(String::as_str);
            let plan = planned(&text, &sets);
            let job = &plan.cluster.jobs[0];
            let (pairs, more) = job.job.connections(8);
            assert!(!more && pairs.len() == 2, "{pairs:?}");
            let together = spine(&plan, pairs[0]) == spine(&plan, pairs[1]);
            // Two connections from one leaf to another: on one spine they share its wires, else each has its own line
            // rate.
            let report = run(&text, &sets);
            let seen = simulate_by(&plan, u64::MAX);
            let program = seen.flows[0].program.as_ref().expect("a program");
            let alone = 4.0 * (1u64 << 20) as f64 * 8.0 / 100e9;
            for time in [report.flows[0].programs[0].time, program.time] {
                let slower = time > 1.7 * alone;
                assert_eq!(slower, together, "{name}, seed {seed}: {time} s, {alone} s alone");
            }
            used.insert(together);
        }
        assert_eq!(used.len(), 2, "{name}: some seeds collide, some do not");
    }
}
