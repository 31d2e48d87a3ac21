//! NVMe: commands worked out by hand, TLP by TLP, to the femtosecond; and what must hold on random drives.

use super::by_hand::{NS, US, moments, read, stored};
use super::laws::laws;
use super::{check, ios, simulate};
use crate::common::choices::{Choices, none_apart, on_random, runner};
use crate::common::grow::nvme::grow;
use crate::common::{by_both, has, plan, planned, run as answer, simulate_by, simulated, within, wrong};
use lanescope::plan::Plan;
use lanescope::protocol::nvme;
use lanescope::result::{Simulation, SlotCounts};
use lanescope::scenario::keys::Level;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A drive at the end of a link of 1 B/ns, all of it without DLLPs and ordered sets; requests of 20 B around payload.
const DRIVE: &str = r#"
[parts.host]
is = "root-complex"
read_latency = "400 ns"
write_latency = "100 ns"
completion_size = "128 B"
[parts.drive]
is = "nvme"
header = "3DW"
command_time = "1 us"
command_latency = "2 us"
page = "16 KiB"
read_time = "25 us"
channel_rate = "200 MB/s"
program_time = "300 us"
stripe_rate = "100 MB/s"
[links.slot]
between = ["host", "drive"]
pcie = "gen1 x4"
mps = "128 B"
delay = "1 ns"
ack_every = "never"
update_fc_every = "never"
skp_interval = "never"
[flows.io]
from = "host"
to = "drive"
do = "io"
submit_time = "5 us"
complete_time = "10 us"
"#;

fn text(access: &str, length: &str, more: &str) -> String {
    format!("{DRIVE}access = {access}\n{more}\n[run]\nfor = \"{length}\"\nwarmup = \"0 s\"\n")
}

/// A TLP of a write whose first bit may leave at `t`: when it has left, and when it is in at the other end.
fn posted(t: u64, payload: u64) -> (u64, u64) {
    let end = t.next_multiple_of(4 * NS) + (20 + payload) * NS;
    (end, end + NS)
}

/// The doorbell is in 25 ns after the worker has issued, at a moment of lane 0; then the command, 64 B in a completion.
fn fetched() -> u64 {
    read(posted(5 * US, 4).1, 64)
}

/// Slots of the two directions of the slot: to the drive, and to the host.
fn slots(s: &Simulation) -> [&SlotCounts; 2] {
    let [down, up] = &s.links[..] else { panic!("one link has two directions") };
    assert_eq!((down.to.as_str(), up.to.as_str()), ("drive", "host"));
    [&down.slots, &up.slots]
}

#[test]
fn the_command_is_fetched_at_5537_ns() {
    // 5 us, the doorbell 24 ns and 1 ns on the way; the request begins on lane 0, 3 ns later, and takes 20 and 1 ns;
    // 400 ns; the completion, 3 ns later, 84 and 1 ns.
    assert_eq!(fetched(), (5_000 + 25 + 3 + 21 + 400 + 3 + 85) * NS);
    assert_eq!(fetched(), 5_537 * NS);
}

#[test]
fn one_read_polled() {
    let s = simulate(&text("{ size = \"4 KiB\" }", "72 us", "completions = \"polling\""), &[]);
    let there = fetched() + 3 * US + 25 * US + 20_480 * NS;
    // 32 TLPs of 148 B, and the entry, 36 B, behind them; each is done 100 ns after it is in.
    let landed = stored(there, 4096);
    let entry = posted(landed - 101 * NS, nvme::COMPLETION).1 + 100 * NS;
    assert_eq!(moments(&s, "io"), [5 * US, fetched(), there, landed, entry, entry + 10 * US]);
    // Two doorbells: for the tail, and for the head. The next I/O is not there yet.
    let [down, up] = slots(&s);
    assert_eq!((down.control, down.requests, down.payload), (84 + 2 * 24, 0, 0), "{down:?}");
    assert_eq!((up.control, up.requests, up.payload, up.framing), (36, 20, 4096, 32 * 20), "{up:?}");
}

#[test]
fn one_read_by_interrupt() {
    let s = simulate(&text("{ size = \"4 KiB\" }", "80 us", "wake_time = \"2 us\""), &[]);
    let there = fetched() + 3 * US + 25 * US + 20_480 * NS;
    let landed = stored(there, 4096);
    let entry = posted(landed - 101 * NS, nvme::COMPLETION).0;
    let told = posted(entry, nvme::INTERRUPT).1 + 100 * NS;
    // A worker that sleeps takes 2 us to wake up.
    assert_eq!(moments(&s, "io"), [5 * US, fetched(), there, landed, told, told + 12 * US]);
    assert_eq!(slots(&s)[1].control, 36 + 24);
}

