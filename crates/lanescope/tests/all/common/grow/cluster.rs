//! Random clusters: adapters with and without hosts, InfiniBand or RoCE, and message programs.

use super::Choices;

const SPEEDS: [&str; 8] = ["sdr 1x", "sdr 4x", "ddr 4x", "qdr 4x", "fdr 4x", "edr 4x", "hdr 2x", "hdr 4x"];

const RATES: [&str; 5] = ["1 Gb/s", "10 Gb/s", "25 Gb/s", "40 Gb/s", "100 Gb/s"];

const SIZES: [&str; 9] = ["0 B", "1 B", "100 B", "2 KiB", "5000 B", "8 KiB", "9000 B", "64 KiB", "200 KiB"];

const COLLECTIVES: [&str; 8] =
    ["bcast", "reduce", "allreduce", "reduce_scatter", "allgather", "alltoall", "gather", "scatter"];

/// One adapter, with its host or without.
fn node(c: &mut Choices, n: usize) -> String {
    let mut text = format!("[parts.n{n}]\nis = \"channel-adapter\"\n");
    for (key, values) in [
        ("work_time", ["0 ns", "50 ns", "1 us"]),
        ("send_latency", ["0 ns", "100 ns", "500 ns"]),
        ("receive_latency", ["0 ns", "100 ns", "500 ns"]),
        ("packet_time", ["0 ns", "20 ns", "300 ns"]),
        ("descriptor_bytes", ["0 B", "64 B", "128 B"]),
        ("completion_bytes", ["0 B", "32 B", "64 B"]),
        ("inline", ["8 B", "64 B", "300 B"]),
        ("read_ahead", ["1 B", "4 KiB", "64 KiB"]),
        ("receive_buffer", ["40000 B", "64 KiB", "1 MiB"]),
    ] {
        text += &c.maybe(|c| format!("{key} = \"{}\"\n", c.of(&values)));
    }
    let host = |is: &str, link: String| {
        format!("[parts.h{n}]\nis = \"{is}\"\n[links.b{n}]\nbetween = [\"h{n}\", \"n{n}\"]\n{link}\n")
    };
    text + &match c.below(3) {
        0 => String::new(),
        1 => host("root-complex", format!("pcie = \"{}\"", c.of(&["gen1 x1", "gen1 x8", "gen3 x8", "gen4 x16"]))),
        _ => host(
            "host-bridge",
            format!("pci = \"{}\"", c.of(&["pci 33 32-bit", "pci-x 100 64-bit", "pci-x 133 64-bit"])),
        ),
    }
}

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let nodes = 2 + c.below(8);
    let roce = c.below(3) == 0;
    let mut text: String = (0..nodes).map(|n| node(&mut c, n)).collect();
    let mtu = c.of(&["256 B", "1024 B", "2048 B", "4096 B"]);
    let link = |c: &mut Choices, name: &str, ends: [&str; 2]| {
        let kind = if roce {
            format!("ethernet = \"{}\"\nmtu = \"{}\"\n", c.of(&RATES), if mtu.len() < 6 { "1500 B" } else { "9000 B" })
        } else {
            format!("infiniband = \"{}\"\nmtu = \"{mtu}\"\nlanes = 2\n", c.of(&SPEEDS))
        };
        let delay = c.maybe(|c| format!("delay = \"{}\"\n", c.of(&["0 ns", "100 ns", "1 us"])));
        format!("[links.{name}]\nbetween = [\"{}\", \"{}\"]\n{kind}{delay}", ends[0], ends[1])
    };
    let switches = if nodes == 2 { c.below(4) } else { 1 + c.below(4) };
    if switches == 0 {
        text += &link(&mut c, "cable", ["n0", "n1"]);
    } else {
        let keys = if roce {
            // Switches that pause each other may stand still.
            let control = if switches == 1 { c.of(&["pfc", "pause"]) } else { "pfc" };
            let forwarding = c.of(&["store-and-forward", "cut-through"]);
            format!("is = \"ethernet-switch\"\nflow_control = \"{control}\"\nforwarding = \"{forwarding}\"\n")
        } else {
            let buffer = c.maybe(|c| format!("buffer = \"{}\"\n", c.of(&["4160 B", "8 KiB", "64 KiB"])));
            format!("is = \"infiniband-switch\"\nlatency = \"{}\"\n{buffer}", c.of(&["0 ns", "200 ns"]))
        };
        // One, two or three in line, or two leaves and two spines.
        let leaves = if switches == 4 { 2 } else { switches };
        for s in 0..switches {
            text += &format!("[parts.s{s}]\n{keys}");
        }
        for n in 0..nodes {
            text += &link(&mut c, &format!("c{n}"), [&format!("n{n}"), &format!("s{}", n % leaves)]);
        }
        let pairs: &[[usize; 2]] = if switches == 4 { &[[0, 2], [0, 3], [1, 2], [1, 3]] } else { &[[0, 1], [1, 2]] };
        for [a, b] in pairs.iter().filter(|p| p[1] < switches) {
            text += &link(&mut c, &format!("u{a}{b}"), [&format!("s{a}"), &format!("s{b}")]);
        }
    }
    let names: Vec<String> = (0..nodes).map(|n| format!("\"n{n}\"")).collect();
    text += &format!("[flows.job]\ndo = \"mpi\"\nranks = [{}]\nlane = {}\n", names.join(", "), c.below(2));
    text += &c.maybe(|_| "interface = \"verbs\"\n".into());
    text += &c.maybe(|c| format!("eager = \"{}\"\n", c.of(&["0 B", "1 KiB", "64 KiB"])));
    text += &c.maybe(|_| "each = 2\n".into());
    let steps = (0..1 + c.below(3)).map(|_| match c.below(10) {
        8 => "barrier".to_owned(),
        9 => format!("sendrecv {} to (rank + 1) % ranks from (rank - 1) % ranks", c.of(&SIZES)),
        n => format!("{} {}", COLLECTIVES[n], c.of(&SIZES)),
    });
    let steps: Vec<String> = steps.collect();
    text + &format!("program = \"{}\"\n", steps.join("; "))
}
