//! A host as infragraph's JSON (Keysight, schema 2.4.0: an Infrastructure with one device, of which there is one).
//!
//! Components of one kind are numbered from 0 in the order of the report, so `xpu[3]` is `gpu3`. A link is a kind of
//! link there: each speed that is believed is one, with GB/s after coding, and an edge joins two components. A link
//! whose speed no dump says has no bandwidth. The schema has no place for ranges, nor for shared buses.

use super::belief::shown;
use super::endpoints::Endpoint;
use super::{Corner, Topology};
use crate::import::host::{Host, Kind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A component by the name of its kind and its number.
type Component = (&'static str, usize);

/// What infragraph calls a kind of device.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Gpu => "xpu",
        Kind::Nic => "nic",
        Kind::Drive => "drive",
        _ => "storage",
    }
}

/// A name of the schema: letters, digits, spaces and `-_()><[]`.
fn name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || " -_()".contains(c) { c } else { '-' }).collect()
}

struct Graph<'a> {
    topology: &'a Topology<'a>,
    /// Descriptions of components, by kind.
    components: BTreeMap<&'static str, Vec<String>>,
    /// Edges: both ends, and the kind of link between them.
    edges: Vec<(Component, Component, String)>,
    links: BTreeMap<String, Value>,
    switches: BTreeMap<usize, Component>,
    processors: BTreeMap<Option<u32>, Component>,
}

/// Writes the file.
pub fn emit(host: &Host) -> String {
    let topology = Topology::of(host);
    let mut graph = Graph {
        topology: &topology,
        components: BTreeMap::new(),
        edges: Vec::new(),
        links: BTreeMap::new(),
        switches: BTreeMap::new(),
        processors: BTreeMap::new(),
    };
    for endpoint in topology.devices.iter().filter(|e| e.kind < Kind::Bridge && e.bus.is_none()) {
        graph.device(endpoint);
    }
    graph.sockets();
    let file = graph.file(host);
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

impl Graph<'_> {
    fn component(&mut self, kind: &'static str, description: String) -> Component {
        let all = self.components.entry(kind).or_default();
        all.push(description);
        (kind, all.len() - 1)
    }

    fn processor(&mut self, node: Option<u32>) -> Component {
        if let Some(known) = self.processors.get(&node) {
            return *known;
        }
        let text = node.map_or_else(|| "the host's processors".to_owned(), |n| format!("processors of NUMA node {n}"));
        let made = self.component("cpu", text);
        self.processors.insert(node, made);
        made
    }

    fn device(&mut self, endpoint: &Endpoint) {
        let called = self.topology.host.functions.get(&endpoint.address).map_or_else(String::new, |f| f.called());
        let mut below = self.component(word(endpoint.kind), format!("{} {} {called}", endpoint.id, endpoint.address));
        for (n, link) in endpoint.links.iter().enumerate() {
            let above = endpoint.links.get(n + 1).copied();
            let known = above.and_then(|a| self.switches.get(&a).copied());
            let end = match (above, known) {
                (_, Some(switch)) => switch,
                (Some(above), None) => {
                    let lower = self.topology.tree.links[above].lower;
                    let made = self.component("pciesw", format!("PCI Express switch at {lower}"));
                    self.switches.insert(above, made);
                    made
                }
                (None, None) => self.processor(endpoint.node),
            };
            let kind = self.link(*link);
            self.edges.push((end, below, kind));
            if known.is_some() {
                return;
            }
            below = end;
        }
    }

    /// The kind of a link: what it is believed to run at.
    fn link(&mut self, link: usize) -> String {
        let (key, value) = match self.topology.speed(link, Corner::Typical) {
            Some(speed) => {
                let key = name(&format!("pcie {}", shown(speed).replace("GT/s ", "").replace('.', "-")));
                let rate = (speed.coded().bytes() / 1e9 * 1e3).round() / 1e3;
                let bandwidth = json!({ "choice": "gigabytes_per_second", "gigabytes_per_second": rate });
                let description = format!("PCI Express, {}, one way after coding", shown(speed));
                let physical = json!({ "bandwidth": bandwidth });
                (key.clone(), json!({ "name": key, "description": description, "physical": physical }))
            }
            None => {
                let key = "pcie not known".to_owned();
                (key.clone(), json!({ "name": key, "description": "PCI Express of a speed that no dump says" }))
            }
        };
        self.links.insert(key.clone(), value);
        key
    }

    /// Nodes of a host reach one another, over links that no dump states.
    fn sockets(&mut self) {
        let all: Vec<Component> = self.processors.values().copied().collect();
        if all.len() < 2 {
            return;
        }
        let key = "between nodes".to_owned();
        let description = "the link between NUMA nodes, of a rate that no dump says";
        self.links.insert(key.clone(), json!({ "name": key, "description": description }));
        for pair in all.windows(2) {
            self.edges.push((pair[0], pair[1], key.clone()));
        }
    }

    fn file(self, host: &Host) -> Value {
        let called = name(&host.name.as_ref().map_or_else(|| "host".to_owned(), |n| n.value.clone()));
        let component = |(kind, all): (&&'static str, &Vec<String>)| {
            let choice = match *kind {
                "cpu" | "xpu" | "nic" => *kind,
                "pciesw" => "switch",
                _ => "custom",
            };
            let mut map = Map::new();
            map.insert("name".into(), json!(kind));
            map.insert("description".into(), json!(all.join("; ")));
            map.insert("count".into(), json!(all.len()));
            map.insert("choice".into(), json!(choice));
            let own = if choice == "custom" { json!({ "type": kind }) } else { json!({}) };
            map.insert(choice.into(), own);
            Value::Object(map)
        };
        let end = |c: &Component| json!({ "component": format!("{}[{}]", c.0, c.1) });
        let edge = |(a, b, link): &(Component, Component, String)| {
            let (ep1, ep2) = (end(a), end(b));
            json!({ "ep1": ep1, "ep2": ep2, "scheme": "one2one", "link": link })
        };
        let dumps: Vec<&str> = host.dumps.iter().map(|d| d.name.as_str()).collect();
        let device = json!({
            "name": "machine",
            "description": "PCI Express as lanescope explain believes it to run under load",
            "components": self.components.iter().map(component).collect::<Vec<_>>(),
            "links": self.links.values().collect::<Vec<_>>(),
            "edges": self.edges.iter().map(edge).collect::<Vec<_>>(),
        });
        json!({
            "name": called,
            "description": format!("out of {}", dumps.join(", ")),
            "devices": [device],
            "links": [],
            "instances": [{ "name": called, "device": "machine", "count": 1 }],
            "edges": [],
        })
    }
}
