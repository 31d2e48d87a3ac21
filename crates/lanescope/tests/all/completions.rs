//! Readers of one completer: it answers in the order in which requests come, so behind a full link each gets what it
//! keeps in flight, by both methods.

use crate::common;
use crate::common::choices::{Choices, none_apart, runner};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A run's time, seconds.
const RUN: f64 = 2e-3;

/// Devices that read host memory through a switch, all bytes that they keep in flight, and the longest burst of
/// requests that are issued at once.
fn readers(c: &mut Choices, slots: &[&'static str], deep: bool) -> (String, [f64; 2]) {
    let (n, payload) = (2 + c.below(2), 128 << c.below(3));
    let buffer = ["", "completion_data = 65536\ncompletion_headers = 16384\n"][c.below(2)];
    let mut text = format!(
        "[parts.host]\nis = \"root-complex\"\nread_latency = \"{} ns\"\nmax_payload = \"{payload} B\"\n[parts.sw]\n\
         is = \"switch\"\nmax_payload = \"{payload} B\"\n{buffer}[links.up]\nbetween = [\"host\", \"sw.up\"]\n\
         pcie = \"{}\"\n",
        100 * c.about(2, 8),
        c.of(&["gen3 x2", "gen3 x4", "gen4 x2", "gen4 x4", "gen4 x8"])
    );
    if deep {
        text += &format!(
            "[parts.sx]\nis = \"switch\"\nmax_payload = \"{payload} B\"\n[links.mid]\n\
             between = [\"sw.down.9\", \"sx.up\"]\npcie = \"{}\"\n",
            c.of(&["gen3 x4", "gen3 x8", "gen4 x4", "gen4 x8"])
        );
    }
    let (mut longest, mut all) = (0, 0);
    for i in 0..n {
        let (tags, request) = (4 << c.below(7), 512 << c.below(4));
        let size = 512 << c.below(6);
        let at = if deep && i > 0 { "sx" } else { "sw" };
        let outstanding = 1 << (2 * c.below(4));
        let closed = c.below(3) == 0;
        let load = if closed { format!("load = {{ outstanding = {outstanding} }}\n") } else { String::new() };
        text += &format!(
            "[parts.d{i}]\nis = \"endpoint\"\ntags = {tags}\nmax_read_request = \"{request} B\"\n\
             max_payload = \"{payload} B\"\n[links.l{i}]\nbetween = [\"{at}.down.{i}\", \"d{i}\"]\npcie = \"{}\"\n\
             [flows.f{i}]\nfrom = \"d{i}\"\nto = \"host.memory\"\ndo = \"read\"\nsize = \"{size} B\"\n{load}",
            c.of(slots)
        );
        let tagged = tags * request.min(size);
        all += if closed { tagged.min(outstanding * size) } else { tagged };
        longest = longest.max(if closed { size.min(tagged) } else { request.min(size) });
    }
    (text + "[run]\nwarmup = \"1 ms\"\nfor = \"2 ms\"\n", [all, longest].map(|bytes| bytes as f64))
}

/// What each flow's share is off, as a part of what is simulated, and bytes per second of all; `None` where the report
/// says that it has found no waits.
fn apart(text: &str) -> Option<(Vec<f64>, f64)> {
    let report = common::run(text, &[]);
    if report.notes.iter().any(|n| n.mechanism == "not-in-order") {
        return None;
    }
    let seen = common::simulate(text, &[]);
    let of = report.flows.iter().zip(&seen.flows);
    let all = report.flows.iter().map(|f| f.share.typical / 8.0).sum();
    Some((of.map(|(flow, seen)| flow.share.typical / seen.rate.mean - 1.0).collect(), all))
}

/// By hand: behind an uplink that carries 26.81 Gb/s of payload, 16 tags and 256 of 512 B each have 16 / 272 and
/// 256 / 272 of it.
#[test]
fn sixteen_times_the_tags_get_sixteen_times_as_much() {
    let text = "[parts.host]\nis = \"root-complex\"\nread_latency = \"400 ns\"\ncompletion_size = \"256 B\"\n\
        [parts.sw]\nis = \"switch\"\n[parts.few]\nis = \"endpoint\"\ntags = 16\n[parts.many]\n\
        is = \"endpoint\"\ntags = 256\n\
        [links.up]\nbetween = [\"host\", \"sw.up\"]\npcie = \"gen3 x4\"\nmps = \"256 B\"\n[links.a]\n\
        between = [\"sw.down.0\", \"few\"]\npcie = \"gen3 x4\"\n[links.b]\nbetween = [\"sw.down.1\", \"many\"]\n\
        pcie = \"gen3 x4\"\n[flows.few]\nfrom = \"few\"\nto = \"host.memory\"\ndo = \"read\"\nsize = \"4 KiB\"\n\
        [flows.many]\nfrom = \"many\"\nto = \"host.memory\"\ndo = \"read\"\nsize = \"4 KiB\"\n[run]\nfor = \"1 ms\"\n";
    let report = common::run(text, &[]);
    let [few, many] = ["few", "many"].map(|name| common::flow(&report, name));
    let part = |tags: f64| 26.81e9 * tags / 272.0;
    assert!((few.share.typical / part(16.0) - 1.0).abs() < 0.01, "{}", few.share.typical);
    assert!((many.share.typical / part(256.0) - 1.0).abs() < 0.01, "{}", many.share.typical);
    assert!(few.bound_by.element == "links.up toward sw", "{:?}", few.bound_by);
    // A bound leaves others out.
    assert!(few.bound.typical > 26e9, "{:?}", few.bound);
    let (off, _) = apart(text).expect("waits");
    assert!(off.iter().all(|off| off.abs() < 0.02), "{off:?}");
}

/// Where nothing but the uplink is full. A wait is known as exactly as what one burst is of all that is in flight: who
/// keeps all the rest in flight finds it before him or not, and gets so much less or more. And a run counts one round
/// of everything in flight more or less.
#[test]
fn behind_a_full_uplink_each_gets_what_it_keeps_in_flight() {
    let wrong = RefCell::new(Vec::new());
    let result = runner(Config::default()).run(&vec(any::<u8>(), 32), |bytes| {
        let (text, [all, longest]) = readers(&mut Choices(bytes.iter()), &["gen4 x16", "gen5 x16"], false);
        let (off, rate) = apart(&text).expect("waits");
        let (burst, round) = (longest / all, all / rate / RUN);
        let (less, more) = (0.03 + round + burst, 0.03 + round + burst / (1.0 - burst));
        if off.iter().any(|off| *off < -less || *off > more) {
            wrong.borrow_mut().push(format!("{off:.3?}, {less:.3} and {more:.3} allowed\n{text}"));
        }
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
}

/// Where slots are narrow, what one of them cannot take fills the switch, and everything behind it waits. Requests keep
/// their order from round to round, in bunches that dissolve slowly, so a share is a mean that single runs are around:
/// nine in ten flows are within a tenth, and none is a multiple. Where waits before two full links hang on one another
/// and none are found, the report says so; that is seldom.
#[test]
fn behind_a_narrow_slot_all_wait() {
    let (wrong, far, all, told) = (RefCell::new(Vec::new()), Cell::new(0), Cell::new(0), Cell::new((0, 0)));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 32), |bytes| {
        let c = &mut Choices(bytes.iter());
        let deep = c.below(3) == 0;
        let (text, _) = readers(c, &["gen3 x1", "gen3 x2", "gen3 x4", "gen4 x1", "gen4 x2", "gen4 x8"], deep);
        let (cases, none) = told.get();
        let found = apart(&text);
        told.set((cases + 1, none + u32::from(found.is_none())));
        let Some((off, _)) = found else { return Ok(()) };
        all.set(all.get() + off.len());
        far.set(far.get() + off.iter().filter(|off| off.abs() > 0.1).count());
        if off.iter().any(|off| *off > 1.0 || *off < -0.5) {
            wrong.borrow_mut().push(format!("{off:.3?}\n{text}"));
        }
        Ok(())
    });
    none_apart(result, &wrong.into_inner());
    let (cases, none) = told.get();
    println!("{} of {} flows more than a tenth apart, {none} of {cases} without waits", far.get(), all.get());
    assert!(none * 20 <= cases + 20, "no waits found in {none} of {cases}");
    assert!(far.get() * 10 <= all.get().max(40), "{} of {}", far.get(), all.get());
}
