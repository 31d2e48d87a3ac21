//! From any bytes to the text of a scenario that is nearly always valid: trees below up to four root complexes,
//! switches in any depth, devices with any engines, tags, credits and ranges, crosslinks, and flows of every kind.
//!
//! Each byte decides one thing, and a byte that is not there decides for the plainest; so fewer and smaller bytes make
//! a simpler scenario, which is what a shrinker looks for.

use std::fmt::Write;

/// Bytes as decisions.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    /// One of `n`; 0 when the bytes are used up.
    fn roll(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |&b| b as usize % n)
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.roll(of.len())]
    }

    /// Once in `n`.
    fn rarely(&mut self, n: usize) -> bool {
        self.roll(n) == n - 1
    }

    /// A value, or a range around it.
    fn number(&mut self, all: &[&str]) -> String {
        let i = self.roll(all.len());
        if !self.rarely(4) {
            return all[i].to_owned();
        }
        let (low, high) = (self.roll(i + 1), i + self.roll(all.len() - i));
        format!("{{ low = {}, typical = {}, high = {} }}", all[low], all[i], all[high])
    }

    /// Perhaps a line for a key.
    fn key(&mut self, out: &mut String, often: usize, key: &str, all: &[&str]) {
        if self.rarely(often) {
            let value = self.number(all);
            let _ = writeln!(out, "{key} = {value}");
        }
    }

    /// The same for a key that takes no range.
    fn word(&mut self, out: &mut String, often: usize, key: &str, all: &[&str]) {
        if self.rarely(often) {
            let _ = writeln!(out, "{key} = {}", self.pick(all));
        }
    }
}

const TIMES: [&str; 8] =
    ["\"0 ns\"", "\"1 fs\"", "\"1 ns\"", "\"33.333 ns\"", "\"300 ns\"", "\"1 us\"", "\"2.5 ms\"", "\"5 h\""];
const RATES: [&str; 8] = [
    "\"1 b/s\"",
    "\"9.6 kb/s\"",
    "\"1 MB/s\"",
    "\"1 Gb/s\"",
    "\"3.3333 GB/s\"",
    "\"25 Gb/s\"",
    "\"400 Gb/s\"",
    "\"90000 Tb/s\"",
];
const CLOCKS: [&str; 6] =
    ["\"1 kHz\"", "\"7.654321 MHz\"", "\"25 MHz\"", "\"33.333333 MHz\"", "\"400 MHz\"", "\"1000 GHz\""];
const WIDTHS: [&str; 4] = ["\"1 B\"", "\"4 B\"", "\"8 B\"", "\"32 B\""];
const COUNTS: [&str; 8] = ["1", "2", "3", "8", "32", "256", "4096", "16777216"];
const ENGINES: [&str; 8] = ["1", "2", "3", "8", "32", "64", "64", "64"];
const TAGS: [&str; 8] = ["1", "2", "3", "8", "32", "256", "4096", "16384"];
const CREDITS: [&str; 5] = ["256", "257", "300", "1024", "16777216"];
const SIZES: [&str; 6] = ["\"128 B\"", "\"256 B\"", "\"512 B\"", "\"1 KiB\"", "\"2 KiB\"", "\"4 KiB\""];
const PIECES: [&str; 5] = ["\"64 B\"", "\"128 B\"", "\"192 B\"", "\"256 B\"", "\"4 KiB\""];
const EVERY: [&str; 6] = ["1", "2", "3", "7", "100", "16777216"];
const SPEEDS: [&str; 14] = [
    "gen3 x8", "gen1 x1", "gen1 x8", "gen2 x2", "gen2 x32", "gen3 x1", "gen3 x4", "gen3 x12", "gen4 x2", "gen4 x16",
    "gen5 x1", "gen5 x16", "gen6 x4", "gen7 x16",
];
const OPERATIONS: [&str; 12] =
    ["1 B", "3 B", "4 B", "64 B", "65 B", "300 B", "512 B", "2 KiB", "4097 B", "128 KiB", "1 MiB", "1 TiB"];

/// One part of the tree.
struct Part {
    name: String,
    kind: Kind,
    above: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Root,
    Switch,
    Device,
}

/// Most parts of a tree.
const MOST: usize = 48;

