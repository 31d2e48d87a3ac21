//! From a scenario's stations, switches, Ethernet links and flows of frames to a network.

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::core::address::{self, Directory};
use crate::plan::ethernet::routes::{Levels, MOST_SWITCHES, Routes, Wired};
use crate::plan::ethernet::{EthernetLink, Network, Node, NodeId, Stream, buffers, packets, streams};
use crate::protocol::ethernet::{self, LineRate, MOST_DATA};
use crate::scenario::keys::{self, Buffers, FlowControl, Priority, StreamLoad};
use crate::scenario::quantity::{Confidence, Origin, Quantity};
use crate::scenario::{MOST_LINKS, MOST_NODES, Named, NodeKeys, Scenario};
use crate::units::{Bytes, Length, Time, digits};
use std::collections::{HashMap, HashSet};

/// Switches times links between them at most, where ways are searched for from each switch.
const MOST_STEPS: usize = 1 << 27;

/// A node and the port asked for; without a number, the next free one.
type Plug = (NodeId, Option<u32>);

/// A link before its ports are numbered.
struct Wire<'a> {
    name: String,
    from: &'a Named<keys::EthernetLink>,
    ends: [Plug; 2],
    /// Whether it joins switches by a rule, and may have a rate of its own.
    upper: bool,
}

/// What others than streams put on an Ethernet: MAC client data of their largest frames, and their priorities.
pub(in crate::plan) type Demand = (u64, Vec<u8>);

/// Resolves and checks the Ethernet of a scenario; problems go to `diagnostics`. `others` says, once stations and wires
/// are known and before memories are divided, what programs and transactions will put on it.
pub(in crate::plan) fn build(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    others: impl Fn(&Network) -> Demand,
) -> Network {
    if scenario.nodes.is_empty() && scenario.ethernet_links.is_empty() && scenario.streams.is_empty() {
        return Network::default();
    }
    let directory = Directory::new(&scenario.nodes);
    let (mut wires, mut rules) = (Vec::new(), Vec::new());
    for link in &scenario.ethernet_links {
        rules.extend(wire(diagnostics, &directory, link, &mut wires));
        if wires.len() > MOST_LINKS {
            diagnostics.push(
                Diagnostic::error(link.span, format!("more than {MOST_LINKS} Ethernet links"))
                    .hint("use fewer: no answer needs so many"),
            );
            return Network::default();
        }
    }
    let mut nodes: Vec<Node> = scenario
        .nodes
        .iter()
        .map(|p| Node { name: p.name.clone(), group: p.group.clone(), keys: p.keys.clone(), ports: Vec::new() })
        .collect();
    let links = plug(diagnostics, &mut nodes, &wires);
    // What could not be plugged is not also wired to nothing.
    if diagnostics.has_errors() {
        return Network { nodes, links, ..Network::default() };
    }
    for (node, part) in nodes.iter().zip(&scenario.nodes) {
        if node.ports.is_empty() {
            let d = Diagnostic::error(part.span, format!("{} is not connected to anything", node.name));
            diagnostics.push(d.hint(format!("add a link: between = [\"…\", \"{}\"]", node.name)));
        }
    }
    let mut network = Network { nodes, links, ..Network::default() };
    let model = network.switches().next().map(|s| s.0);
    network.model = model;
    alike(diagnostics, &network);
    packets::dcqcn(diagnostics, &network);
    times(diagnostics, &network);
    if diagnostics.has_errors() {
        return network;
    }
    let wired: Vec<Wired> = (network.nodes.iter())
        .map(|n| Wired { switch: matches!(n.keys, NodeKeys::Switch(_)), ports: &n.ports })
        .collect();
    let ends: Vec<[NodeId; 2]> = network.links.iter().map(|l| l.ends).collect();
    let switch = |node: NodeId| wired[node.0 as usize].switch;
    let between: Vec<&Wire> = wires.iter().filter(|w| w.ends.iter().all(|e| switch(e.0))).collect();
    let switches = wired.iter().filter(|w| w.switch).count();
    let by_rule = match rules.as_slice() {
        [levels] if between.iter().all(|w| w.upper) => Routes::of_levels(&wired, &ends, levels),
        _ => None,
    };
    let few = switches <= MOST_SWITCHES && switches * between.len() <= MOST_STEPS;
    let Some(routes) = by_rule.or_else(|| few.then(|| Routes::new(&wired, &ends)).flatten()) else {
        let what = format!("{switches} Ethernet switches with {} links, which no single rule wires", between.len());
        let hint = format!(
            "at most {MOST_SWITCHES} switches, and {MOST_STEPS} as switches times links; one leaf_spine or one \
             fat_tree with stations on its leaves may have more"
        );
        diagnostics.push(Diagnostic::error(None, what).hint(hint));
        return network;
    };
    network.routes = routes;
    let mut lists = streams::Lists::default();
    for stream in &scenario.streams {
        streams::expand(diagnostics, &directory, scenario, &mut network, &mut lists, stream);
        if network.streams.len() > MOST_NODES {
            diagnostics.push(
                Diagnostic::error(stream.span, format!("more than {MOST_NODES} flows"))
                    .hint("use fewer: no answer needs so many"),
            );
            return network;
        }
    }
    if diagnostics.has_errors() {
        return network;
    }
    let mut classes: Vec<u8> = network
        .streams
        .iter()
        .flat_map(|s| match s.priority.typical {
            Priority::Fixed(p) => vec![p],
            Priority::Destination => (0..s.targets.len()).map(|t| s.targets.place(t) as u8).collect(),
        })
        .collect();
    let (data, priorities) = others(&network);
    classes.extend(priorities);
    classes.sort_unstable();
    classes.dedup();
    network.classes = classes;
    let most = network.streams.iter().map(|s| network.largest_frame(s)).max().unwrap_or(0);
    network.longest = most.max(ethernet::frame(data));
    network.buffer();
    sizes(diagnostics, &network);
    if !diagnostics.has_errors() {
        buffers::check(diagnostics, &network);
    }
    network
}

