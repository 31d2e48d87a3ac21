//! The pages are tests: each block with `file=NAME` becomes a file, each `$ lanescope …` of a `console` block is run beside it, and its output
//! must be what the page shows. `LANESCOPE_PAGES=write cargo test pages::` writes the outputs into the pages.

use std::path::Path;
use std::process::Command;

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

fn hold(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let page = std::fs::read_to_string(&path).expect("the page");
    let should = render(&page);
    if std::env::var_os("LANESCOPE_PAGES").is_some_and(|v| v == "write") {
        std::fs::write(path, should).expect("written");
        return;
    }
    for (n, (shown, is)) in page.lines().zip(should.lines()).enumerate() {
        assert_eq!(
            shown,
            is,
            "{name}:{}: the page shows another output (LANESCOPE_PAGES=write cargo test pages::)",
            n + 1
        );
    }
    assert_eq!(page.lines().count(), should.lines().count(), "{name}");
}

#[test]
fn the_page_on_scenarios() {
    hold("book/scenarios.md");
}

#[test]
fn the_readme() {
    hold("README.md");
}
