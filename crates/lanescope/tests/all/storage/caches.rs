//! Caches that take writes in faster than they are emptied: when a run begins to count, and what it says where it has
//! to count their filling.

use crate::common::choices::{Choices, runner};
use crate::common::{plan, planned, simulate_by};
use crate::storage::in_large_tlps;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::prop_assert;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// What the host's link carries at most, MB/s: one lane of 2.5 GT/s.
const LINK: f64 = 250.0;

/// A run that ends by itself, of writes into an adapter's cache that is slower to empty than to fill, does not begin
/// to count while it fills: neither when what has yet to come was promised all of its room, nor when a burst fills it
/// for a moment or leaves less in it than the one before. It fills no faster than the host's link carries, and in
/// bursts no faster than they bring more than the disks take; less than the last bursts is all that may be missing.
#[test]
fn a_run_that_ends_by_itself_does_not_count_the_filling() {
    let mut runner = runner(Config { max_shrink_iters: 20, ..Config::default() });
    let soonest = Cell::new(f64::INFINITY);
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let mut c = Choices(bytes.iter());
        let c = &mut c;
        let (level, disks, data) = [("raid0", 2, 2), ("raid0", 3, 3), ("raid1", 2, 1), ("raid5", 3, 2)][c.below(4)];
        let strip = 4096_u64 << c.below(4);
        let size = 4096_u64 << c.below(4);
        let cache = (8 * strip * data).max(256 << 10) * (1 + c.below(4) as u64);
        let each = c.about(5, 15);
        let takes = (data * each) as f64;
        // MB/s are bytes a microsecond.
        let (outstanding, random, more, least) = if level == "raid5" || c.below(2) == 0 {
            // Often more than the cache holds is outstanding at once.
            let outstanding = c.about(1, 2 * cache / size);
            (outstanding, [0, 100][c.below(2)], String::new(), cache.saturating_sub(2 * size) as f64 / LINK)
        } else {
            // Bursts, with pauses between them.
            let outstanding = c.about(1, (cache / 8 / size).max(1));
            let burst = (outstanding * size) as f64;
            let brings = c.about(120, 200) as f64 / 100.0 * takes;
            let pause = burst / brings - burst / LINK;
            let more = format!(", delay = \"{pause:.1} us\", burst = {outstanding}");
            (outstanding, 0, more, 0.9 * (cache as f64 - 2.0 * burst) / (1.02 * brings - 0.97 * takes))
        };
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\ncompletion_size = \"512 B\"\n[parts.hba]\nis = \"host-adapter\"\n\
             cache = \"{cache} B\"\ncommand_time = \"100 ns\"\n[links.slot]\nbetween = [\"host\", \"hba\"]\n\
             pcie = \"gen1 x1\"\nmps = \"512 B\"\n[parts.d]\nis = \"ram-disk\"\ncount = {disks}\ncapacity = \"1 GiB\"\n\
             rate = \"{each} MB/s\"\nlatency = \"1 us\"\n[links.wire]\nbetween = [\"hba\", \"d.*\"]\nsas = \"6G\"\n\
             [parts.a]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\nstrip = \"{strip} B\"\n\
             [flows.f]\nfrom = \"host\"\nto = \"a\"\ndo = \"io\"\noutstanding = {outstanding}\n\
             access = {{ size = \"{size} B\", read = \"0 %\", random = \"{random} %\", align = \"{size} B\"{more} }}\n\
             submit_time = \"100 ns\"\ncomplete_time = \"100 ns\"\n[run]\nuntil = \"±5 %\"\nmax_packets = 300000\n"
        );
        let (plan, d) = plan(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
        let run = simulate_by(&plan, 1, u64::MAX);
        let began = run.warmup * 1e6;
        soonest.set(soonest.get().min(began / least));
        prop_assert!(began >= least, "began at {} us, fills until {} us\n{:?}\n{}", began, least, run.ending, text);
        Ok(())
    });
    println!("at {:.3} of the least at the soonest", soonest.get());
    if let Err(e) = result {
        panic!("{e}");
    }
}

