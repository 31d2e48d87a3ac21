//! Fabrics of several switches, large stars, and the same run in pieces.

use super::{dropped, frames, plan, planned, simulate, simulate_by};
use lanescope::result::{Ending, Simulation};

const FAT_TREE: &str = r#"
[parts.host]
is = "station"
[parts.switch]
is = "ethernet-switch"
latency = "0 ns"
ecmp = "destination"
[links.net]
fat_tree = { k = 8 }
ethernet = "10 Gb/s"
delay = "100 ns"
[flows.all]
from = "host.*"
to = "host.*"
pattern = "permutation"
do = "send"
size = "1482 B"
load = { share = "95 %" }
[run]
for = "1 ms"
warmup = "0 s"
"#;

#[test]
fn a_permutation_of_a_fat_tree_takes_just_its_way() {
    let s = simulate(FAT_TREE, &[]);
    let f = &s.flows[0];
    // Six hops of 1508 B at 0.8 ns, and 100 ns each.
    let way = 6.0 * (1508.0 * 0.8e-9 + 100e-9);
    assert!((f.latency.mean - way).abs() < 1e-12 && (f.max - way).abs() < 0.002 * way, "{}", f.latency.mean);
    assert_eq!(frames(f).dropped, 0);
    assert_eq!(s.ending, Ending::Length);
}

const RANDOM: [&str; 4] = [
    "links.net.fat_tree.k=4",
    "flows.all.pattern=random",
    "flows.all.load={ share = \"60 %\", burst = 10 }",
    "parts.switch.latency=300 ns",
];

/// Four leaves with three hosts each below two spines.
fn leaves(sets: &[&str], seed: u64) -> Simulation {
    let text = FAT_TREE
        .replace("[parts.switch]", "[parts.leaf]")
        .replace("fat_tree = { k = 8 }", "leaf_spine = { leaves = 4, spines = 2, hosts = 3 }");
    let keys = "is = \"ethernet-switch\"\nlatency = \"0 ns\"\necmp = \"destination\"\n";
    let text = text.replace("[links.net]", &format!("[parts.spine]\n{keys}[links.net]"));
    let (plan, d) = plan(&text, sets);
    // Nothing but what the test below is about.
    assert!(d.sorted().iter().all(|d| d.message.contains("deadlock")), "{d}");
    simulate_by(&plan.expect("a plan"), seed, u64::MAX)
}

/// Up and down without circles: loss-free flow control loses nothing, and never ends in a deadlock. But a switch that
/// pauses all its neighbours for all of its memory needs no circle: two full of frames for each other wait for each
/// other, and both are said.
#[test]
fn fabrics_under_flow_control_lose_nothing() {
    let mut deadlocks = 0;
    for (control, memory) in [("pause", "100 kB"), ("pfc", "100 kB"), ("credits", "100 kB")] {
        let (control, memory) = (format!("flow_control={control}"), format!("memory={memory}"));
        let of = |part: &str| [format!("parts.{part}.{control}"), format!("parts.{part}.{memory}")];
        let mut ends = |s: &Simulation| {
            assert_eq!(dropped(s), 0, "{control}");
            match &s.ending {
                Ending::Deadlock { circle } if control.ends_with("pause") => {
                    deadlocks += 1;
                    assert!(circle.len() >= 2, "{circle:?}");
                }
                ending => assert_eq!(*ending, Ending::Length, "{control}"),
            }
        };
        let (leaf, spine, switch) = (of("leaf"), of("spine"), of("switch"));
        for seed in 0..20 {
            let mut sets: Vec<&str> = leaf.iter().chain(&spine).map(String::as_str).collect();
            sets.extend(&RANDOM[1..3]);
            let s = leaves(&sets, seed);
            ends(&s);
            let sets: Vec<&str> = RANDOM.iter().copied().chain(switch.iter().map(String::as_str)).collect();
            let (plan, d) = plan(FAT_TREE, &sets);
            assert!(d.sorted().iter().all(|d| d.message.contains("deadlock")), "{d}");
            let s = simulate_by(&plan.expect("a plan"), seed, u64::MAX);
            ends(&s);
            assert!(s.links.iter().map(|l| l.slots.controls).sum::<u64>() > 10);
        }
    }
    println!("{deadlocks} of 40 runs with pauses end in a deadlock");
    assert!(deadlocks > 0);
}

