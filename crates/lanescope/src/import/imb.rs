//! What PMB and IMB print: blocks of rows, one for each benchmark and number of processes.
//!
//! "Mbytes/sec" are 2^20 bytes a second up to IMB 2017 and 10^6 from 2018 on; the rows themselves say which, since size
//! and time stand beside the rate, and they are believed before the version. Whatever else stands between the blocks
//! (greetings of launchers, comments) is passed over.

use super::table::{Block, Column, Row, Suite, Table};
use super::{Reading, beginning, lines, shown, words};
use crate::diagnostic::{Diagnostics, SourceId};

/// Reads all blocks of an output.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Table> {
    Reading::of(diagnostics, source, parse)
}

/// Bytes that the printed rate counts for each byte of the size, where the time beside it is the one that it is over.
fn counted(name: &str) -> Option<f64> {
    match name.to_ascii_lowercase().as_str() {
        "pingpong" | "pingping" => Some(1.0),
        "sendrecv" => Some(2.0),
        "exchange" => Some(4.0),
        _ => None,
    }
}

fn parse(text: &str, reading: &mut Reading) -> Option<Table> {
    let mut version = String::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    // Whether rows may come: behind a header of a block that is understood.
    let mut open = false;
    let mut rows = 0;
    for (at, line) in lines(text) {
        if reading.enough() {
            return None;
        }
        let trimmed = line.trim();
        let span = (at, at + line.len());
        if let Some(found) = version_of(trimmed) {
            version = found;
        } else if let Some(name) = trimmed.strip_prefix("# Benchmarking ") {
            open = false;
            columns.clear();
            let name = name.split_ascii_whitespace().next().unwrap_or_default();
            if name.starts_with("Multi-") {
                reading.error(span, format!("groups at once ({}) are not read", shown(name)), "run without -multi");
                continue;
            }
            blocks.push(Block { name: name.to_owned(), ranks: None, waiting: 0, rows: Vec::new() });
        } else if let Some(block) = blocks.last_mut()
            && let Some(rest) = after(trimmed, "#processes =")
        {
            block.ranks =
                rest.split(|c: char| !c.is_ascii_digit()).find(|w| !w.is_empty()).and_then(|n| n.parse().ok());
            if block.ranks.is_none_or(|n| n == 0) {
                reading.error(span, "the number of processes is not a number", "a line of IMB is `# #processes = 2`");
            }
        } else if let Some(block) = blocks.last_mut()
            && trimmed.contains("waiting in MPI_Barrier")
        {
            block.waiting = words(at, line).find_map(|w| w.1.parse().ok()).unwrap_or(0);
        } else if trimmed.starts_with("#bytes") || trimmed.starts_with("#repetitions") {
            columns = words(at, line).map(|(_, word)| column(word)).collect();
            open = !blocks.is_empty();
            if !open {
                reading.error(span, "a table without a name", "it follows a line `# Benchmarking PingPong`");
            } else if columns.contains(&Column::Other) && !line.contains("defects") {
                reading.warning(span, "columns that are not read", "only those of IMB-MPI1 are known");
            }
        } else if open && !trimmed.is_empty() && !trimmed.starts_with('#') {
            let cells: Vec<&str> = words(at, line).map(|w| w.1).collect();
            if let Some(row) = Row::of(&cells, &columns, 1) {
                rows += 1;
                if !reading.keep(row, &mut blocks, rows, span) {
                    return None;
                }
            } else if cells[0].bytes().all(|b| b.is_ascii_digit()) {
                // ` 4194304 out-of-mem.; needed ...`, or a line cut short.
                reading.warning(span, format!("no row: `{}`", shown(trimmed)), "it is left out");
            } else {
                open = false;
            }
        }
    }
    blocks.retain(|b| !b.rows.is_empty());
    if blocks.is_empty() {
        if reading.list.is_empty() {
            let hint = "an output of IMB has lines `# Benchmarking PingPong` with a table below each";
            reading.error(beginning(text, 0), "no table of PMB or IMB", hint);
        }
        return None;
    }
    let mbyte = mbyte(&version, &blocks, reading);
    for row in blocks.iter_mut().flat_map(|b| &mut b.rows) {
        row.rate = row.rate.map(|r| r * mbyte as f64);
    }
    Some(Table { suite: Suite::Imb, version, mbyte, blocks })
}

fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.starts_with('#').then(|| line.split_once(word)).flatten().map(|(_, rest)| rest)
}

/// `4.1` of `#    Intel (R) MPI Benchmarks 4.1, MPI-1 part`, `2.2` of `#    PALLAS MPI Benchmark Suite V2.2, MPI-1
/// part`.
fn version_of(line: &str) -> Option<String> {
    let rest = after(line, "MPI Benchmarks ").or_else(|| after(line, "MPI Benchmark Suite "))?;
    let version = rest.split(',').next()?.trim().trim_start_matches('V');
    (version.starts_with(|c: char| c.is_ascii_digit()) && version.len() < 40).then(|| version.to_owned())
}

fn column(word: &str) -> Column {
    match word {
        "#bytes" => Column::Bytes,
        "#repetitions" => Column::Repetitions,
        "t[usec]" | "t_max[usec]" => Column::Max,
        "t_min[usec]" => Column::Min,
        "t_avg[usec]" => Column::Avg,
        "Mbytes/sec" => Column::Rate,
        "Msg/sec" => Column::Messages,
        _ => Column::Other,
    }
}

