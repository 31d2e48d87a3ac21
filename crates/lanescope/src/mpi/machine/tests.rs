//! Runs worked out by hand, over a carrier with LogGP's latency and gap: to the femtosecond.

mod blocked;
mod whole;

use super::*;
use crate::diagnostic::Diagnostics;
use crate::mpi::op::{Body, Kind, Task, UNNAMED};
use crate::mpi::text;

/// Latency and femtoseconds per byte of the carrier.
const LATENCY: u64 = 1000;
const GAP: u64 = 3;

/// Small numbers to count with: an overhead of 100 to send and 200 to receive, 2 fs per byte copied, 4 per byte
/// combined.
fn costs() -> Costs {
    let rate = |bits| Some(Rate::from_bits(bits));
    Costs {
        send: 100,
        receive: 200,
        header: 10,
        control: 20,
        eager: 1000,
        copy: rate(4_000_000_000_000_000),
        reduce: rate(2_000_000_000_000_000),
        work: 1e15,
        verbs: false,
    }
}

fn job(text: &str, ranks: u32) -> Job {
    let mut d = Diagnostics::default();
    let job = text::read(&mut d, text, None, ranks);
    job.unwrap_or_else(|| panic!("{d}"))
}

/// What was taken down adds up to the accounts; what began ended, and nothing overlaps.
fn logged(seen: &[Logged], machine: &Machine) {
    let ranks = machine.core.ranks.len();
    let (mut sums, mut open) = (vec![Account::default(); ranks], vec![Vec::new(); ranks]);
    let mut pieces = vec![Vec::new(); ranks];
    let mut sent = 0u64;
    for line in seen {
        match *line {
            Logged::Spent { rank, on, begin, end } => {
                let a = &mut sums[rank as usize];
                let sum = match on {
                    Spending::Computing => &mut a.computing,
                    Spending::Copying => &mut a.copying,
                    Spending::Waiting => &mut a.waiting,
                };
                *sum += end - begin;
                pieces[rank as usize].push((begin, end));
            }
            Logged::Sent { mail, begin, end } => {
                sums[mail.from as usize].sending += end - begin;
                pieces[mail.from as usize].push((begin, end));
                sent += u64::from(matches!(mail.what, What::Eager | What::Request));
            }
            Logged::Received { mail, begin, end } => {
                sums[mail.to as usize].receiving += end - begin;
                pieces[mail.to as usize].push((begin, end));
            }
            Logged::Began { rank, at, .. } => open[rank as usize].push(at),
            Logged::Ended { rank, at } => {
                assert!(open[rank as usize].pop().is_some_and(|began| began <= at));
            }
        }
    }
    assert!(open.iter().all(Vec::is_empty), "{open:?}");
    for ((seen, account), pieces) in sums.iter().zip(machine.accounts()).zip(&mut pieces) {
        assert_eq!(*seen, Account { messages: 0, bytes: 0, ..account });
        pieces.sort_unstable();
        assert!(pieces.windows(2).all(|p| p[0].1 <= p[1].0), "{pieces:?}");
    }
    assert_eq!(sent, machine.accounts().map(|a| a.messages).sum::<u64>());
}

struct Ran {
    machine: Machine,
    /// Messages of the carrier: when they came, which, from, to.
    log: Vec<(u64, What, u32, u32)>,
    /// When nothing happened any more.
    end: u64,
}

