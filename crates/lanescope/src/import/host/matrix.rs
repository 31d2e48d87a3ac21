//! `nvidia-smi topo -m` and nvidia-smi's own table: how GPUs and adapters reach each other, and which address is GPU 0.

use super::function::{Address, Fact};
use super::nccl::device;
use super::{Form, Host, Place, Relation, clean};

/// Devices of a matrix at most; ways are their square.
const MOST_DEVICES: usize = 128;

/// The columns of the matrix that is being read.
#[derive(Default)]
pub(crate) struct Reader {
    columns: Vec<String>,
}

fn is_way(word: &str) -> bool {
    matches!(word, "X" | "SYS" | "NODE" | "PHB" | "PXB" | "PIX" | "PSB" | "SOC" | "N/A")
        || word.strip_prefix("NV").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Bytes without the underlining that nvidia-smi puts around its header.
fn words(line: &str) -> Vec<&str> {
    line.split_ascii_whitespace().collect()
}

impl Reader {
    /// Reads a line; whether it belongs to a matrix.
    pub(crate) fn line(&mut self, host: &mut Host, line: &str, at: Place) -> bool {
        let line = line.trim();
        if !line.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return false;
        }
        if line.starts_with("GPU0") && !words(line).get(1).is_some_and(|w| is_way(w)) {
            let names = line.split("CPU Affinity").next().unwrap_or_default();
            let names: Vec<String> = words(names).into_iter().take(MOST_DEVICES).map(clean).collect();
            self.columns = names;
            host.found(Form::Matrix, at);
            return true;
        }
        if self.columns.is_empty() {
            return false;
        }
        let words = words(line);
        // "NIC0: mlx5_0" of the legend.
        if let [nic, name] = words.as_slice()
            && let Some(nic) = nic.strip_suffix(':').filter(|n| n.starts_with("NIC"))
        {
            for relation in &mut host.relations {
                for end in [&mut relation.from, &mut relation.to] {
                    if end == nic {
                        *end = clean(name);
                    }
                }
            }
            return true;
        }
        let Some(row) = self.columns.iter().position(|c| Some(&c.as_str()) == words.first()) else { return false };
        let ways = &words[1..];
        for (column, way) in ways.iter().take(self.columns.len()).enumerate() {
            if !is_way(way) {
                break;
            }
            // The matrix is symmetric: half of it says all.
            if column > row && *way != "N/A" {
                host.relations.push(Relation {
                    from: self.columns[row].clone(),
                    to: self.columns[column].clone(),
                    way: (*way).to_owned(),
                    at,
                });
            }
        }
        if let (Some(_), Some(node)) = (ways.get(self.columns.len()), ways.get(self.columns.len() + 1))
            && let Ok(node) = node.parse()
        {
            host.device_nodes.insert(self.columns[row].clone(), Fact { value: node, at });
        }
        true
    }

    /// The matrix ends.
    pub(crate) fn end(&mut self) {
        self.columns.clear();
    }
}

/// Reads a line of nvidia-smi's table: `|   0  NVIDIA H100 …  On | 00000000:0F:00.0 Off | …`.
pub(crate) fn smi(host: &mut Host, line: &str, at: Place) -> bool {
    let mut cells = line.trim().strip_prefix('|').unwrap_or_default().split('|');
    let (Some(first), Some(second)) = (cells.next(), cells.next()) else { return false };
    let number = first.split_ascii_whitespace().next().and_then(|n| n.parse::<u32>().ok());
    let address = second.split_ascii_whitespace().next().map(str::to_ascii_lowercase);
    let (Some(number), Some(address)) = (number, address.and_then(|a| Address::parse(&a))) else { return false };
    host.found(Form::Smi, at);
    if let Some(function) = host.function(address, at) {
        device(function, format!("GPU{number}"), at);
        // 3D controller, where nothing else says what it is.
        function.class.get_or_insert(Fact { value: 0x0302, at });
    }
    true
}
