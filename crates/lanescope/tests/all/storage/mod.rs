//! Storage, I/O by I/O, against hand-worked numbers, theory, Iometer's rules and the laws that every run keeps.

mod by_hand;
mod caches;
mod calculator;
mod controller;
mod cores;
mod counts;
mod disks;
mod drives;
mod fabrics;
mod heads;
mod in_order;
mod iometer;
mod laws;
mod neighbours;
mod nvme;
mod pages;
mod places;
mod raid;
mod reasons;
mod ssd;
mod theory;
mod transact;
mod write_through;
mod wrong;

use crate::common;
use crate::common::{planned, simulate_by};
use lanescope::plan::Plan;
use lanescope::plan::storage::Medium;
use lanescope::protocol::tcp;
use lanescope::result::{Latencies, SimulatedFlow, SimulatedIos, SimulatedLink, Simulation};

/// The same with the largest TLPs that there are: for laws of what happens inside a drive, of which most of the work
/// would be to move small ones.
fn in_large_tlps(text: &str) -> String {
    let large = |kind: &str| (format!("is = \"{kind}\"\n"), format!("is = \"{kind}\"\nmax_payload = \"4 KiB\"\n"));
    let text = ["root-complex", "host-adapter", "nvme"]
        .into_iter()
        .map(large)
        .fold(text.to_owned(), |text, (is, large)| text.replace(&is, &large));
    text.replace("is = \"root-complex\"\n", "is = \"root-complex\"\ncompletion_size = \"512 B\"\n")
}

/// A host with one adapter at the end of a link of 1 B/ns, all of it without DLLPs and ordered sets.
const HOST: &str = r#"
[parts.host]
is = "root-complex"
read_latency = "400 ns"
write_latency = "100 ns"
completion_size = "128 B"
[parts.hba]
is = "host-adapter"
header = "3DW"
command_time = "5 us"
command_bytes = "64 B"
status_bytes = "64 B"
[links.slot]
between = ["host", "hba"]
pcie = "gen1 x4"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
"#;

/// A RAM disk on Fibre Channel.
const RAM: &str = r#"
[parts.ram]
is = "ram-disk"
latency = "20 us"
[links.fc]
between = ["hba", "ram"]
fc = "4GFC"
"#;

/// One worker.
const IO: &str = r#"
[flows.io]
from = "host"
to = "ram"
do = "io"
submit_time = "5 us"
complete_time = "10 us"
"#;

/// Simulates a text that must be right, and checks what every run keeps.
fn simulate(text: &str, sets: &[&str]) -> Simulation {
    let plan = planned(text, sets);
    let s = simulate_by(&plan, plan.limits.seed as u64, u64::MAX);
    check(&plan, &s, &[]);
    s
}

/// The times of a table of I/Os.
fn ios<'a>(s: &'a Simulation, name: &str) -> &'a SimulatedIos {
    common::simulated(s, name).ios.as_ref().expect("a flow of I/Os")
}

/// Femtoseconds of a time that was given in seconds.
fn fs(seconds: f64) -> u64 {
    (seconds * 1e15).round() as u64
}

/// What is counted of a table of I/Os: no I/O that was under way when the window opened, each in one bin, and Little's
/// law.
fn counted(flow: &SimulatedFlow, times: &SimulatedIos, (warmup, window): (f64, f64), outstanding: f64) {
    let seen = &times.seen;
    common::within(1e-12, seen.time, window);
    let (mut ios, mut sum, mut whole, mut ways) = (0, 0.0, 0.0, [0; 3]);
    for c in &seen.counts {
        assert_eq!(c.bins.iter().sum::<u64>(), c.ios(), "{c:?}");
        assert!(c.transactions.count <= c.ios(), "{c:?}");
        for (way, side) in [c.reads, c.writes, c.trims].into_iter().enumerate() {
            let t = side.times;
            assert!(
                t.min <= t.mean() * (1.0 + 1e-9) && t.mean() <= t.max * (1.0 + 1e-9) && t.max <= flow.max * 1.001,
                "{c:?}"
            );
            assert!(side.bytes >= t.count && t.squares <= t.max * t.sum * (1.0 + 1e-9), "{c:?}");
            assert!(t.squares >= t.sum * t.mean() * (1.0 - 1e-6) - 1e-18 * t.count as f64, "{c:?}");
            (ios, sum, whole) = (ios + t.count, sum + t.sum, whole + side.whole.sum);
            // What it waits for the processor, and the rest: the two parts of its time.
            assert_eq!((side.waits.count, side.whole.count), (t.count, t.count));
            common::within(1e-9, side.whole.sum, side.waits.sum + t.sum);
            ways[way] += t.count;
        }
        assert!(seen.busy_of(c.worker) <= seen.time * (1.0 + 1e-9), "{seen:?}");
    }
    for (n, Latencies(bins)) in ways.into_iter().zip(times.latencies.iter().chain([&times.trim_latencies])) {
        assert_eq!(bins.iter().map(|b| b.1).sum::<u64>(), n);
        assert!(bins.is_sorted_by(|a, b| a.0 < b.0), "{bins:?}");
    }
    let before = flow.operations.checked_sub(ios).expect("no more than were done") as f64;
    assert!(
        if warmup > 0.0 { before <= outstanding } else { before == 0.0 },
        "{before} of {outstanding} from the ramp"
    );
    // Each that is counted lies in the window whole: no more than were out, and but for its ends no less.
    let out = sum / window;
    assert!(out <= outstanding * (1.0 + 1e-9), "{out} of {outstanding}");
    if flow.operations >= 32 && 20.0 * flow.max < window {
        // What was out at the beginning, and what still is.
        let edge = outstanding * (flow.max + times.oldest) / window;
        let out = whole / window;
        assert!((out - flow.in_flight).abs() <= edge + 1e-9, "{out} out by the counts, {} in flight", flow.in_flight);
    }
}

