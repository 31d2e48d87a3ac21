//! Collectives of GPUs in closed form.
//!
//! What an algorithm puts on every element is added up once (`GpuCluster::traffic`): the busiest element is the bound.
//! Time is that element's work, or what steps wait for one another if that is longer, and what it takes to fill the
//! pipeline:
//!
//! - Around a ring each rank sends a step when it has the one before it. With slices a step takes as long as its bytes
//!   at the busiest element, or as a slice and a hop, on average around the ring (the two circuits of the recurrence).
//! - Pieces through trees and the switches of nodes are followed, message by message, and so is any collective that has
//!   few messages (`timetable`).
//! - Of more messages recursive doubling, a broadcast down a ring and the windows of an all-to-all are followed step by
//!   step (`turns`): messages of channels that share an element drift apart, and overlap from step to step.
//!
//! Algorithm and protocol are the fastest of those that the cluster can do: NCCL chooses by a model of its own, too.

mod element;
mod timetable;
mod turns;

use self::timetable::Timetable;
use self::turns::{Chains, Doubling, window};
use crate::plan::gpu::collective::{Collective, Move};
use crate::plan::gpu::{Element, GpuCluster, Path};
use crate::result::gpu::{CollectiveReport, CollectiveRow, Parts};
use crate::scenario::keys::{CollectiveAlgorithm as Algorithm, CollectiveProtocol as Protocol};

/// What one algorithm puts on a cluster, per byte of the size.
#[derive(Clone, Debug)]
struct Load {
    how: Algorithm,
    /// Seconds of the busiest element, and its name; of the busiest of GPU links, network, and stages of a switch.
    most: f64,
    by: String,
    links: f64,
    network: f64,
    /// Seconds that the first piece needs for a hop of each kind, per byte of it.
    hop: [f64; 2],
    /// Of recursive doubling, who meets whom.
    doubling: Option<Doubling>,
    /// Of the ring of a broadcast.
    chains: Option<Chains>,
    /// Of trees and switches.
    timetable: Option<Timetable>,
}

/// Works out what an algorithm puts on each element; an error where a transfer has no way.
fn load(c: &GpuCluster, what: Collective, how: Algorithm, channels: u32) -> Result<Load, String> {
    let c = &c.with_channels(channels);
    // Channels that go the same way as others put the same on the same elements.
    let period = timetable::period(c, how);
    let pieces = matches!(how, Algorithm::Tree | Algorithm::DoubleTree | Algorithm::Nvls | Algorithm::NvlsTree);
    let told = match pieces || how == Algorithm::Ring {
        true if channels.is_multiple_of(period) => period,
        _ => channels,
    };
    let some = c.with_channels(told);
    let mut busy = vec![0.0; c.elements() as usize];
    let mut memory = vec![0.0; c.ranks() as usize];
    let mut blocks = vec![0.0; (c.ranks() * told * 4) as usize];
    let mut hop = [0.0_f64; 2];
    // Recursive doubling tells what all channels do at once.
    let of_all = match how {
        Algorithm::RecursiveDoubling if c.nics <= c.gpus => f64::from(channels),
        _ => 1.0,
    };
    let mut failed = None;
    let mut way: Option<(Move, u32, Path)> = None;
    some.traffic(what, how, &mut |moved, (channel, job), share, adds| {
        if share == 0.0 || failed.is_some() {
            return;
        }
        // What is added up and what is passed on go the same way, one told behind the other.
        if way.as_ref().is_none_or(|w| (w.0, w.1) != (moved, channel)) {
            match c.path(moved, channel) {
                Ok(path) => way = Some((moved, channel, path)),
                Err(why) => {
                    failed = Some(why);
                    return;
                }
            }
        }
        let Some((_, _, path)) = &way else { return };
        let packets = share / path.unit as f64;
        let mut slowest = 0.0_f64;
        for leg in path.stages.iter().flatten() {
            let rate = c.rate(leg.element);
            let wire = c.wire(*leg, path.unit);
            busy[leg.element as usize] += packets * wire / rate;
            slowest = slowest.max(wire / path.unit as f64 / rate);
            if let Some((back, flits)) = leg.answer {
                busy[back as usize] += packets * c.answer(back, flits);
            }
        }
        let kind = usize::from(path.network);
        hop[kind] = hop[kind].max(slowest);
        let reads = if adds { 2.0 } else { 1.0 };
        match moved {
            Move::Send(from, to) => {
                memory[from as usize] += share * reads;
                memory[to as usize] += share;
                blocks[((from * told + channel) * 4 + job) as usize] += share / of_all;
            }
            // Each GPU of the node is read or written.
            Move::Reduce(r) | Move::Multicast(r) => {
                let first = r / c.gpus * c.gpus;
                (first..first + c.gpus).for_each(|g| memory[g as usize] += share);
                blocks[((r * told + channel) * 4 + job) as usize] += share;
            }
        }
    });
    if let Some(why) = failed {
        return Err(why);
    }
    if how == Algorithm::Direct && what == Collective::Alltoall {
        all_nodes_alike(c, &mut busy);
    }
    let mut most = (0.0, String::new());
    let mut kinds = [0.0_f64; 2];
    for (place, seconds) in busy.iter().enumerate() {
        let network = place as u32 >= 2 * c.ranks() && !matches!(c.element(place as u32), Element::Pair(..));
        let kind = &mut kinds[usize::from(network)];
        *kind = kind.max(*seconds);
        if *seconds > most.0 * (1.0 + 1e-12) {
            most = (*seconds, c.name(place as u32));
        }
    }
    let top = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let memory = top(&memory) / c.memory_rate;
    if memory > most.0 {
        most = (memory, "memory of a GPU".to_owned());
    }
    let block = top(&blocks) * f64::from(told) / f64::from(channels) / c.channel_rate;
    if block > most.0 {
        most = (block, format!("thread blocks of {channels} channel{}", if channels == 1 { "" } else { "s" }));
    }
    let doubling = (how == Algorithm::RecursiveDoubling).then(|| Doubling::new(c, what)).transpose()?;
    let chains =
        (how == Algorithm::Ring && what == Collective::Broadcast).then(|| Chains::new(c, &busy)).transpose()?;
    let timetable = pieces.then(|| Timetable::new(c, what, how));
    Ok(Load { how, most: most.0, by: most.1, links: kinds[0], network: kinds[1], hop, doubling, chains, timetable })
}

