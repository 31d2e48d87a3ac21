//! SIGINT and SIGTERM end any command by themselves, and leave what is finished. Each of these would go on for minutes;
//! that one ends within a second of work is seen as an end long before that, since the machine of a test may be busy.
#![cfg(unix)]

use crate::common::folder;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Until a command is surely at work.
const AT_WORK: Duration = Duration::from_millis(1500);
/// Within which a signalled command must have ended: a second of its own, and the rest for a machine that does much
/// else.
const LONGEST: Duration = Duration::from_secs(10);

const STARTER: &str = include_str!("../../src/starter.toml");
const CLUSTER: &str = include_str!("../../src/starter-cluster.toml");

fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanescope"));
    command.args(args).env("NO_COLOR", "1").stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    command.spawn().expect("it starts")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

/// Starts a command, signals it at its work, and gives its exit code, output and messages.
fn signalled(args: &[&str], name: &str) -> (Option<i32>, String, String) {
    signalled_after(AT_WORK, args, name)
}

fn signalled_after(at_work: Duration, args: &[&str], name: &str) -> (Option<i32>, String, String) {
    let mut child = start(args);
    let mut readers = Vec::new();
    let pipes: [Box<dyn Read + Send>; 2] =
        [Box::new(child.stdout.take().expect("a pipe")), Box::new(child.stderr.take().expect("a pipe"))];
    for pipe in pipes {
        readers.push(std::thread::spawn(move || {
            BufReader::new(pipe).lines().map_while(Result::ok).map(|l| l + "\n").collect::<String>()
        }));
    }
    std::thread::sleep(at_work);
    assert!(child.try_wait().expect("its state").is_none(), "{args:?} was over before the signal");
    signal(&child, name);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        if start.elapsed() > LONGEST {
            let _ = child.kill();
            panic!("{args:?} goes on after {name}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut texts = readers.into_iter().map(|r| r.join().expect("its output"));
    let (out, error) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
    assert!(error.contains("stopped"), "{args:?}: {error}");
    (status.code(), out, error)
}

#[test]
fn a_simulation_gives_what_it_has_seen() {
    let (_dir, file) = folder(STARTER);
    for name in ["-INT", "-TERM"] {
        let more = ["--for", "1000 s", "--set", "run.max_packets=1000000000000", "--json"];
        let (code, out, error) = signalled(&[&["simulate", &file][..], &more].concat(), name);
        assert_eq!(code, Some(0), "{error}");
        let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(report["simulation"]["ending"]["ending"], "stopped");
        assert!(report["simulation"]["window"].as_f64().is_some_and(|w| w > 0.0));
    }
}

#[test]
fn a_grid_gives_the_points_that_are_done() {
    let (_dir, file) = folder(STARTER);
    let lengths = "run.for=1 us,2 us,4 us,1000 s,2000 s,3000 s,4000 s";
    let more = ["--set", "run.max_packets=1000000000000", "--vary", lengths, "--csv"];
    let (_, out, error) = signalled(&[&["simulate", &file][..], &more].concat(), "-TERM");
    assert!(error.contains("of 7 runs are done"), "{error}");
    assert!(out.lines().any(|l| l.starts_with("1 us,")), "{out}");
}

#[test]
fn seeds_end() {
    let (_dir, file) = folder(STARTER);
    signalled(&["run", &file, "--seeds", "1000", "--for", "20 ms"], "-INT");
}

#[test]
fn an_estimate_ends_in_its_middle() {
    let (_dir, file) = folder(&CLUSTER.replace("ranks = [\"hca.*\"]", "ranks = [\"hca.*\"]\neach = 1024"));
    let sets = ["--set", "flows.pp.benchmark=imb Allreduce"];
    for command in ["estimate", "run"] {
        let (code, out, _) = signalled(&[&[command, &file][..], &sets].concat(), "-TERM");
        assert_eq!((code, out.as_str()), (Some(130), ""), "{command}");
    }
}

#[test]
fn studies_give_the_rows_that_are_done() {
    // The first rows may take their time on a busy machine; all of them take minutes.
    let (_, out, error) = signalled_after(4 * AT_WORK, &["study", "run"], "-INT");
    assert!(error.contains("rows have an answer"), "{error}");
    assert!(!out.is_empty());
}

/// A reader who closes standard error, or both streams, gets no panic, and files are written all the same.
#[test]
fn who_closes_a_stream_stops_no_answer() {
    let (dir, file) = folder(STARTER);
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (page, series) = (at("s.html"), at("s.csv"));
    let cases: [(&[&str], i32); 5] = [
        (&["simulate", &file, "--json", "--html", &page], 0),
        (&["simulate", &file, "--series", &series, "--step", "1 us"], 0),
        (&["check", &file], 0),
        (&["check", "no-such-file.toml"], 2),
        (&["run", &file, "--no-such-option"], 2),
    ];
    for (args, code) in cases {
        for both in [false, true] {
            let mut child = start(args);
            drop(child.stderr.take());
            let output = child.stdout.take().filter(|_| !both);
            let mut text = String::new();
            output.into_iter().for_each(|mut o| _ = o.read_to_string(&mut text).expect("text"));
            let ended = child.wait().expect("it ends").code();
            assert_eq!(ended, Some(code), "{args:?}, both streams closed: {both}\n{text}");
        }
    }
    assert!(std::fs::metadata(page).is_ok_and(|m| m.len() > 1_000_000), "the page is whole");
    assert!(std::fs::metadata(series).is_ok_and(|m| m.len() > 1_000), "the series is whole");
}
