//! Where packets of several flows of PCIe stand behind one another: the buffers of switches' ingress ports, and an
//! endpoint's tags.
//!
//! Credits are counted by port and class (6.0, 2.6.1), not by the way that a packet goes on: what waits for a busy
//! egress port takes the room of what could leave by another, whether the switch sorts its packets or not. So what
//! holds one flow back holds back all that share a buffer with it and go on by other ways, up to as many packets as it
//! gets through itself; and a requester whose tags are all held by reads of a slow target reads from no other.
//!
//! A load that waits for what it has sent fills a buffer only if it has more outstanding than that holds.

use crate::estimate::core::elements::Key;
use crate::estimate::core::fill::{Filled, Queue, Resource, Share, Wait, behind};
use crate::estimate::pcie::slots::{self, Wires};
use crate::plan::{Flow, Hop, PartId, Plan, Program};
use crate::protocol::pcie::{Class, DATA_CREDIT};
use crate::result::Note;
use crate::scenario::PartKeys;
use crate::scenario::keys::Do;
use crate::scenario::quantity::Corner;
use crate::units::human_rate;
use std::collections::BTreeMap;

/// What a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    /// The buffer at the end of a hop, of one class.
    Port(Hop, Class),
    /// The tags of an endpoint.
    Tags(PartId),
}

/// The mechanism of [`notes`].
const MORE_THAN_ITS_TURNS: &str = "more-than-its-turns";

/// How far along a read its completions begin, behind the ports of any way that its requests go.
const COMPLETIONS: usize = 1 << 16;

/// All queues in which flows stand that wait for different things.
pub(in crate::estimate) fn queues(
    plan: &Plan,
    corner: Corner,
    wires: &Wires,
    resources: &[Resource<Key>],
) -> Vec<Queue<Line>> {
    let alike = |a: &Flow, b: &Flow| {
        a.route == b.route && a.back == b.back && a.op.typical == b.op.typical && a.place == b.place
    };
    let mut own = plan.flows.iter().filter(|f| !f.is_externally_driven());
    let Some(first) = own.next() else { return Vec::new() };
    // The commonest of plans: all flows go the same way.
    if own.all(|f| alike(f, first)) {
        return Vec::new();
    }
    let mut of_flow: Vec<Vec<usize>> = vec![Vec::new(); plan.flows.len()];
    for (r, resource) in resources.iter().enumerate() {
        for u in resource.uses.iter().filter(|u| u.flow < plan.flows.len()) {
            of_flow[u.flow].push(r);
        }
    }
    let mut readers: BTreeMap<PartId, usize> = BTreeMap::new();
    let reads = |f: &&Flow| f.reads() && f.piece_of.is_none();
    plan.flows.iter().filter(reads).for_each(|f| *readers.entry(f.source).or_default() += 1);
    // Of each hop, the port through which a completer sends all that is read over it; or that there are several.
    let mut answered: BTreeMap<Hop, Option<Hop>> = BTreeMap::new();
    for flow in plan.flows.iter().filter(|f| f.reads() && !f.is_externally_driven()) {
        let by = flow.back.first().copied().filter(|_| in_order(plan, corner, flow));
        for hop in &flow.back {
            answered.entry(*hop).and_modify(|one| *one = one.filter(|one| Some(*one) == by)).or_insert(by);
        }
    }
    let mut all: BTreeMap<Line, Queue<Line>> = BTreeMap::new();
    let mut add = |line: Line, room: f64, wait: Wait| {
        let queue = all.entry(line).or_insert_with(|| Queue { key: line, room, waits: Vec::new(), own_coin: false });
        // Of packets of several sizes, as many bytes as the largest would fill.
        queue.room = queue.room.max(room);
        queue.waits.push(wait);
    };
    for (index, flow) in plan.flows.iter().enumerate().filter(|(_, f)| !f.is_externally_driven()) {
        let tlps = |hop: Hop| slots::of_flow(wires, hop, index).map_or(0.0, |s| s.data_tlps);
        let end = flow.route.len();
        let outstanding = match flow.program {
            Program::Closed { outstanding, .. } => outstanding as f64 * flow.size.at(corner).f64(),
            _ => f64::INFINITY,
        };
        let room = |hop: Hop, class: Class| room(plan, corner, flow, hop, class);
        // Where on a route something is, forth and back.
        let forth = |hop: Hop| flow.route.iter().position(|h| *h == hop);
        let back = |hop: Hop| flow.back.iter().position(|h| *h == hop);
        let through = |part: PartId| (1..end).find(|&i| plan.leaves(flow.route[i]) == part);
        if flow.writes() {
            // Page walks are what the last buffer of the way waits for.
            let translated = plan.iommu(corner, flow.target).is_some();
            for (i, &hop) in flow.route.iter().enumerate().take(if translated { end } else { end - 1 }) {
                let later = |key: Key| match key {
                    Key::Walks(_) => true,
                    _ if i + 1 == end => false,
                    Key::Wire(h) | Key::Replay(h) | Key::Credits(h, Class::Posted, _) => {
                        forth(h).is_some_and(|j| j > i)
                    }
                    Key::Core(part) => through(part).is_some_and(|j| j > i),
                    Key::Memory(_, way) => way != Do::Read,
                    Key::RequestBus(_) => true,
                    _ => false,
                };
                let beyond = of_flow[index].iter().copied().filter(|&r| later(resources[r].key)).collect();
                let wait = Wait { flow: index, packets: tlps(hop), hops: i, most: outstanding, place: 1 + i, beyond };
                add(Line::Port(hop, Class::Posted), room(hop, Class::Posted), wait);
            }
        }
        if !flow.reads() {
            continue;
        }
        let mut most = outstanding;
        if let PartKeys::Endpoint(k) = &plan.part(flow.source).keys {
            let request = plan.request_size(corner, flow).min(flow.size.at(corner).0) as f64;
            let tags = k.tags.at(corner).get() as f64 * k.engines.at(corner).get() as f64 * request;
            most = most.min(tags);
            let own = |key: Key| {
                let at_home = matches!(
                    key,
                    Key::Engine(..) | Key::Outstanding(_) | Key::Tags(_) | Key::Loads(_) | Key::InTurn(_)
                );
                at_home || matches!(key, Key::Wire(h) if h == flow.route[0])
            };
            let beyond = of_flow[index].iter().copied().filter(|&r| !own(resources[r].key)).collect();
            let wait = Wait { flow: index, packets: 1.0 / request, hops: 0, most: outstanding, place: 0, beyond };
            add(Line::Tags(flow.source), tags, wait);
            // Requests of several flows are issued in turn: where all wait, each has its part of the tags.
            most = most.min(tags / readers[&flow.source] as f64);
        }
        let returns = |part: PartId| (1..flow.back.len()).find(|&i| plan.leaves(flow.back[i]) == part);
        for (i, &hop) in flow.back.iter().enumerate().take(flow.back.len() - 1) {
            // Where they stand in the order of their requests nobody has turns.
            if answered.get(&hop).is_some_and(Option::is_some) {
                continue;
            }
            let later = |key: Key| match key {
                Key::Wire(h) | Key::Replay(h) | Key::Credits(h, Class::Completion, _) => back(h).is_some_and(|j| j > i),
                Key::Core(part) => returns(part).is_some_and(|j| j > i),
                _ => false,
            };
            let beyond = of_flow[index].iter().copied().filter(|&r| later(resources[r].key)).collect();
            let (place, hops) = (COMPLETIONS + 1 + i, (flow.back.len() - 1 - i).min(end));
            let wait = Wait { flow: index, packets: tlps(hop), hops, most, place, beyond };
            add(Line::Port(hop, Class::Completion), room(hop, Class::Completion), wait);
        }
    }
    // What waits for the same things all together is divided there.
    let differ = |q: &Queue<Line>| q.waits.iter().any(|w| w.beyond != q.waits[0].beyond);
    all.into_values().filter(differ).collect()
}

