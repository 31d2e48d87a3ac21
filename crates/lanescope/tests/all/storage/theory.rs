//! Against closed forms.

use super::{HOST, IO, RAM, ios, simulate};
use crate::common::{run as answer, simulated, within};
use lanescope::protocol::fibre_channel::{LineRate, Loop, frame, wire};
use lanescope::units::{Length, Time};

/// A wide link to the host, whose latency is little.
fn text(parts: &str, access: &str, length: &str) -> String {
    let host = HOST.replace("gen1 x4", "gen3 x16").replace("status_bytes", "cache = \"16 MiB\"\nstatus_bytes");
    format!("{host}{parts}{IO}access = {access}\n[run]\nfor = \"{length}\"\nwarmup = \"0 s\"\n")
}

#[test]
fn a_ram_disk_saturates_by_its_latency_or_its_rate() {
    let mut alone = 0.0;
    for outstanding in [1, 2, 4, 8, 16, 32, 64] {
        let sets = [
            format!("flows.io.outstanding={outstanding}"),
            "parts.ram.rate=100 MB/s".into(),
            "parts.ram.latency=300 us".into(),
            "parts.hba.queue_depth=64".into(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let access = "{ size = \"8 KiB\" }";
        let s = simulate(&text(RAM, access, "100 ms"), &sets);
        let f = simulated(&s, "io");
        if outstanding == 1 {
            alone = f.latency.mean;
        }
        // The last ones are not done, and the first come late.
        let by_latency = outstanding as f64 * 8192.0 / alone;
        let expected = by_latency.min(100e6);
        within(0.02, f.rate.mean / 8.0, expected);
        let estimate = answer(&text(RAM, access, "100 ms"), &sets);
        within(0.02, estimate.flows.last().expect("a flow").share.typical / 8.0, expected);
    }
}

const DISK: &str = r#"
[parts.ram]
is = "disk"
capacity = "73 GB"
rpm = 15000
zones = 8
outer_rate = "90 MB/s"
inner_rate = "50 MB/s"
track_seek = "400 us"
average_seek = "3600 us"
full_seek = "8 ms"
command_time = "200 us"
[links.fc]
between = ["hba", "ram"]
fc = "4GFC"
"#;

#[test]
fn random_ios_of_a_disk() {
    // Seeks by the square root of the distance up to a third, straight from there; distances between two places have
    // density 2 (1 - x).
    let seek = |x: f64| {
        if x < 1.0 / 3.0 { 0.4 + 3.2 * (3.0 * x).sqrt() } else { 3.6 + 4.4 * (x - 1.0 / 3.0) * 1.5 }
    };
    let mean: f64 = (0..100_000).map(|i| (i as f64 + 0.5) / 1e5).map(|x| 2.0 * (1.0 - x) * seek(x)).sum::<f64>() / 1e5;
    // Half a turn of 4 ms; 4 KiB at 70 MB/s, the mean of the zones (by time: 1 / rate).
    let transfer = (0..8).map(|z| 4096.0 / ((90.0 - 40.0 * z as f64 / 7.0) * 1e3)).sum::<f64>() / 8.0;
    let service = mean + 2.0 + transfer;
    let access = "{ size = \"4 KiB\", random = \"100 %\" }";
    let one = simulate(&text(DISK, access, "20 s"), &[]);
    // Host, adapter and bus, and the disk's own overhead; all else of the time is the heads.
    let stages = ios(&one, "io").stages;
    let outside: f64 = [0, 1, 3, 4, 5].iter().map(|i| stages[*i] * 1e3).sum();
    within(0.02, 1e3 / ios(&one, "io").per_second, outside + 0.2 + service);
    // With several outstanding the overhead is hidden.
    let more = simulate(&text(DISK, access, "20 s"), &["flows.io.outstanding=4"]);
    within(0.02, 1e3 / ios(&more, "io").per_second, service);
    // And so says the estimate.
    let report = answer(&text(DISK, access, "20 s"), &["flows.io.outstanding=4"]);
    let estimate = report.flows.last().expect("a flow").share.typical / 8.0 / 4096.0;
    within(0.03, 1e3 / estimate, service);
    // Of a part of the disk too, and of one that is no more than a track.
    for (file, depth) in [("1 GB", 4), ("100 MB", 4), ("200 kB", 4)] {
        let sets = [format!("flows.io.file={file}"), format!("flows.io.outstanding={depth}")];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let s = simulate(&text(DISK, access, "20 s"), &sets);
        let report = answer(&text(DISK, access, "20 s"), &sets);
        within(0.04, report.flows.last().expect("a flow").share.typical, simulated(&s, "io").rate.mean);
    }
}

#[test]
fn sequential_ios_go_at_the_rate_of_the_zone() {
    for (read, outstanding) in [("100 %", 1), ("100 %", 4), ("0 %", 4)] {
        let access = format!("{{ size = \"64 KiB\", read = \"{read}\" }}");
        let outstanding = format!("flows.io.outstanding={outstanding}");
        let s = simulate(&text(DISK, &access, "2 s"), &[&outstanding]);
        within(0.005, simulated(&s, "io").rate.mean / 8.0, 90e6);
    }
    // A writer that is alone misses a turn of 4 ms each time: 64 KiB are 0.728 ms of the turn behind the one before.
    let s = simulate(&text(DISK, "{ size = \"64 KiB\", read = \"0 %\" }", "2 s"), &["flows.io.outstanding=1"]);
    within(0.01, ios(&s, "io").per_second, 1e3 / (4.0 + 0.728));
    // Not so with a write cache.
    let sets = ["flows.io.outstanding=1", "parts.ram.write_cache=true"];
    let s = simulate(&text(DISK, "{ size = \"64 KiB\", read = \"0 %\" }", "2 s"), &sets);
    within(0.03, simulated(&s, "io").rate.mean / 8.0, 90e6);
}

#[test]
fn credit_divided_by_its_round_trip() {
    for (credits, km) in [(1u64, 0.005), (1, 10.0), (4, 10.0), (16, 10.0), (64, 10.0), (2, 1.0)] {
        // A target that takes frames in at once gives their credit back at once: writes of many frames.
        let mib = credits.min(16);
        let sets = [
            format!("parts.ram.port_buffer={} B", 2048 * credits),
            format!("links.fc.length={} m", km * 1000.0),
            "parts.ram.latency=1 us".into(),
            "parts.hba.port_buffer=1 MiB".into(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let s = simulate(&text(RAM, &format!("{{ size = \"{mib} MiB\", read = \"0 %\" }}"), "200 ms"), &sets);
        let speed = LineRate::gfc(4).expect("a speed");
        let around = Loop {
            length: Length::parse(&format!("{} m", km * 1000.0)).expect("a length"),
            response: Time::ZERO,
            reverse: 0,
        };
        let whole = frame(2048);
        let expected = speed.rate().bytes() * 2048.0 / wire(whole) as f64 * around.use_of(speed, whole, credits);
        // What is written while data go, without the time between two I/Os.
        let stage = ios(&s, "io").stages[3];
        within(0.005, (mib << 20) as f64 / stage, expected);
    }
}

/// An array of so many disks with one sequential rate, each on a link of its own.
fn array(n: usize, level: &str) -> String {
    let zone = "zones = 1\nouter_rate = \"64 MB/s\"\ninner_rate = \"64 MB/s\"\n";
    format!(
        "[parts.d]\nis = \"disk\"\ncount = {n}\n{zone}[links.fc]\nbetween = [\"hba\", \"d.*\"]\nfc = \
            \"4GFC\"\n[parts.ram]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\n"
    )
}

#[test]
fn stripes_scale_and_mirrors_write_twice() {
    let rate = |n: usize, level: &str, read: &str| {
        let access = format!("{{ size = \"1 MiB\", read = \"{read}\" }}");
        // As many commands for each disk, whether they come to few or to many.
        let (warmup, time) = (1000 / n, format!("{} ms", 2000 / n));
        let warm =
            text(&array(n, level), &access, &time).replace("warmup = \"0 s\"", &format!("warmup = \"{warmup} ms\""));
        let s = simulate(&warm, &["flows.io.outstanding=8"]);
        let share = answer(&warm, &["flows.io.outstanding=8"]).flows.last().expect("a flow").share.typical;
        within(0.03, simulated(&s, "io").rate.mean, share);
        simulated(&s, "io").rate.mean / 8.0 / 64e6
    };
    for n in [1, 2, 4, 8] {
        within(0.02, rate(n, "raid0", "100 %"), n as f64);
        within(0.02, rate(n, "raid0", "0 %"), n as f64);
    }
    within(0.02, rate(4, "raid10", "0 %"), 2.0);
    within(0.02, rate(2, "raid1", "0 %"), 1.0);
    // Whole stripes: one disk of five has the parity.
    within(0.02, rate(5, "raid5", "0 %"), 4.0);
}

#[test]
fn small_writes_of_raid_5_cost_four_commands() {
    // At multiples of their size: none lies in two strips.
    let access = "{ size = \"4 KiB\", read = \"0 %\", random = \"100 %\", align = \"4 KiB\" }";
    let text = text(&array(5, "raid5"), access, "20 s");
    let s = simulate(&text, &["flows.io.outstanding=8", "parts.hba.write_policy=write-through"]);
    let n = simulated(&s, "io").operations as f64;
    let commands: f64 = s.links[2..].iter().map(|l| l.slots.payload as f64 / 4096.0).sum();
    within(0.01, commands / n, 4.0);
    // Mirrored pairs: two.
    let mirrored = text.replace("raid5", "raid10").replace("count = 5", "count = 4");
    let s = simulate(&mirrored, &["flows.io.outstanding=8", "parts.hba.write_policy=write-through"]);
    let commands: f64 = s.links[2..].iter().map(|l| l.slots.payload as f64 / 4096.0).sum();
    within(0.01, commands / simulated(&s, "io").operations as f64, 2.0);
}

#[test]
fn small_writes_that_follow_one_another_make_up_strips() {
    let access = "{ size = \"4 KiB\", read = \"0 %\" }";
    let s = simulate(&text(&array(5, "raid5"), access, "100 ms"), &["flows.io.outstanding=8"]);
    // Each strip of 64 KiB is one command, and four of them need one more: nothing is read.
    let commands: u64 = s.links[2..].iter().step_by(2).map(|l| (l.slots.requests) / 68).sum();
    let strips: f64 = s.links[2..].iter().step_by(2).map(|l| l.slots.payload as f64 / 65_536.0).sum();
    assert!(strips > 40.0 && (commands as f64 - strips).abs() < 41.0, "{commands} commands for {strips} strips");
    assert!(s.links[2..].iter().skip(1).step_by(2).all(|l| l.slots.payload == 0));
}

#[test]
fn a_cache_hides_the_disks_while_it_has_room() {
    // 16 MiB: so many of 64 KiB go in at the rate of the host's side, and the disks' rate comes after.
    let access = "{ size = \"4 KiB\", read = \"0 %\", random = \"100 %\" }";
    let s = simulate(&text(&array(5, "raid5"), access, "50 ms"), &[]);
    let f = simulated(&s, "io");
    assert!(f.operations < 4096 && f.operations > 1000, "{}", f.operations);
    // Host 15 us, adapter 5 us, four crossings of the bus: no disk.
    assert!(f.max < 25e-6, "{}", f.max);
    let later = simulate(&text(&array(5, "raid5"), access, "2 s").replace("warmup = \"0 s\"", "warmup = \"1 s\""), &[]);
    let f = simulated(&later, "io");
    assert!(f.latency.mean > 1e-3, "{}", f.latency.mean);
}

/// Two adapters on one card: each its own ports and queues, one slot for both. Behind a slot that carries a third of
/// what their drives could, each has half of it; behind a wide one nothing of each other.
#[test]
fn adapters_of_one_card_share_its_slot() {
    let text = |slot: &str| {
        let mut text = format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.card]\nis = \"host-adapter\"\n[parts.second]\n\
             is = \"host-adapter\"\nfunction_of = \"card\"\n[links.slot]\nbetween = [\"host\", \"card\"]\n\
             pcie = \"{slot}\"\n"
        );
        for (disk, adapter) in [("d", "card"), ("e", "second")] {
            text += &format!(
                "[parts.{disk}]\nis = \"ram-disk\"\n[links.{disk}]\nbetween = [\"{adapter}\", \"{disk}\"]\n\
                 sas = \"12G\"\n[flows.{disk}]\nfrom = \"host\"\nto = \"{disk}\"\ndo = \"io\"\noutstanding = 8\n\
                 access = {{ size = \"64 KiB\", read = \"100 %\" }}\n"
            );
        }
        text + "[run]\nfor = \"20 ms\"\nwarmup = \"5 ms\"\n"
    };
    let rates = |slot: &str| {
        let (s, report) = (simulate(&text(slot), &[]), answer(&text(slot), &[]));
        ["d", "e"].map(|name| {
            let rate = simulated(&s, name).rate.mean;
            let share = report.flows.iter().find(|f| f.name == name).expect("a flow").share.typical;
            within(0.03, rate, share);
            rate
        })
    };
    let wide = rates("gen3 x4");
    let narrow = rates("gen3 x1");
    within(0.01, wide[0], wide[1]);
    within(0.01, narrow[0], narrow[1]);
    // Completions of at most 256 B: 64 to 128 B cost 20 more, the whole lane carries 7.877 Gb/s.
    let both = narrow[0] + narrow[1];
    assert!(both < 7.877e9 * 256.0 / 276.0 && both > 7.877e9 * 64.0 / 90.0, "{both}");
    assert!(wide[0] > 2.0 * narrow[0], "{wide:?} {narrow:?}");
}
