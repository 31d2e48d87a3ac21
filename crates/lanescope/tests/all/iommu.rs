//! Page walks of an IOMMU: what waits behind one in both methods. Writes stand in the root port's buffer, reads hold
//! their tags, and flows that never miss share both with those that do.

use crate::common::by_both;
use crate::common::choices::{Choices, none_apart, runner};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A root complex that translates, and a device below it with so many flows: of each whether it reads, and in how many
/// times as many pages as the IOTLB holds, if not always in the same ones.
fn host(c: &mut Choices, flows: &[(bool, Option<u64>)], addresses: &str) -> String {
    let page: u64 = [4, 4, 16, 64][c.below(4)] << 10;
    let entries = [16, 64, 256][c.below(3)];
    let buffer = c.maybe(|c| format!("posted_headers = {}\n", 8 + c.below(120)))
        + &c.maybe(|c| format!("posted_data = {}\n", 64 + 16 * c.below(120)));
    let mut text = format!(
        "[parts.rc]\nis = \"root-complex\"\niommu = \"on\"\niommu_page = \"{} KiB\"\niotlb_entries = {entries}\n\
         iommu_walks = {}\niommu_walk = \"{} ns\"\n{buffer}\
         [parts.d]\nis = \"endpoint\"\ntags = {}\nmax_read_request = \"{} B\"\n\
         [links.slot]\nbetween = [\"rc\", \"d\"]\npcie = \"{}\"\nmps = \"{} B\"\n",
        page >> 10,
        [1, 4, 8, 32][c.below(4)],
        c.about(100, 2000),
        c.about(4, 256),
        [128, 256, 512, 1024][c.below(4)],
        c.of(&["gen3 x4", "gen3 x8", "gen3 x16", "gen4 x16", "gen5 x16"]),
        [128, 256, 512][c.below(3)],
    );
    for (i, &(reads, window)) in flows.iter().enumerate() {
        let size: u64 = [64 << c.below(7), 4096 << c.below(7), c.about(64, 1 << 18)][c.below(3)];
        let window = window.map_or(String::new(), |w| format!("window = \"{} B\"\n", (page * entries * w).max(size)));
        text += &format!(
            "[flows.f{i}]\nfrom = \"d\"\nto = \"rc.memory\"\ndo = \"{}\"\nsize = \"{size} B\"\n{window}\
             addresses = \"{addresses}\"\nload = {}\n",
            if reads { "read" } else { "write" },
            match flows.len() == 1 && c.below(3) == 0 {
                true => format!("{{ outstanding = {} }}", c.about(1, 128)),
                false => "\"saturate\"".into(),
            },
        );
    }
    text + "[run]\nfor = \"1 ms\"\nwarmup = \"200 us\"\n"
}

/// Share and simulation are so far apart at most, beside what the window may cut off, and half of the interval in which
/// the simulation's mean lies.
fn within(most: f64, addresses: &str, flows: impl Fn(&mut Choices) -> Vec<(bool, Option<u64>)>) {
    let mut runner = runner(Config { max_shrink_iters: 100, ..Config::default() });
    let (worst, wrong) = (Cell::new(0.0_f64), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 30..40), |bytes| {
        let c = &mut Choices(bytes.iter());
        let flows = flows(c);
        let text = host(c, &flows, addresses);
        let (report, s) = by_both(&text);
        for (share, flow) in report.flows.iter().zip(&s.flows) {
            let edge = flow.in_flight / flow.operations as f64 + flow.rate.half.unwrap_or(0.0) / flow.rate.mean;
            let off = share.share.typical / flow.rate.mean - 1.0;
            worst.set(worst.get().max(off.abs()));
            if off.abs() > most + edge {
                let by = (&share.bound_by.element, &share.bound_by.evidence);
                wrong.borrow_mut().push(format!("{}: {off:.4} (edge {edge:.4}) {by:?}\n{text}", share.name));
            }
        }
        Ok(())
    });
    println!("{addresses}: at most {:.4} apart", worst.get());
    none_apart(result, &wrong.into_inner());
}

#[test]
fn a_sequential_flow_waits_for_its_walks_alike() {
    within(0.05, "sequential", |c| vec![(c.below(2) == 0, Some([2, 4, 64][c.below(3)]))]);
}

/// Of pages that are drawn, misses come in bursts, in which walkers and wires are waited for, and UpdateFCs gather what
/// they free: the estimate knows their number on average.
#[test]
fn a_random_flow_waits_for_its_walks_alike() {
    within(0.25, "random", |c| vec![(c.below(2) == 0, Some([2, 4, 64][c.below(3)]))]);
}
