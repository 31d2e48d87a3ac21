//! Queues that theory knows.

use super::by_hand::BYTE;
use super::{captured, frames, simulate, within};
use lanescope::result::{Crossing, Simulation};

/// Stations that send to stations of another kind over one switch, frames of 1500 B.
fn square(sources: usize, sinks: usize, rest: &str) -> String {
    format!(
        r#"
[parts.src]
is = "station"
count = {sources}
[parts.dst]
is = "station"
count = {sinks}
[parts.sw]
is = "ethernet-switch"
latency = "100 ns"
[links.in]
between = ["src.*", "sw"]
ethernet = "10 Gb/s"
delay = "10 ns"
[links.out]
between = ["sw", "dst.*"]
ethernet = "10 Gb/s"
delay = "10 ns"
[flows.f]
from = "src.*"
to = "dst.*"
do = "send"
size = "1482 B"
pattern = "random"
[run]
warmup = "200 us"
for = "20 ms"
{rest}"#
    )
}

const SERVICE: f64 = 1520.0 * 0.8e-9;

/// The share of the outputs' time that carries frames.
fn carried(s: &Simulation, sinks: usize) -> f64 {
    s.flows[0].rate.mean / 10e9 * 1520.0 / 1482.0 / sinks as f64
}

/// Head-of-line blocking of saturated inputs: 0.75 for two ports, 0.6553 for four, 0.6184 for eight, toward 2 - sqrt(2)
/// for many (Karol, Hluchyj and Morgan 1987, table I). What finds no room behind the head is lost, and does not matter
/// to the heads.
#[test]
fn heads_of_line_block_inputs_as_karol_and_others_found() {
    for (n, theory) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let s = simulate(&square(n, n, ""), &["parts.sw.buffers=input", "parts.sw.memory=64 KiB", "run.for=100 ms"]);
        println!("{n}: {} {theory}", carried(&s, n));
        within(0.01, carried(&s, n), theory);
    }
    let many = |n| carried(&simulate(&square(n, n, ""), &["parts.sw.buffers=input", "parts.sw.memory=64 KiB"]), n);
    let (a, b) = (many(16), many(64));
    println!("16: {a}, 64: {b}");
    assert!(a > b && b > 2.0 - 2f64.sqrt());
    within(0.01, b, 2.0 - 2f64.sqrt());
}

/// With room at the outputs nobody blocks anybody.
#[test]
fn output_queues_block_no_one() {
    for n in [4, 16] {
        let s = simulate(&square(n, n, ""), &["parts.sw.memory=1 GB"]);
        println!("{n}: {}", carried(&s, n));
        // Random loads leave an output without work now and then; with time a queue stands at nearly all.
        assert!(carried(&s, n) > 0.96);
        assert_eq!(frames(&s.flows[0]).dropped, 0);
    }
}

/// Pollaczek and Khinchine: the mean wait of M/D/1 is rho x service / 2 / (1 - rho).
#[track_caller]
fn waits(s: &Simulation, rho: f64, beside: f64) {
    let theory = rho * SERVICE / 2.0 / (1.0 - rho) + beside;
    let f = &s.flows[0];
    let (mean, half) = (f.latency.mean, f.latency.half.expect("an interval"));
    println!("rho {rho}: {mean} +- {half}, theory {theory}");
    assert!(half < 0.06 * theory, "rho {rho}: an interval of {half} s");
    assert!((mean - theory).abs() < 1.3 * half, "rho {rho}: {mean} is not {theory}, +- {half}");
    assert!(!f.unstable);
}

#[test]
fn poisson_arrivals_at_a_station_wait_as_in_m_d_1() {
    for (rho, length) in [(0.5, "100 ms"), (0.8, "400 ms"), (0.9, "3 s")] {
        let load = format!("flows.f.load={{ share = \"{} %\", arrivals = \"poisson\" }}", rho * 100.0);
        let s = simulate(&square(1, 1, ""), &[&load, &format!("run.for={length}"), "run.warmup=1 ms"]);
        // The switch adds its latency and a frame, and nothing waits there.
        waits(&s, rho, 2.0 * 1508.0 * 0.8e-9 + 120e-9);
        // In the application for all but what its adapter takes ahead, yet the sum is the same.
        let transit = frames(&s.flows[0]).transit.mean;
        assert!(if rho > 0.8 { transit < s.flows[0].latency.mean } else { transit <= s.flows[0].latency.mean });
    }
}

/// Many sources, each hardly busy: their superposition is Poisson, and the queue is that of the output.
#[test]
fn poisson_arrivals_at_an_output_wait_as_in_m_d_1() {
    for (rho, length) in [(0.5, "100 ms"), (0.8, "400 ms")] {
        let rate = rho * 10e9 * 1482.0 / 1520.0 / 100.0;
        let load = format!("flows.f.load={{ rate = \"{rate} b/s\", arrivals = \"poisson\" }}");
        let sets = [&load, "links.in.ethernet=100 Gb/s", &format!("run.for={length}"), "run.warmup=1 ms"];
        // Two frames of one source are never nearer than 0.12 us: nothing against the 100 others.
        waits(&simulate(&square(100, 1, ""), &sets), rho, 1508.0 * (0.08e-9 + 0.8e-9) + 120e-9);
    }
}

