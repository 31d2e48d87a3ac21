//! What a simulation gives: means with intervals, distributions, and every slot of every wire accounted for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a slot was idle: what held when the idleness began. The later ones take precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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
}

impl Idle {
    /// All of them, in order.
    pub const ALL: [Idle; 10] = [
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
        }
    }

    /// Whether it waits for something that the receiver gives back.
    pub fn is_credit(self) -> bool {
        self >= Idle::ReplayBuffer
    }
}

/// The slots (bytes after line coding) of one direction of a link; the parts add up to [`SlotCounts::total`].
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
    /// Idle, by cause, in the order of [`Idle::ALL`].
    pub idle: [u64; 10],
    /// TLPs (not slots).
    pub tlps: u64,
    /// TLPs with data (not slots).
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
    /// Half of the interval's width.
    pub half: f64,
}

impl Interval {
    /// The same, scaled.
    pub fn times(self, factor: f64) -> Interval {
        Interval { mean: self.mean * factor, half: self.half * factor.abs() }
    }

    /// Half width / mean; infinite without a mean.
    pub fn relative(self) -> f64 {
        if self.mean > 0.0 { self.half / self.mean } else { f64::INFINITY }
    }
}

/// Why a simulation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "ending")]
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
    /// TLPs carried over links, from the beginning.
    pub packets: u64,
    /// Events of the kernel, from the beginning.
    pub events: u64,
    /// Intervals of the means asked for, as a share; `None` when the length was asked for.
    pub until: Option<f64>,
    /// One per table of flows, in the order of the report.
    pub flows: Vec<SimulatedFlow>,
    /// All flows together, bits per second, with reads and writes of alternating flows added.
    pub both_ways: Interval,
    /// Directions of links, in the order of the report.
    pub links: Vec<SimulatedLink>,
    /// Switches, in the order of the report.
    pub switches: Vec<SimulatedSwitch>,
}

/// One table of flows, simulated. Rates are payload bits per second, times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedFlow {
    /// Its name.
    pub name: String,
    /// Payload of all instances; per direction where it alternates.
    pub rate: Interval,
    /// Payload of each instance.
    pub each: Vec<f64>,
    /// Time of an operation, from its beginning (an arrival, or the first TLP of a saturating load) to its last byte.
    pub latency: Interval,
    /// To the first data, of reads.
    pub latency_first: Option<f64>,
    /// Percentiles of the same over the measured time.
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
    /// Whether the backlog grows without end.
    pub unstable: bool,
    /// What binds, as the ledger shows it.
    pub bound_by: super::Binding,
}

/// One direction of a link, simulated: every slot of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedLink {
    /// The link.
    pub name: String,
    /// The end that sends.
    pub from: String,
    /// The end that receives.
    pub to: String,
    /// Slots of the measured time, cut between packets.
    pub slots: SlotCounts,
    /// Payload bits per second.
    pub payload: f64,
    /// Bits per second after line coding: the rate of the slots.
    pub coded: f64,
}

/// A switch, simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedSwitch {
    /// Its name.
    pub name: String,
    /// First bit in to first bit out, the mean, s; 0 without packets.
    pub latency: f64,
    /// The longest, s.
    pub latency_max: f64,
    /// TLPs that it carried.
    pub tlps: u64,
}
