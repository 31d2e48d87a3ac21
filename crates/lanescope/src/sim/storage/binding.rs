//! What binds I/Os: something on their way that works all the time, the DMA behind them, or a stage of theirs.

use crate::plan::Dma;
use crate::result::{Binding, STAGES, SimulatedIos, way};
use crate::scenario::keys::Technology;
use crate::sim::core::subsystem::{FULL, Window};
use crate::sim::{pci, pcie};
use crate::units::digits;

/// What holds a table of I/Os up: something on their way that works all the time; else what holds up the DMA; else the
/// stage that takes most of an I/O.
pub(in crate::sim) fn io(view: &Window, flows: &[usize], times: &SimulatedIos) -> Binding {
    let plan = view.plan;
    let storage = &*plan.storage;
    let mine: Vec<_> = flows.iter().map(|f| &storage.flows[*f]).collect();
    let mut full: Option<(f64, Binding)> = None;
    let mut candidate = |share: f64, element: String, resource: &str| {
        if share > full.as_ref().map_or(FULL, |f| f.0) {
            let evidence = format!("{} % of its time taken", digits(100.0 * share));
            full = Some((share, Binding { element, resource: resource.into(), evidence }));
        }
    };
    for (wire, link) in storage.wires().zip(view.links_of(Technology::Storage)) {
        if mine.iter().any(|f| f.adapter == Some(wire.transport.adapter)) {
            candidate(link.utilisation(), way(&link.name, &link.to), "slots");
        }
    }
    let mut ways: Vec<u32> = Vec::new();
    for pair in mine.iter().filter_map(|f| storage.pair(f)) {
        ways.extend([true, false].into_iter().flat_map(|read| pair.path(&plan.network, read)));
    }
    ways.sort_unstable();
    ways.dedup();
    let wires = view.links_of(Technology::Ethernet);
    for wire in ways {
        let link = &wires[wire as usize];
        candidate(link.utilisation(), way(&link.name, &link.to), "slots");
    }
    let ends: Vec<[u32; 2]> = mine.iter().filter_map(|f| Some(f.remote.as_ref()?.ends)).collect();
    let wires = view.links_of(Technology::Infiniband);
    for wire in ends.iter().flat_map(|[a, b]| [plan.cluster.path(*a, *b), plan.cluster.path(*b, *a)].concat()) {
        let link = &wires[wire as usize];
        candidate(link.utilisation(), way(&link.name, &link.to), "slots");
    }
    for (name, share) in &times.busy {
        let (element, what) = name.split_once(": ").unwrap_or((name, ""));
        candidate(*share, element.to_owned(), what);
    }
    if let Some((_, binding)) = full {
        return binding;
    }
    // As many as they were allowed to.
    let wanted: Option<f64> = mine.iter().map(|f| f.rate.as_ref().map(|r| f64::from(r.typical.get()))).sum();
    let done = times.seen.counts.iter().map(|c| c.transactions.count as f64).sum::<f64>() / times.seen.time.max(1e-300);
    if let Some(wanted) = wanted.filter(|wanted| done > FULL * wanted) {
        return Binding {
            element: format!("flows.{}", mine.first().map_or("", |f| &f.group)),
            resource: "rate".into(),
            evidence: format!("{} a second of its own rate of {}", digits(done), digits(wanted)),
        };
    }
    let mut adapters: Vec<u32> = mine.iter().flat_map(|f| storage.adapters(f).chain(storage.behind(f))).collect();
    adapters.sort_unstable();
    adapters.dedup();
    let of_storage = adapters.into_iter().map(|a| storage.adapters[a as usize].dma);
    let of_fabric = ends.iter().flatten().filter_map(|e| plan.cluster.adapter_of(*e).host.as_ref().map(|h| h.dma));
    for dma in of_storage.chain(of_fabric) {
        let by = match dma {
            Dma::Pcie { read, write } => [read, write].map(|dma| pcie::binding::flow(view, dma)),
            Dma::Bus { read, write } => [read, write].map(|dma| pci::binding::bus(view, dma as usize)),
        };
        if let Some(by) = by.into_iter().find(|by| by.resource != "its own load") {
            return by;
        }
    }
    let all: f64 = times.stages.iter().sum();
    let (stage, most) = STAGES.iter().zip(times.stages).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((&"", 0.0));
    Binding {
        element: format!("flows.{}", mine.first().map_or("", |f| &f.group)),
        resource: "I/Os outstanding".into(),
        evidence: format!("{} % of an I/O's time: {stage}", digits(100.0 * most / all.max(1e-300))),
    }
}
