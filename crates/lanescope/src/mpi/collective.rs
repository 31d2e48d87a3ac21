//! Collectives, taken apart into messages.
//!
//! Each algorithm is a pure function of rank, number of ranks and round: what is sent to whom, what is received from
//! whom, whether the round ends with a wait for both, what is combined. Nothing is stored, so an all-to-all among 1,024
//! ranks costs no memory. A rank may have rounds in which it does nothing.
//!
//! The algorithms, and the choice among them by size and number of ranks, are MPICH's: Thakur, Rabenseifner, Gropp:
//! Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, with the thresholds of its tables
//! (as in MPICH2's `mpiimpl.h`). Blocks of a vector are even to a byte; reductions are taken to be commutative. Where
//! the number of ranks is no power of two, reductions first fold the surplus ranks into their neighbours, and an
//! allgather by recursive doubling is done as Bruck does it.

use super::op::{Algorithm, Collective, Kind};
use crate::units::Bytes;
use std::fmt;
use std::sync::Arc;

/// Isends and irecvs that a spread all-to-all has open at once (MPICH: `MPIR_CVAR_ALLTOALL_THROTTLE`).
const THROTTLE: u32 = 32;

/// Thresholds, bytes.
const BCAST_SHORT: u64 = 12_288;
const BCAST_LONG: u64 = 524_288;
const BCAST_FEW: u32 = 8;
const ALLTOALL_SHORT: u64 = 256;
const ALLTOALL_MEDIUM: u64 = 32_768;
const REDUCE_SHORT: u64 = 2_048;
const ALLREDUCE_SHORT: u64 = 2_048;
const ALLGATHER_SHORT: u64 = 81_920;
const ALLGATHER_LONG: u64 = 524_288;
const REDUCE_SCATTER_LONG: u64 = 524_288;

/// What a message of a collective holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Nothing but the news.
    Nothing,
    /// The whole vector.
    All,
    /// `count` blocks from `first` on, round about.
    Range { first: u32, count: u32 },
    /// Blocks of an all-to-all whose distance has this bit set (Bruck).
    Bit(u32),
    /// The sender's block for this rank.
    For(u32),
    /// Whatever the sender has for the receiver.
    Any,
}

/// The other rank of a message, and what is in it.
type Side = Option<(u32, Part)>;

/// What a rank does in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    /// To whom, and what.
    pub(super) send: Side,
    /// From whom, and what.
    pub(super) receive: Side,
    /// Waits for all that is open at its end.
    pub(super) wait: bool,
    /// What was received is combined with what is there, after the wait.
    pub(super) combine: bool,
    /// Bytes moved in the rank's own memory.
    pub(super) copy: u64,
}

impl Round {
    fn exchange(send: Side, receive: Side) -> Round {
        Round { send, receive, wait: true, combine: false, copy: 0 }
    }

    fn combined(self) -> Round {
        Round { combine: self.receive.is_some(), ..self }
    }
}

/// A collective that a rank is in.
#[derive(Clone, Debug)]
pub(super) struct Call {
    kind: Kind,
    algorithm: Algorithm,
    n: u32,
    root: u32,
    bytes: u64,
    each: Option<Arc<[u64]>>,
    work: f64,
    /// Blocks that a vector is cut into.
    blocks: u32,
}

