//! What comes back: types only. One schema for every method, exported as JSON Schema.
//!
//! All rates are payload bits per second unless a name says otherwise; times are seconds. A flow of the report is one
//! table of the scenario; its instances are listed when they differ.

mod core;
mod ethernet;
pub mod gpu;
mod infiniband;
mod pcie;
mod simulation;
mod storage;

pub(crate) use core::gap::{DCQCN, NO_OFFSETS, OVER_A_FABRIC, UNTRANSLATED};
pub use core::gap::{Gap, not_modelled};
pub use core::timeline;
pub use ethernet::{Crossed, Crossing};
pub use infiniband::{PROGRAM_METRICS, ProgramReport, ProgramRow, RankAccount};
pub(crate) use infiniband::{computing, share as time_share};
pub use pcie::{BusClocks, BusIdle, SimulatedBackbone};
pub use simulation::{
    Ending, Idle, Interval, OverSeeds, SIMULATED_FLOW_METRICS, STAGES, SimulatedFlow, SimulatedFrames, SimulatedIos,
    SimulatedLink, SimulatedMemory, SimulatedMetric, SimulatedSwitch, Simulation, SlotCounts,
};
pub use storage::{BIN_EDGES, IoCounts, IoSeen, IoSide, Latencies, Times, lasted};

pub use crate::scenario::keys::{FRAMING, Medium};
use crate::units::Dimension;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of this schema.
pub const SCHEMA: u32 = 14;

/// The answer to one scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario's title.
    pub title: String,
    /// What made this report.
    pub provenance: Provenance,
    /// One per flow group.
    pub flows: Vec<FlowReport>,
    /// All flows together; `None` when there are none.
    pub total: Option<Total>,
    /// One per link and direction.
    pub links: Vec<LinkReport>,
    /// Unloaded latency of each switch, in seconds.
    pub switches: Vec<SwitchReport>,
    /// Warnings that came up on the way.
    pub warnings: Vec<String>,
    /// Keys that the scenario states and a method does not model.
    #[serde(default)]
    pub not_modelled: Vec<NotModelled>,
    /// What a method has to say about its answer: why two of them differ, what holds a flow back that its share does
    /// not show.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// The same, packet by packet, where it was simulated. Flows, links and switches are in the same order.
    #[serde(default)]
    pub simulation: Option<Simulation>,
}

impl Report {
    /// The same report with a simulation beside the estimate.
    pub fn with(mut self, mut simulation: Simulation) -> Report {
        self.provenance.methods.push("simulate".into());
        for n in std::mem::take(&mut simulation.not_modelled) {
            match self.not_modelled.iter_mut().find(|m| m.key == n.key && m.why == n.why) {
                Some(both) => both.methods.extend(n.methods),
                None => self.not_modelled.push(n),
            }
        }
        self.notes.append(&mut simulation.notes);
        self.notes.extend(infiniband::apart(&self.flows, &simulation, &self.notes));
        let apart = core::apart::notes(&self, &simulation);
        self.notes.extend(apart);
        simulation.flows.iter_mut().for_each(|f| f.ways.clear());
        self.simulation = Some(simulation);
        self
    }
}

/// A key that stands in the scenario and that an answer takes no account of.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct NotModelled {
    /// The key as `--set` would write it: `links.lan.ecmp`.
    pub key: String,
    /// Which methods do not model it: `estimate`, `simulate`.
    pub methods: Vec<String>,
    /// What it has to do with, in one word of kebab-case: `arbitration`, `congestion-control`.
    pub mechanism: String,
    /// Why, and what is assumed in its place: one sentence.
    pub why: String,
}

/// A remark on an answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct Note {
    /// What it is about: `flows.rx`, `links.uplink toward host`, `parts.sw`.
    pub element: String,
    /// What is at work, in one word of kebab-case: `head-of-line-blocking`, `pause`.
    pub mechanism: String,
    /// For a person: one sentence.
    pub text: String,
}

/// `links.uplink toward host`; a bus is all of it.
pub(crate) fn way(name: &str, to: &str) -> String {
    if to.is_empty() { format!("links.{name}") } else { format!("links.{name} toward {to}") }
}

impl LinkReport {
    /// `links.uplink toward host`, or `links.slots` of a bus.
    pub fn path(&self) -> String {
        way(&self.name, &self.to)
    }
}

/// What made a report: the same plan and version give the same answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Provenance {
    /// Program and version.
    pub program: String,
    /// Hash of the resolved plan.
    pub plan: String,
    /// Methods that answered.
    pub methods: Vec<String>,
}

