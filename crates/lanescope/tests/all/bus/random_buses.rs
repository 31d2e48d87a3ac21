//! Random buses: what must hold on every one of them.

use super::simulate_by;
use crate::common::choices::{Choices, none_apart, of_fifty, runner};
use crate::common::grow::bus::grow;
use crate::common::{in_full, plan};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::plan::{Plan, Program};
use lanescope::result::{Ending, Report, Simulation};
use lanescope::scenario::quantity::Corner;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// Nobody gets more than the bound, but for what a limit lets through at once: a closed load all that it keeps
/// outstanding, bus and device what they have begun. However much is outstanding, they carry no more than of one who
/// always asks. Gives how many flows this says something about.
fn bounded(plan: &Plan, s: &Simulation, report: &Report) -> u32 {
    let mut told = 0;
    let mut always = (*plan.buses).clone();
    for f in always.flows.iter_mut().filter(|f| matches!(f.program, Program::Closed { .. })) {
        f.program = Program::Saturating;
    }
    let always = Plan { buses: std::sync::Arc::new(always), ..plan.clone() };
    let always = estimate(&always, &Diagnostics::default());
    for ((flow, answer), always) in s.flows.iter().zip(&report.flows).zip(&always.flows) {
        let (mut at_once, mut begun) = (0.0, 0.0);
        for f in plan.buses.flows.iter().filter(|f| f.group == flow.name) {
            let m = plan.buses.timing(f.device, Corner::Typical);
            let size = f.size.typical.0 as f64;
            let piece = (m.write.0.max(m.read.0) as f64).min(size);
            let own = match f.program {
                Program::Closed { outstanding, .. } => outstanding as f64 * size,
                Program::Open { .. } => size,
                _ => 0.0,
            };
            let reads = if f.reads() { m.splits as f64 * piece } else { 0.0 };
            // Of one that alternates, one kind may be an operation ahead.
            let ahead = if f.reads() && f.writes() { size } else { 0.0 };
            at_once += own.max(reads) + 2.0 * piece + ahead;
            begun += reads + 2.0 * piece + ahead;
        }
        let delivered: f64 = flow.each.iter().sum::<f64>() * s.window / 8.0;
        for (bound, more) in [(answer.bound.typical, at_once), (always.bound.typical, begun)] {
            assert!(
                delivered <= (bound * s.window / 8.0 + more) * (1.0 + 1e-6),
                "{}: {delivered} B in {} s, bound {bound} b/s and {more} B",
                flow.name,
                s.window,
            );
        }
        let most = answer.bound.typical * s.window / 8.0 + at_once;
        assert!(answer.share.typical <= answer.bound.typical * (1.0 + 1e-9), "{}: share above bound", flow.name);
        told += u32::from(at_once < 0.2 * most);
    }
    for link in &report.links {
        let entries = link.ledger.entries();
        let sum: f64 = entries.iter().map(|e| e.1).sum();
        assert!((sum - link.ledger.raw).abs() < 1e-6 * link.ledger.raw, "{sum} of {}", link.ledger.raw);
    }
    told
}

#[test]
fn the_laws_hold_on_random_buses() {
    let mut runner = runner(Config::default());
    let (refused, simulated, flows, told) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner.run(&vec(any::<u8>(), 60..160), |bytes| {
        let text = grow(&bytes);
        let (plan, d) = plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(|| {
            let whole = simulate_by(&plan, u64::MAX);
            let pieces = simulate_by(&plan, 97);
            assert!(
                Simulation { events: whole.events, ..pieces } == whole,
                "the pieces that a run is done in change it"
            );
            assert!(matches!(whole.ending, Ending::Length), "{:?}", whole.ending);
            let told = bounded(&plan, &whole, &estimate(&plan, &d));
            (whole.flows.len() as u32, told)
        });
        let (f, t) = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        flows.set(flows.get() + f);
        told.set(told.get() + t);
        Ok(())
    });
    println!(
        "{} simulated, {} refused; {} of {} flows near a bound",
        simulated.get(),
        refused.get(),
        told.get(),
        flows.get()
    );
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(simulated.get() > 2 * refused.get(), "most buses should be simulated");
    assert!(told.get() > flows.get() / 5, "the bounds should say something: {} of {}", told.get(), flows.get());
}