impl Kind {
    /// As MPI calls it, in small letters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Bcast => "bcast",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Gather => "gather",
            Kind::Scatter => "scatter",
            Kind::Allgather => "allgather",
            Kind::Alltoall => "alltoall",
            Kind::Alltoallv => "alltoallv",
        }
    }

    /// All of them.
    pub(crate) const ALL: [Kind; 10] = [
        Kind::Barrier,
        Kind::Bcast,
        Kind::Reduce,
        Kind::Allreduce,
        Kind::ReduceScatter,
        Kind::Gather,
        Kind::Scatter,
        Kind::Allgather,
        Kind::Alltoall,
        Kind::Alltoallv,
    ];

    /// Whether it has a root.
    pub(crate) fn has_root(self) -> bool {
        matches!(self, Kind::Bcast | Kind::Reduce | Kind::Gather | Kind::Scatter)
    }

    /// The algorithms that it can be taken apart by.
    pub(crate) fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::*;
        match self {
            Kind::Barrier => &[Bruck],
            Kind::Bcast => &[Binomial, ScatterAllgather, Ring],
            Kind::Reduce => &[Binomial, ScatterAllgather],
            Kind::Allreduce => &[RecursiveDoubling, ScatterAllgather, Ring],
            Kind::ReduceScatter => &[RecursiveDoubling, Pairwise],
            Kind::Gather | Kind::Scatter => &[Binomial],
            Kind::Allgather => &[RecursiveDoubling, Bruck, Ring],
            Kind::Alltoall => &[Bruck, Spread, Pairwise],
            Kind::Alltoallv => &[Spread, Pairwise],
        }
    }

    /// Those of them that may be stated: of a barrier's only one there is nothing to state.
    pub(crate) fn choices(self) -> &'static [Algorithm] {
        if self == Kind::Barrier { &[] } else { self.algorithms() }
    }
}

impl Algorithm {
    /// All of them.
    pub(crate) const ALL: [Algorithm; 7] = [
        Algorithm::Binomial,
        Algorithm::RecursiveDoubling,
        Algorithm::ScatterAllgather,
        Algorithm::Ring,
        Algorithm::Bruck,
        Algorithm::Pairwise,
        Algorithm::Spread,
    ];

    /// The one of a name.
    pub(crate) fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|a| a.name() == name)
    }

    /// What to do where another was stated than one of these.
    pub(crate) fn one_of(choices: &[Algorithm]) -> Option<String> {
        let names: Vec<&str> = choices.iter().map(|a| a.name()).collect();
        (!names.is_empty()).then(|| format!("it is done by {}", names.join(", ")))
    }

    /// In small letters, for texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Binomial => "binomial",
            Algorithm::RecursiveDoubling => "recursive_doubling",
            Algorithm::ScatterAllgather => "scatter_allgather",
            Algorithm::Ring => "ring",
            Algorithm::Bruck => "bruck",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Spread => "spread",
        }
    }
}

impl fmt::Display for Collective {
    /// `allreduce 1 MB`, `bcast 8 B root 3`, `alltoall 1 KiB ring`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if !matches!(self.kind, Kind::Barrier | Kind::Alltoallv) {
            write!(f, " {}", Bytes(self.bytes))?;
        }
        if self.kind.has_root() {
            write!(f, " root {}", self.root)?;
        }
        self.algorithm.map_or(Ok(()), |a| write!(f, " {}", a.name()))
    }
}

impl Collective {
    /// Whether another rank that calls this is in the same collective.
    pub(crate) fn fits(&self, other: &Collective) -> bool {
        let variable = self.kind == Kind::Alltoallv;
        self.kind == other.kind
            && (variable || self.bytes == other.bytes)
            && (!self.kind.has_root() || self.root == other.root)
            && self.algorithm == other.algorithm
    }

    /// What it is and how it is done among `n` ranks: `allreduce 1 MB: Rabenseifner (reduce-scatter + allgather)`.
    pub(crate) fn done(&self, n: u32) -> String {
        use Algorithm::*;
        let size = if matches!(self.kind, Kind::Barrier | Kind::Alltoallv) {
            String::new()
        } else {
            format!(" {}", Bytes(self.bytes))
        };
        let how = match (self.kind, self.chosen(n)) {
            (Kind::Barrier, _) => "dissemination",
            (Kind::Bcast, ScatterAllgather) => "van de Geijn (scatter + allgather by doubling)",
            (Kind::Bcast, Ring) => "van de Geijn (scatter + allgather around the ring)",
            (Kind::Reduce, ScatterAllgather) => "Rabenseifner (reduce-scatter + gather)",
            (_, ScatterAllgather) => "Rabenseifner (reduce-scatter + allgather)",
            (Kind::Allreduce, Ring) => "ring (reduce-scatter + allgather)",
            (Kind::ReduceScatter, RecursiveDoubling) => "recursive halving",
            (_, Binomial) => "binomial tree",
            (_, RecursiveDoubling) => "recursive doubling",
            (_, Ring) => "ring",
            (_, Bruck) => "Bruck",
            (_, Pairwise) => "pairwise exchange",
            (_, Spread) => "all at once",
        };
        format!("{}{size}: {how}", self.kind.name())
    }

