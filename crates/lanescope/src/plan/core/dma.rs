//! How an adapter reaches its host's memory, and the host its adapter: flows of PCIe or of a shared bus that another
//! side feeds, transfer by transfer.
//!
//! They stand behind all other flows, in no table, with the program [`Program::ExternallyDriven`].

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::pci::{BusFlow, Buses};
use crate::plan::pcie::route::{Bound, Map};
use crate::plan::{Flow, FlowId, Link, Part, PartId, Place, Program};
use crate::protocol::pcie::{Header, PayloadSize};
use crate::scenario::PartKeys;
use crate::scenario::keys::{AddressOrder, Do, Load};
use crate::scenario::quantity::{Confidence, Origin, Quantity};
use crate::units::Bytes;

/// The two flows by which an adapter moves data over its host's bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dma {
    /// Over PCIe.
    Pcie {
        /// Reads of host memory: what goes out, commands, descriptors.
        read: FlowId,
        /// Writes to host memory: what comes in, status, completions.
        write: FlowId,
    },
    /// Over a shared bus: the same, by the numbers of its flows.
    Bus {
        /// Reads of host memory.
        read: u32,
        /// Writes to host memory.
        write: u32,
    },
}

/// One flow of a host's side that another side feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DmaPath {
    /// Over PCIe.
    Pcie(FlowId),
    /// Over a shared bus, by the number of its flow.
    Bus(u32),
}

impl Dma {
    /// Its reads, and its writes.
    pub(crate) fn paths(self) -> [DmaPath; 2] {
        match self {
            Dma::Pcie { read, write } => [read, write].map(DmaPath::Pcie),
            Dma::Bus { read, write } => [read, write].map(DmaPath::Bus),
        }
    }
}

/// What of the host's side is already wired.
pub(in crate::plan) struct Host<'a> {
    pub(in crate::plan) parts: &'a [Part],
    pub(in crate::plan) links: &'a [Link],
    pub(in crate::plan) map: &'a Map,
}

/// An adapter, as its host sees it.
pub(in crate::plan) struct Engine<'a> {
    pub(in crate::plan) name: &'a str,
    pub(in crate::plan) header: &'a Quantity<Header>,
    /// What it moves at once, for the estimate.
    pub(in crate::plan) piece: Bytes,
    /// Why it moves anything.
    pub(in crate::plan) why: &'static str,
}

/// An adapter's way to host memory, both ways, and its host.
pub(in crate::plan) fn of(
    diagnostics: &mut Diagnostics,
    host: &Host,
    engine: &Engine,
    span: Span,
    flows: &mut Vec<Flow>,
    buses: &mut Buses,
) -> Option<(Dma, String)> {
    let Engine { name, piece, why, .. } = *engine;
    if let Some((source, target)) = root(diagnostics, host, name, span) {
        let mut flow = |op: Do, what: &str| {
            let mut flow = fed(host, engine, source, target)?;
            flow.name = format!("{name} {what} host memory");
            flow.group.clone_from(&flow.name);
            flow.op = Quantity::derived(op, Origin::Assumed, Confidence::Exact, why);
            flows.push(flow);
            Some(FlowId(flows.len() as u32 - 1))
        };
        let (read, write) = (flow(Do::Read, "reads")?, flow(Do::Write, "writes")?);
        return Some((Dma::Pcie { read, write }, host.parts[target.0 as usize].name.clone()));
    }
    let device = buses.device(name)?;
    let mut flow = |op: Do, what: &str| {
        let name = format!("{name} {what} host memory");
        buses.flows.push(bus_fed(name, device, op, piece, why, false));
        buses.flows.len() as u32 - 1
    };
    let (read, write) = (flow(Do::Read, "reads"), flow(Do::Write, "writes"));
    let bus = &buses.buses[buses.devices[device as usize].bus as usize];
    Some((Dma::Bus { read, write }, buses.bridges[bus.bridge as usize].name.clone()))
}

