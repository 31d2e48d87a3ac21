//! Laws of the estimate on random clusters: nothing better makes a program slower, and nothing that has a capacity is
//! asked for more.

use super::{simulate_by, to_and_fro, with_program};
use crate::common::choices::runner;
use crate::common::grow::cluster::grow;
use crate::common::{flow, plan, planned};
use lanescope::estimate::{estimate, loads};
use lanescope::scenario::quantity::Corner;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// Keys of a node, of a link of InfiniBand, of Ethernet, of a bus, of a switch, with two values each, the better one
/// last.
const BETTER: [(&str, &str, &str, &str); 14] = [
    ("parts.n0", "work_time", "2 us", "10 ns"),
    ("parts.n1", "send_latency", "600 ns", "10 ns"),
    ("parts.n1", "receive_latency", "600 ns", "10 ns"),
    ("parts.n0", "packet_time", "400 ns", "1 ns"),
    ("parts.n1", "read_ahead", "4 KiB", "1 MiB"),
    ("parts.n0", "descriptor_bytes", "128 B", "64 B"),
    ("links.c0", "infiniband", "sdr 1x", "hdr 4x"),
    ("links.c1", "delay", "2 us", "5 ns"),
    ("links.c1", "ethernet", "1 Gb/s", "100 Gb/s"),
    ("links.b0", "pcie", "gen1 x1", "gen4 x16"),
    ("links.b1", "pci", "pci 33 32-bit", "pci-x 133 64-bit"),
    ("links.u01", "infiniband", "sdr 1x", "hdr 4x"),
    ("links.u01", "ethernet", "1 Gb/s", "100 Gb/s"),
    ("parts.s0", "latency", "2 us", "10 ns"),
];

/// No bound falls, whatever the program. Where messages meet, a time may rise: one that comes earlier is served
/// earlier, and delays what others wait for (Graham, SIAM J. Appl. Math. 17, 1969). One message at a time meets none,
/// and is never slower; but where a link between two slow ones becomes fast, which a switch that cuts through must not
/// let run dry: it then waits for the whole packet, and takes as much longer in the simulation.
#[test]
fn nothing_better_lowers_a_bound_or_slows_a_message_down() {
    let (compared, worst) = (Cell::new(0), Cell::new(0.0f64));
    let config = Config { max_shrink_iters: 200, ..Config::default() };
    let result = runner(config).run(&(0..BETTER.len(), vec(any::<u8>(), 0..400)), |(which, bytes)| {
        let (text, (table, key, worse, better)) = (grow(&bytes), BETTER[which]);
        let size = ["0 B", "8 KiB", "200 KiB"][bytes.len() % 3];
        let alone = with_program(&text, &to_and_fro(size));
        for (text, alone) in [(text, false), (alone, true)] {
            let of = |value: &str| match plan(&text, &[&format!("{table}.{key}={value}")]) {
                (Some(made), d) => Some(estimate(&made, &d)),
                _ => None,
            };
            // A node may have no slot, or a link no such medium.
            let (true, Some(a), Some(b)) = (text.contains(&format!("[{table}]")), of(worse), of(better)) else {
                return Ok(());
            };
            let (a, b) = (flow(&a, "job"), flow(&b, "job"));
            let what = format!("{table}.{key} from {worse} to {better}");
            if b.bound.typical < a.bound.typical * (1.0 - 1e-9) {
                return Err(TestCaseError::fail(format!("{what} lowers the bound\n{text}")));
            }
            let slower = b.programs[0].time / a.programs[0].time - 1.0;
            let simulated = |value: &str| {
                let made = planned(&text, &[&format!("{table}.{key}={value}")]);
                simulate_by(&made, u64::MAX).flows[0].program.as_ref().map_or(0.0, |p| p.time)
            };
            let waits = || table == "links.u01" && (simulated(better) / simulated(worse) - 1.0 - slower).abs() < 0.01;
            if alone && slower > 0.01 && !waits() {
                return Err(TestCaseError::fail(format!("{what} takes {slower:+.4} more time\n{text}")));
            }
            if alone {
                compared.set(compared.get() + 1);
                worst.set(worst.get().max(slower));
            }
        }
        Ok(())
    });
    println!("{} compared, {:+.4} at worst", compared.get(), worst.get());
    if let Err(e) = result {
        panic!("{e}");
    }
}

#[test]
fn programs_fit() {
    let result =
        runner(Config { max_shrink_iters: 200, ..Config::default() }).run(&vec(any::<u8>(), 0..400), |bytes| {
            let text = grow(&bytes);
            // The same program twice, at once, in either order.
            let (head, job) = text.split_once("[flows.job]").expect("a job");
            let texts = ["[flows.job]{job}[flows.other]{job}", "[flows.other]{job}[flows.job]{job}"];
            let texts = texts.map(|t| head.to_owned() + &t.replace("{job}", job));
            let mut times = Vec::new();
            for text in &texts {
                let (Some(made), d) = plan(text, &[]) else { return Ok(()) };
                for corner in [Corner::Slower, Corner::Typical, Corner::Faster] {
                    let over = loads(&made, corner).into_iter().find(|l| l.taken > l.capacity * (1.0 + 1e-9));
                    if let Some(l) = over {
                        return Err(TestCaseError::fail(format!("{l:?}\n{text}")));
                    }
                }
                let report = estimate(&made, &d);
                for l in &report.links {
                    let sum: f64 = l.ledger.entries().iter().map(|e| e.1).sum();
                    if (sum / l.ledger.raw - 1.0).abs() > 1e-6 {
                        return Err(TestCaseError::fail(format!("{}: {sum} of {}\n{text}", l.path(), l.ledger.raw)));
                    }
                }
                times.push(["job", "other"].map(|name| flow(&report, name).programs[0].time));
            }
            let [ours, theirs] = [times[0], times[1]];
            let same = ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= 1e-9 * a.max(b));
            if same {
                Ok(())
            } else {
                Err(TestCaseError::fail(format!("{ours:?} in one order, {theirs:?} in another\n{text}")))
            }
        });
    if let Err(e) = result {
        panic!("{e}");
    }
}

/// What a rank sends to another first comes first, in closed form, too: each receive has room for its own message and
/// for no earlier one, which is longer.
#[test]
fn messages_come_in_their_order() {
    let ran = Cell::new(0);
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..400), |bytes| {
        let (text, longest) = (grow(&bytes), [40, 400, 2000, 9000][bytes.len() % 4]);
        let sizes: Vec<usize> = (0..6).map(|i| longest - i).collect();
        let all = |verb: &str, end: &str| sizes.iter().map(|s| format!("{verb} {s} B {end}; ")).collect::<String>();
        let round = |shift: u32| {
            all("isend", &format!("to (rank + {shift}) % ranks"))
                + &all("recv", &format!("from (rank - {shift}) % ranks"))
                + "waitall; "
        };
        let program = [1, 2, 3].map(round).concat();
        let text = with_program(&text, &program);
        let (Some(made), d) = plan(&text, &[]) else { return Ok(()) };
        let report = estimate(&made, &d);
        let trouble = report.warnings.iter().find(|w| w.contains("receives at most"));
        if let Some(trouble) = trouble {
            return Err(TestCaseError::fail(format!("{trouble}\n{text}")));
        }
        ran.set(ran.get() + 1);
        Ok(())
    });
    println!("{} programs", ran.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(ran.get() > 0, "some programs should run");
}