/// Expands one table of links. Gives the levels of the switches that it joins by a rule.
fn wire<'a>(
    diagnostics: &mut Diagnostics,
    directory: &Directory<NodeKeys>,
    link: &'a Named<keys::EthernetLink>,
    wires: &mut Vec<Wire<'a>>,
) -> Option<Levels> {
    let k = &link.keys;
    let mut pairs: Vec<([Plug; 2], bool)> = Vec::new();
    let mut one = |a: NodeId, b: NodeId, upper| pairs.push(([(a, None), (b, None)], upper));
    let table = |diagnostics: &mut Diagnostics, name: &str, span: Option<Span>| -> Option<Vec<NodeId>> {
        let all = directory.find(diagnostics, &format!("{name}.*"), span.unwrap_or(link.span))?;
        Some(all.parts.into_iter().map(|p| NodeId(p.0)).collect())
    };
    let mut levels = None;
    let done = if let Some(Quantity { typical: r, span, .. }) = &k.star {
        (|| {
            let (switch, hosts) = (table(diagnostics, &r.switch, *span)?, table(diagnostics, &r.host, *span)?);
            hosts.iter().for_each(|h| one(switch[0], *h, false));
            Some(())
        })()
    } else if let Some(Quantity { typical: r, span, .. }) = &k.leaf_spine {
        (|| {
            let leaves = table(diagnostics, &r.leaf, *span)?;
            let spines = table(diagnostics, &r.spine, *span)?;
            let hosts = table(diagnostics, &r.host, *span)?;
            for (i, h) in hosts.iter().enumerate() {
                one(leaves[i / r.hosts as usize], *h, false);
            }
            for leaf in &leaves {
                spines.iter().for_each(|s| one(*s, *leaf, true));
            }
            levels = Some(vec![leaves, spines]);
            Some(())
        })()
    } else if let Some(Quantity { typical: r, span, .. }) = &k.fat_tree {
        (|| {
            let (switches, hosts) = (table(diagnostics, &r.switch, *span)?, table(diagnostics, &r.host, *span)?);
            let half = r.k as usize / 2;
            let [edges, aggregations, _] = r.sizes().1.map(|n| n as usize);
            for (i, h) in hosts.iter().enumerate() {
                one(switches[i / half], *h, false);
            }
            for edge in 0..edges {
                for a in 0..half {
                    one(switches[edges + edge / half * half + a], switches[edge], true);
                }
            }
            for aggregation in 0..aggregations {
                // Aggregation switch a of a pod joins the cores a·k/2 to a·k/2 + k/2 - 1.
                for c in 0..half {
                    let core = edges + aggregations + aggregation % half * half + c;
                    one(switches[core], switches[edges + aggregation], true);
                }
            }
            let (edge, above) = switches.split_at(edges);
            let (aggregation, core) = above.split_at(aggregations);
            levels = Some([edge, aggregation, core].map(<[NodeId]>::to_vec).to_vec());
            Some(())
        })()
    } else {
        between(diagnostics, directory, link).map(|all| pairs.extend(all.into_iter().map(|ends| (ends, false))))
    };
    done?;
    let rule = k.between.is_none();
    let many =
        pairs.len() > 1 || rule || k.between.as_ref().is_some_and(|b| b.typical.0.iter().any(|n| n.text.contains('*')));
    for (i, (ends, upper)) in pairs.into_iter().enumerate() {
        let name = if many { format!("{}.{i}", link.name) } else { link.name.clone() };
        wires.push(Wire { name, from: link, ends, upper });
    }
    levels
}

