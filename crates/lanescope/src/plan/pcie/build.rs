//! The tree of PCIe: wire the ports, find the routes, fill what depends on neighbours.

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::core::address::{self, Directory, Wanted};
use crate::plan::pcie::check;
use crate::plan::pcie::route::{Bound, DEPTH, Map};
use crate::plan::{Acs, End, Flow, Link, LinkId, Part, PartId, Place, Port, Program};
use crate::protocol::pcie::{self, Class, PayloadSize};
use crate::scenario::keys::{self, Load, PeerToPeer, Peers};
use crate::scenario::quantity::{Confidence, Every, Names, Origin, Quantity};
use crate::scenario::{MAX_THINGS, Named, PartKeys, Scenario};
use std::collections::{HashMap, HashSet};

/// The PCIe side of a plan, while the others are built.
pub(in crate::plan) struct Tree {
    pub(in crate::plan) parts: Vec<Part>,
    pub(in crate::plan) links: Vec<Link>,
    pub(in crate::plan) flows: Vec<Flow>,
    pub(in crate::plan) map: Map,
    /// Where each link stands in the text.
    pub(in crate::plan) spans: Vec<Span>,
}

/// Wires the tree of a scenario and finds the routes of its flows. `None` when it cannot be; why is in `diagnostics`.
pub(in crate::plan) fn build(diagnostics: &mut Diagnostics, scenario: &Scenario) -> Option<Tree> {
    let directory = Directory::new(&scenario.parts).among(
        scenario,
        "expected root complexes, switches, endpoints and host adapters; disks go to an adapter, by fc, sas or scsi",
    );
    let mut wires = Vec::new();
    for link in &scenario.links {
        wire(diagnostics, &directory, link, &mut wires);
        if wires.len() > MAX_THINGS {
            diagnostics.push(
                Diagnostic::error(link.span, format!("more than {MAX_THINGS} links"))
                    .hint("use fewer: no answer needs so many"),
            );
            return None;
        }
    }
    let mut parts: Vec<Part> = scenario
        .parts
        .iter()
        .map(|p| Part {
            name: p.name.clone(),
            group: p.group.clone(),
            keys: p.keys.clone(),
            ports: Vec::new(),
            function_of: None,
            functions: Vec::new(),
            forwards: false,
        })
        .collect();
    plug(diagnostics, &directory, &mut parts, &mut wires);
    functions(diagnostics, &directory, scenario, &mut parts);
    (!diagnostics.has_errors()).then_some(())?;
    let mut links = Vec::new();
    let mut cross = Vec::new();
    for wire in &wires {
        let id = LinkId(links.len() as u32);
        let link = resolve(diagnostics, &directory, wire);
        if link.crosslink {
            cross.push((id, carried(diagnostics, &directory, &wire.from.keys, wire.from.span)));
        }
        links.push(link);
    }
    let map = Map::new(&parts, &links, cross);
    if let Some(id) = map.find_loop() {
        diagnostics.push(
            Diagnostic::error(
                wires[id.0 as usize].from.span,
                format!("links.{} closes a loop", links[id.0 as usize].name),
            )
            .hint(
                "PCIe is a tree below each root complex; a link beside the tree needs crosslink = true and \
                    carries = [\"part\", …]",
            ),
        );
        return None;
    }
    if let Some(id) = map.too_deep(DEPTH) {
        let what = format!("links.{} is more than {DEPTH} levels below its root", links[id.0 as usize].name);
        diagnostics.push(Diagnostic::error(wires[id.0 as usize].from.span, what));
        return None;
    }
    for (i, part) in parts.iter().enumerate() {
        if part.ports.is_empty() && part.function_of.is_none() {
            diagnostics.push(
                Diagnostic::error(scenario.parts[i].span, format!("{} is not connected to anything", part.name))
                    .hint(format!("add a link: between = [\"…\", \"{}\"]", part.name)),
            );
        }
    }
    let mut flows = Vec::new();
    for flow in &scenario.flows {
        expand_flow(diagnostics, &directory, &map, &links, &parts, flow, &mut flows);
        if flows.len() > MAX_THINGS {
            diagnostics.push(
                Diagnostic::error(flow.span, format!("more than {MAX_THINGS} flows"))
                    .hint("use fewer: no answer needs so many"),
            );
            return None;
        }
    }
    let spans = wires.iter().map(|w| w.from.span).collect();
    Some(Tree { parts, links, flows, map, spans })
}

