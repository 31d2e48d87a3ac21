//! What holds a host back, each with what it costs a device in GB/s, the dump's lines, and a cure.
//!
//! A cost is the difference of two expected numbers: with the finding's cause gone, and as it is. What costs nothing
//! measurable is listed only where it is a risk, and ranks behind.

mod log;
mod requester;

use super::belief::{Standing, shown};
use super::endpoints::Endpoint;
use super::peers::peer_path;
use super::rate::{Corner, Sizes, Way, efficiency};
use super::scenario::{Transfer, shares};
use super::tree::Role;
use super::{Finding, Topology};
use crate::import::host::{Address, Function, Kind, Place, gigatransfers, value};
use crate::protocol::pcie::{Generation, Lanes, Speed};
use std::collections::{BTreeMap, BTreeSet};

/// Findings of a host, the costliest first.
pub(crate) fn of(topology: &Topology) -> Vec<Finding> {
    let mut all = Vec::new();
    trained(topology, &mut all);
    shared(topology, &mut all);
    payload(topology, &mut all);
    mismatch(topology, &mut all);
    requester::requests(topology, &mut all);
    requester::tags(topology, &mut all);
    redirect(topology, &mut all);
    virtual_links(topology, &mut all);
    nodes(topology, &mut all);
    buses(topology, &mut all);
    chipset(topology, &mut all);
    errors(topology, &mut all);
    idle_functions(topology, &mut all);
    requester::ordering(topology, &mut all);
    absent(topology, &mut all);
    log::limited(topology, &mut all);
    log::payload(topology, &mut all);
    // Equal costs keep the order above: what is broken before what is a risk.
    all.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    alike(all)
}

/// Findings of one kind that cost the same are told once, with the places of the others.
fn alike(all: Vec<Finding>) -> Vec<Finding> {
    let mut told: Vec<Finding> = Vec::new();
    for finding in all {
        let same = |f: &&mut Finding| f.kind == finding.kind && (f.cost - finding.cost).abs() < 0.005;
        match told.iter_mut().rev().take_while(|f| f.cost - finding.cost < 0.005).find(same) {
            Some(first) => first.also.push(finding.at),
            None => told.push(finding),
        }
    }
    told
}

/// A cost as a report states it: three digits after the point, and none below a thousandth.
fn rounded(cost: f64) -> f64 {
    if cost.is_finite() { (cost.max(0.0) * 1e3).round() / 1e3 } else { 0.0 }
}

