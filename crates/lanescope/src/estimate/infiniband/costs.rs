//! What a plan's messages take alone, for a run at flow level: the closed form of one message, asked for one by one.

use crate::estimate::core::elements::Key;
use crate::estimate::infiniband::carrier::Carrier;
use crate::estimate::infiniband::pieces::{Ways, in_pieces};
use crate::estimate::outcome;
use crate::mpi::Post;
use crate::plan::Plan;
use crate::plan::infiniband::carriage::{Carriage, MessageCosts, OnPcie, SlotsOfByte};
use crate::scenario::keys::SimulationLevel;
use crate::scenario::quantity::Corner;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Femtoseconds in a second.
const SECOND: f64 = 1e15;

/// The messages of a plan, in closed form. Nothing is worked out before somebody asks.
#[derive(Debug)]
struct Costs {
    plan: Arc<Plan>,
    ways: Arc<Ways>,
    on_pcie: OnceLock<OnPcie>,
    carrier: OnceLock<Mutex<Carrier>>,
}

/// Lets a run at flow level ask what the messages of a plan's programs take.
pub(crate) fn with_message_costs(mut plan: Plan) -> Plan {
    if plan.limits.level == SimulationLevel::Flow && !plan.cluster.jobs.is_empty() {
        let (pieces, ways) = in_pieces(&plan);
        let plan_in_pieces = Arc::new(pieces.into_owned());
        let (on_pcie, carrier) = (OnceLock::new(), OnceLock::new());
        let costs = Costs { plan: plan_in_pieces, ways, on_pcie, carrier };
        Arc::make_mut(&mut plan.cluster).costs = Some(Arc::new(costs));
    }
    plan
}

impl Costs {
    fn carrier(&self) -> MutexGuard<'_, Carrier> {
        let new = || Mutex::new(Carrier::new(Arc::clone(&self.plan), Arc::clone(&self.ways), Corner::Typical));
        // A message finds nothing of what was carried before, so not what another thread has left half done, either.
        self.carrier.get_or_init(new).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageCosts for Costs {
    fn on_pcie(&self) -> &OnPcie {
        self.on_pcie.get_or_init(|| on_pcie(&self.plan, &self.ways, self.carrier().alike()))
    }

    fn alone(&self, job: usize, post: &Post, connection: u32) -> Carriage {
        self.carrier().alone(post, &self.plan.cluster.jobs[job], connection)
    }
}

/// What the flows of adapters ask of PCIe, with nothing else on it.
fn on_pcie(plan: &Plan, ways: &Ways, alike: Vec<u32>) -> OnPcie {
    let flows: Vec<_> = ways.iter().map(|a| a.map(|ways| ways.map(|way| way.flows().map(|f| f.0)))).collect();
    let mut all = OnPcie {
        alike,
        resources: 0,
        flows,
        takes: vec![Vec::new(); plan.flows.len()],
        slots: vec![Vec::new(); plan.flows.len()],
    };
    if all.flows.iter().all(Option::is_none) {
        return all;
    }
    let outcome = outcome(plan, Corner::Typical, &[]);
    for r in outcome.resources.iter().filter(|r| !matches!(r.key, Key::Storage(_) | Key::Cluster(_))) {
        let mut any = false;
        for u in r.uses.iter().filter(|u| u.flow < plan.flows.len()) {
            let takes = u.whole() / r.capacity * SECOND;
            if takes > 0.0 {
                all.takes[u.flow].push((all.resources, takes));
                any = true;
            }
        }
        all.resources += u32::from(any);
    }
    for (hop, list) in outcome.wires.iter() {
        let wire = 2 * hop.link.0 + hop.direction as u32;
        for (flow, s) in list {
            let of_byte = SlotsOfByte {
                payload: s.payload,
                framing: s.framing + s.control,
                requests: s.requests,
                acks: s.acks,
                update_fc: s.update_fc,
                tlps: s.tlps,
                data_tlps: s.data_tlps,
            };
            all.slots[*flow].push((wire, of_byte));
        }
    }
    all
}