    /// How it is taken apart among `n` ranks: as the program says, else as MPICH chooses.
    pub(crate) fn chosen(&self, n: u32) -> Algorithm {
        use Algorithm::*;
        if let Some(stated) = self.algorithm {
            return stated;
        }
        let bytes = self.bytes;
        let total = bytes.saturating_mul(n as u64);
        match self.kind {
            Kind::Barrier => Bruck,
            Kind::Bcast if bytes < BCAST_SHORT || n < BCAST_FEW => Binomial,
            Kind::Bcast if bytes < BCAST_LONG && n.is_power_of_two() => ScatterAllgather,
            Kind::Bcast => Ring,
            Kind::Reduce if bytes <= REDUCE_SHORT || bytes < n as u64 => Binomial,
            Kind::Reduce => ScatterAllgather,
            Kind::Allreduce if bytes <= ALLREDUCE_SHORT || bytes < n as u64 => RecursiveDoubling,
            Kind::Allreduce => ScatterAllgather,
            Kind::ReduceScatter if total < REDUCE_SCATTER_LONG => RecursiveDoubling,
            Kind::ReduceScatter => Pairwise,
            Kind::Gather | Kind::Scatter => Binomial,
            Kind::Allgather if total < ALLGATHER_LONG && n.is_power_of_two() => RecursiveDoubling,
            Kind::Allgather if total < ALLGATHER_SHORT => Bruck,
            Kind::Allgather => Ring,
            Kind::Alltoall if bytes <= ALLTOALL_SHORT && n >= 8 => Bruck,
            Kind::Alltoall if bytes <= ALLTOALL_MEDIUM => Spread,
            Kind::Alltoall => Pairwise,
            Kind::Alltoallv => Spread,
        }
    }
}

/// ceil(log2 n).
fn levels(n: u32) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// The largest power of two that is not above n.
fn power(n: u32) -> u32 {
    1 << n.max(1).ilog2()
}

/// The first block of `v` after `k` halvings of `blocks`: its lowest bits, the lowest first.
fn half(v: u32, k: u32, blocks: u32) -> u32 {
    (0..k).map(|j| ((v >> j) & 1) * (blocks >> (j + 1))).sum()
}

impl Call {
    /// What `n` ranks do for a collective; an error where it makes no sense.
    pub(super) fn new(what: &Collective, n: u32) -> Result<Call, String> {
        let algorithm = what.chosen(n);
        if !what.kind.algorithms().contains(&algorithm) {
            return Err(format!("{} is not done by {}", what.kind.name(), algorithm.name()));
        }
        if what.kind.has_root() && what.root >= n {
            return Err(format!("its root {} is none of {n} ranks", what.root));
        }
        if what.kind == Kind::Alltoallv && what.each.as_ref().is_none_or(|e| e.len() != n as usize) {
            return Err(format!("it needs a size for each of {n} ranks"));
        }
        let blocks = match (what.kind, algorithm) {
            (Kind::Reduce | Kind::Allreduce, Algorithm::ScatterAllgather) => power(n),
            _ => n,
        };
        let Collective { kind, bytes, root, ref each, work, .. } = *what;
        Ok(Call { kind, algorithm, n, root, bytes, each: each.clone(), work, blocks })
    }

