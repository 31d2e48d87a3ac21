//! What a collective of GPUs over PCI Express should reach: the estimate of what its ring, or its exchange, puts on the
//! links.
//!
//! A ring is gone round in the order of the tree, as NCCL builds it where only PCI Express joins the GPUs: it passes
//! each link once in each direction. Its rate is that of its slowest transfer.

use super::locate::{Load, Located};
use super::read::Rank;
use crate::explain::Topology;
use crate::explain::endpoints::Endpoint;
use crate::explain::peers::{peer_path, writes};
use crate::explain::rate::{Corner, Range, Way};
use crate::explain::scenario::{Transfer, shares};
use crate::import::host::Kind;

/// What NCCL's own kernels leave of a copy: steps of some chunks, with flags between them. Low, typical, high; assumed.
const PROTOCOL: [f64; 3] = [0.8, 0.92, 1.0];

/// GPUs of which an exchange of each with each is worked out, at most.
const MOST_EXCHANGED: usize = 16;

/// What a collective should reach, or why that cannot be said.
pub(super) fn expected<'a>(topology: &'a Topology, test: &str, ranks: &[Rank], hosts: usize) -> Located<'a> {
    let unjudged = |why: &str| Located::Unjudged(None, why.to_owned());
    if hosts > 1 {
        let why = format!("its ranks are on {hosts} hosts, and the network between them is in no dump of one host");
        return unjudged(&why);
    }
    if ranks.is_empty() {
        return unjudged("its header is missing, which lists the GPUs: give the whole output");
    }
    let gpus: Option<Vec<&Endpoint>> = ranks.iter().map(|r| gpu(topology, r)).collect();
    let Some(gpus) = gpus else { return unjudged("not all of its GPUs are in the dumps") };
    let Some((first, last)) = gpus.first().zip(gpus.last()).filter(|_| gpus.len() > 1) else {
        return unjudged("one GPU moves nothing over a link");
    };
    let device = format!("{} GPUs, {} to {}", gpus.len(), first.id, last.id);
    let unjudged = |why: &str| Located::Unjudged(Some(device.clone()), why.to_owned());
    if gpus.iter().enumerate().any(|(n, a)| gpus[n + 1..].iter().any(|b| a.id == b.id)) {
        return unjudged("several of its ranks share a GPU");
    }
    if gpus.iter().skip(1).any(|g| topology.joined(first, g)) {
        return unjudged("NVLink or xGMI joins its GPUs, and no dump says what that carries");
    }
    let pairs = match test {
        "all_reduce" | "all_gather" | "reduce_scatter" | "broadcast" | "reduce" => {
            ring(&in_tree_order(topology, &gpus))
        }
        "sendrecv" => ring(&gpus),
        "alltoall" if gpus.len() <= MOST_EXCHANGED => each_to_each(&gpus),
        "gather" => gpus.iter().skip(1).map(|g| (*g, gpus[0])).collect(),
        "scatter" => gpus.iter().skip(1).map(|g| (gpus[0], *g)).collect(),
        "" => return unjudged("the output does not say which collective it is: give the command line too"),
        _ => return unjudged("what this collective puts on the links has no closed form here"),
    };
    // Each GPU's data go to as many others, one after another or at once; all must have come.
    let peers = if matches!(test, "alltoall" | "gather" | "scatter") { gpus.len() - 1 } else { 1 };
    let transfers: Vec<Transfer> = pairs.iter().map(|(a, b)| Transfer::Peer(a, b)).collect();
    let at = |corner: Corner| shares(topology, &transfers, corner);
    let typical = at(Corner::Typical);
    let rate =
        |shares: Option<&crate::explain::scenario::Shares>, part: f64| shares.map(|s| s.least * peers as f64 * part);
    let [low, high] = [at(Corner::Low), at(Corner::High)];
    let forwarded = pairs.iter().any(|(a, b)| peer_path(topology, a, b).is_forwarded());
    // A ring puts one transfer on each port of a root complex, as pairs do; of anything else its whole is not known.
    let ring = pairs.len() == gpus.len();
    let part = |corner| if ring { passed_on(topology, &pairs, corner) } else { (!forwarded).then_some(1.0) };
    let [low_part, typical_part, high_part] = Corner::ALL.map(part);
    let range = Range::around([
        low_part.and_then(|p| rate(low.as_ref(), p * PROTOCOL[0])),
        typical_part.and_then(|p| rate(typical.as_ref(), p * PROTOCOL[1])),
        rate(high.as_ref(), high_part.unwrap_or(1.0) * PROTOCOL[2]),
    ]);
    let Some(bound_by) = typical.as_ref().or(high.as_ref()).map(|s| s.bound_by.clone()) else {
        return unjudged("the speed of a link on its path is not known");
    };
    let open = forwarded && range.low.is_none();
    let note = open.then_some("root complexes forward some of it, and no dump says how fast");
    let above = "above what PCI Express carries between them: direct links, or other GPUs than those of the dumps";
    Located::Load(Load { device, range, bound_by, note, above })
}

/// What root complexes leave of what links carry of some pairs; `None` where a class or a link between sockets does not
/// say.
fn passed_on(topology: &Topology, pairs: &[(&Endpoint, &Endpoint)], corner: Corner) -> Option<f64> {
    let of = |(from, to): &(&Endpoint, &Endpoint)| {
        let path = peer_path(topology, from, to);
        if !path.is_forwarded() {
            return Some(1.0);
        }
        // Each member sends and receives at once.
        if corner != Corner::High && topology.forwarding().is_none_or(|c| !c.both_ways) {
            return None;
        }
        let written = writes(topology, from, to, &path).at(corner)?;
        Some(written / topology.along(from, &path.links(from, to), Way::Write, corner)?.0)
    };
    pairs.iter().map(of).try_fold(1.0, |least: f64, part| Some(least.min(part?)))
}

fn gpu<'a>(topology: &'a Topology, rank: &Rank) -> Option<&'a Endpoint> {
    let gpus = || topology.devices.iter().filter(|e| e.kind == Kind::Gpu);
    match rank.bus {
        Some((domain, bus)) => gpus().find(|e| e.address.bus == bus && domain.is_none_or(|d| d == e.address.domain)),
        None => topology.gpu(rank.device),
    }
}

/// GPUs of one switch beside one another.
fn in_tree_order<'a>(topology: &Topology, gpus: &[&'a Endpoint]) -> Vec<&'a Endpoint> {
    let mut gpus = gpus.to_vec();
    gpus.sort_by_cached_key(|g| {
        let mut way = topology.tree.path(g.address);
        way.reverse();
        (g.node, way, g.address)
    });
    gpus
}

fn ring<'a>(gpus: &[&'a Endpoint]) -> Vec<(&'a Endpoint, &'a Endpoint)> {
    gpus.iter().enumerate().map(|(n, from)| (*from, gpus[(n + 1) % gpus.len()])).collect()
}

fn each_to_each<'a>(gpus: &[&'a Endpoint]) -> Vec<(&'a Endpoint, &'a Endpoint)> {
    let others = |from: &'a Endpoint| gpus.iter().copied().filter(move |to| to.id != from.id);
    gpus.iter().flat_map(|from| others(from).map(|to| (*from, to))).collect()
}
