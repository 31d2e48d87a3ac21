use super::*;
use crate::import::Volume;
use crate::import::iometer::{Assignment, Manager, Place};

/// Managers by the numbers of targets of their workers.
fn setup(managers: &[&[usize]], test: TestSetup) -> Setup {
    let target =
        |n: usize| Target { name: format!("t{n}"), kind: WorkerKind::Disk, manager: None, place: Place::default() };
    let worker = |(i, n): (usize, &usize)| Worker {
        name: format!("W{}", i + 1),
        outstanding: 3,
        specs: Some(vec![("Default".into(), Place::default())]),
        targets: (0..*n).map(target).collect(),
        ..Worker::default()
    };
    let manager = |(i, workers): (usize, &&[usize])| Manager {
        id: i as u32 + 1,
        name: format!("M{}", i + 1),
        workers: workers.iter().enumerate().map(worker).collect(),
        ..Manager::default()
    };
    Setup { test: Some(test), managers: managers.iter().enumerate().map(manager).collect(), ..Setup::default() }
}

fn cycling(test_type: TestType) -> TestSetup {
    TestSetup { test_type, run_time: [0, 0, 5], ..TestSetup::default() }
}

/// Steps as `targets of M1's workers | of M2's` with the outstanding I/Os of the first.
fn shown(setup: &Setup) -> Vec<String> {
    let steps = steps(setup).unwrap_or_else(|d| panic!("{d:?}"));
    let step = |s: &Step| {
        let of = |m: usize, workers: usize| {
            let n = |w| s.loads.iter().find(|l| (l.manager, l.worker) == (m, w)).map_or(0, |l| l.targets);
            (0..workers).map(|w| n(w).to_string()).collect::<Vec<_>>().join(" ")
        };
        let managers: Vec<String> = setup.managers.iter().enumerate().map(|(m, x)| of(m, x.workers.len())).collect();
        format!("{} x{}: {}", managers.join(" | "), s.loads[0].outstanding, s.label)
    };
    steps.iter().map(step).collect()
}

/// M1 has workers of 3 and 1 targets, M2 one of 2.
const UNEVEN: &[&[usize]] = &[&[3, 1], &[2]];

#[test]
fn normal_runs_everything_once() {
    assert_eq!(shown(&setup(UNEVEN, cycling(TestType::Normal))), ["3 1 | 2 x3: "]);
}

#[test]
fn targets_grow_for_all_workers_up_to_what_each_has() {
    let test = cycling(TestType::Targets);
    assert_eq!(
        shown(&setup(UNEVEN, test.clone())),
        ["1 1 | 1 x3: 1 target", "2 1 | 2 x3: 2 targets", "3 1 | 2 x3: 3 targets"]
    );
    // 1, 2, 4, 8: the last is cut to the 7 that there are.
    let doubled = TestSetup { targets: Cycling { start: 1, step: 2, exponential: true }, ..test.clone() };
    assert_eq!(
        shown(&setup(&[&[7]], doubled)),
        ["1 x3: 1 target", "2 x3: 2 targets", "4 x3: 4 targets", "7 x3: 7 targets"]
    );
    let linear = TestSetup { targets: Cycling { start: 2, step: 3, exponential: false }, ..test };
    assert_eq!(shown(&setup(&[&[5]], linear)), ["2 x3: 2 targets", "5 x3: 5 targets"]);
}

#[test]
fn workers_grow_for_all_managers_each_with_all_its_targets() {
    let test = cycling(TestType::Workers);
    assert_eq!(shown(&setup(UNEVEN, test.clone())), ["3 0 | 2 x3: 1 worker", "3 1 | 2 x3: 2 workers"]);
    let powers = TestSetup { workers: Cycling { start: 1, step: 3, exponential: true }, ..test };
    assert_eq!(
        shown(&setup(&[&[1, 1, 1, 1]], powers)),
        ["1 0 0 0 x3: 1 worker", "1 1 1 0 x3: 3 workers", "1 1 1 1 x3: 4 workers"]
    );
}

#[test]
fn targets_fill_one_worker_after_the_other_in_all_managers() {
    assert_eq!(
        shown(&setup(UNEVEN, cycling(TestType::TargetsParallel))),
        [
            "1 0 | 1 x3: 1 target of each manager",
            "2 0 | 2 x3: 2 targets of each manager",
            "3 0 | 2 x3: 3 targets of each manager",
            "3 1 | 2 x3: 4 targets of each manager"
        ]
    );
    // As many as maxTargets x maxWorkers where all have the same.
    assert_eq!(shown(&setup(&[&[2, 2, 2], &[2, 2, 2]], cycling(TestType::TargetsParallel))).len(), 6);
}

