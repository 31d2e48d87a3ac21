//! The pages are tests: each block with `file=NAME` becomes a file, each `$ lanescope …` of a `console` block is run
//! beside it, and its output must be what the page shows. README.md and every page of `book/` are read.
//! `LANESCOPE_PAGES=write cargo test pages::` writes the outputs into the pages.
//!
//! This holds pages to the program, not the program to the truth: what is true of the same outputs is tested by the
//! rows of studies, by packets worked out by hand and by laws (ARCHITECTURE.md lists them).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs the blocks of one page and gives the page as it should be.
fn render(page: &str) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let mut out = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let Some(info) = line.strip_prefix("```").filter(|i| !i.is_empty()) else { continue };
        let mut block = Vec::new();
        while let Some(inner) = lines.next_if(|l| !l.starts_with("```")) {
            block.push(inner);
        }
        match info.split_whitespace().collect::<Vec<_>>().as_slice() {
            [_, name, ..] if name.starts_with("file=") => {
                let file = dir.path().join(name.trim_start_matches("file="));
                std::fs::write(file, block.join("\n") + "\n").expect("written");
                out.extend(block.iter().map(|l| format!("{l}\n")));
            }
            ["console", rest @ ..] => {
                for command in block.iter().filter_map(|l| l.strip_prefix("$ ")) {
                    out += &format!("$ {command}\n{}", run(dir.path(), command, rest.contains(&"wrong")));
                }
            }
            _ => out.extend(block.iter().map(|l| format!("{l}\n"))),
        }
    }
    out
}

fn run(dir: &Path, command: &str, wrong: bool) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_lanescope")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let result = Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&result.stdout), String::from_utf8_lossy(&result.stderr));
    assert_eq!(result.status.success(), !wrong, "{command}\n{stdout}{stderr}");
    let text = format!("{stdout}{stderr}");
    let trimmed: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    trimmed.join("\n") + "\n"
}

/// What is wrong with a page: the first line that differs from what the program prints now.
fn fault(name: &str) -> Option<String> {
    let path = root().join(name);
    let page = std::fs::read_to_string(&path).expect("the page");
    let should = render(&page);
    if std::env::var_os("LANESCOPE_PAGES").is_some_and(|v| v == "write") {
        if should != page {
            std::fs::write(path, should).expect("written");
        }
        return None;
    }
    if let Some((n, (shown, is))) = page.lines().zip(should.lines()).enumerate().find(|(_, (shown, is))| shown != is) {
        return Some(format!("{name}:{}: the page shows another output\n   page: {shown}\nprogram: {is}", n + 1));
    }
    (page.lines().count() != should.lines().count()).then(|| format!("{name}: another number of lines"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and all of the book, by its folder: a new page cannot be forgotten.
fn pages() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root().join("book"))
        .expect("the book")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("book/{name}"))
        .collect();
    names.sort();
    names.insert(0, "README.md".to_owned());
    names
}

#[test]
fn the_pages_show_what_the_program_prints() {
    let (names, next, faults) = (pages(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Pages are independent: as many at once as there are cores.
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(names.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fault = fault(name);
                    faults.lock().expect("no page panicked").extend(fault);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no page panicked");
    assert!(faults.is_empty(), "LANESCOPE_PAGES=write cargo test pages::\n{}", faults.join("\n"));
}

/// The anchor that GitHub and mdBook give to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of a page's links, without those to the web.
fn links(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in page.lines() {
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if !target.starts_with("http") {
                found.push(target);
            }
        }
    }
    found
}

#[test]
fn links_of_the_pages_lead_somewhere() {
    let mut faults = Vec::new();
    for name in pages() {
        let path = root().join(&name);
        let page = std::fs::read_to_string(&path).expect("the page");
        for link in links(&page) {
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let Ok(bytes) = std::fs::read(&target) else {
                faults.push(format!("{name}: {link}: no such file"));
                continue;
            };
            // Pictures have no headings.
            let text = String::from_utf8_lossy(&bytes);
            let headings = text.lines().filter(|l| l.starts_with('#')).map(|l| anchor(l.trim_start_matches('#')));
            if !part.is_empty() && !headings.into_iter().any(|h| h == part) {
                faults.push(format!("{name}: {link}: no such heading"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_index_names_every_chapter() {
    let index = std::fs::read_to_string(root().join("book/SUMMARY.md")).expect("the index");
    let listed = links(&index);
    for name in pages() {
        let Some(chapter) = name.strip_prefix("book/").filter(|c| *c != "SUMMARY.md") else { continue };
        assert_eq!(listed.iter().filter(|l| **l == chapter).count(), 1, "{chapter} in book/SUMMARY.md");
    }
}

#[test]
fn the_picture_of_the_readme_is_that_of_its_scenario() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("the page");
    let scenario =
        page.split("file=two-nics.toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("two-nics.toml"), scenario).expect("written");
    run(dir.path(), "lanescope run two-nics.toml --svg .", false);
    let drawn = std::fs::read_to_string(dir.path().join("topology.svg")).expect("a picture");
    let path = root().join("book/two-nics.svg");
    if std::env::var_os("LANESCOPE_PAGES").is_some_and(|v| v == "write") {
        std::fs::write(path, drawn).expect("written");
        return;
    }
    assert!(std::fs::read_to_string(path).expect("the picture") == drawn, "LANESCOPE_PAGES=write cargo test pages::");
}

#[test]
fn the_readme_is_short() {
    let lines = std::fs::read_to_string(root().join("README.md")).expect("the page").lines().count();
    assert!(lines <= 150, "{lines} lines: what is longer belongs into the book");
}
