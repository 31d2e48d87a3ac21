//! Collectives of GPUs: laws on random clusters, results by hand, every key, and what goes wrong on purpose.

use crate::common::choices::runner;
use crate::common::everything;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::gpu::collective;
use lanescope::plan::gpu::GpuCluster;
use lanescope::plan::gpu::collective::{Collective, Move};
use lanescope::result::gpu::{CollectiveReport, SimulatedCollective};
use lanescope::scenario::Included;
use lanescope::scenario::keys::{
    COLLECTIVES, CollectiveAlgorithm as Algorithm, CollectiveProtocol as Protocol, GPU_CLUSTER, GPU_NETWORK, GPU_NODE,
};
use lanescope::scenario::tree::Author;
use lanescope::sim::gpu::CollectiveRun;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError};
use std::collections::BTreeMap;

const TWO: &str = "kind = \"gpu-cluster\"\nnodes = 2\n[node]\ngpus = 8\nnvlink = \"4\"\nnics = 8\n\
    infiniband = \"ndr 4x\"\n[network]\n[collectives]\n";

fn corners(text: &str, sets: &[&str]) -> Result<Vec<GpuCluster>, String> {
    let mut d = Diagnostics::default();
    let text = Included { name: "cluster.toml".into(), text: text.to_owned(), author: Author::User };
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    GpuCluster::corners(&mut d, text, &sets).ok_or_else(|| d.to_string())
}

fn estimated(text: &str, sets: &[&str], what: Collective, sizes: &[u64]) -> Result<CollectiveReport, String> {
    let corners = corners(text, sets)?;
    collective(&corners, what, sizes)
}

fn simulated(
    c: &GpuCluster,
    what: Collective,
    how: Algorithm,
    protocol: Protocol,
    bytes: u64,
    piece: u64,
) -> Result<SimulatedCollective, String> {
    let mut run = CollectiveRun::new(c, what, how, protocol, bytes)?;
    while !run.advance(piece)? {}
    Ok(run.result())
}

/// A random cluster, collective, algorithm, protocol and size.
fn question() -> impl Strategy<Value = (Vec<String>, Collective, Algorithm, Protocol, u64)> {
    let shape = (
        select(vec![1_u32, 2, 3, 4]),
        select(vec![1_u32, 2, 4, 8]),
        select(vec![1_u32, 2, 4, 8]),
        select(vec!["3", "4", "5"]),
        select(vec!["edr 4x", "hdr 4x", "ndr 4x"]),
        select(vec![None, Some("450 GB/s"), Some("20 GB/s")]),
    );
    let library = (
        select(vec![1_u32, 2, 4, 8, 16, 24]),
        select(vec!["64 KiB", "512 KiB", "1 MiB"]),
        select(vec![1_u32, 2, 4]),
        select(vec!["0 ns", "5 us"]),
    );
    let asked = (
        select(Collective::ALL.to_vec()),
        select(Algorithm::ALL),
        select(Protocol::ALL),
        select(vec![8_u64, 1 << 10, 100_000, 1 << 20, 3 << 20, 1 << 24]),
    );
    (shape, library, asked).prop_map(|((nodes, gpus, nics, nvlink, rate, c2c), (ch, chunk, slices, latency), asked)| {
        let mut sets = vec![
            format!("nodes={nodes}"),
            format!("node.gpus={gpus}"),
            format!("node.nics={nics}"),
            format!("node.nvlink={nvlink:?}"),
            format!("node.infiniband={rate}"),
            format!("collectives.channels={ch}"),
            format!("collectives.chunk={chunk}"),
            format!("collectives.slices={slices}"),
            format!("network.latency={latency}"),
        ];
        sets.extend(c2c.into_iter().flat_map(|r| ["node.c2c=\"1\"".into(), format!("node.c2c_rate={r}")]));
        (sets, asked.0, asked.1, asked.2, asked.3)
    })
}

