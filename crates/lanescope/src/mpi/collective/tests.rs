//! Every algorithm is run with blocks that know whose they are: what is sent must be there, what is received must be
//! what was sent, and at the end every rank must have what the collective promises, each contribution once.

use super::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a rank holds: by block, the ranks whose contributions are in it. Of an all-to-all a block is `source x n +
/// target`.
type Held = BTreeMap<u32, BTreeSet<u32>>;

fn collective(kind: Kind, bytes: u64, algorithm: Option<Algorithm>) -> Collective {
    Collective { kind, bytes, root: 0, algorithm, each: None, work: 0.0 }
}

/// Messages on their way from one rank to another: part, bytes, blocks.
type Mail = BTreeMap<(u32, u32), VecDeque<(Part, u64, Held)>>;

struct Run {
    held: Vec<Held>,
    sent: Vec<u64>,
    messages: Vec<u64>,
    rounds: u32,
}

fn start(call: &Call, r: u32) -> Held {
    let n = call.n;
    let all = |of: &dyn Fn(u32) -> u32| (0..call.blocks).map(|b| (of(b), BTreeSet::from([r]))).collect();
    match call.kind {
        Kind::Barrier => BTreeMap::from([(0, BTreeSet::from([r]))]),
        Kind::Bcast | Kind::Scatter if r == call.root => all(&|b| b),
        Kind::Bcast | Kind::Scatter => Held::new(),
        Kind::Gather => BTreeMap::from([(call.back(r, call.root), BTreeSet::from([r]))]),
        Kind::Allgather => BTreeMap::from([(r, BTreeSet::from([r]))]),
        Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter => all(&|b| b),
        Kind::Alltoall | Kind::Alltoallv => all(&|b| r * n + b),
    }
}

/// The blocks of a part, as its sender `s` has them.
fn blocks(call: &Call, held: &Held, s: u32, part: Part, to: u32) -> Vec<u32> {
    let n = call.n;
    match part {
        Part::Nothing => vec![0],
        Part::All => (0..call.blocks).collect(),
        Part::Range { first, count } => (0..count).map(|i| (first + i) % call.blocks).collect(),
        Part::Bit(k) => held.keys().copied().filter(|b| call.back(b % n, s) >> k & 1 == 1).collect(),
        Part::For(to) if call.kind == Kind::ReduceScatter => vec![to],
        Part::For(to) => vec![s * n + to],
        Part::Any => blocks(call, held, s, Part::For(to), to),
    }
}