#[test]
fn one_write_with_a_list() {
    // Three pages: PRP2 points to a list of two entries, 16 B, fetched while the controller deals with the command.
    let s = simulate(&text("{ size = \"12 KiB\", read = \"0 %\" }", "460 us", "completions = \"polling\""), &[]);
    let begins = fetched() + 3 * US;
    let come = read(begins, 12 << 10);
    let programmed = come + 122_880 * NS + 300 * US;
    let entry = stored(programmed, nvme::COMPLETION);
    assert_eq!(moments(&s, "io"), [5 * US, fetched(), begins, come, entry, entry + 10 * US]);
    let [down, up] = slots(&s);
    // Two doorbells, the command, the list. Requests: for both, and 24 of 512 B.
    assert_eq!(down.control, 2 * 24 + 84 + 36, "{down:?}");
    assert_eq!((down.payload, up.requests, up.control), (12 << 10, (2 + 24) * 20, 36), "{up:?}");
    assert_eq!(nvme::prp_lists(12 << 10, 4096), 16);
}

/// A trim moves no data: its range, 16 B, is read like a list; then the controller deallocates.
#[test]
fn one_trim() {
    let access = "{ size = \"64 KiB\", read = \"0 %\", trim = \"100 %\" }";
    let sets = ["parts.drive.trim_time=\"20 us\"", "parts.drive.trim_rate=\"10 GB/s\""];
    let s = simulate(&text(access, "50 us", "completions = \"polling\""), &sets);
    // 1 us for the command, 20 us and 6.5536 us for the trim, 2 us beside others.
    let done = read(fetched(), nvme::RANGE) + 23 * US + 6_553_600 * (NS / 1000);
    let entry = stored(done, nvme::COMPLETION);
    assert_eq!(moments(&s, "io"), [5 * US, fetched(), done, done, entry, entry + 10 * US]);
    let [down, up] = slots(&s);
    // Two doorbells, the command, the range; requests for both, and the entry.
    assert_eq!((down.control, down.payload), (2 * 24 + 84 + 36, 0), "{down:?}");
    assert_eq!((up.requests, up.control, up.payload), (2 * 20, 36, 0), "{up:?}");
    let counts = &ios(&s, "io").seen.counts[0];
    assert_eq!((counts.trims.bytes, counts.writes.bytes, counts.ios()), (64 << 10, 0, 1));
}

/// Trims have no data that a transfer could limit, and take the controller's time in turn: share and simulation agree.
#[test]
fn trims_take_the_controllers_time() {
    let sets =
        ["parts.drive.trim_time=\"20 us\"", "parts.drive.trim_rate=\"100 GB/s\"", "flows.io.submit_time=\"1 us\""];
    for depth in [1, 4, 32] {
        let access = "{ size = \"1 MiB\", read = \"0 %\", trim = \"100 %\", random = \"100 %\" }";
        let text = text(access, "100 ms", &format!("outstanding = {depth}"));
        let (s, e) = (simulate(&text, &sets), answer(&text, &sets));
        let flow = &e.flows[0];
        within(0.01, simulated(&s, "io").rate.mean, flow.share.typical);
        assert!(flow.bound.typical >= flow.share.typical * (1.0 - 1e-9));
        if depth == 32 {
            assert_eq!(flow.bound_by.resource, "controller");
            within(1e-6, flow.share.typical / 8.0 / f64::from(1 << 20), 1.0 / (21e-6 + f64::from(1 << 20) / 100e9));
        }
    }
}

/// What a trim makes wait are commands behind it at the controller: mixed with reads they are slower.
#[test]
fn trims_hold_up_reads() {
    let p99 = |trim: &str| {
        let access = format!("{{ size = \"4 KiB\", read = \"90 %\", trim = \"{trim}\", random = \"100 %\" }}");
        let more = "outstanding = 4";
        let sets = ["parts.drive.trim_time=\"500 us\"", "parts.drive.write_cache=true", "parts.drive.buffer=\"1 GiB\""];
        simulated(&simulate(&text(&access, "20 ms", more), &sets), "io").p99
    };
    assert!(p99("100 %") > p99("0 %") + 400e-6, "{} {}", p99("100 %"), p99("0 %"));
}

