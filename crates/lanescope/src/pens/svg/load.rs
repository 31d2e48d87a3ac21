//! How busy every link of a picture is, by the method that it shows, and what binds.

use super::scene::{Scene, Wire};
use super::{ACCENT, Method, escape};
use crate::result::{Binding, Idle, LinkReport, Report, SimulatedLink};
use std::collections::{HashMap, HashSet};

/// What one direction of a link does.
#[derive(Clone, Debug, Default)]
struct Load {
    /// The share of its slots that is taken.
    used: f64,
    /// Shares of its slots that were idle for a reason, by the reason; only a simulation knows them.
    idle: Vec<(Idle, f64)>,
    /// Pause frames.
    pauses: u64,
}

/// One direction of what a line shows: of several links the least and the most.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The share of the slots that is taken.
    pub(super) least: f64,
    pub(super) most: f64,
    /// Whether it binds a flow.
    pub(super) binds: bool,
    /// The reason for which it idled longest, and how long at most.
    held: Option<(Idle, f64)>,
    /// Whether there is more that is not counted.
    fed: bool,
    idle: Vec<(Idle, f64)>,
    pauses: u64,
}

/// All directions of what one line shows.
pub(super) struct Busy<'a> {
    /// The first of the links.
    pub(super) first: &'a str,
    pub(super) links: usize,
    speed: String,
    mixed: bool,
    pub(super) lanes: u64,
    /// Toward the second end, then toward the first; of a bus one.
    pub(super) ways: Vec<Way>,
    /// Who receives in each.
    toward: Vec<&'a str>,
}

/// A share of slots: what is above 0 never reads 0.
pub(super) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 { "<1 %".into() } else { format!("{} %", ((share * 1e9).round() / 1e7).round()) }
}

/// `97 %`, or `3–97 %` of several.
fn between(way: &Way) -> String {
    let (low, high) = (percent(way.least), percent(way.most));
    let more = if way.fed { "≥" } else { "" };
    if low == high { format!("{more}{high}") } else { format!("{more}{}–{high}", low.trim_end_matches(" %")) }
}

impl Busy<'_> {
    pub(super) fn share(&self) -> f64 {
        self.ways.iter().map(|w| w.most).fold(0.0, f64::max)
    }

    /// Whether there is more than it says.
    pub(super) fn fed(&self) -> bool {
        self.ways.iter().any(|w| w.fed)
    }

    pub(super) fn binds(&self) -> bool {
        self.ways.iter().any(|w| w.binds)
    }

    /// `gen3 x8 ×16`.
    pub(super) fn speed(&self) -> String {
        match (self.links, self.mixed) {
            (1, _) => self.speed.clone(),
            (n, false) => format!("{} ×{n}", self.speed),
            (n, true) => format!("{n} links"),
        }
    }

    /// The directions with their arrows, those toward the first end before.
    fn each<'s>(&'s self, arrows: [&'s str; 2]) -> impl Iterator<Item = (&'s str, &'s Way)> {
        let one = self.ways.len() == 1;
        self.ways.iter().zip(arrows).rev().map(move |(w, a)| (if one { "" } else { a }, w))
    }

    /// `↑ 97 %  ↓ 3 %` as XML, what binds in the accent colour.
    pub(super) fn shares(&self, arrows: [&str; 2]) -> String {
        let one = |(arrow, way): (&str, &Way)| {
            let text = escape(format!("{arrow} {}", between(way)).trim());
            match way.binds {
                true => format!("<tspan fill=\"{ACCENT}\" font-weight=\"600\">{text}</tspan>"),
                false => text,
            }
        };
        self.each(arrows).map(one).collect::<Vec<_>>().join("  ")
    }

    /// The same without colours, for its width.
    pub(super) fn plain(&self, arrows: [&str; 2]) -> String {
        self.each(arrows).map(|(a, w)| format!("{a} {}", between(w))).collect::<Vec<_>>().join("  ")
    }

    /// What held a direction back: `↑ 12 % paused`.
    pub(super) fn held(&self, arrows: [&str; 2]) -> Option<String> {
        let held = self.each(arrows).filter_map(|(a, w)| w.held.map(|h| (a, h)));
        let (arrow, (cause, share)) = held.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
        Some(format!("{arrow} {} {}", percent(share), cause.words()).trim().to_owned())
    }

    /// What a pointer shows.
    pub(super) fn hint(&self) -> String {
        let more = if self.links > 1 { format!(" and {} more", self.links - 1) } else { String::new() };
        let mut text = format!("{}{more}: {}", self.first, self.speed());
        for (way, to) in self.ways.iter().zip(&self.toward) {
            text += &if to.is_empty() { ": ".to_owned() } else { format!("; toward {to} ") };
            text += &between(way);
            text += " of the slots taken";
            for (cause, share) in &way.idle {
                text += &format!(", {} {}", percent(*share), cause.words());
            }
            if way.pauses > 0 {
                text += &format!(", {} pause frames", way.pauses);
            }
        }
        text
    }
}

/// What of a report a picture looks up.
pub(super) struct Sight<'a> {
    estimated: bool,
    loads: HashMap<(&'a str, &'a str), Load>,
    links: HashSet<&'a str>,
    parts: HashSet<&'a str>,
    /// Frames dropped by switches, in a simulation.
    drops: HashMap<&'a str, u64>,
}

/// Reasons that are worth a line beside a link when they hold for so much of the time; pauses always are.
const HELD: f64 = 0.05;