    /// Which it is.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether its size is that of a whole vector, and not of a block.
    fn vector(&self) -> bool {
        matches!(self.kind, Kind::Bcast | Kind::Reduce | Kind::Allreduce)
    }

    /// Where block `i` of a vector begins.
    fn start(&self, i: u32) -> u64 {
        (self.bytes as u128 * i as u128 / self.blocks.max(1) as u128) as u64
    }

    /// Bytes of a message that rank `r` sends or receives.
    pub(super) fn bytes(&self, r: u32, part: Part) -> u64 {
        let blocks = |count: u32| self.bytes.saturating_mul(count as u64);
        match part {
            Part::Nothing => 0,
            Part::All if self.vector() => self.bytes,
            Part::All => blocks(self.n),
            Part::Range { first, count } if self.vector() => {
                let end = first + count;
                if end <= self.blocks {
                    self.start(end) - self.start(first)
                } else {
                    self.bytes - self.start(first) + self.start(end - self.blocks)
                }
            }
            Part::Range { count, .. } => blocks(count),
            Part::Bit(k) => {
                let low = (self.n & ((2 << k) - 1)).saturating_sub(1 << k);
                blocks(((self.n >> (k + 1)) << k) + low)
            }
            Part::For(to) => match &self.each {
                Some(each) if self.kind == Kind::Alltoallv => each.get(to as usize).copied().unwrap_or(0),
                _ => self.bytes,
            },
            Part::Any if self.kind == Kind::Alltoallv => u64::MAX,
            Part::Any => self.bytes(r, Part::For(r)),
        }
    }

    /// Floating-point operations to combine so many received bytes: the share of the work that they are of the vector.
    pub(super) fn work(&self, bytes: u64) -> f64 {
        let whole = if self.vector() { self.bytes } else { self.bytes.saturating_mul(self.n as u64) };
        if self.work > 0.0 && whole > 0 { self.work * bytes as f64 / whole as f64 } else { 0.0 }
    }

    /// What rank `r` does in round `k`; `None` after the last.
    pub(super) fn round(&self, r: u32, k: u32) -> Option<Round> {
        use Algorithm::*;
        match (self.kind, self.algorithm) {
            (Kind::Barrier, _) => self.dissemination(r, k),
            (Kind::Bcast, Binomial) => self.down(r, k, |_, _| Part::All),
            (Kind::Bcast, algorithm) => {
                let n = self.n;
                match k.checked_sub(levels(n)) {
                    None => self.down(r, k, |first, count| Part::Range { first, count }),
                    Some(k) if algorithm == ScatterAllgather && n.is_power_of_two() => self.double(r, self.root, k),
                    Some(k) => self.ring(r, self.root, 0, k),
                }
            }
            (Kind::Scatter, _) => self.down(r, k, |first, count| Part::Range { first, count }),
            (Kind::Gather, _) => self.up(r, k, |first, count| Part::Range { first, count }),
            (Kind::Reduce, Binomial) => self.up(r, k, |_, _| Part::All).map(Round::combined),
            (Kind::Reduce, _) => self.reduce(r, k),
            (Kind::Allreduce, Ring) => match k.checked_sub(self.n - 1) {
                None => self.ring(r, 0, 0, k).map(Round::combined),
                Some(k) => self.ring(r, 0, 1, k),
            },
            (Kind::Allreduce, _) => self.allreduce(r, k),
            (Kind::ReduceScatter, Pairwise) => self.pairwise(r, k, false).map(Round::combined),
            (Kind::ReduceScatter, _) => self.halving(r, k),
            (Kind::Allgather, RecursiveDoubling) if self.n.is_power_of_two() => self.double(r, 0, k),
            (Kind::Allgather, Ring) => self.ring(r, 0, 0, k),
            (Kind::Allgather, _) => self.gather_bruck(r, k),
            (Kind::Alltoall, Bruck) => self.alltoall_bruck(r, k),
            (Kind::Alltoall | Kind::Alltoallv, Pairwise) => self.pairwise(r, k, self.n.is_power_of_two()),
            (Kind::Alltoall | Kind::Alltoallv, _) => self.spread(r, k),
        }
    }

