//! Which devices of a host a measured row is of, and what they should reach.

use super::read::Target;
use crate::explain::Topology;
use crate::explain::endpoints::Endpoint;
use crate::explain::peers::{peer_path, writes};
use crate::explain::rate::{Corner, Range, Way};

/// What a row is of.
pub(super) enum Located<'a> {
    /// One device, or two, over links that the dumps show.
    Path(Path<'a>),
    /// Several devices, or what an adapter sends on.
    Load(Load),
    /// Devices that are here, and a number that cannot be expected; why.
    Unjudged(Option<String>, String),
    /// No device of this host.
    Nowhere,
}

/// What several devices reach together, or one beyond its links.
pub(super) struct Load {
    /// The devices.
    pub(super) device: String,
    /// GB/s.
    pub(super) range: Range,
    /// What binds it.
    pub(super) bound_by: String,
    /// Why there is no low end, where there is none.
    pub(super) note: Option<&'static str>,
    /// Why a number may be above it.
    pub(super) above: &'static str,
}

/// The way of a row.
pub(super) struct Path<'a> {
    pub(super) from: &'a Endpoint,
    pub(super) to: Option<&'a Endpoint>,
    pub(super) way: Way,
    pub(super) both: bool,
    pub(super) links: Vec<usize>,
}

/// The way of a row of one device or two.
pub(super) fn path<'a>(topology: &'a Topology, target: &Target) -> Option<Path<'a>> {
    let one = |from: &'a Endpoint, way| Path { from, to: None, way, both: false, links: from.links.clone() };
    Some(match target {
        Target::ToDevice(n) => one(topology.gpu(*n)?, Way::Read),
        Target::FromDevice(n) => one(topology.gpu(*n)?, Way::Write),
        Target::Device { name, way } => one(topology.device(name)?, *way),
        Target::Peers { from, to, both } => pair(topology, (topology.gpu(*from)?, topology.gpu(*to)?), *both),
        Target::Named { from, to } => pair(topology, (topology.device(from)?, topology.device(to)?), false),
        Target::Collective { .. } | Target::Messages(_) | Target::Unknown => return None,
    })
}

fn pair<'a>(topology: &Topology, (from, to): (&'a Endpoint, &'a Endpoint), both: bool) -> Path<'a> {
    Path { from, to: Some(to), way: Way::Write, both, links: peer_path(topology, from, to).links(from, to) }
}

/// What the links carry that two devices share, GB/s, their engines left out: where ACS redirects their traffic, both
/// ways at once cross these, each on its way up and on its way down.
pub(super) fn shared(topology: &Topology, from: &Endpoint, to: &Endpoint, corner: Corner) -> f64 {
    let sizes = topology.sizes(from, corner);
    let carried = |l: &usize| topology.rates.of(topology.speed(*l, corner)?, sizes, Way::Write);
    from.links.iter().filter(|l| to.links.contains(l)).filter_map(carried).fold(f64::INFINITY, f64::min)
}

/// What a row of one device or two should reach, GB/s.
pub(super) fn expected(topology: &Topology, path: &Path) -> Range {
    let Some(to) = path.to else { return topology.alone(path.from, path.way).0 };
    let way = peer_path(topology, path.from, to);
    let one = writes(topology, path.from, to, &way);
    if !path.both {
        return one;
    }
    // Both ways at once are twice one way where no root complex has to pass both, or where that was measured.
    let sure = !way.is_forwarded() || topology.forwarding().is_some_and(|c| c.both_ways);
    let most = match way.redirect {
        Some(_) => shared(topology, path.from, to, Corner::High),
        None => f64::INFINITY,
    };
    let twice = |end: Option<f64>| end.map(|e| (2.0 * e).min(most));
    Range { low: twice(one.low).filter(|_| sure), typical: twice(one.typical).filter(|_| sure), high: twice(one.high) }
}
