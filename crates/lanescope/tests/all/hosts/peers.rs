//! Peers over root complexes: ranges by class of processor, held against what was measured there.

use super::explained::switch;
use super::{explained, host};
use lanescope::explain::{Explained, Pair, explain, measured};

/// GPUs in root ports of Gen4 x16 at MPS 256, all on one node, and what lscpu says of the processor.
fn ports(gpus: usize, vendor: &str, family: u32, model: u32) -> String {
    let express = |kind: &str| {
        format!(
            "\tCapabilities: [60] Express (v2) {kind}, MSI 00\n\t\tDevCap:\tMaxPayload 256 bytes\n\
             \t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\
             \t\tLnkSta:\tSpeed 16GT/s, Width x16\n"
        )
    };
    let mut text = String::new();
    for n in 1..=gpus {
        text += &format!("00:{n:02x}.0 PCI bridge: A B\n\tBus: primary=00, secondary={n:02x}, subordinate={n:02x}\n");
        text += &express("Root Port (Slot+)");
        text += &format!("{n:02x}:00.0 3D controller: NVIDIA Corporation X\n\tNUMA node: 0\n{}", express("Endpoint"));
    }
    if model > 0 {
        text += &format!("Architecture:  x86_64\nVendor ID:  {vendor}\nCPU family:  {family}\nModel:  {model}\n");
    }
    text
}

fn pair(report: &Explained) -> Pair {
    let found = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "gpu1").expect("a pair");
    assert_eq!(found.way, "root", "{found:?}");
    found.clone()
}

/// Gen4 x16 between root ports: AMD hosts 24.4 to 25.6 GB/s, two Xeon hosts of 2023 20 (sources: `explain/forward.rs`).
#[test]
fn measured_hosts_are_within_the_range_of_their_class() {
    for (vendor, family, model, inside, outside) in [
        ("AuthenticAMD", 23, 49, &[24.5, 25.0, 25.6][..], 20.0),
        ("AuthenticAMD", 25, 17, &[25.0], 20.0),
        ("GenuineIntel", 6, 143, &[20.0], 25.0),
        ("GenuineIntel", 6, 207, &[20.0], 25.0),
    ] {
        let pair = pair(&explained(&ports(2, vendor, family, model)));
        let (low, high) = (pair.write.low.expect("low"), pair.write.high.expect("high"));
        assert!(inside.iter().all(|m| (low..=high).contains(m)), "{vendor} {family} {model}: {pair:?}");
        assert!(!(low..=high).contains(&outside), "{pair:?}");
        assert!(pair.write.spread().is_some_and(|s| s <= 1.25), "{pair:?}");
        assert!(pair.forwarded_as.is_some_and(|c| c.contains("tinygrad/open-gpu-kernel-modules")));
    }
    // Gen3 on older ones: 7.0 to 8.2 of 14.4; the range is wide, and says so.
    let old = ports(2, "GenuineIntel", 6, 79).replace("16GT/s", "8GT/s");
    let pair = pair(&explained(&old));
    assert!(pair.write.low < Some(7.1) && pair.write.high > Some(8.2) && pair.forwarded_as.is_some(), "{pair:?}");
}

#[test]
fn what_nobody_measured_has_no_low_end_and_names_the_command() {
    for text in [ports(2, "", 0, 0), ports(2, "GenuineIntel", 6, 158)] {
        let report = explained(&text);
        let pair = pair(&report);
        assert!(pair.write.low.is_none() && pair.write.typical.is_none() && pair.write.high.is_some(), "{pair:?}");
        assert!(pair.forwarded_as.is_none() && pair.bound_by.contains("forwards"), "{pair:?}");
        let open = report.unknown.iter().find(|u| u.what.contains("forwards")).expect("it is said");
        assert!(open.command.contains("nvbandwidth") && open.command.contains("--measured"), "{open:?}");
    }
    // The name of a root port says the class where no processor does.
    let named = ports(2, "", 0, 0)
        .replace("PCI bridge: A B", "PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge");
    assert!(pair(&explained(&named)).forwarded_as.is_some_and(|c| c.contains("Zen 2")));
}

/// A ring puts one transfer on each port: 24.5 GB/s of bus bandwidth by six GPUs (the README of
/// tinygrad/open-gpu-kernel-modules), 20 on Xeons (issue 26 there).
#[test]
fn rings_over_root_complexes_are_judged_where_the_class_is_known() {
    let judge = |dump: &str, busbw: f64| {
        let mut table = "$ ./all_reduce_perf -g 6\n# nThread 1 nGpus 6 minBytes 8\n".to_owned();
        for n in 0..6 {
            table += &format!("#  Rank {n:2} Group  0 Pid 42 on a device {n:2} [0x{:02x}] NVIDIA X\n", n + 1);
        }
        table += "#   size   count  type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong\n";
        table += &format!("134217728 33554432 float sum -1 5932.4 {busbw} {busbw} 0 5932.4 {busbw} {busbw} N/A\n");
        let host = host(dump);
        let mut report = explain(&host);
        measured::compare(&host, &mut report, measured::read("n", &table).expect("rows"));
        report.measured.remove(0)
    };
    for (vendor, family, model, busbw) in [("AuthenticAMD", 23, 49, 24.5), ("GenuineIntel", 6, 143, 20.0)] {
        let dump = ports(6, vendor, family, model);
        let row = judge(&dump, busbw);
        assert!(row.verdict == "as expected" && row.expected.low.is_some(), "{row:?}");
        assert_eq!(judge(&dump, busbw / 2.0).verdict, "low");
    }
    let row = judge(&ports(6, "", 0, 0), 12.0);
    assert!(row.verdict == "as expected" && row.expected.low.is_none(), "{row:?}");
}

/// Both directions of a redirected pair cross the one way up, each up and down: together what it carries once.
#[test]
fn both_ways_redirected_share_the_way_up() {
    let row = |acs: &str, text: &str| {
        let host = host(&switch(acs, ""));
        let mut report = explain(&host);
        measured::compare(&host, &mut report, measured::read("n", text).expect("rows"));
        report.measured.remove(0)
    };
    let both =
        "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 700 28.6\n     1 28.6 700\n";
    let (direct, redirected) = (row("-", both).expected.high, row("+", both).expected.high);
    assert!(direct > Some(54.0) && redirected < Some(30.0) && redirected > Some(27.0), "{direct:?} {redirected:?}");
    // Measured at half of what the switch carries, ACS is what explains it, where the dump does not say that it is off.
    let unsaid: String = switch("-", "").lines().filter(|l| !l.contains("ACSCtl")).flat_map(|l| [l, "\n"]).collect();
    let host = host(&unsaid);
    let mut report = explain(&host);
    measured::compare(&host, &mut report, measured::read("n", both).expect("rows"));
    let first = &report.candidates[0];
    assert!(first.what.contains("ACS") && first.shows == "ReqRedir+" && first.command.contains("ACSCtl"), "{first:?}");
}