/// Runs of frames that follow one another without a gap, as they leave the station; the first and the last may be cut.
fn runs(sets: &[&str]) -> (Simulation, Vec<u64>) {
    let (s, crossed) = captured(&square(1, 4, ""), sets, "in.0");
    let (mut runs, mut last) = (vec![0u64], 0);
    for c in &crossed {
        assert!(matches!(c.what, Crossing::Data { .. }));
        if c.at - last == 1520 * BYTE {
            *runs.last_mut().expect("a run") += 1
        } else {
            runs.push(1)
        }
        last = c.at;
    }
    (s, runs[2..runs.len() - 1].to_vec())
}

#[test]
fn bursts_are_as_long_and_as_frequent_as_said() {
    let (s, fixed) = runs(&["flows.f.load={ share = \"40 %\", burst = 8, bursts = \"fixed\" }", "run.for=100 ms"]);
    assert!(fixed.len() > 3000 && fixed.iter().all(|r| *r == 8), "{:?}", fixed.iter().find(|r| **r != 8));
    // The pauses are exponential: 5 standard deviations of the sum of 4000 of them.
    within(5.0 * 0.6 / 4000f64.sqrt(), carried(&s, 1), 0.4);
    for length in [1.0, 5.0, 20.0] {
        let load = format!("flows.f.load={{ share = \"40 %\", burst = {length} }}");
        let (s, runs) = runs(&[&load, "run.for=200 ms"]);
        let n = runs.len() as f64;
        let mean = runs.iter().sum::<u64>() as f64 / n;
        // Geometric: the variance is length x (length - 1), and one in `length` is a single message.
        within(5.0 * ((length - 1.0) / length / n).sqrt() + 1e-9, mean, length);
        let singles = runs.iter().filter(|r| **r == 1).count() as f64 / n;
        within(5.0 * ((length - 1.0) / n).sqrt() + 1e-9, singles, 1.0 / length);
        within(0.05, carried(&s, 1), 0.4);
        println!("{length}: {mean} {singles} {}", carried(&s, 1));
    }
}

/// A random destination for each burst, and one for all of its messages.
#[test]
fn a_burst_is_for_one_destination() {
    let load = "flows.f.load={ share = \"40 %\", burst = 8, bursts = \"fixed\" }";
    let (_, crossed) = captured(&square(1, 4, ""), &[load], "in.0");
    let to = |i: usize| match crossed[i].what {
        Crossing::Data { to, .. } => to,
        _ => panic!("data only"),
    };
    let whole = crossed.len() / 8;
    assert!((0..whole).all(|b| (0..8).all(|i| to(8 * b + i) == to(8 * b))));
    let mut seen: Vec<u32> = (0..whole).map(|b| to(8 * b)).collect();
    let next = seen.windows(2).filter(|w| w[0] == w[1]).count() as f64 / whole as f64;
    assert!((next - 0.25).abs() < 0.08, "{next}");
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}

/// Little's law: what is there on average is what comes a second, times how long it stays.
#[test]
fn littles_law_holds() {
    for load in
        ["{ share = \"70 %\", arrivals = \"poisson\" }", "{ share = \"50 %\", burst = 10 }", "{ share = \"90 %\" }"]
    {
        let load = format!("flows.f.load={load}");
        let s = simulate(&square(8, 8, ""), &[&load, "run.for=200 ms", "run.warmup=2 ms"]);
        let f = &s.flows[0];
        assert_eq!(frames(f).dropped, 0);
        println!("{load}: {} {}", f.in_flight, f.little);
        within(5e-3, f.little, f.in_flight);
    }
}

/// Eight into one: marks and notifications keep the queue short, nobody starves, and the link stays busy.
#[test]
fn dcqcn_keeps_an_incast_short() {
    // Marks from 5 KB on, as Zhu et al. recommend for 40 Gb/s; memory for some milliseconds.
    let sets = ["links.in.ethernet=40 Gb/s", "links.out.ethernet=40 Gb/s", "parts.sw.memory=2 MB"];
    let more = ["parts.sw.ecn_low=5 kB", "parts.sw.ecn_high=200 kB", "run.for=40 ms", "run.warmup=20 ms"];
    let sets = [&sets[..], &more].concat();
    let without = simulate(&square(8, 1, ""), &sets);
    let with = simulate(&square(8, 1, ""), &[&sets[..], &["parts.sw.congestion_control=dcqcn"]].concat());
    let look = |s: &Simulation| {
        let (f, each) = (&s.flows[0], &s.flows[0].each);
        let (least, most) = each.iter().fold((f64::MAX, 0f64), |(l, m), r| (l.min(*r), m.max(*r)));
        (
            s.switches[0].memory.expect("a memory").most,
            frames(f).dropped,
            f.rate.mean / 40e9 * 1520.0 / 1482.0,
            least,
            most,
        )
    };
    let (a, b) = (look(&without), look(&with));
    println!("without {a:?}\nwith {b:?}");
    assert!(a.0 > 1_990_000 && a.1 > 100_000 && a.2 > 0.999);
    assert!(b.0 < 400_000 && b.1 == 0, "the queue stays short");
    assert!(b.2 > 0.85, "the link stays busy: {}", b.2);
    assert!(b.3 > 0.5 * b.4, "nobody starves");
    // Jain's index of fairness.
    let each = &with.flows[0].each;
    let (sum, squares) = (each.iter().sum::<f64>(), each.iter().map(|r| r * r).sum::<f64>());
    assert!(sum * sum / squares / 8.0 > 0.9, "{each:?}");
    assert!(with.links.iter().any(|l| l.slots.controls > 10), "notifications were sent");
}
