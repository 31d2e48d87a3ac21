//! What would explain rows that are low: each hypothesis says one thing that the dump does not, at one place, and is
//! held against all rows at once. What the dump says of a setting (MPS, ACS, the nodes of a host) is not doubted; what
//! it shows of a link is of one moment, and the link may be another under load.
//!
//! A row on the place must come to what the hypothesis predicts, and one that is not on it must be as it was expected:
//! what would slow down a row that is not slow fits as badly as what leaves a slow one unexplained. Hypotheses that fit
//! about as well differ in what a register shows, or in what another measurement would give; one command tells them
//! apart.

use super::locate::{Path, shared};
use super::{Candidate, SLACK};
use crate::explain::Topology;
use crate::explain::peers::peer_path;
use crate::explain::rate::{Corner, Range, Sizes, Way, efficiency};
use crate::import::host::{Address, gigatransfers};
use crate::protocol::pcie::{Generation, Lanes, Speed};
use std::collections::BTreeSet;

/// A row whose way is known.
pub(super) struct Row<'a> {
    pub(super) path: Path<'a>,
    /// GB/s.
    pub(super) measured: f64,
    /// GB/s.
    pub(super) expected: Range,
    /// Whether it is below what was expected.
    pub(super) low: bool,
}

/// Links that are suspected one by one, at most: those of the most low rows.
const MOST_LINKS: usize = 64;
/// Rows that hypotheses are held against, at most.
const MOST_ROWS: usize = 4000;
/// Candidates that are told, at most.
const MOST_TOLD: usize = 5;
/// How far a candidate may leave its rows, percent; beyond it explains nothing.
const MOST_OFF: f64 = 25.0;
/// Candidates no further behind the best than this are not told apart by the numbers, percent: instruments' own spread.
const CLOSE: f64 = 100.0 * SLACK;

/// Tags with which reads are tried, each in flight for 600 ns: what a loaded server takes. Assumed.
const TAGS: [f64; 5] = [1.0, 8.0, 16.0, 32.0, 64.0];
const ROUND_TRIP_NS: f64 = 600.0;
/// What the far node's memory leaves of the near one's rate. Assumed.
const FAR: f64 = 0.7;

/// What is otherwise than the dump says.
enum Change {
    /// These links run at this generation, or with so many lanes.
    Slow(BTreeSet<usize>, Generation),
    Narrow(BTreeSet<usize>, Lanes),
    /// The device, or each, sends so many bytes in a TLP at most.
    Payload(Option<Address>),
    /// The device, or each, has so many reads in flight.
    Tags(Option<Address>, f64),
    /// The buffers of the device's rows, or of all, are on the far node.
    Far(Option<Address>),
    /// Ports of this switch send requests of peers up.
    Redirect(Address),
}

/// Where the truth of a hypothesis shows.
#[derive(PartialEq)]
enum Look {
    /// In registers of these functions.
    Register(BTreeSet<Address>, &'static str),
    /// In the same test once more, changed.
    Again(&'static str),
}

struct Hypothesis {
    what: String,
    change: Change,
    look: Look,
    /// What is seen there if it is true.
    shows: String,
}

/// A row as it is without any hypothesis.
struct Known<'a> {
    row: &'a Row<'a>,
    sizes: Sizes,
    /// What its links carry, and what an engine leaves of that, GB/s one way.
    now: f64,
    wire: f64,
    /// What is expected of it, GB/s one way.
    typical: f64,
}

impl<'a> Known<'a> {
    /// `None` where a link's speed is not known.
    fn of(topology: &Topology, row: &'a Row<'a>) -> Option<Known<'a>> {
        let path = &row.path;
        let sizes = topology.sizes(path.from, Corner::Typical);
        let now = carried(topology, path, &|l| topology.speed(*l, Corner::Typical), sizes)?;
        let wire = now * efficiency(path.from.kind, path.way, Corner::Typical);
        // What root complexes and ports leave of what links carry.
        let typical = row.expected.typical.map_or(wire, |t| t / factor(path));
        Some(Known { row, sizes, now, wire, typical })
    }
}

/// Ways that a row adds.
fn factor(path: &Path) -> f64 {
    if path.both { 2.0 } else { 1.0 }
}

