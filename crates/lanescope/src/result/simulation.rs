//! What a simulation gives: means with intervals, distributions, and every slot of every wire accounted for.

use super::{Binding, IoSeen, Latencies, Medium, MetricKind, NotModelled, Note, Report, SimulatedBackbone};
use crate::result::core::causes;
use crate::units::Dimension;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a slot was idle: what held when the idleness began. The later ones take precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Idle {
    /// Nothing to send.
    #[default]
    NothingToSend,
    /// Waiting for a switch's shared core.
    Core,
    /// The engine's own rate or interval.
    Pace,
    /// Waiting for data with all tags in use.
    Tags,
    /// An engine's turn-around.
    TurnAround,
    /// The packet's ingress port is being read for another egress port.
    Arbitration,
    /// The retry buffer is full of TLPs that are not acknowledged.
    ReplayBuffer,
    /// No credits for completions at the receiver.
    CompletionCredits,
    /// No credits for non-posted requests at the receiver.
    NonPostedCredits,
    /// No credits for posted requests at the receiver.
    PostedCredits,
    /// No buffer-to-buffer credit of Fibre Channel at the receiver.
    BufferCredits,
    /// No credit for a virtual lane of InfiniBand at the receiver.
    LaneCredits,
    /// Every destination with frames has yet to grant them.
    Grants,
    /// Every destination with frames was stopped by a switch.
    Stopped,
    /// Paused by the receiver.
    Paused,
    /// An adapter's data have not come from host memory.
    Host,
    /// Of a bus: its devices wait for data that the bridge does not have yet.
    Bridge,
}

impl Idle {
    /// All of them, in order.
    pub const ALL: [Idle; 17] = [
        Idle::NothingToSend,
        Idle::Core,
        Idle::Pace,
        Idle::Tags,
        Idle::TurnAround,
        Idle::Arbitration,
        Idle::ReplayBuffer,
        Idle::CompletionCredits,
        Idle::NonPostedCredits,
        Idle::PostedCredits,
        Idle::BufferCredits,
        Idle::LaneCredits,
        Idle::Grants,
        Idle::Stopped,
        Idle::Paused,
        Idle::Host,
        Idle::Bridge,
    ];

    /// What a person calls it.
    pub fn words(self) -> &'static str {
        match self {
            Idle::NothingToSend => "nothing to send",
            Idle::Core => "waiting for the core",
            Idle::Pace => "the engine's own rate",
            Idle::Tags => "all tags in use",
            Idle::TurnAround => "turn-around",
            Idle::Arbitration => "lost arbitration",
            Idle::ReplayBuffer => "replay buffer full",
            Idle::CompletionCredits => "no completion credits",
            Idle::NonPostedCredits => "no non-posted credits",
            Idle::PostedCredits => "no posted credits",
            Idle::BufferCredits => "no buffer credit",
            Idle::LaneCredits => "no virtual-lane credit",
            Idle::Grants => "nothing granted",
            Idle::Stopped => "its destinations stopped",
            Idle::Paused => "paused",
            Idle::Host => "waiting for host memory",
            Idle::Bridge => "waiting for the bridge",
        }
    }

    /// Whether it waits for something that the receiver gives back.
    pub fn is_credit(self) -> bool {
        self >= Idle::ReplayBuffer && self < Idle::Grants
    }
}

/// The slots (bytes after line coding) of one direction of a link; the parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotCounts {
    /// Payload, first transmissions.
    pub payload: u64,
    /// Framing, headers and fill of TLPs with data.
    pub framing: u64,
    /// Read requests.
    pub requests: u64,
    /// Ack DLLPs.
    pub acks: u64,
    /// UpdateFC DLLPs.
    pub update_fc: u64,
    /// SKP ordered sets.
    pub ordered_sets: u64,
    /// Second and later transmissions, whole.
    pub replays: u64,
    /// Fill of the last symbol time before idle.
    pub padding: u64,
    /// Preamble, start delimiter and gap of frames.
    #[serde(default)]
    pub gap: u64,
    /// PAUSE, PFC and other control frames, with their preamble and gap.
    #[serde(default)]
    pub control: u64,
    /// Of a bus: address, attributes and the target's response around data.
    #[serde(default)]
    pub address: u64,
    /// Of a bus: wait states.
    #[serde(default)]
    pub waits: u64,
    /// Of a bus: transactions that the target sent away.
    #[serde(default)]
    pub retries: u64,
    /// Of a bus: idle clocks behind transactions, in which the lines change hands.
    #[serde(default)]
    pub turnarounds: u64,
    /// Arbitration and selection on a shared bus.
    #[serde(default)]
    pub arbitration: u64,
    /// Idle, by cause, in the order of [`Idle::ALL`]; in JSON an object with a number for each [`Idle`].
    #[serde(with = "causes::of_links")]
    #[schemars(with = "causes::Links")]
    pub idle: [u64; 17],
    /// Control frames (not slots).
    #[serde(default)]
    pub controls: u64,
    /// TLPs or frames (not slots).
    pub tlps: u64,
    /// TLPs or frames with data (not slots).
    pub data_tlps: u64,
}

