//! Random small storage: adapters, disks, drives, RAM, arrays, and I/Os of every kind.

use super::Choices;

/// One line of an access specification with a share of so many percent.
fn line(c: &mut Choices, share: usize) -> String {
    let size = match c.below(4) {
        0 => c.about(1, 4096),
        1 => 512 << c.below(8),
        2 => 65_536,
        _ => c.about(512, 1 << 20),
    };
    let mut text =
        format!("{{ size = \"{size} B\", share = \"{share} %\", read = \"{} %\"", [0, 100, 67, 0, 100][c.below(5)]);
    text += &format!(", random = \"{} %\"", [0, 100, 0, 30, 0][c.below(5)]);
    text += &c.maybe(|c| format!(", delay = \"{} ns\", burst = {}", c.about(1, 1_000_000), 1 + c.below(9)));
    text += &c.maybe(|c| format!(", align = \"{} B\"", c.about(1, 2_000_000)));
    text += &c.maybe(|c| format!(", reply = \"{} B\"", c.about(1, 100_000)));
    text + " }"
}

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let mut text = format!(
        "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncache = \"{} B\"\n",
        c.about(1, 4 << 20)
    );
    text += &c.maybe(|c| format!("queue_depth = {}\n", c.about(1, 300)));
    text += &c.maybe(|c| format!("command_time = \"{} ns\"\n", c.about(1, 20_000)));
    text += &c.maybe(|c| format!("command_bytes = \"{} B\"\nstatus_bytes = \"{} B\"\n", c.below(300), c.below(100)));
    text += &c.maybe(|c| format!("port_buffer = \"{} B\"\n", c.about(1, 100_000) - 1));
    text += &c.maybe(|c| format!("memory_bandwidth = \"{} MB/s\"\n", c.about(50, 5000)));
    text += &c.maybe(|c| format!("xor_rate = \"{} MB/s\"\n", c.about(50, 5000)));
    text += &c.maybe(|_| "write_policy = \"write-through\"\n".into());
    text += &format!(
        "[links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"{}\"\n",
        c.of(&["gen1 x4", "gen2 x8", "gen1 x1"])
    );
    let scsi = c.below(3) == 0;
    // Disks, drives, RAM.
    let kind = if scsi { 0 } else { c.below(4) };
    let disks = kind == 0;
    let n = 1 + c.below(5);
    text += &format!("[parts.d]\ncount = {n}\n");
    // An array needs a strip on each; the range of its I/Os is often much less.
    let capacity = c.about(8 << 20, 4 << 30);
    text += &format!("capacity = \"{capacity} B\"\n");
    if disks {
        text += "is = \"disk\"\n";
        text += &c.maybe(|c| format!("rpm = {}\n", c.about(1, 16_000_000)));
        text += &c.maybe(|c| format!("zones = {}\n", c.about(1, 3000)));
        text += &c.maybe(|c| format!("cache = \"{} B\"\n", c.about(1, 4 << 20) - 1));
        text += &c.maybe(|_| "write_cache = true\n".into());
        text += &c.maybe(|c| format!("track_seek = \"{} us\"\naverage_seek = \"1 ms\"\n", c.below(900)));
    } else if kind == 1 {
        text += "is = \"ssd\"\n";
        text += &format!("channels = {}\ndies = {}\n", c.about(1, 20), c.about(1, 9));
        text += &format!("page = \"{} B\"\n", 4096 << c.below(6));
        text += &format!("stripes = {}\nstripe_pages = {}\n", c.about(1, 9), c.about(1, 20));
        text += &c.maybe(|c| format!("read_time = \"{} ns\"\n", c.about(1, 100_000)));
        text += &c.maybe(|c| format!("program_time = \"{} ns\"\n", c.about(1, 2_000_000)));
        text += &c.maybe(|c| format!("channel_rate = \"{} MB/s\"\n", c.about(10, 2000)));
        text += &c.maybe(|c| format!("stripe_rate = \"{} MB/s\"\n", c.about(10, 2000)));
        text += &c.maybe(|c| format!("command_time = \"{} ns\"\n", c.about(1, 50_000)));
        text += &c.maybe(|c| format!("buffer = \"{} B\"\n", c.about(1, 4 << 20) - 1));
        text += &c.maybe(|_| "write_cache = true\n".into());
        text += &c.maybe(|c| format!("rate = \"{} MB/s\"\n", c.about(10, 2000)));
    } else {
        text += "is = \"ram-disk\"\n";
        text += &c.maybe(|c| format!("rate = \"{} MB/s\"\n", c.about(1, 2000)));
        text += &c.maybe(|c| format!("latency = \"{} ns\"\n", c.about(1, 100_000) - 1));
        text += &c.maybe(|c| format!("port_buffer = \"{} B\"\n", c.about(1, 100_000) - 1));
    }
    text += "[links.wire]\nbetween = [\"hba\", \"d.*\"]\n";
    if scsi {
        text += &format!("scsi = \"{}\"\n", c.of(&["fast", "ultra2", "ultra160", "ultra320", "scsi-1"]));
        text += &c.maybe(|c| format!("burst = \"{} B\"\n", c.about(512, 1 << 20)));
    } else if c.below(2) == 0 {
        text += &format!("sas = \"{}\"\n", c.of(&["1.5G", "3G", "6G", "12G", "22.5G"]));
        text += &c.maybe(|c| format!("frame = \"{} B\"\n", c.about(64, 1024)));
        text += &c.maybe(|c| format!("connection = \"{} ns\"\n", c.about(1, 20_000) - 1));
        text += &c.maybe(|c| format!("length = \"{} m\"\n", c.about(1, 100)));
    } else {
        text += &format!("fc = \"{}\"\n", c.of(&["1GFC", "2GFC", "4GFC", "8GFC", "16GFC"]));
        text += &c.maybe(|c| format!("frame = \"{} B\"\n", c.about(64, 2112)));
        text += &c.maybe(|c| format!("length = \"{} m\"\n", c.about(1, 20_000)));
    }
    let level = match n {
        _ if c.below(2) == 0 => "",
        1 => "raid0",
        2 => c.of(&["raid0", "raid1"]),
        4 => c.of(&["raid0", "raid5", "raid10"]),
        _ => c.of(&["raid0", "raid5"]),
    };
    if !level.is_empty() {
        text += &format!("[parts.lun]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\n");
        text += &c.maybe(|c| format!("strip = \"{} B\"\n", 512 << c.below(10)));
    }
    let to = if level.is_empty() { c.of(&["d.*", "d.0"]) } else { "lun" };
    for flow in 0..1 + c.below(2) {
        text += &format!("[flows.f{flow}]\nfrom = \"host\"\nto = \"{to}\"\ndo = \"io\"\n");
        let lines = [1, 1, 2, 5][c.below(4)];
        let all: Vec<String> = (0..lines).map(|_| line(&mut c, 100 / lines)).collect();
        text += &format!("access = [{}]\n", all.join(", "));
        text += &format!("outstanding = {}\n", c.about(1, 64));
        text += &c.maybe(|c| format!("workers = {}\n", 1 + c.below(4)));
        text += &c.maybe(|c| format!("file = \"{} B\"\n", c.about(1 << 20, 8 << 20)));
        text += &c.maybe(|c| format!("start = \"{} B\"\n", 512 * c.about(1, 4096)));
        text += &c.maybe(|c| {
            format!(
                "rate = {}\narrivals = \"{}\"\n",
                c.about(if disks { 100 } else { 4000 }, 100_000),
                c.of(&["even", "poisson"])
            )
        });
        text +=
            &c.maybe(|c| format!("submit_time = \"{} ns\"\ncomplete_time = \"{} ns\"\n", c.below(256), c.below(256)));
    }
    // Nothing moves at this moment for most of what is drawn.
    let time = match kind {
        _ if disks => 400,
        1 => 40,
        _ => 10,
    };
    text + &format!("[run]\nfor = \"{time} ms\"\nwarmup = \"0 s\"\nmax_packets = 300000\n")
}

/// The same with its first flow alone: what another gets depends on what this one leaves.
pub(crate) fn one_flow(bytes: &[u8]) -> String {
    let text = grow(bytes);
    match text.split_once("[flows.f1]") {
        Some((head, tail)) => format!("{head}[run]{}", tail.rsplit("[run]").next().unwrap_or("")),
        None => text,
    }
}
