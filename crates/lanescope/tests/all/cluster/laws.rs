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

/// Adapters of two groups at two switches, one of which is in no program.
fn beside_an_idle_one(medium: &str, own: u64, idle: u64) -> String {
    let (is, switch) = match medium {
        "ethernet" => ("ethernet = \"100 Gb/s\"", "ethernet-switch"),
        _ => ("infiniband = \"edr 4x\"", "infiniband-switch"),
    };
    let mtu = |n: u64| if n == 0 { String::new() } else { format!("mtu = \"{n} B\"\n") };
    format!(
        "[parts.a]\nis = \"channel-adapter\"\ncount = 3\n[parts.idle]\nis = \"channel-adapter\"\n\
         [parts.sw]\nis = \"{switch}\"\n[links.a]\nbetween = [\"a.*\", \"sw\"]\n{is}\n{}\
         [links.idle]\nbetween = [\"idle\", \"sw\"]\n{is}\n{}\
         [flows.f]\ndo = \"mpi\"\nranks = [\"a.*\"]\nbenchmark = \"osu_allreduce\"\nsizes = [\"1 KiB\", \"256 KiB\"]\n",
        mtu(own),
        mtu(idle)
    )
}

/// What a program's packets carry is agreed on by their ends: a link that is on no path of theirs changes nothing.
#[test]
fn an_idle_adapter_changes_no_path_mtu() {
    for (medium, all) in [("infiniband", [256, 1024, 4096]), ("ethernet", [600, 1500, 9000])] {
        for own in all {
            let times = |idle: u64| {
                let made = planned(&beside_an_idle_one(medium, own, idle), &[]);
                let report = estimate(&made, &Default::default());
                let seen = simulate_by(&made, u64::MAX);
                let simulated = seen.flows[0].program.as_ref().map_or(f64::NAN, |p| p.time);
                [flow(&report, "f").programs[0].time, simulated]
            };
            let same = times(own);
            for idle in all {
                assert_eq!(times(idle), same, "{medium}: {own} B, and {idle} B of the idle one");
            }
        }
    }
}

/// Ranks that share an adapter need no link, and a program of them is one all the same.
#[test]
fn ranks_of_one_adapter_are_a_program() {
    for medium in ["infiniband", "ethernet"] {
        let text = beside_an_idle_one(medium, 0, 0).replace("\"a.*\"]\nbench", "\"a.0\", \"a.0\"]\nbench");
        assert_eq!(planned(&text, &[]).cluster.jobs.len(), 1, "{medium}");
    }
}

/// Programs with messages of one size share a link until the shorter ones have ended.
#[test]
fn what_ends_leaves_its_part_to_the_others() {
    let worst = Cell::new(0.0f64);
    let some = (vec(20..200u64, 2..4), 100..1000u64, 0..2usize);
    let result = runner(Config::default()).run(&some, |(programs, kib, medium)| {
        let (is, switch) =
            [("infiniband = \"edr 4x\"", "infiniband-switch"), ("ethernet = \"100 Gb/s\"", "ethernet-switch")][medium];
        let n = programs.len();
        let mut text = format!(
            "[parts.n]\nis = \"channel-adapter\"\ncount = {}\n[parts.sw]\nis = \"{switch}\"\ncount = 2\n\
             [links.c0]\nbetween = [\"n.0-{}\", \"sw.0\"]\n{is}\n[links.c1]\nbetween = [\"n.{n}-{}\", \"sw.1\"]\n{is}\n\
             [links.t]\nbetween = [\"sw.0\", \"sw.1\"]\n{is}\n",
            2 * n,
            n - 1,
            2 * n - 1
        );
        for (i, times) in programs.iter().enumerate() {
            text += &format!(
                "[flows.f{i}]\ndo = \"mpi\"\nranks = [\"n.{i}\", \"n.{}\"]\ninterface = \"verbs\"\nprogram = \"repeat \
                 {times} {{ if rank == 0 {{ send {kib} KiB to 1 }} else {{ recv from 0 }} }}\"\n",
                n + i
            );
        }
        text += "[run]\nmax_packets = 20000000\n";
        let made = planned(&text, &[]);
        let report = estimate(&made, &Default::default());
        let seen = simulate_by(&made, u64::MAX);
        for (estimated, simulated) in report.flows.iter().zip(&seen.flows) {
            let simulated = simulated.program.as_ref().map_or(f64::NAN, |p| p.time);
            let off = estimated.programs[0].time / simulated - 1.0;
            worst.set(worst.get().max(off.abs()));
            if off.abs() > 0.05 {
                return Err(TestCaseError::fail(format!("{}: {off:+.3}\n{text}", estimated.name)));
            }
        }
        Ok(())
    });
    println!("at most {:.3} off", worst.get());
    result.unwrap_or_else(|e| panic!("{e}"));
}