/// Notes which root complexes pass on what goes from one of their ports to another.
pub(in crate::plan) fn note_forwarding(parts: &mut [Part], links: &[Link], flows: &[Flow]) {
    for flow in flows {
        for way in [&flow.route, &flow.back] {
            for hop in way.iter().skip(1) {
                let part = &mut parts[links[hop.link.0 as usize].ends[hop.direction.from()].part.0 as usize];
                part.forwards = matches!(part.keys, PartKeys::RootComplex(_));
            }
        }
    }
}

/// One link-to-be: two ends, ports not yet given.
struct Wire<'a> {
    name: String,
    from: &'a Named<keys::Link>,
    ends: [(PartId, Wanted); 2],
}

/// Expands `between` pairwise.
fn wire<'a>(
    diagnostics: &mut Diagnostics,
    directory: &Directory,
    link: &'a Named<keys::Link>,
    wires: &mut Vec<Wire<'a>>,
) {
    let between = &link.keys.between.typical.0;
    let [a, b] = between.as_slice() else {
        let d = Diagnostic::error(link.keys.between.span, format!("a link has two ends, not {}", between.len()));
        diagnostics.push(d.hint("between = [\"a\", \"b\"]"));
        return;
    };
    let side = |diagnostics: &mut Diagnostics, name: &crate::scenario::quantity::Name| {
        let address = directory.find(diagnostics, &name.text, name.span)?;
        let ports = address
            .parts
            .iter()
            .map(|&id| address::port(diagnostics, directory.part(id), &address.rest, name.span).map(|p| (id, p)))
            .collect::<Option<Vec<_>>>()?;
        // "host" and "host.*" hold as many links as the other side asks; "up", "down.2" and a device hold one each.
        let open = ports.iter().all(|(_, p)| matches!(p, Wanted::Any(_)));
        Some((ports, open, address.many || address.rest.ends_with('*')))
    };
    let (a_side, b_side) = (side(diagnostics, a), side(diagnostics, b));
    let (Some((a_ports, a_open, a_many)), Some((b_ports, b_open, b_many))) = (a_side, b_side) else { return };
    let sides = [(a.text.as_str(), a_ports.len(), a_open), (b.text.as_str(), b_ports.len(), b_open)];
    let Some(n) = address::pairs(diagnostics, link.keys.between.span, sides) else { return };
    let many = a_many || b_many || n > 1;
    for i in 0..n {
        let pick = |ports: &[(PartId, Wanted)]| ports[i * ports.len() / n].clone();
        let name = if many { format!("{}.{i}", link.name) } else { link.name.clone() };
        wires.push(Wire { name, from: link, ends: [pick(&a_ports), pick(&b_ports)] });
    }
}

