//! A plan as its author thinks of it: every part, link and flow with all its values, and the ways of the flows.

use crate::plan::Plan;
use crate::plan::gpu::GpuCluster;
use crate::plan::infiniband::JobFlow;
use crate::plan::storage::AdapterKind;
use crate::scenario::keys::{PartKind, Setting};
use crate::scenario::quantity::Shape;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// What will run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// `parts.nic.0` and its settings, each with its origin.
    pub settings: Vec<(String, Vec<Setting>)>,
    /// `flows.rx` and a way of it, in words; several of a flow of ranks.
    pub routes: Vec<(String, String)>,
}

/// The same as JSON, with the plan's fingerprint and title.
pub fn json(plan: &Plan) -> Value {
    let mut all = planned(plan).json(&plan.title);
    all["plan"] = json!(plan.fingerprint);
    all
}

impl Planned {
    /// As JSON, with the title.
    pub fn json(&self, title: &str) -> Value {
        let things: Vec<_> = self.settings.iter().map(|(name, l)| json!({ "name": name, "settings": l })).collect();
        let routes: Vec<_> = self.routes.iter().map(|(f, r)| json!({ "flow": f, "route": r })).collect();
        json!({ "title": title, "things": things, "routes": routes })
    }
}

/// Settings of a cluster of GPUs, and the ways from its first GPU to the next one, and to the next node.
pub fn cluster(c: &GpuCluster) -> Planned {
    let ways = [(c.gpus > 1, 1, "to the next"), (c.nodes > 1, c.gpus, "to the next node")];
    let way = |(_, to, name): (bool, u32, &str)| {
        let way = c.way_text(0, to).unwrap_or_else(|why| format!("none: {why}"));
        (format!("gpu0 of node0 {name}"), way)
    };
    Planned { settings: c.settings.clone(), routes: ways.into_iter().filter(|w| w.0).map(way).collect() }
}

/// Settings and ways of a plan.
pub fn planned(plan: &Plan) -> Planned {
    let settings = stated(plan);
    let streams = plan.network.streams.iter().enumerate();
    let streams = streams.map(|(i, s)| (format!("flows.{}", s.name), plan.network.route_text(i)));
    let buses = plan.buses.flows.iter().filter(|f| !f.is_externally_driven());
    let buses = buses.map(|f| (format!("flows.{}", f.name), plan.buses.route_text(f)));
    let ios = plan.storage.flows.iter();
    let ios = ios.map(|f| (format!("flows.{}", f.name), format!("{}: {}", plan.storage.route_text(f), f.about)));
    let routes: Vec<(String, String)> = plan
        .flows
        .iter()
        .filter(|f| !f.is_externally_driven())
        .map(|f| (format!("flows.{}", f.name), plan.ways_text(f)))
        .chain(streams)
        .chain(buses)
        .chain(ios)
        .chain(plan.cluster.jobs.iter().flat_map(|job| {
            let name = format!("flows.{}", job.name);
            std::iter::once(ranks(plan, job)).chain(connections(plan, job)).map(move |text| (name.clone(), text))
        }))
        .collect();
    Planned { settings, routes }
}

/// The settings of a plan as its author thinks of it: an adapter once, without the DMA that it does for its I/Os.
fn stated(plan: &Plan) -> Vec<(String, Vec<Setting>)> {
    let fed = plan.flows.iter().filter(|f| f.is_externally_driven()).map(|f| &f.name);
    let fed: HashSet<String> = fed
        .chain(plan.buses.flows.iter().filter(|f| f.is_externally_driven()).map(|f| &f.name))
        .map(|name| format!("flows.{name}"))
        .collect();
    // What is an endpoint to PCI Express, and was stated as more.
    let of_storage = plan.storage.adapters.iter().map(|a| match a.kind {
        AdapterKind::Host(_) => (&a.name, PartKind::HostAdapter),
        AdapterKind::Nvme(_) => (&a.name, PartKind::Nvme),
    });
    let of_cluster = plan.cluster.adapters.iter().map(|a| (&a.name, PartKind::ChannelAdapter));
    let kinds: HashMap<String, PartKind> =
        of_storage.chain(of_cluster).map(|(name, kind)| (format!("parts.{name}"), kind)).collect();
    let mut all: Vec<(String, Vec<Setting>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, mut list) in plan.settings() {
        if fed.contains(&name) {
            continue;
        }
        match places.get(&name) {
            Some(&at) => {
                let of = |key| all[at].1.iter().position(|s| s.key == key);
                if let (Some(is), Some(kind)) = (of("is"), kinds.get(&name)) {
                    all[at].1[is].value = kind.show();
                }
                all[at].1.append(&mut list);
            }
            None => {
                places.insert(name.clone(), all.len());
                all.push((name, list));
            }
        }
    }
    all
}

/// `imb PingPong, 2 ranks: on node.0, node.1`.
fn ranks(plan: &Plan, job: &JobFlow) -> String {
    const SHOWN: usize = 8;
    let mut names: Vec<&str> = job.ranks.iter().map(|e| plan.cluster.adapter_of(*e).name.as_str()).collect();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.truncate(SHOWN);
    format!("{}: on {}{more}", job.job.title, names.join(", "))
}

/// The ways between ranks that send to one another: `rank 4 to 0: nic.4 → leaf.1 → spine.0 → leaf.0 → nic.0`.
fn connections(plan: &Plan, job: &JobFlow) -> Vec<String> {
    const SHOWN: usize = 16;
    let (pairs, more) = plan.cluster.pairs_of(job, SHOWN);
    let way = |pair: [u32; 2]| plan.cluster.route_text(&plan.network, job, pair);
    let mut all: Vec<String> = pairs.into_iter().map(|p| format!("rank {} to {}: {}", p[0], p[1], way(p))).collect();
    if more {
        all.push("and more pairs of ranks".into());
    }
    all
}
