//! Flows that meet at something that serves I/Os in the order in which they come: each gets what it has outstanding.

use crate::common::by_both;
use crate::common::choices::{Choices, none_apart, runner};
use crate::storage::in_large_tlps;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A drive or an array of some, behind an adapter or by itself, and the name of what they are seen as.
fn drives(c: &mut Choices, levels: &[&str]) -> (String, &'static str) {
    let level = c.of(levels);
    let n = match level {
        "" => 1,
        "raid1" => 2,
        "raid10" => 4,
        _ => 2 + c.below(3),
    };
    let kind = c.of(&["ram-disk", "ssd", "nvme"]);
    let inside = match kind {
        "ram-disk" => c.of(&["", "rate = \"200 MB/s\"\n", "rate = \"1 GB/s\"\n"]).to_owned(),
        _ => format!(
            "channels = {}\ndies = {}\npage = \"{}\"\nread_time = \"{} us\"\nprogram_time = \"{} us\"\nstripes = {}\n\
             stripe_pages = {}\nchannel_rate = \"{} MB/s\"\n{}",
            4 << c.below(3),
            1 << c.below(3),
            c.of(&["4 KiB", "16 KiB"]),
            20 + c.below(80),
            100 + c.below(700),
            4 << c.below(3),
            1 << c.below(3),
            400 * (1 + c.below(3)),
            c.of(&["", "", "rate = \"500 MB/s\"\n", "rate = \"3 GB/s\"\n"]),
        ),
    };
    let part = format!("[parts.d]\nis = \"{kind}\"\ncount = {n}\n{inside}");
    let mut text = match kind {
        "nvme" => format!(
            "[parts.host]\nis = \"root-complex\"\n{part}[links.slot]\nbetween = [\"host\", \"d.*\"]\n\
             pcie = \"gen4 x4\"\n"
        ),
        _ => format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncache = \"64 MiB\"\n\
             write_policy = \"write-through\"\ncommand_time = \"{} ns\"\nqueue_depth = {}\n[links.slot]\n\
             between = [\"host\", \"hba\"]\npcie = \"gen4 x8\"\n{part}[links.wire]\nbetween = [\"hba\", \"d.*\"]\n{}\n",
            [500, 2000, 10_000][c.below(3)],
            [16, 64, 1024][c.below(3)],
            c.of(&["sas = \"12G\"", "sas = \"6G\"", "sas = \"3G\"", "fc = \"4GFC\"", "fc = \"16GFC\""]),
        ),
    };
    if level.is_empty() {
        return (text, "d.0");
    }
    let strip = [16, 64, 256][c.below(3)];
    text += &format!("[parts.a]\nis = \"array\"\nlevel = \"{level}\"\ndisks = [\"d.*\"]\nstrip = \"{strip} KiB\"\n");
    (text, "a")
}

/// A flow of random I/Os.
fn flow(i: usize, to: &str, outstanding: u32, kib: u32, read: bool) -> String {
    format!(
        "[flows.f{i}]\nfrom = \"host\"\nto = \"{to}\"\ndo = \"io\"\noutstanding = {outstanding}\n\
         submit_time = \"500 ns\"\ncomplete_time = \"500 ns\"\naccess = {{ size = \"{kib} KiB\", read = \"{} %\", \
         random = \"100 %\" }}\n",
        if read { 100 } else { 0 }
    )
}

const RUN: &str = "[run]\nfor = \"400 ms\"\nwarmup = \"200 ms\"\n";