/// Random buses that broke a law, as they were found.
#[test]
fn what_broke_a_law_keeps_it() {
    let (plan, d) = plan(include_str!("../../cases/bus-littles-law.toml"), &[]);
    let plan = plan.unwrap_or_else(|| panic!("{d}"));
    bounded(&plan, &simulate_by(&plan, u64::MAX), &estimate(&plan, &d));
    // The timetable took a bus that had just been asked for to be one that had been asked for long ago.
    let (off, edge) = apart(include_str!("../../cases/bus-alternate-with-pauses.toml"));
    assert!(off.abs() < 0.002 + edge, "{off}");
    // Operations that waited from the beginning were told from those that came to wait, so that no period was found.
    let many = include_str!("../../cases/bus-many-outstanding.toml");
    let (off, edge) = apart(many);
    assert!(off.abs() < 0.002 + edge, "{off}");
    let says = |text: &str| crate::common::run(text, &[]).notes.iter().any(|n| n.mechanism == "no-period");
    assert!(!says(many));
    // Where no period was found, rates were those up to a moment in the middle of operations: reads that are sent away
    // again and again are slower than the writes behind them.
    let reads = include_str!("../../cases/bus-cut-off-while-it-reads.toml");
    let (off, edge) = apart_in(reads, 50.0);
    assert!(off.abs() < 0.01 + edge, "{off}");
    // One that is longer than what is followed was taken to read for ever.
    let share = |size: &str| {
        let (plan, d) = crate::common::plan(reads, &[&format!("flows.f.size={size}")]);
        estimate(&plan.unwrap_or_else(|| panic!("{d}")), &d).flows[0].share.typical
    };
    let usual = share("64 KiB");
    for size in ["300000 B", "1 MiB", "1 GiB"] {
        assert!((share(size) / usual - 1.0).abs() < 0.03, "{size}: {} and {usual}", share(size));
    }
    // Four that begin in one moment stand in each other's way for some fifty operations each; the share was their mean.
    let apart_late = include_str!("../../cases/bus-alternate-saturated.toml");
    assert!(says(apart_late));
    if in_full("ten seconds of a saturated bus") {
        let (off, edge) = apart(apart_late);
        assert!(off.abs() < 0.02 + edge, "{off}");
    }
}

/// Bursts that the latency timer cuts between whole data phases, or before the bridge ends them, take fewer clocks a
/// byte than those that it does not cut; a bound allows for that.
#[test]
fn a_cut_burst_may_be_the_better_one() {
    let text = include_str!("../../cases/bus-burst-in-part-of-a-phase.toml");
    let above = |sets: &[&str]| {
        let (plan, d) = plan(text, sets);
        let plan = plan.unwrap_or_else(|| panic!("{d}"));
        let (s, report) = (simulate_by(&plan, u64::MAX), estimate(&plan, &d));
        bounded(&plan, &s, &report);
        s.flows[0].rate.mean / report.flows[0].bound.typical
    };
    let best = |sets: &[&str]| {
        let timed = (8..64).map(|timer| above(&[sets, &[&format!("parts.d0.latency_timer={timer}")]].concat()));
        timed.fold(0.0, f64::max)
    };
    // 296 B in 39 clocks, where 300 B took 40: the bound is reached, but for the last burst of an operation.
    assert!(above(&[]) > 0.98 && best(&[]) > 0.99, "{} {}", above(&[]), best(&[]));
    // A bridge that ends writes after 128 B, by a clock of its own: 124 B in 33 clocks, where 128 B took 35.
    let narrow = ["links.slots.pci=pci 33 32-bit", "parts.d0.burst=4 KiB", "parts.bridge.disconnect=128 B"];
    assert!(best(&narrow) > 0.99, "{}", best(&narrow));
    for kind in ["read", "alternate"] {
        for timer in 8..48 {
            let sets = [&format!("flows.f00.do={kind}"), &format!("parts.d0.latency_timer={timer}")];
            above(&[&narrow[..], &sets.map(String::as_str)].concat());
        }
    }
}

