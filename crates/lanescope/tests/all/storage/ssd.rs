//! Solid-state drives and SAS: I/Os worked out by hand, to the femtosecond, and rates in closed form.

use super::by_hand::{NS, PROCESSED, US, moments, read, stored};
use super::{HOST, ios, simulate};
use crate::common::choices::{Choices, runner};
use crate::common::{plan, run as answer, simulate_by, simulated, within};
use lanescope::result::Ending;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::prop_assert;
use proptest::test_runner::Config;
use std::cell::Cell;

const DRIVE: &str = r#"
[parts.drive]
is = "ssd"
command_time = "5 us"
page = "16 KiB"
read_time = "25 us"
channel_rate = "200 MB/s"
program_time = "300 us"
stripe_rate = "100 MB/s"
[links.sas]
between = ["hba", "drive"]
sas = "3G"
connection = "1 us"
length = "2 m"
[flows.io]
from = "host"
to = "drive"
do = "io"
submit_time = "5 us"
complete_time = "10 us"
"#;

fn text(access: &str, length: &str) -> String {
    format!("{HOST}{DRIVE}access = {access}\n[run]\nfor = \"{length}\"\nwarmup = \"0 s\"\n")
}

/// When a frame that is ready at `t`, behind a connection that is opened for it, is in whole: OPEN, DONE and CLOSE are
/// 56 B; 1 us is 300 slots of 10/3 ns; 2 m are 10 ns. And the slot behind it.
fn opened(t: u64, bytes: u64) -> (u64, u64) {
    let slot = (t as u128 * 3).div_ceil(10 * NS as u128) as u64;
    let end = slot + 56 + 300 + bytes;
    (time(end) + 10 * NS, end)
}

fn time(slots: u64) -> u64 {
    (slots as u128 * 10 * NS as u128).div_ceil(3) as u64
}

#[test]
fn one_read() {
    let s = simulate(&text("{ size = \"2 KiB\" }", "75 us"), &[]);
    // COMMAND: 36 B around 28. Controller, die, and 2048 B at 200 MB/s. Two frames of 36 B around 1024 B.
    let (command, _) = opened(PROCESSED, 64);
    let there = command + 5 * US + 25 * US + 10_240 * NS;
    let (first, next) = opened(there, 1060);
    let second = time(next + 1060) + 10 * NS;
    // The status comes in while the data go to memory.
    let landed = stored(second, 1024);
    assert!(time(next + 1060 + 60) + 10 * NS < landed && stored(first, 1024) < second);
    let status = stored(landed, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, first, landed, status, status + 10 * US]);
    let busy = |name: &str| ios(&s, "io").busy.iter().find(|b| b.0.contains(name)).expect("it works").1;
    within(1e-9, busy("controller"), 5.0 / 75.0);
    // One of eight channels.
    within(1e-9, busy("channels"), 10.24 / 8.0 / 75.0);
}

#[test]
fn one_write() {
    let s = simulate(&text("{ size = \"1 KiB\", read = \"0 %\" }", "400 us"), &[]);
    let (command, _) = opened(PROCESSED, 64);
    // XFER_RDY: 36 B around 12. Data from memory, one frame; taken in at 100 MB/s, programmed. RESPONSE: 36 B around
    // 24.
    let (ready, _) = opened(command + 5 * US, 48);
    let (data, _) = opened(read(ready, 1024), 1060);
    let (answered, _) = opened(data + 10_240 * NS + 300 * US, 60);
    let status = stored(answered, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, ready, data, status, status + 10 * US]);
    // With a cache the status goes when the data are there.
    let s = simulate(&text("{ size = \"1 KiB\", read = \"0 %\" }", "50 us"), &["parts.drive.write_cache=true"]);
    let (answered, _) = opened(data, 60);
    let status = stored(answered, 64);
    assert_eq!(moments(&s, "io"), [5 * US, PROCESSED, ready, data, status, status + 10 * US]);
}

#[test]
fn the_slots_of_one_read_and_one_write() {
    for (access, there, back) in [
        // COMMAND in a connection, OPEN_ACCEPT and closing for the one back, and ACK and RRDY for three frames.
        ("{ size = \"2 KiB\" }", [64, 0, 356, 20 + 24], [60, 2048, 356, 20 + 8]),
        // COMMAND and two frames of data in two connections; leave and status back in two.
        ("{ size = \"2 KiB\", read = \"0 %\" }", [64, 2048, 712, 40 + 16], [48 + 60, 0, 712, 40 + 24]),
    ] {
        let sets = ["flows.io.complete_time=1 ms", "run.for=400 us"];
        let s = simulate(&text(access, "1 us"), &sets);
        for (link, [requests, payload, gap, control]) in s.links[2..].iter().zip([there, back]) {
            let c = &link.slots;
            let found = (c.requests, c.payload, c.gap, c.control);
            assert_eq!(found, (requests, payload, gap, control), "{access} to {}", link.to);
            assert_eq!(c.total(), 120_000);
        }
    }
}

/// A wide link to the host, a fast one to the drive, many outstanding.
fn many(access: &str, sets: &[&str]) -> (f64, f64) {
    let text = text(access, "200 ms").replace("gen1 x4", "gen3 x16");
    let mut all =
        vec!["links.sas.sas=12G", "links.sas.connection=0 ns", "parts.hba.queue_depth=256", "run.warmup=50 ms"];
    all.extend(["flows.io.outstanding=128", "flows.io.submit_time=1 us", "flows.io.complete_time=1 us"]);
    all.extend(["parts.hba.command_time=1 us", "parts.drive.command_time=1 us"]);
    all.extend(sets);
    let (s, estimate) = (simulate(&text, &all), answer(&text, &all));
    let f = estimate.flows.last().expect("a flow");
    let (rate, bound) = (simulated(&s, "io").rate.mean / 8.0, f.bound.typical / 8.0);
    within(0.03, f.share.typical / 8.0, rate);
    (rate, bound)
}

