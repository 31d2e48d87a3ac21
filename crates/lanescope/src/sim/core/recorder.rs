//! A time line being recorded: parts say what they do as they do it.
//!
//! The agenda carries the trace, since it is the one thing that every part is given whenever something happens; where
//! nobody asked for a trace there is none, and an event costs one look. Parts know nothing of rows and names: a wire or
//! bus is known by its slot of the agenda, a packet by its place. What must be remembered to draw arrows (which slice a
//! packet was last in) is kept here, so that packets do not grow.

mod messages;

pub(in crate::sim) use messages::{At, MessageTrace};

use crate::protocol::pcie::Class;
use crate::result::timeline::{CounterId, NameId, SliceId, Timeline, TrackId};
use std::collections::{BTreeMap, VecDeque};

/// What a slice is about, in numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Args {
    pub(in crate::sim) payload: NameId,
    pub(in crate::sim) bytes: NameId,
    pub(in crate::sim) tag: NameId,
    pub(in crate::sim) message: NameId,
    pub(in crate::sim) to: NameId,
    pub(in crate::sim) from: NameId,
    pub(in crate::sim) blocks: NameId,
}

/// An Ethernet frame: its stream or an adapter's packet, if it has one; the number of its kind; whether it ends at the
/// next port.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Framed {
    pub(in crate::sim) stream: u32,
    pub(in crate::sim) packet: Option<u32>,
    pub(in crate::sim) kind: u8,
    pub(in crate::sim) local: bool,
    pub(in crate::sim) bytes: u16,
    pub(in crate::sim) payload: u16,
}

/// A TLP: its payload, or what a read request asks for; its place on the way of its flow; whether it is the last
/// completion of a request.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct SentTlp {
    pub(in crate::sim) class: Class,
    pub(in crate::sim) flow: u32,
    pub(in crate::sim) tag: u32,
    pub(in crate::sim) bytes: u32,
    pub(in crate::sim) at: u32,
    pub(in crate::sim) last: bool,
}

/// What a storage transport carried: its number, which way, what it was, from when to when, and its bytes.
pub(in crate::sim) type Carried = (u32, usize, &'static str, (u64, u64), u64);

/// What the sender of a wire may still send, of one kind.
#[derive(Clone, Debug)]
struct Account {
    counter: CounterId,
    left: u64,
    written: bool,
}

/// A wire's or bus's row.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Row {
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
pub(in crate::sim) struct Stage {
    pub(in crate::sim) first: bool,
    pub(in crate::sim) last: bool,
    /// Of the way from target to requester.
    pub(in crate::sim) back: bool,
    pub(in crate::sim) slices: VecDeque<Option<SliceId>>,
}

/// The recording.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Trace {
    pub(in crate::sim) line: Timeline,
    pub(in crate::sim) args: Args,
    pub(in crate::sim) begin: u64,
    /// By slot of the agenda.
    pub(in crate::sim) rows: Vec<Option<Row>>,
    /// By flow: a write, a read request, a completion.
    pub(in crate::sim) tlps: Vec<[NameId; 3]>,
    pub(in crate::sim) dllps: [NameId; 2],
    pub(in crate::sim) stages: Vec<Stage>,
    /// The read requests that wait for completions, by flow and tag.
    pub(in crate::sim) reads: BTreeMap<(u32, u32), Option<SliceId>>,
    /// By stream, and by kind of frame.
    pub(in crate::sim) streams: Vec<NameId>,
    pub(in crate::sim) frames: [NameId; 8],
    /// By place of the frame.
    pub(in crate::sim) framed: Vec<Option<SliceId>>,
    /// By Ethernet switch.
    pub(in crate::sim) memories: Vec<CounterId>,
    /// By flow of a bus.
    pub(in crate::sim) transactions: Vec<[NameId; 6]>,
    pub(in crate::sim) completion: NameId,
    pub(in crate::sim) crossings: [NameId; 3],
    /// By timer of a root complex: its two buses.
    pub(in crate::sim) backbones: BTreeMap<u32, [TrackId; 2]>,
    /// By link of storage, both ways.
    pub(in crate::sim) transports: Vec<TrackId>,
    /// Of ranks and adapters.
    pub(in crate::sim) cluster: MessageTrace,
}

impl Trace {
    /// A wire or bus with this slot.
    pub(in crate::sim) fn row(&mut self, group: &str, name: &str, slot: u32, first: bool) {
        let track = self.line.track(group, name);
        let slot = slot as usize;
        if self.rows.len() <= slot {
            self.rows.resize(slot + 1, None);
        }
        self.rows[slot] = Some(Row { track, first, queue: None, credits: Vec::new(), coming: VecDeque::new() });
    }