/// A value at its typical, and at the corners where every range is at its slower or faster end. Rates are in order: of
/// several flows one may get less where all else is faster, so the ends are the least and the greatest of the three.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Ranged {
    /// Typical.
    pub typical: f64,
    /// Every range at its slower end; of rates the least of the three corners.
    pub slower: f64,
    /// Every range at its faster end; of rates the greatest of the three corners.
    pub faster: f64,
}

impl Ranged {
    /// The same, scaled.
    pub fn times(self, factor: f64) -> Ranged {
        Ranged { typical: self.typical * factor, slower: self.slower * factor, faster: self.faster * factor }
    }

    /// The same as a range that holds its typical value: between the least and the greatest of the three.
    #[must_use]
    pub fn in_order(self) -> Ranged {
        let (slower, faster) = self.ends();
        Ranged { slower, faster, ..self }
    }

    /// The least and the greatest of the three.
    pub fn ends(self) -> (f64, f64) {
        (self.slower.min(self.typical).min(self.faster), self.slower.max(self.typical).max(self.faster))
    }
}

/// One flow group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// Number of instances.
    pub instances: usize,
    /// `write 2 KiB, nic.0 → sw → host`, or `send 1500 B, host.0 → sw → host.1`.
    pub what: String,
    /// Whether it reads and writes in turn: rates are then per direction, and both ways are twice that.
    pub both_ways: bool,
    /// Payload bytes of one operation, where all have one size.
    #[serde(default)]
    pub operation: Option<f64>,
    /// Of packets with headers, the share without these.
    #[serde(default)]
    pub goodput: Option<Ranged>,
    /// Of frames: bits per second from destination address to FCS, all instances.
    #[serde(default)]
    pub frame_rate: Option<Ranged>,
    /// What each instance asks for, in their order; empty where they take what there is.
    pub wanted_each: Vec<f64>,
    /// What no allocation to all instances can exceed.
    pub bound: Ranged,
    /// The fair share of all instances together.
    pub share: Ranged,
    /// The fair share of each instance, in their order.
    pub each: Vec<f64>,
    /// Instances of PCIe that get alike, together; empty of a single one.
    #[serde(default)]
    pub alike: Vec<Alike>,
    /// What line coding, framing, headers and read requests alone leave, without DLLPs and ordered sets.
    pub framing_limit: f64,
    /// Unloaded time to the first data of one operation (reads: request to first completion data), of the slowest
    /// instance.
    pub latency_first: Option<Ranged>,
    /// Unloaded time to the last byte of one operation, of the slowest instance.
    pub latency: Ranged,
    /// Unloaded time of one request to its last byte: what occupies a tag.
    pub round_trip: Option<Ranged>,
    /// What binds the share.
    pub bound_by: Binding,
    /// Elements that bind other instances, where they differ; at most 64.
    pub bound_also: Vec<String>,
    /// What the next step up of what binds would give; of the first 64 flow groups.
    pub upgrade: Option<Upgrade>,
    /// What the user measured, held against the answer.
    pub measured: Option<Measured>,
    /// Whether the load can be carried at all.
    pub verdict: Verdict,
    /// Where the rest stays when it cannot.
    #[serde(default)]
    pub excess: Excess,
    /// Of ranks: what their program takes; then with every range at its slower and at its faster end.
    #[serde(default)]
    pub programs: Vec<ProgramReport>,
}

/// Instances of a flow with equal shares.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Alike {
    /// Their requesters: `gpu.0-3`, as a scenario names them; at most four ranges.
    pub from: String,
    /// Their targets.
    pub to: String,
    /// Their places among the instances.
    pub members: Vec<usize>,
    /// Their shares, added.
    pub share: f64,
}

/// All flows together. Flows that alternate count per direction, except in `both_ways`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Total {
    /// Fair shares, added.
    pub share: Ranged,
    /// The same with the reads and writes of alternating flows added.
    pub both_ways: Ranged,
    /// What no allocation can exceed.
    pub bound: Ranged,
    /// What line coding, framing, headers and read requests alone leave.
    pub framing_limit: f64,
    /// What binds most flows.
    pub bound_by: Binding,
}

/// The element and resource that binds a flow, with the evidence.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct Binding {
    /// `links.uplink toward host`, `parts.nic`, or `flows.rx`.
    pub element: String,
    /// What of it: wire slots, tags, engine rate, …
    pub resource: String,
    /// How one can see it.
    pub evidence: String,
}

