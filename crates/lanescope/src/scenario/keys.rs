//! Every key that a scenario knows, declared once.
//!
//! One declaration gives the typed struct, the reader, the default with its origin, the message for a misspelt key, the
//! JSON Schema and the reference that `lanescope schema --text` prints. A key that is not here does not exist.

use super::quantity::{
    Confidence, Count, Every, Names, Origin, Packets, Percent, Problem, Quantity, Shape, Slower, read, unknown, words,
};
use super::tree::{Author, Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::protocol::pcie::{CompletionSize, Generation, Header, Lanes, LoadSize, PayloadSize, Speed};
use crate::units::{Bytes, Frequency, Rate, Time};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

/// What one key is, for messages, schema and documentation.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it means, with source.
    pub doc: &'static str,
    /// JSON Schema of one value.
    pub schema: fn() -> Json,
    /// Whether it may be a range.
    pub ranged: bool,
    /// Its default as TOML, and why.
    pub default: Option<(&'static str, &'static str)>,
    /// Whether a table without it is refused.
    pub required: bool,
    /// What it is for.
    pub role: Role,
}

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is part of what is asked about: changing it changes an answer, or a report says that it does not.
    Model,
    /// It only tells people something, or is held against the answer: no method looks at it.
    Tells,
}

/// A filled value for `lanescope plan`.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The key.
    pub key: &'static str,
    /// The typical value as text.
    pub value: String,
    /// The range as text (slower end, faster end), where there is one.
    pub range: Option<(String, String)>,
    /// Where it is from.
    pub origin: Origin,
    /// How sure.
    pub confidence: Confidence,
    /// The reason or page.
    pub source: Arc<str>,
    /// Whether it is the key's default.
    pub default: bool,
}

impl Setting {
    /// Of one quantity.
    pub fn of<T: Shape>(key: &'static str, q: &Quantity<T>) -> Setting {
        let (slow, fast) = (q.slow.show(), q.fast.show());
        Setting {
            key,
            value: q.typical.show(),
            range: (slow != fast).then_some((slow, fast)),
            origin: q.origin,
            confidence: q.confidence,
            source: q.source.clone(),
            default: q.default,
        }
    }
}

