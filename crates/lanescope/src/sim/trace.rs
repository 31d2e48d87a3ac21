//! A time line being recorded: parts say what they do as they do it.
//!
//! The agenda carries the trace, since it is the one thing that every part is given whenever something happens; where
//! nobody asked for a trace there is none, and an event costs one look. Parts know nothing of rows and names: a wire or
//! bus is known by its slot of the agenda, a packet by its place. What must be remembered to draw arrows (which slice a
//! packet was last in) is kept here, so that packets do not grow.

use crate::plan::Plan;
use crate::protocol::pcie::Class;
use crate::result::timeline::{CounterId, NameId, SliceId, Timeline, TrackId};
use crate::sim::infiniband::ClusterTrace;
use crate::sim::pcie::wire::Tlp;
use crate::sim::pcie::{Fabric, wire_of};
use std::collections::{BTreeMap, VecDeque};

/// Something that happened to a flow, in the words of its side.
const TLPS: [&str; 3] = ["write", "read request", "completion"];
/// DLLPs, by whether they return credit.
const DLLPS: [&str; 2] = ["Ack", "UpdateFC"];
/// Kinds of Ethernet frames, as `ethernet::Kind` numbers them.
const FRAMES: [&str; 8] = ["data", "pause", "PFC pause", "stop", "go", "request", "grant", "CNP"];
/// Transactions of a shared bus, as its arbiter numbers them.
const TRANSACTIONS: [&str; 6] =
    ["write", "split request", "retry", "read data", "split completion", "programmed write"];
/// Those of a root complex's backbone.
const CROSSINGS: [&str; 3] = ["write", "read request", "read data"];

/// What a slice is about, in numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Args {
    pub(super) payload: NameId,
    pub(super) bytes: NameId,
    pub(super) tag: NameId,
    pub(super) message: NameId,
    pub(super) to: NameId,
    pub(super) from: NameId,
    pub(super) blocks: NameId,
}

/// An Ethernet frame: its stream or an adapter's packet, if it has one; the number of its kind; whether it ends at the
/// next port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framed {
    pub(super) stream: u32,
    pub(super) packet: Option<u32>,
    pub(super) kind: u8,
    pub(super) local: bool,
    pub(super) bytes: u16,
    pub(super) payload: u16,
}

/// What the sender of a wire may still send, of one kind.
#[derive(Clone, Debug)]
struct Account {
    counter: CounterId,
    left: u64,
    written: bool,
}

/// A wire's or bus's row.
#[derive(Clone, Debug)]
struct Row {
    track: TrackId,
    /// Packets begin here: nothing goes before.
    first: bool,
    /// What waits there, and how much was written last.
    queue: Option<(CounterId, u64)>,
    /// `None`: infinite.
    credits: Vec<Option<Account>>,
    /// Credit on its way back: when, account, how much.
    coming: VecDeque<(u64, u8, u32)>,
}

/// A place on the way of a flow: whether it is the first and the last, and the slices there whose packets have not gone
/// on.
#[derive(Clone, Debug)]
struct Stage {
    first: bool,
    last: bool,
    slices: VecDeque<Option<SliceId>>,
}

/// The recording.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) line: Timeline,
    pub(super) args: Args,
    begin: u64,
    /// By slot of the agenda.
    rows: Vec<Option<Row>>,
    /// By flow: a write, a read request, a completion.
    tlps: Vec<[NameId; 3]>,
    dllps: [NameId; 2],
    stages: Vec<Stage>,
    /// The read requests that wait for completions, by flow and tag.
    reads: BTreeMap<(u32, u32), Option<SliceId>>,
    /// By stream, and by kind of frame.
    streams: Vec<NameId>,
    frames: [NameId; 8],
    /// By place of the frame.
    framed: Vec<Option<SliceId>>,
    /// By Ethernet switch.
    memories: Vec<CounterId>,
    /// By flow of a bus.
    transactions: Vec<[NameId; 6]>,
    completion: NameId,
    crossings: [NameId; 3],
    /// By timer of a root complex: its two buses.
    backbones: BTreeMap<u32, [TrackId; 2]>,
    /// By link of storage, both ways.
    transports: Vec<TrackId>,
    /// Of ranks and adapters.
    pub(super) cluster: ClusterTrace,
}

