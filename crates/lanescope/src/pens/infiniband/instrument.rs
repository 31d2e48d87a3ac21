//! Tables as the instruments themselves print them, for whoever has scripts for those: the same heads, widths and
//! decimals, line by line.
//!
//! The head says whose numbers they are: they look like IMB's, but no IMB ran.

use crate::import::osu::TITLES;
use crate::import::{Block, Row, Suite, Table};
use crate::mpi::benchmark::Version;
use crate::result::{ProgramReport, ProgramRow};
use std::fmt::Write;

/// The table that the real instrument would print from these rows; none where they are of no instrument (an iteration
/// of a program).
pub fn table(report: &ProgramReport, version: Version) -> Option<Table> {
    let suite = if report.rows.first()?.name.starts_with("osu_") { Suite::Osu } else { Suite::Imb };
    let mut blocks: Vec<Block> = Vec::new();
    for row in &report.rows {
        let known = match suite {
            Suite::Osu => TITLES.iter().any(|t| t.0 == row.name),
            Suite::Imb => imb_columns(&row.name).is_some(),
        };
        if !known {
            return None;
        }
        if blocks.last().is_none_or(|b| b.name != row.name) {
            let waiting = report.ranks.saturating_sub(row.ranks);
            blocks.push(Block { name: row.name.clone(), ranks: Some(row.ranks), waiting, rows: Vec::new() });
        }
        blocks.last_mut()?.rows.push(cells(row));
    }
    Some(of_version(suite, version, blocks))
}

/// A table of a version, with these blocks.
pub(in crate::pens) fn of_version(suite: Suite, version: Version, blocks: Vec<Block>) -> Table {
    let (name, mbyte) = match (suite, version) {
        (Suite::Osu, _) => ("5.6.2", 1_000_000),
        (_, Version::Pmb) => ("2.2", version.mbyte()),
        (_, Version::Imb4) => ("4.1", version.mbyte()),
        (_, Version::Imb2017) => ("2017", version.mbyte()),
        (_, Version::Imb2018) => ("2018", version.mbyte()),
        (_, Version::Imb2019) => ("2019", version.mbyte()),
        (_, Version::Imb2021) => ("2021.2", version.mbyte()),
    };
    Table { suite, version: name.into(), mbyte, blocks }
}

fn cells(row: &ProgramRow) -> Row {
    Row {
        bytes: row.bytes,
        repetitions: Some(row.repetitions),
        t_min: Some(row.t_min),
        t_max: Some(row.t_max),
        t_avg: Some(row.t_avg),
        rate: row.rate,
        messages: row.messages_per_second,
    }
}

/// The text of a table.
pub fn text(table: &Table) -> String {
    match table.suite {
        Suite::Imb => imb(table),
        Suite::Osu => osu(table),
    }
}

/// What a column of IMB holds.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Bytes,
    Repetitions,
    Time,
    Min,
    Max,
    Avg,
    Rate,
    Messages,
}

impl Cell {
    fn head(self) -> &'static str {
        match self {
            Cell::Bytes => "#bytes",
            Cell::Repetitions => "#repetitions",
            Cell::Time => "t[usec]",
            Cell::Min => "t_min[usec]",
            Cell::Max => "t_max[usec]",
            Cell::Avg => "t_avg[usec]",
            Cell::Rate => "Mbytes/sec",
            Cell::Messages => "Msg/sec",
        }
    }
}

/// The columns that IMB-MPI1 prints for a benchmark; none where it has no such benchmark.
fn imb_columns(name: &str) -> Option<&'static [Cell]> {
    use Cell::{Avg, Bytes, Max, Messages, Min, Rate, Repetitions, Time};
    Some(match name {
        "PingPong"
        | "PingPing"
        | "PingPongSpecificSource"
        | "PingPingSpecificSource"
        | "PingPongAnySource"
        | "PingPingAnySource" => &[Bytes, Repetitions, Time, Rate],
        "Sendrecv" | "Exchange" => &[Bytes, Repetitions, Min, Max, Avg, Rate],
        "Uniband" | "Biband" => &[Bytes, Repetitions, Rate, Messages],
        "Barrier" => &[Repetitions, Min, Max, Avg],
        "Allreduce"
        | "Reduce"
        | "Reduce_scatter"
        | "Reduce_scatter_block"
        | "Allgather"
        | "Allgatherv"
        | "Gather"
        | "Gatherv"
        | "Scatter"
        | "Scatterv"
        | "Alltoall"
        | "Alltoallv"
        | "Bcast" => &[Bytes, Repetitions, Min, Max, Avg],
        _ => return None,
    })
}

/// Every column of IMB is 13 wide; a number keeps a blank before it even where it is too large for that.
const WIDTH: usize = 13;
const NUMBER: usize = WIDTH - 1;

