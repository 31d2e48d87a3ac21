//! Messages that meet at an element: they take turns at it, packet by packet.
//!
//! Equal messages that come together leave together, a packet apart. Those that come apart leave further apart, since
//! the first has had more of the element before the others came: from step to step channels drift apart, until each is
//! alone. So a step of many is followed round by round, as a fluid that is shared evenly (processor sharing), with the
//! departures at least a packet apart.

use crate::plan::gpu::GpuCluster;
use crate::plan::gpu::collective::{Collective, Move};
use crate::scenario::keys::CollectiveProtocol as Protocol;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Messages of a step that are followed one by one; where there are more, channels are taken together.
const MOST_JOBS: u32 = 4096;

/// What a message of a step takes at the element, alone; what its last packet takes there; and what it takes at least,
/// with all that comes behind: seconds.
#[derive(Clone, Copy, Debug)]
struct Visit {
    work: f64,
    packet: f64,
    moved: f64,
    behind: f64,
}

/// The way of a message, by the element on it that has the most to do.
#[derive(Clone, Copy, Debug)]
struct Way {
    network: bool,
    /// Seconds of a full packet at that element, and of one at all the others.
    packet: f64,
    others: f64,
    /// Bytes of data of a full packet.
    unit: u64,
}

impl Way {
    /// A message of so many bytes, with its protocol's own, where a full packet takes so long for all that go together;
    /// `adding` are the seconds of a reduction behind it.
    fn visit(&self, c: &GpuCluster, protocol: Protocol, carried: f64, packet: f64, adding: f64) -> Visit {
        let packets = carried / self.unit as f64;
        Visit {
            work: packets * packet,
            // The last packet may be shorter.
            packet: packet * (packets - (packets.ceil() - 1.0).max(0.0)),
            moved: carried / c.channel_rate,
            behind: self.others * packets.min(1.0) + c.latency(self.network, protocol) + adding,
        }
    }
}

/// Seconds as a key that can be sorted; they are never negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct At(pub(super) f64);

impl Eq for At {}

