//! The keys of Ethernet: stations, switches, links and the frames that flow.

use super::*;
use crate::protocol::ethernet::{LineRate, PRIORITIES};
use crate::scenario::quantity::expected;
use crate::units::Length;

words! {
    /// Where a switch keeps the frames that it cannot send yet.
    Buffers {
        /// One memory for all ports.
        Shared = "shared",
        /// A memory at each port, for what goes out there.
        Output = "output",
        /// A memory at each port, for what came in there, in one FIFO: who waits holds up all behind him.
        Input = "input",
    }
}

words! {
    /// How a switch keeps its memory from overflowing.
    FlowControl {
        /// It does not: what finds no room is dropped.
        None = "none",
        /// 802.3x: PAUSE to every neighbour while the memory in use is high (802.3, annex 31B).
        Pause = "pause",
        /// Priority-based: PAUSE of one priority to the neighbour whose frames of it fill the memory (802.1Qbb).
        Pfc = "pfc",
        /// Queues per destination at the stations; the switch stops one destination while its output queue is high.
        Voq = "voq",
        /// Stations send only what their destination has granted.
        Credits = "credits",
    }
}

words! {
    /// What slows sources down end to end.
    CongestionControl {
        /// Nothing.
        None = "none",
        /// ECN marks, congestion notification packets and rate control of RoCEv2 (Zhu et al., SIGCOMM 2015).
        Dcqcn = "dcqcn",
    }
}

words! {
    /// Which priority a port serves next.
    Scheduling {
        /// One frame of each in turn.
        Turns = "turns",
        /// The highest that waits.
        Strict = "strict",
        /// Deficit round robin (Shreedhar, Varghese, SIGCOMM 1995): bytes of each by its weight.
        Weighted = "weighted",
    }
}

words! {
    /// How a switch chooses among ways of equal length.
    Ecmp {
        /// By a hash of the flow: source, destination and table.
        Hash = "hash",
        /// By the digits of the destination's number (d-mod-k): a permutation of a fat tree finds ways of its own.
        Destination = "destination",
        /// By a hash of the flow and of its pauses: what it sends after a pause of flowlet_gap may take another way
        /// (Vanini et al., Let It Flow, NSDI 2017).
        Flowlet = "flowlet",
        /// Each frame at random (packet spraying).
        Packet = "packet",
        /// Each frame by the port with the shortest queue.
        Adaptive = "adaptive",
    }
}

words! {
    /// How frames of a flow are made.
    Transport {
        /// Plain frames, of which nobody sends any again.
        Frames = "frames",
        /// RDMA WRITE in RoCE v2: UDP over IPv4, with acknowledgements.
        Roce = "rocev2",
    }
}

words! {
    /// What a queue pair sends again when a packet was lost (RoCE).
    Retransmission {
        /// All from the lost one on: the receiver takes packets in their order only (IBA 9.7.5.2).
        GoBackN = "go-back-n",
        /// The lost one: the receiver takes what comes behind it, too (Mittal et al., Revisiting Network Support for
        /// RDMA, SIGCOMM 2018).
        Selective = "selective",
    }
}

/// Of each priority, its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Weights(pub [u32; PRIORITIES as usize]);

impl Weights {
    /// All alike.
    pub const EQUAL: Weights = Weights([1; PRIORITIES as usize]);
    /// The largest weight.
    pub const MOST: u32 = 1000;
}

