//! Files of fio and of IOzone, from anywhere.

use super::machine::{MACHINE, machine};
use super::programs::read;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::{fio, iozone};
use lanescope::pens::{self, Paint};

/// fio's job files; what is read becomes scenarios that can be read, too.
pub fn fio_job(data: &[u8]) -> bool {
    let mut files = |name: &str| match name {
        "a" => Ok("bs=8k\ninclude a\n".to_owned()),
        _ => Err("there is none".to_owned()),
    };
    let tolerant = read(data, |d, s| fio::job::read(d, s, true, &mut files));
    let strict = read(data, |d, s| fio::job::read(d, s, false, &mut files));
    assert!(strict.is_none() || tolerant == strict, "what needs no tolerance is the same with it");
    let Some(file) = tolerant else { return false };
    for full in [false, true] {
        let mut diagnostics = Diagnostics::default();
        let map: Vec<(String, String)> =
            fio::files(&file).into_iter().skip(2).map(|f| (f, "lun.0".to_owned())).collect();
        let Some(runs) = fio::runs(&mut diagnostics, &file, &machine(), &map, full) else {
            assert!(diagnostics.has_errors());
            continue;
        };
        let clones: u32 = file.jobs.iter().map(|j| j.clones).sum();
        assert_eq!(runs.iter().map(|r| r.threads.len()).sum::<usize>(), clones as usize);
        for run in runs.iter().take(4).filter(|r| r.threads.len() <= 64) {
            let (plan, diagnostics) = super::plan(&format!("{MACHINE}\n{}", run.test.text), &[]);
            // An I/O may be larger than what its region has behind an offset; all else is right.
            let said = diagnostics.to_string();
            assert!(plan.is_some() || said.contains("in a range of"), "{said}\n{}", run.test.text);
        }
    }
    strict.is_some()
}

/// fio's JSON; what is read can be printed and read again.
pub fn fio_json(data: &[u8]) -> bool {
    let Some(output) = read(data, fio::json::read) else { return false };
    for plus in [false, true] {
        let text = pens::fio::json(&output, plus);
        let again = read(text.as_bytes(), fio::json::read).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(again.entries.len(), output.entries.len(), "{text}");
        for (a, b) in again.entries.iter().zip(&output.entries) {
            assert_eq!((&a.name, a.group), (&b.name, b.group));
            assert_eq!(a.sides.each_ref().map(|s| (s.ios, s.bytes)), b.sides.each_ref().map(|s| (s.ios, s.bytes)));
        }
    }
    let _ = pens::fio::text(&output, Paint::TERMINAL);
    fio_job(fio::json::load_of(&output).as_bytes());
    true
}

/// IOzone's outputs; what is read can be printed and read again.
pub fn iozone(data: &[u8]) -> bool {
    let Some(output) = read(data, iozone::read) else { return false };
    if !output.rows.is_empty() {
        let text = pens::iozone::head(&output, &[]) + &pens::iozone::table(&output);
        let again = read(text.as_bytes(), iozone::read).unwrap_or_else(|| panic!("{text}"));
        assert!(again.rows.len() <= output.rows.len(), "{text}");
    }
    if !output.blocks.is_empty() {
        let text = pens::iozone::blocks(&output);
        let again = read(text.as_bytes(), iozone::read).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(again.blocks.len(), output.blocks.len(), "{text}");
    }
    let _ = pens::iozone::reports(&output);
    for row in output.rows.iter().take(64) {
        for (_, rung) in iozone::measures(row.file, row.record, output.direct, 0..iozone::COLUMNS) {
            let test = iozone::tests(&rung, "host", "lun.0", 1 << 30);
            assert!(test.text.contains("[flows.p0]"));
        }
    }
    true
}
