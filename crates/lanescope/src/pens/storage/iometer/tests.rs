use super::*;
use crate::import::Test;
use crate::import::iometer::cycle::Load;
use crate::import::iometer::{Manager, Target};

/// Two managers: one with two workers of one and two targets, one with a worker of one.
fn example() -> (Setup, IometerTest, IoSeen) {
    let target =
        |name: &str| Target { name: name.into(), kind: WorkerKind::Disk, manager: None, place: Default::default() };
    let worker = |name: &str, targets: &[&str]| Worker {
        name: name.into(),
        outstanding: 4,
        specs: Some(vec![("Default".into(), Default::default())]),
        targets: targets.iter().map(|t| target(t)).collect(),
        ..Worker::default()
    };
    let manager = |name: &str, workers| Manager { name: name.into(), workers, ..Manager::default() };
    let setup = Setup {
        managers: vec![
            manager("A", vec![worker("W1", &["x, y"]), worker("W2", &["x, y", "z"])]),
            manager("B", vec![worker("W1", &["x, y"])]),
        ],
        ..Setup::default()
    };
    let active = |manager, worker, volumes: &[&str]| Active {
        load: Load { manager, worker, targets: volumes.len(), outstanding: 4 },
        flow: format!("m{}-w{}", manager + 1, worker + 1),
        spec: "Default".into(),
        volumes: volumes.iter().map(|v| (*v).to_owned()).collect(),
    };
    let workers = vec![active(0, 0, &["d.0"]), active(0, 1, &["d.0", "d.1"]), active(1, 0, &["e"])];
    let test = IometerTest { test: Test { title: "t".into(), text: String::new() }, spec: 0, workers };
    let times = |count, mean: f64, max| Times { count, sum: mean * count as f64, squares: 0.0, min: 0.0, max };
    let counts = |flow: &str, worker, target: &str, reads: u64, writes: u64| {
        let side = |n: u64, mean, max| IoSide { bytes: n * 1_000_000, times: times(n, mean, max), ..IoSide::default() };
        let mut bins = [0; 21];
        bins[4] = reads + writes;
        IoCounts {
            flow: flow.into(),
            worker,
            target: target.into(),
            reads: side(reads, 1e-3, 2e-3),
            writes: side(writes, 3e-3, 4e-3),
            trims: IoSide::default(),
            transactions: times(reads + writes, 2e-3, 4e-3),
            connections: Times::default(),
            bins,
            moved: (reads + writes) * 1_000_000,
        }
    };
    let seen = IoSeen {
        time: 2.0,
        counts: vec![
            counts("m1-w1", 0, "d.0", 100, 0),
            counts("m1-w2.0", 1, "d.0", 0, 300),
            counts("m1-w2.1", 1, "d.1", 100, 100),
            counts("m2-w1", 2, "e", 400, 0),
        ],
        busy: vec![0.2, 0.6, 1.0],
    };
    (setup, test, seen)
}

#[test]
fn statistics_of_everyone_worked_out_by_hand() {
    let (_, test, seen) = example();
    let counted = Counted::new(&test, &[&seen]);
    let all = counted.sums(Who::All);
    let is = |sums: &Sums, s: Statistic, expected: f64| {
        let value = sums.statistic(s).unwrap_or(f64::NAN);
        assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{}: {value}, not {expected}", s.name());
    };
    // 600 reads and 400 writes of 1 MB in 2 s.
    is(&all, Statistic::Iops, 500.0);
    is(&all, Statistic::ReadIops, 300.0);
    is(&all, Statistic::WriteMbpsDecimal, 200.0);
    is(&all, Statistic::MbpsBinary, 500.0 / 1.048576);
    is(&all, Statistic::Average, (600.0 * 1.0 + 400.0 * 3.0) / 1000.0);
    is(&all, Statistic::Maximum, 4.0);
    is(&all, Statistic::MaximumRead, 2.0);
    is(&all, Statistic::Transactions, 500.0);
    is(&all, Statistic::AverageConnection, 0.0);
    // Processors work 10, 30 and 50 % of the time; managers 20 and 50 %.
    is(&all, Statistic::Cpu, 35.0);
    is(&all, Statistic::Effectiveness, 500.0 / 35.0);
    let manager = counted.sums(Who::Manager(0));
    is(&manager, Statistic::Cpu, 20.0);
    is(&manager, Statistic::Iops, 300.0);
    let worker = counted.sums(Who::Worker(0, 1));
    is(&worker, Statistic::Iops, 250.0);
    is(&worker, Statistic::Cpu, 30.0);
    let none: Vec<&str> = Statistic::ALL.iter().filter(|s| all.statistic(**s).is_none()).map(|s| s.name()).collect();
    assert_eq!(
        none,
        [
            "% User Time",
            "% Privileged Time",
            "% DPC Time",
            "% Interrupt Time",
            "Interrupts per Second",
            "Network Packets per Second",
            "Packet Errors",
            "TCP Segments Retrans. per Sec."
        ]
    );
    // A run that has not begun to count.
    let empty = IoSeen::default();
    let nothing = Counted::new(&test, &[&empty]);
    assert!(Statistic::ALL.iter().filter_map(|s| nothing.sums(Who::All).statistic(*s)).all(|v| v == 0.0));
}

