//! I/Os worked out by hand, every stage, to the femtosecond.

use super::{HOST, IO, RAM, fs, ios, simulate};
use crate::common::simulated;

pub(super) const NS: u64 = 1_000_000;
pub(super) const US: u64 = 1000 * NS;

/// A TLP begins on lane 0: on x4 of Gen1 each 4 ns.
fn lane_0(t: u64) -> u64 {
    t.next_multiple_of(4 * NS)
}

/// DMA that writes host memory: TLPs of 128 B with 20 B around them, 1 ns of wire, 100 ns of the host.
pub(super) fn stored(t: u64, bytes: u64) -> u64 {
    lane_0(t) + (bytes + 20 * bytes.div_ceil(128)) * NS + NS + 100 * NS
}

/// DMA that reads host memory: requests of 20 B for 512 B each, one behind the other; the first is answered after 400
/// ns, and completions of 128 B with 20 B around them follow one another.
pub(super) fn read(t: u64, bytes: u64) -> u64 {
    let first = lane_0(t) + (20 + 1 + 400) * NS;
    lane_0(first) + (bytes + 20 * bytes.div_ceil(128)) * NS + NS
}

/// Slots of 4GFC: 425 MB/s, so 17 take 40 ns.
fn slot(t: u64) -> u64 {
    (t as u128 * 17).div_ceil(40 * NS as u128) as u64
}

/// From when so many slots of 4GFC have gone.
fn time(n: u64) -> u64 {
    (n as u128 * 40 * NS as u128).div_ceil(17) as u64
}

/// When a frame that is ready at `t` is in whole, 5 m away; and the slot behind it.
fn frame(t: u64, bytes: u64) -> (u64, u64) {
    let end = slot(t) + bytes;
    (time(end) + 25 * NS, end)
}

/// Submit, fetch of the command (64 B in one completion of 84 B), the adapter's processor.
pub(super) const PROCESSED: u64 = 5 * US + (20 + 1 + 400 + 3 + 84 + 1) * NS + 5 * US;

fn text(access: &str) -> String {
    format!("{HOST}{RAM}{IO}access = {{ {access} }}\n[run]\nfor = \"50 us\"\nwarmup = \"0 s\"\n")
}

/// The stages of the one I/O that was done, as moments.
pub(super) fn moments(s: &lanescope::result::Simulation, name: &str) -> Vec<u64> {
    assert_eq!(simulated(s, name).operations, 1);
    let mut at = 0.0;
    let all: Vec<u64> = ios(s, name)
        .stages
        .iter()
        .map(|t| {
            at += t;
            fs(at)
        })
        .collect();
    assert_eq!(all[5], fs(simulated(s, name).latency.mean), "the stages add up");
    all
}

#[test]
fn the_command_is_processed_at_10_509_ns() {
    assert_eq!(read(5 * US, 64) + 5 * US, PROCESSED);
    assert_eq!(PROCESSED, 10_509 * NS);
}

#[test]
fn one_read_of_a_ram_disk() {
    let s = simulate(&text("size = \"2 KiB\", read = \"100 %\""), &[]);
    // FCP_CMND: 36 B around 32 B. 20 us in the target. FCP_DATA: 36 B around 2048 B; FCP_RSP behind it comes in while
    // the data go to memory.
    let (command, _) = frame(PROCESSED, 68);
    let (data, end) = frame(command + 20 * US, 2084);
    assert!(time(end + 24 + 60) + 25 * NS < stored(data, 2048));
    let landed = stored(data, 2048);
    let status = stored(landed, 64);
    let by_hand = [5 * US, PROCESSED, data, landed, status, status + 10 * US];
    assert_eq!(moments(&s, "io"), by_hand);
    // 10.509 + 0.19 + 20 + 4.93 (2084 B and 25 ns) + 2.47 (16 TLPs) + 0.19 + 10 us.
    assert_eq!(by_hand[5] / US, 48);
}

#[test]
fn one_write_of_a_ram_disk() {
    let s = simulate(&text("size = \"2 KiB\", read = \"0 %\""), &[]);
    let (command, _) = frame(PROCESSED, 68);
    // FCP_XFER_RDY: 36 B around 12 B.
    let (ready, _) = frame(command + 20 * US, 48);
    // From memory, and out as a frame.
    let fetched = read(ready, 2048);
    let (data, _) = frame(fetched, 2084);
    // FCP_RSP, 36 B around 24 B; the R_RDY for the data rides behind it.
    let (answered, _) = frame(data, 60);
    let status = stored(answered, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, ready, data, status, status + 10 * US]);
}