/// Whether a flow's requests wait at their completer in the order in which they come.
pub(super) fn in_order(plan: &Plan, corner: Corner, flow: &Flow) -> bool {
    let takes_all = match &plan.part(flow.target).keys {
        PartKeys::RootComplex(k) => k.reads_in_flight.is_none() && plan.backbone(corner, flow.target).is_none(),
        _ => true,
    };
    takes_all && flow.reads() && flow.piece_of.is_none() && !flow.is_externally_driven() && !flow.back.is_empty()
}

/// Bytes of payload of a flow that the buffer at the end of a hop holds.
pub(super) fn room(plan: &Plan, corner: Corner, flow: &Flow, hop: Hop, class: Class) -> f64 {
    let buffer = plan.buffer(hop, class);
    let size = flow.size.at(corner).0;
    let payload = match class {
        Class::Completion => plan.completion_size(corner, flow, plan.request_size(corner, flow).min(size)).min(size),
        _ => plan.write_payload(corner, flow).min(size),
    } as f64;
    let headers = buffer.headers.map_or(f64::INFINITY, |h| h as f64 * payload);
    buffer.data.map_or(f64::INFINITY, |d| (d as u64 * DATA_CREDIT) as f64).min(headers)
}

/// What a person calls what a queue has too little of.
pub(in crate::estimate) fn words(line: Line) -> &'static str {
    match line {
        Line::Port(_, Class::Completion) => "completion credits",
        Line::Port(..) => "posted credits",
        Line::Tags(_) => "read requests in flight",
    }
}

/// How much more than its turns a share may be without a note: what shares may be off a simulation, too, where queues
/// form (5 %).
const MUCH: f64 = 0.05;

/// What to say of flows that have more than their turns in a queue, each table of flows once. `element` names what a
/// flow waits for.
pub(in crate::estimate) fn notes(
    plan: &Plan,
    (resources, queues): (&[Resource<Key>], &[Queue<Line>]),
    (shares, filled): (&[Share], &Filled),
    element: impl Fn(usize) -> String,
) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for b in behind(resources, queues, shares, filled).iter().filter(|b| shares[b.flow].rate > b.most * (1.0 + MUCH)) {
        let of = format!("flows.{}", plan.flows[b.flow].group);
        if notes.iter().any(|n| n.element == of) {
            continue;
        }
        let line = queues[b.queue].key;
        let place = match line {
            Line::Port(hop, _) => plan.direction_name(hop),
            Line::Tags(part) => format!("parts.{}", plan.part(part).name),
        };
        let text = format!(
            "its share of {} is more than its turns: it stands behind flows.{}, which waits for {}, in one queue \
             ({place}, {}), whose ports take turns, and these would leave it {}; as the lesser rate it was fixed first",
            human_rate(shares[b.flow].rate * 8.0),
            plan.flows[b.other].name,
            element(b.other),
            words(line),
            human_rate(b.most * 8.0),
        );
        notes.push(Note { element: of, mechanism: MORE_THAN_ITS_TURNS.into(), text });
    }
    notes
}
