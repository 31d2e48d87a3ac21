//! What the OSU micro-benchmarks print: a line with the test's title and version, a line of column heads, rows. Mbytes
//! are 10^6 bytes.

use super::table::{Block, Column, Row, Suite, Table};
use super::{Reading, beginning, lines, shown, words};
use crate::diagnostic::{Diagnostics, SourceId};

/// Titles as they are printed, without `OSU MPI` and version, and the program that prints each.
pub(crate) const TITLES: &[(&str, &str)] = &[
    ("osu_latency", "Latency Test"),
    ("osu_multi_lat", "Multi Latency Test"),
    ("osu_bw", "Bandwidth Test"),
    ("osu_bibw", "Bi-Directional Bandwidth Test"),
    ("osu_mbw_mr", "Multiple Bandwidth / Message Rate Test"),
    ("osu_allreduce", "Allreduce Latency Test"),
    ("osu_reduce", "Reduce Latency Test"),
    ("osu_reduce_scatter", "Reduce_scatter Latency Test"),
    ("osu_allgather", "Allgather Latency Test"),
    ("osu_gather", "Gather Latency Test"),
    ("osu_scatter", "Scatter Latency Test"),
    ("osu_alltoall", "All-to-All Personalized Exchange Latency Test"),
    ("osu_bcast", "Broadcast Latency Test"),
    ("osu_barrier", "Barrier Latency Test"),
];

/// Heads of columns.
const HEADS: [(&str, Column); 11] = [
    ("Size", Column::Bytes),
    ("Avg Latency(us)", Column::Avg),
    ("Avg Lat(us)", Column::Avg),
    ("Min Latency(us)", Column::Min),
    ("Max Latency(us)", Column::Max),
    ("Latency (us)", Column::Max),
    ("Latency(us)", Column::Max),
    ("Bandwidth (MB/s)", Column::Rate),
    ("MB/s", Column::Rate),
    ("Messages/s", Column::Messages),
    ("Iterations", Column::Repetitions),
];

/// Reads all tables of an output.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Table> {
    Reading::of(diagnostics, source, parse)
}

fn parse(text: &str, reading: &mut Reading) -> Option<Table> {
    let mut version = String::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    let mut rows = 0;
    for (at, line) in lines(text) {
        if reading.enough() {
            return None;
        }
        let span = (at, at + line.len());
        let trimmed = line.trim();
        if let Some(title) = trimmed.strip_prefix("# OSU ") {
            columns.clear();
            let (title, said) = match title.rsplit_once(" v") {
                Some((title, v)) if v.starts_with(|c: char| c.is_ascii_digit()) && v.len() < 40 => (title, v),
                _ => (title, ""),
            };
            version = said.to_owned();
            // `MPI`, or `MPI-CUDA` and the like where buffers lie elsewhere.
            let test = title.split_once(' ').map_or(title, |(_, test)| test).trim();
            let known = TITLES.iter().find(|t| t.1 == test).map(|t| t.0);
            if known.is_none() {
                reading.warning(span, format!("unknown test `{}`", shown(test)), "its rows are read all the same");
            }
            let name = known.unwrap_or(test).chars().take(60).collect();
            blocks.push(Block { name, ranks: None, waiting: 0, rows: Vec::new() });
        } else if let Some(heads) = trimmed.strip_prefix('#') {
            match (columns_of(heads), blocks.is_empty()) {
                (Some(_), true) => reading.error(span, "a table without a name", "it follows a line `# OSU MPI ...`"),
                (Some(found), false) => columns = found,
                // `# [ pairs: 1 ] [ window size: 64 ]` and other remarks.
                (None, _) => {}
            }
        } else if !columns.is_empty() && !trimmed.is_empty() {
            let cells: Vec<&str> = words(at, line).map(|w| w.1).collect();
            if let Some(row) = Row::of(&cells, &columns, 1_000_000) {
                rows += 1;
                if !reading.keep(row, &mut blocks, rows, span) {
                    return None;
                }
            } else if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                reading.warning(span, format!("no row: `{}`", shown(trimmed)), "it is left out");
            } else {
                columns.clear();
            }
        }
    }
    blocks.retain(|b| !b.rows.is_empty());
    if blocks.is_empty() {
        if reading.list.is_empty() {
            let hint = "an output of OSU has a line `# OSU MPI Latency Test v5.6.2` with a table below";
            reading.error(beginning(text, 0), "no table of the OSU micro-benchmarks", hint);
        }
        return None;
    }
    Some(Table { suite: Suite::Osu, version, mbyte: 1_000_000, blocks })
}

