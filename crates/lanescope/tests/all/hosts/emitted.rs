//! What `explain` hands to other programs: NCCL's file again, scenarios that can be planned, tables of thresholds.

use super::{dumps, explained, host, hosts, ours};
use lanescope::diagnostic::Diagnostics;
use lanescope::explain::{nccl, scenario, thresholds};
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
