//! Diagnostics as the command prints them: each drawn at its place in the user's text, as rustc draws its own; and
//! tables for people.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use comfy_table::{ContentArrangement, Table};
use lanescope::diagnostic::{Diagnostic, Diagnostics, Severity};
use lanescope::pens::Grid;

/// Diagnostics that are drawn at most; how many more there are is said.
const MOST: usize = 50;

/// Every diagnostic, errors first, one text each.
pub fn diagnostics(all: &Diagnostics, renderer: &Renderer) -> Vec<String> {
    let list = all.sorted();
    let mut texts: Vec<String> = list.iter().take(MOST).map(|d| draw(all, d, renderer)).collect();
    if list.len() > MOST {
        texts.push(format!("… and {} more", list.len() - MOST));
    }
    texts
}

/// The same without colours, in one text.
pub fn plain(all: &Diagnostics) -> String {
    diagnostics(all, &Renderer::plain()).join("\n\n")
}

/// An error that points nowhere.
pub fn message(message: &str, renderer: &Renderer) -> String {
    renderer.render(&[Group::with_title(Level::ERROR.primary_title(message))])
}

fn draw(all: &Diagnostics, d: &Diagnostic, renderer: &Renderer) -> String {
    let level = if d.severity == Severity::Error { Level::ERROR } else { Level::WARNING };
    let hint = d.hint.as_deref().filter(|h| !h.is_empty());
    let mut group = Group::with_title(level.primary_title(d.message.as_str()));
    if let Some(span) = d.span {
        let source = all.source(span.source);
        let text = source.text.as_str();
        let start = floor(text, span.start as usize);
        let end = floor(text, span.end as usize).max(start);
        let mut place = AnnotationKind::Primary.span(start..end);
        if !d.label.is_empty() {
            place = place.label(d.label.as_str());
        }
        group = group.element(Snippet::source(text).path(source.name.as_str()).annotation(place));
    }
    if let Some(hint) = hint {
        group = group.element(Level::HELP.message(hint));
    }
    renderer.render(&[group])
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A grid as a table for people.
pub fn table(grid: &Grid) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(&grid.head);
    for row in &grid.rows {
        table.add_row(row);
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}
