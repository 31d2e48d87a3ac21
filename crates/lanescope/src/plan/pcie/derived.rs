//! What follows from a plan's values by itself, and every method needs: completion sizes, latencies of completers,
//! buffers.

use crate::plan::pcie::check;
use crate::plan::{Direction, Flow, Hop, PartId, Place, Plan, Program};
use crate::protocol::ethernet;
use crate::protocol::pcie::{self, Class};
use crate::scenario::PartKeys;
use crate::scenario::keys::{After, Do, RootComplex};
use crate::scenario::quantity::Corner;
use crate::units::{Rate, Time};

/// Credits that a receiver advertises for a class; `None` is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Header credits: TLPs.
    pub headers: Option<u32>,
    /// Data credits of 16 B; of read requests infinite.
    pub data: Option<u32>,
}

/// How many read requests a requester keeps in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Engines side by side.
    pub engines: u64,
    /// Requests that each keeps outstanding.
    pub tags: u64,
    /// Pause before a tag, or an engine, is used again.
    pub turnaround: Time,
    /// Which of the two.
    pub after: After,
}

/// One TLP for several packets of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What it reads or writes.
    pub bytes: u64,
    /// The packets that it is for.
    pub packets: u64,
}

/// What belongs to the packets of a NIC beside their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketQueue {
    /// The read that fetches descriptors.
    pub fetch: Batch,
    /// The writes of completion entries, and of interrupts.
    pub writes: [Batch; 2],
    /// The write with which a processor says that there are descriptors, the other way.
    pub doorbell: Batch,
}

impl Plan {
    /// What belongs to the packets of a flow; `None` where it moves none.
    pub fn packet_queue(&self, corner: Corner, flow: &Flow) -> Option<PacketQueue> {
        let PartKeys::Endpoint(k) = &self.part(flow.source).keys else { return None };
        let of = |each: u64, packets: u64| Batch { bytes: each.saturating_mul(packets), packets };
        let (fetched, written) = (k.descriptors_fetched.at(corner).get(), k.entries_written.at(corner).get());
        flow.packets.then(|| PacketQueue {
            fetch: of(k.descriptor.at(corner).0, fetched.into()),
            writes: [
                of(k.completion_entry.at(corner).0, written.into()),
                Batch { bytes: 4, packets: k.packets_an_interrupt.at(corner).get().into() },
            ],
            doorbell: Batch { bytes: k.doorbell.at(corner).0, packets: k.packets_a_doorbell.at(corner).get().into() },
        })
    }

    /// The port of a NIC behind the packets of a flow: its rate, and what a packet takes of it, bytes (802.3, 3.1.1:
    /// FCS, preamble and gap; 3.2.8: no frame is shorter than 64 B). `None` where it never binds.
    pub fn line(&self, corner: Corner, flow: &Flow) -> Option<(Rate, u64)> {
        let PartKeys::Endpoint(k) = &self.part(flow.source).keys else { return None };
        let frame = flow.size.at(corner).0.saturating_add(ethernet::FCS).max(ethernet::MIN_FRAME);
        let line = k.line.as_ref().filter(|_| flow.packets)?;
        Some((line.at(corner), ethernet::wire(frame)))
    }

    /// The device on whose port a part is: itself, but for a further function of another.
    pub(crate) fn device(&self, part: PartId) -> PartId {
        self.part(part).function_of.unwrap_or(part)
    }

    /// Which of the functions of its device a part is: 0 is the device itself.
    pub(crate) fn function(&self, part: PartId) -> usize {
        let of = &self.part(self.device(part)).functions;
        of.iter().position(|f| *f == part).map_or(0, |i| i + 1)
    }

    /// Whether the TLPs between a flow's ends carry the ECRC digest.
    pub(crate) fn ecrc(&self, flow: &Flow) -> bool {
        let digests = |id| matches!(&self.part(id).keys, PartKeys::Endpoint(k) if k.ecrc.typical);
        digests(flow.source) || digests(flow.target)
    }

    /// Bytes that one read request of a flow asks for at most.
    pub fn request_size(&self, corner: Corner, flow: &Flow) -> u64 {
        match &self.part(flow.source).keys {
            PartKeys::Endpoint(k) => k.max_read_request.at(corner).bytes(),
            PartKeys::RootComplex(k) => k.load_size.at(corner).bytes(),
            PartKeys::Switch(_) => pcie::SIZES[5],
        }
    }

    /// Payload of the write TLPs of a flow: of a processor that of its stores.
    pub fn write_payload(&self, corner: Corner, flow: &Flow) -> u64 {
        let payload = flow.payload.at(corner).bytes();
        match &self.part(flow.source).keys {
            PartKeys::RootComplex(k) if !flow.is_externally_driven() => payload.min(k.store_size.at(corner).bytes()),
            _ => payload,
        }
    }