    /// `r` moved on by `by` around the ring.
    fn on(&self, r: u32, by: u32) -> u32 {
        ((r as u64 + by as u64) % self.n as u64) as u32
    }

    /// `r` moved back.
    fn back(&self, r: u32, by: u32) -> u32 {
        self.on(r, self.n - by % self.n)
    }

    /// Hensgen, Finkel, Manber 1988: in round k everyone tells the one 2^k further on.
    fn dissemination(&self, r: u32, k: u32) -> Option<Round> {
        (k < levels(self.n)).then(|| {
            let by = 1 << k;
            Round::exchange(Some((self.on(r, by), Part::Nothing)), Some((self.back(r, by), Part::Nothing)))
        })
    }

    /// A binomial tree from the root, the largest subtree first. `part` says what goes to the subtree of `count` ranks
    /// from `first` on, counted from the root.
    fn down(&self, r: u32, k: u32, part: fn(u32, u32) -> Part) -> Option<Round> {
        let levels = levels(self.n);
        (k < levels).then(|| self.edge(r, 1 << (levels - 1 - k), part)).map(|(to, from)| Round::exchange(to, from))
    }

    /// The same towards the root, the smallest subtree first.
    fn up(&self, r: u32, k: u32, part: fn(u32, u32) -> Part) -> Option<Round> {
        (k < levels(self.n)).then(|| self.edge(r, 1 << k, part)).map(|(from, to)| Round::exchange(to, from))
    }

    /// The edge of the tree that joins subtrees of `size`: (to its child, to its parent) as `r` sees it.
    fn edge(&self, r: u32, size: u32, part: fn(u32, u32) -> Part) -> (Side, Side) {
        let v = self.back(r, self.root);
        let of = |first: u32| part(first, size.min(self.n - first));
        let place = v % (2 * size);
        if place == 0 && v + size < self.n {
            (Some((self.on(r, size), of(v + size))), None)
        } else if place == size {
            (None, Some((self.back(r, size), of(v))))
        } else {
            (None, None)
        }
    }

    /// Around the ring: in round k the block that came in round k - 1 goes on. Counted from `root`; a rank begins with
    /// the block `lead` beyond its own.
    fn ring(&self, r: u32, root: u32, lead: u32, k: u32) -> Option<Round> {
        (k + 1 < self.n).then(|| {
            let v = self.on(self.back(r, root), lead);
            let block = |first| Part::Range { first, count: 1 };
            Round::exchange(
                Some((self.on(r, 1), block(self.back(v, k)))),
                Some((self.back(r, 1), block(self.back(v, k + 1)))),
            )
        })
    }

    /// Recursive doubling of a power of two, counted from `root`: all that was gathered goes to the partner.
    fn double(&self, r: u32, root: u32, k: u32) -> Option<Round> {
        (k < levels(self.n)).then(|| {
            let v = self.back(r, root);
            let have = |v: u32| Part::Range { first: v >> k << k, count: 1 << k };
            let other = v ^ 1 << k;
            let peer = self.on(other, root);
            Round::exchange(Some((peer, have(v))), Some((peer, have(other))))
        })
    }

    /// Bruck et al. 1997: all that was gathered goes to the one 2^k before; at the end, blocks are rotated into place.
    fn gather_bruck(&self, r: u32, k: u32) -> Option<Round> {
        let levels = levels(self.n);
        if k == levels && self.n > 1 {
            return Some(Round { copy: self.bytes(r, Part::All), ..Round::default() });
        }
        (k < levels).then(|| {
            let count = (1 << k).min(self.n - (1 << k));
            let by = 1 << k;
            let from = self.on(r, by);
            Round::exchange(
                Some((self.back(r, by), Part::Range { first: r, count })),
                Some((from, Part::Range { first: from, count })),
            )
        })
    }

