//! Replays the fuzzers' seeds, and every input that once broke something, on a stable compiler.

use crate::bodies;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest time that one input may take; sized for a slow machine and an unoptimised build.
const LONGEST: Duration = Duration::from_secs(5);

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The seeds of a target by name: `ok-…` is accepted, `no-…` is refused. What a fuzzer has left beside them has no such
/// name and is not replayed.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(corpus().join(target)).into_iter().flatten() {
        let path = entry.expect("an entry of a folder").path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("ok-") || name.starts_with("no-") {
            all.push((name, std::fs::read(&path).expect("a file of the corpus")));
        }
    }
    all.sort();
    all
}

#[test]
fn every_seed_ends_in_an_answer_or_a_refusal() {
    if !corpus().is_dir() {
        return; // the published crate comes without it
    }
    for (target, body) in bodies::TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "fuzz/corpus/{target} has no seeds");
        for (name, bytes) in seeds {
            println!("{target}/{name}");
            let start = Instant::now();
            let accepted = body(&bytes);
            assert!(start.elapsed() < LONGEST, "{target}/{name} took {:?}", start.elapsed());
            assert_eq!(accepted, name.starts_with("ok-"), "{target}/{name}: accepted against its name");
        }
    }
}
