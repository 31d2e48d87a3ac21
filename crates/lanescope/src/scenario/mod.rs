//! What the user wrote: parts, links, flows, with every value's place in the text.
//!
//! Reading lays several texts over one another (a library device below a part, a platform below the scenario, `--set`
//! above all), then takes each table apart by the declarations in [`keys`]. All errors of all texts are collected.
//! Nothing is resolved yet: that is the plan's work.

pub(crate) mod check;
pub mod edit;
mod fabric;
pub mod gpu;
mod idle;
mod include;
pub mod keys;
mod known;
mod parts;
mod platform;
pub mod quantity;
pub mod schema;
mod sort;
mod stated;
pub mod tree;
mod usual;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, nearest};
pub(crate) use include::Nothing;
pub use include::{Included, Resolver};
pub use keys::{BusKeys, FabricKeys, NodeKeys, PartKeys, StoreKeys};
use keys::{
    BusLink, CoherentLink, EthernetLink, FcLink, Flow, InfinibandLink, Io, Link, Mpi, RunKeys, SasLink, ScsiLink,
    Stream, Transact,
};
pub(crate) use known::Known;
use parts::{AnyKeys, DmaKeys, Joined, groups_between, read_part};
use quantity::{Problem, Shape, unknown};
pub use stated::Stated;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tree::{Node, Set, Table, Value};

/// No scenario has more parts, links or flows than this, all instances counted, those of Ethernet apart.
pub const MAX_THINGS: usize = 10_000;

/// Nor more stations and Ethernet switches, or flows among them.
pub const MOST_NODES: usize = 1 << 18;

/// Nor more Ethernet links: a fat tree has three times as many as stations.
pub const MOST_LINKS: usize = 4 * MOST_NODES;

/// A scenario as written, expanded to instances.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// One line for a report's head.
    pub title: String,
    /// Parts of PCIe; those with `count` once per instance.
    pub parts: Vec<Part>,
    /// Stations and switches of Ethernet, likewise.
    pub nodes: Vec<Part<NodeKeys>>,
    /// Host bridges and devices of shared buses, likewise.
    pub bus_parts: Vec<Part<BusKeys>>,
    /// Host adapters (their DMA engines are among the parts of PCIe too), disks, RAM disks and arrays, likewise.
    pub stores: Vec<Part<StoreKeys>>,
    /// Channel adapters (their DMA engines and stations are among the parts of those sides too) and InfiniBand
    /// switches, likewise.
    pub fabric_parts: Vec<Part<FabricKeys>>,
    /// Links of PCIe, and coherent links between root complexes; not yet expanded.
    pub links: Vec<Named<Link>>,
    /// Ethernet links, not yet expanded.
    pub ethernet_links: Vec<Named<EthernetLink>>,
    /// Shared buses, with their ends as written.
    pub buses: Vec<Named<BusLink>>,
    /// Fibre Channel links, not yet expanded.
    pub fc_links: Vec<Named<FcLink>>,
    /// Links of SAS.
    pub sas_links: Vec<Named<SasLink>>,
    /// InfiniBand links, not yet expanded.
    pub infiniband_links: Vec<Named<InfinibandLink>>,
    /// SCSI buses.
    pub scsi_links: Vec<Named<ScsiLink>>,
    /// Flows of DMA, not yet expanded.
    pub flows: Vec<Named<Flow>>,
    /// Flows of DMA over a shared bus, not yet expanded.
    pub bus_flows: Vec<Named<Flow>>,
    /// Flows of frames, not yet expanded.
    pub streams: Vec<Named<Stream>>,
    /// Flows of I/Os, not yet expanded.
    pub ios: Vec<Named<Io>>,
    /// Flows of transactions between stations.
    pub transactions: Vec<Named<Transact>>,
    /// Flows of ranks.
    pub jobs: Vec<Named<Mpi>>,
    /// The texts of traces, by the name in the load and where it stands.
    pub traces: HashMap<String, Trace>,
    /// How to simulate.
    pub run: RunKeys,
    /// Every key that stands in the text, what was laid over it included.
    pub stated: Vec<Stated>,
}

/// A text of times and destinations that a load names.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The text, for messages.
    pub source: SourceId,
    /// What it says.
    pub text: Arc<str>,
}

