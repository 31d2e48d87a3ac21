//! What `explain` hands to other programs: NCCL's file again, scenarios that can be planned, tables of thresholds.

use super::explained::switch;
use super::{dumps, explained, host, hosts, ours};
use crate::common::some;
use lanescope::diagnostic::Diagnostics;
use lanescope::explain::{hwloc, infragraph, nccl, scenario, thresholds, ucx};
use lanescope::import::host::{Host, value};
use lanescope::library::Library;
use lanescope::scenario::{Included, tree::Author};

#[test]
fn nccl_files_are_read_again_as_they_were_written() {
    let mut files = 0;
    for (name, text) in dumps() {
        let first = nccl::emit(&host(&text));
        let second = nccl::emit(&host(&first));
        assert!(first == second, "{name}:\n{first}\n{second}");
        roxmltree::Document::parse(&first).unwrap_or_else(|e| panic!("{name}: {e}\n{first}"));
        files += usize::from(name.ends_with(".xml"));
    }
    assert!(files >= 12, "{files}");
}

/// Elements and attributes but for speeds that are corrected: the file says what it said.
#[test]
fn a_believed_file_is_written_as_it_was() {
    for file in ["oci-a100/topo-flattened-b4.xml", "infragraph/dgx_a100_nccl_topo.xml", "azure/ndv5-topo.xml"] {
        let text = ours(file);
        let elements = |text: &str| {
            let document = roxmltree::Document::parse(text.trim_start()).expect("XML");
            let of = |n: roxmltree::Node| {
                let attributes = n.attributes().filter(|a| !a.name().starts_with("link_"));
                let attributes: Vec<_> = attributes.map(|a| format!("{}={}", a.name(), a.value())).collect();
                format!("{} {} {}", n.ancestors().count(), n.tag_name().name(), attributes.join(" "))
            };
            document.descendants().filter(|n| n.is_element()).map(of).collect::<Vec<_>>()
        };
        let emitted = nccl::emit(&host(&text));
        let (mut before, mut after) = (elements(&text), elements(&emitted));
        // Interfaces may change places with functions beside them.
        before.sort();
        after.sort();
        assert_eq!(before, after, "{file}");
    }
}

#[test]
fn corrected_speeds_stand_in_the_file() {
    let text = nccl::emit(&host(&ours("oci-h100/H100-topology.xml")));
    assert!(!text.contains("5.0 GT/s"), "switches' insides are not written on");
    assert_eq!(text.matches("<gpu").count(), 8);
    // What is not known stays empty.
    let text = nccl::emit(&host(&ours("azure/ncv4-topo.xml")));
    assert_eq!(text.matches("link_speed=\"\"").count(), 4);
    // From lspci: GPUs and adapters, and the believed speed of an idle link.
    let text = nccl::emit(&host(&ours("epyc-4gpu-e12/host.md")));
    let gpu = text.lines().find(|l| l.contains("0000:01:00.0")).unwrap_or_default();
    assert!(gpu.contains("link_speed=\"16.0 GT/s PCIe\" link_width=\"16\""), "{text}");
}

#[test]
fn scenarios_can_be_planned_and_give_the_expected_numbers() {
    let mut flows = 0;
    for (name, text) in dumps() {
        let host = host(&text);
        let emitted = scenario::emit(&host);
        if !emitted.contains("[flows.") {
            continue;
        }
        let mut diagnostics = Diagnostics::default();
        let included = Included { name: "host.toml".into(), text: emitted.clone(), author: Author::User };
        let plan = lanescope::plan(&mut diagnostics, included, &[], &Library);
        let plan = plan.unwrap_or_else(|| panic!("{name}: {diagnostics}\n{emitted}"));
        let report = lanescope::estimate::estimate(&plan, &diagnostics);
        let expected = explained(&text);
        for flow in &report.flows {
            let id = flow.name.trim_end_matches("_w");
            let device = expected.devices.iter().find(|d| d.id == id).expect("the device");
            let typical = device.to_memory.rate.typical.or(device.to_memory.rate.high).expect("a rate");
            let share = flow.share.typical / 8e9;
            assert!(share <= typical * 1.01, "{name} {id}: {share} of {typical}");
            flows += 1;
        }
    }
    assert!(flows > 60, "{flows}");
}