#[test]
fn reads_end_at_the_channels_or_at_the_dies() {
    // Pages by themselves, anywhere: with 128 outstanding no channel is idle for long.
    let access = "{ size = \"16 KiB\", align = \"16 KiB\", random = \"100 %\" }";
    let (rate, bound) = many(access, &["parts.drive.channels=2"]);
    within(1e-9, bound, 400e6);
    within(0.02, rate, 400e6);
    // Two dies that sense 16 KiB in 100 us.
    let (rate, bound) = many(access, &["parts.drive.channels=2", "parts.drive.dies=1", "parts.drive.read_time=100 us"]);
    within(1e-9, bound, 2.0 * 16_384.0 / 100e-6);
    within(0.02, rate, bound);
    // What it can move at all.
    let (rate, bound) = many(access, &["parts.drive.rate=150 MB/s"]);
    within(1e-9, bound, 150e6);
    within(0.005, rate, bound);
}

#[test]
fn full_programs_bound_writes() {
    // Two stripes, 4 pages of 16 KiB each in a program: 64 KiB at 100 MB/s and 300 us.
    let sets = ["parts.drive.stripes=2", "parts.drive.stripe_pages=4"];
    let expected = 2.0 * 65_536.0 / (655.36e-6 + 300e-6);
    for access in ["{ size = \"16 KiB\", read = \"0 %\" }", "{ size = \"64 KiB\", read = \"0 %\", random = \"100 %\" }"]
    {
        let (rate, bound) = many(access, &sets);
        within(1e-9, bound, expected);
        within(0.01, rate, expected);
        // A cache makes writes short, not many: it is full before the run counts.
        let cache = [sets[0], sets[1], "parts.drive.write_cache=true", "parts.drive.buffer=1 MiB"];
        within(0.01, many(access, &cache).0, expected);
    }
    // A page holds data of one command: of 4 KiB each, a program has 16 KiB.
    let (rate, _) = many("{ size = \"4 KiB\", read = \"0 %\" }", &sets);
    within(0.01, rate, 2.0 * 16_384.0 / (163.84e-6 + 300e-6));
}

/// A run that ends by itself, of writes into a cache that is slower to empty than to fill, does not count the filling:
/// neither what was promised when it had no more room and had yet to come, nor what programs that end together leave
/// free for a while. So it comes to what the stripes program, which is the share, but for a few windows' edges.
#[test]
fn a_run_that_ends_by_itself_does_not_count_the_filling() {
    let mut runner = runner(Config { max_shrink_iters: 20, ..Config::default() });
    let worst = Cell::new(0.0_f64);
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let mut c = Choices(bytes.iter());
        let (stripes, pages, page) = (c.about(1, 12), c.about(1, 8), 4096 << c.below(2));
        let size = [4096, 16_384][c.below(2)];
        // Full programs fit into what is outstanding and into the buffer.
        let programs = stripes * pages * page;
        let outstanding = (2 * programs / size).clamp(4, 256);
        let buffer = (2 * programs).max(64 << 10) * (1 + c.below(4) as u64);
        // Slower than the link, by little or by much, MB/s.
        let rate = c.about(20, 180);
        let program = programs as f64 / rate as f64;
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\nmax_transfer = \"1 MiB\"\n\
             write_cache = true\npage = \"{page} B\"\nstripes = {stripes}\nstripe_pages = {pages}\n\
             stripe_rate = \"100 GB/s\"\n\
             program_time = \"{program:.3} us\"\nbuffer = \"{buffer} B\"\ncommand_time = \"100 ns\"\n\
             [links.slot]\nbetween = [\"host\", \"d\"]\npcie = \"gen1 x1\"\n[flows.f]\nfrom = \"host\"\nto = \"d\"\n\
             do = \"io\"\naccess = {{ size = \"{size} B\", read = \"0 %\" }}\noutstanding = {outstanding}\n\
             host_software = \"spdk\"\n[run]\nuntil = \"±1 %\"\nmax_time = \"1 s\"\n"
        );
        let (plan, d) = plan(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
        let share = lanescope::estimate::estimate(&plan, &d).flows[0].share.typical;
        let run = simulate_by(&plan, 1, u64::MAX);
        let above = run.flows[0].rate.mean / share - 1.0;
        if run.ending != Ending::Tight {
            // The cap on its time ended it, maybe before the cache was full: the cache has what is above the share,
            // but for what is outstanding and one program of each stripe.
            let cached = run.flows[0].ios.as_ref().expect("I/Os").cached;
            let (more, edge) = (above * share * run.window / 8.0, outstanding * size + programs);
            prop_assert!(more <= cached as f64 + edge as f64, "{} above, {} in the cache\n{}", more, cached, text);
            return Ok(());
        }
        worst.set(worst.get().max(above));
        // Programs end together: one more or less of each in the window.
        let edge = 8.0 * programs as f64 / (share * run.window);
        prop_assert!(above < 0.03 + edge, "{} above the share, edge {}\n{}", above, edge, text);
        Ok(())
    });
    println!("at most {:.4} above", worst.get());
    if let Err(e) = result {
        panic!("{e}");
    }
}