#[test]
fn the_slots_of_one_read_and_one_write() {
    for (access, there, back) in [
        // FCP_CMND there; R_RDY for it, FCP_DATA, FCP_RSP back, and R_RDY for each of these two.
        ("read = \"100 %\"", [68, 0, 8], [60, 2048, 4]),
        ("read = \"0 %\"", [68, 2048, 8], [60 + 48, 0, 8]),
    ] {
        // The next I/O is not on the wire yet.
        let s = simulate(&text(&format!("size = \"2 KiB\", {access}")), &[]);
        for (link, [requests, payload, control]) in s.links[2..].iter().zip([there, back]) {
            let c = &link.slots;
            assert_eq!((c.requests, c.payload, c.control), (requests, payload, control), "{access} to {}", link.to);
            assert_eq!(c.framing, if payload > 0 { 36 } else { 0 });
            assert_eq!(c.total(), slot(50 * US));
        }
    }
}

const DISKS: &str = r#"
[parts.disk]
is = "disk"
count = 3
rpm = 10000
command_time = "100 us"
[links.bus]
between = ["hba", "disk.*"]
scsi = "ultra2"
"#;

/// Bus free, arbitration and selection on Ultra2.
const CONNECT: u64 = (4800 + 1580) * NS;
/// The connection of a command: IDENTIFY with a tag, ten bytes, DISCONNECT.
const COMMAND: u64 = CONNECT + (1000 + 2400 + 1000) * NS;
/// 4 KiB at 72 MB/s.
const MEDIA: u64 = (4096 * 1_000_000_000u64).div_ceil(72);

#[test]
fn one_read_of_a_disk_on_a_scsi_bus() {
    let text =
        format!("{HOST}{DISKS}{IO}access = {{ size = \"4 KiB\" }}\n[run]\nfor = \"6200 us\"\nwarmup = \"0 s\"\n");
    let s = simulate(&text, &["flows.io.to=disk.0"]);
    // The heads stand there; the disk has come round after 6 ms.
    const { assert!(PROCESSED + COMMAND + 100 * US < 6000 * US) };
    let ready = 6000 * US + MEDIA;
    // Reselection: IDENTIFY and tag, 4 KiB at 80 MB/s, status, COMMAND COMPLETE.
    let data = ready + CONNECT + (1000 + 400 + 51_200 + 600 + 600) * NS;
    let landed = stored(data, 4096);
    let status = stored(landed, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, data, landed, status, status + 10 * US]);
}

fn array(level: &str) -> String {
    format!(
        "{HOST}{DISKS}{IO}access = {{ size = \"8 KiB\", read = \"0 %\" }}\n[parts.lun]\nis = \"array\"\nlevel = \
            \"{level}\"\ndisks = [\"disk.*\"]\nstrip = \"4 KiB\"\n[run]\nfor = \"40 us\"\nwarmup = \"0 s\"\n"
    )
}

#[test]
fn one_full_stripe_of_raid_5() {
    let to = ["flows.io.to=lun", "parts.hba.cache=1 MiB"];
    let s = simulate(&array("raid5"), &to);
    // Written back: done when it is in the cache, which takes no time itself.
    let cached = read(PROCESSED, 8192);
    let status = stored(cached, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, cached, cached, status, status + 10 * US]);
    // Written through: two strips and the parity, on three disks; nothing is read.
    let s = simulate(&array("raid5"), &[to[0], to[1], "parts.hba.write_policy=write-through", "run.for=6080 us"]);
    // Commands follow one another on the bus. Spindles do not turn in step: the first disk stands at no angle at the
    // beginning, so it comes round last, when the others are done.
    let (commands, turn) = (cached + 3 * COMMAND, 6000 * US + MEDIA);
    assert!(commands + 100 * US + 3 * 100 * US < turn);
    // IDENTIFY with a tag, status, COMMAND COMPLETE.
    let done = turn + CONNECT + (1000 + 600 + 600) * NS;
    let status = stored(done, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, cached, cached, status, status + 10 * US]);
    let bus = &s.links[2].slots;
    assert_eq!((bus.payload, bus.data_tlps, bus.tlps), (3 * 4096, 3, 9));
}

#[test]
fn half_a_stripe_of_raid_5_reads_what_was_there() {
    let sets = [
        "flows.io.to=lun",
        "parts.hba.cache=1 MiB",
        "parts.hba.write_policy=write-through",
        "flows.io.access={ size = \"4 KiB\", read = \"0 %\" }",
        // Each step ends with the first disk, which comes round last; the next write's reads come after it.
        "run.for=13 ms",
    ];
    let s = simulate(&array("raid5"), &sets);
    assert_eq!(simulated(&s, "io").operations, 1);
    // Old data and old parity, then new data and new parity.
    let bus = &s.links[2].slots;
    assert_eq!((bus.payload, bus.data_tlps), (4 * 4096, 4));
}
