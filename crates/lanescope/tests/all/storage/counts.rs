//! What instruments count, and the loads that they bring: rates, ranges, lists of targets.

use super::{HOST, IO, RAM, simulate};
use crate::common::{flow, planned, run, simulated, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::result::{IoCounts, IoSeen, Latencies, Simulation};
use lanescope::sim::{Run, Step};

/// I/Os to a RAM disk.
fn text(access: &str, more: &str, length: &str) -> String {
    format!("{HOST}{RAM}{IO}access = {access}\n{more}\n[run]\nfor = \"{length}\"\nwarmup = \"0 s\"\n")
}

fn seen(s: &Simulation) -> &IoSeen {
    &super::ios(s, "io").seen
}

fn only(s: &Simulation) -> &IoCounts {
    let [one] = &seen(s).counts[..] else { panic!("{:?}", seen(s)) };
    one
}

/// A read of 2 KiB from the RAM disk, as `by_hand` has it: 48,284 ns, give or take nothing.
fn one_read() -> f64 {
    simulated(&simulate(&text("{ size = \"2 KiB\" }", "", "50 us"), &[]), "io").latency.mean
}

#[test]
fn an_io_of_the_ramp_is_not_counted() {
    let t = one_read();
    assert!((48e-6..49e-6).contains(&t), "{t}");
    let of = |length: &str| simulate(&text("{ size = \"2 KiB\" }", "", length), &["run.warmup=110 us"]);
    // They begin at 0, 48, 97 and 145 us; the third is over at 145 us, the fourth at 193 us.
    let s = of("60 us");
    assert_eq!((simulated(&s, "io").operations, only(&s).ios()), (1, 0));
    assert_eq!((simulated(&s, "io").max, only(&s).reads.times.mean()), (0.0, 0.0));
    let s = of("90 us");
    let one = only(&s);
    assert_eq!((simulated(&s, "io").operations, one.ios(), one.reads.bytes), (2, 1, 2048));
    within(1e-3, one.reads.times.sum, t);
    assert_eq!((one.reads.times.min, one.reads.times.max), (one.reads.times.sum, one.reads.times.sum));
    within(1e-6, one.reads.times.squares, one.reads.times.sum.powi(2));
    assert_eq!(one.transactions, one.reads.times);
    assert_eq!((one.writes.times.count, one.connections.count), (0, 0));
    // Below 50 us.
    assert_eq!((one.bins[0], one.bins.iter().sum::<u64>()), (1, 1));
    assert_eq!((one.flow.as_str(), one.worker, one.target.as_str()), ("io", 0, "ram"));
    // 10 us to complete the third, 5 us to issue and 10 us to complete the fourth, 5 us to issue the fifth.
    within(1e-9, seen(&s).busy_of(0), 30e-6);
    assert_eq!((seen(&s).busy.len(), seen(&s).busy_of(1), seen(&s).time), (1, 0.0, 90e-6));
}

#[test]
fn directions_have_their_shares_and_sizes() {
    let access = "{ size = \"2 KiB\", read = \"67 %\", random = \"100 %\" }";
    let s = simulate(&text(access, "outstanding = 8\nworkers = 2", "400 ms"), &["parts.hba.command_time=1 us"]);
    assert_eq!(seen(&s).counts.iter().map(|c| c.worker).collect::<Vec<_>>(), [0, 1]);
    for c in &seen(&s).counts {
        let (n, reads) = (c.ios() as f64, c.reads.times.count as f64);
        assert!(n > 20_000.0, "{n}");
        // Four deviations.
        assert!((reads - 0.67 * n).abs() < 4.0 * (0.67 * 0.33 * n).sqrt(), "{reads} of {n}");
        assert_eq!((c.reads.bytes, c.writes.bytes), (2048 * c.reads.times.count, 2048 * c.writes.times.count));
        assert_eq!(c.transactions.count, c.ios());
    }
}

#[test]
fn a_request_and_its_reply_are_one_transaction() {
    let access = "{ size = \"2 KiB\", read = \"0 %\", reply = \"512 B\" }";
    let s = simulate(&text(access, "", "10 ms"), &[]);
    let c = only(&s);
    assert!(c.ios() > 200);
    // The last request may have had no reply yet.
    assert!(c.writes.times.count - c.reads.times.count <= 1);
    assert_eq!(c.transactions.count, c.reads.times.count);
    let (write, read) = (c.writes.times.mean(), c.reads.times.mean());
    within(1e-3, c.transactions.mean(), write + read);
}

#[test]
fn a_look_at_a_run_under_way() {
    let access = "{ size = \"2 KiB\", read = \"50 %\" }";
    let plan = planned(&text(access, "workers = 3\noutstanding = 2", "20 ms"), &["run.warmup=1 ms"]);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    let mut before = run.ios();
    assert_eq!((before.time, before.counts.len(), before.busy.len()), (0.0, 3, 3));
    let mut looks = 0;
    while run.advance(1000) != Step::Done {
        let now = run.ios();
        // Counting begins anew once.
        if now.time >= before.time {
            assert!(now.counts.iter().zip(&before.counts).all(|(n, b)| n.ios() >= b.ios()));
            assert!((0..3).all(|w| now.busy_of(w) >= before.busy_of(w) && now.busy_of(w) <= now.time * (1.0 + 1e-9)));
            looks += 1;
        }
        before = now;
    }
    assert!(looks > 20, "{looks}");
    assert_eq!(&run.ios(), seen(&run.snapshot()));
}

#[test]
fn latencies_are_those_of_the_counts() {
    let access = "{ size = \"2 KiB\", read = \"50 %\" }";
    let s = simulate(&text(access, "outstanding = 4", "20 ms"), &[]);
    let c = only(&s);
    for (Latencies(bins), times) in super::ios(&s, "io").latencies.iter().zip([c.reads.times, c.writes.times]) {
        assert!(bins.len() > 3, "{bins:?}");
        let edge = |n: Option<&(u64, u64)>| n.map_or(0.0, |b| b.0 as f64 * 1e-9);
        assert!(edge(bins.first()) >= times.min && edge(bins.first()) <= times.min * (1.0 + 1.0 / 128.0) + 1e-9);
        assert!(edge(bins.last()) >= times.max && edge(bins.last()) <= times.max * (1.0 + 1.0 / 128.0) + 1e-9);
    }
}

#[test]
fn an_even_rate_is_kept_to_the_io() {
    // Due at 0, 1, ..., 999 ms.
    let s = simulate(&text("{ size = \"2 KiB\" }", "rate = 1000", "1 s"), &[]);
    assert_eq!(only(&s).ios(), 1000);
    let f = simulated(&s, "io");
    assert_eq!((f.bound_by.element.as_str(), f.bound_by.resource.as_str()), ("flows.io", "rate"));
    // A reply is issued with its request, two workers keep to a rate each.
    let access = "{ size = \"2 KiB\", reply = \"512 B\" }";
    let s = simulate(&text(access, "rate = 500\nworkers = 2", "1 s"), &[]);
    assert_eq!(seen(&s).counts.iter().map(|c| (c.transactions.count, c.ios())).collect::<Vec<_>>(), [(500, 1000); 2]);
}

#[test]
fn a_random_rate_is_kept_on_average() {
    // The disk can do 20,700; with one outstanding many come late, and all are made up for.
    for outstanding in [1, 64] {
        let more = format!("rate = 15000\narrivals = \"poisson\"\noutstanding = {outstanding}");
        let s = simulate(&text("{ size = \"2 KiB\" }", &more, "1 s"), &[]);
        let n = only(&s).ios() as f64;
        assert!((n - 15_000.0).abs() < 4.0 * 15_000f64.sqrt(), "{n}");
        assert_ne!(n, 15_000.0);
    }
}

#[test]
fn a_rate_beyond_the_disk_changes_nothing() {
    let of = |more: &str| simulate(&text("{ size = \"2 KiB\" }", more, "20 ms"), &[]);
    let free = of("");
    for arrivals in ["even", "poisson"] {
        // Due before the I/O before it is done, but for the first of random ones.
        let s = of(&format!("rate = 10_000_000\narrivals = \"{arrivals}\""));
        assert_eq!(only(&s).ios(), only(&free).ios());
        within(1e-3, only(&s).reads.times.mean(), only(&free).reads.times.mean());
        assert_ne!(simulated(&s, "io").bound_by.resource, "rate");
    }
    assert_eq!(of("rate = 10_000_000").fingerprint, free.fingerprint);
}

#[test]
fn the_estimate_knows_a_rate() {
    let of = |more: &str| run(&text("{ size = \"2 KiB\" }", more, "20 ms"), &[]);
    let report = of("rate = 1000");
    let f = flow(&report, "io");
    within(1e-9, f.share.typical, 1000.0 * 2048.0 * 8.0);
    within(1e-9, f.bound.typical, 1000.0 * 2048.0 * 8.0);
    assert_eq!((f.bound_by.element.as_str(), f.bound_by.resource.as_str()), ("flows.io", "rate"));
    assert!(f.bound_by.evidence.contains("1000 I/Os a second"), "{}", f.bound_by.evidence);
    let (fast, free) = (of("rate = 10_000_000"), of(""));
    assert_eq!(flow(&fast, "io").share, flow(&free, "io").share);
    assert_eq!(flow(&fast, "io").bound_by.resource, "I/Os outstanding");
}

/// A disk of 16 zones of 64 MiB: 64 MB/s outside, 34 MB/s inside, 2 less from one to the next.
const ZONES: &str = r#"
[parts.ram]
is = "disk"
capacity = "1 GiB"
zones = 16
outer_rate = "64 MB/s"
inner_rate = "34 MB/s"
cache = "2 MiB"
[links.fc]
between = ["hba", "ram"]
fc = "4GFC"
"#;

#[test]
fn a_start_is_the_place_on_the_disk() {
    let all = text("{ size = \"64 KiB\" }", "outstanding = 4\nfile = \"64 MiB\"", "800 ms").replace(RAM, ZONES);
    for (start, rate) in [("0 B", 64e6), ("64 MiB", 62e6), ("512 MiB", 48e6), ("960 MiB", 34e6)] {
        let sets = [format!("flows.io.start={start}")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let s = simulate(&all, &sets);
        // The first of it waits for a seek and a turn.
        within(0.025, seen(&s).counts[0].reads.bytes as f64 / 0.8, rate);
        within(0.001, flow(&run(&all, &sets), "io").share.typical, 8.0 * rate);
    }
    // From the middle to the end without a file: 8 zones, with a mean time of a byte of those.
    let s = simulate(&all.replace("file = \"64 MiB\"", "start = \"512 MiB\""), &["run.for=13 s"]);
    let mean: f64 = (0..8).map(|i| 1.0 / (48e6 - 2e6 * f64::from(i))).sum::<f64>() / 8.0;
    within(0.01, seen(&s).counts[0].reads.bytes as f64 / 13.0, 1.0 / mean);
}

#[test]
fn a_list_of_targets_is_what_a_star_stands_for() {
    let three = RAM.replace("is =", "count = 3\nis =").replace("\"ram\"]", "\"ram.*\"]");
    let text = text("{ size = \"2 KiB\", read = \"50 %\" }", "outstanding = 2", "5 ms").replace(RAM, &three);
    let of = |to: &str| simulate(&text.replace("to = \"ram\"", &format!("to = {to}")), &[]);
    let star = of("\"ram.*\"");
    assert_eq!(star.flows, of("[\"ram.0\", \"ram.1\", \"ram.2\"]").flows);
    assert_eq!(star.flows, of("[\"ram.*\"]").flows);
    let two = of("[\"ram.2\", \"ram.0\"]");
    let names = |s: &Simulation| -> Vec<_> {
        seen(s).counts.iter().map(|c| (c.flow.clone(), c.worker, c.target.clone())).collect()
    };
    assert_eq!(names(&two), [("io.0".into(), 0, "ram.2".into()), ("io.1".into(), 0, "ram.0".into())]);
}