impl SlotCounts {
    /// All slots.
    pub fn total(&self) -> u64 {
        self.busy() + self.idle.iter().sum::<u64>()
    }

    /// Those that are not idle.
    pub fn busy(&self) -> u64 {
        self.payload
            + self.framing
            + self.requests
            + self.acks
            + self.update_fc
            + self.ordered_sets
            + self.replays
            + self.padding
            + self.gap
            + self.control
            + self.address
            + self.waits
            + self.retries
            + self.turnarounds
            + self.arbitration
    }

    /// What came since an earlier count.
    pub fn since(&self, then: &SlotCounts) -> SlotCounts {
        let mut idle = self.idle;
        idle.iter_mut().zip(then.idle).for_each(|(now, then)| *now -= then);
        SlotCounts {
            payload: self.payload - then.payload,
            framing: self.framing - then.framing,
            requests: self.requests - then.requests,
            acks: self.acks - then.acks,
            update_fc: self.update_fc - then.update_fc,
            ordered_sets: self.ordered_sets - then.ordered_sets,
            replays: self.replays - then.replays,
            padding: self.padding - then.padding,
            gap: self.gap - then.gap,
            control: self.control - then.control,
            address: self.address - then.address,
            waits: self.waits - then.waits,
            retries: self.retries - then.retries,
            turnarounds: self.turnarounds - then.turnarounds,
            arbitration: self.arbitration - then.arbitration,
            controls: self.controls - then.controls,
            idle,
            tlps: self.tlps - then.tlps,
            data_tlps: self.data_tlps - then.data_tlps,
        }
    }
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width; null while there are too few batches to tell.
    pub half: Option<f64>,
}

impl Interval {
    /// The same, scaled.
    pub fn times(self, factor: f64) -> Interval {
        Interval { mean: self.mean * factor, half: self.half.map(|h| h * factor.abs()) }
    }

    /// The sum of two, which may move together: half widths are added, not their squares.
    pub fn plus(self, other: Interval) -> Interval {
        Interval { mean: self.mean + other.mean, half: self.half.zip(other.half).map(|(a, b)| a + b) }
    }

    /// Half width / mean; infinite without a mean.
    pub fn relative(self) -> f64 {
        self.half.filter(|_| self.mean > 0.0).map_or(f64::INFINITY, |h| h / self.mean)
    }
}

/// Why a simulation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "ending")]
#[non_exhaustive]
pub enum Ending {
    /// It goes on.
    Running,
    /// All means are as tight as asked for.
    Tight,
    /// The length asked for is over.
    Length,
    /// The cap on simulated time.
    TimeCap,
    /// The cap on packets.
    PacketCap,
    /// The backlog of an open load grows without end, so no mean of its latency will ever be tight.
    Unstable,
    /// Somebody stopped it.
    Stopped,
    /// Packets wait for one another in a circle; the elements of it in order, each waiting for the next.
    Deadlock {
        /// `links.a toward sw.1: posted credits`.
        circle: Vec<String>,
    },
    /// Nothing was delivered for many round trips although there is work.
    Stall {
        /// What waits, and for what.
        waiting: Vec<String>,
    },
    /// Nothing is left to happen: every load is done or waits for ever.
    Silent,
    /// All ranks of all programs have ended.
    Finished,
    /// A program cannot go on: its ranks contradict one another.
    Fault {
        /// Who, and how.
        what: String,
    },
}

