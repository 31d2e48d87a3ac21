//! Random buses: bridges, devices, timers, and flows of every kind.

use super::Choices;

const SPEEDS: [&str; 8] = [
    "pci 33 32-bit",
    "pci 66 64-bit",
    "pci 33.33 64-bit",
    "pci-x 66 32-bit",
    "pci-x 100 64-bit",
    "pci-x 133 64-bit",
    "pci-x 266 64-bit",
    "pci-x 533 32-bit",
];
const SIZES: [&str; 8] = ["1 B", "24 B", "64 B", "500 B", "1 KiB", "4 KiB", "5000 B", "64 KiB"];
const CLAIMS: [&str; 3] = ["fast", "medium", "slow"];

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let x = SPEEDS[c.below(SPEEDS.len())];
    let mut text = format!(
        "[parts.bridge]\nis = \"host-bridge\"\nread_latency = \"{}\"\ndecode = \"{}\"\nwrite_waits = {}\nlatency_timer \
            = {}\n",
        c.of(&["0 clocks", "5 clocks", "60 clocks", "333 ns", "2 us"]),
        c.of(&CLAIMS),
        c.below(4),
        c.below(256),
    );
    text += &c.maybe(|c| format!("disconnect = \"{}\"\n", c.of(&["128 B", "256 B", "1 KiB"])));
    text += &c.maybe(|c| format!("prefetch = \"{}\"\n", c.of(&["32 B", "100 B", "4 KiB"])));
    let tables = 1 + c.below(3);
    let mut ends = "\"bridge\"".to_owned();
    let mut flows = String::new();
    for t in 0..tables {
        text += &format!(
            "[parts.d{t}]\nis = \"pci-device\"\ncount = {}\nturnaround = \"{}\"\nlatency_timer = {}\nread_byte_count = \
                \"{}\"\nsplits = {}\nburst = \"{}\"\ndecode = \"{}\"\ndual_address = {}\n",
            1 + c.below(3),
            c.of(&["0 clocks", "1 clocks", "4 clocks", "30 clocks", "1 us"]),
            c.below(256),
            c.of(&["512 B", "1 KiB", "4 KiB"]),
            1 + c.below(32),
            c.of(&["64 B", "300 B", "1 KiB", "4 KiB"]),
            c.of(&CLAIMS),
            c.of(&["true", "false"]),
        );
        for rate in ["rate", "read_rate", "write_rate"] {
            text += &c.maybe(|c| format!("{rate} = \"{}\"\n", c.of(&["100 Mb/s", "1 Gb/s", "40 Gb/s"])));
        }
        ends += &format!(", \"d{t}.*\"");
        for f in 0..1 + c.below(2) {
            let load = match c.below(5) {
                0 => "{ rate = \"90 Mb/s\" }",
                1 => "{ rate = \"200 Mb/s\", arrivals = \"poisson\" }",
                2 => "{ outstanding = 1 }",
                3 => "{ outstanding = 5, think = \"3 us\" }",
                _ => "\"saturate\"",
            };
            flows += &format!(
                "[flows.f{t}{f}]\nfrom = \"d{t}.*\"\nto = \"bridge.memory\"\ndo = \"{}\"\nsize = \"{}\"\nload = \
                    {load}\n",
                c.of(&["read", "write", "alternate"]),
                c.of(&SIZES),
            );
        }
    }
    let warmup = c.of(&["0 s", "0 s", "100 us", "1 ms"]);
    text + &format!(
        "[links.slots]\nbetween = [{ends}]\npci = \"{x}\"\n{flows}[run]\nfor = \"2 ms\"\nwarmup = \"{warmup}\"\n"
    )
}
