//! Tables of IMB and OSU, read as everywhere else; of each block the fastest row counts.

use super::{Measurement, Messages, Target, row};
use crate::diagnostic::Diagnostics;
use crate::import::instrument;
use crate::import::table::{Block, Suite};

/// Tests in which a process waits for each message, so that a rate has the latency in it.
const WAITING: [&str; 4] = ["pingpong", "pingping", "osu_latency", "osu_multi_lat"];

/// Reads all tables.
pub(super) fn rows(text: &str) -> Result<Vec<Measurement>, String> {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("it", text);
    let table = instrument(&mut diagnostics, source).ok_or_else(|| diagnostics.to_string())?;
    let on_gpu = text.contains("on DEVICE") || text.contains("MPI-CUDA") || text.contains("MPI-ROCM");
    let adapters = adapters(text);
    let suite = if table.suite == Suite::Imb { "IMB " } else { "" };
    let of = |block: &Block| {
        let timed = |r: &&crate::import::table::Row| r.bytes.is_some_and(|b| b > 0);
        let seconds = |r: &crate::import::table::Row| r.t_max.or(r.t_avg);
        let rate = |r: &crate::import::table::Row| r.rate.or_else(|| Some(r.bytes? as f64 / seconds(r)?));
        let rows = block.rows.iter().filter(timed).filter_map(|r| Some((rate(r)?, r.bytes?)));
        let (best, bytes) = rows.filter(|r| r.0.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let waits = WAITING.contains(&block.name.to_ascii_lowercase().as_str());
        let shortest = block.rows.iter().min_by_key(|r| r.bytes).and_then(seconds);
        let target = Target::Messages(Messages {
            test: block.name.clone(),
            ranks: block.ranks,
            bytes,
            latency: shortest.filter(|_| waits),
            on_gpu,
            adapters: adapters.clone(),
        });
        Some(row(format!("{suite}{} {bytes} B", block.name), target, best / 1e9))
    };
    Ok(table.blocks.iter().filter_map(of).collect())
}

/// Adapters that a command line or a remark around the table names: `UCX_NET_DEVICES=mlx5_0:1`.
fn adapters(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).take(1 << 20) {
        let known = ["mlx4_", "mlx5_", "bnxt_re", "hfi1_", "irdma", "rdmap", "efa_", "ib", "eth", "ens", "enp"];
        let named =
            known.iter().any(|k| word.strip_prefix(k).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())));
        if named && word.len() < 24 && !found.iter().any(|f| f == word) && found.len() < 16 {
            found.push(word.to_owned());
        }
    }
    found
}
