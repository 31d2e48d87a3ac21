//! Real set-ups and results of Iometer. They lie in the shared folder; where it is not there, their tests are skipped and say so.

use lanescope::diagnostic::Diagnostics;
use lanescope::import::iometer::{Setup, icf};
use std::path::{Path, PathBuf};

/// The folder of files of Iometer, or `None` and a word about it.
fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/iometer");
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

fn text(name: &str) -> Option<String> {
    fixtures().map(|f| std::fs::read_to_string(f.join(name)).expect("a text"))
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
    let Some(folder) = fixtures() else { return };
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
        if name.starts_with("nvme") || name.starts_with("sata") || name.starts_with("eilerjc-smoke") {
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
