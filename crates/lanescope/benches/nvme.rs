//! How long answers about NVMe drives take: I/Os of one drive per CPU second with every TLP on the wire, and 24 drives
//! behind two switches. The goals: 300,000 I/Os a CPU second, of 24 drives an estimate in 5 ms and a simulation to ±1 %
//! in 30 s.
//!
//! `cargo bench --bench nvme` measures them. With `MQSIM=FOLDER`, where MQSim (github.com/CMU-SAFARI/MQSim) was built
//! by its `make`, that simulator of SSDs runs the same load in turn: 4 KiB random reads of a preconditioned drive, 32
//! outstanding, its write cache off, its mapping table whole in memory. It sends a message for each transfer over PCIe,
//! no TLPs.

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
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
    let peer = std::env::var_os("MQSIM").map(|folder| Peer::new(folder.into()));
    let (mut rates, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (simulation, took) = timed(|| simulated(&one));
        rates.push(ios(&simulation) / took);
        theirs.extend(peer.as_ref().map(Peer::rate));
    }
    println!("{:<34}{:>10.0} I/Os a second   goal {:>8}", "one drive, 4 KiB reads", median(&rates), 300_000);
    if !theirs.is_empty() {
        let ratios: Vec<f64> = rates.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        println!(
            "{:<34}{:>10.0} I/Os a second   ratio {:>7.2}",
            "  MQSim, the same load",
            median(&theirs),
            median(&ratios)
        );
    }
    let (many, diagnostics) = planned(MANY);
    let estimates: Vec<f64> = (0..ROUNDS).map(|_| timed(|| drop(estimate(&many, &diagnostics))).1).collect();
    println!("{:<34}{:>10.2} ms              goal {:>5} ms", "24 drives, estimate", median(&estimates) * 1e3, 5);
    let (simulation, took) = timed(|| simulated(&many));
    println!("{:<34}{took:>10.2} s               goal {:>6} s", "24 drives, simulation to 1 %", 30);
    println!("{:<34}{:>10.0} I/Os a second   {:?}", "", ios(&simulation) / took, simulation.ending);
}

/// I/Os that were simulated: those of the window, and at the same rate those of the warm-up.
fn ios(simulation: &Simulation) -> f64 {
    let window = simulation.flows.iter().map(|f| f.operations).sum::<u64>() as f64;
    window * (1.0 + simulation.warmup / simulation.window)
}

/// MQSim, with the load of [`ONE`].
struct Peer {
    folder: PathBuf,
}

/// Requests of its two runs: the time of the shorter one, in which it makes its tables, is taken off the longer one's.
const REQUESTS: [u32; 2] = [1_000, 200_000];

impl Peer {
    fn new(folder: PathBuf) -> Peer {
        let device = std::fs::read_to_string(folder.join("ssdconfig.xml")).expect("a folder of MQSim");
        let device = device.replace("<Ideal_Mapping_Table>false", "<Ideal_Mapping_Table>true");
        std::fs::write(folder.join("lanescope-device.xml"), device).expect("a folder to write to");
        for requests in REQUESTS {
            let load = include_str!("peers/mqsim_reads.xml").replace("REQUESTS", &requests.to_string());
            std::fs::write(folder.join(format!("lanescope-{requests}.xml")), load).expect("a folder to write to");
        }
        Peer { folder }
    }

    /// I/Os a CPU second.
    fn rate(&self) -> f64 {
        let [short, long] = REQUESTS.map(|requests| {
            let before = children();
            let mut run = Command::new(self.folder.join("MQSim"));
            run.args(["-i", "lanescope-device.xml", "-w", &format!("lanescope-{requests}.xml")]);
            run.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
            assert!(run.status().expect("MQSim runs").success());
            children() - before
        });
        f64::from(REQUESTS[1] - REQUESTS[0]) / (long - short)
    }
}

/// CPU seconds of all programs that this one has started and that have ended: in ticks of 10 ms (proc(5): cutime).
fn children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let behind = stat.rsplit(')').next().unwrap_or_default();
    behind.split_whitespace().nth(13).and_then(|ticks| ticks.parse::<f64>().ok()).expect("cutime") / 100.0
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
