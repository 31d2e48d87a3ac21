//! How long an answer takes. The goal: an estimate of a 50-device platform under 1 ms.

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;

fn main() {
    divan::main();
}

/// Two root complexes, switches of eight devices each, reads and writes from all of them.
fn server(devices: usize) -> String {
    let switches = devices.div_ceil(8).max(2);
    let switches = switches + switches % 2;
    let per = devices / switches;
    format!(
        r#"
[parts.rc]
use = "example/root-complex"
count = 2
memory_bandwidth = "100 GB/s"
[parts.sw]
use = "example/pcie-switch"
count = {switches}
[parts.nic]
use = "example/nic-100g"
count = {n}
[links.up]
between = ["rc.*", "sw.*.up"]
pcie = "gen4 x8"
[links.slot]
between = ["sw.*.down.*", "nic.*"]
pcie = "gen3 x8"
[flows.rx]
from = "nic.*"
to = "rc.*.memory"
do = "write"
size = "4 KiB"
[flows.tx]
from = "nic.*"
to = "rc.*.memory"
do = "read"
size = "4 KiB"
"#,
        n = switches * per
    )
}

fn plan(text: &str) -> (Plan, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "bench".into(), text: text.to_owned(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library).expect("a plan");
    (plan, diagnostics)
}

/// Text to plan.
#[divan::bench(args = [10, 50, 500])]
fn read_and_plan(bencher: divan::Bencher, devices: usize) {
    let text = server(devices);
    bencher.bench(|| plan(&text));
}

/// Plan to report: three corners, upgrade, every link's ledger. Each device writes.
#[divan::bench(args = [10, 50, 500])]
fn estimate_writes(bencher: divan::Bencher, devices: usize) {
    let text = server(devices);
    let (writes, _) = text.split_once("[flows.tx]").expect("two flows");
    let (plan, diagnostics) = plan(writes);
    bencher.bench(|| estimate(&plan, &diagnostics));
}

/// The same; each device writes and reads.
#[divan::bench(args = [10, 50, 500])]
fn estimate_writes_and_reads(bencher: divan::Bencher, devices: usize) {
    let (plan, diagnostics) = plan(&server(devices));
    bencher.bench(|| estimate(&plan, &diagnostics));
}