/// The columns of a line of heads, or none where it is a remark.
fn columns_of(heads: &str) -> Option<Vec<Column>> {
    let mut rest = heads.trim();
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let (head, column) = HEADS.iter().find(|h| rest.starts_with(h.0))?;
        columns.push(*column);
        rest = rest[head.len()..].trim_start();
    }
    (!columns.is_empty()).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Option<Table>, String) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("osu.txt", text);
        let table = read(&mut diagnostics, source);
        assert_eq!(table.is_none(), diagnostics.has_errors());
        (table, diagnostics.to_string())
    }

    #[test]
    fn tests_are_told_by_their_titles() {
        for (name, title) in TITLES {
            let text =
                format!("\n# OSU MPI {title} v5.6.2\n# Size          Latency (us)\n8                       1.38\n");
            let (table, said) = with(&text);
            let table = table.expect(&said);
            assert_eq!((table.blocks[0].name.as_str(), table.version.as_str()), (*name, "5.6.2"));
            assert_eq!(table.blocks[0].rows, [Row { bytes: Some(8), t_max: Some(1.38e-6), ..Row::default() }]);
        }
        let (table, said) = with("# OSU MPI-CUDA Latency Test v7.1\n# Size  Latency (us)\n1 2.0\n");
        assert_eq!(table.expect(&said).blocks[0].name, "osu_latency");
        let (table, said) = with("# OSU MPI Teleport Test v9\n# Size  Latency (us)\n1 2.0\n");
        assert_eq!(table.expect(&said).blocks[0].name, "Teleport Test");
        assert!(said.contains("unknown test"));
    }

    #[test]
    fn full_listings_rates_and_barriers_are_read() {
        let (table, said) = with(
            "# OSU MPI Allreduce Latency Test v5.6.2\n\
             # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4 2.00 1.00 3.00 1000\n",
        );
        let row = table.expect(&said).blocks[0].rows[0];
        assert_eq!((row.t_avg, row.t_min, row.t_max), (Some(2e-6), Some(1e-6), Some(3e-6)));
        assert_eq!(row.repetitions, Some(1000));
        let (table, said) = with(
            "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n# [ pairs: 2 ] [ window size: 64 ]\n\
             # Size                  MB/s        Messages/s\n1 9.18 9180000.00\n",
        );
        let row = table.expect(&said).blocks[0].rows[0];
        assert_eq!((row.rate.map(f64::round), row.messages), (Some(9.18e6), Some(9.18e6)));
        let (table, said) = with("# OSU MPI Barrier Latency Test v5.6.2\n# Avg Latency(us)\n             3.50\n");
        let row = table.expect(&said).blocks[0].rows[0];
        assert_eq!((row.bytes, row.t_avg), (None, Some(3.5e-6)));
    }

    #[test]
    fn what_is_no_table_is_said() {
        assert!(with("hello").1.contains("no table of the OSU"));
        assert!(with("# Size Latency (us)\n1 2\n").1.contains("without a name"));
        let head = "# OSU MPI Latency Test v5.6.2\n# Size Latency (us)\n1 2.0\n";
        let (table, said) = with(&format!("{head}2 -3.0\n4 inf\nKilled 9\n8 1.0\n"));
        assert_eq!(table.expect(&said).blocks[0].rows.len(), 1);
        assert!(said.contains("osu.txt:4:1: warning: no row: `2 -3.0`") && said.contains("`4 inf`"), "{said}");
        let (table, said) = with(&format!("{head}{}", "9 x\n".repeat(50_000)));
        assert!(table.is_none() && said.lines().count() == 21);
    }
}