    /// Bruck et al. 1997: in round k, the blocks whose distance has bit k set go 2^k on; blocks are rotated before and
    /// after.
    fn alltoall_bruck(&self, r: u32, k: u32) -> Option<Round> {
        let levels = levels(self.n);
        let copy = self.bytes(r, Part::All);
        if self.n < 2 {
            return None;
        }
        match k {
            0 => Some(Round { copy, ..Round::default() }),
            k if k <= levels => {
                let by = 1 << (k - 1);
                let part = Part::Bit(k - 1);
                Some(Round::exchange(Some((self.on(r, by), part)), Some((self.back(r, by), part))))
            }
            k if k == levels + 1 => Some(Round { copy, ..Round::default() }),
            _ => None,
        }
    }

    /// One partner after the other: the one at distance k + 1, or the one whose number differs by these bits.
    fn pairwise(&self, r: u32, k: u32, bits: bool) -> Option<Round> {
        (k + 1 < self.n).then(|| {
            let (to, from) = if bits { (r ^ (k + 1), r ^ (k + 1)) } else { (self.on(r, k + 1), self.back(r, k + 1)) };
            Round::exchange(Some((to, Part::For(to))), Some((from, Part::Any)))
        })
    }

    /// All at once, [`THROTTLE`] at a time: first the receives of a window, then its sends, then the wait.
    fn spread(&self, r: u32, k: u32) -> Option<Round> {
        let (window, i) = (k / (2 * THROTTLE), k % (2 * THROTTLE));
        let first = window * THROTTLE + 1;
        let size = THROTTLE.min(self.n.checked_sub(first)?);
        if i < size {
            let from = self.on(r, first + i);
            Some(Round { receive: Some((from, Part::Any)), ..Round::default() })
        } else if i < 2 * size {
            let to = self.back(r, first + i - size);
            Some(Round { send: Some((to, Part::For(to))), wait: i + 1 == 2 * size, ..Round::default() })
        } else {
            None
        }
    }

    /// Folding the surplus over a power of two: of the first `2 x surplus` ranks, those of odd place give theirs to the
    /// one before and stand aside. The place of `v` among those that go on, or the round in which it gives.
    fn fold(&self, v: u32) -> Result<u32, u32> {
        let surplus = self.n - power(self.n);
        if v >= 2 * surplus {
            Ok(v - surplus)
        } else if v.is_multiple_of(2) {
            Ok(v / 2)
        } else {
            Err(v - 1)
        }
    }

    /// The rank of place `v` among those that go on.
    fn unfold(&self, v: u32) -> u32 {
        let surplus = self.n - power(self.n);
        if v < surplus { 2 * v } else { v + surplus }
    }

    /// The first round of a reduction, where there is a surplus.
    fn surplus(&self, v: u32, part: Part) -> Round {
        let surplus = self.n - power(self.n);
        match self.fold(v) {
            Err(to) => Round::exchange(Some((to, part)), None),
            Ok(_) if v < 2 * surplus => Round::exchange(None, Some((v + 1, part))).combined(),
            Ok(_) => Round::default(),
        }
    }

    /// Recursive doubling of whole vectors, or reduce-scatter by halving vectors and doubling distances, then allgather
    /// the other way (Rabenseifner 2004).
    fn allreduce(&self, r: u32, k: u32) -> Option<Round> {
        let (power, levels) = (power(self.n), power(self.n).trailing_zeros());
        let folded = u32::from(power < self.n);
        let rounds = if self.algorithm == Algorithm::RecursiveDoubling { levels } else { 2 * levels };
        if k < folded {
            return Some(self.surplus(r, Part::All));
        }
        let k = k - folded;
        let v = match self.fold(r) {
            Ok(v) => v,
            Err(giver) => {
                // It waits for the result.
                return match k {
                    0 => Some(Round::exchange(None, Some((giver, Part::All)))),
                    _ => None,
                };
            }
        };
        if k < rounds {
            return Some(match self.algorithm {
                Algorithm::RecursiveDoubling => {
                    let peer = self.unfold(v ^ 1 << k);
                    Round::exchange(Some((peer, Part::All)), Some((peer, Part::All))).combined()
                }
                _ => self.rabenseifner(v, k, levels),
            });
        }
        (k == rounds && folded == 1 && r < 2 * (self.n - power))
            .then(|| Round::exchange(Some((r + 1, Part::All)), None))
    }

