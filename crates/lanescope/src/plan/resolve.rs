//! From a scenario to a plan: each technology builds its part, PCIe first, since others ask its hosts for DMA.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::core::dma::Host;
use crate::plan::pcie::build::Tree;
use crate::plan::pcie::check;
use crate::plan::{Plan, RunLimits, ethernet, infiniband, pci, pcie, storage};
use crate::scenario::Scenario;
use crate::scenario::quantity::Percent;
use crate::units::Time;
use std::sync::Arc;

/// Where nothing else is said, a run with message programs ends after an hour of their time, or so many packets:
/// minutes of work.
const LONGEST_PROGRAM: u64 = 3_600_000_000_000_000_000;
const MOST_OF_PROGRAMS: u64 = 500_000_000;

/// Resolves and checks a scenario. `None` when it cannot be; why is in `diagnostics`, which also gathers warnings.
pub fn build(diagnostics: &mut Diagnostics, scenario: &Scenario) -> Option<Plan> {
    let Tree { mut parts, links, mut flows, map, spans } = pcie::build::build(diagnostics, scenario)?;
    let host = Host { parts: &parts, links: &links, map: &map };
    let mut buses = pci::build(diagnostics, scenario);
    let mut storage = storage::build(diagnostics, scenario, &host, &mut flows, &mut buses);
    let network = ethernet::build(diagnostics, scenario, |network| {
        let (data, mut priorities) = infiniband::roce::carried(scenario, network);
        let (data, best_effort) = storage::carried(scenario, network, data);
        priorities.extend(best_effort);
        let (data, capsules) = storage::fabrics::carried(scenario, network, &storage, data);
        priorities.extend(capsules);
        (data, priorities)
    });
    storage::transactions(diagnostics, scenario, &network, &mut storage);
    let mut cluster = infiniband::build(diagnostics, scenario, &host, &network, &mut flows, &mut buses);
    let own = (&mut flows, &mut buses);
    storage::fabrics::connect(diagnostics, scenario, &host, &network, own, &mut cluster, &mut storage);
    if let (Some(until), Some(_)) = (&scenario.run.until, &scenario.run.r#for) {
        let d = Diagnostic::warning(until.span, "run.until has no effect beside run.for, which sets the length");
        diagnostics.push(d.hint("leave run.for out for a run that ends when its means are tight"));
    }
    let limits = RunLimits {
        until: scenario.run.until.as_ref().map_or(Percent(0.01), |q| q.typical),
        length: scenario.run.r#for.as_ref().map(|q| q.typical),
        warmup: scenario.run.warmup.as_ref().map(|q| q.typical),
        // Programs end by themselves: what is a long time for a load is none for them.
        max_time: match &scenario.run.max_time {
            q if q.default && !scenario.jobs.is_empty() => Time::from_fs(LONGEST_PROGRAM),
            q => q.typical,
        },
        max_packets: match &scenario.run.max_packets {
            q if q.default && !scenario.jobs.is_empty() => MOST_OF_PROGRAMS,
            q => q.typical.0,
        },
        seed: scenario.run.seed.as_ref().map_or(1, |q| q.typical),
        level: scenario.run.level.typical,
        level_reason: None,
    };
    pcie::build::note_forwarding(&mut parts, &links, &flows);
    let mut plan = Plan {
        title: scenario.title.clone(),
        parts: Arc::new(parts),
        links: Arc::new(links),
        flows: Arc::new(flows),
        network: Arc::new(network),
        buses: Arc::new(buses),
        storage: Arc::new(storage),
        cluster: Arc::new(cluster),
        limits,
        stated: Arc::new(scenario.stated.clone()),
        fingerprint: String::new(),
    };
    plan.fingerprint = plan.hash();
    check::links(diagnostics, &plan, &spans);
    check::hosts(diagnostics, &plan, &map, &spans);
    check::tags(diagnostics, &plan);
    check::flows(diagnostics, scenario, &plan);
    (!diagnostics.has_errors()).then_some(plan)
}
