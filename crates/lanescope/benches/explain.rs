//! How long an answer about a real host takes, from the text of its dump to the report as text, beside its goals:
//! 200 functions in 100 ms; 16 GPUs on three levels of switches, all pairs, in 1 s. Ends with an error where one is
//! missed.

use lanescope::explain::explain;
use lanescope::import::host::{Dump, read};
use lanescope::pens;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs of each row; the fastest counts, since others on the machine only slow it down.
const RUNS: u32 = 7;

/// GPUs on three levels of switches, four below each root port, in lspci's words, and functions that fill it up.
fn host(gpus: usize, functions: usize) -> String {
    let (mut text, mut count, mut bus) = (String::new(), 0, 1);
    let mut function = |text: &mut String, at: String, class: &str, buses: Option<(usize, usize)>, kind: &str| {
        let _ = writeln!(text, "{at} {class}");
        if let Some((second, last)) = buses {
            let _ = writeln!(text, "\tBus: primary=00, secondary={second:02x}, subordinate={last:02x}, sec-latency=0");
        }
        let _ = writeln!(
            text,
            "\tNUMA node: 0\n\tCapabilities: [60] Express (v2) {kind}, MSI 00\n\t\tDevCap:\tMaxPayload 256 bytes\n\
             \t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\
             \t\tLnkSta:\tSpeed 32GT/s, Width x16\n\t\tACSCtl:\tReqRedir-"
        );
        count += 1;
        count
    };
    let bridge = "PCI bridge: A B";
    for root in 0..gpus.div_ceil(4) {
        let (top, end) = (bus, bus + 14);
        function(&mut text, format!("00:{:02x}.0", root + 1), bridge, Some((top, end)), "Root Port (Slot+)");
        function(&mut text, format!("{top:02x}:00.0"), bridge, Some((top + 1, end)), "Upstream Port");
        for leaf in 0..2 {
            let base = top + 2 + leaf * 6;
            let port = format!("{:02x}:{leaf:02x}.0", top + 1);
            function(&mut text, port, bridge, Some((base, base + 5)), "Downstream Port (Slot+)");
            function(&mut text, format!("{base:02x}:00.0"), bridge, Some((base + 1, base + 5)), "Upstream Port");
            for gpu in 0..2 {
                let at = base + 2 + gpu;
                let port = format!("{:02x}:{gpu:02x}.0", base + 1);
                function(&mut text, port, bridge, Some((at, at)), "Downstream Port (Slot+)");
                function(&mut text, format!("{at:02x}:00.0"), "3D controller: NVIDIA X", None, "Endpoint");
            }
        }
        bus = end + 1;
    }
    for n in 0.. {
        let at = format!("{:02x}:{:02x}.{}", 0xc0 + n / 256, n % 256 / 8, n % 8);
        if function(&mut text, at, "System peripheral: A B", None, "Root Complex Integrated Endpoint") >= functions {
            break;
        }
    }
    text
}

fn main() -> ExitCode {
    let mut missed = false;
    for (name, gpus, functions, goal) in [
        ("200 functions, 4 GPUs", 4, 200, Duration::from_millis(100)),
        ("16 GPUs on three levels of switches, all pairs", 16, 60, Duration::from_secs(1)),
    ] {
        let text = host(gpus, functions);
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            let hosts = read(&[Dump::Text { name: "bench".into(), text: &text }]);
            let report = explain(&hosts[0]);
            let printed = pens::explain::text(&report, false);
            best = best.min(start.elapsed());
            assert_eq!(report.pairs.len(), gpus * (gpus - 1) / 2, "{name}: all pairs");
            assert!(report.host.functions >= functions && printed.contains("gpu0"), "{name}");
        }
        let ratio = best.as_secs_f64() / goal.as_secs_f64();
        println!("{name}: {best:.1?}, {ratio:.3} of the goal of {goal:?}");
        missed |= best > goal;
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
