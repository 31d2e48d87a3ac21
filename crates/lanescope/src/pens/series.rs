//! A run in time, row by row: throughput of flows, I/Os a second, queues, credits in use, utilisation of links, what
//! part of the time they were paused, memories of Ethernet switches, and the rates that DCQCN allows connections. The
//! command writes the rows as CSV, the page draws them.

use crate::plan::Plan;
use crate::plan::infiniband::MOST_CONNECTIONS;
use crate::plan::storage::Medium;
use crate::protocol::pcie::Class;
use crate::result::Report;
use crate::scenario::keys::{FlowControl, Technology};
use crate::sim::Sample;
use std::ops::Range;

/// The columns of a time series, and what is needed to work out a row from two samples of a run.
#[derive(Clone, Debug)]
pub struct Series {
    /// Column heads: `time_s`, then paths of things and what of them, `links.up toward host.utilisation`.
    pub head: Vec<String>,
    /// The flows of I/Os, and those of ranks: they count what they have done, and have no queue at the source.
    counted: [Range<usize>; 2],
    /// The directions that some flow uses, with their slots per second and header credits in all.
    wires: Vec<(usize, f64, [Option<u32>; 3])>,
    /// The directions of Ethernet links that may be paused.
    paused: Vec<usize>,
    /// Which of a sample's rate limits have columns.
    limits: Range<usize>,
    before: Sample,
}

/// Which of a sample's rate limits have columns, and their names: of connections of streams unless there are too many,
/// of programs, whose slowest connection is shown, and of their queue pairs.
fn limits(plan: &Plan) -> (Range<usize>, Vec<String>) {
    if !plan.network.slows_down() {
        return (0..0, Vec::new());
    }
    let mut all = Vec::new();
    for s in &plan.network.streams {
        for target in s.targets.iter() {
            for number in 0..s.connections.typical.get() {
                let mut name = s.name.clone();
                if s.targets.len() > 1 {
                    name += &format!(" toward {}", plan.network.node(target).name);
                }
                if s.connections.typical.get() > 1 {
                    name += &format!(".connection.{number}");
                }
                all.push(name);
            }
        }
    }
    let mut first = 0;
    if all.len() > MOST_CONNECTIONS {
        first = all.len();
        all.clear();
    }
    let jobs = &plan.cluster.jobs;
    all.extend(jobs.iter().map(|j| format!("{}.slowest_connection", j.name)));
    for job in jobs {
        let several = job.keys.connections.typical.get() > 1;
        all.extend(plan.cluster.queue_pairs(job).into_iter().map(|([from, to], number)| {
            let own = if several { format!(".connection.{number}") } else { String::new() };
            format!("{}.rank.{from} toward rank.{to}{own}", job.name)
        }));
    }
    (first..first + all.len(), all)
}

