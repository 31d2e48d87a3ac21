//! One run on several threads: what comes out is what one thread gives, to the last bit.

use super::{Text, simulate_by};
use crate::common::choices::{of_fifty, runner};
use crate::common::grow::ethernet::grow;
use crate::common::{plan, planned};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::result::{Ending, Simulation};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// Runs a plan on so many threads, divided after so many events, a piece at a time.
fn divided(plan: &Plan, threads: usize, after: u64, piece: u64) -> Simulation {
    let mut run = Run::new(plan, plan.limits.seed as u64, &mut Diagnostics::default()).expect("it can be simulated");
    run.use_threads_after(threads, after);
    let mut before = 0;
    while run.advance(piece) != Step::Done {
        assert!(run.events() >= before, "events are taken back");
        before = run.events();
    }
    run.snapshot()
}

/// Holds the run to one on one thread. Gives how many it was on, and both.
fn same(plan: &Plan, threads: usize, after: u64, piece: u64) -> (usize, Simulation) {
    let one = simulate_by(plan, plan.limits.seed as u64, u64::MAX);
    let several = divided(plan, threads, after, piece);
    let used = several.threads;
    // What is only counted has events or not by the pieces that a run is done in.
    assert_eq!(Simulation { events: one.events, threads: 1, ..several }, one, "{used} threads after {after} events");
    (used, one)
}

/// Whatever the fabric, its flow control and loads, however many threads, whenever it is divided, and whether it is
/// measured from the beginning, behind a warm-up, until its means are tight, or up to its cap on packets.
#[test]
fn random_networks_are_the_same_on_any_number_of_threads() {
    let (simulated, on_several, capped) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let choices = (vec(any::<u8>(), 60..120), 2usize..5, 0u64..3000, 1u64..5000, 0usize..6, 0usize..4);
    let result = runner(Config { max_shrink_iters: 200, ..Config::default() }).run(&choices, |choice| {
        let (bytes, threads, after, piece, ecmp, window) = choice;
        let text = grow(&bytes);
        // Some run until their means are tight, some behind a warm-up, some to their cap.
        let text = match window {
            0 => text.replace("for = \"150 us\"\nwarmup = \"0 s\"", "until = \"±5 %\"\nmax_time = \"500 us\""),
            1 => text.replace("warmup = \"0 s\"", "warmup = \"40 us\""),
            _ => text,
        };
        let text =
            text.replace("max_packets = 60000", if window == 2 { "max_packets = 3000" } else { "max_packets = 9000" });
        let mut sets = Vec::new();
        if let Some(ecmp) = ["packet", "flowlet", "adaptive"].get(ecmp) {
            let tables = if text.contains("leaf_spine") { &["leaf", "spine"][..] } else { &["switch"] };
            sets.extend(tables.iter().map(|t| format!("parts.{t}.ecmp={ecmp}")));
        }
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let (Some(plan), _) = plan(&text, &sets) else { return Ok(()) };
        let caught = std::panic::catch_unwind(|| same(&plan, threads, after, piece));
        let (used, one) = caught.map_err(|_| TestCaseError::fail(format!("{sets:?}\n{text}")))?;
        simulated.set(simulated.get() + 1);
        on_several.set(on_several.get() + u32::from(used > 1));
        capped.set(capped.get() + u32::from(used > 1 && one.ending == Ending::PacketCap));
        Ok(())
    });
    let (simulated, on_several, capped) = (simulated.get(), on_several.get(), capped.get());
    println!("{simulated} simulated, {on_several} on several threads, {capped} of these up to their cap");
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(on_several * 6 > simulated, "{on_several} of {simulated}");
    assert!(u64::from(capped) >= of_fifty(2), "{capped} of {on_several}");
}

/// Hosts in a fat tree that write to one another by RoCE, with losses or marks.
fn roce(rule: &str, host: &str) -> Plan {
    let text = format!(
        "[parts.host]\nis = \"station\"\n{host}\n[parts.switch]\nis = \"ethernet-switch\"\n{rule}\n[links.net]\n\
         fat_tree = {{ k = 4 }}\nethernet = \"100 Gb/s\"\nmtu = \"4200 B\"\ndelay = \"200 ns\"\n\
         [flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"all-to-all\"\ndo = \"send\"\n\
         transport = \"rocev2\"\nsize = \"64 KiB\"\nload = {{ share = \"80 %\", arrivals = \"poisson\" }}\n\
         [run]\nfor = \"300 us\"\nwarmup = \"50 us\"\n"
    );
    planned(&text, &[])
}