impl Topology<'_> {
    /// A device's typical rate with a link at another speed, or with other sizes.
    fn with(&self, endpoint: &Endpoint, way: Way, other: Option<(usize, Speed)>, sizes: Option<Sizes>) -> Option<f64> {
        let sizes = sizes.unwrap_or_else(|| self.sizes(endpoint, Corner::Typical));
        let mut least = f64::INFINITY;
        for link in &endpoint.links {
            let speed = match other.filter(|(l, _)| l == link) {
                Some((_, speed)) => speed,
                None => self.speed(*link, Corner::Typical)?,
            };
            least = least.min(self.rates.of(speed, sizes, way)?);
        }
        let rate = least * efficiency(endpoint.kind, way, Corner::Typical);
        let cap = self.cap(endpoint, way, Corner::Typical);
        rate.is_finite().then(|| cap.map_or(rate, |c| c.min(rate)))
    }

    /// What a change gives a device at most, of its two ways.
    fn gain(&self, endpoint: &Endpoint, other: Option<(usize, Speed)>, sizes: Option<Sizes>) -> f64 {
        if self.manages(endpoint) {
            return 0.0;
        }
        let gain = |way| Some(self.with(endpoint, way, other, sizes)? - self.with(endpoint, way, None, None)?);
        [Way::Write, Way::Read].into_iter().filter_map(gain).fold(0.0, f64::max)
    }

    /// Whether a function only manages: an adapter among solid-state drives below one switch, or what is of no class
    /// that moves data and was given one or two lanes.
    fn manages(&self, endpoint: &Endpoint) -> bool {
        if endpoint.kind == Kind::Other {
            let own = endpoint.links.first().and_then(|l| self.beliefs[*l].lower_capable.or(self.beliefs[*l].capable));
            return own.is_none_or(|s| s.lanes.count() < 4);
        }
        let switches = self.tree.path(endpoint.address).into_iter().filter(|a| self.in_switch(*a));
        let drive = |a: &Address| self.host.functions.get(a).is_some_and(|f| f.kind() == Kind::Drive);
        endpoint.kind == Kind::Storage && switches.into_iter().any(|s| self.tree.ends_below(s).iter().any(drive))
    }

    fn place(&self, at: Place) -> String {
        self.host.place(at)
    }

    fn called(&self, address: Address) -> String {
        self.host.functions.get(&address).map_or_else(String::new, Function::called)
    }

    /// What to do where the port above a link is told to go no faster than it does, and where that stands. A retrain
    /// cannot exceed the Target Link Speed of the upstream component; a device's own is for tests alone (2.0, 7.8.19).
    fn target(&self, index: usize, now: Speed, capable: Speed) -> Option<(String, String)> {
        let port = self.tree.links[index].upper?;
        let express = self.host.functions.get(&port)?.express.as_ref()?;
        let target = express.speed_target.as_ref()?;
        if target.value > now.generation || target.value >= capable.generation {
            return None;
        }
        let faster = gigatransfers(capable.generation);
        // The field counts from 1 for 2.5 GT/s (2.0, 7.8.6); Retrain Link is bit 5 of LnkCtl.
        let bits = Generation::ALL.iter().position(|g| *g == capable.generation)? + 1;
        let cure = format!(
            "{port} is told to go no faster than {} GT/s (Target Link Speed), and no retrain exceeds that: allow \
             {faster} GT/s in the firmware's setup, or setpci -s {port} CAP_EXP+0x30.w={bits:04x}:000f, then retrain \
             with setpci -s {port} CAP_EXP+0x10.w=0020:0020",
            gigatransfers(target.value)
        );
        Some((cure, format!("{}: LnkCtl2 of {port}", self.place(target.at))))
    }

    /// Where the status and the capability of a link stand.
    fn evidence(&self, index: usize) -> Vec<String> {
        let link = &self.tree.links[index];
        let mut lines = Vec::new();
        let logs = link.functions.iter().filter_map(|a| self.host.functions.get(a)).flat_map(|f| &f.limited);
        let logs: Vec<Place> = logs.map(|l| l.at).collect();
        let logged = |at: Place| logs.contains(&at);
        for address in link.upper.iter().chain([&link.lower]) {
            let Some(e) = self.host.functions.get(address).and_then(|f| f.express.as_ref()) else { continue };
            for (what, fact) in [("LnkCap", &e.speed_capable), ("LnkSta", &e.speed)] {
                // The kernel's log has a line of its own (see `log`).
                if let Some(fact) = fact.as_ref().filter(|f| !logged(f.at)) {
                    lines.push(format!("{}: {what} of {address}", self.place(fact.at)));
                }
            }
        }
        // A file of another form has no registers.
        let claim = self.beliefs[index].at.filter(|at| lines.is_empty() && !logged(*at));
        lines.extend(claim.map(|at| format!("{}: speed of the link above {}", self.place(at), link.lower)));
        lines
    }
}

fn nothing_lost(topology: &Topology, endpoints: &[&Endpoint]) -> String {
    match endpoints {
        [endpoint] if topology.manages(endpoint) => "no bulk data pass this function, so it costs nothing".to_owned(),
        [endpoint] if endpoint.port.is_some() => {
            format!("its network ports carry {:.3} GB/s, so it costs nothing today", endpoint.port.unwrap_or_default())
        }
        _ => "another link on the path is slower, so it costs nothing today".to_owned(),
    }
}