/// Runs a job to its end or standstill; each sender's adapter sends one message after the other.
fn run_on(job: Job, costs: Costs, node_of: Vec<u32>, steady: Option<f64>) -> Ran {
    let ranks = job.bodies.len();
    let mut machine = Machine::new(Arc::new(job), costs, Placement { node_of }, steady);
    machine.log(true);
    let mut seen = Vec::new();
    let mut free = vec![0u64; ranks];
    let mut under_way: BinaryHeap<Reverse<(u64, u64, bool, u32)>> = BinaryHeap::new();
    let (mut log, mut out, mut order, mut end) = (Vec::new(), Vec::new(), 0u64, 0);
    let mut known: Vec<Post> = Vec::new();
    loop {
        let carried = under_way.peek().map_or(u64::MAX, |e| e.0.0);
        let now = machine.next().min(carried);
        if now == u64::MAX {
            break;
        }
        assert!(now >= end, "time runs back");
        end = now;
        if carried == now {
            let Some(Reverse((_, _, arrives, token))) = under_way.pop() else { break };
            if arrives {
                let post = known[token as usize];
                log.push((now, post.what, post.from, post.to));
                machine.arrived(token, now, &mut out);
            } else {
                machine.sent(token, now, &mut out);
            }
        } else {
            machine.on(now, &mut out);
        }
        seen.extend(machine.take_log());
        assert!(machine.steps() < 10_000_000, "it goes on for ever");
        for post in out.drain(..) {
            assert!(post.at >= now && post.from != post.to);
            known.resize(known.len().max(post.token as usize + 1), post);
            known[post.token as usize] = post;
            let leaves = free[post.from as usize].max(post.at) + post.bytes * GAP;
            free[post.from as usize] = leaves;
            under_way.push(Reverse((leaves, order, false, post.token)));
            under_way.push(Reverse((leaves + LATENCY, order, true, post.token)));
            order += 1;
        }
    }
    for (r, account) in machine.accounts().enumerate() {
        if let Some(ended) = machine.ended(r as u32) {
            assert_eq!(account.total(), ended, "the account of rank {r} has a hole: {account:?}");
        }
    }
    if machine.is_done() {
        logged(&seen, &machine);
    }
    if machine.is_done() && machine.unreceived() == 0 {
        assert!(machine.waiting().is_empty());
        assert_eq!(machine.core.requests.used(), 0, "requests are left");
        assert_eq!(machine.core.messages.used(), 0, "messages are left");
    }
    Ran { machine, log, end }
}

/// The same of a text, each rank on a node of its own.
fn run(text: &str, ranks: u32) -> Ran {
    run_on(job(text, ranks), costs(), (0..ranks).collect(), None)
}

impl Ran {
    fn done(self) -> Ran {
        assert_eq!(self.machine.fault(), None);
        assert!(self.machine.is_done(), "{:#?}", self.machine.waiting());
        self
    }

    fn ended(&self, rank: u32) -> u64 {
        self.machine.ended(rank).expect("an end")
    }

    fn account(&self, rank: usize) -> Account {
        self.machine.accounts().nth(rank).expect("a rank")
    }

    fn fault(&self) -> String {
        self.machine.fault().expect("a fault")
    }
}

#[test]
fn an_eager_ping_pong() {
    let r = run("if rank == 0 { send 100 B to 1; recv 100 B from 1 } else { recv 100 B from 0; send 100 B to 0 }", 2)
        .done();
    // 100 overhead, 200 copy; 110 B take 330 and 1000 on the way: 1630. 200 overhead, 200 copy: 2030. And back.
    assert_eq!(r.log, [(1630, What::Eager, 0, 1), (3660, What::Eager, 1, 0)]);
    assert_eq!((r.ended(1), r.ended(0), r.machine.time()), (2330, 4060, 4060));
    let (zero, one) = (r.account(0), r.account(1));
    let expected =
        Account { sending: 100, receiving: 200, copying: 400, messages: 1, bytes: 100, ..Account::default() };
    assert_eq!(zero, Account { waiting: 3360, ..expected });
    assert_eq!(one, Account { waiting: 1630, ..expected });
}

#[test]
fn a_rendezvous() {
    let r = run("if rank == 0 { send 2 kB to 1 } else { recv 2 kB from 0 }", 2).done();
    // Request: 100, on the wire until 160, there at 1160. The receiver takes it in, 1360, and answers, 1460: there at
    // 2520. The sender takes that in, 2720, and writes, 2820: 2000 B have left at 8820 and are there at 9820; taken in
    // at 10020.
    assert_eq!(r.log, [(1160, What::Request, 0, 1), (2520, What::Clear, 1, 0), (9820, What::Data, 0, 1)]);
    assert_eq!((r.ended(0), r.ended(1)), (8820, 10_020));
    assert_eq!(
        r.account(0),
        Account { sending: 200, receiving: 200, waiting: 8420, messages: 1, bytes: 2000, ..Account::default() }
    );
    assert_eq!(r.account(1), Account { sending: 100, receiving: 400, waiting: 9520, ..Account::default() });
}

#[test]
fn the_largest_eager_message_is_one() {
    let (eager, larger) = (
        run("if rank == 0 { send 1 kB to 1 } else { recv from 0 }", 2),
        run("if rank == 0 { send 1001 B to 1 } else { recv from 0 }", 2),
    );
    assert_eq!((eager.log.len(), larger.log.len()), (1, 3));
    assert_eq!(eager.done().ended(0), 100 + 2000, "the buffer is free when it was copied");
}

