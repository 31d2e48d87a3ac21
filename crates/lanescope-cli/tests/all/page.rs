//! Pages: what is embedded is built of the sources that are here, and a page is one file without requests. What a page
//! does is tested in a browser, by web/test/browser.mjs.

use crate::common::{folder, out, wrong};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// CRC-32 as of gzip.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |s, _| if s & 1 == 1 { 0xedb8_8320 ^ (s >> 1) } else { s >> 1 })
    })
}

/// The lines of a source that matter to what is built; web/build.mjs does the same.
fn essence(text: &str) -> String {
    let lines = text.split('\n').map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn files(dir: &Path, ends: &[&str], all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path()) {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        if entry.is_dir() {
            if !["node_modules", "tests", "test", "target"].contains(&name.as_str()) {
                files(&entry, ends, all);
            }
        } else if ends.iter().any(|e| name.ends_with(e)) && name != "tests.rs" {
            all.push(entry);
        }
    }
}

#[test]
fn what_is_embedded_is_built_of_these_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let built = std::fs::read_to_string(here.join("page/built.txt")).expect("page/built.txt");
    let line = |l: &str| l.split_once(' ').map(|(sum, name)| (name.to_owned(), sum.to_owned()));
    let built: BTreeMap<String, String> = built.lines().filter_map(line).collect();
    let mut sources = Vec::new();
    files(&root.join("crates/lanescope/src"), &[".rs", ".toml"], &mut sources);
    files(&root.join("crates/lanescope-page/src"), &[".rs"], &mut sources);
    files(&root.join("platforms"), &[".toml"], &mut sources);
    files(&root.join("web/src"), &[".js"], &mut sources);
    sources.push(root.join("web/package-lock.json"));
    let sum = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("a source");
        let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
        (name, format!("{:08x}", crc(essence(&text).as_bytes())))
    };
    let mut now: BTreeMap<String, String> = sources.iter().map(|p| sum(p)).collect();
    for name in ["engine.wasm.gz", "loader.js", "page.js.gz", "scripts.sha256", "worker.js"] {
        let bytes = std::fs::read(here.join("page").join(name)).expect("a built file");
        now.insert(format!("built/{name}"), format!("{:08x}", crc(&bytes)));
    }
    let names: std::collections::BTreeSet<&String> = built.keys().chain(now.keys()).collect();
    let differ: Vec<&&String> = names.iter().filter(|n| built.get(**n) != now.get(**n)).take(8).collect();
    assert!(differ.is_empty(), "the page was built of other sources: run `make page` and commit it; {differ:?}");
}

#[test]
fn a_checksum_is_that_of_gzip() {
    assert_eq!(crc(b"123456789"), 0xcbf4_3926);
}

/// The starter, and a page of it.
fn page(args: &[&str]) -> String {
    let (starter, _) = out(&["new"], 0);
    let (dir, file) = folder(&starter);
    let to = dir.path().join("page.html").to_string_lossy().into_owned();
    let args: Vec<&str> = args.iter().map(|a| if *a == "FILE" { &file } else { *a }).collect();
    let (_, said) = out(&[args.as_slice(), &["--html", &to]].concat(), 0);
    assert!(said.contains("wrote"), "{said}");
    std::fs::read_to_string(&to).expect("a page")
}

#[test]
fn a_page_holds_all_it_needs_and_asks_for_nothing() {
    let live = page(&["estimate", "FILE"]);
    assert!(live.len() < 3_000_000, "{}", live.len());
    assert!(live.contains("default-src 'none'") && live.contains("id=\"engine\"") && live.contains("id=\"begin\""));
    assert!(!live.contains("src=\"") && !live.contains("@import"), "nothing is loaded");
    let fixed = page(&["run", "FILE", "--static"]);
    assert!(fixed.len() < 300_000, "{}", fixed.len());
    for section in ["answer", "topology", "waterfall", "links", "latency", "time", "words", "provenance", "scenario"] {
        assert!(fixed.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    assert!(!fixed.contains("<script"));
}

#[test]
fn a_sweep_and_a_study_have_pages() {
    let sweep = page(&["estimate", "FILE", "--vary", "flows.rx.size=256 B,1 KiB", "--static"]);
    assert!(sweep.contains("id=\"sweep\"") && sweep.contains("id=\"curves\"") && sweep.contains("<svg"));
    let study = page(&["study", "run", "t5440", "--quick", "--method", "estimate", "--static"]);
    assert!(study.contains("id=\"study-t5440\"") && study.len() < 300_000, "{}", study.len());
}

#[test]
fn the_laboratory_is_written_without_a_scenario() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("lab.html").to_string_lossy().into_owned();
    out(&["page", &file], 0);
    let text = std::fs::read_to_string(&file).expect("a page");
    let (printed, _) = out(&["page"], 0);
    assert!(text == printed && text.contains("two NICs receive behind one uplink"));
    wrong(&["estimate", "x.toml", "--static"], &["--html"]);
    wrong(&["page", "/"], &["irectory"]);
}
