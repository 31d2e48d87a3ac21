//! Measured numbers beside expected ones: verdicts in both directions, and what would explain what is low.

use super::{host, ours};
use lanescope::explain::{Explained, explain, measured};

fn compared(text: &str) -> Explained {
    let host = host(&ours("epyc-4gpu-e12/host.md"));
    let mut report = explain(&host);
    let rows = measured::read("numbers", text).unwrap_or_else(|e| panic!("{e}"));
    measured::compare(&host, &mut report, rows);
    report
}

fn verdict(line: &str) -> (String, String) {
    let report = compared(line);
    assert_eq!(report.measured.len(), 1, "{:#?}", report.measured);
    (report.measured[0].verdict.clone(), report.measured[0].because.clone())
}

#[test]
fn verdicts_go_both_ways() {
    assert_eq!(verdict("gpu0 to memory,26.9").0, "as expected");
    assert_eq!(verdict("gpu0 from memory,26.8").0, "as expected");
    assert_eq!(verdict("0000:01:00.0,26.9").0, "as expected");
    assert_eq!(verdict("gpu0 to memory,11.9").0, "low");
    let (verdict_of, because) = verdict("gpu0 to memory,29.5");
    assert!(verdict_of == "high" && because.contains("MiB"), "{because}");
    let (verdict_of, because) = verdict("gpu0 to memory,62");
    assert!(verdict_of == "high" && because.contains("wire itself"), "{because}");
    assert_eq!(verdict("sdz,1").0, "not placed");
    assert_eq!(verdict("gpu0 -> gpu2,14").0, "as expected");
    assert_eq!(verdict("gpu0 -> gpu2,40").0, "high");
}

#[test]
fn a_matrix_finds_its_gpus_by_number() {
    let text = "Running device_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1         2         3\n 0     26.9     26.8     13.4     26.9\n";
    let report = compared(text);
    let lines: Vec<_> =
        report.measured.iter().map(|r| (r.device.as_deref().unwrap_or(""), r.verdict.as_str())).collect();
    assert_eq!(lines, [("gpu0", "as expected"), ("gpu1", "as expected"), ("gpu2", "low"), ("gpu3", "as expected")]);
    // Half of Gen4 x16: the candidates are half the speed and half the lanes, and the command that tells them apart.
    let best: Vec<&str> = report.candidates.iter().take(2).map(|c| c.what.as_str()).collect();
    assert!(
        best.iter().any(|c| c.contains("8 GT/s")) && best.iter().any(|c| c.contains("x8")),
        "{:#?}",
        report.candidates
    );
    assert!(report.candidates[0].command.contains("-s 0000:c1:00.0") && report.candidates[0].off_percent < 3.0);
}

#[test]
fn all_low_rows_are_fitted_at_once() {
    // MPS 128 in both ways of one GPU: writes lose 8 %, which no other speed or width fits.
    let report = compared("gpu0 to memory,24.2\ngpu0 from memory,19.9\n");
    assert!(report.candidates.iter().all(|c| c.off_percent > 0.0));
    // Eight reads of 512 B, 600 ns each, is 6.8 GB/s; writes are as they should be.
    let report = compared("gpu0 to memory,27\ngpu0 from memory,6.8\n");
    assert!(report.candidates[0].what.starts_with("8 reads"), "{:#?}", report.candidates);
}

#[test]
fn fio_and_nvbandwidth_json_are_read() {
    let fio = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"seq","job options":{"filename":"/dev/nvme0n1"},"read":{"bw_bytes":3200000000,"bw":3125000},"write":{"bw_bytes":0}}]}"#;
    let rows = measured::read("fio", fio).expect("rows");
    assert_eq!((rows.len(), rows[0].rate), (1, 3.2));
    let nv = r#"{"nvbandwidth":{"testcases":[{"name":"host_to_device_memcpy_ce","bandwidth_matrix":[["26.1","25.9"]]},{"name":"device_to_device_memcpy_write_ce","bandwidth_matrix":[["N/A","25.0"],["24.9","N/A"]]}]}}"#;
    let rows = measured::read("nv", nv).expect("rows");
    assert_eq!(rows.iter().map(|r| r.rate).collect::<Vec<_>>(), [26.1, 25.9, 25.0, 24.9]);
    for nothing in ["", "{", "{}", "hello", "a,b", "Running x.\n"] {
        assert!(measured::read("x", nothing).is_err(), "{nothing}");
    }
}