/// Expands `between` pairwise; a switch holds as many links as the other side asks for.
fn between(
    diagnostics: &mut Diagnostics,
    directory: &Directory<NodeKeys>,
    link: &Named<keys::EthernetLink>,
) -> Option<Vec<[Plug; 2]>> {
    let names = link.keys.between.as_ref()?;
    let [a, b] = names.typical.0.as_slice() else {
        let what = format!("a link has two ends, not {}", names.typical.0.len());
        diagnostics.push(Diagnostic::error(names.span, what).hint("between = [\"a\", \"b\"]"));
        return None;
    };
    let mut side = |name: &crate::scenario::quantity::Name| {
        let address = directory.find(diagnostics, &name.text, name.span)?;
        let mut ends = Vec::new();
        for id in address.parts {
            let (part, id) = (directory.part(id), NodeId(id.0));
            let port = match (&part.keys, address.rest.as_str()) {
                (NodeKeys::Station(_), "") | (NodeKeys::Switch(_), "" | "port.*" | "*") => None,
                (NodeKeys::Switch(_), rest) if rest.strip_prefix("port.").is_some_and(|n| n.parse::<u32>().is_ok()) => {
                    rest.strip_prefix("port.").and_then(|n| n.parse().ok())
                }
                (NodeKeys::Station(_), rest) => {
                    let what = format!("{} has a single port, without a name, and no {rest:?}", part.name);
                    diagnostics.push(Diagnostic::error(name.span, what));
                    return None;
                }
                (NodeKeys::Switch(_), rest) => {
                    let d = Diagnostic::error(name.span, format!("{} has no port {rest:?}", part.name));
                    diagnostics.push(d.hint(format!("write {0} for the next free one, or {0}.port.3", part.name)));
                    return None;
                }
            };
            let open = matches!(part.keys, NodeKeys::Switch(_)) && port.is_none();
            ends.push((id, port, open));
        }
        Some(ends)
    };
    let (a_side, b_side) = (side(a), side(b));
    let (a_side, b_side) = (a_side?, b_side?);
    let open = |side: &[(NodeId, Option<u32>, bool)]| side.iter().all(|e| e.2);
    let sides = [(a.text.as_str(), a_side.len(), open(&a_side)), (b.text.as_str(), b_side.len(), open(&b_side))];
    let n = address::pairs(diagnostics, names.span, sides)?;
    let pick = |side: &[(NodeId, Option<u32>, bool)], i: usize| {
        let e = side[i * side.len() / n];
        (e.0, e.1)
    };
    Some((0..n).map(|i| [pick(&a_side, i), pick(&b_side, i)]).collect())
}