/// What a change of the binding element would give.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Upgrade {
    /// The change, as `path=value` where a scenario can say it.
    pub change: String,
    /// Whether the parts as described allow it; else they must change too.
    pub fits: bool,
    /// The share of all instances then.
    pub share: f64,
    /// The share of each instance then.
    pub each: Vec<f64>,
    /// What would bind then.
    pub then: Binding,
}

/// A measured value against the answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Measured {
    /// As given, of each instance.
    pub each: f64,
    /// What is not explained: share minus measured, of each instance; negative when more was measured than predicted.
    pub unexplained: Vec<f64>,
    /// How many instances are above their bound, every range at its faster end: then measurement or scenario is wrong.
    pub above_bound: usize,
}

/// Whether a flow's load can be carried.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// It has an answer.
    Stable,
    /// It wants far more than it gets: an open load above what something carries, so that a queue grows without end; or
    /// a source that always has more and gets less than half of what its own engine would move.
    Unstable,
}

impl Verdict {
    /// Of a load that `wants` so much and `gets` so much, in one unit, where the numbers are as exact as `noise`,
    /// relative. An `open` load comes whether
    /// it is carried or not: whatever is missing piles up. A source that always has more wants what its engine moves at
    /// most, and is held back like any other;
    /// there less than half is far.
    pub fn of(wants: f64, gets: f64, open: bool, noise: f64) -> Verdict {
        let least = if open { wants * (1.0 - noise) } else { wants / 2.0 };
        if gets < least { Verdict::Unstable } else { Verdict::Stable }
    }
}

/// What becomes of the part of a load that cannot be carried.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Excess {
    /// A queue before what binds grows.
    #[default]
    Queue,
    /// It waits at its source, which is held back.
    Source,
    /// A switch before what binds drops it.
    Dropped,
}

/// One direction of a link at the estimated load.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct LinkReport {
    /// The link.
    pub name: String,
    /// The end that sends.
    pub from: String,
    /// The end that receives; empty for a bus, which all its ends share.
    pub to: String,
    /// What it is.
    pub medium: Medium,
    /// `gen3 x8`, `10 Gb/s Ethernet`, `4GFC`, `ultra320 SCSI`, or `pci-x 133 64-bit`: for people.
    pub speed: String,
    /// Payload bits per second, with the corners.
    pub payload: Ranged,
    /// Where its bits go.
    pub ledger: Ledger,
    /// Data-carrying TLPs and read requests per second; of Ethernet, frames.
    pub tlps: f64,
    /// Bytes around the payload of one data TLP: framing and header, the mean over its TLPs; of a frame, with preamble
    /// and gap. `None` without data.
    pub tlp_overhead: Option<f64>,
}

/// Where the bits of one direction go; the entries below `raw` add up to it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Ledger {
    /// Signalled bits per second.
    pub raw: f64,
    /// Lost to line coding.
    pub line_coding: f64,
    /// SKP ordered sets.
    pub ordered_sets: f64,
    /// Fixed parts of flits: DLP, CRC, FEC.
    pub flits: f64,
    /// Preambles and gaps of Ethernet.
    #[serde(default)]
    pub gap: f64,
    /// Framing and headers of TLPs with data; of Ethernet header, FCS and padding.
    pub framing: f64,
    /// Of a bus: address, attributes and the target's response around data.
    #[serde(default)]
    pub address: f64,
    /// Of a bus: wait states.
    #[serde(default)]
    pub waits: f64,
    /// Of a bus: transactions that the target sends away.
    #[serde(default)]
    pub retries: f64,
    /// Of a bus: idle clocks behind transactions.
    #[serde(default)]
    pub turnarounds: f64,
    /// Read requests.
    pub requests: f64,
    /// Descriptors, completion entries and interrupts of NICs, whole TLPs.
    #[serde(default)]
    pub control: f64,
    /// Ack DLLPs.
    pub acks: f64,
    /// UpdateFC DLLPs.
    pub update_fc: f64,
    /// Payload.
    pub payload: f64,
    /// Nothing to send.
    pub idle: f64,
}