/// No run beats its bound, byte times of the busiest element add up to all of them, and a run in pieces is the same.
#[test]
fn no_collective_beats_its_bound() {
    runner(Config::default())
        .run(&question(), |(sets, what, how, protocol, bytes)| {
            let mut sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let (a, p) = (how.word(), protocol.word());
            let own = [format!("collectives.algorithm={a}"), format!("collectives.protocol={p}")];
            sets.extend(own.iter().map(String::as_str));
            let cluster = corners(TWO, &sets).map_err(TestCaseError::fail)?;
            let Ok(report) = collective(&cluster[..1], what, &[bytes]) else {
                // What the estimate refuses the simulation refuses too.
                let refused = cluster[0].ranks() < 2 || cluster[0].refused(what, how, protocol).is_some();
                prop_assert!(refused, "{a} {p}");
                return Ok(());
            };
            let row = &report.rows[0];
            let run = simulated(&cluster[0], what, how, protocol, bytes, u64::MAX).map_err(TestCaseError::fail)?;
            prop_assert!(run.busbw <= row.bound * (1.0 + 1e-6), "{} above {}", run.busbw, row.bound);
            prop_assert!(row.busbw <= row.bound * (1.0 + 1e-9), "{} above {}", row.busbw, row.bound);
            prop_assert!((run.ledger.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", run.ledger);
            prop_assert!(run.ledger.iter().all(|part| *part >= -1e-9), "{:?}", run.ledger);
            let parts = row.parts.launch + row.parts.hops + row.parts.filling + row.parts.busy;
            prop_assert!((parts / row.time - 1.0).abs() < 1e-9, "{parts} of {}", row.time);
            let again = simulated(&cluster[0], what, how, protocol, bytes, 777).map_err(TestCaseError::fail)?;
            prop_assert_eq!(run.time.to_bits(), again.time.to_bits());
            Ok(())
        })
        .expect("the law");
}

/// Everybody has sent what the algorithm says: messages of a schedule add up to the traffic of the estimate, for each
/// kind of thread block.
#[test]
fn schedules_move_what_the_estimate_counts() {
    runner(Config::default())
        .run(&question(), |(sets, what, how, protocol, bytes)| {
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let c = &corners(TWO, &sets).map_err(TestCaseError::fail)?[0];
            if c.ranks() < 2 || c.refused(what, how, protocol).is_some() || bytes < 1 << 20 {
                return Ok(());
            }
            let mut counted = [[0.0_f64; 4]; 3];
            let kind = |m: Move| match m {
                Move::Send(..) => 0,
                Move::Reduce(_) => 1,
                Move::Multicast(_) => 2,
            };
            let c = c.with_channels(c.used(bytes));
            let told = &mut |m: Move, (_, job): (u32, u32), share: f64, _| {
                counted[kind(m)][job as usize] += share * bytes as f64;
            };
            c.traffic(what, how, told);
            if how == Algorithm::Direct && what == Collective::Alltoall {
                counted[0].iter_mut().for_each(|of_job| *of_job *= f64::from(c.nodes));
            }
            let mut sent = [[0.0_f64; 4]; 3];
            let schedule = c.schedule(what, how, bytes).map_err(TestCaseError::fail)?;
            let job = |block: u32| (block / (c.channels * c.ranks())) as usize;
            schedule.messages.iter().for_each(|m| sent[kind(m.what)][job(m.block)] += m.bytes as f64);
            let (sent, counted) = (sent.into_iter().flatten(), counted.into_iter().flatten());
            for (sent, counted) in sent.zip(counted) {
                // Blocks are rounded up to bytes.
                prop_assert!((sent - counted).abs() <= counted * 0.01 + 1e4, "{sent} of {counted}");
            }
            Ok(())
        })
        .expect("the law");
}

/// What goes to another rail by a GPU of that rail (PXN) is passed on by a thread block of its own there: of eight
/// ranks each block of the first kind sends to seven, and at 24 GB/s of a channel the bus bandwidth is as much.
#[test]
fn what_is_passed_on_has_a_block_of_its_own() {
    let sets = [
        "node.gpus=4",
        "node.nics=8",
        "node.nvlink=\"5\"",
        "node.infiniband=hdr 4x",
        "collectives.channels=1",
        "collectives.chunk=1 MiB",
        "collectives.slices=1",
        "collectives.channel_rate=24 GB/s",
        "network.latency=0 ns",
    ];
    let row = &estimated(TWO, &sets, Collective::Alltoall, &[1 << 24]).expect("an answer").rows[0];
    assert!((row.bound / 24e9 - 1.0).abs() < 1e-9 && row.bound_by == "thread blocks of 1 channel", "{row:?}");
    let c = &corners(TWO, &sets).expect("a cluster")[0];
    let run =
        simulated(c, Collective::Alltoall, Algorithm::Direct, Protocol::Simple, 1 << 24, u64::MAX).expect("a run");
    assert!(run.busbw <= row.bound && run.busbw > 0.85 * row.bound, "{} of {}", run.busbw, row.bound);
}

/// Where both methods exist they agree within 10 %: what nccl-tests would run on nodes of eight GPUs, at every size.
#[test]
fn share_and_simulation_of_collectives_agree() {
    let mut off = Vec::new();
    for nodes in [1, 2, 4] {
        for what in Collective::ALL {
            let nodes = format!("nodes={nodes}");
            let all = corners(TWO, &[&nodes]).expect("a cluster");
            let c = &all[0];
            // The largest takes half of the time.
            let largest = if everything() { 8 } else { 7 };
            let sizes: Vec<u64> = (3..=largest).map(|k| 1 << (3 * k)).collect();
            let report = collective(&all[..1], what, &sizes).expect("an answer");
            for row in &report.rows {
                let run = simulated(c, what, row.algorithm, row.protocol, row.bytes, u64::MAX).expect("a run");
                let error = row.time / run.time - 1.0;
                if error.abs() > 0.1 {
                    off.push(format!(
                        "{nodes} {} {} B {}: {:+.1} %",
                        what.name(),
                        row.bytes,
                        row.algorithm.word(),
                        100.0 * error
                    ));
                }
            }
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}

/// A random cluster with NICs for each GPU or for several, one GPU or several in a node, and a network of any kind; a
/// collective, and how it is done.
fn shared() -> impl Strategy<Value = (String, Vec<String>, Collective, Algorithm, Protocol, u64)> {
    let shape = (
        select(vec![1_u32, 2, 3, 4, 8, 16]),
        select(vec![1_u32, 2, 4, 8]),
        select(vec![1_u32, 2, 4, 8]),
        select(vec!["hdr 4x", "ndr 4x"]),
        select(vec![None, Some(2_u32), Some(4)]),
        select(vec!["nvlink = \"4\"", "nvlink = \"4\"", "xgmi = \"3\""]),
        select(vec![2_u32, 16, 24]),
    );
    // As often as there are collectives that each does.
    let how = select(vec![
        Algorithm::Ring,
        Algorithm::Ring,
        Algorithm::Tree,
        Algorithm::Tree,
        Algorithm::DoubleTree,
        Algorithm::DoubleTree,
        Algorithm::RecursiveDoubling,
        Algorithm::RecursiveDoubling,
        Algorithm::Nvls,
        Algorithm::NvlsTree,
        Algorithm::NvlsTree,
        Algorithm::Direct,
    ]);
    let size = select((3..=7).map(|k| 1_u64 << (3 * k)).collect::<Vec<_>>());
    let asked = (select(Collective::ALL.to_vec()), how, select(Protocol::ALL), size);
    (shape, asked).prop_map(|((nodes, gpus, nics, rate, over, join, channels), asked)| {
        let nodes = nodes.min(64 / gpus);
        let mut sets = vec![
            format!("nodes={nodes}"),
            format!("node.gpus={gpus}"),
            format!("node.nics={nics}"),
            format!("node.infiniband={rate}"),
            format!("collectives.channels={channels}"),
        ];
        if let Some(over) = over {
            sets.extend(["network.nodes_per_leaf=2".into(), format!("network.oversubscription={over}")]);
        }
        (TWO.replace("nvlink = \"4\"", join), sets, asked.0, asked.1, asked.2, asked.3)
    })
}

/// Whoever shares whatever, and whatever is done how: both methods agree within a tenth. A closed form that does not
/// follow how channels drift apart is up to four times off.
#[test]
fn share_and_simulation_agree_where_elements_are_shared() {
    runner(Config::default())
        .run(&shared(), |(text, sets, what, how, protocol, bytes)| {
            let (a, p) = (how.word(), protocol.word());
            let own = [format!("collectives.algorithm={a}"), format!("collectives.protocol={p}")];
            let sets: Vec<&str> = sets.iter().chain(&own).map(String::as_str).collect();
            let all = corners(&text, &sets).map_err(TestCaseError::fail)?;
            if all[0].ranks() < 2 || all[0].refused(what, how, protocol).is_some() {
                return Ok(());
            }
            let mut report = collective(&all[..1], what, &[bytes]).map_err(TestCaseError::fail)?;
            let row = &mut report.rows[0];
            let run = simulated(&all[0], what, how, protocol, bytes, u64::MAX).map_err(TestCaseError::fail)?;
            let off = row.time / run.time - 1.0;
            row.simulated = Some(run);
            prop_assert!(off.abs() <= 0.1, "{} {a} {p} {bytes} B: {:+.1} %", what.name(), 100.0 * off);
            prop_assert_eq!(row.apart().is_some(), off.abs() > 0.1);
            Ok(())
        })
        .expect("the law");
}

/// Where GPUs share a NIC, or have no others in their node, what is chosen is less than a tenth off.
#[test]
fn what_is_chosen_agrees_where_nics_are_shared() {
    for sets in [
        &["node.nics=1"][..],
        &["nodes=4", "node.nics=2"],
        &["nodes=8", "node.gpus=4", "node.nics=1"],
        &["nodes=16", "node.gpus=1", "node.nics=1"],
        &["node.infiniband=hdr 4x", "node.nics=1"],
    ] {
        let all = corners(TWO, sets).expect("a cluster");
        for what in Collective::ALL {
            let mut report = collective(&all[..1], what, &[8, 512, 1 << 15, 1 << 19, 1 << 21]).expect("an answer");
            for row in &mut report.rows {
                let run = simulated(&all[0], what, row.algorithm, row.protocol, row.bytes, u64::MAX).expect("a run");
                let off = row.time / run.time - 1.0;
                row.simulated = Some(run);
                assert!(off.abs() < 0.1, "{sets:?} {} {} B: {off}", what.name(), row.bytes);
                assert_eq!(row.apart().is_some(), off.abs() > 0.1, "{off}");
            }
        }
    }
}

/// Known limits of large messages: a ring is as fast as its slowest link, whatever the number of ranks.
#[test]
fn rings_by_hand() {
    // 128 B of 144 on the wire, and an answer of 16 B for each: 8 of 10 flits.
    let one = estimated(
        TWO,
        &["nodes=1", "collectives.algorithm=ring", "collectives.channels=32"],
        Collective::AllReduce,
        &[1 << 40],
    );
    let busbw = one.expect("an answer").rows[0].busbw;
    assert!((busbw / 360e9 - 1.0).abs() < 1e-3, "{busbw}");
    // Eight HDR links of 4126 B for 4096 B: 8 x 25 GB/s x 0.9920 (and flow control packets, 1 in 8192 words).
    for nodes in ["nodes=2", "nodes=16", "nodes=128"] {
        let sets = [nodes, "node.infiniband=hdr 4x", "collectives.algorithm=ring", "collectives.chunk=4 MiB"];
        let busbw = estimated(TWO, &sets, Collective::AllReduce, &[1 << 44]).expect("an answer").rows[0].busbw;
        assert!((busbw / 198.4e9 - 1.0).abs() < 2e-3, "{nodes}: {busbw}");
    }
    // A slot of Gen3 x16 carries less than the NIC, and is named.
    let narrow =
        estimated(TWO, &["node.slot=gen3 x16", "collectives.algorithm=ring"], Collective::AllReduce, &[1 << 34]);
    assert!(narrow.expect("an answer").rows[0].bound_by.starts_with("slot of nic"), "the slot binds");
    // In-switch reduction of one node: 11.25 flits each way for 8 of data.
    let nvls = estimated(TWO, &["nodes=1", "collectives.algorithm=nvls"], Collective::AllReduce, &[1 << 40]);
    let algbw = nvls.expect("an answer").rows[0].algbw;
    assert!((algbw / (450e9 * 8.0 / 11.25) - 1.0).abs() < 1e-3, "{algbw}");
}

/// Keys that stand in place of another: the key, and what is replaced by what.
const INSTEAD: [(&str, &str, &str); 2] =
    [("xgmi", "nvlink = \"4\"", "xgmi = \"3\""), ("roce", "infiniband = \"ndr 4x\"", "roce = \"400 Gb/s\"")];

/// Each key changes an answer.
#[test]
fn every_key_of_a_cluster_counts() {
    use Collective::{AllReduce, Alltoall};
    let ring = "collectives.algorithm=ring";
    let tight = ["network.nodes_per_leaf=1", "network.oversubscription=4"];
    // Key, what is laid under, the change, and the collective.
    let rows: &[(&str, &[&str], &str, Collective)] = &[
        ("nodes", &[], "nodes=4", AllReduce),
        ("down", &[], "down=[\"node0.nic3\"]", AllReduce),
        ("gpus", &[], "node.gpus=4", AllReduce),
        ("nvlink", &[], "node.nvlink=\"3\"", AllReduce),
        ("link_rate", &[], "node.link_rate=100 GB/s", AllReduce),
        ("nvls", &[], "node.nvls=false", AllReduce),
        (
            "c2c",
            &[ring, "node.gpus=1", "node.nics=16", "collectives.channel_rate=100 GB/s"],
            "node.c2c=\"1\"",
            AllReduce,
        ),
        ("c2c_rate", &["node.c2c=\"1\""], "node.c2c_rate=10 GB/s", Alltoall),
        ("nics", &[], "node.nics=4", Alltoall),
        ("infiniband", &[], "node.infiniband=edr 4x", Alltoall),
        ("slot", &[], "node.slot=gen3 x8", Alltoall),
        ("mps", &["node.slot=gen3 x8"], "node.mps=128 B", Alltoall),
        ("memory_rate", &[], "node.memory_rate=50 GB/s", AllReduce),
        ("rails", &["network.spine=false", "collectives.pxn=false"], "network.rails=false", Alltoall),
        ("nodes_per_leaf", &["network.oversubscription=4"], "network.nodes_per_leaf=1", Alltoall),
        ("leaves", &[], "network.leaves=3", AllReduce),
        ("spine", &["network.nodes_per_leaf=1"], "network.spine=false", AllReduce),
        ("oversubscription", &["network.nodes_per_leaf=1"], "network.oversubscription=8", Alltoall),
        ("mtu", &[], "network.mtu=256 B", Alltoall),
        ("efficiency", &[], "network.efficiency=80 %", Alltoall),
        ("latency", &tight, "network.latency=50 us", Alltoall),
        ("algorithm", &[], "collectives.algorithm=tree", AllReduce),
        ("protocol", &[], "collectives.protocol=ll", AllReduce),
        ("channels", &[ring], "collectives.channels=2", AllReduce),
        ("channel_rate", &[ring], "collectives.channel_rate=2 GB/s", AllReduce),
        ("chunk", &[ring], "collectives.chunk=8 KiB", AllReduce),
        ("slices", &[ring], "collectives.slices=1", AllReduce),
        ("slots", &["nodes=4"], "collectives.slots=1", Alltoall),
        ("nvls_chunk", &["collectives.algorithm=nvls_tree"], "collectives.nvls_chunk=16 KiB", AllReduce),
        ("nvls_efficiency", &["collectives.algorithm=nvls_tree"], "collectives.nvls_efficiency=30 %", AllReduce),
        ("pxn", &[], "collectives.pxn=false", Alltoall),
        ("launch", &[], "collectives.launch=90 us", AllReduce),
        ("hop_simple", &[ring, "collectives.protocol=simple"], "collectives.hop_simple=90 us", AllReduce),
        ("hop_ll128", &[ring, "collectives.protocol=ll128"], "collectives.hop_ll128=90 us", AllReduce),
        ("hop_ll", &[ring, "collectives.protocol=ll"], "collectives.hop_ll=90 us", AllReduce),
        ("net_simple", &[ring, "collectives.protocol=simple"], "collectives.net_simple=90 us", AllReduce),
        ("net_ll128", &[ring, "collectives.protocol=ll128"], "collectives.net_ll128=90 us", AllReduce),
        ("net_ll", &[ring, "collectives.protocol=ll"], "collectives.net_ll=90 us", AllReduce),
        ("hop_nvls", &["collectives.algorithm=nvls_tree"], "collectives.hop_nvls=90 us", AllReduce),
    ];
    for table in [GPU_CLUSTER, GPU_NODE, GPU_NETWORK, COLLECTIVES] {
        for key in table {
            let there = rows.iter().any(|r| r.0 == key.name) || INSTEAD.iter().any(|r| r.0 == key.name);
            assert!(there, "no row for {}", key.name);
        }
    }
    let sizes = [1 << 12, 1 << 22, 1 << 30];
    for (key, old, new) in INSTEAD {
        let times = |text: &str| {
            let report = estimated(text, &[], Alltoall, &sizes).expect("an answer");
            report.rows.iter().map(|row| row.time).collect::<Vec<_>>()
        };
        assert_ne!(times(TWO), times(&TWO.replace(old, new)), "{key} changes nothing");
    }
    let run = |sets: &[&str], what: Collective| {
        let c = corners(TWO, sets)?;
        let how = c[0].algorithm.unwrap_or(if what == Alltoall { Algorithm::Direct } else { Algorithm::Ring });
        let protocol = c[0].protocol.unwrap_or(Protocol::Simple);
        simulated(&c[0], what, how, protocol, 1 << 22, u64::MAX).map(|s| s.time)
    };
    // Many keys are changed from the same.
    let mut runs: BTreeMap<(String, &str), Result<f64, String>> = BTreeMap::new();
    for (key, under, change, what) in rows {
        let times = |sets: &[&str]| {
            estimated(TWO, sets, *what, &sizes).map(|r| r.rows.iter().map(|row| row.time).collect::<Vec<_>>())
        };
        let before = times(under);
        let after = times(&[under, &[*change][..]].concat());
        assert!(before != after, "{key} changes nothing: {before:?}");
        // Only what takes a way from somebody is an error.
        let breaks = ["down", "leaves", "spine", "rails"].contains(key);
        assert!(breaks || before.is_ok() && after.is_ok(), "{key}: {before:?} {after:?}");
        // And where it can be run at all, the run changes too, but for what only the estimate has.
        let mut run = |sets: &[&str]| {
            let known = (sets.join(" "), what.name());
            runs.entry(known).or_insert_with(|| run(sets, *what)).clone()
        };
        let chosen = ["nvls", "memory_rate"].contains(key);
        assert!(chosen || run(under) != run(&[under, &[*change][..]].concat()), "{key} changes no run");
    }
}

/// What is wrong is said, where it stands.
#[test]
fn what_goes_wrong_on_purpose() {
    let wrong = |sets: &[&str], what: Collective, says: &str| {
        let said = estimated(TWO, sets, what, &[1 << 20]);
        let said = said.err().unwrap_or_else(|| panic!("{sets:?} is no error"));
        assert!(said.contains(says), "{sets:?}: {said}");
    };
    use Collective::{AllReduce, Alltoall};
    wrong(&["node.nics=0"], AllReduce, "not connected");
    wrong(&["down=[\"node0.nic3\"]", "collectives.algorithm=ring"], AllReduce, "link of nic3 of node0, out is down");
    wrong(&["down=[\"rail9\"]"], AllReduce, "there is no \"rail9\"");
    wrong(&["network.leaves=7"], AllReduce, "rail7 has no switch");
    wrong(&["network.spine=false", "collectives.pxn=false"], Alltoall, "has no spine");
    wrong(&["node.nics=3"], AllReduce, "cannot be divided");
    wrong(&["node.xgmi=\"3\""], AllReduce, "not both");
    wrong(&["node.c2c_rate=1 GB/s"], AllReduce, "without C2C");
    wrong(
        &["node.c2c=\"1\"", "down=[\"node1.c2c2\"]", "collectives.algorithm=ring"],
        AllReduce,
        "C2C of gpu2 of node1",
    );
    wrong(&["down=[\"node1.c2c2\"]"], AllReduce, "there is no");
    wrong(&["node.gpus=0"], AllReduce, "gpus");
    wrong(&["node.gpuss=8"], AllReduce, "did you mean gpus?");
    wrong(&["nodes=1", "node.gpus=1"], AllReduce, "moves nothing");
    wrong(&["nodes=16777216"], AllReduce, "at most 65536 GPUs");
    wrong(&["collectives.chunk=1 B"], AllReduce, "chunk cannot be 1 B");
    wrong(&["collectives.algorithm=nvls"], AllReduce, "nvls works within one node");
    wrong(&["collectives.algorithm=direct"], AllReduce, "not done by direct");
    for (text, says) in [("", "empty"), ("kind = \"x\"\n", "gpu-cluster"), ("nodes = 2\n", "has no node")] {
        let said = corners(text, &[]).expect_err("an error");
        assert!(said.contains(says), "{text:?}: {said}");
    }
    let no_link = TWO.replace("infiniband = \"ndr 4x\"\n", "");
    assert!(corners(&no_link, &[]).expect_err("an error").contains("its NICs have no link"));
    // Without the NIC that is down the rest of the cluster works.
    assert!(estimated(TWO, &["nodes=1", "down=[\"node0.nic3\"]"], AllReduce, &[1 << 20]).is_ok());
    // What cannot be simulated is refused before any work.
    let large = &corners(TWO, &["nodes=9"]).expect("a cluster")[0];
    let said = simulated(large, AllReduce, Algorithm::Ring, Protocol::Simple, 1 << 20, 1).expect_err("an error");
    assert!(said.contains("at most 64"), "{said}");
}