    /// Round k of both halves of Rabenseifner's algorithm, for place `v` of a power of two.
    fn rabenseifner(&self, v: u32, k: u32, levels: u32) -> Round {
        let scatter = k < levels;
        let j = if scatter { k } else { 2 * levels - 1 - k };
        let other = v ^ 1 << j;
        let peer = self.unfold(other);
        let count = self.blocks >> (j + 1);
        let kept = |v: u32| Part::Range { first: half(v, j + 1, self.blocks), count };
        if scatter {
            Round::exchange(Some((peer, kept(other))), Some((peer, kept(v)))).combined()
        } else {
            Round::exchange(Some((peer, kept(v))), Some((peer, kept(other))))
        }
    }

    /// Reduce-scatter as in an allreduce, then a binomial gather of the blocks to the root.
    fn reduce(&self, r: u32, k: u32) -> Option<Round> {
        let levels = power(self.n).trailing_zeros();
        let folded = u32::from(power(self.n) < self.n);
        // Counted from the root, which therefore stays in.
        let v = self.back(r, self.root);
        let seen = |round: Round| {
            let turn = |side: Side| side.map(|(rank, part)| (self.on(rank, self.root), part));
            Round { send: turn(round.send), receive: turn(round.receive), ..round }
        };
        if k < folded {
            return Some(seen(self.surplus(v, Part::All)));
        }
        let k = k - folded;
        let v = self.fold(v).ok()?;
        if k < levels {
            return Some(seen(self.rabenseifner(v, k, levels)));
        }
        let j = (2 * levels).checked_sub(k + 1)?;
        if v >> (j + 1) != 0 {
            return None;
        }
        let kept = |v: u32| Part::Range { first: half(v, j + 1, self.blocks), count: self.blocks >> (j + 1) };
        let (other, peer) = (v ^ 1 << j, self.unfold(v ^ 1 << j));
        Some(seen(if v >> j & 1 == 1 {
            Round::exchange(Some((peer, kept(v))), None)
        } else {
            Round::exchange(None, Some((peer, kept(other))))
        }))
    }

    /// Reduce-scatter by recursive halving: distances halve, so that every rank ends with its own block; those that
    /// stood aside get theirs at the end.
    fn halving(&self, r: u32, k: u32) -> Option<Round> {
        let (power, levels) = (power(self.n), power(self.n).trailing_zeros());
        let surplus = self.n - power;
        let folded = u32::from(surplus > 0);
        if k < folded {
            return Some(self.surplus(r, Part::All));
        }
        let k = k - folded;
        let own = |rank: u32| Part::Range { first: rank, count: 1 };
        let v = match self.fold(r) {
            Ok(v) => v,
            Err(giver) => return (k == 0).then(|| Round::exchange(None, Some((giver, own(r))))),
        };
        if k < levels {
            let size = power >> (k + 1);
            let old = |place: u32| if place < surplus { 2 * place } else { place + surplus };
            let kept = |v: u32| {
                let first = v / size * size;
                Part::Range { first: old(first), count: old(first + size) - old(first) }
            };
            let other = v ^ size;
            let peer = self.unfold(other);
            return Some(Round::exchange(Some((peer, kept(other))), Some((peer, kept(v)))).combined());
        }
        (k == levels && r < 2 * surplus).then(|| Round::exchange(Some((r + 1, own(r + 1))), None))
    }
}

#[cfg(test)]
mod tests;
