//! From a plan's clusters to adapters, wires and machines.

use crate::mpi::{Machine, Placement};
use crate::plan::ethernet::{Network, NodeId};
use crate::plan::infiniband::{self, Cluster};
use crate::plan::{DmaPath, Plan};
use crate::protocol::infiniband::{INFINIBAND, Operation, Packet, Position, ROCE, Service};
use crate::scenario::quantity::Corner;
use crate::sim::core::clock::Clock;
use crate::sim::core::kernel::NEVER;
use crate::sim::core::tally::{self, Tally};
use crate::sim::infiniband::adapter::{Adapter, OPERATIONS, Overheads, Port, Ways};
use crate::sim::infiniband::flow_level::FlowLevel;
use crate::sim::infiniband::wire::{Arena, NONE, Wire};
use crate::sim::infiniband::{Fabric, Run, Signal};
use crate::tools::Slab;
use std::collections::{BinaryHeap, HashMap};

impl Fabric {
    /// Wires the clusters of a plan; their slots follow those that are there. Gives their number.
    pub(in crate::sim) fn build(all: &Plan, base: u32) -> (Fabric, usize) {
        let (plan, network) = (&all.cluster, &all.network);
        let mut wires: Vec<Wire> = (0..2 * plan.links.len() as u32).map(|on| wire(plan, on)).collect();
        let mut signals = Vec::new();
        for (on, w) in wires.iter_mut().enumerate() {
            w.arrive = base + signals.len() as u32;
            w.tx = w.arrive + 1;
            signals.extend([Signal::Arrives(on as u32), Signal::Free(on as u32)]);
        }
        let slot = base + signals.len() as u32;
        let ports = plan.endpoints.iter().map(|e| Port::new(e.adapter, e.out.unwrap_or(NONE), e.station)).collect();
        let shown = (plan.jobs.iter().enumerate())
            .filter(|_| network.slows_down())
            .flat_map(|(run, job)| plan.queue_pairs(job).into_iter().map(move |(ranks, number)| (run, ranks, number)))
            .collect();
        let fabric = Fabric {
            packets: Arena::new(),
            wires,
            adapters: plan.adapters.iter().map(adapter).collect(),
            ports,
            messages: Slab::new(),
            jobs: Slab::new(),
            runs: (plan.jobs.iter().zip(1..)).map(|(job, n)| run(plan, network, job, n, all.limits.until.0)).collect(),
            heap: BinaryHeap::new(),
            planned: 0,
            asked: Vec::new(),
            commands: Vec::new(),
            told: Vec::new(),
            posts: Vec::new(),
            pairs: HashMap::new(),
            next_pair: 0,
            class: class(network, 0),
            shown,
            overheads: [|p: Packet| p.wire(INFINIBAND), |p: Packet| p.client_data(ROCE)].map(overheads),
            acks: [Packet::ack(Service::Rc).wire(INFINIBAND), Packet::ack(Service::Rc).client_data(ROCE)]
                .map(|b| b as u32),
            signals,
            plan: plan.clone(),
            network: network.clone(),
            flow_level: FlowLevel::build(all).map(Box::new),
            base,
            slot,
            armed: NEVER,
        };
        let slots = fabric.signals.len() + 1;
        (fabric, slots)
    }
}

/// Bytes of a packet around its data.
fn overheads(of: fn(Packet) -> u64) -> Overheads {
    let around = |operation: Operation, first: bool, last: bool| {
        let position = match (first, last) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Middle,
        };
        of(Packet { operation, service: Service::Rc, position, payload: 0 }) as u32
    };
    OPERATIONS.map(|o| [false, true].map(|first| [false, true].map(|last| around(o, first, last))))
}

fn wire(plan: &Cluster, on: u32) -> Wire {
    let link = plan.link(on);
    let (from, to) = (plan.leaves(on), plan.arrives(on));
    let (buffer, latency, to_switch) = match plan.switch_of(to) {
        Some(s) => {
            let keys = &plan.switches[s].keys;
            (keys.buffer.typical.0, keys.latency.typical.fs(), plan.routes.switch(to))
        }
        None => (plan.adapter_of(to.0).keys.receive_buffer.typical.0, 0, NONE),
    };
    let clock = Clock::new(link.rate.typical.data_rate());
    let delay = plan.delay(on, Corner::Typical).fs();
    let most = plan.largest_payload().map_or(1, infiniband::blocks);
    let mut wire = Wire::new(clock, delay, latency, link.lanes.typical.get(), buffer, most);
    let node = |n: NodeId| n.0;
    (wire.from, wire.to, wire.to_switch) = (node(from), node(to), to_switch);
    wire
}

fn adapter(plan: &infiniband::Adapter) -> Adapter {
    let k = &plan.keys;
    let host = plan.host.as_ref().map(|side| {
        let [read, write] = side.dma.paths();
        Ways { read, write, bell: side.doorbell }
    });
    let queues = plan.host.as_ref().and_then(|side| side.queues).map(|q| {
        let [read, write, bell] = [q.work, q.entries, q.bells].map(DmaPath::Pcie);
        Ways { read, write, bell }
    });
    Adapter {
        host,
        queues,
        work: k.work_time.typical.fs(),
        send: k.send_latency.typical.fs(),
        receive: k.receive_latency.typical.fs(),
        packet: k.packet_time.typical.fs(),
        bell: k.doorbell_bytes.typical.0,
        descriptor: k.descriptor_bytes.typical.0,
        inline: k.inline.as_ref().map(|q| q.typical.0),
        completion: k.completion_bytes.typical.0,
        ahead: k.read_ahead.typical.0,
        engine: 0,
        out: 0,
        inward: 0,
    }
}

/// The class of frames of a priority.
fn class(network: &Network, priority: u8) -> u8 {
    network.classes.iter().position(|c| *c == priority).unwrap_or(0) as u8
}

fn run(plan: &Cluster, network: &Network, job: &infiniband::JobFlow, n: u64, steady: f64) -> Run {
    let on_ethernet = job.ranks.first().is_some_and(|e| plan.endpoints[*e as usize].station.is_some());
    let lane = job.keys.lane.typical as u8;
    let node_of = job.ranks.iter().map(|e| plan.endpoints[*e as usize].adapter).collect();
    let steady = job.keys.steady.typical.then_some(steady);
    Run {
        machine: Machine::new(job.job.clone(), job.costs(Corner::Typical), Placement { node_of }, steady),
        ranks: job.ranks.clone(),
        mtu: job.mtu as u32,
        lane: if on_ethernet { class(network, lane) } else { lane },
        tally: Tally::default(),
        fingerprint: n,
        latencies: tally::Cells::default(),
    }
}