/// What is at the lower end of a link, in words: its device, or a switch or bridge with whoever is behind it; and
/// whether that is a switch between several devices, and no card of one of them.
fn at_lower_end(topology: &Topology, index: usize, endpoints: &[&Endpoint]) -> (String, bool) {
    let link = &topology.tree.links[index];
    let name = |address: Address| match topology.called(address) {
        unnamed if unnamed == "not named" => address.to_string(),
        name => name,
    };
    if let Some(own) = endpoints.iter().find(|e| e.links.first() == Some(&index) && e.bus.is_none()) {
        return (name(own.address), endpoints.len() > 1);
    }
    let behind = match endpoints {
        [one] => one.id.clone(),
        [a, b] => format!("{} and {}", a.id, b.id),
        [first, .., last] => format!("{} devices ({} to {})", endpoints.len(), first.id, last.id),
        [] => return (name(link.lower), false),
    };
    let what = if topology.in_switch(link.lower) { "switch" } else { "bridge" };
    (format!("the {what} at {} ({}), above {behind},", link.lower, name(link.lower)), endpoints.len() > 1)
}

fn trained(topology: &Topology, all: &mut Vec<Finding>) {
    for (index, belief) in topology.beliefs.iter().enumerate() {
        let endpoints = topology.behind(index);
        let (Some(now), false) = (belief.typical, endpoints.is_empty()) else { continue };
        let (who, of_several) = at_lower_end(topology, index, &endpoints);
        let name = topology.link_name(index);
        // Who loses most.
        let most = |speed| {
            let gains = endpoints.iter().map(|s| (rounded(topology.gain(s, Some((index, speed)), None)), *s));
            gains.reduce(|most, one| if one.0 > most.0 { one } else { most }).unwrap_or((0.0, endpoints[0]))
        };
        let clause = |(cost, loser): (f64, &Endpoint)| match cost > 0.0 {
            true => format!("; it costs {} {cost:.2} GB/s", loser.id),
            false => format!("; {}", nothing_lost(topology, &endpoints)),
        };
        // The slot is that of what the link ends at.
        let reseat = match of_several {
            true => "reseat the board or cable that the switch hangs on, look for",
            false => "reseat the card, look for",
        };
        if belief.standing == Standing::Down
            && let Some(capable) = belief.capable
        {
            let lost = most(capable);
            let cost = lost.0;
            let ends = match belief.upper_capable {
                Some(_) => format!("both ends can do {}", shown(capable)),
                None => format!("it can do {}, and what the port above can do is not in the dump", shown(capable)),
            };
            let what = if now.lanes < capable.lanes { "lanes" } else { "speed" };
            let target = topology.target(index, now, capable);
            all.push(Finding {
                kind: "trained-down".into(),
                at: name,
                also: Vec::new(),
                cost,
                text: format!("{who} runs at {}, though {ends}{}", shown(now), clause(lost)),
                evidence: topology.evidence(index).into_iter().chain(target.as_ref().map(|t| t.1.clone())).collect(),
                cure: match (target, what) {
                    (Some((cure, _)), "lanes") => {
                        format!("{cure}; and for its lanes: {reseat} a bifurcation setting or a riser")
                    }
                    (Some((cure, _)), _) => cure,
                    (None, "lanes") => {
                        format!("{reseat} a bifurcation setting or a riser that lacks lanes, then retrain the link")
                    }
                    (None, _) => {
                        "look for a speed limit in the firmware's setup and for corrected errors, then retrain \
                                  the link"
                            .into()
                    }
                },
            });
        } else if belief.standing == Standing::Lesser
            && let (Some(device), Some(port)) = (belief.lower_capable, belief.upper_capable)
            && (device.lanes > port.lanes || device.generation > port.generation)
            && device.coded() > now.coded()
        {
            let lost = most(device);
            all.push(Finding {
                kind: "narrow-slot".into(),
                at: name,
                also: Vec::new(),
                cost: lost.0,
                text: format!("{who} can do {} and is in a slot of {}{}", shown(device), shown(port), clause(lost)),
                evidence: topology.evidence(index),
                cure: format!("a slot of {}", shown(device)),
            });
        }
    }
}