#[test]
fn trims_go_where_a_drive_models_them() {
    let trims = "{ size = \"4 KiB\", read = \"0 %\", trim = \"100 %\" }";
    let text = text(trims, "1 ms", "");
    has(&wrong(&text, &[]), &["drive takes no trims", "set parts.drive.trim_time"]);
    let set = "parts.drive.trim_time=\"20 us\"";
    let says = |sets: &[&str], parts: &[&str]| has(&wrong(&text, &[&[set], sets].concat()), parts);
    says(&["flows.io.access={ size = \"4 KiB\", trim = \"50 %\" }"], &["trim of I/Os that all read", "read = \"0 %\""]);
    says(
        &["flows.io.access={ size = \"4 KiB\", read = \"0 %\", trim = \"50 %\", reply = \"1 KiB\" }"],
        &["trim of I/Os with a reply"],
    );
    says(&["flows.io.access={ size = \"4 KiB\", read = \"0 %\", trim = \"half\" }"], &["trim is a percentage"]);
    let array = "[parts.a]\nis = \"array\"\nlevel = \"raid0\"\ndisks = [\"drive\"]\n";
    let text = format!("{array}{}", text.replace("to = \"drive\"", "to = \"a\""));
    has(&wrong(&text, &[set]), &["trims of a, which is not a drive", "name the drives"]);
}

/// An I/O of three commands has three of everything, and is done with the last of them.
#[test]
fn what_is_larger_than_a_transfer_is_split() {
    let access = "{ size = \"12 KiB\", align = \"16 KiB\" }";
    let sets = ["parts.drive.max_transfer=\"4 KiB\"", "parts.drive.channels=1", "parts.drive.dies=1"];
    let s = simulate(&text(access, "122 us", "completions = \"polling\""), &sets);
    assert_eq!(simulated(&s, "io").operations, 1);
    let c = slots(&s)[1];
    assert_eq!((c.control, c.payload), (3 * 36, 12 << 10));
    // One after the other on the one die and the one channel.
    let last = fetched() + 3 * US + 3 * 25 * US;
    assert!(moments(&s, "io")[3] > last + 20 * US, "{:?}", moments(&s, "io"));
}

/// Eight I/Os that are done together: interrupts for four entries each, none for a rest that has time.
#[test]
fn interrupts_are_coalesced() {
    let (access, more) = ("{ size = \"512 B\", random = \"100 %\" }", "outstanding = 8\nrate = 8");
    let sets = ["parts.drive.coalesced=4", "parts.drive.coalesce_time=\"1 ms\"", "flows.io.submit_time=\"0 us\""];
    let s = simulate(&text(access, "900 us", more), &sets);
    assert_eq!(slots(&s)[1].control % 36, 0, "of one entry none: {:?}", slots(&s)[1]);
    let more = "outstanding = 8";
    let s = simulate(&text(access, "85 us", more), &sets);
    let c = slots(&s)[1];
    // All entries before any interrupt's I/O is completed: eight entries, two interrupts.
    assert_eq!(c.control, 8 * 36 + 2 * 24, "{c:?}");
}

/// A queue of so many entries holds one command less, whatever is outstanding.
#[test]
fn a_queue_holds_one_command_less_than_its_entries() {
    let access = "{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }";
    let sets = ["flows.io.submit_time=\"1 us\"", "flows.io.complete_time=\"1 us\""];
    let at = |more: &str, entries: &str| {
        let sets = [&sets[..], &[entries]].concat();
        let text = text(access, "40 ms", more);
        (simulated(&simulate(&text, &sets), "io").rate.mean, answer(&text, &sets))
    };
    let (two, estimated) = at("outstanding = 64", "parts.drive.queue_entries=3");
    let (alike, _) = at("outstanding = 2", "parts.drive.queue_entries=1024");
    // But that the worker has the next one at hand.
    assert!(two > 0.98 * alike && two < 1.12 * alike, "{two} and {alike}");
    let flow = &estimated.flows[0];
    assert_eq!(flow.bound_by.resource, "entries of queue pair 0");
    within(0.05, flow.share.typical, two);
}

/// What a queue pair, and what a controller, deals with one after the other caps the I/Os.
#[test]
fn queue_pairs_and_controllers_are_caps() {
    let access = "{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }";
    let sets = [
        "flows.io.submit_time=\"100 ns\"",
        "flows.io.complete_time=\"100 ns\"",
        "links.slot.pcie=\"gen4 x4\"",
        "parts.drive.dies=64",
        "parts.drive.queue_time=\"4 us\"",
    ];
    for (pairs, rate, binds) in [(1, 250_000.0, "queue pair 0"), (8, 1_000_000.0, "controller")] {
        let more = format!("outstanding = 256\nqueue_pairs = {pairs}");
        let sets = [&sets[..], &["parts.drive.channels=32", "parts.drive.channel_rate=\"2 GB/s\""]].concat();
        let text = text(access, "10 ms", &more);
        let s = simulate(&text, &sets);
        within(0.02, simulated(&s, "io").rate.mean / 8.0 / 4096.0, rate);
        let e = answer(&text, &sets);
        within(1e-6, e.flows[0].share.typical / 8.0 / 4096.0, rate);
        assert_eq!(e.flows[0].bound_by.resource, binds);
    }
}

