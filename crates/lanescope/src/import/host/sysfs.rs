//! A copy of sysfs: the files below a folder, each by its path.
//!
//! Functions are folders named by their address; what stands above in the path is the bridge above. `config` is
//! decoded like a hex dump: the kernel gives 64 bytes to everybody and all of them to root.

use super::config::Space;
use super::function::{Address, CORRECTABLE, Corrected, Express, Fact, generation};
use super::nccl::device;
use super::{Form, Host, Place, Remark, clean, put};
use std::collections::BTreeMap;

fn text(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]))
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x").unwrap_or(text.trim()), 16).ok()
}

/// Reads the files of a folder. Paths that name no function are looked at for NUMA nodes, or left alone.
pub(crate) fn read(host: &mut Host, dump: u32, files: &BTreeMap<String, Vec<u8>>) {
    let at = Place { dump, line: 0 };
    for (path, bytes) in files {
        if path == "proc/cpuinfo" || path.ends_with("/proc/cpuinfo") {
            host.found(Form::Sysfs, at);
            processor(host, bytes, at);
            continue;
        }
        let parts: Vec<&str> = path.split('/').collect();
        // The last folder that is an address is the function, the one before it the bridge above.
        let mut places = parts.iter().enumerate().filter_map(|(n, p)| Some((n, Address::parse(p)?)));
        let (mut above, mut last) = (None, None);
        for place in places.by_ref() {
            above = last;
            last = Some(place);
        }
        let Some((n, address)) = last else {
            node(host, &parts, bytes, at);
            continue;
        };
        let rest = &parts[n + 1..];
        if let Some((m, above)) = above
            && m + 1 == n
        {
            host.learn(address, "parent", above, at, |f| &mut f.parent);
        }
        if !rest.is_empty() {
            host.found(Form::Sysfs, at);
            file(host, address, rest, bytes, at);
        }
    }
}

/// The kernel's list of processors, as far as the first of them.
fn processor(host: &mut Host, bytes: &[u8], at: Place) {
    let text = String::from_utf8_lossy(bytes);
    let (mut family, mut model) = (None, None);
    for line in text.lines().take(40) {
        let Some((key, rest)) = line.split_once(':') else { continue };
        let rest = rest.trim();
        match key.trim() {
            "model name" => {
                host.processor.get_or_insert(Fact { value: clean(rest), at });
            }
            "cpu family" => family = family.or(rest.parse::<u32>().ok()),
            "model" => model = model.or(rest.parse::<u32>().ok()),
            "flags" if rest.split(' ').any(|f| f == "hypervisor") => {
                host.hypervisor.get_or_insert(Fact { value: "a hypervisor (CPUID)".into(), at });
            }
            _ => {}
        }
    }
    if let (Some(family), Some(model)) = (family, model) {
        host.family.get_or_insert(Fact { value: (family, model), at });
    }
}

fn node(host: &mut Host, parts: &[&str], bytes: &[u8], at: Place) {
    let Some((node, name)) = parts.iter().zip(parts.iter().skip(1)).find_map(|(folder, name)| {
        Some((folder.strip_prefix("node")?.parse::<u32>().ok().filter(|n| *n < 4096)?, *name))
    }) else {
        return;
    };
    let text = text(bytes);
    match name {
        "cpulist" => {
            let _ = put(&mut host.nodes.entry(node).or_default().processors, text, at);
        }
        "distance" => {
            for (to, value) in text.split_ascii_whitespace().take(1024).enumerate() {
                if let Ok(value) = value.parse() {
                    host.distances.entry((node, to as u32)).or_insert(Fact { value, at });
                }
            }
        }
        "meminfo" => {
            let kib =
                text.split("MemTotal:").nth(1).and_then(|t| t.split_ascii_whitespace().next()?.parse::<u64>().ok());
            if let Some(kib) = kib {
                let memory = &mut host.nodes.entry(node).or_default().memory;
                memory.get_or_insert(Fact { value: kib.saturating_mul(1024), at });
            }
        }
        _ => {}
    }
}