impl PartialOrd for At {
    #[inline]
    fn partial_cmp(&self, other: &At) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    #[inline]
    fn cmp(&self, other: &At) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Those that come at an element visit it so many times, each visit a message, behind which they come again. What is
/// there at a time is served evenly.
fn visits(come: &mut [f64], visits: &[Visit]) {
    let mut coming: BinaryHeap<Reverse<(At, usize, usize)>> =
        come.iter().enumerate().map(|(who, at)| Reverse((At(*at), 0, who))).collect();
    // What each that is there has been served: a message ends when that is `work` more than where it began.
    let mut there: BinaryHeap<Reverse<(At, usize, usize)>> = BinaryHeap::new();
    let (mut now, mut served) = (0.0_f64, 0.0_f64);
    let mut begun = vec![0.0; come.len()];
    let mut batch: Vec<(f64, usize, usize)> = Vec::new();
    loop {
        let next = coming.peek().map(|c| c.0);
        let first = there.peek().map(|t| t.0);
        let ends = first.map_or(f64::INFINITY, |f| now + (f.0.0 - served).max(0.0) * there.len() as f64);
        match (next, first) {
            (Some((at, visit, who)), _) if at.0 <= ends => {
                coming.pop();
                if !there.is_empty() {
                    served += (at.0 - now).max(0.0) / there.len() as f64;
                }
                now = now.max(at.0);
                begun[who] = now;
                there.push(Reverse((At(served + visits[visit].work), visit, who)));
            }
            (_, Some(_)) => {
                // Those that end together end a packet apart, the last when all have been served.
                batch.clear();
                while let Some(Reverse((until, visit, who))) = there.peek().copied() {
                    let at = now + (until.0 - served).max(0.0) * there.len() as f64;
                    if batch.last().is_some_and(|b| at - b.0 > visits[visit].packet) {
                        break;
                    }
                    (now, served) = (at, served.max(until.0));
                    there.pop();
                    batch.push((at, visit, who));
                }
                for i in (1..batch.len()).rev() {
                    let (after, visit) = (batch[i].0, batch[i].1);
                    batch[i - 1].0 = batch[i - 1].0.min(after - visits[visit].packet.min(visits[visit].work));
                }
                for (at, visit, who) in batch.drain(..) {
                    let v = visits[visit];
                    let back = at.max(begun[who] + v.moved) + v.behind;
                    match visit + 1 < visits.len() {
                        true => coming.push(Reverse((At(back), visit + 1, who))),
                        false => come[who] = back,
                    }
                }
            }
            _ => return,
        }
    }
}

/// One step of recursive doubling: all nodes do the same.
#[derive(Clone, Debug)]
struct Step {
    way: Way,
    share: f64,
    /// Who meets at each of the elements with the most work, and how many of other nodes there are for each. A GPU's
    /// partners are as far as it is, so a message's follower meets the same others.
    elements: Vec<u32>,
    groups: Vec<Vec<u32>>,
    times: f64,
}

/// Recursive doubling: what the GPUs of one node do on each channel.
#[derive(Clone, Debug)]
pub(super) struct Doubling {
    steps: Vec<Step>,
    gpus: u32,
    /// Channels that are followed, each for so many.
    channels: u32,
    together: f64,
}

impl Doubling {
    /// Who meets where; an error where a transfer has no way.
    pub(super) fn new(c: &GpuCluster, what: Collective) -> Result<Doubling, String> {
        let mut channels = c.channels;
        while channels > 1 && c.gpus * channels > MOST_JOBS {
            channels = channels.div_ceil(2);
        }
        let together = f64::from(c.channels) / f64::from(channels);
        let mut steps = Vec::new();
        for (distance, share) in c.doubling(what) {
            let network = distance >= c.gpus;
            // Jobs at each element, with seconds of a packet.
            let mut met: Vec<(u32, f64, f64, Vec<u32>)> = Vec::new();
            let mut all = 0.0;
            let mut unit = 1;
            for g in 0..c.gpus {
                for channel in 0..channels {
                    let path = c.path(Move::Send(g, g ^ distance), channel)?;
                    unit = path.unit;
                    all = 0.0;
                    for leg in path.stages.iter().flatten() {
                        // Both ways at once: answers take their part.
                        let answer = leg.answer.map_or(0.0, |(back, flits)| c.answer(back, flits));
                        let packet = c.wire(*leg, path.unit) / c.rate(leg.element) + answer;
                        all += packet;
                        let job = g * channels + channel;
                        match met.iter_mut().find(|m| m.0 == leg.element) {
                            Some(m) => m.3.push(job),
                            None => {
                                let of_nodes = c.nodes_that_cross(leg.element, distance / c.gpus);
                                met.push((leg.element, packet, of_nodes, vec![job]));
                            }
                        }
                    }
                }
            }
            let work = |m: &(u32, f64, f64, Vec<u32>)| m.1 * m.2 * m.3.len() as f64;
            let Some(most) = met.iter().max_by(|a, b| work(a).total_cmp(&work(b))) else { continue };
            let (packet, times) = (most.1, most.2);
            // Of each message the first element of this kind.
            let mut seen = vec![false; (c.gpus * channels) as usize];
            let (mut elements, mut groups) = (Vec::new(), Vec::new());
            for m in met.iter().filter(|m| m.1 == packet && m.2 == times) {
                let group: Vec<u32> =
                    m.3.iter().copied().filter(|j| !std::mem::replace(&mut seen[*j as usize], true)).collect();
                if !group.is_empty() {
                    elements.push(m.0);
                    groups.push(group);
                }
            }
            let way = Way { network, packet, others: (all - packet).max(0.0), unit };
            steps.push(Step { way, share, elements, groups, times });
        }
        Ok(Doubling { steps, gpus: c.gpus, channels, together })
    }

    /// Seconds of the pauses of all steps.
    pub(super) fn pauses(&self, c: &GpuCluster, protocol: Protocol) -> f64 {
        self.steps.iter().map(|s| c.latency(s.way.network, protocol)).sum()
    }

