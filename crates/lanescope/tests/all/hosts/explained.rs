//! What `explain` says of real hosts: links as they are, ranges that are useful, findings that cost something.

use super::{dumps, explained, host, hosts, ours, topology};
use lanescope::explain::{Device, Explained, Finding, LinkLine, Range, explain, json_schema};
use lanescope::pens;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn link<'a>(report: &'a Explained, lower: &str) -> &'a LinkLine {
    let found = report.links.iter().find(|l| l.lower == lower);
    found.unwrap_or_else(|| panic!("no link above {lower}"))
}

fn device<'a>(report: &'a Explained, address: &str) -> &'a Device {
    let found = report.devices.iter().find(|d| d.address == address);
    found.unwrap_or_else(|| panic!("no device {address}"))
}

fn findings<'a>(report: &'a Explained, kind: &str) -> Vec<&'a Finding> {
    report.findings.iter().filter(|f| f.kind == kind).collect()
}

fn spread(range: &lanescope::explain::Range) -> f64 {
    range.spread().unwrap_or_else(|| panic!("{range:?} has no ends"))
}

/// `lspci -vvv | grep -E "^[0-9a-f]|Lnk"`, as people paste it: no port types, no buses, and still a link each.
#[test]
fn lines_of_links_alone_are_answered() {
    let whole = ours("pcie-bench-t630/sys-lspci.txt");
    let kept =
        |l: &&str| l.starts_with(|c: char| c.is_ascii_hexdigit()) || l.contains("LnkCap:") || l.contains("LnkSta:");
    let cut: String = whole.lines().filter(kept).flat_map(|l| [l, "\n"]).collect();
    let (whole, cut) = (explained(&whole), explained(&cut));
    for address in ["0000:02:00.0", "0000:05:00.0"] {
        let (all, some) = (&device(&whole, address).to_memory.rate, &device(&cut, address).to_memory.rate);
        // MPS is not known then, so the range is wider; it holds the other.
        assert!(some.low <= all.low && some.high >= all.high && some.high.is_some(), "{some:?} {all:?}");
    }
}

#[test]
fn an_idle_gpu_is_not_blamed() {
    let report = explained(&ours("epyc-4gpu-e12/host.md"));
    let gpu = link(&report, "0000:01:00.0");
    assert_eq!((gpu.standing.as_str(), gpu.shown.as_deref()), ("idle", Some("2.5 GT/s x16")));
    assert_eq!(gpu.taken.as_deref(), Some("16 GT/s x16"));
    assert!(report.findings.iter().all(|f| !f.text.contains("AD102")), "{:#?}", report.findings);
    // The management function at 5 GT/s x1 costs nothing, and ranks at zero.
    let trained = findings(&report, "trained-down");
    assert!(trained.iter().all(|f| f.cost == 0.0) && trained[0].text.contains("no bulk data"), "{trained:#?}");
    let ranges = [&device(&report, "0000:01:00.0").to_memory, &device(&report, "0000:01:00.0").from_memory];
    // The study's given 26.8 GB/s of the same card on the same kind of host.
    assert!(ranges.iter().all(|e| spread(&e.rate) <= 1.25), "{ranges:#?}");
    assert!(ranges.iter().all(|e| e.rate.low < Some(26.8) && e.rate.high > Some(26.8)), "{ranges:#?}");
}

/// Where the dump fixes a link, the ends are at most 1.25 apart, and the typical value lies between them.
#[test]
fn ranges_are_useful_where_the_dump_fixes_the_link() {
    let (mut fixed, mut seen) = (0, 0);
    for (name, text) in dumps() {
        let report = explained(&text);
        for d in &report.devices {
            for expected in [&d.to_memory.rate, &d.from_memory.rate] {
                if let (Some(low), Some(typical)) = (expected.low, expected.typical) {
                    assert!(low <= typical * 1.0001, "{name} {}: {expected:?}", d.id);
                }
                if let (Some(high), Some(typical)) = (expected.high, expected.typical) {
                    assert!(typical <= high * 1.0001, "{name} {}: {expected:?}", d.id);
                }
                seen += 1;
                let line = report.links.iter().find(|l| l.lower == d.address);
                let sure = line.is_some_and(|l| {
                    // A kernel log has an MPS and no MRRS.
                    l.mps.is_some()
                        && l.mrrs.is_some()
                        && ["full", "lesser", "down", "idle"].contains(&l.standing.as_str())
                });
                if sure && expected.low.is_some() {
                    assert!(spread(expected) <= 1.25, "{name} {}: {expected:?}", d.id);
                    fixed += 1;
                }
            }
        }
    }
    assert!(fixed > 50 && seen > 500, "{fixed} of {seen}");
}

