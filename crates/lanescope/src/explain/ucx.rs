//! A host as settings of UCX: how fast and how far devices are from one another, each with where it comes from.
//!
//! UCX knows three distances beyond a switch (`UCX_DISTANCE_BW`, `UCX_DISTANCE_LAT`; src/ucs/config/global_opts.c):
//! `phb`, over one host bridge; `node`, between host bridges of one NUMA node; `sys`, between nodes. The rate of each
//! is the least of the pairs of GPUs and adapters at that distance, in MB of 2^20 bytes, as UCX reads `MBs`. What no
//! dump bounds (the link between sockets) stays `auto`. The latency is that of one write of 64 B over both ways.

use super::Topology;
use super::endpoints::Endpoint;
use super::expect::passage;
use super::peers::peer_path;
use super::rate::{Corner, Way, mebibytes};
use crate::import::host::{Host, Kind};
use std::fmt::Write;

/// A distance of UCX.
#[derive(Clone, Copy, PartialEq)]
enum Distance {
    Phb,
    Node,
    Sys,
}

impl Distance {
    const ALL: [Distance; 3] = [Distance::Phb, Distance::Node, Distance::Sys];

    fn word(self) -> &'static str {
        match self {
            Distance::Phb => "phb",
            Distance::Node => "node",
            Distance::Sys => "sys",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Distance::Phb => "over one host bridge",
            Distance::Node => "between host bridges of one NUMA node",
            Distance::Sys => "between NUMA nodes",
        }
    }
}

/// Which distance two devices are at; `None` below one switch, of which UCX takes the devices' own rates.
fn distance(topology: &Topology, from: &Endpoint, to: &Endpoint) -> Option<Distance> {
    if peer_path(topology, from, to).switch.is_some() {
        return None;
    }
    let bridge = |e: &Endpoint| {
        let top = topology.tree.path(e.address).last().copied().unwrap_or(e.address);
        (top.domain, top.bus)
    };
    Some(match (from.node, to.node) {
        _ if bridge(from) == bridge(to) => Distance::Phb,
        (Some(a), Some(b)) if a == b => Distance::Node,
        _ => Distance::Sys,
    })
}

/// Writes the lines.
pub fn emit(host: &Host) -> String {
    let topology = Topology::of(host);
    let ends: Vec<&Endpoint> = topology
        .devices
        .iter()
        .filter(|e| matches!(e.kind, Kind::Gpu | Kind::Nic) && e.bus.is_none() && !e.links.is_empty())
        .collect();
    let dumps: Vec<&str> = host.dumps.iter().map(|d| d.name.as_str()).collect();
    let mut out = format!("# Distances for UCX out of {}.\n", dumps.join(", "));
    out += "# Rates are payload of writes in MB of 2^20 bytes: what root complexes of this class forward, where \
        somebody\n";
    out += "# measured it, else what the links carry at most. Measure a pair, and lower them where it gives less.\n";
    if let Some(class) = topology.forwarding().filter(|c| c.is_measured()) {
        let _ = writeln!(out, "# Class: {}: {}.", class.name, class.source);
    }
    out += "# Latencies: wires, switches, and (assumed) a root complex and the path to another node.\n";
    let (mut rates, mut latencies) = (Vec::new(), Vec::new());
    for distance in Distance::ALL {
        let word = distance.word();
        let pairs: Vec<(&Endpoint, &Endpoint)> =
            pairs(&ends).filter(|(a, b)| self::distance(&topology, a, b) == Some(distance)).take(MOST_PAIRS).collect();
        let _ = writeln!(out, "#\n# {word}: {}", distance.meaning());
        if pairs.is_empty() {
            out += "#   no pair of these devices at this distance; UCX's default is kept\n";
            continue;
        }
        if let Some((a, b, ns)) = slowest(&topology, &pairs) {
            let _ = writeln!(
                out,
                "#   latency {ns:.0} ns: {} to {}, a write of 64 B over their links and the root complex, likely",
                a.id, b.id
            );
            latencies.push(format!("{word}:{ns:.0}ns"));
        }
        if distance == Distance::Sys {
            out += "#   rate: the link between the sockets binds, which no dump states: auto, UCX's own value\n";
            continue;
        }
        let Some((a, b, rate, link)) = narrowest(&topology, &pairs) else {
            out += "#   rate: a link on the path is not known: auto, UCX's own value\n";
            continue;
        };
        let _ = writeln!(
            out,
            "#   rate {rate:.2} GB/s: the least of {} pairs is {} to {}, bound by {}",
            pairs.len(),
            a.id,
            b.id,
            link
        );
        rates.push(format!("{word}:{}MBs", mebibytes(rate)));
    }
    out.push('\n');
    let lines = |name: &str, list: &[String]| match list {
        [] => format!("# {name}: nothing to state\n"),
        list if name == "UCX_DISTANCE_BW" => format!("{name}=auto,{}\n", list.join(",")),
        list => format!("{name}={}\n", list.join(",")),
    };
    out += &lines("UCX_DISTANCE_BW", &rates);
    out += &lines("UCX_DISTANCE_LAT", &latencies);
    out
}

/// Pairs of one distance that are looked at, at most.
const MOST_PAIRS: usize = 20_000;

/// Each GPU with each other, and with each adapter.
fn pairs<'a>(ends: &'a [&'a Endpoint]) -> impl Iterator<Item = (&'a Endpoint, &'a Endpoint)> {
    let of = move |n: usize| ends[n + 1..].iter().map(move |b| (ends[n], *b));
    (0..ends.len()).flat_map(of).filter(|(a, b)| a.kind == Kind::Gpu || b.kind == Kind::Gpu)
}

/// The pair whose writes are slowest in the likely case, GB/s, and what binds it.
fn narrowest<'a>(
    topology: &Topology,
    pairs: &[(&'a Endpoint, &'a Endpoint)],
) -> Option<(&'a Endpoint, &'a Endpoint, f64, String)> {
    let rate = |(a, b): &(&'a Endpoint, &'a Endpoint)| {
        let links: Vec<usize> = a.links.iter().chain(&b.links).copied().collect();
        let (carried, link) = topology.along(a, &links, Way::Write, Corner::Typical)?;
        let rate = topology.forwarded(a, b, Corner::Typical).unwrap_or(carried);
        let port = [a.port, b.port].into_iter().flatten().reduce(f64::min).filter(|p| *p < rate);
        let bound = if port.is_some() { "its network ports".to_owned() } else { topology.link_name(link) };
        Some((*a, *b, port.unwrap_or(rate), bound))
    };
    // One that is not known leaves no least.
    let all = pairs.iter().map(rate).collect::<Option<Vec<_>>>()?;
    all.into_iter().min_by(|x, y| x.2.total_cmp(&y.2))
}

/// The pair with the longest way, ns.
fn slowest<'a>(
    topology: &Topology,
    pairs: &[(&'a Endpoint, &'a Endpoint)],
) -> Option<(&'a Endpoint, &'a Endpoint, f64)> {
    let of = |(a, b): &(&'a Endpoint, &'a Endpoint)| Some((*a, *b, passage(topology, a, b)?));
    pairs.iter().filter_map(of).max_by(|x, y| x.2.total_cmp(&y.2))
}
