//! Random mixtures of technologies: what must hold when one run has several of them.

use crate::common;
use crate::common::choices::{of_fifty, runner};
use crate::common::grow::{bus, cluster, ethernet, mixture, storage};
use crate::common::{laws, plan};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::{estimate, loads};
use lanescope::plan::Plan;
use lanescope::result::{Ending, FlowReport, Report, Simulation};
use lanescope::scenario::quantity::Corner;
use lanescope::sim::{Run, Step};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use std::cell::Cell;

/// A run, so many events at a time.
fn simulate(plan: &Plan, events: u64) -> Simulation {
    let mut run = Run::new(plan, 1, &mut Diagnostics::default()).expect("it can be simulated");
    while run.advance(events) != Step::Done {}
    run.snapshot()
}

/// What every report keeps: shares within bounds at each corner, ledgers that add up, nothing on a wire beyond it.
fn report_keeps_its_laws(report: &Report) {
    for flow in &report.flows {
        for (share, bound) in [
            (flow.share.slower, flow.bound.slower),
            (flow.share.typical, flow.bound.typical),
            (flow.share.faster, flow.bound.faster),
        ] {
            assert!(share.is_finite() && share >= 0.0, "{}: {share}", flow.name);
            assert!(share <= bound * (1.0 + 1e-9), "{}: share {share}, bound {bound}", flow.name);
        }
    }
    for link in &report.links {
        let sum: f64 = link.ledger.entries().iter().map(|e| e.1).sum();
        assert!(link.ledger.entries().iter().all(|e| e.1 >= 0.0), "{}: {:?}", link.path(), link.ledger);
        assert!((sum - link.ledger.raw).abs() <= 1e-9 * link.ledger.raw, "{}: {sum}", link.path());
    }
}

/// Everything that has a capacity has room for the shares, at each corner.
fn fits(plan: &Plan) {
    for corner in [Corner::Slower, Corner::Typical, Corner::Faster] {
        for l in loads(plan, corner) {
            assert!(l.taken <= l.capacity * (1.0 + 1e-9), "{}: {} of {} at {corner:?}", l.what, l.taken, l.capacity);
        }
    }
}

/// Flows in the opposite order get the same.
fn same_in_any_order(text: &str, report: &Report) {
    let (mut flows, mut rest): (Vec<&str>, String) = (Vec::new(), String::new());
    for table in text.split("\n[") {
        if table.starts_with("flows.") { flows.push(table) } else { rest += &format!("\n[{table}") }
    }
    let turned: String = flows.iter().rev().map(|t| format!("\n[{t}")).collect();
    let other = format!("{}{turned}\n", rest.replacen("\n[[", "[", 1));
    let (Some(plan), diagnostics) = common::plan(&other, &[]) else { panic!("reordered:\n{other}") };
    let again = estimate(&plan, &diagnostics);
    for f in &report.flows {
        let g = common::flow(&again, &f.name);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.max(b);
        assert!(near(f.share.typical, g.share.typical), "{}: {:?} or {:?}", f.name, f.share, g.share);
        assert!(near(f.bound.typical, g.bound.typical), "{}: {:?} or {:?}", f.name, f.bound, g.bound);
    }
}

#[test]
fn the_laws_hold_on_random_mixtures() {
    let (planned, refused, flows) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let result =
        runner(Config { max_shrink_iters: 300, ..Config::default() }).run(&vec(any::<u8>(), 60..160), |bytes| {
            let text = mixture::grow(&bytes);
            let (plan, diagnostics) = plan(&text, &[]);
            let Some(plan) = plan else {
                assert!(diagnostics.to_string().contains("cannot pause in time"), "{diagnostics}\n{text}");
                refused.set(refused.get() + 1);
                return Ok(());
            };
            let caught = std::panic::catch_unwind(|| {
                let report = estimate(&plan, &diagnostics);
                report_keeps_its_laws(&report);
                fits(&plan);
                same_in_any_order(&text, &report);
                let whole = simulate(&plan, u64::MAX);
                let pieces = simulate(&plan, 997);
                assert!(
                    Simulation { events: whole.events, ..pieces } == whole,
                    "the pieces that a run is done in change it"
                );
                // Programs have laws of their own.
                let flows = whole.flows.iter().filter(|f| f.program.is_none()).cloned().collect();
                laws::check(&plan, &Simulation { flows, ..whole.clone() }, &vec![whole.window; whole.flows.len()]);
                assert!(!matches!(whole.ending, Ending::Stall { .. } | Ending::Running), "{:?}", whole.ending);
                whole.flows.len()
            });
            let n = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
            planned.set(planned.get() + 1);
            flows.set(flows.get() + n);
            Ok(())
        });
    println!("{} planned, {} refused, {} flows", planned.get(), refused.get(), flows.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(planned.get() > 9 * refused.get(), "most mixtures should be valid");
}

/// A value as TOML writes it, on one line.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(s) => format!("{s:?}"),
        toml::Value::Array(all) => format!("[{}]", all.iter().map(written).collect::<Vec<_>>().join(", ")),
        toml::Value::Table(keys) => {
            let all: Vec<String> = keys.iter().map(|(k, v)| format!("{k:?} = {}", written(v))).collect();
            format!("{{ {} }}", all.join(", "))
        }
        toml::Value::Integer(n) => n.to_string(),
        toml::Value::Float(n) => format!("{n:?}"),
        toml::Value::Boolean(b) => b.to_string(),
        toml::Value::Datetime(_) => unreachable!("no scenario has a date"),
    }
}

