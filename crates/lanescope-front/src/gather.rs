//! Files of this host, and of folders: read, never written, in bounded number and size.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// Files by their path below the folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Files of a folder at most.
const MOST_FILES: usize = 200_000;
/// Bytes of all files together at most.
const MOST_BYTES: usize = 256 << 20;
/// Bytes of a dump at most.
pub const MAX_DUMP: usize = 64 << 20;
/// Folders inside one another at most.
const MOST_DEEP: usize = 40;

/// What the kernel says of each function.
const OF_FUNCTION: &[&str] = &[
    "class",
    "vendor",
    "device",
    "config",
    "numa_node",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "secondary_bus_number",
    "subordinate_bus_number",
    "aer_dev_correctable",
];

fn bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Names in a folder, sorted.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Functions, NUMA nodes and the processor of the host whose file system begins at `root`.
pub fn this_host(root: &Path) -> Files {
    let mut files = Files::new();
    let listed = root.join("sys/bus/pci/devices");
    for address in names(&listed) {
        // The links lead to where the function hangs: sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0.
        let Ok(place) = fs::canonicalize(listed.join(&address)) else { continue };
        let kept = place.strip_prefix(root).unwrap_or(&place).to_string_lossy().into_owned();
        function(&mut files, &place, &kept);
    }
    let nodes = root.join("sys/devices/system/node");
    for node in names(&nodes).into_iter().filter(|n| n.starts_with("node")) {
        for file in ["cpulist", "distance", "meminfo"] {
            if let Some(text) = bytes(&nodes.join(&node).join(file), 1 << 16) {
                files.insert(format!("sys/devices/system/node/{node}/{file}"), text);
            }
        }
    }
    if !files.is_empty()
        && let Some(text) = bytes(&root.join("proc/cpuinfo"), 1 << 14)
    {
        files.insert("proc/cpuinfo".into(), text);
    }
    files
}

fn function(files: &mut Files, place: &Path, kept: &str) {
    for file in OF_FUNCTION {
        if let Some(text) = bytes(&place.join(file), 4096).filter(|t| !t.is_empty()) {
            files.insert(format!("{kept}/{file}"), text);
        }
    }
    for link in ["driver", "iommu_group"] {
        if let Ok(target) = fs::read_link(place.join(link)) {
            files.insert(format!("{kept}/{link}"), target.to_string_lossy().into_owned().into_bytes());
        }
    }
    for class in ["net", "infiniband", "block", "nvme"] {
        for name in names(&place.join(class)) {
            let speed = bytes(&place.join(class).join(&name).join("speed"), 64).filter(|_| class == "net");
            files.insert(format!("{kept}/{class}/{name}/speed"), speed.unwrap_or_default());
        }
    }
}

/// The files of a folder, links as their targets.
///
/// # Errors
///
/// More than there may be of a copied folder.
pub fn folder(dir: &Path) -> Result<Files, String> {
    let mut files = Files::new();
    let mut total = 0;
    let mut todo = vec![(dir.to_path_buf(), String::new(), 0)];
    while let Some((place, below, depth)) = todo.pop() {
        for name in names(&place) {
            let path = place.join(&name);
            let kept = if below.is_empty() { name } else { format!("{below}/{name}") };
            let Ok(kind) = path.symlink_metadata().map(|m| m.file_type()) else { continue };
            if kind.is_dir() && depth < MOST_DEEP {
                todo.push((path, kept, depth + 1));
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map(|t| t.to_string_lossy().into_owned()).unwrap_or_default();
                files.insert(kept, target.into_bytes());
            } else if kind.is_file() {
                // Texts at the top may be long; files of sysfs are a page.
                let most = if kept.contains('/') { 1 << 16 } else { MAX_DUMP as u64 };
                let found = bytes(&path, most).unwrap_or_default();
                total += found.len();
                files.insert(kept, found);
            }
            if files.len() > MOST_FILES || total > MOST_BYTES {
                return Err(format!("{} holds more than a host's dumps", dir.display()));
            }
        }
    }
    Ok(files)
}

/// Outputs of the commands that this host has, by file name.
pub fn commands() -> Vec<(String, Vec<u8>)> {
    let all: [(&str, &str, &[&str]); 6] = [
        ("lspci-vvv.txt", "lspci", &["-vvv", "-nn"]),
        ("lspci-tv.txt", "lspci", &["-tv"]),
        ("numactl.txt", "numactl", &["-H"]),
        ("lscpu.txt", "lscpu", &[]),
        ("nvidia-smi.txt", "nvidia-smi", &[]),
        ("nvidia-smi-topo.txt", "nvidia-smi", &["topo", "-m"]),
    ];
    let run = |(file, command, arguments): &(&str, &str, &[&str])| {
        let mut command = Command::new(command);
        // In English: what is read are words.
        command.args(*arguments).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().ok().filter(|o| o.status.success() && !o.stdout.is_empty())?;
        Some(((*file).to_owned(), output.stdout))
    };
    all.iter().filter_map(run).collect()
}