/// Queue pairs have an end on each side: packets that were lost are sent again, wait for those before them, and are
/// slowed down across threads.
#[test]
fn queue_pairs_reach_across_threads() {
    let lossy = "flow_control = \"none\"\nmemory = \"100 KiB\"";
    for (switch, host) in [
        (lossy.to_owned(), "retransmission = \"go-back-n\"\nretransmission_timeout = \"20 us\""),
        (lossy.to_owned(), "retransmission = \"selective\"\nretransmission_timeout = \"20 us\""),
        (format!("{lossy}\necmp = \"packet\""), "retransmission = \"selective\""),
        (
            "flow_control = \"pfc\"\ncongestion_control = \"dcqcn\"\necn_low = \"20 kB\"\necn_high = \"100 kB\"".into(),
            "",
        ),
    ] {
        let plan = roce(&switch, host);
        for (threads, after) in [(2, 0), (2, 20_000), (4, 5000)] {
            let (used, one) = same(&plan, threads, after, 10_000);
            assert!(used > 1, "{switch}");
            let frames = one.flows[0].frames.expect("frames");
            assert!(frames.resent + frames.notified > 0, "{switch}: {frames:?}");
        }
    }
}

/// Loads that end: the run ends with the last frame, on any number of threads, though that has no event where it is
/// only counted.
#[test]
fn a_run_whose_load_ends_is_silent() {
    let text = "[parts.host]\nis = \"station\"\n[parts.switch]\nis = \"ethernet-switch\"\n[links.net]\n\
        fat_tree = { k = 4 }\nethernet = \"10 Gb/s\"\ndelay = \"30 us\"\n[flows.f]\nfrom = \"host.0\"\n\
        to = \"host.*\"\npattern = \"random\"\ndo = \"send\"\nsize = \"1 B\"\nload = { trace = \"./frames.csv\" }\n\
        [run]\nfor = \"10 ms\"\nwarmup = \"0 s\"\n";
    let mut list = "time, destination, size\n".to_owned();
    for n in 0..400 {
        list += &format!("{} ns, host.{}, {} B\n", n * 700, 1 + n * n % 15, 1 + n * 37 % 4000);
    }
    let included = Included { name: "test".into(), text: text.into(), author: Author::User };
    let mut d = Diagnostics::default();
    let plan = lanescope::plan(&mut d, included, &[], &Text(&list)).unwrap_or_else(|| panic!("{d}"));
    for (threads, after, piece) in [(2, 0, u64::MAX), (2, 1500, 100), (3, 3000, 1000)] {
        let (used, one) = same(&plan, threads, after, piece);
        assert!(used > 1 && one.ending == Ending::Silent, "{used}: {:?}", one.ending);
    }
}

/// A run that is looked at on its way, and one that is stopped, tell what one thread would.
#[test]
fn what_is_seen_on_the_way_is_the_same() {
    let plan = roce("flow_control = \"none\"\nmemory = \"100 KiB\"", "");
    let until = |threads: usize| {
        let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
        run.use_threads_after(threads, 1000);
        while run.time() < 100e-6 {
            assert_eq!(run.advance(5000), Step::More);
        }
        (run.snapshot(), run)
    };
    let (seen, mut run) = until(2);
    assert_eq!(seen.threads, 2);
    assert!(seen.flows[0].operations > 0 && seen.packets > 0);
    run.stop();
    let stopped = run.snapshot();
    assert_eq!(stopped.ending, Ending::Stopped);
    // As long on one thread.
    let mut as_long = plan.clone();
    let fs = |seconds: f64| lanescope::units::Time::from_fs((seconds * 1e15).round() as u64);
    (as_long.limits.length, as_long.limits.warmup) = (Some(fs(stopped.window)), Some(fs(stopped.warmup)));
    let one = simulate_by(&as_long, 1, u64::MAX);
    assert_eq!((&stopped.fingerprint, stopped.packets), (&one.fingerprint, one.packets));
    assert!(stopped.links.iter().zip(&one.links).all(|(a, b)| a.slots == b.slots));
    assert_eq!(stopped.flows[0].in_flight, one.flows[0].in_flight);
    // A time series is on one thread, from where it is asked for on.
    let (_, mut run) = until(3);
    run.sample_every(lanescope::units::Time::from_fs(10_000_000_000));
    while run.advance(u64::MAX) == Step::Sample {
        let sample = run.sample();
        assert_eq!(sample.memory.len(), 20);
    }
    let whole = run.snapshot();
    let one = simulate_by(&plan, 1, u64::MAX);
    assert_eq!((whole.fingerprint, whole.packets), (one.fingerprint, one.packets));
}
