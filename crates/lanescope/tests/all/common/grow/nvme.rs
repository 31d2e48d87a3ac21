//! Random small NVMe: drives of every kind on a root port each or behind a switch, and workers with queue pairs.

use super::Choices;

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let drives = 1 + c.below(4);
    let speed = c.of(&["gen1 x1", "gen2 x1", "gen3 x4", "gen4 x4"]);
    let mut text = format!("[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\ncount = {drives}\n");
    text += &format!("capacity = \"{} B\"\n", c.about(8 << 20, 4 << 30));
    text += &c.maybe(|c| format!("queue_pairs = {}\n", c.about(1, 9)));
    text += &c.maybe(|c| format!("queue_entries = {}\n", 1 + c.about(1, 70)));
    text += &c.maybe(|c| format!("commands_fetched = {}\n", c.about(1, 16)));
    text += &c.maybe(|c| format!("command_time = \"{} ns\"\n", c.about(1, 20_000)));
    text += &c.maybe(|c| format!("queue_time = \"{} ns\"\n", c.about(1, 20_000)));
    text += &c.maybe(|c| format!("command_latency = \"{} ns\"\n", c.about(1, 20_000) - 1));
    text += &c.maybe(|c| format!("max_transfer = \"{} B\"\n", 4096 << c.below(8)));
    text += &c.maybe(|_| "data_pointers = \"sgl\"\n".into());
    text += &c.maybe(|_| "doorbells = \"shadow\"\n".into());
    text += &c.maybe(|c| format!("coalesced = {}\ncoalesce_time = \"{} us\"\n", c.about(1, 20), c.below(100)));
    text += &c.maybe(|c| format!("memory_page = \"{} B\"\n", 4096 << c.below(5)));
    text += &format!("channels = {}\ndies = {}\n", c.about(1, 20), c.about(1, 9));
    text += &c.maybe(|c| format!("planes = {}\n", c.about(1, 4)));
    text += &format!("page = \"{} B\"\n", 4096 << c.below(4));
    text += &format!("stripes = {}\nstripe_pages = {}\n", c.about(1, 9), c.about(1, 20));
    text += &c.maybe(|c| format!("read_time = \"{} ns\"\n", c.about(1, 100_000)));
    text += &c.maybe(|c| {
        format!("lower_read_time = \"{} ns\"\nupper_read_time = \"{} ns\"\n", c.about(1, 90_000), c.about(1, 200_000))
    });
    text += &c.maybe(|c| format!("program_time = \"{} ns\"\n", c.about(1, 2_000_000)));
    text += &c.maybe(|c| format!("channel_rate = \"{} MB/s\"\n", c.about(10, 2000)));
    text += &c.maybe(|c| format!("stripe_rate = \"{} MB/s\"\n", c.about(10, 2000)));
    text += &c.maybe(|c| format!("buffer = \"{} B\"\n", c.about(1, 4 << 20) - 1));
    text += &c.maybe(|_| "write_cache = true\n".into());
    text += &c.maybe(|c| {
        let suspend = c.maybe(|c| format!("suspend_time = \"{} us\"\n", c.below(50)));
        format!("die_programs = true\n{suspend}")
    });
    text += &c.maybe(|c| format!("write_amplification = {}\n", 1 + c.below(5)));
    text += &c.maybe(|c| format!("erase_time = \"{} us\"\nblock_programs = {}\n", c.about(1, 9000), c.about(1, 300)));
    let trims = c.below(3) == 0;
    if trims {
        text += &format!("trim_time = \"{} ns\"\n", c.about(1, 100_000));
        text += &c.maybe(|c| format!("trim_rate = \"{} MB/s\"\n", c.about(100, 1_000_000)));
    }
    text += &c.maybe(|c| format!("rate = \"{} MB/s\"\n", c.about(10, 2000)));
    text += &c.maybe(|c| format!("port_buffer = \"{} B\"\n", c.about(1, 100_000) - 1));
    if c.below(2) == 0 {
        text += "[parts.sw]\nis = \"switch\"\n[links.up]\nbetween = [\"host\", \"sw.up\"]\n";
        text += &format!("pcie = \"{speed}\"\n[links.slot]\nbetween = [\"sw.down.*\", \"d.*\"]\npcie = \"{speed}\"\n");
    } else {
        text += &format!("[links.slot]\nbetween = [\"host\", \"d.*\"]\npcie = \"{speed}\"\n");
    }
    let levels: &[&str] = match drives {
        1 => &["raid0"],
        2 => &["raid0", "raid1"],
        3 => &["raid0", "raid5"],
        _ => &["raid0", "raid10", "raid5"],
    };
    let array = c.below(2) == 0;
    if array {
        text += &format!("[parts.a]\nis = \"array\"\nlevel = \"{}\"\ndisks = [\"d.*\"]\n", c.of(levels));
        text += &format!("strip = \"{} B\"\n", 512 << c.below(12));
        text += &c.maybe(|c| format!("command_time = \"{} ns\"\n", c.about(1, 5000)));
        text += &c.maybe(|c| format!("parity_rate = \"{} MB/s\"\n", c.about(10, 20_000)));
    }
    for flow in 0..1 + c.below(2) {
        let to = if array { "a" } else { c.of(&["d.*", "d.0"]) };
        text += &format!("[flows.f{flow}]\nfrom = \"host\"\nto = \"{to}\"\ndo = \"io\"\n");
        let size = [4096, 512, 65_536, c.about(512, 1 << 20)][c.below(4)];
        let (read, random) = ([0, 100, 100, 67][c.below(4)], [0, 100, 100, 30][c.below(4)]);
        text += &format!("access = {{ size = \"{size} B\", read = \"{read} %\", random = \"{random} %\"");
        text += &c.maybe(|c| format!(", delay = \"{} ns\", burst = {}", c.about(1, 1_000_000), 1 + c.below(9)));
        if trims && !array && read < 100 {
            text += &format!(", trim = \"{} %\"", [30, 100][c.below(2)]);
        }
        text += &c.maybe(|_| format!(", align = \"{size} B\""));
        text += &format!(" }}\noutstanding = {}\n", c.about(1, 64));
        text += &c.maybe(|c| format!("workers = {}\n", 1 + c.below(4)));
        text += &c.maybe(|c| format!("cores = {}\n", 1 + c.below(4)));
        text += &c.maybe(|c| format!("queue_pairs = {}\n", c.about(1, 9)));
        text += &c.maybe(|c| {
            let laws = ["pareto:0.2", "normal:15", "zoned:50/5:30/15:20/80", "zoned_abs:90/64 KiB:10/1 GiB"];
            format!("distribution = \"{}\"\n", c.of(&laws))
        });
        text += &c.maybe(|c| format!("commands_a_doorbell = {}\n", c.about(1, 16)));
        text += &c.maybe(|c| format!("wake_time = \"{} ns\"\n", c.about(1, 10_000)));
        text += &c.maybe(|c| format!("rate = {}\n", c.about(4000, 100_000)));
        text += &c.maybe(|c| format!("host_software = \"{}\"\n", c.of(&["libaio", "io_uring", "spdk", "psync"])));
        text += &c.maybe(|c| format!("host_processor = \"{}\"\n", c.of(&["server-2012", "board-2020"])));
    }
    text + "[run]\nfor = \"10 ms\"\nwarmup = \"0 s\"\nmax_packets = 300000\n"
}
