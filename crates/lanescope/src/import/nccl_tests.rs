//! Tables of nccl-tests and rccl-tests: a time and a bus bandwidth for each size.
//!
//! ```text
//! #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//!      1048576        262144     float     sum      -1    52.51   19.97   34.95      0    51.70   20.28   35.49      0
//! ```
//! Times are in us, rates in GB/s of 10^9 bytes (doc/PERFORMANCE.md there). Columns before the first time differ
//! between tests and versions; the first time and busbw are those out of place.

use super::{Diagnostics, Reading, SourceId};
use serde::Serialize;

/// Tests, the longest names first where one is a part of another's.
const TESTS: [&str; 6] = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"];

/// One size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Bytes.
    pub bytes: u64,
    /// Seconds.
    pub time: f64,
    /// Bytes per second.
    pub busbw: f64,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The collective, where the text says it.
    pub test: Option<&'static str>,
    /// Ranks, where the text lists them.
    pub ranks: u32,
    /// Sizes.
    pub rows: Vec<Row>,
}

/// Whether a text is such a table.
pub fn is(text: &str) -> bool {
    text.lines().take(5000).any(|l| l.starts_with('#') && l.contains("algbw") && l.contains("busbw"))
}

/// Reads the first table of a text; an error where it has no row.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Table> {
    Reading::of(diagnostics, source, |text, reading| {
        let table = table(text);
        if table.rows.is_empty() {
            reading.error((0, 0), "no row of nccl-tests", "a line of a size with its time, algbw and busbw");
            return None;
        }
        Some(table)
    })
}

fn table(text: &str) -> Table {
    let mut t = Table::default();
    let mut columns: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((before, _)) = line.split_once("_perf") {
            t.test = t.test.or(TESTS.into_iter().find(|name| before.ends_with(name)));
        }
        if line.starts_with('#') && line.contains("Rank ") && line.contains(" device ") {
            t.ranks += 1;
        } else if line.contains("algbw") && line.contains("busbw") {
            if !t.rows.is_empty() {
                break;
            }
            columns =
                line.trim_start_matches(['#', ' ']).split_ascii_whitespace().skip_while(|w| *w != "time").collect();
        } else if !line.starts_with('#') && t.rows.len() < super::MOST_ROWS {
            t.rows.extend(row(line, &columns));
        }
    }
    t
}

fn row(line: &str, columns: &[&str]) -> Option<Row> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let bytes = words.first()?.parse().ok().filter(|b| *b > 0)?;
    let tail = &words[words.len().checked_sub(columns.len()).filter(|n| *n > 0)?..];
    let of = |name: &str| {
        let value: f64 = tail.get(columns.iter().position(|c| *c == name)?)?.parse().ok()?;
        Some(value).filter(|v| v.is_finite() && *v >= 0.0)
    };
    Some(Row { bytes, time: of("time")? * 1e-6, busbw: of("busbw")? * 1e9 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# nccl-tests version 2.13\n$ ./all_reduce_perf -b 1M -e 2M -f 2 -g 8\n\
        #  Rank  0 Group  0 Pid   4242 on      node1 device  0 [0000:0f:00] NVIDIA H100\n\
        #  Rank  1 Group  0 Pid   4242 on      node1 device  1 [0000:10:00] NVIDIA H100\n\
        #  size  count  type  redop  root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n\
        #   (B)  (elements)               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n\
         1048576 262144 float   sum    -1    52.51   19.97   34.95      0    51.70   20.28   35.49      0\n\
         2097152 524288 float   sum    -1    61.00   34.38   60.16    N/A    60.70   34.55   60.46    N/A\n\
        # Avg bus bandwidth    : 47.7\n";

    #[test]
    fn rows_are_those_out_of_place() {
        let t = table(TEXT);
        assert_eq!((t.test, t.ranks, t.rows.len()), (Some("all_reduce"), 2, 2));
        assert!((t.rows[0].time - 52.51e-6).abs() < 1e-12 && (t.rows[1].busbw - 60.16e9).abs() < 1.0);
        assert!(is(TEXT) && !is("fio-3.36"));
        assert_eq!(table("").rows.len(), 0);
    }
}