    /// What the port of a flow's source loses after each TLP, ns.
    pub(crate) fn tlp_gap(&self, corner: Corner, flow: &Flow) -> f64 {
        match &self.part(flow.source).keys {
            PartKeys::Endpoint(k) => k.tlp_gap.at(corner).ns(),
            _ => 0.0,
        }
    }

    /// What a port loses between the TLPs of one operation of a flow, ns: by `tlp_gap`, `transfer_gap` and
    /// `direction_change`. Transfers of both kinds go in turn where a source has both.
    pub(crate) fn gaps(&self, corner: Corner, flow: &Flow) -> [f64; 3] {
        let PartKeys::Endpoint(k) = &self.part(flow.source).keys else { return [0.0; 3] };
        let [tlp, transfer, change] = [&k.tlp_gap, &k.transfer_gap, &k.direction_change].map(|gap| gap.at(corner).ns());
        if tlp + transfer + change == 0.0 {
            return [0.0; 3];
        }
        let size = flow.size.at(corner).0;
        let writes = if flow.writes() { size.div_ceil(self.write_payload(corner, flow)) } else { 0 };
        let reads = if flow.reads() { size.div_ceil(self.request_size(corner, flow)) } else { 0 };
        let transfers = if flow.reads() && flow.writes() { 2.0 } else { 1.0 };
        let own = || self.flows.iter().filter(|f| f.source == flow.source);
        let both = own().any(|f| f.reads()) && own().any(|f| f.writes());
        let changes = if both { transfers } else { 0.0 };
        [(writes + reads) as f64 * tlp, transfers * transfer, changes * change]
    }