impl Ledger {
    /// The entries that add up to `raw`, in wire order, with the words a person reads.
    pub fn entries(&self) -> [(&'static str, f64); 15] {
        [
            ("line coding", self.line_coding),
            ("ordered sets", self.ordered_sets),
            ("flit CRC, FEC", self.flits),
            ("preamble, gap", self.gap),
            ("headers, framing", self.framing),
            ("address, response", self.address),
            ("wait states", self.waits),
            ("retries", self.retries),
            ("lines turn around", self.turnarounds),
            ("read requests", self.requests),
            ("descriptors, entries", self.control),
            ("Ack DLLPs", self.acks),
            ("UpdateFC DLLPs", self.update_fc),
            ("idle", self.idle),
            ("payload", self.payload),
        ]
    }

    /// After line coding.
    pub fn coded(&self) -> f64 {
        self.raw - self.line_coding
    }

    /// The share of the coded slots that is not idle.
    pub fn utilisation(&self) -> f64 {
        if self.coded() > 0.0 { 1.0 - self.idle / self.coded() } else { 0.0 }
    }
}

/// A switch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct SwitchReport {
    /// Its name.
    pub name: String,
    /// First bit in to first bit out, empty switch; of Ethernet, its `latency`: from the last bit that it waits for.
    pub latency: Ranged,
}

/// The JSON Schema of [`Report`].
pub fn json_schema() -> serde_json::Value {
    schema_of::<Report>()
}

/// The JSON Schema of an answer.
fn schema_of<T: JsonSchema>() -> serde_json::Value {
    let mut schema = schemars::schema_for!(T).to_value();
    unwrap_lines(&mut schema);
    schema
}

/// Descriptions as sentences, however long the lines of the source are.
fn unwrap_lines(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    serde_json::Value::String(text) if key == "description" => *text = text.replace('\n', " "),
                    _ => unwrap_lines(value),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(unwrap_lines),
        _ => {}
    }
}

/// A number that a row of a study, or a column of a sweep, can ask a report for.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The value in SI steps (bits/s, s, B, share, 1/s).
    pub value: f64,
    /// At the corners, where ranges reach it.
    pub range: Option<(f64, f64)>,
    /// What it is of.
    pub dimension: Dimension,
    /// The bound behind it, where there is one.
    pub bound: Option<f64>,
    /// What binds it.
    pub bound_by: Option<String>,
}

/// One line of the table of metrics.
pub struct MetricKind {
    /// `share` of `flows.rx.share`.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
}

/// Metrics of a flow: `flows.NAME.METRIC`; with `*` for NAME the first five, of all flows together.
pub const FLOW_METRICS: &[MetricKind] = &[
    MetricKind { name: "share", doc: "payload of all instances; per direction where the flow alternates" },
    MetricKind { name: "both_ways", doc: "payload of all instances, reads and writes added" },
    MetricKind { name: "bound", doc: "what no allocation can exceed" },
    MetricKind { name: "framing_limit", doc: "what line coding, framing, headers and requests alone leave" },
    MetricKind { name: "of_framing_limit", doc: "share / framing_limit" },
    MetricKind { name: "mean", doc: "share of an instance, on average" },
    MetricKind { name: "operations", doc: "operations, or packets, a second, all instances" },
    MetricKind { name: "goodput", doc: "share without the headers of packets" },
    MetricKind { name: "frame_rate", doc: "of frames, from destination address to FCS" },
    MetricKind { name: "latency_first", doc: "unloaded, to the first data" },
    MetricKind { name: "latency", doc: "unloaded, one operation to its last byte" },
    MetricKind { name: "round_trip", doc: "unloaded, one request to its last byte" },
];

/// Metrics of a link: `links.NAME.METRIC`, of both directions added unless `up` or `down` stands before the metric.
pub const LINK_METRICS: &[MetricKind] = &[
    MetricKind { name: "raw", doc: "signalled bits" },
    MetricKind { name: "coded", doc: "after line coding" },
    MetricKind { name: "payload", doc: "payload bits" },
    MetricKind { name: "tlps", doc: "TLPs, or frames" },
    MetricKind { name: "frame_rate", doc: "of Ethernet: frames with data, from destination address to FCS" },
    MetricKind {
        name: "tlp_overhead",
        doc: "bytes of framing and header of a data TLP; of a frame with preamble and gap",
    },
    MetricKind { name: "efficiency", doc: "payload / slots that are not idle or ordered sets" },
    MetricKind { name: "utilisation", doc: "slots that are not idle / slots" },
];

impl Binding {
    /// `links.uplink toward host: slots`.
    pub fn words(&self) -> String {
        format!("{}: {}", self.element, self.resource)
    }
}