/// Gives every wire its ports, those asked for by number first, and turns each wire so that its first end is the upper
/// one.
fn plug(diagnostics: &mut Diagnostics, directory: &Directory, parts: &mut [Part], wires: &mut [Wire]) {
    let mut taken: HashMap<(PartId, String), usize> = HashMap::new();
    let mut next: HashMap<PartId, u32> = HashMap::new();
    for fixed in [true, false] {
        for i in 0..wires.len() {
            for end in 0..2 {
                let (id, wanted) = wires[i].ends[end].clone();
                let part = &mut parts[id.0 as usize];
                let coherent = wires[i].from.keys.pcie.typical.is_coherent();
                let name = match wanted {
                    Wanted::Fixed(name) if fixed => name,
                    // A coherent link takes none of the ports of PCIe.
                    Wanted::Any(_) if !fixed && coherent => format!("coherent.{}", part.ports.len()),
                    // Ports are given out in order, skipping those that were asked for by number.
                    Wanted::Any(kind) if !fixed => loop {
                        let n = next.entry(id).or_default();
                        let name = format!("{kind}.{n}");
                        *n += 1;
                        if !taken.contains_key(&(id, name.clone())) {
                            break name;
                        }
                    },
                    _ => continue,
                };
                let limit = match &part.keys {
                    PartKeys::RootComplex(k) => k.ports.typical,
                    PartKeys::Switch(k) => k.ports.typical + 1,
                    PartKeys::Endpoint(_) => 1,
                };
                let span = wires[i].from.keys.between.span.unwrap_or(wires[i].from.span);
                if let Some(&other) = taken.get(&(id, name.clone())) {
                    let other = &wires[other].name;
                    let port = if name.is_empty() { part.name.clone() } else { format!("{}.{name}", part.name) };
                    diagnostics.push(
                        Diagnostic::error(span, format!("{port} is already plugged into links.{other}")).hint(
                            "a second upstream path closes a loop; a link beside the tree joins two downstream ports \
                                and needs crosslink = true",
                        ),
                    );
                    continue;
                }
                let coherently = |p: &&Port| wires[p.link.0 as usize].from.keys.pcie.typical.is_coherent();
                let used = part.ports.iter().filter(|p| !coherently(p)).count();
                if used as u32 >= limit && !coherent {
                    let d = Diagnostic::error(span, format!("{} has no free port: it has {limit}", part.name));
                    diagnostics.push(d.hint("take this link away, or set ports = … where the part has more"));
                    continue;
                }
                part.ports.push(Port { name: name.clone(), link: LinkId(i as u32) });
                taken.insert((id, name.clone()), i);
                wires[i].ends[end].1 = Wanted::Fixed(name);
            }
        }
    }
    for wire in wires.iter_mut() {
        let lower = |(id, port): &(PartId, Wanted)| {
            matches!(&directory.part(*id).keys, PartKeys::Endpoint(_)) || matches!(port, Wanted::Fixed(p) if p == "up")
        };
        let crosslink = wire.from.keys.crosslink.typical;
        if wire.from.keys.pcie.typical.is_coherent() {
            let root = |(id, _): &(PartId, Wanted)| matches!(directory.part(*id).keys, PartKeys::RootComplex(_));
            if let Some((id, _)) = wire.ends.iter().find(|e| !root(e)) {
                let part = directory.part(*id);
                let what = format!("links.{} is coherent, and {} is {}", wire.name, part.name, part.keys.kind().noun());
                let d = Diagnostic::error(wire.from.keys.between.span, what);
                diagnostics.push(d.hint("a coherent link joins two root complexes; others need pcie = \"gen4 x16\""));
            } else if wire.ends[0].0 == wire.ends[1].0 {
                let what = format!("links.{} joins {} to itself", wire.name, directory.part(wire.ends[0].0).name);
                let d = Diagnostic::error(wire.from.keys.between.span, what);
                diagnostics.push(d.hint("a coherent link joins two root complexes, for example \"rc.0\" and \"rc.1\""));
            }
            continue;
        }
        match (lower(&wire.ends[0]), lower(&wire.ends[1])) {
            (true, false) => wire.ends.swap(0, 1),
            (false, true) => {}
            (false, false) if crosslink => {}
            (up, _) => {
                let what = if up { "two upstream ports" } else { "two downstream ports" };
                diagnostics.push(
                    Diagnostic::error(
                        wire.from.keys.between.span,
                        format!("links.{} joins {what}", wire.name),
                    )
                    .hint(if up {
                        "a device or a switch's up port plugs into a root complex or a switch's down port"
                    } else {
                        "it would close a loop in the tree; if it is a crosslink, set crosslink = true and carries = \
                            [\"part\", …]"
                    }),
                );
            }
        }
        if wire.ends[0].0 == wire.ends[1].0 {
            diagnostics.push(Diagnostic::error(
                wire.from.keys.between.span,
                format!("links.{} closes a loop: both ends are {}", wire.name, directory.part(wire.ends[0].0).name),
            ));
        }
    }
}

