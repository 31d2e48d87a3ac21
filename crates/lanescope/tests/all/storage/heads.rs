//! Several flows at one disk, or one that does not always ask for the same: what each loses when the heads are
//! elsewhere.

use crate::common::choices::{Choices, none_apart, runner};
use crate::common::{by_both, plan};
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// One to three flows at a disk: sizes, reads and writes, sequential and anywhere, also mixed.
fn at_a_disk(c: &mut Choices) -> String {
    let wire = c.of(&["sas = \"6G\"", "sas = \"12G\"", "fc = \"4GFC\""]);
    let mut text = format!(
        "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\nqueue_depth = {}\n\
         [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen2 x8\"\n\
         [parts.d]\nis = \"disk\"\nrpm = {}\nwrite_cache = {}\ncache = \"{}\"\nzones = {}\n\
         [links.wire]\nbetween = [\"hba\", \"d\"]\n{wire}\n",
        [1, 4, 32, 64][c.below(4)],
        c.of(&["5400", "7200", "15000"]),
        c.of(&["true", "false"]),
        c.of(&["64 KiB", "256 KiB", "1 MiB"]),
        1 + c.below(16),
    );
    for i in 0..[1, 2, 2, 3][c.below(4)] {
        let size = [512, 1000, 4096, 16_384, 65_536, 131_072, 1 << 20][c.below(7)];
        let (read, random) = ([0, 50, 70, 100, 100][c.below(5)], [0, 0, 50, 100, 100][c.below(5)]);
        // Each in a file of its own, or all in one: small, or sequential flows would come ever farther apart.
        let (start, file) = ([0, 20 * i][c.below(2)], [20, 300][c.below(2)]);
        let range = format!("start = \"{start} GB\"\nfile = \"{file} MB\"\n");
        let rate = if c.below(6) == 0 { format!("rate = {}\n", c.about(2, 40)) } else { String::new() };
        text += &format!(
            "[flows.f{i}]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\noutstanding = {}\n{range}{rate}\
             access = {{ size = \"{size} B\", read = \"{read} %\", random = \"{random} %\" }}\n",
            c.about(1, 32),
        );
    }
    text
}

/// As long as some thousand I/Os take by the share, all flows together, or some hundred large ones.
fn run(text: &str) -> String {
    let planned = plan(text, &[]);
    let (Some(plan), d) = planned else { panic!("{text}{}", planned.1) };
    let report = estimate(&plan, &d);
    let (mut bytes, mut ios) = (1e-9_f64, 1e-9_f64);
    for f in &report.flows {
        bytes += f.share.typical / 8.0;
        ios += f.share.typical / 8.0 / f.operation.unwrap_or(4096.0);
    }
    let length = (2500.0 / ios).min(1e8 / bytes).clamp(0.5, 60.0);
    format!("{text}[run]\nfor = \"{:.0} ms\"\nwarmup = \"{:.0} ms\"\n", length * 1e3, length * 3e2)
}

/// Share and simulation of each flow agree, beside what the window may cut off and half of the interval in which the
/// simulation's mean lies. In which order the I/Os of flows come to the disk in the long run hangs on how they met at
/// first: a sequential flow that has its own behind one another loses its place less often. Flows that keep to
/// a rate are far below what the disk could do: near that, whether they have a backlog decides the order.
#[test]
fn flows_lose_their_place_alike() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, sum, wrong) = (Cell::new(0.0_f64), Cell::new([0.0_f64; 2]), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 30..50), |bytes| {
        let text = run(&at_a_disk(&mut Choices(bytes.iter())));
        let (report, s) = by_both(&text);
        let mut all = Vec::new();
        let mut apart = 0.0_f64;
        for (f, s) in report.flows.iter().zip(&s.flows) {
            let (share, seen) = (f.share.typical, s.rate.mean);
            // Of few I/Os a part of one more or less, too.
            let few = (s.in_flight + 2.0) / s.operations.max(1) as f64;
            let off = ((share - seen).abs() - seen * few - s.rate.half.unwrap_or(0.0)).max(0.0) / seen.max(1.0);
            sum.set([sum.get()[0] + off, sum.get()[1] + 1.0]);
            apart = apart.max(off);
            all.push(format!("{share:.0} and {seen:.0} ({} I/Os)", s.operations));
        }
        worst.set(worst.get().max(apart));
        if apart > APART {
            wrong.borrow_mut().push(format!("{}: {apart:.3}\n{text}", all.join(", ")));
        }
        Ok(())
    });
    let [off, flows] = sum.get();
    println!("at most {:.3} apart, {:.4} in the mean of {flows} flows", worst.get(), off / flows);
    none_apart(result, &wrong.into_inner());
}

/// How far apart they may be.
const APART: f64 = 0.1;

/// A read behind a write in the next place, or a write behind a read, is late for it whatever the rate of the media is:
/// it takes a turn more, and half of all I/Os change the direction. No rounding of an angle decides.
#[test]
fn a_change_of_direction_costs_a_turn() {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let wrong = RefCell::new(Vec::new());
    let result = runner.run(&vec(any::<u8>(), 8..12), |bytes| {
        let c = &mut Choices(bytes.iter());
        let (rate, size, rpm) = (40_000 + c.about(1, 90_000), 4096 << c.below(6), [5400, 7200, 15_000][c.below(3)]);
        let text = format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\n\
             [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen2 x8\"\n\
             [parts.d]\nis = \"disk\"\nrpm = {rpm}\nzones = 1\nouter_rate = \"{rate} kB/s\"\n\
             inner_rate = \"{rate} kB/s\"\n\
             [links.wire]\nbetween = [\"hba\", \"d\"]\nsas = \"6G\"\n\
             [flows.f]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\noutstanding = 16\n\
             access = {{ size = \"{size} B\", read = \"50 %\", random = \"0 %\" }}\n\
             [run]\nfor = \"4 s\"\nwarmup = \"1 s\"\n"
        );
        let (report, s) = by_both(&text);
        let each = size as f64 / (rate as f64 * 1e3) + 0.5 * 60.0 / rpm as f64;
        let expected = size as f64 * 8.0 / each;
        // The directions are drawn: of so many changes so many more or less, four times their deviation.
        let slack = 4.0 / (s.flows[0].operations.max(1) as f64).sqrt() + 0.02;
        for (method, got) in [("estimate", report.flows[0].share.typical), ("simulation", s.flows[0].rate.mean)] {
            if (got / expected - 1.0).abs() > slack {
                wrong.borrow_mut().push(format!("{method}: {got:.0} for {expected:.0}\n{text}"));
            }
        }
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
}
