use super::*;
use crate::diagnostic::Diagnostics;
use crate::import::iometer::{Spawn, Statistic, TestType, WorkerKind};

fn with(text: &str, tolerant: bool) -> (Option<Setup>, String) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("a.icf", text);
    let setup = read(&mut diagnostics, source, tolerant);
    assert_eq!(setup.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (setup, diagnostics.to_string())
}

/// What only a tolerant reader takes; its warnings.
#[track_caller]
fn warned(text: &str, words: &str) -> Setup {
    let (setup, said) = with(text, false);
    assert!(setup.is_none() && said.contains(words) && said.contains("error"), "{said}");
    let (setup, said) = with(text, true);
    assert!(said.contains(words) && said.contains("warning"), "{said}");
    setup.unwrap_or_else(|| panic!("{said}"))
}

const SPECS: &str = "'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n\tMine,DISK\n\
    'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,60,100,0,0,1,0,0\n\t512,40,0,100,3,8,512,64\n'END \
    access specifications\n";

fn whole(body: &str) -> String {
    format!("Version 1.1.0 \n{body}Version 1.1.0 \n")
}

#[test]
fn fields_stand_where_they_should() {
    let (setup, said) = with(&whole(SPECS), false);
    let setup = setup.expect(&said);
    let [a, b] = setup.specs[0].lines.as_slice() else { panic!("{setup:?}") };
    assert_eq!((a.size.0, a.share, a.read, a.random, a.burst), (4096, 6000, 10_000, 0, 1));
    assert_eq!((b.delay.ns(), b.burst, b.align.0, b.reply.0, b.read), (3e6, 8, 512, 64, 0));
    let text = write(&setup);
    assert_eq!(with(&text, false).0, Some(setup));
    assert!(text.contains("\tMine,DISK\n"), "{text}");
}

#[test]
fn faults_point_to_their_line() {
    let (_, said) = with(&whole(&SPECS.replace("512,40,0,100,3,8,512,64", "512,40,0,101,3,8,512,64")), false);
    assert!(said.contains("a.icf:7:11: error: % random is no such number: 101"), "{said}");
    let (_, said) = with(&whole(&SPECS.replace(",512,64", ",512")), false);
    assert!(said.contains("7 fields, not 8"), "{said}");
    let (_, said) = with(&whole(&SPECS.replace("512,40", "512,41")), false);
    assert!(said.contains("a.icf:4:2: error: the lines of Mine add up to 101 %"), "{said}");
    let (_, said) = with(&whole(&SPECS.replace("'END access", "'End acess")), false);
    assert!(said.contains("did you mean") || said.contains("has no end"), "{said}");
    let (_, said) = with(&whole(&SPECS.replace("Mine,", "Mi,ne,")), false);
    assert!(said.contains("a comma in the name Mi,ne"), "{said}");
    let (_, said) = with(&whole(&SPECS.replace("Mine", &"m".repeat(129))), false);
    assert!(said.contains("more than 128 characters"), "{said}");
    let (_, said) = with(&whole(&SPECS.replace("\t4096", "\t1073741824")), false);
    assert!(said.contains("from 1 to 1073741823"), "{said}");
    let line = "\t4096,1,100,0,0,1,0,0\n";
    let (_, said) = with(&whole(&SPECS.replace("\t4096,60,100,0,0,1,0,0\n", &line.repeat(101))), false);
    assert!(said.contains("more than 100 lines"), "{said}");
}

#[test]
fn what_scripts_write_is_read_with_a_warning() {
    let setup = "'TEST SETUP ====\n'Run Time\n'\thours minutes seconds\n\t0 1 30\n'Default Workers to \
        Spawn\n\t3\n'Target Cycling\n\
        '\tstart step step type\n\t2 3 EXPONENTIAL\n\n'END test setup\n";
    warned(&whole(setup), "is of before 1999");
    warned(&whole(setup), "an empty line");
    let test = warned(&whole(setup), "'Target Cycling is none").test.expect("a section");
    assert_eq!(
        (test.seconds(), test.disk_workers, test.targets.step, test.targets.exponential),
        (90, Spawn::Number(3), 3, true)
    );
    // A key that nobody knows.
    let test = warned(
        &whole("'TEST SETUP\n'Rum Time\n\t0 0 5\n'Test Type\n\tcycle_workers\n'END test setup\n"),
        "did you mean 'Run Time?",
    );
    assert_eq!(test.test.map(|t| (t.test_type, t.run_time)), Some((TestType::Workers, [0; 3])));
    // It was passed over before 1999.
    let old = "Version 1998.10.08\n'TEST SETUP\n'Default Workers to Spawn\n\t2\n'Rum Time\n\t0 0 5\n'END test \
        setup\nVersion 1998.10.08\n";
    let (found, said) = with(old, false);
    assert_eq!(found.and_then(|s| s.test).map(|t| t.disk_workers), Some(Spawn::Number(2)), "{said}");
    assert!(said.contains("warning: TEST SETUP has no 'Rum Time"), "{said}");
    // No version, no end.
    warned(SPECS, "the first line is not a valid version");
    warned(&format!("Version 1.1.0\n{SPECS}"), "ends without its version line");
    warned(&format!("{}x\n", whole(SPECS)), "text after the last line");
    warned(&whole(&SPECS.replace("'END access specifications\n", "")), "ACCESS SPECIFICATIONS has no end");
    warned(&whole(&format!("'Worker\n\tW\n{SPECS}")), "no section begins here");
    assert!(with(&"x".repeat(100_000), true).1.contains("a line of 100000 bytes"));
}

