//! The shared buses of a plan: bridges, devices, and the flows between them.
//!
//! They stand beside PCIe and Ethernet in arenas of their own. All ends of a bus are on one set of lines, so there are
//! no ways to find; what a flow's transactions look like follows from its device and its bridge, and both methods ask
//! for it here.

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::Side;
use crate::plan::core::address::Directory;
use crate::plan::{PartId, Program};
use crate::protocol::pci::{ADB, Phases, Speed};
use crate::scenario::keys::{self, Do, HostBridge, Load, PciDevice, Setting};
use crate::scenario::quantity::{Confidence, Corner, Origin, Quantity};
use crate::scenario::{BusKeys, MAX_THINGS, Named, Scenario};
use crate::units::{Bytes, Rate};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// A bus, and who is on it.
#[derive(Clone, Debug)]
pub struct Bus {
    /// The name of its table: `slots`.
    pub name: String,
    /// Standard, clock and width.
    pub speed: Quantity<Speed>,
    /// Index of the bridge.
    pub bridge: u32,
    /// Indices of the devices, in the order in which they take turns.
    pub devices: Vec<u32>,
}

/// A host bridge.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// `bridge` or `bridge.1`.
    pub name: String,
    /// Its values.
    pub keys: HostBridge,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// `nic.1` or `nic`.
    pub name: String,
    /// Its values.
    pub keys: PciDevice,
    /// Index of its bus.
    pub bus: u32,
}

/// DMA of one device.
#[derive(Clone, Debug)]
pub struct BusFlow {
    /// `rx.1` or `rx`.
    pub name: String,
    /// The table it is from: `rx`.
    pub group: String,
    /// Index of the device.
    pub device: u32,
    /// Whether the host's processor writes to the device, through the bridge.
    pub from_bridge: bool,
    /// Reads, writes, or both in turn.
    pub op: Quantity<Do>,
    /// Bytes of one operation.
    pub size: Quantity<Bytes>,
    /// As written, for display.
    pub load: Quantity<Load>,
    /// What the device does.
    pub program: Program,
    /// What was measured.
    pub measured: Option<Rate>,
}

impl BusFlow {
    /// Whether it reads at all.
    pub fn reads(&self) -> bool {
        self.op.typical != Do::Write
    }

    /// Whether it writes at all.
    pub fn writes(&self) -> bool {
        self.op.typical != Do::Read
    }

    /// Whether it is what another side asks for; such flows stand behind all others, and in no table.
    pub(crate) fn is_externally_driven(&self) -> bool {
        matches!(self.program, Program::ExternallyDriven)
    }
}

/// All shared buses of a plan; empty where there is none.
#[derive(Clone, Debug, Default)]
pub struct Buses {
    /// Buses.
    pub buses: Vec<Bus>,
    /// Host bridges.
    pub bridges: Vec<Bridge>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Flows.
    pub flows: Vec<BusFlow>,
}

/// What a bridge of conventional PCI takes of a write before it disconnects, where nothing else is said: Intel's 21154
/// has 152 B for posted writes that go upstream, addresses with them (datasheet, product features), which hold 128 B of
/// data in whole lines.
const POSTED: u64 = 128;

/// The rules of one device's transactions, at a corner: what protocol, device and bridge make of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransactionTiming {
    /// The bus.
    pub speed: Speed,
    /// Bytes of a write, and whether the bridge then sends it away.
    pub write: (u64, bool),
    /// Bytes that one read asks for (PCI-X), or gets (PCI), and whether the bridge then sends it away.
    pub read: (u64, bool),
    /// Bytes of one split completion.
    pub completion: u64,
    /// Split transactions; of PCI, one read at a time.
    pub splits: u32,
    /// From a request's end until its data are ready, clocks.
    pub delay: u64,
    /// Whether the bridge waits on the bus for its data: PCI, where it is short enough.
    pub waited: bool,
    /// Between the last data phase of a transaction of the device's own and the next address phase, clocks; at least 1.
    pub turnaround: u64,
    /// Latency timers of the device and of the bridge, clocks.
    pub timers: [u64; 2],
    claims: [crate::protocol::pci::Decode; 2],
    waits: u64,
    dual: bool,
}

impl TransactionTiming {
    /// A write.
    pub(crate) fn write(&self, bytes: u64) -> Phases {
        self.speed.write(bytes, self.claims[1], self.waits, self.dual)
    }

    /// A write of the host's processor to the device, by the bridge.
    pub(crate) fn programmed(&self, bytes: u64) -> Phases {
        self.speed.write(bytes, self.claims[0], 0, false)
    }

