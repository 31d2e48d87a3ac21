//! The slots that TLPs of flows take of links, and what of them is answered the other way.

use crate::estimate::pcie::latency;
use crate::plan::{Batch, Direction, Flow, Hop, Link, LinkId, Plan};
use crate::protocol::pcie::{self, Class, Header};
use crate::scenario::PartKeys;
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// Slots that a flow takes of one direction of a link, per payload byte of the flow, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slots {
    /// Payload itself.
    pub(crate) payload: f64,
    /// Headers and framing of TLPs with data.
    pub(crate) framing: f64,
    /// Read requests.
    pub(crate) requests: f64,
    /// Descriptors, completion entries, interrupts and doorbells, whole TLPs.
    pub(crate) control: f64,
    /// Acks, and UpdateFCs, as they are counted of what comes the other way.
    pub(crate) acks: f64,
    pub(crate) update_fc: f64,
    /// TLPs of any kind (not slots).
    pub(crate) tlps: f64,
    /// TLPs with data (not slots).
    pub(crate) data_tlps: f64,
    /// Of these completions, and the read requests that they answer (not slots).
    pub(crate) completions: f64,
    pub(crate) answered: f64,
    /// TLPs of the other direction, by class, that are acknowledged in this one, and those whose room is announced (not
    /// slots).
    pub(in crate::estimate) acked: [f64; 3],
    pub(in crate::estimate) freed: [f64; 3],
    /// DLLP slots, fewest.
    pub(crate) dllps_least: f64,
}

impl Slots {
    pub(in crate::estimate) fn packets(&self) -> f64 {
        self.payload + self.framing + self.requests + self.control
    }
}

/// The slots of every flow in every direction it touches.
pub(crate) type Wires = BTreeMap<Hop, Vec<(usize, Slots)>>;

/// The same while it grows, by the number of the direction: each flow asks for many.
struct ByHop(Vec<Vec<(usize, Slots)>>);

impl ByHop {
    fn new(plan: &Plan) -> ByHop {
        ByHop(vec![Vec::new(); 2 * plan.links.len()])
    }

    fn slots(&mut self, hop: Hop, index: usize) -> &mut Slots {
        let list = &mut self.0[2 * hop.link.0 as usize + usize::from(hop.direction == Direction::Up)];
        if list.last().is_none_or(|(i, _)| *i != index) {
            list.push((index, Slots::default()));
        }
        let last = list.len() - 1;
        &mut list[last].1
    }

    fn wires(self) -> Wires {
        let hop = |i: usize| Hop {
            link: LinkId((i / 2) as u32),
            direction: if i.is_multiple_of(2) { Direction::Down } else { Direction::Up },
        };
        let used = self.0.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
        used.map(|(i, list)| (hop(i), list)).collect()
    }
}

/// Adds a train of TLPs of a class on one hop, and what answers it on the way back.
#[allow(clippy::too_many_arguments)]
fn train(
    wires: &mut ByHop,
    plan: &Plan,
    corner: Corner,
    index: usize,
    hop: Hop,
    class: Class,
    per_byte: f64,
    tlps: u64,
    bytes: u64,
    data: u64,
) {
    let link = plan.link(hop.link);
    let generation = link.speed.typical.generation;
    {
        let s = wires.slots(hop, index);
        s.tlps += tlps as f64 * per_byte;
        if class != Class::NonPosted && data == 0 {
            // Writes and completions without payload of a flow carry what belongs to packets: descriptors, entries.
            s.control += bytes as f64 * per_byte;
        } else if class == Class::NonPosted {
            s.requests += bytes as f64 * per_byte;
        } else {
            s.payload += data as f64 * per_byte;
            s.framing += (bytes - data) as f64 * per_byte;
            s.data_tlps += tlps as f64 * per_byte;
        }
    }
    let (ack, fc) = (link.ack_every.at(corner), link.update_fc_every.at(corner));
    // Completion credits of endpoints and root complexes are infinite and never updated (2.0, table 2-33).
    let updated = class != Class::Completion || matches!(plan.part(plan.arrives(hop)).keys, PartKeys::Switch(_));
    let size = pcie::dllp(generation) as f64;
    let rate = tlps as f64 * per_byte;
    // A DLLP waits for the TLP before it; what arrives meanwhile it answers too, so the fewest are those of the longest
    // wait.
    let longest = pcie::tlp(generation, Header::Dw4, link.mps.typical.bytes(), true);
    let meanwhile = longest.div_ceil((bytes / tlps.max(1)).max(1)) as u32;
    let fewest = |every: crate::scenario::quantity::Every| every.0.map_or(0.0, |n| 1.0 / (n + meanwhile) as f64);
    let s = wires.slots(hop.reversed(), index);
    s.acked[class as usize] += rate;
    s.dllps_least += rate * fewest(ack) * size;
    if updated {
        s.freed[class as usize] += rate;
        s.dllps_least += rate * fewest(fc) * size;
    }
}