fn run(what: &Collective, n: u32) -> Run {
    let call = Call::new(what, n).expect("a collective");
    let ranks = n as usize;
    let mut held: Vec<Held> = (0..n).map(|r| start(&call, r)).collect();
    let mut mail = Mail::new();
    let (mut sent, mut messages) = (vec![0u64; ranks], vec![0u64; ranks]);
    let mut next = vec![0u32; ranks];
    let mut open: Vec<VecDeque<(u32, Part, bool)>> = vec![VecDeque::new(); ranks];
    let mut waits = vec![false; ranks];
    let mut ended = vec![false; ranks];
    let mut rounds = 0;
    loop {
        let mut moved = false;
        for r in 0..n {
            let i = r as usize;
            while waits[i] && !open[i].is_empty() {
                // Whatever was asked for first and is there.
                let at = open[i].iter().position(|o| mail.get(&(o.0, r)).is_some_and(|m| !m.is_empty()));
                let Some((from, part, combine)) = at.and_then(|at| open[i].remove(at)) else { break };
                moved = true;
                let (as_sent, bytes, blocks_) = mail.get_mut(&(from, r)).and_then(VecDeque::pop_front).expect("mail");
                if call.kind == Kind::Alltoallv {
                    assert_eq!(call.bytes(r, part), u64::MAX);
                } else {
                    assert_eq!(call.bytes(r, part), bytes, "{from} sends {as_sent:?}, {r} expects {part:?}, n = {n}");
                }
                let scatters = call.kind == Kind::ReduceScatter && matches!(as_sent, Part::For(_));
                assert!(
                    scatters || part == as_sent || matches!((part, as_sent), (Part::Any, Part::For(to)) if to == r)
                );
                for (block, from) in blocks_ {
                    let mine = held[i].entry(block).or_default();
                    if combine {
                        assert!(mine.is_disjoint(&from), "{block} of {r} gets {from:?} twice, n = {n}, {what}");
                        mine.extend(from);
                    } else {
                        *mine = from;
                    }
                }
            }
            if ended[i] || waits[i] && !open[i].is_empty() {
                continue;
            }
            waits[i] = false;
            moved = true;
            let Some(round) = call.round(r, next[i]) else {
                ended[i] = true;
                assert!(open[i].is_empty(), "something is open at the end");
                continue;
            };
            next[i] += 1;
            rounds = rounds.max(next[i]);
            if let Some((to, part)) = round.send {
                assert!(to < n && to != r, "{r} sends to {to} of {n}");
                let list = blocks(&call, &held[i], r, part, to);
                let get = |b: &u32| {
                    let whose = held[i].get(b).unwrap_or_else(|| panic!("{r} has no block {b}, n = {n}, {what}"));
                    // A pairwise reduce-scatter sends its own contribution only.
                    let own = call.kind == Kind::ReduceScatter && matches!(part, Part::For(_));
                    (*b, if own { BTreeSet::from([r]) } else { whose.clone() })
                };
                let content: Held = list.iter().map(get).collect();
                let bytes = call.bytes(r, part);
                if matches!(part, Part::Bit(_)) {
                    assert_eq!(bytes, content.len() as u64 * call.bytes, "n = {n}");
                    for b in content.keys() {
                        held[i].remove(b);
                    }
                }
                sent[i] += bytes;
                messages[i] += 1;
                mail.entry((r, to)).or_default().push_back((part, bytes, content));
            }
            if let Some((from, part)) = round.receive {
                assert!(from < n && from != r, "{r} receives from {from} of {n}");
                open[i].push_back((from, part, round.combine));
            }
            waits[i] = round.wait;
        }
        if !moved {
            break;
        }
    }
    assert!(ended.iter().all(|&e| e), "{what} among {n} comes to a standstill");
    assert!(mail.values().all(VecDeque::is_empty), "{what} among {n}: nobody receives something");
    Run { held, sent, messages, rounds }
}

/// What every rank must hold at the end.
fn delivered(what: &Collective, n: u32, run: &Run) {
    let everyone: BTreeSet<u32> = (0..n).collect();
    let call = Call::new(what, n).expect("a collective");
    for r in 0..n {
        let held = &run.held[r as usize];
        let whose = |b: u32| held.get(&b).cloned().unwrap_or_default();
        let place = format!("rank {r} of {n}, {what}");
        match what.kind {
            Kind::Barrier => {}
            Kind::Bcast => (0..n).for_each(|b| assert_eq!(whose(b), BTreeSet::from([what.root]), "{place}")),
            Kind::Scatter => assert_eq!(whose(call.back(r, what.root)), BTreeSet::from([what.root]), "{place}"),
            Kind::Gather if r == what.root => {
                (0..n).for_each(|b| assert_eq!(whose(b), BTreeSet::from([call.on(b, what.root)]), "{place}"));
            }
            Kind::Gather => {}
            Kind::Allgather => (0..n).for_each(|b| assert_eq!(whose(b), BTreeSet::from([b]), "{place}")),
            Kind::Reduce if r != what.root => {}
            Kind::Reduce | Kind::Allreduce => {
                (0..call.blocks).for_each(|b| assert_eq!(whose(b), everyone, "{place}, block {b}"));
            }
            Kind::ReduceScatter => assert_eq!(whose(r), everyone, "{place}"),
            Kind::Alltoall | Kind::Alltoallv => {
                (0..n).for_each(|s| assert_eq!(whose(s * n + r), BTreeSet::from([s]), "{place}"));
            }
        }
    }
}

#[test]
fn every_algorithm_delivers() {
    for n in (1..=17).chain([24, 31, 32, 33, 40, 64, 65, 70]) {
        for kind in Kind::ALL {
            for &algorithm in kind.algorithms() {
                let roots = if kind.has_root() { [0, n / 2, n - 1].to_vec() } else { vec![0] };
                for root in roots {
                    let mut what = Collective { root, ..collective(kind, 100, Some(algorithm)) };
                    if kind == Kind::Alltoallv {
                        what.each = Some((0..n as u64).collect());
                    }
                    let run = run(&what, n);
                    delivered(&what, n, &run);
                    if n == 1 {
                        assert_eq!(run.messages, [0]);
                    }
                }
            }
        }
    }
}

