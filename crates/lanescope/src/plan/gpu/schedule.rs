//! A collective as messages: what each thread block sends in which order, and what each message waits for.
//!
//! A block sends its messages in order, each when those that it waits for have been received (and added up). This is
//! what a simulation runs; the sizes of its pieces are the estimate's too.

use super::GpuCluster;
use super::collective::{Collective, Move, depth, level, parents};
use crate::scenario::keys::CollectiveAlgorithm as Algorithm;
use crate::units::Bytes;

/// Messages of a schedule at most.
pub(crate) const MOST_MESSAGES: usize = 2_000_000;
/// Waits for nothing.
pub(crate) const NONE: u32 = u32::MAX;
/// Bytes of the smallest piece that a chunk is cut into.
pub(crate) const LEAST_PIECE: u64 = 2048;

/// One message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// From where to where.
    pub what: Move,
    /// Of which channel.
    pub channel: u32,
    /// Bytes of data.
    pub bytes: u64,
    /// The thread block that sends it.
    pub block: u32,
    /// What must have been received before; `NONE` where a place is empty.
    pub after: [u32; 3],
    /// Whether the receiver adds it up.
    pub adds: bool,
}

/// All of them. Those of a block are in its order.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// In an order in which each stands behind those that it waits for.
    pub messages: Vec<Message>,
    /// Thread blocks.
    pub blocks: u32,
}

impl Schedule {
    fn push(&mut self, message: Message) -> Result<u32, String> {
        if self.messages.len() >= MOST_MESSAGES {
            return Err(format!(
                "it takes more than {MOST_MESSAGES} messages; fewer GPUs, less data, or larger chunks are simulated"
            ));
        }
        self.blocks = self.blocks.max(message.block + 1);
        self.messages.push(message);
        Ok(self.messages.len() as u32 - 1)
    }
}

/// Three places for what is waited for.
fn three(all: impl IntoIterator<Item = u32>) -> [u32; 3] {
    let mut after = [NONE; 3];
    for (place, id) in after.iter_mut().zip(all.into_iter().filter(|id| *id != NONE)) {
        *place = id;
    }
    after
}

/// Cuts a size into pieces of at most `most`.
fn pieces(bytes: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = bytes.div_ceil(most.max(1));
    (0..count).map(move |i| if i + 1 < count { most } else { bytes - (count - 1) * most })
}

/// All of a tree, the deepest first.
fn leaves_first(parents: &[Option<u32>]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..parents.len() as u32).collect();
    order.sort_by_cached_key(|v| std::cmp::Reverse(level(parents, *v)));
    order
}

impl GpuCluster {
    /// Bytes of a piece of a channel's part that goes through so many stages: the chunk, halved until there are as many
    /// pieces as stages.
    pub(crate) fn piece(&self, chunk: u64, of_channel: u64, stages: u32) -> u64 {
        let mut piece = chunk;
        while piece > LEAST_PIECE && of_channel.div_ceil(piece) < u64::from(stages) {
            piece = (piece / 2).max(LEAST_PIECE);
        }
        piece.min(of_channel.max(1))
    }

    /// Channels that a size is worth: each has at least a piece.
    pub fn used(&self, bytes: u64) -> u32 {
        let worth = bytes.div_ceil(LEAST_PIECE).clamp(1, u64::from(self.channels));
        worth as u32
    }

    /// Stages of a pipeline down a tree of nodes and the chains of GPUs in them.
    pub(crate) fn stages(&self, what: Collective, how: Algorithm) -> (u32, u32) {
        let deep = (0..2).map(|t| depth(&parents(self.nodes, how != Algorithm::Tree && t == 1))).max().unwrap_or(0);
        let ways = if what == Collective::AllReduce { 2 } else { 1 };
        let inside = if how == Algorithm::NvlsTree { 0 } else { self.gpus - 1 };
        (ways * inside, ways * deep)
    }

