//! The keys of a GPU cluster: nodes by rule, the network between them, and how a collective library uses both.

use super::*;
use crate::protocol::ethernet::LineRate as EthernetRate;
use crate::protocol::infiniband::{LineRate, Mtu};
use crate::protocol::nvlink::{GENERATIONS, Generation as GpuGeneration};

words! {
    /// A generation of NVLink.
    Nvlink {
        /// V100.
        Two = "2",
        /// A100.
        Three = "3",
        /// H100, H200.
        Four = "4",
        /// Blackwell.
        Five = "5",
    }
}

words! {
    /// A generation of xGMI (Infinity Fabric between GPUs).
    Xgmi {
        /// MI300.
        Three = "3",
    }
}

words! {
    /// A generation of NVLink-C2C.
    C2c {
        /// Grace Hopper, Grace Blackwell.
        One = "1",
    }
}

impl Nvlink {
    /// Its rates.
    pub fn generation(self) -> &'static GpuGeneration {
        &GENERATIONS[self as usize]
    }
}

impl Xgmi {
    /// Its rates.
    pub fn generation(self) -> &'static GpuGeneration {
        &GENERATIONS[GENERATIONS.len() - 1]
    }
}

words! {
    /// How the ranks of a collective pass data on.
    CollectiveAlgorithm {
        /// Around a ring, node by node.
        Ring = "ring",
        /// Up one binary tree of nodes and down again; a chain inside each node.
        Tree = "tree",
        /// Two such trees, half of the data each; who is inside in one is a leaf in the other (Sanders, Speck, Träff
        /// 2009).
        DoubleTree = "double_binary_tree",
        /// With the rank at distance 1, 2, 4, …
        RecursiveDoubling = "recursive_doubling",
        /// The switch of the node reduces and multicasts (NVLink SHARP).
        Nvls = "nvls",
        /// The same inside nodes, a double binary tree between them, on each rail.
        NvlsTree = "nvls_tree",
        /// Each to each at once.
        Direct = "direct",
    }
}

words! {
    /// How a GPU tells another that data have come (NCCL).
    CollectiveProtocol {
        /// Flags behind whole slices: all of the wire is data, a hop is slow.
        Simple = "simple",
        /// A flag in every line: 120 of 128 bytes are data. NVLink only.
        Ll128 = "ll128",
        /// A flag beside every word: half is data, a hop is fast.
        Ll = "ll",
    }
}

table! {
    /// One node; all are alike.
    GpuNode, GPU_NODE, "a node" {
        /// GPUs.
        gpus: must NonZeroU32, One;
        /// NVLink's generation: the GPUs of a node are joined by NVSwitch.
        nvlink: opt Nvlink, One;
        /// xGMI's generation: each pair of GPUs is joined by links of its own.
        xgmi: opt Xgmi, One;
        /// What the links of one GPU carry in one direction, after coding, before headers; without it, what the
        /// generation has.
        link_rate: opt Rate, Low;
        /// Whether the node's switch reduces and multicasts; without it, from NVLink 4 on.
        nvls: opt bool, One;
        /// NVLink-C2C between each GPU and its processor: NICs hang on the processor, and what goes to them crosses it.
        c2c: opt C2c, One;
        /// What it carries in one direction, after coding, before headers; without it, what the generation has.
        c2c_rate: opt Rate, Low;
        /// NICs; GPU i uses NIC i x nics / gpus.
        nics: default Count, One = "0" Assumed Exact "without any, the node is alone";
        /// What a NIC's link is: InfiniBand.
        infiniband: opt LineRate, One;
        /// Or RoCE v2 on Ethernet.
        roce: opt EthernetRate, One;
        /// The slot of a NIC.
        slot: default Speed, One = "\"gen5 x16\"" Assumed Likely "what 400 Gb/s needs";
        /// Max_Payload_Size in that slot; completions are as large.
        mps: default PayloadSize, One = "\"256 B\"" Assumed Likely "what servers set";
        /// What a GPU's memory carries, reads and writes added; without it, the module's that came with the links.
        memory_rate: opt Rate, Low;
    }
}