#[test]
fn a_barrier_ends_when_all_have_come() {
    // In ceil(log2 n) rounds every rank hears, directly or not, of every other.
    for n in 1..=33u32 {
        let what = collective(Kind::Barrier, 0, None);
        let call = Call::new(&what, n).expect("a barrier");
        let mut heard: Vec<BTreeSet<u32>> = (0..n).map(|r| BTreeSet::from([r])).collect();
        let mut k = 0;
        while call.round(0, k).is_some() {
            let before = heard.clone();
            for r in 0..n {
                let (from, _) = call.round(r, k).and_then(|x| x.receive).expect("a message");
                heard[r as usize].extend(&before[from as usize]);
            }
            k += 1;
        }
        assert!(heard.iter().all(|h| h.len() == n as usize), "n = {n}");
        assert_eq!(1u32 << k, n.next_power_of_two());
    }
}

/// Bytes sent by rank 0, by all ranks, and rounds.
fn cost(kind: Kind, bytes: u64, algorithm: Algorithm, n: u32) -> (u64, u64, u32) {
    let run = run(&collective(kind, bytes, Some(algorithm)), n);
    (run.sent[0], run.sent.iter().sum(), run.rounds)
}

#[test]
fn bytes_and_rounds_are_those_of_the_paper() {
    use Algorithm::*;
    // Thakur et al. 2005, section 4; n = 16, log2 n = 4; a vector or block of 1600 B.
    // Broadcast: every rank but the root receives the vector once from a tree.
    assert_eq!(cost(Kind::Bcast, 1600, Binomial, 16), (4 * 1600, 15 * 1600, 4));
    // Scatter of half the vector in each of log n rounds, then an allgather: 1500 B from each.
    assert_eq!(cost(Kind::Bcast, 1600, ScatterAllgather, 16), (800 + 400 + 200 + 100 + 1500, 4 * 800 + 16 * 1500, 8));
    assert_eq!(cost(Kind::Bcast, 1600, Ring, 16), (3000, 4 * 800 + 16 * 1500, 4 + 15));
    // Allgather: n - 1 blocks, in log n, log n (and the rotation) or n - 1 rounds.
    assert_eq!(cost(Kind::Allgather, 100, RecursiveDoubling, 16), (1500, 16 * 1500, 4));
    assert_eq!(cost(Kind::Allgather, 100, Bruck, 16), (1500, 16 * 1500, 5));
    assert_eq!(cost(Kind::Allgather, 100, Bruck, 11), (1000, 11 * 1000, 5));
    assert_eq!(cost(Kind::Allgather, 100, Ring, 11), (1000, 11 * 1000, 10));
    // Allreduce: n lg p, or 2 n (p - 1) / p.
    assert_eq!(cost(Kind::Allreduce, 1600, RecursiveDoubling, 16), (6400, 16 * 6400, 4));
    assert_eq!(cost(Kind::Allreduce, 1600, ScatterAllgather, 16), (3000, 16 * 3000, 8));
    assert_eq!(cost(Kind::Allreduce, 1600, Ring, 16), (3000, 16 * 3000, 30));
    // 17 ranks: rank 1 gives its vector and gets the result.
    assert_eq!(cost(Kind::Allreduce, 1600, ScatterAllgather, 17), (3000 + 1600, 16 * 3000 + 2 * 1600, 10));
    // Reduce: a tree, or a reduce-scatter and a gather.
    assert_eq!(cost(Kind::Reduce, 1600, Binomial, 16), (0, 15 * 1600, 4));
    assert_eq!(cost(Kind::Reduce, 1600, ScatterAllgather, 16), (1500, 16 * 1500 + 4 * 800, 8));
    // Reduce-scatter of 100 B blocks: (p - 1) / p of the vector by halving; as much pairwise, in p - 1 rounds.
    assert_eq!(cost(Kind::ReduceScatter, 100, RecursiveDoubling, 16), (1500, 16 * 1500, 4));
    assert_eq!(cost(Kind::ReduceScatter, 100, Pairwise, 16), (1500, 16 * 1500, 15));
    // All-to-all: half of the blocks in each of log n rounds (and two rotations), or each block once.
    assert_eq!(cost(Kind::Alltoall, 100, Bruck, 16), (4 * 800, 16 * 3200, 6));
    assert_eq!(cost(Kind::Alltoall, 100, Pairwise, 16), (1500, 16 * 1500, 15));
    assert_eq!(cost(Kind::Alltoall, 100, Spread, 16), (1500, 16 * 1500, 30));
    // Gather and scatter: log n rounds; each block is moved once for each bit of its distance: 32 bits are set in 0 ..
    // 15.
    assert_eq!(cost(Kind::Gather, 100, Binomial, 16), (0, 3200, 4));
    assert_eq!(cost(Kind::Scatter, 100, Binomial, 16), (1500, 3200, 4));
}