/// Of an all-to-all only the first node's sending was added up. As all nodes are alike, each sends what it sends and
/// receives what it sends; leaves carry what all nodes below them send.
fn all_nodes_alike(c: &GpuCluster, busy: &mut [f64]) {
    use Element::*;
    let place = |e| c.place(e) as usize;
    let each_leaf: f64 = f64::from(c.nodes_below_a_leaf());
    for g in 0..c.gpus {
        // What others send to this GPU by the network and then over its own links was counted at theirs.
        let far: f64 = (1..c.nodes).map(|n| busy[place(Down(n * c.gpus + g))]).sum();
        busy[place(Down(g))] += far;
    }
    for nic in 0..c.nics {
        let far = |kind: fn(u32) -> Element, busy: &[f64]| -> f64 {
            (0..c.nodes).map(|n| busy[place(kind(n * c.nics + nic))]).sum()
        };
        for kind in [NicIn as fn(u32) -> Element, SlotIn] {
            busy[place(kind(nic))] = far(kind, busy);
        }
    }
    if c.has_chips() {
        for g in 0..c.gpus {
            // What is received, and the answers to what is sent, which were counted at this node.
            busy[place(ChipIn(g))] = (0..c.nodes).map(|n| busy[place(ChipIn(n * c.gpus + g))]).sum();
            busy[place(ChipOut(g))] = (0..c.nodes).map(|n| busy[place(ChipOut(n * c.gpus + g))]).sum();
        }
    }
    let leaves: Vec<usize> =
        (0..busy.len()).filter(|p| matches!(c.element(*p as u32), LeafUp(_) | LeafDown(_))).collect();
    leaves.into_iter().for_each(|p| busy[p] *= each_leaf);
}

/// What a protocol makes of a byte.
fn inflation(protocol: Protocol) -> f64 {
    GpuCluster::carried(protocol, 1 << 20) as f64 / f64::from(1 << 20)
}

/// Seconds of the stages of a tree or of the switch of a node, one behind the other, and what thread blocks need at
/// least to move a channel's part through them in pieces.
fn stages(c: &GpuCluster, how: Algorithm, what: Collective, protocol: Protocol, part: u64) -> f64 {
    let switch = match (how, what) {
        (Algorithm::Nvls, Collective::AllReduce) | (Algorithm::NvlsTree, _) => 2,
        (Algorithm::Nvls, _) => 1,
        _ => 0,
    };
    let (inside, between) = if how == Algorithm::Nvls { (0, 0) } else { c.stages(what, how) };
    let hops = [false, true].map(|network| c.latency(network, protocol));
    let pauses = f64::from(inside) * hops[0] + f64::from(between) * hops[1] + f64::from(switch) * c.hop_nvls;
    // A block of the switch moves what one GPU is the end of.
    let each = if switch > 0 { u64::from(c.gpus) } else { 1 };
    let piece = c.piece_of(what, how, part) / each;
    let more = (part / each).saturating_sub(piece) as f64;
    let moved = f64::from(inside + between + switch) * piece as f64 + more;
    pauses + if part > 0 { moved * inflation(protocol) / c.channel_rate } else { 0.0 }
}

