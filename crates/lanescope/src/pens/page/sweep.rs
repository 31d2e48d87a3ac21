//! Tables of other answers as sections: sweeps, rows of studies, comparisons.

use super::parts::{Cell, table};
use super::{MOST_ROWS, Section};
use crate::pens::Grid;
use crate::pens::svg::escape;

/// A grid as a section. Cells that are numbers sort as such.
pub fn grid(id: &str, title: &str, grid: &Grid) -> Section {
    let head: Vec<&str> = grid.head.iter().map(String::as_str).collect();
    let rows = grid.rows.iter().map(|row| {
        row.iter()
            .enumerate()
            .map(|(nth, text)| match (nth, text.parse::<f64>()) {
                (0, _) => Cell::name(text),
                (_, Ok(number)) if number.is_finite() => Cell::number(number, text.clone()),
                _ => Cell::text(text),
            })
            .collect()
    });
    Section { id: id.into(), title: title.into(), html: table(id, &head, rows, MOST_ROWS) }
}

/// Pictures as a section: names and SVG.
pub fn pictures(id: &str, title: &str, pictures: &[(String, String)]) -> Section {
    let one = |(name, svg): &(String, String)| {
        // An SVG of its own may begin with a declaration, which has no place inside a page.
        let from = svg.find("<svg").unwrap_or(0);
        format!("<figure class=\"picture\" aria-label=\"{}\">{}</figure>\n", escape(name), svg[from..].trim())
    };
    Section { id: id.into(), title: title.into(), html: pictures.iter().map(one).collect() }
}

/// A text as it was printed, as a section.
pub fn printed(id: &str, title: &str, text: &str) -> Section {
    let lines: Vec<String> = text.lines().map(escape).collect();
    let html = format!("<pre tabindex=\"0\">{}</pre>\n", lines.join("\n"));
    Section { id: id.into(), title: title.into(), html }
}