impl Ending {
    /// One word.
    pub fn name(&self) -> &'static str {
        match self {
            Ending::Running => "running",
            Ending::Tight => "tight",
            Ending::Length => "length",
            Ending::TimeCap => "time-cap",
            Ending::PacketCap => "packet-cap",
            Ending::Unstable => "unstable",
            Ending::Stopped => "stopped",
            Ending::Deadlock { .. } => "deadlock",
            Ending::Stall { .. } => "stall",
            Ending::Silent => "silent",
            Ending::Finished => "finished",
            Ending::Fault { .. } => "fault",
        }
    }
}

fn one_thread() -> usize {
    1
}

fn is_one(threads: &usize) -> bool {
    *threads == 1
}

/// What a simulation gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// Start of all random numbers.
    pub seed: u64,
    /// A hash of what was done when: the same plan, seed and version give the same.
    pub fingerprint: String,
    /// Why it ended.
    pub ending: Ending,
    /// What was left out at the beginning, s.
    pub warmup: f64,
    /// The measured time after that, s.
    pub window: f64,
    /// TLPs and frames carried over links, from the beginning; at flow level, messages begun.
    pub packets: u64,
    /// Whether messages were followed as flows, not packet by packet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flow_level: bool,
    /// Events of the kernel, from the beginning.
    pub events: u64,
    /// Threads that it ran on, at most at once; left out where it is one. The outcome is the same with any number.
    #[serde(default = "one_thread", skip_serializing_if = "is_one")]
    pub threads: usize,
    /// Intervals of the means asked for, as a share; `None` when the length was asked for.
    pub until: Option<f64>,
    /// One per flow group, in the order of the report.
    pub flows: Vec<SimulatedFlow>,
    /// All flows together, bits per second, with reads and writes of alternating flows added.
    pub both_ways: Interval,
    /// Directions of links, in the order of the report.
    pub links: Vec<SimulatedLink>,
    /// Switches, in the order of the report.
    pub switches: Vec<SimulatedSwitch>,
    /// Backbones of root complexes, in the order of the parts.
    #[serde(default)]
    pub backbones: Vec<SimulatedBackbone>,
    /// Keys that the scenario states and the simulation does not model; in a [`Report`] they stand there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_modelled: Vec<NotModelled>,
    /// Remarks; in a [`Report`] they stand there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// One flow group, simulated. Rates are payload bits per second, times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedFlow {
    /// Its name.
    pub name: String,
    /// Payload of all instances; per direction where it alternates.
    pub rate: Interval,
    /// Payload of each instance.
    pub each: Vec<f64>,
    /// Of packets with headers, the rate without these.
    #[serde(default)]
    pub goodput: Option<f64>,
    /// Time of an operation, from its beginning (an arrival, or the first TLP of a saturating load) to its last byte.
    pub latency: Interval,
    /// To the first data, of reads.
    pub latency_first: Option<f64>,
    /// Percentiles of the same over the measured time; of I/Os, of those that began in it.
    pub p50: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// Operations done in the measured time.
    pub operations: u64,
    /// Operations in flight, on average: by their beginnings and ends.
    pub in_flight: f64,
    /// The same by Little's law: operations per second x mean latency.
    pub little: f64,
    /// Of an open load: operations that had arrived and not begun, at the end.
    pub backlog: u64,
    /// Whether the backlog grows without end, or the load gets far less than it asks for.
    pub unstable: bool,
    /// Of frames: what Ethernet counts.
    #[serde(default)]
    pub frames: Option<SimulatedFrames>,
    /// Of I/Os: where their time went.
    #[serde(default)]
    pub ios: Option<SimulatedIos>,
    /// Of ranks: what their program took.
    #[serde(default)]
    pub program: Option<super::ProgramReport>,
    /// What binds, as the ledger shows it.
    pub bound_by: Binding,
    /// The same over several seeds, where there were several.
    #[serde(default)]
    pub over_seeds: Option<OverSeeds>,
    /// The links that it goes over, by their places, where they are known; forgotten once notes are made of them.
    #[serde(skip)]
    pub(crate) ways: Vec<u32>,
}

impl SimulatedFlow {
    /// How far the rate is from a share (bits per second), as a part of it; `None` within its interval: by chance.
    pub(crate) fn off(&self, share: f64) -> Option<f64> {
        let near = self.rate.half.is_some_and(|half| (self.rate.mean - share).abs() <= half);
        (!near).then_some(self.rate.mean / share - 1.0)
    }

