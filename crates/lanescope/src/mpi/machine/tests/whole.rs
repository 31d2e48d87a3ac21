//! Whole programs: collectives among any number of ranks, and random programs.

use super::*;

#[test]
fn every_collective_ends() {
    for ranks in (1..=9).chain([12, 16, 33]) {
        for kind in Kind::ALL {
            let mut ways: Vec<&str> = kind.algorithms().iter().map(|a| a.name()).collect();
            if kind == Kind::Barrier {
                ways.clear();
            }
            ways.push("");
            for way in ways {
                for size in ["0 B", "1 B", "1003 B", "40 kB"] {
                    let size = if kind == Kind::Barrier { "" } else { size };
                    let root = if kind.has_root() { format!("root {}", ranks / 2) } else { String::new() };
                    let text = format!("compute 1 ps * rank; repeat 2 {{ {} {size} {root} {way} }}", kind.name());
                    for nodes in [1, 2, 64] {
                        let node_of = (0..ranks).map(|r| r / (64 / nodes)).collect();
                        run_on(job(&text, ranks), costs(), node_of, None).done();
                    }
                }
            }
        }
    }
}

#[test]
fn a_barrier_holds_all_back() {
    for ranks in [2, 3, 7, 16] {
        let r = run(&format!("if rank == {} {{ compute 1 ns }}; barrier", ranks / 2), ranks).done();
        assert!((0..ranks).all(|rank| r.ended(rank) >= 1_000_000));
    }
}

#[test]
fn variable_blocks_are_as_long_as_their_senders_say() {
    for way in ["spread", "pairwise"] {
        let r = run(&format!("alltoallv (rank * 100 + to) * 7 B {way}"), 6).done();
        for rank in 0..6u64 {
            let sent: u64 = (0..6).filter(|to| *to != rank).map(|to| (rank * 100 + to) * 7).sum();
            assert_eq!((r.account(rank as usize).bytes, r.account(rank as usize).messages), (sent, 5));
        }
    }
}

/// The same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A program that cannot lock: messages are begun in a random order, receives in another, and all are waited for at the
/// end of each round.
fn random(dice: &mut Dice, ranks: u32) -> Job {
    let mut bodies: Vec<Vec<Step>> = vec![Vec::new(); ranks as usize];
    for _ in 0..1 + dice.below(4) {
        let mut round: Vec<Vec<Op>> = vec![Vec::new(); ranks as usize];
        for _ in 0..dice.below(40) {
            let (from, to) = (dice.below(ranks.into()) as u32, dice.below(ranks.into()) as u32);
            let (bytes, tag) = ([0, 8, 1000, 1001, 5000][dice.below(5) as usize], dice.below(3) as u32);
            round[from as usize].push(Op::Isend { to, bytes, tag, request: UNNAMED });
            // Receives with a tag of their own size, so that order among them does not matter to what fits.
            round[to as usize].push(Op::Irecv { from: Some(from), bytes: u64::MAX, tag: Some(tag), request: UNNAMED });
        }
        for (body, mut ops) in bodies.iter_mut().zip(round) {
            while !ops.is_empty() {
                body.push(Step::Do(ops.swap_remove(dice.below(ops.len() as u64) as usize)));
                if dice.below(3) == 0 {
                    body.push(Step::Do(Op::Compute(Time::from_fs(dice.below(20_000)))));
                }
            }
            body.push(Step::Do(Op::WaitAll));
        }
    }
    Job { bodies: bodies.into_iter().map(|b| Arc::new(Body::Steps(b))).collect(), ..Job::default() }
}

#[test]
fn random_programs_end_and_lose_nothing() {
    let mut dice = Dice(1);
    for _ in 0..400 {
        let ranks = 1 + dice.below(9) as u32;
        let job = random(&mut dice, ranks);
        let node_of: Vec<u32> = (0..ranks).map(|_| dice.below(4) as u32).collect();
        let costs = Costs { verbs: dice.below(4) == 0, ..costs() };
        let r = run_on(job.clone(), costs.clone(), node_of.clone(), None).done();
        assert_eq!(r.machine.unreceived(), 0);
        let sends = |s: &Step| match s {
            Step::Do(Op::Isend { bytes, .. }) => Some(*bytes),
            _ => None,
        };
        for (body, account) in job.bodies.iter().zip(r.machine.accounts()) {
            let Body::Steps(steps) = &**body else { panic!("steps") };
            let sent: Vec<u64> = steps.iter().filter_map(sends).collect();
            assert_eq!((account.messages, account.bytes), (sent.len() as u64, sent.iter().sum()));
        }
        let again = run_on(job, costs, node_of, None);
        assert_eq!((r.machine.time(), &r.log), (again.machine.time(), &again.log), "the same run twice");
    }
}

#[test]
fn no_rank_is_faster_than_its_own_work() {
    // Overheads, copies and computing of a rank are a lower bound of its end; with a carrier that takes no time and one
    // rank they are its end.
    let text = "repeat 5 { compute 3 ps; sendrecv 500 B to (rank + 1) % ranks from (rank + ranks - 1) % ranks }";
    let r = run(text, 5).done();
    for rank in 0..5 {
        let a = r.account(rank);
        assert_eq!((a.computing, a.sending, a.receiving, a.copying), (15_000, 500, 1000, 10_000));
        assert!(r.ended(rank as u32) > 26_500);
    }
}