    /// Of the keys that say what a port loses between TLPs, the one that costs a flow of it the most; of I/Os, their
    /// adapter's DMA.
    pub(crate) fn costliest_gap(&self, part: PartId, flow: usize) -> &'static str {
        let of_port = |f: &&Flow| f.source == part;
        let flow = self.flows.get(flow).filter(of_port).or_else(|| self.flows.iter().find(of_port));
        let gaps = flow.map_or([0.0; 3], |f| self.gaps(Corner::Typical, f));
        let named = gaps.into_iter().zip(["tlp_gap", "transfer_gap", "direction_change"]);
        named.rev().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("tlp_gap", |(_, key)| key)
    }

    /// What holds back the read requests of a flow's source: of a root complex the loads that its processor keeps in
    /// flight.
    pub fn asking(&self, corner: Corner, flow: &Flow) -> Asking {
        let plain = |tags: u64| Asking { engines: 1, tags, turnaround: Time::ZERO, after: After::Request };
        match &self.part(flow.source).keys {
            PartKeys::Endpoint(k) => Asking {
                engines: k.engines.at(corner).get() as u64,
                tags: k.tags.at(corner).get() as u64,
                turnaround: k.turnaround.at(corner),
                after: k.turnaround_after.typical,
            },
            PartKeys::RootComplex(k) => plain(k.loads_in_flight.at(corner).get() as u64),
            PartKeys::Switch(_) => plain(1),
        }
    }

    /// Payload of the completions that a flow's target returns for a read of `size`.
    pub(crate) fn completion_size(&self, corner: Corner, flow: &Flow, size: u64) -> u64 {
        let payload = flow.payload.at(corner).bytes();
        let wanted = match &self.part(flow.target).keys {
            PartKeys::RootComplex(k) => match (&k.large_read, &k.large_completion_size) {
                (Some(above), Some(large)) if size > above.typical.0 => large.at(corner).bytes(),
                _ => k.completion_size.at(corner).bytes(),
            },
            _ => payload,
        };
        wanted.min(payload)
    }

    /// From the last byte of a read request at the target to the first byte of its completion, ns. Of a backbone with
    /// what it takes of the buses.
    pub(crate) fn completer_latency(&self, corner: Corner, flow: &Flow) -> f64 {
        match &self.part(flow.target).keys {
            PartKeys::RootComplex(k) => {
                let asks = self.request_size(corner, flow).min(flow.size.at(corner).0);
                let first = self.completion_size(corner, flow, asks).min(asks);
                let buses = self.backbone(corner, flow.target).map_or(0.0, |b| b.read_time(first));
                self.read_latency(corner, k, flow.place) + buses
            }
            PartKeys::Endpoint(k) => k.read_latency.at(corner).ns(),
            PartKeys::Switch(_) => 0.0,
        }
    }

    /// The same of a root complex, by the place of the data, ns.
    pub(crate) fn read_latency(&self, corner: Corner, k: &RootComplex, place: Place) -> f64 {
        let period = k.core_clock.as_ref().map_or(0.0, |c| c.at(corner).period_ns());
        let mut ns =
            k.read_latency.at(corner).ns() + k.hub_latency.at(corner).ns() + k.core_cycles.at(corner) as f64 * period;
        if place != Place::Cache {
            ns += k.memory_latency.at(corner).ns() + k.hub_cycles.at(corner) as f64 * period;
        }
        if place == Place::Remote {
            ns += k.remote_latency.at(corner).ns();
        }
        ns
    }

    /// The buffer at the end of a hop, for a class: what the part says, or where it says nothing, twice what the link
    /// carries while a credit goes round (two flights, the switch's latency, and the TLPs that one UpdateFC waits for):
    /// a designer would not give it less, and more is of no use. Endpoints and root complexes take in all completions
    /// that they asked for (2.0, table 2-33).
    pub(crate) fn buffer(&self, hop: Hop, class: Class) -> Buffer {
        let part = self.part(self.arrives(hop));
        let latency = match &part.keys {
            PartKeys::Switch(k) => k.latency.typical.seconds(),
            _ if class == Class::Completion => return Buffer { headers: None, data: None },
            // A write stays until it has crossed the backbone, each port in its turn.
            PartKeys::RootComplex(k) => {
                let across = self.backbone(Corner::Typical, self.arrives(hop)).map_or(0.0, |b| {
                    let ports = part.ports.len().max(1) as f64;
                    ports * b.write_time(self.link(hop.link).mps.typical.bytes()) * 1e-9
                });
                let on = if part.forwards { k.peer_latency.typical.seconds() } else { 0.0 };
                across.max(on)
            }
            _ => 0.0,
        };
        let (headers, data) = check::credits(&part.keys, class);
        let link = self.link(hop.link);
        let rate = link.speed.typical.coded().bytes();
        let generation = link.speed.typical.generation;
        let full = pcie::tlp(generation, pcie::Header::Dw4, link.mps.typical.bytes(), false) as f64;
        let gathered = link.update_fc_every.typical.0.unwrap_or(4).min(16) as f64 + 2.0;
        let round = 2.0 * (rate * (2.0 * link.delay.typical.seconds() + latency) + gathered * full);
        // The smallest TLP worth a buffer: a read request, or a cache line.
        let least = if class == Class::NonPosted { 0 } else { 64 };
        let small = pcie::tlp(generation, pcie::Header::Dw3, least, false) as f64;
        let count = |units: f64| Some(units.ceil().clamp(1.0, u32::MAX as f64 / 4.0) as u32);
        Buffer {
            headers: headers.map_or_else(|| count(round / small), |q| Some(q.typical)),
            data: match class {
                Class::NonPosted => None,
                _ => data.map_or_else(|| count(round / pcie::DATA_CREDIT as f64), |q| Some(q.typical)),
            },
        }
    }

    /// What an instance of a flow asks for by itself, bits per second, each way where it alternates: an open load's
    /// rate; of a source that always has more, what its engine would read or write. A closed load asks for what its
    /// operations in flight allow, and no more.
    pub(crate) fn wanted(&self, flow: &Flow) -> Option<f64> {
        let PartKeys::Endpoint(k) = &self.part(flow.source).keys else {
            return if let Program::Open { rate, .. } = flow.program { Some(rate.bits()) } else { None };
        };
        match (&flow.program, flow.op.typical) {
            (Program::Open { rate, .. }, _) => Some(rate.bits()),
            (Program::Saturating, Do::Read) => k.read_rate.as_ref().map(|r| r.typical.bits()),
            (Program::Saturating, Do::Write) => k.write_rate.as_ref().map(|r| r.typical.bits()),
            _ => None,
        }
    }

    /// `links.uplink toward host`.
    pub fn direction_name(&self, hop: Hop) -> String {
        format!("links.{} toward {}", self.link(hop.link).name, self.part(self.arrives(hop)).name)
    }

    /// Indices of the flows of each table, in order; the members of one stand in a row. An adapter's DMA is part of its
    /// I/Os, and in no table.
    pub(crate) fn groups(&self) -> Vec<Vec<usize>> {
        crate::plan::core::groups::groups(
            self.flows.iter().take_while(|f| !f.is_externally_driven()).map(|f| f.group.as_str()),
        )
    }

    /// Indices of the flows of one table.
    pub(crate) fn members(&self, group: &str) -> Vec<usize> {
        (0..self.flows.len()).filter(|&i| self.flows[i].group == group).collect()
    }

    /// Both ways of a link.
    pub fn directions(&self) -> impl Iterator<Item = Hop> + use<> {
        let ways = |i| {
            [Direction::Down, Direction::Up].map(|direction| Hop { link: crate::plan::LinkId(i as u32), direction })
        };
        (0..self.links.len()).flat_map(ways)
    }
}