fn file(host: &mut Host, address: Address, rest: &[&str], bytes: &[u8], at: Place) {
    let text = text(bytes);
    let Some(function) = host.function(address, at) else { return };
    match rest {
        ["class"] => {
            if let Some(class) = hex(&text) {
                host.learn(address, "class", (class >> 8) as u16, at, |f| &mut f.class);
            }
        }
        ["vendor" | "device"] => {
            let Some(id) = hex(&text).and_then(|i| u16::try_from(i).ok()) else { return };
            let (vendor, device) = function.ids.as_ref().map_or((0, 0), |f| f.value);
            let ids = if rest[0] == "vendor" { (id, device) } else { (vendor, id) };
            // Two files make one fact; a hex dump may have said both already.
            if vendor == 0 || device == 0 {
                function.ids = Some(Fact { value: ids, at });
            }
        }
        ["config"] => {
            for what in Space::new(bytes, at).decode(function) {
                let said = format!("{address}: its config has another {what} than other dumps");
                host.note(Remark::Contradiction, said, at);
            }
        }
        ["numa_node"] => {
            if let Ok(node) = text.parse::<u32>() {
                host.learn(address, "NUMA node", node, at, |f| &mut f.node);
            }
        }
        ["driver"] => {
            let name = text.rsplit('/').next().unwrap_or_default();
            host.learn(address, "driver", clean(name), at, |f| &mut f.driver);
        }
        ["iommu_group"] => {
            if let Some(group) = text.rsplit('/').next().and_then(|g| g.parse().ok()) {
                host.learn(address, "IOMMU group", group, at, |f| &mut f.iommu_group);
            }
        }
        ["secondary_bus_number" | "subordinate_bus_number"] => {
            let Ok(bus) = text.parse::<u8>() else { return };
            let (second, last) = function.buses.as_ref().map_or((0, 0), |f| f.value);
            let buses = if rest[0].starts_with("sec") { (bus, last) } else { (second, bus) };
            if second == 0 || last == 0 {
                function.buses = Some(Fact { value: buses, at });
            }
        }
        ["current_link_speed" | "max_link_speed" | "current_link_width" | "max_link_width"] => {
            link(function.express.get_or_insert_default(), rest[0], &text, at);
        }
        ["aer_dev_correctable"] => counts(host, address, bytes, at),
        ["net" | "infiniband" | "block" | "nvme", name, ..] => {
            let name = clean(name);
            if let (["speed"], Ok(speed)) = (&rest[2..], text.parse::<u64>()) {
                function.net_speed.get_or_insert(Fact { value: speed, at });
            }
            device(function, name, at);
        }
        _ => {}
    }
}

fn link(express: &mut Express, file: &str, text: &str, at: Place) {
    let (speed, width) = (generation(text), text.parse::<u8>().ok().filter(|w| *w <= 32));
    // A later config may say the same; a contradiction within one kernel is a moment between two reads.
    match file {
        "current_link_speed" => express.speed = express.speed.take().or(speed.map(|value| Fact { value, at })),
        "max_link_speed" => {
            express.speed_capable = express.speed_capable.take().or(speed.map(|value| Fact { value, at }));
        }
        "current_link_width" => express.width = express.width.take().or(width.map(|value| Fact { value, at })),
        _ => express.width_capable = express.width_capable.take().or(width.map(|value| Fact { value, at })),
    }
}

/// `RxErr 12` lines of the kernel's counters since the host started.
fn counts(host: &mut Host, address: Address, bytes: &[u8], at: Place) {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(Ok(count))) = (words.next(), words.next().map(str::parse::<u64>)) else { continue };
        // The kernel writes "NonFatalErr" for the advisory one.
        let name = if name == "NonFatalErr" { "AdvNonFatalErr" } else { name };
        if let Some((_, known)) = CORRECTABLE.iter().find(|(_, n)| *n == name)
            && count > 0
        {
            kinds.insert(*known, count);
        }
    }
    if let Some(function) = host.function(address, at) {
        function.corrected =
            Some(Fact { value: Corrected { kinds, counted: true, told_by: "aer_dev_correctable" }, at });
    }
}