fn imb(table: &Table) -> String {
    let pmb = table.version.starts_with("2.");
    let rule = if pmb { 51 } else { 60 };
    let suite = if pmb { "PALLAS MPI Benchmark Suite V" } else { "Intel (R) MPI Benchmarks " };
    let mut out = String::new();
    let dashes = "-".repeat(rule);
    let _ = writeln!(
        out,
        "#{dashes}\n#    lanescope, in the layout of {suite}{}, MPI-1 part    \n#{dashes}",
        table.version
    );
    let sizes = || table.blocks.iter().flat_map(|b| &b.rows).filter_map(|r| r.bytes);
    // IMB 2019 ends these lines with one blank more.
    let blank = if table.version.starts_with("20") { " " } else { "" };
    let _ = writeln!(out, "\n# Minimum message length in bytes:   {}", sizes().min().unwrap_or(0));
    let _ = writeln!(out, "# Maximum message length in bytes:   {}\n#", sizes().max().unwrap_or(0));
    let _ = writeln!(out, "# MPI_Datatype                   :   MPI_BYTE ");
    let _ = writeln!(out, "# MPI_Datatype for reductions    :   MPI_FLOAT{blank}");
    let _ = writeln!(out, "# MPI_Op                         :   MPI_SUM  \n#{blank}\n#{blank}");
    let _ = writeln!(out, "\n# List of Benchmarks to run:\n");
    for block in &table.blocks {
        let _ = writeln!(out, "# {}", block.name);
    }
    for block in &table.blocks {
        imb_block(block, table.mbyte, pmb, &mut out);
    }
    out.push_str("\n\n# All processes entering MPI_Finalize\n\n");
    out
}

fn imb_block(block: &Block, mbyte: u64, pmb: bool, out: &mut String) {
    let columns =
        imb_columns(&block.name).unwrap_or(&[Cell::Bytes, Cell::Repetitions, Cell::Min, Cell::Max, Cell::Avg]);
    let line = "-".repeat(columns.len() * WIDTH - 1);
    let _ = writeln!(out, "\n#{line}\n# Benchmarking {} ", block.name);
    let ranks = block.ranks.unwrap_or(2);
    let _ = if pmb { writeln!(out, "# ( #processes = {ranks} ) ") } else { writeln!(out, "# #processes = {ranks} ") };
    if block.waiting > 0 {
        let es = if block.waiting == 1 { "" } else { "es" };
        let _ = writeln!(out, "# ( {} additional process{es} waiting in MPI_Barrier)", block.waiting);
    }
    let _ = writeln!(out, "#{line}");
    for column in columns {
        let _ = write!(out, "{:>WIDTH$}", column.head());
    }
    out.push('\n');
    for row in &block.rows {
        let us = |t: Option<f64>| t.unwrap_or(0.0) * 1e6;
        for column in columns {
            let _ = match column {
                Cell::Bytes => write!(out, " {:>NUMBER$}", row.bytes.unwrap_or(0)),
                Cell::Repetitions => write!(out, " {:>NUMBER$}", row.repetitions.unwrap_or(0)),
                Cell::Time | Cell::Max => write!(out, " {:>NUMBER$.2}", us(row.t_max)),
                Cell::Min => write!(out, " {:>NUMBER$.2}", us(row.t_min)),
                Cell::Avg => write!(out, " {:>NUMBER$.2}", us(row.t_avg)),
                Cell::Rate => write!(out, " {:>NUMBER$.2}", row.rate.unwrap_or(0.0) / mbyte as f64),
                Cell::Messages => write!(out, " {:>NUMBER$.0}", row.messages.unwrap_or(0.0)),
            };
        }
        out.push('\n');
    }
}