/// Finds the devices on whose ports further functions are: that of the same number where both are counted.
fn functions(diagnostics: &mut Diagnostics, directory: &Directory, scenario: &Scenario, parts: &mut [Part]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for i in 0..parts.len() {
        let PartKeys::Endpoint(k) = &parts[i].keys else { continue };
        let Some(names) = k.function_of.clone() else { continue };
        let nth = seen.entry(parts[i].group.clone()).or_default();
        let number = std::mem::replace(nth, *nth + 1);
        let span = names.span.unwrap_or(scenario.parts[i].span);
        let [name] = names.typical.0.as_slice() else {
            let d = Diagnostic::error(span, "a function is of one device");
            diagnostics.push(d.hint("function_of = \"nic\""));
            continue;
        };
        let Some(found) = directory.find(diagnostics, &name.text, span) else { continue };
        let of = match found.parts.as_slice() {
            [one] => *one,
            all => match all.get(number) {
                Some(of) => *of,
                None => {
                    let what = format!("{} is function {number} of {} devices", parts[i].name, all.len());
                    diagnostics
                        .push(Diagnostic::error(span, what).hint("one function for each, or one device for all"));
                    continue;
                }
            },
        };
        let (device, own) = (&parts[of.0 as usize], &parts[i]);
        let device_is_function = matches!(&device.keys, PartKeys::Endpoint(d) if d.function_of.is_some());
        let wrong = if of.0 as usize == i {
            Some(format!("{} is a function of itself", own.name))
        } else if !matches!(device.keys, PartKeys::Endpoint(_)) {
            Some(format!("{} is {}, which has no functions", device.name, device.keys.kind().noun()))
        } else if device_is_function {
            Some(format!("{} is itself a function of another device", device.name))
        } else if !own.ports.is_empty() {
            Some(format!("{} is a function of {}, and has a link of its own", own.name, device.name))
        } else {
            None
        };
        match wrong {
            Some(what) => {
                let hint = "a further function has no link: it is on the port of the endpoint that function_of names";
                diagnostics.push(Diagnostic::error(span, what).hint(hint));
            }
            None => {
                let of_port = port_keys(&own.keys, &device.keys);
                if !of_port.is_empty() {
                    let (name, keys) = (&device.name, of_port.join(", "));
                    let what = format!("{} is on the port of {name}, which has its own {keys}", own.name);
                    let hint = format!("state it at parts.{}: what {} says of it has no effect", device.name, own.name);
                    diagnostics.push(Diagnostic::warning(span, what).hint(hint));
                }
                parts[i].function_of = Some(of);
                parts[of.0 as usize].functions.push(PartId(i as u32));
            }
        }
    }
}

/// Keys of a port that a further function states otherwise than the device whose port it is.
fn port_keys(own: &PartKeys, device: &PartKeys) -> Vec<&'static str> {
    type Key<'a, T> = Option<&'a Quantity<T>>;
    fn other<T: PartialEq>(own: Key<T>, device: Key<T>) -> bool {
        let same = |a: &Quantity<T>, b: &Quantity<T>| a.slow == b.slow && a.typical == b.typical && a.fast == b.fast;
        own.is_some_and(|own| device.is_none_or(|device| !same(own, device)))
    }
    let [a, b] = [own, device].map(check::port_limits);
    let credits = |class| [own, device].map(|keys| check::credits(keys, class));
    let ([posted, its_posted], [nonposted, its_nonposted]) = (credits(Class::Posted), credits(Class::NonPosted));
    let all = [
        ("lanes", other(a.lanes, b.lanes)),
        ("generation", other(a.generation, b.generation)),
        ("max_payload", other(a.max_payload, b.max_payload)),
        ("posted_headers", other(posted.0, its_posted.0)),
        ("posted_data", other(posted.1, its_posted.1)),
        ("nonposted_headers", other(nonposted.0, its_nonposted.0)),
        ("replay_buffer", other(check::replay_buffer(own), check::replay_buffer(device))),
    ];
    all.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