/// A thing with its name and place.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// The name in the text.
    pub name: String,
    /// The place of its name.
    pub span: Span,
    /// What it is.
    pub keys: T,
}

/// One instance of a part: of PCIe, or with [`NodeKeys`] of Ethernet.
#[derive(Clone, Debug)]
pub struct Part<K = PartKeys> {
    /// `nic.1`, or `host` when there is no count.
    pub name: String,
    /// The name of its table in the text.
    pub group: String,
    /// The place of its name.
    pub span: Span,
    /// Its kind and values.
    pub keys: K,
}

/// Platforms below one another, at most.
const MOST_PLATFORMS: usize = 8;

const ROOT: [&str; 8] = ["title", "about", "kind", "platform", "parts", "links", "flows", "run"];

/// Reads a scenario text with `sets` (`path=value`) laid over it. `None` when there is any error; all are in
/// `diagnostics`.
pub fn read(
    diagnostics: &mut Diagnostics,
    included: Included,
    sets: &[String],
    resolver: &dyn Resolver,
) -> Option<Scenario> {
    read_with(diagnostics, included, sets, resolver, &mut Known::default())
}

/// The same with what is known of its texts from an earlier time; and what is read now is known afterwards.
pub(crate) fn read_with(
    diagnostics: &mut Diagnostics,
    included: Included,
    sets: &[String],
    resolver: &dyn Resolver,
    known: &mut Known,
) -> Option<Scenario> {
    if included.text.trim().is_empty() {
        diagnostics.push(
            Diagnostic::error(None, format!("{} is empty", included.name))
                .hint("a scenario has parts, links and flows; lanescope new prints one to start from"),
        );
        return None;
    }
    let name = included.name.clone();
    let (source, mut root) = known.own(diagnostics, included)?;
    let whole = Span { source, start: 0, end: 1 };
    if let Some(span) = gpu::said(&root) {
        let what = "this is a GPU cluster: it has collectives, and no flows of its own";
        let hint = format!("lanescope collective all_reduce {name} says what nccl-tests should print on it");
        diagnostics.push(Diagnostic::error(span, what).hint(hint));
        return None;
    }
    let (first, rest): (Vec<_>, Vec<_>) = sets.iter().partition(|s| s.trim_start().starts_with("platform"));
    for set in first {
        let set = tree::parse_set(diagnostics, set)?;
        root.put(&set.keys, set.node);
    }
    let mut shelf = Shelf { resolver, known };
    // A machine may stand on a platform, and a load on the machine.
    let mut above = Vec::new();
    while let Some(platform) = root.take("platform") {
        if above.len() == MOST_PLATFORMS {
            let d = Diagnostic::error(platform.span, format!("more than {MOST_PLATFORMS} platforms below one another"));
            diagnostics.push(d.hint("does one of them use itself? write out its parts and links"));
            return None;
        }
        above.push(root);
        root = shelf.include(diagnostics, &platform, "platform")?;
    }
    for over in above.into_iter().rev() {
        root = platform::lay(root, over);
    }
    for set in rest {
        lay_set(diagnostics, &mut root, set);
    }
    for (key, node) in &root.0 {
        if !ROOT.contains(&key.as_str()) {
            diagnostics.push(unknown(key, node.key, ROOT.into_iter().filter(|k| *k != "kind"), "a scenario"));
        }
    }
    let title =
        text_of(diagnostics, &root, "title").or_else(|| text_of(diagnostics, &root, "about")).unwrap_or_default();
    let sections = ["parts", "links", "flows"].map(|name| section(diagnostics, &root, name));
    let [mut parts, links, flows] = sections;
    let mut links = sort::links(diagnostics, links);
    let mut flows = sort::flows(diagnostics, flows);
    let (buses, pcie_links, ethernet_links) = (links.take("pci"), links.take("pcie"), links.take("ethernet"));
    // What a link joins is known even where something else of it is wrong.
    let joined = |links: &[(String, Table, Span)]| links.iter().flat_map(|(_, t, _)| groups_between(t)).collect();
    let joined = Joined { pci: joined(&buses), pcie: joined(&pcie_links), ethernet: joined(&ethernet_links) };
    let mut stated = Vec::new();
    let all = &mut stated;
    let ethernet_links = read_named(diagnostics, ethernet_links, EthernetLink::read, "ethernet", all);
    fabric::count(diagnostics, &ethernet_links, &mut parts);
    let (mut pcie, mut nodes, mut stores, mut bus_parts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut fabric_parts = Vec::new();
    let buses = read_named(diagnostics, buses, BusLink::read, "pci", all);
    for Part { name, group, span, keys } in read_parts(diagnostics, parts, &mut shelf, &joined, all) {
        match keys {
            AnyKeys::Pcie(keys) => pcie.push(Part { name, group, span, keys }),
            AnyKeys::Ethernet(keys) => nodes.push(Part { name, group, span, keys }),
            AnyKeys::Bus(keys) => bus_parts.push(Part { name, group, span, keys }),
            AnyKeys::Storage(keys) => stores.push(Part { name, group, span, keys }),
            AnyKeys::Fabric(keys) => fabric_parts.push(Part { name, group, span, keys }),
            AnyKeys::Nvme(port, keys) => {
                let (own_name, own_group) = (name.clone(), group.clone());
                stores.push(Part { name: own_name, group: own_group, span, keys: StoreKeys::Nvme(keys) });
                pcie.push(Part { name, group, span, keys: PartKeys::Endpoint(port) });
            }
            AnyKeys::Adapter(..) | AnyKeys::Channel(..) => {
                let (device, station) = match keys {
                    AnyKeys::Adapter(device, keys) => {
                        let (name, group) = (name.clone(), group.clone());
                        stores.push(Part { name, group, span, keys: StoreKeys::Adapter(keys) });
                        (Some(device), None)
                    }
                    AnyKeys::Channel(device, station, keys) => {
                        let (name, group) = (name.clone(), group.clone());
                        fabric_parts.push(Part { name, group, span, keys: FabricKeys::Adapter(keys) });
                        (device, station)
                    }
                    _ => continue,
                };
                if let Some(k) = station {
                    let (name, group) = (name.clone(), group.clone());
                    nodes.push(Part { name, group, span, keys: NodeKeys::Station(k) });
                }
                match device {
                    Some(DmaKeys::Pcie(k)) => pcie.push(Part { name, group, span, keys: PartKeys::Endpoint(k) }),
                    Some(DmaKeys::Bus(k)) => bus_parts.push(Part { name, group, span, keys: BusKeys::Device(k) }),
                    None => {}
                }
            }
        }
    }
    let mut pcie_links = read_named(diagnostics, pcie_links, Link::read, "pcie", all);
    let coherent_links = read_named(diagnostics, links.take("coherent"), CoherentLink::read, "coherent", all);
    let whole_transactions = |l: Named<CoherentLink>| Named { name: l.name, span: l.span, keys: l.keys.link() };
    pcie_links.extend(coherent_links.into_iter().map(whole_transactions));
    // A flow is a bus's where it starts at a part of one.
    let (bus_flows, dma): (Vec<_>, Vec<_>) = flows.take("dma").into_iter().partition(|(_, t, _)| {
        let from = t.get("from").and_then(|n| String::read(n).ok()).unwrap_or_default();
        let group = from.split('.').next().unwrap_or_default();
        // A misspelt name is looked for where there is anything.
        bus_parts.iter().any(|p| p.group == group) || pcie.is_empty() && !bus_parts.is_empty()
    });
    let dma = read_named(diagnostics, dma, Flow::read, "dma", all);
    let bus_flows = read_named(diagnostics, bus_flows, Flow::read, "bus-dma", all);
    let streams = read_named(diagnostics, flows.take("send"), Stream::read, "send", all);
    let fc_links = read_named(diagnostics, links.take("fc"), FcLink::read, "fc", all);
    let sas_links = read_named(diagnostics, links.take("sas"), SasLink::read, "sas", all);
    let scsi_links = read_named(diagnostics, links.take("scsi"), ScsiLink::read, "scsi", all);
    let infiniband_links = read_named(diagnostics, links.take("infiniband"), InfinibandLink::read, "infiniband", all);
    let ios = read_named(diagnostics, flows.take("io"), Io::read, "io", all);
    let transactions = read_named(diagnostics, flows.take("transact"), Transact::read, "transact", all);
    let jobs = read_named(diagnostics, flows.take("mpi"), Mpi::read, "mpi", all);
    let traces = shelf.traces(diagnostics, &streams, &jobs);
    check::parts(diagnostics, &pcie);
    check::nodes(diagnostics, &nodes);
    check::stores(diagnostics, &stores);
    check::ios(diagnostics, &ios);
    let empty = Table::default();
    let run = root.table("run").unwrap_or(&empty);
    stated::note(all, "run", run, |_| Some("run"));
    let run = RunKeys::read(diagnostics, run, whole);
    idle::warn(diagnostics, all);
    let none = [pcie.is_empty(), nodes.is_empty(), stores.is_empty(), bus_parts.is_empty(), fabric_parts.is_empty()];
    let none = none.into_iter().all(|n| n);
    if none && !diagnostics.has_errors() {
        diagnostics.push(
            Diagnostic::error(whole, "this scenario has no parts")
                .hint("lanescope new prints a scenario to start from"),
        );
    }
    (!diagnostics.has_errors()).then_some(())?;
    Some(Scenario {
        title,
        parts: pcie,
        nodes,
        stores,
        bus_parts,
        fabric_parts,
        links: pcie_links,
        ethernet_links,
        fc_links,
        sas_links,
        infiniband_links,
        scsi_links,
        buses,
        flows: dma,
        bus_flows,
        streams,
        ios,
        transactions,
        jobs,
        traces,
        run: run?,
        stated,
    })
}

fn text_of(diagnostics: &mut Diagnostics, root: &Table, key: &str) -> Option<String> {
    let node = root.get(key)?;
    match String::read(node) {
        Ok(s) if s.len() > 1000 || s.chars().any(char::is_control) => {
            let d = Diagnostic::error(node.span, format!("{key} is one line of at most 1000 characters"));
            diagnostics.push(d);
            None
        }
        Ok(s) => Some(s),
        Err(Problem(message, _)) => {
            diagnostics.push(Diagnostic::error(node.span, format!("{key}: {message}")));
            None
        }
    }
}

/// The texts that can be included.
struct Shelf<'a> {
    resolver: &'a dyn Resolver,
    known: &'a mut Known,
}