/// Little's law on a closed load is exact: what is outstanding is in flight at every moment.
#[test]
fn littles_law_is_exact() {
    for depth in [1, 7, 128] {
        let more = format!("outstanding = {depth}\nhost_software = \"io_uring\"");
        let text = text("{ size = \"4 KiB\", random = \"100 %\" }", "20 ms", &more);
        let s = simulate(&text, &["flows.io.workers=3"]);
        within(1e-12, simulated(&s, "io").in_flight, 3.0 * f64::from(depth));
    }
}

/// What crosses the links of drives is the data of their I/Os, and for each command what belongs to it: both methods
/// count it alike.
fn ledger(plan: &Plan, s: &Simulation) {
    let storage = &plan.storage;
    let moved: f64 = s.flows.iter().filter(|f| f.ios.is_some()).flat_map(|f| &f.each).sum::<f64>() * s.window / 8.0;
    let mut wired = 0.0;
    for drive in &storage.targets {
        let links = s.links.iter().filter(|l| l.from == drive.name || l.to == drive.name);
        wired += links.map(|l| l.slots.payload as f64).sum::<f64>();
    }
    let largest = |f: &lanescope::plan::storage::IoFlow| {
        let most = f.lines.iter().map(|l| l.size.0.max(l.reply.0)).max().unwrap_or(0);
        f64::from(f.outstanding.typical.get()) * most as f64
    };
    let slack: f64 = storage.flows.iter().map(largest).sum();
    // Of mirrors and parities more crosses the links.
    let more = storage.arrays.iter().any(|a| a.keys.level.typical != Level::Raid0);
    // Nothing crosses them of what is deallocated.
    let counts = s.flows.iter().filter_map(|f| f.ios.as_ref()).flat_map(|i| &i.seen.counts);
    let trimmed: f64 = counts.map(|c| c.trims.bytes as f64).sum();
    let moved = if trimmed > 0.0 { (moved - trimmed - slack).max(0.0) } else { moved };
    let slack = if trimmed > 0.0 { 2.0 * slack } else { slack };
    let most = if more { f64::INFINITY } else { moved + slack + 1.0 };
    assert!(moved <= wired * (1.0 + 1e-9) && wired <= most, "{wired} B on the wires, {moved} B moved");
}

#[test]
fn the_laws_hold_on_random_nvme() {
    on_random(60..160, grow, |plan, d| {
        let (s, held) = laws(plan, d);
        ledger(plan, &s);
        (s, held)
    });
}

/// What a user can ask too much of a drive.
#[test]
fn what_goes_wrong_on_purpose() {
    let text = text("{ size = \"4 KiB\", random = \"100 %\" }", "1 ms", "");
    let says = |sets: &[&str], parts: &[&str]| has(&wrong(&text, sets), parts);
    says(&["flows.io.outstanding=0"], &["0 would never move anything", "at least 1"]);
    says(&["parts.drive.queue_entries=1"], &["a queue of 1 entries", "one of them stays free"]);
    says(&["parts.drive.queue_entries=70000"], &["2 to 65536"]);
    says(&["parts.drive.queue_pairs=100000"], &["100000 queue pairs", "16 bits"]);
    says(&["parts.drive.memory_page=\"5 KiB\""], &["memory pages of 5 KiB", "power of two"]);
    says(&["parts.drive.max_transfer=\"1 KiB\""], &["transfers of 1 KiB", "MDTS"]);
    says(&["parts.drive.planes=65"], &["65 planes", "at most 64"]);
    says(&["parts.drive.write_amplification=0.5"], &["0.5 is not a valid write amplification", "from 1"]);
    // A namespace that is smaller than the job.
    says(&["flows.io.file=\"4 TB\""], &["on drive, which holds 186.3 GiB", "a file of"]);
    says(&["flows.io.host_software=\"libaoi\""], &["\"libaoi\" is none of", "did you mean \"libaio\"?"]);
    says(&["links.slot.pcie=\"gen9 x4\""], &["gen9"]);
    let beside = "[parts.hba]\nis = \"host-adapter\"\n[links.slot2]\nbetween = [\"host\", \"hba\"]\n\
        pcie = \"gen1 x4\"\n\
        [links.sas]\nbetween = [\"hba\", \"drive\"]\nsas = \"12G\"\n";
    has(&wrong(&format!("{beside}{text}"), &[]), &["drive is an NVMe drive", "a PCIe link"]);
    // What works all the same is warned of.
    let warned = |sets: &[&str], part: &str| {
        let (planned, d) = plan(&text, sets);
        assert!(planned.is_some() && d.to_string().contains(part), "{d}");
    };
    warned(&["parts.drive.queue_pairs=2", "flows.io.queue_pairs=8"], "8 queue pairs at drive, which has 2");
    let split = answer(&text, &["flows.io.access={ size = \"1 MiB\" }"]);
    assert!(
        split.notes.iter().any(|n| n.mechanism == "split" && n.text.contains("8 commands each")),
        "{:?}",
        split.notes
    );
}