fn resolve(diagnostics: &mut Diagnostics, directory: &Directory, wire: &Wire) -> Link {
    let keys = &wire.from.keys;
    let coherent = keys.pcie.typical.is_coherent();
    let supported = wire.ends.each_ref().map(|(id, _)| check::port_limits(&directory.part(*id).keys).max_payload);
    let least = supported.iter().flatten().min_by_key(|q| q.typical);
    let mps = match (&keys.mps, least) {
        // It carries transactions as they are: the ports of PCIe on their way cut them.
        _ if coherent => Quantity::derived(
            PayloadSize::LARGEST,
            Origin::Assumed,
            Confidence::Exact,
            "a coherent link takes whole transactions",
        ),
        (Some(mps), Some(least)) if mps.typical > least.typical => {
            let who = wire
                .ends
                .iter()
                .map(|(id, _)| directory.part(*id))
                .find(|p| check::port_limits(&p.keys).max_payload.is_some_and(|q| q.typical == least.typical));
            diagnostics.push(
                Diagnostic::warning(
                    mps.span,
                    format!(
                        "links.{}: MPS {} is clamped to {} by {}",
                        wire.name,
                        mps.typical,
                        least.typical,
                        who.map_or("an end", |p| &p.name)
                    ),
                )
                .hint(
                    "a port that gets a larger payload than it supports answers with Malformed TLP, so firmware \
                        sets the least",
                ),
            );
            (*least).clone()
        }
        (Some(mps), _) => mps.clone(),
        (None, Some(least)) if supported.iter().all(|s| s.is_some()) => Quantity {
            default: true,
            ..Quantity::derived(
                least.typical,
                Origin::Assumed,
                Confidence::Likely,
                "the smaller Max_Payload_Size_Supported of the two ends",
            )
        },
        (None, _) => Quantity::derived(
            PayloadSize::RESET,
            Origin::Standard,
            Confidence::Guess,
            "2.0, 7.8.4: the value after reset; an end does not say what it supports",
        ),
    };
    let speed = keys.pcie.clone();
    let skp_interval = keys.skp_interval.clone().unwrap_or_else(|| {
        let every = |n: u64| Every(Some(n as u32));
        let Some((low, high)) = pcie::skp_intervals(speed.typical.generation) else {
            let why = "FLIT mode's ordered sets are not modelled";
            return Quantity::derived(Every(None), Origin::Assumed, Confidence::Guess, why);
        };
        Quantity {
            slow: every(low),
            ..Quantity::derived(
                every(high),
                Origin::Standard,
                Confidence::Likely,
                "4.2.7: the longest interval allowed costs least",
            )
        }
    });
    let end = |(id, port): &(PartId, Wanted)| End {
        part: *id,
        port: match port {
            Wanted::Fixed(p) => p.clone(),
            Wanted::Any(p) => (*p).to_owned(),
        },
    };
    Link {
        name: wire.name.clone(),
        group: wire.from.name.clone(),
        ends: [end(&wire.ends[0]), end(&wire.ends[1])],
        speed,
        mps,
        delay: keys.delay.clone(),
        ack_every: keys.ack_every.clone(),
        update_fc_every: keys.update_fc_every.clone(),
        skp_interval,
        dllp_limit: keys.dllp_limit.clone(),
        acs: Acs {
            request_redirect: keys.acs_request_redirect.clone(),
            completion_redirect: keys.acs_completion_redirect.clone(),
            direct_translated: keys.acs_direct_translated.clone(),
        },
        crosslink: keys.crosslink.typical,
    }
}

