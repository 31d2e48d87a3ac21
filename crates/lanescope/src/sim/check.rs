//! What cannot be simulated is said before any work: too much memory, or a link that the simulator does not know.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::ethernet::NodeId;
use crate::plan::{Hop, Network, Plan, Program};
use crate::protocol::ethernet;
use crate::protocol::pci::Standard;
use crate::protocol::pcie::Framing;
use crate::scenario::keys::{SimulationLevel, StreamLoad};
use crate::scenario::{MAX_THINGS, PartKeys};
use crate::units::Time;
use std::collections::BTreeMap;

/// Operations that closed loads may hold in flight, all together: a bound on the memory of a run.
const MOST_IN_FLIGHT: u64 = 1 << 22;
/// Connections of streams to their destinations at most, where each is remembered: some tens of bytes.
const MOST_CONNECTIONS: usize = 1 << 22;
/// Frames that all adapters together may hold.
const MOST_AHEAD: u64 = 1 << 23;
/// How long an Ethernet is simulated at most, fs: 2 h. The moment of a message is reckoned from the beginning, in half
/// of what a clock can count.
const LONGEST_ETHERNET: u64 = 7_200_000_000_000_000_000;
/// How long I/Os are simulated at most, fs: 5 h. What is under way then ends later, and a clock counts to 5.1 h.
const LONGEST_STORAGE: u64 = 18_000_000_000_000_000_000;
/// Whether a plan can be simulated; if not, why not is in `diagnostics`.
pub(super) fn check(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let mut fine = true;
    for link in plan.links.iter() {
        let speed = link.speed.typical;
        if speed.generation.framing() == Framing::Flits {
            fine = false;
            diagnostics.push(
                Diagnostic::error(link.speed.span, format!("links.{}: FLIT mode cannot be simulated yet", link.name))
                    .hint("lanescope estimate gives its rates; Gen1 to Gen5 can be simulated"),
            );
        }
    }
    if plan.limits.length == Some(Time::ZERO) || plan.limits.max_time == Time::ZERO {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of 0 s has no answer").hint("run.for and run.max_time are above 0 s"),
        );
    }
    fine &= at_flow_level(plan, diagnostics) && fabric(plan, diagnostics);
    let length = plan.limits.length.unwrap_or(plan.limits.max_time).fs();
    let warmup = plan.limits.warmup.map_or(plan.limits.length.map_or(0, |l| l.fs() / 10), |w| w.fs());
    if !plan.network.streams.is_empty() && length.saturating_add(warmup) > LONGEST_ETHERNET {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of more than 2 h of Ethernet, warm-up included")
                .hint("shorten run.for, run.warmup or run.max_time: a millisecond is many thousand frames"),
        );
    }
    if !plan.storage.flows.is_empty() && length.saturating_add(warmup) > LONGEST_STORAGE {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of more than 5 h of I/Os, warm-up included")
                .hint("shorten run.for, run.warmup or run.max_time: a minute is many thousand I/Os"),
        );
    }
    let mut flights = 0u64;
    for bus in &plan.buses.buses {
        if bus.speed.typical.standard() == Standard::Isa {
            fine = false;
            let what = format!("links.{}: ISA cannot be simulated: only its peak rate is known", bus.name);
            diagnostics.push(Diagnostic::error(bus.speed.span, what).hint("PCI and PCI-X can be simulated"));
        }
    }
    let pcie = plan.flows.iter().map(|f| (&f.name, &f.load, &f.program));
    for (name, load, program) in pcie.chain(plan.buses.flows.iter().map(|f| (&f.name, &f.load, &f.program))) {
        if let Program::Closed { outstanding, round_trip, .. } = *program {
            flights += outstanding as u64;
            if round_trip.is_some() {
                fine = false;
                let what = format!("flow {name}: a stated round_trip cannot be simulated");
                diagnostics.push(
                    Diagnostic::error(load.span, what)
                        .hint("the simulation finds the round trip; lanescope estimate takes it as given"),
                );
            }
        }
        if flights > MOST_IN_FLIGHT {
            fine = false;
            let what = format!("the closed loads keep more than {MOST_IN_FLIGHT} operations in flight");
            diagnostics.push(Diagnostic::error(load.span, what).hint("a simulation remembers each of them"));
            break;
        }
    }
    fine &= under_way(plan, diagnostics);
    let ports: u64 = plan
        .parts
        .iter()
        .filter(|p| matches!(p.keys, PartKeys::Switch(_)))
        .map(|p| p.ports.len() as u64)
        .map(|n| n * n)
        .sum();
    if ports > 1 << 22 {
        fine = false;
        diagnostics.push(Diagnostic::error(None, "the switches have too many ports to be simulated"));
    }
    fine
}

/// Why a plan cannot be followed at flow level, if it cannot: there are streams of frames on Ethernet, or programs of
/// ranks, whose adapters have their hosts' memory at hand or reach it over PCIe.
fn not_at_flow_level(plan: &Plan) -> Option<String> {
    let mut names = (plan.flows.iter().filter(|f| !f.is_externally_driven()).map(|f| &f.name))
        .chain(plan.buses.flows.iter().filter(|f| !f.is_externally_driven()).map(|f| &f.name))
        .chain(plan.storage.flows.iter().map(|f| &f.name));
    let program = plan.cluster.jobs.first().map(|j| &j.name);
    if let Some(name) = names.next() {
        return Some(format!(
            "at flow level streams of frames on Ethernet and programs of ranks can be simulated, and flows.{name} is \
             neither"
        ));
    }
    if let (Some(name), Some(stream)) = (program, plan.network.streams.first()) {
        let stream = &stream.group;
        return Some(format!(
            "at flow level programs and streams of frames cannot be simulated together, as flows.{name} and \
             flows.{stream}"
        ));
    }
    let (name, bus) = program.zip(plan.buses.buses.first())?;
    let bus = &bus.name;
    Some(format!("at flow level adapters on a PCI bus cannot be simulated: flows.{name} may use links.{bus}"))
}