/// Gives every link its ports, those asked for by number first.
fn plug(diagnostics: &mut Diagnostics, nodes: &mut [Node], wires: &[Wire]) -> Vec<EthernetLink> {
    let mut taken: HashMap<(NodeId, u32), usize> = HashMap::new();
    let mut ports = vec![[0u32; 2]; wires.len()];
    let mut next = vec![0u32; nodes.len()];
    for fixed in [true, false] {
        for (i, w) in wires.iter().enumerate() {
            let span = w.from.keys.between.as_ref().and_then(|b| b.span).unwrap_or(w.from.span);
            for (end, &(id, wanted)) in w.ends.iter().enumerate() {
                let node = &nodes[id.0 as usize];
                let port = match wanted {
                    Some(n) if fixed => n,
                    None if !fixed => {
                        let n = &mut next[id.0 as usize];
                        while taken.contains_key(&(id, *n)) {
                            *n += 1;
                        }
                        *n
                    }
                    _ => continue,
                };
                let limit = match &node.keys {
                    NodeKeys::Station(_) => 1,
                    NodeKeys::Switch(k) => k.ports.typical,
                };
                if port >= limit {
                    let what = match &node.keys {
                        NodeKeys::Station(_) => format!("{} is already plugged into another link", node.name),
                        NodeKeys::Switch(_) => format!("{} has no port {port}: it has {limit}", node.name),
                    };
                    let mut d = Diagnostic::error(span, what);
                    if let NodeKeys::Switch(_) = &node.keys {
                        d = d.hint(format!("write ports = … in [parts.{}] for more", node.group));
                    }
                    diagnostics.push(d);
                    return Vec::new();
                }
                if let Some(other) = taken.insert((id, port), i) {
                    let what = format!("{}.port.{port} is already plugged into links.{}", node.name, wires[other].name);
                    diagnostics.push(Diagnostic::error(span, what));
                    return Vec::new();
                }
                ports[i][end] = port;
            }
            if !fixed && w.ends[0].0 == w.ends[1].0 {
                let what = format!("links.{}: both ends are {}", w.name, nodes[w.ends[0].0.0 as usize].name);
                diagnostics.push(Diagnostic::error(span, what));
                return Vec::new();
            }
        }
    }
    let mut links = Vec::new();
    for (i, w) in wires.iter().enumerate() {
        for end in 0..2 {
            nodes[w.ends[end].0.0 as usize].ports.push((i as u32, end as u8));
        }
        links.push(resolve(diagnostics, w, ports[i]));
    }
    for (id, node) in nodes.iter_mut().enumerate() {
        let number = |&(link, end): &(u32, u8)| ports[link as usize][end as usize];
        node.ports.sort_by_key(number);
        debug_assert!(node.ports.iter().all(|p| wires[p.0 as usize].ends[p.1 as usize].0.0 as usize == id));
    }
    links
}

fn resolve(diagnostics: &mut Diagnostics, wire: &Wire, ports: [u32; 2]) -> EthernetLink {
    let k = &wire.from.keys;
    let rate: Quantity<LineRate> = match &k.uplink {
        Some(up) if wire.upper => up.clone(),
        _ => k.ethernet.clone(),
    };
    let delay = match (&k.delay, &k.length) {
        (Some(delay), None) => delay.clone(),
        (None, Some(l)) => Quantity {
            slow: ethernet::flight(l.slow),
            typical: ethernet::flight(l.typical),
            fast: ethernet::flight(l.fast),
            ..l.with(Time::ZERO)
        },
        (None, None) => {
            let five = Length::parse("5 m").map_or(Time::ZERO, ethernet::flight);
            Quantity::derived(five, Origin::Assumed, Confidence::Guess, "5 m of cable at 5 ns/m")
        }
        (Some(delay), Some(_)) => {
            let d = Diagnostic::error(delay.span, format!("links.{}: both a delay and a length", wire.from.name));
            diagnostics.push(d.hint("keep one of them; a metre is 5 ns"));
            delay.clone()
        }
    };
    if k.mtu.typical.0 < 46 || k.mtu.typical.0 > MOST_DATA {
        let what =
            format!("links.{}: an MTU is 46 to {MOST_DATA} B of client data, not {}", wire.from.name, k.mtu.typical);
        diagnostics.push(Diagnostic::error(k.mtu.span, what).hint("1500 B, or 9000 B of jumbo frames"));
    }
    EthernetLink {
        name: wire.name.clone(),
        group: wire.from.name.clone(),
        ends: wire.ends.map(|e| e.0),
        ports,
        rate,
        delay,
        mtu: k.mtu.clone(),
    }
}