fn shared(topology: &Topology, all: &mut Vec<Finding>) {
    for (index, link) in topology.tree.links.iter().enumerate() {
        let endpoints: Vec<&Endpoint> = topology.behind(index).into_iter().filter(|s| s.kind < Kind::Bridge).collect();
        if endpoints.len() < 2 || !matches!(topology.tree.role(link.lower), Role::Up | Role::Switch) {
            continue;
        }
        // Each as far as its own links and this one let it.
        let wants: Option<Vec<f64>> = endpoints.iter().map(|s| topology.with(s, Way::Write, None, None)).collect();
        let Some(uplink) = topology.speed(index, Corner::Typical) else { continue };
        let sizes = topology.sizes(endpoints[0], Corner::Typical);
        let (Some(wants), Some(carries)) = (wants, topology.rates.of(uplink, sizes, Way::Write)) else { continue };
        let sum: f64 = wants.iter().sum();
        let factor = sum / carries;
        // A link further up that is as narrow is told once, there.
        let narrower_above = endpoints[0].links.iter().skip_while(|l| **l != index).skip(1).any(|l| {
            topology.speed(*l, Corner::Typical).is_some_and(|s| s.coded() <= uplink.coded())
                && topology.behind(*l).len() == topology.behind(index).len()
        });
        if factor < 1.05 || narrower_above {
            continue;
        }
        let writes: Vec<Transfer> = endpoints.iter().map(|e| Transfer::Memory(e, Way::Write)).collect();
        let Some(shares) = shares(topology, &writes, Corner::Typical) else { continue };
        // Who loses most of what it gets alone.
        let loss = |s: &Endpoint, alone: f64| alone - shares.each.get(&s.id).copied().unwrap_or(alone);
        let losses = endpoints.iter().zip(&wants).map(|(s, w)| (loss(s, *w), s));
        let Some((cost, loser)) = losses.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let cost = rounded(cost);
        let sure = topology.beliefs[index].low == topology.beliefs[index].typical;
        let link_of = if sure { "one link of" } else { "one link taken for" };
        let (first, last) = (&endpoints[0].id, &endpoints[endpoints.len() - 1].id);
        let who = match endpoints.len() {
            2 => format!("{first} and {last}"),
            n => format!("{n} devices ({first} to {last})"),
        };
        all.push(Finding {
            kind: "shared-uplink".into(),
            at: topology.link_name(index),
            also: Vec::new(),
            cost,
            text: format!(
                "{who} share {link_of} {}: together they could use {factor:.1} times what it carries; all at once, {} \
                 loses {cost:.2} GB/s",
                shown(uplink),
                loser.id
            ),
            evidence: topology.evidence(index),
            cure: "spread the devices over more root ports, or do not load them all at once; transfers between them \
                   below the switch do not pass it"
                .into(),
        });
    }
}

/// A device, what a larger MPS would give it, GB/s, and that MPS in bytes.
type Clamped<'a> = (&'a Endpoint, f64, u32);

