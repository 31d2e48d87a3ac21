//! Helpers of the command's tests.
#![allow(dead_code, reason = "each test file uses some of them")]

use assert_cmd::Command;
use tempfile::TempDir;

/// The binary with its arguments, without colours.
pub(crate) fn lanescope(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lanescope").expect("the binary");
    command.args(args).env("NO_COLOR", "1");
    command
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
