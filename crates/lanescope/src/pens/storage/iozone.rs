//! IOzone's own forms: the table of `-a`, the reports of `-R`, the blocks of `-t`, laid out as 3.434 does.

use crate::import::iozone::{COLUMNS, HEADS, Output, Row, Unit};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where the columns of a row end.
const ENDS: [usize; COLUMNS + 2] = [16, 24, 33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143];
/// Where their heads do.
const HEAD_ENDS: [usize; COLUMNS + 2] = [16, 24, 33, 42, 50, 60, 68, 78, 87, 97, 107, 116, 125, 134, 143];

/// Words at the ends of columns.
fn row(cells: impl Iterator<Item = String>, ends: &[usize]) -> String {
    let mut line = String::new();
    for (cell, end) in cells.zip(ends) {
        // What is too wide for its column moves the rest, and never touches it.
        let least = if cell.is_empty() { 0 } else { cell.len() + 1 };
        let width = end.saturating_sub(line.len()).max(least);
        let _ = write!(line, "{cell:>width$}");
    }
    line
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Kib | Unit::Operations => format!("{value:.0}"),
        Unit::Micros if value < 1000.0 => format!("{value:.2}"),
        Unit::Micros => format!("{value:.0}"),
    }
}

/// What stands above the results.
pub fn head(output: &Output, lines: &[String]) -> String {
    let mut out = format!(
        "\tIozone: Performance Test of File I/O, as lanescope {} simulates it\n\t        Version $Revision: {} $\n\n",
        env!("CARGO_PKG_VERSION"),
        output.version
    );
    for line in lines {
        let _ = writeln!(out, "\t{line}");
    }
    let _ = writeln!(out, "\tCommand line used: {}", output.command);
    out.push_str(match output.unit {
        Unit::Kib => "\tOutput is in kBytes/sec\n",
        Unit::Operations => "\tOPS Mode. Output is in operations per second.\n",
        Unit::Micros => "\tMicroseconds/op Mode. Output is in microseconds per operation.\n",
    });
    if output.direct {
        out.push_str("\tO_DIRECT feature enabled\n");
    }
    if let (Some((file, record)), false) = (output.each, output.blocks.is_empty()) {
        let processes = output.blocks[0].processes;
        let plural = if processes == 1 { "process" } else { "processes" };
        let _ = writeln!(out, "\tThroughput test with {processes} {plural}");
        let _ = writeln!(out, "\tEach process writes a {} kByte file in {} kByte records", file / 1024, record / 1024);
    }
    out
}

