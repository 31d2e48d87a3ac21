//! The kernel's log: what it says is limited is a finding, in every text and at every speed.

use super::{dumps, explained, host, topology};
use crate::common::choices::runner;
use lanescope::explain::{Explained, explain};
use lanescope::pens;
use proptest::prelude::*;

const SPEEDS: [&str; 6] = ["2.5 GT/s", "5.0 GT/s", "8.0 GT/s", "16.0 GT/s", "32.0 GT/s", "64.0 GT/s"];
const LANES: [u32; 5] = [1, 2, 4, 8, 16];

fn limited(device: &str, (speed, lanes): (usize, u32), by: &str, (most, width): (usize, u32)) -> String {
    let [now, able] = [SPEEDS[speed], SPEEDS[most]];
    format!(
        "[    1.234567] pci {device}: 1.000 Gb/s available PCIe bandwidth, limited by {now} PCIe x{lanes} link at {by} \
         (capable of 2.000 Gb/s with {able} PCIe x{width} link)\n"
    )
}

/// The finding that quotes a line.
fn quoting(report: &Explained, line: usize) -> Option<&lanescope::explain::Finding> {
    let end = format!(":{line}:");
    report.findings.iter().find(|f| f.evidence.iter().any(|e| e.contains(&end) && e.contains("available PCIe")))
}

/// Slower than the device can: a finding with a cost, which names the port, whether that is right above or not.
#[test]
fn a_link_that_the_kernel_calls_slow_is_a_finding() {
    let link = (0_usize..6, proptest::sample::select(&LANES[..]));
    let law = |(bus, now, most): (u8, (usize, u32), (usize, u32))| {
        prop_assume!(now != most && now.0 <= most.0 && now.1 <= most.1);
        let device = format!("0000:{bus:02x}:00.0");
        let report = explained(&limited(&device, now, "0000:00:1c.0", most));
        let finding = quoting(&report, 1);
        prop_assert!(finding.is_some(), "{:#?}", report);
        let finding = finding.expect("asked above");
        prop_assert!(finding.at.contains("0000:00:1c.0"), "{:#?}", finding);
        // A function of one or two lanes that is of no class may be one that moves no bulk data.
        prop_assert!(finding.cost > 0.0 || most.1 < 4, "{:#?}", finding);
        prop_assert!(!pens::explain::text(&report, false).contains("no finding"));
        Ok(())
    };
    runner(ProptestConfig::default()).run(&(1_u8..=255, link.clone(), link), law).expect("a finding");
}

/// Behind any dump, also where its last field is open, and of a device that the dump knows.
#[test]
fn a_log_behind_a_dump_is_heard() {
    for (name, text) in dumps() {
        for device in explained(&text).devices.iter().take(2) {
            let line = limited(&device.address, (0, 1), "0000:fe:1c.0", (5, 16));
            let pasted = format!("{}\n{line}", text.trim_end());
            let reports: Vec<_> = super::hosts(&[&pasted])
                .iter()
                .map(explain)
                .filter(|r| quoting(r, pasted.lines().count()).is_some())
                .collect();
            assert_eq!(reports.len(), 1, "{name}: {}", device.address);
        }
    }
}

#[test]
fn each_line_of_the_fixture_that_limits_is_a_finding() {
    let Some(text) = topology("kernel-log-pcie-bandwidth-and-mps.txt") else { return };
    let whole = explained(&text);
    for (number, line) in text.lines().enumerate() {
        let limits = line.contains("limited by") || line.contains("can't set");
        let report = explained(line);
        assert_eq!(limits, !report.findings.is_empty(), "{line}\n{report:#?}");
        assert!(!pens::explain::text(&report, false).contains("no finding") || number == 3, "{line}");
    }
    // Gen1 x1 to Gen3 x16, payloads of 128 B at least: about 15 GB/s less.
    let third = explained(text.lines().nth(2).expect("a line"));
    assert!(third.findings[0].cost > 10.0 && third.findings[0].text.contains("2.5 GT/s x1"), "{third:#?}");
    let mismatch: Vec<_> = whole.findings.iter().filter(|f| f.kind == "mps-mismatch").map(|f| f.at.as_str()).collect();
    assert_eq!(mismatch.len() + whole.findings.iter().flat_map(|f| &f.also).count(), 2, "{whole:#?}");
}