impl Series {
    /// The columns of a plan; `estimate` says which wires carry anything, `now` is where the first row begins.
    pub fn new(plan: &Plan, estimate: &Report, now: Sample) -> Series {
        let hops: Vec<_> = plan.directions().collect();
        let mut used = vec![false; hops.len()];
        for hop in plan.flows.iter().flat_map(|f| &f.route) {
            let link = 2 * hop.link.0 as usize;
            (used[link], used[link + 1]) = (true, true);
        }
        let mut head = vec!["time_s".to_owned()];
        // In the order of a sample: PCIe, then Ethernet, then storage, then buses, then InfiniBand.
        let of = |name: &String, second: &str| [format!("flows.{name}.bps"), format!("flows.{name}.{second}")];
        let before = plan.flows.iter().map(|f| &f.name).chain(plan.network.streams.iter().map(|s| &s.name));
        head.extend(before.flat_map(|name| of(name, "backlog")));
        head.extend(plan.storage.flows.iter().flat_map(|f| of(&f.name, "ios_per_s")));
        head.extend(plan.buses.flows.iter().flat_map(|f| of(&f.name, "backlog")));
        head.extend(plan.cluster.jobs.iter().flat_map(|j| of(&j.name, "messages_per_s")));
        let mut wires = Vec::new();
        for (i, &hop) in hops.iter().enumerate().filter(|(i, _)| used[*i]) {
            let link = plan.link(hop.link);
            let path = plan.direction_name(hop);
            head.extend(["utilisation", "queued_tlps", "queued_bytes"].map(|c| format!("{path}.{c}")));
            let all = Class::ALL.map(|c| plan.buffer(hop, c).headers);
            for (kind, _) in ["posted", "nonposted", "completion"].iter().zip(all).filter(|(_, n)| n.is_some()) {
                head.push(format!("{path}.{kind}_headers_in_use"));
            }
            wires.push((i, link.speed.typical.coded().bytes(), all));
        }
        let mut paused = Vec::new();
        let ethernet = plan.links_of(Technology::Ethernet);
        let used = estimate.links[ethernet.clone()].iter().zip(0..).filter(|(l, _)| l.tlps > 0.0);
        for (_, wire) in used {
            let path = plan.network.wire_name(wire);
            head.extend(["utilisation", "queued_frames", "queued_bytes"].map(|c| format!("{path}.{c}")));
            let rate = plan.network.link(wire).rate.typical.rate().bytes();
            wires.push((ethernet.start + wire as usize, rate, [None; 3]));
            if plan.network.flow_control() != FlowControl::None {
                paused.push(wire as usize);
            }
        }
        for (i, wire) in plan.links_of(Technology::Storage).zip(plan.storage.wires()) {
            let path = match wire.transport.medium {
                Medium::Serial { .. } => format!("links.{} toward {}", wire.transport.name, wire.to),
                // A bus has one queue for both ways.
                _ => format!("links.{}", wire.transport.name),
            };
            head.extend(["utilisation", "queued", "queued_bytes"].map(|c| format!("{path}.{c}")));
            // Slots of either are bytes after line coding.
            wires.push((i, wire.transport.rate().bytes(), [None; 3]));
        }
        for (i, bus) in plan.links_of(Technology::Pci).zip(&plan.buses.buses) {
            let columns = ["utilisation", "queued_completions", "queued_bytes"];
            head.extend(columns.map(|c| format!("links.{}.{c}", bus.name)));
            // Clocks are its slots.
            wires.push((i, bus.speed.typical.hertz(), [None; 3]));
        }
        for (i, wire) in plan.links_of(Technology::Infiniband).zip(0..) {
            let path = plan.cluster.wire_name(wire);
            head.extend(["utilisation", "queued_packets", "queued_bytes"].map(|c| format!("{path}.{c}")));
            let rate = plan.cluster.link(wire).rate.typical.data_rate().bytes();
            wires.push((i, rate, [None; 3]));
        }
        head.extend(plan.network.switches().map(|(_, node, _)| format!("switches.{}.memory_bytes", node.name)));
        head.extend(paused.iter().map(|w| format!("{}.paused", plan.network.wire_name(*w as u32))));
        let (limits, names) = limits(plan);
        head.extend(names.iter().map(|name| format!("flows.{name}.rate_limit_bps")));
        Series {
            head,
            counted: [Technology::Storage, Technology::Infiniband].map(|t| plan.flows_of(t)),
            wires,
            paused,
            limits,
            before: now,
        }
    }

    /// The next row: what happened since the last, and what stands now. Cells are numbers as text.
    pub fn row(&mut self, now: Sample) -> Vec<String> {
        let step = now.time - self.before.time;
        let mut cells = vec![now.time.to_string()];
        for (i, delivered) in now.delivered.iter().enumerate() {
            let bits = (delivered - self.before.delivered[i]) as f64 * 8.0;
            let second = match self.counted.iter().any(|r| r.contains(&i)) {
                true => format!("{:.1}", (now.done[i] - self.before.done[i]) as f64 / step),
                false => now.backlog[i].to_string(),
            };
            cells.extend([(bits / step).round().to_string(), second]);
        }
        for &(w, rate, all) in &self.wires {
            // A packet is counted when it begins, so one step may seem a little more than full.
            let busy = (now.busy[w] - self.before.busy[w]) as f64 / (rate * step);
            cells.extend([format!("{:.4}", busy.min(1.0)), now.queued[w].to_string(), now.queued_bytes[w].to_string()]);
            for (all, left) in all.into_iter().zip(now.credits[w]) {
                if let (Some(all), Some(left)) = (all, left) {
                    cells.push((all - left.min(all)).to_string());
                }
            }
        }
        cells.extend(now.memory.iter().map(u64::to_string));
        let fs = |at: usize, sample: &Sample| sample.paused.get(at).map_or(0.0, |fs| *fs as f64 * 1e-15);
        let share = |at: &usize| ((fs(*at, &now) - fs(*at, &self.before)) / step).min(1.0);
        cells.extend(self.paused.iter().map(|w| format!("{:.4}", share(w))));
        // One that has not sent yet has no limit.
        let limit = |at: usize| now.limits.get(at).map_or(f64::NAN, |rate| rate * 8.0);
        let text = |rate: f64| if rate.is_nan() { String::new() } else { rate.round().to_string() };
        cells.extend(self.limits.clone().map(|at| text(limit(at))));
        self.before = now;
        cells
    }
}