    /// The messages of a collective.
    ///
    /// # Errors
    ///
    /// More than `MOST_MESSAGES`.
    pub fn schedule(&self, what: Collective, how: Algorithm, bytes: u64) -> Result<Schedule, String> {
        let mut all = Schedule::default();
        let channels = self.used(bytes);
        for c in 0..channels {
            let part = bytes * u64::from(c + 1) / u64::from(channels) - bytes * u64::from(c) / u64::from(channels);
            match how {
                Algorithm::Ring if what == Collective::Broadcast => self.down_the_ring(&mut all, c, part)?,
                Algorithm::Ring => self.around(&mut all, what, c, part)?,
                Algorithm::Tree | Algorithm::DoubleTree | Algorithm::Nvls | Algorithm::NvlsTree => {
                    let piece = self.piece_of(what, how, part);
                    self.pipeline(&mut all, what, how, c, (part, piece), self.gpus)?;
                }
                Algorithm::RecursiveDoubling => self.double(&mut all, what, c, part)?,
                Algorithm::Direct => self.each_to_each(&mut all, what, c, part)?,
            }
        }
        Ok(all)
    }

    /// How many messages a ring, recursive doubling, or an exchange of each with each has, at most.
    pub(crate) fn messages(&self, what: Collective, how: Algorithm, bytes: u64) -> u64 {
        let (n, channels) = (u64::from(self.ranks()), self.used(bytes));
        let part = bytes.div_ceil(u64::from(channels));
        let of_rank = match (how, what) {
            (Algorithm::Ring, Collective::Broadcast) => part.div_ceil(self.piece(self.chunk, part, self.ranks())),
            (Algorithm::Ring, _) => {
                let step = part.div_ceil(n);
                let turns = if what == Collective::AllReduce { 2 } else { 1 };
                turns * n * step.div_ceil(self.chunk) * self.slices_of(step.min(self.chunk))
            }
            (Algorithm::RecursiveDoubling, _) => self.doubling(what).len() as u64,
            _ => 2 * n * part.div_ceil(n).div_ceil(self.chunk),
        };
        n.saturating_mul(u64::from(channels)).saturating_mul(of_rank)
    }

    /// Bytes of the pieces that a channel's part is cut into on its way through a tree or the switch of a node.
    pub(crate) fn piece_of(&self, what: Collective, how: Algorithm, part: u64) -> u64 {
        let (inside, between) = self.stages(what, how);
        match how {
            Algorithm::Nvls => self.piece(self.nvls_chunk, part, 2),
            Algorithm::NvlsTree => self.piece(self.nvls_chunk, part, between + 2),
            _ => self.piece(self.chunk, part, inside + between),
        }
    }

    /// The messages of a channel whose part goes in pieces through a tree, the switch of a node or both; of the switch
    /// only what the first so many GPUs of each node are the ends of.
    pub(crate) fn pipeline(
        &self,
        all: &mut Schedule,
        what: Collective,
        how: Algorithm,
        c: u32,
        (part, piece): (u64, u64),
        rails: u32,
    ) -> Result<(), String> {
        match how {
            Algorithm::Nvls => self.in_node(all, what, c, (part, piece), rails),
            Algorithm::NvlsTree => self.between_nodes(all, c, (part, piece), rails),
            _ => self.up_and_down(all, what, how, c, (part, piece)),
        }
    }

    /// A thread block: of a rank, on a channel, for one of a few jobs.
    fn block(&self, rank: u32, channel: u32, job: u32) -> u32 {
        (job * self.channels + channel) * self.ranks() + rank
    }

    /// Slices of a step of so many bytes.
    pub(crate) fn slices_of(&self, step: u64) -> u64 {
        u64::from(self.slices).min(step.div_ceil(LEAST_PIECE)).max(1)
    }