const WORKER: &str = "'MANAGER LIST ===\n'Manager ID, manager name\n\t7,HOST, the first\n'Manager network \
    address\n\n'Worker\n\tW 1\n'Worker type\n\tDISK\n\
    'Default target settings for worker\n'Number of outstanding IOs,test connection rate,transactions per \
    connection,use fixed seed,fixed seed value\n\t8,ENABLED,5,ENABLED,12345\n\
    'Disk maximum size,starting sector,Data pattern\n\t1024,64,1\n'End default target settings for worker\n'Assigned \
    access specs\n\tMine\n\tIdle\n'End assigned access specs\n\
    'Target assignments\n'Target\n\tC: \"Vol, 0\"\n'Target type\n\tDISK\n'End target\n'End target assignments\n'End \
    worker\n'End manager\n'END manager list\n";

#[test]
fn workers_keep_their_settings() {
    let (setup, said) = with(&whole(&format!("{WORKER}{SPECS}")), false);
    let setup = setup.expect(&said);
    let manager = &setup.managers[0];
    assert_eq!((manager.id, manager.name.as_str(), manager.address.as_str()), (7, "HOST, the first", ""));
    let w = &manager.workers[0];
    assert_eq!((w.outstanding, w.transactions_per_connection, w.fixed_seed), (8, Some(5), Some(12345)));
    assert_eq!((w.maximum_size, w.starting_sector, w.data_pattern, w.kind), (1024, 64, 1, WorkerKind::Disk));
    assert_eq!(w.targets[0].name, "C: \"Vol, 0\"");
    assert_eq!(with(&write(&setup), false).0, Some(setup));
    // Order and nesting.
    let (_, said) = with(&whole(&WORKER.replace("\n'Worker type\n\tDISK", "")), false);
    assert!(said.contains("'Default target settings for worker before 'Worker type"), "{said}");
    let (_, said) = with(&whole(&WORKER.replace("'End worker\n", "")), false);
    assert!(said.contains("a worker has no end"), "{said}");
    let (_, said) = with(&whole(&format!("{}{SPECS}", WORKER.replace("\tMine", "\tMime"))), false);
    assert!(said.contains("there is no access specification Mime (did you mean Mine?)"), "{said}");
    let (_, said) = with(&whole(&WORKER.replace("Target type\n\tDISK", "Target type\n\tNETWORK,TCP")), false);
    assert!(said.contains("a target of type NETWORK,TCP for a worker of type DISK"), "{said}");
    let one = &WORKER[WORKER.find("'Target\n").unwrap_or(0)..WORKER.find("'End target assign").unwrap_or(0)];
    let (_, said) = with(&whole(&WORKER.replace(one, &one.repeat(2049))), false);
    assert!(said.contains("a worker of more than 2048 targets"), "{said}");
}

#[test]
fn charts_are_bound_to_managers_and_workers() {
    let text = "'RESULTS DISPLAY ===\n'Update Frequency,Update Type\n\t3,LAST_UPDATE\n'Bar chart 2 statistic\n\t% cpu \
        utilization (TOTAL)\n\
        'Bar chart 2 manager ID, manager name\n\t1,M1\n'Bar chart 2 worker ID, worker name\n\t4,W, 4\n'END results \
        display\n";
    let (setup, said) = with(&whole(text), false);
    let display = setup.clone().and_then(|s| s.display).expect(&said);
    assert_eq!((display.frequency, display.since_last, display.record_last), (3, true, false));
    let chart = &display.charts[1];
    assert_eq!((chart.statistic, chart.worker.clone()), (Some(Statistic::Cpu), Some((4, "W, 4".into()))));
    let text = write(&setup.unwrap_or_default());
    assert_eq!(write(&with(&text, false).0.unwrap_or_default()), text);
    warned(
        &whole("'RESULTS DISPLAY\n'Bar chart 7 statistic\n\tx\n'END results display\n"),
        "the number of the bar chart",
    );
    warned(
        &whole("'RESULTS DISPLAY\n'Bar chart 1 statistic\n\tTotal I/O per Second\n'END results display\n"),
        "did you mean Total I/Os per Second?",
    );
}

#[test]
fn odd_names_are_written_so_that_they_can_be_read() {
    let (setup, said) = with(&whole(&format!("{WORKER}{SPECS}")), false);
    let mut setup = setup.expect(&said);
    setup.specs[0].name = " 'a\n,b'".into();
    setup.managers[0].name = "Version 2\r\n'End manager".into();
    setup.managers[0].workers[0].name = String::new();
    setup.managers[0].workers[0].targets[0].name = "Version 2".into();
    setup.managers[0].workers[0].specs = None;
    let text = write(&setup);
    let (again, said) = with(&text, false);
    assert_eq!(write(&again.expect(&said)), text);
    assert!(text.contains("\ta ;b',DISK\n"), "{text}");
}

#[test]
fn versions_compare_as_iometer_compares_them() {
    assert_eq!((date("2008.06.18"), date("1998-02-01"), date("2006.07.27-rc1")), (20_080_618, 19_980_201, 20_060_727));
    assert_eq!((date("1.1.0"), date("1.1.0-rc1")), (u64::MAX, u64::MAX));
    assert_eq!(
        (version("Version 1.1.0-rc1"), version("VERSION\t2008.06.18"), version("Version"), version("Versions 1")),
        (Some("1.1.0-rc1"), Some("2008.06.18"), None, None)
    );
}