/// What a run of a given length gets above its share is in a cache at its end, in the one of a drive, of a disk or of
/// an adapter, but for what is in flight at the window's ends; and the report says that caches were filling.
#[test]
fn what_is_got_above_the_share_is_in_a_cache() {
    let mut runner = runner(Config { max_shrink_iters: 20, ..Config::default() });
    let filling = Cell::new(0);
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let mut c = Choices(bytes.iter());
        let c = &mut c;
        let size = 4096_u64 << c.below(4);
        let outstanding = c.about(1, 64);
        let buffer = size * c.about(4, 4096);
        let sas = "[parts.hba]\nis = \"host-adapter\"\ncommand_time = \"1 us\"\n[links.slot]\n\
                   between = [\"host\", \"hba\"]\npcie = \"gen2 x4\"\n[links.wire]\n\
                   between = [\"hba\", \"d.*\"]\nsas = \"6G\"\n";
        // What the media take at once and free when it is done: they end so much more in a window than their share.
        let (parts, to, at_once) = match c.below(3) {
            0 => {
                let (stripes, pages) = (1 << c.below(5), 8);
                let program = [10, 100, 1000, 10_000_000][c.below(4)] * c.about(1, 9);
                let parts = format!(
                    "[parts.d]\nuse = \"example/nvme-drive\"\nmax_payload = \"256 B\"\nbuffer = \"{buffer} B\"\n\
                     program_time = \"{program} us\"\nwrite_cache = true\npage = \"16 KiB\"\nstripes = {stripes}\n\
                     stripe_pages = {pages}\n[links.slot]\nbetween = [\"host\", \"d\"]\n\
                     pcie = \"gen3 x4\"\n"
                );
                (parts, "d", stripes * pages * (16 << 10))
            }
            1 => {
                let parts = "[parts.d]\nis = \"disk\"\ncount = 1\ncapacity = \"100 GB\"\nwrite_cache = true\n";
                (format!("{parts}cache = \"{buffer} B\"\n{sas}"), "d.0", size)
            }
            _ => {
                let each = c.about(1, 50);
                let sas = sas.replace("command_time", &format!("cache = \"{buffer} B\"\ncommand_time"));
                let parts = format!(
                    "[parts.d]\nis = \"ram-disk\"\ncount = 2\ncapacity = \"1 GiB\"\nrate = \"{each} MB/s\"\n\
                     latency = \"1 us\"\n{sas}[parts.a]\nis = \"array\"\nlevel = \"raid0\"\ndisks = [\"d.*\"]\n\
                     strip = \"{size} B\"\n"
                );
                (parts, "a", 2 * size)
            }
        };
        let length = [1, 5, 20][c.below(3)];
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\nmax_payload = \"256 B\"\n{parts}[flows.f]\nfrom = \"host\"\n\
             to = \"{to}\"\ndo = \"io\"\noutstanding = {outstanding}\naccess = {{ size = \"{size} B\", read = \"0 %\", \
             random = \"100 %\", align = \"{size} B\" }}\nsubmit_time = \"100 ns\"\ncomplete_time = \"100 ns\"\n\
             [run]\nfor = \"{length} ms\"\n"
        );
        let (plan, d) = plan(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
        let report = estimate::estimate(&plan, &d).with(simulate_by(&plan, 1, u64::MAX));
        let run = report.simulation.as_ref().expect("it was attached");
        let (share, flow) = (report.flows[0].share.typical, &run.flows[0]);
        let counted = run.window / 8.0;
        let above = (flow.rate.mean - share) * counted;
        let cached = flow.ios.as_ref().expect("I/Os").cached as f64;
        // What is in flight at one end and not at the other: before the cache, or on the media.
        let edge = (outstanding * size + at_once) as f64;
        prop_assert!(above <= cached + edge, "{} above, {} in caches, {} in flight\n{}", above, cached, edge, text);
        if above > 0.05 * share * counted + 2.0 * edge {
            filling.set(filling.get() + 1);
            let said = report.notes.iter().any(|n| n.mechanism == "filling");
            prop_assert!(said, "{:?}\n{}", report.notes, text);
        }
        Ok(())
    });
    println!("{} of the runs counted what caches took in", filling.get());
    if let Err(e) = result {
        panic!("{e}");
    }
}

/// A full write-back cache before disks under random writes: all of them have something to write, so they do as many as
/// the share says, which has all of them busy.
#[test]
fn a_full_cache_keeps_all_disks_at_work() {
    let law = |bytes: Vec<u8>| {
        let mut c = Choices(bytes.iter());
        let level = c.of(&["raid0", "raid10"]);
        let disks = 4 + 2 * c.below(3);
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncache = \"{} MiB\"\n\
             [parts.disk]\nis = \"disk\"\ncount = {disks}\n[parts.lun]\nis = \"array\"\nlevel = \"{level}\"\n\
             disks = [\"disk.*\"]\n[links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen2 x8\"\n[links.sas]\n\
             between = [\"hba\", \"disk.*\"]\nsas = \"6G\"\n[flows.io]\nfrom = \"host\"\nto = \"lun\"\ndo = \"io\"\n\
             outstanding = {}\naccess = {{ size = \"{} KiB\", read = \"0 %\", random = \"100 %\" }}\n\
             [run]\nwarmup = \"20 s\"\nfor = \"20 s\"\n",
            1 + c.below(8),
            16 * disks,
            4 * (1 + c.below(8)),
        );
        let text = in_large_tlps(&text);
        let plan = planned(&text, &[]);
        let share = estimate::estimate(&plan, &Diagnostics::default()).flows[0].share.typical;
        let seen = simulate_by(&plan, 1, u64::MAX).flows[0].rate.mean;
        let off = seen / share - 1.0;
        prop_assert!(off.abs() < 0.1, "{seen} b/s simulated, share {share}: {off:+.3}\n{text}");
        Ok::<(), TestCaseError>(())
    };
    let said = runner(Config::default()).run(&vec(any::<u8>(), 16), law);
    said.unwrap_or_else(|e| panic!("{e}"));
}
