//! Which level a run follows a plan at, every packet or whole messages as flows, and whether that can be.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::ethernet::NodeId;
use crate::plan::{Network, Plan};
use crate::protocol::ethernet;
use crate::result::not_modelled;
use crate::scenario::MAX_THINGS;
use crate::scenario::keys::{SimulationLevel, StreamLoad};
use crate::sim::not_modelled::{FIXED_LENGTH, NOT_AT_FLOW_LEVEL};
use crate::units::digits;
use std::collections::BTreeMap;

/// Packets that messages have on average, at least, to be followed as flows where that is a choice. What a shorter one
/// waits for is single packets of others, which only packets show, and so few cost as little as a flow.
const LONG_MESSAGE: f64 = 16.0;
/// Messages of a program that are looked at for that.
const MOST_MESSAGES: u64 = 1 << 20;
/// Connections of streams to their destinations at most, where each is remembered: some tens of bytes.
const MOST_CONNECTIONS: usize = 1 << 22;
/// Frames that all adapters together may hold.
const MOST_AHEAD: u64 = 1 << 23;

/// Chooses the level of a plan whose scenario leaves the choice.
pub(crate) fn with_level(mut plan: Plan) -> Plan {
    if plan.limits.level == SimulationLevel::Auto {
        let (level, reason) = match why_packets(&plan) {
            Ok(why) => (SimulationLevel::Packet, format!("every packet is followed: {why}")),
            Err(why) => (SimulationLevel::Flow, format!("whole messages are followed as flows: {why}")),
        };
        (plan.limits.level, plan.limits.level_reason) = (level, Some(reason));
    }
    plan
}

/// Why every packet of a plan is to be followed, or else why whole messages are.
fn why_packets(plan: &Plan) -> Result<String, String> {
    if let Some(why) = not_at_flow_level(plan) {
        return Ok(why);
    }
    if let Some(why) = too_large(plan) {
        return Err(why);
    }
    // How long a run is depends on no level.
    let mut unseen = not_modelled(plan, "simulate", NOT_AT_FLOW_LEVEL).into_iter();
    if let Some(stated) = unseen.find(|n| n.mechanism != FIXED_LENGTH.mechanism) {
        return Ok(format!("at flow level {} would count for nothing ({})", stated.key, stated.why));
    }
    if let Some(s) = plan.network.streams.iter().find(|s| s.load.typical == StreamLoad::Saturate) {
        return Ok(format!("flows.{} saturates its link, so there is always a queue", s.group));
    }
    if let Some(why) = short_messages(plan) {
        return Ok(why);
    }
    Err(format!("they have at least {LONG_MESSAGE} packets on average, and nothing is stated that only packets have"))
}

/// What there is too much of to follow packets, where there is not for messages.
fn too_large(plan: &Plan) -> Option<String> {
    let fits = |level| {
        let mut said = Diagnostics::default();
        (!fabric(plan, level, &mut said)).then_some(said)
    };
    let said = fits(SimulationLevel::Packet).filter(|_| fits(SimulationLevel::Flow).is_none())?;
    let too_much = said.sorted().first().map(|d| d.message.clone()).unwrap_or_default();
    Some(format!("packet by packet there would be too much to remember ({too_much})"))
}

/// Whose messages are short, if somebody's are.
fn short_messages(plan: &Plan) -> Option<String> {
    let streams = plan.network.streams.iter().map(|s| (&s.group, s.size.typical.f64() / s.room.max(1) as f64));
    let programs = plan.cluster.jobs.iter().map(|j| {
        let sent = j.job.sends(j.keys.steady.typical, MOST_MESSAGES);
        (&j.name, sent.bytes / sent.messages.max(1) as f64 / j.mtu.max(1) as f64)
    });
    let (name, packets) = streams.chain(programs).find(|(_, packets)| *packets < LONG_MESSAGE)?;
    Some(format!(
        "messages of flows.{name} have {} packets on average, and so short ones wait for single packets of others",
        digits(packets)
    ))
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

/// Whether all that a plan has is what its level follows, and no more of it than that remembers.
pub(super) fn fits(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    at_flow_level(plan, diagnostics) && fabric(plan, plan.limits.level, diagnostics)
}

/// Whether all that a plan at flow level has is what that level follows.
fn at_flow_level(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let why = not_at_flow_level(plan).filter(|_| plan.limits.level == SimulationLevel::Flow);
    let Some(why) = why else { return true };
    let hint = "leave run.level (or --level) out: packet by packet it can be";
    diagnostics.push(Diagnostic::error(None, why).hint(hint));
    false
}

/// Whether a network is small enough for a level. Packet by packet every port has buffers, and every source knows its
/// destinations; at flow level only one that always has something for each of them.
fn fabric(plan: &Plan, level: SimulationLevel, diagnostics: &mut Diagnostics) -> bool {
    let network = &plan.network;
    let packets = level == SimulationLevel::Packet;
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
