//! Random NVMe over Fabrics: workers' hosts and targets on one cable or a switch, of InfiniBand or of Ethernet, and
//! I/Os between them.

use super::Choices;

/// Hosts, adapters, drives and what joins them; pages of a drive have so many bytes at least.
fn machine(c: &mut Choices, workers: usize, page: u64) -> String {
    let ethernet = c.below(2) == 1;
    let speeds = ["gen1 x4", "gen2 x4", "gen3 x8", "gen4 x16"];
    let mut text = format!("[parts.own]\nis = \"root-complex\"\ncount = {workers}\n[parts.target]\n");
    text += "is = \"root-complex\"\n";
    text += &c.maybe(|c| format!("read_latency = \"{} ns\"\n", c.about(100, 2000)));
    for (name, count) in [("a", format!("count = {workers}\n")), ("b", String::new())] {
        text += &format!("[parts.{name}]\nis = \"channel-adapter\"\n{count}");
        text += &c.maybe(|c| format!("work_time = \"{} ns\"\n", c.about(1, 1000)));
        text += &c.maybe(|c| format!("packet_time = \"{} ns\"\n", c.about(1, 400)));
        text += &c.maybe(|c| format!("send_latency = \"{} ns\"\n", c.about(1, 2000) - 1));
        text += &c.maybe(|c| format!("receive_latency = \"{} ns\"\n", c.about(1, 2000) - 1));
        text += &c.maybe(|c| format!("descriptor_bytes = \"{} B\"\n", c.below(200)));
        text += &c.maybe(|c| format!("completion_bytes = \"{} B\"\n", c.below(100)));
        text += &c.maybe(|c| format!("inline = \"{} B\"\n", c.below(256)));
        text += &c.maybe(|c| format!("read_ahead = \"{} B\"\n", c.about(256, 100_000)));
        if !ethernet {
            text += &c.maybe(|c| format!("receive_buffer = \"{} B\"\n", c.about(4400, 100_000)));
        }
    }
    text += "[parts.d]\nis = \"nvme\"\n";
    text += &format!("page = \"{page} B\"\n");
    text += &c.maybe(|c| format!("queue_pairs = {}\n", c.about(1, 9)));
    text += &c.maybe(|c| format!("queue_entries = {}\n", 1 + c.about(1, 70)));
    text += &c.maybe(|c| format!("command_time = \"{} ns\"\n", c.about(1, 20_000)));
    text += &c.maybe(|c| format!("queue_time = \"{} ns\"\n", c.about(1, 20_000)));
    text += &c.maybe(|c| format!("read_time = \"{} ns\"\n", c.about(1, 100_000)));
    text += &c.maybe(|c| format!("program_time = \"{} ns\"\n", c.about(1, 2_000_000)));
    text += &c.maybe(|c| format!("channel_rate = \"{} MB/s\"\n", c.about(100, 2000)));
    text += &c.maybe(|c| format!("stripe_rate = \"{} MB/s\"\n", c.about(100, 2000)));
    text += &format!("[links.own]\nbetween = [\"own.*\", \"a.*\"]\npcie = \"{}\"\n", c.of(&speeds));
    text += &format!("[links.theirs]\nbetween = [\"target\", \"b\"]\npcie = \"{}\"\n", c.of(&speeds));
    text += &format!("[links.slot]\nbetween = [\"target\", \"d\"]\npcie = \"{}\"\n", c.of(&speeds));
    let (key, rates, mtu) = match ethernet {
        true => ("ethernet", ["10 Gb/s", "25 Gb/s", "40 Gb/s", "100 Gb/s"], [1500, 9000, 4200, 2148, 600][c.below(5)]),
        false => ("infiniband", ["sdr 4x", "qdr 4x", "edr 4x", "ndr 4x"], 256 << c.below(5)),
    };
    let mtu = format!("mtu = \"{mtu} B\"\n");
    let mut cable = |name: &str, between: &str| {
        let rate = c.of(&rates);
        let delay = c.maybe(|c| format!("delay = \"{} ns\"\n", c.about(1, 2000)));
        format!("[links.{name}]\nbetween = [{between}]\n{key} = \"{rate}\"\n{mtu}{delay}")
    };
    if workers == 1 {
        text += &cable("cable", "\"a.0\", \"b\"");
    } else {
        text += &cable("left", "\"a.*\", \"sw\"");
        text += &cable("right", "\"b\", \"sw\"");
        text += &format!("[parts.sw]\nis = \"{key}-switch\"\n");
        if ethernet {
            let control = c.of(&["pfc", "pause", "none"]);
            let forwarding = c.of(&["store-and-forward", "cut-through"]);
            text += &format!("flow_control = \"{control}\"\nforwarding = \"{forwarding}\"\n");
            text += &c.maybe(|_| "congestion_control = \"dcqcn\"\n".into());
        }
    }
    text
}

/// What a flow has of its own.
fn flow(c: &mut Choices) -> String {
    let mut text = c.maybe(|c| format!("in_capsule_data = \"{} B\"\n", c.below(3) * 4096));
    text += &c.maybe(|c| format!("target_time = \"{} ns\"\n", c.about(1, 20_000) - 1));
    text += &format!("submit_time = \"{} ns\"\ncomplete_time = \"{} ns\"\n", c.about(1, 5000), c.about(1, 5000));
    text
}

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let c = &mut c;
    let workers = 1 + c.below(3);
    let page = 4096 << c.below(3);
    let mut text = machine(c, workers, page);
    text = text.replace("[parts.d]\n", &format!("[parts.d]\nmax_transfer = \"{} B\"\n", 4096 << c.below(6)));
    for n in 0..1 + c.below(2) {
        // Beside the others one of the target's own.
        let from = if n == 1 && c.below(3) == 0 { "target" } else { "own.*" };
        text += &format!("[flows.f{n}]\nfrom = \"{from}\"\nto = \"d\"\ndo = \"io\"\n");
        let size = [4096, 512, 65_536, c.about(512, 300_000)][c.below(4)];
        let (read, random) = ([0, 100, 100, 67][c.below(4)], [0, 100, 30][c.below(3)]);
        text += &format!("access = {{ size = \"{size} B\", read = \"{read} %\", random = \"{random} %\" }}\n");
        text += &format!("outstanding = {}\n", c.about(1, 48));
        text += &c.maybe(|c| format!("workers = {}\n", 1 + c.below(3)));
        text += &c.maybe(|c| format!("queue_pairs = {}\n", c.about(1, 5)));
        if from == "own.*" {
            text += &c.maybe(|c| format!("fabric_entries = {}\n", 1 + c.about(1, 40)));
            text += &flow(c);
        } else {
            text += "completions = \"polling\"\n";
        }
        text += &c.maybe(|c| format!("rate = {}\n", c.about(4000, 100_000)));
    }
    text + "[run]\nfor = \"4 ms\"\nwarmup = \"0 s\"\nmax_packets = 60000\n"
}

/// One worker with one I/O of one page outstanding: nothing queues.
pub(crate) fn alone(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let c = &mut c;
    let size = [512, 4096, 8192, 65_536][c.below(4)];
    // A switch has two workers' hosts, of which one is idle.
    let hosts = 1 + c.below(2);
    let mut text = machine(c, hosts, size.max(4096));
    text += "[flows.f]\nfrom = \"own.0\"\nto = \"d\"\ndo = \"io\"\n";
    text += &format!("access = {{ size = \"{size} B\", read = \"{} %\" }}\n", [0, 100][c.below(2)]);
    text += &flow(c);
    text + "[run]\nfor = \"100 ms\"\nwarmup = \"10 ms\"\nmax_packets = 200000\n"
}