impl<'a> Sight<'a> {
    pub(super) fn new(report: &'a Report, method: Method) -> Sight<'a> {
        let simulated = report.simulation.as_ref().filter(|_| method == Method::Simulation);
        let loads = match simulated {
            Some(s) => s.links.iter().map(|l| ((l.name.as_str(), l.to.as_str()), simulated_load(l))).collect(),
            None => report.links.iter().map(|l| ((l.name.as_str(), l.to.as_str()), estimated_load(l))).collect(),
        };
        let bound: Vec<&Binding> = match simulated {
            Some(s) => s.flows.iter().map(|f| &f.bound_by).collect(),
            None => report.flows.iter().map(|f| &f.bound_by).collect(),
        };
        let also = report.flows.iter().filter(|_| simulated.is_none()).flat_map(|f| &f.bound_also);
        let (mut links, mut parts) = (HashSet::new(), HashSet::new());
        for element in bound.into_iter().map(|b| &b.element).chain(also) {
            if element.starts_with("links.") {
                links.insert(element.as_str());
            } else if let Some(part) = element.strip_prefix("parts.") {
                parts.insert(part.split(": ").next().unwrap_or(part));
            }
        }
        let memory = |w: &'a crate::result::SimulatedSwitch| Some((w.name.as_str(), w.memory?));
        let drops = simulated.into_iter().flat_map(|s| &s.switches).filter_map(memory);
        let drops = drops.map(|(name, m)| (name, m.no_memory + m.no_headroom)).collect();
        Sight { estimated: simulated.is_none(), loads, links, parts, drops }
    }

    /// Whether anything is marked.
    pub(super) fn marks(&self) -> bool {
        !self.links.is_empty() || !self.parts.is_empty()
    }

    pub(super) fn part_binds(&self, name: &str) -> bool {
        self.parts.contains(name)
    }

    pub(super) fn dropped(&self, name: &str) -> u64 {
        self.drops.get(name).copied().unwrap_or(0)
    }

    /// What the line of some wires shows.
    pub(super) fn busy<'s>(&self, scene: &'s Scene, wires: &[usize]) -> Option<Busy<'s>> {
        self.turned(scene, wires, |_| false)
    }

    /// The same, some of the wires the other way round.
    pub(super) fn turned<'s>(
        &self,
        scene: &'s Scene,
        wires: &[usize],
        turned: impl Fn(&Wire) -> bool,
    ) -> Option<Busy<'s>> {
        let first = &scene.wires[*wires.first()?];
        let speed = first.speed.clone();
        let mixed = wires.iter().any(|w| scene.wires[*w].speed != speed);
        let most = wires.iter().map(|w| scene.wires[*w].toward.len()).max().unwrap_or(0);
        let new =
            Way { least: f64::INFINITY, most: 0.0, binds: false, held: None, fed: false, idle: Vec::new(), pauses: 0 };
        let mut ways = vec![new; most];
        for wire in wires.iter().map(|w| &scene.wires[*w]) {
            for (i, to) in wire.toward.iter().enumerate() {
                let way = &mut ways[if turned(wire) { wire.toward.len() - 1 - i } else { i }];
                let none = Load::default();
                let load = self.loads.get(&(wire.name, to.as_str())).unwrap_or(&none);
                way.least = way.least.min(load.used);
                way.most = way.most.max(load.used);
                way.binds |= self.links.contains(crate::result::way(wire.name, to).as_str());
                way.pauses += load.pauses;
                way.fed |= wire.fed && self.estimated;
                for (cause, share) in &load.idle {
                    match way.idle.iter_mut().find(|c| c.0 == *cause) {
                        Some(c) => c.1 = c.1.max(*share),
                        None => way.idle.push((*cause, *share)),
                    }
                }
            }
        }
        for way in &mut ways {
            way.least = way.least.min(way.most);
            let says = |(cause, share): &&(Idle, f64)| {
                let paused = matches!(cause, Idle::Paused | Idle::Stopped) && *share > 0.0;
                paused || (*cause != Idle::NothingToSend && *share >= HELD)
            };
            way.held = way.idle.iter().filter(says).max_by(|a, b| a.1.total_cmp(&b.1)).copied();
        }
        let (links, lanes) = (wires.len(), first.lanes);
        let group = |n: usize| scene.nodes[n].group;
        let mut toward: Vec<&str> = match (links, first.toward.len()) {
            (_, 1) => vec![""],
            (1, _) => first.toward.iter().map(String::as_str).collect(),
            _ => vec![group(first.ends[1]), group(first.ends[0])],
        };
        if turned(first) {
            toward.reverse();
        }
        Some(Busy { first: first.name, links, speed, mixed, lanes, ways, toward })
    }
}

/// A share as a picture can show it. Reports may be of anybody's making.
fn known(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 9.99) } else { 0.0 }
}

fn estimated_load(link: &LinkReport) -> Load {
    // A difference of large numbers: what is below a float's noise is nothing.
    let used = known(link.ledger.utilisation());
    Load { used: if used > 1e-12 { used } else { 0.0 }, ..Load::default() }
}

fn simulated_load(link: &SimulatedLink) -> Load {
    let all = link.slots.total().max(1) as f64;
    let idle = Idle::ALL.into_iter().zip(link.slots.idle).filter(|(_, n)| *n > 0);
    let idle = idle.map(|(cause, n)| (cause, known(n as f64 / all))).collect();
    Load { used: known(link.utilisation()), idle, pauses: link.pauses.0 + link.pauses.1 }
}