/// Seconds of a size by an algorithm and a protocol; infinitely many where what is followed is longer than `most`. An
/// error where a transfer has no way.
fn parts(
    c: &GpuCluster,
    l: &mut Load,
    what: Collective,
    protocol: Protocol,
    (bytes, channels): (u64, u32),
    most: f64,
) -> Result<Parts, String> {
    let (n, all) = (c.ranks(), f64::from(channels));
    let inflation = inflation(protocol);
    let size = bytes as f64;
    let part = bytes.div_ceil(u64::from(channels));
    let busy = l.most * size * inflation;
    let pause = |network| c.latency(network, protocol);
    // The first piece is added up by its thread block when it has come.
    let adding = if what.reduces() { 1.0 / (c.channel_rate * all) } else { 0.0 };
    let adds = if what == Collective::AllReduce { 0.5 } else { 1.0 };
    let mut p = Parts { launch: c.launch, busy, ..Parts::default() };
    let few = match l.how {
        Algorithm::Ring | Algorithm::Direct | Algorithm::RecursiveDoubling => {
            let c = &c.with_channels(channels);
            timetable::whole(c, what, l.how, protocol, (bytes, most))?
        }
        _ => None,
    };
    // The seconds of what is followed, and the pauses of hops among them.
    let followed = match l.how {
        Algorithm::Ring if what != Collective::Broadcast => {
            let steps = if what == Collective::AllReduce { 2 * (n - 1) } else { n - 1 };
            // The block that ends last is the one that goes over the network most often: each turn around the ring
            // leaves out one hop, and that is a link where nodes have some (two in a row where they have two in a row).
            let turns = steps / (n - 1).max(1);
            let over = match c.gpus {
                _ if c.nodes == 1 => 0,
                1 => steps,
                2 => turns * c.nodes - (turns - 1),
                _ => turns * c.nodes,
            };
            let crossing = f64::from(over) / f64::from(steps);
            let times = size * f64::from(steps) / f64::from(n);
            let each = |seconds: f64| if times > 0.0 { seconds * size / times * inflation } else { 0.0 };
            let step = part.div_ceil(u64::from(n));
            let (full, rest) = (step / c.chunk, step % c.chunk);
            let hop = pause(false) * (1.0 - crossing) + pause(true) * crossing;
            let mut waiting = 0.0;
            for (count, q) in [(full, c.chunk), (u64::from(rest > 0), rest)] {
                if count == 0 {
                    continue;
                }
                let slice = q.div_ceil(c.slices_of(q)) as f64 * all;
                let shared = slice * ((1.0 - crossing) * each(l.links) + crossing * each(l.network));
                let least = 1.0 / c.channel_rate;
                let hops = (1.0 - crossing) * l.hop[0].max(least) + crossing * l.hop[1].max(least);
                let alone = slice / all * inflation * hops;
                let adding = slice * adding * adds;
                let working = q as f64 * all * each(l.most);
                // Slices of other channels are in the way as often as the elements are busy.
                let busy = (working / (hop + shared + adding)).min(1.0);
                let turn = (hop + alone.max(shared * busy) + adding - working).max(0.0);
                waiting += count as f64 * f64::from(steps) * turn;
                if q == rest || rest == 0 {
                    // The last slice comes a hop later.
                    p.hops = f64::from(steps) * hop.min(working + turn);
                    p.filling = match what {
                        _ if turn > 0.0 => (q as f64 * all - slice) * each(l.most),
                        // Nothing hides that it is added up.
                        Collective::ReduceScatter => hop + adding,
                        _ => hop,
                    };
                }
            }
            p.hops = p.hops.min(waiting);
            p.filling += waiting - p.hops;
            few.map(|path| (path, p.hops))
        }
        Algorithm::RecursiveDoubling => {
            let path = |d: &Doubling| (few.unwrap_or_else(|| d.time(c, what, protocol, part)), d.pauses(c, protocol));
            l.doubling.as_ref().map(path)
        }
        Algorithm::Direct => {
            let far = c.nodes > 1;
            p.hops = pause(far);
            if what == Collective::Alltoall {
                let pieces = part.div_ceil(u64::from(n)).div_ceil(c.chunk);
                let waiting = window(c, pieces, channels);
                let (others, own) = ((c.nodes - 1) * c.gpus, (c.nodes - 1) * (c.gpus / c.nics.max(1)).max(1));
                // Those that are not on a rail of its own.
                let second = if c.pxn && c.nics > 1 { others.saturating_sub(own) } else { 0 };
                // What goes on by the network has come over the links first: on average half of it is waited for, but
                // for what the NIC has to send on its own rail meanwhile.
                let first = pause(false) + l.links.min(l.network) * size / 2.0;
                let meanwhile = l.network * size * f64::from(own) / f64::from(others.max(1));
                let first = if second > 0 { (first - meanwhile).max(0.0) } else { 0.0 };
                let least = pause(far) + first;
                // Either the busiest element is never idle once it has begun, or messages wait for a free slot turn
                // after turn, and each turn begins as its messages pass the element one behind the other.
                let turn = (f64::from(c.slots) / (f64::from(n - 1) * pieces as f64)).min(1.0);
                let alone = pause(far) + if second > 0 { pause(false) } else { 0.0 };
                p.hops = least + (waiting - alone - busy * (1.0 - turn)).max(0.0);
            }
            few.map(|path| (path, p.hops))
        }
        Algorithm::Ring => {
            let piece = c.piece(c.chunk, part, n);
            let path = |chains: &Chains| few.unwrap_or_else(|| chains.time(c, protocol, piece, part, size));
            // The rings of all channels but the first begin inside the root's node and end there.
            let between = if c.nodes > 1 && c.gpus.min(channels) > 1 { c.nodes } else { c.nodes - 1 };
            let hops = f64::from(n - 1 - between) * pause(false) + f64::from(between) * pause(true);
            l.chains.as_ref().map(|chains| (path(chains), hops))
        }
        _ => match &mut l.timetable {
            Some(t) => {
                let path = t.time(protocol, part, (l.most * inflation * all, most))?;
                Some((path, stages(c, l.how, what, protocol, 0)))
            }
            None => None,
        },
    };
    if let Some((path, hops)) = followed {
        let path = path.max(busy);
        p.hops = hops.min(path - busy);
        p.filling = path - p.hops - busy;
    }
    Ok(p)
}