#[test]
fn targets_fill_one_manager_after_the_other() {
    assert_eq!(
        shown(&setup(UNEVEN, cycling(TestType::TargetsSerial))),
        [
            "1 0 | 0 x3: 1 target of all",
            "2 0 | 0 x3: 2 targets of all",
            "3 0 | 0 x3: 3 targets of all",
            "3 1 | 0 x3: 4 targets of all",
            "3 1 | 1 x3: 5 targets of all",
            "3 1 | 2 x3: 6 targets of all"
        ]
    );
    assert_eq!(shown(&setup(&[&[2, 2, 2], &[2, 2, 2]], cycling(TestType::TargetsSerial))).len(), 2 * 3 * 2);
}

#[test]
fn workers_and_targets_grow_targets_first() {
    assert_eq!(
        shown(&setup(UNEVEN, cycling(TestType::WorkersAndTargets))),
        [
            "1 0 | 1 x3: 1 worker, 1 target",
            "2 0 | 2 x3: 1 worker, 2 targets",
            "3 0 | 2 x3: 1 worker, 3 targets",
            "1 1 | 1 x3: 2 workers, 1 target",
            "2 1 | 2 x3: 2 workers, 2 targets",
            "3 1 | 2 x3: 2 workers, 3 targets"
        ]
    );
}

#[test]
fn outstanding_ios_grow_up_to_their_end() {
    let test = TestSetup { queue_end: 9, ..cycling(TestType::Queue) };
    assert_eq!(
        shown(&setup(&[&[2]], test.clone())),
        ["2 x1: 1 outstanding", "2 x2: 2 outstanding", "2 x4: 4 outstanding", "2 x8: 8 outstanding"]
    );
    let linear = TestSetup { queue: Cycling { start: 2, step: 3, exponential: false }, ..test };
    assert_eq!(shown(&setup(&[&[2]], linear)), ["2 x2: 2 outstanding", "2 x5: 5 outstanding", "2 x8: 8 outstanding"]);
}

#[test]
fn outstanding_ios_grow_before_targets() {
    let test = TestSetup { queue_end: 2, ..cycling(TestType::QueueAndTargets) };
    assert_eq!(
        shown(&setup(&[&[2], &[1]], test)),
        [
            "1 | 1 x1: 1 outstanding, 1 target",
            "1 | 1 x2: 2 outstanding, 1 target",
            "2 | 1 x1: 1 outstanding, 2 targets",
            "2 | 1 x2: 2 outstanding, 2 targets"
        ]
    );
}

#[test]
fn specifications_run_one_after_the_other_and_short_lists_idle() {
    let mut s = setup(&[&[1, 1]], TestSetup { queue_end: 2, ..cycling(TestType::Queue) });
    let spec = |name: &str| Spec { name: name.into(), ..Spec::builtin() };
    s.specs = vec![spec("a"), spec("b"), spec("c")];
    s.specs[2].assignment = Assignment::Disk;
    let names = |list: &[&str]| Some(list.iter().map(|n| ((*n).to_owned(), Place::default())).collect());
    s.managers[0].workers[0].specs = names(&["a", "Idle", "Idle", "b"]);
    s.managers[0].workers[1].specs = names(&["b", "a"]);
    let found: Vec<(usize, usize)> = steps(&s).unwrap_or_default().iter().map(|s| (s.spec, s.loads.len())).collect();
    // Nobody runs a third.
    assert_eq!(found, [(0, 2), (0, 2), (1, 1), (1, 1), (3, 1), (3, 1)]);
    // A worker that the file says nothing of gets what new ones get.
    s.managers[0].workers[1].specs = None;
    let builtin = Spec::builtin();
    assert_eq!(spec_of(&s, &s.managers[0].workers[1], 0, &builtin).map(|s| s.name.as_str()), Some("c"));
    assert!(spec_of(&s, &s.managers[0].workers[1], 1, &builtin).is_none());
}

#[test]
fn a_cycle_ends() {
    let wrong = |test: TestSetup| steps(&setup(&[&[1]], test)).expect_err("too many").message;
    let queue = |start, step, end| TestSetup {
        queue: Cycling { start, step, exponential: false },
        queue_end: end,
        ..cycling(TestType::Queue)
    };
    assert!(wrong(queue(1, 1, 1_000_000_000)).contains("goes up to 1000000000"));
    assert!(wrong(queue(1, 1, 60_000)).contains("more than 10000 tests"));
    assert!(wrong(queue(1, 0, 60)).contains("starts at 1 with step 0"));
    assert!(wrong(queue(9, 1, 8)).contains("ends at 8, before it starts at 9"));
    assert_eq!(steps(&setup(&[&[1]], queue(1, 6, 60_000))).map(|s| s.len()), Ok(10_000));
    let many: Vec<usize> = vec![1; 128];
    let workers = TestSetup {
        queue_end: 60_000,
        queue: Cycling { start: 1, step: 10, exponential: false },
        ..cycling(TestType::Queue)
    };
    assert!(steps(&setup(&[&many], workers)).is_err());
    // Unused numbers do not matter.
    assert!(steps(&setup(&[&[1]], TestSetup { test_type: TestType::Normal, ..queue(0, 0, 0) })).is_ok());
}