fn carried(diagnostics: &mut Diagnostics, directory: &Directory, keys: &keys::Link, span: Span) -> HashSet<PartId> {
    let Some(Quantity { typical: Names(names), .. }) = &keys.carries else {
        diagnostics.push(
            Diagnostic::error(span, "a crosslink carries only what it is told to")
                .hint("add carries = [\"part\", …]: the parts whose flows cross it"),
        );
        return HashSet::new();
    };
    let mut seen = HashSet::new();
    let new = names.iter().filter(|n| seen.insert(n.text.as_str()));
    new.filter_map(|n| directory.find(diagnostics, &n.text, n.span)).flat_map(|a| a.parts).collect()
}

fn expand_flow(
    diagnostics: &mut Diagnostics,
    directory: &Directory,
    map: &Map,
    links: &[Link],
    parts: &[Part],
    flow: &Named<keys::Flow>,
    flows: &mut Vec<Flow>,
) {
    let k = &flow.keys;
    let (from_span, to_span) = (k.from.span.unwrap_or(flow.span), k.to.span.unwrap_or(flow.span));
    let from = directory.find_all(diagnostics, &k.from.typical, from_span);
    let to = directory.find_all(diagnostics, &k.to.typical, to_span);
    let (Some(from), Some(to)) = (from, to) else { return };
    if !from.rest.is_empty() {
        diagnostics.push(Diagnostic::error(from_span, format!("a flow starts at a part, not at its {:?}", from.rest)));
        return;
    }
    let target_is_root = matches!(directory.part(to.parts[0]).keys, PartKeys::RootComplex(_));
    let place = match (to.rest.as_str(), target_is_root) {
        ("memory", true) => Place::Memory,
        ("cache", true) => Place::Cache,
        ("remote", true) => Place::Remote,
        ("", false) => Place::Device,
        (rest, true) => {
            let name = &k.to.typical;
            let name = name.strip_suffix(rest).unwrap_or(name).trim_end_matches('.');
            diagnostics.push(
                Diagnostic::error(to_span, "a root complex has the places memory, cache and remote").hint(format!(
                    "write \"{name}.memory\" (its own), \"{name}.cache\", or \"{name}.remote\" (another socket's)"
                )),
            );
            return;
        }
        (rest, false) => {
            let name = k.to.typical.strip_suffix(rest).unwrap_or(&k.to.typical).trim_end_matches('.');
            diagnostics.push(Diagnostic::error(to_span, format!("a device has no place {rest:?}")).hint(format!(
                "a device is one place, its own memory: write \"{name}\"; memory, cache and remote are places of a \
                 root complex"
            )));
            return;
        }
    };
    let Some(pairs) =
        pairs(diagnostics, k, &from, &to, (from_span, to_span), |s| (target_is_root && to.many).then(|| map.root(s)))
    else {
        return;
    };
    let many = from.many || pairs.len() > 1;
    for (i, (source, target)) in pairs.into_iter().enumerate() {
        let name = if many { format!("{}.{i}", flow.name) } else { flow.name.clone() };
        let (from_name, to_name) = (&parts[source.0 as usize].name, &parts[target.0 as usize].name);
        if source == target {
            let d = Diagnostic::error(to_span, format!("flow {name} ends where it starts, at {from_name}"));
            diagnostics.push(d.hint("a flow joins two parts"));
            continue;
        }
        if map.device(source) == map.device(target) {
            let d = Diagnostic::error(to_span, format!("{from_name} and {to_name} are functions of one device"));
            diagnostics.push(d.hint("traffic between them crosses no link"));
            continue;
        }
        if matches!(parts[source.0 as usize].keys, PartKeys::Switch(_))
            || matches!(parts[target.0 as usize].keys, PartKeys::Switch(_))
        {
            diagnostics.push(
                Diagnostic::error(
                    if matches!(parts[source.0 as usize].keys, PartKeys::Switch(_)) { from_span } else { to_span },
                    "a switch neither asks nor answers",
                )
                .hint("flows run between endpoints and root complexes"),
            );
            return;
        }
        let translated = matches!(&parts[source.0 as usize].keys, PartKeys::Endpoint(e) if e.atc_entries.is_some());
        let ways = map.route(links, source, target, Bound::Requests { translated }).zip(map.route(
            links,
            target,
            source,
            Bound::Completions,
        ));
        let Some((route, back)) = ways else {
            let linked = |part: PartId| links.iter().any(|l| l.ends.iter().any(|e| e.part == part));
            let lone =
                [(source, &from_name, from_span), (target, &to_name, to_span)].into_iter().find(|e| !linked(e.0));
            let (span, hint) = match lone {
                Some((_, name, span)) => (
                    span,
                    format!(
                        "no link has {name} at an end: add a table [links.NAME] with between = [\"{name}\", …] and a \
                         speed, such as pcie = \"gen4 x4\""
                    ),
                ),
                None => (
                    from_span,
                    "they are below different root complexes: join these by a link with coherent = \"64 GB/s\", or \
                        connect them otherwise"
                        .to_owned(),
                ),
            };
            let what = format!("there is no path from {from_name} to {to_name}");
            diagnostics.push(Diagnostic::error(span, what).hint(hint));
            return;
        };
        let through = |h: &crate::plan::Hop| links[h.link.0 as usize].ends[h.direction.to()].part;
        let packets = matches!(k.r#do.typical, keys::Do::Receive | keys::Do::Transmit);
        let endpoint = |p: PartId| matches!(parts[p.0 as usize].keys, PartKeys::Endpoint(_));
        if packets && (!endpoint(source) || endpoint(target)) {
            let what = format!("flow {name}: receive and transmit go between a NIC and the memory of its host");
            let d = Diagnostic::error(k.r#do.span.unwrap_or(flow.span), what);
            diagnostics.push(d.hint("from = \"nic\", to = \"host.memory\""));
            return;
        }
        if let Some(headers) = k.headers.as_ref().filter(|h| !packets || h.slow.max(h.typical) >= k.size.typical) {
            let what = match packets {
                true => format!("flow {name}: headers of {} leave nothing of {}", headers.typical, k.size.typical),
                false => format!("flow {name}: only packets have headers"),
            };
            let d = Diagnostic::error(headers.span.unwrap_or(flow.span), what);
            diagnostics.push(d.hint("do = \"receive\", size = \"1514 B\", headers = \"66 B\": Ethernet, IP and TCP"));
            return;
        }
        let refuses = |p: &PartId| match &parts[p.0 as usize].keys {
            PartKeys::RootComplex(r) => r.peer_to_peer.typical == PeerToPeer::Refuses,
            _ => false,
        };
        let inner = |way: &[crate::plan::Hop]| way[..way.len().saturating_sub(1)].iter().map(through).find(refuses);
        if let Some(root) = inner(&route)
            .or_else(|| inner(&back).filter(|_| !matches!(k.r#do.typical, keys::Do::Write | keys::Do::Receive)))
        {
            let root = &parts[root.0 as usize].name;
            let what = format!("the path from {from_name} to {to_name} turns around in {root}, which forwards nothing");
            diagnostics.push(Diagnostic::error(to_span, what).hint(
                "peer_to_peer = \"refuses\" says so: put both below one switch without ACS redirects, or go through \
                    memory in two flows",
            ));
            return;
        }
        let payload = route.iter().map(|h| &links[h.link.0 as usize].mps).min_by_key(|m| m.typical).cloned();
        let program = match k.load.typical {
            Load::Saturate => Program::Saturating,
            Load::Open { rate, poisson } => Program::Open { rate, poisson },
            Load::Closed { outstanding, think, round_trip } => Program::Closed { outstanding, think, round_trip },
        };
        flows.push(Flow {
            control: false,
            rides: None,
            piece_of: None,
            name,
            group: flow.name.clone(),
            source,
            target,
            place,
            op: match k.r#do.typical {
                keys::Do::Receive => k.r#do.with(keys::Do::Write),
                keys::Do::Transmit => k.r#do.with(keys::Do::Read),
                _ => k.r#do.clone(),
            },
            packets,
            size: k.size.clone(),
            header: k.header.clone(),
            load: k.load.clone(),
            program,
            payload: payload
                .unwrap_or_else(|| Quantity::derived(PayloadSize::RESET, Origin::Standard, Confidence::Guess, "")),
            route,
            back,
            headers: k.headers.clone(),
            window: k.window.clone(),
            addresses: k.addresses.clone(),
            measured: k.measured.as_ref().map(|q| q.typical),
        });
    }
}

/// The requesters of a flow with the target of each. `own` is the target that a requester has of several, where it has
/// one: of root complexes the one above it.
fn pairs(
    diagnostics: &mut Diagnostics,
    keys: &keys::Flow,
    from: &address::Address,
    to: &address::Address,
    (from_span, to_span): (Span, Span),
    own: impl Fn(PartId) -> Option<PartId>,
) -> Option<Vec<(PartId, PartId)>> {
    let (sources, targets) = (&from.parts, &to.parts);
    let around = |by: usize| -> Vec<(PartId, PartId)> {
        let n = sources.len();
        (0..n).map(|i| (sources[i], targets[(i + by) % n])).collect()
    };
    let same = sources == targets && sources.len() > 1;
    let pattern = keys.pattern.typical;
    if pattern != Peers::Pairs && !same && pattern != Peers::AllToAll {
        let d = Diagnostic::error(keys.pattern.span.unwrap_or(to_span), "a pattern works on one list of parts");
        diagnostics.push(d.hint(format!("write the same in to as in from: to = {:?}", keys.from.typical)));
        return None;
    }
    let pairs: Vec<(PartId, PartId)> = match pattern {
        Peers::Ring => around(1),
        Peers::Shift(by) if (by as usize).is_multiple_of(sources.len()) => {
            let what = format!("a shift by {by} among {} parts sends each to itself", sources.len());
            diagnostics
                .push(Diagnostic::error(keys.pattern.span.unwrap_or(to_span), what).hint("a shift by 1 or more"));
            return None;
        }
        Peers::Shift(by) => around(by as usize),
        Peers::AllToAll => {
            let each = sources.iter().flat_map(|&s| targets.iter().map(move |&t| (s, t)));
            each.filter(|(s, t)| s != t).take(MAX_THINGS + 1).collect()
        }
        Peers::Pairs => {
            let listed: HashSet<PartId> = targets.iter().copied().collect();
            let mine = sources.iter().filter_map(|&s| Some((s, own(s)?)));
            let mine: Vec<_> = mine.filter(|(_, t)| listed.contains(t)).collect();
            match (sources.len(), targets.len()) {
                _ if !mine.is_empty() => mine,
                (_, 1) => sources.iter().map(|&s| (s, targets[0])).collect(),
                (1, _) => targets.iter().map(|&t| (sources[0], t)).collect(),
                (a, b) if a == b => sources.iter().copied().zip(targets.iter().copied()).collect(),
                (a, b) => {
                    let d = Diagnostic::error(to_span, format!("{a} sources and {b} targets do not pair"));
                    diagnostics.push(d.hint("pattern = \"all-to-all\" gives each all of them"));
                    return None;
                }
            }
        }
    };
    if pairs.is_empty() {
        let what = format!("{} has no partner in {}", keys.from.typical, keys.to.typical);
        diagnostics.push(Diagnostic::error(from_span, what));
        return None;
    }
    Some(pairs)
}
