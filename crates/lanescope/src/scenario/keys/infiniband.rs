//! The keys of clusters: channel adapters, InfiniBand's switches and links, and the message programs of ranks.

mod rates;

use super::*;
use crate::protocol::infiniband::{LineRate, Mtu};
use crate::scenario::quantity::expected;

/// Data virtual lanes of a port, at most (IBA 1.2, 7.6: VL15 is for management).
pub const MOST_LANES: u32 = 15;

/// Files that the index of a trace names, at most.
pub const MOST_TRACES: usize = 65_536;

words! {
    /// What a flow of ranks does.
    MpiWord {
        /// Ranks run a message program.
        Mpi = "mpi",
    }
}

words! {
    /// What lies between a rank and its adapter.
    Interface {
        /// An MPI library: messages are matched, small ones copied, large ones arranged first.
        Mpi = "mpi",
        /// Nothing: every message is a work request, data go where they belong.
        Verbs = "verbs",
    }
}

/// Floating-point operations per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct FlopRate(pub f64);

/// Units of [`FlopRate`], by how many flop/s each is.
const FLOPS: [(&str, f64); 4] = [("Tflop/s", 1e12), ("Gflop/s", 1e9), ("Mflop/s", 1e6), ("flop/s", 1.0)];

impl Shape for FlopRate {
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = || "for example \"0.5 Gflop/s\"".to_owned();
        let Value::Text(s) = &node.value else {
            return Err(Problem(expected("a speed of computing", node).0, hint()));
        };
        let bad = || {
            Problem(format!("{:?} is not a valid speed of computing", s.chars().take(40).collect::<String>()), hint())
        };
        let (number, unit) = s.trim().split_once(' ').ok_or_else(bad)?;
        let factor = FLOPS.iter().find(|(u, _)| *u == unit.trim()).ok_or_else(bad)?.1;
        let value = number.parse::<f64>().map_err(|_| bad())? * factor;
        if (1.0..=1e21).contains(&value) { Ok(FlopRate(value)) } else { Err(bad()) }
    }
    fn show(&self) -> String {
        let (unit, factor) = FLOPS.into_iter().find(|(_, f)| self.0 >= *f).unwrap_or(FLOPS[3]);
        format!("{} {unit}", self.0 / factor)
    }
    fn schema() -> Json {
        json!({ "type": "string", "examples": ["0.5 Gflop/s"], "description": "floating-point operations per second" })
    }
    fn order(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.partial_cmp(other)
    }
}

table! {
    /// A channel adapter: on the host's side a device with DMA engines, on the other ports of InfiniBand or Ethernet.
    /// On PCIe it has the keys of an endpoint too, on
    /// a PCI bus those of a device there; without either, its data are at hand. On Ethernet (RoCE v2) it is a station,
    /// too: switches must pause, since nothing sends a lost
    /// frame again, and DCQCN slows plain flows down, not its messages.
    ChannelAdapter, CHANNEL_ADAPTER, "a channel adapter" {
        /// Ports.
        adapter_ports: default NonZeroU32, Low = "1" Assumed Likely "most adapters are used with one port";
        /// Time of its engine for one work request, one after the other: what bounds messages per second.
        work_time: default Time, High = "{ low = \"10 ns\", typical = \"100 ns\", high = \"500 ns\" }" Assumed Guess
            "adapters of 2004 to 2020 do 2 to 200 million messages per second";
        /// Beside that, from the doorbell to its first request for the message.
        send_latency: default Time, High = "{ low = \"50 ns\", typical = \"200 ns\", high = \"600 ns\" }" Assumed Guess
            "the look-up of the queue pair's state and of the address";
        /// Time from a packet's last byte until its data may go to host memory.
        receive_latency: default Time, High =
            "{ low = \"50 ns\", typical = \"200 ns\", high = \"600 ns\" }" Assumed Guess
            "checks, the look-up of the queue pair and of the address";
        /// Time of its engines for one packet, one after the other, each way by itself.
        packet_time: default Time, High = "\"0 ns\"" Assumed Guess "hidden behind the packet before";
        /// What the processor writes to ring its doorbell.
        doorbell_bytes: default Bytes, High = "\"8 B\"" Assumed Likely "one store of 64 bits";
        /// A work request in host memory, which it fetches.
        descriptor_bytes: default Bytes, High = "\"64 B\"" Assumed Likely "the least work queue entry";
        /// Messages up to this size come with the doorbell, descriptor and all, and nothing is fetched. Without it,
        /// none.
        inline: opt Bytes, Low;
        /// A completion queue entry, which it writes to host memory; 0 B for none.
        completion_bytes: default Bytes, High = "\"64 B\"" Assumed Likely "32 or 64 B";
        /// Header of its requests on PCIe: 3DW for 32-bit addresses, 4DW above 4 GiB (2.0, 2.2.4.1).
        header: default Header, Low = "\"4DW\"" Assumed Likely "buffers above 4 GiB";
        /// Payload of each port that it has asked for in host memory and not sent yet, at most; at least one packet.
        read_ahead: default Bytes, Low = "\"16 KiB\"" Assumed Guess "enough to hide the host's latency";
        /// What each port holds of each virtual lane until it is in host memory: the credits that it gives. On Ethernet
        /// (of each priority with PFC) the neighbour is paused before it overflows; unless stated it is large enough
        /// for that.
        receive_buffer: default Bytes, Low = "\"32 KiB\"" Assumed Guess "some packets of 4 KiB";
    }
}