/// Makes a scenario of any bytes.
pub fn grow(bytes: &[u8]) -> String {
    let mut dice = Dice(bytes.iter());
    let mut parts = Vec::new();
    for i in 0..=dice.roll(4) {
        parts.push(Part { name: format!("rc{i}"), kind: Kind::Root, above: None });
    }
    let mut at = 0;
    while at < parts.len() {
        if parts[at].kind != Kind::Device {
            // Every root and switch has at least one below it, so that all are wired.
            for _ in 0..=dice.roll(4) {
                let kind = if dice.rarely(3) && parts.len() < MOST { Kind::Switch } else { Kind::Device };
                let letter = if kind == Kind::Switch { "sw" } else { "d" };
                let name = format!("{letter}{}", parts.len());
                parts.push(Part { name, kind, above: Some(at) });
            }
        }
        at += 1;
    }
    let mut out = String::from("title = \"grown\"\n");
    for part in &parts {
        let _ = writeln!(out, "\n[parts.{}]", part.name);
        match part.kind {
            Kind::Root => root(&mut out, &mut dice),
            Kind::Switch => switch(&mut out, &mut dice),
            Kind::Device => device(&mut out, &mut dice),
        }
    }
    for (i, part) in parts.iter().enumerate() {
        let Some(above) = part.above else { continue };
        let upper = &parts[above];
        let down = if upper.kind == Kind::Switch { ".down" } else { "" };
        let up = if part.kind == Kind::Switch { ".up" } else { "" };
        let _ = writeln!(out, "\n[links.l{i}]\nbetween = [\"{}{down}\", \"{}{up}\"]", upper.name, part.name);
        link(&mut out, &mut dice);
    }
    let devices: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].kind == Kind::Device).collect();
    let switches: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].kind == Kind::Switch).collect();
    let mut carried = Vec::new();
    if switches.len() > 1 {
        for i in 0..dice.roll(3) {
            let (a, b) = (dice.roll(switches.len()), dice.roll(switches.len()));
            if a == b {
                continue;
            }
            let device = devices[dice.roll(devices.len())];
            carried.push(device);
            let (a, b) = (&parts[switches[a]].name, &parts[switches[b]].name);
            let _ = writeln!(
                out,
                "\n[links.x{i}]\nbetween = [\"{a}.down\", \"{b}.down\"]\ncrosslink = true\ncarries = [\"{}\"]",
                parts[device].name
            );
            link(&mut out, &mut dice);
        }
    }
    for i in 0..=dice.roll(8) {
        let _ = writeln!(out, "\n[flows.f{i}]");
        flow(&mut out, &mut dice, &parts, &devices, &carried);
    }
    out
}

fn root(out: &mut String, dice: &mut Dice) {
    let _ = writeln!(out, "is = \"root-complex\"");
    dice.key(out, 3, "read_latency", &TIMES[..7]);
    dice.key(out, 4, "memory_latency", &TIMES[..6]);
    dice.key(out, 6, "remote_latency", &TIMES[..6]);
    dice.key(out, 6, "write_latency", &TIMES);
    if dice.rarely(6) {
        let _ = writeln!(out, "core_clock = \"1.2 GHz\"");
        dice.key(out, 2, "core_cycles", &COUNTS);
        dice.key(out, 2, "hub_cycles", &COUNTS[..6]);
    }
    dice.key(out, 3, "completion_size", &PIECES);
    if dice.rarely(6) {
        let (above, large) = (dice.pick(&SIZES), dice.number(&PIECES));
        let _ = writeln!(out, "large_read = {above}\nlarge_completion_size = {large}");
    }
    let backbone = dice.rarely(3);
    if !backbone {
        dice.key(out, 4, "reads_in_flight", &COUNTS);
        dice.key(out, 4, "memory_bandwidth", &RATES);
    }
    dice.key(out, 5, "posted_headers", &CREDITS);
    dice.key(out, 5, "posted_data", &CREDITS);
    dice.key(out, 5, "nonposted_headers", &COUNTS);
    dice.word(out, 8, "max_payload", &SIZES);
    if backbone {
        let (clock, width) = (dice.number(&CLOCKS), dice.number(&WIDTHS));
        let line = dice.pick(&["\"64 B\"", "\"96 B\"", "\"32 B\"", "\"256 B\"", "\"4 KiB\""]);
        let _ = writeln!(out, "backbone_clock = {clock}\nbackbone_width = {width}\nbackbone_line = {line}");
        dice.key(out, 2, "arbitration_clocks", &["1", "2", "7", "100"]);
        dice.key(out, 2, "request_clocks", &["1", "3", "8", "4096"]);
        dice.key(out, 2, "completion_clocks", &["0", "4", "8", "4096"]);
        dice.key(out, 3, "backbone_latency", &TIMES[..6]);
        dice.key(out, 3, "backbone_reads", &["1", "2", "4", "64"]);
    }
}