/// What an adapter on PCIe moves beside its data: a flow of its own for the estimate, since its TLPs are of another
/// size. In a run it goes through the queue of another flow, where it must keep an order with that.
pub(in crate::plan) fn beside(
    host: &Host,
    engine: &Engine,
    (what, op): (&str, Do),
    rides: Option<FlowId>,
    flows: &mut Vec<Flow>,
) -> Option<FlowId> {
    let (source, target) = root(&mut Diagnostics::default(), host, engine.name, Span::default())?;
    let mut flow = fed(host, engine, source, target)?;
    flow.name = format!("{} {what}", engine.name);
    flow.group.clone_from(&flow.name);
    flow.op = Quantity::derived(op, Origin::Assumed, Confidence::Exact, engine.why);
    (flow.control, flow.rides) = (true, rides);
    flows.push(flow);
    Some(FlowId(flows.len() as u32 - 1))
}

/// The way of a processor's own writes to an adapter that [`of`] has found a host for.
pub(in crate::plan) fn doorbell(
    host: &Host,
    engine: &Engine,
    flows: &mut Vec<Flow>,
    buses: &mut Buses,
) -> Option<DmaPath> {
    let Engine { name, piece, why, .. } = *engine;
    let mut quiet = Diagnostics::default();
    if let Some((device, root)) = root(&mut quiet, host, name, Span::default()) {
        let mut flow = fed(host, engine, root, device)?;
        flow.name = format!("{} writes {name}", host.parts[root.0 as usize].name);
        flow.group.clone_from(&flow.name);
        flow.place = Place::Device;
        flows.push(flow);
        return Some(DmaPath::Pcie(FlowId(flows.len() as u32 - 1)));
    }
    let device = buses.device(name)?;
    buses.flows.push(bus_fed(format!("the host writes {name}"), device, Do::Write, piece, why, true));
    Some(DmaPath::Bus(buses.flows.len() as u32 - 1))
}

/// An adapter among the parts of PCIe, and the root complex above it.
fn root(diagnostics: &mut Diagnostics, host: &Host, name: &str, span: Span) -> Option<(PartId, PartId)> {
    let source = PartId(host.parts.iter().position(|p| p.name == name)? as u32);
    let target = host.map.root(source);
    if source == target || !matches!(host.parts[target.0 as usize].keys, PartKeys::RootComplex(_)) {
        // Without any link the plan says so by itself.
        if source != target {
            diagnostics.push(Diagnostic::error(span, format!("{name} is below no root complex")));
        }
        return None;
    }
    Some((source, target))
}

fn fed(host: &Host, engine: &Engine, source: PartId, target: PartId) -> Option<Flow> {
    let Engine { header, piece, why, .. } = *engine;
    let route = host.map.route(host.links, source, target, Bound::Requests { translated: false })?;
    let back = host.map.route(host.links, target, source, Bound::Completions)?;
    let payload = route.iter().map(|h| &host.links[h.link.0 as usize].mps).min_by_key(|m| m.typical).cloned();
    let unknown = || Quantity::derived(PayloadSize::RESET, Origin::Standard, Confidence::Guess, "2.0, 7.8.4");
    Some(Flow {
        name: String::new(),
        group: String::new(),
        source,
        target,
        place: Place::Memory,
        op: Quantity::derived(Do::Write, Origin::Assumed, Confidence::Exact, why),
        packets: false,
        control: false,
        rides: None,
        piece_of: None,
        size: Quantity::derived(piece, Origin::Assumed, Confidence::Likely, why),
        header: header.clone(),
        load: Quantity::derived(Load::Saturate, Origin::Assumed, Confidence::Exact, why),
        program: Program::ExternallyDriven,
        route,
        back,
        headers: None,
        window: None,
        addresses: Quantity::derived(AddressOrder::Sequential, Origin::Assumed, Confidence::Exact, why),
        payload: payload.unwrap_or_else(unknown),
        measured: None,
    })
}

fn bus_fed(name: String, device: u32, op: Do, piece: Bytes, why: &'static str, from_bridge: bool) -> BusFlow {
    BusFlow {
        group: name.clone(),
        name,
        device,
        from_bridge,
        op: Quantity::derived(op, Origin::Assumed, Confidence::Exact, why),
        size: Quantity::derived(piece, Origin::Assumed, Confidence::Likely, why),
        load: Quantity::derived(Load::Saturate, Origin::Assumed, Confidence::Exact, why),
        program: Program::ExternallyDriven,
        measured: None,
    }
}