impl Shelf<'_> {
    /// The table of the text that a node names.
    fn include(&mut self, diagnostics: &mut Diagnostics, node: &Node, key: &str) -> Option<Table> {
        self.known.include(diagnostics, node, key, self.resolver)
    }
}

impl Shelf<'_> {
    /// The texts of the traces that flows name.
    fn traces(
        &self,
        diagnostics: &mut Diagnostics,
        streams: &[Named<Stream>],
        jobs: &[Named<Mpi>],
    ) -> HashMap<String, Trace> {
        let mut traces = HashMap::new();
        let mut known = HashSet::new();
        let of_stream = streams.iter().filter_map(|s| match &s.keys.load.typical {
            keys::StreamLoad::Trace(name) => Some((name, s.keys.load.span.unwrap_or(s.span))),
            _ => None,
        });
        let of_job = jobs.iter().filter_map(|j| j.keys.trace.as_ref().map(|q| (&q.typical, q.span.unwrap_or(j.span))));
        for (name, span) in of_stream.chain(of_job) {
            let from = diagnostics.source(span.source).name.clone();
            let main = diagnostics.source(SourceId(0)).name.clone();
            if !known.insert((name.clone(), from.clone())) {
                continue;
            }
            match self.resolver.trace(name, if from == "--set" { &main } else { &from }) {
                Ok(included) => {
                    let text: Arc<str> = included.text.into();
                    let index = included.name.clone();
                    let source = diagnostics.add_source(included.name, text.to_string());
                    traces.insert(name.clone(), Trace { source, text: text.clone() });
                    // A trace may be an index: a file for each rank.
                    for other in named(&text) {
                        if let Ok(included) = self.resolver.trace(other, &index) {
                            let text: Arc<str> = included.text.into();
                            traces.entry(other.to_owned()).or_insert(Trace { source, text });
                        }
                    }
                }
                Err(why) => {
                    let d = Diagnostic::error(span, format!("trace: {why}"));
                    diagnostics.push(d.hint("a file of SimGrid (time-independent) or of GOAL, beside the scenario"));
                }
            }
        }
        traces
    }
}

