//! What binds a flow of a shared bus, as the bus's ledger shows it.

use crate::result::{Binding, Idle};
use crate::scenario::keys::Technology;
use crate::sim::core::subsystem::{FULL, Window};
use crate::units::digits;

/// What holds a flow of a bus up: the bus, if it is never idle; else what its devices and the bridge made it wait for.
pub(in crate::sim) fn bus(view: &Window, flow: usize) -> Binding {
    let (buses, links) = (&view.plan.buses, view.links_of(Technology::Pci));
    let flow = &buses.flows[flow];
    let device = &buses.devices[flow.device as usize];
    let (bus, bridge) = buses.of(flow);
    let slots = &links[device.bus as usize].slots;
    let whole = slots.total().max(1) as f64;
    let used = slots.busy() as f64 / whole;
    if used > FULL {
        let evidence = format!("{} % of its clocks taken", digits(100.0 * used));
        return Binding { element: format!("links.{}", bus.name), resource: "clocks".into(), evidence };
    }
    let most = Idle::ALL.into_iter().zip(slots.idle).reduce(|a, b| if b.1 > a.1 { b } else { a });
    let (cause, idle) = most.unwrap_or((Idle::NothingToSend, 0));
    let time = format!("{} % of the bus's clocks idle", digits(100.0 * idle as f64 / whole));
    let (element, resource, evidence) = match cause {
        Idle::Bridge => {
            (format!("parts.{}", device.name), "reads outstanding", format!("{time}, waiting for {}", bridge.name))
        }
        Idle::TurnAround => (format!("parts.{}", device.name), "turn-around", format!("{time} between transactions")),
        Idle::Pace => (format!("parts.{}", device.name), "engine", format!("{time}, at its own rate")),
        Idle::Arbitration => (format!("links.{}", bus.name), "arbitration", time),
        _ => (format!("flows.{}", flow.group), "its own load", format!("{time}, nothing to send")),
    };
    Binding { element, resource: resource.into(), evidence }
}