#[test]
fn thresholds_are_below_what_is_expected() {
    let dumps = [ours("pcie-bench-t430/sys-lspci.txt"), ours("pcie-bench-t430/sys-numactl.txt")];
    let texts: Vec<&str> = dumps.iter().map(String::as_str).collect();
    let table = thresholds::emit(&hosts(&texts)[0]);
    assert!(table.starts_with("device,address,test,lowest_gb_per_s,reason\n"));
    let report = explained(&ours("epyc-4gpu-e12/host.md"));
    let table = thresholds::emit(&host(&ours("epyc-4gpu-e12/host.md")));
    let mut checked = 0;
    for line in table.lines().filter(|l| l.starts_with("gpu")) {
        let cells: Vec<&str> = line.splitn(5, ',').collect();
        let lowest: f64 = cells[3].parse().expect("a number");
        let device = report.devices.iter().find(|d| d.id == cells[0]).expect("the device");
        let range = if cells[2] == "device to host copy" { &device.to_memory } else { &device.from_memory };
        assert!((lowest / range.rate.low.unwrap_or(0.0) - 0.95).abs() < 1e-3, "{line}");
        checked += 1;
    }
    assert_eq!(checked, 8);
}

/// A ConnectX-7 has ports of 50 GB/s at most, in a slot of 60: no healthy one reaches what its slot carries. Of ports
/// that no dump states, nothing says from where on a rate would be too low.
#[test]
fn nothing_asks_more_of_a_network_adapter_than_its_ports_carry() {
    let text = ours("epyc-4gpu-e12/host.md");
    let (report, table) = (explained(&text), thresholds::emit(&host(&text)));
    let of_nics = report.devices.iter().filter(|d| d.name.contains("ConnectX-7"));
    let mut seen = 0;
    for device in of_nics.filter(|d| d.to_memory.rate.high.is_some()) {
        for rate in [device.to_memory.rate, device.from_memory.rate] {
            assert!(rate.low.is_none() && rate.high.is_some_and(|high| high <= 50.0), "{}: {rate:?}", device.id);
        }
        assert!(!table.lines().any(|l| l.starts_with(&format!("{},", device.id))), "{table}");
        assert!(table.contains(&format!("# {} ", device.id)), "{table}");
        seen += 1;
    }
    assert!(seen >= 2, "{seen}");
    // Where a dump says what the ports carry, that is the least.
    for dump in dumps() {
        let (host, report) = (host(&dump.1), explained(&dump.1));
        for line in thresholds::emit(&host).lines().filter(|l| l.starts_with("nic")) {
            let device = report.devices.iter().find(|d| line.starts_with(&format!("{},", d.id))).expect("the device");
            assert!(device.to_memory.rate.low.is_some(), "{}: {line}", dump.0);
        }
        assert!(!thresholds::emit(&host).contains("may be slower"), "{}", dump.0);
    }
}

/// What hwloc's form has a place for, of what a host knows: a line each.
fn told(host: &Host) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (address, f) in &host.functions {
        let mut names: Vec<&str> = f.devices.iter().map(|d| d.value.as_str()).collect();
        names.sort_unstable();
        lines.extend(value(&f.ids).map(|i| format!("{address} ids {i:?}")));
        lines.extend(value(&f.class).map(|c| format!("{address} class {c:04x}")));
        lines.extend(f.name.as_ref().map(|n| format!("{address} name {}", n.value)));
        lines.extend(value(&f.parent).map(|p| format!("{address} parent {p}")));
        lines.extend(value(&f.buses).map(|b| format!("{address} buses {b:?}")));
        lines.extend(value(&f.node).map(|n| format!("{address} node {n}")));
        lines.extend(names.iter().map(|n| format!("{address} device {n}")));
    }
    for (node, known) in &host.nodes {
        lines.push(format!("node {node} {:?}", value(&known.memory)));
    }
    lines.extend(host.distances.iter().map(|(pair, d)| format!("distance {pair:?} {}", d.value)));
    lines.extend(host.processor.as_ref().map(|p| format!("processor {}", p.value)));
    lines.extend(value(&host.family).map(|f| format!("family {f:?}")));
    lines
}