/// The files that an index of a trace names, one a line; none where the text is no index.
fn named(text: &str) -> Vec<&str> {
    let lines = || text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let index = lines().take(keys::MOST_TRACES + 1).all(|l| !l.contains(char::is_whitespace) && l.contains('.'));
    if index { lines().take(keys::MOST_TRACES).collect() } else { Vec::new() }
}

/// Lays one `path=value` over the whole; its thing must exist.
fn lay_set(diagnostics: &mut Diagnostics, root: &mut Table, set: &str) {
    let Some(Set { mut keys, node }) = tree::parse_set(diagnostics, set) else { return };
    // A shell eats the quotes of parts."nic.1".tags: a number behind a part's name is an instance.
    if keys.len() > 3 && keys[0] == "parts" && keys[2].bytes().all(|b| b.is_ascii_digit()) {
        let number = keys.remove(2);
        keys[1] = format!("{}.{number}", keys[1]);
    }
    if let [section, name, rest @ ..] = keys.as_slice()
        && ["parts", "links", "flows"].contains(&section.as_str())
    {
        let known: Vec<String> =
            root.table(section).map(|t| t.0.iter().map(|(k, _)| k.clone()).collect()).unwrap_or_default();
        let base = name.rsplit_once('.').map(|(b, _)| b.to_owned());
        let instance = section == "parts" && base.is_some_and(|b| known.contains(&b));
        if !known.contains(name) && !instance {
            let thing = section.trim_end_matches('s');
            let d = Diagnostic::error(node.key, format!("there is no {thing} {name:?} to set"));
            diagnostics.push(match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => d.label(format!("did you mean {section}.{near}?")),
                None => d.hint(format!("{section} are: {}", known.join(", "))),
            });
            return;
        }
        if rest.is_empty() {
            diagnostics.push(
                Diagnostic::error(node.key, "this path ends at a table, not at one of its keys")
                    .hint(format!("for example {section}.{name}.<key>=<value>")),
            );
            return;
        }
    }
    root.put(&keys, node);
}

