//! How long answers about NVMe drives take: I/Os of one drive per CPU second with every TLP on the wire, and 24 drives
//! behind two switches. The goals: 300,000 I/Os a CPU second, of 24 drives an estimate in 5 ms and a simulation to ±1 %
//! in 30 s.
//!
//! `cargo bench --bench nvme` measures them.

mod machine;

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::result::Simulation;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use machine::{median, name, pin, timed};

/// A drive on Gen4 x4 that is read at random, 32 outstanding.
const ONE: &str = r#"
[parts]
host = { is = "root-complex", max_payload = "256 B" }
drive = { use = "example/nvme-drive", max_payload = "256 B" }
[links]
slot = { between = ["host", "drive"], pcie = "gen4 x4", mps = "256 B" }
[flows.read]
from = "host"
to = "drive"
do = "io"
access = { size = "4 KiB", read = "100 %", random = "100 %", align = "4 KiB" }
outstanding = 32
host_software = "io_uring"
[run]
for = "100 ms"
"#;

/// 24 drives, a worker for each with 32 outstanding.
const MANY: &str = r#"
platform = "example/nvme-server"
[flows.read]
from = "host"
to = "drive.*"
do = "io"
access = { size = "4 KiB", read = "100 %", random = "100 %", align = "4 KiB" }
outstanding = 32
workers = 1
host_software = "spdk"
[run]
until = "±1 %"
"#;

/// Answers of which the middle is shown.
const ROUNDS: usize = 9;

fn main() {
    // `cargo test --benches` comes without it, and wants no figures.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let core = if pin() { "on core 1" } else { "on any core" };
    println!("{}; CPU time {core}\n", name());
    let (one, _) = planned(ONE);
    let rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (simulation, took) = timed(|| simulated(&one));
            simulation.flows.iter().map(|f| f.operations).sum::<u64>() as f64 / took
        })
        .collect();
    println!("{:<34}{:>10.0} I/Os a second   goal {:>8}", "one drive, 4 KiB reads", median(&rates), 300_000);
    let (many, diagnostics) = planned(MANY);
    let estimates: Vec<f64> = (0..ROUNDS).map(|_| timed(|| drop(estimate(&many, &diagnostics))).1).collect();
    println!("{:<34}{:>10.2} ms              goal {:>5} ms", "24 drives, estimate", median(&estimates) * 1e3, 5);
    let (simulation, took) = timed(|| simulated(&many));
    let ios = simulation.flows.iter().map(|f| f.operations).sum::<u64>() as f64;
    println!("{:<34}{took:>10.2} s               goal {:>6} s", "24 drives, simulation to 1 %", 30);
    println!("{:<34}{:>10.0} I/Os a second   {:?}", "", ios / took, simulation.ending);
}

fn planned(text: &str) -> (Plan, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "bench".into(), text: text.into(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library);
    (plan.unwrap_or_else(|| panic!("{diagnostics}")), diagnostics)
}

fn simulated(plan: &Plan) -> Simulation {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    while run.advance(1 << 20) != Step::Done {}
    run.snapshot()
}