/// The table.
pub fn table(output: &Output) -> String {
    let cells = |Row { file, record, values }: &Row| {
        let sizes = [file, record].map(|n| (n / 1024).to_string()).into_iter();
        sizes.chain(values.iter().map(|v| v.map_or(String::new(), |v| number(v, output.unit)))).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = output.rows.iter().map(cells).collect();
    // A number without room would push those behind it below the heads of others: its column is wider, for the whole
    // table.
    let (mut ends, mut head_ends, mut more) = (ENDS, HEAD_ENDS, 0);
    for i in 0..ends.len() {
        let longest = rows.iter().map(|cells| cells[i].len()).max().unwrap_or(0);
        let room = ENDS[i] - if i == 0 { 0 } else { ENDS[i - 1] };
        more += (longest + 1).saturating_sub(room);
        ends[i] += more;
        head_ends[i] += more;
    }
    let mut out = String::new();
    if !rows.is_empty() {
        let first = ["", ""].into_iter().chain(HEADS.map(|h| h.0)).map(str::to_owned);
        let second = ["kB", "reclen"].into_iter().chain(HEADS.map(|h| h.1)).map(str::to_owned);
        let _ = writeln!(out, "{}\n{}", row(first, &head_ends).trim_end(), row(second, &head_ends));
    }
    for cells in rows {
        let _ = writeln!(out, "{}", row(cells.into_iter(), &ends).trim_end());
    }
    out
}

/// The reports: one for each test that has a number.
pub fn reports(output: &Output) -> String {
    let mut out = String::new();
    let mut records: Vec<u64> = output.rows.iter().map(|r| r.record).collect();
    records.sort_unstable();
    records.dedup();
    for (column, head) in HEADS.iter().enumerate() {
        let mut files: BTreeMap<u64, BTreeMap<u64, f64>> = BTreeMap::new();
        for row in &output.rows {
            if let Some(value) = row.values[column] {
                files.entry(row.file).or_default().insert(row.record, value);
            }
        }
        if files.is_empty() {
            continue;
        }
        let heads: Vec<String> = records.iter().map(|r| format!("\"{}\"", r / 1024)).collect();
        let _ = writeln!(out, "\"{} report\"\n        {}", head.2, heads.join("  "));
        for (file, values) in &files {
            // What was not run between two that were has a place, as 0.
            let last = values.keys().next_back().copied().unwrap_or(0);
            let first = values.keys().next().copied().unwrap_or(0);
            let cells = records.iter().filter(|r| **r >= first && **r <= last);
            let cells = cells.map(|r| values.get(r).map_or("0".to_owned(), |v| number(*v, output.unit)));
            let _ = writeln!(out, "\"{}\"   {}", file / 1024, cells.collect::<Vec<_>>().join("  "));
        }
        out.push('\n');
    }
    out
}

/// The blocks of the throughput mode.
pub fn blocks(output: &Output) -> String {
    let (unit, xfer) = match output.unit {
        Unit::Operations => ("ops/sec", "ops"),
        _ => ("kB/sec", "kB"),
    };
    let mut out = String::new();
    for b in &output.blocks {
        let mut line = |what: String, value: Option<f64>, unit: &str| {
            if let Some(value) = value {
                let _ = writeln!(out, "\t{what:<47} = {value:>10.2} {unit}");
            }
        };
        let who = format!("{:2} {}", b.processes, b.name);
        line(format!("Children see throughput for {who}"), Some(b.children), unit);
        line(format!("Parent sees throughput for {who}"), b.parent, unit);
        line("Min throughput per process".into(), b.min, unit);
        line("Max throughput per process".into(), b.max, unit);
        line("Avg throughput per process".into(), b.avg, unit);
        line("Min xfer".into(), b.min_xfer, xfer);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::import::iozone::{Block, read};

    fn again(text: &str) -> Output {
        let mut d = Diagnostics::default();
        let source = d.add_source("t", text);
        read(&mut d, source).unwrap_or_else(|| panic!("{d}"))
    }

    #[test]
    fn what_is_printed_is_read_again() {
        let mut values = [None; COLUMNS];
        (values[0], values[5], values[12]) = (Some(5_169_375.0), Some(12.0), Some(123_456_789.0));
        let block =
            Block { processes: 4, name: "re-readers".into(), children: 8.5, min: Some(2.0), ..Block::default() };
        let output = Output {
            version: "3.434".into(),
            command: "lanescope iozone -a -I".into(),
            direct: true,
            rows: vec![Row { file: 1 << 30, record: 1 << 20, values }, Row { file: 1 << 16, record: 1 << 12, values }],
            blocks: vec![block],
            each: Some((1 << 20, 1 << 12)),
            ..Output::default()
        };
        let whole = head(&output, &["Auto Mode".into()]) + &table(&output) + "\n" + &blocks(&output);
        assert_eq!(again(&whole), output, "{whole}");
        for unit in [Unit::Operations, Unit::Micros] {
            let other = Output { unit, blocks: Vec::new(), each: None, ..output.clone() };
            assert_eq!(again(&(head(&other, &[]) + &table(&other))), other);
        }
    }

    #[test]
    fn reports_leave_out_what_did_not_run() {
        let one = |file: u64, record: u64| {
            let mut values = [None; COLUMNS];
            values[8] = Some(record as f64);
            Row { file, record, values }
        };
        let rows = vec![one(64 << 20, 64 << 10), one(8 << 10, 4 << 10), one(8 << 10, 8 << 10)];
        let output = Output { rows, ..Output::default() };
        let text = reports(&output);
        assert_eq!(
            text,
            "\"Stride read report\"\n        \"4\"  \"8\"  \"64\"\n\"8\"   4096  8192\n\"65536\"   65536\n\n"
        );
        let read = again(&text);
        assert_eq!(read.rows.len(), 3);
        assert!(output.rows.iter().all(|r| read.rows.contains(r)));
    }
}