    fn around(&self, all: &mut Schedule, what: Collective, c: u32, part: u64) -> Result<(), String> {
        let order = self.ring(c);
        let n = order.len();
        let steps = if what == Collective::AllReduce { 2 * (n - 1) } else { n - 1 };
        for step_bytes in pieces(part.div_ceil(n as u64), self.chunk) {
            let slices = self.slices_of(step_bytes) as usize;
            let base = all.messages.len();
            for step in 0..steps {
                for i in 0..n {
                    for (j, bytes) in pieces(step_bytes, step_bytes.div_ceil(slices as u64)).enumerate() {
                        let before = (step > 0).then(|| base + ((step - 1) * n + (i + n - 1) % n) * slices + j);
                        let after = three(before.map(|b| b as u32));
                        let adds = match what {
                            Collective::AllReduce => step < n - 1,
                            other => other.reduces(),
                        };
                        let (from, to) = (order[i], order[(i + 1) % n]);
                        let block = self.block(from, c, 0);
                        all.push(Message { what: Move::Send(from, to), channel: c, bytes, block, after, adds })?;
                    }
                    // Rounding may have made a slice less.
                    while all.messages.len() < base + ((step * n + i) + 1) * slices {
                        let last = all.messages[all.messages.len() - 1];
                        all.push(Message { bytes: 0, ..last })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn down_the_ring(&self, all: &mut Schedule, c: u32, part: u64) -> Result<(), String> {
        // All channels have the same root: rank 0 begins.
        let order = self.ring(c);
        let at = order.iter().position(|r| *r == 0).unwrap_or(0);
        for bytes in pieces(part, self.piece(self.chunk, part, self.ranks())) {
            let mut before = NONE;
            for i in 0..order.len() - 1 {
                let [from, to] = [i, i + 1].map(|i| order[(at + i) % order.len()]);
                let (after, block) = (three([before]), self.block(from, c, 0));
                before =
                    all.push(Message { what: Move::Send(from, to), channel: c, bytes, block, after, adds: false })?;
            }
        }
        Ok(())
    }

    fn up_and_down(
        &self,
        all: &mut Schedule,
        what: Collective,
        how: Algorithm,
        c: u32,
        (part, piece): (u64, u64),
    ) -> Result<(), String> {
        let parents = parents(self.nodes, how == Algorithm::DoubleTree && c % 2 == 1);
        let chains: Vec<Vec<u32>> = (0..self.nodes).map(|n| self.chain(n, c)).collect();
        let mut above = vec![None; self.ranks() as usize];
        for (chain, parent) in chains.iter().zip(&parents) {
            chain.windows(2).for_each(|w| above[w[1] as usize] = Some(w[0]));
            above[chain[0] as usize] = parent.map(|p| chains[p as usize][0]);
        }
        let order = leaves_first(&above);
        let mut came: Vec<Vec<u32>> = vec![Vec::new(); above.len()];
        for bytes in pieces(part, piece) {
            came.iter_mut().for_each(Vec::clear);
            if what == Collective::AllReduce {
                for &r in &order {
                    let Some(up) = above[r as usize] else { continue };
                    let (after, block) = (three(came[r as usize].iter().copied()), self.block(r, c, 0));
                    let message = Message { what: Move::Send(r, up), channel: c, bytes, block, after, adds: true };
                    came[up as usize].push(all.push(message)?);
                }
            }
            for &r in order.iter().rev() {
                let Some(up) = above[r as usize] else { continue };
                let (after, block) = (three(came[up as usize].iter().copied()), self.block(up, c, 1));
                let message = Message { what: Move::Send(up, r), channel: c, bytes, block, after, adds: false };
                came[r as usize] = vec![all.push(message)?];
            }
        }
        Ok(())
    }

    fn double(&self, all: &mut Schedule, what: Collective, c: u32, part: u64) -> Result<(), String> {
        let n = self.ranks();
        let mut before: Vec<u32> = vec![NONE; n as usize];
        for (distance, share) in self.doubling(what) {
            let bytes = (part as f64 * share).ceil() as u64;
            let mut now = before.clone();
            for r in 0..n {
                let (after, block) = (three([before[r as usize]]), self.block(r, c, 0));
                let (send, adds) = (Move::Send(r, r ^ distance), what.reduces());
                now[(r ^ distance) as usize] =
                    all.push(Message { what: send, channel: c, bytes, block, after, adds })?;
            }
            before = now;
        }
        Ok(())
    }

    fn in_node(
        &self,
        all: &mut Schedule,
        what: Collective,
        c: u32,
        (part, piece): (u64, u64),
        rails: u32,
    ) -> Result<(), String> {
        for piece in pieces(part, piece) {
            for r in 0..rails {
                let bytes = piece.div_ceil(u64::from(self.ranks()));
                let mut before = NONE;
                let mut put = |what, job, adds| {
                    let (after, block) = (three([before]), self.block(r, c, job));
                    before = all.push(Message { what, channel: c, bytes, block, after, adds })?;
                    Ok::<(), String>(())
                };
                if what != Collective::AllGather {
                    put(Move::Reduce(r), 0, true)?;
                }
                if what != Collective::ReduceScatter {
                    put(Move::Multicast(r), 3, false)?;
                }
            }
        }
        Ok(())
    }

    fn between_nodes(&self, all: &mut Schedule, c: u32, (part, piece): (u64, u64), rails: u32) -> Result<(), String> {
        let (n, g) = (self.nodes, self.gpus);
        let parents = parents(n, c % 2 == 1);
        let order = leaves_first(&parents);
        for piece in pieces(part, piece) {
            let bytes = piece.div_ceil(u64::from(g));
            for rail in 0..rails {
                let mut came: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
                let mut put = |what, from: u32, job, after, adds| {
                    all.push(Message { what, channel: c, bytes, block: self.block(from, c, job), after, adds })
                };
                for v in 0..n {
                    came[v as usize].push(put(Move::Reduce(v * g + rail), v * g + rail, 0, [NONE; 3], true)?);
                }
                for &v in &order {
                    let Some(p) = parents[v as usize] else { continue };
                    let (from, to) = (v * g + rail, p * g + rail);
                    let after = three(came[v as usize].iter().copied());
                    came[p as usize].push(put(Move::Send(from, to), from, 1, after, true)?);
                }
                for &v in order.iter().rev() {
                    if let Some(p) = parents[v as usize] {
                        let (from, to) = (p * g + rail, v * g + rail);
                        let after = three(came[p as usize].iter().copied());
                        came[v as usize] = vec![put(Move::Send(from, to), from, 2, after, false)?];
                    }
                    let after = three(came[v as usize].iter().copied());
                    put(Move::Multicast(v * g + rail), v * g + rail, 3, after, false)?;
                }
            }
        }
        Ok(())
    }

    /// How far the i-th peer of a rank is on a channel. Channels begin with different ones, so that all links of a GPU
    /// and all NICs of a node have something to do (NCCL: the channels of point-to-point messages differ by peer).
    pub(crate) fn turn_of(&self, i: u32, channel: u32) -> u32 {
        1 + (i - 1 + channel) % (self.ranks() - 1)
    }

    fn each_to_each(&self, all: &mut Schedule, what: Collective, c: u32, part: u64) -> Result<(), String> {
        let n = self.ranks();
        let peers = if what == Collective::Sendrecv { 1 } else { n };
        for i in 1..n.min(if peers == 1 { 2 } else { n }) {
            let distance = if peers == 1 { 1 } else { self.turn_of(i, c) };
            for bytes in pieces(part.div_ceil(u64::from(peers)), self.chunk) {
                for r in 0..n {
                    let to = (r + distance) % n;
                    let mut before = NONE;
                    let hops: Vec<(u32, u32)> = match peers {
                        1 => vec![(r, to)],
                        _ => self.hops(r, to).collect(),
                    };
                    for (job, (from, to)) in hops.into_iter().enumerate() {
                        let (after, block) = (three([before]), self.block(from, c, job as u32));
                        let what = Move::Send(from, to);
                        before = all.push(Message { what, channel: c, bytes, block, after, adds: false })?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Bytes as nccl-tests take them: `8`, `8K`, `1M`, `16G`, in powers of 1024; or with a unit of lanescope.
///
/// # Errors
///
/// What is no size.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a valid size: write 8, 512K, 64M, 16G (powers of 1024), or \"64 MiB\"");
    let trimmed = text.trim();
    let digits = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &trimmed[digits.len()..] {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ => return Bytes::parse(trimmed).map(|b| b.0).map_err(|_| wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).filter(|b| *b > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_nccl_tests_read_them() {
        assert_eq!(
            ["8", "2K", "64M", "16G", "64 MiB"].map(|t| size(t).ok()),
            [Some(8), Some(2048), Some(64 << 20), Some(16 << 30), Some(64 << 20)]
        );
        assert!(["", "0", "-1", "1T", "many", "99999999999999999999G"].iter().all(|t| size(t).is_err()));
    }

    #[test]
    fn pieces_add_up() {
        for (bytes, most) in [(1, 1), (10, 3), (4096, 4096), (4097, 4096)] {
            assert_eq!(pieces(bytes, most).sum::<u64>(), bytes);
            assert!(pieces(bytes, most).all(|p| p > 0 && p <= most));
        }
    }
}
