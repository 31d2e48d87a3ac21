//! Helpers of the command's tests.
#![allow(dead_code, reason = "each test file uses some of them")]

use std::io::Write;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A scenario in which nothing is wrong: one card that writes to its host's memory.
pub(crate) const GOOD: &str = r#"
title = "one card"
[parts.host]
is = "root-complex"
[parts.card]
is = "endpoint"
[links.slot]
between = ["host", "card"]
pcie = "gen3 x8"
mps = "256 B"
[flows.rx]
from = "card"
to = "host.memory"
do = "write"
size = "2 KiB"
"#;

/// The binary with its arguments, without colours.
pub(crate) fn lanescope(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanescope"));
    command.args(args).env("NO_COLOR", "1");
    command
}

/// Runs with these bytes as its standard input. They are written beside the reading of what it prints, so that neither
/// pipe fills; a command that has had enough closes it.
pub(crate) fn piped(args: &[&str], bytes: impl AsRef<[u8]> + Send) -> Output {
    let mut child =
        lanescope(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    std::thread::scope(|s| {
        s.spawn(move || pipe.write_all(bytes.as_ref()));
        child.wait_with_output().expect("it runs")
    })
}

/// Runs, expects an exit code, and gives (stdout, stderr).
pub(crate) fn out(args: &[&str], code: i32) -> (String, String) {
    let output = lanescope(args).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (a, b) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{a}{b}");
    (a, b)
}

/// Runs what must be refused without an answer, with these words among the reasons.
pub(crate) fn wrong(args: &[&str], words: &[&str]) {
    let (text, error) = out(args, 2);
    assert!(text.is_empty() && words.iter().all(|w| error.contains(w)), "{args:?}: {error}");
}

/// A folder with one scenario, and its file's name.
pub(crate) fn folder(text: &str) -> (TempDir, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("s.toml");
    std::fs::write(&file, text).expect("written");
    (dir, file.to_string_lossy().into_owned())
}
