//! Real set-ups and results of Iometer. They lie in the shared folder; where it is not there, their tests are skipped and say so.

use lanescope::diagnostic::Diagnostics;
use lanescope::import::iometer::{Setup, icf};
use std::path::{Path, PathBuf};

/// The folder of files of Iometer, or `None` and a word about it.
fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/iometer");
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

fn text(name: &str) -> Option<String> {
    fixtures().map(|f| std::fs::read_to_string(f.join(name)).expect("a text"))
}

fn read(text: &str, tolerant: bool) -> (Option<Setup>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("a.icf", text);
    let setup = icf::read(&mut diagnostics, source, tolerant);
    assert_eq!(setup.is_none(), diagnostics.has_errors(), "{diagnostics}");
    (setup, diagnostics)
}

#[test]
fn all_set_ups_are_read_and_written() {
    let Some(folder) = fixtures() else { return };
    let mut faulty = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "icf") {
            continue;
        }
        seen += 1;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let original = std::fs::read_to_string(&path).expect("a text");
        let (strict, _) = read(&original, false);
        let (setup, said) = read(&original, true);
        let setup = setup.unwrap_or_else(|| panic!("{name}: {said}"));
        println!("{name}: {} {said}", if strict.is_some() { "strict" } else { "tolerant" });
        if strict.is_none() {
            faulty.push(name.clone());
        }
        let written = icf::write(&setup);
        let (again, said) = read(&written, false);
        assert_eq!(icf::write(&again.unwrap_or_else(|| panic!("{name}: {said}"))), written);
        // What Iometer 1.1.0 itself wrote comes out byte by byte.
        if name.starts_with("nvme") || name.starts_with("eilerjc-smoke") {
            assert_eq!(written, original, "{name}");
        }
    }
    assert_eq!(seen, 14);
    // A key of before 1999 in a file of 1.1.0.
    assert_eq!(faulty, ["eilerjc-ancient_default_workers.icf"]);
}

#[test]
fn a_set_up_that_is_cut_anywhere_is_no_set_up() {
    let Some(text) = text("eilerjc-two_managers_run.icf") else { return };
    for end in (0..text.len()).filter(|&e| text.is_char_boundary(e)) {
        let (setup, said) = read(&text[..end], false);
        let complete = text[..end].trim_end() == text.trim_end();
        assert_eq!(setup.is_some(), complete, "cut at {end}: {said}");
        let _ = read(&text[..end], true);
    }
}

/// Bytes without sense, but with the characters that lines and keys are made of.
fn noise(bytes: usize) -> String {
    let words = [
        "'",
        "\n",
        "Version 1.1.0\n",
        "'Target\n\t",
        "Access",
        ",",
        "DISK",
        "7",
        " ",
        "'Worker\n",
        "ß",
        "'END manager list\n",
        "'MANAGER LIST",
    ];
    let (mut state, mut out) = (1u64, String::with_capacity(bytes + 32));
    while out.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.push_str(words[(state >> 33) as usize % words.len()]);
    }
    out
}

#[test]
fn noise_is_refused_at_once() {
    let text = noise(4 << 20);
    let begin = std::time::Instant::now();
    for text in [
        text.as_str(),
        &text.replace('\n', " "),
        &text.replace('\'', ""),
        &"\n".repeat(4 << 20),
        &"'\n".repeat(2 << 20),
    ] {
        let (setup, said) = read(text, false);
        assert!(setup.is_none() && said.count() <= 40, "{said}");
        let _ = read(text, true);
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn real_results_come_out_as_they_were() {
    use lanescope::import::iometer::csv::{self, Column, Form, RowKind};
    let Some(text) = text("pliant-ls300s-qd-sweep-results.csv") else { return };
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("a.csv", text.as_str());
    let results = csv::read(&mut diagnostics, source).unwrap_or_else(|| panic!("{diagnostics}"));
    assert!(csv::write(&results, Form::Columns56) == text, "the file is not what was read");
    let [block] = results.blocks.as_slice() else { panic!("{} runs", results.blocks.len()) };
    assert_eq!((block.test_type, block.version.as_str(), block.tests.len()), (6, "2008.06.18", 64));
    assert_eq!(block.tests.iter().filter(|t| !t.specs.is_empty()).count(), 8);
    for test in &block.tests {
        let row = test.rows.iter().find(|r| r.kind == RowKind::Manager).expect("a manager");
        let get = |c| row.get(c).expect("a value");
        // Little's law, and the rules by which columns follow from others.
        let little = get(Column::Iops) * get(Column::Average) / 1e3 / get(Column::QueueDepth);
        assert!((0.9966..1.0001).contains(&little), "{little}");
        let ticks = get(Column::RawRunTime) / get(Column::ProcessorSpeed);
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{a}, not {b}");
        near((get(Column::Reads) + get(Column::Writes)) / ticks, get(Column::Iops));
        near((get(Column::BytesRead) + get(Column::BytesWritten)) / ticks / 1048576.0, get(Column::MibPerSecond));
        near(get(Column::Iops) / get(Column::Cpu), get(Column::Effectiveness));
        let raw = get(Column::RawRead) + get(Column::RawWrite);
        near(
            raw / get(Column::ProcessorSpeed) / (get(Column::Reads) + get(Column::Writes)) * 1e3,
            get(Column::Average),
        );
        let processors = test.rows.iter().filter(|r| r.kind == RowKind::Processor).filter_map(|r| r.get(Column::Cpu));
        near(processors.sum::<f64>() / 8.0, get(Column::Cpu));
    }
}

/// The old set-ups say what the new ones say.
#[test]
fn old_forms_mean_the_same() {
    let Some(old) = text("eilerjc-oldformat_specs.icf") else { return };
    let (setup, said) = read(&old, false);
    let setup = setup.unwrap_or_else(|| panic!("{said}"));
    // Without a name: the one that workers call so.
    let spec = &setup.specs[0];
    assert_eq!((spec.name.as_str(), spec.lines[0].size.0, spec.lines[0].read), ("2 KiB random 67% reads", 2048, 6_700));
    let rich = text("eilerjc-worker_rich.icf").unwrap_or_default();
    let (setup, said) = read(&rich, false);
    let setup = setup.unwrap_or_else(|| panic!("{said}"));
    let w = &setup.managers[0].workers[0];
    assert_eq!((w.outstanding, w.transactions_per_connection, w.fixed_seed), (8, Some(5), Some(12345)));
    assert_eq!((w.maximum_size, w.starting_sector, w.data_pattern), (1024, 64, 1));
}