fn switch(out: &mut String, dice: &mut Dice) {
    let _ = writeln!(out, "is = \"switch\"");
    dice.key(out, 3, "latency", &TIMES[..7]);
    dice.word(out, 3, "forwarding", &["\"store-and-forward\"", "\"cut-through\""]);
    if dice.rarely(3) {
        let (core, rate) = (dice.pick(&["\"shared-bus\"", "\"shared-memory\""]), dice.number(&RATES));
        let _ = writeln!(out, "core = {core}\ncore_bandwidth = {rate}");
    }
    for key in ["posted_headers", "posted_data", "nonposted_headers", "completion_headers", "completion_data"] {
        dice.key(out, 6, key, &CREDITS);
    }
    dice.word(out, 8, "max_payload", &SIZES);
}

fn device(out: &mut String, dice: &mut Dice) {
    let _ = writeln!(out, "is = \"endpoint\"");
    dice.word(out, 3, "engines", &ENGINES);
    dice.key(out, 3, "tags", &TAGS);
    dice.key(out, 3, "max_read_request", &SIZES);
    dice.key(out, 4, "turnaround", &TIMES);
    dice.word(out, 4, "turnaround_after", &["\"batch\"", "\"request\""]);
    for key in ["rate", "read_rate", "write_rate", "bus_rate", "move_rate"] {
        dice.key(out, 6, key, &RATES);
    }
    for key in
        ["read_interval", "write_interval", "tlp_gap", "transfer_gap", "direction_change", "latency", "read_latency"]
    {
        dice.key(out, 6, key, &TIMES[..7]);
    }
    dice.word(out, 6, "ecrc", &["true", "false"]);
    dice.key(out, 6, "posted_headers", &CREDITS);
    dice.key(out, 6, "posted_data", &CREDITS);
    dice.key(out, 6, "nonposted_headers", &COUNTS);
    dice.word(out, 6, "max_payload", &SIZES);
}

fn link(out: &mut String, dice: &mut Dice) {
    let _ = writeln!(out, "pcie = \"{}\"", dice.pick(&SPEEDS));
    dice.word(out, 2, "mps", &SIZES);
    dice.key(out, 5, "delay", &TIMES[..6]);
    dice.key(out, 4, "ack_every", &EVERY);
    dice.key(out, 4, "update_fc_every", &EVERY);
    dice.key(out, 6, "skp_interval", &["5", "100", "370", "1538", "\"never\""]);
}

fn flow(out: &mut String, dice: &mut Dice, parts: &[Part], devices: &[usize], carried: &[usize]) {
    let chain = |mut at: usize| {
        let mut all = vec![at];
        while let Some(above) = parts[at].above {
            all.push(above);
            at = above;
        }
        all
    };
    let from = devices[dice.roll(devices.len())];
    let ups = chain(from);
    let root = ups[ups.len() - 1];
    // Peers meet below a switch; over a crosslink any two may.
    let meet = |d: usize| chain(d).into_iter().find(|p| ups.contains(p));
    let peers: Vec<usize> = devices
        .iter()
        .copied()
        .filter(|&d| d != from && (carried.contains(&d) || meet(d).is_some_and(|m| parts[m].kind == Kind::Switch)))
        .collect();
    let (source, target) = match dice.roll(8) {
        5 | 6 if !peers.is_empty() => (parts[from].name.clone(), parts[peers[dice.roll(peers.len())]].name.clone()),
        7 => (parts[root].name.clone(), parts[from].name.clone()),
        n => (parts[from].name.clone(), format!("{}.{}", parts[root].name, ["memory", "cache", "remote"][n % 3])),
    };
    let (op, size) = (dice.pick(&["write", "read", "alternate"]), dice.pick(&OPERATIONS));
    let _ = writeln!(out, "from = \"{source}\"\nto = \"{target}\"\ndo = \"{op}\"\nsize = \"{size}\"");
    match dice.roll(4) {
        1 => {
            let rates = ["10 b/s", "1.5 MB/s", "100 Mb/s", "999.7 Mb/s", "1.9 Gb/s", "7 Gb/s"];
            let _ = writeln!(out, "load = {{ rate = \"{}\" }}", dice.pick(&rates));
        }
        2 => {
            let (n, think) = (dice.pick(&COUNTS), dice.pick(&TIMES));
            let trip = if dice.rarely(4) { format!(", round_trip = {}", dice.pick(&TIMES)) } else { String::new() };
            let _ = writeln!(out, "load = {{ outstanding = {n}, think = {think}{trip} }}");
        }
        _ => {}
    }
    dice.word(out, 3, "header", &["\"3DW\"", "\"4DW\""]);
    dice.word(out, 6, "measured", &RATES);
}