#[test]
fn the_choice_is_that_of_mpich() {
    use Algorithm::*;
    let chosen = |kind, bytes, n| collective(kind, bytes, None).chosen(n);
    assert_eq!(chosen(Kind::Bcast, 12_287, 64), Binomial);
    assert_eq!(chosen(Kind::Bcast, 1 << 20, 7), Binomial);
    assert_eq!(chosen(Kind::Bcast, 12_288, 64), ScatterAllgather);
    assert_eq!(chosen(Kind::Bcast, 12_288, 63), Ring);
    assert_eq!(chosen(Kind::Bcast, 524_288, 64), Ring);
    assert_eq!(chosen(Kind::Reduce, 2048, 64), Binomial);
    assert_eq!(chosen(Kind::Reduce, 2049, 64), ScatterAllgather);
    assert_eq!(chosen(Kind::Reduce, 2049, 4000), Binomial, "a block for each rank must not be empty");
    assert_eq!(chosen(Kind::Allreduce, 2048, 64), RecursiveDoubling);
    assert_eq!(chosen(Kind::Allreduce, 1 << 20, 63), ScatterAllgather);
    assert_eq!(chosen(Kind::ReduceScatter, 8191, 64), RecursiveDoubling);
    assert_eq!(chosen(Kind::ReduceScatter, 8192, 64), Pairwise);
    assert_eq!(chosen(Kind::Allgather, 8191, 64), RecursiveDoubling);
    assert_eq!(chosen(Kind::Allgather, 8192, 64), Ring);
    assert_eq!(chosen(Kind::Allgather, 1000, 63), Bruck);
    assert_eq!(chosen(Kind::Allgather, 1400, 63), Ring);
    assert_eq!(chosen(Kind::Alltoall, 256, 8), Bruck);
    assert_eq!(chosen(Kind::Alltoall, 256, 7), Spread);
    assert_eq!(chosen(Kind::Alltoall, 32_768, 8), Spread);
    assert_eq!(chosen(Kind::Alltoall, 32_769, 8), Pairwise);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let wrong = |what: &Collective, n| Call::new(what, n).expect_err("refused");
    assert_eq!(wrong(&collective(Kind::Gather, 8, Some(Algorithm::Ring)), 4), "gather is not done by ring");
    let rooted = Collective { root: 4, ..collective(Kind::Bcast, 8, None) };
    assert_eq!(wrong(&rooted, 4), "its root 4 is none of 4 ranks");
    assert_eq!(wrong(&collective(Kind::Alltoallv, 8, None), 4), "it needs a size for each of 4 ranks");
}

#[test]
fn odd_sizes_lose_no_byte() {
    // 1001 B in 3 blocks: 333, 334, 334; and a vector shorter than its blocks.
    let call = Call::new(&collective(Kind::Allreduce, 1001, Some(Algorithm::Ring)), 3).expect("a call");
    let one = |first| call.bytes(0, Part::Range { first, count: 1 });
    assert_eq!([one(0), one(1), one(2)], [333, 334, 334]);
    assert_eq!(call.bytes(0, Part::Range { first: 2, count: 2 }), 667);
    let call = Call::new(&collective(Kind::Bcast, 2, Some(Algorithm::Ring)), 5).expect("a call");
    assert_eq!((0..5).map(|first| call.bytes(0, Part::Range { first, count: 1 })).sum::<u64>(), 2);
}