/// Switches of one network work alike where stations must know how.
fn alike(diagnostics: &mut Diagnostics, network: &Network) {
    let mut switches = network.switches();
    let Some((_, first, model)) = switches.next() else { return };
    for (_, node, k) in switches {
        let all = [
            ("flow_control", k.flow_control.span, k.flow_control.typical == model.flow_control.typical),
            (
                "congestion_control",
                k.congestion_control.span.or(model.congestion_control.span),
                k.congestion_control.typical == model.congestion_control.typical,
            ),
            ("ecmp", k.ecmp.span.or(model.ecmp.span), k.ecmp.typical == model.ecmp.typical),
            (
                "flowlet_gap",
                k.flowlet_gap.span.or(model.flowlet_gap.span),
                k.flowlet_gap.typical == model.flowlet_gap.typical,
            ),
            (
                "lossless",
                k.lossless.as_ref().or(model.lossless.as_ref()).and_then(|q| q.span),
                k.lossless.as_ref().map(|q| q.typical) == model.lossless.as_ref().map(|q| q.typical),
            ),
            ("ecmp_seed", k.ecmp_seed.span.or(model.ecmp_seed.span), k.ecmp_seed.typical == model.ecmp_seed.typical),
        ];
        for (key, span, same) in all {
            if !same {
                let d = Diagnostic::error(span, format!("{} and {} differ in {key}", first.name, node.name));
                diagnostics.push(d.hint("stations must know which it is, so all switches need the same value"));
                return;
            }
        }
    }
    if model.flow_control.typical == FlowControl::Voq && network.switches().count() > 1 {
        let d = Diagnostic::error(
            model.flow_control.span,
            "flow_control \"voq\" works with one switch only: it notifies all stations itself",
        );
        diagnostics.push(d.hint("for fabrics with several there are pause, pfc and credits"));
    }
}

/// Femtoseconds of what takes longer than any network: sums of a few of these, and of a run's length, stay far from the
/// end of the clock.
const LONGEST_TIME: u64 = 1_000_000_000_000_000;

/// Times against [`LONGEST_TIME`].
fn times(diagnostics: &mut Diagnostics, network: &Network) {
    let mut told = HashSet::new();
    let mut check = |table: &str, group: &str, name: &str, q: &Quantity<Time>| {
        let longest = q.slow.max(q.typical).max(q.fast);
        if longest.fs() <= LONGEST_TIME {
            return;
        }
        let article = if name.starts_with('a') { "an" } else { "a" };
        let what = format!("{table}.{group}: {article} {name}");
        if told.insert(what.clone()) {
            let d = Diagnostic::error(q.span, format!("{what} of {longest} is too long"));
            diagnostics.push(d.hint("at most 1 s; a signal takes 5 us for a kilometre of cable"));
        }
    };
    for link in &network.links {
        check("links", &link.group, "delay", &link.delay);
    }
    for node in &network.nodes {
        match &node.keys {
            NodeKeys::Switch(k) => {
                check("parts", &node.group, "latency", &k.latency);
                check("parts", &node.group, "flowlet_gap", &k.flowlet_gap);
            }
            NodeKeys::Station(k) => {
                check("parts", &node.group, "pause_response", &k.pause_response);
                check("parts", &node.group, "cnp_interval", &k.cnp_interval);
                check("parts", &node.group, "alpha_timer", &k.alpha_timer);
                check("parts", &node.group, "rate_timer", &k.rate_timer);
                check("parts", &node.group, "retransmission_timeout", &k.retransmission_timeout);
            }
        }
    }
}

/// More than any switch has: the time to send it over the slowest link stays far from the end of the clock.
const MOST_MEMORY: Bytes = Bytes(8 << 30);

/// Messages larger than their station's queue, which are dropped whole: a mistake where that is all of a flow's, and a
/// warning where it is some. What a saturating source sends never waits there.
fn unqueued(network: &Network, s: &Stream) -> Option<Diagnostic> {
    let queue = network.station(s.source)?.queue.as_ref().filter(|_| s.load.typical != StreamLoad::Saturate)?;
    if s.largest() <= queue.typical.0 {
        return None;
    }
    let sizes = s.typical_sizes();
    let larger = sizes.iter().filter(|bytes| **bytes > queue.typical.0).count();
    let name = format!("{}: a queue of {}", network.node(s.source).name, queue.typical);
    let hint = "what does not fit into the queue whole is dropped: make it as large as the largest message, or leave \
                it out";
    if larger == sizes.len() {
        let smallest = Bytes(sizes.into_iter().min().unwrap_or(0));
        let what = match smallest == s.size.typical {
            true => format!("{name} holds no message of flow {} ({smallest})", s.group),
            false => format!("{name} holds no message of flow {} (the smallest is {smallest})", s.group),
        };
        return Some(Diagnostic::error(queue.span, what).hint(hint));
    }
    let part = digits(100.0 * larger as f64 / sizes.len() as f64);
    let what = format!("{name} is smaller than {part} % of the messages of flow {}", s.group);
    (larger > 0).then(|| Diagnostic::warning(queue.span, what).hint(hint))
}