/// Flows of a bus, and an adapter's I/Os on it: the estimate divides its clocks among both, and no more than there are.
#[test]
fn flows_and_adapters_share_the_clocks() {
    let mut runner = runner(Config::default());
    let (refused, full) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&vec(any::<u8>(), 60..160), |bytes| {
        let mut text = grow(&bytes);
        let mut c = Choices(bytes.iter());
        let adapters = 1 + c.below(2);
        text = text.replacen("between = [\"bridge\"", "between = [\"bridge\", \"hba.*\"", 1);
        text += &format!("[parts.hba]\nis = \"host-adapter\"\ncount = {adapters}\n");
        for a in 0..adapters {
            text += &format!(
                "[parts.ram{a}]\nis = \"ram-disk\"\n[links.fc{a}]\nbetween = [\"hba.{a}\", \"ram{a}\"]\n\
                 fc = \"16GFC\"\n\
                 [flows.io{a}]\nfrom = \"bridge\"\nto = \"ram{a}\"\ndo = \"io\"\noutstanding = {}\n\
                 access = {{ size = \"{} B\", read = \"{} %\" }}\nsubmit_time = \"0 s\"\ncomplete_time = \"0 s\"\n",
                1 + c.below(64),
                c.about(512, 1 << 20),
                [0, 50, 100][c.below(3)],
            );
        }
        let (plan, d) = plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(|| {
            let report = estimate(&plan, &d);
            let link = report.links.iter().find(|l| l.name == "slots").expect("the bus");
            let used: f64 = link.ledger.entries().iter().filter(|e| e.0 != "idle").map(|e| e.1).sum();
            assert!(used <= link.ledger.raw * (1.0 + 1e-6), "{used} of {}", link.ledger.raw);
            assert!(report.flows.iter().all(|f| f.share.typical > 0.0), "{:?}", report.flows);
            used > 0.999 * link.ledger.raw
        });
        let is_full = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        full.set(full.get() + u64::from(is_full));
        Ok(())
    });
    println!("{} refused, {} full", refused.get(), full.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(full.get() > of_fifty(5), "{} full, {} refused", full.get(), refused.get());
}

/// Devices alike, a flow each: share and simulation are the same, however their transactions overlap, wait and are cut.
#[test]
fn share_and_simulation_agree_on_symmetric_buses() {
    let mut runner = runner(Config::default());
    let (worst, wrong) = (Cell::new(0.0_f64), std::cell::RefCell::new(Vec::new()));
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let mut c = Choices(bytes.iter());
        let text = alike(&mut c);
        let (off, edge) = apart(&text);
        worst.set(worst.get().max(off.abs() - edge));
        if off.abs() > 0.02 + edge {
            wrong.borrow_mut().push(format!("{off}, of which {edge} at the edges\n{text}"));
        }
        Ok(())
    });
    println!("at most {:.4} apart", worst.get());
    none_apart(result, &wrong.into_inner());
}

/// By what part the share of a text's first flow is above the simulation, and how much of that the edges of the window
/// can make.
fn apart(text: &str) -> (f64, f64) {
    apart_in(text, 200.0)
}

/// The same in the time of so many operations of each.
fn apart_in(text: &str, operations: f64) -> (f64, f64) {
    let (plan, d) = plan(text, &[]);
    let plan = plan.unwrap_or_else(|| panic!("{text}{d}"));
    let share = estimate(&plan, &d).flows[0].share.typical;
    let s = settled(text, &[], operations);
    (share / s.flows[0].rate.mean - 1.0, edge(&plan, &s))
}