/// Writes that come faster than a buffer drains go at the pace of the programs, whatever the cache.
#[test]
fn a_buffer_that_never_drains_binds() {
    let access = "{ size = \"16 KiB\", read = \"0 %\", random = \"100 %\", align = \"16 KiB\" }";
    let sets = [
        "links.slot.pcie=\"gen4 x4\"",
        "parts.drive.write_cache=true",
        "parts.drive.buffer=\"1 MiB\"",
        "parts.drive.stripes=2",
        "parts.drive.stripe_pages=4",
        "flows.io.submit_time=\"1 us\"",
        "flows.io.complete_time=\"1 us\"",
    ];
    for (amplification, reads) in [(1, 0.0), (3, 1.0)] {
        let text = text(access, "400 ms", "outstanding = 64").replace("warmup = \"0 s\"", "warmup = \"50 ms\"");
        let amplified = format!("parts.drive.write_amplification={amplification}");
        let sets = [&sets[..], &[amplified.as_str()]].concat();
        let s = simulate(&text, &sets);
        // Four pages in 300 us and 655 us of intake, in either stripe; what is moved again comes without intake.
        let each = 4.0 * 16_384.0 / 100e6 + 300e-6 * f64::from(amplification);
        let least = 2.0 * 4.0 * 16_384.0 * 8.0 / (each + reads * 2.0 * 200e-6);
        let most = 2.0 * 4.0 * 16_384.0 * 8.0 / each;
        let rate = simulated(&s, "io").rate.mean;
        assert!(rate > 0.97 * least && rate < 1.03 * most, "{least} {rate} {most}");
        let e = answer(&text, &sets);
        assert_eq!(e.flows[0].bound_by.resource, "stripes", "{:?}", e.flows[0].bound_by);
        within(0.05, rate, e.flows[0].share.typical);
    }
}

/// A buffer that takes in writes says nothing to reads.
#[test]
fn a_write_buffer_is_left_out_of_writes_alone() {
    let left_out = |read: &str| {
        let access = format!("{{ size = \"4 KiB\", read = \"{read} %\", random = \"100 %\" }}");
        let report = answer(&text(&access, "1 ms", "outstanding = 4"), &["parts.drive.buffer=\"1 MiB\""]);
        report.not_modelled.iter().any(|n| n.key == "parts.drive.buffer")
    };
    assert_eq!([100, 99, 0].map(|read| left_out(&read.to_string())), [false, true, true]);
}

/// A flow of TLPs from a drive knows nothing of its inside, and the report says so; I/Os do.
#[test]
fn tlps_of_a_drive_are_without_its_flash() {
    let text = "[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\nrate = \"1 GB/s\"\n[links.s]\n\
        between = [\"host\", \"d\"]\npcie = \"gen4 x4\"\n";
    let told = |flow: &str| {
        let report = answer(&format!("{text}{flow}"), &[]);
        report.notes.iter().any(|n| n.mechanism == "flash" && n.element == "flows.f")
    };
    assert!(told("[flows.f]\nfrom = \"d\"\nto = \"host.memory\"\ndo = \"read\"\nsize = \"4 KiB\"\n"));
    assert!(!told("[flows.f]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\naccess = { size = \"4 KiB\" }\n"));
}

