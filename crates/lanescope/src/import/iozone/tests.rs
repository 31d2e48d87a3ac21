#![cfg(test)]

use super::*;

const OLD: &str = "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     \
    read   fwrite frewrite   fread  freread";

fn with(text: &str) -> (Option<Output>, String) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("iozone.txt", text);
    let output = read(&mut diagnostics, source);
    assert_eq!(output.is_none(), diagnostics.has_errors());
    (output, diagnostics.to_string())
}

#[test]
fn blank_cells_are_seen_by_their_columns() {
    let text = format!(
        "\tCommand line used: iozone -a -i 0 -i 2\n\tOutput is in Kbytes/sec\n{OLD}\n\
         {:>16}{:>8}{:>8}{:>8}{:>9}{:>9}{:>8}{:>8}\n{:>16}{:>8}{:>8}{:>8}{:>26}\n",
        64, 4, 1000, 2000, "", "", 30, 40, 64, 8, 1, 2, 5
    );
    let (output, said) = with(&text);
    let output = output.expect(&said);
    assert_eq!((output.command.as_str(), output.unit, said.as_str()), ("iozone -a -i 0 -i 2", Unit::Kib, ""));
    let row = &output.rows[0];
    assert_eq!((row.file, row.record), (65536, 4096));
    assert_eq!(row.values[..7], [Some(1000.0), Some(2000.0), None, None, Some(30.0), Some(40.0), None]);
    assert_eq!(output.rows[1].values[..6], [Some(1.0), Some(2.0), None, None, Some(5.0), None]);
    // Between two columns.
    let (output, said) = with(&format!("{OLD}\n{:>16}{:>8}{:>8}\n{:>16}{:>8}{:>12}\n", 64, 4, 1, 64, 4, 7));
    assert_eq!(output.expect(&said).rows.len(), 1);
    assert!(said.contains("7 is below no header"), "{said}");
}

#[test]
fn reports_are_put_together() {
    let text = "\"Writer report\"\n        \"4\"  \"8\"  \"64\"\n\"8\"   10  20\n\"64\"   30  40  50\n\"65536\"   \
        60\n\n\
                \"Stride read report\"\n \"4\" \"8\" \"64\"\n\"8\" 1 2\n\"64\" 3 4\n";
    let (output, said) = with(text);
    let rows = output.expect(&said).rows;
    assert_eq!(rows.len(), 6);
    assert_eq!(
        (rows[1].file, rows[1].record, rows[1].values[0], rows[1].values[8]),
        (8192, 8192, Some(20.0), Some(2.0))
    );
    // Records below 64 KiB are left out of large files.
    assert_eq!((rows[5].record, rows[5].values[0]), (65536, Some(60.0)));
    assert!(said.contains("2 numbers for 3 sizes"), "{said}");
}

#[test]
fn throughput_and_units_are_read() {
    let text = "\tOPS Mode. Output is in operations per second.\n\tRecord Size 8 kB\n\tFile size set to 1024 kB\n\
                \tChildren see throughput for  4 initial writers \t=   400.00 ops/sec\n\
                \tParent sees throughput for  4 initial writers \t=   390.00 ops/sec\n\
                \tMin throughput per process \t\t\t=    90.00 ops/sec\n\tMin xfer \t= 100.00 ops\n";
    let (output, said) = with(text);
    let output = output.expect(&said);
    let block = &output.blocks[0];
    assert_eq!((output.unit, output.each), (Unit::Operations, Some((1 << 20, 8192))));
    assert_eq!(
        (block.processes, block.name.as_str(), block.parent, block.min),
        (4, "initial writers", Some(390.0), Some(90.0))
    );
    assert_eq!(measure(&output, block).map(|r| (r.kind, r.processes, r.file)), Some((Kind::Write, 4, 1 << 20)));
    assert_eq!((Unit::Operations.rate(10.0, 4096), Unit::Micros.rate(100.0, 1000)), (40960.0, 1e7));
    assert_eq!(Unit::Micros.of_rate(1e7, 1000), 100.0);
}

#[test]
fn ladders_are_those_of_auto_mode() {
    let all = ladder((64 << 10, 512 << 20), (4 << 10, 16 << 20), false);
    // 5, 6, ... 13 records up to 16 MiB, then 9 from 64 KiB on.
    assert_eq!(all.len(), (5..=13).sum::<usize>() + 5 * 9);
    assert_eq!((all[0], all[5]), ((65536, 4096), (131072, 4096)));
    assert_eq!(ladder((32 << 20, 32 << 20), (32 << 10, 64 << 10), true).len(), 2);
    assert!(ladder((8, 4), (1, u64::MAX), false).is_empty());
}

#[test]
fn what_is_no_output_is_said() {
    for text in ["", "hello", "KB reclen", OLD, "\"Writer report\"\n\"4\"\n"] {
        let (output, said) = with(text);
        assert!(output.is_none() && said.contains("no output of IOzone"), "{text}: {said}");
    }
    let (output, _) = with(&format!("{OLD}\n{}", "64 4 x\n".repeat(50_000)));
    assert!(output.is_none());
}