impl Trace {
    /// Rows for all that a plan has, from a moment on.
    pub(super) fn new(plan: &Plan, system: &crate::sim::world::System, most_events: usize, now: u64) -> Trace {
        let mut line = Timeline::new(&plan.title, most_events);
        let mut name = |text: &str| line.name(text);
        let args = Args {
            payload: name("payload"),
            bytes: name("bytes"),
            tag: name("tag"),
            message: name("message"),
            to: name("to"),
            from: name("from"),
            blocks: name("blocks"),
        };
        let dllps = DLLPS.map(&mut name);
        let frames = FRAMES.map(&mut name);
        let crossings = CROSSINGS.map(&mut name);
        let completion = name(TRANSACTIONS[4]);
        // A device's flow is known by its name; what an adapter moves for itself, by what it is.
        let tlps = plan.flows.iter().map(|f| TLPS.map(|kind| name(&format!("{}: {kind}", f.name)))).collect();
        let streams = plan.network.streams.iter().map(|s| name(&s.name)).collect();
        let moves = plan.buses.flows.iter();
        let transactions = moves.map(|f| TRANSACTIONS.map(|kind| name(&format!("{}: {kind}", f.name)))).collect();
        let cluster = ClusterTrace::new(&plan.cluster, &mut line);
        let mut trace = Trace {
            args,
            begin: now,
            rows: Vec::new(),
            tlps,
            dllps,
            stages: Vec::new(),
            reads: BTreeMap::new(),
            streams,
            frames,
            framed: Vec::new(),
            memories: Vec::new(),
            transactions,
            completion,
            crossings,
            backbones: BTreeMap::new(),
            transports: Vec::new(),
            cluster,
            line,
        };
        system.cluster.rows(&mut trace);
        for (on, slot) in system.ethernet.slots_of_wires().enumerate() {
            let network = &plan.network;
            let first = network.station(network.leaves(on as u32)).is_some();
            let name = network.wire_name(on as u32);
            trace.row("Ethernet", &name, slot, first);
            if !first {
                trace.queued("Ethernet", &format!("{name}: waiting"), "B", slot);
            }
        }
        for (_, node, _) in plan.network.switches() {
            let counter = trace.line.counter("Ethernet", &format!("parts.{}: memory in use", node.name), "B");
            trace.memories.push(counter);
        }
        trace.pcie(plan, &system.pcie);
        for (bus, slot) in plan.buses.buses.iter().zip(system.bus.slots_of_buses()) {
            trace.row("buses", &format!("links.{}", bus.name), slot, true);
        }
        for wire in plan.storage.wires() {
            let toward = if wire.to.is_empty() { String::new() } else { format!(" toward {}", wire.to) };
            let row = trace.line.track("storage", &format!("links.{}{toward}", wire.transport.name));
            // A bus has one, whichever way.
            let rows = if wire.to.is_empty() { 2 } else { 1 };
            trace.transports.extend(std::iter::repeat_n(row, rows));
        }
        trace
    }

    fn pcie(&mut self, plan: &Plan, fabric: &Fabric) {
        for (hop, wire) in plan.directions().zip(&fabric.net.wires) {
            let name = plan.direction_name(hop);
            self.row("PCIe", &name, wire.tx, true);
            for (class, kind) in Class::ALL.into_iter().zip(["posted", "non-posted", "completion"]) {
                self.credit("PCIe", &format!("{name}: {kind} headers left"), "headers", wire.tx, wire.left(class).0);
            }
        }
        for flow in plan.flows.iter() {
            let hops = flow.route.len();
            for _ in 0..2 {
                let stage = |i| Stage { first: i == 0, last: i + 1 == hops, slices: VecDeque::new() };
                self.stages.extend((0..hops).map(stage));
            }
            debug_assert!(flow.route.iter().all(|h| (wire_of(*h) as usize) < fabric.net.wires.len()));
        }
        for (part, timer) in fabric.backbone_timers() {
            let name = &plan.parts[part].name;
            let rows =
                ["request bus", "completion bus"].map(|bus| self.line.track("PCIe", &format!("parts.{name}: {bus}")));
            self.backbones.insert(timer, rows);
        }
    }