/// Bytes in a "Mbyte": what most rows say whose rate has digits enough to tell, else what the version says, else 10^6.
fn mbyte(version: &str, blocks: &[Block], reading: &mut Reading) -> u64 {
    let said = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|v| v.parse::<u32>().ok());
    let said = said.map(|major| if major < 2018 { 1 << 20 } else { 1_000_000 });
    let mut votes = [0, 0];
    for block in blocks {
        let Some(counted) = counted(&block.name) else { continue };
        for row in &block.rows {
            let (Some(bytes), Some(time), Some(rate)) = (row.bytes, row.t_max, row.rate) else { continue };
            // Two decimals each: 2 % apart from 4.9 % needs a rate of 1 and a time of 1 us.
            if rate < 1.0 || time < 1e-6 {
                continue;
            }
            let unit = counted * bytes as f64 / time / rate;
            let off = |mbyte: f64| (unit / mbyte - 1.0).abs();
            votes[usize::from(off(1e6) < off(1048576.0))] += 1;
        }
    }
    let found = match votes {
        [0, 0] => None,
        [mib, mb] => Some(if mib > mb { 1 << 20 } else { 1_000_000 }),
    };
    let name = |mbyte: u64| if mbyte == 1 << 20 { "2^20 bytes" } else { "10^6 bytes" };
    match (found, said) {
        (Some(found), Some(said)) if found != said => {
            let message = format!("version {version} has Mbytes of {}, but the rows of {}", name(said), name(found));
            reading.warning((0, 0), message, "the rows are believed");
            found
        }
        (Some(found), _) => found,
        (None, Some(said)) => said,
        (None, None) => {
            if blocks.iter().flat_map(|b| &b.rows).any(|r| r.rate.is_some()) {
                let hint = "they are taken as 10^6 bytes, as IMB 2018 prints them; a version line tells";
                reading.warning((0, 0), "neither a version nor the rows tell what a Mbyte is", hint);
            }
            1_000_000
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Option<Table>, String) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("imb.txt", text);
        let table = read(&mut diagnostics, source);
        assert_eq!(table.is_none(), diagnostics.has_errors());
        (table, diagnostics.to_string())
    }

    const ROWS: &str = "# Benchmarking PingPong \n# #processes = 2 \n# ( 14 additional processes waiting in \
        MPI_Barrier)\n\
        #---\n       #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000       155.82         \
        0.00\n";

    #[test]
    fn a_mbyte_is_what_the_rows_say() {
        // juno, IMB 4.1: 4194304 B in 36946.39 us is 113.5 x 10^6 B/s or 108.26 MiB/s.
        let old = format!("{ROWS}      4194304           10     36946.39       108.26\n");
        let new = format!("{ROWS}      4194304           10      1378.29      3043.13\n");
        let (table, said) = with(&old);
        let table = table.expect(&said);
        assert_eq!((table.mbyte, table.version.as_str(), said.as_str()), (1 << 20, "", ""));
        assert!((table.blocks[0].rows[1].rate.expect("a rate") / 113.524e6 - 1.0).abs() < 1e-4);
        assert_eq!((table.blocks[0].ranks, table.blocks[0].waiting), (Some(2), 14));
        assert_eq!(with(&new).0.map(|t| t.mbyte), Some(1_000_000));
        let (table, said) = with(&format!("#  Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part\n{old}"));
        assert_eq!(table.map(|t| (t.mbyte, t.version)), Some((1 << 20, "2019 Update 5".into())));
        assert!(said.contains("the rows are believed"), "{said}");
        // Nothing to tell from: the version, else a word.
        let (table, _) = with(&format!("#    PALLAS MPI Benchmark Suite V2.2, MPI-1 part    \n{ROWS}"));
        assert_eq!(table.map(|t| (t.mbyte, t.version)), Some((1 << 20, "2.2".into())));
        assert!(with(ROWS).1.contains("neither a version"));
    }

    #[test]
    fn pmb_writes_its_processes_in_brackets_and_a_barrier_has_no_size() {
        let (table, said) = with(
            "# Benchmarking Barrier \n# ( #processes = 16 ) \n#---\n #repetitions  t_min[usec]  t_max[usec]  \
                t_avg[usec]\n\
             \u{20}        1000        10.00        12.00        11.00\n",
        );
        let table = table.expect(&said);
        let row = table.blocks[0].rows[0];
        assert_eq!((table.blocks[0].ranks, row.bytes, row.repetitions), (Some(16), None, Some(1000)));
        assert_eq!((row.t_min, row.t_max, row.t_avg), (Some(10e-6), Some(12e-6), Some(11e-6)));
    }

    #[test]
    fn what_is_no_table_is_said() {
        assert!(with("").1.contains("no table of PMB or IMB"));
        assert!(with("hello\n").1.contains("imb.txt:1:1"));
        assert!(with("#bytes #repetitions t[usec]\n1 2 3\n").1.contains("a table without a name"));
        assert!(with("# Benchmarking Multi-PingPong\n").1.contains("-multi"));
        assert!(with("# Benchmarking PingPong\n# #processes = many\n").1.contains("is not a number"));
        let (table, said) =
            with(&format!("{ROWS}      1048576  out-of-mem.; needed X=   4.0 GB\nmpirun: bye 1 2 3\n 1 2 3 4\n"));
        assert_eq!(table.map(|t| t.blocks[0].rows.len()), Some(1));
        assert!(said.contains("imb.txt:7:1: warning: no row"), "{said}");
        let noise = format!("{ROWS}{}", "1 x\n".repeat(100_000));
        let (table, said) = with(&noise);
        assert!(table.is_none() && said.contains("too many warnings"), "{said}");
        assert_eq!(said.lines().count(), 21);
    }
}
