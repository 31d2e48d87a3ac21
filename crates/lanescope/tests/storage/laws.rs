//! Random small storage: what must hold on every one of them.

use super::common::choices::runner;
use super::common::grow::storage::grow;
use super::{check, wires};
use crate::common::{plan, simulate_by};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::plan::Plan;
use lanescope::plan::storage::{Device, IoFlow, Storage, Volume};
use lanescope::result::{Ending, Simulation};
use lanescope::scenario::keys::{Arrivals, Line, WHOLE, WritePolicy};
use lanescope::sim::{Run, Step};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// Bytes that are on their way, or wait in a cache, at an end of the window.
fn under_way(storage: &Storage, flow: &IoFlow) -> f64 {
    let largest = flow.lines.iter().map(|l| l.size.0.max(l.reply.0)).max().unwrap_or(0);
    let cached = |size: u64| 2.0 * size as f64;
    let own = &storage.adapter(flow).expect("an adapter").keys;
    let disk = |t: u32| match &storage.targets[t as usize].device {
        Device::Disk(k) => cached(k.cache.typical.0),
        Device::Ssd(k) if k.write_cache.typical => cached(k.buffer.typical.0),
        Device::Ssd(_) | Device::Ram(_) => 0.0,
    };
    let caches = match flow.volume {
        Volume::Target(t) => disk(t),
        Volume::Station(_) => 0.0,
        Volume::Array(a) => {
            let a = &storage.arrays[a as usize];
            let width = a.keys.strip.typical.0 * a.data_disks();
            let cache = own.cache.as_ref().map_or(0, |q| q.typical.0).max(width);
            a.disks.iter().map(|d| disk(*d)).sum::<f64>() + cached(cache)
        }
    };
    // Of a rate, the first is due at once, and its reply follows.
    let first = if flow.rate.is_some() { 2.0 * largest as f64 } else { 0.0 };
    flow.outstanding.typical.get() as f64 * largest as f64 + first + caches
}

/// Whether the estimate's bound is a mean over where heads are, or over what meets in a cache, and no bound for every run.
fn on_average(storage: &Storage, flow: &IoFlow) -> bool {
    let disks = match flow.volume {
        Volume::Target(t) => vec![t],
        Volume::Station(_) => Vec::new(),
        Volume::Array(a) => storage.arrays[a as usize].disks.clone(),
    };
    let moving = disks.iter().any(|d| matches!(storage.targets[*d as usize].device, Device::Disk(_)));
    let draws = |l: &Line| l.random > 0;
    let back = storage.adapter(flow).expect("an adapter").keys.write_policy.typical == WritePolicy::WriteBack;
    let gathers =
        matches!(flow.volume, Volume::Array(_)) && back && flow.lines.iter().any(|l| l.read < WHOLE || l.reply.0 > 0);
    moving && flow.lines.iter().any(draws) || gathers && flow.lines.iter().any(|l| l.random > 0 || l.align.0 > l.size.0)
}

/// A run of 997 events at a time; and for how long, at its end, no operation of each flow was done, at most.
fn in_pieces(plan: &Plan) -> (Simulation, Vec<f64>) {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    let mut last: Vec<(u64, f64)> = run.snapshot().flows.iter().map(|_| (0, 0.0)).collect();
    let mut before = 0.0;
    loop {
        let step = run.advance(997);
        let s = run.snapshot();
        for (last, flow) in last.iter_mut().zip(&s.flows) {
            if last.0 != flow.operations {
                *last = (flow.operations, before);
            }
        }
        before = s.window;
        if step == Step::Done {
            let silent = last.iter().map(|l| s.window - l.1).collect();
            return (s, silent);
        }
    }
}