fn section(diagnostics: &mut Diagnostics, root: &Table, name: &str) -> Vec<(String, Table, Span)> {
    let mut things = Vec::new();
    match root.get(name).map(|n| (&n.value, n.span)) {
        None => {}
        Some((Value::Table(t), _)) => {
            for (key, node) in &t.0 {
                if key.len() > 200 || key.chars().any(char::is_control) {
                    let d = Diagnostic::error(node.key, "this is no name");
                    diagnostics.push(d.hint("a name has at most 200 characters, and no control characters"));
                    continue;
                }
                match &node.value {
                    // Instances are numbered behind a dot; only parts have one of them changed by name.
                    _ if name != "parts" && key.contains('.') => {
                        diagnostics.push(Diagnostic::error(node.key, format!("a name in {name} has no dot")))
                    }
                    Value::Table(table) => things.push((key.clone(), table.clone(), node.key)),
                    _ => diagnostics.push(Diagnostic::error(
                        node.key,
                        format!("[{name}.{key}] is a table of keys, not {}", node.kind()),
                    )),
                }
            }
        }
        Some((_, span)) => {
            diagnostics.push(Diagnostic::error(span, format!("{name} holds tables, [{name}.some-name]")))
        }
    }
    if things.len() > MAX_THINGS {
        diagnostics.push(
            Diagnostic::error(things[MAX_THINGS].2, format!("more than {MAX_THINGS} {name}"))
                .hint("use fewer: no answer needs so many"),
        );
        things.truncate(MAX_THINGS);
    }
    things
}

fn read_named<T>(
    diagnostics: &mut Diagnostics,
    things: Vec<(String, Table, Span)>,
    read: fn(&mut Diagnostics, &Table, Span) -> Option<T>,
    kind: &'static str,
    stated: &mut Vec<Stated>,
) -> Vec<Named<T>> {
    let section = keys::TABLES.iter().find(|t| t.name == kind).map_or("", |t| t.section);
    let read = |(name, table, span): (String, Table, Span)| {
        stated::note(stated, &format!("{section}.{name}"), &table, |_| Some(kind));
        read(diagnostics, &table, span).map(|keys| Named { name, span, keys })
    };
    things.into_iter().filter_map(read).collect()
}

