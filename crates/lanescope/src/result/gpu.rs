//! What a collective takes: a row for each size, as nccl-tests prints it, with the reason.

use crate::plan::gpu::collective::Collective;
use crate::scenario::keys::{CollectiveAlgorithm, CollectiveProtocol};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `lanescope collective`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveReport {
    /// 1.
    pub schema: u32,
    /// The cluster's title.
    pub title: String,
    /// What was asked for.
    pub collective: Collective,
    /// Nodes.
    pub nodes: u32,
    /// GPUs in all.
    pub ranks: u32,
    /// How algorithm and protocol were chosen.
    pub rule: String,
    /// A row for each size.
    pub rows: Vec<CollectiveRow>,
    /// Algorithms that this cluster cannot do, and why.
    pub refused: Vec<(String, String)>,
    /// What the methods leave out.
    pub not_modelled: Vec<String>,
}

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectiveRow {
    /// Bytes, as nccl-tests counts them.
    pub bytes: u64,
    /// How ranks pass data on.
    #[schemars(with = "String")]
    pub algorithm: CollectiveAlgorithm,
    /// How they tell one another.
    #[schemars(with = "String")]
    pub protocol: CollectiveProtocol,
    /// Expected time, seconds.
    pub time: f64,
    /// Bytes by time, bytes per second.
    pub algbw: f64,
    /// As nccl-tests relates it to links, bytes per second.
    pub busbw: f64,
    /// Bus bandwidth with every range at its slower, and at its faster end.
    pub range: Option<(f64, f64)>,
    /// The most that this algorithm can have: what its busiest element carries.
    pub bound: f64,
    /// That element.
    pub bound_by: String,
    /// What most of the time goes to: that element, hops, or the launch.
    pub takes: String,
    /// Seconds of it: the call, hops, filling the pipeline, and the busiest element.
    pub parts: Parts,
    /// Packet by packet, where it was simulated.
    pub simulated: Option<SimulatedCollective>,
}

/// How far apart both methods may be, as a share of the simulated time, before a report says why.
const APART: f64 = 0.1;

impl CollectiveRow {
    /// Where the simulated time is more than a tenth off: by how much, and which mechanism the closed form leaves out.
    pub fn apart(&self) -> Option<String> {
        let off = self.time / self.simulated.as_ref()?.time - 1.0;
        let tree = matches!(
            self.algorithm,
            CollectiveAlgorithm::Tree | CollectiveAlgorithm::DoubleTree | CollectiveAlgorithm::NvlsTree
        );
        // A simulation that is quicker has overlapped what the closed form adds up.
        let why = match off > 0.0 {
            true if tree => "while pieces wait on one way of a tree, pieces on another keep the same element busy",
            true => "messages of one turn hide behind those of another at an element that they share",
            false => "messages meet at elements that they share, and thread blocks wait for a free slot",
        };
        (off.abs() > APART).then(|| {
            let (bytes, how, off) = (self.bytes, self.algorithm.word(), 100.0 * off);
            let text = format!("{bytes} B, {how}: estimated {off:+.1} % against the simulation");
            format!("{text}: {why}; the closed form does not model it")
        })
    }
}

/// Where the time goes, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// The call.
    pub launch: f64,
    /// Hops and stages, one after the other.
    pub hops: f64,
    /// What the busiest element waits for beside that: pipelines that fill and drain, steps that wait for a slice.
    pub filling: f64,
    /// The busiest element, at work.
    pub busy: f64,
}

/// A simulated row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SimulatedCollective {
    /// Seconds.
    pub time: f64,
    /// Bytes per second.
    pub busbw: f64,
    /// Packets on elements.
    pub packets: u64,
    /// The element that was busy longest.
    pub busiest: String,
    /// Which share of the time.
    pub busy: f64,
    /// Where the byte times of that element went: payload, headers, answers, idle; they add up to all of them.
    pub ledger: [f64; 4],
}

/// The JSON Schema of [`CollectiveReport`].
pub fn json_schema() -> serde_json::Value {
    super::schema_of::<CollectiveReport>()
}