/// Gives the simulation, and whether its throughput was held to a bound.
fn laws(plan: &Plan, diagnostics: &Diagnostics) -> (Simulation, bool) {
    let whole = simulate_by(plan, 1, u64::MAX);
    let (pieces, silent) = in_pieces(plan);
    assert!(Simulation { events: whole.events, ..pieces } == whole, "the pieces that a run is done in change it");
    check(plan, &whole, &silent);
    assert!(matches!(whole.ending, Ending::Length | Ending::PacketCap), "{:?}", whole.ending);
    let report = estimate(plan, diagnostics);
    let storage = &plan.storage;
    let mut held = true;
    for (flow, members) in whole.flows[whole.flows.len() - storage.groups().len()..].iter().zip(storage.groups()) {
        let answer = report.flows.iter().find(|f| f.name == flow.name).expect("it is estimated");
        let all = [answer.share, answer.bound, answer.latency];
        assert!(all.iter().flat_map(|r| [r.slower, r.typical, r.faster]).all(|v| v.is_finite() && v >= 0.0), "{all:?}");
        assert!(answer.share.typical <= answer.bound.typical * (1.0 + 1e-9), "{answer:?}");
        let largest = members.iter().flat_map(|m| storage.flows[*m].lines.iter());
        let largest = largest.map(|l| l.size.0.max(l.reply.0)).max().unwrap_or(0) as f64;
        let bytes = flow.each.iter().sum::<f64>() * whole.window / 8.0;
        let done = flow.operations as f64;
        assert!(done <= bytes * (1.0 + 1e-9), "{done} I/Os of at least 1 B done, {bytes} B moved");
        let open: f64 = members.iter().map(|m| storage.flows[*m].outstanding.typical.get() as f64).sum();
        assert!(bytes <= (done + open) * largest * (1.0 + 1e-9), "{bytes} B in {done} I/Os of at most {largest} B");
        let slack: f64 = members.iter().map(|m| under_way(storage, &storage.flows[*m])).sum();
        let mean = members.iter().any(|m| on_average(storage, &storage.flows[*m]));
        held &= !mean;
        let mean = if mean { 0.2 } else { 0.0 };
        // Sizes, directions and moments are drawn, too.
        let mixed = members.iter().any(|m| {
            let lines = &storage.flows[*m].lines;
            let moments = storage.flows[*m].rate.is_some() && storage.flows[*m].arrivals == Arrivals::Poisson;
            // So are the pages of a drive that a read is cut at.
            let drive = matches!(storage.flows[*m].volume, Volume::Target(t) if matches!(storage.targets[t as usize].device, Device::Ssd(_)));
            let cut = drive && lines.iter().any(|l| l.read > 0 || l.reply.0 > 0);
            moments || cut || lines.len() > 1 || lines.iter().any(|l| l.read > 0 && l.read < WHOLE)
        });
        let drawn = if mixed { 6.0 / (done + 1.0).sqrt() } else { 0.0 };
        let most = answer.bound.typical * whole.window / 8.0 * (1.0 + drawn + mean) + slack;
        assert!(
            bytes <= most * (1.0 + 1e-6),
            "{}: {bytes} B, with a bound of {most} B, {slack} B under way",
            flow.name
        );
        held &= slack < 0.5 * most;
    }
    // What left the disks and RAM disks has come: payload of the wires is that of the I/Os, where each goes to one target.
    if storage.arrays.is_empty() {
        let wired: f64 = wires(plan, &whole).iter().map(|l| l.slots.payload as f64).sum();
        let rates = whole.flows.iter().filter(|f| f.ios.is_some()).flat_map(|f| &f.each);
        let moved = rates.sum::<f64>() * whole.window / 8.0;
        let slack: f64 = storage.flows.iter().map(|f| under_way(storage, f)).sum();
        assert!(
            moved <= wired * (1.0 + 1e-9) && wired <= moved + slack + 1.0,
            "{wired} B on the wires, {moved} B moved"
        );
    }
    (whole, held)
}