/// What part of the operations of a first flow the edges of the window can make: of each device the first is under way,
/// and the last is cut off.
fn edge(plan: &Plan, s: &Simulation) -> f64 {
    plan.buses.devices.len() as f64 / (s.flows[0].operations as f64 + 1.0)
}

/// A simulation of devices alike that have found their order: those that begin in one moment stand in each other's way
/// until they have moved apart, some operations long, and what they lose then is not in a share. So the window opens
/// after a tenth as many operations of each as it is long.
fn settled(text: &str, sets: &[&str], operations: f64) -> Simulation {
    let planned = |sets: &[&str]| {
        let (plan, d) = plan(text, sets);
        (plan.unwrap_or_else(|| panic!("{text}{d}")), d)
    };
    let (first, d) = planned(sets);
    let flow = estimate(&first, &d).flows.remove(0);
    let each = flow.operation.expect("a size") * 8.0 * flow.instances as f64 / flow.share.typical;
    let warmup = format!("run.warmup={} s", (0.1 * operations * each).max(1e-3));
    let length = format!("run.for={} s", (operations * each).max(20e-3));
    simulate_by(&planned(&[sets, &[&warmup, &length]].concat()).0, u64::MAX)
}

/// One to four devices of one kind, and one flow of each.
fn alike(c: &mut Choices) -> String {
    let speeds = ["pci 33 32-bit", "pci 66 64-bit", "pci-x 66 32-bit", "pci-x 100 64-bit", "pci-x 133 64-bit"];
    let mut text = format!(
        "[parts.bridge]\nis = \"host-bridge\"\nread_latency = \"{}\"\nwrite_waits = {}\n",
        c.of(&["5 clocks", "60 clocks", "333 ns", "2 us"]),
        c.below(4)
    );
    text += &c.maybe(|c| format!("disconnect = \"{}\"\n", c.of(&["128 B", "256 B", "1 KiB"])));
    text += &c.maybe(|c| format!("prefetch = \"{}\"\n", c.of(&["32 B", "256 B", "4 KiB"])));
    text += &format!(
        "[parts.d]\nis = \"pci-device\"\ncount = {}\nturnaround = \"{}\"\nread_byte_count = \"{}\"\n\
         burst = \"{}\"\nsplits = {}\n",
        1 + c.below(4),
        c.of(&["1 clocks", "4 clocks", "30 clocks"]),
        c.of(&["512 B", "1 KiB", "4 KiB"]),
        c.of(&["64 B", "1 KiB", "4 KiB"]),
        c.of(&["1", "2", "3", "4", "8", "32"]),
    );
    text += &c
        .maybe(|c| format!("{} = \"{}\"\n", c.of(&["rate", "read_rate", "write_rate"]), c.of(&["100 Mb/s", "1 Gb/s"])));
    text + &format!(
        "[links.slots]\nbetween = [\"bridge\", \"d.*\"]\npci = \"{}\"\n[flows.f]\nfrom = \"d.*\"\n\
         to = \"bridge.memory\"\n\
         do = \"{}\"\nsize = \"{}\"\nload = {}\n[run]\nfor = \"20 ms\"\nwarmup = \"1 ms\"\n",
        c.of(&speeds),
        c.of(&["read", "write", "alternate"]),
        c.of(&["24 B", "64 B", "500 B", "4 KiB", "64 KiB"]),
        c.of(&["\"saturate\"", "{ outstanding = 1 }", "{ outstanding = 4, think = \"1 us\" }"]),
    )
}

