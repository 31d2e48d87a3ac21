//! A host as a scenario of this program: to go on with, and to ask the estimate what many devices get at once.
//!
//! A link is a link, and what stands at its lower end with further links behind it is a switch. Devices' engines get
//! the rate that they should reach alone. Where a dump leaves a speed open the likely one is written, with a comment.

use super::belief::{Standing, shown};
use super::rate::{Corner, Way};
use super::slots::{Slot, word};
use super::{Range, Seen};
use crate::diagnostic::Diagnostics;
use crate::import::host::{Host, Kind};
use crate::protocol::pcie::Speed;
use crate::result::Report;
use crate::scenario::tree::Author;
use crate::scenario::{Included, Resolver};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What devices get at once.
pub(crate) struct Shares {
    /// All together, GB/s.
    pub(crate) total: f64,
    /// Of the device that gets least, GB/s, its ways added.
    pub(crate) least: f64,
    /// What binds that device.
    pub(crate) bound_by: String,
    /// Of each device by its name in reports, GB/s.
    pub(crate) each: BTreeMap<String, f64>,
}

struct Nothing;

impl Resolver for Nothing {
    fn resolve(&self, _: &str, _: &str) -> Result<Included, String> {
        Err("nothing can be included here".into())
    }
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A scenario in the making.
struct Draft<'a> {
    seen: &'a Seen<'a>,
    corner: Corner,
    parts: String,
    links: String,
    flows: String,
    roots: BTreeMap<String, u64>,
    root_of: BTreeMap<usize, String>,
    written: BTreeSet<usize>,
    ports: BTreeMap<usize, usize>,
    comments: bool,
}

