//! Random small networks: stars, leaf-spine, fat trees, every flow control, and loads of every kind.

use super::Choices;

const CONTROLS: [&str; 5] = ["none", "pause", "pfc", "credits", "voq"];

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let shape = c.below(4);
    let control = c.of(&CONTROLS[..if shape < 2 { 5 } else { 4 }]);
    let priority = c.of(&["0", "5", "\"destination\""]);
    // Frames of one table go to eight stations at most where each has its priority.
    let (rule, tables) = match shape {
        0 | 1 => (format!("star = {{ hosts = {} }}", 2 + c.below(7)), &["switch"][..]),
        2 => {
            let (leaves, spines, hosts) = (1 + c.below(3), 1 + c.below(2), 1 + c.below(2));
            (
                format!("leaf_spine = {{ leaves = {}, spines = {spines}, hosts = {hosts} }}", leaves + 1),
                &["leaf", "spine"][..],
            )
        }
        _ => ("fat_tree = { k = 4 }".into(), &["switch"][..]),
    };
    let buffers = if control == "none" { c.of(&["shared", "output", "input"]) } else { "shared" };
    let priority = if buffers == "input" || shape == 3 && priority.starts_with('"') { "3" } else { priority };
    let mut keys = format!(
        "is = \"ethernet-switch\"\nflow_control = \"{control}\"\nbuffers = \"{buffers}\"\nmemory = \"{} \
            B\"\nforwarding = \"{}\"\nscheduling = \"{}\"\necmp = \"{}\"\nlatency = \"{} ps\"\n",
        c.about(9236, 4_000_000),
        c.of(&["store-and-forward", "cut-through"]),
        c.of(&["turns", "strict"]),
        c.of(&["hash", "destination"]),
        c.about(1, 2_000_000),
    );
    let high = c.about(100, 100_000);
    keys += &c.maybe(|c| {
        let low = 1 + high * c.below(256) as u64 / 256;
        format!(
            "high_threshold = \"{high} B\"\n{}",
            if c.below(2) == 0 { format!("low_threshold = \"{low} B\"\n") } else { String::new() }
        )
    });
    keys += &c.maybe(|c| format!("headroom = \"{} B\"\n", c.about(9300, 200_000)));
    keys += &c.maybe(|c| format!("pause_quanta = {}\n", c.about(1, 65535)));
    keys += &c.maybe(|_| "congestion_control = \"dcqcn\"\n".into());
    let mtu = c.of(&["1500", "9000", "300"]);
    let mut text = String::new();
    for table in tables {
        text += &format!("[parts.{table}]\n{keys}");
    }
    text += "[parts.host]\nis = \"station\"\n";
    text += &c.maybe(|c| format!("pause_response = \"{} ns\"\n", c.about(1, 5000)));
    text += &c.maybe(|c| {
        format!("nic_buffer = \"{} B\"\nmac_buffer = \"{} B\"\n", c.about(9018, 40_000), c.about(9018, 40_000))
    });
    text += &c.maybe(|c| format!("queue = \"{} B\"\n", 9000 + c.about(1, 100_000)));
    text += &c.maybe(|c| format!("credit = \"{} B\"\n", c.about(1, 100_000)));
    let rates = ["1 Gb/s", "10 Gb/s", "25 Gb/s", "100 Gb/s"];
    text += &format!(
        "[links.net]\n{rule}\nethernet = \"{}\"\ndelay = \"{} ps\"\nmtu = \"{mtu} B\"\n",
        c.of(&rates),
        c.about(1, 3_000_000)
    );
    if shape > 1 {
        text += &c.maybe(|c| format!("uplink = \"{}\"\n", c.of(&rates)));
    }
    for flow in 0..1 + c.below(2) {
        let share = 1 + c.below(if flow == 0 { 100 } else { 40 });
        let load = match c.below(5) {
            0 => "\"saturate\"".into(),
            1 => format!("{{ share = \"{share} %\" }}"),
            2 => format!("{{ share = \"{share} %\", arrivals = \"poisson\" }}"),
            3 => format!("{{ share = \"{share} %\", burst = {}.5, bursts = \"fixed\" }}", 1 + c.below(60)),
            _ => format!("{{ share = \"{share} %\", burst = {} }}", 1 + c.below(200)),
        };
        let (pattern, to) = match c.below(5) {
            0 => ("permutation", "host.*"),
            1 => ("all-to-all", "host.*"),
            2 => ("pairs", "host.0"),
            _ => ("random", "host.*"),
        };
        text += &format!(
            "[flows.f{flow}]\nfrom = \"host.*\"\nto = \"{to}\"\npattern = \"{pattern}\"\ndo = \"send\"\nsize = \"{} \
                B\"\nload = {load}\npriority = {}\n",
            c.about(1, 9000),
            if flow == 0 || buffers == "input" { priority } else { "0" }
        );
    }
    text + "[run]\nfor = \"150 us\"\nwarmup = \"0 s\"\nmax_packets = 60000\n"
}
