//! Ethernet, frame by frame, against hand-worked numbers, theory and the laws that every run keeps.

use lanescope::diagnostic::Diagnostics;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::result::{Ending, Simulation};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};

fn planned(text: &str, sets: &[&str]) -> Plan {
    let mut d = Diagnostics::default();
    let included = Included { name: "test".into(), text: text.to_owned(), author: Author::User };
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    lanescope::plan(&mut d, included, &sets, &Library).unwrap_or_else(|| panic!("{d}"))
}

fn simulate(text: &str, sets: &[&str]) -> Simulation {
    let plan = planned(text, sets);
    let mut run = Run::new(&plan, plan.stop.seed as u64, &mut Diagnostics::default()).expect("a run");
    while run.advance(u64::MAX) != Step::Done {}
    let s = run.snapshot();
    for link in &s.links {
        let whole = link.coded / 8.0 * s.window;
        assert!((link.slots.total() as f64 - whole).abs() <= 2e4, "{}: {} of {whole}", link.name, link.slots.total());
    }
    s
}

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
    println!("{:?} {} packets {} events", f, s.packets, s.events);
    // Six hops of 1508 B at 0.8 ns, and 100 ns each.
    let way = 6.0 * (1508.0 * 0.8e-9 + 100e-9);
    assert!((f.latency.mean - way).abs() < 1e-12 && (f.max - way).abs() < 0.002 * way, "{}", f.latency.mean);
    assert_eq!(f.frames.expect("frames").dropped, 0);
    assert_eq!(s.ending, Ending::Length);
}