    /// What asks for data that are not at hand: a split request, or a read of PCI that is sent away.
    pub(crate) fn request(&self) -> Phases {
        if self.speed.is_x() {
            self.speed.split_request(self.claims[1], self.dual)
        } else {
            self.speed.retry(true, self.claims[1], self.dual)
        }
    }

    /// What brings data: a split completion, or a read of PCI.
    pub(crate) fn data(&self, bytes: u64) -> Phases {
        if self.speed.is_x() {
            self.speed.completion(bytes, self.claims[0])
        } else {
            self.speed.read(bytes, self.claims[1], if self.waited { self.delay } else { 0 }, self.dual)
        }
    }

    /// Clocks from the last data phase of a transaction that the bridge ended to the next of the same device, at least.
    pub(crate) fn again(&self) -> u64 {
        (self.speed.pause_after_retry() + self.speed.arbitration()).max(self.turnaround)
    }
}

impl Buses {
    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.buses.is_empty()
    }

    /// The bus of a flow, and its bridge.
    pub(crate) fn of(&self, flow: &BusFlow) -> (&Bus, &Bridge) {
        let bus = &self.buses[self.devices[flow.device as usize].bus as usize];
        (bus, &self.bridges[bus.bridge as usize])
    }

    /// A device by its name: for adapters whose other side asks for DMA.
    pub(crate) fn device(&self, name: &str) -> Option<u32> {
        self.devices.iter().position(|d| d.name == name).map(|i| i as u32)
    }

    /// The rules of a device's transactions.
    pub fn timing(&self, device: u32, corner: Corner) -> TransactionTiming {
        let d = &self.devices[device as usize];
        let bus = &self.buses[d.bus as usize];
        let (k, b, speed) = (&d.keys, &self.bridges[bus.bridge as usize].keys, bus.speed.typical);
        let unsaid = if speed.is_x() { u64::MAX } else { POSTED };
        let most = b.disconnect.as_ref().map_or(unsaid, |q| q.at(corner).get().0);
        let burst = k.burst.at(corner).get().0;
        let prefetch = b.prefetch.at(corner).get().0;
        let delay = b.read_latency.at(corner).clocks(speed);
        let claims = [k.decode.typical.decode(), b.decode.typical.decode()];
        let dual = k.dual_address.typical;
        let first = speed.read(0, claims[1], delay, dual).before_data();
        let read = if speed.is_x() {
            (k.read_byte_count.at(corner).get().0, false)
        } else {
            (burst.min(prefetch).min(most), burst > prefetch.min(most))
        };
        TransactionTiming {
            speed,
            write: (burst.min(most), burst > most),
            read,
            completion: most,
            splits: if speed.is_x() { k.splits.at(corner).get() } else { 1 },
            delay,
            waited: !speed.is_x() && first <= crate::protocol::pci::INITIAL_LATENCY,
            turnaround: k.turnaround.at(corner).clocks(speed).max(1),
            timers: [k.latency_timer.typical.get() as u64, b.latency_timer.typical.get() as u64],
            claims,
            waits: b.write_waits.at(corner) as u64,
            dual,
        }
    }

    /// `bridge, nic.0 and nic.1`, or the first of many.
    pub(crate) fn ends_text(&self, bus: &Bus) -> String {
        let bridge = &self.bridges[bus.bridge as usize].name;
        let names: Vec<&str> = bus.devices.iter().map(|d| self.devices[*d as usize].name.as_str()).collect();
        match names.as_slice() {
            [] => bridge.clone(),
            [all @ .., last] if all.len() < 3 => {
                let first: String = all.iter().map(|n| format!(", {n}")).collect();
                format!("{bridge}{first} and {last}")
            }
            [first, ..] => format!("{bridge}, {first} and {} more", names.len() - 1),
        }
    }

    /// `nic.0 → bridge`.
    pub(crate) fn route_text(&self, flow: &BusFlow) -> String {
        format!("{} → {}", self.devices[flow.device as usize].name, self.of(flow).1.name)
    }

    /// Indices of the flows of each table, in order; without what other sides ask for.
    pub(crate) fn groups(&self) -> Vec<Vec<usize>> {
        crate::plan::core::groups::groups(
            self.flows.iter().take_while(|f| !f.is_externally_driven()).map(|f| f.group.as_str()),
        )
    }
}

