//! Clusters in a run: channel adapters over InfiniBand and Ethernet, against hand-worked moments, the estimate, and the
//! laws that every run keeps.

mod agree;
mod by_hand;
mod calculator;
use crate::common;
mod costs;
mod fabrics;
mod flow_level;
mod laws;
mod ledger;
mod random_clusters;
mod roce;
mod rows;
mod slots;
mod ways;

use crate::common::planned;
use lanescope::plan::Plan;
use lanescope::result::{Ending, SimulatedLink, Simulation};

/// Nothing in an adapter takes time.
const BARE: &str = "work_time = \"0 ns\"\nsend_latency = \"0 ns\"\nreceive_latency = \"0 ns\"\n";
/// Nothing but messages as they are: no library, no time of processors.
const VERBS: &str =
    "do = \"mpi\"\ninterface = \"verbs\"\nsend_time = \"0 ns\"\nreceive_time = \"0 ns\"\nheader_bytes = \"0 B\"\n";

/// One message from the first rank to the second.
fn one(size: &str) -> String {
    format!("{VERBS}program = \"if rank == 0 {{ send {size} to 1 }} else {{ recv from 0 }}\"\n")
}

/// A random cluster with another program.
fn with_program(text: &str, program: &str) -> String {
    let (cluster, _) = text.split_once("program =").expect("a program");
    format!("{cluster}program = \"{program}\"\n")
}

/// One message at a time between the first two ranks, to and fro.
fn to_and_fro(size: &str) -> String {
    format!(
        "repeat 3 {{ if rank == 0 {{ send {size} to 1; recv from 1 }} else {{ if rank == 1 {{ \
        recv from 0; send {size} to 0 }} }} }}"
    )
}

/// Simulates a plan to its end, so many events at a time, and checks the laws that every run of a cluster keeps.
fn simulate_by(plan: &Plan, events: u64) -> Simulation {
    let s = common::simulate_by(plan, 1, events);
    check(plan, &s);
    s
}

fn simulate(text: &str, sets: &[&str]) -> Simulation {
    simulate_by(&planned(text, sets), u64::MAX)
}

/// Every slot is accounted for, every byte came, and messages in flight are those of Little's law.
fn check(plan: &Plan, s: &Simulation) {
    assert_eq!(s.ending, Ending::Finished);
    let buses = plan.buses.buses.len();
    let first_bus = s.links.len() - 2 * plan.cluster.links.len() - buses;
    for (i, link) in s.links.iter().enumerate() {
        // A packet that ends behind the last delivery is booked whole; a bus that rests books its idle clocks when it
        // wakes.
        let per_slot = if (first_bus..first_bus + buses).contains(&i) {
            1.0 / plan.buses.buses[i - first_bus].speed.typical.hertz()
        } else {
            8.0 / link.coded
        };
        let (whole, off) = (s.window / per_slot, 4500.0);
        let total = link.slots.total() as f64;
        assert!((total - whole).abs() <= off, "{} toward {}: {total} slots of {whole}", link.name, link.to);
    }
    // What adapters have sent has come to adapters.
    if plan.network.streams.is_empty() {
        let is_adapter = |name: &str| {
            plan.cluster.adapters.iter().any(|a| name == a.name || name.starts_with(&format!("{}.port.", a.name)))
        };
        let on_fabric = |l: &&SimulatedLink| {
            plan.cluster.links.iter().any(|c| c.name == l.name) || plan.network.links.iter().any(|e| e.name == l.name)
        };
        let payload = |end: fn(&SimulatedLink) -> &String| -> u64 {
            s.links.iter().filter(on_fabric).filter(|l| is_adapter(end(l))).map(|l| l.slots.payload).sum()
        };
        assert_eq!(payload(|l| &l.from), payload(|l| &l.to), "nothing is lost or doubled");
    }
    for (f, job) in s.flows[s.flows.len() - plan.cluster.jobs.len()..].iter().zip(&plan.cluster.jobs) {
        let program = f.program.as_ref().expect("a program");
        let bytes: f64 = f.each.iter().sum::<f64>() * s.window / 8.0;
        // Messages between ranks of one node cross no adapter, and those of a library have headers.
        if job.keys.each.typical.get() == 1 {
            assert!(bytes.round() >= program.bytes as f64, "{bytes} of {} B", program.bytes);
        }
        assert!((f.in_flight - f.little).abs() <= 1e-6 * f.little, "all messages begin and end in the window");
        for a in &program.accounts {
            assert!(a.computing + a.overhead + a.copying + a.waiting <= s.window * (1.0 + 1e-9));
        }
    }
}

/// The mean latency of a program's messages, fs; exact where there is one.
fn latency(s: &Simulation) -> u64 {
    (s.flows[s.flows.len() - 1].latency.mean * 1e15).round() as u64
}

/// One direction of a link.
fn wire<'a>(s: &'a Simulation, link: &str, to: &str) -> &'a SimulatedLink {
    s.links.iter().find(|l| l.name == link && l.to == to).expect("the link is there")
}