/// Notes that so many completions of a flow answer so many requests.
fn answers(wires: &mut ByHop, index: usize, hop: Hop, completions: f64, requests: f64) {
    let s = wires.slots(hop, index);
    s.completions += completions;
    s.answered += requests;
}

/// Those of one flow in one direction.
pub(in crate::estimate) fn of_flow(wires: &Wires, hop: Hop, index: usize) -> Option<&Slots> {
    let list = wires.get(&hop)?;
    list.binary_search_by_key(&index, |(i, _)| *i).ok().map(|at| &list[at].1)
}

/// Whether packets are the same at a corner as typically, and with them what wires carry: sizes, and how many
/// TLPs one DLLP answers at most.
pub(in crate::estimate) fn alike(plan: &Plan, corner: Corner) -> bool {
    let packets = |flow: &Flow, corner: Corner| {
        let (size, request) = (flow.size.at(corner).0, plan.request_size(corner, flow));
        let queue = plan.packet_queue(corner, flow);
        let pieces = [request.min(size), queue.map_or(0, |q| q.fetch.bytes)];
        let pieces = pieces.map(|bytes| plan.completion_size(corner, flow, bytes));
        (size, request, plan.write_payload(corner, flow), flow.header.at(corner), queue, pieces)
    };
    let answers = |link: &Link, corner: Corner| (link.ack_every.at(corner), link.update_fc_every.at(corner));
    plan.flows.iter().all(|f| packets(f, corner) == packets(f, Corner::Typical))
        && plan.links.iter().all(|l| answers(l, corner) == answers(l, Corner::Typical))
}

/// The slots of all flows, but for DLLPs.
pub(super) fn slots(plan: &Plan, corner: Corner) -> Wires {
    let mut wires = ByHop::new(plan);
    for (index, flow) in plan.flows.iter().enumerate() {
        let size = flow.size.at(corner).0;
        let per_byte = 1.0 / size as f64;
        let payload = plan.write_payload(corner, flow);
        let (header, ecrc) = (flow.header.at(corner), plan.ecrc(flow));
        // What surrounds data counts whole.
        let data = |size: u64| if flow.control { 0 } else { size };
        for &hop in &flow.route {
            let generation = plan.link(hop.link).speed.typical.generation;
            if flow.writes() {
                let (tlps, bytes) = pcie::cut(generation, header, size, payload, ecrc);
                train(&mut wires, plan, corner, index, hop, Class::Posted, per_byte, tlps, bytes, data(size));
            }
            if flow.reads() {
                let request = plan.request_size(corner, flow);
                let n = size.div_ceil(request);
                let bytes = n * pcie::tlp(generation, header, 0, ecrc);
                train(&mut wires, plan, corner, index, hop, Class::NonPosted, per_byte, n, bytes, 0);
            }
        }
        for &hop in flow.back.iter().filter(|_| flow.reads()) {
            let generation = plan.link(hop.link).speed.typical.generation;
            let request = plan.request_size(corner, flow);
            let piece = plan.completion_size(corner, flow, request.min(size));
            let (tlps, bytes) = latency::completions(generation, size, request, piece, ecrc);
            train(&mut wires, plan, corner, index, hop, Class::Completion, per_byte, tlps, bytes, data(size));
            answers(&mut wires, index, hop, tlps as f64 * per_byte, size.div_ceil(request) as f64 * per_byte);
        }
        control(&mut wires, plan, corner, index);
    }
    wires.wires()
}

/// Adds the descriptors, completion entries, interrupts and doorbells of a NIC's packets.
fn control(wires: &mut ByHop, plan: &Plan, corner: Corner, index: usize) {
    let flow = &plan.flows[index];
    let Some(queue) = plan.packet_queue(corner, flow) else { return };
    let (header, ecrc) = (flow.header.at(corner), plan.ecrc(flow));
    let each = |packets: u64| 1.0 / (packets as f64 * flow.size.at(corner).f64());
    for &hop in &flow.route {
        let generation = plan.link(hop.link).speed.typical.generation;
        let request = pcie::tlp(generation, header, 0, ecrc);
        train(wires, plan, corner, index, hop, Class::NonPosted, each(queue.fetch.packets), 1, request, 0);
        for Batch { bytes, packets } in queue.writes {
            let wire = pcie::tlp(generation, header, bytes, ecrc);
            train(wires, plan, corner, index, hop, Class::Posted, each(packets), 1, wire, 0);
        }
    }
    for &hop in &flow.back {
        let generation = plan.link(hop.link).speed.typical.generation;
        let Batch { bytes, packets } = queue.doorbell;
        let wire = pcie::tlp(generation, header, bytes, ecrc);
        train(wires, plan, corner, index, hop, Class::Posted, each(packets), 1, wire, 0);
        let Batch { bytes, packets } = queue.fetch;
        let piece = plan.completion_size(corner, flow, bytes);
        let (tlps, wire) = pcie::cut(generation, Header::Dw3, bytes, piece, ecrc);
        train(wires, plan, corner, index, hop, Class::Completion, each(packets), tlps, wire, 0);
    }
}