/// Of flows that ask for the same and are held back by the same, each has the part of all that the simulation gives it:
/// by Little's law, what it has outstanding of all that is. The window may cut off what is in flight. Where few are
/// outstanding, what each waits for its own worker counts, too: one flow in twenty may be more than a twelfth apart,
/// and none half as much again.
#[test]
fn flows_that_are_alike_have_what_they_have_outstanding() {
    let (worst, wrong) = (Cell::new(0.0_f64), RefCell::new(Vec::new()));
    let (far, all) = (Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 24..32), |bytes| {
        let c = &mut Choices(bytes.iter());
        let (mut text, to) = drives(c, &["", "", "raid0", "raid1", "raid10"]);
        let (kib, read) = (4 << c.below(6), c.below(2) == 0);
        for i in 0..2 + c.below(2) {
            text += &flow(i, to, 1 << (2 * c.below(5)), kib, read);
        }
        let text = in_large_tlps(&(text + RUN));
        let (report, s) = by_both(&text);
        let by = &report.flows[0].bound_by;
        if report.flows.iter().any(|f| f.bound_by != *by) {
            return Ok(());
        }
        let shares: f64 = report.flows.iter().map(|f| f.share.typical).sum();
        let moved: f64 = s.flows.iter().map(|f| f.rate.mean).sum();
        for (f, s) in report.flows.iter().zip(&s.flows).filter(|(_, s)| s.operations > 0) {
            let (part, seen) = (f.share.typical / shares, s.rate.mean / moved);
            let off = (part / seen).max(seen / part) - 1.0 - s.in_flight / s.operations as f64;
            worst.set(worst.get().max(off));
            all.set(all.get() + 1);
            far.set(far.get() + usize::from(off > 1.0 / 12.0));
            if off > 0.5 {
                wrong.borrow_mut().push(format!("{}: {part:.5} and {seen:.5}\n{text}", f.name));
            }
        }
        Ok(())
    });
    println!("at most {:.3} apart; {} of {} flows more than a twelfth", worst.get(), far.get(), all.get());
    none_apart(result, &wrong.into_inner());
    assert!(far.get() * 20 <= all.get().max(20), "{} of {}", far.get(), all.get());
}

/// Flows that differ in what they ask for, too, at one drive: of eight flows seven are within a tenth of the
/// simulation. Those left over are where few wait behind many large ones for places at a drive, or on a wire in one
/// direction.
#[test]
fn most_flows_that_differ_have_what_they_have_outstanding() {
    let (far, all) = (Cell::new(0), Cell::new(0));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 24..32), |bytes| {
        let c = &mut Choices(bytes.iter());
        let (mut text, to) = drives(c, &[""]);
        for i in 0..2 + c.below(2) {
            text += &flow(i, to, 1 << (2 * c.below(5)), 4 << c.below(6), c.below(2) == 0);
        }
        let (report, s) = by_both(&in_large_tlps(&(text + RUN)));
        for (f, s) in report.flows.iter().zip(&s.flows).filter(|(_, s)| s.operations > 0) {
            let off = (f.share.typical / s.rate.mean - 1.0).abs();
            all.set(all.get() + 1);
            far.set(far.get() + usize::from(off > 0.1 + s.in_flight / s.operations as f64));
        }
        Ok(())
    });
    println!("{} of {} flows more than a tenth apart", far.get(), all.get());
    none_apart(result, &[]);
    assert!(far.get() * 8 <= all.get().max(24), "{} of {}", far.get(), all.get());
}

/// By hand: 64 and one outstanding, reads of 64 KiB through one full wire of Fibre Channel, get 64 and one of 65; and
/// writes of 4 KiB that wait for the programs of one drive, 1024 and one, likewise.
#[test]
fn one_beside_many_waits_as_long_as_any() {
    let disk = "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\n[parts.d]\nis = \"ram-disk\"\n\
        [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen2 x8\"\n[links.wire]\nbetween = [\"hba\", \"d\"]\n\
        fc = \"4GFC\"\n";
    let drive = "[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\ncapacity = \"1 TB\"\nstripes = 16\n\
        stripe_pages = 4\n[links.slot]\nbetween = [\"host\", \"d\"]\npcie = \"gen4 x4\"\n";
    for (parts, many, kib, read) in [(disk, 64, 64, true), (drive, 1024, 4, false)] {
        let text = format!("{parts}{}{}{RUN}", flow(0, "d", many, kib, read), flow(1, "d", 1, kib, read));
        let (report, s) = by_both(&in_large_tlps(&text));
        let [one, all] =
            [&report.flows[1..], &report.flows[..]].map(|f| f.iter().map(|f| f.share.typical).sum::<f64>());
        let part = 1.0 / f64::from(many + 1);
        assert!((one / all / part - 1.0).abs() < 0.03, "{one} of {all}: {part}\n{text}");
        let seen = s.flows[1].rate.mean;
        let edge = s.flows[1].in_flight / s.flows[1].operations as f64;
        assert!((one / seen - 1.0).abs() < 0.03 + edge, "{one} and {seen}\n{text}");
        assert_eq!(report.flows[1].bound_by, report.flows[0].bound_by, "what all wait for\n{text}");
    }
}
