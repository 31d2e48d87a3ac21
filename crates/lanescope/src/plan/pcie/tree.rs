//! PCIe's tree: parts with their ports, links between them, and flows with their routes.

use crate::plan::{Plan, Side};
use crate::protocol::pcie::{Header, PayloadSize, Speed, ack_latency_limit, ordered_set_slots};
use crate::scenario::PartKeys;
use crate::scenario::keys::{AddressOrder, Do, Load, Setting};
use crate::scenario::quantity::{Confidence, Corner, Every, Origin, Quantity};
use crate::units::{Bytes, Rate, Time};
use serde::Serialize;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Index of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PartId(pub u32);

/// Index of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LinkId(pub u32);

/// Index of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FlowId(pub u32);

/// A part with its wired ports.
#[derive(Clone, Debug)]
pub struct Part {
    /// `nic.1` or `host`.
    pub name: String,
    /// The table it is from: `nic`.
    pub group: String,
    /// Kind and values.
    pub keys: PartKeys,
    /// Its wired ports; none of a further function of a device.
    pub ports: Vec<Port>,
    /// The device on whose port it is, as one of several functions.
    pub function_of: Option<PartId>,
    /// Of a device with several functions, the others.
    pub functions: Vec<PartId>,
    /// Of a root complex: whether transactions of some flow go from one of its ports to another.
    pub forwards: bool,
}

/// A wired port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// `up`, `down.0`, `port.0`, or empty for an endpoint's only one.
    pub name: String,
    /// What is plugged in.
    pub link: LinkId,
}

/// One end of a link.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// The part.
    pub part: PartId,
    /// The name of its port.
    pub port: String,
}

/// A PCIe link, resolved.
#[derive(Clone, Debug)]
pub struct Link {
    /// `slots.1` or `uplink`.
    pub name: String,
    /// The table it is from: `slots`.
    pub group: String,
    /// The end nearer to the root, then the other.
    pub ends: [End; 2],
    /// Generation and width.
    pub speed: Quantity<Speed>,
    /// Max_Payload_Size in use.
    pub mps: Quantity<PayloadSize>,
    /// Time of flight.
    pub delay: Quantity<Time>,
    /// TLPs per Ack.
    pub ack_every: Quantity<Every>,
    /// TLPs of a class per UpdateFC.
    pub update_fc_every: Quantity<Every>,
    /// Symbols or blocks per SKP ordered set.
    pub skp_interval: Quantity<Every>,
    /// Longest that a receiver holds back an Ack or UpdateFC; `None` is the specification's limit.
    pub dllp_limit: Option<Quantity<Time>>,
    /// What the port at its first end does with what goes from it to a peer.
    pub acs: Acs,
    /// Outside the tree.
    pub crosslink: bool,
}

/// Access control services of a switch's port (2.0, 6.12), as far as they turn transactions between peers round.
#[derive(Clone, Debug)]
pub struct Acs {
    /// Requests go up to the root complex.
    pub request_redirect: Quantity<bool>,
    /// Completions do.
    pub completion_redirect: Quantity<bool>,
    /// Requests with translated addresses do not.
    pub direct_translated: Quantity<bool>,
}

/// Which way on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the first end to the second: away from the root.
    Down,
    /// From the second end to the first: toward the root.
    Up,
}

impl Direction {
    /// The other way.
    pub(crate) fn reversed(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }

    /// Index of the end that sends.
    pub(crate) fn from(self) -> usize {
        (self == Direction::Up) as usize
    }

    /// Index of the end that receives.
    pub(crate) fn to(self) -> usize {
        1 - self.from()
    }
}

/// One link of a route, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// Which way.
    pub direction: Direction,
}

impl Hop {
    /// The same link, the other way.
    pub fn reversed(self) -> Hop {
        Hop { link: self.link, direction: self.direction.reversed() }
    }
}

/// Where in its target a flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The root complex's own memory.
    Memory,
    /// The processor's cache.
    Cache,
    /// Another socket's memory.
    Remote,
    /// A device.
    Device,
}

/// What a requester does.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Program {
    /// As much as it can.
    Saturating,
    /// Operations at a fixed rate, whatever happens.
    Open {
        /// Payload per second.
        rate: Rate,
        /// Whether arrivals are random (Poisson), or evenly spaced.
        poisson: bool,
    },
    /// A fixed number of operations in flight.
    Closed {
        /// Operations.
        outstanding: u32,
        /// Pause after each.
        think: Time,
        /// A stated round trip in place of the path's.
        round_trip: Option<Time>,
    },
    /// What an adapter's other side asks for, transfer by transfer: the DMA of its I/Os.
    ExternallyDriven,
}

