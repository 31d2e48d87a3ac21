//! Runs that come to a standstill, and what is said of them.

use super::*;

#[test]
fn two_blocking_rendezvous_lock_and_eager_messages_do_not() {
    let r = run("send 2 kB to 1 - rank; recv 2 kB from 1 - rank", 2);
    assert!(!r.machine.is_done());
    assert_eq!(r.machine.circle(), [0, 1]);
    // Each has also the other's request, which no receive asks for yet.
    assert_eq!(
        r.machine.waiting(),
        [
            "rank 0 waits in send to rank 1, tag 0, 2000 B (step 1)",
            "rank 1 waits in send to rank 0, tag 0, 2000 B (step 1)",
            "rank 0 has a message that it never received: from rank 1, tag 0, 2000 B",
            "rank 1 has a message that it never received: from rank 0, tag 0, 2000 B",
        ]
    );
    run("send 1 kB to 1 - rank; recv 1 kB from 1 - rank", 2).done();
    let one_node =
        |size| run_on(job(&format!("send {size} to 1 - rank; recv from 1 - rank"), 2), costs(), vec![0, 0], None);
    one_node("1 kB").done();
    assert_eq!(one_node("2 kB").machine.circle(), [0, 1]);
    // No library, no handshake.
    run_on(
        job("send 2 kB to 1 - rank; recv 2 kB from 1 - rank", 2),
        Costs { verbs: true, ..costs() },
        vec![0, 1],
        None,
    )
    .done();
}

#[test]
fn receives_head_to_head_lock() {
    let r = run("recv 8 B from 1 - rank; send 8 B to 1 - rank", 2);
    assert_eq!(
        r.machine.waiting(),
        [
            "rank 0 waits in recv from rank 1, tag 0, 8 B (step 1)",
            "rank 1 waits in recv from rank 0, tag 0, 8 B (step 1)"
        ]
    );
    assert_eq!((r.machine.circle(), r.end), (vec![0, 1], 0));
    // Around a ring of five, with two that wait for it from outside.
    let r = run(
        "if rank < 5 { recv from (rank + 1) % 5 } else { recv from 2 }; if rank < 5 { send 8 B to (rank + 4) % 5 }",
        7,
    );
    let mut circle = r.machine.circle();
    assert!(circle.iter().zip(circle.iter().skip(1)).all(|(a, b)| *b == (a + 1) % 5), "{circle:?}");
    circle.sort_unstable();
    assert_eq!(circle, [0, 1, 2, 3, 4]);
    assert_eq!(r.machine.waiting().len(), 7);
}

#[test]
fn who_has_finished_is_told() {
    let r = run("if rank == 1 { recv 8 B from 0 tag 7 } else { compute 1 ps; send 8 B to 1 tag 6 }", 2);
    assert_eq!(
        r.machine.waiting(),
        [
            "rank 1 waits in recv from rank 0, tag 7, 8 B (step 1); rank 0 has finished",
            "rank 1 has a message that it never received: from rank 0, tag 6, 8 B",
        ]
    );
    assert!(r.machine.circle().is_empty());
    assert_eq!(r.machine.unreceived(), 1);
    let mut d = Diagnostics::default();
    let open = text::read(&mut d, "compute 1 ps; irecv from any tag any; if rank == 0 { irecv 1 B from 1 }", None, 2);
    let r = run_on(open.expect("a job"), costs(), vec![0, 1], None);
    assert_eq!(
        r.machine.waiting(),
        [
            "rank 0 waits in recv from any rank, any tag (at its end, and for 1 more)",
            "rank 1 waits in recv from any rank, any tag (at its end)",
        ]
    );
    let r = run("if rank == 0 { compute 1 ps } else { barrier }", 2);
    assert_eq!(
        r.machine.waiting(),
        [
            "rank 1 waits in barrier for rank 0 to send (its collective 1, step 1); rank 0 has finished",
            "rank 0 has a message that it never received: from rank 1 in a collective, 0 B",
        ]
    );
}

#[test]
fn messages_that_nobody_receives_are_counted() {
    let r = run("if rank == 0 { repeat 3 { send 8 B to 1 }; send 1 B to 2 tag 9 }", 3);
    assert!(r.machine.is_done());
    assert_eq!(r.machine.unreceived(), 4);
    assert_eq!(
        r.machine.waiting(),
        [
            "rank 1 has 3 messages that it never received: the first from rank 0, tag 0, 8 B",
            "rank 2 has a message that it never received: from rank 0, tag 9, 1 B",
        ]
    );
}

#[test]
fn long_lists_are_cut() {
    let r = run("recv from (rank + 1) % ranks", 1000);
    let lines = r.machine.waiting();
    assert_eq!((lines.len(), lines[63].as_str()), (64, "and 937 more"));
    assert_eq!(r.machine.circle().len(), 1000);
}

#[test]
fn ranks_that_call_different_collectives_are_found() {
    let fault = |text: &str, ranks| run(text, ranks).fault();
    assert_eq!(
        fault("barrier; if rank == 2 { allreduce 8 B } else { bcast 8 B root 1 }", 4),
        "collective 2: rank 0 calls bcast 8 B root 1, rank 2 calls allreduce 8 B"
    );
    assert_eq!(
        fault("bcast 8 B root rank", 2),
        "collective 1: rank 0 calls bcast 8 B root 0, rank 1 calls bcast 8 B root 1"
    );
    assert_eq!(
        fault("allreduce 8 B * (1 + rank / 3)", 4),
        "collective 1: rank 0 calls allreduce 8 B, rank 3 calls allreduce 16 B"
    );
    assert_eq!(
        fault("if rank == 0 { alltoall 8 B pairwise } else { alltoall 8 B }", 2),
        "collective 1: rank 0 calls alltoall 8 B pairwise, rank 1 calls alltoall 8 B"
    );
    // A root that runs far ahead forgets what it called long ago; what is remembered is compared.
    run("repeat 5000 { bcast 8 B }", 3).done();
}

#[test]
fn a_message_that_does_not_fit_is_found() {
    let fault = |text: &str| run(text, 2).fault();
    let said = "rank 1 receives at most 8 B from rank 0, tag 3, which sends 9 B";
    assert_eq!(fault("if rank == 0 { send 9 B to 1 tag 3 } else { recv 8 B from 0 tag 3 }"), said);
    assert_eq!(fault("if rank == 0 { send 9 B to 1 tag 3 } else { compute 9 ps; recv 8 B from any tag any }"), said);
    assert_eq!(
        fault("if rank == 0 { send 2001 B to 1 tag 3 } else { recv 2 kB from 0 tag 3 }"),
        "rank 1 receives at most 2000 B from rank 0, tag 3, which sends 2001 B"
    );
    run("if rank == 0 { send 9 B to 1 } else { recv 9 B from 0 }", 2).done();
}
