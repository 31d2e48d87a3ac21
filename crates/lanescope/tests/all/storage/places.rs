//! Places of an adapter's queues at its drives, fewer than what is outstanding: those that wait at the adapter wait for
//! nobody in a drive.

use crate::common::by_both;
use crate::common::choices::{Choices, none_apart, runner};
use crate::storage::in_large_tlps;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// Solid-state drives behind an adapter, one or an array, whose queues hold few commands at each.
fn drives(c: &mut Choices) -> String {
    let level = c.of(&["", "", "raid0", "raid1", "raid10"]);
    let n = match level {
        "" => 1,
        "raid0" => 1 + c.below(6),
        "raid1" => 2,
        _ => 2 * (2 + c.below(2)),
    };
    // A page: how many of several meet on a channel is not in the share.
    let size: u64 = [512, 4096, 8192, 16_384][c.below(4)];
    let (array, to) = match level {
        "" => (String::new(), "d.0"),
        _ => (
            format!("[parts.lun]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\nstrip = \"64 KiB\"\n"),
            "lun",
        ),
    };
    format!(
        "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncache = \"16 MiB\"\n\
         write_policy = \"write-through\"\ncommand_time = \"1 us\"\nqueue_depth = {}\n\
         [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen3 x8\"\n\
         [parts.d]\nis = \"ssd\"\ncount = {n}\nchannels = {}\ndies = {}\nstripes = {}\nstripe_pages = {}\n\
         [links.wire]\nbetween = [\"hba\", \"d.*\"]\nsas = \"12G\"\n\
         {array}[flows.f]\nfrom = \"host\"\nto = \"{to}\"\ndo = \"io\"\noutstanding = {}\n\
         submit_time = \"500 ns\"\ncomplete_time = \"500 ns\"\n\
         access = {{ size = \"{size} B\", align = \"{size} B\", read = \"{} %\", random = \"100 %\" }}\n\
         workers = {}\n[run]\nfor = \"200 ms\"\nwarmup = \"50 ms\"\n",
        1 << c.below(7),
        4 + c.below(9),
        1 + c.below(4),
        1 + c.below(16),
        1 + c.below(8),
        1 << c.below(8),
        c.below(2) * 100,
        [1, 1, 4][c.below(3)],
    )
}

/// Share and simulation of random I/Os to drives whose queues are short.
///
/// Writes to the stripes of a drive fall into step, and which step it is hangs on microseconds: mostly one half of them
/// waits while the other is programmed, as the share has it. Where a page takes long to go in, stripes may come apart,
/// and writes then wait for up to a sixth more or less: these are few.
#[test]
fn few_places_hold_up_alike() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, few, wrong) = (Cell::new(0.0_f64), Cell::new(0), RefCell::new(Vec::new()));
    let (all, apart) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&vec(any::<u8>(), 12..20), |bytes| {
        let text = in_large_tlps(&drives(&mut Choices(bytes.iter())));
        let (report, s) = by_both(&text);
        let flow = &report.flows[0];
        few.set(few.get() + u32::from(flow.bound_by.resource == "commands at it"));
        let (share, seen) = (flow.share.typical, s.flows[0].rate.mean);
        let off = share / seen - 1.0;
        worst.set(worst.get().max(off.abs()));
        // A mean-value analysis is no exact one; and the window may cut off one I/O of those at a time.
        let edge = 2.0 * s.flows[0].in_flight / s.flows[0].operations as f64;
        let step = text.contains("read = \"0 %\"");
        all.set(all.get() + 1);
        apart.set(apart.get() + u32::from(step && off.abs() > 0.1));
        if off.abs() > if step { 1.0 / 6.0 } else { 0.1 } + edge {
            wrong.borrow_mut().push(format!("{share} and {seen}: {off}, {:?}\n{text}", flow.bound_by));
        }
        Ok(())
    });
    println!("at most {:.3} apart; {} bound by their places; {} apart", worst.get(), few.get(), apart.get());
    none_apart(result, &wrong.into_inner());
    assert!(apart.get() <= 1 + all.get() / 50, "{} of {} come apart", apart.get(), all.get());
}

/// A write by itself of several pages: each stripe begins with the first page that comes to it.
#[test]
fn a_lone_write_is_programmed_alike() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, wrong) = (Cell::new(0.0_f64), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 12..20), |bytes| {
        let c = &mut Choices(bytes.iter());
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\n\
             [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen3 x8\"\n\
             [parts.d]\nis = \"ssd\"\nstripes = {}\nstripe_pages = {}\nprogram_time = \"{} us\"\n\
             [links.wire]\nbetween = [\"hba\", \"d\"]\nsas = \"{}\"\n\
             [flows.f]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\noutstanding = 1\n\
             access = {{ size = \"{} B\", read = \"0 %\" }}\n[run]\nfor = \"400 ms\"\nwarmup = \"50 ms\"\n",
            1 + c.below(16),
            1 + c.below(8),
            50 + c.below(200) * 10,
            c.of(&["3G", "6G", "12G"]),
            c.about(512, 1 << 20),
        );
        let text = in_large_tlps(&text);
        let (report, s) = by_both(&text);
        let (share, seen) = (report.flows[0].share.typical, s.flows[0].rate.mean);
        let off = share / seen - 1.0;
        worst.set(worst.get().max(off.abs()));
        // The window may cut off one.
        if off.abs() > 0.02 + 1.0 / s.flows[0].operations as f64 {
            wrong.borrow_mut().push(format!("{share} and {seen}: {off}\n{text}"));
        }
        Ok(())
    });
    println!("at most {:.4} apart", worst.get());
    none_apart(result, &wrong.into_inner());
}