/// Where a run is shorter than one I/O takes none overtakes another.
#[test]
fn a_run_that_is_too_short_starves_nobody() {
    let text = "[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\nrate = \"6 GB/s\"\n[links.s]\n\
        between = [\"host\", \"d\"]\npcie = \"gen4 x4\"\n[flows.f]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\n\
        outstanding = 256\naccess = { size = \"1 MiB\" }\n[run]\nfor = \"4 ms\"\nwarmup = \"2 ms\"\n";
    let (report, s) = by_both(text);
    let report = report.with(s);
    let flow = &report.simulation.as_ref().expect("a simulation").flows[0];
    assert!(flow.operations > 0, "some are done");
    assert!(report.notes.iter().all(|n| n.mechanism != "starvation"), "{:?}", report.notes);
}

/// The estimate says what its reads do not wait for.
#[test]
fn reads_behind_programs_are_told() {
    let mixed = text("{ size = \"4 KiB\", read = \"70 %\", random = \"100 %\" }", "1 ms", "outstanding = 4");
    let told = |text: &str, sets: &[&str]| {
        let notes = answer(text, sets).notes;
        notes.into_iter().find(|n| n.mechanism == "reads-behind-programs").map(|n| n.text)
    };
    assert_eq!(told(&mixed, &[]), None);
    let held = told(&mixed, &["parts.drive.die_programs=true"]).expect("a note");
    assert!(held.contains("up to 300 us (program_time)"), "{held}");
    let suspended = told(&mixed, &["parts.drive.die_programs=true", "parts.drive.suspend_time=\"20 us\""]);
    assert!(suspended.is_some_and(|t| t.contains("up to 20 us (suspend_time)")));
    let reads = text("{ size = \"4 KiB\", random = \"100 %\" }", "1 ms", "outstanding = 4");
    assert_eq!(told(&reads, &["parts.drive.die_programs=true"]), None);
}

/// Reads are late where dies program, and less so where programs are suspended for them.
#[test]
fn programs_make_tails_and_suspending_them_shortens_those() {
    let read = "{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }";
    let write = "\n[flows.write]\nfrom = \"host\"\nto = \"drive\"\ndo = \"io\"\noutstanding = 1\nrate = 2000\n\
        access = { size = \"16 KiB\", read = \"0 %\", random = \"100 %\", align = \"16 KiB\" }";
    let text = text(read, "200 ms", &format!("outstanding = 2{write}"));
    let p99 = |sets: &[&str]| {
        let s = simulate(&text, &[sets, &["parts.drive.stripe_pages=1", "parts.drive.program_time=\"1 ms\""]].concat());
        simulated(&s, "io").p99
    };
    let (free, held) = (p99(&[]), p99(&["parts.drive.die_programs=true"]));
    let suspended = p99(&["parts.drive.die_programs=true", "parts.drive.suspend_time=\"20 us\""]);
    assert!(free < 200e-6 && held > 500e-6 && suspended < 0.5 * held, "{free} {suspended} {held}");
    assert!(suspended > free, "{free} {suspended}");
}

