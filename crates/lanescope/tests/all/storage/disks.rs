//! Disks behind a RAID controller: what is asked of their heads, by the closed form and I/O by I/O.

use crate::common::choices::{Choices, none_apart, runner};
use crate::common::{plan, simulate_by};
use crate::storage::in_large_tlps;
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A disk or an array of disks, read or written by one worker.
fn disks(c: &mut Choices) -> String {
    // A disk by itself, or an array.
    let alone = c.below(4) == 0;
    let level = if alone { "" } else { c.of(&["raid0", "raid1", "raid10", "raid5"]) };
    let n = match level {
        "" => 1,
        "raid0" => 1 + c.below(8),
        "raid1" => 2,
        "raid10" => 2 * (2 + c.below(3)),
        _ => 3 + c.below(6),
    };
    let strip = [16_384, 65_536, 262_144][c.below(3)];
    let size: u64 = [512, 1000, 4096, 16_384, 65_536, 131_072, 524_288][c.below(7)];
    let align = [512, 4096, size.next_multiple_of(512)][c.below(3)];
    let random = [0, 100, 100][c.below(3)];
    // Writes of RAID 5 have a test of their own.
    let read = if level == "raid5" { 100 } else { [0, 100, 100][c.below(3)] };
    // Who leaves something out is read ahead for by chance only.
    let align = if random == 0 { 512 } else { align };
    // Few reads that follow one another wait for adapter and wires: a law of its own.
    let outstanding = if random == 0 && read == 100 { [1, 16, 64][c.below(3)] } else { 1 << c.below(8) };
    let (array, to) = match alone {
        true => (String::new(), "d.0"),
        false => (
            format!("[parts.lun]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\nstrip = \"{strip} B\"\n"),
            "lun",
        ),
    };
    format!(
        "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncache = \"16 MiB\"\n\
         write_policy = \"write-through\"\n[links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen2 x8\"\n\
         [parts.d]\nis = \"disk\"\ncount = {n}\nrpm = {}\n\
         [links.wire]\nbetween = [\"hba\", \"d.*\"]\nsas = \"6G\"\n\
         {array}[flows.f]\nfrom = \"host\"\nto = \"{to}\"\ndo = \"io\"\noutstanding = {outstanding}\n\
         access = {{ size = \"{size} B\", align = \"{align} B\", read = \"{read} %\", random = \"{random} %\" }}\n\
         [run]\nfor = \"{}\"\nwarmup = \"1 s\"\n",
        c.of(&["5400", "7200", "15000"]),
        if random > 0 { "12 s" } else { "300 ms" }
    )
}

/// Where one I/O at a time goes to disks, or one after the other, share and simulation are the same. Where several
/// wait for heads, their waits are those of a mean-value analysis, which is no exact one, and a note says that there
/// are any; writes that come too late for a turn are followed one by one.
#[test]
fn share_and_simulation_agree() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, late, wrong) = (Cell::new(0.0_f64), Cell::new(0), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 12..20), |bytes| {
        let text = in_large_tlps(&disks(&mut Choices(bytes.iter())));
        let (plan, d) = plan(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
        let report = estimate(&plan, &d);
        let says = |mechanism: &str| report.notes.iter().any(|n| n.mechanism == mechanism);
        assert!(!says("rotation"), "{text}");
        late.set(late.get() + u32::from(says("late-for-a-turn")));
        let s = simulate_by(&plan, 1, u64::MAX);
        let (share, seen) = (report.flows[0].share.typical, s.flows[0].rate.mean);
        let off = share / seen - 1.0;
        worst.set(worst.get().max(off.abs()));
        if off.abs() > if says("queueing") { 0.1 } else { 0.05 } {
            wrong.borrow_mut().push(format!("{share} and {seen}: {off}\n{text}"));
        }
        Ok(())
    });
    println!("at most {:.3} apart; {} writes too late for a turn", worst.get(), late.get());
    none_apart(result, &wrong.into_inner());
}

