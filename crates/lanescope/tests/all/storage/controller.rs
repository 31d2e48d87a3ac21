//! Arrays of NVMe drives in a RAID controller: one I/O by hand, where what it becomes goes, which link binds, and what
//! must hold on random ones.

use super::by_hand::{NS, PROCESSED, US, moments, read, stored};
use super::laws::laws;
use super::{HOST, IO, simulate};
use crate::common::choices::on_random;
use crate::common::grow::nvme::grow;
use crate::common::{has, run as answer, simulated, within, wrong};
use lanescope::result::Simulation;

/// Drives behind the controller, each at the end of a link of 1 B/ns like the controller's own.
fn text(level: &str, drives: u32, access: &str, more: &str) -> String {
    let host = HOST.replace("command_bytes = ", "cache = \"64 MiB\"\ndrive_ports = \"roc\"\ncommand_bytes = ");
    let io = IO.replace("to = \"ram\"", "to = \"a\"");
    format!(
        r#"{host}
[parts.roc]
is = "root-complex"
read_latency = "400 ns"
write_latency = "100 ns"
completion_size = "128 B"
[parts.d]
is = "nvme"
count = {drives}
header = "3DW"
capacity = "64 GiB"
command_time = "1 us"
command_latency = "2 us"
page = "16 KiB"
read_time = "25 us"
channel_rate = "200 MB/s"
program_time = "300 us"
stripe_rate = "100 MB/s"
[links.bays]
between = ["roc", "d.*"]
pcie = "gen1 x4"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[parts.a]
is = "array"
level = "{level}"
disks = ["d.*"]
strip = "64 KiB"
{io}access = {access}
{more}
"#
    )
}

const SHORT: &str = "\n[run]\nfor = \"82 us\"\nwarmup = \"0 s\"\n";

/// One read, to the femtosecond: the controller's doorbell, the drive's fetch, its data into the controller's memory,
/// from there to the host's, and the status.
#[test]
fn one_read_of_an_array() {
    let s = simulate(&(text("raid0", 2, "{ size = \"4 KiB\" }", "") + SHORT), &[]);
    // A doorbell of 4 B: 24 ns from lane 0, and 1 ns on the way.
    let rung = PROCESSED.next_multiple_of(4 * NS) + 25 * NS;
    let there = read(rung, 64) + 3 * US + 25 * US + 20_480 * NS;
    let landed = stored(stored(there, 4096), 4096);
    let status = stored(landed, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, there, landed, status, status + 10 * US]);
    // On the drive's link: two doorbells and the command; its request, the data, the entry. On the host's the data.
    let link = |from: &str, to: &str| &s.links.iter().find(|l| l.from == from && l.to == to).expect("a link").slots;
    let (down, up) = (link("roc", "d.0"), link("d.0", "roc"));
    assert_eq!((down.control, down.payload, up.control, up.requests, up.payload), (84 + 2 * 24, 0, 36, 20, 4096));
    assert_eq!((link("hba", "host").payload, link("roc", "d.1").control), (4096 + 64, 0));
}

/// The time of the controller's processor for each command of a drive is that of the I/O, too.
#[test]
fn commands_of_drives_take_the_processors_time() {
    let of = |sets: &[&str]| {
        let text = text("raid0", 2, "{ size = \"4 KiB\" }", "") + "[run]\nfor = \"1 ms\"\nwarmup = \"0 s\"\n";
        let (s, e) = (simulate(&text, sets), answer(&text, sets));
        (simulated(&s, "io").latency.mean, e.flows[0].latency.typical)
    };
    let (a, b) = (of(&[]), of(&["parts.hba.drive_command_time=\"3 us\""]));
    within(1e-6, b.0 - a.0, 3e-6);
    within(1e-6, b.1 - a.1, 3e-6);
}

/// Payload of the host's link, there and back, and of each drive's.
fn moved(s: &Simulation, drives: u32) -> ([u64; 2], Vec<[u64; 2]>) {
    let at = |name: &str| {
        let to = s.links.iter().find(|l| l.to == name).expect("a link to it");
        let from = s.links.iter().find(|l| l.from == name).expect("a link from it");
        [to.slots.payload, from.slots.payload]
    };
    (at("hba"), (0..drives).map(|d| at(&format!("d.{d}"))).collect())
}

