//! Texts about the host around the functions: `numactl -H`, `lscpu`, lstopo's text.
//!
//! lscpu speaks the language of its user; what it says in another than English is not read, and then unknown.

use super::function::{Address, Fact};
use super::{Form, Host, Place, clean, put};

/// What was read last, as far as the next line depends on it.
#[derive(Default)]
pub(crate) struct Reader {
    /// Columns of numactl's distances.
    columns: Vec<u32>,
    distances: bool,
    vendor: Option<String>,
    family: Option<u32>,
    sockets: u32,
    /// The function that lstopo's next devices belong to.
    lstopo: Option<Address>,
    in_lstopo: bool,
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "kB" | "KB" | "KiB" => 1 << 10,
        "MB" | "MiB" => 1 << 20,
        "GB" | "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

impl Reader {
    /// Reads a line; whether it is of one of these texts.
    pub(crate) fn line(&mut self, host: &mut Host, line: &str, at: Place) -> bool {
        let line = line.trim();
        self.numactl(host, line, at) || self.lstopo(host, line, at) || self.lscpu(host, line, at)
    }

    /// Another text begins.
    pub(crate) fn end(&mut self) {
        *self = Reader::default();
    }

    fn numactl(&mut self, host: &mut Host, line: &str, at: Place) -> bool {
        if self.distances {
            if let Some(names) = line.strip_prefix("node") {
                self.columns = names.split_ascii_whitespace().take(1024).filter_map(|n| n.parse().ok()).collect();
                return true;
            }
            if let Some((row, values)) = line.split_once(':')
                && let Ok(row) = row.trim().parse::<u32>()
                && row < 4096
            {
                for (column, value) in self.columns.iter().zip(values.split_ascii_whitespace()) {
                    if let Ok(value) = value.parse() {
                        host.distances.entry((row, *column)).or_insert(Fact { value, at });
                    }
                }
                return true;
            }
            self.distances = false;
        }
        if line.starts_with("available: ") && line.contains(" nodes (") {
            host.found(Form::Numactl, at);
            return true;
        }
        if line == "node distances:" {
            self.distances = true;
            return true;
        }
        let Some(rest) = line.strip_prefix("node ") else { return false };
        let Some((node, rest)) = rest.split_once(' ') else { return false };
        let Some(node) = node.parse::<u32>().ok().filter(|n| *n < 4096) else { return false };
        if let Some(processors) = rest.strip_prefix("cpus:") {
            let _ = put(&mut host.nodes.entry(node).or_default().processors, clean(processors), at);
        } else if let Some(memory) = rest.strip_prefix("size:").and_then(size) {
            let known = &mut host.nodes.entry(node).or_default().memory;
            let _ = put(known, memory, at);
        } else {
            return rest.starts_with("free:");
        }
        host.found(Form::Numactl, at);
        true
    }

    fn lscpu(&mut self, host: &mut Host, line: &str, at: Place) -> bool {
        let Some((key, rest)) = line.split_once(':') else { return false };
        let rest = rest.trim();
        let processors = key.strip_prefix("NUMA node").and_then(|k| k.strip_suffix(" CPU(s)")).map(str::parse::<u32>);
        match key {
            "Architecture" => {}
            "Model name" => {
                host.learn_host("processor", clean(rest), at, |h| &mut h.processor);
            }
            "Socket(s)" => {
                let Ok(sockets) = rest.parse() else { return false };
                host.learn_host("sockets", sockets, at, |h| &mut h.sockets);
            }
            "Hypervisor vendor" => host.learn_host("hypervisor", clean(rest), at, |h| &mut h.hypervisor),
            "Vendor ID" => self.vendor = Some(clean(rest)),
            "CPU family" => self.family = rest.parse().ok(),
            "Model" => {
                let (Some(family), Ok(model)) = (self.family, rest.parse()) else { return false };
                host.family.get_or_insert(Fact { value: (family, model), at });
            }
            _ => {
                let Some(Ok(node)) = processors else { return false };
                if node < 4096 {
                    let known = host.nodes.entry(node).or_default();
                    known.processors.get_or_insert(Fact { value: clean(rest), at });
                }
            }
        }
        host.found(Form::Lscpu, at);
        true
    }

    /// lstopo prints rounded sizes; they are kept only where nothing else says them.
    fn lstopo(&mut self, host: &mut Host, line: &str, at: Place) -> bool {
        let first = line.split(' ').next().unwrap_or_default();
        match first {
            "Machine" if line.starts_with("Machine (") => {
                self.in_lstopo = true;
                host.found(Form::Lstopo, at);
            }
            _ if !self.in_lstopo => return false,
            "NUMANode" => {
                let inside = line.split_once("(P#").and_then(|(_, r)| r.split_once(')')).map(|(i, _)| i);
                let Some((node, memory)) = inside.and_then(|i| i.split_once(' ')) else { return true };
                if let (Ok(node), Some(memory)) = (node.parse::<u32>(), size(memory))
                    && node < 4096
                {
                    host.nodes.entry(node).or_default().memory.get_or_insert(Fact { value: memory, at });
                }
            }
            "Package" | "Socket" => {
                self.sockets += 1;
                if host.sockets.as_ref().is_none_or(|s| s.at.dump == at.dump && s.value + 1 == self.sockets) {
                    host.sockets = Some(Fact { value: self.sockets, at });
                }
            }
            "PCI" => {
                let word = line.split(' ').nth(1).unwrap_or_default();
                self.lstopo = Address::parse(word);
                // Older versions print ids without an address: nothing tells which function it is.
            }
            "Net" | "OpenFabrics" | "Block" | "CoProc" | "GPU" | "Block(Disk)" => {
                let name = line.split('"').nth(1).map(clean);
                if let (Some(address), Some(name)) = (self.lstopo, name)
                    && let Some(function) = host.function(address, at)
                {
                    super::nccl::device(function, name, at);
                }
            }
            "HostBridge" | "PCIBridge" | "L3" | "L2" | "L1d" | "L1i" | "Core" | "PU" | "Die" | "Group0" => {}
            _ => return false,
        }
        true
    }
}