fn payload(topology: &Topology, all: &mut Vec<Finding>) {
    // One finding for all devices that the same function clamps.
    let mut clamped: BTreeMap<(Address, u32), Vec<Clamped>> = BTreeMap::new();
    for endpoint in topology.devices.iter().filter(|s| s.kind < Kind::Bridge) {
        let express = topology.host.functions.get(&endpoint.address).and_then(|f| f.express.as_ref());
        let own = express.and_then(|e| value(&e.mps_supported));
        let (Some(own), Some(now), Some((least, whose))) =
            (own, topology.mps(endpoint), topology.mps_supported(endpoint))
        else {
            continue;
        };
        let reach = own.min(512);
        if now >= reach {
            continue;
        }
        let size = u64::from(if least > now { least.min(512) } else { reach });
        let sizes = topology.sizes(endpoint, Corner::Typical);
        let larger = Sizes { mps: size, completion: sizes.completion, ..sizes };
        let gain = rounded(topology.gain(endpoint, None, Some(larger)));
        if gain > 0.0 {
            let by = if least > now { endpoint.address } else { whose };
            clamped.entry((by, now)).or_default().push((endpoint, gain, size as u32));
        }
    }
    for ((by, now), endpoints) in clamped {
        let (endpoint, cost, size) =
            endpoints.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied().unwrap_or(endpoints[0]);
        let alone = by == endpoint.address;
        let others = if endpoints.len() > 1 { format!(" and {} more", endpoints.len() - 1) } else { String::new() };
        let text = if alone {
            let whole = endpoint.links.last().is_some_and(|l| topology.tree.links[*l].upper.is_some());
            let all = if whole { "all of its path" } else { "all of its path that the dump shows" };
            format!("{}{others} runs at MPS {now} B, and {all} can do {size} B", endpoint.id)
        } else {
            format!("{}{others} runs at MPS {now} B: {by} ({}) can do no more", endpoint.id, topology.called(by))
        };
        let at = |a: Address| {
            let e = topology.host.functions.get(&a)?.express.as_ref()?;
            Some(format!("{}: DevCap of {a}", topology.place(e.mps_supported.as_ref()?.at)))
        };
        all.push(Finding {
            kind: "mps".into(),
            at: endpoint.id.clone(),
            also: Vec::new(),
            cost,
            text: format!("{text}; with {size} B it would get {cost:.2} GB/s more"),
            evidence: [at(endpoint.address), at(by).filter(|_| !alone)].into_iter().flatten().collect(),
            cure: match alone {
                true => "the kernel's parameter pci=pcie_bus_perf, or the firmware's setting".into(),
                false if topology.tree.parent(by).is_none() => {
                    format!("a slot whose root port can do {size} B; where all are alike, another host")
                }
                false => format!("a slot that is not behind {by}"),
            },
        });
    }
}

/// A function that sends larger TLPs than the port above takes: they are malformed there (2.0, 2.2.2).
fn mismatch(topology: &Topology, all: &mut Vec<Finding>) {
    for (address, function) in &topology.host.functions {
        let Some(express) = &function.express else { continue };
        let Some(parent) = topology.tree.parent(*address) else { continue };
        let above = topology.host.functions.get(&parent).and_then(|f| f.express.as_ref());
        let (Some(own), Some(port)) = (&express.mps, above.and_then(|e| e.mps.as_ref())) else { continue };
        if own.value <= port.value {
            continue;
        }
        let endpoint = topology.devices.iter().find(|s| s.functions.contains(address));
        let cost = rounded(endpoint.and_then(|s| topology.with(s, Way::Write, None, None)).unwrap_or(0.0));
        all.push(Finding {
            kind: "mps-mismatch".into(),
            at: address.to_string(),
            also: Vec::new(),
            cost,
            text: format!(
                "{address} ({}) may send {} B and {parent} above takes {} B: larger TLPs are malformed, and all of \
                 its {cost:.2} GB/s are at risk",
                function.called(),
                own.value,
                port.value
            ),
            evidence: vec![
                format!("{}: DevCtl of {address}", topology.place(own.at)),
                format!("{}: DevCtl of {parent}", topology.place(port.at)),
            ],
            cure: format!("MPS {} B at both (pci=pcie_bus_safe)", port.value),
        });
    }
}

/// Devices below one root port that are looked at, at most.
const MOST_BELOW: usize = 256;

/// GPUs and adapters by the root port above them: only those below one have a switch in common.
fn below_root_ports<'a>(topology: &'a Topology) -> BTreeMap<Address, Vec<&'a Endpoint>> {
    let mut below: BTreeMap<Address, Vec<&Endpoint>> = BTreeMap::new();
    for device in topology.devices.iter().filter(|s| matches!(s.kind, Kind::Gpu | Kind::Nic)) {
        if let Some(root) = topology.tree.path(device.address).last().filter(|_| device.links.len() > 1) {
            below.entry(*root).or_default().push(device);
        }
    }
    below
}

/// What is left out, and why.
pub(crate) fn left_out(topology: &Topology) -> Vec<String> {
    let below = below_root_ports(topology);
    let large = below.iter().filter(|(_, group)| group.len() > MOST_BELOW);
    let told = |(root, group): (&Address, &Vec<&Endpoint>)| {
        let beyond = group.len() - MOST_BELOW;
        format!("left out: ACS between {beyond} of the {} GPUs and NICs below {root} and their peers", group.len())
    };
    large.map(told).collect()
}

