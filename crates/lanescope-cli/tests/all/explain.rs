//! `explain` as a person meets it: pastes, folders, this host, and forms for other programs.

use crate::common::{folder, lanescope, out, piped, wrong};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lanescope/tests/fixtures/hosts").join(name);
    path.to_string_lossy().into_owned()
}

#[test]
fn a_paste_is_answered_from_a_file_and_from_standard_input() {
    let file = fixture("epyc-4gpu-e12/host.md");
    let (text, _) = out(&["explain", &file], 0);
    for words in [
        "findings, by cost in GB/s",
        "alone, GB/s",
        "peer to peer",
        "links",
        "not in the dumps",
        "idle at 2.5 GT/s x16",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let paste = std::fs::read(&file).expect("the fixture");
    let output = piped(&["explain", "-"], paste);
    let piped = String::from_utf8_lossy(&output.stdout).into_owned();
    // But for the name of the dump the same.
    assert_eq!(piped.replace("  -: ", "  X: ").replace(" -:", " X:"), text.replace(&file, "X"));
    assert!(out(&["explain", &file, "--all"], 0).0.lines().count() > text.lines().count());
}

#[test]
fn json_is_as_its_schema_says() {
    let (schema, _) = out(&["schema", "explained"], 0);
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let (json, _) = out(&["explain", &fixture("oci-h100/H100-topology.xml"), "--json"], 0);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<_> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(json["devices"].as_array().map(Vec::len), Some(16));
    wrong(&["schema", "explained", "--text"], &["JSON only"]);
}

#[test]
fn several_dumps_are_one_host() {
    let dumps =
        ["sys-lspci.txt", "sys-numactl.txt", "sys-lstopo.txt"].map(|f| fixture(&format!("pcie-bench-t430/{f}")));
    let (text, _) = out(&["explain", &dumps[0], &dumps[1], &dumps[2]], 0);
    assert!(text.contains("2 NUMA nodes") && text.contains("numactl") && text.contains("lstopo"), "{text}");
    // The folder that they lie in says the same.
    let folder = fixture("pcie-bench-t430");
    assert!(out(&["explain", &folder], 0).0.contains("2 NUMA nodes"));
}

#[test]
fn what_is_emitted_is_read_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name).to_string_lossy().into_owned();
        std::fs::write(&path, text).expect("written");
        path
    };
    let (xml, _) = out(&["explain", &fixture("oci-h100/H100-topology.xml"), "--emit", "nccl-xml"], 0);
    let (again, _) = out(&["explain", &write("topo.xml", &xml), "--emit", "nccl-xml"], 0);
    assert_eq!(xml, again);
    for dump in ["epyc-4gpu-e12/host.md", "pcie-bench-t430/sys-lspci.txt", "hwloc/hwloc-nvidiaDGX2.xml"] {
        let (scenario, _) = out(&["explain", &fixture(dump), "--emit", "scenario"], 0);
        let (_, said) = out(&["check", &write("host.toml", &scenario)], 0);
        assert!(!said.contains("error"), "{dump}: {said}");
    }
    let (table, _) = out(&["explain", &fixture("epyc-4gpu-e12/host.md"), "--emit", "thresholds"], 0);
    assert!(table.starts_with("device,address,test,") && table.contains("gpu3,0000:e1:00.0,host to device copy,"));
}

#[test]
fn measured_numbers_are_judged() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("bw.csv").to_string_lossy().into_owned();
    std::fs::write(&file, "gpu0 to memory,13.4\ngpu1 to memory,27.0\n").expect("written");
    let (text, _) = out(&["explain", &fixture("epyc-4gpu-e12/host.md"), "--measured", &file], 0);
    assert!(text.contains("what would explain the low rows") && text.contains("8 GT/s under load"), "{text}");
    std::fs::write(&file, "nothing here").expect("written");
    wrong(&["explain", &fixture("epyc-4gpu-e12/host.md"), "--measured", &file], &["no measured number"]);
}

#[test]
fn a_host_is_drawn() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = dir.path().join("pictures");
    let folder = to.to_string_lossy().into_owned();
    out(&["explain", &fixture("hwloc/hwloc-nvidiaDGX2.xml"), "--svg", &folder], 0);
    let text = std::fs::read_to_string(to.join("host.svg")).expect("a picture");
    assert!(text.starts_with("<svg") && text.contains("gpu15"), "all sixteen GPUs");
    wrong_after(&["explain", &fixture("azure/ncv4-topo.xml"), "--svg", &folder], "whose speed is known");
}