/// Rows of writes through to one disk or to an array, and of reads of a disk that leave something out, where many come
/// too late for their place; all within a zone.
fn rows(c: &mut Choices) -> String {
    let level = c.of(&["", "", "raid0", "raid1", "raid10"]);
    let n = match level {
        "" => 1,
        "raid0" => 1 + c.below(4),
        "raid1" => 2,
        _ => 2 * (2 + c.below(3)),
    };
    let size: u64 = [512, 1000, 4096, 10_000, 16_384, 65_536, 200_000][c.below(7)];
    // Of few writes, so that all disks have their turns.
    let strip = size.next_power_of_two().max(4096) << c.below(4);
    let (array, to) = match level {
        "" => (String::new(), "d.0"),
        _ => (
            format!("[parts.lun]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\nstrip = \"{strip} B\"\n"),
            "lun",
        ),
    };
    let left_out = [0, 0, 1, 100, 5000][c.below(5)] * 512;
    let align = (size + left_out).next_multiple_of(512);
    let wire = c.of(&["sas = \"6G\"", "sas = \"12G\"", "fc = \"8GFC\""]);
    // Nothing is read ahead for who leaves something out from the first on.
    let read = if level.is_empty() && left_out > 0 { c.below(2) * 100 } else { 0 };
    format!(
        "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncache = \"16 MiB\"\n\
         write_policy = \"write-through\"\ncommand_time = \"{} us\"\nqueue_depth = {}\n\
         [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen2 x8\"\n\
         [parts.d]\nis = \"disk\"\ncount = {n}\nrpm = {}\nzones = 1\ncommand_time = \"{} us\"\n\
         [links.wire]\nbetween = [\"hba\", \"d.*\"]\n{wire}\n\
         {array}[flows.f]\nfrom = \"host\"\nto = \"{to}\"\ndo = \"io\"\noutstanding = {}\n\
         submit_time = \"{} us\"\ncomplete_time = \"{} us\"\n\
         access = {{ size = \"{size} B\", align = \"{align} B\", read = \"{read} %\", random = \"0 %\" }}\n",
        1 + c.below(30),
        1 << c.below(7),
        c.of(&["5400", "7200", "10000", "15000"]),
        1 + c.below(500),
        1 + c.below(40),
        1 + c.below(20),
        1 + c.below(20),
    )
}

/// I/Os that come too late for their place wait for a turn: how many do hangs on microseconds, and both methods follow
/// them. Where fewer than the way of a command is exact to decide, the report says so, and the simulation is in the
/// range of the share; these are few.
#[test]
fn late_ones_wait_for_their_place_alike() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, late, wrong) = (Cell::new(0.0_f64), Cell::new(0), RefCell::new(Vec::new()));
    let (all, either) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&vec(any::<u8>(), 20..30), |bytes| {
        let text = in_large_tlps(&rows(&mut Choices(bytes.iter())));
        let planned = |text: &str| match plan(text, &[]) {
            (Some(plan), d) => (plan, d),
            (None, d) => panic!("{text}{d}"),
        };
        let (first, d) = planned(&text);
        let report = estimate(&first, &d);
        let note = report.notes.iter().find(|n| n.mechanism == "late-for-a-turn");
        late.set(late.get() + u32::from(note.is_some()));
        let share = report.flows[0].share.typical;
        // As long as some thousands take, of large ones some hundreds.
        let size = report.flows[0].operation.expect("I/Os of one size");
        let length = (4e7 / size).clamp(400.0, 4000.0) * size * 8.0 / share;
        let text = format!("{text}[run]\nfor = \"{} ms\"\nwarmup = \"{} ms\"\n", length * 1e3, length * 2e2);
        let s = simulate_by(&planned(&text).0, 1, u64::MAX);
        all.set(all.get() + 1);
        // The window may cut a turn off in which nothing is done: of one of the slowest disks.
        let slack = 0.02 + (1.0 / 90.0) / s.window;
        let (seen, of) = (s.flows[0].rate.mean, report.flows[0].share);
        let off = share / seen - 1.0;
        if note.is_some_and(|n| n.text.contains(" or ")) {
            either.set(either.get() + 1);
            let within = seen > of.slower * (1.0 - slack) && seen < of.faster * (1.0 + slack);
            assert!(within, "{of:?} and {seen}\n{text}");
            return Ok(());
        }
        worst.set(worst.get().max(off.abs()));
        if off.abs() > slack {
            wrong.borrow_mut().push(format!("{share} and {seen}: {off}\n{text}"));
        }
        Ok(())
    });
    println!("{} of {} may come to one of two rates", either.get(), all.get());
    assert!(either.get() <= 1 + all.get() / 20, "{} of {}", either.get(), all.get());
    println!("at most {:.3} apart; {} writes too late for a turn", worst.get(), late.get());
    none_apart(result, &wrong.into_inner());
}
