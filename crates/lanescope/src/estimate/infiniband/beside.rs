//! Programs beside everything else of a plan: what they ask, while they run as fast as they do alone, of what others
//! use too.
//!
//! A program is one flow of the filling, whose rate is its *progress*: 1 where nothing holds it back. What it moves by
//! its adapters' DMA a second of that progress is what it asks of everything between them and host memory, and the part
//! of the time for which it has something in use is what it asks of that. Where the filling leaves it less, all of it
//! takes so much longer.

use crate::estimate::core::elements::{ClusterElement, Key, OWN, Part};
use crate::estimate::core::fill::{Resource, Share, Use};
use crate::estimate::infiniband::Ran;
use crate::estimate::pci;
use crate::plan::{DmaPath, Plan};
use crate::result::Binding;
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// What a program asks a second of its progress.
#[derive(Clone, Debug, Default)]
pub(in crate::estimate) struct Demand {
    /// Bytes of DMA, by way.
    pub(in crate::estimate) moved: Vec<(DmaPath, f64)>,
    /// For what part of the time it has things in use that carry one packet at a time, in the order of those of a plan.
    pub(in crate::estimate) used: Vec<(ClusterElement, f64)>,
}

impl Demand {
    /// Bytes per second of the flows of PCIe that its adapters move.
    pub(in crate::estimate) fn on_pcie(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.moved.iter().filter_map(|(way, rate)| match way {
            DmaPath::Pcie(flow) => Some((flow.0 as usize, *rate)),
            DmaPath::Bus(_) => None,
        })
    }

    /// Wires of Ethernet, and for what part of the time they are in use.
    pub(in crate::estimate) fn on_ethernet(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.used.iter().filter_map(|(named, part)| match named {
            ClusterElement::Frame(wire) if *part > 0.0 => Some((*wire, *part)),
            _ => None,
        })
    }
}

/// Demands of all programs at a corner; at the typical values where a corner was not asked for.
pub(in crate::estimate) fn demands(ran: &[Ran], corner: Corner) -> Vec<Demand> {
    ran.iter().map(|r| r.at(corner).demand.clone()).collect()
}

/// A use of a program by itself: it takes turns with whatever else is there.
fn used(flow: usize, weight: f64) -> Use {
    Use { flow, weight, packets: weight, first: 0.0, first_least: 0.0, hops: OWN }
}

/// Charges the DMA of channel adapters to the programs behind it, of which the first is the flow `first`; and adds what
/// several programs have in use.
pub(in crate::estimate) fn charge(
    plan: &Plan,
    corner: Corner,
    first: usize,
    jobs: &[Demand],
    resources: &mut Vec<Resource<Key>>,
) {
    let mut behind: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (job, demand) in jobs.iter().enumerate() {
        for (way, rate) in &demand.moved {
            if let DmaPath::Pcie(flow) = way {
                behind.entry(flow.0 as usize).or_default().push((first + job, *rate));
            }
        }
    }
    for r in resources.iter_mut().filter(|r| r.uses.iter().any(|u| behind.contains_key(&u.flow))) {
        let mut mine: BTreeMap<usize, Use> = BTreeMap::new();
        for u in r.uses.iter() {
            for (flow, rate) in behind.get(&u.flow).into_iter().flatten() {
                let sum = mine.entry(*flow).or_insert_with(|| used(*flow, 0.0));
                sum.weight += u.weight * rate;
                sum.packets += u.packets * rate;
                sum.first += u.first * rate;
                sum.first_least += u.first_least * rate;
            }
        }
        r.uses.retain(|u| !behind.contains_key(&u.flow));
        r.uses.extend(mine.into_values());
    }
    // Transactions and I/Os have resources for the wires, engines and clocks that they use.
    for r in resources.iter_mut() {
        let (capacity, part) = match r.key {
            Key::Storage(Part::Ethernet(wire)) => (r.capacity, ClusterElement::Frame(wire)),
            Key::Storage(Part::Clocks(bus)) => (0.0, ClusterElement::Bus(bus)),
            Key::Storage(Part::Fabric(named @ (ClusterElement::Wire(_) | ClusterElement::Work(_)))) => {
                (r.capacity, named)
            }
            _ => continue,
        };
        for (job, demand) in jobs.iter().enumerate() {
            let weight = match part {
                ClusterElement::Bus(bus) => clocks(plan, corner, bus, demand),
                _ => capacity * demand.used.iter().filter(|(n, _)| *n == part).map(|u| u.1).sum::<f64>(),
            };
            if weight > 0.0 {
                r.uses.push(used(first + job, weight));
            }
        }
    }
    let mut shared: BTreeMap<(usize, ClusterElement), Vec<(usize, f64)>> = BTreeMap::new();
    for (job, demand) in jobs.iter().enumerate() {
        for (i, (named, part)) in demand.used.iter().enumerate().filter(|(_, u)| u.1 > 0.0) {
            shared.entry((i, *named)).or_default().push((first + job, *part));
        }
    }
    for ((_, named), uses) in shared.into_iter().filter(|(_, uses)| uses.len() > 1) {
        let uses = uses.into_iter().map(|(flow, part)| used(flow, part)).collect();
        resources.push(Resource { key: Key::Cluster(named), capacity: 1.0, uses });
    }
}