impl Shape for Weights {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = || "by priority, 0 to 7, for example weights = { 3 = 20, 4 = 10 }".to_owned();
        let Value::Table(t) = &node.value else { return Err(Problem("weights are a table".into(), hint())) };
        let mut all = Weights::EQUAL;
        for (key, node) in &t.0 {
            let Some(slot) = key.parse::<usize>().ok().and_then(|p| all.0.get_mut(p)) else {
                return Err(Problem(format!("{key} is not a valid priority"), hint()));
            };
            *slot = u32::read(node)?;
            if *slot > Weights::MOST {
                let what = format!("priority {key} has a weight of {slot}, more than {}", Weights::MOST);
                return Err(Problem(what, "only their ratios matter: divide all of them by the same number".into()));
            }
        }
        if all.0.iter().enumerate().all(|(p, w)| *w == 0 || t.get(&p.to_string()).is_none()) {
            return Err(Problem("the weights add up to nothing".into(), hint()));
        }
        Ok(all)
    }
    fn show(&self) -> String {
        let all = self.0.iter().enumerate().filter(|(_, w)| **w != 1).map(|(p, w)| format!("{p} = {w}"));
        let all: Vec<String> = all.collect();
        if all.is_empty() { "all 1".into() } else { format!("{}, else 1", all.join(", ")) }
    }
    fn schema() -> Json {
        let weight = json!({ "type": "integer", "minimum": 0, "maximum": Weights::MOST });
        json!({ "type": "object", "additionalProperties": false, "patternProperties": { "^[0-7]$": weight } })
    }
}

/// A set of priorities; bit n is priority n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Priorities(pub u8);

impl Priorities {
    /// Whether a priority is among them.
    pub fn has(self, priority: u8) -> bool {
        self.0 >> priority & 1 == 1
    }
}

impl Shape for Priorities {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = || "priorities in brackets, for example [3, 4]; [] for none".to_owned();
        let Value::Array(list) = &node.value else { return Err(Problem("this is no list".into(), hint())) };
        let mut set = 0u8;
        for node in list {
            match &node.value {
                Value::Integer(Some(n)) if (0..PRIORITIES as i64).contains(n) => set |= 1 << n,
                _ => return Err(Problem(format!("Ethernet has priorities 0 to {}", PRIORITIES - 1), hint())),
            }
        }
        Ok(Priorities(set))
    }
    fn show(&self) -> String {
        let all: Vec<String> = (0..PRIORITIES as u8).filter(|p| self.has(*p)).map(|p| p.to_string()).collect();
        if all.is_empty() { "none".into() } else { all.join(", ") }
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": PRIORITIES - 1 } })
    }
}

words! {
    /// Who sends to whom, where a flow has several sources or destinations.
    Pattern {
        /// Each to its counterpart, or all to the one destination.
        Pairs = "pairs",
        /// Station i to station i + half of them, around.
        Permutation = "permutation",
        /// Each message (or burst) to one of the others, drawn anew.
        Random = "random",
        /// Each message (or burst) to the next of the others.
        AllToAll = "all-to-all",
    }
}

words! {
    /// How long bursts are.
    BurstLaw {
        /// Random without memory, at least one message.
        Geometric = "geometric",
        /// All alike.
        Fixed = "fixed",
    }
}

/// The priority of a flow's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// This one.
    Fixed(u8),
    /// The number of the destination among the flow's.
    Destination,
}

impl Shape for Priority {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = format!("0 to {}, or \"destination\": a priority for each destination", PRIORITIES - 1);
        match &node.value {
            Value::Integer(Some(n)) if (0..PRIORITIES as i64).contains(n) => Ok(Priority::Fixed(*n as u8)),
            Value::Integer(_) => Err(Problem(format!("Ethernet has {PRIORITIES} priorities"), hint)),
            Value::Text(s) if s == "destination" => Ok(Priority::Destination),
            _ => Err(Problem("this is no priority".into(), hint)),
        }
    }
    fn show(&self) -> String {
        match self {
            Priority::Fixed(n) => n.to_string(),
            Priority::Destination => "destination".into(),
        }
    }
    fn schema() -> Json {
        json!({ "oneOf": [{ "type": "integer", "minimum": 0, "maximum": PRIORITIES - 1 }, { "const": "destination" }] })
    }
}

/// How much of something an open load brings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offered {
    /// Payload per second.
    Rate(Rate),
    /// A share of the station's link, with preamble and gap.
    Share(Percent),
}