/// What mirrors and parity cost crosses the links of drives only.
#[test]
fn parity_never_crosses_the_hosts_link() {
    let one = |level: &str, drives: u32, access: &str| {
        let text = text(level, drives, access, "rate = 20") + "[run]\nfor = \"45 ms\"\nwarmup = \"0 s\"\n";
        let s = simulate(&text, &["parts.hba.write_policy=\"write-through\"", "parts.hba.status_bytes=\"0 B\""]);
        assert_eq!(simulated(&s, "io").operations, 1, "{level}");
        let (host, drives) = moved(&s, drives);
        // The command is read with it.
        ([host[0] - 64, host[1]], drives)
    };
    let k = 1 << 10;
    let write = |size: &str| format!("{{ size = \"{size}\", read = \"0 %\" }}");
    assert_eq!(one("raid0", 2, "{ size = \"128 KiB\" }"), ([0, 128 * k], vec![[0, 64 * k]; 2]));
    assert_eq!(one("raid1", 2, &write("4 KiB")), ([4 * k, 0], vec![[4 * k, 0]; 2]));
    assert_eq!(one("raid10", 4, &write("128 KiB")), ([128 * k, 0], vec![[64 * k, 0]; 4]));
    // Old data and parity are read, new ones written.
    let small = vec![[4 * k, 4 * k], [0, 0], [4 * k, 4 * k]];
    assert_eq!(one("raid5", 3, &write("4 KiB")), ([4 * k, 0], small));
    assert_eq!(one("raid5", 3, &write("128 KiB")), ([128 * k, 0], vec![[64 * k, 0]; 3]));
}

/// The controller's link to its host binds where it is the narrowest, the links of drives where they are; both methods
/// agree.
#[test]
fn the_narrowest_link_binds() {
    let quick = [
        "parts.d.channels=64",
        "parts.d.channel_rate=\"2 GB/s\"",
        "flows.io.submit_time=\"1 us\"",
        "flows.io.complete_time=\"1 us\"",
        "parts.hba.command_time=\"1 us\"",
        "flows.io.outstanding=64",
        "parts.hba.queue_depth=256",
    ];
    // Links of the slot and of the bays, what doubles the one that binds, and how far the share may be off: of drives
    // whose I/Os meet at random, 64 outstanding leave each link idle for 1.5 % of the time; whole stripes meet in step.
    for (slot, bays, wider, off) in [
        ("gen1 x4", "gen3 x4", "links.slot.pcie=\"gen1 x8\"", 0.03),
        ("gen3 x16", "gen1 x1", "links.bays.pcie=\"gen1 x2\"", 0.02),
    ] {
        let text = text("raid0", 4, "{ size = \"256 KiB\" }", "") + "[run]\nfor = \"100 ms\"\nwarmup = \"2 ms\"\n";
        let (slot, bays) = (format!("links.slot.pcie=\"{slot}\""), format!("links.bays.pcie=\"{bays}\""));
        let sets = [&quick[..], &[&slot, &bays]].concat();
        let (s, e) = (simulate(&text, &sets), answer(&text, &sets));
        let (flow, seen) = (&e.flows[0], simulated(&s, "io").rate.mean);
        within(0.001, flow.bound.typical, seen);
        within(off, flow.share.typical, seen);
        let wide = answer(&text, &[&sets[..], &[wider]].concat());
        let gained = wide.flows[0].share.typical / flow.share.typical;
        assert!((1.9..2.05).contains(&gained), "{wider}: {gained}");
    }
}

/// By itself, an I/O takes what the closed form says.
#[test]
fn an_io_alone_takes_its_unloaded_time() {
    for (level, n) in [("raid0", 3), ("raid1", 2), ("raid10", 4), ("raid5", 5)] {
        for (size, read, policy) in [
            ("4 KiB", 100, "write-back"),
            ("4 KiB", 0, "write-through"),
            ("16 KiB", 100, "write-back"),
            ("16 KiB", 0, "write-back"),
        ] {
            let access =
                format!("{{ size = \"{size}\", read = \"{read} %\", random = \"100 %\", align = \"{size}\" }}");
            let text = text(level, n, &access, "") + "[run]\nfor = \"100 ms\"\nwarmup = \"1 ms\"\n";
            let policy = format!("parts.hba.write_policy=\"{policy}\"");
            let sets = [policy.as_str(), "parts.hba.memory_bandwidth=\"10 GB/s\"", "parts.hba.cache=\"4 GiB\""];
            let (s, e) = (simulate(&text, &sets), answer(&text, &sets));
            let (latency, seen) = (e.flows[0].latency.typical, simulated(&s, "io").latency.mean);
            println!("{level} of {n}, {size}, {read} %, {policy}: {latency} and {seen}");
            within(0.03, latency, seen);
        }
    }
}

/// Reads of many drives: waits at dies and links are in the share.
#[test]
fn shares_of_random_reads_have_the_waits() {
    for (level, n, depth) in [("raid0", 8, 16), ("raid5", 8, 128), ("raid10", 4, 32)] {
        let access = "{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }";
        let text =
            text(level, n, access, &format!("outstanding = {depth}\n[run]\nfor = \"30 ms\"\nwarmup = \"2 ms\"\n"));
        let sets = [
            "links.slot.pcie=\"gen3 x8\"",
            "flows.io.submit_time=\"1 us\"",
            "flows.io.complete_time=\"1 us\"",
            "parts.hba.command_time=\"500 ns\"",
        ];
        let (s, e) = (simulate(&text, &sets), answer(&text, &sets));
        let (share, seen) = (e.flows[0].share.typical, simulated(&s, "io").rate.mean);
        println!("{level} of {n} at {depth}: share {share}, simulated {seen}, {:?}", e.flows[0].bound_by);
        within(0.05, share, seen);
        assert!(seen <= e.flows[0].bound.typical * 1.01);
    }
}