/// A row for each size; `corners` are the same cluster at the typical, the slower and the faster ends of its ranges,
/// or the typical alone.
///
/// # Errors
///
/// An algorithm that was asked for and cannot be done, or none that can.
pub fn collective(corners: &[GpuCluster], what: Collective, sizes: &[u64]) -> Result<CollectiveReport, String> {
    let [c, rest @ ..] = corners else { return Err("there is no cluster".into()) };
    let mut rows = one(c, what, sizes)?;
    if let [slow, fast] = rest {
        let (slow, fast) = (one(slow, what, sizes)?, one(fast, what, sizes)?);
        for ((row, a), b) in rows.0.iter_mut().zip(&slow.0).zip(&fast.0) {
            row.range = Some((a.busbw.min(row.busbw), b.busbw.max(row.busbw)));
        }
    }
    let stated = match (c.algorithm, c.protocol) {
        (Some(a), Some(p)) => format!("{} and {}, as asked", a.word(), p.word()),
        (Some(a), None) => {
            format!("{} as asked; the protocol that is fastest by the estimate", a.word())
        }
        (None, Some(p)) => {
            format!("{} as asked; the algorithm that is fastest by the estimate", p.word())
        }
        (None, None) => "the algorithm and protocol that are fastest by the estimate".to_owned(),
    };
    Ok(CollectiveReport {
        schema: 1,
        title: c.title.clone(),
        collective: what,
        nodes: c.nodes,
        ranks: c.ranks(),
        rule: stated,
        rows: rows.0,
        refused: rows.1,
        not_modelled: NOT_MODELLED.map(str::to_owned).to_vec(),
    })
}

/// What neither method looks at.
const NOT_MODELLED: [&str; 5] = [
    "credits of NVLink and of the network: what is under way is limited by the library's buffers (slots)",
    "congestion among a leaf's uplinks: they count as one link, with traffic spread evenly over them",
    "reduction in the network (SHARP)",
    "GPU memory in the simulation (in the estimate it is an element)",
    "all Hamiltonian cycles of directly linked GPUs (xGMI): rings have strides coprime to the number of GPUs",
];

