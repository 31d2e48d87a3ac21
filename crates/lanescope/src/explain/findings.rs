//! What holds a host back, each with what it costs a device in GB/s, the dump's lines, and a cure.
//!
//! A cost is the difference of two expected numbers: with the finding's cause gone, and as it is. What costs nothing
//! measurable is listed only where it is a risk, and ranks behind.

use super::belief::{Standing, shown};
use super::expect::meet;
use super::rate::{Corner, Sizes, Way, efficiency};
use super::slots::Slot;
use super::tree::Role;
use super::{Finding, Seen};
use crate::import::host::{Address, Function, Kind, Place, value};
use crate::protocol::pcie::Speed;
use std::collections::{BTreeMap, BTreeSet};

/// Findings of a host, the costliest first.
pub(crate) fn of(seen: &Seen) -> Vec<Finding> {
    let mut all = Vec::new();
    trained(seen, &mut all);
    shared(seen, &mut all);
    payload(seen, &mut all);
    mismatch(seen, &mut all);
    requests(seen, &mut all);
    redirect(seen, &mut all);
    virtual_links(seen, &mut all);
    nodes(seen, &mut all);
    buses(seen, &mut all);
    chipset(seen, &mut all);
    errors(seen, &mut all);
    idle_functions(seen, &mut all);
    absent(seen, &mut all);
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

impl Seen<'_> {
    /// A device's typical rate with a link at another speed, or with other sizes.
    fn with(&self, slot: &Slot, way: Way, other: Option<(usize, Speed)>, sizes: Option<Sizes>) -> Option<f64> {
        let sizes = sizes.unwrap_or_else(|| self.sizes(slot, Corner::Typical));
        let mut least = f64::INFINITY;
        for link in &slot.links {
            let speed = match other.filter(|(l, _)| l == link) {
                Some((_, speed)) => speed,
                None => self.speed(*link, Corner::Typical)?,
            };
            least = least.min(self.rates.of(speed, sizes, way)?);
        }
        let rate = least * efficiency(slot.kind, way, Corner::Typical);
        (rate.is_finite()).then(|| slot.port.map_or(rate, |p| p.min(rate)))
    }

    /// What a change gives a device at most, of its two ways.
    fn gain(&self, slot: &Slot, other: Option<(usize, Speed)>, sizes: Option<Sizes>) -> f64 {
        if self.manages(slot) {
            return 0.0;
        }
        let gain = |way| Some(self.with(slot, way, other, sizes)? - self.with(slot, way, None, None)?);
        [Way::Write, Way::Read].into_iter().filter_map(gain).fold(0.0, f64::max)
    }

    /// Whether a function only manages: an adapter among solid-state drives below one switch, or what is of no class
    /// that moves data and was given one or two lanes.
    fn manages(&self, slot: &Slot) -> bool {
        if slot.kind == Kind::Other {
            let own = slot.links.first().and_then(|l| self.beliefs[*l].lower_capable.or(self.beliefs[*l].capable));
            return own.is_none_or(|s| s.lanes.count() < 4);
        }
        let switches = self.tree.path(slot.address).into_iter().filter(|a| self.in_switch(*a));
        let drive = |a: &Address| self.host.functions.get(a).is_some_and(|f| f.kind() == Kind::Drive);
        slot.kind == Kind::Storage && switches.into_iter().any(|s| self.tree.ends_below(s).iter().any(drive))
    }

    fn place(&self, at: Place) -> String {
        self.host.place(at)
    }

    fn called(&self, address: Address) -> String {
        self.host.functions.get(&address).map_or_else(String::new, Function::called)
    }

    /// Where the status and the capability of a link stand.
    fn evidence(&self, link: usize) -> Vec<String> {
        let link = &self.tree.links[link];
        let mut lines = Vec::new();
        for address in link.upper.iter().chain([&link.lower]) {
            let Some(e) = self.host.functions.get(address).and_then(|f| f.express.as_ref()) else { continue };
            for (what, fact) in [("LnkCap", &e.speed_capable), ("LnkSta", &e.speed)] {
                if let Some(fact) = fact {
                    lines.push(format!("{}: {what} of {address}", self.place(fact.at)));
                }
            }
        }
        lines
    }

    fn behind(&self, link: usize) -> Vec<&Slot> {
        self.devices.iter().filter(|s| s.links.contains(&link)).collect()
    }
}

