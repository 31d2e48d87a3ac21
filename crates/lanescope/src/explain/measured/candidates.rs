//! What would explain rows that are low: each hypothesis changes what the dump says, and is tried on all of them at
//! once.

use super::Candidate;
use super::locate::Path;
use crate::explain::Topology;
use crate::explain::rate::{Corner, Sizes, Way, efficiency};
use crate::protocol::pcie::{Generation, Lanes, Speed};

/// What could be otherwise than the dump says.
struct Hypothesis {
    what: String,
    command: String,
    speed: Box<dyn Fn(Speed) -> Option<Speed>>,
    sizes: fn(Sizes) -> Sizes,
    /// Requests of MRRS in flight, over a round trip of this many ns.
    tags: Option<(f64, f64)>,
    /// Part of the rate that is left.
    part: f64,
    /// Whether it can only be of two devices.
    of_pairs: bool,
}

fn hypotheses(at: &str) -> Vec<Hypothesis> {
    let link = format!("sudo lspci -vv -s {at} | grep LnkSta, while it is loaded");
    let control = format!("sudo lspci -vv -s {at} | grep -A2 DevCtl");
    let base = |what: String, command: &str| Hypothesis {
        what,
        command: command.to_owned(),
        speed: Box::new(Some),
        sizes: |s| s,
        tags: None,
        part: 1.0,
        of_pairs: false,
    };
    let mut all = Vec::new();
    for generation in Generation::ALL.into_iter().take(5) {
        let rate = crate::import::host::gigatransfers(generation);
        let slow = move |s: Speed| (s.generation > generation).then_some(Speed { generation, ..s });
        let what = format!("the link runs at {rate} GT/s under load");
        all.push(Hypothesis { speed: Box::new(slow), ..base(what, &link) });
    }
    for lanes in [1, 2, 4, 8] {
        let narrow = move |s: Speed| (s.lanes.count() > lanes).then_some(Speed { lanes: Lanes::new(lanes)?, ..s });
        all.push(Hypothesis { speed: Box::new(narrow), ..base(format!("the link runs with x{lanes}"), &link) });
    }
    let small: fn(Sizes) -> Sizes = |s| Sizes { mps: 128, completion: s.completion.min(128), ..s };
    all.push(Hypothesis { sizes: small, ..base("MPS is 128 B".into(), &control) });
    for tags in [1.0, 8.0, 16.0, 32.0, 64.0] {
        let what = format!("{tags} reads of MRRS in flight, 600 ns each");
        all.push(Hypothesis { tags: Some((tags, 600.0)), ..base(what, &control) });
    }
    let numa = "numactl --cpunodebind=N --membind=N, with the device's node, and again";
    all.push(Hypothesis {
        part: 0.7,
        ..base("the buffer is on the far node (some 0.7 of the near rate)".into(), numa)
    });
    let acs = "sudo lspci -vvv | grep ACSCtl";
    let redirected = base("ACS sends it up to the root and back, both ways on one link".into(), acs);
    all.push(Hypothesis { part: 0.5, of_pairs: true, ..redirected });
    all
}

/// Explanations of rows that are low, ranked by how far all of them stay off.
pub(super) fn candidates(topology: &Topology, low: &[(Path, f64)]) -> Vec<Candidate> {
    let Some((first, _)) = low.first() else { return Vec::new() };
    let mut found: Vec<Candidate> = hypotheses(&first.from.address.to_string())
        .into_iter()
        .filter_map(|h| {
            let mut sum = 0.0;
            for (path, measured) in low {
                let rate = predicted(topology, path, &h)?;
                sum += (measured / rate).ln().powi(2);
            }
            let off = (sum / low.len() as f64).sqrt();
            let off_percent = (off.exp() - 1.0) * 100.0;
            Some(Candidate { what: h.what, off_percent: (off_percent * 10.0).round() / 10.0, command: h.command })
        })
        .filter(|c| c.off_percent < 25.0)
        .collect();
    found.sort_by(|a, b| a.off_percent.total_cmp(&b.off_percent));
    found.truncate(5);
    found
}

fn predicted(topology: &Topology, path: &Path, h: &Hypothesis) -> Option<f64> {
    if (h.tags.is_some() && path.way == Way::Write) || (h.of_pairs && path.to.is_none()) {
        return None;
    }
    let sizes = (h.sizes)(topology.sizes(path.from, Corner::Typical));
    let own = *path.links.first()?;
    let mut least = f64::INFINITY;
    for link in &path.links {
        let mut speed = topology.speed(*link, Corner::Typical)?;
        if *link == own {
            speed = (h.speed)(speed)?;
        }
        least = least.min(topology.rates.of(speed, sizes, path.way)?);
    }
    let mut rate = least * efficiency(path.from.kind, path.way, Corner::Typical) * h.part;
    if let Some((tags, ns)) = h.tags {
        rate = rate.min(tags * sizes.mrrs as f64 / ns);
    }
    Some(rate * if path.both { 2.0 } else { 1.0 })
}
