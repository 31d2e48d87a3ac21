//! Arrays of NVMe drives that their host runs: what an I/O becomes, counted on the wires; one drive as an array of one;
//! orders of drives; many of them behind switches.

use super::simulate;
use crate::common::choices::runner;
use crate::common::{by_both, has, plan, planned, run as answer, simulate_by, simulated, within, wrong};
use lanescope::result::{Report, Simulation};
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};

/// So many drives below a host, and an array of them.
fn text(level: &str, drives: u32, order: &[u32], access: &str, more: &str) -> String {
    let names: Vec<String> = order.iter().map(|d| format!("\"d.{d}\"")).collect();
    format!(
        r#"
[parts.host]
is = "root-complex"
[parts.d]
is = "nvme"
count = {drives}
capacity = "64 GiB"
channels = 8
dies = 4
command_time = "1 us"
[links.slot]
between = ["host", "d.*"]
pcie = "gen3 x4"
[parts.a]
is = "array"
level = "{level}"
disks = [{}]
strip = "64 KiB"
[flows.io]
from = "host"
to = "a"
do = "io"
host_software = "io_uring-polled"
access = {access}
{more}
"#,
        names.join(", ")
    )
}

fn in_order(level: &str, drives: u32, access: &str, more: &str) -> String {
    text(level, drives, &(0..drives).collect::<Vec<_>>(), access, more)
}

/// Levels, with as many drives as make one.
const LEVELS: [(&str, u32); 5] = [("raid0", 3), ("raid1", 2), ("raid10", 4), ("raid5", 3), ("raid5", 5)];

/// Bytes of data that each drive was sent, and has sent.
fn moved(s: &Simulation, drives: u32) -> Vec<[u64; 2]> {
    let at = |d: u32| {
        let name = format!("d.{d}");
        let to = s.links.iter().find(|l| l.to == name).expect("a link to it");
        let from = s.links.iter().find(|l| l.from == name).expect("a link from it");
        [to.slots.payload, from.slots.payload]
    };
    (0..drives).map(at).collect()
}

/// One I/O, counted where it goes.
#[test]
fn an_io_goes_where_its_level_says() {
    // One write at the beginning, and nothing behind it.
    let one = |level: &str, drives: u32, access: &str| {
        let text = in_order(level, drives, access, "rate = 20");
        let s = simulate(&format!("{text}\n[run]\nfor = \"45 ms\"\nwarmup = \"0 s\"\n"), &[]);
        assert_eq!(simulated(&s, "io").operations, 1, "{level}");
        moved(&s, drives)
    };
    let k = 1 << 10;
    let write = |size: &str| format!("{{ size = \"{size}\", read = \"0 %\" }}");
    let read = |size: &str| format!("{{ size = \"{size}\" }}");
    assert_eq!(one("raid0", 3, &write("4 KiB")), [[4 * k, 0], [0, 0], [0, 0]]);
    assert_eq!(one("raid0", 3, &read("128 KiB")), [[0, 64 * k], [0, 64 * k], [0, 0]]);
    assert_eq!(one("raid1", 2, &write("4 KiB")), [[4 * k, 0]; 2]);
    assert_eq!(one("raid10", 4, &write("128 KiB")), [[64 * k, 0]; 4]);
    // Old data and parity are read, new ones written: the first stripe's parity is on the last drive.
    assert_eq!(one("raid5", 3, &write("4 KiB")), [[4 * k, 4 * k], [0, 0], [4 * k, 4 * k]]);
    // A whole stripe reads nothing.
    assert_eq!(one("raid5", 3, &write("128 KiB")), [[64 * k, 0]; 3]);
    assert_eq!(one("raid5", 3, &read("128 KiB")), [[0, 64 * k], [0, 64 * k], [0, 0]]);
}

/// Reads of mirrors take turns.
#[test]
fn mirrors_take_turns() {
    let text = in_order("raid1", 2, "{ size = \"4 KiB\", random = \"100 %\" }", "outstanding = 8");
    let s = simulate(&format!("{text}\n[run]\nfor = \"10 ms\"\nwarmup = \"0 s\"\n"), &[]);
    let all = moved(&s, 2);
    assert!(all[0][1] > 1 << 20);
    within(0.01, all[0][1] as f64, all[1][1] as f64);
}

/// What both methods say, without the names of things.
fn said(text: &str, seed: u64) -> (Report, Simulation) {
    let (plan, d) = plan(text, &[]);
    let plan = plan.unwrap_or_else(|| panic!("{d}\n{text}"));
    (lanescope::estimate::estimate(&plan, &d), simulate_by(&plan, seed, u64::MAX))
}

/// Sizes, mixes and depths.
fn load(bits: u64) -> (String, String) {
    let of = |shift: u32, n: u64| (bits >> shift) % n;
    let size = [4096, 512, 16_384, 65_536, 200_704, 1 << 20][of(0, 6) as usize];
    let (read, random) = ([0, 100, 70][of(8, 3) as usize], [0, 100][of(16, 2) as usize]);
    let align = if of(24, 2) == 0 { size } else { 512 };
    let access =
        format!("{{ size = \"{size} B\", read = \"{read} %\", random = \"{random} %\", align = \"{align} B\" }}");
    (access, format!("outstanding = {}\nworkers = {}", [1, 3, 16, 64][of(32, 4) as usize], 1 + of(40, 2)))
}