/// Little's law on a closed load is exact.
#[test]
fn littles_law_is_exact() {
    for (level, n, read) in [("raid0", 2, 100), ("raid5", 4, 0), ("raid10", 4, 50)] {
        let access = format!("{{ size = \"8 KiB\", read = \"{read} %\", random = \"100 %\" }}");
        let text = text(level, n, &access, "outstanding = 9\nworkers = 3\n[run]\nfor = \"20 ms\"\nwarmup = \"0 s\"\n");
        within(1e-12, simulated(&simulate(&text, &[]), "io").in_flight, 27.0);
    }
}

/// Random drives of [`grow`], behind a controller, in an array.
fn behind(bytes: &[u8]) -> String {
    let text = grow(bytes);
    let of = |i: usize, n: usize| usize::from(*bytes.get(i).unwrap_or(&0)) % n;
    let mut own = String::from("[parts.host]\nis = \"root-complex\"\n[parts.raid]\nis = \"host-adapter\"\n");
    own += &format!("drive_ports = \"roc\"\ncache = \"{} KiB\"\n", 64 << of(3, 9));
    own += ["", "write_policy = \"write-through\"\n"][of(5, 2)];
    own += ["", "memory_bandwidth = \"500 MB/s\"\n", "memory_bandwidth = \"20 GB/s\"\n"][of(7, 3)];
    own += ["", "xor_rate = \"300 MB/s\"\n"][of(9, 2)];
    own += ["", "drive_command_time = \"700 ns\"\n", "drive_command_time = \"9 us\"\n"][of(11, 3)];
    own += ["", "queue_depth = 1\n", "queue_depth = 5\n"][of(13, 3)];
    own += ["", "command_time = \"100 ns\"\n"][of(15, 2)];
    own += "[links.own]\nbetween = [\"host\", \"raid\"]\n";
    own +=
        &format!("pcie = \"{}\"\n[parts.roc]\nis = \"root-complex\"\n", ["gen1 x1", "gen3 x4", "gen4 x8"][of(17, 3)]);
    let text = text
        .replace("[parts.host]\nis = \"root-complex\"\n", &own)
        .replace("between = [\"host\", \"d", "between = [\"roc\", \"d");
    let text = text.replace("between = [\"host\", \"sw", "between = [\"roc\", \"sw");
    if text.contains("[parts.a]") {
        return text;
    }
    let array = format!(
        "[parts.a]\nis = \"array\"\nlevel = \"raid0\"\ndisks = [\"d.*\"]\nstrip = \"{} B\"\n",
        512 << of(19, 12)
    );
    text.replace("to = \"d.*\"", "to = \"a\"").replace("to = \"d.0\"", "to = \"a\"") + &array
}

#[test]
fn the_laws_hold_on_random_arrays() {
    on_random(60..160, behind, |plan, d| {
        let (s, held) = laws(plan, d);
        // What is read comes from the drives, and of writes that wait for them all is there.
        assert!(s.flows.iter().any(|f| f.ios.is_some()));
        (s, held)
    });
}

#[test]
fn what_goes_wrong_on_purpose() {
    let text = text("raid5", 3, "{ size = \"4 KiB\" }", "");
    let says = |sets: &[&str], parts: &[&str]| has(&wrong(&text, sets), parts);
    says(&["parts.hba.drive_ports=\"rock\""], &["drive_ports", "\"rock\" is not a root complex", "[parts.NAME]"]);
    says(&["parts.hba.drive_ports=\"d.0\""], &["\"d.0\" is not a root complex"]);
    says(&["parts.hba.drive_ports=\"host\""], &["hba is below host itself", "another root complex"]);
    says(&["flows.io.to=\"d.0\""], &["d.0 is below roc, not host", "hba presents arrays to its host"]);
    says(&["flows.io.from=\"roc\""], &["a is attached to hba, which is not roc's"]);
    let without = text.replace("cache = \"64 MiB\"\n", "");
    has(&wrong(&without, &[]), &["hba has no cache to run an array in"]);
    let two = text.replace(
        "[parts.a]",
        "[parts.other]\nis = \"root-complex\"\n[parts.x]\nis = \"nvme\"\n[links.x]\n\
         between = [\"other\", \"x\"]\npcie = \"gen1 x4\"\n[parts.a]",
    );
    has(
        &wrong(&two, &["parts.a.disks=[\"d.*\", \"x\"]"]),
        &["d.0 hangs below roc, and x hangs below other", "of one controller"],
    );
    let both = text.replace(
        "[parts.roc]",
        "[parts.twin]\nis = \"host-adapter\"\ndrive_ports = \"roc\"\n[links.twin]\n\
         between = [\"host\", \"twin\"]\npcie = \"gen1 x4\"\n[parts.roc]",
    );
    has(&wrong(&both, &[]), &["roc is hba's already"]);
}