/// Clocks of a bus that a program asks for a second.
fn clocks(plan: &Plan, corner: Corner, bus: u32, demand: &Demand) -> f64 {
    let of = |(way, rate): &(DmaPath, f64)| match way {
        DmaPath::Bus(flow) => {
            Some((pci::external_load(&plan.buses, *flow, corner), *rate)).filter(|(fed, _)| fed.bus == bus)
        }
        DmaPath::Pcie(_) => None,
    };
    demand.moved.iter().filter_map(of).map(|(fed, rate)| rate * (fed.least + fed.more)).sum()
}

/// What programs ask of shared buses at their progress: the program, the flow and its bytes per second.
pub(in crate::estimate) fn on_buses(jobs: &[Demand], progress: &[Share]) -> Vec<(usize, (u32, f64))> {
    let mut all = Vec::new();
    for (job, (demand, share)) in jobs.iter().zip(progress).enumerate() {
        for (way, rate) in &demand.moved {
            if let DmaPath::Bus(flow) = way {
                all.push((job, (*flow, rate * share.rate)));
            }
        }
    }
    all
}

/// The progress that buses leave to programs beside the flows that are theirs alone, and the bus; `None` where a
/// program has no such bus. `ios` is what I/Os ask of them.
pub(in crate::estimate) fn beside(
    plan: &Plan,
    corner: Corner,
    jobs: &[Demand],
    progress: &[Share],
    ios: &[(u32, f64)],
) -> Vec<Option<(f64, u32)>> {
    let mut held = vec![None; jobs.len()];
    let mine = on_buses(jobs, progress);
    let own = |bus: u32| {
        let mut flows = plan.buses.flows.iter().take_while(|f| !f.is_externally_driven());
        flows.any(|f| plan.buses.devices[f.device as usize].bus == bus)
    };
    if mine.is_empty() || plan.buses.flows.first().is_none_or(|f| f.is_externally_driven()) {
        return held;
    }
    let moved: Vec<(u32, f64)> = ios.iter().copied().chain(mine.iter().map(|m| m.1)).collect();
    let got = pci::beside(plan, corner, &moved);
    for ((job, _), (part, bus)) in mine.iter().zip(&got[ios.len()..]).filter(|(_, (_, bus))| own(*bus)) {
        let left = part * progress[*job].rate;
        if held[*job].is_none_or(|(least, _)| left < least) {
            held[*job] = Some((left, *bus));
        }
    }
    held
}

/// What a person calls something that carries one packet at a time: its element, and what of it is taken.
pub(in crate::estimate) fn words(plan: &Plan, name: ClusterElement) -> (String, &'static str) {
    let adapter = |i: u32| format!("parts.{}", plan.cluster.adapters[i as usize].name);
    match name {
        ClusterElement::Wire(wire) => (plan.cluster.wire_name(wire), "slots"),
        ClusterElement::Frame(wire) => (plan.network.wire_name(wire), "slots"),
        ClusterElement::Bus(bus) => (crate::result::way(&plan.buses.buses[bus as usize].name, ""), "clocks"),
        ClusterElement::Reads(a) => (adapter(a), "reads of host memory"),
        ClusterElement::Writes(a) => (adapter(a), "writes to host memory"),
        ClusterElement::Work(a) => (adapter(a), "work requests"),
        ClusterElement::Packets(a) => (adapter(a), "packets"),
    }
}

/// The same of what several programs share.
pub(in crate::estimate) fn binding(plan: &Plan, name: ClusterElement) -> Binding {
    let (element, resource) = words(plan, name);
    Binding {
        element,
        resource: resource.into(),
        evidence: "programs that share it have it in use all the time while all of them run".into(),
    }
}