    /// Seconds of all steps behind the launch.
    pub(super) fn time(&self, c: &GpuCluster, what: Collective, protocol: Protocol, part: u64) -> f64 {
        let mut come = vec![0.0_f64; (self.gpus * self.channels) as usize];
        let (mut own, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        // Steps one behind the other that meet at the same elements are visits to these.
        for steps in self.steps.chunk_by(|a, b| a.elements == b.elements) {
            let of = |s: &Step| {
                let bytes = (part as f64 * s.share).ceil();
                let carried = GpuCluster::carried(protocol, bytes as u64) as f64;
                let adding = if what.reduces() { bytes / c.channel_rate } else { 0.0 };
                s.way.visit(c, protocol, carried, s.way.packet * s.times * self.together, adding)
            };
            let all: Vec<Visit> = steps.iter().map(of).collect();
            before.clear();
            for group in &steps[0].groups {
                own.clear();
                own.extend(group.iter().map(|j| come[*j as usize]));
                // Groups are mostly alike.
                if own != before {
                    before.clone_from(&own);
                    after.clone_from(&own);
                    visits(&mut after, &all);
                }
                group.iter().zip(&after).for_each(|(j, at)| come[*j as usize] = *at);
            }
        }
        come.iter().copied().fold(0.0, f64::max)
    }
}

/// Messages of channels that meet at one element as the first piece of each goes down the ring of a broadcast.
#[derive(Clone, Debug)]
struct Meeting {
    element: u32,
    /// Seconds of all that passes that element, per byte of the size.
    total: f64,
    way: Way,
    channels: Vec<u32>,
}

/// The first pieces of a broadcast, hop by hop down the rings of all channels.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    hops: Vec<Vec<Meeting>>,
    channels: u32,
    together: f64,
    /// Hops of one node more, and how many nodes more than are followed.
    period: usize,
    more: u32,
}

/// The channels of one hop at an element: when the first of them begins with it, and when each has passed it.
struct Begun {
    at: f64,
    left: Vec<(u32, f64)>,
}

impl Chains {
    /// Who meets where; an error where a transfer has no way.
    pub(super) fn new(whole: &GpuCluster, busy: &[f64]) -> Result<Chains, String> {
        let c = &whole.with_nodes(whole.nodes.min(NODES));
        let channels = c.channels.min(MOST_JOBS / 16);
        let together = f64::from(c.channels) / f64::from(channels);
        let orders: Vec<Vec<u32>> = (0..channels)
            .map(|channel| {
                let mut order = c.ring(channel);
                let at = order.iter().position(|r| *r == 0).unwrap_or(0);
                order.rotate_left(at);
                order
            })
            .collect();
        let mut hops = Vec::new();
        for i in 1..c.ranks() as usize {
            let mut met: Vec<(u32, Meeting)> = Vec::new();
            for (channel, order) in (0..channels).zip(&orders) {
                let path = whole.path(Move::Send(order[i - 1], order[i]), channel)?;
                let times = path.stages.iter().flatten().map(|leg| {
                    let work = whole.wire(*leg, path.unit) / whole.rate(leg.element);
                    (leg.element, work)
                });
                let (element, packet, all) = times
                    .fold((0, 0.0, 0.0), |m, t| if t.1 > m.1 { (t.0, t.1, m.2 + t.1) } else { (m.0, m.1, m.2 + t.1) });
                match met.iter_mut().find(|m| m.0 == element) {
                    Some(m) => m.1.channels.push(channel),
                    None => {
                        let way = Way { network: path.network, packet, others: all - packet, unit: path.unit };
                        let (total, channels) = (busy[element as usize], vec![channel]);
                        met.push((element, Meeting { element, total, way, channels }));
                    }
                }
            }
            hops.push(met.into_iter().map(|m| m.1).collect());
        }
        Ok(Chains { hops, channels, together, period: c.gpus as usize, more: whole.nodes - c.nodes })
    }