impl Side for Buses {
    fn settings(&self) -> Vec<(String, Vec<Setting>)> {
        let part = |name: &str, keys: BusKeys| {
            let kind =
                Quantity { default: false, ..Quantity::derived(keys.kind(), Origin::Stated, Confidence::Exact, "") };
            let mut settings = vec![Setting::of("is", &kind)];
            settings.extend(keys.settings());
            (format!("parts.{name}"), settings)
        };
        let bridges = self.bridges.iter().map(|b| part(&b.name, BusKeys::Bridge(b.keys.clone())));
        let devices = self.devices.iter().map(|d| part(&d.name, BusKeys::Device(d.keys.clone())));
        let mut all: Vec<_> = bridges.chain(devices).collect();
        all.extend(self.buses.iter().map(|b| (format!("links.{}", b.name), vec![Setting::of("pci", &b.speed)])));
        for f in &self.flows {
            let settings = vec![Setting::of("do", &f.op), Setting::of("size", &f.size), Setting::of("load", &f.load)];
            all.push((format!("flows.{}", f.name), settings));
        }
        all
    }

    /// Everything that can change an answer and is no setting: who is on which bus, and whose flow it is.
    fn hash(&self, hash: &mut SipHasher13) {
        self.buses.iter().for_each(|b| hash.write_u32(b.bridge));
        self.devices.iter().for_each(|d| hash.write_u32(d.bus));
        self.flows.iter().for_each(|f| hash.write_u32(f.device));
    }

    fn flows(&self) -> usize {
        self.flows.len()
    }

    fn links(&self) -> usize {
        self.buses.len()
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        Buses::groups(self)
    }
}

/// Resolves and checks the shared buses of a scenario; problems go to `diagnostics`.
pub(in crate::plan) fn build(diagnostics: &mut Diagnostics, scenario: &Scenario) -> Buses {
    let mut all = Buses::default();
    if scenario.bus_parts.is_empty() && scenario.buses.is_empty() {
        return all;
    }
    let hint = "expected a host-bridge, and behind it pci-device or host-adapter";
    let directory = Directory::new(&scenario.bus_parts).among(scenario, hint);
    // Where each part went: a bridge or a device by its index, once it is on a bus.
    let mut bridges: Vec<Option<u32>> = vec![None; scenario.bus_parts.len()];
    let mut devices: Vec<Option<u32>> = vec![None; scenario.bus_parts.len()];
    for link in &scenario.buses {
        wire(diagnostics, &directory, link, &mut all, &mut bridges, &mut devices);
    }
    let unplaced = bridges.iter().zip(&devices).map(|(b, d)| b.is_none() && d.is_none());
    if !diagnostics.has_errors() {
        for (part, _) in scenario.bus_parts.iter().zip(unplaced).filter(|(_, alone)| *alone) {
            let d = Diagnostic::error(part.span, format!("{} is on no bus", part.name));
            diagnostics.push(d.hint(format!("add it to the between of a link with pci: [\"…\", \"{}\"]", part.name)));
        }
    }
    if diagnostics.has_errors() {
        return all;
    }
    for flow in &scenario.bus_flows {
        expand(diagnostics, &directory, flow, &mut all, &bridges, &devices);
        if all.flows.len() > MAX_THINGS {
            diagnostics.push(
                Diagnostic::error(flow.span, format!("more than {MAX_THINGS} flows"))
                    .hint("use fewer: no answer needs so many"),
            );
            break;
        }
    }
    all
}

/// One bus with its ends.
fn wire(
    diagnostics: &mut Diagnostics,
    directory: &Directory<BusKeys>,
    link: &Named<keys::BusLink>,
    all: &mut Buses,
    bridges: &mut [Option<u32>],
    devices: &mut [Option<u32>],
) {
    let between = &link.keys.between;
    let place = between.span.unwrap_or(link.span);
    let names = &between.typical.0;
    if names.len() < 2 {
        let d = Diagnostic::error(place, format!("links.{} has {} on it", link.name, names.len()));
        diagnostics.push(d.hint("a bus has its bridge first, then its devices: between = [\"bridge\", \"nic.*\"]"));
        return;
    }
    let mut addresses = Vec::new();
    for name in names {
        let Some(address) = directory.find(diagnostics, &name.text, name.span) else { return };
        if !address.rest.is_empty() {
            diagnostics.push(Diagnostic::error(name.span, format!("a part on a bus has no port {:?}", address.rest)));
            return;
        }
        addresses.push((name, address));
    }
    // Several bridges: a bus each, with their part of every other name's.
    let bridges_here = addresses[0].1.parts.len();
    // Devices in their place have no buses to be shared out to: the first of them is told what it is.
    if let Some((part, BusKeys::Device(_))) =
        addresses[0].1.parts.first().map(|id| directory.part(*id)).map(|part| (part, &part.keys))
    {
        misplaced(diagnostics, &part.name, "a device", names[0].span);
        return;
    }
    if let Some((name, address)) = addresses.iter().find(|(_, a)| !a.parts.len().is_multiple_of(bridges_here)) {
        let what =
            format!("{} and {} do not pair: {bridges_here} and {}", names[0].text, name.text, address.parts.len());
        diagnostics.push(
            Diagnostic::error(name.span, what).hint("several bridges make a bus each, and share the devices alike"),
        );
        return;
    }
    for i in 0..bridges_here {
        let name = if bridges_here > 1 { format!("{}.{i}", link.name) } else { link.name.clone() };
        let ends = addresses.iter().map(|(name, a)| {
            let each = a.parts.len() / bridges_here;
            (name.span, &a.parts[i * each..(i + 1) * each])
        });
        if !one_bus(diagnostics, directory, link, name, ends, all, bridges, devices) {
            return;
        }
    }
}