/// What the links of a row carry at some speeds, GB/s one way.
fn carried(topology: &Topology, path: &Path, speed: &dyn Fn(&usize) -> Option<Speed>, sizes: Sizes) -> Option<f64> {
    let rate = |l: &usize| topology.rates.of(speed(l)?, sizes, path.way);
    path.links.iter().map(rate).try_fold(f64::INFINITY, |least, rate| Some(least.min(rate?)))
}

/// Candidates, the best fit first, and the command that tells the close ones apart.
pub(super) fn candidates(topology: &Topology, rows: &[Row]) -> (Vec<Candidate>, Option<String>) {
    let rows = &rows[..rows.len().min(MOST_ROWS)];
    let low = rows.iter().filter(|r| r.low).count();
    if low == 0 {
        return (Vec::new(), None);
    }
    let mut found: Vec<(f64, usize, Hypothesis)> = Vec::new();
    let known: Vec<_> = rows.iter().map(|row| (row, Known::of(topology, row))).collect();
    for hypothesis in hypotheses(topology, rows) {
        if let Some((off, explained)) = fit(topology, &known, &hypothesis.change)
            && off < MOST_OFF
            && explained > 0
        {
            found.push((off, explained, hypothesis));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    found.truncate(MOST_TOLD);
    let best = found.first().map_or(0.0, |f| f.0);
    let close: Vec<&Hypothesis> = found.iter().filter(|f| f.0 <= best + CLOSE).map(|f| &f.2).collect();
    let apart = (close.len() > 1).then(|| tell_apart(&close));
    let told = found.iter().map(|(off, explained, h)| Candidate {
        what: h.what.clone(),
        off_percent: (off * 10.0).round() / 10.0,
        explains: *explained,
        of: low,
        command: command(std::slice::from_ref(&h)),
        shows: h.shows.clone(),
    });
    (told.collect(), apart)
}

/// How far all rows stay off, percent, root mean square; and how many low ones it explains.
fn fit(topology: &Topology, rows: &[(&Row, Option<Known>)], change: &Change) -> Option<(f64, usize)> {
    let (mut sum, mut count, mut explained) = (0.0, 0_u32, 0);
    for (row, known) in rows {
        let predicted = known.as_ref().and_then(|known| predicted(topology, known, change));
        if predicted.is_none() && !row.low {
            continue;
        }
        // What it does not touch stays as far off as it is.
        let rate = predicted.or(row.expected.low)?;
        if row.expected.low.is_none() && row.measured <= rate {
            // Where nothing says how little is right, only too much speaks against a cause.
            continue;
        }
        let off = (row.measured / rate).ln();
        sum += off * off;
        count += 1;
        explained += usize::from(row.low && predicted.is_some() && off.abs() < (1.0 + MOST_OFF / 100.0).ln());
    }
    (count > 0).then(|| (((sum / f64::from(count)).sqrt().exp() - 1.0) * 100.0, explained))
}

/// What a row comes to, GB/s; `None` where the change does not touch it.
fn predicted(topology: &Topology, known: &Known, change: &Change) -> Option<f64> {
    let Known { row: Row { path, .. }, sizes, now, wire, typical } = *known;
    let crossed = |links: &BTreeSet<usize>| path.links.iter().any(|l| links.contains(l));
    if matches!(change, Change::Slow(links, _) | Change::Narrow(links, _) if !crossed(links)) {
        return None;
    }
    let of = |address: &Option<Address>| address.is_none_or(|a| a == path.from.address);
    let likely = |l: &usize| topology.speed(*l, Corner::Typical);
    let carried = |speed: &dyn Fn(&usize) -> Option<Speed>, sizes| carried(topology, path, speed, sizes);
    let with = |rate: f64| {
        let rate = match path.to {
            Some(_) => rate / now * typical,
            None => {
                (rate / now * wire).min(topology.cap(path.from, path.way, Corner::Typical).unwrap_or(f64::INFINITY))
            }
        };
        factor(path) * rate
    };
    match change {
        Change::Slow(links, generation) => {
            let touched = |l: &usize| links.contains(l) && likely(l).is_some_and(|s| s.generation > *generation);
            let slow =
                |l: &usize| likely(l).map(|s| if touched(l) { Speed { generation: *generation, ..s } } else { s });
            path.links.iter().any(touched).then(|| carried(&slow, sizes).map(with))?
        }
        Change::Narrow(links, lanes) => {
            let touched = |l: &usize| links.contains(l) && likely(l).is_some_and(|s| s.lanes > *lanes);
            let narrow = |l: &usize| likely(l).map(|s| if touched(l) { Speed { lanes: *lanes, ..s } } else { s });
            path.links.iter().any(touched).then(|| carried(&narrow, sizes).map(with))?
        }
        Change::Payload(address) => {
            let small = Sizes { mps: 128, completion: sizes.completion.min(128), ..sizes };
            // A control register is what the dump says: only where it says nothing may it be small.
            let open = topology.mps(path.from).is_none();
            (of(address) && open && sizes.mps > 128).then(|| carried(&likely, small).map(with))?
        }
        Change::Tags(address, tags) => {
            let most = tags * sizes.mrrs as f64 / ROUND_TRIP_NS;
            (of(address) && path.way == Way::Read && most < wire).then_some(most)
        }
        Change::Far(address) => {
            // Where a dump lists one node there is no far one.
            (of(address) && path.to.is_none() && topology.host.nodes.len() != 1).then_some(FAR * typical)
        }
        Change::Redirect(switch) => {
            let to = path.to?;
            let way = peer_path(topology, path.from, to);
            let told = |a: &Address| topology.host.functions.get(a).is_some_and(|f| f.acs.is_some());
            let on_way = [path.from.address, to.address].map(|a| topology.tree.parent(a));
            if way.switch != Some(*switch) || way.redirect.is_some() || on_way.iter().flatten().all(told) {
                return None;
            }
            let all: Vec<usize> = path.from.links.iter().chain(&to.links).copied().collect();
            let up = topology.along(path.from, &all, Way::Write, Corner::Typical)?.0;
            let one = topology.forwarded(path.from, to, Corner::Typical).unwrap_or(up).min(up);
            Some(if path.both { (2.0 * one).min(shared(topology, path.from, to, Corner::Typical)) } else { one })
        }
    }
}

fn hypotheses(topology: &Topology, rows: &[Row]) -> Vec<Hypothesis> {
    let low: Vec<&Row> = rows.iter().filter(|r| r.low).collect();
    // Links by the low rows that cross them, and the own links of all slow devices as one.
    let mut links: Vec<(usize, usize)> = Vec::new();
    for link in low.iter().flat_map(|r| &r.path.links) {
        match links.iter_mut().find(|(l, _)| l == link) {
            Some(known) => known.1 += 1,
            None => links.push((*link, 1)),
        }
    }
    links.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    links.truncate(MOST_LINKS);
    let mut places: Vec<(BTreeSet<usize>, String)> =
        links.iter().map(|(l, _)| (BTreeSet::from([*l]), topology.link_name(*l))).collect();
    let devices: BTreeSet<Address> = low.iter().map(|r| r.path.from.address).collect();
    let own: BTreeSet<usize> = low.iter().filter_map(|r| r.path.links.first().copied()).collect();
    if own.len() > 1 {
        places.push((own.clone(), format!("each link of {} devices", own.len())));
    }
    let mut all = Vec::new();
    for (links, name) in places {
        let at: BTreeSet<Address> = links.iter().map(|l| topology.tree.links[*l].lower).collect();
        for generation in Generation::ALL.into_iter().take(5) {
            let rate = gigatransfers(generation);
            all.push(Hypothesis {
                what: format!("{name} runs at {rate} GT/s under load"),
                change: Change::Slow(links.clone(), generation),
                look: Look::Register(at.clone(), "LnkSta:"),
                shows: format!("Speed {rate}GT/s"),
            });
        }
        for lanes in [1, 2, 4, 8].into_iter().filter_map(Lanes::new) {
            let count = lanes.count();
            all.push(Hypothesis {
                what: format!("{name} runs with x{count}"),
                change: Change::Narrow(links.clone(), lanes),
                look: Look::Register(at.clone(), "LnkSta:"),
                shows: format!("Width x{count}"),
            });
        }
    }
    let mut whose: Vec<Option<Address>> = devices.iter().copied().map(Some).take(MOST_LINKS).collect();
    whose.extend((devices.len() > 1).then_some(None));
    for address in whose {
        let at = address.map_or_else(|| devices.clone(), |a| BTreeSet::from([a]));
        let id = |a: Address| topology.devices.iter().find(|d| d.address == a).map(|d| d.id.clone());
        let name = address.and_then(id).unwrap_or_else(|| "every device".to_owned());
        let control = || Look::Register(at.clone(), "MaxPayload");
        let base = |what: String, change, look, shows: &str| Hypothesis { what, change, look, shows: shows.to_owned() };
        let payload = Change::Payload(address);
        all.push(base(format!("{name} runs at MPS 128 B"), payload, control(), "MaxPayload 128 bytes"));
        for tags in TAGS {
            let what = format!("{name} has {tags} reads of MRRS in flight, {ROUND_TRIP_NS} ns each");
            let again = Look::Again("the same test with several copies at once");
            all.push(base(what, Change::Tags(address, tags), again, "a higher sum"));
        }
        let what = format!("{name} moves buffers of the far node (some {FAR} of the near rate, assumed)");
        let near = Look::Again("numactl --cpunodebind=N --membind=N, N the device's node, before the same test");
        all.push(base(what, Change::Far(address), near, "the expected rate"));
    }
    let switch = |r: &&Row| peer_path(topology, r.path.from, r.path.to?).switch;
    for switch in low.iter().filter_map(switch).collect::<BTreeSet<Address>>() {
        let ports: BTreeSet<Address> = topology.tree.children(switch).iter().copied().collect();
        all.push(Hypothesis {
            what: format!(
                "ACS sends what peers below the switch at {switch} write to each other up to the root and back"
            ),
            change: Change::Redirect(switch),
            look: Look::Register(ports, "ACSCtl:"),
            shows: "ReqRedir+".to_owned(),
        });
    }
    all
}

/// The command that shows what some hypotheses are about.
fn command(of: &[&Hypothesis]) -> String {
    let (mut at, mut words) = (BTreeSet::new(), BTreeSet::new());
    for hypothesis in of {
        if let Look::Register(addresses, word) = &hypothesis.look {
            at.extend(addresses.iter().copied());
            words.insert(*word);
        }
    }
    let again = of.iter().find_map(|h| match h.look {
        Look::Again(command) => Some(command.to_owned()),
        Look::Register(..) => None,
    });
    let pattern = words.into_iter().collect::<Vec<_>>().join("|");
    let loaded = if pattern.contains("LnkSta") { ", while it is loaded" } else { "" };
    match (at.len(), at.first()) {
        (0, _) | (_, None) => again.unwrap_or_default(),
        (1, Some(first)) => format!("sudo lspci -vvv -s {first} | grep -E '{pattern}'{loaded}"),
        _ => format!("sudo lspci -vvv | grep -E '^[0-9a-f]|{pattern}'{loaded}"),
    }
}

/// One command, and what it shows of each.
fn tell_apart(close: &[&Hypothesis]) -> String {
    let mut places: Vec<&BTreeSet<Address>> = Vec::new();
    for hypothesis in close {
        if let Look::Register(at, _) = &hypothesis.look
            && !places.contains(&at)
        {
            places.push(at);
        }
    }
    let mut outcomes: Vec<String> = Vec::new();
    for hypothesis in close {
        let Look::Register(at, _) = &hypothesis.look else { continue };
        let place = match (places.len(), at.len(), at.first()) {
            (1, ..) | (_, _, None) => String::new(),
            (_, 1, Some(one)) => format!(" at {one}"),
            (_, n, Some(first)) => format!(" at {first} and {} more", n - 1),
        };
        outcomes.push(format!("{}{place}", hypothesis.shows));
    }
    if let Some(other) = close.iter().find(|h| matches!(h.look, Look::Again(_))) {
        let alone = outcomes.is_empty();
        outcomes.push(if alone { format!("{} if {}", other.shows, other.what) } else { "none of these".to_owned() });
    }
    format!("{}: {}", command(close), outcomes.join(", or "))
}