    /// A wire or bus with this slot.
    pub(super) fn row(&mut self, group: &str, name: &str, slot: u32, first: bool) {
        let track = self.line.track(group, name);
        let slot = slot as usize;
        if self.rows.len() <= slot {
            self.rows.resize(slot + 1, None);
        }
        self.rows[slot] = Some(Row { track, first, queue: None, credits: Vec::new(), coming: VecDeque::new() });
    }

    /// What waits at a wire is counted.
    pub(super) fn queued(&mut self, group: &str, name: &str, unit: &str, slot: u32) {
        let counter = self.line.counter(group, name, unit);
        if let Some(Some(row)) = self.rows.get_mut(slot as usize) {
            row.queue = Some((counter, 0));
        }
    }

    /// So much waits at a wire from a moment on.
    #[cold]
    pub(super) fn waits(&mut self, slot: u32, at: u64, n: u64) {
        if let Some(Some(Row { queue: Some((counter, written)), .. })) = self.rows.get_mut(slot as usize)
            && std::mem::replace(written, n) != n
        {
            self.line.sample(*counter, at, n);
        }
    }

    /// One more account of credit of a wire.
    pub(super) fn credit(&mut self, group: &str, name: &str, unit: &str, slot: u32, left: Option<u32>) {
        let account = left.map(|left| Account {
            counter: self.line.counter(group, name, unit),
            left: left as u64,
            written: false,
        });
        if let Some(Some(row)) = self.rows.get_mut(slot as usize) {
            row.credits.push(account);
        }
    }

    /// Something on a wire or bus.
    pub(super) fn carried(
        &mut self,
        slot: u32,
        name: NameId,
        begin: u64,
        end: u64,
        args: &[(NameId, u64)],
    ) -> Option<SliceId> {
        let row = self.rows.get(slot as usize)?.as_ref()?;
        self.line.slice(row.track, name, begin, end, args)
    }

    /// Whether packets begin on a wire.
    pub(super) fn is_first(&self, slot: u32) -> bool {
        self.rows.get(slot as usize).is_none_or(|r| r.as_ref().is_none_or(|r| r.first))
    }

    /// The second followed from the first, if there was one.
    pub(super) fn arrow(&mut self, from: Option<SliceId>, to: Option<SliceId>) {
        if from.is_some() {
            self.line.arrow(from, to);
        }
    }

    /// A sender uses up credit.
    pub(super) fn uses(&mut self, slot: u32, account: usize, n: u32, at: u64) {
        let Some(Some(row)) = self.rows.get_mut(slot as usize) else { return };
        row.settle(&mut self.line, at);
        if let Some(Some(a)) = row.credits.get_mut(account) {
            if !std::mem::replace(&mut a.written, true) {
                self.line.sample(a.counter, self.begin, a.left);
            }
            a.left = a.left.saturating_sub(n as u64);
            self.line.sample(a.counter, at, a.left);
        }
    }

    /// Credit will be back at a moment; those of a wire come in order.
    pub(super) fn returns(&mut self, slot: u32, account: usize, n: u32, at: u64) {
        if let Some(Some(row)) = self.rows.get_mut(slot as usize)
            && n > 0
        {
            row.coming.push_back((at, account as u8, n));
        }
    }

    /// A TLP on a wire.
    #[cold]
    pub(super) fn tlp(&mut self, slot: u32, tlp: &Tlp, begin: u64, end: u64) {
        let class = tlp.class as usize;
        self.uses(slot, class, 1, begin);
        let bytes = if tlp.class == Class::NonPosted { tlp.asks } else { tlp.payload };
        let args = [(self.args.bytes, bytes as u64), (self.args.tag, tlp.tag as u64)];
        let args = if tlp.class == Class::Posted { &args[..1] } else { &args };
        let Some(&name) = self.tlps.get(tlp.flow as usize).map(|n| &n[class]) else { return };
        let slice = self.carried(slot, name, begin, end, args);
        let at = tlp.at as usize;
        let Some(&Stage { first, last, .. }) = self.stages.get(at) else { return };
        let mut from = None;
        if !first {
            from = self.stages[at - 1].slices.pop_front().flatten();
        } else if tlp.class == Class::Completion {
            let key = (tlp.flow, tlp.tag);
            from = if tlp.last { self.reads.remove(&key) } else { self.reads.get(&key).copied() }.flatten();
        }
        self.arrow(from, slice);
        if !last {
            self.stages[at].slices.push_back(slice);
        } else if tlp.class == Class::NonPosted {
            self.reads.insert((tlp.flow, tlp.tag), slice);
        }
    }