/// Incast over several switches, saturating.
#[test]
fn an_incast_over_a_fat_tree_shares_the_last_link() {
    for control in ["pause", "pfc", "credits"] {
        let control = format!("parts.switch.flow_control={control}");
        let s = simulate(
            FAT_TREE,
            &[
                "links.net.fat_tree.k=4",
                "flows.all.pattern=pairs",
                "flows.all.to=host.0",
                "flows.all.load=saturate",
                &control,
                "run.for=5 ms",
            ],
        );
        assert_eq!((dropped(&s), &s.ending), (0, &Ending::Length), "{control}");
        let carried = s.flows[0].rate.mean / 10e9 * 1520.0 / 1482.0;
        println!("{control}: {carried} {:?}", s.flows[0].each);
        assert!(carried > 0.9, "{control}: {carried}");
        assert_eq!(s.flows[0].each.len(), 15);
        assert!(s.flows[0].each.iter().all(|r| *r > 0.0), "{control}: nobody starves");
    }
}

/// How much is done in a call changes nothing, whatever there is: pauses, marks, input queues, grants.
#[test]
fn pieces_of_any_size_give_the_same_run() {
    let kinds = [
        vec!["parts.switch.flow_control=pause", "parts.switch.memory=60 kB"],
        vec!["parts.switch.flow_control=pfc", "parts.switch.memory=60 kB", "parts.switch.forwarding=cut-through"],
        vec!["parts.switch.flow_control=credits", "parts.switch.memory=60 kB"],
        vec!["parts.switch.congestion_control=dcqcn", "parts.switch.memory=200 kB", "flows.all.load=saturate"],
        vec!["parts.switch.buffers=input", "parts.switch.memory=20 kB"],
        vec!["parts.switch.buffers=output", "parts.switch.memory=20 kB", "parts.switch.ecmp=hash"],
    ];
    for kind in kinds {
        let sets = [&RANDOM[..], &kind, &["run.for=150 us"]].concat();
        let plan = planned(FAT_TREE, &sets);
        let whole = simulate_by(&plan, 3, u64::MAX);
        for events in [1, 7, 1000] {
            let pieces = simulate_by(&plan, 3, events);
            // How often the kernel looked in vain is all that may depend on the pieces.
            assert!(Simulation { events: whole.events, ..pieces } == whole, "{kind:?}, {events} at a time");
        }
        let other = simulate_by(&plan, 4, u64::MAX);
        assert_ne!(other.fingerprint, whole.fingerprint, "{kind:?}");
    }
}

#[test]
fn two_thousand_stations_on_one_switch() {
    let star = FAT_TREE.replace("fat_tree = { k = 8 }", "star = { hosts = 2000 }").replace("1 ms", "200 us");
    for sets in [
        &["flows.all.pattern=random", "flows.all.load={ share = \"50 %\", burst = 5 }"][..],
        &["flows.all.pattern=random", "flows.all.load=saturate", "parts.switch.flow_control=pause"],
    ] {
        let s = simulate(&star, sets);
        assert_eq!((dropped(&s), &s.ending), (0, &Ending::Length));
        assert!(s.flows[0].operations > 50_000);
    }
    // PFC and an incast: everybody is paused.
    let sets =
        ["flows.all.pattern=pairs", "flows.all.to=host.0", "flows.all.load=saturate", "parts.switch.flow_control=pfc"];
    let s = simulate(&star, &sets);
    assert_eq!((dropped(&s), &s.ending), (0, &Ending::Length));
}
