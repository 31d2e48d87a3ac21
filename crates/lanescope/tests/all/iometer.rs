//! Real set-ups and results of Iometer. They lie in the shared folder; where it is not there, their tests are skipped
//! and say so.

use crate::common::shared;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::iometer::{Setup, icf};

fn text(name: &str) -> Option<String> {
    shared(&format!("iometer/{name}")).map(|path| std::fs::read_to_string(path).expect("a text"))
}

fn read(text: &str, tolerant: bool) -> (Option<Setup>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("a.icf", text);
    let setup = icf::read(&mut diagnostics, source, tolerant);
    assert_eq!(setup.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (setup, diagnostics)
}

#[test]
fn all_set_ups_are_read_and_written() {
    let Some(folder) = shared("iometer") else { return };
    let mut faulty = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "icf") {
            continue;
        }
        seen += 1;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let original = std::fs::read_to_string(&path).expect("a text");
        let (strict, _) = read(&original, false);
        let (setup, said) = read(&original, true);
        let setup = setup.unwrap_or_else(|| panic!("{name}: {said}"));
        println!("{name}: {} {said}", if strict.is_some() { "strict" } else { "tolerant" });
        if strict.is_none() {
            faulty.push(name.clone());
        }
        let written = icf::write(&setup);
        let (again, said) = read(&written, false);
        assert_eq!(icf::write(&again.unwrap_or_else(|| panic!("{name}: {said}"))), written);
        // What Iometer 1.1.0 itself wrote comes out byte by byte.
        if name.starts_with("nvme") || name.starts_with("eilerjc-smoke") {
            assert_eq!(written, original, "{name}");
        }
    }
    assert_eq!(seen, 14);
    // A key of before 1999 in a file of 1.1.0.
    assert_eq!(faulty, ["eilerjc-ancient_default_workers.icf"]);
}

#[test]
fn a_set_up_that_is_cut_anywhere_is_no_set_up() {
    let Some(text) = text("eilerjc-two_managers_run.icf") else { return };
    for end in (0..text.len()).filter(|&e| text.is_char_boundary(e)) {
        let (setup, said) = read(&text[..end], false);
        let complete = text[..end].trim_end() == text.trim_end();
        assert_eq!(setup.is_some(), complete, "cut at {end}: {said}");
        let _ = read(&text[..end], true);
    }
}

/// Bytes without sense, but with the characters that lines and keys are made of.
fn noise(bytes: usize) -> String {
    let words = [
        "'",
        "\n",
        "Version 1.1.0\n",
        "'Target\n\t",
        "Access",
        ",",
        "DISK",
        "7",
        " ",
        "'Worker\n",
        "ß",
        "'END manager list\n",
        "'MANAGER LIST",
    ];
    let (mut state, mut out) = (1u64, String::with_capacity(bytes + 32));
    while out.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.push_str(words[(state >> 33) as usize % words.len()]);
    }
    out
}