/// Rows, and algorithms that cannot be done, each with its reason.
type Rows = (Vec<CollectiveRow>, Vec<(String, String)>);

fn one(c: &GpuCluster, what: Collective, sizes: &[u64]) -> Result<Rows, String> {
    if c.ranks() < 2 {
        return Err("a collective of one GPU moves nothing: set nodes or gpus to 2 or more".into());
    }
    let mut refused: Vec<(String, String)> = Vec::new();
    let mut loads: Vec<(u32, Load)> = Vec::new();
    let mut counts: Vec<u32> = sizes.iter().map(|s| c.used(*s)).collect();
    counts.sort_unstable();
    counts.dedup();
    for how in what.algorithms() {
        if c.algorithm.is_some_and(|a| a != *how) {
            continue;
        }
        if let Some(why) = c.refused(what, *how, Protocol::Simple) {
            refused.push((how.word().to_owned(), why));
            continue;
        }
        for &channels in &counts {
            match load(c, what, *how, channels) {
                Ok(l) => loads.push((channels, l)),
                Err(why) => {
                    refused.push((how.word().to_owned(), why));
                    break;
                }
            }
        }
    }
    if let Some(asked) = c.algorithm.filter(|a| !what.algorithms().contains(a)) {
        let why = c.refused(what, asked, Protocol::Simple).unwrap_or_default();
        return Err(why);
    }
    loads.retain(|(_, l)| match c.refused(what, l.how, c.protocol.unwrap_or(Protocol::Simple)) {
        Some(why) => {
            let name = l.how.word().to_owned();
            if refused.iter().all(|r| r.0 != name) {
                refused.push((name, why));
            }
            false
        }
        None => true,
    });
    let mut rows = Vec::new();
    for &bytes in sizes {
        let channels = c.used(bytes);
        let mut best: Option<CollectiveRow> = None;
        // What each takes at least: it is not worked out where another is faster.
        let mut ways = Vec::new();
        for (i, (_, l)) in loads.iter().enumerate().filter(|(_, (n, _))| *n == channels) {
            for &protocol in Protocol::ALL {
                if c.protocol.is_some_and(|p| p != protocol) || c.refused(what, l.how, protocol).is_some() {
                    continue;
                }
                let moved = match l.timetable {
                    Some(_) => stages(c, l.how, what, protocol, bytes / u64::from(channels)),
                    None => 0.0,
                };
                let least = c.launch + moved.max(l.most * bytes as f64 * inflation(protocol));
                ways.push((least, i, protocol));
            }
        }
        ways.sort_by(|a, b| a.0.total_cmp(&b.0));
        // What was fastest before most often is again, and then others are not followed to their ends.
        let before = rows.last().map(|r: &CollectiveRow| (r.algorithm, r.protocol));
        ways.sort_by_key(|w| before != Some((loads[w.1].1.how, w.2)));
        for (least, i, protocol) in ways {
            if best.as_ref().is_some_and(|b| b.time < least) {
                continue;
            }
            let l = &mut loads[i].1;
            let most = best.as_ref().map_or(f64::INFINITY, |b| b.time - c.launch);
            let p = parts(c, l, what, protocol, (bytes, channels), most)?;
            let time = p.launch + p.hops + p.filling + p.busy;
            if best.as_ref().is_some_and(|b| b.time <= time) {
                continue;
            }
            let factor = what.bus_factor(c.ranks());
            best = Some(CollectiveRow {
                bytes,
                algorithm: l.how,
                protocol,
                time,
                algbw: bytes as f64 / time,
                busbw: bytes as f64 / time * factor,
                range: None,
                bound: bytes as f64 / p.busy * factor,
                bound_by: l.by.clone(),
                takes: takes(&p, &l.by),
                parts: p,
                simulated: None,
            });
        }
        rows.push(best.ok_or_else(|| {
            let each = refused.iter().map(|(name, why)| format!("{name}: {why}"));
            format!("{} cannot be done: {}", what.name(), each.collect::<Vec<_>>().join("; "))
        })?);
    }
    Ok((rows, refused))
}

/// What most of the time goes to.
fn takes(p: &Parts, by: &str) -> String {
    let all = [(p.busy, by), (p.hops, "hops"), (p.launch, "launch"), (p.filling, "filling the pipeline")];
    let most = all.into_iter().fold(all[0], |a, b| if b.0 > a.0 { b } else { a });
    let whole = p.busy + p.hops + p.launch + p.filling;
    format!("{} ({:.0} %)", most.1, 100.0 * most.0 / whole)
}