fn pairs_of<'a>(devices: &'a [&'a Endpoint]) -> impl Iterator<Item = (&'a Endpoint, &'a Endpoint)> {
    let devices = &devices[..devices.len().min(MOST_BELOW)];
    let further = move |n: usize| devices[n + 1..].iter().map(move |to| (devices[n], *to));
    (0..devices.len()).flat_map(further)
}

fn redirect(topology: &Topology, all: &mut Vec<Finding>) {
    let devices: Vec<&Endpoint> = topology.devices.iter().filter(|s| matches!(s.kind, Kind::Gpu | Kind::Nic)).collect();
    let mut told = BTreeSet::new();
    for group in below_root_ports(topology).values() {
        for (from, to) in pairs_of(group) {
            let path = peer_path(topology, from, to);
            let (Some(switch), Some(port)) = (path.switch, path.redirect) else { continue };
            if !told.insert(switch) {
                continue;
            }
            let own: Vec<usize> = path.own.0.iter().chain(&path.own.1).copied().collect();
            let direct = topology.along(from, &own, Way::Write, Corner::Typical).map(|d| d.0);
            // All devices below the switch that send to one another then share its way up.
            let peers = devices.iter().filter(|d| topology.tree.path(d.address).contains(&switch)).count().max(2);
            let up = topology.along(from, &from.links, Way::Write, Corner::Typical).map(|u| u.0 / peers as f64);
            let (Some(direct), Some(up)) = (direct, up) else { continue };
            let cost = rounded(direct - up.min(direct));
            let at = topology.host.functions.get(&port).and_then(|f| f.acs.as_ref()).map(|a| a.at);
            all.push(Finding {
                kind: "acs-redirect".into(),
                at: switch.to_string(),
                also: Vec::new(),
                cost,
                text: format!(
                    "ACS at {port} sends what peers below the switch at {switch} write to each other up to the root \
                     and back: with {peers} devices at it, {} gets {up:.2} GB/s in place of {direct:.2} GB/s",
                    from.id
                ),
                evidence: at.map(|at| format!("{}: ACSCtl of {port}", topology.place(at))).into_iter().collect(),
                cure: format!(
                    "where no virtual machine needs the isolation: setpci -s {port} ECAP_ACS+0x6.w=0000 at each \
                     downstream port, or ACS off in the firmware's setup"
                ),
            });
        }
    }
}

fn virtual_links(topology: &Topology, all: &mut Vec<Finding>) {
    let mut worst = 0.0_f64;
    let mut lines = Vec::new();
    let mut names = Vec::new();
    for (index, belief) in topology.beliefs.iter().enumerate() {
        let Standing::Virtual(why) = &belief.standing else { continue };
        lines.extend(belief.at.map(|at| format!("{}: {why}", topology.place(at))));
        names.push(topology.link_name(index));
        let Some(endpoint) = topology.behind(index).into_iter().find(|s| s.kind < Kind::Bridge) else { continue };
        if let (Some(taken), Some(claimed)) = (belief.typical, belief.negotiated) {
            let sizes = topology.sizes(endpoint, Corner::Typical);
            let of = |s| topology.rates.of(s, sizes, Way::Write).unwrap_or(0.0);
            worst = worst.max(of(taken) - of(claimed));
        }
    }
    // Emulated ports above real devices, where the device itself is believed.
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return };
    let which = match names.len() {
        1 => format!("{first} is"),
        n => format!("{n} links ({first} to {last}) are"),
    };
    lines.truncate(8);
    all.push(Finding {
        kind: "virtual-links".into(),
        at: first.clone(),
        also: Vec::new(),
        cost: rounded(worst),
        text: format!(
            "{which} not what the dump says; a library that believes it plans for links that do not exist, and \
             collectives have run up to nine times slower for it"
        ),
        evidence: lines,
        cure: "lanescope explain … --emit nccl-xml > topo.xml, then NCCL_TOPO_FILE=topo.xml".into(),
    });
}

