//! Where nothing queues, or everybody does the same, share and simulation agree; else a note says by what mechanism
//! not, and the simulation's counts show it.

use super::{plan, simulate_by};
use crate::common::choices::{Choices, runner};
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// A star or leaves and spines whose stations all do the same.
fn grow(c: &mut Choices) -> String {
    let levels = 1 + c.below(2);
    let (rule, tables) = match levels {
        1 => (format!("star = {{ hosts = {} }}", 3 + c.below(6)), &["switch"][..]),
        _ => (
            format!("leaf_spine = {{ leaves = 2, spines = {}, hosts = {} }}", 1 + c.below(2), 2 + c.below(3)),
            &["leaf", "spine"][..],
        ),
    };
    let control = c.of(&["none", "none", "pause", "pfc", "voq", "credits"]);
    let control = if levels > 1 && ["pause", "voq"].contains(&control) { "pfc" } else { control };
    let mut text = String::new();
    let ecmp = c.of(&["hash", "destination"]);
    for table in tables {
        text += &format!(
            "[parts.{table}]\nis = \"ethernet-switch\"\nflow_control = \"{control}\"\necmp = \"{ecmp}\"\nmemory = \
                \"400 kB\"\n"
        );
    }
    text += &format!("[parts.host]\nis = \"station\"\n[links.net]\n{rule}\nethernet = \"10 Gb/s\"\n");
    if levels > 1 {
        text += &c.maybe(|c| format!("uplink = \"{}\"\n", c.of(&["10 Gb/s", "25 Gb/s", "40 Gb/s"])));
    }
    let load = match c.below(3) {
        0 => format!("{{ share = \"{} %\" }}", 5 + c.below(30)),
        _ => "\"saturate\"".into(),
    };
    let pattern = c.of(&["permutation", "all-to-all", "random"]);
    text += &format!(
        "[flows.f]\nfrom = \"host.*\"\nto = \"host.*\"\npattern = \"{pattern}\"\ndo = \"send\"\nsize = \"{} B\"\nload \
            = {load}\n{}",
        c.of(&["64", "1000", "1500", "6000", "20000"]),
        if ["voq", "credits"].contains(&control) { "" } else { c.of(&["", "", "transport = \"rocev2\"\n"]) }
    );
    text + "[run]\nfor = \"3 ms\"\nwarmup = \"1 ms\"\nmax_packets = 300000\n"
}

#[test]
fn what_all_do_alike_gets_its_share_or_a_note_says_why() {
    let counts = Cell::new((0, 0));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 16), |bytes| {
        let text = grow(&mut Choices(bytes.iter()));
        let (Some(made), diagnostics) = plan(&text, &[]) else {
            return Err(TestCaseError::fail(format!("refused: {}\n{text}", plan(&text, &[]).1)));
        };
        let report = estimate(&made, &diagnostics).with(simulate_by(&made, 1, u64::MAX));
        let simulation = report.simulation.as_ref().expect("it was simulated");
        for (f, s) in report.flows.iter().zip(&simulation.flows) {
            let off = s.rate.mean / f.share.typical - 1.0;
            let limit = if f.bound_by.resource == "its own load" { 0.02 } else { 0.05 };
            let note = report.notes.iter().find(|n| n.element == format!("flows.{}", f.name));
            // What chance may be is no difference.
            let chance = s.rate.half.is_some_and(|half| (s.rate.mean - f.share.typical).abs() <= half);
            if off.abs() <= limit || chance {
                counts.set((counts.get().0 + 1, counts.get().1));
                continue;
            }
            counts.set((counts.get().0, counts.get().1 + 1));
            let known = |n: &&lanescope::result::Note| n.mechanism != "queueing";
            if note.filter(known).is_none() {
                return Err(TestCaseError::fail(format!("{off:+.4} of {limit}: {note:?}\n{text}")));
            }
            println!("{off:+.4}: {}", note.map_or("", |n| &n.text));
        }
        Ok(())
    });
    println!("{} agree, {} have a note", counts.get().0, counts.get().1);
    if let Err(e) = result {
        panic!("{e}");
    }
}