#[test]
fn narrow_slots_are_found() {
    for (dump, address, port, costs) in [
        ("pcie-bench-t620/sys-lspci.txt", "0000:06:00.0", "5 GT/s x2", "carry 0.250 GB/s"),
        ("pcie-bench-t630/sys-lspci.txt", "0000:01:00.0", "5 GT/s x1", "carry 0.250 GB/s"),
    ] {
        let report = explained(&ours(dump));
        let narrow = findings(&report, "narrow-slot");
        assert_eq!(narrow.len(), 1, "{narrow:#?}");
        assert!(narrow[0].at.contains(address) && narrow[0].text.contains(port) && narrow[0].text.contains(costs));
        assert!(narrow[0].cost == 0.0 && !narrow[0].evidence.is_empty(), "two ports of 1 Gb/s lose nothing");
    }
}

#[test]
fn a_drive_that_trained_down_is_ranked_first() {
    let Some(text) = topology("issue-visionfive2-nvme-x1-downgraded.lspci-vvv-excerpt.txt") else { return };
    let report = explained(&text);
    let first = &report.findings[0];
    assert_eq!((first.kind.as_str(), first.at.as_str()), ("trained-down", "link above 0001:01:00.0"));
    // Gen2 x1 and MPS 128 give 0.41 GB/s, Gen3 x4 gives 3.3.
    assert!((2.5..3.2).contains(&first.cost), "{first:#?}");
    assert!(first.evidence.iter().any(|e| e.contains(":19: LnkSta")), "{first:#?}");
    let drive = device(&report, "0001:01:00.0");
    assert!((0.38..0.44).contains(&drive.to_memory.rate.typical.unwrap_or(0.0)), "{drive:#?}");
    assert!(drive.to_memory.upgrade.as_ref().is_some_and(|l| l.contains("8 GT/s x4")), "{drive:#?}");
    assert!(report.unknown.iter().any(|u| u.what.contains("ports above")), "{:#?}", report.unknown);
}

#[test]
fn a_mismatch_of_payloads_is_found_and_its_original_is_not() {
    let names = ["DERIVED-mps-mismatch-from-asus-p6t6", "pciutils-tree-asus-p6t6"];
    for (name, count) in names.into_iter().zip([1, 0]) {
        for form in ["lspci-vvv.txt", "lspci-xxxx"] {
            let Some(text) = topology(&format!("{name}.{form}")) else { return };
            let report = explained(&text);
            let found = findings(&report, "mps-mismatch");
            assert_eq!(found.len(), count, "{name}.{form}");
            if let Some(first) = found.first() {
                assert!(first.at == "0000:04:00.0" && first.cost > 1.0 && first.evidence.len() == 2, "{first:#?}");
                assert_eq!(report.findings[0].kind, "mps-mismatch");
            }
            // The switch holds the adapter at 128 B.
            let clamp = link(&report, "0000:04:00.0").mps_clamped_by.clone();
            assert_eq!(clamp.as_deref(), (count == 0).then_some("0000:02:00.0"));
        }
    }
}