/// A field's name as a user writes it (`r#do` is `do`).
const fn key_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares a table of keys. Modes: `must` (required), `opt` (absent means: not there), `tell` (the same, of a key that no answer depends on), or a default `= "toml" origin confidence "why"`.
macro_rules! table {
    (@field must $t:ty) => { Quantity<$t> };
    (@field opt $t:ty) => { Option<Quantity<$t>> };
    (@field tell $t:ty) => { Option<Quantity<$t>> };
    (@field default $t:ty) => { Quantity<$t> };
    (@default) => { None };
    (@default $d:literal $why:literal) => { Some(($d, $why)) };
    ($(#[$m:meta])* $name:ident, $table:ident, $of:literal {
        $( #[doc = $doc:literal] $field:ident : $mode:ident $t:ty, $slower:ident $(= $d:literal $origin:ident $confidence:ident $why:literal)? ;)+
    }) => {
        $(#[$m])*
        #[derive(Clone, Debug, Serialize)]
        pub struct $name { $(#[doc = $doc] pub $field: table!(@field $mode $t),)+ }

        #[doc = concat!("The keys of ", $of, ".")]
        pub static $table: &[Key] = &[$(Key {
            name: key_name(stringify!($field)),
            doc: $doc,
            schema: <$t as Shape>::schema,
            ranged: !matches!(Slower::$slower, Slower::One),
            default: table!(@default $($d $why)?),
            required: matches!(stringify!($mode).as_bytes(), b"must"),
            role: if matches!(stringify!($mode).as_bytes(), b"tell") { Role::Tells } else { Role::Model },
        }),+];

        impl $name {
            /// Reads a table; problems go to `diagnostics`, and then there is no value.
            pub fn read(diagnostics: &mut Diagnostics, table: &Table, span: Span) -> Option<Self> {
                let _ = span; // only required keys point at it
                refuse_unknown(diagnostics, table, $table, $of);
                $(let $field = {
                    let got = table.get(key_name(stringify!($field))).map(|n| read::<$t>(diagnostics, key_name(stringify!($field)), Slower::$slower, n));
                    table!(@take $mode $t, got, diagnostics, span, $of, key_name(stringify!($field)), Slower::$slower $(, $d $origin $confidence $why)?)
                };)+
                Some(Self { $($field: $field?),+ })
            }

            /// Everything that is set, for `lanescope plan`.
            #[allow(clippy::vec_init_then_push, reason = "some tables begin with keys that may be absent")]
            pub fn settings(&self) -> Vec<Setting> {
                let mut all = Vec::new();
                $(table!(@setting $mode, all, key_name(stringify!($field)), self.$field);)+
                all
            }
        }
    };
    (@take must $t:ty, $got:ident, $diag:ident, $span:ident, $of:expr, $key:expr, $slower:expr) => {
        match $got {
            Some(value) => value,
            None => {
                $diag.push(Diagnostic::error($span, format!("{} has no {}", $of, $key)).hint(format!("add {} = …", $key)));
                None
            }
        }
    };
    (@take opt $t:ty, $got:ident, $diag:ident, $span:ident, $of:expr, $key:expr, $slower:expr) => {
        match $got { Some(Some(value)) => Some(Some(value)), Some(None) => None, None => Some(None) }
    };
    (@take tell $t:ty, $($rest:tt)*) => { table!(@take opt $t, $($rest)*) };
    (@take default $t:ty, $got:ident, $diag:ident, $span:ident, $of:expr, $key:expr, $slower:expr, $d:literal $origin:ident $confidence:ident $why:literal) => {
        match $got {
            Some(value) => value,
            None => {
                // Read once: the text of a default never changes, and reading it was most of the work on a small
                // scenario.
                static READ: OnceLock<Quantity<$t>> = OnceLock::new();
                let it = READ.get_or_init(|| default::<$t>($d, $slower, Origin::$origin, Confidence::$confidence, $why));
                Some(it.clone())
            }
        }
    };
    (@setting opt, $all:ident, $key:expr, $value:expr) => { if let Some(q) = &$value { $all.push(Setting::of($key, q)); } };
    (@setting tell, $all:ident, $key:expr, $value:expr) => { table!(@setting opt, $all, $key, $value); };
    (@setting $mode:ident, $all:ident, $key:expr, $value:expr) => { $all.push(Setting::of($key, &$value)); };
}

/// A default is written as the user would write it, and read by the same reader.
fn default<T: Shape>(toml: &str, slower: Slower, origin: Origin, confidence: Confidence, why: &str) -> Quantity<T> {
    let mut d = Diagnostics::default();
    let source = d.add_source("default", format!("x = {toml}"));
    let quantity = super::tree::parse(&mut d, source, Author::User)
        .and_then(|t| t.get("x").and_then(|n| read::<T>(&mut d, "default", slower, n)));
    match quantity {
        Some(q) => Quantity { origin, confidence, source: why.into(), default: true, span: None, ..q },
        // Every default is read in a test (`defaults_are_readable`).
        None => unreachable!("the default {toml} cannot be read: {d}"),
    }
}

/// Links by their medium.
static LINKS: [(&str, &[Key]); 6] = [
    ("a link of PCIe", LINK),
    ("a link of Ethernet", ETHERNET_LINK),
    ("a link of Fibre Channel", FC_LINK),
    ("a SAS link", SAS_LINK),
    ("a SCSI bus", SCSI_LINK),
    ("a PCI bus", BUS_LINK),
];

/// Keys that every part has beside those of its kind; read before its kind is known.
pub const PART_KEYS: [&str; 4] = ["use", "is", "count", "about"];

fn refuse_unknown(diagnostics: &mut Diagnostics, table: &Table, keys: &[Key], of: &str) {
    let part = PART_KINDS.iter().any(|(_, t)| std::ptr::eq(*t, keys));
    for (name, node) in &table.0 {
        if keys.iter().any(|k| k.name == name) || part && PART_KEYS.contains(&name.as_str()) {
            continue;
        }
        let common = PART_KEYS.iter().copied().filter(|_| part);
        let mut d = unknown(name, node.key, keys.iter().map(|k| k.name).chain(common), of);
        let elsewhere = PART_KINDS.iter().find(|(_, t)| t.iter().any(|k| k.name == name));
        if let (Some((kind, _)), true) = (elsewhere, d.label.is_empty()) {
            d = d.hint(format!("{name} belongs to {kind}"));
        }
        // Some names are of links too, and lines of an access specification have keys of their own.
        let of_link = LINKS.iter().find(|(_, t)| t.iter().any(|k| k.name == name));
        if let (Some((kind, _)), true) = (of_link, LINKS.iter().any(|(_, t)| std::ptr::eq(*t, keys))) {
            d = Diagnostic::error(node.key, d.message).hint(format!("{name} belongs to {kind}"));
        }
        if (std::ptr::eq(keys, IO) || std::ptr::eq(keys, TRANSACT)) && storage::LINE_KEYS.contains(&name.as_str()) {
            let hint = format!("{name} is a field of a line: access = {{ {name} = … }}");
            d = Diagnostic::error(node.key, d.message).hint(hint);
        }
        diagnostics.push(d);
    }
}

/// For a part of unknown kind: refuses what no kind of part has.
pub(super) fn refuse_unknown_anywhere(diagnostics: &mut Diagnostics, table: &Table) {
    for (name, node) in &table.0 {
        let known = || PART_KINDS.iter().flat_map(|(_, keys)| keys.iter().map(|k| k.name)).chain(PART_KEYS);
        if !known().any(|k| k == name) {
            diagnostics.push(unknown(name, node.key, known(), "a part"));
        }
    }
}

words! {
    /// What a part is.
    PartKind {
        /// A host's PCIe side: root ports, and memory behind them.
        RootComplex = "root-complex",
        /// A PCIe switch.
        Switch = "switch",
        /// A device with DMA engines.
        Endpoint = "endpoint",
        /// An end of an Ethernet link.
        Station = "station",
        /// An Ethernet switch.
        EthernetSwitch = "ethernet-switch",
        /// Memory behind a shared bus.
        HostBridge = "host-bridge",
        /// A DMA master on a shared bus.
        PciDevice = "pci-device",
        /// A host adapter with ports for disks.
        HostAdapter = "host-adapter",
        /// An adapter of InfiniBand, or of RoCE.
        ChannelAdapter = "channel-adapter",
        /// A switch of InfiniBand.
        InfinibandSwitch = "infiniband-switch",
        /// A target of RAM.
        RamDisk = "ram-disk",
        /// A disk.
        Disk = "disk",
        /// A solid-state drive.
        Ssd = "ssd",
        /// An array of disks behind one adapter.
        Array = "array",
    }
}

impl PartKind {
    /// With its article, as a message says it.
    pub fn noun(self) -> &'static str {
        match self {
            PartKind::RootComplex => "a root complex",
            PartKind::Switch => "a PCIe switch",
            PartKind::Endpoint => "an endpoint of PCIe",
            PartKind::Station => "a station of Ethernet",
            PartKind::EthernetSwitch => "an Ethernet switch",
            PartKind::HostBridge => "the bridge of a PCI bus",
            PartKind::PciDevice => "a device of a PCI bus",
            PartKind::HostAdapter => "a host adapter",
            PartKind::ChannelAdapter => "a channel adapter",
            PartKind::InfinibandSwitch => "an InfiniBand switch",
            PartKind::RamDisk => "a RAM disk",
            PartKind::Disk => "a disk",
            PartKind::Ssd => "a solid-state drive",
            PartKind::Array => "an array",
        }
    }
}

words! {
    /// When a switch may begin to send on what it receives.
    Forwarding {
        /// As soon as the header is in and routed.
        CutThrough = "cut-through",
        /// When the whole packet is in.
        StoreAndForward = "store-and-forward",
    }
}

words! {
    /// What joins a switch's ports inside.
    Core {
        /// Any port to any other at once.
        Crossbar = "crossbar",
        /// One packet at a time.
        SharedBus = "shared-bus",
        /// All packets through one memory.
        SharedMemory = "shared-memory",
    }
}

words! {
    /// Whom a switch's port serves next.
    Arbitration {
        /// The ports that have something for it, one after the other.
        RoundRobin = "round-robin",
        /// Who has waited longest.
        OldestFirst = "oldest-first",
    }
}

words! {
    /// How packets wait in a switch's ingress port.
    Queues {
        /// A queue for each egress port.
        PerOutput = "per-output",
        /// One queue of each class: who waits holds up all behind him.
        Fifo = "fifo",
    }
}

words! {
    /// Which of its flows a requester serves next.
    Order {
        /// One TLP of each.
        Turns = "turns",
        /// One at random for each operation.
        Random = "random",
    }
}

words! {
    /// When operations of an open load arrive.
    Arrivals {
        /// Evenly spaced.
        Even = "even",
        /// At random, without memory.
        Poisson = "poisson",
    }
}

words! {
    /// After what an engine pauses for its turn-around.
    After {
        /// Each request by itself.
        Request = "request",
        /// All of its tags together.
        Batch = "batch",
    }
}

words! {
    #[derive(PartialOrd, Ord)]
    /// What a flow does, seen from its requester.
    Do {
        /// Memory reads: requests out, completions back.
        Read = "read",
        /// Posted memory writes.
        Write = "write",
        /// As many reads as writes of the same size, in turn. Rates are then per direction.
        Alternate = "alternate",
    }
}

/// How much a flow wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// As much as the requester can.
    Saturate,
    /// So much, whatever happens (an open load), of each instance.
    Open {
        /// Payload per second (per direction, where the flow alternates).
        rate: Rate,
        /// Whether arrivals are random (Poisson), not evenly spaced.
        poisson: bool,
    },
    /// A fixed number of operations in flight (a closed load), of each instance.
    Closed {
        /// Operations in flight.
        outstanding: Count,
        /// Pause between the end of one and the start of the next.
        think: Time,
        /// A stated time from an operation's start to its last byte, in place of the one that the path gives.
        round_trip: Option<Time>,
    },
}

const LOAD_KEYS: [&str; 5] = ["rate", "arrivals", "outstanding", "think", "round_trip"];

impl Shape for Load {
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = "\"saturate\", { rate = \"10 Gb/s\" }, or { outstanding = 8, think = \"300 ns\" }";
        match &node.value {
            Value::Text(s) if s == "saturate" => Ok(Load::Saturate),
            Value::Table(t) => {
                for (key, _) in &t.0 {
                    if !LOAD_KEYS.contains(&key.as_str()) {
                        let near = crate::diagnostic::nearest(key, LOAD_KEYS);
                        return Err(Problem(
                            format!("a load has no key {key:?}"),
                            near.map_or(hint.into(), |n| format!("did you mean {n}?")),
                        ));
                    }
                }
                match (t.get("rate"), t.get("outstanding")) {
                    (Some(rate), None) if t.get("think").is_none() && t.get("round_trip").is_none() => {
                        let arrivals = t.get("arrivals").map(Arrivals::read).transpose()?;
                        Ok(Load::Open { rate: Rate::read(rate)?, poisson: arrivals == Some(Arrivals::Poisson) })
                    }
                    (None, Some(n)) if t.get("arrivals").is_none() => {
                        let outstanding = Count::read(n)?;
                        if outstanding == 0 {
                            return Err(Problem(
                                "outstanding = 0 never issues anything".into(),
                                "write at least 1".into(),
                            ));
                        }
                        let time = |key: &str| t.get(key).map(Time::read).transpose();
                        Ok(Load::Closed {
                            outstanding,
                            think: time("think")?.unwrap_or(Time::ZERO),
                            round_trip: time("round_trip")?,
                        })
                    }
                    _ => Err(Problem("a load is open (rate) or closed (outstanding), not both".into(), hint.into())),
                }
            }
            _ => Err(Problem("this is not a load".into(), hint.into())),
        }
    }
    fn show(&self) -> String {
        match self {
            Load::Saturate => "saturate".into(),
            Load::Open { rate, poisson: false } => format!("open, {rate}"),
            Load::Open { rate, poisson: true } => format!("open, {rate}, Poisson"),
            Load::Closed { outstanding, think, round_trip } => {
                let mut s = format!("closed, {outstanding} outstanding");
                if *think > Time::ZERO {
                    s += &format!(", think {think}");
                }
                if let Some(r) = round_trip {
                    s += &format!(", stated round trip {r}");
                }
                s
            }
        }
    }
    fn schema() -> Json {
        json!({ "oneOf": [
            { "const": "saturate" },
            { "type": "object", "additionalProperties": false, "required": ["rate"],
              "properties": { "rate": Rate::schema(), "arrivals": Arrivals::schema() } },
            { "type": "object", "additionalProperties": false, "required": ["outstanding"],
              "properties": { "outstanding": Count::schema(), "think": Time::schema(), "round_trip": Time::schema() } },
        ]})
    }
}

table! {
    /// A root complex: where a host's PCIe links end, and the memory behind it.
    RootComplex, ROOT_COMPLEX, "a root complex" {
        /// Root ports it has.
        ports: default Count, One = "64" Assumed Guess "more than any plan needs";
        /// Widest link of a root port.
        lanes: opt Lanes, One;
        /// Fastest link of a root port.
        generation: opt Generation, One;
        /// Max_Payload_Size_Supported (2.0, 7.8.3).
        max_payload: opt PayloadSize, One;
        /// From the last byte of a read request at the root port to the first byte of its completion, for data in the processor's cache, without the parts named below.
        read_latency: default Time, High = "{ low = \"200 ns\", typical = \"350 ns\", high = \"800 ns\" }" Assumed Guess "servers of 2008 to 2020 answer a device in 400 to 900 ns in all";
        /// Clock that core_cycles and hub_cycles count.
        core_clock: opt Frequency, One;
        /// Clocks of the core that every read adds.
        core_cycles: default Count, High = "0" Assumed Likely "all of it is in read_latency";
        /// What a read from memory adds to one from the cache.
        memory_latency: default Time, High = "\"0 ns\"" Assumed Likely "all of it is in read_latency";
        /// What a read from another socket's memory adds to one from local memory.
        remote_latency: default Time, High = "\"100 ns\"" Assumed Guess "one hop between sockets";
        /// What coherency hubs between the processors add to every read.
        hub_latency: default Time, High = "\"0 ns\"" Assumed Likely "no hubs";
        /// Clocks of the core that coherency hubs add to every read from memory.
        hub_cycles: default Count, High = "0" Assumed Likely "no hubs";
        /// From the last byte of a write at the root port to its being done; delays nobody but a closed load of writes.
        write_latency: default Time, High = "\"100 ns\"" Assumed Guess "to the coherence point, without the device seeing it";
        /// Payload of the completions that it returns (2.0, 2.3.1.1 allows RCB multiples up to MPS).
        completion_size: default CompletionSize, Low = "{ low = \"64 B\", typical = \"64 B\", high = \"256 B\" }" Assumed Likely "most hosts return cache lines of 64 B";
        /// Reads above this size are answered in large_completion_size.
        large_read: opt Bytes, One;
        /// Payload of the completions for reads above large_read.
        large_completion_size: opt CompletionSize, Low;
        /// Reads that it works on at once.
        reads_in_flight: opt NonZeroU32, Low;
        /// When its processor reads a device: bytes of one uncached load, which is one read request.
        load_size: default LoadSize, Low = "\"64 B\"" Assumed Likely "a line fill buffer, with streaming loads (MOVNTDQA) from write-combining memory; plain uncached loads are of 8 B or less";
        /// Loads that a core keeps in flight. Each root port is read by one core.
        loads_in_flight: default NonZeroU32, Low = "10" Assumed Likely "line fill buffers of an Intel core from Nehalem to Skylake (12 since); plain uncached loads go one at a time";
        /// What memory or the way to it carries, reads and writes added.
        memory_bandwidth: opt Rate, Low;
        /// In its place: what it carries of reads, whatever is written.
        read_bandwidth: opt Rate, Low;
        /// And of writes, whatever is read.
        write_bandwidth: opt Rate, Low;
        /// Credits it advertises for posted headers: TLPs.
        posted_headers: opt Count, Low;
        /// Credits it advertises for posted data: 16 B each (2.0, 2.6.1).
        posted_data: opt Count, Low;
        /// Credits it advertises for non-posted headers: read requests.
        nonposted_headers: opt Count, Low;
        /// Bytes of TLPs that each port keeps until they are acknowledged (2.0, 3.5.2.1). Without it, as many as are ever in flight.
        replay_buffer: opt Bytes, Low;
        /// Clock of a backbone between the root ports and memory: a request bus for writes with their data and read requests, and a completion bus for what was read.
        backbone_clock: opt Frequency, Low;
        /// Bytes that either bus carries in a clock.
        backbone_width: opt Bytes, Low;
        /// Most bytes of one transaction on it: larger TLPs are cut into such.
        backbone_line: opt Bytes, One;
        /// Clocks to grant the request bus; they pass behind the data of the transaction before, where that was another port's.
        arbitration_clocks: default Count, High = "0" Assumed Guess "always behind the transaction before";
        /// Clocks of the request bus for the command and address of each transaction, before a write's data.
        request_clocks: default NonZeroU32, High = "1" Assumed Guess "one address phase";
        /// Clocks of the completion bus for each transaction, beside its data.
        completion_clocks: default Count, High = "1" Assumed Guess "one address phase";
        /// Time of a packet through a root port: from its last byte to its asking for the backbone, and from the backbone to the port's transmitter.
        backbone_latency: default Time, High = "\"0 ns\"" Assumed Guess "all of it is in read_latency and write_latency";
        /// Read requests that each port works on at once: from a request's last byte to the last byte of its last completion. Others wait in its buffer.
        backbone_reads: opt NonZeroU32, Low;
    }
}

table! {
    /// A PCIe switch.
    Switch, SWITCH, "a switch" {
        /// Downstream ports it has.
        ports: default Count, One = "64" Assumed Guess "more than any plan needs";
        /// Widest link of a port.
        lanes: opt Lanes, One;
        /// Fastest link of a port.
        generation: opt Generation, One;
        /// Max_Payload_Size_Supported (2.0, 7.8.3).
        max_payload: opt PayloadSize, One;
        /// From the first bit in to the first bit out, empty switch, equal links.
        latency: default Time, High = "{ low = \"100 ns\", typical = \"150 ns\", high = \"250 ns\" }" Assumed Likely "vendors of Gen1 to Gen4 switches state 100 to 250 ns";
        /// When it begins to send on what it receives.
        forwarding: default Forwarding, One = "\"cut-through\"" Assumed Likely "PCIe switches are cut-through";
        /// What joins the ports.
        core: default Core, One = "\"crossbar\"" Assumed Likely "and not blocking";
        /// Whom a port serves next. The estimate knows only turns.
        arbitration: default Arbitration, One = "\"round-robin\"" Assumed Likely "the arbitration that every switch has (2.0, 6.3.3)";
        /// How packets wait in an ingress port. The estimate knows no blocking.
        queues: default Queues, One = "\"per-output\"" Assumed Likely "vendors call their switches non-blocking";
        /// What a shared bus or memory carries, all ports added.
        core_bandwidth: opt Rate, Low;
        /// Credits each port advertises for posted headers: TLPs.
        posted_headers: opt Count, Low;
        /// Credits each port advertises for posted data: 16 B each.
        posted_data: opt Count, Low;
        /// Credits each port advertises for non-posted headers: read requests.
        nonposted_headers: opt Count, Low;
        /// Credits each port advertises for completion headers: TLPs.
        completion_headers: opt Count, Low;
        /// Credits each port advertises for completion data: 16 B each.
        completion_data: opt Count, Low;
        /// Bytes of TLPs that each port keeps until they are acknowledged (2.0, 3.5.2.1). Without it, as many as are ever in flight.
        replay_buffer: opt Bytes, Low;
    }
}

table! {
    /// A device with DMA engines.
    Endpoint, ENDPOINT, "an endpoint" {
        /// Widest link of its port.
        lanes: opt Lanes, One;
        /// Fastest link of its port.
        generation: opt Generation, One;
        /// Max_Payload_Size_Supported (2.0, 7.8.3).
        max_payload: opt PayloadSize, One;
        /// DMA engines that work side by side.
        engines: default NonZeroU32, One = "1" Assumed Guess "one engine";
        /// Read requests that one engine keeps outstanding.
        tags: default NonZeroU32, Low = "32" Standard Likely "2.0, 2.2.6.2: 32 tags where extended tags are off";
        /// Max_Read_Request_Size (2.0, 7.8.4).
        max_read_request: default PayloadSize, Low = "\"512 B\"" Standard Likely "2.0, 7.8.4: the value after reset";
        /// Pause of an engine between the last byte of what it waited for and its next request. Operations of a closed load pass to another engine or tag, and do not wait for it.
        turnaround: default Time, High = "\"0 ns\"" Assumed Guess "none";
        /// Whether the pause follows each request or all tags of the engine together.
        turnaround_after: default After, One = "\"request\"" Assumed Guess "each tag is used again by itself";
        /// Payload that it can move, reads and writes added.
        rate: opt Rate, Low;
        /// Payload that it can read.
        read_rate: opt Rate, Low;
        /// Payload that it can write.
        write_rate: opt Rate, Low;
        /// Time between the starts of two transfers that read.
        read_interval: opt Time, High;
        /// Time between the starts of two transfers that write.
        write_interval: opt Time, High;
        /// Time that its port loses after each write TLP.
        write_gap: default Time, High = "\"0 ns\"" Assumed Likely "back to back";
        /// Its own part of every read's latency.
        latency: default Time, High = "\"0 ns\"" Assumed Guess "none";
        /// From the last byte of another part's read request at its port to the first byte of its completion.
        read_latency: default Time, High = "\"300 ns\"" Assumed Guess "a device's memory over its own bus";
        /// Internal bus that carries what was read to its place before the read is done: adds size / bus_rate to a read's latency, and carries no more.
        bus_rate: opt Rate, Low;
        /// Whether TLPs between it and its partners carry the ECRC digest (2.0, 2.7.1).
        ecrc: default bool, One = "false" Standard Likely "2.0, 7.10.7: off after reset";
        /// Credits it advertises for posted headers: TLPs.
        posted_headers: opt Count, Low;
        /// Credits it advertises for posted data: 16 B each.
        posted_data: opt Count, Low;
        /// Credits it advertises for non-posted headers: read requests.
        nonposted_headers: opt Count, Low;
        /// Bytes of TLPs that each port keeps until they are acknowledged (2.0, 3.5.2.1). Without it, as many as are ever in flight.
        replay_buffer: opt Bytes, Low;
        /// Which of its flows it serves next. The estimate knows only turns.
        order: default Order, One = "\"turns\"" Assumed Likely "queues are served in turn";
    }
}

table! {
    /// A link between two ports, or one each between two lists of ports.
    Link, LINK, "a link" {
        /// The two ends, the one nearer to the root first: "part", "part.port", with * for all. A switch has ports up and down.N.
        between: must Names, One;
        /// Generation and width it trained to, e.g. "gen3 x8".
        pcie: must Speed, One;
        /// Max_Payload_Size in use on it; without it, the smallest that its ends support, or 128 B.
        mps: opt PayloadSize, One;
        /// Time of flight, one way.
        delay: default Time, High = "\"1 ns\"" Assumed Likely "20 cm of board or cable at 5 ns/m";
        /// TLPs that one Ack answers (2.0, 3.5.3.1); "never" leaves Acks out.
        ack_every: default Every, Low = "{ low = 1, typical = 4, high = 8 }" Assumed Likely "the Ack latency limit of x8 at MPS 128 is 67 symbol times, 3.6 full TLPs; the same for all studies";
        /// TLPs of one class that one UpdateFC answers (2.0, 2.6.1.2); "never" leaves them out.
        update_fc_every: default Every, Low = "{ low = 1, typical = 4, high = 8 }" Assumed Guess "as often as Acks; the same for all studies";
        /// Symbols (8b/10b) or blocks (128b/130b) between SKP ordered sets; "never" leaves them out. Without it, 1538 or 375 (2.0 and 3.0, 4.2.7).
        skp_interval: opt Every, Low;
        /// Longest that a receiver holds back an Ack or UpdateFC while fewer than so many have come. Without it, the Ack latency limit (2.0, 3.5.3.1). For the simulation.
        dllp_limit: opt Time, High;
        /// Whether it lies outside the tree and only carries what it is told to.
        crosslink: default bool, One = "false" Standard Exact "PCIe is a tree";
        /// The parts whose flows cross it, for a crosslink.
        carries: opt Names, One;
    }
}

table! {
    /// Traffic from a requester to a target; with * in `from`, one flow for each.
    Flow, FLOW, "a flow" {
        /// What it stands for.
        about: tell String, One;
        /// The requester: a part, with * for all instances.
        from: must String, One;
        /// The target: "host.memory", "host.cache", "host.remote", or a part.
        to: must String, One;
        /// What the requester does.
        r#do: must Do, One;
        /// Bytes of one operation.
        size: must Bytes, One;
        /// How much it wants.
        load: default Load, One = "\"saturate\"" Assumed Likely "what the system can carry is the question";
        /// Request headers: 3DW for 32-bit addresses, 4DW above 4 GiB (2.0, 2.2.4.1).
        header: default Header, One = "\"4DW\"" Assumed Likely "buffers above 4 GiB";
        /// What was measured, payload per second of each instance; held against the answer.
        measured: tell Rate, One;
    }
}

table! {
    /// How long to simulate.
    RunKeys, RUN, "run" {
        /// Stop when the 95 % confidence intervals of the means are this narrow.
        until: opt Percent, One;
        /// Or simulate this long, after the warm-up.
        r#for: opt Time, One;
        /// Leave out so much at the beginning. Without it, until the load has settled; with `for`, a tenth of it.
        warmup: opt Time, One;
        /// Never simulate longer than this, tight or not.
        max_time: default Time, One = "\"1 s\"" Assumed Likely "a second of traffic settles what can settle; with ranks an hour, since programs end";
        /// Never simulate more than so many packets on links, tight or not.
        max_packets: default Packets, One = "50_000_000" Assumed Likely "some seconds of work; with ranks 500,000,000";
        /// Start of all random numbers.
        seed: opt Count, One;
    }
}

mod bus;
mod cluster;
mod ethernet;
mod infiniband;

pub use bus::{
    BUS_LINK, Burst, BusLink, Claim, HOST_BRIDGE, HostBridge, LatencyTimer, PCI_DEVICE, PciDevice, ReadByteCount,
    Splits,
};
pub use cluster::{
    CHANNEL_ADAPTER, ChannelAdapter, FlopRate, INFINIBAND_LINK, INFINIBAND_SWITCH, InfinibandLink, InfinibandSwitch,
    Interface, MOST_LANES, MOST_TRACES, MPI, Mpi, Sizes,
};
pub use ethernet::{
    Buffers, BurstLaw, CongestionControl, ETHERNET_LINK, ETHERNET_SWITCH, Ecmp, EthernetLink, EthernetSwitch, FatTree,
    FlowControl, LeafSpine, Offered, Pattern, Priority, STATION, STREAM, Scheduling, Star, Station, Stream, StreamLoad,
};

mod storage;

pub use storage::{
    ARRAY, Access, Array, DISK, Disk, FC_LINK, FcLink, FileTest, HOST_ADAPTER, HostAdapter, IO, Io, Level, Line,
    MOST_LINES, MOST_OUTSTANDING, RAM_DISK, RamDisk, SAS_LINK, SCSI_LINK, SSD, SasLink, ScsiBus, ScsiLink, Ssd,
    TRANSACT, Transact, WHOLE, WritePolicy,
};

mod tables;

pub use tables::{PART_KINDS, TABLES, TableKind};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_readable() {
        let mut d = Diagnostics::default();
        let empty = Table::default();
        assert!(RootComplex::read(&mut d, &empty, Span::default()).is_some());
        assert!(Switch::read(&mut d, &empty, Span::default()).is_some());
        assert!(Endpoint::read(&mut d, &empty, Span::default()).is_some());
        assert!(Station::read(&mut d, &empty, Span::default()).is_some());
        assert!(EthernetSwitch::read(&mut d, &empty, Span::default()).is_some());
        assert!(HostBridge::read(&mut d, &empty, Span::default()).is_some());
        assert!(PciDevice::read(&mut d, &empty, Span::default()).is_some());
        assert!(HostAdapter::read(&mut d, &empty, Span::default()).is_some());
        assert!(RamDisk::read(&mut d, &empty, Span::default()).is_some());
        assert!(Disk::read(&mut d, &empty, Span::default()).is_some());
        assert!(Ssd::read(&mut d, &empty, Span::default()).is_some());
        assert!(RunKeys::read(&mut d, &empty, Span::default()).is_some());
        assert!(!d.has_errors());
    }

    #[test]
    fn a_default_latency_is_slow_at_its_high_end() {
        let mut d = Diagnostics::default();
        let switch = Switch::read(&mut d, &Table::default(), Span::default()).expect("defaults");
        assert!(switch.latency.slow > switch.latency.fast);
    }
}