#[test]
fn what_comes_early_waits() {
    // An eager message is there at 1630; the receive takes it in at 5000.
    let r = run("if rank == 0 { send 100 B to 1 } else { compute 5 ps; recv 100 B from 0 }", 2).done();
    assert_eq!((r.ended(1), r.account(1).waiting), (5400, 0));
    // It is taken in by any call, and copied when its receive comes: here by a send at 5000 (5200, then 100 and 200 of
    // copy), then computing, then the receive.
    let r = run(
        "if rank == 0 { send 100 B to 1; recv from 1 } else \
        { compute 5 ps; send 100 B to 0; compute 1 ps; recv 100 B from 0 }",
        2,
    )
    .done();
    assert_eq!(r.ended(1), 5000 + 200 + 300 + 1000 + 200);
}

#[test]
fn a_rendezvous_waits_for_whoever_computes() {
    // The request is there at 1160, but the receiver computes until 50000; only then it takes it in (50200) and answers
    // (50300); 60 and 1000 on the way; 200 and 100 at the sender, in its send all the time: 51660; 6000 and 1000; 200.
    let r = run("if rank == 0 { send 2 kB to 1 } else { irecv 2 kB from 0 as a; compute 50 ps; wait a }", 2).done();
    assert_eq!((r.ended(0), r.ended(1)), (57_660, 58_860));
    // A call in between answers: at 25000, before its own overhead of 100 (to itself, through memory). Data are there
    // before the wait.
    let between = "if rank == 0 { send 2 kB to 1 } else \
        { irecv 2 kB from 0 as a; compute 25 ps; isend 0 B to 1; compute 25 ps; wait a; recv 0 B from 1 }";
    let r = run(between, 2).done();
    assert_eq!(r.log[1], (25_300 + 60 + 1000, What::Clear, 1, 0));
    assert_eq!(r.ended(0), 26_360 + 300 + 6000);
    // 25000, 300 to answer, 100 to send, 25000; then the message to itself and the data are taken in: 400.
    assert_eq!(r.ended(1), 50_800);
    // The same at the sender: the answer is there at 2520, data leave when it waits.
    let r = run("if rank == 0 { isend 2 kB to 1 as a; compute 50 ps; wait a } else { recv 2 kB from 0 }", 2).done();
    assert_eq!((r.ended(0), r.ended(1)), (50_100 + 300 + 6000, 50_100 + 300 + 7000 + 200));
}

#[test]
fn ranks_of_a_node_exchange_through_memory() {
    let ping_pong =
        |size| format!("if rank == 0 {{ send {size} B to 1; recv from 1 }} else {{ recv from 0; send {size} B to 0 }}");
    let on_one_node = |text: &str| run_on(job(text, 2), costs(), vec![7, 7], None).done();
    let r = on_one_node(&ping_pong(100));
    // 100 overhead, 200 for the only copy, 200 overhead.
    assert_eq!((r.ended(0), r.log.len()), (1000, 0));
    // 2000 B ask first: 100; 200 and 100; 200, 100 and 4000 of copy; 200.
    let r = on_one_node(&ping_pong(2000));
    assert_eq!((r.ended(0), r.log.len()), (2 * (100 + 300 + 4300 + 200), 0));
}

#[test]
fn verbs_send_as_it_is() {
    let text = "if rank == 0 { send 2 kB to 1 } else { recv from 0 }";
    let r = run_on(job(text, 2), Costs { verbs: true, header: 0, ..costs() }, vec![0, 1], None).done();
    // No copy and no request: 100, 6000, 1000, 200. The send is complete when it has left.
    assert_eq!((r.ended(0), r.ended(1), r.log.len()), (6100, 7300, 1));
}

#[test]
fn work_and_combining_are_computing() {
    // 1e15 operations a second: one a femtosecond.
    assert_eq!(run("work 12345", 1).done().account(0).computing, 12_345);
    // Rank 0 receives 50 B: there at 100 + 100 + 180 + 1000 = 1380; 200, 100 of copy, 200 to combine.
    let r = run("reduce 50 B binomial", 2).done();
    assert_eq!((r.ended(1), r.ended(0), r.account(0).computing), (200, 1880, 200));
}

#[test]
fn an_allreduce_among_four() {
    // Recursive doubling of 50 B: two rounds of 100 + 100 (copy) + 180 + 1000 + 200 + 100 (copy) + 200 (combining), all
    // in step.
    let r = run("allreduce 50 B", 4).done();
    assert!((0..4).all(|rank| r.ended(rank) == 2 * 1880));
}