#[test]
fn hwloc_files_are_read_again_as_they_were_written() {
    let mut from_hwloc = 0;
    // Those of hwloc's own, and of the others some.
    let (own, others): (Vec<_>, Vec<_>) = dumps().into_iter().partition(|(name, _)| name.ends_with(".xml"));
    for (name, text) in own.into_iter().chain(some(others, 8)) {
        let before = host(&text);
        let file = hwloc::emit(&before);
        roxmltree::Document::parse_with_options(
            &file,
            roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
        )
        .unwrap_or_else(|e| panic!("{name}: {e}\n{file}"));
        let after = host(&file);
        // All that was known is known again, and of hwloc's own files nothing else.
        let (told_before, told_after) = (told(&before), told(&after));
        // hwloc has distances between several nodes only.
        let one_node = before.distances.len() == 1;
        for line in told_before.iter().filter(|l| !(one_node && l.starts_with("distance"))) {
            assert!(told_after.contains(line), "{name}: {line} is lost\n{file}");
        }
        assert_eq!(hwloc::emit(&after), hwloc::emit(&host(&hwloc::emit(&after))), "{name}");
        if name.ends_with(".xml") && text.contains("<topology") {
            from_hwloc += 1;
            assert_eq!(told_before, told_after, "{name}");
        }
    }
    assert!(from_hwloc >= 5, "{from_hwloc}");
}

/// Speeds in hwloc's file are those that are believed under load, so that a second explanation expects the same.
#[test]
fn hwloc_files_carry_speeds_and_expectations() {
    let text = switch("-", "");
    let file = hwloc::emit(&host(&text));
    let (before, after) = (explained(&text), explained(&file));
    assert_eq!(before.devices.len(), after.devices.len());
    for (a, b) in before.devices.iter().zip(&after.devices) {
        assert_eq!(a.address, b.address);
        // MPS is lost: the range is wider, and holds the other.
        assert!(
            b.to_memory.rate.low <= a.to_memory.rate.low && b.to_memory.rate.high >= a.to_memory.rate.high,
            "{b:#?}"
        );
    }
    assert!(
        file.contains("name=\"PCIPeerBandwidth\"") && file.contains("<memattr name=\"DeviceReadBandwidth\""),
        "{file}"
    );
}

/// hwloc itself reads the files, where it is installed.
#[test]
fn hwloc_reads_what_is_written_for_it() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    if Command::new("lstopo-no-graphics").arg("--version").output().is_err() {
        eprintln!("skipped: hwloc is not installed");
        return;
    }
    // hwloc takes seconds for each: a form each, nodes with and without processors.
    for name in ["hwloc/hwloc-nvidiaDGX2.xml", "oci-h100/H100-topology.xml", "epyc-4gpu-e12/host.md"] {
        let before = host(&ours(name));
        let mut command = Command::new("lstopo-no-graphics");
        command.args(["--of", "xml", "--whole-io", "--if", "xml", "-i", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let text = hwloc::emit(&before);
        let mut stdin = child.stdin.take().expect("a pipe");
        let feed = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output();
        feed.join().expect("it does not panic").expect("all of it is taken");
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("rror"), "{name}: {said}");
        let again = String::from_utf8_lossy(&output.stdout);
        let devices = before.functions.values().filter(|f| f.buses.is_none()).count();
        if devices > 0 {
            assert!(again.contains("PCIDev"), "{name}: functions are lost\n{again}");
        }
    }
}