/// Frames against buffers and MTUs.
fn sizes(diagnostics: &mut Diagnostics, network: &Network) {
    let mtu = |link: usize| network.links[link].mtu.typical;
    let own = |node: NodeId| network.out(node, 0) as usize / 2;
    let between = |link: &usize| network.links[*link].ends.iter().all(|end| network.station(*end).is_none());
    let between = (0..network.links.len()).filter(between).min_by_key(|link| mtu(*link));
    // Those with the two narrowest links of the stations that a table sends to: one of them may be a source.
    let narrowest = |all: &[NodeId]| {
        let mut two = [all[0]; 2];
        for t in &all[1..] {
            if two[0] == two[1] || mtu(own(*t)) < mtu(own(two[1])) {
                two[1] = *t;
            }
            if mtu(own(two[1])) < mtu(own(two[0])) {
                two.swap(0, 1);
            }
        }
        two
    };
    let mut narrow: HashMap<*const NodeId, [NodeId; 2]> = HashMap::new();
    let (mut last, mut said) = ("", "");
    for s in &network.streams {
        if s.group == last {
            continue;
        }
        if let Some(d) = Some(s).filter(|s| s.group != said).and_then(|s| unqueued(network, s)) {
            diagnostics.push(d);
            said = &s.group;
        }
        let payload = network.payload(s);
        let frame = network.largest_frame(s);
        let mut wrong = |span: Option<Span>, what: String, hint: &str| {
            diagnostics.push(Diagnostic::error(span.or(s.size.span), what).hint(hint));
            last = &s.group;
        };
        if let Some(k) = network.station(s.source) {
            for (name, q) in [("nic_buffer", &k.nic_buffer), ("mac_buffer", &k.mac_buffer)] {
                if q.typical.0 < frame {
                    let what = format!(
                        "{}: a {name} of {} is smaller than one frame of flow {} ({frame} B)",
                        network.node(s.source).name,
                        q.typical,
                        s.group
                    );
                    wrong(q.span, what, "a frame must fit whole");
                }
            }
        }
        let data = payload + s.headers(payload, true);
        // Any link between switches may be on its way; of others those of its ends.
        let narrow = match s.targets.len() {
            1 => &[s.targets.get(0); 2],
            _ => &*narrow.entry(s.targets.list().as_ptr()).or_insert_with(|| narrowest(s.targets.list())),
        };
        let of_ends = narrow.iter().filter(|t| s.targets.find(**t).is_some()).map(|t| own(*t));
        let on_its_way = of_ends.chain([own(s.source)]).chain(between).min_by_key(|link| mtu(*link));
        if let Some(link) = on_its_way.map(|l| &network.links[l]).filter(|l| l.mtu.typical.0 < data) {
            let what =
                format!("links.{} carries at most {}, flow {} sends {data} B", link.name, link.mtu.typical, s.group);
            wrong(link.mtu.span, what, "Ethernet does not fragment frames: give all links the same MTU");
        }
    }
    let longest = network.longest_frame();
    let mut last = "";
    for (id, node, k) in network.switches() {
        if node.group == last {
            continue;
        }
        if k.memory.typical.0 < longest {
            let what =
                format!("{}: a memory of {} is smaller than one frame ({longest} B)", node.name, k.memory.typical);
            diagnostics.push(Diagnostic::error(k.memory.span, what).hint("every frame is stored whole"));
            last = &node.group;
        }
        if k.memory.typical > MOST_MEMORY {
            let what = format!("{}: a memory of {} is more than {MOST_MEMORY}", node.name, k.memory.typical);
            diagnostics.push(Diagnostic::error(k.memory.span, what).hint("switches have some megabytes"));
            last = &node.group;
        }
        if k.buffers.typical == Buffers::Input && network.classes.len() > 1 {
            let what = format!("{}: a single input FIFO has no priorities", node.name);
            diagnostics.push(
                Diagnostic::error(k.buffers.span, what)
                    .hint("give all flows one priority, or set buffers = \"shared\""),
            );
            last = &node.group;
        }
        let Some(b) = &network.buffering[id.0 as usize] else { continue };
        if b.account.is_some_and(|a| a < longest) {
            let what = format!("{}: high_threshold and headroom together hold no frame of {longest} B", node.name);
            diagnostics.push(Diagnostic::error(k.headroom.as_ref().and_then(|q| q.span), what));
            last = &node.group;
        }
    }
}