#[test]
fn order_is_kept() {
    // The first needs a rendezvous, the second overtakes it in time but not in order: else it would be too short, and
    // the first too long.
    run("if rank == 0 { isend 2 kB to 1; send 8 B to 1; waitall } else { recv 2 kB from 0; recv 8 B from 0 }", 2)
        .done();
    // The same when both wait for their receives.
    run(
        "if rank == 0 { isend 2 kB to 1; send 8 B to 1; waitall } else \
        { compute 90 ps; recv 2 kB from 0; recv 8 B from 0 }",
        2,
    )
    .done();
    // Of two receives that match, the one posted first takes the message; tags choose among messages.
    run("if rank == 0 { send 8 B to 1; send 9 B to 1 } else { irecv 8 B from any; irecv 9 B from 0; waitall }", 2)
        .done();
    run(
        "if rank == 0 { send 9 B to 1 tag 5; send 8 B to 1 tag 6 } else \
        { recv 8 B from 0 tag 6; recv 9 B from 0 tag any }",
        2,
    )
    .done();
    run(
        "if rank == 0 { send 9 B to 1 tag 5; send 8 B to 1 tag 6 } else \
        { compute 90 ps; recv 8 B from any tag 6; recv 9 B from 0 tag 5 }",
        2,
    )
    .done();
}

#[test]
fn any_source_takes_what_comes_first() {
    let text = "if rank == 0 { recv 8 B from any; recv 9 B from any }
        if rank == 1 { compute 50 ps; send 9 B to 0 }
        if rank == 2 { send 8 B to 0 }";
    let r = run(text, 3).done();
    assert_eq!(r.log.iter().map(|l| l.2).collect::<Vec<_>>(), [2, 1]);
    // Messages of collectives match receives of collectives only.
    run("if rank == 0 { irecv from any tag any as a; barrier; wait a } else { barrier; send 8 B to 0 }", 2).done();
}

#[test]
fn ranks_may_have_nothing_to_do() {
    let r = run("if rank < 2 { sendrecv 8 B to 1 - rank from 1 - rank }", 4).done();
    assert_eq!((r.ended(2), r.ended(3), r.ended(0)), (0, 0, r.machine.time()));
    let r = run("", 3).done();
    assert_eq!((r.machine.time(), r.machine.steps() > 0), (0, true));
    assert!(run_on(Job::default(), costs(), Vec::new(), None).done().machine.next() == u64::MAX);
    for kind in Kind::ALL {
        let size = if kind == Kind::Barrier { "" } else { "5 kB" };
        assert_eq!(run(&format!("{} {size}", kind.name()), 1).done().machine.time(), 0, "{kind:?}");
    }
}

#[test]
fn a_rank_may_send_to_itself() {
    run("irecv 2 kB from rank as a; send 2 kB to rank; wait a", 2).done();
    run("send 8 B to rank; recv 8 B from rank", 2).done();
    run("sendrecv 2 kB to rank from rank", 1).done();
}

#[test]
fn requests_that_are_open_at_the_end_are_ended() {
    let mut d = Diagnostics::default();
    let text = "if rank == 0 { isend 2 kB to 1 } else { compute 50 ps; irecv 2 kB from 0 }";
    let job = text::read(&mut d, text, None, 2).expect("a job with warnings");
    let r = run_on(job, costs(), vec![0, 1], None).done();
    assert!(r.ended(0) > 50_000 && r.ended(1) > r.ended(0));
}