/// Says that a part of a bus stands where its kind does not.
fn misplaced(diagnostics: &mut Diagnostics, name: &str, kind: &str, span: Span) {
    let hint = "a bus has one host bridge, which comes first, then its devices";
    diagnostics.push(Diagnostic::error(span, format!("{name} is {kind}")).hint(hint));
}

/// A bus of its own, with its bridge first among its ends.
#[allow(clippy::too_many_arguments)]
fn one_bus<'a>(
    diagnostics: &mut Diagnostics,
    directory: &Directory<BusKeys>,
    link: &Named<keys::BusLink>,
    name: String,
    ends: impl Iterator<Item = (Span, &'a [PartId])>,
    all: &mut Buses,
    bridges: &mut [Option<u32>],
    devices: &mut [Option<u32>],
) -> bool {
    let speed = &link.keys.pci;
    let bus = all.buses.len() as u32;
    let (mut bridge, mut on) = (None, Vec::new());
    for (i, (span, parts)) in ends.enumerate() {
        for id in parts {
            let (id, part) = (id.0 as usize, directory.part(*id));
            match (&part.keys, i) {
                (BusKeys::Bridge(keys), 0) if bridge.is_none() => {
                    let index = *bridges[id].get_or_insert_with(|| {
                        all.bridges.push(Bridge { name: part.name.clone(), keys: keys.clone() });
                        all.bridges.len() as u32 - 1
                    });
                    disconnect(diagnostics, keys, speed.typical, part.span);
                    bridge = Some(index);
                }
                (BusKeys::Device(keys), 1..) => {
                    if let Some(other) = devices[id] {
                        let other = &all.buses.get(all.devices[other as usize].bus as usize);
                        let other = other.map_or(&link.name, |b| &b.name);
                        let what = format!("{} is already on links.{other}", part.name);
                        diagnostics.push(Diagnostic::error(span, what).hint("a device has one bus"));
                        return false;
                    }
                    devices[id] = Some(all.devices.len() as u32);
                    on.push(all.devices.len() as u32);
                    all.devices.push(Device { name: part.name.clone(), keys: keys.clone(), bus });
                }
                (kind, _) => {
                    let kind = match kind {
                        BusKeys::Bridge(_) => "a host bridge",
                        BusKeys::Device(_) => "a device",
                    };
                    misplaced(diagnostics, &part.name, kind, span);
                    return false;
                }
            }
        }
    }
    let Some(bridge) = bridge else { return false };
    let most = speed.typical.devices();
    if on.len() > most {
        let what = format!("links.{name}: {} devices, but {} carries {most}", on.len(), speed.typical);
        let hint = "the standard's electrical loads; a board may still do it, and the answer holds";
        diagnostics.push(Diagnostic::warning(speed.span.unwrap_or(link.span), what).hint(hint));
    }
    all.buses.push(Bus { name, speed: speed.clone(), bridge, devices: on });
    true
}

/// A burst of PCI-X is only interrupted at its boundaries.
fn disconnect(diagnostics: &mut Diagnostics, keys: &HostBridge, speed: Speed, place: Span) {
    if let Some(q) = keys.disconnect.as_ref().filter(|_| speed.is_x())
        && [q.slow, q.typical, q.fast].iter().any(|b| !b.get().0.is_multiple_of(ADB))
    {
        let what = format!("disconnect = {} is not a multiple of {ADB} B", q.typical.get());
        let hint = "PCI-X disconnects at boundaries of 128 B only (1.0b, 2.7.2.1)";
        diagnostics.push(Diagnostic::error(q.span.unwrap_or(place), what).hint(hint));
    }
}

