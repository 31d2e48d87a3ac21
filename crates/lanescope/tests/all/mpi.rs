//! What the machine of message programs costs, over a carrier that costs next to nothing. By hand:
//! `cargo test --release -p lanescope mpi:: -- --ignored --nocapture`.

use lanescope::diagnostic::Diagnostics;
use lanescope::mpi::{Costs, Machine, Placement, text};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

/// LogGP: a latency of 1 us, 1 GB/s, one message of a sender after the other. Gives the time of the job and its
/// messages.
fn carry(machine: &mut Machine, ranks: u32) -> (u64, u64) {
    let mut free = vec![0u64; ranks as usize];
    let mut due: BinaryHeap<Reverse<(u64, u64, bool, u32)>> = BinaryHeap::new();
    let (mut out, mut order) = (Vec::new(), 0);
    loop {
        let carried = due.peek().map_or(u64::MAX, |e| e.0.0);
        let now = machine.next().min(carried);
        if now == u64::MAX {
            break;
        }
        if carried == now {
            let Some(Reverse((_, _, arrives, token))) = due.pop() else { break };
            if arrives {
                machine.arrived(token, now, &mut out);
            } else {
                machine.sent(token, now, &mut out);
            }
        } else {
            machine.on(now, &mut out);
        }
        for post in out.drain(..) {
            let leaves = free[post.from as usize].max(post.at) + post.bytes * 1_000_000;
            free[post.from as usize] = leaves;
            due.push(Reverse((leaves, order, false, post.token)));
            due.push(Reverse((leaves + 1_000_000_000, order, true, post.token)));
            order += 1;
        }
    }
    assert!(machine.is_done(), "{:#?}", machine.waiting());
    (machine.time(), machine.accounts().map(|a| a.messages).sum())
}

/// Runs a program; what it took is printed.
fn run(text: &str, ranks: u32) -> u64 {
    let job = text::read(&mut Diagnostics::default(), text, None, ranks).expect("a program");
    let costs =
        Costs { send: 500_000_000, receive: 500_000_000, header: 48, control: 64, eager: 12 << 10, ..Costs::default() };
    let begun = Instant::now();
    let mut machine = Machine::new(Arc::new(job), costs, Placement { node_of: (0..ranks).collect() }, None);
    let (time, messages) = carry(&mut machine, ranks);
    let took = begun.elapsed();
    let each = took.as_nanos() as f64 / messages as f64;
    println!(
        "{text}, {ranks} ranks: {messages} messages, {each:.0} ns each with their carrier, {took:?}, simulated {time} \
            fs"
    );
    messages
}

/// The most memory that this process has had, in MiB; where there is no such thing, 0.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
#[ignore = "prints how fast it is"]
fn how_fast_it_is() {
    println!("{} MiB before", memory());
    assert_eq!(run("alltoall 1 KiB spread", 1024), 1024 * 1023);
    println!("{} MiB at most", memory());
    assert_eq!(run("alltoall 32 KiB pairwise", 1024), 1024 * 1023);
    run("allreduce 1 MB", 1024);
    run("allreduce 1 MB ring", 1024);
    run("repeat 100000 { if rank == 0 { send 8 B to 1; recv from 1 } else { recv from 0; send 8 B to 0 } }", 2);
    run(
        "repeat ranks - 1 as i { irecv 8 B from (rank + i + 1) % ranks; isend 8 B to (rank + i + 1) % ranks }; waitall",
        1024,
    );
    println!("{} MiB at most", memory());
}

#[test]
fn a_large_exchange_ends() {
    assert_eq!(run("alltoall 1 KiB", 64), 64 * 63);
    // Recursive halving and doubling: 2 log n messages of each.
    assert_eq!(run("allreduce 1 MB", 128), 128 * 14);
}