#[test]
fn a_graph_waits_for_what_it_requires() {
    let task =
        |op, requires: &[u32], irequires: &[u32]| Task { op, requires: requires.into(), irequires: irequires.into() };
    let calc = |fs| Op::Compute(Time::from_fs(fs));
    let send = |to, bytes| Op::Send { to, bytes, tag: 1 };
    let recv = |from, bytes| Op::Recv { from: Some(from), bytes, tag: Some(1) };
    let graph = |zero: Vec<Task>, one: Vec<Task>| Job {
        bodies: vec![Arc::new(Body::Graph(zero)), Arc::new(Body::Graph(one))],
        ..Job::default()
    };
    let run = |job: Job| run_on(job, costs(), vec![0, 1], None);
    // Rank 0 computes 500 and sends (300, of it 200 of copy), 800. What requires the send computes 50: 850. Rank 1
    // waits for the message, there at 2130: 200 and 200; then 70.
    let r = run(graph(
        vec![task(calc(50), &[2], &[]), task(calc(500), &[], &[]), task(send(1, 100), &[1], &[])],
        vec![task(calc(70), &[1], &[]), task(recv(0, 100), &[], &[])],
    ))
    .done();
    assert_eq!((r.ended(0), r.ended(1)), (850, 2130 + 400 + 70));
    // What requires that a rendezvous has begun goes on at once, what requires that it is complete waits until its data
    // have left (8820).
    let r = run(graph(
        vec![task(send(1, 2000), &[], &[]), task(calc(1), &[], &[0]), task(calc(1000), &[0], &[])],
        vec![task(recv(0, 2000), &[], &[])],
    ))
    .done();
    assert_eq!((r.ended(0), r.account(0).waiting), (8820 + 1000, 8820 - 401));
    // A message that comes while the processor computes is taken in behind it.
    let r =
        run(graph(vec![task(send(1, 100), &[], &[])], vec![task(calc(9000), &[], &[]), task(recv(0, 100), &[], &[])]))
            .done();
    assert_eq!(r.ended(1), 9400);
    // Circles, tasks that are not there, operations that a graph has not.
    let r = run(graph(vec![task(calc(1), &[1], &[]), task(calc(1), &[0], &[])], vec![]));
    assert_eq!(r.machine.waiting(), ["rank 0 waits for tasks that never end: 2 are left"]);
    let r = run(graph(vec![], vec![task(calc(1), &[1], &[])]));
    assert_eq!(r.fault(), "rank 1: task 0 requires task 1 of 1");
    let r = run(graph(vec![task(Op::WaitAll, &[], &[])], vec![]));
    assert_eq!(r.fault(), "rank 0: task 0 is not a calculation, send or receive");
}

#[test]
fn sections_are_timed() {
    let text = "compute 7 fs; timed \"ping\" 10 \
        { if rank == 0 { send 100 B to 1; recv 100 B from 1 } else { recv 100 B from 0; send 100 B to 0 } }";
    let r = run(text, 2).done();
    let rows = r.machine.rows(0);
    assert_eq!((rows[0].runs, rows[0].time, rows[0].first), (10, 40_600, 4060));
    assert_eq!((rows[0].mean(10), r.machine.half(0)), (4060.0, None));
    assert_eq!(rows[1].runs, 10);
    assert_eq!(r.machine.rows(1), []);
    // Steady from the start: the first, three more, and the one that rank 1 has begun by then.
    let r = run_on(job(text, 2), costs(), vec![0, 1], Some(0.01)).done();
    let rows = r.machine.rows(0);
    assert_eq!((rows[0].runs, rows[1].runs), (5, 5));
    assert_eq!((rows[0].mean(10), r.machine.half(0)), (4060.0, Some(0.0)));
    // The first is longer: it counts once among 1000. Computing 1 ps first, rank 0 finds its partner late only then.
    let late = text.replace("compute 7 fs", "if rank == 1 { compute 100 ps }").replace("10 {", "1000 {");
    let r = run_on(job(&late, 2), costs(), vec![0, 1], Some(0.01)).done();
    let row = r.machine.rows(0)[0];
    // Its message is taken in at 100000, the answer there 400 + 300 + 330 + 1000 later, and 400.
    assert_eq!((row.runs, row.first), (5, 102_430));
    assert!((row.mean(1000) - (4060.0 + (102_430.0 - 4060.0) / 1000.0)).abs() < 1e-6);
}

#[test]
fn ranks_leave_a_section_after_the_same_repetition() {
    // Eager sends let rank 0 run far ahead: when it is steady it has begun its fifth; rank 2 is behind, and makes five
    // too. The messages that it must receive are all sent, and none is left over.
    let text = "timed \"chain\" 500 { if rank > 0 { recv 8 B from rank - 1 }; compute 1 ps * (rank + 1);
        if rank + 1 < ranks { send 8 B to rank + 1 } }
        barrier";
    let r = run_on(job(text, 3), costs(), vec![0, 1, 2], Some(0.05)).done();
    let runs: Vec<u64> = r.machine.rows(0).iter().map(|r| r.runs).collect();
    assert_eq!((runs[0], runs[1], runs[2]), (runs[0], runs[0], runs[0]));
    assert!((4..10).contains(&runs[0]), "{runs:?}");
    assert_eq!(r.machine.unreceived(), 0);
    // The lowest rank that takes part decides, here rank 1; and a section that is entered again makes as many
    // repetitions.
    let text = "repeat 3 { if rank > 0 { timed \"pair\" 100 { sendrecv 8 B to 3 - rank from 3 - rank } } }; barrier";
    let r = run_on(job(text, 3), costs(), vec![0, 1, 2], Some(0.05)).done();
    let runs: Vec<u64> = r.machine.rows(0).iter().map(|r| r.runs).collect();
    assert!(
        runs[0] == 0 && runs[1] == runs[2] && (12..=24).contains(&runs[1]) && runs[1].is_multiple_of(3),
        "{runs:?}"
    );
    // The first and three more; what never settles is not left.
    let r = run_on(job("timed \"x\" 9 { compute 1 ps }", 2), costs(), vec![0, 1], Some(0.01)).done();
    assert_eq!(r.machine.rows(0)[0].runs, 4);
    let text = "if rank == 0 { timed \"slower\" 8 { send 8 B to 1; recv from 1 } }
        if rank == 1 { repeat 8 as i { recv from 0; compute (i * i + 1) * 10 ps; send 8 B to 0 } }";
    let r = run_on(job(text, 2), costs(), vec![0, 1], Some(0.05)).done();
    assert_eq!((r.machine.rows(0)[0].runs, r.machine.half(0)), (8, None));
}