#[test]
fn virtual_links_are_not_believed() {
    let report = explained(&ours("oci-h100/H100-topology.xml"));
    for up in ["0000:08:00.0", "0000:26:00.0", "0000:d1:00.0"] {
        let line = link(&report, up);
        assert_eq!((line.standing.as_str(), line.shown.as_deref()), ("virtual", Some("5 GT/s x16")), "{up}");
    }
    assert_eq!(link(&report, "0000:0f:00.0").standing, "full");
    assert!(device(&report, "0000:0f:00.0").to_memory.rate.low.is_none(), "the way up is not known");

    let report = explained(&ours("azure/ndv2-topo.xml"));
    assert!(report.links.iter().all(|l| l.standing == "virtual" && l.taken.as_deref() == Some("8 GT/s x16")));
    let report = explained(&ours("azure/ndv4-topo.xml"));
    assert!(report.host.virtual_machine.as_ref().is_some_and(|v| v.contains("ffff:ff")));
    assert_eq!(link(&report, "ffff:ff:01.0").standing, "virtual");
    assert!(link(&report, "ffff:ff:01.0").taken.is_none(), "nothing is known of it");
    let report = explained(&ours("azure/ncv4-topo.xml"));
    assert!(report.links.iter().all(|l| l.standing == "unknown" && l.taken.is_none()), "{:#?}", report.links);
    assert!(report.devices.iter().all(|d| d.to_memory.rate.high.is_none()));

    let report = explained(&ours("aws-p5/p5.48xl-topo.xml"));
    for up in ["0000:00:00.0", "0000:01:00.0"] {
        assert_eq!(link(&report, up).standing, "virtual", "16 GT/s above 32 GT/s");
        assert_eq!(link(&report, up).taken.as_deref(), Some("32 GT/s x16"), "as both ends can");
    }
    for report in [&report, &explained(&ours("azure/ndv4-topo.xml")), &explained(&ours("oci-h100/H100-topology.xml"))] {
        let found = findings(report, "virtual-links");
        assert!(found.len() == 1 && found[0].cure.contains("NCCL_TOPO_FILE"), "{found:#?}");
    }
}

/// What a bridge claims below the speed of its devices changes neither them nor what it is taken for: it is the claim
/// that is not believed. A file that is written again keeps what was.
#[test]
fn a_slow_claim_of_a_bridge_is_no_speed_of_its_devices() {
    for file in ["aws-p5/p5.48xl-topo.xml", "oci-h100/H100-topology.xml"] {
        let text = ours(file);
        let claim = |line: &str, of: &str| {
            let start = line.find("link_speed=\"").map(|at| at + "link_speed=\"".len());
            let end = start.and_then(|s| line[s..].find('"').map(|n| s + n));
            match (line.contains("0x0604"), start.zip(end)) {
                (true, Some((start, end))) => format!("{}{of}{}\n", &line[..start], &line[end..]),
                _ => format!("{line}\n"),
            }
        };
        for of in ["2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe"] {
            let changed: String = text.lines().map(|l| claim(l, of)).collect();
            let report = explained(&changed);
            let taken = |l: &&LinkLine| l.taken.as_deref() == Some("32 GT/s x16");
            let gpus = report.devices.iter().filter(|d| d.kind == "gpu");
            for gpu in gpus {
                assert!(taken(&link(&report, &gpu.address)), "{file} {of}: {:#?}", link(&report, &gpu.address));
                assert!(gpu.to_memory.rate.typical > Some(50.0), "{file} {of}: {gpu:#?}");
            }
            let bridges = report.links.iter().filter(|l| l.standing == "virtual");
            assert!(bridges.clone().count() >= 4 && bridges.clone().all(|l| taken(&l)), "{file} {of}");
            let written = lanescope::explain::nccl::emit(&host(&changed));
            let gpus = |t: &str| t.lines().filter(|l| l.contains("0x0302") && l.contains("32.0 GT/s")).count();
            assert_eq!(gpus(&written), gpus(&changed), "{file} {of}");
        }
    }
}

/// A virtual machine's emulated ports above a device that was passed through.
#[test]
fn emulated_ports_are_not_believed() {
    let port = "00:02.0 PCI bridge: Red Hat, Inc. QEMU PCIe Root port\n\
        \tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\
        \tCapabilities: [54] Express (v2) Root Port (Slot+), MSI 00\n\t\tLnkCap:\tPort #16, Speed 2.5GT/s, Width x1\n\
        \t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n";
    let card = "01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n\
        \tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
             \t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\
        \t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n";
    let report = explained(&format!("{port}{card}"));
    let line = link(&report, "0000:01:00.0");
    assert_eq!((line.standing.as_str(), line.taken.as_deref()), ("virtual", Some("32 GT/s x16")));
    assert!(report.host.virtual_machine.is_some());
    // What a ConnectX-7's ports carry together, 400 Gb/s, is less than its slot; at least how much nobody knows.
    let rate = device(&report, "0000:01:00.0").to_memory.rate;
    assert_eq!((rate.low, rate.typical), (None, Some(50.0)));
    // Without registers of the device nothing is known.
    let bare = card.split("\tCapabilities").next().unwrap_or_default();
    let report = explained(&format!("{port}{bare}"));
    assert_eq!(link(&report, "0000:01:00.0").taken, None);
}

