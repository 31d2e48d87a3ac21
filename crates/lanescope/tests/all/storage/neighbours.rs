//! Several flows at one solid-state drive, or reads of several sizes of one flow: each waits for what the others have
//! there, whatever they are like.

use crate::common::by_both;
use crate::common::choices::{Choices, none_apart, runner};
use crate::storage::in_large_tlps;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A drive below a host.
fn drive_of(c: &mut Choices, drive: &str) -> String {
    let hba = "[parts.hba]\nis = \"host-adapter\"\nqueue_depth = 256\n\
               [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen3 x8\"\n";
    let flash = |c: &mut Choices| {
        format!(
            "channels = {}\ndies = {}\npage = \"{}\"\nread_time = \"{} us\"\nchannel_rate = \"{} MB/s\"\n",
            2 + c.below(15),
            1 + c.below(4),
            c.of(&["4 KiB", "16 KiB"]),
            20 + c.below(100),
            200 * (1 + c.below(6)),
        )
    };
    let parts = match drive {
        "nvme" => format!(
            "[parts.d]\nis = \"nvme\"\n{}[links.slot]\nbetween = [\"host\", \"d\"]\npcie = \"{}\"\n",
            flash(c),
            c.of(&["gen3 x4", "gen4 x4"])
        ),
        _ => format!(
            "{hba}[parts.d]\nis = \"ssd\"\n{}[links.wire]\nbetween = [\"hba\", \"d\"]\nsas = \"12G\"\n\
             {}",
            flash(c),
            c.of(&["", "connection = \"0 ns\"\n"])
        ),
    };
    format!("[parts.host]\nis = \"root-complex\"\n{parts}")
}

/// Two or three flows of reads at one drive.
fn at_a_drive(c: &mut Choices, drive: &str) -> String {
    let mut text = drive_of(c, drive);
    for i in 0..2 + c.below(2) {
        let size = [512 * c.about(1, 1024), 4096][c.below(2)];
        let (outstanding, random) = (c.about(1, 16), 100 * c.below(3).min(1));
        let pairs = match drive {
            "nvme" => format!("queue_pairs = {}\n", c.about(1, 16)),
            _ => String::new(),
        };
        text += &format!(
            "[flows.f{i}]\n{pairs}from = \"host\"\nto = \"d\"\ndo = \"io\"\noutstanding = {outstanding}\n\
             access = {{ size = \"{size} B\", random = \"{random} %\" }}\n"
        );
    }
    text + "[run]\nfor = \"150 ms\"\nwarmup = \"30 ms\"\n"
}

/// Share and simulation of each flow are apart by no more than a part of what all of them move, and by no more than
/// a factor of two of its own: beside what the window may cut off, and half of the interval in which the
/// simulation's mean lies. Small reads among large ones are the worst: the window holds few rounds of large reads.
fn within(most: f64, drive: &str) {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, wrong) = (Cell::new([0.0_f64; 2]), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let text = in_large_tlps(&at_a_drive(&mut Choices(bytes.iter()), drive));
        let (report, s) = by_both(&text);
        let moved: f64 = s.flows.iter().map(|f| f.rate.mean).sum();
        let mut all = Vec::new();
        let mut apart = [0.0_f64; 2];
        for (f, s) in report.flows.iter().zip(&s.flows) {
            let (share, seen) = (f.share.typical, s.rate.mean);
            let edge = seen * s.in_flight / s.operations as f64 + s.rate.half.unwrap_or(0.0);
            let off = ((share - seen).abs() - edge).max(0.0);
            let of_own = if share > seen { off / seen } else { off / share };
            apart = [apart[0].max(off / moved), apart[1].max(of_own)];
            all.push(format!("{share:.0} and {seen:.0} (edge {edge:.0})"));
        }
        let so_far = worst.get();
        worst.set([so_far[0].max(apart[0]), so_far[1].max(apart[1])]);
        if apart[0] > most || apart[1] > 1.0 {
            wrong.borrow_mut().push(format!("{}: {apart:?}\n{text}", all.join(", ")));
        }
        Ok(())
    });
    println!("{drive}: at most {:?} apart", worst.get());
    none_apart(result, &wrong.into_inner());
}

#[test]
fn reads_of_a_serial_drive() {
    within(0.03, "ssd");
}

#[test]
fn reads_of_an_nvme_drive() {
    within(0.04, "nvme");
}

/// Random reads of two or three sizes of one flow wait for one another at dies, channels and link: not as if all had
/// the size of each.
#[test]
fn reads_of_several_sizes() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, wrong) = (Cell::new(0.0_f64), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let c = &mut Choices(bytes.iter());
        let drive = c.of(&["nvme", "ssd"]);
        let mut text = drive_of(c, drive);
        let shares = [&[50, 50][..], &[90, 10], &[30, 30, 40]][c.below(3)];
        let line = |c: &mut Choices, share: &u32| {
            let size = [512 * c.about(1, 1024), 4096][c.below(2)];
            format!("{{ size = \"{size} B\", share = \"{share} %\", random = \"100 %\" }}")
        };
        let lines: Vec<String> = shares.iter().map(|share| line(c, share)).collect();
        text += &format!(
            "[flows.f]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\noutstanding = {}\naccess = [{}]\n\
             [run]\nfor = \"100 ms\"\nwarmup = \"20 ms\"\n",
            c.about(1, 64),
            lines.join(", ")
        );
        let text = in_large_tlps(&text);
        let (report, s) = by_both(&text);
        let (share, seen) = (report.flows[0].share.typical, &s.flows[0]);
        let off = share / seen.rate.mean - 1.0;
        let edge = seen.in_flight / seen.operations as f64 + seen.rate.half.unwrap_or(0.0) / seen.rate.mean;
        worst.set(worst.get().max(off.abs() - edge));
        if off.abs() > 0.08 + edge {
            wrong.borrow_mut().push(format!("{off:+.3} (edge {edge:.3}): {:?}\n{text}", report.flows[0].bound_by));
        }
        Ok(())
    });
    println!("at most {:.3} apart", worst.get());
    none_apart(result, &wrong.into_inner());
}