fn nothing_lost(seen: &Seen, slots: &[&Slot]) -> String {
    match slots {
        [slot] if seen.manages(slot) => "no bulk data pass this function, so it costs nothing".to_owned(),
        [slot] if slot.port.is_some() => {
            format!("its network ports carry {:.3} GB/s, so it costs nothing today", slot.port.unwrap_or_default())
        }
        _ => "another link on the way is slower, so it costs nothing today".to_owned(),
    }
}

fn trained(seen: &Seen, all: &mut Vec<Finding>) {
    for (index, belief) in seen.beliefs.iter().enumerate() {
        let slots = seen.behind(index);
        let (Some(now), false) = (belief.typical, slots.is_empty()) else { continue };
        let who = seen.called(slots[0].address);
        let name = seen.link_name(index);
        let most = |speed| {
            let cost = slots.iter().map(|s| seen.gain(s, Some((index, speed)), None)).fold(0.0, f64::max);
            rounded(cost)
        };
        let clause = |cost: f64| match cost > 0.0 {
            true => format!("; it costs {} {cost:.2} GB/s", slots[0].id),
            false => format!("; {}", nothing_lost(seen, &slots)),
        };
        if belief.standing == Standing::Down
            && let Some(capable) = belief.capable
        {
            let cost = most(capable);
            let ends = match belief.upper_capable {
                Some(_) => format!("both ends can do {}", shown(capable)),
                None => format!("{who} can do {}, and what the port above can do is not in the dump", shown(capable)),
            };
            let what = if now.lanes < capable.lanes { "lanes" } else { "speed" };
            all.push(Finding {
                kind: "trained-down".into(),
                at: name,
                also: Vec::new(),
                cost,
                text: format!("{who} runs at {}, though {ends}{}", shown(now), clause(cost)),
                evidence: seen.evidence(index),
                cure: match what {
                    "lanes" => "reseat the card, look for a bifurcation setting or a riser that lacks lanes, then \
                                retrain the link"
                        .into(),
                    _ => "look for a speed limit in the firmware's setup and for corrected errors, then retrain the \
                          link"
                        .into(),
                },
            });
        } else if belief.standing == Standing::Lesser
            && let (Some(device), Some(port)) = (belief.lower_capable, belief.upper_capable)
            && (device.lanes > port.lanes || device.generation > port.generation)
            && device.coded() > now.coded()
        {
            let cost = most(device);
            all.push(Finding {
                kind: "narrow-slot".into(),
                at: name,
                also: Vec::new(),
                cost,
                text: format!("{who} can do {} and stands in a slot of {}{}", shown(device), shown(port), clause(cost)),
                evidence: seen.evidence(index),
                cure: format!("a slot of {}", shown(device)),
            });
        }
    }
}

fn shared(seen: &Seen, all: &mut Vec<Finding>) {
    for (index, link) in seen.tree.links.iter().enumerate() {
        let slots: Vec<&Slot> = seen.behind(index).into_iter().filter(|s| s.kind < Kind::Bridge).collect();
        if slots.len() < 2 || !matches!(seen.tree.role(link.lower), Role::Up | Role::Switch) {
            continue;
        }
        // Each as far as its own links and this one let it.
        let wants: Option<Vec<f64>> = slots.iter().map(|s| seen.with(s, Way::Write, None, None)).collect();
        let Some(uplink) = seen.speed(index, Corner::Typical) else { continue };
        let sizes = seen.sizes(slots[0], Corner::Typical);
        let (Some(wants), Some(carries)) = (wants, seen.rates.of(uplink, sizes, Way::Write)) else { continue };
        let sum: f64 = wants.iter().sum();
        let factor = sum / carries;
        // A link further up that is as narrow is told once, there.
        let narrower_above = slots[0].links.iter().skip_while(|l| **l != index).skip(1).any(|l| {
            seen.speed(*l, Corner::Typical).is_some_and(|s| s.coded() <= uplink.coded())
                && seen.behind(*l).len() == seen.behind(index).len()
        });
        if factor < 1.05 || narrower_above {
            continue;
        }
        let Some(shares) = super::scenario::shares(seen, &slots, &[Way::Write], Corner::Typical) else { continue };
        // Who loses most of what it gets alone.
        let loss = |s: &Slot, alone: f64| alone - shares.each.get(&s.id).copied().unwrap_or(alone);
        let losses = slots.iter().zip(&wants).map(|(s, w)| (loss(s, *w), s));
        let Some((cost, loser)) = losses.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let cost = rounded(cost);
        let sure = seen.beliefs[index].low.is_some();
        let taken = if sure { "" } else { "taken for " };
        all.push(Finding {
            kind: "shared-uplink".into(),
            at: seen.link_name(index),
            also: Vec::new(),
            cost,
            text: format!(
                "{} devices ({} to {}) share {taken}{}: together they could use {factor:.1} times what it carries; \
                 all at once, {} loses {cost:.2} GB/s",
                slots.len(),
                slots[0].id,
                slots[slots.len() - 1].id,
                shown(uplink),
                loser.id
            ),
            evidence: seen.evidence(index),
            cure: "spread the devices over more root ports, or do not load them all at once; transfers between them \
                   below the switch do not pass it"
                .into(),
        });
    }
}