table! {
    /// The network between nodes.
    GpuNetwork, GPU_NETWORK, "a network" {
        /// Whether NIC i of every node hangs on a switch of its own (rail-optimised); else all NICs of a node hang on
        /// one.
        rails: default bool, One = "true" Assumed Likely "how clusters of such nodes are built";
        /// Nodes below one leaf switch, or one switch of each rail; without it all of them.
        nodes_per_leaf: opt NonZeroU32, One;
        /// Leaf switches that are there, named rail by rail, pod by pod; without it as many as the rule asks for.
        leaves: opt Count, One;
        /// Whether spine switches join the leaves.
        spine: default bool, One = "true" Assumed Likely "else rails meet only inside nodes";
        /// What the ports towards hosts carry, as a multiple of those towards the spine.
        oversubscription: default NonZeroU32, One = "1" Assumed Likely "networks of GPUs are built without";
        /// Largest payload of a packet.
        mtu: default Mtu, One = "\"4096 B\"" Assumed Likely "the largest that there is";
        /// Share of the wire that the library's transport keeps busy: proxies, work requests, credits.
        efficiency: default Percent, Low = "\"100 %\"" Assumed Guess "nothing is known of it";
        /// Time from the last byte at the receiver to the next step, beside the protocol's: longer wires, another
        /// adapter's software.
        latency: default Time, High = "\"0 ns\"" Assumed Likely "what NCCL counts for its network is in the protocol";
    }
}

table! {
    /// How the collective library works.
    CollectiveKeys, COLLECTIVES, "collectives" {
        /// Which algorithm; without it the fastest, by the estimate, of those that can be done.
        algorithm: opt CollectiveAlgorithm, One;
        /// Which protocol; without it the fastest, by the estimate.
        protocol: opt CollectiveProtocol, One;
        /// Channels: thread blocks of a GPU that work side by side, each with a ring or a tree of its own.
        channels: default NonZeroU32, One = "16" Assumed Likely "NCCL takes 16 to 32 on an A100 or H100";
        /// What the thread block of a channel moves and reduces.
        channel_rate: default Rate, Low = "\"24 GB/s\"" Assumed Likely
            "NCCL's tuning model has 24 GB/s a channel on Ampere";
        /// Bytes of a channel that go from GPU to GPU as one step.
        chunk: default Bytes, One = "\"512 KiB\"" Assumed Likely "NCCL: an eighth of a buffer of 4 MiB";
        /// Slices of a chunk: a slice goes on while the next is still coming.
        slices: default NonZeroU32, One = "2" Assumed Likely "NCCL: two slices a chunk in rings";
        /// Slices that may be under way to a GPU, which has buffers for them.
        slots: default NonZeroU32, One = "8" Assumed Likely "NCCL: NCCL_STEPS";
        /// Bytes of a channel that in-switch reduction works on before the next stage begins with them.
        nvls_chunk: default Bytes, One = "\"512 KiB\"" Assumed Guess "as in rings";
        /// Share of its packets' rate that the switch reduces and multicasts at.
        nvls_efficiency: default Percent, Low = "\"100 %\"" Assumed Guess "nothing is known of it";
        /// Whether messages to another rail go through the GPU of that rail in the own node (PXN).
        pxn: default bool, One = "true" Assumed Likely "NCCL's default since 2.12";
        /// Time from the call to the first byte.
        launch: default Time, High = "\"6.6 us\"" Assumed Likely "NCCL's tuning model: base latency of a ring, LL";
        /// A hop over NVLink, the library's flags and fences included, protocol simple.
        hop_simple: default Time, High = "\"3.4 us\"" Assumed Likely "NCCL's tuning model, ring";
        /// The same, protocol LL128.
        hop_ll128: default Time, High = "\"1.9 us\"" Assumed Likely "NCCL's tuning model, ring";
        /// The same, protocol LL.
        hop_ll: default Time, High = "\"0.6 us\"" Assumed Likely "NCCL's tuning model, ring";
        /// A hop over the network, proxies included, protocol simple.
        net_simple: default Time, High = "\"14 us\"" Assumed Likely "NCCL's tuning model, ring";
        /// The same, protocol LL128.
        net_ll128: default Time, High = "\"4 us\"" Assumed Likely "NCCL's tuning model, ring";
        /// The same, protocol LL.
        net_ll: default Time, High = "\"2.7 us\"" Assumed Likely "NCCL's tuning model, ring";
        /// A stage of in-switch reduction.
        hop_nvls: default Time, High = "\"8 us\"" Assumed Guess
            "a third of the 25 us that NCCL's tuning model counts for the three stages";
    }
}

table! {
    /// A cluster of GPUs.
    GpuCluster, GPU_CLUSTER, "a GPU cluster" {
        /// Nodes.
        nodes: must NonZeroU32, One;
        /// What does not work: node0.nic3, node1.gpu2 (its links to other GPUs), node0.c2c1, rail2,
        /// leaf5, spine.
        down: opt Names, One;
    }
}