    /// What waits at a wire is counted.
    pub(in crate::sim) fn queued(&mut self, group: &str, name: &str, unit: &str, slot: u32) {
        let counter = self.line.counter(group, name, unit);
        if let Some(Some(row)) = self.rows.get_mut(slot as usize) {
            row.queue = Some((counter, 0));
        }
    }

    /// So much waits at a wire from a moment on.
    #[cold]
    pub(in crate::sim) fn waits(&mut self, slot: u32, at: u64, n: u64) {
        if let Some(Some(Row { queue: Some((counter, written)), .. })) = self.rows.get_mut(slot as usize)
            && std::mem::replace(written, n) != n
        {
            self.line.sample(*counter, at, n);
        }
    }

    /// One more account of credit of a wire.
    pub(in crate::sim) fn credit(&mut self, group: &str, name: &str, unit: &str, slot: u32, left: Option<u32>) {
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
    pub(in crate::sim) fn carried(
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
    pub(in crate::sim) fn is_first(&self, slot: u32) -> bool {
        self.rows.get(slot as usize).is_none_or(|r| r.as_ref().is_none_or(|r| r.first))
    }

    /// The second followed from the first, if there was one.
    pub(in crate::sim) fn arrow(&mut self, from: Option<SliceId>, to: Option<SliceId>) {
        if from.is_some() {
            self.line.arrow(from, to);
        }
    }

    /// A sender uses up credit.
    pub(in crate::sim) fn uses(&mut self, slot: u32, account: usize, n: u32, at: u64) {
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
    pub(in crate::sim) fn returns(&mut self, slot: u32, account: usize, n: u32, at: u64) {
        if let Some(Some(row)) = self.rows.get_mut(slot as usize)
            && n > 0
        {
            row.coming.push_back((at, account as u8, n));
        }
    }

    /// A TLP on a wire.
    #[cold]
    pub(in crate::sim) fn tlp(&mut self, slot: u32, tlp: SentTlp, begin: u64, end: u64) {
        let class = tlp.class as usize;
        self.uses(slot, class, 1, begin);
        let args = [(self.args.bytes, tlp.bytes as u64), (self.args.tag, tlp.tag as u64)];
        let args = if tlp.class == Class::Posted { &args[..1] } else { &args };
        let Some(&name) = self.tlps.get(tlp.flow as usize).map(|n| &n[class]) else { return };
        let slice = self.carried(slot, name, begin, end, args);
        let at = tlp.at as usize;
        let Some(&Stage { first, last, back, .. }) = self.stages.get(at) else { return };
        // A doorbell follows nothing that was drawn.
        if back && tlp.class == Class::Posted {
            return;
        }
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
    pub(in crate::sim) fn dllp(&mut self, slot: u32, update: bool, begin: u64, end: u64) {
        self.carried(slot, self.dllps[update as usize], begin, end, &[]);
    }

    /// An Ethernet frame on a wire, by its place.
    #[cold]
    pub(in crate::sim) fn frame(&mut self, slot: u32, id: u32, f: Framed, (begin, end): (u64, u64)) {
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
    pub(in crate::sim) fn memory(&mut self, switch: u32, at: u64, bytes: u64) {
        if let Some(&counter) = self.memories.get(switch as usize) {
            self.line.sample(counter, at, bytes);
        }
    }

    /// A transaction of a shared bus; `kind` is its number, split completions are nobody's flow.
    #[cold]
    pub(in crate::sim) fn transaction(
        &mut self,
        slot: u32,
        flow: usize,
        kind: usize,
        (begin, end): (u64, u64),
        bytes: u64,
    ) {
        let name = self.transactions.get(flow).map_or(self.completion, |t| t[kind]);
        self.carried(slot, name, begin, end, &[(self.args.bytes, bytes)]);
    }

    /// A transaction of a backbone: of the completion bus, or a write or read request.
    #[cold]
    pub(in crate::sim) fn crossing(&mut self, timer: u32, kind: usize, (begin, end): (u64, u64), bytes: u64) {
        if let Some(rows) = self.backbones.get(&timer) {
            self.line.slice(rows[kind / 2], self.crossings[kind], begin, end, &[(self.args.bytes, bytes)]);
        }
    }

    /// A frame or a connection of a storage transport.
    #[cold]
    pub(in crate::sim) fn transport(&mut self, (link, way, what, (begin, end), bytes): Carried) {
        if let Some(&row) = self.transports.get(2 * link as usize + way) {
            let name = self.line.name(what);
            self.line.slice(row, name, begin, end, &[(self.args.bytes, bytes)]);
        }
    }

    /// Everything before a moment has happened.
    pub(in crate::sim) fn finish(mut self, now: u64) -> Timeline {
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
pub(in crate::sim) fn put<T: Clone + Default>(all: &mut Vec<T>, at: u32, value: T) {
    let at = at as usize;
    if all.len() <= at {
        all.resize(at + 1, T::default());
    }
    all[at] = value;
}
