//! What the readers take from dumps of every form, and how several merge.

use super::{dumps, host, hosts, ours, topology};
use lanescope::import::host::{Address, Dump, Form, Host, Kind, Remark, read, value};
use lanescope::protocol::pcie::Generation;
use std::collections::BTreeMap;

fn at(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

#[test]
fn every_fixture_is_of_a_known_form() {
    for (name, text) in dumps() {
        let host = host(&text);
        // Three files say nothing of a topology: kernel command lines, and a numactl that is not installed.
        let nothing = name.contains("cmdline") || name.ends_with("tx1310/sys-numactl.txt");
        // lstopo of a machine that names no node.
        let little = name.ends_with("tx1310/sys-lstopo.txt");
        assert!(nothing || little || !host.dumps[0].forms.is_empty(), "{name}");
        if !nothing && !name.contains("lstopo") && !name.contains("numactl") && !name.contains("nvidia-smi-topo") {
            assert!(!host.functions.is_empty(), "{name}");
        }
        assert!(host.notes.is_empty(), "{name}: {:?}", host.notes);
    }
}

/// The whole of a function's registers, by hand from the page of the MIT fixture.
#[test]
fn a_page_with_prompts_and_markup_is_one_host() {
    let host = host(&ours("epyc-4gpu-e12/host.md"));
    let forms = [Form::Lspci, Form::Tree, Form::Matrix, Form::Smi, Form::Numactl, Form::Lscpu];
    assert_eq!(host.dumps[0].forms.iter().copied().collect::<Vec<_>>(), forms);
    assert_eq!(host.name.as_ref().map(|n| n.value.as_str()), Some("coyote2"));
    assert_eq!((value(&host.sockets), host.nodes.len()), (Some(2), 2));
    assert_eq!((host.distance(0, 1), host.distance(0, 0)), (Some(32), Some(10)));
    assert_eq!(value(&host.family), Some((25, 17)));
    assert_eq!(value(&host.loose_acs), Some((46, 0)), "46 lines of grep, none redirects");

    let gpu = &host.functions[&at("01:00.0")];
    assert_eq!(gpu.kind(), Kind::Gpu);
    assert_eq!(gpu.devices.iter().map(|d| d.value.as_str()).collect::<Vec<_>>(), ["GPU0"]);
    let e = gpu.express.as_ref().expect("a capability");
    assert_eq!((value(&e.speed_capable), value(&e.width_capable)), (Some(Generation::Gen4), Some(16)));
    assert_eq!((value(&e.speed), value(&e.width)), (Some(Generation::Gen1), Some(16)));
    assert_eq!((value(&e.mps_supported), value(&e.mps), value(&e.mrrs)), (Some(256), Some(256), Some(512)));
    assert_eq!(value(&e.speed_target), Some(Generation::Gen4));
    assert_eq!(e.speed.as_ref().map(|f| f.at.line), Some(200), "the line of LnkSta");
    // The tree says what is above; the text does not.
    assert_eq!(value(&gpu.parent), Some(at("00:01.1")));
    // Four levels of switches, by columns.
    let drive = &host.functions[&at("65:00.0")];
    assert_eq!(value(&drive.parent), Some(at("64:10.0")));
    assert_eq!(value(&host.functions[&at("64:10.0")].parent), Some(at("63:00.0")));
    // Relations of the matrix carry the names of its legend.
    let way = |a: &str, b: &str| host.relations.iter().find(|r| r.from == a && r.to == b).map(|r| r.way.as_str());
    assert_eq!((way("GPU0", "GPU1"), way("mlx5_0", "mlx5_1")), (Some("NODE"), Some("PIX")));
}

/// A tree and a text of the same host agree on everything that both say.
#[test]
fn a_tree_agrees_with_bus_numbers() {
    for name in ["pciutils-tree-asus-p6t6", "pciutils-PCI-X-bridges-and-domains", "pciutils-tree-fujitsu-p8010"] {
        let (Some(tree), Some(text)) =
            (topology(&format!("{name}.lspci-tv.txt")), topology(&format!("{name}.lspci-vvv.txt")))
        else {
            return;
        };
        agree(&tree, &text);
    }
    agree(
        &ours("hwloc/hwloc-32em64t-2n8c-nocaps.lspci-tv.txt"),
        &ours("hwloc/hwloc-32em64t-2n8c-nocaps.lspci-vvv.txt"),
    );
}

fn agree(tree: &str, text: &str) {
    let both = &hosts(&[text, tree])[0];
    let alone = host(text);
    assert!(both.notes.is_empty(), "{:?}", both.notes);
    assert_eq!(both.functions.keys().collect::<Vec<_>>(), alone.functions.keys().collect::<Vec<_>>());
    let behind = |parent: Address| value(&alone.functions[&parent].buses);
    let mut checked = 0;
    for (address, function) in &both.functions {
        if let Some(parent) = value(&function.parent) {
            assert_eq!(behind(parent).map(|b| b.0), Some(address.bus), "{address} behind {parent}");
            checked += 1;
        }
    }
    assert!(checked > 0, "some stand behind a bridge");
}

#[test]
fn nccl_files_keep_what_they_do_not_know() {
    let host = host(&ours("azure/ncv4-topo.xml"));
    let gpu = &host.functions[&at("0001:00:00.0")];
    assert_eq!((gpu.kind(), value(&gpu.node)), (Kind::Gpu, Some(0)));
    assert!(gpu.claim.empty && gpu.claim.speed.is_none() && gpu.claim.width.is_none(), "unknown stays unknown");
    assert_eq!(gpu.nccl.as_ref().map(|n| n.direct.len()), Some(1));
    let bare = super::host(&ours("aws/aws-g5.48xl-nccl-topo.xml"));
    assert_eq!(bare.functions.len(), 9);
    assert!(bare.functions.values().all(|f| f.class.is_none() && f.claim.speed.is_none() && !f.claim.empty));
    // Levels of switches, and the adapter's two ports added.
    let host = super::host(&ours("oci-h100/H100-topology.xml"));
    let gpu = host.functions[&at("0f:00.0")].nccl.as_ref().expect("in the file");
    assert_eq!(gpu.above, Some(at("0d:00.0")));
    assert_eq!(value(&host.functions[&at("0c:00.0")].net_speed), Some(360_000));
    // 143 of CPUID's register is family 23.
    assert_eq!(value(&super::host(&ours("rccl/rccl-topo_8p_rome_4nics.xml")).family), Some((23, 49)));
    assert_eq!(value(&super::host(&ours("oci-h100/H100-topology.xml")).family), Some((6, 143)));
}

#[test]
fn hwloc_files_say_what_hangs_where() {
    let host = host(&ours("hwloc/hwloc-nvidiaDGX2.xml"));
    assert_eq!((host.nodes.len(), value(&host.sockets), host.distance(0, 1)), (2, Some(2), Some(21)));
    let gpu = &host.functions[&at("34:00.0")];
    assert_eq!((value(&gpu.ids), value(&gpu.node), gpu.kind()), (Some((0x10de, 0x1db8)), Some(0), Kind::Gpu));
    assert_eq!(value(&gpu.parent), Some(at("33:00.0")));
    assert_eq!(gpu.claim.gigabytes.as_ref().map(|g| g.value), Some(15.753846));
    // A speed of 0 is one that hwloc was not allowed to read.
    let host = super::host(&ours("hwloc/hwloc-32em64t-2n8c-dax-nvme-mic-dimms.xml"));
    assert!(host.functions.values().all(|f| f.claim.empty && f.claim.gigabytes.is_none()));
}

#[test]
fn matrices_of_any_version_are_read() {
    for (file, gpus, adapters, ways) in [
        ("nvidia-smi-topo-m-dgx-a100.txt", 8, 12, [("GPU0", "mlx5_0", "PXB"), ("GPU0", "GPU7", "NV12")]),
        ("nvidia-smi-topo-m-8xV100-SXM2-2xIB.txt", 8, 2, [("GPU2", "mlx5_0", "PIX"), ("GPU4", "GPU7", "NV1")]),
    ] {
        let Some(text) = topology(file) else { return };
        let host = host(&text);
        let all: usize = gpus + adapters;
        assert_eq!(host.relations.len(), all * (all - 1) / 2, "{file}");
        for (from, to, way) in ways {
            assert!(host.relations.iter().any(|r| r.from == from && r.to == to && r.way == way), "{from} {to} {way}");
        }
        assert_eq!(host.device_nodes.len(), gpus, "{file}: nodes of GPUs");
    }
}

#[test]
fn the_kernels_own_words_are_read() {
    let Some(text) = topology("kernel-log-pcie-bandwidth-and-mps.txt") else { return };
    let line = |n: usize| host(text.lines().nth(n).expect("a line"));
    let limited = line(0);
    let (by, device) = (&limited.functions[&at("00:00.0")], &limited.functions[&at("01:00.0")]);
    let link = |f: &lanescope::import::host::Function| {
        f.express.as_ref().map(|e| (value(&e.speed), value(&e.width), value(&e.speed_capable), value(&e.width_capable)))
    };
    assert_eq!(link(by), Some((Some(Generation::Gen1), Some(4), None, None)));
    assert_eq!(link(device), Some((None, None, Some(Generation::Gen3), Some(4))));
    let set = line(3);
    let express = set.functions[&at("01:00.0")].express.clone().unwrap_or_default();
    assert_eq!((value(&express.mps), value(&express.mps_supported)), (Some(256), Some(256)));
}

#[test]
fn dumps_merge_and_contradictions_are_told() {
    let a = "01:00.0 Ethernet controller: A B\n\tNUMA node: 0\n\tCapabilities: [40] Express (v2) Endpoint, MSI \
        00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x8\n";
    let b = a.replace("NUMA node: 0", "NUMA node: 1").replace("2.5GT/s", "8GT/s");
    let both = &hosts(&[a, &b])[0];
    assert_eq!(both.functions.len(), 1);
    // Two speeds are two moments, the faster counts; two nodes are a contradiction, the first counts.
    let function = &both.functions[&at("01:00.0")];
    assert_eq!(function.express.as_ref().and_then(|e| value(&e.speed)), Some(Generation::Gen3));
    assert_eq!(value(&function.node), Some(0));
    assert_eq!(both.notes.len(), 1);
    assert!(
        both.notes[0].remark == Remark::Contradiction && both.notes[0].text.contains("NUMA node"),
        "{:?}",
        both.notes
    );
    assert_eq!(both.place(both.notes[0].at), "dump1:2");
    // In one text the same address with another device behind it is another host.
    let paste = format!("{a}\n{}", a.replace("A B", "C D"));
    assert_eq!(hosts(&[&paste]).len(), 2);
    // The same again is the same.
    assert_eq!(hosts(&[&format!("{a}{a}")]).len(), 1);
}

#[test]
fn prompts_of_two_hosts_part_them() {
    let one = "root@node1:~# lspci -vv\n00:00.0 Host bridge: A\n\tNUMA node: 0\n";
    let two = one.replace("node1", "node2").replace("NUMA node: 0", "NUMA node: 1");
    let all = hosts(&[&format!("{one}{two}{one}")]);
    let names: Vec<_> = all.iter().map(|h| h.name.as_ref().map(|n| n.value.as_str())).collect();
    assert_eq!(names, [Some("node1"), Some("node2")]);
    assert!(all.iter().all(|h| h.functions.len() == 1 && h.notes.is_empty()));
}

#[test]
fn a_copied_sysfs_is_decoded() {
    let config = |vendor: u16, bridge: bool| {
        let mut bytes = vec![0_u8; 256];
        bytes[..2].copy_from_slice(&vendor.to_le_bytes());
        bytes[2..4].copy_from_slice(&[0x34, 0x12]);
        bytes[0x0b] = if bridge { 6 } else { 2 };
        bytes[0x0a] = if bridge { 4 } else { 0 };
        bytes[0x0e] = u8::from(bridge);
        bytes[0x19] = u8::from(bridge);
        bytes[0x1a] = u8::from(bridge);
        bytes
    };
    let root = "sys/devices/pci0000:00/0000:00:01.0";
    let card = format!("{root}/0000:01:00.0");
    let mut files = BTreeMap::new();
    let mut put = |path: String, bytes: &[u8]| files.insert(path, bytes.to_vec());
    put(format!("{root}/config"), &config(0x8086, true));
    put(format!("{card}/config"), &config(0x15b3, false));
    put(format!("{card}/current_link_speed"), b"8.0 GT/s PCIe\n");
    put(format!("{card}/current_link_width"), b"4\n");
    put(format!("{card}/max_link_speed"), b"16.0 GT/s PCIe\n");
    put(format!("{card}/max_link_width"), b"8\n");
    put(format!("{card}/numa_node"), b"-1\n");
    put(format!("{card}/driver"), b"../../../bus/pci/drivers/mlx5_core");
    put(format!("{card}/net/eth0/speed"), b"25000\n");
    put(format!("{card}/aer_dev_correctable"), b"RxErr 0\nBadTLP 7\nTOTAL_ERR_COR 7\n");
    put("sys/devices/system/node/node0/distance".into(), b"10 21\n");
    let host = read(&[Dump::Files { name: "copy".into(), files: &files }]).remove(0);
    let function = &host.functions[&at("01:00.0")];
    let e = function.express.as_ref().expect("link files");
    assert_eq!((value(&e.speed), value(&e.width_capable)), (Some(Generation::Gen3), Some(8)));
    assert_eq!((value(&function.ids), value(&function.class)), (Some((0x15b3, 0x1234)), Some(0x0200)));
    assert_eq!((value(&function.parent), value(&function.node)), (Some(at("00:01.0")), None), "-1 is unknown");
    assert_eq!(function.driver.as_ref().map(|d| d.value.as_str()), Some("mlx5_core"));
    assert_eq!(value(&function.net_speed), Some(25_000));
    let corrected = function.corrected.as_ref().expect("counts");
    assert!(corrected.value.counted && corrected.value.of_the_link() == 7);
    assert_eq!((host.functions[&at("00:01.0")].kind(), host.distance(0, 1)), (Kind::Bridge, Some(21)));
}

#[test]
fn older_words_of_lspci_are_read_too() {
    // pciutils 2.2: a capability's flags on one line, and other names.
    let old = "0000:02:00.0 Class 0200: 8086:105e (rev 06)\n\tCapabilities: [e0] Express Endpoint IRQ 0\n\t\tDevice: \
        Supported: MaxPayload 256 bytes, PhantFunc 0, ExtTag-\n";
    let host: Host = host(old);
    let function = &host.functions[&at("02:00.0")];
    assert_eq!((value(&function.class), value(&function.ids)), (Some(0x0200), Some((0x8086, 0x105e))));
    assert_eq!(function.kind(), Kind::Nic);
    // With class codes beside names.
    let nn = "41:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)\n";
    let host = super::host(nn);
    let function = &host.functions[&at("41:00.0")];
    assert_eq!(value(&function.ids), Some((0x10de, 0x20f1)));
    assert_eq!(function.name.as_ref().map(|n| n.value.as_str()), Some("NVIDIA Corporation GA100 [A100 PCIe 40GB]"));
}

#[test]
fn the_xml_reader_sees_what_a_parser_of_documents_sees() {
    use lanescope::import::host::xml::tags;
    let mut read = 0;
    for (name, text) in dumps().into_iter().filter(|(name, _)| name.ends_with(".xml")) {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(text.trim_start(), options)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let theirs: Vec<(String, Vec<(String, String)>)> = document
            .descendants()
            .filter(|n| n.is_element())
            .map(|n| {
                let attributes = n.attributes().map(|a| (a.name().to_owned(), a.value().to_owned()));
                (n.tag_name().name().to_owned(), attributes.collect())
            })
            .collect();
        let ours: Vec<(String, Vec<(String, String)>)> = tags(&text)
            .filter(|t| t.opens)
            .map(|t| (t.name.to_owned(), t.attributes.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect()))
            .collect();
        assert!(ours == theirs, "{name}");
        read += ours.len();
    }
    assert!(read > 1000, "{read} elements");
}