/// How much a flow of frames wants, each instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamLoad {
    /// As much as the link takes.
    Saturate,
    /// So much, in messages one by one.
    Open {
        /// How much.
        offered: Offered,
        /// Evenly spaced, or Poisson.
        poisson: bool,
    },
    /// So much, in bursts: messages back to back at the rate of the link, and pauses between.
    Bursts {
        /// How much on average.
        offered: Offered,
        /// Mean number of messages of a burst.
        length: f64,
        /// Whether bursts are all alike; else geometric. Pauses are exponential.
        fixed: bool,
    },
    /// Messages at the times that a text names.
    Trace(String),
}

const STREAM_LOAD_KEYS: [&str; 6] = ["rate", "share", "arrivals", "burst", "bursts", "trace"];
/// Messages of a burst at most.
const LONGEST_BURST: f64 = 1e6;

impl Shape for StreamLoad {
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = "\"saturate\", { rate = \"5 Gb/s\" }, { share = \"90 %\", arrivals = \"poisson\" }, \
            { share = \"90 %\", burst = 20 }, or { trace = \"./frames.csv\" }";
        let t = match &node.value {
            Value::Text(s) if s == "saturate" => return Ok(StreamLoad::Saturate),
            Value::Table(t) => t,
            _ => return Err(Problem("this is not a load".into(), hint.into())),
        };
        for (key, _) in &t.0 {
            if key == "outstanding" || key == "think" {
                return Err(Problem(
                    "Ethernet has no answers that a closed load could wait for".into(),
                    format!("a load of frames is one of {hint}"),
                ));
            }
            if !STREAM_LOAD_KEYS.contains(&key.as_str()) {
                let near = crate::diagnostic::nearest(key, STREAM_LOAD_KEYS);
                let hint = near.map_or(hint.into(), |n| format!("did you mean {n}?"));
                return Err(Problem(format!("a load has no key {key:?}"), hint));
            }
        }
        if let Some(trace) = t.get("trace") {
            return match (&trace.value, t.0.len()) {
                (Value::Text(name), 1) => Ok(StreamLoad::Trace(name.clone())),
                (Value::Text(_), _) => Err(Problem(
                    "a trace has destinations, times and sizes of its own".into(),
                    "leave the other keys out".into(),
                )),
                _ => Err(expected("the name of a file", trace)),
            };
        }
        let offered = match (t.get("rate"), t.get("share")) {
            (Some(rate), None) => Offered::Rate(Rate::read(rate)?),
            (None, Some(share)) => Offered::Share(Percent::read(share).map_err(|Problem(what, _)| {
                Problem(what, "a share of the station's link, for example share = \"90 %\"".into())
            })?),
            _ => return Err(Problem("an open load has a rate or a share of the link".into(), hint.into())),
        };
        let arrivals = t.get("arrivals").map(Arrivals::read).transpose()?;
        let law = t.get("bursts").map(BurstLaw::read).transpose()?;
        match (t.get("burst"), arrivals, law) {
            (None, arrivals, None) => Ok(StreamLoad::Open { offered, poisson: arrivals == Some(Arrivals::Poisson) }),
            (Some(burst), None, law) => {
                let length = match &burst.value {
                    Value::Integer(Some(n)) => *n as f64,
                    Value::Float(s) => s.parse().unwrap_or(0.0),
                    _ => return Err(expected("a number of messages", burst)),
                };
                if !(1.0..=LONGEST_BURST).contains(&length) {
                    return Err(Problem(
                        "a burst has 1 to 1,000,000 messages on average".into(),
                        "for example burst = 20".into(),
                    ));
                }
                Ok(StreamLoad::Bursts { offered, length, fixed: law == Some(BurstLaw::Fixed) })
            }
            (Some(_), Some(_), _) => Err(Problem("bursts have their own arrivals".into(), "leave arrivals out".into())),
            (None, ..) => Err(Problem("bursts need their length".into(), "for example burst = 20".into())),
        }
    }
    fn show(&self) -> String {
        let much = |o: &Offered| match o {
            Offered::Rate(r) => r.to_string(),
            Offered::Share(Percent(p)) => format!("{} % of the link", p * 100.0),
        };
        match self {
            StreamLoad::Saturate => "saturate".into(),
            StreamLoad::Open { offered, poisson } => {
                format!("open, {}{}", much(offered), if *poisson { ", Poisson" } else { "" })
            }
            StreamLoad::Bursts { offered, length, fixed } => {
                let law = if *fixed { "fixed" } else { "geometric" };
                format!("open, {}, bursts of {length} ({law})", much(offered))
            }
            StreamLoad::Trace(name) => format!("trace {name}"),
        }
    }
    fn schema() -> Json {
        let open = json!({ "rate": Rate::schema(), "share": Percent::schema(), "arrivals": Arrivals::schema(),
            "burst": { "type": "number", "minimum": 1 }, "bursts": BurstLaw::schema() });
        json!({ "oneOf": [
            { "const": "saturate" },
            { "type": "object", "additionalProperties": false, "properties": open },
            { "type": "object", "additionalProperties": false, "required": ["trace"],
              "properties": { "trace": { "type": "string" } } },
        ]})
    }
}

