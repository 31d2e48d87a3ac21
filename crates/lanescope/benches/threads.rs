//! One run on several threads: how many times as fast as on one, in time that passes, in turn.
//!
//! Fat trees of 128 and 1,024 stations as in `simulate.rs`, at 10 and at 100 Gb/s, FIFOs and PFC. The fingerprints must
//! be the same. `cargo bench --bench threads`.

mod machine;

use lanescope::diagnostic::Diagnostics;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use machine::median;
use std::time::Instant;

const ROUNDS: usize = 7;
/// What two threads are to be worth on two cores, of 1,024 stations.
const GOAL: f64 = 1.6;

const FT8: &str = include_str!("ft8.toml");

fn plan(k: u32, rate: u32, control: &str, length: &str) -> Plan {
    let text = FT8.replace("\"none\"", &format!("\"{control}\"")).replace("k = 8", &format!("k = {k}"));
    let text = text.replace("10 Gb/s", &format!("{rate} Gb/s")).replace("1 ms", length);
    let included = Included { name: "bench".into(), text, author: Author::User };
    lanescope::plan(&mut Diagnostics::default(), included, &[], &Library).expect("a plan")
}

/// Seconds, threads, and what came out.
fn measure(plan: &Plan, threads: usize) -> (f64, usize, String) {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("a run");
    run.use_threads(threads);
    let begin = Instant::now();
    while run.advance(1 << 16) != Step::Done {}
    let time = begin.elapsed().as_secs_f64();
    let done = run.snapshot();
    (time, done.threads, done.fingerprint)
}

fn main() {
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    println!("{}, {cores} cores; medians of {ROUNDS} rounds, one thread and {cores} in turn\n", machine::name());
    println!("{:<24} {:>10} {:>10} {:>9} {:>7} {:>6}", "", "1, ms", "all, ms", "threads", "times", "goal");
    for (name, k, rate, control, length) in [
        ("FT8, 10 Gb/s, FIFOs", 8, 10, "none", "4 ms"),
        ("FT16, 10 Gb/s, FIFOs", 16, 10, "none", "1 ms"),
        ("FT16, 10 Gb/s, PFC", 16, 10, "pfc", "1 ms"),
        ("FT16, 100 Gb/s, FIFOs", 16, 100, "none", "100 us"),
        ("FT16, 100 Gb/s, PFC", 16, 100, "pfc", "100 us"),
    ] {
        let plan = plan(k, rate, control, length);
        let (mut one, mut all, mut used) = (Vec::new(), Vec::new(), 1);
        for _ in 0..ROUNDS {
            let (alone, together) = (measure(&plan, 1), measure(&plan, cores));
            assert_eq!(alone.2, together.2, "{name}: another outcome");
            one.push(alone.0);
            all.push(together.0);
            used = together.1;
        }
        let (one, all) = (median(&one), median(&all));
        let (times, goal) = (one / all, if k > 8 { format!("{GOAL}") } else { "-".into() });
        println!("{name:<24} {:>10.1} {:>10.1} {used:>9} {times:>7.2} {goal:>6}", one * 1e3, all * 1e3);
    }
}
