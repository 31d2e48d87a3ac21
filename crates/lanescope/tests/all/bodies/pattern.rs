//! From any bytes to a system of devices below one switch or switches of two levels, with a pattern of traffic between
//! them: what plain random trees seldom hit.

use std::fmt::Write;

/// A system and its traffic.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The scenario.
    pub text: String,
    /// Whether each device does what all others do, and is reached as they are.
    pub symmetric: bool,
    /// Its name, and what is done.
    pub name: String,
}

/// Makes a pattern of any bytes.
pub fn grow(bytes: &[u8]) -> Pattern {
    let mut bytes = bytes.iter();
    let mut roll = |n: usize| bytes.next().map_or(0, |b| *b as usize) % n;
    let levels = 1 + roll(2);
    let per = 2 + roll(4);
    let leaves = if levels == 1 { 1 } else { 2 + roll(3) };
    let n = per * leaves;
    let speed = ["gen3 x8", "gen4 x4", "gen4 x16", "gen5 x16", "gen1 x4", "gen3 x1"][roll(6)];
    let up = [speed, speed, "gen3 x4", "gen5 x16"][roll(4)];
    let mps = ["256 B", "128 B", "512 B"][roll(3)];
    let queues = ["per-output", "per-output", "fifo"][roll(3)];
    let size = ["4 KiB", "512 B", "64 KiB", "64 B"][roll(4)];
    let op = ["write", "read", "alternate"][roll(3)];
    let load = match roll(4) {
        2 => format!("load = {{ outstanding = {} }}\n", [1, 4, 32][roll(3)]),
        3 => format!("load = {{ rate = \"{}\" }}\n", ["100 Mb/s", "1.5 Gb/s", "20 Gb/s"][roll(3)]),
        _ => String::new(),
    };
    let pattern = roll(7);
    let shift = 1 + roll(n - 1);
    let mut text = String::from("title = \"a pattern\"\n[parts.host]\nis = \"root-complex\"\n");
    let _ = writeln!(text, "[parts.gpu]\nis = \"endpoint\"\ncount = {n}\ntags = {}", [256, 32, 64][roll(3)]);
    let _ = writeln!(text, "[parts.leaf]\nis = \"switch\"\ncount = {leaves}\nqueues = \"{queues}\"");
    if levels == 2 {
        let _ = writeln!(text, "[parts.spine]\nis = \"switch\"\nqueues = \"{queues}\"");
        let _ = writeln!(text, "[links.root]\nbetween = [\"host\", \"spine.up\"]\npcie = \"{speed}\"\nmps = \"{mps}\"");
        let _ =
            writeln!(text, "[links.up]\nbetween = [\"spine.down.*\", \"leaf.*.up\"]\npcie = \"{up}\"\nmps = \"{mps}\"");
    } else {
        let _ = writeln!(text, "[links.root]\nbetween = [\"host\", \"leaf.0.up\"]\npcie = \"{up}\"\nmps = \"{mps}\"");
    }
    for g in 0..n {
        let leaf = g / per;
        let _ = writeln!(
            text,
            "[links.g{g}]\nbetween = [\"leaf.{leaf}.down.*\", \"gpu.{g}\"]\npcie = \"{speed}\"\nmps = \"{mps}\""
        );
    }
    let mut flow = |name: String, from: usize, to: String| {
        let _ = writeln!(
            text,
            "[flows.{name}]\nfrom = \"gpu.{from}\"\nto = \"{to}\"\ndo = \"{op}\"\nsize = \"{size}\"\n{load}"
        );
    };
    let names = ["shift", "ring", "pairs", "all to all", "incast", "host and ring", "random"];
    match pattern {
        0 => (0..n).for_each(|i| flow(format!("s{i}"), i, format!("gpu.{}", (i + shift) % n))),
        1 => (0..n).for_each(|i| flow(format!("s{i}"), i, format!("gpu.{}", (i + 1) % n))),
        2 => (0..n / 2 * 2).for_each(|i| flow(format!("s{i}"), i, format!("gpu.{}", i ^ 1))),
        3 => {
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                flow(format!("a{i}_{j}"), i, format!("gpu.{j}"));
            }
        }
        4 => (1..n).for_each(|i| flow(format!("i{i}"), i, "gpu.0".into())),
        5 => {
            (0..n).for_each(|i| flow(format!("s{i}"), i, format!("gpu.{}", (i + 1) % n)));
            (0..n).for_each(|i| flow(format!("h{i}"), i, "host.memory".into()));
        }
        _ => {
            for k in 0..2 * n {
                let (from, to) = (roll(n), roll(n));
                flow(format!("r{k}"), from, if from == to { "host.memory".into() } else { format!("gpu.{to}") });
            }
        }
    }
    // A shift across leaves is the same for all only if all of a leaf leave it, or none.
    let symmetric = match pattern {
        0 => levels == 1 || shift.is_multiple_of(per),
        1 => levels == 1,
        // Pairs that straddle leaves are not like others.
        2 => levels == 1 && n.is_multiple_of(2) || per.is_multiple_of(2),
        3 => true,
        _ => false,
    };
    let load = load.trim();
    let name = format!("{} of {n}, {levels} levels, {op} {size} {load}, {speed}, up {up}, {queues}", names[pattern]);
    Pattern { text, symmetric, name }
}
