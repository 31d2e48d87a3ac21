//! Dumps of hosts, from anywhere.

use lanescope::explain::{explain, hwloc, infragraph, measured, nccl, scenario, thresholds, ucx};
use lanescope::import::host::{Dump, read};
use lanescope::pens;
use std::collections::BTreeMap;

/// All that can be made of a text, as it would be printed; whether anything was found.
pub fn all_of(text: &str) -> (String, bool) {
    let (mut out, mut found) = (String::new(), false);
    for host in read(&[Dump::Text { name: "dump".into(), text }]) {
        found |= !host.is_empty();
        let report = explain(&host);
        out += &pens::explain::text(&report, true);
        out += &pens::explain::text(&report, false);
        out += &serde_json::to_string(&report).expect("JSON");
        out += &serde_json::to_string(&host).expect("JSON");
        out += &thresholds::emit(&host);
        out += &ucx::emit(&host);
        out += &infragraph::emit(&host);
        let page = pens::explain::page(&report, None);
        assert!(page.len() < pens::explain::MOST, "{} B", page.len());
        out += &page;
        let file = hwloc::emit(&host);
        let again = read(&[Dump::Text { name: "file".into(), text: &file }]);
        let known = |h: &lanescope::import::host::Host| h.functions.keys().copied().collect::<Vec<_>>();
        assert_eq!(known(&host), again.first().map(known).unwrap_or_default(), "{file}");
        out += &file;
        let emitted = scenario::emit(&host);
        if emitted.contains("[flows.") {
            let (plan, diagnostics) = super::plan(&emitted, &[]);
            assert!(plan.is_some(), "{diagnostics}\n{emitted}");
        }
        out += &emitted;
        let file = nccl::emit(&host);
        let again = read(&[Dump::Text { name: "file".into(), text: &file }]);
        assert_eq!(again.len(), 1, "{file}");
        assert_eq!(nccl::emit(&again[0]), file, "read again it is the same");
        out += &file;
    }
    (out, found)
}

/// Nothing that is printed moves a terminal's cursor.
pub fn printable(out: &str) {
    let odd = out.chars().find(|c| c.is_control() && *c != '\n');
    assert!(odd.is_none(), "{odd:?} is printed");
}

/// Two GPUs and an adapter below a switch, and a drive beside it.
const HOST: &str = "\
    00:01.0 PCI bridge: A\n\tBus: primary=00, secondary=01, subordinate=05, sec-latency=0\n\
    \tCapabilities: [60] Express (v2) Root Port (Slot+), MSI 00\n\
    \t\tLnkCap: Port #0, Speed 16GT/s, Width x16\n\t\tLnkSta: Speed 16GT/s, Width x16\n\
    01:00.0 PCI bridge: A\n\tBus: primary=01, secondary=02, subordinate=05, sec-latency=0\n\
    \tCapabilities: [60] Express (v2) Upstream Port, MSI 00\n\
    \t\tLnkCap: Port #0, Speed 16GT/s, Width x16\n\t\tLnkSta: Speed 16GT/s, Width x16\n\
    02:00.0 PCI bridge: A\n\tBus: primary=02, secondary=03, subordinate=03, sec-latency=0\n\
    \tCapabilities: [60] Express (v2) Downstream Port (Slot+), MSI 00\n\
    02:01.0 PCI bridge: A\n\tBus: primary=02, secondary=04, subordinate=04, sec-latency=0\n\
    \tCapabilities: [60] Express (v2) Downstream Port (Slot+), MSI 00\n\
    02:02.0 PCI bridge: A\n\tBus: primary=02, secondary=05, subordinate=05, sec-latency=0\n\
    \tCapabilities: [60] Express (v2) Downstream Port (Slot+), MSI 00\n\
    03:00.0 3D controller: NVIDIA X\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
    \t\tLnkCap: Port #0, Speed 16GT/s, Width x16\n\t\tLnkSta: Speed 16GT/s, Width x16\n\
    04:00.0 3D controller: NVIDIA X\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
    \t\tLnkCap: Port #0, Speed 16GT/s, Width x16\n\t\tLnkSta: Speed 16GT/s, Width x16\n\
    05:00.0 Ethernet controller: M 100GbE\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
    \t\tLnkCap: Port #0, Speed 16GT/s, Width x16\n\t\tLnkSta: Speed 16GT/s, Width x16\n\
    00:02.0 PCI bridge: A\n\tBus: primary=00, secondary=06, subordinate=06, sec-latency=0\n\
    \tCapabilities: [60] Express (v2) Root Port (Slot+), MSI 00\n\
    06:00.0 Non-Volatile memory controller: S\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
    \t\tLnkCap: Port #0, Speed 8GT/s, Width x4\n\t\tLnkSta: Speed 8GT/s, Width x4\n";

/// What an instrument printed, beside what a host of all kinds of devices should reach: each row has a verdict.
pub fn measured(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let Ok(rows) = measured::read("numbers", &text) else { return false };
    assert!(rows.iter().all(|r| r.rate.is_finite() && r.rate > 0.0));
    let hosts = read(&[Dump::Text { name: "dump".into(), text: HOST }]);
    let mut report = explain(&hosts[0]);
    let count = rows.len();
    measured::compare(&hosts[0], &mut report, rows);
    assert_eq!(report.measured.len(), count);
    assert!(report.candidates.iter().all(|c| c.off_percent.is_finite() && c.explains > 0 && !c.command.is_empty()));
    printable(&pens::explain::text(&report, true));
    assert!(pens::explain::page(&report, None).len() < pens::explain::MOST);
    true
}

/// A dump, and the same bytes as configuration space and as an instrument's numbers.
pub fn host(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let (out, found) = all_of(&text);
    printable(&out);
    let _ = measured::read("numbers", &text);
    let files = BTreeMap::from([
        ("sys/0000:00:01.0/config".to_owned(), data.to_vec()),
        ("sys/0000:00:01.0/0000:01:00.0/config".to_owned(), data.to_vec()),
        ("sys/0000:00:01.0/0000:01:00.0/max_link_speed".to_owned(), data.to_vec()),
    ]);
    for host in read(&[Dump::Files { name: "files".into(), files: &files }]) {
        printable(&pens::explain::text(&explain(&host), true));
    }
    found
}