/// Reads beside writes at a rate: what the estimate adds for programs that hold their dies is what they wait in a run,
/// on random drives and loads.
#[test]
fn the_share_of_reads_behind_programs_is_near_a_run() {
    let mut runner = runner(Config { max_shrink_iters: 50, ..Config::default() });
    let all: RefCell<Vec<(f64, f64)>> = RefCell::default();
    let result = runner.run(&vec(any::<u8>(), 40..60), |bytes| {
        let mut c = Choices(bytes.iter());
        let (channels, dies) = ([1, 2, 4, 8][c.below(4)], 1 + c.below(8));
        let (stripes, pages) = (1 + c.below(8), 1 + c.below(4));
        let program = 100 + c.about(1, 2000);
        // So many programs that dies are busy for a tenth to a half of the time.
        let all_dies = (channels * dies) as f64;
        let busy = (stripes as f64 * (pages as f64).min(all_dies) / all_dies).min(1.0);
        let part = [0.1, 0.2, 0.3, 0.5][c.below(4)];
        let time = program as f64 * 1e-6 + 163.84e-6;
        let each = (part / busy).min(0.8) / time;
        let rate = (each * stripes as f64).max(1.0) as u64;
        let suspend = c.maybe(|c| format!("parts.drive.suspend_time={} us", 5 + c.below(60)));
        let depth = [1, 2, 4, 8, 16][c.below(5)];
        let write = format!(
            "\n[flows.write]\nfrom = \"host\"\nto = \"drive\"\ndo = \"io\"\noutstanding = 64\nrate = {rate}\n\
             arrivals = \"poisson\"\nsubmit_time = \"1 us\"\ncomplete_time = \"1 us\"\n\
             access = {{ size = \"16 KiB\", read = \"0 %\", random = \"100 %\", align = \"16 KiB\" }}"
        );
        let read = "{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }";
        let text = text(read, "2 s", &format!("outstanding = {depth}{write}"))
            .replace("warmup = \"0 s\"", "warmup = \"50 ms\"");
        let mut sets = vec![
            "links.slot.pcie=gen4 x4".to_owned(),
            "parts.drive.die_programs=true".into(),
            format!("parts.drive.channels={channels}"),
            format!("parts.drive.dies={dies}"),
            format!("parts.drive.stripes={stripes}"),
            format!("parts.drive.stripe_pages={pages}"),
            format!("parts.drive.program_time={program} us"),
            "parts.drive.write_cache=true".into(),
            "run.max_packets=600000".into(),
        ];
        sets.extend((!suspend.is_empty()).then_some(suspend));
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let e = answer(&text, &sets);
        let free = answer(&text, &[&sets[..], &["parts.drive.die_programs=false"]].concat());
        let s = simulate(&text, &sets);
        let ran = simulated(&s, "io").rate.mean;
        let [share, without] =
            [&e, &free].map(|e| e.flows.iter().find(|f| f.name == "io").expect("a flow").share.typical);
        println!(
            "{channels}x{dies} dies, {stripes} stripes of {pages}, {program} us, {rate}/s, depth {depth}, {:?}: {:.3} \
             (without {:.3})",
            sets.last(),
            share / ran,
            without / ran
        );
        all.borrow_mut().push((share / ran, without / ran));
        Ok(())
    });
    if let Err(e) = result {
        panic!("{e}");
    }
    let all = all.into_inner();
    let mean =
        |of: &dyn Fn(&(f64, f64)) -> f64| all.iter().map(|r| (of(r) - 1.0).abs()).sum::<f64>() / all.len() as f64;
    let (share, without) = (mean(&|r| r.0), mean(&|r| r.1));
    println!("{} drives: {share:.3} off in the mean, {without:.3} without programs", all.len());
    // Of 40 drives 0.12, where it was 1.17. What is far off are those whose stripes wait for one another's dies.
    assert!(share < 0.25 * without, "{share} and {without}: {all:?}");
}

/// One worker alone at a drive gets its share, at any depth.
#[test]
fn a_worker_gets_its_share() {
    let drive = [
        "parts.drive.channels=8",
        "parts.drive.dies=8",
        "parts.drive.channel_rate=\"800 MB/s\"",
        "links.slot.pcie=\"gen4 x4\"",
        "flows.io.submit_time=\"700 ns\"",
        "flows.io.complete_time=\"500 ns\"",
    ];
    for (access, slack) in [
        ("{ size = \"4 KiB\", random = \"100 %\", align = \"4 KiB\" }", 0.03),
        ("{ size = \"16 KiB\", random = \"100 %\", align = \"16 KiB\" }", 0.05),
    ] {
        for depth in [1, 4, 16, 64, 256] {
            let text = text(access, "20 ms", &format!("outstanding = {depth}"));
            let plan = planned(&text, &drive);
            let s = simulate_by(&plan, 1, u64::MAX);
            check(&plan, &s, &[]);
            let share = answer(&text, &drive).flows[0].share.typical;
            within(slack, simulated(&s, "io").rate.mean, share);
            assert!(ios(&s, "io").per_second > 0.0);
        }
    }
}

/// Whether as many I/Os one after the other are cut by pages as those of a long run are, to half a per cent of a size.
fn evenly(size: u64, page: u64, ios: u64) -> bool {
    let first = |n: u64| size.min(page - n * size % page) as f64;
    let mean = |ios: u64| (0..ios).map(first).sum::<f64>() / ios as f64;
    (mean(ios) - mean(page)).abs() <= 0.005 * size as f64
}