#[test]
fn settings_of_ucx_say_where_they_come_from() {
    let text = ucx::emit(&host(&ours("epyc-4gpu-e12/host.md")));
    let line =
        |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{text}")).to_owned();
    // Each GPU has a host bridge of its own: node is what a pair gets in MB of 2^20 bytes, sys is what no dump states.
    let bandwidth = line("UCX_DISTANCE_BW=");
    let node = bandwidth.split("node:").nth(1).and_then(|r| r.strip_suffix("MBs")).and_then(|n| n.parse::<f64>().ok());
    let report = explained(&ours("epyc-4gpu-e12/host.md"));
    let pair = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "gpu1").expect("a pair");
    let expected = pair.write.typical.expect("its class was measured");
    assert!(node.is_some_and(|n| (n * 1048576.0 / 1e9 / expected - 1.0).abs() < 0.001), "{bandwidth}");
    assert!(bandwidth.starts_with("UCX_DISTANCE_BW=auto,") && !bandwidth.contains("sys:"), "{bandwidth}");
    let latency = line("UCX_DISTANCE_LAT=");
    let of = |key: &str| latency.split(key).nth(1)?.split("ns").next()?.parse::<f64>().ok();
    assert!(of("node:").zip(of("sys:")).is_some_and(|(near, far)| 100.0 < near && near < far), "{latency}");
    assert!(
        text.contains("gpu0 to gpu1") || text.contains("bound by link 0000:"),
        "the derivation stands there\n{text}"
    );
    // Every line is a comment or a setting, and below one switch there is nothing to set.
    for (name, dump) in dumps() {
        let text = ucx::emit(&host(&dump));
        let sound = |l: &str| l.is_empty() || l.starts_with('#') || l.starts_with("UCX_DISTANCE_");
        assert!(text.lines().all(sound), "{name}\n{text}");
    }
    let text = ucx::emit(&host(&switch("-", "")));
    assert!(text.lines().all(|l| l.is_empty() || l.starts_with('#')), "{text}");
}

/// The rules of infragraph's schema 2.4.0 that a parser can check: names, references, indexes.
#[test]
fn infragraph_files_hold_together() {
    let mut edges = 0;
    for (name, text) in dumps() {
        let file: serde_json::Value = serde_json::from_str(&infragraph::emit(&host(&text))).expect("JSON");
        let device = &file["devices"][0];
        assert_eq!(file["instances"][0]["device"], device["name"], "{name}");
        let sound = |v: &serde_json::Value| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || " \t-_()><[]".contains(c);
            assert!(v.as_str().is_some_and(|s| !s.is_empty() && s.chars().all(allowed)), "{name}: {v}");
        };
        sound(&file["name"]);
        for thing in device["components"].as_array().into_iter().chain(device["links"].as_array()).flatten() {
            sound(&thing["name"]);
        }
        let list = |key: &str| device[key].as_array().cloned().unwrap_or_default();
        for edge in list("edges") {
            edges += 1;
            assert!(list("links").iter().any(|l| l["name"] == edge["link"]), "{name}: {edge}");
            for end in ["ep1", "ep2"] {
                let at = edge[end]["component"].as_str().expect("a component");
                let (kind, index) = at.strip_suffix(']').and_then(|a| a.split_once('[')).expect("a slice");
                let component = list("components").into_iter().find(|c| c["name"] == kind).expect("it exists");
                assert!(
                    index.parse::<u64>().expect("a number") < component["count"].as_u64().unwrap_or(0),
                    "{name}: {edge}"
                );
                assert!(component[component["choice"].as_str().unwrap_or_default()].is_object(), "{component}");
            }
        }
    }
    assert!(edges > 60, "{edges}");
    // The two GPUs behind the switch, and the switch behind the processors: 31.5 GB/s after coding.
    let file: serde_json::Value = serde_json::from_str(&infragraph::emit(&host(&switch("-", "")))).expect("JSON");
    let links = &file["devices"][0]["links"];
    assert_eq!(links[0]["physical"]["bandwidth"]["gigabytes_per_second"], 31.508, "{file:#}");
    assert_eq!(file["devices"][0]["edges"].as_array().map(Vec::len), Some(3), "{file:#}");
}