#[test]
fn a_program_that_lets_no_time_pass_gives_the_driver_a_say() {
    for text in
        ["repeat 1e12 { compute 0 fs }", "repeat 1e12 { repeat 1e12 { compute 0 fs } }", "repeat 1e12 { barrier }"]
    {
        let mut machine = Machine::new(Arc::new(job(text, 1)), costs(), Placement { node_of: vec![0] }, None);
        let mut out = Vec::new();
        machine.on(0, &mut out);
        assert!(machine.steps() > 1000 && !machine.is_done());
        assert_eq!(machine.next(), 0);
    }
}

#[test]
fn nonsense_is_a_fault_and_not_a_panic() {
    let body = |op: Op| Arc::new(Body::Steps(vec![Step::Do(op)]));
    let one = |op: Op| Job { bodies: vec![body(op)], ..Job::default() };
    let fault = |job: Job| run_on(job, costs(), vec![0], None).fault();
    assert_eq!(fault(one(Op::Send { to: 1, bytes: 8, tag: 0 })), "rank 0 sends to rank 1 of 1");
    assert_eq!(fault(one(Op::Recv { from: Some(9), bytes: 8, tag: None })), "rank 0 receives from rank 9 of 1");
    assert_eq!(fault(one(Op::Wait(3))), "rank 0 waits for request 3, which is not open");
    let begun = Op::Irecv { from: None, bytes: 8, tag: None, request: 3 };
    let twice =
        Job { bodies: vec![Arc::new(Body::Steps(vec![Step::Do(begun.clone()), Step::Do(begun)]))], ..Job::default() };
    assert_eq!(fault(twice), "rank 0 begins request 3, which is still open");
    let timed = Step::Timed { section: 2, times: 1, body: vec![Step::Do(Op::WaitAll)] };
    assert_eq!(
        fault(Job { bodies: vec![Arc::new(Body::Steps(vec![timed]))], ..Job::default() }),
        "rank 0 times section 2 of 0"
    );
    assert_eq!(run_on(job("", 2), costs(), vec![0], None).fault(), "2 ranks, but 1 of them have a node");
    // No rate of operations: the longest time there is, and no rank is done before.
    let r = run_on(job("work 1; work 0", 1), Costs { work: 0.0, ..costs() }, vec![0], None).done();
    assert_eq!(r.machine.time(), Time::MAX.fs());
    assert_eq!(run("repeat 9 { compute 1 h }", 1).fault(), "rank 0 runs for more than 5 h, the longest time there is");
}

#[test]
fn a_flood_ends_before_memory_does() {
    // Nobody carries anything; and a rank that only begins receives is no better.
    let fault = |text: &str| {
        let job = text::read(&mut Diagnostics::default(), text, None, 2).expect("a job");
        let mut machine = Machine::new(Arc::new(job), costs(), Placement { node_of: vec![0, 1] }, None);
        machine.core.most_open = 1000;
        let mut out = Vec::new();
        while machine.next() < u64::MAX {
            machine.on(machine.next(), &mut out);
        }
        assert!(out.len() <= 1001);
        machine.fault().expect("a fault")
    };
    let flood = "if rank == 0 { repeat 1e9 { send 8 B to 1 } } else { repeat 1e9 { recv from 0 } }";
    assert_eq!(fault(flood), "more than 1000 messages are under way, or wait for their receives");
    assert_eq!(fault("if rank == 0 { repeat 1e9 { irecv from 1 } }"), "more than 1000 sends and receives are open");
}
