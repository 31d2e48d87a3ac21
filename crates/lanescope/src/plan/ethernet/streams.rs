//! From a scenario's flows of frames to streams, one for each source.

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::core::address::Directory;
use crate::plan::ethernet::{Network, NodeId, Pick, Stream, Targets, Traced, packets};
use crate::protocol::ethernet::PRIORITIES;
use crate::scenario::keys::{self, Offered, Pattern, Priority, StreamLoad, Transport};
use crate::scenario::quantity::{Percent, Quantity, Shape};
use crate::scenario::{Named, NodeKeys, Scenario, Trace};
use crate::units::{Bytes, Rate, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// Messages of traces at most, of all flows together.
const MOST_TRACED: usize = 1 << 20;
/// Entries of all lists of destinations at most: tables that send to the same stations share one.
const MOST_LISTED: usize = 1 << 24;

/// What the tables of a scenario have in common.
#[derive(Default)]
pub(super) struct Lists {
    /// By what `to` says.
    by_address: HashMap<String, List>,
    entries: usize,
    /// Messages of traces so far.
    traced: usize,
}

/// The destinations of a table, and what holds for all of them.
#[derive(Clone)]
struct List {
    all: Arc<[NodeId]>,
    /// Whether they can all reach one another.
    together: bool,
    /// The smallest MTU of their links.
    narrowest: u64,
}

fn mtu(network: &Network, node: NodeId) -> u64 {
    network.link(network.out(node, 0)).mtu.typical.0
}

impl Lists {
    /// The list of an address; `None` where there are too many entries in all.
    fn of(&mut self, network: &Network, address: &str, all: Vec<NodeId>) -> Option<List> {
        if let Some(known) = self.by_address.get(address) {
            return Some(known.clone());
        }
        self.entries += all.len();
        if self.entries > MOST_LISTED {
            return None;
        }
        let made = List {
            together: all.iter().all(|t| network.routes.reach(all[0], *t)),
            narrowest: all.iter().map(|t| mtu(network, *t)).min().unwrap_or(u64::MAX),
            all: all.into(),
        };
        self.by_address.insert(address.to_owned(), made.clone());
        Some(made)
    }
}

/// Expands one flow group.
pub(super) fn expand(
    diagnostics: &mut Diagnostics,
    directory: &Directory<NodeKeys>,
    scenario: &Scenario,
    network: &mut Network,
    lists: &mut Lists,
    stream: &Named<keys::Stream>,
) {
    let k = &stream.keys;
    let (from_span, to_span) = (k.from.span.unwrap_or(stream.span), k.to.span.unwrap_or(stream.span));
    let mut stations = |text: &str, span: Span| -> Option<(Vec<NodeId>, bool)> {
        let address = directory.find(diagnostics, text, span)?;
        let all: Vec<NodeId> = address.parts.iter().map(|p| NodeId(p.0)).collect();
        let problem = if !address.rest.is_empty() {
            Some(format!("a flow runs between stations, not their {:?}", address.rest))
        } else {
            let switch = address.parts.iter().find(|p| matches!(directory.part(**p).keys, NodeKeys::Switch(_)));
            switch.map(|p| format!("{} is a switch: it neither sends nor receives", directory.part(*p).name))
        };
        match problem {
            Some(what) => {
                diagnostics.push(Diagnostic::error(span, what).hint("name stations: from and to are their names"));
                None
            }
            None => Some((all, address.many)),
        }
    };
    let (from, to) = (stations(&k.from.typical, from_span), stations(&k.to.typical, to_span));
    let (Some((from, from_many)), Some((to, to_many))) = (from, to) else { return };
    let Some(size) = size(diagnostics, stream) else { return };
    let Some(List { all: to, together, narrowest }) = lists.of(network, &k.to.typical, to) else {
        let what =
            format!("flow {}: with it the lists of destinations have more than {MOST_LISTED} entries", stream.name);
        diagnostics
            .push(Diagnostic::error(to_span, what).hint("tables with the same `to` share one: write fewer others"));
        return;
    };
    let one = |place: usize| Targets::one(&to, place);
    let list: Vec<(NodeId, Targets)> = match k.pattern.typical {
        Pattern::Permutation if *from != *to || to.len() < 2 => {
            let d = Diagnostic::error(
                k.pattern.span.or(k.to.span),
                "a permutation is among the same stations, at least two",
            );
            diagnostics.push(d.hint("write the same name in from and to, with .*"));
            return;
        }
        Pattern::Permutation => (0..from.len()).map(|i| (from[i], one((i + to.len() / 2) % to.len()))).collect(),
        Pattern::Pairs if to.len() == 1 => {
            from.iter().filter(|f| **f != to[0] || from.len() == 1).map(|f| (*f, one(0))).collect()
        }
        Pattern::Pairs if from.len() == 1 => (0..to.len()).map(|t| (from[0], one(t))).collect(),
        Pattern::Pairs if from.len() == to.len() => (0..to.len()).map(|i| (from[i], one(i))).collect(),
        Pattern::Pairs => {
            let what = format!("{} sources and {} targets do not pair", from.len(), to.len());
            diagnostics.push(
                Diagnostic::error(to_span, what).hint("or set pattern = \"random\", \"all-to-all\" or \"permutation\""),
            );
            return;
        }
        Pattern::Random => from.iter().map(|f| (*f, Targets::but(&to, *f))).collect(),
        // Each begins with the one after itself, so that not all send to the same.
        Pattern::AllToAll => from.iter().map(|f| (*f, Targets::after(&to, *f))).collect(),
    };
    let pick = match k.pattern.typical {
        Pattern::Random => Pick::Random,
        Pattern::AllToAll => Pick::Turns,
        _ => Pick::One,
    };
    if k.priority.typical == Priority::Destination && to.len() > PRIORITIES as usize {
        let what = format!("flow {}: {} destinations, but there are {PRIORITIES} priorities", stream.name, to.len());
        diagnostics.push(Diagnostic::error(k.priority.span, what).hint("give it one priority, 0 to 7"));
        return;
    }
    let many = from_many || to_many && pick == Pick::One || list.len() > 1;
    let sizes = k.sizes.clone().map(Arc::new);
    let named: HashMap<String, NodeId> = match k.load.typical {
        StreamLoad::Trace(_) => to.iter().map(|t| (network.node(*t).name.clone(), *t)).collect(),
        _ => HashMap::new(),
    };
    let mut cut = None;
    for (i, (source, targets)) in list.into_iter().enumerate() {
        let name = if many { format!("{}.{i}", stream.name) } else { stream.name.clone() };
        if targets.len() == 0 || targets.len() == 1 && targets.get(0) == source {
            let what = format!("flow {name} ends where it starts, at {}", network.node(source).name);
            let hint = "a flow joins two stations; to = \"host.*\" leaves its own source out";
            diagnostics.push(Diagnostic::error(to_span, what).hint(hint));
            return;
        }
        let looked_at = if together { 1 } else { targets.len() };
        if let Some(lost) = targets.iter().take(looked_at).find(|t| !network.routes.reach(source, *t)) {
            let what = format!("there is no path from {} to {}", network.node(source).name, network.node(lost).name);
            diagnostics.push(Diagnostic::error(from_span, what).hint("no chain of links joins their switches"));
            return;
        }
        // The source itself is at one end, whether it is among all destinations or not.
        let agreed = match (k.transport.typical, targets.len()) {
            (Transport::Frames, _) => u64::MAX,
            (Transport::Roce, 1) => mtu(network, targets.get(0)),
            (Transport::Roce, _) => narrowest,
        };
        let mut made = Stream {
            name,
            room: mtu(network, source).min(agreed),
            group: stream.name.clone(),
            source,
            targets,
            pick,
            size: size.clone(),
            sizes: sizes.clone(),
            load: k.load.clone(),
            offered: None,
            trace: None,
            priority: k.priority.clone(),
            transport: k.transport.clone(),
            connections: k.connections.clone(),
            measured: k.measured.as_ref().map(|q| q.typical),
        };
        let fine = packets::check(diagnostics, network, &made)
            && offer(diagnostics, network, scenario, &mut made, &named, &mut cut, lists.traced);
        if !fine {
            return;
        }
        lists.traced += made.trace.as_ref().map_or(0, |t| t.len());
        network.streams.push(made);
    }
}

/// The size of a message, or the mean of the distribution that sizes are drawn from; `None` where it cannot be.
fn size(diagnostics: &mut Diagnostics, stream: &Named<keys::Stream>) -> Option<Quantity<Bytes>> {
    let k = &stream.keys;
    let mut wrong = |span: Option<Span>, what: String, hint: &str| {
        let what = format!("flow {}: {what}", stream.name);
        diagnostics.push(Diagnostic::error(span.or(Some(stream.span)), what).hint(hint));
        None
    };
    match (&k.size, &k.sizes) {
        (None, None) => wrong(None, "it has no size".into(), "size = \"64 KiB\", or sizes = \"web-search\""),
        (Some(_), Some(sizes)) => wrong(sizes.span, "both a size and sizes".into(), "keep one of them"),
        (Some(size), None) if size.typical.0 == 0 || size.typical.0 > 1 << 40 => {
            let what = format!("a message has 1 B to 1 TiB, not {}", size.typical);
            wrong(size.span, what, "for example size = \"64 KiB\"")
        }
        (Some(size), None) => Some(size.clone()),
        (None, Some(sizes)) if !matches!(k.load.typical, StreamLoad::Open { .. }) => {
            let what = format!("messages of drawn sizes, and a load that is {}", k.load.typical.show());
            wrong(k.load.span.or(sizes.span), what, "load = { share = \"60 %\", arrivals = \"poisson\" }")
        }
        (None, Some(sizes)) => {
            Some(Quantity { default: true, ..sizes.with(Bytes(sizes.typical.mean().round() as u64)) })
        }
    }
}

/// Messages that stand for those of a stream, in bytes: as they are, and on the wire.
#[derive(Clone, Copy)]
struct Cut {
    /// Client data that a frame of that stream may have.
    room: u64,
    payload: u64,
    wire: u64,
}

/// Works out what a stream offers; `false` when it cannot. `named`: its destinations by name, for a trace; `cut`: what
/// messages of another stream of its table are cut into; `before`: how many messages other traces have.
fn offer(
    diagnostics: &mut Diagnostics,
    network: &Network,
    scenario: &Scenario,
    s: &mut Stream,
    named: &HashMap<String, NodeId>,
    cut: &mut Option<Cut>,
    before: usize,
) -> bool {
    let link = network.link(network.out(s.source, 0));
    let (line, span) = (link.rate.typical.rate(), s.load.span.or(s.size.span));
    let size = s.size.typical.0;
    let Cut { payload, wire, .. } = match cut {
        Some(cut) if cut.room == s.room => *cut,
        _ => {
            let sizes = s.typical_sizes();
            let wire = sizes.iter().map(|size| network.wire_bytes(s, *size)).sum();
            *cut.insert(Cut { room: s.room, payload: sizes.iter().sum(), wire })
        }
    };
    let most = line.scaled(payload, wire);
    let rate_of = |offered: &Offered| match offered {
        Offered::Rate(rate) => *rate,
        // A millionth of a percent is fine enough, and exact in integers.
        Offered::Share(Percent(share)) => most.scaled((share * 1e8).round() as u64, 100_000_000),
    };
    match &s.load.typical {
        StreamLoad::Saturate => {}
        StreamLoad::Open { offered, .. } | StreamLoad::Bursts { offered, .. } => {
            // More than the link carries is answered like any other load that is too much.
            let rate = rate_of(offered);
            s.offered = Some(rate);
        }
        StreamLoad::Trace(name) => {
            let Some(trace) = scenario.traces.get(name) else { return false };
            match traced(diagnostics, s, named, trace, before) {
                Some(list) if !list.is_empty() => {
                    let bytes: u64 = list.iter().map(|t| t.bytes).sum();
                    let last = list.last().map_or(1, |t| t.at).max(1);
                    let longest = list.iter().map(|t| t.bytes).max().unwrap_or(size);
                    // A text ends: what comes at once at its end is not a rate that a link would have to carry for
                    // ever.
                    let on_wire: u64 = list.iter().map(|t| network.wire_bytes(s, t.bytes)).sum();
                    let most = line.scaled(bytes, on_wire);
                    let rate = Rate::ratio(bytes as u128 * 8 * 1_000_000_000_000_000, last as u128);
                    s.offered = Some(if rate > most { most } else { rate });
                    s.size = Quantity { default: true, ..s.size.with(Bytes(longest)) };
                    s.trace = Some(list.into());
                }
                Some(_) => {
                    diagnostics.push(Diagnostic::error(span, format!("flow {}: the trace is empty", s.group)));
                    return false;
                }
                None => return false,
            }
        }
    }
    true
}

/// Reads `time, destination, size` lines; what is wrong points into the trace.
fn traced(
    diagnostics: &mut Diagnostics,
    s: &Stream,
    named: &HashMap<String, NodeId>,
    trace: &Trace,
    before: usize,
) -> Option<Vec<Traced>> {
    let mut list: Vec<Traced> = Vec::new();
    let mut start = 0;
    for line in trace.text.split_inclusive('\n') {
        let at = Span { source: trace.source, start, end: start + line.trim_end().len() as u32 };
        start += line.len() as u32;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') || list.is_empty() && text.starts_with("time") {
            continue;
        }
        let mut wrong = |what: String| {
            let d = Diagnostic::error(at, format!("flow {}: {what}", s.group));
            diagnostics
                .push(d.hint("a line of a trace is: time, destination, size; for example: 1.2 us, host.3, 1500 B"));
            None
        };
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let [time, to, bytes] = cells.as_slice() else { return wrong("this line does not have three cells".into()) };
        let Ok(time) = Time::parse(time) else { return wrong(format!("{time:?} is not a valid time")) };
        let Ok(bytes) = Bytes::parse(bytes) else { return wrong(format!("{bytes:?} is not a valid size")) };
        let Some(target) = named.get(*to).and_then(|t| s.targets.find(*t)) else {
            return wrong(format!("{to:?} is not a valid destination of this flow"));
        };
        if bytes.0 == 0 || bytes.0 > 1 << 40 {
            return wrong("a message has 1 B to 1 TiB".into());
        }
        if list.last().is_some_and(|l| l.at > time.fs()) {
            return wrong("times must not decrease".into());
        }
        if before + list.len() == MOST_TRACED {
            return wrong(format!("the traces of all stations together have at most {MOST_TRACED} lines"));
        }
        list.push(Traced { at: time.fs(), target: target as u32, bytes: bytes.0 });
    }
    Some(list)
}
