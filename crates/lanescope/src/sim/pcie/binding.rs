//! What binds a flow of PCIe, as the ledgers along its way show it.

use crate::plan::{Flow, FlowId, Hop, Plan};
use crate::result::{Binding, BusIdle, Idle, SimulatedBackbone, SlotCounts};
use crate::scenario::keys::Technology;
use crate::sim::core::subsystem::{FULL, Window};
use crate::sim::pcie::wire_of;
use crate::units::digits;

/// What holds a flow of PCIe up, by the ledgers along its way: a wire whose slots are all taken; else what its
/// requester's own wire waited for.
pub(in crate::sim) fn flow(view: &Window, flow: FlowId) -> Binding {
    let (plan, links) = (view.plan, view.links_of(Technology::Pcie));
    let flow = &plan.flows[flow.0 as usize];
    let name = |hop: Hop| plan.direction_name(hop);
    let of = |hop: Hop| &links[wire_of(hop) as usize].slots;
    let ways = flow.route.iter().flat_map(|h| [*h, h.reversed()]).chain(flow.back.iter().copied());
    let used = |s: &SlotCounts| s.busy() as f64 / s.total().max(1) as f64;
    let fullest = ways.max_by(|a, b| used(of(*a)).total_cmp(&used(of(*b))));
    if let Some(hop) = fullest.filter(|h| used(of(*h)) > FULL) {
        let share = digits(100.0 * used(of(hop)));
        return Binding {
            element: name(hop),
            resource: "slots".into(),
            evidence: format!("{share} % of its slots taken"),
        };
    }
    if let Some(binding) = backbone(plan, flow, view.backbones) {
        return binding;
    }
    let Some(&first) = flow.route.first() else {
        return Binding {
            element: format!("flows.{}", flow.name),
            resource: "its own load".into(),
            evidence: String::new(),
        };
    };
    // A packet of this flow that waits for room on its way, there or back, holds up those behind it.
    let blocked = |s: &SlotCounts| -> u64 {
        Idle::ALL.into_iter().zip(s.idle).filter(|(c, _)| c.is_credit()).map(|(_, n)| n).sum()
    };
    let part = |s: &SlotCounts| blocked(s) as f64 / s.total().max(1) as f64;
    let ways = flow.route.iter().flat_map(|h| [*h, h.reversed()]).chain(flow.back.iter().copied());
    let held = ways.max_by(|a, b| part(of(*a)).total_cmp(&part(of(*b)))).filter(|h| *h != first && part(of(*h)) > 0.1);
    if let Some(hop) = held {
        let idle = of(hop).idle;
        let causes = Idle::ALL.into_iter().zip(idle).filter(|(c, _)| c.is_credit());
        let cause = causes.max_by_key(|(_, n)| *n).map_or("", |(c, _)| c.words());
        let share = digits(100.0 * part(of(hop)));
        let evidence = format!("{share} % of its time idle: {cause}");
        return Binding { element: name(hop), resource: "credits".into(), evidence };
    }
    let slots = of(first);
    let (cause, idle) =
        Idle::ALL.into_iter().zip(slots.idle).max_by_key(|(_, n)| *n).unwrap_or((Idle::NothingToSend, 0));
    let share = digits(100.0 * idle as f64 / slots.total().max(1) as f64);
    let evidence = format!("{share} % of its port's time idle: {}", cause.words());
    let (element, resource) = match cause {
        Idle::Tags => (format!("parts.{}", plan.part(flow.source).name), "read requests in flight"),
        Idle::TurnAround => (format!("parts.{}", plan.part(flow.source).name), "turn-around"),
        Idle::Pace => (format!("parts.{}", plan.part(flow.source).name), "engine"),
        Idle::PostedCredits | Idle::NonPostedCredits | Idle::CompletionCredits => (name(first), "credits"),
        Idle::ReplayBuffer => (name(first), "replay buffer"),
        _ => (format!("flows.{}", flow.name), "its own load"),
    };
    Binding { element, resource: resource.into(), evidence }
}

/// The backbone of a flow's target, if it holds the flow up: a bus whose clocks are all taken, or reads that wait for
/// others of their port.
fn backbone(plan: &Plan, flow: &Flow, backbones: &[SimulatedBackbone]) -> Option<Binding> {
    let name = &plan.part(flow.target).name;
    let found = backbones.iter().find(|b| b.name == *name)?;
    let element = format!("parts.{name}");
    let carries = [true, flow.reads()];
    let buses = found.buses().into_iter().zip(carries).filter(|(_, carries)| *carries).map(|(bus, _)| bus);
    let fullest = buses.max_by(|a, b| a.1.utilisation().total_cmp(&b.1.utilisation()))?;
    if fullest.1.utilisation() > FULL {
        let evidence = format!("{} % of its {}'s clocks taken", digits(100.0 * fullest.1.utilisation()), fullest.0);
        return Some(Binding { element, resource: fullest.0.into(), evidence });
    }
    let waits = found.request.idle[BusIdle::Reads as usize] as f64 / found.request.total().max(1) as f64;
    (flow.reads() && waits > 0.1).then(|| Binding {
        element,
        resource: "reads in flight of a port".into(),
        evidence: format!("{} % of its request bus's clocks idle: {}", digits(100.0 * waits), BusIdle::Reads.words()),
    })
}