fn machine(hosts: &[(&str, &[&str])]) -> Machine {
    let volume = |n: &&str| Volume { name: (*n).to_owned(), capacity: Bytes(1 << 30), nvme: false, trims: false };
    let host = |(name, volumes): &(&str, &[&str])| Host {
        name: (*name).to_owned(),
        volumes: volumes.iter().map(volume).collect(),
    };
    Machine { hosts: hosts.iter().map(host).collect(), stations: Vec::new() }
}

fn laid_out(setup: &Setup, machine: &Machine, map: &[(&str, &str)]) -> (Option<Vec<IometerTest>>, String) {
    let map: Vec<(String, String)> = map.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let mut diagnostics = Diagnostics::default();
    let found = tests(&mut diagnostics, setup, machine, &map);
    assert_eq!(found.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (found, diagnostics.to_string())
}

#[test]
fn a_test_is_a_scenario() {
    let mut s = setup(&[&[1], &[2]], TestSetup { ramp_up: 2, ..cycling(TestType::Normal) });
    let w = &mut s.managers[0].workers[0];
    (w.maximum_size, w.starting_sector, w.name) = (2048, 8, "odd\n[x] \"name\"".into());
    s.specs.push(Spec {
        name: "two lines".into(),
        lines: vec![
            Line {
                share: 2_500,
                delay: Time::from_fs(2_000_000_000_000),
                burst: 4,
                reply: Bytes(512),
                ..Spec::builtin().lines[0].clone()
            },
            Line { share: 7_500, align: Bytes(0), ..Spec::builtin().lines[0].clone() },
        ],
        ..Spec::builtin()
    });
    s.managers[1].workers[0].specs = Some(vec![("two lines".into(), Place::default())]);
    let (found, said) = laid_out(&s, &machine(&[("m2", &["d.0", "d.1"]), ("h", &["e"])]), &[]);
    let found = found.expect(&said);
    assert_eq!(found[0].test.title, "Default + two lines");
    assert_eq!(
        found[0].test.text,
        "# M1, odd [x] \"name\": Default\n[flows.m1-w1]\nfrom = \"h\"\nto = \"e\"\ndo = \"io\"\n\
         access = { size = \"2 KiB\", share = \"100 %\", read = \"67 %\", random = \"100 %\", align = \"2 KiB\" }\n\
         outstanding = 3\nworkers = 1\nfile = \"1 MiB\"\nstart = \"4 KiB\"\n\n\
         # M2, W1: two lines\n[flows.m2-w1]\nfrom = \"m2\"\nto = [\"d.0\", \"d.1\"]\ndo = \"io\"\naccess = [\n    \
         { size = \"2 KiB\", share = \"25 %\", read = \"67 %\", random = \"100 %\", delay = \"2 ms\", burst = 4, \
             align = \"2 KiB\", reply = \"512 B\" },\n    \
         { size = \"2 KiB\", share = \"75 %\", read = \"67 %\", random = \"100 %\" },\n]\noutstanding = 3\nworkers = \
         1\n\n\
         [run]\nuntil = \"±1 %\"\nmax_time = \"5 s\"\nwarmup = \"2 s\"\n"
    );
}

#[test]
fn names_come_before_order_and_the_map_before_both() {
    let s = setup(&[&[3]], cycling(TestType::Normal));
    let m = machine(&[("h", &["a", "t0", "b"]), ("g", &["c", "d", "e"])]);
    let volumes = |map: &[(&str, &str)]| {
        let (found, said) = laid_out(&s, &m, map);
        found.map(|f| f[0].workers[0].volumes.join(" ")).ok_or(said)
    };
    assert_eq!(volumes(&[]), Ok("t0 a b".into()));
    assert_eq!(volumes(&[("t2", "a")]), Ok("t0 b a".into()));
    assert_eq!(volumes(&[("t1", "t0")]), Ok("t0 t0 a".into()));
    assert_eq!(volumes(&[("M1", "g")]), Ok("c d e".into()));
    let said = volumes(&[("t9", "a")]).expect_err("wrong");
    assert!(said.contains("no target or manager t9") && said.contains("t0, t1, t2, M1"), "{said}");
    let said = volumes(&[("t1", "aa")]).expect_err("wrong");
    assert!(said.contains("no volume or host aa") && said.contains("did you mean a?"), "{said}");
    let said = volumes(&[("t1", "c")]).expect_err("wrong");
    assert!(said.contains("host h has no volume c"), "{said}");
    assert!(same("8: \"Pliant LS300S P10\"", "pliant ls300s p10") && !same("8: \"Pliant\"", "8"));
    // Too few.
    let (_, said) = laid_out(&s, &machine(&[("h", &["a", "b"])]), &[]);
    assert!(said.contains("no volume is left for target t2") && said.contains("host h has: a, b"), "{said}");
    let two = setup(&[&[1], &[0, 1]], cycling(TestType::Normal));
    let (_, said) = laid_out(&two, &machine(&[("h", &["a"])]), &[]);
    assert!(said.contains("no host is left for manager M2") && said.contains("--map \"M2\"=HOST"), "{said}");
    assert!(laid_out(&two, &machine(&[("h", &["a"])]), &[("M2", "h")]).0.is_some());
    // A manager that does nothing needs none.
    assert!(laid_out(&setup(&[&[1], &[0]], cycling(TestType::Normal)), &machine(&[("h", &["a"])]), &[]).0.is_some());
    let (_, said) = laid_out(&setup(&[&[0]], cycling(TestType::Normal)), &m, &[]);
    assert!(said.contains("no worker has anything to do"), "{said}");
    assert!(laid_out(&Setup::default(), &m, &[]).1.contains("the set-up has no managers"));
}

#[test]
fn endless_and_very_long_tests_are_said() {
    let run_time = |t| TestSetup { run_time: t, ..cycling(TestType::Normal) };
    let m = machine(&[("h", &["a"])]);
    let (found, said) = laid_out(&setup(&[&[1]], run_time([0, 0, 0])), &m, &[]);
    assert!(said.contains("until somebody stops them"), "{said}");
    assert!(found.expect("a test")[0].test.text.ends_with("[run]\nuntil = \"±1 %\"\n"));
    let (found, said) = laid_out(&setup(&[&[1]], run_time([0, 1988, 0])), &m, &[]);
    assert!(said.contains("tests of 119280 s"), "{said}");
    assert!(found.expect("a test")[0].test.text.contains("max_time = \"18000 s\""));
}

#[test]
fn network_workers_become_transactions() {
    let mut s = setup(&[&[1], &[1]], cycling(TestType::Normal));
    let network = |s: &mut Setup, m: usize, other: (u32, &str)| {
        let w = &mut s.managers[m].workers[0];
        (w.kind, w.transactions_per_connection) = (WorkerKind::Tcp, Some(5));
        w.targets[0].kind = WorkerKind::Tcp;
        w.targets[0].manager = Some((other.0, other.1.to_owned()));
    };
    network(&mut s, 0, (2, "M2"));
    let mut m = machine(&[("h", &["a"])]);
    m.stations = vec!["x".into(), "m1".into()];
    let (found, said) = laid_out(&s, &m, &[]);
    let test = &found.expect(&said)[0];
    assert_eq!(
        test.test.text,
        "# M1, W1: Default\n[flows.m1-w1]\nfrom = \"m1\"\nto = \"x\"\ndo = \"transact\"\n\
         access = { size = \"2 KiB\", share = \"100 %\", read = \"67 %\", random = \"100 %\", align = \"2 KiB\" }\n\
         connections = 5\nworkers = 1\n\n# M2, W1: Default\n[flows.m2-w1]\nfrom = \"h\"\nto = \"a\"\ndo = \"io\"\n\
         access = { size = \"2 KiB\", share = \"100 %\", read = \"67 %\", random = \"100 %\", align = \"2 KiB\" }\n\
         outstanding = 3\nworkers = 1\n\n[run]\nuntil = \"±1 %\"\nmax_time = \"5 s\"\n"
    );
    assert_eq!((test.workers[0].load.outstanding, test.workers[0].volumes.as_slice()), (1, &["x".to_owned()][..]));
    let said = |s: &Setup, m: &Machine, map: &[(&str, &str)]| laid_out(s, m, map).1;
    let one = Machine { stations: vec!["m1".into()], ..m.clone() };
    assert!(said(&s, &one, &[]).contains("no station is left for manager M2"), "{}", said(&s, &one, &[]));
    assert!(said(&s, &one, &[("M2", "m1")]).contains("on the machine of its own manager"));
    let mut loop_back = s.clone();
    network(&mut loop_back, 0, (1, "M1"));
    assert!(said(&loop_back, &m, &[]).contains("on the machine of its own manager"));
    let mut nowhere = s.clone();
    nowhere.managers[0].workers[0].targets[0].manager = None;
    assert!(said(&nowhere, &m, &[]).contains("on no manager of the set-up"));
    let mut vi = s.clone();
    vi.managers[0].workers[0].kind = WorkerKind::Vi;
    assert!(said(&vi, &m, &[]).contains("NETWORK,VI"));
}