    /// Bytes that write caches took in and did not write on, and the time that it took, s, if that is most of what a
    /// flow got above a share (bits per second).
    pub(crate) fn filled_caches(&self, share: f64) -> Option<(f64, f64)> {
        let ios = self.ios.as_ref()?;
        let (cached, time) = (ios.cached as f64, ios.seen.time);
        // Of a mix, reads come the faster for it, too; what is cached is of its writes.
        let above = (self.rate.mean - share) / 8.0 * time * ios.seen.written();
        (above > 0.0 && cached > 0.5 * above).then_some((cached, time))
    }
}

/// The stages of an I/O, from its worker to its target and back; they add up to its latency.
pub const STAGES: [&str; 6] = [
    "host, waiting for its processor and issuing",
    "adapter, fetching and processing the command",
    "waiting for the target, to the first data",
    "data, to the last byte in its place",
    "status, to host memory",
    "host, completing",
];

/// The I/Os of a flow group in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedIos {
    /// I/Os done per second, all instances.
    pub per_second: f64,
    /// Mean time in each of [`STAGES`], s; they add up to the mean latency of the I/Os counted.
    pub stages: [f64; 6],
    /// What of that which takes part in them has worked, and the share of the time: workers, adapters and their
    /// memories, targets; the busiest first, at most 16.
    pub busy: Vec<(String, f64)>,
    /// What instruments count: of I/Os that began in the measured time and are done.
    #[serde(default)]
    pub seen: IoSeen,
    /// How long the oldest I/O that is in flight at the end has been wanted, s; 0 where none is. What is longer than
    /// any I/O that was done has been overtaken by others.
    #[serde(default)]
    pub oldest: f64,
    /// Bytes that the write caches of its targets held more at the end than when measuring began; negative where they
    /// held less. Those that other flows write to as well count whole.
    #[serde(default)]
    pub cached: i64,
    /// The latencies of the same, reads and writes.
    #[serde(default)]
    pub latencies: [Latencies; 2],
    /// Those of trims.
    #[serde(default)]
    pub trim_latencies: Latencies,
}

/// The frames of a flow group in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedFrames {
    /// Bits per second delivered, from destination address to FCS, all instances.
    pub rate: Interval,
    /// Frames that left the application, or were dropped there.
    #[serde(default)]
    pub sent: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// Frames dropped, anywhere.
    pub dropped: u64,
    /// Of `dropped`: frames of messages for which the station's queue had no room.
    #[serde(default)]
    pub refused: u64,
    /// Of `sent`: frames of RoCE that were sent again.
    #[serde(default)]
    pub resent: u64,
    /// Frames of RoCE that came and that their receiver did not take: behind a lost one, or twice.
    #[serde(default)]
    pub discarded: u64,
    /// Frames delivered with a mark of congestion, and the notifications that their sources were sent for them.
    #[serde(default)]
    pub marked: u64,
    /// See `marked`.
    #[serde(default)]
    pub notified: u64,
    /// Frames in adapters, on wires and in switches at the end.
    #[serde(default)]
    pub in_flight: u64,
    /// Time of an operation from its first byte's leaving the application to its last byte.
    pub transit: Interval,
    /// 99 % of them took no longer.
    pub transit_p99: f64,
    /// The longest.
    pub transit_max: f64,
}

/// A flow group over several seeds: means of independent runs. Maxima and tail percentiles have their intervals only
/// from here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverSeeds {
    /// How many.
    pub seeds: usize,
    /// Payload of all instances.
    pub rate: Interval,
    /// Mean time of an operation.
    pub latency: Interval,
    /// 99 % of the operations took no longer.
    pub p99: Interval,
    /// The longest of each run.
    pub max: Interval,
    /// Frames dropped in each run.
    #[serde(default)]
    pub dropped: Option<Interval>,
    /// The longest of each run, from leaving the application.
    #[serde(default)]
    pub transit_max: Option<Interval>,
}

/// One direction of a link, simulated: every slot of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedLink {
    /// The link.
    pub name: String,
    /// The end that sends.
    pub from: String,
    /// The end that receives; empty for a bus, which all its ends share.
    pub to: String,
    /// What it is.
    pub medium: Medium,
    /// Slots of the measured time, cut between packets.
    pub slots: SlotCounts,
    /// Payload bits per second.
    pub payload: Interval,
    /// Bits per second after line coding: the rate of the slots.
    pub coded: f64,
    /// Pause frames (PAUSE or PFC) that ask to stop, and to go on, in the measured time.
    #[serde(default)]
    pub pauses: (u64, u64),
}