/// A device, what a larger MPS would give it, GB/s, and that MPS in bytes.
type Clamped<'a> = (&'a Slot, f64, u32);

fn payload(seen: &Seen, all: &mut Vec<Finding>) {
    // One finding for all devices that the same function clamps.
    let mut clamped: BTreeMap<(Address, u32), Vec<Clamped>> = BTreeMap::new();
    for slot in seen.devices.iter().filter(|s| s.kind < Kind::Bridge) {
        let express = seen.host.functions.get(&slot.address).and_then(|f| f.express.as_ref());
        let own = express.and_then(|e| value(&e.mps_supported));
        let (Some(own), Some(now), Some((least, whose))) = (own, seen.mps(slot), seen.mps_supported(slot)) else {
            continue;
        };
        let reach = own.min(512);
        if now >= reach {
            continue;
        }
        let size = u64::from(if least > now { least.min(512) } else { reach });
        let sizes = seen.sizes(slot, Corner::Typical);
        let larger = Sizes { mps: size, completion: sizes.completion, ..sizes };
        let gain = rounded(seen.gain(slot, None, Some(larger)));
        if gain > 0.0 {
            let by = if least > now { slot.address } else { whose };
            clamped.entry((by, now)).or_default().push((slot, gain, size as u32));
        }
    }
    for ((by, now), slots) in clamped {
        let (slot, cost, size) = slots.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied().unwrap_or(slots[0]);
        let alone = by == slot.address;
        let others = if slots.len() > 1 { format!(" and {} more", slots.len() - 1) } else { String::new() };
        let text = if alone {
            let whole = slot.links.last().is_some_and(|l| seen.tree.links[*l].upper.is_some());
            let all = if whole { "all on its way" } else { "all of its way that the dump shows" };
            format!("{}{others} runs at MPS {now} B, and {all} can do {size} B", slot.id)
        } else {
            format!("{}{others} runs at MPS {now} B: {by} ({}) can do no more", slot.id, seen.called(by))
        };
        let at = |a: Address| {
            let e = seen.host.functions.get(&a)?.express.as_ref()?;
            Some(format!("{}: DevCap of {a}", seen.place(e.mps_supported.as_ref()?.at)))
        };
        all.push(Finding {
            kind: "mps".into(),
            at: slot.id.clone(),
            also: Vec::new(),
            cost,
            text: format!("{text}; with {size} B it would get {cost:.2} GB/s more"),
            evidence: [at(slot.address), at(by).filter(|_| !alone)].into_iter().flatten().collect(),
            cure: match alone {
                true => "the kernel's parameter pci=pcie_bus_perf, or the firmware's setting".into(),
                false => "a root port or slot without that function on the way".into(),
            },
        });
    }
}