impl<'a> Draft<'a> {
    fn new(seen: &'a Seen, corner: Corner, comments: bool) -> Draft<'a> {
        Draft {
            seen,
            corner,
            parts: String::new(),
            links: String::new(),
            flows: String::new(),
            roots: BTreeMap::new(),
            root_of: BTreeMap::new(),
            written: BTreeSet::new(),
            ports: BTreeMap::new(),
            comments,
        }
    }

    /// The speed to write for a link.
    fn speed(&self, link: usize) -> Option<Speed> {
        let likely = || self.seen.speed(link, Corner::Typical).or_else(|| self.seen.speed(link, Corner::High));
        match self.corner {
            Corner::Low => self.seen.speed(link, Corner::Low),
            Corner::Typical | Corner::High => likely()
                .filter(|_| self.corner == Corner::Typical)
                .or_else(|| self.seen.speed(link, Corner::High).or_else(likely)),
        }
    }

    /// The root complex of a device: that of its node, and one for all behind the same root port.
    fn root(&mut self, slot: &Slot) -> String {
        let name = slot.node.map_or_else(|| "host".to_owned(), |n| format!("node{n}"));
        match slot.links.last() {
            Some(top) => self.root_of.entry(*top).or_insert(name).clone(),
            None => name,
        }
    }

    /// Adds a device with the links above it; whether all of them have a speed.
    fn device(&mut self, slot: &Slot) -> bool {
        if slot.links.is_empty() || slot.links.iter().any(|l| self.speed(*l).is_none()) {
            return false;
        }
        let rate = |way| self.seen.alone(slot, way).0;
        let corner = self.corner;
        let engine = |range: Range| range.at(corner).or(range.typical).or(range.high).map(|r| r * 8.0);
        let sizes = self.seen.sizes(slot, corner);
        let root = self.root(slot);
        let completion = self.roots.entry(root.clone()).or_insert(sizes.completion);
        *completion = sizes.completion.min(*completion);
        if self.comments {
            let name = self.seen.host.functions.get(&slot.address).map_or_else(String::new, |f| f.called());
            let _ = write!(self.parts, "\n# {} {}", slot.address, name.replace(['\n', '\r'], " "));
        }
        let _ = write!(self.parts, "\n[parts.{}]\nis = \"endpoint\"\ntags = 16384\nengines = 64\n", slot.id);
        let _ = writeln!(self.parts, "max_read_request = \"{} B\"", sizes.mrrs);
        for (key, range) in [("write_rate", rate(Way::Write)), ("read_rate", rate(Way::Read))] {
            if let Some(gigabits) = engine(range) {
                let _ = writeln!(self.parts, "{key} = \"{gigabits:.3} Gb/s\"");
            }
        }
        let mut below = slot.id.clone();
        // A switch may be a device too: its function beside the upstream port gets a way of its own inside.
        let inside = |l: &usize| self.seen.devices.iter().any(|s| s.links.iter().skip(1).any(|o| o == l));
        if let Some(own) = slot.links.first().copied().filter(|l| inside(l)) {
            let port = self.port(own);
            self.link(own, &format!("{own}i"), &port, &below, sizes.mps);
            below = format!("sw{own}.up");
        }
        // From the device up; each link that leads to further ones ends in a switch.
        for (n, link) in slot.links.iter().enumerate() {
            if !self.written.insert(*link) {
                break;
            }
            let above = slot.links.get(n + 1).copied();
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
        if self.comments {
            let belief = &self.seen.beliefs[link];
            let _ = write!(self.links, "\n# {}", self.seen.link_name(link));
            if let Some(at) = belief.at {
                let _ = write!(self.links, ", {}", self.seen.host.place(at));
            }
            match &belief.standing {
                Standing::Virtual(why) | Standing::Unknown(why) => {
                    let _ = write!(self.links, "\n# taken for {}: {why}", shown(speed));
                }
                Standing::Idle => {
                    let _ = write!(self.links, "\n# idle in the dump; under load it rises");
                }
                _ => {}
            }
        }
        let _ = write!(
            self.links,
            "\n[links.l{name}]\nbetween = [\"{above}\", \"{below}\"]\npcie = \"{speed}\"\nmps = \"{mps} B\"\n"
        );
    }

    fn flow(&mut self, slot: &Slot, way: Way) {
        let root = self.root(slot);
        let (word, suffix) = if way == Way::Write { ("write", "w") } else { ("read", "r") };
        let _ = write!(
            self.flows,
            "\n[flows.{id}_{suffix}]\nfrom = \"{id}\"\nto = \"{root}.memory\"\ndo = \"{word}\"\nsize = \"4 KiB\"\n",
            id = slot.id
        );
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (root, completion) in &self.roots {
            let _ = write!(out, "\n[parts.{root}]\nis = \"root-complex\"\ncompletion_size = \"{completion} B\"\n");
        }
        out + &self.parts + &self.links + &self.flows
    }
}

/// What devices get when all of them do all of these ways at once; `None` where a link's speed is not known.
pub(crate) fn shares(seen: &Seen, slots: &[&Slot], ways: &[Way], corner: Corner) -> Option<Shares> {
    if slots.iter().any(|s| s.links.iter().any(|l| seen.speed(*l, corner).is_none())) {
        return None;
    }
    let mut draft = Draft::new(seen, corner, false);
    for slot in slots {
        if !draft.device(slot) {
            return None;
        }
        ways.iter().for_each(|w| draft.flow(slot, *w));
    }
    let report = run(draft.text())?;
    let mut by_device: BTreeMap<&str, (f64, &str)> = BTreeMap::new();
    for flow in &report.flows {
        let id = flow.name.split('_').next().unwrap_or_default();
        let entry = by_device.entry(id).or_insert((0.0, flow.bound_by.element.as_str()));
        entry.0 += flow.share.typical / 8e9;
    }
    let total = by_device.values().map(|d| d.0).sum();
    let (_, (least, element)) = by_device.iter().min_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let (least, bound_by) = (*least, named(seen, element));
    let each = by_device.iter().map(|(id, d)| ((*id).to_owned(), d.0)).collect();
    Some(Shares { total, least, bound_by, each })
}

/// A scenario's element in words of the host.
fn named(seen: &Seen, element: &str) -> String {
    let link =
        element.strip_prefix("links.l").and_then(|e| e.split(' ').next()?.trim_end_matches('i').parse::<usize>().ok());
    if let Some(link) = link.filter(|l| *l < seen.tree.links.len()) {
        return seen.link_name(link);
    }
    let id = element.strip_prefix("parts.").unwrap_or(element).split([':', ' ']).next().unwrap_or_default();
    match seen.devices.iter().find(|s| s.id == id).and_then(|s| s.links.first()) {
        Some(link) => format!("{}, for each by itself", seen.link_name(*link)),
        None => element.to_owned(),
    }
}

fn run(text: String) -> Option<Report> {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "host".into(), text, author: Author::User };
    let plan = crate::plan(&mut diagnostics, included, &[], &Nothing)?;
    Some(crate::estimate::estimate(&plan, &diagnostics))
}

/// The host as a scenario: its GPUs, network adapters and drives write to memory.
pub fn emit(host: &Host) -> String {
    let seen = Seen::of(host);
    let mut draft = Draft::new(&seen, Corner::Typical, true);
    let mut left_out = Vec::new();
    for slot in seen.devices.iter().filter(|s| s.kind < Kind::Bridge) {
        if draft.device(slot) {
            draft.flow(slot, Way::Write);
        } else {
            left_out.push(format!(
                "# {} {} is left out: the speed of a link is not known",
                word(slot.kind),
                slot.address
            ));
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