fn nodes(topology: &Topology, all: &mut Vec<Finding>) {
    let of = |kind| topology.devices.iter().filter(move |s| s.kind == kind && s.node.is_some());
    let nics: BTreeSet<_> = of(Kind::Nic).filter_map(|s| s.node).collect();
    let alone: Vec<&Endpoint> = of(Kind::Gpu).filter(|s| s.node.is_some_and(|n| !nics.contains(&n))).collect();
    let (Some(first), false) = (alone.first(), nics.is_empty()) else { return };
    let node = first.node.unwrap_or_default();
    let nearest = nics.iter().min_by_key(|n| topology.host.distance(node, **n).unwrap_or(u32::MAX));
    let Some(nearest) = nearest else { return };
    // Nodes of one socket are near: BIOS settings cut a socket into nodes.
    let distance = topology.host.distance(node, *nearest);
    let fact = topology.host.functions.get(&first.address).and_then(|f| f.node.as_ref());
    let far = distance.map_or_else(String::new, |d| format!(", at distance {d}"));
    all.push(Finding {
        kind: "far-node".into(),
        at: first.id.clone(),
        also: Vec::new(),
        cost: 0.0,
        text: format!(
            "{} of {} GPUs have no network adapter on their node: {} (node {node}) reaches the nearest over the link \
             to node {nearest}{far}, whose rate no dump states",
            alone.len(),
            of(Kind::Gpu).count(),
            first.id
        ),
        evidence: fact.map(|f| format!("{}: node of {}", topology.place(f.at), first.address)).into_iter().collect(),
        cure: "an adapter in a slot of that node, or the GPU's work on the other".into(),
    });
}

fn buses(topology: &Topology, all: &mut Vec<Finding>) {
    let mut told = BTreeSet::new();
    for endpoint in &topology.devices {
        let Some(bus) = endpoint.bus.filter(|b| told.insert(*b)) else { continue };
        let bridge = topology.host.functions.get(&bus);
        let Some(peak) = topology.bus_peak(bus) else { continue };
        all.push(Finding {
            kind: "pci-bus".into(),
            at: bus.to_string(),
            also: Vec::new(),
            cost: 0.0,
            text: format!(
                "{} ({}, {}) is on {}: at most {peak:.3} GB/s for all on it, reads and writes together",
                endpoint.id,
                endpoint.address,
                topology.called(endpoint.address),
                topology.bus_name(bus),
            ),
            evidence: bridge
                .and_then(|b| b.class.as_ref())
                .map(|c| format!("{}: {bus}", topology.place(c.at)))
                .into_iter()
                .chain(topology.slow_clock(bus))
                .collect(),
            cure: "a device for PCI Express".into(),
        });
    }
}

/// Root ports of a chipset share its one link to the processor.
fn chipset(topology: &Topology, all: &mut Vec<Finding>) {
    let of_chipset = |f: &Function| {
        let name = f.name.as_ref().map_or("", |n| n.value.as_str());
        name.contains("Express Root Port")
            && ["chipset", "Chipset", "PCH", "Platform Controller Hub", "82801"].iter().any(|w| name.contains(w))
    };
    let behind: Vec<&Endpoint> = topology
        .devices
        .iter()
        .filter(|s| s.kind < Kind::Bridge)
        .filter(|s| {
            topology.tree.path(s.address).last().and_then(|r| topology.host.functions.get(r)).is_some_and(of_chipset)
        })
        .collect();
    let rates: Option<Vec<f64>> = behind.iter().map(|s| topology.with(s, Way::Write, None, None)).collect();
    let (Some(first), Some(rates)) = (behind.first(), rates) else { return };
    let sum: f64 = rates.iter().sum();
    let port = topology.tree.path(first.address).last().copied();
    let evidence = port
        .and_then(|p| Some((p, topology.host.functions.get(&p)?.name.as_ref()?.at)))
        .map(|(p, at)| format!("{}: {p} is a port of the chipset", topology.place(at)));
    // DMI is PCI Express of four lanes: 5 GT/s until 2014, 8 GT/s after (Intel's datasheets of the 5 to 400 series).
    let sizes = Sizes { mps: 128, mrrs: 128, completion: 64 };
    let carries = |generation| {
        let lanes = Lanes::new(4)?;
        topology.rates.of(Speed::new(generation, lanes), sizes, Way::Write)
    };
    let (Some(slow), Some(fast)) = (carries(Generation::Gen2), carries(Generation::Gen3)) else { return };
    if sum < slow {
        return;
    }
    let most = rates.iter().copied().fold(0.0, f64::max);
    all.push(Finding {
        kind: "chipset".into(),
        at: first.id.clone(),
        also: Vec::new(),
        cost: rounded(most - most * (slow / sum).min(1.0)),
        text: format!(
            "{} devices ({} first) are behind the chipset and could move {sum:.2} GB/s; its link to the processor, \
             four lanes of 5 or 8 GT/s that no dump shows, carries {slow:.1} to {fast:.1} GB/s for all of them",
            behind.len(),
            first.id
        ),
        evidence: evidence.into_iter().collect(),
        cure: "a slot of the processor".into(),
    });
}

