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
