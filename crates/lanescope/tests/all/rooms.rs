//! A room uses only rooms listed above it, so the walk stays a walk.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in their order. `estimate` and `sim` stand side by side: neither sees the other.
const ROOMS: [&str; 15] = [
    "units",
    "tools",
    "diagnostic",
    "protocol",
    "scenario",
    "mpi",
    "import",
    "plan",
    "result",
    "estimate",
    "sim",
    "explain",
    "pens",
    "library",
    "study",
];

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, out);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            out.push(entry);
        }
    }
}

fn sources() -> Vec<PathBuf> {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    all
}

#[test]
fn rooms_use_only_rooms_above() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in sources() {
        let name = file.strip_prefix(&src).expect("below src").to_string_lossy().replace('\\', "/");
        let room = name.split(['/', '.']).next().unwrap_or_default().to_owned();
        let Some(level) = ROOMS.iter().position(|r| *r == room) else {
            assert_eq!(name, "lib.rs", "{name} is in no room");
            continue;
        };
        let text = fs::read_to_string(&file).expect("text");
        // Tests at the foot of a file, and files of tests, may look around.
        if text.contains("#![cfg(test)]") {
            continue;
        }
        let body = text.split("#[cfg(test)]").next().unwrap_or_default();
        for at in body.match_indices("crate::") {
            let used: String = body[at.0 + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            seen += 1;
            if let Some(other) = ROOMS.iter().position(|r| *r == used)
                && (other > level || (room == "sim" && used == "estimate"))
            {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    assert!(seen > 50, "the test reads the source");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_laboratory_is_pure() {
    // No file, socket, clock or thread in the library.
    let forbidden = [
        "std::fs",
        "std::net",
        "std::thread",
        "Instant::now",
        "SystemTime",
        "println!",
        "eprintln!",
        "static mut",
        "unsafe",
    ];
    for file in sources() {
        let text = fs::read_to_string(&file).expect("text");
        for word in forbidden {
            assert!(!text.contains(word), "{} has {word}", file.display());
        }
    }
}

#[test]
fn no_file_is_long() {
    for file in sources() {
        let lines = fs::read_to_string(&file).expect("text").lines().count();
        assert!(lines <= 800, "{} has {lines} lines", file.display());
    }
}