fn read_parts(
    diagnostics: &mut Diagnostics,
    things: Vec<(String, Table, Span)>,
    shelf: &mut Shelf,
    joined: &Joined,
    stated: &mut Vec<Stated>,
) -> Vec<Part<AnyKeys>> {
    // "nic.1" changes one instance of "nic".
    let (overrides, groups): (Vec<_>, Vec<_>) = things.into_iter().partition(|(name, ..)| name.contains('.'));
    let mut parts = Vec::new();
    let mut used = vec![false; overrides.len()];
    let own: HashMap<String, usize> = overrides.iter().enumerate().map(|(i, (name, ..))| (name.clone(), i)).collect();
    // Stations and Ethernet switches, and the rest.
    let mut made = [0, 0];
    for (group, table, span) in groups {
        let Some(table) = with_device(diagnostics, table, shelf) else { continue };
        let is = table.get("is").and_then(|n| String::read(n).ok()).unwrap_or_default();
        stated::note(stated, &format!("parts.{group}"), &table, |k| stated::of_part(&group, &is, joined, k));
        let of_ethernet = ["station", "ethernet-switch"].contains(&is.as_str());
        let (made, most) = (&mut made[usize::from(of_ethernet)], if of_ethernet { MOST_NODES } else { MAX_THINGS });
        let count = match table.get("count") {
            None => None,
            Some(node) => match u32::read(node) {
                Ok(0) => {
                    diagnostics.push(
                        Diagnostic::error(node.span, "count = 0 makes no part").hint("leave the part out instead"),
                    );
                    continue;
                }
                Ok(n) if n as usize + *made > most => {
                    let what = if of_ethernet { "stations and Ethernet switches" } else { "parts" };
                    diagnostics.push(
                        Diagnostic::error(node.span, format!("more than {most} {what}"))
                            .hint("use fewer: no answer needs so many"),
                    );
                    continue;
                }
                Ok(n) => Some(n),
                Err(Problem(message, hint)) => {
                    diagnostics.push(Diagnostic::error(node.span, format!("count: {message}")).hint(hint));
                    continue;
                }
            },
        };
        let names = match count {
            None => vec![group.clone()],
            Some(n) => (0..n).map(|i| format!("{group}.{i}")).collect(),
        };
        *made += names.len();
        let plain = read_part(diagnostics, &table, span, &group, joined);
        for name in names {
            let own = own.get(&name).copied().filter(|_| count.is_some());
            let keys = match own {
                None => plain.clone(),
                Some(i) => {
                    used[i] = true;
                    let kind = |k: &str| stated::of_part(&group, &is, joined, k);
                    stated::note(stated, &format!("parts.{name}"), &overrides[i].1, kind);
                    let mut mine = table.clone();
                    mine.overlay(overrides[i].1.clone(), 0);
                    read_part(diagnostics, &mine, overrides[i].2, &group, joined)
                }
            };
            if let Some(keys) = keys {
                parts.push(Part { name, group: group.clone(), span, keys });
            }
        }
    }
    for ((name, _, span), used) in overrides.iter().zip(used) {
        if !used && !diagnostics.has_errors() {
            let (base, _) = name.rsplit_once('.').unwrap_or((name, ""));
            diagnostics.push(Diagnostic::error(*span, format!("{name:?} is not an instance of a part")).hint(format!(
                "a name with a dot changes one of several: [parts.{base}] needs a count above its number"
            )));
        }
    }
    parts
}

/// The part's table with its library device below it.
fn with_device(diagnostics: &mut Diagnostics, mut table: Table, shelf: &mut Shelf) -> Option<Table> {
    let Some(node) = table.take("use") else { return Some(table) };
    let mut base = shelf.include(diagnostics, &node, "use")?;
    if let Some(inner) = base.take("use") {
        diagnostics
            .push(Diagnostic::error(inner.key, "a device cannot use another device").hint("write out its values"));
        return None;
    }
    base.overlay(table, 0);
    Some(base)
}