#[test]
fn rows_are_those_of_iometer() {
    let (mut setup, test, seen) = example();
    let finished = |seen| [Finished { index: 0, seen, ended: "then".into() }];
    let block = results(&setup, std::slice::from_ref(&test), &finished(vec![&seen]), Form::Columns80, "now");
    let rows = &block.tests[0].rows;
    let kinds: Vec<String> = rows.iter().map(|r| format!("{} {}", r.kind.token(), r.name)).collect();
    assert_eq!(
        kinds,
        [
            "ALL All",
            "MANAGER A",
            "PROCESSOR CPU 0",
            "PROCESSOR CPU 1",
            "WORKER W1",
            "DISK x, y",
            "WORKER W2",
            "DISK x, y",
            "DISK z",
            "MANAGER B",
            "PROCESSOR CPU 0",
            "WORKER W1",
            "DISK x, y"
        ]
    );
    let get = |row: usize, c| rows[row].get(c);
    assert_eq!(
        [Column::Managers, Column::Workers, Column::Disks, Column::QueueDepth].map(|c| get(0, c)),
        [Some(2.0), Some(3.0), Some(4.0), Some(4.0)]
    );
    // Raw times, in ticks, but not of all managers; processors in their rows.
    assert_eq!(
        (get(0, Column::RawRead), get(1, Column::RawRead), get(1, Column::RawRunTime)),
        (None, Some(2e8), Some(2e9))
    );
    assert_eq!(
        (get(3, Column::Cpu), get(3, Column::Iops), get(3, Column::ProcessorSpeed)),
        (Some(30.0), None, Some(1e9))
    );
    assert_eq!((get(4, Column::Cpu), get(4, Column::Effectiveness), get(4, Column::Errors)), (None, None, Some(0.0)));
    assert_eq!(
        (get(7, Column::Writes), get(8, Column::Writes), get(8, Column::To1ms)),
        (Some(300.0), Some(100.0), Some(200.0))
    );
    assert_eq!((get(0, Column::CpuDpc), get(0, Column::TransactionsPerConnection)), (None, Some(-1.0)));
    assert_eq!(block.tests[0].specs.len(), 1);
    // What is asked for less, is written less.
    for (record, expected) in [(Record::NoTargets, 9), (Record::NoWorkers, 6), (Record::NoManagers, 1)] {
        setup.test = Some(TestSetup { record, ..TestSetup::default() });
        let block = results(&setup, std::slice::from_ref(&test), &finished(vec![&seen]), Form::Columns80, "now");
        assert_eq!(block.tests[0].rows.len(), expected);
    }
    setup.test = Some(TestSetup { record: Record::None, ..TestSetup::default() });
    assert!(
        results(&setup, std::slice::from_ref(&test), &finished(vec![&seen]), Form::Columns80, "now").tests.is_empty()
    );
}

#[test]
fn charts_find_whom_they_are_bound_to() {
    let (mut setup, ..) = example();
    let chart = |m: Option<(u32, &str)>, w: Option<(u32, &str)>| Chart {
        statistic: None,
        manager: m.map(|(id, name)| (id, name.to_owned())),
        worker: w.map(|(id, name)| (id, name.to_owned())),
    };
    assert_eq!(Who::of(&setup, &chart(None, None)), Who::All);
    assert_eq!(Who::of(&setup, &chart(Some((1, "B")), None)), Who::Manager(1));
    assert_eq!(Who::of(&setup, &chart(Some((1, "A")), Some((2, "W2")))), Who::Worker(0, 1));
    assert_eq!(Who::of(&setup, &chart(Some((1, "C")), Some((2, "W2")))), Who::All);
    setup.managers.truncate(1);
    assert_eq!(Who::of(&setup, &chart(Some((1, "C")), Some((2, "W9")))), Who::Manager(0));
}

#[test]
fn percentiles_are_edges_of_bins() {
    let a = Latencies(vec![(1_000_000, 90), (2_000_000, 9)]);
    let b = Latencies(vec![(2_000_000, 0), (9_000_000, 1)]);
    let spread = Spread::of([&a, &b].into_iter());
    assert_eq!((spread.count, spread.histogram.len()), (100, 3));
    assert_eq!(spread.percentiles, [1.0, 1.0, 2.0, 2.0, 9.0, 9.0]);
    assert!(Spread::of([].into_iter()).percentiles.is_empty());
}

#[test]
fn what_was_under_way_takes_its_share_of_the_time() {
    let (_, test, mut seen) = example();
    let before = Counted::new(&test, &[&seen]).sums(Who::Worker(1, 0));
    assert_eq!((before.time, before.statistic(Statistic::Iops)), (2.0, Some(200.0)));
    // A hundred more moved in the time, but began before or have not ended: 400 of 500 took 4/5 of it.
    seen.counts[3].moved += 100_000_000;
    let after = Counted::new(&test, &[&seen]).sums(Who::Worker(1, 0));
    assert_eq!((after.time, after.statistic(Statistic::Iops)), (1.6, Some(250.0)));
    assert_eq!(after.statistic(Statistic::Cpu), before.statistic(Statistic::Cpu));
}