#[test]
fn a_target_speed_is_no_speed() {
    let text = "01:00.0 Non-Volatile memory controller: A B\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
        \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x4\n\
        \t\tLnkCtl2: Target Link Speed: 8GT/s, EnterCompliance-\n";
    let report = explained(text);
    let line = link(&report, "0000:01:00.0");
    assert_eq!((line.standing.as_str(), line.taken.as_deref()), ("down", Some("2.5 GT/s x4")));
}

/// Where the port above is told to go no faster, a retrain helps nothing: the cure names the target, and only then.
#[test]
fn a_target_speed_that_limits_is_named() {
    let speeds = ["2.5", "5", "8", "16", "32"];
    let function = |head: &str, kind: &str, now: &str, target: &str| {
        format!(
            "{head}\tCapabilities: [60] Express (v2) {kind}, MSI 00\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width \
             x16\n\t\tLnkSta:\tSpeed {now}GT/s, Width x16\n\t\tLnkCtl2: Target Link Speed: {target}GT/s, \
             EnterCompliance- SpeedDis-\n"
        )
    };
    for (now, target) in (0..4).flat_map(|n| (0..5).map(move |t| (n, t))) {
        let [now_of, target_of] = [now, target].map(|n| speeds[n]);
        let port = "00:01.0 PCI bridge: A\n\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n";
        for (above, below) in [(target_of, "32"), ("32", target_of)] {
            let text = function(port, "Root Port (Slot+)", now_of, above)
                + &function("01:00.0 Ethernet controller: C D\n", "Endpoint", now_of, below);
            let report = explained(&text);
            let down = findings(&report, "trained-down");
            assert_eq!(down.len(), 1, "{report:#?}");
            // A device's own target is for compliance tests.
            let limits = above == target_of && target <= now;
            assert_eq!(down[0].cure.contains("Target Link Speed"), limits, "{now_of} {above} {below}: {down:#?}");
            assert_eq!(down[0].evidence.iter().any(|e| e.contains("LnkCtl2 of 0000:00:01.0")), limits, "{down:#?}");
            assert!(!limits || down[0].cure.contains("CAP_EXP+0x30.w=0005:000f"), "{down:#?}");
        }
    }
}

#[test]
fn shared_uplinks_and_their_factor_are_found() {
    let report = explained(&ours("hwloc/hwloc-nvidiaDGX2.xml"));
    let shared = findings(&report, "shared-uplink");
    assert!(shared[0].text.contains("4 devices") && shared[0].text.contains("3.8 times"), "{shared:#?}");
    assert_eq!(shared[0].also.len(), 3, "four root ports with four GPUs each");
    // 16 GPUs to memory get what four uplinks of Gen3 x16 carry.
    let all = report.together.iter().find(|t| t.class == "gpus" && t.way == "to memory").expect("GPUs");
    let (total, least) = (all.total.typical.unwrap_or(0.0), all.least.typical.unwrap_or(0.0));
    assert!(all.devices == 16 && (54.0..59.0).contains(&total) && (3.3..3.7).contains(&least), "{all:#?}");
    // Peers below one switch do not pass the uplink.
    let pair = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "gpu1").expect("a pair");
    assert!(pair.way == "switch" && pair.write.low.is_some(), "{pair:#?}");
    let far = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "gpu15").expect("a pair");
    assert!(far.way == "sockets" && far.write.low.is_none() && far.write.typical.is_none(), "{far:#?}");
}

