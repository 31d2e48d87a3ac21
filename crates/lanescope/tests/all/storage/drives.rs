//! Drives of the library: what their data sheets state is what comes out.

use crate::common::{run as answer, simulate, simulated, within};
use lanescope::library::platform_text;

/// A drive, its generation, and what is stated of it: random reads and writes of 4 KiB a second, GB/s in order, and the
/// time of a read alone, us; 0 where nothing is.
type Stated = (&'static str, &'static str, [f64; 2], [f64; 2], f64);

const STATED: [Stated; 6] = [
    ("nvme/samsung-pm9a3", "gen4 x4", [900e3, 200e3], [6.5, 3.5], 0.0),
    ("nvme/kioxia-cm6", "gen4 x4", [1.4e6, 170e3], [6.9, 4.2], 0.0),
    ("nvme/kioxia-cd6", "gen4 x4", [1.0e6, 85e3], [6.2, 4.0], 0.0),
    ("nvme/intel-p4500", "gen3 x4", [645e3, 62.5e3], [3.2, 1.8], 115.0),
    ("nvme/samsung-980", "gen3 x4", [500e3, 480e3], [3.5, 3.0], 58.8),
    ("nvme/intel-optane-p4800x", "gen3 x4", [584.8e3, 500e3], [2.4, 2.0], 8.9),
];

fn text(drive: &str, link: &str, access: &str, more: &str) -> String {
    format!(
        "[parts.host]\nuse = \"example/root-complex\"\n[parts.drive]\nuse = \"{drive}\"\n[links.slot]\n\
         between = [\"host\", \"drive\"]\npcie = \"{link}\"\n[flows.io]\nfrom = \"host\"\nto = \"drive\"\ndo = \"io\"\n\
         host_software = \"spdk\"\naccess = {access}\n{more}\n[run]\nfor = \"20 ms\"\nwarmup = \"10 ms\"\n"
    )
}

#[test]
fn drives_do_what_their_data_sheets_state() {
    for (drive, link, [reads, writes], [read, written], alone) in STATED {
        let share =
            |access: &str, more: &str| answer(&text(drive, link, access, more), &[]).flows[0].share.typical / 8.0;
        let random =
            |read: u32| format!("{{ size = \"4 KiB\", read = \"{read} %\", random = \"100 %\", align = \"4 KiB\" }}");
        let in_order = |read: u32| format!("{{ size = \"128 KiB\", read = \"{read} %\" }}");
        let all = [
            ("random reads", share(&random(100), "outstanding = 256\nworkers = 4") / 4096.0, reads),
            ("random writes", share(&random(0), "outstanding = 256\nworkers = 4") / 4096.0, writes),
            ("read in order", share(&in_order(100), "outstanding = 128") / 1e9, read),
            ("written in order", share(&in_order(0), "outstanding = 128") / 1e9, written),
        ];
        for (what, got, stated) in all {
            println!("{drive}: {what} {got} of {stated}");
        }
        for (what, got, stated) in all {
            assert!((got / stated - 1.0).abs() < 0.05, "{drive}, {what}: {got}, stated {stated}");
        }
        if alone > 0.0 {
            // Measured by a kernel's way of issuing, one I/O after the other.
            let text = text(drive, link, &random(100), "outstanding = 1").replace("spdk", "io_uring-polled");
            let s = simulate(&text, &[]);
            println!("{drive}: alone {} of {alone} us", simulated(&s, "io").latency.mean * 1e6);
            within(0.05, simulated(&s, "io").latency.mean * 1e6, alone);
        }
    }
}

/// A drive of the library says of every number where it is from, and nothing is from itself.
#[test]
fn every_number_names_its_origin() {
    for (drive, ..) in STATED {
        let text = platform_text(drive).expect("it is in the library");
        assert!(!text.contains("(the same)"), "{drive}");
        for line in text.lines().filter(|l| l.contains("origin = \"fitted\"")) {
            assert!(line.contains("source = \"") && line.chars().any(|c| c.is_ascii_digit()), "{drive}: {line}");
        }
    }
}
