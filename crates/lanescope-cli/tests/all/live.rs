//! The live display on a pseudo-terminal: what a person sees, what keys do, and what is left behind.

use crate::common;
use crate::common::{folder, out};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One worker at two RAM disks, for a minute of simulated time: long enough to press keys.
const MACHINE: &str = r#"
[parts.host]
is = "root-complex"
[parts.hba]
is = "host-adapter"
[parts.drive]
is = "ram-disk"
count = 2
[links.slot]
between = ["host", "hba"]
pcie = "gen3 x8"
[links.fc]
between = ["hba", "drive.*"]
fc = "8GFC"
[flows.io]
from = "host"
to = "drive.*"
do = "io"
access = { size = "4 KiB", read = "67 %", random = "100 %" }
outstanding = 4
[run]
max_time = "60 s"
"#;

/// The screen of a command that runs on a terminal of 80 x 24, which is the parser's default.
struct Terminal {
    screen: Arc<Mutex<vt100::Parser>>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    /// Held: its end is that of the terminal.
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    fn run(args: &[&str]) -> Terminal {
        let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 });
        let pair = pair.expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lanescope"));
        command.args(args);
        command.env("NO_COLOR", "1");
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).expect("it runs");
        let screen = Arc::new(Mutex::new(vt100::Parser::default()));
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let seen = screen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                seen.lock().expect("the screen").process(&bytes[..n]);
            }
        });
        let keys = pair.master.take_writer().expect("its keyboard");
        Terminal { screen, keys, child, _master: pair.master }
    }

    fn text(&self) -> String {
        self.screen.lock().expect("the screen").screen().contents()
    }

    /// Waits until the screen is as it should be.
    fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            if is(&text) {
                return text;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "waited for {what}:\n{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("pressed");
    }
}

/// The value behind a bar's name.
fn value(text: &str, bar: &str) -> Option<f64> {
    let line = text.lines().find(|l| l.contains(bar))?;
    line.split_whitespace().last()?.parse().ok()
}

#[test]
fn bars_move_keys_choose_and_results_are_left_behind() {
    let (dir, machine) = folder(MACHINE);
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (icf, csv) = (path("s.icf"), path("r.csv"));
    out(&["iometer", "--save", &icf, &machine], 0);
    let mut t = Terminal::run(&["iometer", &icf, &machine, "--full", "--live=0.02s", "--csv", &csv]);
    // A picture comes in pieces, from top to bottom: it is there when its last line is.
    let whole = |s: &str| s.contains("what is finished is kept");
    let is = |s: &str| whole(s) && value(s, ">1 Total I/Os per Second").is_some_and(|v| v > 0.0);
    let first = t.until("the first update", is);
    assert!(first.contains("6 Total Error Count") && first.contains("since the start of the test"), "{first}");
    assert!(first.contains("% CPU Utilization (total)") && first.contains("of 100.00 %"), "{first}");
    let counted = |s: &str| s.lines().nth(1).map(str::to_owned);
    t.until("another update", |s| s.contains("counted") && counted(s) != counted(&first));
    // Another bar, another statistic, another's numbers.
    t.press("3");
    t.until("the third bar", |s| s.contains(">3 Average I/O Response Time"));
    t.press("\x1b[B");
    t.until("reads alone", |s| value(s, ">3 Avg. Read Response Time (ms), All Managers").is_some_and(|v| v > 0.0));
    t.press("\x1b[C\x1b[C");
    t.until("the worker", |s| value(s, ">3 Avg. Read Response Time (ms), host: Worker 1").is_some_and(|v| v > 0.0));
    t.press("u+");
    t.until("the last update", |s| s.contains("since the last update, every 100 ms"));
    // While it is paused, nothing moves.
    t.press(" ");
    t.until("the pause", |s| s.contains(", paused"));
    std::thread::sleep(Duration::from_millis(300));
    let held = t.text();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(t.text(), held);
    t.press(" ");
    t.until("it goes on", |s| !s.contains("paused") && counted(s) != counted(&held));
    t.press("q");
    let over = |s: &str| s.contains("stopped: 1 of 1 tests") && s.contains("tests appended to") && s.contains("IOps");
    let last = t.until("the results", over);
    assert!(!last.contains(">3"), "the display is gone: {last}");
    assert_eq!(t.child.wait().expect("it ends").exit_code(), 1, "cut short");
    let results = std::fs::read_to_string(&csv).expect("results");
    assert!(results.contains("\nWORKER,Worker 1,") && results.contains("\nDISK,drive.1,"), "{results}");
}

#[test]
fn there_is_no_live_display_without_a_terminal() {
    let (dir, machine) = folder(MACHINE);
    let icf = dir.path().join("s.icf").to_string_lossy().into_owned();
    out(&["iometer", "--save", &icf, &machine], 0);
    common::wrong(&["iometer", &icf, &machine, "--live"], &["draws on a terminal"]);
    common::wrong(&["iometer", &icf, &machine, "--live=0"], &["--live=0", "0.5s"]);
}
