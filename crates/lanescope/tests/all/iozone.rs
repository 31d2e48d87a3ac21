//! Outputs of real IOzones (`fixtures/iozone`): read, and printed again.
//!
//! Most files lie in the shared folder; where it is not there, their tests are skipped and say so.

use crate::common::fixture;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::iozone::{self, Output, Unit};
use lanescope::pens;

fn read(name: &str) -> Option<(String, Output, String)> {
    let text = std::fs::read_to_string(fixture(&format!("iozone/{name}"))?).expect("a text");
    let (output, said) = of(&text);
    Some((text, output.unwrap_or_else(|| panic!("{said}")), said))
}

fn of(text: &str) -> (Option<Output>, String) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("iozone.txt", text);
    let output = iozone::read(&mut diagnostics, source);
    assert_eq!(output.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (output, diagnostics.to_string())
}

#[test]
fn whole_tables_are_read() {
    for (name, version, rows) in [
        ("ext4_1.iozone", "3.327", 156),
        ("ext4_2.iozone", "3.327", 156),
        ("xfs1.iozone", "3.327", 156),
        ("iozone2csv-sample.out", "3.434", 8),
    ] {
        let Some((text, output, said)) = read(name) else { return };
        assert_eq!((said.as_str(), output.version.as_str(), output.unit), ("", version, Unit::Kib), "{name}");
        let printed = text.lines().filter(|l| l.trim_start().starts_with(|c: char| c.is_ascii_digit())).count();
        assert_eq!(output.rows.len(), printed, "{name}");
        assert!(output.rows.len() == rows || rows == 156, "{name}: {}", output.rows.len());
        assert!(output.command.contains(" -a ") && !output.direct);
        // All 13 tests ran.
        assert!(output.rows.iter().all(|r| r.values.iter().all(Option::is_some)), "{name}");
    }
    let Some((_, ext4, _)) = read("ext4_1.iozone") else { return };
    let first = &ext4.rows[0];
    assert_eq!(
        (first.file, first.record, first.values[0], first.values[12]),
        (4096, 4096, Some(200_191.0), Some(67_977.0))
    );
    // Small records of large files are not there.
    assert!(ext4.rows.iter().all(|r| r.file < 32 << 20 || r.record >= 64 << 10));
    // The ladder is what `-n 4k -g 4096m` runs.
    let ladder = iozone::ladder((4 << 10, 4096 << 20), (4 << 10, 16 << 20), false);
    assert_eq!(ext4.rows.iter().map(|r| (r.file, r.record)).collect::<Vec<_>>(), ladder);
}

#[test]
fn a_table_is_printed_to_the_byte() {
    let Some((text, output, _)) = read("iozone2csv-sample.out") else { return };
    let rows = |s: &str| -> Vec<String> {
        let table = s.lines().skip_while(|l| !l.trim_start().starts_with("random"));
        table.map(|l| l.trim_end().to_owned()).take_while(|l| !l.is_empty()).collect()
    };
    assert_eq!(rows(&pens::iozone::table(&output)), rows(&text));
}

#[test]
fn reports_are_read_and_printed_again() {
    let Some((_, output, said)) = read("iozone-renderer-auto.txt") else { return };
    assert_eq!(said, "");
    // 64 KiB to 4 MiB: 5 to 11 sizes of records.
    assert_eq!(output.rows.len(), (5..=11).sum::<usize>());
    assert!(output.rows.iter().all(|r| r.values.iter().all(Option::is_some)));
    assert_eq!(output.rows[0].values[0], Some(581_273.0));
    let (again, said) = of(&pens::iozone::reports(&output));
    assert_eq!(again.unwrap_or_else(|| panic!("{said}")).rows, output.rows);
}

#[test]
fn notes_around_tables_are_passed_over() {
    let Some((_, output, said)) = read("iozone-rtems-benchmarks.txt") else { return };
    assert!(output.rows.iter().all(|r| r.values.iter().all(Option::is_some)), "{said}");
    assert!(output.rows.len() >= 10 && output.rows.iter().all(|r| (r.record, r.file) == (4096, 512 << 10)));
    assert!(said.contains("(opt"), "{said}");
}

#[test]
fn throughput_blocks_are_read_and_printed_again() {
    let Some((_, output, said)) = read("s3fs-issue779-throughput-mode-excerpt.txt") else { return };
    assert_eq!(said, "");
    let names: Vec<_> = output.blocks.iter().map(|b| (b.processes, b.name.as_str())).collect();
    assert_eq!(names, [(1, "re-readers"), (1, "reverse readers")]);
    assert_eq!((output.blocks[0].parent, output.blocks[1].min_xfer), (Some(2_512_159.94), Some(262_144.0)));
    let (again, _) = of(&pens::iozone::blocks(&output));
    assert_eq!(again.map(|a| a.blocks), Some(output.blocks));
}

#[test]
fn an_output_cut_anywhere_ends_in_an_answer_or_a_refusal() {
    for name in ["ext4_1.iozone", "iozone-renderer-auto.txt", "iozone2csv-sample.out"] {
        let Some((text, whole, _)) = read(name) else { return };
        for at in (0..text.len()).step_by(text.len() / 211) {
            let (output, _) = of(&text[..at]);
            assert!(output.is_none_or(|o| o.rows.len() <= whole.rows.len()), "{name}: {at}");
        }
    }
    for text in ["\u{0}7 \"".repeat(1 << 20), "1 2\n".repeat(1 << 18), "\"Writer report\"\n\"4\"\n".repeat(1 << 16)] {
        let _ = of(&text);
    }
}