#[test]
fn noise_is_refused_at_once() {
    let text = noise(4 << 20);
    let begin = std::time::Instant::now();
    for text in [
        text.as_str(),
        &text.replace('\n', " "),
        &text.replace('\'', ""),
        &"\n".repeat(4 << 20),
        &"'\n".repeat(2 << 20),
    ] {
        let (setup, said) = read(text, false);
        assert!(setup.is_none() && said.count() <= 40, "{said}");
        let _ = read(text, true);
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn real_results_come_out_as_they_were() {
    use lanescope::import::iometer::csv::{self, Column, Form, RowKind};
    let Some(text) = text("pliant-ls300s-qd-sweep-results.csv") else { return };
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("a.csv", text.as_str());
    let results = csv::read(&mut diagnostics, source).unwrap_or_else(|| panic!("{diagnostics}"));
    assert!(csv::write(&results, Form::Columns56) == text, "the file is not what was read");
    let [block] = results.blocks.as_slice() else { panic!("{} runs", results.blocks.len()) };
    assert_eq!((block.test_type, block.version.as_str(), block.tests.len()), (6, "2008.06.18", 64));
    assert_eq!(block.tests.iter().filter(|t| !t.specs.is_empty()).count(), 8);
    for test in &block.tests {
        let row = test.rows.iter().find(|r| r.kind == RowKind::Manager).expect("a manager");
        let get = |c| row.get(c).expect("a value");
        // Little's law, and the rules by which columns follow from others.
        let little = get(Column::Iops) * get(Column::Average) / 1e3 / get(Column::QueueDepth);
        assert!((0.9966..1.0001).contains(&little), "{little}");
        let ticks = get(Column::RawRunTime) / get(Column::ProcessorSpeed);
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{a}, not {b}");
        near((get(Column::Reads) + get(Column::Writes)) / ticks, get(Column::Iops));
        near((get(Column::BytesRead) + get(Column::BytesWritten)) / ticks / 1048576.0, get(Column::MibPerSecond));
        near(get(Column::Iops) / get(Column::Cpu), get(Column::Effectiveness));
        let raw = get(Column::RawRead) + get(Column::RawWrite);
        near(
            raw / get(Column::ProcessorSpeed) / (get(Column::Reads) + get(Column::Writes)) * 1e3,
            get(Column::Average),
        );
        let processors = test.rows.iter().filter(|r| r.kind == RowKind::Processor).filter_map(|r| r.get(Column::Cpu));
        near(processors.sum::<f64>() / 8.0, get(Column::Cpu));
    }
}

/// The old set-ups say what the new ones say.
#[test]
fn old_forms_mean_the_same() {
    let Some(old) = text("eilerjc-oldformat_specs.icf") else { return };
    let (setup, said) = read(&old, false);
    let setup = setup.unwrap_or_else(|| panic!("{said}"));
    // Without a name: the one that workers call so.
    let spec = &setup.specs[0];
    assert_eq!((spec.name.as_str(), spec.lines[0].size.0, spec.lines[0].read), ("2 KiB random 67% reads", 2048, 6_700));
    let rich = text("eilerjc-worker_rich.icf").unwrap_or_default();
    let (setup, said) = read(&rich, false);
    let setup = setup.unwrap_or_else(|| panic!("{said}"));
    let w = &setup.managers[0].workers[0];
    assert_eq!((w.outstanding, w.transactions_per_connection, w.fixed_seed), (8, Some(5), Some(12345)));
    assert_eq!((w.maximum_size, w.starting_sector, w.data_pattern), (1024, 64, 1));
}

use crate::common;

/// A host with three targets.
const MACHINE: &str = r#"
    [parts.host]
    is = "root-complex"
    [parts.hba]
    is = "host-adapter"
    [parts.ssd]
    is = "ram-disk"
    count = 3
    capacity = "1 GiB"
    [links.slot]
    between = ["host", "hba"]
    pcie = "gen3 x8"
    [links.fc]
    between = ["hba", "ssd.*"]
    fc = "8GFC"
"#;

/// Two workers, of two targets and of one, cycled: what comes out of the simulator adds up in Iometer's rows, and is
/// read again.
#[test]
fn simulated_results_add_up_and_are_read_again() {
    use lanescope::estimate::estimate;
    use lanescope::import::iometer::csv::{self, Column, Form, RowKind};
    use lanescope::import::iometer::{Cycling, Manager, Target, TestSetup, TestType, Worker, WorkerKind, tests};
    use lanescope::import::{Host, Machine, Volume};
    use lanescope::pens::iometer::{self, Finished};
    use lanescope::units::Bytes;
    let target =
        |n: &&str| Target { name: (*n).into(), kind: WorkerKind::Disk, manager: None, place: Default::default() };
    let worker = |name: &str, targets: &[&str]| Worker {
        name: name.into(),
        specs: Some(vec![("Default".into(), Default::default())]),
        targets: targets.iter().map(target).collect(),
        ..Worker::default()
    };
    let workers = vec![worker("W1", &["ssd.0", "ssd.1"]), worker("W2", &["ssd.2"])];
    let test = TestSetup {
        run_time: [0, 0, 1],
        test_type: TestType::Queue,
        queue: Cycling { start: 1, step: 4, exponential: true },
        queue_end: 4,
        ..TestSetup::default()
    };
    let manager = Manager { id: 1, name: "host".into(), workers, ..Manager::default() };
    let setup = Setup { test: Some(test), managers: vec![manager], ..Setup::default() };
    let volume = |i: usize| Volume { name: format!("ssd.{i}"), capacity: Bytes(1 << 30), nvme: false, trims: false };
    let machine = Machine {
        hosts: vec![Host { name: "host".into(), volumes: (0..3).map(volume).collect() }],
        stations: Vec::new(),
    };
    let mut diagnostics = Diagnostics::default();
    let all = tests(&mut diagnostics, &setup, &machine, &[]).unwrap_or_else(|| panic!("{diagnostics}"));
    let reports: Vec<_> = (all.iter())
        .map(|t| {
            let text = format!("{MACHINE}{}", t.test.text);
            let plan = common::planned(&text, &["run.for=20 ms", "run.warmup=1 ms"]);
            estimate(&plan, &Diagnostics::default()).with(common::simulate_by(&plan, 1, 1 << 20))
        })
        .collect();
    let done = reports.iter().enumerate();
    let finished: Vec<Finished> =
        done.map(|(index, r)| Finished { index, seen: iometer::seen(r), ended: "then".into() }).collect();
    let block = iometer::results(&setup, &all, &finished, Form::Columns80, "now");
    let results = csv::Results { blocks: vec![block] };
    let text = csv::write(&results, Form::Columns80);
    let source = diagnostics.add_source("a.csv", text.as_str());
    let again = csv::read(&mut diagnostics, source).unwrap_or_else(|| panic!("{diagnostics}"));
    assert_eq!(csv::write(&again, Form::Columns80), text);
    for (test, outstanding) in again.blocks[0].tests.iter().zip([1.0, 4.0]) {
        let sum =
            |kind, column| -> f64 { test.rows.iter().filter(|r| r.kind == kind).filter_map(|r| r.get(column)).sum() };
        let all = |column| sum(RowKind::All, column);
        assert_eq!((all(Column::Disks), all(Column::Workers), all(Column::QueueDepth)), (3.0, 2.0, outstanding));
        for column in [Column::Reads, Column::Writes, Column::BytesRead, Column::To200us] {
            for kind in [RowKind::Manager, RowKind::Worker, RowKind::Disk] {
                assert_eq!(sum(kind, column), all(column), "{}", column.name());
            }
        }
        assert!(all(Column::Reads) > 100.0 && all(Column::Writes) > 50.0);
        let bins: f64 = Column::bins().iter().map(|c| all(*c)).sum();
        assert_eq!(bins, all(Column::Reads) + all(Column::Writes));
        assert!((all(Column::MbPerSecond) / all(Column::MibPerSecond) - 1.048576).abs() < 1e-6);
        // Processors: the mean of the two workers.
        assert!((sum(RowKind::Processor, Column::Cpu) / 2.0 - all(Column::Cpu)).abs() < 1e-5);
        // Little's law holds where processors are not what is waited for: two of them, some 15 us an I/O.
        let little = all(Column::Iops) * all(Column::Average) / 1e3 / (3.0 * outstanding);
        assert!(all(Column::Cpu) < 70.0 || outstanding > 1.0);
        assert!(little < 1.01 && (outstanding > 1.0 || little > 0.85), "{little}");
    }
}