/// One I/O at a drive with a `rate` of its own: what it is read or written through in pages and pieces, behind the
/// channels and before the buffer. Nothing queues, so the unloaded time is that of a run, or a note names the DLLPs and
/// ordered sets that make the difference; and nothing is sooner than the bound says.
#[test]
fn a_lone_io_passes_the_drives_own_rate() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, noted, wrong) = (Cell::new(0.0_f64), Cell::new(0), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 40..80), |bytes| {
        let mut c = Choices(bytes.iter());
        let (nvme, read) = (c.below(3) > 0, c.below(2) == 0);
        let size = [512, 4096, 16_384, 65_536, 131_072, c.about(512, 200_000)][c.below(if nvme { 6 } else { 5 })];
        // Of several pages one may wait at a die or channel for another, and those behind it for their turn on the
        // link, of which the time of one by itself knows nothing: few pages, many channels.
        let page = (4096 << c.below(5)).max(if read { (size / 2).next_power_of_two() } else { 0 });
        let speed = c.of(&["gen1 x1", "gen2 x4", "gen3 x4", "gen4 x4"]);
        let rate = c.about(10, 4000);
        // The mean that is estimated is over all places where an I/O may begin in a page: one after the other they
        // come by all of those only after many, where the rest of a size is next to none.
        let counted = (90_000 * rate / (2 * page.max(size))).clamp(1, 10_000);
        let size = if evenly(size, page, counted) { size } else { page + page * 382 / 1000 };
        let mut text = "[parts.host]\nis = \"root-complex\"\n".to_owned();
        text += match nvme {
            true => "[parts.d]\nis = \"nvme\"\nmax_transfer = \"1 MiB\"\nport_buffer = \"1 MiB\"\n",
            false => "[parts.hba]\nis = \"host-adapter\"\n[parts.d]\nis = \"ssd\"\n",
        };
        text += &format!("rate = \"{rate} MB/s\"\npage = \"{page} B\"\ncommand_time = \"1 us\"\n");
        text += "channels = 256\ndies = 1\nstripes = 64\nbuffer = \"64 MiB\"\n";
        let cache = c.below(2) == 0;
        if size <= page && read {
            text += &format!("read_time = \"{} ns\"\n", c.about(1, 100_000));
            text += &format!("channel_rate = \"{} MB/s\"\n", c.about(10, 2000));
        } else {
            text += "read_time = \"1 ns\"\nchannel_rate = \"1000 GB/s\"\n";
        }
        if cache || size > 64 * page {
            text += &format!("write_cache = {cache}\nprogram_time = \"1 ns\"\nstripe_rate = \"1000 GB/s\"\n");
        } else {
            text += &format!("program_time = \"{} ns\"\nstripe_rate = \"1000 GB/s\"\n", c.about(1, 2_000_000));
        }
        text += &match nvme {
            true => format!("[links.slot]\nbetween = [\"host\", \"d\"]\npcie = \"{speed}\"\n"),
            false => format!(
                "[links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"{speed}\"\n[links.wire]\n\
                 between = [\"hba\", \"d\"]\nsas = \"{}\"\n",
                c.of(&["3G", "6G", "12G"])
            ),
        };
        text += &format!(
            "[flows.f]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\noutstanding = 1\n\
             access = {{ size = \"{size} B\", read = \"{} %\" }}\nsubmit_time = \"1 us\"\ncomplete_time = \"1 us\"\n\
             [run]\nfor = \"100 ms\"\nwarmup = \"10 ms\"\n",
            if read { 100 } else { 0 },
        );
        let (plan, d) = plan(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
        let s = simulate_by(&plan, 1, u64::MAX);
        let report = lanescope::estimate::estimate(&plan, &d);
        let (flow, ran) = (&report.flows[0], &s.flows[0]);
        let off = ran.latency.mean / flow.latency.typical - 1.0;
        worst.set(worst.get().max(off.abs()));
        // One after the other, n of them end in a window of at least n - 1 and less than n + 1 times the time of one.
        let n = ran.operations as f64;
        let (edge, over) = (1.0 / (n + 1.0), 1.0 / (n - 1.0).max(0.0));
        let above = ran.rate.mean / flow.bound.typical - 1.0;
        let noise: f64 = (s.links.iter())
            .map(|l| (l.slots.acks + l.slots.update_fc + l.slots.ordered_sets) as f64 / l.slots.total() as f64)
            .sum();
        let said = || {
            let notes = report.clone().with(s.clone()).notes;
            notes.iter().any(|n| n.element == "flows.f" && n.mechanism == "dllps")
        };
        let far = off.abs() > 0.02;
        noted.set(noted.get() + u32::from(far));
        // A note is about rates, of which the window may cut off one I/O.
        let known = || off > 0.0 && off / (1.0 + off) <= noise && (off <= 0.02 + edge || said());
        if (far && !known()) || above > over + 1e-9 {
            let (estimated, simulated) = (flow.latency.typical, ran.latency.mean);
            wrong.borrow_mut().push(format!(
                "{estimated} and {simulated}: {off} with {noise} of DLLPs, {above} above its bound\n{text}"
            ));
        }
        Ok(())
    });
    println!("at most {:.4} apart, {} with a note", worst.get(), noted.get());
    none_apart(result, &wrong.into_inner());
}