/// Traffic from one requester to one target.
#[derive(Clone, Debug)]
pub struct Flow {
    /// `rx.1` or `rx`.
    pub name: String,
    /// The table it is from: `rx`.
    pub group: String,
    /// The requester.
    pub source: PartId,
    /// The completer.
    pub target: PartId,
    /// Where in it.
    pub place: Place,
    /// Reads, writes, or both in turn; of packets, what moves their bytes.
    pub op: Quantity<Do>,
    /// Whether its operations are packets of a NIC, with what belongs to them.
    pub packets: bool,
    /// Whether it carries no data, but what surrounds them: commands, completion entries, interrupts, doorbells. A
    /// ledger counts its TLPs whole.
    pub control: bool,
    /// The flow of the same device through whose queue its transfers go, in order, where it has none of its own: an
    /// entry never overtakes the data before it.
    pub rides: Option<FlowId>,
    /// The flow of whose transfers these are TLPs of one length: an estimate counts with such, a run has none.
    pub piece_of: Option<FlowId>,
    /// Bytes of one operation.
    pub size: Quantity<Bytes>,
    /// Header of its requests.
    pub header: Quantity<Header>,
    /// As written, for display.
    pub load: Quantity<Load>,
    /// What the requester does.
    pub program: Program,
    /// Links from requester to target.
    pub route: Vec<Hop>,
    /// Links from target to requester, for completions: the same back, but where a switch sends only the one of them up
    /// to the root complex.
    pub back: Vec<Hop>,
    /// Of packets: bytes of headers in them.
    pub headers: Option<Quantity<Bytes>>,
    /// Range of addresses in which its operations fall, and in which order.
    pub window: Option<Quantity<Bytes>>,
    /// The order.
    pub addresses: Quantity<AddressOrder>,
    /// Largest payload of a TLP on this route: the least MPS on it.
    pub payload: Quantity<PayloadSize>,
    /// What was measured.
    pub measured: Option<Rate>,
}

impl Plan {
    /// A part by id.
    pub fn part(&self, id: PartId) -> &Part {
        &self.parts[id.0 as usize]
    }

    /// A link by id.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.0 as usize]
    }

    /// The part that a hop leads to.
    pub fn arrives(&self, hop: Hop) -> PartId {
        self.link(hop.link).ends[hop.direction.to()].part
    }

    /// The part that a hop leaves.
    pub fn leaves(&self, hop: Hop) -> PartId {
        self.link(hop.link).ends[hop.direction.from()].part
    }

    /// The names of the parts that a flow goes by, its source first.
    pub(crate) fn way(&self, flow: &Flow) -> Vec<&str> {
        self.names(flow.source, &flow.route, flow.target)
    }

    /// The names of the parts along some hops: links end at the device, flows at one of its functions.
    fn names(&self, from: PartId, way: &[Hop], to: PartId) -> Vec<&str> {
        let between = &way[..way.len().saturating_sub(1)];
        let between = between.iter().map(|h| self.part(self.arrives(*h)).name.as_str());
        let last = (!way.is_empty()).then(|| self.part(to).name.as_str());
        std::iter::once(self.part(from).name.as_str()).chain(between).chain(last).collect()
    }

    /// The route of a flow as text: `nic.0 → sw → host`.
    pub(crate) fn route_text(&self, flow: &Flow) -> String {
        self.way(flow).join(" → ")
    }

    /// The same, with the way back of completions where that is another, and the ports whose access control services
    /// send it up to the root complex: `gpu.0 → sw → rc → sw → gpu.1, sent up by ACS of links.slots.0`.
    pub(crate) fn ways_text(&self, flow: &Flow) -> String {
        let mut text = self.route_text(flow);
        let same = flow.back.iter().rev().map(|h| h.reversed()).eq(flow.route.iter().copied());
        let back = flow.back.as_slice();
        let back = if flow.reads() && !same { back } else { &[] };
        if !back.is_empty() {
            text += &format!("; completions {}", self.names(flow.target, back, flow.source).join(" → "));
        }
        let ports: Vec<&str> = [&flow.route, back].into_iter().filter_map(|way| self.sent_up(way)).collect();
        if !ports.is_empty() {
            text += &format!("; sent up by ACS of links.{}", ports.join(" and links."));
        }
        text
    }

    /// The link whose port sends a way up past the switch in which it would turn.
    fn sent_up(&self, way: &[Hop]) -> Option<&str> {
        let again = |i: usize| way.iter().skip(i + 2).any(|later| self.leaves(*later) == self.arrives(way[i]));
        let entry = (0..way.len()).find(|i| again(*i))?;
        Some(&self.link(way[entry].link).name)
    }
}