/// A switch, simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedSwitch {
    /// Its name.
    pub name: String,
    /// First bit in to first bit out, the mean, s; 0 without packets. Of Ethernet from where the key `latency` counts:
    /// the last bit in, or that of the header.
    pub latency: f64,
    /// The longest, s.
    pub latency_max: f64,
    /// TLPs or frames that it carried.
    pub tlps: u64,
    /// Of an Ethernet switch: what its memory held and what it dropped.
    #[serde(default)]
    pub memory: Option<SimulatedMemory>,
}

/// The memory of an Ethernet switch in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedMemory {
    /// The most in use, bytes.
    pub most: u64,
    /// In use at the end, bytes.
    pub at_end: u64,
    /// Frames dropped because the memory was full.
    pub no_memory: u64,
    /// Of `no_memory`: frames of priorities that are not lossless, which found the memory with room, but not the part
    /// of it that such priorities may take (`lossy_memory`). For people; JSON has the sum.
    #[serde(skip)]
    pub no_lossy: u64,
    /// Frames dropped because a port and priority had used up its headroom.
    pub no_headroom: u64,
    /// Bytes that there are, of all ports together.
    #[serde(default)]
    pub size: u64,
}

/// A simulated number of [`Report::simulated`], in SI steps.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedMetric {
    /// The value with its interval; a maximum has none.
    pub value: Interval,
    /// What it is of.
    pub dimension: Dimension,
    /// What binds it.
    pub bound_by: Option<String>,
}

/// Metrics that only a simulation gives: `flows.NAME.METRIC`, of the operations of the measured time.
pub const SIMULATED_FLOW_METRICS: &[MetricKind] = &[
    MetricKind { name: "latency_p50", doc: "half of the operations took no longer" },
    MetricKind { name: "latency_p99", doc: "99 % of the operations took no longer" },
    MetricKind { name: "latency_p999", doc: "99.9 % of the operations took no longer" },
    MetricKind { name: "latency_max", doc: "the longest; of a switch: switches.NAME.latency_max" },
    MetricKind { name: "transit", doc: "of frames, from leaving the application, the mean" },
    MetricKind { name: "transit_p99", doc: "the same, 99 % took no longer" },
    MetricKind { name: "transit_max", doc: "the same, the longest" },
    MetricKind { name: "drops", doc: "frames dropped in the measured time" },
];