/// A function that sends larger TLPs than the port above takes: they are malformed there (2.0, 2.2.2).
fn mismatch(seen: &Seen, all: &mut Vec<Finding>) {
    for (address, function) in &seen.host.functions {
        let Some(express) = &function.express else { continue };
        let Some(parent) = seen.tree.parent(*address) else { continue };
        let above = seen.host.functions.get(&parent).and_then(|f| f.express.as_ref());
        let (Some(own), Some(port)) = (&express.mps, above.and_then(|e| e.mps.as_ref())) else { continue };
        if own.value <= port.value {
            continue;
        }
        let slot = seen.devices.iter().find(|s| s.functions.contains(address));
        let cost = slot.and_then(|s| seen.with(s, Way::Write, None, None)).unwrap_or(0.0);
        all.push(Finding {
            kind: "mps-mismatch".into(),
            at: address.to_string(),
            also: Vec::new(),
            cost: rounded(cost),
            text: format!(
                "{address} ({}) may send {} B and {parent} above takes {} B: what is larger is malformed, and all of \
                 its {cost:.2} GB/s are at risk",
                function.called(),
                own.value,
                port.value
            ),
            evidence: vec![
                format!("{}: DevCtl of {address}", seen.place(own.at)),
                format!("{}: DevCtl of {parent}", seen.place(port.at)),
            ],
            cure: format!("MPS {} B at both (pci=pcie_bus_safe)", port.value),
        });
    }
}

fn requests(seen: &Seen, all: &mut Vec<Finding>) {
    for slot in seen.devices.iter().filter(|s| s.kind < Kind::Bridge) {
        let express = seen.host.functions.get(&slot.address).and_then(|f| f.express.as_ref());
        let Some(mrrs) = express.and_then(|e| e.mrrs.as_ref()).filter(|m| m.value < 512) else { continue };
        let now = seen.sizes(slot, Corner::Typical);
        let larger = Sizes { mrrs: 512, completion: now.mps.min(128), ..now };
        let cost = rounded(seen.gain(slot, None, Some(larger)));
        if cost > 0.0 {
            all.push(Finding {
                kind: "mrrs".into(),
                at: slot.id.clone(),
                also: Vec::new(),
                cost,
                text: format!(
                    "{} reads in requests of {} B; with 512 B it would get {cost:.2} GB/s more",
                    slot.id, mrrs.value
                ),
                evidence: vec![format!("{}: DevCtl of {}", seen.place(mrrs.at), slot.address)],
                cure: "a larger Max_Read_Request_Size, by the driver or pci=pcie_bus_perf".into(),
            });
        }
    }
}

fn redirect(seen: &Seen, all: &mut Vec<Finding>) {
    let devices: Vec<&Slot> = seen.devices.iter().filter(|s| matches!(s.kind, Kind::Gpu | Kind::Nic)).collect();
    let mut told = BTreeSet::new();
    for (n, from) in devices.iter().enumerate() {
        for to in &devices[n + 1..] {
            let meeting = meet(seen, from, to);
            let (Some(switch), Some(port)) = (meeting.switch, meeting.redirect) else { continue };
            if !told.insert(switch) {
                continue;
            }
            let own: Vec<usize> = meeting.own.0.iter().chain(&meeting.own.1).copied().collect();
            let direct = seen.along(from, &own, Way::Write, Corner::Typical).map(|d| d.0);
            // All devices below the switch that send to one another then share its way up.
            let peers = devices.iter().filter(|d| seen.tree.path(d.address).contains(&switch)).count().max(2);
            let up = seen.along(from, &from.links, Way::Write, Corner::Typical).map(|u| u.0 / peers as f64);
            let (Some(direct), Some(up)) = (direct, up) else { continue };
            let cost = rounded(direct - up.min(direct));
            let at = seen.host.functions.get(&port).and_then(|f| f.acs.as_ref()).map(|a| a.at);
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
                evidence: at.map(|at| format!("{}: ACSCtl of {port}", seen.place(at))).into_iter().collect(),
                cure: format!(
                    "where no virtual machine needs the isolation: setpci -s {port} ECAP_ACS+0x6.w=0000 at each \
                     downstream port, or ACS off in the firmware's setup"
                ),
            });
        }
    }
}