#[test]
fn forms_for_other_programs_are_printed() {
    let dump = fixture("epyc-4gpu-e12/host.md");
    let (text, _) = out(&["explain", &dump, "--emit", "hwloc"], 0);
    assert!(text.starts_with("<?xml") && text.contains("<topology version=\"2.0\">") && text.contains("NUMALatency"));
    let (text, _) = out(&["explain", &dump, "--emit", "ucx"], 0);
    assert!(text.contains("\nUCX_DISTANCE_BW=auto,node:") && text.contains("\nUCX_DISTANCE_LAT="), "{text}");
    let (text, _) = out(&["explain", &dump, "--emit", "infragraph"], 0);
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["devices"][0]["components"].as_array().map(|c| c.iter().any(|c| c["choice"] == "xpu")), Some(true));
    // A form alone: what else is asked for would be lost.
    wrong(&["explain", &dump, "--emit", "ucx", "--simulate"], &["cannot be used with"]);
    wrong(&["explain", &dump, "--emit", "lstopo"], &["hwloc", "infragraph"]);
}

#[test]
fn a_page_is_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("host.html");
    let to = file.to_string_lossy().into_owned();
    let (text, said) = out(&["explain", &fixture("hwloc/hwloc-nvidiaDGX2.xml"), "--html", &to, "--static"], 0);
    let page = std::fs::read_to_string(&file).expect("a page");
    assert!(text.contains("alone, GB/s") && said.contains("wrote"), "the report is printed too");
    assert!(page.len() < 300_000 && page.contains("<svg") && page.contains("gpu15") && !page.contains("<script"));
    out(&["explain", &fixture("hwloc/hwloc-nvidiaDGX2.xml"), "--html", &to], 0);
    let live = std::fs::read_to_string(&file).expect("a page");
    assert!(live.len() < 3_000_000 && live.contains("gpu15") && live.contains("id=\"begin\""), "{}", live.len());
    wrong_after(
        &["explain", &fixture("hwloc/hwloc-nvidiaDGX2.xml"), "--html", &dir.path().to_string_lossy()],
        "irectory",
    );
}

#[test]
fn a_workload_is_answered_and_its_mistakes_are_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    let dump = fixture("epyc-4gpu-e12/host.md");
    let path = dir.path().join("load.toml").to_string_lossy().into_owned();
    let load = "[flows.up]\nfrom = \"0000:01:00.0\"\nto = \"node0.memory\"\ndo = \"write\"\nsize = \"64 KiB\"\n\n\
                [flows.down]\nfrom = \"gpu0\"\nto = \"node0.memory\"\ndo = \"read\"\nsize = \"64 KiB\"\n";
    std::fs::write(&path, load).expect("written");
    let (text, _) = out(&["explain", &dump, "--workload", &path], 0);
    let (_, answer) = text.split_once("\nworkload ").expect("a section of its own");
    assert!(answer.contains("\nup ") && answer.contains("\ndown ") && !answer.contains("simulated"), "{answer}");
    let (json, _) = out(&["explain", &dump, "--workload", &path, "--json", "--simulate"], 0);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["workload"]["flows"].as_array().map(Vec::len), Some(2));
    assert!(json["workload"]["simulation"]["flows"][0]["rate"]["mean"].as_f64() > Some(1e11), "{}", json["workload"]);
    assert!(json["together"][0]["simulated"]["total"].as_f64() > Some(50.0), "{}", json["together"]);
    std::fs::write(&path, load.replace("\"gpu0\"", "\"gpu7\"")).expect("written");
    let (_, said) = out(&["explain", &dump, "--workload", &path], 2);
    assert!(said.contains("load.toml:8") && said.contains("gpu7"), "{said}");
    wrong(&["explain", &fixture("azure/ndv5-topo.xml"), "--workload", &path], &["nothing to simulate"]);
    wrong(&["explain", &dump, "--workload", "nowhere.toml"], &["no such file"]);
}

#[test]
fn collectives_and_messages_are_judged() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("nccl.txt").to_string_lossy().into_owned();
    let ranks: String = [1, 0x41, 0xc1, 0xe1]
        .iter()
        .enumerate()
        .map(|(n, bus)| format!("#  Rank  {n} Group  0 Pid 42 on a device  {n} [0x{bus:02x}] NVIDIA X\n"))
        .collect();
    let table = "#   size   count  type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong\n\
                 134217728 33554432 float sum -1 5932.4 9.64 14.45 0 5932.4 9.65 14.47 0\n";
    std::fs::write(&file, format!("$ all_reduce_perf -g 4\n{ranks}{table}")).expect("written");
    let (text, _) = out(&["explain", &fixture("epyc-4gpu-e12/host.md"), "--measured", &file], 0);
    assert!(text.contains("all_reduce_perf 134217728 B in place, busbw (4 GPUs, gpu0 to gpu3): 14.47"), "{text}");
    std::fs::write(&file, "").expect("written");
    wrong(&["explain", &fixture("epyc-4gpu-e12/host.md"), "--measured", &file], &["it is empty", "nccl-tests"]);
}