/// Declares a rule that wires a whole fabric: numbers that must be there, and names of tables of parts with their
/// defaults.
macro_rules! rule {
    ($(#[$m:meta])* $name:ident, $what:literal, $example:literal {
        $($(#[$nm:meta])* $number:ident),+ ; $($(#[$tm:meta])* $table:ident = $default:literal),+
    }) => {
        $(#[$m])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct $name { $($(#[$nm])* pub $number: u32,)+ $($(#[$tm])* pub $table: String,)+ }

        impl Shape for $name {
            const NUMBER: bool = false;
            fn read(node: &Node) -> Result<Self, Problem> {
                let hint = concat!("for example ", $example).to_owned();
                let Value::Table(t) = &node.value else {
                    return Err(Problem(concat!($what, " is a table").into(), hint));
                };
                let all = [$(stringify!($number),)+ $(stringify!($table)),+];
                for (key, _) in &t.0 {
                    if !all.contains(&key.as_str()) {
                        let near = crate::diagnostic::nearest(key, all);
                        let hint = near.map_or(hint, |n| format!("did you mean {n}?"));
                        return Err(Problem(format!("{} has no key {key:?}", $what), hint));
                    }
                }
                let number = |key: &str| match t.get(key) {
                    None => Err(Problem(format!("{} needs {key}", $what), hint.clone())),
                    Some(n) => match u32::read(n)? {
                        0 => Err(Problem(format!("{key} = 0 makes no fabric"), hint.clone())),
                        n => Ok(n),
                    },
                };
                let table = |key: &str, default: &str| match t.get(key).map(|n| (&n.value, n)) {
                    None => Ok(default.to_owned()),
                    Some((Value::Text(s), _)) => Ok(s.clone()),
                    Some((_, n)) => Err(expected("the name of a table of parts", n)),
                };
                Ok($name {
                    $($number: number(stringify!($number))?,)+
                    $($table: table(stringify!($table), $default)?),+
                })
            }
            fn show(&self) -> String {
                [$(format!("{} = {}", stringify!($number), self.$number)),+].join(", ")
            }
            fn schema() -> Json {
                json!({
                    "type": "object", "additionalProperties": false, "required": [$(stringify!($number)),+],
                    "properties": {
                        $(stringify!($number): { "type": "integer", "minimum": 1 },)+
                        $(stringify!($table): { "type": "string", "default": $default }),+
                    }
                })
            }
        }
    };
}

rule! {
    /// One switch and its hosts.
    Star, "star", "star = { hosts = 16 }" {
        /// Hosts.
        hosts;
        /// The table of the switch.
        switch = "switch",
        /// The table of the hosts.
        host = "host"
    }
}

rule! {
    /// Leaves with hosts, each leaf joined to every spine.
    LeafSpine, "leaf_spine", "leaf_spine = { leaves = 4, spines = 2, hosts = 8 }" {
        /// Leaves.
        leaves,
        /// Spines.
        spines,
        /// Hosts of each leaf.
        hosts;
        /// The table of the leaves.
        leaf = "leaf",
        /// The table of the spines.
        spine = "spine",
        /// The table of the hosts.
        host = "host"
    }
}

rule! {
    /// The three-level fat tree of k-port switches (Al-Fares, Loukissas, Vahdat 2008): k³/4 hosts, k² edge and
    /// aggregation switches pod by pod, (k/2)² cores.
    FatTree, "fat_tree", "fat_tree = { k = 8 }" {
        /// Ports of a switch, even.
        k;
        /// The table of the switches: edge, then aggregation, then core.
        switch = "switch",
        /// The table of the hosts.
        host = "host"
    }
}

impl FatTree {
    /// Hosts, and switches of each level.
    pub fn sizes(&self) -> (u64, [u64; 3]) {
        let half = self.k as u64 / 2;
        (2 * half * half * half, [2 * half * half, 2 * half * half, half * half])
    }
}

table! {
    /// A station: an end of an Ethernet link, with the programs behind it.
    Station, STATION, "a station" {
        /// Frames that the adapter takes from the application ahead of its MAC: bytes of whole frames.
        nic_buffer: default Bytes, Low = "\"16 KiB\"" Assumed Guess "a few frames ahead";
        /// Frames that the MAC holds, the one in sending included: bytes of whole frames.
        mac_buffer: default Bytes, Low = "\"16 KiB\"" Assumed Guess "a few frames ahead";
        /// What waits in the application at most; what comes then is dropped there. Without it, all.
        queue: opt Bytes, Low;
        /// From the last bit of a pause frame to the moment from which no new frame is begun.
        pause_response: default Time, High =
            "{ low = \"0 ns\", typical = \"100 ns\", high = \"3072 ns\" }" Assumed Guess
            "hardware reacts within a few hundred bit times; annex 31B.3.7 allows 60 quanta at 10 Gb/s";
        /// With credits: what a destination has granted and not received at most. Without it, its part of the smallest
        /// memory among the switches.
        credit: opt Bytes, Low;
        /// With DCQCN, as a receiver: least time between two notifications to one flow.
        cnp_interval: default Time, One = "\"50 us\"" Stated Likely "Zhu et al., SIGCOMM 2015: N = 50 us";
        /// With DCQCN: weight of a new mark is one part of so many.
        dcqcn_gain: default Count, One = "256" Stated Likely "Zhu et al.: g = 1/256";
        /// With DCQCN: time after which the estimate of congestion falls, without notification.
        alpha_timer: default Time, One = "\"55 us\"" Stated Likely "Zhu et al.: K = 55 us";
        /// With DCQCN: time between two raises of the rate.
        rate_timer: default Time, One = "\"55 us\"" Stated Likely "Zhu et al.: T = 55 us";
        /// With DCQCN: bytes between two raises of the rate.
        byte_counter: default Bytes, One = "\"10 MB\"" Stated Likely "Zhu et al.: B = 10 MB";
        /// With DCQCN: increases that halve the distance to the target before the target itself rises.
        fast_recovery: default Count, One = "5" Stated Likely "Zhu et al.: F = 5";
        /// With DCQCN: a raise of the target rate.
        additive_increase: default Rate, One = "\"40 Mb/s\"" Stated Likely "Zhu et al.: R_AI = 40 Mb/s";
        /// With DCQCN: the same when timer and counter are both past fast recovery.
        hyper_increase: default Rate, One = "\"400 Mb/s\"" Assumed Guess
            "ten times the additive one; the paper does not print it";
        /// With DCQCN: the rate never falls below this.
        least_rate: default Rate, One = "\"10 Mb/s\"" Assumed Guess "adapters keep a floor";
        /// Of RoCE, where frames may be lost or overtake one another: what is sent again.
        retransmission: default Retransmission, One = "\"go-back-n\"" Assumed Likely "what RoCE adapters do";
        /// Of RoCE: a queue pair that has heard of no progress for so long sends again.
        retransmission_timeout: default Time, One = "\"1 ms\"" Assumed Guess
            "adapters that adapt it begin about there; verbs' timeout = 14 is 67 ms";
        /// Of RoCE with selective retransmission: packets that may come before another until it counts as lost.
        reordering: default Count, One = "0" Assumed Likely "one path keeps the order of packets";
        /// Of RoCE with selective retransmission: packets of a queue pair that may be under way.
        window: default NonZeroU32, One = "1024" Assumed Guess "receivers remember that many";
    }
}

table! {
    /// An Ethernet switch.
    EthernetSwitch, ETHERNET_SWITCH, "an Ethernet switch" {
        /// Ports it has.
        ports: default Count, One = "4096" Assumed Guess "more than any plan needs";
        /// From the last bit in (store-and-forward) or the last bit of the header in (cut-through) to the first bit
        /// out, empty switch.
        latency: default Time, High = "{ low = \"100 ns\", typical = \"400 ns\", high = \"1 us\" }" Assumed Likely
            "vendors of switches of 10 to 100 Gb/s state 0.3 to 1 us";
        /// When it begins to send on what it receives. From a slower to a faster port it always waits for the whole
        /// frame.
        forwarding: default Forwarding, One = "\"store-and-forward\"" Assumed Likely
            "Ethernet switches check the FCS before they forward";
        /// Where frames wait.
        buffers: default Buffers, One = "\"shared\"" Assumed Likely "one chip, one memory";
        /// Bytes of frames that it holds: in all where it is shared, else at each port.
        memory: default Bytes, Low = "\"12 MiB\"" Assumed Guess "Broadcom's Trident 2 of 2013";
        /// Which priority a port serves next.
        scheduling: default Scheduling, One = "\"turns\"" Assumed Guess "no priority starves";
        /// With scheduling = "weighted": bytes of each priority for those of others, by priority; 1 of each that is not
        /// named.
        weights: opt Weights, One;
        /// How it chooses among equal-cost paths.
        ecmp: default Ecmp, One = "\"hash\"" Assumed Likely "what switches do, so that a flow keeps its order";
        /// With ecmp = "hash": what the hash begins with. Another number deals the connections anew.
        ecmp_seed: default Count, One = "0" Assumed Likely
            "any is as good; all switches have one, and each choice takes other bits of the hash";
        /// With ecmp = "flowlet": a pause after which a flow may take another path.
        flowlet_gap: default Time, One = "\"50 us\"" Assumed Guess "longer than paths differ in latency";
        /// How it keeps its memory from overflowing.
        flow_control: default FlowControl, One = "\"none\"" Assumed Likely "the default of most switches";
        /// It stops senders when more than this is in use: of the memory (pause), by one port's frames of one priority
        /// (pfc), by one output queue (voq). Without it, worked out of the memory.
        high_threshold: opt Bytes, Low;
        /// It lets them go on below this. Without it, half of high_threshold.
        low_threshold: opt Bytes, Low;
        /// For how long a pause frame stops, in quanta of 512 bit times; sent again in time.
        pause_quanta: default Count, One = "65535" Assumed Likely "the longest, ended by XON";
        /// With PFC: the priorities that are paused; frames of the others are dropped where there is no room. Without
        /// it, all.
        lossless: opt Priorities, One;
        /// With PFC and priorities that are not paused: what their frames may take of the memory, each queue as much as
        /// it leaves free. Without it, half.
        lossy_memory: opt Bytes, Low;
        /// With PFC: what one port's frames of one priority may take above high_threshold. Without it, what must fit
        /// (802.1Q, annex N).
        headroom: opt Bytes, Low;
        /// What slows sources down end to end.
        congestion_control: default CongestionControl, One = "\"none\"" Assumed Likely "nothing in the fabric itself";
        /// With DCQCN: marks begin when an output queue is longer. Without it, 1/40 of ecn_high.
        ecn_low: opt Bytes, Low;
        /// With DCQCN: from here on every frame is marked. Without it, 1/60 of the memory, but at least two frames: 200
        /// kB of 12 MB (Zhu et al., SIGCOMM 2015).
        ecn_high: opt Bytes, Low;
        /// With DCQCN: the part of the frames marked just below ecn_high.
        ecn_probability: default Percent, One = "\"1 %\"" Stated Likely "Zhu et al.: P_max = 1 %";
    }
}

table! {
    /// An Ethernet link between two ports, one each between two lists of ports, or a whole fabric by a rule.
    EthernetLink, ETHERNET_LINK, "an Ethernet link" {
        /// The two ends: "part" or "part.port.N", with * for all.
        between: opt Names, One;
        /// One switch with so many hosts.
        star: opt Star, One;
        /// Leaves with hosts, each leaf joined to every spine.
        leaf_spine: opt LeafSpine, One;
        /// Three levels of k-port switches.
        fat_tree: opt FatTree, One;
        /// Rate of its MACs, e.g. "10 Gb/s".
        ethernet: must LineRate, One;
        /// Of a rule: rate between switches. Without it, the same.
        uplink: opt LineRate, One;
        /// How long it is: 5 ns a metre.
        length: opt Length, High;
        /// Time of flight, one way, in place of a length. Without either, that of 5 m.
        delay: opt Time, High;
        /// Client data of the largest frame.
        mtu: default Bytes, One = "\"1500 B\"" Standard Likely "802.3, 3.2.7: maxBasicDataSize";
    }
}

table! {
    /// Frames from stations to stations.
    Stream, STREAM, "a flow of frames" {
        /// What it stands for.
        about: tell String, One;
        /// The stations that send: "host.0", several as "host.1-4", all as "host.*"; not a list.
        from: must String, One;
        /// The stations that receive, written alike.
        to: must String, One;
        /// "send".
        r#do: must Send, One;
        /// Client data of one message; what is longer than the MTU goes in several frames.
        size: opt Bytes, One;
        /// In place of a size: a distribution that each message's is drawn from, by its name ("web-search",
        /// "data-mining", "hadoop") or by its points. The load is { rate } or { share }, without bursts.
        sizes: opt SizeDistribution, One;
        /// Who sends to whom.
        pattern: default Pattern, One = "\"pairs\"" Assumed Likely "what the names say";
        /// How much each station sends.
        load: default StreamLoad, One = "\"saturate\"" Assumed Likely "what the system can carry is the question";
        /// Priority of its frames.
        priority: default Priority, One = "0" Standard Likely "802.1Q: best effort";
        /// How its frames are made.
        transport: default Transport, One = "\"frames\"" Assumed Exact "nothing but data";
        /// With RoCE: queue pairs between a source and each of its destinations, which take turns.
        connections: default NonZeroU32, One = "1" Assumed Likely "one is enough for most adapters";
        /// What was measured, payload per second of each instance; held against the answer.
        measured: tell Rate, One;
    }
}

words! {
    /// What stations do.
    Send {
        /// Frames out, and nothing back.
        Send = "send",
    }
}

parts! {
    /// The keys of one part of Ethernet.
    NodeKeys {
        /// A station.
        Station(Station) = Station,
        /// A switch.
        Switch(EthernetSwitch) = EthernetSwitch,
    }
}