/// A made-up host in lspci's words: a switch with two GPUs.
pub(super) fn switch(redirect: &str, extra: &str) -> String {
    let express = |kind: &str| {
        format!(
            "\tCapabilities: [60] Express (v2) {kind}, MSI 00\n\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n\
             \t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\
             \t\tLnkSta:\tSpeed 16GT/s, Width x16\n"
        )
    };
    let bridge = |address: &str, kind: &str, second: &str, last: &str| {
        let (primary, express) = (&address[..2], express(kind));
        format!(
            "{address} PCI bridge: A B\n\tBus: primary={primary}, secondary={second}, subordinate={last}, \
             sec-latency=0\n{express}"
        )
    };
    let acs =
        format!("\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir{redirect} CmpltRedir{redirect} UpstreamFwd- DirectTrans-\n");
    let gpu = |address: &str| {
        format!("{address} 3D controller: NVIDIA Corporation X\n\tNUMA node: 0\n{}", express("Endpoint"))
    };
    [
        bridge("00:01.0", "Root Port (Slot+)", "01", "04"),
        bridge("01:00.0", "Upstream Port", "02", "04"),
        bridge("02:00.0", "Downstream Port (Slot+)", "03", "03") + &acs,
        bridge("02:01.0", "Downstream Port (Slot+)", "04", "04") + &acs,
        gpu("03:00.0"),
        gpu("04:00.0") + extra,
    ]
    .concat()
}

#[test]
fn redirect_of_access_control_is_found() {
    let report = explained(&switch("+", ""));
    let found = findings(&report, "acs-redirect");
    assert_eq!(found.len(), 1, "{:#?}", report.findings);
    // Direct 27 GB/s; redirected two share the way up.
    assert!((12.0..15.0).contains(&found[0].cost) && found[0].cure.contains("setpci -s 0000:02:00.0"), "{found:#?}");
    assert_eq!(report.pairs[0].way, "redirected");
    let report = explained(&switch("-", ""));
    assert!(findings(&report, "acs-redirect").is_empty());
    assert_eq!(report.pairs[0].way, "switch");
    // The way between the two GPUs: no link of the switch's inside.
    assert_eq!(report.links.len(), 3, "{:#?}", report.links);
}

#[test]
fn corrected_errors_are_a_risk_and_advisory_ones_are_none() {
    for (state, count) in [
        ("RxErr+ BadTLP- BadDLLP+ Rollover- Timeout- AdvNonFatalErr-", 1),
        ("RxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+", 0),
    ] {
        let report = explained(&switch("-", &format!("\t\tCESta:\t{state}\n")));
        let found = findings(&report, "corrected-errors");
        assert_eq!(found.len(), count);
        assert!(found.iter().all(|f| f.cost == 0.0 && f.text.contains("RxErr") && f.text.contains("BadDLLP")));
    }
}

#[test]
fn shared_buses_and_far_nodes_are_found() {
    if let Some(text) = topology("pciutils-PCI-X-bridges-and-domains.lspci-vvv.txt") {
        let report = explained(&text);
        assert!(
            findings(&report, "pci-bus").len()
                + findings(&report, "pci-bus").iter().map(|f| f.also.len()).sum::<usize>()
                >= 4
        );
        assert!(report.links.is_empty() && !report.devices.is_empty(), "no PCI Express at all");
    }
    let report = explained(&ours("azure/ndv2-topo.xml"));
    assert!(findings(&report, "far-node")[0].text.starts_with("4 of 8 GPUs"), "{:#?}", report.findings);
}

