//! A host as a scenario of this program: to go on with, and to ask the estimate what many devices get at once.
//!
//! A link is a link, and what stands at its lower end with further links behind it is a switch. Devices' engines get
//! the rate that they should reach alone. Where a dump leaves a speed open the likely one is written, with a comment.

use super::belief::{Standing, shown};
use super::endpoints::{Endpoint, word};
use super::peers::peer_path;
use super::rate::{Corner, Way};
use super::{Range, Topology};
use crate::diagnostic::Diagnostics;
use crate::import::host::{Host, Kind};
use crate::plan::Plan;
use crate::protocol::pcie::Speed;
use crate::result::Report;
use crate::scenario::tree::Author;
use crate::scenario::{Included, Nothing};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// One transfer of a load of several devices at once.
#[derive(Clone, Copy)]
pub(crate) enum Transfer<'a> {
    /// Between a device and the memory of its node.
    Memory(&'a Endpoint, Way),
    /// What one device writes into another.
    Peer(&'a Endpoint, &'a Endpoint),
}

/// What devices get at once.
pub(crate) struct Shares {
    /// All together, GB/s.
    pub(crate) total: f64,
    /// Of the device that gets least, GB/s, its ways added.
    pub(crate) least: f64,
    /// What binds: links that several of them share, that of the device that gets least first; where nothing shared
    /// binds, what binds that device by itself.
    pub(crate) bound_by: String,
    /// The device that gets least, where nothing that several share binds.
    pub(crate) by_itself: Option<String>,
    /// Of each device by its name in reports, GB/s; of peers, of each transfer as `gpu0_gpu1`.
    pub(crate) each: BTreeMap<String, f64>,
}