/// The wires of storage, behind those of PCIe.
fn wires<'a>(plan: &Plan, s: &'a Simulation) -> &'a [SimulatedLink] {
    &s.links[2 * plan.links.len()..]
}

/// What every run keeps: each slot of each wire is accounted for, Little's law, no more outstanding than asked for,
/// stages that add up. `silent` is for how long, at its end, no operation of each flow had been done.
fn check(plan: &Plan, s: &Simulation, silent: &[f64]) {
    let silent = |i: usize| silent.get(i).copied().unwrap_or(0.0);
    common::laws::check(plan, s, &(0..s.flows.len()).map(silent).collect::<Vec<_>>());
    for (link, wire) in wires(plan, s).iter().zip(plan.storage.wires()) {
        let whole = (link.coded / 8.0 * s.window).round() as u64;
        // What an end of the window cuts is counted whole, where it begins: a frame with the R_RDYs behind it, or a
        // connection.
        let longest = match &wire.transport.medium {
            Medium::Serial { keys, credit } => {
                let answers = keys.typical().answers(1, 1) * credit[0].max(credit[1]) as u64;
                2148 + 24 + keys.typical().opening() + answers.max(8 * credit[0].max(credit[1]) as u64)
            }
            Medium::Scsi { keys, .. } => (keys.burst.typical.0 as f64 * 1.01 + link.coded / 8.0 * 40e-6) as u64,
            other => panic!("a medium that no law knows: {other:?}"),
        };
        let total = link.slots.total();
        assert!(total.abs_diff(whole) <= longest, "{} to {}: {total} slots of {whole}", link.name, link.to);
        assert!(link.slots.idle.iter().all(|n| *n <= whole + longest), "{}: {:?}", link.name, link.slots.idle);
    }
    let first = s.flows.len() - plan.storage.groups().len();
    for (flow, members) in s.flows.iter().skip(first).zip(plan.storage.groups()) {
        let times = flow.ios.as_ref().expect("a flow of I/Os");
        let outstanding: f64 = members.iter().map(|m| plan.storage.flows[*m].outstanding.typical.get() as f64).sum();
        assert!(flow.in_flight <= outstanding * (1.0 + 1e-9), "{}: {} in flight", flow.name, flow.in_flight);
        // A program that neither pauses nor keeps to a rate wants the next I/O when one is done: every place belongs to
        // an I/O at every moment.
        let closed = members.iter().map(|m| &plan.storage.flows[*m]).all(|f| {
            let pauses = f.lines.iter().any(|l| l.delay.fs() > 0);
            let connects = plan.storage.pair(f).is_some_and(|p| p.connections.is_some());
            f.rate.is_none() && !pauses && !connects
        });
        if closed {
            // Workers of several stations begin at phases, drawn out of the time that 64 KiB of their longest message
            // take the wire.
            let phase = members.iter().map(|m| &plan.storage.flows[*m]).filter_map(|f| {
                let pair = plan.storage.pair(f)?;
                let longest = f.lines.iter().map(|l| l.size.0.max(l.reply.0)).max().unwrap_or(0).min(1 << 16);
                let wire = plan.network.link(plan.network.out(pair.ends[0], 0)).rate.typical;
                Some((tcp::wire(longest, pair.segment) * wire.byte_fs()) as f64 * 1e-15)
            });
            let late = phase.fold(0.0, f64::max) / s.window;
            assert!(flow.in_flight >= outstanding * (1.0 - late - 1e-9), "{}: {}", flow.name, flow.in_flight);
        }
        if flow.operations >= 32 && 20.0 * flow.max < s.window {
            // Little's law has all of the time of what was out at the beginning, and nothing of what still is.
            let edge = outstanding * (flow.max + times.oldest) / s.window;
            let off = (flow.in_flight - flow.little).abs();
            assert!(off <= edge + 1e-9, "{}: {} in flight, {} by Little's law", flow.name, flow.in_flight, flow.little);
            let many = flow.operations as f64 > 800.0 * outstanding
                && flow.max < 3.0 * flow.latency.mean
                && times.oldest <= flow.max;
            assert!(!many || off <= 0.005 * flow.little, "{}: {} and {}", flow.name, flow.in_flight, flow.little);
        }
        if flow.operations > 0 && flow.latency.half.is_none() {
            let sum: f64 = times.stages.iter().sum();
            assert!((sum / flow.latency.mean - 1.0).abs() < 1e-9, "{}: {sum} of {}", flow.name, flow.latency.mean);
        }
        assert!(times.stages.iter().all(|t| t.is_finite() && *t >= 0.0), "{:?}", times.stages);
        assert!(times.busy.iter().all(|(_, share)| (0.0..1.01).contains(share)), "{:?}", times.busy);
        common::within(1e-12, times.per_second, flow.operations as f64 / s.window);
        counted(flow, times, (s.warmup, s.window), outstanding);
        let talks = members.iter().any(|m| plan.storage.pair(&plan.storage.flows[*m]).is_some());
        assert!(talks || times.seen.counts.iter().all(|c| c.connections.count == 0), "{times:?}");
    }
}