table! {
    /// A switch of InfiniBand: cut-through, memory at its inputs.
    InfinibandSwitch, INFINIBAND_SWITCH, "an InfiniBand switch" {
        /// Ports.
        ports: default NonZeroU32, Low = "24" Assumed Likely "chips have 8 to 64; larger ones are built of them";
        /// From a packet's first header to its first byte out.
        latency: default Time, High = "{ low = \"100 ns\", typical = \"200 ns\", high = \"300 ns\" }" Assumed Likely
            "chips of 2002 to 2024: 300 down to 90 ns";
        /// What each port holds of each virtual lane that came in: the credits that it gives.
        buffer: default Bytes, Low = "\"16 KiB\"" Assumed Guess "a few packets of 4 KiB";
    }
}

table! {
    /// An InfiniBand link between two ports, or one each between two lists. A switch takes as many as the other side
    /// asks for.
    InfinibandLink, INFINIBAND_LINK, "an InfiniBand link" {
        /// Its ends: adapters ("node.0", "node.0.port.1") and switches, with * for all instances.
        between: must Names, One;
        /// Speed and width, e.g. "sdr 4x".
        infiniband: must LineRate, One;
        /// Payload of the largest packet (IBA 1.2, 7.7.8).
        mtu: default Mtu, High = "\"2048 B\"" Assumed Likely "what most subnet managers set; 4096 B later";
        /// Time of flight, one way.
        delay: default Time, High = "\"25 ns\"" Assumed Likely "5 m at 5 ns/m";
        /// Data virtual lanes in use.
        lanes: default NonZeroU32, One = "1" Assumed Likely "one service level";
        /// Whether each of the first side is joined to each of the second (both sides switches).
        mesh: default bool, One = "false" Assumed Exact "pairs";
    }
}