/// A scenario's tables under names of their own, so that several stand in one file; without its `[run]`.
fn renamed(text: &str, prefix: &str) -> String {
    fn ends(value: &mut toml::Value, prefix: &str) {
        match value {
            toml::Value::String(s) => s.insert_str(0, prefix),
            toml::Value::Array(all) => all.iter_mut().for_each(|v| ends(v, prefix)),
            _ => {}
        }
    }
    let rules = [
        ("star", &["host", "switch"][..]),
        ("fat_tree", &["host", "switch"]),
        ("leaf_spine", &["host", "leaf", "spine"]),
    ];
    let mut out = String::new();
    let whole: toml::Table = text.parse().expect("a scenario is TOML");
    for (kind, tables) in whole {
        let toml::Value::Table(tables) = tables else { continue };
        if kind == "run" {
            continue;
        }
        for (name, table) in tables {
            let toml::Value::Table(mut keys) = table else { continue };
            for key in ["between", "from", "to", "ranks", "disks"] {
                if let Some(value) = keys.get_mut(key) {
                    ends(value, prefix);
                }
            }
            for (rule, tables) in rules {
                if let Some(toml::Value::Table(names)) = keys.get_mut(rule) {
                    for key in tables {
                        let own = names.get(*key).and_then(|v| v.as_str()).unwrap_or(key).to_owned();
                        names.insert((*key).into(), format!("{prefix}{own}").into());
                    }
                }
            }
            out += &format!("[{kind}.{prefix}{name}]\n");
            for (key, value) in &keys {
                out += &format!("{key:?} = {}\n", written(value));
            }
        }
    }
    out
}

/// Systems that share nothing in one text, one of each kind where all can be planned together; and what the estimate
/// says of each flow alone.
fn joined(bytes: &[u8]) -> (String, Vec<FlowReport>) {
    type Grow = fn(&[u8]) -> String;
    let all: [(&str, Grow); 5] = [
        ("bus", bus::grow),
        ("net", ethernet::grow),
        ("ios", storage::grow),
        ("job", cluster::grow),
        ("mix", mixture::grow),
    ];
    let (mut text, mut alone) = (String::new(), Vec::new());
    for (prefix, grow) in all {
        let one = renamed(&grow(bytes), prefix);
        // Switches of a plan have one kind of flow control, and random ones may be refused.
        let both = text.clone() + &one;
        if let ((Some(plan), d), (Some(_), _)) = (plan(&one, &[]), plan(&both, &[])) {
            alone.extend(estimate(&plan, &d).flows);
            text = both;
        }
    }
    (text, alone)
}

/// What shares nothing changes nothing: a file of several systems gives each the estimate that it has alone.
#[test]
fn systems_side_by_side_do_not_see_each_other() {
    let compared = Cell::new(0);
    let result =
        runner(Config { max_shrink_iters: 300, ..Config::default() }).run(&vec(any::<u8>(), 60..160), |bytes| {
            let caught = std::panic::catch_unwind(|| {
                let (text, alone) = joined(&bytes);
                let (Some(plan), d) = plan(&text, &[]) else { return 0 };
                let together = estimate(&plan, &d);
                report_keeps_its_laws(&together);
                for one in &alone {
                    let both = together.flows.iter().find(|f| f.name == one.name).expect("the flow is there");
                    assert_eq!((one.bound, one.latency), (both.bound, both.latency), "{}", one.name);
                    // A share is a sum of what the levels of the filling add, and others' levels split the addends:
                    // at most one rounding for each flow, of 2^-53 of the sum.
                    let near = |a: f64, b: f64| (a - b).abs() <= together.flows.len() as f64 * f64::EPSILON * a;
                    let (a, b) = (one.share, both.share);
                    let alike = [(a.slower, b.slower), (a.typical, b.typical), (a.faster, b.faster)];
                    assert!(alike.iter().all(|&(a, b)| near(a, b)), "{}: {a:?} and {b:?}", one.name);
                }
                alone.len()
            });
            let n =
                caught.map_err(|_| TestCaseError::fail(format!("systems see each other:\n{}", joined(&bytes).0)))?;
            compared.set(compared.get() + n as u64);
            Ok(())
        });
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(compared.get() > of_fifty(200), "{} flows compared", compared.get());
}

/// What was found before: under PFC the priority of a program elsewhere made stations take turns by frame.
#[test]
fn priorities_of_another_network_change_no_share() {
    let text = include_str!("../cases/priorities-of-another-network.toml");
    let shares = |text: &str| -> Vec<_> {
        let (plan, d) = plan(text, &[]);
        let flows = estimate(&plan.expect("it reads"), &d).flows;
        flows.into_iter().filter(|f| f.name.starts_with("net")).map(|f| (f.name, f.share)).collect()
    };
    let apart = text.replace("\"lane\" = 1", "\"lane\" = 0");
    assert!(apart != text && shares(text).len() == 2);
    assert_eq!(shares(text), shares(&apart));
}