impl Report {
    /// Finds the simulated value of a metric by the same path as [`Report::metric`], or says why there is none.
    pub fn simulated(&self, path: &str) -> Result<SimulatedMetric, String> {
        let s = self.simulation.as_ref().ok_or("it was not simulated")?;
        let (place, last) = path.rsplit_once('.').unwrap_or(("", path));
        let plain =
            |mean: f64, dimension| SimulatedMetric { value: Interval { mean, half: None }, dimension, bound_by: None };
        if let Some(name) = place.strip_prefix("switches.") {
            let switch =
                s.switches.iter().find(|w| w.name == name).ok_or_else(|| format!("there is no switch {name:?}"))?;
            return match last {
                "latency" => Ok(plain(switch.latency, Dimension::Time)),
                "latency_max" => Ok(plain(switch.latency_max, Dimension::Time)),
                "memory_max" if switch.memory.is_some() => {
                    Ok(plain(switch.memory.map_or(0.0, |m| m.most as f64), Dimension::Bytes))
                }
                "drops" if switch.memory.is_some() => {
                    let drops = switch.memory.map_or(0, |m| m.no_memory + m.no_headroom);
                    Ok(plain(drops as f64, Dimension::Count))
                }
                _ => Err("switches have latency and latency_max, those of Ethernet also memory_max and drops".into()),
            };
        }
        if let Some(name) = place.strip_prefix("links.") {
            return s.link(name, last);
        }
        let mut words: Vec<&str> = place.split('.').collect();
        let (last, size) = super::infiniband::program_metric(&mut words, last);
        let place = words.join(".");
        let name = place.strip_prefix("flows.").ok_or_else(|| format!("{path} is not simulated"))?;
        if let ("*", Some(total)) = (name, &self.total) {
            let rate = |value| SimulatedMetric {
                value,
                dimension: Dimension::Rate,
                bound_by: s.flows.first().map(|f| f.bound_by.words()),
            };
            let one_way = s.flows.iter().map(|f| f.rate).fold(Interval { mean: 0.0, half: Some(0.0) }, Interval::plus);
            let frames = || s.flows.iter().filter_map(|f| f.frames);
            return match last {
                "frame_rate" => {
                    Ok(rate(frames().map(|f| f.rate).fold(Interval { mean: 0.0, half: Some(0.0) }, Interval::plus)))
                }
                "drops" => Ok(plain(frames().map(|f| f.dropped as f64).sum(), Dimension::Count)),
                "share" => Ok(rate(one_way)),
                "both_ways" => Ok(rate(s.both_ways)),
                "of_framing_limit" => Ok(SimulatedMetric {
                    dimension: Dimension::Share,
                    ..rate(one_way.times(1.0 / total.framing_limit))
                }),
                _ => Err(format!("{path} is not simulated")),
            };
        }
        let (f, e) = s
            .flows
            .iter()
            .zip(&self.flows)
            .find(|(f, _)| f.name == name)
            .ok_or_else(|| format!("there is no flow {name:?}"))?;
        if let Some(metric) = f.program.as_ref().and_then(|p| p.metric(last, size)) {
            return metric
                .map(|m| SimulatedMetric { bound_by: Some(f.bound_by.words()), ..plain(m.value, m.dimension) });
        }
        let rate = |value| SimulatedMetric { value, dimension: Dimension::Rate, bound_by: Some(f.bound_by.words()) };
        match last {
            "share" => Ok(rate(f.rate)),
            "goodput" => match f.goodput {
                Some(part) if f.rate.mean > 0.0 => Ok(rate(f.rate.times(part / f.rate.mean))),
                _ => Err(format!("flow {name} has no goodput: state the headers of its packets")),
            },
            "mean" => Ok(rate(f.rate.times(1.0 / e.instances.max(1) as f64))),
            "both_ways" => Ok(rate(f.rate.times(if e.both_ways { 2.0 } else { 1.0 }))),
            "of_framing_limit" => {
                Ok(SimulatedMetric { dimension: Dimension::Share, ..rate(f.rate.times(1.0 / e.framing_limit)) })
            }
            "latency" => Ok(SimulatedMetric { value: f.latency, ..plain(0.0, Dimension::Time) }),
            "latency_first" => {
                f.latency_first.map(|l| plain(l, Dimension::Time)).ok_or_else(|| "no reads were done".into())
            }
            "operations" => Ok(plain(f.operations as f64 / s.window, Dimension::PerSecond)),
            "latency_p50" => Ok(plain(f.p50, Dimension::Time)),
            "latency_p99" => Ok(plain(f.p99, Dimension::Time)),
            "latency_p999" => Ok(plain(f.p999, Dimension::Time)),
            "latency_max" => Ok(plain(f.max, Dimension::Time)),
            _ => {
                let frames = f.frames.ok_or_else(|| format!("{path} is not simulated"))?;
                match last {
                    "frame_rate" => Ok(rate(frames.rate)),
                    "transit" => Ok(SimulatedMetric { value: frames.transit, ..plain(0.0, Dimension::Time) }),
                    "transit_p99" => Ok(plain(frames.transit_p99, Dimension::Time)),
                    "transit_max" => Ok(plain(frames.transit_max, Dimension::Time)),
                    "drops" => Ok(plain(frames.dropped as f64, Dimension::Count)),
                    _ => Err(format!("{path} is not simulated")),
                }
            }
        }
    }
}

impl Simulation {
    /// `1234 packets on links`, or what else was followed.
    pub(crate) fn followed(&self) -> String {
        let n = self.packets;
        let threads = if self.threads > 1 { format!(" on {} threads", self.threads) } else { String::new() };
        if self.flow_level {
            let handshakes = self.flows.iter().any(|f| f.program.is_some());
            format!("{n} messages at flow level{}", if handshakes { ", handshakes included" } else { "" })
        } else {
            format!("{n} packets on links{threads}")
        }
    }

