//! A flow by itself behind one limit of its host, or two: share and simulation agree, whatever it does, with all that a
//! NIC's packets have beside their data; and devices that are alike have alike. A device has 32 tags or more: with as
//! few as one fetch of descriptors has packets, the fetch holds them up by more than the estimate says (up to 20 %).

use crate::common;
use crate::common::choices::{Choices, none_apart, runner};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// Limits of a root complex: one, or two that go together.
fn of_host(c: &mut Choices, payload: u64) -> String {
    let mut one = || {
        let rate = 1 + c.below(24);
        match c.below(8) {
            0 => format!("memory_bandwidth = \"{rate} GB/s\"\n"),
            1 => format!("read_bandwidth = \"{rate} GB/s\"\n"),
            2 => format!("write_bandwidth = \"{rate} GB/s\"\n"),
            3 => format!("reads_in_flight = {}\n", c.about(1, 32)),
            4 => format!("posted_data = {}\n", payload / 16 * c.about(8, 32) / 8),
            // One at a time hangs on where DLLPs find the wire.
            5 => format!("posted_headers = {}\n", c.about(2, 16)),
            6 => format!("nonposted_headers = {}\n", c.about(2, 16)),
            _ => String::new(),
        }
    };
    let (first, second) = (one(), one());
    let same = first.split(' ').next() == second.split(' ').next();
    let both_memory = first.contains("bandwidth") && second.contains("bandwidth");
    if same || both_memory { first } else { first + &second }
}

/// Devices with a root complex, and what they do.
fn system(c: &mut Choices, n: usize, closed: bool, all: &[&'static str]) -> String {
    let payload = 128 << c.below(4);
    let host = format!(
        "[parts.rc]\nis = \"root-complex\"\nmax_payload = \"{payload} B\"\nread_latency = \"{} ns\"\n{}",
        100 + c.below(900),
        of_host(c, payload)
    );
    let size = match c.below(2) {
        0 => 64 << c.below(7),
        _ => 8 * c.about(8, 1100),
    };
    let (descriptor, entry) = (8 << c.below(3), 8 << c.below(4));
    let does = c.of(all);
    let load = match closed && matches!(does, "read" | "write") && c.below(2) == 0 {
        true => format!("load = {{ outstanding = {} }}\n", c.about(1, 8)),
        false => String::new(),
    };
    format!(
        "{host}[parts.d]\nis = \"endpoint\"\ncount = {n}\nmax_payload = \"{payload} B\"\ntags = {}\n\
         descriptors_fetched = {}\nentries_written = {}\ndescriptor = \"{descriptor} B\"\n\
         completion_entry = \"{entry} B\"\n[links.l]\nbetween = [\"rc\", \"d.*\"]\npcie = \"{}\"\n\
         [flows.f]\nfrom = \"d.*\"\nto = \"rc.memory\"\ndo = \"{does}\"\nsize = \"{size} B\"\n{load}\
         [run]\nfor = \"500 us\"\n",
        32 << c.below(4),
        (1 << c.below(7)).min(512 / descriptor),
        (1 << c.below(5)).min(payload / entry),
        c.of(&["gen3 x4", "gen3 x16", "gen4 x8", "gen5 x16"]),
    )
}

#[test]
fn a_lone_flow_meets_its_limits_alike() {
    let mut runner = runner(Config { max_shrink_iters: 60, ..Config::default() });
    let (worst, wrong) = (Cell::new(0.0_f64), RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 32), |bytes| {
        let all = ["read", "write", "receive", "transmit"];
        let text = system(&mut Choices(bytes.iter()), 1, true, &all);
        let (report, s) = common::by_both(&text);
        let (told, flow) = (&report.flows[0], &s.flows[0]);
        let off = told.share.typical / flow.rate.mean - 1.0;
        let edge = (flow.in_flight + 1.0) / flow.operations as f64;
        worst.set(worst.get().max(off.abs() - edge));
        if off.abs() > 0.05 + edge {
            let by = &told.bound_by;
            wrong.borrow_mut().push(format!("{off:+.3} {edge:.3}: {} {}\n{text}", by.element, by.evidence));
        }
        Ok(())
    });
    println!("at most {:.4} off", worst.get());
    none_apart(result, &wrong.into_inner());
}

#[test]
fn devices_that_are_alike_have_alike() {
    let mut runner = runner(Config { max_shrink_iters: 60, ..Config::default() });
    let wrong = RefCell::new(Vec::new());
    let result = runner.run(&vec(any::<u8>(), 32), |bytes| {
        let c = &mut Choices(bytes.iter());
        let n = 2 + c.below(3);
        let text = system(c, n, false, &["read", "write", "receive", "transmit", "alternate"]);
        let (_, s) = common::by_both(&text);
        let each = &s.flows[0].each;
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        let operations = s.flows[0].operations as f64 / each.len() as f64;
        let apart = each.iter().map(|rate| (rate / mean - 1.0).abs()).fold(0.0, f64::max);
        let edge = (s.flows[0].in_flight / each.len() as f64 + 1.0) / operations.max(1.0);
        if apart > 0.05 + edge {
            wrong.borrow_mut().push(format!("{apart:.3} apart, {edge:.3}: {each:?}\n{text}"));
        }
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
}

/// Closed loads of writes behind few credits, whose last TLP waits for them: a run stays below the bound, and one
/// credit more never lowers that, though it may lower the share (UpdateFCs wait for half of a larger buffer).
#[test]
fn a_bound_of_few_credits_is_one() {
    let mut runner = runner(Config { max_shrink_iters: 60, ..Config::default() });
    let wrong = RefCell::new(Vec::new());
    let result = runner.run(&vec(any::<u8>(), 16), |bytes| {
        let c = &mut Choices(bytes.iter());
        let payload = 128_u64 << c.below(4);
        let credits = payload / 16 * c.about(8, 40) / 8;
        let text = format!(
            "[parts.rc]\nis = \"root-complex\"\nmax_payload = \"{payload} B\"\nposted_data = {credits}\n[parts.d]\n\
             is = \"endpoint\"\nmax_payload = \"{payload} B\"\n[links.l]\nbetween = [\"rc\", \"d\"]\n\
             pcie = \"{}\"\nupdate_fc_every = {}\n[flows.f]\nfrom = \"d\"\nto = \"rc.memory\"\ndo = \"write\"\n\
             size = \"{} B\"\nload = {{ outstanding = {} }}\n[run]\nfor = \"1 ms\"\n",
            c.of(&["gen3 x4", "gen3 x16", "gen4 x8", "gen5 x16"]),
            1 + c.below(8),
            payload + 4 * c.about(1, 2000),
            1 + c.below(2),
        );
        let (report, s) = common::by_both(&text);
        let (bound, seen) = (report.flows[0].bound.typical, &s.flows[0]);
        // Of what is in flight when the window opens as much may end in it.
        let edge = (seen.in_flight + 1.0) / seen.operations as f64;
        if seen.rate.mean > bound * (1.0 + edge) {
            wrong.borrow_mut().push(format!("{} above {bound}\n{text}", seen.rate.mean));
        }
        let more = format!("parts.rc.posted_data={}", credits + 1);
        let with_more = common::run(&text, &[&more]).flows[0].bound.typical;
        if with_more < bound * (1.0 - 1e-9) {
            wrong.borrow_mut().push(format!("{more}: a bound of {with_more}, {bound} before\n{text}"));
        }
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
}