/// The device or the pair of peers that a flow of a [`Draft`] belongs to.
pub(crate) fn of_flow(name: &str) -> &str {
    ["_w", "_r"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// A scenario in the making.
struct Draft<'a> {
    topology: &'a Topology<'a>,
    corner: Corner,
    parts: String,
    /// Tables of links; of those that are a host's own, which.
    links: Vec<(Option<usize>, String)>,
    flows: String,
    roots: BTreeMap<String, u64>,
    root_of: BTreeMap<usize, String>,
    written: BTreeSet<usize>,
    ports: BTreeMap<usize, usize>,
    comments: bool,
    /// Tags of each endpoint: as many as may be, where nothing else is asked.
    tags: u32,
    drawn: BTreeMap<String, bool>,
    /// Root complexes between which something is passed on.
    joined: BTreeSet<(String, String)>,
    /// Links whose ACS redirects what their device sends to peers.
    redirected: BTreeSet<usize>,
}

/// A rate between root complexes that never binds.
const UNBOUND: &str = "1000 GB/s";

/// Tags that never bind; a device has no more than its link's generation.
const MANY_TAGS: u32 = 16384;

impl<'a> Draft<'a> {
    fn new(topology: &'a Topology, corner: Corner, comments: bool) -> Draft<'a> {
        Draft {
            topology,
            corner,
            parts: String::new(),
            links: Vec::new(),
            flows: String::new(),
            roots: BTreeMap::new(),
            root_of: BTreeMap::new(),
            written: BTreeSet::new(),
            ports: BTreeMap::new(),
            comments,
            tags: MANY_TAGS,
            drawn: BTreeMap::new(),
            joined: BTreeSet::new(),
            redirected: BTreeSet::new(),
        }
    }

    /// The speed to write for a link.
    fn speed(&self, link: usize) -> Option<Speed> {
        let likely = || self.topology.speed(link, Corner::Typical).or_else(|| self.topology.speed(link, Corner::High));
        match self.corner {
            Corner::Low => self.topology.speed(link, Corner::Low),
            Corner::Typical | Corner::High => likely()
                .filter(|_| self.corner == Corner::Typical)
                .or_else(|| self.topology.speed(link, Corner::High).or_else(likely)),
        }
    }

    /// The root complex of a device: that of its node, and one for all behind the same root port.
    fn root(&mut self, endpoint: &Endpoint) -> String {
        let name = endpoint.node.map_or_else(|| "host".to_owned(), |n| format!("node{n}"));
        match endpoint.links.last() {
            Some(top) => self.root_of.entry(*top).or_insert(name).clone(),
            None => name,
        }
    }

    /// Adds a device with the links above it, once; whether all of them have a speed.
    fn device(&mut self, endpoint: &Endpoint) -> bool {
        if let Some(drawn) = self.drawn.get(&endpoint.id) {
            return *drawn;
        }
        let drawn = self.draw(endpoint);
        self.drawn.insert(endpoint.id.clone(), drawn);
        drawn
    }

    fn draw(&mut self, endpoint: &Endpoint) -> bool {
        // A shared bus is another technology, and stands in scenarios of its own.
        if endpoint.bus.is_some()
            || endpoint.links.is_empty()
            || endpoint.links.iter().any(|l| self.speed(*l).is_none())
        {
            return false;
        }
        let rate = |way| self.topology.alone(endpoint, way).0;
        let corner = self.corner;
        let engine = |range: Range| range.at(corner).or(range.typical).or(range.high).map(|r| r * 8.0);
        let sizes = self.topology.sizes(endpoint, corner);
        let root = self.root(endpoint);
        let completion = self.roots.entry(root.clone()).or_insert(sizes.completion);
        *completion = sizes.completion.min(*completion);
        if self.comments {
            let name = self.topology.host.functions.get(&endpoint.address).map_or_else(String::new, |f| f.called());
            let _ = write!(self.parts, "\n# {} {}", endpoint.address, name.replace(['\n', '\r'], " "));
        }
        // One engine where its tags are the question.
        let engines = if self.tags == MANY_TAGS { 64 } else { 1 };
        let own = endpoint.links.first().and_then(|l| self.speed(*l));
        let (id, tags) = (&endpoint.id, own.map_or(self.tags, |s| self.tags.min(s.generation.tags())));
        let _ = write!(self.parts, "\n[parts.{id}]\nis = \"endpoint\"\ntags = {tags}\nengines = {engines}\n");
        let _ = writeln!(self.parts, "max_read_request = \"{} B\"", sizes.mrrs);
        for (key, range) in [("write_rate", rate(Way::Write)), ("read_rate", rate(Way::Read))] {
            if let Some(gigabits) = engine(range) {
                let _ = writeln!(self.parts, "{key} = \"{gigabits:.3} Gb/s\"");
            }
        }
        let mut below = endpoint.id.clone();
        // A switch may be a device too: its function beside the upstream port gets a way of its own inside.
        let inside = |l: &usize| self.topology.devices.iter().any(|s| s.links.iter().skip(1).any(|o| o == l));
        if let Some(own) = endpoint.links.first().copied().filter(|l| inside(l)) {
            let port = self.port(own);
            self.link(own, &format!("{own}i"), &port, &below, sizes.mps);
            below = format!("sw{own}.up");
        }
        // From the device up; each link that leads to further ones ends in a switch.
        for (n, link) in endpoint.links.iter().enumerate() {
            if !self.written.insert(*link) {
                break;
            }
            let above = endpoint.links.get(n + 1).copied();
            let end = above.map_or_else(|| root.clone(), |above| self.port(above));
            self.link(*link, &link.to_string(), &end, &below, sizes.mps);
            if let Some(above) = above {
                below = format!("sw{above}.up");
            }
        }
        true
    }

    /// The next port of the switch at the lower end of a link.
    fn port(&mut self, link: usize) -> String {
        if !self.ports.contains_key(&link) {
            let _ = write!(self.parts, "\n[parts.sw{link}]\nis = \"switch\"\n");
        }
        let port = self.ports.entry(link).or_default();
        *port += 1;
        format!("sw{link}.down.{}", *port - 1)
    }

    fn link(&mut self, link: usize, name: &str, above: &str, below: &str, mps: u64) {
        let Some(speed) = self.speed(link) else { return };
        let mut table = String::new();
        if self.comments {
            let belief = &self.topology.beliefs[link];
            let _ = write!(table, "\n# {}", self.topology.link_name(link));
            if let Some(at) = belief.at {
                let _ = write!(table, ", {}", self.topology.host.place(at));
            }
            match &belief.standing {
                Standing::Virtual(why) | Standing::Unknown(why) => {
                    let _ = write!(table, "\n# taken for {}: {why}", shown(speed));
                }
                Standing::Idle => {
                    let _ = write!(table, "\n# idle in the dump; under load it rises");
                }
                _ => {}
            }
        }
        let _ = write!(
            table,
            "\n[links.l{name}]\nbetween = [\"{above}\", \"{below}\"]\npcie = \"{speed}\"\nmps = \"{mps} B\"\n"
        );
        // A way inside a switch is not the link itself, though it stands in for it.
        let own = name == link.to_string();
        self.links.push((own.then_some(link), table));
    }

    /// Adds a transfer, with its devices; whether all of their links have a speed.
    fn transfer(&mut self, transfer: Transfer) -> bool {
        match transfer {
            Transfer::Memory(endpoint, way) => {
                let drawn = self.device(endpoint);
                let memory = format!("{}.memory", self.root(endpoint));
                let (word, suffix) = if way == Way::Write { ("write", "w") } else { ("read", "r") };
                self.flow(&format!("{}_{suffix}", endpoint.id), (&endpoint.id, &memory), word);
                drawn
            }
            Transfer::Peer(from, to) => {
                let drawn = self.device(from) & self.device(to);
                let name = format!("{}_{}", from.id, to.id);
                let path = peer_path(self.topology, from, to);
                // Through root complexes: one forwards as much as its links carry, and so does what joins several,
                // since no dump says less.
                if path.is_forwarded() {
                    let (a, b) = (self.root(from), self.root(to));
                    if a != b {
                        self.joined.insert(if a < b { (a, b) } else { (b, a) });
                    }
                    self.redirected.extend(from.links.first().filter(|_| path.redirect.is_some()));
                }
                self.flow(&name, (&from.id, &to.id), "write");
                drawn
            }
        }
    }

    fn flow(&mut self, name: &str, (from, to): (&str, &str), word: &str) {
        let _ = write!(
            self.flows,
            "\n[flows.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\ndo = \"{word}\"\nsize = \"4 KiB\"\n"
        );
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (root, completion) in &self.roots {
            let _ = write!(out, "\n[parts.{root}]\nis = \"root-complex\"\ncompletion_size = \"{completion} B\"\n");
        }
        let mut links = String::new();
        for (link, table) in &self.links {
            links += table;
            if link.is_some_and(|l| self.redirected.contains(&l)) {
                links += "acs_request_redirect = true\n";
            }
        }
        for (a, b) in &self.joined {
            let _ = write!(links, "\n[links.{a}_{b}]\nbetween = [\"{a}\", \"{b}\"]\ncoherent = \"{UNBOUND}\"\n");
        }
        out + &self.parts + &links + &self.flows
    }
}

/// The scenario of some transfers at once; `None` where a link's speed is not known.
pub(crate) fn text(topology: &Topology, transfers: &[Transfer], corner: Corner) -> Option<String> {
    let known = |e: &Endpoint| e.links.iter().all(|l| topology.speed(*l, corner).is_some());
    let all = transfers.iter().all(|t| match t {
        Transfer::Memory(endpoint, _) => known(endpoint),
        Transfer::Peer(from, to) => known(from) && known(to),
    });
    let mut draft = Draft::new(topology, corner, false);
    let drawn = all && transfers.iter().all(|t| draft.transfer(*t));
    drawn.then(|| draft.text())
}

/// What devices get when all of these transfers go on at once; `None` where a link's speed is not known.
pub(crate) fn shares(topology: &Topology, transfers: &[Transfer], corner: Corner) -> Option<Shares> {
    of_report(topology, transfers, &run(text(topology, transfers, corner)?)?)
}

/// What a device gets of a way at a corner with so many tags, GB/s.
pub(crate) fn with_tags(topology: &Topology, endpoint: &Endpoint, way: Way, tags: u32, corner: Corner) -> Option<f64> {
    let mut draft = Draft::new(topology, corner, false);
    draft.tags = tags;
    let drawn = draft.transfer(Transfer::Memory(endpoint, way));
    let report = run(drawn.then(|| draft.text())?)?;
    report.flows.first().map(|f| f.share.typical / 8e9)
}

fn of_report(topology: &Topology, transfers: &[Transfer], report: &Report) -> Option<Shares> {
    let mut by_device: BTreeMap<&str, (f64, &str)> = BTreeMap::new();
    for flow in &report.flows {
        let entry = by_device.entry(of_flow(&flow.name)).or_insert((0.0, flow.bound_by.element.as_str()));
        entry.0 += flow.share.typical / 8e9;
    }
    let total = by_device.values().map(|d| d.0).sum();
    let (slowest, (least, element)) = by_device.iter().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let least = *least;
    let each = by_device.iter().map(|(id, d)| ((*id).to_owned(), d.0)).collect();
    let elements = std::iter::once(*element).chain(report.flows.iter().map(|f| f.bound_by.element.as_str()));
    let (bound_by, by_itself) = match in_common(topology, transfers, elements) {
        Some(shared) => (shared, None),
        None => (named(topology, element), Some((*slowest).to_owned())),
    };
    Some(Shares { total, least, bound_by, by_itself, each })
}

/// The link of a host that an element of a scenario stands for.
fn link_of(topology: &Topology, element: &str) -> Option<usize> {
    let number = element.strip_prefix("links.l")?.split(' ').next()?.trim_end_matches('i');
    number.parse().ok().filter(|l| *l < topology.tree.links.len())
}

/// Of some elements that bind, the links that several devices of a load are behind, in words.
fn in_common<'a>(
    topology: &Topology,
    transfers: &[Transfer],
    elements: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let of = |t: &Transfer| match t {
        Transfer::Memory(endpoint, _) => vec![endpoint.id.clone()],
        Transfer::Peer(from, to) => vec![from.id.clone(), to.id.clone()],
    };
    let load: BTreeSet<String> = transfers.iter().flat_map(of).collect();
    let mut links: Vec<usize> = Vec::new();
    for link in elements.filter_map(|e| link_of(topology, e)) {
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let sharers = |link: usize| -> Vec<String> {
        let behind = topology.behind(link).into_iter().map(|e| e.id.clone());
        behind.filter(|id| load.contains(id)).collect()
    };
    links.retain(|l| sharers(*l).len() > 1);
    let first = *links.first()?;
    let who = match &sharers(first)[..] {
        [a, b] => format!("{a} and {b}"),
        [first, .., last] => format!("{first} to {last}"),
        _ => return None,
    };
    let more = match links.len() - 1 {
        0 => String::new(),
        1 => ", and 1 more such link".to_owned(),
        n => format!(", and {n} more such links"),
    };
    Some(format!("{}, which {who} share{more}", topology.link_name(first)))
}

/// A scenario's element in words of the host.
fn named(topology: &Topology, element: &str) -> String {
    if let Some(link) = link_of(topology, element) {
        return topology.link_name(link);
    }
    let id = element.strip_prefix("parts.").unwrap_or(element).split([':', ' ']).next().unwrap_or_default();
    match topology.devices.iter().find(|s| s.id == id) {
        Some(device) => topology.binds_alone(device, Way::Write),
        None => element.to_owned(),
    }
}

/// The plan of a text of [`text`], with what is to be said of it.
pub(crate) fn planned(text: String) -> Option<(Plan, Diagnostics)> {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "host".into(), text, author: Author::User };
    let plan = crate::plan(&mut diagnostics, included, &[], &Nothing)?;
    Some((plan, diagnostics))
}

fn run(text: String) -> Option<Report> {
    planned(text).map(|(plan, diagnostics)| crate::estimate::estimate(&plan, &diagnostics))
}

/// The host as a scenario: its GPUs, network adapters and drives write to memory.
pub fn emit(host: &Host) -> String {
    let topology = Topology::of(host);
    let mut draft = Draft::new(&topology, Corner::Typical, true);
    let mut left_out = Vec::new();
    for endpoint in topology.devices.iter().filter(|s| s.kind < Kind::Bridge) {
        if draft.device(endpoint) {
            draft.transfer(Transfer::Memory(endpoint, Way::Write));
        } else {
            let why = match endpoint.bus {
                Some(bus) => format!("it is on the shared bus behind {bus}: lanescope wire pci"),
                None => "the speed of a link is not known".to_owned(),
            };
            left_out.push(format!("# {} {} is left out: {why}", word(endpoint.kind), endpoint.address));
        }
    }
    let dumps: Vec<&str> = host.dumps.iter().map(|d| d.name.as_str()).collect();
    let mut out = format!("# A host as {} tell it.\n", dumps.join(", "));
    for line in left_out {
        out += &line;
        out.push('\n');
    }
    out + &draft.text()
}