    /// A DLLP on a wire: whether it returns credit.
    #[cold]
    pub(super) fn dllp(&mut self, slot: u32, update: bool, begin: u64, end: u64) {
        self.carried(slot, self.dllps[update as usize], begin, end, &[]);
    }

    /// An Ethernet frame on a wire, by its place.
    #[cold]
    pub(super) fn frame(&mut self, slot: u32, id: u32, f: Framed, (begin, end): (u64, u64)) {
        let packet = f.packet.and_then(|p| self.cluster.packets.get(p as usize).copied()).unwrap_or_default();
        let kind = self.frames[(f.kind as usize).min(self.frames.len() - 1)];
        let name = packet.name.or(self.streams.get(f.stream as usize).copied()).unwrap_or(kind);
        let args = [
            (self.args.bytes, f.bytes as u64),
            (self.args.payload, f.payload as u64),
            (self.args.message, packet.message),
        ];
        let slice = self.carried(slot, name, begin, end, &args[..2 + usize::from(f.packet.is_some())]);
        let before = match self.is_first(slot) {
            _ if f.local => None,
            true => packet.slice,
            false => self.framed.get(id as usize).copied().flatten(),
        };
        self.arrow(before, slice);
        if let Some(p) = f.packet.and_then(|p| self.cluster.packets.get_mut(p as usize)) {
            p.slice = slice;
        }
        put(&mut self.framed, id, slice);
    }

    /// What an Ethernet switch holds from a moment on.
    #[cold]
    pub(super) fn memory(&mut self, switch: u32, at: u64, bytes: u64) {
        if let Some(&counter) = self.memories.get(switch as usize) {
            self.line.sample(counter, at, bytes);
        }
    }

    /// A transaction of a shared bus; `kind` is its number, split completions are nobody's flow.
    #[cold]
    pub(super) fn transaction(&mut self, slot: u32, flow: usize, kind: usize, (begin, end): (u64, u64), bytes: u64) {
        let name = self.transactions.get(flow).map_or(self.completion, |t| t[kind]);
        self.carried(slot, name, begin, end, &[(self.args.bytes, bytes)]);
    }

    /// A transaction of a backbone: of the completion bus, or a write or read request.
    #[cold]
    pub(super) fn crossing(&mut self, timer: u32, kind: usize, (begin, end): (u64, u64), bytes: u64) {
        if let Some(rows) = self.backbones.get(&timer) {
            self.line.slice(rows[kind / 2], self.crossings[kind], begin, end, &[(self.args.bytes, bytes)]);
        }
    }

    /// A frame or a connection of a storage transport.
    #[cold]
    pub(super) fn transport(&mut self, (link, way, what, (begin, end), bytes): crate::sim::storage::Carried) {
        if let Some(&row) = self.transports.get(2 * link as usize + way) {
            let name = self.line.name(what);
            self.line.slice(row, name, begin, end, &[(self.args.bytes, bytes)]);
        }
    }

    /// Everything before a moment has happened.
    pub(super) fn finish(mut self, now: u64) -> Timeline {
        for row in self.rows.iter_mut().flatten() {
            row.settle(&mut self.line, now);
        }
        self.cluster.finish(&mut self.line, now);
        self.line
    }
}

impl Row {
    /// Credit that is back by a moment.
    fn settle(&mut self, line: &mut Timeline, now: u64) {
        while let Some(&(at, account, n)) = self.coming.front().filter(|c| c.0 <= now) {
            self.coming.pop_front();
            if let Some(Some(a)) = self.credits.get_mut(account as usize) {
                a.left += n as u64;
                line.sample(a.counter, at, a.left);
            }
        }
    }
}

/// Remembers something at a place of an arena.
pub(super) fn put<T: Clone + Default>(all: &mut Vec<T>, at: u32, value: T) {
    let at = at as usize;
    if all.len() <= at {
        all.resize(at + 1, T::default());
    }
    all[at] = value;
}