fn errors(topology: &Topology, all: &mut Vec<Finding>) {
    for (address, function) in &topology.host.functions {
        let Some(corrected) = function.corrected.as_ref().filter(|c| c.value.of_the_link() > 0) else { continue };
        let kinds: Vec<String> = corrected
            .value
            .kinds
            .iter()
            .filter(|(k, _)| **k != "AdvNonFatalErr")
            .map(|(k, n)| if corrected.value.counted { format!("{k} {n}") } else { (*k).to_owned() })
            .collect();
        all.push(Finding {
            kind: "corrected-errors".into(),
            at: address.to_string(),
            also: Vec::new(),
            cost: 0.0,
            text: format!(
                "{address} ({}) reports corrected errors: {}. Each costs a replay, and many make a link fall back to a \
                 lower speed",
                function.called(),
                kinds.join(", ")
            ),
            evidence: vec![format!("{}: {} of {address}", topology.place(corrected.at), corrected.value.told_by)],
            cure: "watch whether they grow (aer_dev_correctable); reseat the card, or change riser or cable".into(),
        });
    }
}

/// Of an adapter with two ports, one that has a driver and one that has none.
fn idle_functions(topology: &Topology, all: &mut Vec<Finding>) {
    for endpoint in topology.devices.iter().filter(|s| s.kind == Kind::Nic && s.functions.len() == 2) {
        let functions = endpoint.functions.iter().filter_map(|a| topology.host.functions.get(a));
        // Without its other lines a missing driver is only not in the dump.
        let drivers: Vec<_> = functions.filter(|f| f.express.is_some()).map(|f| f.driver.as_ref()).collect();
        let [Some(used), None] = drivers.as_slice() else { continue };
        all.push(Finding {
            kind: "unused-function".into(),
            at: endpoint.id.clone(),
            also: Vec::new(),
            cost: rounded(endpoint.port.unwrap_or(0.0) / 2.0),
            text: format!(
                "{} has two functions and only {} has a driver ({}): half of its ports carry nothing",
                endpoint.id, endpoint.functions[0], used.value
            ),
            evidence: vec![format!("{}: driver of {}", topology.place(used.at), endpoint.functions[0])],
            cure: "cable and configure the other port".into(),
        });
    }
}

/// Ports that see a card and have no link to it.
fn absent(topology: &Topology, all: &mut Vec<Finding>) {
    for (address, function) in &topology.host.functions {
        let Some(express) = &function.express else { continue };
        let down = value(&express.width) == Some(0) || value(&express.active) == Some(false);
        let empty = topology.tree.children(*address).is_empty();
        let Some(present) = express.present.as_ref().filter(|p| p.value && down && empty) else { continue };
        all.push(Finding {
            kind: "no-link".into(),
            at: address.to_string(),
            also: Vec::new(),
            cost: 0.0,
            text: format!("{address} ({}) sees a card in its slot and has no link to it", function.called()),
            evidence: vec![format!("{}: SltSta of {address}", topology.place(present.at))],
            cure: "reseat the card; look whether the port is switched off in the firmware's setup".into(),
        });
    }
}