/// Registers that say the same give one finding, which quotes both; registers of a faster link say that the log is old.
#[test]
fn registers_and_log_are_one_finding() {
    let lspci = |speed: &str| {
        format!(
            "00:1c.0 PCI bridge: A B\n\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\tCapabilities: \
             [60] Express (v2) Root Port (Slot+), MSI 00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8\n\
             \t\tLnkSta:\tSpeed {speed}, Width x8\n01:00.0 Ethernet controller: C D\n\tCapabilities: [60] Express (v2) \
             Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8\n\t\tLnkSta:\tSpeed {speed}, Width x8\n"
        )
    };
    let log = limited("0000:01:00.0", (0, 8), "0000:00:1c.0", (2, 8));
    let same = explained(&format!("{}{log}", lspci("2.5GT/s")));
    assert_eq!(same.findings.len(), 1, "{:#?}", same.findings);
    let evidence = same.findings[0].evidence.join("\n");
    assert!(same.findings[0].kind == "trained-down" && evidence.contains("LnkSta") && evidence.contains("available"));
    let later = explained(&format!("{}{log}", lspci("8GT/s")));
    assert!(later.findings.len() == 1 && later.findings[0].cost == 0.0, "{:#?}", later.findings);
    assert!(later.findings[0].text.contains("earlier time"), "{:#?}", later.findings);
}

/// A corrected error of the log is told as one of lspci's CESta, by any kernel's words and with any prefix.
#[test]
fn errors_of_the_log_are_those_of_the_register() {
    let names = [
        ("RxErr", 0, "Receiver Error"),
        ("BadTLP", 6, "Bad TLP"),
        ("BadDLLP", 7, "Bad DLLP"),
        ("Rollover", 8, "RELAY_NUM Rollover"),
        ("Timeout", 12, "Replay Timer Timeout"),
    ];
    for (name, bit, older) in names {
        let register = format!(
            "3b:00.0 Ethernet controller: A B\n\tCapabilities: [100 v1] Advanced Error Reporting\n\t\tCESta:\t{name}+\n"
        );
        let severity = "mlx5_core 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)";
        let status =
            format!("mlx5_core 0000:3b:00.0:   device [15b3:1017] error status/mask={:08x}/0000e000", 1 << bit);
        let words = [name, older].map(|n| format!("mlx5_core 0000:3b:00.0:    [{bit:2}] {n}                  (First)"));
        let told = |text: &str| {
            let all = explained(text).findings;
            let found: Vec<_> = all.iter().filter(|f| f.kind == "corrected-errors").collect();
            assert_eq!(found.len(), 1, "{text}\n{all:#?}");
            assert!(found[0].text.contains(&format!("corrected errors: {name}.")), "{found:#?}");
            found[0].evidence.join("\n")
        };
        assert!(told(&register).contains("CESta"));
        for prefix in ["", "[    4.0] ", "[Mon Nov 30 10:32:16 2026] ", "Nov 30 10:32:16 node7 kernel: "] {
            assert!(told(&format!("{prefix}{severity}\n{prefix}{status}\n")).contains("AER of 0000:3b:00.0"));
            for words in &words {
                assert!(told(&format!("{prefix}{words}\n")).contains("AER"));
            }
        }
    }
    // The same bit of an uncorrected error is another error.
    let fatal = "pcieport 0000:3a:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer\n\
                 pcieport 0000:3a:00.0:   device [8086:2030] error status/mask=00000001/00000000\n";
    assert!(host(fatal).functions.values().all(|f| f.corrected.is_none()));
}

#[test]
fn payload_sizes_of_the_log_are_findings() {
    for (line, kind, number) in [
        (
            "pci 0000:02:00.0: can't set Max Payload Size to 256; if necessary, use \"pci=pcie_bus_safe\"",
            "mps-mismatch",
            "256 B",
        ),
        (
            "pci 0000:02:00.0: Max Payload Size 128, but upstream 0000:00:01.0 set to 512; if necessary",
            "mps-mismatch",
            "512 B",
        ),
        ("pci 0000:02:00.0: Upstream bridge's Max Payload Size set to 128 (was 256, max 256)", "mps", "256 B"),
        ("pci 0000:02:00.0: Max Payload Size set to 128 (was 128, max 512)", "mps", "512 B"),
    ] {
        let found = explained(line).findings;
        assert!(found.len() == 1 && found[0].kind == kind && found[0].text.contains(number), "{line}\n{found:#?}");
        assert!(found[0].evidence[0].contains(":1: Max Payload Size"), "{found:#?}");
    }
}