    /// One of the link metrics, of a direction or of both added.
    fn link(&self, name: &str, metric: &str) -> Result<SimulatedMetric, String> {
        let find = |name: &str| self.links.iter().filter(|l| l.name == name).collect::<Vec<_>>();
        let mut sides = find(name);
        if let (true, Some((name, way))) = (sides.is_empty(), name.rsplit_once('.')) {
            sides = find(name);
            match (way, sides.as_slice()) {
                ("down", [down, _]) => sides = vec![*down],
                ("up", [_, up]) => sides = vec![*up],
                _ => sides.clear(),
            }
        }
        if sides.is_empty() {
            return Err(format!("there is no link {name:?}"));
        }
        let sum = |f: &dyn Fn(&SimulatedLink) -> f64| sides.iter().map(|l| f(l)).sum::<f64>();
        let plain = |mean: f64, dimension| {
            Ok(SimulatedMetric { value: Interval { mean, half: None }, dimension, bound_by: None })
        };
        match metric {
            "coded" => plain(sum(&|l| l.coded), Dimension::Rate),
            "payload" => {
                let value =
                    sides.iter().map(|l| l.payload).fold(Interval { mean: 0.0, half: Some(0.0) }, Interval::plus);
                // The fullest direction, when it is full.
                let full = sides
                    .iter()
                    .map(|l| (l, l.utilisation()))
                    .max_by(|a, b| a.1.total_cmp(&b.1))
                    .filter(|l| l.1 > 0.97);
                let bound_by = full.map(|(l, _)| format!("{}: slots", super::way(&l.name, &l.to)));
                Ok(SimulatedMetric { value, dimension: Dimension::Rate, bound_by })
            }
            "tlps" => plain(sum(&|l| l.slots.tlps as f64) / self.window, Dimension::PerSecond),
            "frame_rate" if sides.iter().all(|l| l.medium == Medium::Ethernet) => {
                let bytes = |l: &SimulatedLink| (l.slots.payload + l.slots.framing + l.slots.padding) as f64;
                plain(sum(&bytes) * 8.0 / self.window, Dimension::Rate)
            }
            "pauses" => plain(sum(&|l| (l.pauses.0 + l.pauses.1) as f64) / self.window, Dimension::PerSecond),
            "utilisation" => {
                plain(sum(&|l| l.slots.busy() as f64) / sum(&|l| l.slots.total() as f64), Dimension::Share)
            }
            "efficiency" => {
                let used = sum(&|l| (l.slots.busy() - l.slots.ordered_sets) as f64);
                plain(if used > 0.0 { sum(&|l| l.slots.payload as f64) / used } else { 0.0 }, Dimension::Share)
            }
            "tlp_overhead" => {
                plain(sum(&|l| l.slots.framing as f64) / sum(&|l| l.slots.data_tlps as f64), Dimension::Bytes)
            }
            _ => Err(format!("links.{name}.{metric} is not simulated")),
        }
    }
}

impl SimulatedLink {
    /// The share of the slots that is not idle.
    pub fn utilisation(&self) -> f64 {
        self.slots.busy() as f64 / self.slots.total().max(1) as f64
    }

    /// Where the bits of a link went that signals so many a second: parts of `raw`, which they add up to; payload last.
    pub fn rates(&self, raw: f64) -> Vec<(&'static str, f64)> {
        let all = self.slots.total().max(1) as f64;
        let mut entries = vec![("line coding", raw - self.coded)];
        entries.extend(self.entries().into_iter().map(|(name, n)| (name, n as f64 / all * self.coded)));
        entries
    }

    /// Where its slots went, with the words a person reads; payload last.
    pub fn entries(&self) -> Vec<(&'static str, u64)> {
        let s = &self.slots;
        let mut all = vec![
            ("ordered sets", s.ordered_sets),
            ("headers, framing", s.framing),
            ("read requests", s.requests),
            ("Ack DLLPs", s.acks),
            ("UpdateFC DLLPs", s.update_fc),
            ("replays", s.replays),
            ("padding", s.padding),
            ("preamble, gap", s.gap),
            ("control frames", s.control),
            ("address, response", s.address),
            ("wait states", s.waits),
            ("retries", s.retries),
            ("lines turn around", s.turnarounds),
            ("arbitration, selection", s.arbitration),
        ];
        all.extend(Idle::ALL.into_iter().zip(s.idle).map(|(cause, n)| (cause.words(), n)));
        all.push(("payload", s.payload));
        all
    }
}
