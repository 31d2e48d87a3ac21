//! Pieces of a page: tables whose cells carry their number with all digits, and notes.

use crate::pens::svg::escape;
use crate::units::{digits, human_rate, human_time};
use std::fmt::Write;

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// What a person reads.
    pub(super) text: String,
    /// Its number with all digits, for sorting and CSV.
    pub(super) number: Option<f64>,
    /// How it looks.
    pub(super) class: &'static str,
    /// The link that it stands for, by its place in the report.
    pub(super) link: Option<usize>,
    /// The unit of its number, for CSV.
    pub(super) unit: &'static str,
}

impl Cell {
    /// A text.
    pub(super) fn text(text: &str) -> Cell {
        Cell { text: text.to_owned(), ..Cell::default() }
    }

    /// The name of its row.
    pub(super) fn name(text: &str) -> Cell {
        Cell { class: "name", ..Cell::text(text) }
    }

    /// A number, as a person reads it.
    pub(super) fn number(number: f64, text: String) -> Cell {
        Cell { text, number: Some(number), class: "n", link: None, unit: "" }
    }
}

/// Bits a second.
pub(super) fn rate(bits: f64) -> Cell {
    Cell { unit: "b/s", ..Cell::number(bits, human_rate(bits)) }
}

/// Seconds.
pub(super) fn time(seconds: f64) -> Cell {
    Cell { unit: "s", ..Cell::number(seconds, human_time(seconds)) }
}

/// How far a value moved.
pub(super) fn change(before: f64, after: f64) -> Cell {
    if before == after {
        return Cell::text("same");
    }
    let by = after / before - 1.0;
    if !by.is_finite() {
        return Cell::text("");
    }
    let sign = if by > 0.0 { "▲ +" } else { "▼ −" };
    let class = if by > 0.0 { "n more" } else { "n less" };
    Cell { class, ..Cell::number(by, format!("{sign}{} %", digits(by.abs() * 100.0))) }
}

/// A paragraph.
pub(super) fn note(out: &mut String, class: &str, text: &str) {
    let _ = match class.is_empty() {
        true => writeln!(out, "<p>{}</p>", escape(text)),
        false => writeln!(out, "<p class=\"{class}\">{}</p>", escape(text)),
    };
}

/// A table with an id for the page's script, of at most so many rows; what is left out is said. The first cell of a row
/// is its head.
pub(super) fn table(id: &str, head: &[&str], rows: impl Iterator<Item = Vec<Cell>>, most: usize) -> String {
    let mut out = format!("<div class=\"scroll\"><table data-table=\"{}\">\n<thead><tr>", escape(id));
    let rows: Vec<Vec<Cell>> = rows.collect();
    for (nth, cell) in head.iter().enumerate() {
        let unit = rows.iter().filter_map(|r| r.get(nth)).map(|c| c.unit).find(|u| !u.is_empty());
        let unit = unit.map_or(String::new(), |u| format!(" data-unit=\"{u}\""));
        let _ = write!(out, "<th scope=\"col\"{unit}>{}</th>", escape(cell));
    }
    out += "</tr></thead>\n<tbody>\n";
    let mut left = 0;
    for (i, row) in rows.into_iter().enumerate() {
        if i >= most {
            left += 1;
            continue;
        }
        out += "<tr>";
        for (nth, cell) in row.iter().enumerate() {
            let tag = if nth == 0 { "th scope=\"row\"" } else { "td" };
            let _ = write!(out, "<{tag}");
            if !cell.class.is_empty() {
                let _ = write!(out, " class=\"{}\"", cell.class);
            }
            if let Some(number) = cell.number {
                let _ = write!(out, " data-v=\"{number}\"");
            }
            if let Some(link) = cell.link {
                let _ = write!(out, " data-link=\"{link}\"");
            }
            let _ = write!(out, ">{}</{}>", escape(&cell.text), if nth == 0 { "th" } else { "td" });
        }
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    if left > 0 {
        note(&mut out, "soft", &format!("and {left} more rows, which the command prints with --csv"));
    }
    out
}