/// Runs a law on random loads.
fn on_random_loads(law: impl Fn(u64, &str, &str) + std::panic::RefUnwindSafe) {
    let mut runner = runner(Config { max_shrink_iters: 64, ..Config::default() });
    let result = runner.run(&any::<u64>(), |bits| {
        let (access, more) = load(bits);
        std::panic::catch_unwind(|| law(bits, &access, &more))
            .map_err(|_| TestCaseError::fail(format!("a law is broken with {access} {more}")))
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}

const RUN: &str = "\n[run]\nfor = \"5 ms\"\nwarmup = \"0 s\"\nmax_packets = 100000\n";

const LONG: &str = "\n[run]\nfor = \"200 ms\"\nwarmup = \"0 s\"\nmax_packets = 4000000\n";

#[test]
fn an_array_of_one_drive_is_the_drive() {
    on_random_loads(|_, access, more| {
        let text = in_order("raid0", 1, access, more) + RUN;
        let alone = text.replace("to = \"a\"", "to = \"d.0\"");
        let [(array, ran), (drive, run)] = [said(&text, 1), said(&alone, 1)];
        let (a, b) = (&array.flows[0], &drive.flows[0]);
        for (a, b) in [(a.share, b.share), (a.bound, b.bound), (a.latency, b.latency)] {
            within(1e-9, a.typical, b.typical);
            within(1e-9, a.slower, b.slower);
            within(1e-9, a.faster, b.faster);
        }
        // The same places of the same drive: the same history.
        let (a, b) = (simulated(&ran, "io"), simulated(&run, "io"));
        assert_eq!((a.rate, a.latency, a.in_flight, a.operations), (b.rate, b.latency, b.in_flight, b.operations));
        assert_eq!(ran.links, run.links);
    });
}

#[test]
fn the_order_of_drives_changes_nothing() {
    on_random_loads(|bits, access, more| {
        let (level, n) = LEVELS[(bits >> 48) as usize % LEVELS.len()];
        let mut order: Vec<u32> = (0..n).collect();
        order.rotate_left(1 + (bits >> 56) as usize % (n as usize - 1));
        let of = |run: &str| {
            let one = said(&(in_order(level, n, access, more) + run), 1);
            (one, said(&(text(level, n, &order, access, more) + run), 1))
        };
        let rate = |s: &Simulation| simulated(s, "io").rate.mean + 1.0;
        let ((mut one, mut ran), (mut two, mut run)) = of(RUN);
        // Who is first among equals at the host depends on the order, so histories part: where so few I/Os do not tell
        // that rates are the same, forty times as many have to.
        if (rate(&ran) / rate(&run) - 1.0).abs() > 0.02 {
            ((one, ran), (two, run)) = of(LONG);
        }
        let (a, b) = (&one.flows[0], &two.flows[0]);
        for (a, b) in [(a.share, b.share), (a.bound, b.bound), (a.latency, b.latency)] {
            within(1e-9, a.typical, b.typical);
        }
        let (a, b) = (simulated(&ran, "io"), simulated(&run, "io"));
        within(1e-9, a.in_flight, b.in_flight);
        within(0.02, rate(&ran), rate(&run));
    });
}

/// By itself, an I/O takes what the closed form says.
#[test]
fn an_io_alone_takes_its_unloaded_time() {
    for (level, n) in LEVELS {
        // Of one page: pages of one die wait for one another, of a drive as of an array.
        for (size, read) in [("4 KiB", 100), ("4 KiB", 0), ("16 KiB", 100), ("16 KiB", 0)] {
            let access =
                format!("{{ size = \"{size}\", read = \"{read} %\", random = \"100 %\", align = \"{size}\" }}");
            let (e, s) = said(&(in_order(level, n, &access, "") + "\n[run]\nfor = \"100 ms\"\nwarmup = \"1 ms\"\n"), 1);
            let (latency, seen) = (e.flows[0].latency.typical, simulated(&s, "io").latency.mean);
            println!("{level} of {n}, {size}, {read} %: {latency} and {seen}");
            within(0.03, latency, seen);
        }
    }
}

/// Twenty-four drives behind two switches.
#[test]
fn many_drives_behind_two_switches() {
    for (level, read, depth) in [("raid0", 100, 256), ("raid10", 100, 256), ("raid5", 100, 256), ("raid5", 0, 64)] {
        let text = format!(
            "platform = \"example/nvme-server\"\n[parts.a]\nis = \"array\"\nlevel = \"{level}\"\n\
             disks = [\"drive.*\"]\n[flows.io]\nfrom = \"host\"\nto = \"a\"\ndo = \"io\"\nworkers = 4\n\
             host_software = \"io_uring-polled\"\noutstanding = {depth}\n\
             access = {{ size = \"4 KiB\", read = \"{read} %\", random = \"100 %\", align = \"4 KiB\" }}\n\
             [run]\nfor = \"4 ms\"\nwarmup = \"1 ms\"\n"
        );
        let (e, s) = said(&text, 1);
        let (share, seen) = (e.flows[0].share.typical, simulated(&s, "io").rate.mean);
        println!("{level} {read} % read: share {share}, simulated {seen}, {:?}", e.flows[0].bound_by);
        within(0.02, share, seen);
        assert!(seen <= e.flows[0].bound.typical * 1.01, "{level}");
    }
}

#[test]
fn what_goes_wrong_on_purpose() {
    let access = "{ size = \"4 KiB\" }";
    let says = |text: &str, sets: &[&str], parts: &[&str]| has(&wrong(text, sets), parts);
    let three = in_order("raid0", 3, access, "");
    says(&three, &["parts.a.level=\"raid10\""], &["raid10 of 3 disks", "pairs"]);
    says(&three, &["parts.a.strip=\"1000 B\""], &["a strip of 1000 B", "a multiple of 512 B"]);
    says(&three, &["parts.a.strip=\"2 MiB\"", "parts.d.capacity=\"1 MiB\""], &["does not fit on its disks"]);
    says(
        &three,
        &["parts.a.strip=\"512 B\"", "flows.io.access={ size = \"16 MiB\" }"],
        &["an I/O of 16 MiB is 32768 strips of 512 B", "at most 4096"],
    );
    let beside = "[parts.hba]\nis = \"host-adapter\"\n[parts.r]\nis = \"ram-disk\"\n[links.l]\n\
        between = [\"host\", \"hba\"]\npcie = \"gen1 x4\"\n[links.fc]\nbetween = [\"hba\", \"r\"]\nfc = \"4GFC\"\n";
    says(
        &format!("{beside}{three}"),
        &["parts.a.disks=[\"d.0\", \"r\"]"],
        &["d.0 is an NVMe drive, and r is none", "a host runs arrays of NVMe drives"],
    );
    let split = answer(&three, &["flows.io.access={ size = \"8 MiB\" }", "parts.d.max_transfer=\"128 KiB\""]);
    assert!(split.notes.iter().any(|n| n.mechanism == "split"), "{:?}", split.notes);
}

/// The two drives of a pair read as much as each other, whatever an I/O becomes: but for one piece, and for what is in
/// flight at the end. Where all I/Os were of two strips, half of the drives had read nothing.
#[test]
fn both_drives_of_a_pair_read_alike() {
    let text = include_str!("../../cases/unequal-pieces-on-mirrors.toml");
    for drives in [4, 6] {
        for strips in 1..6 {
            let size = format!("{} KiB", 16 * strips);
            let access = format!("{{ size = \"{size}\", read = \"100 %\", random = \"100 %\", align = \"{size}\" }}");
            let sets = [
                format!("parts.d.count={drives}"),
                format!("flows.f.access={access}"),
                "parts.a.strip=16 KiB".into(),
                "parts.d.queue_time=0 s".into(),
                "run.for=40 ms".into(),
                "run.warmup=0 s".into(),
            ];
            let plan = planned(text, &sets.each_ref().map(String::as_str));
            let s = simulate_by(&plan, 1, u64::MAX);
            let up: Vec<u64> = s.links.iter().filter(|l| l.to == "host").map(|l| l.slots.payload).collect();
            assert_eq!(up.len(), drives);
            for pair in up.chunks(2) {
                let in_flight = 32 * 16 * 1024 * strips;
                assert!(pair[0].min(pair[1]) > 4 * in_flight, "{size}: {up:?}");
                assert!(pair[0].abs_diff(pair[1]) <= in_flight, "{drives} drives, {size}: {up:?}");
            }
        }
    }
}

/// I/Os that follow one another lie on the same pages of one drive, however many drives the array has.
#[test]
fn small_reads_in_a_row_wait_for_one_page() {
    for outstanding in [1, 4, 16, 64] {
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\ncount = 4\ncapacity = \"64 GiB\"\n\
             channels = 8\ndies = 4\npage = \"16 KiB\"\n[links.slot]\nbetween = [\"host\", \"d.*\"]\n\
             pcie = \"gen4 x4\"\n[parts.a]\nis = \"array\"\nlevel = \"raid0\"\ndisks = [\"d.*\"]\n\
             [flows.f]\nfrom = \"host\"\nto = \"a\"\ndo = \"io\"\noutstanding = {outstanding}\n\
             access = {{ size = \"4 KiB\", read = \"100 %\", random = \"0 %\" }}\n\
             [run]\nfor = \"40 ms\"\nwarmup = \"5 ms\"\n"
        );
        let (report, s) = by_both(&text);
        let off = report.flows[0].share.typical / s.flows[0].rate.mean - 1.0;
        assert!(off.abs() < 0.12, "{outstanding} outstanding, {off}: {:?}", report.flows[0].bound_by);
    }
}