/// Whether a plan has programs, and all that it has can be followed at flow level.
pub fn has_only_messages(plan: &Plan) -> bool {
    !plan.cluster.jobs.is_empty() && not_at_flow_level(plan).is_none()
}

/// Whether all that a plan at flow level has is what that level follows.
fn at_flow_level(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let why = not_at_flow_level(plan).filter(|_| plan.limits.level == SimulationLevel::Flow);
    let Some(why) = why else { return true };
    let hint = "leave run.level (or --level) out: packet by packet it can be";
    diagnostics.push(Diagnostic::error(None, why).hint(hint));
    false
}

/// Whether a network is small enough for its level. Packet by packet every port has buffers, and every source knows its
/// destinations; at flow level only one that always has something for each of them.
fn fabric(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let network = &plan.network;
    let packets = plan.limits.level == SimulationLevel::Packet;
    let longest = network.nodes.len().max(network.links.len());
    // A message that is spread has a part on most of the links.
    if (packets || network.reorders()) && longest > 4 * MAX_THINGS {
        let what = format!("{} stations and switches with {} links", network.nodes.len(), network.links.len());
        let hint = if packets { "packet by packet" } else { "where each frame has a choice of its own" };
        let hint = format!("{hint} at most {} of each; more with --level flow and ecmp = \"hash\"", 4 * MAX_THINGS);
        diagnostics.push(Diagnostic::error(None, what).hint(hint));
        return false;
    }
    if packets && !ahead(network, diagnostics) {
        return false;
    }
    let mut connections = 0;
    for own in network.by_source() {
        let in_lanes = network.in_lanes(&own, false);
        for s in own.into_iter().map(|i| &network.streams[i]) {
            if packets || in_lanes && matches!(s.load.typical, StreamLoad::Saturate) {
                connections += s.targets.len() * s.connections.typical.get() as usize;
            }
            if connections > MOST_CONNECTIONS {
                let what =
                    format!("flow {}: with it more than {MOST_CONNECTIONS} connections to destinations", s.group);
                let hint = if packets {
                    "packet by packet each is remembered: 2048 stations to one another are as many; more at flow level"
                } else {
                    "where each always has something to send, each is remembered; more with a load that has a rate"
                };
                diagnostics.push(Diagnostic::error(s.load.span.or(s.size.span), what).hint(hint));
                return false;
            }
        }
    }
    true
}

/// Frames in the adapters of stations: each is remembered, and where a station is saturated from the first moment on.
fn ahead(network: &Network, diagnostics: &mut Diagnostics) -> bool {
    let mut smallest: BTreeMap<NodeId, u64> = BTreeMap::new();
    for s in &network.streams {
        let frame = if s.trace.is_some() { ethernet::MIN_FRAME } else { network.largest_frame(s) };
        let least = smallest.entry(s.source).or_insert(frame);
        *least = frame.min(*least);
    }
    let buffers = |id: &NodeId| network.station(*id).map(|k| [&k.nic_buffer, &k.mac_buffer]);
    let held = |(id, frame): (&NodeId, &u64)| {
        let bytes = buffers(id).map_or(0, |all| all.into_iter().fold(0, |n: u64, q| n.saturating_add(q.typical.0)));
        bytes / frame
    };
    let frames = smallest.iter().map(held).fold(0, u64::saturating_add);
    if frames > MOST_AHEAD {
        let largest =
            smallest.keys().filter_map(buffers).flatten().max_by_key(|q| (q.typical, q.span.map(|s| s.start)));
        let what = format!("the adapters of all stations hold up to {frames} frames, more than {MOST_AHEAD}");
        diagnostics.push(
            Diagnostic::error(largest.and_then(|q| q.span), what)
                .hint("nic_buffer and mac_buffer hold a few frames ahead; what waits in the application has no bound"),
        );
    }
    frames <= MOST_AHEAD
}

/// The packets that links and buffers hold, which grow with latency x rate; no more can be than a run may send.
fn under_way(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let mut crossed: Vec<Hop> =
        plan.flows.iter().flat_map(|f| f.route.iter().chain(&f.back)).flat_map(|h| [*h, h.reversed()]).collect();
    crossed.sort_unstable_by_key(|h| (h.link.0, h.direction.from()));
    crossed.dedup();
    let mut all = 0.0;
    for hop in crossed {
        let (link, to) = (plan.link(hop.link), plan.part(plan.arrives(hop)));
        // The least that is sent in numbers: a cache line with its header and framing.
        let packets = link.speed.typical.coded().bytes() / 88.0;
        let (latency, span) = match &to.keys {
            PartKeys::Switch(k) => (k.latency.typical, k.latency.span),
            PartKeys::RootComplex(k) => (k.write_latency.typical, k.write_latency.span),
            PartKeys::Endpoint(_) => (Time::ZERO, None),
        };
        // Credits go round in both delays, and buffers are twice that (see `Plan::buffer`).
        all += packets * (4.0 * link.delay.typical.seconds() + 2.0 * latency.seconds());
        if all.min(plan.limits.max_packets as f64) > MOST_IN_FLIGHT as f64 {
            let longest = if link.delay.typical > latency { link.delay.span } else { span };
            let what = format!("links.{} holds more than {MOST_IN_FLIGHT} packets on their way", link.name);
            let hint = "latency x rate: set a shorter delay or latency, or a smaller run.max_packets";
            diagnostics.push(Diagnostic::error(longest, what).hint(hint));
            return false;
        }
    }
    true
}