impl Report {
    /// The names of links, each once.
    fn link_names(&self) -> impl Iterator<Item = &str> {
        let again = |i: usize| i > 0 && self.links[i].name == self.links[i - 1].name;
        self.links.iter().enumerate().filter(move |(i, _)| !again(*i)).map(|(_, l)| l.name.as_str())
    }

    /// Finds a metric by path, or says what is there.
    pub fn metric(&self, path: &str) -> Result<Metric, String> {
        let mut words: Vec<&str> = path.split('.').collect();
        let last = words.pop().unwrap_or("");
        let (last, size) = infiniband::program_metric(&mut words, last);
        match words.first().copied() {
            Some("flows") => {
                let name = words[1..].join(".");
                if let (Some(total), "*") = (&self.total, name.as_str()) {
                    return total.metric(last);
                }
                let flow = self.flows.iter().find(|f| f.name == name).ok_or_else(|| {
                    format!(
                        "{path}: there is no flow {name:?}; flows are {}",
                        list(self.flows.iter().map(|f| f.name.as_str()))
                    )
                })?;
                match flow.program_metric(last, size) {
                    Some(metric) => metric,
                    None => flow.metric(last),
                }
            }
            Some("links") => {
                // A link may itself be called "up": only a word behind a name is a direction.
                let way = match words.as_slice() {
                    [_, _, .., "up"] => Some(true),
                    [_, _, .., "down"] => Some(false),
                    _ => None,
                };
                if way.is_some() {
                    words.pop();
                }

                let name = words[1..].join(".");
                let sides: Vec<&LinkReport> = self.links.iter().filter(|l| l.name == name).collect();
                // A bus that all share has one entry.
                if let ([bus], None) = (sides.as_slice(), way) {
                    return link_metric(&[bus], last);
                }
                let [down, up] = sides.as_slice() else {
                    return Err(format!("{path}: there is no link {name:?}; links are {}", list(self.link_names())));
                };
                match way {
                    Some(true) => link_metric(&[up], last),
                    Some(false) => link_metric(&[down], last),
                    None => link_metric(&[down, up], last),
                }
            }
            Some("switches") => {
                let name = words[1..].join(".");
                match self.switches.iter().find(|s| s.name == name) {
                    Some(s) if last == "latency" => Ok(ranged(s.latency, Dimension::Time)),
                    Some(_) if last == "latency_max" => Err(format!("{path}: only a simulation gives it")),
                    _ => Err(format!(
                        "{path}: switches have a latency; there are {}",
                        list(self.switches.iter().map(|s| s.name.as_str()))
                    )),
                }
            }
            _ => Err(format!("{path}: a metric is flows.NAME.METRIC, links.NAME.METRIC or switches.NAME.latency")),
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.take(12).collect::<Vec<_>>().join(", ")
}

fn plain(value: f64, dimension: Dimension) -> Metric {
    Metric { value, range: None, dimension, bound: None, bound_by: None }
}

fn ranged(r: Ranged, dimension: Dimension) -> Metric {
    let (low, high) = r.ends();
    let range = (low < high).then_some((low, high));
    Metric { range, ..plain(r.typical, dimension) }
}

impl FlowReport {
    /// One of [`PROGRAM_METRICS`], with its range.
    fn program_metric(&self, name: &str, size: Option<u64>) -> Option<Result<Metric, String>> {
        let typical = match self.programs.first()?.metric(name, size)? {
            Ok(metric) => metric,
            Err(why) => return Some(Err(why)),
        };
        let ends = self.programs[1..].iter().filter_map(|p| p.metric(name, size)?.ok()).map(|m| m.value);
        let all = ends.chain([typical.value]);
        let (low, high) = all.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        let range = (self.programs.len() > 1 && low < high).then_some((low, high));
        Some(Ok(Metric { range, bound_by: Some(self.bound_by.words()), ..typical }))
    }

    /// One of [`FLOW_METRICS`].
    pub fn metric(&self, name: &str) -> Result<Metric, String> {
        let binding = || Some(self.bound_by.words());
        let both = if self.both_ways { 2.0 } else { 1.0 };
        let rate = |factor: f64| Metric {
            bound: Some(self.bound.typical * factor),
            bound_by: binding(),
            ..ranged(self.share.times(factor), Dimension::Rate)
        };
        let none = || format!("flow {} has no {name}", self.name);
        match name {
            "share" => Ok(rate(1.0)),
            "operations" => match self.operation {
                Some(bytes) if bytes > 0.0 => {
                    let each = self.share.times(1.0 / (8.0 * bytes));
                    Ok(Metric { bound_by: binding(), ..ranged(each, Dimension::PerSecond) })
                }
                _ => Err(none()),
            },
            "goodput" => match self.goodput {
                Some(rate) => Ok(Metric { bound_by: binding(), ..ranged(rate, Dimension::Rate) }),
                None => Err(format!("flow {} has no goodput: state the headers of its packets", self.name)),
            },
            "frame_rate" => match self.frame_rate {
                Some(rate) => Ok(Metric { bound_by: binding(), ..ranged(rate, Dimension::Rate) }),
                None => Err(format!("flow {} has no frames", self.name)),
            },
            "mean" => Ok(rate(1.0 / self.instances.max(1) as f64)),
            "both_ways" => Ok(rate(both)),
            "bound" => Ok(ranged(self.bound, Dimension::Rate)),
            "framing_limit" => Ok(plain(self.framing_limit, Dimension::Rate)),
            "of_framing_limit" => Ok(Metric {
                bound: Some(self.bound.typical / self.framing_limit),
                bound_by: binding(),
                ..ranged(self.share.times(1.0 / self.framing_limit), Dimension::Share)
            }),
            "latency_first" => self.latency_first.map(|l| ranged(l, Dimension::Time)).ok_or_else(none),
            "latency" => Ok(ranged(self.latency, Dimension::Time)),
            "round_trip" => self.round_trip.map(|l| ranged(l, Dimension::Time)).ok_or_else(none),
            _ => Err(format!("flows have {}", list(FLOW_METRICS.iter().map(|m| m.name)))),
        }
    }
}

impl Total {
    fn metric(&self, name: &str) -> Result<Metric, String> {
        let by = Some(self.bound_by.words());
        let with = |m: Metric, bound: f64| Metric { bound: Some(bound), bound_by: by.clone(), ..m };
        match name {
            "share" => Ok(with(ranged(self.share, Dimension::Rate), self.bound.typical)),
            "both_ways" => Ok(with(
                ranged(self.both_ways, Dimension::Rate),
                self.bound.typical * self.both_ways.typical / self.share.typical,
            )),
            "bound" => Ok(ranged(self.bound, Dimension::Rate)),
            "framing_limit" => Ok(plain(self.framing_limit, Dimension::Rate)),
            "of_framing_limit" => Ok(with(
                ranged(self.share.times(1.0 / self.framing_limit), Dimension::Share),
                self.bound.typical / self.framing_limit,
            )),
            _ => Err("all flows together have share, both_ways, bound, framing_limit and of_framing_limit".into()),
        }
    }
}

fn link_metric(sides: &[&LinkReport], name: &str) -> Result<Metric, String> {
    let sum = |f: &dyn Fn(&LinkReport) -> f64| sides.iter().map(|l| f(l)).sum::<f64>();
    let share = |part: f64, whole: f64| plain(if whole > 0.0 { part / whole } else { 0.0 }, Dimension::Share);
    match name {
        "raw" => Ok(plain(sum(&|l| l.ledger.raw), Dimension::Rate)),
        "coded" => Ok(plain(sum(&|l| l.ledger.coded()), Dimension::Rate)),
        "payload" => {
            let all = Ranged {
                typical: sum(&|l| l.payload.typical),
                slower: sum(&|l| l.payload.slower),
                faster: sum(&|l| l.payload.faster),
            };
            Ok(ranged(all, Dimension::Rate))
        }
        "tlps" => Ok(plain(sum(&|l| l.tlps), Dimension::PerSecond)),
        "frame_rate" if sides.iter().all(|l| l.medium == Medium::Ethernet) => {
            Ok(plain(sum(&|l| l.ledger.payload + l.ledger.framing), Dimension::Rate))
        }
        "utilisation" => Ok(share(sum(&|l| l.ledger.coded() - l.ledger.idle), sum(&|l| l.ledger.coded()))),
        "efficiency" => {
            let used = sum(&|l| l.ledger.coded() - l.ledger.idle - l.ledger.ordered_sets);
            Ok(share(sum(&|l| l.ledger.payload), used))
        }
        "tlp_overhead" => {
            let some: Vec<f64> = sides.iter().filter_map(|l| l.tlp_overhead).collect();
            match some.len() {
                0 => Err("no data crosses that link".into()),
                n => Ok(plain(some.iter().sum::<f64>() / n as f64, Dimension::Bytes)),
            }
        }
        _ => Err(format!("links have {}", list(LINK_METRICS.iter().map(|m| m.name)))),
    }
}
