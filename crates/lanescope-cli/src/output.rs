//! The terminal: tables, JSON, CSV, pictures, and diagnostics drawn at their place in the text.

use crate::interrupt;
pub(crate) use crate::say::say;
use annotate_snippets::Renderer;
use lanescope::diagnostic::Diagnostics;
use lanescope::pens::{Grid, Paint};
use lanescope_front::draw;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Whether standard output wants colours: a terminal, and NO_COLOR is not set.
pub(crate) fn paint() -> Paint {
    let wanted = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    if wanted { Paint::TERMINAL } else { Paint::default() }
}

/// Prints to standard output; a reader who hangs up (`| head`) ends the program quietly.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // This is what a signal would otherwise have left to the watchman.
    let _ = interrupt::answered();
    if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        if e.kind() == std::io::ErrorKind::BrokenPipe {
            std::process::exit(0);
        }
        error(&format!("the answer cannot be written: {e}"));
        std::process::exit(2);
    }
}

/// Prints a value as JSON.
pub(crate) fn json(value: &impl serde::Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&(text + "\n")),
        Err(e) => error(&format!("this cannot be written as JSON: {e}")),
    }
}

/// Prints a grid as CSV.
pub(crate) fn csv(grid: &Grid) {
    let mut out = csv::Writer::from_writer(Vec::new());
    let written = out.write_record(&grid.head).and_then(|()| grid.rows.iter().try_for_each(|r| out.write_record(r)));
    match (written, out.into_inner()) {
        (Ok(()), Ok(bytes)) => print(&String::from_utf8_lossy(&bytes)),
        _ => error("this cannot be written as CSV"),
    }
}

/// Prints a grid as a table for people.
pub(crate) fn table(grid: &Grid) {
    print(&draw::table(grid));
}

/// One error that points nowhere.
pub(crate) fn error(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}", draw::message(message, &Renderer::styled()));
}

/// An error that is drawn in a text already, or one that points nowhere.
pub(crate) fn drawn_or(message: &str) {
    match message.starts_with("error") {
        true => say!("{message}"),
        false => error(message),
    }
}

/// All diagnostics, each at its place, on standard error.
pub(crate) fn diagnostics(all: &Diagnostics) {
    for text in draw::diagnostics(all, &Renderer::styled()) {
        let _ = writeln!(anstream::stderr(), "{text}\n");
    }
}

/// Writes pictures to a folder, which is made when it is missing. Says on standard error what was written.
pub(crate) fn pictures(dir: &Path, pictures: &[(String, String)]) -> Result<(), String> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for (name, svg) in pictures {
        let safe: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let path = dir.join(format!("{safe}.svg"));
        std::fs::write(&path, svg).map_err(|e| format!("{}: {e}", path.display()))?;
        say!("wrote {}", path.display());
    }
    Ok(())
}

/// Says what is wrong, and that something is.
pub(crate) fn wrong(what: &str) -> u8 {
    error(what);
    crate::WRONG
}