/// What goes wrong at a first try: each is told what to do.
#[test]
fn a_newcomers_mistakes_are_answered() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("dump.txt").to_string_lossy().into_owned();
    std::fs::write(&path, "").expect("written");
    wrong(&["explain", &path], &["dump.txt", "it is empty", "lspci -vvv"]);
    wrong(&["explain", &fixture("epyc-4gpu-e12/host.md"), "--mesured", &path], &["--measured"]);
    // Options that need a dump of their own kind: a dump given as numbers.
    let dump = fixture("epyc-4gpu-e12/host.md");
    wrong(&["explain", &dump, "--measured", &dump], &["no measured number", "a dump of a host"]);
    std::fs::write(&path, "gpu0 to memory,26.9\n").expect("written");
    wrong(&["explain", &path], &["measured numbers", "--measured"]);
    // Windows line ends, as a dump and as numbers.
    let text = std::fs::read_to_string(&dump).expect("the fixture").replace('\n', "\r\n");
    std::fs::write(&path, text).expect("written");
    let (windows, _) = out(&["explain", &path], 0);
    let (plain, _) = out(&["explain", &dump], 0);
    assert_eq!(windows.replace(&path, "X"), plain.replace(&dump, "X"));
    let numbers = dir.path().join("bw.csv").to_string_lossy().into_owned();
    std::fs::write(&numbers, "name,GB/s\r\ngpu0 to memory,26.9\r\n").expect("written");
    assert!(out(&["explain", &dump, "--measured", &numbers], 0).0.contains("26.90, expected"));
}

/// What is answered in part, and then refused.
fn wrong_after(args: &[&str], words: &str) {
    let (_, error) = out(args, 2);
    assert!(error.contains(words), "{args:?}: {error}");
}

#[test]
fn what_is_no_dump_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("no.txt").to_string_lossy().into_owned();
    std::fs::write(&file, "hello\n").expect("written");
    wrong(&["explain", &file], &["nothing in it is of a form"]);
    wrong(&["explain", &format!("{file}x")], &["no such file"]);
    // A program, and a picture.
    for magic in [&b"\x7fELF\x02\x01\x01\0\0\0\0"[..], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"] {
        std::fs::write(&file, magic.repeat(300)).expect("written");
        wrong(&["explain", &file], &["nothing in it is of a form"]);
    }
    // Bytes of no text are read all the same.
    std::fs::write(&file, [b"01:00.0 Ethernet controller: A \xff\xfe B\n".as_slice(), &[0, 159, 146, 150]].concat())
        .expect("written");
    out(&["explain", &file], 1);
    let two = "root@a:~# lspci\n00:00.0 Host bridge: A\nroot@b:~# lspci\n00:00.0 Host bridge: B\n";
    std::fs::write(&file, two).expect("written");
    wrong(&["explain", &file, "--emit", "scenario"], &["several hosts"]);
    // All of its links are virtual.
    wrong(&["explain", &fixture("azure/ndv5-topo.xml"), "--emit", "scenario"], &["nothing to simulate"]);
}

/// This very machine: whatever it is, there is an answer or a reason, and a recording says the same.
#[test]
fn this_host_is_explained_and_recorded() {
    if !Path::new("/sys/bus/pci/devices").exists() {
        wrong(&["explain"], &["no /sys/bus/pci"]);
        return;
    }
    let output = lanescope(&["explain", "--json"]).output().expect("it runs");
    assert!(matches!(output.status.code(), Some(0..=2)), "{output:?}");
    if output.status.code() == Some(2) {
        return;
    }
    let direct: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(direct["host"]["functions"].as_u64() > Some(0));
    let dir = tempfile::tempdir().expect("a folder");
    let to: PathBuf = dir.path().join("record");
    let folder = to.to_string_lossy().into_owned();
    let (said, _) = out(&["explain", "record", &folder], 0);
    assert!(said.contains("files of sysfs"), "{said}");
    let output = lanescope(&["explain", &folder, "--json"]).output().expect("it runs");
    let recorded: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(recorded["host"]["functions"], direct["host"]["functions"]);
    assert_eq!(recorded["links"], direct["links"]);
}

/// Two hosts are not taken for one: nothing is said of what neither is.
#[test]
fn dumps_of_two_hosts_are_refused_together() {
    let dump = |class: &str| {
        let of = |bus: u32| {
            format!(
                "{bus:02x}:00.0 {class}: Intel Corporation Device [8086:1{bus:03x}]\n\
                 \tCapabilities: [a0] Express (v2) Endpoint, MSI 00\n\
                 \t\tLnkCap:\tPort #0, Speed 5GT/s, Width x4, ASPM L0s, Exit Latency L0s <4us\n\
                 \t\tLnkSta:\tSpeed 5GT/s, Width x4, TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-\n\n"
            )
        };
        folder(&(2..6).map(of).collect::<String>())
    };
    let (one, other) = (dump("Ethernet controller [0200]"), dump("Non-Volatile memory controller [0108]"));
    for (_, file) in [&one, &other] {
        out(&["explain", file], 0);
    }
    let (answer, said) = out(&["explain", &one.1, &other.1], 2);
    assert!(answer.is_empty() && said.contains("not of one host"), "{answer}{said}");
    assert!(said.contains("0x0200") && said.contains("0x0108") && said.contains("3 more devices"), "{said}");
}