/// What is better never lowers a bound; nor a share by more than 1 %, but where transactions in step are simulated to
/// carry less, too.
#[test]
fn better_is_never_less() {
    let better = [
        "parts.bridge.read_latency=0 clocks",
        "parts.bridge.write_waits=0",
        "parts.bridge.decode=fast",
        "parts.bridge.disconnect=4 KiB",
        "parts.bridge.prefetch=4 KiB",
        "parts.d.turnaround=1 clocks",
        "parts.d.read_byte_count=4 KiB",
        "parts.d.splits=32",
        "parts.d.burst=4 KiB",
        "parts.d.decode=fast",
        "parts.d.dual_address=false",
        "parts.d.rate=40 Gb/s",
        "parts.d.read_rate=40 Gb/s",
        "parts.d.write_rate=40 Gb/s",
        "links.slots.pci=pci 66 64-bit",
        "links.slots.pci=pci-x 133 64-bit",
        "flows.f.load={ outstanding = 1024 }",
        "flows.f.load=\"saturate\"",
    ];
    let mut runner = runner(Config::default());
    let (compared, steps, wrong) =
        (Cell::new(0), Cell::new(0), std::cell::RefCell::new(std::collections::BTreeMap::new()));
    let result = runner.run(&vec(any::<u8>(), 20..40), |bytes| {
        let mut c = Choices(bytes.iter());
        let text = alike(&mut c);
        let (before, d) = plan(&text, &[]);
        let before = before.unwrap_or_else(|| panic!("{text}{d}"));
        let speed = before.buses.buses[0].speed.typical;
        let report = estimate(&before, &d).flows.remove(0);
        for set in better {
            // What is not said is as good as can be, of some keys; and of two standards neither is the better one.
            let (key, value) = set.split_once('=').expect("a value");
            let name = key.rsplit('.').next().expect("a key");
            let optional = ["rate", "read_rate", "write_rate", "disconnect"].contains(&name);
            let other = name == "pci" && value.contains("pci-x") != speed.is_x();
            // A burst that the bridge cuts costs more than one that the device ends: behind it lies a turn-around.
            let cut = name == "burst" && text.contains("\ndisconnect = ");
            if optional && !text.contains(&format!("\n{name} = ")) || other || cut {
                continue;
            }
            let (Some(better), d) = plan(&text, &[set]) else { panic!("{set}") };
            // A bridge of conventional PCI cuts writes where nothing is said, too.
            let writes = !text.contains("do = \"read\"");
            if name == "burst" && writes && better.buses.timing(0, Corner::Typical).write.1 {
                continue;
            }
            let after = estimate(&better, &d).flows.remove(0);
            compared.set(compared.get() + 1);
            let (b, a) = (report.bound.typical, after.bound.typical);
            if a < b * (1.0 - 1e-9) {
                wrong.borrow_mut().insert(format!("bound {set}"), format!("bound {b} becomes {a}\n{text}"));
            }
            let (b, a) = (report.share.typical, after.share.typical);
            if a < b * 0.99 {
                // Transactions in step may fall into another step in which they wait more. Then they do so one by one,
                // too, as closely as share and simulation agree where devices are alike.
                let [(sb, eb), (sa, ea)] = [&[][..], &[set]].map(|sets| {
                    let s = settled(&text, sets, 100.0);
                    (s.flows[0].rate.mean, edge(&before, &s))
                });
                steps.set(steps.get() + 1);
                // Each of the two shares is within 2 % and the window's edges of what is simulated.
                if sa / sb > a / b * (1.02 + eb) / (0.98 - ea) {
                    let what = format!("share {b} becomes {a}, simulated {sb} and {sa}\n{text}");
                    wrong.borrow_mut().insert(format!("share {set}"), what);
                }
            }
        }
        Ok(())
    });
    println!("{} compared, {} with less, as simulated", compared.get(), steps.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    let wrong = wrong.into_inner();
    for (set, what) in &wrong {
        println!("{set}: {what}");
    }
    assert!(wrong.is_empty(), "{} keys: {:?}", wrong.len(), wrong.keys());
    assert!(compared.get() > of_fifty(200), "{} compared", compared.get());
}