#[test]
fn the_laws_hold_on_random_storage() {
    let (refused, simulated, held, ios) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = runner(Config { max_shrink_iters: 200, ..Config::default() });
    let result = runner.run(&vec(any::<u8>(), 60..160), |bytes| {
        let text = grow(&bytes);
        let (plan, d) = plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(|| laws(&plan, &d));
        let (s, was_held) = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        held.set(held.get() + u32::from(was_held));
        ios.set(ios.get() + s.flows.iter().filter(|f| f.ios.is_some()).map(|f| f.operations).sum::<u64>());
        Ok(())
    });
    let (refused, simulated, held) = (refused.get(), simulated.get(), held.get());
    println!("{simulated} simulated, {refused} refused, {held} held to a bound, {} I/Os", ios.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(simulated > 2 * refused, "most should be simulated: {simulated} of {}", simulated + refused);
    assert!(held > simulated / 8, "{held} of {simulated} held to a bound");
}

/// What is odd, and legal: it comes to an end, and keeps the laws.
#[test]
fn what_is_odd_and_legal() {
    let host = super::HOST.replace("status_bytes", "cache = \"1 MiB\"\nstatus_bytes");
    let base = host
        + r#"
[parts.d]
is = "disk"
count = 4
capacity = "64 MiB"
[links.wire]
between = ["hba", "d.*"]
fc = "4GFC"
[parts.ram]
is = "ram-disk"
[links.ram]
between = ["hba", "ram"]
fc = "4GFC"
[parts.lun]
is = "array"
level = "raid5"
disks = ["d.*"]
[flows.io]
from = "host"
to = "ram"
do = "io"
access = { size = "2 KiB" }
[run]
for = "20 ms"
warmup = "0 s"
max_packets = 2000000
"#;
    let cases: &[&[&str]] = &[
        &[],
        &["flows.io.access={ size = \"1 B\" }"],
        &["flows.io.access={ size = \"1 B\", read = \"0 %\", random = \"100 %\" }", "flows.io.outstanding=64"],
        &["flows.io.access={ size = \"1 GiB\" }", "run.for=4 s"],
        &["flows.io.access={ size = \"1 GiB\", read = \"0 %\" }", "run.for=4 s"],
        &["flows.io.access={ size = \"2 KiB\", align = \"1 GiB\", random = \"50 %\" }"],
        &["flows.io.access={ size = \"2 KiB\", align = \"1 B\", random = \"50 %\" }", "flows.io.file=2 KiB"],
        &["flows.io.access={ size = \"2 KiB\", reply = \"1 GiB\" }", "run.for=4 s"],
        &[
            "flows.io.access={ size = \"2 KiB\", reply = \"1 B\", delay = \"1 us\", burst = 7 }",
            "flows.io.outstanding=9",
        ],
        &["flows.io.access={ size = \"2 KiB\", delay = \"5 h\" }"],
        &["flows.io.access={ size = \"2 KiB\", delay = \"1 fs\", burst = 4294967 }"],
        &["flows.io.access={ size = \"2 KiB\", delay = \"1 us\" }", "flows.io.outstanding=65536"],
        &["flows.io.outstanding=65536"],
        &["flows.io.outstanding=65536", "parts.hba.queue_depth=100000"],
        &[
            "flows.io.outstanding=65536",
            "flows.io.access={ size = \"2 KiB\", read = \"0 %\" }",
            "parts.hba.queue_depth=100000",
        ],
        &["parts.hba.queue_depth=1", "flows.io.outstanding=64"],
        &[
            "parts.hba.port_buffer=0 B",
            "flows.io.outstanding=64",
            "flows.io.access={ size = \"20 KiB\", read = \"50 %\" }",
        ],
        &[
            "parts.ram.port_buffer=1 B",
            "flows.io.outstanding=64",
            "flows.io.access={ size = \"20 KiB\", read = \"50 %\" }",
        ],
        &["parts.hba.command_bytes=0 B", "parts.hba.status_bytes=0 B", "parts.hba.command_time=0 s"],
        &[
            "flows.io.submit_time=0 s",
            "flows.io.complete_time=0 s",
            "parts.ram.latency=0 s",
            "parts.hba.command_bytes=0 B",
            "parts.hba.status_bytes=0 B",
            "parts.hba.command_time=0 s",
        ],
        &["parts.hba.command_bytes=1 GiB", "run.for=4 s"],
        &["parts.ram.latency=5 h"],
        &["parts.ram.rate=1 b/s"],
        &["parts.ram.capacity=512 B", "flows.io.access={ size = \"512 B\", random = \"100 %\" }"],
        &["parts.ram.capacity=1000000000 GB", "flows.io.access={ size = \"512 B\", random = \"100 %\" }"],
        &["links.ram.frame=1 B", "flows.io.access={ size = \"512 B\", read = \"50 %\" }"],
        &["links.ram.length=1000 km"],
        &[
            "flows.io.to=d.*",
            "parts.d.zones=1",
            "parts.d.rpm=16777216",
            "flows.io.access={ size = \"2 KiB\", random = \"100 %\" }",
        ],
        &["flows.io.to=d.*", "parts.d.rpm=1", "parts.d.zones=16777216", "parts.d.cache=0 B"],
        &["flows.io.to=d.*", "parts.d.outer_rate=1 b/s", "parts.d.inner_rate=1 b/s"],
        &[
            "flows.io.to=d.*",
            "parts.d.full_seek=5 h",
            "parts.d.average_seek=5 h",
            "flows.io.access={ size = \"2 KiB\", random = \"100 %\" }",
        ],
        &[
            "flows.io.to=d.*",
            "parts.d.capacity=1000000000 GB",
            "flows.io.access={ size = \"2 KiB\", random = \"100 %\" }",
        ],
        &[
            "flows.io.to=d.0",
            "flows.io.file=512 B",
            "flows.io.access={ size = \"512 B\", random = \"100 %\", read = \"50 %\" }",
        ],
        &["flows.io.to=lun", "parts.lun.strip=512 B", "flows.io.access={ size = \"1 MiB\", read = \"50 %\" }"],
        &["flows.io.to=lun", "flows.io.file=512 B", "flows.io.access={ size = \"512 B\", read = \"50 %\" }"],
        &[
            "flows.io.to=lun",
            "parts.hba.cache=1 B",
            "flows.io.access={ size = \"4 MiB\", read = \"0 %\" }",
            "flows.io.outstanding=8",
        ],
        &[
            "flows.io.to=lun",
            "parts.hba.cache=1 B",
            "flows.io.access={ size = \"1 B\", read = \"0 %\", random = \"100 %\" }",
            "flows.io.outstanding=1000",
        ],
        &[
            "flows.io.to=lun",
            "parts.hba.memory_bandwidth=1 MB/s",
            "parts.hba.xor_rate=1 b/s",
            "flows.io.access={ size = \"64 KiB\", read = \"50 %\" }",
        ],
        &[
            "flows.io.to=lun",
            "parts.hba.write_policy=write-through",
            "flows.io.access={ size = \"1 B\", read = \"0 %\", align = \"1 B\" }",
            "flows.io.outstanding=100",
        ],
        &["flows.io.workers=1000", "flows.io.outstanding=1000", "run.for=1 ms"],
    ];
    for sets in cases {
        let (plan, d) = plan(&base, sets);
        let Some(plan) = plan else { panic!("{sets:?}: {d}") };
        let report = estimate(&plan, &d);
        let io = report.flows.last().expect("a flow");
        assert!(
            io.share.typical.is_finite() && io.share.typical <= io.bound.typical * (1.0 + 1e-9),
            "{sets:?}: {io:?}"
        );
        let begun = std::time::Instant::now();
        let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
        while run.advance(1 << 16) != Step::Done {
            assert!(begun.elapsed().as_secs() < 60, "{sets:?}: {} s in a minute", run.time());
        }
        let s = run.snapshot();
        println!("{sets:?}: {:?}, {} packets in {:?}", s.ending, s.packets, begun.elapsed());
        check(&plan, &s, &vec![s.window; s.flows.len()]);
    }
    let lines = vec!["{ size = \"2 KiB\", share = \"1 %\", random = \"100 %\" }"; 100].join(", ");
    let many = format!("flows.io.access=[{lines}]");
    let (plan, d) = plan(&base, &[&many]);
    let plan = plan.unwrap_or_else(|| panic!("{d}"));
    check(&plan, &simulate_by(&plan, 1, u64::MAX), &[]);
}

/// What shares nothing does not matter to one another.
#[test]
fn flows_that_share_nothing_are_independent() {
    let side = |i: usize| {
        format!(
            "[parts.h{i}]\nis = \"root-complex\"\n[parts.a{i}]\nis = \"host-adapter\"\n[links.s{i}]\nbetween = [\"h{i}\", \"a{i}\"]\npcie = \"gen2 x4\"\n[parts.d{i}]\nis = \"disk\"\n[links.w{i}]\nbetween = [\"a{i}\", \"d{i}\"]\nscsi = \"ultra320\"\n[flows.f{i}]\nfrom = \"h{i}\"\nto = \"d{i}\"\ndo = \"io\"\noutstanding = {}\naccess = {{ size = \"8 KiB\", read = \"67 %\", random = \"100 %\" }}\n",
            1 + 3 * i
        )
    };
    let run = "[run]\nfor = \"500 ms\"\nwarmup = \"0 s\"\n";
    let simulate = |text: &str| super::simulate(text, &[]);
    let both = simulate(&format!("{}{}{run}", side(0), side(1)));
    for i in 0..2 {
        let alone = simulate(&format!("{}{run}", side(i)));
        let name = format!("f{i}");
        let (a, b) = (crate::common::simulated(&alone, &name), crate::common::simulated(&both, &name));
        assert_eq!((a.operations, a.latency.mean, a.max), (b.operations, b.latency.mean, b.max));
        assert!(a.operations > 30);
    }
}