/// One flow for each device that it names.
fn expand(
    diagnostics: &mut Diagnostics,
    directory: &Directory<BusKeys>,
    flow: &Named<keys::Flow>,
    all: &mut Buses,
    bridges: &[Option<u32>],
    devices: &[Option<u32>],
) {
    let k = &flow.keys;
    let (from_span, to_span) = (k.from.span.unwrap_or(flow.span), k.to.span.unwrap_or(flow.span));
    let (from, to) =
        (directory.find(diagnostics, &k.from.typical, from_span), directory.find(diagnostics, &k.to.typical, to_span));
    let (Some(from), Some(to)) = (from, to) else { return };
    if !from.rest.is_empty() {
        diagnostics.push(Diagnostic::error(from_span, format!("a flow starts at a part, not at its {:?}", from.rest)));
        return;
    }
    let target = to.parts[0].0 as usize;
    let Some(bridge) = bridges[target].filter(|_| to.parts.len() == 1 && to.rest == "memory") else {
        let hint = "flows of a bus end in its bridge's memory: to = \"bridge.memory\"";
        diagnostics
            .push(Diagnostic::error(to_span, format!("{:?} is not memory of a host bridge", k.to.typical)).hint(hint));
        return;
    };
    if !k.header.default {
        let d = Diagnostic::error(k.header.span.unwrap_or(flow.span), "header is PCIe's");
        diagnostics.push(d.hint("64-bit addresses of a bus: dual_address = true at the device"));
    }
    let pcie = [
        k.headers.as_ref().map(|q| ("headers", q.span)),
        (!k.pattern.default).then_some(("pattern", k.pattern.span)),
        k.window.as_ref().map(|q| ("window", q.span)),
        (!k.addresses.default).then_some(("addresses", k.addresses.span)),
    ];
    for (key, span) in pcie.into_iter().flatten() {
        let d = Diagnostic::error(span.unwrap_or(flow.span), format!("{key} is PCIe's"));
        diagnostics.push(d.hint("flows of a bus go from devices to the memory behind its bridge"));
    }
    if matches!(k.r#do.typical, Do::Receive | Do::Transmit) {
        let d = Diagnostic::error(k.r#do.span.unwrap_or(flow.span), "packets of a NIC on a bus are not modelled");
        diagnostics.push(d.hint("do = \"write\" or \"read\" moves their bytes"));
    }
    let size = k.size.typical.0;
    if size == 0 || size > 1 << 40 {
        let what = match size {
            0 => format!("flow {}: an operation of 0 B moves nothing", flow.name),
            _ => format!("flow {}: an operation of {} is more than 1 TiB", flow.name, k.size.typical),
        };
        let hint = "an operation moves 1 B to 1 TiB, for example size = \"4 KiB\"";
        diagnostics.push(Diagnostic::error(k.size.span.unwrap_or(flow.span), what).hint(hint));
        return;
    }
    let many = from.many || from.parts.len() > 1;
    for (i, id) in from.parts.iter().enumerate() {
        let name = if many { format!("{}.{i}", flow.name) } else { flow.name.clone() };
        let part = directory.part(*id);
        let Some(device) = devices[id.0 as usize] else {
            let d = Diagnostic::error(from_span, format!("{} is a host bridge: it only answers", part.name));
            diagnostics.push(d.hint("flows start at devices"));
            return;
        };
        let bus = &all.buses[all.devices[device as usize].bus as usize];
        if bus.bridge != bridge {
            let other = &all.bridges[bridge as usize].name;
            let what = format!("{} and {other} share no bus", part.name);
            let hint =
                format!("{} is on links.{}, with {}", part.name, bus.name, all.bridges[bus.bridge as usize].name);
            diagnostics.push(Diagnostic::error(to_span, what).hint(hint));
            return;
        }
        let program = match k.load.typical {
            Load::Saturate => Program::Saturating,
            Load::Open { rate, poisson } => Program::Open { rate, poisson },
            Load::Closed { outstanding, think, round_trip } => Program::Closed { outstanding, think, round_trip },
        };
        if let Program::Open { rate, .. } = program
            && rate.bits() <= 0.0
        {
            let what = format!("flow {} has a rate of 0", flow.name);
            let d = Diagnostic::error(k.load.span.unwrap_or(flow.span), what);
            diagnostics.push(d.hint("a rate is above 0 b/s"));
            return;
        }
        all.flows.push(BusFlow {
            name,
            group: flow.name.clone(),
            device,
            from_bridge: false,
            op: k.r#do.clone(),
            size: k.size.clone(),
            load: k.load.clone(),
            program,
            measured: k.measured.as_ref().map(|q| q.typical),
        });
    }
}