fn virtual_links(seen: &Seen, all: &mut Vec<Finding>) {
    let mut worst = 0.0_f64;
    let mut lines = Vec::new();
    let mut names = Vec::new();
    for (index, belief) in seen.beliefs.iter().enumerate() {
        let Standing::Virtual(why) = &belief.standing else { continue };
        lines.extend(belief.at.map(|at| format!("{}: {why}", seen.place(at))));
        names.push(seen.link_name(index));
        let Some(slot) = seen.behind(index).into_iter().find(|s| s.kind < Kind::Bridge) else { continue };
        if let (Some(taken), Some(claimed)) = (belief.typical, belief.negotiated) {
            let sizes = seen.sizes(slot, Corner::Typical);
            let of = |s| seen.rates.of(s, sizes, Way::Write).unwrap_or(0.0);
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
            "{which} not what the dump says; a library that believes it plans around links that are not there, and \
             collectives have run up to nine times slower for it"
        ),
        evidence: lines,
        cure: "lanescope explain … --emit nccl-xml > topo.xml, then NCCL_TOPO_FILE=topo.xml".into(),
    });
}

fn nodes(seen: &Seen, all: &mut Vec<Finding>) {
    let of = |kind| seen.devices.iter().filter(move |s| s.kind == kind && s.node.is_some());
    let nics: BTreeSet<_> = of(Kind::Nic).filter_map(|s| s.node).collect();
    let alone: Vec<&Slot> = of(Kind::Gpu).filter(|s| s.node.is_some_and(|n| !nics.contains(&n))).collect();
    let (Some(first), false) = (alone.first(), nics.is_empty()) else { return };
    let node = first.node.unwrap_or_default();
    let nearest = nics.iter().min_by_key(|n| seen.host.distance(node, **n).unwrap_or(u32::MAX));
    let Some(nearest) = nearest else { return };
    // Nodes of one socket are near: BIOS settings cut a socket into nodes.
    let distance = seen.host.distance(node, *nearest);
    let fact = seen.host.functions.get(&first.address).and_then(|f| f.node.as_ref());
    let far = distance.map_or_else(String::new, |d| format!(", at distance {d}"));
    all.push(Finding {
        kind: "far-node".into(),
        at: first.id.clone(),
        also: Vec::new(),
        cost: 0.0,
        text: format!(
            "{} of {} GPUs have no network adapter on their node: {} (node {node}) reaches the nearest over the link to \
             node {nearest}{far}, whose rate no dump states",
            alone.len(),
            of(Kind::Gpu).count(),
            first.id
        ),
        evidence: fact.map(|f| format!("{}: node of {}", seen.place(f.at), first.address)).into_iter().collect(),
        cure: "an adapter in a slot of that node, or the GPU's work on the other".into(),
    });
}

fn buses(seen: &Seen, all: &mut Vec<Finding>) {
    let mut told = BTreeSet::new();
    for (address, function) in &seen.host.functions {
        let kind = function.kind();
        let Some(bus) = seen.tree.shared_bus(*address).filter(|_| kind < Kind::Bridge) else { continue };
        if !told.insert(bus) {
            continue;
        }
        let bridge = seen.host.functions.get(&bus);
        let pcix = bridge.and_then(|b| b.pcix.as_ref());
        // 33 MHz of 32 bits unless the bridge says more (PCI 3.0, 1.1): 0.133 GB/s for all on the bus together.
        let wide = pcix.and_then(|p| value(&p.wide)).unwrap_or(false);
        let (clock, mode) = match pcix.and_then(|p| value(&p.frequency)) {
            Some(1) => (66.67, "PCI-X 66"),
            Some(2) => (100.0, "PCI-X 100"),
            Some(3) => (133.33, "PCI-X 133"),
            _ => (66.67, "conventional PCI, 33 or 66 MHz"),
        };
        let bytes = if wide { 8.0 } else { 4.0 };
        all.push(Finding {
            kind: "pci-bus".into(),
            at: bus.to_string(),
            also: Vec::new(),
            cost: 0.0,
            text: format!(
                "{address} ({}) stands on a shared bus behind {bus}: {mode}, {} bits, at most {:.3} GB/s for all on it, \
                 reads and writes together",
                function.called(),
                bytes * 8.0,
                clock * bytes / 1e3
            ),
            evidence: bridge
                .and_then(|b| b.class.as_ref())
                .map(|c| format!("{}: {bus}", seen.place(c.at)))
                .into_iter()
                .collect(),
            cure: "an adapter for PCI Express".into(),
        });
    }
}

