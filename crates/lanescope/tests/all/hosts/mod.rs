//! Dumps of real hosts: what the importers read of them, and what `explain` makes of it.
//!
//! Files whose licence allows it lie in `tests/fixtures/hosts`; the others are read from the shared folder, and where
//! that is not there their tests say `skipped`.

mod buses;
mod emitted;
mod explained;
mod hex;
mod imported;
mod logged;
mod measured;
mod page;
mod peers;
mod requester;
mod robust;
mod sentences;
mod simulated;

use crate::common::shared;
use lanescope::explain::{Explained, explain};
use lanescope::import::host::{Dump, Host, read};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hosts")
}

/// A text of the shared folder's `topology`.
fn topology(name: &str) -> Option<String> {
    Some(text(&shared(&format!("topology/{name}"))?))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A text of our own fixtures.
fn ours(name: &str) -> String {
    text(&folder().join(name))
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, out);
        } else {
            out.push(entry);
        }
    }
}

/// All dumps that are here, by name: ours, and those of the shared folder.
fn dumps() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    files(&folder(), &mut paths);
    for folder in ["topology", "hosts"].into_iter().filter_map(shared) {
        files(&folder, &mut paths);
    }
    paths.sort();
    let prose = |p: &PathBuf| p.ends_with("PROVENANCE.md") || p.ends_with("LICENSE");
    paths.into_iter().filter(|p| !prose(p)).map(|p| (p.display().to_string(), text(&p))).collect()
}

fn hosts(texts: &[&str]) -> Vec<Host> {
    let names = (0..texts.len()).map(|n| format!("dump{n}"));
    let dumps: Vec<Dump> = names.zip(texts).map(|(name, text)| Dump::Text { name, text }).collect();
    read(&dumps)
}

/// The one host of a text.
fn host(text: &str) -> Host {
    let mut all = hosts(&[text]);
    assert_eq!(all.len(), 1, "one host");
    all.remove(0)
}

fn explained(text: &str) -> Explained {
    explain(&host(text))
}