/// Another node's memory is at most as fast as the nearest, and takes longer to answer; how much slower no dump says.
/// Hosts of one node have no other.
#[test]
fn memory_of_another_node_has_an_upper_end_and_a_longer_latency() {
    let mut seen = 0;
    for (name, text) in dumps() {
        let report = explained(&text);
        let nodes: std::collections::BTreeSet<u32> = report.devices.iter().filter_map(|d| d.node).collect();
        for device in &report.devices {
            assert!(device.far.is_some() || nodes.len() < 2, "{name} {}", device.id);
            let Some(far) = &device.far else { continue };
            for (far, near) in [(far.to_memory, device.to_memory.rate), (far.from_memory, device.from_memory.rate)] {
                assert_eq!((far.low, far.typical, far.high), (None, None, near.high), "{name} {}", device.id);
            }
            let ends = |r: Range| [r.low, r.typical, r.high];
            for (far, near) in ends(far.read_latency_ns).into_iter().zip(ends(device.read_latency_ns)) {
                assert_eq!(far.is_some(), near.is_some(), "{name} {}", device.id);
                assert!(far.zip(near).is_none_or(|(far, near)| far > near), "{name} {}: {far:?} {near:?}", device.id);
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} devices");
}

#[test]
fn findings_are_ranked_and_none_is_without_cost_or_risk() {
    for (name, text) in dumps() {
        let report = explained(&text);
        assert!(report.findings.is_sorted_by(|a, b| a.cost >= b.cost), "{name}");
        for finding in &report.findings {
            assert!(finding.cost.is_finite() && finding.cost >= 0.0, "{name} {finding:?}");
            assert!(!finding.cure.is_empty() && !finding.evidence.is_empty(), "{name} {finding:?}");
            // Each line of evidence begins with the place in a dump.
            let place = |e: &String| e.split(": ").next().is_some_and(|p| p.contains("dump0:"));
            assert!(finding.evidence.iter().all(place), "{name} {finding:?}");
            let risky = [
                "trained-down",
                "narrow-slot",
                "virtual-links",
                "far-node",
                "pci-bus",
                "corrected-errors",
                "no-link",
                "shared-uplink",
                "mps-mismatch",
                "unused-function",
                "relaxed-ordering",
                "few-tags",
            ];
            assert!(finding.cost > 0.0 || risky.contains(&finding.kind.as_str()), "{name} {finding:?}");
        }
    }
}

#[test]
fn reports_are_as_their_schema_says() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a schema");
    for (name, text) in dumps() {
        let value = serde_json::to_value(explained(&text)).expect("JSON");
        let errors: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn what_is_unknown_names_its_command() {
    let report = explained(&ours("hwloc/hwloc-32em64t-2n8c-nocaps.lspci-vvv.txt"));
    assert!(report.devices.iter().all(|d| d.to_memory.rate.typical.is_none()), "no capability was read");
    assert!(report.unknown.iter().any(|u| u.what.contains("speed") && u.command == "sudo lspci -vvv"));
    assert!(report.unknown.iter().any(|u| u.command == "numactl -H"));
    let with = explain(&hosts(&[&ours("pcie-bench-t430/sys-lspci.txt"), &ours("pcie-bench-t430/sys-numactl.txt")])[0]);
    assert!(with.unknown.iter().all(|u| u.command != "numactl -H"), "{:#?}", with.unknown);
}

/// A host of `gpus` GPUs on three levels of switches, in lspci's words, and functions that fill it up.
pub(super) fn large(gpus: usize, others: usize) -> String {
    let mut text = String::new();
    let mut bus = 1;
    let bridge = |text: &mut String, at: String, kind: &str, second: usize, last: usize| {
        let _ = writeln!(
            text,
            "{at} PCI bridge: A B\n\tBus: primary=00, secondary={second:02x}, subordinate={last:02x}, sec-latency=0\n\
             \tCapabilities: [60] Express (v2) {kind}, MSI 00\n\
             \t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\
             \t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16"
        );
    };
    for root in 0..gpus.div_ceil(4) {
        let top = bus;
        let end = top + 2 + 2 * 6;
        bridge(&mut text, format!("00:{:02x}.0", root + 1), "Root Port (Slot+)", top, end);
        bridge(&mut text, format!("{top:02x}:00.0"), "Upstream Port", top + 1, end);
        for leaf in 0..2 {
            let base = top + 2 + leaf * 6;
            bridge(&mut text, format!("{:02x}:{leaf:02x}.0", top + 1), "Downstream Port (Slot+)", base, base + 5);
            bridge(&mut text, format!("{base:02x}:00.0"), "Upstream Port", base + 1, base + 5);
            for gpu in 0..2 {
                let at = base + 2 + gpu;
                bridge(&mut text, format!("{:02x}:{gpu:02x}.0", base + 1), "Downstream Port (Slot+)", at, at);
                let _ = writeln!(
                    text,
                    "{at:02x}:00.0 3D controller: NVIDIA Corporation X\n\tNUMA node: {}\n\
                        \tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
                     \t\tDevCap:\tMaxPayload 256 bytes\n\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\
                     \t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16",
                    root % 2
                );
            }
        }
        bus = end + 1;
    }
    for n in 0..others {
        let _ = writeln!(text, "{:02x}:{:02x}.{} System peripheral: A B", 0xc0 + n / 256, n % 256 / 8, n % 8);
    }
    text
}

/// 200 functions in under 100 ms; 16 GPUs on three levels of switches, all pairs, in under 1 s. Unoptimised builds and
/// busy machines get four times as long.
#[test]
fn answers_come_at_once() {
    for (gpus, others, most) in [(4, 190, 100), (16, 60, 1000)] {
        let text = large(gpus, others);
        let start = Instant::now();
        let report = explained(&text);
        let took = start.elapsed();
        assert_eq!(report.devices.iter().filter(|d| d.kind == "gpu").count(), gpus);
        assert_eq!(report.pairs.len(), gpus * (gpus - 1) / 2);
        assert!(took < 4 * Duration::from_millis(most), "{took:?} for {gpus} GPUs");
    }
}

#[test]
fn the_text_shows_what_the_report_holds() {
    let report = explained(&ours("epyc-4gpu-e12/host.md"));
    let text = pens::explain::text(&report, false);
    for words in ["idle at 2.5 GT/s x16; 16 GT/s x16 under load", "AMD EPYC 9374F", "2 NUMA nodes", "gpu0", "MPS 256"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let all = pens::explain::text(&report, true);
    assert!(all.lines().count() > text.lines().count());
    let empty = pens::explain::text(&explain(&host("nothing")), false);
    assert!(empty.contains("0 functions") && empty.contains("no PCI Express link"), "{empty}");
}

/// An adapter that shares an uplink with a GPU: who loses is the one that is slowed, not the one that gets least.
#[test]
fn a_shared_uplink_costs_the_device_that_it_slows() {
    let report = explained(&ours("oci-h100/H100-topology.xml"));
    let shared = findings(&report, "shared-uplink");
    // 54 GB/s alone; beside an adapter of 45 GB/s it gets half of 57.5.
    assert!(shared[0].text.contains("gpu0 loses") && (24.0..27.0).contains(&shared[0].cost), "{shared:#?}");
    let pair = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "nic0").expect("a pair");
    assert!(pair.way == "switch" && pair.write.high == Some(45.0) && pair.bound_by.contains("ports"), "{pair:#?}");
}

/// A virtual machine with nothing but paravirtual devices on its root bus says so, and what would say more.
#[test]
fn a_machine_without_links_says_what_it_is() {
    let text = "00:03.0 Ethernet controller [0200]: Red Hat, Inc. Virtio network device [1af4:1000]\n";
    let report = explained(text);
    assert!(report.links.is_empty() && report.devices.is_empty());
    assert!(report.host.virtual_machine.as_ref().is_some_and(|v| v.contains("Virtio")), "{:?}", report.host);
    assert!(report.unknown.iter().any(|u| u.what.contains("virtual machine") && u.command.contains("beneath")));
}

/// A matrix of ways alone says how devices reach each other, and of GPUs that other dumps show which are joined.
#[test]
fn a_matrix_alone_gives_ways() {
    if let Some(text) = topology("nvidia-smi-topo-m-dgx-a100.txt") {
        let report = explained(&text);
        let pair = |a: &str, b: &str| report.pairs.iter().find(|p| p.from == a && p.to == b).expect("a pair").clone();
        assert_eq!(report.pairs.len(), 190);
        assert_eq!(pair("GPU0", "GPU1").direct.as_deref(), Some("NVLink x12"));
        let near = pair("GPU0", "mlx5_0");
        assert!(near.way == "switch" && near.write.high.is_none() && near.through.contains("PXB"), "{near:?}");
        assert_eq!(pair("GPU0", "mlx5_2").way, "sockets");
    }
    let text = switch("-", "")
        + "|   0  NVIDIA X   Off | 00000000:03:00.0 Off | 0 |\n|   1  NVIDIA X   Off | 00000000:04:00.0 Off | 0 |\n\
           \tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n";
    let report = explained(&text);
    assert_eq!(report.pairs.len(), 1, "{:#?}", report.pairs);
    assert_eq!(report.pairs[0].direct.as_deref(), Some("NVLink x4"));
    assert!(report.pairs[0].write.low.is_some(), "the way over PCI Express is known too");
}