table! {
    /// A message program that ranks run.
    Mpi, MPI, "a flow of ranks" {
        /// What it stands for.
        about: tell String, One;
        /// "mpi".
        r#do: must MpiWord, One;
        /// Where the ranks are: channel adapters, with * for all, one rank each in this order; a port of one by
        /// ".port.N".
        ranks: must Names, One;
        /// Ranks on each of them; neighbours in number share a node.
        each: default NonZeroU32, One = "1" Assumed Likely "one process a node";
        /// What they run, in a few lines of text.
        program: opt String, One;
        /// In its place, an instrument or a skeleton: "imb PingPong", "osu_latency", "npb is.C".
        benchmark: opt String, One;
        /// In its place, a recorded trace: a file of SimGrid (time-independent), or of GOAL.
        trace: opt String, One;
        /// Message sizes of an instrument: a list, or from and to, in powers of two. Without it, its own ladder.
        sizes: opt Sizes, One;
        /// Repetitions in place of the instrument's own; of a skeleton, iterations.
        repetitions: opt Count, One;
        /// How the collective of an instrument is taken apart: "binomial", "recursive_doubling", "ring", …. Without it,
        /// by size and ranks as MPICH chooses (Thakur et al., IJHPCA 19(1), 2005). A program names it behind a
        /// collective: allreduce 8 B ring.
        algorithm: opt String, One;
        /// Whether repetitions may end when their time is steady within run.until. Of several programs only where it is
        /// stated: one that has ended loads nothing for the others.
        steady: default bool, One = "true" Assumed Likely "a simulated repetition is like the one before";
        /// Queue pairs between two ranks; messages take them in turn.
        connections: default NonZeroU32, One = "1" Assumed Likely "MPI libraries have one between two processes";
        /// What lies between ranks and adapters.
        interface: default Interface, One = "\"mpi\"" Assumed Likely "what programs use";
        /// Time of a rank's processor to send a message.
        send_time: default Time, High = "{ low = \"100 ns\", typical = \"200 ns\", high = \"400 ns\" }" Assumed Likely
            "with receive_time, an adapter like example/hca-edr and one switch: half a round trip of 8 B in 0.9 us, as \
             Open MPI 4 over EDR has it (gist.github.com/jfgrimm/3af692a5475bdd4ed836b5a18197a209, 2021: 0.90 us)";
        /// Time of a rank's processor to find and complete a message that has come.
        receive_time: default Time, High =
            "{ low = \"100 ns\", typical = \"200 ns\", high = \"400 ns\" }" Assumed Likely
            "polling and matching: as send_time";
        /// Largest message that goes at once, through buffers at both ends; larger ones are arranged first and then go
        /// without a copy.
        eager: default Bytes, One = "\"8 KiB\"" Assumed Likely
            "UCX as UCX-Py sets it: UCX_RNDV_THRESH = 8192 (ucx-py.readthedocs.io, configuration); other libraries 4 \
             to 64 KiB";
        /// What a processor copies per second; each eager message is copied at both ends.
        copy_rate: default Rate, Low = "{ low = \"5 GB/s\", typical = \"10 GB/s\", high = \"12 GB/s\" }" Assumed Likely
            "UCX reckons with 5.0 to 12 GB/s by processor (openucx/ucx, src/ucs/arch/cpu.c: est_bcopy_bw); 10 GB/s \
             give the times of 4 and 8 KiB of the same table as send_time within 7 %";
        /// What the library adds to an eager message.
        header_bytes: default Bytes, High = "\"32 B\"" Assumed Guess "source, tag, size, context";
        /// A message that arranges a large one, or ends it.
        control_bytes: default Bytes, High = "\"64 B\"" Assumed Guess "a header with addresses and keys";
        /// What a processor combines per second in a reduction: bytes of what it has received.
        reduce_rate: default Rate, Low = "{ low = \"2 GB/s\", typical = \"5 GB/s\", high = \"10 GB/s\" }" Assumed Guess
            "three bytes are moved for each that was received, two read and one written: half of copy_rate, which \
             moves two for one, and less where vectors come from memory";
        /// What a processor computes.
        speed: default FlopRate, Low =
            "{ low = \"0.5 Gflop/s\", typical = \"2 Gflop/s\", high = \"10 Gflop/s\" }" Assumed Guess
            "a core of today on sparse loops, bound by memory, and on dense ones";
        /// Virtual lane of its packets; on Ethernet their priority.
        lane: default Count, One = "0" Standard Likely "service level 0";
    }
}

/// Message sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Sizes {
    /// These.
    List(Vec<Bytes>),
    /// Powers of two between them, and 0 where the first is 0.
    Ladder(Bytes, Bytes),
}

impl Shape for Sizes {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = || "for example [\"8 B\", \"1 MiB\"], or { from = \"0 B\", to = \"4 MiB\" }".to_owned();
        match &node.value {
            Value::Array(list) if list.is_empty() || list.len() > 1000 => {
                Err(Problem("sizes are 1 to 1000".into(), hint()))
            }
            Value::Array(list) => list.iter().map(Bytes::read).collect::<Result<_, _>>().map(Sizes::List),
            Value::Table(t) if t.0.len() == 2 => match (t.get("from"), t.get("to")) {
                (Some(from), Some(to)) => {
                    let (from, to) = (Bytes::read(from)?, Bytes::read(to)?);
                    if from > to {
                        return Err(Problem(format!("from {from} to {to} has no size"), hint()));
                    }
                    Ok(Sizes::Ladder(from, to))
                }
                _ => Err(Problem("sizes have from and to".into(), hint())),
            },
            Value::Text(_) => Bytes::read(node).map(|b| Sizes::List(vec![b])),
            _ => Err(Problem(expected("message sizes", node).0, hint())),
        }
    }
    fn show(&self) -> String {
        match self {
            Sizes::List(all) => all.iter().map(Bytes::to_string).collect::<Vec<_>>().join(", "),
            Sizes::Ladder(from, to) => format!("{from} to {to}"),
        }
    }
    fn schema() -> Json {
        json!({ "oneOf": [
            Bytes::schema(),
            { "type": "array", "items": Bytes::schema(), "minItems": 1, "maxItems": 1000 },
            { "type": "object", "additionalProperties": false, "required": ["from", "to"],
              "properties": { "from": Bytes::schema(), "to": Bytes::schema() } },
        ] })
    }
}

parts! {
    /// The keys of one part of a cluster's fabric.
    FabricKeys {
        /// A channel adapter; its DMA engines are a device of the same name, its port on Ethernet a station.
        Adapter(ChannelAdapter) = ChannelAdapter,
        /// A switch of InfiniBand.
        Switch(InfinibandSwitch) = InfinibandSwitch,
    }
}