    /// Seconds of a broadcast behind the launch. An element has all of its work before it when the first piece comes to
    /// it, what is left of it when the second comes, and so on; and what has passed it goes on to the end.
    pub(super) fn time(&self, c: &GpuCluster, protocol: Protocol, piece: u64, part: u64, size: f64) -> f64 {
        let carried = GpuCluster::carried(protocol, piece) as f64;
        let inflation = carried / piece as f64;
        let mut come = vec![0.0_f64; self.channels as usize];
        let mut own = Vec::new();
        let mut firsts = Vec::new();
        // Of each element its work, and of each hop when its channels begin with it.
        let mut there: Vec<(f64, Vec<Begun>)> = Vec::new();
        let mut place: HashMap<u32, usize> = HashMap::new();
        for met in &self.hops {
            firsts.push(come.iter().copied().fold(f64::INFINITY, f64::min));
            for m in met {
                own.clear();
                own.extend(m.channels.iter().map(|j| come[*j as usize]));
                let visit = m.way.visit(c, protocol, carried, m.way.packet * self.together, 0.0);
                let i = *place.entry(m.element).or_insert_with(|| {
                    there.push((m.total * size * inflation, Vec::new()));
                    there.len() - 1
                });
                let mut came = own.clone();
                came.sort_by(f64::total_cmp);
                // Until the second piece of the first can be there.
                let soon = came[0] + visit.work * came.len() as f64;
                let late = came.iter().enumerate().filter(|(_, at)| **at <= soon);
                let begun = late.map(|(k, at)| at - k as f64 * visit.work).fold(0.0, f64::max);
                visits(&mut own, &[visit]);
                for (j, at) in m.channels.iter().zip(&own) {
                    come[*j as usize] = *at;
                }
                let left = m.channels.iter().zip(&own).map(|(j, at)| (*j, at - visit.behind)).collect();
                there[i].1.push(Begun { at: begun, left });
            }
        }
        let end = come.iter().copied().fold(0.0, f64::max);
        // Each thread block moves all pieces of its channel.
        let mut path = end + (GpuCluster::carried(protocol, part) as f64 - carried).max(0.0) / c.channel_rate;
        for (total, hops) in there {
            // Who begins last ends last.
            let begun = hops.iter().map(|h| h.at).fold(f64::INFINITY, f64::min);
            let Some(last) = hops.into_iter().max_by(|a, b| a.at.total_cmp(&b.at)) else { continue };
            let tail = last.left.iter().map(|(j, at)| come[*j as usize] - at).fold(0.0, f64::max);
            path = path.max(begun + total + tail);
        }
        // A thread block has so many pieces under way at most.
        let turns = part.div_ceil(piece.max(1)).div_ceil(u64::from(c.slots)) - 1;
        let path = path.max(end + turns as f64 * c.latency(c.nodes > 1, protocol));
        let last = firsts.last().copied().unwrap_or(0.0);
        let before = firsts.len().checked_sub(1 + 2 * self.period).map_or(last, |i| firsts[i]);
        path + (last - before) / 2.0 * f64::from(self.more)
    }
}

/// Nodes of an all-to-all or a ring that are followed; what each more takes is what the last of them took.
const NODES: u32 = 16;
/// Pieces of each pair that are followed; more take as much as many times these.
const PIECES: u64 = 4;

/// Channels of an all-to-all that are followed.
const CHANNELS: u32 = 16;

/// Seconds that an all-to-all takes where bytes take none: thread blocks begin their messages in order, and have so
/// many under way at most. All nodes are alike, so those of one are followed, on channels that begin with another peer.
pub(super) fn window(c: &GpuCluster, pieces: u64, channels: u32) -> f64 {
    if c.nodes > NODES {
        let [half, whole] = [NODES / 2, NODES].map(|nodes| window(&c.with_nodes(nodes), pieces, channels));
        return whole + (whole - half) / f64::from(NODES - NODES / 2) * f64::from(c.nodes - NODES);
    }
    if pieces > PIECES {
        return window(c, PIECES, channels) * pieces as f64 / PIECES as f64;
    }
    (0..channels.min(CHANNELS)).map(|channel| of_channel(c, pieces, channel)).fold(0.0, f64::max)
}

fn of_channel(c: &GpuCluster, pieces: u64, channel: u32) -> f64 {
    let n = c.ranks();
    // Of each thread block, when it began its latest message, and when those under way will have been received.
    let mut blocks: Vec<(f64, BinaryHeap<Reverse<At>>)> = vec![(0.0, BinaryHeap::new()); 2 * c.gpus as usize];
    let mut end = 0.0_f64;
    for i in 1..n {
        for _ in 0..pieces {
            for r in 0..c.gpus {
                let mut come = 0.0_f64;
                for (job, (from, to)) in c.hops(r, (r + c.turn_of(i, channel)) % n).enumerate() {
                    let (latest, under_way) = &mut blocks[job * c.gpus as usize + from as usize];
                    let mut at = come.max(*latest);
                    if under_way.len() >= c.slots as usize {
                        at = at.max(under_way.pop().map_or(0.0, |first| first.0.0));
                    }
                    *latest = at;
                    come = at + c.latency(from / c.gpus != to / c.gpus, Protocol::Simple);
                    under_way.push(Reverse(At(come)));
                    end = end.max(come);
                }
            }
        }
    }
    end
}
