//! Files of instruments of storage, from anywhere.

use super::programs::read;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::iometer::{csv, cycle, icf, tests};
use lanescope::import::{Host, Machine, Volume};
use lanescope::units::Bytes;

/// Set-ups of Iometer: what is read is written so that it is read again, and asks for so many tests.
pub fn icf(data: &[u8]) -> bool {
    let strict = read(data, |d, s| icf::read(d, s, false));
    let tolerant = read(data, |d, s| icf::read(d, s, true));
    assert!(strict.is_none() || strict == tolerant, "a tolerant reader reads more, not else");
    let Some(setup) = tolerant else { return false };
    let text = icf::write(&setup);
    let again = read(text.as_bytes(), |d, s| icf::read(d, s, true)).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(icf::write(&again), text);
    assert!(cycle::steps(&setup).map_or(0, |s| s.len()) <= cycle::MOST_TESTS);
    let volume = |i: usize| Volume { name: format!("drive.{i}"), capacity: Bytes(1 << 30), nvme: false, trims: false };
    let host = |i: usize| Host { name: format!("host.{i}"), volumes: (0..4).map(volume).collect() };
    let machine = Machine { hosts: (0..4).map(host).collect(), stations: vec!["a".into(), "b".into()] };
    let mut diagnostics = Diagnostics::default();
    let found = tests(&mut diagnostics, &setup, &machine, &[]);
    assert_eq!(found.is_none(), diagnostics.has_errors());
    strict.is_some()
}

/// Results of Iometer: what is read is written so that it says the same.
pub fn iometer_csv(data: &[u8]) -> bool {
    let Some(results) = read(data, csv::read) else { return false };
    for form in [csv::Form::Columns56, csv::Form::Columns80] {
        let text = csv::write(&results, form);
        let again = read(text.as_bytes(), csv::read).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(csv::write(&again, form), text);
    }
    true
}
