//! Disks behind a RAID controller: what is asked of their heads, by the closed form and I/O by I/O.

use crate::common::choices::{Choices, none_apart, runner};
use crate::common::{plan, simulate_by};
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
    // Few that follow one another wait for adapter and wires: a law of its own.
    let outstanding = if random == 0 { [1, 16, 64][c.below(3)] } else { 1 << c.below(8) };
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
/// are any; where writes come too late for a turn, that is said, too.
#[test]
fn share_and_simulation_agree() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, late, wrong) = (Cell::new(0.0_f64), Cell::new(0), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 12..20), |bytes| {
        let text = disks(&mut Choices(bytes.iter()));
        let (plan, d) = plan(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
        let report = estimate(&plan, &d);
        let says = |mechanism: &str| report.notes.iter().any(|n| n.mechanism == mechanism);
        if says("rotation") {
            assert!(text.contains("random = \"0 %\""), "{text}");
            late.set(late.get() + 1);
            return Ok(());
        }
        let s = simulate_by(&plan, 1, u64::MAX);
        let (share, seen) = (report.flows[0].share.typical, s.flows[0].rate.mean);
        let off = share / seen - 1.0;
        worst.set(worst.get().max(off.abs()));
        if off.abs() > if says("queueing") { 0.1 } else { 0.05 } {
            wrong.borrow_mut().push(format!("{share} and {seen}: {off}\n{text}"));
        }
        Ok(())
    });
    println!("at most {:.3} apart; {} write too late for a turn", worst.get(), late.get());
    none_apart(result, &wrong.into_inner());
}