/// PCIe's side of it.
impl Side for Plan {
    fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        let mut all = Vec::new();
        for part in self.parts.iter() {
            let kind = Quantity::derived(part.keys.kind(), Origin::Stated, Confidence::Exact, "");
            let is = Setting::of("is", &kind.stated());
            all.push((format!("parts.{}", part.name), [vec![is], part.keys.settings()].concat()));
        }
        all.extend(self.links.iter().map(|link| (format!("links.{}", link.name), link.settings())));
        all.extend(self.flows.iter().map(|flow| (format!("flows.{}", flow.name), flow.settings())));
        all
    }

    fn hash(&self, hash: &mut SipHasher13) {
        self.flows.iter().for_each(|flow| hash.write(self.route_text(flow).as_bytes()));
    }

    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn links(&self) -> usize {
        2 * self.links.len()
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        Plan::groups(self)
    }
}

impl<T> Quantity<T> {
    /// The same, not shown as a default.
    fn stated(mut self) -> Self {
        self.default = false;
        self
    }
}

impl Acs {
    /// What is on, in the words of lspci: `ReqRedir CmpltRedir DirectTrans`.
    pub(crate) fn words(&self) -> String {
        let all = [
            ("ReqRedir", &self.request_redirect),
            ("CmpltRedir", &self.completion_redirect),
            ("DirectTrans", &self.direct_translated),
        ];
        all.into_iter().filter(|(_, q)| q.typical).map(|(word, _)| word).collect::<Vec<_>>().join(" ")
    }
}

impl Link {
    /// Everything that is set.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        if self.speed.typical.is_coherent() {
            return vec![Setting::of("coherent", &self.speed), Setting::of("delay", &self.delay)];
        }
        let mut all = vec![
            Setting::of("pcie", &self.speed),
            Setting::of("mps", &self.mps),
            Setting::of("delay", &self.delay),
            Setting::of("ack_every", &self.ack_every),
            Setting::of("update_fc_every", &self.update_fc_every),
            Setting::of("skp_interval", &self.skp_interval),
        ];
        all.extend(self.dllp_limit.as_ref().map(|q| Setting::of("dllp_limit", q)));
        let Acs { request_redirect, completion_redirect, direct_translated } = &self.acs;
        let acs = [
            ("acs_request_redirect", request_redirect),
            ("acs_completion_redirect", completion_redirect),
            ("acs_direct_translated", direct_translated),
        ];
        // Off is what all have been that do not say.
        all.extend(acs.into_iter().filter(|(_, q)| !q.default).map(|(key, q)| Setting::of(key, q)));
        all
    }

    /// The share of the slots left for TLPs and DLLPs at a corner.
    pub(crate) fn usable(&self, corner: Corner) -> f64 {
        self.speed.typical.usable(self.skp(corner))
    }

    /// SKP ordered sets at a corner: one each so many slots, and the slots of one; `None` where there are none.
    pub(crate) fn ordered_sets(&self, corner: Corner) -> Option<(u64, u64)> {
        let speed = self.speed.at(corner);
        ordered_set_slots(speed.generation, speed.lanes, self.skp(corner))
    }

    /// Longest that a receiver holds back an Ack or UpdateFC, seconds: what is said, or the Ack latency limit.
    pub(crate) fn held_back(&self, corner: Corner) -> f64 {
        let usual = || self.ack_latency_limit(corner) as f64 / self.speed.at(corner).coded().bytes();
        self.dllp_limit.as_ref().map_or_else(usual, |q| q.at(corner).seconds())
    }

    /// The Ack latency limit in slots (byte times of the whole link).
    pub(crate) fn ack_latency_limit(&self, corner: Corner) -> u64 {
        let Speed { generation, lanes, .. } = self.speed.at(corner);
        ack_latency_limit(generation, lanes, self.mps.typical.bytes()) * lanes.count()
    }

    /// Symbols or blocks between SKP ordered sets; 0 where there are none.
    pub(crate) fn skp(&self, corner: Corner) -> u64 {
        self.skp_interval.at(corner).0.unwrap_or(0) as u64
    }
}

impl Flow {
    /// Everything that is set.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        vec![
            match self.packets {
                true => Setting::of("do", &self.op.with(if self.reads() { Do::Transmit } else { Do::Receive })),
                false => Setting::of("do", &self.op),
            },
            Setting::of("size", &self.size),
            Setting::of("load", &self.load),
            Setting::of("header", &self.header),
            Setting::of("payload", &self.payload),
        ]
        .into_iter()
        .chain(self.headers.as_ref().map(|q| Setting::of("headers", q)))
        .chain(self.window.as_ref().map(|q| Setting::of("window", q)))
        .chain(self.window.as_ref().map(|_| Setting::of("addresses", &self.addresses)))
        .collect()
    }

    /// Whether it reads at all.
    pub fn reads(&self) -> bool {
        self.op.typical != Do::Write
    }

    /// Whether it is an adapter's DMA; such flows stand behind all others.
    pub(crate) fn is_externally_driven(&self) -> bool {
        matches!(self.program, Program::ExternallyDriven)
    }

    /// Whether it writes at all.
    pub fn writes(&self) -> bool {
        self.op.typical != Do::Read
    }
}
