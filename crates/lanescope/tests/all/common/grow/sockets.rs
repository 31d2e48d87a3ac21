//! Random hosts: root complexes joined by coherent links, switches below them with and without ACS, devices of every
//! kind, and flows between any of them: peers, memory of any node, packets, stores and loads of processors.

use super::Choices;

const SIZES: [&str; 6] = ["64 B", "300 B", "1514 B", "4 KiB", "5000 B", "64 KiB"];
const RATES: [&str; 4] = ["2 GB/s", "7.7 GB/s", "30 GB/s", "64 GB/s"];

/// A scenario of these bytes; `one` keeps it to a single flow.
pub(crate) fn grow(bytes: &[u8], one: bool) -> String {
    let mut c = Choices(bytes.iter());
    let roots = 1 + c.below(4);
    let mut text = format!("[parts.rc]\nis = \"root-complex\"\nmax_payload = \"256 B\"\ncount = {roots}\n");
    text += &c.maybe(|c| format!("peer_bandwidth = \"{}\"\n", c.of(&RATES)));
    text += &c.maybe(|c| format!("peer_latency = \"{}\"\n", c.of(&["0 ns", "90 ns", "1 us"])));
    text += &c.maybe(|c| format!("completion_size = \"{}\"\n", c.of(&["64 B", "128 B", "256 B"])));
    text += &c.maybe(|c| format!("memory_bandwidth = \"{}\"\n", c.of(&RATES)));
    text += &c.maybe(|c| format!("store_size = \"{}\"\n", c.of(&["8 B", "32 B", "64 B"])));
    text += &c.maybe(|c| format!("store_rate = \"{}\"\n", c.of(&["100 MB/s", "3 GB/s"])));
    text += &c.maybe(|c| format!("reads_in_flight = {}\n", 1 + c.below(64)));
    text += &c.maybe(|c| {
        format!(
            "iommu = \"on\"\niommu_page = \"{}\"\niotlb_entries = {}\niommu_walks = {}\niommu_walk = \"{}\"\n",
            c.of(&["4 KiB", "64 KiB", "2 MiB"]),
            1 + c.below(100),
            1 + c.below(9),
            c.of(&["100 ns", "280 ns", "1 us"]),
        )
    });
    for i in 1..roots {
        let (a, b) = (c.below(i), i);
        text += &format!("[links.fabric{i}]\nbetween = [\"rc.{a}\", \"rc.{b}\"]\ncoherent = \"{}\"\n", c.of(&RATES));
        text += &c.maybe(|c| format!("delay = \"{}\"\n", c.of(&["0 ns", "60 ns", "400 ns"])));
    }
    let switches = c.below(4);
    let mut places: Vec<String> = (0..roots).map(|i| format!("rc.{i}")).collect();
    if switches > 0 {
        text += &format!(
            "[parts.sw]\nis = \"switch\"\nmax_payload = \"256 B\"\ncount = {switches}\nqueues = \"{}\"\n",
            c.of(&["per-output", "fifo"])
        );
        for i in 0..switches {
            let above = c.below(places.len());
            let speed = c.of(&["gen3 x4", "gen3 x16", "gen4 x8", "gen2 x4"]);
            text += &format!("[links.up{i}]\nbetween = [\"{}\", \"sw.{i}.up\"]\npcie = \"{speed}\"\n", places[above]);
            places.push(format!("sw.{i}.down.*"));
        }
    }
    // Every root and switch has a device, so that all are wired.
    let devices = places.len() + c.below(4);
    text += &format!(
        "[parts.d]\nis = \"endpoint\"\nmax_payload = \"256 B\"\ncount = {devices}\ntags = {}\nmax_read_request = \
            \"{}\"\n",
        c.of(&["1", "8", "32", "256"]),
        c.of(&["128 B", "512 B", "4 KiB"]),
    );
    text += &c.maybe(|c| format!("engine_efficiency = \"{} %\"\n", 50 + c.below(50)));
    text += &c.maybe(|c| format!("atc_entries = {}\n", 1 + c.below(100)));
    text += &c.maybe(|c| {
        format!(
            "descriptors_fetched = {}\nentries_written = {}\npackets_an_interrupt = {}\n",
            1 + c.below(8),
            1 + c.below(8),
            1 + c.below(30)
        )
    });
    for i in 0..devices {
        let place = if i < places.len() { i } else { c.below(places.len()) };
        let speed = c.of(&["gen3 x4", "gen1 x1", "gen3 x8", "gen4 x16", "gen2 x2"]);
        text += &format!("[links.s{i}]\nbetween = [\"{}\", \"d.{i}\"]\npcie = \"{speed}\"\n", places[place]);
        if places[place].starts_with("sw") {
            for key in ["acs_request_redirect", "acs_completion_redirect", "acs_direct_translated"] {
                text += &c.maybe(|_| format!("{key} = true\n"));
            }
        }
    }
    let flows = if one { 1 } else { 1 + c.below(5) };
    for f in 0..flows {
        let (d, r) = (c.below(devices), c.below(roots));
        let (from, to, what) = match c.below(6) {
            0 | 1 if devices > 1 => {
                (format!("d.{d}"), format!("d.{}", (d + 1) % devices), c.of(&["write", "read", "alternate"]))
            }
            2 => (format!("rc.{r}"), format!("d.{d}"), c.of(&["write", "read"])),
            3 => (format!("d.{d}"), format!("rc.{r}.memory"), c.of(&["receive", "transmit"])),
            _ => (format!("d.{d}"), format!("rc.{r}.memory"), c.of(&["read", "write", "alternate"])),
        };
        text +=
            &format!("[flows.f{f}]\nfrom = \"{from}\"\nto = \"{to}\"\ndo = \"{what}\"\nsize = \"{}\"\n", c.of(&SIZES));
        text += &c.maybe(|c| {
            format!(
                "window = \"{}\"\naddresses = \"{}\"\n",
                c.of(&["64 KiB", "1 MiB", "64 MiB"]),
                c.of(&["random", "sequential"])
            )
        });
        text += &match c.below(4) {
            0 => format!("load = {{ outstanding = {} }}\n", 1 + c.below(64)),
            1 => format!("load = {{ rate = \"{} Gb/s\" }}\n", 1 + c.below(40)),
            _ => String::new(),
        };
    }
    // A second function on the port of the first device: a NIC with a line and doorbells of its own.
    if !one && c.below(2) == 1 {
        text += "[parts.e]\nis = \"endpoint\"\nmax_payload = \"256 B\"\nfunction_of = \"d.0\"\n";
        text += &c.maybe(|c| format!("line = \"{} Gb/s\"\n", 1 + c.below(60)));
        text += &c.maybe(|c| format!("packets_a_doorbell = {}\ndoorbell = \"8 B\"\n", 1 + c.below(9)));
        let (r, what, size) = (c.below(roots), c.of(&["receive", "transmit", "read", "write"]), c.of(&SIZES));
        text += &format!("[flows.e]\nfrom = \"e\"\nto = \"rc.{r}.memory\"\ndo = \"{what}\"\nsize = \"{size}\"\n");
    }
    text
}
