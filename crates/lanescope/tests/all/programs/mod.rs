//! Message programs from outside: skeletons against recorded calls, traces, and tables of real instruments.
//!
//! The recordings lie in the shared folder; where it is not there, their tests are skipped and say so.

mod npb;
mod tables;
mod traces;

use std::path::{Path, PathBuf};

/// A file or folder of the shared fixtures, or `None` and a word about it.
fn fixture(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

/// The text of a fixture.
fn text(name: &str) -> Option<String> {
    fixture(name).map(|path| std::fs::read_to_string(path).expect("a text"))
}
