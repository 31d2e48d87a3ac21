//! nccl-tests and rccl-tests: tables of sizes with algorithm and bus bandwidth, in GB/s of 10^9 bytes.
//!
//! Bus bandwidth is what nccl-tests makes of a time so that it can be held against the rate of the links: of a ring it
//! is the rate at each of its links (doc/PERFORMANCE.md there). Of each table the fastest row counts, since short
//! messages wait for latencies.

use super::{Measurement, Rank, Target, row};

/// Tests, the longest names first: one is a part of another's.
const TESTS: [&str; 10] = [
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "hypercube",
    "sendrecv",
    "scatter",
    "gather",
    "reduce",
];

/// Ranks of a table at most.
const MOST_RANKS: usize = 4096;

/// Reads all tables.
pub(super) fn rows(text: &str) -> Vec<Measurement> {
    let mut found = Vec::new();
    let mut table = Table::default();
    for line in text.lines() {
        let line = line.trim();
        if let Some(test) = test_of(line) {
            table.end(&mut found);
            test.clone_into(&mut table.test);
        }
        if line.contains("nThread") && line.contains("nGpus") {
            table.end(&mut found);
            (table.ranks, table.hosts) = (Vec::new(), Vec::new());
        } else if line.contains("Rank ") && line.contains(" device ") {
            table.rank(line);
        } else if line.contains("algbw") && line.contains("busbw") {
            table.end(&mut found);
            let words = line.trim_start_matches(['#', ' ']).split_ascii_whitespace();
            // Columns before the first time differ between tests and versions, those from it on do not.
            table.columns = words.skip_while(|w| *w != "time").map(str::to_owned).collect();
        } else if !line.starts_with('#') {
            table.line(line);
        }
    }
    table.end(&mut found);
    found
}

/// The test of a command line or of a head: `./all_reduce_perf -b 8`, `Collective test starting: all_reduce_perf`.
fn test_of(line: &str) -> Option<&'static str> {
    let before = line.split_once("_perf")?.0;
    TESTS.into_iter().find(|t| before.ends_with(t))
}

#[derive(Default)]
struct Table {
    test: String,
    ranks: Vec<Rank>,
    hosts: Vec<String>,
    columns: Vec<String>,
    /// Bus bandwidth, bytes, and whether the result lay in place.
    best: Option<(f64, u64, bool)>,
}

impl Table {
    /// `#  Rank  0 Group  0 Pid 4242 on  node1 device  0 [0000:0f:00] NVIDIA H100`, or `[0x0f]`.
    fn rank(&mut self, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let after = |word: &str| words.iter().position(|w| *w == word).and_then(|n| words.get(n + 1)).copied();
        let Some(device) = after("device").and_then(|d| d.parse().ok()) else { return };
        if self.ranks.len() >= MOST_RANKS {
            return;
        }
        if let Some(host) = after("on").filter(|h| !self.hosts.iter().any(|k| k == h)) {
            self.hosts.push(host.to_owned());
        }
        let inside = line.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0));
        let hex = |t: &str| u8::from_str_radix(t, 16).ok();
        let bus = inside.and_then(|i| match i.trim().strip_prefix("0x") {
            Some(bus) => Some((None, hex(bus)?)),
            None => {
                let (domain, rest) = i.split_once(':')?;
                let domain = u32::from_str_radix(domain.trim(), 16).ok()?;
                Some((Some(domain), hex(rest.split(':').next()?)?))
            }
        });
        self.ranks.push(Rank { device, bus });
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(bytes) = words.first().and_then(|w| w.parse::<u64>().ok()) else { return };
        let Some(tail) = words.len().checked_sub(self.columns.len()).filter(|n| *n > 0) else { return };
        let mut place = false;
        for (column, word) in self.columns.iter().zip(&words[tail..]) {
            if column == "busbw" {
                let rate = word.parse::<f64>().ok().filter(|r| r.is_finite());
                if let Some(rate) = rate.filter(|r| self.best.is_none_or(|b| *r > b.0)) {
                    self.best = Some((rate, bytes, place));
                }
                place = true;
            }
        }
    }

    fn end(&mut self, found: &mut Vec<Measurement>) {
        self.columns.clear();
        let Some((rate, bytes, place)) = self.best.take() else { return };
        let test = if self.test.is_empty() { "nccl-tests".to_owned() } else { format!("{}_perf", self.test) };
        let place = if place { "in place" } else { "out of place" };
        let target = Target::Collective {
            test: std::mem::take(&mut self.test),
            ranks: std::mem::take(&mut self.ranks),
            hosts: std::mem::take(&mut self.hosts).len(),
        };
        found.push(row(format!("{test} {bytes} B {place}, busbw"), target, rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "$ ./all_reduce_perf -b 8 -e 128M -f 2 -g 2\n\
        # nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5\n#\n# Using devices\n\
        #  Rank  0 Group  0 Pid   4242 on      node1 device  0 [0x01] NVIDIA RTX 6000 Ada\n\
        #  Rank  1 Group  0 Pid   4242 on      node1 device  1 [0000:41:00] NVIDIA RTX 6000 Ada\n#\n\
        #                                 out-of-place                in-place\n\
        #       size     count  type redop root     time algbw busbw #wrong     time algbw busbw #wrong\n\
        #        (B) (elements)                     (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)\n\
                   8         2 float   sum   -1    12.90  0.00  0.00      0    12.65  0.00  0.00      0\n\
           134217728  33554432 float   sum   -1   5932.4 22.62 22.62      0   5921.1 22.67 22.67    N/A\n\
        # Out of bounds values : 0 OK\n# Avg bus bandwidth    : 11.3\n";

    #[test]
    fn the_fastest_row_of_a_table_counts() {
        let found = rows(TABLE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].rate, found[0].name.as_str()), (22.67, "all_reduce_perf 134217728 B in place, busbw"));
        let ranks = vec![Rank { device: 0, bus: Some((None, 1)) }, Rank { device: 1, bus: Some((Some(0), 0x41)) }];
        assert_eq!(found[0].target, Target::Collective { test: "all_reduce".into(), ranks, hosts: 1 });
        // Two tables one after the other, and one whose head is cut off.
        assert_eq!(rows(&TABLE.repeat(2)).len(), 2);
        let cut = TABLE.split_once("#       size").map(|t| format!("#       size{}", t.1)).expect("the head");
        assert_eq!(rows(&cut)[0].target, Target::Collective { test: String::new(), ranks: vec![], hosts: 0 });
        assert!(rows(&TABLE.replace("busbw", "x")).is_empty());
    }
}
