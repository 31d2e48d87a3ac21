//! How long answers about today's host take: two sockets, 8 GPUs, 8 NICs and 24 drives behind switches, all GPUs
//! writing to all. The goals: an estimate in 5 ms, and a simulation to ±1 % in 20 s, of CPU time on one core.
//!
//! `cargo bench --bench host` measures both.

mod machine;

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::result::Ending;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use machine::{median, name, pin, timed};

const HOST: &str = include_str!("host.toml");

/// Answers of which the middle is shown.
const ROUNDS: usize = 101;

fn main() {
    // `cargo test --benches` comes without it, and wants no figures.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let core = if pin() { "on core 1" } else { "on any core" };
    println!("{}; CPU time {core}\n", name());
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "host".into(), text: HOST.into(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library).expect("a plan");
    let estimates: Vec<f64> = (0..ROUNDS).map(|_| timed(|| drop(estimate(&plan, &diagnostics))).1).collect();
    println!("{:<28}{:>9.2} ms   goal {:>6} ms", "estimate", median(&estimates) * 1e3, 5);
    let (ending, took) = timed(|| simulated(&plan));
    println!("{:<28}{took:>9.2} s    goal {:>6} s    {ending:?}", "simulation to 1 %", 20);
}

fn simulated(plan: &Plan) -> Ending {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    while run.advance(1 << 20) != Step::Done {}
    run.snapshot().ending
}