/// OSU's tables: sizes to the left of 10, all else to the right of 18, iterations of 12. Collectives begin with an
/// empty line and give all columns of `-f` where there is more than the mean.
fn osu(table: &Table) -> String {
    let mut out = String::from("# lanescope, in the layout of the OSU micro-benchmarks\n");
    for block in &table.blocks {
        let title = TITLES.iter().find(|t| t.0 == block.name).map_or(block.name.as_str(), |t| t.1);
        let collective = block.rows.iter().any(|r| r.t_avg.is_some()) && !pairs(&block.name);
        if collective {
            out.push('\n');
        }
        let _ = writeln!(out, "# OSU MPI {title} v{}", table.version);
        let sized = block.rows.iter().any(|r| r.bytes.is_some());
        let full = collective && block.rows.iter().all(|r| r.t_min.and(r.t_max).and(r.repetitions).is_some());
        let rate = !collective && block.rows.iter().all(|r| r.rate.is_some());
        let many = rate && block.name == "osu_mbw_mr";
        if many {
            let pairs = block.ranks.unwrap_or(2) / 2;
            let _ = writeln!(out, "# [ pairs: {pairs} ] [ window size: 64 ]");
        }
        if sized {
            let _ = write!(out, "{:<10}", "# Size");
        }
        let head = match (collective, rate) {
            (true, _) => "Avg Latency(us)",
            (_, true) if many => "MB/s",
            (_, true) => "Bandwidth (MB/s)",
            _ => "Latency (us)",
        };
        let _ = if sized { write!(out, "{head:>18}") } else { write!(out, "# {head}") };
        if many {
            let _ = write!(out, "{:>18}", "Messages/s");
        }
        if full {
            let _ = write!(out, "{:>18}{:>18}{:>12}", "Min Latency(us)", "Max Latency(us)", "Iterations");
        }
        out.push('\n');
        for row in &block.rows {
            if sized {
                let _ = write!(out, "{:<10}", row.bytes.unwrap_or(0));
            }
            let us = |t: Option<f64>| t.unwrap_or(0.0) * 1e6;
            let value = match (collective, rate) {
                (true, _) => us(row.t_avg),
                (_, true) => row.rate.unwrap_or(0.0) / table.mbyte as f64,
                _ => us(row.t_max),
            };
            let _ = if sized { write!(out, " {value:>17.2}") } else { write!(out, "{value:>17.2}") };
            if many {
                let _ = write!(out, " {:>17.2}", row.messages.unwrap_or(0.0));
            }
            if full {
                let _ = write!(out, " {:>17.2} {:>17.2}", us(row.t_min), us(row.t_max));
                let _ = write!(out, " {:>11}", row.repetitions.unwrap_or(0));
            }
            out.push('\n');
        }
    }
    out
}

/// Whether a test of OSU is of pairs of ranks.
pub(in crate::pens) fn pairs(name: &str) -> bool {
    matches!(name, "osu_latency" | "osu_multi_lat" | "osu_bw" | "osu_bibw" | "osu_mbw_mr")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::import::instrument;
    use crate::mpi::benchmark::{Options, job, names};

    /// Rows of made-up times with two decimals.
    fn report(name: &str, ranks: u32) -> ProgramReport {
        let job = job(name, ranks, &Options::default()).expect("an instrument");
        let row = |(i, s)| {
            let us = (20 + 2 * i) as f64 * 1e-6;
            ProgramRow::new(s, 1, us, us + 2e-6, us + 1e-6)
        };
        let rows = job.sections.iter().enumerate().map(row).collect();
        ProgramReport { title: job.title, ranks, rows, ..ProgramReport::default() }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for name in names() {
            for version in [Version::Pmb, Version::Imb4, Version::Imb2019] {
                let table = table(&report(&name, 2), version).expect("an instrument's rows");
                let printed = text(&table);
                let mut diagnostics = Diagnostics::default();
                let source = diagnostics.add_source("printed", printed.clone());
                let again = instrument(&mut diagnostics, source).unwrap_or_else(|| panic!("{diagnostics}{printed}"));
                assert_eq!(diagnostics.to_string(), "", "{printed}");
                assert_eq!((again.suite, &again.version, again.mbyte), (table.suite, &table.version, table.mbyte));
                assert_eq!(text(&again), printed);
                assert_eq!(again.blocks.len(), 1);
                assert_eq!(again.blocks[0].rows.len(), table.blocks[0].rows.len());
            }
        }
    }

    #[test]
    fn rows_look_as_imb_prints_them() {
        let mut report = report("imb PingPong", 4);
        report.rows.truncate(2);
        let printed = text(&table(&report, Version::Imb4).expect("a table"));
        let block = printed.split("# PingPong\n").nth(1).expect("a block");
        // Half of 22 us; 1 B in half of 24 us.
        assert_eq!(
            block,
            "\n#---------------------------------------------------\n# Benchmarking PingPong \n# #processes = 2 \n\
             # ( 2 additional processes waiting in MPI_Barrier)\n#---------------------------------------------------\n\
             \u{20}      #bytes #repetitions      t[usec]   Mbytes/sec\n\
             \u{20}           0         1000        11.00         0.00\n\
             \u{20}           1         1000        12.00         0.08\n\n\n# All processes entering MPI_Finalize\n\n"
        );
        let pmb = text(&table(&report, Version::Pmb).expect("a table"));
        assert!(pmb.contains("# ( #processes = 2 ) \n") && pmb.contains("PALLAS MPI Benchmark Suite V2.2, MPI-1 part"));
    }

    #[test]
    fn a_program_that_is_no_instrument_has_no_such_table() {
        let row = ProgramRow { name: "is.C iteration".into(), ..ProgramRow::default() };
        let report = ProgramReport { rows: vec![row], ..ProgramReport::default() };
        assert_eq!(table(&report, Version::default()), None);
        assert_eq!(table(&ProgramReport::default(), Version::default()), None);
    }
}
