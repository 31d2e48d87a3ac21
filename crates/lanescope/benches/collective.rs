//! How long answers about collectives of GPUs take: 128 and 8 nodes of eight, with NICs of their own and shared ones,
//! all-reduce over the whole ladder of nccl-tests in closed form (goal: 100 ms each), and eight nodes, 64 MiB, packet
//! by packet (goal: 60 s), of CPU time on one core.
//!
//! `cargo bench --bench collective` measures both.

mod machine;

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::gpu::collective;
use lanescope::plan::gpu::GpuCluster;
use lanescope::plan::gpu::collective::Collective;
use lanescope::scenario::Included;
use lanescope::scenario::keys::{CollectiveAlgorithm, CollectiveProtocol};
use lanescope::scenario::tree::Author;
use lanescope::sim::gpu::CollectiveRun;
use machine::{median, name, pin, timed};

const CLUSTER: &str = "kind = \"gpu-cluster\"\nnodes = 128\nnode = { gpus = 8, nvlink = \"4\", nics = 8, \
    infiniband = \"ndr 4x\" }\n";
/// Answers of which the middle is shown.
const ROUNDS: usize = 11;

fn main() {
    // `cargo test --benches` comes without it, and wants no figures.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let core = if pin() { "on core 1" } else { "on any core" };
    println!("{}; CPU time {core}\n", name());
    let sizes: Vec<u64> = (3..=34).map(|k| 1 << k).collect();
    for (nodes, nics) in [(128, 8), (128, 4), (128, 1), (8, 8), (8, 1)] {
        let sets = [format!("nodes={nodes}"), format!("node.nics={nics}")];
        let ladder = || {
            let clusters = corners(&sets);
            collective(&clusters, Collective::AllReduce, &sizes).expect("an answer")
        };
        let took: Vec<f64> = (0..ROUNDS).map(|_| timed(|| drop(ladder())).1).collect();
        let what = format!("{nodes} nodes of 8 GPUs, {nics} NICs, 8 B to 16 GiB");
        println!("{what:<40}{:>9.1} ms   goal {:>6} ms", median(&took) * 1e3, 100);
    }
    // `-- estimate` measures no packets.
    if std::env::args().any(|a| a == "estimate") {
        return;
    }
    let nodes = corners(&["nodes=8".to_owned()]);
    let protocol = CollectiveProtocol::Simple;
    for how in [CollectiveAlgorithm::Ring, CollectiveAlgorithm::NvlsTree] {
        let (packets, took) = timed(|| {
            let run = CollectiveRun::new(&nodes[0], Collective::AllReduce, how, protocol, 64 << 20);
            let mut run = run.expect("it can be simulated");
            while !run.advance(1 << 20).expect("no deadlock") {}
            run.result().packets
        });
        let what = format!("64 GPUs, 64 MiB, {}", how.word());
        println!("{what:<40}{took:>9.2} s    goal {:>6} s    {:.1} million packets", 60, packets as f64 / 1e6);
    }
}

fn corners(sets: &[String]) -> Vec<GpuCluster> {
    let text = Included { name: "cluster.toml".into(), text: CLUSTER.into(), author: Author::User };
    GpuCluster::corners(&mut Diagnostics::default(), text, sets).expect("a cluster")
}