/// Root ports of a chipset share its one link to the processor.
fn chipset(seen: &Seen, all: &mut Vec<Finding>) {
    let of_chipset = |f: &Function| {
        let name = f.name.as_ref().map_or("", |n| n.value.as_str());
        name.contains("Express Root Port")
            && ["chipset", "Chipset", "PCH", "Platform Controller Hub", "82801"].iter().any(|w| name.contains(w))
    };
    let behind: Vec<&Slot> = seen
        .devices
        .iter()
        .filter(|s| s.kind < Kind::Bridge)
        .filter(|s| seen.tree.path(s.address).last().and_then(|r| seen.host.functions.get(r)).is_some_and(of_chipset))
        .collect();
    let rates: Option<Vec<f64>> = behind.iter().map(|s| seen.with(s, Way::Write, None, None)).collect();
    let (Some(first), Some(rates)) = (behind.first(), rates) else { return };
    let sum: f64 = rates.iter().sum();
    let port = seen.tree.path(first.address).last().copied();
    let evidence = port
        .and_then(|p| Some((p, seen.host.functions.get(&p)?.name.as_ref()?.at)))
        .map(|(p, at)| format!("{}: {p} is a port of the chipset", seen.place(at)));
    // DMI of four lanes: 5 GT/s (0.8 x 4 x 5 / 8 = 2 GB/s before headers) until 2014, 8 GT/s after.
    if sum < 1.6 {
        return;
    }
    let most = rates.iter().copied().fold(0.0, f64::max);
    all.push(Finding {
        kind: "chipset".into(),
        at: first.id.clone(),
        also: Vec::new(),
        cost: rounded(most - most * (1.6 / sum).min(1.0)),
        text: format!(
            "{} devices ({} first) stand behind the chipset and could move {sum:.2} GB/s; its link to the processor, four \
             lanes of 5 or 8 GT/s that no dump shows, carries 1.6 to 3.4 GB/s for all of them",
            behind.len(),
            first.id
        ),
        evidence: evidence.into_iter().collect(),
        cure: "a slot of the processor".into(),
    });
}

fn errors(seen: &Seen, all: &mut Vec<Finding>) {
    for (address, function) in &seen.host.functions {
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
            evidence: vec![format!("{}: CESta of {address}", seen.place(corrected.at))],
            cure: "watch whether they grow (aer_dev_correctable); reseat the card, or change riser or cable".into(),
        });
    }
}

/// Of an adapter with two ports, one that has a driver and one that has none.
fn idle_functions(seen: &Seen, all: &mut Vec<Finding>) {
    for slot in seen.devices.iter().filter(|s| s.kind == Kind::Nic && s.functions.len() == 2) {
        let functions = slot.functions.iter().filter_map(|a| seen.host.functions.get(a));
        // Without its other lines a missing driver is only not in the dump.
        let drivers: Vec<_> = functions.filter(|f| f.express.is_some()).map(|f| f.driver.as_ref()).collect();
        let [Some(used), None] = drivers.as_slice() else { continue };
        all.push(Finding {
            kind: "unused-function".into(),
            at: slot.id.clone(),
            also: Vec::new(),
            cost: rounded(slot.port.unwrap_or(0.0) / 2.0),
            text: format!(
                "{} has two functions and only {} has a driver ({}): half of its ports carry nothing",
                slot.id, slot.functions[0], used.value
            ),
            evidence: vec![format!("{}: driver of {}", seen.place(used.at), slot.functions[0])],
            cure: "cable and configure the other port".into(),
        });
    }
}

/// Ports that see a card and have no link to it.
fn absent(seen: &Seen, all: &mut Vec<Finding>) {
    for (address, function) in &seen.host.functions {
        let Some(express) = &function.express else { continue };
        let down = value(&express.width) == Some(0) || value(&express.active) == Some(false);
        let empty = seen.tree.children(*address).is_empty();
        let Some(present) = express.present.as_ref().filter(|p| p.value && down && empty) else { continue };
        all.push(Finding {
            kind: "no-link".into(),
            at: address.to_string(),
            also: Vec::new(),
            cost: 0.0,
            text: format!("{address} ({}) sees a card in its slot and has no link to it", function.called()),
            evidence: vec![format!("{}: SltSta of {address}", seen.place(present.at))],
            cure: "reseat the card; look whether the port is switched off in the firmware's setup".into(),
        });
    }
}
